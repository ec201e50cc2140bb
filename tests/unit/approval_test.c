/* approval_test.c — a question is posed and kept, a person answers, and the grant answers what it covers and nothing else. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct kernel_fixture x;
static const char *profile;
static const struct person person = { .name = "user:1000 at a test" };
enum { HOUR = 3600 };

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	profile = "workspace_edit";
	x.f.has_clock = true;
	x.f.clock_us = INT64_C(1800000000) * 1000000;
	x.f.step_us = 1000;
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static struct handling ask_in(const char *text, const char *session)
{
	struct handling h = { .a = &x.request };
	struct request q = kernel_fixture_shell(&x, text);
	struct err e = { 0 };

	q.who.session = session;
	q.profile = profiles_find(&x.k.guard.profiles, profile);
	if (kernel_handle(&x.k, &q, &h, &e))
		fail_msg("%s: %s", text, e.text);
	return h;
}

static struct handling ask(const char *text)
{
	return ask_in(text, "s");
}

static const char *id_of(const struct handling *h)
{
	return json_get_text(h->question, "approval_id", "");
}

static struct approval_terms terms(enum reach reach, bool is_once)
{
	return (struct approval_terms){
		.reach = reach, .is_once = is_once, .expires_us = (x.f.clock_us / 1000000 + HOUR) * 1000000
	};
}

static const char *approve(const char *text, const struct approval_terms *t)
{
	struct handling h = ask(text);
	struct json *receipt;
	struct err e = { 0 };

	assert_int_equal(h.verdict, V_ESCALATE);
	if (approval_approve(&x.k, &x.request, id_of(&h), t, &person, &receipt, &e))
		fail_msg("%s: %s", text, e.text);
	return json_get_text(json_get(json_get(receipt, "metadata"), "grant"), "grant_id", "");
}

static struct json *document(void)
{
	struct json *doc;
	struct err e = { 0 };

	assert_int_equal(approvals_load(&x.f.sys, &x.request, x.ws, &doc, &e), OK);
	return doc;
}

static void put_document(const struct json *doc)
{
	struct buf text;

	buf_init(&text, &x.request);
	json_write(&text, doc, JSON_INDENT);
	scratch_put(&x.home, "ws/.helm/" APPROVALS, text.p);
}

static void a_question_is_posed_and_kept_once(void **state)
{
	(void)state;
	struct handling first = ask("rm -rf build"), again = ask("rm -rf build"), other = ask("rm -rf dist");
	struct json *entry;
	struct err e = { 0 };

	assert_int_equal(first.verdict, V_ESCALATE);
	assert_true(first.is_question_kept);
	assert_string_equal(id_of(&first), id_of(&again));
	assert_string_not_equal(id_of(&first), id_of(&other));
	assert_int_equal(json_get(document(), "requests")->n, 2);
	assert_int_equal(approval_get(&x.k, &x.request, id_of(&first), &entry, &e), OK);
	assert_string_equal(json_get_text(json_get(entry, "request"), "preview", ""), "rm -rf build");
	/* The signed decision speaks of these very bytes. */
	assert_string_equal(
		json_get_text(json_get(json_get(entry, "receipt"), "subject"), "phenotype_hash", ""),
		json_sha256(&x.request, json_get(entry, "request")));
	assert_int_equal(approval_get(&x.k, &x.request, "approval-000000000000", &entry, &e), E_MISSING);
}

static void once_is_once(void **state)
{
	struct approval_terms once = terms(REACH_EXACT, true);

	(void)state;
	const char *grant = approve("rm -rf build", &once);
	struct handling used = ask("rm -rf build");
	assert_int_equal(used.verdict, V_ALLOW);
	assert_string_equal(used.settled.by, "grant");
	assert_string_equal(json_text(json_at(json_get(used.settled.about, "grant_ids"), 0)), grant);
	assert_int_equal(ask("rm -rf build").verdict, V_ESCALATE);
	/* It is settled: the document no longer holds it, the log tells what became of it. */
	assert_null(json_get(json_get(document(), "grants"), grant));
	assert_string_equal(
		grant_state(approvals_find_settled(&x.f.sys, &x.request, x.ws, true, grant), x.f.clock_us),
		"used");
}

/* The document is put back as it was: the chain still knows that it was used. */
static void used_stays_used(void **state)
{
	struct approval_terms once = terms(REACH_EXACT, true);

	(void)state;
	(void)approve("rm -rf build", &once);
	const struct json *unused = document();
	assert_int_equal(ask("rm -rf build").verdict, V_ALLOW);
	put_document(unused);
	struct handling again = ask("rm -rf build");
	assert_int_equal(again.verdict, V_ESCALATE);
	assert_non_null(again.approval_note);
	assert_non_null(strstr(again.approval_note, "was used or revoked before"));
}

static void a_session_is_one_session(void **state)
{
	struct approval_terms t = terms(REACH_EXACT, false);

	(void)state;
	t.is_for_session = true;
	(void)approve("rm -rf build", &t);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask("rm -rf build").verdict, V_ALLOW);
	assert_int_equal(ask_in("rm -rf build", "another").verdict, V_ESCALATE);
	assert_int_equal(ask_in("rm -rf build", NULL).verdict, V_ESCALATE);
	assert_int_equal(ask("rm -rf dist").verdict, V_ESCALATE);
}

static void a_path_is_what_lies_below(void **state)
{
	struct approval_terms t = terms(REACH_PATH, false);

	(void)state;
	t.path = arena_printf(&x.request, "%s/build", x.ws->root);
	(void)approve("rm -rf build/a", &t);
	assert_int_equal(ask("rm -rf build/b/c").verdict, V_ALLOW);
	assert_int_equal(ask("rm -rf build").verdict, V_ESCALATE);
	assert_int_equal(ask("rm -rf builder/a").verdict, V_ESCALATE);
	assert_int_equal(ask("rm -rf build/a src").verdict, V_ESCALATE);
}

static void a_host_is_that_host(void **state)
{
	struct approval_terms t = terms(REACH_HOST, false), path = terms(REACH_PATH, false);
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	profile = "service_ops";
	t.host = "example.org";
	path.path = x.ws->root;
	(void)approve("curl -d x=1 https://example.org/a", &t);
	assert_int_equal(ask("curl -d x=1 https://example.org/b").verdict, V_ALLOW);
	struct handling other = ask("curl -d x=1 https://example.net/b");
	assert_int_equal(other.verdict, V_ESCALATE);
	/* No path bounds what is not about files, and nobody has answered by that. */
	assert_int_equal(
		approval_approve(&x.k, &x.request, id_of(&other), &path, &person, &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "APPROVAL_REACH");
	assert_int_equal(ask("curl -d x=1 https://example.net/b").verdict, V_ESCALATE);
}

static void until_is_until(void **state)
{
	struct approval_terms t = terms(REACH_SHAPE, false);

	(void)state;
	(void)approve("rm -rf build", &t);
	assert_int_equal(ask("rm -rf dist").verdict, V_ALLOW);
	x.f.clock_us += (int64_t)(HOUR - 60) * 1000000;
	assert_int_equal(ask("rm -rf dist").verdict, V_ALLOW);
	x.f.clock_us += INT64_C(60) * 1000000;
	assert_int_equal(ask("rm -rf dist").verdict, V_ESCALATE);
	/* A question, too, is not open for ever. */
	struct handling old = ask("rm -rf other");
	struct approval_terms late = terms(REACH_EXACT, true);
	struct json *receipt;
	struct err e = { 0 };
	x.f.clock_us += INT64_C(25) * HOUR * 1000000;
	assert_int_equal(
		approval_approve(&x.k, &x.request, id_of(&old), &late, &person, &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "APPROVAL_SETTLED");
}

static void revoked_is_over(void **state)
{
	struct approval_terms t = terms(REACH_SHAPE, false);
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	const char *grant = approve("rm -rf build", &t);
	const struct json *in_force = document();
	assert_int_equal(ask("rm -rf dist").verdict, V_ALLOW);
	assert_int_equal(grant_revoke(&x.k, &x.request, grant, "no more", &person, &receipt, &e), OK);
	assert_int_equal(ask("rm -rf dist").verdict, V_ESCALATE);
	assert_int_equal(grant_revoke(&x.k, &x.request, grant, "", &person, &receipt, &e), E_INPUT);
	assert_int_equal(grant_revoke(&x.k, &x.request, "grant-none", "", &person, &receipt, &e), E_MISSING);
	put_document(in_force);
	assert_int_equal(ask("rm -rf dist").verdict, V_ESCALATE);
}

static void an_answer_is_given_once(void **state)
{
	struct handling h = ask("rm -rf build");
	struct approval_terms once = terms(REACH_EXACT, true);
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(approval_deny(&x.k, &x.request, id_of(&h), "no", &person, &receipt, &e), OK);
	assert_string_equal(json_get_text(receipt, "type", ""), "denial");
	assert_string_equal(json_get_text(receipt, "executor_id", ""), person.name);
	assert_int_equal(
		approval_approve(&x.k, &x.request, id_of(&h), &once, &person, &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "APPROVAL_SETTLED");
	assert_int_equal(ask("rm -rf build").verdict, V_ESCALATE);
}

/* A request whose text was changed is refused; a grant that was changed answers nothing. */
static void what_was_tampered_with_counts_for_nothing(void **state)
{
	struct approval_terms once = terms(REACH_EXACT, true), wide = terms(REACH_SHAPE, false);
	struct handling h = ask("rm -rf build");
	struct json *doc = document(), *receipt, *entry;
	struct err e = { 0 };

	(void)state;
	entry = json_get(json_get(doc, "requests"), id_of(&h));
	json_sets(&x.request, json_get(entry, "request"), "preview", "ls");
	put_document(doc);
	assert_int_equal(
		approval_approve(&x.k, &x.request, id_of(&h), &once, &person, &receipt, &e), E_CORRUPT);
	assert_string_equal(e.code, "APPROVAL_TAMPERED");
	const char *grant = approve("rm -rf dist", &wide);
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	doc = document();
	receipt = json_get(json_get(json_get(doc, "grants"), grant), "receipt");
	json_sets(&x.request, json_get(json_get(receipt, "metadata"), "grant"), "expires_at",
		"2099-01-01T00:00:00Z");
	put_document(doc);
	struct handling again = ask("rm -rf other");
	assert_int_equal(again.verdict, V_ESCALATE);
	assert_non_null(strstr(again.approval_note, "does not verify"));
}

/* The name of the file that was put aside, or NULL. */
static const char *damaged(void)
{
	char **names;
	size_t n;
	struct err e = { 0 };

	assert_int_equal(file_list(&x.f.sys, &x.request, x.ws->state_fd, ".", &names, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], APPROVALS ".damaged-"))
			return arena_printf(&x.request, "ws/.helm/%s", names[i]);
	return NULL;
}

/* A file that cannot be understood, or is too large, or is gone: what the chain says was granted stays granted, and it is said. */
static void what_was_granted_is_made_again(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false), once = terms(REACH_EXACT, true);

	(void)state;
	const char *grant = approve("rm -rf dist", &wide);
	(void)approve("git clean -fdx", &once);
	const char *ended = approve("git reset --hard", &wide);
	struct json *receipt;
	struct err e = { 0 };
	assert_int_equal(grant_revoke(&x.k, &x.request, ended, "", &person, &receipt, &e), OK);
	static const char *const broken[] = { "{", "[]", "{\"version\": 0}", NULL };
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		if (broken[i])
			scratch_put(&x.home, "ws/.helm/" APPROVALS, broken[i]);
		else
			assert_int_equal(unlinkat(x.ws->state_fd, APPROVALS, 0), 0);
		kernel_fixture_reopen(&x);
		struct handling h = ask("rm -rf other");
		assert_int_equal(h.verdict, V_ALLOW);
		assert_string_equal(json_text(json_at(json_get(h.settled.about, "grant_ids"), 0)), grant);
		assert_non_null(h.approval_note);
		assert_non_null(strstr(h.approval_note, "made again from the record"));
		if (broken[i]) {
			assert_string_equal(scratch_get(&x.home, damaged()), broken[i]);
			assert_int_equal(unlinkat(x.home.fd, damaged(), 0), 0);
		}
		/* Neither what was ended nor what was for one use. */
		assert_int_equal(json_get(document(), "grants")->n, 1);
		assert_null(ask("rm -rf other").approval_note);
	}
	assert_int_equal(ask("git clean -fdx").verdict, V_ESCALATE);
	/* One of a newer release is whole: it stays, and nothing counts as granted. */
	scratch_put(&x.home, "ws/.helm/" APPROVALS, "{\"version\": 7}");
	kernel_fixture_reopen(&x);
	assert_int_equal(ask("rm -rf other").verdict, V_ESCALATE);
	assert_null(damaged());
	assert_string_equal(scratch_get(&x.home, "ws/.helm/" APPROVALS), "{\"version\": 7}");
	assert_int_equal(ask("git reset --hard").verdict, V_ESCALATE);
}

/* Larger than can be read: nothing is void, and nothing is lost. */
static void too_large_is_made_again(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false);
	char *text = arena_text(&x.request, 17 << 20);

	(void)state;
	(void)approve("rm -rf dist", &wide);
	memset(text, ' ', 17 << 20);
	text[(17 << 20) - 1] = '\0';
	scratch_put(&x.home, "ws/.helm/" APPROVALS, text);
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	assert_non_null(damaged());
	assert_int_equal(unlinkat(x.home.fd, damaged(), 0), 0);
}

static void rotate_key(void)
{
	struct json *link;
	struct err e = { 0 };

	assert_int_equal(
		keys_rotate(&x.f.sys, &x.request, AT_FDCWD, x.k.recorder.keys_dir, "", &link, &e), OK);
}

/* What waits when keys are rotated can be answered; what was granted stays granted; what a revoked key granted does not. */
static void a_rotation_changes_no_answer(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false), once = terms(REACH_EXACT, true);
	struct handling waits = ask("git clean -fdx");
	struct json *receipt;
	uint8_t first[SIGN_PUBLIC];
	struct err e = { 0 };

	(void)state;
	memcpy(first, key_public(x.k.recorder.key), SIGN_PUBLIC);
	(void)approve("rm -rf dist", &wide);
	rotate_key();
	/* The process that runs meanwhile, and one that comes later. */
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	kernel_fixture_reopen(&x);
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	rotate_key();
	if (approval_approve(&x.k, &x.request, id_of(&waits), &once, &person, &receipt, &e))
		fail_msg("%s", e.text);
	assert_int_equal(ask("git clean -fdx").verdict, V_ALLOW);
	assert_int_equal(keys_revoke(&x.f.sys, &x.request, AT_FDCWD, x.k.recorder.keys_dir, first, "", NULL,
				 &receipt, &e),
		OK);
	struct handling again = ask("rm -rf other");
	assert_int_equal(again.verdict, V_ESCALATE);
	assert_non_null(strstr(again.approval_note, "does not verify"));
}

/* ---- how much is read ---- */

static uint64_t bytes_read;
static ssize_t (*real_pread)(struct sys *s, int fd, void *to, size_t n, off_t at);
static ssize_t (*real_read)(struct sys *s, int fd, void *to, size_t n);

static ssize_t count_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	ssize_t got = real_pread(s, fd, to, n, at);

	bytes_read += got > 0 ? (uint64_t)got : 0;
	return got;
}

static ssize_t count_read(struct sys *s, int fd, void *to, size_t n)
{
	ssize_t got = real_read(s, fd, to, n);

	bytes_read += got > 0 ? (uint64_t)got : 0;
	return got;
}

struct cost {
	uint64_t granted, asked, listed;
};

/* As a process that comes now: a call that a grant answers, a new question, the list. */
static struct cost cost_now(void)
{
	static int number;
	struct cost c;

	kernel_fixture_reopen(&x);
	(void)ask("rm -rf other"); /* a walk that is due is made */
	bytes_read = 0;
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	c.granted = bytes_read;
	bytes_read = 0;
	assert_int_equal(ask(arena_printf(&x.request, "git clean -fdx x%d", number++)).verdict, V_ESCALATE);
	c.asked = bytes_read;
	bytes_read = 0;
	(void)document();
	c.listed = bytes_read;
	return c;
}

/* Questions that were answered cost the next one nothing.  HELM_TEST_ANSWERS=N tries it with as many as one likes. */
static void many_answers_cost_nothing(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false), once = terms(REACH_EXACT, true);
	const char *many = getenv("HELM_TEST_ANSWERS");
	long n = many ? strtol(many, NULL, 10) : 500;

	(void)state;
	real_pread = x.f.sys.pread;
	real_read = x.f.sys.read;
	x.f.sys.pread = count_pread;
	x.f.sys.read = count_read;
	(void)approve("rm -rf dist", &wide);
	struct cost few = cost_now();
	for (long i = 0; i < n; i++) {
		struct arena_mark mark = arena_mark(&x.request);
		const char *text = arena_printf(&x.request, "git clean -fdx b%ld", i);
		(void)approve(text, &once);
		assert_int_equal(ask(text).verdict, V_ALLOW);
		arena_release(&x.request, mark);
	}
	struct cost now = cost_now();
	uint64_t chain = strlen(scratch_get(&x.home, "ws/.helm/" RECEIPTS));
	print_message(
		"%ld answers: granted %llu -> %llu bytes, asked %llu -> %llu, listed %llu -> %llu; chain %llu\n",
		n, (unsigned long long)few.granted, (unsigned long long)now.granted,
		(unsigned long long)few.asked, (unsigned long long)now.asked, (unsigned long long)few.listed,
		(unsigned long long)now.listed, (unsigned long long)chain);
	assert_true(many || chain > 3 << 20); /* a long one has more than one file */
	/* At most what is read again rather than written down: a quarter of a MiB. */
	assert_true(now.granted < few.granted + (300 << 10));
	assert_true(now.asked < few.asked + (16 << 10));
	assert_true(now.listed < few.listed + (16 << 10));
	x.f.sys.pread = real_pread;
	x.f.sys.read = real_read;
}

/* A snapshot of another chain, or of one that was longer, or of nothing at all: everything is read, and the answer is the same. */
static void a_snapshot_that_does_not_fit_is_nothing(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false);
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	const char *grant = approve("rm -rf dist", &wide);
	const char *path = arena_printf(&x.request, ".helm/trees/%s/grants.json",
		sha256_hex(&x.request, x.ws->root, strlen(x.ws->root)));
	const char *alive = arena_strdup(&x.request, scratch_get(&x.home, path));
	assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
	static const char *const wrong[] = { "", "{}", "[",
		"{\"version\":1,\"line_at\":0,\"offset\":99,\"chain_hash\":\"\"}" };
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		scratch_put(&x.home, path, wrong[i]);
		assert_int_equal(ask("rm -rf other").verdict, V_ALLOW);
		assert_true(strlen(scratch_get(&x.home, path)) > 100); /* made again */
	}
	/* An older one is caught up with: what was ended since is over. */
	assert_int_equal(grant_revoke(&x.k, &x.request, grant, "", &person, &receipt, &e), OK);
	struct json *doc = document();
	struct json *entry = approvals_find_settled(&x.f.sys, &x.request, x.ws, true, grant);
	(void)json_remove(entry, "revoked_at");
	json_set(&x.request, json_get(doc, "grants"), grant, entry);
	put_document(doc);
	scratch_put(&x.home, path, alive);
	struct handling h = ask("rm -rf other");
	assert_int_equal(h.verdict, V_ESCALATE);
	assert_non_null(strstr(h.approval_note, "was used or revoked before"));
}

static void a_named_request_is_answered_by_its_own_grant_only(void **state)
{
	struct approval_terms wide = terms(REACH_SHAPE, false);
	struct handling h = { .a = &x.request };
	struct request q = kernel_fixture_shell(&x, "rm -rf dist");
	struct err e = { 0 };

	(void)state;
	(void)approve("rm -rf build", &wide);
	q.answer.approval_id = "approval-000000000000";
	assert_int_equal(kernel_handle(&x.k, &q, &h, &e), OK);
	assert_int_equal(h.verdict, V_ESCALATE);
}

/* The way to go on is kept with the question, unless it holds what must not be written down. */
static void the_way_to_go_on(void **state)
{
	static const char *const argv[] = { "rm", "-rf", "build" };
	static const char *const tails[] = { " -- rm -rf build",
		" -- rm -rf build --token ghp_abcdefghijklmnopqrstuvwxyz0123456789" };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		struct handling h = { .a = &x.request };
		struct request q = kernel_fixture_shell(&x, "");
		q.what.argv = argv;
		q.what.argc = ARRAY_SIZE(argv);
		q.answer.resume_before = "helm profile run workspace_edit --approval-id ";
		q.answer.resume_after = tails[i];
		assert_int_equal(kernel_handle(&x.k, &q, &h, &e), OK);
		const char *line = json_get_text(h.question, "resume_command", NULL);
		if (i == 0)
			assert_string_equal(line,
				arena_printf(&x.request,
					"helm profile run workspace_edit --approval-id %s -- rm -rf build",
					id_of(&h)));
		else
			assert_null(line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_question_is_posed_and_kept_once, begin, end),
		cmocka_unit_test_setup_teardown(once_is_once, begin, end),
		cmocka_unit_test_setup_teardown(used_stays_used, begin, end),
		cmocka_unit_test_setup_teardown(a_session_is_one_session, begin, end),
		cmocka_unit_test_setup_teardown(a_path_is_what_lies_below, begin, end),
		cmocka_unit_test_setup_teardown(a_host_is_that_host, begin, end),
		cmocka_unit_test_setup_teardown(until_is_until, begin, end),
		cmocka_unit_test_setup_teardown(revoked_is_over, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_is_given_once, begin, end),
		cmocka_unit_test_setup_teardown(what_was_tampered_with_counts_for_nothing, begin, end),
		cmocka_unit_test_setup_teardown(what_was_granted_is_made_again, begin, end),
		cmocka_unit_test_setup_teardown(too_large_is_made_again, begin, end),
		cmocka_unit_test_setup_teardown(a_rotation_changes_no_answer, begin, end),
		cmocka_unit_test_setup_teardown(many_answers_cost_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_snapshot_that_does_not_fit_is_nothing, begin, end),
		cmocka_unit_test_setup_teardown(
			a_named_request_is_answered_by_its_own_grant_only, begin, end),
		cmocka_unit_test_setup_teardown(the_way_to_go_on, begin, end),
	};

	return cmocka_run_group_tests_name("approval", tests, NULL, NULL);
}
