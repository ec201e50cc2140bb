/* failure_fix.c — pairs a failure with the later success of the same command, and with what was changed between the two. */
#include "remember/failure_fix.h"

#include "base/text.h"
#include "record/record.h"
#include "remember/memory.h"

#include <string.h>

enum { MOST_CALLS = 50000 };

struct call {
	int64_t at;
	const char *id, *file;
};

struct change {
	const char *key; /* of the command that made it */
	const char *task_id, *file;
	size_t number; /* of its row, counted from the newest back */
};

struct pass {
	const struct json *row;
	int64_t at;
	size_t number;
};

struct failure_past {
	struct arena *a;
	int64_t since_us;
	struct json *keys; /* command and directory: place in `passes` */
	struct pass *passes;
	size_t pass_count, pass_room;
	struct change last,
		other; /* the oldest change seen so far, and the oldest by another command than that one's */
	size_t number;
	struct call *calls; /* the newest first */
	size_t call_count, call_room;
};

static int64_t time_in(const struct json *row, const char *member)
{
	const char *text = json_get_text(row, member, NULL);
	int64_t us;

	return text && memory_time(text, &us) ? us : INT64_MIN;
}

static const char *key_of(struct arena *a, const struct json *row)
{
	const char *command = json_get_text(row, "command_preview", "");

	return *command ? arena_printf(a, "%s\x1f%s", json_get_text(row, "cwd", ""), command) : NULL;
}

static const char *first_text(const struct json *list)
{
	return json_is(list, JSON_ARRAY) && list->n ? json_text(list->items[0]) : NULL;
}

/* ---- changes by clients ---- */

static int is_change(void *arg, struct bytes line)
{
	(void)arg;
	return memmem(line.p, line.n, "\"changed_files\"", 15) != NULL ||
		memmem(line.p, line.n, "\"deleted_files\"", 15) != NULL;
}

static int keep_call(void *arg, struct json *row)
{
	struct failure_past *p = arg;
	const char *file = first_text(json_get(row, "changed_files"));
	const int64_t at = time_in(row, "at");

	if (!file)
		file = first_text(json_get(row, "deleted_files"));
	if (at != INT64_MIN && at < p->since_us)
		return 1;
	if (!file || at == INT64_MIN)
		return 0;
	if (p->call_count == p->call_room) {
		const size_t room = p->call_room ? 2 * p->call_room : 64;
		p->calls = arena_grow(
			p->a, p->calls, p->call_room * sizeof(*p->calls), room * sizeof(*p->calls));
		p->call_room = room;
	}
	p->calls[p->call_count++] = (struct call){ at,
		arena_strdup(p->a,
			json_get_text(row, "tool_use_id", json_get_text(row, "tool", "a call of a client"))),
		arena_strdup(p->a, file) };
	return p->call_count == MOST_CALLS;
}

int failure_past_open(struct sys *s, struct arena *a, int state_fd, int64_t since_us,
	struct failure_past **ret, struct err *e)
{
	struct failure_past *p = arena_zalloc(a, 1, sizeof(*p));

	p->a = a;
	p->since_us = since_us;
	p->keys = json_new(a, JSON_OBJECT);
	int rc = rows_back_wanted(s, NULL, state_fd, TOOL_CALLS, is_change, keep_call, p, e);
	if (rc < 0)
		return rc;
	*ret = p;
	return OK;
}

/* ---- rows ---- */

static void keep_pass(struct failure_past *p, const struct json *row, const char *key)
{
	const int64_t i = json_get_int(p->keys, key, -1);
	const int64_t started = time_in(row, "started_at"), ended = time_in(row, "finished_at");
	const struct pass pass = { json_copy(p->a, row), started == INT64_MIN ? ended : started, p->number };

	if (i >= 0) {
		p->passes[i] = pass;
		return;
	}
	if (p->pass_count == p->pass_room) {
		const size_t room = p->pass_room ? 2 * p->pass_room : 64;
		p->passes = arena_grow(
			p->a, p->passes, p->pass_room * sizeof(*p->passes), room * sizeof(*p->passes));
		p->pass_room = room;
	}
	json_seti(p->a, p->keys, key, (int64_t)p->pass_count);
	p->passes[p->pass_count++] = pass;
}

static void keep_change(struct failure_past *p, const struct json *row, const char *key)
{
	const char *file = first_text(json_get(row, "touched_paths"));
	struct change now = { .key = key ? key : "", .number = p->number };

	if (!file)
		file = first_text(json_get(row, "deleted_paths"));
	if (!file && !json_get_text(row, "checkpoint_id", NULL))
		return;
	if (p->last.key && !text_eq(p->last.key, now.key))
		p->other = p->last;
	now.file = file ? arena_strdup(p->a, file) : NULL;
	now.task_id = arena_strdup(p->a, json_get_text(row, "task_id", ""));
	p->last = now;
}

void failure_past_see(struct failure_past *p, const struct json *row)
{
	const char *key = key_of(p->a, row);

	p->number++;
	if (key && text_eq(json_get_text(row, "status", ""), "completed") &&
		!json_get_int(row, "exit_code", 0))
		keep_pass(p, row, key);
	keep_change(p, row, key);
}

/* The newest change of a client between two times; NULL: none. */
static const struct call *call_between(const struct failure_past *p, int64_t from, int64_t to)
{
	size_t low = 0, high = p->call_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (p->calls[middle].at > to)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->call_count && p->calls[low].at > from ? &p->calls[low] : NULL;
}

bool failure_past_fix(const struct failure_past *p, const struct json *row, struct failure_fix *ret)
{
	const char *key = key_of(p->a, row);
	const int64_t i = key ? json_get_int(p->keys, key, -1) : -1, ended = time_in(row, "finished_at");

	if (i < 0)
		return false;
	const struct pass *pass = &p->passes[i];
	/* What the command itself wrote, as a build does, is no change of what it was given. */
	const struct change *change = p->last.key && !text_eq(p->last.key, key) ? &p->last : &p->other;
	const struct call *call = call_between(p, ended, pass->at);
	const bool is_task = change->key && change->number > pass->number;
	if (!call && !is_task)
		return false;
	*ret = (struct failure_fix){ .task_id = json_get_text(pass->row, "task_id", NULL),
		.command = json_get_text(pass->row, "command_preview", NULL),
		.changed_by = call ? call->id : change->task_id,
		.changed = call ? call->file : change->file };
	return ret->task_id != NULL;
}
