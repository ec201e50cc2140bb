/* offer.c — what a tree would permit, as a person reads it, and taking their word for it.
 *
 * Nobody reads two JSON files side by side and sees what is new.  So the difference is told as what becomes possible: which profile
 * may write where, reach what, and which rules stop asking.  Then exactly those bytes are kept, and no others. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "execute/execute.h"
#include "kernel/posture_parts.h"
#include "remember/evidence_command.h"

#include <fcntl.h>
#include <string.h>

static void say(struct arena *a, struct json *list, const char *profile, const char *text)
{
	json_push(a, list, json_stringf(a, "%s%s%s", profile ? profile : "", profile ? ": " : "", text));
}

/* ---- profiles ---- */

static bool has_path(const struct profile *p, const char *path)
{
	for (size_t i = 0; p && i < p->write_path_count; i++)
		if (text_eq(p->write_paths[i], path))
			return true;
	return false;
}

static void say_writes(
	struct arena *a, const struct profile *now, const struct profile *then, struct json *list)
{
	if (then->writes == ALLOWANCE_NO)
		return;
	if (!now || now->writes != then->writes)
		say(a, list, then->name,
			then->writes == ALLOWANCE_YES ? "may change files of the workspace"
						      : "may write what its target permits");
	for (size_t i = 0; i < then->write_path_count; i++)
		if (!now || now->writes != ALLOWANCE_YES || !has_path(now, then->write_paths[i]))
			say(a, list, then->name, arena_printf(a, "may write below %s", then->write_paths[i]));
	if (now && then->checkpoint != now->checkpoint && now->checkpoint == CHECKPOINT_REQUIRED)
		say(a, list, then->name, "no checkpoint is made first any more");
}

static bool names_secret(const struct profile *p, const char *place)
{
	for (size_t i = 0; i < p->secret_count; i++)
		if (text_eq(p->secrets[i], place))
			return true;
	return false;
}

static bool names_host(const struct profile *p, const char *rule)
{
	for (size_t i = 0; i < p->egress_count; i++)
		if (text_eq(p->egress[i], rule))
			return true;
	return false;
}

static void say_reach(
	struct arena *a, const struct profile *now, const struct profile *then, struct json *list)
{
	if (then->network != ALLOWANCE_NO && (!now || now->network == ALLOWANCE_NO))
		say(a, list, then->name, "may use the network");
	else if (then->reach > (now ? now->reach : NETWORK_NONE))
		say(a, list, then->name,
			then->reach == NETWORK_FULL	       ? "may use the network"
				: then->reach == NETWORK_NAMED ? "may reach hosts by name"
							       : "may reach services on this machine");
	for (size_t i = 0; i < then->egress_count; i++)
		if (!now || !names_host(now, then->egress[i]))
			say(a, list, then->name, arena_printf(a, "may reach %s", then->egress[i]));
	for (size_t i = 0; i < then->secret_count; i++)
		if (!now || !names_secret(now, then->secrets[i]))
			say(a, list, then->name, arena_printf(a, "may read ~/%s", then->secrets[i]));
	if (now && (now->requires & ~then->requires))
		say(a, list, then->name, "runs also where the machine cannot guarantee its sandbox");
	if (then->destructive > (now ? now->destructive : DESTRUCTIVE_ASK))
		say(a, list, then->name,
			"what destroys files is saved first and then runs without a question");
	if (now && then->unknown_tool < now->unknown_tool)
		say(a, list, then->name,
			then->unknown_tool == UNKNOWN_ALLOW
				? "tools that nobody knows pass without a question"
				: "tools that nobody knows are asked about, not denied");
	if (now && then->unread < now->unread)
		say(a, list, then->name, "scripts and builds that were not read pass without a question");
}

static void say_tools(
	struct arena *a, const struct profile *now, const struct profile *then, struct json *list)
{
	for (size_t g = 0; g < GROUP_COUNT; g++) {
		enum tool_rule old = now ? now->tool_rules[g] : TOOLS_DENY, new = then->tool_rules[g];
		if (old == new || new == TOOLS_DENY || (new == TOOLS_ASK &&old == TOOLS_ALLOW))
			continue;
		say(a, list, then->name,
			arena_printf(a, "%s %s", tool_group_name((enum tool_group)g),
				new == TOOLS_ALLOW ? "without a question" : "after a question"));
	}
}

/* What `then` permits that `now` does not.  Something is said about every profile that is not known to be stricter. */
static void say_profiles(
	struct arena *a, const struct profiles *now, const struct profiles *then, struct json *list)
{
	for (size_t i = 0; i < then->count; i++) {
		const struct profile *p = &then->list[i], *old = profiles_find(now, p->name);
		uint32_t before = list->n;
		if (!old)
			say(a, list, p->name, "is a new profile");
		say_writes(a, old, p, list);
		say_reach(a, old, p, list);
		say_tools(a, old, p, list);
		if (list->n == before && !profile_is_within(p, old))
			say(a, list, p->name, arena_printf(a, "is done by %s", p->backend));
	}
	for (size_t i = 0; i < now->count; i++)
		if (!profiles_find(then, now->list[i].name))
			say(a, list, now->list[i].name, "is gone");
}

/* ---- rules ---- */

/* Rules that would no longer ask.  Both policies begin with the same shipped rules, in the same order. */
static int say_policy(struct arena *a, struct bytes text, const char *name, struct json *list, struct err *e)
{
	struct policy_source from = { .file = text, .file_name = name, .override_accepted = true };
	const struct policy *now = policy_compile(a, NULL), *then = policy_compile(a, text.p ? &from : NULL);
	struct rule_view x, y;

	if (policy_error(then))
		return err_set(e, E_INPUT, "ACCEPT_INVALID", "%s", policy_error(then));
	for (size_t i = 0; policy_rule(now, i, &x) && policy_rule(then, i, &y); i++)
		if (text_eq(x.id, y.id) && y.action < x.action)
			say(a, list, NULL,
				arena_printf(a, "rule %s: %s instead of %s", x.id, action_name(y.action),
					action_name(x.action)));
	return OK;
}

/* ---- checkpoints ---- */

/* A policy that was accepted counts whole; the defaults are what holds without one. */
static int say_checkpoints(struct arena *a, struct bytes text, struct json *list, struct err *e)
{
	struct checkpoint_policy now, then;
	struct err why = { 0 };

	checkpoint_policy_defaults(&now);
	if (!text.p)
		return OK;
	if (checkpoint_policy_parse(a, text, &then, &why))
		return err_set(e, E_INPUT, "ACCEPT_INVALID", "%s", why.text);
	if (then.keep_recent < now.keep_recent || then.keep_days < now.keep_days)
		say(a, list, NULL,
			arena_printf(a, "checkpoints: only the newest %lld and those of %lld days are kept",
				(long long)then.keep_recent, (long long)then.keep_days));
	if (then.max_total_mb >= 0)
		say(a, list, NULL,
			arena_printf(a, "checkpoints: older ones go when all take more than %lld MB",
				(long long)then.max_total_mb));
	if (!then.protect_referenced || !then.protect_pinned)
		say(a, list, NULL, "checkpoints: a prune may remove those that are pinned or named by tasks");
	for (size_t i = 0; i < then.exclude_count; i++)
		say(a, list, NULL,
			arena_printf(a, "checkpoints: %s is not saved", text_quote(a, then.excludes[i])));
	if (then.max_files > now.max_files || then.max_bytes > now.max_bytes)
		say(a, list, NULL, "checkpoints: one may take more files or room than the defaults allow");
	return OK;
}

/* ---- evidence commands ---- */

static int say_evidence(struct arena *a, struct bytes text, struct json *list, struct err *e)
{
	struct evidence_rules then;
	struct err why = { 0 };

	if (!text.p)
		return OK;
	if (evidence_rules_parse(a, text, &then, &why))
		return err_set(e, E_INPUT, "ACCEPT_INVALID", "%s", why.text);
	json_each (one, evidence_rules_loosen(a, &then, evidence_rules_shipped(a)))
		json_push(a, list, one);
	return OK;
}

/* ---- the offer ---- */

/* The tree's own text, or what is shipped where it has none. */
static struct bytes or_shipped(struct bytes text, const struct governed *g)
{
	return text.p || !g->shipped ? text : profiles_shipped(g->shipped);
}

static int offer_files(struct sys *s, struct arena *a, const struct workspace *ws,
	struct bytes texts[GOVERNED_COUNT], struct json *files, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < GOVERNED_COUNT; i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		rc = accepted_own(s, a, ws, &GOVERNED[i], &texts[i], e);
		json_sets(a, one, "file", GOVERNED[i].file);
		json_sets(a, one, "state", accepted_state(s, a, ws, &GOVERNED[i]));
		json_sets(a, one, "sha256",
			rc || !texts[i].p ? NULL : sha256_prefixed(a, texts[i].p, texts[i].n));
		json_push(a, files, one);
	}
	return rc;
}

/* The choices of workspace.json, where they are not what holds. */
static int offer_choices(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct profiles *then, struct json *doc, struct json *list, struct err *e)
{
	struct json *settings;
	const struct json *word = posture_of(s, ws)->word;
	const struct profile *p;
	int rc = tree_settings(s, a, ws, &settings, e);

	if (rc)
		return rc;
	const char *profile = json_get_text(settings, "default_profile", NULL),
		   *destructive = json_get_text(settings, "destructive", NULL),
		   *said = json_get_text(word, "default_profile", "workspace_edit");
	const char *chosen = profile ? profile : said;
	rc = profiles_get(then, chosen, &p, e);
	if (rc)
		return err_wrap(e, "%s/workspace.json", ws->state_dir);
	if (profile && !text_eq(profile, said)) {
		json_sets(a, doc, "default_profile", profile);
		say(a, list, NULL,
			arena_printf(a, "agents' calls are judged by the profile %s instead of %s", profile,
				said));
	}
	if (destructive && text_eq(destructive, "checkpoint") &&
		!text_eq(json_get_text(word, "destructive", ""), "checkpoint")) {
		json_sets(a, doc, "destructive", destructive);
		say(a, list, NULL, "what destroys files is saved first and then runs without a question");
	}
	return OK;
}

int accepted_offer(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY),
		    *list = json_new(a, JSON_ARRAY);
	struct bytes texts[GOVERNED_COUNT] = { { NULL, 0 } };
	struct profiles now, then;
	int rc = offer_files(s, a, ws, texts, files, e);

	if (rc == OK && workspace_profiles(s, a, ws, &now, NULL))
		profiles_builtin(a, &now); /* what was accepted is lost: everything is told again */
	if (rc == OK)
		rc = profiles_parse(a, or_shipped(texts[GOVERNED_PROFILES], &GOVERNED[GOVERNED_PROFILES]),
			GOVERNED[GOVERNED_PROFILES].file,
			or_shipped(texts[GOVERNED_GROUPS], &GOVERNED[GOVERNED_GROUPS]),
			GOVERNED[GOVERNED_GROUPS].file, &then, e);
	if (rc)
		return rc;
	say_profiles(a, &now, &then, list);
	rc = say_policy(a, texts[GOVERNED_POLICY], GOVERNED[GOVERNED_POLICY].file, list, e);
	if (rc == OK)
		rc = say_checkpoints(a, texts[GOVERNED_CHECKPOINTS], list, e);
	if (rc == OK)
		rc = say_evidence(a, texts[GOVERNED_EVIDENCE], list, e);
	json_sets(a, doc, "workspace", ws->root);
	json_set(a, doc, "files", files);
	json_set(a, doc, "becomes_possible", list);
	if (rc == OK)
		rc = offer_choices(s, a, ws, &then, doc, list, e);
	if (rc == OK)
		*ret = doc;
	return rc;
}

/* ---- taking the word ---- */

struct taking {
	const struct json *accepted, *offer;
	const char *require_key, *machine;
	const unsigned *waived;
};

static int take(void *arg, struct arena *a, struct json *word, struct err *e)
{
	static const char *const names[] = { "default_profile", "destructive" };
	const struct taking *t = arg;

	(void)e;
	json_setb(a, word, "stands_alone", true);
	json_set(a, word, "accepted", json_copy(a, t->accepted));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(t->offer, names[i]))
			json_sets(a, word, names[i], json_get_text(t->offer, names[i], ""));
	if (t->require_key)
		json_setb(a, word, "require_key", text_eq(t->require_key, "yes"));
	if (t->waived) {
		json_setb(a, word, "degraded", *t->waived);
		(void)json_remove(word, "degraded_machine");
		(void)json_remove(word, "degraded_guarantees");
	}
	if (t->waived && *t->waived) {
		json_sets(a, word, "degraded_machine", t->machine);
		json_set(a, word, "degraded_guarantees", guarantees_list(a, *t->waived));
	}
	return OK;
}

/* Keeps the bytes of one file under their digest, on disk before anybody accepts them. */
static int keep(struct kernel *k, struct arena *a, const char *dir, const char *digest, struct bytes text,
	struct err *e)
{
	const char *to = arena_printf(a, "%s/" POSTURE_ACCEPTED, dir);
	int rc = file_mkdirs(k->sys, AT_FDCWD, to, 0700, e);

	return rc ? rc
		  : file_replace(k->sys, AT_FDCWD, arena_printf(a, "%s/%s", to, digest + strlen("sha256:")),
			    0600, text, e);
}

int accepted_take(struct kernel *k, struct arena *a, const struct json *offer, const char *require_key,
	const unsigned *waived, const char *executor, struct json **ret_receipt, struct err *e)
{
	const char *dir = workspace_place(a, k->ws, k->ws->root);
	struct json *accepted = json_new(a, JSON_OBJECT), *about = json_new(a, JSON_OBJECT);
	struct taking t = { accepted, offer, require_key, posture_machine(k->sys, a), waived };

	for (size_t i = 0; i < GOVERNED_COUNT; i++) {
		struct bytes text;
		int rc = accepted_own(k->sys, a, k->ws, &GOVERNED[i], &text, e);
		if (rc)
			return rc;
		const char *digest = text.p ? sha256_prefixed(a, text.p, text.n) : "";
		if (!text_eq(digest, json_get_text(json_at(json_get(offer, "files"), i), "sha256", "")))
			return err_set(e, E_INPUT, "ACCEPT_CHANGED",
				"%s was changed meanwhile; look at it again", GOVERNED[i].file);
		if (!text.p || (GOVERNED[i].shipped && bytes_eq(text, profiles_shipped(GOVERNED[i].shipped))))
			continue;
		rc = keep(k, a, dir, digest, text, e);
		if (rc)
			return rc;
		json_sets(a, accepted, GOVERNED[i].file, digest);
	}
	json_set(a, about, "becomes_possible", json_copy(a, json_get(offer, "becomes_possible")));
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.workspace/trust",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		take, &t, ret_receipt, e);
}
