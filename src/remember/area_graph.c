/* area_graph.c — things and relations, and what lies around one of them.
 *
 * An entity is asked for by its id, its name or an alias.  From there the graph is followed hop by hop, each relation and each thing
 * once, so that circles end. */
#include "remember/context_parts.h"

#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/ontology.h"

#include <string.h>

static size_t place_of(const struct idset *t, const char *id)
{
	uint64_t h = 14695981039346656037u;

	for (const char *p = id; *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	size_t i = h & (t->room - 1);
	while (t->ids[i] && !text_eq(t->ids[i], id))
		i = (i + 1) & (t->room - 1);
	return i;
}

bool idset_has(const struct idset *t, const char *id)
{
	return t->room && t->ids[place_of(t, id)];
}

bool idset_add(struct arena *a, struct idset *t, const char *id)
{
	if (2 * t->count >= t->room) {
		struct idset old = *t;
		t->room = old.room ? 2 * old.room : 64;
		t->ids = arena_zalloc(a, t->room, sizeof(*t->ids));
		for (size_t i = 0; i < old.room; i++)
			if (old.ids[i])
				t->ids[place_of(t, old.ids[i])] = old.ids[i];
	}
	size_t i = place_of(t, id);
	if (t->ids[i])
		return false;
	t->ids[i] = arena_strdup(a, id);
	t->count++;
	return true;
}

/* ---- reading ---- */

struct graph {
	struct search *x;
	struct source *s;
	bool are_relations;
	size_t damaged;
	struct json *entities, *relations; /* rows, when there is an entity to start from */
	struct idset seeds;
};

static void warn_damaged(struct graph *g, const char *file)
{
	if (g->damaged)
		search_warn(g->x, "%s: lines of %s that are no rows, or name nothing, were left out: %zu",
			g->s->name, file, g->damaged);
	g->damaged = 0;
}

static void read_file(struct graph *g, const char *file, ontology_visit *fn)
{
	struct err e = { 0 };

	if (g->s->root_fd >= 0 && ontology_each(g->x->sys, g->s->root_fd, file, fn, g, &e))
		search_warn(g->x, "%s: '%s' was not searched: %s", g->s->name, file, e.text);
	warn_damaged(g, file);
}

/* ---- items ---- */

static const char *as_json(struct arena *a, const struct json *v)
{
	struct buf text;

	buf_init(&text, a);
	if (v)
		json_write(&text, v, JSON_SPACED);
	else
		buf_adds(&text, "{}");
	return text.p;
}

static void mark_graph(struct search *x, struct item *i, int hops)
{
	i->hops = hops;
	i->is_filtered_free = true;
	json_setb(&x->scratch, i->meta, "graph_expansion", true);
	json_sets(&x->scratch, i->meta, "graph_seed", x->q.entity);
	json_seti(&x->scratch, i->meta, "graph_hops", hops);
}

static void offer_entity(struct graph *g, const struct json *given, int hops)
{
	struct search *x = g->x;
	struct arena *a = &x->scratch;
	struct json *row = json_copy(a, given);
	struct item i = { .from = g->s,
		.area = AREA_ONTOLOGY,
		.kind = hops ? "graph-neighbor" : "entity",
		.time_us = INT64_MIN };
	struct entity t;

	privacy_redact_json(a, row);
	if (!entity_read(a, row, &t))
		return;
	i.raw = as_json(a, row);
	i.raw_n = strlen(i.raw);
	i.title = arena_printf(a, "%s (%s)", t.id, t.type);
	i.excerpt = *t.notes ? t.notes : as_json(a, t.properties);
	i.entity_id = t.id;
	if (*t.at) {
		i.timestamp = t.at;
		if (!memory_time(t.at, &i.time_us))
			i.time_us = INT64_MIN;
	}
	i.meta = json_new(a, JSON_OBJECT);
	json_sets(a, i.meta, "entity_id", t.id);
	json_sets(a, i.meta, "entity_type", t.type);
	json_sets(a, i.meta, "name", *t.name ? t.name : NULL);
	json_sets(a, i.meta, "status", *t.status ? t.status : NULL);
	if (hops)
		mark_graph(x, &i, hops);
	search_offer(x, &i);
	arena_reset(a);
}

static void offer_relation(struct graph *g, const struct json *given, int hops)
{
	struct search *x = g->x;
	struct arena *a = &x->scratch;
	struct json *row = json_copy(a, given);
	struct item i = { .from = g->s,
		.area = AREA_ONTOLOGY,
		.kind = hops ? "graph-relation" : "relation",
		.time_us = INT64_MIN };
	struct relation t;

	privacy_redact_json(a, row);
	if (!relation_read(a, row, &t))
		return;
	i.raw = as_json(a, row);
	i.raw_n = strlen(i.raw);
	i.title = arena_printf(a, "%s %s %s", t.from, t.type, t.to);
	i.excerpt = as_json(a, t.properties);
	i.end_from = t.from;
	i.end_to = t.to;
	i.meta = json_new(a, JSON_OBJECT);
	json_sets(a, i.meta, "from", t.from);
	json_sets(a, i.meta, "to", t.to);
	json_sets(a, i.meta, "relation_type", t.type);
	if (hops)
		mark_graph(x, &i, hops);
	search_offer(x, &i);
	arena_reset(a);
}

/* ---- everything ---- */

static int take_entity(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct graph *g = arg;
	struct entity t;

	(void)line;
	(void)e;
	if (!row || !entity_read(&g->x->scratch, row, &t)) {
		g->damaged++;
		return 0;
	}
	if (g->entities) {
		json_push(g->x->a, g->entities, json_copy(g->x->a, row));
		if (text_eq(t.id, g->x->q.entity) || entity_is(&g->x->scratch, &t, g->x->q.entity))
			(void)idset_add(g->x->a, &g->seeds, t.id);
	} else {
		offer_entity(g, row, 0);
	}
	arena_reset(&g->x->scratch);
	return 0;
}

static int take_relation(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct graph *g = arg;
	struct relation t;

	(void)line;
	(void)e;
	if (!row || !relation_read(&g->x->scratch, row, &t))
		g->damaged++;
	else if (g->relations)
		json_push(g->x->a, g->relations, json_copy(g->x->a, row));
	else
		offer_relation(g, row, 0);
	arena_reset(&g->x->scratch);
	return 0;
}

/* ---- around an entity ---- */

static bool touches(const struct idset *ids, const struct relation *t)
{
	return idset_has(ids, t->from) || idset_has(ids, t->to);
}

/* Relations of what was reached last, and what they lead to. */
static void follow(struct graph *g, const struct idset *last, struct idset *known, struct idset *next,
	bool *done, int hops)
{
	struct search *x = g->x;
	struct relation t;
	size_t n = 0;

	json_each (row, g->relations) {
		size_t at = n++;
		if (done[at] || !relation_read(x->a, row, &t) || !touches(last, &t))
			continue;
		done[at] = true;
		offer_relation(g, row, hops);
		if (idset_add(x->a, known, t.from))
			(void)idset_add(x->a, next, t.from);
		if (idset_add(x->a, known, t.to))
			(void)idset_add(x->a, next, t.to);
	}
}

static void offer_around(struct graph *g)
{
	struct search *x = g->x;
	struct idset known = { 0 }, last = g->seeds;
	struct relation r;
	struct entity t;
	bool *done = arena_zalloc(x->a, g->relations->n + 1, sizeof(*done));

	(void)idset_add(x->a, &last, x->q.entity);
	for (size_t i = 0; i < last.room; i++)
		if (last.ids[i])
			(void)idset_add(x->a, &known, last.ids[i]);
	json_each (row, g->entities)
		if (entity_read(x->a, row, &t) && idset_has(&last, t.id))
			offer_entity(g, row, 0);
	json_each (row, g->relations)
		if (relation_read(x->a, row, &r) && touches(&last, &r))
			offer_relation(g, row, 0);
	for (int hops = 1; hops <= (x->q.depth ? x->q.depth : 1) && last.count; hops++) {
		struct idset next = { 0 };
		follow(g, &last, &known, &next, done, hops);
		json_each (row, g->entities)
			if (entity_read(x->a, row, &t) && idset_has(&next, t.id))
				offer_entity(g, row, hops);
		last = next;
	}
}

void area_ontology(struct search *x, struct source *s)
{
	struct graph g = { .x = x, .s = s };

	if (!search_wants(x, AREA_ONTOLOGY))
		return;
	if (x->q.entity) {
		g.entities = json_new(x->a, JSON_ARRAY);
		g.relations = json_new(x->a, JSON_ARRAY);
	}
	read_file(&g, ONTOLOGY_ENTITIES, take_entity);
	read_file(&g, ONTOLOGY_RELATIONS, take_relation);
	if (x->q.entity)
		offer_around(&g);
}

/* ---- how else it is called ---- */

static void add_seed(struct search *x, const char *name)
{
	if (name && strlen(name) >= 2 && x->seed_count < MAX_SEEDS)
		x->seeds[x->seed_count++] = words_fold(x->a, name, strlen(name));
}

static int learn_names(void *arg, uint64_t line, const struct json *row, struct err *e)
{
	struct search *x = arg;
	struct entity t;

	(void)line;
	(void)e;
	if (!row || !entity_read(&x->scratch, row, &t) ||
		(!text_eq(t.id, x->q.entity) && !entity_is(&x->scratch, &t, x->q.entity))) {
		arena_reset(&x->scratch);
		return 0;
	}
	add_seed(x, t.id);
	add_seed(x, *t.name ? t.name : NULL);
	json_each (alias, t.aliases)
		add_seed(x, json_text(alias));
	arena_reset(&x->scratch);
	return 0;
}

/* Under which names other places may speak of the entity. */
int search_seeds(struct search *x, struct err *e)
{
	(void)e;
	if (!x->q.entity)
		return OK;
	add_seed(x, x->q.entity);
	for (size_t i = 0; i < x->source_count; i++)
		if (x->sources[i].root_fd >= 0)
			(void)ontology_each(
				x->sys, x->sources[i].root_fd, ONTOLOGY_ENTITIES, learn_names, x, NULL);
	return OK;
}
