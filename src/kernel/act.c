/* act.c — a person's act on record.
 *
 * What a person does to the boundary itself (stop it, choose, answer) is not decided by the boundary.  It
 * is signed and chained like everything else, and it comes before its effect: a crash in between leaves an
 * act without effect, never an effect without a record. */
#include "kernel/act.h"

#include "base/hash.h"
#include "base/text.h"

/* The first words keep a signature that is made here from meaning anything elsewhere. */
struct bytes act_message(struct arena *a, const struct json *said)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "helm:approval:v1\n");
	json_canonical(&text, said);
	return buf_bytes(&text);
}

struct bytes act_message_ssh(struct arena *a, const struct json *grant, const char *request_sha256)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf text;

	json_set(a, doc, "grant", json_copy(a, grant));
	json_sets(a, doc, "request_sha256", request_sha256);
	buf_init(&text, a);
	buf_adds(&text, ACT_DOMAIN_SSH);
	json_canonical(&text, doc);
	return buf_bytes(&text);
}

void act_sign(struct arena *a, const struct person *who, const struct json *said, struct json *about)
{
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1], id[KEY_ID];
	struct json *doc;

	if (who && who->proof)
		json_set(a, about, "approver", json_copy(a, who->proof));
	if (!who || !who->key)
		return;
	doc = json_new(a, JSON_OBJECT);
	key_sign(who->key, act_message(a, said), signature);
	hex_encode(signature, SIGN_SIZE, hex);
	key_id(key_public(who->key), id);
	json_sets(a, doc, "key_id", id);
	json_sets(a, doc, "signature", hex);
	json_set(a, about, "approver", doc);
}

/* The caller changes things only after this returned OK. */
int act_record(
	struct kernel *k, struct arena *a, const struct act *act, struct json **ret_receipt, struct err *e)
{
	char *id = NULL;
	int rc = act->decision_id ? OK : record_new_id(a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	struct draft d = { .decision_id = act->decision_id ? act->decision_id : id,
		.effect_id = act->effect_id,
		.status = "RECORDED",
		.reason_code = act->reason_code,
		.policy_hash = k->policy_hash,
		.args_hash = act->args_hash,
		.output_hash = act->output_hash,
		.executor_id = act->executor_id,
		.type = act->type,
		.metadata = act->about };
	return recorder_append(&k->recorder, a, &d, 1, ret_receipt, e);
}
