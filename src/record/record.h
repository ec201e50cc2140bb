/* record.h — 4: what was decided and what happened, signed, chained, durable.
 *
 * A workspace has one chain of receipts (docs/formats/receipt.md) in <state>/receipts.jsonl, and a Merkle log over it in
 * <state>/log/.  The receipts are the truth; leaves and the tree's right edge can be rebuilt from them at any time.  Tree heads
 * are signed statements about the log at some size: with one of them, a tail that was cut off or rewritten is found, even
 * when everything else was made consistent again.
 *
 * Whoever is told OK has the record on disk.  docs/formats/receipt-log.md describes files, locking and recovery. */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include "base/err.h"
#include "base/json.h"
#include "base/stream.h"
#include "base/sys.h"
#include "model/draw.h"
#include "proof/gap.h"
#include "proof/key.h"
#include "proof/merkle.h"
#include "record/index.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the chain ---- */

/* One file at one moment: any later change of it changes this. */
struct file_mark {
	uint64_t dev, ino;
	int64_t size_bytes, changed_ns;
};

/* Up to where receipts speak of the notes in TOOL_CALLS (notes.c), and the file that was the newest one then. */
struct notes_end {
	uint64_t is_known; /* 0: nobody has looked yet */
	uint64_t place; /* in the ledger */
	uint64_t dev, ino;
};

/* So many receipts can be on their way to the disk at once. */
enum { RECENT_LEAVES = 64 };

/* Where the chain ends, and the log over it. */
struct chain_end {
	struct file_mark file; /* receipts.jsonl */
	struct hash segments; /* over the marks of the chain's older files */
	uint64_t clock; /* of the last receipt: so many receipts, and leaves */
	uint64_t heads_at; /* size of the newest signed head */
	uint64_t
		heads_n; /* so many signed heads there are, or were: a repair that puts a loss on record counts anew */
	struct hash last; /* chain hash of the last receipt */
	uint8_t signer[SIGN_PUBLIC]; /* of the last receipt that is no repair's; zeroes: not known */
	char chain_id[136]; /* session_id of every receipt */
	struct notes_end notes;
	struct merkle tree;
	/* The newest leaves, that of receipt number i (from 0) at i % RECENT_LEAVES: those of receipts that are written but not yet
	 * known to be on disk are only here. */
	uint64_t recent_n;
	struct hash recent[RECENT_LEAVES];
};

/* A writer of one workspace's chain.  Not for several threads at once (see the group below); a copy in a forked child opens
 * its own files. */
struct recorder {
	struct sys *sys;
	int state_fd; /* borrowed */
	struct key *key; /* borrowed; NULL: reading only */
	/* Where that key and its history lie; NULL: only the key itself is ours.  Then each append looks whether the key is still in
	 * force, and takes the one that is. */
	const char *keys_dir;
	struct key *renewed; /* own: what has taken the place of the borrowed one; or NULL */
	struct file_mark key_file; /* of the key in force, as it was looked at */
	uint64_t head_interval; /* sign a head at least every so many receipts */
	uint64_t rotate_bytes; /* start a new file when this one is as large */
	off_t ledger_bytes; /* the same for the ledgers that recorder_row() appends to */
	off_t draws_bytes; /* keep the sum of what was drawn after so many bytes of receipts */
	struct chain_end at; /* as of the last append */
	uint64_t leaves; /* lines of log/leaves: so many receipts are known to be on disk */
	/* Kept open between appends. */
	bool is_open;
	bool reads_all; /* the next look at the chain reads every receipt of it */
	bool is_hurried; /* somebody waits for the decision: notes of calls that have receipts of their own are bound by a later one */
	struct {
		struct notes_end bound; /* as it was then */
		off_t size, end; /* of the file, and of its whole rows */
	} looked; /* the last look that left notes to a later receipt: only what came since is looked at */
	pid_t owner;
	int lock_fd, fd, leaves_fd, edge_fd;
	struct file_mark lock;
	int holds; /* so many in this process have the lock */
	struct batch *begun; /* written, not yet known to be on disk */
	struct fold *fold; /* what was drawn so far; NULL: nobody has asked yet */
	size_t refused; /* after DRAW_REFUSED: which of the drafts it was; otherwise SIZE_MAX */
	struct late_row {
		const char *file;
		int fd;
	} late[8]; /* files with rows that the next receipts wait for */
	size_t late_count;
	bool holds_ledgers; /* ledger_hold_files() */
};

/* Nothing is created until the first append.  `key` may be NULL for readers. */
void recorder_open(struct recorder *ret, struct sys *s, int state_fd, struct key *key);
void recorder_close(struct recorder *r); /* also fine on { 0 } */
/* Called before the key in keys_dir is loaded: as long as its file stays as it is now, appends need not look into it. */
void recorder_mark_key(struct recorder *r);

/* One receipt to be.  NULL texts are written as "" where signed, left out elsewhere. */
struct draft {
	const char *receipt_id; /* NULL: "rcpt_" and decision_id */
	const char *decision_id;
	const char *effect_id;
	const char *status;
	const char *verdict;
	const char *reason_code;
	const char *policy_hash;
	const char *args_hash;
	const char *output_hash;
	const char *executor_id;
	const char *correlation_id;
	const char *type; /* "decision", "outcome", "grant", "freeze", "seam", ... */
	const char *effect_type;
	const char *tool_name;
	struct json *metadata; /* object, or NULL; integers and strings only */
	bool is_summed; /* output_hash is over the metadata, so that nothing may be added to it */
	struct json *subject; /* the decision record a decision receipt stands for; or NULL */
	/* What it uses up: checked and drawn with the same lock, in one step with the receipt.  What was held before and is known now. */
	const struct draw *draws;
	size_t draw_count;
	const struct draw_settled *settles;
	size_t settle_count;
	struct arena *into; /* where its receipt is made; NULL: where the caller's others are */
};

/* Sign and append n receipts in one durable write.  ret_receipts, when not NULL, receives them as written, in `a`.  Processes
 * that append at the same time wait for the disk together.
 * Refused: LOG_DAMAGED when chain, leaves and newest head do not agree (`helm log check` explains), LOG_KEY without a key,
 * DRAW_REFUSED with E_DENIED when there is not enough left of what is to be drawn: then nothing is written.
 * After an error none of them is in the chain, unless another writer had continued it already.  After a crash some of them may
 * be: nobody was told. */
int recorder_append(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e);

/* The same in two steps, so that the next thing can be prepared while the disk works: begin signs and writes; finish returns when it
 * is on disk, with the rows that were put meanwhile.  Nobody may act upon it before that.  Errors as above. */
int recorder_begin(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e);
int recorder_finish(struct recorder *r, struct arena *a, struct err *e); /* OK when nothing was begun */

/* A ledger row that need not be on disk alone, but with the receipts that follow: recorder_append() syncs all such rows before
 * it writes (so that no receipt speaks of a row that a power cut took), recorder_finish() at the same time.  The rest is as
 * ledger_append(); after an error of the sync the row may be there or not. */
int recorder_row(struct recorder *r, struct arena *a, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e);

/* Another file that must be on disk before anything is done: synced with the rows.  Takes the descriptor; `name` lives as long as it. */
void recorder_sync_too(struct recorder *r, const char *name, int fd);

/* A signed decision record v4 from what was decided; `id` is also the receipt's decision_id. */
struct decision_draft {
	const char *id;
	const char *verdict;
	const char *subject_id; /* who asked: "agent:claude-code", "user:1000" */
	const char *action; /* effect class: "EXECUTE_COMMAND", ... */
	const char *resource; /* what on: tool or program name, or a digest */
	const char *effect_digest;
	const char *policy_content_hash;
	const char *policy_version;
	const char *policy_epoch, *gate_roster_hash; /* or NULL */
	const char *reason, *reason_code;
	const char *phenotype_hash; /* of what a person is asked, or of what answered for them; or NULL */
	struct json *input_context; /* or NULL */
};
int record_decision(struct arena *a, struct sys *s, struct key *key, const struct decision_draft *d,
	struct json **ret_record, char **ret_content_hash, struct err *e);

/* A fresh identifier: prefix and 32 hex digits. */
int record_new_id(struct arena *a, struct sys *s, const char *prefix, char **ret, struct err *e);
/* A fresh task id: a random UUID. */
int record_new_task_id(struct arena *a, struct sys *s, char **ret, struct err *e);

/* Many writers in one process: each call waits until its receipts are on disk, and those that wait at the same time share
 * one write and one sync; the next of them are signed meanwhile.  Thread-safe.  A draft that cannot be signed fails its own writer only. */
struct recorder_group;
struct recorder_group *recorder_group_new(struct recorder *r);
void recorder_group_free(struct recorder_group *g);
/* As recorder_append().  The receipts, when they are wanted, are in `a`, which nobody else may use meanwhile. */
int recorder_group_append(struct recorder_group *g, struct arena *a, const struct draft *drafts, size_t n,
	struct json **ret_receipts, struct err *e);
/* The same for several at once, by one thread, each with a result of its own; so many that RECORDER_GROUP_MOST drafts are not passed, or one alone. */
enum { RECORDER_GROUP_MOST = 30 };
struct group_part {
	struct arena *a; /* its own; the receipts are there */
	const struct draft *drafts;
	size_t n;
	struct json **receipts; /* room for n; NULL: they are not wanted */
	int rc;
	struct err err;
	bool is_refused; /* what it wants to draw is not there: `rc` and `err` say so, and the others go on */
	struct group_part *next; /* of the group */
};
void recorder_group_append_all(struct recorder_group *g, struct group_part *parts, size_t n);

/* Visit every receipt of this moment in order, from the first segment to the last; the row is valid during the call only.  `line` counts
 * within `file`.  fn returns 0 to go on, > 0 to stop, or a negative rc.  A line that is no receipt is given as NULL. */
typedef int receipt_visit(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e);
int receipts_each(struct sys *s, int state_fd, receipt_visit *fn, void *arg, struct err *e);

/* The same from the newest to the oldest, for whoever looks for the last ones: `at` is the offset in the file.  With a `text` lines without
 * it are passed over unread; with a clock, files that cannot hold that receipt, too. */
struct receipts_wanted {
	const char *text; /* as it stands in the line; or NULL */
	int64_t clock; /* or 0 */
	off_t bytes; /* about so much of the chain is enough; 0: all of it */
};
int receipts_back(struct sys *s, int state_fd, const struct receipts_wanted *want, receipt_back *fn,
	void *arg, struct err *e);
/* Every receipt from this clock on, oldest first, as receipts_each() gives them: what lies before it is not read. */
int receipts_from(struct sys *s, int state_fd, uint64_t clock, receipt_visit *fn, void *arg, struct err *e);
/* The number of the line at an offset of a file of the chain. */
int receipts_line_at(struct sys *s, int state_fd, const char *file, off_t at, uint64_t *ret, struct err *e);
/* Has this text only one spelling in JSON?  Only then can lines be searched for it without being parsed. */
bool text_is_plain(const char *word);
/* Names of the files that hold the chain, oldest first. */
int receipts_files(struct sys *s, struct arena *a, int state_fd, char ***ret, size_t *ret_n, struct err *e);

/* The place of a line, for those who keep the text: visits lines without reading them as JSON. */
typedef int line_visit(
	void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e);
int lines_each(struct sys *s, int dirfd, const char *file, line_visit *fn, void *arg, struct err *e);
/* The same from an offset on, which must be the start of a line; `line` counts from 1 there. */
int lines_from(
	struct sys *s, int dirfd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e);

/* ---- what was drawn (docs/formats/draws.md) ---- */

/* The sum over all receipts of this moment, for whoever judges: it may be older than the chain when it is used, and is looked at again when
 * something is drawn.  Valid until the next call with this recorder.  DRAWS_ARCHIVED with E_MISSING: a part of the chain cannot be read. */
int recorder_drawn(struct recorder *r, struct arena *a, const struct drawn **ret, struct err *e);
/* The same for whoever only looks: nothing is written.  `keys_dir` is that of the recorder; NULL: the chain is read from its beginning.  drawn_done()
 * frees it. */
int draws_look(struct sys *s, int state_fd, const char *keys_dir, struct drawn *ret, struct err *e);

/* ---- the log over it ---- */

#define RECEIPTS "receipts.jsonl"
#define LOG_DIR "log"
#define LEAVES LOG_DIR "/leaves"
#define HEADS LOG_DIR "/heads.jsonl"
#define ANCHORS LOG_DIR "/anchors.json"

/* The log at one moment, for whoever reads while others write: files that are open, and how far they count. */
struct log_file {
	const char *name;
	int fd; /* -1: there is none */
	off_t size_bytes; /* at that moment; what lies behind is not looked at */
	struct file_mark mark;
	/* It was moved away: the receipt that says so, unverified, and where to; fd is -1 when it cannot be read there. */
	const struct json *moved;
	const char *moved_to;
};
/* What the last writer left in log/edge, which no file of the log is made from: a second witness beside leaves and heads. */
struct log_left {
	bool is_known;
	uint64_t clock; /* of the newest receipt then, */
	struct hash last; /* its chain hash, */
	uint64_t heads; /* and how many signed heads there were */
	char chain_id[136];
};
/* The newest receipt of a chain is the one that the last writer knew. */
bool log_left_confirms(
	const struct log_left *left, const char *chain_id, uint64_t clock, const struct hash *last);

/* The key that signed the newest receipt which is no repair's; false: there is none, or nothing tells. */
bool log_last_signer(struct sys *s, struct arena *a, int state_fd, uint8_t ret[SIGN_PUBLIC]);

struct log_cut {
	struct sys *sys;
	struct log_file *chain; /* oldest first; also those that were moved away */
	size_t n;
	size_t first; /* log_cut_receipts() begins with this one */
	struct log_file leaves, heads;
	struct log_left left;
	int lock_fd; /* CUT_HELD: nobody writes until it is closed */
};
/* CUT_MOMENT: the lock is held only while lengths are taken.  CUT_HELD: until the cut is closed.  CUT_LOCKED: the caller has it. */
enum cut_lock { CUT_MOMENT, CUT_HELD, CUT_LOCKED };
int log_cut_take(
	struct sys *s, struct arena *a, int state_fd, enum cut_lock lock, struct log_cut *ret, struct err *e);
void log_cut_release(struct log_cut *c); /* CUT_HELD is over; the cut stays */
void log_cut_close(struct log_cut *c); /* for AUTO(); fine on what log_cut_take() gave, also when it failed */
bool log_cut_is_current(const struct log_cut *c); /* nothing has been written since */
/* Bytes of one of its files.  E_IO LOG_MOVED when they are gone: an append that failed was taken back meanwhile. */
int log_file_read(
	const struct log_cut *c, const struct log_file *f, void *to, size_t n, off_t at, struct err *e);
/* Every receipt of it, as receipts_each() gives them. */
int log_cut_receipts(const struct log_cut *c, receipt_visit *fn, void *arg, struct err *e);
/* Lines of one of its files, up to where it counts. */
int log_file_lines(
	const struct log_cut *c, const struct log_file *f, line_visit *fn, void *arg, struct err *e);
/* Receipts of one of its files, the newest first; with a `text` only lines with it.  1 when fn stopped. */
int log_file_back(const struct log_cut *c, const struct log_file *f, const char *text, receipt_back *fn,
	void *arg, struct err *e);
/* The files of a chain are counted from 1 on, and the newest one has the number that it will be closed with. */
unsigned log_file_number(const struct log_cut *c, size_t i);
/* That of the newest one; at the next moment it may be a higher one. */
int receipts_newest(struct sys *s, int state_fd, unsigned *ret, struct err *e);

/* All leaf hashes as stored in log/leaves.  LOG_LEAVES when a line is no hash: log_refresh() makes them again. */
int log_leaves(
	struct sys *s, struct arena *a, int state_fd, struct hash **ret, uint64_t *ret_n, struct err *e);
/* How many there are; and the roots of some parts of them, without holding them (merkle_inclusion_ranges() and the like say which). */
int log_leaf_count(struct sys *s, int state_fd, uint64_t *ret, struct err *e);
int log_roots(struct sys *s, int state_fd, const struct merkle_range *ranges, size_t n, struct hash *ret,
	struct err *e);
/* Make sure that leaves and edge are there for every receipt; costs nothing when they are. */
int log_settle(struct recorder *r, struct arena *a, struct err *e);
/* Look at the whole chain file, and make leaves and edge agree with it.  LOG_DAMAGED when that would hide something. */
int log_refresh(struct recorder *r, struct arena *a, struct err *e);
/* Sign the present head and append it to log/heads.jsonl. */
int log_sign_head(struct recorder *r, struct arena *a, struct json **ret_head, struct err *e);
/* The newest signed head, or NULL.  LOG_DAMAGED when the last line is none. */
int log_last_head(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e);

/* A look at the end of the chain that writes nothing and does not depend on its length: the last receipts are receipts, continue each
 * other, are those the log knows, and none is missing behind them.  *ret_last is the newest one, NULL when there is none or it cannot
 * be read.  LOG_DAMAGED, LOG_READ. */
int log_look(struct sys *s, struct arena *a, int state_fd, struct json **ret_last, struct err *e);

/* Is the chain, as far as its files tell from outside, exactly as the last writer left it?  Nothing is read but that. */
bool log_is_as_left(struct sys *s, struct arena *a, int state_fd);
/* Where it is not: would the next writer go on?  The same is looked at as by that writer, in time that does not grow with the log, and nothing
 * is written.  `keys_dir` is that of the recorder.  LOG_DAMAGED, LOG_READ. */
int log_look_back(struct sys *s, struct arena *a, int state_fd, const char *keys_dir, struct err *e);

/* Every look at the end of the chain and every change happens between these two; for whoever looks and changes in one go. */
int recorder_lock(struct recorder *r, struct err *e);
void recorder_unlock(struct recorder *r);

/* The files of a ledger, oldest first: pieces that are sealed or wait to be, and the newest file.  Pieces that were moved away are not among
 * them. */
struct ledger_file {
	const char *ledger, *name; /* below the state */
	unsigned number; /* ledger_place(number, offset) */
	bool is_sealed;
};
int ledger_files(struct sys *s, struct arena *a, int state_fd, const char *ledger, struct ledger_file **ret,
	size_t *ret_n, struct err *e);
/* All text of one of them.  Of a sealed piece blanks stand for what cannot be unpacked.  E_CORRUPT: nothing of it can be. */
int ledger_file_text(struct sys *s, struct arena *a, int state_fd, const struct ledger_file *f,
	struct bytes *ret, struct err *e);

/* For whoever is about to change ledgers: nobody seals pieces (before the chain is locked), and nobody appends to these (after). */
struct ledger_hold {
	int seal_fd;
	int fds[16];
	size_t n;
};
int ledger_hold_pieces(struct recorder *r, struct ledger_hold *ret, struct err *e);
int ledger_hold_files(
	struct recorder *r, const char *const *ledgers, size_t n, struct ledger_hold *h, struct err *e);
void ledger_hold_end(struct recorder *r,
	struct ledger_hold *h); /* for what ledger_hold_pieces() gave, also when it failed */

/* What is to become of one file of a ledger.  A row that is taken out leaves a line of blanks, so that every other row stays at its
 * place. */
struct ledger_mend {
	struct ledger_file file;
	struct bytes text; /* what it will say */
	bool is_gone; /* nothing of it can be read: it is put aside, and nothing takes its place */
	uint64_t rows; /* taken out, or put into their order */
};

/* What is to become of a damaged log, planned by somebody who looked at everything under the lock that is still held. */
struct log_run {
	off_t at, n;
};
struct log_mend {
	const char *file;
	off_t size_bytes; /* as it was looked at */
	struct log_run *kept; /* what stays, in this order */
	size_t kept_n;
	struct log_run *out; /* what is no receipt of this chain; copied beside the file */
	size_t out_n;
};
struct log_plan {
	const char *why;
	struct log_mend *files; /* those that change; of receipts.jsonl at least what stays */
	size_t n;
	struct gaps gaps; /* holes to put on record */
	uint64_t heads_lost; /* signed heads that are gone */
	bool drops_heads, drops_anchors; /* they do not fit this log, or cannot be read: put aside */
	struct ledger_mend *ledgers; /* files of ledgers that change */
	size_t ledger_n;
	struct json *
		lost; /* what of the ledgers is lost, for the seam (docs/formats/receipt-log.md); NULL: nothing */
	uint64_t
		anew_from; /* heads kept elsewhere of this size or more speak of other receipts; 0: none do */
	uint64_t
		clock; /* of the last receipt that stays, its chain hash, and the chain's name; "" when none does */
	struct hash last;
	const char *chain_id;
	/* The leaves of all receipts up to there, those of lost ones included, as lines of log/leaves in a file, and their tree: then the
	 * chain need not be followed again to make them. */
	bool has_leaves;
	int leaves_fd;
	struct merkle tree;
};
/* Take out what is no receipt, and sign a seam at the end of the chain that tells of it.  No receipt that is kept is touched: files
 * are made anew and renamed.  What is taken out lies beside them.  Killed half way, the next writer completes it. */
int log_repair(struct recorder *r, struct arena *a, const struct log_plan *plan, struct json **ret_seam,
	struct err *e);
/* Closed files that are all older than a moment, of the chain and of the ledgers, to another place: copied, made durable, read back and
 * compared; a signed receipt says what went where; a copy of that receipt takes the place of the file, which is removed last.  Killed
 * anywhere, both files or one of them are there, and the next call finishes.  Who puts a file back has it back. */
struct archive_how {
	int64_t before_us;
	const char *to; /* an absolute directory; made when it is not there */
	bool is_dry; /* only say what would be done */
	void (*step)(void *arg, uint64_t done_bytes, uint64_t total_bytes); /* or NULL */
	void *arg;
};
/* The report: {to, before, bytes, files: [{file, sha256, bytes, first, last}], receipts: [ids]}.  Codes: ARCHIVE_CONFLICT (another file of that
 * name is there), LOG_DAMAGED (a file is not as it was closed), ARCHIVE_COPY. */
int log_archive(struct recorder *r, struct arena *a, const struct archive_how *how, struct json **ret_report,
	struct err *e);

/* Under the lock: make leaves and edge again from the receipts. */
int log_rebuild(struct recorder *r, struct arena *a, struct err *e);
/* The same for whoever has verified the whole chain under this lock, signed heads included: whatever leaves and edge say. */
int log_remake(struct recorder *r, struct arena *a, struct err *e);

/* ---- the keys of this user (docs/formats/key-history.md) ---- */

/* All take the directory of keys, relative to dirfd.  Each change of keys is a link in its history.jsonl, signed by the key that was in
 * force and, for a new key, by that one too. */
#define KEY_HISTORY "history.jsonl"

/* The key in force.  A rotation that was interrupted is completed first when its link is on disk, and undone when it is not.
 * Errors as key_load(). */
int keys_load(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e);
/* A rotation is under way, or was interrupted. */
bool keys_are_changing(struct sys *s, struct arena *a, int dirfd, const char *dir);
/* Is this public key (hex) in force, or was it before without another line beginning since? */
bool keys_knows(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex);
/* The same, and it was not revoked. */
bool keys_trusts(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex);
/* The links behind the one that introduced this key; all of the newest line of keys when it is not known.  Empty: no history. */
int keys_links_since(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex,
	struct json **ret, struct err *e);
/* The key in force is one that another user keeps (signer.c): keys/signer.json is {version: 1, socket, public_key}. */
#define SIGNER_FILE "signer.json"
enum {
	SIGNER_LIMIT = 1 << 20, /* of one question */
	SIGNER_ANSWER_LIMIT = 2 << 20, /* of one answer, which may bring what was asked once before */
};
int signer_key(
	struct sys *s, const char *socket, const uint8_t pub[SIGN_PUBLIC], struct key **ret, struct err *e);
/* Whoever answers for this key, which somebody else keeps, has it. */
int signer_check(struct arena *a, const struct key *k, struct err *e);
/* From now on the signer's key is the one of this user.  KEY_EXISTS when there is, or was, another one: what that one signed can be forged
 * by whoever has read it, and must not be continued under a key that cannot.  A key that the signer's own history leads to from the one
 * that it signed with before is followed: that history is this user's then. */
int keys_use_signer(struct sys *s, int dirfd, const char *dir, const char *socket,
	const uint8_t pub[SIGN_PUBLIC], struct err *e);
/* A first key, and the first link. */
int keys_create(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e);
/* A new key takes over.  The old secret is destroyed only after the new one and the link are on disk. */
int keys_rotate(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *reason,
	struct json **ret_link, struct err *e);
/* What `pub` signed from `since` on is not to be trusted; NULL: from here on, by the order of keys and whatever a clock says.
 * Never the key in force (KEY_ACTIVE): rotate first. */
int keys_revoke(struct sys *s, struct arena *a, int dirfd, const char *dir, const uint8_t pub[SIGN_PUBLIC],
	const char *reason, const char *since, struct json **ret_link, struct err *e);

/* ---- ledgers ---- */

#define TASK_OUTSIDE \
	"outside the session's walls" /* the name of a task that was carried out there for a session */
#define TASK_LEDGER "task-ledger.jsonl"
#define COMMAND_LOG "command-log.jsonl"
#define TOOL_CALLS "tool-calls.jsonl"
#define EGRESS_LOG "egress.jsonl" /* connections to named hosts: docs/formats/egress.md */
#define LEDGER_SEGMENTS "segments"

/* Append one row, redacted, keys sorted; on disk when this returns OK.  ret_digest, when not NULL, receives the SHA-256 of the
 * line as written, without its newline. */
int ledger_append(struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row,
	char ret_digest[SHA256_HEX], struct err *e);

/* The digest that ledger_append() gave of a row that was read back. */
void ledger_row_digest(struct arena *a, const struct json *row, char ret_digest[SHA256_HEX]);

/* Append without waiting for the disk: for notes that may be lost in a power cut until a receipt speaks of them. */
int ledger_note(struct sys *s, struct arena *a, int state_fd, const char *file, const struct json *row,
	struct err *e);
/* The same for several rows, in one write. */
int ledger_notes(struct sys *s, struct arena *a, int state_fd, const char *file,
	const struct json *const *rows, size_t n, struct err *e);

/* Ledgers are put aside piece by piece and sealed (docs/formats/ledgers.md): appending does the first by itself when the file has
 * this many bytes; ledger_rotate() is for tests with less.  OK also when the file could not be put aside; an error means that it was,
 * and that this may not survive a power failure. */
#ifdef HELM_SMALL_FILES /* the program of the soak: so many pieces as otherwise a year makes */
enum { CHAIN_ROTATE_BYTES = 1 << 20, LEDGER_ROTATE_BYTES = 256 << 10 };
#else
enum { CHAIN_ROTATE_BYTES = 64 << 20, LEDGER_ROTATE_BYTES = 16 << 20 };
#endif
/* Where a file of the record (below the state) that was moved away is now, by what stands in its place, unverified; NULL: it was not. */
char *segment_place(struct sys *s, struct arena *a, int state_fd, const char *file);
int ledger_rotate(struct sys *s, int state_fd, const char *file, off_t limit, bool is_durable, struct err *e);
/* Pack what was put aside, and its digest into the chain.  For whoever is not in a hurry: some tens of milliseconds for each piece,
 * next to nothing when there is none.  OK also when another process is at it. */
#define LEDGER_ROTATE_EFFECT "helm.ledger/rotate"
int ledger_seal(struct recorder *r, struct arena *a, size_t *ret_sealed, struct err *e);
/* SHA-256 and size of the text in a sealed piece (its path below the state).  E_CORRUPT LEDGER_SEGMENT when it cannot be unpacked. */
int ledger_segment_digest(struct sys *s, int state_fd, const char *name, char ret_hex[SHA256_HEX],
	uint64_t *ret_bytes, struct err *e);

/* What a receipt says about notes: the digest of the text of TOOL_CALLS between two places.  False: it says nothing, or nothing that
 * can be read. */
#define NOTES_MEMBER "notes"
struct notes_said {
	off_t from, to;
	const char *sha256; /* 64 hex digits */
};
bool receipt_notes(const struct json *receipt, struct notes_said *ret);

/* A place in a ledger: the piece, counted from 1, and the offset in it.  0 is the beginning.  Places grow with the ledger, and stay what
 * they are when pieces are put aside, sealed or taken away. */
enum { LEDGER_PLACE_BITS = 40 };
static inline off_t ledger_place(unsigned number, off_t offset)
{
	return (off_t)(number - 1) << LEDGER_PLACE_BITS | offset;
}

/* Every line of a ledger from a place on, in order, as it is at this moment: `offset` is its place, `line` counts from 1 with the first one
 * given.  A last line without an end has is_whole false.  A ledger that is not there has none.  fn returns 0 to go on, > 0 to
 * stop, or a negative rc. */
int ledger_lines(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e);
/* The same for whoever checks: parts of sealed pieces that cannot be unpacked are passed over. */
int ledger_lines_past(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e);
/* A place so that about the last `bytes` of the ledger lie behind it. */
int ledger_recent(struct sys *s, int state_fd, const char *file, off_t bytes, off_t *ret, struct err *e);
/* SHA-256 of the text between two places.  LEDGER_RANGE when it does not reach so far, or a piece of it is not there. */
int ledger_range_digest(struct sys *s, int state_fd, const char *file, off_t from, off_t to,
	char ret_hex[SHA256_HEX], struct err *e);
/* Is this piece of it not here because it was archived? */
bool ledger_is_archived(struct sys *s, struct arena *a, int state_fd, const char *file, unsigned number);
/* Where the next row will be. */
int ledger_end(struct sys *s, int state_fd, const char *file, off_t *ret, struct err *e);
/* The same two questions about the chain: its files are counted like the pieces of a ledger.  `file` is not looked at. */
int receipts_lines(
	struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg, struct err *e);
int receipts_end(struct sys *s, int state_fd, const char *file, off_t *ret, struct err *e);

/* Every row from a place on, in order; a line that is no object is given as NULL.  The row is valid during the call only. */
typedef int row_visit(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e);
int rows_each(
	struct sys *s, int dirfd, const char *file, off_t from, row_visit *fn, void *arg, struct err *e);
/* The row at a place; NULL when there is none, or it is no object. */
int row_at(struct sys *s, struct arena *a, int dirfd, const char *file, off_t place, struct json **ret,
	struct err *e);
/* One line as a row, NULL when it is none.  The text must stay. */
struct json *row_parse(struct arena *a, struct bytes line, const char *file);
/* A line of blanks: nothing, or the place of a row that a repair has taken out.  No reader is given it as a row. */
bool row_is_blank(struct bytes line);

/* The newest row first, then the one before, ..., of the last n lines (0: all), in time that does not depend on the ledger's length.
 * With a `word` rows without it may be passed over unread.  The row stays in `a`; NULL: it is valid during the call only, and a walk
 * over everything takes no more memory than one row.  fn returns 0 to go on, anything else to stop. */
typedef int row_back(void *arg, struct json *row);
int rows_back(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, const char *word,
	row_back *fn, void *arg, struct err *e);

/* The same for the newest rows only: those of pieces that are not packed yet, some ten thousand at least.  *ret_is_more: there are packed
 * pieces, which only the index finds a row in quickly. */
int rows_back_recent(struct sys *s, struct arena *a, int dirfd, const char *file, const char *word,
	row_back *fn, void *arg, bool *ret_is_more, struct err *e);

/* The same for whoever is in a hurry: is_wanted is asked about the text of each line first, and says 1: read it, 0: pass it over unread,
 * -1: that is enough. */
typedef int row_wanted(void *arg, struct bytes line);
int rows_back_wanted(struct sys *s, struct arena *a, int dirfd, const char *file, row_wanted *is_wanted,
	row_back *fn, void *arg, struct err *e);

/* Of the last n lines, how many are no rows: what they said is lost to every reader. */
int rows_check(struct sys *s, int dirfd, const char *file, size_t n, size_t *ret_lines,
	size_t *ret_unreadable, struct err *e);

/* The last n well-formed rows (0: all) in file order, in time that does not depend on the file's length. */
int rows_tail(struct sys *s, struct arena *a, int dirfd, const char *file, size_t n, struct json **ret,
	struct err *e);

/* ---- runs that are going on ---- */

#define OPEN_RUNS "open-runs" /* <state>/open-runs/TASK@PID-START, locked by the run as long as it lasts */
struct open_run {
	int fd; /* -1: none */
	char name[192];
};
/* Before the first row of a task, which names it as `open_run`. */
int open_run_begin(struct sys *s, int state_fd, const char *task_id, struct open_run *ret, struct err *e);
/* After the last row.  A run that ends without one only closes the descriptor: whoever comes next sees that it is over. */
void open_run_end(struct sys *s, int state_fd, struct open_run *r);
/* OK: the run that made this file is over, and whoever closes it is alone.  E_MISSING: there is no such file.  E_IO: it goes on, or
 * nobody can tell. */
int open_run_take(struct sys *s, int state_fd, const char *name, struct open_run *ret);
/* Does this row say `queued` or `running`, and is whoever wrote it gone?  The row may be old by now: the answer is "over" also
 * when the run ended well after it was read, so look at row_newest() again before saying that it did not. */
bool open_run_is_over(struct sys *s, int state_fd, const struct json *row);
bool row_is_open(const struct json *row); /* `queued` or `running` */
/* The newest row of a task, in `a`; *ret NULL when there is none. */
int row_newest(
	struct sys *s, struct arena *a, int state_fd, const char *task_id, struct json **ret, struct err *e);

/* ---- evidence that leaves the house ----
 *
 * A signed pack of files, the same bytes for the same content on any machine: nothing of the machine enters it, no clock (the
 * pack is as old as its newest record), no user, no host, no locale.  EvidencePack v1 with a seal over the whole manifest:
 * docs/formats/evidence-pack.md. */

struct pack_item;
/* Writes exactly the bytes whose length and digest the item names. */
typedef int pack_give(const struct pack_item *item, struct sink *to, struct err *e);
struct pack_item {
	const char *path;
	const char *content_type; /* NULL: by the path */
	struct bytes content; /* or, of what need not be in memory: */
	pack_give *give; /* NULL: content */
	void *arg;
	uint64_t size_bytes;
	struct hash digest;
};

struct pack_about {
	const char *actor_did; /* who the evidence is about */
	const char *intent_id; /* which task, session or span was asked for */
	const char *policy_hash; /* "sha256:..." of the policy in force */
	const char *created_at; /* RFC 3339: the newest thing inside */
};

/* The manifest: entries, hash, Merkle root, signature, seal.  Sorts the items by path.  Refused (E_INPUT): no items
 * (PACK_EMPTY), a path twice or in two cases (PACK_PATH), a path the archive would refuse, a created_at that is no time. */
int pack_manifest_build(struct arena *a, const struct pack_about *about, struct pack_item *items, size_t n,
	const struct key *key, struct json **ret, struct err *e);

struct pack_written {
	struct json *manifest;
	uint64_t size_bytes;
	struct hash digest; /* of the archive */
};
/* Build and write the archive, with as much in memory as the items have: a reader sees the old file or the whole new one, and after OK it survives a crash.
 * E_IO PACK_CHANGED when an item gives other bytes than it said. */
int pack_write(struct sys *s, struct arena *a, int dirfd, const char *path, const struct pack_about *about,
	struct pack_item *items, size_t n, const struct key *key, struct pack_written *ret, struct err *e);

#endif
