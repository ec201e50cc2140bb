/* params.c — parameters and their operators, as far as operands are known.
 *
 * Where a value is not known, every outcome an operator can have is tried: ${x:-/} is "/" in one try and
 * something that is not empty in the other. Where an operator cannot be computed, its result is
 * "blurred" to one unknown text that is as bad as the worst part of its input, so that fetched or
 * decoded text stays recognisable through any number of operators. */
#include "propose/evaluate/evaluate.h"

/* Some element of an array, tried one after the other, and as a last try none of them. */
static const char *any_element(struct walk *w, const void *key, const struct value *v)
{
	uint32_t i = eval_choose(w, key, v->n + 1);

	return i < v->n ? v->items[i] : v->is_open ? "\1" : "";
}

/* One of the values a variable may have. The bytes of a long value are counted, because operators will
 * look at all of them. */
static const char *pick(struct walk *w, const struct value *v)
{
	if (v->n == 0)
		return v->is_open ? "\1" : "";
	const char *s =
		v->is_keyed ? any_element(w, v, v) : v->items[v->is_array ? 0 : eval_choose(w, v, v->n)];
	w->bytes += strlen(s) / 4;
	return s;
}

/* Whether the value may be the empty text: nothing in it but markers that allow it. */
static bool is_maybe_empty(const char *s)
{
	for (; *s; s++)
		if (!is_mark(*s) || *s == MARK_FILLED || *s == MARK_NAME)
			return false;
	return true;
}

/* The same value, known not to be empty. */
static const char *filled(struct walk *w, const char *s)
{
	if (!is_maybe_empty(s) || !*s)
		return s;
	char *copy = arena_strdup(w->a, s);
	for (char *p = copy; *p; p++)
		if (*p == MARK_UNKNOWN)
			*p = MARK_FILLED;
	return copy;
}

/* One unknown text as bad as any part of this one. */
static const char *blur(const char *s)
{
	return strchr(s, MARK_FETCHED)	     ? "\4"
		: strchr(s, MARK_DECODED)    ? "\3"
		: strchr(s, MARK_SECRETS)    ? "\6"
		: strchr(s, MARK_CREDENTIAL) ? "\16"
					     : "\1";
}

static bool is_literal_pattern(const char *p)
{
	return !strpbrk(p, "*?[\\(");
}

/* A value with unknown parts, cut by a pattern: exact only where literal text decides it, blurred
 * otherwise. */
static const char *cut_marked(struct walk *w, const char *s, const char *pattern, bool at_head)
{
	size_t n = strlen(s), m = strlen(pattern);

	if (has_mark(pattern) || !is_literal_pattern(pattern))
		return blur(s);
	if (m > n)
		return blur(s);
	const char *at = at_head ? s : s + n - m;
	for (size_t i = 0; i < m; i++)
		if (is_mark(at[i]))
			return blur(s);
	if (memcmp(at, pattern, m) != 0)
		return s;
	return at_head ? s + m : text_keep(w, s, n - m);
}

/* Matches a pattern against n bytes. The cost is counted in advance; at the limit the analysis stops. */
static bool matches(struct walk *w, const char *pattern, const char *p, size_t n)
{
	w->bytes += 64 + n * (1 + strlen(pattern) / 4);
	if (w->bytes > EVAL_MAX_BYTES) {
		eval_stop(w, "expansion_limit", "its expansions are larger than 4 MiB");
		return true;
	}
	return text_glob(pattern, arena_strndup(w->a, p, n), false);
}

/* ${x#p} ${x##p} ${x%p} ${x%%p}: tries every length, from the longest or the shortest. Long values and
 * extended globs are not computed. */
static const char *cut(struct walk *w, const char *s, const char *pattern, bool at_head, bool is_longest)
{
	size_t n = strlen(s);

	if (has_mark(s) || has_mark(pattern))
		return cut_marked(w, s, pattern, at_head);
	if (n > 512 || strchr(pattern, '('))
		return blur("");
	for (size_t i = 0; i <= n; i++) {
		size_t len = is_longest ? n - i : i;
		if (at_head && matches(w, pattern, s, len))
			return s + len;
		if (!at_head && matches(w, pattern, s + n - len, len))
			return text_keep(w, s, n - len);
	}
	return s;
}

/* The longest match of a pattern at s, or 0. */
static size_t longest_match(struct walk *w, const char *pattern, const char *s, size_t n)
{
	for (size_t len = n; len > 0; len--)
		if (matches(w, pattern, s, len))
			return len;
	return 0;
}

/* ${x/p/with} in its variants. Left to right; behind a replacement the search goes on after it. */
static const char *replace(struct walk *w, const struct shell_param *p, const char *s)
{
	const char *pattern = expand_pattern(w, p->word), *with = p->word2 ? expand_text(w, p->word2, 0) : "";
	size_t n = strlen(s);
	struct buf b;

	/* Whether "&" in the replacement stands for what was matched depends on the version of bash, so
	 * that is not computed. */
	if (has_mark(s) || has_mark(pattern) || n > 256 || strchr(pattern, '(') || strchr(with, '&'))
		return *s ? blur(s) : s;
	buf_init(&b, w->a);
	if (!*pattern) { /* nothing matches nothing, at the anchored end */
		buf_addf(&b, "%s%s%s", p->anchor == '#' ? with : "", s, p->anchor == '%' ? with : "");
		return text_keep(w, b.p, b.n);
	}
	bool is_done = false;
	for (size_t i = 0; i < n;) {
		size_t len = 0;
		if (!is_done && p->anchor == '%') {
			len = matches(w, pattern, s + i, n - i) ? n - i : 0;
		} else if (!is_done && (p->anchor != '#' || i == 0)) {
			len = is_literal_pattern(pattern)
				? (strncmp(s + i, pattern, strlen(pattern)) == 0 ? strlen(pattern) : 0)
				: longest_match(w, pattern, s + i, n - i);
		}
		if (len) {
			buf_adds(&b, with);
			i += len;
			is_done = !p->is_longest;
		} else {
			buf_addc(&b, s[i++]);
		}
	}
	return text_keep(w, b.p, b.n);
}

/* ${x^} ${x^^} ${x,} ${x,,}. With a pattern only some letters change, and the result is blurred. */
static const char *change_case(struct walk *w, const struct shell_param *p, const char *s)
{
	char *copy = arena_strdup(w->a, s);

	if (*expand_pattern(w, p->word)) /* only what it matches is changed */
		return *s ? blur(s) : s;
	for (char *c = copy; *c; c++) {
		if (p->op == PARAM_UPPER && *c >= 'a' && *c <= 'z')
			*c = (char)(*c - 32);
		else if (p->op == PARAM_LOWER && *c >= 'A' && *c <= 'Z')
			*c = (char)(*c + 32);
		if (!p->is_longest)
			break;
	}
	return copy;
}

static bool number(struct walk *w, const struct shell_word *word, int64_t *ret)
{
	const char *text = expand_text(w, word, 0);

	return !has_mark(text) && arith_eval(w, text, ret);
}

/* ${x:from:len}; negative numbers count from the end. */
static const char *slice(struct walk *w, const struct shell_param *p, const char *s)
{
	int64_t from = 0, len = INT64_MAX, n = (int64_t)strlen(s);
	bool is_known = number(w, p->word, &from);

	if (p->word2)
		is_known &= number(w, p->word2, &len);
	if (!is_known || has_mark(s))
		return blur(s);
	if (from < 0)
		from += n;
	if (from < 0 || from > n)
		return "";
	int64_t end = len < 0 ? n + len : len > n - from ? n : from + len;
	return end <= from ? "" : text_keep(w, s + from, (size_t)(end - from));
}

/* : ${LD_PRELOAD:=x} is an assignment, and judged as one. */
static void assign_default(struct walk *w, const struct shell_param *p, const char *value)
{
	struct assignment x = { .name = text_keep(w, p->name, p->name_n) };
	struct command c = { .source = w->script->source, .in = w->in, .flags = w->flags };

	x.value = walk_word(w, value, c.at);
	c.assigns = &x;
	c.assign_count = 1;
	classify_command(w, &c);
	scope_set_variable(w, p->name, p->name_n, value_text(w, value));
}

/* The operators - = ? and +. When the value is not known, having a value and having none are two choices
 * that are both tried. ${x:?} ends the shell when x is empty, so behind it the value is known not to be. */
static const char *with_default(struct walk *w, const struct shell_part *part, const char *s, bool is_unset)
{
	const struct shell_param *p = part->param;
	const char *other = expand_text(w, p->word, 0);
	bool is_missing = is_unset || p->is_forced || (p->is_colon && !*s);
	bool is_open = !is_missing && is_maybe_empty(s) && *s;

	if (is_open && p->op != PARAM_ERROR)
		is_missing = eval_choose(w, part, 2) == 1;
	switch (p->op) {
	case PARAM_ALTERNATE:
		return is_missing ? "" : other;
	case PARAM_ERROR:
		return p->is_colon ? filled(w, s) : s;
	case PARAM_ASSIGN:
		if (is_missing)
			assign_default(w, p, other);
		return is_missing ? other : filled(w, s);
	default:
		return is_missing ? other : filled(w, s);
	}
}

/* The index is @ or *: all elements. */
static bool is_every(const struct shell_word *index)
{
	return index &&
		(shell_word_is(index, "@") || shell_word_is(index, "*") ||
			(index->first && !index->first->next && index->first->kind == PART_TEXT &&
				index->first->text_n == 1 && strchr("@*", index->first->text[0])));
}

static bool is_arguments(const struct shell_param *p)
{
	return p->name_n == 1 && (p->name[0] == '@' || p->name[0] == '*');
}

/* ${#x}: a number of elements or bytes. Not known, it is still not empty. */
static const char *length_of(
	struct walk *w, const struct shell_param *p, const struct value *v, const char *s)
{
	if (v->is_array && (is_arguments(p) || is_every(p->index)))
		return v->is_open || v->is_keyed ? "\2" : arena_printf(w->a, "%u", v->n);
	return has_mark(s) ? "\2" : arena_printf(w->a, "%zu", strlen(s));
}

/* ${x@P}: the value is expanded once more, as a prompt is; commands in it run. */
static void expand_prompt(struct walk *w, const char *s)
{
	struct command none = { .source = w->script->source, .in = w->in, .flags = w->flags };

	if (is_mark(s[0]) && !s[strspn(s, WALK_MARKS)])
		walk_effect(w, &none, FX_DYNAMIC_EXEC, NULL)->tag = "dynamic.text";
	else
		eval_prompt(w, &none, s);
}

/* The operator of a parameter on one value. */
static const char *apply(struct walk *w, const struct shell_part *part, const struct value *v, const char *s)
{
	const struct shell_param *p = part->param;

	switch (p->op) {
	case PARAM_PLAIN:
		return s;
	case PARAM_DEFAULT:
	case PARAM_ASSIGN:
	case PARAM_ERROR:
	case PARAM_ALTERNATE:
		return with_default(w, part, s, v->n == 0 && !v->is_open);
	case PARAM_CUT_HEAD:
	case PARAM_CUT_TAIL:
		return cut(w, s, expand_pattern(w, p->word), p->op == PARAM_CUT_HEAD, p->is_longest);
	case PARAM_REPLACE:
		return replace(w, p, s);
	case PARAM_UPPER:
	case PARAM_LOWER:
		return change_case(w, p, s);
	case PARAM_SLICE:
		return slice(w, p, s);
	case PARAM_LENGTH:
		return length_of(w, p, v, s);
	case PARAM_NAMES:
		return "\1";
	case PARAM_OTHER:
		if (text_starts(expand_text(w, p->word, 0), "@P"))
			expand_prompt(w, s);
		return "\1";
	}
	return "\1";
}

/* Which elements ${a[@]:from:count} means.  $0 stands before the arguments. */
struct range {
	int64_t from, count;
};

/* Which elements ${a[@]:from:count} means; all of them when that is not known. Arguments count from 1,
 * because $0 stands before them. */
static struct range slice_range(struct walk *w, const struct shell_param *p, const struct value *v)
{
	static const struct range all = { 0, INT64_MAX };
	struct range r = all;
	bool is_known = p->op == PARAM_SLICE && number(w, p->word, &r.from);

	if (p->op == PARAM_SLICE && p->word2)
		is_known &= number(w, p->word2, &r.count);
	if (!is_known || v->is_keyed)
		return all;
	if (r.from < 0 && v->is_open)
		return all;
	if (r.from < 0)
		r.from += v->n;
	else if (is_arguments(p))
		r.from--;
	return r;
}

/* What "$*" and "${a[*]}" put between elements: the first character of IFS. */
static const char *separator(struct walk *w)
{
	const struct value *ifs = scope_variable(w, "IFS", 3);

	if (ifs->n == 0)
		return " ";
	return ifs->n > 1 || has_mark(ifs->items[0]) ? "\1"
						     : text_keep(w, ifs->items[0], *ifs->items[0] ? 1 : 0);
}

/* All elements, each a field of its own between quotes; or joined, for "$*" and where there is one text only. */
static void add_elements(
	struct walk *w, const struct shell_part *part, const struct value *v, struct fields *f)
{
	const struct shell_param *p = part->param;
	bool is_slice = p->op == PARAM_SLICE,
	     is_star = (is_arguments(p) ? p->name[0] : p->index->first->text[0]) == '*';
	bool joins = (is_star && part->is_quoted) || !f->to;
	const char *between = joins && is_star ? separator(w) : " ";
	struct range r = slice_range(w, p, v);
	bool is_first = true;

	/* Before the arguments stands the name of the shell or script. */
	for (int64_t i = r.from < 0 ? -1 : 0; i < v->n && !w->is_stopped; i++) {
		if (i < r.from || i - r.from >= r.count || (i < 0 && !is_arguments(p)))
			continue;
		const char *s = i < 0 ? pick(w, scope_variable(w, "0", 1)) : v->items[i];
		if (!is_slice)
			s = apply(w, part, v, s);
		if (!is_first && joins)
			fields_add_value(w, f, between, part->is_quoted);
		else if (!is_first)
			fields_break(w, f);
		is_first = false;
		fields_add_value(w, f, s, part->is_quoted);
	}
	if (v->is_open) { /* and whatever else there is, perhaps nothing */
		if (v->n)
			fields_break(w, f);
		fields_add_value(w, f, "\1", false);
	}
}

/* "${a[1]}": one element, or any when the index or the places are not known. */
static const char *element(
	struct walk *w, const struct shell_part *part, const struct value *v, const char *index)
{
	int64_t i;

	if (v->is_keyed || has_mark(index) || !arith_eval(w, index, &i))
		return v->n == 0 ? "\1" : any_element(w, part, v);
	if (i < 0)
		i += v->n;
	if (i >= 0 && i < v->n)
		return v->items[i];
	return v->is_open ? "\1" : "";
}

/* $1, ${10}, ...: an argument of the script or function. */
static const struct value *positional(struct walk *w, const struct shell_part *part)
{
	const struct shell_param *p = part->param;
	const struct value *v = scope_variable(w, "@", 1);
	int64_t i = 0;

	for (size_t k = 0; k < p->name_n && i < 100000; k++)
		i = i * 10 + (p->name[k] - '0');
	if (i == 0)
		return scope_variable(w, "0", 1);
	if (v->is_keyed)
		return value_text(w, any_element(w, part, v));
	if (i <= v->n)
		return value_text(w, v->items[i - 1]);
	return v->is_open ? value_text(w, "\1") : value_new(w, 0, false);
}

/* What the name stands for, before any operator. */
static const struct value *named(struct walk *w, const struct shell_part *part)
{
	const struct shell_param *p = part->param;
	const struct value *args = scope_variable(w, "@", 1);

	if (is_arguments(p))
		return args;
	if (p->name_n == 1 && p->name[0] == '#')
		return value_text(w, args->is_open ? "\2" : arena_printf(w->a, "%u", args->n));
	if (p->name[0] >= '0' && p->name[0] <= '9')
		return positional(w, part);
	/* kill and wait know the last job as %%; whether there is one matters to an operator. */
	if (p->name_n == 1 && p->name[0] == '!' && p->op != PARAM_PLAIN)
		return value_text(w, "\1");
	return scope_variable(w, p->name, p->name_n);
}

static bool is_variable_name(const char *s)
{
	static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

	return *s && !(*s >= '0' && *s <= '9') && strspn(s, letters) == strlen(s);
}

/* ${!x}: the value of x is the name of another variable. Only plain names are followed; "1", "a[2]" and
 * "@" are not. */
static const struct value *follow(struct walk *w, const struct shell_param *p, const struct value *v)
{
	if (!p->is_indirect || p->op == PARAM_NAMES)
		return v;
	const char *name = p->index || is_arguments(p) ? "" : pick(w, v);
	if (!is_variable_name(name))
		return value_text(w, "\1");
	return scope_variable(w, name, strlen(name));
}

/* Expands one parameter into the fields. A list ("$@", "${a[@]}") makes a field for each element. */
void expand_param(struct walk *w, const struct shell_part *part, struct fields *f)
{
	const struct shell_param *p = part->param;

	if (!p->name_n) {
		const char *rest = expand_text(w, p->word, 0);
		/* zsh: ${(e)x} expands the value of x once more, ${(%)x} as a prompt; what bash refuses, nobody writes for bash.
		 * ${(%):-%N} only says where the script lies. */
		size_t flags_n = strcspn(rest, ")");
		if (rest[0] == '(' &&
			(memchr(rest, 'e', flags_n) ||
				(memchr(rest, '%', flags_n) && !text_starts(rest + flags_n, "):-%"))))
			walk_effect(w, &(struct command){ .source = w->script->source, .flags = w->flags },
				FX_DYNAMIC_EXEC, NULL)
				->tag = "dynamic.text";
		fields_add(w, f, "\1", 1, part->is_quoted);
		return;
	}
	const struct value *v = follow(w, p, named(w, part));
	/* A default takes the place of a list that has nothing in it. */
	bool is_replaced = v->n == 0 && p->op >= PARAM_DEFAULT && p->op <= PARAM_ALTERNATE;
	bool is_list = v->is_array && (is_arguments(p) || is_every(p->index)) && !p->is_indirect;
	if (is_list && p->op != PARAM_LENGTH && !is_replaced) {
		add_elements(w, part, v, f);
		return;
	}
	const char *index = p->index && !is_every(p->index) ? expand_text(w, p->index, 0) : NULL;
	const char *s = v->is_array && index && !p->is_indirect ? element(w, part, v, index) : pick(w, v);
	fields_add_value(w, f, apply(w, part, v, s), part->is_quoted);
	if (part->is_quoted)
		f->is_open = f->is_quoted = true;
}
