/* approval_crash_test.c — asking, approving and using a grant when every single system call fails or is the last one: the document
 * stays whole, what a person was told holds, and what may be used once is never used twice. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <string.h>

struct place {
	struct arena a;
	struct workspace *ws;
	struct kernel k;
	struct surroundings at;
	bool is_open;
	const char *env[4];
};

static void place_close(struct place *p)
{
	if (p->is_open)
		kernel_close(&p->k);
	workspace_close(p->ws);
	arena_done(&p->a);
}

/* The workspace as one process sees it. */
static int place_open(struct crash *c, struct sys *s, struct place *p, struct err *e)
{
	const char *ws = arena_printf(&p->a, "%s/ws", c->t.path);
	int rc = workspace_open(s, &p->a, ws, 0, &p->ws, e);

	if (rc == OK)
		rc = kernel_open(s, &p->a, p->ws, &p->k, e);
	p->is_open = rc == OK;
	if (rc == OK)
		p->at = guard_at(&p->k.guard, &p->a, ws);
	return rc;
}

/* A twin without faults, for the home it says. */
static void calm(struct crash *c, struct fault *f, struct place *p)
{
	fault_init(f);
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	f->env = p->env;
}

static int ask(struct place *p, enum verdict *ret, struct err *e)
{
	struct handling h = { .a = &p->a };
	struct request q = { .who = { .door = "test", .subject_id = "agent:x", .session = "s" },
		.what = { .tool = "sh", .action = "EXECUTE_COMMAND", .shell = bytes_of("rm -rf build") },
		.where = &p->at,
		.profile = profiles_find(&p->k.guard.profiles, "workspace_edit"),
		.mode = GUARD_ENFORCE };
	int rc = kernel_handle(&p->k, &q, &h, e);

	*ret = h.verdict;
	return rc;
}

/* The request that waits, if there is one. */
static int approve(struct place *p, struct err *e)
{
	struct sys *sys = p->k.sys;
	struct person who = { .name = "test" };
	struct approval_terms once = { .reach = REACH_EXACT,
		.is_once = true,
		.expires_us = (sys->now_us(sys) / 1000000 + 3600) * 1000000 };
	struct json *doc, *receipt;
	int rc = approvals_load(sys, &p->a, p->ws, &doc, e);

	json_each_member (m, rc ? NULL : json_get(doc, "requests"))
		if (text_eq(request_state(m->value, sys->now_us(sys)), "pending"))
			return approval_approve(&p->k, &p->a, m->name, &once, &who, &receipt, e);
	return rc;
}

static void setup_workspace(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *done;
	struct err e = { 0 };
	bool created;

	calm(c, &f, &p);
	assert_int_equal(workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), WORKSPACE_NEW,
				 &p.ws, &e),
		OK);
	assert_int_equal(workspace_init(&f.sys, &p.a, p.ws, false, &done, &e), OK);
	assert_int_equal(kernel_ensure_key(&f.sys, &p.a, &created, &e), OK);
}

static void with_place(struct crash *c, int (*fn)(struct place *p, struct err *e))
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };

	calm(c, &f, &p);
	if (place_open(c, &f.sys, &p, &e) || fn(&p, &e))
		fail_msg("%s", e.text);
}

static int ask_once(struct place *p, struct err *e)
{
	enum verdict v;

	return ask(p, &v, e);
}

static void setup_asked(struct crash *c)
{
	setup_workspace(c);
	with_place(c, ask_once);
}

static void setup_granted(struct crash *c)
{
	setup_asked(c);
	with_place(c, approve);
}

/* ---- acts ---- */

static int act_in(struct crash *c, struct place *p, struct err *e)
{
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	c->f.env = p->env;
	return place_open(c, &c->f.sys, p, e);
}

static void may_be_lost(struct crash *c, const char *path)
{
	struct stat st;

	if (fstatat(c->t.fd, path, &st, 0))
		return;
	for (size_t i = 0; i < c->f.unsynced_count; i++)
		if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
			c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
}

/* What can be made again from the receipts may be lost: the log over them, and the snapshot of which grants are alive with
 * whatever a fault left of it. */
static void acknowledge(struct crash *c)
{
	static const char *const names[] = { "ws/.helm/log", "ws/.helm/log/leaves", "ws/.helm/log/edge",
		"ws/.helm/log/lock", "ws/.helm/log/heads.jsonl", ".helm", ".helm/trees" };
	AUTO(arena_done) struct arena a = { 0 };
	char **dirs, **files;
	size_t n, m;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		may_be_lost(c, names[k]);
	if (file_list(sys_real(), &a, c->t.fd, ".helm/trees", &dirs, &n, NULL))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		const char *dir = arena_printf(&a, ".helm/trees/%s", dirs[i]);
		may_be_lost(c, dir);
		if (file_list(sys_real(), &a, c->t.fd, dir, &files, &m, NULL))
			m = 0;
		for (size_t k = 0; k < m; k++)
			may_be_lost(c, arena_printf(&a, "%s/%s", dir, files[k]));
	}
	crash_ack(c);
}

static int act_approve(struct crash *c, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };
	int rc = act_in(c, &p, e);

	if (rc == OK)
		rc = approve(&p, e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

/* Acknowledged is only what was allowed. */
static int act_ask(struct crash *c, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };
	enum verdict v = V_DENY;
	int rc = act_in(c, &p, e);

	if (rc == OK)
		rc = ask(&p, &v, e);
	if (rc == OK && v == V_ALLOW)
		acknowledge(c);
	return rc;
}

/* ---- checks ---- */

static int count_allowed(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	unsigned *n = arg;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	*n += receipt && text_eq(json_get_text(receipt, "verdict", ""), "ALLOW");
	return 0;
}

static unsigned allowed(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };
	unsigned n = 0;

	calm(c, &f, &p);
	assert_int_equal(place_open(c, &f.sys, &p, &e), OK);
	assert_int_equal(receipts_each(&f.sys, p.ws->state_fd, count_allowed, &n, &e), OK);
	return n;
}

static enum verdict ask_now(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *doc;
	struct err e = { 0 };
	enum verdict v = V_DENY;

	calm(c, &f, &p);
	if (place_open(c, &f.sys, &p, &e) || approvals_load(&f.sys, &p.a, p.ws, &doc, &e) || ask(&p, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

/* What a person was told is approved, passes; and passes once. */
static void check_approve(struct crash *c, const struct crash_end *end)
{
	enum verdict first = ask_now(c);

	if (end->acks)
		assert_int_equal(first, V_ALLOW);
	assert_int_equal(ask_now(c), V_ESCALATE);
	assert_int_equal(allowed(c), first == V_ALLOW);
}

/* However it ended: at most once. */
static void check_use(struct crash *c, const struct crash_end *end)
{
	unsigned before = allowed(c);

	assert_true(before <= 1 && before >= (end->acks > 0));
	if (!end->fired)
		assert_int_equal(before, 1);
	(void)ask_now(c);
	(void)ask_now(c);
	assert_true(allowed(c) <= 1);
}

/* Nobody has answered, so nothing passes; and the question can be kept and answered afterwards. */
static void check_ask(struct crash *c, const struct crash_end *end)
{
	assert_int_equal(end->acks, 0);
	assert_int_equal(ask_now(c), V_ESCALATE);
	with_place(c, approve);
	assert_int_equal(ask_now(c), V_ALLOW);
}

static void test_asking(void **state)
{
	(void)state;
	assert_true(
		crash_sweep(&(struct crash_case){ "ask", setup_workspace, act_ask, check_ask }, NULL) > 5);
}

static void test_approving(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "approve", setup_asked, act_approve, check_approve },
			    NULL) > 5);
}

static void test_using(void **state)
{
	(void)state;
	assert_true(crash_sweep(&(struct crash_case){ "use", setup_granted, act_ask, check_use }, NULL) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asking),
		cmocka_unit_test(test_approving),
		cmocka_unit_test(test_using),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
