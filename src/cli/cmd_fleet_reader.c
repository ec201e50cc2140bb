/* cmd_fleet_reader.c — who may look at a ledger over HTTP: programs by a token, people by a passkey. */
#include "base/text.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_fleet.h"

#include <string.h>

const struct opt fleet_reader_opts[] = {
	DATABASE,
	TENANT,
	{ "expires", OPT_VALUE, "DURATION",
		"add: the token opens nothing after 12h, 30d, ... (90d); invite: the link (24h)", NULL,
		false },
	{ "link", OPT_VALUE, "URL", "invite: where the front end is reached by browsers", NULL, false },
	{ "machines", OPT_VALUE, "LIST",
		"invite, set: what they see, by number, host or user@host with commas between, as they are now; or all",
		NULL, false },
	{ 0 },
};

static void print_readers(struct cli *r, const struct json *list)
{
	static const char *const heads[] = { "NAME", "BY", "SEES", "MADE", "ENDS", "REVOKED", "MADE BY" };
	static const char *const names[] = { "name", "by", "sees", "made_at", "expires_at", "revoked_at",
		"made_by" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (one, list) {
		const char *cells[ARRAY_SIZE(names)];
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			cells[i] = fleet_cell(r, one, names[i]);
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

enum verb { ADD, INVITE, SET, REVOKE, LIST, VERBS };
static const struct {
	const char *name, *asks;
	int64_t seconds;
} verbs[] = { { "add", "reader add", 90 * 86400 }, { "invite", "reader invite", 86400 },
	{ "set", "reader set", 1 }, { "revoke", "reader revoke", 1 }, { "list", "readers", 1 } };
TABLE_COVERS(verbs, VERBS);

static int read_verb(struct cli *r, enum verb *ret, struct err *e)
{
	for (size_t i = 0; i < VERBS; i++)
		if (text_eq(r->args[0], verbs[i].name) && r->arg_count == (i == LIST ? 1 : 2)) {
			*ret = (enum verb)i;
			return OK;
		}
	return err_set(e, E_USAGE, "USAGE", "say add NAME, invite NAME, set NAME, revoke NAME, or list");
}

static int check_options(struct cli *r, enum verb verb, struct err *e)
{
	if (verb == ADD && opt_text(r, "link", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"a token is for programs; a person gets a link that works once: helm fleet reader invite %s --link %s",
			r->args[1], opt_text(r, "link", ""));
	if (verb == INVITE && !opt_text(r, "link", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"say where browsers reach the front end: --link https://ledger.example.com");
	if (verb != INVITE && verb != SET && opt_text(r, "machines", NULL))
		return err_set(e, E_USAGE, "USAGE",
			"--machines goes with invite and set: a program's token sees all of its tenant");
	return OK;
}

/* "all" stays a text; a list becomes one. */
static void add_machines(struct cli *r, struct json *q)
{
	const char *text = opt_text(r, "machines", NULL);
	struct json *list = json_new(r->a, JSON_ARRAY);
	struct bytes rest = bytes_of(text ? text : "");

	if (!text)
		return;
	while (!text_eq(text, "all") && rest.n) {
		struct bytes one = text_cut(&rest, ',');
		json_pushs(r->a, list, arena_strndup(r->a, (const char *)one.p, one.n));
	}
	if (text_eq(text, "all"))
		json_sets(r->a, q, "machines", text);
	else
		json_set(r->a, q, "machines", list);
}

static void print_sees(struct cli *r, const struct json *who)
{
	const struct json *list = json_get(who, "machines");

	if (text_eq(json_get_text(who, "role", ""), "auditor")) {
		out(r, "%s sees all machines of %s.\n", fleet_cell(r, who, "name"),
			fleet_cell(r, who, "tenant"));
		return;
	}
	out(r, "%s sees %u machine%s of %s, and nothing else:\n", fleet_cell(r, who, "name"), list->n,
		list->n == 1 ? "" : "s", fleet_cell(r, who, "tenant"));
	json_each (one, list)
		out(r, "  %s  %s@%s\n", fleet_cell(r, one, "node"), fleet_cell(r, one, "user"),
			fleet_cell(r, one, "host"));
}

int cmd_fleet_reader(struct cli *r, struct err *e)
{
	struct json *q, *answer;
	enum verb verb = LIST;
	int rc = read_verb(r, &verb, e);

	if (rc == OK)
		rc = check_options(r, verb, e);
	if (rc)
		return rc;
	int64_t us = verbs[verb].seconds * 1000000;
	rc = opt_span(r, "expires", &us, e);
	if (rc == OK)
		rc = fleet_start(r, verbs[verb].asks, &q, e);
	if (rc)
		return rc;
	fleet_add_tenant(r, q);
	if (verb == LIST)
		return fleet_ask_and_list(r, q, "There is no reader.", print_readers, e);
	json_sets(r->a, q, "name", r->args[1]);
	json_seti(r->a, q, "seconds", us / 1000000);
	json_sets(r->a, q, "by", arena_printf(r->a, "user:%u", (unsigned)r->sys->euid(r->sys)));
	add_machines(r, q);
	if (verb == REVOKE)
		return fleet_ask_and_show(r, q, e);
	rc = fleet_ask(r, q, &answer, e);
	if (rc)
		return rc;
	if (verb == INVITE)
		json_sets(r->a, answer, "link",
			arena_printf(r->a, "%s/console/#invite=%s&log=%s", opt_text(r, "link", ""),
				json_get_text(answer, "invite", ""), json_get_text(answer, "log_vkey", "")));
	if (r->is_json)
		out_json(r, answer);
	else if (verb == ADD)
		out(r, "%s\n", json_get_text(answer, "token", ""));
	else if (verb == INVITE)
		out(r, "%s\nIt works once. ", json_get_text(answer, "link", ""));
	if (!r->is_json && verb != ADD)
		print_sees(r, answer);
	return 0;
}
