/* posture_test.c — the standing word of a workspace: what is believed, what is found again, what was accepted. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "kernel/task/task.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>

static struct kernel_fixture x;

static const char *word_file(void)
{
	return arena_printf(&x.request, "%s/.helm/trees/%s/posture.json", x.home.path,
		sha256_hex(&x.request, x.ws->root, strlen(x.ws->root)));
}

static struct bytes read_word(void)
{
	struct bytes text;
	struct err e = { 0 };

	assert_int_equal(file_read(sys_real(), &x.request, AT_FDCWD, word_file(), 1 << 20, 0, &text, &e), OK);
	return text;
}

static void write_at(const char *path, const char *text, size_t n)
{
	struct err e = { 0 };

	assert_int_equal(file_replace(sys_real(), AT_FDCWD, path, 0600,
				 (struct bytes){ (const uint8_t *)text, n }, &e),
		OK);
}

static void freeze(const char *principal)
{
	struct json *receipt;
	struct err e = { 0 };

	assert_int_equal(freeze_set(&x.k, &x.request, principal, "fire", &receipt, &e), OK);
}

static const char *frozen(const char *principal)
{
	return freeze_in_force(&x.k, &x.request, principal);
}

/* Every byte of the document that is changed alone is noticed: everything is frozen, or the byte was white space. */
static void a_changed_word_freezes(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:x");
	assert_non_null(frozen("agent:x"));
	assert_null(frozen("agent:y"));
	struct bytes whole = read_word();
	size_t unnoticed = 0;
	for (size_t i = 0; i < whole.n; i++) {
		char *text = arena_strndup(&x.request, (const char *)whole.p, whole.n);
		if (strchr(" \n", text[i]))
			continue;
		text[i] = text[i] == 'x' ? 'y' : 'x';
		write_at(word_file(), text, whole.n);
		if (!frozen("agent:x"))
			fail_msg("byte %zu lifts the freeze", i);
		unnoticed += !frozen("agent:y");
	}
	/* Members of the receipt that no signature covers say nothing about what is decided. */
	assert_true(unnoticed < whole.n / 3);
	kernel_fixture_done(&x);
}

static void a_lost_word_is_found(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:x");
	assert_int_equal(workspace_use_profile(&x.k, &x.request, "service_ops", NULL, &receipt, &e), OK);
	assert_int_equal(unlinkat(AT_FDCWD, word_file(), 0), 0);
	assert_int_equal(unlinkat(x.ws->state_fd, "freeze.json", 0), 0);
	assert_non_null(frozen("agent:x"));
	const char *name;
	assert_int_equal(workspace_default_profile(&x.f.sys, &x.request, x.ws, &name, &e), OK);
	assert_string_equal(name, "workspace_edit"); /* what it permitted has to be said again */
	kernel_fixture_reopen(&x);
	assert_true(file_exists(sys_real(), AT_FDCWD, word_file()));
	assert_non_null(frozen("agent:x"));
	kernel_fixture_done(&x);
}

/* A long process sees at once what another one decides. */
static void seen_at_once(void **state)
{
	struct kernel_fixture *one = &x;

	(void)state;
	kernel_fixture_begin(one);
	struct workspace *other;
	struct kernel k;
	struct json *receipt;
	struct err e = { 0 };
	assert_int_equal(workspace_open(&x.f.sys, &x.process, x.ws->root, 0, &other, &e), OK);
	assert_int_equal(kernel_open(&x.f.sys, &x.process, other, &k, &e), OK);
	assert_null(frozen("agent:x"));
	assert_int_equal(freeze_set(&k, &x.request, "*", "now", &receipt, &e), OK);
	assert_non_null(frozen("agent:x"));
	assert_int_equal(freeze_lift(&k, &x.request, "*", "over", &receipt, &e), OK);
	assert_null(frozen("agent:x"));
	kernel_close(&k);
	workspace_close(other);
	kernel_fixture_done(&x);
}

static const char OWN[] =
	"{\"profiles\": {\"workspace_edit\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
	"\"writes_allowed\": true, \"network_allowed\": true, \"write_paths\": [\"/srv\"]}}}";

static const struct profile *workspace_edit(void)
{
	static struct profiles all;
	struct err e = { 0 };

	assert_int_equal(workspace_profiles(&x.f.sys, &x.request, x.ws, &all, &e), OK);
	return profiles_find(&all, "workspace_edit");
}

static void accepted_bytes_hold(void **state)
{
	struct json *offer, *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	const char *file = arena_printf(&x.request, "%s/references/execution_profiles.json", x.ws->root);
	write_at(file, OWN, sizeof(OWN) - 1);
	assert_int_equal(workspace_edit()->network, ALLOWANCE_NO);
	assert_int_equal(posture_differences(&x.f.sys, &x.request, x.ws)->n, 1);
	assert_int_equal(accepted_offer(&x.f.sys, &x.request, x.ws, &offer, &e), OK);
	bool says_network = false, says_path = false;
	json_each (one, json_get(offer, "becomes_possible")) {
		says_network |= text_eq(json_text(one), "workspace_edit: may use the network");
		says_path |= text_eq(json_text(one), "workspace_edit: may write below /srv");
	}
	assert_true(says_network && says_path);

	/* What changes between showing and taking is not taken. */
	write_at(file, "{\"profiles\": {}}", 16);
	assert_int_equal(accepted_take(&x.k, &x.request, offer, NULL, "test", &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "ACCEPT_CHANGED");
	write_at(file, OWN, sizeof(OWN) - 1);
	assert_int_equal(accepted_take(&x.k, &x.request, offer, NULL, "test", &receipt, &e), OK);
	assert_int_equal(workspace_edit()->network, ALLOWANCE_YES);
	assert_int_equal(posture_differences(&x.f.sys, &x.request, x.ws)->n, 0);

	write_at(file, "{", 1);
	assert_int_equal(workspace_edit()->network, ALLOWANCE_YES);
	assert_int_equal(posture_differences(&x.f.sys, &x.request, x.ws)->n, 1);
	assert_int_equal(unlinkat(AT_FDCWD, file, 0), 0);
	assert_int_equal(workspace_edit()->network, ALLOWANCE_YES);

	/* The kept bytes themselves are known by their digest. */
	const char *kept = arena_printf(&x.request, "%s/.helm/trees/%s/accepted/%s", x.home.path,
		sha256_hex(&x.request, x.ws->root, strlen(x.ws->root)),
		sha256_hex(&x.request, OWN, sizeof(OWN) - 1));
	write_at(kept, "{}", 2);
	struct profiles all;
	assert_int_equal(workspace_profiles(&x.f.sys, &x.request, x.ws, &all, &e), E_CORRUPT);
	assert_string_equal(e.code, "ACCEPT_LOST");
	kernel_fixture_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_word_freezes),
		cmocka_unit_test(a_lost_word_is_found),
		cmocka_unit_test(seen_at_once),
		cmocka_unit_test(accepted_bytes_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
