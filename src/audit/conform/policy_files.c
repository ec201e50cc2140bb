/* policy_files.c — the suites of files that have no answer beside them: packs, serve policies with their packs, launch policies, compliance packs.
 *
 *     protocols/bundles (.yaml)                      packs: read, named, versioned, every code well formed
 *     examples/policy-packs, policy-packs,           serve policies: read with their pack; an action that is not enabled has no policy,
 *       release.high_risk.v3.toml (.toml)              one whose expression compares an object with a text is never satisfied and is warned about
 *     policies (.toml)                               launch policies: read; nothing is allowed to reach an unlisted destination
 *     reference_packs (.json)                        compliance packs: read as mappings that decide nothing; as policy every rule compiles
 *
 * The rules that answer are those of the engine: each file is compiled and asked. */
#include "audit/conform/conform.h"

#include "base/file.h"
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"

#include <errno.h>
#include <string.h>

enum { MOST_FILE_BYTES = 8 << 20 };

/* One file being run. */
struct one {
	struct arena *a;
	struct conform_place *p;
	const char *path, *dir; /* dir: of the file, "" at the top */
	bool is_pack_absent; /* a file that it names is not in the folder of cases */
	struct policy_reading reading;
	struct ruleset *rules; /* NULL when it was not read */
	struct json *expected, *got;
};

/* Relative to the file's own folder, and beneath the folder of cases. */
static int fetch(void *ctx, const char *name, struct bytes *ret, struct err *e)
{
	struct one *o = ctx;
	const char *rest = text_starts(name, "./") ? name + 2 : name;
	int rc = file_read(o->p->sys, o->a, o->p->dirfd,
		*o->dir ? arena_printf(o->a, "%s/%s", o->dir, rest) : rest, MOST_FILE_BYTES, FILE_BENEATH,
		ret, e);

	o->is_pack_absent |= rc == E_MISSING;
	return rc;
}

static int load(struct one *o, bool as_policy, struct err *e)
{
	struct policy_input in = { .name = o->path, .as_policy = as_policy, .fetch = fetch, .fetch_ctx = o };

	if (file_read(o->p->sys, o->a, o->p->dirfd, o->path, MOST_FILE_BYTES, FILE_BENEATH, &in.text, e) ||
		policy_document_read(o->a, &in, &o->reading, e))
		return e->rc;
	policy_lint(o->a, o->reading.document, o->path, &o->reading.problems);
	return ruleset_compile(o->a, o->reading.document, &o->rules, e);
}

static void expect(struct one *o, const char *name, const char *expected, const char *got)
{
	json_sets(o->a, o->expected, name, expected);
	json_sets(o->a, o->got, name, got);
}

/* What the engine says to an effect of this type with these params. */
static const char *judge(struct one *o, const char *action, const struct json *params)
{
	const struct policy_question q = {
		.action = action, .effect_id = "case", .principal = "case", .params = params, .now_us = 1
	};
	struct judgement j;

	question_judge(o->a, o->rules, NULL, &q, NULL, (struct as_tool){ 0 }, &j);
	return j.verdict == V_ALLOW ? "ALLOW" : reason_get(j.code)->code;
}

/* ---- packs ---- */

static void check_packs(struct one *o)
{
	json_each (row, json_get(o->reading.report, "packs")) {
		const char *name = json_get_text(row, "name", "");
		expect(o, arena_printf(o->a, "%s version", name), "yes",
			*json_get_text(row, "version", "") ? "yes" : "no");
	}
}

/* ---- serve policies ---- */

static bool is_object_against_text(const struct one *o, const char *requirement)
{
	for (size_t i = 0; i < o->reading.problems.n; i++) {
		const struct policy_problem *x = &o->reading.problems.items[i];
		if (text_eq(x->code, "POLICY_NEVER_TRUE") && x->rule && text_eq(x->rule, requirement))
			return true;
	}
	return false;
}

static void check_serve(struct one *o)
{
	const struct json *graph = json_get(o->reading.document, "requirements");

	expect(o, "unlisted", "NO_POLICY_DEFINED", judge(o, "no.such.action", NULL));
	json_each_member (m, graph) {
		const struct json *leaf = json_at(json_get(m->value, "requirements"), 0);
		const char *wanted = leaf ? "MISSING_REQUIREMENT" : "ALLOW";
		if (json_get(leaf, "expression") && !is_object_against_text(o, json_get_text(leaf, "id", "")))
			continue; /* what it says depends on the request */
		expect(o, m->name, wanted, judge(o, m->name, NULL));
	}
}

/* ---- launch policies ---- */

/* A network allow-list that is absent denies; so does a destination that is not on it. */
static void check_launch(struct one *o)
{
	struct json *params = json_new(o->a, JSON_OBJECT);

	if (json_get(o->reading.source, "skill"))
		return;
	json_sets(o->a, params, "destination", "unlisted.example");
	expect(o, "network", "POLICY_VIOLATION", judge(o, "network", params));
	if (json_get_bool(json_get(o->reading.source, "app"), "receipt_required", false))
		expect(o, "receipt", "MISSING_REQUIREMENT", judge(o, "launch", NULL));
	if (json_get_bool(json_get(o->reading.source, "app"), "permission_bypass_forbidden", false))
		expect(o, "bypass", "POLICY_VIOLATION", judge(o, "permission_bypass", NULL));
}

/* ---- compliance packs ---- */

/* As a mapping it has no rule.  As policy every condition compiles; a pack that forbids it is refused. */
static void check_mapping(struct one *o)
{
	const struct json *layers = json_get(o->reading.document, "layers");
	bool is_only_mapping = json_is(json_get(o->reading.source, "runtime_enforcement"), JSON_FALSE);
	struct one again = *o;
	struct err why = { 0 };

	expect(o, "rules of the mapping", "none", layers ? "some" : "none");
	expect(o, "changes a verdict", "ALLOW", judge(o, "EXECUTE_PAYMENT", NULL));
	expect(o, "as policy", is_only_mapping ? "PACK_IS_MAPPING" : "compiles",
		load(&again, true, &why) ? arena_strdup(o->a, why.code) : "compiles");
}

/* ---- walking ---- */

struct folder {
	struct conform_place *p;
	struct conform_tally *t;
	const char *root, *ending, *family;
	bool is_deep;
	void (*check)(struct one *o);
};

static void run_file(const struct folder *f, const char *path)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct one o = { .a = &a,
		.p = f->p,
		.path = path,
		.expected = json_new(&a, JSON_OBJECT),
		.got = json_new(&a, JSON_OBJECT) };
	const char *slash = strrchr(path, '/');
	struct err why = { 0 };

	o.dir = slash ? arena_strndup(&a, path, (size_t)(slash - path)) : "";
	int rc = load(&o, false, &why);
	if (rc && o.is_pack_absent) {
		conform_leave(f->t, f->family, path, "the pack that it names is not among the cases");
		return;
	}
	expect(&o, "reads", "yes", rc ? why.text : "yes");
	if (!rc)
		f->check(&o);
	conform_count(f->t, f->family, json_eq(o.expected, o.got) ? CONFORM_PASSED : CONFORM_FAILED, path,
		o.expected, o.got);
}

static int run_folder(const struct folder *f, const char *path, int depth, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err why = { 0 };
	char **names;
	size_t n;

	int rc = file_list(f->p->sys, &a, f->p->dirfd, path, &names, &n, &why);
	if (rc == E_MISSING || (depth > 0 && why.sys == ENOTDIR)) {
		if (depth == 0)
			json_pushs(f->t->a, f->p->absent, path);
		return OK;
	}
	if (rc)
		return err_set(e, rc, why.code, "%s", why.text);
	for (size_t i = 0; i < n; i++) {
		const char *inner = text_eq(path, ".") ? names[i] : arena_printf(&a, "%s/%s", path, names[i]);
		if (text_ends(names[i], f->ending))
			run_file(f, inner);
		else if (f->is_deep && !strchr(names[i], '.') && depth < 8 &&
			run_folder(f, inner, depth + 1, e))
			return e->rc;
	}
	return OK;
}

int conform_policy_packs(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	const struct folder folders[] = {
		{ p, t, "protocols/bundles", ".yaml", "packs", true, check_packs },
		{ p, t, "examples/policy-packs", ".toml", "serve", false, check_serve },
		{ p, t, "policy-packs", ".toml", "serve", true, check_serve },
		{ p, t, ".", ".toml", "serve", false, check_serve },
		{ p, t, "policies", ".toml", "launch", true, check_launch },
	};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (run_folder(&folders[i], folders[i].root, 0, e))
			return e->rc;
	return OK;
}

/* Folders below hold other records. */
int conform_reference_packs(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	const struct folder f = { p, t, "reference_packs", ".json", "mapping", false, check_mapping };

	return run_folder(&f, f.root, 0, e);
}
