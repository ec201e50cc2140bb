/* rank.c — the order of what was found: ours, and the one of the Python Helm (docs/formats/context.md).
 *
 * Ours: how often and how whole the words occur, weighed by field and length (BM25), more when the whole question stands together or the words
 * close to each other, times how new it is, how much its source and area are trusted.  Numbers depend only on the item and on what else was found,
 * so an index changes nothing about them.  The old one adds fixed weights, and is kept to compare. */
#include "remember/context_parts.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the old one ---- */

static size_t occurrences(struct folded what, struct folded text)
{
	const char *p = text.p, *end = text.p + text.n;
	size_t n = 0;

	while (what.n && (p = memmem(p, (size_t)(end - p), what.p, what.n))) {
		n++;
		p += what.n;
	}
	return n;
}

static double classic_field(const struct search *x, const char *text, double whole, double word)
{
	struct arena *a = (struct arena *)&x->scratch;
	struct folded f = words_fold(a, text, strlen(text));
	double score = whole * (double)occurrences(x->question.whole, f);

	for (size_t i = 0; i < x->question.word_count; i++)
		if (x->question.words[i].n >= 2)
			score += word * (double)occurrences(x->question.words[i], f);
	return score;
}

static double classic_age(const struct search *x, const struct item *i)
{
	int64_t at;

	if (!i->timestamp || !memory_time(i->timestamp, &at))
		return 0;
	int64_t days = (x->now_us - at) / 86400000000;
	return days <= 7 ? 10 : days <= 30 ? 6 : days <= 90 ? 3 : 1;
}

static bool is_runtime(const struct source *s)
{
	return text_eq(s->kind, "openclaw") || text_eq(s->kind, "hermes");
}

static void score_classic(struct search *x, struct item *i)
{
	static const double sources[] = { 60, 50, 40, 30, 20, 10 };
	TABLE_COVERS(sources, AREA_COUNT);
	struct score *s = &i->score;
	struct buf meta;

	if (x->has_words) {
		buf_init(&meta, &x->scratch);
		json_write(&meta, i->meta, JSON_SPACED);
		s->title = classic_field(x, i->title, 24, 4);
		s->excerpt = classic_field(x, i->excerpt, 12, 2);
		s->metadata = classic_field(x, meta.p, 6, 1);
	}
	s->query = s->title + s->excerpt + s->metadata;
	s->temporal = classic_age(x, i);
	s->graph = i->hops ? 8 : i->area == AREA_ONTOLOGY && x->q.entity ? 6 : 0;
	s->adapter = text_eq(i->from->name, "helm-local") ? 20 : is_runtime(i->from) ? 10 : 0;
	s->source = sources[i->area];
	s->total = s->query + s->temporal + s->graph + s->adapter + s->source;
	arena_reset(&x->scratch);
}

/* ---- ours ---- */

/* Half-lives in days, and how much an area counts. */
static const struct {
	double half_life, weight, usual_words;
} about_area[AREA_COUNT] = {
	[AREA_NOTES] = { 90, 1.0, 12 },
	[AREA_MEMORY] = { 90, 1.0, 12 },
	[AREA_ONTOLOGY] = { 180, 1.0, 10 },
	[AREA_TASKS] = { 14, 0.9, 16 },
	[AREA_COMMANDS] = { 14, 0.8, 8 },
	[AREA_CHECKPOINTS] = { 30, 0.7, 6 },
};

/* A word that stands alone counts each time, one inside others a little, however many they are. */
static double weight_of(struct folded word, struct folded text)
{
	size_t whole, all = word_count_in(word, text, &whole);

	return (double)whole + (all > whole ? 0.4 : 0);
}

static double words_in(struct folded text)
{
	size_t at = 0, n = 0;
	struct run r;

	while (run_next(text.p, text.n, &at, &r))
		n++;
	return (double)n;
}

/* What of the metadata says something about the thing itself. */
static struct folded meta_values(struct arena *a, const struct json *meta)
{
	static const char *const members[] = { "skill", "profile", "status", "runtime_target", "component",
		"label", "entity_type", "name", "task_skill", NULL };
	struct buf text;

	buf_init(&text, a);
	for (const char *const *m = members; *m; m++)
		buf_addf(&text, "%s ", json_get_text(meta, *m, ""));
	return words_fold(a, text.p, text.n);
}

/* A term that fewer of the hits have says more. */
static double rareness(const struct search *x, const size_t *have, size_t term)
{
	return 1 + log(((double)x->count + 1) / ((double)have[term] + 1));
}

/* Up to half as much again when the words stand close together. */
static double closeness(const struct question *q, struct folded text)
{
	size_t first = SIZE_MAX, last = 0, letters = 0;

	if (q->key_count < 2)
		return 1;
	for (size_t i = 0; i < q->key_count; i++) {
		const char *p = memmem(text.p, text.n, q->key[i].p, q->key[i].n);
		if (!p)
			return 1;
		size_t at = (size_t)(p - text.p);
		first = at < first ? at : first;
		last = at + q->key[i].n > last ? at + q->key[i].n : last;
		letters += q->key[i].n + 1;
	}
	return 1 + 0.5 * (double)letters / (double)(last - first > letters ? last - first : letters);
}

static double rounded(double v)
{
	return round(v * 1000) / 1000;
}

static void score_words(struct search *x, struct item *i, const size_t *have)
{
	const double k1 = 1.2, b = 0.5;
	struct arena *a = &x->scratch;
	const struct question *q = &x->question;
	struct folded title = words_fold(a, i->title, strlen(i->title)),
		      body = words_fold(a, i->excerpt, strlen(i->excerpt)), meta = meta_values(a, i->meta);
	double length = words_in(body) / about_area[i->area].usual_words;
	struct score *s = &i->score;

	for (size_t t = 0; t < q->key_count; t++) {
		double in_title = 3 * weight_of(q->key[t], title), in_body = weight_of(q->key[t], body),
		       in_meta = 0.5 * weight_of(q->key[t], meta), all = in_title + in_body + in_meta;
		if (all <= 0)
			continue;
		double worth = rareness(x, have, t) * (k1 + 1) / (all + k1 * (1 - b + b * length));
		s->title += worth * in_title;
		s->excerpt += worth * in_body;
		s->metadata += worth * in_meta;
	}
	double better = 1;
	if (q->key_count > 1 && (word_is_in(q->whole, title) || word_is_in(q->whole, body)))
		better = 1.5;
	better *= closeness(q, body);
	/* A headline says what the text below it is about, and curated memory was written to be found. */
	if (i->excerpt[0] == '#')
		better *= 1.2;
	if (i->path && text_eq(i->path, "MEMORY.md"))
		better *= 1.15;
	s->title *= better;
	s->excerpt *= better;
	s->metadata *= better;
	/* Found in a member that is not shown: less than anything that is. */
	s->query = s->title + s->excerpt + s->metadata + 0.1;
}

/* Old things stay findable: half of the worth does not age. */
static double freshness(const struct search *x, const struct item *i)
{
	if (i->time_us == INT64_MIN)
		return 0.7;
	double days = (double)(x->now_us - i->time_us) / 86400e6;
	return 0.5 + 0.5 * exp2(-(days < 0 ? 0 : days) / about_area[i->area].half_life);
}

static void score_item(struct search *x, struct item *i, const size_t *have)
{
	struct score *s = &i->score;

	if (x->has_words && !i->is_filtered_free)
		score_words(x, i, have);
	else
		s->query = 0;
	s->temporal = freshness(x, i);
	s->graph = i->hops ? 8.0 / (1 << (i->hops - 1)) : i->area == AREA_ONTOLOGY && x->q.entity ? 6 : 0;
	s->adapter = i->from->is_local ? 1 : is_runtime(i->from) ? 0.9 : 0.85;
	s->source = about_area[i->area].weight;
	s->total = ((x->has_words && !i->is_filtered_free ? s->query : 1) + s->graph) * s->temporal *
		s->adapter * s->source;
	double *all[] = { &s->title, &s->excerpt, &s->metadata, &s->query, &s->temporal, &s->total };
	for (size_t n = 0; n < ARRAY_SIZE(all); n++)
		*all[n] = rounded(*all[n]);
	arena_reset(&x->scratch);
}

/* How many of the hits have each word of the question. */
static void count_terms(struct search *x, size_t *have)
{
	for (size_t n = 0; n < x->count; n++) {
		struct folded title = words_fold(&x->scratch, x->items[n].title, strlen(x->items[n].title)),
			      body = words_fold(
				      &x->scratch, x->items[n].excerpt, strlen(x->items[n].excerpt));
		for (size_t t = 0; t < x->question.key_count; t++)
			have[t] +=
				word_is_in(x->question.key[t], title) || word_is_in(x->question.key[t], body);
		arena_reset(&x->scratch);
	}
}

/* ---- order ---- */

static int down(double x, double y)
{
	return (x < y) - (x > y);
}

static int texts_down(const char *x, const char *y)
{
	return strcmp(y ? y : "", x ? x : "");
}

static int by_score(const void *p, const void *q)
{
	const struct item *x = p, *y = q;
	int order = down(x->score.total, y->score.total);

	order = order ? order : down(x->score.query, y->score.query);
	order = order ? order : down(x->score.temporal, y->score.temporal);
	order = order ? order : down(x->score.graph, y->score.graph);
	order = order ? order : texts_down(x->timestamp, y->timestamp);
	order = order ? order : texts_down(x->title, y->title);
	return order;
}

/* The order in which things were found must not matter: an index finds them in another one. */
static int by_place(const struct item *x, const struct item *y)
{
	int order = strcmp(x->from->name, y->from->name);

	order = order ? order : (int)x->area - (int)y->area;
	order = order ? order : strcmp(x->path ? x->path : "", y->path ? y->path : "");
	order = order ? order : (x->line > y->line) - (x->line < y->line);
	order = order ? order : strcmp(x->kind, y->kind);
	order = order ? order : strcmp(x->task_id ? x->task_id : "", y->task_id ? y->task_id : "");
	order = order ? order : strcmp(x->excerpt, y->excerpt);
	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int best_first(const void *p, const void *q)
{
	int order = by_score(p, q);

	return order ? order : by_place(p, q);
}

static int worst_first(const void *p, const void *q)
{
	int order = by_score(q, p);

	return order ? order : by_place(p, q);
}

static int newest_first(const void *p, const void *q)
{
	const struct item *x = p, *y = q;

	return x->time_us != y->time_us ? (x->time_us < y->time_us) - (x->time_us > y->time_us)
					: by_place(p, q);
}

static int oldest_first(const void *p, const void *q)
{
	const struct item *x = p, *y = q;

	return x->time_us != y->time_us ? (x->time_us > y->time_us) - (x->time_us < y->time_us)
					: by_place(p, q);
}

static int heaviest_first(const void *p, const void *q)
{
	const struct item *x = p, *y = q;

	return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
				      : newest_first(p, q);
}

/* The fourth and later hits of one file stand behind everything else. */
static void spread(struct search *x)
{
	enum { SHOWN_FIRST = 3 };
	struct item *later = arena_alloc(x->a, (x->count + 1) * sizeof(*later));
	struct idset seen[SHOWN_FIRST] = { 0 };
	size_t n = 0, put_off = 0;

	for (size_t k = 0; k < x->count; k++) {
		struct item i = x->items[k];
		bool is_first = !i.path;
		const char *file = i.path ? arena_printf(x->a, "%s\x1f%s", i.from->name, i.path) : "";
		for (size_t times = 0; !is_first && times < SHOWN_FIRST; times++)
			is_first = idset_add(x->a, &seen[times], file);
		if (is_first)
			x->items[n++] = i;
		else
			later[put_off++] = i;
	}
	memcpy(x->items + n, later, put_off * sizeof(*later));
}

void rank_items(struct search *x)
{
	size_t have[MAX_TERMS] = { 0 };

	if (!x->count)
		return;
	if (!x->q.is_classic && x->has_words)
		count_terms(x, have);
	for (size_t n = 0; n < x->count; n++)
		if (x->q.is_classic)
			score_classic(x, &x->items[n]);
		else
			score_item(x, &x->items[n], have);
	if (x->is_reflection)
		qsort(x->items, x->count, sizeof(*x->items), heaviest_first);
	else if (x->is_timeline)
		qsort(x->items, x->count, sizeof(*x->items), x->q.ascending ? oldest_first : newest_first);
	else
		qsort(x->items, x->count, sizeof(*x->items),
			x->q.is_classic && x->q.ascending ? worst_first : best_first);
	if (!x->q.is_classic && !x->is_timeline && x->has_words)
		spread(x);
}
