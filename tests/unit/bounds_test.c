/* bounds_test.c — what bounds and is used up: limits of a policy at their edges, spend envelopes, pace, what people see. */
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "tools/unit.h"

#include <string.h>

enum { US = 1000000 };
static const int64_t t0 = INT64_C(1780272000) * US; /* 2026-06-01T00:00:00Z, a Monday */

/* With ' for ". */
static struct json *parse(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);
	struct json *v;
	struct err e;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(a, bytes_of(copy), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

static struct limits *limits_of(struct arena *a, const char *text)
{
	struct limits *l;
	struct err e;

	if (limits_compile(a, parse(a, text), &l, &e))
		fail_msg("%s", e.text);
	return l;
}

/* Draws as a receipt at `at_us` has them. */
static void commit_at(struct drawn *d, const struct draw *draws, size_t n, int64_t at_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *receipt = json_new(&a, JSON_OBJECT), *metadata = json_new(&a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		if (drawn_check(d, &draws[i], at_us) != DRAW_FITS)
			fail_msg("what was judged to fit does not: %s", draws[i].key);
	json_set(&a, metadata, "draws", draws_json(&a, draws, n));
	json_set(&a, receipt, "metadata", metadata);
	json_sets(&a, receipt, "decision_id", "dec");
	json_sets(&a, receipt, "timestamp", text_time_z(&a, at_us));
	assert_true(drawn_receipt(d, receipt));
}

struct world {
	struct arena a;
	struct drawn drawn;
	const struct limits *limits; /* of the policy */
	const char *error, *principal, *session, *tenant;
	const struct json *known;
	bool is_blind; /* the door gives no facts at all */
	int64_t now_us;
};

static void done(struct world *w)
{
	drawn_done(&w->drawn);
	arena_done(&w->a);
}

/* One gate: "ALLOW", "inactive", or verdict, code and rule.  What is allowed is committed. */
static const char *ask(
	struct world *w, gate_fn *gate, const char *type, const char *budget_id, const char *params)
{
	struct submission q = { .effect_type = type,
		.effect_id = "e",
		.principal = "claimed",
		.tool = "tool",
		.budget_id = budget_id,
		.params = params ? parse(&w->a, params) : NULL };
	struct budget_facts budget = { &w->drawn, w->error };
	struct velocity_facts velocity = { &w->drawn, w->error };
	struct facts f = { .now_us = w->now_us,
		.principal = w->principal,
		.session = w->session,
		.tenant = w->tenant,
		.known = w->known,
		.budget = w->is_blind ? NULL : &budget,
		.velocity = w->is_blind ? NULL : &velocity };
	struct judging j = { .a = &w->a, .limits = w->limits, .ask = &q, .facts = &f };
	struct gate_answer x = { .verdict = V_ALLOW };

	gate(&j, &x);
	if (!x.is_active)
		return x.verdict == V_ALLOW && !j.draw_count ? "inactive" : "inactive and busy";
	if (x.verdict != V_DENY)
		commit_at(&w->drawn, j.draws, j.draw_count, w->now_us);
	if (x.verdict == V_ALLOW)
		return "ALLOW";
	return arena_printf(
		&w->a, "%s %s %s", verdict_name(x.verdict), reason_get(x.code)->code, x.rule ? x.rule : "-");
}

#define ASK(w, gate, type, id, params, want) assert_string_equal(ask(w, gate, type, id, params), want)

/* ---- documents ---- */

static void limits_that_are_none(void **state)
{
	static const char *const bad[] = { "[]", "{'x':1}", "{'budgets':[{'id':'a'}]}",
		"{'budgets':[{'id':'','limit':1}]}",
		"{'budgets':[{'id':'a','limit':1},{'id':'a','limit':2}]}",
		"{'windows':[{'id':'a','limit':1}]}",
		"{'windows':[{'id':'a','limit':1,'seconds':9},{'id':'a','limit':1,'seconds':9}]}",
		"{'buckets':[{'id':'a','per_minute':0,'burst':1}]}", "{'budgets':[{'id':'a','limit':1e30}]}",
		"{'velocity':{'ladder':1}}", "{'risk':{}}", "{'spend':[{'id':'x'}]}", "{'prices':{'a/b':{}}}",
		"{'envelope':7}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct limits *l;
		struct err e = { 0 };
		if (limits_compile(&a, parse(&a, bad[i]), &l, &e) != E_INPUT)
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(e.code, "POLICY_LIMITS");
	}
	AUTO(arena_done) struct arena a = { 0 };
	assert_null(limits_envelope(limits_of(&a, "{'envelope':null}")));
	assert_non_null(limits_envelope(limits_of(&a, "{'envelope':{}}")));
}

static void periods(void **state)
{
	static const struct {
		const char *period, *now, *start;
		int64_t days;
	} rows[] = { { "day", "2026-06-01T23:59:59Z", "2026-06-01T00:00:00Z", 1 },
		{ "week", "2026-06-07T23:59:59Z", "2026-06-01T00:00:00Z", 7 },
		{ "week", "2026-06-08T00:00:00Z", "2026-06-08T00:00:00Z", 7 },
		{ "month", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", 29 },
		{ "month", "2026-12-31T12:00:00Z", "2026-12-01T00:00:00Z", 31 },
		{ "month", "2100-02-28T12:00:00Z", "2100-02-01T00:00:00Z", 28 },
		{ "month", "2000-02-28T12:00:00Z", "2000-02-01T00:00:00Z", 29 },
		{ "month", "2026-01-31T12:00:00Z", "2026-01-01T00:00:00Z", 31 },
		{ "quarter", "2026-12-31T12:00:00Z", "2026-10-01T00:00:00Z", 92 },
		{ "quarter", "2026-02-01T12:00:00Z", "2026-01-01T00:00:00Z", 90 },
		{ "DAILY", "2026-06-01T23:59:59Z", "2026-06-01T00:00:00Z", 1 },
		{ "WEEKLY", "2026-06-03T00:00:00Z", "2026-06-01T00:00:00Z", 7 },
		{ "MONTHLY", "2026-06-03T00:00:00Z", "2026-06-01T00:00:00Z", 30 },
		{ "QUARTERLY", "2026-06-03T00:00:00Z", "2026-04-01T00:00:00Z", 91 } };
	int64_t now, want, start, length;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(text_parse_time(rows[i].now, strlen(rows[i].now), &now));
		assert_true(text_parse_time(rows[i].start, strlen(rows[i].start), &want));
		assert_true(period_at(rows[i].period, now, &start, &length));
		if (start != want || length != rows[i].days * 86400 * US)
			fail_msg("%s %s", rows[i].period, rows[i].now);
	}
	assert_true(period_at("hour", t0 + 3700 * (int64_t)US, &start, &length));
	assert_int_equal(start, t0 + 3600 * (int64_t)US);
	assert_int_equal(length, 3600 * (int64_t)US);
	assert_true(period_at("total", t0, &start, &length));
	assert_int_equal(start, 0);
	assert_false(period_at("fortnight", t0, &start, &length));
}

/* ---- budgets ---- */

static void budgets(void **state)
{
	struct world w = { .now_us = t0, .principal = "p" };

	(void)state;
	ASK(&w, gate_budget, "x", NULL, NULL, "inactive");
	ASK(&w, gate_budget, "x", "cash", NULL, "DENY BUDGET_ERROR -"); /* it names what is not there */
	w.limits = limits_of(&w.a, "{}");
	ASK(&w, gate_budget, "x", NULL, NULL, "inactive");
	w.limits = limits_of(&w.a,
		"{'budgets':[{'id':'cash','limit':100,'actions':['pay*','x'],'most_per_request':90,'ask_above':50},"
		"{'id':'calls','limit':3,'unit':'requests','period':'day','per':'principal','actions':['call']},"
		"{'id':'named','limit':5,'actions':[]}]}");
	w.is_blind = true;
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_ERROR -");
	w.is_blind = false;
	w.error = "cannot be read";
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_ERROR -");
	w.error = NULL;
	ASK(&w, gate_budget, "other", NULL, "{'estimated_cost_cents':999}",
		"ALLOW"); /* no budget speaks about it */
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':-1}", "DENY BUDGET_ERROR -");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':1.5}", "DENY BUDGET_ERROR -");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':'1'}", "DENY BUDGET_ERROR -");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':99999999999999999999}",
		"DENY BUDGET_ERROR -");
	ASK(&w, gate_budget, "payout", NULL, "{'estimated_cost_cents':91}", "DENY BUDGET_EXCEEDED cash");
	ASK(&w, gate_budget, "pay", NULL, "{'estimated_cost_cents':51}", "ESCALATE APPROVAL_REQUIRED cash");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':50}", "DENY BUDGET_EXCEEDED cash");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':48}", "ALLOW");
	ASK(&w, gate_budget, "x", NULL, NULL, "ALLOW"); /* one cent when nothing is said */
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_EXCEEDED cash");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':0}", "ALLOW");
	ASK(&w, gate_budget, "other", "named", "{'estimated_cost_cents':5}", "ALLOW");
	ASK(&w, gate_budget, "other", "named", NULL, "DENY BUDGET_EXCEEDED named");
	ASK(&w, gate_budget, "other", "unnamed", NULL, "DENY BUDGET_ERROR -");
	/* Each principal has three calls a day. */
	for (int i = 0; i < 3; i++)
		ASK(&w, gate_budget, "call", NULL, "{'estimated_cost_cents':7}", "ALLOW");
	ASK(&w, gate_budget, "call", NULL, NULL, "DENY BUDGET_EXCEEDED calls");
	w.principal = "q";
	ASK(&w, gate_budget, "call", NULL, NULL, "ALLOW");
	w.principal = NULL; /* who is not known is one more */
	ASK(&w, gate_budget, "call", NULL, NULL, "ALLOW");
	w.principal = "p";
	w.now_us += 86400 * (int64_t)US;
	ASK(&w, gate_budget, "call", NULL, NULL, "ALLOW");
	/* Each tenant has its own. */
	w.limits = limits_of(&w.a, "{'budgets':[{'id':'t','limit':1,'per':'tenant'}]}");
	w.tenant = "acme";
	ASK(&w, gate_budget, "other", NULL, NULL, "ALLOW");
	ASK(&w, gate_budget, "other", NULL, NULL, "DENY BUDGET_EXCEEDED t");
	ASK(&w, gate_budget, "other", "t", NULL, "DENY BUDGET_EXCEEDED t");
	w.tenant = "other";
	ASK(&w, gate_budget, "other", NULL, NULL, "ALLOW");
	/* A name that nothing has speaks about nothing. */
	w.limits = limits_of(&w.a, "{'budgets':[{'id':'z','limit':0,'actions':['\\u0000']}]}");
	ASK(&w, gate_budget, "other", NULL, NULL, "ALLOW");
	done(&w);
}

/* A window that cannot be drawn on any more is an error, not a free pass. */
static void an_escalation_does_not_hide_a_denial(void **state)
{
	struct world w = { .now_us = t0, .principal = "p" };

	(void)state;
	w.limits = limits_of(&w.a,
		"{'budgets':[{'id':'a','limit':100,'ask_above':1},{'id':'b','limit':1},{'id':'c','limit':9,'ask_above':1}]}");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':5}", "DENY BUDGET_EXCEEDED b");
	w.limits = limits_of(&w.a,
		"{'budgets':[{'id':'a','limit':100,'ask_above':1},{'id':'c','limit':9,'ask_above':1}]}");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':5}", "ESCALATE APPROVAL_REQUIRED a");
	done(&w);
}

static void risk(void **state)
{
	struct world w = { .now_us = t0 };

	(void)state;
	w.limits = limits_of(&w.a, "{'risk':{'cap':20,'blast_cap':3,'compute_ms_cap':100}}");
	ASK(&w, gate_budget, "x", NULL, NULL, "ALLOW"); /* nobody rated it: critical, 10 */
	w.known = parse(&w.a, "{'risk_level':'LOW','uncertainty_percent':90}");
	ASK(&w, gate_budget, "x", NULL, NULL, "ALLOW");
	w.known = parse(&w.a, "{'risk_level':'LOW','uncertainty_percent':91}");
	ASK(&w, gate_budget, "x", NULL, NULL, "ESCALATE APPROVAL_REQUIRED risk");
	w.known = parse(&w.a, "{'risk_level':'HIGH'}");
	ASK(&w, gate_budget, "x", NULL, NULL, "ALLOW");
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_EXCEEDED risk");
	w.known = parse(&w.a, "{'risk_level':'MEDIUM','uncertainty_percent':60}");
	ASK(&w, gate_budget, "x", NULL, "{'blast':3}", "ALLOW");
	w.known = parse(&w.a, "{'risk_level':'LOW'}");
	ASK(&w, gate_budget, "x", NULL, "{'blast':1}", "DENY BUDGET_EXCEEDED risk-blast");
	ASK(&w, gate_budget, "x", NULL, "{'compute_ms':101,'risk':0}", "DENY BUDGET_EXCEEDED risk-compute");
	ASK(&w, gate_budget, "x", NULL, "{'risk':-1}", "DENY BUDGET_ERROR risk");
	ASK(&w, gate_budget, "x", NULL, "{'blast':'x'}", "DENY BUDGET_ERROR risk");
	w.known = NULL;
	ASK(&w, gate_budget, "x", NULL, "{'risk':9223372036854775807}", "DENY BUDGET_ERROR risk");
	ASK(&w, gate_budget, "x", NULL, "{'risk':900719925474099}", "DENY BUDGET_EXCEEDED risk");
	ASK(&w, gate_budget, "x", NULL, "{'risk':9007199254740991}",
		"DENY BUDGET_ERROR risk"); /* by ten, no number of a receipt */
	/* Who asks cannot say that there is no risk, nor less than what the facts say. */
	w.known = parse(&w.a, "{'risk_level':'LOW'}");
	w.limits = limits_of(&w.a, "{'risk':{'cap':2,'period':'month'}}");
	ASK(&w, gate_budget, "x", NULL, "{'risk':0}", "ALLOW");
	ASK(&w, gate_budget, "x", NULL, "{'risk':0}", "ALLOW");
	ASK(&w, gate_budget, "x", NULL, "{'risk':0}", "DENY BUDGET_EXCEEDED risk");
	w.limits = limits_of(&w.a, "{'budgets':[{'id':'floor','limit':9}]}");
	w.known = parse(&w.a, "{'estimated_cost_cents':5}");
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':0}", "ALLOW");
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_EXCEEDED floor");
	w.limits = limits_of(
		&w.a, "{'risk':{'cap':20,'period':'day'}}"); /* no other caps: they are not drawn on */
	w.known = parse(&w.a, "{'risk_level':'LOW'}");
	ASK(&w, gate_budget, "x", NULL, "{'blast':99}", "ALLOW");
	/* One question is enough. */
	w.limits = limits_of(
		&w.a, "{'budgets':[{'id':'a','limit':9,'ask_above':0}],'risk':{'cap':20,'period':'week'}}");
	w.known = parse(&w.a, "{'risk_level':'LOW','uncertainty_percent':99}");
	ASK(&w, gate_budget, "x", NULL, NULL, "ESCALATE APPROVAL_REQUIRED a");
	w.limits = limits_of(&w.a, "{'budgets':[{'id':'b','limit':0}],'risk':{'cap':20}}");
	ASK(&w, gate_budget, "x", NULL, NULL, "DENY BUDGET_EXCEEDED b");
	done(&w);
}

/* ---- spend ---- */

#define SPEND(more) \
	"{'id':'m','currency':'EUR','period':'MONTHLY','max_amount_cents':100,'allowed_providers':['a'],'allowed_models':['s']" more \
	"}"
#define CALL(more) "{'provider':'a','model':'s'" more "}"

static void spend_in_order(void **state)
{
	/* Each has every defect of those behind it. */
	static const struct {
		const char *spend, *params, *want;
	} rows[] = {
		{ SPEND(",'active':false,'principal_id':'x','emergency_stop':true"), CALL(""),
			"DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" },
		{ SPEND(",'active':true,'agent_id':'x'"), CALL(""), "DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" },
		{ SPEND(",'active':true,'tenant_id':'x'"), CALL(""), "DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" },
		{ SPEND(",'active':true"), "{'spend_envelope_id':'n'}",
			"DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" },
		{ SPEND(",'active':false,'effective_at':'2027-01-01T00:00:00Z'"), CALL(""),
			"DENY ERR_SPEND_ENVELOPE_INACTIVE m" },
		{ SPEND(",'active':true,'effective_at':'2027-01-01T00:00:00Z','expires_at':'2026-01-01T00:00:00Z'"),
			CALL(""), "DENY ERR_SPEND_ENVELOPE_NOT_YET_EFFECTIVE m" },
		{ SPEND(",'active':true,'expires_at':'2026-06-01T00:00:00Z','emergency_stop':true"), CALL(""),
			"DENY ERR_SPEND_ENVELOPE_EXPIRED m" },
		{ SPEND(",'active':true,'emergency_stop':true"), CALL(""),
			"DENY ERR_SPEND_EMERGENCY_STOP m" },
		{ SPEND(",'active':true"), "{'provider':'b','model':'z'}",
			"DENY ERR_SPEND_INVALID_AMOUNT m" },
		{ SPEND(",'active':true"), CALL(",'input_tokens':-1,'estimated_cost_cents':1"),
			"DENY ERR_SPEND_INVALID_AMOUNT m" },
		{ SPEND(",'active':true"), "{'provider':'b','model':'z','estimated_cost_cents':1}",
			"DENY ERR_SPEND_PROVIDER_NOT_ALLOWED m" },
		{ SPEND(",'active':true"), "{'model':'s','estimated_cost_cents':1}",
			"DENY ERR_SPEND_PROVIDER_NOT_ALLOWED m" },
		{ SPEND(",'active':true"), "{'provider':'a','model':'z','estimated_cost_cents':999}",
			"DENY ERR_SPEND_MODEL_NOT_ALLOWED m" },
		{ SPEND(",'active':true,'fallback_models':['z']"),
			"{'provider':'a','model':'z','estimated_cost_cents':9}",
			"DENY ERR_SPEND_MODEL_NOT_ALLOWED m" },
		{ SPEND(",'active':true,'fallback_models':['z'],'allow_model_substitution':true"),
			"{'provider':'a','model':'z','estimated_cost_cents':9}", "ALLOW" },
		{ SPEND(",'active':true,'fallback_models':['z'],'allow_model_substitution':true"),
			"{'provider':'a','model':'y','estimated_cost_cents':9}",
			"DENY ERR_SPEND_MODEL_NOT_ALLOWED m" },
		{ SPEND(",'active':true,'per_request_max_cents':5"), CALL(",'estimated_cost_cents':101"),
			"DENY ERR_SPEND_PER_REQUEST_LIMIT m" },
		{ SPEND(",'active':true,'approval_required_above_cents':5"),
			CALL(",'estimated_cost_cents':101"), "DENY ERR_BALANCE_INSUFFICIENT m" },
		{ SPEND(",'active':true,'used_amount_cents':60,'reserved_amount_cents':40"),
			CALL(",'estimated_cost_cents':1"), "DENY ERR_BALANCE_INSUFFICIENT m" },
		{ SPEND(",'active':true,'approval_required_above_cents':5"),
			CALL(",'estimated_cost_cents':6"), "ESCALATE ERR_APPROVAL_REQUIRED m" },
		{ SPEND(",'active':true,'effective_at':'2026-01-01T00:00:00Z','expires_at':'2027-01-01T00:00:00Z',"
			"'principal_id':'p','agent_id':'p','tenant_id':'t'"),
			CALL(",'estimated_cost_cents':100"), "ALLOW" },
		{ SPEND(",'active':true,'principal_id':'x'"),
			CALL(",'estimated_cost_cents':1,'spend_envelope_id':'m'"),
			"DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" }, /* somebody else's */
		{ SPEND(",'active':true,'principal_id':'p'"),
			CALL(",'estimated_cost_cents':1,'spend_envelope_id':'m'"), "ALLOW" },
		{ SPEND(",'active':true"), CALL(",'estimated_cost_cents':1,'spend_envelope_id':['m']"),
			"DENY ERR_SPEND_ENVELOPE_NOT_FOUND -" },
		{ SPEND(",'active':true"), "{'provider':['a'],'model':['s'],'estimated_cost_cents':1}",
			"DENY ERR_SPEND_PROVIDER_NOT_ALLOWED m" }, /* a list is no way around it */
		{ SPEND(",'active':true"), "{'provider':'a','model':['s'],'estimated_cost_cents':1}",
			"DENY ERR_SPEND_MODEL_NOT_ALLOWED m" },
		{ SPEND(",'active':true"), "{'path':'x'}", "ALLOW" }, /* no call of a model */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world w = { .now_us = t0, .principal = "p", .tenant = "t" };
		w.limits = limits_of(&w.a, arena_printf(&w.a, "{'spend':[%s]}", rows[i].spend));
		const char *got = ask(&w, gate_budget, "x", NULL, rows[i].params);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s %s: %s", rows[i].spend, rows[i].params, got);
		done(&w);
	}
}

static void spend_by_prices(void **state)
{
	struct world w = { .now_us = t0 };

	(void)state;
	w.limits = limits_of(&w.a,
		"{'spend':[" SPEND(
			",'active':true") "],'prices':{'a/s':{'input_per_million_cents':100,'output_per_million_cents':900}}}");
	ASK(&w, gate_budget, "x", NULL, CALL(""), "ALLOW"); /* nothing costs nothing */
	ASK(&w, gate_budget, "x", NULL, CALL(",'input_tokens':900000"), "ALLOW"); /* 90 */
	ASK(&w, gate_budget, "x", NULL, CALL(",'output_tokens':11112"),
		"DENY ERR_BALANCE_INSUFFICIENT m"); /* 10.0008: 11 */
	ASK(&w, gate_budget, "x", NULL, CALL(",'output_tokens':1,'estimated_cost_cents':11"),
		"DENY ERR_BALANCE_INSUFFICIENT m"); /* it says that it costs more */
	ASK(&w, gate_budget, "x", NULL, CALL(",'output_tokens':11111,'estimated_cost_cents':1"),
		"ALLOW"); /* 10 */
	ASK(&w, gate_budget, "x", NULL, CALL(",'output_tokens':1"), "DENY ERR_BALANCE_INSUFFICIENT m");
	ASK(&w, gate_budget, "x", NULL,
		CALL(",'input_tokens':9223372036854775807,'output_tokens':9223372036854775807"),
		"DENY ERR_BALANCE_INSUFFICIENT m");
	w.limits = limits_of(&w.a,
		"{'spend':[" SPEND(
			",'active':true") "],'prices':{'a/s':{'input_per_million_cents':9000000,'output_per_million_cents':9000000}}}");
	ASK(&w, gate_budget, "x", NULL, CALL(",'input_tokens':9223372036854775807"),
		"DENY ERR_SPEND_INVALID_AMOUNT m");
	/* Asked about already: one question is enough. */
	w.limits = limits_of(&w.a,
		"{'budgets':[{'id':'b','limit':9999,'ask_above':0}],'spend':[" SPEND(
			",'active':true,'approval_required_above_cents':0") "]}");
	w.now_us += 40 * 86400 * (int64_t)US;
	ASK(&w, gate_budget, "x", NULL, CALL(",'estimated_cost_cents':3"), "ESCALATE APPROVAL_REQUIRED b");
	done(&w);
}

/* ---- velocity ---- */

static void velocity(void **state)
{
	struct world w = { .now_us = t0 + 59 * (int64_t)US, .principal = "p" };

	(void)state;
	ASK(&w, gate_velocity, "x", NULL, NULL, "inactive");
	w.limits = limits_of(&w.a, "{}");
	ASK(&w, gate_velocity, "x", NULL, NULL, "inactive");
	w.limits = limits_of(&w.a,
		"{'windows':[{'id':'w','limit':2,'seconds':60,'actions':['x']}],"
		"'buckets':[{'id':'k','per_minute':60,'burst':2,'per':'session','actions':['y']}]}");
	w.is_blind = true;
	ASK(&w, gate_velocity, "x", NULL, NULL, "DENY RATE_LIMIT_STORE_ERROR -");
	w.is_blind = false;
	w.error = "no";
	ASK(&w, gate_velocity, "x", NULL, NULL, "DENY RATE_LIMIT_STORE_ERROR -");
	w.error = NULL;
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	ASK(&w, gate_velocity, "x", NULL, NULL,
		"ESCALATE TEMPORAL_THROTTLE w"); /* a yes is counted, without a limit */
	w.principal = "q";
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	w.principal = "p";
	w.now_us += US; /* the next minute */
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	w.session = "s";
	ASK(&w, gate_velocity, "y", NULL, NULL, "ALLOW");
	ASK(&w, gate_velocity, "y", NULL, NULL, "ALLOW");
	ASK(&w, gate_velocity, "y", NULL, NULL, "ESCALATE TEMPORAL_THROTTLE k");
	w.now_us += 2 * (int64_t)US;
	ASK(&w, gate_velocity, "y", NULL, NULL, "ALLOW");
	w.session = "another";
	ASK(&w, gate_velocity, "y", NULL, NULL, "ALLOW");
	w.limits = limits_of(&w.a, "{'windows':[{'id':'v','limit':0,'seconds':1,'per':'tool'}]}");
	w.now_us += US;
	ASK(&w, gate_velocity, "z", NULL, NULL, "ESCALATE TEMPORAL_THROTTLE v");
	w.limits = limits_of(&w.a, "{'buckets':[{'id':'k','per_minute':60,'burst':1}]}");
	ASK(&w, gate_velocity, "z", NULL, NULL, "ALLOW");
	done(&w);
}

static void everybody_has_a_pace_of_their_own(void **state)
{
	struct world w = { .now_us = t0, .principal = "hasty" };
	const char *got = "";
	int64_t at;

	(void)state;
	w.limits = limits_of(&w.a, "{'velocity':{'ladder':true}}");
	for (at = 0; at < 60000 && !strstr(got, "ESCALATE"); at++) {
		w.now_us = t0 + at * 10000; /* a hundred a second */
		got = ask(&w, gate_velocity, "x", NULL, NULL);
	}
	assert_string_equal(got, "ESCALATE TEMPORAL_INTERVENTION ladder");
	assert_true(at >= 3000); /* fifty a second over sixty seconds are three thousand */
	w.principal = "calm";
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	w.principal = NULL;
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	w.principal = "hasty";
	w.now_us += 200 * (int64_t)US;
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW"); /* rested */
	done(&w);
}

static void nobody_who_is_unknown_hurries_unseen(void **state)
{
	struct world w = { .now_us = t0 };
	const char *got = "";

	(void)state;
	w.limits = limits_of(&w.a, "{'velocity':{'ladder':true}}");
	for (int64_t at = 0; at < 60000 && !strstr(got, "ESCALATE"); at++) {
		w.now_us = t0 + at * 10000;
		got = ask(&w, gate_velocity, "x", NULL, NULL);
	}
	assert_string_equal(got, "ESCALATE TEMPORAL_INTERVENTION ladder");
	done(&w);
}

/* ---- what people see ---- */

static void the_view(void **state)
{
	struct world w = { .now_us = t0, .principal = "p" };

	(void)state;
	w.limits = limits_of(&w.a,
		"{'budgets':[{'id':'b','limit':10,'per':'principal','period':'day'},{'id':'all','limit':5,'unit':'requests'}],'risk':{'cap':50},"
		"'spend':[" SPEND(
			",'active':true") "],'windows':[{'id':'w','limit':2,'seconds':60}],'buckets':[{'id':'k','per_minute':60,'burst':5}]}");
	struct json *empty = limits_view(&w.a, w.limits, NULL, t0);
	assert_int_equal(empty->n, 6);
	assert_int_equal(json_get_int(json_at(json_get(json_at(empty, 0), "rows"), 0), "left", 0), 10);
	ASK(&w, gate_budget, "x", NULL, CALL(",'estimated_cost_cents':4"), "ALLOW");
	ASK(&w, gate_velocity, "x", NULL, NULL, "ALLOW");
	w.principal = "q";
	ASK(&w, gate_budget, "x", NULL, "{'estimated_cost_cents':10,'risk':0}", "ALLOW");
	struct draw over = { .kind = DRAW_BUDGET,
		.key = draw_key(&w.a, "budget", "all", "", NULL),
		.amount = 50,
		.limit = DRAW_NO_LIMIT };
	commit_at(&w.drawn, &over, 1, t0);
	struct json *view = limits_view(&w.a, w.limits, &w.drawn, t0),
		    *rows = json_get(json_at(view, 0), "rows");
	assert_int_equal(rows->n, 2);
	json_each (row, rows) {
		bool is_p = text_eq(json_get_text(row, "who", ""), "p");
		assert_int_equal(json_get_int(row, "left", -1), is_p ? 6 : 0);
		assert_int_equal(json_get_int(row, "held", -1), is_p ? 4 : 10);
	}
	assert_string_equal(json_get_text(json_at(view, 0), "since", ""), "2026-06-01T00:00:00Z");
	struct json *all = json_at(json_get(json_at(view, 1), "rows"), 0);
	assert_int_equal(json_get_int(all, "left", -1), 0);
	assert_int_equal(json_get_int(all, "over", -1), 47);
	assert_string_equal(json_get_text(json_at(view, 1), "unit", ""), "requests");
	struct json *bucket = json_at(json_get(json_at(view, 5), "rows"), 0);
	assert_int_equal(json_get_int(bucket, "left", -1), 4);
	/* Keys of another make, and sums that no number holds, are looked at and do no harm. */
	static const char *const odd[] = { "x", "6:budget", "6:budget|1:b", "6:budget|3:all" };
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		commit_at(&w.drawn, &(struct draw){ .kind = DRAW_BUDGET, .key = odd[i], .limit = 1 }, 1, t0);
	struct drawn huge = { 0 };
	assert_true(drawn_from_json(&huge,
		parse(&w.a,
			"{'newest_us':1,'entries':[{'kind':'budget','key':'6:budget|3:all|0:','window_us':0,'length_us':0,'used':9223372036854775807,"
			"'held':9223372036854775807,'first_us':0,'last_us':0}]}")));
	view = limits_view(&w.a, w.limits, &huge, t0);
	assert_int_equal(json_get_int(json_at(json_get(json_at(view, 1), "rows"), 0), "over", 0), INT64_MAX);
	drawn_done(&huge);
	view = limits_view(&w.a, w.limits, &w.drawn, t0 + 90 * (int64_t)US);
	assert_int_equal(json_get_int(json_at(json_get(json_at(view, 5), "rows"), 0), "left", -1), 5);
	assert_int_equal(json_get_int(json_at(json_get(json_at(view, 4), "rows"), 0), "used", -1),
		0); /* a new minute */
	done(&w);
}

/* ---- properties ---- */

static uint32_t next(uint32_t *seed_of)
{
	*seed_of = *seed_of * 1664525 + 1013904223;
	return *seed_of >> 8;
}

/* Whatever is asked in whatever order: no budget is ever overdrawn, and a further budget never turns a refusal into an ALLOW. */
static void no_order_overdraws_and_more_limits_never_permit(void **state)
{
	uint32_t rng = 1;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct world one = { .now_us = t0, .principal = "p" },
			     two = { .now_us = t0, .principal = "p" };
		one.limits = limits_of(&one.a,
			"{'budgets':[{'id':'a','limit':50},{'id':'b','limit':9,'unit':'requests','per':'principal'}]}");
		two.limits = limits_of(&two.a,
			"{'budgets':[{'id':'a','limit':50},{'id':'b','limit':9,'unit':'requests','per':'principal'},{'id':'c','limit':30,'period':'hour'}]}");
		for (int i = 0; i < 40; i++) {
			const char *params =
				arena_printf(&one.a, "{'estimated_cost_cents':%u}", next(&rng) % 20);
			one.principal = two.principal = next(&rng) % 2 ? "p" : "q";
			one.now_us = two.now_us = one.now_us + (int64_t)(next(&rng) % 2000) * US;
			/* The same history for both: what the stricter one allows is done in both. */
			const char *strict = ask(&two, gate_budget, "x", NULL, params);
			if (text_eq(strict, "ALLOW"))
				assert_string_equal(ask(&one, gate_budget, "x", NULL, params), "ALLOW");
			const struct drawn_entry *a = drawn_find(
				&two.drawn, DRAW_BUDGET, draw_key(&two.a, "budget", "a", "", NULL), 0);
			assert_true(!a || a->used + a->held <= 50);
		}
		done(&one);
		done(&two);
	}
}

/* Of two limits of one thing the smaller holds, whichever came first; another window is another thing. */
static void the_smaller_limit_of_one_thing_holds(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct judging j = { .a = &a };
	struct draw wide = { .kind = DRAW_WINDOW, .key = "w", .amount = 1, .limit = 9, .window_us = 60 },
		    close = { .kind = DRAW_WINDOW,
			    .key = "w",
			    .amount = 3,
			    .limit = 4,
			    .window_us = 60,
			    .window_length_us = 5 };

	(void)state;
	gate_draw(&j, &wide);
	gate_draw(&j, &close);
	assert_int_equal(j.draw_count, 1);
	assert_int_equal(j.draws[0].limit, 4);
	assert_int_equal(j.draws[0].amount, 4);
	assert_int_equal(j.draws[0].window_length_us, 5);
	gate_draw(&j, &wide);
	assert_int_equal(j.draws[0].limit, 4);
	wide.window_us = 120;
	gate_draw(&j, &wide);
	assert_int_equal(j.draw_count, 2);
	/* Two policies count one deed: it is as large as the larger of them says. */
	struct draw list[] = { wide };
	close.window_us = 120;
	assert_true(draw_join(list, 1, &close, false));
	assert_int_equal(list[0].amount, 3);
	assert_int_equal(list[0].limit, 4);
	wide.limit = DRAW_NO_LIMIT;
	assert_true(draw_join(list, 1, &wide, false));
	assert_int_equal(list[0].amount, 3);
	assert_int_equal(list[0].limit, 4);
	close.key = "v";
	assert_false(draw_join(list, 1, &close, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smaller_limit_of_one_thing_holds),
		cmocka_unit_test(limits_that_are_none),
		cmocka_unit_test(periods),
		cmocka_unit_test(budgets),
		cmocka_unit_test(an_escalation_does_not_hide_a_denial),
		cmocka_unit_test(risk),
		cmocka_unit_test(spend_in_order),
		cmocka_unit_test(spend_by_prices),
		cmocka_unit_test(velocity),
		cmocka_unit_test(everybody_has_a_pace_of_their_own),
		cmocka_unit_test(nobody_who_is_unknown_hurries_unseen),
		cmocka_unit_test(the_view),
		cmocka_unit_test(no_order_overdraws_and_more_limits_never_permit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
