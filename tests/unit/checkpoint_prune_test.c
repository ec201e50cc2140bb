/* checkpoint_prune_test.c — what retention keeps, and that removing never takes what a kept checkpoint needs. */
#include "checkpoint_fixture.h"

static struct fault f;
static struct checkpoint_pruned gone;
#define DAY ((int64_t)86400 * 1000000)

/* A store whose clock the test moves. */
static int setup_clock(void **state)
{
	setup(state);
	checkpoint_close(&st);
	fault_init(&f);
	f.has_clock = true;
	f.clock_us = 1776071400000000;
	f.step_us = 1;
	s = &f.sys;
	open_store();
	return 0;
}

static struct checkpoint_policy policy(int64_t recent, int64_t days)
{
	struct checkpoint_policy p;

	ok(checkpoint_policy(&st, &p, &e));
	p.keep_recent = recent;
	p.keep_days = days;
	return p;
}

static void prune(const struct checkpoint_policy *p, const struct json *referenced, bool apply)
{
	ok(checkpoint_prune(&st, p, referenced, apply, &gone, &e));
}

/* Checkpoint number i holds "version i" in the file v, and noise of its own. */
static const char *version(int i)
{
	uint64_t x = (uint64_t)i + 1;
	char noise[4096];

	for (size_t k = 0; k < sizeof(noise) - 1; k++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		noise[k] = (char)('!' + (x >> 33) % 90);
	}
	noise[sizeof(noise) - 1] = '\0';
	return arena_printf(&a, "version %d %s", i, noise);
}

static void make_versions(int n)
{
	make_tree();
	for (int i = 0; i < n; i++) {
		scratch_put(&t, "v", version(i));
		create();
		f.clock_us += DAY;
	}
}

static const char *id_at(size_t i)
{
	struct json *list;

	ok(checkpoint_list(&st, &list, &e));
	return json_get_text(json_at(list, i), "checkpoint_id", NULL);
}

/* A person looks at a plan before they say yes, and meanwhile somebody prunes: what is made then relies on no pack that was only there
 * when they looked. */
static void packs_are_looked_at_again(void **state)
{
	struct checkpoint_store other;
	struct checkpoint_checked found;
	struct checkpoint_restored plan;

	(void)state;
	make_versions(4);
	struct checkpoint_restore q = { .id = id_at(0), .is_dry_run = true, .with_diff = true };
	ok(checkpoint_restore(&st, &q, &plan, &e));
	struct checkpoint_policy p = policy(1, 0);
	ok(checkpoint_open(&other, s, &a, t.fd, state_fd, ".helm", &e));
	ok(checkpoint_prune(&other, &p, NULL, true, &gone, &e));
	assert_int_equal(gone.prune->n, 3);
	checkpoint_close(&other);
	scratch_put(&t, "v", version(0));
	create();
	ok(checkpoint_open(&other, s, &a, t.fd, state_fd, ".helm", &e));
	ok(checkpoint_check_store(&other, &(struct checkpoint_check){ .read_data = true }, &found, &e));
	checkpoint_close(&other);
	assert_int_equal(found.checkpoints, 2);
	if (found.findings->n)
		fail_msg("%s", json_get_text(json_at(found.findings, 0), "text", "?"));
}

/* A day of checkpoints that Helm makes by itself does not push out the one that a person made in the morning; and the last of them stay,
 * whatever the clock says, because calls that run right now rely on them. */
static void automatic_ones_are_counted_apart(void **state)
{
	struct checkpoint_request undo = { .label = CHECKPOINT_UNDO },
				  run = { .label = "x", .task_id = "run-1" };
	enum { MADE = 20, RUNNING = 16 };

	(void)state;
	make_versions(2);
	for (int i = 0; i < MADE; i++) {
		scratch_put(&t, "v", version(i + 2));
		ok(checkpoint_create(&st, i % 2 ? &undo : &run, &made, &e));
		f.clock_us += i < MADE - 2 ? DAY : -400 * DAY;
	}
	const char *mine = id_at(1), *last = id_at(2 + MADE - 1);
	struct checkpoint_policy p = policy(1, 0);
	prune(&p, NULL, false);
	assert_int_equal(gone.keep->n, 1 + RUNNING);
	assert_int_equal(gone.prune->n, 1 + MADE - RUNNING);
	assert_string_equal(json_get_text(json_at(gone.keep, 0), "checkpoint_id", ""), mine);
	assert_string_equal(json_get_text(json_at(gone.keep, RUNNING), "checkpoint_id", ""), last);
}

/* An empty file takes no byte of its pack, and needs it all the same. */
static void an_empty_file_is_kept(void **state)
{
	struct checkpoint_checked found;

	(void)state;
	scratch_put(&t, "empty", "");
	for (int i = 0; i < 3; i++) {
		scratch_put(&t, "v", version(i));
		create();
	}
	struct checkpoint_policy p = policy(1, 0);
	prune(&p, NULL, true);
	assert_int_equal(gone.prune->n, 2);
	ok(checkpoint_check_store(&st, &(struct checkpoint_check){ .read_data = true }, &found, &e));
	assert_int_equal(found.checkpoints, 1);
	if (found.findings->n)
		fail_msg("%s", json_get_text(json_at(found.findings, 0), "text", "?"));
}

static void old_ones_go(void **state)
{
	(void)state;
	make_versions(10);
	struct checkpoint_policy p = policy(2, 5);
	prune(&p, NULL, false);
	assert_int_equal(gone.prune->n, 6);
	assert_int_equal(gone.keep->n, 4);
	assert_string_equal(
		json_get_text(json_at(gone.prune, 0), "prune_reason", ""), "older_than_5_days_unreferenced");
	assert_int_equal(json_get_int(json_at(gone.prune, 0), "age_days", -1), 10);
	assert_string_equal(json_text(json_at(json_get(json_at(gone.keep, 0), "retention_reasons"), 0)),
		"within_keep_days");
	assert_string_equal(json_text(json_at(json_get(json_at(gone.keep, 3), "retention_reasons"), 0)),
		"recent_keep_window");
	struct json *list;
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, 10);

	const char *first = id_at(0);
	prune(&p, NULL, true);
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, 4);
	assert_true(gone.freed_bytes > 6 * 2000);
	assert_false(scratch_has(&t, arena_printf(&a, ".helm/checkpoints/%s", first)));
	for (int i = 0; i < 4; i++) {
		restore(&(struct checkpoint_restore){ .id = id_at((size_t)i), .no_backup = true });
		is("v", version(6 + i));
	}
	/* And the next one works. */
	create();
	restore(NULL);
}

static void protected_ones_stay(void **state)
{
	(void)state;
	struct json *r, *referenced = json_new(&a, JSON_ARRAY);

	make_versions(4);
	ok(checkpoint_protect(&st, id_at(0), true, &r, &e));
	json_pushs(&a, referenced, id_at(1));
	struct checkpoint_policy p = policy(1, 0);
	prune(&p, referenced, true);
	assert_int_equal(gone.prune->n, 1);
	assert_int_equal(gone.keep->n, 3);
	for (int i = 0; i < 3; i++) {
		restore(&(struct checkpoint_restore){ .id = id_at((size_t)i), .no_backup = true });
		is("v", version(i < 2 ? i : 3));
	}
	p.protect_pinned = p.protect_referenced = false;
	prune(&p, referenced, true);
	assert_int_equal(gone.prune->n, 2);
}

static void size_pressure(void **state)
{
	(void)state;
	make_versions(3);
	/* Large enough to matter. */
	char *big = arena_text(&a, 3 << 20);
	uint64_t x = 7;
	for (int i = 0; i < 3; i++) {
		for (size_t k = 0; k < (3 << 20) - 1; k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			big[k] = (char)('!' + (x >> 33) % 90);
		}
		big[(3 << 20) - 1] = '\0';
		scratch_put(&t, "big", big);
		create();
	}
	struct checkpoint_policy p = policy(1, 100);
	prune(&p, NULL, false);
	assert_int_equal(gone.prune->n, 0);
	p.max_total_mb = 4;
	prune(&p, NULL, true);
	assert_int_equal(gone.prune->n, 5);
	assert_string_equal(
		json_get_text(json_at(gone.prune, 0), "prune_reason", ""), "exceeds_max_total_mb_4");
	prune(&p, NULL, false);
	assert_true(gone.total_bytes < 4 << 20);
	restore(NULL);
	assert_true(text_eq(scratch_get(&t, "big"), big));
}

static void many_small_packs_become_one(void **state)
{
	(void)state;
	char **names;
	size_t n;

	make_versions(30);
	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_int_equal(n, 30);
	struct checkpoint_policy p = policy(100, 100);
	prune(&p, NULL, true);
	assert_int_equal(gone.prune->n, 0);
	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_int_equal(n, 1);
	for (size_t i = 0; i < 30; i += 7) {
		restore(&(struct checkpoint_restore){ .id = id_at(i), .no_backup = true });
		is("v", version((int)i));
	}
	/* The stat cache named the packs that are gone. */
	create();
	restore(NULL);
}

static void leftovers(void **state)
{
	(void)state;
	make_tree();
	create();
	assert_int_equal(mkdirat(state_fd, "checkpoints/20200101T000000Z-crashed", 0700), 0);
	scratch_put(&t, ".helm/checkpoints/20200101T000000Z-crashed/manifest.json", "{}");
	scratch_put(&t, ".helm/checkpoints/.index.json.1234.tmp", "x");
	scratch_put(&t, ".helm/checkpoints/objects/tmp-1.pack", "x");
	scratch_put(&t, "src/" RESTORE_TEMP "1f", "x");
	struct checkpoint_policy p = policy(5, 30);
	prune(&p, NULL, false);
	assert_int_equal(gone.leftovers->n, 4);
	assert_true(scratch_has(&t, "src/" RESTORE_TEMP "1f"));
	prune(&p, NULL, true);
	assert_int_equal(gone.leftovers->n, 4);
	prune(&p, NULL, true);
	assert_int_equal(gone.leftovers->n, 0);
	assert_false(scratch_has(&t, ".helm/checkpoints/20200101T000000Z-crashed"));
	assert_false(scratch_has(&t, "src/" RESTORE_TEMP "1f"));
	restore(NULL);
}

/* What was told to be freed is what is not there any more. */
static void freed_is_what_is_gone(void **state)
{
	(void)state;
	make_versions(6);
	struct checkpoint_policy p = policy(2, 0);
	prune(&p, NULL, true);
	assert_int_equal(gone.prune->n, 4);
	assert_true(gone.freed_bytes > 0);
	uint64_t left = gone.total_bytes - gone.freed_bytes;
	prune(&p, NULL, false);
	assert_int_equal(gone.total_bytes, left);
}

/* A leftover that cannot be removed is said, not passed over: each change to the disk fails once. */
static void what_cannot_be_removed_is_said(void **state)
{
	(void)state;
	struct checkpoint_policy p;

	make_tree();
	create();
	p = policy(5, 30);
	bool fired = true;
	for (unsigned n = 1; fired; n++) {
		scratch_put(&t, "src/" RESTORE_TEMP "1f", "x");
		f.calls = 0;
		f.fail_at = n;
		f.fail_errno = EIO;
		int rc = checkpoint_prune(&st, &p, NULL, true, &gone, &e);
		fired = fault_fired(&f);
		f.fail_at = 0;
		if (fired && rc == OK && scratch_has(&t, "src/" RESTORE_TEMP "1f"))
			fail_msg("call %u failed, the leftover is there, and nobody said so", n);
		e = (struct err){ 0 };
	}
}

/* The tree can be read and one content cannot: a comparison that would need it is refused, not shortened. */
static void a_lost_content_is_no_empty_difference(void **state)
{
	(void)state;
	char **names;
	size_t n;

	scratch_put(&t, "same", version(100));
	scratch_put(&t, "v", version(0));
	create();
	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_int_equal(n, 1);
	scratch_put(&t, "v", version(1));
	create();
	checkpoint_close(&st);
	assert_int_equal(unlinkat(state_fd, arena_printf(&a, "checkpoints/objects/%s", names[0]), 0), 0);
	open_store();
	scratch_put(&t, "same", "changed");
	struct checkpoint_restore q = { .id = id_at(1), .is_dry_run = true };
	ok(checkpoint_restore(&st, &q, &back, &e));
	q.with_diff = true;
	refuses(checkpoint_restore(&st, &q, &back, &e), "CHECKPOINT_OBJECT");
}

/* When a kept checkpoint cannot be read, nobody knows which objects it needs. */
static void damage_stops_removal(void **state)
{
	(void)state;
	char **names;
	size_t n, left;

	make_versions(4);
	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	struct json *list;
	ok(checkpoint_list(&st, &list, &e));
	json_sets(&a, json_at(list, 3), "tree",
		"0000000000000000000000000000000000000000000000000000000000000000");
	struct buf to;
	buf_init(&to, &a);
	json_write(&to, list, 0);
	scratch_put(&t, ".helm/checkpoints/index.json", to.p);
	assert_int_equal(unlinkat(t.fd, ".helm/checkpoints/records.jsonl", 0), 0);
	struct checkpoint_policy p = policy(1, 0);
	refuses(checkpoint_prune(&st, &p, NULL, true, &gone, &e), "CHECKPOINT_OBJECT");
	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &left, &e));
	assert_int_equal(left, n);
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, 4);
}

static const char *only_pack(void)
{
	char **names;
	size_t n;

	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_int_equal(n, 1);
	return arena_printf(&a, ".helm/checkpoints/objects/%s", names[0]);
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

/* Content is read before anything goes, not only manifests. */
static void one_bit_stops_removal(void **state)
{
	(void)state;
	struct json *list;

	make_tree();
	create();
	flip(only_pack(), 8); /* the first byte of the first object: README */
	scratch_put(&t, "src/a.c", "int other;\n");
	f.clock_us += DAY;
	ok(checkpoint_create(&st,
		&(struct checkpoint_request){
			.label = "src", .paths = (const char *[]){ "src" }, .path_count = 1 },
		&made, &e));
	struct checkpoint_policy p = policy(2, 0);
	refuses(checkpoint_prune(&st, &p, NULL, true, &gone, &e), "CHECKPOINT_OBJECT");
	ok(checkpoint_list(&st, &list, &e));
	assert_int_equal(list->n, 2);
	/* Once the damaged one may go, it goes, and the other one is whole. */
	p = policy(1, 0);
	prune(&p, NULL, true);
	assert_int_equal(gone.prune->n, 1);
	scratch_put(&t, "src/a.c", "x");
	restore(NULL);
	is("src/a.c", "int other;\n");
}

/* Two packs with the same objects, as an interrupted prune leaves them: a whole copy is found, and survives. */
static void the_whole_copy_is_kept(void **state)
{
	(void)state;
	char **names;
	size_t n;

	for (int turn = 0; turn < 2; turn++) {
		const char *copies[] = { "pack-00000000000000000000000000000000.pack",
			"pack-ffffffffffffffffffffffffffffffff.pack" };
		scratch_put(&t, "file", turn ? "second" : "first");
		create();
		ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
		const char *now = names[0];
		for (size_t i = 1; i < n; i++)
			now = text_eq(names[i], copies[0]) || text_eq(names[i], copies[1]) ? now : names[i];
		const char *from = arena_printf(&a, ".helm/checkpoints/objects/%s", now);
		const char *to = arena_printf(&a, ".helm/checkpoints/objects/%s", copies[turn]);
		struct bytes pack;
		ok(file_read(s, &a, t.fd, from, 1 << 20, 0, &pack, &e));
		ok(file_replace(s, t.fd, to, 0600, pack, &e));
		flip(turn ? from : to, 8);
		checkpoint_close(&st);
		open_store();
		struct checkpoint_policy p = policy(9, 9);
		prune(&p, NULL, true);
		prune(&p, NULL, true);
		scratch_put(&t, "file", "x");
		restore(&(struct checkpoint_restore){ .id = made.id, .no_backup = true });
		is("file", turn ? "second" : "first");
	}
}

/* A pack whose index is damaged counts as not there; what nobody needs of it goes. */
static void unreadable_packs_go(void **state)
{
	(void)state;
	struct stat sb;

	make_tree();
	create();
	const char *pack = only_pack();
	sb = stat_of(pack);
	flip(pack, sb.st_size - 60);
	checkpoint_close(&st);
	open_store();
	struct checkpoint_policy p = policy(1, 0);
	refuses(checkpoint_prune(&st, &p, NULL, true, &gone, &e), "CHECKPOINT_OBJECT");
	assert_true(scratch_has(&t, pack));
	create();
	prune(&p, NULL, true);
	assert_false(scratch_has(&t, pack));
	scratch_put(&t, "README", "x");
	restore(NULL);
	is("README", "read me\n");
}

static void nothing_there(void **state)
{
	(void)state;
	struct checkpoint_policy p = policy(5, 30);

	prune(&p, NULL, true);
	assert_int_equal(gone.keep->n, 0);
	assert_false(scratch_has(&t, ".helm/checkpoints"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(old_ones_go, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(an_empty_file_is_kept, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(packs_are_looked_at_again, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(protected_ones_stay, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(size_pressure, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(many_small_packs_become_one, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(leftovers, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(freed_is_what_is_gone, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_removed_is_said, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(a_lost_content_is_no_empty_difference, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(damage_stops_removal, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(one_bit_stops_removal, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(the_whole_copy_is_kept, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(unreadable_packs_go, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(nothing_there, setup_clock, teardown),
		cmocka_unit_test_setup_teardown(automatic_ones_are_counted_apart, setup_clock, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
