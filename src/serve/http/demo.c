/* demo.c — a boundary to try without a key: some actions under a shipped policy, each decided and on record like any other, for the tenant
 * "demo".  Offered with --demo only, because anybody who reaches the port makes entries.  Verifying a receipt is open to everybody. */
#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"
#include "proof/preimage.h"
#include "serve/http/http.h"

#include <string.h>

static int demo_policy(struct call *c, struct ruleset **ret, struct err *e)
{
	struct policy_input in = { .name = "demo-policy.json" };
	struct policy_reading reading;

	if (!embed_find("share/serve/demo-policy.json", &in.text))
		BUG("share/serve/demo-policy.json");
	int rc = policy_document_read(c->a, &in, &reading, e);
	return rc ? rc : ruleset_compile(c->a, reading.document, ret, e);
}

static char *hash_of(struct call *c, const struct json *receipt)
{
	struct hash chain;

	return receipt_chain_hash(c->a, receipt, chain.b, NULL) ? NULL : hash_hex(c->a, &chain);
}

static int run(struct call *c, struct err *e)
{
	const char *action = json_get_text(c->body, "action_id", "");
	struct json *doc = json_new(c->a, JSON_OBJECT), *refs = json_new(c->a, JSON_OBJECT);
	struct handling h = { .a = c->a };
	struct ruleset *rules;

	if (!c->server->o.is_demo)
		return call_refuse(
			c, e, 501, "NOT_OFFERED", "not offered: this boundary was started without --demo");
	if (!*action)
		return call_refuse(c, e, 400, "BAD_REQUEST", "action_id must be there");
	int rc = demo_policy(c, &rules, e);
	if (rc)
		return rc;
	c->who = (struct who){ .principal = "demo:public", .tenant = "demo" };
	rc = decide_tool(c,
		&(struct tool_question){ .tool = action,
			.session = "demo",
			.args = json_get(c->body, "args"),
			.context = call_context(c, NULL),
			.door = "demo",
			.policy = rules },
		&h, e);
	if (rc)
		return rc;
	json_sets(c->a, doc, "verdict", verdict_name(h.verdict));
	json_sets(c->a, doc, "reason_code", json_get_text(h.decision_receipt, "reason_code", ""));
	json_set(c->a, doc, "receipt", h.decision_receipt);
	json_sets(c->a, refs, "decision_id", h.decision_id);
	json_sets(c->a, refs, "receipt_id", json_get_text(h.decision_receipt, "receipt_id", ""));
	json_sets(c->a, refs, "receipt_hash", hash_of(c, h.decision_receipt));
	json_set(c->a, doc, "proof_refs", refs);
	json_sets(c->a, doc, "verification_hint",
		"POST /api/demo/verify with receipt and expected_receipt_hash");
	json_sets(c->a, doc, "sandbox_label", "nothing is executed");
	json_sets(c->a, doc, "helm_ai_kernel_version", HELM_VERSION);
	call_answer(c, 200, doc);
	return OK;
}

/* Is it signed by us, and is its hash the one that was told? */
static void check(
	struct call *c, const struct json *receipt, const char *hash, struct json *doc, bool *ret_is_signed)
{
	const char *want = json_get_text(c->body, "expected_receipt_hash", "");
	bool is_signed = hash && receipt_verifies(c, receipt), is_same = hash && text_eq(hash, want);

	json_setb(c->a, doc, "valid", is_signed && is_same);
	json_setb(c->a, doc, "signature_valid", is_signed);
	json_setb(c->a, doc, "hash_matches", is_same);
	json_sets(c->a, doc, "reason",
		!hash		     ? "this is no receipt"
			: !is_signed ? "its signature is not one of this boundary's"
			: !is_same   ? "its hash is another one"
				     : "");
	json_sets(c->a, doc, "receipt_hash", hash ? hash : "");
	json_sets(c->a, doc, "expected_receipt_hash", want);
	*ret_is_signed = is_signed;
}

/* What becomes of a receipt that somebody has changed: its own proof is asked. */
static int tamper(struct call *c, struct err *e)
{
	const struct json *receipt = json_get(c->body, "receipt");
	const char *how = json_get_text(c->body, "mutation", "flip_verdict");
	struct json *doc = json_new(c->a, JSON_OBJECT);
	const char *before = json_is(receipt, JSON_OBJECT) ? hash_of(c, receipt) : NULL;
	bool is_signed;

	if (!before)
		return call_refuse(c, e, 400, "BAD_REQUEST", "receipt is none");
	if (!text_eq(how, "flip_verdict"))
		return call_refuse(c, e, 400, "BAD_REQUEST", "the mutation is flip_verdict");
	struct json *changed = json_copy(c->a, receipt);
	json_sets(c->a, changed, "verdict",
		text_eq(json_get_text(receipt, "verdict", ""), "ALLOW") ? "DENY" : "ALLOW");
	const char *after = hash_of(c, changed);
	check(c, changed, after, doc, &is_signed);
	json_sets(c->a, doc, "original_hash", before);
	json_sets(c->a, doc, "tampered_hash", after ? after : "");
	call_answer(c, 200, doc);
	return OK;
}

static int verify(struct call *c, struct err *e)
{
	static const char *const fields[] = { "receipt_id", "decision_id", "verdict", "output_hash",
		"prev_hash", "lamport_clock", "args_hash", "policy_hash" };
	const struct json *receipt = json_get(c->body, "receipt");
	struct json *doc = json_new(c->a, JSON_OBJECT), *verified = json_new(c->a, JSON_ARRAY);
	bool is_signed;

	(void)e;
	check(c, receipt, json_is(receipt, JSON_OBJECT) ? hash_of(c, receipt) : NULL, doc, &is_signed);
	for (size_t i = 0; is_signed && i < ARRAY_SIZE(fields); i++)
		if (json_get(receipt, fields[i]))
			json_pushs(c->a, verified, fields[i]);
	json_set(c->a, doc, "verified_fields", verified);
	call_answer(c, 200, doc);
	return OK;
}

const struct route http_demo_routes[] = {
	{ "POST", "/api/demo/run", AUTH_PUBLIC, 0, RATE_PUBLIC, TAKES_JSON, run,
		"try an action under the shipped policy (--demo)", "DemoRun", "DemoResult" },
	{ "POST", "/api/demo/verify", AUTH_PUBLIC, 0, RATE_PUBLIC, TAKES_JSON, verify,
		"is this receipt one of ours, unchanged", "DemoVerify", "DemoVerified" },
	{ "POST", "/api/demo/tamper", AUTH_PUBLIC, 0, RATE_PUBLIC, TAKES_JSON, tamper,
		"what becomes of a receipt that is changed", "DemoTamper", "DemoTampered" },
	{ 0 },
};
