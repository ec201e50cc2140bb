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

/* Texts are stored as distances into one block; 0 means that there is none. */
static const char *text_or_null(uint32_t distance)
{
	return distance ? shipped_text + distance : NULL;
}

/* Fills in a rule from the table. Its action may have been changed by the workspace's file
 * (policy_set_action). */
void policy_shipped_rule(const struct policy *p, size_t i, struct rule *ret)
{
	const struct shipped_rule *s = &shipped_rules[i];

	*ret = (struct rule){ .id = shipped_text + s->id,
		.text = shipped_text + s->text,
		.instead = text_or_null(s->instead),
		.recommended_profile = text_or_null(s->recommended_profile),
		.action = (enum action)(p->shipped_actions ? p->shipped_actions[i] : s->action),
		.reason = (enum reason_code)s->reason,
		.is_destructive = s->is_destructive,
		.undo = (enum undo)s->undo,
		.kinds = s->kinds,
		.tags = text_or_null(s->tags),
		.programs = text_or_null(s->programs),
		.not_programs = text_or_null(s->not_programs),
		.targets = text_or_null(s->targets),
		.hosts = text_or_null(s->hosts),
		.profiles = text_or_null(s->profiles),
		.flags = s->flags,
		.not_flags = s->not_flags,
		.classes = s->classes,
		.not_classes = s->not_classes,
		.certainties = s->certainties,
		.where = (enum where)s->where,
		.only_above = s->only_above,
		.only_read_only = s->only_read_only,
		.only_uncontained = s->only_uncontained,
		.only_contained = s->only_contained,
		.origin = "built-in" };
}

bool policy_rule_at(const struct policy *p, size_t i, struct rule *ret)
{
	if (i < shipped_rule_count) {
		policy_shipped_rule(p, i, ret);
		return true;
	}
	if (i - shipped_rule_count >= p->rule_count)
		return false;
	*ret = p->rules[i - shipped_rule_count];
	return true;
}

/* The tables of the program are constant; the first change of a shipped rule copies all actions into the
 * policy. */
void policy_set_action(struct policy *p, size_t i, enum action action)
{
	if (i >= shipped_rule_count) {
		p->rules[i - shipped_rule_count].action = action;
		return;
	}
	if (!p->shipped_actions) {
		p->shipped_actions = arena_alloc(p->a, shipped_rule_count);
		for (size_t k = 0; k < shipped_rule_count; k++)
			p->shipped_actions[k] = shipped_rules[k].action;
	}
	p->shipped_actions[i] = (uint8_t)action;
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
	p->rule_count = p->text_rule_count = p->profile_rule_count = 0;
}

/* A file that is there but cannot be read is treated like one that is wrong; only a file that does not
 * exist adds nothing. */
const struct policy *policy_compile(struct arena *a, const struct policy_source *from)
{
	struct policy *p = arena_zalloc(a, 1, sizeof(*p));
	struct err e;

	p->a = a;
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

/* The condition of a shipped rule as it is written in the rules file. It is parsed here, because only
 * `guard rules` shows it. */
static const struct json *shipped_when(const struct policy *p, size_t i)
{
	struct json *when;
	struct err e;

	if (json_parse(p->a, bytes_of(shipped_text + shipped_rules[i].when), "when", NULL, &when, &e))
		BUG(e.text);
	return when;
}

/* The order is that of judging: shipped rules, the file's rules about effects, the file's rules about
 * text. */
bool policy_rule(const struct policy *p, size_t i, struct rule_view *ret)
{
	struct rule r;

	if (policy_rule_at(p, i, &r)) {
		*ret = (struct rule_view){ r.id, r.text, r.instead, r.recommended_profile, r.action, r.reason,
			r.origin, r.when ? r.when : shipped_when(p, i), NULL };
		return true;
	}
	i -= shipped_rule_count + p->rule_count;
	if (i < p->text_rule_count) {
		const struct text_rule *t = &p->text_rules[i];
		*ret = (struct rule_view){ t->id, t->text, NULL, t->recommended_profile, t->action,
			t->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules, t->origin,
			NULL, json_get(t->document, "patterns") };
		return true;
	}
	return false;
}
