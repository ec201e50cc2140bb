/* question.c — a question as a document: kept in rows so that it can be asked again, and written by hand to be asked at all.
 *
 * What is kept is what policies can read and nothing more.  Long texts are cut: what was written to a file does not belong into a row. */
#include "kernel/policy/policy.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"

#include <string.h>

enum { LONGEST_TEXT = 4096, MOST_EFFECTS = 64, DEEPEST = 32 };

/* ---- writing ---- */

/* A long text by its digest and length.  Names and structure stay. */
static struct json *shortened(struct arena *a, const struct json *v, bool *is_cut, int depth)
{
	struct json *to;

	if (json_is(v, JSON_STRING) && v->n > LONGEST_TEXT) {
		*is_cut = true;
		return json_stringf(a, "[%u bytes, %s]", v->n, sha256_prefixed(a, v->text, v->n));
	}
	if (depth == DEEPEST || (!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY))) {
		*is_cut |= depth == DEEPEST;
		return depth == DEEPEST ? json_new(a, JSON_NULL) : json_copy(a, v);
	}
	to = json_new(a, (enum json_type)v->type);
	json_each_member (m, v)
		json_set(a, to, m->name, shortened(a, m->value, is_cut, depth + 1));
	json_each (one, v)
		json_push(a, to, shortened(a, one, is_cut, depth + 1));
	return to;
}

static struct json *effects_json(struct arena *a, const struct proposal *p, bool *is_cut)
{
	struct json *list = json_new(a, JSON_ARRAY);

	*is_cut |= p->effect_count > MOST_EFFECTS;
	for (size_t i = 0; i < p->effect_count && i < MOST_EFFECTS; i++) {
		const struct effect *f = &p->effects[i];
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "kind", effect_kind_name(f->kind));
		if (f->target)
			json_sets(a, one, "target", f->target);
		json_sets(a, one, "class", path_class_name(f->path_class));
		json_sets(a, one, "certainty", certainty_name(f->certainty));
		if (f->program)
			json_sets(a, one, "program", f->program);
		if (f->tag)
			json_sets(a, one, "tag", f->tag);
		if (f->resolved)
			json_sets(a, one, "resolved", f->resolved);
		struct json *flags = effect_flags_json(a, f->flags);
		if (flags->n)
			json_set(a, one, "flags", flags);
		json_push(a, list, one);
	}
	return list;
}

struct json *policy_question_json(struct arena *a, const struct policy_question *q)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	bool is_cut = false;

	json_sets(a, doc, "action", q->action);
	if (q->tool)
		json_sets(a, doc, "tool", q->tool);
	if (q->tools)
		json_set(a, doc, "tools", json_copy(a, q->tools));
	json_sets(a, doc, "principal", q->principal);
	if (q->session)
		json_sets(a, doc, "session", q->session);
	if (q->params)
		json_set(a, doc, "params", shortened(a, q->params, &is_cut, 0));
	if (q->context)
		json_set(a, doc, "context", shortened(a, q->context, &is_cut, 0));
	if (q->proposal)
		json_set(a, doc, "effects", effects_json(a, q->proposal, &is_cut));
	if (q->known)
		json_set(a, doc, "facts", json_copy(a, q->known));
	if (is_cut)
		json_setb(a, doc, "is_cut", true);
	return doc;
}

/* ---- what is written down ---- */

/* Where links lead, by texts as they will stand in the row.  `asked` is what was asked, `kept` the same without credentials and people. */
struct keeping {
	struct arena *a;
	const struct json *places;
	const char *cwd; /* or NULL */
	struct json *seen, *to;
};

static const char *without_secrets(struct arena *a, const char *text)
{
	struct json *v = json_string(a, text);

	privacy_redact_people(a, v);
	privacy_redact_json(a, v);
	return v->text;
}

static unsigned holes(const char *text)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, REDACTED)); at += strlen(REDACTED))
		n++;
	return n;
}

/* Where the way leads is not told when it shows what its name does not, or when two names have become one. */
static void keep_place(struct keeping *k, const char *name, const char *as)
{
	const char *real = json_get_text(k->places, name, NULL), *had = json_get_text(k->to, as, NULL);

	if (!real)
		return;
	real = without_secrets(k->a, real);
	if (holes(real) < holes(as) || (had && !text_eq(had, real)))
		real = "";
	json_sets(k->a, k->to, as, real);
	json_setb(k->a, k->seen, name, true);
}

static const char *clean_form(struct keeping *k, const char *text)
{
	return path_clean(k->a, k->cwd ? path_join(k->a, k->cwd, text) : text);
}

static void keep_places_of(struct keeping *k, const struct json *asked, const struct json *kept)
{
	if (json_text(asked) && json_text(kept) &&
		asked->n < LONGEST_TEXT) { /* longer ones are not looked up */
		keep_place(k, asked->text, kept->text);
		keep_place(k, clean_form(k, asked->text), clean_form(k, kept->text));
	}
	for (uint32_t i = 0; json_is(asked, JSON_ARRAY) && i < asked->n; i++)
		keep_places_of(k, json_at(asked, i), json_at(kept, i));
	json_each_member (m, asked)
		keep_places_of(k, m->value, json_get(kept, m->name));
}

/* Names are texts of the request, too.  They become what the texts become when the row is written, so that a replay finds them.  The others are
 * places that policies name. */
static void keep_places(struct arena *a, const struct json *params, struct json *doc)
{
	struct json *facts = json_get(doc, "facts"), *kept = json_get(doc, "params");
	struct keeping k = { .a = a,
		.places = json_get(facts, "places"),
		.cwd = json_get_text(facts, "cwd", NULL),
		.seen = json_new(a, JSON_OBJECT),
		.to = json_new(a, JSON_OBJECT) };

	if (!k.places)
		return;
	if (params && kept) {
		kept = json_copy(a, kept);
		privacy_redact_json(a, kept);
		keep_places_of(&k, params, kept);
	}
	json_each_member (m, k.places)
		if (!json_get(k.seen, m->name))
			keep_place(&k, m->name, without_secrets(a, m->name));
	json_set(a, facts, "places", k.to);
}

struct json *policy_question_kept(struct arena *a, const struct policy_question *q)
{
	static const char *const theirs[] = { "params", "context", "effects" };
	struct json *doc = policy_question_json(a, q);

	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
		privacy_redact_people(a, json_get(doc, theirs[i]));
	keep_places(a, q->params, doc);
	return doc;
}

/* ---- reading ---- */

static int wrong(struct err *e, const char *member, const char *what)
{
	return err_set(e, E_INPUT, "POLICY_REQUEST", "'%s' of the request must be %s", member, what);
}

/* "tag" as it is kept, or the first of "tags" as expressions see it. */
static const char *tag_of(const struct json *one)
{
	const char *tag = json_get_text(one, "tag", NULL);

	return tag ? tag : json_text(json_at(json_get(one, "tags"), 0));
}

static int read_flags(const struct json *list, struct effect *f, struct err *e)
{
	unsigned flag;

	if (list && !json_is(list, JSON_ARRAY))
		return wrong(e, "effects[].flags", "a list of flags (docs/formats/effects.md)");
	json_each (item, list) {
		if (!json_text(item) || !effect_flag_parse(json_text(item), &flag))
			return wrong(e, "effects[].flags", "a list of flags (docs/formats/effects.md)");
		f->flags |= flag;
	}
	return OK;
}

static int read_effect(const struct json *one, struct effect *f, struct err *e)
{
	if (!effect_kind_parse(json_get_text(one, "kind", ""), &f->kind))
		return wrong(e, "effects[].kind", "a kind of effect (docs/formats/effects.md)");
	if (!path_class_parse(json_get_text(one, "class", "none"), &f->path_class))
		return wrong(e, "effects[].class", "a class of paths (docs/formats/effects.md)");
	if (!certainty_parse(json_get_text(one, "certainty", "certain"), &f->certainty))
		return wrong(e, "effects[].certainty", "certain, prefixed or dynamic");
	f->target = json_get_text(one, "target", NULL);
	f->program = json_get_text(one, "program", NULL);
	f->resolved = json_get_text(one, "resolved", NULL);
	f->tag = tag_of(one);
	return read_flags(json_get(one, "flags"), f, e);
}

static int read_effects(struct arena *a, const struct json *list, struct policy_question *q, struct err *e)
{
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));

	if (!json_is(list, JSON_ARRAY))
		return wrong(e, "effects", "a list of {kind, target, class}");
	p->effects = arena_zalloc(a, list->n + 1, sizeof(*p->effects));
	p->readable = true;
	json_each (one, list)
		if (read_effect(one, &p->effects[p->effect_count++], e))
			return e->rc;
	q->proposal = p;
	return OK;
}

static int read_text(const struct json *doc, const char *name, const char **ret, struct err *e)
{
	const struct json *v = json_get(doc, name);

	*ret = json_text(v);
	return v && !*ret ? wrong(e, name, "a text") : OK;
}

static int read_tools(const struct json *doc, const struct json **ret, struct err *e)
{
	*ret = json_get(doc, "tools");
	if (*ret && !json_is(*ret, JSON_ARRAY))
		return wrong(e, "tools", "a list of names");
	json_each (one, *ret)
		if (!json_text(one) && !json_is(one, JSON_NULL))
			return wrong(e, "tools", "a list of names, with null for one that is not known");
	return OK;
}

static int read_object(const struct json *doc, const char *name, const struct json **ret, struct err *e)
{
	*ret = json_get(doc, name);
	return *ret && !json_is(*ret, JSON_OBJECT) ? wrong(e, name, "an object") : OK;
}

/* The published form of a submission keeps action and params in "effect". */
static int read_submission(const struct json *doc, struct policy_question *q, struct err *e)
{
	const struct json *effect = json_get(doc, "effect");
	int rc = read_text(effect, "effect_type", &q->action, e);

	if (rc == OK)
		rc = read_text(effect, "effect_id", &q->effect_id, e);
	if (rc == OK)
		rc = read_text(effect, "budget_id", &q->budget_id, e);
	return rc ? rc : read_object(effect, "params", &q->params, e);
}

static int check_members(const struct json *doc, struct err *e)
{
	static const char *const known[] = { "action", "tool", "tools", "principal", "session", "params",
		"context", "effects", "facts", "effect", "command", "is_cut", "effect_id", "budget_id" };

	json_each_member (m, doc) {
		bool is_known = false;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= text_eq(known[i], m->name);
		const char *near = is_known ? NULL : text_nearest(m->name, known, ARRAY_SIZE(known));
		if (!is_known)
			return err_set(e, E_INPUT, "POLICY_REQUEST", "a request has no member '%s'%s%s%s",
				m->name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	return OK;
}

/* A time, or seconds since 1970; 0: not said. */
static int read_now(const struct json *facts, int64_t *ret_us, struct err *e)
{
	const struct json *now = json_get(facts, "now");
	const char *text = json_text(now);
	int64_t seconds = 0;

	*ret_us = 0;
	if (!now || (text && text_parse_time(text, strlen(text), ret_us)))
		return OK;
	if (text || !json_int(now, &seconds) || seconds > INT64_MAX / 1000000 || seconds < 0)
		return wrong(e, "facts.now", "a time (2026-04-13T09:10:00Z) or seconds since 1970");
	*ret_us = seconds * 1000000;
	return OK;
}

/* Who asks is what is known of it, and only then what is claimed. */
static void fill_in(const struct json *facts, struct policy_question *q)
{
	q->known = facts;
	if (!q->action)
		q->action = q->tool ? "AGENT_TOOL_CALL" : "";
	q->principal = json_get_text(facts, "principal", q->principal ? q->principal : "");
	q->session = json_get_text(facts, "session", q->session);
}

int policy_question_read(struct arena *a, const struct json *doc, struct policy_question *ret, struct err *e)
{
	struct policy_question q = { 0 };
	const struct json *facts = NULL;
	const struct {
		const char *name;
		const char **to;
	} texts[] = { { "action", &q.action }, { "tool", &q.tool }, { "principal", &q.principal },
		{ "session", &q.session }, { "effect_id", &q.effect_id }, { "budget_id", &q.budget_id } };
	int rc = json_is(doc, JSON_OBJECT) ? check_members(doc, e)
					   : err_set(e, E_INPUT, "POLICY_REQUEST",
						     "a request is an object, not %s", json_type_name(doc));

	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(texts); i++)
		rc = read_text(doc, texts[i].name, texts[i].to, e);
	if (rc == OK)
		rc = read_tools(doc, &q.tools, e);
	if (rc == OK && json_get(doc, "effect"))
		rc = read_submission(doc, &q, e);
	if (rc == OK && !q.params)
		rc = read_object(doc, "params", &q.params, e);
	if (rc == OK && json_get(doc, "context") && !json_is(json_get(doc, "context"), JSON_NULL))
		rc = read_object(doc, "context", &q.context, e);
	if (rc == OK)
		rc = read_object(doc, "facts", &facts, e);
	if (rc == OK && json_get(doc, "effects"))
		rc = read_effects(a, json_get(doc, "effects"), &q, e);
	if (rc == OK)
		rc = read_now(facts, &q.now_us, e);
	if (rc)
		return rc;
	fill_in(facts, &q);
	*ret = q;
	return OK;
}
