/* skills.c — what skills cost and when they last worked, from the rows of their runs. */
#include "actions/actions.h"
#include "base/text.h"
#include "remember/loop.h"
#include "remember/memory.h"

#include <stdlib.h>
#include <string.h>

static void count(struct arena *a, struct json *to, const char *name, int64_t more)
{
	json_seti(a, to, name, json_get_int(to, name, 0) + more);
}

static struct json *sum_of(struct arena *a, struct json *by_skill, const char *skill)
{
	static const char *const counts[] = { "runs", "completed", "failed", "blocked", "other",
		"left_contract", "input_tokens", "output_tokens" };
	struct json *one = json_get(by_skill, skill);

	if (one)
		return one;
	one = json_new(a, JSON_OBJECT);
	json_sets(a, one, "skill", skill);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_seti(a, one, counts[i], 0);
	json_set(a, one, "seconds", json_number(a, 0));
	json_set(a, one, "cost_usd", json_number(a, 0));
	json_sets(a, one, "last_used_at", NULL);
	json_sets(a, one, "last_success_at", NULL);
	json_sets(a, one, "last_failure_at", NULL);
	json_sets(a, one, "last_failure", NULL);
	json_set(a, by_skill, skill, one);
	return one;
}

static void add_number(struct arena *a, struct json *to, const char *name, double more)
{
	const struct json *old = json_get(to, name);

	json_set(a, to, name,
		json_double(a, (json_is(old, JSON_NUMBER) ? strtod(old->text, NULL) : 0) + more));
}

static double seconds_of(const struct json *row)
{
	int64_t from, to;

	if (!memory_time(json_get_text(row, "started_execution_at", ""), &from) ||
		!memory_time(json_get_text(row, "finished_at", ""), &to) || to < from)
		return 0;
	return (double)((to - from) / 1000) / 1000;
}

/* Rows come oldest first, so the last one that says something is the newest. */
static void add_row(struct arena *a, struct json *sum, const struct json *row)
{
	const char *status = json_get_text(row, "status", ""), *at = json_get_text(row, "finished_at", NULL);
	const struct json *meta = json_get(row, "meta"), *cost = json_get(meta, "cost_usd");
	bool is_failed = text_eq(status, "failed") || text_eq(status, "timeout");

	count(a, sum, "runs", 1);
	if (text_eq(status, "completed") || text_eq(status, "blocked"))
		count(a, sum, status, 1);
	else if (!is_failed)
		count(a, sum, "other", 1);
	if (is_failed)
		count(a, sum, "failed", 1);
	if (json_get_text(row, "left_contract", NULL))
		count(a, sum, "left_contract", 1);
	add_number(a, sum, "seconds", seconds_of(row));
	if (json_is(cost, JSON_NUMBER))
		add_number(a, sum, "cost_usd", strtod(cost->text, NULL));
	count(a, sum, "input_tokens", json_get_int(meta, "input_tokens", 0));
	count(a, sum, "output_tokens", json_get_int(meta, "output_tokens", 0));
	json_sets(a, sum, "last_used_at", json_get_text(row, "started_at", NULL));
	if (text_eq(status, "completed"))
		json_sets(a, sum, "last_success_at", at);
	if (is_failed) {
		const struct json *signature = json_get(row, "failure_signature");
		json_sets(a, sum, "last_failure_at", at);
		json_sets(a, sum, "last_failure", json_get_text(signature, "error_class", NULL));
	}
}

int actions_skill_usage(const struct actions_place *o, const char *skill, struct json **ret, struct err *e)
{
	const struct ops_filter f = { .skill = skill, .is_latest = true };
	struct json *rows, *by_skill = json_new(o->a, JSON_OBJECT), *list = json_new(o->a, JSON_ARRAY);
	int rc = actions_ops_rows(o, &f, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows) {
		const char *name = json_get_text(row, "skill", NULL);
		/* The steps of a turn have rows of their own. */
		if (name && *name && !text_eq(json_get_text(row, "kind", ""), LOOP_TURN))
			add_row(o->a, sum_of(o->a, by_skill, name), row);
	}
	json_sort_members(by_skill);
	json_each_member (m, by_skill)
		json_push(o->a, list, m->value);
	*ret = list;
	return OK;
}
