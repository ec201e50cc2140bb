/* parts.h — inside agent/: one session as its supervisor knows it, and how the two sides talk.
 *
 * What is said.  The one inside sends a line of JSON: {"ask": "hook" | "outside" | "gateway" | "status", ..., "bytes": N}, and N bytes behind it.
 * The supervisor answers with one line of JSON, {"error": {...}} when it has none.  With "outside" and "gateway" three descriptors go along
 * with the line, and every later byte is the number of a signal for what runs.  A hook gets what it is to say: "EXIT OUT ERR" on a line, and
 * so many bytes for its standard output and error. */
#ifndef KERNEL_AGENT_PARTS_H
#define KERNEL_AGENT_PARTS_H

#include "kernel/agent/agent.h"
#include "kernel/task/layer.h"

#include <pthread.h>

enum {
	AGENT_LINE = 64 << 10,
	AGENT_BYTES = 8 << 20,
	AGENT_THREADS = 64,
	AGENT_JUDGES = 16,
	AGENT_WAITING = 128,
	AGENT_GATEWAYS = 24
};

/* What may be done outside, once. */
struct permit {
	struct permit *next;
	char *id, *command, *cwd, *profile, *terms;
	char *real; /* where cwd was without links; or NULL */
	struct held_place place; /* and which directory */
	int64_t until_us;
};

struct session {
	/* set before it begins */
	struct sys *sys;
	struct arena *a; /* of the thread that waits for the client */
	const char *root; /* of the workspace */
	const char *home; /* of the person; or NULL */
	const char *helm_home; /* or NULL */
	const struct client *known; /* NULL: any program */
	struct run_session *how;
	struct layer layer; /* once has_layer */
	bool has_layer;
	const char *not_kept; /* what was not carried back, in one line; or NULL */
	struct agent_alone *alone; /* or NULL */
	const char *client, *profile, *helm, *shell;
	const char *
		chosen; /* the profile a person named for it; NULL: the workspace's, as it is when a call is made */
	/* once it runs */
	const struct task *task;
	uint32_t left_told; /* see run_spec */
	const char *task_id, *tmp;
	bool is_cut_off;
	int desk; /* ours; the clerk's once there is one */
	int stop; /* an eventfd that ends the clerk */
	const char *started; /* the directory it was started for */
	int64_t started_us;
	pthread_t clerk; /* takes the calls; workers answer them */
	bool has_clerk;
	/* shared by the threads */
	pthread_mutex_t lock;
	pthread_cond_t arrived, left, judged;
	struct visit *first, **last; /* who waits for a worker */
	size_t waiting, idle, workers;
	struct judge *judges; /* those that are free */
	size_t judge_count; /* and all of them */
	struct standby writer; /* of the group */
	struct recorder_group *group; /* or NULL */
	bool is_over;
	struct permit *permits;
	struct {
		int64_t calls, refused, asked, outside;
	} count;
	size_t gateways; /* that run for it */
};

/* ---- desk.c ---- */
int desk_begin(struct session *s, struct err *e);
void desk_end(struct session *s); /* nobody is being answered any more */

/* ---- detach.c ---- */
void agent_has_begun(struct agent_alone *x, struct sys *s, struct arena *a, const char *task_id);

/* ---- list.c ---- */
/* The newest row of a session that runs; `id` NULL: of the newest one. */
int agent_find_running(struct sys *s, struct arena *a, const struct workspace *ws, const char *id,
	const struct json **ret, struct err *e);

/* ---- outside.c ---- */
/* Notes it, and returns the command that redeems it; lives in `a`. */
const char *permit_add(
	struct session *s, struct arena *a, const char *command, const struct hook_answer *how);
/* Taken away from the list: nobody else gets it.  NULL: unknown, used, or too late. */
struct permit *permit_take(struct session *s, const char *id);
void permit_free(struct permit *p);
/* To its end; `conn` is the caller's.  *ret is its exit code. */
int outside_run(
	struct session *s, const struct permit *p, const int streams[3], int conn, int *ret, struct err *e);

/* Until that process has ended, or whoever is at `conn` has gone; signals that come by it go on. */
void outside_attend(struct session *s, pid_t child, int pidfd, int conn);

/* ---- gateway.c ---- */
/* The gateway to tools outside of the walls, with these streams, to its end.  `servers`: [id], of the registry; none: all.  MCP_BUSY: too many run. */
int gateway_outside(struct session *s, struct arena *a, const struct json *servers, const int streams[3],
	int conn, int *ret, struct err *e);

/* ---- talk.c ---- */
/* One line.  fds NULL: none. */
int talk_send(int fd, struct arena *a, const struct json *line, const int *fds, struct err *e);
/* A line, and as many bytes as it says; *ret_body is empty when it says none.  All of it must come within that time, 0: whenever it
 * does.  Descriptors that came along are put into fds (3, -1 for none); NULL: they are closed. */
int talk_receive(struct sys *s, int fd, struct arena *a, int64_t within_us, struct json **ret,
	struct bytes *ret_body, int *fds, struct err *e);

#endif
