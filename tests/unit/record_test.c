/* record_test.c — the chain and the log over it: what is written verifies, and what was cut or changed is found. */

#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
};

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void reopen(struct fixture *f)
{
	recorder_close(&f->r);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
}

static int append(struct fixture *f, const char *id, struct err *e)
{
	struct draft d = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.type = "decision" };

	return recorder_append(&f->r, &f->a, &d, 1, NULL, e);
}

static void append_many(struct fixture *f, int n)
{
	struct err e = { 0 };

	for (int i = 0; i < n; i++)
		assert_int_equal(append(f, arena_printf(&f->a, "dec-%d", i), &e), 0);
}

static void verify_file(struct fixture *f, struct verification *v)
{
	struct bytes text;
	struct err e = { 0 };
	struct trusted_key key = { .id = "" };
	struct trust trust = { .keys = &key, .key_count = 1 };

	memcpy(key.key, key_public(f->key), SIGN_PUBLIC);
	assert_int_equal(file_read(sys_real(), &f->a, f->dir.fd, "receipts.jsonl", 1 << 30, 0, &text, &e), 0);
	struct json *rows = json_new(&f->a, JSON_ARRAY);
	for (struct bytes rest = text; rest.p && rest.n;) {
		struct json *row;
		assert_int_equal(json_parse(&f->a, text_cut(&rest, '\n'), "row", NULL, &row, &e), 0);
		json_push(&f->a, rows, row);
	}
	verification_begin(v, &f->a, &trust, "chain");
	verify_receipts(v, rows, NULL);
	v->trust = NULL;
}

static void test_chain_verifies(void **state)
{
	struct fixture f;
	struct verification v;

	(void)state;
	begin(&f);
	append_many(&f, 20);
	verify_file(&f, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_YES);
	end(&f);
}

static void test_decision_is_bound(void **state)
{
	struct fixture f;
	struct json *record, *receipt;
	char *hash;
	struct err e = { 0 };
	struct verification v;

	(void)state;
	begin(&f);
	struct decision_draft d = { .id = "dec-1",
		.verdict = "DENY",
		.subject_id = "agent:test",
		.action = "EXECUTE_COMMAND",
		.resource = "rm",
		.reason = "because",
		.reason_code = "POLICY_VIOLATION" };
	assert_int_equal(record_decision(&f.a, sys_real(), f.key, &d, &record, &hash, &e), 0);
	struct draft r = { .decision_id = "dec-1",
		.effect_id = "EXECUTE_COMMAND",
		.status = "DENY",
		.verdict = "DENY",
		.reason_code = "POLICY_VIOLATION",
		.output_hash = hash,
		.subject = record,
		.type = "decision" };
	assert_int_equal(recorder_append(&f.r, &f.a, &r, 1, &receipt, &e), 0);
	struct trust none = { 0 };
	verification_begin(&v, &f.a, &none, "decision record");
	verify_decision(&v, json_get(receipt, "subject"));
	assert_int_not_equal(v.integrity, ANSWER_NO);
	verify_file(&f, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	end(&f);
}

/* A tail that was cut, with leaves, against the last signed head. */
static void repair(struct fixture *f, struct json **ret_seam)
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct log_repaired done;
	struct err e = { 0 };

	memcpy(own.key, key_public(f->key), KEY_SIZE);
	if (audit_repair(&f->r, &f->a, &trust, &options, true, &done, &e))
		fail_msg("%s", e.text);
	*ret_seam = done.seam;
}

static void test_truncation_is_refused(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	struct bytes text;

	(void)state;
	begin(&f);
	append_many(&f, 5);
	assert_int_equal(log_sign_head(&f.r, &f.a, NULL, &e), 0);
	assert_int_equal(file_read(sys_real(), &f.a, f.dir.fd, "receipts.jsonl", 1 << 30, 0, &text, &e), 0);
	const uint8_t *cut = memrchr(text.p, '\n', text.n - 1);
	assert_int_equal(file_replace(sys_real(), f.dir.fd, "receipts.jsonl", 0600,
				 (struct bytes){ text.p, (size_t)(cut - text.p) + 1 }, &e),
		0);
	assert_int_not_equal(append(&f, "dec-x", &e), 0);
	assert_string_equal(e.code, "LOG_DAMAGED");
	/* Also when the leaves were cut to match. */
	assert_int_equal(unlinkat(f.dir.fd, "log/leaves", 0), 0);
	assert_int_not_equal(append(&f, "dec-x", &e), 0);
	assert_string_equal(e.code, "LOG_DAMAGED");
	/* Repair says so for ever, and then work goes on. */
	struct json *seam;
	repair(&f, &seam);
	assert_string_equal(json_get_text(seam, "effect_id", ""), "helm.log/repair");
	assert_int_equal(append(&f, "dec-y", &e), 0);
	end(&f);
}

static void test_rewritten_tail_is_refused(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	struct bytes text;

	(void)state;
	begin(&f);
	append_many(&f, 3);
	assert_int_equal(file_read(sys_real(), &f.a, f.dir.fd, "receipts.jsonl", 1 << 30, 0, &text, &e), 0);
	char *copy = arena_strndup(&f.a, (const char *)text.p, text.n);
	char *at = strstr(copy, "\"decision_id\":\"dec-2\"");
	assert_non_null(at);
	at[19] = '7';
	assert_int_equal(file_replace(sys_real(), f.dir.fd, "receipts.jsonl", 0600,
				 (struct bytes){ (uint8_t *)copy, text.n }, &e),
		0);
	assert_int_not_equal(append(&f, "dec-x", &e), 0);
	assert_string_equal(e.code, "LOG_DAMAGED");
	end(&f);
}

/* Somebody edits an old receipt, in the newest file or an older one: the next append refuses. */
static void test_edited_middle_is_refused(void **state)
{
	(void)state;
	for (int variant = 0; variant < 2; variant++) {
		struct fixture f;
		struct err e = { 0 };
		struct bytes text;
		const char *file = variant ? "receipts-000001.jsonl" : "receipts.jsonl";

		begin(&f);
		f.r.rotate_bytes = variant ? 4000 : 1 << 20;
		append_many(&f, 9);
		assert_int_equal(file_read(sys_real(), &f.a, f.dir.fd, file, 1 << 30, 0, &text, &e), 0);
		char *at = strstr((char *)text.p, "\"decision_id\":\"dec-1\"");
		assert_non_null(at);
		at[19] = 'x';
		assert_int_equal(file_replace(sys_real(), f.dir.fd, file, 0600, text, &e), 0);
		reopen(&f);
		assert_int_not_equal(append(&f, "dec-x", &e), 0);
		assert_string_equal(e.code, "LOG_DAMAGED");
		end(&f);
	}
}

/* What a crash leaves: half a line, no leaves, no edge. */
static void test_crash_leftovers_are_mended(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	struct verification v;
	struct hash *leaves;
	uint64_t n;

	(void)state;
	begin(&f);
	append_many(&f, 4);
	int fd = openat(f.dir.fd, "receipts.jsonl", O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"half\":", 8), 8);
	close(fd);
	unlinkat(f.dir.fd, "log/leaves", 0);
	unlinkat(f.dir.fd, "log/edge", 0);
	reopen(&f);
	assert_int_equal(append(&f, "dec-after", &e), 0);
	verify_file(&f, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(log_leaves(sys_real(), &f.a, f.dir.fd, &leaves, &n, &e), 0);
	assert_int_equal(n, 5);
	struct hash root = merkle_root(leaves, n), head = merkle_head(&f.r.at.tree);
	assert_true(hash_eq(&root, &head));
	end(&f);
}

static void test_rotation_keeps_the_chain(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	char **files;
	size_t n;

	(void)state;
	begin(&f);
	f.r.rotate_bytes = 4000;
	append_many(&f, 12);
	assert_int_equal(receipts_files(sys_real(), &f.a, f.dir.fd, &files, &n, &e), 0);
	assert_true(n > 1);
	reopen(&f);
	assert_int_equal(append(&f, "dec-last", &e), 0);
	assert_int_equal(f.r.at.clock, 13 + n - 1);
	end(&f);
}

static void test_no_key_no_record(void **state)
{
	struct fixture f;
	struct err e = { 0 };

	(void)state;
	begin(&f);
	reopen(&f);
	f.r.key = NULL;
	assert_int_equal(append(&f, "dec-1", &e), E_DENIED);
	end(&f);
}

/* Forty processes, five receipts each, at once: one chain, nothing lost. */
static void test_many_processes(void **state)
{
	struct fixture f;
	struct verification v;

	(void)state;
	begin(&f);
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct err e = { 0 };
			for (int k = 0; k < 5; k++)
				if (append(&f, arena_printf(&f.a, "dec-%d-%d", i, k), &e))
					_exit(1);
			_exit(0);
		}
	}
	for (int i = 0, status; i < 40; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	verify_file(&f, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	reopen(&f);
	struct err e = { 0 };
	assert_int_equal(append(&f, "dec-end", &e), 0);
	assert_int_equal(f.r.at.clock, 201);
	end(&f);
}

struct writer {
	struct recorder_group *g;
	int number, failures;
};

static void *write_some(void *arg)
{
	struct writer *w = arg;
	AUTO(arena_done) struct arena a = { 0 };

	for (int i = 0; i < 20; i++) {
		struct err e = { 0 };
		struct draft d = { .decision_id = arena_printf(&a, "dec-%d-%d", w->number, i),
			.effect_id = "X",
			.status = "ALLOW" };
		w->failures += recorder_group_append(w->g, NULL, &d, 1, NULL, &e) != 0;
	}
	return NULL;
}

static void test_group_commit(void **state)
{
	struct fixture f;
	struct verification v;
	pthread_t threads[16];
	struct writer writers[16];

	(void)state;
	begin(&f);
	struct recorder_group *g = recorder_group_new(&f.r);
	for (int i = 0; i < 16; i++) {
		writers[i] = (struct writer){ g, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, write_some, &writers[i]), 0);
	}
	for (int i = 0; i < 16; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(writers[i].failures, 0);
	}
	recorder_group_free(g);
	assert_int_equal(f.r.at.clock, 16 * 20);
	verify_file(&f, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	end(&f);
}

/* One writer's draft that cannot be signed is that writer's failure alone. */
static void *write_bad(void *arg)
{
	struct writer *w = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *bad = json_new(&a, JSON_OBJECT);

	json_set(&a, bad, "x", json_double(&a, 1.5));
	for (int i = 0; i < 20; i++) {
		struct err e = { 0 };
		struct draft d = {
			.decision_id = "dec-bad", .effect_id = "X", .status = "ALLOW", .metadata = bad
		};
		w->failures += recorder_group_append(w->g, NULL, &d, 1, NULL, &e) != 0;
	}
	return NULL;
}

static void test_group_isolates_failures(void **state)
{
	struct fixture f;
	pthread_t threads[4];
	struct writer writers[4];

	(void)state;
	begin(&f);
	struct recorder_group *g = recorder_group_new(&f.r);
	for (int i = 0; i < 4; i++) {
		writers[i] = (struct writer){ g, i, 0 };
		assert_int_equal(
			pthread_create(&threads[i], NULL, i ? write_some : write_bad, &writers[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	recorder_group_free(g);
	for (int i = 1; i < 4; i++)
		assert_int_equal(writers[i].failures, 0);
	assert_int_equal(writers[0].failures, 20);
	assert_int_equal(f.r.at.clock, 60);
	end(&f);
}

/* Rows from the end of a ledger: long ones, torn ones, some of them. */

struct seen {
	int64_t numbers[4000];
	size_t n, stop_at;
};

static int see(void *arg, struct json *row)
{
	struct seen *s = arg;

	s->numbers[s->n++] = json_get_int(row, "number", -1);
	return s->n == s->stop_at;
}

static void test_rows_from_the_end(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = { 0 };
	struct json *rows;
	struct seen all = { .n = 0 }, some = { .n = 0 }, first = { .stop_at = 3 }, few = { .n = 0 };
	struct buf text;

	begin(&f);
	buf_init(&text, &f.a);
	for (int i = 0; i < 3000; i++) {
		buf_addf(&text, "{\"number\": %d, \"id\": \"call-%d\", \"text\": \"", i, i % 10);
		for (int k = 0; k < (i % 100 == 0 ? 40000 : i % 7); k++)
			buf_addc(&text, 'x');
		buf_adds(&text, i % 50 == 7 ? "\n" : "\"}\n"); /* some are torn */
	}
	buf_adds(&text, "{\"number\": 3000, \"id\": \"last\"}"); /* without its newline */
	scratch_put(&f.dir, "rows", text.p);
	assert_int_equal(rows_back(sys_real(), &f.a, f.dir.fd, "rows", 0, NULL, see, &all, &e), 0);
	assert_int_equal(all.n, 3001 - 60);
	assert_int_equal(all.numbers[0], 3000);
	assert_int_equal(all.numbers[all.n - 1], 0);
	for (size_t i = 1; i < all.n; i++)
		assert_true(all.numbers[i] < all.numbers[i - 1]);
	assert_int_equal(rows_back(sys_real(), &f.a, f.dir.fd, "rows", 0, "call-3", see, &some, &e), 0);
	assert_int_equal(some.n, 300);
	assert_int_equal(some.numbers[0], 2993);
	assert_int_equal(rows_back(sys_real(), &f.a, f.dir.fd, "rows", 0, "call-3", see, &first, &e), 0);
	assert_int_equal(first.n, 3);
	assert_int_equal(rows_back(sys_real(), &f.a, f.dir.fd, "rows", 8, "call-3", see, &few, &e), 0);
	assert_int_equal(few.n, 1);
	assert_int_equal(rows_tail(sys_real(), &f.a, f.dir.fd, "rows", 5, &rows, &e), 0);
	assert_int_equal(rows->n, 5);
	assert_int_equal(json_get_int(rows->items[0], "number", -1), 2996);
	assert_int_equal(rows_tail(sys_real(), &f.a, f.dir.fd, "rows", 0, &rows, &e), 0);
	assert_int_equal(rows->n, all.n);
	assert_int_equal(json_get_int(rows->items[0], "number", -1), 0);
	assert_int_equal(rows_tail(sys_real(), &f.a, f.dir.fd, "none", 5, &rows, &e), 0);
	assert_int_equal(rows->n, 0);
	end(&f);
}

/* A disk at which, while one writer waits, another one comes along. */
struct busy_disk {
	struct sys sys;
	struct fixture *f;
	int others; /* how many come */
	bool is_broken; /* and the first one's wait fails */
};

static int sync_meanwhile(struct sys *s, int fd)
{
	struct busy_disk *d = (struct busy_disk *)s;
	struct err e = { 0 };

	for (; d->others > 0; d->others--) {
		AUTO(recorder_close) struct recorder other;
		struct draft draft = { .decision_id = arena_printf(&d->f->a, "dec-other-%d", d->others) };
		recorder_open(&other, sys_real(), d->f->dir.fd, d->f->key);
		assert_int_equal(recorder_append(&other, &d->f->a, &draft, 1, NULL, &e), 0);
	}
	if (d->is_broken) {
		errno = EIO;
		return -1;
	}
	return sys_real()->sync(sys_real(), fd);
}

static void expect_log(struct fixture *f, uint64_t n)
{
	struct hash *leaves;
	struct err e = { 0 };
	uint64_t found;
	struct verification v;

	verify_file(f, &v);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	assert_int_equal(log_leaves(sys_real(), &f->a, f->dir.fd, &leaves, &found, &e), 0);
	assert_int_equal(found, n);
	reopen(f);
	assert_int_equal(log_refresh(&f->r, &f->a, &e), 0);
	assert_int_equal(f->r.at.clock, n);
}

/* Nobody waits for another one's disk, and everybody's leaf is there in the end. */
static void test_waiting_holds_nobody_up(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = { 0 };

	begin(&f);
	append_many(&f, 3);
	recorder_close(&f.r);
	struct busy_disk d = { .sys = *sys_real(), .f = &f, .others = 40 };
	d.sys.sync = sync_meanwhile;
	recorder_open(&f.r, &d.sys, f.dir.fd, f.key);
	f.r.head_interval = 2;
	assert_int_equal(append(&f, "dec-first", &e), 0);
	expect_log(&f, 44);
	end(&f);
}

/* A disk that refuses: what nobody has continued is taken back, what somebody has continued stays. */
static void test_a_failed_wait_is_taken_back(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = { 0 };

	begin(&f);
	append_many(&f, 3);
	for (int others = 0; others < 2; others++) {
		struct busy_disk d = { .sys = *sys_real(), .f = &f, .others = others, .is_broken = true };
		d.sys.sync = sync_meanwhile;
		recorder_close(&f.r);
		recorder_open(&f.r, &d.sys, f.dir.fd, f.key);
		assert_int_equal(append(&f, "dec-lost", &e), E_IO);
		reopen(&f);
		expect_log(&f, others ? 5 : 3);
	}
	append_many(&f, 1);
	expect_log(&f, 6);
	end(&f);
}

/* A child that was forked meanwhile has our descriptors, the lock's as well.  When the name of the lock cannot be looked at, the
 * lock must be let go and not only closed: the child would keep it, and we would wait for ever. */
static void test_no_lock_stays_with_a_child(void **state)
{
	(void)state;
	struct fixture f;
	struct err e = { 0 };

	begin(&f);
	for (unsigned n = 1; n <= 12; n++) {
		struct fault twin;
		fault_init(&twin);
		recorder_close(&f.r);
		recorder_open(&f.r, &twin.sys, f.dir.fd, f.key);
		assert_int_equal(append(&f, "dec-before", &e), 0);
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
		twin.look_fail_at = twin.looks + n;
		twin.look_errno = EIO;
		alarm(20); /* a hang ends the test */
		(void)append(&f, "dec-after", &e);
		alarm(0);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	reopen(&f);
	assert_int_equal(append(&f, "dec-last", &e), 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain_verifies),
		cmocka_unit_test(test_decision_is_bound),
		cmocka_unit_test(test_truncation_is_refused),
		cmocka_unit_test(test_rewritten_tail_is_refused),
		cmocka_unit_test(test_edited_middle_is_refused),
		cmocka_unit_test(test_crash_leftovers_are_mended),
		cmocka_unit_test(test_rotation_keeps_the_chain),
		cmocka_unit_test(test_no_key_no_record),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_rows_from_the_end),
		cmocka_unit_test(test_waiting_holds_nobody_up),
		cmocka_unit_test(test_a_failed_wait_is_taken_back),
		cmocka_unit_test(test_no_lock_stays_with_a_child),
		cmocka_unit_test(test_group_commit),
		cmocka_unit_test(test_group_isolates_failures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
