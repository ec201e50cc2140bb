/* shown.h — what was asked, as people may read it: kept beside the record, and bound by a digest in it (docs/formats/shown.md).
 *
 * A receipt has `args_hash`, the digest of the exact input, which may hold secrets and is kept nowhere.  Its metadata has SHOWN_MEMBER, the digest
 * of the document that is made here: the same request without credentials, at most so large.  The document is a line of SHOWN_FILE.
 * That a line is gone means that it is not kept any more, and nothing else; one whose bytes do not fit its digest was changed. */
#ifndef RECORD_SHOWN_H
#define RECORD_SHOWN_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#include <stdbool.h>
#include <stdint.h>

#define SHOWN_DIR "shown"
#define SHOWN_FILE SHOWN_DIR "/shown.jsonl"
#define SHOWN_MEMBER "shown_sha256" /* of a decision's metadata, and of a question */
#define SHOWN_ERASE_EFFECT "helm.shown/erase"

/* How much is kept, and how long.  What is older or more goes when a new file is begun: each week, and after so many bytes. */
enum { SHOWN_PIECE_BYTES = 4 << 20, SHOWN_MOST_BYTES = 64 << 20, SHOWN_MOST_DAYS = 90 };

struct shown_asked {
	const char *tool, *preview;
	const struct json *arguments; /* object */
	const char *diff; /* unified, of what it changes; or NULL */
	const char *note; /* a sentence about that; or NULL */
};
/* {version, tool, preview, arguments, diff, note, left_out_bytes}: redacted, at most so large, in `a`. */
struct json *shown_make(struct arena *a, const struct shown_asked *asked);

/* One line more; nobody waits for the disk.  `session` may be NULL. */
int shown_keep(struct sys *s, struct arena *a, int state_fd, const char *session, const struct json *shown,
	struct err *e);
/* The document with this digest ("sha256:..." as receipts have it).  E_MISSING SHOWN_MISSING: it is not kept.  E_CORRUPT SHOWN_CHANGED: it is not what
 * was asked any more. */
int shown_read(
	struct sys *s, struct arena *a, int state_fd, const char *sha256, struct json **ret, struct err *e);

/* Every line, the oldest first: `shown` is NULL when it cannot be read or does not have its digest.  fn as in receipts_each(). */
typedef int shown_visit(void *arg, const char *sha256, const struct json *shown, struct err *e);
int shown_each(struct sys *s, int state_fd, shown_visit *fn, void *arg, struct err *e);

struct shown_usage {
	uint64_t bytes;
	size_t files;
	int64_t oldest_us; /* of the oldest file's first line; 0: nothing is kept, or it cannot be read */
};
int shown_usage(struct sys *s, struct arena *a, int state_fd, struct shown_usage *ret, struct err *e);

struct recorder;
struct shown_choice {
	int64_t before_us;
	const char *session; /* only of this one; or NULL */
	bool is_dry;
};
/* A receipt says what goes, and then it goes.  The answer: {before, session, lines, bytes, receipt_id}. */
int shown_erase(struct recorder *r, struct arena *a, const struct shown_choice *choice,
	struct json **ret_report, struct err *e);

#endif
