/* store.c — see store.h. */
#include "tools/store.h"

#include "base/text.h"

#include <fcntl.h>

enum { BATCH = 1000, ROW_BATCH = 4096 };

/* The outside world with a clock of its own. */
struct timed_sys {
	struct sys sys;
	int64_t now_us, step_us;
};

static int64_t next_time(struct sys *s)
{
	struct timed_sys *t = (struct timed_sys *)s;

	return t->now_us += t->step_us;
}

static const char some_hash[] = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

/* What the kernel writes for an ordinary command, before it and after it. */
static int draft_pair(struct recorder *r, struct arena *a, const struct store_plan *plan, uint64_t i,
	struct draft to[2], struct err *e)
{
	struct json *decision, *about = json_new(a, JSON_OBJECT), *ended = json_new(a, JSON_OBJECT);
	char *content, *id = arena_printf(a, "dec-%032llx", (unsigned long long)i),
		       *task = arena_printf(a, "task-%llu", (unsigned long long)i / 16);
	struct decision_draft d = { .id = id,
		.verdict = "ALLOW",
		.subject_id = "user:1000",
		.action = "EXECUTE_COMMAND",
		.resource = "git",
		.effect_digest = some_hash + 7,
		.policy_content_hash = some_hash,
		.policy_version = "1" };
	int rc = record_decision(a, r->sys, r->key, &d, &decision, &content, e);

	if (rc)
		return rc;
	json_sets(a, about, "door", "run");
	json_sets(a, about, "guard_action", "allow");
	json_sets(a, about, "profile", "workspace_edit");
	json_sets(a, about, "task_id", task);
	if (plan->session && i % 2 == 0)
		json_sets(a, about, "session", plan->session);
	json_sets(a, ended, "task_id", task);
	json_seti(a, ended, "exit_code", 0);
	to[0] = (struct draft){ .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.policy_hash = some_hash,
		.args_hash = some_hash,
		.output_hash = content,
		.executor_id = "user:1000",
		.type = "decision",
		.tool_name = "git",
		.metadata = about,
		.subject = decision };
	to[1] = (struct draft){ .receipt_id = arena_printf(a, "rcpt_out_%s", id),
		.decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "COMPLETED",
		.verdict = "ALLOW",
		.policy_hash = some_hash,
		.output_hash = some_hash,
		.executor_id = "user:1000",
		.type = "outcome",
		.tool_name = "git",
		.metadata = ended };
	return OK;
}

static int fill_chain(struct recorder *r, const struct store_plan *plan, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draft drafts[BATCH + 1];
	int rc = OK;

	for (uint64_t done = 0; rc == OK && done < plan->receipts;) {
		uint64_t n = plan->receipts - done < BATCH ? plan->receipts - done : BATCH;
		for (uint64_t i = 0; rc == OK && i < n; i += 2)
			rc = draft_pair(r, &a, plan, (done + i) / 2, drafts + i, e);
		if (rc == OK)
			rc = recorder_append(r, &a, drafts, n, NULL, e);
		done += n;
		arena_reset(&a);
	}
	return rc;
}

/* Rows as the kernel writes them, many in one write. */
static int fill_rows(struct sys *s, int state_fd, uint64_t rows, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd)
	int fd = rows ? s->open(s, state_fd, COMMAND_LOG, O_WRONLY | O_CREAT | O_APPEND, 0600, 0) : -1;
	struct buf text;

	if (rows && fd < 0)
		return err_sys(e, "STORE", "cannot open %s", COMMAND_LOG);
	for (uint64_t i = 0; i < rows;) {
		buf_init(&text, &a);
		for (uint64_t k = 0; k < ROW_BATCH && i < rows; k++, i++)
			buf_addf(&text,
				"{\"command\": [\"git\", \"status\"], \"exit_code\": 0, \"finished_at\": "
				"\"2026-04-13T09:10:00.120000+00:00\", \"guard_action\": \"allow\", \"id\": \"row-%llu\", \"profile\": "
				"\"workspace_edit\", \"task_id\": \"task-%llu\"}\n",
				(unsigned long long)i, (unsigned long long)i / 16);
		for (size_t at = 0; at < text.n;) {
			ssize_t n = s->write(s, fd, text.p + at, text.n - at);
			if (n < 0)
				return err_sys(e, "STORE", "cannot write %s", COMMAND_LOG);
			at += (size_t)n;
		}
		arena_reset(&a);
	}
	return OK;
}

int store_fill(struct sys *s, int state_fd, struct key *key, const struct store_plan *plan, struct err *e)
{
	struct timed_sys timed = { *s, plan->start_us, plan->step_us };
	AUTO(recorder_close) struct recorder r;

	if (plan->start_us)
		timed.sys.now_us = next_time;
	recorder_open(&r, plan->start_us ? &timed.sys : s, state_fd, key);
	if (plan->rotate_bytes)
		r.rotate_bytes = plan->rotate_bytes;
	int rc = fill_chain(&r, plan, e);
	return rc ? rc : fill_rows(s, state_fd, plan->rows, e);
}
