/* known.c — what an entry point knows about a request of itself: the facts that no request can say, and that the checks of a policy rest on.
 *
 * checks.def names for every check where its facts come from; each of those words is a function here, so that a check which no program can feed does not
 * compile.  What costs something is looked up only where a policy that holds gives the check something to do, or requires it. */
#include "kernel/policy/policy.h"

#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "kernel/posture_parts.h"
#include "kernel/verdict.h"
#include "proof/preimage.h"
#include "record/record.h"

#include <string.h>

struct knowing {
	struct sys *sys;
	struct arena *a;
	const struct workspace *ws;
	const struct policy_door *d;
	const struct policy_question *q;
	struct json *known;
};

typedef void knows_fn(struct knowing *k);

/* The document and the request are always there. */
#define knows_document NULL
#define knows_request NULL

static void set(struct knowing *k, const char *name, struct json *v)
{
	json_set(k->a, k->known, name, v);
}

/* Where it came in, and where it would happen. */
static void knows_place(struct knowing *k)
{
	static const char hook[] = "hook/";
	const struct policy_door *d = k->d;
	bool is_hook = text_starts(d->door, hook);

	json_sets(k->a, k->known, "door", is_hook ? "hook" : d->door);
	if (is_hook)
		json_sets(k->a, k->known, "client", d->door + strlen(hook));
	json_sets(k->a, k->known, "profile", d->profile->name);
	json_setb(k->a, k->known, "profile_writes", d->profile->writes != ALLOWANCE_NO);
	json_setb(k->a, k->known, "contained", profile_is_contained(d->profile, d->placement));
	json_sets(k->a, k->known, "containment", containment_name(d->placement));
	json_sets(k->a, k->known, "workspace", posture_name(k->a, k->ws->root));
	if (d->cwd)
		json_sets(k->a, k->known, "cwd", posture_name(k->a, d->cwd));
	json_setb(k->a, k->known, "supervised", d->is_supervised);
	policy_look_at_places(k->sys, k->a, k->ws, d, k->q, k->known);
}

/* Who calls, as the entry point has found out: whose key, which session, what led here, and what else it alone knows. */
static void knows_caller(struct knowing *k)
{
	json_each_member (m, k->d->more)
		set(k, m->name, m->value);
}

/* What a person, the fleet or a signed command has stopped: the one answer of freeze.c, which every decision obeys anyway. */
static void knows_stop(struct knowing *k)
{
	struct json *stop = json_new(k->a, JSON_OBJECT);
	const char *why = freeze_in_force(k->sys, k->a, k->ws, k->q->principal);

	if (why) {
		json_sets(k->a, stop, "reason", why);
		json_sets(k->a, stop, "code", reason_get(freeze_code(k->sys, k->ws, k->q->principal))->code);
	}
	set(k, "stop", stop);
}

/* A server knows the tenant of a key; on the machine itself there is one, unless who put the policy in use said which. */
static void knows_tenant(struct knowing *k)
{
	const struct json *word = posture_of(k->sys, k->ws)->word,
			  *said = json_get(json_get(json_get(word, "policy"), "facts"), "tenant");

	if (!json_get(k->known, "tenant") && !said)
		json_sets(k->a, k->known, "tenant", FREEZE_TENANT);
}

/* What a tool was pinned to when a person approved it is said by the gateway, which alone sees what its server lists now.  Whatever is no tool of a server has no pin;
 * of a server that is called past the gateway nothing is known. */
static void knows_pins(struct knowing *k)
{
	struct json *said = json_get(k->known, "mcp_pins");
	bool is_server = k->q->tool && text_starts(k->q->tool, "mcp_");

	if (said || !is_server)
		set(k, "pins", said ? said : json_new(k->a, JSON_OBJECT));
}

/* ---- what is on record ---- */

struct searching {
	const char *hash;
	bool is_found;
};

/* The one behind it names it; of the last one nobody does yet. */
static int is_behind(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct searching *x = arg;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	x->is_found = text_eq(json_get_text(receipt, "prev_hash", ""), x->hash);
	return x->is_found;
}

static int is_last(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct searching *x = arg;
	uint8_t hash[SHA256_SIZE];
	char hex[2 * SHA256_SIZE + 1];

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (receipt && receipt_chain_hash(&a, receipt, hash, NULL) == OK) {
		hex_encode(hash, sizeof(hash), hex);
		x->is_found = text_eq(hex, x->hash);
	}
	return 1;
}

/* Is there a receipt of this hash in a record that was found sound?  A record with findings vouches for nothing. */
static bool is_on_record(struct knowing *k, const char *hash)
{
	static const char mark[] = "sha256:";
	struct searching x = { .hash = text_starts(hash, mark) ? hash + strlen(mark) : hash };
	const struct receipts_wanted named = { .text = x.hash }, any = { 0 };
	struct record_verdict sound = { 0 };
	struct err e = { 0 };

	if (k->ws->state_fd < 0 || strlen(x.hash) != 2 * SHA256_SIZE)
		return false;
	if (receipts_back(k->sys, k->ws->state_fd, &named, is_behind, &x, &e) < 0 ||
		(!x.is_found && receipts_back(k->sys, k->ws->state_fd, &any, is_last, &x, &e) < 0) ||
		!x.is_found)
		return false;
	workspace_verdict_quick(k->sys, k->a, k->ws, VERDICT_QUICK_BYTES, &sound);
	return sound.is_sound;
}

static void push_key(struct arena *a, struct json *to, const uint8_t key[KEY_SIZE])
{
	char hex[2 * KEY_SIZE + 1];

	hex_encode(key, KEY_SIZE, hex);
	json_pushs(a, to, hex);
}

/* The parent that is claimed, if it is on record; and the keys that an operator trusts, which packs and receipts are verified with. */
static void knows_ledger(struct knowing *k)
{
	struct json *ledger = json_new(k->a, JSON_OBJECT), *parents = json_new(k->a, JSON_ARRAY),
		    *keys = json_new(k->a, JSON_ARRAY), *problems;
	const char *claimed = json_get_text(k->q->context, "claimed_parent_hash", NULL);
	struct trust trust = { 0 };
	struct err e = { 0 };

	if (claimed && is_on_record(k, claimed))
		json_pushs(k->a, parents, claimed);
	if (json_get(k->q->params, "signature") && k->ws->helm_home &&
		workspace_trust(k->sys, k->a, k->ws->helm_home, &trust, &problems, &e) == OK)
		for (size_t i = 0; i < trust.key_count; i++)
			push_key(k->a, keys, trust.keys[i].key);
	json_set(k->a, ledger, "parents", parents);
	json_set(k->a, ledger, "keys", keys);
	set(k, "ledger", ledger);
}

/* ---- the sandbox that will stand ---- */

static void knows_sandbox(struct knowing *k)
{
	struct json *sandbox = json_new(k->a, JSON_OBJECT), *open = json_new(k->a, JSON_ARRAY);
	const struct profile *p = k->d->profile;

	if (k->d->placement == IN_SANDBOX) {
		json_sets(k->a, sandbox, "runtime", containment_name(k->d->placement));
		json_setb(k->a, sandbox, "network", profile_reach(p) != NETWORK_NONE);
		json_pushs(k->a, open, k->ws->root);
	}
	json_set(k->a, sandbox, "preopens", open);
	set(k, "sandbox", sandbox);
}

/* ---- what happened so far ---- */

enum { HISTORY_US = 24 * 3600 };

struct counting {
	const struct policy_question *q;
	int64_t calls, denied, asked, kinds[FX_KIND_COUNT];
};

static int count_one(void *arg, const struct policy_recorded *x, struct err *e)
{
	struct counting *c = arg;
	const struct policy_question *then = &x->question;
	bool is_same = c->q->session ? then->session && text_eq(then->session, c->q->session)
				     : text_eq(then->principal, c->q->principal);
	uint64_t seen = 0;

	(void)e;
	if (!is_same)
		return OK;
	c->calls++;
	c->denied += x->then == V_DENY;
	c->asked += x->then == V_ESCALATE;
	for (size_t i = 0; then->proposal && i < then->proposal->effect_count; i++)
		seen |= UINT64_C(1) << then->proposal->effects[i].kind;
	for (unsigned i = 0; i < FX_KIND_COUNT; i++)
		c->kinds[i] += seen >> i & 1;
	return OK;
}

/* The snapshot of rules over graphs: how many calls of this session (or, where there is none, of who asks, in the last day) had which effect.  What cannot be read is not there, and a rule that
 * reads it denies. */
static void knows_history(struct knowing *k)
{
	struct json *graph = json_new(k->a, JSON_OBJECT), *session = json_new(k->a, JSON_OBJECT);
	struct counting c = { .q = k->q };
	struct policy_replay seen;
	struct err e = { 0 };

	set(k, "graph", graph);
	if (policy_replay_each(
		    k->sys, k->ws, k->q->now_us - HISTORY_US * INT64_C(1000000), count_one, &c, &seen, &e))
		return;
	json_seti(k->a, session, "calls", c.calls);
	json_seti(k->a, session, "denied", c.denied);
	json_seti(k->a, session, "asked", c.asked);
	for (unsigned i = 0; i < FX_KIND_COUNT; i++)
		json_seti(k->a, session, effect_kind_name((enum effect_kind)i), c.kinds[i]);
	json_set(k->a, graph, "session", session);
}

/* ---- all of it ---- */

static knows_fn *const suppliers[] = {
#define CHECK(id, name, due, known, member, page) knows_##known,
#include "decide/checks.def"
#undef CHECK
};
TABLE_COVERS(suppliers, GATE_COUNT);

/* A claim is looked up whether or not a policy requires that: it would be refused otherwise. */
static bool is_claimed(const struct policy_question *q)
{
	return json_get(q->context, "claimed_parent_hash") || json_get(q->params, "signature");
}

/* What every rule may read is always stated, and what a policy gives nothing to do is not. */
static bool is_wanted(const struct knowing *k, knows_fn *fn, enum gate_id g)
{
	return fn == knows_place || fn == knows_caller || (fn == knows_ledger && is_claimed(k->q)) ||
		policy_wants(k->sys, k->a, k->ws, k->d->rules, g);
}

struct json *policy_door_facts(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct policy_door *d, const struct policy_question *q)
{
	struct knowing k = { s, a, ws, d, q, json_new(a, JSON_OBJECT) };
	knows_fn *done[GATE_COUNT] = { knows_place, knows_caller };
	size_t n = 2;

	knows_place(&k);
	knows_caller(&k);
	for (unsigned g = 0; g < GATE_COUNT; g++) {
		size_t i = 0;
		while (i < n && done[i] != suppliers[g])
			i++;
		if (!suppliers[g] || i < n || !is_wanted(&k, suppliers[g], (enum gate_id)g))
			continue;
		done[n++] = suppliers[g];
		suppliers[g](&k);
	}
	return k.known;
}

bool policy_is_door_fact(const char *name)
{
	static const char *const own[] = { "door", "client", "profile", "profile_writes", "contained",
		"containment", "workspace", "cwd", "supervised", "principal", "session", "now", "utc_hour",
		"utc_weekday", "places", "places_partial", "key_id", "key_principal", "delegation_session",
		"delegation_proof", "stop", "pins", "ledger", "sandbox", "graph", "mcp_pins" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (text_eq(own[i], name))
			return true;
	return false;
}
