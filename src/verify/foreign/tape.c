/* tape.c — recorded inputs of a run, checked against their manifest (docs/formats/replay.md).
 *
 * A tape is one recorded input; the manifest lists each with its hash and its size.  All differences are
 * collected, since somebody who replays a run wants to know every input that is not the recorded one. */
#include "verify/pack.h"

/* Raw value of a tape; false when it is absent or not base64. */
static bool tape_value(struct arena *a, const struct json *tape, struct bytes *ret)
{
	const char *text = json_text(json_get(tape, "value"));

	return text && base64_decode(a, text, strlen(text), BASE64_STD, true, ret);
}

/* The first tape of that number.  A second one of the same number shows in the count. */
static const struct json *tape_of(const struct json *tapes, int64_t seq)
{
	json_each (t, tapes) {
		if (json_get_int(t, "seq", -1) == seq)
			return t;
	}
	return NULL;
}

/* One tape against its line in the manifest.  A value may be withheld for privacy; it is then known by its
 * hash alone, which must be the manifest's. */
static void check_tape(struct verification *v, const struct json *entry, const struct json *tape, int64_t seq,
	struct json *issues)
{
	const char *stated = member_text(entry, "sha256");
	int64_t size = json_get_int(entry, "size_bytes", -1);
	struct bytes value;

	if (!is_bare_hash(stated))
		pack_add_error(v, issues, "tape %lld: the manifest states no sha256", (long long)seq);
	if (!tape_value(v->a, tape, &value)) {
		/* A value that was withheld is known by its hash alone. */
		if (json_get(tape, "value") || !text_eq(member_text(tape, "value_hash"), stated))
			pack_add_error(
				v, issues, "tape %lld: the value is missing or not base64", (long long)seq);
	} else if (!text_eq(sha256_hex(v->a, value.p, value.n), stated)) {
		pack_add_error(v, issues, "tape %lld: the value is not the recorded one", (long long)seq);
	} else if (size >= 0 && (uint64_t)size != value.n) {
		pack_add_error(
			v, issues, "tape %lld: the value has another size than recorded", (long long)seq);
	}
	if (!*member_text(tape, "data_class"))
		pack_add_error(v, issues, "tape %lld: data_class is empty", (long long)seq);
	if (*member_text(tape, "value_hash") && !text_eq(member_text(tape, "value_hash"), stated))
		pack_add_error(v, issues, "tape %lld: value_hash differs from the manifest", (long long)seq);
}

/* Numbers rise strictly, so a tape cannot be listed twice. */
static size_t check_tapes(
	struct verification *v, const struct json *manifest, const struct json *tapes, struct json *issues)
{
	const struct json *entries = json_get(manifest, "entries");
	int64_t last = -1;
	size_t checked = 0;

	if (!json_is(entries, JSON_ARRAY) && !json_is(entries, JSON_NULL) && entries)
		pack_add_error(v, issues, "the tape manifest's entries are not a list");
	json_each (entry, entries) {
		int64_t seq = json_get_int(entry, "seq", -1);
		const struct json *tape = tape_of(tapes, seq);
		checked++;
		if (seq <= last)
			pack_add_error(v, issues, "tape %lld: the sequence does not rise", (long long)seq);
		last = seq;
		if (!tape)
			pack_add_error(v, issues, "tape %lld is missing", (long long)seq);
		else
			check_tape(v, entry, tape, seq, issues);
	}
	if (json_is(tapes, JSON_ARRAY) && tapes->n > checked)
		pack_add_error(v, issues, "there are tapes the manifest does not list");
	return checked;
}

/* Without any tape nothing is established. */
static void conclude(struct verification *v, struct json *issues, size_t n)
{
	v->kind = "tapes";
	verify_value(v, "status", issues->n ? "DIVERGED" : "COMPLETE");
	json_set(v->a, v->values, "issues", issues);
	json_seti(v->a, v->values, "tapes", (int64_t)n);
	if (issues->n)
		verify_refute(v, "tapes", "%s", json_text(json_at(issues, 0)));
	else if (n)
		v->integrity = ANSWER_YES;
}

void verify_tapes(struct verification *v, const struct json *tape_manifest, const struct json *tapes)
{
	struct json *issues = json_new(v->a, JSON_ARRAY);

	conclude(v, issues, check_tapes(v, tape_manifest, tapes, issues));
}

static bool is_tape_file(const char *path)
{
	return text_starts(path, "08_TAPES/entry_") && text_ends(path, ".json");
}

/* Tapes of a pack are one file each, beside their manifest. */
size_t pack_check_tapes(struct verification *v, const struct pack *p, struct json *issues)
{
	const struct pack_file *f = verify_pack_find(p, "08_TAPES/tape_manifest.json");
	struct json *manifest, *tapes = json_new(v->a, JSON_ARRAY);
	struct err e = { 0 };

	if (!f) {
		pack_add_error(v, issues, "08_TAPES/tape_manifest.json is missing");
		return 0;
	}
	if (pack_json(v->a, f, &manifest, &e)) {
		pack_add_error(v, issues, "%.300s", e.text);
		return 0;
	}
	for (size_t i = 0; i < p->n; i++) {
		struct json *tape;
		if (!is_tape_file(p->files[i].path))
			continue;
		if (pack_json(v->a, &p->files[i], &tape, &e))
			pack_add_error(v, issues, "%.300s", e.text);
		else
			json_push(v->a, tapes, tape);
	}
	return check_tapes(v, manifest, tapes, issues);
}

void verify_pack_tapes(struct verification *v, const struct pack *p)
{
	struct json *issues = json_new(v->a, JSON_ARRAY);

	if (verify_pack_find(p, "08_TAPES/tape_manifest.json"))
		conclude(v, issues, pack_check_tapes(v, p, issues));
	else
		conclude(v, issues, 0);
}
