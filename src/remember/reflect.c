/* reflect.c — what the record suggests to be learnt: each candidate with the rows that show it.
 *
 * Candidates are counted, never guessed: what failed the same way twice, what was done the same way three times, files that were touched
 * again and again, commands far slower than usual, captures that nobody finished, claims that nobody confirmed for long. */
#include "remember/context_parts.h"

#include "base/text.h"
#include "privacy/privacy.h"
#include "record/record.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_ROWS = 20000, /* of each ledger, the newest */
	MAX_SIGNS = 200000,
	EVIDENCE = 20, /* rows that are named */
	TWICE = 2,
	THRICE = 3,
	SLOWER = 3,
	SLOW_LEAST_US = 1000000, /* what takes less is not worth a word */
};
static const int64_t day_us = 86400000000;

/* The heaviest first: what goes wrong again and again before what only could be written down. */
static const char *const kinds[] = { "superseded_unrecorded", "repeated_success", "stale_claim",
	"slow_command", "unfinished_capture", "rework", "repeated_failure" };

static int64_t weight_of(const char *kind, int64_t count)
{
	int64_t i = 0;

	while (i < (int64_t)ARRAY_SIZE(kinds) && !text_eq(kinds[i], kind))
		i++;
	return i * 10 * MAX_SIGNS + count;
}

/* One row says something that others may say, too. */
struct sign {
	const char *key, *title, *id;
	int64_t at; /* INT64_MIN: not known */
	int64_t us; /* how long it took */
};

struct signs {
	struct sign *all;
	size_t count, room;
};

struct reflection {
	struct search *x;
	struct source *s;
	struct idset seen, superseding;
	struct signs failures, successes, paths, labels, captures, superseding_unsaid, stale;
	size_t rows;
};

static void add_sign(struct reflection *r, struct signs *to, struct sign s)
{
	struct arena *a = r->x->a;

	if (to->count == MAX_SIGNS)
		return;
	if (to->count == to->room) {
		size_t room = to->room ? 2 * to->room : 64;
		to->all = arena_grow(a, to->all, to->room * sizeof(s), room * sizeof(s));
		to->room = room;
	}
	s.key = arena_strdup(a, s.key);
	s.title = arena_strdup(a, s.title);
	s.id = arena_strdup(a, s.id);
	to->all[to->count++] = s;
}

static int64_t time_of(const struct json *row, const char *member)
{
	int64_t at;
	const char *text = json_get_text(row, member, NULL);

	return text && memory_time(text, &at) ? at : INT64_MIN;
}

/* Case and blanks do not make another name. */
static const char *plain_name(struct arena *a, const char *name)
{
	struct folded f = words_fold(a, name, strlen(name));
	struct buf text;
	size_t at = 0;
	struct run r;

	buf_init(&text, a);
	while (run_next(f.p, f.n, &at, &r))
		buf_addf(&text, "%s%.*s", text.n ? " " : "", (int)r.n, r.p);
	return text.p;
}

/* ---- candidates ---- */

static void offer_candidate(struct reflection *r, enum area area, const char *kind, const char *title,
	const char *text, int64_t at, struct json *evidence, int64_t count)
{
	struct search *x = r->x;
	struct arena *a = &x->scratch;
	struct item i = {
		.from = r->s, .area = area, .kind = kind, .title = title, .excerpt = text, .time_us = at
	};

	if (!search_wants(x, area))
		return;
	i.weight = weight_of(kind, count);
	i.raw = arena_printf(a, "%s %s %s", kind, title, text);
	i.raw_n = strlen(i.raw);
	i.timestamp = at == INT64_MIN ? NULL : text_time_iso(a, at);
	i.meta = json_new(a, JSON_OBJECT);
	json_sets(a, i.meta, "candidate_type", kind);
	json_seti(a, i.meta, "count", count);
	json_set(a, i.meta, "evidence", evidence);
	search_offer(x, &i);
}

static int by_key(const void *p, const void *q)
{
	const struct sign *x = p, *y = q;
	int order = strcmp(x->key, y->key);

	return order ? order : (x->at < y->at) - (x->at > y->at);
}

static struct json *evidence_of(struct arena *a, const struct sign *s, size_t n)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n && i < EVIDENCE; i++)
		json_pushs(a, list, s[i].id);
	return list;
}

/* Calls fn for each group of signs with the same key, the newest sign first. */
typedef void group_visit(struct reflection *r, const struct sign *s, size_t n);
static void each_group(struct reflection *r, struct signs *all, group_visit *fn)
{
	if (all->count)
		qsort(all->all, all->count, sizeof(*all->all), by_key);
	for (size_t i = 0, n; i < all->count; i += n) {
		for (n = 1; i + n < all->count && text_eq(all->all[i].key, all->all[i + n].key); n++)
			;
		fn(r, all->all + i, n);
		arena_reset(&r->x->scratch);
	}
}

static void tell_failures(struct reflection *r, const struct sign *s, size_t n)
{
	struct arena *a = &r->x->scratch;

	if (n >= TWICE)
		offer_candidate(r, AREA_TASKS, "repeated_failure", s->title,
			arena_printf(a, "failed the same way %zu times: helm failures show %s", n, s->key),
			s->at, evidence_of(a, s, n), (int64_t)n);
}

static void tell_successes(struct reflection *r, const struct sign *s, size_t n)
{
	struct arena *a = &r->x->scratch;

	if (n >= THRICE)
		offer_candidate(r, AREA_TASKS, "repeated_success", s->title,
			arena_printf(a, "ended well %zu times: a skill may be made of it", n), s->at,
			evidence_of(a, s, n), (int64_t)n);
}

/* The most tasks that touched the path within a week. */
static void tell_rework(struct reflection *r, const struct sign *s, size_t n)
{
	struct arena *a = &r->x->scratch;
	size_t most = 0, from = 0;

	for (size_t i = 0, end = 0; i < n; i++) {
		while (end < n && s[end].at != INT64_MIN && s[i].at - s[end].at <= 7 * day_us)
			end++;
		if (end > i && end - i > most) {
			most = end - i;
			from = i;
		}
	}
	if (most >= THRICE)
		offer_candidate(r, AREA_TASKS, "rework", s->title,
			arena_printf(a, "touched by %zu tasks within a week", most), s[from].at,
			evidence_of(a, s + from, most), (int64_t)most);
}

static int by_length(const void *p, const void *q)
{
	const int64_t x = *(const int64_t *)p, y = *(const int64_t *)q;

	return (x > y) - (x < y);
}

/* One row for a command: how often it was slow, and when it took longest. */
static void tell_slow(struct reflection *r, const struct sign *s, size_t n)
{
	struct arena *a = &r->x->scratch;
	int64_t *lengths = arena_zalloc(a, n, sizeof(*lengths));
	struct sign *slow = arena_zalloc(a, n, sizeof(*slow));
	size_t count = 0, longest = 0;

	if (n < THRICE)
		return;
	for (size_t i = 0; i < n; i++)
		lengths[i] = s[i].us;
	qsort(lengths, n, sizeof(*lengths), by_length);
	const int64_t median = lengths[n / 2];
	for (size_t i = 0; i < n; i++) {
		if (s[i].us < SLOW_LEAST_US || s[i].us <= SLOWER * median)
			continue;
		longest = count && slow[longest].us >= s[i].us ? longest : count;
		slow[count++] = s[i];
	}
	if (count)
		offer_candidate(r, AREA_COMMANDS, "slow_command", s->title,
			arena_printf(a, "slow in %zu of %zu runs: took up to %.1f s, and usually %.1f s",
				count, n, (double)slow[longest].us / 1e6, (double)median / 1e6),
			slow[0].at, evidence_of(a, slow, count), (int64_t)count);
}

static void tell_capture(struct reflection *r, const struct sign *s, size_t n)
{
	offer_candidate(r, AREA_MEMORY, "unfinished_capture", s->title,
		arena_printf(&r->x->scratch,
			"%zu %s left something to remember that is not written yet: 'helm memory finalize'",
			n, n == 1 ? "task" : "tasks"),
		s->at, evidence_of(&r->x->scratch, s, n), (int64_t)n);
}

/* A command that runs again and again replaces its last run each time: that is one thing, however often. */
static void tell_superseding(struct reflection *r, const struct sign *s, size_t n)
{
	offer_candidate(r, AREA_MEMORY, "superseded_unrecorded", s->title,
		arena_printf(&r->x->scratch,
			"%zu %s earlier work, and no operation says so: 'helm memory op supersede'", n,
			n == 1 ? "task replaces" : "tasks replace"),
		s->at, evidence_of(&r->x->scratch, s, n), (int64_t)n);
}

static void tell_stale(struct reflection *r, const struct sign *s, size_t n)
{
	offer_candidate(r, AREA_MEMORY, "stale_claim", s->title,
		arena_printf(&r->x->scratch, "what %zu %s was last confirmed long ago", n,
			n == 1 ? "task claims" : "tasks claim"),
		s->at, evidence_of(&r->x->scratch, s, n), (int64_t)n);
}

/* ---- rows ---- */

static void see_capture(struct reflection *r, const struct json *row, const char *id, int64_t at)
{
	struct arena *a = &r->x->scratch;
	const struct json *plan = json_get(row, "memory_capture"), *over = json_get(plan, "supersession");
	const char *state = json_get_text(plan, "finalization_status", ""),
		   *name = json_get_text(row, "task_name", id);
	int64_t confirmed = time_of(json_get(plan, "claim_state"), "last_confirmed_at");
	const struct sign own = { .key = plain_name(a, name), .title = name, .id = id, .at = at };

	if ((text_eq(state, "capture_planned") || text_eq(state, "capture_partial")) && at != INT64_MIN &&
		r->x->now_us - at > 7 * day_us)
		add_sign(r, &r->captures, own);
	const struct json *ids = json_get(over, "supersedes_task_ids");
	if (json_is(ids, JSON_ARRAY) && ids->n && !idset_has(&r->superseding, id))
		add_sign(r, &r->superseding_unsaid, own);
	if (confirmed != INT64_MIN && r->x->now_us - confirmed > 60 * day_us)
		add_sign(r, &r->stale, own);
}

static int see_task(void *arg, struct json *row)
{
	struct reflection *r = arg;
	struct arena *a = &r->x->scratch;
	const char *id = json_get_text(row, "task_id", NULL), *name, *status, *print;

	if (!id || !idset_add(r->x->a, &r->seen, id))
		return ++r->rows >= MAX_ROWS;
	privacy_redact_json(a, row);
	name = json_get_text(row, "task_name", id);
	status = json_get_text(row, "status", "");
	int64_t at = time_of(row, "finished_at");
	if (at == INT64_MIN)
		at = time_of(row, "started_at");
	print = json_get_text(json_get(row, "failure_signature"), "fingerprint", NULL);
	if (text_eq(status, "failed") || text_eq(status, "timeout"))
		add_sign(r, &r->failures,
			(struct sign){ .key = print
					? print
					: arena_printf(a, "%s at %s", plain_name(a, name),
						  json_get_text(row, "failure_stage", "execution")),
				.title = name,
				.id = id,
				.at = at });
	if (text_eq(status, "completed"))
		add_sign(r, &r->successes,
			(struct sign){ .key = arena_printf(a, "%s\x1f%s", json_get_text(row, "skill", ""),
					       plain_name(a, name)),
				.title = name,
				.id = id,
				.at = at });
	json_each (path, json_get(row, "touched_paths"))
		if (json_text(path))
			add_sign(r, &r->paths,
				(struct sign){ .key = json_text(path),
					.title = json_text(path),
					.id = id,
					.at = at });
	see_capture(r, row, id, at);
	arena_reset(a);
	return ++r->rows >= MAX_ROWS;
}

static int see_command(void *arg, struct json *row)
{
	struct reflection *r = arg;
	int64_t from = time_of(row, "started_at"), to = time_of(row, "finished_at");
	const char *label = json_get_text(row, "label", NULL);

	if (label && from != INT64_MIN && to != INT64_MIN && to >= from)
		add_sign(r, &r->labels,
			(struct sign){ .key = label,
				.title = label,
				.id = json_get_text(row, "task_id", "-"),
				.at = to,
				.us = to - from });
	return ++r->rows >= MAX_ROWS;
}

static int see_operation(void *arg, struct json *row)
{
	struct reflection *r = arg;

	if (text_eq(json_get_text(row, "operation", ""), "supersede") && json_get_text(row, "task_id", NULL))
		(void)idset_add(r->x->a, &r->superseding, json_get_text(row, "task_id", NULL));
	return 0;
}

static void read_ledger(struct reflection *r, const char *file, row_back *fn)
{
	struct err e = { 0 };

	r->rows = 0;
	if (rows_back(r->x->sys, NULL, r->s->state_fd, file, 0, NULL, fn, r, &e))
		search_warn(r->x, "%s: %s was not read to its end: %s", r->s->name, file, e.text);
}

void reflect_gather(struct search *x, struct source *s)
{
	struct reflection r = { .x = x, .s = s };

	if (s->state_fd < 0)
		return;
	read_ledger(&r, "memory-operations.jsonl", see_operation);
	read_ledger(&r, TASK_LEDGER, see_task);
	read_ledger(&r, COMMAND_LOG, see_command);
	each_group(&r, &r.failures, tell_failures);
	each_group(&r, &r.successes, tell_successes);
	each_group(&r, &r.paths, tell_rework);
	each_group(&r, &r.labels, tell_slow);
	each_group(&r, &r.captures, tell_capture);
	each_group(&r, &r.superseding_unsaid, tell_superseding);
	each_group(&r, &r.stale, tell_stale);
}
