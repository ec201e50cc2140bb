/* memory.c — acts on memory: who does it, whether it may be done, and that it is on record.
 *
 * The order is that of everything else: a receipt that permits it, then the rows, then the file, then what happened.  A kill in between leaves
 * a permission that was not used, or an entry whose line is in no file; never a line that nothing stands for. */
#include "kernel/memory.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "kernel/act.h"
#include "kernel/memory_parts.h"
#include "kernel/sources.h"
#include "kernel/task/task.h"
#include "privacy/privacy.h"
#include "remember/ontology.h"

#include <stdio.h>
#include <string.h>

struct memory_place memory_place_of(struct sys *s, const struct workspace *ws)
{
	return (struct memory_place){ s, ws->root_fd, ws->state_fd, ws->state_dir };
}

/* ---- one act ---- */

static const char *effect_of(struct arena *a, const struct memory_act *act)
{
	return arena_printf(a, "helm.memory/%s", act->verb);
}

static void take_receipt(struct arena *a, struct memory_act *act, const struct json *receipt)
{
	act->receipt_id = arena_strdup(a, json_get_text(receipt, "receipt_id", ""));
	act->receipt_clock = json_get_int(receipt, "lamport_clock", 0);
}

static int record_act(struct kernel *k, struct arena *a, struct memory_act *act, struct err *e)
{
	struct act signed_act = { .effect_id = effect_of(a, act), .type = "memory", .about = act->about };
	struct json *receipt;

	if (act->task_id)
		json_sets(a, act->about, "task_id", act->task_id);
	if (act->digests->n)
		json_set(a, act->about, "rows_sha256", act->digests);
	int rc = act_record(k, a, &signed_act, &receipt, e);
	if (rc == OK)
		take_receipt(a, act, receipt);
	return rc;
}

/* What it would do, as any other tool that writes this file. */
static void propose_write(
	struct arena *a, const struct surroundings *at, const struct memory_act *act, struct proposal *ret)
{
	struct json *input = json_new(a, JSON_OBJECT);
	const struct workspace *ws = act->k->ws;
	struct tool_call call = { .tool_name = "Edit", .input = input, .cwd = ws->root };

	*ret = (struct proposal){ .readable = true };
	if (!act->path)
		return;
	json_sets(a, input, "file_path", path_join(a, ws->root, act->path));
	propose_tool(a, at, &call, ret);
	/* The default workspace lies in the helm home, which is closed to every tool.  Its memory is written through this door, and no other
	 * file is. */
	if (ws->helm_home && path_is_below(ws->root, ws->helm_home))
		for (size_t i = 0; i < ret->effect_count; i++)
			if (ret->effects[i].kind == FX_WRITE && ret->effects[i].path_class == PATH_STATE)
				ret->effects[i].path_class = PATH_IN;
}

static int refused(const struct handling *h, const struct memory_act *act, struct err *e)
{
	bool is_asked = h->verdict == V_ESCALATE;

	return err_set(e, is_asked ? E_ESCALATE : E_DENIED, is_asked ? "MEMORY_ASKED" : "MEMORY_DENIED",
		"memory %s: %s (%s); nothing was written", act->verb,
		h->decision.summary ? h->decision.summary : "not allowed here",
		h->decision.detail_code ? h->decision.detail_code : "policy");
}

static int decide_act(struct kernel *k, struct arena *a, struct memory_act *act, struct err *e)
{
	struct surroundings *at = arena_zalloc(a, 1, sizeof(*at));
	struct proposal *proposal = arena_zalloc(a, 1, sizeof(*proposal));
	const char *name;
	int rc = guard_profile(&k->guard, a, NULL, &name, e);
	const struct profile *profile = rc ? NULL : profiles_find(&k->guard.profiles, name);

	if (rc)
		return rc;
	if (!profile)
		return err_set(e, E_USAGE, "PROFILE_UNKNOWN", "the profile '%s' does not exist", name);
	*at = guard_at(&k->guard, a, k->ws->root);
	propose_write(a, at, act, proposal);
	act->request = arena_zalloc(a, 1, sizeof(*act->request));
	*act->request = (struct request){
		.who = { .door = "memory",
			.subject_id = "agent:unknown",
			.session = k->sys->getenv(k->sys, "HELM_SESSION") },
		.what = { .tool = arena_printf(a, "helm memory %s", act->verb),
			.action = act->path ? "WRITE_FILE" : "WRITE_MEMORY",
			.proposal = proposal,
			.args = bytes_of(json_sha256(a, act->about)),
			.params = act->about,
			.preview = arena_printf(a, "helm memory %s", act->verb),
			.task_id = act->task_id,
			.about = act->about },
		.where = at,
		.profile = profile,
		.mode = GUARD_ENFORCE,
		.placement = UNSANDBOXED,
		.is_done_here = true,
	};
	act->handling = arena_zalloc(a, 1, sizeof(*act->handling));
	*act->handling = (struct handling){ .a = a };
	rc = kernel_handle(k, act->request, act->handling, e);
	if (rc)
		return rc;
	if (act->handling->verdict != V_ALLOW)
		return refused(act->handling, act, e);
	rc = kernel_permit(k, act->handling, e);
	if (rc == OK)
		take_receipt(a, act, act->handling->decision_receipt);
	return rc;
}

int memory_act_begin(struct kernel *k, struct arena *a, struct memory_act *act, struct err *e)
{
	struct err why = { 0 };

	act->k = k;
	act->digests = json_new(a, JSON_ARRAY);
	if (!act->about)
		act->about = json_new(a, JSON_OBJECT);
	act->is_person = person_is_outside(k->sys, a, k->ws, &why) == OK;
	if (!act->is_person)
		return decide_act(k, a, act, e);
	return act->path ? record_act(k, a, act, e) : OK;
}

int memory_act_row(
	struct arena *a, struct memory_act *act, const char *file, const struct json *row, struct err *e)
{
	char digest[SHA256_HEX];
	struct kernel *k = act->k;
	/* What a file is changed for is on disk before the file is. */
	int rc = act->path ? ledger_append(k->sys, a, k->ws->state_fd, file, row, digest, e)
			   : recorder_row(&k->recorder, a, file, row, digest, e);

	if (rc == OK)
		json_pushs(a, act->digests, digest);
	return rc;
}

int memory_act_end(struct arena *a, struct memory_act *act, int rc, struct err *e)
{
	struct err late = { 0 };
	int late_rc;

	if (act->handling) {
		struct json *happened = json_new(a, JSON_OBJECT);
		json_set(a, happened, "rows_sha256", act->digests);
		late_rc = kernel_outcome(
			act->k, act->request, act->handling, happened, rc ? "FAILED" : "COMPLETED", &late);
	} else if (!act->path && rc == OK) {
		late_rc = record_act(act->k, a, act, &late);
	} else {
		late_rc = recorder_finish(&act->k->recorder, a, &late);
	}
	if (rc == OK && late_rc) {
		*e = late;
		rc = late_rc;
	}
	return rc;
}

/* ---- ids ---- */

int memory_next_id(struct kernel *k, struct arena *a, const char *file, const char *prefix, char **ret_id,
	const char **ret_time, struct err *e)
{
	struct json *last;
	int64_t now = k->sys->now_us(k->sys), us;
	int rc = rows_tail(k->sys, a, k->ws->state_fd, file, 1, &last, e);

	if (rc)
		return rc;
	const char *said = json_get_text(json_at(last, 0), "timestamp", "");
	if (text_parse_time(said, strlen(said), &us) && us >= now && us < now + 60000000)
		now = us + 1;
	const char *t = text_time_compact(a, now);
	*ret_id = arena_printf(a, "%s%.8s%.6s%06lld", prefix, t, t + 9, (long long)(now % 1000000));
	*ret_time = text_time_iso(a, now);
	return OK;
}

int memory_take_lock(struct kernel *k, int *ret, struct err *e)
{
	return file_lock(k->sys, k->ws->state_fd, MEMORY_LOCK, MEMORY_LOCK_MS, ret, e);
}

/* ---- conversations ---- */

static int check_chat(struct kernel *k, const struct chat *c, struct err *e)
{
	static const char *const states[] = { "completed", "handoff_required", "failed" };
	bool is_state = false;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		is_state |= text_eq(c->status, states[i]);
	if (!is_state)
		return err_set(e, E_USAGE, "MEMORY_CHAT",
			"--status '%s': it is completed, handoff_required or failed", c->status);
	if (!profiles_find(&k->guard.profiles, c->profile))
		return err_set(e, E_USAGE, "MEMORY_CHAT",
			"--profile '%s' is no profile; 'helm profile list' shows them", c->profile);
	if (c->task_id && !text_is_id(c->task_id))
		return err_set(e, E_USAGE, "MEMORY_CHAT",
			"--task-id '%s': letters, digits, '.', '_' and '-', at most 128", c->task_id);
	return OK;
}

static struct json *chat_row(struct arena *a, const struct chat *c, const char *id)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "task_id", id);
	json_sets(a, row, "task_name", c->task_name);
	json_sets(a, row, "skill", c->skill);
	json_sets(a, row, "profile", c->profile);
	json_sets(a, row, "backend", "conversation");
	json_sets(a, row, "runtime_backend", "conversation");
	json_sets(a, row, "runtime_target", c->runtime_target);
	json_sets(a, row, "runtime_note", c->runtime_note);
	json_sets(a, row, "command_preview",
		c->command_preview ? c->command_preview : arena_printf(a, "chat-summary:%s", c->task_name));
	return row;
}

/* The last row.  Its plan is made with the paths, which are a part of the plan only. */
static int finish_chat(
	struct kernel *k, struct arena *a, const struct chat *c, struct json *row, struct err *e)
{
	struct memory_place m = memory_place_of(k->sys, k->ws);
	struct json *paths = json_new(a, JSON_ARRAY), *earlier;
	int64_t now = k->sys->now_us(k->sys);

	for (size_t i = 0; i < c->path_count; i++)
		json_pushs(a, paths, c->paths[i]);
	json_sets(a, row, "status", c->status);
	json_sets(a, row, "finished_at", text_time_iso(a, now));
	int rc = memory_earlier(&m, a, row, false, &earlier, e);
	if (rc)
		return rc;
	json_set(a, row, "touched_paths", paths);
	json_set(a, row, "memory_capture", memory_plan(a, row, earlier, now));
	(void)json_remove(row, "touched_paths");
	json_set(a, row, "experience_attribution", task_experience(a, row));
	return OK;
}

static int chat_rows(struct kernel *k, struct arena *a, const struct chat *c, const char *id,
	struct memory_act *act, struct json **ret, struct err *e)
{
	struct json *row = chat_row(a, c, id);
	const char *now = text_time_iso(a, k->sys->now_us(k->sys));

	json_sets(a, row, "status", "queued");
	json_sets(a, row, "created_at", now);
	int rc = memory_act_row(a, act, TASK_LEDGER, row, e);
	json_sets(a, row, "status", "running");
	json_sets(a, row, "started_at", now);
	json_sets(a, row, "started_execution_at", now);
	if (rc == OK)
		rc = memory_act_row(a, act, TASK_LEDGER, row, e);
	if (rc == OK)
		rc = finish_chat(k, a, c, row, e);
	if (rc == OK)
		rc = memory_act_row(a, act, TASK_LEDGER, row, e);
	*ret = row;
	return rc;
}

int memory_capture_chat(
	struct kernel *k, struct arena *a, const struct chat *given, struct json **ret, struct err *e)
{
	struct chat c = *given;
	char *id = (char *)c.task_id;

	c.profile = c.profile ? c.profile : "risky_edit";
	c.status = c.status ? c.status : "completed";
	int rc = check_chat(k, &c, e);
	if (rc == OK && !id)
		rc = record_new_task_id(a, k->sys, &id, e);
	if (rc)
		return rc;
	struct memory_act act = { .verb = "capture-chat", .task_id = id };
	rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = chat_rows(k, a, &c, id, &act, ret, e);
	return memory_act_end(a, &act, rc, e);
}

/* ---- what becomes of a plan ---- */

static struct json *list_of(struct arena *a, struct json *obj, const char *name)
{
	struct json *v = json_get(obj, name);

	if (!json_is(v, JSON_ARRAY)) {
		v = json_new(a, JSON_ARRAY);
		json_set(a, obj, name, v);
	}
	return v;
}

static bool is_listed(const struct json *list, const char *text)
{
	json_each (v, list)
		if (json_text(v) && text_eq(json_text(v), text))
			return true;
	return false;
}

static bool is_proved(const struct json *proofs, const char *layer)
{
	json_each (p, proofs)
		if (text_eq(json_get_text(p, "layer", ""), layer))
			return true;
	return false;
}

/* A copy of the task's newest row, to be changed. */
static int copy_task(struct kernel *k, struct arena *a, const char *task_id, struct json **ret_row,
	struct json **ret_plan, struct err *e)
{
	struct memory_place m = memory_place_of(k->sys, k->ws);
	struct json *row;
	int rc = memory_task(&m, a, task_id, &row, e);

	if (rc)
		return rc;
	row = json_copy(a, row);
	if (!json_is(json_get(row, "memory_capture"), JSON_OBJECT))
		return err_set(e, E_INPUT, "MEMORY_PLAN", "task '%s' has no capture plan", task_id);
	json_sets(a, row, "updated_at", text_time_iso(a, k->sys->now_us(k->sys)));
	*ret_row = row;
	*ret_plan = json_get(row, "memory_capture");
	return OK;
}

static void set_finalization(struct arena *a, struct json *plan)
{
	const struct json *proofs = json_get(plan, "proofs");
	bool is_whole = true;

	json_each (layer, json_get(plan, "recommended_layers"))
		is_whole &= json_text(layer) && is_proved(proofs, json_text(layer));
	json_sets(a, plan, "finalization_status", is_whole ? "capture_written" : "capture_partial");
}

static bool is_daily(struct arena *a, const char *path)
{
	int64_t us;

	return text_starts(path, "memory/") && strlen(path) == strlen("memory/2026-01-01.md") &&
		text_ends(path, ".md") &&
		memory_time(path_base(arena_strndup(a, path, strlen(path) - 3)), &us);
}

/* Is this the place of that layer?  NULL: yes. */
static const char *misplaced(struct arena *a, const char *layer, const char *path)
{
	if (text_eq(layer, "daily_memory"))
		return is_daily(a, path) ? NULL : "a daily note is memory/YYYY-MM-DD.md";
	if (text_eq(layer, "long_term_memory"))
		return text_eq(path, "MEMORY.md") ? NULL : "long-term memory is MEMORY.md";
	if (text_starts(path, "memory/ontology/"))
		return "that is the ontology, no note";
	return text_starts(path, "notes/") || text_starts(path, "memory/")
		? NULL
		: "a note lies below notes/ or memory/, or in an adopted vault";
}

/* Below the root of an adopted source? */
static bool is_in_vault(struct kernel *k, struct arena *a, const char *path)
{
	struct context_place at = sources_place(k->sys, a, k->ws);

	if (path[0] != '/')
		return false;
	const struct json *list = sources_load(&at, json_new(a, JSON_ARRAY));
	json_each (source, list)
		if (path_is_below(path_clean(a, path), json_get_text(source, "root", "")))
			return true;
	return false;
}

static int prove_file(struct kernel *k, struct arena *a, const char *layer, const char *given,
	struct json *proof, struct err *e)
{
	const char *path = path_clean(a, given);
	const char *root = arena_printf(a, "%s/", k->ws->root);
	bool is_vault = text_eq(layer, "notes") && is_in_vault(k, a, path);
	struct bytes text;

	if (text_starts(path, root))
		path += strlen(root);
	const char *why = is_vault ? NULL : misplaced(a, layer, path);
	if (why)
		return err_set(e, E_USAGE, "MEMORY_PROOF", "'%s' does not prove %s: %s", given, layer, why);
	int rc = file_read(k->sys, a, is_vault ? -1 : k->ws->root_fd, path, MEMORY_FILE_BYTES,
		is_vault ? 0 : FILE_BENEATH, &text, e);
	if (rc)
		return err_wrap(e, "'%s' proves nothing", given);
	if (!text.n)
		return err_set(e, E_INPUT, "MEMORY_PROOF", "'%s' is empty: it proves nothing", given);
	json_sets(a, proof, "path", path);
	json_sets(a, proof, "sha256", sha256_hex(a, text.p, text.n));
	return OK;
}

struct sought {
	struct arena *a;
	const char *id;
	uint64_t line;
	char *sha256;
};

static int is_sought(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct sought *x = arg;
	struct relation r;
	struct entity n;

	(void)e;
	bool is_it = (entity_read(x->a, row, &n) && text_eq(n.id, x->id)) ||
		(relation_read(x->a, row, &r) &&
			text_eq(arena_printf(x->a, "%s %s %s", r.from, r.type, r.to), x->id));
	if (is_it) {
		x->line = line;
		x->sha256 = json_sha256(x->a, row);
	}
	return 0;
}

/* An entity's id, or "from type to" of a relation. */
static int prove_row(struct kernel *k, struct arena *a, const char *id, struct json *proof, struct err *e)
{
	static const char *const files[] = { ONTOLOGY_ENTITIES, ONTOLOGY_RELATIONS };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct sought x = { .a = a, .id = id };
		int rc = ontology_each(k->sys, k->ws->root_fd, files[i], is_sought, &x, e);
		if (rc)
			return rc;
		if (!x.sha256)
			continue;
		json_sets(a, proof, "path", files[i]);
		json_sets(a, proof, "id", id);
		json_sets(a, proof, "sha256", x.sha256 + strlen("sha256:"));
		return OK;
	}
	return err_set(e, E_MISSING, "MEMORY_PROOF",
		"the ontology has no entity '%s', and no relation of that name ('from type to')", id);
}

static int prove(
	struct kernel *k, struct arena *a, const struct finalizing *f, struct json *plan, struct err *e)
{
	struct json *proofs = list_of(a, plan, "proofs");

	if (!is_listed(json_get(plan, "recommended_layers"), f->layer))
		return err_set(e, E_USAGE, "MEMORY_LAYER",
			"the plan of task '%s' does not ask for the layer '%s'", f->task_id, f->layer);
	if (!f->count)
		return err_set(e, E_USAGE, "MEMORY_PROOF",
			"say what proves it: --file FILE, or --id for the ontology");
	for (size_t i = 0; i < f->count; i++) {
		struct json *proof = json_new(a, JSON_OBJECT);
		json_sets(a, proof, "layer", f->layer);
		int rc = text_eq(f->layer, "ontology") ? prove_row(k, a, f->proofs[i], proof, e)
						       : prove_file(k, a, f->layer, f->proofs[i], proof, e);
		if (rc)
			return rc;
		json_push(a, proofs, proof);
	}
	set_finalization(a, plan);
	return OK;
}

int memory_finalize(
	struct kernel *k, struct arena *a, const struct finalizing *f, struct json **ret, struct err *e)
{
	struct memory_act act = { .verb = "finalize", .task_id = f->task_id };
	AUTO(close_fd) int lock = -1;
	struct json *row, *plan;
	int rc = memory_take_lock(k, &lock, e);

	if (rc == OK)
		rc = copy_task(k, a, f->task_id, &row, &plan, e);
	if (rc == OK)
		rc = prove(k, a, f, plan, e);
	if (rc == OK)
		rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = memory_act_row(a, &act, TASK_LEDGER, row, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = row;
	return rc;
}

int memory_relabel(struct kernel *k, struct arena *a, const char *task_id, struct label_move *move,
	struct json **ret, struct err *e)
{
	struct memory_act act = { .verb = "label", .task_id = task_id };
	AUTO(close_fd) int lock = -1;
	struct json *row, *plan, *label;
	struct err why = { 0 };
	int rc = memory_take_lock(k, &lock, e);

	if (rc == OK)
		rc = copy_task(k, a, task_id, &row, &plan, e);
	move->is_approved = person_is_outside(k->sys, a, k->ws, &why) == OK;
	if (rc == OK)
		rc = memory_label_move(
			a, json_get(plan, "quality_label"), move, k->sys->now_us(k->sys), &label, e);
	if (rc == OK)
		rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	json_set(a, plan, "quality_label", label);
	rc = memory_act_row(a, &act, TASK_LEDGER, row, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = row;
	return rc;
}

/* ---- operations ---- */

/* A write or promotion that names a task says that its capture was made: one layer, or all of them. */
static int cover_layers(struct kernel *k, struct arena *a, const struct json *o, const char *layer,
	struct json **ret_row, struct err *e)
{
	const char *task = json_get_text(o, "task_id", ""), *operation = json_get_text(o, "operation", "");
	struct json *row, *plan;
	struct err why = { 0 };

	*ret_row = NULL;
	if (!*task || (!text_eq(operation, "write") && !text_eq(operation, "promote")))
		return layer ? err_set(e, E_USAGE, "MEMORY_LAYER",
				       "--layer goes with write or promote and --task-id")
			     : OK;
	if (copy_task(k, a, task, &row, &plan, &why) || !json_get_bool(plan, "relevant", false))
		return OK; /* audit-coherence tells about tasks that are not there */
	if (layer && !is_listed(json_get(plan, "recommended_layers"), layer))
		return err_set(e, E_USAGE, "MEMORY_LAYER",
			"the plan of task '%s' does not ask for the layer '%s'", task, layer);
	struct json *proofs = list_of(a, plan, "proofs");
	json_each (each, json_get(plan, "recommended_layers")) {
		if (!json_text(each) || (layer && !text_eq(json_text(each), layer)))
			continue;
		struct json *proof = json_new(a, JSON_OBJECT);
		json_sets(a, proof, "layer", json_text(each));
		json_sets(a, proof, "operation_id", json_get_text(o, "id", ""));
		json_push(a, proofs, proof);
	}
	set_finalization(a, plan);
	*ret_row = row;
	return OK;
}

int memory_operation(struct kernel *k, struct arena *a, struct json *o, const char *layer, struct json **ret,
	struct err *e)
{
	struct memory_act act = { .verb = "op" };
	AUTO(close_fd) int lock = -1;
	struct json *task_row = NULL;
	const char *time;
	char *id;
	int rc = memory_take_lock(k, &lock, e);

	if (rc == OK)
		rc = memory_next_id(k, a, MEMORY_OPERATIONS, "memop-", &id, &time, e);
	if (rc)
		return rc;
	json_sets(a, o, "id", id);
	json_sets(a, o, "timestamp", time);
	json_sets(a, o, "status", "recorded");
	privacy_redact_json(a, o);
	rc = cover_layers(k, a, o, layer, &task_row, e);
	act.about = json_new(a, JSON_OBJECT);
	json_sets(a, act.about, "operation_id", id);
	json_sets(a, act.about, "operation", json_get_text(o, "operation", ""));
	if (rc == OK)
		rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = memory_act_row(a, &act, MEMORY_OPERATIONS, o, e);
	if (rc == OK && task_row)
		rc = memory_act_row(a, &act, TASK_LEDGER, task_row, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = o;
	return rc;
}

int memory_crystallize(
	struct kernel *k, struct arena *a, const char *task_id, bool again, struct json **ret, struct err *e)
{
	static const char *const parts[] = { "claim_state", "supersession", "review_flags",
		"crystallization" };
	struct memory_place m = memory_place_of(k->sys, k->ws);
	struct memory_act act = { .verb = "crystallize", .task_id = task_id };
	AUTO(close_fd) int lock = -1;
	struct json *row, *doc = json_new(a, JSON_OBJECT);
	const char *time;
	char *id;
	bool is_kept = false;
	int rc = memory_take_lock(k, &lock, e);

	if (rc == OK)
		rc = memory_task(&m, a, task_id, &row, e);
	if (rc == OK)
		rc = memory_is_crystallized(&m, a, task_id, &is_kept, e);
	if (rc == OK)
		rc = memory_next_id(k, a, MEMORY_CRYSTALS, "crystal-", &id, &time, e);
	if (rc)
		return rc;
	const struct json *plan = json_get(row, "memory_capture");
	if (!json_is(json_get(plan, "crystallization"), JSON_OBJECT))
		return err_set(
			e, E_MISSING, "MEMORY_CRYSTAL", "task '%s' has nothing to crystallize", task_id);
	if (is_kept && !again)
		return err_set(e, E_INPUT, "MEMORY_CRYSTAL",
			"task '%s' is crystallized already; --force keeps it once more", task_id);
	json_sets(a, doc, "id", id);
	json_sets(a, doc, "timestamp", time);
	json_sets(a, doc, "task_id", task_id);
	json_sets(a, doc, "task_name", json_get_text(row, "task_name", NULL));
	json_sets(a, doc, "profile", json_get_text(row, "profile", NULL));
	json_sets(a, doc, "status", json_get_text(row, "status", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct json *v = json_get(plan, parts[i]);
		json_set(a, doc, parts[i], v ? json_copy(a, v) : json_new(a, JSON_NULL));
	}
	privacy_redact_json(a, doc);
	act.about = json_new(a, JSON_OBJECT);
	json_sets(a, act.about, "crystallization_id", id);
	rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	rc = memory_act_row(a, &act, MEMORY_CRYSTALS, doc, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = doc;
	return rc;
}
