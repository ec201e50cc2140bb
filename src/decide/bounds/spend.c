/* spend.c — what calls of models may cost (docs/formats/policy-limits.md).
 *
 * A request that names a provider or a model is bounded by the spend envelope that it names or that is written for who asks.  Its cost is what it
 * says, and where the policy has prices, what its tokens cost by these, whichever is more. */
#include "decide/bounds/parts.h"

#include <string.h>

/* Written for who asks; naming one of somebody else finds none. */
static const struct limit *find(const struct judging *j, const struct limits *l)
{
	const struct json *given = json_get(j->ask->params, "spend_envelope_id");
	const char *who = j->facts->principal ? j->facts->principal : "",
		   *tenant = j->facts->tenant ? j->facts->tenant : "";

	for (size_t i = 0; i < l->spend_count; i++) {
		const struct json *doc = l->spends[i].doc;
		if ((!given || (json_text(given) && text_eq(json_text(given), l->spends[i].id))) &&
			text_eq(json_get_text(doc, "principal_id", who), who) &&
			text_eq(json_get_text(doc, "agent_id", who), who) &&
			text_eq(json_get_text(doc, "tenant_id", tenant), tenant))
			return &l->spends[i];
	}
	return NULL;
}

/* Does it name a model, a provider or an envelope, in whatever form? */
static bool is_spending(const struct json *params)
{
	return json_get(params, "provider") || json_get(params, "model") ||
		json_get(params, "spend_envelope_id");
}

/* Cents, rounded up; false when it is no amount. */
static bool priced(const struct judging *j, const struct json *price, int64_t *ret)
{
	static const struct {
		const char *tokens, *price;
	} parts[] = { { "input_tokens", "input_per_million_cents" },
		{ "output_tokens", "output_per_million_cents" } };
	__int128 sum = 0;
	int64_t n;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!limit_amount(j, parts[i].tokens, 0, &n))
			return false;
		sum += (__int128)n * json_get_int(price, parts[i].price, 0);
	}
	sum = (sum + 999999) / 1000000;
	*ret = (int64_t)sum;
	return sum <= INT64_MAX;
}

/* A model that the policy has no price for costs what the request says. */
static bool cost_of(struct judging *j, const struct limits *l, const char *model, int64_t *ret)
{
	const char *provider = text_of(j->ask->params, "provider");
	const struct json *price = json_get(l->prices, arena_printf(j->a, "%s/%s", provider, model));
	int64_t by_price;

	(void)limit_amount(j, "estimated_cost_cents", price ? 0 : -1, ret); /* the gate has looked at it */
	if (!priced(j, price, &by_price))
		return false;
	if (price && by_price > *ret)
		*ret = by_price;
	return *ret >= 0;
}

static bool is_model_allowed(const struct json *doc, const char *model)
{
	return list_names(json_get(doc, "allowed_models"), model) ||
		(json_get_bool(doc, "allow_model_substitution", false) &&
			list_names(json_get(doc, "fallback_models"), model));
}

static int64_t time_of(const struct json *doc, const char *name, int64_t absent)
{
	const char *text = text_of(doc, name);
	int64_t us;

	return text_parse_time(text, strlen(text), &us) ? us : absent;
}

/* What stands in the document was spent elsewhere, before the chain. */
static bool fits(struct judging *j, const struct limit *l, const struct drawn *drawn, struct draw *x)
{
	int64_t before = json_get_int(l->doc, "used_amount_cents", 0) +
		json_get_int(l->doc, "reserved_amount_cents", 0);

	x->limit = l->most > before ? l->most - before : 0;
	return drawn_check(drawn, x, j->facts->now_us) == DRAW_FITS;
}

void spend_judge(
	struct judging *j, const struct limits *l, const struct drawn *drawn, struct gate_answer *ret)
{
	const char *provider = text_of(j->ask->params, "provider"), *model = text_of(j->ask->params, "model");
	const struct limit *s = find(j, l);
	int64_t now = j->facts->now_us, cents = 0;

	if (!l->spend_count || !is_spending(j->ask->params))
		return;
	if (!s)
		return gate_deny(
			ret, REASON_ERR_SPEND_ENVELOPE_NOT_FOUND, NULL, "No spend envelope is for this.");
	if (!json_get_bool(s->doc, "active", false))
		return gate_deny(
			ret, REASON_ERR_SPEND_ENVELOPE_INACTIVE, s->id, "The spend envelope is not active.");
	if (now < time_of(s->doc, "effective_at", INT64_MIN))
		return gate_deny(ret, REASON_ERR_SPEND_ENVELOPE_NOT_YET_EFFECTIVE, s->id,
			"The spend envelope begins later.");
	if (now >= time_of(s->doc, "expires_at", INT64_MAX))
		return gate_deny(
			ret, REASON_ERR_SPEND_ENVELOPE_EXPIRED, s->id, "The spend envelope is over.");
	if (json_get_bool(s->doc, "emergency_stop", false))
		return gate_deny(ret, REASON_ERR_SPEND_EMERGENCY_STOP, s->id, "All spending is stopped.");
	if (!cost_of(j, l, model, &cents))
		return gate_deny(ret, REASON_ERR_SPEND_INVALID_AMOUNT, s->id, "What it costs is not known.");
	if (!list_names(json_get(s->doc, "allowed_providers"), provider))
		return gate_deny(ret, REASON_ERR_SPEND_PROVIDER_NOT_ALLOWED, s->id,
			arena_printf(j->a, "Provider '%s' is not among the allowed ones.", provider));
	if (!is_model_allowed(s->doc, model))
		return gate_deny(ret, REASON_ERR_SPEND_MODEL_NOT_ALLOWED, s->id,
			arena_printf(j->a, "Model '%s' is not among the allowed ones.", model));
	if (cents > json_get_int(s->doc, "per_request_max_cents", INT64_MAX))
		return gate_deny(
			ret, REASON_ERR_SPEND_PER_REQUEST_LIMIT, s->id, "One request may not cost so much.");
	struct draw x = limit_draw(s, j, DRAW_BUDGET, "spend", cents);
	x.is_held = true;
	if (!fits(j, s, drawn, &x))
		return gate_deny(ret, REASON_ERR_BALANCE_INSUFFICIENT, s->id, "The balance is too low.");
	gate_draw(j, &x);
	if (cents > json_get_int(s->doc, "approval_required_above_cents", INT64_MAX) &&
		ret->verdict == V_ALLOW)
		gate_escalate(ret, REASON_ERR_APPROVAL_REQUIRED, s->id, "So much at once needs a person.");
}
