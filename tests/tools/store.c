/* store.c — see store.h. */
#include "tools/store.h"

#include "base/hash.h"
#include "base/text.h"

#include <fcntl.h>
#include <pthread.h>

enum { BATCH = 1000, ROW_BATCH = 4096, SEAL_EVERY = 100 };

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

static int no_sync(struct sys *s, int fd)
{
	(void)s;
	(void)fd;
	return 0;
}

static const char some_hash[] = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";

/* One batch in the making: drafts, and the text of the rows that belong to them. */
struct batch_plan {
	const struct store_plan *plan;
	struct timed_sys sys; /* of its own: the recorder's is used at the same time */
	struct key *key;
	struct arena a;
	uint64_t from, n; /* receipts */
	struct draft drafts[BATCH + 1];
	struct buf tasks, commands, calls;
	struct err e;
	int rc;
};

static void add_row(struct batch_plan *b, struct buf *to, const char *row, struct json *digests)
{
	json_push(&b->a, digests, json_string(&b->a, sha256_hex(&b->a, row, strlen(row))));
	buf_adds(to, row);
	buf_addc(to, '\n');
}

/* The rows of a run, as far as anybody reads them: queued, running, its command, completed. */
static struct json *draft_rows(struct batch_plan *b, uint64_t i, const char *task)
{
	static const char *const states[] = { "queued", "running", "completed" };
	struct json *digests = json_new(&b->a, JSON_ARRAY);
	const char *at = text_time_iso(&b->a, b->sys.sys.now_us(&b->sys.sys));

	for (int k = 0; k < 3; k++) {
		if (k == 2)
			add_row(b, &b->commands,
				arena_printf(&b->a,
					"{\"command_preview\": \"make test-%llu\", \"exit_code\": 0, \"finished_at\": \"%s\", "
					"\"label\": \"make\", \"task_id\": \"%s\"}",
					(unsigned long long)i, at, task),
				digests);
		add_row(b, &b->tasks,
			arena_printf(&b->a,
				"{\"command_preview\": \"make test-%llu\", \"cwd\": \"/w\", \"decision_id\": \"dec-%032llx\", "
				"\"exit_code\": %s, \"finished_at\": \"%s\", \"profile\": \"%s\", \"started_at\": \"%s\", "
				"\"status\": \"%s\", \"task_id\": \"%s\", \"task_name\": \"make test-%llu\"}",
				(unsigned long long)i, (unsigned long long)i, k == 2 ? "0" : "null", at,
				i % 3 ? "workspace_edit" : "read_only", at, states[k], task,
				(unsigned long long)i),
			digests);
	}
	return digests;
}

/* Calls of a client that were let pass or refused; the next receipt binds them. */
static void draft_calls(struct batch_plan *b, uint64_t i)
{
	const char *at = text_time_iso(&b->a, b->sys.sys.now_us(&b->sys.sys));

	for (uint64_t k = 0; k < b->plan->calls; k++) {
		bool is_refused = k % 16 == 7;
		buf_addf(&b->calls,
			"{\"agent_task\": \"session-of-a-client\", \"asked\": {\"action\": \"AGENT_TOOL_CALL\", \"effects\": "
			"[{\"certainty\": \"certain\", \"class\": \"none\", \"kind\": \"read\", \"program\": \"ls\", \"tag\": "
			"\"read.query\"}], \"params\": {\"command\": \"ls %llu\"}, \"principal\": \"agent:claude-code\", "
			"\"session\": \"s\", \"tool\": \"Bash\", \"tools\": [\"ls\"]}, \"at\": \"%s\", \"client\": \"claude-code\", "
			"\"client_pid\": 4, \"client_start\": 3820, \"cwd\": \"/w\", \"decision_id\": null, \"guard_action\": \"%s\", "
			"\"input_sha256\": \"%s\", \"preview\": \"ls %llu\", \"rule\": %s, \"session\": \"s\", \"tool\": \"Bash\", "
			"\"tool_use_id\": \"t-%llu-%llu\", \"verdict\": \"%s\"}\n",
			(unsigned long long)k, at, is_refused ? "deny" : "allow", some_hash,
			(unsigned long long)k, is_refused ? "\"deny.rm_root\"" : "null",
			(unsigned long long)i, (unsigned long long)k, is_refused ? "DENY" : "ALLOW");
	}
}

/* What the kernel writes for an ordinary command, before it and after it. */
static int draft_pair(struct batch_plan *b, uint64_t i, struct draft to[2])
{
	struct arena *a = &b->a;
	struct json *decision, *about = json_new(a, JSON_OBJECT), *ended = json_new(a, JSON_OBJECT);
	char *content,
		*id = arena_printf(a, "dec-%032llx", (unsigned long long)i),
		*task = arena_printf(a, "task-%llu", (unsigned long long)(b->plan->has_tasks ? i : i / 16));
	const bool is_denied = i < b->plan->denied;
	struct decision_draft d = { .id = id,
		.verdict = is_denied ? "DENY" : "ALLOW",
		.subject_id = "user:1000",
		.action = "EXECUTE_COMMAND",
		.resource = "git",
		.effect_digest = some_hash + 7,
		.policy_content_hash = some_hash,
		.policy_version = "1" };
	int rc = record_decision(a, &b->sys.sys, b->key, &d, &decision, &content, &b->e);

	if (rc)
		return rc;
	json_sets(a, about, "door", b->plan->door ? b->plan->door : "run");
	json_sets(a, about, "guard_action", is_denied ? "deny" : "allow");
	json_sets(a, about, "profile", "workspace_edit");
	json_sets(a, about, "task_id", task);
	if (b->plan->session && i % 2 == 0)
		json_sets(a, about, "session", b->plan->session);
	json_sets(a, ended, "task_id", task);
	json_seti(a, ended, "exit_code", 0);
	if (b->plan->has_tasks)
		json_set(a, ended, "rows_sha256", draft_rows(b, i, task));
	to[0] = (struct draft){ .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = is_denied ? "DENY" : "ALLOW",
		.verdict = is_denied ? "DENY" : "ALLOW",
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
		.status = is_denied ? "REFUSED" : "COMPLETED",
		.verdict = is_denied ? "DENY" : "ALLOW",
		.policy_hash = some_hash,
		.output_hash = some_hash,
		.executor_id = "user:1000",
		.type = "outcome",
		.tool_name = "git",
		.metadata = ended };
	return OK;
}

/* For a thread: the decisions of a batch are signed while the receipts of the one before are. */
static void *draft_batch(void *arg)
{
	struct batch_plan *b = arg;

	arena_reset(&b->a);
	buf_init(&b->tasks, &b->a);
	buf_init(&b->commands, &b->a);
	buf_init(&b->calls, &b->a);
	b->sys.now_us = b->plan->start_us + (int64_t)b->from * b->plan->step_us;
	b->rc = OK;
	for (uint64_t i = 0; b->rc == OK && i < b->n; i += 2) {
		draft_calls(b, b->plan->first + (b->from + i) / 2);
		b->rc = draft_pair(b, b->plan->first + (b->from + i) / 2, b->drafts + i);
	}
	return NULL;
}

static int append_text(struct sys *s, int state_fd, const char *file, struct bytes text, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, state_fd, file, O_WRONLY | O_CREAT | O_APPEND, 0600, 0);

	if (fd < 0)
		return err_sys(e, "STORE", "cannot open %s", file);
	for (size_t at = 0; at < text.n;) {
		ssize_t n = s->write(s, fd, text.p + at, text.n - at);
		if (n < 0)
			return err_sys(e, "STORE", "cannot write %s", file);
		at += (size_t)n;
	}
	return ledger_rotate(s, state_fd, file, LEDGER_ROTATE_BYTES, false, e);
}

static int put_batch(struct recorder *r, struct batch_plan *b, struct err *e)
{
	size_t sealed;
	int rc = b->rc;

	if (rc) {
		*e = b->e;
		return rc;
	}
	if (b->tasks.n)
		rc = append_text(r->sys, r->state_fd, TASK_LEDGER, buf_bytes(&b->tasks), e);
	if (rc == OK && b->commands.n)
		rc = append_text(r->sys, r->state_fd, COMMAND_LOG, buf_bytes(&b->commands), e);
	if (rc == OK && b->calls.n)
		rc = append_text(r->sys, r->state_fd, TOOL_CALLS, buf_bytes(&b->calls), e);
	if (rc == OK)
		rc = recorder_append(r, &b->a, b->drafts, b->n, NULL, e);
	if (rc == OK && b->plan->has_tasks && b->from / BATCH % SEAL_EVERY == SEAL_EVERY - 1)
		rc = ledger_seal(r, &b->a, &sealed, e);
	return rc;
}

static int fill_chain(struct recorder *r, const struct store_plan *plan, struct err *e)
{
	struct batch_plan *two = calloc(2, sizeof(*two));
	uint64_t drafted = 0, put = 0;
	int rc = two ? OK : err_set(e, E_LIMIT, "STORE", "no memory");

	for (int at = 0; rc == OK && put < plan->receipts; at = !at) {
		struct batch_plan *now = &two[at], *next = &two[!at];
		uint64_t left = plan->receipts - drafted;
		pthread_t thread;

		*next = (struct batch_plan){ .plan = plan,
			.sys = { *r->sys, 0, plan->step_us / 2 },
			.key = r->key,
			.a = next->a,
			.from = drafted,
			.n = left < BATCH ? left : BATCH };
		if (pthread_create(&thread, NULL, draft_batch, next)) {
			rc = err_set(e, E_LIMIT, "STORE", "no thread");
			break;
		}
		if (now->n)
			rc = put_batch(r, now, e);
		pthread_join(thread, NULL);
		drafted += next->n;
		put += now->n;
	}
	for (int i = 0; two && i < 2; i++)
		arena_done(&two[i].a);
	free(two);
	return rc;
}

/* Rows as the kernel writes them, many in one write. */
static int fill_rows(struct sys *s, int state_fd, uint64_t rows, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;
	int rc = OK;

	for (uint64_t i = 0; rc == OK && i < rows;) {
		buf_init(&text, &a);
		for (uint64_t k = 0; k < ROW_BATCH && i < rows; k++, i++)
			buf_addf(&text,
				"{\"command\": [\"git\", \"status\"], \"exit_code\": 0, \"finished_at\": "
				"\"2026-04-13T09:10:00.120000+00:00\", \"guard_action\": \"allow\", \"id\": \"row-%llu\", \"profile\": "
				"\"workspace_edit\", \"task_id\": \"task-%llu\"}\n",
				(unsigned long long)i, (unsigned long long)i / 16);
		rc = append_text(s, state_fd, COMMAND_LOG, buf_bytes(&text), e);
		arena_reset(&a);
	}
	return rc;
}

int store_fill(struct sys *s, int state_fd, struct key *key, const struct store_plan *plan, struct err *e)
{
	struct timed_sys own = { *s, plan->start_us, plan->step_us };
	AUTO(recorder_close) struct recorder r;

	if (plan->start_us)
		own.sys.now_us = next_time;
	if (plan->is_unsynced)
		own.sys.sync = own.sys.fsync = no_sync;
	recorder_open(&r, &own.sys, state_fd, key);
	if (plan->rotate_bytes)
		r.rotate_bytes = plan->rotate_bytes;
	int rc = fill_chain(&r, plan, e);
	return rc ? rc : fill_rows(s, state_fd, plan->rows, e);
}
