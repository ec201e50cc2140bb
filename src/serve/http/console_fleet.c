/* console_fleet.c — the machines of a fleet, for a console that is opened at the centre: where HELM_FLEET_DATABASE names the ledger.
 *
 * A view and nothing more: `helm fleet nodes`, `orders` and `search` are asked, with the rights they have.  Orders are signed by the control key and given by
 * command; the page says which. */
#include "base/text.h"
#include "serve/http/console.h"

#include <string.h>

bool console_has_fleet(struct call *c)
{
	const char *database = c->server->sys->getenv(c->server->sys, "HELM_FLEET_DATABASE");

	return database && *database;
}

static int only_centre(struct call *c, struct err *e)
{
	int rc = console_only_home(c, e);

	if (rc || console_has_fleet(c))
		return rc;
	return call_refuse(c, e, 404, "NO_FLEET",
		"this is no centre of a fleet; where HELM_FLEET_DATABASE names the ledger, it is");
}

/* `helm fleet VERB...`, about the tenant that the query names, or the only one. */
static int ask_fleet(struct call *c, const char *verb, const char *option, const char *value,
	struct json **ret, struct err *e)
{
	const char *tenant = call_query(c, "tenant"), *words[8] = { "fleet", verb };
	size_t n = 2;
	int code, rc;

	if (tenant && *tenant && !text_is_id(tenant))
		return call_refuse(c, e, 400, "BAD_REQUEST", "this is no name of a tenant");
	if (tenant && *tenant) {
		words[n++] = "--tenant";
		words[n++] = tenant;
	}
	if (option) {
		words[n++] = option;
		words[n++] = value;
	}
	words[n] = NULL;
	rc = console_ask_helm(c, words, (struct bytes){ 0 }, ret, &code, e);
	/* What the ledger says against it is for the reader. */
	return rc == E_IO ? call_refuse(c, e, 502, "FLEET_UNREADABLE", "%s", arena_strdup(c->a, e->text))
			  : rc;
}

static int machines(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes, *orders;
	int rc = only_centre(c, e);

	if (rc == OK)
		rc = ask_fleet(c, "nodes", NULL, NULL, &nodes, e);
	if (rc == OK)
		rc = ask_fleet(c, "orders", NULL, NULL, &orders, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "machines", nodes);
	json_set(c->a, doc, "orders", orders);
	call_answer(c, 200, doc);
	return OK;
}

static int machine(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *nodes, *orders, *acts;
	int rc = only_centre(c, e);

	if (rc == OK)
		rc = ask_fleet(c, "nodes", NULL, NULL, &nodes, e);
	if (rc)
		return rc;
	json_each (one, nodes)
		if (text_eq(json_get_text(one, "node", ""), c->args[0]))
			json_set(c->a, doc, "machine", one);
	if (!json_get(doc, "machine"))
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such machine in this fleet");
	rc = ask_fleet(c, "search", "--node", c->args[0], &acts, e);
	if (rc == OK)
		rc = ask_fleet(c, "orders", NULL, NULL, &orders, e);
	if (rc)
		return rc;
	json_set(c->a, doc, "acts", acts);
	json_set(c->a, doc, "orders", orders);
	call_answer(c, 200, doc);
	return OK;
}

#define READ AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE
const struct route http_console_fleet_routes[] = {
	{ "GET", "/api/v1/console/machines", READ, 0, machines, "the machines of a fleet, at its centre",
		NULL, "ConsoleMachines" },
	{ "GET", "/api/v1/console/machines/{id}", READ, 0, machine, "one machine, and what it did last", NULL,
		"ConsoleMachine" },
	{ 0 },
};
