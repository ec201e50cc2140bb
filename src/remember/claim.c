/* claim.c — claims hold by evidence and by the claims they depend on; in any order, and a circle holds nothing. */
#include "remember/claim.h"

#include "base/text.h"

#include <string.h>

enum state { CLAIM_OPEN, CLAIM_HOLDS, CLAIM_FAILS };
enum { DEPENDS_MOST = 64 };

struct claim {
	const struct json *doc;
	const char *id;
	const char *reason; /* why it fails; or NULL */
	enum state state;
	const struct claim **depends; /* NULL among them: there is no such claim */
	size_t depends_n;
};

struct judging {
	struct claim *of;
	size_t n;
	const struct json *evidence;
};

static const struct claim *find(const struct judging *x, const char *id)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->of[i].id && text_eq(x->of[i].id, id))
			return &x->of[i];
	return NULL;
}

static bool has_text(const struct json *list, const char *text)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

/* One of its references is among what was seen, and is of its type. */
static bool is_shown(const struct judging *x, const struct json *claim)
{
	const char *type = json_get_text(claim, "evidence_type", "");
	size_t n = strlen(type);

	json_each (ref, json_get(claim, "evidence_refs")) {
		const char *text = json_text(ref);
		if (text && !strncmp(text, type, n) && text[n] == ':' && text[n + 1] &&
			has_text(x->evidence, text))
			return true;
	}
	return false;
}

/* ---- each by itself ---- */

static const char *fault_of(const struct judging *x, size_t i)
{
	const struct json *doc = x->of[i].doc, *depends = json_get(doc, "depends_on");
	const char *type = json_get_text(doc, "evidence_type", "");

	if (!json_is(doc, JSON_OBJECT) || !x->of[i].id || !x->of[i].id[0] || !*type || strchr(type, ':'))
		return "claim_not_structured";
	for (size_t k = 0; k < x->n; k++)
		if (k != i && x->of[k].id && text_eq(x->of[k].id, x->of[i].id))
			return "duplicate_claim_id";
	if (depends && !json_is(depends, JSON_NULL) &&
		(!json_is(depends, JSON_ARRAY) || depends->n > DEPENDS_MOST))
		return "invalid_claim_dependencies";
	json_each (one, depends)
		if (!json_text(one) || !json_text(one)[0])
			return "invalid_claim_dependencies";
	return is_shown(x, doc) ? NULL : "required_evidence_missing";
}

/* ---- with those they depend on ---- */

static void resolve(struct arena *a, const struct judging *x, struct claim *c)
{
	const struct json *list = json_get(c->doc, "depends_on");

	if (c->state != CLAIM_OPEN || !json_is(list, JSON_ARRAY))
		return;
	c->depends = arena_zalloc(a, list->n + 1, sizeof(struct claim *));
	json_each (one, list)
		c->depends[c->depends_n++] = find(x, json_text(one));
}

/* Those whose dependencies all hold, until there are no more; then those that depend on one that fails. */
static void settle(struct judging *x)
{
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (size_t i = 0; i < x->n; i++) {
			struct claim *c = &x->of[i];
			enum state becomes = CLAIM_HOLDS;
			if (c->state != CLAIM_OPEN)
				continue;
			for (size_t k = 0; k < c->depends_n; k++) {
				const struct claim *on = c->depends[k];
				if (!on || on->state == CLAIM_FAILS)
					becomes = CLAIM_FAILS;
				else if (on->state == CLAIM_OPEN && becomes == CLAIM_HOLDS)
					becomes = CLAIM_OPEN;
			}
			c->state = becomes;
			if (becomes == CLAIM_FAILS)
				c->reason = "prerequisite_claim_missing";
			is_moving |= becomes != CLAIM_OPEN;
		}
	}
	for (size_t i = 0; i < x->n; i++) {
		if (x->of[i].state != CLAIM_OPEN)
			continue;
		x->of[i].state = CLAIM_FAILS;
		x->of[i].reason = "claim_dependency_cycle";
	}
}

struct json *claims_judge(struct arena *a, const struct json *claims, const struct json *evidence,
	const struct claim_refuter *against)
{
	struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY),
		    *refuter = json_new(a, JSON_OBJECT), *missing = json_new(a, JSON_ARRAY);
	size_t n = json_is(claims, JSON_ARRAY) ? claims->n : 0;
	struct judging x = { .n = n < CLAIMS_MOST ? n : CLAIMS_MOST, .evidence = evidence };
	bool ok = n && n <= CLAIMS_MOST && !against->has_scope_violation && !against->is_pending;

	x.of = arena_zalloc(a, x.n + 1, sizeof(*x.of));
	for (size_t i = 0; i < x.n; i++)
		x.of[i] = (struct claim){ .doc = claims->items[i],
			.id = json_get_text(claims->items[i], "claim_id", NULL) };
	for (size_t i = 0; i < x.n; i++) {
		x.of[i].reason = fault_of(&x, i);
		x.of[i].state = x.of[i].reason ? CLAIM_FAILS : CLAIM_OPEN;
	}
	for (size_t i = 0; i < x.n; i++)
		resolve(a, &x, &x.of[i]);
	settle(&x);
	for (size_t i = 0; i < x.n; i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		bool holds = x.of[i].state == CLAIM_HOLDS;
		json_sets(a, one, "claim_id", x.of[i].id);
		json_sets(a, one, "claim", json_get_text(x.of[i].doc, "claim", NULL));
		json_sets(a, one, "evidence_type", json_get_text(x.of[i].doc, "evidence_type", NULL));
		json_setb(a, one, "ok", holds);
		json_sets(a, one, "reason", holds ? "evidence_present" : x.of[i].reason);
		json_push(a, list, one);
		if (!holds)
			json_pushs(a, missing, x.of[i].id ? x.of[i].id : "");
		ok &= holds;
	}
	json_setb(a, doc, "ok", ok);
	json_sets(a, doc, "arbiter", ok ? "pass" : "hold");
	json_set(a, doc, "claims", list);
	json_setb(a, refuter, "scope_violation", against->has_scope_violation);
	json_setb(a, refuter, "remote_execution_pending", against->is_pending);
	json_set(a, refuter, "missing_claims", missing);
	json_set(a, doc, "refuter", refuter);
	return doc;
}

/* ---- what a run shows by itself ---- */

static void claim(struct arena *a, struct json *to, const char *id, const char *text, const char *ref)
{
	struct json *one = json_new(a, JSON_OBJECT), *refs = json_new(a, JSON_ARRAY);

	json_sets(a, one, "claim_id", id);
	json_sets(a, one, "claim", text);
	json_sets(a, one, "evidence_type", arena_strndup(a, ref, strcspn(ref, ":")));
	json_pushs(a, refs, ref);
	json_set(a, one, "evidence_refs", refs);
	json_push(a, to, one);
}

struct json *claims_of_run(struct arena *a, const struct json *evidence)
{
	static const char file[] = "filesystem_stat:";
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (ref, evidence) {
		const char *text = json_text(ref), *mark;
		if (text_eq(text, "process_exit:0"))
			claim(a, list, "command_completed", "the command ended with 0", text);
		else if (text_eq(text, "test_result:passed"))
			claim(a, list, "tests_passed", "the tests passed", text);
		else if (text_eq(text, "verification_result:passed"))
			claim(a, list, "verification_passed", "what was run to verify it passed", text);
		else if (text_starts(text, "service_readback:"))
			claim(a, list, "service_change_verified", "the service was asked, and shows it",
				text);
		if (!text_starts(text, file) || !(mark = strrchr(text, '#')))
			continue;
		const char *path =
			arena_strndup(a, text + strlen(file), (size_t)(mark - text) - strlen(file));
		bool is_gone = text_eq(mark, "#absent");
		claim(a, list, arena_printf(a, "file_%s:%s", is_gone ? "deleted" : "changed", path),
			arena_printf(a, "%s was %s", path, is_gone ? "deleted" : "changed"), text);
	}
	return list;
}

const char *claims_status(const char *status, const struct json *gate)
{
	if (!text_eq(status, "completed") && !text_eq(status, "handoff_required"))
		return status;
	return json_get_bool(gate, "ok", false) ? "verified" : "needs_verification";
}
