/* checkpoint_fixture.h — a workspace in a scratch directory, a small tree in it, and short ways to save and restore. */
#ifndef UNIT_CHECKPOINT_FIXTURE_H
#define UNIT_CHECKPOINT_FIXTURE_H

#include "base/hash.h"
#include "execute/checkpoint/parts.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static struct scratch t;
static struct arena a;
static struct err e;
static struct sys *s;
static int state_fd;
static struct checkpoint_store st;
static struct checkpoint_result made;
static struct checkpoint_restored back;

static inline void open_store(void)
{
	assert_int_equal(checkpoint_open(&st, s, &a, t.fd, state_fd, ".helm", &e), OK);
}

static inline int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	s = sys_real();
	e = (struct err){ 0 };
	assert_int_equal(mkdirat(t.fd, ".helm", 0700), 0);
	state_fd = openat(t.fd, ".helm", O_RDONLY | O_DIRECTORY);
	open_store();
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	checkpoint_close(&st);
	close(state_fd);
	arena_done(&a);
	scratch_done(&t);
	return 0;
}

static inline void ok(int rc)
{
	if (rc)
		fail_msg("%s: %s", e.code, e.text);
}

static inline void refuses(int rc, const char *code)
{
	assert_true(rc < 0);
	assert_string_equal(e.code, code);
	assert_true(e.text[0]);
}

static inline void create(void)
{
	ok(checkpoint_create(&st, &(struct checkpoint_request){ .label = "test" }, &made, &e));
}

static inline void restore(const struct checkpoint_restore *how)
{
	struct checkpoint_restore q = how ? *how : (struct checkpoint_restore){ 0 };

	if (!q.id)
		q.id = made.id;
	ok(checkpoint_restore(&st, &q, &back, &e));
}

static inline void preview(void)
{
	restore(&(struct checkpoint_restore){ .is_dry_run = true });
}

/* How `path` stands in the last preview or restore. */
static inline const char *state_of(const char *path)
{
	for (size_t i = 0; i < back.change_count; i++)
		if (text_eq(back.changes[i].path, path))
			return checkpoint_state_name(back.changes[i].state);
	return "absent";
}

static inline struct stat stat_of(const char *path)
{
	struct stat sb;

	assert_int_equal(fstatat(t.fd, path, &sb, AT_SYMLINK_NOFOLLOW), 0);
	return sb;
}

static inline void is(const char *path, const char *text)
{
	const char *got = scratch_get(&t, path);

	assert_non_null(got);
	assert_string_equal(got, text);
}

static inline void make_tree(void)
{
	assert_int_equal(mkdirat(t.fd, "src", 0755), 0);
	assert_int_equal(mkdirat(t.fd, "src/empty", 0750), 0);
	assert_int_equal(mkdirat(t.fd, "src/deep", 0755), 0);
	scratch_put(&t, "README", "read me\n");
	scratch_put(&t, "src/a.c", "int a;\n");
	scratch_put(&t, "src/deep/b.c", "int b;\n");
	scratch_put(&t, "src/tool", "#!/bin/sh\n");
	assert_int_equal(fchmodat(t.fd, "src/tool", 0755, 0), 0);
	assert_int_equal(symlinkat("a.c", t.fd, "src/link"), 0);
	assert_int_equal(symlinkat("nowhere", t.fd, "src/dangling"), 0);
}

static inline void wait_until_old(void)
{
	struct timespec nap = { .tv_nsec = 60000000 };

	nanosleep(&nap, NULL);
}

#endif
