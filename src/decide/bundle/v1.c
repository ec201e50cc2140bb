/* v1.c — policy bundle v1: one YAML file, {apiVersion, kind, metadata{name, version, hash}, rules[{id, action, expression, verdict, reason}]}.
 *
 * BUNDLE_INVALID and RULE_INVALID are the load rules of the format; everything else that is refused here (an unknown version, an unknown member, a rule twice, a broken
 * expression) is refused because a policy must mean what it says. */
#include "base/hash.h"
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* In the order of strictness. */
static const char *const verdicts[][2] = { { "ALLOW", "ALLOW" }, { "ESCALATE", "ESCALATE" },
	{ "BLOCK", "DENY" } };

/* Its place in the order above; -1 for another word. */
static int strictness(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++)
		if (strcasecmp(word, verdicts[i][0]) == 0)
			return (int)i;
	return -1;
}

const char *bundle_verdict(const char *word)
{
	int place = strictness(word);

	return place < 0 ? NULL : verdicts[place][1];
}

/* ---- hashes ---- */

/* As the format hashes a rule: five texts in this order, the verdict as it was written. */
static struct json *rule_preimage(struct arena *a, const struct json *rule)
{
	static const char *const members[] = { "id", "action", "expression", "verdict", "reason" };
	struct json *made = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(a, made, members[i], scalar_text(a, json_get(rule, members[i])));
	return made;
}

static const char *hash_of(struct arena *a, const struct json *v)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, v, JSON_HTML_SAFE);
	return sha256_hex(a, b.p, b.n);
}

static const char *content_hash(struct arena *a, const struct json *tree)
{
	const struct json *metadata = json_get(tree, "metadata"), *rules = json_get(tree, "rules");
	struct json *made = json_new(a, JSON_OBJECT),
		    *list = json_new(a, json_is(rules, JSON_ARRAY) ? JSON_ARRAY : JSON_NULL);

	json_sets(a, made, "name", scalar_text(a, json_get(metadata, "name")));
	json_sets(a, made, "version", scalar_text(a, json_get(metadata, "version")));
	json_each (rule, rules)
		json_push(a, list, rule_preimage(a, rule));
	json_set(a, made, "rules", list);
	return hash_of(a, made);
}

/* ---- reading ---- */

/* Absent is what older files have; another version is never guessed at. */
static void check_version(struct reading *r)
{
	const struct json *version = json_get(r->tree, "apiVersion"), *kind = json_get(r->tree, "kind");

	if (version && !text_eq(scalar_text(r->a, version), "helm.mindburn.run/v1"))
		problem_at(r, POLICY_ERROR, "VERSION_INCOMPATIBLE", version->at, scalar_text(r->a, version),
			"write 'apiVersion: helm.mindburn.run/v1'",
			"this program reads version helm.mindburn.run/v1 only");
	if (kind && !text_eq(scalar_text(r->a, kind), "PolicyBundle"))
		problem_at(r, POLICY_ERROR, "VERSION_INCOMPATIBLE", kind->at, scalar_text(r->a, kind),
			"write 'kind: PolicyBundle', JurisdictionPack, IndustryPack or BusinessPreset",
			"there is no kind of policy file of this name");
	if (!version)
		problem_at(r, POLICY_WARNING, "POLICY_VERSION", r->tree->at, "",
			"write 'apiVersion: helm.mindburn.run/v1' at the top",
			"the bundle does not say which version it is");
}

static const char *check_verdict(struct reading *r, const struct json *rule)
{
	const char *word = take_text(r, rule, "verdict", "RULE_INVALID"), *verdict = bundle_verdict(word);

	if (*word && !verdict)
		problem_at(r, POLICY_ERROR, "RULE_INVALID", json_get(rule, "verdict")->at, word,
			strcasecmp(word, "DENY") == 0 ? "a bundle says BLOCK"
						      : "write BLOCK, ALLOW or ESCALATE",
			"this is no verdict of a bundle");
	return verdict;
}

static void read_rule(struct reading *r, const struct json *rule, struct json *into)
{
	const char *id, *action, *verdict;
	const struct json *expression = json_get(rule, "expression");
	size_t errors = r->problems->errors;

	r->rule = NULL;
	if (!take_object(r, rule, "a rule", "RULE_INVALID"))
		return;
	r->rule = id = take_text(r, rule, "id", "RULE_INVALID");
	action = take_text(r, rule, "action", "RULE_INVALID");
	verdict = check_verdict(r, rule);
	(void)TAKE_ONLY(r, rule, "POLICY_MEMBER", "id", "action", "expression", "verdict", "reason");
	if (*action)
		(void)take_action(r, json_get(rule, "action"), "POLICY_ACTION");
	const char *when = scalar_text(r->a, expression);
	if (*when && json_is(expression, JSON_STRING))
		(void)take_condition(r, expression);
	if (r->problems->errors > errors)
		return;
	struct json *made = make_rule(r, id, action, verdict, rule);
	if (*when && !text_eq(when, "true"))
		json_sets(r->a, made, "when", when);
	const char *reason = scalar_text(r->a, json_get(rule, "reason"));
	if (*reason)
		json_sets(r->a, made, "text", reason);
	json_push(r->a, into, made);
}

void read_bundle(struct reading *r)
{
	const struct json *metadata = json_get(r->tree, "metadata");
	const char *name = "", *version = scalar_text(r->a, json_get(metadata, "version"));

	check_version(r);
	(void)TAKE_ONLY(r, r->tree, "POLICY_MEMBER", "apiVersion", "kind", "metadata", "rules", "signature");
	if (json_is(metadata, JSON_OBJECT)) {
		name = take_text(r, metadata, "name", "BUNDLE_INVALID");
		(void)TAKE_ONLY(r, metadata, "POLICY_MEMBER", "name", "version", "hash", "epoch", "coverage");
	} else {
		problem_at(r, POLICY_ERROR, "BUNDLE_INVALID", metadata ? metadata->at : r->tree->at,
			"metadata", "write 'metadata:' with 'name:' below it", "the bundle has no name");
	}
	make_document(r, name, version, "closed");
	take_settings(r, metadata);
	struct json *rules = make_layer(r, "P1", 1);
	const struct json *list = take_list(r, r->tree, "rules", "BUNDLE_INVALID");
	json_each (rule, list)
		read_rule(r, rule, rules);
	r->rule = NULL;
	r->ret->content_hash = content_hash(r->a, r->tree);
}

/* ---- composing ---- */

struct composing {
	struct json *rule; /* as hashed */
	size_t order; /* of appearance */
};

static const char *id_of(const struct composing *c)
{
	return json_get_text(c->rule, "id", "");
}

static int by_id(const void *x, const void *y)
{
	const struct composing *one = x, *two = y;
	int order = strcmp(id_of(one), id_of(two));

	return order ? order : (int)one->order - (int)two->order;
}

/* All rules of one id, in the order of their bundles: the one that counts, and a conflict when they differ. */
static void settle(struct arena *a, const struct composing *all, size_t n, bool is_first_wins,
	struct bundle_composed *ret)
{
	struct json *winner = all[0].rule, *words = json_new(a, JSON_ARRAY), *row;
	bool is_conflict = false;

	for (size_t i = 0; i < n; i++) {
		const char *verdict = json_get_text(all[i].rule, "verdict", "");
		is_conflict |= strictness(verdict) != strictness(json_get_text(all[0].rule, "verdict", ""));
		if (!is_first_wins && strictness(verdict) > strictness(json_get_text(winner, "verdict", "")))
			winner = all[i].rule;
		json_pushs(a, words, verdict);
	}
	json_push(a, ret->rules, winner);
	if (!is_conflict)
		return;
	row = json_new(a, JSON_OBJECT);
	json_sets(a, row, "rule", id_of(all));
	json_set(a, row, "verdicts", words);
	json_push(a, ret->conflicts, row);
}

void bundle_compose(struct arena *a, const struct json *const *bundles, size_t n, bool is_first_wins,
	struct bundle_composed *ret)
{
	struct composing *all = NULL;
	size_t room = 0, count = 0, same;

	for (size_t i = 0; i < n; i++) {
		json_each (rule, json_get(bundles[i], "rules")) {
			if (count == room) {
				all = arena_grow(a, all, room * sizeof(*all), (room * 2 + 16) * sizeof(*all));
				room = room * 2 + 16;
			}
			all[count] = (struct composing){ rule_preimage(a, rule), count };
			count++;
		}
	}
	if (count > 0)
		qsort(all, count, sizeof(*all), by_id);
	*ret = (struct bundle_composed){ .rules = json_new(a, JSON_ARRAY),
		.conflicts = json_new(a, JSON_ARRAY) };
	for (size_t i = 0; i < count; i += same) {
		for (same = 1; i + same < count && text_eq(id_of(&all[i]), id_of(&all[i + same])); same++)
			;
		settle(a, all + i, same, is_first_wins, ret);
	}
	ret->hash = hash_of(a, ret->rules);
}
