/* ask.c — what the policy in use says about a question.
 *
 * Reading and compiling happen once per process and policy: the compiled one is kept with the workspace and looked at again when the
 * standing word names another digest.  Where no policy is in use this costs one look into a document that is in memory already.
 *
 * Where it closes: a policy that is named and cannot be read, does not compile, is revoked or is older than it may be denies everything, with
 * POLICY_NOT_READY.  Of several that hold (an act that is not finished; a place that lies under another one) the strictest decides, and none
 * answers for a person. */
#include "kernel/policy/policy.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "decide/authority/authority.h"
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
	struct loaded *list; /* those that hold, and behind them the shadow */
	size_t n; /* that hold */
	bool has_shadow;
	const char *key; /* the digests, one after the other */
	struct json *places; /* of all of them (ruleset_places) */
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

static void add_places(struct policy_memo *m, const struct ruleset *rules)
{
	struct json *more = rules ? ruleset_places(&m->a, rules) : NULL;

	if (!m->places)
		m->places = more;
	else
		json_each (one, more)
			json_push(&m->a, m->places, one);
}

/* What was kept of another word is forgotten at once: nothing that was answered before points there. */
static const struct policy_memo *loaded(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *word)
{
	struct policy_memo *m = ws->policies;
	const struct json *entry, *shadow = json_get(word, "policy_shadow");
	const char *beside = json_get_text(shadow, "sha256", "");
	const char *key = arena_printf(a, "%s%s", key_of(a, word), beside);
	size_t n = 0;

	if (m->key && text_eq(m->key, key))
		return m;
	arena_done(&m->a);
	*m = (struct policy_memo){ 0 };
	while (entry_at(word, n))
		n++;
	m->list = arena_zalloc(&m->a, n + 1, sizeof(*m->list));
	for (; (entry = entry_at(word, m->n)); m->n++)
		load(s, ws, json_get_text(entry, "sha256", ""), &m->list[m->n]);
	m->has_shadow = shadow != NULL;
	if (shadow)
		load(s, ws, beside, &m->list[n]);
	for (size_t i = 0; i < n + m->has_shadow; i++)
		add_places(m, m->list[i].rules);
	m->key = arena_strdup(&m->a, key);
	return m;
}

bool policy_wants(struct sys *s, struct arena *a, const struct workspace *ws, const struct ruleset *door,
	enum gate_id g)
{
	const struct policy_memo *m = ws && ws->memo ? loaded(s, a, ws, posture_of(s, ws)->word) : NULL;
	bool is_wanted = door && ruleset_wants(door, g);

	for (size_t i = 0; m && i < m->n + m->has_shadow; i++)
		is_wanted |= m->list[i].rules && ruleset_wants(m->list[i].rules, g);
	return is_wanted;
}

const struct json *policy_places(struct sys *s, struct arena *a, const struct workspace *ws)
{
	return ws && ws->memo ? loaded(s, a, ws, posture_of(s, ws)->word)->places : NULL;
}

const struct ruleset *policy_shadow_rules(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const struct policy_memo *m = loaded(s, a, ws, posture_of(s, ws)->word);

	return m->has_shadow ? m->list[m->n].rules : NULL;
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
	p->asks[p->ask_count++] = arena_printf(a, POLICY_RULE "%s", x->rule ? x->rule : gate_name(g));
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
	p->bound = x->bound ? json_copy(a, x->bound) : NULL;
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

static struct policy_answer *judge_tool(struct arena *a, const struct ruleset *rules,
	const struct policy_facts *about, const struct policy_question *q, const struct decision *guard,
	struct as_tool tool)
{
	struct policy_answer *p = arena_zalloc(a, 1, sizeof(*p));
	struct judgement *j = arena_zalloc(a, 1, sizeof(*j));

	question_judge(a, rules, about, q, guard, tool, j);
	p->verdict = V_ALLOW;
	weigh(a, j, p);
	if (p->verdict != V_DENY && !tool.is_beside)
		keep_draws(a, j, p);
	p->roster_sha256 = judgement_roster_sha256(a, j);
	p->judged = j;
	if (rules) {
		p->sha256 = arena_strdup(a, ruleset_sha256(rules));
		p->name = arena_strdup(a, ruleset_name(rules));
		p->version = arena_strdup(a, ruleset_version(rules));
		p->epoch = ruleset_epoch(rules);
	}
	return p;
}

struct json *policy_judgement(struct arena *a, const struct policy_answer *p)
{
	return judgement_to_json(a, p->judged);
}

struct json *policy_reasons(struct arena *a, const struct ruleset *rules, const struct policy_question *q,
	const struct decision *guard)
{
	const struct submission ask = { .effect_type = q->action, .tool = q->tool, .proposal = q->proposal };
	const struct facts facts = { .known = q->known, .guard = guard };

	return engine_reasons(a, rules, &ask, &facts);
}

/* ---- several answers ---- */

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

/* The stricter of both answers, with what the other one asks and counts. */
static struct policy_answer *stricter(struct arena *a, struct policy_answer *x, struct policy_answer *y)
{
	if (!x || !y)
		return x ? x : y;
	struct policy_answer *worst = strictness(y) > strictness(x) ? y : x;
	obey_also(a, worst, worst == x ? y : x);
	return worst;
}

/* Is the tool of the question one of the programs that it starts?  Then it is a command, and each of them needs a rule that allows it. */
static bool is_command(const struct policy_question *q)
{
	json_each (one, q->tools)
		if (q->tool && json_text(one) && text_eq(json_text(one), q->tool))
			return true;
	return !q->tool;
}

/* A rule allows a command by name when one does so for each of its programs. */
static struct policy_answer *stricter_of(
	struct arena *a, struct policy_answer *worst, struct policy_answer *next, struct as_tool tool)
{
	bool is_explicit = worst->is_explicit && (next->is_explicit || tool.is_beside);

	worst = stricter(a, worst, next);
	worst->is_explicit = is_explicit;
	return worst;
}

/* Of several programs the strictest answer counts.  What is used up by all of them is used up once.  There are many ways to write a place: what is
 * forbidden by its name is forbidden there, too. */
const struct policy_answer *policy_judge(struct arena *a, const struct ruleset *rules,
	const struct policy_facts *about, const struct policy_question *q, const struct decision *guard)
{
	struct as_tool own = { .name = q->tool };
	struct policy_answer *worst = judge_tool(a, rules, about, q, guard, own);
	bool is_whole = is_command(q);

	json_each (one, q->tools) {
		const char *name = json_text(one);
		struct as_tool tool = { .name = name, .is_unknown = !name, .is_beside = !is_whole };
		if (!name || !q->tool || !text_eq(name, q->tool))
			worst = stricter_of(a, worst, judge_tool(a, rules, about, q, guard, tool), tool);
		if (name && strchr(name, '/')) {
			tool = (struct as_tool){ .name = path_base(name), .is_beside = true };
			worst = stricter_of(a, worst, judge_tool(a, rules, about, q, guard, tool), tool);
		}
	}
	return worst;
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

const char *policy_counted_at(const struct posture *at, const struct json *entry)
{
	const char *own = json_get_text(json_get(at->own, "policy"), "sha256", "");

	return text_eq(own, json_get_text(entry, "sha256", "")) ? NULL : at->outer;
}

/* What a place above bounds is counted there.  A place that no person lets stand alone has none of it for itself: otherwise whoever makes places has the limit as often as they like. */
static void count_elsewhere(struct arena *a, const char *at, struct policy_question *q)
{
	q->drawn = NULL;
	q->drawn_error = arena_printf(
		a, "What this policy bounds is counted in %s, and this place does not stand alone.", at);
}

static struct policy_answer *ask_one(struct arena *a, const struct posture *at, const struct json *entry,
	const struct loaded *l, const struct policy_question *q, const struct decision *guard)
{
	const struct policy_facts about = state_of(a, at->word, entry, l);
	const char *elsewhere = policy_counted_at(at, entry);
	struct policy_question whole = *q;

	whole.known = policy_known(a, entry, q);
	if (elsewhere)
		count_elsewhere(a, elsewhere, &whole);
	struct policy_answer *p = (struct policy_answer *)policy_judge(a, l->rules, &about, &whole, guard);
	if (elsewhere && p->text && whole.drawn_error && text_eq(p->text, whole.drawn_error))
		p->instead =
			"Work there, or have a person let this place stand alone: 'helm workspace trust'.";
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

/* Does what it says rest on what was used up? */
static bool counts(const struct ruleset *rules)
{
	return ruleset_limits(rules) || ruleset_section(rules, "delegation");
}

bool policy_is_bounded(struct sys *s, struct arena *a, const struct workspace *ws, const struct ruleset *door)
{
	if (door && counts(door))
		return true;
	if (!policy_is_in_use(s, ws))
		return false;
	const struct policy_memo *m = loaded(s, a, ws, posture_of(s, ws)->word);
	for (size_t i = 0; i < m->n; i++)
		if (m->list[i].rules && counts(m->list[i].rules))
			return true;
	return false;
}

static struct policy_answer *ask_door(struct arena *a, const struct ruleset *door,
	const struct policy_question *q, const struct decision *guard)
{
	const struct policy_facts about = { .is_required = true };
	struct policy_question whole = *q;

	whole.known = policy_known(a, NULL, q);
	return (struct policy_answer *)policy_judge(a, door, &about, &whole, guard);
}

const struct policy_answer *policy_ask(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct ruleset *door, const struct policy_question *q, const struct decision *guard)
{
	struct policy_answer *worst = door ? ask_door(a, door, q, guard) : NULL;

	if (!policy_is_in_use(s, ws))
		return worst;
	const struct posture *at = posture_of(s, ws);
	const struct policy_memo *m = loaded(s, a, ws, at->word);
	for (size_t i = 0; i < m->n; i++)
		worst = stricter(a, worst, ask_one(a, at, entry_at(at->word, i), &m->list[i], q, guard));
	/* Where the door has a policy of its own, no other one answers for a person. */
	if (door && worst)
		worst->lifts = NULL;
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
	if (p->instead)
		return p->instead;
	if (p->code == REASON_POLICY_NOT_READY)
		return "A person puts another policy in use: 'helm policy use FILE', or 'helm policy use --none' to go back.";
	if (p->code == REASON_POLICY_VIOLATION && !p->rule)
		return "'helm policy explain' with the id of the receipt says what would change the answer.";
	if (p->code == REASON_NO_POLICY_DEFINED && !p->rule)
		return "'helm policy show' lists what the policy in use allows; a person adds a rule for this and puts it in use: 'helm policy use FILE'.";
	return reason_get(p->code)->remedy;
}

void policy_raise(struct arena *a, const struct policy_answer *p, struct decision *d)
{
	enum rule_effect action = p->verdict == V_ALLOW ? ACTION_ALLOW
		: p->verdict == V_ESCALATE		? ACTION_ASK
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
		arena_printf(a, POLICY_RULE "%s", p->rule ? p->rule : p->gate), said_by(a, p), d);
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
	if (p->is_whole)
		return p->verdict;
	enum verdict own = decision_effective(guard);

	if ((own != V_ALLOW && own != V_ESCALATE) || (p->verdict != V_ALLOW && p->verdict != V_ESCALATE))
		return V_DENY;
	if (own == V_ESCALATE && policy_lifts(p, guard))
		return V_ALLOW;
	return own == V_ALLOW && p->verdict == V_ALLOW ? V_ALLOW : V_ESCALATE;
}
