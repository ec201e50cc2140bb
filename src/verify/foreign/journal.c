/* journal.c — append-only journals: the local audit log, the model proxy's receipts, the audit-trail
 * export.
 *
 * All three are chains of hashes over what stands before, so a change in the middle is found at the place
 * where it was made.  A chain cannot show that its end was cut off.  The audit log's side file with the
 * last hash can.
 *
 * The audit log is not signed at all; the proxy signs a few members of each receipt; the audit trail may
 * carry a signature per record.  The report says what was not covered. */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

/* Records the first record that does not fit, by its number from 1; values.at counts from 0. */
static bool broken_at(
	struct verification *v, size_t i, const char *member, const char *expected, const char *found)
{
	verify_at(v, arena_printf(v->a, "record %zu", i + 1), member, expected, found);
	json_seti(v->a, v->values, "at", (int64_t)i);
	return verify_refute(v, "link_broken", "record %zu: %s is not what it must be", i + 1, member);
}

/* The event's own hash is compared before its place, so that a changed event is called changed and not out
 * of order. */
static bool check_event(struct verification *v, const struct json *event, size_t i, const char *previous)
{
	static const char *const own[] = { "hash", NULL };
	static const struct except but = { .cleared = own };
	struct err e = { 0 };
	struct buf b;

	buf_init(&b, v->a);
	if (projection_write(&b, &audit_event_projection, &but, event, &e)) {
		json_seti(v->a, v->values, "at", (int64_t)i);
		return verify_refute_err(v, &e);
	}
	char *hash = preimage_hex(v->a, buf_bytes(&b));
	if (!text_eq(hash, member_text(event, "hash")))
		return broken_at(v, i, "hash", hash, member_text(event, "hash"));
	if (json_get_int(event, "sequence", -1) != (int64_t)i)
		return broken_at(v, i, "sequence", arena_printf(v->a, "%zu", i), "another number");
	if (!text_eq(previous, member_text(event, "previous_hash")))
		return broken_at(v, i, "previous_hash", previous, member_text(event, "previous_hash"));
	return true;
}

/* A head file that names another last event means that events were cut off or added; the events that are
 * there may still be unchanged. */
void verify_audit_log(struct verification *v, const struct json *events, const struct json *head)
{
	size_t n = json_is(events, JSON_ARRAY) ? events->n : 0;
	const char *previous = "";

	if (n == 0) {
		(void)verify_fail(v, "no records supplied", "the audit log holds no events");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (!check_event(v, events->items[i], i, previous))
			return;
		previous = member_text(events->items[i], "hash");
	}
	v->integrity = ANSWER_YES;
	verify_value(v, "head", previous);
	if (!head) {
		verify_note(v, "without the head file it is not established that the end is the end");
		return;
	}
	if (text_eq(member_text(head, "hash"), previous) &&
		json_get_int(head, "sequence", -1) == (int64_t)n - 1) {
		v->complete = ANSWER_YES;
		return;
	}
	v->complete = ANSWER_NO;
	verify_value(v, "reason", "head side file differs");
	verify_at(v, "head side file", "hash", member_text(head, "hash"), previous);
	(void)verify_fail(v, "truncated", "the head file names another last event");
}

/* The proxy's journal: links are over the exact bytes of lines. */

/* An unsigned record leaves trust open, a wrong signature refutes it when keys were given.  Without keys
 * the signature cannot be judged. */
static bool check_proxy_signature(
	struct verification *v, const struct json *row, size_t i, struct verification *one)
{
	uint8_t signature[SIGNATURE_SIZE];
	const char *text = member_text(row, "signature");
	char *message = arena_printf(v->a, "%s:%s:%s:%lld", member_text(row, "receipt_id"),
		member_text(row, "output_hash"), member_text(row, "status"),
		(long long)json_get_int(row, "lamport_clock", 0));

	verification_begin(one, v->a, v->trust, v->kind);
	if (!*text) {
		(void)verify_fail(one, "unsigned", "record %zu is not signed", i + 1);
		return true;
	}
	if (!parse_signature(text, signature))
		return broken_at(v, i, "signature", "128 lower-case hex digits", text);
	if (verify_signature(one, bytes_of(message), signature, NULL, NULL, "signature_rejected"))
		return verify_key_window(one, member_text(row, "timestamp")) ||
			verify_fail(v, one->error, "record %zu: %s", i + 1, one->text);
	return v->trust->key_count == 0 || broken_at(v, i, "signature", "a signature by a given key", text);
}

/* Trust of the journal is that of its weakest record. */
static bool check_proxy_line(struct verification *v, struct bytes line, size_t i, const char *previous)
{
	struct verification one;
	struct err e = { 0 };
	struct json *row;

	if (line.n == 0)
		return broken_at(v, i, "line", "a receipt", "an empty line");
	if (json_parse(v->a, line, "journal", NULL, &row, &e)) {
		json_seti(v->a, v->values, "at", (int64_t)i);
		return verify_refute_err(v, &e);
	}
	if (json_get_int(row, "lamport_clock", 0) != (int64_t)i + 1)
		return broken_at(v, i, "lamport_clock", arena_printf(v->a, "%zu", i + 1), "another number");
	if (!text_eq(member_text(row, "prev_hash"), previous))
		return broken_at(v, i, "prev_hash", previous, member_text(row, "prev_hash"));
	bool ok = check_proxy_signature(v, row, i, &one);
	if (!ok)
		json_seti(v->a, v->values, "at", (int64_t)i);
	if (i == 0) {
		v->trusted = one.trusted;
		v->signer = one.signer;
	} else if (one.trusted != ANSWER_YES) {
		v->trusted = one.trusted;
	}
	return ok;
}

/* Links are over the exact bytes of lines, without their line ends, so lines are not parsed and written
 * again. */
void verify_proxy_journal(struct verification *v, struct bytes text)
{
	const char *previous = "GENESIS";
	size_t i = 0;

	while (text.n > 0) {
		struct bytes line = text_cut(&text, '\n');
		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		if (!check_proxy_line(v, line, i++, previous))
			return;
		previous = sha256_prefixed(v->a, line.p, line.n);
	}
	if (i == 0) {
		(void)verify_fail(v, "no records supplied", "the journal is empty");
		return;
	}
	v->integrity = ANSWER_YES;
	verify_value(v, "next_prev_hash", previous);
	verify_note(v, "signatures cover receipt_id, output_hash, status and lamport_clock only");
	verify_note(v, "whether records after the last one existed is not established");
}

/* The audit-trail export. */

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* The signature is over the 32 bytes of the record's hash.  A record without one is not refused; integrity
 * stays open then. */
static bool trail_signature(struct verification *v, const struct json *row, const char *hash, size_t i)
{
	const struct json *sig = json_get(row, "signature");
	const char *key_text = member_text(sig, "public_key"), *value = member_text(sig, "value");
	struct bytes key, signature;
	uint8_t digest[SHA256_SIZE];

	if (!sig)
		return true;
	if (!text_eq(member_text(sig, "algorithm"), "Ed25519"))
		return verify_fail(
			v, "unsupported_algorithm", "record %zu: only Ed25519 is supported", i + 1);
	if (!base64_decode(v->a, key_text, strlen(key_text), BASE64_STD, true, &key) || key.n != KEY_SIZE ||
		!base64_decode(v->a, value, strlen(value), BASE64_STD, true, &signature) ||
		signature.n != SIGNATURE_SIZE)
		return broken_at(v, i, "signature", "base64 of key and signature", value);
	(void)hex_decode(hash, strlen(hash), digest, sizeof(digest), true);
	return verify_signature(v, (struct bytes){ digest, sizeof(digest) }, signature.p, key.p, NULL,
		       "signature_rejected") &&
		verify_key_window(v, member_text(row, "timestamp"));
}

/* A line must be canonical JSON to the byte: then the hash over the parsed record is a hash over the line. */
static bool check_trail_line(
	struct verification *v, struct bytes line, size_t i, const char *previous, const char **ret_hash)
{
	static const char *const own[] = { "record_hash", NULL }, *const sealed[] = { "signature", NULL };
	static const struct except but = { .absent = sealed, .cleared = own };
	struct err e = { 0 };
	struct json *row;
	struct buf b, again;

	if (json_parse(v->a, line, "audit trail", NULL, &row, &e))
		return verify_refute_err(v, &e);
	buf_init(&again, v->a);
	json_canonical(&again, row);
	if (!bytes_eq(buf_bytes(&again), line))
		return broken_at(v, i, "line", "canonical JSON", "another spelling");
	buf_init(&b, v->a);
	if (projection_write(&b, &audit_trail_projection, &but, row, &e))
		return verify_refute_err(v, &e);
	*ret_hash = preimage_hex(v->a, buf_bytes(&b));
	if (!text_eq(*ret_hash, member_text(row, "record_hash")))
		return broken_at(v, i, "record_hash", *ret_hash, member_text(row, "record_hash"));
	if (!text_eq(previous, member_text(row, "previous_record_hash")))
		return broken_at(
			v, i, "previous_record_hash", previous, member_text(row, "previous_record_hash"));
	return trail_signature(v, row, *ret_hash, i);
}

/* Each record is judged by itself and merged; the first bad one ends it, since the links behind it have no
 * basis. */
void verify_audit_trail(struct verification *v, struct bytes text)
{
	const char *previous = zeros;
	size_t i = 0;

	while (text.n > 0) {
		struct verification one;
		struct bytes line = text_cut(&text, '\n');
		verification_begin(&one, v->a, v->trust, v->kind);
		bool ok = check_trail_line(&one, line, i, previous, &previous);
		verify_merge(v, &one, i == 0);
		if (!ok) {
			json_seti(v->a, v->values, "at", (int64_t)i);
			verify_at(v, one.record, one.member, one.expected, one.found);
			return;
		}
		i++;
	}
	json_seti(v->a, v->values, "records", (int64_t)i);
	if (i == 0)
		(void)verify_fail(v, "no records supplied", "the audit trail is empty");
	verify_note(v, "whether records after the last one existed is not established");
}
