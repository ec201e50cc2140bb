/* rules.c — one rule: reading it, and asking whether it holds for an effect.
 *
 * A condition has many optional members, and a rule holds when all that are given hold. So a member that
 * is not understood must not be skipped: for an unknown member, kind, flag or class the rule is refused
 * with an error. Otherwise the rule would hold in other cases than its author thinks, and nobody would
 * notice. */
#include "base/file.h"
#include "base/text.h"
#include "decide/policy/policy.h"
#include "model/egress.h"

static const char *const class_names[] = {
#define CLASS_NAME(id, name) name,
	PATH_CLASSES(CLASS_NAME)
#undef CLASS_NAME
};
static const char *const certainty_names[] = { "certain", "prefixed", "dynamic" };

struct reader {
	struct arena *a;
	const char *origin, *id;
	struct err *e;
};

/* Every message names the file, the rule and the word that was not understood. */
static int bad(struct reader *r, const char *what, const char *word)
{
	return err_set(r->e, E_INPUT, "GUARD_RULE", "%s: rule '%s': %s '%s'", r->origin, r->id, what, word);
}

static int find_name(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(names[i], name))
			return (int)i;
	return -1;
}

/* A text, or a list of texts that is not empty, as a NULL-terminated array. */
static int read_words(struct reader *r, const struct json *v, const char *member, const char ***ret)
{
	const char **words;
	size_t n = 0;

	if (json_text(v)) {
		words = arena_zalloc(r->a, 2, sizeof(*words));
		words[0] = json_text(v);
	} else if (json_is(v, JSON_ARRAY) && v->n > 0) {
		words = arena_zalloc(r->a, v->n + 1, sizeof(*words));
		json_each (item, v) {
			if (!json_text(item))
				return bad(r, "must be texts:", member);
			words[n++] = json_text(item);
		}
	} else {
		return bad(r, "must be a text or a list of texts:", member);
	}
	*ret = words;
	return OK;
}

/* Packs words into one text: each ended by NUL, an empty one behind the last. This is the form the build
 * gives to shipped rules, so both are matched by the same code. */
static int read_globs(struct reader *r, const char **words, const char *member, const char **ret)
{
	struct buf b;

	buf_init(&b, r->a);
	for (; *words; words++) {
		if (!**words)
			return bad(r, "must not be empty:", member);
		buf_add(&b, *words, strlen(*words) + 1);
	}
	buf_addc(&b, '\0');
	*ret = b.p;
	return OK;
}

/* Kinds become bits, so that a rule is tested against an effect without comparing texts. */
static int read_kinds(struct reader *r, const char **words, uint64_t *ret)
{
	for (; *words; words++) {
		enum effect_kind kind;
		if (!effect_kind_parse(*words, &kind))
			return bad(r, "no such kind of effect:", *words);
		*ret |= UINT64_C(1) << kind;
	}
	return OK;
}

static int read_flags(struct reader *r, const char **words, unsigned *ret)
{
	for (; *words; words++) {
		unsigned flag;
		if (!effect_flag_parse(*words, &flag))
			return bad(r, "no such flag:", *words);
		*ret |= flag;
	}
	return OK;
}

/* For path classes and certainties, whose names are given by the caller. */
static int read_bits(struct reader *r, const char **words, const char *const *names, size_t n, unsigned *ret)
{
	for (; *words; words++) {
		int i = find_name(names, n, *words);
		if (i < 0)
			return bad(r, "no such path class or certainty:", *words);
		*ret |= 1u << i;
	}
	return OK;
}

/* One word only: a rule that holds both here and elsewhere leaves the member out. */
static int read_where(struct reader *r, const char **words, enum where *ret)
{
	static const char *const names[] = { "any", "here", "elsewhere" };
	int i = find_name(names, ARRAY_SIZE(names), words[0]);

	if (i < 0 || words[1])
		return bad(r, "'where' must be one of any, here, elsewhere; not", words[i < 0 ? 0 : 1]);
	*ret = (enum where)i;
	return OK;
}

/* Names as globs, addresses and networks in their usual spelling: one that is not would hold for nobody. */
static int read_hosts(struct reader *r, const char **words, const char **ret)
{
	for (const char **w = words; *w; w++) {
		uint8_t address[EGRESS_ADDRESS];
		char name[EGRESS_HOST];
		bool is_address = false;
		size_t n = strcspn(*w, "/");
		if ((*w)[strcspn(*w, "/:")] &&
			(!egress_host(*w, n, name, &is_address, address) || !is_address ||
				((*w)[n] && !egress_in_network(*w, address))))
			return bad(r, "no name, address or network:", *w);
	}
	return read_globs(r, words, "host", ret);
}

/* Members whose value is one or more words. */
static int read_word_condition(struct reader *r, const char *name, const char **words, struct rule *rule)
{
	if (text_eq(name, "kind"))
		return read_kinds(r, words, &rule->kinds);
	if (text_eq(name, "flags"))
		return read_flags(r, words, &rule->flags);
	if (text_eq(name, "not_flags"))
		return read_flags(r, words, &rule->not_flags);
	if (text_eq(name, "class"))
		return read_bits(r, words, class_names, ARRAY_SIZE(class_names), &rule->classes);
	if (text_eq(name, "not_class"))
		return read_bits(r, words, class_names, ARRAY_SIZE(class_names), &rule->not_classes);
	if (text_eq(name, "certainty"))
		return read_bits(r, words, certainty_names, ARRAY_SIZE(certainty_names), &rule->certainties);
	if (text_eq(name, "where"))
		return read_where(r, words, &rule->where);
	if (text_eq(name, "tag"))
		return read_globs(r, words, name, &rule->tags);
	if (text_eq(name, "program"))
		return read_globs(r, words, name, &rule->programs);
	if (text_eq(name, "not_program"))
		return read_globs(r, words, name, &rule->not_programs);
	if (text_eq(name, "target"))
		return read_globs(r, words, name, &rule->targets);
	if (text_eq(name, "host"))
		return read_hosts(r, words, &rule->hosts);
	if (text_eq(name, "profile"))
		return read_globs(r, words, name, &rule->profiles);
	return bad(r, "no such condition:", name);
}

static int read_condition(struct reader *r, const char *name, const struct json *v, struct rule *rule)
{
	const char **words = NULL;
	int rc;

	if (text_eq(name, "above")) {
		if (!json_is(v, JSON_TRUE))
			return bad(r, "can only be true:", name);
		rule->only_above = true;
		return OK;
	}
	if (text_eq(name, "profile_writes")) {
		if (!json_is(v, JSON_FALSE))
			return bad(r, "can only be false:", name);
		rule->only_read_only = true;
		return OK;
	}
	if (text_eq(name, "contained")) {
		if (!json_is_bool(v))
			return bad(r, "must be true or false:", name);
		rule->only_contained = json_is(v, JSON_TRUE);
		rule->only_uncontained = !rule->only_contained;
		return OK;
	}
	if ((rc = read_words(r, v, name, &words)))
		return rc;
	return read_word_condition(r, name, words, rule);
}

/* Without a reason in the file, a rule that denies has the general reason for a denial, and any other
 * that for an approval. */
static int read_reason(struct reader *r, const struct json *doc, struct rule *rule)
{
	const char *code = json_get_text(doc, "reason", NULL);
	const struct reason *found;

	rule->reason = rule->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules;
	if (!code)
		return OK;
	found = reason_find(code);
	if (!found)
		return bad(r, "no such reason code:", code);
	rule->reason = (enum reason_code)(found - reason_get((enum reason_code)0));
	return OK;
}

/* Only a checkpoint can undo. An unknown word is refused, because `undo` makes a rule milder in use. */
static int read_undo(struct reader *r, const struct json *doc, struct rule *rule)
{
	const struct json *v = json_get(doc, "undo");

	if (!v)
		return OK;
	if (json_text(v) && text_eq(json_text(v), "checkpoint"))
		rule->undo = UNDO_CHECKPOINT;
	else if (json_text(v) && text_eq(json_text(v), "tree"))
		rule->undo = UNDO_TREE;
	else
		return bad(r, "can only be 'checkpoint' or 'tree':", "undo");
	return OK;
}

/* Used for workspace files and by the build for the shipped ones. *ret is set only on success. */
int rules_parse_one(
	struct arena *a, const struct json *doc, const char *origin, struct rule *ret, struct err *e)
{
	struct reader r = { .a = a, .origin = origin, .id = json_get_text(doc, "id", ""), .e = e };
	struct rule rule = { .origin = origin, .when = json_get(doc, "when") };
	const char *action = json_get_text(doc, "action", "require_approval");
	int rc;

	rule.id = r.id;
	if (!action_parse(action, &rule.action))
		return bad(&r, "no such action:", action);
	/* Older files say "description" where newer ones say "text"; without either, the id must do. */
	rule.text = json_get_text(doc, "text", NULL);
	if (!rule.text)
		rule.text = json_get_text(doc, "description", rule.id);
	rule.instead = json_get_text(doc, "instead", NULL);
	rule.recommended_profile =
		json_get_text(doc, "profile", json_get_text(doc, "recommended_profile", NULL));
	rule.is_destructive = json_get_bool(doc, "destructive", false);
	if ((rc = read_undo(&r, doc, &rule)))
		return rc;
	if (!json_is(rule.when, JSON_OBJECT))
		return bad(&r, "must have an object:", "when");
	json_each_member (m, rule.when)
		if ((rc = read_condition(&r, m->name, m->value, &rule)))
			return rc;
	if ((rc = read_reason(&r, doc, &rule)))
		return rc;
	*ret = rule;
	return OK;
}

/* Whether one of the packed globs matches. What is not known (NULL) is matched by none. */
static bool any_glob(const char *globs, const char *s, bool path)
{
	if (!s)
		return false;
	for (; *globs; globs += strlen(globs) + 1)
		if (text_glob(globs, s, path))
			return true;
	return false;
}

/* A mount of this machine's directory into a container is here, although the program runs elsewhere. */
static bool where_holds(enum where where, unsigned flags)
{
	bool elsewhere = (flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE)) && !(flags & FXF_HOST_MOUNT);

	return where == WHERE_ANY || (where == WHERE_ELSEWHERE) == elsewhere;
}

/* The target is a directory that contains the workspace; deleting it deletes the workspace too. */
static bool is_above(const struct effect *e, const char *workspace)
{
	return workspace && e->target && !text_eq(e->target, workspace) &&
		path_is_below(workspace, e->target);
}

/* Whoever is meant by the target, in whatever spelling. */
static bool any_host(const char *hosts, const char *target)
{
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address;

	if (!target || !egress_reached(target, name, &is_address, address))
		return false;
	for (; *hosts; hosts += strlen(hosts) + 1)
		if (text_glob(hosts, name, false) || (is_address && egress_in_network(hosts, address)))
			return true;
	return false;
}

/* A target is compared as it is written and as it resolves: a link cannot lead around a rule. */
static bool names_hold(const struct rule *r, const struct effect *e, const struct profile *profile)
{
	if (r->tags && !any_glob(r->tags, e->tag, false))
		return false;
	if (r->programs && !any_glob(r->programs, e->program, false))
		return false;
	if (r->not_programs && any_glob(r->not_programs, e->program, false))
		return false;
	if (r->targets && !any_glob(r->targets, e->target, true) && !any_glob(r->targets, e->resolved, true))
		return false;
	if (r->hosts && !any_host(r->hosts, e->target) && !any_host(r->hosts, e->resolved))
		return false;
	return !r->profiles || any_glob(r->profiles, profile->name, false);
}

/* Cheap tests on bits come first; globs are tried last. The caller has already looked at the kind. */
bool rules_hold(const struct rule *r, const struct effect *e, const struct profile *profile,
	const struct decide_context *at)
{
	if (facts_is_contained(profile, at) ? r->only_uncontained : r->only_contained)
		return false;
	if ((e->flags & r->flags) != r->flags || (e->flags & r->not_flags))
		return false;
	if (r->classes && !(r->classes >> e->path_class & 1))
		return false;
	if (r->not_classes >> e->path_class & 1)
		return false;
	if (r->certainties && !(r->certainties >> e->certainty & 1))
		return false;
	if (!where_holds(r->where, e->flags) || (r->only_above && !is_above(e, at->workspace)))
		return false;
	if (r->only_read_only && profile->writes != ALLOWANCE_NO)
		return false;
	return names_hold(r, e, profile);
}
