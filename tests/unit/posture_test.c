/* posture_test.c — the standing word of a workspace: what is believed, what is found again, what was accepted. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/hosts.h"
#include "kernel/posture_parts.h"
#include "kernel/task/task.h"
#include "tools/kernel_fixture.h"
#include "tools/store.h"
#include "tools/unit.h"

#include <errno.h>
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
	return freeze_in_force(x.k.sys, &x.request, x.k.ws, principal);
}

static bool may_reach(const char *host, uint16_t port)
{
	const struct profile p = { .name = "test" };
	struct egress_rules rules;

	hosts_of(sys_real(), &x.request, x.ws, &p, &rules);
	return egress_names(&rules, host, port);
}

/* What a person allowed counts until it is taken back, and the stricter of two words has only hosts of both. */
static void hosts_are_allowed_by_a_person(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_false(may_reach("a.example", 443));
	assert_int_equal(hosts_allow(&x.k, &x.request, "A.example", false, "person", &receipt, &e), OK);
	assert_int_equal(hosts_allow(&x.k, &x.request, "@pypi", false, "person", &receipt, &e), OK);
	assert_int_equal(hosts_allow(&x.k, &x.request, "a.example", false, "person", &receipt, &e), OK);
	assert_int_equal(json_get(posture_of(sys_real(), x.ws)->word, "egress")->n, 2);
	assert_true(may_reach("a.example", 443) && may_reach("pypi.org", 443));
	assert_false(may_reach("a.example", 22));
	assert_int_equal(hosts_allow(&x.k, &x.request, "*.com", false, "person", &receipt, &e), E_INPUT);
	assert_int_equal(hosts_allow(&x.k, &x.request, "b.example", true, "person", &receipt, &e), E_MISSING);
	const struct json *wide = json_copy(&x.request, posture_of(sys_real(), x.ws)->word);
	assert_int_equal(hosts_allow(&x.k, &x.request, "a.example", true, "person", &receipt, &e), OK);
	assert_false(may_reach("a.example", 443));
	assert_true(may_reach("pypi.org", 443));
	const struct json *now = posture_of(sys_real(), x.ws)->word;
	assert_int_equal(json_get(posture_strictest(&x.request, wide, now), "egress")->n, 1);
	assert_int_equal(json_get(posture_strictest(&x.request, now, wide), "egress")->n, 1);
	assert_int_equal(
		json_get(posture_strictest(&x.request, wide, json_new(&x.request, JSON_OBJECT)), "egress")->n,
		0);
	kernel_fixture_done(&x);
}

/* Every byte of the document that is changed alone is noticed: everything is frozen, or the byte was white space. */
static void lose_seal(void)
{
	assert_int_equal(unlinkat(AT_FDCWD, arena_printf(&x.request, "%s.seal", word_file()), 0), 0);
}

/* The seal has the digest of the newest act in the chain: whatever byte is changed, that act holds, no more and no less. */
static void a_changed_word_is_restored(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:x");
	struct bytes whole = read_word();
	size_t restored = 0;
	for (size_t i = 0; i < whole.n; i++) {
		char *text = arena_strndup(&x.request, (const char *)whole.p, whole.n);
		text[i] = text[i] == 'x' ? 'y' : 'x';
		write_at(word_file(), text, whole.n);
		restored += frozen("agent:x") && !frozen("agent:y");
	}
	assert_true(restored + 10 > whole.n); /* but for a version that is not read here */
	assert_int_equal(unlinkat(AT_FDCWD, word_file(), 0), 0);
	assert_non_null(frozen("agent:x"));
	kernel_fixture_reopen(&x);
	assert_true(bytes_eq(whole, read_word()));
	kernel_fixture_done(&x);
}

static void a_changed_word_freezes(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:x");
	lose_seal();
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

/* ---- another machine ---- */

static const char *machine_file; /* in the place of /etc/machine-id; NULL: there is none, nor one of dbus */

static int (*real_open)(struct sys *, int, const char *, int, mode_t, uint64_t);

static int open_elsewhere(
	struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	if (strcmp(path, "/etc/machine-id") == 0 && machine_file)
		path = machine_file;
	else if (strstr(path, "machine-id")) {
		errno = ENOENT;
		return -1;
	}
	return real_open(s, dirfd, path, flags, mode, resolve);
}

static void less_is_accepted_for_one_machine(void **state)
{
	struct json *offer, *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	struct sys *here = x.k.sys;
	real_open = here->open;
	here->open = open_elsewhere;
	machine_file = arena_printf(&x.request, "%s/machine", x.home.path);
	write_at(machine_file, "one\n", 4);
	const char *one = posture_machine(here, &x.request);
	assert_int_equal(accepted_offer(here, &x.request, x.ws, &offer, &e), OK);
	assert_int_equal(accepted_take(&x.k, &x.request, offer, NULL, &(unsigned){ DEMAND_ALL }, "somebody",
				 &receipt, &e),
		OK);
	assert_int_equal(posture_waived(here, &x.request, x.ws), DEMAND_ALL);
	/* The same word, the same home, another machine. */
	write_at(machine_file, "two\n", 4);
	assert_string_not_equal(posture_machine(here, &x.request), one);
	assert_int_equal(posture_waived(here, &x.request, x.ws), 0);
	/* One that has no id yet is known by its name. */
	write_at(machine_file, "uninitialized\n", 14);
	const char *named = posture_machine(here, &x.request);
	machine_file = NULL;
	assert_string_equal(posture_machine(here, &x.request), named);
	assert_int_equal(posture_waived(here, &x.request, x.ws), 0);
	/* A word of an older version names no machine. */
	struct json *word = json_copy(&x.request, posture_of(here, x.ws)->word);
	assert_true(json_get_bool(word, "degraded", false));
	assert_string_equal(json_get_text(word, "degraded_machine", ""), one);
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
	lose_seal();
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

/* Whoever holds the word gets one moment; whoever asks afterwards gets what is decided by then. */
static void held_is_one_moment(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	assert_null(frozen("agent:x"));
	const struct workspace *outer = posture_hold(&x.f.sys, x.ws), *inner = posture_hold(&x.f.sys, x.ws);
	struct kernel k;
	struct workspace *other;
	struct json *receipt;
	struct err e = { 0 };
	assert_int_equal(workspace_open(&x.f.sys, &x.process, x.ws->root, 0, &other, &e), OK);
	assert_int_equal(kernel_open(&x.f.sys, &x.process, other, &k, &e), OK);
	assert_int_equal(freeze_set(&k, &x.request, "*", "now", &receipt, &e), OK);
	assert_true(read_word().n > 0);
	assert_null(json_get(posture_of(&x.f.sys, x.ws)->word, "freezes"));
	posture_release(&inner);
	assert_null(json_get(posture_of(&x.f.sys, x.ws)->word, "freezes"));
	posture_release(&outer);
	assert_non_null(json_get(posture_of(&x.f.sys, x.ws)->word, "freezes"));
	assert_non_null(frozen("agent:x"));
	kernel_close(&k);
	workspace_close(other);
	kernel_fixture_done(&x);
}

static void freeze_by(struct kernel *k, const char *principal)
{
	struct json *receipt;
	struct err e = { 0 };

	assert_int_equal(freeze_set(k, &x.request, principal, "now", &receipt, &e), OK);
}

/* Also about a place that lies under the word of another one. */
static void seen_at_once_below(void **state)
{
	struct workspace *ws[2];
	struct kernel k[2];
	struct json *done;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:z");
	const char *root = arena_printf(&x.process, "%s/below", x.ws->root);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(workspace_open(&x.f.sys, &x.process, root, WORKSPACE_NEW, &ws[i], &e), OK);
		assert_int_equal(workspace_init(&x.f.sys, &x.process, ws[i], false, &done, &e), OK);
		workspace_close(ws[i]);
		assert_int_equal(workspace_open(&x.f.sys, &x.process, root, 0, &ws[i], &e), OK);
		assert_int_equal(kernel_open(&x.f.sys, &x.process, ws[i], &k[i], &e), OK);
	}
	freeze_by(&k[1], "agent:y");
	(void)unlinkat(ws[0]->state_fd, "freeze.json", 0);
	workspace_close(ws[0]);
	assert_int_equal(workspace_open(&x.f.sys, &x.process, root, 0, &ws[0], &e), OK);
	k[0].ws = ws[0];
	assert_non_null(freeze_in_force(k[0].sys, &x.request, k[0].ws, "agent:z"));
	assert_null(freeze_in_force(k[0].sys, &x.request, k[0].ws, "agent:x"));
	freeze_by(&k[1], "agent:x");
	(void)unlinkat(ws[0]->state_fd, "freeze.json", 0);
	assert_non_null(freeze_in_force(k[0].sys, &x.request, k[0].ws, "agent:x"));
	for (int i = 0; i < 2; i++) {
		kernel_close(&k[i]);
		workspace_close(ws[i]);
	}
	kernel_fixture_done(&x);
}

static void put_word(struct bytes text)
{
	write_at(word_file(), (const char *)text.p, text.n);
}

/* An act whose receipt is in the chain, and whose maker was killed before the document was replaced. */
static void leave_unfinished(struct bytes before, struct bytes after)
{
	struct json *receipt, *intent = json_new(&x.request, JSON_OBJECT);
	struct err e = { 0 };

	assert_int_equal(json_parse(&x.request, after, "posture", NULL, &receipt, &e), OK);
	json_set(&x.request, intent, "posture",
		(struct json *)json_get(json_get(receipt, "metadata"), "posture"));
	struct buf text;
	buf_init(&text, &x.request);
	json_write(&text, intent, 0);
	put_word(before);
	const char *file = word_file();
	write_at(arena_printf(&x.request, "%.*s.intent", (int)(strlen(file) - strlen(".json")), file), text.p,
		text.n);
	(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
}

/* Whoever finishes an act and cannot read something on the way must not take it for one that never happened. */
static void what_cannot_be_read_is_not_forgotten(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:y");
	struct bytes before = read_word();
	freeze("agent:x");
	struct bytes after = read_word();
	unsigned looks = 0;
	for (unsigned at = 1; at <= looks + 1; at++) {
		leave_unfinished(before, after);
		x.f.looks = 0;
		x.f.look_fail_at = at;
		x.f.look_errno = EMFILE;
		struct workspace *ws;
		struct kernel k;
		if (workspace_open(&x.f.sys, &x.process, x.ws->root, 0, &ws, NULL) == OK) {
			if (kernel_open(&x.f.sys, &x.process, ws, &k, NULL) == OK)
				kernel_close(&k);
			workspace_close(ws);
		}
		looks = x.f.looks > looks ? x.f.looks : looks;
		x.f.look_fail_at = 0;
		kernel_fixture_reopen(&x);
		if (!frozen("agent:x"))
			fail_msg("look %u failed, and the freeze on record is gone", at);
	}
	assert_true(looks > 10);
	kernel_fixture_done(&x);
}

static const char *intent_file(void)
{
	const char *file = word_file();

	return arena_printf(&x.request, "%.*s.intent", (int)(strlen(file) - strlen(".json")), file);
}

/* As leave_unfinished(), and the intent says what it says, which may be nothing that can be read; NULL: as it was written. */
static void leave_damaged(struct bytes before, struct bytes after, const char *intent)
{
	leave_unfinished(before, after);
	if (intent)
		write_at(intent_file(), intent, strlen(intent));
}

static const char *const intents[] = { NULL, "{", "{}", "{\"posture\": 1}", "{\"posture\": {}}" };

/* The next act finishes the one before, whatever has become of its intent; and where one was not finished, no other one is begun. */
static void the_next_act_finishes_the_one_before(void **state)
{
	struct json *receipt;

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:y");
	struct bytes before = read_word();
	freeze("agent:x");
	struct bytes after = read_word();
	for (size_t i = 0; i < ARRAY_SIZE(intents); i++) {
		leave_damaged(before, after, intents[i]);
		kernel_fixture_reopen(&x);
		freeze("agent:z");
		(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
		assert_false(file_exists(sys_real(), AT_FDCWD, intent_file()));
		assert_true(frozen("agent:x") && frozen("agent:y") && frozen("agent:z"));
		assert_null(frozen("agent:other"));
	}
	/* Every look and every change on the way fails once; what was on record stays. */
	for (size_t i = 0; i < 3; i++)
		for (int is_look = 0; is_look < 2; is_look++) {
			unsigned most = 0;
			for (unsigned at = 1; at <= most + 1; at++) {
				assert_int_equal(
					freeze_lift(&x.k, &x.request, "agent:x", "", &receipt, NULL), OK);
				before = read_word();
				freeze("agent:x");
				after = read_word();
				leave_damaged(before, after, intents[i]);
				x.f.looks = x.f.calls = 0;
				*(is_look ? &x.f.look_fail_at : &x.f.fail_at) = at;
				x.f.look_errno = x.f.fail_errno = EIO;
				(void)freeze_set(&x.k, &x.request, "agent:z", "fire", &receipt, NULL);
				unsigned n = is_look ? x.f.looks : x.f.calls;
				most = n > most && n < 400 ? n : most;
				x.f.look_fail_at = x.f.fail_at = 0;
				kernel_fixture_reopen(&x);
				freeze("agent:w");
				(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
				if (!frozen("agent:x"))
					fail_msg("intent %zu, %s %u failed, and the freeze on record is gone",
						i, is_look ? "look" : "call", at);
				arena_done(&x.request);
				x.request = (struct arena){ 0 };
			}
			assert_true(most > 5);
		}
	kernel_fixture_done(&x);
}

/* An act about another place, which is on record here, is not this one's. */
static void acts_about_other_places_finish_nothing(void **state)
{
	struct workspace *ws;
	struct kernel k;
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:x");
	const char *root = x.ws->root, *moved = arena_printf(&x.process, "%s-moved", root);
	assert_int_equal(renameat(AT_FDCWD, root, AT_FDCWD, moved), 0);
	assert_int_equal(workspace_open(&x.f.sys, &x.process, moved, 0, &ws, &e), OK);
	assert_int_equal(kernel_open(&x.f.sys, &x.process, ws, &k, &e), OK);
	const char *dir = workspace_place(&x.process, ws, ws->root);
	assert_int_equal(file_mkdirs(sys_real(), AT_FDCWD, dir, 0700, &e), OK);
	assert_int_equal(freeze_set(&k, &x.request, "agent:y", "fire", &receipt, &e), OK);
	kernel_close(&k);
	workspace_close(ws);
	/* Back again, with a damaged intent: the newest act on record is about the other place. */
	assert_int_equal(renameat(AT_FDCWD, moved, AT_FDCWD, root), 0);
	kernel_fixture_reopen(&x);
	write_at(intent_file(), "{", 1);
	kernel_fixture_reopen(&x);
	freeze("agent:z");
	(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
	assert_true(frozen("agent:x") && frozen("agent:z"));
	assert_null(frozen("agent:other"));
	kernel_fixture_done(&x);
}

static int (*real_unlink)(struct sys *, int, const char *, int);

static int cannot_unlink(struct sys *s, int dirfd, const char *path, int flags)
{
	if (strcmp(path, "place.json") != 0)
		return real_unlink(s, dirfd, path, flags);
	errno = EIO;
	return -1;
}

/* What shows that an act is under way cannot be removed: the act holds, and whoever made it is told. */
static void a_mark_that_stays_is_said(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	real_unlink = x.f.sys.unlink;
	x.f.sys.unlink = cannot_unlink;
	assert_int_equal(freeze_set(&x.k, &x.request, "agent:x", "fire", &receipt, &e), E_IO);
	assert_string_equal(e.code, "POSTURE_REMOVE");
	assert_non_null(frozen("agent:x"));
	kernel_fixture_done(&x);
}

/* What was noted about a new place is not noted otherwise by the next one who comes. */
static void a_place_begins_once(void **state)
{
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(posture_begin(&x.f.sys, &x.request, x.ws, true, &e), OK);
	kernel_fixture_reopen(&x);
	assert_true(posture_of(&x.f.sys, x.ws)->stands_alone);
	assert_int_equal(posture_begin(&x.f.sys, &x.request, x.ws, false, &e), OK);
	kernel_fixture_reopen(&x);
	assert_true(posture_of(&x.f.sys, x.ws)->stands_alone);
	kernel_fixture_done(&x);
}

/* ---- what differs is told ---- */

static void put_state(const char *file, const char *text)
{
	struct err e = { 0 };

	assert_int_equal(file_replace(sys_real(), x.ws->state_fd, file, 0600, bytes_of(text), &e), OK);
}

/* Exactly these, in this order, each by its beginning. */
static void differs(const char *first, const char *second)
{
	const struct json *list = posture_differences(&x.f.sys, &x.request, x.ws);
	const char *want[] = { first, second };

	for (size_t i = 0; i < 2; i++)
		if (want[i] ? i >= list->n || !text_starts(json_get_text(list->items[i], "text", ""), want[i])
			    : i < list->n)
			fail_msg("%zu: wanted '%s', got '%s'", i, want[i] ? want[i] : "nothing",
				i < list->n ? json_get_text(list->items[i], "text", "") : "nothing");
	assert_true(list->n <= 2);
}

/* The files of the tree are copies of what a person decided; where one differs, every view says so, and never otherwise. */
static void copies_that_differ_are_told(void **state)
{
	static const char settings[] = "workspace.json", pauses[] = "profile-pause-state.json";
	struct json *receipt;
	struct err e = { 0 };
	char *token;

	(void)state;
	kernel_fixture_begin(&x);
	put_state("freeze.json", "{"); /* nobody has spoken yet: whoever reads it tells */
	differs(NULL, NULL);
	put_state("freeze.json", "{}");
	freeze("agent:x");
	assert_int_equal(pause_profile(&x.k, &x.request, "risky_edit", "drill", &token, &e), OK);
	assert_int_equal(
		workspace_use_profile(&x.k, &x.request, "workspace_edit", "checkpoint", &receipt, &e), OK);
	differs(NULL, NULL);
	put_state("freeze.json", "{}");
	differs("freeze.json does not say what is frozen", NULL);
	put_state("freeze.json", "[");
	differs("freeze.json cannot be read", NULL);
	freeze("agent:x"); /* written anew */
	differs(NULL, NULL);
	put_state(pauses, "{}");
	differs("profile-pause-state.json does not say what is paused", NULL);
	put_state(pauses, "3");
	differs("profile-pause-state.json cannot be read", NULL);
	freeze("agent:x");
	put_state(settings,
		"{\"schema_version\": 1, \"default_profile\": \"service_ops\", \"destructive\": \"checkpoint\"}");
	differs("workspace.json says default_profile=service_ops, which nobody has accepted here: workspace_edit holds",
		NULL);
	put_state(settings,
		"{\"schema_version\": 1, \"default_profile\": \"inspect_local\", \"destructive\": \"ask\"}");
	differs(NULL, NULL); /* both are stricter, and count */
	put_state(settings, "{\"schema_version\": 1}");
	differs("workspace.json does not say default_profile: workspace_edit holds",
		"workspace.json does not say destructive: checkpoint holds");
	put_state(settings, "{\"schema_version\": 1");
	differs("workspace.json cannot be read", NULL);
	assert_int_equal(workspace_use_profile(&x.k, &x.request, "workspace_edit", "ask", &receipt, &e), OK);
	put_state(settings,
		"{\"schema_version\": 1, \"default_profile\": \"workspace_edit\", \"destructive\": \"checkpoint\"}");
	differs("workspace.json says destructive=checkpoint, which nobody has accepted here: ask holds",
		NULL);
	kernel_fixture_done(&x);
}

/* What only the tree says is frozen stays so when a person speaks about something else, and the file is written anew. */
static void what_the_tree_forbids_is_taken_over(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	put_state("freeze.json", "{\"agent:q\": {\"reason\": \"tree\", \"at\": \"2026-01-01T00:00:00Z\"}}");
	kernel_fixture_reopen(&x);
	assert_non_null(frozen("agent:q"));
	freeze("agent:x");
	kernel_fixture_reopen(&x);
	assert_true(frozen("agent:q") && frozen("agent:x"));
	assert_int_equal(unlinkat(x.ws->state_fd, "freeze.json", 0), 0);
	assert_true(frozen("agent:q") && frozen("agent:x"));
	kernel_fixture_done(&x);
}

/* A file of the tree that only makes things stricter counts as it is, and nothing is said about it. */
static void what_only_tightens_is_not_told(void **state)
{
	static const char points[] = "references/checkpoint_policy.json",
			  guard[] = "references/guard_policy.json";
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(file_mkdirs(sys_real(), x.ws->root_fd, "references", 0700, &e), OK);
	const struct {
		const char *file, *text;
		bool is_told;
	} cases[] = { { points, "{\"keep_recent\": 50}", false }, { points, "{\"keep_recent\": 1}", true },
		{ points, "{\"keep_recent\": ", true },
		{ guard,
			"{\"version\": 1, \"profile_rules\": {\"workspace_edit\": {\"on_write\": \"require_approval\"}}}",
			false } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(file_replace(sys_real(), x.ws->root_fd, cases[i].file, 0600,
					 bytes_of(cases[i].text), &e),
			OK);
		differs(cases[i].is_told ? cases[i].file : NULL, NULL);
		assert_int_equal(unlinkat(x.ws->root_fd, cases[i].file, 0), 0);
	}
	kernel_fixture_done(&x);
}

/* ---- somebody else acts while one reads ---- */

static struct {
	int (*open)(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);
	const char *when; /* a file of this name is opened next; NULL: it was */
} meanwhile;

/* Another process freezes agent:x just before this one opens that file. */
static int open_meanwhile(
	struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	struct fault other;
	struct workspace *ws;
	struct kernel k;
	struct json *receipt;

	if (!meanwhile.when || !text_ends(path, meanwhile.when))
		return meanwhile.open(s, dirfd, path, flags, mode, resolve);
	meanwhile.when = NULL;
	fault_init(&other);
	other.env = x.env;
	assert_int_equal(workspace_open(&other.sys, &x.process, x.ws->root, 0, &ws, NULL), OK);
	assert_int_equal(kernel_open(&other.sys, &x.process, ws, &k, NULL), OK);
	assert_int_equal(freeze_set(&k, &x.process, "agent:x", "now", &receipt, NULL), OK);
	kernel_close(&k);
	workspace_close(ws);
	return meanwhile.open(s, dirfd, path, flags, mode, resolve);
}

static void act_when_opening(const char *name)
{
	meanwhile.open = x.f.sys.open;
	meanwhile.when = name;
	x.f.sys.open = open_meanwhile;
}

/* What was read before the act is not kept as what was read after it. */
static void seen_also_when_it_comes_while_reading(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:y");
	(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
	act_when_opening("posture.intent");
	assert_non_null(frozen("agent:y"));
	assert_null(meanwhile.when);
	(void)unlinkat(x.ws->state_fd, "freeze.json", 0);
	assert_non_null(frozen("agent:x"));
	kernel_fixture_done(&x);
}

/* The first act about a place is not taken for one whose document was lost. */
static void the_first_act_while_reading(void **state)
{
	struct workspace *ws;

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(workspace_open(&x.f.sys, &x.process, x.ws->root, 0, &ws, NULL), OK);
	act_when_opening("place.json");
	const struct posture *p = posture_of(&x.f.sys, ws);
	assert_null(meanwhile.when);
	assert_true(p->is_spoken);
	assert_null(p->note);
	workspace_close(ws);
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

/* Whatever a tree would loosen is said to the person who accepts it, each thing in a sentence of its own. */
static void what_becomes_possible_is_said(void **state)
{
	static const char looser[] =
		"{\"profiles\": {\"risky_edit\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
		"\"writes_allowed\": true, \"network_allowed\": \"by-name\", \"network\": \"named\", "
		"\"egress\": [\"example.org\"], \"secrets\": [\".netrc\"], \"requires\": [\"files\"], "
		"\"destructive\": \"checkpoint\", \"write_paths\": [\"/srv\"]}, "
		"\"workspace_edit\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
		"\"writes_allowed\": true, \"network_allowed\": false, \"network\": \"loopback\"}, "
		"\"inspect_local\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
		"\"writes_allowed\": true, \"network_allowed\": false, \"network\": \"loopback\"}, "
		"\"mine\": {\"backend\": \"local\", \"checkpoint\": \"never\", \"writes_allowed\": false, "
		"\"network_allowed\": false}}}";
	static const char *const sentences[] = {
		"risky_edit: may write below /srv",
		"risky_edit: no checkpoint is made first any more",
		"risky_edit: may use the network",
		"risky_edit: may reach example.org",
		"risky_edit: may read ~/.netrc",
		"risky_edit: runs also where the machine cannot guarantee its sandbox",
		"risky_edit: what destroys files is saved first and then runs without a question",
		"inspect_local: may change files of the workspace",
		"inspect_local: may reach services on this machine",
		"mine: is a new profile",
		"mine: broad_shell after a question",
		"develop: is gone",
	};
	struct json *offer;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	write_at(arena_printf(&x.request, "%s/references/execution_profiles.json", x.ws->root), looser,
		sizeof(looser) - 1);
	assert_int_equal(accepted_offer(&x.f.sys, &x.request, x.ws, &offer, &e), OK);
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		bool is_said = false;
		json_each (one, json_get(offer, "becomes_possible"))
			is_said |= text_eq(json_text(one), sentences[i]);
		if (!is_said)
			fail_msg("it is not said: %s", sentences[i]);
	}
	/* What it could do before is not said again. */
	static const char further[] =
		"{\"profiles\": {\"develop\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
		"\"writes_allowed\": true, \"network_allowed\": \"by-name\", \"network\": \"named\", "
		"\"egress\": [\"@registries\", \"@forges\", \"example.org\"]}, "
		"\"workspace_edit\": {\"backend\": \"local\", \"checkpoint\": \"never\", "
		"\"writes_allowed\": false, \"network_allowed\": false}}}";
	bool is_said = false;
	write_at(arena_printf(&x.request, "%s/references/execution_profiles.json", x.ws->root), further,
		sizeof(further) - 1);
	if (accepted_offer(&x.f.sys, &x.request, x.ws, &offer, &e))
		fail_msg("%s", e.text);
	json_each (one, json_get(offer, "becomes_possible")) {
		is_said |= text_eq(json_text(one), "develop: may reach example.org");
		assert_null(strstr(json_text(one), "may reach @"));
	}
	assert_true(is_said);
	/* What cannot be understood is not offered. */
	write_at(arena_printf(&x.request, "%s/references/checkpoint_policy.json", x.ws->root), "{", 1);
	assert_int_equal(accepted_offer(&x.f.sys, &x.request, x.ws, &offer, &e), E_INPUT);
	assert_string_equal(e.code, "ACCEPT_INVALID");
	kernel_fixture_done(&x);
}

/* The newest act is of a newer release, and the document is lost: an older act in the chain does not count in its place. */
static void a_newer_act_is_not_passed_over(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	struct json *word = json_new(&x.request, JSON_OBJECT), *about = json_new(&x.request, JSON_OBJECT);
	freeze("agent:x");
	json_seti(&x.request, word, "version", 2);
	json_sets(&x.request, word, "root", x.ws->root);
	json_set(&x.request, about, "posture", word);
	assert_int_equal(act_record(&x.k, &x.request,
				 &(struct act){ .effect_id = "helm.freeze/set",
					 .type = "setting",
					 .output_hash = json_sha256(&x.request, word),
					 .about = about },
				 &receipt, &e),
		OK);
	assert_true(posture_of(&x.f.sys, x.ws)->is_spoken);
	assert_int_equal(unlinkat(AT_FDCWD, word_file(), 0), 0);
	const struct posture *p = posture_of(&x.f.sys, x.ws);
	assert_non_null(p->broken);
	assert_non_null(strstr(p->broken, "is of version 2, newer than version 1"));
	assert_true(p->is_unreadable);
	assert_int_equal(freeze_set(&x.k, &x.request, "agent:y", "fire", &receipt, &e), E_IO);
	assert_string_not_equal(e.text, "");
	assert_int_not_equal(faccessat(AT_FDCWD, word_file(), F_OK, 0), 0);
	kernel_fixture_done(&x);
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
	assert_int_equal(accepted_take(&x.k, &x.request, offer, NULL, NULL, "test", &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "ACCEPT_CHANGED");
	write_at(file, OWN, sizeof(OWN) - 1);
	assert_int_equal(accepted_take(&x.k, &x.request, offer, NULL, NULL, "test", &receipt, &e), OK);
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

/* Looking for an act takes no memory for what is none. */
static void a_long_chain_is_not_held(void **state)
{
	const struct store_plan plan = { .receipts = 2000 };
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:a");
	assert_int_equal(store_fill(sys_real(), x.ws->state_fd, x.k.key, &plan, &e), OK);
	AUTO(arena_done) struct arena a = { .limit_bytes = 1 << 20 };
	const struct json *act;
	assert_int_equal(posture_in_chain(sys_real(), &a, x.ws, &(struct posture_search){ 0 }, &act, &e), OK);
	assert_non_null(act);
	kernel_fixture_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_word_is_restored),
		cmocka_unit_test(a_changed_word_freezes),
		cmocka_unit_test(hosts_are_allowed_by_a_person),
		cmocka_unit_test(less_is_accepted_for_one_machine),
		cmocka_unit_test(a_lost_word_is_found),
		cmocka_unit_test(seen_at_once),
		cmocka_unit_test(seen_at_once_below),
		cmocka_unit_test(held_is_one_moment),
		cmocka_unit_test(what_cannot_be_read_is_not_forgotten),
		cmocka_unit_test(the_next_act_finishes_the_one_before),
		cmocka_unit_test(acts_about_other_places_finish_nothing),
		cmocka_unit_test(copies_that_differ_are_told),
		cmocka_unit_test(what_only_tightens_is_not_told),
		cmocka_unit_test(what_the_tree_forbids_is_taken_over),
		cmocka_unit_test(seen_also_when_it_comes_while_reading),
		cmocka_unit_test(the_first_act_while_reading),
		cmocka_unit_test(what_becomes_possible_is_said),
		cmocka_unit_test(accepted_bytes_hold),
		cmocka_unit_test(a_mark_that_stays_is_said),
		cmocka_unit_test(a_place_begins_once),
		cmocka_unit_test(a_long_chain_is_not_held),
		cmocka_unit_test(a_newer_act_is_not_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
