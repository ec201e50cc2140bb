/* problem.c — what is wrong with a policy file, where, and what to write instead. */
#include "decide/bundle/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PROBLEMS = 200, LONGEST_WORD = 60 };

const char *policy_severity_name(enum policy_severity s)
{
	static const char *const names[] = { "error", "warning", "note" };
	TABLE_COVERS(names, POLICY_SEVERITIES);

	return names[s];
}

/* All are counted; what would only scroll away is not kept. */
void problem_add(struct arena *a, struct policy_problems *to, const struct policy_problem *p)
{
	to->errors += p->severity == POLICY_ERROR;
	to->warnings += p->severity == POLICY_WARNING;
	if (to->n >= MOST_PROBLEMS && (p->severity != POLICY_ERROR || to->errors > 1)) {
		to->left_out++;
		return;
	}
	if (to->n == to->room) {
		size_t room = to->room ? to->room * 2 : 8;
		to->items = arena_grow(a, to->items, to->n * sizeof(*to->items), room * sizeof(*to->items));
		to->room = room;
	}
	to->items[to->n++] = *p;
}

/* Moves the cursor.  Values are mostly asked for in the order of the text, so the file is walked through once. */
static void go_to(struct reading *r, size_t at)
{
	at = at < r->in->text.n ? at : r->in->text.n;
	if (at < r->at || r->line == 0) {
		r->at = 0;
		r->line = r->column = 1;
	}
	for (; r->at < at; r->at++) {
		uint8_t c = r->in->text.p[r->at];
		if (c == '\n') {
			r->line++;
			r->column = 1;
		} else {
			r->column += (c & 0xC0) != 0x80;
		}
	}
}

const char *origin_at(struct reading *r, size_t at)
{
	go_to(r, at);
	return arena_printf(r->a, "%s:%u:%u", r->file, r->line, r->column);
}

/* The key stands right before its value: its last appearance there. */
size_t key_at(const struct reading *r, const struct json_member *m)
{
	const char *text = (const char *)r->in->text.p;
	size_t end = m->value->at < r->in->text.n ? m->value->at : r->in->text.n;

	for (size_t at = end; at >= m->name_n && m->name_n > 0; at--)
		if (memcmp(text + at - m->name_n, m->name, m->name_n) == 0)
			return at - m->name_n;
	return end;
}

static const char *harmless(struct arena *a, const char *word)
{
	size_t n = strlen(word), shown = n < LONGEST_WORD ? n : LONGEST_WORD;

	return arena_printf(a, "%s%s", text_safe(a, word, shown, false), shown < n ? "..." : "");
}

void problem_at(struct reading *r, enum policy_severity severity, const char *code, size_t at,
	const char *word, const char *fix, const char *fmt, ...)
{
	char text[400];
	va_list list;

	va_start(list, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	go_to(r, at);
	problem_add(r->a, r->problems,
		&(struct policy_problem){ .severity = severity,
			.code = code,
			.file = r->in->name,
			.line = r->line,
			.column = r->column,
			.rule = r->rule,
			.word = harmless(r->a, word),
			.text = arena_strdup(r->a, text_safe(r->a, text, strlen(text), false)),
			.fix = fix });
}

char *policy_problem_line(struct arena *a, const struct policy_problem *p)
{
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, p->file);
	if (p->line)
		buf_addf(&b, ":%u:%u", p->line, p->column);
	buf_addf(&b, ": %s", p->text);
	if (p->word[0])
		buf_addf(&b, ", at '%s'", p->word);
	if (p->fix[0])
		buf_addf(&b, "; %s", p->fix);
	return b.p;
}

struct json *policy_problems_json(struct arena *a, const struct policy_problems *p)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < p->n; i++) {
		const struct policy_problem *x = &p->items[i];
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "code", x->code);
		json_sets(a, row, "severity", policy_severity_name(x->severity));
		json_sets(a, row, "file", x->file);
		json_seti(a, row, "line", x->line);
		json_seti(a, row, "column", x->column);
		if (x->rule)
			json_sets(a, row, "rule", x->rule);
		json_sets(a, row, "word", x->word);
		json_sets(a, row, "text", x->text);
		json_sets(a, row, "fix", x->fix);
		json_push(a, list, row);
	}
	return list;
}

int problems_error(struct arena *a, const struct policy_problems *problems, struct err *e)
{
	size_t i = 0;

	while (problems->items[i].severity != POLICY_ERROR)
		i++;
	return err_set(
		e, E_INPUT, problems->items[i].code, "%s", policy_problem_line(a, &problems->items[i]));
}
