/* parts.h — inside kernel/: one guarded run, from the queued row to the final one. */
#ifndef KERNEL_TASK_PARTS_H
#define KERNEL_TASK_PARTS_H

#include "kernel/task/task.h"

#include <sys/stat.h>

/* The ledger's stub, present in every row of a task. */
struct json *task_stub(
	struct kernel *k, const struct run_spec *spec, const struct profile *profile, const char *task_id);
/* "error_class" and friends for a row that failed; NULL when it did not. */
struct json *task_failure_signature(
	struct arena *a, const struct workspace *ws, const struct json *row, const struct run_result *result);
/* Resume cards there are, oldest first. */
struct task_cards {
	char **names;
	size_t n;
	const char *newest; /* absolute; NULL when there is none */
};
void task_list_cards(struct kernel *k, struct task_cards *ret);
/* One more, for the next run; returns its path relative to the workspace, or NULL.  Old ones make room. */
const char *task_snapshot(struct kernel *k, const struct task_cards *old, const struct json *row);
/* Who used what: only on final, blocked and audit rows. */
struct json *task_experience(struct arena *a, const struct json *row);
/* What was remembered of it: nothing, and it says so. */
struct json *task_memory_capture(struct arena *a, int exit_code);
/* Files below `root` changed since, relative to it, at most 500. */
struct json *task_touched(
	struct sys *s, struct arena *a, const char *root, const char *state_name, int64_t since_us);
/* Environment of the child by profile, with the task's own variables. */
const char **task_environment(struct kernel *k, const struct run_spec *spec, const char *task_id,
	const char *tmp, const char *card);
char *task_preview(struct arena *a, const char *const *argv, size_t argc);

/* A private directory for temporary files below `base`, empty and untouched by anybody; path NULL: there is none. */
struct task_tmp {
	const char *path, *name;
	int fd, rack; /* locked while in use */
};
void task_tmp_take(struct sys *s, struct arena *a, const char *base, struct task_tmp *ret);
/* Everything in it is gone afterwards. */
void task_tmp_give(struct sys *s, struct task_tmp *tmp);

/* The program of a run, found once, and the scripts that were judged for it. */
struct task_program {
	struct sys *sys;
	const char *path; /* NULL: there is none */
	struct stat st;
	const char *sha256; /* or NULL */
	const struct judged_file *files;
	size_t file_count;
};
void task_find_program(struct kernel *k, const struct run_spec *spec, struct task_program *ret);
struct json *task_program_json(struct arena *a, const struct task_program *p); /* path, size, sha256 */
/* Still the same files?  Says which one is not. */
bool task_program_is_same(const struct task_program *p, char *why, size_t why_n);

/* Signs of life: <state>/heartbeats/TASK.json with heartbeat_at and pid.  None of it can fail a run. */
#define HEARTBEATS "heartbeats"
enum { HEARTBEAT_MS = 30000 };
const char *heartbeat_file(struct arena *a, const char *task_id);
void heartbeat_beat(struct sys *s, const struct workspace *ws, const char *task_id);
void heartbeat_end(struct sys *s, const struct workspace *ws, const char *task_id);

#endif
