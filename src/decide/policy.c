/* policy.c — from rule files to a policy that can be asked quickly.
 *
 * Every start of the program compiles the shipped rules, so this is kept small: one parse of one embedded file, and an index
 * from effect kind to the rules that can hold for it. */
#include "decide/policy.h"

#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"

static struct bytes shipped_rules(void)
{
	struct bytes text;

	if (!embed_find("share/guard_rules.json", &text))
		BUG("share/guard_rules.json is not in the program");
	return text;
}

static void add_shipped(struct arena *a, struct policy *p)
{
	const struct json *list;
	struct json *doc;
	struct err e;

	p->builtin = shipped_rules();
	if (json_parse(a, p->builtin, "guard_rules.json", NULL, &doc, &e))
		BUG("share/guard_rules.json is not JSON");
	list = json_get(doc, "rules");
	p->rule_room = (list ? list->n : 0) + 16;
	p->rules = arena_zalloc(a, p->rule_room, sizeof(*p->rules));
	json_each (item, list)
		if (rules_parse_one(a, item, "built-in", &p->rules[p->rule_count++], &e))
			BUG(arena_printf(a, "shipped rule: %s", e.text));
	if (p->rule_count == 0)
		BUG("share/guard_rules.json has no rules");
}

/* Two passes: count, then fill. */
static void index_rules(struct arena *a, struct policy *p)
{
	for (int kind = 0; kind < FX_KIND_COUNT; kind++) {
		uint16_t *list, n = 0;
		for (size_t i = 0; i < p->rule_count; i++)
			n = (uint16_t)(n + (!p->rules[i].kinds || (p->rules[i].kinds >> kind & 1)));
		list = arena_alloc(a, (n + 1u) * sizeof(*list));
		p->by_kind[kind] = list;
		p->by_kind_count[kind] = n;
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
	add_shipped(a, p);
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
