/* evidence.c — what leaves as evidence, and what came as such: verified without trusting whoever sent it.
 *
 * An export is the pack of `helm evidence export --session`.  Verifying is public, because it uses nothing of ours but the keys that this
 * installation trusts: its own. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/verdict.h"
#include "serve/http/http.h"

#include <fcntl.h>
#include <string.h>

enum { EXPORT_MOST = 256 << 20 };

/* ---- export ---- */

/* Everything on record so far is under one signed head, so that nothing can be left out unnoticed. */
static void sign_head(struct call *c)
{
	struct recorder *r = &c->k->recorder;
	struct json *head;
	struct err why = { 0 };

	if (log_settle(r, c->a, &why) || r->at.clock <= r->at.heads_at)
		return;
	if (log_sign_head(r, c->a, &head, &why))
		log_line(c->server, "warning", c, "the pack has no signed head over all receipts: %s",
			why.text);
}

/* Whole, in memory; the file it is made in is gone when this returns. */
static int make_pack(struct call *c, struct evidence *found, struct bytes *ret, struct err *e)
{
	struct sys *s = c->server->sys;
	struct pack_written written;
	int fd = c->server->ws->state_fd;
	char *name;
	int rc = record_new_id(c->a, s, ".export-", &name, e);

	if (rc)
		return rc;
	rc = pack_write(
		s, c->a, fd, name, &found->about, found->items, found->n, c->k->recorder.key, &written, e);
	if (rc == OK)
		rc = file_read(s, c->a, fd, name, EXPORT_MOST, 0, ret, e);
	(void)s->unlink(s, fd, name, 0);
	return rc;
}

struct users {
	const char *session, *tenant, *home;
	bool is_mine, is_others;
};

static int look(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct users *u = arg;
	const char *tenant = json_get_text(json_get(receipt, "metadata"), "tenant", u->home);

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (!receipt || !text_eq(receipt_session(receipt), u->session))
		return 0;
	u->is_mine |= text_eq(tenant, u->tenant);
	u->is_others |= !text_eq(tenant, u->tenant);
	return u->is_mine && u->is_others;
}

/* Of a session whose name another tenant uses, too, everybody has what names their own; what names no tenant (a run, a hook) is the
 * installation's, and where others use the name it is nobody's. */
static int choose_session(struct call *c, struct evidence_choice *choice, struct err *e)
{
	struct users u = {
		.session = choice->session, .tenant = c->who.tenant, .home = auth_home_tenant(c->server)
	};
	int rc = receipts_from(c->server->sys, c->server->ws->state_fd, 1, look, &u, e);

	if (rc == E_MISSING || (rc == OK && !u.is_mine))
		return call_refuse(c, e, 409, "CONFLICT", "nothing is on record of this session");
	choice->tenant = c->who.tenant;
	choice->needs_tenant = u.is_others || !text_eq(u.home, u.tenant);
	return rc;
}

/* A pack is held whole: one at a time. */
static bool is_exporting;

static void end_export(const bool *is_first)
{
	if (*is_first)
		__atomic_store_n(&is_exporting, false, __ATOMIC_RELEASE);
}

/* The record is checked now.  One that is not sound leaves by `helm evidence export --unsound` or not at all; findings may be about others
 * than who asks, and are not told here. */
static int check_record(struct call *c, struct record_verdict *ret, struct err *e)
{
	const struct verdict_ask ask = { .is_now = true, .all = true };
	int rc = workspace_verdict(c->server->sys, c->a, c->server->ws, &ask, ret, e);

	ret->findings = json_new(c->a, JSON_ARRAY);
	return rc || ret->is_sound
		? rc
		: call_refuse(c, e, 409, "RECORD_UNSOUND",
			  "the record is not sound, so nothing leaves as evidence: helm log check");
}

int evidence_export(struct call *c, struct evidence_choice *choice, struct bytes *ret, struct err *e)
{
	AUTO(evidence_close) struct evidence found = { 0 };
	struct record_verdict verdict;

	if (key_keeper(c->k->recorder.key))
		return call_refuse(
			c, e, 501, "NOT_OFFERED", "the key is kept by a signer, which signs no packs");
	AUTO(end_export) bool is_first = !__atomic_exchange_n(&is_exporting, true, __ATOMIC_ACQUIRE);
	if (!is_first) {
		call_send_header(c, "Retry-After", "1");
		return call_refuse(c, e, 503, "CONCURRENCY_LIMIT_EXCEEDED", "another pack is being made");
	}
	int rc = choice->session ? choose_session(c, choice, e) : OK;
	if (rc)
		return rc;
	call_hold(c);
	rc = check_record(c, &verdict, e);
	if (rc)
		return rc;
	choice->verdict = &verdict;
	sign_head(c);
	rc = evidence_collect(c->server->sys, c->a, c->server->ws->state_fd, choice, &found, e);
	if (rc == E_MISSING)
		return call_refuse(c, e, 409, "CONFLICT", "nothing is on record of this session");
	if (rc == OK && found.total_bytes > EXPORT_MOST)
		return call_refuse(c, e, 413, "TOO_LARGE",
			"this is too much for one answer: helm evidence export writes it to a file");
	return rc ? rc : make_pack(c, &found, ret, e);
}

static int export_session(struct call *c, struct err *e)
{
	const char *session = json_get_text(c->body, "session_id", ""),
		   *format = json_get_text(c->body, "format", "tar.gz");
	struct evidence_choice choice = { .session = session };
	struct bytes pack;
	bool is_packed = text_eq(format, "tar.gz");

	if (!*session)
		return call_refuse(c, e, 400, "BAD_REQUEST", "session_id must be there");
	if (!is_packed && !text_eq(format, "tar"))
		return call_refuse(c, e, 400, "BAD_REQUEST", "format is tar.gz or tar");
	int rc = evidence_export(c, &choice, &pack, e);
	if (rc)
		return rc;
	if (is_packed)
		pack = gzip_pack(c->a, pack);
	call_send_header(c, "X-Helm-Evidence-Hash", sha256_prefixed(c->a, pack.p, pack.n));
	call_send_header(c, "Content-Disposition",
		is_packed ? "attachment; filename=\"evidence.tar.gz\""
			  : "attachment; filename=\"evidence.tar\"");
	call_bytes(c, 200, "application/octet-stream", pack);
	return OK;
}

/* ---- verify ---- */

/* Our own keys, in force and before. */
static void own_trust(struct call *c, struct trusted_key *own, struct trust *ret)
{
	memcpy(own->key, key_public(c->k->recorder.key), KEY_SIZE);
	own->id = "";
	*ret = (struct trust){ .keys = own, .key_count = 1, .allow_self_attested = true };
}

bool receipt_verifies(struct call *c, const struct json *receipt)
{
	struct trusted_key own = { 0 };
	struct trust trust;
	struct verification v;

	own_trust(c, &own, &trust);
	verification_begin(&v, c->a, &trust, "receipt");
	verify_receipt(&v, receipt);
	return v.integrity == ANSWER_YES && v.trusted == ANSWER_YES;
}

static const char *pass(bool is_good)
{
	return is_good ? "PASS" : "FAIL";
}

/* Did a check with this word in its name fail? */
static bool has_failed(const struct verification *v, const char *const *words)
{
	for (size_t i = 0; i < v->check_count; i++)
		for (const char *const *w = words; *w; w++)
			if (v->checks[i].status == CHECK_FAIL && strstr(v->checks[i].name, *w))
				return true;
	return false;
}

static struct json *verdict_of(struct call *c, const struct verification *v, const struct pack *p)
{
	static const char *const signing[] = { "sign", "seal", "key", NULL };
	static const char *const chaining[] = { "chain", "receipt", "closure", "clock", "log", "head",
		"merkle", NULL };
	static const char *const policing[] = { "policy", "decision", "permit", NULL };
	struct json *doc = json_new(c->a, JSON_OBJECT), *checks = json_new(c->a, JSON_OBJECT),
		    *roots = json_new(c->a, JSON_OBJECT), *errors = json_new(c->a, JSON_ARRAY);
	bool is_good = v->integrity == ANSWER_YES && !v->error;
	bool is_known = v->trusted == ANSWER_YES;

	json_sets(c->a, doc, "verdict", pass(is_good && is_known));
	json_sets(c->a, checks, "signatures", pass(is_good && is_known && !has_failed(v, signing)));
	json_sets(c->a, checks, "causal_chain", pass(is_good && !has_failed(v, chaining)));
	json_sets(c->a, checks, "policy_compliance", pass(is_good && !has_failed(v, policing)));
	json_set(c->a, doc, "checks", checks);
	json_seti(c->a, roots, "entry_count", p ? (int64_t)p->n : 0);
	if (json_get(v->values, "pack_id"))
		json_set(c->a, roots, "pack_id", json_copy(c->a, json_get(v->values, "pack_id")));
	if (json_get(v->values, "manifest_hash"))
		json_set(c->a, roots, "manifest_hash", json_copy(c->a, json_get(v->values, "manifest_hash")));
	json_set(c->a, doc, "roots", roots);
	for (size_t i = 0; i < v->check_count; i++)
		if (v->checks[i].status == CHECK_FAIL)
			json_push(c->a, errors,
				json_stringf(c->a, "%s: %s", v->checks[i].name, v->checks[i].detail));
	if (v->error)
		json_push(c->a, errors, json_stringf(c->a, "%s: %s", v->error, v->text ? v->text : ""));
	if (is_good && !is_known)
		json_push(c->a, errors,
			json_string(
				c->a, "integrity only: its signer is no key that this installation trusts"));
	json_set(c->a, doc, "errors", errors);
	return doc;
}

static int verify(struct call *c, struct err *e)
{
	struct trusted_key own = { 0 };
	struct trust trust;
	struct verification v;
	struct pack p = { 0 };
	struct bytes archive;
	struct err why = { 0 };
	int rc = call_part(c, "bundle", &archive, e);

	if (rc)
		return rc;
	own_trust(c, &own, &trust);
	verification_begin(&v, c->a, &trust, "evidence pack");
	if (!archive.n || verify_pack_bytes(c->a, archive, &p, &why))
		verify_pack_unreadable(&v, &why);
	else if (verify_pack_is_one(&p))
		verify_pack(&v, &p);
	else
		verify_no_record(&v);
	call_answer(c, 200, verdict_of(c, &v, &p));
	return OK;
}

const struct route http_evidence_routes[] = {
	{ "POST", "/api/v1/evidence/export", AUTH_TENANT, SCOPE_READ, RATE_EVIDENCE, TAKES_JSON,
		export_session, "everything on record of a session, as a signed pack", "EvidenceExport",
		NULL },
	{ "POST", "/api/v1/evidence/verify", AUTH_PUBLIC, 0, RATE_EVIDENCE, TAKES_BYTES, verify,
		"is this pack what it says, and ours", NULL, "VerificationResult" },
	{ "POST", "/api/v1/replay/verify", AUTH_PUBLIC, 0, RATE_EVIDENCE, TAKES_BYTES, verify,
		"the same: receipts are followed from the first to the last", NULL, "VerificationResult" },
	{ 0 },
};
