/* answer.c — a person answers: yes, no, no longer.
 *
 * The record comes first: an answer that is not in the chain has no effect.  A crash behind the record
 * leaves a grant that nobody can use, never one that is not on record.
 *
 * What a person may say yes to is bounded by can_reach(): a question about something that cannot be known
 * beforehand is never widened into a standing permission. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/approval/parts.h"

#include <string.h>

/* `what` stands in the receipt's metadata under its type; its digest is what the signature covers.  The tenant that a question came from, or a grant is
 * for, has its answer, too: `of` is the entry of either, or NULL. */
static int record(struct kernel *k, struct arena *a, const char *effect, const char *type, struct json *what,
	struct json *proof, const struct json *of, const struct person *who, struct json **ret, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);
	const char *tenant = json_get_text(json_get(json_get(of, "receipt"), "metadata"), "tenant", NULL);

	json_set(a, about, type, what);
	if (tenant)
		json_sets(a, about, "tenant", tenant);
	if (proof)
		json_set(a, about, "quorum", proof);
	if (who->order)
		json_set(a, about, "order", json_copy(a, who->order));
	act_sign(a, who, what, about);
	return act_record(k, a,
		&(struct act){ .effect_id = effect,
			.type = type,
			.args_hash = json_get_text(what, "args_sha256", NULL),
			.output_hash = json_sha256(a, what),
			.executor_id = who->name,
			.about = about },
		ret, e);
}

static const char *now_text(struct kernel *k, struct arena *a)
{
	return text_time_z(a, k->sys->now_us(k->sys));
}

/* ---- requests ---- */

/* A request that does not agree with the signed decision it belongs to was tampered with, and must not be
 * answered. */
static int find_request(struct kernel *k, struct arena *a, const struct json *requests, const char *id,
	struct json **ret, struct err *e)
{
	struct json *entry = json_get(requests, id);

	if (!entry && text_is_id(id))
		entry = approvals_find_settled(k->sys, a, k->ws, false, id);
	if (!entry)
		return err_set(e, E_MISSING, "APPROVAL_MISSING",
			"there is no request '%s'; 'helm approval list' shows those that wait", id);
	const char *own = json_get_text(json_get(entry, "request"), "approval_id", "");
	if (!text_eq(own, id) || !request_is_genuine(k, a, entry))
		return err_set(e, E_CORRUPT, "APPROVAL_TAMPERED",
			"request %s is not what was asked: it does not agree with the signed decision it "
			"belongs "
			"to; do not answer it",
			id);
	*ret = entry;
	return OK;
}

/* For showing it to a person: only a genuine request is shown. */
int approval_get(struct kernel *k, struct arena *a, const char *id, struct json **ret_entry, struct err *e)
{
	struct json *doc;
	int rc = approvals_load(k->sys, a, k->ws, &doc, e);

	return rc ? rc : find_request(k, a, json_get(doc, "requests"), id, ret_entry, e);
}

/* Neither answered nor expired.  One that had to give way to newer ones, or was taken for expired while the
 * clock was wrong, waits again. */
static int find_pending(struct approval_store *st, const char *id, struct json **ret, struct err *e)
{
	int rc = find_request(st->k, st->a, st->requests, id, ret, e);

	if (rc)
		return rc;
	const char *state = request_state(*ret, st->k->sys->now_us(st->k->sys));
	if (!text_eq(state, "pending"))
		return err_set(e, E_INPUT, "APPROVAL_SETTLED", "request %s is %s already", id, state);
	json_set(st->a, st->requests, id, *ret);
	return OK;
}

/* The receipt is the proof; the entry goes to the log with the next write. */
static void resolve(
	struct kernel *k, struct arena *a, struct json *entry, const char *response, const char *responder)
{
	json_sets(a, entry, "response", response);
	json_sets(a, entry, "responder", responder);
	json_sets(a, entry, "resolved_at", now_text(k, a));
}

/* ---- reach ---- */

/* Effects that a directory can bound. */
static bool is_for_path(const struct cover *c)
{
	return c->kind == FX_WRITE || c->kind == FX_DELETE || c->kind == FX_MOVE || c->kind == FX_PERMISSION;
}

/* Effects that a single named host can bound. */
static bool is_for_host(const struct cover *c)
{
	return (c->kind == FX_NETWORK || c->kind == FX_REMOTE) && (c->flags & FXF_ONE_HOST);
}

/* May this question be granted as widely as the terms say?  Every reason of it must allow that. */
static int can_reach(const struct cover *covers, size_t n, const struct approval_terms *t, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct cover *c = &covers[i];
		if (t->reach != REACH_EXACT && !cover_may_widen(c))
			return err_set(e, E_INPUT, "APPROVAL_REACH",
				"%s asks about something that cannot be known beforehand, or about the "
				"command as a "
				"whole: approve it with --once",
				c->rule);
		if (t->reach == REACH_EXACT && !t->is_once && cover_is_once_only(c))
			return err_set(e, E_INPUT, "APPROVAL_REACH",
				"%s asks about something that can differ each time: approve it with --once",
				c->rule);
		if (t->reach == REACH_PATH && !is_for_path(c))
			return err_set(e, E_INPUT, "APPROVAL_REACH",
				"%s is not about files, so no path bounds it", c->rule);
		if (t->reach == REACH_HOST && !is_for_host(c))
			return err_set(e, E_INPUT, "APPROVAL_REACH",
				"%s is not about one host that is named, so no host bounds it", c->rule);
	}
	return OK;
}

/* ---- grants ---- */

/* Records the grant, then puts it into the open document; the caller writes the document. */
static int make_grant(struct approval_store *st, struct grant *g, struct json *proof, const struct json *of,
	const struct person *who, struct json **ret_receipt, struct err *e)
{
	struct kernel *k = st->k;
	struct arena *a = st->a;
	char *id;
	int rc = g->id ? OK : record_new_id(a, k->sys, "", &id, e);

	if (rc)
		return rc;
	if (!g->id) { /* else all of it was written down and signed before */
		g->id = arena_printf(a, "grant-%.12s", id);
		/* Whole seconds: what is written reads back the same. */
		g->created_us = k->sys->now_us(k->sys) / 1000000 * 1000000;
		g->responder = who->name;
	}
	rc = record(k, a, GRANT_EFFECT, "grant", grant_to_json(a, g), proof, of, who, ret_receipt, e);
	if (rc)
		return rc;
	struct json *entry = json_new(a, JSON_OBJECT);
	json_set(a, entry, "receipt", *ret_receipt);
	json_set(a, st->grants, g->id, entry);
	/* The walk along the chain, as far as it goes today: who is asked later goes on from here. */
	struct json *alive;
	(void)!grants_alive(k, a, &alive, NULL);
	return OK;
}

/* What a yes to this request would grant; nothing is changed.  An exact grant is bound to the very input
 * and directory, and, unless it is a run, to the session that asked. */
int grant_draft(struct arena *a, const struct json *request, const struct approval_terms *t,
	struct grant *ret, struct err *e)
{
	const char *session = json_get_text(request, "session", NULL);
	/* A run is gone on with from wherever a person stands. */
	bool is_run = json_get_text(request, "task_id", NULL) != NULL, is_exact = t->reach == REACH_EXACT;
	struct grant g = { .reach = t->reach,
		.is_once = t->is_once,
		.principal = json_get_text(request, "principal", NULL),
		.profile = json_get_text(request, "profile", ""),
		.args_sha256 = is_exact ? json_get_text(request, "args_sha256", NULL) : NULL,
		.cwd = is_exact ? json_get_text(request, "cwd", NULL) : NULL,
		.path = t->path,
		.host = t->host,
		.expires_us = t->expires_us,
		.request_id = json_get_text(request, "approval_id", NULL) };

	if (quorum_of(request) > 1 && !(is_exact && t->is_once))
		return err_set(e, E_INPUT, "APPROVAL_REACH",
			"request %s takes %d people, so it is approved for this very command, once: --once",
			g.request_id, quorum_of(request));
	if (t->is_for_session && !session)
		return err_set(
			e, E_INPUT, "APPROVAL_SESSION", "request %s belongs to no session", g.request_id);
	if (t->is_for_session || (is_exact && t->is_once && !is_run))
		g.session = session;
	int rc = covers_from_json(a, json_get(request, "covers"), &g.covers, &g.cover_count, e);
	if (rc == OK)
		rc = can_reach(g.covers, g.cover_count, t, e);
	if (rc == OK)
		*ret = g;
	return rc;
}

/* One of several people: what they signed is on record first, then beside the question.  *ret_proof is left alone until there are enough. */
static int join(struct approval_store *st, struct json *entry, struct bytes message, const struct person *who,
	struct grant *g, struct json **ret_proof, struct json **ret_receipt, struct err *e)
{
	struct json *proof;
	bool is_enough;
	int rc = quorum_add(st->k, st->a, entry, message, who, g, &proof, &is_enough, e);

	if (rc)
		return rc;
	if (is_enough) {
		*ret_proof = proof;
		return OK;
	}
	struct json *said = json_new(st->a, JSON_OBJECT);
	json_sets(st->a, said, "approval_id", g->request_id);
	json_seti(st->a, said, "approvers", quorum_of(json_get(entry, "request")));
	json_seti(st->a, said, "so_far", json_get(proof, "assertions")->n);
	rc = record(
		st->k, st->a, "helm.approval/assert", "assertion", said, proof, entry, who, ret_receipt, e);
	return rc ? rc : approval_store_write(st, e);
}

/* Receipt, document, then the file for older readers.  An error after the receipt leaves a grant on record
 * that nobody can use.  The terms are given, or stand in a signed message. */
static int approve(struct kernel *k, struct arena *a, const char *id, const struct approval_terms *t,
	struct bytes message, const struct person *who, struct json **ret_receipt, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct json *entry, *receipt;
	int rc = approval_store_open(&st, k, a, e);

	if (rc == OK)
		rc = find_pending(&st, id, &entry, e);
	if (rc)
		return rc;
	const struct json *request = json_get(entry, "request");
	struct person named = *who;
	struct grant g;
	if (who->proof) { /* with the second half of what was signed, so that the receipt alone can be checked */
		struct json *proof = json_copy(a, who->proof);
		json_sets(a, proof, "request_sha256", json_sha256(a, request));
		named.proof = proof;
		who = &named;
	}
	struct json *proof = NULL;
	struct approval_terms own;
	if (!t && quorum_of(request) > 1) {
		rc = quorum_terms(request, &own, e);
		if (rc)
			return rc;
		t = &own;
	}
	rc = t ? grant_draft(a, request, t, &g, e)
	       : approval_check_signed(k, a, request, message, who, &g, e);
	if (rc == OK && quorum_of(request) > 1) {
		rc = join(&st, entry, message, who, &g, &proof, ret_receipt, e);
		if (rc || !proof)
			return rc;
	}
	if (rc == OK)
		rc = make_grant(&st, &g, proof, entry, who, &receipt, e);
	if (rc)
		return rc;
	resolve(k, a, entry, "approved", who->name);
	json_sets(a, entry, "grant_id", g.id);
	rc = approval_store_write(&st, e);
	if (rc == OK)
		rc = waiting_settle(k, a, request, "approved", who->name, e);
	if (rc == OK)
		*ret_receipt = receipt;
	return rc;
}

int approval_approve(struct kernel *k, struct arena *a, const char *id, const struct approval_terms *t,
	const struct person *who, struct json **ret_receipt, struct err *e)
{
	return approve(k, a, id, t, (struct bytes){ 0 }, who, ret_receipt, e);
}

int approval_approve_signed(struct kernel *k, struct arena *a, const char *id, struct bytes message,
	const struct person *who, struct json **ret_receipt, struct err *e)
{
	return approve(k, a, id, NULL, message, who, ret_receipt, e);
}

/* A grant nobody asked for; drafted by grant_draft_for(). */
int grant_give(struct kernel *k, struct arena *a, struct grant *g, const struct person *who,
	struct json **ret_receipt, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	int rc = approval_store_open(&st, k, a, e);

	if (rc == OK)
		rc = make_grant(&st, g, NULL, NULL, who, ret_receipt, e);
	return rc ? rc : approval_store_write(&st, e);
}

/* Decides as a door would, to find out what would be asked.  A denial cannot be granted away. */
int grant_draft_for(struct kernel *k, struct arena *a, const struct request *q,
	const struct approval_terms *t, struct grant *ret, struct err *e)
{
	struct handling h = { .a = a };
	bool is_exact = t->reach == REACH_EXACT;

	kernel_decide(k, q, &h);
	if (h.verdict == V_ALLOW)
		return err_set(e, E_INPUT, "GRANT_NOTHING", "nothing has to be granted: it is allowed");
	if (h.verdict != V_ESCALATE)
		return err_set(e, E_DENIED, "GRANT_DENIED", "it is denied, and no grant lifts a denial: %s",
			h.decision.summary ? h.decision.summary : "");
	struct grant g = { .reach = t->reach,
		.is_once = t->is_once,
		.principal = q->who.subject_id,
		.session = q->who.session,
		.profile = q->profile->name,
		.args_sha256 = is_exact ? h.args_sha256 : NULL,
		.cwd = is_exact ? q->where->cwd : NULL,
		.path = t->path,
		.host = t->host,
		.expires_us = t->expires_us };
	g.covers = covers_of(a, &h.decision, &g.cover_count);
	int rc = can_reach(g.covers, g.cover_count, t, e);
	if (rc == OK)
		*ret = g;
	return rc;
}

/* A no is on record, too, and cannot be answered again. */
int approval_deny(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_receipt, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct json *entry, *what = json_new(a, JSON_OBJECT);
	int rc = approval_store_open(&st, k, a, e);

	if (rc == OK)
		rc = find_pending(&st, id, &entry, e);
	if (rc)
		return rc;
	json_sets(a, what, "approval_id", id);
	json_sets(a, what, "args_sha256", json_get_text(json_get(entry, "request"), "args_sha256", ""));
	json_sets(a, what, "reason", reason);
	rc = record(k, a, "helm.approval/deny", "denial", what, NULL, entry, who, ret_receipt, e);
	if (rc)
		return rc;
	resolve(k, a, entry, "denied", who->name);
	rc = approval_store_write(&st, e);
	return rc ? rc : waiting_settle(k, a, json_get(entry, "request"), "cancelled", who->name, e);
}

/* The receipt alone ends the grant, even if the document cannot be written: see fold.c. */
int grant_revoke(struct kernel *k, struct arena *a, const char *grant_id, const char *reason,
	const struct person *who, struct json **ret_receipt, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct json *what = json_new(a, JSON_OBJECT);
	int rc = approval_store_open(&st, k, a, e);

	if (rc)
		return rc;
	struct json *entry = json_get(st.grants, grant_id);
	if (!entry && text_is_id(grant_id))
		entry = approvals_find_settled(k->sys, a, k->ws, true, grant_id);
	if (!entry)
		return err_set(e, E_MISSING, "GRANT_MISSING",
			"there is no grant '%s'; 'helm approval list' shows those in force", grant_id);
	const char *state = grant_state(entry, k->sys->now_us(k->sys));
	if (!text_eq(state, "in force"))
		return err_set(e, E_INPUT, "GRANT_SETTLED", "grant %s is %s already", grant_id, state);
	json_set(a, st.grants, grant_id, entry);
	json_sets(a, what, "grant_id", grant_id);
	json_sets(a, what, "reason", reason);
	rc = record(k, a, REVOKE_EFFECT, "revocation", what, NULL, entry, who, ret_receipt, e);
	if (rc)
		return rc;
	json_sets(a, entry, "revoked_at", now_text(k, a));
	return approval_store_write(&st, e);
}

/* Gives no grant: the client asked its own person about this one call, and it has been made. */
int approval_answered_elsewhere(struct kernel *k, struct arena *a, const char *id, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	int rc = approval_store_open(&st, k, a, e);
	struct json *entry = rc ? NULL : json_get(st.requests, id);

	/* What several people have to answer is not answered by the one who sits at the client. */
	if (rc || !entry || quorum_of(json_get(entry, "request")) > 1 ||
		!text_eq(request_state(entry, k->sys->now_us(k->sys)), "pending"))
		return rc;
	resolve(k, a, entry, "answered in the client", "the client's own question");
	return approval_store_write(&st, e);
}
