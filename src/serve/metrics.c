/* metrics.c — counts and times of this server, in the text of Prometheus.
 *
 * Labels are names of routes, verdicts, rules and reason codes: nothing that a caller says.  There are as many series as there are routes and
 * rules; rules beyond RULES_MOST are counted together. */
#include "serve/metrics.h"

#include "base/text.h"
#include "decide/engine/engine.h"

#include <stdlib.h>
#include <string.h>

enum { RULES_MOST = 256, ROUTES_MOST = 256 };
static const double bounds_s[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5 };
enum { BUCKETS = ARRAY_SIZE(bounds_s) + 1 };

struct histogram {
	uint64_t n[BUCKETS], sum_us;
};
struct metrics {
	pthread_mutex_t lock;
	struct rule_count {
		char rule[80];
		const char *verdict, *reason;
		uint64_t n;
	} rules[RULES_MOST + 1];
	size_t rule_count;
	struct histogram routes[ROUTES_MOST], decide, record;
	uint64_t statuses[6]; /* 1xx to 5xx */
};

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (!m)
		mem_exhausted(0);
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void metrics_free(struct metrics *m)
{
	free(m);
}

static void put(struct histogram *h, int64_t us)
{
	size_t i = 0;

	us = us < 0 ? 0 : us;
	while (i < ARRAY_SIZE(bounds_s) && (double)us > bounds_s[i] * 1e6)
		i++;
	h->n[i]++;
	h->sum_us += (uint64_t)us;
}

void metrics_request(struct metrics *m, const struct call *c, int64_t us)
{
	const struct route *r;
	size_t i = 0;

	while ((r = route_at(i)) && r != c->route)
		i++;
	pthread_mutex_lock(&m->lock);
	if (r && i < ROUTES_MOST)
		put(&m->routes[i], us);
	if (c->status >= 100 && c->status < 600)
		m->statuses[c->status / 100]++;
	pthread_mutex_unlock(&m->lock);
}

void metrics_decision(struct metrics *m, enum verdict verdict, const char *rule, const char *reason,
	int64_t decide_us, int64_t record_us)
{
	const char *name = verdict_name(verdict);
	struct rule_count *x;

	pthread_mutex_lock(&m->lock);
	put(&m->decide, decide_us);
	put(&m->record, record_us);
	for (x = m->rules; x < m->rules + m->rule_count; x++)
		if (text_eq(x->rule, rule) && text_eq(x->verdict, name) && text_eq(x->reason, reason))
			break;
	if (x == m->rules + m->rule_count) {
		bool is_room = m->rule_count < RULES_MOST && strlen(rule) < sizeof(x->rule);
		x = is_room ? &m->rules[m->rule_count++] : &m->rules[RULES_MOST];
		if (is_room)
			memcpy(x->rule, rule, strlen(rule) + 1);
		x->verdict = is_room ? name : "";
		x->reason = is_room ? reason : "";
	}
	x->n++;
	pthread_mutex_unlock(&m->lock);
}

/* ---- as text ---- */

static void head(struct buf *b, const char *name, const char *type, const char *what)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, what, name, type);
}

static void one(struct buf *b, const char *name, const char *type, const char *what, double value)
{
	head(b, name, type, what);
	buf_addf(b, "%s %.17g\n", name, value);
}

/* A label's value: \, " and line ends are escaped. */
static const char *label(struct arena *a, const char *text)
{
	struct buf b;

	buf_init(&b, a);
	for (const char *p = text; *p; p++) {
		if (*p == '\\' || *p == '"')
			buf_addc(&b, '\\');
		if (*p == '\n')
			buf_adds(&b, "\\n");
		else
			buf_addc(&b, *p);
	}
	return b.p;
}

static void times(struct buf *b, const char *name, const char *labels, const struct histogram *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		sum += h->n[i];
		if (i < ARRAY_SIZE(bounds_s))
			buf_addf(b, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, *labels ? "," : "",
				bounds_s[i], (unsigned long long)sum);
		else
			buf_addf(b, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, *labels ? "," : "",
				(unsigned long long)sum);
	}
	const char *open = *labels ? "{" : "", *shut = *labels ? "}" : "";
	buf_addf(b, "%s_sum%s%s%s %.6f\n", name, open, labels, shut, (double)h->sum_us / 1e6);
	buf_addf(b, "%s_count%s%s%s %llu\n", name, open, labels, shut, (unsigned long long)sum);
}

static void decisions(struct buf *b, struct arena *a, const struct metrics *m)
{
	head(b, "helm_decisions_total", "counter", "decisions that are on record");
	for (size_t i = 0; i <= RULES_MOST; i++) {
		const struct rule_count *x = &m->rules[i];
		if ((i < m->rule_count || i == RULES_MOST) && x->n)
			buf_addf(b,
				"helm_decisions_total{verdict=\"%s\",rule=\"%s\",reason_code=\"%s\"} %llu\n",
				x->verdict, i == RULES_MOST ? "(others)" : label(a, x->rule), x->reason,
				(unsigned long long)x->n);
	}
}

/* Of the denials and questions on record, by their code. */
static void reasons(struct buf *b, struct arena *a, const struct metrics *m)
{
	struct json *sums = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < m->rule_count; i++)
		if (*m->rules[i].reason)
			json_seti(a, sums, m->rules[i].reason,
				json_get_int(sums, m->rules[i].reason, 0) + (int64_t)m->rules[i].n);
	head(b, "helm_denial_reasons", "counter", "decisions that were no ALLOW, by reason code");
	json_each_member (one, sums)
		buf_addf(b, "helm_denial_reasons{reason=\"%s\"} %s\n", one->name, one->value->text);
}

static void routes(struct buf *b, struct arena *a, const struct metrics *m)
{
	const struct route *r;

	head(b, "helm_request_duration_seconds", "histogram", "from the queue's end to the answer, by route");
	for (size_t i = 0; (r = route_at(i)) && i < ROUTES_MOST; i++)
		if (m->routes[i].sum_us)
			times(b, "helm_request_duration_seconds",
				arena_printf(a, "method=\"%s\",route=\"%s\"", r->method, label(a, r->path)),
				&m->routes[i]);
	head(b, "helm_responses_total", "counter", "answers by the class of their status");
	for (int i = 1; i < 6; i++)
		if (m->statuses[i])
			buf_addf(b, "helm_responses_total{class=\"%dxx\"} %llu\n", i,
				(unsigned long long)m->statuses[i]);
}

struct shown {
	struct server *server;
	struct door_policy *policy;
};

static void drop_shown(struct shown *x)
{
	policy_drop(x->server, x->policy);
}

void metrics_text(struct server *s, struct arena *a, struct buf *b)
{
	struct metrics *m = s->metrics;
	const struct serve_counts n = { .requests = __atomic_load_n(&s->count.requests, __ATOMIC_RELAXED),
		.refused_busy = __atomic_load_n(&s->count.refused_busy, __ATOMIC_RELAXED),
		.errors = __atomic_load_n(&s->count.errors, __ATOMIC_RELAXED) };
	AUTO(drop_shown) struct shown shown = { s, policy_take(s) };
	const struct door_policy *p = shown.policy;
	int64_t now = s->sys->now_us(s->sys);

	/* Memory of a request may run out: not under the lock. */
	struct metrics *now_counted = arena_alloc(a, sizeof(*now_counted));
	pthread_mutex_lock(&m->lock);
	memcpy(now_counted, m, sizeof(*m));
	pthread_mutex_unlock(&m->lock);
	m = now_counted;
	decisions(b, a, m);
	reasons(b, a, m);
	one(b, "helm_allows_total", "counter", "decisions that were ALLOW",
		(double)__atomic_load_n(&s->count.allowed, __ATOMIC_RELAXED));
	one(b, "helm_denials_total", "counter", "decisions that were DENY",
		(double)__atomic_load_n(&s->count.denied, __ATOMIC_RELAXED));
	one(b, "helm_escalations_total", "counter", "decisions that were ESCALATE",
		(double)__atomic_load_n(&s->count.escalated, __ATOMIC_RELAXED));
	head(b, "helm_decide_duration_seconds", "histogram", "deciding, without what is written");
	times(b, "helm_decide_duration_seconds", "", &m->decide);
	head(b, "helm_record_duration_seconds", "histogram",
		"signing, writing and waiting for the disk, until a decision may be answered");
	times(b, "helm_record_duration_seconds", "", &m->record);
	routes(b, a, m);
	one(b, "helm_requests_total", "counter", "requests that were begun", (double)n.requests);
	one(b, "helm_refused_busy_total", "counter", "requests refused because too much waited",
		(double)n.refused_busy);
	one(b, "helm_unauthenticated_total", "counter",
		"requests without a key, or with one that opens nothing",
		(double)__atomic_load_n(&s->count.unauthenticated, __ATOMIC_RELAXED));
	one(b, "helm_errors_total", "counter", "decisions that could not be recorded", (double)n.errors);
	one(b, "helm_queue_waiting", "gauge", "requests that wait for a worker", (double)work_waiting(s));
	one(b, "helm_chain_receipts", "gauge", "receipts that are known to be on disk",
		(double)tail_length(s->tail));
	one(b, "helm_chain_length", "gauge", "the same, by its older name", (double)tail_length(s->tail));
	one(b, "helm_start_time_seconds", "gauge", "when this server was started",
		(double)s->started_us / 1e6);
	if (p) {
		one(b, "helm_policy_age_seconds", "gauge", "since the policy of this door was loaded",
			(double)(now - p->loaded_us) / 1e6);
		head(b, "helm_policy_info", "gauge", "the policy of this door, by its digest");
		buf_addf(b, "helm_policy_info{sha256=\"%s\"} 1\n", ruleset_sha256(p->rules));
	}
	one(b, "helm_policy_reload_errors_total", "counter", "policies that could not be used",
		(double)__atomic_load_n(&s->reload_errors, __ATOMIC_RELAXED));
	one(b, "helm_spans_dropped_total", "counter", "spans that nobody took",
		(double)spans_dropped(s->spans));
}
