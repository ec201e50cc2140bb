/* plan.c — a plan that a run is held to: by its review before, by walls while it runs, and by what it touched afterwards. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "model/terms.h"
#include "remember/consensus.h"

#include <fcntl.h>
#include <string.h>

#define SWITCH "HELM_CONSENSUS_GATE"

/* Whoever is governed could only make it stricter by this. */
bool task_plan_is_switched_on(struct kernel *k)
{
	const char *value = k->sys->getenv(k->sys, SWITCH);

	return value &&
		(text_eq(value, "1") || text_eq(value, "true") || text_eq(value, "on") ||
			text_eq(value, "yes"));
}

/* Where the walls stand: Landlock opens what is there.  A file that is not there yet is made in its directory, and compared afterwards; only
 * a slash behind it says that it is to be a directory itself. */
static const char *place_of(struct arena *a, struct sys *s, int root, const char *path)
{
	const char *clean = path_clean(a, path), *slash = strrchr(clean, '/');

	if (file_exists(s, root, clean) || text_ends(path, "/"))
		return clean;
	return slash ? arena_strndup(a, clean, (size_t)(slash - clean)) : ".";
}

/* The profile with the scope as the only place to write in. */
static int narrow(struct task *t, const struct json *plan, struct err *e)
{
	struct arena *a = t->a;
	struct json *contract = json_new(a, JSON_OBJECT), *paths = json_new(a, JSON_OBJECT),
		    *list = json_new(a, JSON_ARRAY);
	struct terms *terms = arena_zalloc(a, 1, sizeof(*terms));
	AUTO(close_fd) int root = -1;

	if (t->profile->writes != ALLOWANCE_YES)
		return OK;
	int rc = file_open_dir(
		t->k->sys, AT_FDCWD, t->at.work_tree ? t->at.work_tree : t->k->ws->root, &root, e);
	if (rc)
		return rc;
	json_each (one, json_get(plan, "scope")) {
		const char *place = place_of(a, t->k->sys, root, json_text(one));
		t->is_plan_wide |= !text_eq(place, path_clean(a, json_text(one)));
		json_pushs(a, list, place);
	}
	json_set(a, paths, "write", list);
	json_set(a, contract, "paths", paths);
	rc = terms_read(a, TERMS_OF_PLAN, contract, terms, e);
	if (rc == OK)
		t->profile = terms_narrow(
			a, t->profile, t->profile->terms ? terms_both(a, t->profile->terms, terms) : terms);
	return rc;
}

/* What the row says of it: the whole is in the bundle. */
static struct json *told(struct task *t, const struct json *review)
{
	static const char *const kept[] = { "status", "ok", "round_count", "reason" };
	struct json *doc = json_new(t->a, JSON_OBJECT);
	const struct json *plan = json_get(review, "plan");
	struct buf text;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_get(review, kept[i]))
			json_set(t->a, doc, kept[i], json_get(review, kept[i]));
	if (json_get(plan, "scope"))
		json_set(t->a, doc, "scope", json_get(plan, "scope"));
	buf_init(&text, t->a);
	json_write(&text, plan, JSON_SORT_BYTES);
	json_sets(t->a, doc, "plan_sha256", sha256_hex(t->a, text.p, text.n));
	json_sets(t->a, doc, "artifact", arena_printf(t->a, TASK_BUNDLES "/%s/consensus.json", t->id));
	return doc;
}

struct json *task_plan_review(struct kernel *k, struct arena *a, const struct run_spec *spec,
	const struct profile *profile, const char *id)
{
	const struct consensus_about about = { .task_id = id,
		.objective = spec->task_goal ? spec->task_goal : spec->task_name,
		.profile = profile->name,
		.created_at = text_time_iso(a, k->sys->now_us(k->sys)),
		.paths = spec->checkpoint_paths,
		.path_count = spec->checkpoint_path_count,
		.acceptance = spec->acceptance,
		.acceptance_count = spec->acceptance_count,
		.has_checkpoint = profile->checkpoint == CHECKPOINT_REQUIRED };

	return consensus_review(a, spec->plan, &about);
}

int task_plan_look(struct task *t, struct err *e)
{
	const struct run_spec *spec = t->spec;
	const char *name = json_get_text(t->row, "task_name", ""),
		   *command = json_get_text(t->row, "command_preview", "");
	bool is_given = spec->plan || spec->acceptance_count || spec->is_verified,
	     is_asked = task_plan_is_switched_on(t->k) &&
		consensus_is_asked_for(t->profile->name, name, command) &&
		!text_eq(t->profile->backend, "manual-remote");

	if (!is_given && !is_asked)
		return OK;
	struct json *review = task_plan_review(t->k, t->a, spec, t->profile, t->id);
	bool ok = json_get_bool(review, "ok", false);
	t->review = review;
	json_set(t->a, t->row, "consensus_plan", told(t, review));
	if (!spec->guard_json)
		(void)task_keep(t, "consensus.json", review);
	if (!ok)
		return OK;
	t->plan = json_get(review, "plan");
	return narrow(t, t->plan, e);
}

void task_plan_hold(struct task *t)
{
	if (!t->review || t->plan)
		return;
	t->request.at_least.action = ACTION_DENY;
	t->request.at_least.rule = PLAN_RULE;
	t->request.at_least.text = arena_printf(
		t->a, "its plan was not approved: %s", json_get_text(t->review, "reason", "it has none"));
}

struct json *task_plan_scope(struct task *t, const struct json *touched)
{
	struct json *gate = t->plan ? consensus_scope_gate(t->a, t->plan, touched) : NULL;

	/* What nobody has looked at is not said to be good.  Beyond what before.c notes, nobody sees what is gone; walls that are the scope
	 * keep that inside. */
	if (gate && (t->is_cut || (t->is_plan_wide && !before_has_all(t)))) {
		json_setb(t->a, gate, "ok", false);
		json_sets(t->a, gate, "reason", "not all could be compared");
	}
	return gate;
}
