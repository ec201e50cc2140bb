/* policy.c — from rule files to a policy that can be asked quickly.
 *
 * Every start of the program compiles the shipped rules, so this is kept small: one parse of one embedded file, and an index
 * from effect kind to the rules that can hold for it. */
#include "decide/policy/policy.h"

#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static const char shipped_file[] = "share/guard_rules.json";

static struct bytes shipped_rules(void)
{
	struct bytes text;

	if (!embed_find(shipped_file, &text))
		BUG("share/guard_rules.json is not in the program");
	return text;
}

/* The shipped file is ours, so its layout can be relied upon (a test does): each rule starts on a line of its own with the
 * first text, and says its kinds on a line with the second.  That lets a single question compile only the rules that can
 * speak about it; most commands only read, and need none. */
static const char rule_line[] = "    { \"id\": ";
static const char when_line[] = "      \"when\": { \"kind\": ";

static bool starts_with(struct bytes b, const char *text, size_t n)
{
	return b.n >= n && memcmp(b.p, text, n) == 0;
}

/* "delete", or ["write", "move"]: is one of these kinds among the words?  A word that only begins alike costs a rule that is
 * compiled in vain.  The embedded text ends in NUL. */
static bool names_kind(const char *words, uint64_t kinds)
{
	const char *end = words + strcspn(words, *words == '[' ? "]" : " ");

	for (const char *at = words; at < end; at++) {
		if (*at != '"')
			continue;
		for (uint64_t left = kinds; left; left &= left - 1)
			if (text_starts(at + 1, effect_kind_name((enum effect_kind)__builtin_ctzll(left))))
				return true;
	}
	return false;
}

/* Cuts the file into rules, line by line. */
struct rule_reader {
	struct bytes rest;
	const uint8_t *start; /* of the rule whose lines are being read; or NULL */
};

/* The next rule as JSON text; *ret_is_wanted when it can speak about one of the kinds. */
static bool next_rule(struct rule_reader *in, uint64_t kinds, struct bytes *ret, bool *ret_is_wanted)
{
	*ret_is_wanted = kinds == 0;
	while (in->rest.n) {
		struct bytes before = in->rest, line = text_cut(&in->rest, '\n');
		bool is_end = in->start && starts_with(line, "  ]", 3);
		if (in->start && (is_end || starts_with(line, rule_line, sizeof(rule_line) - 1))) {
			*ret = (struct bytes){ in->start, (size_t)(line.p - in->start) };
			in->start = NULL;
			if (!is_end)
				in->rest = before;
			while (strchr(", \n", ret->p[ret->n - 1]))
				ret->n--;
			return true;
		}
		if (!in->start && starts_with(line, rule_line, sizeof(rule_line) - 1))
			in->start = line.p;
		else if (kinds && starts_with(line, when_line, sizeof(when_line) - 1))
			*ret_is_wanted = names_kind((const char *)line.p + sizeof(when_line) - 1, kinds);
	}
	return false;
}

static void add_shipped(struct arena *a, struct policy *p, uint64_t kinds)
{
	struct rule_reader in = { shipped_rules(), NULL };
	struct bytes rule;
	struct json *doc;
	struct err e;
	bool is_wanted;

	p->builtin = in.rest;
	p->rule_room = 160;
	p->rules = arena_alloc(a, p->rule_room * sizeof(*p->rules));
	while (next_rule(&in, kinds, &rule, &is_wanted)) {
		if (!is_wanted)
			continue;
		if (p->rule_count == p->rule_room)
			BUG("more shipped rules than there is room for");
		if (json_parse(a, rule, "guard_rules.json", NULL, &doc, &e) ||
			rules_parse_one(a, doc, "built-in", &p->rules[p->rule_count++], &e))
			BUG(e.text);
	}
	if (p->rule_count == 0 && !kinds)
		BUG("share/guard_rules.json has no rules");
}

/* Two passes: count, then fill. */
static void index_rules(struct arena *a, struct policy *p)
{
	size_t total = 0;
	uint16_t *list;

	for (size_t i = 0; i < p->rule_count; i++)
		for (int kind = 0; kind < FX_KIND_COUNT; kind++)
			if (!p->rules[i].kinds || (p->rules[i].kinds >> kind & 1)) {
				p->by_kind_count[kind]++;
				total++;
			}
	list = arena_alloc(a, (total + 1) * sizeof(*list));
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		p->by_kind[kind] = list;
		if (!p->by_kind_count[kind])
			continue;
		for (size_t i = 0; i < p->rule_count; i++)
			if (!p->rules[i].kinds || (p->rules[i].kinds >> kind & 1))
				*list++ = (uint16_t)i;
	}
}

/* The file was not understood: the shipped rules stay, and a person is asked about everything. */
static void fail_closed(struct policy *p, const char *why)
{
	p->version = 0;
	p->error = why;
	p->default_mode = GUARD_ENFORCE;
	p->permits_off = false;
	p->text_rule_count = p->profile_rule_count = 0;
}

const struct policy *policy_compile(struct arena *a, const struct policy_source *from)
{
	struct policy *p = arena_zalloc(a, 1, sizeof(*p));
	size_t shipped;
	struct err e;

	p->version = 1;
	p->permits_off = true;
	/* A file may speak about any rule, so then all of them are needed. */
	add_shipped(a, p, from && !from->file.p && !from->read_error ? from->only_kinds : 0);
	shipped = p->rule_count;
	if (from && from->read_error) {
		fail_closed(p, from->read_error);
	} else if (from && from->file.p) {
		p->file = from->file;
		if (policy_file_add(a, p, from, &e)) {
			p->rule_count = shipped;
			fail_closed(p, arena_strdup(a, e.text));
		}
	}
	index_rules(a, p);
	return p;
}

uint64_t policy_kinds(const struct proposal *p)
{
	uint64_t kinds = 0;

	for (size_t i = 0; i < p->effect_count; i++)
		kinds |= UINT64_C(1) << p->effects[i].kind;
	/* None at all must not mean all. */
	return kinds ? kinds : UINT64_C(1) << FX_READ;
}

int policy_version(const struct policy *p)
{
	return p->version;
}

const char *policy_error(const struct policy *p)
{
	return p->error;
}

bool policy_wants_override(const struct policy *p)
{
	return p->has_unaccepted_override;
}

enum guard_mode policy_default_mode(const struct policy *p)
{
	return p->default_mode;
}

bool policy_permits_off(const struct policy *p)
{
	return p->permits_off;
}

const char *policy_sha256(struct arena *a, const struct policy *p)
{
	uint8_t digest[SHA256_SIZE];
	struct sha256 h;

	/* Hashing them takes longer than compiling those that a question needs. */
	if (!p || !p->file.p)
		return embed_sha256(shipped_file);
	char *hex = arena_text(a, SHA256_HEX);

	sha256_begin(&h);
	sha256_add(&h, p->builtin.p, p->builtin.n);
	sha256_add(&h, p->file.p, p->file.n);
	sha256_end(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	return hex;
}

bool policy_rule(const struct policy *p, size_t i, struct rule_view *ret)
{
	if (i < p->rule_count) {
		const struct rule *r = &p->rules[i];
		*ret = (struct rule_view){ r->id, r->text, r->instead, r->recommended_profile, r->action,
			r->reason, r->origin, r->when, NULL };
		return true;
	}
	i -= p->rule_count;
	if (i < p->text_rule_count) {
		const struct text_rule *t = &p->text_rules[i];
		*ret = (struct rule_view){ t->id, t->text, NULL, t->recommended_profile, t->action,
			t->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules, t->origin,
			NULL, json_get(t->document, "patterns") };
		return true;
	}
	return false;
}
