/* take.c — members of a tree that somebody wrote, each checked where it is taken. */
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

/* As programs that read the file into texts would: a number or truth value in its own spelling. */
const char *scalar_text(struct arena *a, const struct json *v)
{
	(void)a;
	if (json_is(v, JSON_NUMBER))
		return v->text;
	if (json_is_bool(v))
		return json_is(v, JSON_TRUE) ? "true" : "false";
	const char *text = json_text(v);
	return text ? text : "";
}

static bool is_scalar(const struct json *v)
{
	return !v ||
		(v->type != JSON_ARRAY && v->type != JSON_OBJECT && (v->type != JSON_STRING || json_text(v)));
}

const char *take_text(struct reading *r, const struct json *of, const char *name, const char *code)
{
	const struct json *v = json_get(of, name);
	const char *text = scalar_text(r->a, v);

	if (!is_scalar(v))
		problem_at(r, POLICY_ERROR, code, v->at, name, "write it as one text",
			"'%s' is %s, not a text", name, json_type_name(v));
	else if (!*text)
		problem_at(r, POLICY_ERROR, code, v ? v->at : of->at, name,
			"give it a text that is not empty", "'%s' is %s", name, v ? "empty" : "missing");
	return text;
}

const struct json *take_list(struct reading *r, const struct json *of, const char *name, const char *code)
{
	const struct json *v = json_get(of, name);

	if (!v || json_is(v, JSON_NULL))
		return NULL;
	if (json_is(v, JSON_ARRAY))
		return v;
	problem_at(r, POLICY_ERROR, code, v->at, name, "write a list", "'%s' is %s, not a list", name,
		json_type_name(v));
	return NULL;
}

bool take_object(struct reading *r, const struct json *v, const char *what, const char *code)
{
	if (json_is(v, JSON_OBJECT)) {
		r->inside = v->at;
		return true;
	}
	problem_at(r, POLICY_ERROR, code, v ? v->at : r->inside, scalar_text(r->a, v),
		"write members with names", "%s is %s, not an object", what, json_type_name(v));
	return false;
}

bool take_only(struct reading *r, const struct json *of, const char *const *names, size_t n, const char *code)
{
	bool is_known = true;

	json_each_member (m, of) {
		size_t i = 0;
		while (i < n && !text_eq(names[i], m->name))
			i++;
		if (i < n)
			continue;
		const char *near = text_nearest(m->name, names, n);
		problem_at(r, POLICY_ERROR, code, key_at(r, m), m->name,
			near ? arena_printf(r->a, "write '%s', or leave it out", near) : "leave it out",
			"there is no member '%s' here", m->name);
		is_known = false;
	}
	return is_known;
}

/* Where the text of an expression begins in the file: behind a quote, or on a line below | and >.  There is one: it is not empty. */
static size_t begin_of(const struct reading *r, size_t at)
{
	const struct bytes t = r->in->text;

	if (t.p[at] == '"' || t.p[at] == '\'')
		return at + 1;
	if (t.p[at] != '|' && t.p[at] != '>')
		return at;
	while (t.p[at] != '\n')
		at++;
	while (t.p[at] == '\n' || t.p[at] == ' ')
		at++;
	return at;
}

/* The byte that "x:line:column" of the expression's own text means in the file. */
static size_t place_in(const struct reading *r, size_t at, const char *message)
{
	char *rest;
	unsigned long line = strtoul(message + 2, &rest, 10), column = strtoul(rest + 1, NULL, 10);
	const struct bytes t = r->in->text;

	bool is_later = line > 1;

	at = begin_of(r, at);
	for (; line > 1 && at < t.n; at++)
		line -= t.p[at] == '\n';
	while (is_later && at < t.n && t.p[at] == ' ')
		at++;
	for (; column > 1 && at < t.n && t.p[at] != '\n'; column--)
		at++;
	return at;
}

static bool compile(struct reading *r, const struct json *v, struct expression **ret)
{
	struct err why;

	if (!json_text(v)) {
		problem_at(r, POLICY_ERROR, "POLICY_EXPRESSION", v->at, "", "write a condition in quotes",
			"the condition is %s, not a text", json_type_name(v));
		return false;
	}
	if (expression_compile(r->a, bytes_of(v->text), "x", ret, &why)) {
		problem_at(r, POLICY_ERROR, "POLICY_EXPRESSION", place_in(r, v->at, why.text), "",
			"'helm policy eval --check' tries an expression alone", "%s",
			strstr(why.text, ": ") + 2);
		return false;
	}
	if (!expression_may_be_bool(*ret)) {
		problem_at(r, POLICY_ERROR, "POLICY_EXPRESSION", v->at, v->text, "compare it with something",
			"the condition is never true or false");
		return false;
	}
	return true;
}

bool take_expression(struct reading *r, const struct json *v)
{
	struct expression *x;

	return compile(r, v, &x);
}

/* ---- names in conditions ---- */

static const char *const roots[] = { "input", "facts", "effect", "action", "tool", "principal", "session",
	"params", "context" };
static const char *const input_members[] = { "action", "tool", "principal", "session", "params", "context",
	"effect", "effects", "taint", "artifacts", "timestamp", "threat_scan" };

static const char *first_name(struct arena *a, const char *path)
{
	return arena_strndup(a, path, strcspn(path, "."));
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(word, words[i]))
			return true;
	return false;
}

/* Where a name of an expression stands; the expression itself where it is spelled otherwise there. */
static size_t name_at(const struct reading *r, const struct json *v, const char *path)
{
	const struct bytes t = r->in->text;
	size_t from = begin_of(r, v->at), room = from < t.n ? t.n - from : 0;

	room = room / 2 > v->n ? 2 * v->n : room;
	const uint8_t *found = memmem(t.p + from, room, path, strlen(path));

	return found ? (size_t)(found - t.p) : v->at;
}

/* In our own documents that is a mistake; older shapes were written for other programs, which may supply it. */
static enum policy_severity name_severity(const struct reading *r)
{
	return r->ret->shape == POLICY_SHAPE_DOCUMENT ? POLICY_ERROR : POLICY_WARNING;
}

/* A name that nothing supplies is an error whenever it is evaluated. */
static void check_name(struct reading *r, const struct json *v, const char *path)
{
	const char *first = first_name(r->a, path), *second;
	const char *near;

	if (!is_one_of(first, roots, ARRAY_SIZE(roots))) {
		near = text_nearest(first, roots, ARRAY_SIZE(roots));
		problem_at(r, name_severity(r), "POLICY_VARIABLE", name_at(r, v, path), path,
			near ? arena_printf(r->a, "write '%s'", near)
			     : "variables are input, facts, effect, and params, context, action, tool, principal, session",
			"there is no variable '%s': the condition can only fail", first);
		return;
	}
	if (!text_eq(first, "input") || !path[strlen("input")])
		return;
	second = first_name(r->a, path + strlen("input."));
	if (is_one_of(second, input_members, ARRAY_SIZE(input_members)))
		return;
	near = text_nearest(second, input_members, ARRAY_SIZE(input_members));
	problem_at(r, name_severity(r), "POLICY_VARIABLE", name_at(r, v, path), path,
		near ? arena_printf(r->a, "write 'input.%s'", near) : "arguments are under input.params",
		"'input' has no member '%s': the condition can only fail", second);
}

bool take_condition(struct reading *r, const struct json *v)
{
	struct expression *x;
	size_t n;

	if (!compile(r, v, &x))
		return false;
	const struct expression_read *reads = expression_reads(x, r->a, &n);
	for (size_t i = 0; i < n; i++)
		check_name(r, v, reads[i].path);
	return true;
}

bool take_action(struct reading *r, const struct json *v, const char *code)
{
	const char *text = scalar_text(r->a, v), *star = strchr(text, '*');

	if (!*text || (star && star[1])) {
		problem_at(r, POLICY_ERROR, code, v->at, text,
			"write a name, a prefix with * at its end, or *", "this is no action");
		return false;
	}
	return true;
}

const char *take_word(struct reading *r, const struct json *v, const char *what, const char *const *words,
	size_t n, const char *code)
{
	const char *text = scalar_text(r->a, v);
	struct buf b;

	buf_init(&b, r->a);
	for (size_t i = 0; i < n; i++) {
		if (text_eq(text, words[i]))
			return words[i];
		buf_addf(&b, "%s%s", i == 0 ? "write " : i + 1 < n ? ", " : " or ", words[i]);
	}
	problem_at(r, POLICY_ERROR, code, v->at, text, b.p, "this is no %s", what);
	return NULL;
}

void take_settings(struct reading *r, const struct json *of)
{
	const struct json *epoch = json_get(of, "epoch"), *coverage = json_get(of, "coverage");
	int64_t number;

	if (epoch && (!json_int(epoch, &number) || number < 0))
		problem_at(r, POLICY_ERROR, "POLICY_EPOCH", epoch->at, scalar_text(r->a, epoch),
			"write 0, 1, 2, ...", "the epoch is no integer of 0 or more");
	else if (epoch)
		json_seti(r->a, r->document, "epoch", number);
	if (coverage)
		json_sets(r->a, r->document, "coverage",
			TAKE_WORD(r, coverage, "coverage", "POLICY_COVERAGE", "closed", "open"));
}
