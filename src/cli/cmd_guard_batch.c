/* cmd_guard_batch.c — one question per line in, one answer per line out, in order, for as long as the
 * other side wants.
 *
 * A client keeps this running beside an agent. So an answer leaves as soon as no further question is
 * waiting; a bad line is answered with an error, and the next one is still judged; nothing is carried from
 * one line to the next; and memory does not grow, because each line's arena is reset. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_guard.h"

#include <errno.h>
#include <string.h>

enum { MAX_LINE_BYTES = 4 << 20, READ_BYTES = 64 << 10 };

/* Standard input, cut into lines.  Bytes [start, end) of p are waiting. */
struct lines {
	struct cli *r;
	char *p;
	size_t start, end;
	bool is_at_end;
	uint64_t number; /* of the line given last, from 1 */
};

/* Reads more bytes, after the answers so far have left: the other side may wait for them before it asks
 * again. False at the end. */
static bool fill(struct lines *in)
{
	ssize_t n;

	if (in->is_at_end)
		return false;
	memmove(in->p, in->p + in->start, in->end - in->start);
	in->end -= in->start;
	in->start = 0;
	/* Before read() may block. */
	out_flush(in->r);
	do
		n = in->r->sys->read(in->r->sys, 0, in->p + in->end, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		in->is_at_end = true;
		return false;
	}
	in->end += (size_t)n;
	return true;
}

/* The next line without its newline. A line that is too long is dropped and told by *ret_too_long. A last
 * line without a newline counts. */
static bool next_line(struct lines *in, struct bytes *ret, bool *ret_too_long)
{
	size_t looked = 0;

	*ret_too_long = false;
	for (;;) {
		char *from = in->p + in->start;
		char *newline = memchr(from + looked, '\n', in->end - in->start - looked);
		if (newline) {
			*ret = (struct bytes){ (uint8_t *)from, (size_t)(newline - from) };
			in->start += ret->n + 1;
			in->number++;
			return true;
		}
		looked = in->end - in->start;
		/* What was read of the long line is dropped at once, so the buffer never grows. */
		if (looked > MAX_LINE_BYTES) {
			*ret_too_long = true;
			in->start = in->end;
			looked = 0;
		}
		if (!fill(in))
			break;
	}
	*ret = (struct bytes){ (uint8_t *)in->p + in->start, in->end - in->start };
	in->start = in->end;
	if (ret->n == 0 && !*ret_too_long)
		return false;
	in->number++;
	return true;
}

/* An error is an answer: it carries the id of the question, and the number of its line when there is none. */
static void answer_error(
	struct cli *r, struct arena *a, const struct json *id, uint64_t line, const struct err *e)
{
	struct json *v = json_new(a, JSON_OBJECT), *error = json_new(a, JSON_OBJECT);

	json_set(a, v, "id", id ? json_copy(a, id) : json_new(a, JSON_NULL));
	json_seti(a, v, "line", (int64_t)line);
	json_sets(a, error, "code", e->code);
	json_sets(a, error, "message", text_safe(a, e->text, strlen(e->text), false));
	json_set(a, v, "error", error);
	out_line_json(r, v);
}

/* Without --full only the members that a client acts on. */
static void answer_decision(struct cli *r, struct arena *a, const struct json *id, struct foresight *f)
{
	static const char *const members[] = { "action", "verdict", "reason_code", "detail_code",
		"understood", "instead", "recommended_profile", "selected_profile", "risk_score",
		"matched_rules", "reason_codes", "containment" };
	const struct decision *d = &f->h.decision;
	struct json *full = decision_to_json(a, d), *v = json_new(a, JSON_OBJECT), *now = foresight_json(f);

	json_set(a, v, "id", id ? json_copy(a, id) : json_new(a, JSON_NULL));
	json_seti(a, v, "exit", decision_exit(d));
	if (opt_flag(r, "full"))
		json_each_member (m, full)
			json_set(a, v, m->name, m->value);
	else
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			json_set(a, v, members[i], json_get(full, members[i]));
	if (now)
		json_set(a, v, "now", now);
	out_line_json(r, v);
}

/* An argument list from JSON. A text with a NUL is refused: a program would see only its beginning. */
static int words_of(struct arena *a, const struct json *list, const char ***ret, size_t *ret_n, struct err *e)
{
	const char **argv;
	size_t n = 0;

	if (!json_is(list, JSON_ARRAY) || list->n == 0)
		return err_set(e, E_INPUT, "BATCH_ARGV", "'argv' must be a list of texts and not empty");
	argv = arena_zalloc(a, list->n + 1, sizeof(*argv));
	json_each (item, list) {
		if (!json_text(item))
			return err_set(e, E_INPUT, "BATCH_ARGV", "'argv' must hold texts without NUL");
		argv[n++] = json_text(item);
	}
	*ret = argv;
	*ret_n = n;
	return OK;
}

/* A text member that may be missing or null, but nothing else. */
static int optional_text(const struct json *doc, const char *name, const char **ret, struct err *e)
{
	const struct json *v = json_get(doc, name);

	if (!v || json_is(v, JSON_NULL))
		return OK;
	if (!json_text(v))
		return err_set(
			e, E_INPUT, "BATCH_MEMBER", "'%s' must be a text, found %s", name, json_type_name(v));
	*ret = json_text(v);
	return OK;
}

/* The guard is a copy, so that a cwd of one line does not hold for the next. */
static int judge_line(struct cli *r, struct guard *g, struct arena *a, const struct json *doc,
	struct foresight *ret, struct err *e)
{
	const struct json *shell = json_get(doc, "shell"), *argv = json_get(doc, "argv");
	struct foresee_question q = { .profile = opt_text(r, "profile", NULL) };
	const char *cwd = NULL, **words;
	int rc;

	/* Exactly one of `shell` and `argv`. */
	if (!json_is(doc, JSON_OBJECT) || !shell == !argv)
		return err_set(e, E_INPUT, "BATCH_LINE", "must be an object with either 'shell' or 'argv'");
	if ((rc = optional_text(doc, "profile", &q.profile, e)) || (rc = optional_text(doc, "cwd", &cwd, e)))
		return rc;
	if (cwd)
		g->at = guard_at(g, a, cwd);
	if (shell) {
		if (!json_is(shell, JSON_STRING))
			return err_set(e, E_INPUT, "BATCH_MEMBER", "'shell' must be a text");
		q.shell = (struct bytes){ (const uint8_t *)shell->text, shell->n };
		return foresee(g, a, &q, ret, e);
	}
	if ((rc = words_of(a, argv, &words, &q.argc, e)))
		return rc;
	q.argv = words;
	return foresee(g, a, &q, ret, e);
}

/* Exactly one answer per question, whatever happens. */
static void answer_line(struct cli *r, const struct guard *base, struct arena *a, struct bytes line,
	bool is_too_long, uint64_t number)
{
	struct json *doc = NULL;
	struct guard g = *base;
	AUTO(foresight_done) struct foresight f = { 0 };
	struct err e = { 0 };
	int rc;

	if (is_too_long)
		rc = err_set(
			&e, E_LIMIT, "BATCH_LINE_SIZE", "the line is longer than %d bytes", MAX_LINE_BYTES);
	else
		rc = json_parse(a, line, "line", NULL, &doc, &e);
	if (rc == OK)
		rc = judge_line(r, &g, a, doc, &f, &e);
	if (rc)
		answer_error(r, a, json_get(doc, "id"), number, &e);
	else
		answer_decision(r, a, json_get(doc, "id"), &f);
}

/* One buffer for all lines; empty lines are passed over. */
int guard_batch(struct cli *r, struct guard *g, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct lines in = { .r = r, .p = arena_text(r->a, MAX_LINE_BYTES + 2 * READ_BYTES) };
	struct bytes line;
	bool is_too_long;

	if (opt_text(r, "shell", NULL) || r->child_count)
		return err_set(e, E_USAGE, "USAGE_BATCH", "--batch reads its commands from standard input");
	while (next_line(&in, &line, &is_too_long)) {
		if (line.n == 0 && !is_too_long)
			continue;
		answer_line(r, g, &scratch, line, is_too_long, in.number);
		arena_reset(&scratch);
	}
	return 0;
}
