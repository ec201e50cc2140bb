/* threat.c — what a text looks like, and what that means when it comes from somebody nobody trusts.
 *
 * The scan finds phrases of a table (threats.def) in the plain form of the text, and characters that hide something.  It decides
 * nothing.  The gate weighs what was found with where the text comes from: words alone are never a reason. */
#include "decide/authority/parts.h"

#include <string.h>

enum { WORDS_MOST = 20000, GAP = 3 };

static const char *const severities[] = { "INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL" };
TABLE_COVERS(severities, SEVERITY_COUNT);

const char *severity_name(enum severity s)
{
	return severities[s];
}

static const struct threat {
	const char *rule, *class;
	enum severity severity;
	enum reason_code code;
	const char *phrase; /* NULL: not found by words */
} threats[] = {
	{ "unicode.invisible", "unicode_zero_width", SEVERITY_HIGH, REASON_UNICODE_OBFUSCATION_DETECTED,
		NULL },
	{ "unicode.lookalike", "unicode_homoglyph", SEVERITY_HIGH, REASON_UNICODE_OBFUSCATION_DETECTED,
		NULL },
	{ "unicode.delta", "unicode_normalisation", SEVERITY_LOW, REASON_UNICODE_OBFUSCATION_DETECTED, NULL },
#define THREAT(rule, class, severity, code, phrase) \
	{ #rule, #class, SEVERITY_##severity, REASON_##code, phrase },
#include "decide/authority/threats.def"
#undef THREAT
};
enum { INVISIBLE, LOOKALIKE, DELTA };

/* ---- plain form ---- */

static bool is_invisible(uint32_t c)
{
	return c == 0xad || (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
		(c >= 0x2060 && c <= 0x2069) || c == 0xfeff || (c >= 0xe0000 && c <= 0xe007f);
}

/* The letter of ASCII that it is taken for; 0: none. */
static char lookalike(uint32_t c)
{
	static const struct {
		uint32_t from;
		char to;
	} table[] = { { 0x430, 'a' }, { 0x410, 'a' }, { 0x3b1, 'a' }, { 0x391, 'a' }, { 0x412, 'b' },
		{ 0x392, 'b' }, { 0x441, 'c' }, { 0x421, 'c' }, { 0x3f2, 'c' }, { 0x501, 'd' },
		{ 0x435, 'e' }, { 0x415, 'e' }, { 0x395, 'e' }, { 0x4bb, 'h' }, { 0x41d, 'h' },
		{ 0x397, 'h' }, { 0x456, 'i' }, { 0x406, 'i' }, { 0x3b9, 'i' }, { 0x399, 'i' },
		{ 0x131, 'i' }, { 0x458, 'j' }, { 0x408, 'j' }, { 0x43a, 'k' }, { 0x41a, 'k' },
		{ 0x3ba, 'k' }, { 0x39a, 'k' }, { 0x4cf, 'l' }, { 0x41c, 'm' }, { 0x39c, 'm' },
		{ 0x39d, 'n' }, { 0x578, 'n' }, { 0x43e, 'o' }, { 0x41e, 'o' }, { 0x3bf, 'o' },
		{ 0x39f, 'o' }, { 0x585, 'o' }, { 0x440, 'p' }, { 0x420, 'p' }, { 0x3c1, 'p' },
		{ 0x3a1, 'p' }, { 0x51b, 'q' }, { 0x455, 's' }, { 0x405, 's' }, { 0x422, 't' },
		{ 0x3a4, 't' }, { 0x3c5, 'u' }, { 0x57d, 'u' }, { 0x3bd, 'v' }, { 0x475, 'v' },
		{ 0x51d, 'w' }, { 0x445, 'x' }, { 0x425, 'x' }, { 0x3a7, 'x' }, { 0x443, 'y' },
		{ 0x423, 'y' }, { 0x3a5, 'y' }, { 0x4af, 'y' }, { 0x396, 'z' } };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].from == c)
			return table[i].to;
	return 0;
}

/* Letters in other dress: full width, and the mathematical alphabets. */
static char undressed(uint32_t c)
{
	if (c >= 0xff01 && c <= 0xff5e)
		return (char)(c - 0xff01 + '!');
	if (c >= 0x1d400 && c <= 0x1d6a3)
		return (char)((c - 0x1d400) % 52 < 26 ? 'a' + (c - 0x1d400) % 26
						      : 'a' + (c - 0x1d400) % 52 - 26);
	return 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static char lower(uint32_t c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* What was seen while a text was made plain. */
struct plain {
	struct buf out;
	bool is_found[DELTA + 1];
	bool is_after_word, has_plain, has_odd; /* of the word at hand */
};

static void end_word(struct plain *p)
{
	if (p->has_plain && p->has_odd)
		p->is_found[LOOKALIKE] = true;
	p->has_plain = p->has_odd = p->is_after_word = false;
}

static void take(struct plain *p, uint32_t c, const char *from, size_t n)
{
	char odd = lookalike(c), dressed = undressed(c), plain = lower(c < 0x80 ? c : ' ');

	if (is_invisible(c)) {
		/* Between letters of ASCII it can only hide something; elsewhere scripts and emoji need it. */
		p->is_found[INVISIBLE] = p->is_found[INVISIBLE] || p->is_after_word;
		return;
	}
	if (dressed)
		p->is_found[DELTA] = true;
	if (odd || dressed) {
		p->has_odd = p->has_odd || odd;
		buf_addc(&p->out, odd ? odd : lower((unsigned char)dressed));
	} else if (c < 0x80) {
		buf_addc(&p->out, plain);
		p->has_plain = p->has_plain || (is_word(plain) && plain > '9');
		p->is_after_word = is_word(plain);
		if (!p->is_after_word)
			end_word(p);
	} else {
		buf_add(&p->out, from, n);
		p->is_after_word = false;
	}
}

/* A byte that is no text is a blank. */
static void make_plain(struct arena *a, const char *text, size_t n, struct plain *ret)
{
	*ret = (struct plain){ 0 };
	buf_init(&ret->out, a);
	for (size_t at = 0; at < n;) {
		uint32_t c = ' ';
		size_t step = text_decode(text + at, n - at, &c);
		take(ret, step ? c : ' ', text + at, step);
		at += step ? step : 1;
	}
	end_word(ret);
}

char *threat_plain(struct arena *a, const char *text, size_t n)
{
	struct plain p;

	make_plain(a, text, n, &p);
	return p.out.p;
}

/* ---- phrases ---- */

struct words {
	const char **at;
	size_t *n, count;
};

static void cut(struct arena *a, const char *text, size_t n, struct words *ret)
{
	*ret = (struct words){ .at = arena_zalloc(a, WORDS_MOST, sizeof(char *)),
		.n = arena_zalloc(a, WORDS_MOST, sizeof(size_t)) };
	for (size_t i = 0; i < n && ret->count < WORDS_MOST;) {
		size_t end = i;
		while (end < n && is_word(text[end]))
			end++;
		if (end > i) {
			ret->at[ret->count] = text + i;
			ret->n[ret->count++] = end - i;
		}
		i = end + 1;
	}
}

/* Is the word one of "a|b|c"? */
static bool is_one(const char *options, size_t n, const char *word, size_t word_n)
{
	while (n) {
		const char *bar = memchr(options, '|', n);
		size_t len = bar ? (size_t)(bar - options) : n;
		if (len == word_n && memcmp(options, word, len) == 0)
			return true;
		options += len + (bar ? 1 : 0);
		n -= len + (bar ? 1 : 0);
	}
	return false;
}

/* Does the phrase stand at this word?  Each gap is closed by the first word that fits, so that the work is bounded. */
static bool stands_at(const struct words *w, size_t at, const char *phrase)
{
	size_t gap = 0;

	while (*phrase) {
		size_t n = strcspn(phrase, " ");
		bool is_gap = n == 1 && *phrase == '_';
		size_t skipped = 0;
		while (!is_gap && at < w->count && skipped < gap && !is_one(phrase, n, w->at[at], w->n[at])) {
			at++;
			skipped++;
		}
		if (!is_gap && (at >= w->count || !is_one(phrase, n, w->at[at], w->n[at])))
			return false;
		gap = is_gap ? gap + GAP : 0;
		at += is_gap ? 0 : 1;
		phrase += n + (phrase[n] ? 1 : 0);
	}
	return true;
}

static bool has_phrase(const struct words *w, const char *phrase)
{
	for (size_t i = 0; i < w->count; i++)
		if (stands_at(w, i, phrase))
			return true;
	return false;
}

static void add_finding(struct arena *a, struct json *list, const struct threat *t)
{
	struct json *f = json_new(a, JSON_OBJECT);

	json_sets(a, f, "rule", t->rule);
	json_sets(a, f, "class", t->class);
	json_sets(a, f, "severity", severities[t->severity]);
	json_push(a, list, f);
}

/* *ret_worst: the first of the most severe; NULL: nothing was found. */
static struct json *scan(struct arena *a, const char *text, size_t n, const struct threat **ret_worst)
{
	struct json *doc = json_new(a, JSON_OBJECT), *findings = json_new(a, JSON_ARRAY);
	struct plain p;
	struct words w;

	make_plain(a, text, n, &p);
	cut(a, p.out.p, p.out.n, &w);
	for (size_t i = 0; i < ARRAY_SIZE(threats); i++) {
		const struct threat *t = &threats[i];
		if (t->phrase ? !has_phrase(&w, t->phrase) : !p.is_found[i])
			continue;
		add_finding(a, findings, t);
		if (!*ret_worst || t->severity > (*ret_worst)->severity)
			*ret_worst = t;
	}
	json_set(a, doc, "findings", findings);
	json_sets(a, doc, "worst", *ret_worst ? severities[(*ret_worst)->severity] : NULL);
	json_setb(a, doc, "is_cut", w.count == WORDS_MOST);
	return doc;
}

struct json *threat_scan(struct arena *a, const char *text, size_t n)
{
	const struct threat *worst = NULL;

	return scan(a, text, n, &worst);
}

bool threat_quarantines(const struct json *doc)
{
	const char *worst = json_get_text(doc, "worst", "");

	return text_eq(worst, "HIGH") || text_eq(worst, "CRITICAL") || json_get_bool(doc, "is_cut", true);
}

/* ---- the gate ---- */

/* Every text that the caller passes on, one after the other. */
static void gather(struct buf *to, const struct json *from)
{
	static const char *const names[] = { "user_input", "text", "content" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(from, names[i]);
		if (!json_is(v, JSON_STRING))
			continue;
		buf_add(to, v->text, v->n);
		buf_addc(to, '\n');
	}
}

static void judge(struct judging *j, const struct threat *worst, bool is_cut, struct gate_answer *ret)
{
	const struct json *section = section_of(j, "privilege");
	bool is_risky = privilege_required(section, j->ask->effect_type) >= TIER_ELEVATED;

	if (worst && worst->severity >= SEVERITY_HIGH)
		gate_deny(ret, worst->code, worst->rule,
			arena_printf(j->a, "A text that nobody vouches for looks like an attack (%s).",
				worst->class));
	else if (is_cut)
		gate_escalate(ret, REASON_SEMANTIC_THREAT_REVIEW_REQUIRED, "threat.length",
			"A text that nobody vouches for is too long to be looked through.");
	else if (worst && worst->severity >= SEVERITY_MEDIUM && is_risky)
		gate_escalate(ret, REASON_TAINTED_HIGH_RISK_ESCALATE, worst->rule,
			"A text that nobody vouches for presses for something risky.");
}

void gate_threat(struct judging *j, struct gate_answer *ret)
{
	const struct threat *worst = NULL;
	struct buf text;

	if (!section_of(j, "threat"))
		return;
	ret->is_active = true;
	buf_init(&text, j->a);
	gather(&text, j->ask->params);
	gather(&text, j->ask->context);
	if (!text.n)
		return;
	const struct json *doc = scan(j->a, text.p, text.n, &worst);
	judge(j, worst, json_get_bool(doc, "is_cut", true), ret);
	struct json *bound = json_new(j->a, JSON_OBJECT);
	json_set(j->a, bound, "threat_scan", json_copy(j->a, doc));
	ret->bound = bound;
}
