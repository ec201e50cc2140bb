/* umbrella.c — skills that have so much in common that one could stand for them. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "remember/lifecycle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, SHORTEST_NAME = 3, SHORTEST_WORD = 4, MOST_WORDS = 15 };

/* {token: {skill id: true}} */
static void add(struct arena *a, struct json *groups, const char *token, const char *skill)
{
	json_setb(a, doc_part(a, groups, token), skill, true);
}

static bool is_listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (text_eq(*list, word))
			return true;
	return false;
}

/* ---- names ---- */

static void add_names(struct arena *a, const struct skill *s, struct json *groups)
{
	static const char *const stop[] = { "ko", "ops", "and", "the", "v1", "v2", "data", "info", NULL };

	for (const char *p = s->id; *p;) {
		size_t n = strcspn(p, "-_");
		const char *token = arena_strndup(a, p, n);
		if (n >= SHORTEST_NAME && !is_listed(stop, token))
			add(a, groups, token, s->id);
		p += n + (p[n] != '\0');
	}
}

/* ---- descriptions ---- */

static bool is_verb_form(const char *word)
{
	static const char *const verbs[] = { "need", "want", "make", "get", "find", "show", "give", "take",
		"ask", "say", "tell", "run", "call", "add", "set", "skill", "task", "tool", "agent", "use",
		NULL };
	static const char *const ends[] = { "", "s", "ed", "ing", NULL };

	for (const char *const *v = verbs; *v; v++) {
		size_t n = strlen(*v);
		/* "making", "running": without the last letter, or with it twice. */
		bool is_stem = strncmp(word, *v, n) == 0;
		if (is_stem &&
			(is_listed(ends, word + n) ||
				(word[n] == (*v)[n - 1] && is_listed(ends, word + n + 1))))
			return true;
		if (strncmp(word, *v, n - 1) == 0 && (*v)[n - 1] == 'e' && is_listed(ends, word + n - 1) &&
			word[n - 1])
			return true;
	}
	return false;
}

static bool says_nothing(const char *word)
{
	static const char *const stop[] = { "about", "above", "across", "after", "against", "along", "also",
		"among", "around", "because", "been", "before", "being", "below", "between", "beyond", "both",
		"does", "down", "during", "each", "from", "have", "having", "inside", "into", "less", "like",
		"more", "most", "must", "onto", "only", "other", "outside", "over", "same", "should", "since",
		"some", "such", "than", "that", "their", "them", "then", "there", "these", "they", "this",
		"those", "through", "toward", "towards", "under", "until", "upon", "used", "user", "users",
		"using", "very", "what", "when", "where", "which", "while", "will", "with", "within",
		"without", "your", "gave", "given", "gotten", "made", "said", "shown", "taken", "told",
		"took", "found", "있다", "없다", "한다", "된다", "있을", "없을", "또는", "그리고", "사용",
		"필요", "관련", "처리", "기반", "포함", "제공", NULL };

	return is_listed(stop, word) || is_verb_form(word);
}

/* Letters of a-z and Hangul, in lower case, four at least. */
static size_t letter(const char *p)
{
	uint32_t cp;
	size_t n = text_decode(p, strlen(p), &cp);

	return n && ((n == 1 && islower((unsigned char)*p)) || (cp >= 0xac00 && cp <= 0xd7a3)) ? n : 0;
}

static void add_words(struct arena *a, const struct skill *s, struct json *groups)
{
	size_t clean_n;
	const char *clean = text_utf8(a, s->description, strlen(s->description), "?", &clean_n);

	for (const char *p = text_fold(a, clean, clean_n); *p;) {
		size_t n = 0, chars = 0, one;
		while ((one = letter(p + n))) {
			n += one;
			chars++;
		}
		const char *word = arena_strndup(a, p, n);
		if (chars >= SHORTEST_WORD && !says_nothing(word))
			add(a, groups, word, s->id);
		p += n ? n : 1;
	}
}

/* ---- what they call ---- */

static void add_named(
	struct lifecycle *l, const struct skill *all, size_t n, const struct skill *s, struct json *groups)
{
	struct arena *a = l->at.a;
	struct bytes text;

	if (file_read(l->at.sys, a, l->at.root_fd, arena_printf(a, "%s/SKILL.md", s->dir), MAX_TEXT,
		    FILE_BENEATH, &text, NULL))
		return;
	for (const char *p = (const char *)text.p; (p = strchr(p, '`')); p++) {
		size_t len = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789-");
		if (len < 3 || p[len + 1] != '`' || !islower((unsigned char)p[1]))
			continue;
		const char *id = arena_strndup(a, p + 1, len);
		for (size_t i = 0; i < n; i++)
			if (text_eq(all[i].id, id) && !text_eq(id, s->id))
				add(a, groups, id, s->id);
	}
}

static void add_policies(struct lifecycle *l, struct json *groups)
{
	struct json *doc;

	if (doc_read(l->at.sys, l->at.a, l->at.root_fd, "references/skill_profile_policies.json", MAX_TEXT,
		    FILE_BENEATH, &doc, NULL))
		return;
	json_each_member (m, json_get(doc, "skills")) {
		const char *chosen = json_get_text(m->value, "default_profile", NULL);
		if (chosen)
			add(l->at.a, groups, chosen, m->name);
	}
}

/* ---- clusters ---- */

struct cluster {
	const char *token;
	struct json *skills;
};

static int largest_first(const void *x, const void *y)
{
	const struct cluster *p = x, *q = y;

	return p->skills->n != q->skills->n ? (p->skills->n < q->skills->n ? 1 : -1)
					    : strcmp(p->token, q->token);
}

struct wanted {
	const char *signal;
	size_t least, too_many, most; /* too_many, most: 0 has no bound */
	bool is_once; /* of groups with the same skills the first */
};

static bool is_told(const struct json *out, const struct json *skills)
{
	json_each (one, out)
		if (json_eq(json_get(one, "skill_ids"), skills))
			return true;
	return false;
}

static void tell(struct arena *a, const struct json *groups, const struct wanted *w, struct json *all)
{
	struct cluster *list = arena_zalloc(a, groups->n + 1, sizeof(*list));
	struct json *out = json_new(a, JSON_ARRAY);
	size_t n = 0;

	json_each_member (m, groups) {
		if (m->value->n < w->least || (w->too_many && m->value->n >= w->too_many))
			continue;
		json_sort_members(m->value);
		list[n++] = (struct cluster){ m->name, m->value };
	}
	if (n)
		qsort(list, n, sizeof(*list), largest_first);
	for (size_t i = 0; i < n && (!w->most || out->n < w->most); i++) {
		struct json *one = json_new(a, JSON_OBJECT), *ids = json_new(a, JSON_ARRAY);
		json_each_member (m, list[i].skills)
			json_pushs(a, ids, m->name);
		if (w->is_once && is_told(out, ids))
			continue;
		json_sets(a, one, "signal", w->signal);
		json_sets(a, one, "token", list[i].token);
		json_set(a, one, "skill_ids", ids);
		json_push(a, out, one);
	}
	json_each (one, out)
		json_push(a, all, one);
}

int lifecycle_umbrella(struct lifecycle *l, size_t least, struct json **ret, struct err *e)
{
	static const char *const rooms[] = { "skills", NULL };
	struct arena *a = l->at.a;
	struct json *names = json_new(a, JSON_OBJECT), *words = json_new(a, JSON_OBJECT),
		    *calls = json_new(a, JSON_OBJECT), *profiles = json_new(a, JSON_OBJECT),
		    *all = json_new(a, JSON_ARRAY);
	struct skill *skills;
	size_t n;
	int rc = skill_list(&l->at, rooms, &skills, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (!skills[i].has_text)
			continue;
		add_names(a, &skills[i], names);
		add_words(a, &skills[i], words);
		add_named(l, skills, n, &skills[i], calls);
	}
	add_policies(l, profiles);
	size_t common = n / 4 + 1 > least + 1 ? n / 4 + 1 : least + 1;
	tell(a, names, &(struct wanted){ "name_token", least, 0, 0, false }, all);
	tell(a, words, &(struct wanted){ "description_token", least, common, MOST_WORDS, false }, all);
	tell(a, calls, &(struct wanted){ "downstream_share", least, 0, 0, true }, all);
	tell(a, profiles, &(struct wanted){ "execution_profile", least, 0, 0, false }, all);
	*ret = all;
	return OK;
}
