/* fleet_pack_test.c — packs of a fleet: what they prove, every bit of a small one, parts that are exchanged, left out or turned. */
#include "base/hash.h"
#include "base/text.h"
#include "tools/fleet_packs.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

/* Sanitizers make it five times as slow, and look for something else. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 7 };
#else
enum { STRIDE = 1 };
#endif

static struct scratch t;
static struct arena a, one;
static struct fleet_parts f;
static struct bytes pack;
static struct tlog_policy policy, bare;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	fleet_parts_make(&f, &t, &a);
	pack = fleet_parts_pack(&f);
	policy = tlog_policy_of(&a, &f.log_key, &f.witness_key, 1);
	bare = tlog_policy_of(&a, &f.log_key, NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fleet_parts_done(&f);
	scratch_done(&t);
	arena_done(&one);
	arena_done(&a);
	return 0;
}

static struct verification v;

static enum headline judge_with(
	struct bytes bytes, const struct trust *trust, const struct fleet_trust *given)
{
	struct stream_bytes in;

	arena_reset(&one);
	verification_begin(&v, &one, trust, "pack");
	verify_fleet(&v, stream_from_bytes(&in, bytes), given);
	return verification_headline(&v);
}

static enum headline judge(struct bytes bytes)
{
	static const struct trust nobody = { 0 };

	return judge_with(bytes, &nobody, &(struct fleet_trust){ &policy, &f.control_key });
}

static void a_whole_pack_is_admissible(void **state)
{
	static const struct trust nobody = { 0 };
	struct note_key other = note_key_of("ledger.example/team", NOTE_ED25519, key_public(f.witness)),
			strange = note_key_of("witness.example/2", NOTE_COSIGNATURE, key_public(f.control));
	struct tlog_policy wrong_log = tlog_policy_of(&a, &other, NULL, 0),
			   wrong_witness = tlog_policy_of(&a, &f.log_key, &strange, 1);

	(void)state;
	assert_true(verify_fleet_is_one(pack));
	assert_int_equal(judge(pack), HEADLINE_ADMISSIBLE);
	assert_int_equal(v.complete, ANSWER_UNKNOWN);
	assert_string_equal(json_get_text(v.values, "tree_size", ""), "4");
	assert_int_equal(
		judge_with(pack, &nobody, &(struct fleet_trust){ &bare, NULL }), HEADLINE_ADMISSIBLE);
	/* Nothing given: unchanged, and no more. */
	assert_int_equal(judge_with(pack, &nobody, &(struct fleet_trust){ 0 }), HEADLINE_UNVERIFIED);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(
		judge_with(pack, &nobody, &(struct fleet_trust){ &wrong_log, NULL }), HEADLINE_UNVERIFIED);
	assert_int_equal(v.trusted, ANSWER_NO);
	assert_int_equal(judge_with(pack, &nobody, &(struct fleet_trust){ &wrong_witness, NULL }),
		HEADLINE_UNVERIFIED);
	assert_string_equal(v.error, "TLOG_QUORUM");
	assert_int_equal(
		judge_with(pack, &nobody, &(struct fleet_trust){ &policy, &f.log_key }), HEADLINE_UNVERIFIED);
	assert_string_equal(v.error, "control key");
}

/* Keys of machines that the caller has from elsewhere. */
static void machines_may_be_known(void **state)
{
	struct trusted_key keys[FLEET_MACHINES] = { 0 };
	struct trust both = { .keys = keys, .key_count = 2 }, first = { .keys = keys, .key_count = 1 };
	const struct fleet_trust given = { &policy, NULL };

	(void)state;
	for (int i = 0; i < FLEET_MACHINES; i++) {
		struct bytes rest = f.chains[i].keys;
		struct json *link;
		assert_int_equal(json_parse(&a, text_cut(&rest, '\n'), "link", NULL, &link, NULL), OK);
		assert_true(trust_parse_key(json_get_text(link, "key", ""), keys[i].key));
		keys[i].id = "";
	}
	assert_int_equal(judge_with(pack, &both, &given), HEADLINE_ADMISSIBLE);
	assert_int_equal(judge_with(pack, &first, &given), HEADLINE_UNVERIFIED);
	assert_string_equal(v.error, "unknown machine");
}

/* No byte can be another one. */
static void sweep(struct bytes bytes, size_t stride)
{
	uint8_t *copy = arena_alloc(&a, bytes.n);

	memcpy(copy, bytes.p, bytes.n);
	for (size_t i = 0; i < bytes.n; i += stride) {
		uint8_t was = copy[i];
		copy[i] ^= (uint8_t)(1u << (i % 8));
		if (judge((struct bytes){ copy, bytes.n }) == HEADLINE_ADMISSIBLE)
			fail_msg("byte %zu of %zu", i, bytes.n);
		copy[i] = was;
	}
	assert_int_equal(judge((struct bytes){ copy, bytes.n }), HEADLINE_ADMISSIBLE);
}

/* Each byte of the smallest pack that has a chain, some of the larger one; and none can be missing or too many. */
static void every_changed_byte_is_found(void **state)
{
	struct fleet_parts x = f;
	uint8_t *longer = arena_alloc(&a, pack.n + 1);

	(void)state;
	x.fork = NULL;
	for (int i = 0; i < FLEET_MACHINES; i++)
		x.receipts[i].n = (size_t)((const uint8_t *)memchr(f.receipts[i].p, '\n', f.receipts[i].n) -
					  f.receipts[i].p) +
			1;
	fleet_parts_log(&x);
	sweep(fleet_parts_pack(&x), STRIDE);
	sweep(pack, STRIDE * 5);
	for (size_t n = 0; n < pack.n; n += 97)
		assert_int_not_equal(judge((struct bytes){ pack.p, n }), HEADLINE_ADMISSIBLE);
	memcpy(longer, pack.p, pack.n);
	longer[pack.n] = 0;
	assert_int_not_equal(judge((struct bytes){ longer, pack.n + 1 }), HEADLINE_ADMISSIBLE);
}

static enum headline judge_parts(const struct fleet_parts *parts)
{
	return judge(fleet_parts_pack(parts));
}

/* Packs that were written anew, with a list that fits: what they say has to be signed all the same. */
static void a_pack_written_anew_proves_no_more(void **state)
{
	struct fleet_parts x = f;
	struct bytes rest;

	(void)state;
	/* The last receipt of a chain left out: its end is not where the proof leads from. */
	x.receipts[0].n -= 2;
	while (x.receipts[0].p[x.receipts[0].n - 1] != '\n')
		x.receipts[0].n--;
	x.chains[0].receipts_bytes = x.receipts[0].n;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* The log that was signed anew over it is another log than the witness's. */
	x = f;
	x.witness = f.control;
	fleet_parts_log(&x);
	assert_int_not_equal(judge_parts(&x), HEADLINE_ADMISSIBLE);
	/* The proof of another chain. */
	x = f;
	x.chains[0].proof = f.chains[1].proof;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "MERKLE_ROOT");
	/* Keys of another machine. */
	x = f;
	x.chains[0].keys = f.chains[1].keys;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* That a chain begins late is said. */
	x = f;
	rest = x.receipts[0];
	(void)text_cut(&rest, '\n');
	x.receipts[0] = rest;
	fleet_parts_log(&x);
	assert_int_equal(judge_parts(&x), HEADLINE_ADMISSIBLE);
	assert_non_null(strstr(json_text(json_at(v.notes, 1)), "do not begin with their first receipt"));
	/* One stands there twice. */
	x = f;
	rest = x.receipts[0];
	struct bytes line = text_cut(&rest, '\n');
	x.receipts[0] = bytes_of(arena_printf(&a, "%.*s\n%.*s", (int)line.n, (const char *)line.p,
		(int)f.receipts[0].n, (const char *)f.receipts[0].p));
	fleet_parts_log(&x);
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* Receipts of two machines in one file. */
	x = f;
	x.receipts[0] = bytes_of(arena_printf(&a, "%.*s%.*s", (int)f.receipts[1].n,
		(const char *)f.receipts[1].p, (int)f.receipts[0].n, (const char *)f.receipts[0].p));
	fleet_parts_log(&x);
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* No receipts. */
	x = f;
	x.receipts[0].n = x.chains[0].receipts_bytes = 0;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
}

/* All proofs lead to the one checkpoint, which the log that is named signed; nothing is in them that nothing binds. */
static void proofs_lead_to_one_checkpoint(void **state)
{
	struct fleet_parts x = f;
	struct tlog_proof proof;
	struct bytes lines;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(tlog_proof_parse(&a, f.chains[1].proof, "proof", &proof, &e), OK);
	proof.has_extra = true;
	proof.extra = BYTES_LITERAL("extra");
	x.chains[1].proof = bytes_of(tlog_proof_text(&a, &proof));
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "proof extra");
	/* Without the witness's line it is another note about the same tree. */
	proof.has_extra = false;
	lines = proof.checkpoint;
	while (lines.p[lines.n - 2] != '\n')
		lines.n--;
	proof.checkpoint = (struct bytes){ lines.p, lines.n - 1 };
	x.chains[1].proof = bytes_of(tlog_proof_text(&a, &proof));
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "several checkpoints");
	x = f;
	x.checkpoint = proof.checkpoint;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "several checkpoints");
	/* The list names another key than the one that signed. */
	x = f;
	x.log_key = note_key_of("ledger.example/team", NOTE_ED25519, key_public(f.control));
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "NOTE_UNSIGNED");
}

static void orders_and_forks_are_checked(void **state)
{
	struct fleet_parts x = f;
	struct bytes rest;
	struct json *fork;

	(void)state;
	/* The first order left out; the second changed; one of them twice. */
	rest = f.orders;
	struct bytes first = text_cut(&rest, '\n');
	x.orders = rest;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "orders");
	x.orders = (struct bytes){ f.orders.p, first.n + 1 };
	assert_int_equal(
		judge_parts(&x), HEADLINE_ADMISSIBLE); /* those at the end may be missing; nobody can know */
	x.orders = (struct bytes){ f.orders.p, first.n };
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	x.orders = (struct bytes){ 0 };
	assert_int_equal(judge_parts(&x), HEADLINE_ADMISSIBLE);
	x.orders = BYTES_LITERAL("nonsense\n");
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* Another control key. */
	x = f;
	x.control_key = f.log_key;
	assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
	/* Forks that are none. */
	x = f;
	x.fork = NULL;
	assert_int_equal(judge_parts(&x), HEADLINE_ADMISSIBLE);
	static const char *const bad[] = { "same", "place", "session", "keys", "one", "none", "stranger" };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		fork = json_copy(&a, f.fork);
		struct json *receipts = json_get(fork, "receipts");
		if (text_eq(bad[i], "same"))
			receipts->items[1] = receipts->items[0];
		else if (text_eq(bad[i], "place"))
			json_seti(&a, fork, "lamport_clock", 4);
		else if (text_eq(bad[i], "session"))
			json_sets(&a, fork, "session_id", "else");
		else if (text_eq(bad[i], "keys"))
			json_set(&a, fork, "keys", json_new(&a, JSON_ARRAY));
		else if (text_eq(bad[i], "one"))
			receipts->n = 1;
		else if (text_eq(bad[i], "none"))
			json_set(&a, fork, "receipts", NULL);
		else
			json_sets(&a, receipts->items[1], "effect_id", "helm.else/other");
		x.fork = fork;
		assert_int_equal(judge_parts(&x), HEADLINE_TAMPERED);
		assert_string_equal(v.error, "fork");
	}
}

/* ---- archives that something else wrote ---- */

struct file {
	const char *path;
	struct bytes content;
};

static enum headline judge_files(const struct file *files, size_t n)
{
	struct tar_writer tar;
	struct sink_buf to;
	struct buf text;
	struct err e = { 0 };

	buf_init(&text, &a);
	tar_begin(&tar, sink_to_buf(&to, &text));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(tar_add(&tar, files[i].path, files[i].content.n, &e), OK);
		assert_int_equal(tar_put(&tar, files[i].content.p, files[i].content.n, &e), OK);
	}
	assert_int_equal(tar_end(&tar, &e), OK);
	return judge(buf_bytes(&text));
}

static void files_have_their_places(void **state)
{
	const struct file mark = { FLEET_PACK_MARK, BYTES_LITERAL(FLEET_PACK_V1 "\n") },
			  proof = { "chains/00000001/end.tlog-proof", f.chains[0].proof },
			  keys = { "chains/00000001/keys.jsonl", f.chains[0].keys },
			  lines = { "chains/00000001/receipts.jsonl", f.receipts[0] },
			  checkpoint = { FLEET_PACK_CHECKPOINT, f.checkpoint },
			  orders = { FLEET_PACK_ORDERS, f.orders },
			  list = { FLEET_PACK_LIST, BYTES_LITERAL("{}\n") },
			  more = { "zzz", BYTES_LITERAL("x") },
			  other_mark = { FLEET_PACK_MARK, BYTES_LITERAL("2\n") };

	(void)state;
	assert_int_equal(judge_files(NULL, 0), HEADLINE_TAMPERED);
	assert_int_equal(judge_files(&more, 1), HEADLINE_TAMPERED);
	assert_int_equal(judge_files(&mark, 1), HEADLINE_TAMPERED);
	assert_int_equal(judge_files(&other_mark, 1), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "version");
	assert_int_equal(judge_files((struct file[]){ mark, keys }, 2), HEADLINE_TAMPERED);
	assert_int_equal(judge_files((struct file[]){ mark, proof, lines }, 3), HEADLINE_TAMPERED);
	assert_int_equal(
		judge_files((struct file[]){ mark, proof, keys, lines, list }, 5), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "order");
	assert_int_equal(judge_files((struct file[]){ mark, proof, keys, lines, checkpoint, list }, 6),
		HEADLINE_TAMPERED);
	assert_int_equal(
		judge_files((struct file[]){ mark, checkpoint, orders, list }, 4), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "NOTE_KEY");
	assert_int_equal(
		judge_files((struct file[]){ mark, checkpoint, orders, list, more }, 5), HEADLINE_TAMPERED);
	assert_int_equal(
		judge_files((struct file[]){ mark, { FLEET_PACK_CHECKPOINT, BYTES_LITERAL("x") } }, 2),
		HEADLINE_TAMPERED);
	assert_int_equal(
		judge_files(
			(struct file[]){ mark, { "chains/00000001/end.tlog-proof", BYTES_LITERAL("x") } }, 2),
		HEADLINE_TAMPERED);
	assert_string_equal(v.error, "TLOG_PROOF");
	assert_int_equal(judge_files((struct file[]){ mark, proof,
					     { "chains/00000001/keys.jsonl", BYTES_LITERAL("x\n") }, lines },
				 4),
		HEADLINE_TAMPERED);
	assert_false(verify_fleet_is_one((struct bytes){ pack.p, 100 }));
	assert_false(verify_fleet_is_one((struct bytes){ pack.p + 512, 512 }));
}

/* The same files in another archive: another mode, or more zeroes behind the end, as other programs write. */
static void an_archive_has_one_form(void **state)
{
	uint8_t *copy = arena_zalloc(&a, 1, pack.n + TAR_BLOCK);
	unsigned sum = 0;

	(void)state;
	memcpy(copy, pack.p, pack.n);
	assert_int_equal(judge((struct bytes){ copy, pack.n + TAR_BLOCK }), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "form");
	memcpy(copy + 100, "0000600", 7);
	memset(copy + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += copy[i];
	(void)snprintf((char *)copy + 148, 8, "%06o", sum);
	assert_int_equal(judge((struct bytes){ copy, pack.n }), HEADLINE_TAMPERED);
	assert_string_equal(v.error, "form");
}

/* ---- the writer ---- */

struct failing {
	struct sink sink;
	int left;
};

static int fail_later(struct sink *s, const void *p, size_t n, struct err *e)
{
	struct failing *x = (struct failing *)s;

	(void)p;
	(void)n;
	return x->left-- > 0 ? OK : err_set(e, E_IO, "FULL", "no room");
}

static void what_cannot_be_written_is_said(void **state)
{
	struct err e = { 0 };
	int at = 0;

	(void)state;
	for (;; at++) {
		struct failing to = { { fail_later }, at };
		int rc = fleet_parts_write(&f, &to.sink, &e);
		if (rc == OK)
			break;
		assert_int_equal(rc, E_IO);
		assert_string_equal(e.code, "FULL");
	}
	assert_true(at > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_pack_is_admissible),
		cmocka_unit_test(machines_may_be_known),
		cmocka_unit_test(every_changed_byte_is_found),
		cmocka_unit_test(a_pack_written_anew_proves_no_more),
		cmocka_unit_test(proofs_lead_to_one_checkpoint),
		cmocka_unit_test(orders_and_forks_are_checked),
		cmocka_unit_test(files_have_their_places),
		cmocka_unit_test(an_archive_has_one_form),
		cmocka_unit_test(what_cannot_be_written_is_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
