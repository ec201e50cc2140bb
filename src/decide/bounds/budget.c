/* budget.c — the gate of budgets: money and requests, risk, and what models cost.
 *
 * Every budget that speaks about the question must have room; what it takes is drawn.  A budget that is named and is not there, an amount that
 * is none and a sum that cannot be known are errors, and errors deny. */
#include "decide/bounds/parts.h"

static void deny_error(struct gate_answer *ret, const char *rule, const char *text)
{
	gate_deny(ret, REASON_BUDGET_ERROR, rule, text);
}

/* Is there room?  Then it is drawn. */
static bool take(struct judging *j, const struct drawn *drawn, const struct draw *x, const char *id,
	struct gate_answer *ret)
{
	enum draw_answer answer = drawn_check(drawn, x, j->facts->now_us);

	if (answer == DRAW_FULL)
		gate_deny(ret, REASON_BUDGET_EXCEEDED, id,
			arena_printf(j->a, "Budget %s has less than %lld left of %lld.", id,
				(long long)x->amount, (long long)x->limit));
	else if (answer != DRAW_FITS)
		deny_error(ret, id, arena_printf(j->a, "Budget %s cannot be drawn on.", id));
	else
		gate_draw(j, x);
	return answer == DRAW_FITS;
}

static void judge_budget(struct judging *j, const struct limit *l, const struct drawn *drawn, int64_t cents,
	struct gate_answer *ret)
{
	bool is_money = !text_eq(json_get_text(l->doc, "unit", "cents"), "requests");
	struct draw x = limit_draw(l, j, DRAW_BUDGET, "budget", is_money ? cents : 1);

	x.is_held = is_money;
	if (x.amount > json_get_int(l->doc, "most_per_request", INT64_MAX))
		gate_deny(ret, REASON_BUDGET_EXCEEDED, l->id,
			arena_printf(j->a, "One request may not take %lld of budget %s.", (long long)x.amount,
				l->id));
	else if (take(j, drawn, &x, l->id, ret) && x.amount > json_get_int(l->doc, "ask_above", INT64_MAX) &&
		ret->verdict == V_ALLOW)
		gate_escalate(ret, REASON_APPROVAL_REQUIRED, l->id,
			arena_printf(j->a, "%lld of budget %s at once needs a person.", (long long)x.amount,
				l->id));
}

/* ---- risk (docs/formats/policy-limits.md) ---- */

/* What nobody has rated is critical; and nothing is without risk because whoever asks says so. */
static size_t rated(const struct judging *j)
{
	static const char *const names[] = { "LOW", "MEDIUM", "HIGH", "CRITICAL" };
	const char *level = json_get_text(j->facts->known, "risk_level", "");
	size_t i = 0;

	while (i < ARRAY_SIZE(names) - 1 && !text_eq(names[i], level))
		i++;
	return i;
}

static void judge_risk(
	struct judging *j, const struct limit *l, const struct drawn *drawn, struct gate_answer *ret)
{
	static const int weights[] = { 1, 2, 5, 10 }, autonomy[] = { 10, 40, 70, 100 };
	static const struct {
		const char *what, *amount, *cap;
	} more[] = { { "risk-blast", "blast", "blast_cap" },
		{ "risk-compute", "compute_ms", "compute_ms_cap" } };
	size_t level = rated(j);
	int64_t base, n, uncertainty = json_get_int(j->facts->known, "uncertainty_percent", 0);

	if (!limit_amount(j, "risk", 1, &base) ||
		__builtin_mul_overflow(base > 1 ? base : 1, weights[level], &base))
		return deny_error(ret, "risk", "The risk that the request names is no amount.");
	struct draw x = limit_draw(l, j, DRAW_BUDGET, "risk", base);
	if (!take(j, drawn, &x, "risk", ret))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		const struct json *cap = json_get(l->doc, more[i].cap);
		if (!limit_amount(j, more[i].amount, 0, &n))
			return deny_error(ret, "risk", "The risk that the request names is no amount.");
		x = limit_draw(l, j, DRAW_BUDGET, more[i].what, n);
		x.limit = json_get_int(l->doc, more[i].cap, 0);
		if (cap && !take(j, drawn, &x, more[i].what, ret))
			return;
	}
	if (100 - uncertainty < autonomy[level] && ret->verdict == V_ALLOW)
		gate_escalate(ret, REASON_APPROVAL_REQUIRED, "risk",
			"It is too uncertain to be done without a person.");
}

/* ---- the gate ---- */

static bool is_named_here(const struct limits *l, const char *id)
{
	for (size_t i = 0; l && i < l->budget_count; i++)
		if (text_eq(l->budgets[i].id, id))
			return true;
	return false;
}

static void judge_limits(struct judging *j, const struct limits *l, const struct drawn *drawn, int64_t cents,
	struct gate_answer *ret)
{
	for (size_t i = 0; i < l->budget_count && ret->verdict != V_DENY; i++)
		if (limit_holds(&l->budgets[i], j->ask))
			judge_budget(j, &l->budgets[i], drawn, cents, ret);
	for (size_t i = 0; i < l->risk_count && ret->verdict != V_DENY; i++)
		judge_risk(j, &l->risks[i], drawn, ret);
	if (ret->verdict != V_DENY)
		spend_judge(j, l, drawn, ret);
}

bool limits_money(const struct limits *l)
{
	return l && (l->budget_count || l->risk_count || l->spend_count);
}

void gate_budget(struct judging *j, struct gate_answer *ret)
{
	const struct budget_facts *f = j->facts->budget;
	const struct limits *l = j->limits;
	int64_t cents;

	ret->is_active = limits_money(l) || j->ask->budget_id;
	if (!ret->is_active)
		return;
	if (!f || f->error)
		return deny_error(ret, NULL, f ? f->error : "Nobody knows what was drawn.");
	if (j->ask->budget_id && !is_named_here(l, j->ask->budget_id))
		return deny_error(ret, NULL,
			arena_printf(j->a, "There is no budget of the name %s.", j->ask->budget_id));
	if (!limit_amount(j, "estimated_cost_cents", 1, &cents))
		return deny_error(ret, NULL, "The cost that the request names is no amount.");
	if (l)
		judge_limits(j, l, f->drawn, cents, ret);
}
