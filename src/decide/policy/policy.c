/* policy.c — the policy of one place: the shipped rules, and what its file adds.
 *
 * The shipped rules are constant tables that the build makes from share/guard_rules.json (policy.h).
 * Nothing is read or built for them at start, because the guard runs in front of every command and must
 * be quick. Only a workspace's own file is read, and a file that cannot be understood makes the policy
 * stricter, never weaker. */
#include "decide/policy/policy.h"

#include "base/embed.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

/* Pointers are set here and not in a constant, which would need relocation. */
static struct rule_layer shipped_layer(void)
{
	return (struct rule_layer){ .name = "shipped",
		.origin = "built-in",
		.file = "guard_rules.json",
		.rules = shipped_rules,
		.n = shipped_rule_count,
		.data = { shipped_tests, shipped_text },
		.by_kind = shipped_by_kind,
		.kind_start = shipped_kind_start };
}

const struct rule *policy_rule_at(const struct policy *p, size_t i, const struct rule_layer **ret)
{
	for (size_t k = 0; k < LAYER_COUNT; k++) {
		*ret = &p->layers[k];
		if (i < p->layers[k].n)
			return &p->layers[k].rules[i];
		i -= p->layers[k].n;
	}
	return NULL;
}

/* Tables of the program are constant: the first change of a shipped rule copies them all into the policy. */
void policy_set_action(struct policy *p, size_t i, enum rule_effect action)
{
	struct rule_layer *l = &p->layers[LAYER_SHIPPED];

	if (i >= l->n) {
		i -= l->n;
		l = &p->layers[LAYER_FILE];
	}
	if (!l->own) {
		l->own = arena_alloc(p->a, l->n * sizeof(*l->own));
		memcpy(l->own, l->rules, l->n * sizeof(*l->own));
		l->rules = l->own;
	}
	l->own[i].action = (uint8_t)action;
}

/* The file was not understood. The shipped rules stay in force, and because `error` is set, decide.c
 * asks a person about every command. Rules of the file that were read before the mistake are dropped:
 * half a policy is not what its author wrote. */
static void fail_closed(struct policy *p, const char *why)
{
	p->version = 0;
	p->error = why;
	p->default_mode = GUARD_ENFORCE;
	p->permits_off = false;
	p->layers[LAYER_FILE].n = p->text_rule_count = p->profile_rule_count = 0;
}

/* A file that is there but cannot be read is treated like one that is wrong; only a file that does not
 * exist adds nothing. */
const struct policy *policy_compile(struct arena *a, const struct policy_source *from)
{
	struct policy *p = arena_zalloc(a, 1, sizeof(*p));
	struct err e;

	p->a = a;
	p->layers[LAYER_SHIPPED] = shipped_layer();
	p->version = 1;
	p->permits_off = true;
	if (from && from->read_error) {
		fail_closed(p, from->read_error);
	} else if (from && from->file.p) {
		p->file = from->file;
		if (policy_file_add(a, p, from, &e))
			fail_closed(p, arena_strdup(a, e.text));
	}
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

/* The digest goes into records, to show later which rules were in force. Without a file it is the one
 * the build computed. */
const char *policy_sha256(struct arena *a, const struct policy *p)
{
	uint8_t digest[SHA256_SIZE];
	struct bytes shipped;
	struct sha256 h;

	if (!p || !p->file.p)
		return shipped_sha256;
	if (!embed_find("share/guard_rules.json", &shipped))
		BUG("share/guard_rules.json is not in the program");
	char *hex = arena_text(a, SHA256_HEX);

	sha256_begin(&h);
	sha256_add(&h, shipped.p, shipped.n);
	sha256_add(&h, p->file.p, p->file.n);
	sha256_end(&h, digest);
	hex_encode(digest, sizeof(digest), hex);
	return hex;
}

/* The condition as it is written. It is parsed here, because only `guard rules` shows it. */
static const struct json *written_when(
	const struct policy *p, const struct rule_layer *l, const struct rule *r)
{
	struct json *when;
	struct err e;

	if (json_parse(p->a, bytes_of(l->data.texts + r->when_text), "when", NULL, &when, &e))
		BUG(e.text);
	return when;
}

/* The order is that of judging: shipped rules, the file's rules about effects, the file's rules about
 * text. */
bool policy_rule(const struct policy *p, size_t i, struct rule_view *ret)
{
	const struct rule_layer *l;
	const struct rule *r = policy_rule_at(p, i, &l);

	if (r) {
		*ret = (struct rule_view){ rule_layer_text(l, r->id), rule_layer_text(l, r->text),
			rule_layer_text(l, r->instead), rule_layer_text(l, r->recommended_profile),
			(enum rule_effect)r->action, (enum reason_code)r->reason, l->origin,
			written_when(p, l, r), NULL };
		return true;
	}
	for (size_t k = 0; k < LAYER_COUNT; k++)
		i -= p->layers[k].n;
	if (i < p->text_rule_count) {
		const struct text_rule *t = &p->text_rules[i];
		*ret = (struct rule_view){ t->id, t->text, NULL, t->recommended_profile, t->action,
			t->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules, t->origin,
			NULL, json_get(t->document, "patterns") };
		return true;
	}
	return false;
}

/* Several rules may have one id: the first that holds is the one that spoke. */
struct json *decide_reason(struct arena *a, const struct decision *d, const struct finding *f)
{
	const struct when_at at = when_at_profile(d->profile, d->placement, d->workspace);
	const struct rule *r;
	const struct rule_layer *l;

	for (size_t i = 0; d->policy && f->effect && (r = policy_rule_at(d->policy, i, &l)); i++) {
		if (!text_eq(rule_layer_text(l, r->id), f->rule) || !(r->when.kinds >> f->effect->kind & 1) ||
			!when_holds(&l->data, &r->when, f->effect, &at, false))
			continue;
		const struct rule_place place = { l->name, f->rule,
			arena_printf(a, "%s:%u", l->file, r->line) };
		return when_reason(a, &place, &l->data, &r->when, f->effect, &at, false);
	}
	return NULL;
}
