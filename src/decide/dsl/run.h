/* run.h — inside decide/dsl/: one subject of a request on its way through the rules. */
#ifndef DECIDE_DSL_RUN_H
#define DECIDE_DSL_RUN_H

#include "decide/dsl/parts.h"

enum { RUN_NOTES = 32 };

/* What one rule has read, for the witness. */
struct run_note {
	const char *name; /* "delta.amount", or the key of a fact */
	bool is_fact;
	const struct json *value; /* NULL: it is not there */
};

struct run {
	struct arena *a;
	const struct dsl_code *code;
	const struct json *snapshot, *facts; /* objects, or NULL */
	const struct json *delta,
		*subject; /* the request's, or what a rewrite has made of them; delta may be NULL */
	enum dsl_target target;
	int64_t fuel; /* instructions left; below zero: exhausted */
	const char *error; /* why the rule cannot be judged; or NULL */
	struct run_note notes[RUN_NOTES];
	size_t note_n;
	struct dsl_value missing[RUN_NOTES]; /* primitives that were looked for and not there */
	size_t missing_n;
};

/* Run a verified program: its answer, or false with run->error set. */
bool run_code(struct run *run, uint32_t pc);
/* The rule cannot be judged; the first reason stays. */
void run_fail(struct run *run, const char *why);
/* Pay for looking at so many things; false, with an error, when there is no fuel left. */
bool run_burn(struct run *run, size_t looks);
/* What a path names, or NULL: delta.node is the subject of a rule about nodes. */
const struct json *run_find(struct run *run, const struct dsl_path *path);
/* A value of the request as an answer repeats it: null when it is not there, and {"ref": name} when it is an object or long. */
struct json *run_shown(struct arena *a, const struct json *value, const char *name);
/* Arguments as an object; a reference to nothing is null.  Those without a name are arg1, arg2. */
struct json *run_args(struct run *run, const struct dsl_arg *args);
/* Put subject and delta as the operations of a rewrite make them in their place.  With run->error set, nothing has changed. */
void run_rewrite(struct run *run, const struct dsl_op *ops);
/* "node", "edge" or "flow": what the subject is called in references. */
const char *run_subject_name(enum dsl_target target);

#endif
