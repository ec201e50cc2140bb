/* pack_seal.c — the seal of the native layout: 07_ATTESTATIONS/evidence_pack.sig
 * (docs/formats/native-pack.md).
 *
 * Errors accumulate, so that a report shows everything that is wrong at once; the seal is valid with none
 * of them and a signature under a key the caller trusts.  A seal's own key counts only when the caller
 * says that internal consistency is enough, and the report then says so. */
#include "proof/pack.h"
#include "verify/pack.h"

#define SEAL_PATH "07_ATTESTATIONS/evidence_pack.sig"
#define SEAL_VERSION "evidence-pack-seal/v1"

struct sealing {
	struct verification *v;
	const struct pack *p;
	const struct pack_index *index;
	struct json *seal;
	struct json *errors;
	const char *profile;
	bool is_signed; /* the signature verified */
	bool is_broken; /* the pack is not what was sealed, whoever sealed it */
};

/* The profile behind its other names, or NULL. */
static const char *profile_of(const char *name)
{
	static const char *const aliases[][2] = { { "", "dev-local" }, { "local-dev", "dev-local" },
		{ "local", "dev-local" }, { "dev", "dev-local" }, { "dev-local", "dev-local" },
		{ "team", "team" }, { "customer", "customer" }, { "prod", "customer" },
		{ "production", "customer" }, { "high-assurance", "high-assurance" } };

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (text_eq(name, aliases[i][0]))
			return aliases[i][1];
	return NULL;
}

/* Every indexed file is there and unchanged, and no other is.  Both lists are sorted, so one pass compares
 * them. */
static void check_files(struct sealing *s)
{
	for (size_t i = 0; i < s->index->n; i++) {
		const struct index_entry *entry = &s->index->entries[i];
		const struct pack_file *f = verify_pack_find(s->p, entry->path);
		if (!entry->is_digest)
			pack_add_error(s->v, s->errors, "invalid sha256 for %.200s", entry->path);
		else if (!f)
			pack_add_error(s->v, s->errors, "indexed file missing %.200s", entry->path);
		else if (!hash_eq(&f->digest, &entry->digest))
			pack_add_error(s->v, s->errors, "indexed file hash mismatch for %.200s", entry->path);
	}
	for (size_t i = 0, at = 0; i < s->p->n; i++) {
		const char *path = s->p->files[i].path;
		while (at < s->index->n && strcmp(s->index->entries[at].path, path) < 0)
			at++;
		if (at < s->index->n && text_eq(s->index->entries[at].path, path))
			continue;
		if (!text_eq(path, "00_INDEX.json") && !text_eq(path, SEAL_PATH))
			pack_add_error(s->v, s->errors, "unindexed evidence pack file: %.200s", path);
	}
}

/* What the seal states about the index must be what the index gives: its hash, its root and its count. */
static void check_roots(struct sealing *s)
{
	char *index_hash = sha256_hex(s->v->a, s->index->text.p, s->index->text.n);
	struct hash *digests = arena_zalloc(s->v->a, s->index->n + 1, sizeof(*digests)), root;

	for (size_t i = 0; i < s->index->n; i++)
		digests[i] = s->index->entries[i].digest;
	root = pack_native_root(s->v->a, digests, s->index->n);
	if (!text_eq(member_text(s->seal, "index_hash"), index_hash))
		pack_add_error(s->v, s->errors, "index_hash mismatch");
	if (!text_eq(member_text(s->seal, "merkle_root"), hash_hex(s->v->a, &root)))
		pack_add_error(s->v, s->errors, "merkle_root mismatch");
	if (json_get_int(s->seal, "entry_count", -1) != (int64_t)s->index->n)
		pack_add_error(s->v, s->errors, "entry_count mismatch");
}

/* Whether the seal verifies under this key, in the current form or in the one old seals signed. */
static bool verifies(struct sealing *s, const uint8_t key[KEY_SIZE], const uint8_t signature[SIGNATURE_SIZE])
{
	static const char *const names[] = { "current", "legacy" };

	for (int form = PACK_SEAL_CURRENT; form <= PACK_SEAL_LEGACY; form++) {
		struct err e = { 0 };
		struct bytes payload;
		if (pack_seal_payload(s->v->a, s->seal, (enum pack_seal_form)form, &payload, &e) ||
			!verify_ed25519(key, payload, signature))
			continue;
		verify_value(s->v, "seal_form", names[form]);
		if (form == PACK_SEAL_LEGACY)
			verify_note(s->v,
				"the seal is of the old form: later storage and anchor members are not "
				"covered by it");
		return true;
	}
	return false;
}

/* The key the seal carries. */
static bool declared_key(const struct sealing *s, uint8_t ret[KEY_SIZE])
{
	const char *text = member_text(json_get(s->seal, "signer"), "public_key");

	return *text && hex_decode(text, strlen(text), ret, KEY_SIZE, false);
}

/* The trusted key to check with: the one of the seal's key id, else the one that equals the declared key,
 * else the first. */
static const struct trusted_key *choose_key(struct sealing *s, const char *key_id)
{
	const struct trust *t = s->v->trust;
	uint8_t declared[KEY_SIZE];
	bool has_declared = declared_key(s, declared);

	for (size_t i = 0; i < t->key_count; i++)
		if (*key_id && text_eq(t->keys[i].id, key_id))
			return &t->keys[i];
	for (size_t i = 0; has_declared && i < t->key_count; i++)
		if (memcmp(t->keys[i].key, declared, KEY_SIZE) == 0)
			return &t->keys[i];
	return t->key_count ? &t->keys[0] : NULL;
}

/* Without a trusted key only local development seals may be checked under their own key.  It is an error
 * all the same unless the caller allows it. */
static void check_self_attested(
	struct sealing *s, const char *key_id, const uint8_t signature[SIGNATURE_SIZE])
{
	uint8_t key[KEY_SIZE];
	bool may = text_eq(s->profile, "dev-local") &&
		text_eq(member_text(json_get(s->seal, "signer"), "type"), "file-dev") && declared_key(s, key);

	if (!may) {
		pack_add_error(s->v, s->errors,
			"no trusted public key configured for signer %.80s under profile %s", key_id,
			s->profile);
		return;
	}
	s->is_signed = verifies(s, key, signature);
	s->v->is_self_attested = s->is_signed;
	s->is_broken |= !s->is_signed;
	if (!s->is_signed)
		pack_add_error(s->v, s->errors, "Ed25519 seal signature verification failed");
	else if (!s->v->trust->allow_self_attested)
		pack_add_error(s->v, s->errors,
			"self-attested seal: the key comes from the pack itself; give a trusted key");
	else
		verify_note(
			s->v, "the seal verifies under its own key only: internal consistency, not trust");
}

/* A seal that names another key than the trusted one of its id is reported even when the signature
 * verifies. */
static void check_signature(struct sealing *s)
{
	const char *text = member_text(s->seal, "signature");
	const struct json *signer = json_get(s->seal, "signer");
	const char *key_id = member_text(signer, "key_id");
	const struct trusted_key *k = choose_key(s, key_id);
	uint8_t signature[SIGNATURE_SIZE], declared[KEY_SIZE];

	if (!text_eq(member_text(signer, "algorithm"), "ed25519")) {
		pack_add_error(s->v, s->errors, "unsupported seal algorithm \"%.40s\"",
			member_text(signer, "algorithm"));
		return;
	}
	if (strlen(text) != 2 * SIGNATURE_SIZE) {
		pack_add_error(s->v, s->errors, "invalid seal signature size");
		return;
	}
	if (!parse_signature(text, signature)) {
		pack_add_error(s->v, s->errors, "invalid seal signature encoding");
		return;
	}
	if (!k) {
		check_self_attested(s, key_id, signature);
		return;
	}
	if (declared_key(s, declared) && memcmp(declared, k->key, KEY_SIZE) != 0)
		pack_add_error(s->v, s->errors, "trusted key mismatch for signer %.80s", key_id);
	struct verification asked = { .a = s->v->a, .trust = s->v->trust, .signer_key = k };
	s->is_signed = verifies(s, k->key, signature);
	bool in_force = verify_key_window(&asked, member_text(s->seal, "signed_at"));
	s->v->trusted = s->is_signed && in_force ? ANSWER_YES : ANSWER_NO;
	if (!s->is_signed)
		pack_add_error(s->v, s->errors, "Ed25519 seal signature verification failed");
	else if (!in_force)
		pack_add_error(s->v, s->errors, "%s", asked.text);
}

/* What stronger profiles demand.  Anchors and object locks live elsewhere: offline they cannot be
 * established, and what is not established does not pass. */
static void check_profile(struct sealing *s)
{
	const char *type = member_text(json_get(s->seal, "signer"), "type");
	bool is_local = text_eq(s->profile, "dev-local") || text_eq(s->profile, "team");
	const struct json *storage = json_get(s->seal, "storage");

	verify_value(s->v, "anchor_status", is_local ? "local-only" : "missing");
	verify_value(s->v, "storage_status", is_local ? "local-only" : "missing");
	if (text_eq(s->profile, "team") && !*member_text(json_get(s->seal, "signer"), "key_id"))
		pack_add_error(s->v, s->errors, "profile team needs a signer key id");
	if (is_local)
		return;
	if (text_eq(type, "file-dev") || text_eq(type, "local-dev"))
		pack_add_error(
			s->v, s->errors, "profile %s does not accept signer type %.40s", s->profile, type);
	if (text_eq(s->profile, "high-assurance") && !json_get_bool(storage, "object_lock", false) &&
		!json_get_bool(storage, "immutable", false))
		pack_add_error(s->v, s->errors, "profile high-assurance needs immutable storage");
	pack_add_error(s->v, s->errors,
		"profile %s needs an external anchor and off-host storage, which are not "
		"established offline",
		s->profile);
}

/* An unknown profile is judged by the strictest rules.  is_broken is set before the signature is looked
 * at: it says that contents differ, whoever signed. */
static void check_seal_document(struct sealing *s)
{
	const char *version = member_text(s->seal, "version");

	if (!text_eq(version, SEAL_VERSION))
		pack_add_error(s->v, s->errors, "unsupported seal version \"%.40s\"", version);
	s->profile = profile_of(member_text(s->seal, "profile"));
	if (!s->profile) {
		pack_add_error(s->v, s->errors, "unknown profile \"%.40s\"", member_text(s->seal, "profile"));
		s->profile = "high-assurance";
	}
	if (!s->index->doc)
		pack_add_error(s->v, s->errors, "there is no readable index");
	json_each (error, s->index->errors)
		json_push(s->v->a, s->errors, error);
	check_files(s);
	check_roots(s);
	s->is_broken = s->errors->n > 0;
	check_signature(s);
	check_profile(s);
}

/* Trust is taken back when the seal has any error: a good signature on a seal that does not fit the pack
 * says nothing about the pack. */
void pack_check_seal(struct verification *v, const struct pack *p, const struct pack_index *index)
{
	struct sealing s = { .v = v, .p = p, .index = index, .errors = json_new(v->a, JSON_ARRAY) };
	const struct pack_file *f = verify_pack_find(p, SEAL_PATH);
	struct err e = { 0 };
	const char *state = "invalid";

	if (!f) {
		state = "missing";
		pack_add_error(v, s.errors, "missing " SEAL_PATH);
	} else if (pack_json(v->a, f, &s.seal, &e)) {
		pack_add_error(v, s.errors, "%.300s", e.text);
	} else {
		check_seal_document(&s);
	}
	if (s.is_broken)
		v->integrity = ANSWER_NO;
	if (!s.errors->n && s.is_signed)
		state = "valid";
	else
		v->trusted = v->trusted == ANSWER_YES ? ANSWER_NO : v->trusted;
	verify_value(v, "seal_state", state);
	json_setb(v->a, v->values, "seal_signature_valid", s.is_signed);
	json_set(v->a, v->values, "seal_errors", s.errors);
	verify_check(v, "evidence_pack_seal", text_eq(state, "valid") ? CHECK_PASS : CHECK_FAIL,
		pack_join(v->a, s.errors, "; "));
}
