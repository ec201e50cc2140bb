/* draw.h — what decisions use up, and the sum of everything that was used up so far.
 *
 * A draw stands in the signed receipt of the decision that it belongs to (metadata.draws), and what became of it in the receipt of the
 * outcome (metadata.settles).  `struct drawn` is the sum over a chain of receipts.  Everybody who sums up the same receipts has the
 * same sums: nothing but the receipts enters, no clock and no policy.  docs/formats/draws.md.
 *
 * The same arithmetic is used to judge (decide/bounds) and to commit (record/draws.c): what a gate finds to fit is looked at again,
 * under the lock of the chain, before the receipt is signed. */
#ifndef MODEL_DRAW_H
#define MODEL_DRAW_H

#include "base/json.h"

enum draw_kind {
	DRAW_BUDGET, /* amount in minor units (or requests) of budget `key` */
	DRAW_WINDOW, /* so many more in a window that starts at window_us; limit is its bound */
	DRAW_COUNT, /* a counter of an envelope: calls, cost, effects of a class */
	DRAW_NONCE, /* used once, for ever */
	DRAW_PERMIT, /* a permit or token: one use, for ever */
	DRAW_BUCKET, /* tokens of a bucket that holds `limit` and gets one back every window_length_us */
	DRAW_PACE, /* one more event of somebody whose pace is watched: the ladder of struct pace */
	DRAW_KIND_COUNT
};
struct draw {
	enum draw_kind kind;
	const char *key; /* parts are length-prefixed (draw_key), so that no two things share a key */
	int64_t amount;
	int64_t limit; /* what the sum may not exceed; checked again when it is committed */
	int64_t window_us; /* start of the window, 0: none */
	int64_t window_length_us; /* of what is used once: from this moment on nobody accepts it anyway; 0: never */
	bool is_held; /* what it really costs is known when it is done: the outcome settles or releases it */
};
#define DRAW_NO_LIMIT INT64_MAX /* a person has said yes to going beyond */

/* What became of what was held: `amount` was used, and the rest is free again.  0 releases all of it. */
struct draw_settled {
	enum draw_kind kind;
	const char *key;
	int64_t window_us;
	int64_t amount;
};

const char *draw_kind_name(enum draw_kind k);
/* For window_length_us of what is used once: 0, never, when a receipt has no number for that moment. */
int64_t draw_until(int64_t us);
/* "3:abc|0:|5:hello": the texts up to the first NULL, each with its length, so that different lists are different keys. */
char *draw_key(struct arena *a, const char *first, ...) __attribute__((sentinel));
/* The parts again, as far as they can be read; false past the end. */
bool draw_key_part(struct arena *a, const char *key, size_t i, const char **ret);

/* ---- pace: how fast somebody acts, and what follows from it (docs/formats/policy-limits.md) ---- */

enum pace_level {
	PACE_OBSERVE,
	PACE_THROTTLE,
	PACE_INTERRUPT,
	PACE_QUARANTINE,
	PACE_FAIL_CLOSED,
	PACE_LEVELS
};
enum { PACE_WINDOW_S = 60 };
struct pace {
	enum pace_level level;
	int64_t entered_us; /* this level */
	int64_t above_us[PACE_LEVELS]; /* since when the threshold of a level is passed; 0: it is not */
	int64_t newest_s; /* the second of the newest event */
	uint32_t events[PACE_WINDOW_S]; /* of second s at s % PACE_WINDOW_S */
};
/* n events at one moment: counted, then one level down when it is slow and the cooldown is over, then up to the highest level whose
 * threshold was passed for long enough. */
void pace_step(struct pace *p, int64_t now_us, uint32_t n);
const char *pace_level_name(enum pace_level l);
int pace_hold_s(enum pace_level l); /* how long to wait */

/* ---- the sum ---- */

struct drawn_entry {
	bool is_there;
	enum draw_kind kind;
	const char *key;
	int64_t window_us, length_us;
	int64_t used; /* settled; of a bucket: the moment when it is full again */
	int64_t held; /* of decisions whose outcome is not known */
	int64_t claimed; /* by those that are just being written */
	int64_t first_us, last_us; /* of the receipts that drew on it */
	struct pace *pace; /* of DRAW_PACE */
};
struct drawn {
	struct arena a;
	struct drawn_entry *slots; /* open addressing */
	size_t room, n, kept; /* kept: entries that the last sweep left */
	int64_t newest_us; /* time of the newest receipt that drew */
};
void drawn_done(struct drawn *d); /* { 0 } is an empty sum */

/* NULL when nothing was ever drawn on it; `d` may be NULL. */
const struct drawn_entry *drawn_find(
	const struct drawn *d, enum draw_kind kind, const char *key, int64_t window_us);
/* The next one behind *at, in no order; NULL at the end.  *at begins as 0. */
const struct drawn_entry *drawn_next(const struct drawn *d, size_t *at);

enum draw_answer {
	DRAW_FITS,
	DRAW_FULL, /* more than is left */
	DRAW_USED, /* a nonce or permit that was used */
	DRAW_CLOSED, /* its window is over */
	DRAW_WRONG, /* no amount that can be drawn: negative, or a sum that no number holds */
	DRAW_ANSWERS
};
/* Would it fit now, with what is claimed? */
enum draw_answer drawn_check(const struct drawn *d, const struct draw *x, int64_t now_us);
/* Several that are to be written together: each is claimed before the next one is checked, and all claims are dropped when they are written
 * or given up. */
void drawn_claim(struct drawn *d, const struct draw *x);
void drawn_unclaim(struct drawn *d, const struct draw *x);

/* One receipt more.  Receipts that say nothing about draws change nothing.  False: what it says about them cannot be read, so the
 * sum is not known any more. */
bool drawn_receipt(struct drawn *d, const struct json *receipt);
/* Windows that closed two days before the newest draw are forgotten when there are more than a thousand entries. */
void drawn_sweep(struct drawn *d);

#define DRAWS_MEMBER "draws"
#define SETTLES_MEMBER "settles"
struct json *draws_json(struct arena *a, const struct draw *draws, size_t n);
struct json *settles_json(struct arena *a, const struct draw_settled *settled, size_t n);
bool draw_read(const struct json *v, struct draw *ret);

/* All of it as one document, and back; false when it is none. */
struct json *drawn_json(struct arena *a, const struct drawn *d);
bool drawn_from_json(struct drawn *d, const struct json *doc);

#endif
