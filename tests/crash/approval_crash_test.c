/* approval_crash_test.c — asking, approving and using a grant when every single system call fails or is the last one: the document
 * stays whole, what a person was told holds, and what may be used once is never used twice. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "tools/crash.h"
#include "tools/place.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* How many people it takes, who says yes (NULL: somebody at a terminal), and the clock (0: the machine's): set by each test. */
static int approvers;
static const char *approver;
static int64_t clock_us;
enum { SECOND = 1000000 };

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

static void set_clock(struct fault *f)
{
	f->has_clock = clock_us != 0;
	f->clock_us = clock_us;
	f->step_us = 1000;
}

/* A twin without faults, for the home it says. */
static void calm(struct crash *c, struct fault *f, struct place *p)
{
	fault_init(f);
	set_clock(f);
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
	kernel_decide(&p->k, &q, &h);
	h.decision.approvers = approvers;
	int rc = kernel_record(&p->k, &q, &h, e);

	*ret = h.verdict;
	return rc;
}

static const char *path_of(const struct place *p)
{
	return p->env[0] + strlen("HOME=");
}

/* The request that waits, if there is one. */
static int approve(struct place *p, struct err *e)
{
	struct sys *sys = p->k.sys;
	struct person who = { .name = approver ? approver : "test" };
	struct approval_terms once = { .reach = REACH_EXACT,
		.is_once = true,
		.expires_us = (sys->now_us(sys) / 1000000 + 3600) * 1000000 };
	struct json *doc, *receipt;
	int rc = approvals_load(sys, &p->a, p->ws, &doc, e);

	/* The person's key is no part of what is swept. */
	if (rc == OK && approver)
		rc = key_load(sys_real(), AT_FDCWD, arena_printf(&p->a, "%s/people", path_of(p)), approver,
			&who.key, e);
	json_each_member (m, rc ? NULL : json_get(doc, "requests"))
		if (text_eq(request_state(m->value, sys->now_us(sys)), "pending")) {
			rc = approval_approve(&p->k, &p->a, m->name, &once, &who, &receipt, e);
			break;
		}
	key_free(&who.key);
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
	set_clock(&c->f);
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
 * whatever a fault left of it.  So may what is kept of the arguments: then it is not kept. */
static void acknowledge(struct crash *c)
{
	static const char *const names[] = { "ws/.helm/log", "ws/.helm/log/leaves", "ws/.helm/log/edge",
		"ws/.helm/log/lock", "ws/.helm/log/heads.jsonl", ".helm", ".helm/trees", "ws/.helm/shown",
		"ws/.helm/shown/shown.jsonl" };
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

/* ---- two people ---- */

static void register_people(struct crash *c)
{
	static const char *const names[] = { "ann", "bob" };
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;

	buf_init(&text, &a);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct key *key = NULL;
		struct err e = { 0 };
		char id[KEY_ID];
		if (key_create(sys_real(), c->t.fd, "people", names[i], &key, &e))
			fail_msg("%s", e.text);
		key_id(key_public(key), id);
		buf_addf(&text, "%s{\"key_id\":\"%s\",\"public_key_hex\":\"%s\",\"label\":\"%s\"}",
			i ? "," : "{\"keys\":[", id, id + strlen("ed25519:"), names[i]);
		key_free(&key);
	}
	buf_adds(&text, "]}");
	(void)mkdirat(c->t.fd, ".helm/trust", 0700);
	scratch_put(&c->t, ".helm/trust/approvers.json", text.p);
}

/* A question that takes two people, and the time that they must wait has passed. */
static void setup_two(struct crash *c)
{
	clock_us = (int64_t)1800000000 * SECOND;
	setup_workspace(c);
	register_people(c);
	with_place(c, ask_once);
	clock_us += 3 * (int64_t)SECOND;
}

static void setup_first_said(struct crash *c)
{
	setup_two(c);
	approver = "ann";
	with_place(c, approve);
	approver = "bob";
}

static int approve_or_twice(struct place *p, struct err *e)
{
	int rc = approve(p, e);

	return rc && text_eq(e->code, "APPROVAL_TWICE") ? OK : rc;
}

/* One is not two.  What the first person was told is said counts, whoever else it was lost for can say it again. */
static void check_first(struct crash *c, const struct crash_end *end)
{
	assert_int_equal(ask_now(c), V_ESCALATE);
	if (!end->acks)
		with_place(c, approve_or_twice);
	approver = "bob";
	with_place(c, approve);
	approver = "ann";
	assert_int_equal(ask_now(c), V_ALLOW);
	assert_int_equal(ask_now(c), V_ESCALATE);
}

static void test_first_of_two(void **state)
{
	(void)state;
	approvers = 2;
	approver = "ann";
	assert_true(crash_sweep(&(struct crash_case){ "first yes", setup_two, act_approve, check_first },
			    NULL) > 3);
}

static void test_last_of_two(void **state)
{
	(void)state;
	approvers = 2;
	assert_true(
		crash_sweep(&(struct crash_case){ "last yes", setup_first_said, act_approve, check_approve },
			NULL) > 5);
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
		cmocka_unit_test(test_first_of_two),
		cmocka_unit_test(test_last_of_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
