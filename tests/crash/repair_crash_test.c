/* repair_crash_test.c — a repair of ledgers when every single system call fails or is the last one.  Either the damage is found as before, or
 * it is on record; the next repair finishes what was begun, nothing that was there is lost, and rows appended meanwhile stay. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <unistd.h>

enum { RUNS = 4 };

struct wound {
	const char *file, *from, *to; /* `to` NULL: the file is removed */
	const char *gone; /* a text that nobody may see in `file` afterwards; or NULL */
	bool is_sealed; /* of a piece: a byte is changed */
};

static void open_recorder(struct scratch *t, struct sys *s, struct key **key, struct recorder *r)
{
	struct err e = { 0 };

	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", key, &e), OK);
	recorder_open(r, s, t->fd, *key);
}

static void row(struct recorder *r, struct arena *a, const char *file, const char *id, const char *status,
	struct json *digests)
{
	struct json *one = json_new(a, JSON_OBJECT);
	char digest[SHA256_HEX];
	struct err e = { 0 };

	json_sets(a, one, "status", status);
	json_sets(a, one, "task_id", id);
	if (recorder_row(r, a, file, one, digest, &e))
		fail_msg("%s", e.text);
	json_pushs(a, digests, digest);
}

static void run_one(struct recorder *r, struct arena *a, const char *id)
{
	struct json *digests = json_new(a, JSON_ARRAY), *about = json_new(a, JSON_OBJECT),
		    *call = json_new(a, JSON_OBJECT);
	struct err e = { 0 };

	json_sets(a, call, "call", arena_printf(a, "looks for %s", id));
	assert_int_equal(ledger_note(sys_real(), a, r->state_fd, TOOL_CALLS, call, &e), OK);
	row(r, a, TASK_LEDGER, id, "running", digests);
	row(r, a, COMMAND_LOG, id, "ran", digests);
	row(r, a, TASK_LEDGER, id, "completed", digests);
	json_set(a, about, "rows_sha256", digests);
	json_sets(a, about, "task_id", id);
	struct draft d = { .decision_id = id,
		.effect_id = "X",
		.status = "COMPLETED",
		.verdict = "ALLOW",
		.type = "outcome",
		.metadata = about };
	if (recorder_append(r, a, &d, 1, NULL, &e))
		fail_msg("%s", e.text);
}

static void wound(struct crash *c, const struct wound *w)
{
	AUTO(arena_done) struct arena a = { 0 };

	if (w->is_sealed) {
		int fd = openat(c->t.fd, w->file, O_RDWR);
		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, "\xff\xff", 2, 12), 2);
		close(fd);
		return;
	}
	const char *text = arena_strdup(&a, scratch_get(&c->t, w->file)), *at = strstr(text, w->from);
	assert_non_null(at);
	if (!w->to)
		assert_int_equal(unlinkat(c->t.fd, w->file, 0), 0);
	else
		scratch_put(&c->t, w->file,
			arena_printf(&a, "%.*s%s%s", (int)(at - text), text, w->to, at + strlen(w->from)));
}

static void setup(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = NULL, *made = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };
	size_t sealed;

	assert_int_equal(key_create(sys_real(), c->t.fd, "keys", "root", &made, &e), OK);
	open_recorder(&c->t, sys_real(), &key, &r);
	for (int i = 0; i < RUNS; i++) {
		run_one(&r, &a, arena_printf(&a, "task-%d", i));
		if (i == 1) {
			assert_int_equal(ledger_rotate(sys_real(), c->t.fd, TASK_LEDGER, 1, true, &e), OK);
			assert_int_equal(ledger_seal(&r, &a, &sealed, &e), OK);
		}
	}
	wound(c, c->arg);
}

static int repair(
	struct recorder *r, struct scratch *t, struct log_repaired *ret, struct arena *a, struct err *e)
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct log_check_options options = { .root_fd = t->fd };

	memcpy(own.key, key_public(r->key), KEY_SIZE);
	return audit_repair(r, a, &trust, &options, true, ret, e);
}

static int act(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct log_repaired done;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	return repair(&r, &c->t, &done, &a, e);
}

static struct log_report look(struct crash *c, struct arena *a, const struct key *key)
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct log_check_options options = { .root_fd = c->t.fd };
	struct log_report report;
	struct err e = { 0 };

	memcpy(own.key, key_public(key), KEY_SIZE);
	if (log_check(sys_real(), a, c->t.fd, &trust, &options, &report, &e) ||
		audit_rows(sys_real(), a, c->t.fd, true, &report, &e))
		fail_msg("%s", e.text);
	return report;
}

/* Somebody works on first, as if nothing had happened; then one more repair, and a third that finds nothing. */
static void check(struct crash *c, const struct crash_end *end)
{
	const struct wound *w = c->arg;
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct log_repaired done;
	struct err e = { 0 };

	(void)end;
	open_recorder(&c->t, sys_real(), &key, &r);
	run_one(&r, &a, "task-8");
	if (repair(&r, &c->t, &done, &a, &e))
		fail_msg("cannot repair afterwards: %s", e.text);
	struct log_report now = look(c, &a, key);
	if (!now.is_sound)
		fail_msg("%s", json_get_text(json_at(json_get(now.doc, "findings"), 0), "text", ""));
	if (repair(&r, &c->t, &done, &a, &e))
		fail_msg("%s", e.text);
	assert_null(done.rows_seam);
	assert_null(done.seam);
	if (w->gone)
		assert_null(strstr(scratch_get(&c->t, w->file), w->gone));
	assert_non_null(strstr(scratch_get(&c->t, TASK_LEDGER), "task-8"));
	assert_non_null(strstr(scratch_get(&c->t, COMMAND_LOG), "task-8"));
}

static void sweep(void **state)
{
	static const struct wound wounds[] = {
		{ TASK_LEDGER, "\"completed\", \"task_id\": \"task-3\"",
			"\"forgedddd\", \"task_id\": \"task-3\"", "forgedddd", false },
		{ "segments/task-ledger-000001.jsonl.zst", NULL, NULL, NULL, true },
	};
	const struct crash_case what = { "repair of ledgers", setup, act, check };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wounds); i++)
		assert_true(crash_sweep(&what, (void *)&wounds[i]) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sweep) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
