/* route.c — which skill a request means, by words that they share. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "remember/skill.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTRACT = 1 << 20, ROOMS_MOST = 8 };

/* Runs of a-z, digits and Hangul, two characters or more. */
struct tokens {
	const char **list;
	size_t *lengths;
	size_t n;
};

/* So many bytes at `p` belong to a token; 0: none. */
static size_t token_char(const char *p, size_t n)
{
	uint32_t cp;
	size_t len = text_decode(p, n, &cp);

	if (!len)
		return 0;
	return (len == 1 && (isdigit((unsigned char)*p) || islower((unsigned char)*p))) ||
			(cp >= 0xac00 && cp <= 0xd7a3)
		? len
		: 0;
}

static void cut_tokens(struct arena *a, const char *text, struct tokens *ret)
{
	size_t n = strlen(text), room = n / 2 + 1;

	*ret = (struct tokens){ .list = arena_zalloc(a, room, sizeof(*ret->list)),
		.lengths = arena_zalloc(a, room, sizeof(*ret->lengths)) };
	for (size_t at = 0; at < n;) {
		size_t len = 0, chars = 0, one;
		while (at + len < n && (one = token_char(text + at + len, n - at - len))) {
			len += one;
			chars++;
		}
		if (chars >= 2) {
			ret->list[ret->n] = text + at;
			ret->lengths[ret->n++] = len;
		}
		at += len ? len : 1;
	}
}

static bool shares(const struct tokens *x, const struct tokens *y)
{
	for (size_t i = 0; i < x->n; i++)
		for (size_t j = 0; j < y->n; j++)
			if (x->lengths[i] == y->lengths[j] &&
				memcmp(x->list[i], y->list[j], x->lengths[i]) == 0)
				return true;
	return false;
}

static const char *folded(struct arena *a, const char *text)
{
	size_t n;
	const char *clean = text_utf8(a, text ? text : "", strlen(text ? text : ""), "?", &n);

	return text_fold(a, clean, n);
}

/* A request, folded once however many skills it is compared with. */
struct asked {
	const char *blob, *command, *profile;
	struct tokens tokens;
};

static void ask(struct arena *a, const struct skill_request *q, struct asked *ret)
{
	ret->command = folded(a, q->command);
	ret->blob = arena_printf(a, "%s %s %s", folded(a, q->task_name), folded(a, q->request), ret->command);
	ret->profile = q->profile;
	cut_tokens(a, ret->blob, &ret->tokens);
}

static bool shares_text(struct arena *a, const struct asked *q, const char *text)
{
	struct tokens t;

	cut_tokens(a, folded(a, text), &t);
	return shares(&t, &q->tokens);
}

static bool shares_context(struct arena *a, const struct asked *q, const struct json *contract)
{
	const struct json *context = json_get(contract, "context");
	const char *query = json_get_text(context, "query", "");

	if (*query && shares_text(a, q, query))
		return true;
	json_each (area, json_get(context, "include"))
		if (json_text(area) && shares_text(a, q, json_text(area)))
			return true;
	return false;
}

static bool has_profile(const struct json *profiles, const char *profile)
{
	json_each (one, json_get(profiles, "allowed_profiles"))
		if (profile && json_text(one) && text_eq(json_text(one), profile))
			return true;
	return false;
}

/* Points as the specification gives them; `reasons` may be NULL. */
static int64_t score_of(struct arena *a, const char *skill, const struct json *contract,
	const struct json *profiles, const struct asked *q, struct json *reasons)
{
	const char *type = json_get_text(json_get(contract, "route_decision"), "task_type", "generic"),
		   *entry = json_get_text(json_get(contract, "runner"), "entrypoint", "");
	const struct {
		bool holds;
		int64_t points;
		const char *name;
	} signals[] = {
		{ shares_text(a, q, skill), 35, "name_overlap" },
		{ !text_eq(type, "generic") && *type && strstr(q->blob, folded(a, type)), 25, "task_type" },
		{ shares_context(a, q, contract), 20, "context_terms" },
		{ *entry && strstr(q->command, folded(a, entry)), 25, "preferred_runner" },
		{ has_profile(profiles, q->profile), 10, "profile_allowed" },
	};
	int64_t score = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (!signals[i].holds)
			continue;
		score += signals[i].points;
		if (reasons)
			json_pushs(a, reasons, signals[i].name);
	}
	return score > 100 ? 100 : score;
}

struct json *skill_relevance(struct arena *a, const char *skill, const struct json *contract,
	const struct json *profiles, const struct skill_request *q)
{
	struct json *doc = json_new(a, JSON_OBJECT), *reasons = json_new(a, JSON_ARRAY);
	struct asked asked;
	int64_t score = 100;

	ask(a, q, &asked);
	if (skill)
		score = score_of(a, skill, contract, profiles, &asked, reasons);
	else
		json_pushs(a, reasons, "no_skill");
	json_seti(a, doc, "score", score);
	json_sets(a, doc, "verdict",
		!skill		      ? "direct"
			: score >= 50 ? "strong"
			: score >= 25 ? "weak"
				      : "poor");
	json_set(a, doc, "reasons", reasons);
	json_sets(a, doc, "fallback", skill && score < 25 ? "choose another skill, or none" : NULL);
	return doc;
}

/* ---- among all of them ---- */

struct scored {
	const char *name;
	int64_t score;
};

static int by_score(const void *x, const void *y)
{
	const struct scored *p = x, *q = y;

	return p->score != q->score ? (p->score < q->score ? 1 : -1) : strcmp(p->name, q->name);
}

struct routing {
	const struct contract_place *at;
	const struct asked *asked;
	int64_t least;
	struct scored *scored;
	size_t n, room;
	struct {
		char **names; /* sorted */
		size_t n;
	} rooms[ROOMS_MOST]; /* that were looked at */
	size_t room_count;
};

static int by_name(const void *x, const void *y)
{
	return strcmp(x, *(char *const *)y);
}

/* Of the same name in several rooms the first counts. */
static bool is_seen(const struct routing *r, const char *name)
{
	for (size_t i = 0; i < r->room_count; i++)
		if (r->rooms[i].n && bsearch(name, r->rooms[i].names, r->rooms[i].n, sizeof(char *), by_name))
			return true;
	return false;
}

/* The contract has all that points are given for; headers are not read. */
static void score_one(struct routing *r, const char *room, const char *name)
{
	struct arena *a = r->at->a;
	struct arena_mark mark = arena_mark(a);
	struct json *contract = NULL;
	const char *path = arena_printf(a, "%s/%s/contract.json", room, name);
	int rc = doc_read(r->at->sys, a, r->at->root_fd, path, MAX_CONTRACT, FILE_BENEATH, &contract, NULL);
	/* One that cannot be read is skipped: it would be refused anyway. */
	int64_t score = rc && rc != E_MISSING ? -1 : score_of(a, name, contract, contract, r->asked, NULL);

	arena_release(a, mark);
	if (score < r->least ||
		(rc == E_MISSING &&
			!file_exists(
				r->at->sys, r->at->root_fd, arena_printf(a, "%s/%s/SKILL.md", room, name))))
		return;
	if (r->n == r->room) {
		r->room += 64;
		r->scored = arena_grow(a, r->scored, r->n * sizeof(*r->scored), r->room * sizeof(*r->scored));
	}
	r->scored[r->n++] = (struct scored){ name, score };
}

static void score_room(struct routing *r, const char *room)
{
	char **names;
	size_t n = 0;

	if (r->room_count == ROOMS_MOST ||
		file_list(r->at->sys, r->at->a, r->at->root_fd, room, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++)
		if (names[i][0] != '.' && text_is_id(names[i]) && !is_seen(r, names[i]))
			score_one(r, room, names[i]);
	r->rooms[r->room_count].names = names;
	r->rooms[r->room_count++].n = n;
}

int skill_route(const struct contract_place *at, const struct skill_request *q, int64_t min_score,
	size_t limit, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT), *candidates = json_new(a, JSON_ARRAY);
	struct asked asked;
	struct routing r = { .at = at, .asked = &asked, .least = min_score };

	(void)e;
	ask(a, q, &asked);
	for (const char *const *room = skill_rooms; *room; room++)
		if (!text_eq(*room, SKILL_DRAFTS))
			score_room(&r, *room);
	if (r.n)
		qsort(r.scored, r.n, sizeof(*r.scored), by_score);
	if (r.n == 1) {
		json_sets(a, doc, "decision", "direct");
		json_sets(a, doc, "skill", r.scored[0].name);
		json_seti(a, doc, "score", r.scored[0].score);
		*ret = doc;
		return OK;
	}
	for (size_t i = 0; i < r.n && i < limit; i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "skill", r.scored[i].name);
		json_seti(a, one, "score", r.scored[i].score);
		json_push(a, candidates, one);
	}
	json_sets(a, doc, "decision", r.n ? "candidates" : "none");
	json_set(a, doc, "candidates", candidates);
	*ret = doc;
	return OK;
}
