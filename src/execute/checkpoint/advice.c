/* advice.c — what the task ledger says about checkpoints: which are named by tasks, and which one leads
 * back to before a risky task.
 *
 * The ledger is read as a stream, and a line is parsed only when it holds one of a few words: a ledger of a
 * million rows has few of them.  Lines that are not JSON objects are passed over here; `helm doctor` counts
 * them. */
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum { BLOCK = 256 << 10, LINE_MAX_BYTES = 16 << 20 };

typedef int note_row(void *arg, const struct json *row);

/* Visit the rows whose line holds one of the words. */
struct row_reader {
	const char *const *words;
	note_row *fn;
	void *arg;
	struct arena scratch;
};

/* A search in the raw line, much cheaper than parsing it. */
static bool has_word(const struct row_reader *r, struct bytes line)
{
	for (const char *const *w = r->words; *w; w++)
		if (memmem(line.p, line.n, *w, strlen(*w)))
			return true;
	return false;
}

/* Most lines are passed over without being parsed, because they hold none of the words. */
static void read_line(struct row_reader *r, struct bytes line)
{
	struct json *row;
	struct err ignored;

	if (!line.n || !has_word(r, line))
		return;
	arena_reset(&r->scratch);
	if (json_parse(&r->scratch, line, "task-ledger.jsonl", NULL, &row, &ignored) == OK &&
		json_is(row, JSON_OBJECT))
		r->fn(r->arg, row);
}

/* A last line without an end is read as well. */
static int read_rows(struct checkpoint_store *st, struct row_reader *r, struct err *e)
{
	struct sys *s = st->sys;
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd)
	int fd = s->open(s, st->ledger_fd, "task-ledger.jsonl", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	size_t cap = BLOCK * 2, n = 0;
	char *text = arena_text(&a, cap);

	if (fd < 0 && errno == ENOENT)
		return OK;
	if (fd < 0)
		return err_sys(e, "CHECKPOINT_READ", "cannot open the task ledger");
	for (;;) {
		if (cap - n < BLOCK) {
			if (cap > LINE_MAX_BYTES)
				return err_set(e, E_CORRUPT, "CHECKPOINT_READ",
					"a line of the task ledger has no end");
			text = arena_grow(&a, text, cap, cap * 2);
			cap *= 2;
		}
		ssize_t got = s->read(s, fd, text + n, BLOCK);
		if (got < 0)
			return err_sys(e, "CHECKPOINT_READ", "cannot read the task ledger");
		if (got == 0)
			break;
		n += (size_t)got;
		char *line = text, *end;
		while ((end = memchr(line, '\n', n - (size_t)(line - text)))) {
			read_line(r, (struct bytes){ (const uint8_t *)line, (size_t)(end - line) });
			line = end + 1;
		}
		n -= (size_t)(line - text);
		memmove(text, line, n);
	}
	read_line(r, (struct bytes){ (const uint8_t *)text, n });
	return OK;
}

/* ---- ids that tasks name ---- */

struct named {
	struct arena *a;
	struct json *ids;
	const char *last;
};

/* Rows of one task follow each other, so comparing with the last id avoids most duplicates. */
static int note_id(void *arg, const struct json *row)
{
	struct named *n = arg;
	const char *id = json_get_text(row, "checkpoint_id", NULL);

	if (!id || (n->last && text_eq(n->last, id)))
		return OK;
	json_pushs(n->a, n->ids, id);
	n->last = json_text(json_at(n->ids, n->ids->n - 1u));
	return OK;
}

/* Ids may occur more than once.  A ledger that cannot be read is an error, so that prune does not take it
 * for "nothing is needed". */
int checkpoint_referenced(struct checkpoint_store *st, struct json **ret_ids, struct err *e)
{
	static const char *const words[] = { "\"checkpoint_id\"", NULL };
	struct named n = { .a = st->a, .ids = json_new(st->a, JSON_ARRAY) };
	struct row_reader r = { .words = words, .fn = note_id, .arg = &n };
	int rc = read_rows(st, &r, e);

	arena_done(&r.scratch);
	if (rc)
		return rc;
	*ret_ids = n.ids;
	return OK;
}

/* ---- the way back ---- */

struct search {
	struct arena *a;
	const char *task_id; /* or NULL: the newest risky one */
	struct json *best;
	int64_t best_us;
};

/* Tasks after which somebody may want to go back. */
static bool is_risky(const struct json *row)
{
	const struct json *judged = json_get(json_get(row, "guard"), "classification");

	if (text_eq(json_get_text(row, "profile", ""), "risky_edit") ||
		json_get_text(row, "checkpoint_id", NULL))
		return true;
	json_each_member (m, judged) {
		const char *text = json_text(m->value);
		if (text && text_eq(text, "destructive"))
			return true;
	}
	return false;
}

/* A time that cannot be read counts as the earliest. */
static int64_t start_of(const struct json *row)
{
	const char *text = json_get_text(row, "started_at", "");
	int64_t us;

	return text_parse_time(text, strlen(text), &us) ? us : INT64_MIN;
}

/* The newest task that fits; of one task its last row, which knows most. */
static int note_task(void *arg, const struct json *row)
{
	struct search *q = arg;
	const char *id = json_get_text(row, "task_id", NULL);

	if (!id || (q->task_id ? !text_eq(id, q->task_id) : !is_risky(row)))
		return OK;
	int64_t us = start_of(row);
	bool is_later_row = q->best && text_eq(json_get_text(q->best, "task_id", ""), id);
	if (q->best && !is_later_row && us < q->best_us)
		return OK;
	q->best = json_copy(q->a, row);
	q->best_us = us;
	return OK;
}

/* The newest checkpoint that was made no later than this moment: it cannot hold the task's damage. */
static struct json *newest_before(const struct json *array, int64_t us)
{
	struct json *hit = NULL;
	int64_t hit_us = INT64_MIN;

	json_each (v, array) {
		const char *text = json_get_text(v, "created_at", "");
		int64_t at;
		if (!checkpoint_is_safety(v) && text_parse_time(text, strlen(text), &at) && at <= us &&
			at >= hit_us) {
			hit = v;
			hit_us = at;
		}
	}
	return hit;
}

/* The checkpoint that the task itself names, if it still exists. */
static struct json *named_by(const struct json *array, const struct json *task)
{
	const char *id = json_get_text(task, "checkpoint_id", NULL);

	json_each (v, array)
		if (id && text_eq(json_get_text(v, "checkpoint_id", ""), id))
			return v;
	return NULL;
}

/* Three answers in the order of how good they are: attached to the task, made before it, made after it. */
int checkpoint_recommend(
	struct checkpoint_store *st, const char *task_id, struct checkpoint_advice *ret, struct err *e)
{
	const char *words[] = { "risky_edit", "destructive", "\"checkpoint_id\": \"", "\"checkpoint_id\":\"",
		NULL };
	const char *id_words[] = { task_id, NULL };
	struct search q = { .a = st->a, .task_id = task_id };
	struct row_reader r = { .words = task_id ? id_words : words, .fn = note_task, .arg = &q };
	struct checkpoint_advice advice = { .relation = "none" };
	struct json *array;
	int rc = read_rows(st, &r, e);

	arena_done(&r.scratch);
	if (rc)
		return rc;
	/* What leads back cannot be known then; which task it would be about can. */
	if (checkpoint_list(st, &array, e)) {
		advice.trouble = arena_strdup(st->a, e->text);
		array = json_new(st->a, JSON_ARRAY);
	}
	if (task_id && !q.best)
		return err_set(e, E_MISSING, "TASK_UNKNOWN", "no task '%s' in the ledger", task_id);
	advice.task = q.best;
	if (!q.best || !array->n) {
		*ret = advice;
		return OK;
	}
	advice.checkpoint = named_by(array, q.best);
	advice.relation = "attached";
	if (!advice.checkpoint) {
		advice.checkpoint = newest_before(array, q.best_us);
		advice.relation = "before";
	}
	if (!advice.checkpoint) {
		advice.checkpoint = checkpoint_newest(array);
		advice.relation = advice.checkpoint ? "after" : "none";
	}
	*ret = advice;
	return OK;
}
