/* text.h — text: growing buffers, UTF-8, numbers, times, globs.  No allocation but in the arena given. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* A growing byte buffer in an arena.  `p` is never NULL after buf_init and always NUL-terminated. */
struct buf {
	struct arena *a;
	char *p;
	size_t n, cap;
};
void buf_init(struct buf *b, struct arena *a);
void buf_add(struct buf *b, const void *from, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Room for n more bytes and a NUL at the end, for writers that fill it themselves: they add to b->n what they wrote and
 * leave p[n] NUL. */
char *buf_grow(struct buf *b, size_t n);
static inline char *buf_room(struct buf *b, size_t n)
{
	return n < b->cap - b->n ? b->p + b->n : buf_grow(b, n);
}
static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){ (const uint8_t *)b->p, b->n };
}

static inline bool bytes_eq(struct bytes x, struct bytes y)
{
	return x.n == y.n && (x.n == 0 || __builtin_memcmp(x.p, y.p, x.n) == 0);
}
static inline bool bytes_is(struct bytes x, const char *s)
{
	return bytes_eq(x, bytes_of(s));
}
static inline bool text_eq(const char *x, const char *y)
{
	return __builtin_strcmp(x, y) == 0;
}
bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

/* Decode one code point.  Returns its length 1..4, or 0 when the bytes are not well-formed UTF-8 (overlong forms,
 * surrogates and values above U+10FFFF are not). */
size_t text_decode(const char *p, size_t n, uint32_t *ret_cp);
size_t text_encode(uint32_t cp, char to[4]);
/* Offset of the first byte that is not well-formed UTF-8, or n when all is well. */
size_t text_utf8_valid(const char *p, size_t n);
/* Columns a terminal needs; control characters count 0, wide ones 2. */
size_t text_width(const char *p, size_t n);
/* Bytes for a terminal or log from bytes nobody trusts: control characters (C0, DEL, C1), bidirectional overrides and
 * ill-formed bytes become visible \xHH or \u{HHHH}; newline and tab too unless keep_lines. */
char *text_safe(struct arena *a, const char *p, size_t n, bool keep_lines);
/* The same for what an operator decides about: everything without a width is escaped, also what some scripts need (U+200D). */
char *text_seen(struct arena *a, const char *p, size_t n, bool keep_lines);
/* Offset of the first byte that text_seen() would show as an escape, or n when it changes nothing. */
size_t text_first_unseen(const char *p, size_t n);
/* Well-formed UTF-8 from any bytes: each byte that is none becomes `mark` and two hexadecimal digits, everything else stays.  The same
 * pointer when there is nothing to do. */
const char *text_utf8(struct arena *a, const char *p, size_t n, const char *mark, size_t *ret_n);
#define TEXT_BYTE "\\x" /* as a person reads it: \xFF */
#define TEXT_BYTE_JSON "\\\\x" /* the same inside a JSON text */

/* "1 row", "2 rows": of a word whose plural takes an s. */
char *text_count(struct arena *a, int64_t n, const char *one);
/* "1,127". */
char *text_thousands(struct arena *a, int64_t n);
/* "200 of 1,127, all with --limit 0": the one sentence of every list that is cut.  `rest` says how to see the rest.  NULL when nothing is left out. */
char *text_shown_of(struct arena *a, int64_t shown, int64_t total, const char *rest);

/* One word for a POSIX shell, in single quotes: whatever it holds, it stays one word and nothing in it is expanded. */
char *text_quote(struct arena *a, const char *word);

/* The words of a command line without a shell: blanks divide, '...', "..." and a backslash keep.  False: a quote has no end.  Nothing is
 * expanded.  *ret_words ends in NULL. */
bool text_words(struct arena *a, const char *text, const char *const **ret_words, size_t *ret_n);

/* Comparable spelling of well-formed UTF-8: case folded and composed (NFC), so that names a file system may take for the
 * same give the same text.  text_nfc only composes. */
char *text_fold(struct arena *a, const char *p, size_t n);
char *text_nfc(struct arena *a, const char *p, size_t n);

/* [A-Za-z0-9][A-Za-z0-9._-]{0,127}: safe as an identifier and as a file name. */
bool text_is_id(const char *s);
/* Whole-string decimal integer; false on anything else, overflow included. */
bool text_int(const char *s, int64_t *ret_value);
/* Cut *rest at the first `sep`: returns the part before it and moves *rest behind it (NULL at the end). */
struct bytes text_cut(struct bytes *rest, char sep);

/* Times are microseconds since 1970 UTC.
 * text_time_iso: 2026-04-13T09:10:00.123456+00:00, fraction dropped when zero; text_time_z: the same with Z;
 * text_time_compact: 20260413T091000Z.  text_parse_time reads all of them and any offset, up to nine fraction digits
 * (cut to six), refuses leap seconds beyond :60 and impossible dates. */
char *text_time_iso(struct arena *a, int64_t us);
char *text_time_z(struct arena *a, int64_t us);
char *text_time_compact(struct arena *a, int64_t us);
bool text_parse_time(const char *s, size_t n, int64_t *ret_us);
/* For people: 2026-04-13 11:10:00 on the clock of this machine's time zone, and the name of that zone. */
char *text_time_local(struct arena *a, int64_t us);
char *text_time_zone(struct arena *a, int64_t us);

/* A time as a person types it (text_when.c): so long before now, a day by name or date, a date and time, RFC 3339; on the local clock where no zone
 * is named.  from_us is its first moment; to_us the same, or for a whole day the midnight that ends it.  Untouched when it is none of them. */
struct text_when {
	int64_t from_us, to_us;
};
bool text_when(const char *s, int64_t now_us, struct text_when *ret);
#define TEXT_WHEN_FORMS "2d, 36h, 90m, today, yesterday, 2026-05-01, 2026-05-01 09:00 or 2026-05-01T09:00:00Z"
/* How long: 45s, 90m, 36h, 2d; a whole number from 1 to a million. */
bool text_span(const char *s, int64_t *ret_us);
#define TEXT_SPAN_FORMS "45s, 90m, 36h or 2d"
/* "2026-05-01 09:00 CEST" */
char *text_when_words(struct arena *a, int64_t us);

/* Shell-style glob over a whole string: * ? [a-z] [!a], backslash escapes; `*` and `?` cross '/' only when path is
 * false, `**` crosses it always.  Linear in pattern times text; never recurses. */
bool text_glob(const char *pattern, const char *s, bool path);

/* Edit distance, capped, for nearest-name suggestions: the closest of n names within distance 3 (and less than half the
 * word), or NULL. */
const char *text_nearest(const char *word, const char *const *names, size_t n);

#endif
