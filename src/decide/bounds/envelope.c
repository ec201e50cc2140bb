/* envelope.c — the autonomy envelope as a document: what is wrong with it, its hashes, and binding it.
 *
 * One table says which members there are, in the order in which the published hash writes them.  A document is first written again by that
 * table: what is of the wrong kind or unknown is a problem with its path, what is absent gets the value that the hash gives it.
 * Everything else looks only at the result, where every member is of its kind. */
#include "decide/bounds/parts.h"

#include "base/hash.h"
#include "decide/expression/expression.h"
#include "model/stamp.h"

#include <string.h>

enum kind { TEXT, INT, BOOL, TIME, TEXTS, OBJECT, OBJECTS };
/* What the hash writes for what is not there or empty. */
enum when_empty { KEEP, LEAVE_OUT };
struct field {
	const char *name;
	enum kind kind;
	enum when_empty empty;
	const struct field *sub;
};

static const struct field jurisdiction[] = { { "allowed_jurisdictions", TEXTS, KEEP, NULL },
	{ "regulatory_mode", TEXT, KEEP, NULL }, { "data_residency_regions", TEXTS, LEAVE_OUT, NULL },
	{ "prohibited_jurisdictions", TEXTS, LEAVE_OUT, NULL }, { 0 } };
static const struct field transfer[] = { { "from_region", TEXT, KEEP, NULL },
	{ "to_region", TEXT, KEEP, NULL }, { "allowed", BOOL, KEEP, NULL },
	{ "requires_encryption", BOOL, LEAVE_OUT, NULL }, { 0 } };
static const struct field handling[] = { { "max_classification", TEXT, KEEP, NULL },
	{ "redaction_policy", TEXT, KEEP, NULL }, { "transfer_constraints", OBJECTS, LEAVE_OUT, transfer },
	{ 0 } };
static const struct field effect[] = { { "effect_class", TEXT, KEEP, NULL }, { "allowed", BOOL, KEEP, NULL },
	{ "allowed_types", TEXTS, LEAVE_OUT, NULL }, { "max_per_run", INT, LEAVE_OUT, NULL },
	{ "requires_approval_above", INT, LEAVE_OUT, NULL }, { 0 } };
static const struct field rate[] = { { "resource", TEXT, KEEP, NULL }, { "max_per_minute", INT, KEEP, NULL },
	{ "max_per_day", INT, LEAVE_OUT, NULL }, { "per_instance", BOOL, LEAVE_OUT, NULL }, { 0 } };
static const struct field budgets[] = { { "cost_ceiling_cents", INT, KEEP, NULL },
	{ "time_ceiling_seconds", INT, KEEP, NULL }, { "tool_call_cap", INT, KEEP, NULL },
	{ "rate_limits", OBJECTS, LEAVE_OUT, rate }, { "blast_radius", TEXT, LEAVE_OUT, NULL },
	{ "compute_units_cap", INT, LEAVE_OUT, NULL }, { 0 } };
static const struct field evidence[] = { { "action_class", TEXT, KEEP, NULL },
	{ "evidence_type", TEXT, KEEP, NULL }, { "when", TEXT, KEEP, NULL },
	{ "issuer_constraint", TEXT, LEAVE_OUT, NULL }, { 0 } };
static const struct field trigger[] = { { "condition", TEXT, KEEP, NULL }, { "action", TEXT, KEEP, NULL },
	{ "approvers", TEXTS, LEAVE_OUT, NULL }, { "quorum", INT, LEAVE_OUT, NULL },
	{ "timeout_seconds", INT, LEAVE_OUT, NULL }, { 0 } };
static const struct field judgment[] = { { "category", TEXT, KEEP, NULL },
	{ "classification", TEXT, KEEP, NULL }, { 0 } };
static const struct field escalation[] = { { "default_mode", TEXT, KEEP, NULL },
	{ "escalation_triggers", OBJECTS, LEAVE_OUT, trigger },
	{ "judgment_taxonomy", OBJECTS, LEAVE_OUT, judgment }, { 0 } };
static const struct field attestation[] = { { "content_hash", TEXT, KEEP, NULL },
	{ "signature", TEXT, LEAVE_OUT, NULL }, { "signer_id", TEXT, LEAVE_OUT, NULL },
	{ "signed_at", TIME, KEEP, NULL }, { "algorithm", TEXT, LEAVE_OUT, NULL }, { 0 } };
static const struct field envelope[] = { { "envelope_id", TEXT, KEEP, NULL }, { "version", TEXT, KEEP, NULL },
	{ "format_version", TEXT, KEEP, NULL }, { "valid_from", TIME, KEEP, NULL },
	{ "valid_until", TIME, KEEP, NULL }, { "tenant_id", TEXT, LEAVE_OUT, NULL },
	{ "jurisdiction_scope", OBJECT, KEEP, jurisdiction }, { "data_handling", OBJECT, KEEP, handling },
	{ "allowed_effects", OBJECTS, KEEP, effect }, { "budgets", OBJECT, KEEP, budgets },
	{ "required_evidence", OBJECTS, KEEP, evidence }, { "escalation_policy", OBJECT, KEEP, escalation },
	{ "attestation", OBJECT, KEEP, attestation }, { 0 } };

struct reading {
	struct arena *a;
	struct envelope_problems *problems;
};

static void add(struct reading *r, char *field, const char *code)
{
	struct envelope_problems *p = r->problems;

	p->items = arena_grow(r->a, p->items, p->n * sizeof(*p->items), (p->n + 1) * sizeof(*p->items));
	p->items[p->n++] = (struct envelope_problem){ field, code };
}

static char *below(struct arena *a, const char *path, const char *name)
{
	return *path ? arena_printf(a, "%s.%s", path, name) : arena_strdup(a, name);
}

static struct json *project(
	struct reading *r, const struct json *doc, const struct field *fields, const char *path);

static struct json *nothing(struct arena *a, enum kind k)
{
	if (k == INT)
		return json_number(a, 0);
	if (k == BOOL)
		return json_bool(a, false);
	if (k == TEXTS || k == OBJECTS)
		return json_new(a, JSON_NULL);
	return json_string(a, k == TIME ? STAMP_UNSET : "");
}

static bool is_empty(const struct json *v)
{
	return v->type == JSON_NULL || v->type == JSON_FALSE ||
		((v->type == JSON_STRING || v->type == JSON_ARRAY) && !v->n) ||
		(v->type == JSON_NUMBER && text_eq(v->text, "0"));
}

static struct json *project_list(
	struct reading *r, const struct json *v, const struct field *f, const char *path)
{
	struct json *list = json_new(r->a, JSON_ARRAY);
	size_t i = 0;

	json_each (item, v) {
		char *at = arena_printf(r->a, "%s[%zu]", path, i++);
		if (f->kind == OBJECTS)
			json_push(r->a, list, project(r, item, f->sub, at));
		else if (json_text(item))
			json_push(r->a, list, item);
		else
			add(r, at, "INVALID_VALUE");
	}
	return list;
}

/* NULL: it is of another kind. */
static struct json *project_value(struct reading *r, struct json *v, const struct field *f, const char *path)
{
	int64_t number;

	switch (f->kind) {
	case TEXT:
		return json_text(v) ? v : NULL;
	case INT:
		return json_int(v, &number) ? json_number(r->a, number) : NULL;
	case BOOL:
		return json_is_bool(v) ? v : NULL;
	case TIME: {
		char *time = json_text(v) ? stamp_canonical(r->a, v->text, v->n, false) : NULL;
		return time ? json_string(r->a, time) : NULL;
	}
	case OBJECT:
		return json_is(v, JSON_OBJECT) ? project(r, v, f->sub, path) : NULL;
	default:
		return json_is(v, JSON_ARRAY) ? project_list(r, v, f, path) : NULL;
	}
}

static bool is_known(const struct field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (text_eq(fields->name, name))
			return true;
	return false;
}

static struct json *project(
	struct reading *r, const struct json *doc, const struct field *fields, const char *path)
{
	struct json *made = json_new(r->a, JSON_OBJECT);

	if (!json_is(doc, JSON_OBJECT))
		add(r, arena_strdup(r->a, path), "INVALID_VALUE");
	json_each_member (m, doc)
		if (!is_known(fields, m->name))
			add(r, below(r->a, path, m->name), "INVALID_VALUE");
	for (const struct field *f = fields; f->name; f++) {
		struct json *given = json_get(doc, f->name), *v = NULL;
		char *at = below(r->a, path, f->name);
		if (given && given->type != JSON_NULL && !(v = project_value(r, given, f, at)))
			add(r, at, "INVALID_VALUE");
		if (!v)
			v = f->kind == OBJECT ? project(r, json_new(r->a, JSON_OBJECT), f->sub, at)
					      : nothing(r->a, f->kind);
		if (f->empty == KEEP || !is_empty(v))
			json_set(r->a, made, f->name, v);
	}
	return made;
}

bool list_names(const struct json *list, const char *text)
{
	json_each (v, list)
		if (text_eq(word_of(v), text))
			return true;
	return false;
}

/* ---- what the values must be ---- */

static bool is_one_of(const char *words, const char *word)
{
	struct bytes rest = bytes_of(words);

	while (rest.p)
		if (bytes_is(text_cut(&rest, ' '), word))
			return true;
	return false;
}

static void must_be(
	struct reading *r, const struct json *doc, const char *path, const char *name, const char *words)
{
	if (!is_one_of(words, text_of(doc, name)))
		add(r, below(r->a, path, name), "INVALID_VALUE");
}

static void must_have(struct reading *r, const struct json *doc, const char *path, const char *name)
{
	if (!*text_of(doc, name))
		add(r, below(r->a, path, name), "REQUIRED");
}

/* From `least` on. */
static void must_reach(
	struct reading *r, const struct json *doc, const char *path, const char *name, int64_t least)
{
	if (json_get_int(doc, name, 0) < least)
		add(r, below(r->a, path, name), "INVALID_VALUE");
}

/* 0 for a time that was never set. */
static int64_t time_of(const struct json *doc, const char *name)
{
	const char *text = text_of(doc, name);
	int64_t us = 0;

	if (!text_eq(text, STAMP_UNSET))
		(void)text_parse_time(text, strlen(text), &us);
	return us;
}

static void check_identity(struct reading *r, const struct json *doc, int64_t now_us)
{
	int64_t from = time_of(doc, "valid_from"), until = time_of(doc, "valid_until");

	must_have(r, doc, "", "envelope_id");
	must_have(r, doc, "", "version");
	must_have(r, doc, "", "format_version");
	if (*text_of(doc, "format_version") && !text_eq(text_of(doc, "format_version"), "1.0.0"))
		add(r, arena_strdup(r->a, "format_version"), "UNSUPPORTED_FORMAT");
	if (from && until && until < from)
		add(r, arena_strdup(r->a, "valid_until"), "INVALID_WINDOW");
	if (until && until < now_us)
		add(r, arena_strdup(r->a, "valid_until"), "EXPIRED");
}

static void check_scope(struct reading *r, const struct json *doc)
{
	const struct json *scope = json_get(doc, "jurisdiction_scope"),
			  *data = json_get(doc, "data_handling"),
			  *allowed = json_get(scope, "allowed_jurisdictions");

	if (is_empty(allowed))
		add(r, arena_strdup(r->a, "jurisdiction_scope.allowed_jurisdictions"), "REQUIRED");
	must_be(r, scope, "jurisdiction_scope", "regulatory_mode", "strict permissive audit_only");
	json_each (v, allowed)
		if (list_names(json_get(scope, "prohibited_jurisdictions"), json_text(v)))
			add(r, arena_strdup(r->a, "jurisdiction_scope"), "CONFLICT");
	must_be(r, data, "data_handling", "max_classification", "public internal confidential restricted");
	must_be(r, data, "data_handling", "redaction_policy", "none pii_only strict");
}

/* Is the value of a member there in one of the first n objects of a list? */
static bool is_before(const struct json *list, size_t n, const char *name, const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(text_of(json_at(list, i), name), value))
			return true;
	return false;
}

static void check_effects(struct reading *r, const struct json *doc)
{
	const struct json *list = json_get(doc, "allowed_effects");
	size_t i = 0;

	if (is_empty(list))
		add(r, arena_strdup(r->a, "allowed_effects"), "REQUIRED");
	json_each (v, list) {
		const char *path = arena_printf(r->a, "allowed_effects[%zu]", i);
		must_be(r, v, path, "effect_class", "E0 E1 E2 E3 E4");
		if (is_before(list, i++, "effect_class", text_of(v, "effect_class")))
			add(r, below(r->a, path, "effect_class"), "DUPLICATE");
		must_reach(r, v, path, "max_per_run", 0);
		must_reach(r, v, path, "requires_approval_above", 0);
	}
}

static void check_rates(struct reading *r, const struct json *list)
{
	size_t i = 0;

	json_each (v, list) {
		const char *path = arena_printf(r->a, "budgets.rate_limits[%zu]", i),
			   *resource = text_of(v, "resource");
		int64_t minute = json_get_int(v, "max_per_minute", 0),
			day = json_get_int(v, "max_per_day", 0);
		must_have(r, v, path, "resource");
		if (*resource && is_before(list, i, "resource", resource))
			add(r, below(r->a, path, "resource"), "DUPLICATE");
		must_reach(r, v, path, "max_per_minute", 0);
		must_reach(r, v, path, "max_per_day", 0);
		if (!minute && !day)
			add(r, arena_strdup(r->a, path), "INVALID_VALUE");
		if (text_eq(resource, "*") && json_get_bool(v, "per_instance", false))
			add(r, below(r->a, path, "per_instance"), "INVALID_VALUE");
		i++;
	}
}

static void check_budgets(struct reading *r, const struct json *doc)
{
	const struct json *b = json_get(doc, "budgets");

	must_reach(r, b, "budgets", "cost_ceiling_cents", 1);
	must_reach(r, b, "budgets", "time_ceiling_seconds", 1);
	must_reach(r, b, "budgets", "tool_call_cap", 1);
	must_reach(r, b, "budgets", "compute_units_cap", 0);
	if (*text_of(b, "blast_radius"))
		must_be(r, b, "budgets", "blast_radius", "single_record dataset system_wide");
	check_rates(r, json_get(b, "rate_limits"));
}

static void check_evidence(struct reading *r, const struct json *doc)
{
	size_t i = 0;

	json_each (v, json_get(doc, "required_evidence")) {
		const char *path = arena_printf(r->a, "required_evidence[%zu]", i++);
		must_have(r, v, path, "action_class");
		must_be(r, v, path, "evidence_type",
			"receipt hash_proof dual_attestation external_verification replay_proof");
		must_be(r, v, path, "when", "before after both");
	}
}

static void check_escalation(struct reading *r, const struct json *doc)
{
	const struct json *policy = json_get(doc, "escalation_policy");
	size_t i = 0;

	must_be(r, policy, "escalation_policy", "default_mode", "autonomous supervised manual");
	json_each (v, json_get(policy, "escalation_triggers")) {
		const char *path = arena_printf(r->a, "escalation_policy.escalation_triggers[%zu]", i++);
		must_have(r, v, path, "condition");
		must_be(r, v, path, "action", "require_approval pause_and_notify abort");
		if (text_eq(text_of(v, "action"), "require_approval"))
			must_reach(r, v, path, "quorum", 1);
	}
	i = 0;
	json_each (v, json_get(policy, "judgment_taxonomy")) {
		const char *path = arena_printf(r->a, "escalation_policy.judgment_taxonomy[%zu]", i++);
		must_have(r, v, path, "category");
		must_be(r, v, path, "classification", "autonomous judgment_required");
	}
}

/* ---- hashes ---- */

static char *hash_of(struct arena *a, const struct json *projected)
{
	struct json *view = json_copy(a, projected);
	struct buf b;

	(void)json_remove(view, "attestation");
	buf_init(&b, a);
	json_write(&b, view, JSON_HTML_SAFE);
	return sha256_prefixed(a, b.p, b.n);
}

static struct json *read_all(struct arena *a, const struct json *doc, struct envelope_problems *ret)
{
	struct reading r = { a, ret };

	*ret = (struct envelope_problems){ 0 };
	return project(&r, doc, envelope, "");
}

char *envelope_hash_v1(struct arena *a, const struct json *doc)
{
	struct envelope_problems problems;
	struct json *made = read_all(a, doc, &problems);

	return problems.n ? NULL : hash_of(a, made);
}

char *envelope_hash_v2(struct arena *a, const struct json *doc)
{
	struct json *view = json_copy(a, doc);
	struct buf b;

	(void)json_remove(view, "attestation");
	buf_init(&b, a);
	buf_adds(&b, "HELM/AutonomyEnvelope/v2\n");
	json_canonical(&b, view);
	return sha256_prefixed(a, b.p, b.n);
}

/* Of a document with members that the hash has no bytes for there is no hash to compare with. */
static void check_attestation(struct reading *r, const struct json *doc, bool is_whole)
{
	const struct json *attested = json_get(doc, "attestation");
	const char *hash = text_of(attested, "content_hash");

	must_have(r, attested, "attestation", "content_hash");
	if (*hash && !is_whole)
		add(r, arena_strdup(r->a, "attestation.content_hash"), "HASH_ERROR");
	else if (*hash && !text_eq(hash, hash_of(r->a, doc)))
		add(r, arena_strdup(r->a, "attestation.content_hash"), "HASH_MISMATCH");
	if (*text_of(attested, "signature"))
		must_be(r, attested, "attestation", "algorithm", "ED25519 ECDSA-P256 RSA-PSS-2048");
}

static struct json *validate(
	struct arena *a, const struct json *doc, int64_t now_us, struct envelope_problems *ret)
{
	struct reading r = { a, ret };
	struct json *made = read_all(a, doc, ret);
	bool is_whole = !ret->n;

	check_identity(&r, made, now_us);
	check_scope(&r, made);
	check_effects(&r, made);
	check_budgets(&r, made);
	check_evidence(&r, made);
	check_escalation(&r, made);
	check_attestation(&r, made, is_whole);
	return made;
}

bool envelope_validate(struct arena *a, const struct json *doc, int64_t now_us, struct envelope_problems *ret)
{
	(void)validate(a, doc, now_us, ret);
	return !ret->n;
}

/* ---- binding ---- */

static int refuse(struct arena *a, const struct envelope_problems *problems, struct err *e)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < problems->n; i++)
		buf_addf(&b, "%s%s: %s", i ? ", " : "", problems->items[i].field, problems->items[i].code);
	return err_set(e, E_INPUT, "ENVELOPE_INVALID", "the envelope is not bound: %s", b.p);
}

/* Only Ed25519 is known here; what is signed by another algorithm is refused, never taken for unsigned. */
static bool is_signed(struct arena *a, const struct json *doc, const uint8_t trusted[SIGN_PUBLIC])
{
	const struct json *attested = json_get(doc, "attestation");
	const char *text = text_of(attested, "signature");
	uint8_t signature[SIGN_SIZE];

	return text_eq(text_of(attested, "algorithm"), "ED25519") &&
		hex_decode(text, strlen(text), signature, SIGN_SIZE, true) &&
		sign_verify(trusted, bytes_of(envelope_hash_v2(a, doc)), signature);
}

static int compile_triggers(struct arena *a, struct envelope *env, struct err *e)
{
	const struct json *list = json_get(json_get(env->doc, "escalation_policy"), "escalation_triggers");
	size_t n = 0;

	env->triggers = arena_zalloc(a, list ? list->n : 1, sizeof(*env->triggers));
	json_each (v, list) {
		struct trigger *t = &env->triggers[n];
		const char *name = arena_printf(a, "escalation_triggers[%zu].condition", n++);
		t->doc = v;
		if (expression_compile(a, bytes_of(text_of(v, "condition")), name, &t->condition, e))
			return e->rc;
	}
	env->trigger_count = n;
	return OK;
}

int envelope_bind(struct arena *a, const struct json *doc, const uint8_t trusted[SIGN_PUBLIC], int64_t now_us,
	const struct envelope **bound, struct err *e)
{
	struct envelope *env = arena_zalloc(a, 1, sizeof(*env));
	struct envelope_problems problems;

	*bound = NULL;
	env->doc = validate(a, doc, now_us, &problems);
	if (problems.n)
		return refuse(a, &problems, e);
	env->id = text_of(env->doc, "envelope_id");
	env->from_us = time_of(env->doc, "valid_from");
	env->until_us = time_of(env->doc, "valid_until");
	if (env->from_us > now_us)
		return err_set(e, E_INPUT, "ENVELOPE_EXPIRED",
			"the envelope is not bound: it is valid from %s on", text_of(env->doc, "valid_from"));
	if (trusted && !is_signed(a, doc, trusted))
		return err_set(e, E_INPUT, "ENVELOPE_SIGNATURE",
			"the envelope is not bound: it is not signed by the trusted key (Ed25519 over the text of its v2 hash)");
	if (compile_triggers(a, env, e))
		return err_wrap(e, "the envelope is not bound");
	*bound = env;
	return OK;
}
