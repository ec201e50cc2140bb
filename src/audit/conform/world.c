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

/* The member of the policy's document, made when it is not there. */
static struct json *part_of(struct arena *a, struct json *doc, const char *section)
{
	if (!json_get(doc, section))
		json_set(a, doc, section, json_new(a, JSON_OBJECT));
	return json_get(doc, section);
}

/* The policy of the scene with something more in it. */
int scene_overlay(
	struct scene *s, const char *section, const char *name, const struct json *value, struct err *e)
{
	struct json *doc = json_copy(s->a, ruleset_document(s->rules));
	struct ruleset *rules = NULL;

	json_set(s->a, part_of(s->a, doc, section), name, json_copy(s->a, value));
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
			return scene_overlay(
				s, json_get_text(row, "section", ""), name, json_get(row, "value"), e);
	}
	return OK;
}

static const struct json *grant_member(const struct scene *s, const char *name)
{
	const struct json *v = json_get(context_of(s), name),
			  *effect = json_get(json_get(s->vector, "input"), "effect");

	return v ? v : json_get(json_get(effect, "params"), name);
}

/* The sandbox that the case says stands; which one it is says what runs in it. */
static struct json *sandbox_of(struct scene *s)
{
	struct json *sandbox = json_new(s->a, JSON_OBJECT);
	const struct json *network = grant_member(s, "network"),
			  *preopens = grant_member(s, "filesystem_preopens");

	json_setb(s->a, sandbox, "generated", json_get_bool(context_of(s), "generated_code_grant", false));
	json_setb(s->a, sandbox, "network", json_text(network) && !text_eq(network->text, "deny-all"));
	if (json_is(preopens, JSON_ARRAY))
		json_set(s->a, sandbox, "preopens", json_copy(s->a, preopens));
	return sandbox;
}

/* What the run is known to be: the case's context, vouched for by the harness, under the names by which entry points state what they know (decide/engine/engine.h). */
int scene_begin(struct scene *s, struct world *w, struct arena *a, const struct json *vector, struct err *e)
{
	const char *tenant;

	*s = (struct scene){ .w = w, .a = a, .vector = vector, .rules = w->rules };
	s->known = json_new(a, JSON_OBJECT);
	s->now_us = w->sys->now_us(w->sys);
	json_each_member (m, context_of(s))
		json_set(a, s->known, m->name, m->value);
	(void)json_remove(s->known, "stop");
	(void)json_remove(s->known, "pins");
	(void)json_remove(s->known, "tenant");
	tenant = json_get_text(context_of(s), "caller_tenant_id", NULL);
	if (tenant)
		json_sets(a, s->known, "tenant", tenant);
	json_set(a, s->known, "ledger", json_new(a, JSON_OBJECT));
	json_set(a, s->known, "sandbox", sandbox_of(s));
	return set_overlays(s, e);
}

void scene_done(struct scene *s)
{
	drawn_done(&s->drawn);
}

/* ---- what is left ---- */

/* What the case says is left becomes limits of the policy; false: it says nothing of that. */
static bool seed_limits(struct scene *s, const struct json *effect, struct json *doc)
{
	const struct json *c = context_of(s);
	struct json *budgets = json_new(s->a, JSON_ARRAY), *windows = json_new(s->a, JSON_ARRAY), *row,
		    *limits;
	int64_t left, calls, most;

	if (json_get_text(effect, "budget_id", NULL) &&
		json_int(json_get(c, "budget_remaining_cents"), &left)) {
		row = json_new(s->a, JSON_OBJECT);
		json_sets(s->a, row, "id", json_get_text(effect, "budget_id", ""));
		json_seti(s->a, row, "limit", left < 0 ? 0 : left);
		json_sets(s->a, row, "period", "total");
		json_push(s->a, budgets, row);
	}
	/* Both are counted in one record; what the case is about is the budget. */
	if (!json_get(s->vector, "budget_behavior") && json_int(json_get(c, "max_calls_per_window"), &most)) {
		calls = json_get_int(c, "calls_in_window", 0);
		row = json_new(s->a, JSON_OBJECT);
		json_sets(s->a, row, "id", "window");
		json_seti(s->a, row, "limit", calls < most ? most - calls : 0);
		json_seti(s->a, row, "seconds", json_get_int(c, "window_seconds", 60));
		json_push(s->a, windows, row);
	}
	if (!budgets->n && !windows->n)
		return false;
	limits = part_of(s->a, doc, "limits");
	json_set(s->a, limits, "budgets", budgets);
	json_set(s->a, limits, "windows", windows);
	return true;
}

/* The policy that this effect is judged by. */
static int limited(struct scene *s, const struct json *effect, const struct ruleset **ret, struct err *e)
{
	struct json *doc = s->rules ? json_copy(s->a, ruleset_document(s->rules)) : NULL;
	struct ruleset *rules = NULL;

	*ret = s->rules;
	if (!doc || !seed_limits(s, effect, doc))
		return OK;
	if (ruleset_compile(s->a, doc, &rules, e))
		return e->rc;
	*ret = rules;
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
	json_sets(s->a, o, "issued_at", text_time_z(s->a, s->now_us));
	json_sets(s->a, o, "expires_at", text_time_z(s->a, s->now_us + (int64_t)300 * 1000000));
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
	const char *fault = json_get_text(s->vector, "pdp_behavior", NULL);
	const struct pdp_facts pdp = { .fault = fault };
	const struct policy_question q = { .action = json_get_text(effect, "effect_type", ""),
		.effect_id = json_get_text(effect, "effect_id", ""),
		.principal = json_get_text(input, "principal", ""),
		.session = "case",
		.budget_id = json_get_text(effect, "budget_id", NULL),
		.params = json_get(effect, "params"),
		.context = json_get(input, "context"),
		.known = s->known,
		.now_us = s->now_us,
		.drawn = &s->drawn,
		.drawn_error =
			json_get(s->vector, "budget_behavior") ? "the store answers with an error" : NULL,
		.pdp = fault ? &pdp : NULL };
	const struct ruleset *rules;

	*ret = (struct outcome){ 0 };
	if (limited(s, effect, &rules, e))
		return e->rc;
	question_judge(s->a, rules, s->about, &q, NULL, (struct as_tool){ 0 }, &ret->judgement);
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
