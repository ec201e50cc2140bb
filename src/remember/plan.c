/* plan.c — what of a finished task is worth remembering, by rules that can be read.
 *
 * Each rule that holds leaves a reason as a code that names the match ("path:docs/", "word:release"), so that nobody has to guess why
 * something was planned.  Words count as whole words: half of all trivial commands would be remembered otherwise. */
#include "remember/memory.h"

#include "record/record.h"
#include "remember/loop.h"
#include "remember/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- events ---- */

enum event { PROJECT, OPERATIONAL, KNOWLEDGE, EVENT_COUNT };
static const char *const event_names[] = { "project_state", "operational_state", "knowledge_state" };
TABLE_COVERS(event_names, EVENT_COUNT);

static const struct rule {
	const char *said; /* a profile, the beginning of a path, a word */
	enum event event;
} profile_rules[] = {
	{ "service_ops", OPERATIONAL },
	{ "remote_handoff", OPERATIONAL },
	{ "risky_edit", PROJECT },
}, path_rules[] = {
	{ "docs/", PROJECT },
	{ "references/", PROJECT },
	{ "README", PROJECT },
	{ "CHANGELOG", PROJECT },
	{ "skills/", PROJECT },
	{ "memory/", KNOWLEDGE },
	{ "MEMORY.md", KNOWLEDGE },
	{ ".helm/", OPERATIONAL },
	{ "scripts/", OPERATIONAL },
}, word_rules[] = {
	{ "readme", PROJECT },
	{ "docs", PROJECT },
	{ "skill", PROJECT },
	{ "reference", PROJECT },
	{ "router", PROJECT },
	{ "workflow", PROJECT },
	{ "policy", PROJECT },
	{ "release", PROJECT },
	{ "tag", PROJECT },
	{ "commit", PROJECT },
	{ "push", PROJECT },
	{ "cron", OPERATIONAL },
	{ "automation", OPERATIONAL },
	{ "calendar", OPERATIONAL },
	{ "sheet", OPERATIONAL },
	{ "service", OPERATIONAL },
	{ "integration", OPERATIONAL },
	{ "deploy", OPERATIONAL },
	{ "publish", OPERATIONAL },
	{ "delivery", OPERATIONAL },
	{ "memory", KNOWLEDGE },
	{ "ontology", KNOWLEDGE },
	{ "obsidian", KNOWLEDGE },
	{ "note", KNOWLEDGE },
	{ "notes", KNOWLEDGE },
	{ "entity", KNOWLEDGE },
	{ "relation", KNOWLEDGE },
};

struct planning {
	struct arena *a;
	const struct json *row;
	const char *status, *profile, *blob;
	const struct json *paths; /* touched */
	const struct json *browser, *retrieval; /* evidence, or NULL */
	struct json *events, *reasons;
	bool has[EVENT_COUNT];
	struct json *plan;
};

static bool is_any(const char *word, const char *const *of)
{
	for (; *of; of++)
		if (text_eq(word, *of))
			return true;
	return false;
}

static void add_event(struct planning *p, enum event event, const char *kind, const char *match)
{
	if (!p->has[event])
		json_pushs(p->a, p->events, event_names[event]);
	p->has[event] = true;
	json_push(p->a, p->reasons, json_stringf(p->a, "%s:%s", kind, match));
}

static bool is_touched(const struct planning *p, const char *prefix)
{
	json_each (path, p->paths)
		if (json_text(path) && text_starts(json_text(path), prefix))
			return true;
	return false;
}

static void find_events(struct planning *p)
{
	static const char *const knowing[] = { "auth_required", "unsafe", "human_approval_needed", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(profile_rules); i++)
		if (text_eq(p->profile, profile_rules[i].said))
			add_event(p, profile_rules[i].event, "profile", profile_rules[i].said);
	for (size_t i = 0; i < ARRAY_SIZE(path_rules); i++)
		if (is_touched(p, path_rules[i].said))
			add_event(p, path_rules[i].event, "path", path_rules[i].said);
	for (size_t i = 0; i < ARRAY_SIZE(word_rules); i++)
		if (memory_has_word(p->blob, word_rules[i].said))
			add_event(p, word_rules[i].event, "word", word_rules[i].said);
	if (p->browser)
		add_event(p, OPERATIONAL, "evidence", "browser");
	if (json_get_bool(p->browser, "api_reusable", false))
		add_event(p, PROJECT, "evidence", "api_reusable");
	if (p->retrieval)
		add_event(p, OPERATIONAL, "evidence", "retrieval");
	const char *class = json_get_text(p->retrieval, "exit_classification", "");
	if (is_any(class, knowing))
		add_event(p, KNOWLEDGE, "evidence", class);
}

/* ---- the text that words are looked for in ---- */

static void add_text(struct buf *to, const char *text)
{
	if (!text)
		return;
	buf_addc(to, '\n');
	buf_adds(to, text);
}

static const char *blob_of(struct planning *p)
{
	static const char *const members[] = { "task_name", "command_preview", "skill", "runtime_target",
		"runtime_note" };
	struct buf b;

	buf_init(&b, p->a);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		add_text(&b, json_get_text(p->row, members[i], NULL));
	json_each (path, json_get(p->row, "checkpoint_paths"))
		add_text(&b, json_text(path));
	json_each (path, p->paths)
		add_text(&b, json_text(path));
	if (p->browser)
		json_write(&b, p->browser, 0);
	if (p->retrieval)
		json_write(&b, p->retrieval, 0);
	return memory_lower(p->a, b.p, b.n);
}

/* ---- the parts of a plan ---- */

static const struct json *evidence(const struct json *row, const char *name)
{
	const struct json *v = json_get(json_get(json_get(row, "meta"), "harness"), name);

	return json_is(v, JSON_OBJECT) ? v : NULL;
}

static const char *time_of(const struct json *row)
{
	static const char *const members[] = { "finished_at", "started_at", "created_at" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (json_get_text(row, members[i], NULL))
			return json_get_text(row, members[i], NULL);
	return NULL;
}

static bool is_done(const struct planning *p)
{
	return text_eq(p->status, "completed") || text_eq(p->status, "handoff_required");
}

static bool is_relevant(const struct planning *p)
{
	static const char *const watched[] = { "service_ops", "risky_edit", "remote_handoff", NULL };

	return is_done(p) ? p->events->n > 0 : text_eq(p->status, "failed") && is_any(p->profile, watched);
}

static bool says_ontology(const struct planning *p)
{
	return memory_has_word(p->blob, "ontology") || memory_has_word(p->blob, "entity") ||
		memory_has_word(p->blob, "relation");
}

static void suggest(struct planning *p, struct json *entries, const char *layer, const char *text)
{
	struct json *list = doc_part_list(p->a, entries, layer);

	json_pushs(p->a, list, text);
}

static void put_layers(struct planning *p, bool relevant)
{
	struct json *layers = json_new(p->a, JSON_ARRAY), *entries = json_new(p->a, JSON_OBJECT);

	if (relevant) {
		json_pushs(p->a, layers, "daily_memory");
		suggest(p, entries, "daily_memory", "what was done, and how it ended");
		if (p->paths->n)
			suggest(p, entries, "daily_memory", "which files changed, and why");
		if (p->has[PROJECT])
			suggest(p, entries, "daily_memory", "what is different in the project now");
		if (p->has[OPERATIONAL])
			suggest(p, entries, "daily_memory", "what runs differently now, and how to see it");
		if (p->has[PROJECT] || p->has[OPERATIONAL]) {
			json_pushs(p->a, layers, "long_term_memory");
			suggest(p, entries, "long_term_memory", "what stays true after today");
		}
		if (p->has[KNOWLEDGE]) {
			json_pushs(p->a, layers, "notes");
			suggest(p, entries, "notes", "what was learned, with its source");
		}
		if (says_ontology(p)) {
			json_pushs(p->a, layers, "ontology");
			suggest(p, entries, "ontology", "the entity or relation that changed");
		}
	}
	json_set(p->a, p->plan, "recommended_layers", layers);
	json_set(p->a, p->plan, "reasons", p->reasons);
	json_set(p->a, p->plan, "suggested_entries", entries);
}

static const char *put_claim(struct planning *p)
{
	struct json *claim = json_new(p->a, JSON_OBJECT);
	const struct json *saved = json_get(p->row, "checkpoint_paths");
	int64_t sources = (json_is(saved, JSON_ARRAY) && saved->n) + (p->browser != NULL) +
		(p->retrieval != NULL) + (p->paths->n > 0);
	bool is_completed = text_eq(p->status, "completed");
	const char *confidence = is_completed && sources >= 2 ? "high"
		: is_done(p) && p->events->n		      ? "medium"
							      : "low";

	json_sets(p->a, claim, "last_confirmed_at", time_of(p->row));
	json_seti(p->a, claim, "source_count", sources);
	json_sets(p->a, claim, "confidence_hint", confidence);
	json_sets(p->a, claim, "recency_hint", p->events->n ? "fresh" : "unscoped");
	json_set(p->a, p->plan, "claim_state", claim);
	return confidence;
}

static void put_retention(struct planning *p)
{
	struct json *r = json_new(p->a, JSON_OBJECT);
	bool knows = p->has[KNOWLEDGE], works = p->has[PROJECT] || p->has[OPERATIONAL];

	json_sets(p->a, r, "tier", knows ? "durable_knowledge" : works ? "durable_operational" : "ephemeral");
	json_sets(p->a, r, "decay_hint",
		knows		? "keep_until_superseded"
			: works ? "keep_until_workflow_changes"
				: "drop_if_unreferenced");
	json_set(p->a, p->plan, "retention", r);
}

static void put_crystallization(struct planning *p)
{
	enum { SHOWN = 4, MOST = 8 };
	struct json *c = json_new(p->a, JSON_OBJECT), *entities = json_new(p->a, JSON_ARRAY);
	const char *skill = json_get_text(p->row, "skill", ""),
		   *target = json_get_text(p->row, "runtime_target", "");
	struct buf result;

	buf_init(&result, p->a);
	buf_addf(&result, "%s; paths: ", p->status);
	for (uint32_t i = 0; i < p->paths->n && i < SHOWN; i++)
		buf_addf(&result, "%s%s", i ? ", " : "", json_text(p->paths->items[i]));
	if (p->paths->n > SHOWN)
		buf_addf(&result, " and %u more", p->paths->n - SHOWN);
	buf_adds(&result, p->paths->n ? "" : "none");
	if (*skill)
		json_push(p->a, entities, json_stringf(p->a, "skill:%s", skill));
	if (*target)
		json_push(p->a, entities, json_stringf(p->a, "runtime:%s", target));
	json_each (event, p->events)
		json_push(p->a, entities, json_stringf(p->a, "event:%s", json_text(event)));
	for (uint32_t i = 0; i < p->paths->n && i < SHOWN && entities->n < MOST; i++)
		json_push(p->a, entities, p->paths->items[i]);
	json_sets(p->a, c, "question", json_get_text(p->row, "task_name", NULL));
	json_sets(p->a, c, "action", json_get_text(p->row, "command_preview", NULL));
	json_sets(p->a, c, "result", result.p);
	json_sets(p->a, c, "lesson",
		p->reasons->n ? json_text(p->reasons->items[0]) : "nothing durable was inferred");
	json_set(p->a, c, "affected_entities", entities);
	json_set(p->a, p->plan, "crystallization", c);
}

/* ---- supersession ---- */

static const char *normal_name(struct arena *a, const struct json *row)
{
	const char *name = json_get_text(row, "task_name", "");
	const char *folded = text_fold(a, name, strlen(name));
	struct buf b;

	buf_init(&b, a);
	for (const char *p = folded; *p; p++) {
		if (!strchr(" \t\r\n", *p))
			buf_addc(&b, *p);
		else if (b.n && b.p[b.n - 1] != ' ')
			buf_addc(&b, ' ');
	}
	while (b.n && b.p[b.n - 1] == ' ')
		b.p[--b.n] = '\0';
	return b.p;
}

static bool is_same(const struct json *x, const struct json *y, const char *member)
{
	const char *mine = json_get_text(x, member, "");

	return *mine && text_eq(mine, json_get_text(y, member, ""));
}

static struct json *common_paths(struct planning *p, const struct json *other)
{
	struct json *common = json_new(p->a, JSON_ARRAY);

	json_each (mine, p->paths)
		json_each (theirs, json_get(json_get(other, "memory_capture"), "touched_paths"))
			if (json_text(theirs) && text_eq(json_text(mine), json_text(theirs))) {
				json_push(p->a, common, mine);
				break;
			}
	return common;
}

/* What this task may have replaced: at most three, the newest first. */
static struct json *matches(struct planning *p, const struct json *earlier)
{
	enum { ENOUGH = 4, MOST = 3 };
	struct json *found = json_new(p->a, JSON_ARRAY);
	const char *name = normal_name(p->a, p->row);

	json_each (other, earlier) {
		struct json *paths = common_paths(p, other);
		int score = (*name && text_eq(name, normal_name(p->a, other)) ? 4 : 0) +
			(is_same(p->row, other, "skill") ? 2 : 0) +
			(is_same(p->row, other, "runtime_target") ? 1 : 0) + (paths->n ? 2 : 0);
		if (score < ENOUGH)
			continue;
		struct json *m = json_new(p->a, JSON_OBJECT);
		json_sets(p->a, m, "task_id", json_get_text(other, "task_id", ""));
		json_sets(p->a, m, "task_name", json_get_text(other, "task_name", NULL));
		json_sets(p->a, m, "status", json_get_text(other, "status", ""));
		json_seti(p->a, m, "score", score);
		json_set(p->a, m, "matched_paths", paths);
		json_push(p->a, found, m);
		if (found->n == MOST)
			break;
	}
	return found;
}

static bool put_supersession(struct planning *p, const struct json *earlier)
{
	struct json *s = json_new(p->a, JSON_OBJECT), *ids = json_new(p->a, JSON_ARRAY);
	struct json *found = is_done(p) ? matches(p, earlier) : json_new(p->a, JSON_ARRAY);
	bool was_failed = false;

	json_each (m, found) {
		json_pushs(p->a, ids, json_get_text(m, "task_id", ""));
		was_failed |= text_eq(json_get_text(m, "status", ""), "failed");
	}
	json_sets(p->a, s, "state",
		!is_done(p)	     ? "not_applicable"
			: !ids->n    ? "none"
			: was_failed ? "retries_or_replaces_prior_work"
				     : "refreshes_prior_state");
	json_set(p->a, s, "supersedes_task_ids", ids);
	if (is_done(p)) {
		json_sets(p->a, s, "superseded_by", NULL);
		/* The words of the Python Helm: what reads its ledgers looks for them. */
		json_sets(p->a, s, "replacement_reason",
			ids->n ? "newer finalized task overlaps prior work with the same task or runtime identity"
			       : NULL);
	}
	if (ids->n)
		json_set(p->a, s, "matched_tasks", found);
	json_set(p->a, p->plan, "supersession", s);
	return ids->n > 0;
}

/* ---- all of it ---- */

static void flag(struct planning *p, struct json *flags, const char *type, const char *severity)
{
	struct json *f = json_new(p->a, JSON_OBJECT);

	json_sets(p->a, f, "type", type);
	json_sets(p->a, f, "severity", severity);
	json_push(p->a, flags, f);
}

static void put_flags(struct planning *p, bool supersedes, const char *confidence)
{
	static const char *const words[] = { "replace", "rewrite", "rename", "correct", "refresh", "update",
		"fix", "supersede" };
	const char *name = json_get_text(p->row, "task_name", "");
	const char *lower = memory_lower(p->a, name, strlen(name));
	struct json *flags = json_new(p->a, JSON_ARRAY);
	bool contradicts = false;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		contradicts |= p->paths->n && memory_has_word(lower, words[i]);
	if (supersedes)
		flag(p, flags, "supersession_review", "medium");
	if (text_eq(confidence, "low"))
		flag(p, flags, "low_confidence_review", "low");
	if (contradicts)
		flag(p, flags, "contradiction_review", "medium");
	json_set(p->a, p->plan, "review_flags", flags);
}

/* Texts only, each once. */
static struct json *paths_of(struct arena *a, const struct json *row)
{
	struct json *paths = json_new(a, JSON_ARRAY);

	json_each (path, json_get(row, "touched_paths"))
		if (json_text(path))
			json_push(a, paths, path);
	return paths;
}

struct json *memory_plan(struct arena *a, const struct json *row, const struct json *earlier, int64_t now_us)
{
	struct planning p = { .a = a,
		.row = row,
		.status = json_get_text(row, "status", ""),
		.profile = json_get_text(row, "profile", ""),
		.paths = paths_of(a, row),
		.browser = evidence(row, "browser_evidence"),
		.retrieval = evidence(row, "retrieval_evidence"),
		.events = json_new(a, JSON_ARRAY),
		.reasons = json_new(a, JSON_ARRAY),
		.plan = json_new(a, JSON_OBJECT) };
	const struct json *exit_code = json_get(row, "exit_code");

	p.blob = blob_of(&p);
	find_events(&p);
	bool relevant = is_relevant(&p);
	json_setb(a, p.plan, "relevant", relevant);
	json_sets(a, p.plan, "priority", relevant ? "required" : "none");
	json_set(a, p.plan, "event_types", p.events);
	put_layers(&p, relevant);
	const char *confidence = put_claim(&p);
	put_retention(&p);
	/* Turns of a loop repeat each other, and none replaces what another one found out. */
	bool is_part = json_get_text(json_get(row, "meta"), LOOP_RUN, NULL) != NULL;
	bool supersedes = put_supersession(&p, is_part ? NULL : earlier);
	put_crystallization(&p);
	put_flags(&p, supersedes, confidence);
	json_sets(a, p.plan, "finalization_status", relevant ? "capture_planned" : "no_capture_needed");
	json_set(a, p.plan, "summary",
		relevant ? json_stringf(a, "to be written down: %u kinds of state changed", p.events->n)
			 : json_string(a, "nothing to write down"));
	json_set(a, p.plan, "task_exit_code",
		json_is(exit_code, JSON_NUMBER) ? json_copy(a, exit_code) : json_new(a, JSON_NULL));
	json_set(a, p.plan, "touched_paths", (struct json *)p.paths);
	json_set(a, p.plan, "quality_label", memory_label(a, row, p.plan, now_us));
	return p.plan;
}

/* ---- the tasks before ---- */

struct gathering {
	struct arena *a;
	const char *own;
	struct json *rows;
	/* in a hurry */
	struct bytes name, skill; /* as they stand in a line; empty: not known */
	size_t bytes_left;
	uint32_t most;
};

static int gather(void *arg, struct json *row)
{
	static const char *const ends[] = { "completed", "handoff_required", "failed", NULL };
	struct gathering *g = arg;
	const char *id = json_get_text(row, "task_id", "");

	if (!*id || text_eq(id, g->own) || !is_any(json_get_text(row, "status", ""), ends))
		return 0;
	json_each (have, g->rows)
		if (text_eq(json_get_text(have, "task_id", ""), id))
			return 0;
	json_push(g->a, g->rows, row);
	return g->rows->n == g->most;
}

static bool has(struct bytes line, struct bytes word)
{
	return word.n && memmem(line.p, line.n, word.p, word.n) != NULL;
}

static int is_worth_reading(void *arg, struct bytes line)
{
	struct gathering *g = arg;

	if (line.n > g->bytes_left)
		return -1;
	g->bytes_left -= line.n;
	return has(line, BYTES_LITERAL("\"finished_at\"")) && (has(line, g->name) || has(line, g->skill));
}

/* "member": "value", as our ledgers spell it. */
static struct bytes spelled(struct arena *a, const struct json *row, const char *member)
{
	struct json *one = json_new(a, JSON_OBJECT);
	struct buf b;

	if (!*json_get_text(row, member, ""))
		return (struct bytes){ 0 };
	json_set(a, one, member, json_get(row, member));
	buf_init(&b, a);
	json_write(&b, one, JSON_SPACED);
	return (struct bytes){ (const uint8_t *)b.p + 1, b.n - 2 };
}

int memory_earlier(struct memory_place *m, struct arena *a, const struct json *row, bool is_hurried,
	struct json **ret, struct err *e)
{
	struct gathering g = { .a = a,
		.own = json_get_text(row, "task_id", ""),
		.rows = json_new(a, JSON_ARRAY),
		.name = spelled(a, row, "task_name"),
		.skill = spelled(a, row, "skill"),
		.bytes_left = MEMORY_HURRY_BYTES,
		.most = is_hurried ? MEMORY_HURRY_ROWS : MEMORY_EARLIER };
	int rc = rows_back_wanted(
		m->sys, a, m->state_fd, TASK_LEDGER, is_hurried ? is_worth_reading : NULL, gather, &g, e);

	if (rc < 0)
		return rc;
	memory_sort_rows(a, g.rows, MEMORY_BY_END);
	*ret = g.rows;
	return OK;
}
