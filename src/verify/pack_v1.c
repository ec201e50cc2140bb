/* pack_v1.c — EvidencePack v1: eight steps, in order, the first failure named
 * (docs/formats/evidence-pack.md).
 *
 * The signature covers manifest_hash, manifest_hash covers the list of files, the list covers each file.
 * What is left open by that (who the signer says he is, when he says he signed) is closed in our own packs
 * by a seal over the whole manifest.  A pack is ours when its pack_id follows from its content as we make
 * it; pack_id is inside manifest_hash, so a seal cannot be taken away by giving the pack another name.  The
 * publisher's version says nothing about that: every 1.x.y is judged by the rules of 1.0.
 *
 * All steps are run even after a failure, so that the report is whole, except when a step says in `stop`
 * that the later ones have nothing to work on. */
#include "proof/pack.h"
#include "verify/pack.h"

struct v1 {
	struct verification *v;
	const struct pack *p;
	const struct json *manifest;
	struct pack_entry *entries;
	size_t n;
	bool is_own; /* written by this program: sealed, in one spelling, and signed in the manifest only */
	const char *stop; /* why later steps cannot run, or NULL */
};

typedef bool step_fn(struct v1 *s);

static const char *const manifest_members[] = { "version", "pack_id", "created_at", "actor_did", "intent_id",
	"policy_hash", "entries", "manifest_hash", "entries_merkle_root", "signatures", "seal" };

static const char *const signature_members[] = { "signer_id", "signature", "algorithm", "signed_at",
	"key_id" };

static bool fail_step(struct v1 *s, const char *step, const char *text)
{
	return verify_refute(s->v, step, "%s", text);
}

/* "1.<minor>.<patch>", each without sign or leading zero: a version has one spelling. */
static bool is_version_1(const char *text)
{
	struct bytes rest = bytes_of(text), part;
	int64_t numbers[3];

	for (int i = 0; i < 3; i++) {
		char digits[12];
		if (!rest.p)
			return false;
		part = text_cut(&rest, '.');
		if (!part.n || part.n >= sizeof(digits) || (part.p[0] == '0' && part.n > 1) ||
			part.p[0] == '-' || part.p[0] == '+')
			return false;
		memcpy(digits, part.p, part.n);
		digits[part.n] = 0;
		if (!text_int(digits, &numbers[i]))
			return false;
	}
	return !rest.p && numbers[0] == 1;
}

/* A member whose name equals a known one only when case is ignored.  Some programs read it as the known
 * one, so two readers of one manifest would see different values; such a manifest is refused. */
static const char *case_variant(struct arena *a, const struct json *manifest)
{
	json_each_member (m, manifest) {
		char *folded = text_fold(a, m->name, m->name_n);
		for (size_t i = 0; i < ARRAY_SIZE(manifest_members); i++)
			if (text_eq(folded, manifest_members[i]) && !text_eq(m->name, folded))
				return m->name;
	}
	return NULL;
}

/* Reading the archive has succeeded before this; here only departures from the canonical form are told. */
static bool step_archive(struct v1 *s)
{
	if (s->p->departure)
		verify_note(s->v,
			arena_printf(s->v->a, "the archive is readable but not in canonical form: %s",
				s->p->departure));
	return true;
}

/* "pack-" and the first digits of the hash that the manifest has without a name. */
static bool is_own(const struct v1 *s)
{
	struct json *unnamed = json_new(s->v->a, JSON_OBJECT);
	const char *id = member_text(s->manifest, "pack_id");
	struct bytes preimage;

	json_each_member (m, s->manifest)
		json_set(s->v->a, unnamed, m->name, m->value);
	json_sets(s->v->a, unnamed, "pack_id", "");
	return pack_manifest_preimage(s->v->a, unnamed, s->entries, s->n, &preimage, NULL) == OK &&
		text_eq(id, arena_printf(s->v->a, "pack-%.32s", sha256_hex(s->v->a, preimage.p, preimage.n)));
}

/* The members are among these names, in this order. */
static bool in_order(const struct json *object, const char *const *names, size_t n)
{
	size_t k = 0;

	json_each_member (m, object) {
		while (k < n && !text_eq(names[k], m->name))
			k++;
		if (k++ == n)
			return false;
	}
	return json_is(object, JSON_OBJECT);
}

static bool is_in_order(const struct v1 *s)
{
	static const char *const seal[] = { "version", "algorithm", "public_key", "signed_at", "signature" };
	static const char *const entry[] = { "path", "content_hash", "size", "content_type" };
	size_t i = 0;

	json_each (row, json_get(s->manifest, "entries")) {
		if (!in_order(row, entry, ARRAY_SIZE(entry)) ||
			!text_eq(member_text(row, "path"), s->entries[i++].path))
			return false;
	}
	json_each (row, json_get(s->manifest, "signatures")) {
		if (!in_order(row, signature_members, ARRAY_SIZE(signature_members)))
			return false;
	}
	return in_order(s->manifest, manifest_members, ARRAY_SIZE(manifest_members)) &&
		(!json_get(s->manifest, "seal") ||
			in_order(json_get(s->manifest, "seal"), seal, ARRAY_SIZE(seal)));
}

/* Our own manifests have one spelling, so that no byte of them can be another.  Those of others are read as
 * they come. */
static bool check_spelling(struct v1 *s)
{
	const struct pack_file *f = verify_pack_find(s->p, "manifest.json");
	struct buf b;

	buf_init(&b, s->v->a);
	json_write(&b, s->manifest, JSON_INDENT | JSON_HTML_SAFE);
	if (bytes_eq(f->content, buf_bytes(&b)) && is_in_order(s))
		return true;
	if (s->is_own)
		return fail_step(s, "manifest", "the manifest is spelled otherwise than Helm writes it");
	verify_note(s->v, "the manifest is not spelled as Helm writes it: its values were verified");
	return true;
}

/* Everything later relies on s->entries, which are sorted and have no path twice. */
static bool step_manifest(struct v1 *s)
{
	const char *variant, *version = member_text(s->manifest, "version");
	struct err e = { 0 };

	if (!is_version_1(version)) {
		s->stop = "the manifest's version is not supported";
		return verify_refute(
			s->v, "manifest", "the manifest's version '%.20s' is not supported", version);
	}
	if ((variant = case_variant(s->v->a, s->manifest))) {
		s->stop = "the manifest is ambiguous";
		return verify_refute(s->v, "manifest",
			"the manifest's member '%.40s' differs from a known one only in case", variant);
	}
	if (pack_manifest_entries(s->v->a, s->manifest, &s->entries, &s->n, &e)) {
		s->stop = "the manifest cannot be read";
		return verify_refute(s->v, "manifest", "%s", e.text);
	}
	s->is_own = is_own(s);
	return check_spelling(s);
}

/* A preimage that cannot be made is a failure of the manifest, not of its hash. */
static bool step_manifest_hash(struct v1 *s)
{
	const char *stated = member_text(s->manifest, "manifest_hash");
	struct err e = { 0 };
	struct bytes preimage;
	const char *computed;

	if (pack_manifest_preimage(s->v->a, s->manifest, s->entries, s->n, &preimage, &e))
		return fail_step(s, "manifest", e.text);
	computed = sha256_prefixed(s->v->a, preimage.p, preimage.n);
	verify_value(s->v, "manifest_hash", computed);
	if (text_eq(stated, computed))
		return true;
	verify_at(s->v, "manifest.json", "manifest_hash", stated, computed);
	return fail_step(s, "manifest_hash", "manifest_hash is not the hash of the manifest");
}

/* Files that are missing are left to the step about completeness, which names them as missing. */
static bool step_content_hash(struct v1 *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct pack_file *f = verify_pack_find(s->p, s->entries[i].path);
		struct hash stated;
		if (!f)
			continue; /* a matter of completeness */
		if (pack_hash_parse(s->entries[i].content_hash, &stated) && hash_eq(&stated, &f->digest))
			continue;
		verify_at(s->v, f->path, "content_hash", s->entries[i].content_hash,
			pack_hash_text(s->v->a, &f->digest));
		return verify_refute(s->v, "content_hash",
			"the content of '%.200s' is not what the manifest says", f->path);
	}
	return true;
}

/* A file with the right hash has the right bytes.  What this catches is a manifest that states a wrong
 * size about them. */
static bool step_size(struct v1 *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct pack_file *f = verify_pack_find(s->p, s->entries[i].path);
		if (!f || f->size_bytes == (uint64_t)s->entries[i].size_bytes)
			continue;
		verify_at(s->v, f->path, "size",
			arena_printf(s->v->a, "%lld", (long long)s->entries[i].size_bytes),
			arena_printf(s->v->a, "%llu", (unsigned long long)f->size_bytes));
		return verify_refute(
			s->v, "size", "the size of '%.200s' is not what the manifest says", f->path);
	}
	return true;
}

static int by_entry_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_entry *)x)->path, ((const struct pack_entry *)y)->path);
}

static bool is_listed(const struct v1 *s, const char *path)
{
	struct pack_entry key = { .path = path };

	return bsearch(&key, s->entries, s->n, sizeof(*s->entries), by_entry_path) != NULL;
}

/* Detached signatures cannot stand in the list they sign.  A listed file of such a name is an ordinary
 * file.  Signatures stand in one place: where the manifest has some, as ours always does, files beside it
 * are strangers like any others. */
static bool is_detached(const struct v1 *s, const struct pack_file *f)
{
	const struct json *list = json_get(s->manifest, "signatures");

	return !s->is_own && !(list && list->n) &&
		(text_starts(f->path, "signatures/") || text_eq(f->path, "manifest.sig.json")) &&
		!is_listed(s, f->path);
}

/* Both directions: no listed file is missing and no other file is there.  The answer is "no" until both
 * are shown. */
static bool step_completeness(struct v1 *s)
{
	s->v->complete = ANSWER_NO;
	for (size_t i = 0; i < s->n; i++)
		if (!verify_pack_find(s->p, s->entries[i].path)) {
			verify_at(s->v, s->entries[i].path, NULL, "a file", "nothing");
			return verify_refute(s->v, "completeness",
				"'%.200s' is in the manifest but not in the pack", s->entries[i].path);
		}
	for (size_t i = 0; i < s->p->n; i++) {
		const struct pack_file *f = &s->p->files[i];
		if (text_eq(f->path, "manifest.json") || is_detached(s, f) || is_listed(s, f->path))
			continue;
		verify_at(s->v, f->path, NULL, "nothing", "a file");
		return verify_refute(
			s->v, "completeness", "'%.200s' is in the pack but not in the manifest", f->path);
	}
	s->v->complete = ANSWER_YES;
	return true;
}

/* The trusted key a signature verifies under, or NULL.  A key is trusted only for packs made while it was
 * valid; the time is the manifest's created_at, which manifest_hash covers. */
static const struct trusted_key *signer_of(
	const struct v1 *s, struct bytes message, const uint8_t signature[SIGNATURE_SIZE])
{
	const struct trust *t = s->v->trust;
	const char *made = member_text(s->manifest, "created_at");

	for (size_t i = 0; i < t->key_count; i++) {
		const struct trusted_key *k = &t->keys[i];
		struct verification asked = { .a = s->v->a, .trust = t, .signer_key = k };
		if (verify_ed25519(k->key, message, signature) && verify_key_window(&asked, made))
			return k;
	}
	return NULL;
}

/* One signature over the text of manifest_hash.  Each must verify under a trusted key, whatever the others
 * do: a signature that nobody can check must not stand beside a good one as if it counted. */
static bool check_signature(struct v1 *s, const struct json *sig, const char *where)
{
	const char *algorithm = json_get_text(sig, "algorithm", "Ed25519");
	const char *stated = json_get_text(sig, "manifest_hash", NULL);
	const char *hash = member_text(s->manifest, "manifest_hash");
	const struct trusted_key *k;
	uint8_t bytes[SIGNATURE_SIZE];

	if (!text_eq(algorithm, "Ed25519"))
		return verify_fail(s->v, "signature",
			"%s: algorithm '%.20s' is not supported, so it is not accepted", where, algorithm);
	if (!parse_signature(member_text(sig, "signature"), bytes))
		return verify_fail(s->v, "signature", "%s is not 128 lower-case hex digits", where);
	if (stated && !text_eq(stated, hash))
		return verify_fail(s->v, "signature", "%s is for another manifest", where);
	if (!(k = signer_of(s, bytes_of(hash), bytes)))
		return verify_fail(s->v, "signature", "%s verifies under none of the %zu keys given", where,
			s->v->trust->key_count);
	char *hex = arena_text(s->v->a, 2 * KEY_SIZE + 1);
	hex_encode(k->key, KEY_SIZE, hex);
	s->v->signer = hex;
	return true;
}

/* A signature file could carry anything beside the signature, and nothing would cover it. */
static bool is_only_signature(const struct json *sig)
{
	json_each_member (m, sig) {
		bool is_known = text_eq(m->name, "manifest_hash");
		for (size_t i = 0; i < ARRAY_SIZE(signature_members); i++)
			is_known |= text_eq(m->name, signature_members[i]);
		if (!is_known || !json_text(m->value))
			return false;
	}
	return json_is(sig, JSON_OBJECT);
}

/* Signatures in files of their own.  *count grows by those that verified. */
static bool check_detached(struct v1 *s, size_t *count)
{
	for (size_t i = 0; i < s->p->n; i++) {
		const struct pack_file *f = &s->p->files[i];
		struct json *sig;
		struct err e = { 0 };
		if (!is_detached(s, f))
			continue;
		if (pack_json(s->v->a, f, &sig, &e))
			return verify_fail(s->v, "signature", "%s", e.text);
		if (!is_only_signature(sig))
			return verify_fail(s->v, "signature", "%s holds more than a signature", f->path);
		if (!check_signature(s, sig, f->path))
			return false;
		(*count)++;
	}
	return true;
}

/* The signed bytes of a seal: the manifest in canonical form, without the seal's own signature. */
static bool seal_message(struct v1 *s, const struct json *seal, struct buf *to)
{
	struct json *whole = json_new(s->v->a, JSON_OBJECT), *open = json_copy(s->v->a, seal);

	json_each_member (m, s->manifest)
		json_set(s->v->a, whole, m->name, m->value);
	json_remove(open, "signature");
	json_set(s->v->a, whole, "seal", open);
	return json_canonical_strict(to, whole, NULL) == OK;
}

/* The seal is judged under the key it names first.  That it fails there means that the manifest was
 * changed, and refutes it.  Only then is the signer compared with the trusted keys, which decides about
 * trust. */
static bool check_seal(struct v1 *s)
{
	const struct json *seal = json_get(s->manifest, "seal");
	uint8_t signature[SIGNATURE_SIZE], declared[KEY_SIZE];
	struct buf b;

	if (!s->is_own && !text_eq(member_text(seal, "version"), "helm-pack-seal/v1"))
		return true; /* none, or a member of somebody else's */
	buf_init(&b, s->v->a);
	if (!text_eq(member_text(seal, "version"), "helm-pack-seal/v1"))
		return fail_step(s, "signature", "the manifest has no seal of a supported version");
	if (!text_eq(member_text(seal, "algorithm"), "ed25519"))
		return fail_step(s, "signature", "the seal's algorithm is not ed25519");
	if (!parse_signature(member_text(seal, "signature"), signature) ||
		!hex_decode(member_text(seal, "public_key"), strlen(member_text(seal, "public_key")),
			declared, KEY_SIZE, true) ||
		!seal_message(s, seal, &b))
		return fail_step(s, "signature", "the seal is malformed");
	if (!verify_ed25519(declared, buf_bytes(&b), signature))
		return fail_step(s, "signature", "the manifest was changed after it was sealed");
	verify_value(s->v, "sealed_by", member_text(seal, "public_key"));
	if (!signer_of(s, buf_bytes(&b), signature))
		return verify_fail(s->v, "signature",
			s->v->trust->key_count
				? "the seal is by none of the keys given"
				: "no key was given to trust; the pack is sealed by the key it names itself");
	return true;
}

/* Trust is "no" (or open, when no key was given) until every signature was good and there was at least
 * one. */
static bool step_signature(struct v1 *s)
{
	const struct json *list = json_get(s->manifest, "signatures");
	size_t count = 0;

	s->v->trusted = s->v->trust->key_count ? ANSWER_NO : ANSWER_UNKNOWN;
	if (!check_seal(s))
		return false;
	json_each (sig, list) {
		if (!check_signature(s, sig, arena_printf(s->v->a, "signature %zu", ++count)))
			return false;
	}
	if ((list && !json_is(list, JSON_ARRAY)) || !check_detached(s, &count))
		return verify_fail(s->v, "signature", "the signatures are not a list");
	if (!count)
		return verify_fail(s->v, "signature", "the pack is not signed");
	if (!s->is_own)
		verify_note(s->v,
			"the signature covers manifest_hash only: signer_id, key_id and signed_at are "
			"claims");
	s->v->trusted = ANSWER_YES;
	return true;
}

/* Packs of others may lack the root.  Ours have it, since proofs of single entries lead to it. */
static bool step_merkle_root(struct v1 *s)
{
	const struct json *stated = json_get(s->manifest, "entries_merkle_root");
	struct hash root = pack_entries_root(s->v->a, s->entries, s->n);
	const char *computed = pack_hash_text(s->v->a, &root);

	verify_value(s->v, "entries_merkle_root", computed);
	if (!stated && !s->is_own)
		return true;
	if (json_text(stated) && text_eq(json_text(stated), computed))
		return true;
	verify_at(s->v, "manifest.json", "entries_merkle_root", json_text(stated), computed);
	return fail_step(s, "merkle_root", "entries_merkle_root is not the root of the entries");
}

/* The steps in their order.  Their names are part of the report and of published test cases. */
static const struct {
	const char *name;
	step_fn *fn;
} steps[] = {
	{ "archive", step_archive },
	{ "manifest", step_manifest },
	{ "manifest_hash", step_manifest_hash },
	{ "content_hash", step_content_hash },
	{ "size", step_size },
	{ "completeness", step_completeness },
	{ "signature", step_signature },
	{ "merkle_root", step_merkle_root },
};

/* A step that fails after another has already set v->error gets no detail: v->text belongs to the first
 * failure.  When no step has refuted the pack, its contents are what the manifest says. */
void verify_pack_v1(struct verification *v, const struct pack *p, const struct json *manifest)
{
	struct v1 s = { .v = v, .p = p, .manifest = manifest };

	v->kind = "evidence pack v1";
	pack_add_seams(v, p);
	verify_value(v, "pack_id", member_text(manifest, "pack_id"));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const char *before = v->error;
		if (s.stop)
			verify_check(v, steps[i].name, CHECK_NOT_APPLICABLE, s.stop);
		else if (steps[i].fn(&s))
			verify_check(v, steps[i].name, CHECK_PASS, "");
		else
			verify_check(v, steps[i].name, CHECK_FAIL, before ? "" : v->text);
	}
	if (v->integrity == ANSWER_UNKNOWN)
		v->integrity = ANSWER_YES;
	pack_check_receipts(v, p);
	json_seti(v->a, v->values, "entry_count", (int64_t)s.n);
	json_seti(v->a, v->values, "total_bytes", (int64_t)p->total_bytes);
}
