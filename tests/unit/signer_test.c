/* signer_test.c — the keeper of a key, asked without a socket: long chains, lost writes, failing disks, chains that were cut. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/signer.h"
#include "record/record.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct scratch t;
static struct arena a;
static struct err e;
static struct signer *g;
static struct fault f; /* the signer's own world */
static struct key *local, *kept;
static struct recorder r;
static int state_fd;
static uid_t user; /* who asks */
static char given[1024][2 * SIGN_SIZE + 1]; /* what was given for each place of the one chain */

/* What the socket does, without one. */
static int asked(
	void *arg, enum key_use use, const struct json *whole, uint8_t ret_sig[SIGN_SIZE], struct err *ret)
{
	static const char *const ops[] = { "receipt", "decision", "head", "link" };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf b;

	(void)arg;
	json_sets(&a, doc, "op", ops[use]);
	json_set(&a, doc, "record", json_copy(&a, whole));
	buf_init(&b, &a);
	json_canonical(&b, doc);
	struct json *answer = signer_answer(g, &a, user, buf_bytes(&b));
	const char *sig = json_get_text(answer, "signature", "");
	if (json_get(answer, "error"))
		return err_set(ret, E_DENIED, json_get_text(answer, "error", ""), "%s",
			json_get_text(answer, "text", ""));
	assert_true(hex_decode(sig, strlen(sig), ret_sig, SIGN_SIZE, true));
	int64_t place = use == KEY_FOR_RECEIPT ? json_get_int(whole, "lamport_clock", 0) : 0;
	if (place && given[place][0])
		assert_string_equal(given[place], sig);
	if (place)
		memcpy(given[place], sig, strlen(sig) + 1);
	return OK;
}

static void begin(void)
{
	const char *home = arena_printf(&a, "%s/keeper", t.path);

	e = (struct err){ 0 };
	assert_int_equal(signer_open(&f.sys, home, &g, &e), OK);
}

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	fault_init(&f);
	memset(given, 0, sizeof(given));
	user = 7;
	e = (struct err){ 0 };
	assert_int_equal(key_create(sys_real(), t.fd, "keeper/keys", "root", &local, &e), OK);
	begin();
	assert_int_equal(
		key_new_kept(key_public(local), &(struct key_keeper){ asked, NULL, NULL }, &kept, &e), OK);
	assert_int_equal(mkdirat(t.fd, "state", 0700), 0);
	state_fd = openat(t.fd, "state", O_RDONLY | O_DIRECTORY);
	recorder_open(&r, sys_real(), state_fd, kept);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorder_close(&r);
	close(state_fd);
	signer_close(&g);
	key_free(&local);
	key_free(&kept);
	arena_done(&a);
	a = (struct arena){ 0 };
	scratch_done(&t);
	return 0;
}

static int append(const char *name)
{
	struct draft d = { .decision_id = name, .effect_id = "helm.test/x", .status = "RECORDED" };

	e = (struct err){ 0 };
	return recorder_append(&r, &a, &d, 1, NULL, &e);
}

/* Longer than the signer's file, across its restarts; and the heads over it. */
static void long_chains(void **state)
{
	struct json *head;

	(void)state;
	for (int i = 0; i < 600; i++) {
		assert_int_equal(append(arena_printf(&a, "dec-%d", i)), OK);
		if (i % 97 == 0) {
			signer_close(&g);
			begin();
		}
		if (i % 150 == 0)
			assert_int_equal(log_sign_head(&r, &a, &head, &e), OK);
	}
	signer_close(&g);
	begin();
	assert_int_equal(log_sign_head(&r, &a, &head, &e), OK);
	assert_int_equal(json_get_int(head, "tree_size", 0), 600);
}

/* The chain as it was before, put back: nothing is signed for it. */
static void a_chain_that_was_cut(void **state)
{
	struct bytes old;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(append("dec-a"), OK);
	assert_int_equal(file_read(sys_real(), &a, state_fd, "receipts.jsonl", 1 << 20, 0, &old, &e), OK);
	for (int i = 0; i < 400; i++)
		assert_int_equal(append("dec-b"), OK);
	recorder_close(&r);
	(void)unlinkat(t.fd, "state/log/edge", 0);
	(void)unlinkat(t.fd, "state/log/leaves", 0);
	(void)unlinkat(t.fd, "state/log/heads.jsonl", 0);
	assert_int_equal(file_replace(sys_real(), state_fd, "receipts.jsonl", 0600, old, &e), OK);
	recorder_open(&r, sys_real(), state_fd, kept);
	assert_int_equal(append("dec-c"), E_DENIED);
	assert_string_equal(e.code, "SIGNER_FORK");
}

/* Whatever call of the signer's own world fails, and whoever forgets what: for one place nothing else is ever given.  A signature that
 * was not given is none. */
static void a_disk_that_fails(void **state)
{
	(void)state;
	assert_int_equal(append("dec-0"), OK);
	for (unsigned n = 1; n < 8; n++) {
		f.fail_at = f.calls + n;
		f.fail_errno = EIO;
		int rc = append(arena_printf(&a, "dec-%u", n));
		bool fired = fault_fired(&f);
		f.fail_at = 0;
		if (rc)
			assert_true(fired && rc == E_DENIED);
		signer_close(&g);
		begin();
		assert_int_equal(append("dec-next"), OK);
	}
}

/* Given, and then lost by who asked: the place stays taken. */
static void a_receipt_that_was_not_written(void **state)
{
	struct fault mine;
	struct draft d = { .decision_id = "dec-lost", .effect_id = "helm.test/x", .status = "RECORDED" };

	(void)state;
	assert_int_equal(append("dec-0"), OK);
	recorder_close(&r);
	fault_init(&mine);
	recorder_open(&r, &mine.sys, state_fd, kept);
	bool was_lost = false;
	for (unsigned n = 1; n < 20 && !was_lost; n++) {
		mine.fail_at = mine.calls + n;
		mine.fail_errno = ENOSPC;
		e = (struct err){ 0 };
		was_lost = recorder_append(&r, &a, &d, 1, NULL, &e) != OK && !text_eq(e.code, "SIGNER_AHEAD");
		mine.fail_at = 0;
	}
	assert_true(was_lost);
	/* Without the side of the socket, which takes what is missing, it is refused. */
	int rc = append("dec-other");
	assert_true(rc == OK || text_eq(e.code, "SIGNER_AHEAD"));
	recorder_close(&r);
	recorder_open(&r, sys_real(), state_fd, kept);
}

/* Receipts so large that 256 of them would not fit into the signer's file: it stays short, and the signer goes on, also after a restart. */
static void large_receipts(void **state)
{
	enum { LARGE = 700 << 10, MANY = 30 };
	char *text = arena_zalloc(&a, LARGE + 1, 1), **names;
	struct json *about = json_new(&a, JSON_OBJECT);
	struct draft d = { .decision_id = "dec-large",
		.effect_id = "helm.test/x",
		.status = "RECORDED",
		.metadata = about };
	struct stat st;
	size_t n;

	(void)state;
	memset(text, 'x', LARGE);
	json_sets(&a, about, "text", text);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(recorder_append(&r, &a, &d, 1, NULL, &e), OK);
		if (i % 9 == 8) {
			signer_close(&g);
			begin();
		}
	}
	assert_int_equal(file_list(sys_real(), &a, t.fd, "keeper/signer/chains/7", &names, &n, &e), OK);
	assert_int_equal(n, 1);
	assert_int_equal(fstatat(t.fd, arena_printf(&a, "keeper/signer/chains/7/%s", names[0]), &st, 0), 0);
	assert_in_range(st.st_size, LARGE, 10 << 20);
	struct json *head;
	assert_int_equal(log_sign_head(&r, &a, &head, &e), OK);
	assert_int_equal(json_get_int(head, "tree_size", 0), MANY);
}

/* A user who has begun as many chains as one may begins no other; those that are there go on, and so do other users'. */
static void chains_without_end(void **state)
{
	char **names;
	size_t n;

	(void)state;
	assert_int_equal(append("dec-0"), OK);
	assert_int_equal(file_list(sys_real(), &a, t.fd, "keeper/signer/chains/7", &names, &n, &e), OK);
	for (int i = 1; i < 1000; i++)
		close(openat(
			t.fd, arena_printf(&a, "keeper/signer/chains/7/%d", i), O_CREAT | O_WRONLY, 0600));
	assert_int_equal(append("dec-1"), OK);
	struct recorder other;
	struct draft d = { .decision_id = "dec-other", .effect_id = "helm.test/x", .status = "RECORDED" };
	assert_int_equal(mkdirat(t.fd, "other", 0700), 0);
	int fd = openat(t.fd, "other", O_RDONLY | O_DIRECTORY);
	recorder_open(&other, sys_real(), fd, kept);
	assert_int_equal(recorder_append(&other, &a, &d, 1, NULL, &e), E_DENIED);
	assert_string_equal(e.code, "SIGNER_FULL");
	user = 8;
	memset(given, 0, sizeof(given));
	e = (struct err){ 0 };
	assert_int_equal(recorder_append(&other, &a, &d, 1, NULL, &e), OK);
	recorder_close(&other);
	close(fd);
	/* Who began a chain is not who must continue it. */
	memset(given, 0, sizeof(given));
	assert_int_equal(append("dec-2"), OK);
	assert_int_equal(
		faccessat(t.fd, arena_printf(&a, "keeper/signer/chains/8/%s", names[0]), F_OK, 0), -1);
	/* Where it lay before chains had users it is found. */
	assert_int_equal(renameat(t.fd, arena_printf(&a, "keeper/signer/chains/7/%s", names[0]), t.fd,
				 arena_printf(&a, "keeper/signer/chains/%s", names[0])),
		0);
	signer_close(&g);
	begin();
	assert_int_equal(append("dec-3"), OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(long_chains, setup, teardown),
		cmocka_unit_test_setup_teardown(a_chain_that_was_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(a_disk_that_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(large_receipts, setup, teardown),
		cmocka_unit_test_setup_teardown(chains_without_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_receipt_that_was_not_written, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
