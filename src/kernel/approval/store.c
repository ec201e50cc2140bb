/* store.c — <state>/approvals.json: what waits for a person, and what a person has granted.
 *
 * One document under one lock, replaced whole.  It proves nothing by itself: a request counts only with the
 * signed decision it was made for, a grant only as the signed receipt it is.  What is in here and is
 * neither is passed over.  A file that cannot be understood grants nothing. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/parts.h"

#include <fcntl.h>
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

/* The lock is held until approval_store_close(), so what is read is what is replaced. */
int approval_store_open(struct approval_store *st, struct kernel *k, struct arena *a, struct err *e)
{
	int rc = doc_lock(k->sys, k->ws->state_fd, &QUESTIONS, &st->lock_fd, e);

	st->k = k;
	st->a = a;
	if (rc == OK)
		rc = approvals_load(k->sys, a, k->ws, &st->doc, e);
	if (rc)
		return rc;
	st->requests = json_get(st->doc, "requests");
	st->grants = json_get(st->doc, "grants");
	return OK;
}

void approval_store_close(struct approval_store *st)
{
	close_fd(&st->lock_fd);
	st->lock_fd = -1;
}

/* Settled long ago.  It may go from the document, because its history is in the receipts. */
static bool is_old(const struct json *entry, const struct json *about, int64_t now_us)
{
	static const char *const ends[] = { "resolved_at", "used_at", "revoked_at" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (json_get(entry, ends[i]) && !json_is(json_get(entry, ends[i]), JSON_NULL))
			return is_past(entry, ends[i], now_us - KEPT_US);
	return is_past(about, "expires_at", now_us - KEPT_US);
}

/* Settled entries go after a week; of those that wait, only the newest are kept. */
static void prune(struct approval_store *st, int64_t now_us)
{
	size_t pending, in_force;

	for (uint32_t i = st->requests->n; i-- > 0;) {
		const struct json_member *m = &st->requests->members[i];
		if (is_old(m->value, json_get(m->value, "request"), now_us))
			(void)json_remove(st->requests, m->name);
	}
	for (uint32_t i = st->grants->n; i-- > 0;) {
		const struct json_member *m = &st->grants->members[i];
		const struct json *about =
			json_get(json_get(json_get(m->value, "receipt"), "metadata"), "grant");
		if (is_old(m->value, about, now_us))
			(void)json_remove(st->grants, m->name);
	}
	/* Nobody reads the two hundred and first: the oldest give way. */
	approvals_count(st->doc, now_us, &pending, &in_force);
	for (uint32_t i = 0; pending > MAX_PENDING && i < st->requests->n;) {
		const struct json_member *m = &st->requests->members[i];
		if (!text_eq(request_state(m->value, now_us), "pending")) {
			i++;
			continue;
		}
		(void)json_remove(st->requests, m->name);
		pending--;
	}
}

int approval_store_write(struct approval_store *st, struct err *e)
{
	struct kernel *k = st->k;

	prune(st, k->sys->now_us(k->sys));
	return doc_replace(k->sys, st->a, k->ws->state_fd, &QUESTIONS, st->doc, e);
}
