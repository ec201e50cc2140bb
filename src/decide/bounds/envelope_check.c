/* envelope_check.c — one effect against the bound envelope, step by step (docs/formats/autonomy-envelope.md).
 *
 * The first step that fails is what the published gate answers.  Where that is only a question for a person, the later steps are looked
 * at all the same: a yes to the number of effects is no yes to data that is too sensitive. */
#include "decide/bounds/parts.h"

#include <string.h>

struct checking {
	struct arena *a;
	const struct envelope *env;
	const struct envelope_request *q;
	const struct envelope_facts *facts;
	int64_t now_us;
	struct envelope_answer *ret;
};

enum { US = 1000000 };

static void refuse(
	struct checking *c, enum verdict v, enum reason_code code, const char *detail, const char *text)
{
	struct envelope_answer *r = c->ret;

	if (!r->is_refused)
		r->first = code;
	if (r->is_refused && v != V_DENY)
		return;
	r->is_refused = true;
	r->verdict = v;
	r->code = code;
	r->detail = detail;
	r->text = text;
	if (v != V_DENY)
		r->escalation = "require_approval";
}

static void deny(struct checking *c, enum reason_code code, const char *text)
{
	refuse(c, V_DENY, code, NULL, text);
}

static bool is_denied(const struct checking *c)
{
	return c->ret->verdict == V_DENY;
}

static void draw(struct checking *c, enum draw_kind kind, const char *key, int64_t amount, int64_t limit,
	int64_t window_us, int64_t length_us)
{
	struct envelope_answer *r = c->ret;

	r->draws = arena_grow(
		c->a, r->draws, r->draw_count * sizeof(*r->draws), (r->draw_count + 1) * sizeof(*r->draws));
	r->draws[r->draw_count++] = (struct draw){ .kind = kind,
		.key = key,
		.amount = amount,
		.limit = limit,
		.window_us = window_us,
		.window_length_us = length_us };
}

static const char *counter_key(struct arena *a, const struct envelope *env, const char *run, const char *what)
{
	return draw_key(a, "envelope", env->id, run, what, NULL);
}

static int64_t counted(const struct drawn *d, const char *key)
{
	const struct drawn_entry *e = drawn_find(d, DRAW_COUNT, key, 0);

	return e ? e->used : 0;
}

static int64_t bound_since(
	struct arena *a, const struct envelope *env, const struct envelope_facts *f, int64_t now_us)
{
	const struct drawn_entry *e =
		drawn_find(f->drawn, DRAW_COUNT, counter_key(a, env, f->run, "calls"), 0);

	return f->bound_us ? f->bound_us : e ? e->first_us : now_us;
}

/* ---- where ---- */

static void check_place(struct checking *c)
{
	const struct json *scope = json_get(c->env->doc, "jurisdiction_scope"),
			  *regions = json_get(scope, "data_residency_regions");
	const char *where = c->q->jurisdiction, *to = c->q->to_region;

	if (*where &&
		(list_names(json_get(scope, "prohibited_jurisdictions"), where) ||
			!list_names(json_get(scope, "allowed_jurisdictions"), where)))
		deny(c, REASON_JURISDICTION_DENIED,
			arena_printf(c->a, "The envelope does not allow jurisdiction %s.", where));
	else if (*to && regions && !list_names(regions, to))
		refuse(c, V_DENY, REASON_JURISDICTION_DENIED, "DATA_RESIDENCY",
			arena_printf(c->a, "The envelope keeps data out of region %s.", to));
}

/* A transfer that no constraint names: where the regime is strict, what is not permitted is not done. */
static void check_transfer(struct checking *c)
{
	const struct json *list = json_get(json_get(c->env->doc, "data_handling"), "transfer_constraints");
	const char *from = c->q->from_region, *to = c->q->to_region,
		   *mode = text_of(json_get(c->env->doc, "jurisdiction_scope"), "regulatory_mode");
	bool is_named = !list || !*from || !*to || text_eq(from, to);
	const char *why = NULL;

	json_each (v, list) {
		if (!text_eq(text_of(v, "from_region"), from) || !text_eq(text_of(v, "to_region"), to))
			continue;
		is_named = true;
		if (!json_get_bool(v, "allowed", false))
			why = "TRANSFER_FORBIDDEN";
		else if (json_get_bool(v, "requires_encryption", false) && !c->q->is_encrypted)
			why = "TRANSFER_UNENCRYPTED";
	}
	if (!is_named && text_eq(mode, "strict"))
		why = "TRANSFER_NOT_NAMED";
	if (why)
		refuse(c, V_DENY, REASON_JURISDICTION_DENIED, why,
			arena_printf(
				c->a, "The envelope does not permit this transfer from %s to %s.", from, to));
}

/* ---- what ---- */

static const struct json *class_rule(const struct checking *c)
{
	json_each (v, json_get(c->env->doc, "allowed_effects"))
		if (text_eq(text_of(v, "effect_class"), c->q->effect_class))
			return v;
	return NULL;
}

static void check_class(struct checking *c, const struct json *rule)
{
	const struct json *types = json_get(rule, "allowed_types");

	if (!json_get_bool(rule, "allowed", false) ||
		(types && *c->q->effect_type && !list_names(types, c->q->effect_type)))
		deny(c, REASON_EFFECT_CLASS_DENIED,
			arena_printf(c->a, "The envelope does not allow effects of class %s%s%s.",
				c->q->effect_class, *c->q->effect_type ? " and type " : "",
				c->q->effect_type));
}

static void check_counts(struct checking *c, const struct json *rule)
{
	const char *key = counter_key(c->a, c->env, c->facts->run, c->q->effect_class);
	int64_t n = counted(c->facts->drawn, key), most = json_get_int(rule, "max_per_run", 0),
		ask = json_get_int(rule, "requires_approval_above", 0);

	if (most && n >= most)
		deny(c, REASON_EFFECT_COUNT_EXCEEDED,
			arena_printf(c->a, "All %lld effects of class %s that the envelope allows were used.",
				(long long)most, c->q->effect_class));
	else if (ask && n >= ask)
		refuse(c, V_ESCALATE, REASON_ESCALATION_REQUIRED, NULL,
			arena_printf(c->a, "Beyond %lld effects of class %s a person must approve.",
				(long long)ask, c->q->effect_class));
	draw(c, DRAW_COUNT, key, 1, most ? most : DRAW_NO_LIMIT, 0, 0);
}

/* The place of a word in a list of words from less to more; -1: it is none. */
static int rank(const char *words, const char *word)
{
	struct bytes rest = bytes_of(words);

	for (int i = 0; rest.p; i++)
		if (bytes_is(text_cut(&rest, ' '), word))
			return i;
	return -1;
}

static void check_data(struct checking *c)
{
	static const char words[] = "public internal confidential restricted";
	const char *most = text_of(json_get(c->env->doc, "data_handling"), "max_classification");
	int given = rank(words, c->q->data_class);

	if (*c->q->data_class && (given < 0 || given > rank(words, most)))
		deny(c, REASON_DATA_CLASSIFICATION_EXCEEDED,
			arena_printf(c->a, "Data of class %s is more than the envelope allows (%s).",
				c->q->data_class, most));
}

/* ---- how much ---- */

/* One counter with a ceiling.  Nothing drawn always fits, also when the ceiling is reached. */
static void check_sum(struct checking *c, const char *what, int64_t amount, int64_t ceiling,
	enum reason_code code, const char *detail, const char *text)
{
	const char *key = counter_key(c->a, c->env, c->facts->run, what);
	int64_t sum;

	if (amount < 0 || __builtin_add_overflow(counted(c->facts->drawn, key), amount, &sum) ||
		(amount && sum > ceiling))
		refuse(c, V_DENY, code, detail, text);
	else if (amount)
		draw(c, DRAW_COUNT, key, amount, ceiling, 0, 0);
}

static void check_budgets(struct checking *c)
{
	const struct json *b = json_get(c->env->doc, "budgets");
	int64_t units = json_get_int(b, "compute_units_cap", 0),
		seconds = (c->now_us - bound_since(c->a, c->env, c->facts, c->now_us)) / US;

	check_sum(c, "cost", c->q->estimated_cost, json_get_int(b, "cost_ceiling_cents", 0),
		REASON_COST_CEILING_EXCEEDED, NULL, "The cost would pass the envelope's ceiling.");
	if (!is_denied(c))
		check_sum(c, "calls", 1, json_get_int(b, "tool_call_cap", 0), REASON_TOOL_CALL_CAP_EXCEEDED,
			NULL, "All calls that the envelope allows were used.");
	if (!is_denied(c) && seconds > json_get_int(b, "time_ceiling_seconds", 0))
		deny(c, REASON_TIME_CEILING_EXCEEDED, "The time that the envelope allows is over.");
	if (!is_denied(c) && units)
		check_sum(c, "compute", c->q->compute_units, units, REASON_COST_CEILING_EXCEEDED,
			"COMPUTE_UNITS", "The compute units would pass the envelope's cap.");
}

static void check_blast(struct checking *c)
{
	static const char words[] = "single_record dataset system_wide";
	const char *most = text_of(json_get(c->env->doc, "budgets"), "blast_radius"),
		   *asked = c->q->blast_radius;
	int given = rank(words, asked);

	if (*most && *asked && (given < 0 || given > rank(words, most)))
		deny(c, REASON_BLAST_RADIUS_EXCEEDED,
			arena_printf(c->a, "A blast radius of %s is more than the envelope allows (%s).",
				asked, most));
}

/* ---- who else must have a say ---- */

static bool has_evidence(const struct checking *c, const struct json *need)
{
	const char *issuer = text_of(need, "issuer_constraint");

	json_each (v, c->q->evidence)
		if (text_eq(text_of(v, "type"), text_of(need, "evidence_type")) &&
			(!*issuer || text_eq(text_of(v, "issuer"), issuer)))
			return true;
	return false;
}

/* A receipt before and after is what this program always writes. */
static void check_evidence(struct checking *c)
{
	json_each (v, json_get(c->env->doc, "required_evidence")) {
		const char *of = text_of(v, "action_class"), *type = text_of(v, "evidence_type");
		bool is_asked = (text_eq(of, "*") || text_eq(of, c->q->effect_class) ||
					text_eq(of, c->q->effect_type)) &&
			!text_eq(text_of(v, "when"), "after") && !text_eq(type, "receipt");
		if (is_asked && !has_evidence(c, v)) {
			refuse(c, V_DENY, REASON_MISSING_REQUIREMENT, "REQUIRED_EVIDENCE",
				arena_printf(
					c->a, "The envelope asks for evidence of type %s beforehand.", type));
			return;
		}
	}
}

static void check_judgment(struct checking *c)
{
	const struct json *policy = json_get(c->env->doc, "escalation_policy");
	bool is_asked = text_eq(text_of(policy, "default_mode"), "manual");

	json_each (v, json_get(policy, "judgment_taxonomy"))
		is_asked |= text_eq(text_of(v, "category"), c->q->category) &&
			text_eq(text_of(v, "classification"), "judgment_required");
	if (is_asked)
		refuse(c, V_ESCALATE, REASON_ESCALATION_REQUIRED, "JUDGMENT_REQUIRED",
			"The envelope leaves this to a person.");
}

/* ---- how often ---- */

static const struct {
	const char *name, *member;
	int64_t length_us;
	enum reason_code code;
} windows[] = {
	{ "minute", "max_per_minute", (int64_t)60 * US, REASON_RATE_LIMIT_MINUTE_EXCEEDED },
	{ "day", "max_per_day", (int64_t)86400 * US, REASON_RATE_LIMIT_DAY_EXCEEDED },
};

static bool is_drawn(const struct envelope_answer *r, const char *key)
{
	for (size_t i = 0; i < r->draw_count; i++)
		if (text_eq(r->draws[i].key, key))
			return true;
	return false;
}

/* Both windows of one limit, for one instance of it. */
static void check_windows(struct checking *c, const struct json *limit, const char *instance)
{
	for (size_t i = 0; i < ARRAY_SIZE(windows) && !is_denied(c); i++) {
		struct draw x = { .kind = DRAW_WINDOW,
			.key = draw_key(c->a, "rate", c->env->id, text_of(limit, "resource"), instance,
				windows[i].name, NULL),
			.amount = 1,
			.limit = json_get_int(limit, windows[i].member, 0),
			.window_us = c->now_us - c->now_us % windows[i].length_us,
			.window_length_us = windows[i].length_us };
		if (!x.limit || is_drawn(c->ret, x.key))
			continue;
		if (drawn_check(c->facts->drawn, &x, c->now_us) != DRAW_FITS)
			deny(c, windows[i].code,
				arena_printf(c->a,
					"%s was used %lld times within one %s, which is all the envelope allows.",
					text_of(limit, "resource"), (long long)x.limit, windows[i].name));
		draw(c, x.kind, x.key, 1, x.limit, x.window_us, x.window_length_us);
	}
}

enum pass { INSTANCES, WINDOWS };

static void check_resource(
	struct checking *c, enum pass pass, const struct json *limit, const char *name, const char *instance)
{
	bool is_per_instance = json_get_bool(limit, "per_instance", false);

	if (!text_eq(text_of(limit, "resource"), name) || is_denied(c))
		return;
	if (pass == WINDOWS)
		check_windows(c, limit, is_per_instance ? instance : "");
	else if (is_per_instance && !*instance)
		deny(c, REASON_RATE_LIMIT_INSTANCE_REQUIRED,
			arena_printf(c->a, "%s is limited per instance, and none is named.", name));
}

static void check_rates_once(struct checking *c, enum pass pass)
{
	const struct json *limits = json_get(json_get(c->env->doc, "budgets"), "rate_limits"),
			  *named = c->q->resources;
	bool has_names = json_is(named, JSON_ARRAY) && named->n;

	json_each (limit, limits) {
		if (pass == WINDOWS && text_eq(text_of(limit, "resource"), "*"))
			check_windows(c, limit, "");
		json_each (v, named)
			check_resource(c, pass, limit, text_of(v, "name"), text_of(v, "instance"));
		if (!has_names && *c->q->effect_type)
			check_resource(c, pass, limit, c->q->effect_type, "");
	}
}

/* Without an instance nothing can be counted, so that is found out before anything is counted. */
static void check_rates(struct checking *c)
{
	check_rates_once(c, INSTANCES);
	check_rates_once(c, WINDOWS);
}

static void check_all(struct checking *c)
{
	static void (*const steps[])(struct checking *) = { check_data, check_budgets, check_blast,
		check_evidence, check_judgment, check_rates };
	const struct json *rule = class_rule(c);

	if (c->now_us < c->env->from_us || (c->env->until_us && c->now_us > c->env->until_us))
		deny(c, REASON_ENVELOPE_EXPIRED, "The envelope is not in force now.");
	if (!is_denied(c))
		check_place(c);
	if (!is_denied(c))
		check_transfer(c);
	if (!is_denied(c))
		check_class(c, rule);
	if (!is_denied(c))
		check_counts(c, rule);
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !is_denied(c); i++)
		steps[i](c);
}

void envelope_check(struct arena *a, const struct envelope *env, const struct envelope_request *q,
	const struct envelope_facts *facts, int64_t now_us, struct envelope_answer *ret)
{
	struct checking c = { a, env, q, facts, now_us, ret };

	*ret = (struct envelope_answer){ .verdict = V_ALLOW };
	if (!env)
		deny(&c, REASON_NO_ENVELOPE, "No envelope is bound.");
	else
		check_all(&c);
	if (is_denied(&c))
		ret->draw_count = 0;
}

struct json *envelope_counters(
	struct arena *a, const struct envelope *env, const struct envelope_facts *facts, int64_t now_us)
{
	struct json *doc = json_new(a, JSON_OBJECT), *counts = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "envelope_id", env->id);
	json_sets(a, doc, "envelope_version", text_of(env->doc, "version"));
	json_seti(a, doc, "tool_call_count", counted(facts->drawn, counter_key(a, env, facts->run, "calls")));
	json_seti(a, doc, "cost_accumulated", counted(facts->drawn, counter_key(a, env, facts->run, "cost")));
	json_each (v, json_get(env->doc, "allowed_effects")) {
		const char *class = text_of(v, "effect_class");
		int64_t n = counted(facts->drawn, counter_key(a, env, facts->run, class));
		if (n)
			json_seti(a, counts, class, n);
	}
	json_set(a, doc, "effect_counts", counts);
	json_seti(a, doc, "elapsed_seconds", (now_us - bound_since(a, env, facts, now_us)) / US);
	return doc;
}
