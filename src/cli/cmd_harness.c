/* cmd_harness.c — evidence objects, replies of models, and what a task must still do. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_observe.h"
#include "kernel/gates.h"
#include "kernel/memory.h"
#include "kernel/workspace.h"
#include "remember/evidence.h"
#include "remember/task_state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PROXY_EVENTS "proxy-events.jsonl"
enum { MAX_RETRIES = 2 };

const struct opt harness_retrieval_opts[] = {
	{ "stage", OPT_VALUE, "STAGE", "how it was tried (cheap_fetch)",
		"cheap_fetch|transformed_url|browser_snapshot|browser_network", false },
	{ "status", OPT_INT, "N", "the HTTP status", NULL, false },
	{ "text", OPT_VALUE, "TEXT", "what came back, or the error", NULL, false },
	{ "unsafe", OPT_FLAG, NULL, "it must not be tried further", NULL, false },
	{ "needs-approval", OPT_FLAG, NULL, "a person must say yes first", NULL, false },
	{ "needs-auth", OPT_FLAG, NULL, "it asks for a login", NULL, false },
	{ "found-api", OPT_FLAG, NULL, "an interface was found that gives the same", NULL, false },
	{ "used-browser", OPT_FLAG, NULL, "a browser was needed", NULL, false },
	{ "browser-allowed", OPT_FLAG, NULL, "a browser may be used next", NULL, false },
	{ 0 },
};
const struct opt repair_evaluate_opts[] = {
	{ "tool-required", OPT_FLAG, NULL, "the answer had to be a tool call", NULL, false },
	{ "attempt", OPT_INT, "N", "which attempt it was (0)", NULL, false },
	{ "max-retries", OPT_INT, "N", "so many are made (2)", NULL, false },
	{ "model", OPT_VALUE, "REF", "which model answered, for the record", NULL, false },
	{ "record", OPT_FLAG, NULL, "keep it for 'helm shadow-report'", NULL, false },
	{ 0 },
};
const struct opt task_state_opts[] = {
	{ "require", OPT_LIST, "STEP", "this must be done", NULL, false },
	{ "done", OPT_LIST, "STEP", "this is done", NULL, false },
	{ "blocker", OPT_LIST, "TEXT", "this is in the way", NULL, false },
	{ "unblock", OPT_LIST, "TEXT", "this is not in the way any more", NULL, false },
	{ "approve", OPT_LIST, "ACTION=TARGET", "an effect outside that was approved", NULL, false },
	{ "finalize", OPT_FLAG, NULL, "it is done: every required step is, and nothing is in the way", NULL,
		false },
	{ "abandon", OPT_FLAG, NULL, "it will not be done", NULL, false },
	{ 0 },
};

int cmd_harness_file_intake(struct cli *r, struct err *e)
{
	const char *path = r->args[0];
	uint8_t first[INTAKE_BYTES];
	struct stat st;
	AUTO(close_fd) int fd = r->sys->open(r->sys, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, 0);
	ssize_t n = fd < 0 ? -1 : r->sys->read(r->sys, fd, first, sizeof(first));

	if (n < 0 || r->sys->stat(r->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "INTAKE_READ", "cannot read '%s'", path);
	struct json *doc = evidence_file(r->a, path, (struct bytes){ first, (size_t)n }, st.st_size);
	out_result(r, doc);
	return json_get_bool(doc, "safe_to_parse", false) ? 0 : EXIT_NO;
}

int cmd_harness_retrieval(struct cli *r, struct err *e)
{
	const struct retrieval q = { .stage = opt_text(r, "stage", "cheap_fetch"),
		.status = (int)opt_int(r, "status", 0),
		.text = opt_text(r, "text", NULL),
		.is_unsafe = opt_flag(r, "unsafe"),
		.needs_approval = opt_flag(r, "needs-approval"),
		.needs_auth = opt_flag(r, "needs-auth"),
		.found_api = opt_flag(r, "found-api"),
		.used_browser = opt_flag(r, "used-browser"),
		.browser_allowed = opt_flag(r, "browser-allowed") };

	(void)e;
	out_result(r, evidence_retrieval(r->a, &q));
	return 0;
}

/* ---- gates ---- */

const struct opt gates_run_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "the files that this task touched", NULL, false },
	{ 0 },
};

int cmd_gates_run(struct cli *r, struct err *e)
{
	const char *id = opt_text(r, "task-id", NULL);
	struct memory_place m = memory_place_of(r->sys, r->ws);
	struct kernel k = { 0 };
	struct json *row = NULL, *doc;
	int rc = id ? memory_task(&m, r->a, id, &row, e) : OK;

	if (rc)
		return rc;
	const struct json *touched = json_get(row, "touched_paths");
	const char **files =
		arena_zalloc(r->a, r->arg_count + (touched ? touched->n : 0) + 1, sizeof(*files));
	size_t n = 0;
	for (; n < r->arg_count; n++)
		files[n] = workspace_named(r->sys, r->a, r->args[n]);
	json_each (path, touched)
		if (json_text(path))
			files[n++] = path_join(r->a, r->ws->root, json_text(path));
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = gates_files(&k, r->a, files, n, &doc, e);
	kernel_close(&k);
	if (rc)
		return rc;
	out_result(r, doc);
	return json_get_bool(doc, "ok", false) ? 0 : EXIT_NO;
}

/* ---- replies ---- */

static bool is_enforced(struct cli *r)
{
	const char *said = r->sys->getenv(r->sys, "HELM_MODEL_REPAIR");

	return said && *said && !text_eq(said, "0") && !text_eq(said, "false");
}

static int keep_event(struct cli *r, const struct json *doc, struct err *e)
{
	struct json *row = json_copy(r->a, doc);
	struct buf line;
	AUTO(close_fd) int fd = -1;
	int rc = file_mkdirs(r->sys, r->ws->state_fd, "traces", 0755, e);

	if (rc == OK)
		rc = file_open_dir(r->sys, r->ws->state_fd, "traces", &fd, e);
	if (rc)
		return rc;
	json_sets(r->a, row, "timestamp", text_time_z(r->a, r->sys->now_us(r->sys) / 1000000 * 1000000));
	json_sets(r->a, row, "model", opt_text(r, "model", NULL));
	json_sets(r->a, row, "action", json_get_text(doc, "verdict", ""));
	json_seti(r->a, row, "attempt", opt_int(r, "attempt", 0));
	json_setb(r->a, row, "tool_required", opt_flag(r, "tool-required"));
	buf_init(&line, r->a);
	json_write(&line, row, JSON_SPACED | JSON_SORT_BYTES);
	return file_append_line(r->sys, fd, PROXY_EVENTS, 0644, buf_bytes(&line), NULL, e);
}

int cmd_repair_evaluate(struct cli *r, struct err *e)
{
	struct bytes text;
	struct json *reply, *doc;
	int rc = file_read(r->sys, r->a, AT_FDCWD, "-", 16 << 20, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(r->a, text, "standard input", NULL, &reply, e);
	if (rc)
		return rc;
	doc = evidence_reply(r->a, reply, opt_flag(r, "tool-required"), opt_int(r, "attempt", 0),
		opt_int(r, "max-retries", MAX_RETRIES), !is_enforced(r));
	if (opt_flag(r, "record")) {
		if (!r->ws)
			return err_set(
				e, E_MISSING, "WORKSPACE_MISSING", "there is no workspace to keep it in");
		rc = keep_event(r, doc, e);
		if (rc)
			return rc;
	}
	out_result(r, doc);
	return text_eq(json_get_text(doc, "verdict", ""), "ok") ? 0 : EXIT_NO;
}

int cmd_repair_check(struct cli *r, struct err *e)
{
	static const char *const nudges[] = { "malformed_tool_call", "non_json_when_tool_required",
		"invalid_json_in_arguments", "empty_response" };
	struct json *doc = json_new(r->a, JSON_OBJECT), *policy = json_new(r->a, JSON_OBJECT),
		    *on = json_new(r->a, JSON_ARRAY), *abort_on = json_new(r->a, JSON_ARRAY);

	(void)e;
	for (size_t i = 0; i < ARRAY_SIZE(nudges); i++)
		json_pushs(r->a, on, nudges[i]);
	json_pushs(r->a, abort_on, "terminal_without_tool");
	json_seti(r->a, policy, "max_retries", MAX_RETRIES);
	json_set(r->a, policy, "nudge_on", on);
	json_set(r->a, policy, "abort_on", abort_on);
	json_setb(r->a, doc, "model_repair_enforced", is_enforced(r));
	json_set(r->a, doc, "policy", policy);
	out_result(r, doc);
	return 0;
}

/* ---- what a task must still do ---- */

static int add_all(struct cli *r, const char *id, const char *option, const char *op, struct err *e)
{
	const char **texts, *by = arena_printf(r->a, "user:%u", getuid());
	size_t n = opt_list(r, option, &texts);
	int rc = OK;

	for (size_t i = 0; i < n && rc == OK; i++) {
		struct json *value = json_string(r->a, texts[i]);
		const char *sign = strchr(texts[i], '=');
		if (text_eq(op, "approve")) {
			if (!sign)
				return err_set(e, E_USAGE, "TASK_STATE", "--approve takes ACTION=TARGET");
			value = json_new(r->a, JSON_OBJECT);
			json_set(r->a, value, "action",
				json_stringn(r->a, texts[i], (size_t)(sign - texts[i])));
			json_sets(r->a, value, "target", sign + 1);
			json_sets(r->a, value, "approved_by", by);
			json_sets(r->a, value, "approved_at", text_time_iso(r->a, r->sys->now_us(r->sys)));
		}
		rc = task_state_add(r->sys, r->a, r->ws->state_fd, id, op, value, by, e);
	}
	return rc;
}

int cmd_task_state(struct cli *r, struct err *e)
{
	static const char *const lists[] = { "require", "done", "blocker", "unblock", "approve" };
	const char *id = r->args[0], *by = arena_printf(r->a, "user:%u", getuid());
	struct json *doc;
	int rc = OK;

	if (opt_flag(r, "finalize") && opt_flag(r, "abandon"))
		return err_set(e, E_USAGE, "TASK_STATE", "--finalize and --abandon exclude each other");
	for (size_t i = 0; i < ARRAY_SIZE(lists) && rc == OK; i++)
		rc = add_all(r, id, lists[i], lists[i], e);
	if (rc == OK && (opt_flag(r, "finalize") || opt_flag(r, "abandon")))
		rc = task_state_add(r->sys, r->a, r->ws->state_fd, id,
			opt_flag(r, "finalize") ? "finalize" : "abandon", json_new(r->a, JSON_NULL), by, e);
	if (rc == OK)
		rc = task_state_load(r->sys, r->a, r->ws->state_fd, id, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
}
