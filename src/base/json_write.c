/* json_write.c — the writers: ordinary, indented, canonical, and canonical with refusal.
 *
 * There is one writer. Its spellings differ in four places only: what stands between tokens, the order of
 * members, which characters are escaped, and whether a number may be refused. The canonical form is what
 * hashes and signatures cover. Its order of names is by UTF-16 code units, which is byte order except that
 * characters from U+10000 on come before U+E000..U+FFFF. So names are compared as bytes, and only the
 * first byte that differs is looked at twice.
 *
 * Recursion is bounded: no tree is deeper than JSON_DEEPEST. The parser refuses deeper texts, and a deeper
 * tree that was built is a bug. */
#include "base/hash.h"
#include "base/json.h"
#include "base/scan.h"

enum { SORT_STACK = 32, INSERTION_SORT = 24 };

struct writer {
	struct buf *to;
	unsigned flags;
	uint32_t depth;
	/* Strict writing: where we are, for the message. */
	bool is_strict;
	const struct json *refused;
};

/* ---- order of names ---- */

/* The place of a lead byte in UTF-16 order: 0xf0..0xf4 (surrogate pairs) sort before 0xee and 0xef. */
static inline unsigned utf16_rank(uint8_t c)
{
	if (c < 0xee)
		return c;
	return c >= 0xf0 ? c - 2u : c + 5u;
}

/* The order of names in canonical JSON. The first byte that differs decides, by its rank. */
int json_name_cmp(const char *x, size_t xn, const char *y, size_t yn)
{
	size_t n = xn < yn ? xn : yn;

	for (size_t i = 0; i < n; i++) {
		if (x[i] == y[i])
			continue;
		return utf16_rank((uint8_t)x[i]) < utf16_rank((uint8_t)y[i]) ? -1 : 1;
	}
	return (xn > yn) - (xn < yn);
}

/* A member with the first eight bytes of its name as a number that compares in the same way, so that most
 * comparisons need no look at the names. */
struct sort_key {
	uint64_t head;
	const struct json_member *member;
};

/* Big-endian, so that the first byte weighs most; short names are filled up with zeros. */
static inline uint64_t head_of(const struct json_member *m, bool is_utf16)
{
	uint32_t n = m->name_n;
	uint64_t head = 0;

	if (n >= 8) {
		head = __builtin_bswap64(scan_load(m->name));
	} else if (n >= 4) { /* two halves that overlap in equal bytes */
		uint64_t last = scan_load4(m->name + n - 4);
		head = __builtin_bswap64(scan_load4(m->name)) | __builtin_bswap64(last) >> (8 * (n - 4));
	} else {
		for (uint32_t i = 0; i < n; i++)
			head |= (uint64_t)(uint8_t)m->name[i] << (56 - 8 * i);
	}
	if (!is_utf16 || !(head & SCAN_HIGH))
		return head;
	uint64_t ranked = 0;
	for (int shift = 56; shift >= 0; shift -= 8)
		ranked |= (uint64_t)utf16_rank((uint8_t)(head >> shift)) << shift;
	return ranked;
}

static int bytes_order(const struct json_member *x, const struct json_member *y)
{
	uint32_t n = x->name_n < y->name_n ? x->name_n : y->name_n;
	int order = memcmp(x->name, y->name, n);

	return order ? order : (x->name_n > y->name_n) - (x->name_n < y->name_n);
}

static inline int key_order(const struct sort_key *x, const struct sort_key *y, bool is_utf16)
{
	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	if (is_utf16)
		return json_name_cmp(x->member->name, x->member->name_n, y->member->name, y->member->name_n);
	return bytes_order(x->member, y->member);
}

static int utf16_key_order(const void *x, const void *y)
{
	return key_order(x, y, true);
}

static int bytes_key_order(const void *x, const void *y)
{
	return key_order(x, y, false);
}

/* Objects are small, and for few keys insertion is faster than qsort(). */
static void sort_keys(struct sort_key *keys, uint32_t n, bool is_utf16)
{
	if (n > INSERTION_SORT) {
		qsort(keys, n, sizeof(*keys), is_utf16 ? utf16_key_order : bytes_key_order);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		struct sort_key key = keys[i];
		uint32_t j = i;
		for (; j > 0 && key_order(&key, &keys[j - 1], is_utf16) < 0; j--)
			keys[j] = keys[j - 1];
		keys[j] = key;
	}
}

/* ---- strings ---- */

/* One byte that cannot stand in a string as it is. */
static void write_escape(struct buf *to, uint8_t c)
{
	static const char names[] = { ['\b'] = 'b',
		['\t'] = 't',
		['\n'] = 'n',
		['\f'] = 'f',
		['\r'] = 'r',
		['"'] = '"',
		['\\'] = '\\' };

	if (names[c]) {
		char two[2] = { '\\', names[c] };
		buf_add(to, two, 2);
	} else {
		buf_addf(to, "\\u%04x", c);
	}
}

/* put_char(), put() and put_quoted() do not write the final NUL; write_tree() does that once. */
static inline void put_char(struct buf *to, char c)
{
	*buf_room(to, 1) = c;
	to->n++;
}

static inline void put(struct buf *to, const char *s, size_t n)
{
	memcpy(buf_room(to, n), s, n);
	to->n += n;
}

static inline void put_quoted(struct buf *to, const char *s, size_t n)
{
	char *p = buf_room(to, n + 2);

	p[0] = '"';
	memcpy(p + 1, s, n);
	p[n + 1] = '"';
	to->n += n + 2;
}

/* Only what must be escaped is: quotes, backslashes and control characters. */
static void write_escaped(struct buf *to, const char *s, size_t n)
{
	put_char(to, '"');
	for (size_t i = 0; i < n;) {
		size_t plain = scan_unescaped(s + i, n - i);
		buf_add(to, s + i, plain);
		i += plain;
		if (i < n)
			write_escape(to, (uint8_t)s[i++]);
	}
	put_char(to, '"');
}

/* How many bytes the character at s has when pages or scripts would misread it; otherwise 0. U+2028 and
 * U+2029 end a line in older scripts. */
static size_t html_unsafe(const char *s, size_t n, uint32_t *ret_cp)
{
	if (*s == '<' || *s == '>' || *s == '&') {
		*ret_cp = (uint8_t)*s;
		return 1;
	}
	if (n >= 3 && memcmp(s, "\xe2\x80", 2) == 0 && ((uint8_t)s[2] & 0xfe) == 0xa8) {
		*ret_cp = 0x2000u | ((uint8_t)s[2] & 0x3fu);
		return 3;
	}
	return 0;
}

/* For JSON inside a page: no byte in it can end a script or open a tag. */
static void write_html_safe(struct buf *to, const char *s, size_t n)
{
	put_char(to, '"');
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = html_unsafe(s + i, n - i, &cp);
		if (len) {
			buf_addf(to, "\\u%04x", cp);
			i += len;
		} else if (scan_unescaped(s + i, 1) == 0) {
			write_escape(to, (uint8_t)s[i++]);
		} else {
			put_char(to, s[i++]);
		}
	}
	put_char(to, '"');
}

static inline void write_string(struct writer *w, const char *s, size_t n)
{
	if (w->flags & JSON_HTML_SAFE)
		write_html_safe(w->to, s, n);
	else if (scan_is_plain(s, n))
		put_quoted(w->to, s, n);
	else
		write_escaped(w->to, s, n);
}

/* ---- structure ---- */

static void write_value(struct writer *w, const struct json *v);

static void new_line(struct writer *w)
{
	char *p = buf_room(w->to, 1 + 2 * (size_t)w->depth);

	p[0] = '\n';
	memset(p + 1, ' ', 2 * (size_t)w->depth);
	w->to->n += 1 + 2 * (size_t)w->depth;
}

/* Before the i-th child. */
static inline void write_gap(struct writer *w, uint32_t i)
{
	if (i)
		put_char(w->to, ',');
	if (w->flags & JSON_INDENT)
		new_line(w);
	else if (i && (w->flags & JSON_SPACED))
		put_char(w->to, ' ');
}

/* A tree that is too deep would overflow the stack of some reader; building one is a mistake of ours. */
static void write_open(struct writer *w, char bracket)
{
	if (++w->depth > JSON_DEEPEST)
		BUG("a JSON tree deeper than any that can be read back");
	put_char(w->to, bracket);
}

static void write_close(struct writer *w, char bracket, uint32_t n)
{
	w->depth--;
	if (n && (w->flags & JSON_INDENT))
		new_line(w);
	put_char(w->to, bracket);
}

static void write_array(struct writer *w, const struct json *v)
{
	write_open(w, '[');
	for (uint32_t i = 0; i < v->n && !w->refused; i++) {
		write_gap(w, i);
		write_value(w, v->items[i]);
	}
	write_close(w, ']', v->n);
}

static inline void write_member(struct writer *w, const struct json_member *m, uint32_t i)
{
	write_gap(w, i);
	write_string(w, m->name, m->name_n);
	put_char(w->to, ':');
	if (w->flags & (JSON_INDENT | JSON_SPACED))
		put_char(w->to, ' ');
	write_value(w, m->value);
}

/* Few members are sorted on the stack, without an allocation. */
static void write_sorted(struct writer *w, const struct json *v)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct sort_key few[SORT_STACK] __attribute__((uninitialized));
	struct sort_key *keys = v->n <= SORT_STACK ? few : arena_alloc(&scratch, v->n * sizeof(*keys));
	bool is_utf16 = w->flags & JSON_SORT;

	for (uint32_t i = 0; i < v->n; i++)
		keys[i] = (struct sort_key){ head_of(&v->members[i], is_utf16), &v->members[i] };
	sort_keys(keys, v->n, is_utf16);
	for (uint32_t i = 0; i < v->n && !w->refused; i++)
		write_member(w, keys[i].member, i);
}

static void write_object(struct writer *w, const struct json *v)
{
	write_open(w, '{');
	if (w->flags & (JSON_SORT | JSON_SORT_BYTES))
		write_sorted(w, v);
	else
		for (uint32_t i = 0; i < v->n; i++)
			write_member(w, &v->members[i], i);
	write_close(w, '}', v->n);
}

/* -?(0|[1-9][0-9]*), not -0, at most 2^53-1 either way: the integers that every reader understands alike. */
static bool is_interoperable(const struct json *v)
{
	static const char largest[] = "9007199254740991";
	const char *digits = v->text + (v->text[0] == '-');
	size_t n = v->n - (size_t)(digits - v->text);

	for (size_t i = 0; i < n; i++)
		if (digits[i] < '0' || digits[i] > '9')
			return false;
	if (digits[0] == '0' && digits != v->text)
		return false;
	if (n != sizeof(largest) - 1)
		return n < sizeof(largest) - 1;
	return memcmp(digits, largest, n) <= 0;
}

/* NULL is written as null, so that a tree with holes is still a document. */
static void write_value(struct writer *w, const struct json *v)
{
	switch (v ? (enum json_type)v->type : JSON_NULL) {
	case JSON_NULL:
		put(w->to, "null", 4);
		break;
	case JSON_FALSE:
		put(w->to, "false", 5);
		break;
	case JSON_TRUE:
		put(w->to, "true", 4);
		break;
	case JSON_NUMBER:
		if (w->is_strict && !is_interoperable(v))
			w->refused = v;
		put(w->to, v->text, v->n);
		break;
	case JSON_STRING:
		write_string(w, v->text, v->n);
		break;
	case JSON_ARRAY:
		write_array(w, v);
		break;
	default: /* JSON_OBJECT */
		write_object(w, v);
	}
}

static void write_tree(struct buf *to, const struct json *v, unsigned flags)
{
	struct writer w = { .to = to, .flags = flags };

	write_value(&w, v);
	to->p[to->n] = '\0';
}

/* Bytes that are no UTF-8 are replaced in the finished text, so what is written can always be read. */
void json_write(struct buf *to, const struct json *v, unsigned flags)
{
	size_t start = to->n, n;

	write_tree(to, v, flags);
	const char *text = text_utf8(to->a, to->p + start, to->n - start, TEXT_BYTE_JSON, &n);
	if (text == to->p + start)
		return;
	to->n = start;
	buf_add(to, text, n);
}

/* Writes strings as they are: a hash must cover the very bytes. */
void json_canonical(struct buf *to, const struct json *v)
{
	write_tree(to, v, JSON_SORT);
}

/* ---- strict ---- */

/* The path of `wanted` below v, added to `path`. Only walked when there is something to report. */
static bool find_path(struct buf *path, const struct json *v, const struct json *wanted)
{
	size_t before = path->n;

	if (v == wanted)
		return true;
	json_each_member (m, v) {
		buf_addf(path, ".%s", text_safe(path->a, m->name, m->name_n, false));
		if (find_path(path, m->value, wanted))
			return true;
		path->n = before;
	}
	for (uint32_t i = 0; json_is(v, JSON_ARRAY) && i < v->n; i++) {
		buf_addf(path, "[%u]", i);
		if (find_path(path, v->items[i], wanted))
			return true;
		path->n = before;
	}
	return false;
}

/* Names the place of the number; the tree is walked again only for this message. */
static int refuse_number(const struct json *root, const struct json *number, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct buf path;

	buf_init(&path, &scratch);
	buf_addc(&path, '$');
	find_path(&path, root, number);
	return err_set(e, E_INPUT, "non_interoperable_number",
		"number %.40s%s at %s is not interoperable: use an integer of at most 2^53-1 either way, or "
		"a string",
		number->text, number->n > 40 ? "..." : "", path.p);
}

/* The hash of the canonical bytes, with its prefix: one value, one hash, on any machine. */
char *json_sha256(struct arena *a, const struct json *v)
{
	struct buf text;

	buf_init(&text, a);
	json_canonical(&text, v);
	return sha256_prefixed(a, text.p, text.n);
}

/* On refusal nothing is left in the buffer. */
int json_canonical_strict(struct buf *to, const struct json *v, struct err *e)
{
	struct writer w = { .to = to, .flags = JSON_SORT, .is_strict = true };
	size_t before = to->n;

	write_value(&w, v);
	if (w.refused)
		to->n = before;
	to->p[to->n] = '\0';
	return w.refused ? refuse_number(v, w.refused, e) : OK;
}
