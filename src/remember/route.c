/* route.c — which skill a request means, by words that they share. */
#include "base/text.h"
#include "remember/skill.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

int skill_route(const struct contract_place *at, const struct skill_request *q, int64_t min_score,
	size_t limit, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT), *candidates = json_new(a, JSON_ARRAY);
	struct skill *list;
	size_t n, found = 0;
	struct asked asked;
	int rc = skill_list(at, skill_rooms, &list, &n, e);

	if (rc)
		return rc;
	ask(a, q, &asked);
	struct scored *scored = arena_zalloc(a, n + 1, sizeof(*scored));
	for (size_t i = 0; i < n; i++) {
		struct json *contract;
		/* One that cannot be read is skipped: it would be refused anyway. */
		if (list[i].is_draft || contract_read(at, list[i].name, &contract, NULL))
			continue;
		int64_t score = score_of(a, list[i].name, contract, contract, &asked, NULL);
		if (score >= min_score)
			scored[found++] = (struct scored){ list[i].name, score };
	}
	qsort(scored, found, sizeof(*scored), by_score);
	if (found == 1) {
		json_sets(a, doc, "decision", "direct");
		json_sets(a, doc, "skill", scored[0].name);
		json_seti(a, doc, "score", scored[0].score);
		*ret = doc;
		return OK;
	}
	for (size_t i = 0; i < found && i < limit; i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "skill", scored[i].name);
		json_seti(a, one, "score", scored[i].score);
		json_push(a, candidates, one);
	}
	json_sets(a, doc, "decision", found ? "candidates" : "none");
	json_set(a, doc, "candidates", candidates);
	*ret = doc;
	return OK;
}
