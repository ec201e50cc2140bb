/* packs.c — handlers of evidence packs and what can be shown of them: manifest and native layouts,
 * inclusion proofs, selective disclosure, tapes.
 *
 * Packs are verified from their bytes as `helm verify` does it.  Some cases ask to build instead: an
 * archive from a manifest must come out the same to the byte. */
#include "audit/conform/conform.h"
#include "base/file.h"
#include "base/tar.h"
#include "proof/pack.h"
#include "verify/verify.h"

#include <string.h>

struct question {
	struct trusted_key key;
	struct trust trust;
	struct verification v;
};

/* The key stands beside the answer or in the case file: it is the caller's, not an answer.  Without one,
 * or with a text that is no key, nothing is trusted. */
static void begin(struct conform_case *c, struct question *q, const char *key_text)
{
	*q = (struct question){ .key = { .id = "" } };
	q->trust.keys = &q->key;
	q->trust.key_count = key_text && trust_parse_key(key_text, q->key.key);
	verification_begin(&q->v, c->a, &q->trust, "document");
}

/* Members of `expect` that are not answers but inputs and remarks.  They are copied into the answer, so
 * that the comparison of all members passes over them. */
static void copy_remarks(struct conform_case *c)
{
	static const char *const remarks[] = { "trusted_public_key", "advice", "file", "reason" };

	for (size_t i = 0; i < ARRAY_SIZE(remarks); i++)
		if (json_get(c->expect, remarks[i]))
			json_set(c->a, c->got, remarks[i], json_get(c->expect, remarks[i]));
}

/* Some answers leave the choice between two steps: "x or y".  When the step found is one of them, the
 * expected text is given as the answer. */
static void answer_step(struct conform_case *c, const char *step)
{
	const char *expected = json_get_text(c->expect, "step", ""), *found = strstr(expected, step);
	size_t n = strlen(step);
	bool starts = found && (found == expected || strncmp(found - 4, " or ", 4) == 0);
	bool ends = found && (!found[n] || text_starts(found + n, " or "));

	json_sets(c->a, c->got, "step", starts && ends ? expected : step);
}

static const char *case_file(const struct conform_case *c)
{
	const char *name = json_text(json_at(c->files, 0));

	return name ? name : "";
}

/* A case that asks for building holds only the manifest; the files are in an archive beside it.  Copies
 * that were changed for other cases have the same manifest, so the archive must verify as well. */
static int find_archive(struct conform_case *c, struct pack *ret, struct err *e)
{
	const char *name = case_file(c), *slash = strrchr(name, '/');
	const char *dir = slash ? arena_strndup(c->a, name, (size_t)(slash - name)) : ".";
	char **names;
	size_t n;
	int rc = file_list(c->sys, c->a, c->dirfd, dir, &names, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		const struct pack_file *f;
		struct json *manifest;
		struct bytes archive;
		struct pack p;
		if (!text_ends(names[i], ".tar") ||
			file_read(c->sys, c->a, c->dirfd, path_join(c->a, dir, names[i]), 64 << 20,
				FILE_BENEATH, &archive, NULL) ||
			verify_pack_bytes(c->a, archive, &p, NULL))
			continue;
		f = verify_pack_find(&p, "manifest.json");
		if (!f || json_parse(c->a, f->content, names[i], NULL, &manifest, NULL) ||
			!json_eq(manifest, json_get(c->doc, "manifest")))
			continue;
		struct trust nobody = { 0 };
		struct verification v;
		verification_begin(&v, c->a, &nobody, "pack");
		verify_pack(&v, &p);
		if (v.integrity != ANSWER_YES || p.n != json_get(manifest, "entries")->n + 1)
			continue; /* a changed copy with the same manifest */
		*ret = p;
		return OK;
	}
	return err_set(e, E_MISSING, "CONFORM_CASE", "no archive beside the case has its manifest");
}

/* Builds the archive of a manifest again, from the files of the pack that has it.  The writer has one form
 * for each list of files, so the hash must be the published one. */
static int rebuild(struct conform_case *c, struct err *e)
{
	struct tar_writer w;
	struct sink_buf sink;
	struct pack p = { 0 };
	struct buf to, manifest;
	int rc = find_archive(c, &p, e);

	if (rc)
		return rc;
	buf_init(&manifest, c->a);
	json_write(&manifest, json_get(c->doc, "manifest"), JSON_INDENT | JSON_HTML_SAFE);
	buf_init(&to, c->a);
	tar_begin(&w, sink_to_buf(&sink, &to));
	for (size_t i = 0; i < p.n; i++) {
		bool is_manifest = text_eq(p.files[i].path, "manifest.json");
		struct bytes content = is_manifest ? buf_bytes(&manifest) : p.files[i].content;
		if ((rc = tar_add(&w, p.files[i].path, content.n, e)) ||
			(rc = tar_put(&w, content.p, content.n, e)))
			return rc;
	}
	if ((rc = tar_end(&w, e)))
		return rc;
	json_sets(c->a, c->got, "result", "value");
	json_sets(c->a, c->got, "sha256", sha256_hex(c->a, to.p, to.n));
	json_seti(c->a, c->got, "bytes", (int64_t)to.n);
	return OK;
}

/* The hash of the evidence summary at a given time. */
static int summarise(struct conform_case *c, struct err *e)
{
	const struct json *manifest = json_get(c->doc, "manifest");
	struct pack_entry *entries;
	struct json *summary;
	size_t n;

	if (pack_manifest_entries(c->a, manifest, &entries, &n, e))
		return e->rc;
	summary = pack_summary(c->a, manifest, entries, n, json_get_text(c->doc, "generated_at", ""));
	json_sets(c->a, c->got, "result", "value");
	json_sets(c->a, c->got, "summary_hash", json_get_text(summary, "summary_hash", ""));
	return OK;
}

/* Three kinds of cases: make the summary, build the archive, or verify a pack.  A pack that cannot be read
 * is an answer too. */
int conform_evidence_pack(struct conform_case *c, struct err *e)
{
	struct question q;
	struct err unreadable = { 0 };
	struct pack p = { 0 };

	if (json_get(c->doc, "generated_at"))
		return summarise(c, e);
	if (json_get(c->doc, "manifest"))
		return rebuild(c, e);
	begin(c, &q, json_get_text(c->expect, "trusted_public_key", NULL));
	copy_remarks(c);
	if (verify_pack_bytes(c->a, c->text, &p, &unreadable))
		verify_pack_unreadable(&q.v, &unreadable);
	else
		verify_pack(&q.v, &p);
	conform_result(c, verification_headline(&q.v) == HEADLINE_ADMISSIBLE);
	if (q.v.error)
		answer_step(c, q.v.error);
	json_each_member (m, q.v.values)
		json_set(c->a, c->got, m->name, m->value);
	return OK;
}

/* A proof without a root from elsewhere is neither accepted nor rejected. */
int conform_inclusion_proof(struct conform_case *c, struct err *e)
{
	const char *root = json_get_text(c->doc, "expected_root", NULL);
	struct pack_proof_result r;

	(void)e;
	pack_check_proof(c->a, json_get(c->doc, "proof"), root, NULL, &r);
	if (r.is_self_attested) {
		json_sets(c->a, c->got, "result", "not-verified");
		json_setb(c->a, c->got, "self_attested", true);
	} else {
		conform_result(c, r.is_member);
	}
	json_set(c->a, c->got, "errors", r.errors);
	return OK;
}

/* Accepted only under the issuer's key of the case. */
int conform_sdjwt(struct conform_case *c, struct err *e)
{
	const struct json *text = json_get(c->doc, "presentation");
	struct question q;

	(void)e;
	begin(c, &q, json_get_text(c->doc, "issuer_public_key", NULL));
	if (json_is(text, JSON_STRING))
		verify_sdjwt(&q.v, (struct bytes){ (const uint8_t *)text->text, text->n });
	conform_result(c, verification_headline(&q.v) == HEADLINE_ADMISSIBLE);
	if (json_get(q.v.values, "claims"))
		json_set(c->a, c->got, "claims", json_get(q.v.values, "claims"));
	return OK;
}

/* Stated details are shorthand, "word;word": every word must occur in what was found.  An empty one wants
 * no detail at all. */
static bool says(const char *detail, const char *shorthand)
{
	struct bytes rest = bytes_of(shorthand);

	while (rest.p && rest.n) {
		char word[256];
		struct bytes part = text_cut(&rest, ';');
		struct bytes words = part;
		while (words.p && words.n) {
			struct bytes w = text_cut(&words, ' ');
			snprintf(word, sizeof(word), "%.*s", (int)w.n, (const char *)w.p);
			if (!strstr(detail, word))
				return false;
		}
	}
	return *shorthand || !*detail;
}

/* Names of the failed checks, and the seal's findings compared by shorthand. */
static struct json *native_answer(
	struct conform_case *c, const struct verification *v, const char *stated_detail)
{
	struct json *answer = json_new(c->a, JSON_OBJECT), *failed = json_new(c->a, JSON_ARRAY);
	const char *detail = "";

	for (size_t i = 0; i < v->check_count; i++) {
		if (v->checks[i].status == CHECK_FAIL)
			json_pushs(c->a, failed, v->checks[i].name);
		if (text_eq(v->checks[i].name, "evidence_pack_seal"))
			detail = v->checks[i].detail;
	}
	json_setb(c->a, answer, "verified", failed->n == 0);
	json_set(c->a, answer, "failed_checks", failed);
	if (stated_detail)
		json_sets(c->a, answer, "seal_detail", says(detail, stated_detail) ? stated_detail : detail);
	return answer;
}

/* The signed bytes of a seal, and the roots of the index that goes with it. */
static int seal_payload(struct conform_case *c, struct err *e)
{
	const char *index = json_get_text(c->doc, "index_file_text", "");
	struct json *doc;
	struct hash *digests, root;
	struct bytes payload;
	size_t n = 0;

	if (pack_seal_payload(c->a, json_get(c->doc, "seal"), PACK_SEAL_CURRENT, &payload, e) ||
		json_parse(c->a, bytes_of(index), "index", NULL, &doc, e))
		return e->rc;
	/* Roots are over paths in byte order. */
	struct pack_entry *entries = arena_zalloc(c->a, json_get(doc, "entries")->n + 1, sizeof(*entries));
	json_each (row, json_get(doc, "entries"))
		entries[n++] = (struct pack_entry){ json_get_text(row, "path", ""),
			json_get_text(row, "sha256", ""), "", 0 };
	pack_entries_sort(entries, n);
	digests = arena_zalloc(c->a, n + 1, sizeof(*digests));
	for (size_t i = 0; i < n; i++)
		if (!hash_from_hex(entries[i].content_hash, &digests[i]))
			return err_set(e, E_INPUT, "CONFORM_CASE", "a digest of the case is not hex");
	root = pack_native_root(c->a, digests, n);
	json_sets(c->a, c->got, "result", "value");
	json_set(c->a, c->got, "payload", json_stringn(c->a, (const char *)payload.p, payload.n));
	json_sets(c->a, c->got, "payload_sha256", sha256_hex(c->a, payload.p, payload.n));
	json_sets(c->a, c->got, "index_hash", sha256_hex(c->a, index, strlen(index)));
	json_sets(c->a, c->got, "merkle_root", hash_hex(c->a, &root));
	return OK;
}

/* The pack of a case: its file, or one of the published packs, in or beside the directory of cases. */
static int native_pack(struct conform_case *c, struct pack *p, struct err *e)
{
	const char *published = json_get_text(c->expect, "file", NULL);

	if (!published)
		return verify_pack_bytes(c->a, c->text, p, e);
	if (!file_exists(c->sys, c->dirfd, published))
		published = arena_printf(c->a, "../%s", published);
	return verify_pack_open(c->sys, c->a, c->dirfd, published, NULL, p, e);
}

/* Each pack is asked twice, with and without accepting its own key, and the case states both answers. */
int conform_native_pack(struct conform_case *c, struct err *e)
{
	static const char *const modes[] = { "default", "allow_self_attested" };
	struct pack p = { 0 };
	struct err unreadable = { 0 };

	if (json_get(c->doc, "seal"))
		return seal_payload(c, e);
	copy_remarks(c);
	if (native_pack(c, &p, &unreadable)) {
		json_seti(c->a, c->got, "exit", 2);
		json_sets(c->a, c->got, "refused", unreadable.text);
		return OK;
	}
	json_seti(c->a, c->got, "exit", 1);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct question q;
		const struct json *expected = json_get(c->expect, modes[i]);
		begin(c, &q, NULL);
		q.trust.allow_self_attested = i == 1;
		verify_pack(&q.v, &p);
		json_set(c->a, c->got, modes[i],
			native_answer(c, &q.v, json_get_text(expected, "seal_detail", NULL)));
		json_sets(c->a, c->got, "seal_form", json_get_text(q.v.values, "seal_form", ""));
	}
	return OK;
}

/* Tapes that replay are accepted; otherwise the answer is the status of the replay. */
int conform_replay(struct conform_case *c, struct err *e)
{
	struct question q;

	(void)e;
	if (json_get(c->doc, "payload_hashes")) {
		json_sets(c->a, c->got, "result", "value");
		json_sets(c->a, c->got, "run_hash", pack_run_hash(c->a, json_get(c->doc, "payload_hashes")));
		return OK;
	}
	begin(c, &q, NULL);
	verify_tapes(&q.v, json_get(c->doc, "tape_manifest"), json_get(c->doc, "tapes"));
	if (q.v.integrity == ANSWER_YES) {
		conform_result(c, true);
	} else {
		json_sets(c->a, c->got, "result", json_get_text(q.v.values, "status", ""));
		json_seti(c->a, c->got, "exit", 1);
	}
	return OK;
}
