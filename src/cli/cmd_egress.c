/* cmd_egress.c — egress list, check, suggest, serve: which hosts runs may reach, and the process behind the door to them. */
#include "execute/egress/egress.h"

#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/guard.h"
#include "kernel/hosts.h"
#include "kernel/workspace.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct opt egress_list_opts[] = {
	{ "profile", OPT_VALUE, "PROFILE", "the hosts of this profile; default: the place's own", NULL,
		false },
	{ "lists", OPT_FLAG, NULL, "the shipped lists, and what is in them", NULL, false },
	{ 0 },
};
const struct opt egress_check_opts[] = {
	{ "profile", OPT_VALUE, "PROFILE", "ask about this profile; default: the place's own", NULL, false },
	{ 0 },
};

/* The profile that is asked about, and what may be reached under it here. */
static int find_rules(
	struct cli *r, const struct profile **ret, struct egress_rules *ret_rules, struct err *e)
{
	struct profiles *all = arena_zalloc(r->a, 1, sizeof(*all));
	const struct guard g = { .sys = r->sys, .ws = r->ws };
	const char *name;
	int rc = guard_profile(&g, r->a, opt_text(r, "profile", NULL), &name, e);

	if (rc == OK && r->ws)
		rc = workspace_profiles(r->sys, r->a, r->ws, all, e);
	else
		profiles_builtin(r->a, all);
	if (rc == OK)
		rc = profiles_get(all, name, ret, e);
	if (rc == OK)
		hosts_of(r->sys, r->a, r->ws, *ret, ret_rules);
	return rc;
}

static struct json *rule_row(struct arena *a, const char *rule, const char *from)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "rule", rule);
	json_sets(a, row, "from", from);
	return row;
}

/* Every shipped list with its rules. */
static int show_lists(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "LIST", "RULES", "WHAT FOR" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	struct json *all = json_new(r->a, JSON_ARRAY);
	char name[64], about[200];

	for (size_t i = 0; egress_list_at(i, name, about); i++) {
		struct egress_rules rules = { 0 };
		const char *as_rule = arena_printf(r->a, "@%s", name);
		struct json *one = json_new(r->a, JSON_OBJECT), *list = json_new(r->a, JSON_ARRAY);
		int rc = egress_add(r->a, &rules, as_rule, "", e);
		if (rc)
			return rc;
		for (size_t k = 0; k < rules.n; k++)
			json_pushs(r->a, list, rules.list[k].text);
		json_sets(r->a, one, "list", as_rule);
		json_sets(r->a, one, "about", arena_strdup(r->a, about));
		json_set(r->a, one, "rules", list);
		json_push(r->a, all, one);
		out_row(t,
			(const char *const[]){
				as_rule, arena_printf(r->a, "%zu", rules.n), arena_strdup(r->a, about) },
			NULL);
	}
	if (r->is_json)
		out_json(r, all);
	else
		out_table_end(t);
	return 0;
}

int cmd_egress_list(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "RULE", "FROM" };
	const struct profile *p;
	struct egress_rules rules;
	struct json *all = json_new(r->a, JSON_ARRAY), *doc = json_new(r->a, JSON_OBJECT);

	if (opt_flag(r, "lists"))
		return show_lists(r, e);
	int rc = find_rules(r, &p, &rules, e);
	if (rc)
		return rc;
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));
	for (size_t i = 0; i < rules.n; i++) {
		json_push(r->a, all, rule_row(r->a, rules.list[i].text, rules.list[i].from));
		out_row(t, (const char *const[]){ rules.list[i].text, rules.list[i].from }, NULL);
	}
	json_sets(r->a, doc, "profile", p->name);
	json_setb(r->a, doc, "named", p->reach == NETWORK_NAMED);
	json_set(r->a, doc, "rules", all);
	if (r->is_json) {
		out_json(r, doc);
		return 0;
	}
	if (p->reach != NETWORK_NAMED)
		out(r, "Profile %s does not go by names: its network is %s.\n", p->name,
			profile_reach(p) == NETWORK_FULL ? "open" : "closed");
	else if (rules.n)
		out_table_end(t);
	else
		out(r, "Profile %s names no hosts.\n", p->name);
	return 0;
}

/* Why a host may be reached, or may not. */
static const char *why(struct arena *a, const struct profile *p, const struct egress_rule *rule,
	const char *asked, const char *trouble)
{
	if (profile_reach(p) == NETWORK_FULL)
		return arena_printf(a, "profile %s has an open network", p->name);
	if (p->reach != NETWORK_NAMED)
		return arena_printf(a, "profile %s has no network", p->name);
	if (rule)
		return arena_printf(a, "rule %s of %s", rule->text, rule->from);
	return trouble
		? arena_printf(a,
			  "%s is %s and not named in profile %s; a person can allow it: helm allow host %s",
			  asked, trouble, p->name, asked)
		: arena_printf(a, "%s is not named in profile %s; a person can allow it: helm allow host %s",
			  asked, p->name, asked);
}

/* Without a port it is asked about 443.  Whether a name leads to a public address is known only when it is looked up. */
int cmd_egress_check(struct cli *r, struct err *e)
{
	const char *asked = r->args[0], *host;
	const struct profile *p;
	struct egress_rules rules;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	uint16_t port = 443;
	bool is_address;
	size_t n;
	int rc = find_rules(r, &p, &rules, e);

	if (rc)
		return rc;
	if (!egress_split(asked, strlen(asked), &host, &n, &port) ||
		!egress_host(host, n, name, &is_address, address))
		return err_set(e, E_USAGE, "EGRESS_HOST",
			"'%.80s' is neither a name nor an address, with a port or without", asked);
	bool is_named = p->reach == NETWORK_NAMED;
	const struct egress_rule *rule = !is_named ? NULL
		: is_address			   ? egress_has_address(&rules, address, port)
						   : egress_names(&rules, name, port);
	bool is_open = rule || profile_reach(p) == NETWORK_FULL;
	json_sets(r->a, doc, "host", name);
	json_seti(r->a, doc, "port", port);
	json_sets(r->a, doc, "profile", p->name);
	json_setb(r->a, doc, "allowed", is_open);
	json_sets(r->a, doc, "rule", rule ? rule->text : NULL);
	json_sets(r->a, doc, "why", why(r->a, p, rule, asked, is_address ? egress_trouble(address) : NULL));
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s: %s\n", is_open ? "yes" : "no", json_get_text(doc, "why", ""));
	return is_open ? 0 : EXIT_NO;
}

/* Started by `helm run` and by sessions, with a socket as standard input and a pipe as standard output. */
int cmd_egress_serve(struct cli *r, struct err *e)
{
	const struct egress_service how = { .control = 0, .records = 1 };
	struct stat in, to;

	(void)r;
	if (fstat(0, &in) || !S_ISSOCK(in.st_mode) || fstat(1, &to) || !S_ISFIFO(to.st_mode))
		return err_set(e, E_INPUT, "EGRESS_SERVE",
			"nobody starts this by hand: runs whose profile names hosts have it; helm profile run PROFILE -- COMMAND");
	return egress_serve(&how, e);
}
