/* entry.c — what was written down: events in a ledger, and what they add up to.
 *
 * An entry is made by an event (write, queue, merge) and is changed only by later ones, so that nothing that was ever remembered
 * disappears.  The line in the file names its entry; the entry names its receipt; the receipt has the digest of the entry. */
#include "base/hash.h"
#include "record/record.h"
#include "remember/parts.h"

#include <stdlib.h>
#include <string.h>

#define MARK "<!-- "
#define MARK_END " -->"

static const char *const trust_names[TRUST_COUNT] = {
#define MEMORY_TRUST_NAME(id, name) name,
	MEMORY_TRUSTS(MEMORY_TRUST_NAME)
#undef MEMORY_TRUST_NAME
};

const char *memory_trust_name(enum memory_trust t)
{
	return trust_names[t];
}

bool memory_trust_parse(const char *name, enum memory_trust *ret)
{
	for (size_t i = 0; i < TRUST_COUNT; i++)
		if (text_eq(name, trust_names[i])) {
			*ret = (enum memory_trust)i;
			return true;
		}
	return false;
}

static bool is_entry_id(const uint8_t *p)
{
	if (memcmp(p, "mem-", 4) != 0)
		return false;
	for (size_t i = 4; i < MEMORY_ID; i++)
		if (p[i] < '0' || p[i] > '9')
			return false;
	return true;
}

bool memory_line_entry(struct bytes line, char ret_id[MEMORY_ID + 1], struct bytes *ret_text)
{
	enum { WHOLE = sizeof(MARK) - 1 + MEMORY_ID + sizeof(MARK_END) - 1 };

	while (line.n && memchr(" \t\r", line.p[line.n - 1], 3))
		line.n--;
	*ret_text = line;
	if (line.n < WHOLE)
		return false;
	const uint8_t *mark = line.p + line.n - WHOLE;
	if (memcmp(mark, MARK, strlen(MARK)) != 0 || !is_entry_id(mark + strlen(MARK)) ||
		memcmp(mark + strlen(MARK) + MEMORY_ID, MARK_END, strlen(MARK_END)) != 0)
		return false;
	memcpy(ret_id, mark + strlen(MARK), MEMORY_ID);
	ret_id[MEMORY_ID] = '\0';
	line.n -= WHOLE;
	while (line.n && memchr(" \t", line.p[line.n - 1], 2))
		line.n--;
	*ret_text = line;
	return true;
}

char *memory_event_sha256(struct arena *a, const struct json *event)
{
	struct json *bare = json_copy(a, event);

	(void)json_remove(bare, "receipt_id");
	(void)json_remove(bare, "receipt_clock");
	return json_sha256(a, bare);
}

bool memory_receipt_permits(const struct json *receipt)
{
	return text_eq(json_get_text(receipt, "verdict", ""), "ALLOW") ||
		text_eq(json_get_text(receipt, "type", ""), "memory");
}

/* ---- what the events add up to ---- */

struct adding {
	struct arena *a;
	struct json *entries;
	bool is_mixed; /* not by id, as they are when only this program wrote them */
	bool is_bound; /* each has the digests that receipts of it have */
	size_t damaged;
};

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct json_member *)x)->name, ((const struct json_member *)y)->name);
}

struct json *memory_entry(const struct json *entries, const char *id)
{
	const struct json_member key = { .name = id }, *m = json_members(entries);

	if (m && entries->n)
		m = bsearch(&key, m, entries->n, sizeof(*m), by_name);
	return m && entries->n ? m->value : NULL;
}

static struct json *find_entry(struct adding *x, const char *id)
{
	return x->is_mixed ? json_get(x->entries, id) : memory_entry(x->entries, id);
}

static void put_entry(struct adding *x, const char *id, struct json *entry)
{
	const struct json *all = x->entries;

	if (!x->is_mixed && (!all->n || strcmp(all->members[all->n - 1].name, id) < 0)) {
		json_append(x->a, x->entries, id, entry);
		return;
	}
	x->is_mixed = true;
	json_set(x->a, x->entries, id, entry);
}

bool memory_entry_is_replaced(const struct json *entry, const char *but_by)
{
	json_each (id, json_get(entry, "superseded_by"))
		if (!text_eq(json_text(id), but_by))
			return true;
	return false;
}

static void close_entry(struct adding *x, const char *id, const char *state, const struct json *event)
{
	struct json *entry = find_entry(x, id);

	if (!entry)
		return;
	if (!json_get(entry, "window_until")) /* how far it was to hold, should it hold again */
		json_set(x->a, entry, "window_until", json_get(entry, "valid_until"));
	json_sets(x->a, entry, "state", state);
	json_sets(x->a, entry, "valid_until", json_get_text(event, "timestamp", NULL));
	json_sets(x->a, entry, "closed_by", json_get_text(event, "id", NULL));
}

/* `by` took its place, and does not any more.  It holds again when nothing else took it, too. */
static void reopen_entry(struct adding *x, const char *id, const char *by)
{
	struct json *entry = find_entry(x, id), *rest = json_new(x->a, JSON_ARRAY);

	json_each (one, json_get(entry, "superseded_by"))
		if (!text_eq(json_text(one), by))
			json_push(x->a, rest, one);
	if (entry && rest->n)
		json_set(x->a, entry, "superseded_by", rest);
	else if (entry)
		(void)json_remove(entry, "superseded_by");
	if (!entry || rest->n || !text_eq(json_get_text(entry, "state", ""), "superseded"))
		return;
	json_sets(x->a, entry, "state", "current");
	json_sets(x->a, entry, "valid_until", json_get_text(entry, "window_until", NULL));
	(void)json_remove(entry, "window_until");
	(void)json_remove(entry, "closed_by");
}

static void supersede(struct adding *x, const char *id, const char *by, const struct json *event)
{
	struct json *entry = find_entry(x, id);

	if (!entry)
		return;
	close_entry(x, id, "superseded", event);
	json_pushs(x->a, doc_part_list(x->a, entry, "superseded_by"), by);
}

static int add_event(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct adding *x = arg;
	const char *event = json_get_text(row, "event", ""), *id = json_get_text(row, "id", ""),
		   *about = json_get_text(row, "entry", "");

	(void)place;
	(void)line;
	(void)e;
	if (!row || !*id) {
		x->damaged++;
		return 0;
	}
	if (text_eq(event, "write") || text_eq(event, "merge") || text_eq(event, "queue")) {
		struct json *entry = json_copy(x->a, row);
		(void)json_remove(entry, "superseded_by"); /* only what later events say */
		(void)json_remove(entry, "window_until");
		if (x->is_bound)
			json_sets(x->a, entry, "event_sha256", memory_event_sha256(x->a, row));
		json_sets(x->a, entry, "state", text_eq(event, "queue") ? "waiting" : "current");
		put_entry(x, id, entry);
	} else if (text_eq(event, "accept")) {
		struct json *entry = find_entry(x, about);
		if (entry) {
			json_sets(x->a, entry, "state", "current");
			json_sets(x->a, entry, "accepted_by", json_get_text(row, "writer", NULL));
			json_sets(x->a, entry, "accepted_at", json_get_text(row, "timestamp", NULL));
			if (x->is_bound) {
				json_sets(x->a, entry, "accept_id", id);
				json_sets(x->a, entry, "accept_sha256", memory_event_sha256(x->a, row));
				json_sets(x->a, entry, "accepts_sha256",
					json_get_text(row, "accepts_sha256", NULL));
				json_seti(x->a, entry, "accept_clock", json_get_int(row, "receipt_clock", 0));
			}
		}
	} else if (text_eq(event, "reject")) {
		close_entry(x, about, "rejected", row);
	} else if (text_eq(event, "revert")) {
		close_entry(x, about, "reverted", row);
		json_each (old, json_get(find_entry(x, about), "supersedes"))
			if (json_text(old))
				reopen_entry(x, json_text(old), about);
	}
	bool is_accept = text_eq(event, "accept");
	if (!text_eq(event, "queue")) /* what waits supersedes nothing yet */
		json_each (old, json_get(is_accept ? find_entry(x, about) : row, "supersedes"))
			if (json_text(old))
				supersede(x, json_text(old), is_accept ? about : id, row);
	return 0;
}

static int load_entries(struct memory_place *m, struct arena *a, bool is_bound, struct json **ret,
	size_t *ret_damaged, struct err *e)
{
	struct adding x = { .a = a, .entries = json_new(a, JSON_OBJECT), .is_bound = is_bound };
	int rc = rows_each(m->sys, m->state_fd, MEMORY_ENTRIES, 0, add_event, &x, e);

	if (rc < 0)
		return rc;
	if (x.is_mixed)
		qsort(x.entries->members, x.entries->n, sizeof(*x.entries->members), by_name);
	*ret = x.entries;
	*ret_damaged = x.damaged;
	return OK;
}

int memory_entries(
	struct memory_place *m, struct arena *a, struct json **ret, size_t *ret_damaged, struct err *e)
{
	return load_entries(m, a, false, ret, ret_damaged, e);
}

int memory_entries_bound(struct memory_place *m, struct arena *a, struct json **ret, struct err *e)
{
	size_t damaged;

	return load_entries(m, a, true, ret, &damaged, e);
}

bool memory_entry_holds(const struct json *entry, int64_t now_us)
{
	const char *from = json_get_text(entry, "valid_from", ""),
		   *until = json_get_text(entry, "valid_until", "");
	int64_t us;

	if (!text_eq(json_get_text(entry, "state", ""), "current"))
		return false;
	if (memory_time(from, &us) && us > now_us)
		return false;
	return !memory_time(until, &us) || us > now_us;
}

/* ---- sources ---- */

static int has_receipt(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	const char **id = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!text_eq(json_get_text(receipt, "receipt_id", ""), *id) &&
		!text_eq(json_get_text(receipt, "decision_id", ""), *id))
		return 0;
	*id = NULL;
	return 1;
}

/* What came out of a run that talked to the network was fetched. */
enum memory_trust memory_trust_of_task(const struct json *row)
{
	const struct json *harness = json_get(json_get(row, "meta"), "harness");
	bool is_closed = json_get_bool(json_get(row, "protections"), "network_closed", false);

	if (text_eq(json_get_text(row, "runtime_backend", ""), "conversation"))
		return TRUST_AGENT;
	if (json_is(json_get(harness, "browser_evidence"), JSON_OBJECT) ||
		json_is(json_get(harness, "retrieval_evidence"), JSON_OBJECT))
		return TRUST_FETCHED;
	return is_closed ? TRUST_TOOL : TRUST_FETCHED;
}

static int find_source(struct memory_place *m, struct arena *a, const struct json *entries, const char *kind,
	const char *id, enum memory_trust *ret, struct err *e)
{
	struct receipts_wanted want = { .text = text_is_plain(id) ? id : NULL };
	const struct json *entry;
	const char *sought = id;
	struct json *row = NULL;
	int rc = OK;

	*ret = TRUST_TOOL;
	if (text_eq(kind, "url")) {
		*ret = TRUST_FETCHED;
	} else if (text_eq(kind, "memory")) {
		entry = memory_entry(entries, id);
		if (!entry || !memory_trust_parse(json_get_text(entry, "trust", ""), ret))
			return err_set(e, E_MISSING, "MEMORY_SOURCE", "there is no entry '%s'", id);
	} else if (text_eq(kind, "task")) {
		rc = memory_task(m, a, id, &row, e);
		if (rc == OK)
			*ret = memory_trust_of_task(row);
	} else if (text_eq(kind, "receipt")) {
		rc = receipts_back(m->sys, m->state_fd, &want, has_receipt, &sought, e);
		if (rc >= 0 && sought)
			return err_set(e, E_MISSING, "MEMORY_SOURCE", "the chain has no receipt '%s'", id);
		rc = rc < 0 ? rc : OK;
	} else if (!text_eq(kind, "file")) {
		return err_set(e, E_USAGE, "MEMORY_SOURCE",
			"a source is receipt:ID, task:ID, memory:ID, file:PATH or url:ADDRESS, not '%s:'",
			kind);
	}
	return rc;
}

int memory_source(struct memory_place *m, struct arena *a, const struct json *entries, const char *named,
	struct json **ret, struct err *e)
{
	const char *colon = strchr(named, ':');
	bool is_address = colon && text_starts(colon, "://");
	const char *kind = is_address ? "url"
		: colon		      ? arena_strndup(a, named, (size_t)(colon - named))
				      : named;
	const char *id = is_address ? named : colon ? colon + 1 : "";
	enum memory_trust trust;
	int rc = find_source(m, a, entries, kind, id, &trust, e);

	if (rc)
		return rc;
	struct json *source = json_new(a, JSON_OBJECT);
	json_sets(a, source, "kind", kind);
	json_sets(a, source, "id", id);
	json_sets(a, source, "trust", memory_trust_name(trust));
	*ret = source;
	return OK;
}
