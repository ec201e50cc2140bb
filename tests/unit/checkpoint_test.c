/* checkpoint_test.c — saving a tree and bringing it back, when nothing breaks; tests/crash/checkpoint_crash_test.c is about
 * when something does. */
#include "base/diff.h"
#include "checkpoint_fixture.h"

/* ---- round trips ---- */

static void round_trip(void **state)
{
	(void)state;
	make_tree();
	create();
	assert_int_equal(made.files, 4);
	assert_int_equal(made.links, 2);
	assert_int_equal(made.directories, 3);
	preview();
	assert_string_equal(state_of("src/a.c"), "same");

	scratch_put(&t, "src/a.c", "broken\n");
	scratch_put(&t, "src/new.c", "new\n");
	assert_int_equal(unlinkat(t.fd, "src/deep/b.c", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/deep", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(t.fd, "src/empty", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(t.fd, "src/link", 0), 0);
	assert_int_equal(symlinkat("elsewhere", t.fd, "src/link"), 0);
	assert_int_equal(fchmodat(t.fd, "src/tool", 0600, 0), 0);
	preview();
	assert_string_equal(state_of("src/a.c"), "changed");
	assert_string_equal(state_of("src/new.c"), "new");
	assert_string_equal(state_of("src/deep/b.c"), "missing");
	assert_string_equal(state_of("src/empty"), "missing");
	assert_string_equal(state_of("src/link"), "changed");
	assert_string_equal(state_of("src/tool"), "touched");
	assert_string_equal(state_of("README"), "same");
	is("src/a.c", "broken\n");

	restore(NULL);
	is("src/a.c", "int a;\n");
	is("src/deep/b.c", "int b;\n");
	is("src/new.c", "new\n");
	assert_int_equal(stat_of("src/empty").st_mode & 07777, 0750);
	assert_int_equal(stat_of("src/tool").st_mode & 07777, 0755);
	char target[16] = { 0 };
	assert_int_equal(readlinkat(t.fd, "src/link", target, sizeof(target)), 3);
	assert_string_equal(target, "a.c");
	assert_non_null(back.backup_id);
	preview();
	assert_string_equal(state_of("src/new.c"), "new");
	for (size_t i = 0; i < back.change_count; i++)
		assert_true(
			back.changes[i].state == CHECKPOINT_SAME || back.changes[i].state == CHECKPOINT_NEW);

	/* The safety checkpoint brings the damage back. */
	const char *first = made.id, *backup = NULL;
	struct json *list;
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, 2);
	backup = json_get_text(json_at(list, 1), "checkpoint_id", "");
	restore(&(struct checkpoint_restore){ .id = backup, .no_backup = true });
	is("src/a.c", "broken\n");
	assert_int_equal(stat_of("src/tool").st_mode & 07777, 0600);
	restore(&(struct checkpoint_restore){ .id = first, .delete_new = true });
	assert_false(scratch_has(&t, "src/new.c"));
	is("src/a.c", "int a;\n");
}

static void times_come_back(void **state)
{
	(void)state;
	struct timespec times[2] = { { 1000, 5 }, { 1234567890, 123456789 } };

	make_tree();
	assert_int_equal(utimensat(t.fd, "src/a.c", times, 0), 0);
	assert_int_equal(utimensat(t.fd, "src/deep", times, 0), 0);
	create();
	scratch_put(&t, "src/a.c", "x");
	assert_int_equal(unlinkat(t.fd, "src/deep/b.c", 0), 0);
	restore(NULL);
	assert_int_equal(stat_of("src/a.c").st_mtim.tv_sec, 1234567890);
	assert_int_equal(stat_of("src/a.c").st_mtim.tv_nsec, 123456789);
	assert_int_equal(stat_of("src/deep").st_mtim.tv_nsec, 123456789);
	assert_int_equal(utimensat(t.fd, "src/a.c", NULL, 0), 0);
	preview();
	assert_string_equal(state_of("src/a.c"), "touched");
	restore(NULL);
	assert_int_equal(stat_of("src/a.c").st_mtim.tv_sec, 1234567890);
}

static void only_some(void **state)
{
	(void)state;
	const char *only[] = { "src/deep", "README" };

	make_tree();
	create();
	scratch_put(&t, "src/a.c", "x");
	scratch_put(&t, "README", "x");
	assert_int_equal(unlinkat(t.fd, "src/deep/b.c", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/deep", AT_REMOVEDIR), 0);
	restore(&(struct checkpoint_restore){ .only = only, .only_count = 2 });
	is("README", "read me\n");
	is("src/deep/b.c", "int b;\n");
	is("src/a.c", "x");
	const char *outside[] = { "../x" };
	struct checkpoint_restore q = { .id = made.id, .only = outside, .only_count = 1 };
	refuses(checkpoint_restore(&st, &q, &back, &e), "CHECKPOINT_PATH");
}

static void dry_runs_write_nothing(void **state)
{
	(void)state;
	make_tree();
	ok(checkpoint_create(
		&st, &(struct checkpoint_request){ .label = "test", .is_dry_run = true }, &made, &e));
	assert_int_equal(made.files, 4);
	assert_int_equal(made.read_files, 4);
	assert_null(made.record);
	assert_false(scratch_has(&t, ".helm/checkpoints"));
}

/* ---- speed by not reading ---- */

static void unchanged_is_not_read(void **state)
{
	(void)state;
	make_tree();
	wait_until_old();
	create();
	assert_int_equal(made.read_files, 4);
	assert_false(made.is_same);
	create();
	assert_int_equal(made.read_files, 0);
	assert_int_equal(made.stored_bytes, 0);
	assert_true(made.is_same);
	scratch_put(&t, "src/a.c", "int A;\n");
	create();
	assert_int_equal(made.read_files, 1);
	assert_false(made.is_same);
	struct json *list;
	ok(checkpoint_list(&st, &list, &e));
	restore(&(struct checkpoint_restore){
		.id = json_get_text(json_at(list, 1), "checkpoint_id", ""), .no_backup = true });
	is("src/a.c", "int a;\n");
}

/* A file written in the moment it is saved may change again without its times moving. */
static void young_files_are_read_again(void **state)
{
	(void)state;
	struct timespec times[2];

	make_tree();
	create();
	scratch_put(&t, "src/a.c", "int A;\n");
	times[0] = times[1] = stat_of("README").st_mtim;
	create();
	assert_true(made.read_files > 0);
	preview();
	assert_string_equal(state_of("src/a.c"), "same");
}

static void same_size_and_time_is_still_seen(void **state)
{
	(void)state;
	make_tree();
	wait_until_old();
	create();
	struct stat was = stat_of("src/a.c");
	scratch_put(&t, "src/a.c", "int A;\n");
	struct timespec times[2] = { was.st_atim, was.st_mtim };
	assert_int_equal(utimensat(t.fd, "src/a.c", times, 0), 0);
	preview();
	assert_string_equal(state_of("src/a.c"), "changed");
	create();
	assert_int_equal(made.read_files, 1);
}

static void damaged_cache_is_ignored(void **state)
{
	(void)state;
	char **names;
	size_t n;

	make_tree();
	wait_until_old();
	create();
	ok(file_list(s, &a, state_fd, "checkpoints", &names, &n, &e));
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], "stat-"))
			scratch_put(&t, arena_printf(&a, ".helm/checkpoints/%s", names[i]),
				"HELMSC1\nnonsense, and "
				"long enough to have "
				"a digest behind it");
	create();
	assert_int_equal(made.read_files, 4);
	assert_int_equal(made.stored_bytes, 0);
}

/* ---- what is left out ---- */

static void history_is_left_out(void **state)
{
	(void)state;
	make_tree();
	assert_int_equal(mkdirat(t.fd, ".git", 0755), 0);
	scratch_put(&t, ".git/HEAD", "ref");
	scratch_put(&t, ".helm/task-ledger.jsonl", "{}\n");
	assert_int_equal(mkdirat(t.fd, "sub", 0755), 0);
	assert_int_equal(mkdirat(t.fd, "sub/.helm", 0755), 0);
	scratch_put(&t, "sub/.helm/x", "x");
	create();
	preview();
	assert_string_equal(state_of(".git"), "absent");
	assert_string_equal(state_of(".git/HEAD"), "absent");
	assert_string_equal(state_of(".helm"), "absent");
	assert_string_equal(state_of("sub/.helm"), "absent");
	assert_string_equal(state_of("sub"), "same");

	/* delete_new does not reach what is left out. */
	restore(&(struct checkpoint_restore){ .delete_new = true });
	is(".git/HEAD", "ref");
	is("sub/.helm/x", "x");

	struct checkpoint_request q = { .label = "git", .include_git = true };
	ok(checkpoint_create(&st, &q, &made, &e));
	scratch_put(&t, ".git/HEAD", "lost");
	restore(NULL);
	is(".git/HEAD", "lost");
	restore(&(struct checkpoint_restore){ .include_git = true });
	is(".git/HEAD", "ref");

	const char *own[] = { ".helm" };
	q = (struct checkpoint_request){ .label = "x", .paths = own, .path_count = 1 };
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_PATH");
}

static void rules(void **state)
{
	(void)state;
	const char *excludes[] = { "*.o", "/build/", "!keep.o" };
	struct checkpoint_request q = { .label = "x", .excludes = excludes, .exclude_count = 3 };

	make_tree();
	assert_int_equal(mkdirat(t.fd, "build", 0755), 0);
	assert_int_equal(mkdirat(t.fd, "src/build", 0755), 0);
	scratch_put(&t, "build/x", "x");
	scratch_put(&t, "src/build/x", "x");
	scratch_put(&t, "src/a.o", "x");
	scratch_put(&t, "src/keep.o", "x");
	scratch_put(&t, "secret.txt", "x");
	scratch_put(&t, ".helmignore", "# comment\n\nsecret*\n");
	ok(checkpoint_create(&st, &q, &made, &e));
	preview();
	assert_string_equal(state_of("build/x"), "absent");
	assert_string_equal(state_of("build"), "absent");
	assert_string_equal(state_of("src/build/x"), "same");
	assert_string_equal(state_of("src/a.o"), "absent");
	assert_string_equal(state_of("src/keep.o"), "same");
	assert_string_equal(state_of("secret.txt"), "absent");
	assert_string_equal(state_of(".helmignore"), "same");
	assert_int_equal(made.excluded, 4);
	restore(&(struct checkpoint_restore){ .delete_new = true });
	is("build/x", "x");
	is("src/a.o", "x");
}

static void chosen_paths(void **state)
{
	(void)state;
	const char *paths[] = { "src/deep", "./README", "src/deep/b.c" };
	struct checkpoint_request q = { .label = "x", .paths = paths, .path_count = 3 };

	make_tree();
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_int_equal(made.files, 2);
	assert_int_equal(json_get(made.record, "paths")->n, 2);
	static const char *const bad[] = { "..", "../x", "/etc", "src/../../x" };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		q = (struct checkpoint_request){ .label = "x", .paths = &bad[i], .path_count = 1 };
		refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_PATH");
	}
	const char *gone[] = { "gone", "README" };
	q = (struct checkpoint_request){ .label = "x", .paths = gone, .path_count = 2 };
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_PATH");
	assert_int_equal(e.rc, E_MISSING);
	q.skip_missing = true;
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_int_equal(made.files, 1);
	/* A link is saved as a link; nothing is saved through one. */
	assert_int_equal(symlinkat("src", t.fd, "through"), 0);
	const char *link[] = { "through" }, *below[] = { "through/a.c" };
	q = (struct checkpoint_request){ .label = "x", .paths = link, .path_count = 1 };
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_int_equal(made.links, 1);
	assert_int_equal(made.files, 0);
	q.paths = below;
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_PATH");
}

static void labels(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "../x", "a/b", "-x", ".x", "a b", "a\nb" };

	make_tree();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct checkpoint_request q = { .label = bad[i] };
		refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LABEL");
		assert_int_equal(e.rc, E_USAGE);
	}
	assert_false(scratch_has(&t, ".helm/checkpoints"));
	/* The same second and label. */
	struct fault f;
	fault_init(&f);
	f.has_clock = true;
	f.clock_us = 1776071400000000;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	create();
	assert_string_equal(made.id, "20260413T091000Z-test");
	create();
	assert_string_equal(made.id, "20260413T091000Z-test-2");
	create();
	assert_string_equal(made.id, "20260413T091000Z-test-3");
	struct json *r;
	ok(checkpoint_find(&st, "latest", &r, &e));
	assert_string_equal(json_get_text(r, "checkpoint_id", ""), "20260413T091000Z-test-3");
	ok(checkpoint_find(&st, "20260413T091000Z-test", &r, &e));
	assert_string_equal(json_get_text(r, "checkpoint_id", ""), "20260413T091000Z-test");
	refuses(checkpoint_find(&st, "2026", &r, &e), "CHECKPOINT_AMBIGUOUS");
	refuses(checkpoint_find(&st, "nope", &r, &e), "CHECKPOINT_UNKNOWN");
	refuses(checkpoint_find(&st, "", &r, &e), "CHECKPOINT_UNKNOWN");
	checkpoint_close(&st);
	s = sys_real();
	open_store();
}

static void limits(void **state)
{
	(void)state;
	struct checkpoint_request q = { .label = "x", .max_files = 3 };

	make_tree();
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LIMIT");
	q = (struct checkpoint_request){ .label = "x", .max_bytes = 10 };
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LIMIT");
	assert_false(scratch_has(&t, ".helm/checkpoints/index.json"));
	assert_int_equal(mkdirat(t.fd, "references", 0755), 0);
	scratch_put(&t, "references/checkpoint_policy.json", "{\"max_files\": 3}");
	q = (struct checkpoint_request){ .label = "x" };
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LIMIT");
	scratch_put(&t, "references/checkpoint_policy.json", "{\"max_files\": -3}");
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_POLICY");
	/* The tree cannot leave anything out of its checkpoints; a person can. */
	scratch_put(&t, "references/checkpoint_policy.json", "{\"exclude\": [\"src\"]}");
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_true(made.files > 2);
	st.policy = BYTES_LITERAL("{\"exclude\": [\"src\"]}");
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_int_equal(made.files, 2);
	st.policy = (struct bytes){ 0 };
}

/* Whatever the tree's own policy says, nothing is lost sooner than by the defaults; accepted, it counts whole. */
static void the_trees_policy_only_keeps_more(void **state)
{
	static const char text[] = "{\"keep_recent\": 1, \"keep_days\": 90, \"max_total_mb\": 1, "
				   "\"protect_pinned\": false, \"max_files\": 999999}";
	struct checkpoint_policy p, d;

	(void)state;
	make_tree();
	checkpoint_policy_defaults(&d);
	assert_false(checkpoint_policy_loosens(&d));
	assert_int_equal(mkdirat(t.fd, "references", 0755), 0);
	scratch_put(&t, "references/checkpoint_policy.json", text);
	ok(checkpoint_policy(&st, &p, &e));
	assert_int_equal(p.keep_recent, d.keep_recent);
	assert_int_equal(p.keep_days, 90);
	assert_int_equal(p.max_total_mb, -1);
	assert_true(p.protect_pinned);
	assert_int_equal(p.max_files, d.max_files);
	assert_true(p.is_file && !p.is_accepted);
	assert_false(checkpoint_policy_loosens(&p));
	st.policy = bytes_of(text);
	scratch_put(&t, "references/checkpoint_policy.json", "{");
	ok(checkpoint_policy(&st, &p, &e));
	assert_int_equal(p.keep_recent, 1);
	assert_int_equal(p.max_total_mb, 1);
	assert_false(p.protect_pinned);
	assert_true(p.is_accepted && checkpoint_policy_loosens(&p));
	st.policy = (struct bytes){ 0 };
}

static int64_t no_room(struct sys *sys, int fd)
{
	(void)sys;
	(void)fd;
	return 1 << 20;
}

static void room_is_checked_first(void **state)
{
	(void)state;
	struct fault f;

	make_tree();
	fault_init(&f);
	f.sys.free_bytes = no_room;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	struct checkpoint_request q = { .label = "x" };
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_SPACE");
	assert_false(scratch_has(&t, ".helm/checkpoints/index.json"));
	checkpoint_close(&st);
	s = sys_real();
	open_store();
}

/* ---- recording ---- */

struct rows {
	int n;
	int fail_at;
	char stages[64];
};
static int keep_row(void *arg, const struct json *row, struct err *err)
{
	struct rows *r = arg;

	assert_string_equal(json_get_text(row, "event", ""), "checkpoint_restore");
	snprintf(r->stages + strlen(r->stages), sizeof(r->stages) - strlen(r->stages), "%s ",
		json_get_text(row, "stage", ""));
	if (++r->n == r->fail_at)
		return err_set(err, E_IO, "TEST", "no");
	return OK;
}

static void what_cannot_be_recorded_is_not_done(void **state)
{
	(void)state;
	struct rows rows = { .fail_at = 1 };

	make_tree();
	create();
	scratch_put(&t, "README", "x");
	struct checkpoint_restore q = { .id = made.id, .record = keep_row, .record_arg = &rows };
	refuses(checkpoint_restore(&st, &q, &back, &e), "TEST");
	is("README", "x");
	rows = (struct rows){ 0 };
	ok(checkpoint_restore(&st, &q, &back, &e));
	assert_string_equal(rows.stages, "started finished ");
	is("README", "read me\n");
}

/* ---- diffs ---- */

static const char *diff_of(struct bytes from, struct bytes to)
{
	return diff_unified(&a, "disk/f", from, "checkpoint/f", to);
}

static void diffs(void **state)
{
	(void)state;
	const char *d;

	d = diff_of(BYTES_LITERAL("a\nb\nc\n"), BYTES_LITERAL("a\nB\nc\n"));
	assert_string_equal(d, "--- disk/f\n+++ checkpoint/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
	d = diff_of(BYTES_LITERAL(""), BYTES_LITERAL("x"));
	assert_string_equal(
		d, "--- disk/f\n+++ checkpoint/f\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n");
	d = diff_of(BYTES_LITERAL("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"),
		BYTES_LITERAL("1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n"));
	assert_string_equal(
		d, "--- disk/f\n+++ checkpoint/f\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
	d = diff_of(BYTES_LITERAL("x\n1\n2\n3\n4\n5\n6\n7\n8\n9\ny\n"),
		BYTES_LITERAL("X\n1\n2\n3\n4\n5\n6\n7\n8\n9\nY\n"));
	assert_string_equal(d,
		"--- disk/f\n+++ checkpoint/f\n@@ -1,4 +1,4 @@\n-x\n+X\n 1\n 2\n 3\n"
		"@@ -8,4 +8,4 @@\n 7\n 8\n 9\n-y\n+Y\n");
	assert_null(diff_of(BYTES_LITERAL("a\0b"), BYTES_LITERAL("x")));
	d = diff_of(BYTES_LITERAL("same\n"), BYTES_LITERAL("same\n"));
	assert_string_equal(d, "--- disk/f\n+++ checkpoint/f\n");
}

/* ---- manifests nobody should trust ---- */

static void hostile_manifests(void **state)
{
	(void)state;
	static const char head[] =
		"{\"format\":\"helm-checkpoint-tree/1\",\"paths\":[],\"exclude\":[],\"entries\":[";
#define DIR_(p) \
	"{\"path\":\"" p \
	"\",\"type\":\"dir\",\"mode\":\"0755\",\"uid\":0,\"gid\":0,\"mtime\":\"1.000000000\"}"
#define LINK_(p) \
	"{\"path\":\"" p "\",\"type\":\"link\",\"mode\":\"0777\",\"uid\":0,\"gid\":0,\"mtime\":\"1." \
	"000000000\",\"target\":\"/\"}"
	static const char *const bad[] = { DIR_("/abs"), DIR_("a/../b"), DIR_(".."), DIR_("a//b"),
		DIR_("./a"), DIR_("a/"), DIR_(""), DIR_("b") "," DIR_("a"), DIR_("a") "," DIR_("a"),
		LINK_("a") "," DIR_("a/b"), "{\"path\":\"a\"}", "1", "{}",
		"{\"path_b64\":\"AGE=\",\"type\":\"skipped\",\"reason\":\"x\"}",
		"{\"path\":\"f\",\"type\":\"file\",\"mode\":\"0644\",\"uid\":0,\"gid\":0,\"mtime\":\"1."
		"000000000\","
		"\"size\":10,\"data\":[[5,10]],\"sha256\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\"}" };
	struct tree tree;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *doc = arena_printf(&a, "%s%s]}", head, bad[i]);
		if (tree_parse(&a, bytes_of(doc), &tree, &e) != E_CORRUPT)
			fail_msg("accepted: %s", bad[i]);
	}
	const char *good = arena_printf(&a, "%s%s]}", head, DIR_("a") "," LINK_("a/b") "," DIR_("a.b"));
	ok(tree_parse(&a, bytes_of(good), &tree, &e));
	assert_int_equal(tree.entries.n, 3);
}

/* ---- many at once ---- */

static void at_the_same_time(void **state)
{
	(void)state;
	enum { PROCESSES = 6, EACH = 3 };
	struct json *list;

	make_tree();
	for (int i = 0; i < PROCESSES; i++) {
		if (fork() != 0)
			continue;
		struct checkpoint_store mine;
		for (int k = 0; k < EACH; k++) {
			struct checkpoint_request q = { .label = "many" };
			struct checkpoint_result r;
			if (checkpoint_open(&mine, s, &a, t.fd, state_fd, ".helm", &e) ||
				checkpoint_create(&mine, &q, &r, &e))
				_exit(1);
			checkpoint_close(&mine);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	checkpoint_close(&st);
	open_store();
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, PROCESSES * EACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(times_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(only_some, setup, teardown),
		cmocka_unit_test_setup_teardown(dry_runs_write_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(unchanged_is_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(young_files_are_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(same_size_and_time_is_still_seen, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_cache_is_ignored, setup, teardown),
		cmocka_unit_test_setup_teardown(history_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(rules, setup, teardown),
		cmocka_unit_test_setup_teardown(chosen_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(labels, setup, teardown),
		cmocka_unit_test_setup_teardown(limits, setup, teardown),
		cmocka_unit_test_setup_teardown(the_trees_policy_only_keeps_more, setup, teardown),
		cmocka_unit_test_setup_teardown(room_is_checked_first, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_recorded_is_not_done, setup, teardown),
		cmocka_unit_test_setup_teardown(diffs, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_manifests, setup, teardown),
		cmocka_unit_test_setup_teardown(at_the_same_time, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
