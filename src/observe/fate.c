/* fate.c — what became of a call that was asked about: did it run in the end?
 *
 * No single record says that, so three witnesses are asked. The note that a client leaves behind a call
 * (an outcome row with the same tool_use_id) says that it ran. A later row with the same input and the
 * verdict ALLOW says that the call was repeated and let through. The request, or the receipt of its
 * answer, says what a person decided.
 *
 * Rows are indexed once by key and place, so the question costs a binary search per call and not a walk
 * over the ledger. */
#include "observe/fate.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A row of the ledger under the key by which it is looked for. */
struct witness {
	const char *key;
	uint32_t at; /* place in the ledger */
	const struct json *row;
};

/* By key, then by place: `after` relies on the order within one key. */
static int by_key(const void *x, const void *y)
{
	const struct witness *p = x, *q = y;
	int c = strcmp(p->key, q->key);

	return c ? c : (p->at > q->at) - (p->at < q->at);
}

/* A row without the key can be no witness. */
static void add(struct witnesses *w, const char *key, uint32_t at, const struct json *row)
{
	if (key)
		w->list[w->n++] = (struct witness){ key, at, row };
}

/* The first row with that key that stands behind that place in the ledger. Only later rows count: an
 * earlier call with the same input says nothing about this one. */
static const struct json *after(const struct witnesses *w, const char *key, uint32_t at)
{
	size_t low = 0, high = w->n;
	struct witness wanted = { key, at + 1, NULL };

	if (!key)
		return NULL;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (by_key(&w->list[mid], &wanted) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < w->n && text_eq(w->list[low].key, key) ? w->list[low].row : NULL;
}

/* Sets row->at to the place in the ledger; fate_end() and fate_of() read it, so they take the rows given
 * here. */
void fates_begin(struct fates *f, struct arena *a, const struct json *rows, const struct json *answers)
{
	*f = (struct fates){ .answers = answers };
	f->ends.list = arena_zalloc(a, rows->n + 1, sizeof(*f->ends.list));
	f->passed.list = arena_zalloc(a, rows->n + 1, sizeof(*f->passed.list));
	for (uint32_t i = 0; i < rows->n; i++) {
		struct json *row = rows->items[i];
		row->at = i;
		if (json_get(row, "outcome"))
			add(&f->ends, json_get_text(row, "tool_use_id", NULL), i, row);
		else if (text_eq(json_get_text(row, "verdict", ""), "ALLOW"))
			add(&f->passed, json_get_text(row, "input_sha256", NULL), i, row);
	}
	qsort(f->ends.list, f->ends.n, sizeof(*f->ends.list), by_key);
	qsort(f->passed.list, f->passed.n, sizeof(*f->passed.list), by_key);
}

const struct json *fate_end(const struct fates *f, const struct json *call)
{
	return after(&f->ends, json_get_text(call, "tool_use_id", NULL), call->at);
}

/* The strongest witness speaks first: that it ran, then that it was let through later, then what a person
 * said. Without any of them the text says just that and does not guess. A call that was denied outright
 * did not run. */
const char *fate_of(const struct fates *f, const struct json *call)
{
	const char *id = json_get_text(call, "approval_id", NULL),
		   *answer = id ? json_get_text(f->answers, id, NULL) : NULL;
	const struct json *again = after(&f->passed, json_get_text(call, "input_sha256", NULL), call->at);

	if (!text_eq(json_get_text(call, "verdict", ""), "ESCALATE"))
		return "did not run";
	if (fate_end(f, call))
		return "ran, answered in the client";
	if (again)
		return fate_end(f, again) ? "ran, approved" : "approved, called again";
	if (!answer)
		return "no answer on record";
	if (text_eq(answer, "approved"))
		return "approved, not called again";
	return text_eq(answer, "denied")     ? "refused by a person"
		: text_eq(answer, "pending") ? "still waiting"
		: text_eq(answer, "expired") ? "expired, did not run"
					     : answer;
}
