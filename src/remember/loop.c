/* loop.c — loops: read, checked, found, and what of them can be run. */
#include "remember/loop.h"

#include "base/conf.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

enum {
	MAX_LOOP = 1 << 20,
	MOST_STEPS = 100,
	USUAL_TURNS = 20,
	USUAL_MINUTES = 480,
	USUAL_SAME = 3,
	USUAL_STEP_S = 1800
};
#define BUILT_IN "share/loops/"

/* ---- reading ---- */

static int parse(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e)
{
	int rc = text_ends(name, ".json") ? json_parse(a, text, name, NULL, ret, e)
					  : conf_parse_yaml(a, text, name, ret, e);

	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		return err_set(e, E_INPUT, "LOOP_FILE", "%s: a loop is an object, not %s", name,
			json_type_name(*ret));
	return rc;
}

int loop_read(const struct contract_place *at, const char *file, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(at->sys, at->a, at->root_fd, file, MAX_LOOP, FILE_FOLLOW, &text, e);

	return rc ? rc : parse(at->a, text, file, ret, e);
}

/* ---- checking ---- */

/* Absent, null, empty, 0 or false. */
static bool is_missing(const struct json *v)
{
	return !v || v->type == JSON_NULL || v->type == JSON_FALSE ||
		(json_is(v, JSON_NUMBER) && strspn(v->text, "-0.eE+") == v->n) ||
		((json_is(v, JSON_STRING) || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT)) && !v->n);
}

static void check_outcomes(struct arena *a, const struct json *stop, struct json *issues)
{
	if (!json_is(stop, JSON_OBJECT))
		json_pushs(a, issues, "`stop_conditions` must be an object");
	else if (!json_get(stop, "success") && !json_get(stop, "blocked") && !json_get(stop, "incomplete"))
		json_pushs(a, issues, "`stop_conditions` must define success, blocked, or incomplete");
}

static bool is_texts(const struct json *v)
{
	json_each (one, v)
		if (!json_text(one) && !json_is(one, JSON_OBJECT))
			return false;
	return json_is(v, JSON_ARRAY);
}

/* What the specification does not call an issue and is wrong all the same. */
static void advise(struct arena *a, const struct json *loop, struct json *warnings)
{
	static const char *const known[] = { "id", "title", "use_when", "steps", "required_evidence",
		"stop_conditions", "approval_boundaries", "outputs", "profile", "skill", "limits",
		"description" };
	static const char *const lists[] = { "use_when", "steps", "required_evidence", "approval_boundaries",
		"outputs" };
	static const char *const evidence[] = { "completion_evidence", "process_exit", "file_diff",
		"diagnostics", "direct_inspection", "write_validation", "checkpoint_id",
		"test_or_lint_or_diff", "healthcheck", "provider_result", "handoff_target", "changed_surface",
		"edited_doc_path", "validation" };

	json_each_member (m, loop) {
		size_t i = 0;
		while (i < ARRAY_SIZE(known) && !text_eq(known[i], m->name))
			i++;
		if (i == ARRAY_SIZE(known))
			json_pushs(a, warnings, arena_printf(a, "nobody reads `%.60s`", m->name));
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (json_is(json_get(loop, lists[i]), JSON_ARRAY) && !is_texts(json_get(loop, lists[i])))
			json_pushs(
				a, warnings, arena_printf(a, "`%s` has something that is no text", lists[i]));
	json_each (one, json_get(loop, "required_evidence")) {
		size_t i = 0;
		while (json_text(one) && i < ARRAY_SIZE(evidence) && !text_eq(evidence[i], json_text(one)))
			i++;
		if (json_text(one) && i == ARRAY_SIZE(evidence))
			json_pushs(a, warnings,
				arena_printf(
					a, "no task leaves evidence that is called `%.60s`", json_text(one)));
	}
}

struct json *loop_validate(struct arena *a, const struct json *loop, const char *path)
{
	static const char *const needed[] = { "id", "title", "use_when", "steps", "required_evidence",
		"stop_conditions" };
	static const char *const lists[] = { "steps", "required_evidence" };
	struct json *doc = json_new(a, JSON_OBJECT), *issues = json_new(a, JSON_ARRAY),
		    *warnings = json_new(a, JSON_ARRAY), *id = json_get(loop, "id");

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (is_missing(json_get(loop, needed[i])))
			json_pushs(a, issues, arena_printf(a, "missing `%s`", needed[i]));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (!is_missing(json_get(loop, lists[i])) && !json_is(json_get(loop, lists[i]), JSON_ARRAY))
			json_pushs(a, issues, arena_printf(a, "`%s` must be a list", lists[i]));
	if (!is_missing(json_get(loop, "stop_conditions")))
		check_outcomes(a, json_get(loop, "stop_conditions"), issues);
	advise(a, loop, warnings);
	json_set(a, doc, "id", id ? json_copy(a, id) : json_new(a, JSON_NULL));
	json_set(a, doc, "issues", issues);
	json_setb(a, doc, "ok", issues->n == 0);
	json_sets(a, doc, "path", path);
	json_set(a, doc, "warnings", warnings);
	return doc;
}

/* ---- finding ---- */

typedef int loop_visit(void *arg, const struct json *loop, const char *path, const char *stem);

static const char *stem_of(struct arena *a, const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? arena_strndup(a, name, (size_t)(dot - name)) : name;
}

/* Files of one directory that end so.  fn returns anything but 0 to stop. */
static int visit_dir(const struct contract_place *at, const char *dir, const char *end, struct json *warnings,
	loop_visit *fn, void *arg)
{
	char **names;
	size_t n = 0;

	if (file_list(at->sys, at->a, at->root_fd, dir, &names, &n, NULL))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(at->a, "%s/%s", dir, names[i]);
		struct json *loop;
		struct err e = { 0 };
		if (names[i][0] == '.' || !text_ends(names[i], end))
			continue;
		if (loop_read(at, path, &loop, &e)) {
			if (warnings)
				json_pushs(at->a, warnings,
					arena_printf(at->a, "%s is passed over: %s", path, e.text));
			continue;
		}
		int rc = fn(arg, loop, path, stem_of(at->a, names[i]));
		if (rc)
			return rc;
	}
	return 0;
}

static int visit_shipped(const struct contract_place *at, loop_visit *fn, void *arg)
{
	const char *name;
	struct bytes text;

	for (size_t i = 0; embed_at(i, &name, &text); i++) {
		struct json *loop;
		if (!text_starts(name, BUILT_IN) || parse(at->a, text, name, &loop, NULL))
			continue;
		int rc = fn(arg, loop, arena_printf(at->a, LOOP_SHIPPED "%s", name + strlen(BUILT_IN)),
			stem_of(at->a, name + strlen(BUILT_IN)));
		if (rc)
			return rc;
	}
	return 0;
}

static int visit_all(const struct contract_place *at, struct json *warnings, loop_visit *fn, void *arg)
{
	static const char *const dirs[] = { "references/loops", "examples/loops" };
	static const char *const ends[] = { ".yaml", ".yml", ".json" };

	for (size_t d = 0; d < ARRAY_SIZE(dirs); d++)
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			int rc = visit_dir(at, dirs[d], ends[i], warnings, fn, arg);
			if (rc)
				return rc;
		}
	return visit_shipped(at, fn, arg);
}

struct search {
	const char *id, *path;
	const struct json *loop;
};

static int is_it(void *arg, const struct json *loop, const char *path, const char *stem)
{
	struct search *s = arg;

	if (!text_eq(json_get_text(loop, "id", ""), s->id) && !text_eq(stem, s->id))
		return 0;
	s->loop = loop;
	s->path = path;
	return 1;
}

int loop_find(const struct contract_place *at, const char *id, struct json **ret, const char **ret_path,
	struct json *warnings, struct err *e)
{
	struct search s = { .id = id };

	(void)visit_all(at, warnings, is_it, &s);
	if (!s.loop)
		return err_set(e, E_MISSING, "LOOP_UNKNOWN",
			"there is no loop '%.100s'; 'helm loops list' names them", id);
	*ret = json_copy(at->a, s.loop);
	*ret_path = s.path;
	return OK;
}

struct listing {
	struct arena *a;
	struct json *list;
};

static int list_it(void *arg, const struct json *loop, const char *path, const char *stem)
{
	struct listing *l = arg;
	struct json *one = json_new(l->a, JSON_OBJECT);
	struct loop_plan plan;

	json_sets(l->a, one, "id", json_get_text(loop, "id", stem));
	json_sets(l->a, one, "title", json_get_text(loop, "title", ""));
	json_sets(l->a, one, "path", path);
	json_setb(l->a, one, "ok", json_get_bool(loop_validate(l->a, loop, path), "ok", false));
	json_setb(l->a, one, "can_run", loop_plan(l->a, loop, &plan, NULL) == OK);
	json_push(l->a, l->list, one);
	return 0;
}

int loop_list(const struct contract_place *at, struct json *warnings, struct json **ret, struct err *e)
{
	struct listing l = { at->a, json_new(at->a, JSON_ARRAY) };

	(void)e;
	(void)visit_all(at, warnings, list_it, &l);
	*ret = l.list;
	return OK;
}

/* ---- running ---- */

static int wrong(struct err *e, const char *what)
{
	return err_set(e, E_INPUT, "LOOP_PLAN", "this loop cannot be run: %s", what);
}

/* A command: a text that is split into words, or a list of them. */
static int read_run(struct arena *a, const struct json *run, struct loop_step *ret, struct err *e)
{
	if (json_text(run)) {
		if (!text_words(a, json_text(run), &ret->argv, &ret->argc) || !ret->argc)
			return wrong(e, "a `run` has no words, or a quote without an end");
		return OK;
	}
	if (!json_is(run, JSON_ARRAY) || !run->n)
		return wrong(e, "`run` must be a command, or a list of its words");
	const char **argv = arena_zalloc(a, run->n + 1, sizeof(*argv));
	json_each (word, run) {
		if (!json_text(word))
			return wrong(e, "`run` must be a list of texts");
		argv[ret->argc++] = json_text(word);
	}
	ret->argv = argv;
	return OK;
}

/* Those of a list that are commands; the others are for people. */
static int read_steps(
	struct arena *a, const struct json *list, struct loop_step **ret, size_t *ret_n, struct err *e)
{
	struct loop_step *steps = arena_zalloc(a, (list ? list->n : 0) + 1, sizeof(*steps));
	size_t n = 0;

	json_each (one, list) {
		if (!json_get(one, "run"))
			continue;
		steps[n].name = json_get_text(one, "name", arena_printf(a, "step-%zu", n + 1));
		int rc = read_run(a, json_get(one, "run"), &steps[n], e);
		if (rc)
			return rc;
		n++;
	}
	*ret = steps;
	*ret_n = n;
	return OK;
}

static int read_limits(const struct json *limits, struct loop_plan *p, struct err *e)
{
	const struct {
		const char *name;
		int64_t *to, usual;
	} members[] = { { "turns", &p->turns, USUAL_TURNS }, { "minutes", &p->minutes, USUAL_MINUTES },
		{ "same_failure", &p->same_failure, USUAL_SAME }, { "no_change", &p->no_change, USUAL_SAME },
		{ "step_seconds", &p->step_seconds, USUAL_STEP_S } };

	if (limits && !json_is(limits, JSON_OBJECT))
		return wrong(e, "`limits` must be an object");
	json_each_member (m, limits) {
		size_t i = 0;
		while (i < ARRAY_SIZE(members) && !text_eq(members[i].name, m->name))
			i++;
		if (i == ARRAY_SIZE(members))
			return err_set(e, E_INPUT, "LOOP_PLAN",
				"this loop cannot be run: there is no limit `%.60s`", m->name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		*members[i].to = members[i].usual;
		const struct json *v = json_get(limits, members[i].name);
		if (v && (!json_int(v, members[i].to) || *members[i].to <= 0))
			return err_set(e, E_INPUT, "LOOP_PLAN",
				"this loop cannot be run: `limits.%s` must be a whole number above 0",
				members[i].name);
	}
	return OK;
}

int loop_plan(struct arena *a, const struct json *loop, struct loop_plan *ret, struct err *e)
{
	const struct json *stop = json_get(loop, "stop_conditions");
	struct json *check = loop_validate(a, loop, "");
	struct loop_plan p = { .id = json_get_text(loop, "id", ""),
		.profile = json_get_text(loop, "profile", NULL),
		.skill = json_get_text(loop, "skill", NULL),
		.sha256 = json_sha256(a, loop) };

	if (!json_get_bool(check, "ok", false))
		return wrong(e, json_text(json_at(json_get(check, "issues"), 0)));
	if (!text_is_id(p.id))
		return wrong(e, "its id must be of letters, digits, '.', '_' and '-'");
	if (!p.profile)
		return wrong(e, "it names no `profile`");
	int rc = read_steps(a, json_get(loop, "steps"), &p.steps, &p.step_count, e);
	if (rc == OK)
		rc = read_steps(a, json_get(stop, "success"), &p.success, &p.success_count, e);
	if (rc == OK)
		rc = read_steps(a, json_get(stop, "blocked"), &p.blocked, &p.blocked_count, e);
	if (rc == OK)
		rc = read_limits(json_get(loop, "limits"), &p, e);
	if (rc)
		return rc;
	if (!p.step_count || p.step_count > MOST_STEPS)
		return wrong(e, "no step has a `run`, or there are more than a hundred");
	*ret = p;
	return OK;
}
