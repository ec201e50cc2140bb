/* cmd_tune.c — guard tune: fewer questions, by grants that a person chooses.
 *
 * Looks at the questions of the last days and proposes grants that would have answered several of them. A
 * proposal is only a suggestion: it shows what it would let through, including what a person denied, and
 * it is given with the same ceremony as any grant. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"

#include <string.h>

const struct opt guard_tune_opts[] = {
	{ "since", OPT_VALUE, "TIME", "look back to then: 30d, 2026-05-01 (7d)", NULL, false },
	{ "grant", OPT_INT, "K", "grant proposal K, after showing it and taking the word APPROVE", NULL,
		false },
	{ "for", OPT_VALUE, "DURATION", "how long such a grant holds: 30m, 8h, 2d (default 8h, at most 30d)",
		NULL, false },
	{ "until", OPT_VALUE, "TIME", "until when it holds: 2026-05-01, '2026-05-01 09:00'", NULL, false },
	{ "key", OPT_VALUE, "FILE", "answer with this registered approver's key instead of a terminal", NULL,
		false },
	{ 0 },
};

/* What the person denied before is told in red: such a grant would have overruled them. */
static void print_proposal(struct cli *r, const struct json *p)
{
	long long saves = (long long)json_get_int(p, "saves", 0),
		  denied = (long long)json_get_int(p, "denied_by_you", 0);
	struct cover *covers;
	struct buf text;
	size_t n;

	out(r, "\n%s%lld.%s  saves %lld questions of %s\n", paint(r, PAINT_BOLD),
		(long long)json_get_int(p, "number", 0), paint(r, PAINT_OFF), saves,
		safe_member(r, p, "principal"));
	buf_init(&text, r->a);
	if (covers_from_json(r->a, json_get(p, "covers"), &covers, &n, NULL) == OK)
		covers_describe(r, &text, covers, n);
	out(r, "%s", text.p);
	if (denied)
		out(r, "  %swould have let through %lld that you denied%s\n", paint(r, PAINT_BAD), denied,
			paint(r, PAINT_OFF));
	json_each (example, json_get(p, "examples"))
		out(r, "    %s\n", text_safe(r->a, json_text(example), strlen(json_text(example)), false));
	if (!json_get_text(p, "approval_id", NULL))
		out(r, "  its requests are no longer kept: ask again, or use 'helm approval grant'\n");
}

/* Says how many questions there were, and how many of them no grant can answer. */
static void print_proposals(struct cli *r, const struct json *doc)
{
	const struct json *list = json_get(doc, "proposals");
	long long questions = (long long)json_get_int(doc, "questions", 0);

	out(r, "%lld %s of agents since %s; %lld can only be answered one by one.\n", questions,
		questions == 1 ? "question" : "questions", safe_member(r, doc, "since"),
		(long long)json_get_int(doc, "must_be_asked", 0));
	json_each (p, list)
		print_proposal(r, p);
	if (list->n)
		out(r,
			"\nEach would let through whatever has these effects, not only these examples.\n"
			"To grant one: helm guard tune --grant 1 --for 2d\n");
	else
		out(r, "No grant would have answered more than one of them.\n");
}

/* The grant is drafted from a request that agrees with its signed decision, and not from the proposal's
 * text. */
static int apply(
	struct cli *r, struct kernel *k, const struct json *proposal, const struct person *who, struct err *e)
{
	/* A proposal is about effects, so the grant is, too. */
	struct approval_terms terms = { .reach = REACH_SHAPE };
	const char *id = json_get_text(proposal, "approval_id", NULL);
	struct json *entry;
	struct grant g;

	if (!id)
		return err_set(e, E_MISSING, "TUNE_REQUEST",
			"the requests of this proposal are no longer kept; 'helm approval grant' gives one "
			"without");
	int rc = approval_read_end(r, &terms, e);
	if (rc == OK)
		rc = approval_get(k, r->a, id, &entry, e);
	if (rc == OK)
		rc = grant_draft(r->a, json_get(entry, "request"), &terms, &g, e);
	return rc ? rc : approval_confirm_and_give(r, k, &g, who, e);
}

/* Who answers is found out first when something is to be granted; looking needs nobody. */
int cmd_guard_tune(struct cli *r, struct err *e)
{
	const int64_t day_us = INT64_C(86400) * 1000000, now = r->sys->now_us(r->sys);
	int64_t since_us = now - 7 * day_us, number = opt_int(r, "grant", 0);
	struct person who = { 0 };
	struct json *doc;
	struct kernel k;
	int rc = opt_since(r, "since", &since_us, e);

	if (rc == OK && (since_us > now || since_us < now - 366 * day_us))
		rc = err_set(e, E_USAGE, "TUNE_DAYS", "--since takes a time of the last 365 days");
	if (rc == OK && number)
		rc = person_loosens(r, &who, e);
	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		rc = tune_propose(&k, r->a, since_us / 1000000 * 1000000, &doc, e);
		const struct json *one =
			rc || number < 1 ? NULL : json_at(json_get(doc, "proposals"), (size_t)number - 1);
		if (rc == OK && number && !one)
			rc = err_set(
				e, E_INPUT, "TUNE_NUMBER", "there is no proposal %lld", (long long)number);
		else if (rc == OK && one)
			rc = apply(r, &k, one, &who, e);
		else if (rc == OK && r->is_json)
			out_json(r, doc);
		else if (rc == OK)
			print_proposals(r, doc);
		kernel_close(&k);
	}
	key_free(&who.key);
	return rc;
}
