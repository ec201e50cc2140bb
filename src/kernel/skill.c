/* skill.c — from a contract to what holds: checked, pinned, laid over the profile, and asked at every decision. */
#include "kernel/skill.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "decide/engine/engine.h"
#include "kernel/act.h"
#include "kernel/posture.h"

#include <fcntl.h>
#include <string.h>

#define PINS "skills"
#define SKILL_FILES \
	"skill_files" /* in the receipt of a pin: {file: digest}, whose digest is what was pinned */
enum { MAX_NAMED = 256 };

struct contract_place skill_place(struct sys *s, struct arena *a, const struct workspace *ws)
{
	return (struct contract_place){ s, a, ws->root_fd };
}

/* ---- pins ---- */

const struct json *skill_pinned(struct sys *s, const struct workspace *ws, const char *name)
{
	return json_get(json_get(posture_of(s, ws)->word, PINS), name);
}

struct pinning {
	const char *name, *sha256, *at;
};

static int pin(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct pinning *p = arg;
	struct json *one = json_new(a, JSON_OBJECT);

	(void)e;
	json_sets(a, one, "sha256", p->sha256);
	json_sets(a, one, "at", p->at);
	json_set(a, doc_part(a, word, PINS), p->name, one);
	return OK;
}

int skill_pin(struct kernel *k, struct arena *a, const char *name, const char *sha256,
	const struct json *files, const char *executor, struct json **ret_receipt, struct err *e)
{
	struct pinning p = { name, sha256, text_time_iso(a, k->sys->now_us(k->sys)) };
	struct json *about = json_new(a, JSON_OBJECT), *receipt;

	json_sets(a, about, "skill", name);
	json_sets(a, about, "skill_sha256", sha256);
	if (files && files->n <= MAX_NAMED)
		json_set(a, about, SKILL_FILES, json_copy(a, files));
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.skill/pin",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		pin, &p, ret_receipt ? ret_receipt : &receipt, e);
}

struct pin_sought {
	struct arena *a;
	const char *sha256;
	struct json *files; /* or NULL */
};

/* The names count only when they sum up to what was pinned. */
static int is_pin(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct pin_sought *x = arg;
	const struct json *files = json_get(json_get(receipt, "metadata"), SKILL_FILES);

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!json_is(files, JSON_OBJECT) || !text_eq(json_sha256(x->a, files), x->sha256))
		return 0;
	x->files = json_copy(x->a, files);
	return 1;
}

struct json *skill_differences(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const struct json *files)
{
	struct pin_sought x = { .a = a, .sha256 = json_get_text(skill_pinned(s, ws, name), "sha256", "") };
	const struct receipts_wanted want = { .text = x.sha256 };
	struct json *list = json_new(a, JSON_ARRAY);

	if (!*x.sha256 || receipts_back(s, ws->state_fd, &want, is_pin, &x, NULL) || !x.files)
		return list;
	json_each_member (m, files) {
		const char *was = json_get_text(x.files, m->name, NULL);
		if (!was || !text_eq(was, json_text(m->value)))
			json_push(a, list, json_stringf(a, "%s: %s", was ? "changed" : "added", m->name));
	}
	json_each_member (m, x.files)
		if (!json_get(files, m->name))
			json_push(a, list, json_stringf(a, "gone: %s", m->name));
	return list;
}

/* ---- using one ---- */

static const char *joined(struct arena *a, const struct json *list, const char *between)
{
	struct buf text;

	buf_init(&text, a);
	json_each (one, list)
		buf_addf(&text, "%s%s", text.n ? between : "", json_text(one) ? json_text(one) : "");
	return text.p;
}

static int check_profile(struct kernel *k, struct arena *a, const struct contract_place *at, const char *name,
	const struct json *contract, const struct profile *p, struct err *e)
{
	const struct json *profiles = contract_profiles(at, name, contract),
			  *allowed = json_get(profiles, "allowed_profiles");
	const struct profiles *all = &k->guard.profiles;
	const char **known = arena_zalloc(a, all->count + 1, sizeof(*known));

	for (size_t i = 0; i < all->count; i++)
		known[i] = all->list[i].name;
	const struct json *issues = contract_issues(at, name, contract, profiles, known);
	if (issues->n)
		return err_set(e, E_INPUT, "SKILL_CONTRACT", "the contract of skill '%s' is not valid: %s",
			name, joined(a, issues, "; "));
	json_each (one, allowed)
		if (json_text(one) && text_eq(json_text(one), p->name))
			return OK;
	if (!allowed->n)
		return OK;
	return err_set(e, E_INPUT, "SKILL_PROFILE",
		"skill '%s' may not run under %s, only under %s: helm run --profile %s --skill %s -- COMMAND",
		name, p->name, joined(a, allowed, ", "),
		json_text(json_at(allowed, 0)) ? json_text(json_at(allowed, 0)) : "NAME", name);
}

static int check_pin(struct kernel *k, const struct skill_use *u, struct err *e)
{
	const struct json *pinned = skill_pinned(k->sys, k->ws, u->name);

	if (!pinned || text_eq(json_get_text(pinned, "sha256", ""), u->sha256))
		return OK;
	return err_set(e, E_DENIED, "SKILL_CHANGED",
		"the files of skill '%s' are not those that were accepted %s; look at them with 'helm skill show %s', then 'helm skill accept %s'",
		u->name, json_get_text(pinned, "at", "before"), u->name, u->name);
}

int skill_use(struct kernel *k, struct arena *a, const char *name, const struct profile *p,
	struct skill_use *ret, struct err *e)
{
	const struct contract_place at = skill_place(k->sys, a, k->ws);
	struct skill_use u = { .name = name, .profile = p };
	struct json *contract;
	struct skill found;

	if (!text_is_id(name))
		return err_set(e, E_INPUT, "SKILL_NAME", "'%.100s' is no name of a skill", name);
	int rc = skill_contract(&at, name, &contract, e);
	if (rc)
		return err_wrap(e, "skill '%s'", name);
	rc = check_profile(k, a, &at, name, contract, p, e);
	if (rc)
		return rc;
	u.contract = contract;
	if (skill_find(&at, name, &found, NULL) == OK) {
		u.is_draft = found.is_draft;
		rc = skill_digest(&at, found.dir, &u.sha256, &u.files, e);
	}
	if (rc == OK && u.sha256 && !u.is_draft) {
		u.is_new = !skill_pinned(k->sys, k->ws, name);
		rc = check_pin(k, &u, e);
	}
	if (rc)
		return rc;
	if (contract) {
		struct terms *t = arena_zalloc(a, 1, sizeof(*t));
		rc = terms_read(a, name, contract, t, e);
		t->sha256 = u.sha256;
		if (rc == OK && terms_bind(t))
			u.profile = terms_narrow(a, p, t);
	}
	if (rc == OK)
		*ret = u;
	return rc;
}

/* A name on the way that is a link is left alone: what it leads to is not the tree's. */
int skill_make_places(struct sys *s, struct arena *a, const struct terms *t, const char *tree, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = file_open_dir(s, AT_FDCWD, tree, &fd, e);

	for (const char *const *p = t->writes; rc == OK && t->has_writes && *p; p++)
		if (!file_exists(s, fd, *p))
			rc = file_mkdirs(s, fd, *p, 0755, e);
	(void)a;
	return rc;
}

bool skill_has_places(struct sys *s, const struct terms *t, const char *tree)
{
	AUTO(close_fd) int fd = -1;
	bool has = file_open_dir(s, AT_FDCWD, tree, &fd, NULL) == OK;

	for (const char *const *p = t->writes; has && t->has_writes && *p; p++)
		has = file_exists(s, fd, *p);
	return has;
}

int skill_budget(struct arena *a, const struct terms *t, const struct ruleset **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *limits = json_new(a, JSON_OBJECT),
		    *budgets = json_new(a, JSON_ARRAY), *one = json_new(a, JSON_OBJECT);
	struct ruleset *rules;

	if (!t->calls_per_day)
		return OK;
	json_sets(a, one, "id", arena_printf(a, "skill:%s", t->budget_of));
	json_seti(a, one, "limit", t->calls_per_day);
	json_sets(a, one, "unit", "requests");
	json_sets(a, one, "period", "day");
	json_push(a, budgets, one);
	json_set(a, limits, "budgets", budgets);
	json_sets(a, doc, "format", "helm.policy.v1");
	json_sets(a, doc, "name", arena_printf(a, "skill:%s", t->budget_of));
	json_sets(a, doc, "coverage", "open");
	json_set(a, doc, "limits", limits);
	int rc = ruleset_compile(a, doc, &rules, e);
	if (rc == OK)
		*ret = rules;
	return rc;
}

/* ---- judging ---- */

/* A contract stands above every mode of the guard, as a policy does. */
bool skill_stops(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct terms *t = q->profile->terms;
	const bool is_run = q->what.argv || q->what.shell.p;
	const struct terms_call call = { .tree = q->where->work_tree ? q->where->work_tree : k->ws->root,
		.state = k->ws->state_dir,
		.tool = is_run ? NULL : q->what.tool,
		.is_shell = is_run || propose_runs_text(q->what.tool),
		.is_walled = h->decision.placement == IN_SANDBOX && !k->session };
	struct terms_breach breach;

	if (!t || !decide_terms(h->a, t, &call, &h->proposal, &breach))
		return false;
	struct finding *f = guard_raise(
		h->a, ACTION_DENY, REASON_POLICY_VIOLATION, breach.rule, breach.text, &h->decision);
	f->instead = breach.instead;
	f->effect = breach.effect;
	return true;
}
