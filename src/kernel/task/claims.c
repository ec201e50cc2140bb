/* claims.c — what a run shows about itself when it has ended: evidence, claims, and whether they hold (remember/claim.h).
 *
 * Evidence is only what is seen here: how the process ended, what the files are now that it changed.  Files are read within a bound, because
 * a run's end must not take longer than the run; one that is too large is known by its size. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/task/parts.h"
#include "remember/claim.h"
#include "remember/consensus.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MOST = 64, FILE_BYTES = 1 << 20, ALL_BYTES = 4 << 20 };

/* ---- evidence ---- */

/* Words with which such a command runs no tests, whatever it ends with. */
static bool only_looks(const char *program, const char *const *argv, size_t argc)
{
	static const char *const words[] = { "--version", "--help", "-h", "--collect-only", "--co", "-list",
		"--list", "--no-run", "--dry-run", "--just-print", "--recon", "--question", "--touch",
		"--show-only", "--print-labels", "-N", "--fixtures", "--markers" };
	bool is_make = text_eq(program, "make"), is_python = strstr(program, "py");

	for (size_t i = 1; i < argc; i++) {
		const char *w = argv[i];
		bool is_short = w[0] == '-' && w[1] != '-';
		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			if (text_starts(w, words[k]) && (!w[strlen(words[k])] || w[strlen(words[k])] == '='))
				return true;
		/* Letters stand together there; of pytest -n is how many at once. */
		if (is_make && is_short && w[strcspn(w, "nqthv")])
			return true;
		if (!is_python && text_eq(w, "-n"))
			return true;
		if ((text_eq(program, "go") && text_eq(w, "-c")) || (is_python && text_eq(w, "-V")))
			return true;
	}
	return false;
}

/* What the work brings itself is whatever it wants to be. */
static bool is_own_program(const struct task *t)
{
	const char *path = t->program.path;
	char *real = path ? realpath(path, NULL) : NULL;
	const char *const names[] = { real,
		real ? path_clean(t->a, path) : NULL }; /* a link is its own, too */
	bool is_own = !real;

	for (size_t i = 0; !is_own && i < ARRAY_SIZE(names); i++)
		is_own = path_is_below(names[i], task_tree(t)) || path_is_below(names[i], t->k->ws->root);

	free(real);
	return is_own;
}

/* Words that a command of tests begins with. */
static bool is_test(const char *const *argv, size_t argc)
{
	static const char *const known[][2] = { { "pytest", NULL }, { "py.test", NULL }, { "ctest", NULL },
		{ "go", "test" }, { "cargo", "test" }, { "npm", "test" }, { "make", "test" },
		{ "make", "check" } };
	const char *program = argc ? path_base(argv[0]) : "";

	if (only_looks(program, argv, argc))
		return false;
	if (text_starts(program, "python") && argc > 2 && text_eq(argv[1], "-m"))
		return text_eq(argv[2], "pytest") || text_eq(argv[2], "unittest");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(program, known[i][0]) &&
			(!known[i][1] || (argc > 1 && text_eq(argv[1], known[i][1]))))
			return true;
	return false;
}

static char *file_evidence(struct sys *s, struct arena *a, int root, const char *path, size_t most)
{
	struct bytes text;
	struct stat st;
	struct err e;
	struct arena own = { 0 };
	char *ref = NULL;

	if (s->stat(s, root, path, &st, AT_SYMLINK_NOFOLLOW))
		return arena_printf(a, "filesystem_stat:%s#absent", path);
	if (S_ISREG(st.st_mode) && (size_t)st.st_size <= most &&
		file_read(s, &own, root, path, most, FILE_BENEATH, &text, &e) == OK)
		ref = arena_printf(a, "filesystem_stat:%s#sha256=%s", path, sha256_hex(&own, text.p, text.n));
	arena_done(&own);
	return ref ? ref : arena_printf(a, "filesystem_stat:%s#size=%lld", path, (long long)st.st_size);
}

static struct json *evidence(struct task *t, const struct json *touched)
{
	struct arena *a = t->a;
	struct json *list = json_new(a, JSON_ARRAY);
	size_t left = ALL_BYTES, n = 0;

	if (t->result) {
		json_push(a, list, json_stringf(a, "process_exit:%d", t->result->exit_code));
		if (!t->result->exit_code && is_test(t->spec->argv, t->spec->argc) && !is_own_program(t))
			json_pushs(a, list, "test_result:passed");
	}
	if (t->plan)
		json_pushs(a, list, "consensus_plan:approved");
	task_gathered_refs(t, list);
	AUTO(close_fd) int root = -1;
	if (json_is(touched, JSON_ARRAY) && touched->n)
		root = t->k->sys->open(t->k->sys, AT_FDCWD, task_tree(t), O_RDONLY | O_DIRECTORY, 0, 0);
	json_each (path, touched) {
		struct stat st;
		if (root < 0 || n++ == FILES_MOST)
			break;
		size_t most = left < FILE_BYTES ? left : FILE_BYTES;
		json_pushs(a, list, file_evidence(t->k->sys, a, root, json_text(path), most));
		if (t->k->sys->stat(t->k->sys, root, json_text(path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			(size_t)st.st_size <= most)
			left -= (size_t)st.st_size;
	}
	return list;
}

/* ---- claims ---- */

void task_put_claims(struct task *t, const char *status)
{
	struct arena *a = t->a;
	const struct json *touched = json_get(t->row, "touched_paths");
	struct json *refs = evidence(t, touched), *scope = task_plan_scope(t, touched);
	const struct claim_refuter against = { .has_scope_violation =
						       scope && !json_get_bool(scope, "ok", false),
		.is_pending = text_eq(status, "handoff_required") };

	if (scope)
		json_set(a, t->row, "scope_gate", scope);
	if (json_get_bool(scope, "ok", false))
		json_pushs(a, refs, "scope_gate:ok");
	json_set(a, t->row, "evidence_refs", refs);
	json_sets(a, t->row, "operational_status", status);
	/* What has failed claims nothing. */
	if (!text_eq(status, "completed") && !against.is_pending)
		return;
	/* What whoever started it has promised. */
	struct json *claims = t->answer ? json_new(a, JSON_ARRAY) : claims_of_run(a, refs);
	json_each (one, json_get(json_get(t->row, "meta"), "completion_claims"))
		json_push(a, claims, json_copy(a, one));
	json_each (one, t->spec->verified ? consensus_criteria(a, t->plan, refs) : NULL)
		json_push(a, claims, one);
	/* That it ended with another code than 0 is its answer, and nothing that it did. */
	if (t->answer && !claims->n)
		return;
	struct json *gate = claims_judge(a, claims, refs, &against);
	json_set(a, t->row, "completion_claims", claims);
	json_set(a, t->row, "finalization_gate", gate);
	json_sets(a, t->row, "operational_status", claims_status(status, gate));
	if (text_eq(status, "completed") && !json_get_bool(gate, "ok", false))
		task_hint(t,
			json_get(scope, "reason")
				? "not all could be compared with its plan, so it is not said to hold"
				: against.has_scope_violation
				? "it wrote outside of its plan: helm task show lists what"
				: "it claims more than it shows: helm task show lists what does not hold");
}

/* ---- completed by hand ---- */

struct showing {
	struct sys *s;
	struct arena *a;
	const struct workspace *ws;
	const struct json *row;
	struct json *seen; /* what is given and holds */
};

static bool is_on_record(const struct showing *x, const char *ref)
{
	json_each (one, json_get(x->row, "evidence_refs"))
		if (json_text(one) && text_eq(json_text(one), ref))
			return true;
	return false;
}

/* A path, or a path and what it was when somebody looked. */
static int check_file(struct showing *x, const char *ref, const char *value, struct err *e)
{
	const char *mark = strrchr(value, '#');
	char *path = mark ? arena_strndup(x->a, value, (size_t)(mark - value)) : arena_strdup(x->a, value),
	     *now = file_evidence(x->s, x->a, x->ws->root_fd, path_clean(x->a, path), FILE_BYTES);

	if (path[0] == '/' || text_starts(path_clean(x->a, path), ".."))
		return err_set(e, E_USAGE, "TASK_EVIDENCE", "'%.200s' is no file of the workspace", path);
	if (mark ? !text_eq(now, ref) : text_ends(now, "#absent"))
		return err_set(
			e, E_USAGE, "TASK_EVIDENCE", "'%.200s' is not what is there: %.300s", ref, now);
	json_pushs(x->a, x->seen, now);
	return OK;
}

static int check_task(struct showing *x, const char *ref, const char *id, struct err *e)
{
	struct json *row = NULL;

	if (!text_is_id(id) || row_newest(x->s, x->a, x->ws->state_fd, id, &row, e) || !row ||
		!text_eq(json_get_text(row, "status", ""), "completed"))
		return err_set(e, E_USAGE, "TASK_EVIDENCE",
			"'%.200s' shows nothing: there is no such task, or it is not completed", ref);
	json_pushs(x->a, x->seen, ref);
	return OK;
}

static int check_checkpoint(struct showing *x, const char *ref, const char *id, struct err *e)
{
	struct checkpoint_store store;
	struct json *record;
	int rc = workspace_checkpoints(x->s, x->a, x->ws, false, &store, e);

	if (rc)
		return rc;
	rc = checkpoint_find(&store, id, &record, e);
	checkpoint_close(&store);
	if (rc)
		return err_set(e, E_USAGE, "TASK_EVIDENCE",
			"'%.200s' shows nothing: there is no such checkpoint", ref);
	json_pushs(x->a, x->seen, ref);
	return OK;
}

/* What the record can answer is held against it; anything else is the word of whoever says it, and counts as that. */
static int check_one(struct showing *x, const char *ref, struct err *e)
{
	static const char *const seen_by_runs[] = { "test_result", "service_readback", "verification_result",
		"consensus_plan" };
	const char *colon = strchr(ref, ':'), *kind = arena_strndup(x->a, ref, (size_t)(colon - ref));
	const struct json *code = json_get(x->row, "exit_code");

	if (text_eq(kind, "filesystem_stat") || text_eq(kind, "file"))
		return check_file(x, ref, colon + 1, e);
	if (text_eq(kind, "task") || text_eq(kind, "run"))
		return check_task(x, ref, colon + 1, e);
	if (text_eq(kind, "checkpoint"))
		return check_checkpoint(x, ref, colon + 1, e);
	if (text_eq(kind, "process_exit") || text_eq(kind, "exit_code")) {
		const char *was = code && !json_is(code, JSON_NULL)
			? arena_printf(x->a, "%lld", (long long)json_get_int(x->row, "exit_code", -1))
			: NULL;
		if (!was || !text_eq(was, colon + 1))
			return err_set(e, E_USAGE, "TASK_EVIDENCE",
				"'%.200s' is not on record: its process %s%s", ref,
				was ? "ended with " : "is not", was ? was : " there");
		json_pushs(x->a, x->seen, arena_printf(x->a, "process_exit:%s", was));
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen_by_runs); i++)
		if (text_eq(kind, seen_by_runs[i]) && !is_on_record(x, ref))
			return err_set(e, E_USAGE, "TASK_EVIDENCE",
				"'%.200s' is not on record: only a run shows that", ref);
	return OK;
}

int task_complete_check(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct task_change *c, struct json *row, struct err *e)
{
	struct json *refs = json_new(a, JSON_ARRAY), *claims = json_new(a, JSON_ARRAY);
	struct showing x = { s, a, ws, row, refs };
	int rc = OK;

	json_each (one, json_get(row, "evidence_refs"))
		json_push(a, refs, json_copy(a, one));
	for (size_t i = 0; i < c->evidence_count && rc == OK; i++)
		rc = check_one(&x, c->evidence[i], e);
	if (rc)
		return rc;
	json_each (one, json_get(row, "completion_claims"))
		json_push(a, claims, json_copy(a, one));
	json_each (one, c->claims)
		json_push(a, claims, json_copy(a, one));
	if (refs->n)
		json_set(a, row, "evidence_refs", refs);
	if (!claims->n)
		return OK;
	struct json *gate = claims_judge(a, claims, refs,
		&(struct claim_refuter){
			.has_scope_violation = !json_get_bool(json_get(row, "scope_gate"), "ok", true) });
	const struct json *missing = json_get(json_get(gate, "refuter"), "missing_claims");
	if (c->claims && !json_get_bool(gate, "ok", false))
		return err_set(e, E_USAGE, "TASK_CLAIM", "%s%.200s",
			missing->n ? "the record does not show what is claimed: "
				   : "it wrote outside of its plan, so it is not done",
			missing->n ? json_text(missing->items[0]) : "");
	json_set(a, row, "completion_claims", claims);
	json_set(a, row, "finalization_gate", gate);
	json_sets(a, row, "operational_status", claims_status("completed", gate));
	return OK;
}
