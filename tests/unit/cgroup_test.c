/* cgroup_test.c — control groups, in a made file system that answers as the kernel does: where limits can be set and where not, who has
 * to step aside, what is ended, and what a killed helm has left.  With the real kernel: tests/cli/cgroup.t. */
#include "base/text.h"
#include "execute/cgroup.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PIDS = 4, STRANGER = 1 };

/* Groups are directories below `dir`; which process is in which one stands here. */
static struct machine {
	struct sys s;
	struct scratch dir;
	const char *root; /* where the kernel shows them: "/sys/fs/cgroup", or with /unified */
	const char *own; /* of this process, as /proc/self/cgroup says */
	struct {
		long pid;
		char in[128]; /* below dir */
	} pids[PIDS];
	const char *offers; /* controllers of the base */
	bool no_kill; /* an older kernel */
	bool no_mkdir; /* not ours */
	int kills;
} m;

static bool is_in(const char *group)
{
	for (size_t i = 0; i < PIDS; i++)
		if (m.pids[i].pid && !strcmp(m.pids[i].in, group))
			return true;
	return false;
}

/* Which file of which group a descriptor is. */
static bool place_of(int fd, char group[256], const char **ret_file)
{
	char link[64], path[256];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	size_t base = strlen(m.dir.path);
	char *slash = strrchr(path, '/');
	if (strncmp(path, m.dir.path, base) || slash < path + base)
		return false;
	snprintf(group, 256, "%.*s", (int)(slash - path - (long)base), path + base);
	static char file[64];
	snprintf(file, sizeof(file), "%s", slash + 1);
	*ret_file = file;
	return true;
}

static void put(const char *group, const char *file, const char *text)
{
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s", group + (*group == '/'), *group ? "/" : "", file);
	scratch_put(&m.dir, name, text);
}

/* The files of a new group. */
static void furnish(const char *group, const char *controllers, bool is_root)
{
	put(group, "cgroup.procs", "");
	put(group, "cgroup.subtree_control", "\n");
	put(group, "cgroup.controllers", controllers);
	if (!is_root) {
		put(group, "cgroup.type", "domain\n");
		put(group, "cgroup.events", "populated 0\nfrozen 0\n");
		if (!m.no_kill)
			put(group, "cgroup.kill", "");
	}
	if (!is_root && strstr(controllers, "pids"))
		put(group, "pids.max", "max\n");
	if (!is_root && strstr(controllers, "memory")) {
		put(group, "memory.max", "max\n");
		put(group, "memory.swap.max", "max\n");
	}
}

static int fake_open(struct sys *s, int dir, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	char to[512], group[256], pids[256] = "";
	const char *file = "";

	snprintf(to, sizeof(to), "%s", path);
	if (!strcmp(path, "/proc/self/cgroup"))
		snprintf(to, sizeof(to), "%s/proc-self-cgroup", m.dir.path);
	else if (!strncmp(path, m.root, strlen(m.root)))
		snprintf(to, sizeof(to), "%s%s", m.dir.path, path + strlen(m.root));
	else if (!strncmp(path, "/sys/", 5)) {
		errno = ENOENT;
		return -1;
	}
	int fd = sys_real()->open(s, dir, to, flags, mode, resolve);
	if (fd < 0 || !place_of(fd, group, &file) || flags & O_WRONLY)
		return fd;
	if (!strcmp(file, "cgroup.events"))
		put(group, file, is_in(group) ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
	for (size_t i = 0; i < PIDS && !strcmp(file, "cgroup.procs"); i++)
		if (m.pids[i].pid && !strcmp(m.pids[i].in, group))
			snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%ld\n", m.pids[i].pid);
	if (!strcmp(file, "cgroup.procs"))
		put(group, file, pids);
	return fd;
}

static void move(long pid, const char *group)
{
	for (size_t i = 0; i < PIDS; i++)
		if (m.pids[i].pid == (pid ? pid : getpid()))
			snprintf(m.pids[i].in, sizeof(m.pids[i].in), "%s", group);
}

static int enable(const char *group, const char *text)
{
	char name[256], on[64] = "";

	if (is_in(group)) {
		errno = EBUSY;
		return -1;
	}
	for (const char *at = strchr(text, '+'); at; at = strchr(at + 1, '+')) {
		char word[16];
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at + 1, " \n"), at + 1);
		if (!strstr(m.offers, word)) {
			errno = ENOENT;
			return -1;
		}
		snprintf(on + strlen(on), sizeof(on) - strlen(on), "%s ", word);
	}
	snprintf(name, sizeof(name), "%s", on);
	put(group, "cgroup.subtree_control", name);
	return 0;
}

static ssize_t fake_write(struct sys *s, int fd, const void *from, size_t n)
{
	char group[256], text[128];
	const char *file;

	(void)s;
	assert_true(place_of(fd, group, &file));
	snprintf(text, sizeof(text), "%.*s", (int)n, (const char *)from);
	if (!strcmp(file, "cgroup.procs"))
		move(strtol(text, NULL, 10), group);
	else if (!strcmp(file, "cgroup.subtree_control") && enable(group, text))
		return -1;
	else if (!strcmp(file, "cgroup.kill")) {
		m.kills++;
		for (size_t i = 0; i < PIDS; i++)
			if (!strcmp(m.pids[i].in, group))
				m.pids[i].pid = 0;
	} else if (strstr(file, ".max"))
		put(group, file, text);
	return (ssize_t)n;
}

static int fake_mkdir(struct sys *s, int dir, const char *path, mode_t mode)
{
	char group[256], link[64], whole[256], on[512];

	if (m.no_mkdir) {
		errno = EACCES;
		return -1;
	}
	if (sys_real()->mkdir(s, dir, path, mode))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	ssize_t n = readlink(link, whole, sizeof(whole) - 1);
	whole[n > 0 ? n : 0] = '\0';
	const char *parent = whole + strlen(m.dir.path);
	snprintf(on, sizeof(on), "%s/cgroup.subtree_control", parent + (*parent == '/'));
	const char *given = scratch_get(&m.dir, on);
	snprintf(on, sizeof(on), "%s", given ? given : "");
	snprintf(group, sizeof(group), "%s/%s", parent, path);
	furnish(group, on, false);
	return 0;
}

static int fake_unlink(struct sys *s, int dir, const char *path, int flags)
{
	static const char *const files[] = { "cgroup.procs", "cgroup.subtree_control", "cgroup.controllers",
		"cgroup.type", "cgroup.events", "cgroup.kill", "pids.max", "memory.max", "memory.swap.max" };
	char name[256];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(name, sizeof(name), "%s/%s", path, files[i]);
		(void)sys_real()->unlink(s, dir, name, 0);
	}
	return sys_real()->unlink(s, dir, path, flags);
}

static void no_sleep(struct sys *s, int64_t us)
{
	(void)s;
	(void)us;
}

/* This process alone in a group that offers both controllers, none of them switched on. */
static int set_up(void **state)
{
	char text[256];

	(void)state;
	m = (struct machine){
		.s = *sys_real(), .root = "/sys/fs/cgroup", .own = "/a.scope", .offers = "cpu memory pids\n"
	};
	m.s.open = fake_open;
	m.s.write = fake_write;
	m.s.mkdir = fake_mkdir;
	m.s.unlink = fake_unlink;
	m.s.sleep_us = no_sleep;
	scratch_open(&m.dir);
	snprintf(text, sizeof(text), "3:cpuset:/x\n0::%s\n", m.own);
	scratch_put(&m.dir, "proc-self-cgroup", text);
	assert_int_equal(mkdirat(m.dir.fd, "a.scope", 0755), 0);
	furnish("", m.offers, true);
	furnish("/a.scope", m.offers, false);
	m.pids[0].pid = getpid();
	move(0, "/a.scope");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_done(&m.dir);
	return 0;
}

static const struct run_limits both = { .processes = 50, .memory_mb = 64 };

static const char *text_of(const struct cgroup *g, const char *file)
{
	char name[256];

	snprintf(name, sizeof(name), "a.scope/%s/%s", g->name, file);
	return scratch_get(&m.dir, name);
}

static size_t groups_left(void)
{
	size_t n = 0;
	char name[64];

	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "a.scope/helm-run-%ld-%d", (long)getpid(), i);
		n += scratch_has(&m.dir, name);
	}
	return n;
}

static void test_limits_are_set(void **state)
{
	struct cgroup g;

	(void)state;
	cgroup_make_limited(&m.s, &both, &g);
	assert_true(g.dir >= 0 && g.has_processes && g.has_memory && g.has_kill);
	assert_string_equal(text_of(&g, "pids.max"), "50\n");
	assert_string_equal(text_of(&g, "memory.max"), "67108864\n");
	assert_string_equal(text_of(&g, "memory.swap.max"), "0");
	assert_string_equal(m.pids[0].in, "/a.scope/helm-keeps");
	assert_int_equal(cgroup_enter(&g), 0);
	assert_non_null(strstr(m.pids[0].in, g.name));
	move(0, "/a.scope/helm-keeps");
	cgroup_end(&g);
	assert_int_equal(g.dir, -1);
	assert_int_equal(groups_left(), 0);
	/* Once more, from where we are now: beside the first, not below helm's own place. */
	scratch_put(&m.dir, "proc-self-cgroup", "0::/a.scope/helm-keeps\n");
	cgroup_make_limited(&m.s, &both, &g);
	assert_true(g.has_processes && g.has_memory);
	assert_int_equal(groups_left(), 1);
	cgroup_end(&g);
}

static void test_only_what_is_wanted_and_there(void **state)
{
	struct cgroup g;

	(void)state;
	cgroup_make_limited(&m.s, &(struct run_limits){ .file_mb = 5 }, &g);
	assert_int_equal(g.dir, -1);
	cgroup_make_limited(&m.s, &(struct run_limits){ .processes = 5 }, &g);
	assert_true(g.has_processes && !g.has_memory);
	cgroup_end(&g);
	m.offers = "cpu pids\n";
	put("/a.scope", "cgroup.controllers", m.offers);
	cgroup_make_limited(&m.s, &both, &g);
	assert_true(g.has_processes && !g.has_memory);
	cgroup_end(&g);
	put("/a.scope", "cgroup.controllers", "cpu\n");
	cgroup_make_limited(&m.s, &both, &g);
	assert_int_equal(g.dir, -1);
}

/* Somebody else is in the group, a shell for example: nobody is moved, and nothing is left. */
static void test_we_are_not_alone(void **state)
{
	struct cgroup g;

	(void)state;
	m.pids[1].pid = STRANGER;
	snprintf(m.pids[1].in, sizeof(m.pids[1].in), "/a.scope");
	cgroup_make_limited(&m.s, &both, &g);
	assert_int_equal(g.dir, -1);
	assert_string_equal(m.pids[0].in, "/a.scope");
	assert_false(scratch_has(&m.dir, "a.scope/helm-keeps"));
	cgroup_make_plain(&m.s, &g);
	assert_true(g.dir >= 0 && g.has_kill && !g.has_processes && !g.has_memory);
	cgroup_end(&g);
	assert_int_equal(groups_left(), 0);
}

/* A controller that says no: we step back to where we stood. */
static void test_step_back(void **state)
{
	struct cgroup g;

	(void)state;
	m.offers = "cpu\n"; /* and not what its list says */
	cgroup_make_limited(&m.s, &both, &g);
	assert_int_equal(g.dir, -1);
	assert_string_equal(m.pids[0].in, "/a.scope");
	assert_false(scratch_has(&m.dir, "a.scope/helm-keeps"));
}

/* The root of all groups is the machine's: nothing is switched on there. */
static void test_the_root_is_not_ours(void **state)
{
	struct cgroup g;

	(void)state;
	scratch_put(&m.dir, "proc-self-cgroup", "0::/\n");
	move(0, "");
	cgroup_make_limited(&m.s, &both, &g);
	assert_int_equal(g.dir, -1);
	assert_string_equal(scratch_get(&m.dir, "cgroup.subtree_control"), "\n");
}

static void test_no_groups_here(void **state)
{
	static const char *const none[] = { "", "3:cpuset:/x\n", "0::/not/shown\n", "0::" };
	struct cgroup g;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		scratch_put(&m.dir, "proc-self-cgroup", none[i]);
		cgroup_make_plain(&m.s, &g);
		assert_int_equal(g.dir, -1);
		assert_int_equal(cgroup_enter(&g), 0);
		cgroup_kill(&g);
		cgroup_end(&g);
	}
	scratch_put(&m.dir, "proc-self-cgroup", "0::/a.scope\n");
	m.no_mkdir = true;
	cgroup_make_plain(&m.s, &g);
	assert_int_equal(g.dir, -1);
	cgroup_make_limited(&m.s, &both, &g);
	assert_int_equal(g.dir, -1);
	assert_string_equal(m.pids[0].in, "/a.scope");
}

static void test_beside_older_groups(void **state)
{
	struct cgroup g;

	(void)state;
	m.root = "/sys/fs/cgroup/unified";
	cgroup_make_plain(&m.s, &g);
	assert_true(g.dir >= 0);
	cgroup_end(&g);
}

static void test_everything_ends(void **state)
{
	struct cgroup g;

	(void)state;
	cgroup_make_plain(&m.s, &g);
	m.pids[1].pid = STRANGER;
	snprintf(m.pids[1].in, sizeof(m.pids[1].in), "/a.scope/%s", g.name);
	cgroup_end(&g);
	assert_int_equal(m.pids[1].pid, 0);
	assert_int_equal(m.kills, 1);
	assert_int_equal(groups_left(), 0);
	m.no_kill = true;
	cgroup_make_plain(&m.s, &g);
	assert_false(g.has_kill);
	cgroup_kill(&g);
	cgroup_end(&g);
	assert_int_equal(m.kills, 1);
}

/* One whose maker lives is left alone; one whose maker was killed is ended, with what is in it. */
static void test_what_was_left_behind(void **state)
{
	struct cgroup dead, alive, g;

	(void)state;
	cgroup_make_plain(&m.s, &alive);
	cgroup_make_plain(&m.s, &dead);
	assert_string_not_equal(alive.name, dead.name);
	m.pids[1].pid = STRANGER;
	snprintf(m.pids[1].in, sizeof(m.pids[1].in), "/a.scope/%s", dead.name);
	close(dead.dir); /* the kernel takes back the lock */
	close(dead.base);
	cgroup_make_plain(&m.s, &g);
	assert_int_equal(m.pids[1].pid, 0);
	assert_int_equal(groups_left(), 2);
	cgroup_end(&g);
	assert_int_equal(groups_left(), 1);
	cgroup_end(&alive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limits_are_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_what_is_wanted_and_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_we_are_not_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_step_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_root_is_not_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_groups_here, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_beside_older_groups, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_everything_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_left_behind, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
