/* pack_native.c — the native numbered layout and export bundles: checks in order, each named
 * (docs/formats/native-pack.md).
 *
 * Unlike the manifest layout, where one failure ends the question, stored native packs are judged by a
 * report: every check that can be made is made, and one that fails makes the pack fail.  A check for which
 * the pack holds nothing says "not established", never "passed".
 *
 * Not every failure means that the pack was changed.  A missing folder or an unknown signer leaves
 * integrity open; a file that differs from the index refutes it.  shows_change() draws that line. */
#include "base/tar.h"
#include "proof/pack.h"
#include "verify/pack.h"

/* `receipts_dir` is where this pack keeps its receipts; export bundles and numbered packs differ in it. */
struct native {
	struct verification *v;
	const struct pack *p;
	struct pack_index index;
	const char *receipts_dir;
};

/* Index. */

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct index_entry *)x)->path, ((const struct index_entry *)y)->path);
}

/* A path that would leave the folder the pack is unpacked to. */
static bool escapes(const char *path)
{
	return tar_check_path(path, strlen(path), NULL) != OK;
}

/* One line of the index.  Entries with an unsafe path are reported and left out, so no later check follows
 * them.  A hash in a wrong spelling is kept and reported by the check about roots. */
static void read_entry(struct verification *v, const struct json *row, struct pack_index *index)
{
	struct index_entry *entry = &index->entries[index->n];
	const char *hex;

	entry->path = member_text(row, "path");
	entry->sha256 = member_text(row, "sha256");
	hex = text_starts(entry->sha256, "sha256:") ? entry->sha256 + 7 : entry->sha256;
	entry->is_digest = hex_decode(hex, strlen(hex), entry->digest.b, SHA256_SIZE, false);
	if (!*entry->path || escapes(entry->path))
		pack_add_error(v, index->errors, "index entry escapes bundle: %.200s", entry->path);
	else
		index->n++;
}

/* Entries are sorted by path, as the root is computed over them in that order.  A pack without an index
 * has doc NULL and no errors: whether that matters depends on the layout. */
void pack_index_read(struct verification *v, const struct pack *p, struct pack_index *ret)
{
	const struct pack_file *f = verify_pack_find(p, "00_INDEX.json");
	struct err e = { 0 };
	const struct json *entries;

	*ret = (struct pack_index){ .errors = json_new(v->a, JSON_ARRAY) };
	if (!f)
		return;
	if (pack_json(v->a, f, &ret->doc, &e)) {
		pack_add_error(v, ret->errors, "%.300s", e.text);
		ret->doc = NULL;
		return;
	}
	ret->text = f->content;
	entries = json_get(ret->doc, "entries");
	ret->entries = arena_zalloc(
		v->a, (json_is(entries, JSON_ARRAY) ? entries->n : 0) + 1, sizeof(*ret->entries));
	json_each (row, entries)
		read_entry(v, row, ret);
	if (ret->n)
		qsort(ret->entries, ret->n, sizeof(*ret->entries), by_path);
	for (size_t i = 1; i < ret->n; i++)
		if (text_eq(ret->entries[i - 1].path, ret->entries[i].path))
			pack_add_error(v, ret->errors, "the path %.200s stands twice in the index",
				ret->entries[i].path);
}

/* Reports a check whose failures were collected in a list. */
static void check(struct native *s, const char *name, const struct json *errors, const char *detail)
{
	verify_check(s->v, name, errors->n ? CHECK_FAIL : CHECK_PASS,
		errors->n ? pack_join(s->v->a, errors, "; ") : detail);
}

/* Without an index or a manifest there is nothing to judge by, and no other check is made. */
static bool check_structure(struct native *s)
{
	if (verify_pack_find(s->p, "00_INDEX.json") || verify_pack_find(s->p, "manifest.json")) {
		verify_check(s->v, "structure", CHECK_PASS, "");
		return true;
	}
	verify_check(s->v, "structure", CHECK_FAIL, "neither manifest.json nor 00_INDEX.json is there");
	return false;
}

/* The workstation dialect: a map of paths to hashes of the content without its final newline, and a hash
 * over that map. */
static void check_workstation(struct native *s, struct json *errors)
{
	const struct json *files = json_get(s->index.doc, "files");

	if (!text_eq(json_sha256(s->v->a, files) + strlen("sha256:"), member_text(s->index.doc, "root_hash")))
		pack_add_error(s->v, errors, "root_hash is not the hash of files");
	json_each_member (m, files) {
		const struct pack_file *f = verify_pack_find(s->p, m->name);
		if (!f || !f->is_kept) {
			pack_add_error(s->v, errors, "indexed file missing %.200s", m->name);
			continue;
		}
		size_t n = f->content.n - (f->content.n && f->content.p[f->content.n - 1] == '\n');
		if (!json_text(m->value) ||
			!text_eq(sha256_hex(s->v->a, f->content.p, n), json_text(m->value)))
			pack_add_error(s->v, errors, "indexed file hash mismatch for %.200s", m->name);
	}
}

/* Every indexed file is there and has the hash the index states.  Files that are not in the index are a
 * matter of the seal. */
static void check_index(struct native *s)
{
	struct json *errors = json_copy(s->v->a, s->index.errors);
	bool is_workstation =
		text_eq(member_text(s->index.doc, "format_version"), "workstation-evidencepack.v1");

	if (is_workstation) {
		s->v->kind = "workstation evidence pack";
		check_workstation(s, errors);
	}
	for (size_t i = 0; i < s->index.n; i++) {
		const struct index_entry *entry = &s->index.entries[i];
		const struct pack_file *f = verify_pack_find(s->p, entry->path);
		if (!f)
			pack_add_error(s->v, errors, "indexed file missing %.200s", entry->path);
		else if (entry->is_digest && !hash_eq(&entry->digest, &f->digest))
			pack_add_error(s->v, errors, "indexed file hash mismatch for %.200s", entry->path);
	}
	if (!errors->n && !s->index.n && !is_workstation)
		verify_check(s->v, "index_integrity", CHECK_NOT_APPLICABLE,
			"not established: the index lists nothing");
	else
		check(s, "index_integrity", errors, "");
}

/* Computes the roots for the report.  They are compared with stated ones where a seal states them. */
static void check_roots(struct native *s)
{
	struct hash *digests = arena_zalloc(s->v->a, s->index.n + 1, sizeof(*digests)), root;
	struct json *errors = json_new(s->v->a, JSON_ARRAY), *roots = json_new(s->v->a, JSON_OBJECT);

	for (size_t i = 0; i < s->index.n; i++) {
		digests[i] = s->index.entries[i].digest;
		if (!s->index.entries[i].is_digest)
			pack_add_error(s->v, errors, "invalid sha256 for %.200s", s->index.entries[i].path);
	}
	root = pack_native_root(s->v->a, digests, s->index.n);
	if (s->index.doc) {
		json_sets(s->v->a, roots, "manifest_root_hash",
			sha256_hex(s->v->a, s->index.text.p, s->index.text.n));
		json_sets(s->v->a, roots, "merkle_root", hash_hex(s->v->a, &root));
	}
	json_seti(s->v->a, roots, "entry_count", (int64_t)s->index.n);
	json_set(s->v->a, s->v->values, "roots", roots);
	check(s, "roots", errors, "");
}

/* Export bundles list their files in manifest.json. */

/* Files that cannot be in the list of an export bundle, since they hold or sign that list. */
static bool is_control(const char *path)
{
	return text_eq(path, "manifest.json") || text_eq(path, "00_INDEX.json") ||
		text_eq(path, "07_ATTESTATIONS/evidence_pack.sig");
}

/* Each file that differs gets a check of its own, so that the report names it. */
static void check_hash(struct native *s, const struct json_member *m, struct json *errors)
{
	const struct pack_file *f = verify_pack_find(s->p, m->name);
	const char *stated = json_text(m->value);
	char *name = arena_printf(s->v->a, "hash:%.300s", m->name);
	struct hash h;

	if (f && stated && hash_from_hex(text_starts(stated, "sha256:") ? stated + 7 : stated, &h) &&
		hash_eq(&h, &f->digest))
		return;
	verify_check(s->v, name, CHECK_FAIL,
		f ? "the content is not what the manifest says" : "the file is missing");
	pack_add_error(s->v, errors, "%.300s", m->name);
}

/* Both directions: each listed file has its hash, and no file is unlisted. */
static void check_file_hashes(struct native *s)
{
	const struct pack_file *f = verify_pack_find(s->p, "manifest.json");
	struct json *errors = json_new(s->v->a, JSON_ARRAY), *manifest = NULL;
	const struct json *hashes;

	if (f && pack_json(s->v->a, f, &manifest, NULL))
		pack_add_error(s->v, errors, "manifest.json cannot be read");
	hashes = json_get(manifest, "file_hashes");
	if (!errors->n && !hashes) {
		verify_check(s->v, "file_hashes", CHECK_NOT_APPLICABLE, "the pack has no file_hashes");
		return;
	}
	if (hashes && !s->index.doc)
		s->v->kind = "export bundle";
	json_each_member (m, hashes)
		check_hash(s, m, errors);
	for (size_t i = 0; hashes && i < s->p->n; i++)
		if (!is_control(s->p->files[i].path) && !json_get(hashes, s->p->files[i].path))
			pack_add_error(s->v, errors, "unlisted file %.200s", s->p->files[i].path);
	check(s, "file_hashes", errors, "");
}

/* Documents inside. */

/* Absent, null, or empty: what a profile must not have. */
static bool is_blank(const struct json *v)
{
	return !v || v->type == JSON_NULL ||
		(v->n == 0 && (v->type == JSON_STRING || v->type == JSON_ARRAY || v->type == JSON_OBJECT));
}

/* Looks for objects of that name anywhere in the tree.  *incomplete is set when one of them has an empty
 * member. */
static void find_profiles(const struct json *v, bool *found, bool *incomplete)
{
	json_each (item, v)
		find_profiles(item, found, incomplete);
	json_each_member (m, v) {
		if (!text_eq(m->name, "eu_ai_act_profile")) {
			find_profiles(m->value, found, incomplete);
			continue;
		}
		*found = true;
		*incomplete |= !json_is(m->value, JSON_OBJECT) || is_blank(m->value);
		json_each_member (inner, m->value)
			*incomplete |= is_blank(inner->value);
	}
}

/* A member whose name contains the given parts and whose value is not blank: producers name these members
 * differently. */
static const struct json *member_like(const struct json *o, const char *part, const char *other)
{
	json_each_member (m, o) {
		if (strstr(m->name, part) && (!other || strstr(m->name, other)) && !is_blank(m->value))
			return m->value;
	}
	return NULL;
}

/* Everything that ties a connector's call to a contract, a policy, its request and its answer.  A record
 * that calls itself both a sample and production is refused. */
static bool is_connector_record_complete(const struct json *r)
{
	bool has_all = member_like(r, "contract", NULL) && member_like(r, "policy", NULL) &&
		member_like(r, "request", "hash") &&
		(member_like(r, "response", "hash") || member_like(r, "error", "hash")) &&
		member_like(r, "url", "hash") &&
		(member_like(r, "receipt", NULL) || member_like(r, "pack", NULL));

	return has_all && !(json_get_bool(r, "sample", false) && json_get_bool(r, "production", false));
}

/* Searches one JSON file for profiles and connector records, however large: the layout is limited as a whole.
 * Files that are not JSON are passed over. */
static void look_into(struct native *s, const struct pack_file *f, bool found[2], struct json *profile_errors,
	struct json *connector_errors)
{
	bool incomplete = false, has_profile = false;
	struct json *doc;

	if (!text_ends(f->path, ".json") || pack_json(s->v->a, f, &doc, NULL))
		return;
	find_profiles(doc, &has_profile, &incomplete);
	found[0] |= has_profile;
	if (incomplete)
		pack_add_error(s->v, profile_errors, "incomplete profile in %.200s", f->path);
	const char *slash = strrchr(f->path, '/');
	if (!text_eq(slash ? slash + 1 : f->path, "connector_evidence.json"))
		return;
	found[1] = true;
	if (!json_is(doc, JSON_ARRAY) && !is_connector_record_complete(doc))
		pack_add_error(s->v, connector_errors, "incomplete record in %.200s", f->path);
	json_each (record, doc) {
		if (!is_connector_record_complete(record))
			pack_add_error(s->v, connector_errors, "incomplete record in %.200s", f->path);
	}
}

static void check_documents(struct native *s)
{
	struct json *profiles = json_new(s->v->a, JSON_ARRAY), *connectors = json_new(s->v->a, JSON_ARRAY);
	bool found[2] = { false, false };

	for (size_t i = 0; i < s->p->n; i++)
		look_into(s, &s->p->files[i], found, profiles, connectors);
	if (found[0])
		check(s, "eu_ai_act_profile", profiles, "");
	else
		verify_check(s->v, "eu_ai_act_profile", CHECK_NOT_APPLICABLE, "the pack has none");
	if (found[1])
		check(s, "connector_evidence", connectors, "");
	else
		verify_check(s->v, "connector_evidence", CHECK_NOT_APPLICABLE, "the pack has none");
}

/* Receipts. */

static bool in_dir(const char *path, const char *dir)
{
	return text_starts(path, dir) && path[strlen(dir)] == '/' && text_ends(path, ".json");
}

#define POLICY_CLASS "mcp_policy_decision"
#define EFFECT_CLASS "mcp_governed_effect_execution"

/* The class an effect id fixes, or NULL.  The effect id is signed, a `type` member is not. */
static const char *proof_class(const struct json *r)
{
	const char *effect = member_text(r, "effect_id");

	return text_starts(effect, POLICY_CLASS "/")	? POLICY_CLASS
		: text_starts(effect, EFFECT_CLASS "/") ? EFFECT_CLASS
							: NULL;
}

/* Only presence can be judged: what these hashes are made of is not in the pack.  The report says so. */
static void check_decision_hashes(struct native *s)
{
	struct json *errors = json_new(s->v->a, JSON_ARRAY);
	size_t carrying = 0;

	for (size_t i = 0; i < s->p->n; i++) {
		const struct pack_file *f = &s->p->files[i];
		struct json *r;
		if (!in_dir(f->path, s->receipts_dir) || pack_json(s->v->a, f, &r, NULL))
			continue;
		carrying += *member_text(r, "decision_hash") != 0;
		const char *class = proof_class(r);
		if (class && text_eq(class, POLICY_CLASS) &&
			(!*member_text(r, "output_hash") || !*member_text(r, "args_hash") ||
				!*member_text(r, "signature")))
			pack_add_error(
				s->v, errors, "%.200s lacks output_hash, args_hash or signature", f->path);
	}
	if (!carrying)
		pack_add_error(s->v, errors, "no receipt carries a decision_hash");
	check(s, "policy_decision_hashes", errors, "presence only: the hashes are not recomputed");
}

/* A signed document inside must verify under a key the caller brought.  The one exception: receipts of
 * known classes may count under their own key when the caller allows self-attested packs. */
static bool is_signature_trusted(
	struct native *s, const struct pack_file *f, const struct json *doc, const char **ret_why)
{
	const char *class = proof_class(doc), *type = member_text(doc, "type");
	struct verification part;

	if (class && *type && !text_eq(type, class)) {
		*ret_why = "its type contradicts its effect_id";
		return false;
	}
	verification_begin(&part, s->v->a, s->v->trust, "document");
	if (text_eq(member_text(doc, "receipt_version"), "agent_run_receipt.v1"))
		verify_workstation(&part, doc);
	else
		verify_receipt_text(&part, f->content, f->path);
	*ret_why = part.text ? part.text : "its signer is not trusted";
	if (part.trusted == ANSWER_YES && part.integrity == ANSWER_YES && !part.error)
		return true;
	return class && s->v->trust->allow_self_attested && part.integrity == ANSWER_YES &&
		part.is_self_attested;
}

/* Unsigned documents are passed over; the check is "not established" when none is signed. */
static void check_embedded(struct native *s)
{
	struct json *errors = json_new(s->v->a, JSON_ARRAY);
	size_t seen = 0;

	for (size_t i = 0; i < s->p->n; i++) {
		const struct pack_file *f = &s->p->files[i];
		struct json *doc;
		const char *why;
		if ((!in_dir(f->path, s->receipts_dir) && !in_dir(f->path, "07_ATTESTATIONS")) ||
			pack_json(s->v->a, f, &doc, NULL) || is_blank(json_get(doc, "signature")))
			continue;
		seen++;
		if (!is_signature_trusted(s, f, doc, &why))
			pack_add_error(s->v, errors, "%.200s: %.200s", f->path, why);
	}
	if (seen)
		check(s, "embedded_signature_trust", errors, "");
	else
		verify_check(s->v, "embedded_signature_trust", CHECK_NOT_APPLICABLE,
			"not established: the receipts and attestations are not signed");
}

/* Each file of host evidence gets a check of its own. */
static void check_host_evidence(struct native *s)
{
	for (size_t i = 0; i < s->p->n; i++) {
		const struct pack_file *f = &s->p->files[i];
		struct verification part;
		struct json *doc;
		struct err e = { 0 };
		if (!in_dir(f->path, "host_evidence") && !in_dir(f->path, "11_HOST_EVIDENCE"))
			continue;
		char *name = arena_printf(s->v->a, "%.300s:external_host:chain", f->path);
		if (pack_json(s->v->a, f, &doc, &e)) {
			verify_check(s->v, name, CHECK_FAIL, arena_strdup(s->v->a, e.text));
			continue;
		}
		verification_begin(&part, s->v->a, s->v->trust, "host evidence");
		verify_host_evidence(&part, doc);
		verify_check(s->v, name,
			part.integrity == ANSWER_YES && !part.error ? CHECK_PASS : CHECK_FAIL,
			part.text ? part.text : "");
	}
}

/* Replay. */

/* The index lists which gates the producer claims to have passed; G2 is reproducibility. */
static bool has_gate(const struct native *s, const char *gate)
{
	json_each (g, json_get(s->index.doc, "gates")) {
		if (json_text(g) && text_eq(json_text(g), gate))
			return true;
	}
	return false;
}

/* Placeholder files keep a directory in an archive; they are not differences. */
static bool has_diffs(const struct native *s)
{
	for (size_t i = 0; i < s->p->n; i++)
		if (text_starts(s->p->files[i].path, "05_DIFFS/") && s->p->files[i].path[9] != '.')
			return true;
	return false;
}

/* The producer's own statement that replay gave the same hash.  It must at least be there and agree with
 * itself. */
static void check_determinism(struct native *s, struct json *errors)
{
	const struct pack_file *f = verify_pack_find(s->p, "02_PROOFGRAPH/determinism_manifest.json");
	struct json *doc = NULL;
	const char *live;

	if (!f || pack_json(s->v->a, f, &doc, NULL)) {
		pack_add_error(s->v, errors, "02_PROOFGRAPH/determinism_manifest.json is missing");
		return;
	}
	live = member_text(doc, "live_hash");
	if (!*live || !text_eq(live, member_text(doc, "replay_hash")))
		pack_add_error(s->v, errors, "live_hash and replay_hash differ");
}

/* Reproducibility is judged only when the pack claims it. */
static void check_replay(struct native *s)
{
	struct json *errors = json_new(s->v->a, JSON_ARRAY);

	if (!has_gate(s, "G2")) {
		verify_check(s->v, "replay_determinism", CHECK_NOT_APPLICABLE,
			"not established: the pack does not claim it");
		return;
	}
	pack_check_tapes(s->v, s->p, errors);
	check_determinism(s, errors);
	if (has_diffs(s))
		pack_add_error(s->v, errors, "05_DIFFS is not empty");
	check(s, "replay_determinism", errors, "");
}

/* Structure of the numbered layout. */

static const char *const mandatory[] = { "02_PROOFGRAPH", "03_TELEMETRY", "04_EXPORTS", "05_DIFFS", "06_LOGS",
	"07_ATTESTATIONS", "08_TAPES", "09_SCHEMAS", "12_REPORTS" };
static const char *const optional[] = { "00_INDEX.json", "01_SCORE.json", "00_INDEX.json.sig",
	"01_SCORE.json.sha256", "01_SCORE.json.sig", "11_HOST_EVIDENCE", "99_EXT" };

/* A departure from the layout, as a failed check named after it. */
static void conform(struct native *s, const char *issue)
{
	verify_check(s->v, arena_printf(s->v->a, "conform:%s", issue), CHECK_FAIL, "");
}

static bool is_known_top(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(mandatory); i++)
		if (text_eq(name, mandatory[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		if (text_eq(name, optional[i]))
			return true;
	return false;
}

/* Each name once: paths are sorted, so equal first components are neighbours. */
static void check_tops(struct native *s)
{
	const char *last = "";

	for (size_t i = 0; i < s->p->n; i++) {
		const char *path = s->p->files[i].path, *slash = strchr(path, '/');
		char *top = arena_strndup(s->v->a, path, slash ? (size_t)(slash - path) : strlen(path));
		if (text_eq(top, last) || is_known_top(top))
			continue;
		last = top;
		conform(s, arena_printf(s->v->a, "unexpected top-level entry: %.200s", top));
	}
	json_each (d, s->p->dirs) {
		const char *dir = json_text(d);
		if (!strchr(dir, '/') && !is_known_top(dir))
			conform(s, arena_printf(s->v->a, "unexpected top-level entry: %.200s", dir));
	}
}

static bool is_declared(const struct native *s, const char *name)
{
	json_each (x, json_get(s->index.doc, "extensions")) {
		if (json_text(x) && text_eq(json_text(x), name))
			return true;
	}
	return false;
}

static void check_extensions(struct native *s)
{
	const char *last = "";

	for (size_t i = 0; i < s->p->n; i++) {
		const char *path = s->p->files[i].path, *name = path + strlen("99_EXT/");
		if (!text_starts(path, "99_EXT/"))
			continue;
		char *extension = arena_strndup(s->v->a, name, strcspn(name, "/"));
		if (text_eq(extension, last) || is_declared(s, extension))
			continue;
		last = extension;
		conform(s, arena_printf(s->v->a, "undeclared extension: 99_EXT/%.200s", extension));
	}
}

/* Required folders, no unknown names at the top, and no extension that the index does not declare. */
static void check_layout(struct native *s)
{
	if (!s->index.doc && !verify_pack_find(s->p, "00_INDEX.json"))
		return; /* an export bundle has another layout */
	if (!verify_pack_find(s->p, "01_SCORE.json"))
		conform(s, "missing 01_SCORE.json");
	for (size_t i = 0; i < ARRAY_SIZE(mandatory); i++)
		if (!pack_has_dir(s->p, mandatory[i]))
			conform(s, arena_printf(s->v->a, "missing %s/", mandatory[i]));
	check_tops(s);
	check_extensions(s);
}

/* 07_ATTESTATIONS/conformance_report.sig signs four hashes as one small map.  It needs a key the caller
 * brought.  No time is signed with them, so a key that is trusted for a span of time only signs nothing here. */
static void check_report_signature(struct native *s)
{
	static const char *const signed_members[] = { "index_hash", "policy_hash", "schema_bundle_hash",
		"score_hash" };
	const struct pack_file *f = verify_pack_find(s->p, "07_ATTESTATIONS/conformance_report.sig");
	struct json *doc, *map = json_new(s->v->a, JSON_OBJECT);
	uint8_t signature[SIGNATURE_SIZE];
	struct buf b;

	if (!f)
		return;
	buf_init(&b, s->v->a);
	if (!pack_json(s->v->a, f, &doc, NULL) && parse_signature(member_text(doc, "signature"), signature)) {
		for (size_t i = 0; i < ARRAY_SIZE(signed_members); i++)
			json_sets(s->v->a, map, signed_members[i], member_text(doc, signed_members[i]));
		json_write(&b, map, JSON_HTML_SAFE);
		for (size_t i = 0; i < s->v->trust->key_count; i++) {
			const struct trusted_key *k = &s->v->trust->keys[i];
			struct verification asked = { .a = s->v->a, .trust = s->v->trust, .signer_key = k };
			if (verify_ed25519(k->key, buf_bytes(&b), signature) &&
				verify_key_window(&asked, "")) {
				verify_check(s->v, "signature_verification", CHECK_PASS, "");
				return;
			}
		}
	}
	verify_check(s->v, "signature_verification", CHECK_FAIL,
		"the conformance report's signature is not by a key given that is trusted at any time");
}

/* The verdict over all checks. */

/* Failures that show a change.  The others show that something is missing, not trusted, or not as the
 * layout wants it. */
static bool shows_change(const char *name)
{
	return text_eq(name, "index_integrity") || text_eq(name, "roots") || text_eq(name, "file_hashes") ||
		text_starts(name, "hash:");
}

/* The verdict over all checks, in the order they were made, so that the first failing check names the
 * failure.  Completeness is only known through a valid seal, which covers the list of all files. */
static void conclude(struct native *s)
{
	struct verification *v = s->v;
	size_t failed = 0, made = 0;
	bool is_sealed_right = text_eq(json_get_text(v->values, "seal_state", ""), "valid");

	for (size_t i = 0; i < v->check_count; i++) {
		const struct check *c = &v->checks[i];
		made += c->status != CHECK_NOT_APPLICABLE;
		if (c->status != CHECK_FAIL)
			continue;
		failed++;
		if (shows_change(c->name))
			verify_refute(v, c->name, "%s", c->detail);
		else
			verify_fail(v, c->name, "%s", *c->detail ? c->detail : c->name);
	}
	verify_value(v, "summary",
		arena_printf(v->a, failed ? "FAIL: %zu/%zu checks failed" : "PASS: %zu/%zu checks passed",
			failed ? failed : made, made));
	json_seti(v->a, v->values, "issue_count", (int64_t)failed);
	if (!failed && v->integrity == ANSWER_UNKNOWN)
		v->integrity = ANSWER_YES;
	v->complete = is_sealed_right ? ANSWER_YES : ANSWER_UNKNOWN;
	verify_value(v, "trust_level",
		v->trusted == ANSWER_YES      ? "trusted"
			: v->is_self_attested ? "self-attested"
					      : "none");
}

/* The checks look into contents, so all of them must have been kept in memory. */
static bool is_within_limit(struct native *s)
{
	if (s->p->total_bytes <= PACK_KEEP_BYTES)
		return true;
	verify_check(
		s->v, "structure", CHECK_FAIL, "the pack holds more than 32 MiB, the limit of this layout");
	return false;
}

/* The order is part of the report.  The index is read first, since most checks work on it. */
void verify_pack_native(struct verification *v, const struct pack *p)
{
	struct native s = { .v = v, .p = p };

	v->kind = "native evidence pack";
	s.receipts_dir = pack_has_dir(p, "receipts") ? "receipts" : "02_PROOFGRAPH/receipts";
	if (check_structure(&s) && is_within_limit(&s)) {
		pack_index_read(v, p, &s.index);
		check_index(&s);
		check_roots(&s);
		pack_check_seal(v, p, &s.index);
		check_file_hashes(&s);
		check_documents(&s);
		pack_check_chain(v, p, s.receipts_dir);
		check_decision_hashes(&s);
		check_replay(&s);
		check_host_evidence(&s);
		check_embedded(&s);
		check_layout(&s);
		check_report_signature(&s);
	}
	conclude(&s);
}
