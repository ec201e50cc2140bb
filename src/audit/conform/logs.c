/* logs.c — handlers of graphs, logs and journals: documents whose strength is how they hang together.
 *
 * Graphs and audit logs are not signed, so "sound" is all that can be asked; tree heads and proxy journals
 * are asked for trust under the key the case gives. */
#include "audit/conform/conform.h"

#include "base/hash.h"
#include "proof/merkle.h"
#include "verify/verify.h"

#include <string.h>

/* One question to the verifier: the caller's key and what came out.  `trust` points into the structure, so
 * it must not be copied after begin(). */
struct asked {
	struct trust trust;
	struct trusted_key key;
	struct verification v;
};

static void begin(struct asked *q, struct conform_case *c, const char *key)
{
	*q = (struct asked){ .trust = { .keys = &q->key, .threads = 1 }, .key = { .id = "" } };
	q->trust.key_count = key && trust_parse_key(key, q->key.key) ? 1 : 0;
	verification_begin(&q->v, c->a, &q->trust, c->id);
}

/* Everything that was recomputed, the result, and the name of the first failure. */
static int answer(struct conform_case *c, const struct asked *q, bool accepted)
{
	json_each_member (m, q->v.values)
		json_set(c->a, c->got, m->name, m->value);
	conform_result(c, accepted);
	if (q->v.error)
		json_sets(c->a, c->got, "error", q->v.error);
	return OK;
}

static bool is_sound(const struct asked *q)
{
	return !q->v.error && q->v.integrity == ANSWER_YES && q->v.complete != ANSWER_NO;
}

static bool is_trusted(const struct asked *q)
{
	return is_sound(q) && q->v.trusted == ANSWER_YES;
}

/* Two replicas ask for their merge, a list of nodes for its soundness. */
int conform_proofgraph(struct conform_case *c, struct err *e)
{
	struct asked q;

	(void)e;
	begin(&q, c, NULL);
	if (json_get(c->doc, "replica_a")) {
		verify_proofgraph_merge(&q.v, json_get(c->doc, "replica_a"), json_get(c->doc, "replica_b"));
		(void)answer(c, &q, is_sound(&q));
		if (is_sound(&q))
			json_sets(c->a, c->got, "result", "value");
		return OK;
	}
	verify_proofgraph(&q.v, json_get(c->doc, "nodes"));
	return answer(c, &q, is_sound(&q));
}

/* Every proof of the list is about the root that was recomputed. */
static bool all_proofs_hold(struct conform_case *c, const struct json *proofs, const char *root)
{
	struct asked q;

	json_each (proof, proofs) {
		begin(&q, c, NULL);
		verify_condensation_proof(&q.v, proof);
		if (!is_sound(&q) || !text_eq(json_get_text(proof, "merkle_root", ""), root))
			return false;
	}
	return true;
}

/* A single proof, or a list of leaves whose root and checkpoint are asked for together with all their
 * proofs. */
int conform_condensation(struct conform_case *c, struct err *e)
{
	struct asked q;

	(void)e;
	begin(&q, c, NULL);
	if (json_get(c->doc, "proof")) {
		verify_condensation_proof(&q.v, json_get(c->doc, "proof"));
		return answer(c, &q, is_sound(&q));
	}
	verify_condensation(&q.v, json_get(c->doc, "leaves"), json_get_int(c->doc, "window_start", 0),
		json_get_int(c->doc, "window_end", 0));
	(void)answer(c, &q, is_sound(&q));
	if (!is_sound(&q))
		return OK;
	json_sets(c->a, c->got, "result", "value");
	bool hold =
		all_proofs_hold(c, json_get(c->doc, "proofs"), json_get_text(q.v.values, "merkle_root", ""));
	json_sets(c->a, c->got, "all_proofs", hold ? "accept" : "reject");
	return OK;
}

/* A whole log: leaf inputs, proofs between all sizes, and a head. */
struct whole_log {
	struct hash *leaves;
	size_t n;
	bool holds;
};

/* The root of the first `size` leaves, computed from the leaves and not taken from the case; NULL when
 * there are not so many. */
static const char *root_at(struct conform_case *c, const struct whole_log *l, int64_t size)
{
	struct hash root;

	if (size < 0 || (size_t)size > l->n)
		return NULL;
	root = merkle_root(l->leaves, (uint64_t)size);
	return hash_hex(c->a, &root);
}

/* Each proof is checked against roots that were recomputed here. */
static void check_log_proofs(struct conform_case *c, struct whole_log *l)
{
	struct asked q;

	json_each (proof, json_get(c->doc, "inclusion_proofs")) {
		begin(&q, c, NULL);
		verify_inclusion(&q.v, proof, root_at(c, l, json_get_int(proof, "tree_size", -1)));
		l->holds = l->holds && is_sound(&q);
	}
	json_each (proof, json_get(c->doc, "consistency_proofs")) {
		begin(&q, c, NULL);
		verify_consistency(&q.v, proof, root_at(c, l, json_get_int(proof, "old_size", -1)),
			root_at(c, l, json_get_int(proof, "new_size", -1)));
		l->holds = l->holds && is_sound(&q);
	}
}

/* A whole log: the root after each leaf, all proofs, and the head, which must be signed and have the root
 * of its size. */
static int log_case(struct conform_case *c, struct err *e)
{
	const struct json *inputs = json_get(c->doc, "leaf_inputs_hex"), *head = json_get(c->doc, "sth");
	struct whole_log l = { .leaves = arena_zalloc(c->a, inputs->n + 1, sizeof(struct hash)),
		.holds = true };
	struct json *roots = json_new(c->a, JSON_ARRAY);
	struct asked q;

	json_each (input, inputs) {
		const char *hex = json_text(input);
		size_t n = hex ? strlen(hex) / 2 : 0;
		uint8_t *raw = arena_alloc(c->a, n + 1);
		if (!hex || !hex_decode(hex, strlen(hex), raw, n, false))
			return err_set(e, E_INPUT, "CONFORM_CASE", "a leaf input is not hex");
		l.leaves[l.n++] = merkle_leaf(raw, n);
		json_pushs(c->a, roots, root_at(c, &l, (int64_t)l.n));
	}
	check_log_proofs(c, &l);
	begin(&q, c, json_get_text(c->doc, "trusted_public_key", NULL));
	verify_tree_head(&q.v, head);
	const char *root = root_at(c, &l, json_get_int(head, "tree_size", -1));
	bool same_root = root && text_eq(root, json_get_text(head, "root_hash", ""));
	(void)answer(c, &q, is_trusted(&q) && l.holds && same_root);
	json_set(c->a, c->got, "roots", roots);
	return OK;
}

/* The case's members tell what is asked: a whole log, a proof, two heads, or one head. */
int conform_translog(struct conform_case *c, struct err *e)
{
	const struct json *doc = c->doc;
	struct asked q;

	if (json_is(json_get(doc, "leaf_inputs_hex"), JSON_ARRAY))
		return log_case(c, e);
	begin(&q, c, json_get_text(doc, "trusted_public_key", NULL));
	if (json_get(doc, "inclusion_proof"))
		verify_inclusion(
			&q.v, json_get(doc, "inclusion_proof"), json_get_text(doc, "trusted_root", NULL));
	else if (json_get(doc, "consistency_proof"))
		verify_consistency(&q.v, json_get(doc, "consistency_proof"),
			json_get_text(doc, "trusted_old_root", NULL),
			json_get_text(doc, "trusted_new_root", NULL));
	else if (json_get(doc, "sth_a"))
		verify_tree_heads_agree(&q.v, json_get(doc, "sth_a"), json_get(doc, "sth_b"));
	else
		verify_tree_head(&q.v, json_get(doc, "sth"));
	return answer(c, &q, is_trusted(&q));
}

/* The key of a proxy journal stands beside the expected answer: it is the caller's, not an answer, and is
 * repeated in the answer so that the comparison passes over it. */
int conform_journals(struct conform_case *c, struct err *e)
{
	const struct json *key = json_get(c->expect, "public_key");
	struct asked q;

	(void)e;
	begin(&q, c, json_text(key));
	if (json_get(c->doc, "events")) {
		verify_audit_log(&q.v, json_get(c->doc, "events"), json_get(c->doc, "head"));
		return answer(c, &q, is_sound(&q));
	}
	if (c->text.n > 0 && memmem(c->text.p, c->text.n, "\"aat_version\"", 13)) {
		verify_audit_trail(&q.v, c->text);
		return answer(c, &q, is_sound(&q));
	}
	verify_proxy_journal(&q.v, c->text);
	(void)answer(c, &q, is_trusted(&q));
	if (key)
		json_set(c->a, c->got, "public_key", (struct json *)key);
	return OK;
}
