/* find.c — a question finds its answer, or is kept until a person gives one.
 *
 * Only called when a decision asks, so what is allowed or denied costs nothing here.  A grant that may be
 * used once is used up on disk before the decision is recorded: a crash in between loses the grant and
 * never doubles it.
 *
 * Trust: approvals.json is only a file, which a program of the same user may have changed.  So a grant is
 * believed only with its signature, and only if the chain of receipts says that it was given and neither
 * revoked nor used up (fold.c). */
#include "kernel/approval/parts.h"

#include "base/hash.h"
#include "base/text.h"
#include "kernel/settle.h"
#include "privacy/privacy.h"
#include "record/shown.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

enum { PREVIEW_BYTES = 8000 };

/* ---- grants ---- */

/* The key in force, or one that was before it: what a person answered stays answered when keys are rotated.
 * Not one that was revoked.  The signature must hold and must be by that key; anything else is no. */
static bool is_signed_by_us(struct kernel *k, struct arena *a, const struct json *doc, const char *named,
	const char *kind, void (*verify)(struct verification *v, const struct json *doc))
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct verification v;

	if (!hex_decode(named, strlen(named), own.key, KEY_SIZE, true) ||
		(memcmp(own.key, key_public(k->recorder.key), KEY_SIZE) != 0 &&
			!keys_trusts(k->sys, a, AT_FDCWD, k->recorder.keys_dir, named)))
		return false;
	verification_begin(&v, a, &trust, kind);
	verify(&v, doc);
	return v.integrity == ANSWER_YES && v.trusted == ANSWER_YES;
}

/* The signature covers the digest, and the digest covers the grant. */
bool grant_is_ours(struct kernel *k, struct arena *a, const struct json *receipt, struct grant *ret)
{
	const struct json *grant = json_get(json_get(receipt, "metadata"), "grant");

	/* The signature covers the digest, and the digest the grant. */
	const char *key = json_get_text(json_get(receipt, "public_key_set"), "ed25519", "");
	return grant && is_signed_by_us(k, a, receipt, key, "receipt", verify_receipt) &&
		text_eq(json_get_text(receipt, "effect_id", ""), GRANT_EFFECT) &&
		text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(a, grant)) &&
		grant_from_json(a, grant, ret, NULL) == OK &&
		(!ret->quorum_sha256 ||
			quorum_holds(a, json_get(json_get(receipt, "metadata"), "quorum"), ret));
}

/* The signed decision said ESCALATE and named the digest of exactly this question.  So a person never
 * approves a text that was exchanged after it was asked. */
bool request_is_genuine(struct kernel *k, struct arena *a, const struct json *entry)
{
	const struct json *record = json_get(json_get(entry, "receipt"), "subject");
	const char *key = json_get_text(record, "signature_type", "");

	key += text_starts(key, "ed25519:") ? strlen("ed25519:") : 0;
	return is_signed_by_us(k, a, record, key, "decision record", verify_decision) &&
		text_eq(json_get_text(record, "verdict", ""), verdict_name(V_ESCALATE)) &&
		text_eq(json_get_text(record, "phenotype_hash", ""),
			json_sha256(a, json_get(entry, "request")));
}

struct kept_grants {
	struct grant *all;
	struct json **entries;
	bool *used;
	size_t n;
};

/* Grants that are in force by the document.  None is verified yet, since signatures are only checked for
 * those that are needed. */
static void read_grants(struct kernel *k, struct arena *a, const struct json *doc, struct kept_grants *ret)
{
	const struct json *grants = json_get(doc, "grants");
	int64_t now = k->sys->now_us(k->sys);

	ret->all = arena_zalloc(a, grants->n + 1, sizeof(*ret->all));
	ret->entries = arena_zalloc(a, grants->n + 1, sizeof(*ret->entries));
	ret->used = arena_zalloc(a, grants->n + 1, sizeof(*ret->used));
	ret->n = 0;
	json_each_member (m, grants) {
		const struct json *grant =
			json_get(json_get(json_get(m->value, "receipt"), "metadata"), "grant");
		struct grant *g = &ret->all[ret->n];
		if (!text_eq(grant_state(m->value, now), "in force") || grant_from_json(a, grant, g, NULL) ||
			!text_eq(g->id, m->name))
			continue;
		ret->entries[ret->n++] = m->value;
	}
}

/* Finds grants that answer the whole question, and verifies only these.  One that does not hold is taken
 * out, and the rest is tried again without it, until either all hold or none are left. */
static bool answered_by(
	struct kernel *k, const struct question *q, struct kept_grants *kept, struct handling *h)
{
	struct json *alive = NULL;

	while (grants_answer(h->a, &h->decision, q, kept->all, kept->n, kept->used)) {
		bool all_hold = true;
		if (!alive && grants_alive(k, h->a, &alive, NULL))
			alive = json_new(h->a, JSON_OBJECT); /* what cannot be read grants nothing */
		for (size_t i = 0; i < kept->n; i++) {
			struct grant whole;
			const char *wrong = !kept->used[i] ? NULL
				: !grant_is_ours(k, h->a, json_get(kept->entries[i], "receipt"), &whole)
				? "does not verify under a key of this machine"
				: !json_get(alive, whole.id) ? "was used or revoked before, says the record"
							     : NULL;
			if (!wrong)
				continue;
			h->approval_note = arena_printf(h->a, "%s %s",
				text_safe(h->a, kept->all[i].id, strnlen(kept->all[i].id, 64), false), wrong);
			kept->all[i].expires_us = 0;
			all_hold = false;
		}
		if (all_hold)
			return true;
	}
	return false;
}

static bool needs_using_up(const struct kept_grants *kept)
{
	for (size_t i = 0; i < kept->n; i++)
		if (kept->used[i] && kept->all[i].is_once)
			return true;
	return false;
}

/* Under the lock everything is read and verified again: of two requests that come at once exactly one finds
 * the grant unused.  It is written as used before the decision is recorded. */
static bool use_up(struct kernel *k, const struct question *q, struct kept_grants *kept, struct handling *h)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct err e = { 0 };

	if (approval_store_open(&st, k, h->a, &e)) {
		h->approval_note = arena_strdup(h->a, e.text);
		return false;
	}
	read_grants(k, h->a, st.doc, kept);
	if (!answered_by(k, q, kept, h))
		return false;
	for (size_t i = 0; i < kept->n; i++)
		if (kept->used[i] && kept->all[i].is_once)
			json_sets(
				h->a, kept->entries[i], "used_at", text_time_z(h->a, k->sys->now_us(k->sys)));
	if (approval_store_write(&st, &e) == OK)
		return true;
	h->approval_note = arena_printf(h->a, "a grant could not be used up: %s", e.text);
	return false;
}

/* The ids of the grants go into both receipts, which is also how the chain knows that they were used. */
static void settle_by(const struct kept_grants *kept, struct handling *h)
{
	struct json *about = json_new(h->a, JSON_OBJECT), *ids = json_new(h->a, JSON_ARRAY);

	for (size_t i = 0; i < kept->n; i++)
		if (kept->used[i])
			json_pushs(h->a, ids, kept->all[i].id);
	json_set(h->a, about, "grant_ids", ids);
	h->settled = (struct settlement){ .by = "grant", .about = about };
}

size_t grants_in_force(
	struct sys *s, struct arena *a, const struct workspace *ws, struct grant **ret, const char **ret_note)
{
	struct json *doc;
	size_t n = 0;

	if (approvals_load(s, a, ws, &doc, NULL)) {
		*ret_note = "what was granted cannot be read, so nothing is";
		return 0;
	}
	const struct json *grants = json_get(doc, "grants");
	*ret = arena_zalloc(a, grants->n + 1, sizeof(**ret));
	json_each_member (m, grants) {
		const struct json *one =
			json_get(json_get(json_get(m->value, "receipt"), "metadata"), "grant");
		n += text_eq(grant_state(m->value, s->now_us(s)), "in force") &&
			grant_from_json(a, one, &(*ret)[n], NULL) == OK;
	}
	return n;
}

/* Grants that may be used again need no lock; only one that is used up does. */
bool grants_settle(struct kernel *k, const struct request *q, const struct json *doc, struct handling *h)
{
	struct question question = { .principal = q->who.subject_id,
		.session = q->who.session,
		.profile = q->profile->name,
		.cwd = q->where->cwd,
		.args_sha256 = h->args_sha256,
		.request_id = q->answer.approval_id,
		.now_us = k->sys->now_us(k->sys) };
	struct kept_grants kept;

	if (!doc || !json_get(doc, "grants")->n)
		return false;
	read_grants(k, h->a, doc, &kept);
	if (!answered_by(k, &question, &kept, h))
		return false;
	if (needs_using_up(&kept) && !use_up(k, &question, &kept, h))
		return false;
	settle_by(&kept, h);
	return true;
}

/* ---- requests ---- */

/* Classes that older readers of a workspace know. */
static const char *risk_class(const struct decision *d)
{
	for (size_t i = 0; i < d->ask_count; i++) {
		const struct effect *e = d->asks[i].effect;
		if (!e)
			continue;
		if (e->kind == FX_NETWORK || e->kind == FX_REMOTE || e->kind == FX_PUBLISH)
			return "external_send";
		if (e->kind == FX_DELETE || e->kind == FX_GIT || d->destructive)
			return "delete";
		if (e->kind == FX_PRIVILEGE || e->kind == FX_SECRET_READ || e->kind == FX_CREDENTIAL ||
			e->kind == FX_DYNAMIC_EXEC || e->kind == FX_FETCH_EXEC || e->kind == FX_DECODE_EXEC)
			return "security";
	}
	return "high_risk_mutation";
}

/* As a person may read it: no secrets, no control characters. */
static const char *readable(struct arena *a, const char *text)
{
	size_t n = strlen(text), shown = n > PREVIEW_BYTES ? PREVIEW_BYTES : n;
	const char *clean = privacy_redact(a, text, shown, &shown), *safe = text_seen(a, clean, shown, true);

	return n > PREVIEW_BYTES ? arena_printf(a, "%s ... (%zu more bytes)", safe, n - PREVIEW_BYTES) : safe;
}

/* Only the findings that ask; what was merely noticed would distract. */
static void add_reasons(struct arena *a, const struct decision *d, struct json *doc)
{
	struct json *rules = json_new(a, JSON_ARRAY), *understood = json_new(a, JSON_ARRAY);
	struct buf why;

	buf_init(&why, a);
	for (size_t i = 0; i < d->finding_count; i++) {
		if (d->findings[i].action != ACTION_ASK)
			continue;
		json_pushs(a, rules, d->findings[i].rule);
		json_pushs(a, understood, readable(a, d->findings[i].text));
		buf_addf(&why, "%s%s", why.n ? "; " : "", readable(a, d->findings[i].text));
	}
	if (!rules->n && d->detail_code) {
		json_pushs(a, rules, d->detail_code);
		json_pushs(a, understood, readable(a, d->summary));
		buf_adds(&why, readable(a, d->summary));
	}
	json_sets(a, doc, "risk_reason", why.p);
	json_sets(a, doc, "risk_class", risk_class(d));
	json_set(a, doc, "rules", rules);
	json_set(a, doc, "understood", understood);
}

/* The command line that goes on after an approval.  If it holds something that must not be written down,
 * there is none, and the person repeats the command by hand. */
static const char *resume_line(struct arena *a, const struct request *q, const char *id)
{
	if (!q->answer.resume_before)
		return NULL;
	const char *line = arena_printf(a, "%s%s%s", q->answer.resume_before, id, q->answer.resume_after);
	size_t n = strlen(line);
	return privacy_redact(a, line, n, &n) == line && text_utf8_valid(line, n) == n ? line : NULL;
}

/* What the person answers.  `old` gives the members that an earlier asking fixed (task and times), so that
 * the same question gives the same bytes. */
static struct json *compose(struct kernel *k, const struct request *q, const struct handling *h,
	const char *id, const struct json *old)
{
	struct arena *a = h->a;
	struct json *doc = json_new(a, JSON_OBJECT), *options = json_new(a, JSON_ARRAY);
	int64_t now = k->sys->now_us(k->sys);
	size_t n;

	json_pushs(a, options, "approve");
	json_pushs(a, options, "cancel");
	json_sets(a, doc, "approval_id", id);
	json_sets(a, doc, "task_id", old ? json_get_text(old, "task_id", NULL) : q->what.task_id);
	json_sets(a, doc, "pending_action", q->what.action);
	json_sets(a, doc, "resource", text_safe(a, q->what.tool, strlen(q->what.tool), false));
	add_reasons(a, &h->decision, doc);
	json_set(a, doc, "options", options);
	json_sets(a, doc, "created_at", old ? json_get_text(old, "created_at", "") : text_time_z(a, now));
	json_sets(a, doc, "expires_at",
		old ? json_get_text(old, "expires_at", "") : text_time_z(a, now + REQUEST_LASTS_US));
	const char *resume = resume_line(a, q, id);
	json_sets(a, doc, "resume_command", resume);
	json_sets(a, doc, "principal", q->who.subject_id);
	json_sets(a, doc, "session", q->who.session);
	json_sets(a, doc, "door", q->who.door);
	json_sets(a, doc, "profile", q->profile->name);
	json_sets(a, doc, "cwd", q->where->cwd);
	json_sets(a, doc, "args_sha256", h->args_sha256);
	if (h->shown_sha256)
		json_sets(a, doc, SHOWN_MEMBER, h->shown_sha256);
	json_sets(a, doc, "preview", readable(a, q->what.preview ? q->what.preview : q->what.tool));
	if (resume && q->what.argv) {
		struct json *argv = json_new(a, JSON_ARRAY);
		for (size_t i = 0; i < q->what.argc; i++)
			json_pushs(a, argv, q->what.argv[i]);
		json_set(a, doc, "argv", argv);
	}
	if (h->decision.approvers > 1)
		json_seti(a, doc, "approvers", h->decision.approvers);
	struct cover *covers = covers_of(a, &h->decision, &n);
	json_set(a, doc, "covers", covers_to_json(a, covers, n));
	return doc;
}

static bool has_text(const struct json *doc, const char *name, const char *value)
{
	const char *have = json_get_text(doc, name, NULL);

	return value ? have && text_eq(have, value) : !have;
}

/* The same question that waits already: byte for byte what we would ask now.  A text that somebody put
 * under its id meanwhile differs, and is therefore never signed. */
static struct json *find_same(
	struct kernel *k, const struct request *q, const struct json *doc, const struct handling *h)
{
	json_each_member (m, json_get(doc, "requests")) {
		const struct json *old = json_get(m->value, "request");
		if (!text_eq(request_state(m->value, k->sys->now_us(k->sys)), "pending") ||
			!text_is_id(m->name) || !has_text(old, "args_sha256", h->args_sha256) ||
			!has_text(old, "principal", q->who.subject_id) ||
			!has_text(old, "session", q->who.session))
			continue;
		const char *task = json_get_text(old, "task_id", NULL);
		struct json *now = compose(k, q, h, m->name, old);
		if ((!task || text_is_id(task)) && text_eq(json_sha256(h->a, now), json_sha256(h->a, old)))
			return now;
	}
	return NULL;
}

/* Fills h->question and its digest.  The decision record will carry that digest. */
int approval_pose(
	struct kernel *k, const struct request *q, const struct json *doc, struct handling *h, struct err *e)
{
	char *id;

	h->question = find_same(k, q, doc, h);
	h->is_question_kept = h->question != NULL;
	if (!h->question) {
		int rc = record_new_id(h->a, k->sys, "", &id, e);
		if (rc)
			return rc;
		h->question = compose(k, q, h, arena_printf(h->a, "approval-%.12s", id), NULL);
	}
	struct buf text;
	buf_init(&text, h->a);
	json_canonical(&text, h->question);
	if (text_utf8_valid(text.p, text.n) != text.n) {
		h->question = NULL;
		return err_set(e, E_INPUT, "APPROVAL_TEXT",
			"a name in it is no UTF-8 text, so no request can be kept");
	}
	h->question_sha256 = json_sha256(h->a, h->question);
	return OK;
}

/* After the record, because it stores the signed receipt beside the question. */
int approval_keep(struct kernel *k, struct handling *h, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct json *entry = json_new(h->a, JSON_OBJECT);
	int rc = h->is_question_kept ? OK : approval_store_open(&st, k, h->a, e);

	if (rc || h->is_question_kept)
		return rc;
	json_set(h->a, entry, "request", h->question);
	json_sets(h->a, entry, "response", NULL);
	json_sets(h->a, entry, "responder", NULL);
	json_sets(h->a, entry, "resolved_at", NULL);
	json_set(h->a, entry, "receipt", h->decision_receipt);
	json_set(h->a, st.requests, json_get_text(h->question, "approval_id", ""), entry);
	return approval_store_write(&st, e);
}
