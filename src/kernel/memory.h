/* memory.h — what somebody does to memory, decided and on record.
 *
 * A person's own act is signed; what anything else does is decided first, like every other write: by the profile and the policy in force, a
 * freeze and a pause.  Nothing is written before the receipt that permits it is on disk. */
#ifndef KERNEL_MEMORY_H
#define KERNEL_MEMORY_H

#include "kernel/kernel.h"
#include "remember/context.h"
#include "remember/memory.h"

struct memory_place memory_place_of(struct sys *s, const struct workspace *ws);

/* One act: begin, rows, end. */
struct memory_act {
	const char *verb; /* "write": stands in the receipt as helm.memory/write */
	const char *path; /* of the file it changes, below the workspace; NULL: it only adds rows */
	const char *task_id; /* or NULL */
	struct json *about; /* further members of the receipt: texts and integers */
	/* filled by begin */
	bool is_person; /* who acts is a person, outside of everything that is governed */
	const char *receipt_id; /* after begin when a file is changed, otherwise after end */
	int64_t receipt_clock; /* of that receipt: where it is found in a long chain */
	struct kernel *k;
	struct request *request;
	struct handling *handling;
	struct json *digests; /* of the rows */
};
/* OK: it may be done.  E_DENIED, E_ESCALATE with the reason when it may not; that is on record. */
int memory_act_begin(struct kernel *k, struct arena *a, struct memory_act *act, struct err *e);
/* On disk with the receipt that follows, or when memory_act_end() returns. */
int memory_act_row(
	struct arena *a, struct memory_act *act, const char *file, const struct json *row, struct err *e);
/* `rc` is how it went, and comes back when it was an error. */
int memory_act_end(struct arena *a, struct memory_act *act, int rc, struct err *e);

/* Work that was done in a conversation: three rows, the last one with its plan. */
struct chat {
	const char *task_name; /* must be there */
	const char *task_id, *profile, *status, *skill, *runtime_target, *runtime_note,
		*command_preview; /* or NULL */
	const char *const *paths;
	size_t path_count;
};
/* *ret is the last row.  E_USAGE MEMORY_CHAT. */
int memory_capture_chat(
	struct kernel *k, struct arena *a, const struct chat *c, struct json **ret, struct err *e);

/* A typed operation; `o` has operation, subject, scope, reason, evidence, task_id, affected_entities, supersedes.  `layer` (or NULL) is what a
 * write or promotion of a task covers.  *ret is the row. */
int memory_operation(struct kernel *k, struct arena *a, struct json *o, const char *layer, struct json **ret,
	struct err *e);

/* What a task has taught, kept for good.  E_MISSING MEMORY_CRYSTAL when it has nothing to keep, E_INPUT when it was kept before and not
 * `again`. */
int memory_crystallize(
	struct kernel *k, struct arena *a, const char *task_id, bool again, struct json **ret, struct err *e);

/* A layer of a task's plan was written: what proves it is kept in a new row.  `proofs` are paths, or ids of the ontology. */
struct finalizing {
	const char *task_id, *layer;
	const char *const *proofs;
	size_t count;
};
int memory_finalize(
	struct kernel *k, struct arena *a, const struct finalizing *f, struct json **ret, struct err *e);

/* The quality label of a task moves.  Promoting and deprecating take a person. */
int memory_relabel(struct kernel *k, struct arena *a, const char *task_id, struct label_move *move,
	struct json **ret, struct err *e);

/* ---- memory_write.c: lines of memory, through the gate ---- */

struct memory_writing {
	const char *layer; /* daily_memory, long_term_memory, notes, ontology */
	const char *file; /* of notes: below notes/ or memory/; otherwise NULL */
	struct bytes text; /* one entry; of the ontology: one row */
	const char *from; /* tool_output or fetched: where it comes from; NULL: from who writes */
	const char *task_id, *valid_from, *valid_until; /* or NULL */
	const char *const *sources, *const *supersedes;
	size_t source_count, supersedes_count;
};
/* {status written|waiting|nothing, entry, receipt_id, file, trust, lines[], left_out[], redacted, conflicts, kept}.  What comes from untrusted
 * sources, and what would replace something more trusted, waits for a person. */
int memory_write(
	struct kernel *k, struct arena *a, const struct memory_writing *w, struct json **ret, struct err *e);
/* A person's word about what waits.  E_DENIED when it is nobody who may say it. */
int memory_accept(struct kernel *k, struct arena *a, const char *id, struct json **ret, struct err *e);
/* The same for lines of a file that are not on record: those of each run become an entry with the trust of that run, and all others one that the person
 * stands for.  {status, file, entries [{entry, trust, receipt_id, lines[]}], left_out[]} */
int memory_accept_file(struct kernel *k, struct arena *a, const char *file, struct json **ret, struct err *e);
int memory_reject(struct kernel *k, struct arena *a, const char *id, const char *reason, struct json **ret,
	struct err *e);
/* Take an entry back: its lines leave the file, and what it had superseded holds again.  Lines that somebody changed stay, unless `always`. */
int memory_revert(struct kernel *k, struct arena *a, const char *id, const char *reason, bool always,
	struct json **ret, struct err *e);
/* A whole new text of a file that was `base` when it was read: merged with what the file is now. */
int memory_merge_in(struct kernel *k, struct arena *a, const char *file, struct bytes base, struct bytes text,
	struct json **ret, struct err *e);

/* ---- memory_page.c: what a new session starts with ---- */

/* context_pack(), with the chain to say what is on record.  So much of it is read for what is not among the newest receipts. */
enum { MEMORY_PAGE_BYTES = 256 << 20 };
int memory_page(struct sys *s, struct arena *a, const struct workspace *ws, struct context_packing *p,
	struct json **ret, struct json *warnings, struct err *e);

/* ---- memory_note.c: notes and summaries ---- */

struct note_change {
	const char *file; /* below notes/ or memory/ */
	const char *to, *incident; /* a state; or NULL */
	const char *draft; /* an agent's text of it; or NULL */
};
/* {file, state, retention, receipt_id, draft body|agent_redraft}.  A body that a person edited is never written over. */
int memory_note(
	struct kernel *k, struct arena *a, const struct note_change *c, struct json **ret, struct err *e);
/* The row of MEMORY_TREE_ROWS, with the receipt. */
int memory_tree_refresh(
	struct kernel *k, struct arena *a, struct tree_refresh *r, struct json **ret, struct err *e);

#endif
