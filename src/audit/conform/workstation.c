/* workstation.c — suites over workstation profiles: events under profiles, recorded runs, receipts, and what a denial teaches.
 *
 *     derived/workstation-evaluate-cases.json           events, each under every profile
 *     fixtures/workstation/SCENARIO/                    recorded runs: imported twice; an event that was blocked must be denied, and one
 *                                                       that was carried out allowed
 *     fixtures/workstation/policies/                    profiles that load
 *     fixtures/workstation/reference/receipts/          receipts whose hashes hold, and do not hold with one byte changed
 *     fixtures/workstation/sample-evidencepack/         an index of digests
 *     protocols/conformance/workstation/v1/conformance-pack.json
 *     tests/conformance/denial-legibility/              golden.json under policy-snapshot.json */
#include "audit/conform/conform.h"

#include "audit/conform/workstation.h"
#include "base/file.h"
#include "base/hash.h"
#include "verify/verify.h"

#include <string.h>

#define RUNS "fixtures/workstation/"

static const struct trust nobody;

static struct json *answer_of(struct arena *a, const struct workstation_answer *said)
{
	struct json *got = json_new(a, JSON_OBJECT);

	json_sets(a, got, "reason_code", said->verdict == V_ALLOW ? "" : reason_get(said->code)->code);
	json_sets(a, got, "verdict", verdict_name(said->verdict));
	return got;
}

static void run_event(
	struct conform_tally *t, const struct json *c, const char *name, const struct json *profile)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *expected = json_get(json_get(c, "expected"), name), *event = json_get(c, "event");
	struct workstation_answer said;
	struct err e = { 0 };

	if (workstation_profile_check(&a, profile, &e))
		conform_text(t, "evaluate", name, expected, e.text);
	else {
		workstation_judge(&a, profile, event, NULL, &said);
		conform_answer(t, "evaluate",
			arena_printf(&a, "%s/%s", json_get_text(event, "event_id", "?"), name), expected,
			answer_of(&a, &said));
	}
}

static int run_events(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct json *doc;

	if (conform_document(p, t->a, "derived/workstation-evaluate-cases.json", &doc, e))
		return e->rc;
	json_each (c, json_get(doc, "cases"))
		json_each_member (m, json_get(doc, "profiles"))
			run_event(t, c, m->name, m->value);
	return OK;
}

/* ---- recorded runs ---- */

static int read_run(
	struct conform_place *p, struct arena *a, const char *dir, struct workstation_run *ret, struct err *e)
{
	struct conform_place quiet = { p->sys, p->dirfd, json_new(a, JSON_ARRAY) };
	const struct {
		const char *name;
		struct bytes *to;
	} files[] = { { "run.manifest.json", &ret->manifest }, { "git.diff-summary.json", &ret->diff },
		{ "validation.json", &ret->validation }, { "tool-events.ndjson", &ret->events },
		{ "policy-profile.json", &ret->profile } };

	*ret = (struct workstation_run){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (conform_read(&quiet, a, arena_printf(a, "%s/%s", dir, files[i].name), files[i].to, e))
			return e->rc;
	return OK;
}

/* Decision receipts that came with the run, whose bytes hold.  Their signer is trusted for the sake of the suite only. */
static struct json *receipts_of(struct conform_place *p, struct arena *a, const char *dir)
{
	struct conform_place quiet = { p->sys, p->dirfd, json_new(a, JSON_ARRAY) };
	struct json *found = json_new(a, JSON_OBJECT);
	const char *folder = arena_printf(a, "%s/receipts", dir);
	char **names;
	size_t n;

	if (file_list(p->sys, a, p->dirfd, folder, &names, &n, NULL))
		return found;
	for (size_t i = 0; i < n; i++) {
		struct json *receipt;
		struct verification v;
		if (conform_document(&quiet, a, arena_printf(a, "%s/%s", folder, names[i]), &receipt, NULL) ||
			!receipt)
			continue;
		verification_begin(&v, a, &nobody, "workstation receipt");
		verify_workstation(&v, receipt);
		if (v.integrity == ANSWER_YES && !v.error)
			json_set(a, found, json_get_text(receipt, "decision_id", ""), receipt);
	}
	return found;
}

static const struct json *event_named(struct arena *a, struct bytes events, const char *id)
{
	while (events.p) {
		struct bytes line = text_cut(&events, '\n');
		struct json *event;
		if (line.n && json_parse(a, line, "events", NULL, &event, NULL) == OK &&
			text_eq(json_get_text(event, "event_id", ""), id))
			return event;
	}
	return NULL;
}

/* What the recording says that happened is what the profile must answer. */
static void run_verdicts(struct conform_tally *t, struct arena *a, const char *dir,
	const struct workstation_run *run, const struct json *imported)
{
	json_each (row, json_get(imported, "verdicts")) {
		const char *id = json_get_text(row, "event_id", "");
		const struct json *event = event_named(a, run->events, id);
		bool is_blocked = text_eq(json_get_text(event, "status", ""), "blocked");
		const char *ref = json_get_text(json_get(event, "metadata"), "policy_decision_ref", NULL);
		struct json *expected = json_new(a, JSON_OBJECT), *got = json_new(a, JSON_OBJECT);
		json_sets(a, expected, "verdict", is_blocked ? "DENY" : "ALLOW");
		json_sets(a, got, "verdict", json_get_text(row, "verdict", ""));
		const char *name = arena_printf(a, "%s/%s", dir, id);
		/* Without the receipt that the recording names there is nothing to allow it. */
		if (ref && !json_get(run->receipts, ref))
			conform_leave(t, "runs", name, "the receipt that the recording names is not there");
		else
			conform_answer(t, "runs", name, expected, got);
	}
}

static int run_scenario(struct conform_place *p, struct conform_tally *t, const char *dir, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *first, *second, *same = json_bool(&a, true);
	struct workstation_run run;
	struct err why = { 0 };

	if (read_run(p, &a, dir, &run, e))
		return e->rc;
	if (!run.manifest.p)
		return OK;
	run.receipts = receipts_of(p, &a, dir);
	if (workstation_import(&a, &run, NULL, &first, &why) ||
		workstation_import(&a, &run, NULL, &second, &why)) {
		conform_text(t, "runs", dir, same, why.text);
		return OK;
	}
	conform_answer(t, "runs", dir, same,
		json_bool(&a, json_eq(first, second) && workstation_import_holds(&a, first)));
	run_verdicts(t, &a, dir, &run, first);
	return OK;
}

static int run_scenarios(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	char **names;
	size_t n;

	if (conform_names(p, t->a, "fixtures/workstation", &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++)
		if (run_scenario(p, t, arena_printf(t->a, RUNS "%s", names[i]), e))
			return e->rc;
	return OK;
}

/* ---- profiles and receipts ---- */

static void run_profile(struct conform_tally *t, const char *name, const struct json *doc)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	if (workstation_profile_check(&a, doc, &e))
		conform_text(t, "policies", name, json_string(&a, "loads"), e.text);
	else
		conform_text(t, "policies", name, json_string(&a, "loads"), "loads");
}

static bool has_integrity(struct arena *a, const struct json *receipt)
{
	struct verification v;

	verification_begin(&v, a, &nobody, "workstation receipt");
	verify_workstation(&v, receipt);
	return v.integrity == ANSWER_YES && !v.error;
}

/* Holds as it is, and does not hold when it says something else. */
static void run_receipt(struct conform_tally *t, const char *name, const struct json *doc)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *changed = json_copy(&a, doc), *yes = json_string(&a, "holds, and only as it is");
	bool is_import = json_get(doc, "proofgraph") != NULL;
	struct json *inner = is_import ? json_get(changed, "receipt") : changed;

	if (!json_is(inner, JSON_OBJECT)) {
		conform_text(t, "receipts", name, yes, "is no receipt");
		return;
	}
	json_sets(&a, inner, "policy_profile", "another");
	bool holds = is_import
		? workstation_import_holds(&a, doc) && has_integrity(&a, json_get(doc, "receipt"))
		: has_integrity(&a, doc);
	bool still = is_import ? workstation_import_holds(&a, changed) : has_integrity(&a, changed);
	conform_text(t, "receipts", name, yes,
		holds && !still ? yes->text
			: holds ? "holds also when changed"
				: "does not hold");
}

static int each_file(struct conform_place *p, struct conform_tally *t, const char *dir,
	void (*run)(struct conform_tally *t, const char *name, const struct json *doc), struct err *e)
{
	char **names;
	size_t n;

	if (conform_names(p, t->a, dir, &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(t->a, "%s/%s", dir, names[i]);
		struct json *doc;
		if (!text_ends(path, ".json"))
			continue;
		if (conform_document(p, t->a, path, &doc, e))
			return e->rc;
		if (doc)
			run(t, path, doc);
	}
	return OK;
}

/* Digests are over the content without its final newline. */
static int run_pack(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	static const char dir[] = RUNS "sample-evidencepack";
	struct json *index;

	if (conform_document(p, t->a, RUNS "sample-evidencepack/00_INDEX.json", &index, e))
		return e->rc;
	json_each_member (m, json_get(index, "files")) {
		const char *path = arena_printf(t->a, "%s/%s", dir, m->name);
		struct bytes text;
		if (conform_read(p, t->a, path, &text, e))
			return e->rc;
		if (!text.p)
			continue;
		size_t n = text.n && text.p[text.n - 1] == '\n' ? text.n - 1 : text.n;
		conform_text(t, "pack", path, m->value, sha256_hex(t->a, text.p, n));
	}
	return OK;
}

/* A level holds when everything that it names is there, something was run and nothing above has failed. */
static int run_levels(struct conform_place *p, struct conform_tally *t,
	const int64_t before[CONFORM_OUTCOMES], struct err *e)
{
	struct json *doc, *yes = json_string(t->a, "demonstrated");
	const char *missing = NULL;

	if (conform_document(p, t->a, "protocols/conformance/workstation/v1/conformance-pack.json", &doc, e))
		return e->rc;
	json_each_member (m, json_get(doc, "fixtures"))
		if (json_text(m->value) &&
			!file_exists(p->sys, p->dirfd,
				arena_printf(t->a, "%s/run.manifest.json", json_text(m->value))))
			missing = json_text(m->value);
	bool has_run = t->counts[CONFORM_PASSED] > before[CONFORM_PASSED];
	bool has_failed = t->counts[CONFORM_FAILED] > before[CONFORM_FAILED];
	json_each (mode, json_get(doc, "modes")) {
		const char *id = json_get_text(mode, "id", "?");
		if (!missing && !has_failed && !has_run)
			conform_leave(t, "levels", id, "nothing was run that could show it");
		else
			conform_text(t, "levels", id, yes,
				missing		     ? arena_printf(t->a, "%s is not there", missing)
					: has_failed ? "something failed"
						     : yes->text);
	}
	return OK;
}

int conform_workstation_suite(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	int64_t before[CONFORM_OUTCOMES];

	memcpy(before, t->counts, sizeof(before));
	return run_events(p, t, e) || run_scenarios(p, t, e) ||
			each_file(p, t, RUNS "policies", run_profile, e) ||
			each_file(p, t, RUNS "reference/receipts", run_receipt, e) || run_pack(p, t, e) ||
			run_levels(p, t, before, e)
		? e->rc
		: OK;
}

/* ---- what a denial teaches ---- */

static struct json *observe(
	struct arena *a, const struct json *profile, const char *name, const struct json *event)
{
	struct json *seen = json_new(a, JSON_OBJECT);
	struct workstation_answer said;

	workstation_judge(a, profile, event, NULL, &said);
	json_sets(a, seen, "case", name);
	json_sets(a, seen, "verdict", verdict_name(said.verdict));
	if (said.verdict != V_ALLOW)
		json_sets(a, seen, "reason_code", reason_get(said.code)->code);
	if (said.finality)
		json_sets(a, seen, "finality", said.finality);
	if (said.counterfactual)
		json_set(a, seen, "counterfactual", json_copy(a, said.counterfactual));
	return seen;
}

int conform_denial_legibility(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	static const char dir[] = "tests/conformance/denial-legibility";
	struct json *golden, *profile, *all = json_new(t->a, JSON_ARRAY);
	const struct json *questions =
		json_get(conform_shipped(t->a, "share/conform/denial-questions.json"), "questions");
	struct buf text;

	if (conform_document(p, t->a, arena_printf(t->a, "%s/golden.json", dir), &golden, e))
		return e->rc;
	if (!golden)
		return OK;
	if (conform_document(p, t->a,
		    arena_printf(t->a, "%s/%s", dir,
			    json_get_text(golden, "policy_snapshot", "policy-snapshot.json")),
		    &profile, e) ||
		workstation_profile_check(t->a, profile, e))
		return e->rc;
	json_each (x, json_get(golden, "observations")) {
		const char *name = json_get_text(x, "case", "?");
		const struct json *question = json_get(questions, name);
		struct json *seen = question ? observe(t->a, profile, name, question) : NULL;
		if (!seen) {
			conform_leave(t, "observations", name, "no question of ours belongs to it");
			continue;
		}
		json_push(t->a, all, seen);
		conform_answer(t, "observations", name, x, seen);
	}
	buf_init(&text, t->a);
	json_write(&text, all, 0);
	conform_text(t, "digest", "digest", json_get(golden, "digest"), sha256_hex(t->a, text.p, text.n));
	return OK;
}
