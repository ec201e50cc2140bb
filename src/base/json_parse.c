/* json_parse.c — the strict JSON parser.
 *
 * Strict means: one document, UTF-8, no duplicate names, no lone surrogates, no comments, no trailing
 * commas. Two readers must never understand one text differently, because what is parsed here is judged,
 * hashed and signed.
 *
 * One pass, no recursion. The text is copied once into the arena, with zero bytes behind it. Strings are
 * decoded in place there (an escape is never shorter than what it stands for) and are ended by a NUL where
 * their quote was. So a tree costs one node per value and no allocation per string, and the scanner may
 * read past the end without asking.
 *
 * Children of open containers wait on a stack; when a container closes, its children are copied once into
 * an array of the right size. While an object is small, duplicate names are found by a set of 64 name
 * marks, and names are compared only when a mark repeats. An object of many members is sorted once when it
 * closes. Neither way can be made quadratic by choosing names, and neither needs a secret.
 *
 * Failure is a cold path: it looks at the caller's untouched text to say where and what. */
#include "base/json.h"
#include "base/scan.h"

enum {
	DEPTH_DEFAULT = 64,
	SIZE_DEFAULT = 64 << 20,
	NODES_DEFAULT = 4000000,
	STACK_FIRST = 192, /* children waiting, before the stack moves to the heap */
	FRAMES_FIRST = 65,
	SMALL_OBJECT = 24 /* members up to which names are compared as they come */
};

#define NO_ROOM "%s: the values of %zu bytes do not fit into the memory that one operation may use"

/* An open container. */
struct frame {
	struct json *node;
	uint32_t first; /* its first child on the stack */
	uint64_t marks; /* names seen, one bit each */
};

struct parser {
	struct arena *a;
	struct bytes given; /* the caller's text, for messages */
	const char *name;
	char *text, *end; /* our copy */
	struct json *nodes, *nodes_end; /* nodes allocated and not yet used */
	uint32_t nodes_left, nodes_limit;
	uint32_t depth, depth_limit;
	struct frame *frames;
	uint32_t frames_cap;
	struct json_member *stack; /* arrays use only the value */
	uint32_t stack_n, stack_cap;
	struct arena scratch; /* stack and frames beyond the first ones */
	struct err *e;
};

/* ---- errors ---- */

struct place {
	size_t line, column;
};

/* Columns count characters, not bytes. Counted only when an error is told. */
static struct place place_of(const struct parser *p, size_t offset)
{
	struct place at = { 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		if (p->given.p[i] == '\n')
			at = (struct place){ at.line + 1, 1 };
		else if ((p->given.p[i] & 0xc0) != 0x80)
			at.column++;
	}
	return at;
}

/* What stands there, in words that are safe to print. */
static void describe(const struct parser *p, size_t offset, char *to, size_t size)
{
	const char *s = (const char *)p->given.p + offset;
	uint32_t cp = 0;

	if (offset >= p->given.n)
		snprintf(to, size, "the end of the text");
	else if (text_decode(s, p->given.n - offset, &cp) == 0)
		snprintf(to, size, "byte 0x%02X", p->given.p[offset]);
	else if (cp < 0x20 || cp == 0x7f)
		snprintf(to, size, "control character 0x%02X", cp);
	else if (cp < 0x7f)
		snprintf(to, size, "'%c'", (char)cp);
	else
		snprintf(to, size, "U+%04X", cp);
}

/* "name:line:column: expected WANTED, found ...". Returns NULL, so that a reader ends with `return
 * fail(...)`. */
static char *fail(struct parser *p, const char *at, const char *code, const char *wanted)
{
	size_t offset = (size_t)(at - p->text);
	struct place where = place_of(p, offset);
	char found[40];

	describe(p, offset, found, sizeof(found));
	err_set(p->e, E_INPUT, code, "%s:%zu:%zu: expected %s, found %s", p->name, where.line, where.column,
		wanted, found);
	return NULL;
}

static char *fail_limit(struct parser *p, const char *at, const char *code, const char *what, size_t limit)
{
	struct place where = place_of(p, (size_t)(at - p->text));

	err_set(p->e, E_LIMIT, code, "%s:%zu:%zu: expected %s %zu, found more", p->name, where.line,
		where.column, what, limit);
	return NULL;
}

/* Both places are named: a person must choose one of them. */
static char *fail_duplicate(
	struct parser *p, const struct json_member *first, const struct json_member *again)
{
	/* A name starts right behind its quote, decoded or not. */
	struct place one = place_of(p, (size_t)(first->name - p->text) - 1);
	struct place two = place_of(p, (size_t)(again->name - p->text) - 1);
	uint32_t shown = again->name_n < 60 ? again->name_n : 60;
	const char *safe = text_safe(&p->scratch, again->name, shown, false);

	err_set(p->e, E_INPUT, "JSON_DUPLICATE_KEY",
		"%s:%zu:%zu: expected each member name once, found \"%s\"%s again (first at line %zu, column "
		"%zu)",
		p->name, two.line, two.column, safe, shown < again->name_n ? "..." : "", one.line,
		one.column);
	return NULL;
}

/* ---- strings ---- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four hex digits at s, or -1. It cannot run past the end: the zero behind the text is no digit. */
static int32_t hex4(const char *s)
{
	int32_t value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_value(s[i]);
		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* s is behind "\u". Writes the character at *to. Surrogates must come in pairs: a lone one has no UTF-8
 * form, and readers differ in what they make of it. */
static char *read_unicode_escape(struct parser *p, char *s, char **to)
{
	int32_t unit = hex4(s);

	if (unit < 0)
		return fail(p, s - 2, "JSON_SYNTAX", "four hex digits after \\u");
	uint32_t cp = (uint32_t)unit;
	char *next = s + 4;
	if (cp >= 0xdc00 && cp <= 0xdfff)
		return fail(p, s - 2, "JSON_SURROGATE", "a high surrogate before this low one");
	if (cp >= 0xd800 && cp <= 0xdbff) {
		int32_t low = next[0] == '\\' && next[1] == 'u' ? hex4(next + 2) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(p, s - 2, "JSON_SURROGATE", "a low surrogate after this high one");
		cp = 0x10000 + ((cp - 0xd800) << 10 | ((uint32_t)low - 0xdc00));
		next += 6;
	}
	*to += text_encode(cp, *to);
	return next;
}

/* s is at a backslash. */
static char *read_escape(struct parser *p, char *s, char **to)
{
	static const char plain[128] = { ['"'] = '"',
		['\\'] = '\\',
		['/'] = '/',
		['b'] = '\b',
		['f'] = '\f',
		['n'] = '\n',
		['r'] = '\r',
		['t'] = '\t' };
	uint8_t c = (uint8_t)s[1];

	if (c == 'u')
		return read_unicode_escape(p, s + 2, to);
	if (c >= sizeof(plain) || !plain[c])
		return fail(p, s + 1, "JSON_SYNTAX", "one of \" \\ / b f n r t u after a backslash");
	*(*to)++ = plain[c];
	return s + 2;
}

/* s is at a byte above 0x7f: copy the whole run of such characters. */
static char *read_wide(struct parser *p, char *s, char **to)
{
	while ((uint8_t)*s >= 0x80) {
		uint32_t cp;
		size_t len = text_decode(s, (size_t)(p->end - s), &cp);
		if (len == 0)
			return fail(p, s, "JSON_UTF8", "well-formed UTF-8");
		if (*to != s)
			memmove(*to, s, len);
		*to += len;
		s += len;
	}
	return s;
}

/* s is behind the opening quote. Decodes in place, which works because no escape is shorter than its
 * character; returns what follows the closing quote. Runs of plain ASCII, which are most of any text, are
 * found eight bytes at a time. */
static inline char *read_string(struct parser *p, char *s, const char **ret_text, uint32_t *ret_n)
{
	char *start = s, *to = s;

	for (;;) {
		char *stop = scan_plain_ascii(s);
		size_t run = (size_t)(stop - s);
		if (to != s)
			memmove(to, s, run);
		to += run;
		s = stop;
		if (*s == '"')
			break;
		if ((uint8_t)*s >= 0x80)
			s = read_wide(p, s, &to);
		else if (*s == '\\')
			s = read_escape(p, s, &to);
		else if (s >= p->end)
			return fail(p, p->end, "JSON_SYNTAX", "a closing quote");
		else
			return fail(p, s, "JSON_CONTROL", "control characters in strings to be escaped");
		if (!s)
			return NULL;
	}
	*to = '\0';
	*ret_text = start;
	*ret_n = (uint32_t)(to - start);
	return s + 1;
}

/* ---- numbers and words ---- */

static inline bool is_digit(char c)
{
	return (uint8_t)(c - '0') < 10;
}

static char *read_digits(struct parser *p, char *s, const char *wanted)
{
	if (!is_digit(*s))
		return fail(p, s, "JSON_NUMBER", wanted);
	while (is_digit(*s))
		s++;
	return s;
}

/* Keeps the token as text. The byte behind it is still needed, so the caller writes the NUL there after
 * having read it. */
static char *read_number(struct parser *p, char *s, struct json *v)
{
	char *start = s;

	s += *s == '-';
	if (*s == '0') {
		s++;
		if (is_digit(*s))
			return fail(p, s, "JSON_NUMBER", "no digit after a leading zero");
	} else if (!(s = read_digits(p, s, "a digit"))) {
		return NULL;
	}
	if (*s == '.' && !(s = read_digits(p, s + 1, "a digit after the decimal point")))
		return NULL;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '+' || *s == '-';
		if (!(s = read_digits(p, s, "a digit in the exponent")))
			return NULL;
	}
	v->type = JSON_NUMBER;
	v->text = start;
	v->n = (uint32_t)(s - start);
	return s;
}

static char *read_word(struct parser *p, char *s, struct json *v, const char *word, enum json_type type)
{
	size_t n = strlen(word);

	if (strncmp(s, word, n) != 0)
		return fail(p, s, "JSON_SYNTAX", "a value (true, false and null are the only words)");
	v->type = (uint8_t)type;
	return s + n;
}

/* ---- memory ---- */

/* Nodes are allocated in runs, so that most cost no call; a small document takes a small run. NULL, and the
 * error is told, when the limit of nodes or of the arena is reached.  What waits on the stack is copied into the arena when its
 * container closes, so there must be room for that, too. */
static struct json *more_nodes(struct parser *p, const char *at)
{
	size_t rest = (size_t)(p->end - at);
	uint32_t count = rest < 256 ? 8 : rest < 8192 ? 32 : 256;

	if (count > p->nodes_left)
		count = p->nodes_left;
	if (count == 0)
		return (void *)fail_limit(
			p, at, "JSON_SIZE", "a number of values of at most", p->nodes_limit);
	if (!arena_has_room(p->a,
		    count * (sizeof(struct json) + sizeof(*p->stack)) + p->stack_n * sizeof(*p->stack))) {
		err_set(p->e, E_LIMIT, "JSON_MEMORY", NO_ROOM, p->name, p->given.n);
		return NULL;
	}
	p->nodes_left -= count;
	p->nodes = arena_alloc(p->a, count * sizeof(struct json));
	p->nodes_end = p->nodes + count;
	return p->nodes++;
}

static void grow_stack(struct parser *p)
{
	p->stack = arena_grow(&p->scratch, p->stack, p->stack_n * sizeof(*p->stack),
		(size_t)p->stack_cap * 2 * sizeof(*p->stack));
	p->stack_cap *= 2;
}

static void grow_frames(struct parser *p)
{
	p->frames = arena_grow(&p->scratch, p->frames, p->depth * sizeof(*p->frames),
		(size_t)p->frames_cap * 2 * sizeof(*p->frames));
	p->frames_cap *= 2;
}

/* ---- duplicate names ---- */

static bool same_name(const struct json_member *x, const struct json_member *y)
{
	return x->name_n == y->name_n && memcmp(x->name, y->name, x->name_n) == 0;
}

/* One of 64 bits, from the length and both ends of the name. Eight bytes are always readable, because the
 * text is padded. */
static inline uint64_t mark_of(const char *name, uint32_t n)
{
	uint64_t head = scan_load(name);

	if (n < 8)
		head &= (UINT64_C(1) << n * 8) - 1;
	else
		head ^= scan_load(name + n - 8) * 31;
	return UINT64_C(1) << ((head + n) * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

/* Compares the newest name with the others of its object while there are few. When its mark was not seen
 * before, the name is new and nothing is compared. */
static inline bool check_small(struct parser *p, struct frame *f)
{
	struct json_member *m = p->stack + p->stack_n - 1;
	uint64_t mark = mark_of(m->name, m->name_n);
	uint32_t count = p->stack_n - f->first;

	if ((f->marks & mark) && count <= SMALL_OBJECT)
		for (struct json_member *other = p->stack + f->first; other < m; other++)
			if (same_name(other, m))
				return fail_duplicate(p, other, m) != NULL;
	f->marks |= mark;
	return true;
}

/* All names of an object of many, when it closes. */
static bool check_large(struct parser *p, const struct json_member *members, uint32_t n)
{
	uint32_t first, again;

	if (json_duplicate(members, n, &first, &again))
		return fail_duplicate(p, members + first, members + again) != NULL;
	return true;
}

/* ---- structure ---- */

static inline char *skip_space(char *s)
{
	while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')
		s++;
	return s;
}

/* A byte-order mark is named, since it cannot be seen in an editor. */
static char *fail_value(struct parser *p, char *s)
{
	if (s == p->text && p->given.n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
		return fail(p, s, "JSON_SYNTAX", "a value and no byte-order mark");
	return fail(p, s, "JSON_SYNTAX", "a value");
}

/* Depth is checked before anything is pushed. */
static char *open_container(struct parser *p, char *s, struct json *v, enum json_type type)
{
	if (p->depth == p->depth_limit)
		return fail_limit(p, s, "JSON_DEPTH", "nesting of at most", p->depth_limit);
	if (p->depth == p->frames_cap)
		grow_frames(p);
	v->type = (uint8_t)type;
	p->frames[p->depth++] = (struct frame){ .node = v, .first = p->stack_n };
	return s + 1;
}

/* Names of large objects are checked here, all at once. */
static bool close_object(struct parser *p, struct json *v, uint32_t first, uint32_t n)
{
	size_t size = n * sizeof(struct json_member);

	if (n > SMALL_OBJECT && !check_large(p, p->stack + first, n))
		return false;
	v->members = arena_alloc(p->a, size);
	memcpy(v->members, p->stack + first, size);
	return true;
}

static void close_array(struct parser *p, struct json *v, uint32_t first, uint32_t n)
{
	v->items = arena_alloc(p->a, n * sizeof(struct json *));
	for (uint32_t i = 0; i < n; i++)
		v->items[i] = p->stack[first + i].value;
}

/* The container on top is complete: give it its children. */
static bool close_container(struct parser *p)
{
	struct frame *f = &p->frames[--p->depth];
	struct json *v = f->node;
	uint32_t n = p->stack_n - f->first;

	p->stack_n = f->first;
	v->n = v->cap = n;
	if (n == 0)
		v->text = NULL;
	else if (v->type == JSON_ARRAY)
		close_array(p, v, f->first, n);
	else
		return close_object(p, v, f->first, n);
	return true;
}

static inline struct json_member *push(struct parser *p)
{
	if (p->stack_n == p->stack_cap)
		grow_stack(p);
	return &p->stack[p->stack_n++];
}

/* A member's name and colon; its value comes next. */
static inline char *read_name(struct parser *p, char *s)
{
	if (*s != '"')
		return fail(p, s, "JSON_SYNTAX", "a member name in double quotes");
	struct json_member *m = push(p);
	s = read_string(p, s + 1, &m->name, &m->name_n);
	if (!s || !check_small(p, &p->frames[p->depth - 1]))
		return NULL;
	s = skip_space(s);
	if (*s != ':')
		return fail(p, s, "JSON_SYNTAX", "':' after the member name");
	return skip_space(s + 1);
}

/* A value that is not a container, or the opening of one. */
static inline char *read_value(struct parser *p, char *s, struct json *v)
{
	switch (*s) {
	case '"':
		v->type = JSON_STRING;
		return read_string(p, s + 1, &v->text, &v->n);
	case '{':
		return open_container(p, s, v, JSON_OBJECT);
	case '[':
		return open_container(p, s, v, JSON_ARRAY);
	case 't':
		return read_word(p, s, v, "true", JSON_TRUE);
	case 'f':
		return read_word(p, s, v, "false", JSON_FALSE);
	case 'n':
		return read_word(p, s, v, "null", JSON_NULL);
	case '-':
	case '0' ... '9':
		return read_number(p, s, v);
	default:
		return fail_value(p, s);
	}
}

/* Behind a value: close what ends here, and stop before the next value or at the end of the document. */
static inline char *read_after_value(struct parser *p, char *s)
{
	while (p->depth > 0) {
		bool is_object = p->frames[p->depth - 1].node->type == JSON_OBJECT;
		s = skip_space(s);
		if (*s == ',') {
			s = skip_space(s + 1);
			return is_object ? read_name(p, s) : s;
		}
		if (*s != (is_object ? '}' : ']'))
			return fail(p, s, "JSON_SYNTAX", is_object ? "',' or '}'" : "',' or ']'");
		if (!close_container(p))
			return NULL;
		s++;
	}
	return s;
}

/* Right behind an opening bracket: an empty container ends here, an object's first name is read. */
static inline char *read_after_open(struct parser *p, char *s)
{
	bool is_object = p->frames[p->depth - 1].node->type == JSON_OBJECT;

	s = skip_space(s);
	if (*s == (is_object ? '}' : ']')) {
		close_container(p);
		return read_after_value(p, s + 1);
	}
	return is_object ? read_name(p, s) : s;
}

/* One round per value. A value is linked to its container before it is read, so that nothing has to be
 * remembered across rounds. */
static struct json *read_document(struct parser *p)
{
	char *s = skip_space(p->text);
	struct json *root = NULL;

	do {
		struct json *v = p->nodes < p->nodes_end ? p->nodes++ : more_nodes(p, s);
		if (!v)
			return NULL;
		/* `at` is the offset in the text: editors and error messages use it. */
		*v = (struct json){ .at = (uint32_t)(s - p->text) };
		if (!root)
			root = v;
		else if (p->frames[p->depth - 1].node->type == JSON_OBJECT)
			p->stack[p->stack_n - 1].value = v;
		else
			push(p)->value = v;

		char *behind = read_value(p, s, v);
		if (!behind)
			return NULL;
		s = v->type >= JSON_ARRAY ? read_after_open(p, behind) : read_after_value(p, behind);
		if (!s)
			return NULL;
		/* The NUL of a number's token goes where the next character was, now that it is read. */
		if (v->type == JSON_NUMBER && s != behind)
			*behind = '\0';
	} while (p->depth > 0);

	s = skip_space(s);
	if (s != p->end) {
		fail(p, s, "JSON_TRAILING", "nothing after the value");
		return NULL;
	}
	if (root->type == JSON_NUMBER)
		p->text[root->at + root->n] = '\0';
	return root;
}

/* The limits of one parse, with the defaults filled in and what we cannot represent cut off. */
static struct json_limits limits_of(const struct json_limits *given)
{
	struct json_limits lim = given ? *given : (struct json_limits){ 0 };

	if (lim.depth == 0)
		lim.depth = DEPTH_DEFAULT;
	if (lim.depth > JSON_DEEPEST)
		lim.depth = JSON_DEEPEST;
	if (lim.size_bytes == 0)
		lim.size_bytes = SIZE_DEFAULT;
	if (lim.size_bytes > UINT32_MAX - SCAN_PADDING)
		lim.size_bytes = UINT32_MAX - SCAN_PADDING;
	if (lim.max_nodes == 0)
		lim.max_nodes = NODES_DEFAULT;
	return lim;
}

/* Stack and frames for usual documents lie on the C stack; only unusual ones allocate. */
int json_parse(struct arena *a, struct bytes text, const char *name, const struct json_limits *given,
	struct json **ret, struct err *e)
{
	struct json_limits lim = limits_of(given);
	struct err local;
	/* Filled before they are read; clearing them would cost more than parsing a small document. */
	struct json_member stack[STACK_FIRST] __attribute__((uninitialized));
	struct frame frames[FRAMES_FIRST] __attribute__((uninitialized));

	name = name ? name : "input";
	if (text.n > lim.size_bytes)
		return err_set(e, E_LIMIT, "JSON_SIZE", "%s: expected at most %zu bytes, found %zu", name,
			lim.size_bytes, text.n);
	if (!arena_has_room(a, text.n + SCAN_PADDING))
		return err_set(e, E_LIMIT, "JSON_MEMORY", NO_ROOM, name, text.n);
	struct parser p = { .a = a,
		.given = text,
		.name = name,
		.text = arena_text(a, text.n + SCAN_PADDING),
		.nodes_left = lim.max_nodes,
		.nodes_limit = lim.max_nodes,
		.depth_limit = lim.depth,
		.frames = frames,
		.frames_cap = FRAMES_FIRST,
		.stack = stack,
		.stack_cap = STACK_FIRST,
		.e = e ? e : &local };
	p.end = p.text + text.n;
	if (text.n)
		memcpy(p.text, text.p, text.n);
	memset(p.end, 0, SCAN_PADDING);

	struct json *root = read_document(&p);
	arena_done(&p.scratch);
	if (!root)
		return p.e->rc;
	*ret = root;
	return OK;
}
