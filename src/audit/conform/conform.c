/* conform.c — the runner of published answers; see conform.h.
 *
 * Each line of cases.jsonl is one case.  Its family selects a handler; the handler fills in what this
 * program answers; the runner compares.  A family without a handler is counted as not supported, and a
 * case that cannot be run has failed: nothing passes by being skipped. */
#include "audit/conform/conform.h"

#include "audit/audit.h"
#include "base/embed.h"
#include "base/file.h"

#include <fcntl.h>
#include <string.h>

/* Every family this program answers for. */
static const struct conform_family families[] = {
	{ "canonical-json", conform_canonical_json },
	{ "condensation", conform_condensation },
	{ "counterfactual", conform_counterfactual },
	{ "decision", conform_decision },
	{ "ed25519-strict", conform_ed25519 },
	{ "evidencepack-v1", conform_evidence_pack },
	{ "extauthz", conform_extauthz },
	{ "external-decision", conform_external_decision },
	{ "host-evidence", conform_host_evidence },
	{ "hybrid", conform_hybrid },
	{ "identifiers", conform_identifiers },
	{ "inclusion-proof", conform_inclusion_proof },
	{ "intent", conform_intent },
	{ "journals", conform_journals },
	{ "launch-receipt", conform_launch },
	{ "native-pack", conform_native_pack },
	{ "proofgraph", conform_proofgraph },
	{ "provenance", conform_provenance },
	{ "receipt-chain", conform_receipt_chain },
	{ "receipt-legacy", conform_receipt_legacy },
	{ "receipt-strict", conform_receipt_strict },
	{ "receipt-v5", conform_receipt_v5 },
	{ "replay", conform_replay },
	{ "sd-jwt", conform_sdjwt },
	{ "sealed", conform_sealed },
	{ "translog", conform_translog },
	{ "workstation-receipt", conform_workstation },
};

enum { MAX_CASES_BYTES = 64 << 20, MAX_FILE_BYTES = 64 << 20 };

static const char *const outcome_names[] = { "passed", "failed", "not_supported", "unscored" };
TABLE_COVERS(outcome_names, CONFORM_OUTCOMES);

/* Every suite this program answers for. */
static const struct conform_suite suites[] = {
	{ "language",
		"derived/expression-cases.json, cel/cel-subset.jsonl, derived/policy-language-cases.json",
		"the expression language of policies", conform_language },
	{ "dsl", "derived/dsl-static-cases.json, derived/dsl-evaluation-cases.json",
		"the policy language over nodes, edges and flows", conform_dsl },
	{ "v1", "protocols/conformance/v1/test-vectors.json", "decisions, receipts and chains", conform_v1 },
	{ "owasp", "protocols/conformance/v1/owasp/owasp_threat_vectors.json",
		"threats under the standard envelope", conform_owasp },
	{ "mutations", "derived/decision-mutations.json",
		"decisions with other paths, amounts, regions and orders", conform_mutations },
	{ "negative", "derived/negative-boundary-vectors.json",
		"what must be refused, on record, with its evidence", conform_negative },
	{ "adversarial", "reference_packs/adversarial-policy-v1/vectors.json", "capabilities under attack",
		conform_adversarial },
	{ "bundles", "derived/policy-bundle-cases.json",
		"policy bundles: what loads, its hash, and several as one", conform_bundles },
	{ "stacks", "derived/cpi-stack-cases.json", "layers of policies, and whether a lower one widens",
		conform_stacks },
	{ "policy-packs", "protocols/bundles, examples/policy-packs, policy-packs, policies, *.toml",
		"packs, serve policies and launch policies", conform_policy_packs },
	{ "reference-packs", "reference_packs/*.json", "compliance packs, as mapping and as policy",
		conform_reference_packs },
	{ "workstation",
		"derived/workstation-evaluate-cases.json, fixtures/workstation/, protocols/conformance/workstation/v1/",
		"local agents under workstation profiles: events, recorded runs, receipts, levels",
		conform_workstation_suite },
	{ "denial-legibility", "tests/conformance/denial-legibility/",
		"what a denial teaches, and nothing more", conform_denial_legibility },
	{ "managed-agents", "protocols/conformance/managed-agents/claude-self-hosted/v1/",
		"workers of managed agents: what they may do, and what a receipt binds",
		conform_managed_agents },
	{ "egress", "derived/egress-firewall-cases.json", "where data may go", conform_egress },
	{ "capability", "core/pkg/capability/testdata/, docs/governance/examples/",
		"capability manifests and rollback plans", conform_capability },
	{ "mcp", "core/pkg/mcp/testdata/mcp_2026_07_28_authz_vectors.json",
		"who may call which tool of which server", conform_mcp },
	{ "shell", "derived/shell-guard-cases.json", "which commands need a decision", conform_shell },
	{ "envelope", "derived/autonomy-envelope-cases.json",
		"autonomy envelopes: validation, gate, counters", conform_envelope },
	{ "lifecycle", "protocols/conformance/v1/test-vectors.json",
		"which state of an effect may follow which", conform_lifecycle },
};

void conform_result(struct conform_case *c, bool accepted)
{
	json_sets(c->a, c->got, "result", accepted ? "accept" : "reject");
}

/* NULL for a family this program has no handler for. */
static conform_fn *find_family(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (text_eq(families[i].name, name))
			return families[i].fn;
	return NULL;
}

/* The part of the id before the first slash. */
static const char *family_of(struct arena *a, const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? arena_strndup(a, id, (size_t)(slash - id)) : id;
}

/* Some cases state both what the original program answers and what is advised: "shipped: X; advised: Y".
 * Either is accepted. */
static bool is_one_of_two(const char *expected, const char *got)
{
	const char *advised = strstr(expected, "; advised: ");
	size_t n = advised ? (size_t)(advised - expected) : 0;

	if (!advised || !text_starts(expected, "shipped: "))
		return false;
	return text_eq(advised + strlen("; advised: "), got) ||
		(strlen(got) == n - strlen("shipped: ") &&
			memcmp(expected + strlen("shipped: "), got, strlen(got)) == 0);
}

static bool same_value(const struct json *expected, const struct json *got)
{
	const char *x = json_text(expected), *y = json_text(got);

	return json_eq(expected, got) || (x && y && is_one_of_two(x, y));
}

/* Every expected member is there with that value; the answer may say more. */
static bool all_members(const struct json *expected, const struct json *got)
{
	json_each_member (m, expected) {
		if (!same_value(m->value, json_get(got, m->name)))
			return false;
	}
	return true;
}

/* A case without any expectation fails, since it could not fail otherwise.  Cases that leave the answer to
 * the implementation are not scored. */
static enum conform_outcome judge(const struct conform_case *c)
{
	if (text_eq(json_get_text(c->expect, "result", ""), "implementation-choice"))
		return CONFORM_UNSCORED;
	return c->expect->n > 0 && all_members(c->expect, c->got) && all_members(c->also_expect, c->got)
		? CONFORM_PASSED
		: CONFORM_FAILED;
}

/* The family's row in the report, made when it is first met. */
static struct json *row_of(struct conform_tally *t, const char *family)
{
	struct json *row;

	json_each (r, t->families) {
		if (text_eq(json_get_text(r, "family", ""), family))
			return r;
	}
	row = json_new(t->a, JSON_OBJECT);
	json_sets(t->a, row, "family", family);
	for (int i = 0; i < CONFORM_OUTCOMES; i++)
		json_seti(t->a, row, outcome_names[i], 0);
	json_push(t->a, t->families, row);
	return row;
}

void conform_tally_begin(struct conform_tally *t, struct arena *a)
{
	*t = (struct conform_tally){ .a = a,
		.families = json_new(a, JSON_ARRAY),
		.failures = json_new(a, JSON_ARRAY),
		.left_out = json_new(a, JSON_ARRAY) };
}

void conform_count(struct conform_tally *t, const char *family, enum conform_outcome o, const char *id,
	const struct json *expected, const struct json *got)
{
	struct json *row = row_of(t, family);

	json_seti(t->a, row, outcome_names[o], json_get_int(row, outcome_names[o], 0) + 1);
	t->counts[o]++;
	if (o != CONFORM_FAILED)
		return;
	struct json *f = json_new(t->a, JSON_OBJECT);
	json_sets(t->a, f, "id", id);
	json_set(t->a, f, "expected", expected ? json_copy(t->a, expected) : json_new(t->a, JSON_NULL));
	json_set(t->a, f, "got", got ? json_copy(t->a, got) : json_new(t->a, JSON_NULL));
	json_push(t->a, t->failures, f);
}

void conform_leave(struct conform_tally *t, const char *family, const char *id, const char *why)
{
	struct json *row = json_new(t->a, JSON_OBJECT);

	conform_count(t, family, CONFORM_NOT_SUPPORTED, id, NULL, NULL);
	json_sets(t->a, row, "id", id);
	json_sets(t->a, row, "reason", why);
	json_push(t->a, t->left_out, row);
}

/* What the case expects, with what its own file states. */
static struct json *all_expected(const struct conform_case *c)
{
	struct json *expected = json_copy(c->a, c->expect);

	json_each_member (m, c->also_expect)
		json_set(c->a, expected, m->name, m->value);
	return expected;
}

/* The first file, and its tree when it is JSON: a handler that needs the text reads c->text.  Files cannot
 * lie outside the directory of cases. */
static int load(struct conform_case *c, struct err *e)
{
	const char *name = json_text(json_at(c->files, 0));
	struct json *doc = NULL;

	if (!name)
		return OK;
	if (file_read(c->sys, c->a, c->dirfd, name, MAX_FILE_BYTES, FILE_BENEATH, &c->text, e))
		return e->rc;
	if (json_parse(c->a, c->text, name, NULL, &doc, NULL) == OK)
		c->doc = doc;
	return OK;
}

/* An error of a handler is kept as part of the answer, so that the report shows why the case failed. */
static enum conform_outcome run_case(struct conform_case *c, conform_fn *fn)
{
	struct err e = { 0 };

	if (!c->expect)
		return CONFORM_FAILED;
	if (load(c, &e) || fn(c, &e)) {
		json_sets(c->a, c->got, "could_not_run", e.text);
		return CONFORM_FAILED;
	}
	return judge(c);
}

/* Each case has its own arena; what is reported is copied out of it. */
static int run_line(
	struct conform_tally *t, struct sys *s, int dirfd, struct bytes line, const char *only, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct conform_case c = { .a = &scratch, .sys = s, .dirfd = dirfd };
	struct json *row;
	enum conform_outcome o = CONFORM_NOT_SUPPORTED;
	const char *family;

	if (json_parse(&scratch, line, "cases.jsonl", NULL, &row, e))
		return e->rc;
	c.id = json_get_text(row, "id", NULL);
	if (!c.id)
		return err_set(e, E_INPUT, "CONFORM_CASE", "a line of cases.jsonl has no id");
	family = family_of(&scratch, c.id);
	if (only && !text_eq(only, family))
		return OK;
	c.note = json_get_text(row, "note", "");
	c.expect = json_is(json_get(row, "expect"), JSON_OBJECT) ? json_get(row, "expect") : NULL;
	c.files = json_get(row, "files");
	c.got = json_new(&scratch, JSON_OBJECT);
	c.also_expect = json_new(&scratch, JSON_OBJECT);
	conform_fn *fn = find_family(family);
	if (fn)
		o = run_case(&c, fn);
	conform_count(t, family, o, c.id, c.expect ? all_expected(&c) : NULL, c.got);
	return OK;
}

struct json *conform_report(const struct conform_tally *t, const char *dir)
{
	struct json *r = json_new(t->a, JSON_OBJECT);

	json_sets(t->a, r, "cases", dir);
	for (int i = 0; i < CONFORM_OUTCOMES; i++)
		json_seti(t->a, r, outcome_names[i], t->counts[i]);
	json_set(t->a, r, "families", t->families);
	json_set(t->a, r, "failures", t->failures);
	json_set(t->a, r, "left_out", t->left_out);
	if (t->edition)
		json_set(t->a, r, "edition", t->edition);
	return r;
}

/* A directory without a matching case is an error: a misspelled family must not look like success. */
int conform_run(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *only_family,
	struct json **ret_report, struct err *e)
{
	struct conform_tally t;
	AUTO(close_fd) int fd = -1;
	struct bytes text;
	size_t line_number = 0;

	conform_tally_begin(&t, a);
	if (file_open_dir(s, dirfd, dir, &fd, e) ||
		file_read(s, a, fd, "cases.jsonl", MAX_CASES_BYTES, 0, &text, e))
		return err_wrap(e, "cannot read cases in '%s'", dir);
	while (text.p && text.n > 0) {
		struct bytes line = text_cut(&text, '\n');
		line_number++;
		if (line.n > 0 && run_line(&t, s, fd, line, only_family, e))
			return err_wrap(e, "%s/cases.jsonl line %zu", dir, line_number);
	}
	if (t.families->n == 0)
		return err_set(e, E_INPUT, "CONFORM_EMPTY", "no case %s%s in '%s/cases.jsonl'",
			only_family ? "of family " : "", only_family ? only_family : "", dir);
	*ret_report = conform_report(&t, dir);
	return OK;
}

int conform_read(struct conform_place *p, struct arena *a, const char *name, struct bytes *ret, struct err *e)
{
	struct err why = { 0 };

	*ret = (struct bytes){ 0 };
	int rc = file_read(p->sys, a, p->dirfd, name, MAX_CASES_BYTES, FILE_BENEATH, ret, &why);
	if (rc == E_MISSING) {
		json_pushs(a, p->absent, name);
		return OK;
	}
	return rc ? err_set(e, rc, why.code, "%s", why.text) : OK;
}

struct json *conform_shipped(struct arena *a, const char *name)
{
	struct json *doc;
	struct bytes text;

	if (!embed_find(name, &text) || json_parse(a, text, name, NULL, &doc, NULL))
		BUG("a document of ours is not there or no JSON");
	return doc;
}

int conform_names(
	struct conform_place *p, struct arena *a, const char *dir, char ***ret, size_t *ret_n, struct err *e)
{
	struct err why = { 0 };
	int rc = file_list(p->sys, a, p->dirfd, dir, ret, ret_n, &why);

	if (rc == E_MISSING) {
		*ret_n = 0;
		json_pushs(a, p->absent, dir);
		return OK;
	}
	return rc ? err_set(e, rc, why.code, "%s", why.text) : OK;
}

int conform_document(
	struct conform_place *p, struct arena *a, const char *name, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = conform_read(p, a, name, &text, e);

	*ret = NULL;
	return rc || !text.p ? rc : json_parse(a, text, name, NULL, ret, e);
}

void conform_answer(struct conform_tally *t, const char *family, const char *id, const struct json *expected,
	const struct json *got)
{
	conform_count(t, family, expected && json_eq(expected, got) ? CONFORM_PASSED : CONFORM_FAILED, id,
		expected, got);
}

void conform_text(struct conform_tally *t, const char *family, const char *id, const struct json *expected,
	const char *got)
{
	AUTO(arena_done) struct arena a = { 0 };

	conform_answer(t, family, id, expected, json_string(&a, got));
}

const struct conform_suite *conform_suite_at(size_t i)
{
	return i < ARRAY_SIZE(suites) ? &suites[i] : NULL;
}

const char *conform_family_at(size_t i)
{
	return i < ARRAY_SIZE(families) ? families[i].name : NULL;
}

static const struct conform_suite *find_suite(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
		if (text_eq(suites[i].name, name))
			return &suites[i];
	return NULL;
}

/* One suite, counted with others: its own row is what it added. */
static int add_suite(struct conform_place *p, struct conform_tally *t, const struct conform_suite *suite,
	struct json *rows, struct err *e)
{
	struct json *row = json_new(t->a, JSON_OBJECT);
	int64_t before[CONFORM_OUTCOMES];
	int64_t any = 0;

	memcpy(before, t->counts, sizeof(before));
	if (suite->fn(p, t, e))
		return e->rc;
	json_sets(t->a, row, "suite", suite->name);
	for (int i = 0; i < CONFORM_OUTCOMES; i++) {
		json_seti(t->a, row, outcome_names[i], t->counts[i] - before[i]);
		any += t->counts[i] - before[i];
	}
	if (any)
		json_push(t->a, rows, row);
	return OK;
}

/* A folder without a single case is an error, as above.  "all": every suite that has cases there. */
int conform_run_suite(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *suite,
	struct json **ret_report, struct err *e)
{
	struct conform_place p = { .sys = s, .absent = json_new(a, JSON_ARRAY) };
	const struct conform_suite *found = find_suite(suite);
	bool is_all = text_eq(suite, "all");
	struct json *rows = json_new(a, JSON_ARRAY);
	struct conform_tally t;
	AUTO(close_fd) int fd = -1;

	if (!found && !is_all)
		return err_set(
			e, E_USAGE, "CONFORM_SUITE", "no suite '%s'; 'helm conform list' names them", suite);
	conform_tally_begin(&t, a);
	if (file_open_dir(s, dirfd, dir, &fd, e))
		return err_wrap(e, "cannot read cases in '%s'", dir);
	p.dirfd = fd;
	for (size_t i = 0; i < ARRAY_SIZE(suites); i++)
		if ((is_all || found == &suites[i]) && add_suite(&p, &t, &suites[i], rows, e))
			return err_wrap(e, "%s", dir);
	if (t.families->n == 0)
		return err_set(e, E_INPUT, "CONFORM_EMPTY", "no case of suite %s in '%s'; it reads %s there",
			suite, dir, found ? found->reads : "the files that 'helm conform list' names");
	*ret_report = conform_report(&t, dir);
	json_sets(a, *ret_report, "suite", suite);
	json_set(a, *ret_report, "suites", rows);
	json_set(a, *ret_report, "absent", p.absent);
	return OK;
}
