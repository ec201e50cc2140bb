/* checkpoint_damage_test.c — what is acknowledged can be restored: content that is in the store already is read back, and saved
 * anew from the files when it is damaged. */
#include "checkpoint_fixture.h"

static void flip(const char *path, off_t at)
{
	int fd = openat(t.fd, path, O_RDWR);
	uint8_t b;

	assert_true(fd >= 0 && pread(fd, &b, 1, at) == 1);
	b ^= 1;
	assert_int_equal(pwrite(fd, &b, 1, at), 1);
	close(fd);
}

static const char *first_pack(void)
{
	char **names;
	size_t n;

	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_true(n > 0);
	return arena_printf(&a, ".helm/checkpoints/objects/%s", names[0]);
}

static void reopen(void)
{
	checkpoint_close(&st);
	open_store();
}

static int save(bool is_complete)
{
	e = (struct err){ 0 };
	return checkpoint_create(&st,
		&(struct checkpoint_request){ .label = "test", .is_complete = is_complete, .spared = "." },
		&made, &e);
}

static void lose_and_restore(void)
{
	static const char *const files[] = { "README", "src/a.c", "src/deep/b.c", "src/tool" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(unlinkat(t.fd, files[i], 0), 0);
	reopen();
	restore(&(struct checkpoint_restore){ .id = made.id, .no_backup = true });
	is("README", "read me\n");
	is("src/a.c", "int a;\n");
	is("src/deep/b.c", "int b;\n");
	is("src/tool", "#!/bin/sh\n");
}

static void one_byte(off_t at, bool is_complete, bool are_known)
{
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;

	if (are_known)
		wait_until_old();
	ok(save(is_complete));
	flip(first_pack(), at % stat_of(first_pack()).st_size);
	reopen();
	ok(save(is_complete));
	lose_and_restore();
	/* Back to one pack. */
	ok(checkpoint_policy(&st, &p, &e));
	p.keep_recent = 1;
	p.keep_days = 0;
	ok(checkpoint_prune(&st, &p, NULL, true, &gone, &e));
}

/* Bytes all over a pack, one after the other, between two checkpoints of the same files. */
static void each_byte(bool is_complete, bool are_known)
{
	make_tree();
	ok(save(is_complete));
	off_t size = stat_of(first_pack()).st_size;
	checkpoint_close(&st);
	for (off_t at = 0; at < size; at += are_known ? 37 : 7) {
		struct arena_mark mark = arena_mark(&a);
		open_store();
		one_byte(at, is_complete, are_known);
		checkpoint_close(&st);
		arena_release(&a, mark);
	}
	open_store();
}

static void relied_upon(void **state)
{
	(void)state;
	each_byte(true, false);
}

static void relied_upon_and_known(void **state)
{
	(void)state;
	each_byte(true, true);
}

static void small_stores_are_read_whole(void **state)
{
	(void)state;
	each_byte(false, true);
}

/* More files than are looked into: those that are in the store are not read again, whether they were looked into or not. */
static void many_known_files(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(t.fd, "m", 0755), 0);
	for (int i = 0; i < 200; i++)
		scratch_put(&t, arena_printf(&a, "m/%d", i), arena_printf(&a, "content %d", i));
	wait_until_old();
	assert_int_equal(save(false), OK);
	assert_int_equal(made.read_files, 200);
	reopen();
	assert_int_equal(save(false), OK);
	assert_int_equal(made.read_files, 0);
}

static void damage_is_said(void **state)
{
	(void)state;
	make_tree();
	ok(save(false));
	assert_int_equal(made.repaired, 0);
	wait_until_old();
	ok(save(false));
	flip(first_pack(), 9);
	reopen();
	ok(save(false));
	assert_int_equal(made.repaired, 1);
	assert_int_equal(json_get_int(made.record, "repaired", 0), 1);
	ok(save(false));
	assert_int_equal(made.repaired, 0);
	assert_null(json_get(made.record, "repaired"));
}

/* A list of chunks, and chunks: a large file. */
static void large_files(void **state)
{
	(void)state;
	size_t n = 5 << 20;
	char *big = arena_text(&a, n);
	uint64_t x = 1;

	make_tree();
	for (size_t i = 0; i < n - 1; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		big[i] = (char)('!' + (x >> 33) % 90);
	}
	big[n - 1] = '\0';
	scratch_put(&t, "src/big", big);
	wait_until_old();
	ok(save(true));
	wait_until_old();
	ok(save(true));
	struct stat sb = stat_of(first_pack());
	flip(first_pack(), sb.st_size / 2);
	reopen();
	ok(save(true));
	assert_int_equal(made.repaired, 1);
	assert_int_equal(unlinkat(t.fd, "src/big", 0), 0);
	reopen();
	restore(&(struct checkpoint_restore){ .id = made.id, .no_backup = true });
	assert_true(text_eq(scratch_get(&t, "src/big"), big));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(relied_upon, setup, teardown),
		cmocka_unit_test_setup_teardown(relied_upon_and_known, setup, teardown),
		cmocka_unit_test_setup_teardown(small_stores_are_read_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(many_known_files, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_said, setup, teardown),
		cmocka_unit_test_setup_teardown(large_files, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
