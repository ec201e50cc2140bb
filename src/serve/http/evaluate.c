/* evaluate.c — may this call of a tool be made?  The decision is signed and on disk before the answer leaves.
 *
 * Both spellings of the request are one: tool, effect_level, session_id; or action, resource, context.session_id.  Who asks, for which
 * tenant and in which workspace is what the key says: those names in the caller's context are replaced. */
#include "base/text.h"
#include "clients/clients.h"
#include "propose/propose.h"
#include "serve/http/http.h"

#include <string.h>

/* The caller's word and ours, or an error when two spellings differ. */
static int either(
	struct call *c, const char *name, const char *x, const char *y, const char **ret, struct err *e)
{
	if (x && y && !text_eq(x, y))
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s is there twice, and differs", name);
	*ret = x ? x : y;
	return OK;
}

static bool is_session(const char *s)
{
	size_t n = strlen(s);

	return n && n <= 200 &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@=+~-") == n &&
		!text_eq(s, ".") && !text_eq(s, "..");
}

struct asked {
	const char *tool, *level, *session;
	const struct json *args;
	struct json *context;
};

/* A text with a NUL in it must not make the other spelling count. */
static int refuse_unclear(struct call *c, const struct json *from, struct err *e)
{
	static const char *const names[] = { "tool", "action", "effect_level", "resource", "session_id" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(from, names[i]);
		if (json_is(v, JSON_STRING) && !json_text(v))
			return call_refuse(c, e, 400, "BAD_REQUEST", "%s holds a NUL character", names[i]);
	}
	return OK;
}

static int read_asked(struct call *c, struct asked *ret, struct err *e)
{
	const struct json *b = c->body, *context = json_get(b, "context");
	int rc = refuse_unclear(c, b, e);

	if (rc == OK)
		rc = refuse_unclear(c, context, e);
	if (rc)
		return rc;
	rc = either(
		c, "tool", json_get_text(b, "tool", NULL), json_get_text(b, "action", NULL), &ret->tool, e);

	if (rc == OK)
		rc = either(c, "effect_level", json_get_text(b, "effect_level", NULL),
			json_get_text(b, "resource", NULL), &ret->level, e);
	if (rc == OK)
		rc = either(c, "session_id", json_get_text(b, "session_id", NULL),
			json_get_text(context, "session_id", NULL), &ret->session, e);
	if (rc)
		return rc;
	if (!ret->tool || !*ret->tool || !ret->level || !*ret->level)
		return call_refuse(c, e, 400, "BAD_REQUEST", "%s must be there",
			!ret->tool || !*ret->tool ? "tool" : "effect_level");
	if (!ret->session)
		ret->session = "default";
	if (!is_session(ret->session))
		return call_refuse(c, e, 400, "BAD_REQUEST",
			"session_id is made of letters, digits and . _ : @ = + ~ -");
	ret->args = json_get(b, "args") ? json_get(b, "args") : json_get(context, "args");
	ret->context = call_context(c, context);
	json_sets(c->a, ret->context, "session_id", ret->session);
	json_sets(c->a, ret->context, "effect_level", ret->level);
	if (ret->args)
		json_set(c->a, ret->context, "args", json_copy(c->a, ret->args));
	return OK;
}

static void tell(struct call *c, const struct handling *h, void *arg)
{
	const struct asked *q = arg;
	struct json *doc = decision_json(c, h);
	const struct json *receipt = h->decision_receipt, *record = json_get(receipt, "subject");

	json_sets(c->a, doc, "id", h->decision_id);
	json_sets(c->a, doc, "action", q->tool);
	json_sets(c->a, doc, "resource", q->level);
	json_sets(c->a, doc, "policy_version", json_get_text(record, "policy_version", ""));
	json_sets(c->a, doc, "policy_decision_hash", json_get_text(receipt, "output_hash", ""));
	json_sets(c->a, doc, "signature", json_get_text(receipt, "signature", ""));
	call_answer(c, 200, doc);
}

static int evaluate(struct call *c, struct err *e)
{
	struct asked *q = arena_zalloc(c->a, 1, sizeof(*q));
	int rc = read_asked(c, q, e);

	return rc ? rc
		  : decide_tool_then(c,
			    &(struct tool_question){ .tool = q->tool,
				    .session = q->session,
				    .args = q->args,
				    .context = q->context },
			    tell, q, e);
}

const struct route http_evaluate_routes[] = {
	{ "POST", "/api/v1/evaluate", AUTH_TENANT, SCOPE_EVALUATE, RATE_KERNEL,
		TAKES_JSON | IS_ONCE | ASKS_ONLY, evaluate, "decide about a call of a tool",
		"EvaluateRequest", "EvaluateResponse" },
	{ 0 },
};
