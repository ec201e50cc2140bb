/* run_trace.c — traces: made of rows, read from files, grouped, compared, exported. */
#include "remember/run_trace.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/record.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRACE = 4 << 20, SAMPLES = 3, ARGS_SHOWN = 200 };
#define TRACES "traces"

/* ---- of a row ---- */

static const char *tool_of(const struct json *row)
{
	const struct json *said =
		json_at(json_get(json_get(row, "experience_attribution"), "tool_selected"), 0);
	const char *head = json_text(json_at(json_get(row, "command"), 0));

	return json_text(said) ? json_text(said) : head ? path_base(head) : "unknown";
}

static const char *outcome_of(const char *status)
{
	return text_eq(status, "completed")				  ? "completed"
		: text_eq(status, "failed") || text_eq(status, "timeout") ? "failed"
		: text_eq(status, "blocked") || text_eq(status, "cancelled") || text_eq(status, "stale") ||
			text_eq(status, "blocked_by_pause")
		? "aborted"
		: NULL;
}

static int64_t duration_ms(const struct json *row)
{
	const char *from = json_get_text(row, "started_execution_at", ""),
		   *to = json_get_text(row, "finished_at", "");
	int64_t x, y;

	return memory_time(from, &x) && memory_time(to, &y) ? (y - x) / 1000 : -1;
}

static struct json *list_or_none(struct arena *a, const struct json *row, const char *name)
{
	struct json *v = json_get(row, name);

	return json_is(v, JSON_ARRAY) ? json_copy(a, v) : json_new(a, JSON_ARRAY);
}

static struct json *decision_of(struct arena *a, const struct json *row)
{
	struct json *list = json_new(a, JSON_ARRAY), *one = json_new(a, JSON_OBJECT);
	const struct json *guard = json_get(row, "guard");

	if (!json_get_text(row, "decision_id", NULL))
		return list;
	json_sets(a, one, "decision_id", json_get_text(row, "decision_id", NULL));
	json_sets(a, one, "action", json_get_text(guard, "action", NULL));
	json_set(a, one, "matched_rules", list_or_none(a, guard, "matched_rules"));
	json_push(a, list, one);
	return list;
}

/* What would show that it was done, where it was governed. */
static struct json *contracts_of(struct arena *a, const struct json *row)
{
	const struct json *one = json_get(json_get(row, "governance"), "evidence_contract");
	struct json *list = json_new(a, JSON_ARRAY);

	if (one)
		json_push(a, list, json_copy(a, one));
	return list;
}

struct json *trace_of_row(struct arena *a, const struct json *row)
{
	struct json *doc = json_new(a, JSON_OBJECT), *steps = json_new(a, JSON_ARRAY),
		    *step = json_new(a, JSON_OBJECT);
	const char *status = json_get_text(row, "status", ""), *id = json_get_text(row, "task_id", "");
	int64_t took = duration_ms(row);

	json_sets(a, step, "name", tool_of(row));
	json_sets(a, step, "purpose", json_get_text(row, "task_goal", NULL));
	json_set(a, step, "args", list_or_none(a, row, "command"));
	json_set(a, step, "durationMs", took < 0 ? json_new(a, JSON_NULL) : json_number(a, took));
	json_sets(a, step, "status", status);
	json_sets(a, step, "resultSummary", json_get_text(row, "failure_reason", NULL));
	json_push(a, steps, step);
	json_sets(a, doc, "taskId", id);
	json_sets(a, doc, "startedAt", json_get_text(row, "started_at", NULL));
	json_sets(a, doc, "profile", json_get_text(row, "profile", NULL));
	json_sets(a, doc, "skill", json_get_text(row, "skill", NULL));
	json_sets(a, doc, "inputSummary", json_get_text(row, "task_name", NULL));
	json_set(a, doc, "toolSequence", steps);
	json_set(a, doc, "changedFiles", list_or_none(a, row, "touched_paths"));
	json_set(a, doc, "governanceDecisions", decision_of(a, row));
	json_set(a, doc, "evidenceContracts", contracts_of(a, row));
	json_set(a, doc, "validationGates", list_or_none(a, row, "validation_gates"));
	struct json *signature = json_get(row, "failure_signature");
	json_set(a, doc, "failureSignature", signature ? json_copy(a, signature) : json_new(a, JSON_NULL));
	json_sets(a, doc, "outcome", outcome_of(status));
	json_sets(a, doc, "status", status); /* as the task says it: outcome has three words */
	json_sets(a, doc, "replayHint", arena_printf(a, "helm trace replay %s", id));
	json_setb(a, doc, "skillCandidate", false);
	return doc;
}

/* ---- reading ---- */

static const char *dir_of(const struct trace_place *t)
{
	return t->dir ? t->dir : TRACES;
}

static int dir_fd(const struct trace_place *t)
{
	return t->dir && t->dir[0] == '/' ? AT_FDCWD : t->state_fd;
}

struct file {
	const char *name;
	int64_t changed;
};

static int newest_file(const void *x, const void *y)
{
	const struct file *p = x, *q = y;

	return p->changed != q->changed ? (p->changed < q->changed ? 1 : -1) : strcmp(p->name, q->name);
}

/* Files that are no traces are passed over. */
static void read_files(const struct trace_place *t, size_t most, struct json *list)
{
	struct arena *a = t->a;
	char **names;
	size_t n = 0, count = 0;

	if (file_list(t->sys, a, dir_fd(t), dir_of(t), &names, &n, NULL))
		return;
	struct file *files = arena_zalloc(a, n + 1, sizeof(*files));
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		if (text_ends(names[i], ".json") && names[i][0] != '.' &&
			t->sys->stat(t->sys, dir_fd(t), arena_printf(a, "%s/%s", dir_of(t), names[i]), &st,
				AT_SYMLINK_NOFOLLOW) == 0)
			files[count++] = (struct file){ names[i],
				(int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000 };
	}
	if (count)
		qsort(files, count, sizeof(*files), newest_file);
	for (size_t i = 0; i < count && i < most; i++) {
		struct json *doc;
		if (doc_read(t->sys, a, dir_fd(t), arena_printf(a, "%s/%s", dir_of(t), files[i].name),
			    MAX_TRACE, 0, &doc, NULL) ||
			!json_is(doc, JSON_OBJECT))
			continue;
		if (!json_get_text(doc, "taskId", NULL))
			json_set(a, doc, "taskId",
				json_stringn(a, files[i].name, strlen(files[i].name) - strlen(".json")));
		json_push(a, list, doc);
	}
}

struct rows {
	struct arena *a;
	struct json *list, *seen;
	size_t most;
};

/* The first of a task from the end is its newest. */
static int take_row(void *arg, struct json *row)
{
	struct rows *r = arg;
	const char *id = json_get_text(row, "task_id", NULL);

	if (!id || json_get(r->seen, id))
		return 0;
	json_setb(r->a, r->seen, id, true);
	if (outcome_of(json_get_text(row, "status", "")))
		json_push(r->a, r->list, trace_of_row(r->a, row));
	return r->list->n >= r->most;
}

static int64_t started(const struct json *trace)
{
	int64_t us;

	return memory_time(json_get_text(trace, "startedAt", ""), &us) ? us : INT64_MIN;
}

static int newest_trace(const void *x, const void *y)
{
	int64_t p = started(*(struct json *const *)x), q = started(*(struct json *const *)y);

	return p < q ? 1 : p > q ? -1 : 0;
}

/* Merge sort would keep the order of equal ones; there are at most some hundreds. */
static void sort_newest(struct json *list)
{
	for (size_t i = 1; i < list->n; i++)
		for (size_t j = i; j > 0 && newest_trace(&list->items[j - 1], &list->items[j]) > 0; j--) {
			struct json *x = list->items[j];
			list->items[j] = list->items[j - 1];
			list->items[j - 1] = x;
		}
}

int trace_newest(const struct trace_place *t, size_t most, struct json **ret, struct err *e)
{
	struct rows r = { t->a, json_new(t->a, JSON_ARRAY), json_new(t->a, JSON_OBJECT), most };
	struct json *all = json_new(t->a, JSON_ARRAY), *out = json_new(t->a, JSON_ARRAY);
	int rc = OK;

	read_files(t, most, all);
	json_each (one, all)
		json_setb(t->a, r.seen, json_get_text(one, "taskId", ""), true);
	if (!t->dir)
		rc = rows_back(t->sys, t->a, t->state_fd, TASK_LEDGER, 0, NULL, take_row, &r, e);
	if (rc < 0)
		return rc;
	json_each (one, r.list)
		json_push(t->a, all, one);
	sort_newest(all);
	for (size_t i = 0; i < all->n && i < most; i++)
		json_push(t->a, out, all->items[i]);
	*ret = out;
	return OK;
}

struct search {
	const char *id;
	struct json *found;
};

static int is_the_task(void *arg, struct json *row)
{
	struct search *s = arg;

	if (!text_eq(json_get_text(row, "task_id", ""), s->id))
		return 0;
	s->found = row;
	return 1;
}

int trace_get(const struct trace_place *t, const char *id, struct json **ret, struct err *e)
{
	struct search s = { id, NULL };

	if (!text_is_id(id))
		return err_set(e, E_USAGE, "TRACE_ID", "'%.100s' is no id of a task", id);
	int rc = doc_read(t->sys, t->a, dir_fd(t), arena_printf(t->a, "%s/%s.json", dir_of(t), id), MAX_TRACE,
		0, ret, e);
	if (rc != E_MISSING)
		return rc;
	rc = rows_back(t->sys, t->a, t->state_fd, TASK_LEDGER, 0, id, is_the_task, &s, e);
	if (rc < 0)
		return rc;
	if (!s.found)
		return err_set(e, E_MISSING, "TRACE_UNKNOWN", "there is no trace of a task '%s'", id);
	*ret = trace_of_row(t->a, s.found);
	return OK;
}

/* ---- what repeats ---- */

const char *trace_normal(struct arena *a, const char *name)
{
	size_t n;
	const char *clean = text_utf8(a, name, strlen(name), "?", &n), *folded = text_fold(a, clean, n);
	struct buf out;

	buf_init(&out, a);
	for (const char *p = folded; *p; p++)
		if (!strchr(" \t\r\n", *p))
			buf_addc(&out, *p);
		else if (out.n && out.p[out.n - 1] != ' ')
			buf_addc(&out, ' ');
	if (out.n && out.p[out.n - 1] == ' ')
		out.p[--out.n] = '\0';
	return out.p;
}

/* One more of a group: the first is the newest, and so are the samples. */
static struct json *one_more(struct arena *a, struct json *groups, const char *key, const struct json *trace)
{
	struct json *group = json_get(groups, key);

	if (!group) {
		group = json_new(a, JSON_OBJECT);
		json_seti(a, group, "count", 0);
		json_set(a, group, "sample_trace_ids", json_new(a, JSON_ARRAY));
		json_set(a, groups, key, group);
	}
	json_seti(a, group, "count", json_get_int(group, "count", 0) + 1);
	struct json *samples = json_get(group, "sample_trace_ids");
	if (samples->n < SAMPLES)
		json_pushs(a, samples, json_get_text(trace, "taskId", "?"));
	return group;
}

static int more_first(const struct json *x, const struct json *y)
{
	return json_get_int(x, "count", 0) < json_get_int(y, "count", 0);
}

/* Those that occur often enough, by count; equal ones in the order in which they were met. */
static struct json *often(struct arena *a, const struct json *groups, size_t least)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each_member (m, groups)
		if (json_get_int(m->value, "count", 0) >= (int64_t)least)
			json_push(a, list, m->value);
	for (size_t i = 1; i < list->n; i++)
		for (size_t j = i; j > 0 && more_first(list->items[j - 1], list->items[j]); j--) {
			struct json *x = list->items[j];
			list->items[j] = list->items[j - 1];
			list->items[j - 1] = x;
		}
	return list;
}

static void group_success(struct arena *a, struct json *groups, const struct json *trace)
{
	const char *skill = json_get_text(trace, "skill", NULL),
		   *name = json_get_text(trace, "inputSummary", NULL);

	if (!name || !text_eq(json_get_text(trace, "outcome", ""), "completed"))
		return;
	const char *normal = trace_normal(a, name);
	struct json *group =
		one_more(a, groups, arena_printf(a, "%s\n%s", skill ? skill : "", normal), trace);
	if (json_get(group, "name"))
		return;
	json_sets(a, group, "skill", skill);
	json_sets(a, group, "task_name", name);
	json_sets(a, group, "name", normal);
}

static void group_failure(struct arena *a, struct json *groups, const struct json *trace)
{
	const char *print = json_get_text(json_get(trace, "failureSignature"), "fingerprint", NULL);

	if (!print)
		return;
	struct json *group = one_more(a, groups, print, trace);
	if (json_get(group, "fingerprint"))
		return;
	json_sets(a, group, "fingerprint", print);
	json_sets(a, group, "example_skill", json_get_text(trace, "skill", NULL));
}

static void group_sequence(struct arena *a, struct json *groups, const struct json *trace)
{
	const struct json *steps = json_get(trace, "toolSequence");
	struct json *names = json_new(a, JSON_ARRAY);
	const char *skill = json_get_text(trace, "skill", NULL);
	struct buf key;

	if (!steps || steps->n < 2)
		return;
	buf_init(&key, a);
	buf_addf(&key, "%s", skill ? skill : "");
	json_each (step, steps) {
		json_pushs(a, names, json_get_text(step, "name", "?"));
		buf_addf(&key, "\n%s", json_get_text(step, "name", "?"));
	}
	struct json *group = one_more(a, groups, key.p, trace);
	json_sets(a, group, "skill", skill);
	json_set(a, group, "sequence", names);
}

struct json *trace_candidates(struct arena *a, const struct json *traces, const struct trace_least *least)
{
	struct json *done = json_new(a, JSON_OBJECT), *failed = json_new(a, JSON_OBJECT),
		    *rows = json_new(a, JSON_OBJECT), *doc = json_new(a, JSON_OBJECT);

	json_each (trace, traces) {
		group_success(a, done, trace);
		group_failure(a, failed, trace);
		group_sequence(a, rows, trace);
	}
	json_set(a, doc, "scaffold", often(a, done, least->success));
	json_set(a, doc, "repair", often(a, failed, least->failures));
	json_set(a, doc, "compound", often(a, rows, least->repeats));
	return doc;
}

/* ---- two of them ---- */

struct json *trace_diff(struct arena *a, const struct json *x, const struct json *y)
{
	struct json *list = json_new(a, JSON_ARRAY), *names = json_new(a, JSON_OBJECT),
		    *none = json_new(a, JSON_NULL);

	json_each_member (m, x)
		json_setb(a, names, m->name, true);
	json_each_member (m, y)
		json_setb(a, names, m->name, true);
	json_sort_members(names);
	json_each_member (m, names) {
		struct json *was = json_get(x, m->name), *is = json_get(y, m->name);
		was = was ? was : none;
		is = is ? is : none;
		if (json_eq(was, is) || text_eq(m->name, "taskId") || text_eq(m->name, "replayHint"))
			continue;
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "field", m->name);
		json_set(a, one, "before", was);
		json_set(a, one, "after", is);
		json_push(a, list, one);
	}
	return list;
}

/* ---- export ---- */

/* Most texts need no escape: those are copied. */
static void put_text(struct buf *to, const char *text)
{
	size_t n = 0;

	while ((unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7f && text[n] != '"' &&
		text[n] != '\\')
		n++;
	if (text[n]) {
		json_write(to, json_string(to->a, text), 0);
		return;
	}
	char *p = buf_room(to, n + 2);
	p[0] = '"';
	memcpy(p + 1, text, n);
	p[n + 1] = '"';
	p[n + 2] = '\0';
	to->n += n + 2;
}

#define PUT(to, literal) buf_add(to, literal, sizeof(literal) - 1)

static void attribute(struct buf *to, const char *before, size_t before_n, const char *value)
{
	if (!value)
		return;
	buf_add(to, before, before_n);
	put_text(to, value);
	PUT(to, "}}");
}
#define ATTRIBUTE(to, key, value) \
	attribute(to, ",{\"key\":\"" key "\",\"value\":{\"stringValue\":", \
		sizeof(",{\"key\":\"" key "\",\"value\":{\"stringValue\":") - 1, value)

static void put_nanos(struct buf *to, int64_t us)
{
	char digits[24];
	size_t n = sizeof(digits);

	for (us = us < 0 ? 0 : us; us || n == sizeof(digits); us /= 10)
		digits[--n] = (char)('0' + us % 10);
	buf_add(to, digits + n, sizeof(digits) - n);
	PUT(to, "000");
}

static int64_t time_of(const struct json *row, const char *name)
{
	const struct json *v = json_get(row, name);
	int64_t us;

	return json_is(v, JSON_STRING) && (text_parse_time(v->text, v->n, &us) || memory_time(v->text, &us))
		? us
		: 0;
}

/* Ids are digests of the task's: the same task is the same trace, whoever exports it. */
void trace_span_put(struct buf *to, const struct json *row)
{
	const char *id = json_get_text(row, "task_id", ""), *tool = tool_of(row),
		   *outcome = outcome_of(json_get_text(row, "status", ""));
	const struct json *failure = json_get(row, "failure_signature");
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];
	int64_t from = time_of(row, "started_execution_at"), end = time_of(row, "finished_at");

	from = from ? from : time_of(row, "started_at");
	sha256(id, strlen(id), digest);
	hex_encode(digest, SHA256_SIZE, hex);
	PUT(to, "{\"traceId\":\"");
	buf_add(to, hex, 32);
	PUT(to, "\",\"spanId\":\"");
	buf_add(to, hex + 32, 16);
	PUT(to, "\",\"name\":");
	const size_t name = to->n;
	put_text(to, tool);
	/* "execute_tool X": the text is quoted already. */
	static const char verb[] = "execute_tool ";
	(void)buf_room(to, sizeof(verb));
	memmove(to->p + name + sizeof(verb), to->p + name + 1, to->n - name);
	memcpy(to->p + name + 1, verb, sizeof(verb) - 1);
	to->n += sizeof(verb) - 1;
	PUT(to, ",\"kind\":1,\"startTimeUnixNano\":\"");
	put_nanos(to, from);
	PUT(to, "\",\"endTimeUnixNano\":\"");
	put_nanos(to, end > from ? end : from);
	PUT(to, "\",\"attributes\":[{\"key\":\"gen_ai.operation.name\",\"value\":{\"stringValue\":\"execute_tool\"}}");
	ATTRIBUTE(to, "gen_ai.tool.name", tool);
	ATTRIBUTE(to, "gen_ai.tool.call.id", id);
	ATTRIBUTE(to, "gen_ai.agent.name", json_get_text(row, "skill", NULL));
	ATTRIBUTE(to, "helm.task.name", json_get_text(row, "task_name", NULL));
	ATTRIBUTE(to, "helm.profile", json_get_text(row, "profile", NULL));
	ATTRIBUTE(to, "helm.outcome", outcome ? outcome : json_get_text(row, "status", ""));
	ATTRIBUTE(to, "helm.decision_id", json_get_text(row, "decision_id", NULL));
	ATTRIBUTE(to, "error.type", json_get_text(failure, "error_class", NULL));
	ATTRIBUTE(to, "helm.failure.fingerprint", json_get_text(failure, "fingerprint", NULL));
	if (outcome && text_eq(outcome, "completed"))
		PUT(to, "],\"status\":{\"code\":1}}\n");
	else
		PUT(to, "],\"status\":{\"code\":2}}\n");
}
