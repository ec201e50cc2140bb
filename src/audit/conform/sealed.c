/* sealed.c — handlers of the sealed contract records: one row per pack of cases.
 *
 * The case file itself states what a caller would pin (keys, authorities, the time of the check), so it is
 * passed both as the document and as what is given. */
#include "audit/conform/conform.h"
#include "verify/verify.h"

#include <string.h>

struct asked {
	struct trust trust;
	struct verification v;
};

static const char *text_of(const struct json *o, const char *name)
{
	return json_get_text(o, name, "");
}

/* The snapshot is the case's own and counts as pinned. */
static void approval(struct conform_case *c, struct verification *v)
{
	verify_approval(v, c->doc, true);
	json_each_member (m, json_get(c->doc, "expected"))
		json_set(c->a, c->also_expect, m->name, m->value);
}

static void consumption(struct conform_case *c, struct verification *v)
{
	verify_consumption(v, json_get(c->doc, "consumption"), text_of(c->doc, "signature"),
		text_of(c->doc, "public_key"));
}

static void admission(struct conform_case *c, struct verification *v)
{
	verify_admission(v, json_get(c->doc, "admission"), json_get(c->doc, "consumption"),
		text_of(c->doc, "signature"), text_of(c->doc, "public_key"),
		json_get_text(c->doc, "verification_time", NULL));
}

/* The case asks about the statements and their chain, about the chain alone, or whether the first is in
 * force.  The question is a sentence in the case; its beginning tells which. */
static void release(struct conform_case *c, struct verification *v)
{
	const struct json *certified = json_get(c->doc, "certified"), *revoked = json_get(c->doc, "revoked");
	const struct json *pinned = json_get(c->doc, "trust");
	const char *question = text_of(c->doc, "question");

	if (!text_starts(question, "chain rule only")) {
		verify_release(v, certified, pinned);
		if (!v->error && revoked)
			verify_release(v, revoked, pinned);
	}
	if (!v->error && revoked)
		(void)verify_release_chain(
			v, json_get(certified, "authority"), json_get(revoked, "authority"));
	if (!v->error && text_starts(question, "is the certified statement"))
		verify_release_current(v, certified, revoked, text_of(c->doc, "verification_time"));
}

static void effect_close(struct conform_case *c, struct verification *v)
{
	verify_effect_close(v, c->doc, c->doc);
}

static void disposition(struct conform_case *c, struct verification *v)
{
	verify_disposition(v, c->doc, c->doc);
}

static void spec_approval(struct conform_case *c, struct verification *v)
{
	verify_spec_approval(v, c->doc, c->doc);
}

static void boundary(struct conform_case *c, struct verification *v)
{
	verify_boundary_profile(v, c->doc, c->doc);
}

static void update(struct conform_case *c, struct verification *v)
{
	verify_update_bundle(v, c->doc, c->doc);
}

/* Two forms of cases are published; they differ in the name of the member. */
static void emergency_stop(struct conform_case *c, struct verification *v)
{
	const struct json *doc =
		json_get(c->doc, "vector") ? json_get(c->doc, "vector") : json_get(c->doc, "case");

	verify_emergency_stop(
		v, doc, json_get_text(doc, "command_public_key", NULL), json_get(c->doc, "keyring"));
}

/* Some cases give a preimage that is almost right: the permit's signature must not verify over it. */
static void permit(struct conform_case *c, struct verification *v)
{
	const struct json *given = json_get(c->doc, "preimage"), *record = json_get(c->doc, "permit");

	if (given)
		verify_permit_over(v, record, (struct bytes){ (const uint8_t *)given->text, given->n });
	else
		verify_permit(v, record);
}

/* One row per published pack of cases. */
static const struct {
	const char *pack;
	void (*run)(struct conform_case *, struct verification *);
} packs[] = {
	{ "approval", approval },
	{ "approval-consumption-v1", consumption },
	{ "approval-dispatch-admission-v1", admission },
	{ "boundary-profile-v1", boundary },
	{ "connector-release-authority-v1", release },
	{ "effect-close-v1", effect_close },
	{ "effect-disposition-v1", disposition },
	{ "effect-permit-v1", permit },
	{ "emergency_stop", emergency_stop },
	{ "generated-spec-approval-ceremony-v1", spec_approval },
	{ "update-bundle-v1", update },
};

/* The part of the id behind "sealed/" is the name of the pack. */
static bool is_pack(const char *id, const char *pack)
{
	size_t n = strlen(pack);

	return text_starts(id, "sealed/") && strncmp(id + 7, pack, n) == 0 && id[7 + n] == '/';
}

/* Runs one case and reports everything that was recomputed. */
static int run_pack(struct conform_case *c, void (*run)(struct conform_case *, struct verification *))
{
	struct trusted_key key = { .id = "" };
	struct trust trust = { .keys = &key, .threads = 1 };
	struct verification v;

	trust.key_count = trust_parse_key(text_of(c->doc, "issuer_public_key"), key.key) ? 1 : 0;
	verification_begin(&v, c->a, &trust, c->id);
	run(c, &v);
	json_each_member (m, v.values)
		json_set(c->a, c->got, m->name, m->value);
	conform_result(c, verification_headline(&v) == HEADLINE_ADMISSIBLE);
	if (v.error)
		json_sets(c->a, c->got, "error", v.error);
	return OK;
}

/* A pack of cases without a row here cannot be run, and its cases fail. */
int conform_sealed(struct conform_case *c, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(packs); i++)
		if (is_pack(c->id, packs[i].pack))
			return run_pack(c, packs[i].run);
	return err_set(e, E_INPUT, "CONFORM_CASE", "no such pack of sealed records");
}
