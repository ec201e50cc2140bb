/* world.c — see world.h. */
#include "audit/conform/world.h"

#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "decide/authority/authority.h"
#include "decide/bounds/bounds.h"

#include <fcntl.h>
#include <string.h>

/* ---- the world ---- */

static int make_dir(struct world *w, struct err *e)
{
	const char *own = w->sys->getenv(w->sys, "TMPDIR");
	uint8_t raw[8];
	char hex[17];

	if (w->sys->random(w->sys, raw, sizeof(raw)))
		return err_sys(e, "CONFORM_WORLD", "cannot get random bytes");
	hex_encode(raw, sizeof(raw), hex);
	(void)snprintf(
		w->dir, sizeof(w->dir), "%.200s/helm-conform-%s", own && own[0] == '/' ? own : "/tmp", hex);
	if (w->sys->mkdir(w->sys, AT_FDCWD, w->dir, 0700)) {
		int rc = err_sys(e, "CONFORM_WORLD", "cannot make %s for the ledger of the run", w->dir);
		w->dir[0] = '\0';
		return rc;
	}
	return file_open_dir(w->sys, AT_FDCWD, w->dir, &w->dir_fd, e);
}

int world_open(struct world *w, struct sys *s, const char *policy, struct err *e)
{
	struct ruleset *rules = NULL;
	struct bytes text;

	*w = (struct world){ .sys = s, .dir_fd = -1 };
	if (!embed_find(policy, &text))
		BUG("no such policy is shipped");
	if (json_parse(&w->a, text, policy, NULL, &w->policy, e) ||
		ruleset_compile(&w->a, w->policy, &rules, e))
		return err_wrap(e, "%s", policy);
	w->rules = rules;
	if (make_dir(w, e) || key_create(s, w->dir_fd, "keys", "conform", &w->key, e))
		return e->rc;
	recorder_open(&w->recorder, s, w->dir_fd, w->key);
	return OK;
}

void world_close(struct world *w)
{
	if (w->key) {
		recorder_close(&w->recorder);
		key_free(&w->key);
	}
	if (w->dir[0]) {
		close_fd(&w->dir_fd);
		file_remove_tree(w->sys, AT_FDCWD, w->dir);
		w->dir[0] = '\0';
	}
	arena_done(&w->a);
}

/* ---- one case ---- */

static const struct json *context_of(const struct scene *s)
{
	const struct json *c = json_get(json_get(s->vector, "input"), "context");

	return json_is(c, JSON_OBJECT) ? c : NULL;
}

/* The policy of the world with something more in it. */
static int overlay(
	struct scene *s, const char *section, const char *name, const struct json *value, struct err *e)
{
	struct json *doc = json_copy(s->a, s->w->policy), *map = json_get(doc, section);
	struct ruleset *rules = NULL;

	if (!map) {
		map = json_new(s->a, JSON_OBJECT);
		json_set(s->a, doc, section, map);
	}
	json_set(s->a, map, name, json_copy(s->a, value));
	if (ruleset_compile(s->a, doc, &rules, e))
		return e->rc;
	s->rules = rules;
	return OK;
}

/* What a word of the context stands for is data; of one without a name it is about the effect's type.  The first that holds. */
static int set_overlays(struct scene *s, struct err *e)
{
	const struct json *effect = json_get(json_get(s->vector, "input"), "effect");
	const char *type = json_get_text(effect, "effect_type", "");

	if (!context_of(s))
		return OK;
	json_each (row, json_get(conform_shipped(s->a, "share/conform/overlays.json"), "overlays")) {
		const struct json *said = json_get(context_of(s), json_get_text(row, "context", ""));
		const char *name = json_get_text(row, "name", type);
		if (said && json_eq(said, json_get(row, "equals")) && *name)
			return overlay(s, json_get_text(row, "section", ""), name, json_get(row, "value"), e);
	}
	return OK;
}

/* What the run is known to be: the case's context, vouched for by the harness. */
int scene_begin(struct scene *s, struct world *w, struct arena *a, const struct json *vector, struct err *e)
{
	*s = (struct scene){ .w = w, .a = a, .vector = vector, .rules = w->rules };
	s->known = json_new(a, JSON_OBJECT);
	json_each_member (m, context_of(s))
		json_set(a, s->known, m->name, m->value);
	s->base.now_us = w->sys->now_us(w->sys);
	return set_overlays(s, e);
}

void scene_done(struct scene *s)
{
	drawn_done(&s->drawn);
}

/* ---- the facts of one effect ---- */

struct facts_of {
	struct facts f;
	struct ledger_facts ledger;
	struct pdp_facts pdp;
	struct budget_facts budget;
	struct velocity_facts velocity;
	struct sandbox_facts sandbox;
};

/* A document of limits from what the case says is left. */
static int seed_limits(struct scene *s, const struct json *effect, struct limits **ret, struct err *e)
{
	const struct json *c = context_of(s);
	struct json *doc = json_new(s->a, JSON_OBJECT), *budgets = json_new(s->a, JSON_ARRAY),
		    *windows = json_new(s->a, JSON_ARRAY), *row;
	int64_t left, calls, most;

	if (json_get_text(effect, "budget_id", NULL) &&
		json_int(json_get(c, "budget_remaining_cents"), &left)) {
		row = json_new(s->a, JSON_OBJECT);
		json_sets(s->a, row, "id", json_get_text(effect, "budget_id", ""));
		json_seti(s->a, row, "limit", left < 0 ? 0 : left);
		json_sets(s->a, row, "period", "total");
		json_push(s->a, budgets, row);
	}
	if (json_int(json_get(c, "max_calls_per_window"), &most)) {
		calls = json_get_int(c, "calls_in_window", 0);
		row = json_new(s->a, JSON_OBJECT);
		json_sets(s->a, row, "id", "window");
		json_seti(s->a, row, "limit", calls < most ? most - calls : 0);
		json_seti(s->a, row, "seconds", json_get_int(c, "window_seconds", 60));
		json_push(s->a, windows, row);
	}
	json_set(s->a, doc, "budgets", budgets);
	json_set(s->a, doc, "windows", windows);
	return limits_compile(s->a, doc, ret, e);
}

static const struct json *grant_member(const struct scene *s, const struct json *effect, const char *name)
{
	const struct json *v = json_get(context_of(s), name);

	return v ? v : json_get(json_get(effect, "params"), name);
}

static void seed_sandbox(struct scene *s, const struct json *effect, struct sandbox_facts *ret)
{
	const struct json *network = grant_member(s, effect, "network"),
			  *preopens = grant_member(s, effect, "filesystem_preopens");
	const char **dirs =
		arena_zalloc(s->a, json_is(preopens, JSON_ARRAY) ? preopens->n + 1 : 1, sizeof(*dirs));

	ret->may_run_generated = json_get_bool(context_of(s), "generated_code_grant", false);
	ret->has_network = json_text(network) && !text_eq(network->text, "deny-all");
	json_each (dir, preopens)
		if (json_text(dir))
			dirs[ret->preopen_count++] = dir->text;
	ret->preopens = dirs;
}

static int seed_facts(struct scene *s, const struct json *effect, struct facts_of *ret, struct err *e)
{
	const char *fault = json_get_text(s->vector, "pdp_behavior", NULL);
	struct limits *limits = NULL;

	if (seed_limits(s, effect, &limits, e))
		return e->rc;
	*ret = (struct facts_of){ .f = s->base };
	struct facts *f = &ret->f;
	f->known = s->known;
	f->principal = json_get_text(json_get(s->vector, "input"), "principal", NULL);
	f->tenant = json_get_text(context_of(s), "caller_tenant_id", NULL);
	f->ledger = &ret->ledger;
	ret->budget = (struct budget_facts){ .drawn = &s->drawn,
		.limits = limits,
		.error = json_get(s->vector, "budget_behavior") ? "the store answers with an error" : NULL };
	f->budget = &ret->budget;
	ret->velocity = (struct velocity_facts){ .drawn = &s->drawn, .limits = limits };
	f->velocity = &ret->velocity;
	seed_sandbox(s, effect, &ret->sandbox);
	f->sandbox = &ret->sandbox;
	if (fault) {
		ret->pdp.fault = fault;
		f->pdp = &ret->pdp;
	}
	return OK;
}

/* ---- judged, completed, recorded ---- */

/* What came out, as the case says: nothing is run. */
static void complete(struct scene *s, struct outcome *ret)
{
	const struct json *output = json_get(s->vector, "output_override");
	const char *schema = json_get_text(context_of(s), "output_schema_id", NULL);
	struct gate_answer out;

	if (ret->verdict != V_ALLOW)
		return;
	if (output)
		ret->output_hash = json_sha256(s->a, output);
	if (!schema)
		return;
	engine_output(s->a, s->rules, schema, output, &out);
	if (out.verdict != V_ALLOW) {
		ret->verdict = out.verdict;
		ret->reason_code = reason_get(out.code)->code;
	}
}

static struct json *make_intent(struct scene *s, const char *decision_id, const struct json *effect)
{
	struct json *o = json_new(s->a, JSON_OBJECT);

	json_set(s->a, o, "intent_id", json_stringf(s->a, "intent-%s", decision_id));
	json_sets(s->a, o, "decision_id", decision_id);
	json_sets(s->a, o, "effect_digest_hash", json_sha256(s->a, effect));
	json_sets(s->a, o, "issued_at", text_time_z(s->a, s->base.now_us));
	json_sets(s->a, o, "expires_at", text_time_z(s->a, s->base.now_us + (int64_t)300 * 1000000));
	return o;
}

/* Packs that a receipt names, and what the engine bound. */
static struct json *metadata(struct scene *s, const struct outcome *x)
{
	struct json *m = json_new(s->a, JSON_OBJECT), *packs = json_new(s->a, JSON_ARRAY);
	const struct judgement *j = &x->judgement;

	for (size_t i = 0; i < j->active_pack_count; i++)
		json_pushs(s->a, packs, j->active_packs[i]);
	json_set(s->a, m, "active_packs", packs);
	json_sets(s->a, m, "gate_roster_hash", judgement_roster_sha256(s->a, j));
	if (s->rules)
		json_set(s->a, m, "policy_epoch",
			json_stringf(s->a, "%llu", (unsigned long long)ruleset_epoch(s->rules)));
	if (x->detail_code)
		json_sets(s->a, m, "detail_code", x->detail_code);
	if (x->intent)
		json_set(s->a, m, "intent", x->intent);
	if (j->bound)
		json_set(s->a, m, "bound", json_copy(s->a, j->bound));
	if (x->verdict == V_ALLOW && j->draw_count)
		json_set(s->a, m, DRAWS_MEMBER, draws_json(s->a, j->draws, j->draw_count));
	return m;
}

static int record(struct scene *s, const struct json *effect, struct outcome *ret, struct err *e)
{
	const struct json *input = json_get(s->vector, "input");
	char *id;

	if (record_new_id(s->a, s->w->sys, "dec-", &id, e))
		return e->rc;
	if (ret->verdict == V_ALLOW)
		ret->intent = make_intent(s, id, effect);
	struct draft d = { .decision_id = id,
		.effect_id = json_get_text(effect, "effect_id", ""),
		.status = verdict_name(ret->verdict),
		.verdict = verdict_name(ret->verdict),
		.reason_code = ret->reason_code,
		.policy_hash = s->rules ? ruleset_sha256(s->rules) : NULL,
		.args_hash = json_sha256(s->a, input ? input : effect),
		.output_hash = ret->output_hash,
		.executor_id = json_get_text(input, "principal", ""),
		.type = "decision",
		.effect_type = json_get_text(effect, "effect_type", ""),
		.metadata = metadata(s, ret) };
	if (recorder_append(&s->w->recorder, s->a, &d, 1, &ret->receipt, e))
		return e->rc;
	if (!drawn_receipt(&s->drawn, ret->receipt))
		return err_set(e, E_CORRUPT, "CONFORM_WORLD", "a receipt's draws cannot be read back");
	return OK;
}

int scene_ask(struct scene *s, const struct json *effect, struct outcome *ret, struct err *e)
{
	const struct json *input = json_get(s->vector, "input");
	struct facts_of facts;
	struct submission q = { .effect_type = json_get_text(effect, "effect_type", ""),
		.effect_id = json_get_text(effect, "effect_id", ""),
		.principal = json_get_text(input, "principal", ""),
		.budget_id = json_get_text(effect, "budget_id", NULL),
		.params = json_get(effect, "params"),
		.context = json_get(input, "context") };

	*ret = (struct outcome){ 0 };
	if (seed_facts(s, effect, &facts, e))
		return e->rc;
	engine_judge(s->a, s->rules, &q, &facts.f, &ret->judgement);
	ret->verdict = ret->judgement.verdict;
	ret->detail_code = ret->judgement.detail_code;
	if (ret->verdict != V_ALLOW)
		ret->reason_code = reason_get(ret->judgement.code)->code;
	ret->is_quarantined = ret->detail_code && text_eq(ret->detail_code, "MCP_SERVER_QUARANTINED");
	complete(s, ret);
	return record(s, effect, ret, e);
}

bool world_meets(const struct json *expected, const struct json *got)
{
	if (!json_is(expected, JSON_OBJECT) || expected->n == 0)
		return false;
	json_each_member (m, expected)
		if (!json_get(got, m->name) || !json_eq(m->value, json_get(got, m->name)))
			return false;
	return true;
}
