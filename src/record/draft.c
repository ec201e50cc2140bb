/* draft.c — from what happened to a signed record: receipts for the chain, and the decision records they
 * stand for.
 *
 * The signature of a receipt covers its predecessor's hash, which covers the predecessor's signature:
 * signing is serial by nature, and that bounds how fast a chain can grow. */
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <string.h>

int record_new_id(struct arena *a, struct sys *s, const char *prefix, char **ret, struct err *e)
{
	uint8_t raw[16];
	char hex[33];

	if (s->random(s, raw, sizeof(raw)))
		return err_sys(e, "RECORD_RANDOM", "cannot make an identifier");
	hex_encode(raw, sizeof(raw), hex);
	*ret = arena_printf(a, "%s%s", prefix, hex);
	return OK;
}

/* Version 4, variant 1, as RFC 9562 lays them out. */
int record_new_task_id(struct arena *a, struct sys *s, char **ret, struct err *e)
{
	uint8_t raw[16];
	char hex[33];

	if (s->random(s, raw, sizeof(raw)))
		return err_sys(e, "TASK_ID", "cannot make a task id");
	raw[6] = (uint8_t)((raw[6] & 0x0f) | 0x40);
	raw[8] = (uint8_t)((raw[8] & 0x3f) | 0x80);
	hex_encode(raw, sizeof(raw), hex);
	*ret = arena_printf(a, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return OK;
}

/* Only clock and hash; the tree follows when the lines are written. */
void chain_step(struct chain_end *at, const struct hash *chain)
{
	at->clock++;
	at->last = *chain;
}

/* A member the signature covers must always be there, so that it has one form only. */
static void set_signed(struct arena *a, struct json *receipt, const char *name, const char *value)
{
	json_sets(a, receipt, name, value ? value : "");
}

/* A member the signature does not depend on is left out when it is empty. */
static void set_given(struct arena *a, struct json *receipt, const char *name, const char *value)
{
	if (value && *value)
		json_sets(a, receipt, name, value);
}

/* The caller's metadata stays as it is: others may hold it. */
static struct json *with_draws(struct arena *a, const struct draft *d)
{
	struct json *made = json_new(a, JSON_OBJECT);

	if (!d->draw_count && !d->settle_count)
		return d->metadata;
	if (d->is_summed)
		BUG("what is drawn cannot be added to metadata that have a digest");
	json_each_member (m, d->metadata)
		json_set(a, made, m->name, m->value);
	if (d->draw_count)
		json_set(a, made, DRAWS_MEMBER, draws_json(a, d->draws, d->draw_count));
	if (d->settle_count)
		json_set(a, made, SETTLES_MEMBER, settles_json(a, d->settles, d->settle_count));
	return made;
}

/* The receipt without its signature: what the caller says, and its place in the chain. */
static struct json *fill(
	struct recorder *r, const struct chain_end *at, struct arena *a, const struct draft *d)
{
	struct json *receipt = json_new(a, JSON_OBJECT);
	char previous[SHA256_HEX] = "";

	if (at->clock)
		hex_encode(at->last.b, SHA256_SIZE, previous);
	json_sets(a, receipt, "receipt_id",
		d->receipt_id ? d->receipt_id
			      : arena_printf(a, "rcpt_%s", d->decision_id ? d->decision_id : ""));
	set_signed(a, receipt, "decision_id", d->decision_id);
	set_signed(a, receipt, "effect_id", d->effect_id);
	json_sets(a, receipt, "external_reference_id", "");
	set_signed(a, receipt, "status", d->status);
	set_signed(a, receipt, "verdict", d->verdict);
	set_signed(a, receipt, "reason_code", d->reason_code);
	set_signed(a, receipt, "policy_hash", d->policy_hash);
	set_signed(a, receipt, "args_hash", d->args_hash);
	set_signed(a, receipt, "output_hash", d->output_hash);
	json_sets(a, receipt, "session_id", at->chain_id);
	json_sets(a, receipt, "prev_hash", previous);
	json_seti(a, receipt, "lamport_clock", (int64_t)at->clock + 1);
	json_sets(a, receipt, "signature_version", RECEIPT_V5);
	json_sets(a, receipt, "timestamp", text_time_z(a, r->sys->now_us(r->sys)));
	set_given(a, receipt, "executor_id", d->executor_id);
	set_given(a, receipt, "correlation_id", d->correlation_id);
	set_given(a, receipt, "type", d->type);
	set_given(a, receipt, "effect_type", d->effect_type);
	set_given(a, receipt, "tool_name", d->tool_name);
	struct json *metadata = with_draws(a, d);
	if (metadata && metadata->n)
		json_set(a, receipt, "metadata", metadata);
	if (d->subject)
		json_set(a, receipt, "subject", d->subject);
	return receipt;
}

/* Which key signs, before the mark that covers it is made. */
static void set_key(struct arena *a, struct json *receipt, const uint8_t public[SIGN_PUBLIC])
{
	char pub[2 * SIGN_PUBLIC + 1], id[KEY_ID];
	struct json *keys = json_new(a, JSON_OBJECT);

	hex_encode(public, SIGN_PUBLIC, pub);
	key_id(public, id);
	json_sets(a, receipt, "signature_profile", "classical");
	json_sets(a, receipt, "signature_algorithm", "ed25519");
	json_sets(a, receipt, "key_id", id);
	json_sets(a, keys, "ed25519", pub);
	json_set(a, receipt, "public_key_set", keys);
}

/* The order is part of the format.  The mark in the id covers every other member, the signature covers the
 * id, the chain hash covers the signature as well, and log_id and leaf_index come last because they follow
 * from key and place. */
int draft_sign(struct recorder *r, const struct chain_end *at, struct arena *a, const struct draft *d,
	struct json **ret, struct hash *ret_chain, struct err *e)
{
	struct json *receipt = fill(r, at, a, d);
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct receipt_text text;
	struct bytes preimage;
	int rc;

	set_key(a, receipt, key_public(r->key));
	/* Before anything is signed: bytes that are no UTF-8 would be written differently from how they
	 * were signed. */
	json_make_utf8(a, receipt);
	/* Whoever verifies it would call it changed. */
	if (!receipt_has_plain_numbers(receipt))
		return err_set(e, E_INPUT, "RECEIPT_NUMBER",
			"a receipt holds whole numbers only, and none beyond 2^53-1");
	if ((rc = receipt_text_begin(a, receipt, &text, e)) ||
		(rc = receipt_preimage_v5(a, receipt, &preimage, e)))
		return rc;
	if ((rc = key_ask(r->key, KEY_FOR_RECEIPT, receipt, preimage, signature, e)))
		return rc;
	hex_encode(signature, SIGN_SIZE, hex);
	receipt_text_sign(a, receipt, &text, hex);
	receipt_text_chain(&text, ret_chain->b);
	json_sets(a, receipt, "log_id", sha256_hex(a, key_public(r->key), SIGN_PUBLIC));
	if (at->clock) /* index 0 is written by leaving it out */
		json_seti(a, receipt, "leaf_index", (int64_t)at->clock);
	json_sort_members(receipt); /* as it will be written: whoever keeps a copy keeps that form */
	*ret = receipt;
	return OK;
}

/* Returns the record and the hash of what was signed.  The receipt of the decision names that hash, so
 * record and receipt cannot be separated. */
int record_decision(struct arena *a, struct sys *s, struct key *key, const struct decision_draft *d,
	struct json **ret_record, char **ret_content_hash, struct err *e)
{
	struct json *record = json_new(a, JSON_OBJECT);
	char id[KEY_ID], hex[2 * SIGN_SIZE + 1];
	uint8_t signature[SIGN_SIZE];
	struct bytes preimage;

	if (!key)
		return err_set(e, E_DENIED, "LOG_KEY",
			"no signing key, so nothing can be recorded; 'helm key create' makes one");
	key_id(key_public(key), id);
	json_sets(a, record, "id", d->id);
	json_sets(a, record, "verdict", d->verdict);
	json_sets(a, record, "subject_id", d->subject_id);
	json_sets(a, record, "action", d->action);
	json_sets(a, record, "resource", d->resource);
	json_sets(a, record, "effect_digest", d->effect_digest ? d->effect_digest : "");
	if (d->policy_epoch)
		json_sets(a, record, "policy_epoch", d->policy_epoch);
	if (d->gate_roster_hash)
		json_sets(a, record, "gate_roster_hash", d->gate_roster_hash);
	json_sets(a, record, "phenotype_hash", d->phenotype_hash ? d->phenotype_hash : "");
	json_sets(a, record, "policy_version", d->policy_version ? d->policy_version : "");
	json_sets(a, record, "policy_content_hash", d->policy_content_hash ? d->policy_content_hash : "");
	json_sets(a, record, "reason", d->reason ? d->reason : "");
	json_sets(a, record, "reason_code", d->reason_code ? d->reason_code : "");
	json_sets(a, record, "policy_backend", "helm");
	json_sets(a, record, "timestamp", text_time_z(a, s->now_us(s)));
	if (d->input_context)
		json_set(a, record, "input_context", d->input_context);
	json_sets(a, record, "signature_type", id);
	json_sets(a, record, "signature_version", DECISION_V4);
	json_make_utf8(a, record);
	int rc = decision_preimage(a, record, &preimage, e);
	if (rc)
		return rc;
	rc = key_ask(key, KEY_FOR_DECISION, record, preimage, signature, e);
	if (rc)
		return rc;
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(a, record, "signature", hex);
	*ret_content_hash = preimage_prefixed(a, preimage);
	*ret_record = record;
	return OK;
}
