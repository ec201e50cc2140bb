/* segments.h — inside record/: the pieces of a ledger (segments.c), how they are read and packed. */
#ifndef RECORD_SEGMENTS_H
#define RECORD_SEGMENTS_H

#include "base/hash.h"
#include "base/text.h"
#include "base/zst.h"
#include "record/parts.h"

#define LEDGER_WAITING LEDGER_SEGMENTS "/waiting"
#define LEDGER_LOCK LEDGER_SEGMENTS "/lock"

enum { SEGMENT_FRAME = 256 << 10, SEGMENT_LEVEL = 3 };

struct ledger_part {
	unsigned number;
	bool is_sealed; /* else it was waiting when it was listed */
};

/* A ledger at one moment: its older pieces by number, and the newest file, open. */
struct ledger_cut {
	struct sys *sys;
	int state_fd;
	const char *file;
	struct ledger_part *parts;
	size_t n;
	unsigned next; /* number that the newest file will have */
	int now_fd; /* -1: there is none */
	off_t now_size;
	bool passes_damage; /* pieces and frames that cannot be unpacked are passed over, not an error */
};
int ledger_cut_take(struct sys *s, struct arena *a, int state_fd, const char *file, struct ledger_cut *ret,
	struct err *e);
void ledger_cut_close(struct ledger_cut *c);
int ledger_cut_lines(
	struct ledger_cut *c, struct arena *a, off_t from, line_visit *fn, void *arg, struct err *e);
/* The steps of it, for a reader that begins at the end: open the newest file; list the others; is the file that was opened
 * still the newest? */
int ledger_open_now(struct ledger_cut *c, int *ret_fd, struct stat *ret, struct err *e);
int ledger_list(struct ledger_cut *c, struct arena *a, struct err *e);
bool ledger_is_now(struct ledger_cut *c);

/* As ledger_recent(), of the chain: its files are counted like the pieces of a ledger.  `file` is not looked at. */
int receipts_recent(struct sys *s, int state_fd, const char *file, off_t bytes, off_t *ret, struct err *e);

/* Names in one of the two directories, LEDGER_SEGMENTS and LEDGER_WAITING. */
int ledger_names(struct sys *s, struct arena *a, int state_fd, const char *dir, char ***ret, size_t *ret_n,
	struct err *e);
char *ledger_waiting_name(struct arena *a, const char *file, unsigned number);
char *ledger_sealed_name(struct arena *a, const char *file, unsigned number);

/* A sealed piece.  Each frame holds whole lines. */
struct piece_frame {
	off_t at, offset; /* in the file; in the text */
	uint32_t packed, plain; /* bytes */
};
struct piece {
	struct sys *sys;
	struct arena a, step;
	const char *name;
	int fd;
	struct zst zst;
	struct piece_frame *frames;
	size_t frame_count;
	off_t size; /* of the text */
};
int piece_open(struct sys *s, int state_fd, const char *name, struct piece *ret, struct err *e);
/* A sealed piece of this ledger, here or where it was moved to.  1: it was moved, and cannot be read there. */
int ledger_piece_open(
	struct ledger_cut *c, struct arena *a, unsigned number, struct piece *ret, struct err *e);
void piece_close(struct piece *g);
int piece_frame(struct piece *g, size_t i, struct bytes *ret, struct err *e);

/* Packing: begin, add every line, finish.  Digests and counts are in it afterwards. */
struct piece_writer {
	struct sys *sys;
	int fd;
	struct arena a, hold, step;
	struct zst zst;
	struct buf held;
	uint8_t *table;
	size_t n, cap;
	struct sha256 plain, packed;
	uint64_t plain_bytes, packed_bytes, rows;
};
void piece_writer_begin(struct piece_writer *w, struct sys *s, int fd);
int piece_add(struct piece_writer *w, struct bytes line, bool is_whole, struct err *e);
int piece_finish(struct piece_writer *w, struct err *e);
void piece_writer_done(struct piece_writer *w);

#endif
