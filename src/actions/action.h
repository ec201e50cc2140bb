/* action.h — one thing an agent asked to do: what it was, in a sentence, and its state.
 *
 * Every view shows an action by this struct: its state comes from action_state_of(), the words for it from action_state_text(), its document
 * from action_json().  Rows are made from the record by action_index.h. */
#ifndef ACTIONS_ACTION_H
#define ACTIONS_ACTION_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum action_state {
	ACTION_WAITING, /* for a person's answer */
	ACTION_APPROVED, /* by a person; the same call made again is an action of its own */
	ACTION_REFUSED, /* by a person */
	ACTION_EXPIRED, /* nobody answered in time */
	ACTION_DENIED, /* by a rule */
	ACTION_ALLOWED, /* it was let through; whether it ran is not on record */
	ACTION_RUNNING,
	ACTION_DONE,
	ACTION_FAILED,
	ACTION_UNDONE, /* its checkpoint was restored since */
	ACTION_RECORDED, /* no action of an agent: what a person, or Helm itself, put on record */
	ACTION_STATES
};
/* What a person said. */
enum action_answer { NOT_ANSWERED, ANSWERED_YES, ANSWERED_NO };

/* Texts that are not known are NULL. */
struct action {
	const char *id; /* of the decision; "call-PLACE" for a call that only read */
	int64_t at_us;
	const char *sentence; /* what was asked, on one line */
	const char *kind; /* "decision", "call", or the type of a receipt that is no decision */
	const char *door, *who, *client, *session, *task_id, *tool;
	const char *verdict, *reason, *rule;
	/* What became of it, as the record says. */
	const char *status; /* of its outcome: COMPLETED, FAILED, TIMEOUT, ... */
	bool has_exit_code, is_running, was_left; /* was_left: helm ended before the run did */
	int64_t exit_code;
	int64_t changed, deleted; /* files; -1: not known */
	const char *checkpoint_id;
	int64_t undone_us; /* 0: it was not undone */
	const char *approval_id, *answered_by;
	enum action_answer answer;
	bool is_waiting; /* its question is open at this moment */
	const char *again_id; /* the same call, made again with the approval */
	int64_t clock, outcome_clock; /* of its receipts; 0: none */
	bool is_self_test;
	/* Where its row stands: in the list, and of a call in the ledger of calls (-1: nowhere). */
	int64_t n, place;
};

/* The only place where a state is decided. */
enum action_state action_state_of(const struct action *x);
/* "waiting", "approved", ...: for programs. */
const char *action_state_name(enum action_state state);
/* The same for people: "failed, exit 1", "approved by NAME", "waiting for an answer". */
const char *action_state_text(struct arena *a, const struct action *x);

/* "hook", "run", "http", "mcp", "proxy"; or "helm" for what came by none of them. */
const char *action_entry_point(const char *door);
/* What was asked, on one line: the command line of a shell, "write PATH", "fetch URL", "TOOL of SERVER: ARGUMENTS", "TOOL ARGUMENTS by HTTP".
 * `text` is what the ledger has of the arguments, or NULL.  `shown` is the redacted form that is kept beside the record {tool, text}, or NULL. */
const char *action_sentence(
	struct arena *a, const char *tool, const char *door, const char *text, const struct json *shown);

/* schemas/action.schema.json. */
struct json *action_json(struct arena *a, const struct action *x);

#endif
