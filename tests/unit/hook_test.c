/* hook_test.c — an agent's calls before and after: what passes, what is answered, and what is on record of each. */
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/hook.h"
#include "kernel/task/contain.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static struct kernel_fixture x;

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static struct tool_call call_of(const char *tool, const char *member, const char *text, const char *use_id)
{
	struct json *input = json_new(&x.request, JSON_OBJECT);

	json_sets(&x.request, input, member, text);
	return (struct tool_call){
		.tool_name = tool, .input = input, .session = "s", .cwd = x.ws->root, .use_id = use_id
	};
}

static struct hook_answer before(const char *command, const char *use_id, bool can_ask)
{
	struct tool_call call = call_of("Bash", "command", command, use_id);
	struct hook_answer answer;
	struct err e = { 0 };

	if (hook_before(&x.k, &x.request, "claude-code", can_ask, &call, &answer, &e))
		fail_msg("%s: %s", command, e.text);
	return answer;
}

static void after(const char *command, const char *use_id, const char *response)
{
	struct tool_call call = call_of("Bash", "command", command, use_id);
	struct json *doc = NULL;
	struct err e = { 0 };

	if (response)
		assert_int_equal(json_parse(&x.request, bytes_of(response), "response", NULL, &doc, &e), OK);
	call.response = doc;
	const char *said;
	if (hook_after(&x.k, &x.request, "claude-code", &call, &said, &e))
		fail_msg("%s: %s", command, e.text);
}

static const char *last(const char *member)
{
	const char *text = json_get_text(kernel_fixture_last_row(&x, TOOL_CALLS), member, NULL);

	return text ? text : "";
}

static void reading_passes_with_a_note(void **state)
{
	(void)state;
	struct tool_call call = call_of("Read", "file_path", "README.md", "u1");
	struct hook_answer answer;
	struct err e = { 0 };

	assert_int_equal(hook_before(&x.k, &x.request, "claude-code", true, &call, &answer, &e), OK);
	assert_int_equal(answer.verdict, V_ALLOW);
	assert_true(answer.is_quiet);
	assert_null(answer.receipt_id);
	assert_string_equal(last("verdict"), "ALLOW");
	assert_string_equal(last("tool"), "Read");
	assert_string_equal(last("decision_id"), "");
	assert_int_equal(kernel_fixture_receipts(&x, NULL)->n, 0);
	/* Nothing was decided on record, so there is nothing to bind an outcome to. */
	after("cat README.md", "u1", "{}");
	assert_string_equal(last("outcome"), "done");
	assert_int_equal(kernel_fixture_receipts(&x, NULL)->n, 0);
}

static void work_is_signed_before_and_after(void **state)
{
	(void)state;
	struct hook_answer answer = before("touch a", "u2", true);

	assert_int_equal(answer.verdict, V_ALLOW);
	assert_false(answer.is_quiet);
	const char *decision = arena_strdup(&x.request, last("decision_id"));
	assert_string_equal(answer.receipt_id, arena_printf(&x.request, "rcpt_%s", decision));
	after("touch a", "u2", "{\"exit_code\": 3, \"is_error\": true}");
	assert_string_equal(last("outcome"), "failed");
	struct json *outcomes = kernel_fixture_receipts(&x, "outcome");
	assert_int_equal(outcomes->n, 1);
	assert_string_equal(json_get_text(outcomes->items[0], "decision_id", ""), decision);
	assert_string_equal(json_get_text(outcomes->items[0], "status", ""), "FAILED");
	assert_string_equal(json_get_text(outcomes->items[0], "output_hash", ""), last("outcome_sha256"));
	assert_int_equal(json_get_int(json_get(outcomes->items[0], "metadata"), "exit_code", 0), 3);
}

/* ---- calls whose rows are packed by now ---- */

static struct {
	int (*open)(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve);
	unsigned packed; /* pieces opened */
} opened;

static int open_counted(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	opened.packed += text_ends(path, ".zst");
	return opened.open(s, dirfd, path, flags, mode, resolve);
}

/* What is in the ledger now is put aside and packed. */
static void pack_ledger(void)
{
	struct json *row = json_new(&x.request, JSON_OBJECT);
	char digest[SHA256_HEX];
	struct err e = { 0 };

	json_sets(&x.request, row, "tool", "Later");
	x.k.recorder.ledger_bytes = 1;
	assert_int_equal(recorder_row(&x.k.recorder, &x.request, TOOL_CALLS, row, digest, &e), OK);
	kernel_tidy(&x.k, &x.request);
}

static void a_packed_call_is_found(void **state)
{
	(void)state;
	(void)before("touch a", "long", true);
	const char *decision = arena_strdup(&x.request, last("decision_id"));
	for (int i = 0; i < 3; i++) {
		(void)before("touch b", arena_printf(&x.request, "short-%d", i), true);
		pack_ledger();
		after("touch b", arena_printf(&x.request, "short-%d", i), NULL);
	}
	size_t outcomes = kernel_fixture_receipts(&x, "outcome")->n;
	opened.open = x.f.sys.open;
	opened.packed = 0;
	x.f.sys.open = open_counted;
	after("touch a", "long", NULL);
	assert_true(opened.packed > 0);
	struct json *found = kernel_fixture_receipts(&x, "outcome");
	assert_int_equal(found->n, outcomes + 1);
	assert_string_equal(json_get_text(found->items[outcomes], "decision_id", ""), decision);
	/* An id that nobody knows is not searched for in every piece there is. */
	after("touch a", "nobody", NULL);
	opened.packed = 0;
	after("touch a", "nobody-else", NULL);
	assert_int_equal(opened.packed, 0);
	assert_int_equal(kernel_fixture_receipts(&x, "outcome")->n, outcomes + 1);
}

static void changes_are_seen(void **state)
{
	(void)state;
	scratch_put(&x.home, "ws/gone", "1");
	(void)before("rm gone && echo 2 > made", "u4", true);
	assert_int_equal(unlinkat(x.ws->root_fd, "gone", 0), 0);
	scratch_put(&x.home, "ws/made", "2");
	after("rm gone && echo 2 > made", "u4", NULL);
	const struct json *row = kernel_fixture_last_row(&x, TOOL_CALLS);
	assert_string_equal(json_text(json_at(json_get(row, "deleted_files"), 0)), "gone");
	assert_string_equal(json_text(json_at(json_get(row, "changed_files"), 0)), "made");
}

static void a_denial_says_what_to_do(void **state)
{
	(void)state;
	struct hook_answer answer = before("rm -rf /", "u5", true);

	assert_int_equal(answer.verdict, V_DENY);
	assert_non_null(strstr(answer.text, "HELM denied Bash"));
	assert_non_null(strstr(answer.text, answer.receipt_id));
	assert_non_null(strstr(answer.text, "Rule: deny.rm_root"));
	assert_non_null(strstr(answer.text, "Remediation: "));
	assert_null(strstr(answer.text, "DOOM_LOOP"));
	assert_true(*answer.code != '\0' && *answer.short_text != '\0');
	/* The third time in a row is said to be one. */
	(void)before("rm -rf /", "u6", true);
	assert_non_null(strstr(before("rm -rf /", "u7", true).text, "refused 3 times in a row"));
	(void)before("touch a", "u8", true);
	assert_null(strstr(before("rm -rf /", "u9", true).text, "DOOM_LOOP"));
}

static void a_question_is_kept_and_can_be_answered_in_the_client(void **state)
{
	(void)state;
	struct hook_answer answer = before("rm -rf build", "u10", true);
	const char *id = arena_strdup(&x.request, last("approval_id"));
	struct json *doc, *entry;
	struct err e = { 0 };

	assert_int_equal(answer.verdict, V_ESCALATE);
	assert_true(text_starts(id, "approval-"));
	assert_non_null(strstr(answer.text, arena_printf(&x.request, "helm approval approve %s", id)));
	assert_true(json_get(kernel_fixture_last_row(&x, TOOL_CALLS), "covers")->n > 0);
	assert_int_equal(approval_get(&x.k, &x.request, id, &entry, &e), OK);
	/* The same question is the same question. */
	(void)before("rm -rf build", "u11", true);
	assert_string_equal(last("approval_id"), id);
	/* Its person said yes: the call was made. */
	after("rm -rf build", "u11", "{}");
	assert_int_equal(approvals_load(&x.f.sys, &x.request, x.ws, &doc, &e), OK);
	assert_null(json_get(json_get(doc, "requests"), id));
	entry = approvals_find_settled(&x.f.sys, &x.request, x.ws, false, id);
	assert_string_equal(request_state(entry, x.f.sys.now_us(&x.f.sys)), "answered in the client");
}

static void what_is_not_understood_is_asked_about_on_record(void **state)
{
	(void)state;
	struct hook_answer answer = before("rm -rf build; echo \"", "u12", true);

	assert_true(answer.verdict != V_ALLOW);
	assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, 1);
	/* A tool nobody knows is as the profile says. */
	struct tool_call call = call_of("Telepathy", "thought", "x", "u13");
	struct err e = { 0 };
	assert_int_equal(hook_before(&x.k, &x.request, "codex", false, &call, &answer, &e), OK);
	assert_int_equal(answer.verdict, V_ALLOW);
	assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, 2);
}

/* An outcome whose call was never heard of is noted, and nothing is signed about it. */
static void orphaned_outcomes_are_noted_only(void **state)
{
	(void)state;
	(void)before("touch a", "u14", true);
	after("touch a", "never-asked", "{\"is_error\": false}");
	assert_string_equal(last("tool_use_id"), "never-asked");
	assert_int_equal(kernel_fixture_receipts(&x, "outcome")->n, 0);
	after("touch a", NULL, NULL);
	assert_int_equal(kernel_fixture_receipts(&x, "outcome")->n, 0);
	after("touch a", "u14", NULL);
	assert_int_equal(kernel_fixture_receipts(&x, "outcome")->n, 1);
}

/* An answer that cannot be recorded is an error, which the door turns into a block. */
static void no_record_no_answer(void **state)
{
	(void)state;
	unsigned refused = 0;
	for (unsigned n = 1;; n++) {
		struct tool_call call = call_of("Bash", "command", "touch a", "u15");
		struct hook_answer answer = { .verdict = V_DENY };
		struct err e = { 0 };
		uint32_t had = kernel_fixture_receipts(&x, "decision")->n;
		x.f.calls = 0;
		x.f.fail_at = n;
		x.f.fail_errno = ENOSPC;
		x.f.fail_stays = true;
		int rc = hook_before(&x.k, &x.request, "codex", false, &call, &answer, &e);
		bool has_fired = fault_fired(&x.f);
		x.f.fail_at = 0;
		if (answer.verdict == V_ALLOW)
			assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, had + 1);
		refused += rc != OK;
		kernel_fixture_reopen(&x);
		if (!has_fired)
			break;
	}
	assert_true(refused >= 3);
}

/* Also one that moves: it is asked about because it leaves the sandbox, and judged as what it is without one. */
static void a_call_is_decided_once(void **state)
{
	static const struct {
		const char *command;
		enum placement placement;
	} calls[] = { { "touch a", IN_SANDBOX }, { "ls", IN_SANDBOX }, { "rm /srv/x", UNSANDBOXED },
		{ "sudo ls", UNSANDBOXED }, { "rm -rf /", IN_SANDBOX } };
	struct err e = { 0 };
	struct json *receipt;

	(void)state;
	assert_int_equal(contain_set(&x.k, &x.request, "claude-code", true, "user:0", &receipt, &e), OK);
	kernel_fixture_reopen(&x);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct tool_call call = call_of("Bash", "command", calls[i].command, "once");
		struct handling h = { .a = &x.request };
		uint64_t had = x.k.decided_count;
		(void)before(calls[i].command, arena_printf(&x.request, "once%zu", i), true);
		assert_int_equal(x.k.decided_count, had + 1);
		assert_int_equal(hook_foresee(&x.k, "claude-code", true, &call, NULL, NULL, &h, &e), OK);
		assert_int_equal(x.k.decided_count, had + 2);
		if (h.decision.placement != calls[i].placement)
			fail_msg("%s: %s", calls[i].command, placement_name(h.decision.placement));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reading_passes_with_a_note, begin, end),
		cmocka_unit_test_setup_teardown(work_is_signed_before_and_after, begin, end),
		cmocka_unit_test_setup_teardown(a_packed_call_is_found, begin, end),
		cmocka_unit_test_setup_teardown(changes_are_seen, begin, end),
		cmocka_unit_test_setup_teardown(a_denial_says_what_to_do, begin, end),
		cmocka_unit_test_setup_teardown(
			a_question_is_kept_and_can_be_answered_in_the_client, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_understood_is_asked_about_on_record, begin, end),
		cmocka_unit_test_setup_teardown(orphaned_outcomes_are_noted_only, begin, end),
		cmocka_unit_test_setup_teardown(no_record_no_answer, begin, end),
		cmocka_unit_test_setup_teardown(a_call_is_decided_once, begin, end),
	};

	return cmocka_run_group_tests_name("hook", tests, NULL, NULL);
}
