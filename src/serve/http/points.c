/* points.c — other decision points that the installation wants to be asked (docs/formats/decision-points.md).
 *
 * Each answers in its own shape.  What it said becomes the light answer that the policy engine knows, or a fault: late, silent, another status
 * and anything that is not exactly its shape are no answer, and no answer is no.  The first that does not allow is what the kernel hears.  The
 * digest of what each said stands in the receipt. */
#include "serve/http/http.h"

#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "serve/metrics.h"
#include "serve/web.h"

#include <string.h>

enum { POINT_MS = 500 };

static bool is_about(const struct json *point, const char *action)
{
	const struct json *actions = json_get(point, "actions");

	json_each (glob, actions)
		if (json_text(glob) && text_glob(json_text(glob), action, false))
			return true;
	return !actions;
}

/* ---- what is asked ---- */

static struct json *pair_of(struct arena *a, const char *x, const char *xv, const char *y, const char *yv)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, x, xv);
	json_sets(a, o, y, yv);
	return o;
}

static struct json *named(struct arena *a, const char *name, const char *value)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, name, value);
	return o;
}

static const char *entity(struct arena *a, const char *kind, const char *id)
{
	struct buf text;

	buf_init(&text, a);
	buf_addf(&text, "%s::", kind);
	json_write(&text, json_string(a, id), 0);
	return text.p;
}

static struct json *question_for(
	struct call *c, const char *kind, const struct json *point, const struct request *r)
{
	struct arena *a = c->a;
	struct json *doc = json_new(a, JSON_OBJECT), *context = named(a, "tenant", c->who.tenant);
	const char *who = r->who.subject_id, *action = r->what.action, *tool = r->what.tool;

	json_sets(a, context, "args_sha256", json_sha256(a, r->what.params));
	if (json_get_bool(point, "params", false))
		json_set(a, context, "params", json_copy(a, r->what.params));
	if (text_eq(kind, "authzen")) {
		json_set(a, doc, "subject", pair_of(a, "type", "principal", "id", who));
		json_set(a, doc, "action", named(a, "name", action));
		json_set(a, doc, "resource", pair_of(a, "type", "tool", "id", tool));
		json_set(a, doc, "context", context);
	} else if (text_eq(kind, "cedar")) {
		json_sets(a, doc, "principal", entity(a, "Principal", who));
		json_sets(a, doc, "action", entity(a, "Action", action));
		json_sets(a, doc, "resource", entity(a, "Tool", tool));
		json_set(a, doc, "context", context);
	} else if (text_eq(kind, "helm")) {
		struct json *effect = pair_of(a, "effect_type", action, "effect_id", c->request_id);
		if (json_get(context, "params"))
			json_set(a, effect, "params", json_get(context, "params"));
		json_set(a, doc, "effect", effect);
		json_set(a, doc, "context", named(a, "tool", tool));
	} else {
		json_sets(a, doc, "principal", who);
		json_sets(a, doc, "action", action);
		json_sets(a, doc, "resource", tool);
		json_set(a, doc, "context", context);
		if (text_eq(kind, "opa")) {
			struct json *input = json_new(a, JSON_OBJECT);
			json_set(a, input, "input", doc);
			doc = input;
		}
	}
	return doc;
}

/* ---- what is answered ---- */

static struct json *light(struct arena *a, bool is_allowed, const char *code, const char *ref)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_setb(a, doc, "allow", is_allowed);
	json_sets(a, doc, "reason_code", code);
	json_sets(a, doc, "policy_ref", ref);
	json_sets(a, doc, "decision_hash", json_sha256(a, doc));
	return doc;
}

/* Only these members count, and those that must be there are, with their types; NULL: it is something else. */
static const struct json *understood(
	struct arena *a, const char *kind, const char *name, const struct json *said)
{
	const struct json *result = json_get(said, "result");

	if (!json_is(said, JSON_OBJECT))
		return NULL;
	if (text_eq(kind, "opa")) {
		/* A rule that is a truth itself, as /v1/data/app/allow, and an object with one. */
		const struct json *allow = json_is_bool(result) ? result : json_get(result, "allow"),
				  *code = json_get(result, "reason_code");
		if (!result)
			return light(a, false, "PDP_DENY", name);
		if (!json_is_bool(allow) || (code && !json_text(code)))
			return NULL;
		return light(a, json_is(allow, JSON_TRUE), code ? json_text(code) : "", name);
	}
	if (text_eq(kind, "authzen"))
		return json_is_bool(json_get(said, "decision"))
			? light(a, json_get_bool(said, "decision", false), "", name)
			: NULL;
	if (text_eq(kind, "cedar")) {
		const char *word = json_get_text(said, "decision", "");
		bool is_yes = text_eq(word, "Allow");
		return is_yes || text_eq(word, "Deny") ? light(a, is_yes, "", name) : NULL;
	}
	if (text_eq(kind, "helm")) {
		static const char *const members[] = { "allow", "reason_code", "policy_ref",
			"decision_hash" };
		struct json *doc = json_new(a, JSON_OBJECT);
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			if (json_get(said, members[i]))
				json_set(a, doc, members[i], json_get(said, members[i]));
		return doc;
	}
	return said;
}

static const char *fault_name(const struct err *e)
{
	return text_eq(e->code, "WEB_TIMEOUT")	    ? "timeout"
		: text_eq(e->code, "WEB_TOO_LARGE") ? "malformed_response"
						    : "unreachable";
}

static void ask_one(struct call *c, const struct json *point, const struct request *r, struct pdp_facts *f,
	const char **ret_hash)
{
	struct sys *s = c->server->sys;
	const char *kind = json_get_text(point, "kind", ""), *name = json_get_text(point, "name", "");
	const char *secret = json_get_text(point, "token_env", NULL);
	struct web_answer answer;
	struct json *said;
	struct buf body;
	struct err e = { 0 };

	buf_init(&body, c->a);
	json_write(&body, question_for(c, kind, point, r), 0);
	*f = (struct pdp_facts){ .asked_us = s->now_us(s),
		.deadline_us = json_get_int(point, "timeout_ms", POINT_MS) * 1000,
		.policy_version = json_get_text(point, "policy_version", NULL) };
	const struct web_ask ask = { .url = json_get_text(point, "url", "http://localhost/"),
		.socket = json_get_text(point, "socket", NULL),
		.token = secret ? s->getenv(s, secret) : NULL,
		.headers = { trace_header(c) },
		.header_count = c->trace.span_id[0] != '\0',
		.body = buf_bytes(&body),
		.timeout_ms = f->deadline_us / 1000 };
	call_wait(c);
	int rc = web_ask(c->a, &ask, &answer, &e);
	f->answered_us = s->now_us(s);
	*ret_hash = rc ? NULL : sha256_prefixed(c->a, answer.body.p, answer.body.n);
	if (rc)
		f->fault = fault_name(&e);
	else if (answer.status != 200 || json_parse(c->a, answer.body, "answer", NULL, &said, &e) ||
		!(f->answer = understood(c->a, kind, name, said)))
		f->fault = "malformed_response";
	if (f->fault)
		log_line(c->server, "warn", c, "the decision point '%s' gave no answer that counts: %s", name,
			f->fault);
}

bool points_are_asked(struct server *s)
{
	struct door_policy *p = policy_take(s);
	const struct json *points = json_get(p ? p->authority : NULL, "decision_points");
	bool are = points && points->n;

	policy_drop(s, p);
	return are;
}

const struct pdp_facts *points_ask(struct call *c, const struct request *r, struct json *about)
{
	struct json *rows = json_new(c->a, JSON_ARRAY);
	struct pdp_facts *worst = NULL;

	json_each (point, json_get(c->policy ? c->policy->authority : NULL, "decision_points")) {
		struct pdp_facts *f = arena_zalloc(c->a, 1, sizeof(*f));
		struct json *row = json_new(c->a, JSON_OBJECT);
		const char *hash;
		if (!is_about(point, r->what.action))
			continue;
		ask_one(c, point, r, f, &hash);
		json_sets(c->a, row, "name", json_get_text(point, "name", ""));
		bool is_allowed = pdp_allows(c->a, f);
		json_sets(c->a, row, "answer", f->fault ? f->fault : is_allowed ? "allow" : "no");
		if (hash)
			json_sets(c->a, row, "answer_sha256", hash);
		json_push(c->a, rows, row);
		worst = f;
		if (!is_allowed)
			break;
	}
	if (rows->n)
		json_set(c->a, about, "decision_points", rows);
	return worst;
}
