/* cmd_workspace.c — init, detect, doctor: make a workspace, tell what a directory is, and say whether
 * everything stands. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/kernel.h"
#include "kernel/posture.h"
#include "kernel/sources.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct opt init_opts[] = {
	{ "force", OPT_FLAG, NULL,
		"replace reference files by the shipped ones; changed ones are kept as FILE.bak, or FILE.bak.1, ...",
		NULL, false },
	{ 0 },
};
const struct opt doctor_opts[] = {
	{ "deep", OPT_FLAG, NULL, "also read everything: each receipt, each file of each checkpoint", NULL,
		false },
	{ "skip-discovery", OPT_FLAG, NULL, "do not look at hardware, providers and local model servers",
		NULL, false },
	{ 0 },
};

/* A new place stands alone when somebody makes it who is no agent.  Where a word about a place around it holds that says more
 * than the shipped defaults do, only a person at a terminal takes the new one out of it.  `ret_note`: why it does not stand alone. */
static int first_word(struct cli *r, const char **ret_note, struct err *e)
{
	const struct posture *p = posture_of(r->sys, r->ws);
	struct person who = { 0 };
	struct err why = { 0 };
	int rc = OK;

	if (p->stands_alone)
		return OK;
	rc = posture_binds(p) ? person_loosens(r, &who, &why) : person_is_outside(r->sys, r->a, r->ws, &why);
	key_free(&who.key);
	if (rc)
		*ret_note = arena_printf(r->a, "this place does not stand alone (%s)", why.text);
	bool is_person = rc == OK;
	rc = posture_begin(r->sys, r->a, r->ws, is_person, e);
	return rc || !is_person ? rc : sources_begin(r->sys, r->a, r->ws, e);
}

/* What was made now is opened as every later command will find it, under the name that it has now. */
static int look_again(struct cli *r, unsigned flags, struct err *e)
{
	struct workspace *made;
	int rc = workspace_open(r->sys, r->a, r->ws->root, flags, &made, e);

	if (rc)
		return rc;
	workspace_close(r->ws);
	r->ws = made;
	return OK;
}

/* Nothing can be recorded without a key, so that comes first.  Then the helm home knows the place, and only then it gets state: a run that
 * ends around it holds every workspace that it may have made itself. */
int make_workspace(struct cli *r, bool force, struct json **ret_done, bool *ret_new_key, struct err *e)
{
	const char *note = NULL;
	int rc = kernel_ensure_key(r->sys, r->a, ret_new_key, e);

	if (rc == OK)
		rc = workspace_make_root(r->sys, r->ws, e);
	if (rc == OK)
		rc = look_again(r, WORKSPACE_NEW, e);
	if (rc == OK)
		rc = first_word(r, &note, e);
	if (rc == OK)
		rc = workspace_init(r->sys, r->a, r->ws, force, ret_done, e);
	if (rc == OK && note)
		json_sets(r->a, *ret_done, "note", note);
	return rc ? rc : look_again(r, 0, e);
}

/* Running it again completes what is missing and changes nothing that is there, unless --force is given. */
/* Does every command that is typed here come to this workspace by itself? */
static bool is_found_from_here(struct cli *r)
{
	const char *named = r->sys->getenv(r->sys, "HELM_WORKSPACE");
	char *here = realpath(".", NULL), *there = named ? realpath(named, NULL) : NULL;
	bool is_here = named ? there && text_eq(there, r->ws->root)
			     : (here && path_is_below(here, r->ws->root)) ||
			(r->ws->helm_home && path_is_below(r->ws->root, r->ws->helm_home));

	free(here);
	free(there);
	return is_here;
}

static bool is_in_repository(struct cli *r)
{
	struct stat st;

	for (const char *dir = r->ws->root; *dir;) {
		if (r->sys->stat(r->sys, AT_FDCWD, arena_printf(r->a, "%s/.git", dir), &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			return true;
		dir = arena_strndup(r->a, dir, (size_t)(strrchr(dir, '/') - dir));
	}
	return false;
}

/* What git shows as new after this: files that were made outside the state, by what they lie in. */
static void say_untracked(struct cli *r, const struct json *created)
{
	const char *state = arena_printf(r->a, "%s/", r->ws->state_name), *last = "";
	struct buf names;

	buf_init(&names, r->a);
	json_each (made, created) {
		const char *path = json_text(made);
		size_t n = strcspn(path, "/"), whole = path[n] ? n + 1 : n;
		if (text_ends(path, "/") || text_starts(path, state) ||
			(strlen(last) == whole && text_starts(path, last)))
			continue;
		last = arena_strndup(r->a, path, whole);
		buf_addf(&names, "%s%s", names.n ? ", " : "", last);
	}
	if (names.n && is_in_repository(r))
		out(r, "note=git sees %s as new: commit them or not, as you like; it ignores %s\n", names.p,
			state);
}

/* Which sandbox runs will have, and where record and key go with the container. */
static void put_machine(struct cli *r, struct json *done)
{
	struct json *part = json_new(r->a, JSON_OBJECT);
	const char *place = machine_place(r->sys), *keep = machine_volume(r->sys, place, r->ws->helm_home);
	struct machine m;

	machine_look(r->sys, r->a, r->ws->helm_home, &m);
	json_sets(r->a, part, "kind", machine_unmet(&m) ? NULL : sandbox_kind_name(machine_sandbox(&m)));
	json_sets(r->a, part, "text", machine_line(r->a, &m));
	json_set(r->a, part, "unmet", guarantees_list(r->a, machine_unmet(&m)));
	json_sets(r->a, part, "place", place);
	json_sets(r->a, part, "keep", keep);
	json_set(r->a, done, "sandbox", part);
}

static void say_machine(struct cli *r, const struct json *part)
{
	const char *keep = json_get_text(part, "keep", NULL);

	out(r, "sandbox=%s\n", json_get_text(part, "text", ""));
	if (keep)
		out(r, "note=This is a container (%s): its record and its key vanish with it. To keep them on a volume:\n  %s\n",
			json_get_text(part, "place", ""), keep);
}

int cmd_init(struct cli *r, struct err *e)
{
	struct json *done;
	bool new_key = false;
	int rc = make_workspace(r, opt_flag(r, "force"), &done, &new_key, e);

	if (rc)
		return rc;
	json_set(r->a, done, "differences", posture_differences(r->sys, r->a, r->ws));
	json_setb(r->a, done, "key_created", new_key);
	put_machine(r, done);
	if (r->is_json) {
		out_json(r, done);
		return 0;
	}
	const char *root = text_safe(r->a, r->ws->root, strlen(r->ws->root), false);
	out(r, "workspace=%s\nstate_dir=%s\n", root, json_get_text(done, "state_dir", ""));
	out(r, "created=%u\nkept=%u\n", json_get(done, "created")->n, json_get(done, "kept")->n);
	json_each (name, json_get(done, "upgraded"))
		out(r, "upgraded=%s (it was as an earlier release shipped it)\n", json_text(name));
	json_each (name, json_get(done, "replaced"))
		out(r, "replaced=%s (yours is kept beside it as %s.bak, or .bak.1, ...)\n", json_text(name),
			json_text(name));
	if (new_key)
		out(r, "key=created\n");
	say_machine(r, json_get(done, "sandbox"));
	say_untracked(r, json_get(done, "created"));
	if (json_get(done, "note"))
		out(r, "note=%s\n", safe_member(r, done, "note"));
	json_each (one, json_get(done, "differences"))
		out(r, "note=%s; %s\n", safe_member(r, one, "text"), safe_member(r, one, "remedy"));
	out(r, "\nnext:\n");
	if (!is_found_from_here(r))
		out(r, "  cd %s\n", text_quote(r->a, root));
	out(r, "  helm doctor\n");
	return 0;
}

/* What a person may want to do next with this directory. */
static void suggest(struct cli *r, const struct json *signals)
{
	const struct workspace *ws = r->ws;

	/* Not a workspace of ours yet. */
	if (ws->layout == LAYOUT_UNKNOWN || ws->layout == LAYOUT_GENERIC)
		out(r, "suggestion=helm init --path %s\n",
			text_safe(r->a, ws->root, strlen(ws->root), false));
	if (ws->layout == LAYOUT_OPENCLAW || ws->layout == LAYOUT_HERMES)
		out(r, "suggestion=helm adopt --from-path %s\n",
			text_quote(r->a, text_safe(r->a, ws->root, strlen(ws->root), false)));
	json_each_member (m, signals)
		json_each (path, m->value)
			out(r, "found_%s=%s\n", m->name,
				text_safe(r->a, json_text(path), strlen(json_text(path)), false));
	if (signals->n)
		out(r, "suggestion=helm onboard --use-detected --dry-run\n");
}

/* Reads only. */
int cmd_detect(struct cli *r, struct err *e)
{
	const struct workspace *ws = r->ws;
	struct json *doc = json_new(r->a, JSON_OBJECT), *signals = sources_detect(r->sys, r->a, ws->home);

	(void)e;
	if (r->is_json) {
		json_sets(r->a, doc, "workspace", ws->root);
		json_sets(r->a, doc, "layout", layout_name(ws->layout));
		json_sets(r->a, doc, "source", ws->source);
		json_sets(r->a, doc, "state_dir", ws->state_name);
		json_set(r->a, doc, "markers", ws->markers);
		json_set(r->a, doc, "onboarding_signals", signals);
		out_json(r, doc);
		return 0;
	}
	out(r, "workspace=%s\nlayout=%s\nsource=%s\nstate_dir=%s\nmarkers=",
		text_safe(r->a, ws->root, strlen(ws->root), false), layout_name(ws->layout), ws->source,
		ws->state_name);
	json_each (name, ws->markers)
		out(r, "%s%s", name_p == ws->markers->items ? "" : ",", json_text(name));
	out(r, "%s\n", ws->markers->n ? "" : "-");
	suggest(r, signals);
	return 0;
}

/* A value for people: names one after the other; of what has members of its own only how many there are. */
static void value_text(struct buf *to, const struct json *v)
{
	if (json_text(v)) {
		buf_adds(to, json_text(v));
	} else if (json_is(v, JSON_NULL) || (json_is(v, JSON_ARRAY) && v->n == 0)) {
		buf_adds(to, "none");
	} else if (!json_is(v, JSON_ARRAY)) {
		json_write(to, v, JSON_SPACED);
	} else if (!json_text(json_at(v, 0))) {
		buf_addf(to, "%u (--json shows them)", v->n);
	} else {
		json_each (item, v)
			buf_addf(to, "%s%s", item_p == v->items ? "" : ", ",
				json_text(item) ? json_text(item) : "?");
	}
}

/* "policy_file" would be taken for the policy in use, which is no file of the tree. */
static const char *shown_name(const char *name)
{
	return text_eq(name, "policy_file") ? "guard_policy_of_the_tree" : name;
}

/* A part of the document as indented name=value lines. */
static void block(struct cli *r, const char *title, const struct json *doc)
{
	out(r, "\n%s\n", title);
	json_each_member (m, doc) {
		struct buf value;
		buf_init(&value, r->a);
		value_text(&value, m->value);
		out(r, "  %s=%s\n", shown_name(m->name), text_safe(r->a, value.p, value.n, false));
	}
}

static void print_check(struct cli *r, const struct json *row, int widest)
{
	bool ok = json_get_bool(row, "ok", false);

	out(r, "%s%-4s%s  %-*s  %s\n", paint(r, ok ? PAINT_GOOD : PAINT_BAD), ok ? "ok" : "fail",
		paint(r, PAINT_OFF), widest, safe_member(r, row, "name"), safe_member(r, row, "detail"));
	if (json_get_text(row, "remedy", NULL))
		out(r, "      remedy: %s\n", safe_member(r, row, "remedy"));
}

/* What fails comes first, where it is seen.  Names are measured before, so that the details stand in one column. */
static void print_checks(struct cli *r, const struct json *checks)
{
	int widest = 0;

	json_each (row, checks) {
		int n = (int)strlen(json_get_text(row, "name", ""));
		widest = n > widest ? n : widest;
	}
	json_each (row, checks)
		if (!json_get_bool(row, "ok", false))
			print_check(r, row, widest);
	json_each (row, checks)
		if (json_get_bool(row, "ok", false))
			print_check(r, row, widest);
}

/* What was found beside the workspace.  That there is no model is no fault: nothing here needs one. */
static void print_found(struct cli *r, const struct json *doc)
{
	const struct json *machine = json_get(doc, "hardware"),
			  *models = json_get(doc, "runtime_model_state");
	struct buf cloud, local;

	buf_init(&cloud, r->a);
	buf_init(&local, r->a);
	value_text(&cloud, json_get(models, "cloud"));
	value_text(&local, json_get(models, "local"));
	out(r, "\nFound here\n  machine=%s %s, %lld GB of memory\n", safe_member(r, machine, "os_name"),
		safe_member(r, machine, "machine"), (long long)json_get_int(machine, "memory_total_gb", 0));
	out(r, "  keys_of_models=%s\n  local_models=%s\n", text_safe(r->a, cloud.p, cloud.n, false),
		text_safe(r->a, local.p, local.n, false));
	out(r, "  needed_by_helm=none: it decides without a model; --json tells more\n");
}

/* Guarantee, mechanism, tested; and what this kind of sandbox does not give. */
static void print_sandbox(struct cli *r, const struct json *part)
{
	static const char *const headings[] = { "GUARANTEE", "MECHANISM", "TESTED", "PROMISE" };
	static const char *const reasons[][2] = { { "why_not_namespaces", "no namespaces" },
		{ "why_not_supervised", "no supervisor" }, { "remedy", "what helps here" } };
	const struct json *not_given = json_get(part, "not_given");

	out(r, "\nSandbox: %s\n", json_get_text(part, "text", ""));
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, json_get(part, "guarantees")) {
		const char *cells[] = { json_get_text(row, "guarantee", ""),
			json_get_text(row, "mechanism", "-"), json_get_text(row, "tested", ""),
			json_get_text(row, "promise", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (not_given && not_given->n)
		out(r, "Not given:\n");
	json_each (one, not_given)
		out(r, "  %s\n", json_text(one));
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (json_get_text(part, reasons[i][0], NULL))
			out(r, "%s: %s\n", reasons[i][1], safe_member(r, part, reasons[i][0]));
}

/* What `helm status` says of tasks.  It is a note here: a command that failed is no fault of the place. */
static void note_tasks(struct cli *r, struct json *doc)
{
	const struct actions_place o = actions_place_from(r);
	struct json *reasons = json_new(r->a, JSON_ARRAY), *notes = json_get(doc, "notes");

	if (!json_is(notes, JSON_ARRAY) || actions_task_reasons(&o, reasons, NULL))
		return;
	json_each (why, reasons)
		json_push(r->a, notes, json_stringf(r->a, "%s: helm report", json_text(why)));
}

/* Always prints every check; the exit code says whether all of them passed. */
int cmd_doctor(struct cli *r, struct err *e)
{
	struct shown shown = { .r = r };
	struct doctor_options options = { .skip_discovery = opt_flag(r, "skip-discovery"),
		.deep = opt_flag(r, "deep"),
		.step = show_step,
		.arg = &shown };
	/* Whoever names a workspace means its own files. */
	if (!r->path_option && r->ws->exists)
		workspace_stand(r->sys, r->a, r->ws, NULL);
	struct json *doc = doctor_run(r->sys, r->a, r->ws, &options);
	bool healthy = json_get_bool(doc, "healthy", false);

	(void)e;
	show_end(&shown);
	if (r->ws->exists)
		note_tasks(r, doc);
	hint_json(r, doc);
	if (r->is_json) {
		out_json(r, doc);
		return healthy ? 0 : EXIT_NO;
	}
	out(r, "workspace=%s\nlayout=%s\nhealthy=%s\n", safe_member(r, doc, "workspace"),
		json_get_text(doc, "layout", ""), healthy ? "yes" : "no");
	json_each (why, json_get(doc, "reasons"))
		out(r, "attention=%s\n", text_safe(r->a, json_text(why), strlen(json_text(why)), false));
	json_each (note, json_get(doc, "notes"))
		out(r, "note=%s\n", text_safe(r->a, json_text(note), strlen(json_text(note)), false));
	out(r, "\n");
	print_checks(r, json_get(doc, "checks"));
	if (json_get(doc, "sandbox"))
		print_sandbox(r, json_get(doc, "sandbox"));
	if (json_get(doc, "discovery")) {
		print_found(r, doc);
		block(r, "Guard", json_get(doc, "guard"));
	}
	return healthy ? 0 : EXIT_NO;
}
