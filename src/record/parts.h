/* parts.h — inside record/: what the files of this folder share. */
#ifndef RECORD_PARTS_H
#define RECORD_PARTS_H

#include "proof/gap.h"
#include "proof/segment.h"
#include "record/record.h"

#define EDGE LOG_DIR "/edge"
#define LOG_LOCK LOG_DIR "/lock"

#define KEY_SEAM_EFFECT "helm.key/continues" /* verify/ knows it as KEY_EFFECT */

enum { LEAF_LINE = 65 }; /* 64 hex digits and a newline */
enum { SEAMS = 2 }; /* that a batch may need beside its receipts */

int damaged(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* draft.c: a receipt for the place behind `at`, signed; *ret_chain is its chain hash. */
int draft_sign(struct recorder *r, const struct chain_end *at, struct arena *a, const struct draft *d,
	struct json **ret, struct hash *ret_chain, struct err *e);
/* One step on: `chain` is the newest receipt now. */
void chain_step(struct chain_end *at, const struct hash *chain);

/* chain.c.  Under the lock: open the files and know where the chain ends, from the edge file where that is
 * current, else from the receipts themselves. */
int chain_settle(struct recorder *r, struct arena *a, struct err *e);
int chain_open(struct recorder *r, struct err *e); /* only the files, and the mark of receipts.jsonl */
/* The chain ends where r->at says. */
bool chain_is_unchanged(struct recorder *r);
/* Receipts that are written and not yet known to be on disk. */
struct batch {
	struct arena *a;
	struct buf lines;
	struct hash *chains;
	struct json **receipts;
	size_t n; /* with the seams */
	struct chain_end at; /* the end of the chain with them */
	off_t start, end; /* of their lines in the file: what is cut off when they cannot be synced */
	uint64_t clock_before; /* of the last receipt before `start` */
	bool is_known; /* the edge speaks of it */
	bool is_locked; /* the chain stays locked until it is on disk */
};
/* An append in three steps: under the lock sign and write; wait for the disk; under the lock again write the leaves, or
 * take the receipts back when `rc`, the result of the wait, says so.  `fd` is receipts.jsonl as it was at the beginning.  Between
 * the steps others may append, also by this recorder. */
int batch_begin(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n, struct batch **ret,
	struct err *e);
int batch_sync(struct recorder *r, int fd, struct err *e);
int batch_end(struct recorder *r, struct arena *a, struct batch *b, int fd, int rc, struct err *e);
/* Make the next chain_settle() look again. */
void chain_forget(struct recorder *r);
struct file_mark mark_of(const struct stat *st);
bool mark_eq(const struct file_mark *x, const struct file_mark *y);
/* The number of the newest receipts-NNNNNN.jsonl, 0 when there is none. */
int newest_segment(struct recorder *r, struct arena *a, unsigned *ret, struct err *e);
char *segment_name(struct arena *a, unsigned number);
int segment_hash(struct recorder *r, const char *name, struct hash *ret, uint64_t *ret_bytes, struct err *e);
/* A chain that has no receipt yet. */
int chain_begin(struct recorder *r, struct arena *a, struct chain_end *at, struct err *e);
/* The end of the chain is the receipt in this line; only clock, last and chain_id are set. */
int chain_read_last(struct arena *a, struct bytes line, const char *file, struct chain_end *at,
	struct json **ret, struct err *e);

/* One hash over names and marks of all segments: another one when any of them was touched. */
int segments_mark(struct recorder *r, struct arena *a, struct hash *ret, struct err *e);

/* examine.c: from the receipts to r->at, leaves and edge.  `r`'s files are open.  `known` is the edge as
 * stored, or NULL: older files it speaks of are not hashed again. */
int chain_examine(struct recorder *r, struct arena *a, const struct chain_end *known, struct err *e);
/* So many receipts lie in files that were moved away on record. */
uint64_t chain_away(struct recorder *r, struct arena *a);

/* archive.c: the file that a seam sums up is not here because a receipt of this user says that it was moved. */
bool segment_is_moved(struct recorder *r, struct arena *a, const struct closed_file *sealed);
/* What stands in the place of a file that was moved away: the receipt that says so; or NULL. */
struct json *segment_stub(struct sys *s, struct arena *a, int state_fd, const char *file);
/* receipts.c: receipts_files(), and "FILE.archived" in the place of each that was moved away. */
int segments_all(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e);

/* log.c */
bool edge_read(struct recorder *r, struct chain_end *ret);
/* The same for whoever has no recorder. */
void edge_look(struct sys *s, int state_fd, struct log_left *ret);
/* Whole lines of log/heads.jsonl; 0 when it cannot be read. */
uint64_t heads_count(struct sys *s, int state_fd);
int edge_write(struct recorder *r, const struct chain_end *end);
/* The n newest receipts are written: tree and edge follow.  False when the next writer has to look for
 * itself. */
bool log_advance(struct recorder *r, const struct hash *chain_hashes, size_t n);
/* The first `clock` receipts are on disk: their leaves follow.  `chains` are the chain hashes of the last n
 * of them, at least one. Never fails for good: what cannot be written is made again later. */
void log_catch_up(struct recorder *r, uint64_t clock, const struct hash *chains, size_t n);
/* Under the lock: everything that is written is on disk, and has its leaf. */
int log_flush(struct recorder *r, struct err *e);
void log_head_if_due(struct recorder *r, struct arena *a);
int log_put_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e);

/* key_seam.c.  Under the lock, before anything is signed: r->key is the key in force. */
int key_renew(struct recorder *r, struct err *e);
/* The seam that belongs behind `at` when another key goes on there; an empty draft (no effect_id) when there is nothing to tell. */
int key_seam_draft(
	struct recorder *r, struct arena *a, const struct chain_end *at, struct draft *ret, struct err *e);

/* signer.c: the key that SIGNER_FILE names; E_MISSING when there is none.  The receipts that a signer had signed and we have not, from
 * its newest answer, told once; or NULL.  One of them, as the chain has it, when it follows `at`. */
int signer_load(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e);
/* The links of the signer's own history of keys. */
int signer_links(struct arena *a, const struct key *k, const struct json **ret, struct err *e);
const struct json *signer_missing(const struct key *k);
int signer_take(struct recorder *r, struct arena *a, const struct json *receipt, const struct chain_end *at,
	struct json **ret, struct hash *ret_chain, struct err *e);

/* log.c: as log_rebuild(), behind a repair: heads that it has put on record as lost are not missed any more. */
int log_rebuild_repaired(struct recorder *r, struct arena *a, struct err *e);

/* repair.c: signed by the key that appends, or by one this user had before it. */
bool receipt_is_own(struct recorder *r, struct arena *a, const struct json *receipt);
/* Is the chain's last line the seam of a repair that was not completed?  Then complete it.  *ret_is_repair: it is
 * the seam of a repair, and heads are counted anew. */
int repair_finish_if_due(
	struct recorder *r, struct arena *a, struct bytes last_line, bool *ret_is_repair, struct err *e);

/* mend.c: copies of the ledgers that change, and what the seam says of them; after the seam, the change itself, as often as need be. */
int mends_prepare(
	struct recorder *r, struct arena *a, const struct log_plan *plan, struct json *about, struct err *e);
void mends_forget(struct recorder *r, struct arena *a, const struct log_plan *plan, const char *mark);
int mends_finish(struct recorder *r, const struct json *about, struct err *e);

/* draws.c.  Under the lock, when the end of the chain is known: may all of it be drawn?  DRAW_REFUSED, and r->refused says which is not.  Costs nothing when
 * nothing is drawn. */
int draws_claim(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n, struct err *e);
/* The receipts are written, or they are not: the claims are over, and with OK the sum has gone on. */
void draws_written(struct recorder *r, const struct draft *drafts, size_t n, const struct batch *b, int rc);
/* Before files of the chain are moved away: what was drawn in them is kept on disk. */
int draws_keep(struct recorder *r, struct arena *a, struct err *e);
void fold_free(struct fold **f);

/* ledger.c: the rows of recorder_row() are on disk, or were given up. */
int rows_sync(struct recorder *r, struct err *e);

/* notes.c: what the next receipt says about notes that nobody has signed. */
struct notes_cut {
	struct notes_end seen, to; /* what was bound when it was looked; what will be */
	off_t from;
	char hex[SHA256_HEX];
	bool is_new; /* there is something to say */
};
/* Under the lock: have notes been written since? */
bool notes_wait(struct recorder *r);
/* Without the lock: the notes behind `seen`, on disk, and their digest. */
int notes_take(struct recorder *r, struct arena *a, const struct notes_end *seen, struct notes_cut *ret,
	struct err *e);
/* Under the lock again: the drafts, one of them with what the cut says and nobody else has said meanwhile; *at moves on. */
int notes_bind(struct recorder *r, struct arena *a, const struct notes_cut *cut, struct chain_end *at,
	const struct draft **drafts, size_t n, struct err *e);

/* receipts.c: the last complete line of a file, empty when there is none.  *ret_end is the offset after its
 * newline; bytes behind that are a torn write. */
int tail_line(struct sys *s, struct arena *a, int fd, const char *file, struct bytes *ret_line,
	off_t *ret_end, off_t *ret_size, struct err *e);
/* Lines between two places of an open file. */
int lines_of(struct sys *s, int fd, const char *file, off_t at, off_t end, line_visit *fn, void *arg,
	struct err *e);
int pread_all(struct sys *s, int fd, void *to, size_t n, off_t at);
/* A place at or before the first receipt with at least this clock, found without reading all of the file. */
off_t offset_of_clock(struct sys *s, const struct log_file *f, uint64_t clock);
/* Lines, empty ones left out, the last one first; is_whole: it has its newline.  fn returns 0 to go on, > 0 to stop, or a negative rc, which
 * is returned.  Of a text (at: in it; *ret_start: bytes at its front of a line that begins before it, none with is_start), and of a file
 * up to `size`, in bounded memory. */
typedef int line_back(void *arg, off_t at, struct bytes text, bool is_whole, struct err *e);
int text_back(struct bytes text, bool is_start, line_back *fn, void *arg, size_t *ret_start, struct err *e);
int lines_back(struct sys *s, int fd, const char *file, off_t size, line_back *fn, void *arg, struct err *e);
int write_all(struct sys *s, int fd, const void *from, size_t n);

#endif
