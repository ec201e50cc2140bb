/* decide.c — from a call over HTTP to the kernel, the same way for every route that decides. */
#include "serve/http/http.h"

#include "base/hash.h"
#include "base/text.h"
#include "clients/clients.h"
#include "model/terms.h"
#include "privacy/privacy.h"
#include "propose/propose.h"

#include <string.h>

struct json *call_context(struct call *c, const struct json *said)
{
	static const char *const names[] = { "principal", "principal_id", "agent_id", "tenant", "tenantId",
		"tenant_id", "workspace", "workspaceId", "workspace_id" };
	struct json *context =
		json_is(said, JSON_OBJECT) ? json_copy(c->a, said) : json_new(c->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)json_remove(context, names[i]);
	json_sets(c->a, context, "principal_id", c->who.principal);
	json_sets(c->a, context, "tenant_id", c->who.tenant);
	json_sets(c->a, context, "workspace_id", c->server->ws->root);
	return context;
}

/* Which delegated session the caller means, and a digest of what it shows for that. */
static void add_delegation(struct call *c, struct json *known)
{
	const char *session = call_header(c, "X-Helm-Delegation-Session"),
		   *shown = call_header(c, "X-Helm-Delegation-Verifier");

	if (session)
		json_sets(c->a, known, "delegation_session", session);
	if (shown)
		json_sets(c->a, known, "delegation_proof", sha256_prefixed(c->a, shown, strlen(shown)));
}

static struct json *facts_of(struct call *c, const struct tool_question *q)
{
	struct json *known = q->known ? json_copy(c->a, q->known) : json_new(c->a, JSON_OBJECT);

	json_sets(c->a, known, "tenant", c->who.tenant);
	if (c->who.key_id) {
		json_sets(c->a, known, "key_id", c->who.key_id);
		json_sets(c->a, known, "key_principal", c->who.principal);
	}
	add_delegation(c, known);
	return known;
}

static struct json *about_of(struct call *c, const struct tool_question *q)
{
	struct json *about = q->about ? q->about : json_new(c->a, JSON_OBJECT);

	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "source", q->source ? q->source : "api.evaluate");
	if (c->who.key_id)
		json_sets(c->a, about, "key_id", c->who.key_id);
	if (q->principal && !text_eq(q->principal, c->who.principal))
		json_sets(c->a, about, "asked_by", c->who.principal);
	return about;
}

/* What a decision, and a yes to it, is about: a yes to one tool, tenant, level, context or draft is none to another. */
static const char *deed_sha256(struct call *c, const struct tool_question *q, const struct json *input)
{
	struct json *deed = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, deed, "tenant", c->who.tenant);
	json_sets(c->a, deed, "tool", q->tool);
	json_sets(c->a, deed, "action", q->action ? q->action : q->tool);
	json_set(c->a, deed, "args", json_copy(c->a, q->args ? q->args : input));
	if (q->context)
		json_set(c->a, deed, "context", json_copy(c->a, q->context));
	if (q->draft)
		json_set(c->a, deed, "draft", json_copy(c->a, q->draft));
	return json_sha256(c->a, deed);
}

/* What a person reads: the tool, and what it is given; the kernel cuts it and takes secrets out of its text. */
static const char *preview_of(struct call *c, const struct tool_question *q, const struct json *input)
{
	struct json *shown = json_copy(c->a, q->args ? q->args : input);
	struct buf text;

	privacy_redact_json(c->a, shown);
	buf_init(&text, c->a);
	buf_addf(&text, "%s ", q->tool);
	json_write(&text, shown, 0);
	if (q->draft) {
		shown = json_copy(c->a, q->draft);
		privacy_redact_json(c->a, shown);
		buf_addc(&text, ' ');
		json_write(&text, shown, 0);
	}
	return text.p;
}

static void count(struct call *c, const struct handling *h)
{
	struct serve_counts *n = &c->server->count;
	uint64_t *one = h->verdict == V_ALLOW ? &n->allowed
		: h->verdict == V_ESCALATE    ? &n->escalated
					      : &n->denied;

	__atomic_add_fetch(&n->decisions, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(one, 1, __ATOMIC_RELAXED);
	c->telemetry = json_new(c->a, JSON_OBJECT);
	json_sets(c->a, c->telemetry, "verdict", verdict_name(h->verdict));
	json_sets(c->a, c->telemetry, "reason_code",
		h->verdict == V_ALLOW ? "" : reason_get(h->decision.reason_code)->code);
	json_sets(c->a, c->telemetry, "decision_id", h->decision_id);
	json_sets(c->a, c->telemetry, "receipt_id", json_get_text(h->decision_receipt, "receipt_id", ""));
	json_sets(c->a, c->telemetry, "rule", h->decision.detail_code);
}

const struct ruleset *call_policy(const struct call *c)
{
	return c->policy ? c->policy->rules : NULL;
}

/* Which policy a question is for, beside those in use. */
static const struct ruleset *policy_for(const struct call *c, const struct tool_question *q)
{
	return q->policy ? q->policy : q->is_without_policy ? NULL : call_policy(c);
}

int decide_prepare(struct call *c, const struct tool_question *q, struct request **ret, struct err *e)
{
	struct kernel *k = c->k;
	struct json *input =
		json_is(q->args, JSON_OBJECT) ? json_copy(c->a, q->args) : json_new(c->a, JSON_OBJECT);
	const struct tool_call call = { .tool_name = q->as ? q->as : q->tool,
		.input = q->as_input ? json_copy(c->a, q->as_input) : input,
		.session = q->session,
		.effects = q->effects };
	struct proposal *proposal = arena_zalloc(c->a, 1, sizeof(*proposal));
	struct request *r = arena_zalloc(c->a, 1, sizeof(*r));
	const char *profile;

	*r = (struct request){ .who = { .door = q->door ? q->door : "api",
				       .subject_id = q->principal ? q->principal : c->who.principal,
				       .session = q->session,
				       .known = facts_of(c, q) },
		.what = { .tool = q->tool,
			.action = q->action ? q->action : q->tool,
			.proposal = proposal,
			.args = bytes_of(deed_sha256(c, q, input)),
			.params = input,
			.context = q->context,
			.effect_id = q->effect_id,
			.budget_id = q->budget_id,
			.draws = q->draws,
			.draw_count = q->draw_count,
			.preview = preview_of(c, q, input),
			.about = about_of(c, q) },
		.where = q->where ? q->where : &k->guard.at,
		.policy = policy_for(c, q),
		.placement = q->placement,
		.mode = GUARD_ENFORCE };
	if (q->refused) {
		r->at_least.action = ACTION_DENY;
		r->at_least.rule = q->refused;
		r->at_least.text = q->why;
	}
	int rc = workspace_default_profile(k->sys, c->a, k->ws, &profile, e);
	if (rc == OK)
		rc = profiles_get(&k->guard.profiles, profile, &r->profile, e);
	if (rc)
		return rc;
	propose_tool(c->a, r->where, &call, proposal);
	/* All that policies and people are shown, which may be more than the call as it is judged. */
	propose_check_document(c->a, "argument", q->args, proposal);
	propose_check_document(c->a, "context", q->context, proposal);
	propose_check_document(c->a, "draft", q->draft, proposal);
	*ret = r;
	return OK;
}

static const char *kept(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

/* A worker may close its kernel while a call is on its way: what its outcome tells about the decision becomes the call's own. */
static void keep(struct call *c, struct request *r, struct handling *h)
{
	struct profile *profile = arena_zalloc(c->a, 1, sizeof(*profile));

	profile->name = arena_strdup(c->a, r->profile->name);
	if (r->profile->terms) {
		struct terms *terms = arena_zalloc(c->a, 1, sizeof(*terms));
		terms->skill = kept(c->a, r->profile->terms->skill);
		profile->terms = terms;
	}
	r->profile = profile;
	r->where = NULL;
	h->decision.profile = profile;
	h->decision.detail_code = kept(c->a, h->decision.detail_code);
	h->decision.summary = kept(c->a, h->decision.summary);
}

/* How it went on record, told to whoever asked and whoever counts. */
static int recorded(struct call *c, struct request *r, struct handling *h, int rc, struct err *e)
{
	if (rc && r->what.draw_count && text_eq(e->code, "DRAW_REFUSED"))
		return rc; /* somebody else was answered meanwhile: the route knows what to say */
	if (rc) {
		__atomic_add_fetch(&c->server->count.errors, 1, __ATOMIC_RELAXED);
		log_line(c->server, "error", c, "%s: %s", e->code, e->text);
		call_send_header(c, "Retry-After", "1");
		return call_refuse(c, e, 503, "RECEIPT_UNAVAILABLE",
			"the decision could not be recorded, so there is none");
	}
	count(c, h);
	keep(c, r, h);
	return OK;
}

int decide_run(struct call *c, struct request *r, struct handling *h, struct err *e)
{
	r->what.pdp = points_ask(c, r, r->what.about);
	return recorded(c, r, h, call_handle(c, r, h, e), e);
}

int decide_tool(struct call *c, const struct tool_question *q, struct handling *h, struct err *e)
{
	struct request *r;
	int rc = decide_prepare(c, q, &r, e);

	return rc ? rc : decide_run(c, r, h, e);
}

/* A decision on its way to the disk, and what follows. */
struct following {
	struct request *r;
	struct handling h;
	decide_then *then;
	void *arg;
};

static int follow(struct call *c, int rc, void *arg, struct err *e)
{
	struct following *f = arg;

	rc = recorded(c, f->r, &f->h, rc, e);
	if (rc == OK)
		f->then(c, &f->h, f->arg);
	return rc;
}

int decide_tool_then(
	struct call *c, const struct tool_question *q, decide_then *then, void *arg, struct err *e)
{
	struct following *f = arena_zalloc(c->a, 1, sizeof(*f));
	int rc = decide_prepare(c, q, &f->r, e);

	if (rc)
		return rc;
	f->h.a = c->a;
	f->then = then;
	f->arg = arg;
	f->r->what.pdp = points_ask(c, f->r, f->r->what.about);
	return call_handle_then(c, f->r, &f->h, follow, f, e);
}

int call_principal(struct call *c, const char *said, const char **ret, struct err *e)
{
	*ret = said;
	if (!*said || text_eq(said, c->who.principal) || c->who.scopes & (SCOPE_ADMIN | SCOPE_SERVICE))
		return OK;
	return call_refuse(c, e, 403, "FORBIDDEN",
		"this key does not belong to the principal '%s', and only one with the scope admin or service asks for others",
		said);
}

int call_record(struct call *c, const struct draft *d, struct json **ret_receipt, struct err *e)
{
	(void)call_hold(c);
	int rc = recorder_group_append(c->server->group, c->a, d, 1, ret_receipt, e);

	call_recorded(c, rc, e);
	if (rc == OK || text_eq(e->code, "DRAW_REFUSED"))
		return rc;
	log_line(c->server, "error", c, "%s: %s", e->code, e->text);
	call_send_header(c, "Retry-After", "1");
	return call_refuse(
		c, e, 503, "RECEIPT_UNAVAILABLE", "it could not be recorded, so it did not happen");
}

int call_context_add(
	struct call *c, struct json *context, const char *name, const struct json *value, struct err *e)
{
	const struct json *there = json_get(context, name);

	if (!value)
		return OK;
	if (there && !json_eq(there, value))
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"%s is there twice, once in the context, and differs", name);
	json_set(c->a, context, name, json_copy(c->a, value));
	return OK;
}

struct json *decision_json(struct call *c, const struct handling *h)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const struct json *receipt = h->decision_receipt;
	const struct reason *reason = h->verdict == V_ALLOW ? NULL : reason_get(h->decision.reason_code);

	json_setb(c->a, doc, "allow", h->verdict == V_ALLOW);
	json_sets(c->a, doc, "verdict", verdict_name(h->verdict));
	json_sets(c->a, doc, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	json_sets(c->a, doc, "decision_id", h->decision_id);
	json_sets(c->a, doc, "decision_hash", json_get_text(receipt, "output_hash", ""));
	json_sets(c->a, doc, "reason_code", reason ? reason->code : "");
	json_sets(c->a, doc, "reason",
		!reason			      ? ""
			: h->decision.summary ? h->decision.summary
					      : reason->meaning);
	json_sets(c->a, doc, "policy_ref", json_get_text(receipt, "policy_hash", ""));
	json_seti(c->a, doc, "lamport_clock", json_get_int(receipt, "lamport_clock", 0));
	if (h->decision.detail_code)
		json_sets(c->a, doc, "rule", h->decision.detail_code);
	if (h->question && h->is_question_kept)
		json_sets(c->a, doc, "approval_id", json_get_text(h->question, "approval_id", ""));
	return doc;
}
