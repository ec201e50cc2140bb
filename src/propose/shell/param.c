/* param.c — everything that starts with a dollar sign: $x, ${...}, $(...), $((...)), $[...], $'...' and
 * $"...".
 *
 * The hard part is ${...}: its operand follows other rules for quotes than the text around it, and they
 * differ by operator and by whether the whole stands between double quotes. struct operand carries these
 * rules. An operator that is not known is accepted as PARAM_OTHER with an unknown value, because the
 * substitutions in its operand still run. */
#include "propose/shell/parser.h"

/* The rules for reading one operand of ${...}: where it ends besides "}" ('/' before a replacement, ':'
 * before a length), and what quotes mean in it. */
struct operand {
	char stop; /* or 0 */
	bool in_quotes; /* the whole ${...} stands between double quotes */
	bool keeps_single; /* there, single quotes are ordinary bytes for - = ? + */
};

/* Whether the operand ends at the present byte. */
static bool ends_operand(const struct parser *p, const struct operand *o)
{
	char c = p->s[p->pos];

	return c == '}' || (o->stop && c == o->stop);
}

/* Between double quotes, single quotes in ${x:-'a}b'} do not quote, but they must still pair up, and
 * they hide a brace. */
static void lex_kept_single(struct parser *p, struct shell_word *w, struct shell_part ***end)
{
	size_t from = p->pos;
	const char *close = memchr(p->s + from + 1, '\'', p->n - from - 1);

	if (!close) {
		parse_fail(p, "parse_error", from, "this single quote is never closed");
		return;
	}
	size_t stop = (size_t)(close - p->s);
	part_add_text(p, w, end, "'", 1, true, from);
	p->pos = from + 1;
	struct shell_word *inner = lex_bounded(p, stop, false);
	if (p->is_failed)
		return;
	**end = inner->first;
	while (**end)
		*end = &(**end)->next;
	p->pos = stop + 1;
	part_add_text(p, w, end, "'", 1, true, stop);
}

/* A run of ordinary bytes of an operand. */
static void lex_operand_text(
	struct parser *p, struct shell_word *w, struct shell_part ***end, const struct operand *o)
{
	size_t from = p->pos++;

	while (p->pos < p->n && !ends_operand(p, o) && !strchr("\\'\"$`<>", p->s[p->pos]))
		p->pos++;
	part_add_text(p, w, end, p->s + from, p->pos - from, o->in_quotes, from);
}

/* A backslash: between double quotes it keeps its meaning before a few bytes only. */
static void lex_operand_escape(
	struct parser *p, struct shell_word *w, struct shell_part ***end, const struct operand *o)
{
	size_t from = p->pos;
	char next = p->pos + 1 < p->n ? p->s[p->pos + 1] : '\0';

	if (!next) {
		p->pos++;
		return;
	}
	p->pos += 2;
	if (next == '\n')
		return;
	/* Before any other byte the backslash stays. */
	if (!o->in_quotes || strchr("$`\\\"}", next))
		part_add_text(p, w, end, p->s + from + 1, 1, true, from);
	else
		part_add_text(p, w, end, p->s + from, 2, true, from);
}

/* One piece of an operand: quoted text, an expansion, or ordinary bytes. */
static void lex_operand_step(
	struct parser *p, struct shell_word *w, struct shell_part ***end, const struct operand *o)
{
	char c = p->s[p->pos];

	if (c == '\\')
		lex_operand_escape(p, w, end, o);
	else if (c == '\'' && o->keeps_single)
		lex_kept_single(p, w, end);
	else if (c == '\'')
		lex_single(p, w, end);
	else if (c == '"')
		lex_double(p, w, end);
	else if (c == '`')
		lex_backquote(p, w, end, o->in_quotes);
	else if (c == '$')
		lex_dollar(p, w, end, o->in_quotes);
	else if ((c == '<' || c == '>') && !o->in_quotes && p->pos + 1 < p->n && p->s[p->pos + 1] == '(') {
		size_t from = p->pos;
		p->pos += 2;
		struct shell_script *script = parse_nested(p, from);
		part_add(p, w, end, c == '<' ? PART_PROC_IN : PART_PROC_OUT, false, from)->script = script;
	} else {
		lex_operand_text(p, w, end, o);
	}
}

static struct shell_word *lex_operand(struct parser *p, struct operand o)
{
	struct shell_word *w = arena_zalloc(p->a, 1, sizeof(*w));
	struct shell_part **end = &w->first;

	(void)parse_count(p);
	w->at.start = (uint32_t)p->pos;
	while (p->pos < p->n && !ends_operand(p, &o))
		lex_operand_step(p, w, &end, &o);
	w->at.end = (uint32_t)p->pos;
	return w;
}

/* Parameters of one sign: $@, $*, $#, $?, $-, $$, $!. */
static bool is_special(char c)
{
	return c && strchr("@*#?-$!", c);
}

/* The length of the parameter's name at pos: a name, digits, or one special byte; 0 when there is none.
 * Without braces only one digit counts: $10 is ${1}0. */
static size_t name_length(const struct parser *p, bool in_braces)
{
	size_t at = p->pos;

	if (at >= p->n)
		return 0;
	if (is_digit(p->s[at])) {
		while (in_braces && at < p->n && is_digit(p->s[at]))
			at++;
		return in_braces ? at - p->pos : 1;
	}
	if (is_special(p->s[at]))
		return 1;
	if (!is_name_start(p->s[at]))
		return 0;
	while (at < p->n && is_name_char(p->s[at]))
		at++;
	return at - p->pos;
}

/* A name may be broken by line continuations; then its text is copied. */
static void read_name(struct parser *p, struct shell_param *param, bool in_braces)
{
	size_t n = name_length(p, in_braces);
	struct buf joined;

	param->name = p->s + p->pos;
	param->name_n = n;
	p->pos += n;
	if (n == 0 || !is_name_char(param->name[0]) || (is_digit(param->name[0]) && !in_braces))
		return;
	if (p->pos + 1 >= p->n || p->s[p->pos] != '\\' || p->s[p->pos + 1] != '\n')
		return;
	buf_init(&joined, p->a);
	buf_add(&joined, param->name, n);
	for (char c = lex_cur(p); is_name_char(c); c = lex_cur(p)) {
		buf_addc(&joined, c);
		p->pos++;
	}
	param->name = joined.p;
	param->name_n = joined.n;
}

static bool take(struct parser *p, char c)
{
	if (lex_cur(p) != c)
		return false;
	p->pos++;
	return true;
}

/* /pattern/with, //pattern/with, /#pattern/with, /%pattern/with */
static void read_replacement(struct parser *p, struct shell_param *param, struct operand o)
{
	param->op = PARAM_REPLACE;
	param->is_longest = take(p, '/');
	if (!param->is_longest && (lex_cur(p) == '#' || lex_cur(p) == '%'))
		param->anchor = p->s[p->pos++];
	o.stop = '/';
	param->word = lex_operand(p, o);
	o.stop = 0;
	if (take(p, '/'))
		param->word2 = lex_operand(p, o);
}

/* :offset or :offset:length */
static void read_slice(struct parser *p, struct shell_param *param, struct operand o)
{
	param->op = PARAM_SLICE;
	o.stop = ':';
	param->word = lex_operand(p, o);
	o.stop = 0;
	if (take(p, ':'))
		param->word2 = lex_operand(p, o);
}

/* - = ? and +. False when none of them comes next. */
static bool read_default(struct parser *p, struct shell_param *param, struct operand o)
{
	static const char ops[] = "-=?+";
	const char *found = strchr(ops, lex_cur(p));

	if (!found || !*found)
		return false;
	p->pos++;
	param->op = (enum param_op)(PARAM_DEFAULT + (found - ops));
	/* Only for these operators, and only between double quotes, single quotes are ordinary bytes. */
	o.keeps_single = o.in_quotes;
	param->word = lex_operand(p, o);
	return true;
}

/* The operator behind the name. A ":" may belong to :- and its kin or start a slice. */
static void read_op(struct parser *p, struct shell_param *param, bool in_quotes)
{
	struct operand o = { .in_quotes = in_quotes };
	char c = lex_cur(p);

	if (c == ':') {
		p->pos++;
		param->is_colon = true;
		/* ${x::=v}: for other shells a slice of a length that is no number, so nobody else means it. */
		if (lex_cur(p) == ':' && lex_next(p) == '=') {
			param->is_forced = true;
			p->pos++;
		}
		if (!read_default(p, param, o))
			read_slice(p, param, o);
	} else if (read_default(p, param, o)) {
		return;
	} else if (c == '/') {
		o.in_quotes = false;
		p->pos++;
		read_replacement(p, param, o);
	} else if (strchr("#%^,", c)) {
		/* Patterns are patterns between double quotes too. */
		o.in_quotes = false;
		p->pos++;
		param->op = c == '#' ? PARAM_CUT_HEAD
			: c == '%'   ? PARAM_CUT_TAIL
			: c == '^'   ? PARAM_UPPER
				     : PARAM_LOWER;
		param->is_longest = take(p, c);
		param->word = lex_operand(p, o);
	} else {
		param->op = PARAM_OTHER;
		param->word = lex_operand(p, o);
	}
}

/* ${#x} is a length, but ${#} and ${#-...} are the number of arguments; ${!x} is indirect, but ${!} and
 * ${!-...} are the last job. */
static void read_prefix(struct parser *p, struct shell_param *param)
{
	char c = lex_cur(p), next = lex_next(p);

	if (c == '#' && next != '}' &&
		(is_name_char(next) || next == '@' || next == '*' || next == '?' || next == '-' ||
			next == '$' || next == '!' || next == '#')) {
		p->pos++;
		param->op = PARAM_LENGTH;
		(void)lex_cur(p);
	} else if (c == '!' && (is_name_char(next) || is_special(next)) && next != '-') {
		p->pos++;
		param->is_indirect = true;
		(void)lex_cur(p);
	}
}

/* x[index]; the index is read like double-quoted text. */
static void read_index(struct parser *p, struct shell_param *param)
{
	if (lex_cur(p) != '[' || !is_name_start(param->name[0]))
		return;
	size_t close = lex_close_bracket(p, p->pos + 1);
	if (close == SIZE_MAX) {
		parse_fail(p, "parse_error", p->pos, "this bracket is never closed");
		return;
	}
	p->pos++;
	param->index = lex_bounded(p, close, false);
	p->pos = p->is_failed ? p->n : close + 1;
}

/* ${...}, with pos behind the brace. */
static void lex_braced(struct parser *p, struct shell_param *param, bool in_quotes, size_t from)
{
	char c = lex_cur(p);

	/* ${ command; } of some shells: they disagree about what it means, so it is refused. */
	if (c == ' ' || c == '\t' || c == '\n' || c == '|') {
		parse_fail(p, "parse_error", from, "expected a name behind ${");
		return;
	}
	read_prefix(p, param);
	read_name(p, param, true);
	if (param->name_n)
		read_index(p, param);
	if (param->is_indirect && (lex_cur(p) == '*' || lex_cur(p) == '@') && lex_next(p) == '}') {
		p->pos++;
		param->op = PARAM_NAMES;
	}
	if (p->pos < p->n && lex_cur(p) != '}') {
		/* A length or a list of names with a further operator is something that is not known. */
		enum param_op before = param->op;
		read_op(p, param, in_quotes);
		if (before != PARAM_PLAIN || !param->name_n)
			param->op = PARAM_OTHER;
	} else if (!param->name_n) {
		param->op = PARAM_OTHER;
	}
	if (p->pos >= p->n)
		parse_fail(p, "parse_error", from, "this ${ is never closed");
	p->pos++;
}

/* $name or ${...}, with pos behind the dollar sign. */
static void lex_param(
	struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes, size_t from)
{
	struct shell_param *param = arena_zalloc(p->a, 1, sizeof(*param));

	if (lex_cur(p) == '{') {
		if (!parse_enter(p))
			return;
		p->pos++;
		lex_braced(p, param, in_quotes, from);
		p->nesting--;
	} else {
		read_name(p, param, false);
	}
	if (!p->is_failed)
		part_add(p, w, end, PART_PARAM, in_quotes, from)->param = param;
}

/* $( or $((, with pos at the first parenthesis. $(( that is not closed by )) is a command substitution
 * with a subshell. */
static void lex_command(
	struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes, size_t from)
{
	if (lex_next(p) == '(') {
		size_t inner = p->pos + 1;
		while (p->s[inner] != '(')
			inner++;
		size_t close = lex_arith_end(p, inner + 1);
		if (close != SIZE_MAX) {
			p->pos = inner + 1;
			lex_arith(p, w, end, (struct span){ (uint32_t)from, (uint32_t)close }, 2, in_quotes);
			return;
		}
	}
	p->pos++;
	struct shell_script *script = parse_nested(p, from);
	part_add(p, w, end, PART_COMMAND, in_quotes, from)->script = script;
}

/* A dollar sign that starts nothing is a literal one. */
void lex_dollar(struct parser *p, struct shell_word *w, struct shell_part ***end, bool in_quotes)
{
	size_t from = p->pos++;
	char c = lex_cur(p);

	if (p->pos >= p->n) {
		part_add_text(p, w, end, "$", 1, true, from);
	} else if (c == '(') {
		lex_command(p, w, end, in_quotes, from);
	} else if (c == '[') {
		size_t close = lex_close_bracket(p, p->pos + 1);
		if (close == SIZE_MAX) {
			parse_fail(p, "parse_error", from, "this $[ is never closed");
			return;
		}
		p->pos++;
		lex_arith(p, w, end, (struct span){ (uint32_t)from, (uint32_t)close }, 1, in_quotes);
	} else if (c == '\'' && !in_quotes) {
		lex_ansi(p, w, end);
	} else if (c == '"' && !in_quotes) {
		lex_double(p, w, end);
	} else if (c == '{' || name_length(p, false)) {
		lex_param(p, w, end, in_quotes, from);
	} else {
		part_add_text(p, w, end, "$", 1, true, from);
	}
}
