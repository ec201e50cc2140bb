/* evidence.c — commands that show afterwards that a run did its work (docs/formats/completion.md).
 *
 * Each is a run of its own below the one it speaks for: decided, recorded, inside the walls of the same profile, skill and plan.  Which ones may
 * speak is a list that the tree alone cannot make longer.  One that is refused or fails leaves the task unverified; nothing is taken for shown. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"
#include "remember/evidence_command.h"

#include <fcntl.h>
#include <string.h>

#define KEPT_IN "verification-evidence.json"
enum { RULES_LIMIT = 1 << 20 };

struct gathering {
	struct task *t;
	struct evidence_rules rules;
	const char *broken; /* why nothing is permitted; or NULL */
	const char *origin; /* "shipped", "accepted", "tree" */
	int64_t run; /* commands so far */
	const char *why; /* the first that does not hold; or NULL */
	bool tests_passed, is_interrupted;
};

/* ---- the list ---- */

/* What was accepted holds whole; what only lies in the tree holds where the shipped list agrees.  One that cannot be read permits nothing. */
static void read_rules(struct gathering *g)
{
	struct task *t = g->t;
	struct kernel *k = t->k;
	const struct evidence_rules *shipped = evidence_rules_shipped(t->a);
	struct evidence_rules own;
	struct bytes text;
	struct err e = { 0 };
	int rc = accepted_read(k->sys, t->a, k->ws, EVIDENCE_FILE, &text, &e);

	g->origin = "accepted";
	g->rules = *shipped;
	if (rc == E_MISSING) {
		g->origin = "tree";
		rc = k->ws->root_fd < 0 ? E_MISSING
					: file_read(k->sys, t->a, k->ws->root_fd, EVIDENCE_FILE, RULES_LIMIT,
						  FILE_BENEATH, &text, &e);
	}
	if (rc == E_MISSING) {
		g->origin = "shipped";
		return;
	}
	if (rc == OK)
		rc = evidence_rules_parse(t->a, text, &own, &e);
	if (rc)
		g->broken =
			arena_printf(t->a, "the list of evidence commands cannot be read: %.300s", e.text);
	else
		g->rules = text_eq(g->origin, "accepted") ? own : evidence_rules_both(&own, shipped);
}

/* ---- one command ---- */

static const char *iso(struct task *t, int64_t us)
{
	return text_time_iso(t->a, us);
}

static void put_stream(struct gathering *g, struct json *row, const char *name, const struct run_stream *s)
{
	struct arena *a = g->t->a;
	size_t n,
		kept = s->tail_n < (size_t)g->rules.output_chars ? s->tail_n : (size_t)g->rules.output_chars;
	const char *clean = privacy_redact(a, s->tail + s->tail_n - kept, kept, &n);

	json_sets(a, row, name, text_safe(a, clean, n, true));
	json_setb(a, row, arena_printf(a, "%s_truncated", name), s->bytes > kept);
	json_seti(a, row, arena_printf(a, "%s_chars", name), (int64_t)s->bytes);
}

static void put_result(struct gathering *g, struct json *row, const struct run_result *r)
{
	struct arena *a = g->t->a;

	json_seti(a, row, "exit_code", r->exit_code);
	json_sets(a, row, "started_at", iso(g->t, r->started_us));
	json_sets(a, row, "finished_at", iso(g->t, r->finished_us));
	json_seti(a, row, "duration_ms", (r->finished_us - r->started_us) / 1000);
	if (!r->captured)
		return;
	put_stream(g, row, "stdout", &r->out);
	put_stream(g, row, "stderr", &r->err);
}

static void put_status(struct gathering *g, struct json *row, const char *status, const char *reason)
{
	struct arena *a = g->t->a;
	bool ok = text_eq(status, "passed");

	json_sets(a, row, "status", status);
	json_setb(a, row, "ok", ok);
	if (reason)
		json_sets(a, row, "reason", reason);
	if (!ok && !g->why)
		g->why = arena_printf(
			a, "%s %s: %s", json_get_text(row, "command_preview", "a command"), status, reason);
	g->tests_passed |= ok && text_eq(json_get_text(row, "kind", ""), "test");
}

static void put_end(struct gathering *g, struct json *row, const struct run_result *r)
{
	put_result(g, row, r);
	g->is_interrupted |= r->interrupted;
	if (r->timed_out)
		put_status(g, row, "timeout",
			arena_printf(g->t->a, "no end within %lld s", (long long)g->rules.timeout_seconds));
	else if (r->exit_code)
		put_status(g, row, "failed", arena_printf(g->t->a, "it ended with %d", r->exit_code));
	else
		put_status(g, row, "passed", NULL);
}

/* As the run itself, and below it. */
static struct run_spec spec_of(struct gathering *g, const char *const *argv, size_t argc)
{
	struct task *t = g->t;
	const struct run_spec *of = t->spec;
	struct json *meta = json_new(t->a, JSON_OBJECT);
	const int64_t most = g->rules.timeout_seconds;

	json_sets(t->a, meta, "evidence_for", t->id);
	json_setb(t->a, meta, LOOP_CONDITION, true);
	return (struct run_spec){ .profile = of->profile,
		.argv = argv,
		.argc = argc,
		.task_name = arena_printf(t->a, "evidence: %s", task_preview(t->a, argv, argc)),
		.task_goal = of->task_goal,
		.parent_task_id = t->id,
		.skill = of->skill,
		.meta = meta,
		.plan = t->plan,
		.checkpoint_paths = of->checkpoint_paths,
		.checkpoint_path_count = of->checkpoint_path_count,
		.mode = of->mode,
		.mode_source = of->mode_source,
		.approve_risk = of->approve_risk,
		.timeout_s = most,
		.cwd = of->cwd,
		.is_evidence = true };
}

static void run_one(struct gathering *g, struct json *row, const char *const *argv, size_t argc)
{
	struct task *t = g->t;
	const struct run_spec spec = spec_of(g, argv, argc);
	struct run_report report = { 0 };
	struct err e = { 0 };
	int rc = task_run(t->k, t->a, &spec, &report, &e);

	json_sets(t->a, row, "task_id", report.task_id);
	if (rc)
		put_status(g, row, "rejected", arena_strdup(t->a, e.text));
	else if (!report.result)
		put_status(g, row, "rejected", report.message ? report.message : report.status);
	else
		put_end(g, row, report.result);
	if (rc && report.result)
		put_result(g, row, report.result);
}

/* {argv, command_preview}: and why nothing of it is run, where it is not a list of words. */
static struct json *begin_row(
	struct gathering *g, const struct json *argv, const char *const **ret, size_t *ret_n)
{
	struct arena *a = g->t->a;
	struct json *row = json_new(a, JSON_OBJECT);
	size_t n = json_is(argv, JSON_ARRAY) ? argv->n : 0;
	const char **words = arena_zalloc(a, n + 1, sizeof(*words));

	json_set(a, row, "argv", argv ? json_copy(a, argv) : json_new(a, JSON_ARRAY));
	for (size_t i = 0; i < n; i++) {
		words[i] = json_text(argv->items[i]);
		n = words[i] ? n : 0;
	}
	json_sets(a, row, "command_preview", n ? task_preview(a, words, n) : "a command");
	*ret = words;
	*ret_n = n;
	return row;
}

static const struct json *prefix_of(
	struct gathering *g, const struct json *argv, bool is_readback, const char **ret_why)
{
	struct task *t = g->t;
	const struct evidence_question q = { argv, task_tree(t), t->k->ws->root, is_readback };

	*ret_why = g->broken;
	if (g->broken)
		return NULL;
	const struct json *found = evidence_prefix(t->a, &g->rules, &q, ret_why);
	if (found && !task_is_found_by_name(t->k->sys, t->a, json_text(argv->items[0]), t->spec->cwd)) {
		*ret_why = "the program is not the one that PATH finds";
		return NULL;
	}
	return found;
}

static struct json *gather_one(struct gathering *g, const struct json *argv, bool is_readback)
{
	struct arena *a = g->t->a;
	const char *const *words, *why;
	size_t n;
	struct json *row = begin_row(g, argv, &words, &n);
	const struct json *prefix = prefix_of(g, argv, is_readback, &why);

	if (prefix) {
		json_set(a, row, "allowlist_prefix", json_copy(a, prefix));
		json_sets(a, row, "kind", is_readback ? "service_readback" : evidence_kind(prefix));
	}
	if (!prefix)
		put_status(g, row, "rejected", why);
	else if (g->is_interrupted)
		put_status(g, row, "rejected", "helm was asked to end");
	else if (g->run++ >= g->rules.max_commands)
		put_status(g, row, "rejected",
			arena_printf(a, "more than %lld commands", (long long)g->rules.max_commands));
	else
		run_one(g, row, words, n);
	return row;
}

/* What a caller says about a service shows nothing; what a command of the list reads back does. */
static struct json *gather_service(struct gathering *g, const struct json *said)
{
	struct arena *a = g->t->a;
	struct json *row = gather_one(g, json_get(said, "command"), true);

	json_sets(a, row, "source", json_get_text(said, "source", ""));
	if (json_get_bool(row, "ok", false))
		json_sets(a, row, "provenance", "evidence_gatherer_command");
	return row;
}

/* ---- all of them ---- */

static struct json *own_argv(const struct task *t)
{
	struct json *argv = json_new(t->a, JSON_ARRAY);

	for (size_t i = 0; i < t->spec->argc; i++)
		json_pushs(t->a, argv, t->spec->argv[i]);
	return argv;
}

/* Nobody asked for more, and the command is one that shows something by itself: its own end counts, and it is not run twice. */
static bool reuse(struct gathering *g, struct json *results)
{
	struct task *t = g->t;
	const struct json *argv = own_argv(t);
	const char *const *words, *why;
	size_t n;

	const struct json *prefix = prefix_of(g, argv, false, &why);
	if (!prefix)
		return false;
	struct json *row = begin_row(g, argv, &words, &n);
	json_set(t->a, row, "allowlist_prefix", json_copy(t->a, prefix));
	json_sets(t->a, row, "kind", evidence_kind(prefix));
	json_sets(t->a, row, "task_id", t->id);
	json_setb(t->a, row, "reused", true);
	put_end(g, row, t->result);
	json_push(t->a, results, row);
	return true;
}

/* Where it is to be verified: once more, independent of the first. */
static bool again(struct gathering *g, struct json *results)
{
	const struct json *argv = own_argv(g->t);
	const char *why;

	if (!prefix_of(g, argv, false, &why))
		return false;
	json_push(g->t->a, results, gather_one(g, argv, false));
	return true;
}

static struct json *limits_of(struct gathering *g)
{
	struct arena *a = g->t->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "max_commands", g->rules.max_commands);
	json_seti(a, doc, "timeout_seconds", g->rules.timeout_seconds);
	json_seti(a, doc, "output_chars", g->rules.output_chars);
	return doc;
}

static int64_t count_of(const struct json *list)
{
	return list ? list->n : 0;
}

static struct json *payload(struct gathering *g, struct json *results, struct json *services)
{
	struct arena *a = g->t->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "schema_version", 1);
	json_sets(a, doc, "task_id", g->t->id);
	json_sets(a, doc, "created_at", iso(g->t, g->t->k->sys->now_us(g->t->k->sys)));
	json_sets(a, doc, "workspace", g->t->k->ws->root);
	json_setb(a, doc, "ok", !g->why);
	json_sets(a, doc, "status", g->why ? "failed" : "passed");
	json_sets(a, doc, "reason", g->why);
	json_set(a, doc, "limits", limits_of(g));
	json_sets(a, doc, "allowlist", g->origin);
	json_setb(a, doc, "tests_passed", g->tests_passed);
	json_seti(a, doc, "requested_command_count",
		count_of(g->t->spec->evidence_commands) + count_of(g->t->spec->service_evidence));
	json_set(a, doc, "command_results", results);
	json_set(a, doc, "service_results", services);
	return doc;
}

bool task_is_to_gather(const struct run_spec *spec)
{
	return spec->evidence_commands || spec->service_evidence;
}

bool task_gather(struct task *t)
{
	struct gathering g = { .t = t, .is_interrupted = t->result->interrupted };
	struct json *results = json_new(t->a, JSON_ARRAY), *services = json_new(t->a, JSON_ARRAY);
	const struct run_spec *spec = t->spec;

	if (t->spec->is_evidence || t->spec->session)
		return true;
	read_rules(&g);
	if (!task_is_to_gather(spec) && !(spec->verified ? again(&g, results) : reuse(&g, results)))
		return true;
	json_each (argv, spec->evidence_commands)
		json_push(t->a, results, gather_one(&g, argv, false));
	json_each (said, spec->service_evidence)
		json_push(t->a, services, gather_service(&g, said));
	workspace_stand(t->k->sys, t->a, t->k->ws, t->spec->cwd); /* the runs have left it */
	t->gathered = payload(&g, results, services);
	return !g.why;
}

/* ---- on record ---- */

void task_gathered_refs(const struct task *t, struct json *refs)
{
	bool has_tests = false;

	if (!json_get_bool(t->gathered, "ok", false))
		return;
	json_each (one, refs)
		has_tests |= text_eq(json_text(one), "test_result:passed");
	if (!has_tests && json_get_bool(t->gathered, "tests_passed", false))
		json_pushs(t->a, refs, "test_result:passed");
	json_pushs(t->a, refs, "verification_result:passed");
	json_each (one, json_get(t->gathered, "service_results"))
		json_push(t->a, refs,
			json_stringf(t->a, "service_readback:%s", json_get_text(one, "source", "")));
}

static struct json *files_of(struct task *t)
{
	static const char file[] = "filesystem_stat:";
	struct json *list = json_new(t->a, JSON_ARRAY);

	json_each (ref, json_get(t->row, "evidence_refs")) {
		const char *text = json_text(ref), *mark = strrchr(text, '#');
		struct json *one = json_new(t->a, JSON_OBJECT);
		if (!text_starts(text, file) || !mark)
			continue;
		const char *path = text + strlen(file);
		json_sets(t->a, one, "path", arena_strndup(t->a, path, (size_t)(mark - path)));
		json_setb(t->a, one, "exists", !text_eq(mark, "#absent"));
		json_sets(t->a, one, "evidence_ref", text);
		json_push(t->a, list, one);
	}
	return list;
}

/* Output stays in the bundle. */
static struct json *short_rows(struct arena *a, const struct json *rows)
{
	static const char *const kept[] = { "source", "provenance", "command_preview", "kind", "status", "ok",
		"exit_code", "reason", "task_id", "reused", "duration_ms" };
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (row, rows) {
		struct json *one = json_new(a, JSON_OBJECT);
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			if (json_get(row, kept[i]))
				json_set(a, one, kept[i], json_copy(a, json_get(row, kept[i])));
		json_push(a, list, one);
	}
	return list;
}

static void unverified(struct task *t, const char *why)
{
	json_sets(t->a, t->row, "verification_reason", why);
	json_sets(t->a, t->row, "blocked_reason", why);
	json_sets(t->a, t->row, "next_action", "mend it, and run it again with the same evidence");
	t->report->message = arena_printf(t->a, "VERIFICATION FAILED: %s", why);
	task_hint(t, "the command itself ended with 0; helm task show lists what was run to verify it");
}

/* The row has the digest of the bundle's file, and a receipt has that of the row. */
void task_put_gathered(struct task *t)
{
	static const char *const kept[] = { "ok", "status", "reason", "allowlist",
		"requested_command_count" };
	struct arena *a = t->a;
	struct json *doc = t->gathered, *told = json_new(a, JSON_OBJECT);

	if (!doc)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		json_set(a, told, kept[i], json_copy(a, json_get(doc, kept[i])));
	json_set(a, told, "command_results", short_rows(a, json_get(doc, "command_results")));
	if (json_get(doc, "service_results")->n)
		json_set(a, told, "service_results", short_rows(a, json_get(doc, "service_results")));
	json_set(a, doc, "file_results", files_of(t));
	if (task_is_to_gather(t->spec)) {
		const char *digest = task_keep(t, KEPT_IN, doc);
		json_sets(a, told, "artifact", arena_printf(a, TASK_BUNDLES "/%s/" KEPT_IN, t->id));
		json_sets(a, told, "sha256", digest);
	}
	json_set(a, t->row, "evidence_gathering", told);
	json_sets(a, t->happened, "verification", json_get_text(doc, "status", ""));
	if (json_get_bool(doc, "ok", false))
		return;
	unverified(t, json_get_text(doc, "reason", ""));
}

const char *task_put_criteria(struct task *t, const char *status)
{
	const struct json *gate = json_get(t->row, "finalization_gate");
	struct buf why;

	if (!t->spec->verified || !text_eq(status, "completed") || json_get_bool(gate, "ok", false))
		return status;
	buf_init(&why, t->a);
	json_each (one, json_get(gate, "claims"))
		if (!json_get_bool(one, "ok", false))
			buf_addf(&why, "%s%s (%s)",
				why.n ? "; " : "nothing shows: ", json_get_text(one, "claim", ""),
				json_get_text(one, "evidence_type", ""));
	t->is_unverified = true;
	unverified(t, why.n ? why.p : "it wrote outside of its plan");
	json_sets(t->a, t->row, "operational_status", "needs_verification");
	return "needs_verification";
}
