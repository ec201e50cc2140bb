/* gates.c — gates that compare a question with one fact or one table: schema, tenant, provenance, verification, pins, effects;
 * and what comes after the effect. */
#include "base/hash.h"
#include "decide/engine/parts.h"
#include "proof/sign.h"

#include <string.h>

static const struct schema *find_schema(const struct table *names, struct schema **schemas, const char *name)
{
	uint32_t i = table_find(names, name, strlen(name));

	return i == TABLE_NONE ? NULL : schemas[i];
}

void gate_schema(struct judging *j, struct gate_answer *ret)
{
	const struct schema *s = find_schema(&j->rules->schema_names, j->rules->schemas, j->ask->effect_type);
	static const struct json none = { .type = JSON_OBJECT };
	struct err e = { 0 };

	ret->is_active = true;
	if (s && schema_check(s, j->ask->params ? j->ask->params : &none, &e))
		gate_deny(ret, REASON_SCHEMA_VIOLATION, NULL, arena_printf(j->a, "params: %s", e.text));
}

/* Only a tenant that is claimed can differ; one that is no text is not ours. */
void gate_tenant(struct judging *j, struct gate_answer *ret)
{
	const struct json *claimed = json_get(j->ask->params, "tenant_id");

	ret->is_active = true;
	if (claimed && (!json_text(claimed) || !text_eq(claimed->text, j->facts->tenant)))
		gate_deny(ret, REASON_TENANT_ISOLATION, NULL,
			"The effect names another tenant than the caller's.");
}

static bool knows_parent(const struct ledger_facts *f, const char *hash)
{
	for (size_t i = 0; i < f->parent_count; i++)
		if (text_eq(f->parents[i], hash))
			return true;
	return false;
}

void gate_provenance(struct judging *j, struct gate_answer *ret)
{
	const struct json *claimed = json_get(j->ask->context, "claimed_parent_hash");

	ret->is_active = true;
	if (claimed && (!json_text(claimed) || !knows_parent(j->facts->ledger, claimed->text)))
		gate_deny(
			ret, REASON_PROVENANCE_FAILURE, NULL, "The parent that is claimed is not on record.");
}

/* The one hash that the request names; NULL when there is none or more than one. */
static const struct json *signed_hash(const struct json *params)
{
	const struct json *found = NULL;

	json_each_member (m, params) {
		if (!text_ends(m->name, "_hash") && !text_eq(m->name, "hash"))
			continue;
		if (found)
			return NULL;
		found = m->value;
	}
	return json_text(found) ? found : NULL;
}

static bool signature_verifies(
	const struct ledger_facts *f, const struct json *params, const struct json *sig)
{
	const struct json *hash = signed_hash(params);
	uint8_t raw[SIGN_SIZE];

	if (!hash || !json_is(sig, JSON_STRING) || !hex_decode(sig->text, sig->n, raw, sizeof(raw), true))
		return false;
	for (size_t i = 0; i < f->key_count; i++)
		if (sign_verify(f->keys[i], (struct bytes){ (const uint8_t *)hash->text, hash->n }, raw))
			return true;
	return false;
}

void gate_verification(struct judging *j, struct gate_answer *ret)
{
	const struct json *sig = json_get(j->ask->params, "signature");

	ret->is_active = true;
	if (sig && !signature_verifies(j->facts->ledger, j->ask->params, sig))
		gate_deny(ret, REASON_VERIFICATION_FAILURE, NULL,
			"The signature does not verify over the hash that is named, under any key that is trusted here.");
}

/* Versions that are digests are bound as such. */
static struct json *bound_pins(struct arena *a, const struct pin_facts *f)
{
	struct json *bound = json_new(a, JSON_OBJECT);
	bool is_hash = text_starts(f->schema_version, "sha256:");

	json_sets(a, bound, is_hash ? "pinned_schema_hash" : "pinned_schema_version", f->schema_version);
	json_sets(a, bound, is_hash ? "schema_hash" : "schema_version",
		f->presented_schema_version ? f->presented_schema_version : "absent");
	return bound;
}

void gate_pins(struct judging *j, struct gate_answer *ret)
{
	const struct pin_facts *f = j->facts->pins;

	ret->is_active = true;
	if (f->schema_version &&
		(!f->presented_schema_version || !text_eq(f->schema_version, f->presented_schema_version))) {
		gate_deny(ret, REASON_SCHEMA_DRIFT_DETECTED, NULL,
			arena_printf(j->a, "Version %s was reviewed, and this is %s.", f->schema_version,
				f->presented_schema_version ? f->presented_schema_version : "another"));
		ret->detail_code = reason_get(REASON_SCHEMA_VIOLATION)->code;
		ret->bound = bound_pins(j->a, f);
	} else if (f->has_lamport && f->presented_lamport <= f->consumed_lamport)
		gate_deny(ret, REASON_REPLAY_DETECTED, NULL,
			"The request stands at a place that was used already.");
}

void gate_effects(struct judging *j, struct gate_answer *ret)
{
	const struct decision *d = j->facts->guard;

	ret->is_active = true;
	ret->verdict = decision_effective(d);
	ret->code = d->reason_code;
	ret->rule = d->detail_code;
	ret->detail_code = d->detail_code;
	ret->text = d->summary;
}

/* ---- what comes out ---- */

void engine_output(struct arena *a, const struct ruleset *rules, const char *schema_id,
	const struct json *output, struct gate_answer *ret)
{
	const struct schema *s = rules ? find_schema(&rules->output_names, rules->outputs, schema_id) : NULL;
	struct err e = { 0 };

	*ret = (struct gate_answer){ .verdict = V_ALLOW, .is_active = true };
	if (!s)
		gate_deny(ret, REASON_SCHEMA_VIOLATION, NULL,
			arena_printf(a, "No schema of outputs is called '%s'.", schema_id));
	else if (!output || schema_check(s, output, &e))
		gate_deny(ret, REASON_SCHEMA_VIOLATION, NULL,
			arena_printf(a, "The output does not fit '%s': %s", schema_id,
				output ? e.text : "there is none"));
}
