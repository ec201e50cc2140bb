/* options.c — reading options by specification; see options.h for how a specification is written.
 *
 * The specification is scanned as text for each option: they are short, and a scan of a hundred bytes
 * costs less than keeping a parsed copy for each of several hundred programs.
 *
 * Words may be known only in part. A question about a word is answered from its known beginning; what
 * could be an option but is not known is reported as ARG_DYNAMIC, so that the handler can assume the
 * worst. */
#include "propose/programs/options.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

bool list_has(const char *list, const char *text, size_t n)
{
	for (const char *p = list; *p;) {
		const char *end = strchrnul(p, ' ');
		if ((size_t)(end - p) == n && memcmp(p, text, n) == 0)
			return true;
		p = *end ? end + 1 : end;
	}
	return false;
}

bool word_is(const struct word *x, const char *text)
{
	return x->certainty == CERTAIN && text_eq(x->text, text);
}

bool word_is_any(const struct word *x, const char *list)
{
	return x->certainty == CERTAIN && x->text_n && list_has(list, x->text, x->text_n);
}

bool word_starts(const struct word *x, const char *prefix)
{
	size_t n = strlen(prefix);
	return x->known_n >= n && memcmp(x->text, prefix, n) == 0;
}

bool word_starts_caseless(const struct word *x, const char *prefix)
{
	size_t n = strlen(prefix);
	return x->known_n >= n && strncasecmp(x->text, prefix, n) == 0;
}

/* Looks at all known text, also behind unknown parts; good for finding something, not for ruling it out. */
bool word_has(const struct word *x, const char *part)
{
	return memmem(x->text, x->text_n, part, strlen(part)) != NULL;
}

/* The marked spelling no longer fits the rest, so it is dropped (see word_marked in words.c). */
struct word word_tail(const struct word *x, size_t skip)
{
	struct word r = *x;
	r.marked = NULL;
	r.text += skip;
	r.text_n -= skip;
	r.known_n -= skip < r.known_n ? skip : r.known_n;
	if (r.certainty == PREFIXED && !r.known_n && !r.is_glob)
		r.certainty = DYNAMIC;
	return r;
}

/* At most the known beginning; the result is certain. */
struct word word_head(struct arena *a, const struct word *x, size_t n)
{
	struct word r = *x;
	r.marked = NULL;
	if (n > r.known_n)
		n = r.known_n;
	r.text = arena_strndup(a, x->text, n);
	r.text_n = r.known_n = n;
	r.certainty = CERTAIN;
	r.is_glob = false;
	return r;
}

/* The result is as uncertain as the less certain of the two. */
struct word word_join(struct arena *a, const struct word *dir, const struct word *x)
{
	if (!dir || !dir->text || word_starts(x, "/") || word_starts(x, "~"))
		return *x;
	struct word r = *x;
	r.marked = NULL;
	r.text = arena_printf(a, "%s/%s", dir->text, x->text);
	r.text_n = strlen(r.text);
	if (dir->certainty == CERTAIN) {
		r.known_n = x->known_n + dir->text_n + 1;
		return r;
	}
	r.known_n = dir->known_n;
	r.certainty = dir->certainty;
	if (dir->origin > r.origin)
		r.origin = dir->origin;
	r.is_guarded = dir->is_guarded && (x->is_guarded || x->certainty == CERTAIN);
	return r;
}

/* What is known of the result ends at the first word that is not certain. */
struct word words_join(struct arena *a, const struct word *v, size_t n)
{
	struct word r = { .text = "", .at = n ? v[0].at : (struct span){ 0 } };
	struct buf b;
	buf_init(&b, a);
	bool is_known = true;
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&b, ' ');
		if (is_known)
			r.known_n = b.n + v[i].known_n;
		buf_add(&b, v[i].text, v[i].text_n);
		if (v[i].certainty != CERTAIN) {
			is_known = false;
			r.certainty = PREFIXED;
		}
		if (v[i].origin > r.origin)
			r.origin = v[i].origin;
		r.at.end = v[i].at.end;
	}
	if (r.certainty != CERTAIN && r.known_n == 0)
		r.certainty = DYNAMIC;
	r.text = b.p;
	r.text_n = b.n;
	return r;
}

/* Takes the marks "~" and "+" off the specification. */
void args_start(struct args *s, struct arena *a, struct word *v, size_t n, const char *spec)
{
	*s = (struct args){ .a = a, .v = v, .n = n };
	for (; *spec == '~' || *spec == '+'; spec++) {
		s->is_single_dash |= *spec == '~';
		s->stops |= *spec == '+';
	}
	s->spec = spec;
}

/* One item of a specification. */
struct item {
	const char *letters, *longs, *end;
	size_t letter_n;
	char takes; /* '=', '?' or 0 */
};

/* Cuts the next item off a specification. "=" and "?" end the letters only at the end of the item or
 * before ":", because both can themselves be letters of options. */
static bool next_item(const char **spec, struct item *it)
{
	const char *p = *spec;
	while (*p == ' ')
		p++;
	if (!*p)
		return false;
	*it = (struct item){ .letters = p };
	while (*p && *p != ' ' && *p != ':' &&
		!((*p == '=' || *p == '?') && (p[1] == ' ' || !p[1] || p[1] == ':')))
		p++;
	it->letter_n = (size_t)(p - it->letters);
	if (*p == '=' || *p == '?')
		it->takes = *p++;
	if (*p == ':')
		it->longs = ++p;
	p = strchrnul(p, ' ');
	it->end = p;
	if (it->longs && !it->takes && p[-1] == '=')
		it->takes = '=';
	*spec = p;
	return true;
}

/* Whether the name is one of the item's long names, or, unless `exact`, the beginning of one. */
static bool long_matches(const struct item *it, const char *name, size_t n, bool exact)
{
	for (const char *p = it->longs; p && p < it->end;) {
		const char *comma = memchr(p, ',', (size_t)(it->end - p));
		size_t whole = (size_t)((comma ? comma : it->end) - p);
		size_t len = whole && p[whole - 1] == '=' ? whole - 1 : whole;
		if (n <= len && memcmp(p, name, n) == 0 && (n == len || !exact))
			return true;
		p += whole + 1;
	}
	return false;
}

/* An exact name wins over an abbreviation. An abbreviation that fits several items takes the first:
 * programs refuse it, so it does not matter which. */
static int find_long(const char *spec, const char *name, size_t n, struct item *it)
{
	for (int exact = 1; exact >= 0; exact--) {
		const char *p = spec;
		for (int i = 0; next_item(&p, it); i++)
			if (n && long_matches(it, name, n, exact))
				return i;
	}
	return ARG_UNKNOWN;
}

/* The item that has this letter. */
static int find_short(const char *spec, char letter, struct item *it)
{
	const char *p = spec;
	for (int i = 0; next_item(&p, it); i++)
		if (memchr(it->letters, letter, it->letter_n))
			return i;
	return ARG_UNKNOWN;
}

static void take_next(struct args *s)
{
	if (s->i < s->n)
		s->value = s->v[s->i++];
}

/* The next letter of a bundle. An option with a value takes the rest of the word, or the next word when
 * nothing is left. */
static int next_short(struct args *s)
{
	struct item it;
	s->letter = *s->cluster++;
	int found = find_short(s->spec, s->letter, &it);
	size_t at = (size_t)(s->cluster - s->word->text);
	bool at_end = at >= s->word->known_n;
	if (found >= 0 && it.takes) {
		if (at < s->word->text_n || s->word->certainty != CERTAIN) {
			s->value = word_tail(s->word, at);
		} else if (it.takes == '=') {
			take_next(s);
		}
		s->cluster = NULL;
	} else if (at_end) {
		s->cluster = NULL;
	}
	return found;
}

/* --name, --name=value, --name value; `dashes` is how many the program uses. */
static int next_long(struct args *s, size_t dashes)
{
	struct item it;
	const char *name = s->word->text + dashes;
	const char *eq = memchr(name, '=', s->word->text_n - dashes);
	size_t n = eq ? (size_t)(eq - name) : s->word->text_n - dashes;
	int found = find_long(s->spec, name, n, &it);
	s->letter = 0;
	if (eq) {
		s->value = word_tail(s->word, dashes + n + 1);
	} else if (found >= 0 && it.takes == '=') {
		take_next(s);
	}
	return found;
}

/* The order of the tests matters: a word of which nothing is known is neither option nor operand for
 * sure, and behind "--" or the first operand of a wrapper everything is an operand. */
int args_next(struct args *s)
{
	s->value = (struct word){ 0 };
	if (s->cluster)
		return next_short(s);
	if (s->i >= s->n)
		return ARG_END;
	struct word *x = s->word = &s->v[s->i++];
	s->letter = 0;
	if (x->known_n == 0 && x->certainty != CERTAIN && !s->is_over && !x->is_glob) {
		s->value = *x;
		s->is_over = s->stops;
		return ARG_DYNAMIC;
	}
	if (s->is_over || x->text[0] != '-' || x->known_n < 2) {
		s->value = *x;
		s->is_over |= s->stops;
		return ARG_OPERAND;
	}
	if (word_is(x, "--")) {
		s->is_over = true;
		return args_next(s);
	}
	if (x->text[1] == '-')
		return next_long(s, 2);
	struct item it;
	if (s->is_single_dash && find_long(s->spec, x->text + 1, strcspn(x->text + 1, "="), &it) >= 0)
		return next_long(s, 1);
	s->cluster = x->text + 1;
	return next_short(s);
}

/* Reads everything at once, for programs where the order of options does not matter. */
void args_parse(struct arena *a, struct word *v, size_t n, const char *spec, struct parsed *ret)
{
	struct args s;
	args_start(&s, a, v, n, spec);
	*ret = (struct parsed){ .operands = arena_alloc(a, (n + 1) * sizeof(*v)) };
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item >= 0 && item < 64) {
			ret->seen |= UINT64_C(1) << item;
			if (s.value.text) {
				ret->values[item] = arena_alloc(a, sizeof(struct word));
				*ret->values[item] = s.value;
			}
		} else if (item == ARG_UNKNOWN) {
			ret->has_unknown = true;
		} else {
			ret->has_dynamic |= item == ARG_DYNAMIC;
			ret->operands[ret->operand_count++] = s.value;
		}
	}
}

/* A single letter is looked for in bundles, so "-rf" says both r and f; this may see too much (the value
 * of an attached option), which is the safe side for most callers. */
bool word_is_option(const struct word *x, const char *names)
{
	if (x->known_n < 2 || x->text[0] != '-')
		return false;
	bool is_long = x->text[1] == '-';
	const char *body = x->text + 1 + is_long;
	size_t n = strcspn(body, "=");
	for (const char *p = names; *p;) {
		const char *end = strchrnul(p, ' ');
		size_t len = (size_t)(end - p);
		if (len == 1 ? !is_long && memchr(body, *p, n) : n == len && memcmp(body, p, n) == 0)
			return true;
		p = *end ? end + 1 : end;
	}
	return false;
}

/* Does not know which options take values: a value that looks like an option counts as one. */
bool args_find(const struct word *v, size_t n, const char *names)
{
	for (size_t i = 0; i < n && !word_is(&v[i], "--"); i++)
		if (word_is_option(&v[i], names))
			return true;
	return false;
}

/* Options that take no value, whichever program they are given to. */
static const char flag_letters[] = "adfhqrvxyzAFRVX";
static const char flag_names[] =
	"all allow-dirty archive assume-yes atomic auto-approve autoremove cached cascade check clean confirm debug delete "
	"delete-after delete-before delete-excluded diff dry-run dryrun follow-tags force force-with-lease force-yes hard help "
	"ignore-not-found ignore-scripts install interactive json mirror no-confirm no-git-checks no-input no-interaction no-verify "
	"non-interactive now progress provenance prune purge quiet recursive remove-orphans silent skip-existing soft system tags "
	"verbose version volumes wait workspaces yes";

/* Could the word behind this option be its value? */
static bool may_take_next(const struct word *x, bool is_single_dash)
{
	size_t dashes = strspn(x->text, "-");
	const char *name = x->text + dashes;

	if (x->certainty != CERTAIN)
		return true;
	if (!*name || strchr(name, '='))
		return false;
	if (dashes > 1 || is_single_dash || strchr(name, '-') || list_has(flag_names, name, strlen(name)))
		return !list_has(flag_names, name, strlen(name));
	return !strchr(flag_letters, name[strlen(name) - 1]);
}

/* -n, -fdn, --dry-run, --dry-run=client; not -en, not --dry-run=none. */
static bool surely_says(const struct word *x, const char *names)
{
	const char *value = strchr(x->text, '=');

	if (x->certainty != CERTAIN || !word_is_option(x, names) ||
		(value && list_has("none false no off 0", value + 1, strlen(value + 1))))
		return false;
	if (x->text[1] == '-' || list_has(names, x->text + 1, strcspn(x->text + 1, "=")))
		return true;
	for (const char *p = x->text + 1; *p; p++)
		if (list_has(names, p, 1))
			return true;
		else if (!strchr(flag_letters, *p))
			return false;
	return false;
}

bool args_surely(struct arena *a, struct word *v, size_t n, const char *spec, const char *names)
{
	const struct word *before = NULL; /* an option that the specification does not know */
	struct args s;

	args_start(&s, a, v, n, spec);
	for (int item; (item = args_next(&s)) != ARG_END;) {
		bool is_option = item != ARG_OPERAND && item != ARG_DYNAMIC;
		if (is_option && surely_says(s.word, names) &&
			!(before && before != s.word && may_take_next(before, s.is_single_dash)))
			return true;
		before = item == ARG_UNKNOWN ? s.word : NULL;
	}
	return false;
}
