/* forward.c — a request on its way to a vendor: who asks, may it be sent, and by which way. */
#include "base/hash.h"
#include "base/text.h"
#include "decide/engine/engine.h"
#include "kernel/policy/policy.h"
#include "serve/proxy/parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- refusing ---- */

void refuse_call(struct call *c, const struct form *form, const struct refusal *r)
{
	/* Headers are sent later than they are said. */
	call_send_header(c, "X-Helm-Status", arena_strdup(c->a, r->kind));
	call_send_header(c, "X-Helm-Reason-Code", arena_strdup(c->a, r->code));
	if (r->receipt_id)
		call_send_header(c, "X-Helm-Receipt-ID", arena_strdup(c->a, r->receipt_id));
	if (r->decision_id)
		call_send_header(c, "X-Helm-Decision-ID", arena_strdup(c->a, r->decision_id));
	call_answer(c, r->status, form->error(c->a, r));
}

/* What went wrong before anything was decided, in the shape of the vendor. */
static int refuse_early(struct call *c, const struct form *form, const struct err *e)
{
	struct refusal r = { .status = c->status ? c->status : 503,
		.kind = c->status == 401 ? "UNAUTHENTICATED" : "GOVERNANCE_ERROR",
		.code = c->status ? e->code : "GOVERNANCE_ERROR",
		.message = c->status ? e->text : "it could not be decided, so it was not sent",
		.correlation_id = c->correlation_id };

	if (!c->status)
		log_line(c->server, "error", c, "%s: %s", e->code, e->text);
	refuse_call(c, form, &r);
	return OK;
}

/* ---- who asks ---- */

static const char *token_of(struct call *c)
{
	static const char bearer[] = "Bearer ";
	const char *own = call_header(c, "X-Helm-Key"), *key = call_header(c, "x-api-key"),
		   *given = call_header(c, "Authorization");

	if (own)
		return own;
	if (given && strncasecmp(given, bearer, strlen(bearer)) == 0)
		given += strlen(bearer);
	/* A program may send both; the one that is ours counts. */
	return given && text_starts(given, "helm_") ? given
		: key && text_starts(key, "helm_")  ? key
		: given				    ? given
						    : key;
}

static bool is_same(const char *x, const char *y)
{
	uint8_t a[SHA256_SIZE], b[SHA256_SIZE];
	unsigned char differ = 0;

	sha256(x, strlen(x), a);
	sha256(y, strlen(y), b);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		differ |= (unsigned char)(a[i] ^ b[i]);
	return !differ;
}

/* Any page that somebody has open can send requests to this machine, under its own name or one that it has made lead here. */
bool is_from_a_page(struct call *c)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	const char *host = call_header(c, "Host");
	size_t n = host ? strcspn(host, ":") : 0;
	bool is_ours = c->peer.is_local || !host;

	if (host && host[0] == '[' && strchr(host, ']'))
		n = (size_t)(strchr(host, ']') - host) + 1;
	for (size_t i = 0; host && i < ARRAY_SIZE(names); i++)
		is_ours |= strlen(names[i]) == n && strncasecmp(names[i], host, n) == 0;
	return call_header(c, "Origin") || call_header(c, "Sec-Fetch-Site") || !is_ours;
}

/* `helm serve`: every caller has a key, and it is for nobody else. */
bool is_of_the_boundary(const struct call *c)
{
	return !c->server->o.proxy;
}

static int identify(struct call *c, struct proxy *p, struct err *e)
{
	const char *token = token_of(c);

	c->who = (struct who){ p->principal, p->tenant, NULL, SCOPE_EVALUATE | SCOPE_READ };
	if (token && (text_starts(token, "helm_") || is_of_the_boundary(c))) {
		int rc = auth_token(c, token, e);
		if (rc == OK && !(c->who.scopes & SCOPE_EVALUATE))
			rc = call_refuse(c, e, 403, "FORBIDDEN", "this key has not the scope evaluate");
		return rc;
	}
	if (p->client_token && token && is_same(token, p->client_token))
		return OK;
	bool is_needed =
		p->needs_token || is_of_the_boundary(c) || (!c->peer.is_loopback && !c->peer.is_local);
	if (!is_needed && is_from_a_page(c))
		return call_refuse(c, e, 403, "FORBIDDEN",
			"this comes from a page in a browser, or by another name than this machine's: a key of Helm is needed");
	if (is_needed)
		return call_refuse(c, e, 401, "UNAUTHENTICATED",
			"a key of Helm is needed as API key ('helm serve key add' makes one)");
	return OK;
}

/* ---- may it be sent ---- */

/* A closed policy that has no rule about requests is one about calls of tools. */
static bool speaks_of_requests(const struct ruleset *rules)
{
	struct ruleset_rule r;

	if (text_eq(json_get_text(ruleset_document(rules), "coverage", "closed"), "open"))
		return true;
	for (size_t i = 0; ruleset_rule(rules, i, &r); i++)
		json_each (action, json_get(r.document, "actions")) {
			const char *word = json_text(action);
			if (word && text_glob(word, "LLM_INFERENCE", false))
				return true;
		}
	return false;
}

static struct json *request_params(
	struct call *c, struct proxy *p, const struct asked *q, const struct upstream *u)
{
	struct json *o = json_new(c->a, JSON_OBJECT), *found = json_new(c->a, JSON_OBJECT),
		    *tools = json_new(c->a, JSON_ARRAY);
	const struct json *price = budget_price(p, u->provider, q->model);
	const struct usage most = { true, q->input_tokens, q->output_tokens, 0 };

	json_sets(c->a, o, "provider", u->provider);
	json_sets(c->a, o, "model", q->model);
	json_sets(c->a, o, "upstream", u->id);
	json_sets(c->a, o, "wire", q->form->name);
	json_seti(c->a, o, "bytes", q->bytes);
	json_seti(c->a, o, "input_tokens", q->input_tokens);
	json_seti(c->a, o, "output_tokens", q->output_tokens);
	if (price)
		json_seti(c->a, o, "estimated_cost_cents", (budget_cost(price, &most) + 999999) / 1000000);
	for (size_t i = 0; i < PRIVACY_LABEL_COUNT; i++)
		json_seti(c->a, found, privacy_label_name((enum privacy_label)i), (int64_t)q->findings[i]);
	json_set(c->a, o, "findings", found);
	for (size_t i = 0; i < q->tool_n; i++)
		json_pushs(c->a, tools, q->tools[i].name);
	json_set(c->a, o, "tools", tools);
	return o;
}

struct json *proxy_about(struct arena *a, const struct tx *t)
{
	struct json *about = json_new(a, JSON_OBJECT), *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, "model", t->asked.model);
	json_sets(a, o, "upstream", t->up->id);
	json_sets(a, o, "provider", t->up->provider);
	json_sets(a, o, "wire", t->asked.form->name);
	json_sets(a, o, "correlation_id", t->c->correlation_id);
	if (t->p->is_observing)
		json_sets(a, o, "mode", "observe");
	if (t->decision_id)
		json_sets(a, o, "request", t->decision_id);
	json_set(a, about, "proxy", o);
	return about;
}

/* What the configuration itself says against it; NULL: nothing. */
static const char *objection(const struct tx *t, struct err *e)
{
	const struct asked *q = &t->asked;
	const struct proxy *p = t->p;
	bool is_unnamed = p->models && !*q->model && q->form != &form_other;

	if (is_unnamed || !upstream_is_allowed(p, t->up, q->model)) {
		(void)err_set(e, E_DENIED, "ERR_SPEND_MODEL_NOT_ALLOWED",
			"the model '%s' of %s is not allowed here", q->model, t->up->provider);
		return "proxy.model";
	}
	for (size_t i = 0; i < PRIVACY_LABEL_COUNT; i++)
		if (p->refuse & 1u << i && q->findings[i] && !(p->redact & 1u << i)) {
			(void)err_set(e, E_DENIED, "DATA_EGRESS_BLOCKED",
				"the request holds what may not leave: %s, %zu times",
				privacy_label_name((enum privacy_label)i), q->findings[i]);
			return "proxy.privacy";
		}
	for (size_t i = 0; i < q->tool_n; i++) {
		const char *pin = json_get_text(p->pins, q->tools[i].name, NULL);
		if (pin && !text_eq(pin, q->tools[i].sha256)) {
			(void)err_set(e, E_DENIED, "SCHEMA_DRIFT_DETECTED",
				"the definition of the tool '%s' is not the one that was pinned (it is %s now)",
				q->tools[i].name, q->tools[i].sha256);
			return "proxy.pin";
		}
	}
	return NULL;
}

static int say_no(struct call *c, const struct tx *t, const struct handling *h, const struct err *why,
	const char *kind, int status, const struct json *left, const char *const *tools, size_t tool_n)
{
	const struct reason *reason = reason_get(h->decision.reason_code);
	struct refusal r = { .status = status,
		.kind = kind,
		.code = why ? why->code : reason->code,
		.message = why		      ? why->text
			: h->decision.summary ? h->decision.summary
					      : reason->meaning,
		.tools = tools,
		.tool_n = tool_n,
		.correlation_id = c->correlation_id,
		.receipt_id = json_get_text(h->decision_receipt, "receipt_id", NULL),
		.decision_id = h->decision_id,
		.left = left };

	if (h->question && h->is_question_kept) {
		r.approval_id = json_get_text(h->question, "approval_id", NULL);
		r.message = arena_printf(c->a, "%s Ask somebody to approve it: helm approval approve %s",
			r.message, r.approval_id);
	}
	refuse_call(c, t->asked.form, &r);
	return OK;
}

/* Tools that the vendor carries out never come back to be decided about: that is done now.  *ret_is_sent false: it was refused, and c has the answer. */
static int decide_vendor_tools(struct call *c, struct tx *t, bool *ret_is_sent, struct err *e)
{
	const struct asked *q = &t->asked;

	for (size_t i = 0; i < q->tool_n; i++) {
		const struct offered_tool *o = &q->tools[i];
		struct handling h = { .a = c->a };
		if (!o->is_vendors)
			continue;
		struct tool_question ask = { .tool = o->name,
			.session = q->session,
			.args = o->entry,
			.context = call_context(c, NULL),
			.door = "proxy",
			.source = "proxy.vendor_tool",
			.effects = EFFECTS_ELSEWHERE,
			.refused = govern_lacks_policy(c) ? "proxy.no_policy" : NULL,
			.why = NO_POLICY_TEXT,
			.about = proxy_about(c->a, t) };
		int rc = decide_tool(c, &ask, &h, e);
		if (rc)
			return rc;
		if (h.verdict != V_ALLOW && !t->p->is_observing) {
			*ret_is_sent = false;
			return say_no(c, t, &h, NULL, "DENIED", 403, NULL, &o->name, 1);
		}
	}
	return OK;
}

/* By the policies that speak about requests, by budgets and by what the configuration says; on record before anything is sent. */
static int decide_request(struct call *c, struct tx *t, bool *ret_is_sent, struct err *e)
{
	struct handling h = { .a = c->a };
	const struct asked *q = &t->asked;
	const struct ruleset *rules = call_policy(c);
	struct json *left = NULL, *about = proxy_about(c->a, t);
	struct err why = { 0 };
	struct tool_question ask = { .tool = *q->model ? q->model : c->path,
		.action = "LLM_INFERENCE",
		.session = q->session,
		.args = request_params(c, t->p, q, t->up),
		.context = call_context(c, NULL),
		.door = "proxy",
		.source = "proxy.request",
		.effects = EFFECTS_ELSEWHERE,
		.is_without_policy = rules && !speaks_of_requests(rules),
		.about = about,
		.draft = json_string(
			c->a, sha256_hex(c->a, q->body.p ? (const char *)q->body.p : "", q->body.n)) };
	const char *kind = "DENIED";
	int status = 403;

	json_sets(c->a, json_get(about, "proxy"), "input_hash",
		sha256_prefixed(c->a, q->body.p ? (const char *)q->body.p : "", q->body.n));
	if (q->tools_sha256)
		json_sets(c->a, json_get(about, "proxy"), "tools_sha256", q->tools_sha256);
	if (q->is_redacted)
		json_seti(c->a, json_get(about, "proxy"), "redacted", 1);
	ask.refused = objection(t, &why);
	if (!ask.refused && budget_is_too_old(c, t->p, q->session)) {
		ask.refused = "proxy.wallclock";
		kind = "PROXY_WALLCLOCK_LIMIT";
		(void)err_set(&why, E_DENIED, kind, "this session is older than it may be");
	}
	if (!ask.refused && budget_draws(c, t->p, q, t->up, 0, &t->reserved, &left, &why))
		ask.refused = "proxy.budget";
	ask.why = why.text;
	if (!ask.refused) {
		ask.draws = t->reserved.draws;
		ask.draw_count = t->reserved.n;
	}
	int rc = decide_tool(c, &ask, &h, e);
	if (rc && text_eq(e->code, "DRAW_REFUSED")) {
		/* Somebody else took what was left. */
		(void)err_set(&why, E_DENIED, "BUDGET_EXCEEDED", "there is no room left in a budget");
		ask.refused = "proxy.budget";
		ask.why = why.text;
		ask.draw_count = 0;
		h = (struct handling){ .a = c->a };
		*e = (struct err){ 0 };
		rc = decide_tool(c, &ask, &h, e);
	}
	if (rc)
		return rc;
	t->decision_id = h.decision_id;
	t->receipt_id = json_get_text(h.decision_receipt, "receipt_id", "");
	t->policy_hash = json_get_text(h.decision_receipt, "policy_hash", "");
	t->args_hash = json_get_text(h.decision_receipt, "args_hash", "");
	t->receipt = h.decision_receipt;
	t->is_recorded = true;
	if (h.policy && h.verdict == V_ALLOW) {
		t->policy_draws = h.policy->draws;
		t->policy_draw_n = h.policy->draw_count;
	}
	/* Also where others were quicker, and where it is a budget of a policy. */
	if (h.verdict == V_DENY &&
		(ask.refused ? text_eq(ask.refused, "proxy.budget")
			     : h.decision.reason_code == REASON_BUDGET_EXCEEDED)) {
		status = 429;
		left = left ? left : budget_left(c, t->p, q);
	}
	if (h.verdict == V_ALLOW || (t->p->is_observing && status != 429))
		return OK;
	*ret_is_sent = false;
	return say_no(c, t, &h, ask.refused ? &why : NULL, kind, status, left, NULL, 0);
}

/* ---- sending ---- */

static int prepare(struct call *c, struct tx *t, bool *ret_is_sent, struct err *e)
{
	bool is_asking =
		!text_eq(c->method, "GET") && !text_eq(c->method, "HEAD") && !text_eq(c->method, "OPTIONS");
	const char *key = NULL;
	int rc = OK;

	*ret_is_sent = true;
	/* Before anything is held for a request that cannot be sent. */
	if (upstream_key(t->p, t->up, c->a, &key, e))
		return call_refuse(c, e, 502, "PROXY_KEY", "%s", arena_strdup(c->a, e->text));
	if (is_asking)
		rc = decide_vendor_tools(c, t, ret_is_sent, e);
	if (rc == OK && *ret_is_sent && is_asking)
		rc = decide_request(c, t, ret_is_sent, e);
	if (rc || !*ret_is_sent)
		return rc;
	t->url = upstream_url(c, t->up);
	t->headers = upstream_headers(c, t->asked.form, key);
	mask_begin(&t->mask, key);
	return OK;
}

static struct tx *new_tx(struct call *c, struct proxy *p)
{
	struct tx *t = calloc(1, sizeof(*t));

	if (!t)
		mem_exhausted(0);
	t->p = p;
	t->c = c;
	pthread_mutex_init(&t->lock, NULL);
	sha256_begin(&t->sent);
	t->sse.most_bytes = (size_t)p->hold_bytes;
	c->owner = t;
	c->drop = tx_free;
	return t;
}

int forward(struct call *c, struct err *e)
{
	struct proxy *p = c->server->proxy;
	const struct form *form = form_of_path(c->path);
	bool is_sent = false;
	int rc = identify(c, p, e);

	if (rc)
		return refuse_early(c, form, e);
	struct tx *t = new_tx(c, p);
	rc = request_read(c, p, &t->asked, e);
	if (rc)
		return refuse_early(c, form, e);
	t->up = upstream_for(p, t->asked.model);
	if (!t->up) {
		(void)call_refuse(
			c, e, 404, "PROXY_NO_UPSTREAM", "no upstream serves the model '%s'", t->asked.model);
		return refuse_early(c, form, e);
	}
	rc = prepare(c, t, &is_sent, e);
	if (rc)
		return refuse_early(c, form, e);
	if (is_sent)
		c->defer = tx_start;
	return OK;
}

int forward_again(struct call *c, struct err *e)
{
	struct tx *t = c->owner;
	bool is_sent = false;

	t->url = NULL;
	c->sent_count = 0;
	c->status = 0;
	t->up = t->up->fallback;
	int rc = prepare(c, t, &is_sent, e);
	if (rc)
		return refuse_early(c, t->asked.form, e);
	if (!is_sent)
		t->url = NULL;
	return OK;
}
