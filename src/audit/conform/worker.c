/* worker.c — what a worker of a managed agent may do, by its own configuration.
 *
 * The worker is checked before anything it asks for: image and skills pinned by digest, secrets by reference, no key of the whole
 * organisation.  Then each kind of tool has its bound, and every answer names what its receipt must bind. */
#include "audit/conform/workstation.h"
#include "decide/authority/authority.h"

#include "base/file.h"

#include <string.h>

struct work {
	struct arena *a;
	const struct json *config, *worker, *mcp, *session, *ask;
	struct gate_answer *ret;
	struct json *bound;
};

static void keep(struct work *w, const char *name, const char *value)
{
	json_sets(w->a, w->bound, name, value);
}

static void keep_member(struct work *w, const struct json *from, const char *name)
{
	keep(w, name, json_get_text(from, name, ""));
}

static bool is_digest(const char *text)
{
	return text_starts(text, "sha256:") && strlen(text) == 71 &&
		strspn(text + 7, "0123456789abcdef") == 64;
}

/* Members that hold a secret hold a reference to it. */
static bool holds_secrets(const struct json *v)
{
	json_each_member (m, v) {
		bool is_secret = strstr(m->name, "secret") || strstr(m->name, "api_key") ||
			strstr(m->name, "password");
		if (json_text(m->value) && is_secret && !text_starts(json_text(m->value), "secret://"))
			return true;
		if (holds_secrets(m->value))
			return true;
	}
	return false;
}

/* What is wrong with the worker itself: a code, or REASON_COUNT. */
static enum reason_code worker_fault(const struct work *w)
{
	if (!is_digest(json_get_text(w->worker, "worker_image_digest", "")) ||
		!is_digest(json_get_text(w->worker, "skill_manifest_hash", "")))
		return REASON_PROVENANCE_FAILURE;
	if (!is_digest(json_get_text(w->worker, "sandbox_grant_hash", "")))
		return REASON_SANDBOX_VIOLATION;
	if (json_get_bool(w->worker, "organization_api_key_present", true) || holds_secrets(w->config))
		return REASON_TAINTED_CREDENTIAL_ACCESS_DENY;
	return json_get_bool(w->worker, "egress_enforced", false) ? REASON_COUNT : REASON_DATA_EGRESS_BLOCKED;
}

static bool is_below_root(struct work *w, const char *target)
{
	const char *const roots[] = { json_get_text(w->worker, "workspace_root", ""),
		json_get_text(w->worker, "outputs_root", ""), NULL };
	const char *path = path_clean(w->a, target);

	for (size_t i = 0; roots[i]; i++)
		if (*roots[i] && path[0] == '/' && path_is_below(path, roots[i]))
			return true;
	return false;
}

static void judge_file(struct work *w, const char *target)
{
	keep_member(w, w->worker, "sandbox_grant_hash");
	keep(w, "path_hash", json_sha256(w->a, json_string(w->a, target)));
	keep(w, "artifact_hash", json_sha256(w->a, w->ask));
	if (!is_below_root(w, target))
		gate_deny(w->ret, REASON_SANDBOX_VIOLATION, "worker",
			"The path lies outside the worker's roots.");
}

/* A destination must be one that the grant names; nothing else leaves. */
static void judge_network(struct work *w, const char *target)
{
	const char *why = egress_objection(w->a, json_get(w->worker, "egress_grant"), target, NULL, 0);

	keep_member(w, w->worker, "sandbox_grant_hash");
	keep(w, "network_log_ref", json_sha256(w->a, w->ask));
	if (why)
		gate_deny(w->ret, REASON_DATA_EGRESS_BLOCKED, "worker", why);
}

/* Calls to tools go through our gateway: a tunnel straight to the server is a way around it. */
static void judge_tool(struct work *w, const char *route)
{
	bool is_ours = json_get_bool(w->mcp, "route_through_helm_gateway", false) &&
		!json_get_bool(w->mcp, "raw_tunnel_targets_allowed", true);

	keep(w, "mcp_profile_hash", json_sha256(w->a, w->mcp ? w->mcp : w->ask));
	keep_member(w, w->mcp, "tunnel_domain_hash");
	if (!is_ours || !text_eq(route, "helm-gateway"))
		gate_deny(w->ret, REASON_SANDBOX_VIOLATION, "worker",
			"The call does not go through the gateway.");
}

static void judge_ask(struct work *w)
{
	const char *class = json_get_text(w->ask, "tool_class", ""),
		   *target = json_get_text(w->ask, "target", "");

	if (text_eq(class, "bash")) {
		keep_member(w, w->worker, "worker_image_digest");
		keep_member(w, w->worker, "skill_manifest_hash");
		keep_member(w, w->worker, "sandbox_grant_hash");
		keep(w, "request_hash", json_sha256(w->a, w->ask));
	} else if (text_eq(class, "file_write") || text_eq(class, "file_read")) {
		judge_file(w, target);
	} else if (text_eq(class, "network_egress")) {
		judge_network(w, target);
	} else if (text_eq(class, "mcp_tool")) {
		judge_tool(w, json_get_text(w->ask, "route", ""));
	} else if (text_eq(class, "memory_write")) {
		keep(w, "memory_effect_hash", json_sha256(w->a, w->ask));
		gate_deny(w->ret, REASON_SESSION_RISK_MEMORY_DENY, "worker",
			"A worker keeps nothing beyond its session.");
	} else {
		gate_deny(w->ret, REASON_VERIFICATION_FAILURE, "worker",
			"It is not clear what was asked, or what became of it.");
	}
}

/* `receipt_id` is that of the receipt that will hold the answer. */
void worker_judge(struct arena *a, const struct json *config, const struct json *ask, const char *receipt_id,
	struct gate_answer *ret)
{
	struct work w = { .a = a,
		.config = config,
		.worker = json_get(config, "worker"),
		.mcp = json_get(config, "mcp"),
		.session = json_get(config, "anthropic"),
		.ask = ask,
		.ret = ret,
		.bound = json_new(a, JSON_OBJECT) };
	enum reason_code fault = worker_fault(&w);

	*ret = (struct gate_answer){ .verdict = V_ALLOW, .is_active = true };
	keep(&w, "receipt_id", receipt_id);
	keep_member(&w, w.session, "session_id");
	keep_member(&w, w.session, "work_id");
	if (fault != REASON_COUNT) {
		keep_member(&w, w.worker, "skill_manifest_hash");
		gate_deny(ret, fault, "worker", "The worker is not set up as it must be.");
	} else {
		judge_ask(&w);
	}
	ret->bound = w.bound;
}
