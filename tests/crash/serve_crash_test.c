/* serve_crash_test.c — keys of callers and ceilings, when every single system call fails or is the last one.
 *
 * Whoever was told has it; what is kept is on record; what was there before still is; and no document is half of anything. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/apikey.h"
#include "kernel/ceiling.h"
#include "kernel/person.h"
#include "tools/crash.h"
#include "tools/place.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>

static const struct person anna = { .name = "user:1 at a terminal" };

static int place_open(struct crash *c, struct fault *f, struct place *p, struct err *e)
{
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	f->env = p->env;
	int rc = workspace_open(&f->sys, &p->a, arena_printf(&p->a, "%s/ws", c->t.path), 0, &p->ws, e);
	if (rc == OK)
		rc = kernel_open(&f->sys, &p->a, p->ws, &p->k, e);
	p->is_open = rc == OK;
	return rc;
}

static int add_key(struct place *p, const char *principal, struct err *e)
{
	const struct apikey wish = { .principal = principal, .tenant = "default", .scopes = SCOPE_READ };
	struct json *row;
	char *token;

	return apikey_add(&p->k, &p->a, &wish, &anna, &token, &row, e);
}

static int put_ceiling(struct place *p, const char *id, struct err *e)
{
	struct json *row = json_new(&p->a, JSON_OBJECT);

	json_sets(&p->a, row, "subject", "*");
	json_sets(&p->a, row, "window", "day");
	json_seti(&p->a, row, "tool_call_limit", 3);
	return ceiling_put(&p->k, &p->a, id, row, anna.name, e);
}

static void setup(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *done;
	struct err e = { 0 };
	bool created;

	fault_init(&f);
	p.env[0] = arena_printf(&p.a, "HOME=%s", c->t.path);
	f.env = p.env;
	assert_int_equal(workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), WORKSPACE_NEW,
				 &p.ws, &e),
		OK);
	assert_int_equal(workspace_init(&f.sys, &p.a, p.ws, false, &done, &e), OK);
	assert_int_equal(kernel_ensure_key(&f.sys, &p.a, &created, &e), OK);
	AUTO(place_close) struct place made = { 0 };
	assert_int_equal(place_open(c, &f, &made, &e), OK);
	assert_int_equal(add_key(&made, "agent:before", &e), OK);
	assert_int_equal(put_ceiling(&made, "before", &e), OK);
}

/* What can be made again from the receipts may be lost, and so may a lock. */
static void acknowledge(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *root = arena_printf(&a, "%s/ws", c->t.path), *place = sha256_hex(&a, root, strlen(root));
	const char *const names[] = { "ws/.helm/log", "ws/.helm/log/leaves", "ws/.helm/log/edge",
		"ws/.helm/log/lock", "ws/.helm/log/heads.jsonl",
		arena_printf(&a, ".helm/trees/%s/" APIKEYS ".lock", place),
		arena_printf(&a, ".helm/trees/%s/" CEILINGS ".lock", place) };
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
	int rc = place_open(c, &c->f, &p, e);

	if (rc == OK)
		rc = c->arg ? add_key(&p, "agent:new", e) : put_ceiling(&p, "new", e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static bool is_on_record(struct crash *c, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes all = { 0 };

	if (file_read(sys_real(), &a, c->t.fd, "ws/.helm/receipts.jsonl", 1 << 20, 0, &all, NULL))
		return false;
	const uint8_t *at = memmem(all.p, all.n, text, strlen(text));
	return at && memchr(at, '\n', all.n - (size_t)(at - all.p)); /* a torn line is no record */
}

static bool has_key(const struct json *doc, const char *principal)
{
	json_each_member (m, json_get(doc, "keys"))
		if (text_eq(json_get_text(m->value, "principal", ""), principal))
			return true;
	return false;
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(place_close) struct place p = { 0 };
	struct json *keys, *ceilings;
	struct fault f;
	struct err e = { 0 };

	fault_init(&f);
	if (place_open(c, &f, &p, &e) || apikeys_load(&f.sys, &p.a, p.ws, &keys, &e) ||
		ceilings_load(&f.sys, &p.a, p.ws, &ceilings, &e))
		fail_msg("%s", e.text);
	assert_true(has_key(keys, "agent:before"));
	assert_non_null(json_get(json_get(ceilings, "budgets"), "before"));
	bool is_there =
		c->arg ? has_key(keys, "agent:new") : json_get(json_get(ceilings, "budgets"), "new") != NULL;
	bool is_recorded = is_on_record(c, c->arg ? "agent:new" : "\"budget_id\":\"new\"");
	assert_true(is_recorded || !is_there);
	if (end->acks)
		assert_true(is_there && is_recorded);
}

static void a_key_is_there_once_it_is_told(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "key", setup, act, check }, (void *)1) > 10);
}

static void a_ceiling_holds_once_it_is_told(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "ceiling", setup, act, check }, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_key_is_there_once_it_is_told),
		cmocka_unit_test(a_ceiling_holds_once_it_is_told) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
