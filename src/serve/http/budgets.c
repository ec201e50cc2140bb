/* budgets.c — ceilings by hand: budgets beside those of the policy, and what was drawn on all of them.  What is drawn stands in the chain; a ceiling
 * can only refuse more than the policy does, so an administrator's key is enough. */
#include "serve/http/http.h"

#include "base/text.h"
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "kernel/ceiling.h"

#include <string.h>

/* The spelling of the API, and that of older clients. */
static const char *const spellings[][2] = { { "tool_call_limit", "max_tool_calls" },
	{ "spend_limit_cents", "max_spend_minor" },
	{ "approval_required_above_cents", "approval_required_after" } };

static int is_ours(struct call *c, struct err *e)
{
	return text_eq(c->who.tenant, auth_home_tenant(c->server))
		? OK
		: call_refuse(c, e, 403, "TENANT_ISOLATION",
			  "budgets bound everybody here: they are set by the tenant of the installation");
}

/* ---- what there is ---- */

static void add_used(struct call *c, struct json *o, const struct json *limit)
{
	int64_t used = 0;

	json_each (row, json_get(limit, "rows"))
		used += json_get_int(row, "used", 0) + json_get_int(row, "held", 0);
	json_seti(c->a, o, text_eq(json_get_text(limit, "unit", ""), "cents") ? "spent_cents" : "tool_calls",
		used);
}

static struct json *ceiling_json(struct call *c, const char *id, const struct json *row)
{
	struct json *o = json_copy(c->a, row);

	json_sets(c->a, o, "budget_id", id);
	json_sets(c->a, o, "policy_epoch",
		arena_printf(
			c->a, "%llu", (unsigned long long)(c->policy ? ruleset_epoch(c->policy->rules) : 0)));
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (json_get(o, spellings[i][0]))
			json_set(c->a, o, spellings[i][1], json_copy(c->a, json_get(o, spellings[i][0])));
	return o;
}

static struct json *policy_json(struct call *c, const struct json *limit)
{
	bool is_money = text_eq(json_get_text(limit, "unit", ""), "cents");
	const char *per = json_get_text(limit, "per", "all");
	struct json *row = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, row, "subject", text_eq(per, "all") ? "*" : per);
	json_sets(c->a, row, "source", "policy");
	json_set(c->a, row, is_money ? "spend_limit_cents" : "tool_call_limit",
		json_copy(c->a, json_get(limit, "limit")));
	return ceiling_json(c, json_get_text(limit, "id", ""), row);
}

/* Ceilings first, then the budgets of the policy, each with what was drawn in its period. */
static int list(struct call *c, struct err *e)
{
	struct json *ceilings, *out = json_new(c->a, JSON_ARRAY);
	const struct limits *limits = ruleset_limits(c->policy->rules);
	const struct drawn *drawn;
	int rc = is_ours(c, e);

	if (rc == OK)
		rc = ceilings_load(c->server->sys, c->a, c->server->ws, &ceilings, e);
	if (rc == OK)
		rc = recorder_drawn(&c->k->recorder, c->a, &drawn, e);
	if (rc)
		return rc;
	struct json *view = limits ? limits_view(c->a, limits, drawn, c->server->sys->now_us(c->server->sys))
				   : json_new(c->a, JSON_ARRAY);
	json_each_member (m, json_get(ceilings, "budgets")) {
		struct json *o = ceiling_json(c, m->name, m->value);
		const char *mark = arena_printf(c->a, "ceiling.%s.", m->name);
		json_each (limit, view)
			if (text_starts(json_get_text(limit, "id", ""), mark))
				add_used(c, o, limit);
		json_push(c->a, out, o);
	}
	json_each (limit, view) {
		if (!text_eq(json_get_text(limit, "kind", ""), "budget") ||
			text_starts(json_get_text(limit, "id", ""), "ceiling."))
			continue;
		struct json *o = policy_json(c, limit);
		add_used(c, o, limit);
		json_push(c->a, out, o);
	}
	call_answer(c, 200, out);
	return OK;
}

/* ---- setting one ---- */

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (text_eq(text, *words))
			return true;
	return false;
}

static int read_amounts(struct call *c, struct json *row, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		const struct json *own = json_get(c->body, spellings[i][0]),
				  *old = json_get(c->body, spellings[i][1]);
		if (own && old && !json_eq(own, old))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s and %s differ", spellings[i][0],
				spellings[i][1]);
		if (own || old)
			json_set(c->a, row, spellings[i][0], json_copy(c->a, own ? own : old));
	}
	return OK;
}

static int read_row(struct call *c, struct json *row, struct err *e)
{
	static const char *const subjects[] = { "*", "principal", "session", "tool", "tenant", NULL },
				 *const windows[] = { "hour", "day", "week", "month", "quarter", "total",
					 NULL };
	const char *subject = json_get_text(c->body, "subject", "*"),
		   *window = json_get_text(c->body, "window", "total");

	if (!text_is_id(c->args[0]) || strlen(c->args[0]) > 64)
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"a budget's id is made of letters, digits and . _ -, at most 64 of them");
	if (json_get_text(c->body, "budget_id", NULL) &&
		!text_eq(json_get_text(c->body, "budget_id", ""), c->args[0]))
		return call_refuse(c, e, 400, "BAD_REQUEST", "budget_id and the path name two budgets");
	if (!is_one_of(subject, subjects))
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"subject is * for all together, or principal, session, tool or tenant for each by itself");
	if (!is_one_of(window, windows))
		return call_refuse(
			c, e, 400, "BAD_REQUEST", "window is hour, day, week, month, quarter or total");
	json_sets(c->a, row, "subject", subject);
	json_sets(c->a, row, "window", window);
	return read_amounts(c, row, e);
}

/* On record, kept, and part of the policy that the next request is decided by. */
static int put(struct call *c, struct err *e)
{
	struct json *row = json_new(c->a, JSON_OBJECT);
	const char *by = c->who.key_id ? arena_printf(c->a, "%s by key %s", c->who.principal, c->who.key_id)
				       : c->who.principal;
	struct err why = { 0 };
	int rc = is_ours(c, e);

	if (rc == OK)
		rc = read_row(c, row, e);
	if (rc)
		return rc;
	call_hold(c);
	rc = ceiling_put(c->k, c->a, c->args[0], row, by, e);
	if (rc)
		return rc;
	if (policy_load(c->server, &why))
		return call_refuse(c, e, 503, "POLICY_NOT_READY",
			"the budget is kept, and counts when the policy can be loaded again: %s", why.text);
	call_answer(c, 200, ceiling_json(c, c->args[0], row));
	return OK;
}

const struct route http_budgets_routes[] = {
	{ "GET", "/api/v1/budgets", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, list,
		"budgets, and what was drawn on them", NULL, "[]BudgetCeiling" },
	{ "PUT", "/api/v1/budgets/{id}", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, TAKES_JSON, put,
		"set a ceiling; without a limit it is taken away", "BudgetCeiling", "BudgetCeiling" },
	{ 0 },
};
