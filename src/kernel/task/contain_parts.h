/* contain_parts.h — inside task/: tickets of contained calls, and the keeper of a session. */
#ifndef KERNEL_TASK_CONTAIN_PARTS_H
#define KERNEL_TASK_CONTAIN_PARTS_H

#include "kernel/task/contain.h"
#include "kernel/task/parts.h"

/* Below the helm home. */
#define CALLS_DIR "calls"
#define SESSIONS_DIR "sessions"
#define SESSION_CWD "cwd" /* directory of links: where a call ended, for the client's shell */

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

/* A socket to the keeper of this ticket's session, which is started in a process of its own when there is none. */
int keeper_connect(struct sys *s, struct arena *a, const char *helm_home, const struct json *ticket, int *ret,
	struct err *e);

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
