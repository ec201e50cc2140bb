/* checkpoint_repair_test.c — damage of the index and of packs: it is seen, a repair brings back everything that can be, names the
 * rest, and once more changes nothing. */
#include "checkpoint_fixture.h"

#define INDEX ".helm/checkpoints/index.json"
#define COPIES ".helm/checkpoints/records.jsonl"

static struct checkpoint_repaired done;
static struct checkpoint_checked found;

static void reopen(void)
{
	checkpoint_close(&st);
	open_store();
	e = (struct err){ 0 };
}

static void put_raw(const char *path, const char *p, size_t n)
{
	int fd = openat(t.fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

static void repair(void)
{
	ok(checkpoint_repair_store(&st, &(struct checkpoint_repair){ 0 }, &done, &e));
}

static void check(bool read_data)
{
	ok(checkpoint_check_store(&st, &(struct checkpoint_check){ .read_data = read_data }, &found, &e));
}

/* Sound, and a second repair finds nothing to do. */
static void is_sound(void)
{
	reopen();
	check(true);
	if (found.findings->n)
		fail_msg("%s", json_get_text(json_at(found.findings, 0), "text", "?"));
	repair();
	assert_false(done.is_changed);
}

static struct json *listed(void)
{
	struct json *list;

	ok(checkpoint_list(&st, &list, &e));
	return list;
}

static const char *pack_at(size_t i)
{
	char **names;
	size_t n;

	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_true(n > i);
	return arena_printf(&a, ".helm/checkpoints/objects/%s", names[i]);
}

static void flip(const char *path, off_t at)
{
	int fd = openat(t.fd, path, O_RDWR);
	uint8_t b;

	assert_true(fd >= 0 && pread(fd, &b, 1, at) == 1);
	b ^= 1;
	assert_int_equal(pwrite(fd, &b, 1, at), 1);
	close(fd);
}

/* Where a pack has this text; small content is stored as it is. */
static off_t offset_of(const char *path, const char *text)
{
	struct bytes all;

	ok(file_read(s, &a, t.fd, path, 1 << 20, 0, &all, &e));
	const uint8_t *at = memmem(all.p, all.n, text, strlen(text));
	assert_non_null(at);
	return at - all.p;
}

static void two_checkpoints(void)
{
	make_tree();
	create();
	scratch_put(&t, "src/a.c", "int a2;\n");
	ok(checkpoint_create(
		&st, &(struct checkpoint_request){ .label = "second", .task_id = "t1" }, &made, &e));
}

/* ---- the index ---- */

static void is_said(void)
{
	struct json *list;

	refuses(checkpoint_list(&st, &list, &e), "CHECKPOINT_INDEX");
	assert_non_null(strstr(e.text, "helm checkpoint repair"));
	check(false);
	assert_int_equal(found.findings->n, 1);
	assert_string_equal(json_get_text(json_at(found.findings, 0), "kind", ""), "index");
	e = (struct err){ 0 };
}

/* Any byte: the list is what it was, or the damage is said; after a repair it is what it was. */
static void each_byte_of_the_index(void **state)
{
	(void)state;
	two_checkpoints();
	const struct json *was = json_copy(&a, listed());
	struct bytes text;
	ok(file_read(s, &a, t.fd, INDEX, 1 << 20, 0, &text, &e));
	for (size_t i = 0; i < text.n; i++) {
		struct arena_mark mark = arena_mark(&a);
		char *bad = arena_strndup(&a, (const char *)text.p, text.n);
		bad[i] = i % 3 == 2 ? '\0' : (char)(bad[i] ^ (i % 3 ? 32 : 1));
		put_raw(INDEX, bad, text.n);
		reopen();
		struct json *list;
		if (checkpoint_list(&st, &list, &e) == OK)
			assert_true(json_eq(list, was));
		else
			is_said();
		repair();
		assert_int_equal(done.lost->n, 0);
		if (!json_eq(listed(), was))
			fail_msg("byte %zu: the list is not what it was", i);
		repair();
		assert_false(done.is_changed);
		checkpoint_close(&st);
		arena_release(&a, mark);
		open_store();
	}
}

static void the_index_is_cut_missing_or_old(void **state)
{
	(void)state;
	make_tree();
	create();
	const char *old = arena_strdup(&a, scratch_get(&t, INDEX));
	scratch_put(&t, "src/a.c", "int a2;\n");
	create();
	struct json *pinned;
	ok(checkpoint_protect(&st, made.id, true, &pinned, &e));
	const struct json *was = json_copy(&a, listed());
	const char *text = arena_strdup(&a, scratch_get(&t, INDEX));
	const char *bad[] = { "", "[]", "[]\n", "{}", "null", old, arena_strndup(&a, text, 1),
		arena_strndup(&a, text, strlen(text) / 2), NULL };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (bad[i])
			scratch_put(&t, INDEX, bad[i]);
		else
			assert_int_equal(unlinkat(t.fd, INDEX, 0), 0);
		reopen();
		is_said();
		repair();
		assert_non_null(done.index);
		assert_true(json_eq(listed(), was));
		is_sound();
	}
	assert_true(scratch_has(&t, ".helm/checkpoints/damaged"));
}

/* A store of a version that wrote no copies: whatever byte it is, every saved file can be restored afterwards. */
static void without_copies(void **state)
{
	(void)state;
	two_checkpoints();
	const struct json *was = json_copy(&a, listed());
	struct bytes text;
	ok(file_read(s, &a, t.fd, INDEX, 1 << 20, 0, &text, &e));
	for (size_t i = 0; i < text.n; i += 3) {
		struct arena_mark mark = arena_mark(&a);
		char *bad = arena_strndup(&a, (const char *)text.p, text.n);
		bad[i] ^= 1;
		put_raw(INDEX, bad, text.n);
		(void)unlinkat(t.fd, COPIES, 0);
		reopen();
		repair();
		assert_int_equal(done.lost->n, 0);
		struct json *now = listed();
		json_each (record, was) {
			bool is_there = false;
			json_each (v, now)
				is_there |= text_eq(
					json_get_text(v, "tree", ""), json_get_text(record, "tree", "-"));
			if (!is_there)
				fail_msg("byte %zu: a checkpoint is not listed", i);
		}
		is_sound();
		checkpoint_close(&st);
		arena_release(&a, mark);
		open_store();
	}
	(void)unlinkat(t.fd, COPIES, 0);
	(void)unlinkat(t.fd, INDEX, 0);
	reopen();
	repair();
	assert_int_equal(done.recovered, 2);
	assert_string_equal(json_get_text(json_at(listed(), 0), "label", ""), "recovered");
	unlinkat(t.fd, "src/tool", 0);
	restore(&(struct checkpoint_restore){ .id = "latest" });
	assert_int_equal(back.missed, 0);
	is("src/tool", "#!/bin/sh\n");
	is_sound();
}

/* A manifest of more than one chunk is found without its record, too. */
static void a_large_manifest_without_its_record(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(t.fd, "m", 0755), 0);
	for (int i = 0; i < 600; i++)
		scratch_put(&t, arena_printf(&a, "m/%d", i), arena_printf(&a, "content %d", i));
	create();
	assert_non_null(json_get(made.record, "tree_chunks"));
	(void)unlinkat(t.fd, COPIES, 0);
	(void)unlinkat(t.fd, INDEX, 0);
	reopen();
	repair();
	assert_int_equal(done.recovered, 1);
	unlinkat(t.fd, "m/599", 0);
	restore(&(struct checkpoint_restore){ .id = "latest" });
	is("m/599", "content 599");
}

static void create_heals_the_index(void **state)
{
	(void)state;
	two_checkpoints();
	scratch_put(&t, INDEX, "[{\"checkpoint_id\":");
	reopen();
	create();
	assert_non_null(made.healed);
	assert_int_equal(listed()->n, 3);
	create();
	assert_null(made.healed);
	unlinkat(t.fd, INDEX, 0);
	reopen();
	create();
	assert_non_null(made.healed);
	assert_int_equal(listed()->n, 5);
	is_sound();
}

static void copies_are_not_needed(void **state)
{
	(void)state;
	two_checkpoints();
	scratch_put(&t, COPIES, "damaged");
	reopen();
	assert_int_equal(listed()->n, 2);
	create();
	assert_null(made.healed);
	scratch_put(&t, INDEX, "");
	reopen();
	repair();
	assert_int_equal(listed()->n, 3);
	assert_int_equal(done.recovered, 0);
}

/* ---- packs ---- */

static void ten_files(void)
{
	for (int i = 0; i < 10; i++)
		scratch_put(&t, arena_printf(&a, "f%d", i), arena_printf(&a, "content of file %d\n", i));
	create();
}

static const struct checkpoint_change *change_of(const char *path)
{
	for (size_t i = 0; i < back.change_count; i++)
		if (text_eq(back.changes[i].path, path))
			return &back.changes[i];
	fail_msg("no %s", path);
	return NULL;
}

static void nine_of_ten_come_back(void)
{
	for (int i = 0; i < 10; i++)
		(void)unlinkat(t.fd, arena_printf(&a, "f%d", i), 0);
	reopen();
	restore(&(struct checkpoint_restore){ .id = made.id, .no_backup = true });
	assert_int_equal(back.written, 9);
	assert_int_equal(back.missed, 1);
	assert_true(change_of("f4")->is_missed);
	assert_false(scratch_has(&t, "f4"));
	is("f9", "content of file 9\n");
}

static void one_bad_object_of_ten(void **state)
{
	(void)state;
	ten_files();
	flip(pack_at(0), offset_of(pack_at(0), "content of file 4"));
	nine_of_ten_come_back();
	assert_non_null(strstr(change_of("f4")->note, "pack-"));
	reopen();
	check(false);
	assert_int_equal(found.findings->n, 0);
	reopen();
	check(true);
	assert_int_equal(found.findings->n, 2);
	const struct json *file = json_at(found.findings, 1);
	assert_string_equal(json_get_text(file, "path", ""), "f4");
	assert_string_equal(json_get_text(file, "checkpoint_id", ""), made.id);
	assert_non_null(json_get_text(file, "pack", NULL));
	reopen();
	repair();
	assert_int_equal(done.lost->n, 1);
	assert_string_equal(json_get_text(json_at(done.lost, 0), "path", ""), "f4");
	assert_int_equal(done.packs->n, 1);
	is_sound();
	assert_int_equal(found.lost, 1);
	nine_of_ten_come_back();
	assert_string_equal(change_of("f4")->note, ENTRY_LOST);
	/* The store is usable: what is there is saved, and pruned. */
	scratch_put(&t, "f4", "content of file 4\n");
	create();
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;
	ok(checkpoint_policy(&st, &p, &e));
	ok(checkpoint_prune(&st, &p, NULL, true, &gone, &e));
	unlinkat(t.fd, "f4", 0);
	restore(&(struct checkpoint_restore){ .id = made.id });
	assert_int_equal(back.missed, 0);
	is("f4", "content of file 4\n");
	is_sound();
}

static void what_the_tree_still_has_is_saved_anew(void **state)
{
	(void)state;
	ten_files();
	flip(pack_at(0), offset_of(pack_at(0), "content of file 4"));
	reopen();
	repair();
	assert_int_equal(done.lost->n, 0);
	assert_int_equal(done.resaved, 1);
	is_sound();
	for (int i = 0; i < 10; i++)
		(void)unlinkat(t.fd, arena_printf(&a, "f%d", i), 0);
	restore(&(struct checkpoint_restore){ .id = made.id });
	assert_int_equal(back.missed, 0);
	is("f4", "content of file 4\n");
}

/* Wherever a pack is damaged: a repair leaves a sound store, and what it does not name as lost comes back. */
static void each_byte_of_a_pack(void **state)
{
	(void)state;
	ten_files();
	const char *name = pack_at(0);
	const char *path = arena_strdup(&a, name);
	struct bytes text;
	ok(file_read(s, &a, t.fd, path, 1 << 20, 0, &text, &e));
	const char *index = arena_strdup(&a, scratch_get(&t, INDEX)),
		   *copies = arena_strdup(&a, scratch_get(&t, COPIES));
	for (size_t i = 0; i < text.n; i += i < 8 ? 1 : 5) {
		struct arena_mark mark = arena_mark(&a);
		char **names;
		size_t n;
		ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
		for (size_t k = 0; k < n; k++)
			unlinkat(t.fd, arena_printf(&a, ".helm/checkpoints/objects/%s", names[k]), 0);
		put_raw(path, (const char *)text.p, text.n);
		scratch_put(&t, INDEX, index);
		scratch_put(&t, COPIES, copies);
		flip(path, (off_t)i);
		/* f3 is not in the tree any more. */
		(void)unlinkat(t.fd, "f3", 0);
		reopen();
		struct checkpoint_checked seen;
		ok(checkpoint_check_store(&st, &(struct checkpoint_check){ .read_data = true }, &seen, &e));
		if (!seen.findings->n)
			fail_msg("byte %zu: not seen by a check of every byte", i);
		reopen();
		repair();
		if (done.lost->n > 1)
			fail_msg("byte %zu: %u lost", i, done.lost->n);
		is_sound();
		if (listed()->n) {
			restore(&(struct checkpoint_restore){ .id = "latest", .no_backup = true });
			assert_int_equal(back.missed, done.lost->n ? 1 : back.missed);
			if (!back.missed)
				is("f3", "content of file 3\n");
		}
		checkpoint_close(&st);
		arena_release(&a, mark);
		open_store();
	}
}

static void a_pack_is_cut_or_gone(void **state)
{
	(void)state;
	ten_files();
	scratch_put(&t, "f4", "another\n");
	create();
	const char *first = made.id;
	int fd = openat(t.fd, pack_at(0), O_RDWR);
	assert_int_equal(ftruncate(fd, 40), 0);
	close(fd);
	reopen();
	check(false);
	assert_true(found.findings->n > 0);
	repair();
	is_sound();
	(void)first;
	create();
	unlinkat(t.fd, "f1", 0);
	restore(&(struct checkpoint_restore){ .id = made.id });
	assert_int_equal(back.missed, 0);
	is("f1", "content of file 1\n");
}

static void a_dry_run_changes_nothing(void **state)
{
	(void)state;
	ten_files();
	const char *pack = pack_at(0);
	flip(pack, offset_of(pack, "content of file 4"));
	scratch_put(&t, INDEX, "[");
	unlinkat(t.fd, "f4", 0);
	reopen();
	ok(checkpoint_repair_store(&st, &(struct checkpoint_repair){ .is_dry_run = true }, &done, &e));
	assert_true(done.is_changed);
	assert_int_equal(done.lost->n, 1);
	is(INDEX, "[");
	assert_true(scratch_has(&t, pack));
	assert_false(scratch_has(&t, ".helm/checkpoints/damaged"));
	repair();
	assert_int_equal(done.lost->n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_byte_of_the_index, setup, teardown),
		cmocka_unit_test_setup_teardown(the_index_is_cut_missing_or_old, setup, teardown),
		cmocka_unit_test_setup_teardown(without_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(a_large_manifest_without_its_record, setup, teardown),
		cmocka_unit_test_setup_teardown(create_heals_the_index, setup, teardown),
		cmocka_unit_test_setup_teardown(copies_are_not_needed, setup, teardown),
		cmocka_unit_test_setup_teardown(one_bad_object_of_ten, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_tree_still_has_is_saved_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(each_byte_of_a_pack, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pack_is_cut_or_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dry_run_changes_nothing, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
