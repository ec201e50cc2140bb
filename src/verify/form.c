/* form.c — receipts that a Helm workspace wrote: one spelling, no member that nobody wrote, and a decision
 * that is the one that was signed.
 *
 * A receipt is ours when its signed session begins with "ws-" or its signed id ends in a mark.  Both are
 * under the signature, so nobody can make a receipt of ours pass for somebody else's and escape these
 * rules.  What signature, mark and chain hash do not reach is closed here: log_id, leaf_index and the key
 * members follow from the key that signed; a member that is unknown, empty or spelled otherwise than we
 * write it is refused, since the hashes would not notice it.
 *
 * Receipts of others are read as they come.  A decision they carry is checked all the same. */
#include "model/records.h"
#include "model/stamp.h"
#include "proof/preimage.h"
#include "verify/parts.h"
#include "verify/receipt.h"

#include <stdlib.h>
#include <string.h>

static const char FORM[] = "receipt_form", LOG[] = "log_members";

bool receipt_is_ours(const struct json *receipt)
{
	return text_starts(member_text(receipt, "session_id"), "ws-") ||
		receipt_id_mark(member_text(receipt, "receipt_id"));
}

static bool refuse(struct verification *v, const char *error, const char *member, const char *expected,
	const char *found, const char *why)
{
	verify_at(v, NULL, member, expected, found);
	return verify_refute(v, error, "%s", why);
}

/* Decisions. */

/* Every subject of our own receipts is a decision record.  In a receipt of others it is one when it says so
 * by its version, or has a verdict. */
static bool is_decision(const struct json *receipt, const struct json *subject)
{
	return subject &&
		(receipt_is_ours(receipt) || json_get(subject, "verdict") ||
			text_starts(member_text(subject, "signature_version"), "decision_record."));
}

/* The record by itself.  When the receipt verified only under the key it carries, its decision is judged
 * under that key too.  It may have been signed with the key before that one, and then the content hash
 * alone ties the two. */
static bool check_decision(struct verification *v, const struct json *receipt, const struct json *subject,
	struct verification *one)
{
	struct trusted_key own = { .id = "" };
	struct trust only = { .keys = &own, .key_count = 1, .allow_legacy = v->trust->allow_legacy };
	bool is_self = v->is_self_attested &&
		trust_parse_key(member_text(json_get(receipt, "public_key_set"), "ed25519"), own.key);

	verification_begin(one, v->a, is_self ? &only : v->trust, "decision record");
	verify_decision(one, subject);
	one->trust = v->trust; /* `only` ends here, and so does its key */
	if (is_self)
		one->signer_key = NULL;
	if (!one->error && receipt_is_ours(receipt) &&
		!text_eq(member_text(subject, "signature_version"), DECISION_V4))
		(void)verify_refute(one, "unsupported_version", "it is no %s", DECISION_V4);
	if (!one->error || (is_self && one->integrity != ANSWER_NO))
		return true;
	verify_at(v, NULL, "subject", one->expected, one->found);
	return verify_refute(v, "decision_rejected", "the decision record it carries: %s", one->text);
}

/* A genuine receipt must not lend its signature to another decision, so it names the decision's id and its
 * content hash, and both names are signed. */
bool verify_subject(struct verification *v, const struct json *receipt)
{
	const struct json *subject = json_get(receipt, "subject");
	struct verification one;

	if (!is_decision(receipt, subject))
		return true;
	if (!check_decision(v, receipt, subject, &one))
		return false;
	/* Decided before a change of keys and recorded behind it: the receipt's signature covers the decision.
	 * The other way round nobody writes it. */
	if (one.signer_key && v->signer_key && one.signer_key->order > v->signer_key->order) {
		v->trusted = ANSWER_NO;
		return verify_fail(v, "key_order",
			"the decision it carries is signed by a later key than the receipt itself");
	}
	if (text_eq(member_text(receipt, "output_hash"), member_text(one.values, "content_hash")) &&
		text_eq(member_text(receipt, "decision_id"), member_text(subject, "id")))
		return true;
	return refuse(v, "decision_binding", "output_hash", member_text(one.values, "content_hash"),
		member_text(receipt, "output_hash"),
		"the receipt stands for another decision than the one it carries");
}

/* Members. */

static bool is_signed_member(const char *name)
{
	const struct projection *p = &receipt_v5_projection;

	for (size_t i = 0; i < p->n; i++)
		if (text_eq(p->members[i].name, name))
			return true;
	return false;
}

/* Hashing leaves empty members out, so an empty one could be added unnoticed; only those that are always
 * written may be empty. */
static bool may_be_empty(const struct member *known)
{
	return known->presence == ALWAYS || is_signed_member(known->name);
}

static bool is_empty(const struct json *v)
{
	return v->type == JSON_NULL || v->type == JSON_FALSE ||
		(v->type != JSON_NUMBER && v->type != JSON_TRUE && v->n == 0);
}

/* UTC with "Z", and six digits of a second or, when they would all be zero, none.  Hashing drops zeros at
 * the end, so another number of digits would not be noticed. */
static bool is_own_time(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	return (n == strlen("2026-01-01T00:00:00Z") || n == strlen("2026-01-01T00:00:00.000000Z")) &&
		stamp_is_utc(s, 6) && !text_ends(s, ".000000Z");
}

/* Why this member is none that we write, or NULL.  Members with members of their own that a table picks
 * (transparency, provenance and the like) are never written by a workspace. */
static const char *strange_value(const struct member *known, const struct json *v)
{
	if (known->sub || known->presence == UNSET)
		return "a workspace writes no such member";
	if (v->type == JSON_NULL || (is_empty(v) && !may_be_empty(known)))
		return "a member is empty that is left out then";
	if (known->shape == SHAPE_TIME)
		return is_own_time(json_text(v)) ? NULL : "a time is spelled otherwise";
	return receipt_has_plain_numbers(v) ? NULL : "a number is spelled otherwise";
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct member *)x)->name, ((const struct member *)y)->name);
}

/* In whatever order: a receipt may stand inside another document.  Lines and files have one order because
 * they are canonical JSON. */
static bool check_members(struct verification *v, const struct json *receipt)
{
	const struct projection *p = &receipt_projection;

	json_each_member (m, receipt) {
		const struct member key = { .name = m->name };
		const struct member *known = strlen(m->name) == m->name_n /* no NUL in it */
			? bsearch(&key, p->members, p->n, sizeof(key), by_name)
			: NULL;
		const char *why =
			known ? strange_value(known, m->value) : "it has a member that nobody wrote";
		if (why)
			return refuse(v, FORM, m->name, NULL, NULL, why);
	}
	for (size_t k = 0; k < p->n; k++)
		if (p->members[k].presence == ALWAYS && !json_get(receipt, p->members[k].name))
			return refuse(
				v, FORM, p->members[k].name, "a value", "nothing", "a member is missing");
	return true;
}

/* What follows from the key: its own spelling, its id, and the name of the log.  The key is the one that
 * verified the signature. */
static bool check_key(struct verification *v, const struct json *receipt)
{
	const struct json *set = json_get(receipt, "public_key_set");
	const char *declared = member_text(set, "ed25519");
	uint8_t pub[KEY_SIZE], hash[SHA256_SIZE];
	char log_id[SHA256_HEX];

	if (!json_is(set, JSON_OBJECT) || set->n != 1 ||
		!hex_decode(declared, strlen(declared), pub, sizeof(pub), true) ||
		(v->signer_key && memcmp(v->signer_key->key, pub, sizeof(pub)) != 0) ||
		!text_eq(member_text(receipt, "signature_algorithm"), "ed25519"))
		return refuse(v, LOG, "public_key_set", "the key that signed", declared,
			"the key it names is not the one that signed it");
	if (!text_starts(member_text(receipt, "key_id"), "ed25519:") ||
		!text_eq(member_text(receipt, "key_id") + strlen("ed25519:"), declared))
		return refuse(v, LOG, "key_id", "\"ed25519:\" and the key", member_text(receipt, "key_id"),
			"key_id is not that of the key");
	sha256(pub, sizeof(pub), hash);
	hex_encode(hash, sizeof(hash), log_id);
	return text_eq(member_text(receipt, "log_id"), log_id) ||
		refuse(v, LOG, "log_id", arena_strdup(v->a, log_id), member_text(receipt, "log_id"),
			"log_id is not that of the signer's log");
}

/* leaf_index 0 is written by leaving the member out. */
static bool check_place(struct verification *v, const struct json *receipt)
{
	int64_t index = json_get_int(receipt, "lamport_clock", 0) - 1;

	if (json_get_int(receipt, "leaf_index", 0) == index &&
		!json_get(receipt, "leaf_index") == (index == 0))
		return true;
	return refuse(v, LOG, "leaf_index", arena_printf(v->a, "%lld", (long long)index), "another number",
		"leaf_index is not the receipt's place in the chain");
}

/* The mark must match wherever it stands, since it is signed; a receipt without one is from before marks
 * were written. */
static bool check_mark(struct verification *v, const struct json *receipt, const struct receipt_text *text)
{
	const char *stated = receipt_id_mark(member_text(receipt, "receipt_id"));
	uint8_t mark[SHA256_SIZE];
	char hex[SHA256_HEX];

	if (!stated)
		return true;
	receipt_text_mark(text, mark);
	hex_encode(mark, sizeof(mark), hex);
	return text_eq(stated, hex) ||
		refuse(v, "members_changed", "receipt_id", arena_strdup(v->a, hex), stated,
			"a member was changed that receipt_id binds");
}

/* Others may put in what their log says.  It binds nothing and is not believed, but it has its form. */
static bool check_claims(struct verification *v, const struct json *receipt)
{
	const struct json *id = json_get(receipt, "log_id"), *index = json_get(receipt, "leaf_index");
	const struct json *log = json_get(receipt, "transparency");

	if (id && !json_is(id, JSON_STRING))
		return refuse(v, LOG, "log_id", "a text", json_type_name(id), "log_id is no text");
	if (index && (json_get_int(receipt, "leaf_index", -1) < 0 || !receipt_has_plain_numbers(index)))
		return refuse(
			v, LOG, "leaf_index", "a place", json_type_name(index), "leaf_index is no place");
	return !log || json_is(log, JSON_OBJECT) ||
		refuse(v, LOG, "transparency", "an object", json_type_name(log), "transparency is no object");
}

bool verify_own_form(struct verification *v, const struct json *receipt, const struct receipt_text *text)
{
	if (!receipt_is_ours(receipt))
		return check_claims(v, receipt);
	return check_mark(v, receipt, text) && check_members(v, receipt) && check_key(v, receipt) &&
		check_place(v, receipt);
}

/* Spelling. */

/* Whether the text is exactly the canonical JSON of what was read from it; one newline may follow. */
bool is_canonical_text(struct arena *a, struct bytes text, const struct json *doc)
{
	struct buf b;

	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	buf_init(&b, a);
	json_canonical(&b, doc);
	return bytes_eq(buf_bytes(&b), text);
}

/* The escapes in a text that parses: the short ones, and \u with lower-case digits. */
static bool has_plain_escapes(struct bytes text)
{
	for (size_t i = 0; i + 1 < text.n; i++) {
		if (text.p[i] != '\\')
			continue;
		if (text.p[++i] == '/')
			return false;
		for (size_t k = i + 1; text.p[i] == 'u' && k < i + 5 && k < text.n; k++)
			if (text.p[k] >= 'A' && text.p[k] <= 'F')
				return false;
	}
	return true;
}

/* Some receipt of a document that holds one or several is ours. */
static bool holds_own(const struct json *doc)
{
	const struct json *list = json_is(doc, JSON_ARRAY) ? doc : json_get(doc, "receipts");

	json_each (receipt, list) {
		if (receipt_is_ours(receipt))
			return true;
	}
	return !list && receipt_is_ours(doc);
}

/* A document by itself may be indented for people: white space between tokens means nothing.  Anything else
 * that means nothing is refused in our own receipts, because a change there would be a change that nobody
 * notices. */
void verify_receipt_spelling(struct verification *v, struct bytes text, const struct json *doc)
{
	if (is_canonical_text(v->a, text, doc))
		return;
	if (holds_own(doc) && !has_plain_escapes(text))
		(void)verify_refute(v, FORM, "a character is escaped otherwise than Helm escapes it");
	verify_note(v, "the text is not canonical JSON: its values were verified, not its spelling");
}
