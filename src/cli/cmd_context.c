/* cmd_context.c — helm context: what is known about something, and what a new session should start with. */
#include "base/text.h"
#include "cli/cmd.h"
#include "kernel/memory.h"
#include "kernel/sources.h"
#include "remember/context.h"

#include <string.h>

#define COMMON_OPTS \
	{ "mode", OPT_VALUE, "MODE", \
		"a prepared question: failures, rollback, decisions, timeline, entity, reflect-candidates, or your own", \
		NULL, false }, \
		{ "include", OPT_WORDS, "AREA", "look only there; several may follow (default: everywhere)", \
			AREA_CHOICES, false }, \
		{ "adapter", OPT_VALUE, "SOURCE", "only this source; helm-local is the workspace itself", \
			NULL, false }, \
		{ "limit", OPT_INT, "N", "at most so many results (default 20)", NULL, false }, \
		{ "offset", OPT_INT, "N", "leave out the first N, to turn pages", NULL, false }, \
		{ "skill", OPT_VALUE, "SKILL", "only tasks and commands of this skill", NULL, false }, \
		{ "task-id", OPT_VALUE, "TASK", "only this task and its commands", NULL, false }, \
		{ "entity", OPT_VALUE, "ID", \
			"only what concerns this thing of the ontology: id, name or alias", NULL, false }, \
		{ "depth", OPT_INT, "N", "follow its relations so far (default 1, at most 3)", NULL, \
			false }, \
		{ "since", OPT_VALUE, "TIME", "nothing older: 2026-04-13, 2026-04-13T09:10, 7d, 12h", NULL, \
			false }, \
		{ "until", OPT_VALUE, "TIME", "nothing newer", NULL, false }, \
		{ "failed-only", OPT_FLAG, NULL, "only tasks and commands that failed", NULL, false }, \
		{ "latest-tasks", OPT_FLAG, NULL, \
			"of each task its newest row (always so, but for --ranking=classic)", NULL, false }, \
		{ "ascending", OPT_FLAG, NULL, "turn the order round", NULL, false }, \
		{ "ranking", OPT_VALUE, "NAME", \
			"best, or classic: the order of the Python Helm (default best)", "best|classic", \
			false }, \
		{ "explain-ranking", OPT_FLAG, NULL, "say for each result why it stands there", NULL, \
			false }, \
		{ "why-not", OPT_VALUE, "ITEM", \
			"say what became of this: a PATH, PATH:LINE, task, checkpoint or entity", NULL, \
			false }, \
		{ "summary", OPT_FLAG, NULL, "also count the results", NULL, false }, \
		{ "describe-modes", OPT_FLAG, NULL, "list the modes and what they fill in", NULL, false }, \
		{ "fresh", OPT_FLAG, NULL, "look at every file for changes, however many there are", NULL, \
			false }, \
	{ \
		"no-index", OPT_FLAG, NULL, \
			"read everything instead of using the index: the same answer, slower", NULL, false \
	}

const struct opt context_opts[] = { COMMON_OPTS, { 0 } };
const struct opt context_snapshot_opts[] = {
	{ "task-id", OPT_VALUE, "TASK", "of this task instead of the newest that has one", NULL, false },
	{ 0 },
};
const struct opt context_pack_opts[] = {
	{ "budget", OPT_INT, "TOKENS", "at most about so long (default 1500)", NULL, false },
	{ "task", OPT_VALUE, "TEXT", "what the session is about; what fits it comes first", NULL, false },
	{ 0 },
};

static struct context_place place_of(struct cli *r)
{
	return sources_place(r->sys, r->a, r->ws);
}

static void say_warnings(struct cli *r, const struct json *warnings)
{
	json_each (one, warnings)
		warn(r, "%s", text_safe(r->a, json_text(one), strlen(json_text(one)), false));
}

/* Words of the question are joined, as people type them. */
static const char *question_of(struct cli *r)
{
	struct buf text;

	if (!r->arg_count)
		return NULL;
	buf_init(&text, r->a);
	for (size_t i = 0; i < r->arg_count; i++)
		buf_addf(&text, "%s%s", i ? " " : "", r->args[i]);
	return text.p;
}

static unsigned areas_asked(struct cli *r)
{
	const char **names;
	unsigned areas = 0;
	size_t n = opt_list(r, "include", &names);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < AREA_COUNT; k++)
			areas |= text_eq(names[i], area_names[k]) ? 1u << k : 0;
	return areas;
}

static const char *safe(struct cli *r, const char *text)
{
	return text_safe(r->a, text, strlen(text), false);
}

/* What made its place, number by number. */
static void print_ranking(struct cli *r, const struct json *ranking)
{
	struct buf text;

	buf_init(&text, r->a);
	json_each_member (m, ranking)
		if (json_is(m->value, JSON_NUMBER))
			buf_addf(&text, " %s=%s", m->name, m->value->text);
	json_each_member (m, json_get(ranking, "field_scores"))
		if (json_is(m->value, JSON_NUMBER))
			buf_addf(&text, " %s=%s", m->name, m->value->text);
	out(r, "  ranking:%s\n", text.n ? safe(r, text.p) : " -");
}

/* A list in one line: texts, or one member of its objects. */
static void print_list(struct cli *r, const char *what, const struct json *list, const char *member)
{
	struct buf text;

	buf_init(&text, r->a);
	json_each (one, list)
		buf_addf(&text, "%s%s", text.n ? ", " : "",
			json_text(one) ? json_text(one) : json_get_text(one, member, "?"));
	if (text.n)
		out(r, "  %s: %s\n", what, safe(r, text.p));
}

/* At a terminal: what it is, and how to look at it.  Into a pipe go all members, as scripts that knew the Python Helm read them. */
static void print_result(struct cli *r, const struct json *one)
{
	const char *at = json_get_text(one, "timestamp", "-");
	const struct json *meta = json_get(one, "metadata"), *fresh = json_get(meta, "source_freshness");
	const char *see = json_get_text(meta, "direct_inspection_hint", NULL);

	out(r, "%s[%s:%s:%s]%s %s %s\n", paint(r, PAINT_MUTED), safe(r, json_get_text(one, "adapter", "")),
		json_get_text(one, "source", ""), json_get_text(one, "kind", ""), paint(r, PAINT_OFF),
		safe(r, at), safe(r, json_get_text(one, "title", "")));
	out(r, "  %s\n", safe(r, json_get_text(one, "excerpt", "")));
	if (!r->is_tty) {
		struct buf text;
		buf_init(&text, r->a);
		json_write(&text, meta, JSON_SPACED | JSON_SORT_BYTES);
		out(r, "  meta=%s\n", text_safe(r->a, text.p, text.n, false));
		return;
	}
	print_list(r, "states", json_get(meta, "transitions"), "status");
	print_list(r, "shown by", json_get(meta, "evidence"), "id");
	if (see)
		out(r, "  %s%s%s\n", paint(r, PAINT_MUTED), safe(r, see), paint(r, PAINT_OFF));
	if (fresh && !json_get_bool(fresh, "fresh", true))
		out(r, "  its source was last seen to change %s\n",
			safe(r, json_get_text(fresh, "last_success", "never")));
	if (json_get(meta, "ranking"))
		print_ranking(r, json_get(meta, "ranking"));
}

static void print_day(struct cli *r, const struct json *one, char day[16])
{
	const char *at = json_get_text(one, "timestamp", "");
	char now[16];

	/* The compact form has no dashes. */
	if (strlen(at) > 8 && at[8] == 'T')
		snprintf(now, sizeof(now), "%.4s-%.2s-%.2s", at, at + 4, at + 6);
	else
		snprintf(now, sizeof(now), "%.10s", at);
	if (!text_eq(now, day)) {
		out(r, "%s%s%s\n", paint(r, PAINT_BOLD), safe(r, now), paint(r, PAINT_OFF));
		memcpy(day, now, sizeof(now));
	}
}

static void print_text(struct cli *r, const struct context_query *q, const struct context_answer *a)
{
	char day[16] = "";
	struct buf text;

	if (opt_flag(r, "summary")) {
		buf_init(&text, r->a);
		json_write(&text, a->summary, JSON_SPACED);
		out(r, "summary=%s\n", text.p);
	}
	if (!a->results->n && a->total)
		out(r, "No results on this page; there are %lld.\n", (long long)a->total);
	else if (!a->results->n) /* what could not be read may have it */
		out(r,
			a->warnings && a->warnings->n
				? "Nothing was found in what could be read; not all could.\n"
				: "Nothing was found.\n");
	json_each (one, a->results) {
		if (q->mode && text_eq(q->mode, "timeline"))
			print_day(r, one, day);
		print_result(r, one);
	}
	const int64_t shown = a->results->n + q->offset;
	const char *cut = text_shown_of(
		r->a, shown, a->total, arena_printf(r->a, "more with --offset %lld", (long long)shown));
	if (cut && a->results->n)
		out(r, "%s\n", cut);
}

static void print_why_not(struct cli *r, const struct json *why)
{
	if (r->is_json)
		out_json(r, why);
	else
		out(r, "%s: %s\n", safe(r, json_get_text(why, "item", "")),
			safe(r, json_get_text(why, "reason", "")));
}

static void print_answer(struct cli *r, const struct context_query *q, const struct context_answer *a)
{
	struct json *both = json_new(r->a, JSON_OBJECT);

	if (a->why_not) {
		print_why_not(r, a->why_not);
	} else if (!r->is_json) {
		print_text(r, q, a);
	} else if (opt_flag(r, "summary")) {
		json_set(r->a, both, "summary", a->summary);
		json_set(r->a, both, "results", a->results);
		out_json(r, both);
	} else {
		out_json(r, a->results);
	}
}

static int describe_modes(struct cli *r)
{
	struct context_place at = place_of(r);
	struct json *warnings = json_new(r->a, JSON_ARRAY);

	out_json(r, context_modes(&at, warnings));
	say_warnings(r, warnings);
	return 0;
}

int cmd_context(struct cli *r, struct err *e)
{
	struct context_place at = place_of(r);
	struct context_answer a = { 0 };
	struct context_query q = { .text = question_of(r),
		.mode = opt_text(r, "mode", NULL),
		.areas = areas_asked(r),
		.adapter = opt_text(r, "adapter", NULL),
		.skill = opt_text(r, "skill", NULL),
		.task_id = opt_text(r, "task-id", NULL),
		.entity = opt_text(r, "entity", NULL),
		.since = opt_text(r, "since", NULL),
		.until = opt_text(r, "until", NULL),
		.limit = opt_int(r, "limit", 20),
		.offset = opt_int(r, "offset", 0),
		.depth = (int)opt_int(r, "depth", 1),
		.failed_only = opt_flag(r, "failed-only"),
		.latest_tasks = opt_flag(r, "latest-tasks"),
		.ascending = opt_flag(r, "ascending"),
		.explains = opt_flag(r, "explain-ranking"),
		.is_classic = text_eq(opt_text(r, "ranking", "best"), "classic"),
		.has_no_index = opt_flag(r, "no-index"),
		.is_fresh = opt_flag(r, "fresh"),
		.why_not = opt_text(r, "why-not", NULL) };

	if (opt_flag(r, "describe-modes"))
		return describe_modes(r);
	int rc = context_ask(&at, &q, &a, e);
	if (rc)
		return rc;
	say_warnings(r, a.warnings);
	if (a.note)
		warn(r, "%s", a.note);
	print_answer(r, &q, &a);
	return 0;
}

int cmd_context_snapshot(struct cli *r, struct err *e)
{
	struct context_place at = place_of(r);
	struct json *doc;
	int rc = context_snapshot(&at, opt_text(r, "task-id", NULL), &doc, e);

	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s",
			text_safe(
				r->a, json_get_text(doc, "content", ""), json_get(doc, "content")->n, true));
	return 0;
}

int cmd_context_pack(struct cli *r, struct err *e)
{
	struct context_packing p = { .task = opt_text(r, "task", NULL),
		.budget_tokens = opt_int(r, "budget", 0) };
	struct json *doc, *warnings = json_new(r->a, JSON_ARRAY);
	int rc = memory_page(r->sys, r->a, r->ws, &p, &doc, warnings, e);

	if (rc)
		return rc;
	say_warnings(r, warnings);
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "%s", text_safe(r->a, json_get_text(doc, "text", ""), json_get(doc, "text")->n, true));
	return 0;
}
