/* archive_crash_test.c — archiving, checking, repairing and exporting when every single system call fails or is the last one, while another
 * process writes: no receipt is lost, no archive is half, what was said to be done is done, and the next one finishes. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "tools/crash.h"
#include "tools/packs.h"
#include "tools/store.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_BYTES = 9000, MADE = 24, WRITTEN = 2 };

static void setup(struct crash *c)
{
	AUTO(key_free) struct key *key = packs_key(&c->t);
	struct err e = { 0 };

	/* A file is closed between two batches only. */
	for (int i = 0; i < 3; i++) {
		const struct store_plan plan = { .receipts = MADE / 3,
			.rotate_bytes = FILE_BYTES,
			.start_us = 1700000000000000,
			.step_us = 1000 };
		assert_int_equal(store_fill(sys_real(), c->t.fd, key, &plan, &e), OK);
	}
}

/* Somebody who appends meanwhile, in a process of his own, and keeps a list of what was acknowledged.  Where something is damaged he may
 * be refused because of that, and then acknowledges nothing. */
static pid_t start_writer(struct crash *c)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	AUTO(arena_done) struct arena a = { 0 };
	struct key *key = packs_key(&c->t);
	int list = openat(c->t.fd, "acknowledged", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct recorder r;
	struct err e = { 0 };
	recorder_open(&r, sys_real(), c->t.fd, key);
	for (int i = 0; i < WRITTEN; i++) {
		struct draft d = { .decision_id = arena_printf(&a, "dec-beside-%d", i),
			.effect_id = "X",
			.status = "ALLOW" };
		int rc = recorder_append(&r, &a, &d, 1, NULL, &e);
		if (rc && !text_eq(e.code, "LOG_DAMAGED"))
			_exit(1);
		if (rc == OK && write(list, "+", 1) != 1)
			_exit(2);
	}
	_exit(0);
}

static void end_writer(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Leaves, edge and locks are derived and never synced. */
static void acknowledge(struct crash *c)
{
	static const char *const names[] = { "log", "log/leaves", "log/edge", "log/lock", "log/heads.jsonl",
		"log/archive.lock", "beside" };
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

struct counted {
	uint64_t receipts, beside;
};

static int count_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	(void)file;
	(void)line;
	(void)text;
	(void)e;
	struct counted *n = arg;

	n->receipts += receipt != NULL;
	n->beside += text_starts(json_get_text(receipt, "decision_id", ""), "dec-beside-");
	return 0;
}

/* Everything that was there, and what was written beside, is there and verifies. */
static void check_log(struct crash *c, const char *verified, struct log_report *report, int64_t *ret_lost)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = packs_key(&c->t);
	struct trusted_key trusted = { .id = "" };
	struct trust trust = { .keys = &trusted, .key_count = 1 };
	struct log_check_options options = { .root_fd = c->t.fd, .verified = verified };
	struct err e = { 0 };
	struct counted n = { 0 };

	memcpy(trusted.key, key_public(key), KEY_SIZE);
	assert_int_equal(log_check(sys_real(), &a, c->t.fd, &trust, &options, report, &e), OK);
	if (!report->is_sound)
		fail_msg("%s", report->why);
	assert_int_equal(receipts_each(sys_real(), c->t.fd, count_receipt, &n, &e), OK);
	assert_int_equal(n.receipts, report->receipts);
	assert_int_equal(n.beside, strlen(scratch_get(&c->t, "acknowledged")));
	assert_true(n.receipts >= MADE + n.beside);
	if (ret_lost)
		*ret_lost = json_get_int(report->doc, "lost_on_record", 0);
	report->doc = NULL;
}

/* ---- archive ---- */

static int archive(struct crash *c, struct sys *s, struct arena *a, struct json **ret, struct err *e)
{
	AUTO(key_free) struct key *key = packs_key(&c->t);
	AUTO(recorder_close) struct recorder r;
	struct archive_how how = { .before_us = 1800000000000000,
		.to = arena_printf(a, "%s/archive", c->t.path) };

	recorder_open(&r, s, c->t.fd, key);
	return log_archive(&r, a, &how, ret, e);
}

static int act_archive(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	pid_t writer = start_writer(c);
	struct json *report;
	int rc = archive(c, &c->f.sys, &a, &report, e);

	end_writer(writer);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static void check_archive(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct log_report report;
	struct json *rest;
	struct err e = { 0 };
	char **files;
	size_t n;

	check_log(c, NULL, &report, NULL);
	if (archive(c, sys_real(), &a, &rest, &e))
		fail_msg("cannot finish: %s", e.text);
	check_log(c, NULL, &report, NULL);
	assert_int_equal(report.archived, 0);
	assert_int_equal(strlen(scratch_get(&c->t, "acknowledged")), WRITTEN);
	assert_int_equal(receipts_files(sys_real(), &a, c->t.fd, &files, &n, &e), OK);
	assert_int_equal(n, 1);
	if (end->acks)
		assert_int_equal(json_get(rest, "files")->n, 0); /* it was all done */
}

static void archiving(void **state)
{
	(void)state;
	const struct crash_case what = { "archive", setup, act_archive, check_archive };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* ---- check ---- */

static const char *verified_file(struct crash *c, struct arena *a)
{
	return arena_printf(a, "%s/beside/verified.json", c->t.path);
}

static int act_check(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = packs_key(&c->t);
	struct trusted_key trusted = { .id = "" };
	struct trust trust = { .keys = &trusted, .key_count = 1 };
	struct log_check_options options = { .root_fd = c->t.fd, .verified = verified_file(c, &a) };
	struct log_report report;
	pid_t writer = start_writer(c);

	memcpy(trusted.key, key_public(key), KEY_SIZE);
	int rc = log_check(&c->f.sys, &a, c->t.fd, &trust, &options, &report, e);
	end_writer(writer);
	/* A file that cannot be read is an error, or a notice; never damage that is none. */
	assert_true(rc || !report.is_damaged || fault_fired(&c->f));
	return rc;
}

/* Whatever was remembered, or half remembered, the next check finds a sound log and reads what it must. */
static void check_check(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct log_report report;

	(void)end;
	check_log(c, verified_file(c, &a), &report, NULL);
	check_log(c, verified_file(c, &a), &report, NULL);
	assert_non_null(report.before);
}

static void checking(void **state)
{
	(void)state;
	const struct crash_case what = { "log check", setup, act_check, check_check };

	assert_true(crash_sweep(&what, NULL) >= 3);
}

/* ---- repair ---- */

/* A byte in the middle of the oldest file: nobody who appends sees it. */
static void setup_damaged(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	struct bytes text;

	setup(c);
	assert_int_equal(
		file_read(sys_real(), &a, c->t.fd, "receipts-000001.jsonl", 1 << 20, 0, &text, &e), OK);
	const uint8_t *second = memchr(text.p, '\n', text.n);
	char changed = (char)(second[40] ^ 1);
	AUTO(close_fd) int fd = openat(c->t.fd, "receipts-000001.jsonl", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &changed, 1, second + 40 - text.p), 1);
}

static int repair(struct crash *c, struct sys *s, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = packs_key(&c->t);
	AUTO(recorder_close) struct recorder r;
	struct trusted_key trusted = { .id = "" };
	struct trust trust = { .keys = &trusted, .key_count = 1 };
	struct log_check_options options = { .root_fd = c->t.fd };
	struct log_repaired done;

	memcpy(trusted.key, key_public(key), KEY_SIZE);
	recorder_open(&r, s, c->t.fd, key);
	return audit_repair(&r, &a, &trust, &options, true, &done, e);
}

static int act_repair(struct crash *c, struct err *e)
{
	pid_t writer = start_writer(c);
	int rc = repair(c, &c->f.sys, e);

	end_writer(writer);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

/* Done by doing it again: one receipt is out and on record as lost, with its bytes beside the file; all others are there, the
 * seam included. */
static void check_repair(struct crash *c, const struct crash_end *end)
{
	struct log_report report;
	struct err e = { 0 };
	int64_t lost;

	(void)end;
	if (repair(c, sys_real(), &e))
		fail_msg("cannot finish: %s", e.text);
	check_log(c, NULL, &report, &lost);
	assert_int_equal(lost, 1);
}

static void repairing(void **state)
{
	(void)state;
	const struct crash_case what = { "repair", setup_damaged, act_repair, check_repair };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* ---- export ---- */

static int act_export(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *key = packs_key(&c->t);
	AUTO(evidence_close) struct evidence x = { 0 };
	const struct evidence_choice all = { .singles = 4 };
	struct pack_written w;
	pid_t writer = start_writer(c);
	int rc = evidence_collect(&c->f.sys, &a, c->t.fd, &all, &x, e);

	if (rc == OK)
		rc = pack_write(&c->f.sys, &a, c->t.fd, "p.tar", &x.about, x.items, x.n, key, &w, e);
	end_writer(writer);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

/* No pack, or a whole one in which everything fits: receipts, leaves and head of one moment. */
static void check_export(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct trusted_key trusted = { .id = "" };
	struct trust trust = packs_trust(&trusted);
	struct pack_reading how = { .trust = &trust };
	struct verification v;
	struct pack p;
	struct err e = { 0 };

	if (!end->acks && !scratch_has(&c->t, "p.tar"))
		return;
	verification_begin(&v, &a, &trust, "evidence pack");
	assert_int_equal(verify_pack_open(sys_real(), &a, c->t.fd, "p.tar", &how, &p, &e), OK);
	verify_pack(&v, &p);
	if (v.error)
		fail_msg("%s: %s", v.error, v.text);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
}

static void exporting(void **state)
{
	(void)state;
	const struct crash_case what = { "evidence export of lines", setup, act_export, check_export };

	assert_true(crash_sweep(&what, NULL) >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archiving),
		cmocka_unit_test(checking),
		cmocka_unit_test(repairing),
		cmocka_unit_test(exporting),
	};

	return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
