/* memory_page.c — the page of a new session, with what the chain says about each line of it.
 *
 * Ledgers and files of memory lie in the tree, and a tree is not believed: a clone may bring both.  So a line is told only when a receipt stands for it
 * that is whole and signed by a key of this user. */
#include "kernel/memory.h"

#include "kernel/posture.h"
#include "kernel/sources.h"
#include "proof/preimage.h"

struct vouching {
	struct sys *sys;
	const struct workspace *ws;
	struct json *known; /* {what was asked: short id, or ""} */
	/* the question at hand */
	struct arena *a;
	const char *id, *digest;
	bool is_open; /* a task that has not ended, or was refused: its decision is all that there is */
	const char *found; /* or NULL */
};

static bool has_digest(const struct json *receipt, const char *digest)
{
	json_each (one, json_get(json_get(receipt, "metadata"), "rows_sha256"))
		if (json_text(one) && text_eq(json_text(one), digest))
			return true;
	return false;
}

/* 1: this one stands for it. */
static int take(struct vouching *v, const struct json *receipt)
{
	if (!receipt_is_of_user(v->sys, v->a, v->ws, receipt))
		return 0;
	v->found = receipt_id_short(v->a, json_get_text(receipt, "receipt_id", ""));
	return 1;
}

static int look_for_event(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct vouching *v = arg;
	const struct json *about = json_get(receipt, "metadata");

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!text_eq(json_get_text(about, "entry_id", ""), v->id) ||
		!text_eq(json_get_text(about, "entry_sha256", ""), v->digest) ||
		!memory_receipt_permits(receipt))
		return 0;
	return take(v, receipt);
}

/* The receipt that has the digest of the row; of a task that is open, the one of its decision. */
static int look_for_row(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct vouching *v = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!text_eq(json_get_text(json_get(receipt, "metadata"), "task_id", ""), v->id))
		return 0;
	bool is_decision = v->is_open && text_eq(json_get_text(receipt, "type", ""), "decision");
	return is_decision || has_digest(receipt, v->digest) ? take(v, receipt) : 0;
}

static const char *ask(struct vouching *v, struct arena *a, const char *id, const char *digest, int64_t clock,
	receipt_back *look)
{
	const struct receipts_wanted want = { .text = id, .clock = clock, .bytes = MEMORY_PAGE_BYTES };
	const char *key = arena_printf(a, "%s %s", id, digest), *known = json_get_text(v->known, key, NULL);

	if (known)
		return *known ? known : NULL;
	v->a = a;
	v->id = id;
	v->digest = digest;
	v->found = NULL;
	/* What cannot be read stands for nothing. */
	if (text_is_plain(id))
		(void)receipts_back(v->sys, v->ws->state_fd, &want, look, v, NULL);
	json_sets(a, v->known, key, v->found ? v->found : "");
	return v->found;
}

static const char *of_event(void *arg, struct arena *a, const char *id, const char *sha256, int64_t clock)
{
	return ask(arg, a, id, sha256, clock, look_for_event);
}

static const char *of_row(void *arg, struct arena *a, const struct json *row)
{
	static const char *const open[] = { "queued", "running", "blocked", "blocked_by_pause",
		"handoff_required", "browser_blocked", "browser_requires_approval" };
	struct vouching *v = arg;
	char digest[SHA256_HEX];

	v->is_open = false;
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		v->is_open |= text_eq(json_get_text(row, "status", ""), open[i]);
	ledger_row_digest(a, row, digest);
	return ask(v, a, json_get_text(row, "task_id", ""), arena_strdup(a, digest), 0, look_for_row);
}

int memory_page(struct sys *s, struct arena *a, const struct workspace *ws, struct context_packing *p,
	struct json **ret, struct json *warnings, struct err *e)
{
	struct context_place at = sources_place(s, a, ws);
	struct vouching v = { .sys = s, .ws = ws, .known = json_new(a, JSON_OBJECT) };
	const struct page_record record = { of_row, of_event, &v };

	p->record = &record;
	int rc = context_pack(&at, p, ret, warnings, e);
	p->record = NULL;
	return rc;
}
