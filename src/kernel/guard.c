/* guard.c — everything the guard needs to know about a place, read once: profiles, policy, directories.
 *
 * Reading is all it does.  What is missing has a shipped default; what is there and cannot be understood
 * closes.
 *
 * Trust: profiles and policy lie in the workspace, where an agent may be able to write.  So a file there may only make rules stricter;
 * what would make them laxer counts only if a person has accepted those very bytes (posture.h). */
#include "kernel/guard.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/allow.h"
#include "kernel/posture_parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_POLICY_BYTES = 1 << 20 };

static const char *current_directory(struct arena *a)
{
	char *cwd = getcwd(NULL, 0);
	const char *copy = cwd ? arena_strdup(a, cwd) : NULL;

	free(cwd);
	return copy;
}

/* NULL rather than a tree that is nobody's work; see guard.h. */
const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home)
{
	char *dir = arena_strdup(a, cwd);

	while (dir[0] && !text_eq(dir, "/")) {
		if (file_exists(s, AT_FDCWD, arena_printf(a, "%s/.git", dir)))
			break;
		char *slash = strrchr(dir, '/');
		slash[slash == dir ? 1 : 0] = '\0';
	}
	const char *top = text_eq(dir, "/") ? cwd : dir;
	return place_is_too_much(home, NULL, top) ? NULL : top;
}

/* Has a person set this place up?  The tree that the client was started in, the workspace and what was allowed. */
static bool is_set_up(const struct surroundings *at, const char *tree, const char *place)
{
	for (const char *const *p = at->allowed; p && *p; p++)
		if (path_is_below(place, *p))
			return true;
	return (tree && path_is_below(place, tree)) || (at->workspace && path_is_below(place, at->workspace));
}

/* Everything about a place that a command's meaning depends on.  An unknown directory stays NULL, which the
 * rules treat as "not certain".  `started`: where whoever claims to be at `cwd` was started; NULL: nobody claims it. */
static struct surroundings at_place(
	const struct guard *g, struct arena *a, const char *cwd, const char *started)
{
	const char *here = cwd && *cwd == '/' ? NULL : current_directory(a);
	struct surroundings at = g->at;

	if (!cwd)
		cwd = here;
	else if (*cwd != '/')
		cwd = here ? path_join(a, here, cwd) : NULL;
	at.cwd = cwd ? path_clean(a, cwd) : NULL;
	at.work_tree = at.cwd ? kernel_work_tree(g->sys, a, at.cwd, at.home) : NULL;
	if (started) {
		const char *tree = kernel_work_tree(g->sys, a, started, at.home);
		if (!at.work_tree || !is_set_up(&at, tree, at.work_tree))
			at.work_tree = tree;
	}
	/* Without a workspace, the state that one here would have is protected all the same. */
	if (!at.workspace && (at.work_tree || at.cwd))
		at.state_dir = arena_printf(a, "%s/.helm", at.work_tree ? at.work_tree : at.cwd);
	if (at.work_tree && at.workspace && text_eq(at.work_tree, at.workspace))
		at.work_tree = NULL;
	return at;
}

struct surroundings guard_at(const struct guard *g, struct arena *a, const char *cwd)
{
	return at_place(g, a, cwd, NULL);
}

struct surroundings guard_at_claimed(
	const struct guard *g, struct arena *a, const char *cwd, const char *started)
{
	const char *here = started ? started : current_directory(a);

	return at_place(g, a, cwd, here ? here : "/");
}

/* What a person accepted holds, whatever has become of the file since.  Where nothing was accepted the file can only make rules
 * stricter.  A missing file means the shipped policy; one that cannot be read is compiled with its error, and then asks
 * about everything. */
static const struct policy *load_policy(struct guard *g, struct arena *a)
{
	static const char file[] = "references/guard_policy.json";
	struct policy_source from = { 0 };
	struct err e = { 0 };
	int rc;

	if (!g->ws)
		return policy_compile(a, NULL);
	from.file_name = arena_printf(a, "%s/%s", g->ws->root, file);
	rc = accepted_read(g->sys, a, g->ws, file, &from.file, &e);
	from.override_accepted = rc == OK;
	if (rc == E_MISSING)
		rc = file_read(
			g->sys, a, AT_FDCWD, from.file_name, MAX_POLICY_BYTES, FILE_FOLLOW, &from.file, &e);
	if (rc == E_MISSING)
		return policy_compile(a, NULL);
	if (rc)
		from.read_error = arena_strdup(a, e.text);
	return policy_compile(a, &from);
}

/* Names of profiles that permit no more than the one in force, so that asking for one of them is no way out. */
static const char *const *narrower(struct guard *g, struct arena *a)
{
	const char **names = arena_zalloc(a, g->profiles.count + 1, sizeof(*names)), *now;
	const struct profile *in_force;
	size_t n = 0;

	if (guard_profile(g, a, NULL, &now, NULL) || !(in_force = profiles_find(&g->profiles, now)))
		return NULL;
	for (size_t i = 0; i < g->profiles.count; i++)
		if (&g->profiles.list[i] == in_force || profile_is_within(&g->profiles.list[i], in_force))
			names[n++] = g->profiles.list[i].name;
	return names;
}

/* Where clients are set up, what is asked is asked about their calls: in the sandbox where a person has had any of them contained.  Else
 * it is asked about what 'helm run' would do, which needs a workspace. */
static void place(struct guard *g, const struct json *contain)
{
	g->is_by_client = contain && contain->n;
	g->placement = g->ws && !g->is_by_client ? IN_SANDBOX : UNSANDBOXED;
	json_each_member (m, contain)
		if (json_get_bool(contain, m->name, false))
			g->placement = IN_SANDBOX;
}

/* Profiles that are not valid are an error, because without them nothing can be decided. */
int guard_open(struct sys *s, struct arena *a, const struct workspace *ws, const char *cwd, struct guard *ret,
	struct err *e)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(s, ws);
	struct guard g = { .sys = s, .ws = held };
	const char *tmpdir = s->getenv(s, "TMPDIR"), *home = s->getenv(s, "HOME");
	int rc;

	if (ws && (rc = workspace_profiles(s, a, ws, &g.profiles, e)))
		return rc;
	if (!ws)
		profiles_builtin(a, &g.profiles);
	g.at = (struct surroundings){ .sys = s,
		.home = home && *home == '/' ? path_clean(a, home) : NULL,
		.workspace = ws ? ws->root : NULL,
		.state_dir = ws ? ws->state_dir : NULL,
		.tmpdir = tmpdir && *tmpdir == '/' ? path_clean(a, tmpdir) : "/tmp",
		.inspect_scripts = true,
		/* What is judged here is proposed by someone who is governed: no command may loosen its own
		 * bonds. */
		.inside_run = true };
	if (ws)
		g.at.allowed = allowed_paths(s, a, ws);
	if (workspace_helm_home(s, a, &g.at.helm_home, NULL))
		g.at.helm_home = NULL;
	g.policy = load_policy(&g, a);
	place(&g, ws ? json_get(posture_of(s, ws)->word, "contain") : NULL);
	g.at.narrower = narrower(&g, a);
	g.at = guard_at(&g, a, cwd);
	*ret = g;
	return OK;
}

/* Replaces the decisive reason by a stricter one.  The recommended profile is dropped, because another
 * profile would not help against it. */
struct finding *guard_raise(struct arena *a, enum rule_effect action, enum reason_code reason,
	const char *rule, const char *text, struct decision *d)
{
	struct finding *f = arena_zalloc(a, 1, sizeof(*f));

	*f = (struct finding){ .action = action, .rule = rule, .reason = reason, .text = text };
	d->action = action;
	if (action_verdict(action) != V_ALLOW && d->verdict == V_ALLOW)
		d->verdict = action_verdict(action);
	if (action == ACTION_DENY)
		d->verdict = V_DENY;
	d->reason_code = reason;
	d->detail_code = rule;
	d->summary = text;
	d->decisive = f;
	d->recommended_profile = NULL; /* it spoke about the rules alone */
	return f;
}

int guard_profile(const struct guard *g, struct arena *a, const char *asked, const char **ret, struct err *e)
{
	*ret = asked ? asked : "workspace_edit";
	return asked || !g->ws || g->ws->state_fd < 0 ? OK
						      : workspace_default_profile(g->sys, a, g->ws, ret, e);
}

enum placement guard_relied(
	struct sys *s, const struct workspace *ws, const struct profile *p, enum placement asked)
{
	AUTO(arena_done) struct arena a = { 0 };

	if ((asked != IN_SANDBOX || p->requires != WALL_ALL) && asked != BY_SUPERVISOR)
		return UNSANDBOXED;
	return ws && !posture_waived(s, &a, ws) ? asked : UNSANDBOXED;
}

enum placement guard_supervised(const struct profile *p)
{
	return p->requires == WALL_ALL ? BY_SUPERVISOR : UNSANDBOXED;
}

const struct profile *guard_permitting(const struct guard *g, struct arena *a, const struct profile *now,
	const struct proposal *p, const struct decision *d, enum verdict *ret)
{
	const char *recommended = d->decisive ? d->decisive->recommended_profile : NULL;
	const struct profile *asks = NULL;

	for (size_t i = 0; i < g->profiles.count; i++) {
		const struct profile *one = &g->profiles.list[i];
		const struct decide_context at = { .a = a,
			.placement = guard_relied(g->sys, g->ws, one, IN_SANDBOX),
			.workspace = g->ws ? g->ws->root : NULL,
			.home = g->at.home,
			.now_us = d->evaluated_us };
		struct decision other;
		if (text_eq(one->name, now->name) || one->handoff_required ||
			text_eq(one->backend, "manual-remote"))
			continue;
		decide(g->policy, one, p, &at, &other);
		*ret = other.verdict;
		if (other.verdict == V_ALLOW)
			return one;
		if (other.verdict == V_ESCALATE && recommended && text_eq(one->name, recommended))
			asks = one;
	}
	*ret = V_ESCALATE;
	return asks;
}

int guard_judge(const struct guard *g, struct arena *a, const char *profile, const struct proposal *p,
	struct decision *ret, struct err *e)
{
	struct decide_context at = { .a = a,
		.mode = GUARD_ENFORCE,
		.workspace = g->at.workspace ? g->at.workspace : g->at.work_tree,
		.home = g->at.home,
		.now_us = g->sys->now_us(g->sys) };
	const struct profile *found;
	int rc = guard_profile(g, a, profile, &profile, e);

	if (rc == OK)
		rc = profiles_get(&g->profiles, profile, &found, e);
	if (rc)
		return rc;
	at.placement = guard_relied(g->sys, g->ws, found, g->placement);
	decide(g->policy, found, p, &at, ret);
	decide_advice(g->policy, &g->profiles, p, &at, ret);
	return OK;
}
