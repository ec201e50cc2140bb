/* supervise.h — inside execute/: a process outside the sandbox carries out the system calls that Landlock does not cover.
 *
 * Where namespaces and mounts are refused, Landlock decides about reading, executing and tracing.  It does not cover modes, owners,
 * times and attributes, cannot take a file out of a writable tree, and knows ports but no addresses.  So the seccomp filter hands the
 * calls that change files, TCP sockets and, on older kernels, signals to the supervisor: the warden of the run.
 *
 * The supervisor never lets such a call continue: another thread could change the memory it was judged by.  It copies the arguments,
 * opens what they name as the kernel resolves it, asks the kernel where that object lies, and acts on its own descriptor.  It allocates
 * nothing, because it shares helm's memory and helm may die at any time; it never waits for the sandboxed process.
 *
 * When the supervisor is gone, all of these calls fail with ENOSYS. */
#ifndef EXECUTE_SUPERVISE_H
#define EXECUTE_SUPERVISE_H

#include "execute/sandbox.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/stat.h>

enum { SUPERVISED_PATHS = 256, SUPERVISED_SOCKETS = 128, SUPERVISED_PORTS = 128, SUPERVISED_POOL = 64 << 10 };

/* A socket that the supervisor has made and may still have to bind, connect or set listening. */
struct supervised_socket {
	int fd;
	ino_t inode;
};
/* One that listens on the loopback, for this run. */
struct supervised_port {
	uint16_t port;
	ino_t inode;
};

struct supervisor {
	int listener; /* calls are heard here; -1: there is none */
	int desk; /* requests to the supervisor socket (desk.c) are passed on through this one; -1: nobody takes them */
	const char *shm; /* the run's own directory for /dev/shm; or NULL */
	uint16_t proxy_port; /* the egress proxy on the loopback; 0: there is none */
	const char *writable[SUPERVISED_PATHS], *closed[SUPERVISED_PATHS],
		*hidden[SUPERVISED_PATHS]; /* real paths */
	size_t writable_count, closed_count, hidden_count;
	struct supervised_socket sockets[SUPERVISED_SOCKETS];
	size_t socket_count;
	struct supervised_port ports[SUPERVISED_PORTS];
	size_t port_at; /* the oldest is replaced */
	struct {
		dev_t dev;
		ino_t ino;
	} terminals[4]; /* that the run was given; ino 0 behind the last */
	int waiting[64]; /* pidfds of processes that wait in the place of a caller; 0: none */
	const struct sandbox_file *files; /* of the rules */
	const struct sandbox_opening *openings; /* of the rules */
	const char *const *git_approved; /* of the rules */
	bool is_private; /* there are mounts: renames are heard, and nothing else is supervised */
	int files_dir; /* of the report */
	int files_watch; /* hears when somebody outside replaces a file; 0: not yet, -1: nobody does */
	bool is_uncovered; /* one of the files is not there to be covered */
	int64_t renew_ms; /* by the clock: when to look at them, whatever was heard; 0: never */
	pid_t self; /* the warden: everything inside descends from it */
	bool is_root;
	char pool[SUPERVISED_POOL]; /* of paths that were added later */
	size_t pool_n;
};

/* In helm, before anything is started.  -1: there are more places than can be held. */
int supervisor_init(struct supervisor *s, const struct sandbox_rules *rules);
/* In the warden, while it has the streams of the run: which terminals it was given. */
void supervisor_note_terminals(struct supervisor *s);
/* Places that may not be changed from now on, either.  -1: no room; then the caller must end the run. */
int supervisor_close_place(struct supervisor *s, const char *path);
/* The sandboxed process gives the listener to the warden over a pair of sockets: it sends through notify[1].  0, or -1 with errno. */
int supervisor_send_listener(int socket, int listener);
/* In the warden, once sandbox_prepare() has been there (s NULL: nobody hears calls); and behind each poll, with what came of s->files_watch. */
void supervisor_take_files(struct supervisor *s, const struct sandbox_report *report);
void supervisor_renew_files(struct supervisor *s, short events);
enum {
	SUPERVISOR_RENEW_MS = 10,
	SUPERVISOR_WATCH_MS = 50
}; /* while s->is_uncovered; before the first time */
/* How long to wait at most until supervisor_renew_files() is due, 0: it is; -1: until s->files_watch can be read. */
int supervisor_patience(const struct supervisor *s);
/* In the warden: what to poll for, and what to do when it has come: take the listener, or carry out one call.  The pair is closed, and both
 * are -1, once the listener is there. */
struct pollfd supervisor_await(const struct supervisor *s, int socket);
void supervisor_act(struct supervisor *s, int notify[2], short events);

/* ---- inside supervise*.c ---- */

struct notified {
	struct supervisor *s;
	struct seccomp_notif asked;
	bool is_answered;
	const void *arg; /* for what answers later: that process has no way into the caller's memory (Yama) */
};
#define ARGUMENT(c, n) ((c)->asked.data.args[n])

/* A pidfd of the process that a thread belongs to, or -1. */
int supervisor_open_process(pid_t thread);

/* What a path names: a name in a directory, and the object of that name if there is one. */
struct object {
	int dir; /* O_PATH, or -1 */
	char name[NAME_MAX + 1]; /* in it; "": the object is the directory itself */
	int fd; /* O_PATH, or -1: there is none of that name */
	struct stat st;
	char path[PATH_MAX + NAME_MAX]; /* where it lies */
	bool is_dir_wanted; /* the path ended with a slash */
};

/* Files are made and changed as the caller's user: a process of root's may have become somebody else. */
struct owner {
	mode_t umask;
	bool is_other;
};
void notified_be_caller(const struct notified *c, struct owner *o);
void notified_be_self(const struct owner *o);
/* A directory as the caller names it, without access (O_PATH); or negative. */
int notified_open_dir(const struct notified *c, int at, const char *path);

/* All return 0 or more, or a negative errno for the caller. */
int notified_read(const struct notified *c, uint64_t from, void *to, size_t n);
int notified_read_text(const struct notified *c, uint64_t from, char *to, size_t room);
bool notified_is_valid(const struct notified *c); /* still waits: what was read is its own */
/* The kernel goes on with the call itself.  Only for a call that is allowed whatever its memory says: Landlock still judges it. */
void notified_continue(struct notified *c);
int64_t notified_give(
	struct notified *c, int *fd, bool is_cloexec); /* as the call's result; ours is closed */
int64_t notified_lend(struct notified *c, int fd, bool is_cloexec); /* the same; ours stays open */
void notified_answer(struct notified *c, int64_t result);
/* In a process of its own, because it may wait: fn answers.  Fails when too many wait already. */
int64_t notified_later(
	struct notified *c, void (*fn)(struct notified *c, int fd, int flags), int fd, int flags);
/* A number behind `name` in /proc/PID/status. */
int proc_status(pid_t pid, char *to, size_t room);
/* fn(arg, number) for each entry of a directory of /proc that is a number, until it returns true.  -1: it cannot be read. */
int proc_each(const char *path, bool (*fn)(void *arg, long number), void *arg);
bool supervisor_has_inside(const struct supervisor *s, pid_t pid);

int64_t supervise_file(struct notified *c); /* -ENOSYS: none of its calls */
int64_t supervise_network(struct notified *c);
/* A character device, open as `device` without access, whose path is `name`. */
int64_t supervise_device(struct notified *c, int device, const char *name, const struct stat *st, int flags);
int64_t supervise_signal(struct notified *c);

#endif
