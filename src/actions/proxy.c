/* proxy.c — what passed the model proxy: requests, calls, denials, tokens and money, by model and by principal; read from the chain. */
#include "actions/actions.h"
#include "base/text.h"

#include <string.h>

struct counting {
	struct arena *a;
	int64_t since_us;
	struct json *models, *principals, *denials; /* objects by name */
	int64_t requests;
};

static struct json *row_of(struct arena *a, struct json *rows, const char *name)
{
	struct json *row = json_get(rows, name);

	if (!row) {
		row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "name", name);
		json_set(a, rows, name, row);
	}
	return row;
}

static void add(struct arena *a, struct json *row, const char *member, int64_t n)
{
	json_seti(a, row, member, json_get_int(row, member, 0) + n);
}

static void both(
	struct counting *x, const struct json *receipt, const char *model, const char *member, int64_t n)
{
	if (!n)
		return;
	add(x->a, row_of(x->a, x->models, *model ? model : "-"), member, n);
	add(x->a, row_of(x->a, x->principals, json_get_text(receipt, "executor_id", "-")), member, n);
}

static void note_denial(struct counting *x, const struct json *receipt)
{
	const char *tool = json_get_text(receipt, "tool_name", "-"),
		   *rule = json_get_text(
			   json_get(receipt, "metadata"), "rule", json_get_text(receipt, "reason_code", ""));
	struct json *row = row_of(x->a, x->denials, arena_printf(x->a, "%s %s", tool, rule));

	json_sets(x->a, row, "tool", tool);
	json_sets(x->a, row, "rule", rule);
	add(x->a, row, "count", 1);
}

static void count_outcome(
	struct counting *x, const struct json *receipt, const struct json *o, const char *model)
{
	static const char *const members[] = { "input_tokens", "output_tokens", "cost_micro_cents" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		both(x, receipt, model, members[i], json_get_int(o, members[i], 0));
	/* What has no price did not cost nothing. */
	if (json_get(o, "input_tokens") && !json_get(o, "cost_micro_cents"))
		both(x, receipt, model, "unpriced", 1);
}

static int count(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct counting *x = arg;
	const struct json *about = json_get(receipt, "metadata"), *o = json_get(about, "proxy");
	const char *source = json_get_text(about, "source", ""), *model = json_get_text(o, "model", "");
	const char *at = json_get_text(receipt, "timestamp", "");
	bool is_no = !text_eq(json_get_text(receipt, "verdict", ""), "ALLOW");
	int64_t us = 0;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (!o || !text_starts(source, "proxy.") ||
		(x->since_us && (!text_parse_time(at, strlen(at), &us) || us < x->since_us)))
		return 0;
	if (text_eq(source, "proxy.outcome")) {
		count_outcome(x, receipt, o, model);
		return 0;
	}
	bool is_request = text_eq(source, "proxy.request");
	x->requests += is_request;
	both(x, receipt, model, is_request ? "requests" : "calls", 1);
	if (is_no) {
		both(x, receipt, model, is_request ? "refused" : "denied", 1);
		note_denial(x, receipt);
	}
	return 0;
}

static struct json *listed(struct arena *a, const struct json *rows)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each_member (m, rows)
		json_push(a, list, m->value);
	return list;
}

int actions_proxy(
	struct sys *s, struct arena *a, int state_fd, int64_t since_us, struct json **ret, struct err *e)
{
	struct counting x = { .a = a,
		.since_us = since_us,
		.models = json_new(a, JSON_OBJECT),
		.principals = json_new(a, JSON_OBJECT),
		.denials = json_new(a, JSON_OBJECT) };
	int rc = receipts_each(s, state_fd, count, &x, e);

	if (rc < 0)
		return rc;
	*ret = json_new(a, JSON_OBJECT);
	json_seti(a, *ret, "requests", x.requests);
	json_set(a, *ret, "models", listed(a, x.models));
	json_set(a, *ret, "principals", listed(a, x.principals));
	json_set(a, *ret, "denials", listed(a, x.denials));
	return OK;
}
