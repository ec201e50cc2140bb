/* sshsig_test.c — OpenSSH's signatures: what was signed, by that key, for that purpose, by somebody who was there. */
#include "tools/ssh_sign.h"
#include "tools/unit.h"

static struct arena a;
static struct err e;
static struct ssh_key key;
static struct sshsig_facts facts;
#define SPACE "helm-approval@v1"
static const struct ssh_signer plain = { .seed = 7, .name_space = SPACE };
static const struct ssh_signer touched = {
	.is_sk = true, .seed = 8, .flags = 1, .counter = 41, .name_space = SPACE
};
static const struct bytes message = BYTES_LITERAL("rm -rf build, once\n");

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static void is_key(const struct ssh_signer *s)
{
	e = (struct err){ 0 };
	assert_int_equal(ssh_key_parse(&a, bytes_of(ssh_line(&a, s)), "line", &key, &e), OK);
}

/* The signature that `s` makes, under the key that is_key() took. */
static const char *answer(const struct ssh_signer *s)
{
	e = (struct err){ 0 };
	facts = (struct sshsig_facts){ 0 };
	return sshsig_verify(&a, &key, SPACE, message,
		       bytes_of(ssh_armour(&a, ssh_sign_blob(&a, s, message))), &facts, &e)
		? e.code
		: "OK";
}

static void both_kinds_verify(void **state)
{
	struct ssh_signer s = touched;

	(void)state;
	is_key(&plain);
	assert_string_equal(answer(&plain), "OK");
	assert_int_equal(facts.counter, 0);
	is_key(&touched);
	assert_string_equal(answer(&touched), "OK");
	assert_int_equal(facts.counter, 41);
	assert_false(facts.is_verified);
	s.flags = 5;
	assert_string_equal(answer(&s), "OK");
	assert_true(facts.is_verified);
	s.hash = "sha256";
	assert_string_equal(answer(&s), "OK");
}

/* Each is signed rightly: what is wrong is what it says. */
static void each_part_is_meant(void **state)
{
	static const struct {
		struct ssh_signer s;
		const char *code;
	} cases[] = {
		{ { .is_sk = true, .seed = 8, .flags = 0, .name_space = SPACE }, "SSHSIG_PRESENCE" },
		{ { .is_sk = true, .seed = 8, .flags = 4, .name_space = SPACE }, "SSHSIG_PRESENCE" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = "git" }, "SSHSIG_NAMESPACE" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = "" }, "SSHSIG_NAMESPACE" },
		{ { .is_sk = true, .seed = 9, .flags = 1, .name_space = SPACE }, "SSHSIG_KEY" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = SPACE, .application = "ssh:web" },
			"SSHSIG_KEY" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = SPACE, .reserved = "x" },
			"SSHSIG_FORMAT" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = SPACE, .hash = "md5" },
			"SSHSIG_FORMAT" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = SPACE, .version = 2 },
			"SSHSIG_FORMAT" },
		{ { .is_sk = true, .seed = 8, .flags = 1, .name_space = SPACE, .magic = "SSHSIX" },
			"SSHSIG_FORMAT" },
		{ { .seed = 8, .name_space = SPACE }, "SSHSIG_KEY" },
	};

	(void)state;
	is_key(&touched);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(answer(&cases[i].s), cases[i].code);
}

/* The key's blob and the signature are of two algorithms, or of two applications. */
static void parts_belong_together(void **state)
{
	struct ssh_signer other = touched;
	struct bytes one = ssh_sign_blob(&a, &touched, message), two;
	struct buf mixed;
	size_t key_end = 6 + 4 + 4 + ssh_blob(&a, &touched).n;

	(void)state;
	is_key(&touched);
	other.application = "ssh:web";
	two = ssh_sign_blob(&a, &other, message);
	buf_init(&mixed, &a);
	buf_add(&mixed, one.p, key_end);
	buf_add(&mixed, two.p + key_end + 3, two.n - key_end - 3);
	assert_int_equal(sshsig_verify(&a, &key, SPACE, message, bytes_of(ssh_armour(&a, buf_bytes(&mixed))),
				 &facts, &e),
		E_DENIED);
	assert_string_equal(e.code, "SSHSIG_INVALID");
	two = ssh_sign_blob(&a, &(struct ssh_signer){ .seed = 8, .name_space = SPACE }, message);
	mixed.n = key_end;
	size_t plain_end = 6 + 4 + 4 + ssh_blob(&a, &plain).n;
	buf_add(&mixed, two.p + plain_end, two.n - plain_end);
	assert_int_equal(sshsig_verify(&a, &key, SPACE, message, bytes_of(ssh_armour(&a, buf_bytes(&mixed))),
				 &facts, &e),
		E_INPUT);
	assert_string_equal(e.code, "SSHSIG_FORMAT");
}

static void another_text_is_refused(void **state)
{
	char *text = ssh_armour(&a, ssh_sign_blob(&a, &touched, message));

	(void)state;
	is_key(&touched);
	assert_int_equal(sshsig_verify(&a, &key, SPACE, BYTES_LITERAL("rm -rf src, once\n"), bytes_of(text),
				 &facts, &e),
		E_DENIED);
	assert_string_equal(e.code, "SSHSIG_INVALID");
}

/* Cut anywhere, with one bit changed anywhere, or with something behind it. */
static void every_byte_counts(void **state)
{
	const struct ssh_signer *const both[] = { &plain, &touched };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(both); k++) {
		struct bytes blob = ssh_sign_blob(&a, both[k], message);
		uint8_t *copy = arena_alloc(&a, blob.n + 1);
		is_key(both[k]);
		for (size_t i = 0; i < blob.n; i++) {
			assert_int_not_equal(
				sshsig_verify(&a, &key, SPACE, message,
					bytes_of(ssh_armour(&a, (struct bytes){ blob.p, i })), &facts, &e),
				OK);
			for (int bit = 0; bit < 8; bit++) {
				memcpy(copy, blob.p, blob.n);
				copy[i] ^= (uint8_t)(1 << bit);
				assert_int_not_equal(
					sshsig_verify(&a, &key, SPACE, message,
						bytes_of(ssh_armour(&a, (struct bytes){ copy, blob.n })),
						&facts, &e),
					OK);
			}
		}
		memcpy(copy, blob.p, blob.n);
		copy[blob.n] = 0;
		assert_int_not_equal(
			sshsig_verify(&a, &key, SPACE, message,
				bytes_of(ssh_armour(&a, (struct bytes){ copy, blob.n + 1 })), &facts, &e),
			OK);
	}
}

static void the_armour_has_one_form(void **state)
{
	const char *text = ssh_armour(&a, ssh_sign_blob(&a, &plain, message));
	const char *body = text + strlen("-----BEGIN SSH SIGNATURE-----\n");
	const char *const wrong[] = { "", "\n", "-----END SSH SIGNATURE-----", body,
		arena_printf(&a, "%s\n", text), arena_printf(&a, " %s", text),
		arena_printf(&a, "%.*s\n\n%s", 40, text, text + 40),
		arena_printf(&a, "%.*s %s", 40, text, text + 40),
		arena_printf(&a, "-----BEGIN SSH SIGNATURE-----\n\n%s", body),
		arena_printf(&a, "%.*s-----END SSH SIGNATURE-----\n", (int)strlen(text) - 29, text),
		"-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n" };
	char *long_line = arena_strdup(&a, text);

	(void)state;
	is_key(&plain);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(
			sshsig_verify(&a, &key, SPACE, message, bytes_of(wrong[i]), &facts, &e), E_INPUT);
		assert_string_equal(e.code, "SSHSIG_FORMAT");
	}
	memmove(long_line + 100, long_line + 101, strlen(long_line + 100));
	assert_int_equal(sshsig_verify(&a, &key, SPACE, message, bytes_of(long_line), &facts, &e), E_INPUT);
	/* The newline behind the last line is not always written. */
	assert_int_equal(sshsig_verify(&a, &key, SPACE, message,
				 (struct bytes){ (const uint8_t *)text, strlen(text) - 1 }, &facts, &e),
		OK);
	char *large = arena_text(&a, SSHSIG_LIMIT + 100);
	memset(large, 'A', SSHSIG_LIMIT + 99);
	large[SSHSIG_LIMIT + 99] = '\0';
	assert_int_equal(sshsig_verify(&a, &key, SPACE, message, bytes_of(large), &facts, &e), E_INPUT);
}

static const char *key_answer(const char *line)
{
	e = (struct err){ 0 };
	return ssh_key_parse(&a, bytes_of(line), "line", &key, &e) ? e.code : "OK";
}

static void keys_are_read_strictly(void **state)
{
	char *line = ssh_line(&a, &touched), *large = arena_text(&a, SSH_KEY_LIMIT + 2);

	(void)state;
	assert_string_equal(key_answer(line), "OK");
	assert_true(ssh_key_is_line(bytes_of(line)));
	assert_string_equal(key_answer(ssh_key_text(&a, &key)), "OK");
	assert_true(text_starts(ssh_key_fingerprint(&a, &key), "SHA256:"));
	assert_string_equal(key_answer("ssh-rsa AAAA"), "SSH_KEY_TYPE");
	assert_true(ssh_key_is_line(bytes_of("ssh-rsa AAAA")));
	assert_true(ssh_key_is_line(bytes_of("ecdsa-sha2-nistp256 AAAA")));
	assert_false(ssh_key_is_line(bytes_of("00112233")));
	assert_false(ssh_key_is_line(bytes_of("")));
	assert_string_equal(key_answer("ssh-ed25519"), "SSH_KEY_TYPE");
	assert_string_equal(key_answer("ssh-ed25519 "), "SSH_KEY_FORMAT");
	assert_string_equal(key_answer("ssh-ed25519 ????"), "SSH_KEY_FORMAT");
	assert_string_equal(key_answer(arena_printf(&a, "ssh-ed25519 %s", line + 27)), "SSH_KEY_FORMAT");
	/* An application of the web is not one of ours; nor is none. */
	struct ssh_signer other = touched;
	other.application = "https://example.org";
	assert_string_equal(key_answer(ssh_line(&a, &other)), "SSH_KEY_FORMAT");
	other.application = "ss";
	assert_string_equal(key_answer(ssh_line(&a, &other)), "SSH_KEY_FORMAT");
	/* Every cut of the blob, and one byte too many. */
	struct bytes blob = ssh_blob(&a, &touched);
	for (size_t i = 0; i < blob.n; i++)
		assert_string_equal(key_answer(arena_printf(&a, "sk-ssh-ed25519@openssh.com %s",
					    base64_encode(&a, blob.p, i, BASE64_STD, true))),
			i < blob.n ? "SSH_KEY_FORMAT" : "OK");
	/* A point of small order. */
	struct bytes weak = ssh_blob(&a, &plain);
	memset((uint8_t *)weak.p + weak.n - SIGN_PUBLIC, 0, SIGN_PUBLIC);
	assert_string_equal(key_answer(arena_printf(&a, "ssh-ed25519 %s",
				    base64_encode(&a, weak.p, weak.n, BASE64_STD, true))),
		"KEY_WEAK");
	memset(large, 'A', SSH_KEY_LIMIT + 1);
	large[SSH_KEY_LIMIT + 1] = '\0';
	assert_string_equal(key_answer(large), "SSH_KEY_FORMAT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_verify),
		cmocka_unit_test(each_part_is_meant),
		cmocka_unit_test(parts_belong_together),
		cmocka_unit_test(another_text_is_refused),
		cmocka_unit_test(every_byte_counts),
		cmocka_unit_test(the_armour_has_one_form),
		cmocka_unit_test(keys_are_read_strictly),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
