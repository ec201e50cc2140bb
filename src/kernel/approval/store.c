/* store.c — <state>/approvals.json: what waits for a person, and what a person has granted; and
 * <state>/approvals-log.jsonl: what became of it.
 *
 * The document is read for every question, so it holds only what waits and what is in force; whatever is
 * settled goes to the log, one row each, before it leaves the document.  So the time that a question takes
 * does not depend on how many were answered.
 *
 * One document under one lock, replaced whole.  It proves nothing by itself: a request counts only with the
 * signed decision it was made for, a grant only as the signed receipt it is.  What is in here and is
 * neither is passed over.  A file that cannot be understood is kept under another name, and made again
 * from the chain: standing grants are all there.  What waits is not, and is asked again; what may be used
 * once is not made again either, since whether it was taken a moment ago stood only in the document. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PENDING = 200 };
static const struct doc QUESTIONS = { .file = APPROVALS,
	.lock = "approvals.lock",
	.type = JSON_OBJECT,
	.max_bytes = 16 << 20,
	.code = "APPROVALS_FORMAT",
	.newest = 1 };
static const int64_t KEPT_US = INT64_C(7) * 86400 * 1000000;

/* ---- how things stand ---- */

/* A time that cannot be read is past, so that nothing lives for ever by a typing error. */
static bool is_past(const struct json *doc, const char *name, int64_t now_us)
{
	const char *text = json_get_text(doc, name, "");
	int64_t us;

	return !text_parse_time(text, strlen(text), &us) || us <= now_us;
}

/* An answer counts for ever; without one the request expires. */
const char *request_state(const struct json *entry, int64_t now_us)
{
	const char *response = json_get_text(entry, "response", NULL);

	if (response)
		return response;
	return is_past(json_get(entry, "request"), "expires_at", now_us) ? "expired" : "pending";
}

/* Revoked and used come before the time, because they end a grant for good. */
const char *grant_state(const struct json *entry, int64_t now_us)
{
	const struct json *grant = json_get(json_get(json_get(entry, "receipt"), "metadata"), "grant");

	if (json_get(entry, "revoked_at"))
		return "revoked";
	if (json_get(entry, "used_at"))
		return "used";
	return is_past(grant, "expires_at", now_us) ? "expired" : "in force";
}

/* ---- requests that wait in the log ---- */

/* {id: {expires_at, tenant}}: requests that gave their place in the document to newer ones and still wait.  Their entries stand in the log. */
#define WAITING_IN_LOG "waiting_in_log"

struct moved {
	struct arena *a;
	struct json *doc, *list; /* list: WAITING_IN_LOG */
	struct json *seen; /* ids of newer rows */
	int64_t now_us;
	size_t wanted; /* entries that are still looked for */
};

/* What the document keeps of an entry that only the log has: enough to count it. */
static struct json *moved_entry(struct arena *a, const struct json *entry)
{
	struct json *one = json_new(a, JSON_OBJECT);
	const char *tenant = json_get_text(json_get(json_get(entry, "receipt"), "metadata"), "tenant", NULL);

	json_sets(a, one, "expires_at", json_get_text(json_get(entry, "request"), "expires_at", ""));
	if (tenant)
		json_sets(a, one, "tenant", tenant);
	return one;
}

/* A request lives for a day, so a row that was written before that holds none that waits. */
static int find_moved(void *arg, struct json *row)
{
	struct moved *m = arg;
	const char *id = json_get_text(row, "id", "");
	const struct json *entry = json_get(row, "entry");

	if (is_past(row, "at", m->now_us - REQUEST_LASTS_US))
		return 1;
	if (!text_eq(json_get_text(row, "kind", ""), "request") || json_get(m->seen, id))
		return 0;
	json_setb(m->a, m->seen, id, true);
	if (text_eq(request_state(entry, m->now_us), "pending") &&
		!json_get(json_get(m->doc, "requests"), id))
		json_append(m->a, m->list, id, moved_entry(m->a, entry));
	return 0;
}

/* A full document of a version that did not note them: they are found in the log. */
static void note_moved(struct sys *s, struct arena *a, const struct workspace *ws, struct json *doc)
{
	if (json_get(doc, WAITING_IN_LOG) || json_get(doc, "requests")->n < MAX_PENDING)
		return;
	struct moved m = { .a = a,
		.doc = doc,
		.list = doc_part(a, doc, WAITING_IN_LOG),
		.seen = json_new(a, JSON_OBJECT),
		.now_us = s->now_us(s) };
	(void)!rows_back(s, NULL, ws->state_fd, APPROVALS_LOG, 0, NULL, find_moved, &m, NULL);
	/* The newest last, as they are moved. */
	for (uint32_t i = 0; i < m.list->n / 2; i++) {
		struct json_member other = m.list->members[i];
		m.list->members[i] = m.list->members[m.list->n - 1 - i];
		m.list->members[m.list->n - 1 - i] = other;
	}
}

/* Waits, and its entry is not in the document. */
static bool is_moved(const struct json *doc, const struct json_member *m, int64_t now_us)
{
	return !is_past(m->value, "expires_at", now_us) && !json_get(json_get(doc, "requests"), m->name);
}

size_t approvals_moved(const struct json *doc, int64_t now_us, const char *tenant, const char *home)
{
	size_t n = 0;

	json_each_member (m, json_get(doc, WAITING_IN_LOG))
		n += is_moved(doc, m, now_us) &&
			(!tenant || text_eq(json_get_text(m->value, "tenant", home), tenant));
	return n;
}

static int take_moved(void *arg, struct json *row)
{
	struct moved *m = arg;
	const char *id = json_get_text(row, "id", "");
	struct json *entry = json_get(row, "entry");

	if (!text_eq(json_get_text(row, "kind", ""), "request") || !json_get(m->list, id) ||
		json_get(m->seen, id))
		return 0;
	json_setb(m->a, m->seen, id, true);
	if (text_eq(request_state(entry, m->now_us), "pending"))
		json_set(m->a, json_get(m->doc, "requests"), id, json_copy(m->a, entry));
	return --m->wanted == 0;
}

/* The order in which they were asked and given. */
static int by_place(const void *x, const void *y)
{
	const struct json_member *a = x, *b = y;
	int64_t i = json_get_int(json_get(a->value, "receipt"), "lamport_clock", 0),
		j = json_get_int(json_get(b->value, "receipt"), "lamport_clock", 0);

	return i < j ? -1 : i > j;
}

static void sort_part(struct json *part)
{
	if (part->n)
		qsort(part->members, part->n, sizeof(*part->members), by_place);
}

int approvals_add_waiting(struct sys *s, struct arena *a, const struct workspace *ws, size_t most,
	struct json *doc, struct err *e)
{
	struct moved m = { .a = a,
		.doc = doc,
		.list = json_new(a, JSON_OBJECT),
		.seen = json_new(a, JSON_OBJECT),
		.now_us = s->now_us(s) };
	const struct json *all = json_get(doc, WAITING_IN_LOG);

	/* The newest of them stand at the end. */
	for (uint32_t i = all ? all->n : 0; i-- > 0 && json_get(doc, "requests")->n + m.wanted < most;)
		if (is_moved(doc, &all->members[i], m.now_us)) {
			json_setb(a, m.list, all->members[i].name, true);
			m.wanted++;
		}
	int rc = m.wanted ? rows_back(s, NULL, ws->state_fd, APPROVALS_LOG, 0, NULL, take_moved, &m, e) : OK;
	if (rc == OK)
		sort_part(json_get(doc, "requests"));
	return rc;
}

void approvals_count(const struct json *doc, int64_t now_us, size_t *ret_pending, size_t *ret_in_force)
{
	*ret_pending = *ret_in_force = 0;
	json_each_member (m, json_get(doc, "requests"))
		*ret_pending += text_eq(request_state(m->value, now_us), "pending");
	*ret_pending += approvals_moved(doc, now_us, NULL, NULL);
	json_each_member (m, json_get(doc, "grants"))
		*ret_in_force += text_eq(grant_state(m->value, now_us), "in force");
}

/* Over everything else in it. */
#define CHECK "check"
static const char *check_of(struct arena *a, const struct json *doc)
{
	struct json *rest = json_copy(a, doc);

	(void)json_remove(rest, CHECK);
	return json_sha256(a, rest);
}

/* A version that is not read here, in a document whose own sum does not hold: a changed digit, and no newer release. */
static bool is_flipped(struct sys *s, struct arena *a, const struct workspace *ws)
{
	struct json *doc;

	return doc_read(s, a, ws->state_fd, APPROVALS, QUESTIONS.max_bytes, 0, &doc, NULL) == OK &&
		json_get_text(doc, CHECK, NULL) && !text_eq(json_get_text(doc, CHECK, ""), check_of(a, doc));
}

static int replace(struct approval_store *st, struct err *e)
{
	json_sets(st->a, st->doc, CHECK, check_of(st->a, st->doc));
	return doc_replace(st->k->sys, st->a, st->k->ws->state_fd, &QUESTIONS, st->doc, e);
}

/* A missing file is an empty document; one of another form is an error, and then nothing is granted. */
int approvals_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct json *doc = NULL;
	struct err why = { 0 };
	int rc = doc_load(s, a, ws->state_fd, &QUESTIONS, &doc, &why);

	if (rc && doc_is_newer(&why) && is_flipped(s, a, ws))
		return err_set(e, E_CORRUPT, "APPROVALS_FORMAT",
			"%s was changed: its version is not one that was written here", APPROVALS);
	if (rc)
		return err_set(e, rc, why.code, "%s", why.text);
	if (rc == OK && !doc->n)
		json_seti(a, doc, "version", 1);
	if (rc == OK &&
		(json_get_int(doc, "version", 0) != 1 ||
			!json_is(doc_part(a, doc, "requests"), JSON_OBJECT) ||
			!json_is(doc_part(a, doc, "grants"), JSON_OBJECT) ||
			(json_get(doc, WAITING_IN_LOG) &&
				!json_is(json_get(doc, WAITING_IN_LOG), JSON_OBJECT))))
		rc = err_set(e, E_CORRUPT, "APPROVALS_FORMAT", "%s is not a document of approvals, version 1",
			APPROVALS);
	if (rc == OK) {
		note_moved(s, a, ws, doc);
		*ret = doc;
	}
	return rc;
}

/* ---- changing ---- */

bool approval_is_long_past(const struct json *doc, const char *name, int64_t now_us)
{
	return is_past(doc, name, now_us - KEPT_US);
}

/* A row of the log: which one, and the entry as it was in the document.  Only the last row is waited for:
 * that covers those before it. */
static int log_settled(struct approval_store *st, const char *kind, const char *id, const struct json *entry,
	bool is_last, struct err *e)
{
	struct kernel *k = st->k;
	struct json *row = json_new(st->a, JSON_OBJECT);

	json_sets(st->a, row, "kind", kind);
	json_sets(st->a, row, "id", id);
	json_sets(st->a, row, "at", text_time_z(st->a, k->sys->now_us(k->sys)));
	json_set(st->a, row, "entry", (struct json *)(uintptr_t)entry);
	return is_last ? ledger_append(k->sys, st->a, k->ws->state_fd, APPROVALS_LOG, row, NULL, e)
		       : ledger_note(k->sys, st->a, k->ws->state_fd, APPROVALS_LOG, row, e);
}

/* What is to leave the document: "settled" entries by their state, and of those that wait the oldest beyond
 * what a person would read. */
struct leaving {
	const char **ids;
	bool *are_grants;
	size_t n;
};

static void choose_leaving(struct approval_store *st, int64_t now_us, struct leaving *ret)
{
	size_t all = st->requests->n + st->grants->n + 1, pending = 0;

	ret->ids = arena_zalloc(st->a, all, sizeof(*ret->ids));
	ret->are_grants = arena_zalloc(st->a, all, sizeof(*ret->are_grants));
	ret->n = 0;
	json_each_member (m, st->requests)
		pending += text_eq(request_state(m->value, now_us), "pending");
	json_each_member (m, st->requests) {
		bool waits = text_eq(request_state(m->value, now_us), "pending");
		if (waits && pending <= MAX_PENDING)
			continue;
		pending -= waits;
		ret->ids[ret->n++] = m->name;
	}
	json_each_member (m, st->grants)
		if (!text_eq(grant_state(m->value, now_us), "in force")) {
			ret->are_grants[ret->n] = true;
			ret->ids[ret->n++] = m->name;
		}
}

/* Of those that wait in the log: one more, or, when it is settled, one less; and none that has expired or is back in the document. */
static void keep_moved(struct approval_store *st, const struct leaving *l, int64_t now_us)
{
	struct json *kept = json_new(st->a, JSON_OBJECT);

	json_each_member (m, json_get(st->doc, WAITING_IN_LOG))
		if (is_moved(st->doc, m, now_us))
			json_append(st->a, kept, m->name, m->value);
	for (size_t i = 0; i < l->n; i++) {
		const struct json *entry = l->are_grants[i] ? NULL : json_get(st->requests, l->ids[i]);
		if (entry && text_eq(request_state(entry, now_us), "pending"))
			json_append(st->a, kept, l->ids[i], moved_entry(st->a, entry));
	}
	/* Also when there are none: a full document without it is searched for in the log. */
	if (kept->n || json_get(st->doc, WAITING_IN_LOG) || st->requests->n >= MAX_PENDING)
		json_set(st->a, st->doc, WAITING_IN_LOG, kept);
}

/* The log first: killed in between, an entry stands in both, and readers take it once. */
static int move_settled(struct approval_store *st, struct err *e)
{
	struct leaving l;
	int64_t now_us = st->k->sys->now_us(st->k->sys);
	int rc = OK;

	choose_leaving(st, now_us, &l);
	for (size_t i = 0; rc == OK && i < l.n; i++)
		rc = log_settled(st, l.are_grants[i] ? "grant" : "request", l.ids[i],
			json_get(l.are_grants[i] ? st->grants : st->requests, l.ids[i]), i + 1 == l.n, e);
	if (rc == OK)
		keep_moved(st, &l, now_us);
	for (size_t i = 0; rc == OK && i < l.n; i++)
		(void)json_remove(l.are_grants[i] ? st->grants : st->requests, l.ids[i]);
	return rc;
}

int approval_store_write(struct approval_store *st, struct err *e)
{
	struct buf text;
	int rc = move_settled(st, e);

	if (rc)
		return rc;
	buf_init(&text, st->a);
	json_write(&text, st->doc, JSON_INDENT);
	if (text.n >= QUESTIONS.max_bytes)
		return err_set(e, E_LIMIT, "APPROVALS_FULL",
			"%s would be larger than can be read again; answer requests, and revoke grants that are no longer "
			"needed: helm approval list",
			APPROVALS);
	return replace(st, e);
}

/* ---- what cannot be read ---- */

/* Under a name that is free, so that nothing is lost.  "" when there is nothing to keep. */
static int put_aside(struct approval_store *st, const char **ret_name, struct err *e)
{
	struct sys *s = st->k->sys;
	int fd = st->k->ws->state_fd;
	int64_t now_s = s->now_us(s) / 1000000;

	for (int i = 0; i < 100; i++) {
		const char *name = arena_printf(
			st->a, "%s.damaged-%lld%s%.0d", APPROVALS, (long long)now_s, i ? "-" : "", i);
		if (s->rename(s, fd, APPROVALS, fd, name, RENAME_NOREPLACE) == 0) {
			*ret_name = name;
			return OK;
		}
		if (errno == ENOENT) {
			*ret_name = "";
			return OK;
		}
		if (errno != EEXIST)
			break;
	}
	return err_sys(e, "APPROVALS_FORMAT", "cannot put %s aside", APPROVALS);
}

/* It was removed, although something was granted here. */
static bool is_lost(struct kernel *k, struct arena *a)
{
	return !file_exists(k->sys, k->ws->state_fd, APPROVALS) && grants_were_given(k, a);
}

/* Under the lock. */
static int make_again(struct approval_store *st, const char *why, const char **ret_note, struct err *e)
{
	struct kernel *k = st->k;
	struct json *alive;
	const char *name;
	size_t once = 0;
	int rc = grants_alive(k, st->a, &alive, e);

	if (rc == OK)
		rc = put_aside(st, &name, e);
	if (rc)
		return rc;
	st->doc = json_new(st->a, JSON_OBJECT);
	json_seti(st->a, st->doc, "version", 1);
	st->requests = doc_part(st->a, st->doc, "requests");
	st->grants = doc_part(st->a, st->doc, "grants");
	json_each_member (m, alive) {
		const struct json *grant = json_get(json_get(m->value, "metadata"), "grant");
		if (is_past(grant, "expires_at", k->sys->now_us(k->sys)))
			continue;
		if (json_get_bool(grant, "once", true)) {
			once++;
			continue;
		}
		json_set(st->a, doc_part(st->a, st->grants, m->name), "receipt", m->value);
	}
	if (ret_note)
		*ret_note = arena_printf(st->a,
			"%s%s%s%s; of the grants in force %u were made again from the record; %zu for one "
			"use, and whatever waited, must be asked again",
			why, *name ? " (kept as " : "", name, *name ? ")" : "", st->grants->n, once);
	return replace(st, e);
}

/* The lock is held until approval_store_close(), so what is read is what is replaced. */
static int open_store(
	struct approval_store *st, struct kernel *k, struct arena *a, const char **ret_note, struct err *e)
{
	struct err why = { 0 };
	int rc = doc_lock(k->sys, k->ws->state_fd, &QUESTIONS, &st->lock_fd, e);

	st->k = k;
	st->a = a;
	if (rc)
		return rc;
	if (is_lost(k, a))
		return make_again(st, APPROVALS " is gone", ret_note, e);
	rc = approvals_load(k->sys, a, k->ws, &st->doc, &why);
	if (rc && doc_is_damage(&why))
		return make_again(st, why.text, ret_note, e);
	if (rc)
		return err_set(e, rc, why.code, "%s", why.text);
	st->requests = json_get(st->doc, "requests");
	st->grants = json_get(st->doc, "grants");
	return OK;
}

int approval_store_open(struct approval_store *st, struct kernel *k, struct arena *a, struct err *e)
{
	return open_store(st, k, a, NULL, e);
}

void approval_store_close(struct approval_store *st)
{
	close_fd(&st->lock_fd);
	st->lock_fd = -1;
}

int approvals_restore(
	struct kernel *k, struct arena *a, struct json **ret, const char **ret_note, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct err why = { 0 };
	int rc = approvals_load(k->sys, a, k->ws, ret, &why);

	*ret_note = NULL;
	if (rc && e)
		*e = why;
	if (rc == OK ? !is_lost(k, a) : !doc_is_damage(&why))
		return rc;
	rc = open_store(&st, k, a, ret_note, e);
	if (rc == OK)
		*ret = st.doc;
	return rc;
}

/* ---- the log ---- */

struct settled {
	struct arena *a;
	struct json *doc, *list; /* rows, the newest first */
	size_t most;
	const char *kind, *id;
	struct json *found;
	bool has_more;
};

static int collect(void *arg, struct json *row)
{
	struct settled *c = arg;

	c->has_more = c->list->n == c->most;
	if (!c->has_more)
		json_push(c->a, c->list, row);
	return c->has_more;
}

/* A row may stand there twice, and an entry in the document is newer than any row about it. */
int approvals_add_settled(struct sys *s, struct arena *a, const struct workspace *ws, size_t n,
	struct json *doc, bool *ret_more, struct err *e)
{
	struct settled c = { .a = a, .list = json_new(a, JSON_ARRAY), .most = n };
	struct json *seen = json_new(a, JSON_OBJECT);
	int rc = rows_back(s, a, ws->state_fd, APPROVALS_LOG, n + 1, NULL, collect, &c, e);

	if (rc)
		return rc;
	/* The newest row about each, from the oldest on. */
	for (uint32_t i = 0; i < c.list->n; i++) {
		const char *id = json_get_text(c.list->items[i], "id", "");
		if (json_get(seen, id))
			json_sets(a, c.list->items[i], "id", "");
		else
			json_setb(a, seen, id, true);
	}
	for (uint32_t i = c.list->n; i-- > 0;) {
		const struct json *row = c.list->items[i];
		const char *id = json_get_text(row, "id", ""), *kind = json_get_text(row, "kind", "");
		struct json *part = json_get(doc, text_eq(kind, "grant") ? "grants" : "requests");
		if (*id && json_is(json_get(row, "entry"), JSON_OBJECT) && !json_get(part, id))
			json_set(a, part, id, json_get(row, "entry"));
	}
	sort_part(json_get(doc, "requests"));
	sort_part(json_get(doc, "grants"));
	if (ret_more)
		*ret_more = c.has_more;
	return OK;
}

static int find_row(void *arg, struct json *row)
{
	struct settled *c = arg;

	if (text_eq(json_get_text(row, "id", ""), c->id) &&
		text_eq(json_get_text(row, "kind", ""), c->kind) &&
		json_is(json_get(row, "entry"), JSON_OBJECT))
		c->found = json_get(row, "entry");
	return c->found != NULL;
}

struct json *approvals_find_settled(
	struct sys *s, struct arena *a, const struct workspace *ws, bool is_grant, const char *id)
{
	struct settled c = { .kind = is_grant ? "grant" : "request", .id = id };

	(void)!rows_back(s, a, ws->state_fd, APPROVALS_LOG, 0, id, find_row, &c, NULL);
	return c.found;
}
