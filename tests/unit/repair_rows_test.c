/* repair_rows_test.c — what log check finds of ledgers is taken by log repair: after it the record is sound with named losses, what was
 * there is kept aside, what stands in the place of a lost entry is shown by nobody, and a second repair changes nothing. */
#include "audit/finding.h"
#include "audit/rows.h"
#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 12, SEALED = 5 };
#define PIECE "segments/task-ledger-000001.jsonl.zst"

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	struct trusted_key own;
	struct trust trust;
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

static void note(struct fixture *f, const char *text)
{
	struct json *row = json_new(&f->a, JSON_OBJECT);
	struct err e = { 0 };

	json_sets(&f->a, row, "call", text);
	assert_int_equal(ledger_note(sys_real(), &f->a, f->dir.fd, TOOL_CALLS, row, &e), OK);
}

static void run_one(struct fixture *f, int i)
{
	const char *id = arena_printf(&f->a, "task-%02d", i);
	struct json *digests = json_new(&f->a, JSON_ARRAY), *about = json_new(&f->a, JSON_OBJECT);
	struct err e = { 0 };

	note(f, arena_printf(&f->a, "first of %02d", i));
	note(f, arena_printf(&f->a, "second of %02d", i));
	put(f, TASK_LEDGER, id, "queued", digests);
	put(f, TASK_LEDGER, id, "running", digests);
	put(f, COMMAND_LOG, id, "ran", digests);
	put(f, TASK_LEDGER, id, "completed", digests);
	json_set(&f->a, about, "rows_sha256", digests);
	json_sets(&f->a, about, "task_id", id);
	struct draft d = { .decision_id = id,
		.effect_id = "X",
		.status = "COMPLETED",
		.verdict = "ALLOW",
		.type = "outcome",
		.metadata = about };
	if (recorder_append(&f->r, &f->a, &d, 1, NULL, &e))
		fail_msg("%s", e.text);
}

static void begin(struct fixture *f)
{
	struct err e = { 0 };
	size_t sealed;

	*f = (struct fixture){ .own = { .id = "" } };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	memcpy(f->own.key, key_public(f->key), KEY_SIZE);
	f->trust = (struct trust){ .keys = &f->own, .key_count = 1 };
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
	for (int i = 0; i < TASKS; i++) {
		if (i == SEALED) {
			assert_int_equal(ledger_rotate(sys_real(), f->dir.fd, TASK_LEDGER, 1, true, &e), OK);
			assert_int_equal(ledger_seal(&f->r, &f->a, &sealed, &e), OK);
		}
		run_one(f, i);
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
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct log_report report;
	struct err e = { 0 };

	if (log_check(sys_real(), &f->a, f->dir.fd, &f->trust, &options, &report, &e) ||
		audit_rows(sys_real(), &f->a, f->dir.fd, true, &report, &e))
		fail_msg("%s", e.text);
	return report;
}

static struct log_repaired repair(struct fixture *f, bool apply)
{
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct log_repaired done;
	struct err e = { 0 };

	if (audit_repair(&f->r, &f->a, &f->trust, &options, apply, &done, &e))
		fail_msg("%s", e.text);
	return done;
}

static const char *read_text(struct fixture *f, const char *file)
{
	return arena_strdup(&f->a, scratch_get(&f->dir, file));
}

static void edit(struct fixture *f, const char *file, const char *from, const char *to)
{
	const char *text = read_text(f, file), *at = strstr(text, from);

	assert_non_null(at);
	scratch_put(&f->dir, file,
		arena_printf(&f->a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)));
}

/* Found; planned; repaired; sound; nothing more to do; and work goes on. */
static void mended(struct fixture *f)
{
	assert_false(check(f).is_sound);
	struct log_plan plan = repair(f, false).plan;
	assert_true(plan.lost || plan.ledger_n);
	struct log_repaired done = repair(f, true);
	assert_null(done.seam);
	assert_non_null(done.rows_seam);
	struct log_report now = check(f);
	if (!now.is_sound)
		fail_msg("%s", json_get_text(json_at(json_get(now.doc, "findings"), 0), "text", ""));
	const char *receipts = read_text(f, RECEIPTS);
	done = repair(f, true);
	assert_null(done.rows_seam);
	assert_false(done.report.has_row_damage);
	assert_string_equal(receipts, read_text(f, RECEIPTS));
	run_one(f, TASKS);
	assert_true(check(f).is_sound);
}

static const struct json *newest_seam(struct fixture *f)
{
	const char *at = strstr(read_text(f, RECEIPTS), "helm.log/repair");
	struct json *receipt;

	assert_non_null(at);
	while (at[-1] != '\n')
		at--;
	assert_int_equal(json_parse(&f->a, (struct bytes){ (const uint8_t *)at, strcspn(at, "\n") }, "seam",
				 NULL, &receipt, NULL),
		OK);
	return json_get(receipt, "metadata");
}

static const char *kept(struct fixture *f, const char *file)
{
	json_each (row, json_get(newest_seam(f), "ledgers"))
		if (text_eq(json_get_text(row, "file", ""), file))
			return read_text(f, json_get_text(row, "kept_as", ""));
	return "";
}

static const char *lost(struct fixture *f, const char *member)
{
	return json_get_text(json_get(newest_seam(f), "lost"), member, "");
}

static void every_kind_has_its_row(void **state)
{
	(void)state;
	for (int i = 0; i < FINDING_COUNT; i++) {
		assert_true(finding_kinds[i].what && *finding_kinds[i].what);
		assert_true(finding_kinds[i].remedy && *finding_kinds[i].remedy);
		if (finding_kinds[i].repair == REPAIR_LOG)
			assert_non_null(strstr(finding_kinds[i].remedy, "helm log repair"));
	}
}

static void changed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	size_t size = strlen(read_text(&f, TASK_LEDGER));
	edit(&f, TASK_LEDGER, "\"completed\", \"task_id\": \"task-07\"",
		"\"forgedddd\", \"task_id\": \"task-07\"");
	edit(&f, COMMAND_LOG, "\"ran\", \"task_id\": \"task-08\"", "\"RAN\", \"task_id\": \"task-08\"");
	const char *before = read_text(&f, TASK_LEDGER);
	mended(&f);
	assert_null(strstr(read_text(&f, TASK_LEDGER), "forgedddd"));
	assert_null(strstr(read_text(&f, COMMAND_LOG), "RAN"));
	assert_string_equal(kept(&f, TASK_LEDGER), before);
	assert_true(strlen(read_text(&f, TASK_LEDGER)) > size); /* the new run, behind everything as it was */
	const char *at = strstr(before, "task-08");
	assert_memory_equal(at, read_text(&f, TASK_LEDGER) + (at - before), 40);
	assert_non_null(strstr(lost(&f, "rows"), ":3"));
	assert_int_equal(json_get(json_get(newest_seam(&f), "lost"), "digests")->n, 2);
	end(&f);
}

static void renamed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	edit(&f, TASK_LEDGER, "\"running\", \"task_id\": \"task-07\"",
		"\"running\", \"task_id\": \"tasj-07\"");
	mended(&f);
	assert_null(strstr(read_text(&f, TASK_LEDGER), "tasj-07"));
	end(&f);
}

static void removed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	edit(&f, TASK_LEDGER, "{\"status\": \"running\", \"task_id\": \"task-07\"}\n", "");
	const char *before = read_text(&f, TASK_LEDGER);
	mended(&f);
	assert_memory_equal(before, read_text(&f, TASK_LEDGER), strlen(before)); /* nothing to take out */
	end(&f);
	begin(&f);
	assert_int_equal(unlinkat(f.dir.fd, COMMAND_LOG, 0), 0);
	mended(&f);
	end(&f);
	begin(&f);
	assert_int_equal(unlinkat(f.dir.fd, TASK_LEDGER, 0), 0);
	mended(&f);
	end(&f);
}

/* An entry that an operator wrote names the same task, and no receipt speaks of it. */
static void operators_stay(void **state)
{
	static const char own[] =
		"{\"status\": \"stale\", \"task_id\": \"task-07\", \"task_state_schema_version\": 1}\n";
	struct fixture f;

	(void)state;
	begin(&f);
	edit(&f, TASK_LEDGER, "{\"status\": \"completed\", \"task_id\": \"task-07\"}\n", own);
	mended(&f);
	assert_non_null(strstr(read_text(&f, TASK_LEDGER), own));
	end(&f);
}

static void put_in_order(void **state)
{
	static const char queued[] = "{\"status\": \"queued\", \"task_id\": \"task-07\"}\n",
			  running[] = "{\"status\": \"running\", \"task_id\": \"task-07\"}\n";
	struct fixture f;

	(void)state;
	begin(&f);
	const char *before = read_text(&f, TASK_LEDGER);
	edit(&f, TASK_LEDGER, arena_printf(&f.a, "%s%s", queued, running),
		arena_printf(&f.a, "%s%s", running, queued));
	mended(&f);
	assert_memory_equal(before, read_text(&f, TASK_LEDGER), strlen(before));
	end(&f);
}

/* Lines that nobody can read and no receipt speaks of: a notice, and repaired all the same. */
static void unreadable(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	scratch_put(&f.dir, COMMAND_LOG, arena_printf(&f.a, "%s{\"torn\": \n", read_text(&f, COMMAND_LOG)));
	assert_true(check(&f).is_sound);
	assert_true(check(&f).has_row_damage);
	assert_non_null(repair(&f, true).rows_seam);
	assert_false(check(&f).has_row_damage);
	assert_null(repair(&f, true).rows_seam);
	assert_non_null(strstr(kept(&f, COMMAND_LOG), "torn"));
	end(&f);
}

static void notes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	edit(&f, TOOL_CALLS, "first of 04", "FORGED oo 4");
	mended(&f);
	assert_null(strstr(read_text(&f, TOOL_CALLS), "FORGED"));
	assert_null(
		strstr(read_text(&f, TOOL_CALLS), "second of 04")); /* nobody can tell which of them it was */
	assert_non_null(strstr(read_text(&f, TOOL_CALLS), "first of 05"));
	end(&f);
	begin(&f); /* what lies behind a removed note is still there, elsewhere */
	edit(&f, TOOL_CALLS, "{\"call\": \"first of 04\"}\n", "");
	mended(&f);
	assert_non_null(strstr(read_text(&f, TOOL_CALLS), "first of 05"));
	assert_non_null(strstr(read_text(&f, TOOL_CALLS), "second of 11"));
	assert_null(strstr(read_text(&f, TOOL_CALLS), "second of 04"));
	edit(&f, TOOL_CALLS, "second of 11", "secand of 11");
	assert_false(check(&f).is_sound); /* and is still compared there */
	assert_non_null(repair(&f, true).rows_seam);
	assert_true(check(&f).is_sound);
	end(&f);
	begin(&f);
	assert_int_equal(unlinkat(f.dir.fd, TOOL_CALLS, 0), 0);
	mended(&f);
	end(&f);
}

static void change_piece(struct fixture *f, off_t at)
{
	int fd = openat(f->dir.fd, PIECE, O_RDWR);
	struct stat st;
	char c;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	at = at < 0 ? st.st_size + at : at;
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 1;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void pieces(void **state)
{
	static const off_t places[] = { 1, 60, -2, -14 };
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		begin(&f);
		change_piece(&f, places[i]);
		mended(&f);
		end(&f);
	}
	begin(&f);
	assert_int_equal(unlinkat(f.dir.fd, PIECE, 0), 0);
	mended(&f);
	end(&f);
	begin(&f);
	int fd = openat(f.dir.fd, PIECE, O_RDWR);
	assert_int_equal(ftruncate(fd, 20), 0);
	close(fd);
	mended(&f);
	end(&f);
}

/* A loss on record excuses that one and no other. */
static void only_that(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	edit(&f, TASK_LEDGER, "\"completed\", \"task_id\": \"task-07\"",
		"\"forgedddd\", \"task_id\": \"task-07\"");
	mended(&f);
	edit(&f, TASK_LEDGER, "\"running\", \"task_id\": \"task-07\"",
		"\"forgedd\", \"task_id\": \"task-07\"");
	assert_false(check(&f).is_sound);
	assert_non_null(repair(&f, true).rows_seam);
	assert_true(check(&f).is_sound);
	end(&f);
}

/* Chain and ledgers in one go: a receipt that is taken out says nothing about rows. */
static void with_the_chain(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	const char *before = read_text(&f, COMMAND_LOG);
	edit(&f, RECEIPTS, "\"task_id\":\"task-03\"", "\"task_id\":\"task-93\"");
	edit(&f, TASK_LEDGER, "\"completed\", \"task_id\": \"task-07\"",
		"\"forgedddd\", \"task_id\": \"task-07\"");
	struct log_repaired done = repair(&f, true);
	assert_true(done.seam && done.rows_seam);
	assert_true(check(&f).is_sound);
	assert_string_equal(before, read_text(&f, COMMAND_LOG));
	assert_null(repair(&f, true).seam);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_row),
		cmocka_unit_test(changed),
		cmocka_unit_test(renamed),
		cmocka_unit_test(removed),
		cmocka_unit_test(operators_stay),
		cmocka_unit_test(put_in_order),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(notes),
		cmocka_unit_test(pieces),
		cmocka_unit_test(only_that),
		cmocka_unit_test(with_the_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
