/* records.c — handlers of the record families: receipts, decisions, intents and what else is signed alone.
 *
 * A case holds a record and the keys its verifier is given.  Records without version tag are allowed here,
 * since cases about them ask whether they are recognised as legacy. */
#include "audit/conform/conform.h"

#include "base/hash.h"
#include "proof/mldsa.h"
#include "proof/preimage.h"
#include "verify/verify.h"

#include <string.h>

enum { MAX_KEYS = 8 };

struct asked {
	struct trust trust;
	struct trusted_key keys[MAX_KEYS];
	struct verification v;
};

/* A text that is no key adds none; the case then fails to verify, as it should. */
static void add_key(struct asked *q, const char *text)
{
	struct trusted_key *k = &q->keys[q->trust.key_count];

	if (text && q->trust.key_count < MAX_KEYS && trust_parse_key(text, k->key)) {
		k->id = "";
		q->trust.key_count++;
	}
}

/* The keys a case gives to its verifier, under the names cases use. */
static void begin(struct asked *q, struct conform_case *c, const char *kind)
{
	static const char *const names[] = { "public_key", "trusted_public_key", "issuer_public_key" };

	*q = (struct asked){ .trust = { .allow_legacy = true, .threads = 1 } };
	q->trust.keys = q->keys;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_key(q, json_get_text(c->doc, names[i], NULL));
	json_each (key, json_get(c->doc, "trusted_public_keys"))
		add_key(q, json_text(key));
	verification_begin(&q->v, c->a, &q->trust, kind);
}

/* Unchanged, and signed by a key of the case. */
static bool is_accepted(const struct asked *q)
{
	return verification_headline(&q->v) == HEADLINE_ADMISSIBLE;
}

/* For documents that nobody signs: unchanged is all there is to say. */
static bool is_sound(const struct asked *q)
{
	return !q->v.error && q->v.integrity == ANSWER_YES;
}

/* The result, the name of the first failure, and everything that was recomputed. */
static int answer_as(struct conform_case *c, const struct asked *q, bool accepted)
{
	json_each_member (m, q->v.values)
		json_set(c->a, c->got, m->name, m->value);
	conform_result(c, accepted);
	if (q->v.error)
		json_sets(c->a, c->got, "error", q->v.error);
	return OK;
}

static int answer(struct conform_case *c, const struct asked *q)
{
	return answer_as(c, q, is_accepted(q));
}

/* A case without its record cannot be run, which counts as failed. */
static int missing(struct conform_case *c, const char *member, struct err *e)
{
	return err_set(e, E_INPUT, "CONFORM_CASE", "case '%s' has no member '%s'", c->id, member);
}

/* One tagged receipt under the given keys. */
int conform_receipt_v5(struct conform_case *c, struct err *e)
{
	struct asked q;

	if (!json_get(c->doc, "receipt"))
		return missing(c, "receipt", e);
	begin(&q, c, "receipt");
	verify_receipt(&q.v, json_get(c->doc, "receipt"));
	return answer(c, &q);
}

static const char *const status_names[] = { "pass", "fail", "not_applicable" };
TABLE_COVERS(status_names, CHECK_STATUSES);

/* A bundle; the answer also holds the state of each of the six checks. */
int conform_receipt_chain(struct conform_case *c, struct err *e)
{
	struct json *checks = json_new(c->a, JSON_OBJECT);
	struct asked q;

	if (!json_get(c->doc, "receipts"))
		return missing(c, "receipts", e);
	begin(&q, c, "receipt bundle");
	verify_receipts(&q.v, json_get(c->doc, "receipts"), json_get(c->doc, "permits"));
	(void)answer(c, &q);
	for (size_t i = 0; i < q.v.check_count; i++)
		json_sets(c->a, checks, q.v.checks[i].name, status_names[q.v.checks[i].status]);
	json_set(c->a, c->got, "checks", checks);
	json_setb(c->a, c->got, "valid", is_accepted(&q));
	return OK;
}

/* Raw receipt text; the key is in the case's note. */
int conform_receipt_strict(struct conform_case *c, struct err *e)
{
	static const char before[] = "public key ";
	const char *key = strstr(c->note, before);
	struct asked q;

	if (!key)
		return err_set(e, E_INPUT, "CONFORM_CASE", "case '%s' names no public key", c->id);
	begin(&q, c, "receipt");
	q.trust.key_count = 0;
	add_key(&q, arena_strndup(c->a, key + strlen(before), 64));
	verify_receipt_text(&q.v, c->text, c->id);
	return answer(c, &q);
}

/* Two untagged receipts with one signature: both verify, over the same text. */
static int ambiguous_case(struct conform_case *c, const struct json *receipts)
{
	const struct json *text = NULL;
	bool same = receipts->n > 0;
	struct asked q;

	json_each (receipt, receipts) {
		begin(&q, c, "receipt");
		verify_receipt(&q.v, receipt);
		const struct json *this_text = json_get(q.v.values, "preimage_text");
		same = same && is_accepted(&q) && q.v.is_legacy && (!text || json_eq(text, this_text));
		text = this_text;
	}
	json_sets(c->a, c->got, "result", same ? "accept-both-as-legacy" : "reject");
	if (text)
		json_set(c->a, c->got, "preimage_text", (struct json *)text);
	return OK;
}

/* The answer also says which of the old preimages verified. */
int conform_receipt_legacy(struct conform_case *c, struct err *e)
{
	struct asked q;

	if (json_is(json_get(c->doc, "receipts"), JSON_ARRAY))
		return ambiguous_case(c, json_get(c->doc, "receipts"));
	if (!json_get(c->doc, "receipt"))
		return missing(c, "receipt", e);
	begin(&q, c, "receipt");
	verify_receipt(&q.v, json_get(c->doc, "receipt"));
	(void)answer(c, &q);
	json_setb(c->a, c->got, "legacy", q.v.is_legacy);
	json_sets(c->a, c->got, "preimage", json_get_text(q.v.values, "preimage_version", ""));
	return OK;
}

/* Families whose case holds one record and a key. */
static int one_record(struct conform_case *c, const char *member, const char *kind,
	void (*verify)(struct verification *, const struct json *), struct err *e)
{
	struct asked q;

	if (!json_get(c->doc, member))
		return missing(c, member, e);
	begin(&q, c, kind);
	verify(&q.v, json_get(c->doc, member));
	return answer(c, &q);
}

int conform_decision(struct conform_case *c, struct err *e)
{
	return one_record(c, "decision", "decision record", verify_decision, e);
}

int conform_intent(struct conform_case *c, struct err *e)
{
	return one_record(c, "intent", "execution intent", verify_intent, e);
}

int conform_counterfactual(struct conform_case *c, struct err *e)
{
	return one_record(c, "receipt", "counterfactual receipt", verify_counterfactual, e);
}

/* Asked twice: integrity under the key the receipt names, then trust with the same key brought by the
 * caller. */
int conform_workstation(struct conform_case *c, struct err *e)
{
	const struct json *receipt = json_get(c->doc, "receipt");
	struct asked q;

	if (!receipt)
		return missing(c, "receipt", e);
	begin(&q, c, "workstation receipt");
	verify_workstation(&q.v, receipt);
	(void)answer_as(c, &q, is_sound(&q));
	json_setb(c->a, c->got, "integrity", is_sound(&q));
	add_key(&q, json_get_text(receipt, "signer_key_id", NULL));
	verification_begin(&q.v, c->a, &q.trust, "workstation receipt");
	verify_workstation(&q.v, receipt);
	if (is_accepted(&q))
		json_sets(c->a, c->got, "trusted_with", q.v.signer);
	return OK;
}

/* "verified" asks for soundness only; the result asks for trust. */
int conform_external_decision(struct conform_case *c, struct err *e)
{
	struct asked q;

	if (!json_get(c->doc, "document"))
		return missing(c, "document", e);
	begin(&q, c, "external decision receipts");
	verify_external_decisions(&q.v, json_get(c->doc, "document"));
	(void)answer(c, &q);
	json_setb(c->a, c->got, "verified", is_sound(&q));
	return OK;
}

int conform_host_evidence(struct conform_case *c, struct err *e)
{
	struct asked q;

	if (!json_get(c->doc, "chain"))
		return missing(c, "chain", e);
	begin(&q, c, "host evidence");
	verify_host_evidence(&q.v, json_get(c->doc, "chain"));
	(void)answer(c, &q);
	json_setb(c->a, c->got, "verified", is_accepted(&q));
	return OK;
}

/* Published cases put signature and profile beside the receipt; the others hold a whole receipt. */
static const struct json *hybrid_receipt(struct conform_case *c, const struct json *vector)
{
	struct json *receipt = json_copy(c->a, json_get(c->doc, "receipt"));
	bool is_hybrid = text_eq(json_get_text(vector, "profile", ""), "hybrid");

	json_sets(c->a, receipt, "signature", json_get_text(vector, "signature", ""));
	json_sets(c->a, receipt, "signature_profile", json_get_text(vector, "profile", ""));
	json_sets(c->a, receipt, "signature_algorithm", is_hybrid ? "Hybrid-Ed25519-MLDSA65" : "ed25519");
	return receipt;
}

/* The two halves of the key stand beside each other in the case; without the second one the key is a
 * classical key. */
int conform_hybrid(struct conform_case *c, struct err *e)
{
	const struct json *vector = json_get(c->doc, "vector"), *receipt = json_get(c->doc, "receipt");
	const char *ml = json_get_text(c->doc, "mldsa65_public_key", "");
	uint8_t *post_quantum = arena_alloc(c->a, MLDSA_PUBLIC);
	struct asked q;

	if (!json_is(receipt, JSON_OBJECT))
		return missing(c, "receipt", e);
	begin(&q, c, "receipt");
	add_key(&q, json_get_text(c->doc, "ed25519_public_key", NULL));
	if (q.trust.key_count && hex_decode(ml, strlen(ml), post_quantum, MLDSA_PUBLIC, false))
		q.keys[0].post_quantum = post_quantum;
	if (vector)
		receipt = hybrid_receipt(c, vector);
	verify_receipt(&q.v, receipt);
	(void)answer(c, &q);
	json_setb(c->a, c->got, "expect_valid", is_accepted(&q));
	json_sets(c->a, c->got, "profile", json_get_text(receipt, "signature_profile", "classical"));
	return OK;
}

/* A record beside the receipt that seals itself: found by the members it has, since its name differs from
 * case to case. */
static const struct json *companion(const struct json *doc, const char *hash_member)
{
	json_each_member (m, doc) {
		if (json_get(m->value, hash_member))
			return m->value;
	}
	return NULL;
}

/* With a declared hash the question is whether it is right; without one the hash itself is the answer. */
static int launch_value(struct conform_case *c, struct asked *q, const struct json *value)
{
	const char *declared = json_get_text(c->doc, "declared_hash", NULL);

	verify_launch_artifact(&q->v, value, declared);
	(void)answer_as(c, q, !q->v.error);
	if (!q->v.error && !declared)
		json_sets(c->a, c->got, "result", "value");
	return OK;
}

/* A receipt, a value to hash, or a record beside a receipt: told from the members of the case. */
int conform_launch(struct conform_case *c, struct err *e)
{
	const struct json *doc = c->doc, *record;
	struct asked q;

	begin(&q, c, "launch effect receipt");
	if (json_get(doc, "receipt")) {
		verify_launch_receipt(&q.v, json_get(doc, "receipt"), json_get(doc, "authority_binding"),
			json_get(doc, "evidence_dag"));
		return answer(c, &q);
	}
	if (json_get(doc, "artifact") || json_get(doc, "value") || json_get(doc, "input"))
		return launch_value(c, &q,
			json_get(doc, "artifact")	 ? json_get(doc, "artifact")
				: json_get(doc, "value") ? json_get(doc, "value")
							 : json_get(doc, "input"));
	if ((record = companion(doc, "kernel_verdict_signature")))
		verify_launch_companion(&q.v, record, "kernel_verdict_hash", "kernel_verdict_signature");
	else if ((record = companion(doc, "record_hash")))
		verify_launch_companion(&q.v, record, "record_hash", "signature");
	else
		return missing(c, "receipt", e);
	return answer(c, &q);
}

/* Wire documents are judged by shape; the others ask for canonical bytes. */
int conform_extauthz(struct conform_case *c, struct err *e)
{
	struct asked q;

	begin(&q, c, "external authorization");
	if (json_get(c->doc, "document"))
		return answer_as(c, &q, verify_extauthz_shape(&q.v, json_get(c->doc, "document")));
	if (!json_get(c->doc, "input"))
		return missing(c, "document", e);
	json_sets(c->a, c->got, "result", "value");
	json_sets(c->a, c->got, "sha256",
		json_sha256(c->a, sealed_cleared(c->a, json_get(c->doc, "input"))) + strlen("sha256:"));
	return OK;
}

/* The caller's keys stand beside the expected answer, as a map from id to key.  They are repeated in the
 * answer because every member of `expect` is compared. */
int conform_provenance(struct conform_case *c, struct err *e)
{
	struct json *keys = json_get(c->expect, "trusted_keys");
	struct asked q;
	struct pack p;

	begin(&q, c, "agent provenance pack");
	json_each_member (m, keys)
		add_key(&q, json_text(m->value));
	if (verify_pack_bytes(c->a, c->text, &p, e))
		return e->rc;
	verify_provenance(&q.v, &p);
	(void)answer(c, &q);
	if (keys)
		json_set(c->a, c->got, "trusted_keys", keys);
	return OK;
}
