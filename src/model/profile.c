/* profile.c — reading profiles and tool groups.
 *
 * A profile is a promise about what cannot happen, so the reader is narrow: a member of the wrong type or
 * with an unknown value is an error, and a right that is not mentioned is not given. Members that the
 * reader does not know stay in `document` and mean nothing.
 *
 * Profiles come from the program itself or from a file that a person accepted (kernel/posture/accepted.c). The same
 * code reads both, the shipped ones when the program is built (profile_shipped.c), so these are held to the same rules. */
#include "model/profile.h"

#include "base/embed.h"
#include "base/text.h"
#include "model/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const group_names[] = {
#define TOOL_GROUP_NAME(id, name) name,
	TOOL_GROUPS(TOOL_GROUP_NAME)
#undef TOOL_GROUP_NAME
};
static const char *const checkpoint_names[] = { "never", "optional", "required", "manual" };
TABLE_COVERS(checkpoint_names, CHECKPOINT_RULES);
static const char *const reach_names[] = { "none", "loopback", "named", "full" };
TABLE_COVERS(reach_names, NETWORK_REACHES);
static const char *const sandbox_names[] = { "best-effort", "required" };
TABLE_COVERS(sandbox_names, SANDBOX_RULES);
static const char *const wall_names[] = {
#define WALL_NAME(id, name) name,
	WALLS(WALL_NAME)
#undef WALL_NAME
};
static const char *const destructive_names[] = { "ask", "checkpoint" };
static const char *const unknown_names[] = { "allow", "ask", "deny" };
static const char *const unread_names[] = { "allow", "ask" };
static const char *const contained_names[] = { "ask", "allow" };

const char *tool_group_name(enum tool_group g)
{
	return group_names[g];
}

bool tool_group_parse(const char *name, enum tool_group *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(group_names); i++)
		if (text_eq(group_names[i], name)) {
			*ret = (enum tool_group)i;
			return true;
		}
	return false;
}

const char *wall_name(enum wall w)
{
	return wall_names[w];
}

const char *checkpoint_rule_name(enum checkpoint_rule v)
{
	return checkpoint_names[v];
}

/* One file that is being read: where errors say they come from, and the warnings so far. */
struct reader {
	struct arena *a;
	const char *file;
	const char *profile;
	const char **warnings;
	size_t warning_count;
	struct err *e;
};

/* Names file, profile and member, what is expected and what is there. */
static int bad_field(struct reader *r, const char *field, const char *want, const struct json *found)
{
	return err_set(r->e, E_INPUT, "PROFILE_FIELD", "%s: profile '%s': '%s' must be %s, found %s", r->file,
		r->profile, field, want, json_type_name(found));
}

/* Leaves *ret alone when the member is missing or null, so the caller's default holds. */
static int read_text(struct reader *r, const struct json *doc, const char *field, const char **ret)
{
	const struct json *v = json_get(doc, field);

	if (!v || json_is(v, JSON_NULL))
		return OK;
	if (!json_text(v))
		return bad_field(r, field, "a text", v);
	*ret = json_text(v);
	return OK;
}

/* A member that names one of a few words. Leaves *ret alone when it is missing; any other value is an
 * error that lists the words. */
static int read_choice(struct reader *r, const struct json *doc, const char *field, const char *const *names,
	size_t n, unsigned *ret)
{
	const struct json *v = json_get(doc, field);
	struct buf want;

	if (!v)
		return OK;
	for (size_t i = 0; i < n && json_text(v); i++)
		if (text_eq(names[i], json_text(v))) {
			*ret = (unsigned)i;
			return OK;
		}
	buf_init(&want, r->a);
	for (size_t i = 0; i < n; i++)
		buf_addf(&want, "%s\"%s\"", i == 0 ? "" : " or ", names[i]);
	return bad_field(r, field, want.p, v);
}

/* A list of texts. Missing: empty. */
static int read_list(
	struct reader *r, const struct json *doc, const char *field, const char *const **ret, size_t *ret_n)
{
	const struct json *v = json_get(doc, field);
	const char **list;
	size_t n = 0;

	if (!v)
		return OK;
	if (!json_is(v, JSON_ARRAY))
		return bad_field(r, field, "a list of texts", v);
	list = arena_zalloc(r->a, v->n + 1, sizeof(*list));
	json_each (item, v) {
		if (!json_text(item))
			return bad_field(r, field, "a list of texts", item);
		list[n++] = json_text(item);
	}
	*ret = list;
	*ret_n = n;
	return OK;
}

/* true and false mean what they say; any other value leaves the answer to the target. A missing member is
 * taken as "no", with a warning to the person who wrote the file. */
static enum allowance read_allowance(struct reader *r, const struct json *doc, const char *field)
{
	const struct json *v = json_get(doc, field);

	if (!v) {
		r->warnings[r->warning_count++] = arena_printf(r->a,
			"%s: profile '%s' does not say '%s'; taken as false", r->file, r->profile, field);
		return ALLOWANCE_NO;
	}
	if (!json_is_bool(v))
		return ALLOWANCE_TARGET;
	return json_is(v, JSON_TRUE) ? ALLOWANCE_YES : ALLOWANCE_NO;
}

/* Reads the members that choose among a few words. `checkpoint` has no safe default, so it must be there.
 * What the network may reach follows from network_allowed unless it is said, and must not contradict it. */
static int read_rules(struct reader *r, const struct json *doc, struct profile *p)
{
	unsigned checkpoint = CHECKPOINT_NEVER, reach, sandbox = SANDBOX_BEST_EFFORT;
	unsigned destructive = DESTRUCTIVE_ASK, unknown = UNKNOWN_ALLOW, unread = UNREAD_ALLOW,
		 contained = CONTAINED_ASK;
	int rc;

	if (!json_get(doc, "checkpoint"))
		return bad_field(r, "checkpoint", "there", NULL);
	reach = p->network == ALLOWANCE_NO ? NETWORK_NONE : NETWORK_FULL;
	if ((rc = read_choice(r, doc, "checkpoint", checkpoint_names, 4, &checkpoint)) ||
		(rc = read_choice(r, doc, "network", reach_names, 4, &reach)) ||
		(rc = read_choice(r, doc, "sandbox", sandbox_names, 2, &sandbox)) ||
		(rc = read_choice(r, doc, "destructive", destructive_names, 2, &destructive)) ||
		(rc = read_choice(r, doc, "unknown_tool", unknown_names, 3, &unknown)) ||
		(rc = read_choice(r, doc, "unread", unread_names, 2, &unread)) ||
		(rc = read_choice(r, doc, "contained", contained_names, 2, &contained)))
		return rc;
	if (p->network == ALLOWANCE_NO && reach == NETWORK_FULL)
		return err_set(r->e, E_INPUT, "PROFILE_FIELD",
			"%s: profile '%s': \"network\": \"full\" contradicts \"network_allowed\": false",
			r->file, r->profile);
	p->checkpoint = (enum checkpoint_rule)checkpoint;
	p->reach = (enum network_reach)reach;
	p->sandbox = (enum sandbox_rule)sandbox;
	p->requires = sandbox == SANDBOX_REQUIRED ? WALL_ALL : 0;
	p->destructive = (enum destructive_rule)destructive;
	p->unknown_tool = (enum unknown_rule)unknown;
	p->unread = (enum unread_rule)unread;
	p->contained = (enum contained_rule)contained;
	return OK;
}

/* Whole numbers from 1; a misspelled limit would limit nothing. */
static int read_limits(struct reader *r, const struct json *doc, struct run_limits *ret)
{
	const struct json *limits = json_get(doc, "limits");

	if (limits && !json_is(limits, JSON_OBJECT))
		return bad_field(r, "limits", "an object", limits);
	json_each_member (m, limits) {
		int64_t value = json_get_int(limits, m->name, 0), *to = NULL;
#define LIMIT_PLACE(id) \
	if (text_eq(m->name, #id)) \
		to = &ret->id;
		LIMITS(LIMIT_PLACE)
#undef LIMIT_PLACE
		if (!to || value < 1 || value > 1 << 30)
			return err_set(r->e, E_INPUT, "PROFILE_FIELD",
				"%s: profile '%s': 'limits' takes processes, memory_mb, file_mb, open_files and "
				"output_mb, each a whole number from 1; found '%s'",
				r->file, r->profile, m->name);
		*to = value;
	}
	return OK;
}

/* "requires" names walls; without it "sandbox" says all or none.  "secrets" names places of the one list: a misspelled one would
 * open nothing, and is an error. */
static int read_walls(struct reader *r, const struct json *doc, struct profile *p)
{
	const char *const *names = NULL;
	size_t n = 0;
	int rc = read_list(r, doc, "requires", &names, &n);

	if (rc)
		return rc;
	if (names)
	p->requires = 0;
	for (size_t i = 0; i < n; i++) {
		size_t w = 0;
		while (w < WALL_COUNT && !text_eq(wall_names[w], names[i]))
			w++;
		if (w == WALL_COUNT)
			return err_set(r->e, E_INPUT, "PROFILE_FIELD",
				"%s: profile '%s': 'requires' has no such wall: %s; there are files, metadata, "
				"capabilities, secrets, signals and state",
				r->file, r->profile, names[i]);
		p->requires |= 1u << w;
	}
	rc = read_limits(r, doc, &p->limits);
	if (rc == OK)
		rc = read_list(r, doc, "secrets", &p->secrets, &p->secret_count);
	for (size_t i = 0; rc == OK && i < p->secret_count; i++)
		if (!secret_place_is(p->secrets[i]))
			return err_set(r->e, E_INPUT, "PROFILE_FIELD",
				"%s: profile '%s': 'secrets' has no such place: %s; they are listed in "
				"docs/formats/execution-profiles.md",
				r->file, r->profile, p->secrets[i]);
	return rc;
}

/* Rules for hosts are read here once, so that a misspelled one is told when the profile is written, and not when a host is missing. */
static int read_egress(struct reader *r, const struct json *doc, struct profile *p)
{
	struct err why = { 0 };
	const char *from = arena_printf(r->a, "profile %s", p->name);
	int rc = read_list(r, doc, "egress", &p->egress, &p->egress_count);

	if (rc == OK && p->egress_count && p->reach != NETWORK_NAMED)
		return err_set(r->e, E_INPUT, "PROFILE_FIELD",
			"%s: profile '%s': 'egress' means something only with \"network\": \"named\"",
			r->file, r->profile);
	for (size_t i = 0; rc == OK && i < p->egress_count; i++)
		if (egress_add(r->a, &p->hosts, p->egress[i], from, &why))
			return err_set(r->e, E_INPUT, "PROFILE_FIELD", "%s: profile '%s': 'egress': %s",
				r->file, r->profile, why.text);
	return rc;
}

/* A layer lies strictly below the home, as it is written: no step up, no link by name. */
static bool is_plain_place(const char *place)
{
	for (const char *at = place;; at++) {
		size_t n = strcspn(at, "/");
		if (!n || (n == 1 && at[0] == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += n;
		if (!*at)
			return true;
	}
}

/* Directories of its own, and those it writes into only for as long as it lasts.  Both are mounts, so their names are checked
 * here, where the file can be named that is wrong. */
static int read_places(struct reader *r, const struct json *doc, struct profile *p)
{
	int rc = read_list(r, doc, "own_paths", &p->own_paths, &p->own_path_count);

	if (rc == OK)
		rc = read_list(r, doc, "layers", &p->layers, &p->layer_count);
	for (size_t i = 0; rc == OK && i < p->own_path_count; i++)
		if (p->own_paths[i][0] != '/' || !is_plain_place(p->own_paths[i] + 1))
			return err_set(r->e, E_INPUT, "PROFILE_FIELD",
				"%s: profile '%s': 'own_paths' takes clean absolute paths; found '%s'",
				r->file, r->profile, p->own_paths[i]);
	for (size_t i = 0; rc == OK && i < p->layer_count; i++)
		if (i >= LAYERS_MAX || !is_plain_place(p->layers[i]) || strpbrk(p->layers[i], ":,\\"))
			return err_set(r->e, E_INPUT, "PROFILE_FIELD",
				"%s: profile '%s': 'layers' takes at most %d clean paths below the home, without ':', ',' "
				"and '\\'; found '%s'",
				r->file, r->profile, LAYERS_MAX, p->layers[i]);
	return rc;
}

/* One profile. Allowances are read before the rules, because the rules must agree with them. */
static int read_profile(struct reader *r, const struct json *doc, struct profile *p)
{
	const struct json *handoff;
	int rc;

	if (!json_is(doc, JSON_OBJECT))
		return err_set(r->e, E_INPUT, "PROFILE_FILE", "%s: profile '%s' must be an object, found %s",
			r->file, r->profile, json_type_name(doc));
	p->name = r->profile;
	p->document = doc;
	p->description = "";
	if ((rc = read_text(r, doc, "description", &p->description)) ||
		(rc = read_text(r, doc, "backend", &p->backend)))
		return rc;
	if (!p->backend)
		return bad_field(r, "backend", "there", NULL);
	p->runtime_backend = p->backend;
	p->runtime_target_kind = p->isolation = "";
	p->writes = read_allowance(r, doc, "writes_allowed");
	p->network = read_allowance(r, doc, "network_allowed");
	handoff = json_get(doc, "handoff_required");
	if (handoff && !json_is_bool(handoff))
		return bad_field(r, "handoff_required", "true or false", handoff);
	p->handoff_required = json_is(handoff, JSON_TRUE);
	if ((rc = read_text(r, doc, "runtime_backend", &p->runtime_backend)) ||
		(rc = read_text(r, doc, "runtime_target_kind", &p->runtime_target_kind)) ||
		(rc = read_text(r, doc, "isolation", &p->isolation)) ||
		(rc = read_text(r, doc, "browser_policy_ref", &p->browser_policy_ref)) ||
		(rc = read_list(r, doc, "write_paths", &p->write_paths, &p->write_path_count)) ||
		(rc = read_list(r, doc, "intended_for", &p->intended_for, &p->intended_for_count)))
		return rc;
	rc = read_rules(r, doc, p);
	if (rc == OK)
		rc = read_egress(r, doc, p);
	if (rc == OK)
		rc = read_places(r, doc, p);
	return rc ? rc : read_walls(r, doc, p);
}

/* Puts the groups of one list under one rule; an unknown group is an error, since a misspelled denial
 * would deny nothing. */
static int read_group_list(struct reader *r, const struct json *doc, const char *list, enum tool_rule g,
	enum tool_rule tool_rules[GROUP_COUNT])
{
	const struct json *v = json_get(doc, list);

	if (!v)
		return OK;
	if (!json_is(v, JSON_ARRAY))
		return err_set(r->e, E_INPUT, "TOOL_GROUPS",
			"%s: profile '%s': '%s' must be a list, found %s", r->file, r->profile, list,
			json_type_name(v));
	json_each (item, v) {
		enum tool_group group;
		if (!json_text(item) || !tool_group_parse(json_text(item), &group))
			return err_set(r->e, E_INPUT, "TOOL_GROUPS",
				"%s: profile '%s': '%s' has no such group: %s", r->file, r->profile, list,
				json_text(item) ? json_text(item) : json_type_name(item));
		tool_rules[group] = g;
	}
	return OK;
}

/* "deny" is read last, so that it wins where a group stands in two lists. A group in no list is asked
 * about, which is the zero of the enum. */
static int read_groups(struct reader *r, const struct json *profiles, struct profile *p)
{
	const struct json *doc = json_get(profiles, p->name);
	int rc;

	r->profile = p->name;
	if (!doc)
		return OK;
	if (!json_is(doc, JSON_OBJECT))
		return err_set(r->e, E_INPUT, "TOOL_GROUPS", "%s: profile '%s' must be an object, found %s",
			r->file, r->profile, json_type_name(doc));
	if ((rc = read_group_list(r, doc, "allow", TOOLS_ALLOW, p->tool_rules)) ||
		(rc = read_group_list(r, doc, "ask", TOOLS_ASK, p->tool_rules)))
		return rc;
	return read_group_list(r, doc, "deny", TOOLS_DENY, p->tool_rules);
}

/* Both files are an object with a member "profiles"; anything else is refused with the file's own error
 * code. */
static int parse_profiles_member(struct arena *a, struct bytes text, const char *name, const char *code,
	struct json **ret, struct err *e)
{
	struct json *doc, *profiles;
	int rc = json_parse(a, text, name, NULL, &doc, e);

	if (rc)
		return rc;
	profiles = json_get(doc, "profiles");
	if (!json_is(profiles, JSON_OBJECT))
		return err_set(e, E_INPUT, code, "%s: must be an object with an object 'profiles'", name);
	*ret = profiles;
	return OK;
}

/* A file that the build put into the program. Its absence is a mistake of the build, not of the user. */
struct bytes profiles_shipped(const char *name)
{
	char path[64];
	struct bytes text;

	snprintf(path, sizeof(path), "share/%s", name);
	if (!embed_find(path, &text))
		BUG("a shipped file is missing");
	return text;
}

/* Profiles first, then the tool groups that belong to them. *ret is written only when everything was
 * understood: half a set of profiles is none. */
int profiles_parse(struct arena *a, struct bytes text, const char *name, struct bytes groups,
	const char *groups_name, struct profiles *ret, struct err *e)
{
	struct reader r = { .a = a, .file = name, .e = e };
	struct profiles result = { .origin = name };
	struct json *doc, *group_doc;
	int rc;

	if ((rc = parse_profiles_member(a, text, name, "PROFILE_FILE", &doc, e)))
		return rc;
	if (groups.n == 0)
		groups = profiles_shipped(groups_name = "tool_groups.json");
	if ((rc = parse_profiles_member(a, groups, groups_name, "TOOL_GROUPS", &group_doc, e)))
		return rc;
	result.list = arena_zalloc(a, doc->n + 1, sizeof(*result.list));
	/* Two allowances per profile can each leave one warning. */
	r.warnings = arena_zalloc(a, doc->n * 2 + 1, sizeof(*r.warnings));
	json_each_member (m, doc) {
		r.profile = m->name;
		if ((rc = read_profile(&r, m->value, &result.list[result.count])))
			return rc;
		result.count++;
	}
	if (result.count == 0)
		return err_set(e, E_INPUT, "PROFILE_FILE", "%s: has no profiles", name);
	r.file = groups_name;
	for (size_t i = 0; i < result.count; i++)
		if ((rc = read_groups(&r, group_doc, &result.list[i])))
			return rc;
	result.warnings = r.warnings;
	result.warning_count = r.warning_count;
	*ret = result;
	return OK;
}

const struct profile *profiles_find(const struct profiles *p, const char *name)
{
	for (size_t i = 0; i < p->count; i++)
		if (text_eq(p->list[i].name, name))
			return &p->list[i];
	return NULL;
}

static int compare_names(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* An error that names the known profiles, sorted, so that a person finds the one that was meant. */
int profiles_get(const struct profiles *p, const char *name, const struct profile **ret, struct err *e)
{
	const char *names[32];
	char known[300] = "";
	size_t n = 0, used = 0;
	const struct profile *found = profiles_find(p, name);

	if (found) {
		*ret = found;
		return OK;
	}
	for (; n < p->count && n < ARRAY_SIZE(names); n++)
		names[n] = p->list[n].name;
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n && used < sizeof(known); i++)
		used += (size_t)snprintf(
			known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", names[i]);
	return err_set(e, E_USAGE, "PROFILE_UNKNOWN", "unknown profile '%s'; known are: %s", name, known);
}

enum network_reach profile_reach(const struct profile *p)
{
	return p->network == ALLOWANCE_YES && p->reach != NETWORK_NAMED ? NETWORK_FULL : p->reach;
}

static bool lists_are_within(const char *const *x, size_t x_n, const char *const *y, size_t y_n)
{
	for (size_t i = 0; i < x_n; i++) {
		size_t j = 0;
		while (j < y_n && !text_eq(x[i], y[j]))
			j++;
		if (j == y_n)
			return false;
	}
	return true;
}

/* Every path that `x` may write besides the workspace is written out in `y`, too. */
static bool writes_are_within(const struct profile *x, const struct profile *y)
{
	if (x->writes == ALLOWANCE_NO)
		return true;
	/* A checkpoint that y takes first and x does not is a promise that x does not keep. */
	if (x->writes != ALLOWANCE_YES || y->writes != ALLOWANCE_YES || x->checkpoint == CHECKPOINT_MANUAL ||
		y->checkpoint == CHECKPOINT_MANUAL || x->checkpoint < y->checkpoint)
		return false;
	return lists_are_within(x->write_paths, x->write_path_count, y->write_paths, y->write_path_count);
}

static bool secrets_are_within(const struct profile *x, const struct profile *y)
{
	return lists_are_within(x->secrets, x->secret_count, y->secrets, y->secret_count);
}

/* Hosts count only where the network is open by name; a wider reach has them all. */
static bool hosts_are_within(const struct profile *x, const struct profile *y)
{
	return profile_reach(y) != NETWORK_NAMED ||
		lists_are_within(x->egress, x->egress_count, y->egress, y->egress_count);
}

static bool limits_are_within(const struct run_limits *x, const struct run_limits *y)
{
	bool is_within = true;

#define LIMIT_WITHIN(name) is_within &= !y->name || (x->name && x->name <= y->name);
	LIMITS(LIMIT_WITHIN)
#undef LIMIT_WITHIN
	return is_within;
}

/* From what is refused over what is asked about to what is let through. */
static int use_of(enum allowance network)
{
	return network == ALLOWANCE_NO ? 0 : network == ALLOWANCE_TARGET ? 1 : 2;
}

/* From what is refused to what is let through. */
static int openness(enum tool_rule r)
{
	return r == TOOLS_DENY ? 0 : r == TOOLS_ASK ? 1 : 2;
}

/* Work that belongs elsewhere has no order among the others: what its target permits is not known here. */
bool profile_is_within(const struct profile *x, const struct profile *y)
{
	if (x->handoff_required || y->handoff_required || !text_eq(x->backend, y->backend))
		return false;
	if (use_of(x->network) > use_of(y->network) || profile_reach(x) > profile_reach(y) ||
		(y->requires & ~x->requires) || !secrets_are_within(x, y) || !hosts_are_within(x, y) ||
		!limits_are_within(&x->limits, &y->limits) || x->destructive > y->destructive ||
		x->unknown_tool < y->unknown_tool || x->unread < y->unread || x->contained > y->contained ||
		!writes_are_within(x, y))
		return false;
	for (size_t g = 0; g < GROUP_COUNT; g++)
		if (openness(x->tool_rules[g]) > openness(y->tool_rules[g]))
			return false;
	return true;
}

/* The order of `lists` is the order of enum tool_rule. */
struct json *profile_compute_grant(
	struct arena *a, const struct profile *p, const enum tool_group *requested, size_t n)
{
	static const char *const lists[] = { "requires_approval", "granted", "denied" };
	struct json *grant = json_new(a, JSON_OBJECT);

	json_set(a, grant, "granted", json_new(a, JSON_ARRAY));
	json_set(a, grant, "requires_approval", json_new(a, JSON_ARRAY));
	json_set(a, grant, "denied", json_new(a, JSON_ARRAY));
	for (size_t i = 0; i < n; i++)
		json_pushs(a, json_get(grant, lists[p->tool_rules[requested[i]]]), group_names[requested[i]]);
	return grant;
}
