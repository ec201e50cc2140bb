/* find.c — a question finds its answer, or is kept until a person gives one.
 *
 * Only called when a decision asks, so what is allowed or denied costs nothing here.  A grant that may be used once is used up on
 * disk before the decision is recorded: a crash in between loses the grant and never doubles it. */
#include "kernel/approval/parts.h"

#include "base/text.h"
#include "kernel/settle.h"
#include "privacy/privacy.h"
#include "verify/verify.h"

#include <string.h>

enum { PREVIEW_BYTES = 8000 };
static const int64_t REQUEST_US = INT64_C(86400) * 1000000;

/* ---- grants ---- */

bool grant_is_ours(struct kernel *k, const struct json *receipt, struct grant *ret)
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct verification v;
	const struct json *grant = json_get(json_get(receipt, "metadata"), "grant");

	memcpy(own.key, key_public(k->key), KEY_SIZE);
	verification_begin(&v, k->a, &trust, "receipt");
	verify_receipt(&v, receipt);
	if (v.integrity != ANSWER_YES || v.trusted != ANSWER_YES || !grant)
		return false;
	/* The signature covers the digest, and the digest the grant. */
	return text_eq(json_get_text(receipt, "effect_id", ""), GRANT_EFFECT) &&
		text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(k->a, grant)) &&
		grant_from_json(k->a, grant, ret, NULL) == OK;
}

bool request_is_genuine(struct kernel *k, const struct json *entry)
{
	struct trusted_key own = { .id = "" };
	struct trust trust = { .keys = &own, .key_count = 1 };
	struct verification v;
	const struct json *receipt = json_get(entry, "receipt"), *record = json_get(receipt, "subject");

	memcpy(own.key, key_public(k->key), KEY_SIZE);
	verification_begin(&v, k->a, &trust, "decision record");
	verify_decision(&v, record);
	if (v.integrity != ANSWER_YES || v.trusted != ANSWER_YES ||
		!text_eq(json_get_text(record, "verdict", ""), verdict_name(V_ESCALATE)))
		return false;
	return text_eq(json_get_text(record, "phenotype_hash", ""),
		json_sha256(k->a, json_get(entry, "request")));
}

struct kept_grants {
	struct grant *all;
	struct json **entries;
	bool *used;
	size_t n;
};

static void read_grants(struct kernel *k, const struct json *doc, struct kept_grants *ret)
{
	const struct json *grants = json_get(doc, "grants");
	int64_t now = k->sys->now_us(k->sys);

	ret->all = arena_zalloc(k->a, grants->n + 1, sizeof(*ret->all));
	ret->entries = arena_zalloc(k->a, grants->n + 1, sizeof(*ret->entries));
	ret->used = arena_zalloc(k->a, grants->n + 1, sizeof(*ret->used));
	ret->n = 0;
	json_each_member (m, grants) {
		const struct json *grant =
			json_get(json_get(json_get(m->value, "receipt"), "metadata"), "grant");
		struct grant *g = &ret->all[ret->n];
		if (!text_eq(grant_state(m->value, now), "in force") ||
			grant_from_json(k->a, grant, g, NULL) || !text_eq(g->id, m->name))
			continue;
		ret->entries[ret->n++] = m->value;
	}
}

struct sighting {
	const char *id;
	bool is_once, is_over, is_given;
};

static bool holds(struct bytes text, const char *word)
{
	return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

static int look_for_end(
	void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct sighting *s = arg;

	(void)offset;
	(void)line;
	(void)is_whole;
	(void)e;
	if (!holds(text, s->id))
		return 0;
	s->is_over |= holds(text, "\"effect_id\":\"" REVOKE_EFFECT "\"") ||
		(s->is_once && holds(text, "\"grant_ids\""));
	s->is_given |= holds(text, "\"effect_id\":\"" GRANT_EFFECT "\"");
	return s->is_over;
}

/* The document could have been put back; the chain cannot.  From the newest file back to the one in which it was given. */
static bool is_over_on_record(struct kernel *k, const struct grant *g)
{
	struct sighting s = { .id = g->id, .is_once = g->is_once };
	char **files;
	size_t n;

	if (receipts_files(k->sys, k->a, k->ws->state_fd, &files, &n, NULL))
		return true;
	while (n-- > 0 && !s.is_over && !s.is_given)
		if (lines_each(k->sys, k->ws->state_fd, files[n], look_for_end, &s, NULL) < 0)
			return true;
	return s.is_over || !s.is_given;
}

/* Only those that are needed are verified; one that is not ours is left out, and the rest must do without it. */
static bool answered_by(struct kernel *k, const struct decision *d, const struct question *q,
	struct kept_grants *kept, struct handling *o)
{
	while (grants_answer(k->a, d, q, kept->all, kept->n, kept->used)) {
		bool all_hold = true;
		for (size_t i = 0; i < kept->n; i++) {
			struct grant whole;
			const char *wrong = !kept->used[i] ? NULL
				: !grant_is_ours(k, json_get(kept->entries[i], "receipt"), &whole)
				? "does not verify under this machine's key"
				: is_over_on_record(k, &whole) ? "was used or revoked before, says the record"
							       : NULL;
			if (!wrong)
				continue;
			o->approval_note = arena_printf(k->a, "%s %s",
				text_safe(k->a, kept->all[i].id, strnlen(kept->all[i].id, 64), false), wrong);
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

/* Of two that come at once exactly one finds it unused. */
static bool use_up(struct kernel *k, const struct decision *d, const struct question *q,
	struct kept_grants *kept, struct handling *o)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct err e = { 0 };

	if (approval_store_open(&st, k, &e)) {
		o->approval_note = arena_strdup(k->a, e.text);
		return false;
	}
	read_grants(k, st.doc, kept);
	if (!answered_by(k, d, q, kept, o))
		return false;
	for (size_t i = 0; i < kept->n; i++)
		if (kept->used[i] && kept->all[i].is_once)
			json_sets(
				k->a, kept->entries[i], "used_at", text_time_z(k->a, k->sys->now_us(k->sys)));
	if (approval_store_write(&st, &e) == OK)
		return true;
	o->approval_note = arena_printf(k->a, "a grant could not be used up: %s", e.text);
	return false;
}

static void settle_by(struct kernel *k, const struct kept_grants *kept, struct handling *o)
{
	struct json *about = json_new(k->a, JSON_OBJECT), *ids = json_new(k->a, JSON_ARRAY);

	for (size_t i = 0; i < kept->n; i++)
		if (kept->used[i])
			json_pushs(k->a, ids, kept->all[i].id);
	json_set(k->a, about, "grant_ids", ids);
	o->settled = (struct settlement){ .by = "grant", .about = about };
}

bool grants_settle(struct kernel *k, const struct request *q, const char *args, const struct json *doc,
	struct handling *o)
{
	struct question question = { .principal = q->subject_id,
		.session = q->session,
		.profile = q->profile->name,
		.cwd = k->guard.at.cwd,
		.args_sha256 = args,
		.request_id = q->approval_id,
		.now_us = k->sys->now_us(k->sys) };
	struct kept_grants kept;

	if (!doc || !json_get(doc, "grants")->n)
		return false;
	read_grants(k, doc, &kept);
	if (!answered_by(k, &o->decision, &question, &kept, o))
		return false;
	if (needs_using_up(&kept) && !use_up(k, &o->decision, &question, &kept, o))
		return false;
	settle_by(k, &kept, o);
	return true;
}

/* ---- requests ---- */

/* The original's classes of what needs a person. */
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
	const char *clean = privacy_redact(a, text, shown, &shown), *safe = text_safe(a, clean, shown, true);

	return n > PREVIEW_BYTES ? arena_printf(a, "%s ... (%zu more bytes)", safe, n - PREVIEW_BYTES) : safe;
}

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

/* What the person answers.  `old`: the members that an earlier asking fixed; or NULL. */
static struct json *compose(struct kernel *k, const struct request *q, const char *args,
	const struct decision *d, const char *id, const struct json *old)
{
	struct arena *a = k->a;
	struct json *doc = json_new(a, JSON_OBJECT), *options = json_new(a, JSON_ARRAY);
	int64_t now = k->sys->now_us(k->sys);
	size_t n;

	json_pushs(a, options, "approve");
	json_pushs(a, options, "cancel");
	json_sets(a, doc, "approval_id", id);
	json_sets(a, doc, "task_id", old ? json_get_text(old, "task_id", NULL) : q->task_id);
	json_sets(a, doc, "pending_action", q->action);
	json_sets(a, doc, "resource", text_safe(a, q->tool_name, strlen(q->tool_name), false));
	add_reasons(a, d, doc);
	json_set(a, doc, "options", options);
	json_sets(a, doc, "created_at", old ? json_get_text(old, "created_at", "") : text_time_z(a, now));
	json_sets(a, doc, "expires_at",
		old ? json_get_text(old, "expires_at", "") : text_time_z(a, now + REQUEST_US));
	const char *resume = q->resume ? q->resume(q->arg, id) : NULL;
	json_sets(a, doc, "resume_command", resume);
	json_sets(a, doc, "principal", q->subject_id);
	json_sets(a, doc, "session", q->session);
	json_sets(a, doc, "door", q->door);
	json_sets(a, doc, "profile", q->profile->name);
	json_sets(a, doc, "cwd", k->guard.at.cwd);
	json_sets(a, doc, "args_sha256", args);
	json_sets(a, doc, "preview", readable(a, q->preview ? q->preview : q->tool_name));
	if (resume && q->argv) {
		struct json *argv = json_new(a, JSON_ARRAY);
		for (size_t i = 0; i < q->argc; i++)
			json_pushs(a, argv, q->argv[i]);
		json_set(a, doc, "argv", argv);
	}
	struct cover *covers = covers_of(a, d, &n);
	json_set(a, doc, "covers", covers_to_json(a, covers, n));
	return doc;
}

static bool has_text(const struct json *doc, const char *name, const char *value)
{
	const char *have = json_get_text(doc, name, NULL);

	return value ? have && text_eq(have, value) : !have;
}

/* The same question that waits already: byte for byte what we would ask now, so that nobody can have slipped another text under
 * its name before we sign it. */
static struct json *find_same(struct kernel *k, const struct request *q, const char *args,
	const struct json *doc, const struct decision *d)
{
	json_each_member (m, json_get(doc, "requests")) {
		const struct json *old = json_get(m->value, "request");
		if (!text_eq(request_state(m->value, k->sys->now_us(k->sys)), "pending") ||
			!text_is_id(m->name) || !has_text(old, "args_sha256", args) ||
			!has_text(old, "principal", q->subject_id) || !has_text(old, "session", q->session))
			continue;
		const char *task = json_get_text(old, "task_id", NULL);
		struct json *now = compose(k, q, args, d, m->name, old);
		if ((!task || text_is_id(task)) &&
			text_eq(json_sha256(k->a, now), json_sha256(k->a, old)))
			return now;
	}
	return NULL;
}

int approval_pose(struct kernel *k, const struct request *q, const char *args, const struct json *doc,
	struct handling *o, struct err *e)
{
	char *id;

	o->question = find_same(k, q, args, doc, &o->decision);
	o->is_question_kept = o->question != NULL;
	if (!o->question) {
		int rc = record_new_id(k->a, k->sys, "", &id, e);
		if (rc)
			return rc;
		o->question =
			compose(k, q, args, &o->decision, arena_printf(k->a, "approval-%.12s", id), NULL);
	}
	struct buf text;
	buf_init(&text, k->a);
	json_canonical(&text, o->question);
	if (text_utf8_valid(text.p, text.n) != text.n) {
		o->question = NULL;
		return err_set(e, E_INPUT, "APPROVAL_TEXT",
			"a name in it is no UTF-8 text, so no request can be kept");
	}
	o->question_digest = json_sha256(k->a, o->question);
	return OK;
}

int approval_keep(struct kernel *k, struct handling *o, struct err *e)
{
	AUTO(approval_store_close) struct approval_store st = { .lock_fd = -1 };
	struct json *entry = json_new(k->a, JSON_OBJECT);
	int rc = o->is_question_kept ? OK : approval_store_open(&st, k, e);

	if (rc || o->is_question_kept)
		return rc;
	json_set(k->a, entry, "request", o->question);
	json_sets(k->a, entry, "response", NULL);
	json_sets(k->a, entry, "responder", NULL);
	json_sets(k->a, entry, "resolved_at", NULL);
	json_set(k->a, entry, "receipt", o->decision_receipt);
	json_set(k->a, st.requests, json_get_text(o->question, "approval_id", ""), entry);
	return approval_store_write(&st, e);
}
