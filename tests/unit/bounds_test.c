/* bounds_test.c — what bounds and is used up: limits of a policy at their edges, spend envelopes, pace; permits, lifecycles, the court and its token; retries.
 * The envelope has a file of its own. */
#include "base/hash.h"
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "proof/preimage.h"
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
	const struct limits *further; /* of the door */
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
	struct budget_facts budget = { &w->drawn, w->further, w->error };
	struct velocity_facts velocity = { &w->drawn, w->further, w->error };
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
	/* Budgets of the door count beside those of the policy. */
	w.further = limits_of(&w.a, "{'budgets':[{'id':'t','limit':1,'per':'tenant'}]}");
	w.tenant = "acme";
	ASK(&w, gate_budget, "other", NULL, NULL, "ALLOW");
	ASK(&w, gate_budget, "other", NULL, NULL, "DENY BUDGET_EXCEEDED t");
	ASK(&w, gate_budget, "other", "t", NULL, "DENY BUDGET_EXCEEDED t");
	w.tenant = "other";
	ASK(&w, gate_budget, "other", NULL, NULL, "ALLOW");
	w.tenant = "acme";
	ASK(&w, gate_budget, "payout", NULL, "{'estimated_cost_cents':91}", "DENY BUDGET_EXCEEDED cash");
	w.limits = NULL;
	ASK(&w, gate_budget, "other", NULL, NULL, "DENY BUDGET_EXCEEDED t");
	/* A name that nothing has speaks about nothing. */
	w.further = limits_of(&w.a, "{'budgets':[{'id':'z','limit':0,'actions':['\\u0000']}]}");
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
			CALL(",'estimated_cost_cents':1,'spend_envelope_id':'m'"), "ALLOW" },
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
	w.further = limits_of(&w.a, "{'windows':[{'id':'v','limit':0,'seconds':1,'per':'tool'}]}");
	ASK(&w, gate_velocity, "z", NULL, NULL, "ESCALATE TEMPORAL_THROTTLE v");
	w.limits = NULL;
	w.now_us += US;
	ASK(&w, gate_velocity, "z", NULL, NULL, "ESCALATE TEMPORAL_THROTTLE v");
	w.further = limits_of(&w.a, "{'buckets':[{'id':'k','per_minute':60,'burst':1}]}");
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

/* ---- permits ---- */

static const uint8_t seed[SIGN_SEED] = { 7 };

static void sign_text(struct json *doc, struct arena *a, struct bytes preimage)
{
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	sign_expand(seed, secret, pub);
	sign_message(secret, preimage, signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(a, doc, "signature", hex);
}

static struct permit_terms terms(void)
{
	return (struct permit_terms){ .permit_id = "permit-1",
		.intent_hash = "sha256:i",
		.verdict_hash = "sha256:v",
		.effect_type = "WRITE",
		.connector_id = "linear",
		.action = "linear.update",
		.resource_ref = "linear:1",
		.issuer_id = "kernel",
		.nonce = "n-1",
		.issued_us = t0,
		.expires_us = t0 + 60 * (int64_t)US,
		.verdict_expires_us = t0 + 60 * (int64_t)US };
}

static struct permit_use use_of(const struct drawn *d)
{
	uint8_t secret[SIGN_SECRET];
	struct permit_use u = { .issuer_id = "kernel",
		.now_us = t0,
		.connector_id = "linear",
		.action = "linear.update",
		.resource_ref = "linear:1",
		.effect_type = "WRITE",
		.intent_hash = "sha256:i",
		.verdict_hash = "sha256:v",
		.drawn = d };

	sign_expand(seed, secret, u.issuer);
	return u;
}

static struct json *permit_of(struct arena *a, const struct permit_terms *t)
{
	struct json *p;
	struct err e;
	struct bytes preimage;

	if (permit_build(a, t, &p, &e))
		fail_msg("%s", e.text);
	assert_int_equal(permit_preimage(a, p, &preimage, &e), OK);
	sign_text(p, a, preimage);
	return p;
}

static void sign_again(struct arena *a, struct json *permit)
{
	struct bytes preimage;
	struct err e;

	if (permit_preimage(a, permit, &preimage, &e) == OK)
		sign_text(permit, a, preimage);
}

static void assert_permit(
	struct arena *a, const struct json *permit, const struct permit_use *u, const char *want)
{
	struct draw draws[3];
	size_t n;
	const char *got = permit_answer_name(permit_check(a, permit, u, draws, &n));

	assert_string_equal(got, want);
	assert_true(text_eq(got, "ok") || n == 0);
}

static void a_permit_is_used_once(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 };
	struct permit_terms t = terms();
	struct json *p = permit_of(&a, &t);
	struct permit_use u = use_of(&d);
	struct draw draws[3];
	size_t n;

	(void)state;
	assert_int_equal(permit_check(&a, p, &u, draws, &n), PERMIT_OK);
	assert_int_equal(n, 3);
	commit_at(&d, draws, n, t0);
	assert_permit(&a, p, &u, "permit_replayed");
	/* Another permit with the same nonce, or for the same verdict, is a replay, too. */
	t.permit_id = "permit-2";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_replayed");
	t.nonce = "n-2";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_replayed");
	t.verdict_hash = u.verdict_hash = "sha256:w";
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	/* Of another issuer: other names. */
	t = terms();
	t.issuer_id = u.issuer_id = "other";
	u.verdict_hash = NULL;
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	u.issuer_id = NULL;
	assert_permit(&a, permit_of(&a, &t), &u, "ok");
	/* One for many uses leaves no trace. */
	json_setb(&a, p, "single_use", false);
	sign_again(&a, p);
	u = use_of(&d);
	assert_int_equal(permit_check(&a, p, &u, draws, &n), PERMIT_OK);
	assert_int_equal(n, 0);
	drawn_done(&d);
}

static void permits_that_do_not_count(void **state)
{
	/* A member, its value (NULL: it is taken away), whether it is signed again, and what follows. */
	static const struct {
		const char *member, *value;
		bool is_signed;
		const char *want;
	} rows[] = { { "signature", NULL, false, "permit_unsigned" },
		{ "signature", "''", false, "permit_unsigned" },
		{ "signature", "'AB'", false, "invalid_encoding" },
		{ "permit_id", "'permit-9'", false, "permit_signature_rejected" },
		{ "permit_id", NULL, true, "contract_mismatch" },
		{ "nonce", "''", true, "contract_mismatch" }, { "scope", "{}", true, "contract_mismatch" },
		{ "single_use", NULL, true, "contract_mismatch" },
		{ "issued_at", "'soon'", true, "contract_mismatch" },
		{ "expires_at", NULL, true, "contract_mismatch" },
		{ "issued_at", NULL, true, "contract_mismatch" },
		{ "signature_version", "'effect_permit.v2'", true, "contract_mismatch" },
		{ "signature_version", "'effect_permit.v1'", true, "ok" },
		{ "issuer_id", "'other'", true, "permit_issuer_unknown" },
		{ "issued_at", "'2026-06-01T00:00:01Z'", true, "permit_not_yet_valid" },
		{ "expires_at", "'2026-06-01T00:00:00Z'", true, "permit_expired" },
		{ "expires_at", "'2026-06-01T02:00:01+02:00'", true, "ok" },
		{ "connector_id", "'github'", true, "permit_scope_rejected" },
		{ "resource_ref", "'linear:2'", true, "permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.delete'}", true, "permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','allowed_params':['title']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','allowed_params':['title','body']}", true,
			"ok" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['*drop*']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['bod?']}", true,
			"permit_scope_rejected" },
		{ "scope", "{'allowed_action':'linear.update','deny_patterns':['x*']}", true, "ok" },
		{ "intent_hash", "'sha256:j'", true, "permit_binding_rejected" },
		{ "verdict_hash", "'sha256:w'", true, "permit_binding_rejected" },
		{ "effect_type", "'READ'", true, "permit_binding_rejected" },
		{ "effect_type", "'EFFECT_TYPE_WRITE'", true, "ok" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct permit_terms t = terms();
		struct json *p = permit_of(&a, &t);
		struct permit_use u = use_of(NULL);
		u.params = parse(&a, "{'title':'a','body':'please drop it','n':1}");
		if (i >= 21)
			u.params = parse(&a, "{'title':'a','body':'please drop it'}");
		if (rows[i].value)
			json_set(&a, p, rows[i].member, parse(&a, rows[i].value));
		else
			(void)json_remove(p, rows[i].member);
		if (rows[i].is_signed)
			sign_again(&a, p);
		assert_permit(&a, p, &u, rows[i].want);
	}
	AUTO(arena_done) struct arena a = { 0 };
	struct permit_terms t = terms();
	struct permit_use u = use_of(NULL);
	assert_permit(&a, parse(&a, "[]"), &u, "contract_mismatch");
	u.action = "linear.delete";
	assert_permit(&a, permit_of(&a, &t), &u, "permit_scope_rejected");
	u = use_of(NULL);
	u.issuer[0] ^= 1;
	assert_permit(&a, permit_of(&a, &t), &u, "permit_signature_rejected");
}

static void permits_are_not_built_for_longer(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct permit_terms t = terms();
	struct json *p;
	struct err e;

	(void)state;
	t.plan_hash = "sha256:p";
	t.policy_hash = "sha256:q";
	t.allowed_params = parse(&a, "['a']");
	t.deny_patterns = parse(&a, "['b']");
	t.evidence_bindings = parse(&a, "{'x':'y'}");
	p = permit_of(&a, &t);
	assert_string_equal(json_get_text(p, "plan_hash", ""), "sha256:p");
	assert_string_equal(json_text(json_at(json_get(json_get(p, "scope"), "deny_patterns"), 0)), "b");
	t.expires_us++;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.expires_us = t.issued_us;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.effect_type = "BREATHE";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t = terms();
	t.nonce = "";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t.nonce = NULL;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	assert_string_equal(e.code, "PERMIT");
	t = terms();
	t.action = "";
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
	t.action = NULL;
	assert_int_equal(permit_build(&a, &t, &p, &e), E_INPUT);
}

/* ---- lifecycles ---- */

static void states_follow_their_tables(void **state)
{
	static const struct {
		enum lifecycle of;
		const char *states;
		unsigned ways;
	} rows[] = { { LIFECYCLE_EFFECT,
			     " SUBMITTED APPROVED DENIED ESCALATED EXECUTING COMPLETED FAILED COMPENSATED",
			     11 },
		{ LIFECYCLE_CONNECTOR, " ADMITTED STARTED NOT_STARTED UNCERTAIN COMPLETED", 8 },
		{ LIFECYCLE_PROOF,
			" AUTHORIZED PROOF_PENDING EFFECT_FAILED PROOF_FINALIZED PROOF_FINALIZATION_FAILED",
			6 },
		{ LIFECYCLE_ESCALATION, " PENDING APPROVED DENIED TIMED_OUT ABORTED", 5 },
		{ LIFECYCLE_BREAKER, " CLOSED OPEN HALF_OPEN", 5 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *names[16];
		size_t n = 0;
		unsigned ways = 0;
		struct bytes rest = bytes_of(rows[i].states);
		while (rest.p) {
			struct bytes word = text_cut(&rest, ' ');
			names[n++] = arena_strndup(&a, (const char *)word.p, word.n);
		}
		for (size_t x = 0; x < n; x++)
			for (size_t y = 0; y < n; y++)
				ways += lifecycle_may(rows[i].of, names[x], names[y]);
		assert_int_equal(ways, rows[i].ways);
	}
	assert_true(lifecycle_may(LIFECYCLE_EFFECT, NULL, "SUBMITTED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, NULL, "APPROVED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, "DENIED", "APPROVED"));
	assert_false(lifecycle_may(LIFECYCLE_EFFECT, "COMPLETED", "COMPLETED"));
	assert_true(lifecycle_may(LIFECYCLE_EFFECT, "FAILED", "COMPENSATED"));
	assert_false(lifecycle_may(LIFECYCLE_CONNECTOR, "UNCERTAIN", "STARTED")); /* never again, blindly */
	assert_true(lifecycle_is_end(LIFECYCLE_PROOF, "PROOF_FINALIZED"));
	assert_false(lifecycle_is_end(LIFECYCLE_PROOF, "PROOF_PENDING"));
	assert_false(lifecycle_is_end(LIFECYCLE_PROOF, "NOWHERE"));
}

/* ---- a connector that fails ---- */

static void a_breaker_opens_tries_and_closes(void **state)
{
	struct breaker b = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		breaker_result(&b, false, t0);
	assert_true(breaker_may(&b, t0));
	breaker_result(&b, true, t0); /* one success and it counts anew */
	for (int i = 0; i < 5; i++)
		breaker_result(&b, false, t0);
	assert_false(breaker_may(&b, t0));
	assert_false(breaker_may(&b, t0 + 29 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 30 * (int64_t)US)); /* one, to try */
	assert_false(breaker_may(&b, t0 + 30 * (int64_t)US));
	breaker_result(&b, false, t0 + 31 * (int64_t)US);
	assert_false(breaker_may(&b, t0 + 60 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
	breaker_result(&b, true, t0 + 61 * (int64_t)US);
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
	assert_true(breaker_may(&b, t0 + 61 * (int64_t)US));
}

static void retries_are_known_beforehand(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct backoff b = {
		.base_ms = 100, .max_ms = 1000, .max_jitter_ms = 0, .max_attempts = 6, .exponential_base = 2
	};
	static const int64_t plain[] = { 100, 300, 700, 1500, 2500, 3500 };
	int64_t *x, *y, *z;
	struct err e;

	(void)state;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	assert_memory_equal(x, plain, sizeof(plain));
	b.max_jitter_ms = 50;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	assert_int_equal(backoff_schedule(&a, &b, "e", &y, &e), OK);
	assert_int_equal(backoff_schedule(&a, &b, "f", &z, &e), OK);
	assert_memory_equal(x, y, sizeof(plain));
	assert_memory_not_equal(x, z, sizeof(plain));
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		assert_true(x[i] >= plain[i] && x[i] <= plain[i] + 50 * (int64_t)(i + 1));
	b.exponential_base = UINT32_MAX;
	b.max_attempts = 5;
	assert_int_equal(backoff_schedule(&a, &b, "e", &x, &e), OK);
	const struct backoff bad[] = {
		{ .base_ms = 0, .max_ms = 1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 2, .max_ms = 1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 2, .max_ms = INT64_MAX, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 0, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 1001, .exponential_base = 1 },
		{ .base_ms = 1, .max_ms = 1, .max_attempts = 1, .exponential_base = 0 },
		{ .base_ms = 1, .max_ms = 1, .max_jitter_ms = -1, .max_attempts = 1, .exponential_base = 1 },
		{ .base_ms = 1,
			.max_ms = 1,
			.max_jitter_ms = INT64_MAX,
			.max_attempts = 1,
			.exponential_base = 1 }
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(backoff_schedule(&a, &bad[i], "e", &x, &e), E_INPUT);
}

/* ---- the court ---- */

#define H(c) "sha256:" c c c c c c c c c c c c c c c c
#define HA H("aaaa")
#define HB H("bbbb")

static struct json *court_request(struct arena *a)
{
	return parse(a,
		"{'request_id':'0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e12','intent':{'type':'t','goal':'g'},"
		"'tool_call_draft':{'tool_id':'deployer','tool_version':'1','args_hash':'" HA
		"','input_schema_hash':'" HA "','output_schema_hash':'" HB
		"'},'effects':['DATA_READ','PAYMENT_SEND'],'context_capsules':[{'capsule_id':'c',"
		"'provenance':{'source':'s','connector':'k','signatures':['x']},'freshness':{'retrieved_at':'2026-06-01T00:00:00Z','ttl_seconds':60},"
		"'scope':{},'content_hash':'" HA
		"'}],'policy_epoch':'7','idempotency_key':'k-1','timestamp':'2026-06-01T00:00:00Z'}");
}

static struct court_facts court_facts(struct arena *a)
{
	return (struct court_facts){
		.manifest = parse(a,
			"{'tool_id':'deployer','version':'1','schema_pins':{'input_schema_hash':'" HA
			"','output_schema_hash':'" HB "'}}"),
		.ceilings = parse(a,
			"{'max_budget_usd':12.50,'max_ops':3,'max_regions':1,'max_tenants':1,'max_rate_per_minute':60,'max_blast_radius':'dataset','custom':{'rows':100}}"),
		.policy_epoch = "7",
		.pipeline = V_ALLOW,
		.estimate = parse(a,
			"{'cost_usd':12.5,'ops':3,'regions':1,'tenants':1,'rate_per_minute':1,'blast_radius':'dataset','custom':{'rows':100},"
			"'rollback_plan':true,'dual_control':true,'preflight':true}"),
		.now_us = t0 + 60 * (int64_t)US,
		.ttl_us = 300 * (int64_t)US,
		.decision_id = "0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e11",
		.token_id = "0b5c9a52-7a55-4f6e-9a3f-3d1f6b9c2e10"
	};
}

static void set_at(struct arena *a, struct json *doc, const char *path, const char *value)
{
	struct bytes rest = bytes_of(path);

	for (;;) {
		struct bytes word = text_cut(&rest, '.');
		const char *name = arena_strndup(a, (const char *)word.p, word.n);
		if (rest.p) {
			doc = json_is(doc, JSON_ARRAY) ? json_at(doc, 0) : doc;
			doc = json_get(doc, name);
			continue;
		}
		doc = json_is(doc, JSON_ARRAY) ? json_at(doc, 0) : doc;
		if (value)
			json_set(a, doc, name, parse(a, value));
		else
			(void)json_remove(doc, name);
		return;
	}
}

static const char *judged(struct arena *a, const struct json *request, const struct court_facts *f)
{
	struct json *decision, *token;

	court_judge(a, request, f, &decision, &token);
	const char *code = json_text(json_at(json_get(decision, "reason_codes"), 0));
	assert_int_equal(token != NULL, text_eq(json_get_text(decision, "result", ""), "ALLOW"));
	assert_int_equal(json_get(decision, "commit_token") != NULL, token != NULL);
	return arena_printf(
		a, "%s%s%s", json_get_text(decision, "result", ""), code ? " " : "", code ? code : "");
}

static void the_court_stage_by_stage(void **state)
{
	/* One defect each; `in`: request, facts of the estimate, ceilings, manifest. */
	enum { REQUEST, ESTIMATE, CEILINGS, MANIFEST };
	static const struct {
		int in;
		const char *path, *value, *want;
	} rows[] = { { REQUEST, "idempotency_key", "'k-2'", "ALLOW" },
		{ REQUEST, "effects", "[]", "DENY DENY_INVARIANT_FAIL" },
		{ REQUEST, "policy_epoch", "'6'", "DENY DENY_POLICY_EPOCH_EXPIRED" },
		{ REQUEST, "effects", "['DATA_READ','BREATHE']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "effects", "['file_read']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "effects", "['\\u0000']", "DENY DENY_EFFECT_NOT_TYPED" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "59",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "9223372036854775807",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.freshness.ttl_seconds", "9223372036854",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.provenance.signatures", "[]",
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules.provenance.signatures", NULL,
			"DENY DENY_UNAUTHENTICATED_MEMORY" },
		{ REQUEST, "context_capsules", "[]", "ALLOW" },
		{ MANIFEST, "schema_pins.input_schema_hash", "'" HB "'", "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "schema_pins.output_schema_hash", NULL, "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "tool_id", "'other'", "DENY DENY_SCHEMA_DRIFT" },
		{ MANIFEST, "version", "'2'", "DENY DENY_SCHEMA_DRIFT" },
		{ REQUEST, "tool_call_draft.tool_version", NULL, "ALLOW" },
		{ ESTIMATE, "cost_usd", "12.51", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", NULL, "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", "1e99999999999", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "cost_usd", "'1'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", "1e99999999999", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", "'12'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_budget_usd", NULL, "ALLOW" },
		{ ESTIMATE, "ops", "4", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "rate_per_minute", "61", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "custom.rows", "101", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "custom", NULL, "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "blast_radius", "'tenant'", "DENY DENY_CEILING_EXCEEDED" },
		{ ESTIMATE, "blast_radius", "'single_record'", "ALLOW" },
		{ ESTIMATE, "blast_radius", "'galaxy'", "DENY DENY_CEILING_EXCEEDED" },
		{ CEILINGS, "max_blast_radius", "'galaxy'", "ALLOW" },
		{ CEILINGS, "max_blast_radius", NULL, "ALLOW" },
		{ ESTIMATE, "rollback_plan", "false", "DENY DENY_COUNTERFACTUAL_FAIL" },
		{ ESTIMATE, "dual_control", "false", "DENY DENY_COUNTERFACTUAL_FAIL" },
		{ REQUEST, "idempotency_key", "''", "DENY DENY_INVARIANT_FAIL" },
		{ ESTIMATE, "preflight", "false", "DENY DENY_PREFLIGHT_FAIL" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *request = court_request(&a);
		struct court_facts f = court_facts(&a);
		struct json *docs[] = { request, json_copy(&a, f.estimate), json_copy(&a, f.ceilings),
			json_copy(&a, f.manifest) };
		set_at(&a, docs[rows[i].in], rows[i].path, rows[i].value);
		f.estimate = docs[ESTIMATE];
		f.ceilings = docs[CEILINGS];
		f.manifest = docs[MANIFEST];
		const char *got = judged(&a, request, &f);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s = %s: %s", rows[i].path, rows[i].value ? rows[i].value : "-", got);
	}
}

static void the_court_and_the_pipeline(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *request = court_request(&a), *decision, *token;
	struct court_facts f = court_facts(&a);

	(void)state;
	/* Two defects: the earlier stage only. */
	f.policy_epoch = "8";
	f.manifest = parse(&a, "{}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_POLICY_EPOCH_EXPIRED");
	f = court_facts(&a);
	f.pipeline = V_DENY;
	f.pipeline_code = REASON_POLICY_VIOLATION;
	assert_string_equal(judged(&a, request, &f), "DENY POLICY_VIOLATION");
	f.pipeline = V_ESCALATE;
	f.pipeline_code = REASON_APPROVAL_REQUIRED;
	assert_string_equal(judged(&a, request, &f), "REQUIRE_APPROVAL APPROVAL_REQUIRED");
	court_judge(&a, request, &f, &decision, &token);
	assert_int_equal(json_get(json_get(decision, "evaluation_trace"), "pipeline_stages_passed")->n, 8);
	/* Less dangerous effects need less. */
	f = court_facts(&a);
	f.estimate = parse(&a, "{}");
	f.ceilings = parse(&a, "{}");
	json_set(&a, request, "effects", parse(&a, "['DATA_WRITE','DATA_READ']"));
	assert_string_equal(judged(&a, request, &f), "ALLOW");
	json_set(&a, request, "effects", parse(&a, "['DATA_DELETE']"));
	assert_string_equal(judged(&a, request, &f), "DENY DENY_COUNTERFACTUAL_FAIL");
	f.estimate = parse(&a, "{'rollback_plan':true}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_PREFLIGHT_FAIL");
	f.estimate = parse(&a, "{'rollback_plan':true,'preflight':true}");
	assert_string_equal(judged(&a, request, &f), "ALLOW");
	json_set(&a, request, "effects", parse(&a, "['SHELL_EXEC']"));
	f.estimate = parse(
		&a, "{'rollback_plan':true,'preflight':true,'dual_control':true,'blast_radius':'galaxy'}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_COUNTERFACTUAL_FAIL");
	f.ceilings = parse(&a, "{'max_blast_radius':'nebula'}");
	assert_string_equal(judged(&a, request, &f), "DENY DENY_CEILING_EXCEEDED");
}

static void a_token_lets_one_thing_be_done_once(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *request = court_request(&a), *decision, *token;
	struct court_facts f = court_facts(&a);
	const struct json *draft = json_get(request, "tool_call_draft");
	struct permit_use u = use_of(NULL);
	struct drawn d = { 0 };
	struct draw x;
	const int64_t now = f.now_us, until = f.now_us + f.ttl_us;

	(void)state;
	court_judge(&a, request, &f, &decision, &token);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x));
	assert_string_equal(
		court_commit(&a, token, f.ceilings, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, NULL, f.ceilings, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_DRAFT");
	assert_string_equal(
		court_commit(&a, token, draft, draft, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, NULL, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_CEILINGS");
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "8", "k-1", u.issuer, now, &d, &x), "TOKEN_EPOCH");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-2", u.issuer, now, &d, &x),
		"TOKEN_IDEMPOTENCY");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, until, &d, &x),
		"TOKEN_EXPIRED");
	assert_string_equal(
		court_commit(&a, parse(&a, "[]"), draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x),
		"TOKEN_SIGNATURE");
	assert_null(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, until - 1, &d, &x));
	commit_at(&d, &x, 1, now);
	assert_string_equal(
		court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, &d, &x), "TOKEN_USED");
	/* What it says of itself counts against it; what was changed does not count at all. */
	json_setb(&a, token, "consumed", true);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_USED");
	json_sets(&a, token, "token_hash", HA);
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_HASH");
	json_sets(&a, token, "expires_at", "2099-01-01T00:00:00Z");
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_SIGNATURE");
	json_sets(&a, token, "expires_at", "never");
	struct json *own = json_copy(&a, token);
	(void)json_remove(own, "token_hash");
	(void)json_remove(own, "signature");
	(void)json_remove(own, "consumed");
	json_sets(&a, token, "token_hash", json_sha256(&a, own));
	sign_text(token, &a, court_token_preimage(&a, token));
	assert_string_equal(court_commit(&a, token, draft, f.ceilings, "7", "k-1", u.issuer, now, NULL, &x),
		"TOKEN_EXPIRED");
	drawn_done(&d);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test(a_permit_is_used_once),
		cmocka_unit_test(permits_that_do_not_count),
		cmocka_unit_test(permits_are_not_built_for_longer),
		cmocka_unit_test(states_follow_their_tables),
		cmocka_unit_test(a_breaker_opens_tries_and_closes),
		cmocka_unit_test(retries_are_known_beforehand),
		cmocka_unit_test(the_court_stage_by_stage),
		cmocka_unit_test(the_court_and_the_pipeline),
		cmocka_unit_test(a_token_lets_one_thing_be_done_once),
		cmocka_unit_test(no_order_overdraws_and_more_limits_never_permit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
