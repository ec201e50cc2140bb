/* authority.h — who may: stops, identity, delegation, capabilities, servers, hosts, labels, tiers.
 *
 * Each struct below is what a door knows and a gate needs (decide/gate.h).  Documents that come from outside are checked by
 * their schema (schemas/) before anybody reads a member: authority_document().  Everything here is pure. */
#ifndef DECIDE_AUTHORITY_AUTHORITY_H
#define DECIDE_AUTHORITY_AUTHORITY_H

#include "decide/gate.h"

/* Does the document fit schemas/NAME.schema.json?  E_INPUT with SCHEMA_VIOLATION and the first member that does not. */
int authority_document(struct arena *a, const char *name, const struct json *doc, struct err *e);
/* The sections "egress", "mcp", "privilege", "taint", "threat", "delegation" and "capability" of a policy (docs/formats/policy-authority.md): those
 * that are there are as they must be.  POLICY_DOCUMENT otherwise. */
int authority_sections(struct arena *a, const struct json *policy, struct err *e);

/* ---- stop ---- */

/* What stands still is decided in one place (kernel/freeze.h); here it is obeyed. */
struct stop_facts {
	const char *reason; /* why nothing is done; NULL: it is looked at, and nothing is stopped */
	enum reason_code code; /* of that */
};

/* The name under which a fence keeps a scope: a digest, so that denials need not repeat the ids. */
const char *fence_scope(struct arena *a, const char *tenant, const char *workspace);

/* Who acknowledges. */
struct fence_kernel {
	const char *key_id, *public_key; /* as in the acknowledgement */
	const char *audience; /* commands to others are refused; NULL: to anybody */
};
enum fence_outcome { FENCE_DONE, FENCE_REPLAY };

/* One signed command (docs/formats/fence.md) on the state so far (NULL: none).  *ret_state is the next state, and with FENCE_REPLAY
 * the same; *ret_ack the acknowledgement's members with their receipt_hash.  `keys` is {key_id: public key in hex}.
 * FENCE_CONTRACT, FENCE_KEY, FENCE_SIGNATURE, FENCE_AUDIENCE, FENCE_CONFLICT (the id was used for other bytes), FENCE_EXPIRED, FENCE_STALE
 * (the epoch does not rise) with E_DENIED: then nothing has changed. */
int fence_apply(struct arena *a, const struct json *state, const struct json *envelope,
	const struct json *keys, const struct fence_kernel *by, int64_t now_us, enum fence_outcome *ret,
	struct json **ret_state, struct json **ret_ack, struct err *e);
/* A person lifts it.  The epoch stays, so that no old command fences again.  FENCE_NOT when there is none. */
int fence_lift(struct arena *a, const struct json *state, const char *tenant, const char *workspace,
	struct json **ret_state, struct err *e);
/* ---- identity and delegation ---- */

struct identity_facts {
	const char *credential; /* digest of what the caller proved itself with; NULL: nothing */
	const struct json *owners; /* {credential: principal}: who used it first; or NULL */
};

struct delegation_facts {
	const struct json *sessions; /* list of documents that count here; or NULL */
	const char *named; /* which of them the caller means; NULL: any that was given to who asks */
	const char *proof; /* digest of what the caller showed, "sha256:..."; or NULL */
	const struct json *revoked; /* list of session ids; or NULL */
	const struct drawn *drawn; /* nonces that were used, and what they began; NULL: nothing */
	const char *error; /* why that is not known: then none counts; or NULL */
	const char *run; /* the caller's own session, which a nonce begins; NULL: it has none */
	const char *policy_hash; /* of the policy in use; NULL: any */
	const char *risk; /* of the effect: low, medium, high, critical; NULL: not known */
	bool needs_mfa; /* only sessions made with a second factor */
	int64_t principal_seq; /* of the caller */
};
/* What a delegator has: a session may hold no more than that, and may not outlive it. */
struct delegator {
	const char *principal;
	const struct json *tools; /* list; "*": any */
	const struct json *capabilities; /* [{resource, actions}]; or NULL */
	const char *risk_ceiling; /* or NULL: none */
	int64_t expires_us; /* 0: never */
};
/* May this session be made?  DELEGATION_DOCUMENT, DELEGATION_WIDER (names what is too much), DELEGATION_TIME with E_DENIED. */
int delegation_mint(struct arena *a, const struct json *session, const struct delegator *from, int64_t now_us,
	struct err *e);
/* The section "delegation" of a policy, which fits its schema: each session once, a part of what its delegator has.  POLICY_DOCUMENT. */
int delegation_section(struct arena *a, const struct json *section, struct err *e);

enum tier { TIER_RESTRICTED, TIER_STANDARD, TIER_ELEVATED, TIER_SYSTEM, TIER_COUNT };
struct privilege_facts {
	const char
		*tier; /* RESTRICTED, STANDARD, ELEVATED, SYSTEM; anything else, also NULL, is RESTRICTED */
	const char *trust; /* PRISTINE, TRUSTED, NEUTRAL, SUSPECT, HOSTILE; NULL: says nothing */
};
/* What an effect needs, by the policy's section (NULL: by the table alone). */
enum tier privilege_required(const struct json *section, const char *effect_type);
const char *tier_name(enum tier t);

/* ---- capabilities ---- */

struct capability_facts {
	const struct json *manifests; /* {capability id: manifest}: what is registered; or NULL */
	const struct json *plans; /* {plan id: rollback plan}; NULL: there is no store of plans */
	const struct json
		*tokens; /* {token id: {token, uses}}: as they were given; NULL: none are asked for */
	const struct json *issuers; /* list of public keys in hex whose tokens count; or NULL */
	const char *task; /* what the caller works on; or NULL */
	const char *args_sha256; /* of the arguments; or NULL */
	bool is_required; /* what is not registered is asked about */
};
/* The section "capability" of a policy, which fits its schema: manifests and plans are ones, under their own names.  POLICY_DOCUMENT. */
int capability_section(struct arena *a, const struct json *section, struct err *e);
/* A manifest by itself; a plan against the capabilities it names (CAPABILITY_PLAN). */
int capability_manifest_check(struct arena *a, const struct json *manifest, struct err *e);
int capability_plan_check(
	struct arena *a, const struct json *plan, const struct json *manifests, struct err *e);
/* The bytes a token's signature is over. */
int capability_token_preimage(struct arena *a, const struct json *token, struct bytes *ret, struct err *e);

/* ---- MCP ---- */

struct mcp_facts {
	const char *server, *tool; /* the call; NULL: it is none */
	const char *effect; /* NULL: read */
	const struct json *
		servers; /* {server: {state, tools, effects, expires_at}} beside those of the policy; or NULL */
	const struct json
		*catalogue; /* {tool: {server, schema, output_schema, scopes}}: as discovered; or NULL */
	const struct json *scopes; /* granted to the caller: a list; or NULL */
	const char *pin; /* the schema hash that the caller or the policy holds the tool to; or NULL */
};
/* "sha256:" over {name, schema?, output_schema?}; NULL when it has no canonical form. */
const char *mcp_schema_hash(struct arena *a, const char *tool, const struct json *entry);

/* An access token against this server: NULL, or invalid_token, invalid_issuer, invalid_audience, invalid_resource, expired_token,
 * insufficient_scope. */
struct mcp_expected {
	const char *issuer, *audience, *resource; /* audience NULL: not asked for */
	const struct json *scopes; /* list; or NULL */
	int64_t now_us;
};
const char *mcp_token_fault(const struct json *claims, const struct mcp_expected *want);
/* What is served at /.well-known/oauth-protected-resource and below it; NULL for any other path. */
struct json *mcp_resource_document(struct arena *a, const char *path, const struct mcp_expected *want,
	const struct json *scopes_supported);

/* ---- hosts ---- */

struct authority {
	const char *scheme; /* in lower case; NULL when none was said */
	const char *host; /* in lower case, a name in its ASCII form, or an address */
	bool is_address;
	uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port; /* 0: none was said */
};
/* Of a URL, host[:port], or an address.  False when there is any doubt about who would be reached (user-info, odd characters, numbers in odd
 * spellings), and *ret_why says what. */
bool authority_of(struct arena *a, const char *text, struct authority *ret, const char **ret_why);

struct egress_facts {
	const struct json *
		policy; /* {allowed_domains, denied_domains, allowed_cidrs, allowed_protocols, max_payload_bytes, effects}; NULL: the policy's section */
	const char *const *destinations; /* as the door knows them */
	size_t destination_count;
	const char *protocol; /* NULL: what the destination says, else https */
	int64_t payload_bytes; /* as the door measured; negative: not known */
};
/* NULL, or why it may not go there. */
const char *egress_objection(struct arena *a, const struct json *policy, const char *destination,
	const char *protocol, int64_t payload_bytes);

/* ---- labels ---- */

/* Trimmed, in lower case, each once, in order: those of the facts, and those that the caller admits to. */
const struct json *taint_labels(struct arena *a, const struct json *facts_taint, const struct json *context);
bool taint_has(const struct json *labels, const char *label);

/* ---- threats ---- */

enum severity {
	SEVERITY_INFO,
	SEVERITY_LOW,
	SEVERITY_MEDIUM,
	SEVERITY_HIGH,
	SEVERITY_CRITICAL,
	SEVERITY_COUNT
};
const char *severity_name(enum severity s);
/* {findings: [{rule, class, severity}], worst}: what the text looks like.  Decides nothing. */
struct json *threat_scan(struct arena *a, const char *text, size_t n);
/* The text as it was compared: invisible characters gone, look-alikes and wide forms as plain letters, in lower case. */
char *threat_plain(struct arena *a, const char *text, size_t n);
/* Must an output that looks like this be held back? */
bool threat_quarantines(const struct json *scan);

/* ---- external decision point ---- */

struct pdp_facts {
	const struct json *answer; /* NULL: there is none */
	const char *fault; /* why there is none: unreachable, timeout, malformed_response; or NULL */
	int64_t asked_us, answered_us, deadline_us; /* deadline 0: five seconds */
	const char *policy_version; /* that must have answered; NULL: any */
};
/* Does one that is asked beside others allow?  As gate_pdp() says about it alone. */
bool pdp_allows(struct arena *a, const struct pdp_facts *f);

/* ---- agents among each other (docs/formats/a2a.md) ---- */

struct a2a_local {
	const struct json *features; /* list, in the order that is agreed upon */
	const struct json *keys; /* [{kid, agent_id, alg, public_key, active}] */
	const struct json
		*rules; /* [{rule_id, origin_agent, target_agent, denied_features, action}]; or NULL */
	const char *agent_id; /* NULL: whoever is named as target */
	const char *receipt_id; /* of the answer */
	int64_t begun_us, now_us;
};
/* "sha256:" over the five members (v1), or over everything but the signature (v2). */
char *a2a_hash(struct arena *a, const struct json *envelope, int version);
/* {accepted, deny_reason?, detail_code?, deny_details?, agreed_features?, agreed_version?, receipt_id, timestamp} */
struct json *a2a_negotiate(struct arena *a, const struct json *envelope, const struct a2a_local *us);

#endif
