/* permit.c — permission for one connector, one action, one scope, once (docs/formats/permit.md).
 *
 * The order is part of the promise: nothing that a permit says is believed before its signature is, and what it uses up comes last.  Whoever
 * executes commits the draws with the receipt, before anything leaves: a second use finds the permit, its nonce or its verdict used. */
#include "decide/bounds/parts.h"

#include "base/hash.h"
#include "proof/preimage.h"

#include <string.h>

const char *permit_answer_name(enum permit_answer x)
{
	static const char *const names[] = {
#define PERMIT_NAME(id, name) name,
		PERMIT_ANSWERS(PERMIT_NAME)
#undef PERMIT_NAME
	};

	return names[x];
}

static int64_t time_of(const struct json *permit, const char *name)
{
	const char *text = text_of(permit, name);
	int64_t us;

	return text_parse_time(text, strlen(text), &us) ? us : INT64_MIN;
}

/* Everything that is looked at later is there. */
static bool is_formed(const struct json *permit)
{
	static const char *const texts[] = { "permit_id", "nonce", "connector_id", "resource_ref",
		"issuer_id", "effect_type", "intent_hash", "verdict_hash" };
	static const char version[] = "effect_permit.v1";
	const struct json *scope = json_get(permit, "scope");

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!*text_of(permit, texts[i]))
			return false;
	return text_eq(json_get_text(permit, "signature_version", version), version) &&
		*text_of(scope, "allowed_action") && json_is_bool(json_get(permit, "single_use")) &&
		time_of(permit, "issued_at") != INT64_MIN && time_of(permit, "expires_at") != INT64_MIN;
}

static enum permit_answer check_signature(
	const struct json *permit, const struct permit_use *use, struct bytes preimage)
{
	const char *text = text_of(permit, "signature");
	uint8_t signature[SIGN_SIZE];

	if (!*text)
		return PERMIT_UNSIGNED;
	if (!hex_decode(text, strlen(text), signature, SIGN_SIZE, true))
		return PERMIT_ENCODING;
	if (!sign_verify(use->issuer, preimage, signature))
		return PERMIT_SIGNATURE;
	return use->issuer_id && !text_eq(use->issuer_id, text_of(permit, "issuer_id")) ? PERMIT_ISSUER
											: PERMIT_OK;
}

/* Parameters that it names are the only ones; a value that fits a pattern of those it denies is refused, whatever the parameter. */
static bool params_fit(const struct json *scope, const struct json *params)
{
	const struct json *allowed = json_get(scope, "allowed_params"),
			  *denied = json_get(scope, "deny_patterns");

	json_each_member (m, params) {
		if (json_is(allowed, JSON_ARRAY) && allowed->n && !list_names(allowed, m->name))
			return false;
		json_each (p, denied)
			if (text_glob(word_of(p), m->name, false) ||
				text_glob(word_of(p), word_of(m->value), false))
				return false;
	}
	return true;
}

static bool is_bound(const char *wanted, const char *said)
{
	return !wanted || text_eq(wanted, said);
}

/* On the wire with or without the name of the enumeration. */
static const char *effect_of(const struct json *permit)
{
	const char *type = text_of(permit, "effect_type");

	return text_starts(type, "EFFECT_TYPE_") ? type + strlen("EFFECT_TYPE_") : type;
}

static enum permit_answer check_use(const struct json *permit, const struct permit_use *use)
{
	const struct json *scope = json_get(permit, "scope");

	if (use->now_us < time_of(permit, "issued_at"))
		return PERMIT_NOT_YET;
	if (use->now_us >= time_of(permit, "expires_at"))
		return PERMIT_EXPIRED;
	if (!text_eq(use->connector_id, text_of(permit, "connector_id")) ||
		!text_eq(use->action, text_of(scope, "allowed_action")) ||
		!text_eq(use->resource_ref, text_of(permit, "resource_ref")) ||
		!params_fit(scope, use->params))
		return PERMIT_SCOPE;
	if (!is_bound(use->intent_hash, text_of(permit, "intent_hash")) ||
		!is_bound(use->verdict_hash, text_of(permit, "verdict_hash")) ||
		!is_bound(use->effect_type, effect_of(permit)))
		return PERMIT_BINDING;
	return PERMIT_OK;
}

enum permit_answer permit_check(struct arena *a, const struct json *permit, const struct permit_use *use,
	struct draw ret_draws[3], size_t *ret_n)
{
	static const char *const members[] = { "permit_id", "nonce", "verdict_hash" };
	enum permit_answer answer;
	struct bytes preimage;

	*ret_n = 0;
	if (permit_preimage(a, permit, &preimage, NULL) || !is_formed(permit))
		return PERMIT_MALFORMED;
	answer = check_signature(permit, use, preimage);
	if (answer == PERMIT_OK)
		answer = check_use(permit, use);
	if (answer != PERMIT_OK)
		return answer;
	/* One that may be used again is still not one that two verdicts share. */
	size_t n = json_get_bool(permit, "single_use", true) ? ARRAY_SIZE(members) : 0;
	for (size_t i = 0; i < n; i++) {
		struct draw x = { .kind = i ? DRAW_NONCE : DRAW_PERMIT,
			.key = draw_key(a, members[i], text_of(permit, "issuer_id"),
				text_of(permit, members[i]), NULL),
			.amount = 1,
			.limit = 1,
			.window_length_us = draw_until(time_of(permit, "expires_at")) };
		if (drawn_check(use->drawn, &x, use->now_us) != DRAW_FITS)
			return PERMIT_REPLAY;
		ret_draws[i] = x;
	}
	*ret_n = n;
	return PERMIT_OK;
}

/* ---- issuing ---- */

static bool is_effect(const char *type)
{
	static const char *const types[] = { "READ", "WRITE", "DELETE", "EXECUTE", "NETWORK", "FINANCE" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (text_eq(types[i], type))
			return true;
	return false;
}

static struct json *scope_of(struct arena *a, const struct permit_terms *t)
{
	struct json *scope = json_new(a, JSON_OBJECT);

	json_sets(a, scope, "allowed_action", t->action);
	json_set(a, scope, "allowed_params",
		t->allowed_params ? json_copy(a, t->allowed_params) : json_new(a, JSON_ARRAY));
	json_set(a, scope, "deny_patterns",
		t->deny_patterns ? json_copy(a, t->deny_patterns) : json_new(a, JSON_ARRAY));
	return scope;
}

int permit_build(struct arena *a, const struct permit_terms *t, struct json **ret, struct err *e)
{
	struct json *p = json_new(a, JSON_OBJECT);
	const char *const texts[][2] = { { "permit_id", t->permit_id }, { "intent_hash", t->intent_hash },
		{ "verdict_hash", t->verdict_hash }, { "effect_type", t->effect_type },
		{ "connector_id", t->connector_id }, { "resource_ref", t->resource_ref },
		{ "issuer_id", t->issuer_id }, { "nonce", t->nonce } };

	if (!is_effect(t->effect_type))
		return err_set(e, E_INPUT, "PERMIT",
			"a permit is for READ, WRITE, DELETE, EXECUTE, NETWORK or FINANCE");
	if (t->expires_us > t->verdict_expires_us || t->expires_us <= t->issued_us)
		return err_set(e, E_INPUT, "PERMIT",
			"a permit ends after it begins, and not later than its verdict");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!texts[i][1] || !*texts[i][1])
			return err_set(e, E_INPUT, "PERMIT", "a permit needs its %s", texts[i][0]);
		json_sets(a, p, texts[i][0], texts[i][1]);
	}
	if (!t->action || !*t->action)
		return err_set(e, E_INPUT, "PERMIT", "a permit needs the action that it is for");
	if (t->plan_hash)
		json_sets(a, p, "plan_hash", t->plan_hash);
	if (t->policy_hash)
		json_sets(a, p, "policy_hash", t->policy_hash);
	if (t->evidence_bindings)
		json_set(a, p, "evidence_bindings", json_copy(a, t->evidence_bindings));
	json_set(a, p, "scope", scope_of(a, t));
	json_sets(a, p, "issued_at", text_time_z(a, t->issued_us));
	json_sets(a, p, "expires_at", text_time_z(a, t->expires_us));
	json_setb(a, p, "single_use", true);
	*ret = p;
	return OK;
}
