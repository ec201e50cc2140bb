/* v1.c — see v1.h.
 *
 * Rules about receipts are published as sentences; each is found by the words it begins with and checked over every receipt of the run.  A
 * sentence nobody knows is not supported, never passed. */
#include "audit/conform/v1.h"

#include "base/hash.h"
#include "verify/verify.h"

#include <string.h>

void v1_keep_receipt(
	struct v1_run *run, const struct json *receipt, const struct json *effect, const char *principal)
{
	if (run->n == run->room) {
		size_t room = run->room ? run->room * 2 : 64;
		run->items = arena_grow(
			run->a, run->items, run->room * sizeof(*run->items), room * sizeof(*run->items));
		run->room = room;
	}
	run->items[run->n++] = (struct v1_receipt){ .receipt = receipt ? json_copy(run->a, receipt) : NULL,
		.effect_id = arena_strdup(run->a, json_get_text(effect, "effect_id", "")),
		.principal = arena_strdup(run->a, principal) };
}

/* ---- invariants ---- */

struct looking {
	struct world *w;
	const struct v1_run *run;
	const struct json *r; /* the receipt at hand */
	const struct v1_receipt *asked;
	size_t i;
};

static const char *text_of(const struct looking *l, const char *name)
{
	return json_get_text(l->r, name, "");
}

static const struct json *before(const struct looking *l)
{
	return l->i ? l->run->items[l->i - 1].receipt : NULL;
}

static bool id_is_unique(const struct looking *l)
{
	for (size_t i = 0; i < l->i; i++)
		if (text_eq(json_get_text(l->run->items[i].receipt, "receipt_id", ""),
			    text_of(l, "receipt_id")))
			return false;
	return text_of(l, "receipt_id")[0] != '\0';
}

static bool verdict_is_one(const struct looking *l)
{
	const char *v = text_of(l, "verdict");

	return text_eq(v, "ALLOW") || text_eq(v, "DENY") || text_eq(v, "ESCALATE");
}

static bool time_of(const struct json *r, int64_t *ret)
{
	const char *t = json_get_text(r, "timestamp", "");

	return text_parse_time(t, strlen(t), ret);
}

static bool time_rises(const struct looking *l)
{
	int64_t now = 0, then = 0;

	return time_of(l->r, &now) && (!before(l) || (time_of(before(l), &then) && then <= now));
}

static bool time_is_rfc3339(const struct looking *l)
{
	int64_t now;

	return time_of(l->r, &now) && strchr(text_of(l, "timestamp"), 'T');
}

static bool signature_verifies(const struct looking *l)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct trusted_key key = { .id = "" };
	struct trust trust = { .keys = &key, .key_count = 1, .threads = 1 };
	struct verification v;

	memcpy(key.key, key_public(l->w->key), KEY_SIZE);
	verification_begin(&v, &a, &trust, "receipt");
	verify_receipt(&v, l->r);
	return verification_headline(&v) == HEADLINE_ADMISSIBLE;
}

static bool payload_is_hashed(const struct looking *l)
{
	const char *h = text_of(l, "args_hash");
	uint8_t raw[SHA256_SIZE];

	return text_starts(h, "sha256:") && hex_decode(h + 7, strlen(h + 7), raw, sizeof(raw), true);
}

static bool code_is_registered(const struct looking *l)
{
	const char *code = text_of(l, "reason_code");

	return text_eq(text_of(l, "verdict"), "ALLOW") ? !code[0] : reason_find(code) != NULL;
}

static bool clock_rises(const struct looking *l)
{
	int64_t clock = json_get_int(l->r, "lamport_clock", 0);

	return clock > 0 && (!before(l) || clock > json_get_int(before(l), "lamport_clock", INT64_MAX));
}

static bool effect_matches(const struct looking *l)
{
	return text_eq(text_of(l, "effect_id"), l->asked->effect_id);
}

static bool principal_matches(const struct looking *l)
{
	return text_eq(text_of(l, "executor_id"), l->asked->principal);
}

static bool is_there(const struct looking *l)
{
	return l->r != NULL;
}

static const struct {
	const char *begins;
	bool (*holds)(const struct looking *l);
} invariants[] = {
	{ "receipt.receipt_id is non-empty and unique", id_is_unique },
	{ "receipt.verdict is one of", verdict_is_one },
	{ "receipt.timestamp is monotonically", time_rises },
	{ "receipt.timestamp is ISO 8601", time_is_rfc3339 },
	{ "receipt.signature is a valid", signature_verifies },
	{ "receipt.payload_hash is SHA-256", payload_is_hashed },
	{ "receipt.reason_code is null for ALLOW", code_is_registered },
	{ "receipt.lamport is a positive integer", clock_rises },
	{ "receipt.effect_id matches", effect_matches },
	{ "receipt.principal matches", principal_matches },
	{ "receipt must be produced even for DENY", is_there },
};

static enum conform_outcome check_invariant(struct world *w, const char *rule, const struct v1_run *run)
{
	struct looking l = { .w = w, .run = run };

	for (size_t k = 0; k < ARRAY_SIZE(invariants); k++) {
		if (!text_starts(rule, invariants[k].begins))
			continue;
		for (l.i = 0; l.i < run->n; l.i++) {
			l.asked = &run->items[l.i];
			l.r = l.asked->receipt;
			if (!invariants[k].holds(&l))
				return CONFORM_FAILED;
		}
		return run->n ? CONFORM_PASSED : CONFORM_FAILED;
	}
	return CONFORM_NOT_SUPPORTED;
}

void v1_invariants(
	struct world *w, struct conform_tally *t, const struct json *rules, const struct v1_run *run)
{
	json_each (rule, rules) {
		const char *text = json_text(rule);
		enum conform_outcome o = text ? check_invariant(w, text, run) : CONFORM_FAILED;
		conform_count(t, "receipt_invariants", o, text ? text : "?", rule, json_bool(t->a, false));
	}
}

/* ---- chains ---- */

/* "node-2-hash" stands for the hash of the third node. */
static const char *parent_hash(const struct json *word, const char *const *hashes, size_t n)
{
	const char *text = json_text(word);
	size_t i = 0;

	if (!text || !text_starts(text, "node-") || !text_ends(text, "-hash"))
		return NULL;
	for (const char *p = text + strlen("node-"); *p >= '0' && *p <= '9' && i < n; p++)
		i = i * 10 + (size_t)(*p - '0');
	return i < n ? hashes[i] : NULL;
}

/* A node as the graph has it; its hash is over everything else. */
static struct json *make_node(struct arena *a, const struct json *n, const char **hashes, size_t at)
{
	struct json *node = json_new(a, JSON_OBJECT), *parents = json_new(a, JSON_ARRAY), *payload = NULL;
	const char *text = json_get_text(n, "payload", "");

	json_each (p, json_get(n, "parents")) {
		const char *hash = parent_hash(p, hashes, at);
		if (!hash)
			return NULL;
		json_pushs(a, parents, hash);
	}
	if (json_parse(a, bytes_of(text), "payload", NULL, &payload, NULL))
		return NULL;
	json_sets(a, node, "kind", json_get_text(n, "kind", ""));
	json_seti(a, node, "lamport", json_get_int(n, "lamport", 0));
	json_set(a, node, "parents", parents->n ? parents : json_new(a, JSON_NULL));
	json_set(a, node, "payload", payload);
	json_sets(a, node, "principal", "conform");
	json_seti(a, node, "principal_seq", (int64_t)at + 1);
	json_sets(a, node, "sig", "");
	hashes[at] = json_sha256(a, node) + strlen("sha256:");
	json_sets(a, node, "node_hash", hashes[at]);
	return node;
}

static bool is_sound(struct arena *a, const struct json *nodes)
{
	struct trust trust = { .threads = 1 };
	struct verification v;

	verification_begin(&v, a, &trust, "graph");
	verify_proofgraph(&v, nodes);
	return !v.error && v.integrity == ANSWER_YES && v.complete != ANSWER_NO;
}

static bool is_parent(const struct json *nodes, const char *hash)
{
	json_each (n, nodes)
		json_each (p, json_get(n, "parents"))
			if (text_eq(p->text, hash))
				return true;
	return false;
}

/* Sound as it is; and without any node that another one names, or with any clock turned back, it is not. */
static bool chain_holds(struct arena *a, const struct json *fixture)
{
	const struct json *given = json_get(fixture, "nodes");
	struct json *nodes = json_new(a, JSON_ARRAY);
	const char **hashes = arena_zalloc(a, json_is(given, JSON_ARRAY) ? given->n + 1 : 1, sizeof(*hashes));
	int64_t last = 0;

	json_each (n, given) {
		struct json *node = make_node(a, n, hashes, nodes->n);
		if (!node || json_get_int(node, "lamport", 0) <= last)
			return false;
		last = json_get_int(node, "lamport", 0);
		json_push(a, nodes, node);
	}
	if (nodes->n == 0 || !is_sound(a, nodes))
		return false;
	for (uint32_t i = 0; i < nodes->n; i++) {
		struct json *without = json_new(a, JSON_ARRAY);
		for (uint32_t k = 0; k < nodes->n; k++)
			if (k != i)
				json_push(a, without, nodes->items[k]);
		if (is_parent(nodes, hashes[i]) && is_sound(a, without))
			return false;
	}
	return true;
}

/* ---- other fixtures ---- */

static bool is_hex_digest(const char *text)
{
	uint8_t raw[SHA256_SIZE];

	return hex_decode(text, strlen(text), raw, sizeof(raw), true);
}

/* Shape only: the digests in it are placeholders. */
static bool golden_holds(struct arena *a, const struct json *fixture)
{
	const struct json *r = json_get(fixture, "receipt");
	const char *verdict = json_get_text(r, "verdict", ""), *code = json_get_text(r, "reason_code", NULL);
	const struct reason *reason = code ? reason_find(code) : NULL;
	int64_t at;

	(void)a;
	if (!time_of(r, &at) || json_get_int(r, "lamport", 0) <= 0 ||
		!is_hex_digest(json_get_text(r, "receipt_id", "")) ||
		!is_hex_digest(json_get_text(r, "payload_hash", "")))
		return false;
	if (text_eq(verdict, "ALLOW"))
		return json_is(json_get(r, "reason_code"), JSON_NULL);
	if (text_eq(verdict, "DENY"))
		return reason && reason->verdicts & (REASON_DENIES | REASON_ALSO_DENIES);
	return text_eq(verdict, "ESCALATE") && reason &&
		reason->verdicts & (REASON_ESCALATES | REASON_ALSO_ESCALATES);
}

static bool evidence_holds(struct arena *a, const struct json *fixture)
{
	const struct json *sample = json_get(fixture, "sample"),
			  *needed = json_get(fixture, "required_fields");
	int64_t at;
	const char *made = json_get_text(sample, "created_at", "");

	(void)a;
	json_each (name, needed)
		if (!json_text(name) || !json_get(sample, name->text))
			return false;
	return json_is(needed, JSON_ARRAY) && needed->n > 0 && text_parse_time(made, strlen(made), &at) &&
		json_is(json_get(sample, "receipts"), JSON_ARRAY) &&
		json_is(json_get(sample, "decisions"), JSON_ARRAY);
}

static void check_fixture(struct conform_tally *t, const char *family, const struct json *fixture,
	bool (*holds)(struct arena *a, const struct json *fixture))
{
	AUTO(arena_done) struct arena a = { 0 };
	bool is_met = holds(&a, fixture);

	conform_count(t, family, is_met ? CONFORM_PASSED : CONFORM_FAILED, json_get_text(fixture, "id", "?"),
		fixture, json_bool(&a, is_met));
}

void v1_fixtures(struct conform_tally *t, const struct json *doc)
{
	json_each (f, json_get(doc, "hash_chain_vectors"))
		check_fixture(t, "hash_chain_vectors", f, chain_holds);
	json_each (f, json_get(doc, "golden_receipts"))
		check_fixture(t, "golden_receipts", f, golden_holds);
	if (json_get(doc, "evidence_bundle_fixture"))
		check_fixture(t, "evidence_bundle_fixture", json_get(doc, "evidence_bundle_fixture"),
			evidence_holds);
}

/* ---- a session played back ---- */

enum { LONGEST_SESSION = 1000 };

struct played {
	struct arena *a;
	struct trust trust;
	struct trusted_key key;
	struct hash last; /* chain hash of the receipt before */
	int64_t count, lamport;
	int64_t tampered; /* index of a receipt that is changed on its way; -1: none */
	int64_t failed_at; /* -1: nothing failed */
	const char *why; /* hash_mismatch, or else the verifier's own word for it; NULL: nothing failed */
	bool is_compared; /* what failed, with the hash that was recorded of it */
};

/* The verdict turned round, as somebody would who wants to have been allowed. */
static struct bytes tamper(struct arena *a, struct bytes line)
{
	char *copy = arena_strndup(a, (const char *)line.p, line.n);
	char *at = strstr(copy, "\"verdict\":\"");

	if (at)
		at[strlen("\"verdict\":\"")] ^= 1;
	return (struct bytes){ (const uint8_t *)copy, line.n };
}

/* What was recorded of a receipt's hash is not what its bytes give. */
static void compare_hash(struct played *p, const struct hash *recorded)
{
	if (memcmp(p->last.b, recorded->b, sizeof(p->last.b)) != 0)
		p->why = "hash_mismatch";
}

/* The receipt after one that failed says which hash that one had. */
static int play(void *arg, const char *file, uint64_t number, struct bytes line, const struct json *receipt,
	struct err *e)
{
	struct played *p = arg;
	struct verification v;
	struct json *read = NULL;
	struct hash chain = { 0 }, before = { 0 };
	const char *prev = json_get_text(receipt, "prev_hash", "");

	(void)file, (void)number, (void)e;
	bool has_before = hex_decode(prev, strlen(prev), before.b, sizeof(before.b), true);
	if (p->failed_at >= 0) {
		compare_hash(p, &before);
		p->is_compared = true;
		return 1;
	}
	if (p->count == p->tampered)
		line = tamper(p->a, line);
	verification_begin(&v, p->a, &p->trust, "receipt");
	if (!verify_receipt_line(&v, line, "session", &read, &chain) || !read)
		p->why = v.error ? v.error : "unreadable";
	else if (p->count ? !has_before || memcmp(before.b, p->last.b, sizeof(before.b)) != 0 : *prev != '\0')
		p->why = "chain_broken";
	p->last = chain;
	if (p->why) {
		p->failed_at = p->count;
		return read ? 0 : 1;
	}
	p->lamport = json_get_int(read, "lamport_clock", 0);
	p->count++;
	return 0;
}

static int play_back(struct world *w, struct arena *a, int64_t tampered, struct played *ret, struct err *e)
{
	*ret = (struct played){ .a = a,
		.trust = { .key_count = 1, .threads = 1 },
		.key = { .id = "" },
		.tampered = tampered,
		.failed_at = -1 };
	memcpy(ret->key.key, key_public(w->key), KEY_SIZE);
	ret->trust.keys = &ret->key;
	return receipts_each(w->sys, w->dir_fd, play, ret, e);
}

static int record_session(struct world *w, struct arena *a, int64_t n, struct err *e)
{
	static const char text[] = "{\"input\":{\"principal\":\"agent:conform\",\"context\":{}}}";
	struct json *vector, *effect = json_new(a, JSON_OBJECT);
	struct scene s;
	struct outcome x;
	int rc = json_parse(a, bytes_of(text), "session", NULL, &vector, e);

	if (rc || (rc = scene_begin(&s, w, a, vector, e)))
		return rc;
	json_sets(a, effect, "effect_type", "noop");
	json_set(a, effect, "params", json_new(a, JSON_OBJECT));
	for (int64_t i = 0; i < n && !rc; i++) {
		json_set(a, effect, "effect_id", json_stringf(a, "eff-%lld", (long long)i));
		rc = scene_ask(&s, effect, &x, e);
	}
	scene_done(&s);
	return rc;
}

static int replay_session(
	struct world *w, struct arena *a, const struct json *input, struct json *got, struct err *e)
{
	int64_t tampered = json_get_int(input, "tampered_receipt_index", -1);
	int64_t n = json_get_int(input, "expected_receipts", tampered + 3);
	struct played p;

	if (n < 1 || n > LONGEST_SESSION || tampered >= n)
		return err_set(e, E_INPUT, "CONFORM_CASE", "a session has 1 to %d receipts", LONGEST_SESSION);
	if (record_session(w, a, n, e) || play_back(w, a, tampered, &p, e))
		return e->rc;
	if (p.failed_at == n - 1 && !p.is_compared)
		compare_hash(&p, &w->recorder.at.last);
	json_setb(a, got, "proofgraph_hash_matches",
		p.failed_at < 0 && memcmp(p.last.b, w->recorder.at.last.b, sizeof(p.last.b)) == 0);
	json_seti(a, got, "receipt_count", p.count);
	json_seti(a, got, "lamport_final", p.lamport);
	json_setb(a, got, "replay_fails", p.failed_at >= 0);
	json_sets(a, got, "failure_reason", p.why);
	json_seti(a, got, "failure_at_receipt", p.failed_at);
	return OK;
}

int v1_replay(struct world *w, struct arena *a, const struct json *vector, struct json *got, struct err *e)
{
	AUTO(world_close) struct world own = { 0 };
	const struct json *input = json_get(vector, "input");

	if (world_open(&own, w->sys, "share/policies/default.json", e))
		return e->rc;
	return replay_session(&own, a, input, got, e);
}
