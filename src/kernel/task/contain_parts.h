/* contain_parts.h — inside task/: tickets of contained calls, and the keeper of a session. */
#ifndef KERNEL_TASK_CONTAIN_PARTS_H
#define KERNEL_TASK_CONTAIN_PARTS_H

#include "kernel/task/contain.h"
#include "kernel/task/parts.h"

#include <poll.h>

/* Below the helm home. */
#define CALLS_DIR "calls"
#define SESSIONS_DIR "sessions"
#define SESSION_CWD "cwd" /* directory of links: where a call ended, for the client's shell */
#define SESSION_PIPES \
	"calls" /* directory of FIFOs, one for each call that was allowed and has not come yet */

/* The texts of a CONTAINED_CALL bundle; the shell's arguments follow, then the environment. */
enum { CALL_ID, CALL_TEXT, CALL_CWD, CALL_SHELL, CALL_NAME, CALL_UMASK, CALL_LIMITS, CALL_ARGC, CALL_ARGS };

/* ---- ticket.c ---- */

/* The ticket of this id, as it lies there.  E_DENIED CONTAINED_UNKNOWN when there is none. */
int ticket_read(struct sys *s, struct arena *a, const char *helm_home, const char *id, struct json **ret,
	struct err *e);
/* Which session the ticket belongs to: a name for its directory. */
const char *ticket_session(struct arena *a, const struct json *ticket);
/* The profile with the contracts of skills that are active in its session: those that it was allowed under, or E_DENIED. */
int ticket_narrow(struct kernel *k, struct arena *a, const struct json *ticket,
	const struct profile **profile, struct err *e);
/* The command in it. */
const char *ticket_text(const struct json *ticket);
/* What somebody wants to redeem. */
struct redeeming {
	const char *session; /* of the keeper that is asked */
	const char *text, *cwd;
	pid_t peer; /* who asks */
};
/* Once: OK for one of all who ask.  E_DENIED with the reason otherwise. */
int ticket_redeem(struct kernel *k, struct arena *a, const struct json *ticket, const struct redeeming *r,
	struct err *e);
/* The client's process, to be told when it ends; -1 when it cannot be watched.  E_DENIED when it has ended already: there is nobody left
 * to work for. */
int ticket_watch_client(struct sys *s, const struct json *ticket, int *ret, struct err *e);
/* Remove those whose time is over. */
void tickets_sweep(struct sys *s, struct arena *a, const char *helm_home);

/* ---- keeper.c ---- */

/* Start the keeper of this ticket's session, in a process of its own.  Returns when it listens. */
int keeper_start(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket, struct err *e);

/* ---- sessions.c ---- */

/* How a wrapper and the keeper of its session are connected. */
struct keeper_link {
	int socket; /* the caller's; -1: none */
	bool is_by_pipe; /* from inside a client's own sandbox */
};
/* To the keeper of this ticket's session, which is started when there is none.  E_DENIED CONTAINED_SANDBOX: a client's own sandbox lets
 * no way through. */
int keeper_connect(struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket,
	struct keeper_link *ret, struct err *e);
/* Remove what keepers that were killed left behind.  The caller holds the lock under which keepers are started. */
void sessions_sweep(struct sys *s, struct arena *a, const char *helm_home);

/* ---- announce.c ---- */

/* In the hook: see to it that the keeper of this call's session is there, and that the call can reach it from inside a client's own
 * sandbox.  Where that fails, the wrapper finds out. */
void call_announce(struct sys *s, struct arena *a, const char *program, const char *helm_home,
	const struct json *ticket);

/* In the keeper: calls that may come by a pipe.  The oldest goes when there are too many. */
enum { ANNOUNCED_MAX = 64, ANNOUNCED_ID = 96 };
struct announced {
	struct announced_call {
		char id[ANNOUNCED_ID];
		int pipe;
	} calls[ANNOUNCED_MAX];
	size_t n;
};
void announced_add(struct announced *x, struct sys *s, int session_dir,
	struct bundle *b); /* takes the bundle's descriptors */
void announced_drop(
	struct announced *x, struct sys *s, int session_dir, const char *id); /* it came, by whatever way */
size_t announced_poll(const struct announced *x, struct pollfd *to); /* room for ANNOUNCED_MAX; how many */
/* Have the refusal of such a call signed and told by a process of its own: the keeper has no key, and the wrapper, inside a client's own
 * sandbox, cannot write the record.  -1: it could not be started. */
int announced_refuse(
	struct sys *s, const char *helm_home, int socket, const struct bundle *b, const struct err *e);
/* The environment without proxies that listen in the client's own sandbox only. */
const char *const *announced_environment(struct arena *a, const char *const *given);
/* Does the process `peer` see the work tree read-only?  is_sandboxed: it stands in a client's own sandbox, so a doubt is a yes. */
bool call_reads_only(struct arena *a, pid_t peer, const char *tree, bool is_sandboxed);

/* ---- contained.c ---- */

/* Sign that a call was refused, for the reason in *e.  E_DENIED; *e says so when even that is not possible. */
int contained_refused(struct sys *s, struct arena *a, const char *helm_home,
	const struct contained_call *call, const char *cwd, struct err *e);

/* ---- shell.c ---- */

/* What the client's shell evaluates in the place of `text`. */
const char *shell_wrapped(struct arena *a, const char *program, const char *helm_home, const char *session,
	const char *id, const char *text);
/* argv of the shell inside: the state first where there is one, then the text, then a note of where it ended. */
const char *const *shell_argv(struct arena *a, const char *shell, const char *name, const char *text,
	const char *const *args, const char *cwd, const char *note, bool has_state);
/* The shell that evaluates the wrapper; else the person's. */
const char *shell_of_caller(struct sys *s, struct arena *a);

#endif
