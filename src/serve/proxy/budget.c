/* budget.c — what requests and calls may use up: money, tokens, requests, calls, rounds, time.
 *
 * What is used up stands in the chain (docs/formats/draws.md): before a request is sent the most that it may cost is held, with its decision; the outcome says
 * what it did cost, by the vendor's own count.  Where the vendor tells no count, what was held is used. */
#include "base/text.h"
#include "decide/bounds/bounds.h"
#include "serve/proxy/parts.h"

#include <string.h>

static const int64_t MICRO = 1000000;

/* ---- money ---- */

/* The longest pattern that fits. */
const struct json *budget_price(const struct proxy *p, const char *provider, const char *model)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *name = arena_printf(&a, "%s/%s", provider, model);
	const struct json *best = NULL;
	size_t length = 0;

	json_each_member (m, json_get(p->prices, "models"))
		if (m->name_n > length &&
			(text_glob(m->name, name, false) || text_glob(m->name, model, false))) {
			best = m->value;
			length = m->name_n;
		}
	return best;
}

int64_t budget_cost(const struct json *price, const struct usage *u)
{
	int64_t input = json_get_int(price, "input_per_million_cents", 0);
	int64_t cached = json_get_int(price, "cached_per_million_cents", input);
	__int128 sum = (__int128)(u->input - u->cached) * input + (__int128)u->cached * cached +
		(__int128)u->output * json_get_int(price, "output_per_million_cents", 0);

	return sum < 0 ? 0 : sum > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)sum;
}

/* ---- drawing ---- */

static const char *whose(const struct call *c, const struct asked *q, const struct budget *b)
{
	return text_eq(b->per, "principal")  ? c->who.principal
		: text_eq(b->per, "session") ? q->session
		: text_eq(b->per, "model")   ? q->model
					     : "";
}

static struct draw draw_of(struct call *c, const struct asked *q, const struct budget *b, int64_t amount)
{
	struct draw d = { .kind = b->is_held ? DRAW_BUDGET : DRAW_COUNT,
		.key = draw_key(c->a, "proxy", b->id, whose(c, q, b), NULL),
		.amount = amount,
		.limit = b->limit,
		.is_held = b->is_held };

	(void)period_at(b->period, c->server->sys->now_us(c->server->sys), &d.window_us, &d.window_length_us);
	return d;
}

/* So much of each budget is left for whoever asks. */
static struct json *left_of(struct call *c, struct proxy *p, const struct asked *q, const struct drawn *drawn)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (size_t i = 0; i < p->budget_n; i++) {
		const struct budget *b = &p->budgets[i];
		struct draw d = draw_of(c, q, b, 0);
		const struct drawn_entry *x = drawn_find(drawn, d.kind, d.key, d.window_us);
		struct json *row = json_new(c->a, JSON_OBJECT);
		int64_t left = b->limit - (x ? x->used + x->held : 0),
			unit = text_eq(b->unit, "cents") ? MICRO : 1;
		json_sets(c->a, row, "id", b->id);
		json_sets(c->a, row, "unit", b->unit);
		json_sets(c->a, row, "period", b->period);
		json_seti(c->a, row, "limit", b->limit / unit);
		json_seti(c->a, row, "left", left < 0 ? 0 : left / unit);
		json_push(c->a, list, row);
	}
	return list;
}

struct json *budget_left(struct call *c, struct proxy *p, const struct asked *q)
{
	const struct drawn *drawn = NULL;
	struct err e = { 0 };

	return recorder_drawn(&c->k->recorder, c->a, &drawn, &e) ? NULL : left_of(c, p, q, drawn);
}

/* What one budget takes; -1: it is not about this. */
static int64_t amount_of(
	const struct budget *b, const struct asked *q, const struct json *price, size_t calls)
{
	/* No token is shorter than a byte of the request.  What the vendor adds to it, a picture by its address or a conversation that it keeps, nobody knows before. */
	const struct usage most = { true, q->bytes, q->output_tokens, 0 };

	if (calls)
		return text_eq(b->unit, "calls") ? (int64_t)calls : text_eq(b->unit, "rounds") ? 1 : -1;
	return text_eq(b->unit, "requests")  ? 1
		: text_eq(b->unit, "tokens") ? most.input + most.output
		: text_eq(b->unit, "cents")  ? (price ? budget_cost(price, &most) : 0)
					     : -1;
}

static int is_full(struct err *e, const struct budget *b)
{
	if (text_eq(b->unit, "rounds"))
		return err_set(e, E_DENIED, "PROXY_ITERATION_LIMIT",
			"this session has made as many rounds of tool calls as it may (%s: %lld)", b->id,
			(long long)b->limit);
	return err_set(e, E_DENIED, "BUDGET_EXCEEDED", "the budget '%s' (%s, %s) has no room for this", b->id,
		b->unit, b->period);
}

int budget_draws(struct call *c, struct proxy *p, const struct asked *q, const struct upstream *u,
	size_t calls, struct held *ret, struct json **ret_left, struct err *e)
{
	const struct json *price = budget_price(p, u->provider, q->model);
	const struct drawn *drawn = NULL;
	int64_t now = c->server->sys->now_us(c->server->sys);
	int rc = OK;

	*ret = (struct held){ 0 };
	if (!p->budget_n && !p->wallclock_us)
		return OK;
	if (recorder_drawn(&c->k->recorder, c->a, &drawn, e))
		return err_set(e, E_DENIED, "BUDGET_ERROR", "what was used up so far is not known");
	for (size_t i = 0; i < p->budget_n && rc == OK; i++) {
		const struct budget *b = &p->budgets[i];
		int64_t amount = amount_of(b, q, price, calls);
		if (amount < 0)
			continue;
		if (!calls && text_eq(b->unit, "cents") && !price && *q->model)
			rc = err_set(e, E_DENIED, "PROXY_UNPRICED",
				"money is limited (%s), and nobody has said what %s/%s costs; add it to the price table",
				b->id, u->provider, q->model);
		ret->draws[ret->n] = draw_of(c, q, b, amount);
		ret->is_cents[ret->n] = text_eq(b->unit, "cents");
		if (rc == OK && drawn_check(drawn, &ret->draws[ret->n], now) != DRAW_FITS)
			rc = is_full(e, b);
		ret->n++;
	}
	if (rc)
		*ret_left = left_of(c, p, q, drawn);
	/* When a session began is when its first request drew this. */
	if (rc == OK && p->wallclock_us && !calls)
		ret->draws[ret->n++] = (struct draw){ .kind = DRAW_COUNT,
			.key = draw_key(c->a, "proxy", "session", q->session, NULL),
			.amount = 1,
			.limit = DRAW_NO_LIMIT };
	return rc;
}

bool budget_is_too_old(struct call *c, struct proxy *p, const char *session)
{
	const struct drawn *drawn = NULL;
	struct err e = { 0 };

	if (!p->wallclock_us)
		return false;
	if (recorder_drawn(&c->k->recorder, c->a, &drawn, &e))
		return true;
	const struct drawn_entry *x =
		drawn_find(drawn, DRAW_COUNT, draw_key(c->a, "proxy", "session", session, NULL), 0);
	return x && c->server->sys->now_us(c->server->sys) - x->first_us > p->wallclock_us;
}

struct draw_settled *budget_settle(struct arena *a, const struct held *h, const struct usage *u,
	int64_t micro, bool is_unsent, size_t *ret_n)
{
	struct draw_settled *list = arena_zalloc(a, h->n + 1, sizeof(*list));

	*ret_n = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct draw *d = &h->draws[i];
		if (!d->is_held)
			continue;
		/* Nobody gets anything back by a count below nothing. */
		bool is_count = u->is_known && u->input >= 0 && u->output >= 0 && u->input < INT64_MAX / 4 &&
			u->output < INT64_MAX / 4;
		int64_t used = is_unsent ? 0
			: !is_count	 ? d->amount
			: h->is_cents[i] ? micro
					 : u->input + u->output;
		list[(*ret_n)++] = (struct draw_settled){ d->kind, d->key, d->window_us, used };
	}
	return list;
}
