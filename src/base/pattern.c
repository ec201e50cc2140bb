/* pattern.c — regular expressions (PCRE2) behind limits; see pattern.h.
 *
 * Patterns come from rule files and schemas, and texts from agents, so neither may cost unbounded time or
 * memory: the length of a pattern, the steps of a search and its heap are limited. A search that hits a
 * limit is an error and never "no match", since "no match" would let something pass.
 *
 * Compiled patterns are allocated in the caller's arena through PCRE2's memory hooks, so there is nothing
 * to free. The text is checked to be UTF-8 here, by our own rules, and PCRE2 is told so and need not check
 * again.
 *
 * ECMA patterns are those of JSON Schema. PCRE2 understands that syntax; options make \uHHHH known, `$`
 * the very end, and \d \w \s \b ASCII. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/pattern.h"

#include "base/text.h"

#include <pcre2.h>
#include <pthread.h>

enum {
	LONGEST_PATTERN = 64 << 10,
	STEP_LIMIT = 1000000, /* calls of the matching engine for one search */
	HEAP_LIMIT_KIB = 8 << 10
};

/* A compiled pattern. */
struct pattern {
	pcre2_code *code;
	bool is_bytes;
};

static void *allocate(size_t n, void *arena)
{
	return arena_alloc(arena, n);
}

/* PCRE2 wants to free; the arena does that. */
static void keep(void *p, void *arena)
{
	(void)p;
	(void)arena;
}

/* In ECMA patterns `$` is the very end, [] is empty and \d \w \s mean ASCII. */
static uint32_t options_of(unsigned flags)
{
	/* No pattern may turn characters into bytes, or bytes into characters, on its own. */
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | (flags & PATTERN_BYTES ? PCRE2_NEVER_UTF : PCRE2_UTF);

	if (flags & PATTERN_CASELESS)
		options |= PCRE2_CASELESS;
	if (flags & PATTERN_MULTILINE)
		options |= PCRE2_MULTILINE;
	if (flags & PATTERN_DOTALL)
		options |= PCRE2_DOTALL;
	if (flags & PATTERN_ECMA)
		options |= PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
			PCRE2_NEVER_UCP;
	return options;
}

/* The pattern is shown cut and harmless: it may come from a stranger's file. */
static int refuse(const char *regex, size_t n, int number, size_t offset, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	PCRE2_UCHAR why[160];

	if (pcre2_get_error_message(number, why, sizeof(why)) < 0)
		why[0] = '\0';
	return err_set(e, E_INPUT, "PATTERN_SYNTAX", "pattern '%s' at offset %zu: %s",
		text_safe(&scratch, regex, n < 120 ? n : 120, false), offset, (const char *)why);
}

/* Nesting is limited as well, because the compiler of PCRE2 recurses. */
int pattern_compile(
	struct arena *a, const char *regex, size_t n, unsigned flags, struct pattern **ret, struct err *e)
{
	int number = 0;
	size_t offset = 0;

	if (n > LONGEST_PATTERN)
		return err_set(e, E_LIMIT, "PATTERN_SIZE", "a pattern of %zu bytes is longer than %d", n,
			LONGEST_PATTERN);
	if (!(flags & PATTERN_BYTES) && text_utf8_valid(regex, n) != n)
		return err_set(e, E_INPUT, "PATTERN_SYNTAX", "a pattern is not UTF-8");
	struct pattern *p = arena_zalloc(a, 1, sizeof(*p));
	pcre2_general_context *memory = pcre2_general_context_create(allocate, keep, a);
	pcre2_compile_context *c = pcre2_compile_context_create(memory);
	pcre2_set_parens_nest_limit(c, 64);
	if (flags & PATTERN_ECMA)
		pcre2_set_compile_extra_options(c, PCRE2_EXTRA_ALT_BSUX);
	p->is_bytes = flags & PATTERN_BYTES;
	p->code = pcre2_compile((PCRE2_SPTR)regex, n, options_of(flags), &number, &offset, c);
	if (!p->code)
		return refuse(regex, n, number, offset, e);
	*ret = p;
	return OK;
}

static int limit_reached(int number, struct err *e)
{
	PCRE2_UCHAR why[160];

	if (pcre2_get_error_message(number, why, sizeof(why)) < 0)
		why[0] = '\0';
	return err_set(
		e, E_LIMIT, "PATTERN_LIMIT", "a pattern did not come to an answer: %s", (const char *)why);
}

static void free_match_data(pcre2_match_data **m)
{
	pcre2_match_data_free(*m);
}

/* The limits are the same for every search, so they are made once per process. */
static pcre2_match_context *limits;

static void make_limits(void)
{
	limits = pcre2_match_context_create(NULL);
	if (!limits)
		mem_exhausted(0);
	pcre2_set_match_limit(limits, STEP_LIMIT);
	pcre2_set_heap_limit(limits, HEAP_LIMIT_KIB);
}

/* How many groups are filled in m, 0 when there is no match. */
static int search(
	const struct pattern *p, const char *text, size_t n, size_t from, pcre2_match_data *m, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (from > n)
		return 0;
	if (!p->is_bytes && text_utf8_valid(text, n) != n)
		return err_set(e, E_INPUT, "PATTERN_TEXT", "the text to search is not UTF-8");
	pthread_once(&once, make_limits);
	int found = pcre2_match(p->code, (PCRE2_SPTR)text, n, from, PCRE2_NO_UTF_CHECK, m, limits);
	if (found == PCRE2_ERROR_NOMATCH)
		return 0;
	if (found == 0) /* more groups than the caller has room for */
		return (int)pcre2_get_ovector_count(m);
	return found < 0 ? limit_reached(found, e) : found;
}

int pattern_search(const struct pattern *p, const char *text, size_t n, size_t from, struct pattern_span *ret,
	struct err *e)
{
	AUTO(free_match_data) pcre2_match_data *m = pcre2_match_data_create(1, NULL);

	if (!m)
		mem_exhausted(0);
	int found = search(p, text, n, from, m, e);
	if (found <= 0)
		return found;
	if (ret) {
		const size_t *at = pcre2_get_ovector_pointer(m);
		*ret = (struct pattern_span){ at[0], at[1] };
	}
	return 1;
}
