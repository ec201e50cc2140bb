/* json.h — strict JSON: parser, builder, writers, canonical form.  Ours on purpose (docs/decisions/0001).
 *
 * The parser accepts RFC 8259 and nothing else: duplicate member names at any depth, ill-formed UTF-8, lone surrogate
 * escapes, control characters, a byte-order mark, NUL bytes, trailing text and anything past a limit are refused with
 * line, column and what was expected.  Number tokens are kept as written, so canonical bytes never pass a double.
 *
 * Values live in the arena they were made in.  Pointers to values stay valid while the tree grows. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_member;

struct json {
	uint8_t type; /* enum json_type */
	uint32_t n; /* bytes of text, elements, or members */
	uint32_t cap; /* builder's room for items or members */
	uint32_t at; /* byte offset in the parsed text, 0 for built values */
	union {
		/* string (decoded) or number token; NUL-terminated; may hold NUL from \u0000 */
		const char *text;
		struct json **items; /* array */
		struct json_member *members; /* object, in document order */
	};
};

struct json_member {
	const char *name;
	uint32_t name_n;
	struct json *value;
};

/* Writers, comparison and copying recurse into a tree, so nothing may be deeper than this, whatever a caller allows. */
enum { JSON_DEEPEST = 1000 };

struct json_limits {
	uint32_t depth; /* nesting of arrays and objects; 0 = 64; at most JSON_DEEPEST */
	size_t size_bytes; /* of the whole text; 0 = 64 MiB */
	uint32_t max_nodes; /* values in the whole document; 0 = 4 million */
};

/* Parse one document.  `name` is the file or source named in errors ("name:line:column: expected ..., found ...").
 * lim NULL = defaults.  The tree keeps nothing of `text`: it is copied once into the arena.  Columns count
 * characters.  Error codes: JSON_SYNTAX, JSON_NUMBER, JSON_DUPLICATE_KEY, JSON_UTF8, JSON_SURROGATE, JSON_CONTROL,
 * JSON_TRAILING with E_INPUT; JSON_DEPTH, JSON_SIZE with E_LIMIT. */
int json_parse(struct arena *a, struct bytes text, const char *name, const struct json_limits *lim,
	struct json **ret, struct err *e);

/* Reading.  All accept NULL and wrong types and then give NULL / false / 0 / the fallback. */
struct json *json_get(const struct json *obj, const char *name);
struct json *json_at(const struct json *arr, size_t i);
const char *json_text(const struct json *v); /* of a string without NUL inside, else NULL */
const char *json_get_text(const struct json *obj, const char *name, const char *fallback);
bool json_get_bool(const struct json *obj, const char *name, bool fallback);
int64_t json_get_int(const struct json *obj, const char *name, int64_t fallback);
bool json_int(const struct json *v, int64_t *ret); /* integer token that fits; not 1.0, not 1e2 */
bool json_is(const struct json *v, enum json_type type);
bool json_is_bool(const struct json *v);
bool json_eq(const struct json *x, const struct json *y); /* deep; member order ignored, numbers by token */
const char *json_type_name(const struct json *v); /* "object", ... for messages; NULL is "nothing" */

#define json_each(v, arr) \
	for (struct json **v##_p = json_items(arr), **v##_end = json_items_end(v##_p, arr), *v; \
		v##_p != v##_end && ((v = *v##_p), true); v##_p++)
#define json_each_member(m, obj) \
	for (struct json_member *m = json_members(obj), *m##_end = json_members_end(m, obj); m != m##_end; \
		m++)

/* Where those begin and end: nowhere, when it is not an array or object. */
static inline struct json **json_items(const struct json *arr)
{
	return json_is(arr, JSON_ARRAY) ? arr->items : NULL;
}
static inline struct json **json_items_end(struct json **first, const struct json *arr)
{
	return first ? first + arr->n : NULL;
}
static inline struct json_member *json_members(const struct json *obj)
{
	return json_is(obj, JSON_OBJECT) ? obj->members : NULL;
}
static inline struct json_member *json_members_end(struct json_member *first, const struct json *obj)
{
	return first ? first + obj->n : NULL;
}

/* Building.  Text is copied into the arena.  json_set replaces an existing member of that name. */
struct json *json_new(struct arena *a, enum json_type type);
struct json *json_string(struct arena *a, const char *s);
struct json *json_stringn(struct arena *a, const char *s, size_t n);
struct json *json_stringf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct json *json_number(struct arena *a, int64_t value);
/* The shortest text that reads back, as ECMAScript prints it: 1e+21, 0.000001, 1e-7; null for what JSON has no text. */
struct json *json_double(struct arena *a, double value);
struct json *json_bool(struct arena *a, bool value);
void json_set(struct arena *a, struct json *obj, const char *name, struct json *value);
/* The same for a name of which the caller knows that the object does not have it: does not look for it. */
void json_append(struct arena *a, struct json *obj, const char *name, struct json *value);
void json_sets(
	struct arena *a, struct json *obj, const char *name, const char *value); /* NULL value: JSON null */
void json_seti(struct arena *a, struct json *obj, const char *name, int64_t value);
void json_setb(struct arena *a, struct json *obj, const char *name, bool value);
void json_push(struct arena *a, struct json *arr, struct json *value);
void json_pushs(struct arena *a, struct json *arr, const char *value);
bool json_remove(struct json *obj, const char *name);
/* The members of this object, not of those inside, in the order of the canonical form. */
void json_sort_members(struct json *obj);
struct json *json_copy(struct arena *a, const struct json *v); /* deep; of NULL: NULL */
/* Every text and name in a tree, in place, as json_write() would write it: for what is signed and must be readable. */
void json_make_utf8(struct arena *a, struct json *v);

/* Writing. */
enum {
	JSON_INDENT = 1, /* two spaces, ": ", one item per line, [] and {} when empty; no final newline */
	JSON_SORT = 2, /* members by UTF-16 code units (the canonical order) */
	JSON_SORT_BYTES = 4, /* members by bytes */
	JSON_HTML_SAFE = 8, /* < > & U+2028 U+2029 as \u escapes ("ordinary JSON" of the evidence formats) */
	JSON_SPACED = 16 /* ", " and ": " on one line, as Python's default: the ledgers' spelling */
};
/* What is written is always UTF-8: a byte of a text that is none (names of files and words of commands may hold any) is written as
 * the four characters \xHH. */
void json_write(struct buf *to, const struct json *v, unsigned flags);

/* Canonical JSON v1: no white space, members in UTF-16 order, number tokens verbatim, only the escapes that must be.  Bytes stay as
 * they are, so that a digest is over what was really there. */
void json_canonical(struct buf *to, const struct json *v);

/* The same, refused when some number is not interoperable (-?(0|[1-9][0-9]*), not -0, |n| <= 2^53-1).  The error code is
 * non_interoperable_number and the text names the first offending path ($, $.a, $.a[2]) in canonical order. */
int json_canonical_strict(struct buf *to, const struct json *v, struct err *e);

/* "sha256:" and 64 hex digits: the SHA-256 of the canonical bytes, by which receipts speak of a document. */
char *json_sha256(struct arena *a, const struct json *v);

/* The first name in document order that was there before: true, and the places of both.  n log n, whatever the names. */
bool json_duplicate(const struct json_member *members, uint32_t n, uint32_t *ret_first, uint32_t *ret_again);

/* Compare names as canonical order does: by UTF-16 code units. */
int json_name_cmp(const char *x, size_t xn, const char *y, size_t yn);

#endif
