/* rows.c — the rows of a run: how the row begins, what each stage adds to it, and how it is appended.
 *
 * One row grows from stage to stage, and each append writes all of it.  The digests of all of them go into
 * the outcome receipt.
 *
 * Rows are for people and views; receipts are what proves.  The digest of every row is in a receipt, so a
 * row that is changed later no longer agrees with its proof.  Output of commands is kept only as a short
 * tail without secrets; the receipt has the digest of all of it. */
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/changes.h"
#include "kernel/memory.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"
#include "remember/failure.h"
#include "remember/loop.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- the beginning ---- */

/* A word as a person would type it. */
static void quote(struct buf *to, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	buf_adds(to, *word && !word[strspn(word, plain)] ? word : text_quote(to->a, word));
}

/* An argv as a person would type it: pasted into a shell it gives the same words. */
char *task_preview(struct arena *a, const char *const *argv, size_t argc)
{
	struct buf text;

	buf_init(&text, a);
	for (size_t i = 0; i < argc; i++) {
		if (i)
			buf_addc(&text, ' ');
		quote(&text, argv[i]);
	}
	return text.p;
}

static const char *now(struct task *t)
{
	return text_time_iso(t->a, t->k->sys->now_us(t->k->sys));
}

/* The command as it was given.  A long one is cut where that can be seen; the whole is in command_preview. */
static char *default_name(struct arena *a, const struct run_spec *spec)
{
	enum { MOST = 120 };
	struct buf name;

	buf_init(&name, a);
	for (size_t i = 0; i < spec->argc; i++)
		buf_addf(&name, "%s%s", i ? " " : "", spec->argv[i]);
	if (name.n <= MOST)
		return name.p;
	size_t n = MOST - strlen("...");
	while (n && ((unsigned char)name.p[n] & 0xc0) == 0x80) /* not inside a character */
		n--;
	return arena_printf(a, "%.*s...", (int)n, name.p);
}

/* Which version ran on which system, to explain differences later. */
static struct json *runtime_env(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct utsname host;

	json_sets(a, doc, "helm_version", HELM_VERSION);
	if (uname(&host) == 0)
		json_sets(a, doc, "uname",
			arena_printf(a, "%s %s %s", host.sysname, host.release, host.machine));
	return doc;
}

/* Which groups of tools the profile grants, asks about and denies. */
static struct json *tool_grant(struct arena *a, const struct profile *p)
{
	enum tool_group all[GROUP_COUNT];

	for (int i = 0; i < GROUP_COUNT; i++)
		all[i] = (enum tool_group)i;
	struct json *grant = profile_compute_grant(a, p, all, GROUP_COUNT);
	json_sets(a, grant, "profile", p->name);
	return grant;
}

/* By pid and start time, so that a later process with the same pid is not taken for this one
 * (orphans.c). */
static void identify_process(struct task *t)
{
	json_seti(t->a, t->row, "pid", getpid());
	json_seti(t->a, t->row, "pid_start", proc_start_ticks(t->k->sys, 0));
}

/* Members that are not known yet are written as null, so that every row of a task has the same ones. */
void task_begin_row(struct task *t)
{
	const struct run_spec *spec = t->spec;
	const struct profile *p = t->profile;
	struct arena *a = t->a;
	struct json *row = json_new(a, JSON_OBJECT), *command = json_new(a, JSON_ARRAY),
		    *paths = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < spec->argc; i++)
		json_pushs(a, command, spec->argv[i]);
	for (size_t i = 0; i < spec->checkpoint_path_count; i++)
		json_pushs(a, paths, spec->checkpoint_paths[i]);
	json_sets(a, row, "task_id", t->id);
	json_sets(a, row, "parent_task_id", spec->parent_task_id);
	json_sets(a, row, "task_name", spec->task_name ? spec->task_name : default_name(a, spec));
	json_sets(a, row, "task_goal", spec->task_goal);
	json_sets(a, row, "skill", spec->skill);
	if (t->skill.sha256)
		json_sets(a, row, "skill_sha256", t->skill.sha256);
	if (p->terms)
		json_setb(a, row, "skill_contract_enforced", true);
	if (spec->session) {
		json_sets(a, row, "kind", "agent");
		json_sets(a, row, "client", spec->session->client);
		if (spec->session->alone)
			json_setb(a, row, "detached", true);
	}
	json_sets(a, row, "profile", p->name);
	json_sets(a, row, "backend", p->backend);
	json_sets(a, row, "runtime_backend", p->runtime_backend);
	json_sets(a, row, "runtime_target_kind", p->runtime_target_kind);
	json_sets(a, row, "runtime_target", spec->runtime_target);
	json_sets(a, row, "runtime_note", spec->runtime_note);
	json_sets(a, row, "isolation", p->isolation);
	json_setb(a, row, "handoff_required", p->handoff_required);
	json_set(a, row, "command", command);
	json_sets(a, row, "command_preview", task_preview(a, spec->argv, spec->argc));
	json_sets(a, row, "cwd", spec->cwd);
	json_sets(a, row, "started_at", now(t));
	json_sets(a, row, "checkpoint_label",
		spec->label ? spec->label : arena_printf(a, "%s-checkpoint", p->name));
	json_set(a, row, "checkpoint_paths", paths);
	json_sets(a, row, "checkpoint_id", NULL);
	json_sets(a, row, "delivery_mode", spec->delivery_mode ? spec->delivery_mode : "inline");
	json_set(a, row, "meta", spec->meta ? json_copy(a, spec->meta) : json_new(a, JSON_OBJECT));
	json_set(a, row, "runtime_env", runtime_env(a));
	if (spec->verified) {
		struct json *doc = json_new(a, JSON_OBJECT);
		json_setb(a, doc, "required", true);
		json_sets(a, doc, "mode", "ralph");
		json_sets(a, doc, "plan_id", spec->verified->plan_id);
		json_sets(a, doc, "plan_task", spec->verified->task_id);
		json_seti(a, doc, "attempt", spec->verified->attempt);
		json_seti(a, doc, "max_attempts", spec->verified->max_attempts);
		json_set(a, row, "verified_execution", doc);
	}
	json_set(a, row, "tool_grant", tool_grant(a, p));
	json_sets(a, row, "guard_mode", guard_mode_name(spec->mode));
	t->row = row;
	t->digests = json_new(a, JSON_ARRAY);
	identify_process(t);
}

/* ---- what changed ---- */

size_t task_walk_most(const struct task *t)
{
	enum { OF_A_RUN = 200000, OF_A_SESSION = 4000000 };

	return t->lasts ? OF_A_SESSION : OF_A_RUN;
}

enum { TOUCHED_MOST = 500 };

struct touched {
	struct task *task;
	struct json *paths;
	size_t seen;
};

static int look_at(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct touched *x = arg;
	struct task *t = x->task;

	(void)e;
	armed_look(t, parent, name, rel, st);
	if (t->nested_next)
		(void)nested_see(t->nested_next, parent, name, rel, st);
	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") || text_eq(name, t->k->ws->state_name) ? FILE_SKIP : 0;
	if (before_differs(t, rel, st)) {
		if (x->paths->n < TOUCHED_MOST)
			json_pushs(t->a, x->paths, rel);
		else
			t->is_cut = true;
	}
	return ++x->seen > task_walk_most(t) ? E_LIMIT : 0;
}

static int enter(void *arg, int parent, const char *name, const char *rel)
{
	struct touched *x = arg;

	return rights_enter(x->task, parent, name, rel);
}

/* A tree that cannot be walked to its end gives what was seen. */
struct json *task_touched(struct task *t)
{
	struct touched x = { t, json_new(t->a, JSON_ARRAY), 0 };

	before_walk(t);
	t->is_cut = false;
	AUTO(close_fd) int root = -1;
	struct err e = { 0 };
	int rc = rights_open_root(t, task_tree(t), &root);
	if (rc == OK)
		rc = file_walk_by(t->k->sys, root, false, look_at, enter, &x, &e);
	/* A tree with more in it than is looked at is no secret of the run's; one that is too deep to be walked is. */
	if (rc && e.rc)
		rights_cannot(t, task_tree(t), e.text);
	t->is_cut |= rc != OK;
	rights_put_back(t);
	return x.paths;
}

/* ---- appending ---- */

/* The row need not be on disk now: it gets there with the receipts that follow.  Its digest goes into the
 * outcome receipt. */
static int append(struct task *t, const char *file, const struct json *row, struct err *e)
{
	char digest[SHA256_HEX];
	int rc = recorder_row(&t->k->recorder, t->a, file, row, digest, e);

	if (rc == OK)
		json_pushs(t->a, t->digests, digest);
	return rc;
}

/* Each row is the whole state, so the newest one can be read alone. */
int task_put_row(struct task *t, const char *status, struct err *e)
{
	json_sets(t->a, t->row, "status", status);
	t->report->status = status;
	int rc = append(t, TASK_LEDGER, t->row, e);
	t->is_ended |= rc == OK && !row_is_open(t->row);
	(void)json_remove(t->row, "asked");
	return rc;
}

int task_put_aside(struct task *t, const char *status, struct err *e)
{
	struct json *row = json_copy(t->a, t->row);

	json_sets(t->a, row, "status", status);
	json_sets(t->a, row, "updated_at", now(t));
	return append(t, TASK_LEDGER, row, e);
}

/* The row that ends the task, with what can be counted about its failure. */
int task_put_last(struct task *t, const char *status, const char *stage, const char *reason, struct err *e)
{
	struct arena *a = t->a;

	if (!json_get(t->row, "finished_at"))
		json_sets(a, t->row, "finished_at", now(t));
	json_sets(a, t->row, "status", status);
	if (stage)
		json_sets(a, t->row, "failure_stage", stage);
	if (reason)
		json_sets(a, t->row, "failure_reason", reason);
	json_set(a, t->row, "experience_attribution", task_experience(a, t->row));
	struct json *signature = task_failure_signature(a, t->k->ws, t->row, t->result);
	if (signature) {
		json_set(a, t->row, "failure_signature", signature);
		task_failure_follow(t, signature);
	}
	if (!t->spec->guard_json)
		task_bundle(t->k->sys, a, t->k->ws, task_tree(t), t->plan, t->row);
	return task_put_row(t, status, e);
}

/* ---- the end ---- */

/* Nothing of a run depends on it: when the tasks before cannot be read, it is planned without them. */
void task_read_earlier(struct task *t)
{
	struct memory_place m = memory_place_of(t->k->sys, t->k->ws);
	struct sys *s = t->k->sys;

	t->earlier = NULL;
	if (s->stat(s, t->k->ws->state_fd, TASK_LEDGER, &t->earlier_at, AT_SYMLINK_NOFOLLOW) == 0)
		(void)memory_earlier(&m, t->a, t->row, true, &t->earlier, NULL);
}

/* Has anybody written to the ledger since? */
static bool is_earlier_known(const struct task *t)
{
	const struct stat *was = &t->earlier_at;
	struct sys *s = t->k->sys;
	struct stat st;

	return t->earlier && s->stat(s, t->k->ws->state_fd, TASK_LEDGER, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		st.st_dev == was->st_dev && st.st_ino == was->st_ino && st.st_size == was->st_size;
}

/* What of it is worth remembering. */
void task_put_plan(struct task *t, const char *status)
{
	int64_t us = t->k->sys->now_us(t->k->sys);

	json_sets(t->a, t->row, "status", status);
	json_sets(t->a, t->row, "finished_at", text_time_iso(t->a, us));
	if (!is_earlier_known(t))
		task_read_earlier(t);
	json_set(t->a, t->row, "memory_capture", memory_plan(t->a, t->row, t->earlier, us));
}

/* Which sandbox stood, by which mechanism it met each guarantee, and what its kind does not give. */
static void put_guarantees(
	struct arena *a, struct json *p, const struct sandbox_rules *rules, const struct sandbox_report *r)
{
	struct json *met = json_new(a, JSON_OBJECT), *not_given = json_new(a, JSON_ARRAY);

	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		const char *how = guarantee_mechanism((enum guarantee)g, rules, r);
		if (how)
			json_sets(a, met, guarantee_name((enum guarantee)g), how);
	}
	for (const char *const *one = sandbox_not_given(rules->kind); *one; one++)
		json_pushs(a, not_given, *one);
	json_sets(a, p, "sandbox", sandbox_kind_name(rules->kind));
	json_set(a, p, "guarantees", met);
	json_set(a, p, "not_given", not_given);
}

void task_protections(
	struct arena *a, struct json *to, const struct sandbox_rules *rules, const struct sandbox_report *r)
{
	struct json *p = json_new(a, JSON_OBJECT);

	if (!rules->off)
		put_guarantees(a, p, rules, r);
	json_seti(a, p, "landlock_abi", r->landlock_abi);
	json_setb(a, p, "seccomp", r->seccomp);
	json_setb(a, p, "no_new_privileges", r->no_new_privileges);
	json_setb(a, p, "files_confined", r->files_confined);
	json_setb(a, p, "metadata_confined", r->metadata_confined);
	json_setb(a, p, "network_closed", r->network_closed);
	json_setb(a, p, "network_namespace", r->network_namespace);
	json_setb(a, p, "network_door", r->has_door);
	json_setb(a, p, "signals_confined", r->signals_confined);
	json_setb(a, p, "shared_closed", r->shared_closed);
	json_setb(a, p, "keys_hidden", r->keys_hidden);
	json_setb(a, p, "state_protected", r->state_protected);
	json_setb(a, p, "own_directories", r->own_directories);
	if (r->layers_wanted) {
		json_seti(a, p, "layers_wanted", r->layers_wanted);
		json_seti(a, p, "layers", __builtin_popcount(r->layers_up));
	}
	json_setb(a, p, "sum_of_processes", r->sum_of_processes);
	json_setb(a, p, "sum_of_memory", r->sum_of_memory);
	json_setb(a, p, "group_kill", r->group_kill);
	json_sets(a, p, "missing", r->missing);
	json_setb(a, p, "degraded", r->missing[0]);
	json_set(a, to, "protections", p);
}

/* Output of a command, without secrets and control characters. */
static const char *tail_text(struct task *t, const struct run_stream *s)
{
	size_t n;
	const char *clean = privacy_redact(t->a, s->tail, s->tail_n, &n);

	return text_safe(t->a, clean, n, true);
}

/* How the process ran: times, exit code, sizes and tails of its output. */
int task_put_command_log(struct task *t, struct err *e)
{
	struct arena *a = t->a;
	const struct run_result *r = t->result;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "task_id", t->id);
	json_sets(a, row, "component", t->spec->is_evidence ? "evidence" : "runner");
	json_sets(a, row, "label", json_get_text(t->row, "task_name", ""));
	json_sets(a, row, "command_preview", json_get_text(t->row, "command_preview", ""));
	json_sets(a, row, "profile", t->profile->name);
	json_sets(a, row, "cwd", t->spec->cwd);
	json_sets(a, row, "started_at", text_time_iso(a, r->started_us));
	json_sets(a, row, "finished_at", text_time_iso(a, r->finished_us));
	json_seti(a, row, "duration_ms", (r->finished_us - r->started_us) / 1000);
	json_seti(a, row, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, row, "exit_signal", r->exit_signal);
	json_setb(a, row, "timed_out", r->timed_out);
	json_setb(a, row, "captured", r->captured);
	if (r->captured) {
		json_seti(a, row, "stdout_bytes", (int64_t)r->out.bytes);
		json_seti(a, row, "stderr_bytes", (int64_t)r->err.bytes);
		json_sets(a, row, "stdout_tail", tail_text(t, &r->out));
		json_sets(a, row, "stderr_tail", tail_text(t, &r->err));
		json_setb(
			a, row, "truncated", r->out.bytes > RUN_TAIL_BYTES || r->err.bytes > RUN_TAIL_BYTES);
	}
	return append(t, COMMAND_LOG, row, e);
}

/* For the receipt: numbers, digests and walls, but no text of the command's output. */
void task_tell_end(struct task *t)
{
	struct arena *a = t->a;
	const struct run_result *r = t->result;
	char hex[SHA256_HEX];

	json_seti(a, t->happened, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, t->happened, "exit_signal", r->exit_signal);
	json_setb(a, t->happened, "timed_out", r->timed_out);
	if (r->captured) {
		hex_encode(r->out.sha256, SHA256_SIZE, hex);
		json_sets(a, t->happened, "stdout_sha256", hex);
		hex_encode(r->err.sha256, SHA256_SIZE, hex);
		json_sets(a, t->happened, "stderr_sha256", hex);
	}
	if (t->report->checkpoint_id)
		json_sets(a, t->happened, "checkpoint_id", t->report->checkpoint_id);
	task_protections(a, t->happened, &t->rules, &r->report);
}

/* NULL when the command was executed, however it ended. */
static const char *why_not_executed(struct task *t)
{
	int code = t->result->report.exec_errno;

	if (!code)
		return NULL;
	return arena_printf(t->a, "'%s': %s", t->spec->argv[0],
		t->result->exit_code == 127 ? "command not found" : strerror(code));
}

void task_look_at_memory(struct task *t)
{
	struct memory_place m = memory_place_of(t->k->sys, t->k->ws);

	/* The default workspace lies in the helm home, which is closed to every run. */
	if (t->profile->writes == ALLOWANCE_YES &&
		!(t->k->ws->helm_home && path_is_below(t->k->ws->root, t->k->ws->helm_home)))
		t->memory = memory_look(&m, t->a);
}

/* Paths of the tree as the workspace names them. */
static const struct json *below_workspace(struct task *t, const struct json *touched)
{
	const char *root = t->k->ws->root, *tree = task_tree(t);
	struct json *list = json_new(t->a, JSON_ARRAY);

	if (text_eq(root, tree))
		return touched;
	json_each (path, touched) {
		const char *full = path_join(t->a, tree, json_text(path));
		if (path_is_below(full, root) && strlen(full) > strlen(root))
			json_pushs(t->a, list, full + strlen(root) + 1);
	}
	return list;
}

void task_tell_memory(struct task *t, const struct json *touched, struct json *to)
{
	struct memory_place m = memory_place_of(t->k->sys, t->k->ws);
	struct json *found =
		t->memory ? memory_outside(&m, t->a, t->memory, below_workspace(t, touched)) : NULL;

	if (!found)
		return;
	json_set(t->a, to, "memory_outside", found);
	const char *said = arena_printf(t->a,
		"it wrote lines of %s that are not on record, and no session is told of them: helm memory review-queue",
		json_get_text(json_at(found, 0), "file", ""));
	t->report->hint = t->report->hint ? arena_printf(t->a, "%s\n%s", t->report->hint, said) : said;
}

static void push_new(struct arena *a, struct json *list, struct json *path)
{
	json_each (known, list)
		if (text_eq(json_text(known), json_text(path)))
			return;
	json_push(a, list, path);
}

/* Times show what was written.  What is gone shows where it was named, was saved before, or the run has a plan. */
static void put_changes(struct task *t)
{
	struct arena *a = t->a;
	struct json *touched = json_new(a, JSON_ARRAY), *deleted = json_new(a, JSON_ARRAY);

	if (t->profile->writes == ALLOWANCE_YES) {
		touched = task_touched(t);
		git_private_merge(t, t);
		armed_check(t);
		t->is_checked = true;
		deleted = changes_gone(t->k, a, t->expected, t->report->checkpoint_id);
		/* What was not walked over is not gone for that. */
		const struct json *gone = t->is_cut ? NULL : before_gone(t);
		json_each (path, gone) {
			if (deleted->n >= TOUCHED_MOST)
				t->is_cut = true;
			else
				push_new(a, deleted, path);
		}
	}
	json_each (path, deleted)
		json_push(a, touched, path);
	json_set(a, t->row, "touched_paths", touched);
	if (t->is_cut && t->profile->writes == ALLOWANCE_YES)
		json_setb(a, t->row, "touched_paths_cut", true);
	json_set(a, t->row, "deleted_paths", deleted);
	if (t->profile->writes != ALLOWANCE_YES || t->spec->session || t->spec->is_evidence)
		return;
	const struct written w = { .at = &t->at, .tree = task_tree(t), .paths = touched, .may_start = true };
	const char *broken = written_check(t->k, a, &w, t->row);
	if (broken)
		task_hint(t, broken);
}

/* What a command that ran says by another code than 0 without failing: `grep` that finds nothing, a condition of a loop; NULL: it failed. */
static const char *answer_of(const struct task *t, const char *why_not_executed)
{
	const struct run_result *r = t->result;

	if (why_not_executed || !r->exit_code || r->exit_signal || r->timed_out || r->printed_too_much ||
		r->interrupted || t->spec->is_evidence || t->spec->session)
		return NULL;
	if (json_get_bool(json_get(t->row, "meta"), LOOP_CONDITION, false))
		return "no";
	/* A step of a loop is there to end well: the loop stops where it fails the same way again. */
	if (json_get_text(json_get(t->row, "meta"), LOOP_RUN, NULL))
		return NULL;
	return failure_answer(
		t->a, json_get(t->row, "command"), r->exit_code, r->captured ? r->err.bytes : SIZE_MAX);
}

/* The resume card is written before the row, which names it. */
int task_put_final(struct task *t, struct err *e)
{
	struct arena *a = t->a;
	const struct run_result *r = t->result;
	const char *why = why_not_executed(t);
	t->answer = answer_of(t, why);
	const bool is_good = r->exit_code == 0 || t->answer;
	const char *status = is_good ? "completed" : "failed";

	json_seti(a, t->row, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, t->row, "exit_signal", r->exit_signal);
	if (t->answer)
		json_sets(a, t->row, "answer", t->answer);
	task_protections(a, t->row, &t->rules, &r->report);
	put_changes(t);
	if (r->timed_out) {
		status = "timeout";
		why = arena_printf(a, "no end within %lld s", (long long)t->timeout_s);
	} else if (r->printed_too_much) {
		why = arena_printf(
			a, "ended: it printed more than %lld MiB", (long long)t->profile->limits.output_mb);
	} else if (r->interrupted && r->exit_code) {
		why = arena_printf(a, "interrupted; the command ended with %d", r->exit_code);
	}
	if (why)
		t->report->message = why;
	if (!r->exit_code && task_browser_owes(t))
		status = BROWSER_OWES;
	const struct settlement *settled = &t->report->handling.settled;
	if (settled->checkpoint_id && (!settled->by || text_eq(settled->by, "checkpoint")))
		t->report->hint = arena_printf(a, "%s; it can be undone with: helm checkpoint restore %s",
			settled->by ? "this ran without a question" : "what it wrote over was saved first",
			settled->checkpoint_id);
	armed_tell(t);
	task_tell_refusal(t);
	task_tell_memory(t, json_get(t->row, "touched_paths"), t->row);
	t->is_unverified = text_eq(status, "completed") && !task_gather(t);
	if (t->is_unverified)
		status = "needs_verification";
	task_put_claims(t, status);
	task_put_gathered(t);
	status = task_put_criteria(t, status);
	task_put_plan(t, status);
	struct json *snapshot = task_snapshot(t->k, a, &t->cards, t->row);
	if (snapshot)
		json_set(a, t->row, "state_snapshot", snapshot);
	t->outcome = r->timed_out ? "TIMEOUT" : is_good ? "COMPLETED" : "FAILED";
	if (t->is_unverified)
		return task_put_last(
			t, status, "verification", json_get_text(t->row, "verification_reason", ""), e);
	return task_put_last(t, status, is_good && !r->timed_out ? NULL : "execution", why, e);
}
