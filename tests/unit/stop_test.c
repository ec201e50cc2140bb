/* stop_test.c — an agent is stopped, a workspace is fenced: every door obeys at once, after a restart, too, until a person lifts it. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "proof/preimage.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>

static struct kernel_fixture x;
static uint8_t secret[SIGN_SECRET], public_key[SIGN_PUBLIC];
enum { SECOND = 1000000 };

static int begin(void **state)
{
	static const uint8_t seed[SIGN_SEED] = { 9 };
	char hex[2 * SIGN_PUBLIC + 1];

	(void)state;
	kernel_fixture_begin(&x);
	x.f.has_clock = true;
	x.f.clock_us = INT64_C(1800000000) * SECOND;
	x.f.step_us = 1000;
	sign_expand(seed, secret, public_key);
	hex_encode(public_key, SIGN_PUBLIC, hex);
	(void)mkdirat(x.home.fd, ".helm/trust", 0700);
	scratch_put(&x.home, ".helm/trust/approvers.json",
		arena_printf(&x.process,
			"{\"keys\":[{\"key_id\":\"ed25519:%s\",\"public_key_hex\":\"%s\",\"label\":\"ops\"}]}",
			hex, hex));
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static const char *answer(const char *text)
{
	struct handling h = { .a = &x.request };
	struct request q = kernel_fixture_shell(&x, text);
	struct err e = { 0 };

	if (kernel_handle(&x.k, &q, &h, &e))
		fail_msg("%s", e.text);
	return h.verdict == V_ALLOW ? "ALLOW" : reason_get(h.decision.reason_code)->code;
}

static void a_killed_agent_does_nothing_until_it_is_revived(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	assert_string_equal(answer("ls"), "ALLOW");
	assert_int_equal(agent_kill(&x.k, &x.request, "agent:x", "it loops", &receipt, &e), OK);
	assert_string_equal(json_get_text(receipt, "effect_id", ""), "helm.freeze/kill");
	assert_string_equal(answer("ls"), "AGENT_KILLED");
	kernel_fixture_reopen(&x);
	assert_string_equal(answer("ls"), "AGENT_KILLED");
	/* Others go on. */
	assert_null(freeze_in_force(x.k.sys, &x.request, x.k.ws, "agent:y"));
	assert_int_equal(freeze_lift(&x.k, &x.request, "agent:x", "", &receipt, &e), OK);
	assert_string_equal(answer("ls"), "ALLOW");
	assert_int_equal(freeze_lift(&x.k, &x.request, "agent:x", "", &receipt, &e), E_INPUT);
}

static struct json *command(const char *id, int epoch, const char *key_id, const char *workspace)
{
	struct arena *a = &x.request;
	struct json *c = json_new(a, JSON_OBJECT), *envelope = json_new(a, JSON_OBJECT);
	uint8_t sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct bytes payload;

	json_sets(a, c, "contract_version", "emergency-stop-fence.v1");
	json_sets(a, c, "audience", "helm");
	json_sets(a, c, "key_id", key_id);
	json_sets(a, c, "command_id", id);
	json_sets(a, c, "tenant_id", "local");
	json_sets(a, c, "workspace_id", workspace);
	json_seti(a, c, "epoch", epoch);
	json_sets(a, c, "actor_id", "ann");
	json_sets(a, c, "reason", "a runaway agent");
	json_sets(a, c, "issued_at", text_time_z(a, x.f.clock_us / SECOND * SECOND));
	json_sets(a, c, "expires_at", text_time_z(a, x.f.clock_us / SECOND * SECOND + 300 * (int64_t)SECOND));
	assert_int_equal(fence_preimage(a, c, "FENCE", &payload, NULL), OK);
	sign_message(secret, payload, sig);
	hex_encode(sig, sizeof(sig), hex);
	json_set(a, envelope, "command", c);
	json_sets(a, envelope, "signature", hex);
	return envelope;
}

static void refused(const struct json *envelope, const char *code)
{
	struct json *ack;
	struct err e = { 0 };

	assert_int_equal(fence_obey(&x.k, &x.request, envelope, &ack, &e), E_DENIED);
	assert_string_equal(e.code, code);
}

static void a_fence_stops_everything_and_is_acknowledged(void **state)
{
	struct json *ack, *again, *receipt;
	struct err e = { 0 };
	struct bytes payload;
	uint8_t sig[SIGN_SIZE];

	(void)state;
	struct json *first = command("c1", 5, "ops", x.ws->root);
	if (fence_obey(&x.k, &x.request, first, &ack, &e))
		fail_msg("%s", e.text);
	assert_string_equal(answer("ls"), "EMERGENCY_STOP_FENCED");
	kernel_fixture_reopen(&x);
	assert_string_equal(answer("ls"), "EMERGENCY_STOP_FENCED");
	/* Signed by the key of the chain. */
	const char *hex = json_get_text(ack, "kernel_signature", "");
	assert_true(hex_decode(hex, strlen(hex), sig, sizeof(sig), true));
	assert_int_equal(fence_preimage(&x.request, json_get(ack, "state"), "FENCE_ACK", &payload, NULL), OK);
	assert_true(sign_verify(key_public(x.k.recorder.key), payload, sig));
	/* The same command again has the same answer and leaves no second act. */
	uint32_t acts = kernel_fixture_receipts(&x, "freeze")->n;
	x.f.clock_us += 2 * SECOND;
	assert_int_equal(fence_obey(&x.k, &x.request, first, &again, &e), OK);
	assert_true(json_eq(ack, again));
	assert_int_equal(kernel_fixture_receipts(&x, "freeze")->n, acts);
	refused(command("c2", 5, "ops", x.ws->root), "FENCE_STALE");
	/* A person lifts it; an old command does not come back. */
	assert_int_equal(freeze_lift(&x.k, &x.request, FREEZE_FENCE, "over", &receipt, &e), OK);
	assert_string_equal(answer("ls"), "ALLOW");
	refused(command("c3", 4, "ops", x.ws->root), "FENCE_STALE");
	assert_string_equal(answer("ls"), "ALLOW");
}

static void a_fence_must_be_for_here_and_from_a_known_key(void **state)
{
	struct json *bad = command("c1", 1, "ops", x.ws->root);

	(void)state;
	refused(command("c1", 1, "ops", "/elsewhere"), "FENCE_SCOPE");
	refused(command("c1", 1, "nobody", x.ws->root), "FENCE_KEY");
	json_sets(&x.request, json_get(bad, "command"), "reason", "another");
	refused(bad, "FENCE_SIGNATURE");
	assert_string_equal(answer("ls"), "ALLOW");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_killed_agent_does_nothing_until_it_is_revived, begin, end),
		cmocka_unit_test_setup_teardown(a_fence_stops_everything_and_is_acknowledged, begin, end),
		cmocka_unit_test_setup_teardown(a_fence_must_be_for_here_and_from_a_known_key, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
