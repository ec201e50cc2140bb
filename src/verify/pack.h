/* pack.h — what the verifiers of packs share inside this folder. */
#ifndef VERIFY_PACK_H
#define VERIFY_PACK_H

#include "verify/parts.h"
#include "verify/verify.h"

enum {
	PACK_KEEP_BYTES = 32 << 20, /* of content held for looking into it */
	PACK_KEEP_LINES =
		8 << 20, /* of that, for lines of receipts, which are looked into while they are read */
	PACK_MAX_FILES = 200000
};
#define PACK_MAX_BYTES ((uint64_t)64 << 30)
#define PACK_LEAVES "transparency/leaves.txt"
#define PACK_HEAD "transparency/head.json"
/* What was found about the record when the pack was made, and the ledger entries that its receipts bind. */
#define PACK_RECORD "record.json"
#define PACK_SHOWN "shown/" /* and the digest that receipts have of it: what was asked, redacted */
#define PACK_NOTES "notes/" /* and the clock of the receipt: notes of calls that it signs */
/* Receipts of changes of keys once more, so that who reads on knows the keys first. */
#define PACK_KEYS "order-of-keys.jsonl"

bool pack_has_dir(const struct pack *p, const char *dir);
/* The document in a file; PACK_LIMIT when its content was not kept. */
int pack_json(struct arena *a, const struct pack_file *f, struct json **ret, struct err *e);

/* The three layouts. */
void verify_pack_v1(struct verification *v, const struct pack *p, const struct json *manifest);
void verify_pack_native(struct verification *v, const struct pack *p);

/* A list of texts, for findings that accumulate. */
void pack_add_error(struct verification *v, struct json *errors, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
char *pack_join(struct arena *a, const struct json *texts, const char *between);

/* Native index. */
struct index_entry {
	const char *path;
	const char *sha256; /* as written */
	struct hash digest;
	bool is_digest; /* sha256 is 32 bytes of hex, with or without prefix */
};
struct pack_index {
	struct json *doc; /* NULL: there is no index */
	struct bytes text;
	struct index_entry *entries; /* sorted by path */
	size_t n;
	struct json *errors; /* of reading it */
};
void pack_index_read(struct verification *v, const struct pack *p, struct pack_index *ret);

/* The seal of the native layout.  Reports check evidence_pack_seal and values seal_state, seal_form, seal_signature_valid,
 * anchor_status, storage_status. */
void pack_check_seal(struct verification *v, const struct pack *p, const struct pack_index *index);

/* Receipts of a pack as chains: checks chain_integrity and lamport_monotonicity. */
void pack_check_chain(struct verification *v, const struct pack *p, const char *receipts_dir);

/* Receipts of a manifest layout by themselves: checks receipts (their own signatures) and transparency (their places in the
 * log whose leaves and head went along). */
void pack_check_receipts(struct verification *v, const struct pack *p);
bool pack_is_receipt(const char *path); /* one receipt */
bool pack_is_lines(const char *path); /* a file of receipts, one per line */

/* pack_lines.c: receipts in files of lines, and the leaves of the log they stand in, of any number, looked into piece by piece. */
struct line_file {
	const char *path;
	uint64_t first, last, count; /* clocks; they rise */
	uint8_t *bits; /* of the clocks from `first` on: which are there */
	uint64_t bits_bytes;
	struct sha256 digest; /* of their leaves, in order */
	bool is_odd; /* clocks do not rise, or lie too far apart: their places cannot be told */
};
struct leaf_check {
	bool is_done; /* there were leaves, and they were looked at when all receipts were known */
	bool is_malformed;
	uint64_t count, placed;
	uint64_t last; /* the highest place of a receipt */
	const char *misplaced;
	uint64_t head_size; /* of the tree head; 0: none */
	struct hash root; /* at that size */
};
/* pack_rows.c: digests of ledger entries that receipts name, and of the lines below transcripts/; the first half of each.  In any order. */
enum { ROW_KEY = 16 };
struct row_keys {
	uint8_t (*keys)[ROW_KEY];
	size_t n, cap;
	bool is_over; /* more than are compared */
};
/* What a receipt signs about notes of calls: the digest of the file notes/<clock>.jsonl. */
struct pack_note {
	uint64_t clock;
	struct hash digest;
};
struct pack_rows {
	struct row_keys wanted, there;
	struct row_keys shown; /* what was asked, by its digest in a receipt */
	struct pack_note *notes;
	size_t note_n, note_cap;
};
void rows_want(struct arena *a, struct pack_rows *to, const struct json *receipt);
void rows_want_lines(struct arena *a, struct pack_rows *to, struct bytes text);
struct rows_feed;
struct rows_feed *rows_begin(struct arena *a, struct pack_rows *to);
void rows_feed(struct rows_feed *f, const void *p, size_t n);
void rows_end(struct rows_feed *f);
bool pack_is_rows(const char *path);
/* Checks record and ledger_entries.  `unread`: receipts that could not be looked into. */
void pack_check_rows(struct verification *v, const struct pack *p, struct pack_rows *rows, size_t unread);

struct pack_lines {
	struct pack_rows rows;
	struct line_file *files;
	size_t n, cap;
	size_t total, trusted, foreign;
	const char *broken, *why;
	struct hash session; /* of the receipt before, and the order of the newest key there */
	unsigned key_order;
	uint64_t bits_bytes;
	struct leaf_check leaves;
};
/* Feed one file of lines, then the next.  What does not fit into memory as one line is broken. */
struct lines_feed;
struct lines_feed *lines_begin(struct arena *a, struct pack_lines *to, const char *path,
	const struct trust *trust, const struct pack_reading *how);
void lines_feed(struct lines_feed *f, const void *p, size_t n);
void lines_end(struct lines_feed *f);
/* The leaves: all receipts of the pack must have been read before. */
struct leaves_feed;
struct leaves_feed *leaves_begin(struct arena *a, const struct pack *p, struct pack_lines *to);
void leaves_feed(struct leaves_feed *f, const void *p, size_t n);
void leaves_end(struct leaves_feed *f);
/* Before that: receipts in it may extend v->trust to the keys that followed or preceded those given. */
void pack_add_seams(struct verification *v, const struct pack *p);

/* Tapes: `issues` receives what is wrong; empty means they replay.  Returns how many entries were checked. */
size_t pack_check_tapes(struct verification *v, const struct pack *p, struct json *issues);

#endif
