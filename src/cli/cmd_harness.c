/* cmd_harness.c — evidence objects, replies of models, and what a task must still do. */
#include "base/doc.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/gates.h"
#include "kernel/memory.h"
#include "kernel/workspace.h"
#include "privacy/social.h"
#include "remember/evidence.h"
#include "remember/task_state.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PROXY_EVENTS "proxy-events.jsonl"
#define REPLY_POLICY "references/local_model_proxy_policy.json"
enum { EXIT_REFUSED = 3 };

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
const struct opt respond_inject_opts[] = {
	{ "tier", OPT_VALUE, "TIER", "only for L3_local_model, and where HELM_SYNTHETIC_RESPOND is set", NULL,
		false },
	{ 0 },
};
const struct opt respond_finalize_opts[] = {
	{ "tool-required", OPT_FLAG, NULL, "the answer had to be a tool call", NULL, false },
	{ 0 },
};
const struct opt action_scope_opts[] = {
	{ "message", OPT_VALUE, "TEXT", "what somebody asked for", NULL, true },
	{ "target", OPT_LIST, "NAME", "what it is about", NULL, false },
	{ "attempt", OPT_VALUE, "SCOPE", "what is about to be done", "inspect|save|edit|delete|external_send",
		false },
	{ "resource", OPT_VALUE, "NAME", "to what", NULL, false },
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

static bool is_truthy(const char *said)
{
	return said && *said && !text_eq(said, "0") && !text_eq(said, "false");
}

static bool is_enforced(struct cli *r)
{
	return is_truthy(r->sys->getenv(r->sys, "HELM_MODEL_REPAIR"));
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

/* The file of the tree is about answers of models and permits nothing; one that cannot be read is said. */
static int read_rules(struct cli *r, struct reply_rules *ret, struct err *e)
{
	struct json *own = NULL;
	int rc = r->ws ? doc_read(r->sys, r->a, r->ws->root_fd, REPLY_POLICY, 1 << 20, FILE_BENEATH, &own, e)
		       : E_MISSING;

	if (rc && rc != E_MISSING)
		return rc;
	*ret = evidence_reply_rules(r->a, own);
	return OK;
}

static int read_input(struct cli *r, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(r->sys, r->a, AT_FDCWD, "-", 16 << 20, FILE_FOLLOW, &text, e);

	return rc ? rc : json_parse(r->a, text, "standard input", NULL, ret, e);
}

static int judge_reply(struct cli *r, struct json **ret, struct err *e)
{
	struct reply_rules rules;
	struct json *reply, *doc;
	int rc = read_input(r, &reply, e);

	if (rc == OK)
		rc = read_rules(r, &rules, e);
	if (rc)
		return rc;
	rules.max_retries = opt_int(r, "max-retries", rules.max_retries);
	doc = evidence_reply(
		r->a, &rules, reply, opt_flag(r, "tool-required"), opt_int(r, "attempt", 0), !is_enforced(r));
	*ret = doc;
	if (!opt_flag(r, "record"))
		return OK;
	if (!r->ws)
		return err_set(e, E_MISSING, "WORKSPACE_MISSING", "there is no workspace to keep it in");
	return keep_event(r, doc, e);
}

int cmd_repair_evaluate(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = judge_reply(r, &doc, e);

	if (rc)
		return rc;
	out_result(r, doc);
	return text_eq(json_get_text(doc, "verdict", ""), "ok") ? 0 : EXIT_NO;
}

/* What whoever calls the model does next.  A gate that only watches never has it called again. */
int cmd_repair_step(struct cli *r, struct err *e)
{
	struct json *doc, *say = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY);
	int rc = judge_reply(r, &doc, e);

	if (rc)
		return rc;
	bool again = is_enforced(r) && text_eq(json_get_text(doc, "verdict", ""), "nudge_and_retry");
	json_setb(r->a, doc, "call_again", again);
	if (again) {
		json_sets(r->a, say, "role", "user");
		json_sets(r->a, say, "content", json_get_text(doc, "nudge", ""));
		json_push(r->a, list, say);
	}
	json_set(r->a, doc, "messages", list);
	out_result(r, doc);
	return 0;
}

int cmd_repair_check(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *policy = json_new(r->a, JSON_OBJECT);
	const char *said = r->sys->getenv(r->sys, "HELM_SYNTHETIC_RESPOND");
	struct reply_rules rules;
	int rc = read_rules(r, &rules, e);

	if (rc)
		return rc;
	json_seti(r->a, policy, "max_retries", rules.max_retries);
	json_set(r->a, policy, "nudge_on", json_copy(r->a, rules.nudge_on));
	json_set(r->a, policy, "abort_on", json_copy(r->a, rules.abort_on));
	json_setb(r->a, doc, "model_repair_enforced", is_enforced(r));
	json_setb(r->a, doc, "synthetic_respond_enabled", is_truthy(said));
	json_set(r->a, doc, "policy", policy);
	json_sets(r->a, doc, "respond_tool", "respond");
	out_result(r, doc);
	return 0;
}

/* ---- a tool to answer with ---- */

int cmd_respond_inject(struct cli *r, struct err *e)
{
	const char *tier = opt_text(r, "tier", NULL);
	bool is_wanted = !tier ||
		(text_eq(tier, "L3_local_model") &&
			is_truthy(r->sys->getenv(r->sys, "HELM_SYNTHETIC_RESPOND")));
	struct json *given, *doc;
	int rc = read_input(r, &given, e);

	if (rc)
		return rc;
	doc = json_is(given, JSON_OBJECT) ? json_copy(r->a, given) : json_new(r->a, JSON_OBJECT);
	const struct json *tools = json_is(given, JSON_OBJECT) ? json_get(given, "tools") : given;
	json_set(r->a, doc, "tools",
		is_wanted	? respond_inject(r->a, tools)
			: tools ? json_copy(r->a, tools)
				: json_new(r->a, JSON_ARRAY));
	out_json(r, doc);
	return 0;
}

int cmd_respond_strip(struct cli *r, struct err *e)
{
	struct json *given;
	int rc = read_input(r, &given, e);

	if (rc == OK)
		out_json(r, respond_strip(r->a, given));
	return rc;
}

int cmd_respond_finalize(struct cli *r, struct err *e)
{
	struct json *given, *doc;
	int rc = read_input(r, &given, e);

	if (rc)
		return rc;
	doc = respond_finalize(r->a, given, opt_flag(r, "tool-required"));
	out_json(r, doc);
	return json_get(doc, "_finalize_warning") ? EXIT_NO : 0;
}

/* ---- what a message asks for ---- */

int cmd_action_scope(struct cli *r, struct err *e)
{
	const char **targets;
	struct scope_question q = { .message = opt_text(r, "message", ""),
		.attempt = opt_text(r, "attempt", NULL),
		.resource = opt_text(r, "resource", NULL) };
	const struct social_request people = { .message = q.message };

	if (q.resource && !scope_knows(q.resource))
		return err_set(
			e, E_USAGE, "SCOPE_RESOURCE", "'%.60s' is no resource that is known", q.resource);
	q.target_count = opt_list(r, "target", &targets);
	q.targets = targets;
	struct json *social;
	int rc = social_judge(r->a, &people, &social, e);
	if (rc)
		return rc;
	struct json *doc = scope_evaluate(r->a, &q);
	bool is_private = !json_get_bool(social, "allowed", true);
	json_set(r->a, doc, "privacy_risk", json_get(social, "risk"));
	json_set(r->a, doc, "privacy_missing_requirements", json_get(social, "missing_requirements"));
	json_set(r->a, doc, "privacy_labels", json_get(social, "labels"));
	if (is_private) {
		json_sets(r->a, doc, "refusal_reason", "social_privacy_requirements_missing");
		json_setb(r->a, doc, "allowed", false);
	}
	out_result(r, doc);
	return json_get_bool(doc, "allowed", false) ? 0 : EXIT_REFUSED;
}

int cmd_compression_profiles(struct cli *r, struct err *e)
{
	struct bytes text;
	struct json *doc;

	if (!embed_find("share/compression_profiles.json", &text))
		return err_set(e, E_MISSING, "COMPRESSION", "the profiles are not in this program");
	int rc = json_parse(r->a, text, "share/compression_profiles.json", NULL, &doc, e);
	if (rc == OK)
		out_result(r, doc);
	return rc;
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
