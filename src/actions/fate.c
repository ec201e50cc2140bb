/* fate.c — what became of a call that was asked about: did it run in the end?
 *
 * No single record says that, so three witnesses are asked. The note that a client leaves behind a call
 * (an outcome row with the same tool_use_id) says that it ran. A later row with the same input and the
 * verdict ALLOW says that the call was repeated and let through. The request, or the receipt of its
 * answer, says what a person decided.
 *
 * Only what stands behind the call counts: an earlier call with the same input says nothing about this
 * one. */
#include "actions/fate.h"
#include "base/text.h"

static int64_t place_of(const struct json *call)
{
	return json_get_int(call, "place", 0);
}

int fate_end(const struct fates *f, const struct json *call, struct json **ret, struct err *e)
{
	int64_t place;
	int rc = index_call_end(f->x, json_get_text(call, "tool_use_id", NULL), place_of(call), &place, e);

	*ret = NULL;
	if (rc || place < 0)
		return rc;
	return row_at(f->o->sys, f->o->a, f->o->state_fd, TOOL_CALLS, (off_t)place, ret, e);
}

/* Was it made, as far as the client noted it? */
static int has_end(const struct fates *f, const struct json *call, bool *ret, struct err *e)
{
	int64_t place;
	int rc = index_call_end(f->x, json_get_text(call, "tool_use_id", NULL), place_of(call), &place, e);

	*ret = rc == OK && place >= 0;
	return rc;
}

/* The call was let through later; did that one run? */
static int fate_of_again(const struct fates *f, int64_t place, const char **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *again = NULL;
	bool ran = false;
	int rc = row_at(f->o->sys, &a, f->o->state_fd, TOOL_CALLS, (off_t)place, &again, e);

	if (rc == OK && again) {
		json_seti(&a, again, "place", place);
		rc = has_end(f, again, &ran, e);
	}
	*ret = ran ? "ran, approved" : "approved, called again";
	return rc;
}

/* The state of the request is newer than its receipt, and says more. */
static int answer_to(const struct fates *f, const struct json *call, const char **ret, struct err *e)
{
	const char *id = json_get_text(call, "approval_id", NULL);

	*ret = id ? json_get_text(f->answers, id, NULL) : NULL;
	return id && !*ret ? index_answer(f->x, id, ret, e) : OK;
}

static const char *words_for(const char *answer)
{
	return !answer			      ? "no answer on record"
		: text_eq(answer, "approved") ? "approved, not called again"
		: text_eq(answer, "denied")   ? "refused by a person"
		: text_eq(answer, "pending")  ? "still waiting"
		: text_eq(answer, "expired")  ? "expired, did not run"
					      : answer;
}

/* The strongest witness speaks first: that it ran, then that it was let through later, then what a person
 * said. Without any of them the text says just that and does not guess. A call that was denied outright
 * did not run. */
int fate_of(const struct fates *f, const struct json *call, const char **ret, struct err *e)
{
	const char *answer = NULL;
	int64_t again = -1;
	bool ran = false;
	int rc = OK;

	*ret = "did not run";
	if (!text_eq(json_get_text(call, "verdict", ""), "ESCALATE"))
		return OK;
	*ret = "ran, answered in the client";
	rc = has_end(f, call, &ran, e);
	if (rc || ran)
		return rc;
	rc = index_call_again(f->x, json_get_text(call, "input_sha256", NULL), place_of(call), &again, e);
	if (rc || again >= 0)
		return rc ? rc : fate_of_again(f, again, ret, e);
	rc = answer_to(f, call, &answer, e);
	*ret = words_for(answer);
	return rc;
}
