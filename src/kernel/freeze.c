/* freeze.c — stop: nothing is allowed for a principal, or for anybody, until a person lifts it.
 *
 * What is frozen is part of the standing word (posture.h); <state>/freeze.json says the same for people and older tools, and a freeze
 * that only it knows counts, too.  Every decision looks here first.  What cannot be believed is a freeze of everything: whoever
 * damages it stops the work, and does not set it free. */
#include "kernel/freeze.h"
#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "kernel/fleet/fleet.h"
#include "kernel/person.h"
#include "kernel/posture_parts.h"
#include "proof/preimage.h"

#include <string.h>

bool freeze_is_fleet(const char *principal)
{
	return text_eq(principal, FREEZE_FLEET) || text_starts(principal, FREEZE_FLEET_PERSON);
}

int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	const struct posture *p = posture_of(s, ws);
	struct json *doc;

	if (p->broken)
		return err_set(e, E_CORRUPT, "POSTURE_BROKEN", "%s", p->broken);
	int rc = tree_freezes(s, a, ws, &doc, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(p->word, "freezes"))
		json_set(a, doc, m->name, tree_freeze(a, m->name, m->value));
	*ret = doc;
	return OK;
}

const struct json *freeze_of_fleet(const struct json *doc)
{
	json_each_member (m, doc)
		if (freeze_is_fleet(m->name))
			return m->value;
	return NULL;
}

/* An act makes a document anew that cannot be believed, but never in the place of one that this program cannot read. */
const char *freeze_remedy(struct sys *s, const struct workspace *ws)
{
	if (posture_keys_damaged(s, ws))
		return "the key history is damaged, which comes first: helm key repair --yes (helm key history says more)";
	return posture_of(s, ws)->is_unreadable
		? "that has to be mended first: no command writes another one in its place"
		: "'helm workspace repair' puts it back from the signed acts in the record";
}

/* Why `principal` is frozen, or NULL.  What cannot be read counts as a freeze. */
const char *freeze_in_force(struct sys *s, struct arena *a, const struct workspace *ws, const char *principal)
{
	struct json *doc;
	struct err e = { 0 };

	if (freeze_load(s, a, ws, &doc, &e))
		return arena_printf(a, "whether a freeze is in force cannot be read (%s); %s", e.text,
			freeze_remedy(s, ws));
	const struct json *all = json_get(doc, "*"), *own = principal ? json_get(doc, principal) : NULL;
	const struct json *fence = json_get(doc, FREEZE_FENCE), *fleet = freeze_of_fleet(doc),
			  *one = all ? all
		: fence		     ? fence
		: fleet		     ? fleet
				     : own;
	if (!one)
		return fleet_lease_over(s, a, ws->helm_home);
	const char *reason = json_get_text(json_get(one, "metadata"), "reason", "");
	if (!all && fence)
		return arena_printf(a, "an emergency stop fences this workspace: %s", reason);
	if (!all && fleet)
		return arena_printf(
			a, "the centre of the fleet has frozen everything%s%s", *reason ? ": " : "", reason);
	return arena_printf(
		a, "a person has frozen %s%s%s", all ? "everything" : principal, *reason ? ": " : "", reason);
}

enum reason_code freeze_code(struct sys *s, const struct workspace *ws, const char *principal)
{
	const struct json *all = json_get(posture_of(s, ws)->word, "freezes");
	const struct json *own = principal ? json_get(all, principal) : NULL;

	if (json_get(all, "*"))
		return REASON_SYSTEM_FROZEN;
	if (json_get(all, FREEZE_FENCE))
		return REASON_EMERGENCY_STOP_FENCED;
	return text_eq(json_get_text(own, "kind", ""), "kill") ? REASON_AGENT_KILLED : REASON_SYSTEM_FROZEN;
}

/* One freeze or its end. */
struct freezing {
	struct kernel *k;
	const char *kind; /* "kill", "fence"; NULL: a freeze */
	const struct json *envelope; /* of a fence */
	const struct json *order; /* of the centre of a fleet; or NULL */
	struct json *state; /* the acknowledgement's members; of a fence */
	enum fence_outcome outcome;
	const char *principal, *reason, *by;
	char *id;
	bool is_lift;
};

/* By the keys that may answer for people. */
static int fence(struct freezing *f, struct arena *a, struct json *word, struct err *e)
{
	struct kernel *k = f->k;
	const struct json *command = json_get(f->envelope, "command");
	struct json *keys, *state;
	char id[KEY_ID];
	int rc = person_keys(k->sys, a, &keys, e);

	if (rc)
		return rc;
	if (!text_eq(json_get_text(command, "tenant_id", ""), FREEZE_TENANT) ||
		!text_eq(json_get_text(command, "workspace_id", ""), k->ws->root))
		return err_set(e, E_DENIED, "FENCE_SCOPE",
			"the command is for another scope than tenant '%s', workspace '%s'", FREEZE_TENANT,
			k->ws->root);
	key_id(key_public(k->recorder.key), id);
	struct fence_kernel by = {
		.key_id = id + strlen("ed25519:"), .public_key = id + strlen("ed25519:"), .audience = "helm"
	};
	rc = fence_apply(a, json_get(word, "fences"), f->envelope, keys, &by, k->sys->now_us(k->sys),
		&f->outcome, &state, &f->state, e);
	if (rc)
		return rc;
	if (f->outcome == FENCE_REPLAY) /* nothing is to be done: the answer is there */
		return err_set(e, E_INPUT, "FENCE_REPLAY", "this command was obeyed before");
	json_set(a, word, "fences", state);
	return OK;
}

static int unfence(struct freezing *f, struct arena *a, struct json *word, struct err *e)
{
	struct json *state;
	int rc = fence_lift(a, json_get(word, "fences"), FREEZE_TENANT, f->k->ws->root, &state, e);

	/* A fence whose state was lost is lifted all the same. */
	if (rc == OK)
		json_set(a, word, "fences", state);
	return OK;
}

/* The control key alone lifts what it alone has frozen.  What a person has signed is lifted by a person, who signed that later: an act for an earlier freeze would
 * otherwise be good for every later one.  Who leaves the fleet is a person at the machine. */
static int check_person(const struct freezing *f, const struct json *all, struct err *e)
{
	static const int64_t ahead_us = 900 * INT64_C(1000000);
	const struct json *who = json_get(f->order, "approver");
	const char *at = json_get_text(who, "signed_at", ""), *frozen;
	int64_t lifted_us, frozen_us;

	json_each_member (m, all) {
		if (!text_starts(m->name, FREEZE_FLEET_PERSON) ||
			!text_eq(json_get_text(f->order, "kind", ""), "unfreeze"))
			continue;
		if (!who)
			return err_set(e, E_DENIED, "FLEET_UNSIGNED",
				"a person has signed the freeze that this would lift, and nobody has signed this");
		frozen = m->name + strlen(FREEZE_FLEET_PERSON);
		if (!text_parse_time(at, strlen(at), &lifted_us) ||
			!text_parse_time(frozen, strlen(frozen), &frozen_us) || lifted_us < frozen_us)
			return err_set(e, E_DENIED, "FLEET_TOUCH",
				"it was signed at %s, before the freeze that it would lift (%s)", at, frozen);
		/* Good for every freeze until then, it would be. */
		if (lifted_us > f->k->sys->now_us(f->k->sys) + ahead_us)
			return err_set(e, E_DENIED, "FLEET_TOUCH",
				"it was signed for %s, which is to come by the clock of this machine", at);
	}
	return OK;
}

static bool remove_persons(struct json *all)
{
	bool is_one = false;

	for (size_t i = 0; i < all->n;) {
		const char *name = json_members(all)[i].name;
		if (text_starts(name, FREEZE_FLEET_PERSON))
			is_one = json_remove(all, name);
		else
			i++;
	}
	return is_one;
}

static int lift(struct freezing *f, struct arena *a, struct json *word, struct json *all, struct err *e)
{
	const struct posture *p = posture_of(f->k->sys, f->k->ws);
	bool is_fleet = freeze_is_fleet(f->principal), was_person = false;

	if (is_fleet && !f->order)
		return err_set(e, E_DENIED, "FREEZE_FLEET",
			"the centre of the fleet has frozen this, and lifts it; 'helm fleet leave' ends that, on record");
	if (is_fleet) {
		int rc = check_person(f, all, e);
		if (rc)
			return rc;
		was_person = remove_persons(all);
	}
	if (json_remove(all, f->principal) || was_person)
		return text_eq(f->principal, FREEZE_FENCE) ? unfence(f, a, word, e) : OK;
	if (p->outer && json_get(json_get(p->word, "freezes"), f->principal))
		return err_set(e, E_INPUT, "FREEZE_OUTER",
			"'%s' is frozen by what was decided about %s: helm unfreeze --path %s", f->principal,
			p->outer, p->outer);
	return err_set(e, E_INPUT, "FREEZE_NOT", "'%s' is not frozen", f->principal);
}

static struct json *entry_of(const struct freezing *f, struct arena *a)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "reason", f->reason);
	if (f->kind)
		json_sets(a, one, "kind", f->kind);
	json_sets(a, one, "by", f->by);
	json_sets(a, one, "at", text_time_iso(a, f->k->sys->now_us(f->k->sys)));
	json_sets(a, one, "receipt_id", arena_printf(a, "rcpt_%s", f->id));
	return one;
}

/* One for each: what stands in the word stays as it is, so that a stop needs no signer's person. */
static void freeze_by_person(struct freezing *f, struct arena *a, struct json *all)
{
	const char *at = json_get_text(json_get(f->order, "approver"), "signed_at", NULL), *name;
	int64_t now_us = f->k->sys->now_us(f->k->sys), at_us;

	if (!at)
		return;
	/* By a clock that is ahead nobody else could lift it for so long. */
	if (!text_parse_time(at, strlen(at), &at_us) || at_us > now_us)
		at = text_time_z(a, now_us);
	name = arena_printf(a, FREEZE_FLEET_PERSON "%s", at);
	if (!json_get(all, name))
		json_set(a, all, name, entry_of(f, a));
}

/* Lifting needs to know what is lifted; what holds here by the word about another place is lifted there. */
static int edit(void *arg, struct arena *a, struct json *word, struct err *e)
{
	struct freezing *f = arg;
	struct json *all = doc_part(a, word, "freezes");

	if (f->is_lift)
		return lift(f, a, word, all, e);
	if (f->envelope) {
		int rc = fence(f, a, word, e);
		if (rc)
			return rc;
	}
	freeze_by_person(f, a, all);
	struct json *before = json_get(all, f->principal);
	if (before && !f->envelope) { /* it stays what it was: since when, by whom, why */
		if (f->kind)
			json_sets(a, before, "kind", f->kind);
		return OK;
	}
	json_set(a, all, f->principal, entry_of(f, a));
	return OK;
}

/* The receipt of a freeze or of its end; it names who did it. */
static int change(struct kernel *k, struct arena *a, struct freezing *f, const char *effect,
	struct json **ret, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);
	/* Who comes by a door is not the user of the server. */
	bool is_signed = k->person && k->person->proof;

	if (!f->order && !f->is_lift && freeze_is_fleet(f->principal))
		return err_set(e, E_INPUT, "FREEZE_NAME",
			"'%s' is a name of the fleet's, whose orders freeze under it; choose another",
			f->principal);
	int rc = record_new_id(a, k->sys, "dec-", &f->id, e);

	if (rc)
		return rc;
	f->by = f->order    ? "the centre of the fleet"
		: is_signed ? k->person->name
			    : arena_printf(a, "user:%u", (unsigned)k->sys->euid(k->sys));
	json_sets(a, about, "principal", f->principal);
	json_sets(a, about, "reason", f->reason);
	json_sets(a, about, "by", f->by);
	if (f->order)
		json_set(a, about, "order", json_copy(a, f->order));
	return posture_change(k, a,
		&(struct act){ .decision_id = f->id,
			.effect_id = effect,
			.type = "freeze",
			.reason_code = "SYSTEM_FROZEN",
			.executor_id = is_signed ? k->person->name : NULL,
			.about = about },
		edit, f, ret, e);
}

/* Works also when nothing that was decided can be believed: stopping must always be possible. */
int freeze_set(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	struct freezing f = { .k = k, .principal = principal, .reason = reason };

	return change(k, a, &f, "helm.freeze/set", ret_receipt, e);
}

int freeze_by_order(struct kernel *k, struct arena *a, const struct json *order, const char *reason,
	bool is_lift, struct json **ret_receipt, struct err *e)
{
	struct freezing f = {
		.k = k, .principal = FREEZE_FLEET, .reason = reason, .order = order, .is_lift = is_lift
	};

	return change(k, a, &f, is_lift ? "helm.freeze/lift" : "helm.freeze/set", ret_receipt, e);
}

int agent_kill(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	struct freezing f = { .k = k, .principal = principal, .reason = reason, .kind = "kill" };

	return change(k, a, &f, "helm.freeze/kill", ret_receipt, e);
}

/* Signed by the key of the chain where its secret is here; the receipt is in the chain either way. */
static int acknowledgement(
	struct kernel *k, struct arena *a, struct json *state, struct json **ret, struct err *e)
{
	struct json *ack = json_new(a, JSON_OBJECT);
	char hex[2 * SIGN_SIZE + 1];
	uint8_t sig[SIGN_SIZE];
	struct bytes payload;

	json_set(a, ack, "state", state);
	if (!key_keeper(k->recorder.key)) {
		int rc = fence_preimage(a, state, "FENCE_ACK", &payload, e);
		if (rc)
			return rc;
		key_sign(k->recorder.key, payload, sig);
		hex_encode(sig, sizeof(sig), hex);
		json_sets(a, ack, "kernel_signature", hex);
	}
	*ret = ack;
	return OK;
}

int fence_obey(
	struct kernel *k, struct arena *a, const struct json *envelope, struct json **ret_ack, struct err *e)
{
	const struct json *command = json_get(envelope, "command");
	struct freezing f = { .k = k,
		.principal = FREEZE_FENCE,
		.reason = json_get_text(command, "reason", ""),
		.kind = "fence",
		.envelope = envelope };
	struct json *receipt;
	int rc = change(k, a, &f, "helm.freeze/fence", &receipt, e);

	if (rc && !text_eq(e->code, "FENCE_REPLAY"))
		return rc;
	return acknowledgement(k, a, json_copy(a, f.state), ret_ack, e);
}

/* Needs something that can be read: what is lifted must be known. */
int freeze_lift(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	struct freezing f = { .k = k, .principal = principal, .reason = reason, .is_lift = true };
	struct json *doc;
	int rc = freeze_load(k->sys, a, k->ws, &doc, e);

	return rc ? err_wrap(e, "%s", freeze_remedy(k->sys, k->ws))
		  : change(k, a, &f, "helm.freeze/lift", ret_receipt, e);
}
