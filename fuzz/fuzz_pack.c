/* fuzz_pack.c — whole packs from strangers: every layout, every check; nothing is ever trusted without a key, and a failure
 * always has a name.
 *
 * An input that is no archive stands for one document of a pack that is built around it, so that the fuzzer need not learn
 * checksums: '{' a manifest, 'I' an index, 'S' a seal, 'R' a receipt, 'T' a tape manifest (the letter is left out). */
#include "base/tar.h"
#include "fuzz.h"
#include "verify/verify.h"

static const struct around {
	char letter;
	const char *path;
} documents[] = {
	{ 'I', "00_INDEX.json" },
	{ 'R', "02_PROOFGRAPH/receipts/2.json" },
	{ 'S', "07_ATTESTATIONS/evidence_pack.sig" },
	{ 'T', "08_TAPES/tape_manifest.json" },
	{ '{', "manifest.json" },
};

static void put(struct tar_writer *w, const char *path, struct bytes content)
{
	struct err e = { 0 };

	if (tar_add(w, path, content.n, &e) || tar_put(w, content.p, content.n, &e))
		__builtin_trap();
}

/* A pack of fixed documents with one of them replaced; paths ascend. */
static struct bytes build(struct arena *a, const struct around *which, struct bytes text)
{
	static const char index[] =
		"{\"gates\":[\"G2\"],\"entries\":[{\"path\":\"01_SCORE.json\",\"sha256\":\"44\"}]}";
	static const char receipt[] =
		"{\"receipt_id\":\"r\",\"executor_id\":\"x\",\"prev_hash\":\"\",\"lamport_clock\":1}";
	static const struct {
		const char *path, *text;
	} fixed[] = {
		{ "00_INDEX.json", index },
		{ "01_SCORE.json", "{}" },
		{ "02_PROOFGRAPH/receipts/1.json", receipt },
		{ "02_PROOFGRAPH/receipts/2.json", receipt },
		{ "07_ATTESTATIONS/evidence_pack.sig", "{}" },
		{ "08_TAPES/entry_1.json", "{\"seq\":1,\"value\":\"YWJj\",\"data_class\":\"i\"}" },
		{ "08_TAPES/tape_manifest.json", "{}" },
	};
	struct tar_writer w;
	struct sink_buf sink;
	struct buf b;
	struct err e = { 0 };

	buf_init(&b, a);
	tar_begin(&w, sink_to_buf(&sink, &b));
	for (size_t i = 0; which->letter != '{' && i < ARRAY_SIZE(fixed); i++)
		put(&w, fixed[i].path, text_eq(fixed[i].path, which->path) ? text : bytes_of(fixed[i].text));
	if (which->letter == '{') {
		put(&w, "manifest.json", text);
		put(&w, "receipts/00000001-r.json", bytes_of(receipt));
	}
	if (tar_end(&w, &e))
		__builtin_trap();
	return buf_bytes(&b);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 512 << 20 };
	struct bytes input = { data, size };
	struct trust nobody = { .allow_self_attested = size % 2 };
	struct verification v;
	struct pack p;
	struct err e = { 0 };

	for (size_t i = 0; size && i < ARRAY_SIZE(documents); i++)
		if (data[0] == documents[i].letter) {
			bool is_manifest = data[0] == '{';
			input = build(&a, &documents[i],
				(struct bytes){ data + !is_manifest, size - !is_manifest });
			break;
		}
	verification_begin(&v, &a, &nobody, "pack");
	if (verify_pack_bytes(&a, input, &p, &e))
		verify_pack_unreadable(&v, &e);
	else
		verify_pack(&v, &p);
	if (verification_headline(&v) == HEADLINE_ADMISSIBLE || v.trusted == ANSWER_YES)
		__builtin_trap();
	if (v.integrity == ANSWER_NO && (!v.error || !v.text))
		__builtin_trap();
	(void)verification_json(&a, &v);
}
