/* gateway.c — this boundary as the decision point of others: Envoy's external authorization over HTTP, and AuthZEN (docs/formats/decision-points.md).
 *
 * Both are other words for the same question.  Only ALLOW is yes. */
#include "serve/http/http.h"

#include "base/text.h"

#include <string.h>

/* ---- Envoy ---- */

/* The path as rules compare it, decoded.  NULL: what stands behind the gateway could read it otherwise: an encoded or backward slash, an empty
 * segment, one of dots, a control character. */
static const char *one_way(struct arena *a, const char *raw)
{
	const char *path = path_decoded(a, raw, strlen(raw));

	if (!*raw)
		return "/";
	if (!path || strcasestr(raw, "%2f") || strchr(path, '\\') || strstr(path, "//"))
		return NULL;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return NULL;
	for (const char *p = path; *p; p += strcspn(p + 1, "/") + 1) {
		size_t dots = strspn(p + 1, "."), n = strcspn(p + 1, "/;");
		if (dots && dots <= 2 && dots == n)
			return NULL;
	}
	return path;
}

/* The request that a gateway asks about is this one: its method, the path behind the prefix, its host.  Neither query nor headers are judged or
 * kept: they hold secrets. */
static int check_request(struct call *c, struct err *e)
{
	static const char prefix[] = "/v1/extauthz";
	const char *host = call_header(c, "Host"), *raw = c->path + strlen(prefix),
		   *path = one_way(c->a, raw);
	struct json *params = json_new(c->a, JSON_OBJECT), *more;
	struct handling h = { .a = c->a };

	json_sets(c->a, params, "method", c->method);
	json_sets(c->a, params, "path", path ? path : raw);
	json_sets(c->a, params, "host", host ? host : "");
	int rc = decide_tool(c,
		&(struct tool_question){ .tool = "http_request",
			.action = "HTTP_REQUEST",
			.args = params,
			.context = call_context(c, NULL),
			.source = "api.extauthz",
			.refused = path ? NULL : "gateway:path",
			.why = "Its path can be read in two ways." },
		&h, e);
	if (rc)
		return rc;
	more = decision_json(c, &h);
	call_send_header(c, "X-Helm-Verdict", verdict_name(h.verdict));
	call_send_header(c, "X-Helm-Decision-ID", h.decision_id);
	call_send_header(c, "X-Helm-Receipt-ID", json_get_text(more, "receipt_id", ""));
	call_answer(c, h.verdict == V_ALLOW ? 200 : 403, more);
	return OK;
}

/* ---- AuthZEN ---- */

struct access {
	const struct json *subject, *action, *resource, *context;
};

/* Policies see all of it, so there is nothing that they could not: a member that is none of the four is refused. */
static int check_members(struct call *c, const struct json *one, struct err *e)
{
	static const char *const names[] = { "subject", "action", "resource", "context", "evaluations",
		"options" };

	if (!json_is(one, JSON_OBJECT))
		return call_refuse(c, e, 400, "BAD_REQUEST", "an evaluation is %s; it must be an object",
			json_type_name(one));
	json_each_member (m, one) {
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			is_known |= text_eq(m->name, names[i]);
		if (!is_known)
			return call_refuse(c, e, 400, "BAD_REQUEST",
				"an evaluation has no member '%s': what it is about stands in properties of subject, action and resource, or in context",
				m->name);
	}
	return OK;
}

static int read_access(struct call *c, const struct json *one, const struct json *fallback,
	struct access *ret, struct err *e)
{
	const struct json **to[] = { &ret->subject, &ret->action, &ret->resource, &ret->context };
	static const char *const names[] = { "subject", "action", "resource", "context" };
	static const char *const ids[] = { "id", "name", "id" };
	int rc = check_members(c, one, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		*to[i] = json_get(one, names[i]) ? json_get(one, names[i]) : json_get(fallback, names[i]);
		if (i < ARRAY_SIZE(ids) && !*json_get_text(*to[i], ids[i], ""))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s.%s must be there", names[i], ids[i]);
		if (i < ARRAY_SIZE(ids) && text_eq(ids[i], "id") && !*json_get_text(*to[i], "type", ""))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s.type must be there", names[i]);
		if (*to[i] && !json_is(*to[i], JSON_OBJECT))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s is no object", names[i]);
	}
	return OK;
}

static int judge_access(
	struct call *c, const struct access *q, struct json **ret, bool *ret_yes, struct err *e)
{
	const struct json *given = json_get(q->resource, "properties");
	struct json *params =
		json_is(given, JSON_OBJECT) ? json_copy(c->a, given) : json_new(c->a, JSON_OBJECT);
	const char *principal, *tool = json_get_text(q->action, "name", "");
	struct json *context = call_context(c, q->context);
	struct handling h = { .a = c->a };
	int rc = call_principal(c, json_get_text(q->subject, "id", ""), &principal, e);

	if (rc == OK)
		rc = call_context_add(c, context, "subject", q->subject, e);
	if (rc == OK)
		rc = call_context_add(c, context, "action", q->action, e);
	if (rc)
		return rc;
	json_sets(c->a, params, "resource_id", json_get_text(q->resource, "id", ""));
	json_sets(c->a, params, "resource_type", json_get_text(q->resource, "type", ""));
	rc = decide_tool(c,
		&(struct tool_question){ .tool = tool,
			.args = params,
			.context = context,
			.source = "api.authzen",
			.principal = principal },
		&h, e);
	if (rc)
		return rc;
	*ret_yes = h.verdict == V_ALLOW;
	*ret = json_new(c->a, JSON_OBJECT);
	json_setb(c->a, *ret, "decision", *ret_yes);
	json_set(c->a, *ret, "context", decision_json(c, &h));
	return OK;
}

static int evaluation(struct call *c, struct err *e)
{
	struct json *answer;
	struct access q;
	bool is_yes;
	int rc = read_access(c, c->body, NULL, &q, e);

	if (rc == OK)
		rc = judge_access(c, &q, &answer, &is_yes, e);
	if (rc == OK)
		call_answer(c, 200, answer);
	return rc;
}

/* Several: what one does not say is said for all; none: what is said for all is the question.  A list that is cut short says so by its length. */
static int evaluations(struct call *c, struct err *e)
{
	enum { MOST = 100 };
	const struct json *list = json_get(c->body, "evaluations");
	const char *how = json_get_text(json_get(c->body, "options"), "evaluations_semantic", "execute_all");
	bool ends_at_no = text_eq(how, "deny_on_first_deny"),
	     ends_at_yes = text_eq(how, "permit_on_first_permit");
	struct json *doc = json_new(c->a, JSON_OBJECT), *answers = json_new(c->a, JSON_ARRAY), *answer;

	if (!list || (json_is(list, JSON_ARRAY) && !list->n))
		return evaluation(c, e);
	if (!json_is(list, JSON_ARRAY) || list->n > MOST)
		return call_refuse(c, e, 400, "BAD_REQUEST", "evaluations is a list of at most %d", MOST);
	if (!ends_at_no && !ends_at_yes && !text_eq(how, "execute_all"))
		return call_refuse(c, e, 400, "BAD_REQUEST", "evaluations_semantic '%s' is not known", how);
	struct access *each = arena_zalloc(c->a, list->n, sizeof(*each));
	/* All are read before the first is decided: a mistake in the last one leaves no half of it on record. */
	for (size_t i = 0; i < list->n; i++)
		if (read_access(c, json_at(list, i), c->body, &each[i], e))
			return e->rc;
	for (size_t i = 0; i < list->n; i++) {
		bool is_yes;
		if (judge_access(c, &each[i], &answer, &is_yes, e))
			return e->rc;
		json_push(c->a, answers, answer);
		if (is_yes ? ends_at_yes : ends_at_no)
			break;
	}
	json_set(c->a, doc, "evaluations", answers);
	call_answer(c, 200, doc);
	return OK;
}

static int configuration(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *base = c->server->base_url;

	(void)e;
	json_sets(c->a, doc, "policy_decision_point", base);
	json_sets(
		c->a, doc, "access_evaluation_endpoint", arena_printf(c->a, "%s/access/v1/evaluation", base));
	json_sets(c->a, doc, "access_evaluations_endpoint",
		arena_printf(c->a, "%s/access/v1/evaluations", base));
	call_answer(c, 200, doc);
	return OK;
}

#define CHECK(method) \
	{ \
		method, "/v1/extauthz/{*path}", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, 0, check_request, \
			"may this request pass (Envoy's external authorization over HTTP)", NULL, \
			"EvaluateResponse" \
	}
const struct route http_gateway_routes[] = {
	CHECK("GET"),
	CHECK("POST"),
	CHECK("PUT"),
	CHECK("PATCH"),
	CHECK("DELETE"),
	CHECK("OPTIONS"),
	{ "POST", "/access/v1/evaluation", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		evaluation, "AuthZEN: may this subject do this", "AccessRequest", "AccessResponse" },
	{ "POST", "/access/v1/evaluations", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL, TAKES_JSON | IS_ONCE,
		evaluations, "AuthZEN: several at once", "AccessesRequest", NULL },
	{ "GET", "/.well-known/authzen-configuration", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, configuration,
		"AuthZEN: where to ask", NULL, NULL },
	{ 0 },
};
