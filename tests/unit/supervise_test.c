/* supervise_test.c — the sandbox without namespaces, attacked from inside.
 *
 * The test program runs itself in a supervised sandbox: `supervise_test --probe NAME` tries one thing in the directory it starts in, and
 * exits 0 when that went as the probe wants it.  Beside it lie a directory that it may not write, a closed one in its own tree, and
 * servers that are not its own. */
#include "execute/execute.h"
#include "execute/supervise.h"
#include "tools/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- inside ---- */

#define MUST(x) \
	do { \
		if (!(x)) { \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, strerror(errno)); \
			return 1; \
		} \
	} while (0)
/* It fails, for one of the reasons that mean "refused". */
static bool is_refused(int rc)
{
	return rc < 0 &&
		(errno == EROFS || errno == EACCES || errno == EPERM || errno == EXDEV || errno == EBUSY ||
			errno == ENOSYS || errno == ELOOP);
}
#define REFUSED(x) MUST(is_refused((int)(x)))

static int put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok ? 0 : -1;
}

/* Everything that programs do with files all day. */
static int probe_everyday(void)
{
	struct stat st;
	char text[8];

	umask(027);
	MUST(put_text("a", "text") == 0 && stat("a", &st) == 0 && (st.st_mode & 07777) == 0640);
	MUST(mkdir("d", 0777) == 0 && stat("d", &st) == 0 && (st.st_mode & 07777) == 0750);
	MUST(mkdir("d", 0777) == -1 && errno == EEXIST);
	MUST(rename("a", "d/b") == 0 && access("a", F_OK) == -1);
	MUST(link("d/b", "d/c") == 0 && stat("d/b", &st) == 0 && st.st_nlink == 2);
	MUST(symlink("d/b", "s") == 0 && put_text("s", "other") == 0);
	MUST(lstat("s", &st) == 0 && S_ISLNK(st.st_mode));
	MUST(chmod("s", 0600) == 0 && stat("d/b", &st) == 0 && (st.st_mode & 07777) == 0600);
	MUST(lchown("s", getuid(), getgid()) == 0 && chown("d/b", getuid(), getgid()) == 0);
	MUST(truncate("d/b", 2) == 0 && stat("d/c", &st) == 0 && st.st_size == 2);
	struct timespec then[2] = { { 1000, 5 }, { 2000, 6 } };
	MUST(utimensat(AT_FDCWD, "d/b", then, 0) == 0 && stat("d/b", &st) == 0 && st.st_mtim.tv_sec == 2000);
	int fd = open("d/b", O_RDWR | O_APPEND);
	MUST(fd >= 0 && futimens(fd, NULL) == 0 && fchmod(fd, 0644) == 0 && write(fd, "x", 1) == 1);
	MUST(fcntl(fd, F_GETFL) & O_APPEND && !(fcntl(fd, F_GETFD) & FD_CLOEXEC));
	int dir = open("d", O_RDONLY | O_DIRECTORY);
	MUST(dir >= 0 && mkdirat(dir, "e", 0700) == 0 && unlinkat(dir, "e", AT_REMOVEDIR) == 0);
	MUST(openat(dir, "new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0);
	MUST(openat(dir, "new", O_WRONLY | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	MUST(open("d/none", O_WRONLY) == -1 && errno == ENOENT);
	MUST(open("d", O_WRONLY) == -1 && errno == EISDIR);
	MUST(open("d/b/x", O_WRONLY | O_CREAT, 0600) == -1 && errno == ENOTDIR);
	MUST(unlink("none") == -1 && errno == ENOENT);
	MUST(rmdir("d") == -1 && errno == ENOTEMPTY);
	MUST(open(".", O_TMPFILE | O_RDWR, 0600) >= 0 || errno == EOPNOTSUPP);
	MUST(mkfifo("fifo", 0600) == 0 && open("fifo", O_RDWR) >= 0);
	MUST(open("/dev/null", O_RDWR) >= 0);
	int pair[2];
	MUST(pipe(pair) == 0 && write(pair[1], "abc", 3) == 3);
	snprintf(text, sizeof(text), "%d", pair[1]);
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", pair[1]);
	MUST(open(name, O_WRONLY) >= 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	MUST(chmod(name, 0640) == 0 && stat("d/b", &st) == 0 && (st.st_mode & 07777) == 0640);
	return 0;
}

static int probe_outside(void)
{
	int fd = open("../out/file", O_RDONLY), dir = open("../out", O_RDONLY | O_DIRECTORY);
	char name[64];

	MUST(fd >= 0 && dir >= 0);
	REFUSED(fchmod(fd, 0777));
	REFUSED(fchown(fd, 1, 1));
	REFUSED(futimens(fd, NULL));
	REFUSED(fsetxattr(fd, "user.x", "y", 1, 0));
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	REFUSED(open(name, O_WRONLY));
	REFUSED(open(name, O_RDWR | O_TRUNC));
	REFUSED(chmod(name, 0777));
	REFUSED(truncate(name, 0));
	REFUSED(openat(dir, "new", O_WRONLY | O_CREAT, 0600));
	REFUSED(mkdirat(dir, "new", 0700));
	REFUSED(unlinkat(dir, "file", 0));
	REFUSED(renameat(dir, "file", AT_FDCWD, "taken"));
	REFUSED(linkat(dir, "file", AT_FDCWD, "linked", 0));
	REFUSED(linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH));
	REFUSED(symlinkat("x", dir, "link"));
	REFUSED(open("../out/file", O_RDONLY | O_TRUNC));
	REFUSED(open("../out", O_TMPFILE | O_RDWR, 0600));
	MUST(symlink("../out", "way") == 0);
	REFUSED(put_text("way/file", "x"));
	REFUSED(put_text("way/new", "x"));
	REFUSED(mkdir("way/new", 0700));
	REFUSED(rename("way/file", "file"));
	REFUSED(unlink("way/file"));
	MUST(symlink("../out/made", "hanging") == 0);
	REFUSED(open("hanging", O_WRONLY | O_CREAT, 0600));
	REFUSED(put_text("/proc/self/cwd/../out/file", "x"));
	REFUSED(put_text("/proc/self/root/etc/helm-was-here", "x"));
	REFUSED(put_text("/proc/thread-self/cwd/../out/file", "x"));
	REFUSED(put_text("/etc/helm-was-here", "x"));
	REFUSED(put_text("/proc/sys/kernel/hostname", "x"));
	MUST(rmdir(".") == -1 && rmdir("..") == -1);
	REFUSED(rename("../in", "../gone"));
	REFUSED(mknod("device", S_IFCHR | 0600, 0x103));
	REFUSED(chmod("file", 04755));
	REFUSED(setxattr("file", "security.capability", "x", 1, 0));
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0600 };
	REFUSED(syscall(SYS_openat2, AT_FDCWD, "../out/new", &how, sizeof(how)));
	long flags = 0;
	REFUSED(ioctl(fd, 0x40086602 /* FS_IOC_SETFLAGS */, &flags));
	MUST(syscall(SYS_fchmodat, AT_FDCWD, NULL, 0600) == -1 && errno == EFAULT);
	return 0;
}

/* A closed place in the tree: not written, not moved, also not by moving what holds it, and not reached under another name. */
static int probe_closed(void)
{
	MUST(access("deep/closed/file", R_OK) == 0);
	REFUSED(put_text("deep/closed/file", "x"));
	REFUSED(put_text("deep/closed/new", "x"));
	REFUSED(unlink("deep/closed/file"));
	REFUSED(chmod("deep/closed/file", 0777));
	REFUSED(rename("deep/closed", "deep/open"));
	REFUSED(rename("deep", "other"));
	REFUSED(link("deep/closed/file", "alias"));
	MUST(mkdir("mine", 0700) == 0);
	REFUSED(rename("mine", "deep/closed/mine"));
	REFUSED(syscall(SYS_renameat2, AT_FDCWD, "mine", AT_FDCWD, "deep", 2 /* RENAME_EXCHANGE */));
	REFUSED(symlink("x", "deep/closed/link"));
	MUST(chdir("deep/closed") == 0);
	REFUSED(put_text("file", "x"));
	REFUSED(put_text("./../closed/file", "x"));
	MUST(put_text("../beside", "x") == 0);
	return 0;
}

/* One thread changes the path while another one uses it. */
static char changing[PATH_MAX];
static volatile int is_over; /* no bool: GCC 12 reads one only once where undefined behaviour is looked for */

/* Each byte really is written. */
static void write_changing(const char *text)
{
	volatile char *to = changing;

	for (size_t i = 0; i <= strlen(text); i++)
		to[i] = text[i];
}

static void *change_path(void *arg)
{
	(void)arg;
	while (!is_over) {
		write_changing("aaaaaa/victim");
		write_changing("../out/victim");
	}
	return NULL;
}

static void *change_link(void *arg)
{
	(void)arg;
	while (!is_over) {
		(void)unlink("turn");
		(void)mkdir("turn", 0700);
		(void)rmdir("turn");
		(void)!symlink("../out", "turn");
	}
	return NULL;
}

static int probe_races(void)
{
	pthread_t thread;
	struct stat st;

	MUST(mkdir("aaaaaa", 0700) == 0);
	MUST(pthread_create(&thread, NULL, change_path, NULL) == 0);
	for (int i = 0; i < 3000; i++) {
		int fd = open(changing, O_WRONLY | O_CREAT, 0600);
		if (fd >= 0)
			close(fd);
		(void)unlink(changing);
		(void)mkdir(changing, 0700);
		(void)rmdir(changing);
	}
	is_over = 1;
	pthread_join(thread, NULL);
	MUST(stat("../out/victim", &st) == -1);
	is_over = 0;
	MUST(pthread_create(&thread, NULL, change_link, NULL) == 0);
	for (int i = 0; i < 3000; i++) {
		int fd = open("turn/victim", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd >= 0)
			close(fd);
		(void)rename("aaaaaa", "turn/victim");
		(void)rename("turn/victim", "aaaaaa");
	}
	is_over = 1;
	pthread_join(thread, NULL);
	MUST(stat("../out/victim", &st) == -1);
	return 0;
}

static struct sockaddr_in at_port(uint32_t host, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(host)
	};
}

static int try_connect(uint32_t host, int port)
{
	struct sockaddr_in to = at_port(host, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int rc = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to)), why = errno;

	if (fd >= 0)
		close(fd);
	errno = why;
	return rc;
}

static int outside_port(void)
{
	return (int)strtol(getenv("OUTSIDE_PORT"), NULL, 10);
}

static int probe_network(void)
{
	struct sockaddr_in at = at_port(INADDR_ANY, 0);
	socklen_t n = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	MUST(server >= 0 && bind(server, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(server, 5) == 0);
	MUST(getsockname(server, (struct sockaddr *)&at, &n) == 0);
	MUST(at.sin_addr.s_addr == htonl(INADDR_LOOPBACK)); /* "all addresses" are not */
	const int port = ntohs(at.sin_port);
	MUST(try_connect(INADDR_LOOPBACK, port) == 0 && accept(server, NULL, NULL) >= 0);
	MUST(try_connect(INADDR_LOOPBACK, outside_port()) == -1 && errno == ECONNREFUSED);
	MUST(try_connect(0x08080808, 53) == -1 && errno == ENETUNREACH);
	MUST(try_connect(0x7f000002, outside_port()) == -1);
	MUST(try_connect(INADDR_ANY, outside_port()) == -1);
	/* A port that is taken and let go is free again. */
	int taken = socket(AF_INET, SOCK_STREAM, 0);
	at = at_port(INADDR_LOOPBACK, 0);
	MUST(bind(taken, (struct sockaddr *)&at, sizeof(at)) == 0);
	n = sizeof(at);
	MUST(getsockname(taken, (struct sockaddr *)&at, &n) == 0 && close(taken) == 0);
	taken = socket(AF_INET, SOCK_STREAM, 0);
	MUST(bind(taken, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(taken, 1) == 0);
	/* A server that is gone is gone. */
	close(server);
	MUST(try_connect(INADDR_LOOPBACK, port) == -1);
	/* Sixty-four servers and two hundred sockets are not too many. */
	for (int i = 0; i < 200; i++)
		MUST(socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno == ENFILE);
	REFUSED(socket(AF_INET, SOCK_DGRAM, 0));
	REFUSED(socket(AF_INET6, SOCK_DGRAM, 0));
	REFUSED(socket(AF_INET, SOCK_STREAM, 262 /* MPTCP */));
	REFUSED(socket(AF_UNIX, SOCK_STREAM, 0));
	REFUSED(socket(AF_VSOCK, SOCK_STREAM, 0));
	REFUSED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
	return 0;
}

static struct sockaddr_in changing_address;

static void *change_address(void *arg)
{
	const int own = *(int *)arg;

	while (!is_over) {
		*(volatile in_port_t *)&changing_address.sin_port = htons((uint16_t)own);
		*(volatile in_port_t *)&changing_address.sin_port = htons((uint16_t)outside_port());
	}
	return NULL;
}

/* Whoever is asked outside says hello; the server inside says nothing. */
static int probe_network_races(void)
{
	struct sockaddr_in at = at_port(INADDR_LOOPBACK, 0);
	socklen_t n = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	MUST(bind(server, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(server, 4096) == 0);
	MUST(getsockname(server, (struct sockaddr *)&at, &n) == 0);
	int own = ntohs(at.sin_port);
	changing_address = at;
	MUST(pthread_create(&thread, NULL, change_address, &own) == 0);
	for (int i = 0; i < 1500; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct sockaddr_in peer = { 0 };
		n = sizeof(peer);
		MUST(fd >= 0);
		if (connect(fd, (struct sockaddr *)&changing_address, sizeof(changing_address)) == 0)
			MUST(getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
				ntohs(peer.sin_port) == own);
		close(fd);
	}
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	is_over = 1;
	pthread_join(thread, NULL);
	at.sin_port = htons((uint16_t)outside_port());
	MUST(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&at, sizeof(at)) == -1);
	const int one = 1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
	MUST(connect(fd, (struct sockaddr *)&at, sizeof(at)) == -1);
	return 0;
}

/* A FIFO that nobody reads makes its opener wait, and nobody else. */
static int probe_fifo(void)
{
	MUST(mkfifo("slow", 0600) == 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(open("slow", O_WRONLY) >= 0 ? 0 : 1);
	usleep(50000);
	MUST(put_text("meanwhile", "x") == 0);
	int status, fd = open("slow", O_RDONLY);
	MUST(fd >= 0 && waitpid(pid, &status, 0) == pid && status == 0);
	return 0;
}

static int probe_processes(void)
{
	const pid_t other = (pid_t)strtol(getenv("OUTSIDE_PID"), NULL, 10);
	struct rlimit limit = { 100, 100 };

	MUST(kill(other, 0) == -1 && errno == EPERM);
	MUST(kill(other, SIGKILL) == -1 && errno == EPERM);
	REFUSED(kill(getppid(), SIGTERM)); /* the warden */
	REFUSED(syscall(SYS_tgkill, other, other, SIGKILL));
	REFUSED(syscall(SYS_tkill, other, SIGKILL));
	union sigval value = { .sival_int = 1 };
	REFUSED(sigqueue(other, SIGKILL, value));
	int fd = (int)syscall(SYS_pidfd_open, other, 0);
	MUST(fd < 0 || syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == -1);
	REFUSED(prlimit(other, RLIMIT_NOFILE, &limit, NULL));
	REFUSED(setpriority(PRIO_PROCESS, (id_t)other, 19));
	REFUSED(setpriority(PRIO_USER, 0, 19));
	REFUSED(shmget(IPC_PRIVATE, 4096, 0600));
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	int status;
	MUST(pid > 0 && kill(pid, 0) == 0 && kill(pid, SIGTERM) == 0);
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	signal(SIGUSR1, SIG_IGN);
	MUST(raise(SIGUSR1) == 0 && kill(0, SIGUSR1) == 0 && kill(-1, SIGUSR1) == 0);
	cpu_set_t set;
	MUST(sched_getaffinity(0, sizeof(set), &set) == 0 &&
		sched_setaffinity(getpid(), sizeof(set), &set) == 0);
	return kill(other, 0) == -1 ? 0 : 1;
}

/* /dev/shm is the run's own. */
static int probe_shm(void)
{
	sem_t *s = sem_open("/helm-test", O_CREAT | O_EXCL, 0600, 1);

	MUST(s != SEM_FAILED && sem_wait(s) == 0 && sem_unlink("/helm-test") == 0);
	int fd = shm_open("/helm-test", O_RDWR | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
	MUST(put_text("/dev/shm/helm-was-here", "x") == 0);
	MUST(access("/dev/shm/helm-test", F_OK) == -1 && access("/dev/shm/helm-was-here", F_OK) == -1);
	return 0;
}

/* What root makes as somebody else belongs to that one. */
static int probe_other_user(void)
{
	struct stat st;
	pid_t pid;
	int status;

	MUST(chmod(".", 0777) == 0 && mkdir("theirs", 0700) == 0 && put_text("roots", "x") == 0);
	MUST((pid = fork()) >= 0);
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(9);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		if (put_text("nobodys", "x") || put_text("theirs/x", "x") == 0 || chmod("roots", 0777) == 0)
			_exit(1);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	MUST(stat("nobodys", &st) == 0 && st.st_uid == 65534);
	return 0;
}

/* ---- found by attacking; each of these fails until its hole is closed ---- */

/* A file that runs as its owner is not made without a name, either. */
static int probe_unnamed_setuid(void)
{
	struct stat st;
	int fd = open(".", O_TMPFILE | O_RDWR, 04755);

	MUST(fd < 0 || (fstat(fd, &st) == 0 && !(st.st_mode & S_ISUID)));
	return 0;
}

/* Refusing a mode closes nothing of the supervisor's: its descriptor 0 stays taken, and later sockets are their own. */
static int probe_refused_mode(void)
{
	struct sockaddr_in at = at_port(INADDR_LOOPBACK, 0), one = at, two = at;
	socklen_t n = sizeof(one), m = sizeof(two);

	REFUSED(chmod("file", 04755));
	int first = socket(AF_INET, SOCK_STREAM, 0);
	REFUSED(chmod("file", 04755));
	int second = socket(AF_INET, SOCK_STREAM, 0);
	MUST(first >= 0 && second >= 0 && bind(first, (struct sockaddr *)&at, sizeof(at)) == 0);
	MUST(getsockname(first, (struct sockaddr *)&one, &n) == 0 &&
		getsockname(second, (struct sockaddr *)&two, &m) == 0);
	MUST(one.sin_port && !two.sin_port);
	return 0;
}

/* The group of the run holds the warden; another one of the same session may be helm's. */
static int probe_group_priority(void)
{
	REFUSED(setpriority(PRIO_PGRP, 0, 5));
	return 0;
}

/* A closed place that does not exist yet does not come into being with what holds it. */
static int probe_closed_later(void)
{
	MUST(mkdir("made", 0700) == 0 && put_text("made/rules", "x") == 0);
	REFUSED(rename("made", "later"));
	REFUSED(symlink("made", "later"));
	return 0;
}

/* Routing headers lead elsewhere than the address that was judged. */
static int probe_routing_header(void)
{
	struct {
		uint8_t next, length, type, left, first, flags;
		uint16_t tag;
		struct in6_addr way[2];
	} header = { .length = 4, .type = 4, .left = 1, .first = 1 };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0)
		return 0; /* no IPv6 here */
	header.way[1] = (struct in6_addr){ { { 0xfd, 0x99, [15] = 9 } } };
	MUST(setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &header, sizeof(header)) == -1);
	return 0;
}

/* Who holds a lease on a file makes everybody wait who opens it. */
static int probe_lease(void)
{
	int fd = open("file", O_RDONLY);

	usleep(100000);
	MUST(fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == -1);
	return 0;
}

/* What was written a moment ago can be executed: nobody else has it open for writing. */
static int probe_text_busy(void)
{
	static char text[1 << 20];
	int from = open("/bin/true", O_RDONLY);
	ssize_t n = read(from, text, sizeof(text));

	MUST(n > 0);
	for (int i = 0; i < 200; i++) {
		int fd = open("program", O_WRONLY | O_CREAT | O_TRUNC, 0755), status;
		MUST(fd >= 0 && write(fd, text, (size_t)n) == n && close(fd) == 0);
		pid_t pid = vfork();
		if (pid == 0) {
			execl("program", "program", (char *)NULL);
			_exit(errno == ETXTBSY ? 26 : 1);
		}
		MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
		MUST(unlink("program") == 0);
	}
	return 0;
}

/* getifaddrs() binds a socket of netlink's. */
static int probe_routes(void)
{
	struct {
		uint16_t family, pad;
		uint32_t pid, groups;
	} at = { .family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, 0);

	MUST(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	return 0;
}

/* EXT4_IOC_SETVERSION: the generation of a file that may only be read. */
static int probe_generation(void)
{
	long generation = 7;
	int fd = open("../out/file", O_RDONLY);

	MUST(fd >= 0 && ioctl(fd, 0x40086604, &generation) == -1 && errno == EPERM);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} probes[] = { { "everyday", probe_everyday }, { "outside", probe_outside }, { "closed", probe_closed },
	{ "races", probe_races }, { "network", probe_network }, { "network-races", probe_network_races },
	{ "fifo", probe_fifo }, { "processes", probe_processes }, { "shm", probe_shm },
	{ "other-user", probe_other_user }, { "unnamed-setuid", probe_unnamed_setuid },
	{ "refused-mode", probe_refused_mode }, { "group-priority", probe_group_priority },
	{ "closed-later", probe_closed_later }, { "routing-header", probe_routing_header },
	{ "lease", probe_lease }, { "text-busy", probe_text_busy }, { "routes", probe_routes },
	{ "generation", probe_generation } };

static int probe(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++)
		if (!strcmp(probes[i].name, name))
			return probes[i].fn();
	return 99;
}

/* ---- outside ---- */

static char self[PATH_MAX], base[PATH_MAX];
static int abi_limit;
static struct run_result last;

static const char *at(const char *name)
{
	static char text[8][PATH_MAX];
	static int next;

	next = (next + 1) % 8;
	snprintf(text[next], sizeof(text[0]), "%.3000s/%s", base, name);
	return text[next];
}

static int set_up(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/var/tmp/helm-supervise-XXXXXX");
	assert_non_null(mkdtemp(base));
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(mkdir(at("in"), 0755) | mkdir(at("out"), 0777) | mkdir(at("shm"), 0700), 0);
	assert_int_equal(mkdir(at("in/deep"), 0755) | mkdir(at("in/deep/closed"), 0755), 0);
	assert_int_equal(put_text(at("out/file"), "precious") | put_text(at("in/file"), "x"), 0);
	assert_int_equal(put_text(at("in/deep/closed/file"), "rules"), 0);
	return 0;
}

static int tear_down(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		execlp("rm", "rm", "-rf", base, (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return 0;
}

static int run_in_sandbox(
	const char *const *argv, const char *const *environment, int64_t timeout_ms, struct err *e)
{
	const char *writes[] = { at("in"), at("shm"), NULL },
		   *closed[] = { at("in/deep/closed"), at("in/later/rules"), NULL }, *const none[] = { NULL };
	const struct sandbox_rules rules = { .network = NETWORK_LOOPBACK,
		.kind = SANDBOX_SUPERVISED,
		.landlock_abi_limit = abi_limit,
		.write_paths = writes,
		.hidden = none,
		.read_only = closed,
		.shm = at("shm") };
	const struct run_request request = { .argv = argv,
		.environment = environment,
		.cwd = at("in"),
		.timeout_ms = timeout_ms,
		.capture = true,
		.quiet = true,
		.rules = &rules };
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(run_end) struct running *r = NULL;
	const struct run_result *result = NULL;
	int rc = run_start(sys_real(), &a, &request, &r, e);

	if (rc == OK)
		rc = run_go(r, e);
	if (rc == OK)
		rc = run_wait(r, 0, &result, e);
	if (rc == OK)
		last = *result;
	return rc;
}

/* With somebody outside to talk to and to kill. */
static void attempt(const char *name)
{
	const char *argv[] = { self, "--probe", name, NULL };
	char port[64], pid[64];
	const char *environment[] = { "PATH=/usr/bin:/bin", "ASAN_OPTIONS=detect_leaks=0", port, pid, NULL };
	struct sockaddr_in on = at_port(INADDR_LOOPBACK, 0);
	socklen_t n = sizeof(on);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct err e = { 0 };
	pid_t other = fork();

	if (other == 0)
		for (;;)
			pause();
	assert_int_equal(bind(server, (struct sockaddr *)&on, sizeof(on)) | listen(server, 64), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&on, &n), 0);
	snprintf(port, sizeof(port), "OUTSIDE_PORT=%d", ntohs(on.sin_port));
	snprintf(pid, sizeof(pid), "OUTSIDE_PID=%d", (int)other);
	assert_int_equal(set_up(NULL), 0);
	int rc = run_in_sandbox(argv, environment, 60000, &e);
	if (rc || last.exit_code)
		print_message("%s: %s%.*s\n", name, rc ? e.text : "", (int)last.err.tail_n, last.err.tail);
	assert_int_equal(rc, OK);
	assert_int_equal(last.exit_code, 0);
	assert_int_equal(kill(other, 0), 0);
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		assert_int_equal(last.report.unmet & 1u << g, 0);
	char text[16] = { 0 };
	int fd = open(at("out/file"), O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, sizeof(text)) == 8);
	assert_string_equal(text, "precious");
	close(fd);
	fd = open(at("in/deep/closed/file"), O_RDONLY);
	assert_true(fd >= 0 && read(fd, text, sizeof(text)) == 5);
	close(fd);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(server);
	tear_down(NULL);
}

#define ATTEMPT(id, name) \
	static void test_##id(void **state) \
	{ \
		(void)state; \
		attempt(name); \
	}
ATTEMPT(everyday, "everyday")
ATTEMPT(outside, "outside")
ATTEMPT(closed, "closed")
ATTEMPT(races, "races")
ATTEMPT(network, "network")
ATTEMPT(network_races, "network-races")
ATTEMPT(fifo, "fifo")
ATTEMPT(processes, "processes")
ATTEMPT(shm, "shm")
ATTEMPT(unnamed_setuid, "unnamed-setuid")
ATTEMPT(refused_mode, "refused-mode")
ATTEMPT(group_priority, "group-priority")
ATTEMPT(closed_later, "closed-later")
ATTEMPT(routing_header, "routing-header")
ATTEMPT(lease, "lease")
ATTEMPT(text_busy, "text-busy")
ATTEMPT(routes, "routes")
ATTEMPT(generation, "generation")

static void test_other_user(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	attempt("other-user");
}

static bool has_its_directory_there(void *arg, long pid)
{
	char path[64], to[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%ld/cwd", pid);
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	*(bool *)arg |= strcmp(to, at("in")) == 0;
	return *(bool *)arg;
}

/* helm is killed: nothing of the run lives on, also what hid from its process group. */
static void test_nothing_outlives_helm(void **state)
{
	const char *argv[] = { "/bin/sh", "-c",
		"setsid sh -c 'trap \"\" TERM HUP; while :; do (setsid sleep 1 &) ; sleep 0.05; done' & "
		"echo $$ >pid; sleep 300",
		NULL };
	const char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct err e = { 0 };
	int status;

	(void)state;
	assert_int_equal(set_up(NULL), 0);
	pid_t helm = fork();
	if (helm == 0) {
		(void)run_in_sandbox(argv, environment, 0, &e);
		_exit(0);
	}
	for (int i = 0; i < 500 && access(at("in/pid"), F_OK); i++)
		usleep(10000);
	usleep(300000);
	kill(helm, SIGKILL);
	assert_int_equal(waitpid(helm, &status, 0), helm);
	/* Everything inside has its directory there. */
	bool is_any = true;
	for (int i = 0; i < 500 && is_any; i++) {
		is_any = false;
		(void)proc_each("/proc", has_its_directory_there, &is_any);
		usleep(10000);
	}
	assert_false(is_any);
	tear_down(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everyday),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_races),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_network_races),
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_shm),
		cmocka_unit_test(test_unnamed_setuid),
		cmocka_unit_test(test_refused_mode),
		cmocka_unit_test(test_group_priority),
		cmocka_unit_test(test_closed_later),
		cmocka_unit_test(test_routing_header),
		cmocka_unit_test(test_lease),
		cmocka_unit_test(test_text_busy),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_other_user),
		cmocka_unit_test(test_nothing_outlives_helm),
	};
	static const int levels[] = { 0, 1, 3, 4, 6 };
	int failed = 0;

	if (argc == 3 && !strcmp(argv[1], "--probe"))
		return probe(argv[2]);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	if (!sandbox_landlock_abi()) {
		printf("SKIPPED: this kernel has no Landlock\n");
		return 77;
	}
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		char name[32];
		abi_limit = levels[i];
		if (abi_limit && abi_limit >= sandbox_landlock_abi())
			continue;
		snprintf(name, sizeof(name), "Landlock %d", abi_limit);
		failed += _cmocka_run_group_tests(name, tests, ARRAY_SIZE(tests), NULL, NULL);
	}
	return failed;
}
