/* verdict_test.c — the kept verdict on the record: when it answers, and when it counts as none. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	struct audit_place at;
	struct record_verdict sound;
};

static void put(struct fixture *f, const char *name, const char *text)
{
	assert_int_equal(
		file_replace(sys_real(), f->dir.fd, name, 0600, bytes_of(text), &(struct err){ 0 }), OK);
}

/* A clock tick later than the newest change, so that marks count. */
static void settle(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 80000000 }, NULL);
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	put(f, RECEIPTS, "{}\n");
	put(f, TASK_LEDGER, "{\"task_id\": \"one\"}\n");
	assert_int_equal(file_mkdirs(sys_real(), f->dir.fd, "home/keys", 0700, &(struct err){ 0 }), OK);
	put(f, "home/keys/" KEY_HISTORY, "{}\n");
	f->at = (struct audit_place){ .state_fd = f->dir.fd,
		.root_fd = f->dir.fd,
		.helm_home = path_join(&f->a, f->dir.path, "home"),
		.beside = path_join(&f->a, f->dir.path, "home/trees/x") };
	f->sound = (struct record_verdict){ .is_known = true,
		.is_sound = true,
		.receipts = 7,
		.checked_at = "2026-01-01T00:00:00Z",
		.findings = json_new(&f->a, JSON_ARRAY) };
	settle();
}

static void end(struct fixture *f)
{
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void keep(struct fixture *f)
{
	struct record_marks marks;

	marks_take(sys_real(), &f->a, &f->at, &marks);
	assert_true(marks.is_settled);
	verdict_keep(sys_real(), &f->a, &f->at, &marks, &f->sound);
}

static bool load(struct fixture *f, struct record_verdict *v, bool *stands)
{
	struct record_marks marks;

	marks_take(sys_real(), &f->a, &f->at, &marks);
	return verdict_load(sys_real(), &f->a, &f->at, &marks, v, stands);
}

static void assert_stale(struct fixture *f, const char *why)
{
	struct record_verdict v;
	bool stands = true;

	if (!load(f, &v, &stands) || stands)
		fail_msg("it stands although %s", why);
	assert_true(v.is_sound); /* as it was: who shows it says when that was */
	assert_int_equal(v.receipts, 7);
}

static void test_stands(void **state)
{
	struct fixture f;
	struct record_verdict v;
	bool stands = false;

	(void)state;
	begin(&f);
	assert_false(load(&f, &v, &stands));
	keep(&f);
	assert_true(load(&f, &v, &stands));
	assert_true(stands && v.is_known && v.is_sound && !v.is_now);
	assert_string_equal(v.checked_at, "2026-01-01T00:00:00Z");
	end(&f);
}

/* Each of the five, alone. */
static void test_each_mark_counts(void **state)
{
	static const char *const names[] = { "device", "inode", "size", "modification time", "change time" };
	struct fixture f;

	(void)state;
	begin(&f);
	keep(&f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct record_marks marks;
		struct record_verdict v;
		bool stands = true;
		struct buf b;
		marks_take(sys_real(), &f.a, &f.at, &marks);
		struct bytes rest = bytes_of(json_get_text(marks.files, TASK_LEDGER, ""));
		buf_init(&b, &f.a);
		for (size_t k = 0; rest.p; k++) {
			struct bytes part = text_cut(&rest, ':');
			buf_addf(&b, "%s%s%.*s", k ? ":" : "", k == i ? "1" : "", (int)part.n, part.p);
		}
		json_sets(&f.a, marks.files, TASK_LEDGER, b.p);
		assert_true(verdict_load(sys_real(), &f.a, &f.at, &marks, &v, &stands));
		if (stands)
			fail_msg("it stands with another %s", names[i]);
	}
	end(&f);
}

static void test_changes(void **state)
{
	const struct timespec now[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
	struct fixture f;

	(void)state;
	begin(&f);
	keep(&f);
	assert_int_equal(fchmodat(f.dir.fd, TASK_LEDGER, 0640, 0), 0);
	assert_stale(&f, "a file has another change time");
	settle();
	keep(&f);
	assert_int_equal(utimensat(f.dir.fd, TASK_LEDGER, now, 0), 0);
	assert_stale(&f, "a file has another modification time");
	settle();
	keep(&f);
	put(&f, TASK_LEDGER, "{\"task_id\": \"one\"}\n");
	assert_stale(&f, "the same bytes lie in another file");
	settle();
	keep(&f);
	put(&f, "receipts-000001.jsonl", "{}\n");
	assert_stale(&f, "there is one more file of the chain");
	settle();
	keep(&f);
	assert_int_equal(unlinkat(f.dir.fd, TASK_LEDGER, 0), 0);
	assert_stale(&f, "a ledger is gone");
	settle();
	keep(&f);
	put(&f, "home/keys/" KEY_HISTORY, "{}\n{}\n");
	assert_stale(&f, "the key history has grown");
	settle();
	keep(&f);
	assert_int_equal(
		file_mkdirs(sys_real(), f.dir.fd, LEDGER_SEGMENTS "/waiting", 0700, &(struct err){ 0 }), OK);
	put(&f, LEDGER_SEGMENTS "/waiting/task-ledger-000001.jsonl", "{}\n");
	assert_stale(&f, "a piece waits");
	end(&f);
}

/* A second change in the same tick might leave the same marks. */
static void test_lately_changed(void **state)
{
	struct fixture f;
	struct record_marks marks;

	(void)state;
	begin(&f);
	put(&f, TASK_LEDGER, "{\"task_id\": \"two\"}\n");
	marks_take(sys_real(), &f.a, &f.at, &marks);
	assert_false(marks.is_settled);
	verdict_keep(sys_real(), &f.a, &f.at, &marks, &f.sound);
	settle();
	assert_stale(&f, "the files had changed a moment before");
	end(&f);
}

static void test_not_ours(void **state)
{
	static const char *const texts[] = {
		"", "{", "[]", "{}", "\"sound\"",
		"{\"version\": \"helm-record-verdict/v1\", \"sound\": true, \"settled\": true}",
		"{\"version\": \"helm-record-verdict/v2\", \"program\": \"" HELM_VERSION
		"\", \"checked_at\": \"x\", \"sound\": true, \"receipts\": 1, \"findings\": [], \"files\": {}, \"settled\": true}",
		"{\"version\": \"helm-record-verdict/v1\", \"program\": \"0\", \"checked_at\": \"x\", \"sound\": true, "
		"\"receipts\": 1, \"findings\": [], \"files\": {}, \"settled\": true}",
		"{\"version\": \"helm-record-verdict/v1\", \"program\": \"" HELM_VERSION
		"\", \"checked_at\": \"x\", \"receipts\": 1, \"findings\": [], \"files\": {}, \"settled\": true}"
	};
	struct fixture f;
	struct record_verdict v;
	bool stands;

	(void)state;
	begin(&f);
	keep(&f);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put(&f, "home/trees/x/verdict.json", texts[i]);
		stands = true;
		if (load(&f, &v, &stands) || stands)
			fail_msg("this counts: %s", texts[i]);
	}
	keep(&f);
	assert_true(load(&f, &v, &stands));
	assert_int_equal(fchmodat(f.dir.fd, "home/trees/x/verdict.json", 0622, 0), 0);
	assert_false(load(&f, &v, &stands)); /* others can write it */
	assert_int_equal(unlinkat(f.dir.fd, "home/trees/x/verdict.json", 0), 0);
	assert_int_equal(symlinkat("/dev/null", f.dir.fd, "home/trees/x/verdict.json"), 0);
	assert_false(load(&f, &v, &stands));
	end(&f);
}

/* What was not sound stays that, with its reason. */
static void test_not_sound(void **state)
{
	struct fixture f;
	struct record_verdict v;
	bool stands;

	(void)state;
	begin(&f);
	struct json *findings = json_new(&f.a, JSON_ARRAY);
	for (int i = 0; i < 300; i++) {
		struct json *one = json_new(&f.a, JSON_OBJECT);
		json_sets(&f.a, one, "severity", i == 299 ? "rows" : "notice");
		json_sets(&f.a, one, "text", i == 299 ? "rows are gone" : "nothing");
		json_push(&f.a, findings, one);
	}
	f.sound.is_sound = false;
	f.sound.findings = findings;
	keep(&f);
	assert_true(load(&f, &v, &stands));
	assert_true(stands && !v.is_sound);
	assert_string_equal(v.why, "rows are gone");
	assert_true(*v.remedy);
	end(&f);
}

/* Nowhere to keep it, or nobody may write there: as if there were none. */
static void test_nowhere(void **state)
{
	struct fixture f;
	struct record_verdict v;
	bool stands = true;

	(void)state;
	begin(&f);
	put(&f, "home/trees", "a file where the directory should be");
	keep(&f);
	assert_false(load(&f, &v, &stands));
	f.at.beside = NULL;
	keep(&f);
	assert_false(load(&f, &v, &stands));
	assert_false(stands);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stands),
		cmocka_unit_test(test_each_mark_counts),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_lately_changed),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_not_sound),
		cmocka_unit_test(test_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
