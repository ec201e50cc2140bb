/* context.h — what is known about something: notes, memory, ontology, tasks, commands and checkpoints of this workspace and of the
 * sources that were adopted, searched and ranked (docs/formats/context.md).
 *
 * Reads only.  An index makes it quick (context_index.c); without it the same answers come slower.  What redaction would hide is not found and not
 * shown.  What cannot be read is named in `warnings`, so that an empty answer means that nothing is there. */
#ifndef REMEMBER_CONTEXT_H
#define REMEMBER_CONTEXT_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#include <stdbool.h>

enum area { AREA_NOTES, AREA_MEMORY, AREA_ONTOLOGY, AREA_TASKS, AREA_COMMANDS, AREA_CHECKPOINTS, AREA_COUNT };
#define AREA_CHOICES "notes|memory|ontology|tasks|commands|checkpoints"
extern const char *const area_names[];

/* A workspace, as this room sees it. */
struct context_place {
	struct sys *sys;
	struct arena *a;
	const char *root, *state_dir; /* absolute */
	const char *kind; /* "helm", ... */
	const char *state_name; /* ".helm" */
	const char *helm_home; /* never looked into; or NULL */
	int root_fd, state_fd; /* state_fd may be -1 */
	const struct json *adopted; /* records that a person adopted here, from the helm home; or NULL */
	bool is_own; /* nobody else can have brought the registry: each of its records counts */
};

struct context_query {
	const char *text; /* NULL: no filter by words */
	const char *mode; /* or NULL */
	unsigned areas; /* bit per area; 0: those of the mode, or all */
	const char *adapter, *skill, *task_id, *entity, *since, *until; /* or NULL */
	int64_t limit, offset; /* limit 0: 20 */
	int depth; /* of the graph around an entity; 0: 1 */
	bool failed_only, latest_tasks, ascending;
	bool explains; /* metadata.ranking in each result */
	bool is_classic; /* the ranking of the Python Helm */
	bool has_no_index, is_fresh; /* look at every file; look whether any file changed */
	const char *why_not; /* what became of this item; or NULL */
};

struct context_answer {
	struct json *results; /* of this page */
	int64_t total; /* of all pages */
	struct json *summary; /* {total, by_adapter, by_source, by_kind, match} */
	struct json *warnings; /* sentences */
	struct json *why_not; /* {item, found, reason, ...}; or NULL */
	const char *
		note; /* how it was found when not as asked: by some of the words, by a slip of the pen; or NULL */
};

/* E_USAGE CONTEXT_MODE, CONTEXT_TIME, CONTEXT_ENTITY; E_MISSING CONTEXT_ADAPTER. */
int context_ask(const struct context_place *at, const struct context_query *q, struct context_answer *ret,
	struct err *e);
/* {mode: {query, include, description}}: ours, and those of references/context_modes.json. */
struct json *context_modes(const struct context_place *at, struct json *warnings);

/* The newest card of a task (docs/formats/ledgers.md): {workspace, task, snapshot, snapshot_path, content}; task_id NULL: of the newest task that
 * has one.  E_MISSING CONTEXT_SNAPSHOT. */
int context_snapshot(const struct context_place *at, const char *task_id, struct json **ret, struct err *e);

/* Who knows which receipt stands for something: its id, as people see it; NULL when none of this user's does. */
struct page_record {
	const char *(*of_row)(void *arg, struct arena *a, const struct json *row); /* of the task ledger */
	const char *(*of_event)(void *arg, struct arena *a, const char *id, const char *sha256,
		int64_t clock); /* of memory; clock 0: not known */
	void *arg;
};
/* What a new session should know, as lines that each name their source: {task, budget_tokens, used_tokens, lines: [{section, text, source, at}],
 * left_out, addressed_to_agents, not_on_record, without_receipt, text}.  `text` is all of it, at most about budget_tokens long, and says of itself that it is
 * data.  What no receipt stands for is left out and counted: kernel/memory.h has the one that asks the chain. */
struct context_packing {
	const char *task; /* what the session is about; or NULL */
	int64_t budget_tokens; /* 0: 1500 */
	const struct page_record *record; /* NULL: nobody knows, so nothing is told */
};
int context_pack(const struct context_place *at, const struct context_packing *p, struct json **ret,
	struct json *warnings, struct err *e);

#endif
