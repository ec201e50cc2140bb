/* gates.c — levels and profiles of conformance: a set of gates over one evidence pack, and what is reported.
 *
 * A gate passes when it has nothing to object to.  A set passes when each of its gates does.  Nothing is skipped: what a pack does not
 * hold is a reason, not an excuse; and where a pack need not hold it, a gate that had nothing to look at was not run, and has not passed. */
#include "audit/conform/gates.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *id, *about;
	conform_gate_fn *fn;
} gates[] = {
	{ "G0", "which build it was, and of what it is made", gate_build },
	{ "G1", "receipts are whole, signed and tied to each other", gate_receipts },
	{ "G2", "what was recorded plays back the same", gate_replay },
	{ "G2A", "tools have schemas of what goes in and out", gate_schemas },
	{ "G3", "decisions name their policy and boundary", gate_policies },
	{ "G3A", "budgets are tracked, and one that was exhausted contained something", gate_budget_seen },
	{ "G4", "no secret lies in logs, tapes or receipts", gate_secrets },
	{ "G5", "tools are declared with what they may do", gate_tools },
	{ "G6", "what is tainted stays where it may be", gate_taint_flow },
	{ "G7", "an incident was contained", gate_incident },
	{ "G8", "a person took part", gate_human },
	{ "G9", "jurisdictions were tested", gate_jurisdictions },
	{ "G11", "it can be operated: objectives, status, runbooks", gate_operability },
	{ "G12", "packs are signed by trusted roots", gate_supply },
	{ "G13", "a key can be made, signs, and a forgery is refused", gate_key },
	{ "G14", "bundles have one digest", gate_bundles },
	{ "G15", "the proof graph has a root", gate_condensation },
	{ "GX_ENVELOPE", "receipts are bound to an envelope, denials have receipts", gate_envelope_bound },
	{ "GX_TENANT", "one tenant, everywhere named", gate_tenant_one },
	{ "GX_THREAT_SCAN", "threat scans say what they scanned", gate_threat_scans },
	{ "GX_DELEGATION", "delegations are complete and were validated", gate_delegations },
};

#define SMB "G0 G1 G2 G3 G3A G5 G7 G8 GX_ENVELOPE"
#define CORE SMB " G2A G6 G12"
#define ENTERPRISE CORE " G4 G9 G11 GX_TENANT"
#define L3 ENTERPRISE " G13 G14 G15"

static const struct conform_set sets[] = {
	{ "gate_level", "L1", "G0 G1 G2A", NULL },
	{ "gate_level", "L2", "G0 G1 G2 G2A G3A G5 G8 GX_ENVELOPE GX_TENANT", NULL },
	{ "profile", "SMB", SMB, NULL },
	{ "profile", "CORE", CORE, NULL },
	{ "profile", "ENTERPRISE", ENTERPRISE, NULL },
	{ "profile", "L3", L3, NULL },
	{ "profile", "REGULATED_FINANCE", L3, "replay_bit_identical schema_first_hard_fail" },
	{ "profile", "REGULATED_HEALTH", L3,
		"privacy_erasure_strict retention_policy_required tape_residency_enforced" },
	{ "profile", "AGENTIC_WEB_ROUTER", L3, "proof_capsule_routing" },
};

const struct conform_set *conform_set_at(size_t i)
{
	return i < ARRAY_SIZE(sets) ? &sets[i] : NULL;
}

const char *conform_gate_at(size_t i, const char **ret_about)
{
	if (i >= ARRAY_SIZE(gates))
		return NULL;
	*ret_about = gates[i].about;
	return gates[i].id;
}

const struct conform_set *conform_set_find(const char *scale, const char *name, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		if (text_eq(sets[i].scale, scale) && text_eq(sets[i].name, name))
			return &sets[i];
	(void)err_set(e, E_USAGE, "CONFORM_SET", "there is no %s '%s'; 'helm conform list' names them",
		text_eq(scale, "profile") ? "profile" : "level", name);
	return NULL;
}

/* ---- for the gates ---- */

void gate_fail(struct gating *g, const char *code, const char *what)
{
	const char *text = what && *what ? arena_printf(g->a, "%s:%s", code, what) : code;

	json_each (r, g->reasons)
		if (text_eq(json_text(r), text))
			return;
	json_pushs(g->a, g->reasons, text);
}

static const struct json *parse(struct gating *g, const struct pack_file *f)
{
	struct json *doc;

	return f && f->is_kept && json_parse(g->a, f->content, f->path, NULL, &doc, NULL) == OK ? doc : NULL;
}

static void note_path(struct gating *g, const char *path)
{
	json_each (p, g->paths)
		if (text_eq(json_text(p), path))
			return;
	json_pushs(g->a, g->paths, path);
}

const struct json *gate_document(struct gating *g, const char *path)
{
	const struct pack_file *f = verify_pack_find(g->pack, path);

	if (f)
		note_path(g, path);
	return parse(g, f);
}

/* Is this the part of a path between two slashes, or before the first? */
static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	for (const char *p = path; p; p = strchr(p, '/'), p = p ? p + 1 : NULL)
		if (strncmp(p, dir, n) == 0 && p[n] == '/')
			return true;
	return false;
}

bool gate_each(
	struct gating *g, const char *dir, size_t *at, const char **ret_path, const struct json **ret_doc)
{
	while (*at < g->pack->n) {
		const struct pack_file *f = &g->pack->files[(*at)++];
		if (!text_ends(f->path, ".json") || !lies_in(f->path, dir))
			continue;
		note_path(g, f->path);
		*ret_path = f->path;
		*ret_doc = parse(g, f);
		return true;
	}
	return false;
}

const struct pack_file *gate_find(struct gating *g, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < g->pack->n; i++) {
		const char *path = g->pack->files[i].path;
		size_t len = strlen(path);
		if (len >= n && text_eq(path + len - n, name) && (len == n || path[len - n - 1] == '/')) {
			note_path(g, path);
			return &g->pack->files[i];
		}
	}
	return NULL;
}

/* ---- the run ---- */

static int by_seq(const void *x, const void *y)
{
	int64_t p = json_get_int(*(struct json *const *)x, "seq", -1),
		q = json_get_int(*(struct json *const *)y, "seq", -1);

	return p < q ? -1 : p > q;
}

/* A file that is no receipt is kept as an empty one, which every gate objects to. */
static void read_receipts(struct gating *g)
{
	const struct json *doc;
	const char *path;
	size_t at = 0;

	g->receipts = json_new(g->a, JSON_ARRAY);
	while (gate_each(g, "receipts", &at, &path, &doc))
		if (text_starts(path, "02_PROOFGRAPH/"))
			json_push(
				g->a, g->receipts, doc ? json_copy(g->a, doc) : json_new(g->a, JSON_OBJECT));
	if (g->receipts->n > 1)
		qsort(g->receipts->items, g->receipts->n, sizeof(*g->receipts->items), by_seq);
}

static struct json *run_gate(struct gating *g, size_t i)
{
	struct json *row = json_new(g->a, JSON_OBJECT), *metrics = json_new(g->a, JSON_OBJECT),
		    *counts = json_new(g->a, JSON_OBJECT);
	int64_t begun = g->sys->mono_us(g->sys);

	g->reasons = json_new(g->a, JSON_ARRAY);
	g->paths = json_new(g->a, JSON_ARRAY);
	g->looked_at = 0;
	g->is_not_run = false;
	gates[i].fn(g);
	bool is_not_run = g->is_not_run && g->reasons->n == 0;
	json_sets(g->a, row, "gate_id", gates[i].id);
	json_setb(g->a, row, "pass", g->reasons->n == 0 && !is_not_run);
	json_setb(g->a, row, "not_run", is_not_run);
	json_set(g->a, row, "reasons", g->reasons);
	json_set(g->a, row, "evidence_paths", g->paths);
	json_seti(g->a, counts, "looked_at", g->looked_at);
	json_seti(g->a, metrics, "duration_ms", (g->sys->mono_us(g->sys) - begun) / 1000);
	json_set(g->a, metrics, "counts", counts);
	json_set(g->a, row, "metrics", metrics);
	return row;
}

static bool is_one_of(const char *words, const char *word)
{
	struct bytes rest = bytes_of(words);

	while (rest.p)
		if (bytes_is(text_cut(&rest, ' '), word))
			return true;
	return false;
}

/* The gates of a set, in the order of the table; of those, the ones that were asked for. */
static bool is_wanted(const struct conform_gates *ask, const char *id)
{
	if (ask->set && !is_one_of(ask->set->gates, id))
		return false;
	for (size_t i = 0; i < ask->only_count; i++)
		if (text_eq(ask->only[i], id))
			return true;
	return ask->only_count == 0;
}

static int check_names(const struct conform_gates *ask, struct err *e)
{
	for (size_t i = 0; i < ask->only_count; i++) {
		const char *about, *id;
		size_t k = 0;
		while ((id = conform_gate_at(k, &about)) && !text_eq(id, ask->only[i]))
			k++;
		if (!id || (ask->set && !is_one_of(ask->set->gates, id)))
			return err_set(e, E_USAGE, "CONFORM_GATE",
				"there is no gate '%s'%s%s; 'helm conform list' names them", ask->only[i],
				ask->set ? " in " : "", ask->set ? ask->set->name : "");
	}
	return OK;
}

static struct json *features_of(struct arena *a, const struct conform_set *set)
{
	struct json *list = json_new(a, JSON_ARRAY);
	struct bytes rest = set && set->features ? bytes_of(set->features) : (struct bytes){ 0 };

	while (rest.p) {
		struct bytes one = text_cut(&rest, ' ');
		json_push(a, list, json_stringn(a, (const char *)one.p, one.n));
	}
	return list;
}

int conform_gates(
	struct sys *s, struct arena *a, const struct conform_gates *ask, struct json **ret, struct err *e)
{
	struct gating g = {
		.a = a, .sys = s, .pack = ask->pack, .trust = ask->trust, .jurisdiction = ask->jurisdiction
	};
	struct json *report = json_new(a, JSON_OBJECT), *results = json_new(a, JSON_ARRAY),
		    *metadata = json_new(a, JSON_OBJECT);
	int64_t begun = s->mono_us(s), passed = 0, failed = 0, not_run = 0;
	char *id;
	int rc = check_names(ask, e);

	if (rc == OK)
		rc = record_new_id(a, s, "conform-", &id, e);
	if (rc)
		return rc;
	g.paths = json_new(a, JSON_ARRAY);
	read_receipts(&g);
	for (size_t i = 0; i < ARRAY_SIZE(gates); i++) {
		if (!is_wanted(ask, gates[i].id))
			continue;
		struct json *row = run_gate(&g, i);
		if (json_get_bool(row, "not_run", false))
			not_run++;
		else
			json_get_bool(row, "pass", false) ? passed++ : failed++;
		json_push(a, results, row);
	}
	json_sets(a, report, "run_id", id);
	if (ask->set)
		json_sets(a, report, ask->set->scale, ask->set->name);
	json_sets(a, report, "timestamp", text_time_z(a, s->now_us(s)));
	json_setb(a, report, "pass", failed == 0 && not_run == 0 && passed > 0);
	json_seti(a, report, "passed", passed);
	json_seti(a, report, "failed", failed);
	json_seti(a, report, "not_run", not_run);
	json_set(a, report, "gate_results", results);
	json_seti(a, report, "duration_ms", (s->mono_us(s) - begun) / 1000);
	/* What the profile demands of an operator beyond gates: named, not checked, and said to be so. */
	json_set(a, metadata, "not_checked", features_of(a, ask->set));
	json_seti(a, metadata, "receipts", g.receipts->n);
	json_set(a, report, "metadata", metadata);
	*ret = report;
	return OK;
}
