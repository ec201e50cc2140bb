/* setup_test.c — Helm in the settings of every client that can be set up: planned without a change, put in and tested, taken out byte
 * for byte, and repaired after a failure at any call.  The outside world is the twin; the command that is written is really run. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/kernel.h"
#include "kernel/setup/setup.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena a;
static struct scratch dir;
static struct fault world;
static const char *env[2];
static struct workspace *ws;
static struct setup s;
static struct err e;

#define RECOVERY "ws/.helm/setup-recovery.json"

static struct workspace *make_workspace(const char *name)
{
	struct workspace *made = NULL;
	struct json *done;
	const char *path = arena_printf(&a, "%s/%s", dir.path, name);

	assert_int_equal(mkdirat(dir.fd, name, 0700), 0);
	assert_int_equal(workspace_open(&world.sys, &a, path, WORKSPACE_NEW, &made, &e), OK);
	assert_int_equal(workspace_init(&world.sys, &a, made, false, &done, &e), OK);
	workspace_close(made);
	assert_int_equal(workspace_open(&world.sys, &a, path, 0, &made, &e), OK);
	return made;
}

/* The program that was built beside this one. */
static const char *program(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	return path_clean(&a, arena_printf(&a, "%s/../../helm", self));
}

static int begin(void **state)
{
	(void)state;
	e = (struct err){ 0 };
	scratch_open(&dir);
	fault_init(&world);
	env[0] = arena_printf(&a, "HOME=%s/home", dir.path);
	world.env = env;
	/* The command that is written runs with the environment of this process. */
	setenv("HOME", env[0] + strlen("HOME="), 1);
	unsetenv("HELM_HOME");
	assert_int_equal(mkdirat(dir.fd, "home", 0700), 0);
	assert_int_equal(mkdirat(dir.fd, "project", 0700), 0);
	ws = make_workspace("ws");
	assert_int_equal(
		setup_open(&world.sys, &a, ws, arena_printf(&a, "%s/project", dir.path), &s, &e), OK);
	s.program = program();
	return 0;
}

static int end(void **state)
{
	(void)state;
	workspace_close(ws);
	scratch_done(&dir);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* Where its settings lie, seen from the scratch directory. */
static const char *place_of(const struct client *c)
{
	return arena_printf(&a, "%s/%s", c->setup->is_of_user ? "home" : "project", c->setup->file);
}

static const char *directory_of(const char *place)
{
	return arena_strndup(&a, place, (size_t)(path_base(place) - place) - 1);
}

/* Settings that a person wrote, with spaces and comments no program would write. */
static const char *put_own(const struct client *c)
{
	const char *text = c->setup->is_yaml
		? "# mine\nmodel: x   # why\nother:\n- 1\n"
		: "{\n    \"mine\": [1,  2],   \"hooks\": { },\n\t\"z\": 1.50\n}\n";

	mkdirat(dir.fd, directory_of(place_of(c)), 0700);
	scratch_put(&dir, place_of(c), text);
	return text;
}

static const char *now_in(const struct client *c)
{
	const char *text = scratch_get(&dir, place_of(c));

	return text ? arena_strdup(&a, text) : NULL;
}

static void install(const struct client *c)
{
	struct setup_change change;
	const char *receipt = "";

	if (setup_plan(&s, c->name, NULL, &change, &e) || setup_install(&s, &change, &receipt, &e))
		fail_msg("%s: %s", c->name, e.text);
	assert_true(text_starts(receipt, "rcpt_"));
}

static void take_out(const struct client *c)
{
	struct setup_change *changes;
	size_t n;

	assert_int_equal(setup_plan_removal(&s, c->name, NULL, &changes, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		if (setup_remove(&s, &changes[i], &e))
			fail_msg("%s: %s", c->name, e.text);
}

static const char *state_of(const struct client *c)
{
	const char *path = arena_printf(&a, "%s/%s", dir.path, place_of(c));

	json_each (row, setup_status(&s, c->name))
		if (text_eq(json_get_text(row, "file", ""), path))
			return json_get_text(row, "state", "");
	return "no row";
}

#define each_client(c) \
	for (size_t i_ = 0; ((c) = clients_at(i_)); i_++) \
		if ((c)->setup)

static void test_plan_writes_nothing(void **state)
{
	const struct client *c;
	struct setup_change change;

	(void)state;
	each_client(c)
	{
		const char *own = put_own(c);
		assert_int_equal(setup_plan(&s, c->name, NULL, &change, &e), OK);
		const char *after = arena_strndup(&a, (const char *)change.after.p, change.after.n);
		assert_non_null(strstr(after, arena_printf(&a, "hook pre-tool --client %s", c->name)));
		assert_null(change.moved_from);
		assert_string_equal(now_in(c), own);
	}
	assert_false(scratch_has(&dir, "ws/.helm/setup.json"));
	assert_int_not_equal(setup_plan(&s, "nobody", NULL, &change, &e), OK);
	assert_string_equal(e.code, "SETUP_CLIENT");
	assert_int_not_equal(setup_plan(&s, "gemini", NULL, &change, &e), OK);
	assert_string_equal(e.code, "SETUP_NO_HOOK");
	assert_int_not_equal(setup_plan(&s, "deepseek", NULL, &change, &e), OK);
	assert_string_equal(e.code, "SETUP_PASTE");
}

static void test_in_and_out(void **state)
{
	const struct client *c;

	(void)state;
	each_client(c)
	{
		const char *own = put_own(c);
		assert_string_equal(state_of(c), "absent");
		install(c);
		const char *first = now_in(c);
		assert_string_not_equal(first, own);
		/* Codex must be told to trust it first. */
		assert_string_equal(state_of(c), text_eq(c->name, "codex") ? "not_armed" : "armed");
		assert_int_equal(setup_is_sound(setup_status(&s, c->name)), !text_eq(c->name, "codex"));
		install(c);
		assert_string_equal(now_in(c), first);
		take_out(c);
		assert_string_equal(now_in(c), own);
		assert_string_equal(state_of(c), "absent");
		assert_false(setup_is_sound(setup_status(&s, c->name)));
	}
}

static void test_new_file_goes_again(void **state)
{
	const struct client *c;

	(void)state;
	each_client(c)
	{
		install(c);
		assert_non_null(now_in(c));
		take_out(c);
		assert_false(scratch_has(&dir, directory_of(place_of(c))));
	}
}

static void test_edited_since(void **state)
{
	const struct client *c = clients_find("claude-code");
	const char *own = put_own(c);

	(void)state;
	install(c);
	char *text = arena_strdup(&a, now_in(c));
	*strstr(text, "1.50") = '7';
	scratch_put(&dir, place_of(c), text);
	take_out(c);
	char *wanted = arena_strdup(&a, own);
	*strstr(wanted, "1.50") = '7';
	/* What became empty by our going goes, too: here the empty "hooks" it was put into. */
	assert_null(strstr(now_in(c), "helm"));
	assert_non_null(strstr(now_in(c), "7.50"));
	assert_non_null(strstr(now_in(c), "\"mine\": [1,  2]"));
}

static void test_another_workspace(void **state)
{
	const struct client *c;
	struct setup_change change;
	struct workspace *first = ws, *second = make_workspace("second");

	(void)state;
	each_client(c)
	{
		s.ws = first;
		install(c);
		assert_int_equal(setup_plan(&s, c->name, NULL, &change, &e), OK);
		assert_null(change.moved_from);
		s.ws = second;
		assert_int_equal(setup_plan(&s, c->name, NULL, &change, &e), OK);
		assert_string_equal(change.moved_from, first->root);
	}
	s.ws = first;
	workspace_close(second);
}

static void test_marked_as_self_test(void **state)
{
	(void)state;
	install(clients_find("cursor"));
	assert_non_null(strstr(scratch_get(&dir, "ws/.helm/tool-calls.jsonl"), "\"self_test\""));
	assert_non_null(strstr(scratch_get(&dir, "ws/.helm/receipts.jsonl"), "\"self_test\":true"));
}

/* Every call that changes the world fails, once or from then on.  Whatever is left: repair ends it, and taking out gives the same
 * bytes back. */
static void sweep(bool stays, unsigned *ret_repaired)
{
	const struct client *c = clients_find("claude-code");
	const char *own = put_own(c);
	unsigned at = 1;
	int rc = E_INPUT;

	install(c); /* key and files of the state are there */
	take_out(c);
	for (; rc && at < 200; at++) {
		struct setup_change change;
		const char *receipt, *what;
		assert_int_equal(setup_plan(&s, c->name, NULL, &change, &e), OK);
		world.fail_at = world.calls + at;
		world.fail_errno = EIO;
		world.fail_stays = stays;
		rc = setup_install(&s, &change, &receipt, &e);
		world.fail_at = 0;
		/* Nothing pending: the old file, or the new one whose last sync failed. */
		if (!scratch_has(&dir, RECOVERY) && !text_eq(now_in(c), own))
			assert_true(bytes_eq(bytes_of(now_in(c)), change.after));
		*ret_repaired += scratch_has(&dir, RECOVERY);
		if (setup_repair(&s, c->name, &what, &e))
			fail_msg("call %u: %s", at, e.text);
		assert_false(scratch_has(&dir, RECOVERY));
		take_out(c);
		assert_string_equal(now_in(c), own);
	}
	assert_true(at > 5 && at < 200);
}

static void test_failures(void **state)
{
	unsigned once = 0, on = 0;

	(void)state;
	sweep(false, &once);
	sweep(true, &on);
	assert_true(on > 0);
}

/* Interrupted, and then somebody else wrote the file: it is theirs. */
static void test_repair_leaves_what_others_wrote(void **state)
{
	const struct client *c = clients_find("claude-code");
	struct setup_change change;
	const char *receipt, *what;

	(void)state;
	(void)put_own(c);
	for (unsigned at = 1; !scratch_has(&dir, RECOVERY); at++) {
		assert_true(at < 200);
		assert_int_equal(setup_plan(&s, c->name, NULL, &change, &e), OK);
		world.fail_at = world.calls + at;
		world.fail_errno = EIO;
		world.fail_stays = true;
		assert_int_not_equal(setup_install(&s, &change, &receipt, &e), OK);
		world.fail_at = 0;
	}
	assert_string_equal(state_of(c), "recovery_required");
	assert_int_not_equal(setup_install(&s, &change, &receipt, &e), OK);
	scratch_put(&dir, place_of(c), "{\"theirs\": true}");
	assert_int_not_equal(setup_repair(&s, "codex", &what, &e), OK);
	assert_int_equal(setup_repair(&s, c->name, &what, &e), OK);
	assert_non_null(strstr(what, "somebody else"));
	assert_string_equal(now_in(c), "{\"theirs\": true}");
	assert_int_equal(setup_repair(&s, c->name, &what, &e), OK);
	assert_string_equal(what, "nothing was interrupted");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plan_writes_nothing, begin, end),
		cmocka_unit_test_setup_teardown(test_in_and_out, begin, end),
		cmocka_unit_test_setup_teardown(test_new_file_goes_again, begin, end),
		cmocka_unit_test_setup_teardown(test_edited_since, begin, end),
		cmocka_unit_test_setup_teardown(test_another_workspace, begin, end),
		cmocka_unit_test_setup_teardown(test_marked_as_self_test, begin, end),
		cmocka_unit_test_setup_teardown(test_failures, begin, end),
		cmocka_unit_test_setup_teardown(test_repair_leaves_what_others_wrote, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
