/* note_test.c — signed notes: keys as text, strict reading, whose signature counts, and the text of a checkpoint. */
#include "proof/note.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>

static struct arena a;
static struct err e;
static struct key *log_secret, *witness_secret;
static struct note_key log_key, witness_key;
#define ORIGIN "log.example/fleet"
#define DASH "\xe2\x80\x94 "

static int setup(void **state)
{
	uint8_t seed[SIGN_SEED];

	(void)state;
	memset(seed, 1, sizeof(seed));
	assert_int_equal(key_from_seed(seed, &log_secret, &e), OK);
	memset(seed, 2, sizeof(seed));
	assert_int_equal(key_from_seed(seed, &witness_secret, &e), OK);
	log_key = note_key_of(ORIGIN, NOTE_ED25519, key_public(log_secret));
	witness_key = note_key_of("witness.example/w1", NOTE_COSIGNATURE, key_public(witness_secret));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	key_free(&log_secret);
	key_free(&witness_secret);
	arena_done(&a);
	return 0;
}

/* A text signed by the log, and cosigned when `time` is not 0. */
static struct buf signed_note(const char *text, uint64_t time)
{
	struct buf b;

	buf_init(&b, &a);
	buf_adds(&b, text);
	buf_addc(&b, '\n');
	note_sign(&b, &log_key, log_secret, bytes_of(text), 0);
	if (time)
		note_sign(&b, &witness_key, witness_secret, bytes_of(text), time);
	return b;
}

static const char *parse_code(struct bytes text)
{
	struct note note;

	e = (struct err){ 0 };
	return note_parse(&a, text, "note", &note, &e) ? e.code : "OK";
}

static void names_have_no_spaces(void **state)
{
	static const char *const good[] = { "a", "log.example/fleet",
		"W\xc3\xa4"
		"chter",
		"\xe2\x84\xaa" };
	static const char *const bad[] = { "", "a b", "a+b", "a\tb", "a\x7f", "a\xc2\xa0", "a\xc2\x85",
		"a\xe2\x80\x89", "a\xe1\x9a\x80", "a\xe2\x80\xa8", "a\xe2\x80\xa9", "a\xe2\x80\xaf",
		"a\xe2\x81\x9f", "a\xe3\x80\x80", "a\xff", "\xed\xa0\x80" };
	char longest[NOTE_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(note_name_ok(bytes_of(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(note_name_ok(bytes_of(bad[i])));
	memset(longest, 'a', sizeof(longest));
	assert_true(note_name_ok((struct bytes){ (uint8_t *)longest, NOTE_NAME_MAX }));
	assert_false(note_name_ok((struct bytes){ (uint8_t *)longest, NOTE_NAME_MAX + 1 }));
}

/* The key of Go's own note package, in its documentation. */
static void a_known_key_reads(void **state)
{
	static const char vkey[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
	static const char skey[] =
		"PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
	static const char note[] =
		"If you think cryptography is the answer to your problem,\n"
		"then you don't know what your problem is.\n"
		"\n" DASH
		"PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
	struct note_key key, again;
	struct key *secret = NULL;
	struct note_seen seen;
	struct note n;
	struct buf b;

	(void)state;
	assert_int_equal(note_key_parse(&a, bytes_of(vkey), "vkey", &key, &e), OK);
	assert_string_equal(key.name, "PeterNeumann");
	assert_string_equal(note_key_text(&a, &key), vkey);
	assert_int_equal(note_secret_parse(&a, bytes_of(skey), "skey", &again, &secret, &e), OK);
	assert_string_equal(note_key_text(&a, &again), vkey);
	assert_int_equal(note_parse(&a, bytes_of(note), "note", &n, &e), OK);
	assert_int_equal(note_verify(&a, &n, &key, 1, &seen, &e), OK);
	assert_true(seen.has_signed);
	assert_int_equal(seen.time, 0);
	buf_init(&b, &a);
	buf_add(&b, n.text.p, n.text.n);
	buf_addc(&b, '\n');
	note_sign(&b, &again, secret, n.text, 0);
	assert_string_equal(b.p, note);
	key_free(&secret);
}

static const char *key_code(const char *text)
{
	struct note_key key;

	e = (struct err){ 0 };
	return note_key_parse(&a, bytes_of(text), "key", &key, &e) ? e.code : "OK";
}

static void other_keys_are_refused(void **state)
{
	static const char *const bad[] = { "", "a", "a+b", "a+00000000", "+c74f20a3+ARpc",
		"a b+c74f20a3+ARpc",
		"PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", /* upper case */
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", /* another id */
		"PeterNeumanm+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", /* another name */
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T", "PeterNeumann+c74f20a3+",
		"PeterNeumann+c74f20a3+****", "PeterNeumann+c74f20a3+AQ==",
		/* a key of small order */
		"PeterNeumann+c74f20a3+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_string_equal(key_code(bad[i]), "NOTE_KEY");
	assert_string_equal(key_code("w+00000000+BkAA"), "NOTE_KEY_TYPE");
	assert_string_equal(key_code(note_key_text(&a, &witness_key)), "OK");
}

static void other_secrets_are_refused(void **state)
{
	static const char *const bad[] = { "", "PRIVATE+KEX+a+00000000+", "PRIVATE+KEY+a",
		"PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDF",
		"PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDF=",
		"PRIVATE+KEY+PeterNeumann+c74f20a3+BoEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz",
		"PRIVATE+KEY+PeterNeumann+c74f20a3+BIEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz" };
	struct note_key key;
	struct key *secret = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(note_secret_parse(&a, bytes_of(bad[i]), "key", &key, &secret, &e), E_INPUT);
		assert_string_equal(e.code, "NOTE_KEY");
		assert_null(secret);
	}
	struct bytes nul = BYTES_LITERAL(
		"PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKD\0z");
	assert_int_equal(note_secret_parse(&a, nul, "key", &key, &secret, &e), E_INPUT);
}

static void only_notes_are_notes(void **state)
{
	struct buf good = signed_note("one\n\ntwo\n", 7);
	static const char *const bad[] = { "", "\n", "\n\n", "text\n", "text\n\n",
		"text\n" DASH "a AAAAAAA=\n", "text\n\n" DASH "a AAAAAAA=", "text\n\n" DASH "a AAAAAAA\n",
		"text\n\n" DASH "a  AAAAAAA=\n", "text\n\n" DASH "a\n", "text\n\n- a AAAAAAA=\n",
		"text\n\n" DASH "a AAAAAA==\n" /* id alone */, "text\n\n" DASH " AAAAAAA=\n",
		"text\n\n" DASH "a+b AAAAAAA=\n", "te\txt\n\n" DASH "a AAAAAAA=\n",
		"te\rxt\n\n" DASH "a AAAAAAA=\n", "te\xffxt\n\n" DASH "a AAAAAAA=\n",
		"text\n\n" DASH "a AAAAAAA=\ntail\n", "text\n\n" DASH "a AAAAAAA=\n\n", "text\n\nab\n" };

	(void)state;
	assert_string_equal(parse_code(buf_bytes(&good)), "OK");
	assert_string_equal(parse_code(bytes_of("\n\n" DASH "a AAAAAAA=\n")), "OK");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_string_equal(parse_code(bytes_of(bad[i])), "NOTE_FORMAT");
	assert_string_equal(parse_code(BYTES_LITERAL("te\0xt\n\n" DASH "a AAAAAAA=\n")), "NOTE_FORMAT");
}

static void notes_have_a_limit(void **state)
{
	struct note note;
	struct buf b, many;

	(void)state;
	buf_init(&b, &a);
	while (b.n <= NOTE_LIMIT)
		buf_adds(&b, "line\n");
	assert_string_equal(parse_code(buf_bytes(&b)), "NOTE_LONG");
	assert_int_equal(note_parse_signatures(&a, buf_bytes(&b), "lines", &note, &e), E_LIMIT);
	buf_init(&many, &a);
	for (int i = 0; i < NOTE_SIGNATURES; i++)
		buf_adds(&many, DASH "a AAAAAAA=\n");
	assert_int_equal(note_parse_signatures(&a, buf_bytes(&many), "lines", &note, &e), OK);
	assert_int_equal(note.n, NOTE_SIGNATURES);
	buf_adds(&many, DASH "a AAAAAAA=\n");
	assert_int_equal(note_parse_signatures(&a, buf_bytes(&many), "lines", &note, &e), E_LIMIT);
	assert_int_equal(note_parse_signatures(&a, BYTES_LITERAL(""), "lines", &note, &e), E_INPUT);
}

static const char *verify_code(struct bytes text, struct note_seen *seen)
{
	struct note_key keys[] = { log_key, witness_key };
	struct note note;

	e = (struct err){ 0 };
	if (note_parse(&a, text, "note", &note, &e))
		return e.code;
	return note_verify(&a, &note, keys, 2, seen, &e) ? e.code : "OK";
}

static void known_keys_count(void **state)
{
	struct buf both = signed_note("text\n", 1679315147), one = signed_note("text\n", 0), b;
	struct note_seen seen[2];

	(void)state;
	assert_string_equal(verify_code(buf_bytes(&both), seen), "OK");
	assert_true(seen[0].has_signed && seen[1].has_signed);
	assert_int_equal(seen[1].time, 1679315147);
	assert_string_equal(verify_code(buf_bytes(&one), seen), "OK");
	assert_true(seen[0].has_signed && !seen[1].has_signed);
	/* Unknown ones say nothing: another name with this id, this name with another id. */
	buf_init(&b, &a);
	buf_add(&b, one.p, one.n);
	buf_addf(&b, DASH "%s AAAAAAA=\n", ORIGIN);
	buf_addf(&b, DASH "else %s", strrchr(one.p, ' ') + 1);
	assert_string_equal(verify_code(buf_bytes(&b), seen), "OK");
	/* Twice the same is as good as once, and the first one counts. */
	note_sign(&b, &witness_key, witness_secret, BYTES_LITERAL("text\n"), 5);
	note_sign(&b, &witness_key, witness_secret, BYTES_LITERAL("text\n"), 6);
	assert_string_equal(verify_code(buf_bytes(&b), seen), "OK");
	assert_int_equal(seen[1].time, 5);
	/* Nobody we know. */
	assert_string_equal(
		verify_code(BYTES_LITERAL("text\n\n" DASH "a AAAAAAA=\n"), seen), "NOTE_UNSIGNED");
}

static void a_false_signature_condemns_the_note(void **state)
{
	struct buf b = signed_note("text\n", 7), late;
	struct note_seen seen[2];
	struct note_key wrong = witness_key;

	(void)state;
	b.p[0] = 'T';
	assert_string_equal(verify_code(buf_bytes(&b), seen), "NOTE_SIGNATURE");
	/* The log is right, the witness is not: signed for another time than it says. */
	b = signed_note("text\n", 0);
	uint8_t sig[SIGN_SIZE];
	key_sign(witness_secret, note_message(&a, &witness_key, BYTES_LITERAL("text\n"), 7), sig);
	note_add_line(&b, &witness_key, 8, sig);
	assert_string_equal(verify_code(buf_bytes(&b), seen), "NOTE_SIGNATURE");
	/* A time that no clock has. */
	late = signed_note("text\n", (uint64_t)INT64_MAX + 1);
	assert_string_equal(verify_code(buf_bytes(&late), seen), "NOTE_SIGNATURE");
	/* A cosignature without its time has another length. */
	b = signed_note("text\n", 0);
	wrong.type = NOTE_ED25519;
	note_add_line(&b, &wrong, 0, sig);
	assert_string_equal(verify_code(buf_bytes(&b), seen), "NOTE_SIGNATURE");
}

static const char *head_code(const char *text)
{
	struct tlog_head head;

	e = (struct err){ 0 };
	return tlog_head_parse(&a, bytes_of(text), "head", &head, &e) ? e.code : "OK";
}

#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

static void heads_are_three_lines(void **state)
{
	static const char text[] = "example.com/behind-the-sofa\n20852163\n" ROOT "\n";
	static const char *const bad[] = { "", "a", "a\n", "a\n1\n", "a\n1\n" ROOT, "\n1\n" ROOT "\n",
		"a b\n1\n" ROOT "\n", "a\n01\n" ROOT "\n", "a\n-1\n" ROOT "\n", "a\n\n" ROOT "\n",
		"a\n9223372036854775808\n" ROOT "\n", "a\n99999999999999999999\n" ROOT "\n",
		"a\n1:\n" ROOT "\n", "a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I\n",
		"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n",
		"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxqw==\n" };
	struct tlog_head head, other;

	(void)state;
	assert_int_equal(tlog_head_parse(&a, bytes_of(text), "head", &head, &e), OK);
	assert_string_equal(tlog_head_text(&a, &head), text);
	assert_int_equal(head.size, 20852163);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_string_equal(head_code(bad[i]), "TLOG_HEAD");
	assert_string_equal(head_code("a\n0\n" ROOT "\n"), "OK");
	assert_string_equal(head_code("a\n9223372036854775807\n" ROOT "\n"), "OK");
	assert_string_equal(head_code("a\n1\n" ROOT "\nmore\n"), "TLOG_EXTENSION");
	other = head;
	assert_true(tlog_head_eq(&head, &other));
	other.size++;
	assert_false(tlog_head_eq(&head, &other));
	other = head;
	other.root.b[0] ^= 1;
	assert_false(tlog_head_eq(&head, &other));
	other = head;
	other.origin = "else";
	assert_false(tlog_head_eq(&head, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_no_spaces),
		cmocka_unit_test(a_known_key_reads),
		cmocka_unit_test(other_keys_are_refused),
		cmocka_unit_test(other_secrets_are_refused),
		cmocka_unit_test(only_notes_are_notes),
		cmocka_unit_test(notes_have_a_limit),
		cmocka_unit_test(known_keys_count),
		cmocka_unit_test(a_false_signature_condemns_the_note),
		cmocka_unit_test(heads_are_three_lines),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
