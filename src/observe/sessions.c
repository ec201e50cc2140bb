/* sessions.c — what an agent did in a session: every call, its verdict and its receipt, from
 * tool-calls.jsonl.
 *
 * The ledger holds two kinds of rows. A call has a verdict and is written before the tool runs. An outcome
 * has none and is written when the client reports that the tool ended; it names the call by tool_use_id.
 * Here the two are put together again. */
#include "base/text.h"
#include "observe/fate.h"
#include "observe/observe.h"
#include "record/record.h"

#include <string.h>

#define TOOL_CALLS_FILE "tool-calls.jsonl"
enum { REACH_CALLS = 50000 };

/* The entry of a row's session, made on first sight. Calls without a session share the entry "-". */
static struct json *session_entry(struct arena *a, struct json *all, const struct json *row)
{
	const char *id = json_get_text(row, "session", "-");

	json_each (s, all)
		if (text_eq(json_get_text(s, "session", ""), id))
			return s;
	struct json *s = json_new(a, JSON_OBJECT);
	json_sets(a, s, "session", id);
	json_sets(a, s, "client", json_get_text(row, "client", ""));
	json_sets(a, s, "first_at", json_get_text(row, "at", ""));
	json_seti(a, s, "calls", 0);
	json_seti(a, s, "allowed", 0);
	json_seti(a, s, "asked", 0);
	json_seti(a, s, "denied", 0);
	json_seti(a, s, "changed_files", 0);
	json_push(a, all, s);
	return s;
}

/* How many files an outcome says were changed or deleted. */
static int64_t changed_by(const struct json *outcome)
{
	const struct json *changed = json_get(outcome, "changed_files"),
			  *deleted = json_get(outcome, "deleted_files");

	return (changed ? changed->n : 0) + (deleted ? deleted->n : 0);
}

static void bump(struct arena *a, struct json *s, const char *name)
{
	json_seti(a, s, name, json_get_int(s, name, 0) + 1);
}

/* Reads all calls, or the last ones within reach when only some are to be shown. *ret_is_cut says that
 * there may be older ones. */
static int read_calls(
	const struct observed *o, bool wants_all, struct json **ret, bool *ret_is_cut, struct err *e)
{
	int rc = rows_tail(o->sys, o->a, o->state_fd, TOOL_CALLS_FILE, wants_all ? 0 : REACH_CALLS, ret, e);

	*ret_is_cut = rc == OK && !wants_all && (*ret)->n == REACH_CALLS;
	return rc;
}

/* Sessions in the order of their first call. Counts are of calls only; an outcome adds to the changed
 * files. */
int observe_sessions(
	const struct observed *o, bool wants_all, struct json **ret, bool *ret_is_cut, struct err *e)
{
	struct json *rows, *all = json_new(o->a, JSON_ARRAY);
	int rc = read_calls(o, wants_all, &rows, ret_is_cut, e);

	if (rc)
		return rc;
	json_each (row, rows) {
		const char *verdict = json_get_text(row, "verdict", NULL);
		struct json *s = session_entry(o->a, all, row);
		json_sets(o->a, s, "last_at", json_get_text(row, "at", ""));
		if (!verdict) { /* an outcome */
			json_seti(o->a, s, "changed_files",
				json_get_int(s, "changed_files", 0) + changed_by(row));
			continue;
		}
		if (json_get_bool(row, "self_test", false)) /* of 'helm setup': no agent asked for that */
			json_setb(o->a, s, "self_test", true);
		bump(o->a, s, "calls");
		bump(o->a, s,
			text_eq(verdict, "ALLOW")	       ? "allowed"
				: text_eq(verdict, "ESCALATE") ? "asked"
							       : "denied");
	}
	*ret = all;
	return OK;
}

/* Rows are copied before members are added: the originals are still needed as witnesses. */
int observe_stopped_calls(const struct observed *o, bool wants_all, const struct json *answers,
	struct json **ret, bool *ret_is_cut, struct err *e)
{
	struct json *rows, *stopped = json_new(o->a, JSON_ARRAY);
	struct fates fates;
	int rc = read_calls(o, wants_all, &rows, ret_is_cut, e);

	if (rc)
		return rc;
	fates_begin(&fates, o->a, rows, answers);
	json_each (row, rows) {
		const char *verdict = json_get_text(row, "verdict", NULL);
		if (!verdict || text_eq(verdict, "ALLOW"))
			continue;
		struct json *call = json_copy(o->a, row);
		const char *decision = json_get_text(row, "decision_id", NULL);
		json_sets(
			o->a, call, "receipt_id", decision ? arena_printf(o->a, "rcpt_%s", decision) : NULL);
		json_sets(o->a, call, "became", fate_of(&fates, row));
		json_push(o->a, stopped, call);
	}
	*ret = stopped;
	return OK;
}

/* What an outcome says about files; copied to its call as it stands. */
static const char *const what_changed[] = { "changed_files", "deleted_files", "changes_partial" };

/* The whole id of which `start` is the beginning. An exact match wins over longer ids that begin alike.
 * NULL when there is none, or more than one. */
static const char *whole_session(const struct json *rows, const char *start, bool *ret_is_ambiguous)
{
	const char *found = NULL;

	*ret_is_ambiguous = false;
	json_each (row, rows) {
		const char *id = json_get_text(row, "session", "-");
		if (text_eq(id, start))
			return id;
		if (!*start || !text_starts(id, start) || (found && text_eq(found, id)))
			continue;
		*ret_is_ambiguous |= found != NULL;
		found = id;
	}
	return *ret_is_ambiguous ? NULL : found;
}

/* Always reads the whole ledger: a session that is named is wanted whole, however old it is. */
int observe_session(const struct observed *o, const char *start, const struct json *answers,
	struct json **ret, struct err *e)
{
	struct arena *a = o->a;
	struct json *rows, *doc = json_new(a, JSON_OBJECT), *calls = json_new(a, JSON_ARRAY);
	struct fates fates;
	bool is_cut;
	int rc = read_calls(o, true, &rows, &is_cut, e);

	if (rc)
		return rc;
	bool is_ambiguous;
	const char *session = whole_session(rows, start, &is_ambiguous);
	if (is_ambiguous)
		return err_set(
			e, E_INPUT, "SESSION_AMBIGUOUS", "more than one session starts with '%s'", start);
	fates_begin(&fates, a, rows, answers);
	for (uint32_t i = 0; i < rows->n; i++) {
		const struct json *row = rows->items[i];
		if (!session || !text_eq(json_get_text(row, "session", "-"), session) ||
			!json_get_text(row, "verdict", NULL))
			continue;
		struct json *call = json_copy(a, row);
		const struct json *end = fate_end(&fates, row);
		const char *decision = json_get_text(row, "decision_id", NULL);
		json_sets(a, call, "outcome", json_get_text(end, "outcome", NULL));
		if (!text_eq(json_get_text(row, "verdict", ""), "ALLOW"))
			json_sets(a, call, "became", fate_of(&fates, row));
		if (json_get(end, "exit_code"))
			json_set(a, call, "exit_code", json_get(end, "exit_code"));
		for (size_t n = 0; n < ARRAY_SIZE(what_changed); n++)
			if (json_get(end, what_changed[n]))
				json_set(a, call, what_changed[n], json_get(end, what_changed[n]));
		json_sets(a, call, "receipt_id", decision ? arena_printf(a, "rcpt_%s", decision) : NULL);
		json_push(a, calls, call);
	}
	if (!calls->n)
		return err_set(e, E_MISSING, "SESSION_MISSING",
			"no session is called '%s'; 'helm log sessions' lists them", start);
	json_sets(a, doc, "workspace", o->root);
	json_sets(a, doc, "generated_at", text_time_iso(a, o->sys->now_us(o->sys)));
	json_sets(a, doc, "session", session);
	json_sets(a, doc, "client", json_get_text(calls->items[0], "client", ""));
	json_set(a, doc, "calls", calls);
	*ret = doc;
	return OK;
}

/* "ESCALATE, success, ran, approved": verdict, outcome and fate, as far as each is known. */
static const char *how_it_went(struct arena *a, const struct json *call)
{
	const char *verdict = json_get_text(call, "verdict", ""),
		   *outcome = json_get_text(call, "outcome", NULL);

	const char *became = json_get_text(call, "became", NULL);

	return arena_printf(a, "%s%s%s%s%s%s", verdict, outcome ? ", " : "", outcome ? outcome : "",
		became ? ", " : "", became ? became : "",
		json_get_bool(call, "self_test", false) ? ", self-test of helm setup" : "");
}

/* Nothing at all when there are no paths. */
static void put_paths(struct buf *b, const char *what, const struct json *paths)
{
	if (!paths || !paths->n)
		return;
	buf_addf(b, "  - %s:", what);
	json_each (path, paths)
		buf_addf(b, " `%s`", json_text(path) ? json_text(path) : "");
	buf_addc(b, '\n');
}

/* One line per call, with what it changed and how to undo it below. */
char *observe_session_markdown(struct arena *a, const struct json *doc)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "# Session %s\n\n- Client: %s\n- Calls: %u\n\n", json_get_text(doc, "session", ""),
		json_get_text(doc, "client", ""), json_get(doc, "calls")->n);
	json_each (call, json_get(doc, "calls")) {
		const char *rule = json_get_text(call, "rule", NULL),
			   *receipt = json_get_text(call, "receipt_id", NULL);
		buf_addf(&b, "- %s  %s  %s: %s", observe_when(a, json_get_text(call, "at", "")),
			how_it_went(a, call), json_get_text(call, "tool", ""),
			json_get_text(call, "preview", ""));
		if (rule)
			buf_addf(&b, "  [%s]", rule);
		if (receipt)
			buf_addf(&b, "  (%s)", receipt);
		buf_addc(&b, '\n');
		put_paths(&b, "changed", json_get(call, "changed_files"));
		put_paths(&b, "deleted", json_get(call, "deleted_files"));
		if (json_get_text(call, "checkpoint_id", NULL))
			buf_addf(&b, "  - saved first; undo: `helm checkpoint restore %s`\n",
				json_get_text(call, "checkpoint_id", ""));
	}
	return b.p;
}
