/* key_test.c — keys on disk: what is made, what is read back, what is refused. */
#include "base/hash.h"
#include "base/text.h"
#include "proof/key.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>

static const char seed_hex[] = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
static const char pub_hex[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

static struct scratch t;
static struct err e;
static struct sys *s;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	s = sys_real();
	e = (struct err){ 0 };
	assert_int_equal(mkdirat(t.fd, "k", 0700), 0);
	scratch_put(&t, "k/root.key", seed_hex);
	scratch_put(&t, "k/root.pub", pub_hex);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_done(&t);
	return 0;
}

static void load_refuses(const char *code)
{
	struct key *k = NULL;
	int rc = key_load(s, t.fd, "k", "root", &k, &e);

	assert_true(rc < 0);
	assert_null(k);
	assert_string_equal(e.code, code);
	assert_null(strstr(e.text, "9d61b19d")); /* a secret never gets into a message */
}

static void load_accepts(void)
{
	AUTO(key_free) struct key *k = NULL;
	char hex[65];

	if (key_load(s, t.fd, "k", "root", &k, &e))
		fail_msg("%s", e.text);
	hex_encode(key_public(k), SIGN_PUBLIC, hex);
	assert_string_equal(hex, pub_hex);
}

static void create(void **state)
{
	(void)state;
	AUTO(key_free) struct key *k = NULL;
	AUTO(key_free) struct key *again = NULL;
	struct bytes msg = BYTES_LITERAL("message");
	uint8_t sig[SIGN_SIZE];
	struct stat st;

	assert_int_equal(key_create(s, t.fd, "new/keys", "root", &k, &e), OK);
	assert_int_equal(fstatat(t.fd, "new/keys", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(t.fd, "new/keys/root.key", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 64);
	key_sign(k, msg, sig);
	assert_true(sign_verify(key_public(k), msg, sig));

	assert_int_equal(key_load(s, t.fd, "new/keys", "root", &again, &e), OK);
	assert_memory_equal(key_public(k), key_public(again), SIGN_PUBLIC);
	char id[KEY_ID];
	key_id(key_public(k), id);
	assert_memory_equal(id, "ed25519:", 8);
	assert_string_equal(scratch_get(&t, "new/keys/root.pub"), id + 8);
}

static void create_never_overwrites(void **state)
{
	(void)state;
	struct key *k = NULL;

	assert_true(key_create(s, t.fd, "k", "root", &k, &e) < 0);
	assert_string_equal(e.code, "KEY_EXISTS");
	assert_null(k);
	assert_string_equal(scratch_get(&t, "k/root.key"), seed_hex);
	/* Not even a link that leads nowhere. */
	assert_int_equal(symlinkat("gone", t.fd, "k/other.key"), 0);
	assert_true(key_create(s, t.fd, "k", "other", &k, &e) < 0);
	assert_string_equal(e.code, "KEY_EXISTS");
	assert_true(key_create(s, t.fd, "k", "../x", &k, &e) < 0);
	assert_string_equal(e.code, "KEY_NAME");
	assert_false(scratch_has(&t, "x.key"));
}

static void create_in_open_directory(void **state)
{
	(void)state;
	struct key *k = NULL;

	assert_int_equal(mkdirat(t.fd, "loose", 0755), 0);
	assert_int_equal(fchmodat(t.fd, "loose", 0755, 0), 0);
	assert_true(key_create(s, t.fd, "loose", "root", &k, &e) < 0);
	assert_string_equal(e.code, "KEY_MODE");
	assert_false(scratch_has(&t, "loose/root.key"));
}

static void load(void **state)
{
	(void)state;
	load_accepts();
	scratch_put(&t, "k/root.key", "9D61B19DEFFD5A60BA844AF492EC2CC44449C5697B326919703BAC031CAE7F60\n");
	load_accepts();
	scratch_put(&t, "k/root.pub",
		"ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\n");
	load_accepts();
	assert_int_equal(unlinkat(t.fd, "k/root.pub", 0), 0);
	load_accepts();
}

static void load_modes(void **state)
{
	(void)state;
	static const mode_t loose[] = { 0604, 0640, 0610, 0601, 0620, 0602 };

	for (size_t i = 0; i < ARRAY_SIZE(loose); i++) {
		assert_int_equal(fchmodat(t.fd, "k/root.key", loose[i], 0), 0);
		load_refuses("KEY_MODE");
	}
	assert_int_equal(fchmodat(t.fd, "k/root.key", 0400, 0), 0);
	load_accepts();
	assert_int_equal(fchmodat(t.fd, "k", 0750, 0), 0);
	load_refuses("KEY_MODE");
	assert_int_equal(fchmodat(t.fd, "k", 0701, 0), 0);
	load_refuses("KEY_MODE");
	assert_non_null(strstr(e.text, "chmod 700"));
}

static void load_owner(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip_because("only root can give a file away");
	assert_int_equal(fchownat(t.fd, "k/root.key", 12345, 12345, 0), 0);
	load_refuses("KEY_OWNER");
	assert_int_equal(fchownat(t.fd, "k/root.key", 0, 0, 0), 0);
	assert_int_equal(fchownat(t.fd, "k", 12345, 12345, 0), 0);
	load_refuses("KEY_OWNER");
}

static void load_links(void **state)
{
	(void)state;
	assert_int_equal(renameat(t.fd, "k/root.key", t.fd, "k/real.key"), 0);
	assert_int_equal(symlinkat("real.key", t.fd, "k/root.key"), 0);
	load_refuses("KEY_LINK");
	assert_int_equal(unlinkat(t.fd, "k/root.key", 0), 0);
	assert_int_equal(mkfifoat(t.fd, "k/root.key", 0600), 0);
	load_refuses("KEY_FORMAT");
	assert_int_equal(renameat(t.fd, "k", t.fd, "real"), 0);
	assert_int_equal(symlinkat("real", t.fd, "k"), 0);
	load_refuses("KEY_LINK");
	assert_int_equal(unlinkat(t.fd, "k", 0), 0);
	load_refuses("KEY_MISSING");
	assert_int_equal(e.rc, E_MISSING);
}

static void load_content(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "9d61",
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f6",
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f6g",
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f600",
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n\n",
		" 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f6" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		scratch_put(&t, "k/root.key", bad[i]);
		load_refuses("KEY_FORMAT");
	}
	scratch_put(&t, "k/root.key", seed_hex);
	scratch_put(&t, "k/root.pub", "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
	load_refuses("KEY_MISMATCH");
	scratch_put(&t, "k/root.pub", "junk");
	load_refuses("KEY_FORMAT");
	scratch_put(&t, "k/root.pub", "0100000000000000000000000000000000000000000000000000000000000000");
	load_refuses("KEY_WEAK");
}

static void parse_public(void **state)
{
	(void)state;
	uint8_t pub[SIGN_PUBLIC] = { 9 };
	char text[128];

	snprintf(text, sizeof(text), " \t%s\r\n", pub_hex);
	assert_int_equal(key_parse_public(bytes_of(text), "f", pub, &e), OK);
	snprintf(text, sizeof(text), "ed25519:%s", pub_hex);
	assert_int_equal(key_parse_public(bytes_of(text), "f", pub, &e), OK);

	static const char *const bad[] = { "", " ", "ed25519:", "ed25519:ed25519:", "rsa:00", "d75a" };
	uint8_t before = pub[0];
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(key_parse_public(bytes_of(bad[i]), "f", pub, &e) < 0);
		assert_string_equal(e.code, "KEY_FORMAT");
	}
	memset(text, '0', 64);
	text[1] = '1';
	text[64] = '\0';
	assert_true(key_parse_public(bytes_of(text), "f", pub, &e) < 0);
	assert_string_equal(e.code, "KEY_WEAK");
	assert_int_equal(pub[0], before);
}

static void names_that_are_no_file_names(void **state)
{
	static const char long_name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	const char *const names[] = { "", ".", "..", ".hidden", "a/b", "/etc/x", long_name };
	struct key *k = NULL;

	(void)state;
	assert_int_equal(strlen(long_name), 65);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(key_load(s, t.fd, "k", names[i], &k, &e), E_INPUT);
		assert_string_equal(e.code, "KEY_NAME");
		assert_int_equal(key_create(s, t.fd, "k", names[i], &k, &e), E_INPUT);
		assert_string_equal(e.code, "KEY_NAME");
	}
	assert_null(k);
	assert_int_equal(key_create(s, t.fd, "k", long_name + 1, &k, &e), OK);
	key_free(&k);
}

static int no_random(struct sys *sys, void *to, size_t n)
{
	(void)sys, (void)to, (void)n;
	errno = EIO;
	return -1;
}

/* A key made of nothing would look like any other. */
static void no_random_numbers_no_key(void **state)
{
	struct sys poor = *s;
	struct key *k = NULL;

	(void)state;
	poor.random = no_random;
	assert_int_equal(key_create(&poor, t.fd, "k", "new", &k, &e), E_IO);
	assert_string_equal(e.code, "KEY_RANDOM");
	assert_null(k);
	assert_false(scratch_has(&t, "k/new.key"));
	assert_false(scratch_has(&t, "k/new.pub"));
}

/* A link that leads to itself anywhere on the way is a link. */
static void a_directory_behind_a_looping_link(void **state)
{
	struct key *k = NULL;

	(void)state;
	assert_int_equal(symlinkat("loop", t.fd, "loop"), 0);
	assert_int_equal(key_load(s, t.fd, "loop/k", "root", &k, &e), E_INPUT);
	assert_string_equal(e.code, "KEY_LINK");
	assert_null(k);
}

/* Cut short after the secret was put in place: done again, it completes what was begun. */
static void a_promotion_is_completed_the_second_time(void **state)
{
	AUTO(key_free) struct key *made = NULL;
	AUTO(key_free) struct key *now = NULL;

	(void)state;
	assert_int_equal(key_create(s, t.fd, "k", "next", &made, &e), OK);
	assert_int_equal(renameat(t.fd, "k/next.key", t.fd, "k/root.key"), 0);
	assert_int_equal(unlinkat(t.fd, "k/root.pub", 0), 0);
	assert_int_equal(key_promote(s, t.fd, "k", "next", "root", &e), OK);
	assert_int_equal(key_load(s, t.fd, "k", "root", &now, &e), OK);
	assert_memory_equal(key_public(now), key_public(made), SIGN_PUBLIC);
	assert_true(scratch_has(&t, "k/root.pub"));
	assert_false(scratch_has(&t, "k/next.pub"));
}

/* What cannot be looked at is not taken for "done already". */
static void a_promotion_looks_before_it_believes(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(key_promote(s, t.fd, "k", name, "root", &e), E_IO);
	assert_string_equal(e.code, "KEY_READ");
	load_accepts();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(create, setup, teardown),
		cmocka_unit_test_setup_teardown(create_never_overwrites, setup, teardown),
		cmocka_unit_test_setup_teardown(create_in_open_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(load, setup, teardown),
		cmocka_unit_test_setup_teardown(load_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(load_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(load_links, setup, teardown),
		cmocka_unit_test_setup_teardown(load_content, setup, teardown),
		cmocka_unit_test_setup_teardown(parse_public, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_are_no_file_names, setup, teardown),
		cmocka_unit_test_setup_teardown(no_random_numbers_no_key, setup, teardown),
		cmocka_unit_test_setup_teardown(a_directory_behind_a_looping_link, setup, teardown),
		cmocka_unit_test_setup_teardown(a_promotion_is_completed_the_second_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_promotion_looks_before_it_believes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
