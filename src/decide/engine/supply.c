/* supply.c — from what an entry point knows to what the checks need to know.
 *
 * Every entry point, and conformance, states what it knows by the same names in the question (engine.h); here that becomes the facts that the checks read.  So a
 * check cannot be fed in a way that no program has.  Who states what: kernel/policy/known.c. */
#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "decide/engine/parts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Where the facts of one question lie. */
struct supply {
	struct arena *a;
	const struct ruleset *rules; /* or NULL */
	const struct policy_question *q;
	struct facts facts;
	struct stop_facts stop;
	struct ledger_facts ledger;
	struct pin_facts pins;
	struct sandbox_facts sandbox;
	struct budget_facts budget;
	struct velocity_facts velocity;
	struct envelope_facts envelope;
	struct egress_facts egress;
	struct mcp_facts mcp;
	struct privilege_facts privilege;
	struct identity_facts identity;
	struct delegation_facts delegation;
	struct capability_facts capability;
};

static const char *known_text(const struct supply *s, const char *name)
{
	return json_get_text(s->q->known, name, NULL);
}

/* Each text of a list. */
static const char *const *texts_of(struct arena *a, const struct json *list, size_t *ret_n)
{
	const char **texts = arena_zalloc(a, json_is(list, JSON_ARRAY) ? list->n + 1 : 1, sizeof(*texts));

	json_each (one, list)
		if (json_text(one))
			texts[(*ret_n)++] = json_text(one);
	return texts;
}

static void supply_stop(struct supply *s, const struct json *known)
{
	s->stop.reason = json_get_text(known, "reason", NULL);
	s->stop.code = REASON_SYSTEM_FROZEN;
	(void)code_find(json_get_text(known, "code", ""), &s->stop.code);
	s->facts.stop = &s->stop;
}

/* A parent or a signature that an effect claims is held against what is on record; where nobody looked, it does not hold. */
static void supply_ledger(struct supply *s, const struct json *known)
{
	const struct json *keys = json_get(known, "keys");
	uint8_t(*raw)[32] = arena_zalloc(s->a, json_is(keys, JSON_ARRAY) ? keys->n + 1 : 1, sizeof(*raw));

	s->ledger.parents = texts_of(s->a, json_get(known, "parents"), &s->ledger.parent_count);
	json_each (key, keys)
		if (json_text(key) && hex_decode(key->text, key->n, raw[s->ledger.key_count], 32, true))
			s->ledger.key_count++;
	s->ledger.keys = (const uint8_t(*)[32])raw;
	s->facts.ledger = &s->ledger;
}

static void supply_pins(struct supply *s, const struct json *known)
{
	s->pins = (struct pin_facts){ .schema_version = json_get_text(known, "schema_version", NULL),
		.presented_schema_version = json_get_text(known, "presented_schema_version", NULL),
		.has_lamport = json_get(known, "replay_lamport") != NULL,
		.presented_lamport = json_get_int(known, "replay_lamport", 0),
		.consumed_lamport = json_get_int(known, "current_lamport", 0) };
	s->facts.pins = &s->pins;
}

static void supply_sandbox(struct supply *s, const struct json *known)
{
	s->sandbox.runtime = json_get_text(known, "runtime", NULL);
	s->sandbox.may_run_generated = json_get_bool(known, "generated", false);
	s->sandbox.has_network = json_get_bool(known, "network", false);
	s->sandbox.preopens = texts_of(s->a, json_get(known, "preopens"), &s->sandbox.preopen_count);
	s->facts.sandbox = &s->sandbox;
}

static bool has_claims(const struct policy_question *q)
{
	return json_get(q->context, "claimed_parent_hash") ||
		(q->effect_id && json_get(q->params, "signature"));
}

static void supply_stated(struct supply *s)
{
	static const struct {
		const char *name;
		void (*fn)(struct supply *s, const struct json *known);
	} rows[] = { { "stop", supply_stop }, { "ledger", supply_ledger }, { "pins", supply_pins },
		{ "sandbox", supply_sandbox } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct json *known = json_get(s->q->known, rows[i].name);
		if (json_is(known, JSON_OBJECT))
			rows[i].fn(s, known);
	}
	if (!s->facts.ledger && has_claims(s->q))
		s->facts.ledger = &s->ledger;
}

/* What bounds it, and what was used up of that. */
static void supply_bounds(struct supply *s)
{
	const struct policy_question *q = s->q;
	const struct limits *limits = ruleset_limits(s->rules);
	const struct json *envelope = limits ? limits_envelope(limits) : NULL;
	struct err e = { 0 };

	if (!limits)
		return;
	s->budget = (struct budget_facts){ .drawn = q->drawn, .error = q->drawn_error };
	s->velocity = (struct velocity_facts){ .drawn = q->drawn, .error = q->drawn_error };
	s->facts.budget = &s->budget;
	s->facts.velocity = &s->velocity;
	if (!envelope)
		return;
	s->envelope = (struct envelope_facts){
		.drawn = q->drawn, .run = q->session ? q->session : "workspace", .error = q->drawn_error
	};
	if (envelope_bind(s->a, envelope, NULL, q->now_us, &s->envelope.bound, &e))
		s->envelope.error = arena_strdup(s->a, e.text);
	s->facts.envelope = &s->envelope;
}

/* A door whose callers show a key knows whose it is.  Asking for others is what some of them are for, so it is looked at where a policy requires that gate. */
static void supply_identity(struct supply *s)
{
	const char *key = known_text(s, "key_id");
	struct json *owners;

	if (!key || !ruleset_requires(s->rules, GATE_IDENTITY))
		return;
	owners = json_new(s->a, JSON_OBJECT);
	json_sets(s->a, owners, key, json_get_text(s->q->known, "key_principal", ""));
	s->identity = (struct identity_facts){ .credential = key, .owners = owners };
	s->facts.identity = &s->identity;
}

/* "mcp__SERVER__TOOL", as most clients spell it.  Another spelling, or a client that does not tell the server: a tool of a server that nobody
 * knows, and so has approved. */
static bool is_mcp_call(struct arena *a, const char *tool, struct mcp_facts *f)
{
	static const char mark[] = "mcp__";
	const char *server = tool && strncasecmp(tool, mark, strlen(mark)) == 0 ? tool + strlen(mark) : NULL;
	const char *end = server ? strstr(server, "__") : NULL;

	if (!tool || strncasecmp(tool, mark, strlen("mcp")) != 0 || isalnum((unsigned char)tool[3]))
		return false;
	f->server = end ? arena_strndup(a, server, (size_t)(end - server)) : "";
	f->tool = end ? end + 2 : tool;
	return true;
}

/* How bad what is asked can be, by the class of its effect; what nobody has classified is high. */
static const char *risk_of(const struct policy_question *q)
{
	static const char *const names[] = { "low", "low", "medium", "high", "critical" };
	const char *class = effect_class(q->action, q->proposal);

	return class[0] == 'E' && class[1] >= '0' && class[1] <= '4' ? names[class[1] - '0'] : "critical";
}

/* Sessions and manifests are those of the policy, which a person has put in use.  Which session a caller means, and what it shows for that, is the door's word; a session
 * of the delegate is what the door knows as one, and where it knows none all that the delegate does. */
static void supply_given(struct supply *s)
{
	const struct policy_question *q = s->q;
	const struct json *delegation = ruleset_section(s->rules, "delegation"),
			  *capability = ruleset_section(s->rules, "capability");

	if (delegation) {
		s->delegation = (struct delegation_facts){ .sessions = json_get(delegation, "sessions"),
			.named = known_text(s, "delegation_session"),
			.proof = known_text(s, "delegation_proof"),
			.revoked = json_get(delegation, "revoked"),
			.drawn = q->drawn,
			.error = q->drawn_error,
			.run = q->session,
			.risk = risk_of(q),
			.needs_mfa = json_get_bool(delegation, "require_mfa", false) };
		s->facts.delegation = &s->delegation;
	}
	if (capability) {
		s->capability = (struct capability_facts){ .manifests = json_get(capability, "manifests"),
			.plans = json_get(capability, "plans"),
			.is_required = json_get_bool(capability, "required", false) };
		s->facts.capability = &s->capability;
	}
}

static void supply_authority(struct supply *s)
{
	if (ruleset_section(s->rules, "egress")) {
		s->egress.payload_bytes = -1;
		s->facts.egress = &s->egress;
	}
	if (ruleset_section(s->rules, "mcp") && is_mcp_call(s->a, s->q->tool, &s->mcp))
		s->facts.mcp = &s->mcp;
	if (ruleset_section(s->rules, "privilege")) {
		s->privilege.tier = known_text(s, "privilege_tier");
		s->privilege.trust = known_text(s, "trust_level");
		s->facts.privilege = &s->privilege;
	}
	supply_identity(s);
	supply_given(s);
}

void question_judge(struct arena *a, const struct ruleset *rules, const struct policy_facts *about,
	const struct policy_question *q, const struct decision *guard, struct as_tool tool,
	struct judgement *ret)
{
	const struct submission ask = { .effect_type = q->action,
		.effect_id = q->effect_id ? q->effect_id : q->action,
		.budget_id = q->budget_id,
		.principal = q->principal,
		.tool = tool.name,
		.is_tool_unknown = tool.is_unknown,
		.is_tool_beside = tool.is_beside,
		.params = q->params,
		.context = q->context,
		.proposal = q->proposal };
	struct supply *s = arena_zalloc(a, 1, sizeof(*s));

	s->a = a;
	s->rules = rules;
	s->q = q;
	s->facts = (struct facts){ .now_us = q->now_us,
		.principal = q->principal,
		.session = q->session,
		.workspace = known_text(s, "workspace"),
		.tenant = known_text(s, "tenant"),
		.taint = json_get(q->known, "taint"),
		.known = q->known,
		.policy = about,
		.pdp = q->pdp,
		.guard = guard };
	supply_stated(s);
	if (rules) {
		supply_bounds(s);
		supply_authority(s);
	}
	engine_judge(a, rules, &ask, &s->facts, ret);
}
