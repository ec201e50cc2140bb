/* envelope_test.c — autonomy envelopes: each problem of a document, both hashes, binding, every step of the gate, and what the gate believes.  Published
 * sequences and validations: tests/cli/conform_bounds.t. */
#include "base/hash.h"
#include "decide/bounds/bounds.h"
#include "decide/engine/engine.h"
#include "tools/unit.h"

#include <string.h>

enum { US = 1000000 };
static const int64_t t0 = INT64_C(1780315200) * US; /* 2026-06-01T12:00:00Z */

static struct json *parse(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);
	struct json *v;
	struct err e;

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(a, bytes_of(copy), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

static const char document[] =
	"{'envelope_id':'env','version':'1.0.0','format_version':'1.0.0','valid_from':'2026-01-01T00:00:00Z','valid_until':'2026-12-31T00:00:00Z',"
	"'jurisdiction_scope':{'allowed_jurisdictions':['US','DE'],'regulatory_mode':'strict','prohibited_jurisdictions':['KP']},"
	"'data_handling':{'max_classification':'confidential','redaction_policy':'none'},"
	"'allowed_effects':[{'effect_class':'E0','allowed':true},{'effect_class':'E1','allowed':true,'max_per_run':2},"
	"{'effect_class':'E2','allowed':true,'allowed_types':['DATA_WRITE']},{'effect_class':'E3','allowed':true,'requires_approval_above':1},"
	"{'effect_class':'E4','allowed':false}],"
	"'budgets':{'cost_ceiling_cents':100,'time_ceiling_seconds':600,'tool_call_cap':50,'blast_radius':'dataset',"
	"'rate_limits':[{'resource':'mail','max_per_minute':1,'max_per_day':2},{'resource':'phone','max_per_day':1,'per_instance':true},{'resource':'*','max_per_minute':40}]},"
	"'required_evidence':[],'escalation_policy':{'default_mode':'supervised'},'attestation':{'content_hash':''}}";

/* A member by its path (numbers are places in lists); NULL: taken away. */
static void set_at(struct arena *a, struct json *doc, const char *path, const char *value)
{
	struct bytes rest = bytes_of(path);
	int64_t i;

	for (;;) {
		struct bytes word = text_cut(&rest, '.');
		const char *name = arena_strndup(a, (const char *)word.p, word.n);
		if (json_is(doc, JSON_ARRAY)) {
			assert_true(text_int(name, &i));
			if (!rest.p) {
				if (i >= doc->n)
					json_push(a, doc, parse(a, value));
				else
					doc->items[i] = parse(a, value);
				return;
			}
			doc = json_at(doc, (size_t)i);
		} else if (!rest.p) {
			if (value)
				json_set(a, doc, name, parse(a, value));
			else
				(void)json_remove(doc, name);
			return;
		} else
			doc = json_get(doc, name);
	}
}

/* The document with changes "path=value;path=value", and the right hash. */
static struct json *changed(struct arena *a, const char *changes)
{
	struct json *doc = parse(a, document);
	struct bytes rest = bytes_of(changes);

	while (rest.p && rest.n) {
		struct bytes one = text_cut(&rest, ';'), path = text_cut(&one, '=');
		set_at(a, doc, arena_strndup(a, (const char *)path.p, path.n),
			one.p ? arena_strndup(a, (const char *)one.p, one.n) : NULL);
	}
	char *hash = envelope_hash_v1(a, doc);
	if (json_get(doc, "attestation") &&
		text_eq(json_get_text(json_get(doc, "attestation"), "content_hash", "?"), ""))
		json_sets(a, json_get(doc, "attestation"), "content_hash", hash ? hash : "none");
	return doc;
}

static const char *problems_of(struct arena *a, const struct json *doc)
{
	struct envelope_problems problems;
	struct buf b;

	buf_init(&b, a);
	(void)envelope_validate(a, doc, t0, &problems);
	for (size_t i = 0; i < problems.n; i++)
		buf_addf(&b, "%s%s:%s", i ? " " : "", problems.items[i].field, problems.items[i].code);
	return b.p;
}

/* Changes, and what is wrong then. */
static const char *const problem_rows[][2] = { { "", "" }, { "tenant_id='t'", "" },
	{ "envelope_id=''", "envelope_id:REQUIRED" }, { "version", "version:REQUIRED" },
	{ "format_version=''", "format_version:REQUIRED" },
	{ "format_version='2'", "format_version:UNSUPPORTED_FORMAT" },
	{ "valid_until='2025-12-31T00:00:00Z'", "valid_until:INVALID_WINDOW valid_until:EXPIRED" },
	{ "valid_from;valid_until", "" }, { "valid_until", "" }, { "valid_from", "" },
	{ "valid_until='2026-06-01T11:59:59Z'", "valid_until:EXPIRED" },
	{ "valid_from='2026-07-01T00:00:00Z'", "" },
	{ "jurisdiction_scope.allowed_jurisdictions=[]",
		"jurisdiction_scope.allowed_jurisdictions:REQUIRED" },
	{ "jurisdiction_scope.allowed_jurisdictions=null",
		"jurisdiction_scope.allowed_jurisdictions:REQUIRED" },
	{ "jurisdiction_scope.regulatory_mode='STRICT'", "jurisdiction_scope.regulatory_mode:INVALID_VALUE" },
	{ "jurisdiction_scope.prohibited_jurisdictions=['DE']", "jurisdiction_scope:CONFLICT" },
	{ "data_handling.max_classification='secret'", "data_handling.max_classification:INVALID_VALUE" },
	{ "data_handling.redaction_policy=''", "data_handling.redaction_policy:INVALID_VALUE" },
	{ "allowed_effects=[]", "allowed_effects:REQUIRED" },
	{ "allowed_effects", "allowed_effects:REQUIRED" },
	{ "allowed_effects.0.effect_class='E9'", "allowed_effects[0].effect_class:INVALID_VALUE" },
	{ "allowed_effects.1.effect_class='E0'", "allowed_effects[1].effect_class:DUPLICATE" },
	{ "allowed_effects.0.max_per_run=-1", "allowed_effects[0].max_per_run:INVALID_VALUE" },
	{ "allowed_effects.0.requires_approval_above=-1",
		"allowed_effects[0].requires_approval_above:INVALID_VALUE" },
	{ "budgets.cost_ceiling_cents=0", "budgets.cost_ceiling_cents:INVALID_VALUE" },
	{ "budgets.time_ceiling_seconds=-1", "budgets.time_ceiling_seconds:INVALID_VALUE" },
	{ "budgets.tool_call_cap", "budgets.tool_call_cap:INVALID_VALUE" },
	{ "budgets.compute_units_cap=-1", "budgets.compute_units_cap:INVALID_VALUE" },
	{ "budgets.blast_radius='galaxy'", "budgets.blast_radius:INVALID_VALUE" },
	{ "budgets.blast_radius", "" },
	{ "budgets.rate_limits.0.resource=''", "budgets.rate_limits[0].resource:REQUIRED" },
	{ "budgets.rate_limits.1.resource='mail'", "budgets.rate_limits[1].resource:DUPLICATE" },
	{ "budgets.rate_limits.0.max_per_minute=0", "" }, { "budgets.rate_limits.0.max_per_day=0", "" },
	{ "budgets.rate_limits.1.max_per_day=0", "budgets.rate_limits[1]:INVALID_VALUE" },
	{ "budgets.rate_limits.0.max_per_minute=-1", "budgets.rate_limits[0].max_per_minute:INVALID_VALUE" },
	{ "budgets.rate_limits.0.max_per_day=-5", "budgets.rate_limits[0].max_per_day:INVALID_VALUE" },
	{ "budgets.rate_limits.2.per_instance=true", "budgets.rate_limits[2].per_instance:INVALID_VALUE" },
	{ "required_evidence=[{'action_class':'','evidence_type':'word','when':'never'}]",
		"required_evidence[0].action_class:REQUIRED required_evidence[0].evidence_type:INVALID_VALUE required_evidence[0].when:INVALID_VALUE" },
	{ "escalation_policy.default_mode='none'", "escalation_policy.default_mode:INVALID_VALUE" },
	{ "escalation_policy.escalation_triggers=[{'condition':'','action':'shout'}]",
		"escalation_policy.escalation_triggers[0].condition:REQUIRED escalation_policy.escalation_triggers[0].action:INVALID_VALUE" },
	{ "escalation_policy.escalation_triggers=[{'condition':'true','action':'require_approval'}]",
		"escalation_policy.escalation_triggers[0].quorum:INVALID_VALUE" },
	{ "escalation_policy.judgment_taxonomy=[{'category':'','classification':'x'}]",
		"escalation_policy.judgment_taxonomy[0].category:REQUIRED escalation_policy.judgment_taxonomy[0].classification:INVALID_VALUE" },
	{ "attestation", "attestation.content_hash:REQUIRED" },
	{ "attestation.content_hash='sha256:0'", "attestation.content_hash:HASH_MISMATCH" },
	{ "attestation.signature='00';attestation.algorithm='MD5'", "attestation.algorithm:INVALID_VALUE" },
	{ "attestation.signature='00';attestation.algorithm='ECDSA-P256'", "" },
	{ "attestation.algorithm='MD5'", "" },
	/* kinds and names */
	{ "colour='red'", "colour:INVALID_VALUE" }, { "budgets.colour=1", "budgets.colour:INVALID_VALUE" },
	{ "budgets.tool_call_cap='8'",
		"budgets.tool_call_cap:INVALID_VALUE budgets.tool_call_cap:INVALID_VALUE" },
	{ "budgets.tool_call_cap=1.5",
		"budgets.tool_call_cap:INVALID_VALUE budgets.tool_call_cap:INVALID_VALUE" },
	{ "valid_from='soon'", "valid_from:INVALID_VALUE" }, { "valid_from=7", "valid_from:INVALID_VALUE" },
	{ "tenant_id=7", "tenant_id:INVALID_VALUE" },
	{ "allowed_effects.0.allowed='yes'", "allowed_effects[0].allowed:INVALID_VALUE" },
	{ "allowed_effects.2.allowed_types=[7]", "allowed_effects[2].allowed_types[0]:INVALID_VALUE" },
	{ "allowed_effects.0=7",
		"allowed_effects[0]:INVALID_VALUE allowed_effects[0].effect_class:INVALID_VALUE" },
	{ "required_evidence={}", "required_evidence:INVALID_VALUE" },
	{ "jurisdiction_scope.data_residency_regions='EU'",
		"jurisdiction_scope.data_residency_regions:INVALID_VALUE" },
	{ "required_evidence", "" } };

static void each_problem_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(problem_rows); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		/* A document that cannot be written has no hash to compare with, too. */
		struct json *doc = changed(&a, problem_rows[i][0]);
		const char *got = problems_of(&a, doc),
			   *want = arena_printf(&a, "%s%s", problem_rows[i][1],
				   envelope_hash_v1(&a, doc) ? "" : " attestation.content_hash:HASH_ERROR");
		if (strcmp(got, want) != 0)
			fail_msg("%s\n  expected %s\n  got      %s", problem_rows[i][0], want, got);
	}
	AUTO(arena_done) struct arena a = { 0 };
	assert_true(strlen(problems_of(&a, parse(&a, "[]"))) > 0);
	assert_true(strlen(problems_of(&a, parse(&a, "{'escalation_policy':[]}"))) > 0);
	assert_null(envelope_hash_v1(&a, parse(&a, "{'colour':1}")));
}

static void hashes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = changed(&a, "envelope_id='<a&b>'"), *other = json_copy(&a, doc);

	(void)state;
	/* The order of members does not matter, and neither does what is left out because it says nothing. */
	json_sort_members(other);
	json_set(&a, json_at(json_get(other, "allowed_effects"), 0), "max_per_run", json_number(&a, 0));
	json_set(&a, other, "tenant_id", json_string(&a, ""));
	assert_string_equal(envelope_hash_v1(&a, doc), envelope_hash_v1(&a, other));
	json_set(&a, json_at(json_get(other, "allowed_effects"), 0), "max_per_run", json_number(&a, 1));
	assert_string_not_equal(envelope_hash_v1(&a, doc), envelope_hash_v1(&a, other));
	/* v2: everything but the attestation. */
	char *v2 = envelope_hash_v2(&a, doc);
	json_sets(&a, json_get(doc, "attestation"), "signer_id", "somebody");
	assert_string_equal(envelope_hash_v2(&a, doc), v2);
	json_sets(&a, doc, "version", "1.0.1");
	assert_string_not_equal(envelope_hash_v2(&a, doc), v2);
	struct json *empty = json_new(&a, JSON_OBJECT);
	const char text[] = "HELM/AutonomyEnvelope/v2\n{}";
	assert_string_equal(envelope_hash_v2(&a, empty), sha256_prefixed(&a, text, sizeof(text) - 1));
}

/* ---- binding ---- */

static int bind(struct arena *a, const struct json *doc, const uint8_t *trusted,
	const struct envelope **bound, const char **ret_code)
{
	struct err e = { 0 };
	int rc = envelope_bind(a, doc, trusted, t0, bound, &e);

	*ret_code = arena_strdup(a, e.code);
	return rc;
}

static void a_bind_that_fails_unbinds(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const uint8_t seed[SIGN_SEED] = { 9 };
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	const struct envelope *bound = NULL;
	const char *code;

	(void)state;
	assert_int_equal(bind(&a, changed(&a, ""), NULL, &bound, &code), OK);
	assert_non_null(bound);
	assert_int_equal(bind(&a, changed(&a, "version='';envelope_id=''"), NULL, &bound, &code), E_INPUT);
	assert_null(bound);
	assert_string_equal(code, "ENVELOPE_INVALID");
	assert_int_equal(
		bind(&a, changed(&a, "valid_from='2026-06-02T00:00:00Z'"), NULL, &bound, &code), E_INPUT);
	assert_string_equal(code, "ENVELOPE_EXPIRED");
	assert_int_equal(
		bind(&a,
			changed(&a,
				"escalation_policy.escalation_triggers=[{'condition':'1 +','action':'abort'}]"),
			NULL, &bound, &code),
		E_INPUT);
	assert_string_equal(code, "EXPRESSION_SYNTAX");
	assert_null(bound);
	/* With a trust root: only what that key signed. */
	sign_expand(seed, secret, pub);
	struct json *doc = changed(&a, "");
	assert_int_equal(bind(&a, doc, pub, &bound, &code), E_INPUT);
	assert_string_equal(code, "ENVELOPE_SIGNATURE");
	sign_message(secret, bytes_of(envelope_hash_v2(&a, doc)), signature);
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(&a, json_get(doc, "attestation"), "signature", hex);
	json_sets(&a, json_get(doc, "attestation"), "algorithm", "ED25519");
	assert_int_equal(bind(&a, doc, pub, &bound, &code), OK);
	pub[3] ^= 4;
	assert_int_equal(bind(&a, doc, pub, &bound, &code), E_INPUT);
	pub[3] ^= 4;
	json_sets(&a, json_get(doc, "attestation"), "algorithm", "ECDSA-P256");
	assert_int_equal(bind(&a, doc, pub, &bound, &code), E_INPUT);
	json_sets(&a, json_get(doc, "attestation"), "algorithm", "ED25519");
	json_sets(&a, json_get(doc, "attestation"), "signature", "00");
	assert_int_equal(bind(&a, doc, pub, &bound, &code), E_INPUT);
	assert_null(bound);
}

/* ---- the gate ---- */

struct run {
	struct arena a;
	struct drawn drawn;
	struct envelope_facts facts;
	int64_t now_us;
};

static void begin(struct run *r, const char *changes)
{
	struct err e = { 0 };

	*r = (struct run){ .now_us = t0 };
	r->facts = (struct envelope_facts){ .run = "r" };
	if (envelope_bind(&r->a, changed(&r->a, changes), NULL, t0, &r->facts.bound, &e))
		fail_msg("%s", e.text);
}

static void done(struct run *r)
{
	drawn_done(&r->drawn);
	arena_done(&r->a);
}

static void commit(struct run *r, const struct draw *draws, size_t n)
{
	struct json *receipt = json_new(&r->a, JSON_OBJECT), *metadata = json_new(&r->a, JSON_OBJECT);

	for (size_t i = 0; i < n; i++)
		if (drawn_check(&r->drawn, &draws[i], r->now_us) != DRAW_FITS)
			fail_msg("judged to fit, and does not: %s", draws[i].key);
	json_set(&r->a, metadata, "draws", draws_json(&r->a, draws, n));
	json_set(&r->a, receipt, "metadata", metadata);
	json_sets(&r->a, receipt, "timestamp", text_time_z(&r->a, r->now_us));
	assert_true(drawn_receipt(&r->drawn, receipt));
}

/* {class, type, ...} as a request; "ALLOW" or the code.  What is allowed is done. */
static const char *ask(struct run *r, const char *text)
{
	const struct json *q = parse(&r->a, text);
	struct envelope_request request = { .effect_class = json_get_text(q, "class", "E0"),
		.effect_type = json_get_text(q, "type", ""),
		.jurisdiction = json_get_text(q, "jurisdiction", ""),
		.data_class = json_get_text(q, "data", ""),
		.blast_radius = json_get_text(q, "blast", ""),
		.estimated_cost = json_get_int(q, "cost", 0),
		.compute_units = json_get_int(q, "units", 0),
		.resources = json_get(q, "resources"),
		.from_region = json_get_text(q, "from", ""),
		.to_region = json_get_text(q, "to", ""),
		.is_encrypted = json_get_bool(q, "encrypted", false),
		.evidence = json_get(q, "evidence"),
		.category = json_get_text(q, "category", "") };
	struct envelope_answer x;

	r->facts.drawn = &r->drawn;
	envelope_check(&r->a, r->facts.bound, &request, &r->facts, r->now_us, &x);
	if (!x.is_refused) {
		commit(r, x.draws, x.draw_count);
		return "ALLOW";
	}
	assert_true(x.verdict != V_DENY || x.draw_count == 0);
	return arena_printf(&r->a, "%s%s%s%s%s", x.verdict == V_DENY ? "" : "? ", reason_get(x.code)->code,
		x.first != x.code ? " after " : "", x.first != x.code ? reason_get(x.first)->code : "",
		x.detail ? "!" : "");
}

#define ASK(r, text, want) assert_string_equal(ask(r, text), want)

static void the_gate_step_by_step(void **state)
{
	struct run r;

	(void)state;
	begin(&r, "");
	ASK(&r, "{'jurisdiction':'KP'}", "JURISDICTION_DENIED");
	ASK(&r, "{'jurisdiction':'FR'}", "JURISDICTION_DENIED");
	ASK(&r, "{'jurisdiction':'DE'}", "ALLOW");
	ASK(&r, "{'class':'E4'}", "EFFECT_CLASS_DENIED");
	ASK(&r, "{'class':'E9'}", "EFFECT_CLASS_DENIED");
	ASK(&r, "{'class':'E2','type':'NOTIFY'}", "EFFECT_CLASS_DENIED");
	ASK(&r, "{'class':'E2','type':'DATA_WRITE'}", "ALLOW");
	ASK(&r, "{'class':'E2'}", "ALLOW");
	ASK(&r, "{'class':'E1'}", "ALLOW");
	ASK(&r, "{'class':'E1'}", "ALLOW");
	ASK(&r, "{'class':'E1'}", "EFFECT_COUNT_EXCEEDED");
	ASK(&r, "{'class':'E3'}", "ALLOW");
	ASK(&r, "{'class':'E3'}", "? ESCALATION_REQUIRED");
	/* A question does not hide what denies. */
	ASK(&r, "{'class':'E3','data':'restricted'}",
		"DATA_CLASSIFICATION_EXCEEDED after ESCALATION_REQUIRED");
	ASK(&r, "{'class':'E3','cost':101}", "COST_CEILING_EXCEEDED after ESCALATION_REQUIRED");
	ASK(&r, "{'data':'restricted'}", "DATA_CLASSIFICATION_EXCEEDED");
	ASK(&r, "{'data':'odd'}", "DATA_CLASSIFICATION_EXCEEDED");
	ASK(&r, "{'data':'confidential'}", "ALLOW");
	ASK(&r, "{'cost':100}", "ALLOW");
	ASK(&r, "{'cost':1}", "COST_CEILING_EXCEEDED");
	ASK(&r, "{'cost':-1}", "COST_CEILING_EXCEEDED");
	ASK(&r, "{'cost':9223372036854775807}", "COST_CEILING_EXCEEDED");
	ASK(&r, "{'cost':0}", "ALLOW");
	ASK(&r, "{'blast':'system_wide'}", "BLAST_RADIUS_EXCEEDED");
	ASK(&r, "{'blast':'tenant'}", "BLAST_RADIUS_EXCEEDED");
	ASK(&r, "{'blast':'single_record'}", "ALLOW");
	r.now_us = t0 + 600 * (int64_t)US; /* since the first draw */
	ASK(&r, "{}", "ALLOW");
	r.now_us += US;
	ASK(&r, "{}", "TIME_CEILING_EXCEEDED");
	/* Another run has counters of its own. */
	r.facts.run = "s";
	ASK(&r, "{'class':'E1','cost':100}", "ALLOW");
	r.facts.bound_us = t0;
	ASK(&r, "{}", "TIME_CEILING_EXCEEDED");
	r.facts.bound_us = 0;
	r.now_us = t0 - 365 * 86400 * (int64_t)US;
	ASK(&r, "{}", "ENVELOPE_EXPIRED");
	r.now_us = t0 + 365 * 86400 * (int64_t)US;
	ASK(&r, "{}", "ENVELOPE_EXPIRED");
	r.facts.bound = NULL;
	ASK(&r, "{}", "NO_ENVELOPE");
	done(&r);
	begin(&r, "budgets.tool_call_cap=1;valid_until");
	r.now_us = t0 + 3650 * 86400 * (int64_t)US; /* without an end */
	ASK(&r, "{}", "ALLOW");
	ASK(&r, "{}", "TOOL_CALL_CAP_EXCEEDED");
	assert_int_equal(json_get_int(envelope_counters(&r.a, r.facts.bound, &r.facts, r.now_us),
				 "tool_call_count", 0),
		1);
	done(&r);
	begin(&r, "budgets.compute_units_cap=10;budgets.blast_radius");
	ASK(&r, "{'units':10,'blast':'galaxy'}", "ALLOW");
	ASK(&r, "{'units':1}", "COST_CEILING_EXCEEDED!");
	done(&r);
}

static void where_data_may_go(void **state)
{
	static const char constraints[] =
		"data_handling.transfer_constraints=[{'from_region':'EU','to_region':'US','allowed':true,'requires_encryption':true},{'from_region':'EU','to_region':'CN','allowed':false},{'from_region':'EU','to_region':'JP','allowed':true},{'from_region':'EU','to_region':'BR'}]";
	AUTO(arena_done) struct arena own = { 0 };
	struct run r;

	(void)state;
	begin(&r, "jurisdiction_scope.data_residency_regions=['EU','US','CN']");
	ASK(&r, "{'to':'JP'}", "JURISDICTION_DENIED!");
	ASK(&r, "{'to':'EU'}", "ALLOW");
	ASK(&r, "{'from':'EU','to':'US'}", "ALLOW"); /* nothing is said about transfers */
	done(&r);
	begin(&r, constraints);
	ASK(&r, "{'from':'EU','to':'CN'}", "JURISDICTION_DENIED!");
	ASK(&r, "{'from':'EU','to':'US'}", "JURISDICTION_DENIED!");
	ASK(&r, "{'from':'EU','to':'US','encrypted':true}", "ALLOW");
	ASK(&r, "{'from':'EU','to':'JP'}", "ALLOW");
	ASK(&r, "{'from':'EU','to':'BR'}",
		"JURISDICTION_DENIED!"); /* named, and nothing says that it is allowed */
	ASK(&r, "{'from':'US','to':'CN'}",
		"JURISDICTION_DENIED!"); /* nobody named it, and the regime is strict */
	ASK(&r, "{'from':'EU','to':'EU'}", "ALLOW");
	ASK(&r, "{'from':'EU'}", "ALLOW");
	ASK(&r, "{'to':'EU'}", "ALLOW");
	done(&r);
	begin(&r, arena_printf(&own, "%s;jurisdiction_scope.regulatory_mode='permissive'", constraints));
	ASK(&r, "{'from':'US','to':'CN'}", "ALLOW");
	ASK(&r, "{'from':'EU','to':'CN'}", "JURISDICTION_DENIED!");
	done(&r);
}

static void who_else_has_a_say(void **state)
{
	struct run r;

	(void)state;
	begin(&r,
		"required_evidence=[{'action_class':'E2','evidence_type':'hash_proof','when':'before','issuer_constraint':'ci'},"
		"{'action_class':'*','evidence_type':'receipt','when':'both'},{'action_class':'E0','evidence_type':'replay_proof','when':'after'},"
		"{'action_class':'SPECIAL','evidence_type':'replay_proof','when':'both'},{'action_class':'*','evidence_type':'receipt','when':'before'}]");
	ASK(&r, "{}", "ALLOW");
	ASK(&r, "{'class':'E2'}", "MISSING_REQUIREMENT!");
	ASK(&r, "{'class':'E2','evidence':[{'type':'hash_proof','issuer':'me'},{'type':'receipt','issuer':'ci'}]}",
		"MISSING_REQUIREMENT!");
	ASK(&r, "{'class':'E2','evidence':[{'type':'hash_proof','issuer':'ci'}]}", "ALLOW");
	ASK(&r, "{'type':'SPECIAL'}", "MISSING_REQUIREMENT!");
	ASK(&r, "{'type':'SPECIAL','evidence':[{'type':'replay_proof'}]}", "ALLOW");
	done(&r);
	begin(&r,
		"required_evidence=[{'action_class':'*','evidence_type':'dual_attestation','when':'before'}]");
	ASK(&r, "{}", "MISSING_REQUIREMENT!");
	done(&r);
	begin(&r,
		"escalation_policy.judgment_taxonomy=[{'category':'legal','classification':'judgment_required'},{'category':'spelling','classification':'autonomous'}]");
	ASK(&r, "{'category':'legal'}", "? ESCALATION_REQUIRED!");
	ASK(&r, "{'category':'spelling'}", "ALLOW");
	ASK(&r, "{'class':'E3'}", "ALLOW");
	ASK(&r, "{'class':'E3','category':'legal'}",
		"? ESCALATION_REQUIRED"); /* asked already: the first reason is told */
	ASK(&r, "{}", "ALLOW");
	done(&r);
	begin(&r, "escalation_policy.default_mode='manual'");
	ASK(&r, "{}", "? ESCALATION_REQUIRED!");
	ASK(&r, "{'class':'E3'}", "? ESCALATION_REQUIRED!");
	done(&r);
}

static void rate_windows(void **state)
{
	struct run r;

	(void)state;
	begin(&r, "");
	ASK(&r, "{'type':'mail'}", "ALLOW"); /* without resources the type is one */
	ASK(&r, "{'resources':[{'name':'mail'}]}", "RATE_LIMIT_MINUTE_EXCEEDED");
	ASK(&r, "{'resources':[{'name':'post'}]}", "ALLOW");
	ASK(&r, "{'resources':[]}", "ALLOW");
	r.now_us = t0 + 60 * (int64_t)US;
	ASK(&r, "{'resources':[{'name':'mail'},{'name':'mail'}]}", "ALLOW"); /* named twice, taken once */
	r.now_us = t0 + 120 * (int64_t)US;
	ASK(&r, "{'resources':[{'name':'mail'}]}", "RATE_LIMIT_DAY_EXCEEDED");
	ASK(&r, "{'resources':[{'name':'phone'}]}", "RATE_LIMIT_INSTANCE_REQUIRED");
	/* Nothing is counted when one instance is missing, or one window is full. */
	ASK(&r, "{'resources':[{'name':'phone','instance':'+1'},{'name':'phone'}]}",
		"RATE_LIMIT_INSTANCE_REQUIRED");
	ASK(&r, "{'resources':[{'name':'phone','instance':'+1'},{'name':'mail'}]}",
		"RATE_LIMIT_DAY_EXCEEDED");
	ASK(&r, "{'resources':[{'name':'phone','instance':'+1'},{'name':'phone','instance':'+2'}]}", "ALLOW");
	ASK(&r, "{'resources':[{'name':'phone','instance':'+2'}]}", "RATE_LIMIT_DAY_EXCEEDED");
	ASK(&r, "{'resources':[{'name':'phone','instance':'+2|5:x'}]}", "ALLOW");
	/* A new run does not open the windows again, the next day does. */
	r.facts.run = "again";
	ASK(&r, "{'resources':[{'name':'phone','instance':'+1'}]}", "RATE_LIMIT_DAY_EXCEEDED");
	r.now_us = t0 + 86400 * (int64_t)US;
	r.facts.run = "next";
	ASK(&r, "{'resources':[{'name':'phone','instance':'+1'}]}", "ALLOW");
	/* Everything together. */
	for (int i = 1; i < 40; i++)
		ASK(&r, "{}", "ALLOW");
	ASK(&r, "{}", "RATE_LIMIT_MINUTE_EXCEEDED");
	ASK(&r, "{'class':'E3','resources':[{'name':'phone'}]}", "RATE_LIMIT_INSTANCE_REQUIRED");
	done(&r);
}

/* ---- through the engine ---- */

static const char *judged(
	struct run *r, const char *effect_type, const char *params, const char *known, const char *tenant)
{
	struct submission q = { .effect_type = effect_type,
		.effect_id = "e",
		.principal = "p",
		.params = params ? parse(&r->a, params) : NULL };
	struct facts f = { .now_us = r->now_us,
		.principal = "p",
		.tenant = tenant,
		.known = known ? parse(&r->a, known) : NULL,
		.envelope = &r->facts };
	struct judgement j;

	r->facts.drawn = &r->drawn;
	engine_judge(&r->a, NULL, &q, &f, &j);
	if (j.verdict == V_ALLOW)
		return "ALLOW";
	return arena_printf(&r->a, "%s %s%s%s", verdict_name(j.verdict), reason_get(j.code)->code,
		j.detail_code ? " " : "", j.detail_code ? j.detail_code : "");
}

static void what_the_gate_believes(void **state)
{
	struct run r;

	(void)state;
	begin(&r, "");
	assert_string_equal(judged(&r, "file_read", NULL, NULL, NULL), "ALLOW");
	assert_string_equal(judged(&r, "financial_transfer", NULL, NULL, NULL), "DENY EFFECT_CLASS_DENIED");
	assert_string_equal(
		judged(&r, "unheard_of", NULL, NULL, NULL), "ALLOW"); /* E3: one without a question */
	assert_string_equal(judged(&r, "file_read", "{'jurisdiction':'KP'}", NULL, NULL),
		"ALLOW"); /* only the door knows where */
	assert_string_equal(judged(&r, "file_read", "{'jurisdiction':'DE'}", "{'jurisdiction':'KP'}", NULL),
		"DENY JURISDICTION_DENIED");
	assert_string_equal(judged(&r, "file_read", "{'data_class':'restricted'}", NULL, NULL),
		"DENY DATA_CLASSIFICATION_EXCEEDED");
	assert_string_equal(
		judged(&r, "file_read", "{'data_class':'public'}", "{'data_class':'restricted'}", NULL),
		"DENY DATA_CLASSIFICATION_EXCEEDED");
	assert_string_equal(judged(&r, "file_read", "{'estimated_cost_cents':101}", NULL, NULL),
		"DENY COST_CEILING_EXCEEDED");
	assert_string_equal(judged(&r, "file_read", "{'estimated_cost_cents':-1}", NULL, NULL),
		"DENY COST_CEILING_EXCEEDED");
	assert_string_equal(
		judged(&r, "file_read", "{'compute_units':'x'}", NULL, NULL), "DENY COST_CEILING_EXCEEDED");
	r.facts.error = "cannot be read";
	assert_string_equal(judged(&r, "file_read", NULL, NULL, NULL), "DENY RATE_LIMIT_STORE_ERROR");
	r.facts.error = NULL;
	r.facts.bound = NULL;
	assert_string_equal(judged(&r, "file_read", NULL, NULL, NULL), "DENY NO_ENVELOPE");
	done(&r);
	begin(&r, "tenant_id='acme'");
	assert_string_equal(judged(&r, "file_read", NULL, NULL, NULL), "DENY TENANT_ISOLATION");
	assert_string_equal(judged(&r, "file_read", NULL, NULL, "other"), "DENY TENANT_ISOLATION");
	assert_string_equal(judged(&r, "file_read", NULL, NULL, "acme"), "ALLOW");
	done(&r);
	begin(&r,
		"escalation_policy.escalation_triggers=[{'condition':'input.params.size > 10','action':'abort'},"
		"{'condition':'input.params.size > 5','action':'require_approval','quorum':1},{'condition':'true','action':'pause_and_notify'}]");
	assert_string_equal(
		judged(&r, "file_read", "{'size':11}", NULL, NULL), "DENY POLICY_VIOLATION abort");
	assert_string_equal(judged(&r, "file_read", "{'size':6}", NULL, NULL),
		"ESCALATE ESCALATION_REQUIRED require_approval");
	assert_string_equal(judged(&r, "file_read", "{'size':1}", NULL, NULL),
		"ESCALATE ESCALATION_REQUIRED pause_and_notify");
	assert_string_equal(judged(&r, "file_read", "{}", NULL, NULL),
		"DENY PRG_EVALUATION_ERROR abort"); /* nobody knows whether it holds */
	done(&r);
	/* What asks for a person hides nothing that denies behind it; the first that asks is named. */
	begin(&r,
		"escalation_policy.escalation_triggers=[{'condition':'true','action':'pause_and_notify'},"
		"{'condition':'true','action':'require_approval','quorum':1},{'condition':'input.params.size > 10','action':'abort'}]");
	assert_string_equal(
		judged(&r, "file_read", "{'size':11}", NULL, NULL), "DENY POLICY_VIOLATION abort");
	assert_string_equal(judged(&r, "file_read", "{'size':1}", NULL, NULL),
		"ESCALATE ESCALATION_REQUIRED pause_and_notify");
	assert_string_equal(judged(&r, "file_read", "{}", NULL, NULL), "DENY PRG_EVALUATION_ERROR abort");
	done(&r);
}

/* A policy with an envelope and a door that brings no facts: nothing is bound. */
static void a_policy_with_an_envelope_needs_one_bound(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct submission q = { .effect_type = "file_read", .effect_id = "e", .principal = "p" };
	struct facts f = { .now_us = t0, .principal = "p" };
	struct ruleset *rules;
	struct judgement j;
	struct err e;

	(void)state;
	struct json *doc = parse(&a, "{'format':'helm.policy.v1','name':'t','coverage':'open','limits':{}}");
	assert_int_equal(ruleset_compile(&a, doc, &rules, &e), OK);
	assert_non_null(ruleset_limits(rules));
	engine_judge(&a, rules, &q, &f, &j);
	assert_int_equal(j.verdict, V_ALLOW);
	json_set(&a, json_get(doc, "limits"), "envelope", changed(&a, ""));
	assert_int_equal(ruleset_compile(&a, doc, &rules, &e), OK);
	engine_judge(&a, rules, &q, &f, &j);
	assert_int_equal(j.verdict, V_DENY);
	assert_int_equal(j.code, REASON_NO_ENVELOPE);
	json_set(&a, json_get(doc, "limits"), "colour", json_number(&a, 1));
	assert_int_equal(ruleset_compile(&a, doc, &rules, &e), E_INPUT);
}

static void classes_of_effects(void **state)
{
	struct effect effects[2] = { 0 };
	struct proposal p = { .effects = effects, .effect_count = 2, .readable = true };

	(void)state;
	assert_string_equal(effect_class("DATA_READ", NULL), "E0");
	assert_string_equal(effect_class("api_call", NULL), "E1");
	assert_string_equal(effect_class("nobody knows", NULL), "E3");
	static const char *const worst[] = { [FX_READ] = "E0",
		[FX_WRITE] = "E2",
		[FX_MOVE] = "E2",
		[FX_PACKAGE] = "E2",
		[FX_ENVIRONMENT] = "E2",
		[FX_SECRET_READ] = "E2",
		[FX_CREDENTIAL] = "E2",
		[FX_DEVICE] = "E4",
		[FX_POWER] = "E4",
		[FX_PUBLISH] = "E4",
		[FX_DATABASE] = "E4",
		[FX_CLOUD] = "E4",
		[FX_FIREWALL] = "E4",
		[FX_ACCOUNT] = "E4",
		[FX_KERNEL] = "E4",
		[FX_TAMPER] = "E4",
		[FX_FORK_BOMB] = "E4",
		[FX_REVERSE_SHELL] = "E4" };
	effects[1].kind = FX_READ;
	for (unsigned k = 0; k < FX_KIND_COUNT; k++) {
		effects[0].kind = (enum effect_kind)k;
		const char *want = k < ARRAY_SIZE(worst) && worst[k] ? worst[k] : "E3";
		assert_string_equal(effect_class("EXECUTE_COMMAND", &p), want);
	}
	effects[0].kind = FX_READ;
	p.readable = false;
	assert_string_equal(effect_class("EXECUTE_COMMAND", &p), "E4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_problem_is_named),
		cmocka_unit_test(hashes),
		cmocka_unit_test(a_bind_that_fails_unbinds),
		cmocka_unit_test(the_gate_step_by_step),
		cmocka_unit_test(where_data_may_go),
		cmocka_unit_test(who_else_has_a_say),
		cmocka_unit_test(rate_windows),
		cmocka_unit_test(what_the_gate_believes),
		cmocka_unit_test(a_policy_with_an_envelope_needs_one_bound),
		cmocka_unit_test(classes_of_effects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
