/* bench_policy.c — what a decision by a policy costs, whether its size matters, and what loading one costs. */
#include "bench.h"

#include "decide/engine/engine.h"
#include "proof/sign.h"

enum { SMALL = 10, LARGE = 10000, ASKED = 64, TIMES = 20000, SIGNATURES = 200 };

/* A tool allow-list with conditions on the arguments. */
static struct bytes policy_text(struct arena *a, int rules)
{
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b,
		"{\"format\":\"helm.policy.v1\",\"name\":\"bench\",\"layers\":[{\"name\":\"P1\",\"priority\":1,\"rules\":[");
	for (int i = 0; i < rules; i++)
		buf_addf(&b,
			"%s{\"id\":\"rule-%05d\",\"actions\":[\"tool_%05d\"],\"all\":[{\"field\":\"params.path\",\"op\":\"starts_with\","
			"\"value\":\"/srv/data/%d/\"},{\"field\":\"params.path\",\"op\":\"not_contains\",\"value\":\"..\"},"
			"{\"field\":\"params.size\",\"op\":\"less_than\",\"value\":%d},{\"field\":\"params.mode\",\"op\":\"in\","
			"\"values\":[\"ro\",\"rw\"]}],\"verdict\":\"ALLOW\"}",
			i ? "," : "", i, i, i, 1000 + i);
	buf_adds(&b, "]}]}");
	return buf_bytes(&b);
}

struct asking {
	struct arena a, scratch;
	struct ruleset *small, *large;
	struct submission few[ASKED], many[ASKED];
	struct bytes text;
};

static int compile(struct arena *a, struct bytes text, struct ruleset **ret)
{
	struct json *doc;

	return json_parse(a, text, "policy", NULL, &doc, NULL) || ruleset_compile(a, doc, ret, NULL);
}

/* Questions about tools all over the policy, each of which is allowed. */
static int fill(struct arena *a, struct submission *q, int rules)
{
	for (int i = 0; i < ASKED; i++) {
		int tool = (int)((long long)i * 7919 % rules);
		struct json *params;
		char *text = arena_printf(
			a, "{\"path\":\"/srv/data/%d/file.txt\",\"size\":%d,\"mode\":\"rw\"}", tool, i);
		if (json_parse(a, bytes_of(text), "params", NULL, &params, NULL))
			return 1;
		q[i] = (struct submission){ .effect_type = arena_printf(a, "tool_%05d", tool),
			.effect_id = "bench",
			.principal = "bench",
			.params = params };
	}
	return 0;
}

static int begin(struct asking *q)
{
	q->text = policy_text(&q->a, LARGE);
	return compile(&q->a, q->text, &q->large) || compile(&q->a, policy_text(&q->a, SMALL), &q->small) ||
		fill(&q->a, q->few, SMALL) || fill(&q->a, q->many, LARGE);
}

static void end(struct asking *q)
{
	arena_done(&q->a);
	arena_done(&q->scratch);
}

static void decide(struct asking *q, const struct ruleset *rules, const struct submission *asked)
{
	const struct facts facts = { .now_us = 1 };
	struct judgement j;

	for (int i = 0; i < TIMES; i++) {
		engine_judge(&q->scratch, rules, &asked[i % ASKED], &facts, &j);
		if (j.verdict != V_ALLOW)
			abort();
		arena_reset(&q->scratch);
	}
}

static void decide_small(void *arg)
{
	struct asking *q = arg;

	decide(q, q->small, q->few);
}

static void decide_large(void *arg)
{
	struct asking *q = arg;

	decide(q, q->large, q->many);
}

static void sign(void *arg)
{
	static const uint8_t seed[SIGN_SEED] = { 7 };
	static uint8_t message[512];
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];

	(void)arg;
	sign_expand(seed, secret, pub);
	for (int i = 0; i < SIGNATURES; i++) {
		message[0] = (uint8_t)i;
		sign_message(secret, (struct bytes){ message, sizeof(message) }, sig);
		bench_keep(sig);
	}
}

int bench_policy_decide(struct bench *b)
{
	struct asking q = { 0 };
	double s, base_s;

	if (begin(&q))
		return 1;
	bench_pair_cpu(b->rounds, decide_large, sign, &q, &s, &base_s);
	b->value = s / TIMES * 1e6;
	b->baseline = base_s / SIGNATURES * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	end(&q);
	return 0;
}

int bench_policy_size(struct bench *b)
{
	struct asking q = { 0 };
	double s, base_s;

	if (begin(&q))
		return 1;
	bench_pair_cpu(b->rounds, decide_large, decide_small, &q, &s, &base_s);
	b->value = s / TIMES * 1e6;
	b->baseline = base_s / TIMES * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	end(&q);
	return 0;
}

static void load(void *arg)
{
	struct asking *q = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct ruleset *r;

	if (compile(&a, q->text, &r))
		abort();
	bench_keep(r);
}

static void parse(void *arg)
{
	struct asking *q = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc;

	if (json_parse(&a, q->text, "policy", NULL, &doc, NULL))
		abort();
	bench_keep(doc);
}

int bench_policy_load(struct bench *b)
{
	struct asking q = { 0 };
	double s, base_s;

	if (begin(&q))
		return 1;
	bench_pair_cpu(b->rounds, load, parse, &q, &s, &base_s);
	b->value = s * 1e3;
	b->baseline = base_s * 1e3;
	b->unit = "ms";
	b->ratio = b->value / b->baseline;
	end(&q);
	return 0;
}
