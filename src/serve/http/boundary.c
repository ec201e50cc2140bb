/* boundary.c — how the boundary stands: every word of it is computed now, from something that could have come out otherwise.
 *
 * A record is a decision of the chain.  A checkpoint is a signed head of its log. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "serve/http/http.h"
#include "verify/verify.h"

#include <string.h>

/* ---- status ---- */

static const char *newest_head(struct call *c, struct json **ret)
{
	struct err e = { 0 };

	*ret = NULL;
	if (log_last_head(c->server->sys, c->a, c->server->ws->state_fd, ret, &e))
		*ret = NULL;
	return *ret ? json_sha256(c->a, *ret) : NULL;
}

static int64_t waiting(struct call *c, bool *ret_is_known)
{
	struct err e = { 0 };
	struct json *doc;
	size_t pending = 0, granted = 0;

	*ret_is_known = approvals_load(c->server->sys, c->a, c->server->ws, &doc, &e) == OK;
	if (*ret_is_known)
		approvals_count(doc, c->server->sys->now_us(c->server->sys), &pending, &granted);
	return (int64_t)pending;
}

/* {name: "ready"}, or what is wrong with it, as texts: that is how clients read it. */
static void component(struct call *c, struct json *parts, const char *name, bool is_well, const char *text)
{
	json_sets(c->a, parts, name,
		is_well	       ? "ready"
			: text ? arena_printf(c->a, "degraded: %s", text)
			       : "degraded");
}

static int status(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	struct json *doc = json_new(c->a, JSON_OBJECT), *parts = json_new(c->a, JSON_OBJECT), *last, *head;
	struct err why = { 0 };
	bool has_store = log_look(s, c->a, c->server->ws->state_fd, &last, &why) == OK, has_approvals;
	if (has_store && __atomic_load_n(&c->server->is_failing, __ATOMIC_RELAXED)) {
		has_store = false;
		err_set(&why, E_IO, "RECEIPT_UNAVAILABLE",
			"the last decision could not be recorded; the log of the server says why");
	}
	bool has_signer = c->k->recorder.key != NULL;
	const char *trouble = policy_trouble(s, c->a, c->k->ws);
	const char *broken = posture_of(s, c->k->ws)->broken;
	bool has_policy = call_policy(c) != NULL && !trouble && !broken;
	int64_t open = waiting(c, &has_approvals);

	(void)e;
	component(c, parts, "receipt_store", has_store, has_store ? NULL : why.text);
	component(c, parts, "receipt_signer", has_signer, NULL);
	component(c, parts, "policy", has_policy, broken ? broken : trouble);
	component(c, parts, "approvals", has_approvals, NULL);
	bool is_ready = has_store && has_signer && has_policy && has_approvals;
	json_sets(c->a, doc, "status", is_ready ? "ready" : "degraded");
	json_sets(c->a, doc, "mode", "oss-local");
	json_sets(c->a, doc, "version", HELM_VERSION);
	json_sets(c->a, doc, "receipt_signer", has_signer ? "ready" : "unavailable");
	json_sets(c->a, doc, "receipt_store", has_store ? "ready" : "unavailable");
	if (has_policy)
		json_sets(c->a, doc, "pdp", "fail-closed");
	json_sets(c->a, doc, "evidence_verifier", "offline");
	const char *hash = newest_head(c, &head);
	if (has_store)
		json_sets(c->a, doc, "checkpoint_log", "tamper-evident");
	if (hash)
		json_sets(c->a, doc, "last_checkpoint_hash", hash);
	json_seti(c->a, doc, "open_approval_count", open);
	json_seti(c->a, doc, "quarantined_mcp_count", mcp_quarantined(c));
	json_seti(c->a, doc, "receipt_count", (int64_t)tail_length(c->server->tail));
	json_seti(c->a, doc, "queue_length", (int64_t)work_waiting(c->server));
	json_sets(c->a, doc, "updated_at", text_time_z(c->a, s->now_us(s)));
	json_set(c->a, doc, "components", parts);
	call_answer(c, 200, doc);
	return OK;
}

/* One entry for each door of the table: what is offered is what is there. */
static int capabilities(struct call *c, struct err *e)
{
	struct json *out = json_new(c->a, JSON_ARRAY);
	const struct route *r;

	(void)e;
	for (size_t i = 0; (r = route_at(i)); i++) {
		struct json *one = json_new(c->a, JSON_OBJECT), *routes = json_new(c->a, JSON_ARRAY);
		json_sets(c->a, one, "capability_id", arena_printf(c->a, "%s %s", r->method, r->path));
		json_sets(c->a, one, "category", rate_class_name(r->rate));
		json_sets(c->a, one, "status", "available");
		json_sets(c->a, one, "authority", auth_class_name(r->auth));
		json_pushs(c->a, routes, r->path);
		json_set(c->a, one, "public_routes", routes);
		json_push(c->a, out, one);
	}
	call_answer(c, 200, out);
	return OK;
}

static int meta(struct call *c, struct err *e)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *bindings = json_new(c->a, JSON_ARRAY),
		    *keys = json_new(c->a, JSON_ARRAY), *key = json_new(c->a, JSON_OBJECT);
	static const char *const known[][2] = { { "/v1/effects", "effects" },
		{ "/api/v1/evaluate", "evaluate" }, { "/v1/decide", "decide" } };
	const struct route *r;
	char hex[2 * SIGN_PUBLIC + 1];

	(void)e;
	json_sets(c->a, doc, "spec_version", "1.0.0");
	json_sets(c->a, doc, "version", HELM_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		for (size_t n = 0; (r = route_at(n)); n++)
			if (text_eq(r->path, known[i][0]))
				json_pushs(c->a, bindings, known[i][1]);
	json_set(c->a, doc, "bindings", bindings);
	json_setb(c->a, doc, "conformance_harness", c->server->o.is_conformance);
	hex_encode(key_public(c->k->recorder.key), SIGN_PUBLIC, hex);
	json_sets(c->a, key, "key_id", arena_printf(c->a, "ed25519:%s", hex));
	json_sets(c->a, key, "public_key", hex);
	json_push(c->a, keys, key);
	json_set(c->a, doc, "receipt_keys", keys);
	call_answer(c, 200, doc);
	return OK;
}

/* ---- records ---- */

static struct json *record_of(struct call *c, const struct json *receipt)
{
	struct json *o = json_new(c->a, JSON_OBJECT);
	const struct json *subject = json_get(receipt, "subject"),
			  *policy = json_get(json_get(receipt, "metadata"), "policy");

	json_sets(c->a, o, "record_id", json_get_text(receipt, "decision_id", ""));
	json_sets(c->a, o, "verdict", json_get_text(receipt, "verdict", ""));
	json_sets(c->a, o, "reason_code", json_get_text(receipt, "reason_code", ""));
	json_sets(c->a, o, "tool_name", json_get_text(receipt, "tool_name", ""));
	json_sets(c->a, o, "args_hash", json_get_text(receipt, "args_hash", ""));
	json_sets(c->a, o, "policy_epoch",
		json_get_text(subject, "policy_epoch",
			arena_printf(c->a, "%lld", (long long)json_get_int(policy, "epoch", 0))));
	json_sets(c->a, o, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	json_sets(c->a, o, "record_hash", json_get_text(receipt, "output_hash", ""));
	json_sets(c->a, o, "created_at", json_get_text(receipt, "timestamp", ""));
	return o;
}

static bool is_decision(const struct json *receipt)
{
	return text_eq(json_get_text(receipt, "type", ""), "decision");
}

struct newest {
	struct call *c;
	struct receipts_filter w;
	struct json *list;
	int64_t limit;
	int64_t length; /* of what is on disk */
	bool is_cut; /* there are more than `limit` */
};

static int add_newest(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct newest *n = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!is_decision(receipt) || json_get_int(receipt, "lamport_clock", 0) > n->length ||
		!receipts_is_wanted(&n->w, receipt))
		return 0;
	n->is_cut = (int64_t)n->list->n == n->limit;
	if (!n->is_cut)
		json_push(n->c->a, n->list, record_of(n->c, receipt));
	return n->is_cut;
}

/* The newest first; those before are found by their time (`to`).  The answer is an array, so a header says whether there are more. */
static int records(struct call *c, struct err *e)
{
	struct newest n = {
		.c = c, .list = json_new(c->a, JSON_ARRAY), .length = (int64_t)tail_length(c->server->tail)
	};
	const struct receipts_wanted all = { 0 };
	int rc = receipts_read_filter(c, &n.w, e);

	if (rc == OK)
		rc = call_query_int(c, "limit", 100, 1, 1000, &n.limit, e);
	if (rc == OK)
		rc = receipts_back(c->server->sys, c->server->ws->state_fd, &all, add_newest, &n, e);
	if (rc)
		return rc;
	call_send_header(c, "X-Has-More", n.is_cut ? "true" : "false");
	call_answer(c, 200, n.list);
	return OK;
}

static int find_record(struct call *c, struct json **ret, struct err *e)
{
	int rc = receipts_find(c, c->args[0], ret, e);

	return rc == OK && !is_decision(*ret) ? call_refuse(c, e, 404, "NOT_FOUND", "there is no such record")
					      : rc;
}

static int record(struct call *c, struct err *e)
{
	struct json *receipt;
	int rc = find_record(c, &receipt, e);

	if (rc == OK)
		call_answer(c, 200, record_of(c, receipt));
	return rc;
}

static void answer_verified(struct call *c, bool is_verified, const char *detail)
{
	struct json *doc = json_new(c->a, JSON_OBJECT);

	json_setb(c->a, doc, "verified", is_verified);
	json_sets(c->a, doc, "verdict", is_verified ? "PASS" : "FAIL");
	if (detail)
		json_sets(c->a, doc, "detail", detail);
	call_answer(c, 200, doc);
}

static int verify_record(struct call *c, struct err *e)
{
	struct json *receipt;
	int rc = find_record(c, &receipt, e);

	if (rc == OK)
		answer_verified(c, receipt_verifies(c, receipt), NULL);
	return rc;
}

/* ---- checkpoints ---- */

struct heads {
	struct call *c;
	struct json *list;
	const char *before, *want;
	struct json *found; /* the head itself */
};

static int add_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct heads *h = arg;
	struct arena *a = h->c->a;
	struct json *head, *o;

	(void)offset;
	(void)e;
	if (!is_whole || json_parse(a, text, "head", NULL, &head, NULL))
		return 0;
	int64_t size = json_get_int(head, "tree_size", 0);
	const char *id = arena_printf(a, "head-%lld-%llu", (long long)size, (unsigned long long)line);
	const char *hash = json_sha256(a, head);
	if (h->want && text_eq(h->want, id))
		h->found = head;
	o = json_new(a, JSON_OBJECT);
	json_sets(a, o, "checkpoint_id", id);
	json_seti(a, o, "sequence", (int64_t)line);
	json_sets(a, o, "previous_checkpoint_hash", h->before ? h->before : "");
	json_seti(a, o, "receipt_count", size);
	json_seti(a, o, "record_count", size);
	json_sets(a, o, "root_hash", json_get_text(head, "root_hash", ""));
	json_sets(a, o, "checkpoint_hash", hash);
	json_sets(a, o, "created_at", json_get_text(head, "timestamp", ""));
	json_push(a, h->list, o);
	h->before = hash;
	return 0;
}

static int read_heads(struct call *c, struct heads *h, struct err *e)
{
	*h = (struct heads){ .c = c, .list = json_new(c->a, JSON_ARRAY), .want = c->args[0] };
	int rc = lines_each(c->server->sys, c->server->ws->state_fd, HEADS, add_head, h, e);

	return rc == E_MISSING ? OK : rc;
}

static int checkpoints(struct call *c, struct err *e)
{
	struct heads h;
	int rc = read_heads(c, &h, e);

	if (rc == OK)
		call_answer(c, 200, h.list);
	return rc;
}

static int make_checkpoint(struct call *c, struct err *e)
{
	struct heads h;
	struct json *head;

	call_hold(c);
	int rc = log_settle(&c->k->recorder, c->a, e);
	if (rc == OK)
		rc = log_sign_head(&c->k->recorder, c->a, &head, e);
	if (rc == OK)
		rc = read_heads(c, &h, e);
	if (rc == OK)
		call_answer(c, 201, json_at(h.list, h.list->n - 1));
	return rc;
}

/* Signature by our key, and the root that the log's leaves give for that size. */
static int verify_checkpoint(struct call *c, struct err *e)
{
	struct sys *s = c->server->sys;
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct verification v;
	struct merkle_range range = { 0 };
	struct heads h;
	struct hash root;
	uint64_t leaves;
	int rc = read_heads(c, &h, e);

	if (rc == OK && !h.found)
		return call_refuse(c, e, 404, "NOT_FOUND", "there is no such checkpoint");
	if (rc == OK)
		rc = log_leaf_count(s, c->server->ws->state_fd, &leaves, e);
	if (rc)
		return rc;
	memcpy(own.key, key_public(c->k->recorder.key), KEY_SIZE);
	verification_begin(&v, c->a, &trust, "tree head");
	verify_tree_head(&v, h.found);
	if (v.integrity != ANSWER_YES || v.trusted != ANSWER_YES) {
		answer_verified(c, false, "its signature is not of the key in force");
		return OK;
	}
	range.n = (uint64_t)json_get_int(h.found, "tree_size", 0);
	if (range.n > leaves) {
		answer_verified(c, false, "the log is shorter than it says");
		return OK;
	}
	rc = log_roots(s, c->server->ws->state_fd, &range, 1, &root, e);
	if (rc)
		return rc;
	bool is_same = text_eq(hash_hex(c->a, &root), json_get_text(h.found, "root_hash", ""));
	answer_verified(c, is_same, is_same ? NULL : "the log has another root at that size");
	return OK;
}

const struct route http_boundary_routes[] = {
	{ "GET", "/api/v1/boundary/status", AUTH_TENANT, SCOPE_READ, RATE_KERNEL, 0, status,
		"how the boundary stands", NULL, "BoundaryStatus" },
	{ "GET", "/api/v1/boundary/capabilities", AUTH_TENANT, SCOPE_READ, RATE_KERNEL, 0, capabilities,
		"what is offered", NULL, "[]BoundaryCapability" },
	{ "GET", "/v1/meta/capabilities", AUTH_PUBLIC, 0, RATE_PUBLIC, 0, meta,
		"versions, bindings and keys of receipts", NULL, "MetaCapabilities" },
	{ "GET", "/api/v1/boundary/records", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, records, "decisions",
		NULL, "[]BoundaryRecord" },
	{ "GET", "/api/v1/boundary/records/{id}", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, 0, record,
		"one decision", NULL, "BoundaryRecord" },
	{ "POST", "/api/v1/boundary/records/{id}/verify", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE,
		TAKES_JSON | BODY_OPTIONAL, verify_record, "is it as it was signed", NULL, "Verified" },
	{ "GET", "/api/v1/boundary/checkpoints", AUTH_ADMIN, SCOPE_ADMIN, RATE_EVIDENCE, 0, checkpoints,
		"signed heads of the log", NULL, "[]BoundaryCheckpoint" },
	{ "POST", "/api/v1/boundary/checkpoints", AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN,
		TAKES_JSON | BODY_OPTIONAL, make_checkpoint, "sign a head now", NULL, "BoundaryCheckpoint" },
	{ "POST", "/api/v1/boundary/checkpoints/{id}/verify", AUTH_ADMIN, SCOPE_ADMIN, RATE_EVIDENCE,
		TAKES_JSON | BODY_OPTIONAL, verify_checkpoint, "does the log still have this root", NULL,
		"Verified" },
	{ 0 },
};
