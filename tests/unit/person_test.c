/* person_test.c — who asks: the nearest program above us that is not only a wrapper; and by which names keys of people go. */
#include "kernel/person.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t first;

/* Asked below processes of these names, outermost first, the caller that is found is `want`, or the nearest of the name "client". */
static void ask_below(const char *const *names, size_t n, pid_t want)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct caller caller;
		if (n > 0) {
			prctl(PR_SET_NAME, names[0]);
			ask_below(names + 1, n - 1, strcmp(names[0], "client") ? want : getpid());
			_exit(0);
		}
		person_caller(sys_real(), 0, &caller);
		_exit(caller.pid == want && caller.start_ticks > 0 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		if (getpid() != first)
			_exit(1); /* one of the processes between */
		fail_msg("the caller was taken for another");
	}
}

static void the_nearest_program(void **state)
{
	(void)state;
	static const char *const names[] = { "client", "sh" };

	ask_below(NULL, 0, getpid());
	ask_below(names, 1, getpid());
	ask_below(names, 2, getpid());
}

static void wrappers_are_looked_through(void **state)
{
	static const char *const names[] = { "timeout", "sh" };

	(void)state;
	ask_below(names, 1, getpid());
	ask_below(names + 1, 1, getpid());
	ask_below(names, 2, getpid());
}

#define KEY_A "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
#define KEY_B "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define KEY_C "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"

/* A label that is the name of a key takes no key away. */
static void a_label_is_no_key(void **state)
{
	static const struct {
		const char *keys, *want;
	} rows[] = {
		{ "{\"public_key_hex\":\"" KEY_A "\",\"label\":\"anna\"}",
			"{\"" KEY_A "\":\"" KEY_A "\",\"anna\":\"" KEY_A "\"}" },
		{ "{\"public_key_hex\":\"" KEY_A "\",\"label\":\"x\"},{\"public_key_hex\":\"" KEY_B
		  "\",\"label\":\"x\"}",
			"{\"" KEY_A "\":\"" KEY_A "\",\"" KEY_B "\":\"" KEY_B "\",\"x\":\"\"}" },
		{ "{\"public_key_hex\":\"" KEY_A "\",\"label\":\"" KEY_A "\"}",
			"{\"" KEY_A "\":\"" KEY_A "\"}" },
		{ "{\"public_key_hex\":\"" KEY_A "\"},{\"public_key_hex\":\"" KEY_B "\",\"label\":\"" KEY_A
		  "\"}",
			"{\"" KEY_A "\":\"" KEY_A "\",\"" KEY_B "\":\"" KEY_B "\"}" },
		{ "{\"public_key_hex\":\"" KEY_B "\",\"label\":\"" KEY_C "\"}",
			"{\"" KEY_B "\":\"" KEY_B "\"}" },
	};
	AUTO(scratch_done) struct scratch t;
	struct fault f;

	(void)state;
	scratch_open(&t);
	assert_int_equal(mkdirat(t.fd, "trust", 0700), 0);
	fault_init(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *env[] = { arena_printf(&a, "HOME=%s", t.path),
			arena_printf(&a, "HELM_HOME=%s", t.path), NULL };
		struct json *keys;
		struct buf b;
		struct err e = { 0 };
		f.env = env;
		scratch_put(&t, "trust/approvers.json", arena_printf(&a, "{\"keys\":[%s]}", rows[i].keys));
		if (person_keys(&f.sys, &a, &keys, &e))
			fail_msg("%s", e.text);
		buf_init(&b, &a);
		json_canonical(&b, keys);
		assert_string_equal(b.p, rows[i].want);
	}
}

/* A list of keys that cannot be read is an error, and nobody is known by it. */
static void a_list_that_cannot_be_read(void **state)
{
	AUTO(scratch_done) struct scratch t;
	AUTO(arena_done) struct arena a = { 0 };
	struct fault f;
	const char *label;
	bool is_known = true;
	struct err e = { 0 };

	(void)state;
	scratch_open(&t);
	assert_int_equal(mkdirat(t.fd, "trust", 0700), 0);
	fault_init(&f);
	const char *env[] = { arena_printf(&a, "HOME=%s", t.path), arena_printf(&a, "HELM_HOME=%s", t.path),
		NULL };
	f.env = env;
	scratch_put(&t, "trust/approvers.json",
		"{\"keys\":[{\"key_id\":\"ed25519:" KEY_A "\",\"public_key_hex\":\"" KEY_A
		"\",\"label\":\"anna\"}]}");
	assert_int_equal(person_of_key(&f.sys, &a, "ed25519:" KEY_A, &is_known, &label, &e), OK);
	assert_true(is_known);
	assert_string_equal(label, "anna");
	assert_int_equal(person_of_key(&f.sys, &a, "other", &is_known, &label, &e), OK);
	assert_false(is_known);
	scratch_put(&t, "trust/approvers.json", "{\"keys\":");
	is_known = true;
	assert_int_not_equal(person_of_key(&f.sys, &a, "k", &is_known, &label, &e), OK);
	assert_false(is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_program),
		cmocka_unit_test(wrappers_are_looked_through),
		cmocka_unit_test(a_label_is_no_key),
		cmocka_unit_test(a_list_that_cannot_be_read),
	};
	first = getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
