/* workstation_judge.c — an event under a workstation profile.
 *
 * The order of questions is the contract's: tainted, files, network, memory, loops, and whatever else operates.  What is not operated
 * is only looked at or drafted, and passes.  Hosts are read as everywhere (host.c). */
#include "audit/conform/workstation.h"
#include "decide/authority/authority.h"

#include "base/file.h"

#include <string.h>
#include <strings.h>

static bool texts_have_caseless(const struct json *list, const char *text)
{
	json_each (item, list)
		if (json_text(item) && strcasecmp(json_text(item), text) == 0)
			return true;
	return false;
}

/* Kinds of events, the effect each has, and the permission that operating it takes. */
static const struct kind {
	const char *event, *type, *permission, *mode;
} kinds[] = {
	{ "file_write", "WORKSTATION_FILE_WRITE", "file.write", "draft" },
	{ "draft_edit", "WORKSTATION_FILE_WRITE", "file.write", "draft" },
	{ NULL, "WORKSTATION_FILE_DRAFT", "file.write", NULL },
	{ "network_egress", "WORKSTATION_NETWORK_EGRESS", "network.egress", "operate" },
	{ "mcp_tool_call", "WORKSTATION_MCP_TOOL_CALL", "mcp.mutate", "operate" },
	{ "memory_write", "WORKSTATION_MEMORY_WRITE", "memory.write", "operate" },
	{ "recurring_loop", "WORKSTATION_RECURRING_LOOP", "loop.register", "operate" },
	{ "deploy_publish", "WORKSTATION_DEPLOY_PUBLISH", "deploy.publish", "operate" },
	{ "secret_read", "WORKSTATION_SECRET_READ", "secret.read", "operate" },
	{ "payment_initiate", "WORKSTATION_PAYMENT_INITIATE", "payment.initiate", "operate" },
	{ "prompt_injection", "WORKSTATION_TAINTED_CONTEXT", NULL, "observe" },
	{ "tainted_context", "WORKSTATION_TAINTED_CONTEXT", NULL, "observe" },
};

int workstation_profile_check(struct arena *a, const struct json *profile, struct err *e)
{
	return authority_document(a, "workstation-profile", profile, e);
}

static const struct kind *kind_of_event(const struct json *event)
{
	const char *type = json_get_text(event, "type", "");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].event && text_eq(kinds[i].event, type))
			return &kinds[i];
	return NULL;
}

const char *workstation_effect_type(const struct json *event)
{
	const struct kind *k = kind_of_event(event);
	const char *said = json_get_text(event, "effect_type", "");

	return *said ? said : k ? k->type : "WORKSTATION_SHELL_COMMAND";
}

const char *workstation_effect_mode(const struct json *event)
{
	const struct kind *k = kind_of_event(event);
	const char *said = json_get_text(event, "effect_mode", "");

	return *said ? said : k ? k->mode : "observe";
}

/* ---- one judgement ---- */

struct judged {
	struct arena *a;
	const struct json *profile, *event;
	const struct workstation_place *at;
	const char *type, *mode, *target;
	struct workstation_answer *ret;
};

static bool deny(struct judged *w, enum reason_code code, const char *reason)
{
	w->ret->verdict = V_DENY;
	w->ret->code = code;
	w->ret->reason = reason;
	return false;
}

static bool is_type(const struct judged *w, const char *type)
{
	return text_eq(w->type, type);
}

/* By what it says it is, by its kind, or by its mode. */
static bool is_operate(const struct judged *w)
{
	const struct kind *k = kind_of_event(w->event);

	if (text_eq(w->mode, "operate") || (k && text_eq(k->mode, "operate")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (is_type(w, kinds[i].type) && kinds[i].mode && text_eq(kinds[i].mode, "operate"))
			return true;
	return false;
}

static bool is_tainted(const struct judged *w)
{
	static const char *const labels[] = { "prompt_injection", "tainted_context",
		"untrusted_tool_output" };
	const struct json *have = taint_labels(w->a, json_get(w->event, "taint_labels"), NULL);

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (taint_has(have, labels[i]))
			return true;
	return false;
}

/* A command needs shell.operate when it says that it operates; otherwise the type itself, which no vocabulary holds. */
static const char *permission_for(const struct judged *w)
{
	const char *action = json_get_text(w->event, "action", "");

	if (is_type(w, "WORKSTATION_SHELL_COMMAND") &&
		(text_eq(json_get_text(w->event, "type", ""), "shell_operate") ||
			strcasestr(action, "operate")))
		return "shell.operate";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (is_type(w, kinds[i].type) && kinds[i].permission)
			return kinds[i].permission;
	return w->type;
}

static bool has_permission(struct judged *w)
{
	const struct json *list = json_get(json_get(w->profile, "operate"), "permissions");
	const char *name = permission_for(w);

	if (!list->n)
		return deny(w, REASON_OPERATE_PERMISSIONS_EMPTY, "operate permissions are empty");
	if (texts_have_caseless(list, name) || texts_have_caseless(list, w->type))
		return true;
	(void)deny(w, REASON_OPERATE_PERMISSION_NOT_GRANTED, "operate permission is not granted");
	if (json_get_bool(json_get(w->profile, "learning"), "emit_counterfactual", false) &&
		strchr(name, '.')) {
		struct json *more = json_new(w->a, JSON_OBJECT);
		json_sets(w->a, more, "field", "operate.permissions");
		json_sets(w->a, more, "capability", name);
		w->ret->counterfactual = more;
	}
	return false;
}

/* ---- files ---- */

/* Lexically: at or below this root. */
static bool is_in_root(struct arena *a, const char *path, const char *root)
{
	const char *clean = path_clean(a, root);

	if (text_eq(path, "."))
		return true;
	if ((path[0] == '/') != (clean[0] == '/'))
		return false;
	return text_eq(clean, ".") || text_eq(path, clean) || path_is_below(path, clean);
}

static bool is_in_roots(const struct judged *w, const char *target)
{
	const char *path = path_clean(w->a, *target ? target : "."), *workspace = w->at->workspace;

	/* What lies in the workspace is seen from it. */
	if (workspace && path[0] == '/' && path_is_below(path, workspace))
		path = path_clean(w->a, arena_printf(w->a, "./%s", path + strlen(workspace)));
	if (text_eq(path, "..") || text_starts(path, "../"))
		return false;
	json_each (root, json_get(json_get(w->profile, "draft"), "workspace_roots"))
		if (is_in_root(w->a, path, root->text))
			return true;
	return false;
}

static bool judge_file(struct judged *w)
{
	if (text_eq(w->mode, "operate") && !has_permission(w))
		return false;
	if (!is_in_roots(w, w->target) || (w->at->resolved && !is_in_roots(w, w->at->resolved)))
		return deny(w, REASON_DRAFT_TARGET_OUTSIDE_WORKSPACE_SCOPE,
			"the target lies outside the workspace roots");
	return true;
}

/* ---- the rest ---- */

static bool is_listed(struct judged *w, const struct json *list)
{
	struct authority to, entry;
	const char *why;

	if (!authority_of(w->a, w->target, &to, &why))
		return false;
	json_each (item, list) {
		const char *protocol = json_get_text(item, "protocol", "");
		if (authority_of(w->a, json_get_text(item, "host", ""), &entry, &why) &&
			text_eq(entry.host, to.host) && (!entry.port || entry.port == to.port) &&
			(!*protocol || strcasecmp(protocol, to.scheme ? to.scheme : "https") == 0))
			return true;
	}
	return false;
}

static bool judge_network(struct judged *w)
{
	const struct json *list = json_get(json_get(w->profile, "egress"), "allowlist");

	if (!list->n)
		return deny(w, REASON_EGRESS_ALLOWLIST_EMPTY, "network egress allowlist is empty");
	if (!is_listed(w, list))
		return deny(
			w, REASON_EGRESS_DESTINATION_NOT_ALLOWED, "the destination is not on the allowlist");
	return has_permission(w);
}

static bool judge_memory(struct judged *w)
{
	const struct json *policy = json_get(w->profile, "memory"),
			  *effect = json_get(w->event, "memory_effect");
	int64_t asked = json_get_int(effect, "ttl_days", 0),
		usual = json_get_int(policy, "default_ttl_days", 0);
	int64_t most = json_get_int(policy, "max_ttl_days", usual);

	if (!has_permission(w))
		return false;
	if (!texts_have_caseless(
		    json_get(policy, "allowed_classes"), json_get_text(effect, "memory_class", "")))
		return deny(w, REASON_MEMORY_CLASS_DISALLOWED, "the memory class is not allowed");
	if ((asked > 0 ? asked : usual) <= most)
		return true;
	(void)deny(w, REASON_MEMORY_TTL_EXCEEDS_POLICY,
		"the memory would be kept longer than the policy allows");
	if (asked > 0 && asked <= UINT32_MAX &&
		json_get_bool(json_get(w->profile, "learning"), "emit_counterfactual", false)) {
		struct json *more = json_new(w->a, JSON_OBJECT);
		json_sets(w->a, more, "field", "ttl_days");
		json_seti(w->a, more, "requested", asked);
		json_seti(w->a, more, "max", most);
		w->ret->counterfactual = more;
	}
	return false;
}

static bool judge_loop(struct judged *w)
{
	static const struct {
		const char *required, *member;
		enum reason_code code;
		const char *reason;
	} rows[] = {
		{ "require_schedule", "schedule", REASON_RECURRING_LOOP_MISSING_SCHEDULE,
			"the loop has no schedule" },
		{ "require_max_runtime", "max_runtime", REASON_RECURRING_LOOP_MISSING_MAX_RUNTIME,
			"the loop has no longest run" },
		{ "require_tool_scope", "tool_scope", REASON_RECURRING_LOOP_MISSING_TOOL_SCOPE,
			"the loop has no tool scope" },
		{ "require_expiration", "expires_at", REASON_RECURRING_LOOP_MISSING_EXPIRATION,
			"the loop has no end" },
	};
	const struct json *policy = json_get(w->profile, "recurring_loops");

	if (!has_permission(w))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct json *have =
			json_get(json_get(w->event, "recurring_loop_effect"), rows[i].member);
		bool is_there = (json_is(have, JSON_STRING) || json_is(have, JSON_ARRAY)) && have->n;
		if (json_get_bool(policy, rows[i].required, true) && !is_there)
			return deny(w, rows[i].code, rows[i].reason);
	}
	return true;
}

static bool judge(struct judged *w)
{
	if (is_operate(w) && is_tainted(w))
		return deny(w, REASON_TAINTED_CONTEXT_REQUIRES_DENY,
			"tainted context cannot authorise an operate effect");
	if (is_type(w, "WORKSTATION_FILE_WRITE") || is_type(w, "WORKSTATION_FILE_DRAFT"))
		return judge_file(w);
	if (is_type(w, "WORKSTATION_NETWORK_EGRESS"))
		return judge_network(w);
	if (is_type(w, "WORKSTATION_MEMORY_WRITE"))
		return judge_memory(w);
	if (is_type(w, "WORKSTATION_RECURRING_LOOP"))
		return judge_loop(w);
	return !is_operate(w) || has_permission(w);
}

static const char *finality_text(enum finality f)
{
	static const char *const names[] = { NULL, "class_forbidden", "ungranted", "instance_parameter",
		"instance_context", "instance_membership" };
	TABLE_COVERS(names, FINALITY_COUNT);

	return names[f];
}

void workstation_judge(struct arena *a, const struct json *profile, const struct json *event,
	const struct workstation_place *at, struct workstation_answer *ret)
{
	static const struct workstation_place nowhere = { NULL, NULL };
	struct judged w = { .a = a,
		.profile = profile,
		.event = event,
		.at = at ? at : &nowhere,
		.type = workstation_effect_type(event),
		.mode = workstation_effect_mode(event),
		.target = json_get_text(event, "target", ""),
		.ret = ret };

	*ret = (struct workstation_answer){ .verdict = V_ALLOW };
	if (!judge(&w) && json_get_bool(json_get(profile, "learning"), "emit_finality", false))
		ret->finality = finality_text(reason_get(ret->code)->finality);
}

/* ---- events of commands ---- */

struct json *workstation_event(struct arena *a, const char *class, const char *target)
{
	static const struct {
		const char *classes, *type, *tool, *mode;
	} rows[] = {
		{ "network egress", "network_egress", "network.egress", "operate" },
		{ "mcp", "mcp_tool_call", "mcp.tool", "operate" },
		{ "memory", "memory_write", "memory.write", "operate" },
		{ "loop recurring", "recurring_loop", "loop.register", "operate" },
		{ "deploy publish", "deploy_publish", "deploy.publish", "operate" },
		{ "secret", "secret_read", "secret.read", "operate" },
		{ "payment", "payment_initiate", "payment.initiate", "operate" },
		{ "shell-operate", "shell_operate", "shell", "operate" },
		{ "sensitive-file-write", "file_write", "workspace.write", "operate" },
		{ "file draft write", "file_write", "workspace.write", "draft" },
		{ "", "shell_command", "shell", "observe" },
	};
	struct json *event = json_new(a, JSON_OBJECT);
	size_t i = 0;

	for (; i < ARRAY_SIZE(rows) - 1; i++) {
		struct bytes rest = bytes_of(rows[i].classes);
		bool is_it = false;
		while (rest.p)
			is_it = bytes_is(text_cut(&rest, ' '), class) || is_it;
		if (is_it)
			break;
	}
	json_sets(a, event, "type", rows[i].type);
	json_sets(a, event, "tool_id", rows[i].tool);
	json_sets(a, event, "action", rows[i].type);
	json_sets(a, event, "effect_mode", rows[i].mode);
	json_sets(a, event, "target", target);
	json_sets(a, event, "effect_type", workstation_effect_type(event));
	return event;
}

struct json *workstation_default_profile(struct arena *a)
{
	static const char text[] =
		"{\"id\":\"workstation.observe_draft.v1\",\"mode\":\"observe_only\","
		"\"observe\":{\"allowed_actions\":[\"git.status\",\"git.diff\",\"shell.read\",\"shell.test\",\"shell.build\"]},"
		"\"draft\":{\"workspace_roots\":[\".\"],\"allow_generated_artifacts\":true},\"operate\":{\"permissions\":[]},"
		"\"egress\":{\"allowlist\":[]},\"memory\":{\"default_ttl_days\":30,\"max_ttl_days\":30,"
		"\"allowed_classes\":[\"M1_EPISODIC\",\"M3_SEMANTIC\",\"M4_PROCEDURAL\"]},"
		"\"recurring_loops\":{\"require_schedule\":true,\"require_max_runtime\":true,\"require_tool_scope\":true,"
		"\"require_expiration\":true}}";
	struct json *doc;

	if (json_parse(a, BYTES_LITERAL(text), "default profile", NULL, &doc, NULL))
		BUG("our own profile does not parse");
	return doc;
}
