/* capability.c — what is registered, what can be taken back, and tokens for one task.
 *
 * A call that names a capability is held to its manifest: the class of its effect, whether it can be undone, how far data goes.  A
 * token is good for one task, one capability, one manifest, until a time, and for so many uses; each use is a draw. */
#include "decide/authority/parts.h"

#include "proof/preimage.h"

#include <string.h>

/* ---- documents ---- */

int capability_manifest_check(struct arena *a, const struct json *manifest, struct err *e)
{
	return authority_document(a, "capability-manifest", manifest, e);
}

int capability_plan_check(
	struct arena *a, const struct json *plan, const struct json *manifests, struct err *e)
{
	const char *of = json_get_text(json_get(plan, "applies_to"), "capability_id", NULL);
	int rc = authority_document(a, "rollback-plan", plan, e);

	if (rc)
		return rc;
	if (of && !json_get(manifests, of))
		return err_set(
			e, E_INPUT, "CAPABILITY_PLAN", "the plan is for '%s', which is not registered", of);
	json_each (step, json_get(plan, "steps"))
		if (!json_get(manifests, json_get_text(step, "action_ref", "")))
			return err_set(e, E_INPUT, "CAPABILITY_PLAN",
				"a step needs '%s', which is not registered",
				json_get_text(step, "action_ref", ""));
	return OK;
}

/* Status and revocation change while the token lives; the signature is over the rest. */
int capability_token_preimage(struct arena *a, const struct json *token, struct bytes *ret, struct err *e)
{
	struct json *rest = json_copy(a, token);

	(void)json_remove(rest, "status");
	(void)json_remove(rest, "revocation_receipt_ref");
	return sealed_preimage(a, rest, "signature", ret, e);
}

/* ---- the token ---- */

static bool is_signed(struct arena *a, const struct json *token, const struct json *issuers)
{
	const char *signature = json_get_text(token, "signature", "");
	struct bytes text;

	if (capability_token_preimage(a, token, &text, NULL))
		return false;
	json_each (key, issuers)
		if (json_text(key) && signature_holds(json_text(key), text, signature))
			return true;
	return false;
}

static int boundary_rank(const char *name)
{
	static const char *const names[] = { "local_only", "device_boundary", "org_boundary", "external" };
	size_t i = 0;

	while (i < ARRAY_SIZE(names) - 1 && !text_eq(names[i], name))
		i++;
	return (int)i;
}

/* What the token is for must be what is asked: NULL, or the sub-reason. */
static const char *binding_fault(const struct capability_facts *f, const struct json *token,
	const struct json *manifest, const char *manifest_hash)
{
	const struct json *ref = json_get(token, "capability_ref");
	const struct json *limits = json_get(json_get(token, "grant"), "constraints");
	const char *digest = json_get_text(limits, "args_digest", NULL);
	const char *ceiling = json_get_text(limits, "data_boundary_ceiling", NULL);

	if (!f->task || !text_eq(json_get_text(token, "task_id", ""), f->task))
		return "task_mismatch";
	if (!text_eq(json_get_text(ref, "capability_id", ""), json_get_text(manifest, "capability_id", "")) ||
		!text_eq(json_get_text(ref, "version", ""), json_get_text(manifest, "version", "")))
		return "capability_mismatch";
	if (!text_eq(json_get_text(ref, "manifest_hash", ""), manifest_hash))
		return "manifest_mismatch";
	if (digest && (!f->args_sha256 || !text_eq(digest, f->args_sha256)))
		return "args_mismatch";
	if (ceiling && boundary_rank(json_get_text(manifest, "data_boundary", "")) > boundary_rank(ceiling))
		return "boundary_exceeded";
	return NULL;
}

/* Is it what was given, and still good?  NULL, or the sub-reason. */
static const char *life_fault(struct judging *j, const struct json *token, const struct json *stored)
{
	const struct json *grant = json_get(token, "grant");
	int64_t most = json_get_int(grant, "max_uses", 0);

	if (!json_eq(json_get(stored, "token"), token))
		return "not_as_issued";
	if (!text_eq(json_get_text(token, "status", ""), "active"))
		return "terminal_state";
	if (j->facts->now_us < checked_time(grant, "issued_at") ||
		j->facts->now_us >= checked_time(grant, "expires_at"))
		return "expired";
	if (!text_eq(json_get_text(json_get(token, "subject"), "agent_id", ""), who_asks(j)))
		return "subject_mismatch";
	return most && json_get_int(stored, "uses", 0) >= most ? "used_up" : NULL;
}

static const char *token_fault(struct judging *j, const struct capability_facts *f, const struct json *token,
	const struct json *manifest, const char *manifest_hash)
{
	const char *id = json_get_text(token, "token_id", "");
	const struct json *stored = json_get(f->tokens, id);

	if (authority_document(j->a, "capability-token", token, NULL))
		return "malformed";
	if (!is_signed(j->a, token, f->issuers))
		return "signature";
	if (!stored)
		return "unknown";
	const char *why = life_fault(j, token, stored);
	return why ? why : binding_fault(f, token, manifest, manifest_hash);
}

static void judge_token(struct judging *j, const struct json *manifest, const char *manifest_hash,
	bool is_needed, struct gate_answer *ret)
{
	const struct capability_facts *f = j->facts->capability;
	const struct json *token = json_get(j->ask->context, "capability_token");

	if (!token && (!is_needed || !f->tokens))
		return;
	const char *why = token ? token_fault(j, f, token, manifest, manifest_hash) : "missing";
	if (why) {
		gate_deny(ret, REASON_CAPABILITY_TOKEN_INVALID, "capability",
			arena_printf(j->a, "The capability's token does not hold: %s.", why));
		ret->detail_code = why;
		return;
	}
	int64_t most = json_get_int(json_get(token, "grant"), "max_uses", 0);
	const char *id = json_get_text(token, "token_id", "");
	if (most)
		gate_draw(j,
			&(struct draw){ .kind = DRAW_PERMIT,
				.key = arena_printf(j->a, "token:%zu:%s", strlen(id), id),
				.amount = 1,
				.limit = most });
}

/* ---- the gate ---- */

/* Can what it does be taken back, by a plan that is there, is for it, and has not run out? */
static bool has_plan(struct judging *j, const struct json *manifest)
{
	const struct capability_facts *f = j->facts->capability;
	const struct json *plan =
		json_get(f->plans, json_get_text(json_get(manifest, "rollback"), "plan_ref", ""));

	if (!plan || capability_plan_check(j->a, plan, f->manifests, NULL) ||
		!text_eq(json_get_text(json_get(plan, "applies_to"), "capability_id", ""),
			json_get_text(manifest, "capability_id", "")))
		return false;
	return !json_get(plan, "guarantee_expiry") ||
		j->facts->now_us < checked_time(plan, "guarantee_expiry");
}

/* What the manifest itself says about a call that changes something. */
static void judge_change(struct judging *j, const struct json *manifest, struct gate_answer *ret)
{
	if (text_eq(json_get_text(manifest, "effect_class", ""), "irreversible"))
		gate_deny(
			ret, REASON_CAPABILITY_IRREVERSIBLE, "capability", "What it does cannot be undone.");
	else if (text_eq(json_get_text(manifest, "reversibility", ""), "none"))
		gate_escalate(ret, REASON_APPROVAL_REQUIRED, "capability",
			"There is no way back from what it does.");
	else if (!has_plan(j, manifest))
		gate_deny(ret, REASON_CAPABILITY_ROLLBACK_PLAN_INVALID, "capability",
			"Its rollback plan is missing, is for something else, or has run out.");
	else if (boundary_rank(json_get_text(manifest, "data_boundary", "")) >= boundary_rank("org_boundary"))
		gate_escalate(
			ret, REASON_APPROVAL_REQUIRED, "capability", "Data would leave the machine with it.");
}

/* What the tool of the question is registered as; NULL: nothing. */
static const struct json *manifest_of_tool(const struct json *manifests, const char *tool)
{
	json_each_member (m, manifests)
		if (tool && text_eq(json_get_text(json_get(m->value, "binding"), "ref", ""), tool))
			return m->value;
	return NULL;
}

/* What is called must be what it is said to be.  NULL when there is nothing more to look at. */
static const struct json *manifest_for(struct judging *j, struct gate_answer *ret)
{
	const struct capability_facts *f = j->facts->capability;
	const struct json *named = json_get(j->ask->context, "capability_id"),
			  *own = manifest_of_tool(f->manifests, j->ask->tool);
	const char *id = json_text(named) ? json_text(named) : "";

	/* What the caller says it is makes nothing registered. */
	if (!own && f->is_required && !j->ask->is_tool_beside) {
		gate_escalate(ret, REASON_CAPABILITY_UNKNOWN, "capability",
			arena_printf(j->a, "Nothing is registered for '%.80s'.",
				j->ask->tool ? j->ask->tool : j->ask->effect_type));
		return NULL;
	}
	if (!named && !own)
		return NULL;
	if (named && own && !text_eq(json_get_text(own, "capability_id", ""), id)) {
		gate_deny(ret, REASON_CAPABILITY_MANIFEST_DRIFT, "capability",
			"What is called is registered as another capability than the one that is named.");
		return NULL;
	}
	const struct json *manifest = own ? own : json_get(f->manifests, id);
	if (manifest && !capability_manifest_check(j->a, manifest, NULL))
		return manifest;
	gate_escalate(ret, REASON_CAPABILITY_UNKNOWN, "capability",
		arena_printf(j->a, "Capability '%.80s' is not registered.", id));
	return NULL;
}

void gate_capability(struct judging *j, struct gate_answer *ret)
{
	if (!j->facts->capability)
		return;
	ret->is_active = true;
	const struct json *manifest = manifest_for(j, ret);
	if (!manifest)
		return;
	const char *hash = json_sha256(j->a, manifest);
	const struct json *pin = json_get(j->ask->context, "capability_manifest_hash");
	if (pin && !(json_text(pin) && text_eq(json_text(pin), hash))) {
		gate_deny(ret, REASON_CAPABILITY_MANIFEST_DRIFT, "capability",
			"The capability is not the one that was pinned: its manifest has changed.");
		return;
	}
	bool is_read = text_eq(json_get_text(manifest, "effect_class", ""), "read_only");
	if (!is_read)
		judge_change(j, manifest, ret);
	/* A question stays one when the token holds; a token that does not hold is a no. */
	if (ret->verdict != V_DENY)
		judge_token(j, manifest, hash, !is_read, ret);
	bind_text(j, ret, "capability_manifest_hash", hash);
}

/* ---- the section of a policy ---- */

/* A tool that two manifests bind would be either. */
static int check_binding(const struct json *manifests, const struct json *manifest, struct err *e)
{
	const char *ref = json_get_text(json_get(manifest, "binding"), "ref", "");
	const struct json *first = manifest_of_tool(manifests, ref);

	return first == manifest ? OK
				 : err_set(e, E_INPUT, "CAPABILITY_BINDING", "'%s' binds '%s', too",
					   json_get_text(first, "capability_id", ""), ref);
}

static int bad(struct err *e, const char *kind, const char *name, const struct err *why)
{
	return err_set(e, E_INPUT, "POLICY_DOCUMENT", "policy: section \"capability\", %s '%s': %s", kind,
		name, why->text);
}

int capability_section(struct arena *a, const struct json *section, struct err *e)
{
	const struct json *manifests = json_get(section, "manifests");
	struct err why = { 0 };

	json_each_member (m, manifests) {
		if (capability_manifest_check(a, m->value, &why) || check_binding(manifests, m->value, &why))
			return bad(e, "manifest", m->name, &why);
		if (!text_eq(m->name, json_get_text(m->value, "capability_id", "")))
			return err_set(e, E_INPUT, "POLICY_DOCUMENT",
				"policy: section \"capability\", manifest '%s': it is for '%s'", m->name,
				json_get_text(m->value, "capability_id", ""));
	}
	json_each_member (m, json_get(section, "plans"))
		if (capability_plan_check(a, m->value, manifests, &why))
			return bad(e, "plan", m->name, &why);
	return OK;
}
