/* govern.c — calls of tools, decided by the kernel; an answer that came whole; what became of a request.  Run by workers.
 *
 * Every call of an answer is decided, also after one was refused, so that the record has all of them.  An error on the way means that nothing may leave. */
#include "base/schema.h"
#include "base/text.h"
#include "decide/engine/engine.h"
#include "kernel/policy/policy.h"
#include "proof/preimage.h"
#include "serve/proxy/parts.h"

#include <string.h>

bool govern_lacks_policy(struct call *c)
{
	return !call_policy(c) && !policy_is_in_use(c->k->sys, c->k->ws);
}

/* ---- one call ---- */

static const char *joined(struct arena *a, const struct json *lines)
{
	struct buf text;

	buf_init(&text, a);
	json_each (line, lines)
		buf_addf(&text, "%s%s", text.n ? "\n" : "",
			json_text(line) ? json_text(line) : "\"$unknown\"");
	return text.p;
}

/* What a call of a type of its own does, in the words of a tool that everybody knows. */
static void understand(struct arena *a, const struct tool_use *u, struct tool_question *q)
{
	const struct json *action = json_get(u->input, "action"),
			  *operation = json_get(u->input, "operation");
	const char *type = u->type ? u->type : "";
	struct json *input = json_new(a, JSON_OBJECT);

	q->as_input = input;
	if (text_eq(type, "local_shell_call")) {
		q->as = "shell";
		if (json_get(action, "command"))
			json_set(a, input, "command", json_copy(a, json_get(action, "command")));
		if (json_get(action, "working_directory"))
			json_set(a, input, "workdir", json_copy(a, json_get(action, "working_directory")));
	} else if (text_eq(type, "shell_call")) {
		q->as = "shell";
		json_sets(a, input, "command", joined(a, json_get(action, "commands")));
	} else if (text_eq(type, "apply_patch_call")) {
		q->as = text_eq(json_get_text(operation, "type", ""), "delete_file") ? "delete_file"
										     : "write_file";
		json_sets(a, input, "path", json_get_text(operation, "path", ""));
	} else if (text_eq(type, "mcp_call") || text_eq(type, "mcp_approval_request")) {
		q->as = arena_printf(a, "mcp__%s__%s", json_get_text(u->item, "server_label", ""), u->name);
		q->as_input = u->input;
	} else if (text_eq(type, "server_tool_use") || text_eq(type, "web_search_call") ||
		text_eq(type, "file_search_call") || text_eq(type, "code_interpreter_call") ||
		text_eq(type, "image_generation_call") || text_eq(type, "tool_search_call")) {
		q->effects = EFFECTS_ELSEWHERE; /* the vendor does it */
	} else {
		q->as_input = NULL;
	}
}

/* Does it fit what was offered?  A schema that is not understood says nothing. */
static const char *schema_fault(struct call *c, const struct asked *q, const struct tool_use *u)
{
	struct schema *schema;
	struct err e = { 0 };

	for (size_t i = 0; i < q->tool_n; i++) {
		const struct offered_tool *o = &q->tools[i];
		if (!o->schema || !text_eq(o->name, u->name) || u->is_text)
			continue;
		if (schema_compile(c->a, o->schema, "the tool's schema", &schema, &e))
			return NULL;
		return schema_check(schema, u->input, &e) ? arena_strdup(c->a, e.text) : NULL;
	}
	return NULL;
}

static struct json *about_call(struct call *c, const struct tx *t, const struct tool_use *u)
{
	struct json *about = proxy_about(c->a, t), *o = json_get(about, "proxy");

	if (u->id)
		json_sets(c->a, o, "call_id", u->id);
	if (u->type)
		json_sets(c->a, o, "call_type", u->type);
	if (u->input)
		json_sets(c->a, o, "args_sha256", json_sha256(c->a, u->input) + strlen("sha256:"));
	return about;
}

static struct json *facts_of(struct call *c, const struct tx *t, const struct tool_use *u)
{
	struct json *known = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, known, "model", t->asked.model);
	json_sets(c->a, known, "provider", t->up->provider);
	if (json_get_text(u->item, "server_label", NULL))
		json_sets(c->a, known, "mcp_server", json_get_text(u->item, "server_label", ""));
	if (t->asked.taint)
		json_set(c->a, known, "taint", json_copy(c->a, t->asked.taint));
	return known;
}

/* Everything about one call: what to say in its place, NULL when it is allowed.  The first refusal of an answer is the one that is told. */
static int decide_call(struct call *c, struct tx *t, const struct tool_use *u, const char *refused,
	const struct err *limit, const struct held *draws, const char **ret_why, struct err *e)
{
	struct handling h = { .a = c->a };
	const char *fault = t->x.fault ? t->x.fault
		: u->fault	       ? u->fault
		: u->input	       ? schema_fault(c, &t->asked, u)
				       : "it is not complete";
	struct tool_question q = { .tool = u->name && *u->name ? u->name : "unknown_tool",
		.session = t->asked.session,
		.args = u->input,
		.context = call_context(c, NULL),
		.door = "proxy",
		.source = "proxy.call",
		.known = facts_of(c, t, u),
		.about = about_call(c, t, u) };

	if (fault) {
		q.refused = "proxy.invalid_call";
		q.why = fault;
	} else if (refused) {
		q.refused = refused;
		q.why = limit->text;
	} else if (govern_lacks_policy(c)) {
		q.refused = "proxy.no_policy";
		q.why = NO_POLICY_TEXT;
	}
	if (u->input)
		understand(c->a, u, &q);
	if (draws && !q.refused) {
		q.draws = draws->draws;
		q.draw_count = draws->n;
	}
	int rc = decide_tool(c, &q, &h, e);
	if (rc)
		return rc;
	t->receipt = h.decision_receipt;
	if (!t->ruling.receipt_id) {
		t->ruling.receipt_id = json_get_text(h.decision_receipt, "receipt_id", NULL);
		t->ruling.decision_id = h.decision_id;
	}
	*ret_why = NULL;
	if (h.verdict == V_ALLOW)
		return OK;
	const struct reason *reason = reason_get(h.decision.reason_code);
	struct refusal *r = &t->ruling.refusal;
	const char *text = h.decision.summary ? h.decision.summary : reason->meaning;
	const char *approval =
		h.question && h.is_question_kept ? json_get_text(h.question, "approval_id", NULL) : NULL;
	const char *own = refused && limit ? arena_strdup(c->a, limit->code) : NULL;
	const char *code = fault ? "PEP_VALIDATION_FAILED" : own ? own : reason->code;
	*ret_why = arena_printf(c->a, "[helm] The call of %s was not carried out: it was %s (%s). %s%s%s",
		q.tool, h.verdict == V_ESCALATE ? "not approved" : "not allowed", code, q.why ? q.why : text,
		approval ? " To have it approved: helm approval approve " : "", approval ? approval : "");
	if (r->status)
		return OK;
	bool is_budget = own
		? text_starts(own, "BUDGET_")
		: !fault && h.verdict == V_DENY && h.decision.reason_code == REASON_BUDGET_EXCEEDED;
	*r = (struct refusal){ .status = is_budget ? 429 : 403,
		.kind = fault				    ? "PEP_VALIDATION_FAILED"
			: own && text_starts(own, "PROXY_") ? own
							    : "DENIED",
		.code = code,
		.message = *ret_why,
		.correlation_id = c->correlation_id,
		.receipt_id = json_get_text(h.decision_receipt, "receipt_id", NULL),
		.decision_id = h.decision_id,
		.approval_id = approval };
	return OK;
}

/* ---- all calls that are held ---- */

/* Rounds, calls and time; what does not fit refuses all of them. */
static const char *limits_of(struct call *c, struct tx *t, struct held *draws, struct err *why)
{
	struct json *left = NULL;

	if (budget_is_too_old(c, t->p, t->asked.session)) {
		(void)err_set(why, E_DENIED, "PROXY_WALLCLOCK_LIMIT", "this session is older than it may be");
		return "proxy.wallclock";
	}
	if (budget_draws(c, t->p, &t->asked, t->up, t->x.n ? t->x.n : 1, draws, &left, why) == OK)
		return NULL;
	return text_eq(why->code, "PROXY_ITERATION_LIMIT") ? "proxy.iterations" : "proxy.budget";
}

/* An answer of which nobody can say what it holds has one decision: no. */
static int decide_unreadable(struct call *c, struct tx *t, struct err *e)
{
	struct tool_use u = { .key = "", .name = "unreadable_answer" };
	const char *why;

	return decide_call(c, t, &u, NULL, NULL, NULL, &why, e);
}

static int decide_all(struct call *c, struct tx *t, struct err *e)
{
	struct assembly *x = &t->x;
	struct ruling *r = &t->ruling;
	const char **why = arena_zalloc(c->a, x->n + 1, sizeof(*why));
	const char **names = arena_zalloc(c->a, x->n + 1, sizeof(*names));
	struct held draws;
	struct err limit = { 0 };
	size_t denied = 0;
	int rc = OK;

	*r = (struct ruling){ .why = NULL };
	const char *refused = limits_of(c, t, &draws, &limit);
	for (size_t i = 0; i < x->n && rc == OK; i++) {
		rc = decide_call(c, t, &x->calls[i], refused, &limit, i ? NULL : &draws, &why[i], e);
		if (rc && text_eq(e->code, "DRAW_REFUSED")) {
			(void)err_set(
				&limit, E_DENIED, "BUDGET_EXCEEDED", "there is no room left in a budget");
			refused = "proxy.budget";
			*e = (struct err){ 0 };
			rc = decide_call(c, t, &x->calls[i], refused, &limit, NULL, &why[i], e);
		}
		if (rc == OK && why[i])
			names[denied++] =
				arena_strdup(c->a, x->calls[i].name ? x->calls[i].name : "unknown_tool");
	}
	if (rc == OK && x->fault && !x->n)
		rc = decide_unreadable(c, t, e);
	if (rc)
		return rc;
	t->calls += x->n;
	t->denied += denied;
	r->is_allowed = (!denied && !x->fault) || t->p->is_observing;
	r->why = denied ? why : NULL;
	r->refusal.tools = names;
	r->refusal.tool_n = denied;
	r->is_made = true;
	return OK;
}

int govern_calls(struct call *c, struct err *e)
{
	return decide_all(c, c->owner, e);
}

/* ---- what became of it ---- */

static struct json *happened(struct call *c, struct tx *t, int64_t micro)
{
	struct json *about = proxy_about(c->a, t), *o = json_get(about, "proxy");

	json_sets(c->a, o, "output_hash", tx_digest(t, c->a));
	json_sets(c->a, o, "status", t->kind);
	json_seti(c->a, o, "http_status", t->status);
	json_seti(c->a, o, "tool_calls", (int64_t)t->calls);
	json_seti(c->a, o, "denied_calls", (int64_t)t->denied);
	if (t->x.usage.is_known) {
		json_seti(c->a, o, "input_tokens", t->x.usage.input);
		json_seti(c->a, o, "output_tokens", t->x.usage.output);
		json_seti(c->a, o, "cached_tokens", t->x.usage.cached);
	}
	if (micro >= 0) {
		json_seti(c->a, o, "cost_micro_cents", micro);
		json_sets(c->a, o, "prices_sha256", t->p->prices_sha256);
	}
	json_sets(c->a, about, "tenant", c->who.tenant);
	json_sets(c->a, about, "source", "proxy.outcome");
	json_sets(c->a, about, "door", "proxy");
	json_sets(c->a, about, "session", t->asked.session);
	return about;
}

/* Money that a policy holds is settled in its own unit. */
static const struct draw_settled *settles_of(struct call *c, const struct tx *t, int64_t micro, size_t *ret_n)
{
	struct draw_settled *own =
		budget_settle(c->a, &t->reserved, &t->x.usage, micro < 0 ? 0 : micro, t->is_unsent, ret_n);
	struct draw_settled *all = arena_zalloc(c->a, *ret_n + t->policy_draw_n + 1, sizeof(*all));

	memcpy(all, own, *ret_n * sizeof(*all));
	for (size_t i = 0; i < t->policy_draw_n; i++) {
		const struct draw *d = &t->policy_draws[i];
		if (d->is_held)
			all[(*ret_n)++] = (struct draw_settled){ d->kind, d->key, d->window_us,
				t->is_unsent				    ? 0
					: micro >= 0 && t->x.usage.is_known ? (micro + 999999) / 1000000
									    : d->amount };
	}
	return all;
}

int govern_outcome(struct call *c, struct err *e)
{
	struct tx *t = c->owner;
	const struct json *price = budget_price(t->p, t->up->provider, t->asked.model);
	int64_t micro = price && t->x.usage.is_known ? budget_cost(price, &t->x.usage) : -1;
	struct json *receipt = NULL;

	if (!t->is_recorded)
		return OK;
	struct json *about = happened(c, t, micro);
	struct draft d = { .receipt_id = arena_printf(c->a, "rcpt_%s_outcome", t->decision_id),
		.decision_id = t->decision_id,
		.effect_id = "LLM_INFERENCE",
		.status = t->kind,
		.verdict = "ALLOW",
		.reason_code = t->code,
		.policy_hash = t->policy_hash,
		.args_hash = t->args_hash,
		.output_hash = json_sha256(c->a, about),
		.executor_id = c->who.principal,
		.correlation_id = t->asked.session,
		.type = "outcome",
		.tool_name = *t->asked.model ? t->asked.model : c->path,
		.metadata = about };
	d.settles = settles_of(c, t, micro, &d.settle_count);
	int rc = call_record(c, &d, &receipt, e);
	if (rc == OK) {
		t->receipt = receipt;
		t->receipt_id = json_get_text(receipt, "receipt_id", "");
		t->is_recorded = false; /* once */
	}
	return rc;
}

/* ---- an answer that came whole ---- */

/* What a client can read about it without asking: the names that the SDKs know. */
static void send_headers(struct call *c, struct tx *t, const char *code)
{
	const struct json *r = t->receipt;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct err e = { 0 };

	call_send_header(c, "X-Helm-Receipt-ID", arena_strdup(c->a, json_get_text(r, "receipt_id", "")));
	call_send_header(c, "X-Helm-Decision-ID", arena_strdup(c->a, json_get_text(r, "decision_id", "")));
	call_send_header(c, "X-Helm-Output-Hash", tx_digest(t, c->a));
	call_send_header(c, "X-Helm-Lamport-Clock",
		arena_printf(c->a, "%lld", (long long)json_get_int(r, "lamport_clock", 0)));
	call_send_header(c, "X-Helm-Status", t->kind);
	call_send_header(c, "X-Helm-Reason-Code", code);
	if (r && receipt_chain_hash(c->a, r, digest, &e) == OK) {
		hex_encode(digest, sizeof(digest), hex);
		call_send_header(c, "X-Helm-ProofGraph-Node", arena_printf(c->a, "sha256:%s", hex));
	}
	call_send_header(c, "X-Helm-Signature", arena_strdup(c->a, json_get_text(r, "signature", "")));
	call_send_header(c, "X-Helm-Tool-Calls", arena_printf(c->a, "%zu", t->calls));
	if (is_of_the_boundary(c)) {
		call_send_header(c, "X-Helm-Verdict", t->denied ? "DENY" : "ALLOW");
		call_send_header(c, "X-Helm-Policy-Version",
			c->policy ? arena_strdup(c->a, ruleset_version(c->policy->rules)) : "");
		call_send_header(
			c, "X-Helm-Decision-Hash", arena_strdup(c->a, json_get_text(r, "output_hash", "")));
		call_send_header(c, "X-Helm-Governed", "true");
		call_send_header(c, "X-Helm-Model", t->asked.model);
	}
	if (c->trace.span_id[0])
		call_send_header(c, "traceparent",
			arena_printf(c->a, "00-%s-%s-%s", c->trace.trace_id, c->trace.span_id,
				c->trace.is_sampled ? "01" : "00"));
}

/* A file, events or a page: of lines that are JSON each is looked through, and none may hold a call. */
static bool has_no_calls(struct arena *a, struct bytes body)
{
	static const char data[] = "data:";
	struct bytes rest = body;

	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		struct arena_mark mark = arena_mark(a);
		if (line.n >= strlen(data) && memcmp(line.p, data, strlen(data)) == 0)
			line = (struct bytes){ line.p + strlen(data), line.n - strlen(data) };
		while (line.n && strchr(" \t\r", line.p[0]) && line.p[0])
			line = (struct bytes){ line.p + 1, line.n - 1 };
		struct json *doc;
		bool is_json = line.n && (line.p[0] == '{' || line.p[0] == '[');
		if (is_json && (json_parse(a, line, "line", NULL, &doc, NULL) || calls_alike(doc)))
			return false;
		arena_release(a, mark);
	}
	return true;
}

/* Is it one that speaks of calls?  A body that is no JSON passes only where no form of ours is expected, which is so of errors, too. */
static int read_whole(struct call *c, struct tx *t, struct json **ret, struct err *e)
{
	const struct json_limits limits = { .size_bytes = (size_t)t->p->answer_bytes };
	struct bytes body = bulk_bytes(&t->whole);

	*ret = NULL;
	if (!body.n)
		return OK;
	if (json_parse(c->a, body, "answer", &limits, ret, e) == OK)
		return OK;
	*ret = NULL;
	/* Frames of events in bytes are a way to tell calls that is not read here. */
	bool is_framed = t->c->type && strcasestr(t->c->type, "eventstream");
	bool may_be_other = t->asked.form == &form_other || t->status / 100 != 2;
	if (may_be_other && !is_framed && has_no_calls(c->a, body)) {
		*e = (struct err){ 0 };
		return OK;
	}
	form_fault(&t->x, arena_printf(&t->x.kept, "the answer cannot be read: %s", e->text));
	*e = (struct err){ 0 };
	return OK;
}

static void hash_answer(struct tx *t, struct bytes body)
{
	pthread_mutex_lock(&t->lock);
	sha256_begin(&t->sent);
	sha256_add(&t->sent, body.p ? (const void *)body.p : "", body.n);
	pthread_mutex_unlock(&t->lock);
}

static int answer_refused(struct call *c, struct tx *t, struct json *doc, struct err *e)
{
	struct ruling *r = &t->ruling;
	bool may_rewrite = t->p->on_deny == DENY_REWRITE && doc && !t->x.fault && r->refusal.status != 429;

	if (may_rewrite) {
		form_settle(&t->x, r->why);
		may_rewrite = form_rewrite_whole(&t->x, c->a, doc);
	}
	t->kind = may_rewrite ? "REWRITTEN" : r->refusal.kind;
	t->code = r->refusal.code;
	if (may_rewrite) {
		struct buf text;
		buf_init(&text, c->a);
		json_write(&text, doc, 0);
		call_bytes(c, t->status, "application/json", buf_bytes(&text));
	} else {
		c->sent_count = 0;
		call_answer(c, r->refusal.status, t->asked.form->error(c->a, &r->refusal));
	}
	hash_answer(t, c->answer);
	int rc = govern_outcome(c, e);
	if (rc == OK)
		send_headers(c, t, t->code);
	return rc;
}

/* An error of the vendor's is a document of another kind, unless it looks like an answer. */
static bool is_answer(const struct tx *t, const struct json *doc)
{
	return t->status / 100 == 2 || calls_alike(doc) || json_get(doc, "choices") ||
		json_get(doc, "output") || json_is(json_get(doc, "content"), JSON_ARRAY);
}

/* An error of the vendor's that nobody can read: its status is passed on, for who tries again by it, and nothing else of it. */
static int answer_unreadable_error(struct call *c, struct tx *t, struct err *e)
{
	struct refusal r = { .status = t->status,
		.kind = "UPSTREAM_ERROR",
		.code = "UPSTREAM_ERROR",
		.message = arena_printf(c->a,
			"the upstream '%s' answered with status %d, and its text cannot be read", t->up->id,
			t->status),
		.correlation_id = c->correlation_id };

	t->is_unsent = true;
	t->kind = t->code = r.kind;
	call_answer(c, r.status, t->asked.form->error(c->a, &r));
	hash_answer(t, c->answer);
	int rc = govern_outcome(c, e);
	if (rc == OK)
		send_headers(c, t, t->code);
	t->ruling.is_made = rc == OK;
	return rc;
}

int govern_whole(struct call *c, struct err *e)
{
	struct tx *t = c->owner;
	struct json *doc;

	t->ruling = (struct ruling){ 0 };
	form_begin(&t->x, t->asked.form, t->asked.names);
	int rc = read_whole(c, t, &doc, e);
	if (rc == OK && t->x.fault && t->status / 100 != 2)
		return answer_unreadable_error(c, t, e);
	enum seen seen = rc == OK && doc && is_answer(t, doc) ? form_whole(&t->x, doc) : SEEN_PASS;
	if (rc == OK && (seen == SEEN_DECIDE || t->x.fault))
		rc = decide_all(c, t, e);
	else
		t->ruling.is_allowed = true;
	if (rc)
		return rc;
	if (!t->ruling.is_allowed) {
		rc = answer_refused(c, t, doc, e);
		t->ruling.is_made = rc == OK;
		return rc;
	}
	t->is_unsent = t->status / 100 != 2;
	t->kind = t->is_unsent ? "UPSTREAM_ERROR" : t->denied ? "OBSERVED" : "APPROVED";
	hash_answer(t, bulk_bytes(&t->whole));
	rc = govern_outcome(c, e);
	if (rc)
		return rc;
	c->status = t->status;
	c->answer = bulk_bytes(&t->whole);
	send_headers(c, t, "");
	t->ruling.is_made = true;
	return OK;
}
