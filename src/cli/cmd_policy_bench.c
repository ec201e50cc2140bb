/* cmd_policy_bench.c — helm policy bench: what one decision costs here, measured request by request.
 *
 * RULES becomes a policy document like any other, is compiled like any other, and each request goes through the whole engine.  Every request is
 * timed alone, by the processor's own counter where it has one; what reading the counter costs is taken off.  Wrong answers are counted: a fast
 * engine that says something else is no engine. */
#include "base/file.h"
#include "cli/cmd.h"
#include "decide/engine/engine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_BYTES = 1 << 30, ROUNDS = 20, MOST_SAMPLES = 20000000 };

/* ---- the policy ---- */

static struct json *condition(struct arena *a, const char *field, const char *op, struct json *value)
{
	struct json *c = json_new(a, JSON_OBJECT);

	json_sets(a, c, "field", field);
	json_sets(a, c, "op", op);
	if (value)
		json_set(a, c, json_is(value, JSON_ARRAY) ? "values" : "value", value);
	return c;
}

/* {tool, prefix, max}: the path starts so and does not climb, the size is below, the mode is one of two. */
static int add_rule(struct arena *a, const struct json *row, struct json *rules, struct err *e)
{
	struct json *rule = json_new(a, JSON_OBJECT), *actions = json_new(a, JSON_ARRAY),
		    *all = json_new(a, JSON_ARRAY), *modes = json_new(a, JSON_ARRAY);
	struct json *prefix = json_get(row, "prefix"), *max = json_get(row, "max");

	if (!json_get_text(row, "tool", NULL) || !json_text(prefix) || !json_is(max, JSON_NUMBER))
		return err_set(e, E_INPUT, "POLICY_BENCH", "rule %u is no {tool, prefix, max}", rules->n + 1);
	json_pushs(a, actions, json_get_text(row, "tool", ""));
	json_pushs(a, modes, "ro");
	json_pushs(a, modes, "rw");
	json_push(a, all, condition(a, "params.path", "starts_with", prefix));
	json_push(a, all, condition(a, "params.path", "not_contains", json_string(a, "..")));
	json_push(a, all, condition(a, "params.size", "less_than", max));
	json_push(a, all, condition(a, "params.mode", "in", modes));
	json_set(a, rule, "id", json_stringf(a, "rule-%07u", rules->n + 1));
	json_set(a, rule, "actions", actions);
	json_set(a, rule, "all", all);
	json_sets(a, rule, "verdict", "ALLOW");
	json_push(a, rules, rule);
	return OK;
}

static int make_policy(struct arena *a, const struct json *given, struct json **ret, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT), *layers = json_new(a, JSON_ARRAY),
		    *layer = json_new(a, JSON_OBJECT), *rules = json_new(a, JSON_ARRAY);

	if (!json_is(given, JSON_ARRAY))
		return err_set(e, E_INPUT, "POLICY_BENCH", "the rules must be a list of {tool, prefix, max}");
	json_each (row, given)
		if (add_rule(a, row, rules, e))
			return e->rc;
	json_sets(a, layer, "name", "rules");
	json_seti(a, layer, "priority", 0);
	json_set(a, layer, "rules", rules);
	json_push(a, layers, layer);
	json_sets(a, doc, "format", "helm.policy.v1");
	json_sets(a, doc, "name", "bench");
	json_set(a, doc, "layers", layers);
	*ret = doc;
	return OK;
}

static int load(struct cli *r, struct ruleset **ret, double *ret_ms, struct err *e)
{
	const char *path = r->args[0];
	struct json *given, *doc;
	struct bytes text;

	if (file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_BYTES, FILE_FOLLOW, &text, e))
		return e->rc;
	int64_t start = r->sys->mono_us(r->sys);
	const struct json_limits limits = { .size_bytes = LARGEST_BYTES, .max_nodes = UINT32_MAX };
	if (json_parse(r->a, text, path, &limits, &given, e) || make_policy(r->a, given, &doc, e) ||
		ruleset_compile(r->a, doc, ret, e))
		return e->rc;
	*ret_ms = (double)(r->sys->mono_us(r->sys) - start) / 1000;
	return OK;
}

/* ---- requests ---- */

struct asked {
	struct submission q;
	enum verdict want;
};

/* true, "allow" and "ALLOW" are one thing, everything else the other. */
static enum verdict wanted(const struct json *v)
{
	const char *text = json_text(v);

	return json_is(v, JSON_TRUE) || (text && strcasecmp(text, "allow") == 0) ? V_ALLOW : V_DENY;
}

static int read_requests(struct cli *r, struct asked **ret, size_t *ret_n, struct err *e)
{
	const char *path = r->args[1];
	struct asked *all = NULL;
	size_t n = 0, room = 0;
	struct bytes text;
	struct json *row;

	if (file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_BYTES, FILE_FOLLOW, &text, e))
		return e->rc;
	while (text.p && text.n > 0) {
		struct bytes line = text_cut(&text, '\n');
		if (line.n == 0)
			continue;
		if (json_parse(r->a, line, path, NULL, &row, e))
			return err_wrap(e, "line %zu", n + 1);
		if (n == room) {
			size_t more = room ? room * 2 : 1024;
			all = arena_grow(r->a, all, room * sizeof(*all), more * sizeof(*all));
			room = more;
		}
		all[n++] = (struct asked){ .q = { .effect_type = json_get_text(row, "tool", ""),
						   .effect_id = "bench",
						   .principal = "bench",
						   .params = json_get(row, "args") },
			.want = wanted(json_get(row, "expect")) };
	}
	if (n == 0)
		return err_set(e, E_INPUT, "POLICY_BENCH", "%s holds no request", path);
	*ret = all;
	*ret_n = n;
	return OK;
}

/* ---- measuring ---- */

static inline uint64_t ticks(struct sys *s)
{
#if defined(__x86_64__)
	uint32_t low, high;
	(void)s;
	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
#else
	return (uint64_t)s->mono_us(s) * 1000;
#endif
}

/* The least that two readings without anything in between are apart. */
static uint64_t reading_cost(struct sys *s)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 10000; i++) {
		uint64_t a = ticks(s), b = ticks(s);
		if (b - a < least)
			least = b - a;
	}
	return least;
}

static int by_number(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

struct measured {
	uint32_t *samples; /* ticks, sorted */
	size_t n;
	double ns_per_tick, mean_ns;
	uint64_t wrong;
};

static uint64_t count_wrong(const struct ruleset *rules, const struct asked *asked, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct facts facts = { .now_us = 1 };
	struct judgement j;
	uint64_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		engine_judge(&a, rules, &asked[i].q, &facts, &j);
		wrong += (j.verdict == V_ALLOW) != (asked[i].want == V_ALLOW);
		arena_reset(&a);
	}
	return wrong;
}

/* Every request of every round is one sample. */
static void measure(
	struct cli *r, const struct ruleset *rules, const struct asked *asked, size_t n, struct measured *ret)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct facts facts = { .now_us = 1 };
	size_t rounds = n * ROUNDS > MOST_SAMPLES ? MOST_SAMPLES / n + 1 : ROUNDS;
	uint64_t cost = reading_cost(r->sys), total = 0;
	struct judgement j;

	ret->wrong = count_wrong(rules, asked, n);
	ret->samples = arena_alloc(r->a, rounds * n * sizeof(*ret->samples));
	int64_t start_us = r->sys->mono_us(r->sys);
	uint64_t start = ticks(r->sys);
	for (size_t k = 0; k < rounds; k++)
		for (size_t i = 0; i < n; i++) {
			uint64_t before = ticks(r->sys);
			engine_judge(&a, rules, &asked[i].q, &facts, &j);
			arena_reset(&a);
			uint64_t took = ticks(r->sys) - before;
			took -= took < cost ? took : cost;
			ret->samples[ret->n++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
			total += took;
		}
	uint64_t all = ticks(r->sys) - start;
	int64_t all_us = r->sys->mono_us(r->sys) - start_us;
	ret->ns_per_tick = all ? (double)all_us * 1000 / (double)all : 1;
	ret->mean_ns = (double)total / (double)ret->n * ret->ns_per_tick;
	qsort(ret->samples, ret->n, sizeof(*ret->samples), by_number);
}

static double at(const struct measured *m, size_t percent)
{
	return (double)m->samples[(m->n - 1) * percent / 100] * m->ns_per_tick;
}

int cmd_policy_bench(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct measured m = { 0 };
	struct ruleset *rules;
	struct asked *asked;
	double load_ms;
	size_t n;

	if (load(r, &rules, &load_ms, e) || read_requests(r, &asked, &n, e))
		return e->rc;
	measure(r, rules, asked, n, &m);
	json_set(r->a, doc, "load_ms", json_double(r->a, load_ms));
	json_set(r->a, doc, "p50_ns", json_double(r->a, at(&m, 50)));
	json_set(r->a, doc, "p95_ns", json_double(r->a, at(&m, 95)));
	json_set(r->a, doc, "p99_ns", json_double(r->a, at(&m, 99)));
	json_set(r->a, doc, "mean_ns", json_double(r->a, m.mean_ns));
	json_seti(r->a, doc, "wrong", (int64_t)m.wrong);
	out_json(r, doc);
	return m.wrong ? EXIT_NO : 0;
}
