/* cmd_adopt.c — survey, adopt, onboard, sources: memories of other programs as read-only sources of context. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/kernel.h"
#include "kernel/sources.h"
#include "kernel/workspace.h"

#include <string.h>

#define KINDS "openclaw|hermes|generic|helm|claude-code|codex"

const struct opt adopt_opts[] = {
	{ "from-path", OPT_VALUE, "DIR", "the directory to read from; nothing in it is ever written", NULL,
		true },
	{ "name", OPT_VALUE, "NAME", "how it is called here (default KIND-DIRECTORY)", NULL, false },
	{ "kind", OPT_VALUE, "KIND", "what it is (default: told by what is in it)", KINDS, false },
	{ "dry-run", OPT_FLAG, NULL, "say what would be adopted, and change nothing", NULL, false },
	{ 0 },
};
const struct opt onboard_opts[] = {
	{ "use-detected", OPT_FLAG, NULL, "everything that 'helm survey' found", NULL, false },
	{ "adopt-openclaw", OPT_LIST, "DIR", "an OpenClaw workspace", NULL, false },
	{ "adopt-hermes", OPT_LIST, "DIR", "a Hermes directory", NULL, false },
	{ "adopt-obsidian", OPT_LIST, "DIR", "a note vault", NULL, false },
	{ "adopt", OPT_LIST, "DIR[=NAME]", "any other directory", NULL, false },
	{ "dry-run", OPT_FLAG, NULL, "print the plan, and change nothing", NULL, false },
	{ "skip-checks", OPT_FLAG, NULL, "do not check the workspace afterwards", NULL, false },
	{ 0 },
};
const struct opt sources_opts[] = {
	{ "remove", OPT_VALUE, "NAME", "end the adoption of this source; what it holds stays where it is",
		NULL, false },
	{ 0 },
};

static const char *safe(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

static void say_warnings(struct cli *r, const struct json *warnings)
{
	json_each (one, warnings)
		warn(r, "%s", safe(r, json_text(one)));
}

/* ---- survey ---- */

static struct json *survey_of(struct cli *r)
{
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	struct json *warnings = json_new(r->a, JSON_ARRAY);
	struct json *doc = sources_survey(&at, r->ws->home, layout_name(r->ws->layout), warnings);

	say_warnings(r, warnings);
	return doc;
}

static void print_survey(struct cli *r, const struct json *doc)
{
	const struct json *adopted = json_get(doc, "adopted_sources");

	out(r, "workspace=%s\nlayout=%s\nadopted_sources=%u\n", safe(r, json_get_text(doc, "workspace", "")),
		json_get_text(doc, "layout", ""), adopted->n);
	json_each_member (m, json_get(doc, "detected_candidates"))
		json_each (path, m->value)
			out(r, "detected_%s=%s\n", m->name, safe(r, json_text(path)));
	out(r, "obsidian_app_installed=%s\n",
		json_get_bool(doc, "obsidian_app_installed", false) ? "yes" : "no");
	json_each (action, json_get(doc, "actions"))
		out(r, "next=%s\n", safe(r, json_text(action)));
}

int cmd_survey(struct cli *r, struct err *e)
{
	struct json *doc = survey_of(r);

	(void)e;
	if (r->is_json)
		out_json(r, doc);
	else
		print_survey(r, doc);
	return 0;
}

/* ---- adopt ---- */

static int plan_one(
	struct cli *r, const char *path, const char *kind, const char *name, struct json **ret, struct err *e)
{
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	struct adoption what = { .root = workspace_named(r->sys, r->a, path), .kind = kind, .name = name };
	enum layout l = workspace_look(r->sys, r->a, what.root, json_new(r->a, JSON_ARRAY), &what.state_name);

	if (!kind)
		what.kind = l == LAYOUT_UNKNOWN ? "generic" : layout_name(l);
	if (text_eq(what.kind, "generic"))
		what.state_name = ".helm";
	return source_plan(&at, &what, ret, e);
}

/* The workspace is made first where there is none yet. */
static int adopt_one(struct cli *r, const struct json *record, const char **ret_receipt_id, struct err *e)
{
	struct kernel k = { 0 };
	struct json *done;
	bool new_key;
	int rc = r->ws->state_fd < 0 ? make_workspace(r, false, &done, &new_key, e) : OK;

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = sources_adopt(&k, r->a, record, ret_receipt_id, e);
	kernel_close(&k);
	return rc;
}

int cmd_adopt(struct cli *r, struct err *e)
{
	struct json *record;
	const char *receipt = NULL;
	int rc = plan_one(r, opt_text(r, "from-path", ""), opt_text(r, "kind", NULL),
		opt_text(r, "name", NULL), &record, e);

	if (rc == OK && !opt_flag(r, "dry-run"))
		rc = adopt_one(r, record, &receipt, e);
	if (rc)
		return rc;
	json_sets(r->a, record, "receipt_id", receipt);
	if (r->is_json) {
		out_json(r, record);
		return 0;
	}
	const char *name = json_get_text(record, "name", "");
	out(r, "helm_workspace=%s\nadopted_name=%s\nadopted_kind=%s\nadopted_root=%s\n", safe(r, r->ws->root),
		name, json_get_text(record, "kind", ""), safe(r, json_get_text(record, "root", "")));
	if (receipt)
		out(r, "migration_note=%s/%s/%s.json\nreceipt=%s\n", safe(r, r->ws->state_dir), ONBOARDING,
			name, receipt);
	else
		out(r, "dry run: nothing was changed\n");
	return 0;
}

/* ---- onboard ---- */

static void add_plan(struct cli *r, struct json *plan, const char *kind, const char *path, const char *name)
{
	struct json *item = json_new(r->a, JSON_OBJECT);

	path = workspace_named(r->sys, r->a, path);
	json_each (old, plan) {
		if (text_eq(json_get_text(old, "kind", ""), kind) &&
			text_eq(json_get_text(old, "path", ""), path))
			return;
		if (text_eq(json_get_text(old, "name", ""), name)) {
			/* A second one of its kind is called after its directory. */
			const char *base = path_base(path);
			if (text_eq(base, "memory") || text_eq(base, "memories"))
				base = path_base(arena_strndup(r->a, path, strlen(path) - strlen(base) - 1));
			name = arena_printf(r->a, "%.*s-%s", (int)(strcspn(name, "-")), name,
				base[strspn(base, "-._")] ? base + strspn(base, "-._") : "other");
		}
	}
	json_sets(r->a, item, "kind", kind);
	json_sets(r->a, item, "path", path);
	json_sets(r->a, item, "name", name);
	json_sets(r->a, item, "command",
		arena_printf(r->a, "helm adopt --path %s --from-path %s --name %s --kind %s",
			text_quote(r->a, r->ws->root), text_quote(r->a, path), text_quote(r->a, name), kind));
	json_push(r->a, plan, item);
}

static const struct {
	const char *found, *option, *kind, *name;
} ways[] = {
	{ "openclaw", "adopt-openclaw", "openclaw", "openclaw-main" },
	{ "hermes", "adopt-hermes", "hermes", "hermes-main" },
	{ "obsidian", "adopt-obsidian", "generic", "obsidian-main" },
	{ "claude-code", NULL, "claude-code", "claude-code-main" },
	{ "codex", NULL, "codex", "codex-main" },
	{ "helm", NULL, "helm", "helm-main" },
};

static struct json *plan_of(struct cli *r, const struct json *survey)
{
	struct json *plan = json_new(r->a, JSON_ARRAY);
	const char **paths;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (opt_flag(r, "use-detected"))
			json_each (path, json_get(json_get(survey, "detected_candidates"), ways[i].found))
				add_plan(r, plan, ways[i].kind, json_text(path), ways[i].name);
		n = ways[i].option ? opt_list(r, ways[i].option, &paths) : 0;
		for (size_t k = 0; k < n; k++)
			add_plan(r, plan, ways[i].kind, paths[k], ways[i].name);
	}
	n = opt_list(r, "adopt", &paths);
	for (size_t k = 0; k < n; k++) {
		const char *equals = strrchr(paths[k], '='), *dir = paths[k];
		if (equals)
			dir = arena_strndup(r->a, paths[k], (size_t)(equals - paths[k]));
		add_plan(r, plan, "generic", dir,
			equals ? equals + 1
			       : arena_printf(r->a, "generic-%s", path_base(path_clean(r->a, dir))));
	}
	return plan;
}

/* Everything is looked at before anything is done. */
static int apply(struct cli *r, struct json *plan, struct json *applied, struct err *e)
{
	struct json *records = json_new(r->a, JSON_ARRAY), *record;
	const char *receipt;
	int rc = OK;

	json_each (item, plan) {
		rc = plan_one(r, json_get_text(item, "path", ""), json_get_text(item, "kind", ""),
			json_get_text(item, "name", ""), &record, e);
		if (rc)
			return rc;
		json_push(r->a, records, record);
	}
	json_each (one, records) {
		rc = adopt_one(r, one, &receipt, e);
		if (rc)
			return rc;
		json_sets(r->a, one, "receipt_id", receipt);
		json_push(r->a, applied, one);
		if (!r->is_json)
			out(r, "applied=%s %s\n", json_get_text(one, "name", ""),
				safe(r, json_get_text(one, "root", "")));
	}
	return OK;
}

/* Is the workspace as it should be now?  The same that doctor and validate ask. */
static bool check_all(struct cli *r, struct json *checks)
{
	struct doctor_options options = { .skip_discovery = true };
	struct profiles profiles;
	struct err e = { 0 };
	struct json *doc = doctor_run(r->sys, r->a, r->ws, &options);
	bool healthy = json_get_bool(doc, "healthy", false),
	     valid = workspace_profiles(r->sys, r->a, r->ws, &profiles, &e) == OK;

	json_setb(r->a, checks, "doctor", healthy);
	json_setb(r->a, checks, "profiles", valid);
	if (!r->is_json) {
		out(r, "checked=doctor %s\nchecked=profiles %s\n", healthy ? "ok" : "fail",
			valid ? "ok" : "fail");
		json_each (row, json_get(doc, "checks"))
			if (!json_get_bool(row, "ok", false))
				out(r, "fail=%s %s\n", safe(r, json_get_text(row, "name", "")),
					safe(r, json_get_text(row, "detail", "")));
	}
	return healthy && valid;
}

static void print_plan(struct cli *r, const struct json *plan)
{
	const char *root = text_quote(r->a, r->ws->root);

	json_each (item, plan)
		out(r, "plan=%s\n", safe(r, json_get_text(item, "command", "")));
	if (plan->n && !opt_flag(r, "skip-checks"))
		out(r, "plan=helm doctor --path %s\nplan=helm validate --path %s\nplan=helm status --path %s\n",
			safe(r, root), safe(r, root), safe(r, root));
}

int cmd_onboard(struct cli *r, struct err *e)
{
	struct json *doc = survey_of(r), *plan = plan_of(r, doc), *applied = json_new(r->a, JSON_ARRAY),
		    *checks = json_new(r->a, JSON_OBJECT);
	bool is_dry = opt_flag(r, "dry-run") || !plan->n, ok = true;

	json_set(r->a, doc, "plan", plan);
	if (!r->is_json) {
		print_survey(r, doc);
		if (!plan->n)
			out(r, "Nothing was chosen: --use-detected takes what was found, --adopt DIR another directory.\n");
		else if (is_dry)
			print_plan(r, plan);
	}
	int rc = is_dry ? OK : apply(r, plan, applied, e);
	if (rc)
		return rc;
	if (!is_dry && !opt_flag(r, "skip-checks"))
		ok = check_all(r, checks);
	if (r->is_json) {
		if (!is_dry) {
			json_set(r->a, doc, "applied", applied);
			json_set(r->a, doc, "checks", checks);
		}
		out_json(r, doc);
	}
	return ok ? 0 : EXIT_NO;
}

/* ---- sources ---- */

static int drop_source(struct cli *r, const char *name, struct err *e)
{
	struct kernel k = { 0 };
	const char *receipt = NULL;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	rc = sources_drop(&k, r->a, name, &receipt, e);
	kernel_close(&k);
	if (rc)
		return rc;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "removed", name);
	json_sets(r->a, doc, "receipt_id", receipt);
	out_result(r, doc);
	return 0;
}

int cmd_sources(struct cli *r, struct err *e)
{
	struct context_place at = sources_place(r->sys, r->a, r->ws);
	struct json *warnings = json_new(r->a, JSON_ARRAY);

	if (opt_text(r, "remove", NULL))
		return drop_source(r, opt_text(r, "remove", NULL), e);
	struct json *list = sources_list(&at, warnings);
	say_warnings(r, warnings);
	if (r->is_json || list->n)
		out_result(r, list);
	else
		out(r, "No source was adopted; 'helm survey' says what there is.\n");
	return 0;
}
