/* ask.c — what the policy in use says about a question.
 *
 * Reading and compiling happen once per process and policy: the compiled one is kept with the workspace and looked at again when the
 * standing word names another digest.  Where no policy is in use this costs one look into a document that is in memory already.
 *
 * Where it closes: a policy that is named and cannot be read, does not compile, is revoked or is older than it may be denies everything, with
 * POLICY_NOT_READY.  Of several that hold (an act that is not finished; a place that lies under another one) the strictest decides, and none
 * answers for a person. */
#include "kernel/policy/policy.h"

#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
#include "decide/bounds/bounds.h"
#include "kernel/posture.h"

#include <string.h>
#include <time.h>

/* One policy that holds. */
struct loaded {
	const char *sha256;
	const struct ruleset *rules; /* NULL: it cannot be used */
	const char *problem; /* why not */
};

struct policy_memo {
	struct arena a;
	struct loaded *list;
	size_t n;
	const char *key; /* the digests, one after the other */
};

struct policy_memo *policy_memo_new(struct arena *a)
{
	return arena_zalloc(a, 1, sizeof(struct policy_memo));
}

void policy_memo_done(struct policy_memo *m)
{
	if (m)
		arena_done(&m->a);
}

/* ---- which ones ---- */

/* The i-th entry of the standing word; NULL behind the last. */
static const struct json *entry_at(const struct json *word, size_t i)
{
	return i == 0 ? json_get(word, "policy") : json_at(json_get(word, "policy_also"), i - 1);
}

bool policy_is_in_use(struct sys *s, const struct workspace *ws)
{
	return ws && ws->memo && json_get(posture_of(s, ws)->word, "policy");
}

static void load(struct sys *s, const struct workspace *ws, const char *sha256, struct loaded *ret)
{
	struct arena *a = &ws->policies->a;
	struct ruleset *rules;
	struct json *document;
	struct err e = { 0 };

	*ret = (struct loaded){ .sha256 = arena_strdup(a, sha256) };
	if (policy_kept(s, a, ws, sha256, &document, &e) || ruleset_compile(a, document, &rules, &e))
		ret->problem = arena_strdup(a, e.text);
	else
		ret->rules = rules;
}

static const char *key_of(struct arena *a, const struct json *word)
{
	const struct json *entry;
	struct buf text;

	buf_init(&text, a);
	for (size_t i = 0; (entry = entry_at(word, i)); i++)
		buf_addf(&text, "%s\n", json_get_text(entry, "sha256", ""));
	return text.p;
}

const char *policy_in_force(struct sys *s, struct arena *a, const struct workspace *ws, const char *rules)
{
	if (!policy_is_in_use(s, ws))
		return rules;
	const struct json *word = posture_of(s, ws)->word;
	struct buf text;
	buf_init(&text, a);
	buf_addf(&text, "%s\n%s", rules, key_of(a, word));
	json_each_member (m, json_get(word, "policy_revoked"))
		buf_addf(&text, "%s\n", m->name);
	return sha256_prefixed(a, text.p, text.n);
}

/* What was kept of another word is forgotten at once: nothing that was answered before points there. */
static const struct policy_memo *loaded(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *word)
{
	struct policy_memo *m = ws->policies;
	const char *key = key_of(a, word);
	const struct json *entry;
	size_t n = 0;

	if (m->key && text_eq(m->key, key))
		return m;
	arena_done(&m->a);
	*m = (struct policy_memo){ 0 };
	while (entry_at(word, n))
		n++;
	m->list = arena_zalloc(&m->a, n, sizeof(*m->list));
	for (; (entry = entry_at(word, m->n)); m->n++)
		load(s, ws, json_get_text(entry, "sha256", ""), &m->list[m->n]);
	m->key = arena_strdup(&m->a, key);
	return m;
}

/* ---- judging by one ---- */

static const char *copy(struct arena *a, const char *text)
{
	return text ? arena_strdup(a, text) : NULL;
}

static bool is_set(uint32_t bits, unsigned g)
{
	return bits >> g & 1;
}

/* What one gate wants to be approved. */
static void add_ask(struct arena *a, struct policy_answer *p, const struct gate_answer *x, enum gate_id g)
{
	p->asks[p->ask_count++] = arena_printf(a, "policy:%s", x->rule ? x->rule : gate_name(g));
	int64_t people = json_get_int(x->bound, "approvers", 0);
	if (people > p->approvers)
		p->approvers = people;
}

static void decided_by(struct arena *a, struct policy_answer *p, const struct gate_answer *x, enum gate_id g)
{
	p->verdict = x->verdict;
	p->code = x->code;
	p->rule = copy(a, x->rule);
	p->origin = copy(a, x->origin);
	p->text = copy(a, x->text);
	p->gate = gate_name(g);
}

/* The guard has its say elsewhere, so its gate counts for the row and not for this answer. */
static void weigh(struct arena *a, const struct judgement *j, struct policy_answer *p)
{
	p->asks = arena_zalloc(a, GATE_COUNT, sizeof(*p->asks));
	for (unsigned g = 0; g < GATE_COUNT; g++) {
		struct gate_answer x = judgement_answer(j, (enum gate_id)g);
		if (!is_set(j->asked, g) || g == GATE_EFFECTS)
			continue;
		if (x.verdict == V_ALLOW) {
			p->is_explicit |= g == GATE_RULES && x.rule;
			if (g == GATE_RULES && x.rule && p->verdict == V_ALLOW)
				decided_by(a, p, &x, (enum gate_id)g);
			continue;
		}
		if (x.verdict == V_ESCALATE)
			add_ask(a, p, &x, (enum gate_id)g);
		if (x.verdict != V_ESCALATE || p->verdict == V_ALLOW)
			decided_by(a, p, &x, (enum gate_id)g);
		if (x.verdict != V_ESCALATE) {
			p->verdict = V_DENY;
			return;
		}
	}
}

/* What the gates of authority/ need to know, as far as a door knows it. */
struct authority_known {
	struct egress_facts egress;
	struct mcp_facts mcp;
	struct privilege_facts privilege;
};

/* Effects that reach somebody else. */
static bool reaches_out(enum effect_kind k)
{
	return k == FX_NETWORK || k == FX_REMOTE || k == FX_PUBLISH || k == FX_FETCH_EXEC ||
		k == FX_REVERSE_SHELL;
}

/* Where a command goes to; where that is not known, a destination that no list has. */
static void add_destinations(struct arena *a, const struct policy_question *q, struct egress_facts *f)
{
	size_t n = q->proposal ? q->proposal->effect_count : 0;
	const char **list = arena_zalloc(a, n + 1, sizeof(*list));
	const char *url = json_get_text(q->params, "url", json_get_text(q->params, "destination", NULL));

	for (size_t i = 0; i < n; i++) {
		const struct effect *fx = &q->proposal->effects[i];
		if (reaches_out(fx->kind))
			list[f->destination_count++] =
				fx->target && fx->certainty == CERTAIN ? fx->target : "unknown";
	}
	if (!f->destination_count && url)
		list[f->destination_count++] = url;
	f->destinations = list;
	f->payload_bytes = -1;
}

/* "mcp__SERVER__TOOL", as clients spell it. */
static bool is_mcp_call(struct arena *a, const char *tool, struct mcp_facts *f)
{
	static const char mark[] = "mcp__";
	const char *server = tool && text_starts(tool, mark) ? tool + strlen(mark) : NULL;
	const char *end = server ? strstr(server, "__") : NULL;

	if (!end)
		return false;
	f->server = arena_strndup(a, server, (size_t)(end - server));
	f->tool = end + 2;
	return true;
}

static void add_authority(struct arena *a, const struct ruleset *rules, const struct policy_question *q,
	struct authority_known *k, struct facts *facts)
{
	if (!rules)
		return;
	if (ruleset_section(rules, "egress")) {
		add_destinations(a, q, &k->egress);
		facts->egress = &k->egress;
	}
	if (ruleset_section(rules, "mcp") && is_mcp_call(a, q->tool, &k->mcp))
		facts->mcp = &k->mcp;
	if (ruleset_section(rules, "privilege")) {
		k->privilege.tier = json_get_text(q->known, "privilege_tier", NULL);
		k->privilege.trust = json_get_text(q->known, "trust_level", NULL);
		facts->privilege = &k->privilege;
	}
}

static void keep_draws(struct arena *a, const struct judgement *j, struct policy_answer *p)
{
	struct draw *draws = arena_zalloc(a, j->draw_count + 1, sizeof(*draws));

	for (size_t i = 0; i < j->draw_count; i++) {
		draws[i] = j->draws[i];
		draws[i].key = arena_strdup(a, draws[i].key);
	}
	p->draws = draws;
	p->draw_count = j->draw_count;
}

/* What bounds it, and what was used up of that. */
struct bounds {
	struct budget_facts budget;
	struct velocity_facts velocity;
	struct envelope_facts envelope;
};

static void add_bounds(struct arena *a, const struct ruleset *rules, const struct policy_question *q,
	struct bounds *b, struct facts *facts)
{
	const struct limits *limits = rules ? ruleset_limits(rules) : NULL;
	const struct json *envelope = limits ? limits_envelope(limits) : NULL;
	struct err e = { 0 };

	if (!limits)
		return;
	b->budget = (struct budget_facts){ .drawn = q->drawn, .error = q->drawn_error };
	b->velocity = (struct velocity_facts){ .drawn = q->drawn, .error = q->drawn_error };
	facts->budget = &b->budget;
	facts->velocity = &b->velocity;
	if (!envelope)
		return;
	b->envelope = (struct envelope_facts){
		.drawn = q->drawn, .run = q->session ? q->session : "workspace", .error = q->drawn_error
	};
	if (envelope_bind(a, envelope, NULL, q->now_us, &b->envelope.bound, &e))
		b->envelope.error = arena_strdup(a, e.text);
	facts->envelope = &b->envelope;
}

const struct policy_answer *policy_judge(struct arena *a, const struct ruleset *rules,
	const struct policy_facts *about, const struct policy_question *q, const struct decision *guard)
{
	struct policy_answer *p = arena_zalloc(a, 1, sizeof(*p));
	struct judgement *j = arena_zalloc(a, 1, sizeof(*j));
	const struct submission ask = { .effect_type = q->action,
		.effect_id = q->effect_id ? q->effect_id : q->action,
		.budget_id = q->budget_id,
		.principal = q->principal,
		.tool = q->tool,
		.params = q->params,
		.context = q->context,
		.proposal = q->proposal };
	struct bounds bounds = { 0 };
	struct authority_known known = { 0 };
	struct facts facts = { .now_us = q->now_us,
		.principal = q->principal,
		.session = q->session,
		.workspace = json_get_text(q->known, "workspace", NULL),
		.tenant = json_get_text(q->known, "tenant", NULL),
		.taint = json_get(q->known, "taint"),
		.known = q->known,
		.policy = about,
		.guard = guard };

	add_bounds(a, rules, q, &bounds, &facts);
	add_authority(a, rules, q, &known, &facts);
	engine_judge(a, rules, &ask, &facts, j);
	p->verdict = V_ALLOW;
	weigh(a, j, p);
	if (p->verdict != V_DENY)
		keep_draws(a, j, p);
	p->roster_sha256 = judgement_roster_sha256(a, j);
	p->judgement = judgement_to_json(a, j);
	if (rules) {
		p->sha256 = arena_strdup(a, ruleset_sha256(rules));
		p->name = arena_strdup(a, ruleset_name(rules));
		p->version = arena_strdup(a, ruleset_version(rules));
		p->epoch = ruleset_epoch(rules);
	}
	return p;
}

/* ---- judging by those that hold ---- */

struct json *policy_known(struct arena *a, const struct json *entry, const struct policy_question *q)
{
	struct json *all = json_new(a, JSON_OBJECT);
	time_t seconds = (time_t)(q->now_us / 1000000);
	struct tm utc;

	json_each_member (m, json_get(entry, "facts"))
		json_set(a, all, m->name, m->value);
	json_each_member (m, q->known)
		json_set(a, all, m->name, m->value);
	if (gmtime_r(&seconds, &utc)) {
		json_seti(a, all, "utc_hour", utc.tm_hour);
		json_seti(a, all, "utc_weekday", utc.tm_wday ? utc.tm_wday : 7);
	}
	return all;
}

/* May this one still be used? */
static struct policy_facts state_of(
	struct arena *a, const struct json *word, const struct json *entry, const struct loaded *l)
{
	const char *at = json_get_text(entry, "at", "");
	const struct json *revoked =
		policy_revocation(word, l->sha256, json_get_text(entry, "content_sha256", NULL));
	struct policy_facts about = { .is_required = true,
		.refused_code = REASON_POLICY_NOT_READY,
		.fresh_us = json_get_int(entry, "fresh_seconds", 0) * 1000000 };

	(void)text_parse_time(at, strlen(at), &about.verified_us);
	about.is_refused = l->problem || revoked;
	about.refused_text = l->problem;
	if (!l->problem && revoked)
		about.refused_text = arena_printf(a, "The policy in use was revoked on %s: %s.",
			json_get_text(revoked, "at", ""), json_get_text(revoked, "reason", ""));
	return about;
}

static struct policy_answer *ask_one(struct arena *a, const struct json *word, const struct json *entry,
	const struct loaded *l, const struct policy_question *q, const struct decision *guard)
{
	const struct policy_facts about = state_of(a, word, entry, l);
	struct policy_question whole = *q;

	whole.known = policy_known(a, entry, q);
	struct policy_answer *p = (struct policy_answer *)policy_judge(a, l->rules, &about, &whole, guard);
	if (!p->sha256) {
		p->sha256 = arena_strdup(a, l->sha256);
		p->name = arena_strdup(a, json_get_text(entry, "name", ""));
		p->version = arena_strdup(a, json_get_text(entry, "version", ""));
	}
	p->lifts = json_get(entry, "lifts") ? json_copy(a, json_get(entry, "lifts")) : NULL;
	return p;
}

const char *policy_trouble(struct sys *s, struct arena *a, const struct workspace *ws)
{
	if (!policy_is_in_use(s, ws))
		return NULL;
	const struct json *word = posture_of(s, ws)->word;
	const struct policy_memo *m = loaded(s, a, ws, word);
	for (size_t i = 0; i < m->n; i++) {
		const struct policy_facts about = state_of(a, word, entry_at(word, i), &m->list[i]);
		int64_t age_us = s->now_us(s) - about.verified_us;
		if (about.is_refused)
			return arena_strdup(a, about.refused_text);
		if (about.fresh_us && (age_us < 0 || age_us > about.fresh_us))
			return "the policy in use was put in use too long ago to be relied on";
	}
	return NULL;
}

bool policy_is_bounded(struct sys *s, struct arena *a, const struct workspace *ws)
{
	if (!policy_is_in_use(s, ws))
		return false;
	const struct policy_memo *m = loaded(s, a, ws, posture_of(s, ws)->word);
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].rules && ruleset_limits(m->list[i].rules))
			return true;
	return false;
}

static int strictness(const struct policy_answer *p)
{
	return p->verdict == V_ALLOW ? 0 : p->verdict == V_ESCALATE ? 1 : 2;
}

/* Where two hold, each is obeyed: what either wants to be asked is asked, and what either counts is counted. */
static void obey_also(struct arena *a, struct policy_answer *to, const struct policy_answer *other)
{
	const char **asks = arena_zalloc(a, to->ask_count + other->ask_count + 1, sizeof(*asks));
	struct draw *draws = arena_zalloc(a, to->draw_count + other->draw_count + 1, sizeof(*draws));
	size_t n = to->draw_count;

	for (size_t i = 0; i < to->ask_count + other->ask_count; i++)
		asks[i] = i < to->ask_count ? to->asks[i] : other->asks[i - to->ask_count];
	for (size_t i = 0; i < to->draw_count; i++)
		draws[i] = to->draws[i];
	for (size_t i = 0; i < other->draw_count; i++)
		if (!draw_join(draws, n, &other->draws[i], false))
			draws[n++] = other->draws[i];
	to->asks = asks;
	to->ask_count += other->ask_count;
	to->draws = draws;
	to->draw_count = n;
	if (other->approvers > to->approvers)
		to->approvers = other->approvers;
}

const struct policy_answer *policy_ask(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct policy_question *q, const struct decision *guard)
{
	struct policy_answer *worst = NULL;

	if (!policy_is_in_use(s, ws))
		return NULL;
	const struct json *word = posture_of(s, ws)->word;
	const struct policy_memo *m = loaded(s, a, ws, word);
	for (size_t i = 0; i < m->n; i++) {
		struct policy_answer *p = ask_one(a, word, entry_at(word, i), &m->list[i], q, guard);
		struct policy_answer *milder = worst;
		if (!worst || strictness(p) > strictness(worst))
			worst = p;
		else
			milder = p;
		if (milder)
			obey_also(a, worst, milder);
	}
	return worst;
}

/* ---- what follows ---- */

static void more_asks(struct arena *a, const struct policy_answer *p, struct decision *d)
{
	struct ask *asks = arena_alloc(a, (d->ask_count + p->ask_count) * sizeof(*asks));

	if (d->ask_count)
		memcpy(asks, d->asks, d->ask_count * sizeof(*asks));
	for (size_t i = 0; i < p->ask_count; i++)
		asks[d->ask_count++] = (struct ask){ p->asks[i], NULL, UNDO_NONE };
	d->asks = asks;
}

/* What it says, and where that is written: "...(policy agents 2, rule no-touch, agents.yaml:6:5)". */
static const char *said_by(struct arena *a, const struct policy_answer *p)
{
	const char *text = p->text && *p->text ? p->text : reason_get(p->code)->meaning;
	bool has_version = p->version && *p->version;

	return arena_printf(a, "%s (policy %s%s%s, %s %s%s%s)", text, p->name, has_version ? " " : "",
		has_version ? p->version : "", p->rule ? "rule" : "gate", p->rule ? p->rule : p->gate,
		p->origin ? ", " : "", p->origin ? p->origin : "");
}

/* A policy that was revoked, lost or put in use too long ago lacks no signature; and where no rule is named, none can be read. */
static const char *remedy_of(const struct policy_answer *p)
{
	if (p->code == REASON_POLICY_NOT_READY)
		return "A person puts another policy in use: 'helm policy use FILE', or 'helm policy use --none' to go back.";
	if (p->code == REASON_POLICY_VIOLATION && !p->rule)
		return "'helm policy explain' with the id of the receipt says what would change the answer.";
	return reason_get(p->code)->remedy;
}

void policy_raise(struct arena *a, const struct policy_answer *p, struct decision *d)
{
	enum action action = p->verdict == V_ALLOW ? ACTION_ALLOW
		: p->verdict == V_ESCALATE	   ? ACTION_ASK
						   : ACTION_DENY;

	if (action == ACTION_ALLOW)
		return;
	if (action == ACTION_ASK)
		more_asks(a, p, d);
	if (p->approvers > d->approvers)
		d->approvers = (int)(p->approvers < INT32_MAX ? p->approvers : INT32_MAX);
	if (action <= d->action && d->verdict != V_ALLOW)
		return;
	struct finding *f = guard_raise(a, action, p->code,
		arena_printf(a, "policy:%s", p->rule ? p->rule : p->gate), said_by(a, p), d);
	f->instead = remedy_of(p);
}

bool policy_lifts(const struct policy_answer *p, const struct decision *d)
{
	if (!p || p->verdict != V_ALLOW || !p->is_explicit || d->has_more_asks || !d->ask_count)
		return false;
	for (size_t i = 0; i < d->ask_count; i++) {
		bool is_named = false;
		json_each (rule, p->lifts)
			is_named |= json_text(rule) && text_eq(json_text(rule), d->asks[i].rule);
		if (!is_named)
			return false;
	}
	return true;
}

enum verdict policy_with_guard(const struct policy_answer *p, const struct decision *guard)
{
	enum verdict own = decision_effective(guard);

	if ((own != V_ALLOW && own != V_ESCALATE) || (p->verdict != V_ALLOW && p->verdict != V_ESCALATE))
		return V_DENY;
	if (own == V_ESCALATE && policy_lifts(p, guard))
		return V_ALLOW;
	return own == V_ALLOW && p->verdict == V_ALLOW ? V_ALLOW : V_ESCALATE;
}
