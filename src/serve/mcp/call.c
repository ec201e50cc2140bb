/* call.c — one call of a tool: checked, decided, on record, made, and on record again.
 *
 * Nothing is sent before its decision is on disk, and only ALLOW is sent, or what a person's observe grant lets pass for a time, which is
 * labelled so.  What is not allowed is no error of the protocol: the answer says so to the model, with the reason and, where a
 * person can permit it, the id of the question. */
#include "serve/mcp/calling.h"

#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "privacy/privacy.h"
#include "proof/preimage.h"

#include <string.h>

enum { LOOK_US = 300000, PREVIEW = 300 };

static struct sys *sys_of(const struct flight *f)
{
	return f->g->server->sys;
}

static const char *client_of(const struct flight *f)
{
	const char *named = json_get_text(f->g->o, "client", NULL);

	return named ? named : f->guest->client[0] ? f->guest->client : "mcp";
}

/* ---- answers that are no ---- */

static struct json *decision_meta(struct flight *f, const struct calling *c)
{
	struct arena *a = &f->a;
	struct json *doc = json_new(a, JSON_OBJECT);
	const struct reason *reason = reason_get(c->h.decision.reason_code);

	json_sets(a, doc, "verdict", verdict_name(c->h.verdict));
	json_sets(a, doc, "reason_code", c->h.verdict == V_ALLOW ? "" : reason->code);
	json_sets(a, doc, "receipt_id", json_get_text(c->h.decision_receipt, "receipt_id", ""));
	json_sets(a, doc, "decision_id", c->h.decision_id);
	if (c->h.decision.detail_code)
		json_sets(a, doc, "rule", c->h.decision.detail_code);
	if (c->h.question && c->h.is_question_kept)
		json_sets(a, doc, "approval_id", json_get_text(c->h.question, "approval_id", ""));
	if (c->h.verdict != V_ALLOW)
		json_sets(a, doc, "remediation", reason->remedy);
	return doc;
}

/* A result that the model reads as a failure; without structured content, which clients check against the schema of a success. */
static struct json *failure(struct flight *f, const char *text, struct json *decision)
{
	struct arena *a = &f->a;
	struct json *result = result_text(a, text, true);

	if (decision) {
		struct json *meta = json_new(a, JSON_OBJECT);
		json_set(a, meta, "helm/decision", decision);
		json_set(a, result, "_meta", meta);
	}
	return result_of_era(f, result, false);
}

static const char *what_to_do(struct flight *f, const struct calling *c)
{
	if (c->h.question && c->h.is_question_kept) {
		const char *id = json_get_text(c->h.question, "approval_id", "");
		bool is_of_registry = c->said.action != ACTION_ALLOW;
		return arena_printf(&f->a,
			"A person can permit exactly this call once: helm approval approve %s%s%s.  Ask them, then make the same call again.",
			id, is_of_registry ? "; or the tool for good: helm mcp approve " : "",
			is_of_registry ? c->server : "");
	}
	return reason_get(c->h.decision.reason_code)->remedy;
}

static void deny(struct flight *f, const struct calling *c)
{
	const struct reason *reason = reason_get(c->h.decision.reason_code);
	const char *why = c->h.decision.summary ? c->h.decision.summary : reason->meaning;
	const char *id = json_get_text(c->h.decision_receipt, "receipt_id", "");

	flight_answer(f,
		failure(f,
			arena_printf(&f->a, "Access Denied: %s [%s, %s]  %s  (receipt: %s)", why,
				c->h.verdict == V_ESCALATE ? "ESCALATE" : "DENY", reason->code,
				what_to_do(f, c), receipt_id_short(&f->a, id)),
			decision_meta(f, c)));
}

/* ---- what is known before it is decided ---- */

/* Which tool, and what it was given.  False: the answer is there. */
static bool read_call(struct flight *f, struct calling *c)
{
	const struct json *params = f->rpc.params, *args = json_get(params, "arguments");

	c->exposed = json_get_text(params, "name", NULL);
	if (!c->exposed || (args && !json_is(args, JSON_OBJECT))) {
		flight_refuse(f, RPC_BAD_PARAMS,
			"PEP validation failed: name is a text, and arguments are an object");
		return false;
	}
	if (json_get(params, "task")) {
		flight_refuse(f, RPC_BAD_PARAMS, "tasks are not offered here; call it without 'task'");
		return false;
	}
	c->args = args ? json_copy(&f->a, args) : json_new(&f->a, JSON_OBJECT);
	c->row = tool_by_name(f, c->exposed, &c->server, &c->tool);
	if (c->row)
		return true;
	flight_refuse(f, RPC_BAD_PARAMS,
		arena_printf(&f->a, "Unknown tool: %.128s",
			text_safe(&f->a, c->exposed, strlen(c->exposed), false)));
	return false;
}

/* The definition as the server has it now.  False: the answer is there, or it is waited for. */
static bool find_tool(struct flight *f, struct calling *c)
{
	const char *state = mcp_state(c->row, sys_of(f)->now_us(sys_of(f)));
	bool is_over = text_eq(state, "revoked") || text_eq(state, "expired");
	const struct json *seen = NULL;
	char why[400];

	c->u = upstream_get(f->g, c->server, c->row);
	if (!is_over && !upstream_want(c->u, f))
		return false;
	struct offer *o = is_over ? NULL : upstream_offer(c->u, why);
	c->pinned = json_get(json_get(c->row, "tools"), c->tool);
	const struct json *now = o ? mcp_tool_in(o->tools, c->tool) : json_get(c->pinned, "definition");
	seen = now ? json_copy(&f->a, now) : NULL;
	if (o)
		offer_drop(c->u, o);
	const struct mcp_question q = { .server = c->server,
		.tool = c->tool,
		.row = c->row,
		.seen = seen,
		.args = c->args,
		.now_us = sys_of(f)->now_us(sys_of(f)) };
	c->definition = c->pinned ? json_get(c->pinned, "definition") : seen;
	if (!c->definition) {
		flight_refuse(f, RPC_BAD_PARAMS,
			arena_printf(&f->a, "Unknown tool: %.128s",
				text_safe(&f->a, c->exposed, strlen(c->exposed), false)));
		return false;
	}
	mcp_judge(&f->a, &q, &c->said);
	return true;
}

/* ---- the decision ---- */

static struct json *taint_of(struct flight *f)
{
	AUTO(arena_done)
	struct arena unbounded = { 0 }; /* f->a may run out, which must not happen under a lock */

	pthread_mutex_lock(&f->g->lock);
	struct json *copy = json_copy(&unbounded, f->guest->taint);
	pthread_mutex_unlock(&f->g->lock);
	return json_copy(&f->a, copy);
}

/* What the tool was when a person approved it, and what it is now. */
static struct json *pins_of(struct flight *f, const struct calling *c)
{
	struct json *pins = json_new(&f->a, JSON_OBJECT);
	const char *pinned = json_get_text(c->pinned, "schema_sha256", NULL);

	if (pinned)
		json_sets(&f->a, pins, "schema_version", pinned);
	if (c->said.pin.schema)
		json_sets(&f->a, pins, "presented_schema_version", c->said.pin.schema);
	return pins;
}

static struct json *known_of(struct flight *f, const struct calling *c)
{
	struct arena *a = &f->a;
	struct json *known = json_new(a, JSON_OBJECT);

	json_sets(a, known, "mcp_server", c->server);
	json_sets(a, known, "mcp_tool", c->tool);
	json_sets(a, known, "mcp_effect", c->said.effect);
	json_setb(a, known, "mcp_trusted", json_get_bool(c->row, "trusted", false));
	json_sets(a, known, "client", client_of(f));
	json_set(a, known, "taint", taint_of(f));
	json_set(a, known, "mcp_pins", pins_of(f, c));
	return known;
}

static struct json *about_of(struct flight *f, const struct calling *c)
{
	struct arena *a = &f->a;
	struct json *about = json_new(a, JSON_OBJECT);

	json_sets(a, about, "mcp_server_id", c->server);
	json_sets(a, about, "tool_effect", c->said.effect);
	json_sets(a, about, "schema_hash", c->said.pin.schema ? c->said.pin.schema : "");
	json_sets(a, about, "text_hash", c->said.pin.text);
	json_sets(a, about, "mcp_args_hash", json_sha256(a, c->args));
	json_sets(a, about, "client", client_of(f));
	const char *grant = mcp_observed(c->row, sys_of(f)->now_us(sys_of(f)));
	json_sets(a, about, "enforcement_mode", grant ? "shadow" : "enforce");
	if (grant)
		json_sets(a, about, "observe_grant_id", grant);
	return about;
}

/* What the registry says is one more voice: it makes the answer stricter, never milder. */
static void add_voice(struct calling *c, const char *bad_args)
{
	static const enum reason_code violation = REASON_SCHEMA_VIOLATION;
	struct request *r = c->r;

	for (size_t i = 0; i < r->what.proposal->effect_count; i++)
		if (r->what.proposal->effects[i].tag && text_eq(r->what.proposal->effects[i].tag, "mcp.call"))
			r->at_least.effect = &r->what.proposal->effects[i];
	if (bad_args) {
		r->at_least.action = ACTION_DENY;
		r->at_least.rule = "mcp.arguments_invalid";
		r->at_least.text = bad_args;
		r->at_least.code = &violation;
	} else if (c->said.action != ACTION_ALLOW) {
		r->at_least.action = c->said.action;
		r->at_least.rule = c->said.rule;
		r->at_least.text = c->said.text;
		r->at_least.code = &c->said.code;
	}
}

/* What a person reads: the tool and what it is given; the pins that a yes is bound to say nothing to anybody. */
static const char *preview_of(struct flight *f, const struct calling *c)
{
	struct json *shown = json_copy(&f->a, c->args);
	struct buf text;

	privacy_redact_json(&f->a, shown);
	buf_init(&text, &f->a);
	buf_addf(&text, "%s ", c->r->what.tool);
	json_write(&text, shown, 0);
	return text.p;
}

/* A command of ours looks at the command that it is given, and does nothing with it; files that it is given it reads. */
static struct json *judged_args(struct flight *f, const struct calling *c)
{
	struct json *judged = c->args;

	if (!c->u->is_own)
		return judged;
	judged = json_copy(&f->a, c->args);
	(void)json_remove(judged, "command");
	(void)json_remove(judged, "shell");
	return judged;
}

int calling_decide(struct flight *f, struct calling *c, const char *bad_args, struct err *e)
{
	struct arena *a = &f->a;
	struct json *bound = json_new(a, JSON_OBJECT);

	json_sets(a, bound, "schema_hash", c->said.pin.schema ? c->said.pin.schema : "");
	json_sets(a, bound, "text_hash", c->said.pin.text);
	if (c->u->is_own)
		json_set(a, bound, "args", c->args);
	struct surroundings *at = arena_alloc(a, sizeof(*at));
	*at = f->call.k->guard.at;
	mcp_surround(sys_of(f), a, c->row, f->call.k->ws->home, at);
	const struct tool_question q = { .tool = arena_printf(a, "mcp__%s__%s", c->server, c->tool),
		.action = "AGENT_TOOL_CALL",
		.where = at,
		.principal = c->principal,
		.session = f->guest->id,
		.args = judged_args(f, c),
		.draft = bound,
		.door = "mcp",
		.source = "mcp.gateway",
		.placement = mcp_placement(c->u->is_own ? NULL : c->row),
		.known = known_of(f, c),
		.about = about_of(f, c) };
	f->call.who.principal = f->guest->principal;
	f->call.who.tenant = f->guest->tenant;
	c->h = (struct handling){ .a = a };
	int rc = decide_prepare(&f->call, &q, &c->r, e);
	if (rc)
		return rc;
	c->r->what.preview = preview_of(f, c);
	add_voice(c, bad_args);
	return decide_run(&f->call, c->r, &c->h, e);
}

static struct json *new_row(struct flight *f, const struct calling *c, int64_t at_us)
{
	struct arena *a = &f->a;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "at", text_time_iso(a, at_us));
	json_sets(a, row, "client", client_of(f));
	json_sets(a, row, "session", f->guest->id);
	json_sets(a, row, "tool", c->r->what.tool);
	json_sets(a, row, "tool_use_id", c->h.decision_id);
	return row;
}

static struct json *decided_row(struct flight *f, const struct calling *c)
{
	struct arena *a = &f->a;
	struct json *row = new_row(f, c, c->h.decision.evaluated_us);
	const char *preview = c->r->what.preview;

	json_sets(a, row, "preview",
		arena_strndup(a, preview, strlen(preview) > PREVIEW ? PREVIEW : strlen(preview)));
	json_sets(a, row, "verdict", verdict_name(c->h.verdict));
	json_sets(a, row, "decision_id", c->h.decision_id);
	json_sets(a, row, "door", "mcp");
	json_sets(a, row, "containment", containment_name(c->h.decision.placement));
	if (c->h.decision.detail_code)
		json_sets(a, row, "rule", c->h.decision.detail_code);
	if (c->h.settled.by)
		json_sets(a, row, "settled_by", c->h.settled.by);
	if (c->h.question)
		json_sets(a, row, "approval_id", json_get_text(c->h.question, "approval_id", ""));
	return row;
}

/* Both halves of this call are in the chain: nobody has to wait until its rows are bound. */
static struct json *outcome_row(
	struct flight *f, const struct calling *c, const char *outcome, const char *digest)
{
	struct arena *a = &f->a;
	struct json *row = new_row(f, c, sys_of(f)->now_us(sys_of(f))), *signed_as = json_new(a, JSON_OBJECT);

	json_sets(a, row, "outcome", outcome);
	json_sets(a, row, "outcome_sha256", digest);
	json_sets(a, signed_as, "decision_id", c->h.decision_id);
	json_sets(a, signed_as, "verdict", verdict_name(c->h.verdict));
	json_set(a, row, "signed", signed_as);
	return row;
}

/* For the evening report; the receipt is what proves.  Each receipt waits for the rows before it to be on disk, so the two of a call that is made are
 * written together, behind its outcome: the next receipt binds both. */
void calling_note(struct flight *f, const struct calling *c, const char *outcome, const char *digest)
{
	struct kernel *k = f->call.k;
	const struct json *rows[2] = { decided_row(f, c),
		outcome ? outcome_row(f, c, outcome, digest) : NULL };
	struct err e = { 0 };

	if (ledger_notes(k->sys, &f->a, k->ws->state_fd, TOOL_CALLS, rows, outcome ? 2 : 1, &e))
		log_line(f->g->server, "warning", NULL, "%s", e.text);
}

/* What would have been said is on record before it goes on all the same.  A freeze and a pause stand above every grant, and no grant
 * is about arguments that were not understood. */
static int observe(struct flight *f, struct calling *c, struct err *e)
{
	struct arena *a = &f->a;
	const char *grant = mcp_observed(c->row, sys_of(f)->now_us(sys_of(f))),
		   *rule = c->h.decision.detail_code ? c->h.decision.detail_code : "";
	struct json *about = json_new(a, JSON_OBJECT), *receipt;

	if (!grant || c->h.verdict == V_ALLOW || text_eq(rule, FREEZE_RULE) || text_eq(rule, PAUSE_RULE) ||
		c->h.proposal.ambiguity == AMBIGUITY_DENIED)
		return OK;
	const char *receipt_id = json_get_text(c->h.decision_receipt, "receipt_id", "");
	json_sets(a, about, "would_have_verdict", verdict_name(c->h.verdict));
	json_sets(a, about, "observe_grant_id", grant);
	json_sets(a, about, "boundary_record_id", receipt_id);
	json_sets(a, about, "boundary_record_hash", json_get_text(c->h.decision_receipt, "output_hash", ""));
	json_sets(a, about, "mcp_server_id", c->server);
	json_sets(a, about, "enforcement_mode", "shadow");
	const struct draft d = { .receipt_id = arena_printf(a, "cf-%s", receipt_id),
		.decision_id = c->h.decision_id,
		.effect_id = c->r->what.action,
		.status = "COUNTERFACTUAL",
		.reason_code = reason_get(c->h.decision.reason_code)->code,
		.policy_hash = json_get_text(c->h.decision_receipt, "policy_hash", NULL),
		.args_hash = c->h.args_sha256,
		.executor_id = f->guest->principal,
		.correlation_id = f->guest->id,
		.type = "counterfactual",
		.tool_name = c->r->what.tool,
		.metadata = about };
	int rc = call_record(&f->call, &d, &receipt, e);
	if (rc == OK)
		c->grant = grant;
	return rc;
}

/* ---- waiting for a person ---- */

enum waiting { STILL_OPEN, SAID_YES, NO_YES };

/* Only a yes is a reason to decide again. */
static enum waiting look_for_answer(struct flight *f, const struct calling *c)
{
	struct sys *s = sys_of(f);
	struct json *entry;
	struct err e = { 0 };

	if (__atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST) || s->mono_us(s) >= c->wait_until_us ||
		approval_get(f->call.k, &f->a, c->approval, &entry, &e))
		return NO_YES;
	const char *state = request_state(entry, s->now_us(s));
	return text_eq(state, "pending") ? STILL_OPEN : text_eq(state, "approved") ? SAID_YES : NO_YES;
}

static bool waits(struct flight *f, struct calling *c)
{
	struct sys *s = sys_of(f);
	int64_t wait_s = json_get_int(c->row, "wait_s", 0);

	if (c->h.verdict != V_ESCALATE || !wait_s || !c->h.is_question_kept)
		return false;
	if (!c->wait_until_us)
		c->wait_until_us = s->mono_us(s) + wait_s * 1000000;
	if (s->mono_us(s) >= c->wait_until_us || __atomic_load_n(&f->is_cancelled, __ATOMIC_SEQ_CST))
		return false;
	c->approval = json_get_text(c->h.question, "approval_id", "");
	f->wake_us = s->mono_us(s) + LOOK_US;
	return true;
}

/* ---- there and back ---- */

void calling_taint(struct flight *f, const struct calling *c)
{
	struct guest *u = f->guest;
	const char *label = arena_printf(&f->a, "mcp:%s", c->server);

	if (json_get_bool(c->row, "trusted", false) || c->u->is_own)
		return;
	pthread_mutex_lock(&f->g->lock);
	bool is_new = true;
	json_each (one, u->taint)
		is_new &= !text_eq(json_text(one), label);
	if (is_new)
		json_pushs(&u->a, u->taint, label);
	pthread_mutex_unlock(&f->g->lock);
}

/* How it ended, in one word for the receipt. */
static const char *ending(const struct flight *f)
{
	return !f->trouble ? f->result && !json_get_bool(f->result, "isError", false) ? "COMPLETED" : "FAILED"
		: text_eq(f->trouble, "cancelled") ? "CANCELLED"
		: text_eq(f->trouble, "timeout")   ? "TIMED_OUT"
						   : "FAILED";
}

/* In the shape that the guest waits for. */
static void tell_failure(struct flight *f, const struct calling *c, const char *text)
{
	if (c->method)
		flight_refuse(f, RPC_INTERNAL, text);
	else
		flight_answer(f, failure(f, text, decision_meta(f, c)));
}

static void tell_guest(struct flight *f, struct calling *c)
{
	struct arena *a = &f->a;
	struct json *meta;

	if (f->error) {
		int64_t code = json_get_int(f->error, "code", RPC_INTERNAL);
		flight_refuse(f, (int)code,
			json_get_text(f->error, "message", "the server answered with an error"));
		if (json_get(f->error, "data"))
			json_set(a, json_get(f->answer, "error"), "data", json_get(f->error, "data"));
		return;
	}
	if (!f->result) {
		tell_failure(f, c,
			arena_printf(a, "The server '%s' did not answer: %s.", c->server,
				text_eq(f->trouble, "timeout") ? "it took too long" : f->trouble));
		return;
	}
	meta = json_get(f->result, "_meta");
	if (!json_is(meta, JSON_OBJECT) && !c->method) {
		meta = json_new(a, JSON_OBJECT);
		json_set(a, f->result, "_meta", meta);
	}
	if (!c->method)
		json_set(a, meta, "helm/decision", decision_meta(f, c));
	pass_rename(f, c);
	flight_answer(f, result_of_era(f, f->result, c->method != NULL));
}

int calling_outcome(struct flight *f, struct err *e)
{
	struct calling *c = f->state;
	struct arena *a = &f->a;
	struct json *happened = json_new(a, JSON_OBJECT);
	struct sys *s = sys_of(f);

	(void)call_hold(&f->call);
	json_seti(a, happened, "duration_ms", (s->mono_us(s) - c->sent_us) / 1000);
	const char *digest = f->result ? json_sha256(a, f->result)
		: f->error	       ? json_sha256(a, f->error)
				       : sha256_prefixed(a, "", 0);
	json_sets(a, happened, "result_sha256", digest);
	json_seti(a, happened, "result_bytes", (int64_t)f->result_bytes);
	if (f->result || f->error)
		result_check(f, c->row, c->method ? NULL : c->definition, happened);
	if (f->result && c->checked)
		c->checked(f, c, happened);
	if (f->trouble)
		json_sets(a, happened, "trouble", f->trouble);
	if (f->error)
		json_seti(a, happened, "error_code", json_get_int(f->error, "code", 0));
	const char *status = ending(f);
	int rc = kernel_outcome(f->call.k, c->r, &c->h, happened, status, e);
	calling_note(f, c, text_eq(status, "COMPLETED") ? "done" : "failed", digest);
	if (f->result || f->error)
		calling_taint(f, c);
	if (rc) {
		log_line(f->g->server, "error", NULL, "%s: %s", e->code, e->text);
		tell_failure(f, c,
			"The call was made, but what came of it could not be recorded; its result is held back.");
		return OK;
	}
	if (c->told)
		c->told(f, c);
	(c->tell ? c->tell : tell_guest)(f, c);
	return OK;
}

void calling_dispatch(struct flight *f, struct calling *c)
{
	struct arena *a = &f->a;
	struct sys *s = sys_of(f);

	f->params = c->method ? c->args : json_new(a, JSON_OBJECT);
	if (!c->method) {
		json_sets(a, f->params, "name", c->tool);
		json_set(a, f->params, "arguments", c->args);
	}
	f->method = c->method ? c->method : "tools/call";
	f->timeout_us = json_get_int(c->row, "timeout_s", MCP_TIMEOUT_S) * 1000000;
	f->step = calling_outcome;
	f->state = c;
	c->sent_us = s->mono_us(s);
	f->to = c->u->is_own ? NULL : c->u;
	/* Its word about its progress is read before its result. */
	if (f->progress_token || is_passed(c->row, "logging"))
		calling_taint(f, c);
	/* From here to its outcome there is no way back. */
	f->call.is_made = true;
	(void)call_hold(&f->call);
}

/* Helm's own tools are answered here; the rest of the way is the same. */
static int run_own(struct flight *f, struct calling *c, struct err *e)
{
	int rc = own_run(f, c->tool, c->args, e);

	if (rc)
		f->trouble = arena_strdup(&f->a, e->text);
	*e = (struct err){ 0 };
	return calling_outcome(f, e);
}

int step_call(struct flight *f, struct err *e)
{
	struct calling *c = f->state ? f->state : arena_zalloc(&f->a, 1, sizeof(*c));
	struct err bad = { 0 };

	enum waiting answer = c->approval ? look_for_answer(f, c) : SAID_YES;
	if (answer == STILL_OPEN)
		f->wake_us = sys_of(f)->mono_us(sys_of(f)) + LOOK_US;
	if (answer == NO_YES) {
		calling_note(f, c, NULL, NULL);
		deny(f, c);
	}
	if (answer != SAID_YES)
		return OK;
	if (!read_call(f, c) || !find_tool(f, c))
		return OK;
	bool is_bad = mcp_check_args(&f->a, c->definition, c->args, &bad) != OK;
	int rc = calling_decide(f, c, is_bad ? bad.text : NULL, e);
	if (rc)
		return rc;
	if (waits(f, c)) {
		f->state = c;
		return OK;
	}
	rc = is_bad ? OK : observe(f, c, e);
	if (rc)
		return rc;
	if (c->h.verdict != V_ALLOW && !c->grant) {
		calling_note(f, c, NULL, NULL);
		if (is_bad)
			flight_refuse(f, RPC_BAD_PARAMS,
				arena_printf(&f->a, "PEP validation failed: %s: %s", bad.code, bad.text));
		else
			deny(f, c);
		return OK;
	}
	calling_dispatch(f, c);
	return c->u->is_own ? run_own(f, c, e) : OK;
}
