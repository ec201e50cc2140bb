/* bounds.h — everything that bounds and is used up: envelopes, budgets, windows, pace, tokens.
 *
 * All of it is pure.  What was used up so far comes in as a sum over the chain (model/draw.h); what a decision would use up goes out as
 * draws; whoever records the decision commits exactly those under the lock of the chain (record/).  Nothing here counts by itself, so two
 * processes that judge at the same time cannot both have the last cent: the second one's draw is refused when it is committed.
 *
 * A bound that is configured and cannot be looked at denies. */
#ifndef DECIDE_BOUNDS_BOUNDS_H
#define DECIDE_BOUNDS_BOUNDS_H

#include "decide/gate.h"
#include "proof/sign.h"

/* ---- what the gates need to know ---- */

struct budget_facts {
	const struct drawn *drawn; /* NULL: nothing was ever drawn */
	const char
		*error; /* why what was drawn is not known: everything that is bounded is denied; or NULL */
};
struct velocity_facts {
	const struct drawn *drawn;
	const char *error;
};
struct envelope_facts {
	const struct envelope *bound; /* NULL: none is, or binding it failed */
	const struct drawn *drawn;
	const char *run; /* whose counters they are: one session, or one bind */
	int64_t bound_us; /* when it was bound; 0: by the first draw of this run */
	const char *error;
};

/* ---- limits of a policy: docs/formats/policy-limits.md ---- */

struct limits;
/* Codes: POLICY_LIMITS with E_INPUT.  `doc` must live as long as the result. */
int limits_compile(struct arena *a, const struct json *doc, struct limits **ret, struct err *e);
/* The autonomy envelope in it, not yet validated; or NULL. */
const struct json *limits_envelope(const struct limits *l);
/* Does it bound money or risk; does it bound how often?  NULL bounds nothing. */
bool limits_money(const struct limits *l);
bool limits_pace(const struct limits *l);
/* For people: each budget, window, bucket and spend envelope, with everybody who drew on it: {id, kind, period, per, limit, unit, rows: [{who, used, held,
 * left, window}]}. */
struct json *limits_view(struct arena *a, const struct limits *l, const struct drawn *drawn, int64_t now_us);

/* Start of the period that a moment lies in, and its length: UTC days, weeks from Monday, months, quarters.  "total": 0 and 0. */
bool period_at(const char *period, int64_t now_us, int64_t *ret_start_us, int64_t *ret_length_us);

/* ---- the autonomy envelope: docs/formats/autonomy-envelope.md ---- */

struct envelope;
struct envelope_problem {
	char *field;
	const char *
		code; /* REQUIRED, UNSUPPORTED_FORMAT, INVALID_WINDOW, EXPIRED, INVALID_VALUE, CONFLICT, DUPLICATE, HASH_ERROR, HASH_MISMATCH */
};
struct envelope_problems {
	struct envelope_problem *items;
	size_t n;
};
/* Everything that is wrong with it, as the published validator finds it.  True: nothing. */
bool envelope_validate(
	struct arena *a, const struct json *doc, int64_t now_us, struct envelope_problems *ret);
/* "sha256:..."; v1 as published, NULL when a member is of a kind that it has no bytes for; v2 over canonical JSON with a domain. */
char *envelope_hash_v1(struct arena *a, const struct json *doc);
char *envelope_hash_v2(struct arena *a, const struct json *doc);

/* Validate, and further: it is in force by now, its conditions compile, and with a trust root (NULL: none is asked for) it is signed by that key over
 * the text of its v2 hash.  On failure *bound is NULL: a re-bind that fails leaves nothing bound.  Codes: ENVELOPE_INVALID (the text names all
 * problems), ENVELOPE_SIGNATURE, ENVELOPE_EXPIRED with E_INPUT. */
int envelope_bind(struct arena *a, const struct json *doc, const uint8_t trusted[SIGN_PUBLIC], int64_t now_us,
	const struct envelope **bound, struct err *e);

/* What an effect is, to an envelope.  Texts are "" when not known. */
struct envelope_request {
	const char *effect_class, *effect_type, *jurisdiction, *data_class, *blast_radius;
	int64_t estimated_cost, compute_units;
	const struct json *resources; /* list of {name, instance}; or NULL */
	const char *from_region, *to_region;
	bool is_encrypted;
	const struct json *evidence; /* that is there: list of {type, issuer}; or NULL */
	const char *category; /* of judgment; "" */
};
struct envelope_answer {
	enum verdict verdict;
	enum reason_code code;
	enum reason_code first; /* the first step that failed, though a later one may be stricter */
	bool is_refused; /* code and first mean something */
	const char *text, *detail;
	const char *escalation; /* "require_approval" with V_ESCALATE; or NULL */
	struct draw *draws; /* what it uses up, unless V_DENY */
	size_t draw_count;
};
void envelope_check(struct arena *a, const struct envelope *env, const struct envelope_request *q,
	const struct envelope_facts *facts, int64_t now_us, struct envelope_answer *ret);
/* {envelope_id, envelope_version, tool_call_count, cost_accumulated, effect_counts, elapsed_seconds} */
struct json *envelope_counters(
	struct arena *a, const struct envelope *env, const struct envelope_facts *facts, int64_t now_us);

/* The class of an effect type (docs/formats/authority-court.md): "E0" to "E4"; what nobody has classified is E3.  Of a command that was understood, that of the worst
 * thing it does; of one that was not, E4. */
const char *effect_class(const char *type, const struct proposal *proposal);

/* ---- the authority court: docs/formats/authority-court.md ---- */

/* What the court knows beside the request. */
struct court_facts {
	const struct json *manifest; /* of the tool, as reviewed: schema pins, effects, preflight */
	const struct json *ceilings; /* ceilings_snapshot in force */
	const char *policy_epoch; /* in force */
	enum verdict pipeline; /* what the pipeline says about the same effects, and why */
	enum reason_code pipeline_code;
	const struct json *
		estimate; /* {cost_usd, ops, regions, tenants, rate_per_minute, blast_radius, custom, rollback_plan, dual_control, preflight}; trusted */
	int64_t now_us;
	int64_t ttl_us; /* of decision and token */
	const char *decision_id, *token_id;
};
/* The stages in their order; the first that fails is the answer.  *ret is an AuthorizationDecision v1; with ALLOW *ret_token is the commit token, not
 * yet signed, otherwise NULL. */
void court_judge(struct arena *a, const struct json *request, const struct court_facts *facts,
	struct json **ret, struct json **ret_token);
/* The bytes that are signed: the token's hash, with a domain. */
struct bytes court_token_preimage(struct arena *a, const struct json *token);
/* May it be carried out now?  NULL: yes, and *ret_draw consumes the token; otherwise why not. */
const char *court_commit(struct arena *a, const struct json *token, const struct json *draft,
	const struct json *ceilings, const char *epoch, const char *idempotency_key,
	const uint8_t authority[SIGN_PUBLIC], int64_t now_us, const struct drawn *drawn,
	struct draw *ret_draw);

#endif
