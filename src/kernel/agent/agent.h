/* agent.h — supervised sessions: a whole agent client inside the walls of a profile, and one process outside that answers for it.
 *
 * The supervisor is the helm process a person started.  It has the key, the chain, the policy and the checkpoints, and is the only one
 * that writes the record.  The client runs inside with everything it starts, and its hooks ask the supervisor at the desk
 * (execute.h): no key is loaded there, and the helm home is hidden.  A session is one task: its rows are the task's, and the
 * calls made in it carry its id.
 *
 * What a person has permitted and the walls do not let through is carried out by the supervisor, once: the client is told to run
 * `helm outside DECISION` instead, which is worth nothing in any other place or a second time. */
#ifndef KERNEL_AGENT_AGENT_H
#define KERNEL_AGENT_AGENT_H

#include "kernel/hook.h"
#include "kernel/task/task.h"

/* ---- outside ---- */

/* A session that is detached. */
struct agent_alone {
	struct run_alone terminal;
	int began; /* who started it waits here to hear that it has begun; -1: nobody does */
};

struct agent_spec {
	const char *client; /* a client's name, or any program */
	const char *const *args; /* for it */
	size_t arg_count;
	const char *profile; /* NULL: the workspace's */
	const char *cwd; /* absolute */
	const char *name, *goal, *task_id; /* of the task; or NULL */
	struct agent_alone *alone; /* or NULL */
};

/* From the first row to the last.  *ret as for a run.  E_DENIED AGENT_NOT_ARMED when the client would not
 * ask us about its calls. */
int agent_run(struct kernel *k, struct arena *a, const struct agent_spec *spec, struct run_report *ret,
	struct err *e);

/* The same in a process of its own, without our terminal.  *ret is {task_id, pid} once it has begun, or {exit_code, text} when it has
 * not. */
int agent_detach(struct sys *s, struct arena *a, const struct workspace *ws, const struct agent_spec *spec,
	struct json **ret, struct err *e);
/* Sit down at the terminal of one that is detached; `id` NULL: the newest that runs.  *ret_ended: it has ended; else we have left it. */
int agent_attach(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, bool *ret_ended,
	struct err *e);

/* Sessions, oldest first: {task_id, client, status, ...}.  `all`: those that have ended, too. */
int agent_list(struct sys *s, struct arena *a, const struct workspace *ws, bool all, struct json **ret,
	struct err *e);
/* Everything about one session; `id` NULL: the newest.  E_MISSING AGENT_UNKNOWN. */
int agent_report(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	struct json **ret, struct err *e);
/* Ask its supervisor to end it, and wait until it has.  E_MISSING when it does not run. */
int agent_stop(struct sys *s, struct arena *a, const struct workspace *ws, const char *id, struct json **ret,
	struct err *e);

/* A file that a session wrote in the home directory and that was kept aside takes its place there: the operator's decision, on record before
 * it is done.  `path`: below the home.  *ret_at: where it is now. */
int agent_keep(struct kernel *k, struct arena *a, const char *task_id, const char *path, const char *executor,
	const char **ret_at, struct err *e);

/* ---- inside ---- */

bool agent_is_inside(void);
/* Everything else here is E_MISSING AGENT_NONE where nobody supervises. */

/* Carry out what a decision permits, with our streams.  *ret_code is the command's exit code. */
int agent_ask_outside(struct sys *s, struct arena *a, const char *id, int *ret_code, struct err *e);
/* Be the gateway to tools, which runs outside with our streams.  `servers`: [id]; none: all. */
int agent_ask_gateway(
	struct sys *s, struct arena *a, const struct json *servers, int *ret_code, struct err *e);
/* {task_id, client, profile, started_at, calls, ...} of the session we are in. */
int agent_ask_status(struct sys *s, struct arena *a, struct json **ret, struct err *e);

#endif
