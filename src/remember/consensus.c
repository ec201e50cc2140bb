/* consensus.c — planner, architect and critic: three fixed lists of questions, two rounds. */
#include "remember/consensus.h"

#include "base/file.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { ROUNDS = 2, ITEMS_MOST = 200 };

enum decision { APPROVE, REVISE, BLOCK };
static const char *const decision_names[] = { "approve", "revise", "block" };

struct review {
	struct arena *a;
	const struct json *plan;
	const struct consensus_about *about;
	struct json *issues;
	enum decision decision;
};

static void find(struct review *r, enum decision how, const char *issue)
{
	json_pushs(r->a, r->issues, issue);
	r->decision = how > r->decision ? how : r->decision;
}

static bool has_text(const struct json *doc, const char *member)
{
	const char *text = json_get_text(doc, member, "");

	return text[strspn(text, " \t\r\n")] != '\0';
}

/* A list of texts that are not blank. */
static bool is_list(const struct json *list)
{
	if (!json_is(list, JSON_ARRAY) || !list->n || list->n > ITEMS_MOST)
		return false;
	json_each (one, list)
		if (!json_text(one) || !json_text(one)[strspn(json_text(one), " \t\r\n")])
			return false;
	return true;
}

/* Below the workspace, and not all of it. */
static bool is_safe(struct arena *a, const char *path)
{
	const char *clean = path_clean(a, path);

	return path[0] && path[0] != '/' && path[0] != '~' && !text_starts(clean, "..") &&
		!text_eq(clean, ".") && !path[strcspn(path, "\r\n*")];
}

static bool is_in(struct arena *a, const char *path, const struct json *scope)
{
	const char *clean = path_clean(a, path);

	json_each (one, scope) {
		const char *dir = json_text(one) ? path_clean(a, json_text(one)) : "";
		size_t n = strlen(dir);
		if (n && !strncmp(clean, dir, n) && (!clean[n] || clean[n] == '/'))
			return true;
	}
	return false;
}

/* ---- three readers ---- */

/* Is it said what is to be done? */
static void planner(struct review *r)
{
	const struct json *tasks = json_get(r->plan, "tasks");

	if (!has_text(r->plan, "objective"))
		find(r, REVISE, "objective: it does not say what it is for");
	if (!json_is(tasks, JSON_ARRAY) || !tasks->n || tasks->n > ITEMS_MOST) {
		find(r, REVISE, arena_printf(r->a, "tasks: a list of 1 to %d is needed", ITEMS_MOST));
		return;
	}
	for (size_t i = 0; i < tasks->n; i++) {
		const struct json *one = tasks->items[i];
		const char *id = json_get_text(one, "task_id", "");
		if (!*id || !has_text(one, "title"))
			find(r, REVISE, arena_printf(r->a, "tasks[%zu]: task_id and title are needed", i));
		for (size_t k = 0; k < i && *id; k++)
			if (text_eq(json_get_text(tasks->items[k], "task_id", ""), id))
				find(r, BLOCK,
					arena_printf(
						r->a, "tasks[%zu]: there are two with the id '%s'", i, id));
		if (!is_list(json_get(one, "acceptance_criteria")))
			find(r, REVISE, arena_printf(r->a, "tasks[%zu]: nothing says when it is done", i));
	}
}

/* Is it said where, and is that a part of the workspace? */
static void architect(struct review *r)
{
	const struct json *scope = json_get(r->plan, "scope");

	if (!is_list(scope)) {
		find(r, REVISE, "scope: it does not say where it writes");
		return;
	}
	json_each (one, scope)
		if (!is_safe(r->a, json_text(one)))
			find(r, BLOCK,
				arena_printf(
					r->a, "scope: '%s' is no part of the workspace", json_text(one)));
	json_each (task, json_get(r->plan, "tasks")) {
		json_each (one, json_get(task, "scope"))
			if (!json_text(one) || !is_in(r->a, json_text(one), scope))
				find(r, BLOCK,
					arena_printf(r->a, "task '%s' lies outside of the plan's scope",
						json_get_text(task, "task_id", "?")));
	}
}

/* Could one see that it was done, and take it back? */
static void critic(struct review *r)
{
	const char *profile = json_get_text(r->plan, "profile", "");
	const struct json *version = json_get(r->plan, "schema_version");

	if (version && json_get_int(r->plan, "schema_version", 0) != 1)
		find(r, BLOCK, "schema_version: 1 is the only one");
	if (!is_list(json_get(r->plan, "verification")))
		find(r, REVISE, "verification: nothing says how it is looked at");
	if (!has_text(r->plan, "rollback_note"))
		find(r, REVISE, "rollback_note: nothing says how to take it back");
	if (*profile && !text_eq(profile, r->about->profile))
		find(r, BLOCK,
			arena_printf(r->a, "profile: the plan is for %s, and this is %s", profile,
				r->about->profile));
	if (json_get(r->plan, "non_goals") && !json_is(json_get(r->plan, "non_goals"), JSON_ARRAY))
		find(r, BLOCK, "non_goals: a list is needed");
}

/* ---- between the rounds ---- */

static struct json *texts(struct arena *a, const char *const *list, size_t n)
{
	struct json *to = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, to, list[i]);
	return to;
}

static void fill(struct arena *a, struct json *plan, const struct consensus_about *q)
{
	struct json *accept = texts(a, q->acceptance, q->acceptance_count), *tasks = json_get(plan, "tasks");

	json_seti(a, plan, "schema_version", 1);
	json_sets(a, plan, "task_id", q->task_id);
	json_sets(a, plan, "profile", q->profile);
	if (!has_text(plan, "created_at"))
		json_sets(a, plan, "created_at", q->created_at);
	if (!has_text(plan, "objective"))
		json_sets(a, plan, "objective", q->objective);
	if (!json_get(plan, "scope") && q->path_count)
		json_set(a, plan, "scope", texts(a, q->paths, q->path_count));
	if (!json_get(plan, "non_goals"))
		json_set(a, plan, "non_goals", json_new(a, JSON_ARRAY));
	if (!tasks) {
		struct json *one = json_new(a, JSON_OBJECT);
		tasks = json_new(a, JSON_ARRAY);
		json_sets(a, one, "task_id", "t1");
		json_sets(a, one, "title", json_get_text(plan, "objective", NULL));
		json_push(a, tasks, one);
		json_set(a, plan, "tasks", tasks);
	}
	for (size_t i = 0; json_is(tasks, JSON_ARRAY) && i < tasks->n; i++)
		if (json_is(tasks->items[i], JSON_OBJECT) &&
			!json_get(tasks->items[i], "acceptance_criteria") && accept->n)
			json_set(a, tasks->items[i], "acceptance_criteria", json_copy(a, accept));
	if (!json_get(plan, "verification") && accept->n)
		json_set(a, plan, "verification", accept);
	if (!has_text(plan, "rollback_note") && q->has_checkpoint)
		json_sets(a, plan, "rollback_note", "restore the checkpoint that is made before it starts");
}

static enum decision round_of(struct arena *a, const struct json *plan, const struct consensus_about *q,
	size_t number, struct json *rounds, const char **ret_reason)
{
	static const struct {
		const char *name;
		void (*look)(struct review *);
	} readers[] = { { "planner", planner }, { "architect", architect }, { "critic", critic } };
	struct json *round = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	enum decision worst = APPROVE;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		struct review r = { a, plan, q, json_new(a, JSON_ARRAY), APPROVE };
		struct json *one = json_new(a, JSON_OBJECT);
		readers[i].look(&r);
		json_sets(a, one, "reviewer", readers[i].name);
		json_sets(a, one, "decision", decision_names[r.decision]);
		json_set(a, one, "issues", r.issues);
		json_push(a, list, one);
		if (r.decision > worst)
			*ret_reason =
				arena_printf(a, "%s: %s", readers[i].name, json_text(json_at(r.issues, 0)));
		worst = r.decision > worst ? r.decision : worst;
	}
	json_seti(a, round, "round", (int64_t)number);
	json_set(a, round, "reviews", list);
	json_push(a, rounds, round);
	return worst;
}

struct json *consensus_review(struct arena *a, const struct json *given, const struct consensus_about *about)
{
	struct json *doc = json_new(a, JSON_OBJECT), *rounds = json_new(a, JSON_ARRAY),
		    *plan = json_is(given, JSON_OBJECT) ? json_copy(a, given) : json_new(a, JSON_OBJECT);
	enum decision worst = REVISE;
	const char *reason = NULL;

	for (size_t i = 1; i <= ROUNDS && worst == REVISE; i++) {
		reason = NULL;
		worst = round_of(a, plan, about, i, rounds, &reason);
		if (worst == REVISE && i < ROUNDS)
			fill(a, plan, about);
	}
	json_sets(a, doc, "status", worst == APPROVE ? "approved" : "blocked");
	json_setb(a, doc, "ok", worst == APPROVE);
	json_seti(a, doc, "round_count", (int64_t)rounds->n);
	json_set(a, doc, "plan", plan);
	json_set(a, doc, "rounds", rounds);
	if (reason)
		json_sets(a, doc, "reason", reason);
	return doc;
}

struct json *consensus_scope_gate(struct arena *a, const struct json *plan, const struct json *touched)
{
	const struct json *scope = json_get(plan, "scope");
	struct json *doc = json_new(a, JSON_OBJECT), *out = json_new(a, JSON_ARRAY);

	json_each (path, touched)
		if (!json_text(path) || !is_in(a, json_text(path), scope))
			json_push(a, out, path);
	json_setb(a, doc, "ok", is_list(scope) && !out->n);
	json_set(a, doc, "scope", json_is(scope, JSON_ARRAY) ? json_copy(a, scope) : json_new(a, JSON_ARRAY));
	json_set(a, doc, "violations", out);
	return doc;
}

/* ---- where one is asked for ---- */

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at += n) {
		bool begins = at == text || !isalnum((unsigned char)at[-1]);
		const char *end = at + n;
		if (begins &&
			(!isalnum((unsigned char)*end) || (*end == 's' && !isalnum((unsigned char)end[1]))))
			return true;
	}
	return false;
}

bool consensus_is_asked_for(const char *profile, const char *task_name, const char *command)
{
	static const char *const words[] = { "cron", "job", "skill", "router", "workflow", "briefing",
		"memory", "ledger", "telegram", "calendar", "sheet", "obsidian", "automation", "release" };

	if (text_eq(profile, "risky_edit") || text_eq(profile, "service_ops"))
		return true;
	for (size_t i = 0; text_eq(profile, "workspace_edit") && i < ARRAY_SIZE(words); i++)
		if (has_word(task_name, words[i]) || has_word(command, words[i]))
			return true;
	return false;
}

bool consensus_is_verified(const char *profile, const char *task_name, const char *skill, const char *command)
{
	static const char *const words[] = { "briefing", "memory", "skill-router", "workflow", "release" };

	for (size_t i = 0; text_eq(profile, "risky_edit") && i < ARRAY_SIZE(words); i++)
		if (has_word(task_name, words[i]) || has_word(skill, words[i]) || has_word(command, words[i]))
			return true;
	return false;
}

/* ---- what must hold afterwards ---- */

/* Words that say which evidence would show it. */
static const struct shown_by {
	const char *type, *words[9];
} shown_by[] = {
	{ "test_result", { "test", "pytest", "unittest" } },
	{ "verification_result", { "build", "builds", "lint", "typecheck", "verified", "verification" } },
	{ "scope_gate", { "scope" } },
	{ "service_readback", { "service", "readback", "endpoint", "deployed", "server" } },
	{ "filesystem_stat",
		{ "file", "exist", "written", "created", "changed", "updated", "there", "document" } },
	{ "process_exit", { "exit", "exits", "process", "command", "succeed", "complete", "completed" } },
};

/* That something is not so is shown by nothing that was seen. */
static bool is_negative(const char *text)
{
	static const char *const words[] = { "no", "not", "never", "without", "none", "nothing", "nobody",
		"cannot", "neither", "nor" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(text, words[i]))
			return true;
	return strcasestr(text, "n't") || strcasestr(text, "n\xe2\x80\x99t");
}

/* The path of "filesystem_stat:PATH#..." when the file is there; or NULL. */
static const char *path_of(struct arena *a, const char *ref)
{
	static const char file[] = "filesystem_stat:";
	const char *mark = strrchr(ref, '#');

	if (!text_starts(ref, file) || !mark || text_eq(mark, "#absent"))
		return NULL;
	return arena_strndup(a, ref + strlen(file), (size_t)(mark - ref) - strlen(file));
}

static bool is_in_name(char c)
{
	return c && (isalnum((unsigned char)c) || strchr("/_-", c));
}

/* Is it named, and not only a part of another name? */
static bool names(const char *text, const char *path)
{
	size_t n = strlen(path);

	for (const char *at = text; n && (at = strstr(at, path)); at++) {
		bool begins = at == text || !(is_in_name(at[-1]) || at[-1] == '.');
		const char *end = at + n;
		if (begins && (!*end || (!is_in_name(*end) && (*end != '.' || !is_in_name(end[1])))))
			return true;
	}
	return false;
}

/* A word with a slash, or with a point inside of it. */
static bool has_path(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p == '/' || (*p == '.' && p > text && is_in_name(p[-1]) && p[1] && is_in_name(p[1])))
			return true;
	return false;
}

static bool shows(struct arena *a, const char *ref, const char *type, const char *criterion)
{
	size_t n = strlen(type);

	if (strncmp(ref, type, n) || ref[n] != ':')
		return false;
	if (text_eq(type, "filesystem_stat")) {
		const char *path = path_of(a, ref);
		return path && (names(criterion, path) || !has_path(criterion));
	}
	return !text_eq(type, "process_exit") || text_eq(ref, "process_exit:0");
}

static void bind(struct arena *a, struct json *to, size_t number, const char *criterion, const char *type,
	const struct json *evidence)
{
	struct json *one = json_new(a, JSON_OBJECT), *refs = json_new(a, JSON_ARRAY);

	json_each (ref, evidence)
		if (shows(a, json_text(ref), type, criterion))
			json_push(a, refs, json_copy(a, ref));
	json_sets(a, one, "claim_id", arena_printf(a, "criterion:%zu:%s", number, type));
	json_sets(a, one, "claim", criterion);
	json_sets(a, one, "evidence_type", type);
	json_set(a, one, "evidence_refs", refs);
	json_push(a, to, one);
}

static bool speaks_of(const char *criterion, const struct shown_by *by)
{
	for (size_t i = 0; i < ARRAY_SIZE(by->words) && by->words[i]; i++)
		if (has_word(criterion, by->words[i]))
			return true;
	return text_eq(by->type, "filesystem_stat") && has_path(criterion);
}

struct json *consensus_criteria(struct arena *a, const struct json *plan, const struct json *evidence)
{
	struct json *claims = json_new(a, JSON_ARRAY);
	size_t number = 0;

	json_each (task, json_get(plan, "tasks"))
		json_each (one, json_get(task, "acceptance_criteria")) {
			const char *text = json_text(one);
			uint32_t before = claims->n;
			number++;
			for (size_t i = 0; i < ARRAY_SIZE(shown_by) && !is_negative(text); i++)
				if (speaks_of(text, &shown_by[i]))
					bind(a, claims, number, text, shown_by[i].type, evidence);
			if (claims->n == before)
				bind(a, claims, number, text, "unprovable", evidence);
		}
	return claims;
}
