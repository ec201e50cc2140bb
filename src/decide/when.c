/* when.c — the condition of a rule about one effect: reading it, asking whether it holds, and saying why. */
#include "decide/when.h"

#include "base/file.h"
#include "decide/decide.h"
#include "model/egress.h"

#include <string.h>

enum when_type { TYPE_TRUTH, TYPE_WORD, TYPE_FLAGS, TYPE_GLOBS, TYPE_PATHS, TYPE_HOSTS };
enum {
	TEXTS_SEARCHED = 64 << 10
}; /* in a larger block equal texts may stand twice: to look for them costs more */

#define ALL_KINDS ((UINT64_C(1) << FX_KIND_COUNT) - 1)

static const struct {
	const char *name, *word;
	enum when_type type;
} fields[] = {
#define WHEN_ROW(id, name, type, word) { name, word, TYPE_##type },
	WHEN_FIELDS(WHEN_ROW)
#undef WHEN_ROW
};
TABLE_COVERS(fields, WHEN_FIELD_COUNT);

static const char *const where_names[] = { "here", "elsewhere", "any" };
enum { HERE, ELSEWHERE, ANYWHERE };

bool when_field_parse(const char *name, size_t n, enum when_field *ret)
{
	for (unsigned f = 0; f < WHEN_FIELD_COUNT; f++)
		if (strlen(fields[f].name) == n && memcmp(fields[f].name, name, n) == 0) {
			*ret = (enum when_field)f;
			return true;
		}
	return false;
}

const char *when_field_name(enum when_field f)
{
	return fields[f].name;
}

bool when_field_is_word(enum when_field f)
{
	return fields[f].type == TYPE_WORD || fields[f].type == TYPE_TRUTH;
}

bool when_field_is_list(enum when_field f)
{
	return fields[f].type == TYPE_FLAGS;
}

/* ---- reading ---- */

void when_begin(struct when_maker *m, struct arena *a)
{
	*m = (struct when_maker){ .a = a };
	buf_init(&m->texts, a);
	buf_addc(&m->texts, '\0');
}

struct when_data when_made(const struct when_maker *m)
{
	return (struct when_data){ m->tests, m->texts.p };
}

static uint32_t add_text(struct when_maker *m, const char *p, size_t n)
{
	const char *found = m->texts.n < TEXTS_SEARCHED ? memmem(m->texts.p + 1, m->texts.n - 1, p, n) : NULL;

	if (found)
		return (uint32_t)(found - m->texts.p);
	buf_add(&m->texts, p, n);
	return (uint32_t)(m->texts.n - n);
}

uint32_t when_text(struct when_maker *m, const char *text)
{
	return text ? add_text(m, text, strlen(text) + 1) : 0;
}

/* Every message names the file, the rule and the word that was not understood. */
static int bad(const struct when_reader *r, const char *what, const char *word)
{
	return err_set(r->e, E_INPUT, r->code, "%s: %s '%s'", r->where, what, word);
}

/* The i-th word of a text or a list of texts; NULL behind the last. */
static const char *word_at(const struct json *v, size_t i)
{
	if (json_is(v, JSON_ARRAY))
		return i < v->n ? json_text(v->items[i]) : NULL;
	return i == 0 ? json_text(v) : NULL;
}

/* A text, or a list of texts that is not empty. */
static int check_words(const struct when_reader *r, const struct json *v, const char *member)
{
	if (!json_text(v) && (!json_is(v, JSON_ARRAY) || v->n == 0))
		return bad(r, "must be a text or a list of texts:", member);
	json_each (item, v)
		if (!json_text(item))
			return bad(r, "must be texts:", member);
	return OK;
}

/* Words of a fixed list become bits, so that they are compared without looking at texts. */
static bool word_bits(enum when_field f, const char *word, uint64_t *ret)
{
	enum certainty certainty;
	enum effect_kind kind;
	enum path_class class;
	unsigned flag;

	switch ((int)f) {
	case WHEN_KIND:
		if (!effect_kind_parse(word, &kind))
			return false;
		*ret |= UINT64_C(1) << kind;
		return true;
	case WHEN_FLAGS:
		if (!effect_flag_parse(word, &flag))
			return false;
		*ret |= flag;
		return true;
	case WHEN_CLASS:
		if (!path_class_parse(word, &class))
			return false;
		*ret |= UINT64_C(1) << class;
		return true;
	case WHEN_CERTAINTY:
		if (!certainty_parse(word, &certainty))
			return false;
		*ret |= UINT64_C(1) << certainty;
		return true;
	default: /* WHEN_WHERE */
		for (unsigned c = 0; c < ARRAY_SIZE(where_names); c++)
			if (text_eq(where_names[c], word)) {
				*ret |= c == ANYWHERE ? 1u << HERE | 1u << ELSEWHERE : 1u << c;
				return true;
			}
		return false;
	}
}

/* Names as globs, addresses and networks in their usual spelling: one that is not would hold for nobody. */
static bool is_host(const char *word)
{
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address = false;
	size_t n = strcspn(word, "/");

	if (!word[strcspn(word, "/:")])
		return true;
	return egress_host(word, n, name, &is_address, address) && is_address &&
		(!word[n] || egress_in_network(word, address));
}

static int read_bits(const struct when_reader *r, const struct json *v, struct when_test *t)
{
	const char *word;

	for (size_t i = 0; (word = word_at(v, i)); i++)
		if (!word_bits((enum when_field)t->field, word, &t->bits))
			return bad(r, arena_printf(r->to->a, "no such %s:", fields[t->field].word), word);
	return OK;
}

/* One behind the other, each ended by NUL, an empty one behind the last. */
static int read_texts(const struct when_reader *r, const struct json *v, struct when_test *t)
{
	enum when_type type = fields[t->field].type;
	const char *word;
	struct buf list;

	/* Such a pattern is compared with what a command says; what it leads to is known to the operators. */
	if (r->is_allowing && type != TYPE_GLOBS)
		return bad(r, "a rule that allows says it with path_under or host_in of effect.target:",
			fields[t->field].name);
	buf_init(&list, r->to->a);
	for (size_t i = 0; (word = word_at(v, i)); i++) {
		if (!*word)
			return bad(r, "must not be empty:", fields[t->field].name);
		if (type == TYPE_HOSTS && !is_host(word))
			return bad(r, "no name, address or network:", word);
		buf_add(&list, word, strlen(word) + 1);
	}
	buf_addc(&list, '\0');
	t->texts = add_text(r->to, list.p, list.n);
	return OK;
}

static int read_test(const struct when_reader *r, const struct json *v, struct when_test *t)
{
	enum when_type type = fields[t->field].type;

	if (type == TYPE_TRUTH) {
		if (!json_is_bool(v))
			return bad(r, "must be true or false:", fields[t->field].name);
		t->bits = json_is(v, JSON_TRUE);
		return OK;
	}
	if (check_words(r, v, fields[t->field].name))
		return r->e->rc;
	return type == TYPE_WORD || type == TYPE_FLAGS ? read_bits(r, v, t) : read_texts(r, v, t);
}

static void put_test(struct when_maker *m, const struct when_test *t)
{
	if (m->n == m->room) {
		uint32_t room = m->room ? 2 * m->room : 16;
		m->tests = arena_grow(m->a, m->tests, m->room * sizeof(*m->tests), room * sizeof(*m->tests));
		m->room = room;
	}
	m->tests[m->n++] = *t;
}

int when_add(const struct when_reader *r, enum when_field field, bool is_not, const struct json *words,
	struct when *w)
{
	struct when_test t = { .field = (uint8_t)field, .is_not = is_not };

	if (read_test(r, words, &t))
		return r->e->rc;
	put_test(r->to, &t);
	w->n++;
	return OK;
}

/* "not_" in front means none of them; of what is true or false there is no such member. */
static bool member_parse(const struct json_member *m, enum when_field *ret_field, bool *ret_not)
{
	size_t skip = text_starts(m->name, "not_") ? strlen("not_") : 0;

	*ret_not = skip > 0;
	return when_field_parse(m->name + skip, m->name_n - skip, ret_field) &&
		(!skip || fields[*ret_field].type != TYPE_TRUTH);
}

/* Kinds are where a rule lies, so they are no test. */
static int read_kinds(const struct when_reader *r, const struct json *v, bool is_not, struct when *w)
{
	struct when_test t = { .field = WHEN_KIND };

	if (read_test(r, v, &t))
		return r->e->rc;
	w->kinds &= is_not ? ~t.bits : t.bits;
	return OK;
}

int when_read(const struct when_reader *r, const struct json *doc, struct when *ret)
{
	struct when w = { .kinds = ALL_KINDS, .first = r->to->n };
	enum when_field field;
	bool is_not;

	json_each_member (m, doc)
		if (!member_parse(m, &field, &is_not))
			return bad(r, "no such condition:", m->name);
	/* In the order of the table, whatever the order of the file. */
	for (unsigned f = 0; f < WHEN_FIELD_COUNT; f++)
		json_each_member (m, doc) {
			(void)member_parse(m, &field, &is_not);
			if (field == f &&
				(f == WHEN_KIND ? read_kinds(r, m->value, is_not, &w)
						: when_add(r, field, is_not, m->value, &w)))
				return r->e->rc;
		}
	*ret = w;
	return OK;
}

/* ---- asking ---- */

struct when_at when_at_profile(const struct profile *profile, enum placement placement, const char *workspace)
{
	return (struct when_at){ .workspace = workspace,
		.profile = profile->name,
		.contained = profile_is_contained(profile, placement) ? WHEN_TRUE : WHEN_FALSE,
		.profile_writes = profile->writes == ALLOWANCE_NO ? WHEN_FALSE : WHEN_TRUE };
}

static bool any_glob(const char *globs, const char *s, bool path)
{
	for (; *globs; globs += strlen(globs) + 1)
		if (text_glob(globs, s, path))
			return true;
	return false;
}

/* Whoever is meant by the target, in whatever spelling. */
static bool any_host(const char *hosts, const char *target)
{
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address;

	if (!egress_reached(target, name, &is_address, address))
		return false;
	for (; *hosts; hosts += strlen(hosts) + 1)
		if (text_glob(hosts, name, false) || (is_address && egress_in_network(hosts, address)))
			return true;
	return false;
}

/* The target is a directory that contains the workspace; deleting it deletes the workspace too. */
static bool is_above(const struct effect *e, const char *workspace)
{
	return workspace && e->target && !text_eq(e->target, workspace) &&
		path_is_below(workspace, e->target);
}

static unsigned word_of(enum when_field f, const struct effect *e)
{
	return f == WHEN_CLASS	      ? (unsigned)e->path_class
		: f == WHEN_CERTAINTY ? (unsigned)e->certainty
		: f == WHEN_KIND      ? (unsigned)e->kind
				      : (effect_is_elsewhere(e) ? ELSEWHERE : HERE);
}

static enum when_truth truth_of(enum when_field f, const struct effect *e, const struct when_at *at)
{
	return f == WHEN_CONTAINED	   ? at->contained
		: f == WHEN_PROFILE_WRITES ? at->profile_writes
					   : (is_above(e, at->workspace) ? WHEN_TRUE : WHEN_FALSE);
}

static const char *text_of(enum when_field f, const struct effect *e, const struct when_at *at)
{
	return f == WHEN_TAG	    ? e->tag
		: f == WHEN_PROGRAM ? e->program
		: f == WHEN_PROFILE ? at->profile
				    : e->target;
}

/* A target is compared as it is written and as it resolves: a link cannot lead around a rule. */
static bool texts_hold(const struct when_data *d, const struct when_test *t, const struct effect *e,
	const struct when_at *at, bool is_allowing)
{
	const char *text = text_of((enum when_field)t->field, e, at), *list = d->texts + t->texts;
	bool found = false;

	if (t->field == WHEN_PROFILE && !text)
		return !is_allowing;
	if (is_allowing && !text)
		return false;
	if (t->field == WHEN_HOST)
		found = text && any_host(list, text);
	else
		found = text && any_glob(list, text, t->field == WHEN_TARGET);
	if (t->field == WHEN_TARGET && !found)
		found = e->resolved && any_glob(list, e->resolved, true);
	return found != t->is_not;
}

static inline bool test_holds(const struct when_data *d, const struct when_test *t, const struct effect *e,
	const struct when_at *at, bool is_allowing)
{
	enum when_truth truth;

	switch ((enum when_field)t->field) {
	case WHEN_CONTAINED:
	case WHEN_PROFILE_WRITES:
	case WHEN_ABOVE:
		truth = truth_of((enum when_field)t->field, e, at);
		return truth == WHEN_NOT_KNOWN ? !is_allowing : (truth == WHEN_TRUE) == (t->bits != 0);
	case WHEN_FLAGS:
		return t->is_not ? !(e->flags & t->bits) : (e->flags & t->bits) == t->bits;
	case WHEN_CLASS:
	case WHEN_CERTAINTY:
	case WHEN_WHERE:
	case WHEN_KIND:
		return (t->bits >> word_of((enum when_field)t->field, e) & 1) != t->is_not;
	default:
		return texts_hold(d, t, e, at, is_allowing);
	}
}

bool when_holds(const struct when_data *d, const struct when *w, const struct effect *e,
	const struct when_at *at, bool is_allowing)
{
	const struct when_test *t = d->tests + w->first, *end = t + w->n;

	while (t != end && test_holds(d, t, e, at, is_allowing))
		t++;
	return t == end;
}

/* ---- explaining ---- */

/* The name of the i-th word of a field, or of the i-th flag. */
static const char *word_name(enum when_field f, unsigned i)
{
	switch ((int)f) {
	case WHEN_KIND:
		return effect_kind_name((enum effect_kind)i);
	case WHEN_CLASS:
		return path_class_name((enum path_class)i);
	case WHEN_CERTAINTY:
		return certainty_name((enum certainty)i);
	case WHEN_FLAGS:
		return effect_flag_name(1u << i);
	default: /* WHEN_WHERE */
		return where_names[i];
	}
}

struct json *when_value(struct arena *a, enum when_field f, const struct effect *e, const struct when_at *at)
{
	uint8_t address[EGRESS_ADDRESS];
	char host[EGRESS_HOST];
	enum when_truth truth;
	const char *text;
	bool is_address;

	switch (fields[f].type) {
	case TYPE_TRUTH:
		truth = truth_of(f, e, at);
		return truth == WHEN_NOT_KNOWN ? NULL
					       : json_new(a, truth == WHEN_TRUE ? JSON_TRUE : JSON_FALSE);
	case TYPE_WORD:
		return json_string(a, word_name(f, word_of(f, e)));
	case TYPE_FLAGS:
		return effect_flags_json(a, e->flags);
	case TYPE_HOSTS: /* a path names nobody, although it can be read so */
		return e->path_class == PATH_NONE && e->target &&
				egress_reached(e->target, host, &is_address, address)
			? json_string(a, host)
			: NULL;
	default:
		text = text_of(f, e, at);
		return text ? json_string(a, text) : NULL;
	}
}

/* "root, sys, out"; returns how many. */
static size_t add_list(struct buf *b, const struct when_data *d, const struct when_test *t)
{
	enum when_type type = fields[t->field].type;
	size_t n = 0;

	if (type == TYPE_WORD || type == TYPE_FLAGS) {
		for (unsigned i = 0; i < 64; i++)
			if (t->bits >> i & 1)
				buf_addf(b, "%s%s", n++ ? ", " : "", word_name((enum when_field)t->field, i));
		return n;
	}
	for (const char *p = d->texts + t->texts; *p; p += strlen(p) + 1)
		buf_addf(b, "%s%s", n++ ? ", " : "", p);
	return n;
}

/* What was found, and what was asked for. */
static void add_sentence(struct buf *b, struct arena *a, const struct when_data *d, const struct when_test *t,
	const struct effect *e, const struct when_at *at, bool holds)
{
	enum when_field f = (enum when_field)t->field;
	struct json *found = when_value(a, f, e, at);
	const char *text = json_text(found);
	struct buf list;

	buf_init(&list, a);
	size_t n = fields[f].type == TYPE_TRUTH ? 0 : add_list(&list, d, t);
	if (b->n)
		buf_adds(b, "; ");
	if (fields[f].type == TYPE_TRUTH) {
		buf_addf(b, "%s is %s%s", fields[f].name,
			!found				    ? "not known"
				: json_is(found, JSON_TRUE) ? "true"
							    : "false",
			holds		  ? ""
				: t->bits ? ", not true"
					  : ", not false");
	} else if (fields[f].type == TYPE_FLAGS) {
		buf_addf(b, "flags %s %s",
			t->is_not ? (holds ? "have none of" : "have one of")
				  : (holds ? "have" : "lack one of"),
			list.p);
	} else {
		buf_addf(b, "%s is %s", fields[f].name,
			text ? text_seen(a, text, strnlen(text, 200), false) : "not known");
		if (n > 1 || !holds || t->is_not)
			buf_addf(b, ", %s %s",
				holds == t->is_not ? (holds ? "none of" : "not one of") : "one of", list.p);
	}
}

const char *when_explain(struct arena *a, const struct when_data *d, const struct when *w,
	const struct effect *e, const struct when_at *at, bool is_allowing, bool *ret_holds)
{
	const struct when_test kind = { .field = WHEN_KIND, .bits = w->kinds };
	bool all = true;
	struct buf said, failed;

	buf_init(&said, a);
	buf_init(&failed, a);
	for (int i = w->kinds == ALL_KINDS ? 0 : -1; i < w->n; i++) {
		const struct when_test *t = i < 0 ? &kind : &d->tests[w->first + (uint32_t)i];
		bool holds = test_holds(d, t, e, at, is_allowing);
		all = all && holds;
		add_sentence(holds ? &said : &failed, a, d, t, e, at, holds);
	}
	*ret_holds = all;
	return all ? said.p : failed.p;
}

struct json *when_reason(struct arena *a, const struct rule_place *place, const struct when_data *d,
	const struct when *w, const struct effect *e, const struct when_at *at, bool is_allowing)
{
	struct json *o = json_new(a, JSON_OBJECT);
	const char *kind = effect_kind_name(e->kind);
	bool holds;

	json_sets(a, o, "layer", place->layer);
	json_sets(a, o, "rule", place->rule);
	if (place->origin)
		json_sets(a, o, "origin", place->origin);
	json_sets(a, o, "effect", e->target ? arena_printf(a, "%s %s", kind, e->target) : kind);
	const char *because = when_explain(a, d, w, e, at, is_allowing, &holds);
	json_setb(a, o, "holds", holds);
	json_sets(a, o, "because", because);
	return o;
}

const char *reason_line(struct arena *a, const struct json *reason)
{
	const char *origin = json_get_text(reason, "origin", NULL),
		   *what = json_get_text(reason, "effect", ""),
		   *because = json_get_text(reason, "because", "");
	bool holds = json_get_bool(reason, "holds", false);

	return arena_printf(a, "rule %s (layer %s%s%s) %s %s%s%s%s", json_get_text(reason, "rule", ""),
		json_get_text(reason, "layer", ""), origin ? ", " : "", origin ? origin : "",
		holds ? "holds for" : "does not hold for", text_seen(a, what, strnlen(what, 200), false),
		*because ? ": " : "", because,
		holds && json_get_bool(reason, "has_more", false) ? "; it has other conditions, too" : "");
}
