/* a2a.c — two agents agree on what they can do together.
 *
 * The envelope is signed by its origin with a key that is trusted here; only then is anything else asked.  The first failure is the
 * answer. */
#include "decide/authority/parts.h"

#include "base/hash.h"
#include "proof/sign.h"

#include <string.h>

enum { PATIENCE_US = 10000000, MAJOR = 1 };

/* The five members of version 1, compact and in this order. */
static void add_v1(struct buf *to, struct arena *a, const struct json *envelope)
{
	static const char *const names[] = { "envelope_id", "schema_version", "origin_agent_id",
		"target_agent_id", "payload_hash" };
	struct json *view = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(envelope, names[i]))
			json_set(a, view, names[i], json_get(envelope, names[i]));
	json_write(to, view, JSON_HTML_SAFE);
}

/* Version 2 holds everything but the signature. */
static void add_v2(struct buf *to, struct arena *a, const struct json *envelope)
{
	struct json *rest = json_copy(a, envelope);

	(void)json_remove(rest, "signature");
	buf_adds(to, "HELM/A2AEnvelope/v2\n");
	json_canonical(to, rest);
}

char *a2a_hash(struct arena *a, const struct json *envelope, int version)
{
	struct buf text;

	buf_init(&text, a);
	if (version == 2)
		add_v2(&text, a, envelope);
	else
		add_v1(&text, a, envelope);
	return sha256_prefixed(a, text.p, text.n);
}

struct meeting {
	struct arena *a;
	const struct json *envelope;
	const struct a2a_local *us;
	const char *origin, *target;
	const char *reason, *detail, *why;
};

static bool refuse(struct meeting *m, const char *reason, const char *detail, const char *why)
{
	m->reason = reason;
	m->detail = detail;
	m->why = why;
	return false;
}

static const struct json *key_of(const struct json *keys, const char *kid)
{
	json_each (key, keys)
		if (text_eq(json_get_text(key, "kid", ""), kid))
			return key;
	return NULL;
}

/* Ed25519 over the text of a hash.  alg "ed25519" is over version 1 of it, "ed25519-v2" over version 2, which holds the features, too. */
static bool is_signed(struct meeting *m, const struct json *key, const struct json *signature)
{
	bool is_v2 = text_eq(json_get_text(signature, "alg", ""), "ed25519-v2");
	const char *text = json_get_text(key, "public_key", ""), *hex = json_get_text(signature, "sig", "");
	char *hash = a2a_hash(m->a, m->envelope, is_v2 ? 2 : 1);
	uint8_t sig[SIGN_SIZE] = { 0 };
	struct bytes pub;

	/* The schema says that these are the digits of a signature; anything else would not verify. */
	(void)hex_decode(hex, strlen(hex), sig, sizeof(sig), true);
	return base64_decode(m->a, text, strlen(text), BASE64_STD, true, &pub) && pub.n == SIGN_PUBLIC &&
		sign_verify(pub.p, bytes_of(hash), sig);
}

static bool check_signature(struct meeting *m)
{
	const struct json *signature = json_get(m->envelope, "signature");
	const struct json *key = key_of(m->us->keys, json_get_text(signature, "kid", ""));

	if (!key || !json_get_bool(key, "active", false))
		return refuse(m, "AGENT_NOT_TRUSTED", NULL, "the signing key is not trusted here");
	if (!text_eq(json_get_text(key, "agent_id", ""), m->origin) ||
		!text_eq(json_get_text(signature, "agent_id", ""), m->origin) ||
		!text_eq(json_get_text(key, "alg", ""), json_get_text(signature, "alg", "")) ||
		!is_signed(m, key, signature))
		return refuse(m, "SIGNATURE_INVALID", NULL, "the signature is not that of the origin");
	return true;
}

static bool check_life(struct meeting *m)
{
	if (json_get(m->envelope, "expires_at") && m->us->now_us > checked_time(m->envelope, "expires_at"))
		return refuse(m, "VERSION_INCOMPATIBLE", "ENVELOPE_EXPIRED", "the envelope has expired");
	if (json_get_int(json_get(m->envelope, "schema_version"), "major", 0) != MAJOR)
		return refuse(m, "VERSION_INCOMPATIBLE", NULL, "another major version");
	if (m->us->agent_id && !text_eq(m->us->agent_id, m->target))
		return refuse(m, "POLICY_VIOLATION", "TARGET_MISMATCH", "the envelope is for another agent");
	return true;
}

static bool is_about(const struct json *rule, const char *name, const char *agent)
{
	const char *who = json_get_text(rule, name, "");

	return text_eq(who, "*") || text_eq(who, agent);
}

static bool check_rules(struct meeting *m)
{
	json_each (rule, m->us->rules) {
		if (!text_eq(json_get_text(rule, "action", ""), "DENY") ||
			!is_about(rule, "origin_agent", m->origin) ||
			!is_about(rule, "target_agent", m->target))
			continue;
		json_each (feature, json_get(m->envelope, "required_features"))
			if (texts_have(json_get(rule, "denied_features"), feature->text))
				return refuse(m, "POLICY_VIOLATION", json_get_text(rule, "rule_id", NULL),
					feature->text);
	}
	return true;
}

static bool check_features(struct meeting *m)
{
	json_each (feature, json_get(m->envelope, "required_features"))
		if (!texts_have(m->us->features, feature->text))
			return refuse(m, "FEATURE_MISSING", NULL, feature->text);
	if (m->us->now_us - m->us->begun_us > PATIENCE_US || m->us->now_us < m->us->begun_us)
		return refuse(
			m, "VERSION_INCOMPATIBLE", "NEGOTIATION_TIMEOUT", "it took more than ten seconds");
	return true;
}

static void agree(struct meeting *m, struct json *answer)
{
	struct json *both = json_new(m->a, JSON_ARRAY);

	json_each (feature, m->us->features)
		if (json_text(feature) &&
			texts_have(json_get(m->envelope, "offered_features"), json_text(feature)))
			json_pushs(m->a, both, json_text(feature));
	json_set(m->a, answer, "agreed_features", both);
	json_sets(m->a, answer, "agreed_version", "1.0.0");
}

struct json *a2a_negotiate(struct arena *a, const struct json *envelope, const struct a2a_local *us)
{
	struct meeting m = { .a = a,
		.envelope = envelope,
		.us = us,
		.origin = json_get_text(envelope, "origin_agent_id", ""),
		.target = json_get_text(envelope, "target_agent_id", "") };
	struct json *answer = json_new(a, JSON_OBJECT);

	if (authority_document(a, "a2a-envelope", envelope, NULL))
		(void)refuse(&m, "SIGNATURE_INVALID", "ENVELOPE_INVALID", "the envelope is malformed");
	bool is_agreed =
		!m.reason && check_signature(&m) && check_life(&m) && check_rules(&m) && check_features(&m);

	json_setb(a, answer, "accepted", is_agreed);
	if (is_agreed) {
		agree(&m, answer);
	} else {
		json_sets(a, answer, "deny_reason", m.reason);
		json_sets(a, answer, "deny_details", m.why);
		if (m.detail)
			json_sets(a, answer, "detail_code", m.detail);
	}
	json_sets(a, answer, "receipt_id", us->receipt_id);
	json_sets(a, answer, "timestamp", text_time_z(a, us->now_us));
	return answer;
}
