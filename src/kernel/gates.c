/* gates.c — files of known kinds are read here; everything else is a command, and so a guarded run. */
#include "kernel/gates.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/task.h"

#include <fcntl.h>
#include <string.h>

#define GATE_POLICY "references/gate_policy.json"
enum { MAX_FILE = 16 << 20, GATE_SECONDS = 60, BEFORE_SECONDS = 1800 };

static int read_policy(struct kernel *k, struct arena *a, struct json **ret, struct err *e)
{
	int rc = doc_read(k->sys, a, k->ws->root_fd, GATE_POLICY, 1 << 20, FILE_BENEATH, ret, e);

	if (rc == E_MISSING)
		*ret = json_new(a, JSON_OBJECT);
	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		return err_set(e, E_INPUT, "GATE_POLICY", GATE_POLICY " must be an object");
	return rc == E_MISSING ? OK : rc;
}

static struct json *told(
	struct arena *a, const char *name, const char *path, const char *status, const char *detail)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "name", name);
	json_sets(a, one, "path", path);
	json_sets(a, one, "status", status);
	json_sets(a, one, "detail", detail);
	return one;
}

/* The words of a list, with the path in the place of {path}. */
static const char *const *words_of(
	struct arena *a, const struct json *list, const char *path, size_t *ret_n, struct err *e)
{
	const char **argv;

	if (!json_is(list, JSON_ARRAY) || !list->n) {
		(void)err_set(e, E_INPUT, "GATE_POLICY", GATE_POLICY ": a command must be a list of words");
		return NULL;
	}
	argv = arena_zalloc(a, list->n + 1, sizeof(*argv));
	for (size_t i = 0; i < list->n; i++) {
		const char *word = json_text(list->items[i]);
		if (!word) {
			(void)err_set(
				e, E_INPUT, "GATE_POLICY", GATE_POLICY ": a command must be a list of texts");
			return NULL;
		}
		argv[i] = path && text_eq(word, "{path}") ? path : word;
	}
	*ret_n = list->n;
	return argv;
}

static int run(struct kernel *k, struct arena *a, const char *profile, const char *name, const char *task_id,
	const char *const *argv, size_t argc, int64_t seconds, struct run_report *ret, struct err *e)
{
	const struct run_spec spec = { .profile = profile,
		.argv = argv,
		.argc = argc,
		.task_name = arena_printf(a, "gate: %s", name),
		.parent_task_id = task_id,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = seconds,
		.cwd = k->ws->root };

	return task_run(k, a, &spec, ret, e);
}

/* ---- files ---- */

static int gate_file(struct kernel *k, struct arena *a, const struct json *by, const char *path,
	struct json **ret, struct err *e)
{
	const char *base = path_base(path), *dot = strrchr(base, '.'),
		   *kind = dot && dot > base ? dot + 1 : "";
	const struct json *command = json_get(by, kind);
	struct bytes text;
	struct err why = { 0 };
	size_t argc;

	if (text_eq(kind, "yml"))
		kind = "yaml";
	if (text_eq(kind, "json") || text_eq(kind, "yaml") || text_eq(kind, "toml")) {
		int rc = file_read(k->sys, a, path[0] == '/' ? AT_FDCWD : k->ws->root_fd, path, MAX_FILE,
			FILE_FOLLOW, &text, &why);
		if (rc == OK)
			rc = written_parse(a, kind, path, text, &why);
		*ret = told(a, kind, path, rc ? "failed" : "passed", rc ? arena_strdup(a, why.text) : NULL);
		return OK;
	}
	if (!command) {
		*ret = told(a, kind, path, "skipped", "no gate is known for it");
		return OK;
	}
	const char *const *argv = words_of(a, command, path, &argc, e);
	struct run_report report;
	if (!argv)
		return E_INPUT;
	int rc = run(k, a, "inspect_local", kind, NULL, argv, argc, GATE_SECONDS, &report, e);
	if (rc == OK)
		*ret = told(a, kind, path, report.exit_code ? "failed" : "passed",
			report.exit_code ? arena_printf(a, "it ended with %d (task %s)", report.exit_code,
						   report.task_id)
					 : NULL);
	return rc;
}

int gates_files(struct kernel *k, struct arena *a, const char *const *files, size_t n, struct json **ret,
	struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY), *policy, *one;
	bool is_ok = true;
	int rc = read_policy(k, a, &policy, e);

	for (size_t i = 0; i < n && rc == OK; i++) {
		rc = gate_file(k, a, json_get(policy, "by_extension"), files[i], &one, e);
		if (rc)
			break;
		json_push(a, list, one);
		is_ok &= !text_eq(json_get_text(one, "status", ""), "failed");
	}
	json_setb(a, doc, "ok", is_ok);
	json_set(a, doc, "gates", list);
	*ret = doc;
	return rc;
}

/* ---- before completion ---- */

int gates_before_complete(
	struct kernel *k, struct arena *a, const char *task_id, struct json **ret, struct err *e)
{
	struct json *list = json_new(a, JSON_ARRAY), *policy;
	int rc = read_policy(k, a, &policy, e);

	json_each (gate, json_get(policy, "before_complete")) {
		const char *name = json_get_text(gate, "name", "gate"),
			   *profile = json_get_text(gate, "profile", "inspect_local");
		struct run_report report;
		size_t argc;
		const char *const *argv = rc ? NULL : words_of(a, json_get(gate, "run"), NULL, &argc, e);
		if (rc || !argv)
			return rc ? rc : E_INPUT;
		/* The file lies in the tree, and a tree does not choose a profile that reaches further. */
		if (!text_eq(profile, "inspect_local") && !text_eq(profile, "workspace_edit"))
			return err_set(e, E_INPUT, "GATE_POLICY",
				GATE_POLICY
				": a gate runs under inspect_local or workspace_edit, not '%.60s'",
				profile);
		rc = run(k, a, profile, name, task_id, argv, argc, BEFORE_SECONDS, &report, e);
		if (rc)
			return rc;
		if (report.exit_code)
			return err_set(e, E_INPUT, "GATE_FAILED",
				"the gate '%.60s' does not hold (task %s ended with %d), so '%s' is not completed",
				name, report.task_id, report.exit_code, task_id);
		struct json *one = told(a, name, NULL, "passed", NULL);
		json_sets(a, one, "task_id", report.task_id);
		json_push(a, list, one);
	}
	*ret = list;
	return rc;
}
