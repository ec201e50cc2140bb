/* execute.h — run one command inside its walls, and know how it ended.  Many calls in the same walls: session.h.
 * Checkpoints: checkpoint/checkpoint.h.
 *
 * A run is four steps of its caller, so that the caller's own work stands between them in the order it
 * happens:
 *
 *	run_start()    the walls go up in a child that waits at a gate
 *	...            meanwhile the decision goes to disk
 *	run_go()       the gate opens, the child becomes the command
 *	run_wait()     until it has ended, or for a while
 *	...            what is to be said about it, while what it left behind is being ended
 *	run_end()      nothing of it is left
 *
 * The command gets its own process group and, on a terminal, the foreground, so that interactive programs
 * work.  INT, TERM, HUP and QUIT sent to helm are passed on; when time runs out or helm is asked to end,
 * the whole tree gets TERM, a grace period, and KILL.  Nothing that the command started outlives it. */
#ifndef EXECUTE_EXECUTE_H
#define EXECUTE_EXECUTE_H

#include "base/hash.h"
#include "execute/machine.h"
#include "execute/sandbox.h"
#include "execute/session.h"

#include <sys/ioctl.h>
#include <termios.h>

enum { RUN_TAIL_BYTES = 4096, RUN_GRACE_MS = 5000 };

/* A session whose terminal is nobody's: what it shows is kept, the last of it, and one guest at a time may sit down at it. */
struct run_alone {
	int listener; /* of session_listen(), not blocking */
	bool has_modes; /* those of a person's terminal, for the session's own */
	struct termios modes;
	struct winsize size;
};
void run_alone_look(struct run_alone *to); /* modes and size of our own terminal, if we have one */

/* The guest: sits there until its window is gone or it leaves with Ctrl-] d, or the session ends.  0 and 1 are its terminal, which is as it
 * was found afterwards.  `socket`: of session_connect().  -1: 0 is no terminal. */
enum attach_end { ATTACH_LEFT, ATTACH_ENDED, ATTACH_BUSY };
int attach_sit(int socket, enum attach_end *ret);

struct run_request {
	const char *const *argv; /* NULL-terminated */
	const char
		*program; /* run exactly this file; NULL: argv[0] is looked up in the PATH of `environment` */
	const char *const *environment; /* NULL-terminated NAME=value: the whole of it */
	const char *cwd; /* absolute */
	int64_t timeout_ms; /* 0: none */
	bool capture; /* pass output through and keep tails and digests; off on a terminal */
	bool quiet; /* captured output is not passed on to our own streams */
	const struct sandbox_rules *rules;
	bool is_session; /* the whole of an agent client: see below */
	const struct run_alone *alone; /* of a session: nobody sits at its terminal; or NULL */
	/* In the child, as the last thing before it becomes the command.  False refuses, for the reason in
	 * `why`.  May be NULL. */
	bool (*last_look)(void *arg, char *why, size_t why_n);
	void *arg;
	/* Called by run_wait() whenever *side_fd can be read or has ended, until it is -1.  May be NULL. */
	void (*on_side)(void *arg);
	void *side_arg;
	const int *side_fd;
	/* The same for whoever has to do something else meanwhile. */
	void (*on_other)(void *arg);
	void *other_arg;
	const int *other_fd;
};

struct run_stream {
	uint64_t bytes;
	char tail[RUN_TAIL_BYTES]; /* the last bytes, in order */
	size_t tail_n;
	uint8_t sha256[SHA256_SIZE];
	int lost_errno; /* why some of it could not be passed on, other than that nobody reads it; or 0 */
};

struct run_result {
	int exit_code; /* of the command; 124 timeout, 126/127 not executed, 128+n signal */
	int exit_signal; /* or 0 */
	bool timed_out;
	bool interrupted; /* helm was asked to end */
	bool captured;
	bool printed_too_much; /* it was ended for that */
	int64_t started_us, finished_us;
	struct run_stream out, err; /* when captured */
	struct sandbox_report report;
};

struct running;

/* Put up the walls.  `request` and all it points to stay as they are until run_end().  E_IO when nothing
 * could be started: then there is nothing to end. */
int run_start(struct sys *s, struct arena *a, const struct run_request *request, struct running **ret,
	struct err *e);
/* Let it begin.  E_IO when its process could not be started. */
int run_go(struct running *r, struct err *e);
/* Wait until it has ended: *ret says how, and what it left behind is still being ended.  With for_ms it
 * comes back after that time, too: *ret is NULL then.  A command that fails is not an error; E_DENIED when
 * nothing was executed: SANDBOX_REFUSED when a required wall is missing, RUN_CHANGED when last_look
 * refused. */
int run_wait(struct running *r, int64_t for_ms, const struct run_result **ret, struct err *e);
/* ---- sessions ----
 *
 * The command of a session is an agent client with all that it starts.  Where one of our streams is a terminal the session gets a
 * pseudo-terminal of its own instead, and everything is passed on between the two: keys, output, size, Ctrl-Z.  Other streams
 * are inherited.  With rules->desk whatever runs inside can ask us. */

/* Where they ask; -1: nowhere.  The caller's from then on; after run_go(). */
int run_take_desk(struct running *r);
/* Of a session: when it began and which walls stand, before anything else is known.  NULL: its walls could not be put up, and
 * run_wait() says why. */
const struct run_result *run_so_far(const struct running *r);

enum { DESK_PROTOCOL = 0x48454c4d }; /* no protocol of AF_UNIX */
struct desk_caller {
	int fd; /* a stream socket to the caller; the receiver closes it */
	pid_t pid; /* who called, as the kernel says */
};
/* Outside: wait for the next who asks.  -1 when nobody is left who could, or `stop` can be read. */
int desk_accept(int desk, int stop, struct desk_caller *ret);
/* Inside: a socket to whoever supervises this process; -1 when nobody does. */
int desk_connect(void);

/* Nothing of it is left, and terminal and signals are ours again.  Without run_go() nothing was ever
 * executed; what still runs is killed.  For AUTO(); NULL is fine. */
void run_end(struct running **r);

#endif
