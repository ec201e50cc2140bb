/* projection.h — which members of a record enter a preimage, and how.
 *
 * Most signed records are hashed not as received but as a fixed list of members: unknown ones are ignored, some are always
 * written, some only when not empty, times are printed again by one rule.  Each record kind is one table; one interpreter
 * writes canonical JSON from it.  Tables are sorted by name, so that what is written is in canonical order. */
#ifndef MODEL_PROJECTION_H
#define MODEL_PROJECTION_H

#include "base/json.h"

enum shape {
	SHAPE_TEXT,
	SHAPE_INT, /* -2^53+1 .. 2^53-1 */
	SHAPE_UINT, /* 0 .. 2^53-1 */
	SHAPE_BOOL,
	SHAPE_TIME, /* printed again, offset kept */
	SHAPE_UTC, /* printed again in UTC */
	SHAPE_TEXTS, /* list of strings */
	SHAPE_MAP, /* object with string values */
	SHAPE_FREE, /* any value; its numbers pass a double, as the reference reader's do */
	SHAPE_RAW, /* any value; number tokens kept */
	SHAPE_OBJECT, /* by `sub`; absent counts as {} */
	SHAPE_OBJECTS /* list of objects, each by `sub` */
};

enum presence {
	ALWAYS = 'A', /* absent: "", 0, false, null for a list or map, {} projected for an object */
	OMIT = 'O', /* dropped when empty: "", 0, false, null, [], {} */
	UNSET = 'Z', /* a time that is always written, as year 1 when absent */
	FILLED = 'F', /* as ALWAYS, but an absent list is [] and an absent map {} */
	REQUIRED = 'R', /* as ALWAYS, but refused when absent or null */
	CONST = 'C' /* `fixed` whatever the record says */
};

struct projection;
struct member {
	const char *name;
	enum shape shape;
	enum presence presence;
	const struct projection *sub;
	const char *fixed;
};

struct projection {
	const struct member *members;
	size_t n;
};

/* PROJECTION(name, MEMBER("a", TEXT, ALWAYS), ...) defines `const struct projection name`; rows sorted by name. */
#define MEMBER(name, shape, presence) \
	{ \
		name, SHAPE_##shape, presence, NULL, NULL \
	}
#define MEMBER_OF(name, shape, presence, sub) \
	{ \
		name, SHAPE_##shape, presence, &sub, NULL \
	}
#define MEMBER_IS(name, fixed) \
	{ \
		name, SHAPE_TEXT, CONST, NULL, fixed \
	}
#define PROJECTION(id, ...) \
	static const struct member id##_members[] = { __VA_ARGS__ }; \
	const struct projection id = { id##_members, sizeof(id##_members) / sizeof(id##_members[0]) }

/* Where a top-level member was written: from the comma before it to the end of its value.  n is 0 when it was not. */
struct span {
	const char *name;
	size_t at, n;
};

/* Exceptions for one use of a table; all lists end in NULL and may be NULL. */
struct except {
	const char *const *absent; /* top-level members left out */
	const char *const *cleared; /* top-level members written as "" */
	struct span *spans; /* members whose places are wanted; ends in a row without name */
};

/* Append the canonical JSON of `record` as the table says.  Refused (E_INPUT): MEMBER_TYPE when a listed member has
 * another type than the table's, MEMBER_CASE when an unlisted name differs from a listed one in letter case only,
 * MEMBER_MISSING, non_interoperable_number.  On failure `to` is as before. */
int projection_write(struct buf *to, const struct projection *p, const struct except *but,
	const struct json *record, struct err *e);

/* OK, or MEMBER_CASE: no member name of `record` (or of its listed sub-objects) equals a listed name only when case is
 * ignored.  Case folding as the reference reader's: ASCII, U+017F as s, U+212A as k. */
int projection_check_names(const struct projection *p, const struct json *record, struct err *e);

#endif
