/* verify.c — the shared part of every verification: answers, findings, signatures, the report.
 *
 * All verifiers of this folder write their findings through the functions here.  Three rules hold for all
 * of them.  The first failure is kept and later ones are dropped, so that the report names the cause and
 * not its consequences.  The answers start as "not established".  A signature is tried under the keys the
 * caller trusts before any key the record names about itself. */
#include "verify/verify.h"

#include "model/stamp.h"
#include "proof/sign.h"
#include "verify/parts.h"

#include <stdarg.h>
#include <string.h>

/* These words are part of the report's format. */
const char *answer_name(enum answer x)
{
	return x == ANSWER_YES ? "yes" : x == ANSWER_NO ? "no" : "not established";
}

const char *headline_name(enum headline h)
{
	static const char *const names[] = { "TAMPERED", "UNVERIFIED", "ADMISSIBLE", "DAMAGED",
		"NOT A RECORD" };
	TABLE_COVERS(names, HEADLINE_COUNT);

	return names[h];
}

/* The order matters: what is no record at all cannot be tampered with, and a file cut short by a crash
 * must not be called tampered.  An error keeps a record from being admissible even when both answers are
 * yes. */
enum headline verification_headline(const struct verification *v)
{
	if (v->is_no_record)
		return HEADLINE_NO_RECORD;
	if (v->is_damaged)
		return HEADLINE_DAMAGED;
	if (v->integrity == ANSWER_NO || v->complete == ANSWER_NO)
		return HEADLINE_TAMPERED;
	if (v->integrity == ANSWER_YES && v->trusted == ANSWER_YES && !v->error)
		return HEADLINE_ADMISSIBLE;
	return HEADLINE_UNVERIFIED;
}

/* Everything starts empty and every answer "not established". */
void verification_begin(struct verification *v, struct arena *a, const struct trust *trust, const char *kind)
{
	*v = (struct verification){ .a = a, .trust = trust, .kind = kind };
	v->values = json_new(a, JSON_OBJECT);
	v->notes = json_new(a, JSON_ARRAY);
}

/* Keeps the first failure and drops later ones.  Long texts are cut at 511 bytes: they may quote the
 * document, which comes from outside. */
__attribute__((format(printf, 3, 0))) static void set_failure(
	struct verification *v, const char *error, const char *fmt, va_list args)
{
	char text[512];

	if (v->error)
		return;
	(void)vsnprintf(text, sizeof(text), fmt, args);
	v->error = arena_strdup(v->a, error);
	v->text = arena_strdup(v->a, text);
}

/* For failures that do not show a change: something is missing, not supported or not trusted. */
bool verify_fail(struct verification *v, const char *error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_failure(v, error, fmt, args);
	va_end(args);
	return false;
}

/* For failures that show that the record is not what was signed. */
bool verify_refute(struct verification *v, const char *error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_failure(v, error, fmt, args);
	va_end(args);
	v->integrity = ANSWER_NO;
	return false;
}

bool verify_refute_err(struct verification *v, const struct err *e)
{
	return verify_refute(v, e->code, "%s", e->text);
}

void verify_no_record(struct verification *v)
{
	v->kind = "unknown";
	v->is_no_record = true;
	(void)verify_fail(v, "unknown_document", "this is not a record Helm knows");
}

/* Like the failure itself, the place of it is the first one found.  The texts are kept as pointers and
 * must live as long as v->a. */
void verify_at(struct verification *v, const char *record, const char *member, const char *expected,
	const char *found)
{
	if (v->record || v->member)
		return;
	v->record = record;
	v->member = member;
	v->expected = expected;
	v->found = found;
}

/* `detail` is kept as a pointer, not copied. */
void verify_check(struct verification *v, const char *name, enum check_status status, const char *detail)
{
	if (v->check_count == v->check_cap) {
		size_t cap = v->check_cap ? 2 * v->check_cap : 8;
		v->checks = arena_grow(
			v->a, v->checks, v->check_cap * sizeof(*v->checks), cap * sizeof(*v->checks));
		v->check_cap = cap;
	}
	v->checks[v->check_count++] = (struct check){ name, status, detail };
}

void verification_ledgers(struct verification *v, bool ok, const char *detail)
{
	verify_check(v, "ledger_entries", ok ? CHECK_PASS : CHECK_FAIL, detail);
	if (!ok)
		(void)verify_refute(v, "ledger_entries", "%s", detail);
}

/* notes and values are NULL in the fast form of long chains, in which only answers are wanted. */
void verify_note(struct verification *v, const char *note)
{
	if (v->notes)
		json_pushs(v->a, v->notes, note);
}

void verify_value(struct verification *v, const char *name, const char *value)
{
	if (v->values)
		json_sets(v->a, v->values, name, value);
}

const char *member_text(const struct json *o, const char *name)
{
	return json_get_text(o, name, "");
}

/* 64 lower-case hex digits: a hash has one spelling, so hashes can be compared as texts. */
bool is_bare_hash(const char *s)
{
	uint8_t hash[SHA256_SIZE];

	return hex_decode(s, strlen(s), hash, sizeof(hash), true);
}

bool is_prefixed_hash(const char *s)
{
	return text_starts(s, "sha256:") && is_bare_hash(s + strlen("sha256:"));
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Only the form is judged.  Whether the key is safe to trust is asked where it enters the trusted ones
 * (trust.c), and again at each verification. */
bool trust_parse_key(const char *text, uint8_t ret_key[KEY_SIZE])
{
	size_t n;

	while (is_space(*text))
		text++;
	if (text_starts(text, "ed25519:"))
		text += strlen("ed25519:");
	n = strlen(text);
	while (n > 0 && is_space(text[n - 1]))
		n--;
	return hex_decode(text, n, ret_key, KEY_SIZE, false);
}

/* Lower case only: a signature with two spellings would make two documents of one. */
bool parse_signature(const char *text, uint8_t ret[SIGNATURE_SIZE])
{
	return hex_decode(text, strlen(text), ret, SIGNATURE_SIZE, true);
}

bool verify_ed25519(
	const uint8_t key[KEY_SIZE], struct bytes message, const uint8_t signature[SIGNATURE_SIZE])
{
	return sign_verify(key, message, signature);
}

static char *key_hex(struct arena *a, const uint8_t key[KEY_SIZE])
{
	char *text = arena_text(a, 2 * KEY_SIZE + 1);

	hex_encode(key, KEY_SIZE, text);
	return text;
}

/* Tries the keys whose id the record names first, then the key that it declares or whose id is the key itself, then the others: after a
 * year of rotations there are many.  What it says saves time and decides nothing: a wrong id does not hide a right key.  NULL
 * when none verifies. */
static const struct trusted_key *find_signer(const struct trust *t, struct bytes message,
	const uint8_t *signature, const uint8_t *declared, const char *key_id)
{
	uint8_t named[KEY_SIZE];
	bool has_named = key_id && trust_parse_key(key_id, named);

	for (int pass = 0; pass < 3; pass++)
		for (size_t i = 0; i < t->key_count; i++) {
			const struct trusted_key *k = &t->keys[i];
			bool is_it = (declared && memcmp(k->key, declared, KEY_SIZE) == 0) ||
				(has_named && memcmp(k->key, named, KEY_SIZE) == 0);
			int turn = key_id && *key_id && text_eq(k->id, key_id) ? 0 : is_it ? 1 : 2;
			if (turn == pass && verify_ed25519(k->key, message, signature))
				return k;
		}
	return NULL;
}

/* Who signed decides three cases: a trusted key answers both integrity and trust; the record's own key
 * answers integrity alone; no key that fits leaves integrity open, unless the record names the key it is
 * signed with, for then it was changed. */
bool verify_signature(struct verification *v, struct bytes message, const uint8_t signature[SIGNATURE_SIZE],
	const uint8_t *declared, const char *key_id, const char *error)
{
	const struct trusted_key *signer = find_signer(v->trust, message, signature, declared, key_id);

	if (signer) {
		v->integrity = v->trusted = ANSWER_YES;
		v->signer = v->values ? key_hex(v->a, signer->key) : NULL;
		v->signer_key = signer;
		return true;
	}
	v->trusted = v->trust->key_count > 0 ? ANSWER_NO : ANSWER_UNKNOWN;
	if (declared && verify_ed25519(declared, message, signature)) {
		v->integrity = ANSWER_YES;
		v->is_self_attested = true;
		v->signer = key_hex(v->a, declared);
		if (v->trust->key_count > 0)
			(void)verify_fail(v, error,
				"unchanged under the key it names, but that is none of the keys given");
		return true;
	}
	if (declared)
		return verify_refute(
			v, error, "the signature verifies under no key given, nor under the declared one");
	return verify_fail(v, error, "%s",
		v->trust->key_count > 0 ? "the signature verifies under none of the keys given"
					: "no key was given, and the record names none");
}

/* The window is closed at its beginning and open at its end.  A time that cannot be read lies outside.
 * Only trusted keys have a window, so self-attested records pass here. */
bool verify_key_window(struct verification *v, const char *time)
{
	const struct trusted_key *k = v->signer_key;
	int order;

	if (!k || (!k->not_before && !k->not_after))
		return true;
	if ((!k->not_before || (stamp_compare(k->not_before, time, &order) && order <= 0)) &&
		(!k->not_after || (stamp_compare(time, k->not_after, &order) && order < 0)))
		return true;
	v->trusted = ANSWER_NO;
	verify_at(v, NULL, "timestamp",
		arena_printf(v->a, "%s .. %s", k->not_before ? k->not_before : "",
			k->not_after ? k->not_after : ""),
		time);
	return verify_fail(v, "key_window", "the signing key was not in force at %s", time);
}

/* Keys follow each other in a chain as in their history, whatever a clock says.  A key that no history tells
 * of has no place in that order, and leaves it as it is. */
unsigned verify_key_order(struct verification *v, unsigned before)
{
	const struct trusted_key *k = v->signer_key;

	if (!k || !k->order)
		return before;
	if (k->order >= before)
		return k->order;
	v->trusted = ANSWER_NO;
	verify_at(v, NULL, "public_key_set",
		arena_printf(v->a, "the key of link %u of the key history, or a later one", before),
		arena_printf(v->a, "the key of link %u", k->order));
	(void)verify_fail(v, "key_order",
		"the signing key was no longer in force here: a later key has signed before it");
	return before;
}

/* The worse of two answers; "no" is worse than "not established". */
static enum answer merge(enum answer x, enum answer y)
{
	if (x == ANSWER_NO || y == ANSWER_NO)
		return ANSWER_NO;
	return x == ANSWER_UNKNOWN || y == ANSWER_UNKNOWN ? ANSWER_UNKNOWN : ANSWER_YES;
}

/* The first part sets the answers, because "not established", with which the whole starts, would otherwise
 * win over every yes.  completeness is not merged: no part knows whether the whole is complete. */
void verify_merge(struct verification *whole, const struct verification *part, bool is_first)
{
	whole->integrity = is_first ? part->integrity : merge(whole->integrity, part->integrity);
	whole->trusted = is_first ? part->trusted : merge(whole->trusted, part->trusted);
	whole->is_legacy |= part->is_legacy;
	whole->is_self_attested |= part->is_self_attested;
	if (is_first)
		whole->signer = part->signer;
	else if (whole->signer && part->signer && !text_eq(whole->signer, part->signer))
		whole->signer = "several keys";
	if (part->error)
		(void)verify_fail(whole, part->error, "%s", part->text);
}

static void set_if(struct arena *a, struct json *o, const char *name, const char *value)
{
	if (value)
		json_sets(a, o, name, value);
}

static struct json *checks_json(struct arena *a, const struct verification *v)
{
	static const char *const names[] = { "pass", "fail", "not_applicable" };
	TABLE_COVERS(names, CHECK_STATUSES);
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < v->check_count; i++) {
		struct json *c = json_new(a, JSON_OBJECT);
		json_sets(a, c, "name", v->checks[i].name);
		json_sets(a, c, "status", names[v->checks[i].status]);
		json_sets(a, c, "detail", v->checks[i].detail);
		json_push(a, list, c);
	}
	return list;
}

/* The report for programs.  Members without a value are left out instead of being written as null. */
struct json *verification_json(struct arena *a, const struct verification *v)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, "headline", headline_name(verification_headline(v)));
	json_sets(a, o, "kind", v->kind);
	json_sets(a, o, "integrity", answer_name(v->integrity));
	json_sets(a, o, "signer_trusted", answer_name(v->trusted));
	json_sets(a, o, "complete", answer_name(v->complete));
	set_if(a, o, "error", v->error);
	set_if(a, o, "text", v->text);
	set_if(a, o, "record", v->record);
	set_if(a, o, "member", v->member);
	set_if(a, o, "expected", v->expected);
	set_if(a, o, "found", v->found);
	set_if(a, o, "signer", v->signer);
	json_setb(a, o, "legacy", v->is_legacy);
	json_setb(a, o, "self_attested", v->is_self_attested);
	json_set(a, o, "checks", checks_json(a, v));
	json_set(a, o, "values", v->values);
	json_set(a, o, "notes", v->notes);
	return o;
}
