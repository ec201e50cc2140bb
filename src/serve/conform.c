/* conform.c — the published vectors against any boundary over HTTP (docs/formats/conform-wire.md).
 *
 * Each vector is asked once; only a connection that failed is tried again.  What comes back is compared member by member, and a difference is one
 * of the wire (no answer in the shape of the API), of the verdict, or of the code.  What needs a world that nobody described there is not run,
 * which is no pass.  A yes where a no was expected fails the run, whatever else it says. */
#include "serve/conform.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/web.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { VECTORS_MOST = 8 << 20, TIMEOUT_MS = 5000 };

struct run {
	struct sys *sys;
	struct arena *a;
	const struct json *o;
	const char *base, *binding, *token, *id;
	bool has_harness;
	struct json *rows;
	int64_t passed, failed, not_run, wire, verdict, code, other, unsafe;
};

/* Facts about the world that no caller is believed. */
static bool needs_world(const struct json *vector)
{
	static const char *const beside[] = { "pdp_behavior", "budget_behavior", "output_override" };
	static const char *const keys[] = { "budget_remaining_cents", "force_prg_error", "output_schema_id",
		"calls_in_window", "window_seconds", "max_calls_per_window", "caller_tenant_id",
		"server_approved", "tool_discovered", "generated_code_grant", "network",
		"filesystem_preopens", "fuel_limit", "market_hours", "industry", "jurisdiction",
		"jurisdictions", "business_preset", "review_approved", "approval_ref",
		"open_generated_specs" };
	const struct json *input = json_get(vector, "input"), *context = json_get(input, "context");

	for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
		if (json_get(vector, beside[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (json_is(context, JSON_OBJECT) && json_get(context, keys[i]))
			return true;
	return json_get(json_get(json_get(input, "effect"), "params"), "attempt") != NULL;
}

static const char *why_not_run(const struct run *r, const struct json *vector)
{
	const struct json *input = json_get(vector, "input");

	if (json_get(input, "replay_from"))
		return "it is about a recorded session: run it where the record is";
	if (needs_world(vector) && !r->has_harness)
		return "needs harness";
	json_each_member (m, json_get(vector, "expected"))
		if (text_starts(m->name, "wasm_"))
			return "it is about the output of code";
	return NULL;
}

/* ---- one question ---- */

static struct json *body_of(
	const struct run *r, const struct json *vector, const struct json *effect, size_t i)
{
	static const char *const beside[] = { "pdp_behavior", "budget_behavior", "output_override" };
	const struct json *input = json_get(vector, "input");
	struct json *doc = json_new(r->a, JSON_OBJECT), *world;

	json_set(r->a, doc, "effect", json_copy(r->a, effect));
	if (json_get(input, "principal"))
		json_set(r->a, doc, "principal", json_copy(r->a, json_get(input, "principal")));
	if (json_get(input, "context"))
		json_set(r->a, doc, "context", json_copy(r->a, json_get(input, "context")));
	if (!r->has_harness)
		return doc;
	world = json_new(r->a, JSON_OBJECT);
	for (size_t n = 0; n < ARRAY_SIZE(beside); n++)
		if (json_get(vector, beside[n]))
			json_set(r->a, world, beside[n], json_copy(r->a, json_get(vector, beside[n])));
	/* A world knows what came before in the session of the vector. */
	if (i) {
		struct json *before = json_new(r->a, JSON_ARRAY);
		for (size_t n = 0; n < i; n++)
			json_push(r->a, before, json_copy(r->a, json_at(json_get(input, "effects"), n)));
		json_set(r->a, world, "before", before);
	}
	json_set(r->a, doc, "harness", world);
	return doc;
}

static struct web_ask ask_of(const struct run *r, const char *path)
{
	const char *tenant = json_get_text(r->o, "tenant", NULL),
		   *who = json_get_text(r->o, "principal", NULL);
	struct web_ask q = { .url = arena_printf(r->a, "%s%s", r->base, path),
		.token = r->token,
		.timeout_ms = json_get_int(r->o, "timeout_ms", TIMEOUT_MS) };

	if (tenant)
		q.headers[q.header_count++] = arena_printf(r->a, "X-Helm-Tenant-ID: %s", tenant);
	if (who)
		q.headers[q.header_count++] = arena_printf(r->a, "X-Helm-Principal-ID: %s", who);
	return q;
}

/* NULL: there was no answer in the shape of the API, and `why` says what there was. */
static const struct json *ask(struct run *r, const struct json *vector, const struct json *effect, size_t i,
	const char **why, bool *is_unreachable)
{
	struct web_ask q = ask_of(r, text_eq(r->binding, "decide") ? "/v1/decide" : "/v1/effects");
	struct web_answer answer = { 0 };
	struct json *doc;
	struct buf text;
	struct err e = { 0 };

	buf_init(&text, r->a);
	json_write(&text, body_of(r, vector, effect, i), 0);
	q.body = buf_bytes(&text);
	q.headers[q.header_count++] =
		arena_printf(r->a, "Idempotency-Key: %s:%s:%zu", r->id, json_get_text(vector, "id", "?"), i);
	int rc = web_ask(r->a, &q, &answer, &e);
	if (rc && text_eq(e.code, "WEB_UNREACHABLE"))
		rc = web_ask(r->a, &q, &answer, &e);
	*is_unreachable = rc != OK;
	if (rc)
		*why = arena_strdup(r->a, e.text);
	else if (answer.status != 200)
		*why = arena_printf(r->a, "status %d", answer.status);
	else if (json_parse(r->a, answer.body, "answer", NULL, &doc, &e) || !json_is(doc, JSON_OBJECT))
		*why = "the answer is no JSON object";
	else if (!json_get_text(doc, "verdict", NULL))
		*why = "the answer has no verdict";
	else
		return doc;
	return NULL;
}

/* ---- comparing ---- */

static bool same_code(const struct json *want, const struct json *answer)
{
	const char *got = json_get_text(answer, "reason_code", "");

	return !want || text_eq(json_text(want) ? json_text(want) : "", got);
}

static bool same_packs(const struct json *want, const struct json *answer)
{
	const struct json *got = json_get(answer, "active_packs");
	const char *line =
		json_get_text(json_get(json_get(answer, "receipt"), "metadata"), "active_packs", "");

	if (got)
		return json_eq(want, got);
	return json_is(want, JSON_ARRAY) && !want->n && !*line;
}

/* NULL: as expected; otherwise what kind of difference it is. */
static const char *difference(const struct json *expected, const struct json *answer)
{
	const char *verdict = json_get_text(expected, "verdict", NULL);

	if (verdict && !text_eq(verdict, json_get_text(answer, "verdict", "")))
		return "verdict";
	if (!same_code(json_get(expected, "reason_code"), answer))
		return "code";
	json_each_member (m, expected) {
		bool want = json_get_bool(expected, m->name, false);
		if (text_eq(m->name, "receipt_present") && want != !!json_get(answer, "receipt"))
			return "wire";
		if (text_eq(m->name, "intent_present") && want != !!json_get(answer, "intent"))
			return "wire";
		if (text_eq(m->name, "quarantined") && want != json_get_bool(answer, "quarantined", false))
			return "wire";
		if (text_eq(m->name, "active_packs") && !same_packs(m->value, answer))
			return "wire";
	}
	return NULL;
}

static bool is_known(const struct json *expected)
{
	static const char *const names[] = { "verdict", "reason_code", "receipt_present", "intent_present",
		"active_packs", "quarantined", "verdicts", "reason_codes", "receipts_present",
		"lamport_strictly_increasing" };
	bool is_all = true;

	json_each_member (m, expected) {
		bool is_one = false;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			is_one |= text_eq(names[i], m->name);
		is_all &= is_one;
	}
	return is_all;
}

static const char *compare_many(
	const struct json *expected, size_t i, const struct json *answer, int64_t *last)
{
	const struct json *verdict = json_at(json_get(expected, "verdicts"), i),
			  *code = json_get(expected, "reason_codes");
	int64_t clock = json_get_int(json_get(answer, "receipt"), "lamport",
		json_get_int(json_get(answer, "receipt"), "lamport_clock", 0));
	bool is_rising = clock > *last;

	*last = clock;
	if (verdict && !text_eq(json_text(verdict), json_get_text(answer, "verdict", "")))
		return "verdict";
	if (code && !same_code(json_at(code, i), answer))
		return "code";
	if (json_get(expected, "lamport_strictly_increasing") && !is_rising)
		return "wire";
	return json_get(expected, "receipts_present") && !json_get(answer, "receipt") ? "wire" : NULL;
}

static bool is_unsafe(const struct json *want, const struct json *answer)
{
	return json_text(want) && !text_eq(json_text(want), "ALLOW") &&
		text_eq(json_get_text(answer, "verdict", ""), "ALLOW");
}

static void keep(struct run *r, struct json *row, const char *verdict, const char *kind)
{
	json_sets(r->a, row, "verdict", verdict);
	if (kind)
		json_sets(r->a, row, "difference", kind);
	json_push(r->a, r->rows, row);
	if (!kind)
		return;
	int64_t *n = text_eq(kind, "verdict") ? &r->verdict
		: text_eq(kind, "code")	      ? &r->code
		: text_eq(kind, "wire")	      ? &r->wire
					      : &r->other;
	++*n;
}

static int run_vector(struct run *r, const struct json *vector, struct err *e)
{
	const struct json *input = json_get(vector, "input"), *effects = json_get(input, "effects");
	const struct json *expected = json_get(vector, "expected"), *answer = NULL;
	struct json *row = json_new(r->a, JSON_OBJECT);
	size_t n = json_is(effects, JSON_ARRAY) ? effects->n : 1;
	const char *why = why_not_run(r, vector), *kind = NULL;
	int64_t began = r->sys->mono_us(r->sys), last = 0;
	bool is_unreachable = false;

	json_sets(r->a, row, "id", json_get_text(vector, "id", "?"));
	if (why) {
		json_sets(r->a, row, "why", why);
		keep(r, row, "NOT_RUN", NULL);
		r->not_run++;
		return OK;
	}
	if (!is_known(expected))
		kind = "runner";
	for (size_t i = 0; i < n && !kind; i++) {
		answer = ask(r, vector, effects ? json_at(effects, i) : json_get(input, "effect"), i, &why,
			&is_unreachable);
		if (is_unreachable && !r->passed && !r->failed)
			return err_set(e, E_IO, "CONFORM_UNREACHABLE", "%s: %s", r->base, why);
		kind = !answer	  ? "wire"
			: effects ? compare_many(expected, i, answer, &last)
				  : difference(expected, answer);
		r->unsafe += answer &&
			is_unsafe(effects ? json_at(json_get(expected, "verdicts"), i)
					  : json_get(expected, "verdict"),
				answer);
	}
	json_seti(r->a, row, "ms", (r->sys->mono_us(r->sys) - began) / 1000);
	if (why)
		json_sets(r->a, row, "why", why);
	if (kind && answer)
		json_set(r->a, row, "got", json_copy(r->a, answer));
	if (kind)
		json_set(r->a, row, "expected", json_copy(r->a, expected));
	if (answer)
		json_sets(r->a, row, "receipt_id",
			json_get_text(json_get(answer, "receipt"), "receipt_id", ""));
	r->passed += !kind;
	r->failed += kind != NULL;
	keep(r, row, kind ? "FAIL" : "PASS", kind);
	return OK;
}

/* ---- the run ---- */

/* What the boundary says it can do; without an answer it can do the least. */
static void look_at_abilities(struct run *r)
{
	struct web_ask q = ask_of(r, "/v1/meta/capabilities");
	struct web_answer answer;
	struct json *doc;
	struct err e = { 0 };

	if (web_ask(r->a, &q, &answer, &e) == OK && answer.status == 200 &&
		json_parse(r->a, answer.body, "capabilities", NULL, &doc, &e) == OK)
		r->has_harness = json_get_bool(doc, "conformance_harness", false);
}

static struct json *report_of(const struct run *r)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *kinds = json_new(r->a, JSON_OBJECT);
	bool is_good = !r->failed && r->passed && !r->unsafe;

	json_sets(r->a, doc, "endpoint", r->base);
	json_sets(r->a, doc, "binding", r->binding);
	json_setb(r->a, doc, "conformance_harness", r->has_harness);
	json_sets(r->a, doc, "result", is_good ? "PASS" : "FAIL");
	/* Signatures are not looked at here, so no more than the first level is claimed. */
	json_seti(r->a, doc, "spec_level", is_good && !r->not_run ? 1 : 0);
	json_seti(r->a, doc, "passed", r->passed);
	json_seti(r->a, doc, "failed", r->failed);
	json_seti(r->a, doc, "not_run", r->not_run);
	json_seti(r->a, doc, "allowed_where_refused", r->unsafe);
	json_seti(r->a, kinds, "wire", r->wire);
	json_seti(r->a, kinds, "verdict", r->verdict);
	json_seti(r->a, kinds, "code", r->code);
	json_seti(r->a, kinds, "runner", r->other);
	json_set(r->a, doc, "differences", kinds);
	json_set(r->a, doc, "vectors", r->rows);
	return doc;
}

int conform_remote(struct sys *s, struct arena *a, const struct json *o, struct json **ret, struct err *e)
{
	const char *variable = json_get_text(o, "token_env", "HELM_KEY"),
		   *file = json_get_text(o, "vectors", "");
	struct run r = { .sys = s,
		.a = a,
		.o = o,
		.base = json_get_text(o, "endpoint", ""),
		.binding = json_get_text(o, "binding", "effects"),
		.token = s->getenv(s, variable),
		.rows = json_new(a, JSON_ARRAY) };
	struct json *doc;
	struct bytes text;
	char *id;
	int rc = file_read(s, a, AT_FDCWD, file, VECTORS_MOST, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(a, text, file, NULL, &doc, e);
	if (rc == OK && !json_is(json_get(doc, "vectors"), JSON_ARRAY))
		rc = err_set(e, E_INPUT, "CONFORM_VECTORS", "%s has no vectors", file);
	if (rc == OK)
		rc = record_new_id(a, s, "run-", &id, e);
	if (rc)
		return rc;
	r.id = id;
	look_at_abilities(&r);
	json_each (vector, json_get(doc, "vectors"))
		if (run_vector(&r, vector, e))
			return e->rc;
	*ret = report_of(&r);
	return OK;
}
