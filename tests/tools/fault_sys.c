/* fault_sys.c — the twin of the outside world; see fault_sys.h. */
#include "tools/fault_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static struct fault *twin(struct sys *s)
{
	return (struct fault *)s;
}

static void trace(struct fault *f, const char *name)
{
	char line[64];

	if (f->trace_fd < 0)
		return;
	int n = snprintf(line, sizeof(line), "%u %s\n", f->calls, name);
	if (write(f->trace_fd, line, (size_t)n) != n)
		abort();
}

static void die(void)
{
	(void)raise(SIGKILL);
	_exit(137);
}

/* Count one call.  False, with errno, when it must fail; does not return when it must kill. */
static bool count(struct fault *f, const char *name)
{
	unsigned at = ++f->calls;

	trace(f, name);
	if (f->kill_at == at)
		die();
	if (f->fail_at && (f->fail_at == at || (f->fail_stays && at > f->fail_at))) {
		errno = f->fail_errno;
		return false;
	}
	return true;
}

/* The same for a call that only looks. */
static bool look(struct fault *f)
{
	if (++f->looks != f->look_fail_at)
		return true;
	errno = f->look_errno;
	return false;
}

/* Once the half-done call has been made. */
static void tear(struct fault *f)
{
	if (f->tear_at == f->calls)
		die();
}

/* what a power failure would lose */

static void note(struct fault *f, const struct stat *st, bool is_unsynced)
{
	size_t i = 0;

	while (i < f->unsynced_count &&
		(f->unsynced[i].dev != st->st_dev || f->unsynced[i].ino != st->st_ino))
		i++;
	if (i < f->unsynced_count && !is_unsynced)
		f->unsynced[i] = f->unsynced[--f->unsynced_count];
	else if (i == f->unsynced_count && is_unsynced && i < FAULT_UNSYNCED) {
		f->unsynced[i].dev = st->st_dev;
		f->unsynced[i].ino = st->st_ino;
		f->unsynced_count++;
	}
}

static bool is_unsynced(const struct fault *f, const struct stat *st)
{
	for (size_t i = 0; i < f->unsynced_count; i++)
		if (f->unsynced[i].dev == st->st_dev && f->unsynced[i].ino == st->st_ino)
			return true;
	return false;
}

static void note_fd(struct fault *f, int fd, bool unsynced)
{
	int saved = errno;
	struct stat st;

	/* Pipes and terminals have nothing to sync, and nobody finds a file without a name again. */
	if (fstat(fd, &st) == 0 && st.st_nlink && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		note(f, &st, unsynced);
	errno = saved;
}

/* The directory that holds `path` has changed. */
static void note_parent(struct fault *f, int dirfd, const char *path)
{
	int saved = errno;
	char dir[4096];
	struct stat st;
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (fstatat(dirfd, dir, &st, 0) == 0)
		note(f, &st, true);
	errno = saved;
}

static bool is_there(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* the calls */

static int twin_open(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct fault *f = twin(s);
	struct sys *real = sys_real();

	if (!(flags & (O_CREAT | O_TRUNC)))
		return look(f) ? real->open(real, dirfd, path, flags, mode, resolve) : -1;
	bool is_new = !is_there(dirfd, path);
	if (!count(f, "open"))
		return -1;
	int fd = real->open(real, dirfd, path, flags, mode, resolve);
	tear(f);
	if (fd >= 0 && is_new)
		note_parent(f, dirfd, path);
	if (fd >= 0 && flags & O_TRUNC)
		note_fd(f, fd, true);
	return fd;
}

static ssize_t twin_write(struct sys *s, int fd, const void *from, size_t n)
{
	struct fault *f = twin(s);
	struct sys *real = sys_real();

	if (!count(f, "write"))
		return -1;
	bool is_half = (f->short_at == f->calls || f->tear_at == f->calls) && n > 1;
	ssize_t got = real->write(real, fd, from, is_half ? n / 2 : n);
	tear(f);
	if (got > 0)
		note_fd(f, fd, true);
	return got;
}

static int synced(struct fault *f, int fd, int rc)
{
	tear(f);
	if (rc == 0)
		note_fd(f, fd, false);
	return rc;
}

static int twin_sync(struct sys *s, int fd)
{
	return count(twin(s), "sync") ? synced(twin(s), fd, sys_real()->sync(sys_real(), fd)) : -1;
}

static int twin_fsync(struct sys *s, int fd)
{
	return count(twin(s), "fsync") ? synced(twin(s), fd, sys_real()->fsync(sys_real(), fd)) : -1;
}

static int twin_syncfs(struct sys *s, int fd)
{
	struct fault *f = twin(s);

	if (!count(f, "syncfs"))
		return -1;
	int rc = sys_real()->syncfs(sys_real(), fd);
	tear(f);
	if (rc == 0)
		f->unsynced_count = 0;
	return rc;
}

static int twin_truncate(struct sys *s, int fd, off_t size)
{
	struct fault *f = twin(s);

	if (!count(f, "truncate"))
		return -1;
	int rc = sys_real()->truncate(sys_real(), fd, size);
	tear(f);
	if (rc == 0)
		note_fd(f, fd, true);
	return rc;
}

static int twin_rename(
	struct sys *s, int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	struct fault *f = twin(s);
	struct stat st;

	if (!count(f, "rename"))
		return -1;
	bool is_early = fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		is_unsynced(f, &st);
	int rc = sys_real()->rename(sys_real(), from_dir, from, to_dir, to, flags);
	tear(f);
	if (rc == 0) {
		f->violations += is_early;
		note_parent(f, from_dir, from);
		note_parent(f, to_dir, to);
	}
	return rc;
}

static int twin_unlink(struct sys *s, int dirfd, const char *path, int flags)
{
	struct fault *f = twin(s);
	struct stat st;

	if (!count(f, "unlink"))
		return -1;
	bool is_known = fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int rc = sys_real()->unlink(sys_real(), dirfd, path, flags);
	tear(f);
	if (rc == 0) {
		if (is_known && (S_ISDIR(st.st_mode) || st.st_nlink == 1))
			note(f, &st, false);
		note_parent(f, dirfd, path);
	}
	return rc;
}

static int named(struct fault *f, int dirfd, const char *path, int rc)
{
	tear(f);
	if (rc == 0)
		note_parent(f, dirfd, path);
	return rc;
}

static int twin_mkdir(struct sys *s, int dirfd, const char *path, mode_t mode)
{
	if (!count(twin(s), "mkdir"))
		return -1;
	return named(twin(s), dirfd, path, sys_real()->mkdir(sys_real(), dirfd, path, mode));
}

static int twin_symlink(struct sys *s, const char *target, int dirfd, const char *path)
{
	if (!count(twin(s), "symlink"))
		return -1;
	return named(twin(s), dirfd, path, sys_real()->symlink(sys_real(), target, dirfd, path));
}

static int twin_link(struct sys *s, int from_dir, const char *from, int to_dir, const char *to)
{
	if (!count(twin(s), "link"))
		return -1;
	return named(twin(s), to_dir, to, sys_real()->link(sys_real(), from_dir, from, to_dir, to));
}

static int twin_chown(struct sys *s, int fd, uid_t uid, gid_t gid)
{
	if (!count(twin(s), "chown"))
		return -1;
	int rc = sys_real()->chown(sys_real(), fd, uid, gid);
	tear(twin(s));
	return rc;
}

static int twin_chmod(struct sys *s, int fd, mode_t mode)
{
	if (!count(twin(s), "chmod"))
		return -1;
	int rc = sys_real()->chmod(sys_real(), fd, mode);
	tear(twin(s));
	return rc;
}

static int twin_utimens(struct sys *s, int dirfd, const char *path, const struct timespec times[2], int flags)
{
	if (!count(twin(s), "utimens"))
		return -1;
	int rc = sys_real()->utimens(sys_real(), dirfd, path, times, flags);
	tear(twin(s));
	return rc;
}

static pid_t twin_fork(struct sys *s)
{
	return count(twin(s), "fork") ? sys_real()->fork(sys_real()) : -1;
}

/* looking */

static ssize_t twin_read(struct sys *s, int fd, void *to, size_t n)
{
	return look(twin(s)) ? sys_real()->read(sys_real(), fd, to, n) : -1;
}

static ssize_t twin_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	return look(twin(s)) ? sys_real()->pread(sys_real(), fd, to, n, at) : -1;
}

static off_t twin_seek(struct sys *s, int fd, off_t at, int whence)
{
	return look(twin(s)) ? sys_real()->seek(sys_real(), fd, at, whence) : -1;
}

static ssize_t twin_getdents(struct sys *s, int dirfd, void *to, size_t n)
{
	return look(twin(s)) ? sys_real()->getdents(sys_real(), dirfd, to, n) : -1;
}

static int twin_stat(struct sys *s, int dirfd, const char *path, struct stat *st, int flags)
{
	return look(twin(s)) ? sys_real()->stat(sys_real(), dirfd, path, st, flags) : -1;
}

static ssize_t twin_readlink(struct sys *s, int dirfd, const char *path, char *to, size_t n)
{
	return look(twin(s)) ? sys_real()->readlink(sys_real(), dirfd, path, to, n) : -1;
}

static int twin_lock(struct sys *s, int fd, int op)
{
	return look(twin(s)) ? sys_real()->lock(sys_real(), fd, op) : -1;
}

/* clock, chance, environment */

static int64_t tick(struct fault *f)
{
	int64_t now = f->clock_us;

	f->clock_us += f->step_us;
	return now;
}

static int64_t twin_now_us(struct sys *s)
{
	return twin(s)->has_clock ? tick(twin(s)) : sys_real()->now_us(sys_real());
}

static int64_t twin_mono_us(struct sys *s)
{
	return twin(s)->has_clock ? tick(twin(s)) : sys_real()->mono_us(sys_real());
}

/* With a fixed clock waiting only moves the clock; the short real pause lets other processes get on. */
static void twin_sleep_us(struct sys *s, int64_t us)
{
	struct fault *f = twin(s);

	if (f->has_clock) {
		f->clock_us += us;
		us = us < 1000 ? us : 1000;
	}
	sys_real()->sleep_us(sys_real(), us);
}

/* splitmix64: small, and every seed gives a different stream. */
static uint64_t next_random(struct fault *f)
{
	uint64_t z = f->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int twin_random(struct sys *s, void *to, size_t n)
{
	struct fault *f = twin(s);

	if (!f->has_seed)
		return sys_real()->random(sys_real(), to, n);
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)(next_random(f) >> 56);
	return 0;
}

static const char *twin_getenv(struct sys *s, const char *name)
{
	struct fault *f = twin(s);
	size_t n = strlen(name);

	if (!f->env)
		return getenv(name);
	for (const char *const *p = f->env; *p; p++)
		if (strncmp(*p, name, n) == 0 && (*p)[n] == '=')
			return *p + n + 1;
	return NULL;
}

void fault_init(struct fault *f)
{
	*f = (struct fault){ .sys = *sys_real(), .trace_fd = -1, .step_us = 1000 };
	f->sys.open = twin_open;
	f->sys.write = twin_write;
	f->sys.sync = twin_sync;
	f->sys.fsync = twin_fsync;
	f->sys.syncfs = twin_syncfs;
	f->sys.truncate = twin_truncate;
	f->sys.rename = twin_rename;
	f->sys.unlink = twin_unlink;
	f->sys.mkdir = twin_mkdir;
	f->sys.symlink = twin_symlink;
	f->sys.link = twin_link;
	f->sys.chmod = twin_chmod;
	f->sys.chown = twin_chown;
	f->sys.utimens = twin_utimens;
	f->sys.fork = twin_fork;
	f->sys.read = twin_read;
	f->sys.pread = twin_pread;
	f->sys.seek = twin_seek;
	f->sys.getdents = twin_getdents;
	f->sys.stat = twin_stat;
	f->sys.readlink = twin_readlink;
	f->sys.lock = twin_lock;
	f->sys.now_us = twin_now_us;
	f->sys.mono_us = twin_mono_us;
	f->sys.sleep_us = twin_sleep_us;
	f->sys.random = twin_random;
	f->sys.getenv = twin_getenv;
}

static bool is_past(unsigned calls, unsigned at)
{
	return at && calls >= at;
}

bool fault_fired(const struct fault *f)
{
	return is_past(f->calls, f->fail_at) || is_past(f->calls, f->short_at) ||
		is_past(f->calls, f->kill_at) || is_past(f->calls, f->tear_at) ||
		is_past(f->looks, f->look_fail_at);
}

/* from the environment */

static int errno_named(const char *name)
{
	static const struct {
		const char *name;
		int value;
	} known[] = { { "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT }, { "EROFS", EROFS },
		{ "EACCES", EACCES }, { "EPERM", EPERM }, { "EMFILE", EMFILE }, { "ENOMEM", ENOMEM },
		{ "EAGAIN", EAGAIN }, { "ENOENT", ENOENT } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].value;
	fprintf(stderr, "fault_sys: unknown errno '%s'\n", name);
	abort();
}

static bool env_number(const char *name, int64_t *ret)
{
	const char *text = getenv(name);

	if (text)
		*ret = strtoll(text, NULL, 10);
	return text != NULL;
}

static unsigned env_at(const char *name)
{
	int64_t at = 0;

	return env_number(name, &at) ? (unsigned)at : 0;
}

/* "N:EIO" or "N+:EIO" */
static unsigned env_fail(const char *name, int *ret_errno, bool *ret_stays)
{
	const char *text = getenv(name);
	const char *colon = text ? strchr(text, ':') : NULL;

	*ret_stays = colon && colon > text && colon[-1] == '+';
	*ret_errno = colon ? errno_named(colon + 1) : EIO;
	return env_at(name);
}

static void read_environment(struct fault *f)
{
	const char *trace_file = getenv("HELM_TEST_TRACE");
	int64_t seed;
	bool look_stays;

	f->has_clock = env_number("HELM_TEST_CLOCK_US", &f->clock_us);
	(void)env_number("HELM_TEST_CLOCK_STEP_US", &f->step_us);
	f->has_seed = env_number("HELM_TEST_SEED", &seed);
	if (f->has_seed)
		f->seed = (uint64_t)seed;
	f->fail_at = env_fail("HELM_TEST_FAIL_AT", &f->fail_errno, &f->fail_stays);
	f->look_fail_at = env_fail("HELM_TEST_LOOK_FAIL_AT", &f->look_errno, &look_stays);
	f->short_at = env_at("HELM_TEST_SHORT_AT");
	f->kill_at = env_at("HELM_TEST_KILL_AT");
	f->tear_at = env_at("HELM_TEST_TEAR_AT");
	if (trace_file)
		f->trace_fd = open(trace_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

struct sys *sys_default(void)
{
	static struct fault f;
	static bool is_ready;

	if (!is_ready) {
		fault_init(&f);
		read_environment(&f);
		is_ready = true;
	}
	return &f.sys;
}
