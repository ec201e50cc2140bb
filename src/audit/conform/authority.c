/* authority.c — suites about who may: destinations, capabilities, servers and tools, workers of managed agents.
 *
 * Each file is in its publisher's own form; the questions go through the functions that gates use. */
#include "audit/conform/conform.h"
#include "audit/conform/workstation.h"

#include "base/file.h"
#include "decide/authority/authority.h"

#include <string.h>

/* ---- egress ---- */

int conform_egress(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;
	size_t number = 0;

	if (conform_document(p, t->a, "derived/egress-firewall-cases.json", &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases")) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *to = json_get_text(c, "destination", "");
		const char *why = egress_objection(&a, json_get(doc, "policy"), to,
			json_get_text(c, "protocol", NULL), json_get_int(c, "payload_bytes", -1));
		struct json *expected = json_new(&a, JSON_OBJECT), *got = json_new(&a, JSON_OBJECT);
		if (json_get(c, "expected_allowed"))
			json_set(&a, expected, "allowed", json_copy(&a, json_get(c, "expected_allowed")));
		json_sets(&a, expected, "reason_code", json_get_text(c, "expected_reason_code", ""));
		json_setb(&a, got, "allowed", !why);
		json_sets(&a, got, "reason_code", why ? "DATA_EGRESS_BLOCKED" : "");
		conform_answer(t, "egress", arena_printf(&a, "%zu: %s", ++number, to), expected, got);
	}
	return OK;
}

/* ---- capabilities ---- */

#define CAPABILITY "core/pkg/capability/testdata/"

/* Calls `fn` with every document of a folder. */
struct folder {
	struct conform_place *p;
	struct conform_tally *t;
	struct json *registry; /* {id: manifest} */
};
typedef void folder_fn(struct folder *f, const char *path, const struct json *doc);

static int each_document(struct folder *f, const char *dir, folder_fn *fn, struct err *e)
{
	char **names;
	size_t n;

	if (conform_names(f->p, f->t->a, dir, &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(f->t->a, "%s/%s", dir, names[i]);
		struct json *doc;
		if (!text_ends(path, ".json"))
			continue;
		if (conform_document(f->p, f->t->a, path, &doc, e))
			return e->rc;
		if (doc)
			fn(f, path, doc);
	}
	return OK;
}

static void score(
	struct folder *f, const char *family, const char *path, bool must, bool does, const char *why)
{
	struct json *expected = json_string(f->t->a, must ? "loads" : "refused");

	conform_text(f->t, family, path, expected, does == must ? expected->text : does ? "loads" : why);
}

static void good_manifest(struct folder *f, const char *path, const struct json *doc)
{
	struct err e = { 0 };
	bool is_good = capability_manifest_check(f->t->a, doc, &e) == OK;

	score(f, "manifests", path, true, is_good, e.text);
	if (is_good)
		json_set(f->t->a, f->registry, json_get_text(doc, "capability_id", ""),
			json_copy(f->t->a, doc));
}

static void bad_manifest(struct folder *f, const char *path, const struct json *doc)
{
	struct err e = { 0 };

	score(f, "manifests", path, false, capability_manifest_check(f->t->a, doc, &e) == OK, e.text);
}

static void good_plan(struct folder *f, const char *path, const struct json *doc)
{
	struct err e = { 0 };

	score(f, "plans", path, true, capability_plan_check(f->t->a, doc, f->registry, &e) == OK, e.text);
}

static void bad_plan(struct folder *f, const char *path, const struct json *doc)
{
	struct err e = { 0 };

	score(f, "plans", path, false, capability_plan_check(f->t->a, doc, f->registry, &e) == OK, e.text);
}

int conform_capability(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct folder f = { p, t, json_new(t->a, JSON_OBJECT) };

	return each_document(&f, CAPABILITY "valid", good_manifest, e) ||
			each_document(&f, "docs/governance/examples", good_manifest, e) ||
			each_document(&f, CAPABILITY "invalid", bad_manifest, e) ||
			each_document(&f, CAPABILITY "plans", good_plan, e) ||
			each_document(&f, CAPABILITY "plans-invalid", bad_plan, e)
		? e->rc
		: OK;
}

/* ---- MCP ---- */

static void run_token(struct conform_tally *t, const struct json *doc, const struct json *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct mcp_expected want = { .issuer = json_get_text(doc, "issuer", ""),
		.audience = json_get_text(doc, "audience", NULL),
		.resource = json_get_text(doc, "resource", "") };
	struct json *claims = json_new(&a, JSON_OBJECT);

	json_sets(&a, claims, "iss", json_get_text(v, "token_issuer", ""));
	json_sets(&a, claims, "aud", json_get_text(v, "token_audience", want.audience));
	json_sets(&a, claims, "resource", json_get_text(v, "token_resource", ""));
	json_sets(&a, claims, "scope", json_get_text(v, "token_scope", ""));
	const char *fault = mcp_token_fault(claims, &want);
	conform_text(
		t, "token", json_get_text(v, "id", "?"), json_get(v, "expected_error"), fault ? fault : "");
}

/* The call of an approved server's tool that needs these scopes. */
static void run_call(struct conform_tally *t, const struct json *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *servers = json_new(&a, JSON_OBJECT), *server = json_new(&a, JSON_OBJECT);
	struct json *tools = json_new(&a, JSON_ARRAY), *catalogue = json_new(&a, JSON_OBJECT);
	struct json *tool = json_new(&a, JSON_OBJECT), *expected = json_new(&a, JSON_OBJECT),
		    *got = json_new(&a, JSON_OBJECT);
	struct submission ask = { .effect_type = "mcp_tool_call", .effect_id = "1", .principal = "caller" };
	struct gate_answer said = { .verdict = V_ALLOW };

	json_pushs(&a, tools, "tool");
	json_sets(&a, server, "state", "approved");
	json_set(&a, server, "tools", tools);
	json_set(&a, servers, "server", server);
	json_sets(&a, tool, "server", "server");
	if (json_get(v, "required_scopes"))
		json_set(&a, tool, "scopes", json_copy(&a, json_get(v, "required_scopes")));
	json_set(&a, catalogue, "tool", tool);
	struct mcp_facts mcp = { .server = "server",
		.tool = "tool",
		.servers = servers,
		.catalogue = catalogue,
		.scopes = json_get(v, "granted_scopes") };
	struct facts facts = { .mcp = &mcp };
	struct judging j = { .a = &a, .ask = &ask, .facts = &facts };
	gate_mcp(&j, &said);
	json_sets(&a, expected, "verdict", json_get_text(v, "expected_verdict", ""));
	json_sets(&a, expected, "reason", json_get_text(v, "expected_reason", ""));
	json_sets(&a, got, "verdict", verdict_name(said.verdict));
	json_sets(&a, got, "reason", said.verdict == V_ALLOW ? "" : reason_get(said.code)->code);
	conform_answer(t, "tool_call", json_get_text(v, "id", "?"), expected, got);
}

static void run_discovery(struct conform_tally *t, const struct json *doc, const struct json *v)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct mcp_expected want = { .issuer = json_get_text(doc, "issuer", ""),
		.resource = json_get_text(doc, "resource", "") };
	const struct json *served = mcp_resource_document(&a, json_get_text(v, "path", ""), &want, NULL);
	struct json *got = json_new(&a, JSON_ARRAY);

	json_each (name, json_get(v, "expected_fields"))
		if (json_text(name) && json_get(served, name->text))
			json_pushs(&a, got, name->text);
	conform_answer(t, "discovery", json_get_text(v, "id", "?"), json_get(v, "expected_fields"), got);
}

/* What clients must do is no answer of ours: it is counted and not run. */
int conform_mcp(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;

	if (conform_document(p, t->a, "core/pkg/mcp/testdata/mcp_2026_07_28_authz_vectors.json", &doc, e))
		return e->rc;
	json_each (v, json_get(doc, "vectors")) {
		const char *kind = json_get_text(v, "kind", "");
		if (text_eq(kind, "token"))
			run_token(t, doc, v);
		else if (text_eq(kind, "tool_call"))
			run_call(t, v);
		else if (text_eq(kind, "discovery"))
			run_discovery(t, doc, v);
		else
			conform_leave(t, "client_obligation", json_get_text(v, "id", "?"),
				"what a client must do is no answer of ours");
	}
	return OK;
}

/* ---- workers of managed agents ---- */

#define WORKER "protocols/conformance/managed-agents/claude-self-hosted/v1"

/* A fixture that says which check of the worker fails gets a worker that fails it. */
static struct json *world_for(struct arena *a, const struct json *config, const struct json *fixture)
{
	struct json *world = json_copy(a, config);
	const char *check = json_get_text(fixture, "preflight_check", "");
	struct json *worker = json_get(world, "worker");

	if (!json_is(worker, JSON_OBJECT))
		return world;
	if (text_eq(check, "skill_manifest_pinned"))
		json_sets(a, worker, "skill_manifest_hash", "latest");
	if (text_eq(check, "worker_image_pinned"))
		json_sets(a, worker, "worker_image_digest", "latest");
	return world;
}

static struct json *missing_of(struct arena *a, const struct json *wanted, const struct json *bound)
{
	struct json *missing = json_new(a, JSON_ARRAY);

	json_each (name, wanted)
		if (json_text(name) && !*json_get_text(bound, json_text(name), ""))
			json_pushs(a, missing, json_text(name));
	return missing;
}

static void run_worker(struct conform_tally *t, const struct json *config, const struct json *fixture)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *ask = json_new(&a, JSON_OBJECT), *expected = json_new(&a, JSON_OBJECT),
		    *got = json_new(&a, JSON_OBJECT);
	static const char *const said_by_it[] = { "tool_class", "target", "route", "event" };
	struct gate_answer said;

	for (size_t i = 0; i < ARRAY_SIZE(said_by_it); i++)
		if (json_get(fixture, said_by_it[i]))
			json_set(&a, ask, said_by_it[i], json_copy(&a, json_get(fixture, said_by_it[i])));
	worker_judge(&a, world_for(&a, config, fixture), ask, "rcpt-conform", &said);
	json_sets(&a, expected, "verdict", json_get_text(fixture, "expected_verdict", ""));
	json_sets(&a, expected, "reason_code", json_get_text(fixture, "expected_reason_code", ""));
	json_set(&a, expected, "not_bound", json_new(&a, JSON_ARRAY));
	json_sets(&a, got, "verdict", verdict_name(said.verdict));
	json_sets(&a, got, "reason_code", said.verdict == V_ALLOW ? "" : reason_get(said.code)->code);
	json_set(&a, got, "not_bound", missing_of(&a, json_get(fixture, "must_bind_evidence"), said.bound));
	conform_answer(t, "fixtures", json_get_text(fixture, "case_id", "?"), expected, got);
}

int conform_managed_agents(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *config, *pack;

	if (conform_document(p, t->a, WORKER "/live-config.example.json", &config, e) ||
		conform_document(p, t->a, WORKER "/conformance-pack.json", &pack, e))
		return e->rc;
	json_each_member (m, json_get(pack, "fixtures")) {
		const char *path =
			arena_printf(t->a, WORKER "/%s", json_text(m->value) ? json_text(m->value) : m->name);
		struct json *fixture;
		if (conform_document(p, t->a, path, &fixture, e))
			return e->rc;
		if (fixture && config)
			run_worker(t, config, fixture);
	}
	/* A live provider is not to be had here. */
	if (pack)
		conform_leave(t, "provider-verified", "live evidence", "there is no live provider here");
	return OK;
}
