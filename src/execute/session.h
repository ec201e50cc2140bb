/* session.h — inside execute/: many calls of one agent inside the same walls.
 *
 * `helm run` puts up walls around one command and takes them down with it.  The shell calls of an agent belong together: a server that
 * one call starts is asked by the next.  So a session has one set of namespaces for all of its calls.  These take part:
 *
 *	keeper	outside the walls, one for each session; listens on a Unix socket that nothing inside can reach, and decides (kernel/task)
 *	warden	the first process inside; reaps what is left over, and takes everything with it when it ends
 *	nurse	locks itself in once, like the ward of a run and with the same code (sandbox.h), and starts the calls
 *	ward	one call, on its way to become the command
 *
 * and one more for each call, the wrapper: `helm contained`, which the client runs in the place of its command.  It hands its streams,
 * environment and signals to the keeper and ends as the command ended. */
#ifndef EXECUTE_SESSION_H
#define EXECUTE_SESSION_H

#include "base/mem.h"
#include "execute/sandbox.h"

#include <sys/resource.h>

/* ---- a list of texts and some descriptors, from one process to another ---- */

enum { BUNDLE_FDS = 5, BUNDLE_TEXTS = 1 << 16, BUNDLE_BYTES = 16 << 20 };

struct bundle {
	uint32_t kind; /* what the sender wants */
	uint32_t call; /* which call it is about */
	int32_t number; /* a signal, an exit code, ... */
	const char *const *texts; /* any number of them, each of any length */
	size_t text_count;
	int fds[BUNDLE_FDS]; /* borrowed by the sender, owned by the receiver; -1 behind the last */
};
/* Both 0, or -1 with errno; EPIPE of the receiver: the other side is gone.  Texts are received into `a`. */
int bundle_send(int socket, const struct bundle *b);
int bundle_receive(struct arena *a, int socket, struct bundle *ret);
void bundle_close_fds(struct bundle *b);

/* ---- the keeper's hold on what is inside ---- */

struct session;
struct session_call {
	const char *program; /* absolute */
	const char *const *argv, *const *environment; /* NULL-terminated */
	const char *cwd; /* absolute */
	const char *note; /* a file inside, in which the command may leave one line for us; or NULL */
	mode_t umask;
	const char *limits; /* as session_limits() gives them; or NULL */
	int streams[3];
	int extra; /* the command has it as descriptor SESSION_EXTRA; or -1 */
	bool reads_only; /* it writes nothing but the session's own directories */
};
enum { SESSION_EXTRA = 9, SESSION_NOTE = 4096 };

/* Something happened inside. */
struct session_news {
	enum { SESSION_READY = 1, SESSION_STOPPED, SESSION_ENDED } what;
	uint32_t call;
	int status; /* ENDED: as waitpid() gives it */
	struct sandbox_report report; /* ENDED */
	char note[SESSION_NOTE]; /* ENDED: what the command left; or "" */
};

/* Put up the walls that all calls share.  `rules` and what they point to are as they are now, for as long as the session lasts.
 * E_DENIED SANDBOX_REFUSED, E_IO. */
int session_start(struct sys *s, const struct sandbox_rules *rules, struct session **ret, struct err *e);
int session_fd(const struct session *x); /* readable when there is news */
/* Read it; -1: nothing inside lives any more. */
int session_hear(struct session *x, struct session_news *ret);
/* Start a call.  How it ended is in the news, also when it could not be started: report.refused, report.exec_errno. */
int session_run(struct session *x, uint32_t call, const struct session_call *how);
void session_signal(struct session *x, uint32_t call, int signal_number); /* to its process group */
/* Places that did not exist when the walls went up: closed from now on. */
int session_close_places(struct session *x, const char *const *hidden, const char *const *read_only);
bool session_is_empty(struct session *x); /* no process is left of any call */
void session_end(struct session **x); /* everything inside ends; for AUTO(); NULL is fine */

/* The resource limits of this process, as a text for session_call. */
char *session_limits(struct arena *a);

/* ---- the wrapper's side ---- */

/* Messages between wrapper and keeper.  CALL has the texts of `struct contained_call` and the descriptors 0, 1, 2 and, if there is
 * one, the state of the client's shell; all others have a number. */
enum {
	CONTAINED_CALL = 1,
	CONTAINED_SIGNAL,
	CONTAINED_REFUSED,
	CONTAINED_STOPPED,
	CONTAINED_ENDED,
	CONTAINED_ANNOUNCED /* from the hook: a call's id, and its FIFO */
};
/* The number of a CALL: the wrapper stands in a client's sandbox in which it cannot write the work tree. */
enum { CALL_READS_ONLY = 1 };

/* Hand the call over and wait for its end: signals are passed on, a stop is ours, too.  *ret is a wait status; `texts` of the last
 * message stay in `a`.  E_DENIED with the keeper's reason when it was refused, E_IO SESSION_LOST when the keeper went away. */
int contained_wait(struct arena *a, int socket, const struct bundle *call, int *ret_status,
	const char **ret_word, struct err *e);
/* End as the command ended: by the same signal, or with its code.  Returns the code where that signal does not end us. */
int contained_end_alike(int status);

/* ---- how both find each other ---- */

/* The socket in this directory.  A descriptor, or -1 with errno. */
int session_listen(int dir);
int session_connect(int dir);
int session_accept(int listener, pid_t *ret_peer); /* from a process of this user only */
/* fn(arg, kept) in a process that belongs to no terminal, directory or parent and has no descriptor open but `kept`; it does not return.
 * 0, or -1 when it could not be started. */
int session_detach(struct sys *s, int kept, void (*fn)(void *arg, int kept), void *arg);

/* ---- call_pipe.c: the same from inside a client's own sandbox ---- */

/* In the hook: the FIFO of a call in this directory.  A descriptor, or -1 with errno. */
int call_pipe_make(int dir, const char *name);
/* In the wrapper: a socket to the keeper, or -1 with errno.  Writes nothing and connects to nothing. */
int call_pipe_connect(int dir, const char *name);
/* In the keeper, once the FIFO has room: a socket to the wrapper, or -1 with errno. */
int call_pipe_accept(int fifo, pid_t *ret_peer);

/* ---- reads_only.c ---- */

/* In the process that becomes a call: from now on it writes nothing but the session's own directories.  0, or -1 with errno. */
int reads_only_lock(const struct sandbox_rules *rules, const struct sandbox_report *report);

/* ---- strays.c ---- */

/* Kill all children of this process until none is left: what a pid namespace does by itself. */
void run_end_strays(void);

#endif
