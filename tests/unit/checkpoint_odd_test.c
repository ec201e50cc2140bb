/* checkpoint_odd_test.c — strange names, strange files, files that move, damage in the store, and games with links. */
#include "checkpoint_fixture.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* ---- odd files ---- */

static void odd_names(void **state)
{
	(void)state;
	char longest[256];
	static const char *const names[] = { "new\nline", "tab\t\"quote\"", "\xff\xfe not utf-8", "-rf", "*",
		" ", "caf\xc3\xa9", "..x", "a\\b" };

	memset(longest, 'n', 255);
	longest[255] = '\0';
	scratch_put(&t, longest, "long");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		scratch_put(&t, names[i], names[i]);
	assert_int_equal(symlinkat("\xff\xff", t.fd, "badlink"), 0);
	create();
	assert_int_equal(made.files, ARRAY_SIZE(names) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unlinkat(t.fd, names[i], 0), 0);
	assert_int_equal(unlinkat(t.fd, longest, 0), 0);
	assert_int_equal(unlinkat(t.fd, "badlink", 0), 0);
	restore(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is(names[i], names[i]);
	is(longest, "long");
	char target[8] = { 0 };
	assert_int_equal(readlinkat(t.fd, "badlink", target, sizeof(target)), 2);
	assert_memory_equal(target, "\xff\xff", 2);
}

/* Whoever can put such a file into a checkpoint must not get it made by the one who restores. */
static void set_ids_stay_away(void **state)
{
	struct stat now;

	(void)state;
	scratch_put(&t, "tool", "x");
	assert_int_equal(fchmodat(t.fd, "tool", 06755, 0), 0);
	create();
	assert_int_equal(unlinkat(t.fd, "tool", 0), 0);
	restore(NULL);
	assert_int_equal(fstatat(t.fd, "tool", &now, 0), 0);
	assert_int_equal(now.st_mode & 07777, 0755);
	restore(NULL);
	assert_int_equal(back.written + back.touched, 0);
	restore(&(struct checkpoint_restore){ .set_ids = true });
	assert_int_equal(fstatat(t.fd, "tool", &now, 0), 0);
	assert_int_equal(now.st_mode & 07777, 06755);
	restore(NULL);
	assert_int_equal(fstatat(t.fd, "tool", &now, 0), 0);
	assert_int_equal(now.st_mode & 07777, 06755);
}

/* Nothing of a file but its bytes, mode, owner and times is saved, and no device: neither can be made by a restore, whoever asks. */
static void capabilities_and_devices_stay_away(void **state)
{
	/* VFS_CAP_REVISION_2 with CAP_NET_RAW, permitted and effective. */
	static const uint8_t capability[20] = { 1, 0, 0, 2, 0, 0x20 };
	struct stat now;
	char path[200], value[64];

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can make devices and capabilities");
	scratch_put(&t, "tool", "x");
	scratch_put(&t, "plain", "y");
	snprintf(path, sizeof(path), "%s/tool", t.path);
	if (setxattr(path, "security.capability", capability, sizeof(capability), 0) ||
		mknodat(t.fd, "disk", S_IFBLK | 0666, makedev(7, 0)) ||
		mknodat(t.fd, "null", S_IFCHR | 0666, makedev(1, 3)))
		skip_because("root cannot make devices and capabilities here");
	assert_true(getxattr(path, "security.capability", value, sizeof(value)) > 0);
	create();
	assert_int_equal(made.skipped_count, 2);
	const char *const names[] = { "tool", "plain", "disk", "null" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unlinkat(t.fd, names[i], 0), 0);
	restore(&(struct checkpoint_restore){ .set_ids = true });
	is("tool", "x");
	is("plain", "y");
	assert_true(getxattr(path, "security.capability", value, sizeof(value)) < 0);
	assert_int_equal(fstatat(t.fd, "disk", &now, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(t.fd, "null", &now, AT_SYMLINK_NOFOLLOW), -1);
	/* A file that got a capability since: its own bytes come back without. */
	assert_int_equal(setxattr(path, "security.capability", capability, sizeof(capability), 0), 0);
	scratch_put(&t, "tool", "other");
	(void)setxattr(path, "security.capability", capability, sizeof(capability), 0);
	restore(NULL);
	is("tool", "x");
	assert_true(getxattr(path, "security.capability", value, sizeof(value)) < 0);
}

static void deep_trees(void **state)
{
	(void)state;
	int fd = dup(t.fd);
	char name[100];

	/* Deeper than paths can be long, and than descriptors may be many. */
	memset(name, 'd', 99);
	name[99] = '\0';
	for (int i = 0; i < 60; i++) {
		assert_int_equal(mkdirat(fd, name, 0755), 0);
		int next = openat(fd, name, O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
	create();
	assert_int_equal(made.skipped_count, 1);
	assert_string_equal(made.skipped[0].reason, "path too long");
	restore(&(struct checkpoint_restore){ .delete_new = true });
	assert_int_equal(back.deleted, 0);
	/* Shorter again, so that it can be removed. */
	char half[20 * 100];
	for (int i = 0; i < 20; i++) {
		memcpy(half + i * 100, name, 99);
		half[i * 100 + 99] = i < 19 ? '/' : '\0';
	}
	for (int i = 0; i < 2; i++) {
		int middle = openat(t.fd, half, O_RDONLY | O_DIRECTORY);
		assert_int_equal(renameat(middle, name, t.fd, i ? "x" : "y"), 0);
		close(middle);
		if (!i)
			assert_int_equal(renameat(t.fd, name, t.fd, "z"), 0),
				assert_int_equal(renameat(t.fd, "y", t.fd, name), 0);
	}
}

static void special_files(void **state)
{
	(void)state;
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	make_tree();
	assert_int_equal(mkfifoat(t.fd, "pipe", 0600), 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/sock", t.path);
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	create();
	assert_int_equal(made.files, 4);
	assert_int_equal(made.skipped_count, 2);
	assert_string_equal(made.skipped[0].path, "pipe");
	assert_string_equal(made.skipped[0].reason, "fifo");
	assert_string_equal(made.skipped[1].reason, "socket");
	restore(&(struct checkpoint_restore){ .delete_new = true });
	assert_true(scratch_has(&t, "pipe"));
	assert_true(scratch_has(&t, "sock"));
	close(sock);
}

static void hard_links(void **state)
{
	(void)state;
	scratch_put(&t, "one", "shared");
	assert_int_equal(linkat(t.fd, "one", t.fd, "two", 0), 0);
	create();
	assert_int_equal(made.files, 2);
	scratch_put(&t, "one", "broken"); /* and so is two */
	restore(NULL);
	is("one", "shared");
	is("two", "shared");
}

static void put_at(const char *name, off_t at, const char *text)
{
	int fd = openat(t.fd, name, O_WRONLY | O_CREAT, 0644);

	assert_int_equal(pwrite(fd, text, strlen(text), at), strlen(text));
	close(fd);
}

static void sparse_files(void **state)
{
	(void)state;
	const off_t giant = (off_t)40 << 30;

	put_at("hole", 1 << 20, "middle");
	put_at("hole", giant, "end");
	int fd = openat(t.fd, "empty-hole", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, 10 << 20), 0);
	close(fd);
	struct stat was = stat_of("hole");
	if (was.st_blocks * 512 > 1 << 20)
		skip_because("no holes on this file system");
	create();
	assert_true(made.bytes < 1 << 20);
	preview();
	assert_string_equal(state_of("hole"), "same");
	put_at("hole", 1 << 20, "MIDDLE");
	assert_int_equal(unlinkat(t.fd, "empty-hole", 0), 0);
	preview();
	assert_string_equal(state_of("hole"), "changed");
	restore(NULL);
	struct stat now = stat_of("hole");
	assert_int_equal(now.st_size, was.st_size);
	assert_true(now.st_blocks * 512 < 1 << 20);
	char got[7] = { 0 };
	fd = openat(t.fd, "hole", O_RDONLY);
	assert_int_equal(pread(fd, got, 6, 1 << 20), 6);
	assert_string_equal(got, "middle");
	assert_int_equal(pread(fd, got, 6, giant), 3);
	close(fd);
	assert_int_equal(stat_of("empty-hole").st_size, 10 << 20);
	assert_true(stat_of("empty-hole").st_blocks * 512 < 1 << 20);
}

static char *noise(size_t n)
{
	char *p = arena_text(&a, n + 1);
	uint64_t x = 88172645463325252;

	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (char)('a' + x % 26);
	}
	p[n] = '\0';
	return p;
}

static void big_files_share_chunks(void **state)
{
	(void)state;
	const size_t n = 20 << 20;
	char *text = noise(n);

	scratch_put(&t, "big", text);
	create();
	uint64_t first = made.stored_bytes;
	scratch_put(&t, "big", arena_printf(&a, "inserted at the front %s", text));
	create();
	assert_true(made.stored_bytes < first / 3);
	struct json *list;
	ok(checkpoint_list(&st, &list, &e));
	restore(&(struct checkpoint_restore){ .id = json_get_text(json_at(list, 0), "checkpoint_id", "") });
	assert_true(strcmp(scratch_get(&t, "big"), text) == 0);
}

static void unreadable_files(void **state)
{
	(void)state;
	if (geteuid() == 0)
		skip_because("root can read every file");
	make_tree();
	assert_int_equal(fchmodat(t.fd, "src/a.c", 0, 0), 0);
	assert_int_equal(fchmodat(t.fd, "src/deep", 0, 0), 0);
	create();
	assert_int_equal(made.skipped_count, 2);
	assert_string_equal(made.skipped[0].reason, "unreadable");
	restore(&(struct checkpoint_restore){ .delete_new = true });
	assert_int_equal(fchmodat(t.fd, "src/deep", 0755, 0), 0);
	is("src/deep/b.c", "int b;\n");
}

static void read_only_directories(void **state)
{
	(void)state;
	make_tree();
	assert_int_equal(fchmodat(t.fd, "src/deep", 0555, 0), 0);
	create();
	assert_int_equal(fchmodat(t.fd, "src/deep", 0755, 0), 0);
	scratch_put(&t, "src/deep/b.c", "x");
	assert_int_equal(fchmodat(t.fd, "src/deep", 0555, 0), 0);
	restore(NULL);
	is("src/deep/b.c", "int b;\n");
	assert_int_equal(stat_of("src/deep").st_mode & 07777, 0555);
	assert_int_equal(fchmodat(t.fd, "src/deep", 0755, 0), 0);
}

/* ---- a file that moves while it is read ---- */

static int reads_left;
static ssize_t changing_read(struct sys *sys, int fd, void *to, size_t n)
{
	ssize_t got = sys_real()->read(sys_real(), fd, to, n);

	(void)sys;
	if (got > 0 && memcmp(to, "moving", 6) == 0 && reads_left-- > 0) {
		int w = openat(t.fd, "moving", O_WRONLY | O_APPEND);
		assert_int_equal(write(w, "+", 1), 1);
		close(w);
	}
	return got;
}

static void moving_files(void **state)
{
	(void)state;
	struct fault f;

	fault_init(&f);
	f.sys.read = changing_read;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	scratch_put(&t, "moving", "moving");
	reads_left = 1;
	create();
	assert_int_equal(made.unstable, 0);
	is("moving", "moving+");
	preview();
	assert_string_equal(state_of("moving"), "same");
	reads_left = 100;
	create();
	assert_int_equal(made.unstable, 1);
	checkpoint_close(&st);
	s = sys_real();
	open_store();
}

/* ---- a file that cannot be read ---- */

static ssize_t failing_read(struct sys *sys, int fd, void *to, size_t n)
{
	ssize_t got = sys_real()->read(sys_real(), fd, to, n);

	(void)sys;
	if (got < 3 || memcmp(to, "bad", 3) != 0)
		return got;
	errno = EIO;
	return -1;
}

/* It is named when it is not saved.  While it is still there it is left alone; once it is gone a restore does not bring it back, and says so. */
static void what_could_not_be_read(void **state)
{
	(void)state;
	struct fault f;

	fault_init(&f);
	f.sys.read = failing_read;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	scratch_put(&t, "good", "good");
	scratch_put(&t, "sector", "bad sector");
	create();
	assert_int_equal(made.skipped_count, 1);
	assert_string_equal(made.skipped[0].reason, "read error");
	checkpoint_close(&st);
	s = sys_real();
	open_store();
	restore(NULL);
	assert_int_equal(back.missed, 0);
	assert_int_equal(back.skipped, 1);
	assert_int_equal(unlinkat(t.fd, "sector", 0), 0);
	assert_int_equal(unlinkat(t.fd, "good", 0), 0);
	restore(NULL);
	is("good", "good");
	assert_int_equal(back.missed, 1);
	assert_int_equal(back.skipped, 0);
}

/* What is new and cannot be saved is not removed, and that is no success; without a backup it goes. */
static void new_pipes(void **state)
{
	(void)state;
	scratch_put(&t, "good", "good");
	create();
	assert_int_equal(mkfifoat(t.fd, "pipe", 0600), 0);
	restore(NULL);
	assert_int_equal(back.missed, 0);
	restore(&(struct checkpoint_restore){ .delete_new = true });
	assert_int_equal(back.missed, 1);
	assert_int_equal(back.deleted, 0);
	assert_true(scratch_has(&t, "pipe"));
	restore(&(struct checkpoint_restore){ .delete_new = true, .no_backup = true });
	assert_int_equal(back.missed, 0);
	assert_int_equal(back.deleted, 1);
	assert_false(scratch_has(&t, "pipe"));
}

/* ---- reading back ---- */

static ssize_t lying_pread(struct sys *sys, int fd, void *to, size_t n, off_t at)
{
	ssize_t got = sys_real()->pread(sys_real(), fd, to, n, at);
	struct stat one, other;

	(void)sys;
	if (got > 0 && fstat(fd, &one) == 0 && fstatat(t.fd, "rotten", &other, 0) == 0 &&
		one.st_ino == other.st_ino)
		*(char *)to ^= 1;
	return got;
}

/* A disk that gives back other bytes than it took: only reading back finds it. */
static void verified(void **state)
{
	(void)state;
	struct fault f;

	fault_init(&f);
	scratch_put(&t, "rotten", "truth");
	scratch_put(&t, "whole", "whole");
	create();
	restore(&(struct checkpoint_restore){ .verify = true });
	assert_int_equal(back.missed, 0);
	assert_int_equal(back.verified, 2);
	f.sys.pread = lying_pread;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	assert_int_equal(unlinkat(t.fd, "rotten", 0), 0);
	restore(NULL);
	assert_int_equal(back.missed, 0);
	restore(&(struct checkpoint_restore){ .verify = true, .no_backup = true });
	assert_int_equal(back.missed, 1);
	assert_int_equal(back.verified, 1);
	checkpoint_close(&st);
	s = sys_real();
	open_store();
}

/* ---- damage ---- */

static const char *pack_path(void)
{
	char **names;
	size_t n;

	ok(file_list(s, &a, state_fd, "checkpoints/objects", &names, &n, &e));
	assert_true(n >= 1);
	return arena_printf(&a, ".helm/checkpoints/objects/%s", names[0]);
}

static void damage_is_found(void **state)
{
	(void)state;
	make_tree();
	create();
	const char *pack = pack_path();
	off_t size = stat_of(pack).st_size;
	scratch_put(&t, "src/a.c", "x");
	scratch_put(&t, "README", "x");
	for (off_t at = 8; at < size; at += 11) {
		uint8_t was;
		int fd = openat(t.fd, pack, O_RDWR);
		assert_int_equal(pread(fd, &was, 1, at), 1);
		assert_int_equal(pwrite(fd, &(uint8_t){ was ^ 1 }, 1, at), 1);
		checkpoint_close(&st);
		open_store();
		struct checkpoint_restore q = { .id = made.id, .no_backup = true };
		int rc = checkpoint_restore(&st, &q, &back, &e);
		if (rc)
			assert_int_equal(rc, E_CORRUPT);
		/* Never wrong bytes: what was there, or what was saved. */
		assert_true(text_eq(scratch_get(&t, "README"), "x") ||
			text_eq(scratch_get(&t, "README"), "read me\n"));
		assert_true(text_eq(scratch_get(&t, "src/a.c"), "x") ||
			text_eq(scratch_get(&t, "src/a.c"), "int a;\n"));
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
		close(fd);
	}
	checkpoint_close(&st);
	open_store();
	restore(NULL);
	is("README", "read me\n");
}

/* While a pack is damaged, too, nobody but a repair replaces a damaged index. */
static void bad_index_stays(void **state)
{
	(void)state;
	make_tree();
	create();
	scratch_put(&t, ".helm/checkpoints/index.json", "[{\"checkpoint_id\":");
	struct checkpoint_request q = { .label = "x" };
	struct json *list;
	refuses(checkpoint_list(&st, &list, &e), "CHECKPOINT_INDEX");
	assert_non_null(strstr(e.text, "helm checkpoint repair"));
	const char *pack = pack_path();
	int fd = openat(t.fd, pack, O_RDWR);
	assert_int_equal(ftruncate(fd, 30), 0);
	close(fd);
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_INDEX");
	is(".helm/checkpoints/index.json", "[{\"checkpoint_id\":");
	scratch_put(&t, ".helm/checkpoints/index.json", "{}");
	refuses(checkpoint_create(&st, &q, &made, &e), "CHECKPOINT_INDEX");
}

static void unknown_members_survive(void **state)
{
	(void)state;
	struct json *r;

	make_tree();
	assert_int_equal(mkdirat(state_fd, "checkpoints", 0700), 0);
	scratch_put(&t, ".helm/checkpoints/index.json",
		"[{\"checkpoint_id\": \"20200101T000000Z-old\", \"label\": \"old\", \"created_at\": "
		"\"20200101T000000Z\", \"paths\": [\"docs\"], \"archive\": "
		"\".helm/checkpoints/20200101T000000Z-old/snapshot.tar.gz\", \"extra\": {\"k\": 1.50}}]");
	checkpoint_close(&st);
	open_store();
	create();
	ok(checkpoint_protect(&st, "20200101T000000Z-old", true, &r, &e));
	const char *text = scratch_get(&t, ".helm/checkpoints/index.json");
	assert_non_null(strstr(text, "\"k\": 1.50"));
	assert_non_null(strstr(text, "\"pinned\": true"));
	ok(checkpoint_protect(&st, "20200101T000000Z-old", false, &r, &e));
	assert_null(strstr(scratch_get(&t, ".helm/checkpoints/index.json"), "pinned"));
}

/* ---- games with links ---- */

static void links_are_never_a_way_out(void **state)
{
	(void)state;
	struct scratch outside;

	scratch_open(&outside);
	scratch_put(&outside, "b.c", "outside");
	make_tree();
	create();
	/* The directory becomes a link to somewhere else. */
	assert_int_equal(unlinkat(t.fd, "src/deep/b.c", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/deep", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat(outside.path, t.fd, "src/deep"), 0);
	restore(NULL);
	is("src/deep/b.c", "int b;\n");
	assert_true(S_ISDIR(stat_of("src/deep").st_mode));
	assert_string_equal(scratch_get(&outside, "b.c"), "outside");

	/* The same for a directory that the checkpoint does not hold itself. */
	const char *paths[] = { "src/deep/b.c" };
	struct checkpoint_request q = { .label = "x", .paths = paths, .path_count = 1 };
	ok(checkpoint_create(&st, &q, &made, &e));
	assert_int_equal(unlinkat(t.fd, "src/deep/b.c", 0), 0);
	assert_int_equal(unlinkat(t.fd, "src/deep", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat(outside.path, t.fd, "src/deep"), 0);
	restore(NULL);
	assert_int_equal(back.written, 0);
	assert_int_equal(back.missed, 1);
	assert_string_equal(scratch_get(&outside, "b.c"), "outside");
	scratch_done(&outside);
}

static struct scratch *victim;
static int swapping_fsync(struct sys *sys, int fd)
{
	(void)sys;
	/* Between staging and renaming: the moment a racing process would choose. */
	if (scratch_has(&t, "src/deep") && S_ISDIR(stat_of("src/deep").st_mode)) {
		assert_int_equal(renameat(t.fd, "src/deep", t.fd, "moved"), 0);
		assert_int_equal(symlinkat(victim->path, t.fd, "src/deep"), 0);
	}
	return sys_real()->fsync(sys_real(), fd);
}

static void swapped_in_the_middle(void **state)
{
	(void)state;
	struct scratch outside;
	struct fault f;

	scratch_open(&outside);
	victim = &outside;
	scratch_put(&outside, "b.c", "outside");
	make_tree();
	create();
	scratch_put(&t, "src/deep/b.c", "damaged");
	fault_init(&f);
	f.sys.fsync = swapping_fsync;
	s = &f.sys;
	checkpoint_close(&st);
	open_store();
	restore(NULL);
	assert_string_equal(scratch_get(&outside, "b.c"), "outside");
	assert_int_equal(back.missed, 1);
	checkpoint_close(&st);
	s = sys_real();
	open_store();
	scratch_done(&outside);
}

static void links_outside_stay_out(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("/etc/passwd", t.fd, "absolute"), 0);
	assert_int_equal(symlinkat("../../x", t.fd, "up"), 0);
	create();
	preview();
	assert_string_equal(state_of("absolute"), "same");
	assert_int_equal(unlinkat(t.fd, "absolute", 0), 0);
	assert_int_equal(unlinkat(t.fd, "up", 0), 0);
	restore(NULL);
	assert_int_equal(back.skipped, 2);
	assert_false(scratch_has(&t, "absolute"));
	restore(&(struct checkpoint_restore){ .all_links = true });
	assert_true(scratch_has(&t, "absolute"));
	assert_true(scratch_has(&t, "up"));
}

static void kinds_change(void **state)
{
	(void)state;
	make_tree();
	create();
	/* file -> directory with content, directory -> file, link -> file */
	assert_int_equal(unlinkat(t.fd, "README", 0), 0);
	assert_int_equal(mkdirat(t.fd, "README", 0755), 0);
	scratch_put(&t, "README/inside", "x");
	assert_int_equal(unlinkat(t.fd, "src/empty", AT_REMOVEDIR), 0);
	scratch_put(&t, "src/empty", "file now");
	assert_int_equal(unlinkat(t.fd, "src/link", 0), 0);
	scratch_put(&t, "src/link", "file now");
	restore(NULL);
	assert_int_equal(back.missed, 1);
	is("README/inside", "x");
	assert_true(S_ISDIR(stat_of("src/empty").st_mode));
	assert_true(S_ISLNK(stat_of("src/link").st_mode));
	restore(&(struct checkpoint_restore){ .delete_new = true });
	is("README", "read me\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(set_ids_stay_away, setup, teardown),
		cmocka_unit_test_setup_teardown(capabilities_and_devices_stay_away, setup, teardown),
		cmocka_unit_test_setup_teardown(deep_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(special_files, setup, teardown),
		cmocka_unit_test_setup_teardown(hard_links, setup, teardown),
		cmocka_unit_test_setup_teardown(sparse_files, setup, teardown),
		cmocka_unit_test_setup_teardown(big_files_share_chunks, setup, teardown),
		cmocka_unit_test_setup_teardown(unreadable_files, setup, teardown),
		cmocka_unit_test_setup_teardown(read_only_directories, setup, teardown),
		cmocka_unit_test_setup_teardown(moving_files, setup, teardown),
		cmocka_unit_test_setup_teardown(what_could_not_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(new_pipes, setup, teardown),
		cmocka_unit_test_setup_teardown(verified, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_index_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_members_survive, setup, teardown),
		cmocka_unit_test_setup_teardown(links_are_never_a_way_out, setup, teardown),
		cmocka_unit_test_setup_teardown(swapped_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(links_outside_stay_out, setup, teardown),
		cmocka_unit_test_setup_teardown(kinds_change, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
