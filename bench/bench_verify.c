/* bench_verify.c — verifying a long chain: everything a receipt needs, against nothing but its signature.
 *
 * The chain is made here and signed with a fixed key.  Ours parses each line, projects it, hashes it, checks its signature
 * and follows its link; the yardstick only verifies the same signatures with libsodium, on as many threads. */
#include "bench.h"

#include "proof/merkle.h"
#include "proof/preimage.h"
#include "proof/sign.h"
#include "verify/verify.h"
#include "yardstick.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { RECEIPTS = 4000, MAX_THREADS = 64 };

struct chain {
	struct arena a;
	struct buf text;
	struct bytes preimages[RECEIPTS];
	uint8_t signatures[RECEIPTS][SIGN_SIZE];
	struct trusted_key key;
	uint8_t secret[SIGN_SECRET];
	unsigned threads;
	bool has_failed;
};

static struct json *draft(struct chain *c, int i, const char *prev)
{
	static const char *const fixed[][2] = { { "effect_id", "EXECUTE_COMMAND" },
		{ "external_reference_id", "" }, { "status", "ALLOW" }, { "verdict", "ALLOW" },
		{ "reason_code", "" }, { "executor_id", "agent:local" },
		{ "signature_version", "receipt.v5" }, { "session_id", "chain-1" },
		{ "signature_profile", "classical" }, { "signature_algorithm", "ed25519" },
		{ "key_id", "root" },
		{ "policy_hash", "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" },
		{ "output_hash", "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd" },
		{ "timestamp", "2026-03-01T12:00:00.123456Z" } };
	struct json *r = json_new(&c->a, JSON_OBJECT);

	json_set(&c->a, r, "receipt_id", json_stringf(&c->a, "rcpt_%032x", i));
	json_set(&c->a, r, "decision_id", json_stringf(&c->a, "dec_%032x", i));
	json_sets(&c->a, r, "args_hash", sha256_prefixed(&c->a, &i, sizeof(i)));
	json_sets(&c->a, r, "prev_hash", prev);
	json_seti(&c->a, r, "lamport_clock", i + 1);
	for (size_t k = 0; k < ARRAY_SIZE(fixed); k++)
		json_sets(&c->a, r, fixed[k][0], fixed[k][1]);
	return r;
}

static void make_chain(struct chain *c)
{
	const char *prev = "";
	uint8_t seed[SIGN_SEED];
	char hex[2 * SIGN_SIZE + 1];
	struct hash chain;

	memset(seed, 0x2a, sizeof(seed));
	sign_expand(seed, c->secret, c->key.key);
	c->key.id = "root";
	buf_init(&c->text, &c->a);
	for (int i = 0; i < RECEIPTS; i++) {
		struct json *r = draft(c, i, prev);
		if (receipt_preimage_v5(&c->a, r, &c->preimages[i], NULL))
			c->has_failed = true;
		sign_message(c->secret, c->preimages[i], c->signatures[i]);
		hex_encode(c->signatures[i], SIGN_SIZE, hex);
		json_sets(&c->a, r, "signature", hex);
		if (receipt_chain_hash(&c->a, r, chain.b, NULL))
			c->has_failed = true;
		prev = hash_hex(&c->a, &chain);
		json_write(&c->text, r, 0);
		buf_addc(&c->text, '\n');
	}
}

static void verify_ours(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct chain *c = arg;
	struct trust trust = { .keys = &c->key, .key_count = 1, .threads = c->threads };
	struct verification v;

	verification_begin(&v, &a, &trust, "receipt chain");
	verify_receipt_lines(&v, buf_bytes(&c->text), "bench");
	if (verification_headline(&v) != HEADLINE_ADMISSIBLE)
		c->has_failed = true;
}

struct share {
	struct chain *c;
	int from, to;
	bool ok;
};

static void *verify_share(void *arg)
{
	struct share *s = arg;

	s->ok = true;
	for (int i = s->from; i < s->to; i++)
		s->ok &= yardstick_sodium_verify(s->c->key.key, s->c->preimages[i], s->c->signatures[i]);
	return NULL;
}

static void verify_theirs(void *arg)
{
	struct chain *c = arg;
	struct share shares[MAX_THREADS] = { 0 };
	pthread_t threads[MAX_THREADS];
	int n = c->threads > 1 ? (int)c->threads : 1;

	for (int i = 0; i < n; i++)
		shares[i] = (struct share){ c, RECEIPTS * i / n, RECEIPTS * (i + 1) / n, false };
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, verify_share, &shares[i]))
			abort();
	(void)verify_share(&shares[0]);
	for (int i = 1; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	for (int i = 0; i < n; i++)
		c->has_failed |= !shares[i].ok;
}

int bench_verify_chain(struct bench *b)
{
	static struct chain c;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double ours, theirs;

	c.threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (unsigned)cores;
	make_chain(&c);
	bench_pair(b->rounds, verify_ours, verify_theirs, &c, &ours, &theirs);
	arena_done(&c.a);
	b->unit = "receipts/s";
	b->value = RECEIPTS / ours;
	b->baseline = RECEIPTS / theirs;
	b->ratio = b->value / b->baseline;
	return c.has_failed;
}
