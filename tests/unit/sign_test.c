/* sign_test.c — Ed25519 against RFC 8032 section 7.1, and the strict profile against tests/cases/ed25519-strict.jsonl:
 * signatures that a lax verifier accepts because the equation holds. */
#include "base/hash.h"
#include "proof/sign.h"
#include "tools/unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct bytes from_hex(const char *hex, uint8_t *to, size_t cap)
{
	size_t n = strlen(hex) / 2;

	assert_true(n <= cap);
	assert_true(hex_decode(hex, strlen(hex), to, n, true));
	return (struct bytes){ to, n };
}

static void rfc8032(void **state)
{
	(void)state;
	static const char *const cases[][4] = {
		{ "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
			"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
			"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e"
			"39701cf9b46bd25bf5f0"
			"595bbe24655141438e7a100b" },
		{ "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
			"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
			"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f"
			"3613d0f11d8c387b2eae"
			"b4302aeeb00d291612bb0c00" },
		{ "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
			"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
			"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67"
			"f760984dc6594a7c15e9"
			"716ed28dc027beceea1ec40a" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t seed[32], pub[32], msg[8], sig[64], secret[64], made_pub[32], made_sig[64];
		from_hex(cases[i][0], seed, sizeof(seed));
		from_hex(cases[i][1], pub, sizeof(pub));
		struct bytes m = from_hex(cases[i][2], msg, sizeof(msg));
		from_hex(cases[i][3], sig, sizeof(sig));
		sign_expand(seed, secret, made_pub);
		sign_message(secret, m, made_sig);
		assert_memory_equal(made_pub, pub, sizeof(pub));
		assert_memory_equal(made_sig, sig, sizeof(sig));
		assert_true(sign_verify(pub, m, sig));
	}
}

struct vector {
	char name[80], pub[65], msg[65], sig[129], expect[8];
};

static bool next_vector(FILE *in, struct vector *v)
{
	char line[1024];

	if (!fgets(line, sizeof(line), in))
		return false;
	assert_int_equal(
		sscanf(line,
			"{\"name\":\"%79[^\"]\",\"public_key\":\"%64[^\"]\",\"message_hex\":\"%64[^\"]\","
			"\"signature\":\"%128[^\"]\",\"expect\":\"%7[^\"]\"}",
			v->name, v->pub, v->msg, v->sig, v->expect),
		5);
	return true;
}

static void check_vector(const struct vector *v)
{
	uint8_t pub[32], msg[32], sig[64];

	from_hex(v->pub, pub, sizeof(pub));
	struct bytes m = from_hex(v->msg, msg, sizeof(msg));
	from_hex(v->sig, sig, sizeof(sig));
	bool want = strcmp(v->expect, "accept") == 0;
	if (sign_verify(pub, m, sig) != want)
		fail_msg("%s: expected %s", v->name, v->expect);
}

static void strict(void **state)
{
	(void)state;
	FILE *in = fopen("tests/cases/ed25519-strict.jsonl", "re");
	struct vector v;
	size_t count = 0;

	assert_non_null(in);
	for (; next_vector(in, &v); count++)
		check_vector(&v);
	fclose(in);
	assert_true(count >= 38);
}

static void no_bit_may_flip(void **state)
{
	(void)state;
	uint8_t seed[32] = { 7 }, secret[64], pub[32], sig[64], msg[] = "no receipt, no effect";
	struct bytes m = { msg, sizeof(msg) };

	sign_expand(seed, secret, pub);
	sign_message(secret, m, sig);
	assert_true(sign_verify(pub, m, sig));
	for (size_t bit = 0; bit < 8 * sizeof(sig); bit++) {
		sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(sign_verify(pub, m, sig));
		sig[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(msg); bit++) {
		msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(sign_verify(pub, m, sig));
		msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(pub); bit++) {
		pub[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_false(sign_verify(pub, m, sig));
		pub[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(sign_verify(pub, m, sig));
}

/* Two keys in turn, so that each thread's memory of the last good key is exercised. */
static void *verify_often(void *arg)
{
	(void)arg;
	uint8_t seed[2][32] = { { 1 }, { 2 } }, secret[64], pub[2][32], sig[2][64];
	struct bytes m = BYTES_LITERAL("message");
	size_t bad = 0;

	for (int i = 0; i < 2; i++) {
		sign_expand(seed[i], secret, pub[i]);
		sign_message(secret, m, sig[i]);
	}
	for (int i = 0; i < 40; i++)
		bad += !sign_verify(pub[i / 2 % 2], m, sig[i / 2 % 2]) +
			sign_verify(pub[i % 2], m, sig[(i + 1) % 2]);
	return (void *)(uintptr_t)bad;
}

static void threads(void **state)
{
	(void)state;
	pthread_t ids[4];
	void *bad;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_int_equal(pthread_create(&ids[i], NULL, verify_often, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(pthread_join(ids[i], &bad), 0);
		assert_null(bad);
	}
}

/* Does writing this byte end the program? */
static bool is_fatal(uint8_t *at)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint8_t *)at = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

/* What the kernel says of the mapping that holds p: "dd" is left out of core dumps, "lo" is locked. */
static bool has_flag(const void *p, const char *flag)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	bool is_inside = false, found = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uintptr_t from, to;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			is_inside = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, flag) != NULL;
	}
	fclose(f);
	return found;
}

static void guarded_secrets(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	bool is_locked;
	uint8_t *p = secret_alloc(100, &is_locked), *start = p - (uintptr_t)p % page;

	assert_non_null(p);
	assert_int_equal(p[0] | p[99], 0);
	assert_false(is_fatal(p));
	assert_false(is_fatal(p + 99));
	assert_true(is_fatal(start - 1));
	assert_true(is_fatal(start + page));
	assert_true(p + 100 + 16 > start + page); /* nothing much between its end and the guard */
	assert_true(has_flag(p, " dd"));
#if !defined(__SANITIZE_ADDRESS__) /* there nothing is ever locked */
	assert_int_equal(has_flag(p, " lo"), is_locked);
#endif
	secret_seal(p);
	assert_true(is_fatal(p));
	secret_free(p);
	p = secret_alloc(page, &is_locked);
	assert_non_null(p);
	secret_free(p);
	assert_null(secret_alloc(page + 1, &is_locked));
}

static void secrets(void **state)
{
	(void)state;
	bool is_locked;
	uint8_t *p = secret_alloc(100, &is_locked);

	assert_non_null(p);
	memset(p, 1, 100);
	secret_wipe(p, 100);
	assert_int_equal(p[0] | p[99], 0);
	secret_seal(p);
	secret_free(p);
	secret_free(NULL);
	assert_null(secret_alloc(SIZE_MAX / 2, &is_locked));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc8032),
		cmocka_unit_test(strict),
		cmocka_unit_test(no_bit_may_flip),
		cmocka_unit_test(threads),
		cmocka_unit_test(secrets),
		cmocka_unit_test(guarded_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
