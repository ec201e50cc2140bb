/* regex.c — regular expressions in linear time; see regex.h.
 *
 * The pattern becomes a small program for a machine that is in many places at once (Thompson's construction, run as Pike does
 * it).  Every jump is relative and stays inside its own piece, so that a piece can be moved or copied as bytes: that is all that
 * repetition and alternatives need.  Whether there is a match is the only question, so greedy and lazy are the same and
 * groups leave no trace. */
#include "base/regex.h"

#include "base/text.h"

#include <string.h>

enum op { OP_CHAR, OP_CLASS, OP_SPLIT, OP_JUMP, OP_ASSERT, OP_MATCH };
enum assertion { AT_TEXT_START, AT_TEXT_END, AT_LINE_START, AT_LINE_END, AT_WORD_EDGE, AT_NO_WORD_EDGE };
enum flag { FOLD = 1, LINES = 2, DOT_ALL = 4 };

struct range {
	uint32_t low, high;
};

struct class
{
	struct range *ranges;
	size_t n;
	bool is_negated;
};

struct instruction {
	uint8_t op;
	uint8_t assertion;
	int16_t x, y; /* relative targets */
	uint32_t value; /* character, or number of the class */
};

struct regex {
	struct instruction *code;
	size_t n;
	struct class *classes;
	size_t class_n;
	bool is_anchored; /* can only begin where the text does */
};

struct compiler {
	struct arena *a;
	const char *p, *end, *start;
	struct regex *r;
	unsigned flags, depth;
	struct err *e;
};

/* ---- building ---- */

static int refuse(struct compiler *c, const char *at, const char *why)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	size_t n = (size_t)(c->end - c->start);

	return err_set(c->e, E_INPUT, "REGEX_SYNTAX", "pattern '%s' at offset %zu: %s",
		text_safe(&scratch, c->start, n < 120 ? n : 120, false), (size_t)(at - c->start), why);
}

static int too_large(struct compiler *c)
{
	return err_set(c->e, E_LIMIT, "REGEX_SIZE",
		"a pattern needs more than %d states; write a shorter one", REGEX_STATES);
}

static int emit(struct compiler *c, struct instruction i)
{
	if (c->r->n == REGEX_STATES)
		return too_large(c);
	c->r->code[c->r->n++] = i;
	return OK;
}

/* Room for one instruction in front of the piece that began at `from`. */
static int insert(struct compiler *c, size_t from, struct instruction i)
{
	if (emit(c, i))
		return c->e->rc;
	memmove(c->r->code + from + 1, c->r->code + from, (c->r->n - 1 - from) * sizeof(i));
	c->r->code[from] = i;
	return OK;
}

static int emit_class(struct compiler *c, struct class class)
{
	struct regex *r = c->r;

	r->classes =
		arena_grow(c->a, r->classes, r->class_n * sizeof(class), (r->class_n + 1) * sizeof(class));
	r->classes[r->class_n] = class;
	return emit(c, (struct instruction){ .op = OP_CLASS, .value = (uint32_t)r->class_n++ });
}

static void add_range(struct arena *a, struct class *to, uint32_t low, uint32_t high)
{
	to->ranges =
		arena_grow(a, to->ranges, to->n * sizeof(*to->ranges), (to->n + 1) * sizeof(*to->ranges));
	to->ranges[to->n++] = (struct range){ low, high };
}

/* Letters of the other case, too. */
static void add_folded(struct compiler *c, struct class *to, uint32_t low, uint32_t high)
{
	add_range(c->a, to, low, high);
	if (!(c->flags & FOLD))
		return;
	for (uint32_t x = 'a'; x <= 'z'; x++) {
		if (x >= low && x <= high)
			add_range(c->a, to, x - 32, x - 32);
		if (x - 32 >= low && x - 32 <= high)
			add_range(c->a, to, x, x);
	}
}

/* Named sets are pairs of low and high characters. */
struct set {
	const char *name;
	const char *pairs;
};
static const struct set posix_sets[] = {
	{ "alnum", "09AZaz" },
	{ "alpha", "AZaz" },
	{ "ascii", "\1\x7f" }, /* and NUL, below */
	{ "blank", "\t\t  " },
	{ "cntrl", "\1\x1f\x7f\x7f" }, /* and NUL, below */
	{ "digit", "09" },
	{ "graph", "!~" },
	{ "lower", "az" },
	{ "print", " ~" },
	{ "punct", "!/:@[`{~" },
	{ "space", "\t\r  " },
	{ "upper", "AZ" },
	{ "word", "09AZaz__" },
	{ "xdigit", "09AFaf" },
};
static const struct set letter_sets[] = {
	{ "d", "09" },
	{ "w", "09AZaz__" },
	{ "s", "\t\n\f\r  " },
};

/* The pairs are ASCII and in order; negated, the spaces between them. */
static void add_set(struct arena *a, struct class *to, const char *pairs, bool has_nul, bool is_negated)
{
	uint32_t next = has_nul ? 1 : 0;

	if (has_nul && !is_negated)
		add_range(a, to, 0, 0);
	for (; *pairs; pairs += 2) {
		uint32_t low = (uint8_t)pairs[0], high = (uint8_t)pairs[1];
		if (!is_negated)
			add_range(a, to, low, high);
		else if (low > next)
			add_range(a, to, next, low - 1);
		next = high + 1;
	}
	if (is_negated)
		add_range(a, to, next, 0x10ffff);
}

/* \d \w \s and their opposites; false for any other letter. */
static bool add_letter_set(struct arena *a, struct class *to, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(letter_sets); i++) {
		if (letter == letter_sets[i].name[0] || letter == letter_sets[i].name[0] - 32) {
			add_set(a, to, letter_sets[i].pairs, false, letter != letter_sets[i].name[0]);
			return true;
		}
	}
	return false;
}

/* ---- reading ---- */

static bool is_word(uint32_t cp)
{
	return cp == '_' || (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z');
}

static bool looking_at(const struct compiler *c, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(c->end - c->p) >= n && memcmp(c->p, word, n) == 0;
}

static bool take(struct compiler *c, const char *word)
{
	if (!looking_at(c, word))
		return false;
	c->p += strlen(word);
	return true;
}

/* One character as it stands; the pattern was checked to be UTF-8. */
static uint32_t next_character(struct compiler *c)
{
	uint32_t cp = 0;

	c->p += text_decode(c->p, (size_t)(c->end - c->p), &cp);
	return cp;
}

static int digit_value(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'f')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : 99;
}

/* Up to `most` digits of a base; how many there were. */
static size_t read_digits(struct compiler *c, int base, size_t most, uint32_t *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < most && c->p < c->end && digit_value(*c->p) < base) {
		*ret = *ret * (uint32_t)base + (uint32_t)digit_value(*c->p++);
		n++;
	}
	return n;
}

/* Behind \x: two digits, or up to six in braces. */
static int read_hex(struct compiler *c, const char *at, uint32_t *ret)
{
	bool is_good;

	if (take(c, "{"))
		is_good = read_digits(c, 16, 6, ret) > 0 && take(c, "}");
	else
		is_good = read_digits(c, 16, 2, ret) == 2;
	if (!is_good || *ret > 0x10ffff)
		return refuse(c, at, "write \\x41 or \\x{1F600}");
	return OK;
}

/* A character behind a backslash that stands for itself or a control character. */
static int read_escape(struct compiler *c, uint32_t *ret)
{
	static const char letters[] = "aftnrv", meant[] = "\a\f\t\n\r\v";
	const char *at = c->p - 1;

	if (c->p == c->end)
		return refuse(c, at, "a backslash at the end");
	const char *found = strchr(letters, *c->p);
	if (*c->p && found) {
		c->p++;
		*ret = (uint8_t)meant[found - letters];
		return OK;
	}
	if (take(c, "x"))
		return read_hex(c, at, ret);
	if (*c->p == '0') {
		read_digits(c, 8, 3, ret);
		return OK;
	}
	if (digit_value(*c->p) < 10)
		return refuse(c, at, "references back are not possible in linear time");
	if ((*c->p >= 'a' && *c->p <= 'z') || (*c->p >= 'A' && *c->p <= 'Z'))
		return refuse(c, at, "an escape that is not known here");
	*ret = next_character(c);
	return OK;
}

/* [:name:] and [:^name:] inside of brackets. */
static int read_posix(struct compiler *c, struct class *to)
{
	const char *at = c->p - 2;
	bool is_negated = take(c, "^");

	for (size_t i = 0; i < ARRAY_SIZE(posix_sets); i++) {
		const char *name = posix_sets[i].name, *before = c->p;
		if (take(c, name) && take(c, ":]")) {
			bool has_nul = name[0] == 'c' || text_eq(name, "ascii");
			add_set(c->a, to, posix_sets[i].pairs, has_nul, is_negated);
			return OK;
		}
		c->p = before;
	}
	return refuse(
		c, at, "no such set of characters; there are [:alpha:], [:digit:], [:space:] and others");
}

static int read_end_of_range(struct compiler *c, uint32_t *ret)
{
	if (take(c, "\\"))
		return read_escape(c, ret);
	*ret = next_character(c);
	return OK;
}

/* One character, range or set inside of brackets. */
static int read_class_item(struct compiler *c, struct class *to)
{
	const char *at = c->p;
	uint32_t low, high;

	if (take(c, "[:"))
		return read_posix(c, to);
	if (take(c, "\\")) {
		if (c->p < c->end && add_letter_set(c->a, to, *c->p)) {
			c->p++;
			return OK;
		}
		if (read_escape(c, &low))
			return c->e->rc;
	} else {
		low = next_character(c);
	}
	high = low;
	if (c->end - c->p > 1 && c->p[0] == '-' && c->p[1] != ']') {
		c->p++;
		if (read_end_of_range(c, &high))
			return c->e->rc;
	}
	if (high < low)
		return refuse(c, at, "a range that ends before it begins");
	add_folded(c, to, low, high);
	return OK;
}

/* Behind '['.  A ']' that comes first is a character. */
static int read_class(struct compiler *c)
{
	const char *at = c->p - 1;
	struct class class = { 0 };

	class.is_negated = take(c, "^");
	do {
		if (c->p == c->end)
			return refuse(c, at, "'[' without ']'");
		if (read_class_item(c, &class))
			return c->e->rc;
	} while (!take(c, "]"));
	return emit_class(c, class);
}

static int emit_character(struct compiler *c, uint32_t cp)
{
	struct class both = { 0 };
	uint32_t lower = cp | 32;

	if (!(c->flags & FOLD) || lower < 'a' || lower > 'z')
		return emit(c, (struct instruction){ .op = OP_CHAR, .value = cp });
	add_folded(c, &both, cp, cp);
	return emit_class(c, both);
}

static int emit_assert(struct compiler *c, enum assertion what)
{
	return emit(c, (struct instruction){ .op = OP_ASSERT, .assertion = (uint8_t)what });
}

/* Behind \Q: everything up to \E stands for itself. */
static int read_quoted(struct compiler *c)
{
	while (c->p < c->end && !take(c, "\\E"))
		if (emit_character(c, next_character(c)))
			return c->e->rc;
	return OK;
}

/* Behind a backslash, outside of brackets. */
static int read_escaped_atom(struct compiler *c)
{
	static const struct {
		char letter;
		enum assertion what;
	} places[] = { { 'A', AT_TEXT_START }, { 'z', AT_TEXT_END }, { 'b', AT_WORD_EDGE },
		{ 'B', AT_NO_WORD_EDGE } };
	struct class set = { 0 };
	uint32_t cp;

	if (take(c, "Q"))
		return read_quoted(c);
	if (c->p < c->end) {
		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			if (*c->p == places[i].letter) {
				c->p++;
				return emit_assert(c, places[i].what);
			}
		}
		if (add_letter_set(c->a, &set, *c->p)) {
			c->p++;
			return emit_class(c, set);
		}
	}
	if (read_escape(c, &cp))
		return c->e->rc;
	return emit_character(c, cp);
}

static int read_dot(struct compiler *c)
{
	struct class none = { 0 };

	none.is_negated = true;
	if (!(c->flags & DOT_ALL))
		add_range(c->a, &none, '\n', '\n');
	return emit_class(c, none);
}

/* Behind "(?", when it is about flags: (?i) for the rest of the group, (?i:...) for a group of its own. */
static int read_flags(struct compiler *c, const char *at, bool *ret_is_group)
{
	unsigned flags = c->flags;
	bool is_off = false;

	for (; c->p < c->end && *c->p != ')' && *c->p != ':'; c->p++) {
		unsigned flag = *c->p == 'i' ? FOLD : *c->p == 'm' ? LINES : *c->p == 's' ? DOT_ALL : 0;
		if (*c->p == '-' && !is_off)
			is_off = true;
		else if (flag)
			flags = is_off ? flags & ~flag : flags | flag;
		else if (*c->p != 'U') /* greedy or not makes no difference here */
			return refuse(c, at, "a kind of group that is not possible in linear time");
	}
	if (c->p == c->end)
		return refuse(c, at, "'(' without ')'");
	*ret_is_group = *c->p++ == ':';
	c->flags = flags;
	return OK;
}

/* The name of (?P<name>...) or (?<name>...); nothing refers to it. */
static int read_name(struct compiler *c, const char *at)
{
	const char *first = c->p;

	while (c->p < c->end && is_word((uint8_t)*c->p))
		c->p++;
	return c->p > first && take(c, ">") ? OK : refuse(c, at, "a group's name is letters, digits and '_'");
}

static int read_alternatives(struct compiler *c);

/* Behind '('. */
static int read_group(struct compiler *c)
{
	const char *at = c->p - 1;
	unsigned outer = c->flags;
	bool is_group = true;
	int rc = OK;

	if (c->depth == REGEX_DEPTH)
		return refuse(c, at, "too many groups in groups");
	if (take(c, "?P<"))
		rc = read_name(c, at);
	else if (looking_at(c, "?<") && !looking_at(c, "?<=") && !looking_at(c, "?<!") && take(c, "?<"))
		rc = read_name(c, at);
	else if (take(c, "?"))
		rc = read_flags(c, at, &is_group);
	else if (looking_at(c, "*"))
		rc = refuse(c, at, "nothing to repeat");
	if (rc || !is_group)
		return rc;
	c->depth++;
	rc = read_alternatives(c);
	c->depth--;
	c->flags = outer;
	if (!rc && !take(c, ")"))
		rc = refuse(c, at, "'(' without ')'");
	return rc;
}

static int read_atom(struct compiler *c)
{
	if (take(c, "("))
		return read_group(c);
	if (take(c, "["))
		return read_class(c);
	if (take(c, "\\"))
		return read_escaped_atom(c);
	if (take(c, "."))
		return read_dot(c);
	if (take(c, "^"))
		return emit_assert(c, c->flags & LINES ? AT_LINE_START : AT_TEXT_START);
	if (take(c, "$"))
		return emit_assert(c, c->flags & LINES ? AT_LINE_END : AT_TEXT_END);
	return emit_character(c, next_character(c));
}

/* "{n}", "{n,}" or "{n,m}"; anything else in braces is text.  most = UINT32_MAX: no upper end. */
static bool read_counts(struct compiler *c, uint32_t *least, uint32_t *most)
{
	const char *before = c->p;

	if (take(c, "{") && read_digits(c, 10, 5, least)) {
		*most = *least;
		if (take(c, ",") && !read_digits(c, 10, 5, most))
			*most = UINT32_MAX;
		if (take(c, "}"))
			return true;
	}
	c->p = before;
	return false;
}

static bool read_repeat(struct compiler *c, uint32_t *least, uint32_t *most)
{
	*least = 0;
	*most = UINT32_MAX;
	if (take(c, "*"))
		return true;
	if (take(c, "+")) {
		*least = 1;
		return true;
	}
	if (take(c, "?")) {
		*most = 1;
		return true;
	}
	return read_counts(c, least, most);
}

static int copy_piece(struct compiler *c, const struct instruction *piece, size_t n)
{
	if (c->r->n + n > REGEX_STATES)
		return too_large(c);
	memcpy(c->r->code + c->r->n, piece, n * sizeof(*piece));
	c->r->n += n;
	return OK;
}

/* The piece from `from` on becomes: itself `least` times, and then any number of times or up to `most`. */
static int repeat(struct compiler *c, size_t from, uint32_t least, uint32_t most)
{
	size_t n = c->r->n - from;
	struct instruction *piece = arena_alloc(c->a, (n + 1) * sizeof(*piece));
	int16_t length = (int16_t)n;
	int rc = OK;

	memcpy(piece, c->r->code + from, n * sizeof(*piece));
	c->r->n = from;
	for (uint32_t i = 0; !rc && i < least; i++)
		rc = copy_piece(c, piece, n);
	if (!rc && most == UINT32_MAX) {
		size_t star = c->r->n;
		rc = copy_piece(c, piece, n);
		if (!rc)
			rc = insert(c, star,
				(struct instruction){ .op = OP_SPLIT, .x = 1, .y = (int16_t)(length + 2) });
		if (!rc)
			rc = emit(c, (struct instruction){ .op = OP_JUMP, .x = (int16_t)(-length - 1) });
		return rc;
	}
	for (uint32_t i = least; !rc && i < most; i++) {
		rc = emit(c, (struct instruction){ .op = OP_SPLIT, .x = 1, .y = (int16_t)(length + 1) });
		if (!rc)
			rc = copy_piece(c, piece, n);
	}
	return rc;
}

/* An atom with what repeats it. */
static int read_piece(struct compiler *c)
{
	size_t from = c->r->n;
	const char *at = c->p;
	uint32_t least, most;

	if (read_repeat(c, &least, &most))
		return refuse(c, at, "nothing to repeat");
	if (read_atom(c))
		return c->e->rc;
	at = c->p;
	if (!read_repeat(c, &least, &most))
		return OK;
	take(c, "?");
	if (least > REGEX_REPEAT || (most != UINT32_MAX && (most > REGEX_REPEAT || most < least)))
		return refuse(c, at, "counts go up to 1000, the smaller first");
	if (repeat(c, from, least, most))
		return c->e->rc;
	at = c->p;
	return read_repeat(c, &least, &most) ? refuse(c, at, "repeats what is repeated already; use a group")
					     : OK;
}

static int read_sequence(struct compiler *c)
{
	while (c->p < c->end && *c->p != '|' && *c->p != ')')
		if (read_piece(c))
			return c->e->rc;
	return OK;
}

/* Each alternative is put before the rest: split to it or behind it, and jump to the end of all.  Until that is known, each jump
 * holds how far back the one before is. */
static int read_alternatives(struct compiler *c)
{
	size_t from = c->r->n, last = 0;

	for (;;) {
		if (read_sequence(c))
			return c->e->rc;
		if (!take(c, "|"))
			break;
		int16_t length = (int16_t)(c->r->n - from);
		struct instruction split = { .op = OP_SPLIT, .x = 1, .y = (int16_t)(length + 2) };
		if (insert(c, from, split) || emit(c, (struct instruction){ .op = OP_JUMP }))
			return c->e->rc;
		from = c->r->n;
		c->r->code[from - 1].x = (int16_t)(last ? from - 1 - last : 0);
		last = from - 1;
	}
	while (last) {
		int16_t back = c->r->code[last].x;
		c->r->code[last].x = (int16_t)(c->r->n - last);
		last = back ? last - (size_t)back : 0;
	}
	return OK;
}

/* Only a pattern that begins with the start of the text, and has no alternative beside it. */
static bool begins_anchored(const struct regex *r)
{
	return r->code[0].op == OP_ASSERT && r->code[0].assertion == AT_TEXT_START;
}

int regex_compile(struct arena *a, struct bytes pattern, struct regex **ret, struct err *e)
{
	struct err own;
	struct compiler c = { .a = a, .e = e ? e : &own };

	c.start = c.p = pattern.n ? (const char *)pattern.p : "";
	c.end = c.p + pattern.n;
	if (pattern.n > REGEX_LONGEST)
		return err_set(e, E_LIMIT, "REGEX_SIZE", "a pattern of %zu bytes is longer than %d",
			pattern.n, REGEX_LONGEST);
	if (text_utf8_valid(c.start, pattern.n) != pattern.n)
		return refuse(&c, c.start + text_utf8_valid(c.start, pattern.n), "not UTF-8");
	c.r = arena_zalloc(a, 1, sizeof(*c.r));
	c.r->code = arena_alloc(a, REGEX_STATES * sizeof(*c.r->code));
	if (read_alternatives(&c))
		return c.e->rc;
	if (c.p < c.end)
		return refuse(&c, c.p, "')' without '('");
	if (emit(&c, (struct instruction){ .op = OP_MATCH }))
		return c.e->rc;
	struct instruction *code = arena_alloc(a, c.r->n * sizeof(*code));
	c.r->code = memcpy(code, c.r->code, c.r->n * sizeof(*code));
	c.r->is_anchored = begins_anchored(c.r);
	*ret = c.r;
	return OK;
}

size_t regex_states(const struct regex *r)
{
	return r->n;
}

/* ---- searching ---- */

/* A set of places in the program, in the order they were added: `dense` lists them, `where` says which are in it. */
struct places {
	uint16_t *dense, *where;
	size_t n;
};

struct machine {
	const struct regex *r;
	uint16_t *stack;
	uint64_t visited;
	/* The characters around the place between two of them; NOTHING at an end of the text. */
	uint32_t before, after;
	bool is_found;
};
enum { NOTHING = 0xffffffff };

static bool holds(const struct machine *m, enum assertion what)
{
	switch (what) {
	case AT_TEXT_START:
		return m->before == NOTHING;
	case AT_TEXT_END:
		return m->after == NOTHING;
	case AT_LINE_START:
		return m->before == NOTHING || m->before == '\n';
	case AT_LINE_END:
		return m->after == NOTHING || m->after == '\n';
	case AT_WORD_EDGE:
		return is_word(m->before) != is_word(m->after);
	case AT_NO_WORD_EDGE:
		return is_word(m->before) == is_word(m->after);
	}
	return false;
}

static bool add_place(struct places *to, size_t pc)
{
	if (to->where[pc] < to->n && to->dense[to->where[pc]] == pc)
		return false;
	to->where[pc] = (uint16_t)to->n;
	to->dense[to->n++] = (uint16_t)pc;
	return true;
}

/* Everything that can be reached from pc without a character.  Each place is put on the stack at most twice per set. */
static void follow(struct machine *m, struct places *to, size_t pc)
{
	size_t n = 0;

	m->stack[n++] = (uint16_t)pc;
	while (n > 0) {
		pc = m->stack[--n];
		m->visited++;
		if (!add_place(to, pc))
			continue;
		const struct instruction *i = &m->r->code[pc];
		if (i->op == OP_MATCH)
			m->is_found = true;
		else if (i->op == OP_JUMP)
			m->stack[n++] = (uint16_t)(pc + (size_t)i->x);
		else if (i->op == OP_ASSERT && holds(m, i->assertion))
			m->stack[n++] = (uint16_t)(pc + 1);
		if (i->op == OP_SPLIT) {
			m->stack[n++] = (uint16_t)(pc + (size_t)i->y);
			m->stack[n++] = (uint16_t)(pc + (size_t)i->x);
		}
	}
}

static bool class_has(const struct class *class, uint32_t cp)
{
	for (size_t i = 0; i < class->n; i++)
		if (cp >= class->ranges[i].low && cp <= class->ranges[i].high)
			return !class->is_negated;
	return class->is_negated;
}

static bool accepts(struct machine *m, const struct instruction *i, uint32_t cp)
{
	if (i->op == OP_CHAR)
		return i->value == cp;
	if (i->op != OP_CLASS)
		return false;
	const struct class *class = &m->r->classes[i->value];
	m->visited += class->n / 8;
	return class_has(class, cp);
}

static size_t decode(struct bytes text, size_t at, uint32_t *ret)
{
	size_t n = text_decode((const char *)text.p + at, text.n - at, ret);

	if (n)
		return n;
	*ret = 0xfffd;
	return 1;
}

/* Sets of places change roles at each character. */
static int run(struct machine *m, struct places *now, struct places *next, struct bytes text, uint64_t budget)
{
	size_t at = 0;
	uint32_t cp = NOTHING, following = NOTHING;
	size_t n = text.n ? decode(text, 0, &following) : 0;

	m->before = NOTHING;
	m->after = following;
	follow(m, now, 0);
	while (!m->is_found && at < text.n) {
		at += n;
		cp = following;
		following = NOTHING;
		if (at < text.n)
			n = decode(text, at, &following);
		m->before = cp;
		m->after = following;
		next->n = 0;
		for (size_t i = 0; i < now->n; i++) {
			const struct instruction *in = &m->r->code[now->dense[i]];
			if (accepts(m, in, cp))
				follow(m, next, now->dense[i] + 1u);
		}
		if (!m->r->is_anchored)
			follow(m, next, 0);
		m->visited += now->n + 1;
		if (m->visited > budget)
			return E_LIMIT;
		struct places *spare = now;
		now = next;
		next = spare;
		if (now->n == 0)
			break;
	}
	return m->is_found;
}

int regex_search(const struct regex *r, struct arena *a, struct bytes text, uint64_t *budget)
{
	struct arena_mark mark = arena_mark(a);
	struct machine m = { .r = r };
	struct places x = { 0 }, y = { 0 };
	uint16_t *room = arena_zalloc(a, r->n * 6 + 2, sizeof(*room));

	x.dense = room;
	x.where = room + r->n;
	y.dense = room + 2 * r->n;
	y.where = room + 3 * r->n;
	m.stack = room + 4 * r->n;
	int rc = run(&m, &x, &y, text, *budget);
	*budget -= m.visited < *budget ? m.visited : *budget;
	arena_release(a, mark);
	return rc;
}
