/* stop.c — the signed command that fences a scope, and the check that obeys a stop.
 *
 * A fence is a signed command from outside (emergency-stop-fence.v1).  It is idempotent by its id, its epoch rises per scope, and it
 * is good for ten minutes, so that an old one cannot be played again.  It stops new dispatches; it claims nothing about what is
 * under way. */
#include "decide/authority/parts.h"

#include "proof/preimage.h"

#include <string.h>

enum { COMMAND_LASTS_S = 600, REMEMBERED_S = 24 * 3600 };

/* ---- the state ---- */

const char *fence_scope(struct arena *a, const char *tenant, const char *workspace)
{
	struct json *scope = json_new(a, JSON_OBJECT);

	json_sets(a, scope, "tenant_id", tenant);
	json_sets(a, scope, "workspace_id", workspace);
	return json_sha256(a, scope);
}

static const struct json *entry_of(
	struct arena *a, const struct json *state, const char *tenant, const char *workspace)
{
	return json_get(json_get(state, "scopes"), fence_scope(a, tenant, workspace));
}

static const struct json *fence_in_force(
	struct arena *a, const struct json *state, const char *tenant, const char *workspace)
{
	const struct json *entry = entry_of(a, state, tenant, workspace);

	return json_get_bool(entry, "is_lifted", false) ? NULL : entry;
}

/* A copy that may be changed, with its parts. */
static struct json *begin(struct arena *a, const struct json *state)
{
	struct json *next = state ? json_copy(a, state) : json_new(a, JSON_OBJECT);

	json_sets(a, next, "format", "helm.fences.v1");
	if (!json_get(next, "scopes"))
		json_set(a, next, "scopes", json_new(a, JSON_OBJECT));
	if (!json_get(next, "commands"))
		json_set(a, next, "commands", json_new(a, JSON_OBJECT));
	return next;
}

/* A command that expired a day ago is refused for that alone. */
static void forget_old(struct json *commands, int64_t now_us)
{
	for (uint32_t i = commands->n; i-- > 0;) {
		const struct json *old = commands->members[i].value;
		if (checked_time(old, "expires_at") + REMEMBERED_S * INT64_C(1000000) < now_us)
			(void)json_remove(commands, commands->members[i].name);
	}
}

/* ---- the command ---- */

struct fencing {
	struct arena *a;
	const struct json *command;
	const char *hash; /* of what was signed */
	int64_t issued, expires, now;
};

static bool is_trimmed(const char *s)
{
	return !strchr(" \t\r\n\v\f", s[0]) && !strchr(" \t\r\n\v\f", s[strlen(s) - 1]);
}

/* What the schema cannot say: no white space around a text, and the command's own times. */
static int check_contract(struct fencing *f, struct err *e)
{
	json_each_member (m, f->command)
		if (json_is(m->value, JSON_STRING) && !is_trimmed(m->value->text))
			return err_set(
				e, E_DENIED, "FENCE_CONTRACT", "%s has white space around it", m->name);
	f->issued = checked_time(f->command, "issued_at");
	f->expires = checked_time(f->command, "expires_at");
	if (f->expires <= f->issued)
		return err_set(e, E_DENIED, "FENCE_CONTRACT", "the command expires before it is issued");
	if (f->expires - f->issued > COMMAND_LASTS_S * INT64_C(1000000))
		return err_set(e, E_DENIED, "FENCE_CONTRACT", "the command lives longer than ten minutes");
	return OK;
}

static int check_signature(
	struct fencing *f, const struct json *envelope, const struct json *keys, struct err *e)
{
	const char *key_id = json_get_text(f->command, "key_id", ""),
		   *key = json_get_text(keys, key_id, NULL);
	struct bytes payload;

	if (!key)
		return err_set(e, E_DENIED, "FENCE_KEY", "key '%s' may not fence here", key_id);
	if (fence_preimage(f->a, f->command, "FENCE", &payload, e))
		return err_set(e, E_DENIED, "FENCE_CONTRACT", "the epoch is not written as a whole number");
	if (!signature_holds(key, payload, json_get_text(envelope, "signature", "")))
		return err_set(
			e, E_DENIED, "FENCE_SIGNATURE", "the signature is not that of key '%s'", key_id);
	f->hash = preimage_prefixed(f->a, payload);
	return OK;
}

/* The acknowledgement's members: the command's own, what was done, and by whom. */
static struct json *acknowledge(const struct fencing *f, const struct fence_kernel *by)
{
	struct json *ack = json_copy(f->a, f->command);
	struct bytes payload;

	json_sets(f->a, ack, "command_hash", f->hash);
	json_sets(f->a, ack, "fenced_at", text_time_z(f->a, f->now));
	json_sets(f->a, ack, "kernel_key_id", by->key_id);
	json_sets(f->a, ack, "kernel_signer_profile", "classical");
	json_sets(f->a, ack, "kernel_public_key", by->public_key);
	if (fence_preimage(f->a, ack, "FENCE_ACK", &payload, NULL))
		BUG("what we acknowledge has no canonical form");
	json_sets(f->a, ack, "receipt_hash", preimage_prefixed(f->a, payload));
	return ack;
}

static int check_time_and_epoch(const struct fencing *f, const struct json *entry, struct err *e)
{
	int64_t epoch = json_get_int(f->command, "epoch", 0), last = json_get_int(entry, "epoch", 0);

	if (f->now < f->issued || f->now >= f->expires)
		return err_set(e, E_DENIED, "FENCE_EXPIRED", "the command is not for this time");
	if (epoch <= last)
		return err_set(e, E_DENIED, "FENCE_STALE", "epoch %lld is not above %lld", (long long)epoch,
			(long long)last);
	return OK;
}

static void keep(const struct fencing *f, struct json *next, const char *scope, const struct json *ack)
{
	static const char *const of_scope[] = { "epoch", "command_id", "actor_id", "reason" };
	struct json *entry = json_new(f->a, JSON_OBJECT), *command = json_new(f->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(of_scope); i++)
		json_set(f->a, entry, of_scope[i], json_get(f->command, of_scope[i]));
	json_sets(f->a, entry, "fenced_at", json_get_text(ack, "fenced_at", ""));
	json_set(f->a, json_get(next, "scopes"), scope, entry);
	json_sets(f->a, command, "command_hash", f->hash);
	json_sets(f->a, command, "expires_at", json_get_text(f->command, "expires_at", ""));
	json_set(f->a, command, "acknowledgement", json_copy(f->a, ack));
	forget_old(json_get(next, "commands"), f->now);
	json_set(f->a, json_get(next, "commands"), json_get_text(f->command, "command_id", ""), command);
}

int fence_apply(struct arena *a, const struct json *state, const struct json *envelope,
	const struct json *keys, const struct fence_kernel *by, int64_t now_us, enum fence_outcome *ret,
	struct json **ret_state, struct json **ret_ack, struct err *e)
{
	struct fencing f = { .a = a, .command = json_get(envelope, "command"), .now = now_us };

	if (authority_document(a, "fence-command", envelope, e))
		return err_set(e, E_DENIED, "FENCE_CONTRACT", "this is no fence command");
	int rc = check_contract(&f, e);
	if (rc == OK)
		rc = check_signature(&f, envelope, keys, e);
	if (rc)
		return rc;
	if (by->audience && !text_eq(json_get_text(f.command, "audience", ""), by->audience))
		return err_set(e, E_DENIED, "FENCE_AUDIENCE", "the command is for another audience");
	struct json *next = begin(a, state);
	const char *scope = fence_scope(
		a, json_get_text(f.command, "tenant_id", ""), json_get_text(f.command, "workspace_id", ""));
	const struct json *before =
		json_get(json_get(next, "commands"), json_get_text(f.command, "command_id", ""));
	if (before && !text_eq(json_get_text(before, "command_hash", ""), f.hash))
		return err_set(e, E_DENIED, "FENCE_CONFLICT", "this command id was used for another command");
	if (before) {
		*ret = FENCE_REPLAY;
		*ret_ack = json_get(before, "acknowledgement");
		*ret_state = next;
		return OK;
	}
	rc = check_time_and_epoch(&f, json_get(json_get(next, "scopes"), scope), e);
	if (rc)
		return rc;
	*ret = FENCE_DONE;
	*ret_ack = acknowledge(&f, by);
	keep(&f, next, scope, *ret_ack);
	*ret_state = next;
	return OK;
}

int fence_lift(struct arena *a, const struct json *state, const char *tenant, const char *workspace,
	struct json **ret_state, struct err *e)
{
	if (!fence_in_force(a, state, tenant, workspace))
		return err_set(e, E_INPUT, "FENCE_NOT", "workspace '%s' of tenant '%s' is not fenced",
			workspace, tenant);
	struct json *next = begin(a, state);
	json_setb(
		a, json_get(json_get(next, "scopes"), fence_scope(a, tenant, workspace)), "is_lifted", true);
	*ret_state = next;
	return OK;
}

/* ---- the gate ---- */

void gate_stop(struct judging *j, struct gate_answer *ret)
{
	const struct stop_facts *s = j->facts->stop;

	if (!s)
		return;
	ret->is_active = true;
	if (s->reason)
		gate_deny(ret, s->code, "freeze", s->reason);
}
