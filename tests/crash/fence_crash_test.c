/* fence_crash_test.c — an emergency stop from outside, when every single system call fails or is the last one.
 *
 * Whoever got the acknowledgement finds everything stopped, also by a reader that comes before anything is finished; and it is stopped if
 * and only if that is on record.  The same command again is obeyed whatever became of it before. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "proof/preimage.h"
#include "tools/crash.h"
#include "tools/place.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>

enum { SECOND = 1000000 };
static const int64_t clock_us = (int64_t)1800000000 * SECOND;
static uint8_t secret[SIGN_SECRET], public_key[SIGN_PUBLIC];

/* As one process sees it; with the kernel, what was left is finished first. */
static int place_open(struct crash *c, struct fault *f, struct place *p, bool is_kernel, struct err *e)
{
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	f->env = p->env;
	f->has_clock = true;
	f->clock_us = clock_us;
	f->step_us = 1000;
	int rc = workspace_open(&f->sys, &p->a, arena_printf(&p->a, "%s/ws", c->t.path), 0, &p->ws, e);
	if (rc == OK)
		rc = is_kernel ? kernel_open(&f->sys, &p->a, p->ws, &p->k, e)
			       : kernel_open_unarmed(&f->sys, &p->a, p->ws, &p->k, e);
	p->is_open = rc == OK;
	return rc;
}

static void setup(struct crash *c)
{
	static const uint8_t seed[SIGN_SEED] = { 9 };
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *done;
	struct err e = { 0 };
	char hex[2 * SIGN_PUBLIC + 1];
	bool created;

	fault_init(&f);
	p.env[0] = arena_printf(&p.a, "HOME=%s", c->t.path);
	f.env = p.env;
	assert_int_equal(workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), WORKSPACE_NEW,
				 &p.ws, &e),
		OK);
	assert_int_equal(workspace_init(&f.sys, &p.a, p.ws, false, &done, &e), OK);
	assert_int_equal(kernel_ensure_key(&f.sys, &p.a, &created, &e), OK);
	sign_expand(seed, secret, public_key);
	hex_encode(public_key, SIGN_PUBLIC, hex);
	(void)mkdirat(c->t.fd, ".helm/trust", 0700);
	scratch_put(&c->t, ".helm/trust/approvers.json",
		arena_printf(&p.a,
			"{\"keys\":[{\"key_id\":\"ed25519:%s\",\"public_key_hex\":\"%s\",\"label\":\"ops\"}]}",
			hex, hex));
}

static struct json *command(struct place *p)
{
	struct arena *a = &p->a;
	struct json *c = json_new(a, JSON_OBJECT), *envelope = json_new(a, JSON_OBJECT);
	const struct {
		const char *name, *value;
	} members[] = { { "contract_version", "emergency-stop-fence.v1" }, { "audience", "helm" },
		{ "key_id", "ops" }, { "command_id", "c1" }, { "tenant_id", "local" },
		{ "workspace_id", p->ws->root }, { "actor_id", "ann" }, { "reason", "a runaway agent" },
		{ "issued_at", text_time_z(a, clock_us) },
		{ "expires_at", text_time_z(a, clock_us + 300 * (int64_t)SECOND) } };
	uint8_t sig[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct bytes payload;

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(a, c, members[i].name, members[i].value);
	json_seti(a, c, "epoch", 5);
	assert_int_equal(fence_preimage(a, c, "FENCE", &payload, NULL), OK);
	sign_message(secret, payload, sig);
	hex_encode(sig, sizeof(sig), hex);
	json_set(a, envelope, "command", c);
	json_sets(a, envelope, "signature", hex);
	return envelope;
}

/* What can be made again from the receipts may be lost, and so may a lock. */
static void acknowledge(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *root = arena_printf(&a, "%s/ws", c->t.path);
	const char *const names[] = { "ws/.helm/log", "ws/.helm/log/leaves", "ws/.helm/log/edge",
		"ws/.helm/log/lock", "ws/.helm/log/heads.jsonl", "ws/.helm/freeze.json", "ws/.helm",
		arena_printf(&a, ".helm/trees/%s/posture.lock", sha256_hex(&a, root, strlen(root))) };
	struct stat st;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
	crash_ack(c);
}

static int act(struct crash *c, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };
	struct json *ack;
	int rc = place_open(c, &c->f, &p, true, e);

	if (rc == OK)
		rc = fence_obey(&p.k, &p.a, command(&p), &ack, e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static bool is_fenced(struct crash *c, bool is_kernel)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };

	fault_init(&f);
	if (place_open(c, &f, &p, is_kernel, &e))
		fail_msg("%s", e.text);
	return freeze_in_force(p.k.sys, &p.a, p.k.ws, "agent:x") != NULL;
}

static bool is_on_record(struct crash *c)
{
	static const char effect[] = "helm.freeze/fence";
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes text = { 0 };

	if (file_read(sys_real(), &a, c->t.fd, "ws/.helm/receipts.jsonl", 1 << 20, 0, &text, NULL))
		return false;
	const uint8_t *at = memmem(text.p, text.n, effect, strlen(effect));
	return at && memchr(at, '\n', text.n - (size_t)(at - text.p)); /* a torn line is no record */
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(place_close) struct place p = { 0 };
	bool is_recorded = is_on_record(c), before = is_fenced(c, false);
	struct fault f;
	struct json *ack;
	struct err e = { 0 };

	assert_true(before || !is_recorded);
	assert_int_equal(is_fenced(c, true), is_recorded);
	assert_int_equal(is_fenced(c, false), is_recorded);
	if (end->acks)
		assert_true(before && is_recorded);
	fault_init(&f);
	if (place_open(c, &f, &p, true, &e) || fence_obey(&p.k, &p.a, command(&p), &ack, &e))
		fail_msg("%s", e.text);
	assert_true(is_fenced(c, false));
}

static void a_fence_holds_once_it_is_acknowledged(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "fence", setup, act, check }, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_fence_holds_once_it_is_acknowledged) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
