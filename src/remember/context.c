/* context.c — one search: what is asked, what is kept of what was found, and the answer.
 *
 * Whatever an area finds is offered here, and one function decides: filters, words, redaction.  Words count only in
 * what redaction leaves, so nobody can find out by asking what is hidden.  Of all degrees of fitting only the best that occurs is kept: lines with
 * the phrase, else with all words, else with the parts of names, else with most words, else with words nearly like these. */
#include "remember/context_parts.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const area_names[] = { "notes", "memory", "ontology", "tasks", "commands", "checkpoints" };
TABLE_COVERS(area_names, AREA_COUNT);

#define BIT(area) (1u << (area))
enum {
	ALL_AREAS = (1u << AREA_COUNT) - 1,
	DEFAULT_LIMIT = 20,
	MAX_LIMIT = 10000,
};

/* ---- words for the person ---- */

void search_warn(struct search *x, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_each (said, x->warnings)
		if (text_eq(json_text(said), text))
			return;
	if (x->warned++ < MAX_WARNINGS)
		json_pushs(x->a, x->warnings, text);
}

/* ---- --why-not ---- */

bool watches(const struct search *x, const struct item *i)
{
	char place[32];
	size_t n;

	if (!x->watched)
		return false;
	if (i->path && i->line) {
		snprintf(place, sizeof(place), ":%u", i->line);
		n = strlen(i->path);
		if (strncmp(x->watched, i->path, n) == 0 &&
			(!x->watched[n] || text_eq(x->watched + n, place)))
			return true;
	}
	return (i->path && !i->line && text_eq(x->watched, i->path)) ||
		(i->task_id && text_eq(x->watched, i->task_id)) ||
		(i->entity_id && text_eq(x->watched, i->entity_id)) || text_eq(x->watched, i->title);
}

void watched_is(struct search *x, const char *reason)
{
	json_sets(x->a, x->verdict, "reason", reason);
	json_setb(x->a, x->verdict, "found", true);
}

static void drop(struct search *x, const struct item *i, const char *reason)
{
	if (watches(x, i))
		watched_is(x, reason);
}

/* Which words the item lacks. */
static const char *missing_words(struct search *x, struct folded text)
{
	struct buf list;

	buf_init(&list, x->a);
	for (size_t i = 0; i < x->question.key_count; i++)
		if (!word_is_in(x->question.key[i], text))
			buf_addf(&list, "%s'%.*s'", list.n ? ", " : "", (int)x->question.key[i].n,
				x->question.key[i].p);
	return arena_printf(
		x->a, list.n ? "these words are not in it: %s" : "the words are not in it%s", list.p);
}

/* ---- keeping ---- */

bool search_wants(const struct search *x, enum area area)
{
	bool only_runs = x->q.skill || x->q.task_id || x->q.failed_only;

	return x->q.areas & BIT(area) && (!only_runs || area == AREA_TASKS || area == AREA_COMMANDS);
}

enum fit search_fit(const struct search *x, struct folded text)
{
	if (!x->has_words)
		return FIT_PHRASE;
	if (x->any_count) {
		for (size_t i = 0; i < x->any_count; i++)
			if (word_is_in(x->any[i], text))
				return FIT_WORDS;
		return FIT_NONE;
	}
	if (x->q.is_classic)
		return memmem(text.p, text.n, x->question.whole.p, x->question.whole.n) ? FIT_PHRASE
											: FIT_NONE;
	if (x->is_nearly)
		return question_fits_nearly(x->a, &x->question, text) ? FIT_TYPO : FIT_NONE;
	return question_fit(&x->question, text);
}

/* Does it speak of the entity? */
static bool mentions(const struct search *x, struct folded text)
{
	for (size_t i = 0; i < x->seed_count; i++)
		if (word_is_in(x->seeds[i], text))
			return true;
	return false;
}

static bool is_in_time(const struct search *x, const struct item *i)
{
	if (i->time_us == INT64_MIN)
		return !x->is_timeline;
	return i->time_us >= x->since_us && i->time_us <= x->until_us;
}

/* The beginning, in characters. */
static size_t cut_at(const char *p, size_t n, size_t characters)
{
	size_t i = 0;

	for (; i < n && characters; characters--)
		for (i++; i < n && (p[i] & 0xc0) == 0x80; i++)
			;
	return i;
}

/* Where the first word of the question stands; 0 when nobody can tell. */
static size_t first_hit(const struct search *x, const char *raw, size_t n, struct folded text)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < x->question.key_count; i++) {
		const char *p = memmem(text.p, text.n, x->question.key[i].p, x->question.key[i].n);
		if (p && (size_t)(p - text.p) < first)
			first = (size_t)(p - text.p);
	}
	if (first == SIZE_MAX)
		return 0;
	/* Folding may change the length; the place is about right then. */
	if (text.n != n)
		first = (size_t)((double)first * (double)n / (double)(text.n ? text.n : 1));
	first = first < n ? first : n;
	while (first && (raw[first] & 0xc0) == 0x80)
		first--;
	return first;
}

/* What is too long is shown around the hit. */
static const char *excerpt_of(struct search *x, const char *raw, size_t n, struct folded text, bool is_whole)
{
	size_t hit = x->has_words ? first_hit(x, raw, n, text) : 0, head = cut_at(raw, n, EXCERPT_BYTES);

	if (is_whole && (n <= LINE_BYTES || x->q.is_classic))
		return arena_strndup(x->a, raw, n);
	if (hit < head || x->q.is_classic)
		return arena_strndup(x->a, raw, head);
	size_t from = hit > EXCERPT_BYTES / 3 ? hit - EXCERPT_BYTES / 3 : 0;
	while (from && (raw[from] & 0xc0) == 0x80)
		from--;
	return arena_printf(x->a, "...%.*s%s", (int)cut_at(raw + from, n - from, EXCERPT_BYTES), raw + from,
		n - from > EXCERPT_BYTES ? "..." : "");
}

static const char *kept(struct search *x, const char *text)
{
	return text ? arena_strdup(x->a, text) : NULL;
}

static const char *redacted(struct search *x, const char *text)
{
	size_t n;
	const char *p = privacy_redact(&x->scratch, text, strlen(text), &n);

	return arena_strndup(x->a, p, n);
}

static void keep(struct search *x, const struct item *i, struct folded text)
{
	struct item *to;

	if (x->count == MAX_HITS) {
		x->is_cut = true;
		return;
	}
	if (x->count == x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		x->items = arena_grow(x->a, x->items, x->room * sizeof(*to), room * sizeof(*to));
		x->room = room;
	}
	to = &x->items[x->count];
	*to = *i;
	to->order = x->count++;
	x->found[i->area]++;
	to->title = redacted(x, i->title);
	to->excerpt = i->excerpt && !i->line ? redacted(x, i->excerpt)
					     : excerpt_of(x, i->raw, i->raw_n, text, i->excerpt != NULL);
	to->timestamp = kept(x, i->timestamp);
	to->path = kept(x, i->path);
	to->task_id = kept(x, i->task_id);
	to->entity_id = kept(x, i->entity_id);
	to->end_from = kept(x, i->end_from);
	to->end_to = kept(x, i->end_to);
	to->meta = json_copy(x->a, i->meta);
	privacy_redact_json(x->a, to->meta);
	to->raw = NULL;
}

/* Something answers better: what was kept until now goes, but for what was not found by words. */
static void raise(struct search *x, enum fit fit)
{
	size_t n = 0;

	memset(x->found, 0, sizeof(x->found));
	for (size_t i = 0; i < x->count; i++)
		if (x->items[i].is_filtered_free) {
			x->found[x->items[i].area]++;
			x->items[n++] = x->items[i];
		}
	x->count = n;
	x->best = fit;
}

void search_offer(struct search *x, const struct item *given)
{
	struct item i = *given;
	struct arena_mark mark = arena_mark(&x->scratch);

	if (!is_in_time(x, &i)) {
		drop(x, &i, "--since, --until or the timeline leave it out by its time");
		return;
	}
	i.raw = privacy_redact(&x->scratch, i.raw, i.raw_n, &i.raw_n);
	struct folded text = words_fold(&x->scratch, i.raw, i.raw_n);
	i.fit = i.is_filtered_free ? FIT_PHRASE : search_fit(x, text);
	if (i.fit == FIT_NONE)
		drop(x, &i, missing_words(x, text));
	else if (x->q.entity && i.area != AREA_ONTOLOGY && !mentions(x, text))
		drop(x, &i, "it does not speak of the entity");
	else if (i.fit < x->best)
		drop(x, &i, arena_printf(x->a, "others answer better (match=%s)", fit_name(x->best)));
	else {
		if (i.fit > x->best && !i.is_filtered_free)
			raise(x, i.fit);
		keep(x, &i, text);
	}
	arena_release(&x->scratch, mark);
}

/* ---- modes ---- */

struct mode {
	const char *name, *query, *areas; /* areas in the order in which they are shown */
	bool failed_only, latest_tasks;
	const char *description;
};
static const struct mode modes[] = {
	{ "failures", NULL, "tasks commands", true, false, "what failed" },
	{ "rollback", NULL, "tasks checkpoints", false, false, "what ran, and what can be brought back" },
	{ "decisions", "decision", "notes memory tasks", false, false, "what was decided" },
	{ "timeline", NULL, "notes memory tasks commands checkpoints", false, false,
		"what happened, in the order of time" },
	{ "entity", NULL, "ontology memory tasks", false, false,
		"one thing of the ontology, what is around it and what speaks of it (--entity)" },
	{ "reflect-candidates", NULL, "tasks commands memory", false, true,
		"what is worth to be learnt: repeated failures and successes, rework, slow commands, open captures" },
	{ "travel", "travel", "notes memory ontology tasks", false, false, "journeys" },
	{ "wealth", "ledger", "notes memory ontology tasks commands", false, false, "money" },
	{ "local", "cafe", "notes memory ontology tasks commands", false, false, "places nearby" },
	{ "kservice", "subway", "notes memory ontology tasks commands", false, false, "services" },
};

static struct json *areas_json(struct arena *a, const char *areas)
{
	struct json *list = json_new(a, JSON_ARRAY);
	struct bytes rest = bytes_of(areas);

	while (rest.p) {
		struct bytes one = text_cut(&rest, ' ');
		json_push(a, list, json_stringn(a, (const char *)one.p, one.n));
	}
	return list;
}

/* Names that are no areas say nothing; without any left, all are meant. */
static unsigned areas_of(const struct json *include)
{
	unsigned areas = 0;

	json_each (one, include)
		for (size_t i = 0; i < AREA_COUNT; i++)
			if (json_text(one) && text_eq(json_text(one), area_names[i]))
				areas |= BIT(i);
	return areas ? areas : ALL_AREAS;
}

static struct json *own_modes(const struct context_place *at, struct json *warnings)
{
	struct json *doc = NULL;
	struct err e = { 0 };
	int rc = at->root_fd < 0 ? E_MISSING
				 : doc_read(at->sys, at->a, at->root_fd, "references/context_modes.json",
					   1 << 20, 0, &doc, &e);

	if (rc && rc != E_MISSING)
		json_push(at->a, warnings,
			json_stringf(at->a, "references/context_modes.json was left out: %s", e.text));
	return doc;
}

struct json *context_modes(const struct context_place *at, struct json *warnings)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "query", modes[i].query);
		json_set(a, one, "include", areas_json(a, modes[i].areas));
		json_sets(a, one, "description", modes[i].description);
		json_set(a, doc, modes[i].name, one);
	}
	json_each_member (m, own_modes(at, warnings)) {
		struct json *one = json_new(a, JSON_OBJECT);
		if (!json_is(m->value, JSON_OBJECT) || json_get(doc, m->name))
			continue;
		json_sets(a, one, "query", json_get_text(m->value, "query", NULL));
		const struct json *include = json_get(m->value, "include");
		json_set(a, one, "include",
			json_is(include, JSON_ARRAY)
				? json_copy(a, include)
				: areas_json(a, "notes memory ontology tasks commands checkpoints"));
		json_sets(a, one, "description", json_get_text(m->value, "description", NULL));
		json_set(a, doc, m->name, one);
	}
	return doc;
}

/* "decision" is what people file it under; this is how they write it. */
const char *const *context_decisions(struct arena *a)
{
	static const char *const words[] = { "decision", "decided", "decide", "adr", "we chose", "agreed",
		"결정", "决定", "決定", "決めた", "entschied", "beschlossen", "décision", "decisión" };
	const char **folded = arena_zalloc(a, ARRAY_SIZE(words) + 1, sizeof(*folded));

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		folded[i] = words_fold(a, words[i], strlen(words[i])).p;
	return folded;
}

static void take_synonyms(struct search *x)
{
	for (const char *const *word = context_decisions(x->a); *word; word++)
		x->any[x->any_count++] = (struct folded){ *word, strlen(*word) };
}

/* A mode fills in what was left open. */
static int apply_mode(struct search *x, struct err *e)
{
	struct context_query *q = &x->q;
	const char *word = q->mode;

	if (!word)
		return OK;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		const struct mode *m = &modes[i];
		if (!text_eq(m->name, word))
			continue;
		if (!q->text && m->query && text_eq(word, "decisions") && !q->is_classic)
			take_synonyms(x);
		q->text = q->text ? q->text : m->query;
		q->areas = q->areas ? q->areas : areas_of(areas_json(x->a, m->areas));
		q->failed_only |= m->failed_only;
		q->latest_tasks |= m->latest_tasks;
		x->is_timeline = text_eq(word, "timeline");
		x->is_reflection = text_eq(word, "reflect-candidates");
		if (text_eq(word, "entity") && !q->entity)
			return err_set(e, E_USAGE, "CONTEXT_ENTITY", "--mode entity needs --entity ID");
		return OK;
	}
	const struct json *own = json_get(own_modes(x->at, x->warnings), word);
	if (!json_is(own, JSON_OBJECT))
		return err_set(e, E_USAGE, "CONTEXT_MODE",
			"there is no mode '%s'; 'helm context --describe-modes' lists them", word);
	q->text = q->text ? q->text : json_get_text(own, "query", NULL);
	q->areas = q->areas ? q->areas : areas_of(json_get(own, "include"));
	return OK;
}

static int take_time(
	struct search *x, const char *text, const char *option, struct text_when *to, struct err *e)
{
	if (!text || text_when(text, x->now_us, to))
		return OK;
	return err_set(e, E_USAGE, "CONTEXT_TIME",
		"%s takes a time, and '%.60s' is none; write " TEXT_WHEN_FORMS, option, text);
}

static int prepare(struct search *x, struct err *e)
{
	struct context_query *q = &x->q;
	struct text_when since = { x->since_us, x->since_us }, until = { x->until_us, x->until_us };
	int rc = apply_mode(x, e);

	if (rc == OK)
		rc = take_time(x, q->since, "--since", &since, e);
	if (rc == OK)
		rc = take_time(x, q->until, "--until", &until, e);
	if (rc)
		return rc;
	x->since_us = since.from_us;
	/* A day that is named as the end is meant as a whole. */
	x->until_us = until.to_us > until.from_us ? until.to_us - 1 : until.to_us;
	q->areas = q->areas ? q->areas : ALL_AREAS;
	q->limit = q->limit <= 0 ? DEFAULT_LIMIT : q->limit > MAX_LIMIT ? MAX_LIMIT : q->limit;
	q->depth = q->depth > 3 ? 3 : q->depth;
	/* In a timeline the states of a task are one entry anyway; the old ranking knew all rows. */
	q->latest_tasks |= !q->is_classic;
	x->cap = (size_t)(20 * q->limit < 200 ? 200 : 20 * q->limit) + (size_t)q->offset;
	if (q->text) {
		question_make(x->a, q->text, &x->question);
		x->has_words = x->question.whole.n > 0;
	}
	x->watched = q->why_not;
	x->verdict = json_new(x->a, JSON_OBJECT);
	return OK;
}

/* ---- the answer ---- */

static const char *hint_of(struct search *x, const struct item *i)
{
	struct arena *a = x->a;
	const char *root = text_quote(a, i->from->root), *own = text_quote(a, x->at->root);

	/* Plain paths stay as they are, for those who copy them. */
	if (strspn(i->from->root, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/") ==
		strlen(i->from->root))
		root = own = i->from->root;
	if (i->path && i->line)
		return arena_printf(a, "open %s/%s:%u, or: sed -n %up %s", i->from->root, i->path, i->line,
			i->line, text_quote(a, arena_printf(a, "%s/%s", i->from->root, i->path)));
	if (i->path)
		return arena_printf(a, "open %s/%s", i->from->root, i->path);
	if (!i->from->is_local && i->task_id)
		return arena_printf(a, "helm context --path %s --adapter %s --include %s --task-id %s",
			text_quote(a, x->at->root), text_quote(a, i->from->name), area_names[i->area],
			text_quote(a, i->task_id));
	if (i->area == AREA_TASKS && i->task_id)
		return arena_printf(a, "helm task show %s --path %s", i->task_id, root);
	if (i->area == AREA_COMMANDS && i->task_id)
		return arena_printf(
			a, "helm context --path %s --include commands --task-id %s", root, i->task_id);
	if (i->area == AREA_CHECKPOINTS && i->from->is_local)
		return arena_printf(a, "helm checkpoint show %s --path %s", i->title, root);
	return NULL;
}

/* Before ranking: the old one counts words in here, too. */
static void complete_meta(struct search *x, const struct item *i)
{
	const char *hint = hint_of(x, i);

	json_sets(x->a, i->meta, "workspace", i->from->root);
	if (hint)
		json_sets(x->a, i->meta, "direct_inspection_hint", hint);
}

/* Who stands for a line of memory: {on_record, entry, trust, state}.  Whoever asks reads lines of anybody, and must be able to tell. */
static struct json *provenance(struct search *x, const struct item *i)
{
	struct memory_place m = { x->sys, x->at->root_fd, x->at->state_fd, x->at->state_dir };
	struct json *doc = json_new(x->a, JSON_OBJECT);
	char id[MEMORY_ID + 1];
	struct bytes text;
	size_t damaged;

	json_setb(x->a, doc, "on_record", false);
	if (!memory_line_entry(bytes_of(i->excerpt), id, &text))
		return doc;
	if (!x->entries && memory_entries(&m, x->a, &x->entries, &damaged, NULL))
		x->entries = json_new(x->a, JSON_OBJECT);
	const struct json *entry = memory_entry(x->entries, id);
	if (!entry || !memory_is_line(x->a, json_get(entry, "lines"), text))
		return doc;
	json_setb(x->a, doc, "on_record", true);
	json_sets(x->a, doc, "entry", id);
	json_sets(x->a, doc, "trust", json_get_text(entry, "trust", NULL));
	json_sets(x->a, doc, "state", json_get_text(entry, "state", NULL));
	return doc;
}

static void drop_doubles(struct search *x)
{
	struct idset seen = { 0 };
	size_t n = 0;

	for (size_t k = 0; k < x->count; k++) {
		const struct item *i = &x->items[k];
		const char *parts[] = { i->from->name, i->kind, i->timestamp, i->title, i->excerpt, i->path,
			i->task_id, i->entity_id, i->end_from, i->end_to };
		struct buf key;
		buf_init(&key, x->a);
		buf_addf(&key, "%d:%u", (int)i->area, i->line);
		for (size_t p = 0; p < ARRAY_SIZE(parts); p++)
			buf_addf(&key, "\x1f%s", parts[p] ? parts[p] : "");
		if (idset_add(x->a, &seen, key.p))
			x->items[n++] = *i;
		else
			drop(x, i, "it is the same as another result");
	}
	x->count = n;
}

static struct json *ranking_json(struct search *x, const struct item *i)
{
	struct arena *a = x->a;
	struct json *doc = json_new(a, JSON_OBJECT), *fields = json_new(a, JSON_OBJECT);
	const struct score *s = &i->score;

	json_set(a, fields, "title", json_double(a, s->title));
	json_set(a, fields, "excerpt", json_double(a, s->excerpt));
	json_set(a, fields, "metadata", json_double(a, s->metadata));
	json_set(a, doc, "query_score", json_double(a, s->query));
	json_set(a, doc, "field_scores", fields);
	json_set(a, doc, "temporal_boost", json_double(a, s->temporal));
	json_set(a, doc, "graph_boost", json_double(a, s->graph));
	json_set(a, doc, "adapter_priority", json_double(a, s->adapter));
	json_set(a, doc, "source_priority", json_double(a, s->source));
	json_set(a, doc, "total_score", json_double(a, s->total));
	json_sets(a, doc, "timestamp", i->timestamp);
	return doc;
}

static struct json *result_json(struct search *x, const struct item *i)
{
	struct arena *a = x->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "adapter", i->from->name);
	json_sets(a, doc, "adapter_kind", i->from->kind);
	json_sets(a, doc, "source", area_names[i->area]);
	json_sets(a, doc, "kind", i->kind);
	json_sets(a, doc, "timestamp",
		i->timestamp || !x->is_timeline ? i->timestamp : text_time_iso(a, i->time_us));
	json_sets(a, doc, "title", i->title);
	json_sets(a, doc, "excerpt", i->excerpt);
	if (!x->q.is_classic)
		complete_meta(x, i);
	if (i->from->is_local && i->line)
		json_set(a, i->meta, "provenance", provenance(x, i));
	json_set(a, i->meta, "source_freshness", source_freshness(x, i->from));
	if (x->has_words && i->fit < FIT_PHRASE)
		json_sets(a, i->meta, "match", fit_name(i->fit));
	if (x->q.explains)
		json_set(a, i->meta, "ranking", ranking_json(x, i));
	json_set(a, doc, "metadata", i->meta);
	return doc;
}

static void count_in(struct search *x, struct json *counts, const char *name)
{
	json_seti(x->a, counts, name, json_get_int(counts, name, 0) + 1);
}

static struct json *summary_json(struct search *x)
{
	struct arena *a = x->a;
	struct json *doc = json_new(a, JSON_OBJECT), *adapters = json_new(a, JSON_OBJECT),
		    *sources = json_new(a, JSON_OBJECT), *kinds = json_new(a, JSON_OBJECT);

	for (size_t n = 0; n < x->count; n++) {
		count_in(x, adapters, x->items[n].from->name);
		count_in(x, sources, area_names[x->items[n].area]);
		count_in(x, kinds, x->items[n].kind);
	}
	json_seti(a, doc, "total", (int64_t)x->count);
	json_setb(a, doc, "complete", !x->is_cut && !x->is_partial);
	json_set(a, doc, "by_adapter", adapters);
	json_set(a, doc, "by_source", sources);
	json_set(a, doc, "by_kind", kinds);
	json_sets(a, doc, "match", x->has_words && x->count ? fit_name(x->best) : NULL);
	return doc;
}

static void judge_watched(struct search *x, int64_t from, int64_t to, struct context_answer *ret)
{
	struct json *doc = x->verdict;

	json_sets(x->a, doc, "item", x->watched);
	for (size_t n = 0; n < x->count; n++) {
		if (!watches(x, &x->items[n]))
			continue;
		bool is_shown = (int64_t)n >= from && (int64_t)n < to;
		watched_is(x,
			is_shown ? "it is in the answer"
				 : "others rank higher; ask for more with --limit or --offset");
		json_setb(x->a, doc, "shown", is_shown);
		json_seti(x->a, doc, "rank", (int64_t)n + 1);
		json_set(x->a, doc, "ranking", ranking_json(x, &x->items[n]));
		break;
	}
	if (!json_get(doc, "reason")) {
		json_setb(x->a, doc, "found", false);
		json_sets(x->a, doc, "reason",
			"nothing of that name was seen in these areas and sources; name a path below the source, "
			"PATH:LINE, a task, a checkpoint or an entity");
	}
	ret->why_not = doc;
}

static const char *note_of(const struct search *x)
{
	if (!x->has_words || !x->count)
		return NULL;
	switch (x->best) {
	case FIT_TYPO:
		return "nothing has these words; shown is what has words spelled nearly like them";
	case FIT_SOME:
		return "nothing has all of these words; shown is what has most of them";
	default:
		return NULL;
	}
}

static void answer(struct search *x, struct context_answer *ret)
{
	/* The old ranking counts words of these, too. */
	for (size_t n = 0; n < x->count && x->q.is_classic; n++)
		complete_meta(x, &x->items[n]);
	drop_doubles(x);
	rank_items(x);
	int64_t from = x->q.offset, to = from + x->q.limit, count = (int64_t)x->count;
	from = from > count ? count : from;
	to = to > count ? count : to;
	ret->results = json_new(x->a, JSON_ARRAY);
	/* The chosen ones turned round; the old ranking, and a timeline, were sorted the other way already. */
	bool turns = x->q.ascending && !x->q.is_classic && !x->is_timeline;
	for (int64_t n = from; n < to; n++)
		json_push(x->a, ret->results, result_json(x, &x->items[turns ? to - 1 - (n - from) : n]));
	ret->total = count;
	ret->summary = summary_json(x);
	ret->note = note_of(x);
	if (x->is_cut)
		search_warn(x,
			"there are more than %d hits; the rest was not looked at: ask for something narrower",
			MAX_HITS);
	if (x->warned > MAX_WARNINGS)
		json_push(x->a, x->warnings,
			json_stringf(x->a, "and %zu more of this kind", x->warned - MAX_WARNINGS));
	ret->warnings = x->warnings;
	if (x->watched)
		judge_watched(x, from, to, ret);
}

static void gather(struct search *x)
{
	for (size_t i = 0; i < x->source_count; i++) {
		struct source *s = &x->sources[i];
		if (s->root_fd < 0)
			continue;
		if (x->is_reflection) {
			reflect_gather(x, s);
			continue;
		}
		if ((search_wants(x, AREA_NOTES) || search_wants(x, AREA_MEMORY)) && !index_files(x, s))
			area_files(x, s);
		area_ontology(x, s);
		if (!index_rows(x, s))
			area_rows(x, s);
		area_checkpoints(x, s);
	}
}

int context_ask(const struct context_place *at, const struct context_query *q, struct context_answer *ret,
	struct err *e)
{
	struct search *x = arena_zalloc(at->a, 1, sizeof(*x));

	*x = (struct search){ .at = at,
		.sys = at->sys,
		.a = at->a,
		.q = *q,
		.now_us = at->sys->now_us(at->sys),
		.since_us = INT64_MIN,
		.until_us = INT64_MAX,
		.warnings = json_new(at->a, JSON_ARRAY) };
	int rc = prepare(x, e);
	if (rc == OK)
		rc = search_sources(x, e);
	if (rc)
		return rc;
	rc = search_seeds(x, e);
	if (rc == OK) {
		index_attach(x);
		gather(x);
		/* The index was asked for all words; where only some fit it must be asked again. */
		if (x->index && x->best <= FIT_SOME && x->question.key_count >= 3 && !x->any_count) {
			index_widen(x);
			gather(x);
		}
		if (!x->count && x->has_words && !x->q.is_classic && !x->any_count) {
			x->is_nearly = true;
			gather(x);
		}
		answer(x, ret);
		index_detach(x);
	}
	search_sources_close(x);
	arena_done(&x->scratch);
	return rc;
}
