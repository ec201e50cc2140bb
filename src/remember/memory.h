/* memory.h — 5: what the next run should know, and where each piece of it comes from.
 *
 * Work ends with a plan (plan.c): what of it is worth remembering, and in which layer.  A plan is a member of the task's last row and writes
 * nothing.  Notes, MEMORY.md and the ontology are text that belongs to people; what is written there for them has an entry in
 * .helm/memory-entries.jsonl that says who wrote it, from what, and since when it holds (entry.c).  docs/formats/memory.md has the
 * files.  Nothing here decides or signs: kernel/memory.h does, and puts what is made here on record. */
#ifndef REMEMBER_MEMORY_H
#define REMEMBER_MEMORY_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

#include <stdbool.h>

#define MEMORY_OPERATIONS "memory-operations.jsonl"
#define MEMORY_CRYSTALS "crystallized-sessions.jsonl"

/* A workspace as memory sees it. */
struct memory_place {
	struct sys *sys;
	int root_fd, state_fd;
	const char *state_dir; /* absolute */
};

/* ---- plain.c ---- */

/* Does the word stand in the text as a word: no letter or digit beside it?  Both in lower case; several words are one word here.  A word with
 * letters outside of ASCII counts anywhere: many scripts have no blanks. */
bool memory_has_word(const char *text, const char *word);

/* Characters that take no place: nobody writes them into a note, but who wants its words not to be found. */
bool memory_has_unseen(const char *text);

/* A time in any form that stands in a workspace: also without a zone (UTC then), with a blank for the T, and a bare date. */
bool memory_time(const char *text, int64_t *ret_us);

/* ---- plan.c: what is worth remembering of a task ---- */

/* The last tasks before this one, each by its newest row that is completed, handoff_required or failed; newest first.  `row` is the
 * task itself.  In a hurry, as at the end of every run, only the end of the ledger is looked at, and of that only rows that name the same
 * task or skill are read. */
enum { MEMORY_EARLIER = 80, MEMORY_HURRY_BYTES = 256 << 10, MEMORY_HURRY_ROWS = 8 };
int memory_earlier(struct memory_place *m, struct arena *a, const struct json *row, bool is_hurried,
	struct json **ret, struct err *e);
/* The plan of docs/formats/memory.md for a last row: its touched_paths and the words in it are all that counts. */
struct json *memory_plan(struct arena *a, const struct json *row, const struct json *earlier, int64_t now_us);

/* ---- label.c: how far a remembered thing can be relied upon ---- */

/* Of a new plan. */
struct json *memory_label(struct arena *a, const struct json *row, const struct json *plan, int64_t now_us);
/* As it is today: what nobody has confirmed for long is stale.  Never NULL; NULL stays NULL. */
struct json *memory_label_today(struct arena *a, const struct json *label, int64_t now_us);
struct label_move {
	const char *to; /* candidate, promoted, stale, deprecated */
	const char *evidence, *reason; /* or NULL */
	bool is_approved; /* by a person */
};
/* A copy of the label, moved.  E_USAGE MEMORY_LABEL when that move does not exist, or lacks what it needs. */
int memory_label_move(struct arena *a, const struct json *label, const struct label_move *move,
	int64_t now_us, struct json **ret, struct err *e);

/* ---- queue.c: what is open ---- */

/* All of these look at the newest row of each task, through the index (record.h).  `note`, when there is one, says why they are not about
 * everything. */

/* {pending_only, count, items[]}: the last `limit` (0: all) tasks, the last one last. */
int memory_recent_state(struct memory_place *m, struct arena *a, bool pending_only, size_t limit,
	struct json **ret, struct err *e);
/* {count, items[], waiting[]}: tasks, the newest first, at most `limit` (0: all); and entries that wait for a person. */
int memory_review_queue(
	struct memory_place *m, struct arena *a, size_t limit, struct json **ret, struct err *e);
/* {ok, issue_count, issues[]} */
int memory_audit(struct memory_place *m, struct arena *a, struct json **ret, struct err *e);
/* {count, items[]}: the last `limit` (0: all) operations in their order. */
int memory_history(struct memory_place *m, struct arena *a, size_t limit, struct json **ret, struct err *e);
/* The newest row of this task; E_MISSING MEMORY_TASK. */
int memory_task(
	struct memory_place *m, struct arena *a, const char *task_id, struct json **ret, struct err *e);
/* Is there a crystallized record of the task already? */
int memory_is_crystallized(
	struct memory_place *m, struct arena *a, const char *task_id, bool *ret, struct err *e);

/* ---- entry.c: what was written down, by whom, from what ---- */

#define MEMORY_ENTRIES \
	"memory-entries.jsonl" /* events: write, queue, accept, reject, supersede, revert, merge */

/* Who wrote it, or where it comes from, from the least to the most trusted.  What is made of several has the least. */
#define MEMORY_TRUSTS(X) \
	X(FETCHED, "fetched") /* from outside of this machine */ \
	X(TOOL, "tool_output") /* a program printed it, or a file had it */ \
	X(AGENT, "agent") \
	X(PERSON, "person")
enum memory_trust {
#define MEMORY_TRUST_ENUM(id, name) TRUST_##id,
	MEMORY_TRUSTS(MEMORY_TRUST_ENUM)
#undef MEMORY_TRUST_ENUM
		TRUST_COUNT
};
const char *memory_trust_name(enum memory_trust t);
bool memory_trust_parse(const char *name, enum memory_trust *ret);

enum { MEMORY_ID = 24 }; /* mem- and 20 digits */
/* The entry that a line of a file names, at its end: "<!-- mem-... -->".  False: none.  *ret_text is the line without it. */
bool memory_line_entry(struct bytes line, char ret_id[MEMORY_ID + 1], struct bytes *ret_text);

/* All entries as they stand now: {id: {the event that made it, state current|waiting|rejected|superseded|reverted, valid_until, ...}}, by id,
 * which is by time.  *ret_damaged: lines of the ledger that are no rows. */
int memory_entries(
	struct memory_place *m, struct arena *a, struct json **ret, size_t *ret_damaged, struct err *e);
/* The same, each with the digests that receipts of it have: event_sha256; of what a person let in accept_id, accept_sha256, accept_clock and, where it
 * says so, accepts_sha256. */
int memory_entries_bound(struct memory_place *m, struct arena *a, struct json **ret, struct err *e);
/* One of them; or NULL. */
struct json *memory_entry(const struct json *entries, const char *id);
/* Did another entry than this one, that was not taken back, take its place, too? */
bool memory_entry_is_replaced(const struct json *entry, const char *but_by);
/* Does it hold now: current, and inside of its window? */
bool memory_entry_holds(const struct json *entry, int64_t now_us);

/* A source as it was named: receipt:ID, task:ID, memory:ID, file:PATH, url:ADDRESS, or an address.  {kind, id, trust}; E_USAGE MEMORY_SOURCE,
 * E_MISSING when the record does not have it. */
int memory_source(struct memory_place *m, struct arena *a, const struct json *entries, const char *named,
	struct json **ret, struct err *e);
/* What came out of a run: it was fetched, unless the network was closed to it. */
enum memory_trust memory_trust_of_task(const struct json *row);
/* Does the receipt permit what it is about?  One that refuses names the same digest. */
bool memory_receipt_permits(const struct json *receipt);
/* What an event is bound by: the digest of it without the members receipt_id and receipt_clock. */
char *memory_event_sha256(struct arena *a, const struct json *event);

/* ---- gate.c: what is not worth a line ---- */

enum gate_answer { GATE_NEW, GATE_JUNK, GATE_DUPLICATE, GATE_RECALLED, GATE_ANSWERS };
const char *gate_answer_name(enum gate_answer g); /* "new", "junk", ... */
struct gated {
	enum gate_answer is;
	const char *text; /* without secrets, control characters and marks of entries */
	const char *why; /* a sentence; NULL when it is new */
	const char *known_at; /* "MEMORY.md:12"; or NULL */
	bool is_redacted;
};
/* What memory says already: MEMORY.md, memory/ and notes/, as far as it is read. */
struct memory_known;
int memory_known_load(struct memory_place *m, struct arena *a, struct memory_known **ret, struct err *e);
/* One line that is to be written to `file`.  What it says is known from then on. */
void memory_gate(
	struct memory_known *k, struct arena *a, const char *file, struct bytes line, struct gated *ret);

/* Would redaction change it? */
bool memory_has_secret(struct arena *a, const char *text);

/* ---- merge.c, change.c, lines.c: files that others write, too ---- */

/* Both changes of one text, line by line.  Where both changed the same lines, `theirs` stays and what `ours` had there is in
 * *ret_conflicts: [{line, ours[], theirs[]}].  Lines that both added in one place are kept, theirs first. */
void memory_merge(struct arena *a, struct bytes base, struct bytes ours, struct bytes theirs, struct buf *ret,
	struct json **ret_conflicts);

/* What became of a shipped text, as `diff -u` prints it. */
void memory_difference(
	struct arena *a, const char *name, struct bytes from, struct bytes to, struct buf *ret);

/* Change a file of the workspace under the lock of memory.  `edit` makes the new text from the one that is there; what somebody else has
 * saved meanwhile is merged.  *ret_conflicts is NULL or what was left out; then it is kept in FILE.conflict-TIME.md, named in *ret_kept. */
typedef int memory_edit(void *arg, struct arena *a, struct bytes text, struct buf *ret, struct err *e);
int memory_change_file(struct memory_place *m, struct arena *a, const char *file, memory_edit *edit,
	void *arg, struct json **ret_conflicts, const char **ret_kept, struct err *e);
/* What was left out of a file, in FILE.conflict-TIME.md beside it. */
int memory_keep_conflicts(struct memory_place *m, struct arena *a, const char *file,
	const struct json *conflicts, const char **ret_kept, struct err *e);
/* Can this file be changed: no link on the way, and a plain file, if there is one?  E_IO MEMORY_PLACE. */
int memory_check_place(struct memory_place *m, struct arena *a, const char *file, struct err *e);
/* One row at the end of a file of rows, whole or not at all. */
int memory_append_row(
	struct memory_place *m, struct arena *a, const char *file, struct bytes row, struct err *e);
#define MEMORY_LOCK "memory.lock"
enum { MEMORY_LOCK_MS = 30000, MEMORY_FILE_BYTES = 16 << 20 };

/* The texts of edits (memory_edit): lines with the mark of their entry at the end; lines of an entry out, or struck; and what struck them
 * taken back.  Only lines that are as they were written, unless `always`. */
struct memory_lines {
	const char *id;
	const struct json *lines; /* of the entry */
	const struct json *entries; /* all, for memory_edit_name */
	const char *heading; /* of a file that is new; or NULL */
	bool always;
	size_t done, left; /* out: so many lines were changed, so many are not as they were written */
};
memory_edit memory_edit_add, memory_edit_strike, memory_edit_unstrike, memory_edit_remove;
memory_edit memory_edit_name; /* lines that stand there get the mark, in place of another one */

/* ---- outside.c: lines that did not come through the gate ---- */

bool memory_is_file(const char *path); /* MEMORY.md, a note, a file of the ontology */
/* Lines of a file that say something: no headings, fences, front matter, nor what every new MEMORY.md has. */
struct memory_line {
	int64_t number;
	struct bytes text; /* without its mark */
	char id[MEMORY_ID + 1];
	bool is_named; /* by a mark */
	const struct json *entry; /* that it names; or NULL */
	bool is_on_record; /* it names an entry and says what that says */
};
typedef int memory_line_visit(void *arg, const struct memory_line *line); /* 0 goes on */
int memory_lines_each(struct memory_place *m, struct arena *a, const struct json *entries, const char *file,
	memory_line_visit *fn, void *arg, struct err *e);

/* MEMORY.md, today's note and the ontology as they are now; and what has come into them since, or stands in others that were touched, beside the
 * record: [{file, lines, sha256_64[], may_be_older}].  NULL: nothing. */
struct memory_seen;
struct memory_seen *memory_look(struct memory_place *m, struct arena *a);
struct json *memory_outside(
	struct memory_place *m, struct arena *a, struct memory_seen *before, const struct json *touched);
uint64_t memory_line_digest(struct bytes line);

/* Rows of runs and calls that say of themselves that they wrote such lines. */
struct memory_runs;
struct memory_runs *memory_runs_load(struct memory_place *m, struct arena *a);
const struct json *memory_run_of(const struct memory_runs *r, const char *file, struct bytes line);
/* [{file, lines, runs[], unread}]: what is not on record now, in MEMORY.md, the newest daily notes, the ontology, and notes that runs are known to have
 * written. */
int memory_outside_now(struct memory_place *m, struct arena *a, struct json **ret, struct err *e);

/* ---- trace.c: from a line to its receipt ---- */

/* {file, lines [{line, text, entry, writer, trust, timestamp, task_id, receipt_id, state}]} */
int memory_blame(struct memory_place *m, struct arena *a, const char *file, struct json **ret, struct err *e);
/* {ok, entries, findings [{kind, severity error|info, entry, file, line, detail}]}: entries against the chain, the files and their
 * sources. */
int memory_verify(struct memory_place *m, struct arena *a, struct json **ret, struct err *e);

/* ---- note.c: notes that go from captured to promoted ---- */

/* What is wrong with the front matter of such a note, in sentences; empty when nothing is. */
struct json *memory_note_problems(struct arena *a, const struct json *fields);
struct note_move {
	const char *to;
	bool is_person; /* a person moves it */
	const char *incident; /* why a promoted one goes back; or NULL */
};
/* NULL: it may go there; otherwise why not. */
const char *memory_note_refuses(const struct json *fields, const struct note_move *move);
const char *memory_note_retention(const char *state); /* raw_capture, durable */
/* A body that is not what an agent wrote last is a person's. */
bool memory_note_is_edited(struct arena *a, const struct json *fields, struct bytes body);
#define NOTE_BODY_DIGEST "agent_body_sha256"

/* {ok, state, reason, phrase}: does the text claim more than a note in this state holds?  E_USAGE MEMORY_STATE. */
int memory_lint(struct arena *a, const char *state, struct bytes text, struct json **ret, struct err *e);
/* {vault_root, missing[], extra[]} */
int memory_vault(struct sys *s, struct arena *a, const char *dir, struct json **ret, struct err *e);

/* ---- tree.c: summaries in three layers ---- */

#define MEMORY_TREE "memory/tree"
#define MEMORY_TREE_ROWS "memory-tree.jsonl"
/* {root, sources[], topics[], global_summary_present} */
int memory_tree_status(
	struct sys *s, struct arena *a, int dirfd, const char *root, struct json **ret, struct err *e);
struct tree_refresh {
	const char *layer, *id; /* source, topic; or global and NULL */
	const char *trigger, *reason;
	const char *text; /* NULL: only the times */
	const char *const *linked; /* of a topic: ids of sources */
	size_t linked_count;
	int64_t budget; /* of the global summary, in tokens */
	int64_t now_us;
	bool always; /* also over what a person edited */
};
/* E_USAGE MEMORY_TREE when the trigger does not refresh that layer, or the id is none; *ret_file is below the workspace. */
int memory_tree_file(struct arena *a, const struct tree_refresh *r, const char **ret_file, struct err *e);
/* The new text of that file.  E_INPUT MEMORY_EDITED when a person edited it and it is not `always`. */
int memory_tree_text(struct memory_place *m, struct arena *a, const struct tree_refresh *r, const char *file,
	struct bytes was, struct buf *ret, struct err *e);

#endif
