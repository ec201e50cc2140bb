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
	.code = "APPROVALS_FORMAT" };
static const int64_t KEPT_US = INT64_C(7) * 86400 * 1000000;

/* A missing file is an empty document; one of another form is an error, and then nothing is granted. */
int approvals_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct json *doc = NULL;
	int rc = doc_load(s, a, ws->state_fd, &QUESTIONS, &doc, e);

	if (rc == OK && !doc->n)
		json_seti(a, doc, "version", 1);
	if (rc == OK &&
		(json_get_int(doc, "version", 0) != 1 ||
			!json_is(doc_part(a, doc, "requests"), JSON_OBJECT) ||
			!json_is(doc_part(a, doc, "grants"), JSON_OBJECT)))
		rc = err_set(e, E_CORRUPT, "APPROVALS_FORMAT", "%s is not a document of approvals, version 1",
			APPROVALS);
	if (rc == OK)
		*ret = doc;
	return rc;
}

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

void approvals_count(const struct json *doc, int64_t now_us, size_t *ret_pending, size_t *ret_in_force)
{
	*ret_pending = *ret_in_force = 0;
	json_each_member (m, json_get(doc, "requests"))
		*ret_pending += text_eq(request_state(m->value, now_us), "pending");
	json_each_member (m, json_get(doc, "grants"))
		*ret_in_force += text_eq(grant_state(m->value, now_us), "in force");
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
	size_t all = st->requests->n + st->grants->n + 1, pending, in_force;

	ret->ids = arena_zalloc(st->a, all, sizeof(*ret->ids));
	ret->are_grants = arena_zalloc(st->a, all, sizeof(*ret->are_grants));
	ret->n = 0;
	approvals_count(st->doc, now_us, &pending, &in_force);
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

/* The log first: killed in between, an entry stands in both, and readers take it once. */
static int move_settled(struct approval_store *st, struct err *e)
{
	struct leaving l;
	int rc = OK;

	choose_leaving(st, st->k->sys->now_us(st->k->sys), &l);
	for (size_t i = 0; rc == OK && i < l.n; i++)
		rc = log_settled(st, l.are_grants[i] ? "grant" : "request", l.ids[i],
			json_get(l.are_grants[i] ? st->grants : st->requests, l.ids[i]), i + 1 == l.n, e);
	for (size_t i = 0; rc == OK && i < l.n; i++)
		(void)json_remove(l.are_grants[i] ? st->grants : st->requests, l.ids[i]);
	return rc;
}

int approval_store_write(struct approval_store *st, struct err *e)
{
	struct kernel *k = st->k;
	struct buf text;
	int rc = move_settled(st, e);

	if (rc)
		return rc;
	buf_init(&text, st->a);
	json_write(&text, st->doc, JSON_INDENT);
	if (text.n >= QUESTIONS.max_bytes)
		return err_set(e, E_LIMIT, "APPROVALS_FULL",
			"%s would be larger than can be read again; revoke grants that are no longer needed: "
			"helm approval list",
			APPROVALS);
	return doc_replace(k->sys, st->a, k->ws->state_fd, &QUESTIONS, st->doc, e);
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

/* The content is wrong; anything else (no access, a failing disk) is not mended by making it again. */
static bool is_damage(int rc)
{
	return rc == E_CORRUPT || rc == E_LIMIT || rc == E_INPUT;
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
	return doc_replace(k->sys, st->a, k->ws->state_fd, &QUESTIONS, st->doc, e);
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
	if (is_damage(rc))
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
	int rc = approvals_load(k->sys, a, k->ws, ret, e);

	*ret_note = NULL;
	if (!is_damage(rc) && !(rc == OK && is_lost(k, a)))
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
