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
	const char **tags; /* globs; NULL-terminated; or NULL */
	const char **programs, **targets;
	const char **profiles;
	unsigned flags, not_flags; /* all of, none of enum effect_flags */
	unsigned classes, not_classes; /* bit per path_class */
	unsigned certainties; /* bit per certainty */
	enum where where;
	bool only_above; /* the target is a directory above the workspace */
	bool only_read_only; /* the profile does not allow writes */

	const char *origin;
	const struct json *when;
};

/* A rule of a workspace file that looks at the text. */
struct text_rule {
	const char *id, *text, *recommended_profile;
	enum action action;
	const char **substrings; /* lower case; NULL-terminated */
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
	struct bytes builtin, file;

	struct rule *rules; /* the shipped ones first */
	size_t rule_count, rule_room;
	const uint16_t *by_kind[FX_KIND_COUNT]; /* indexes of rules that can hold for the kind */
	uint16_t by_kind_count[FX_KIND_COUNT];

	struct text_rule *text_rules;
	size_t text_rule_count;
	struct profile_rule *profile_rules;
	size_t profile_rule_count;
};

/* rules.c: one rule object of either file; the caller has looked that it has an id. */
int rules_parse_one(
	struct arena *a, const struct json *doc, const char *origin, struct rule *ret, struct err *e);
/* rules.c: does the rule hold for the effect, whose kind it names? */
bool rules_hold(
	const struct rule *r, const struct effect *e, const struct profile *profile, const char *workspace);

/* policy_file.c: add what a workspace's guard_policy.json says. */
int policy_file_add(struct arena *a, struct policy *p, const struct policy_source *from, struct err *e);
/* policy_file.c: does a text rule hold for the proposal?  A pattern that runs out of budget holds. */
bool policy_text_holds(const struct text_rule *r, const struct proposal *p, struct arena *a);

/* facts.c: what the effects amount to: detected flags, categories, target paths, score, tool groups. */
void facts_collect(struct decision *d, const struct decide_context *at);
void facts_score(struct decision *d, const struct decide_context *at, bool is_denied_by_rule);
void facts_groups(struct decision *d, const struct decide_context *at);
/* Does the effect change files here, or use the network, in the sense of the profile's rights?  Not to be asked about dry
 * runs and decoded text. */
bool facts_writes(const struct effect *e);
bool facts_uses_network(const struct effect *e, const struct profile *profile);

#endif
