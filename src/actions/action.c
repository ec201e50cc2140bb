/* action.c — the state of an action, the words for it, and its document. */
#include "actions/action.h"
#include "base/text.h"
#include "propose/propose.h"

#include <string.h>

enum { SENTENCE_MOST = 400 };

/* ---- state ---- */

/* Outcomes that say that it did not come to its end.  Every other one says that it did. */
static bool is_failure(const char *status)
{
	static const char *const failed[] = { "FAILED", "TIMEOUT", "CANCELLED", "CLIENT_ABORTED",
		"UPSTREAM_ERROR", "GOVERNANCE_ERROR", "UNAUTHENTICATED", "NOT_EXECUTED" };

	for (size_t i = 0; i < ARRAY_SIZE(failed); i++)
		if (text_eq(failed[i], status))
			return true;
	return false;
}

/* It was carried out: an outcome is on record that says how. */
static bool has_run(const struct action *x)
{
	return x->status && *x->status && !text_eq(x->status, "NOT_EXECUTED");
}

static bool is_action(const struct action *x)
{
	return x->kind && (text_eq(x->kind, "decision") || text_eq(x->kind, "call"));
}

static enum action_state state_of_question(const struct action *x)
{
	return x->answer == ANSWERED_YES   ? ACTION_APPROVED
		: x->answer == ANSWERED_NO ? ACTION_REFUSED
		: x->is_waiting		   ? ACTION_WAITING
					   : ACTION_EXPIRED;
}

enum action_state action_state_of(const struct action *x)
{
	const char *verdict = x->verdict ? x->verdict : "";
	/* grep ends with 1 when it finds nothing: such a run is COMPLETED, whatever its exit code. */
	bool failed = x->status && *x->status ? is_failure(x->status) : x->has_exit_code && x->exit_code;

	if (!is_action(x))
		return ACTION_RECORDED;
	if (text_eq(verdict, "DENY"))
		return ACTION_DENIED;
	if (!has_run(x) && text_eq(verdict, "ESCALATE"))
		return state_of_question(x);
	if (x->undone_us)
		return ACTION_UNDONE;
	if (failed || x->was_left)
		return ACTION_FAILED;
	return has_run(x) ? ACTION_DONE : x->is_running ? ACTION_RUNNING : ACTION_ALLOWED;
}

/* Indexed by enum action_state. */
static const char *const state_names[] = { "waiting", "approved", "refused", "expired", "denied", "allowed",
	"running", "done", "failed", "undone", "recorded" };
TABLE_COVERS(state_names, ACTION_STATES);

const char *action_state_name(enum action_state state)
{
	return state_names[state];
}

static const char *failed_text(struct arena *a, const struct action *x)
{
	const char *status = x->status ? x->status : "";

	if (x->was_left)
		return "failed, helm was ended before the run was";
	if (text_eq(status, "TIMEOUT"))
		return "failed, timed out";
	if (text_eq(status, "NOT_EXECUTED"))
		return "failed, did not start";
	if (text_eq(status, "CANCELLED") || text_eq(status, "CLIENT_ABORTED"))
		return "failed, cancelled";
	return x->has_exit_code && x->exit_code
		? arena_printf(a, "failed, exit %lld", (long long)x->exit_code)
		: "failed";
}

static const char *by(struct arena *a, const char *what, const struct action *x)
{
	return x->answered_by ? arena_printf(a, "%s by %s", what, x->answered_by)
			      : arena_printf(a, "%s by a person", what);
}

const char *action_state_text(struct arena *a, const struct action *x)
{
	enum action_state state = action_state_of(x);
	/* Asked, and done all the same: the client asked its own person. */
	const char *where = has_run(x) && x->verdict && text_eq(x->verdict, "ESCALATE") && !x->answer
		? ", answered in the client"
		: "";

	switch (state) {
	case ACTION_WAITING:
		return "waiting for an answer";
	case ACTION_APPROVED:
		return arena_printf(a, "%s%s", by(a, "approved", x), x->again_id ? "" : ", not called again");
	case ACTION_REFUSED:
		return by(a, "refused", x);
	case ACTION_EXPIRED:
		return "expired, nobody answered";
	case ACTION_FAILED:
		return arena_printf(a, "%s%s", failed_text(a, x), where);
	case ACTION_DONE:
		return arena_printf(a, "done%s%s",
			x->has_exit_code && x->exit_code
				? arena_printf(a, ", exit %lld", (long long)x->exit_code)
				: "",
			where);
	case ACTION_RECORDED:
		return x->kind ? x->kind : "recorded";
	case ACTION_DENIED:
	case ACTION_ALLOWED:
	case ACTION_RUNNING:
	case ACTION_UNDONE:
	case ACTION_STATES:
		break;
	}
	return action_state_name(state);
}

/* ---- sentence ---- */

const char *action_entry_point(const char *door)
{
	return !door						    ? "helm"
		: text_starts(door, "hook/")			    ? "hook"
		: text_eq(door, "contained")			    ? "hook"
		: text_eq(door, "run")				    ? "run"
		: text_eq(door, "mcp")				    ? "mcp"
		: text_eq(door, "proxy")			    ? "proxy"
		: text_eq(door, "api/mcp")			    ? "mcp"
		: text_starts(door, "api") || text_eq(door, "demo") ? "http"
								    : "helm";
}

/* On one line, and not longer than a list can show. */
static const char *one_line(struct arena *a, const char *text)
{
	size_t n = strlen(text), most = n < SENTENCE_MOST ? n : SENTENCE_MOST;
	char *line;

	while (most < n && most && ((unsigned char)text[most] & 0xC0) == 0x80)
		most--;
	line = arena_strndup(a, text, most);
	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return line;
}

/* "mcp__SERVER__TOOL"; false when it is none. */
static bool split_server(struct arena *a, const char *tool, const char **ret_server, const char **ret_tool)
{
	static const char before[] = "mcp__";
	const char *server = tool + strlen(before),
		   *end = text_starts(tool, before) ? strstr(server, "__") : NULL;

	if (!end || end == server || !end[2])
		return false;
	*ret_server = arena_strndup(a, server, (size_t)(end - server));
	*ret_tool = end + 2;
	return true;
}

/* What a ledger has as "TOOL ARGUMENTS" or "TOOL: ARGUMENTS" without the tool. */
static const char *without_tool(const char *text, const char *tool)
{
	size_t n = strlen(tool);

	if (!*tool || strncmp(text, tool, n) != 0 || !strchr(" :", text[n]))
		return text;
	text += n;
	return text + strspn(text, " :");
}

const char *action_sentence(
	struct arena *a, const char *tool, const char *door, const char *text, const struct json *shown)
{
	const char *server, *own, *name = tool ? tool : "", *verb = propose_tool_verb(name);
	const char *where = text_eq(action_entry_point(door), "http") ? " by HTTP" : "";

	text = json_get_text(shown, "text", text);
	bool is_of_server = split_server(a, name, &server, &own);
	if (text && (is_of_server || *where))
		text = without_tool(text, name);
	if (is_of_server)
		return one_line(a,
			text && *text ? arena_printf(a, "%s of %s: %s", own, server, text)
				      : arena_printf(a, "%s of %s", own, server));
	if (!text || !*text)
		return *name ? one_line(a, arena_printf(a, "%s%s", name, where)) : NULL;
	if (*where)
		return one_line(a, arena_printf(a, "%s %s%s", verb ? verb : name, text, where));
	return one_line(a, verb ? arena_printf(a, "%s %s", verb, text) : text);
}

/* ---- document ---- */

static void set_number(struct arena *a, struct json *doc, const char *name, bool is_known, int64_t n)
{
	if (is_known)
		json_seti(a, doc, name, n);
	else
		json_set(a, doc, name, json_new(a, JSON_NULL));
}

static const char *receipt_of(struct arena *a, const struct action *x, const char *behind)
{
	return arena_printf(a, "rcpt_%s%s", x->id, behind);
}

struct json *action_json(struct arena *a, const struct action *x)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	enum action_state state = action_state_of(x);
	const struct {
		const char *name, *text;
	} texts[] = { { "id", x->id }, { "at", text_time_z(a, x->at_us) }, { "sentence", x->sentence },
		{ "state", action_state_name(state) }, { "state_text", action_state_text(a, x) },
		{ "kind", x->kind }, { "entry_point", action_entry_point(x->door) }, { "door", x->door },
		{ "who", x->who }, { "client", x->client }, { "session", x->session },
		{ "task_id", x->task_id }, { "tool", x->tool }, { "verdict", x->verdict },
		{ "reason", x->reason }, { "rule", x->rule }, { "status", x->status },
		{ "approval_id", x->approval_id }, { "answered_by", x->answered_by },
		{ "again_id", x->again_id }, { "checkpoint_id", x->checkpoint_id },
		{ "undone_at", x->undone_us ? text_time_z(a, x->undone_us) : NULL },
		{ "receipt_id", x->clock ? receipt_of(a, x, "") : NULL },
		{ "outcome_receipt_id", x->outcome_clock ? receipt_of(a, x, "_outcome") : NULL },
		{ "caption", x->sentence } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_sets(a, doc, texts[i].name, texts[i].text);
	set_number(a, doc, "exit_code", x->has_exit_code, x->exit_code);
	set_number(a, doc, "changed_files", x->changed >= 0, x->changed);
	set_number(a, doc, "deleted_files", x->deleted >= 0, x->deleted);
	set_number(a, doc, "clock", x->clock > 0, x->clock);
	set_number(a, doc, "outcome_clock", x->outcome_clock > 0, x->outcome_clock);
	set_number(a, doc, "place", x->place >= 0, x->place);
	json_seti(a, doc, "at_us", x->at_us);
	json_seti(a, doc, "n", x->n);
	if (x->is_self_test)
		json_setb(a, doc, "self_test", true);
	return doc;
}
