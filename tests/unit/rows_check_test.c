/* rows_check_test.c — rows of ledgers against what receipts say of them: changed, removed, moved, in a piece that is sealed; with
 * digests in memory and in files. */
#include "audit/parts.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 40 };

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	size_t in_memory;
};

static void put(struct fixture *f, const char *file, const char *id, const char *status, struct json *digests)
{
	struct json *row = json_new(&f->a, JSON_OBJECT);
	char digest[SHA256_HEX];
	struct err e = { 0 };

	json_sets(&f->a, row, "task_id", id);
	json_sets(&f->a, row, "status", status);
	assert_int_equal(recorder_row(&f->r, &f->a, file, row, digest, &e), OK);
	json_pushs(&f->a, digests, digest);
}

static void run_one(struct fixture *f, int i)
{
	const char *id = arena_printf(&f->a, "task-%02d", i);
	struct json *digests = json_new(&f->a, JSON_ARRAY), *about = json_new(&f->a, JSON_OBJECT);
	struct err e = { 0 };

	put(f, TASK_LEDGER, id, "queued", digests);
	put(f, TASK_LEDGER, id, "running", digests);
	put(f, COMMAND_LOG, id, "ran", digests);
	put(f, TASK_LEDGER, id, "completed", digests);
	json_set(&f->a, about, "rows_sha256", digests);
	struct draft d = { .decision_id = id,
		.effect_id = "X",
		.status = "COMPLETED",
		.verdict = "ALLOW",
		.type = "outcome",
		.correlation_id = id,
		.metadata = about };
	assert_int_equal(recorder_append(&f->r, &f->a, &d, 1, NULL, &e), OK);
}

static void begin(struct fixture *f, size_t in_memory)
{
	struct err e = { 0 };
	size_t sealed;

	*f = (struct fixture){ .in_memory = in_memory };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
	for (int i = 0; i < TASKS; i++) {
		run_one(f, i);
		if (i == TASKS / 2) {
			assert_int_equal(ledger_rotate(sys_real(), f->dir.fd, TASK_LEDGER, 1, true, &e), OK);
			assert_int_equal(ledger_seal(&f->r, &f->a, &sealed, &e), OK);
			assert_int_equal(sealed, 1);
		}
	}
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static struct log_report check(struct fixture *f)
{
	struct log_report report = { .is_sound = true, .doc = json_new(&f->a, JSON_OBJECT) };
	struct err e = { 0 };

	json_set(&f->a, report.doc, "findings", json_new(&f->a, JSON_ARRAY));
	if (audit_rows_within(sys_real(), &f->a, f->dir.fd, true, f->in_memory, &report, &e))
		fail_msg("%s", e.text);
	assert_int_equal(json_get_int(json_get(report.doc, "rows"), "bound", 0), 4 * TASKS);
	return report;
}

static void expect_sound(struct fixture *f)
{
	struct log_report report = check(f);

	assert_true(report.is_sound);
	assert_int_equal(json_get(report.doc, "findings")->n, 0);
}

static void expect(struct fixture *f, const char *what, const char *task)
{
	struct log_report report = check(f);
	bool is_there = false;

	assert_false(report.is_sound);
	assert_false(report.is_damaged); /* the log is whole, and work goes on */
	json_each (finding, json_get(report.doc, "findings"))
		is_there |= text_eq(json_get_text(finding, "what", ""), what) &&
			(!task || text_eq(json_get_text(finding, "task_id", ""), task));
	assert_true(is_there);
}

/* The ledger with one line replaced (NULL: left out), or two exchanged. */
static void edit(struct fixture *f, const char *file, const char *from, const char *to)
{
	char *text = arena_strdup(&f->a, scratch_get(&f->dir, file)), *at = strstr(text, from);

	assert_non_null(at);
	scratch_put(&f->dir, file,
		arena_printf(&f->a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)));
}

static void all_of_it(size_t in_memory)
{
	struct fixture f;
	static const char *const queued = "{\"status\": \"queued\", \"task_id\": \"task-30\"}\n",
				 *const running = "{\"status\": \"running\", \"task_id\": \"task-30\"}\n";

	begin(&f, in_memory);
	expect_sound(&f);
	char *kept = arena_strdup(&f.a, scratch_get(&f.dir, TASK_LEDGER)),
	     *log = arena_strdup(&f.a, scratch_get(&f.dir, COMMAND_LOG));
	edit(&f, TASK_LEDGER, queued, "{\"status\": \"Queued\", \"task_id\": \"task-30\"}\n");
	expect(&f, "rows_changed", "task-30");
	scratch_put(&f.dir, TASK_LEDGER, kept);
	expect_sound(&f);
	edit(&f, TASK_LEDGER, running, "");
	expect(&f, "rows_changed", "task-30");
	scratch_put(&f.dir, TASK_LEDGER, kept);
	char *both = arena_printf(&f.a, "%s%s", queued, running),
	     *other = arena_printf(&f.a, "%s%s", running, queued);
	edit(&f, TASK_LEDGER, both, other);
	expect(&f, "rows_moved", "task-30");
	/* An old state put behind the last one. */
	scratch_put(&f.dir, TASK_LEDGER, arena_printf(&f.a, "%s%s", kept, running));
	expect(&f, "rows_moved", "task-30");
	scratch_put(&f.dir, TASK_LEDGER, kept);
	assert_int_equal(unlinkat(f.dir.fd, COMMAND_LOG, 0), 0);
	expect(&f, "rows_changed", "task-00");
	expect(&f, "rows_changed", NULL);
	scratch_put(&f.dir, COMMAND_LOG, log);
	expect_sound(&f);
	end(&f);
}

static void in_memory(void **state)
{
	(void)state;
	all_of_it(1 << 20);
}

static void in_files(void **state)
{
	(void)state;
	all_of_it(16);
}

static void sealed_pieces(void **state)
{
	(void)state;
	static const char name[] = "segments/task-ledger-000001.jsonl.zst";
	struct fixture f;
	uint8_t byte;

	begin(&f, 1 << 20);
	int fd = openat(f.dir.fd, name, O_RDWR | O_CLOEXEC);
	assert_int_equal(
		pread(fd, &byte, 1, 5), 1); /* a flag of the frame that changes nothing of the text */
	close(fd);
	assert_int_equal(renameat(f.dir.fd, name, f.dir.fd, "away"), 0);
	expect(&f, "piece_missing", NULL);
	/* Anybody can write what stands in its place; what was moved on record is the business of archive.t. */
	scratch_put(&f.dir, "segments/task-ledger-000001.jsonl.zst.archived", "{}");
	expect(&f, "piece_missing", NULL);
	scratch_put(&f.dir, "segments/task-ledger-000001.jsonl.zst.archived",
		"{\"metadata\":{\"to\":\"/nowhere\"}}\n");
	expect(&f, "piece_missing", NULL);
	assert_int_equal(unlinkat(f.dir.fd, "segments/task-ledger-000001.jsonl.zst.archived", 0), 0);
	assert_int_equal(renameat(f.dir.fd, "away", f.dir.fd, name), 0);
	expect_sound(&f);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory),
		cmocka_unit_test(in_files),
		cmocka_unit_test(sealed_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
