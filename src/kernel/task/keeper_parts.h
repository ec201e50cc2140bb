/* keeper_parts.h — inside task/: the keeper of a session, and what it looks at around its calls. */
#ifndef KERNEL_TASK_KEEPER_PARTS_H
#define KERNEL_TASK_KEEPER_PARTS_H

#include "kernel/task/contain_parts.h"

struct call {
	struct arena a;
	uint32_t number;
	int socket;
	pid_t peer;
	const char *
		announced; /* it came by the call pipe of this id, from inside a client's own sandbox; or NULL */
	bool reads_only; /* in that sandbox the work tree cannot be written */
	struct json *ticket;
	struct task *task; /* NULL: not running */
	int said; /* its standard error, where that is a file, to be read once it failed; else -1 */
	off_t said_from;
	struct call *next;
};

struct keeper {
	struct sys *sys;
	struct arena a;
	const char *name, *home; /* of the session; the helm home */
	const struct json *ticket; /* the first one: what all of them have in common */
	struct workspace *ws;
	struct kernel k;
	struct run_spec spec;
	struct task base; /* profile, place, temporary directory and walls of all calls */
	struct json *closed; /* places that are closed inside, in the order in which they were, */
	struct json *closed_as; /* and which file each was then: one that is put in its place is open again */
	size_t closed_before; /* so many of them before the last walk */
	struct call
		between; /* what is left running between two calls, as if it were one; its task is NULL while nothing is */
	struct session *session;
	int dir, listener, client;
	struct call *calls;
	size_t call_count;
	struct announced announced; /* calls that may come by a pipe */
	uint32_t last;
	bool has_mounts; /* what is read-only is so by a mount */
	int64_t used_us, look_us; /* when a call last began or ended; when to look whether it is still used */
	struct arena seen[2]; /* of base.nested: what the last walk has seen, and room for the next */
	unsigned walks;
	struct watch *watch;
	bool is_owed; /* a walk over everything was left out: nothing was heard, or only a part walked */
	int64_t walk_due_us, walked_us; /* 0: none is due; what changed before was looked at */
	int64_t walked_all_us; /* what changed before, heard or not */
	int64_t rest_us; /* between two walks */
	struct arena written; /* of base.journal: its document */
	struct arena noted[2]; /* of base.armed: what is there before calls, and room for the next note */
	unsigned notes;
	struct prompt prompt;
	const char *recovered; /* told with the first call; or NULL */
};

/* ---- keeper_looks.c ---- */

/* A task like that of a run, as far as walls and what is left behind need one. */
struct task *keeper_task_of(struct keeper *x, struct call *c);
void keeper_look_first(struct keeper *x); /* what is there before the first call, watched from now on */
/* What is there before a call, and on disk.  E_DENIED AUTORUN_LEFT: something of an earlier one is still there. */
int keeper_look_again(struct keeper *x, struct task *t, struct err *e);
int keeper_note_before(struct keeper *x, struct err *e);
void keeper_keep_left(struct keeper *x, const struct task *t);
void keeper_note_left(struct keeper *x, struct arena *a, struct task *t, int64_t now_us);
void keeper_begin_between(struct keeper *x);
void keeper_end_between(struct keeper *x);
int64_t keeper_walk_at(const struct keeper *x); /* when the next walk may begin */
void keeper_walk(struct keeper *x, bool all);
void keeper_walk_if_changed(struct keeper *x);
struct task *keeper_who_runs(struct keeper *x);
void keeper_hear_tree(struct keeper *x, bool is_heard); /* what poll() has said about the watch of the tree */
void keeper_end_journal(struct keeper *x);

#endif
