/* tune.c — which grants would have saved the most questions, and what they would have let through.
 *
 * The calls of the last days that a person was asked about are held against each other: a grant for the
 * shape of one of them would have answered some of the others.  The one that answers most is proposed
 * first, then the one that answers most of what is left.  Nothing is granted here.  A proposal names the
 * request it is made from, because only a request that agrees with its signed decision may become a grant;
 * the notes it is counted from prove nothing. */
#include "base/text.h"
#include "kernel/approval/parts.h"
#include "kernel/hook.h"

#include <string.h>

enum {
	MAX_ROWS = 200000, /* looked at */
	MAX_ANSWERS = 1000,
	MAX_QUESTIONS = 5000,
	MAX_SHAPES = 400,
	MAX_PROPOSALS = 10,
	MAX_EXAMPLES = 5
};

/* One question: asked again and again it stays one. */
struct asked {
	const char *id, *client, *preview;
	struct cover *covers;
	size_t cover_count;
	size_t times;
	bool can_widen, was_denied, is_saved;
};

struct tuning {
	struct kernel *k;
	struct arena *a;
	const struct json *requests;
	int64_t since_us;
	struct asked *all;
	size_t n; /* the newest first */
	size_t shapes[MAX_SHAPES]; /* questions whose shape no newer one has */
	size_t shape_count;
};

/* From the last one found, since repeated questions follow each other closely. */
static struct asked *find(struct tuning *t, const char *id)
{
	for (size_t i = t->n; i-- > 0;)
		if (text_eq(t->all[i].id, id))
			return &t->all[i];
	return NULL;
}

/* Every reason must allow a wider grant, or none can be proposed. */
static bool all_may_widen(const struct asked *q)
{
	for (size_t i = 0; i < q->cover_count; i++)
		if (!cover_may_widen(&q->covers[i]))
			return false;
	return q->cover_count > 0;
}

/* Would a grant for the shape of x have answered y? */
static bool answers(const struct asked *x, const struct asked *y)
{
	struct grant g = { .reach = REACH_SHAPE, .covers = x->covers, .cover_count = x->cover_count };

	return text_eq(x->client, y->client) && grant_covers(&g, y->covers, y->cover_count);
}

/* Questions of the same shape lead to the same proposal, so only the first of each shape is tried. */
static void note_shape(struct tuning *t, size_t i)
{
	if (!t->all[i].can_widen || t->shape_count == MAX_SHAPES)
		return;
	for (size_t s = 0; s < t->shape_count; s++)
		if (answers(&t->all[t->shapes[s]], &t->all[i]) && answers(&t->all[i], &t->all[t->shapes[s]]))
			return;
	t->shapes[t->shape_count++] = i;
}

/* Only calls within the time asked for that put a question.  The row is gone afterwards: what is kept is copied. */
static int read_row(void *arg, struct json *row)
{
	struct tuning *t = arg;
	const char *id = json_get_text(row, "approval_id", NULL), *at = json_get_text(row, "at", "");
	const char *response;
	struct asked q = { .times = 1 };
	int64_t us;

	if (!id || !text_parse_time(at, strlen(at), &us))
		return 0;
	if (us < t->since_us)
		return 1; /* and so are all before it */
	struct asked *known = find(t, id);
	if (known) {
		known->times++;
		return 0;
	}
	struct json *covers = json_copy(t->a, json_get(row, "covers"));
	if (covers_from_json(t->a, covers, &q.covers, &q.cover_count, NULL))
		return 0;
	q.id = arena_strdup(t->a, id);
	q.client = arena_strdup(t->a, json_get_text(row, "client", ""));
	q.preview = arena_strdup(t->a, json_get_text(row, "preview", ""));
	response = json_get_text(json_get(t->requests, id), "response", "");
	q.was_denied = text_eq(response, "denied");
	q.can_widen = all_may_widen(&q);
	t->all[t->n] = q;
	note_shape(t, t->n++);
	return t->n == MAX_QUESTIONS;
}

/* How many questions that no earlier proposal answers this one would have answered. */
static size_t would_save(const struct tuning *t, const struct asked *x)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !t->all[i].is_saved && answers(x, &t->all[i]);
	return n;
}

/* The newest request of the same shape that agrees with its signed decision.  Without one the proposal can
 * only be looked at. */
static const char *provable(const struct tuning *t, const struct asked *x)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct json *entry = json_get(t->requests, t->all[i].id);
		if (entry && answers(&t->all[i], x) && answers(x, &t->all[i]) &&
			request_is_genuine(t->k, t->a, entry))
			return t->all[i].id;
	}
	return NULL;
}

static void add_new(struct arena *a, struct json *list, const char *text)
{
	json_each (known, list)
		if (text_eq(json_text(known), text))
			return;
	json_pushs(a, list, text);
}

/* Marks what it answers as saved, so that the next proposal counts only what is left.  What a person denied
 * is always among the examples. */
static struct json *propose(struct tuning *t, const struct asked *x, size_t saves)
{
	struct arena *a = t->a;
	struct json *doc = json_new(a, JSON_OBJECT), *examples = json_new(a, JSON_ARRAY);
	size_t denied = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct asked *y = &t->all[i];
		if (y->is_saved || !answers(x, y))
			continue;
		y->is_saved = true;
		denied += y->was_denied;
		/* What a person said no to is the first thing to see. */
		if (y->was_denied || examples->n < MAX_EXAMPLES)
			add_new(a, examples,
				y->was_denied ? arena_printf(a, "%s  (you denied this)", y->preview)
					      : y->preview);
	}
	json_seti(a, doc, "saves", (int64_t)saves);
	json_seti(a, doc, "denied_by_you", (int64_t)denied);
	json_sets(a, doc, "principal", arena_printf(a, "agent:%s", x->client));
	json_set(a, doc, "covers", covers_to_json(a, x->covers, x->cover_count));
	json_set(a, doc, "examples", examples);
	json_sets(a, doc, "approval_id", provable(t, x));
	return doc;
}

/* Greedy: the proposal that saves most, then the one that saves most of the rest. */
static struct json *choose(struct tuning *t)
{
	struct json *list = json_new(t->a, JSON_ARRAY);

	while (list->n < MAX_PROPOSALS) {
		const struct asked *best = NULL;
		size_t most = 1; /* one that answers only itself saves nothing */
		for (size_t s = 0; s < t->shape_count; s++) {
			size_t n = would_save(t, &t->all[t->shapes[s]]);
			if (n > most) {
				most = n;
				best = &t->all[t->shapes[s]];
			}
		}
		if (!best)
			break;
		struct json *one = propose(t, best, most);
		json_seti(t->a, one, "number", list->n + 1);
		json_push(t->a, list, one);
	}
	return list;
}

int tune_propose(struct kernel *k, struct arena *a, int64_t since_us, struct json **ret, struct err *e)
{
	struct tuning t = { .k = k, .a = a, .since_us = since_us };
	struct json *approvals, *doc = json_new(a, JSON_OBJECT);
	size_t fixed = 0;
	int rc = approvals_load(k->sys, a, k->ws, &approvals, e);

	if (rc == OK)
		rc = approvals_add_settled(k->sys, a, k->ws, MAX_ANSWERS, approvals, NULL, e);
	if (rc)
		return rc;
	t.requests = json_get(approvals, "requests");
	t.all = arena_zalloc(a, MAX_QUESTIONS, sizeof(*t.all));
	rc = rows_back(k->sys, NULL, k->ws->state_fd, TOOL_CALLS, MAX_ROWS, "approval_id", read_row, &t, e);
	if (rc < 0 && rc != E_MISSING)
		return rc;
	for (size_t i = 0; i < t.n; i++)
		fixed += !t.all[i].can_widen;
	json_sets(a, doc, "since", text_time_z(a, since_us));
	json_seti(a, doc, "questions", (int64_t)t.n);
	json_seti(a, doc, "must_be_asked", (int64_t)fixed);
	json_set(a, doc, "proposals", choose(&t));
	*ret = doc;
	return OK;
}
