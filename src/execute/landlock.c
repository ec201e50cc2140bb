/* landlock.c — which files the child may touch, told to the kernel.
 *
 * Everything may be read except what is hidden; only the given places may be written.  Rights of every
 * Landlock level are defined here, because the packaged header knows the first two; at run time the kernel
 * is asked what it knows and the rest is masked out.
 *
 * Landlock only grants, it cannot take back below a granted directory.  Hidden directories are normally
 * covered by a private mount; where that is not possible, reading is granted to every neighbour of the
 * hidden path instead of to "/". */
#include "execute/landlock.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/openings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface, levels 1 to 6. */
#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_DIR (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_CHAR (1ULL << 6)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_MAKE_SOCK (1ULL << 9)
#define FS_MAKE_FIFO (1ULL << 10)
#define FS_MAKE_BLOCK (1ULL << 11)
#define FS_MAKE_SYM (1ULL << 12)
#define FS_REFER (1ULL << 13) /* level 2 */
#define FS_TRUNCATE (1ULL << 14) /* level 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* level 5 */
#define NET_BIND_TCP (1ULL << 0) /* level 4 */
#define NET_CONNECT_TCP (1ULL << 1)
#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* level 6 */
#define SCOPE_SIGNAL (1ULL << 1)

#define READ_RIGHTS (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
/* Devices are never made, wherever it may write. */
#define WRITE_RIGHTS \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | \
		FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)
#define FILE_ONLY_RIGHTS (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};
struct path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
enum { RULE_PATH_BENEATH = 1, VERSION_FLAG = 1 };

/* Asks the running kernel, not the headers: the program may run on another kernel than it was built for. */
int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);

	return abi > 0 ? (int)abi : 0;
}

/* A ruleset that names a right the kernel does not know is refused as a whole, so newer rights are masked
 * out. */
static uint64_t known_fs_rights(int abi)
{
	uint64_t all = (1ULL << 13) - 1;

	if (abi >= 2)
		all |= FS_REFER;
	if (abi >= 3)
		all |= FS_TRUNCATE;
	if (abi >= 5)
		all |= FS_IOCTL_DEV;
	return all;
}

/* Allows `rights` at and below a path.  A place that does not exist, or that cannot be looked at, needs no
 * rule: nothing is granted, so nothing can be done there.  A file takes only rights that make sense for
 * files; the kernel refuses others. */
static int grant(int ruleset, const char *path, uint64_t rights, uint64_t known, int how)
{
	AUTO(close_fd) int fd = open(path, O_PATH | O_CLOEXEC | how);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
	rights &= known;
	if (S_ISLNK(st.st_mode))
		return 0;
	if (!S_ISDIR(st.st_mode))
		rights &= FILE_ONLY_RIGHTS;
	struct path_beneath rule = { rights, fd };
	return rights ? (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) : 0;
}

static bool is_above(const char *dir, const char *const *paths)
{
	for (; paths && *paths; paths++)
		if (path_is_below(*paths, dir) && !text_eq(*paths, dir))
			return true;
	return false;
}

static bool is_listed(const char *path, const char *const *paths)
{
	for (; paths && *paths; paths++)
		if (text_eq(path, *paths))
			return true;
	return false;
}

/* Grants reading for everything below `dir` except the hidden paths.  Since Landlock cannot take a right
 * back below a granted directory, a directory above a hidden path gets no rule itself; its entries get one
 * each.  It descends only along the way to hidden paths, so the number of rules stays small.  Links get none: where they lead has its
 * own rule, or is hidden. */
static int grant_read_around(int ruleset, struct arena *a, const char *dir, const char *const *hidden,
	uint64_t rights, uint64_t known)
{
	if (is_listed(dir, hidden))
		return 0;
	if (!is_above(dir, hidden))
		return grant(ruleset, dir, rights, known, O_NOFOLLOW);
	DIR *d = opendir(dir);
	int rc = 0;
	for (struct dirent *entry; d && rc == 0 && (entry = readdir(d));) {
		if (entry->d_type == DT_LNK || text_eq(entry->d_name, ".") || text_eq(entry->d_name, ".."))
			continue;
		const char *path = arena_printf(a, "%s/%s", text_eq(dir, "/") ? "" : dir, entry->d_name);
		rc = grant_read_around(ruleset, a, path, hidden, rights, known);
	}
	if (d)
		closedir(d);
	return rc;
}

/* What must not be read, as the kernel names it, without links. */
static const char *const *all_hidden(struct arena *a, const struct landlock_rules *rules)
{
	const char *const *paths = rules->hidden;
	size_t n = 0, i = 0;
	char real[PATH_MAX];

	while (paths && paths[n])
		n++;
	const char **all = arena_zalloc(a, n + HOMES_MAX + 4, sizeof(*all));
	for (; i < n; i++)
		all[i] = realpath(paths[i], real) ? arena_strdup(a, real) : paths[i];
	for (const struct sandbox_home *h = rules->homes; h && h->at && i < n + HOMES_MAX; h++)
		all[i++] = realpath(h->at, real) ? arena_strdup(a, real) : h->at;
	all[i++] =
		"/dev"; /* who may read a disk needs no files; of devices those are granted that nearly every program needs */
	if (rules->is_shared) {
		all[i++] = "/dev/pts";
		all[i++] = "/dev/shm";
	}
	return all;
}

/* The very object that was opened: another one under its name ends in an error, and so does a link. */
static int grant_opening(int ruleset, struct arena *a, const struct sandbox_opening *o,
	const char *const *hidden, uint64_t read, uint64_t write, uint64_t known)
{
	AUTO(close_fd) int fd = open(o->at, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || !openings_match(o, fd, &st)) {
		errno = ESTALE;
		return -1;
	}
	if (S_ISDIR(st.st_mode))
		return grant_read_around(ruleset, a, o->at, hidden, read, known);
	struct path_beneath rule = { (o->is_writable ? write : read) & known & FILE_ONLY_RIGHTS, fd };
	return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0);
}

/* Devices nearly every program needs.  Writing to them changes nothing on disk. */
static int grant_devices(int ruleset, uint64_t known, bool is_shared)
{
	static const char *const sinks[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", NULL };
	int rc = 0;

	for (const char *const *s = sinks; *s && rc == 0; s++) {
		if (is_shared && text_eq(*s, "/dev/pts"))
			continue;
		rc = grant(ruleset, *s,
			FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV, known, 0);
	}
	/* The terminal that it was given, under whatever name it opens it. */
	for (int fd = 0; fd <= 2 && rc == 0; fd++) {
		char name[] = "/proc/self/fd/0";
		name[sizeof(name) - 2] = (char)('0' + fd);
		if (isatty(fd))
			rc = grant(ruleset, name, FS_READ_FILE | FS_WRITE_FILE | FS_IOCTL_DEV, known, 0);
	}
	return rc;
}

/* The files of the list, and what loads them: the kernel executes that, too. */
static int grant_programs(int ruleset, const struct landlock_rules *rules, uint64_t known)
{
	static const char *const loaders[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
		"/lib/ld-linux.so.2", "/lib/ld-linux-armhf.so.3", "/lib64/ld64.so.2", "/lib/ld64.so.1",
		"/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1" };
	int rc = 0;

	for (const char *const *p = rules->exec_paths; p && *p && rc == 0; p++)
		rc = grant(ruleset, *p, FS_EXECUTE | FS_READ_FILE, known, 0);
	for (size_t i = 0; rules->exec_paths && i < ARRAY_SIZE(loaders) && rc == 0; i++)
		rc = grant(ruleset, loaders[i], FS_EXECUTE | FS_READ_FILE, known, 0);
	return rc;
}

int landlock_build(const struct landlock_rules *rules)
{
	int abi = rules->abi;
	uint64_t known = known_fs_rights(abi);
	/* What may only be read or written must not become a program, either. */
	uint64_t read = rules->exec_paths ? READ_RIGHTS & ~FS_EXECUTE : READ_RIGHTS;
	struct ruleset_attr attr = { .handled_access_fs = known };
	AUTO(arena_done) struct arena a = { 0 };

	if (abi >= 4 && rules->no_network)
		attr.handled_access_net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	/* Older kernels know a shorter structure and refuse a longer one that is not zero at its end. */
	size_t size = abi >= 6 ? sizeof(attr) : abi >= 4 ? 16 : 8;
	AUTO(close_fd) int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0 || grant_devices(ruleset, known, rules->is_shared))
		return -1;
	const char *const *hidden = all_hidden(&a, rules);
	if (grant_read_around(ruleset, &a, "/", hidden, read, known) || grant_programs(ruleset, rules, known))
		return -1;
	for (const char *const *p = rules->homes ? rules->shown : NULL; p && *p; p++)
		if (grant_read_around(ruleset, &a, *p, hidden, read, known))
			return -1;
	/* The right to list holds for everything below, so "/" has it only where mounts cover what is hidden. */
	if (!rules->hidden && !rules->homes && grant(ruleset, "/", FS_READ_DIR, known, 0))
		return -1;
	uint64_t write = rules->is_supervised ? read : read | WRITE_RIGHTS;
	for (const char *const *p = rules->write_paths; p && *p; p++)
		if (!(rules->is_shared && text_eq(*p, "/dev/shm")) && !path_is_in_one(*p, rules->hidden) &&
			grant(ruleset, *p, write, known, 0))
			return -1;
	for (const struct sandbox_opening *o = rules->openings; o && o->at; o++)
		if (grant_opening(ruleset, &a, o, hidden, read, write, known))
			return -1;
	for (const char *const *p = rules->own; p && *p; p++)
		if (grant(ruleset, *p, read | WRITE_RIGHTS, known, 0))
			return -1;
	if ((rules->own_dir && grant(ruleset, rules->own_dir, write, known, 0)) ||
		(rules->own_home && grant(ruleset, rules->own_home, write, known, 0)))
		return -1;
	int built = ruleset;
	ruleset = -1;
	return built;
}

int landlock_apply(int ruleset)
{
	int rc = ruleset < 0 ? -1 : (int)syscall(SYS_landlock_restrict_self, ruleset, 0);

	close_fd(&ruleset);
	return rc;
}

/* Closes the calling thread in, for good; everything it executes inherits that.  -1 with errno when any
 * rule could not be added: then nothing is in force and the caller must not go on. */
int landlock_confine(const struct landlock_rules *rules)
{
	return landlock_apply(landlock_build(rules));
}
