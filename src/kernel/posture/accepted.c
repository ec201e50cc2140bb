/* accepted.c — which files of the tree count, and what a person is shown before more of them do.
 *
 * A repository may bring its own profiles, tool groups and rules.  It brings them about itself, so they count only after a person has
 * seen what they would permit and said so: then their exact bytes are kept in the helm home by digest, and hold from there, whatever
 * becomes of the files.  Without that the shipped ones hold. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/posture_parts.h"
#include "kernel/shipped.h"
#include "kernel/state_files.h"
#include "remember/evidence_command.h"

#include <fcntl.h>
#include <string.h>

/* Everything in the tree that can permit something. */
const struct governed GOVERNED[GOVERNED_COUNT] = {
	[GOVERNED_PROFILES] = { "references/execution_profiles.json", "execution_profiles.json" },
	[GOVERNED_GROUPS] = { "references/tool_groups.json", "tool_groups.json" },
	[GOVERNED_POLICY] = { "references/guard_policy.json", NULL },
	[GOVERNED_CHECKPOINTS] = { CHECKPOINT_POLICY_FILE, NULL },
	[GOVERNED_EVIDENCE] = { EVIDENCE_FILE, NULL },
};

/* ---- what holds ---- */

const char *accepted_copy(struct arena *a, const struct posture *p, const char *digest)
{
	return arena_printf(a, "%s/" POSTURE_ACCEPTED "/%s", p->dir, digest + strlen("sha256:"));
}

int accepted_read(struct sys *s, struct arena *a, const struct workspace *ws, const char *file,
	struct bytes *ret, struct err *e)
{
	const struct posture *p = posture_of(s, ws);
	const char *digest = json_get_text(json_get(p->word, "accepted"), file, NULL);
	struct err why = { 0 };

	if (!digest || !text_starts(digest, "sha256:"))
		return err_set(e, E_MISSING, "ACCEPT_NONE", "nobody has accepted %s", file);
	int rc = file_read(s, a, AT_FDCWD, accepted_copy(a, p, digest), GOVERNED_LIMIT, 0, ret, &why);
	if (rc || !text_eq(sha256_prefixed(a, ret->p, ret->n), digest))
		return err_set(e, E_CORRUPT, "ACCEPT_LOST",
			"what was accepted of %s/%s is lost%s%s; 'helm workspace trust' accepts it again",
			ws->root, file, rc ? ": " : "", rc ? why.text : "");
	return OK;
}

/* Accepted or shipped. */
static int in_force(struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g,
	const char **ret_name, struct bytes *ret, struct err *e)
{
	int rc = accepted_read(s, a, ws, g->file, ret, e);

	*ret_name = rc ? "built-in" : arena_printf(a, "%s/%s", ws->root, g->file);
	if (rc != E_MISSING)
		return rc;
	*ret = g->shipped ? profiles_shipped(g->shipped) : (struct bytes){ NULL, 0 };
	return OK;
}

int workspace_profiles(
	struct sys *s, struct arena *a, const struct workspace *ws, struct profiles *ret, struct err *e)
{
	const char *name, *groups_name;
	struct bytes text, groups;
	int rc = in_force(s, a, ws, &GOVERNED[GOVERNED_PROFILES], &name, &text, e);

	if (rc == OK)
		rc = in_force(s, a, ws, &GOVERNED[GOVERNED_GROUPS], &groups_name, &groups, e);
	if (rc)
		return rc;
	/* Nobody has accepted anything else. */
	if (text.p == profiles_shipped("execution_profiles.json").p &&
		groups.p == profiles_shipped("tool_groups.json").p)
		profiles_builtin(a, ret);
	else
		rc = profiles_parse(a, text, name, groups, groups_name, ret, e);
	if (rc)
		return rc;
	/* Hosts that a person allowed here count for every profile that names hosts. */
	for (size_t i = 0; i < ret->count; i++)
		json_each (rule, json_get(posture_of(s, ws)->word, "egress"))
			if (ret->list[i].reach == NETWORK_NAMED && json_text(rule))
				(void)egress_add(a, &ret->list[i].hosts, json_text(rule), "a person", NULL);
	return OK;
}

/* ---- what lies in the tree ---- */

/* The tree's bytes; empty when there is no such file.  Never through a link out of the tree. */
int accepted_in_tree(struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g,
	struct bytes *ret, struct err *e)
{
	struct err why = { 0 };
	int rc = ws->root_fd < 0
		? E_MISSING
		: file_read(s, a, ws->root_fd, g->file, GOVERNED_LIMIT, FILE_BENEATH, ret, &why);

	if (rc == E_MISSING) {
		*ret = (struct bytes){ NULL, 0 };
		return OK;
	}
	return rc ? err_set(e, rc, why.code, "%s/%s: %s", ws->root, g->file, why.text) : OK;
}

/* An earlier release's file that nobody touched is nobody's own text: what the program ships holds, and nothing is there to be accepted.  One that
 * an operator accepted, and that is still the same, is theirs. */
int accepted_own(struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g,
	struct bytes *ret, struct err *e)
{
	struct bytes tree, holds;
	int rc = accepted_in_tree(s, a, ws, g, &tree, e);

	if (rc)
		return rc;
	*ret = tree.p && shipped_age(g->file, tree) == SHIPPED_EARLIER &&
			!(accepted_read(s, a, ws, g->file, &holds, NULL) == OK && bytes_eq(tree, holds))
		? (struct bytes){ NULL, 0 }
		: tree;
	return OK;
}

const char *accepted_state(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g)
{
	struct bytes tree, holds;
	const char *name;
	bool is_accepted = json_get(json_get(posture_of(s, ws)->word, "accepted"), g->file) != NULL;

	if (accepted_in_tree(s, a, ws, g, &tree, NULL))
		return is_accepted ? "changed" : "unaccepted";
	if (!tree.p)
		return is_accepted ? "missing" : "in force";
	if (in_force(s, a, ws, g, &name, &holds, NULL) == OK && bytes_eq(tree, holds))
		return "in force";
	if (!is_accepted && shipped_age(g->file, tree) == SHIPPED_EARLIER)
		return "earlier";
	return is_accepted ? "changed" : "unaccepted";
}

static void tell(struct arena *a, struct json *list, const char *text, const char *remedy)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "text", text_safe(a, text, strlen(text), false));
	json_sets(a, one, "remedy", remedy);
	json_push(a, list, one);
}

static const char *trust_command(struct arena *a, const struct workspace *ws)
{
	return arena_printf(a, "helm workspace trust --path %s", text_quote(a, ws->root));
}

static const char *repair_command(struct arena *a, const struct workspace *ws)
{
	return arena_printf(a, WORKSPACE_REPAIR " --path %s", text_quote(a, ws->root));
}

/* A policy that nobody accepted counts as far as it is stricter, and that needs no word; only what it would loosen does. */
static bool counts_anyway(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g)
{
	struct policy_source from = { .file_name = g->file };
	struct checkpoint_policy points;
	struct evidence_rules evidence;
	struct bytes text;
	struct err none = { 0 };

	if (g == &GOVERNED[GOVERNED_EVIDENCE])
		return accepted_in_tree(s, a, ws, g, &text, NULL) == OK &&
			evidence_rules_parse(a, text, &evidence, &none) == OK &&
			!evidence_rules_loosen(a, &evidence, evidence_rules_shipped(a))->n;

	if (g == &GOVERNED[GOVERNED_CHECKPOINTS])
		return accepted_in_tree(s, a, ws, g, &text, NULL) == OK &&
			checkpoint_policy_parse(a, text, &points, &none) == OK &&
			!checkpoint_policy_loosens(&points);
	return g == &GOVERNED[GOVERNED_POLICY] && accepted_in_tree(s, a, ws, g, &from.file, NULL) == OK &&
		!policy_wants_override(policy_compile(a, &from));
}

static void tell_files(struct sys *s, struct arena *a, const struct workspace *ws, struct json *list)
{
	for (size_t i = 0; i < GOVERNED_COUNT; i++) {
		const char *state = accepted_state(s, a, ws, &GOVERNED[i]);
		bool is_new = text_eq(state, "unaccepted");
		if (text_eq(state, "in force") || text_eq(state, "earlier") ||
			(is_new && counts_anyway(s, a, ws, &GOVERNED[i])))
			continue;
		tell(a, list,
			is_new ? arena_printf(a, "%s is the tree's own, and nobody has accepted it: %s",
					 GOVERNED[i].file,
					 GOVERNED[i].shipped ? "the shipped one holds"
							     : "what it would loosen does not count")
			       : arena_printf(a, "%s is %s since it was accepted: what was accepted holds",
					 GOVERNED[i].file, state),
			GOVERNED[i].shipped && state_file_is_unusable(s, a, ws, GOVERNED[i].file)
				? repair_command(a, ws)
				: trust_command(a, ws));
	}
}

/* Does the tree lack a freeze or a pause that holds by this place's own word?  `have` is what its file says. */
static bool lacks(const struct json *word, const char *name, const struct json *have)
{
	json_each_member (m, json_get(word, name))
		if (!json_get(have, m->name))
			return true;
	return false;
}

static bool is_unreadable(struct sys *s, struct arena *a, const struct workspace *ws, const char *file)
{
	struct json *doc;
	int rc = ws->state_fd < 0 ? E_MISSING
				  : doc_read(s, a, ws->state_fd, file, GOVERNED_LIMIT, 0, &doc, NULL);

	return rc ? rc != E_MISSING : !json_is(doc, JSON_OBJECT);
}

static void tell_copies(struct sys *s, struct arena *a, const struct workspace *ws, struct json *list)
{
	const struct posture *p = posture_of(s, ws);
	struct json *doc;
	static const char *const files[] = { "freeze.json", "profile-pause-state.json", "workspace.json" };
	const char *mend = trust_command(a, ws);
	bool is_bad[ARRAY_SIZE(files)] = { false };

	/* Where nobody has spoken it closes, and is told by whoever reads it. */
	for (size_t i = 0; p->is_spoken && i < ARRAY_SIZE(files); i++) {
		is_bad[i] = is_unreadable(s, a, ws, files[i]);
		if (is_bad[i])
			tell(a, list,
				arena_printf(a, "%s cannot be read: what a person decided holds", files[i]),
				mend);
	}
	if (!is_bad[0] && tree_freezes(s, a, ws, &doc, NULL) == OK && lacks(p->own, "freezes", doc))
		tell(a, list, "freeze.json does not say what is frozen: what a person decided holds", mend);
	if (!is_bad[1] && tree_pauses(s, a, ws, &doc, NULL) == OK && lacks(p->own, "pauses", doc))
		tell(a, list,
			"profile-pause-state.json does not say what is paused: what a person decided holds",
			mend);
	if (is_bad[2] || tree_settings(s, a, ws, &doc, NULL))
		return;
	static const char *const names[] = { "default_profile", "destructive" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *said = json_get_text(p->word, names[i], i ? "ask" : "workspace_edit");
		const char *file = json_get_text(doc, names[i], NULL);
		bool is_same = file ? text_eq(file, said) : !json_get(p->own, names[i]);
		const char *now = said;
		if (i == 0 && !is_same && workspace_default_profile(s, a, ws, &now, NULL))
			continue;
		/* A stricter one counts, and is what every view names anyway. */
		if (is_same || (file && i == 0 && text_eq(now, file)) ||
			(file && i == 1 && text_eq(said, "checkpoint")))
			continue;
		tell(a, list,
			arena_printf(a, "workspace.json %s%s%s: %s holds", file ? "says " : "does not say ",
				names[i],
				file ? arena_printf(a, "=%s, which nobody has accepted here", file) : "",
				said),
			mend);
	}
}

struct json *posture_differences(struct sys *s, struct arena *a, const struct workspace *ws)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(s, ws);
	const struct posture *p = posture_of(s, held);
	struct json *list = json_new(a, JSON_ARRAY);

	if (p->broken)
		return list; /* that is a freeze, and is told as one */
	if (p->note)
		tell(a, list, p->note, trust_command(a, ws));
	tell_files(s, a, ws, list);
	tell_copies(s, a, ws, list);
	return list;
}
