/* sandbox_test.c — every wall, tried from inside.
 *
 * The test program runs itself as the ward: `sandbox_test --probe NAME ARG` tries one thing and exits 0 when it worked, or
 * with the errno it got.  Each test says what must not work under which rules, on this kernel and with older Landlock levels
 * pretended.  A wall that this machine cannot put up at all is skipped by name, never passed. */
#include "execute/execute.h"
#include "tools/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- what the ward tries ---- */

static int try_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : -1;
}

static int try_socket(int family, int type)
{
	return socket(family, type, 0) >= 0 ? 0 : -1;
}

static int try_connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return fd >= 0 ? connect(fd, (struct sockaddr *)&to, sizeof(to)) : -1;
}

static int try_connect(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtol(port, NULL, 10)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd >= 0 ? connect(fd, (struct sockaddr *)&to, sizeof(to)) : -1;
}

/* A server and a client of its own, as test suites have them. */
static int try_own_loopback(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (server < 0 || client < 0 || bind(server, (struct sockaddr *)&at, sizeof(at)) || listen(server, 1))
		return -1;
	if (getsockname(server, (struct sockaddr *)&at, &n))
		return -1;
	return connect(client, (struct sockaddr *)&at, sizeof(at));
}

static int try_udp(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	return fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1 ? 0 : -1;
}

/* The process that waits for us shares its memory with helm. */
static int try_parent_memory(const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", getppid(), what);
	return open(path, O_RDONLY) < 0 ? -1 : 0;
}

/* Climb to the parent's or any other process' root through /proc. */
static int try_proc_root(const char *path)
{
	char name[PATH_MAX];

	for (int pid = 1; pid < 5000; pid++) {
		snprintf(name, sizeof(name), "/proc/%d/root%s", pid, path);
		int fd = open(name, O_WRONLY);
		if (fd >= 0)
			return 0;
	}
	errno = EACCES;
	return -1;
}

static int try_fd(const char *number)
{
	return fcntl((int)strtol(number, NULL, 10), F_GETFD) >= 0 ? 0 : -1;
}

static int try_symlink_out(const char *dir, const char *target)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/way-out", dir);
	if (symlink(target, name))
		return -1;
	int rc = try_write(name), saved = errno;
	unlink(name);
	errno = saved;
	return rc;
}

static int try_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	return fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : -1;
}

/* There is a name in it that can be seen. */
static int try_list(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry = NULL;

	while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.' &&
		(!entry->d_name[1] || !strcmp(entry->d_name, "..")))
		;
	int saved = dir ? ENOENT : errno;
	if (dir)
		closedir(dir);
	errno = saved;
	return entry ? 0 : -1;
}

static int probe(const char *name, const char *arg, const char *arg2)
{
	if (!strcmp(name, "write"))
		return try_write(arg);
	if (!strcmp(name, "read"))
		return try_read(arg);
	if (!strcmp(name, "list"))
		return try_list(arg);
	if (!strcmp(name, "rename"))
		return rename(arg, arg2);
	if (!strcmp(name, "link"))
		return link(arg, arg2);
	if (!strcmp(name, "unlink"))
		return unlink(arg);
	if (!strcmp(name, "mkdir"))
		return mkdir(arg, 0755);
	if (!strcmp(name, "truncate"))
		return truncate(arg, 0);
	if (!strcmp(name, "chmod"))
		return chmod(arg, 0777);
	if (!strcmp(name, "setuid"))
		return chmod(arg, 04755);
	if (!strcmp(name, "chown"))
		return chown(arg, getuid(), getgid());
	if (!strcmp(name, "utimes"))
		return utimensat(AT_FDCWD, arg, NULL, 0);
	if (!strcmp(name, "xattr"))
		return setxattr(arg, "user.helm", "x", 1, 0);
	if (!strcmp(name, "mknod"))
		return mknod(arg, S_IFCHR | 0600, 0x103);
	if (!strcmp(name, "mount"))
		return mount("none", arg, "tmpfs", 0, NULL);
	if (!strcmp(name, "umount"))
		return umount2(arg, MNT_DETACH);
	if (!strcmp(name, "unshare"))
		return (int)syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */);
	if (!strcmp(name, "connect"))
		return try_connect(arg);
	if (!strcmp(name, "loopback"))
		return try_own_loopback();
	if (!strcmp(name, "udp"))
		return try_udp();
	if (!strcmp(name, "raw"))
		return try_socket(AF_INET, SOCK_RAW);
	if (!strcmp(name, "packet"))
		return try_socket(AF_PACKET, SOCK_RAW);
	if (!strcmp(name, "unix"))
		return try_connect_unix(arg);
	if (!strcmp(name, "io_uring"))
		return (int)syscall(425, 1, NULL);
	if (!strcmp(name, "kill"))
		return kill((pid_t)strtol(arg, NULL, 10), 0);
	if (!strcmp(name, "ptrace"))
		return ptrace(PTRACE_SEIZE, (pid_t)strtol(arg, NULL, 10), NULL, NULL) ? -1 : 0;
	if (!strcmp(name, "parent-memory"))
		return try_parent_memory(arg);
	if (!strcmp(name, "proc-root"))
		return try_proc_root(arg);
	if (!strcmp(name, "fd"))
		return try_fd(arg);
	if (!strcmp(name, "symlink-out"))
		return try_symlink_out(arg, arg2);
	if (!strcmp(name, "bounding")) /* a capability that some program could still give it */
		return prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 1 ? 0 : -1;
	if (!strcmp(name, "tiocsti"))
		return ioctl(0, TIOCSTI, "x");
	errno = ENOSYS;
	return -1;
}

/* ---- the tests ---- */

static char self[PATH_MAX];
static char base
	[PATH_MAX]; /* <base>/in is writable, <base>/out is not, <base>/keys is hidden, <base>/in/.helm protected */

static const char *at(const char *name)
{
	static char text[8][PATH_MAX];
	static int next;

	next = (next + 1) % 8;
	snprintf(text[next], sizeof(text[0]), "%.3000s/%s", base, name);
	return text[next];
}

static const char *in_dir, *state_dir, *keys_dir;
/* All tests run once for each way to build the sandbox, and for each Landlock level pretended. */
static enum sandbox_kind kind;
static int abi_limit;

static struct sandbox_rules usual(enum network_reach network)
{
	static const char *writes[2], *hidden[2], *frozen[2];

	writes[0] = in_dir;
	hidden[0] = keys_dir;
	frozen[0] = state_dir;
	return (struct sandbox_rules){ .network = network,
		.kind = kind,
		.landlock_abi_limit = abi_limit,
		.write_paths = writes,
		.hidden = hidden,
		.read_only = frozen };
}

/* Nothing but places to write. */
static struct sandbox_rules plain(const char *const *writes)
{
	static const char *const none[] = { NULL };

	return (struct sandbox_rules){ .network = NETWORK_NONE,
		.kind = kind,
		.landlock_abi_limit = abi_limit,
		.write_paths = writes,
		.hidden = none,
		.read_only = none };
}

static struct run_result last;

/* What the caller of a run does while the walls go up. */
typedef int meanwhile(void *arg, struct err *e);

/* The steps of a run in a row, coming back every look_ms (0: not); *ret_looks, unless NULL, says how often it was still running. */
static int run_steps(const struct run_request *request, meanwhile *commit, void *arg, int64_t look_ms,
	int *ret_looks, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(run_end) struct running *r = NULL;
	const struct run_result *result = NULL;
	int looks = 0, rc = run_start(sys_real(), &a, request, &r, e);

	if (rc == OK && commit)
		rc = commit(arg, e);
	if (rc == OK)
		rc = run_go(r, e);
	while (rc == OK && (rc = run_wait(r, look_ms, &result, e)) == OK && !result)
		looks++;
	if (rc == OK)
		last = *result;
	if (ret_looks)
		*ret_looks = looks;
	return rc;
}

static int run_command(const struct run_request *request, struct err *e)
{
	return run_steps(request, NULL, NULL, 0, NULL, e);
}

/* The errno the ward got, 0 for success; -1 when the run was refused. */
static int attempt(const struct sandbox_rules *rules, const char *name, const char *arg, const char *arg2)
{
	const char *argv[] = { self, "--probe", name, arg ? arg : "", arg2 ? arg2 : "", NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0", NULL };
	struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = "/",
		.timeout_ms = 20000,
		.capture = true,
		.quiet = true,
		.rules = rules };
	struct err e = { 0 };

	if (run_command(&request, &e)) {
		print_message("%s: %s\n", name, e.text);
		return -1;
	}
	return last.exit_code;
}

/* It ran, and the kernel said no: a run that was refused as a whole proves nothing about a wall. */
#define REFUSED(rules, ...) assert_true(attempt(&(rules), __VA_ARGS__) > 0)
#define WORKS(rules, ...) assert_int_equal(attempt(&(rules), __VA_ARGS__), 0)

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/var/tmp/helm-walls-XXXXXX");
	assert_non_null(mkdtemp(base));
	mkdir(at("in"), 0755);
	mkdir(at("in/.helm"), 0755);
	mkdir(at("out"), 0755);
	mkdir(at("keys"), 0700);
	put(at("out/file"), "precious");
	put(at("in/file"), "mine");
	put(at("in/.helm/ledger"), "rows");
	put(at("keys/root.key"), "secret");
	in_dir = strdup(at("in"));
	state_dir = strdup(at("in/.helm"));
	keys_dir = strdup(at("keys"));
	return 0;
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	free((void *)in_dir);
	free((void *)state_dir);
	free((void *)keys_dir);
	snprintf(command, sizeof(command), "%.3000s", base);
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-rf", command, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static void test_writes_only_where_allowed(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);

	(void)state;
	WORKS(rules, "write", at("in/new"), NULL);
	WORKS(rules, "mkdir", at("in/dir"), NULL);
	WORKS(rules, "chmod", at("in/file"), NULL);
	WORKS(rules, "write", "/dev/null", NULL);
	REFUSED(rules, "write", at("out/new"), NULL);
	REFUSED(rules, "write", at("out/file"), NULL);
	REFUSED(rules, "truncate", at("out/file"), NULL);
	REFUSED(rules, "unlink", at("out/file"), NULL);
	REFUSED(rules, "mkdir", at("out/dir"), NULL);
	REFUSED(rules, "rename", at("out/file"), at("in/taken"));
	REFUSED(rules, "rename", at("in/file"), at("out/given"));
	REFUSED(rules, "link", at("out/file"), at("in/linked"));
	REFUSED(rules, "symlink-out", in_dir, at("out/file"));
	REFUSED(rules, "mknod", at("in/device"), NULL);
}

static void test_metadata_elsewhere_is_closed(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);

	(void)state;
	REFUSED(rules, "chmod", at("out/file"), NULL);
	REFUSED(rules, "chown", at("out/file"), NULL);
	REFUSED(rules, "utimes", at("out/file"), NULL);
	REFUSED(rules, "xattr", at("out/file"), NULL);
	assert_true(last.report.metadata_confined);
}

static void test_nothing_is_writable_without_places(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);
	static const char *const none[] = { NULL };

	(void)state;
	rules.write_paths = none;
	REFUSED(rules, "write", at("in/new2"), NULL);
	WORKS(rules, "read", at("in/file"), NULL);
	WORKS(rules, "write", "/dev/null", NULL);
}

static void test_keys_and_state(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);

	(void)state;
	REFUSED(rules, "read", at("keys/root.key"), NULL);
	REFUSED(rules, "list", keys_dir, NULL);
	WORKS(rules, "list", state_dir, NULL);
	WORKS(rules, "read", at("in/.helm/ledger"), NULL);
	REFUSED(rules, "write", at("in/.helm/ledger"), NULL);
	REFUSED(rules, "unlink", at("in/.helm/ledger"), NULL);
	REFUSED(rules, "rename", at("in/.helm"), at("in/moved"));
	REFUSED(rules, "umount", keys_dir, NULL);
	REFUSED(rules, "umount", state_dir, NULL);
	REFUSED(rules, "mount", state_dir, NULL);
	REFUSED(rules, "proc-root", at("keys/root.key"), NULL);
	assert_true(last.report.keys_hidden && last.report.state_protected);
}

static void test_network_none(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);

	(void)state;
	REFUSED(rules, "loopback", NULL, NULL);
	REFUSED(rules, "udp", NULL, NULL);
	REFUSED(rules, "raw", NULL, NULL);
	REFUSED(rules, "packet", NULL, NULL);
	REFUSED(rules, "io_uring", NULL, NULL);
	assert_true(last.report.network_closed);
}

static int listen_outside(char port[16])
{
	struct sockaddr_in on = { .sin_family = AF_INET };
	socklen_t n = sizeof(on);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	on.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&on, sizeof(on)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&on, &n), 0);
	snprintf(port, 16, "%d", ntohs(on.sin_port));
	return fd;
}

static void test_network_loopback_is_private(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_LOOPBACK);
	char port[16];
	int server = listen_outside(port);

	(void)state;
	WORKS(rules, "loopback", NULL, NULL);
	REFUSED(rules, "connect", port, NULL);
	REFUSED(rules, "raw", NULL, NULL);
	close(server);
}

static void test_network_full(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_FULL);
	char port[16];
	int server = listen_outside(port);

	(void)state;
	WORKS(rules, "connect", port, NULL);
	REFUSED(rules, "raw", NULL, NULL);
	REFUSED(rules, "write", at("out/new"), NULL);
	assert_false(last.report.network_closed);
	close(server);
}

static int listen_in_file_system(const char *path)
{
	struct sockaddr_un on = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(on.sun_path, sizeof(on.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&on, sizeof(on)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

static void test_unix_sockets(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_LOOPBACK);
	int fd = listen_in_file_system(at("s"));

	(void)state;
	REFUSED(rules, "unix", at("s"), NULL);
	rules = usual(NETWORK_FULL); /* they come along where mounts can cover what leads out */
	if (kind == SANDBOX_NAMESPACES)
		WORKS(rules, "unix", at("s"), NULL);
	else
		REFUSED(rules, "unix", at("s"), NULL);
	close(fd);
}

/* `sandbox_test --serve SOCKET`: somebody outside to talk to, for tests/cli/walls.t.  Listens on SOCKET and on a port of the
 * loopback that it prints, until its input ends. */
static int serve(const char *path)
{
	char port[16], byte;

	if (listen_outside(port) < 0 || listen_in_file_system(path) < 0)
		return 1;
	printf("%s\n", port);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

/* A process outside with a number that nobody inside has: those start at 1 again. */
static pid_t outsider(void)
{
	for (;;) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		assert_true(pid > 0);
		if (pid > 100)
			return pid;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void test_other_processes(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);
	pid_t other = outsider();
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", other);
	REFUSED(rules, "kill", pid, NULL);
	REFUSED(rules, "ptrace", pid, NULL);
	REFUSED(rules, "parent-memory", "mem", NULL);
	REFUSED(rules, "parent-memory", "maps", NULL);
	REFUSED(rules, "parent-memory", "environ", NULL);
	REFUSED(rules, "unshare", NULL, NULL);
	/* A plain user cannot change its bounding set; no_new_privs keeps it from getting anything out of it. */
	if (kind == SANDBOX_NAMESPACES || geteuid() == 0)
		REFUSED(rules, "bounding", NULL, NULL);
	assert_true(last.report.capabilities_dropped);
	assert_true(last.report.signals_confined && last.report.no_new_privileges);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void test_inherited_descriptor_is_closed(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);
	int fd = open(at("out/file"), O_RDWR); /* no O_CLOEXEC, on purpose */
	char number[16];

	(void)state;
	snprintf(number, sizeof(number), "%d", fd);
	REFUSED(rules, "fd", number, NULL);
	close(fd);
}

/* Moving from one directory into another: Landlock knows that from level 2 on; the supervisor does it on every level. */
static void test_move_between_directories(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);

	(void)state;
	mkdir(at("in/move"), 0755);
	mkdir(at("in/move/a"), 0755);
	mkdir(at("in/move/b"), 0755);
	put(at("in/move/a/f"), "moved");
	if (kind == SANDBOX_NAMESPACES && abi_limit == 1)
		REFUSED(rules, "rename", at("in/move/a/f"), at("in/move/b/f"));
	else
		WORKS(rules, "rename", at("in/move/a/f"), at("in/move/b/f"));
	if (abi_limit)
		assert_int_equal(last.report.landlock_abi, abi_limit);
}

/* A protected place that is not there takes nothing away from the others. */
static void test_missing_state(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);
	const char *frozen[] = { at("in/not-there"), state_dir, NULL };

	(void)state;
	rules.read_only = frozen;
	REFUSED(rules, "write", at("in/.helm/ledger"), NULL);
	assert_true(last.report.state_protected);
}

/* Rules that the kernel cannot be told refuse the run, also where less is accepted: who asked for a place gets it or nothing. */
static void test_rules_that_cannot_be_told(void **state)
{
	struct sandbox_rules rules = usual(NETWORK_NONE);
	const char *writes[] = { at("loop"), NULL };

	(void)state;
	assert_int_equal(symlink(at("loop"), at("loop")), 0);
	rules.waived = DEMAND_ALL;
	rules.write_paths = writes;
	assert_int_equal(attempt(&rules, "write", "/dev/null", NULL), -1);
}

/* ---- how a run ends ---- */

static int run_shell(const char *script, int64_t timeout_ms)
{
	static const char *const none[] = { NULL };
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct sandbox_rules rules = plain(none);
	struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = "/",
		.timeout_ms = timeout_ms,
		.capture = true,
		.quiet = true,
		.rules = &rules };
	struct err e = { 0 };

	assert_int_equal(run_command(&request, &e), 0);
	return last.exit_code;
}

static void test_exit_codes(void **state)
{
	(void)state;
	assert_int_equal(run_shell("exit 7", 0), 7);
	assert_int_equal(run_shell("kill -TERM $$", 0), 128 + SIGTERM);
	assert_int_equal(last.exit_signal, SIGTERM);
	assert_int_equal(run_shell("printf out; printf err >&2", 0), 0);
	assert_int_equal(last.out.bytes, 3);
	assert_memory_equal(last.out.tail, "out", 3);
	assert_memory_equal(last.err.tail, "err", 3);
	uint8_t hash[SHA256_SIZE];
	sha256("out", 3, hash);
	assert_memory_equal(last.out.sha256, hash, SHA256_SIZE);
	sha256("err", 3, hash);
	assert_memory_equal(last.err.sha256, hash, SHA256_SIZE);
}

/* A run with nothing but a private place, as the caller of run_start() has it. */
static int run_plainly(const char *const *argv, const char *path, meanwhile *commit, void *arg, struct err *e)
{
	const char *writable[] = { at("in"), NULL };
	char variable[PATH_MAX + 8];
	const char *environment[] = { variable, NULL };
	struct sandbox_rules rules = plain(writable);
	struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = "/",
		.capture = true,
		.quiet = true,
		.rules = &rules };

	snprintf(variable, sizeof(variable), "PATH=%s", path);
	return run_steps(&request, commit, arg, 0, NULL, e);
}

static int say_no(void *arg, struct err *e)
{
	(void)arg;
	return err_set(e, E_IO, "NO_DISK", "not on record");
}

/* Long enough for the ward to stand at its gate, and to run through it if it were open. */
static int say_yes_late(void *arg, struct err *e)
{
	(void)e;
	usleep(50000);
	*(bool *)arg = access(at("in/gate"), F_OK) == 0;
	return OK;
}

static void test_nothing_before_the_record(void **state)
{
	const char *argv[] = { "touch", at("in/gate"), NULL };
	struct err e = { 0 };
	bool was_early = true;

	(void)state;
	assert_int_equal(run_plainly(argv, "/usr/bin:/bin", say_no, NULL, &e), E_IO);
	assert_string_equal(e.code, "NO_DISK");
	assert_int_equal(access(at("in/gate"), F_OK), -1);
	assert_int_equal(run_plainly(argv, "/usr/bin:/bin", say_yes_late, &was_early, &e), OK);
	assert_int_equal(last.exit_code, 0);
	assert_false(was_early);
	assert_int_equal(access(at("in/gate"), F_OK), 0);
	unlink(at("in/gate"));
}

/* The command's PATH counts, not ours; a script may do without a first line; what may not be executed is 126. */
static void test_by_name(void **state)
{
	const char *argv[] = { "gate-script", "7", NULL };
	struct err e = { 0 };
	char path[PATH_MAX + 32];
	FILE *f = fopen(at("in/gate-script"), "w");

	(void)state;
	assert_non_null(f);
	fputs("exit $1\n", f);
	assert_int_equal(fclose(f), 0);
	snprintf(path, sizeof(path), "/nowhere::%s", at("in"));
	assert_int_equal(run_plainly(argv, path, NULL, NULL, &e), OK);
	assert_int_equal(last.exit_code, 126);
	assert_int_equal(chmod(at("in/gate-script"), 0755), 0);
	assert_int_equal(run_plainly(argv, path, NULL, NULL, &e), OK);
	assert_int_equal(last.exit_code, 7);
	assert_int_equal(run_plainly(argv, "/usr/bin:/bin", NULL, NULL, &e), OK);
	assert_int_equal(last.exit_code, 127);
	unlink(at("in/gate-script"));
}

static void test_not_found(void **state)
{
	static const char *const none[] = { NULL };
	const char *argv[] = { "no-such-program-here", NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct sandbox_rules rules = plain(none);
	struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = "/",
		.capture = true,
		.quiet = true,
		.rules = &rules };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(run_command(&request, &e), 0);
	assert_int_equal(last.exit_code, 127);
	assert_int_equal(last.report.exec_errno, ENOENT);
}

static bool refuse(void *arg, char *why, size_t why_n)
{
	(void)arg;
	snprintf(why, why_n, "it is another one");
	return false;
}

static bool agree(void *arg, char *why, size_t why_n)
{
	(void)arg;
	(void)why;
	(void)why_n;
	return true;
}

/* The last look comes before the command, and what refuses is not run; a given program is run whatever argv[0] says. */
static void test_last_look(void **state)
{
	static const char *const none[] = { NULL };
	const char *argv[] = { "called-otherwise", "-c", "echo $0; exit 5", NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct sandbox_rules rules = plain(none);
	struct run_request request = { .argv = argv,
		.program = "/bin/sh",
		.environment = environment,
		.cwd = "/",
		.capture = true,
		.quiet = true,
		.last_look = refuse,
		.rules = &rules };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(run_command(&request, &e), E_DENIED);
	assert_string_equal(e.code, "RUN_CHANGED");
	assert_string_equal(e.text, "not run: it is another one");
	request.last_look = agree;
	assert_int_equal(run_command(&request, &e), OK);
	assert_int_equal(last.exit_code, 5);
	assert_memory_equal(last.out.tail, "called-otherwise", 16);
}

static void test_signs_of_life(void **state)
{
	static const char *const none[] = { NULL };
	const char *argv[] = { "sleep", "0.3", NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct sandbox_rules rules = plain(none);
	int signs = 0;
	struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = "/",
		.capture = true,
		.quiet = true,
		.rules = &rules };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(run_steps(&request, NULL, NULL, 20, &signs, &e), OK);
	assert_int_equal(last.exit_code, 0);
	assert_in_range(signs, 2, 20);
	assert_int_equal(run_steps(&request, NULL, NULL, 60000, &signs, &e), OK);
	assert_int_equal(signs, 0);
}

/* Time runs out: the whole tree ends, also a grandchild in a session of its own that ignores TERM. */
static void test_timeout_ends_the_tree(void **state)
{
	(void)state;
	assert_int_equal(run_shell("trap 'exit 3' TERM; sleep 60 & wait", 200), 124);
	assert_true(last.timed_out);
}

static void test_nothing_outlives_the_command(void **state)
{
	(void)state;
	/* The background process holds the output pipe open: the run would not end if it lived on. */
	assert_int_equal(run_shell("setsid sh -c 'trap \"\" TERM HUP; sleep 300' & exit 0", 0), 0);
	assert_true(last.finished_us - last.started_us < 60000000);
}

/* Once for each way to build the sandbox that stands on this machine, and for older levels of Landlock. */
static int run_everywhere(const struct CMUnitTest *tests, size_t n)
{
	static const int levels[] = { 0, 1, 2, 3, 4, 6 };
	int failed = 0;

	for (int k = SANDBOX_NAMESPACES; k <= SANDBOX_SUPERVISED; k++)
		for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
			char name[64];
			kind = (enum sandbox_kind)k;
			abi_limit = levels[i];
			if (abi_limit >= sandbox_landlock_abi() && abi_limit)
				continue;
			snprintf(name, sizeof(name), "%s, Landlock %d", kind ? "supervised" : "namespaces",
				abi_limit);
			set_up(NULL);
			struct sandbox_rules rules = usual(NETWORK_LOOPBACK);
			bool stands = attempt(&rules, "write", "/dev/null", NULL) == 0;
			tear_down(NULL);
			if (!stands)
				print_message("SKIPPED: %s: this machine does not have it\n", name);
			else
				failed += _cmocka_run_group_tests(name, tests, n, set_up, tear_down);
		}
	return failed;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes_only_where_allowed),
		cmocka_unit_test(test_metadata_elsewhere_is_closed),
		cmocka_unit_test(test_nothing_is_writable_without_places),
		cmocka_unit_test(test_keys_and_state),
		cmocka_unit_test(test_network_none),
		cmocka_unit_test(test_network_loopback_is_private),
		cmocka_unit_test(test_network_full),
		cmocka_unit_test(test_unix_sockets),
		cmocka_unit_test(test_other_processes),
		cmocka_unit_test(test_inherited_descriptor_is_closed),
		cmocka_unit_test(test_move_between_directories),
		cmocka_unit_test(test_missing_state),
		cmocka_unit_test(test_rules_that_cannot_be_told),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_last_look),
		cmocka_unit_test(test_signs_of_life),
		cmocka_unit_test(test_nothing_before_the_record),
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_timeout_ends_the_tree),
		cmocka_unit_test(test_nothing_outlives_the_command),
	};

	if (argc == 5 && !strcmp(argv[1], "--probe"))
		_exit(probe(argv[2], argv[3], argv[4]) == 0 ? 0 : errno ? errno : 255);
	if (argc == 3 && !strcmp(argv[1], "--serve"))
		return serve(argv[2]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return run_everywhere(tests, ARRAY_SIZE(tests));
}
