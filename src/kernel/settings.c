/* settings.c — the profile by which agents' calls and `helm run` are judged, and what happens to what destroys.
 *
 * Both are part of the standing word (posture.h).  <state>/workspace.json says the same for people and older tools; where it says
 * something else it counts only if that is stricter. */
#include "base/text.h"
#include "kernel/posture_parts.h"

#define DEFAULT_PROFILE "workspace_edit"

/* Does the tree's choice permit nothing that the word's does not?  Not when either is unknown. */
static bool is_stricter(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *name, const char *than)
{
	struct profiles all;

	if (text_eq(name, than) || workspace_profiles(s, a, ws, &all, NULL))
		return false;
	const struct profile *x = profiles_find(&all, name), *y = profiles_find(&all, than);
	return x && y && profile_is_within(x, y);
}

static int chosen_profile(struct sys *s, struct arena *a, const struct workspace *ws, const char *otherwise,
	const char **ret, struct err *e)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(s, ws);
	const struct posture *p = posture_of(s, held);
	const char *said = json_get_text(p->word, "default_profile", otherwise);
	struct json *doc;
	int rc = tree_settings(s, a, ws, &doc, e);

	if (rc)
		return rc;
	/* The word about another place may hold here; what was chosen for this one, and what its file says, count where stricter. */
	const char *others[] = { json_get_text(p->own, "default_profile", said),
		json_get_text(doc, "default_profile", said) };
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (is_stricter(s, a, ws, others[i], said))
			said = others[i];
	*ret = said;
	return OK;
}

int workspace_default_profile(
	struct sys *s, struct arena *a, const struct workspace *ws, const char **ret, struct err *e)
{
	return chosen_profile(s, a, ws, DEFAULT_PROFILE, ret, e);
}

/* Profiles that a person has accepted here need not have that one. */
int workspace_agent_profile(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct profiles *all, const char **ret, struct err *e)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(s, ws);

	return chosen_profile(
		s, a, held, profiles_find(all, AGENT_PROFILE) ? AGENT_PROFILE : DEFAULT_PROFILE, ret, e);
}

/* "checkpoint" takes a person's word, or an accepted profile that says so and nobody who says otherwise.  Any other text in either place
 * means "ask", also one that is not known. */
int workspace_destructive(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	enum destructive_rule *ret, struct err *e)
{
	const char *said = json_get_text(posture_of(s, ws)->word, "destructive", NULL);
	struct json *doc;
	int rc = tree_settings(s, a, ws, &doc, e);

	if (rc)
		return rc;
	const struct json *file = json_get(doc, "destructive");
	bool asks = (said && !text_eq(said, "checkpoint")) ||
		(file && !text_eq(json_get_text(doc, "destructive", ""), "checkpoint"));
	*ret = asks ? DESTRUCTIVE_ASK : said ? DESTRUCTIVE_CHECKPOINT : p->destructive;
	return OK;
}

struct choice {
	const char *profile, *destructive;
	bool is_stricter;
};

static int choose(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct choice *c = arg;

	(void)e;
	json_sets(a, word, "default_profile", c->profile);
	/* Whoever chooses more for this place than holds around it is a person, and lets it stand alone. */
	if (!c->is_stricter)
		json_setb(a, word, "stands_alone", true);
	if (c->destructive)
		json_sets(a, word, "destructive", c->destructive);
	return OK;
}

/* Checks the name first, so that no unknown profile is ever chosen.  The record says what was chosen before and what is chosen
 * now. */
int workspace_use_profile(struct kernel *k, struct arena *a, const char *name, const char *destructive,
	struct json **ret_receipt, struct err *e)
{
	struct choice c = { name, destructive, workspace_choice_is_stricter(k, a, name, destructive) };
	struct json *about = json_new(a, JSON_OBJECT);
	const struct profile *profile;
	int rc = profiles_get(&k->guard.profiles, name, &profile, e);

	if (rc)
		return rc;
	json_sets(a, about, "before",
		json_get_text(posture_of(k->sys, k->ws)->word, "default_profile", DEFAULT_PROFILE));
	json_sets(a, about, "after", name);
	if (destructive)
		json_sets(a, about, "destructive", destructive);
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.profile/use", .type = "setting", .about = about }, choose,
		&c, ret_receipt, e);
}

bool workspace_choice_is_stricter(
	struct kernel *k, struct arena *a, const char *name, const char *destructive)
{
	const char *now;
	enum destructive_rule rule;
	const struct profile *p = profiles_find(&k->guard.profiles, name);

	if (!p || workspace_default_profile(k->sys, a, k->ws, &now, NULL) ||
		workspace_destructive(k->sys, a, k->ws, p, &rule, NULL))
		return false;
	if (destructive && text_eq(destructive, "checkpoint") && rule != DESTRUCTIVE_CHECKPOINT)
		return false;
	return text_eq(name, now) || is_stricter(k->sys, a, k->ws, name, now);
}
