/* pack.c — which layout a pack has, and what can be shown of it one line at a time.
 *
 * Packs come in the manifest layout (pack_v1.c), the native numbered layout and export bundles
 * (foreign/pack_native.c) and as provenance packs (foreign/provenance.c).  The choice is made from the
 * files that are there; a wrong choice leads to a failure, never to a check that is skipped. */
#include "verify/pack.h"

#include "base/text.h"
#include "proof/pack.h"
#include "proof/sdjwt.h"

#include <stdarg.h>

void pack_add_error(struct verification *v, struct json *errors, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_pushs(v->a, errors, text);
}

/* For findings in one line of the report. */
char *pack_join(struct arena *a, const struct json *texts, const char *between)
{
	struct buf b;

	buf_init(&b, a);
	json_each (t, texts) {
		if (b.n)
			buf_adds(&b, between);
		buf_adds(&b, json_text(t) ? json_text(t) : "?");
	}
	return b.p;
}

/* An archive that ends too early is damaged, not tampered with. */
void verify_pack_unreadable(struct verification *v, const struct err *why)
{
	v->kind = "evidence pack";
	v->is_damaged = text_ends(why->code, "_TRUNCATED");
	verify_check(v, "archive", CHECK_FAIL, arena_strdup(v->a, why->text));
	verify_refute(v, "archive", "%s", why->text);
	verify_value(v, "archive_error", why->code);
}

/* Judges the first component of a path: a known file or folder, or a numbered name such as 02_PROOFGRAPH. */
bool verify_pack_name(const char *path)
{
	size_t n = strcspn(path, "/");
	struct bytes first = { (const uint8_t *)path, n };

	return bytes_is(first, "manifest.json") || bytes_is(first, "proofgraph.json") ||
		bytes_is(first, "receipts") || bytes_is(first, "transparency") ||
		(strspn(path, "0123456789") == 2 && path[2] == '_');
}

bool verify_pack_is_one(const struct pack *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (verify_pack_name(p->files[i].path))
			return true;
	return false;
}

/* An index makes it the native layout, whatever else lies there.  A manifest that cannot be read is a
 * failure of the manifest layout and not a reason to try another. */
void verify_pack(struct verification *v, const struct pack *p)
{
	const struct pack_file *f = verify_pack_find(p, "manifest.json");
	struct json *manifest = NULL;
	struct err e = { 0 };

	verify_value(v, "form", p->form);
	/* With an index it is the native layout, whatever else lies there. */
	if (!f || verify_pack_find(p, "00_INDEX.json")) {
		verify_pack_native(v, p);
		return;
	}
	if (pack_json(v->a, f, &manifest, &e)) {
		v->kind = "evidence pack v1";
		verify_check(v, "archive", CHECK_PASS, "");
		verify_check(v, "manifest", CHECK_FAIL, arena_strdup(v->a, e.text));
		verify_refute(v, "manifest", "%s", e.text);
		return;
	}
	if (text_starts(member_text(manifest, "version"), "agent_provenance_pack.")) {
		verify_provenance(v, p);
		return;
	}
	if (json_get(manifest, "manifest_hash") || json_get(manifest, "entries_merkle_root"))
		verify_pack_v1(v, p, manifest);
	else
		verify_pack_native(v, p);
}

/* A proof with errors is refuted.  One without a root from elsewhere agrees with itself, which shows
 * nothing, so trust stays open. */
static bool conclude_proof(struct verification *v, const struct pack_proof_result *r, const char *code)
{
	if (r->errors->n) {
		verify_refute(v, code, "%s", pack_join(v->a, r->errors, "; "));
		return false;
	}
	v->integrity = ANSWER_YES;
	v->is_self_attested = r->is_self_attested;
	v->trusted = r->is_member ? ANSWER_YES : ANSWER_UNKNOWN;
	if (!r->is_member)
		verify_note(v,
			"the proof agrees with itself, which shows nothing: give the pack's root from "
			"elsewhere");
	return true;
}

void verify_redacted_view(struct verification *v, const struct json *view)
{
	struct pack_proof_result r;

	v->kind = "redacted view";
	pack_check_view(v->a, view, v->trust->root, &r);
	json_set(v->a, v->values, "errors", r.errors);
	(void)conclude_proof(v, &r, "redacted_view");
}

/* The content, when it is given, must be the one whose hash the proven entry states. */
void verify_pack_entry(struct verification *v, const struct json *proof, const char *expected_root,
	const char *expected_path, const struct bytes *content)
{
	struct pack_proof_result r;

	v->kind = "inclusion proof";
	pack_check_proof(v->a, proof, expected_root, expected_path, &r);
	json_set(v->a, v->values, "errors", r.errors);
	if (r.path)
		verify_value(v, "path", r.path);
	if (content && r.content_hash &&
		!text_eq(sha256_prefixed(v->a, content->p, content->n), r.content_hash))
		json_pushs(v->a, r.errors, "content does not match the entry's content_hash");
	if (!conclude_proof(v, &r, "inclusion_proof"))
		return;
	if (!content)
		verify_note(v, "the entry's line in the manifest is shown, its content was not given");
}

/* When it was made, as a receipt says it or in seconds since 1970; "" when it does not say. */
static const char *made_at(struct arena *a, const struct json *claims)
{
	static const int64_t most = 253402300799; /* the last second of the year 9999 */
	const char *at = json_get_text(claims, "timestamp", NULL);
	int64_t iat = json_get_int(claims, "iat", -1);

	if (at)
		return at;
	return iat >= 0 && iat <= most ? text_time_iso(a, iat * 1000000) : "";
}

/* A presentation names no key, so each trusted one is tried as the issuer's. */
void verify_sdjwt(struct verification *v, struct bytes presentation)
{
	struct json *claims = NULL;
	struct err e = { 0 };

	v->kind = "selective disclosure";
	for (size_t i = 0; i < v->trust->key_count; i++)
		if (sdjwt_verify(v->a, presentation, v->trust->keys[i].key, &claims, &e) == OK) {
			v->integrity = v->trusted = ANSWER_YES;
			v->signer_key = &v->trust->keys[i];
			json_set(v->a, v->values, "claims", claims);
			(void)verify_key_window(v, made_at(v->a, claims));
			return;
		}
	if (!v->trust->key_count) {
		verify_fail(v, "SDJWT_SIGNATURE", "no issuer key was given, and the document names none");
		return;
	}
	v->trusted = ANSWER_NO;
	verify_refute_err(v, &e);
}
