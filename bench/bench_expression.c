/* bench_expression.c — what a condition of a policy costs, once it is compiled, against one signature. */
#include "bench.h"

#include "decide/expression/expression.h"
#include "proof/sign.h"

enum { TIMES = 20000, SIGNATURES = 200 };

static const char condition[] =
	"input.effect.type == 'file_write' && input.effect.params.amount <= 500 && 'admin' in input.roles && "
	"input.principal.startsWith('agent:') && !input.taint.exists(t, t == 'secret')";
static const char request[] =
	"{\"input\": {\"action\": \"write\", \"effect\": {\"type\": \"file_write\", \"effect_id\": \"e1\", \"params\": "
	"{\"path\": \"/srv/project/src/a.c\", \"amount\": 150}}, \"principal\": \"agent:builder\", "
	"\"roles\": [\"dev\", \"admin\"], \"taint\": [\"pii\", \"web\"], \"timestamp\": 1767225600}}";

struct asked {
	struct arena a, scratch;
	struct expression *x;
	struct json *variables;
};

static void evaluate(void *arg)
{
	struct asked *q = arg;

	for (int i = 0; i < TIMES; i++) {
		if (expression_requirement(q->x, q->variables, &q->scratch, NULL) != REQUIREMENT_SATISFIED)
			abort();
		arena_reset(&q->scratch);
	}
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

int bench_policy_expression(struct bench *b)
{
	struct asked q = { 0 };
	double s, base_s;

	if (json_parse(&q.a, BYTES_LITERAL(request), "request", NULL, &q.variables, NULL) ||
		expression_compile(&q.a, BYTES_LITERAL(condition), "condition", &q.x, NULL))
		return 1;
	bench_pair_cpu(b->rounds, evaluate, sign, &q, &s, &base_s);
	b->value = s / TIMES * 1e6;
	b->baseline = base_s / SIGNATURES * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	arena_done(&q.a);
	arena_done(&q.scratch);
	return 0;
}
