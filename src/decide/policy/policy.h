/* policy.h — inside decide/: what a compiled policy looks like. */
#ifndef DECIDE_POLICY_POLICY_H
#define DECIDE_POLICY_POLICY_H

#include "base/pattern.h"
#include "decide/decide.h"

/* Where an effect happens, as far as a rule cares. */
enum where { WHERE_ANY, WHERE_HERE, WHERE_ELSEWHERE };

/* A condition over one effect, and what it means when it holds.  Every member that is empty or zero holds for all. */
struct rule {
	const char *id, *text, *instead, *recommended_profile;
	enum action action;
	enum reason_code reason;
	bool is_destructive;
	enum undo undo;

	uint64_t kinds; /* bit per effect_kind */
	/* Globs, each ended by NUL, an empty one behind the last; or NULL. */
	const char *tags, *programs, *not_programs, *targets, *profiles;
	const char *hosts; /* the same: names, addresses, networks */
	unsigned flags, not_flags; /* all of, none of enum effect_flags */
	unsigned classes, not_classes; /* bit per path_class */
	unsigned certainties; /* bit per certainty */
	enum where where;
	bool only_above; /* the target is a directory above the workspace */
	bool only_read_only; /* the profile does not allow writes */
	bool only_uncontained,
		only_contained; /* not, or only, where walls stand around it and the profile relies on them */

	const char *origin;
	const struct json *when; /* NULL for a shipped rule: policy_rule() reads it where it is asked for */
};

/* A shipped rule, as the build made it of share/guard_rules.json (tools/generate/rules.c).  Texts are distances in
 * shipped_text, 0: none; so the table needs no relocation. */
struct shipped_rule {
	uint64_t kinds;
	uint32_t id, text, instead, recommended_profile, when;
	uint32_t tags, programs, not_programs, targets, hosts, profiles;
	uint32_t flags, not_flags;
	uint16_t classes, not_classes, reason;
	uint8_t certainties, action, undo, where;
	bool is_destructive, only_above, only_read_only, only_uncontained, only_contained;
};
extern const struct shipped_rule shipped_rules[];
extern const size_t shipped_rule_count;
extern const char shipped_text[];
extern const char shipped_sha256[]; /* of the file they were made from, in hex */
/* Which of them can hold for a kind: shipped_by_kind from shipped_kind_start[kind] up to that of the next kind. */
extern const uint16_t shipped_by_kind[], shipped_kind_start[FX_KIND_COUNT + 1];

/* A rule of a workspace file that looks at the text. */
struct text_rule {
	const char *id, *text, *recommended_profile;
	enum action action;
	const char **substrings; /* compared without case; NULL-terminated */
	const struct pattern **patterns; /* NULL-terminated */
	const char *origin;
	const struct json *document;
};

/* profile_rules of a workspace file: actions to raise to. */
struct profile_rule {
	const char *profile;
	bool denies_writes, denies_network, wants_handoff;
	enum action on_write, on_network, on_destructive, on_execute;
};

struct policy {
	int version;
	const char *error;
	bool has_unaccepted_override;
	enum guard_mode default_mode;
	bool permits_off;
	struct arena *a;
	struct bytes file;

	uint8_t *shipped_actions; /* of the shipped rules, where the file changes one; or NULL */
	struct rule *rules; /* of the file, after the shipped ones */
	size_t rule_count, rule_room;

	struct text_rule *text_rules;
	size_t text_rule_count;
	struct profile_rule *profile_rules;
	size_t profile_rule_count;
};

/* policy.c: the i-th rule, the shipped ones first; false past the end. */
bool policy_rule_at(const struct policy *p, size_t i, struct rule *ret);
void policy_shipped_rule(const struct policy *p, size_t i, struct rule *ret); /* i < shipped_rule_count */
void policy_set_action(struct policy *p, size_t i, enum action action);

/* rules.c: one rule object of either file; the caller has looked that it has an id. */
int rules_parse_one(
	struct arena *a, const struct json *doc, const char *origin, struct rule *ret, struct err *e);
/* rules.c: does the rule hold for the effect, whose kind it names? */
bool rules_hold(const struct rule *r, const struct effect *e, const struct profile *profile,
	const struct decide_context *at);

/* file.c: add what a workspace's guard_policy.json says. */
int policy_file_add(struct arena *a, struct policy *p, const struct policy_source *from, struct err *e);
/* file.c: does a text rule hold for the proposal?  A pattern that runs out of budget holds. */
bool policy_text_holds(const struct text_rule *r, const struct proposal *p, struct arena *a);

/* facts.c: what the effects amount to: detected flags, categories, target paths, score, tool groups. */
void facts_collect(struct decision *d, const struct decide_context *at);
void facts_score(struct decision *d, const struct decide_context *at, bool is_denied_by_rule);
void facts_groups(struct decision *d, const struct decide_context *at);
/* Does the effect change files here, or use the network, in the sense of the profile's rights?  Not to be asked about dry
 * runs and decoded text. */
bool facts_writes(const struct effect *e);
bool facts_uses_network(
	const struct effect *e, const struct profile *profile, const struct decide_context *at);
/* Do walls stand around the call, and does the profile rely on them instead of asking? */
bool facts_is_contained(const struct profile *profile, const struct decide_context *at);
/* Does it happen in a directory of the call's own, where it concerns nobody else? */
bool facts_is_its_own(const struct effect *e, const struct profile *profile, const struct decide_context *at);

#endif
