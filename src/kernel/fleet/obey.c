/* obey.c — orders of the centre: looked at, and done (docs/formats/fleet-orders.md).
 *
 * An order is one link of a chain of its own, signed by the control key that was pinned at joining; a number that is missing, or a link that does
 * not continue, means that nothing more is obeyed.  What it wants is done by the functions that the command line uses, so each ends where a
 * person's own act would: in the standing word, in the approvals, and in a receipt that names the order. */
#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/approval/approval.h"
#include "kernel/fleet/parts.h"
#include "kernel/freeze.h"
#include "kernel/log_keeper.h"
#include "proof/note.h"

#include <string.h>

static int wrong(struct err *e, const char *what)
{
	return err_set(e, E_DENIED, "FLEET_ORDER", "an order of the centre %s; nothing more is obeyed", what);
}

static bool is_signed(
	struct arena *a, const struct json *joined, const struct json *order, struct bytes message)
{
	const char *vkey = json_get_text(joined, "control_vkey", ""),
		   *text = json_get_text(order, "signature", "");
	struct note_key key;
	uint8_t signature[SIGN_SIZE];

	return note_key_parse(a, bytes_of(vkey), "control key", &key, NULL) == OK &&
		hex_decode(text, strlen(text), signature, sizeof(signature), true) &&
		sign_verify(key.pub, message, signature);
}

int fleet_order_check(struct arena *a, const struct json *joined, const struct json *order, int64_t after,
	const char *last_hash, const char **ret_hash, struct err *e)
{
	if (!json_is(order, JSON_OBJECT) || !text_eq(json_get_text(order, "version", ""), FLEET_ORDER_V1))
		return wrong(e, "is of no version that is known here");
	if (!text_eq(json_get_text(order, "origin", ""), json_get_text(joined, "origin", "?")))
		return wrong(e, "is of another origin");
	if (json_get_int(order, "seq", -1) != after + 1)
		return wrong(e, "is not the next one");
	if (!text_eq(json_get_text(order, "prev_hash", "?"), last_hash))
		return wrong(e, "does not continue the one before it");
	if (!is_signed(a, joined, order, log_order_message(a, order)))
		return wrong(e, "is not signed by the control key that was pinned at joining");
	*ret_hash = log_order_hash(a, order);
	return OK;
}

bool fleet_order_is_for(const struct json *order, const char *node)
{
	const struct json *nodes = json_get(order, "nodes");

	if (!nodes || !nodes->n)
		return true;
	json_each (one, nodes)
		if (text_eq(json_text(one) ? json_text(one) : "", node))
			return true;
	return false;
}

/* {seq, hash, kind}: what a receipt says of it. */
static struct json *named(struct arena *a, const struct json *order, const char *hash)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "seq", json_get_int(order, "seq", 0));
	json_sets(a, doc, "hash", hash);
	json_sets(a, doc, "kind", json_get_text(order, "kind", ""));
	json_sets(a, doc, "origin", json_get_text(order, "origin", ""));
	return doc;
}

/* ---- what each kind does ---- */

struct obeying {
	struct kernel *k;
	struct arena *a;
	struct json *joined;
	const struct json *order, *body;
	struct json *name;
	webauthn_es256 *es256;
	const char *done;
	struct err unread; /* why it could not be told whether a person signed it: the disk */
};

static int record(struct obeying *x, struct json *more, struct err *e)
{
	struct json *about = more ? more : json_new(x->a, JSON_OBJECT), *receipt;

	json_set(x->a, about, "order", x->name);
	return act_record(x->k, x->a,
		&(struct act){ .effect_id = "helm.fleet/order", .type = "fleet", .about = about }, &receipt,
		e);
}

/* What cannot be done as it was ordered is on record as refused: it must hold up no order behind it.  What only the disk kept from being done is
 * tried again. */
static int refuse(struct obeying *x, struct err *e)
{
	struct json *about = json_new(x->a, JSON_OBJECT), *why = json_new(x->a, JSON_OBJECT);

	if (e->rc == E_IO)
		return e->rc;
	json_sets(x->a, why, "code", e->code);
	json_sets(x->a, why, "text", arena_strdup(x->a, e->text));
	json_set(x->a, about, "refused", why);
	x->done = arena_printf(x->a, "refused: %s", e->text);
	return record(x, about, e);
}

/* The person who wanted it, where the order names one, goes on record with what they signed.  A stop needs nobody, so one that is not borne out is a stop all
 * the same, and the record says that, too; what lets go on is refused then. */
static int name_person(struct obeying *x, bool stops, struct err *e)
{
	struct json *doubt;
	const struct json *proof;
	struct err why = { 0 };
	int rc = fleet_order_person(
		x->k->sys, x->a, x->k->ws->helm_home, x->joined, x->order, x->es256, &proof, &why);

	if (rc && !stops)
		return err_set(e, rc, why.code, "%s", why.text);
	if (rc == OK && proof)
		json_set(x->a, x->name, "approver", json_copy(x->a, proof));
	if (rc == OK)
		return OK;
	if (rc == E_IO)
		x->unread = why;
	doubt = json_new(x->a, JSON_OBJECT);
	json_sets(x->a, doubt, "code", why.code);
	json_sets(x->a, doubt, "text", arena_strdup(x->a, why.text));
	json_set(x->a, x->name, "not_signed", doubt);
	return OK;
}

static int freeze(struct obeying *x, struct err *e)
{
	struct json *receipt;
	const char *reason = json_get_text(x->body, "reason", "");
	int rc = name_person(x, true, e);

	if (rc)
		return rc;
	x->done = "everything is frozen";
	rc = freeze_by_order(x->k, x->a, x->name, reason, false, &receipt, e);
	/* It is frozen, and heard once more: then as the person's who signed it, which the control key does not lift. */
	if (rc == OK && x->unread.rc)
		return err_set(e, x->unread.rc, x->unread.code, "%s", x->unread.text);
	return rc;
}

/* What is not frozen need not be lifted, and that is on record, too. */
static int unfreeze(struct obeying *x, struct err *e)
{
	struct json *receipt;

	if (name_person(x, false, e))
		return refuse(x, e);
	int rc =
		freeze_by_order(x->k, x->a, x->name, json_get_text(x->body, "reason", ""), true, &receipt, e);

	x->done = "the freeze is lifted";
	if (rc && (text_eq(e->code, "FLEET_UNSIGNED") || text_eq(e->code, "FLEET_TOUCH")))
		return refuse(x, e);
	if (rc && text_eq(e->code, "FREEZE_NOT")) {
		x->done = "nothing was frozen";
		rc = record(x, NULL, e);
	}
	return rc;
}

static int lease(struct obeying *x, struct err *e)
{
	int64_t seconds = json_get_int(x->body, "seconds", 0);
	struct json *about = json_new(x->a, JSON_OBJECT);

	json_seti(x->a, about, "lease_seconds", seconds);
	int rc = record(x, about, e);
	if (rc == OK)
		rc = fleet_lease_renew(x->k->sys, x->a, x->k->ws->helm_home, seconds, e);
	x->done =
		seconds ? arena_printf(x->a, "the lease is %lld s", (long long)seconds) : "there is no lease";
	return rc;
}

static bool is_before_joining(const struct obeying *x)
{
	const char *at = json_get_text(x->order, "at", ""), *joined = json_get_text(x->joined, "at", "");
	int64_t at_us, joined_us;

	return text_parse_time(at, strlen(at), &at_us) &&
		text_parse_time(joined, strlen(joined), &joined_us) && at_us < joined_us;
}

/* By a key that was pinned here once: such orders are heard again where the state was lost. */
static bool is_by_former_root(struct obeying *x, const struct json *list)
{
	json_each (key, json_get(x->joined, "former_root_keys"))
		if (fleet_approvers_check(
			    x->a, json_text(key), json_get_text(x->joined, "origin", ""), list, NULL) == OK)
			return true;
	return false;
}

static void pin_root(struct obeying *x, const char *old, const char *new)
{
	struct json *former = json_get(x->joined, "former_root_keys");

	if (!former) {
		former = json_new(x->a, JSON_ARRAY);
		json_set(x->a, x->joined, "former_root_keys", former);
	}
	json_pushs(x->a, former, arena_strdup(x->a, old));
	json_sets(x->a, x->joined, "root_key", new);
}

/* Only what the pinned key itself has signed takes its place; from then on nobody answers until the new one has named who may. */
static int root(struct obeying *x, struct err *e)
{
	const struct json *said = json_get(x->body, "statement");
	const char *pinned = json_get_text(x->joined, "root_key", ""),
		   *new = json_get_text(said, "new_key", "");
	struct json *about = json_new(x->a, JSON_OBJECT);

	if (fleet_root_check(x->a, json_get_text(x->joined, "origin", ""), said, e))
		return wrong(e, "names another root key, and the one before has not signed that");
	if (!*pinned) {
		(void)err_set(e, E_MISSING, "FLEET_NO_ROOT", "no root key was pinned here");
		return refuse(x, e);
	}
	json_each (key, json_get(x->joined, "former_root_keys"))
		if (text_eq(json_text(key) ? json_text(key) : "",
			    new)) { /* or a statement of long ago would bring it back */
			(void)err_set(e, E_DENIED, "FLEET_ROOT",
				"it names a root key whose place another one has taken here");
			return refuse(x, e);
		}
	if (!text_eq(pinned, new) && !text_eq(pinned, json_get_text(said, "old_key", ""))) {
		(void)err_set(e, E_DENIED, "FLEET_ROOT",
			"another root key than the one that was pinned here has signed it");
		return refuse(x, e);
	}
	json_sets(x->a, about, "root_key", new);
	json_sets(x->a, about, "statement_sha256", json_sha256(x->a, said));
	int rc = record(x, about, e);
	if (rc == OK && !text_eq(pinned, new)) {
		pin_root(x, pinned, new);
		rc = fleet_join_save(x->k->sys, x->a, x->k->ws->helm_home, x->joined, e);
	}
	x->done = "another root key is pinned";
	return rc;
}

static int retire(struct obeying *x, struct err *e)
{
	x->done = "this machine is retired: the ledger takes nothing more of it";
	return record(x, NULL, e);
}

/* A list that the pinned root key has not signed is no mistake: somebody else gives the orders. */
static int approvers(struct obeying *x, struct err *e)
{
	struct sys *s = x->k->sys;
	const char *home = x->k->ws->helm_home;
	const struct json *list = json_get(x->body, "list");
	struct json *about = json_new(x->a, JSON_OBJECT);
	uint32_t unread = 0;
	bool is_new = false;
	int rc = fleet_approvers_check(x->a, json_get_text(x->joined, "root_key", NULL),
		json_get_text(x->joined, "origin", ""), list, e);

	/* What was ordered before this machine joined may be by a root key that was in force then; it counts as little. */
	if (rc && !text_eq(e->code, "FLEET_NO_ROOT") && !is_before_joining(x) && !is_by_former_root(x, list))
		return wrong(e, "names approvers whom the root key has not signed");
	if (rc == OK)
		rc = fleet_approvers_newer(s, x->a, home, x->joined, list, &is_new, e);
	if (rc)
		return refuse(x, e);
	const struct json *readable = fleet_approvers_readable(x->a, list, &unread);
	json_seti(x->a, about, "serial", json_get_int(list, "serial", 0));
	if (unread)
		json_seti(x->a, about, "unread", unread);
	json_sets(x->a, about, "list_sha256", json_sha256(x->a, list));
	rc = record(x, about, e);
	if (rc == OK && is_new)
		rc = fleet_approvers_save(s, x->a, home, list, e);
	x->done = arena_printf(x->a, "%u keys may answer from the centre", json_get(readable, "keys")->n);
	return rc;
}

/* Was it given already, by this very answer?  Then it was obeyed, and killed before that was known.  One of several who is heard again counts once, and
 * that is refused on record. */
static bool is_given(struct obeying *x, const char *id, const struct fleet_answer *answer)
{
	struct json *entry;
	struct grant said;

	return approval_get(x->k, x->a, id, &entry, NULL) == OK &&
		approval_message_read(x->a, answer->message, &said, NULL) == OK &&
		text_eq(json_get_text(entry, "grant_id", ""), said.id);
}

/* A yes carries the signature of a person whom the root key names; the question is the one on record here, whole. */
static int grant(struct obeying *x, struct err *e)
{
	struct sys *s = x->k->sys;
	const char *id = json_get_text(x->body, "approval_id", "");
	const struct fleet_answer answer = { .message = bytes_of(json_get_text(x->body, "message", "")),
		.signature = json_get_text(x->body, "signature", ""),
		.passkey = json_get(x->body, "passkey"),
		.assertion = json_get(x->body, "assertion"),
		.es256 = x->es256 };
	struct json *list, *receipt;
	struct person who;

	x->done = answer.assertion ? "one of several has said yes" : "the question is answered: yes";
	if (is_given(x, id, &answer))
		return OK;
	int rc = fleet_approvers(s, x->a, x->k->ws->helm_home, x->joined, &list, e);
	if (rc == OK)
		rc = fleet_person(x->a, list, &answer, x->name, &who, e);
	if (rc == OK)
		rc = person_may_loosen(s, x->a, x->k->ws, e);
	if (rc == OK)
		rc = approval_approve_signed(x->k, x->a, id, answer.message, &who, &receipt, e);
	return rc ? refuse(x, e) : OK;
}

/* A no stops something, so the control key is enough for it, as for a freeze. */
static int deny(struct obeying *x, struct err *e)
{
	const struct person who = { .name = "the centre of the fleet", .order = x->name };
	struct json *receipt;
	int rc = name_person(x, true, e);

	if (rc)
		return rc;
	rc = approval_deny(x->k, x->a, json_get_text(x->body, "approval_id", ""),
		json_get_text(x->body, "reason", ""), &who, &receipt, e);

	x->done = "the question is answered: no";
	return rc ? refuse(x, e) : OK;
}

static int only_record(struct obeying *x, struct err *e)
{
	x->done = "it is on record";
	return record(x, NULL, e);
}

int fleet_obey(struct kernel *k, struct arena *a, struct json *joined, const struct json *order,
	const char *hash, webauthn_es256 *es256, const char **ret_done, struct err *e)
{
	static const struct {
		const char *kind;
		int (*fn)(struct obeying *x, struct err *e);
	} kinds[] = { { "freeze", freeze }, { "unfreeze", unfreeze }, { "lease", lease },
		{ "revoke_key", only_record }, { "approvers", approvers }, { "grant", grant },
		{ "deny", deny }, { "root", root }, { "retire", retire } };
	struct obeying x = { .k = k,
		.a = a,
		.joined = joined,
		.order = order,
		.body = json_get(order, "body"),
		.name = named(a, order, hash),
		.es256 = es256 };
	const char *kind = json_get_text(order, "kind", "");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_eq(kinds[i].kind, kind)) {
			int rc = kinds[i].fn(&x, e);
			if (rc == OK)
				*ret_done = x.done;
			return rc;
		}
	return wrong(e, "is of no kind that is known here");
}

int fleet_note_checkpoint(struct kernel *k, struct arena *a, const struct json *joined,
	const struct json *state, const char *why, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *heard = json_new(a, JSON_OBJECT), *receipt;

	json_sets(a, about, "origin", json_get_text(joined, "origin", ""));
	json_sets(a, about, "checkpoint", json_get_text(state, "checkpoint", ""));
	json_sets(a, about, "because", why);
	if (json_get_int(state, "order", 0) > 0) {
		json_seti(a, heard, "seq", json_get_int(state, "order", 0));
		json_sets(a, heard, "hash", json_get_text(state, "order_hash", ""));
		json_set(a, about, "heard", heard);
	}
	if (json_get_text(joined, "root_key", NULL))
		json_sets(a, about, "root_key", json_get_text(joined, "root_key", ""));
	return act_record(k, a,
		&(struct act){ .effect_id = "helm.fleet/checkpoint", .type = "fleet", .about = about },
		&receipt, e);
}

int fleet_leave(struct kernel *k, struct arena *a, const struct json *joined, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *receipt;

	json_sets(a, about, "kind", "leave");
	json_sets(a, about, "origin", json_get_text(joined, "origin", ""));
	int rc = act_record(k, a,
		&(struct act){ .effect_id = "helm.fleet/leave", .type = "fleet", .about = about }, &receipt,
		e);
	if (rc == OK)
		rc = freeze_by_order(k, a, about, "this machine leaves the fleet", true, &receipt, e);
	return rc && text_eq(e->code, "FREEZE_NOT") ? OK : rc;
}
