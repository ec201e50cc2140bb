/* failure.c — what a failed run leaves: its signature, what follows when it happened before, and what helped then.
 *
 * The signature is remember/failure.h's.  Those of the last seven days are counted, each task once; what follows is told from the failures of the same skill
 * or name.  What is found stands in the row and in one line for the person.  Where a person has said so (HELM_POLICY_TRANSITION=1), a command that
 * failed twice in the same way is asked about before it runs a third time. */
#include "remember/failure.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "remember/failure_fix.h"
#include "remember/harness.h"
#include "remember/memory.h"

#include <string.h>

enum { LOOKED_AT = 200, DAYS = 7, DAY_S = 24 * 3600, MOST = 20, UNPACKED_LEAST = 10000 };

/* For an interpreter the module or script tells more than its own name does. */
static const char *tool_of(struct arena *a, const struct json *row)
{
	const struct json *command = json_get(row, "command");
	const char **argv = arena_zalloc(a, json_is(command, JSON_ARRAY) ? command->n + 1 : 1, sizeof(*argv));
	size_t n = 0;

	if (text_eq(json_get_text(row, "runtime_backend", ""), "conversation"))
		return "conversation";
	json_each (word, command)
		argv[n++] = json_text(word) ? json_text(word) : "";
	return harness_tool(a, argv, n);
}

/* Did somebody look, and say what was seen? */
static bool has_evidence(const struct json *row)
{
	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++)
		if (json_is(json_get(json_get(json_get(row, "meta"), "harness"), harness_evidence[k].member),
			    JSON_OBJECT))
			return true;
	return false;
}

static struct failure_place place_of(const struct workspace *ws)
{
	return (struct failure_place){ ws->root, ws->home };
}

/* Test runners and checkers speak on standard output, compilers on standard error. */
static struct bytes said_by(struct arena *a, const struct run_result *r)
{
	struct buf both;

	buf_init(&both, a);
	if (r && r->captured) {
		buf_add(&both, r->out.tail, r->out.tail_n);
		buf_addc(&both, '\n');
		buf_add(&both, r->err.tail, r->err.tail_n);
	}
	return buf_bytes(&both);
}

struct json *task_failure_signature(
	struct arena *a, const struct workspace *ws, const struct json *row, const struct run_result *result)
{
	const char *status = json_get_text(row, "status", "");
	const struct failure_place at = place_of(ws);

	if (json_get_bool(json_get(row, "meta"), LOOP_CONDITION, false) ||
		(!text_eq(status, "failed") && !text_eq(status, "timeout") && !text_eq(status, "blocked")))
		return NULL;
	return failure_signature(a, row, &at, said_by(a, result));
}

/* ---- what happened before ---- */

struct looking {
	struct arena *a;
	const char *own_id, *skill, *name, *fingerprint, *since;
	/* Members as the ledger spells them; or NULL. */
	const char *print_member, *name_member, *skill_member, *command_member;
	struct json *seen; /* tasks that were looked at */
	struct json *failures; /* of the same skill or name; newest first */
	struct failure_past *past;
	struct failure_fix fix; /* what worked after the same failure; task_id NULL: nothing */
	int64_t same;
	const char *last_at;
	size_t lines;
	bool is_over; /* everything since `since` was seen */
};

static bool is_same_text(const char *x, const char *y)
{
	return x && *x && y && text_eq(x, y);
}

static bool holds(struct bytes line, const char *text)
{
	return text && memmem(line.p, line.n, text, strlen(text)) != NULL;
}

/* Counts a row unread: `task_id` is all that is needed of it. */
static void count_same(struct looking *l, struct bytes line)
{
	static const char mark[] = "\"task_id\": \"";
	const uint8_t *at = memmem(line.p, line.n, mark, strlen(mark));
	const uint8_t *from = at ? at + strlen(mark) : NULL,
		      *end = from ? memchr(from, '"', (size_t)(line.p + line.n - from)) : NULL;

	if (!end)
		return;
	const char *id = arena_strndup(l->a, (const char *)from, (size_t)(end - from));
	if (text_eq(id, l->own_id) || json_get(l->seen, id))
		return;
	json_setb(l->a, l->seen, id, true);
	l->same++;
}

/* Every row has the times of its task; one that began before is not read any more, nor are rows that say nothing here. */
static int is_recent(void *arg, struct bytes line)
{
	static const char mark[] = "\"started_at\": \"";
	struct looking *l = arg;
	const uint8_t *at = memmem(line.p, line.n, mark, strlen(mark));
	const size_t n = strlen(l->since);

	l->lines++;
	if (at && (size_t)(line.p + line.n - at) >= strlen(mark) + n &&
		memcmp(at + strlen(mark), l->since, n) < 0) {
		l->is_over = true;
		return -1;
	}
	if (holds(line, l->print_member)) {
		if (l->same < MOST)
			return 1;
		count_same(l, line);
		return 0;
	}
	if (l->failures->n < MOST && holds(line, "\"failure_signature\": {") &&
		(holds(line, l->name_member) || holds(line, l->skill_member)))
		return 1;
	/* What may have fixed it. */
	return !l->fix.task_id && l->same < MOST &&
		(holds(line, l->command_member) || holds(line, "\"touched_paths\": [\"") ||
			holds(line, "\"deleted_paths\": [\"") || holds(line, "\"checkpoint_id\": \""));
}

static int look_back(void *arg, struct json *row)
{
	struct looking *l = arg;
	const char *id = json_get_text(row, "task_id", NULL);
	const struct json *signature = json_get(row, "failure_signature");
	struct failure_fix fix;

	if (!id || text_eq(id, l->own_id) || json_get(l->seen, id) || row_is_open(row))
		return 0;
	json_setb(l->a, l->seen, id, true);
	if (signature && text_eq(json_get_text(signature, "fingerprint", ""), l->fingerprint)) {
		l->same++;
		if (!l->last_at)
			l->last_at = arena_strdup(l->a, json_get_text(row, "finished_at", ""));
		if (!l->fix.task_id && l->past && failure_past_fix(l->past, row, &fix))
			l->fix = fix;
	}
	if (l->past)
		failure_past_see(l->past, row);
	if (!signature || l->failures->n >= MOST ||
		(!is_same_text(json_get_text(row, "skill", NULL), l->skill) &&
			!is_same_text(json_get_text(row, "task_name", NULL), l->name)))
		return 0;
	struct json *one = json_new(l->a, JSON_OBJECT);
	json_set(l->a, one, "signature", json_copy(l->a, signature));
	json_push(l->a, l->failures, one);
	return 0;
}

/* "name": "value", as a row of the ledger has it. */
static const char *member_text(struct arena *a, const char *name, const char *value)
{
	struct buf b;

	if (!value || !*value)
		return NULL;
	buf_init(&b, a);
	buf_addf(&b, "\"%s\": ", name);
	json_write(&b, json_string(a, value), JSON_SPACED);
	return b.p;
}

static struct looking look(struct task *t, const struct json *signature)
{
	struct sys *s = t->k->sys;
	const int64_t since_us = s->now_us(s) - (int64_t)DAYS * DAY_S * 1000000;
	struct looking l = { .a = t->a,
		.own_id = t->id,
		.skill = t->spec->skill,
		.name = json_get_text(t->row, "task_name", NULL),
		.fingerprint = json_get_text(signature, "fingerprint", ""),
		.since = arena_strndup(t->a, text_time_iso(t->a, since_us), strlen("2026-01-01T00:00:00")),
		.seen = json_new(t->a, JSON_OBJECT),
		.failures = json_new(t->a, JSON_ARRAY) };

	l.print_member = member_text(t->a, "fingerprint", l.fingerprint);
	l.name_member = member_text(t->a, "task_name", l.name);
	l.skill_member = member_text(t->a, "skill", l.skill);
	l.command_member =
		member_text(t->a, "command_preview", json_get_text(t->row, "command_preview", NULL));
	(void)failure_past_open(s, t->a, t->k->ws->state_fd, since_us, &l.past, NULL);
	(void)rows_back_wanted(s, NULL, t->k->ws->state_fd, TASK_LEDGER, is_recent, look_back, &l, NULL);
	return l;
}

/* Oldest first, this one last. */
static struct json *history(struct arena *a, const struct looking *l, const struct json *signature)
{
	struct json *list = json_new(a, JSON_ARRAY), *now = json_new(a, JSON_OBJECT);

	for (size_t i = l->failures->n; i-- > 0;)
		json_push(a, list, l->failures->items[i]);
	json_set(a, now, "signature", json_copy(a, signature));
	json_push(a, list, now);
	return list;
}

static void say(struct task *t, const char *text)
{
	t->report->hint = t->report->hint ? arena_printf(t->a, "%s\n%s", t->report->hint, text) : text;
}

void task_failure_follow(struct task *t, const struct json *signature)
{
	/* It waits for a person: asked again, it is still that question and no failure that somebody could mend. */
	if (t->report->handling.verdict == V_ESCALATE)
		return;
	const struct looking l = look(t, signature);
	struct json *follows = failure_next(t->a, history(t->a, &l, signature)), *seen;
	const char *action = json_get_text(follows, "action", NULL);

	if (action) {
		json_set(t->a, t->row, "policy_transition", follows);
		say(t, arena_printf(t->a, "%s (%s)", json_get_text(follows, "reason", ""), action));
	}
	if (!l.same)
		return;
	seen = json_new(t->a, JSON_OBJECT);
	json_seti(t->a, seen, "count", l.same);
	json_seti(t->a, seen, "days", DAYS);
	json_sets(t->a, seen, "last_at", l.last_at);
	json_sets(t->a, seen, "fixed_by", l.fix.task_id);
	json_set(t->a, t->row, "seen_before", seen);
	/* Packed pieces of the ledger are not looked through here. */
	const bool is_cut = !l.is_over && l.lines >= UNPACKED_LEAST;
	const char *often = l.same == 1 && !is_cut
		? "once"
		: arena_printf(t->a, "%s%lld times", is_cut ? "at least " : "", (long long)l.same);
	if (is_cut)
		json_setb(t->a, seen, "more", true);
	if (l.fix.task_id)
		say(t,
			arena_printf(t->a,
				"seen %s in the last %d days; it worked again in task %s, after %s changed %s",
				often, DAYS, l.fix.task_id, l.fix.changed_by,
				l.fix.changed ? l.fix.changed : "something"));
	else
		say(t,
			arena_printf(t->a,
				"seen %s in the last %d days, and nothing is known to have fixed it: helm failures show %s",
				often, DAYS, l.fingerprint));
}

/* ---- before it runs again ---- */

struct repeating {
	const char *preview;
	bool is_stopped;
	size_t rows;
};

static int was_stopped(void *arg, struct json *row)
{
	struct repeating *r = arg;

	if (++r->rows > LOOKED_AT)
		return 1;
	if (row_is_open(row) || !text_eq(json_get_text(row, "command_preview", ""), r->preview))
		return 0;
	const struct json *follows = json_get(row, "policy_transition");
	r->is_stopped = text_eq(json_get_text(follows, "action", ""), FAILURE_STOP) ||
		json_get_bool(follows, "stop", false);
	return 1; /* the newest end of the same command decides */
}

bool task_failure_repeats(struct task *t)
{
	struct repeating r = { .preview = json_get_text(t->row, "command_preview", "") };
	const char *said = t->k->sys->getenv(t->k->sys, "HELM_POLICY_TRANSITION");

	if (!said || !text_eq(said, "1"))
		return false;
	(void)rows_back(
		t->k->sys, t->a, t->k->ws->state_fd, TASK_LEDGER, LOOKED_AT, NULL, was_stopped, &r, NULL);
	return r.is_stopped;
}

/* In the form that older readers of the ledger expect; most of it is empty here. */
struct json *task_experience(struct arena *a, const struct json *row)
{
	struct json *doc = json_new(a, JSON_OBJECT), *signal = json_new(a, JSON_OBJECT),
		    *tools = json_new(a, JSON_ARRAY), *selected = json_new(a, JSON_ARRAY),
		    *skills = json_new(a, JSON_ARRAY), *flags = json_new(a, JSON_ARRAY);
	const struct json *grant = json_get(row, "tool_grant");
	static const char *const lists[] = { "granted", "requires_approval", "denied" };
	const bool is_seen = has_evidence(row);
	bool service = !is_seen && text_eq(json_get_text(row, "profile", ""), "service_ops");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_each (name, json_get(grant, lists[i]))
			json_push(a, tools, name);
	json_pushs(a, selected, tool_of(a, row));
	if (json_get_text(row, "skill", NULL))
		json_pushs(a, skills, json_get_text(row, "skill", NULL));
	if (service) {
		struct json *flag = json_new(a, JSON_OBJECT);
		json_sets(a, flag, "type", "missing_service_ops_evidence");
		json_push(a, flags, flag);
	}
	json_sets(a, signal, "status", json_get_text(row, "status", ""));
	json_sets(a, signal, "evidence_state",
		is_seen		  ? "present"
			: service ? "missing_required"
				  : "missing_optional");
	json_setb(a, signal, "user_correction", false);
	json_set(a, doc, "memory_candidates", json_new(a, JSON_ARRAY));
	json_set(a, doc, "memory_selected", json_new(a, JSON_ARRAY));
	json_set(a, doc, "skill_candidates", json_new(a, JSON_ARRAY));
	json_set(a, doc, "skill_selected", skills);
	json_set(a, doc, "tool_candidates", tools);
	json_set(a, doc, "tool_selected", selected);
	json_sets(a, doc, "selection_reason", "the command that was given");
	json_set(a, doc, "outcome_signal", signal);
	json_sets(a, doc, "retrospective_score", NULL);
	json_set(a, doc, "review_flags", flags);
	return doc;
}
