/* settle.c — an answer that is there before the question.
 *
 * Between deciding, which is pure, and recording, which is final, a question may find its answer: a person
 * said yes on the command line, or granted it beforehand, or everything it is about was saved just now
 * (undo.c).  Each way either answers the whole question or leaves it as it is; whatever goes wrong in here
 * leaves it asked. */
#include "kernel/settle.h"

#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/policy/policy.h"

#include <string.h>

struct json *judged_files(struct arena *a, const struct proposal *p)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < p->file_count; i++) {
		struct json *file = json_new(a, JSON_OBJECT);
		json_sets(a, file, "path", text_safe(a, p->files[i].path, strlen(p->files[i].path), true));
		json_sets(a, file, "sha256", p->files[i].sha256);
		json_push(a, list, file);
	}
	return list;
}

struct json *settled_terms(const struct handling *h)
{
	size_t n;
	struct cover *covers = covers_of(h->a, &h->decision, &n);
	struct json *terms = covers_to_json(h->a, covers, n);

	json_each (file, judged_files(h->a, &h->proposal))
		json_push(h->a, terms, file);
	return terms;
}

static bool has_term(struct arena *a, const struct json *terms, const struct json *one)
{
	bool is_there = false;

	json_each (term, terms)
		is_there |= text_eq(json_sha256(a, term), json_sha256(a, one));
	return is_there;
}

/* Is it about nothing but what the decision on record has answered, and are its scripts the same: none more, none other, none that can no
 * longer be read?  That it leaves the walls is what every such decision has answered. */
static bool is_covered(const struct request *q, const struct handling *h)
{
	const struct json *terms = settled_terms(h);

	json_each (now, terms)
		if (!text_eq(json_get_text(now, "rule", ""), LEAVES_WALLS) &&
			!has_term(h->a, q->answer.permitted_terms, now))
			return false;
	json_each (then, q->answer.permitted_terms)
		if (json_get(then, "sha256") && !has_term(h->a, terms, then))
			return false;
	return true;
}

/* A person started this run and said so. */
static bool by_hand(const struct request *q, struct handling *h)
{
	if (!q->answer.is_approved || (q->answer.permitted_by && !is_covered(q, h)))
		return false;
	/* What is only handed on is not approved by anybody here. */
	h->settled.by = q->answer.permitted_by	? "decision"
		: text_eq(q->who.door, "agent") ? "started"
		: q->is_done_here		? "approve-risk"
						: "handoff";
	if (q->answer.permitted_by) {
		h->settled.about = json_new(h->a, JSON_OBJECT);
		json_sets(h->a, h->settled.about, "permitted_by", q->answer.permitted_by);
	}
	return true;
}

/* A person put a policy in use and said that its rules answer these questions. */
static bool by_policy(struct handling *h)
{
	struct json *lift;

	if (!policy_lifts(h->policy, &h->decision))
		return false;
	lift = json_new(h->a, JSON_OBJECT);
	json_sets(h->a, lift, "policy", h->policy->sha256);
	json_sets(h->a, lift, "rule", h->policy->rule);
	h->settled.by = "policy";
	h->settled.about = json_new(h->a, JSON_OBJECT);
	json_set(h->a, h->settled.about, "lifted_by", lift);
	return true;
}

/* Who is asked about has these grants, as far as they can be read. */
static bool has_grants(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct question question = { .principal = q->who.subject_id,
		.session = q->who.session,
		.profile = q->profile->name,
		.cwd = q->where->cwd,
		.args_sha256 = h->args_sha256,
		.now_us = k->sys->now_us(k->sys) };
	struct grant *all = NULL;
	size_t n = grants_in_force(k->sys, h->a, k->ws, &all, &h->approval_note);
	bool *used = arena_zalloc(h->a, n + 1, sizeof(*used));

	if (!n || !grants_answer(h->a, &h->decision, &question, all, n, used))
		return false;
	h->settled.by = "grant";
	return true;
}

void would_settle(struct kernel *k, const struct request *q, struct handling *h)
{
	if (h->verdict != V_ESCALATE || !k->ws || k->ws->state_fd < 0)
		return;
	AUTO(workspace_leave) struct workspace *standing = k->ws;
	workspace_stand(k->sys, h->a, standing, q->where->cwd);
	if (by_policy(h) || has_grants(k, q, h) ||
		(h->decision.approvers <= 1 && undo_would_settle(k, q, h, &h->settled.why_asked)))
		h->verdict = V_ALLOW;
}

/* The cheapest answer first: a word on the command line, the policy, then grants, then a checkpoint.  If none answers,
 * the question is put into words for a person. */
void settle(struct kernel *k, const struct request *q, struct handling *h)
{
	struct json *doc = NULL;
	struct err e = { 0 };

	/* One word, or a checkpoint, is no answer where several people must say yes. */
	bool is_for_many = h->decision.approvers > 1;

	if (!is_for_many && !by_hand(q, h) && q->answer.permitted_by) {
		h->approval_note = "what it would do has changed since it was permitted; propose it again";
		return;
	}
	if (!h->settled.by && by_policy(h)) {
		h->verdict = V_ALLOW;
		return;
	}
	if (!h->settled.by && approvals_restore(k, h->a, &doc, &h->approval_note, &e))
		h->approval_note = arena_printf(h->a, "whether it was approved cannot be read (%s)", e.text);
	if (h->settled.by || grants_settle(k, q, doc, h) || (!is_for_many && undo_settles(k, q, h)))
		h->verdict = V_ALLOW;
	else if (approval_pose(k, q, doc, h, &e))
		h->approval_note = arena_strdup(h->a, e.text);
	/* A guarded run saves by itself, once it is sure to start. */
	if (text_starts(q->who.door, "hook/") && (h->verdict == V_ALLOW || q->answer.can_ask))
		undo_save(k, q, h);
}
