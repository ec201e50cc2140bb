/* tlog_proof_test.c — policies of witnesses, proofs of inclusion as text, and what a witness says to a further checkpoint. */
#include "proof/tlog_proof.h"
#include "tools/unit.h"

#include <string.h>

enum { WITNESSES = 4, LEAVES = 9 };
#define ORIGIN "log.example/fleet"
static struct arena a;
static struct err e;
static struct key *secrets[WITNESSES + 2]; /* of the log, the witnesses, and another log */
static struct note_key log_key, other_key, witness_keys[WITNESSES];
static struct hash leaves[LEAVES];

static int setup(void **state)
{
	static const char *const names[WITNESSES] = { "w.example/1", "w.example/2", "w.example/3",
		"w.example/4" };

	(void)state;
	for (uint8_t i = 0; i < WITNESSES + 2; i++) {
		uint8_t seed[SIGN_SEED] = { i, 9 };
		assert_int_equal(key_from_seed(seed, &secrets[i], &e), OK);
	}
	log_key = note_key_of(ORIGIN, NOTE_ED25519, key_public(secrets[0]));
	other_key = note_key_of("else.example/log", NOTE_ED25519, key_public(secrets[WITNESSES + 1]));
	for (int i = 0; i < WITNESSES; i++)
		witness_keys[i] = note_key_of(names[i], NOTE_COSIGNATURE, key_public(secrets[1 + i]));
	for (uint8_t i = 0; i < LEAVES; i++)
		leaves[i] = merkle_leaf(&i, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < WITNESSES + 2; i++)
		key_free(&secrets[i]);
	arena_done(&a);
	return 0;
}

static struct tlog_head head_of(uint64_t size)
{
	return (struct tlog_head){ ORIGIN, size, merkle_root(leaves, size) };
}

/* Signed by the log, and cosigned by each witness whose bit is set. */
static struct bytes checkpoint(uint64_t size, unsigned witnesses)
{
	struct tlog_head head = head_of(size);
	struct bytes text = bytes_of(tlog_head_text(&a, &head));
	struct buf b;

	buf_init(&b, &a);
	buf_add(&b, text.p, text.n);
	buf_addc(&b, '\n');
	note_sign(&b, &log_key, secrets[0], text, 0);
	for (unsigned i = 0; i < WITNESSES; i++)
		if (witnesses >> i & 1)
			note_sign(&b, &witness_keys[i], secrets[1 + i], text, 100 + 7 * i % 5);
	return buf_bytes(&b);
}

/* %L is the log's key, %O another log's, %1 to %4 the witnesses'. */
static const char *with_keys(const char *text)
{
	struct buf b;

	buf_init(&b, &a);
	for (; *text; text++)
		if (*text != '%')
			buf_addc(&b, *text);
		else if (*++text == 'L' || *text == 'O')
			buf_adds(&b, note_key_text(&a, *text == 'L' ? &log_key : &other_key));
		else
			buf_adds(&b, note_key_text(&a, &witness_keys[*text - '1']));
	return b.p;
}

static struct tlog_policy policy_of(const char *text)
{
	struct tlog_policy p = { 0 };

	e = (struct err){ 0 };
	assert_int_equal(tlog_policy_parse(&a, bytes_of(with_keys(text)), "policy", &p, &e), OK);
	return p;
}

static const char *policy_wrong(const char *text)
{
	struct tlog_policy p = { 0 };

	e = (struct err){ 0 };
	if (tlog_policy_parse(&a, bytes_of(with_keys(text)), "policy", &p, &e) == OK)
		return "OK";
	assert_string_equal(e.code, "TLOG_POLICY");
	return e.text;
}

#define FOUR "witness 1 %1\nwitness 2 %2 https://w2.example/\nwitness 3 %3\nwitness 4 %4\n"

static void quorums_count_groups(void **state)
{
	struct tlog_policy p =
		policy_of("# comment\n\n log\t%L https://log.example/ \n" FOUR
			  "group x 2 1 2 3\ngroup y any 4\n  # more\ngroup all-of all x y\nquorum all-of");

	(void)state;
	assert_int_equal(p.log_count, 1);
	assert_string_equal(p.logs[0].url, "https://log.example/");
	assert_int_equal(p.witness_count, 4);
	assert_string_equal(p.witnesses[1].url, "https://w2.example/");
	assert_null(p.witnesses[0].url);
	for (unsigned who = 0; who < 16; who++) {
		bool cosigned[4] = { who & 1, who & 2, who & 4, who & 8 };
		assert_int_equal(
			tlog_policy_met(&p, cosigned), __builtin_popcount(who & 7) >= 2 && (who & 8));
	}
	/* Witnesses that are named behind a group shift no numbers. */
	p = policy_of("witness 1 %1\ngroup g any 1\nwitness 2 %2\ngroup h all g 2\nquorum h\n");
	assert_true(tlog_policy_met(&p, (bool[]){ true, true }));
	assert_false(tlog_policy_met(&p, (bool[]){ true, false }));
	assert_false(tlog_policy_met(&p, (bool[]){ false, true }));
	p = policy_of(FOUR "quorum 3\n");
	assert_true(tlog_policy_met(&p, (bool[]){ false, false, true, false }));
	assert_false(tlog_policy_met(&p, (bool[]){ true, true, false, true }));
	p = policy_of("quorum none\n");
	assert_true(tlog_policy_met(&p, NULL));
	p = tlog_policy_of(&a, &log_key, witness_keys, 2);
	assert_true(tlog_policy_met(&p, (bool[]){ true, true }));
	assert_false(tlog_policy_met(&p, (bool[]){ true, false }));
	p = tlog_policy_of(&a, &log_key, NULL, 0);
	assert_true(tlog_policy_met(&p, NULL));
}

static void wrong_policies_name_their_line(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "no quorum line" },
		{ "# only\n", "no quorum line" },
		{ "quorum x\n", "line 1: that name is not defined" },
		{ "quorum\n", "line 1: it has to read: quorum" },
		{ "quorum none none\n", "it has to read: quorum" },
		{ "quorum none\nquorum none\n", "line 2: there is a quorum" },
		{ "log\n", "it has to read: log" },
		{ "log %L a b\n", "it has to read: log" },
		{ "log x\n", "no key that can be checked" },
		{ "log %1\n", "type 0x01" },
		{ "log %L\nlog %L\n", "line 2: that key stands" },
		{ "witness a\n", "it has to read: witness" },
		{ "witness a %1 b c\n", "it has to read: witness" },
		{ "witness a %L\n", "type 0x04" },
		{ "witness none %1\n", "stands for nobody" },
		{ "witness a %1\nwitness a %2\n", "that name is taken" },
		{ "witness a %1\nwitness b %1\n", "that key stands" },
		{ "group g any\n", "it has to read: group" },
		{ "group g any a\n", "a member is not defined" },
		{ "group g any none\n", "a member is not defined" },
		{ "witness a %1\ngroup g 2 a\n", "how many are needed" },
		{ "witness a %1\ngroup g 0 a\n", "how many are needed" },
		{ "witness a %1\ngroup g some a\n", "how many are needed" },
		{ "witness a %1\ngroup g any a a\n", "in a group already" },
		{ "witness a %1\ngroup g any a\ngroup h any a\n", "in a group already" },
		{ "witness a %1\ngroup a any a\n", "that name is taken" },
		{ "group g any g\n", "a member is not defined" },
		{ "Quorum none\n", "none of log, witness" },
		{ "quorum none\r\n", "control character" },
		{ "quorum none\x7f\n", "control character" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_non_null(strstr(policy_wrong(bad[i].text), bad[i].says));
}

static void policies_have_limits(void **state)
{
	uint8_t seed[SIGN_SEED] = { 0 };
	struct buf logs, witnesses, groups, words, text;

	(void)state;
	buf_init(&logs, &a);
	buf_init(&witnesses, &a);
	buf_init(&groups, &a);
	buf_init(&words, &a);
	buf_init(&text, &a);
	for (unsigned i = 0; i < TLOG_POLICY_MOST + 1; i++) {
		struct key *k = NULL;
		seed[0] = (uint8_t)i;
		assert_int_equal(key_from_seed(seed, &k, &e), OK);
		struct note_key x = note_key_of("l", NOTE_ED25519, key_public(k)),
				y = note_key_of("w", NOTE_COSIGNATURE, key_public(k));
		buf_addf(&logs, "log %s\n", note_key_text(&a, &x));
		buf_addf(&witnesses, "witness w%u %s\n", i, note_key_text(&a, &y));
		buf_addf(&groups, "group g%u any %s%u\n", i, i ? "g" : "w", i ? i - 1 : 0);
		key_free(&k);
	}
	assert_non_null(strstr(policy_wrong(logs.p), "too many logs"));
	assert_non_null(strstr(policy_wrong(witnesses.p), "too many witnesses"));
	*strstr(witnesses.p, "witness w64") = '\0';
	buf_addf(&text, "%s%s", witnesses.p, groups.p);
	assert_non_null(strstr(policy_wrong(text.p), "too many groups"));
	*strstr(text.p, "group g64") = '\0';
	struct tlog_policy p = policy_of(arena_printf(&a, "%squorum g63\n", text.p));
	bool cosigned[TLOG_POLICY_MOST] = { false };
	assert_false(tlog_policy_met(&p, cosigned));
	cosigned[0] = true;
	assert_true(tlog_policy_met(&p, cosigned));
	for (int i = 0; i < 200; i++)
		buf_adds(&words, "a ");
	assert_non_null(strstr(policy_wrong(words.p), "too many words"));
	while (words.n <= TLOG_POLICY_LIMIT)
		buf_adds(&words, "# comment\n");
	assert_non_null(strstr(policy_wrong(words.p), "longer than"));
}

static const char *check(const struct tlog_policy *p, struct bytes note, struct tlog_seen *seen)
{
	e = (struct err){ 0 };
	return tlog_policy_check(&a, p, note, "checkpoint", seen, &e) ? e.code : "OK";
}

static void a_checkpoint_needs_its_log_and_the_quorum(void **state)
{
	struct tlog_policy p = policy_of("log %L\nlog %O\n" FOUR "group g 2 1 2 3 4\nquorum g\n"),
			   other = policy_of("log %O\n" FOUR "quorum none\n"),
			   none = policy_of("log %L\nquorum none\n");
	struct tlog_head head = head_of(5);
	struct tlog_seen seen;
	struct buf b;

	(void)state;
	assert_string_equal(check(&p, checkpoint(5, 0xe), &seen), "OK");
	assert_int_equal(seen.cosigned, 3);
	assert_int_equal(seen.first_time, 101);
	assert_int_equal(seen.last_time, 104);
	assert_true(tlog_head_eq(&seen.head, &head));
	assert_string_equal(seen.log->key.name, ORIGIN);
	assert_string_equal(check(&none, checkpoint(5, 0), &seen), "OK");
	assert_int_equal(seen.cosigned, 0);
	assert_string_equal(check(&p, checkpoint(5, 1), &seen), "TLOG_QUORUM");
	assert_string_equal(check(&other, checkpoint(5, 0), &seen), "NOTE_UNSIGNED");
	assert_string_equal(check(&other, checkpoint(5, 1), &seen), "TLOG_LOG");
	assert_string_equal(check(&p, BYTES_LITERAL("x"), &seen), "NOTE_FORMAT");
	/* Another log of the policy signs in this one's place. */
	struct bytes text = bytes_of(tlog_head_text(&a, &head));
	buf_init(&b, &a);
	buf_add(&b, text.p, text.n);
	buf_addc(&b, '\n');
	note_sign(&b, &other_key, secrets[WITNESSES + 1], text, 0);
	assert_string_equal(check(&p, buf_bytes(&b), &seen), "TLOG_LOG");
	assert_non_null(strstr(e.text, "did not sign"));
	/* A note that is no checkpoint. */
	buf_init(&b, &a);
	buf_adds(&b, "hello\n\n");
	note_sign(&b, &log_key, secrets[0], BYTES_LITERAL("hello\n"), 0);
	assert_string_equal(check(&p, buf_bytes(&b), &seen), "TLOG_HEAD");
}

static struct tlog_proof proof_of(uint64_t index)
{
	struct tlog_proof p = { .index = index, .checkpoint = checkpoint(LEAVES, 3) };

	p.n = merkle_prove_inclusion(leaves, LEAVES, index, p.path);
	return p;
}

static void proofs_are_text(void **state)
{
	struct tlog_policy policy = tlog_policy_of(&a, &log_key, witness_keys, 2),
			   more = tlog_policy_of(&a, &log_key, witness_keys, 3);
	struct tlog_seen seen;

	(void)state;
	for (uint64_t i = 0; i < LEAVES; i++) {
		struct tlog_proof p = proof_of(i), again;
		p.has_extra = i & 1;
		p.extra = BYTES_LITERAL("ws-1");
		char *text = tlog_proof_text(&a, &p);
		assert_int_equal(tlog_proof_parse(&a, bytes_of(text), "proof", &again, &e), OK);
		assert_int_equal(again.has_extra, i & 1);
		assert_string_equal(tlog_proof_text(&a, &again), text);
		assert_int_equal(tlog_proof_verify(&a, &again, &leaves[i], &policy, "proof", &seen, &e), OK);
		assert_int_equal(seen.head.size, LEAVES);
		assert_int_equal(
			tlog_proof_verify(&a, &again, &leaves[(i + 1) % LEAVES], &policy, "proof", &seen, &e),
			E_INPUT);
		assert_string_equal(e.code, "MERKLE_ROOT");
		assert_int_equal(
			tlog_proof_verify(&a, &again, &leaves[i], &more, "proof", &seen, &e), E_INPUT);
		assert_string_equal(e.code, "TLOG_QUORUM");
	}
}

/* No byte of a proof can be another one. */
static void every_changed_byte_is_found(void **state)
{
	struct tlog_policy policy = tlog_policy_of(&a, &log_key, witness_keys, 2);
	struct tlog_proof p = proof_of(4), again;
	char *text = tlog_proof_text(&a, &p);
	struct arena_mark mark = arena_mark(&a);
	struct tlog_seen seen;
	size_t n = strlen(text);

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (int bit = 0; bit < 8; bit++) {
			text[i] = (char)(text[i] ^ 1 << bit);
			if (tlog_proof_parse(&a, (struct bytes){ (uint8_t *)text, n }, "proof", &again, &e) ==
					OK &&
				tlog_proof_verify(&a, &again, &leaves[4], &policy, "proof", &seen, &e) == OK)
				fail_msg("byte %zu, bit %d", i, bit);
			text[i] = (char)(text[i] ^ 1 << bit);
			arena_release(&a, mark);
		}
	for (size_t i = 0; i < n; i++)
		if (tlog_proof_parse(&a, (struct bytes){ (uint8_t *)text, i }, "proof", &again, &e) == OK)
			assert_int_not_equal(
				tlog_proof_verify(&a, &again, &leaves[4], &policy, "proof", &seen, &e), OK);
}

#define HASH "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
#define MAGIC "c2sp.org/tlog-proof@v1\n"

static void other_texts_are_no_proofs(void **state)
{
	static const char *const bad[] = { "", "c2sp.org/tlog-proof@v1", MAGIC, MAGIC "index 1\n",
		MAGIC "index 1\n\n", MAGIC "index 01\n\nx", MAGIC "index\n\nx", MAGIC "Index 1\n\nx",
		MAGIC "index 1\nx\n\nx", MAGIC "index 1\n" HASH, MAGIC "extra *\nindex 1\n\nx",
		MAGIC "extra\nindex 1\n\nx", MAGIC "extra YQ==\nextra YQ==\nindex 1\n\nx",
		"c2sp.org/tlog-proof@v2\nindex 1\n\nx" };
	struct tlog_proof p;
	struct buf b;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(tlog_proof_parse(&a, bytes_of(bad[i]), "proof", &p, &e), E_INPUT);
		assert_string_equal(e.code, "TLOG_PROOF");
	}
	buf_init(&b, &a);
	buf_adds(&b, MAGIC "index 1\n");
	for (int i = 0; i < MERKLE_MAX_PATH; i++)
		buf_adds(&b, HASH);
	assert_int_equal(tlog_proof_parse(&a, bytes_of(arena_printf(&a, "%s\nx", b.p)), "proof", &p, &e), OK);
	assert_int_equal(p.n, MERKLE_MAX_PATH);
	buf_adds(&b, HASH "\nx");
	assert_int_equal(tlog_proof_parse(&a, buf_bytes(&b), "proof", &p, &e), E_INPUT);
	while (b.n <= TLOG_PROOF_LIMIT)
		buf_adds(&b, HASH);
	assert_int_equal(tlog_proof_parse(&a, buf_bytes(&b), "proof", &p, &e), E_LIMIT);
}

static void requests_are_text(void **state)
{
	struct tlog_request r = { .old_size = 5, .checkpoint = checkpoint(LEAVES, 0) }, again;
	struct buf b;

	(void)state;
	r.n = merkle_prove_consistency(leaves, LEAVES, 5, r.path);
	char *text = tlog_request_text(&a, &r);
	assert_int_equal(tlog_request_parse(bytes_of(text), "request", &again, &e), OK);
	assert_string_equal(tlog_request_text(&a, &again), text);
	assert_int_equal(tlog_request_parse(BYTES_LITERAL("old 1\n\n"), "request", &again, &e), E_INPUT);
	assert_int_equal(tlog_request_parse(BYTES_LITERAL("old -1\n\nx"), "request", &again, &e), E_INPUT);
	assert_int_equal(tlog_request_parse(BYTES_LITERAL("new 1\n\nx"), "request", &again, &e), E_INPUT);
	buf_init(&b, &a);
	buf_adds(&b, "old 1\n");
	for (int i = 0; i < TLOG_WITNESS_PATH + 1; i++)
		buf_adds(&b, HASH);
	buf_adds(&b, "\nx");
	assert_int_equal(tlog_request_parse(buf_bytes(&b), "request", &again, &e), E_INPUT);
	while (b.n <= TLOG_PROOF_LIMIT)
		buf_adds(&b, HASH);
	assert_int_equal(tlog_request_parse(buf_bytes(&b), "request", &again, &e), E_LIMIT);
}

static enum tlog_answer step(uint64_t last, uint64_t next, uint64_t old, size_t cut)
{
	struct tlog_head from = head_of(last), to = head_of(next);
	struct tlog_request r = { .old_size = old };

	if (last && last <= next)
		r.n = merkle_prove_consistency(leaves, next, last, r.path) - cut;
	e = (struct err){ 0 };
	return tlog_step(&from, &to, &r, &e);
}

/* Every step between all sizes: exactly those forwards, from where we stand, with their proof, are taken. */
static void only_steps_forward_are_taken(void **state)
{
	struct tlog_head from = head_of(5), to = head_of(5);
	struct tlog_request r = { .old_size = 5 };

	(void)state;
	for (uint64_t last = 0; last <= LEAVES; last++)
		for (uint64_t next = 0; next <= LEAVES; next++)
			for (uint64_t old = 0; old <= LEAVES; old++)
				assert_int_equal(step(last, next, old, 0),
					old > next	      ? TLOG_BAD
						: old != last ? TLOG_CONFLICT
							      : TLOG_COSIGN);
	assert_int_equal(step(5, 9, 5, 1), TLOG_INCONSISTENT);
	to.root.b[0] ^= 1;
	assert_int_equal(tlog_step(&from, &to, &r, &e), TLOG_CONFLICT);
	to = head_of(9);
	assert_int_equal(tlog_step(&from, &to, &r, &e), TLOG_INCONSISTENT);
	/* The same tree, and a proof that nobody needs. */
	to = from;
	r.n = 1;
	assert_int_equal(tlog_step(&from, &to, &r, &e), TLOG_INCONSISTENT);
	from = head_of(0);
	r.old_size = 0;
	assert_int_equal(tlog_step(&from, &to, &r, &e), TLOG_INCONSISTENT);
	assert_string_equal(e.code, "TLOG_PATH");
	r.n = 0;
	to.size = 0;
	assert_int_equal(tlog_step(&from, &to, &r, &e), TLOG_INCONSISTENT);
	assert_string_equal(e.code, "TLOG_ROOT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quorums_count_groups),
		cmocka_unit_test(wrong_policies_name_their_line),
		cmocka_unit_test(policies_have_limits),
		cmocka_unit_test(a_checkpoint_needs_its_log_and_the_quorum),
		cmocka_unit_test(proofs_are_text),
		cmocka_unit_test(every_changed_byte_is_found),
		cmocka_unit_test(other_texts_are_no_proofs),
		cmocka_unit_test(requests_are_text),
		cmocka_unit_test(only_steps_forward_are_taken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
