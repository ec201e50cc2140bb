/* a2a_test.c — agents among each other: what is agreed upon, and the first reason why nothing is. */
#include "base/hash.h"
#include "decide/authority/authority.h"
#include "proof/sign.h"
#include "tools/unit.h"

#include <string.h>

static uint8_t secret[SIGN_SECRET], public_key[SIGN_PUBLIC];

static const char *sign_text(struct arena *a, struct bytes text)
{
	uint8_t sig[SIGN_SIZE];
	char *hex = arena_text(a, 2 * SIGN_SIZE + 1);

	sign_message(secret, text, sig);
	hex_encode(sig, SIGN_SIZE, hex);
	return hex;
}

static struct json *parse(struct arena *a, const char *t)
{
	struct json *doc;
	struct err e;

	if (json_parse(a, bytes_of(t), "test", NULL, &doc, &e))
		fail_msg("%s", e.text);
	return doc;
}

static struct json *envelope(struct arena *a, const char *change, const char *alg)
{
	struct json *e = parse(a,
		"{\"envelope_id\":\"env-1\",\"schema_version\":{\"major\":1,\"minor\":0,\"patch\":0},\"origin_agent_id\":\"agent:a\","
		"\"target_agent_id\":\"agent:b\",\"required_features\":[],\"offered_features\":[],"
		"\"payload_hash\":\"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\"}");
	struct json *s = json_new(a, JSON_OBJECT);

	json_each_member (m, parse(a, change))
		json_set(a, e, m->name, m->value);
	json_sets(a, s, "kid", "k1");
	json_sets(a, s, "alg", alg);
	json_sets(a, s, "agent_id", "agent:a");
	json_sets(a, s, "sig", sign_text(a, bytes_of(a2a_hash(a, e, text_eq(alg, "ed25519") ? 1 : 2))));
	json_set(a, e, "signature", s);
	return e;
}

static struct a2a_local here(struct arena *a, const char *features, const char *alg)
{
	struct json *keys = json_new(a, JSON_ARRAY), *key = json_new(a, JSON_OBJECT);

	json_sets(a, key, "kid", "k1");
	json_sets(a, key, "agent_id", "agent:a");
	json_sets(a, key, "alg", alg);
	json_sets(a, key, "public_key", base64_encode(a, public_key, SIGN_PUBLIC, BASE64_STD, true));
	json_setb(a, key, "active", true);
	json_push(a, keys, key);
	return (struct a2a_local){ .features = parse(a, features),
		.keys = keys,
		.receipt_id = "a2a-neg:00000000",
		.begun_us = 0,
		.now_us = 1 };
}

static void meet(struct arena *a, const struct json *e, const struct a2a_local *us, const char *reason)
{
	struct json *answer = a2a_negotiate(a, e, us);

	assert_string_equal(json_get_text(answer, "deny_reason", ""), reason);
	assert_int_equal(json_get_bool(answer, "accepted", false), !*reason);
}

static void agents_agree_on_what_both_have(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct a2a_local us = here(&a, "[\"METERING_RECEIPTS\",\"DISPUTE_REPLAY\",\"IATP_AUTH\"]", "ed25519");
	struct json *e =
		envelope(&a, "{\"offered_features\":[\"DISPUTE_REPLAY\",\"METERING_RECEIPTS\"]}", "ed25519");

	(void)state;
	/* The published value. */
	assert_string_equal(a2a_hash(&a, e, 1),
		"sha256:92b2b2891b868d8b149b850422a7aab9ab2151792b074e92fa3af38a584c3063");
	struct json *answer = a2a_negotiate(&a, e, &us);
	assert_true(json_eq(json_get(answer, "agreed_features"),
		parse(&a, "[\"METERING_RECEIPTS\",\"DISPUTE_REPLAY\"]")));
	assert_string_equal(json_get_text(answer, "agreed_version", ""), "1.0.0");
	meet(&a, envelope(&a, "{\"schema_version\":{\"major\":1,\"minor\":9,\"patch\":0}}", "ed25519"), &us,
		"");
	us.agent_id = "agent:b";
	meet(&a, e, &us, "");
	us.agent_id = "agent:c";
	meet(&a, e, &us, "POLICY_VIOLATION");
}

static void agents_are_refused_for_the_first_reason(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct a2a_local us = here(&a, "[1]", "ed25519"), v2 = here(&a, "[\"DISPUTE_REPLAY\"]", "ed25519-v2");
	struct json *e = envelope(&a, "{}", "ed25519");

	(void)state;
	meet(&a, parse(&a, "{}"), &us, "SIGNATURE_INVALID");
	meet(&a, envelope(&a, "{\"expires_at\":\"1969-01-01T00:00:00Z\"}", "ed25519"), &us,
		"VERSION_INCOMPATIBLE");
	meet(&a, envelope(&a, "{\"expires_at\":\"2069-01-01T00:00:00Z\"}", "ed25519"), &us, "");
	meet(&a, envelope(&a, "{\"schema_version\":{\"major\":2,\"minor\":0,\"patch\":0}}", "ed25519"), &us,
		"VERSION_INCOMPATIBLE");
	meet(&a, envelope(&a, "{\"required_features\":[\"IATP_AUTH\"]}", "ed25519"), &us, "FEATURE_MISSING");
	/* Features are outside the first hash, inside the second. */
	struct json *forged = envelope(&a, "{}", "ed25519-v2");
	meet(&a, forged, &v2, "");
	json_set(&a, forged, "required_features", parse(&a, "[\"DISPUTE_REPLAY\"]"));
	meet(&a, forged, &v2, "SIGNATURE_INVALID");
	meet(&a, envelope(&a, "{\"required_features\":[\"DISPUTE_REPLAY\"]}", "ed25519-v2"), &v2, "");
	assert_string_equal(a2a_hash(&a, parse(&a, "{}"), 1), sha256_prefixed(&a, "{}", 2));
	meet(&a, e, &v2, "SIGNATURE_INVALID");
	us.rules = parse(&a,
		"[{\"rule_id\":\"r0\",\"origin_agent\":\"*\",\"target_agent\":\"*\",\"action\":\"ALLOW\"},"
		"{\"rule_id\":\"r1\",\"origin_agent\":\"agent:z\",\"target_agent\":\"*\",\"denied_features\":[\"IATP_AUTH\"],\"action\":\"DENY\"},"
		"{\"rule_id\":\"r2\",\"origin_agent\":\"*\",\"target_agent\":\"agent:z\",\"denied_features\":[\"IATP_AUTH\"],\"action\":\"DENY\"},"
		"{\"rule_id\":\"r3\",\"origin_agent\":\"*\",\"target_agent\":\"agent:b\",\"denied_features\":[\"IATP_AUTH\"],\"action\":\"DENY\"}]");
	meet(&a, envelope(&a, "{\"required_features\":[\"IATP_AUTH\"]}", "ed25519"), &us, "POLICY_VIOLATION");
	meet(&a, envelope(&a, "{\"required_features\":[\"DISPUTE_REPLAY\"]}", "ed25519"), &us,
		"FEATURE_MISSING");
	us.now_us = 10000001;
	meet(&a, e, &us, "VERSION_INCOMPATIBLE");
	us.now_us = -1;
	meet(&a, e, &us, "VERSION_INCOMPATIBLE");
	us.now_us = 1;
	/* Keys. */
	struct json *key = json_at(us.keys, 0);
	json_sets(&a, key, "agent_id", "agent:other");
	meet(&a, e, &us, "SIGNATURE_INVALID");
	json_sets(&a, key, "agent_id", "agent:a");
	json_sets(&a, key, "public_key", "AAAA");
	meet(&a, e, &us, "SIGNATURE_INVALID");
	json_sets(&a, key, "public_key", "no key");
	meet(&a, e, &us, "SIGNATURE_INVALID");
	json_sets(&a, json_get(e, "signature"), "agent_id", "agent:other");
	meet(&a, e, &us, "SIGNATURE_INVALID");
	json_setb(&a, key, "active", false);
	meet(&a, e, &us, "AGENT_NOT_TRUSTED");
	json_sets(&a, key, "kid", "k2");
	meet(&a, e, &us, "AGENT_NOT_TRUSTED");
}

static int begin(void **state)
{
	static const uint8_t seed[SIGN_SEED] = { 7 };

	(void)state;
	sign_expand(seed, secret, public_key);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_agree_on_what_both_have),
		cmocka_unit_test(agents_are_refused_for_the_first_reason),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
