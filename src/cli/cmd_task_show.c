/* cmd_task_show.c — helm task show: one task on one screen, what was run first.
 *
 * --plain prints name=value lines for scripts, lists and objects as JSON with sorted names, so that two outputs can be compared; --json the
 * newest row itself. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"

#include <string.h>

enum { PATHS_SHOWN = 8 };

const struct opt task_show_opts[] = {
	{ "history", OPT_FLAG, NULL, "every row of the task", NULL, false },
	{ "plain", OPT_FLAG, NULL, "name=value lines, for scripts", NULL, false },
	{ 0 },
};

static const char *safe(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* ---- for scripts ---- */

static void print_member(struct cli *r, const struct json *row, const char *name)
{
	const struct json *v = json_get(row, name);
	struct buf text;

	buf_init(&text, r->a);
	if (json_text(v))
		buf_adds(&text, json_text(v));
	else if (v && !json_is(v, JSON_NULL))
		json_write(&text, v, JSON_SPACED | JSON_SORT_BYTES);
	else
		buf_addc(&text, '-');
	out(r, "%s=%s\n", name, text_safe(r->a, text.p, text.n, false));
}

/* What is claimed of it, and whether the record shows that; a path outside of its plan is one line more. */
static void print_claims(struct cli *r, const struct json *row)
{
	json_each (one, json_get(json_get(row, "finalization_gate"), "claims"))
		out(r, "claim=%s %s (%s)\n", json_get_bool(one, "ok", false) ? "holds" : "does not hold",
			safe_member(r, one, "claim_id"), safe_member(r, one, "reason"));
	json_each (one, json_get(json_get(row, "evidence_gathering"), "service_results"))
		out(r, "readback=%s %s (task %s)\n", safe_member(r, one, "status"),
			safe_member(r, one, "source"), safe_member(r, one, "task_id"));
	json_each (one, json_get(json_get(row, "evidence_gathering"), "command_results"))
		out(r, "evidence=%s %s (task %s)\n", safe_member(r, one, "status"),
			safe_member(r, one, "command_preview"), safe_member(r, one, "task_id"));
	json_each (path, json_get(json_get(row, "scope_gate"), "violations"))
		out(r, "outside_of_plan=%s\n", safe(r, json_text(path)));
	if (json_get(json_get(row, "scope_gate"), "reason"))
		out(r, "plan=%s\n", safe_member(r, json_get(row, "scope_gate"), "reason"));
}

static void print_plain(struct cli *r, const struct json *row)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "profile", "skill",
		"command_preview", "cwd", "exit_code", "checkpoint_id", "decision_id", "started_at",
		"updated_at", "finished_at", "parent_task_id", "retry_count", "failure_stage",
		"failure_reason", "blocked_reason", "completion_evidence", "operational_status",
		"next_action", "failure_signature", "state_bundle", "protections" };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		print_member(r, row, fields[i]);
	print_claims(r, row);
}

/* ---- for people ---- */

/* A line, unless there is nothing to say. */
static void line(struct cli *r, const char *name, const char *text)
{
	if (text && *text)
		out(r, "%-10s  %s\n", name, safe(r, text));
}

static void line_of(struct cli *r, const char *name, const struct json *row, const char *member)
{
	line(r, name, json_get_text(row, member, NULL));
}

static const char *took(struct cli *r, const struct json *row)
{
	const char *from = json_get_text(row, "started_execution_at", json_get_text(row, "started_at", "")),
		   *to = json_get_text(row, "finished_at", "");
	int64_t begun, ended;

	if (!text_parse_time(from, strlen(from), &begun) || !text_parse_time(to, strlen(to), &ended))
		return "";
	const int64_t ms = (ended - begun) / 1000;
	return ms < 1000     ? arena_printf(r->a, ", took %lld ms", (long long)ms)
		: ms < 60000 ? arena_printf(r->a, ", took %lld.%lld s", (long long)(ms / 1000),
				       (long long)(ms % 1000 / 100))
			     : arena_printf(r->a, ", took %lld min %lld s", (long long)(ms / 60000),
				       (long long)(ms / 1000 % 60));
}

static void print_when(struct cli *r, const struct json *row)
{
	const char *at = json_get_text(row, "finished_at", json_get_text(row, "started_at", ""));
	int64_t code;

	if (!*at)
		return;
	line(r, "When",
		arena_printf(r->a, "%s%s%s", actions_when(r->a, at), took(r, row),
			json_int(json_get(row, "exit_code"), &code)
				? arena_printf(r->a, ", exit %lld", (long long)code)
				: ""));
}

/* "a, b and 3 more". */
static void print_paths(struct cli *r, const char *name, const struct json *paths, bool is_cut)
{
	struct buf text;
	uint32_t shown = 0;

	if (!paths || !paths->n)
		return;
	buf_init(&text, r->a);
	json_each (path, paths) {
		if (shown == PATHS_SHOWN)
			break;
		buf_addf(&text, "%s%s", shown++ ? ", " : "", json_text(path));
	}
	if (paths->n > shown || is_cut)
		buf_addf(&text, " and %s%u more", is_cut ? "at least " : "", paths->n - shown);
	line(r, name, text.p);
}

/* Which sandbox stood, in a few words; what was missing is named. */
static const char *sandbox_words(struct cli *r, const struct json *row)
{
	const struct json *p = json_get(row, "protections"), *missing = json_get(p, "not_given");
	struct buf text;

	if (!p)
		return NULL;
	buf_init(&text, r->a);
	buf_adds(&text, json_get_text(p, "sandbox", "none"));
	if (!json_is(missing, JSON_ARRAY))
		return text.p;
	if (!missing->n)
		buf_adds(&text, ", every guarantee met");
	json_each (one, missing)
		buf_addf(&text, "%s%s", one == json_at(missing, 0) ? "; not guaranteed: " : ", ",
			json_text(one));
	return text.p;
}

static void print_gates(struct cli *r, const struct json *row)
{
	json_each (gate, json_get(row, "validation_gates"))
		if (text_eq(json_get_text(gate, "status", ""), "failed"))
			line(r, "Broken", json_get_text(gate, "detail", json_get_text(gate, "path", "")));
}

/* Claims that hold are counted; each that does not is named. */
static void print_claims_short(struct cli *r, const struct json *row)
{
	const struct json *claims = json_get(json_get(row, "finalization_gate"), "claims"),
			  *gathered = json_get(row, "evidence_gathering");
	unsigned hold = 0;

	json_each (one, claims)
		hold += json_get_bool(one, "ok", false);
	if (hold)
		line(r, "Claims", arena_printf(r->a, "%u hold%s", hold, hold == 1 ? "s" : ""));
	json_each (one, claims)
		if (!json_get_bool(one, "ok", false))
			line(r, "Not shown",
				arena_printf(r->a, "%s (%s)", json_get_text(one, "claim_id", ""),
					json_get_text(one, "reason", "")));
	json_each (one, json_get(gathered, "service_results"))
		line(r, "Readback",
			arena_printf(r->a, "%s: %s", json_get_text(one, "status", ""),
				json_get_text(one, "source", "")));
	json_each (one, json_get(gathered, "command_results"))
		line(r, "Evidence",
			arena_printf(r->a, "%s: %s", json_get_text(one, "status", ""),
				json_get_text(one, "command_preview", "")));
	json_each (path, json_get(json_get(row, "scope_gate"), "violations"))
		line(r, "Off plan", json_text(path));
	line_of(r, "Plan", json_get(row, "scope_gate"), "reason");
}

static void print_failure(struct cli *r, const struct json *row)
{
	const struct json *sign = json_get(row, "failure_signature");
	const char *why = json_get_text(row, "failure_reason", json_get_text(row, "blocked_reason", NULL)),
		   *class = json_get_text(sign, "error_class", NULL);

	line(r, "Why", why);
	if (class)
		line(r, "Failure",
			arena_printf(r->a, "%s (helm failures show %.8s)", class,
				json_get_text(sign, "fingerprint", "")));
	line_of(r, "Refused", row, "refused_by_wall");
}

/* A name that nobody gave is the beginning of the command, without its quotes. */
static bool is_from_command(const char *name, const char *command)
{
	static const char quotes[] = "'\"\\";

	for (; *name && !text_eq(name, "..."); name++) {
		if (strchr(quotes, *name))
			continue;
		while (*command && strchr(quotes, *command))
			command++;
		if (*name != *command++)
			return false;
	}
	return true;
}

static void print_task(struct cli *r, const struct json *row)
{
	const char *status = json_get_text(row, "status", "unknown"),
		   *command = json_get_text(row, "command_preview", NULL),
		   *checkpoint = json_get_text(row, "checkpoint_id", NULL),
		   *decision = json_get_text(row, "decision_id", NULL);

	out(r, "%s%s%s  under %s  %s%s%s\n", paint(r, paint_for_status(status)), safe(r, status),
		paint(r, PAINT_OFF), safe_member(r, row, "profile"), paint(r, PAINT_MUTED),
		safe_member(r, row, "task_id"), paint(r, PAINT_OFF));
	line(r, "Command", command);
	if (!command || !is_from_command(json_get_text(row, "task_name", ""), command))
		line_of(r, "Name", row, "task_name");
	line_of(r, "In", row, "cwd");
	print_when(r, row);
	print_failure(r, row);
	print_paths(
		r, "Changed", json_get(row, "touched_paths"), json_get_bool(row, "touched_paths_cut", false));
	print_paths(r, "Deleted", json_get(row, "deleted_paths"), false);
	print_gates(r, row);
	if (checkpoint)
		line(r, "Undo", arena_printf(r->a, "helm checkpoint restore %s", checkpoint));
	line(r, "Sandbox", sandbox_words(r, row));
	line_of(r, "Skill", row, "skill");
	line_of(r, "Parent", row, "parent_task_id");
	print_claims_short(r, row);
	line_of(r, "Next", row, "next_action");
	if (decision)
		line(r, "Receipt", arena_printf(r->a, "helm receipts show rcpt_%s", decision));
	line_of(r, "Bundle", json_get(row, "state_bundle"), "path");
}

/* The newest row is the state of the task; --history shows how it came there. */
int cmd_task_show(struct cli *r, struct err *e)
{
	struct actions_place o = actions_place_from(r);
	struct json *rows;
	int rc = actions_task(&o, r->args[0], &rows, e);

	if (rc)
		return rc;
	const struct json *newest = rows->items[rows->n - 1];
	if (r->is_json) {
		out_json(r, opt_flag(r, "history") ? rows : newest);
		return 0;
	}
	if (opt_flag(r, "history"))
		json_each (row, rows)
			out(r, "%s  %s\n", safe_member(r, row, "status"),
				safe_member(
					r, row, json_get(row, "finished_at") ? "finished_at" : "started_at"));
	if (opt_flag(r, "plain"))
		print_plain(r, newest);
	else
		print_task(r, newest);
	return 0;
}
