/* parts.h — inside task/: one guarded run, from the queued row to the final one. */
#ifndef KERNEL_TASK_PARTS_H
#define KERNEL_TASK_PARTS_H

#include "base/hash.h"
#include "kernel/skill.h"
#include "kernel/task/task.h"
#include "kernel/task/tmp.h"

#include <sys/stat.h>

/* Resume cards there are, oldest first. */
struct task_cards {
	char **names;
	size_t n;
	const char *newest; /* absolute; NULL when there is none */
};

/* The program of a run, found once, and the scripts that were judged for it. */
struct task_program {
	struct sys *sys;
	const char *path; /* NULL: there is none */
	struct stat st;
	const char *sha256; /* or NULL */
	const struct judged_file *files;
	size_t file_count;
	const struct held_place *place; /* where it was permitted; or NULL */
};

/* What went through the door, for the receipt. */
struct egress_sums {
	int64_t admitted, refused, bytes_out, bytes_in;
	struct sha256 rows; /* over the digests of the rows, in their order */
	struct json *unbound; /* digests of rows that neither the receipt nor a note has; or NULL */
	int64_t admitted_told, refused_told; /* in rows of calls, before the one that runs */
	const char *refused_first; /* the rule that would admit the first one that was refused; or NULL */
	const char *lost; /* why a row could not be written; or NULL */
};

/* Something that is closed to the run by its profile and that a yes opens for it (opening.c). */
enum opens { OPENS_NOTHING, OPENS_READ, OPENS_WRITE, OPENS_HOST, OPENS_NEVER };
struct opening {
	enum opens what;
	const char *target; /* a path without links, or a rule of model/egress.h */
	const char *why, *instead; /* OPENS_NEVER */
	int fd; /* held while the run lasts; -1: not yet, or it is a host */
	struct stat st;
	bool is_network; /* OPENS_NEVER: of a host */
	bool is_made; /* an empty file, which did not exist before */
};

/* One run: what is known so far, filled from top to bottom by the steps of run.c. */
struct task {
	struct kernel *k;
	struct arena *a;
	const struct run_spec *spec;
	struct run_report *report;
	/* before it is judged */
	const struct profile *profile;
	const struct json *review,
		*plan; /* of its plan, and the plan when it was approved (plan.c); or NULL */
	bool is_plan_wide; /* its walls leave more open than its scope */
	struct skill_use skill; /* whose contract narrowed the profile; name NULL: none */
	int64_t timeout_s; /* 0: none */
	const char *id;
	struct surroundings at;
	struct json *row; /* grows from stage to stage; each append writes all of it */
	struct json *digests; /* of the rows written so far */
	struct open_run open; /* locked while it lasts */
	bool is_ended; /* the last row is written */
	struct json *browser; /* what was said about a session of a browser; or NULL */
	bool is_browser_held; /* and it counts */
	/* what is asked */
	struct task_program program;
	struct request request;
	/* once it is allowed */
	struct opening *openings; /* that a yes opens for it */
	size_t opening_count;
	struct json *expected; /* changes that the effects name */
	struct task_tmp tmp;
	struct task_cards cards;
	struct armed_file *armed; /* files that start programs later, as they were; or NULL */
	struct git_private *git; /* git's configuration, written by the run in copies; or NULL */
	struct nested *nested; /* the same deeper in the tree; or NULL */
	struct known_mode *modes; /* of directories on the way to them, as they were (rights.c); or NULL */
	struct journal *journal; /* on disk what was there (autorun_journal.c); or NULL */
	bool is_begun, is_checked; /* its command may have run; and what it left was looked at */
	struct prompt *prompt; /* or NULL */
	struct watch *watch; /* of a session: hears what changes in the tree; or NULL */
	bool is_prompt; /* a look while it goes on (prompt.c) */
	bool is_noting; /* the look before the run is under way */
	bool is_left; /* something could not be looked at, or not be taken away: it counts as active */
	bool lasts; /* a session: what is looked at once holds for all of its calls */
	struct nested *nested_next; /* what the walk behind it sees goes here; or NULL */
	const struct json *hooks; /* directories of the tree that git runs hooks from; or NULL */
	const char *linked_own; /* what a repository elsewhere keeps of the work tree (linked.h); or NULL */
	struct egress_door *door; /* NULL: there is none */
	int door_fd; /* what it says comes here; -1: nothing more */
	struct egress_sums egress;
	const char *tmpdir, *tmp_from; /* as the run sees it, and as it is outside; or NULL */
	const char *own_home; /* without mounts: the run's HOME, with links to what it may read; or NULL */
	const char *commands; /* a directory of its client's commands, as calls see it; or NULL */
	struct sandbox_rules rules;
	struct run_request run;
	struct running *running; /* its walls stand, or go up; NULL: not yet, or no more */
	struct json *earlier; /* tasks before it, read while it ran; or NULL */
	struct stat earlier_at; /* of the ledger when they were */
	const struct run_result *so_far; /* of a session that runs: when it began, and which walls stand */
	/* how it came out */
	const struct run_result *result; /* NULL: nothing was executed */
	struct before *before; /* files of the tree before it; NULL: it cannot write them */
	bool is_cut; /* task_touched() has not seen, or not kept, all that is another than before */
	struct memory_seen *memory; /* files of memory before it; NULL: it cannot write them */
	struct json *left_behind; /* what would start programs later, and what was done about it; or NULL */
	struct json *happened; /* for the outcome receipt */
	const char *outcome; /* the same in one word */
	const char *answer; /* what its exit code says, which is no failure; or NULL */
	bool is_unverified; /* it ended with 0, and that is not enough */
	struct json *gathered; /* what was run afterwards to show that it did its work; or NULL */
};

/* ---- rows.c ---- */

/* The members that every row of the task has. */
void task_begin_row(struct task *t);
int task_put_row(struct task *t, const char *status, struct err *e);
/* A row that ends the task.  stage and reason of a failure; or NULL. */
int task_put_last(struct task *t, const char *status, const char *stage, const char *reason, struct err *e);
/* Into the row that ends it, whose paths are known.  What it is compared with may have been read while the command ran. */
void task_read_earlier(struct task *t);
void task_put_plan(struct task *t, const char *status);
int task_put_command_log(struct task *t, struct err *e);
/* What it may write of memory, before it begins; and what it wrote there around the gate, into `to` and a hint. */
void task_look_at_memory(struct task *t);
void task_tell_memory(struct task *t, const struct json *touched, struct json *to);
/* The last row of something that was executed; t->outcome is known then. */
int task_put_final(struct task *t, struct err *e);
/* The same for the receipt: t->happened. */
void task_tell_end(struct task *t);
/* An argv as a person would type it. */
char *task_preview(struct arena *a, const char *const *argv, size_t argc);

/* One more line for the person. */
void task_hint(struct task *t, const char *more);

/* A row of the task in this state, which is not its state: it goes on as it was. */
int task_put_aside(struct task *t, const char *status, struct err *e);

/* ---- browser.c ---- */

#define BROWSER_OWES "browser_cleanup_required"
/* Before the first row: what is to be said about the session goes into t->browser and the row; and is noted when it does not count. */
int task_browser_look(struct task *t, struct err *e);
/* Into the request: what it blocks or asks, where it counts. */
void task_browser_hold(struct task *t);
/* The state of a run that was stopped for it, with its exit code; NULL: something else stopped it. */
const char *task_browser_stopped(struct task *t);
/* It was asked about, and may be done. */
int task_browser_allowed(struct task *t, struct err *e);
/* It ended well, and nobody has said that its session is closed. */
bool task_browser_owes(struct task *t);
int task_browser_exit(const struct task *t, int exit_code);

/* ---- failure.c ---- */

/* "error_class" and friends for a row that failed; NULL when it did not. */
struct json *task_failure_signature(
	struct arena *a, const struct workspace *ws, const struct json *row, const struct run_result *result);
/* What follows from it and from those before: into the row, and a line for the person. */
void task_failure_follow(struct task *t, const struct json *signature);
/* Did this very command fail in the same way twice, and does a person want to be asked then? */
bool task_failure_repeats(struct task *t);
/* Which walls really stood, wall by wall, as "protections". */
void task_protections(
	struct arena *a, struct json *to, const struct sandbox_rules *rules, const struct sandbox_report *r);
/* Walk over task_tree(): what is another than before, and armed_look() for each entry. */
struct json *task_touched(struct task *t);

/* ---- claims.c ---- */

/* Evidence of the run, what is claimed by it, and whether that holds, into the row. */
void task_put_claims(struct task *t, const char *status);
/* Evidence and claims of somebody who says that it is done, held against the record; into the row.  E_USAGE TASK_EVIDENCE, TASK_CLAIM. */
int task_complete_check(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct task_change *c, struct json *row, struct err *e);

/* ---- plan.c: what work is to do, agreed upon before it starts (docs/formats/completion.md) ---- */

#define PLAN_RULE "plan.blocked"
/* Reads the plan that was given and reviews it; one that is approved narrows the profile to its scope.  Without one: whether one is asked for.
 * Into the row; a plan that does not pass is held by task_plan_hold(). */
int task_plan_look(struct task *t, struct err *e);
/* The review of the plan of a run under this profile, by this id. */
struct json *task_plan_review(struct kernel *k, struct arena *a, const struct run_spec *spec,
	const struct profile *profile, const char *id);
bool task_plan_is_switched_on(struct kernel *k); /* plans are asked for here */
void task_plan_hold(struct task *t);
/* {ok, scope[], violations[], reason?} of paths that were touched; NULL: there is no plan. */
struct json *task_plan_scope(struct task *t, const struct json *touched);

/* ---- bundle.c: what is there for whoever goes on with it ---- */

#define TASK_BUNDLES "task-bundles"
/* A document of the task in its bundle; returns its digest, which belongs into the row. */
const char *task_keep(struct task *t, const char *name, const struct json *doc);
/* The bundle as the row says now; the row names it: "state_bundle", or "state_bundle_error".  tree: where its touched paths are; NULL: what the bundle
 * has of them stays.  plan: or NULL. */
void task_bundle(struct sys *s, struct arena *a, const struct workspace *ws, const char *tree,
	const struct json *plan, struct json *row);
/* What to do next, by how it ended. */
const char *task_next_step(const char *status);

/* ---- evidence.c: what shows afterwards that it did its work ---- */

/* Runs the evidence commands, each as a task below this one, into t->gathered.  False: one was refused or failed. */
bool task_gather(struct task *t);
bool task_is_to_gather(const struct run_spec *spec); /* somebody asked for it */
void task_gathered_refs(const struct task *t, struct json *refs); /* what claims can rest on */
/* Of an attempt: the state it is in once the criteria of its plan are among the claims. */
const char *task_put_criteria(struct task *t, const char *status);
void task_put_gathered(struct task *t); /* into the row and the bundle; evidence_refs are there */

/* ---- governance.c (docs/formats/governance.md) ---- */

#define GOVERNANCE_RULE "governance.held"
#define GOVERNANCE_LOG "action-governance-decisions.jsonl"
/* Between deciding and recording: a row about what it does, and a stricter decision where the workspace asks for that. */
void task_govern(struct task *t);
/* Once it is on record, or cannot be: what became of it and of the question, into that row and its ledger. */
void task_governed(struct task *t, bool is_recorded);

/* ---- before.c ---- */

/* Notes what each file of the tree is, before the run. */
void before_look(struct task *t);
/* Is it another file now, or has it been written since?  Where nothing was noted: since t->result->started_us, by the clock. */
bool before_differs(const struct task *t, const char *rel, const struct stat *st);
/* Where there is a plan: a walk begins that asks before_differs() about each file, and the noted paths that it did not ask about. */
void before_walk(struct task *t);
struct json *before_gone(const struct task *t);
bool before_has_all(const struct task *t); /* nothing of the tree was left out */

/* ---- walls.c: t->rules and t->run, from the profile and what was found so far ---- */

void task_walls(struct task *t);
/* t->rules alone, once for each private directory; and what of them may have changed since: places that are hidden or read-only. */
void task_rules(struct task *t);
void task_places(struct task *t);
/* What a contained call gets of the environment `given` by the client's shell. */
const char *const *contained_environment(const struct task *t, const char *const *given);
/* The tree that is worked in: the repository, or else the workspace. */
const char *task_tree(const struct task *t);
bool task_is_beside(
	const struct task *t); /* it works in a tree beside the workspace, which is none of its business */
/* Lists of paths while they grow: NULL adds nothing; as an array that ends in NULL. */
void place_add(struct arena *a, struct json *list, const char *path);
const char *const *place_list(struct arena *a, const struct json *list);

/* ---- hidden.c ---- */

/* Places that must not be seen: Helm's own, homes, credentials.  Sets t->rules.homes and .shown where they are not set. */
const char *const *task_hidden(struct task *t);

/* ---- opening.c: what an operator's yes opens for one run ---- */

#define OPENING_RULE "sandbox.closed" /* it is not asked about, because no yes could open it */
/* Between deciding and recording: what a question would open is listed.  One about something that is never opened becomes a denial. */
void openings_foresee(struct task *t);
/* Was the command understood to need this path, and could a yes open it? */
bool openings_could(const struct task *t, const char *path);
/* Once it is settled.  E_DENIED: it is not what was judged; then nothing may run. */
int openings_open(struct task *t, struct err *e);
void openings_rule(struct task *t); /* into t->rules, at the end of task_rules() */
void openings_rule_git(struct task *t);
void openings_tell(struct task *t); /* into the row and the receipt of what ran */
void openings_close(struct task *t); /* when nothing of the run is left */

const char *task_profile_with_network(
	const struct task *t); /* the first one here whose network is open; or NULL */

/* ---- advice.c ---- */

const char *task_profile_advice(
	struct task *t); /* two lines for the operator; NULL: it was not the profile */
const char *task_other_profile(struct task *t, const char *profile); /* one line, with or without a skill */

/* ---- refusal.c ---- */

/* Would the sandbox of t->rules refuse to read, or to write, what exists at `path`, or would be made there? */
bool refusal_foreseen(const struct task *t, const char *path, bool is_write);

/* Once it has ended: did it fail at a wall?  Then the row and a hint say at which. */
void task_tell_refusal(struct task *t);

/* ---- egress.c: the door of a run whose profile names hosts ---- */

/* Before task_walls().  OK also when the profile has none. */
int task_egress_open(struct task *t, struct err *e);
void task_egress_listen(struct task *t); /* t->run hears the door */
/* The door is gone, its last rows are written, and t->happened tells what went through.  An error: a row is missing. */
int task_egress_close(struct task *t, struct err *e);
void task_egress_tell(struct task *t); /* into the hint */
/* For a session of calls: what went through since the last time, into the row of the call `of` and its hint.  What is left for the
 * end, or is too much for one row, becomes a note of its own. */
void task_egress_tell_call(struct task *t, struct task *of);

/* ---- armed.c: files that make somebody start programs later ---- */

/* Below a root: what is closed to a run where it exists, besides the settings of clients.  NULL past the end. */
const char *armed_closed_at(struct arena *a, size_t i);
void armed_note(struct task *t); /* before the run */
/* What the session that this leaves has armed since it began is held as at its end, and t->left_behind says what that is.
 * E_DENIED: there was something. */
int armed_hold(struct task *t, struct err *e);
/* Asked about each entry of the walk over task_tree(), once the run has ended. */
void armed_look(struct task *t, int parent, const char *name, const char *rel, const struct stat *st);
void armed_check(struct task *t); /* after that walk */
const char *armed_left(const struct task *t); /* t->is_left: the line for the operator */
/* For those who look elsewhere: was it changed since the run began; under what name things are held; hold it; tell of it. */
#define HELD ".held-by-helm"
bool armed_is_newer(const struct task *t, const struct stat *st);
void armed_away(struct task *t, int root_fd, const char *path, const char *why);
void armed_say_row(struct task *t, struct json *row); /* one that was told elsewhere */
void armed_say(struct task *t, const char *path, const char *what, const char *why);
bool armed_is_ci(const char *rel); /* a service runs it once it is pushed */
bool armed_is_store(const char *name); /* of a repository: nothing in this directory is started */
/* inside.c: a repository that was hidden in the one at `rel` of the tree is held. */
void armed_look_inside(struct task *t, const char *rel);
bool armed_is_repository(struct sys *s, int dir); /* by what is in it, as git sees it */

/* ---- git_private.c: git's configuration, which a run writes in copies of its own ---- */

/* Into `list` what of the repositories in reach a run only reads: hooks, and what leads to another repository. */
void git_private_places(struct task *t, const char *const *writable, struct json *list);
/* t->rules.files, from what is there now. */
void git_private_begin(struct task *t);
/* What the run has written since the last time, as far as it may stay, goes into the files outside; the rest is told in `of`. */
void git_private_merge(struct task *t, struct task *of);
void git_private_tell(struct task *t); /* of it, in hints */
bool git_private_is_undone(const struct task *t); /* what the command was to set there was dropped */
/* Before a call: what was changed outside meanwhile goes into the copies. */
void git_private_refresh(struct task *t);

/* ---- rights.c: looking with our own rights, whatever modes a run has chosen ---- */

/* A directory as it was before the run.  is_open: it was opened for a look, and is closed again by rights_put_back(). */
struct known_mode {
	const char *path; /* absolute */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	bool is_open;
	struct known_mode *next;
};
struct known_mode *mode_add(struct task *t, const char *path, const struct known_mode *what);
/* A look at a directory has found *st: before the run its mode is noted, behind it its owner's rights are given back. */
void rights_see(struct task *t, const char *root, int dir, const char *path, const struct stat *st);
/* Everything on the way to `path` below `dir`, both included, can be entered by its owner afterwards, where it is ours. */
void rights_reach(struct task *t, int dir, const char *path);
/* A directory for reading, links not followed, as s->open() has it; with its owner's rights.  -1 with errno. */
int rights_open(struct task *t, int dir, const char *path);
/* The same, and one that cannot be opened is told as what may hide anything, unless nobody of our user can write in it. */
int rights_enter(struct task *t, int parent, const char *name, const char *rel);
int rights_open_root(struct task *t, const char *root, int *ret);
void rights_cannot(
	struct task *t, const char *rel, const char *why); /* it is told as something that is left */
int rights_rename(struct task *t, int dir, const char *from, const char *to); /* the name must be free */
void rights_give_back(struct task *t); /* every noted mode of which the owner's part was taken away */
void rights_put_back(struct task *t); /* when everybody has looked */

/* ---- autorun_journal.c: the state before a run, on disk before it begins (docs/formats/autorun-journal.md) ---- */

#define JOURNAL_DIR "journal" /* below the helm home */
struct journal {
	int fd; /* locked as long as its owner lives */
	const char *path; /* absolute */
	char sha256[SHA256_HEX];
	struct json *doc;
};
/* What t has noted, written and locked; the next sync of the recorder takes it to disk.  E_IO AUTORUN_JOURNAL: nothing may begin. */
struct journal *journal_new(struct task *
		t); /* for whoever wants it to live elsewhere than in t->a; the next one makes it otherwise */
int64_t journal_pid_space(struct sys *s); /* which processes its numbers are about; 0: not known */
int journal_begin(struct task *t, const char *kind, int64_t since_us, struct err *e);
int journal_later(struct task *t, struct err *e); /* with the next sync of the recorder */
int journal_sync(struct task *t, struct err *e); /* for whoever has no recorder that does */
/* It says what could not be taken away.  One that cannot be written anew is there as it was, and is tried again all the same. */
void journal_left(struct task *t);
/* Nothing is left to clean up: it is removed.  Where t->is_left says that something is, it stays, says so, and nobody may begin there. */
void journal_end(struct task *t);
const char *journal_tree(
	struct arena *a, const struct json *doc); /* that its run worked in; NULL: it is no journal */
/* Read back: what was noted, into a task that looks behind it.  E_CORRUPT. */
int journal_read(struct task *t, const struct json *doc, struct run_result *result);

/* ---- autorun_recover.c ---- */

/* What others who live have noted for these places counts: what they did not find there is never put back by t. */
int autorun_others(struct task *t, struct err *e);

/* ---- watch.c: has anything in a tree changed since the last walk, and where? ---- */

/* Takes set-id bits from a file that this run can have made. */
void armed_strip_set_ids(
	struct task *t, int parent, const char *name, const char *rel, const struct stat *st);

/* Paths in the tree; "" is its root. */
struct watch_list {
	const char **paths;
	size_t n;
};
struct watch_news {
	struct watch_list heard; /* directories in which something happened */
	struct watch_list repositories; /* ".git", "a/.git": inside of which */
	struct watch_list grown; /* of those: in which directories were made, or moved there */
	struct watch_list fresh; /* directories that were made, or moved here, since */
};

struct watch *watch_new(struct sys *s, struct arena *a);
void watch_walk_begins(struct watch *w); /* over everything.  NULL, here and below: nobody watches */
/* A walk over what was heard since the last one, which is told.  False: there is nothing to walk, or it is not known where; nothing has begun. */
bool watch_walk_part_begins(struct watch *w, struct arena *a, struct watch_news *ret);
/* Before it is read.  `rel`: where it is in the tree, "" the root. */
void watch_directory(struct watch *w, int parent, const char *name, const char *rel);
/* One of the directories of the repository at `rel`: names in it are not told. */
void watch_repository(struct watch *w, int parent, const char *name, const char *rel);
/* What may arm something and was heard since the last time or the last walk: paths of names that count, and of new directories.  Not all of
 * it: the walk is due all the same. */
size_t watch_told(struct watch *w, struct arena *a, const char ***ret);
bool watch_is_changed(struct watch *w); /* true also where nobody knows */
void watch_end(struct watch *w);

int watch_fd(const struct watch *w); /* can be read when something was heard; -1: nobody watches */

/* ---- prompt.c: while it lasts ---- */

struct prompt {
	int64_t due_us; /* when to look; 0: nothing was heard */
	int64_t not_before_us;
	int timer, fd; /* of a session: fd is that of the watch, or of the timer while a look is due */
};
void prompt_hear(struct prompt *p, struct sys *s,
	bool is_heard); /* something happened; or may have, where nobody watches */
void prompt_look(struct task *t, struct watch *w, struct prompt *p);
/* For a session: t->run hears the tree from now on, and t is looked at while it lasts.  Ended when nothing of it runs. */
void prompt_begin(struct task *t);
void prompt_end(struct task *t);
/* Names that count, below the roots, as they were heard; the walk over everything comes when it is due, and finds what this has missed. */
void prompt_look_at_heard(struct task *t, struct watch *w);

/* ---- nested.c: what counts deeper in the tree, known by path and number ---- */

/* Entries that are looked at, before a run and behind it: of what lasts, many more. */
size_t task_walk_most(const struct task *t);
struct nested *nested_new(struct arena *a, const struct task *t);
void nested_look(struct nested *x, struct task *t, const char *root); /* a walk by names */
/* One entry of a walk that somebody else makes; *st may know the kind alone.  Returns what a file_visit does. */
int nested_see(struct nested *x, int parent, const char *name, const char *rel, const struct stat *st);
bool nested_counts(const char *rel);
/* Was something else, or nothing, under this name?  False, too, where the tree is too large to be known. */
bool nested_is_new(struct nested *x, const char *rel, const struct stat *st);
/* What is known, looked at once more under its name, but for what is_seen() says that somebody has just looked at: whatever is still there is handed
 * on to `next`, and to look() first. */
struct nested_again {
	void *arg;
	struct task *t;
	int root;
	bool (*is_seen)(void *arg, const char *rel);
	void (*look)(void *arg, int parent, const char *name, const char *rel, const struct stat *st);
};
void nested_carry(struct nested *next, const struct nested *was, const struct nested_again *again);
/* Into a journal and back; beyond some thousand places "places_cut" says that times have to tell. */
void nested_write(const struct nested *x, struct arena *a, struct json *to);
int nested_read(struct arena *a, const struct task *t, const struct json *from, struct nested **ret);
void nested_renumber(struct nested *x, dev_t was, dev_t now); /* the file system has another number */
bool nested_is_whole(const struct nested *x); /* there, and nothing of the tree was left out */
void nested_watch(
	struct nested *x, struct watch *w); /* every directory that is seen is watched from then on */
/* Directories ".git" below the root, at most `most`. */
const char **nested_repositories(const struct nested *x, struct arena *a, size_t most);
const struct json *nested_settings(const struct nested *x); /* of clients: ["a/.claude/settings.json", ...] */
/* State of other workspaces deeper in the tree: paths in it. */
const struct json *nested_states(const struct nested *x);
void armed_tell(struct task *t); /* into row, receipt and hint */

/* ---- again.c: the walk behind a call, where it is known what changed ---- */

/* As task_touched() over all of the tree would have it for t->nested_next, as far as anything can have changed since the walk that t->nested is of. */
void task_touched_again(struct task *t, const struct watch_news *news);
/* Rows of what was left behind, for a second look: those about which something is done.  NULL: none. */
struct json *left_without_notes(struct arena *a, const struct json *left);

/* ---- card.c ---- */

void task_list_cards(struct kernel *k, struct arena *a, struct task_cards *ret);
/* One more, for the next run; returns {created_at, path, format, summary}, the path relative to the workspace, or NULL.  Old ones make room. */
struct json *task_snapshot(
	struct kernel *k, struct arena *a, const struct task_cards *old, const struct json *row);

/* ---- program.c ---- */

void task_find_program(
	struct kernel *k, struct arena *a, const struct run_spec *spec, struct task_program *ret);
/* A name alone, or a path to the very file that PATH finds under that name. */
bool task_is_found_by_name(struct sys *s, struct arena *a, const char *name, const char *cwd);
struct json *task_program_json(struct arena *a, const struct task_program *p); /* path, size, sha256 */
/* Still the same files, and are we in the same place?  Says what is not. */
bool task_program_is_same(const struct task_program *p, char *why, size_t why_n);

/* What a contract that names commands lets be executed, by the kernel's word: those programs, what their first lines name, and shells, which start
 * nothing else.  NULL: anything. */
const char *const *task_programs(const struct task *t);

/* ---- heartbeat.c ---- */

/* Signs of life: <state>/heartbeats/TASK.json with heartbeat_at and pid.  None of it can fail a run. */
#define HEARTBEATS "heartbeats"
enum { HEARTBEAT_MS = 30000 };
const char *heartbeat_file(struct arena *a, const char *task_id);
void heartbeat_beat(struct sys *s, const struct workspace *ws, const char *task_id);
void heartbeat_end(struct sys *s, const struct workspace *ws, const char *task_id);

#endif
