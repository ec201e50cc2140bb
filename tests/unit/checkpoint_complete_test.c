/* checkpoint_complete_test.c — checkpoints somebody relies on: they hold everything below their paths, or are not made. */
#include "checkpoint_fixture.h"

static int save(const char *path, bool is_plain, const char *spared)
{
	const char *paths[] = { path };

	e = (struct err){ 0 };
	return checkpoint_create(&st,
		&(struct checkpoint_request){ .label = "whole",
			.paths = paths,
			.path_count = 1,
			.skip_missing = true,
			.is_complete = true,
			.is_plain = is_plain,
			.spared = spared },
		&made, &e);
}

static void incomplete(const char *path, bool is_plain, const char *spared, const char *text)
{
	struct json *all;

	ok(checkpoint_list(&st, &all, &e));
	uint32_t before = all->n;
	refuses(save(path, is_plain, spared), "CHECKPOINT_INCOMPLETE");
	if (!strstr(e.text, text))
		fail_msg("'%s' does not say '%s'", e.text, text);
	ok(checkpoint_list(&st, &all, &e));
	assert_int_equal(all->n, before);
}

static void whole_trees_are_saved(void **state)
{
	(void)state;
	make_tree();
	ok(save("src", false, NULL));
	assert_int_equal(made.files, 3);
	assert_int_equal(made.links, 2);
}

static void rules_count(void **state)
{
	(void)state;
	make_tree();
	scratch_put(&t, ".helmignore", "deep/\n");
	incomplete("src", false, NULL, "src/deep");
	incomplete("src/deep", false, NULL, ".helmignore");
	incomplete("src/deep/b.c", false, NULL, ".helmignore");
	ok(save("src/a.c", false, NULL));
	scratch_put(&t, ".helmignore", "*.c\n");
	incomplete("src/a.c", false, NULL, ".helmignore");
}

static void version_control_counts(void **state)
{
	(void)state;
	make_tree();
	assert_int_equal(mkdirat(t.fd, ".git", 0755), 0);
	assert_int_equal(mkdirat(t.fd, "src/deep/.git", 0755), 0);
	incomplete("src", false, NULL, "src/deep/.git");
	incomplete("src", false, ".", "src/deep/.git");
	ok(save("src", false, "src/deep"));
	incomplete(".", false, "src/deep", ".git");
	assert_int_equal(unlinkat(t.fd, "src/deep/.git", AT_REMOVEDIR), 0);
	incomplete(".", false, NULL, ".git");
	ok(save(".", false, "."));
}

static void what_cannot_be_saved_counts(void **state)
{
	(void)state;
	make_tree();
	assert_int_equal(mkfifoat(t.fd, "src/pipe", 0600), 0);
	incomplete("src", false, NULL, "fifo");
	assert_int_equal(unlinkat(t.fd, "src/pipe", 0), 0);
	if (geteuid() != 0) {
		assert_int_equal(fchmodat(t.fd, "src/a.c", 0, 0), 0);
		incomplete("src", false, NULL, "unreadable");
		assert_int_equal(fchmodat(t.fd, "src/a.c", 0644, 0), 0);
	}
	ok(save("src", false, NULL));
}

static void links_count(void **state)
{
	(void)state;
	make_tree();
	incomplete("src", true, NULL, "it is a link");
	assert_int_equal(symlinkat("../../elsewhere", t.fd, "src/out"), 0);
	incomplete("src", false, NULL, "src/out");
	assert_int_equal(unlinkat(t.fd, "src/out", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/link", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/dangling", 0), 0);
	assert_int_equal(linkat(t.fd, "src/a.c", t.fd, "second", 0), 0);
	ok(save("src", false, NULL));
	incomplete("src", true, NULL, "second name");
}

static void limits_only_get_tighter(void **state)
{
	(void)state;
	const char *paths[] = { "src" };
	struct checkpoint_request q = { .label = "x", .paths = paths, .path_count = 1, .is_complete = true };

	make_tree();
	assert_int_equal(mkdirat(t.fd, "references", 0755), 0);
	scratch_put(&t, "references/checkpoint_policy.json", "{\"max_files\": 2}");
	q.max_files = 1000;
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LIMIT");
	scratch_put(&t, "references/checkpoint_policy.json", "{\"max_files\": 1000}");
	q.max_files = 2;
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_LIMIT");
	q.max_files = 10;
	ok(checkpoint_create(&st, &q, &made, &e));
}

static const char *undo(bool is_whole)
{
	ok(checkpoint_create(&st,
		&(struct checkpoint_request){ .label = CHECKPOINT_UNDO,
			.is_complete = is_whole,
			.is_whole = is_whole,
			.spared = is_whole ? "." : NULL },
		&made, &e));
	return made.id;
}

/* One before each call that may lose something: the same tree is the same way back. */
static void an_unchanged_tree_gets_no_second_one(void **state)
{
	struct json *all;

	(void)state;
	make_tree();
	wait_until_old();
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		const char *first = undo(is_whole);
		assert_string_equal(undo(is_whole), first);
		scratch_put(&t, "src/a.c", is_whole ? "int B;\n" : "int A;\n");
		const char *other = undo(is_whole);
		assert_string_not_equal(other, first);
		wait_until_old();
		assert_string_equal(undo(is_whole), other);
	}
	ok(checkpoint_list(&st, &all, &e));
	assert_int_equal(all->n, 4);
	/* A person who makes one gets one. */
	create();
	create();
	ok(checkpoint_list(&st, &all, &e));
	assert_int_equal(all->n, 6);
	/* One that prune may take soon is no way back. */
	const char *last = undo(true);
	for (int i = 0; i < CHECKPOINT_KEEP_RECENT; i++)
		create();
	assert_string_not_equal(undo(true), last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_trees_are_saved, setup, teardown),
		cmocka_unit_test_setup_teardown(rules_count, setup, teardown),
		cmocka_unit_test_setup_teardown(version_control_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_saved_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(links_count, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_only_get_tighter, setup, teardown),
		cmocka_unit_test_setup_teardown(an_unchanged_tree_gets_no_second_one, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
