/* terms.c — terms of a contract: read, put together, and laid over a profile. */
#include "model/terms.h"

#include "base/file.h"
#include "base/text.h"

#include <string.h>

/* ---- reading ---- */

static int wrong(struct err *e, const char *member, const char *why)
{
	return err_set(e, E_INPUT, "SKILL_TERMS", "%s: %s", member, why);
}

/* The texts of a list, NULL-terminated.  The member may be missing: NULL then. */
static int read_list(struct arena *a, const struct json *in, const char *name, const char *const **ret,
	bool *ret_has, struct err *e)
{
	const struct json *v = json_get(in, name);
	const char **list = arena_zalloc(a, (json_is(v, JSON_ARRAY) ? v->n : 0) + 1, sizeof(*list));
	size_t n = 0;

	*ret_has = v && v->type != JSON_NULL;
	*ret = list;
	if (*ret_has && !json_is(v, JSON_ARRAY))
		return wrong(e, name, "must be a list of texts");
	json_each (one, v) {
		const char *text = json_text(one);
		if (!text || !text[strspn(text, " \t\r\n")])
			return wrong(e, name, "must be a list of texts that are not blank");
		list[n++] = text;
	}
	return OK;
}

static int read_tools(struct arena *a, const struct json *contract, struct terms *t, struct err *e)
{
	const char *const *all;
	int rc = read_list(a, contract, "tools", &all, &t->has_tools, e);
	size_t count = 0, n = 0;

	while (rc == OK && all[count])
		count++;
	const char **names = arena_zalloc(a, count + 1, sizeof(*names));
	for (size_t i = 0; i < count; i++) {
		enum tool_group g;
		if (tool_group_parse(all[i], &g))
			t->groups |= 1u << g;
		else
			names[n++] = all[i];
	}
	t->tools = names;
	return rc;
}

/* Below the tree, as it is written: a contract opens nothing elsewhere. */
static int read_paths(struct arena *a, const struct json *in, const char *name, const char *const **ret,
	bool *ret_has, struct err *e)
{
	const char *const *given;
	int rc = read_list(a, in, name, &given, ret_has, e);
	size_t n = 0;

	while (rc == OK && given[n])
		n++;
	const char **clean = arena_zalloc(a, n + 1, sizeof(*clean));
	for (size_t i = 0; i < n; i++) {
		clean[i] = path_clean(a, given[i]);
		if (given[i][0] == '/' || text_starts(clean[i], "..") || strpbrk(given[i], "*?[\n"))
			return err_set(e, E_INPUT, "SKILL_TERMS",
				"paths.%s: '%.100s' must be a path below the tree, without patterns", name,
				given[i]);
		if (!*clean[i])
			clean[i] = ".";
	}
	*ret = clean;
	return rc;
}

static int read_words(
	struct arena *a, const char *member, const char *text, struct terms_command *ret, struct err *e)
{
	if (!text_words(a, text, &ret->words, &ret->n))
		return err_set(e, E_INPUT, "SKILL_TERMS", "%s: in '%.100s' a quote has no end", member, text);
	return OK;
}

static int read_commands(struct arena *a, const struct json *contract, struct terms *t, struct err *e)
{
	const char *const *given;
	int rc = read_list(a, contract, "commands", &given, &t->has_commands, e);
	size_t n = 0;

	while (rc == OK && given[n])
		n++;
	struct terms_command *list = arena_zalloc(a, n + 1, sizeof(*list));
	for (size_t i = 0; i < n && rc == OK; i++)
		rc = read_words(a, "commands", given[i], &list[i], e);
	t->commands = list;
	t->command_count = n;
	return rc;
}

static int read_hosts(struct arena *a, const struct json *contract, struct terms *t, struct err *e)
{
	struct egress_rules rules = { 0 };
	struct err why = { 0 };
	int rc = read_list(a, contract, "hosts", &t->hosts, &t->has_hosts, e);

	for (size_t i = 0; rc == OK && t->hosts[i]; i++)
		if (egress_add(a, &rules, t->hosts[i], "skill", &why))
			return wrong(e, "hosts", why.text);
	return rc;
}

/* Whole numbers above 0, under names that are known. */
static int read_budget(const struct json *contract, struct terms *t, struct err *e)
{
	const struct json *budget = json_get(contract, "budget");
	const struct {
		const char *name;
		int64_t *to;
	} members[] = { { "seconds", &t->seconds }, { "calls_per_day", &t->calls_per_day },
#define BUDGET_LIMIT(name) { #name, &t->limits.name },
		LIMITS(BUDGET_LIMIT)
#undef BUDGET_LIMIT
	};

	if (budget && budget->type != JSON_NULL && !json_is(budget, JSON_OBJECT))
		return wrong(e, "budget", "must be an object");
	json_each_member (m, budget) {
		size_t i = 0;
		while (i < ARRAY_SIZE(members) && !text_eq(members[i].name, m->name))
			i++;
		if (i == ARRAY_SIZE(members))
			return err_set(
				e, E_INPUT, "SKILL_TERMS", "budget.%.60s: there is no such limit", m->name);
		if (!json_int(m->value, members[i].to) || *members[i].to <= 0)
			return err_set(e, E_INPUT, "SKILL_TERMS", "budget.%s: must be a whole number above 0",
				m->name);
	}
	return OK;
}

static int read_runner(struct arena *a, const struct json *contract, struct terms *t, struct err *e)
{
	const struct json *runner = json_get(contract, "runner");
	const char *entry = json_get_text(runner, "entrypoint", "");

	t->is_strict = json_get_bool(runner, "strict_required", false);
	int rc = *entry ? read_words(a, "runner.entrypoint", entry, &t->entrypoint, e) : OK;
	if (rc == OK && t->is_strict && !t->entrypoint.n)
		return wrong(e, "runner.strict_required", "needs runner.entrypoint");
	return rc;
}

int terms_read(
	struct arena *a, const char *skill, const struct json *contract, struct terms *ret, struct err *e)
{
	static const char *const known[] = { "write", "hidden" };
	struct terms t = { .skill = skill };
	const struct json *paths = json_get(contract, "paths");
	bool has_hidden;
	int rc = read_tools(a, contract, &t, e);

	if (rc == OK && paths && paths->type != JSON_NULL && !json_is(paths, JSON_OBJECT))
		return wrong(e, "paths", "must be an object");
	json_each_member (m, paths)
		if (rc == OK && !text_eq(m->name, known[0]) && !text_eq(m->name, known[1]))
			return err_set(e, E_INPUT, "SKILL_TERMS",
				"paths.%.60s: there are only 'write' and 'hidden'", m->name);
	if (rc == OK)
		rc = read_paths(a, paths, "write", &t.writes, &t.has_writes, e);
	if (rc == OK)
		rc = read_paths(a, paths, "hidden", &t.hidden, &has_hidden, e);
	if (rc == OK)
		rc = read_hosts(a, contract, &t, e);
	if (rc == OK)
		rc = read_commands(a, contract, &t, e);
	if (rc == OK)
		rc = read_budget(contract, &t, e);
	t.budget_of = t.calls_per_day ? skill : NULL;
	if (rc == OK)
		rc = read_runner(a, contract, &t, e);
	if (rc == OK)
		*ret = t;
	return rc;
}

static bool has_limits(const struct run_limits *l)
{
	int64_t any = 0;

#define LIMIT_ANY(name) any |= l->name;
	LIMITS(LIMIT_ANY)
#undef LIMIT_ANY
	return any;
}

bool terms_bind(const struct terms *t)
{
	return t->has_tools || t->has_writes || *t->hidden || t->has_hosts || t->has_commands || t->seconds ||
		t->calls_per_day || has_limits(&t->limits) || t->is_strict;
}

/* ---- laid over a profile ---- */

static int64_t least(int64_t x, int64_t y)
{
	return !x || (y && y < x) ? y : x;
}

static void close_network(struct profile *p)
{
	p->network = ALLOWANCE_NO;
	p->reach = NETWORK_NONE;
	p->egress = NULL;
	p->egress_count = 0;
	p->hosts = (struct egress_rules){ 0 };
}

/* Does the profile let this rule through?  By its own text, or because it names one host that a rule of the profile admits. */
static bool is_named(const struct profile *p, const struct egress_rule *r)
{
	for (size_t i = 0; i < p->hosts.n; i++)
		if (text_eq(p->hosts.list[i].text, r->text))
			return true;
	return r->host && !r->is_below && r->port && egress_names(&p->hosts, r->host, r->port);
}

/* Of the hosts of the contract those that the profile has; of a profile with all of the network, all of them. */
static void narrow_hosts(struct arena *a, struct profile *p, const struct terms *t)
{
	const bool is_all = profile_reach(p) == NETWORK_FULL;
	struct egress_rules named = { 0 }, kept = { 0 };

	if (profile_reach(p) < NETWORK_NAMED || !*t->hosts) {
		if (!*t->hosts)
			close_network(p);
		return;
	}
	for (const char *const *host = t->hosts; *host; host++)
		(void)egress_add(a, &named, *host, arena_printf(a, "skill %s", t->skill), NULL);
	const char **texts = arena_zalloc(a, named.n + 1, sizeof(*texts));
	size_t n = 0;
	for (size_t i = 0; i < named.n; i++)
		if (is_all || is_named(p, &named.list[i]))
			texts[n++] = named.list[i].text;
	for (size_t i = 0; i < n; i++)
		(void)egress_add(a, &kept, texts[i], arena_printf(a, "skill %s", t->skill), NULL);
	p->network = ALLOWANCE_NO; /* beside those */
	p->reach = NETWORK_NAMED;
	p->egress = texts;
	p->egress_count = n;
	p->hosts = kept;
}

/* Names alone limit no groups; nothing at all limits all of them. */
static bool lacks(const struct terms *t, enum tool_group g)
{
	return t->has_tools && (t->groups || !*t->tools) && !(t->groups & 1u << g);
}

const struct profile *terms_narrow(struct arena *a, const struct profile *p, const struct terms *t)
{
	struct profile *n = arena_alloc(a, sizeof(*n));

	*n = *p;
	n->terms = t;
	for (int g = 0; g < GROUP_COUNT; g++)
		if (lacks(t, (enum tool_group)g))
			n->tool_rules[g] = TOOLS_DENY;
	if (lacks(t, GROUP_APPLY_PATCH) || (t->has_writes && !*t->writes))
		n->writes = ALLOWANCE_NO;
	if (lacks(t, GROUP_EXTERNAL_NETWORK))
		close_network(n);
	if (t->has_hosts)
		narrow_hosts(a, n, t);
#define LIMIT_LEAST(name) n->limits.name = least(n->limits.name, t->limits.name);
	LIMITS(LIMIT_LEAST)
#undef LIMIT_LEAST
	return n;
}

/* ---- both at once ---- */

static bool is_below_one(const char *path, const char *const *dirs)
{
	for (; *dirs; dirs++)
		if (text_eq(*dirs, ".") || text_eq(*dirs, path) ||
			(text_starts(path, *dirs) && path[strlen(*dirs)] == '/'))
			return true;
	return false;
}

/* What lies in both: of two paths the one that is below the other. */
static const char *const *paths_in_both(struct arena *a, const char *const *x, const char *const *y)
{
	size_t n = 0, most = 0;

	for (const char *const *p = x; *p; p++)
		most++;
	for (const char *const *p = y; *p; p++)
		most++;
	const char **both = arena_zalloc(a, most + 1, sizeof(*both));
	for (const char *const *p = x; *p; p++)
		if (is_below_one(*p, y))
			both[n++] = *p;
	for (const char *const *p = y; *p; p++)
		if (is_below_one(*p, x) && !is_below_one(*p, both))
			both[n++] = *p;
	return both;
}

static const char *const *texts_of_both(
	struct arena *a, const char *const *x, const char *const *y, bool is_union)
{
	size_t n = 0, most = 1;

	for (const char *const *p = x; *p; p++)
		most++;
	for (const char *const *p = y; *p; p++)
		most++;
	const char **both = arena_zalloc(a, most, sizeof(*both));
	for (const char *const *p = x; *p; p++) {
		const char *const *q = y;
		while (*q && !text_eq(*q, *p))
			q++;
		if (is_union || *q)
			both[n++] = *p;
	}
	for (const char *const *p = y; is_union && *p; p++)
		both[n++] = *p;
	return both;
}

static bool starts_with(const struct terms_command *long_one, const struct terms_command *start)
{
	for (size_t i = 0; i < start->n; i++)
		if (i >= long_one->n || !text_eq(start->words[i], long_one->words[i]))
			return false;
	return true;
}

static void commands_in_both(struct arena *a, struct terms *t, const struct terms *x, const struct terms *y)
{
	struct terms_command *both = arena_zalloc(a, x->command_count + y->command_count + 1, sizeof(*both));
	size_t n = 0;

	for (size_t i = 0; i < x->command_count; i++)
		for (size_t j = 0; j < y->command_count; j++)
			if (starts_with(&x->commands[i], &y->commands[j])) {
				both[n++] = x->commands[i];
				break;
			}
	for (size_t j = 0; j < y->command_count; j++)
		for (size_t i = 0; i < x->command_count; i++)
			if (starts_with(&y->commands[j], &x->commands[i]) &&
				y->commands[j].n > x->commands[i].n) {
				both[n++] = y->commands[j];
				break;
			}
	t->commands = both;
	t->command_count = n;
}

const struct terms *terms_both(struct arena *a, const struct terms *x, const struct terms *y)
{
	struct terms *t = arena_alloc(a, sizeof(*t));

	*t = *x;
	t->skill = arena_printf(a, "%s+%s", x->skill, y->skill);
	t->sha256 = NULL;
	if (y->has_tools) {
		t->groups = x->has_tools ? x->groups & y->groups : y->groups;
		t->tools = x->has_tools ? texts_of_both(a, x->tools, y->tools, false) : y->tools;
		t->has_tools = true;
	}
	if (y->has_writes) {
		t->writes = x->has_writes ? paths_in_both(a, x->writes, y->writes) : y->writes;
		t->has_writes = true;
	}
	t->hidden = texts_of_both(a, x->hidden, y->hidden, true);
	if (y->has_hosts) {
		t->hosts = x->has_hosts ? texts_of_both(a, x->hosts, y->hosts, false) : y->hosts;
		t->has_hosts = true;
	}
	if (y->has_commands) {
		t->commands = y->commands;
		t->command_count = y->command_count;
		if (x->has_commands)
			commands_in_both(a, t, x, y);
		t->has_commands = true;
	}
	t->seconds = least(x->seconds, y->seconds);
	/* The smaller one is counted, under its own name: a second skill is no fresh start. */
	t->calls_per_day = least(x->calls_per_day, y->calls_per_day);
	t->budget_of = t->calls_per_day == x->calls_per_day ? x->budget_of : y->budget_of;
#define LIMIT_BOTH(name) t->limits.name = least(x->limits.name, y->limits.name);
	LIMITS(LIMIT_BOTH)
#undef LIMIT_BOTH
	/* Two that each permit only their own way to start permit nothing. */
	if (x->is_strict && y->is_strict) {
		t->has_commands = true;
		t->commands = NULL;
		t->command_count = 0;
	} else if (y->is_strict) {
		t->is_strict = true;
		t->entrypoint = y->entrypoint;
	}
	return t;
}
