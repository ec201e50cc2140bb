/* policy.h — inside decide/: what a compiled policy looks like. */
#ifndef DECIDE_POLICY_POLICY_H
#define DECIDE_POLICY_POLICY_H

#include "base/pattern.h"
#include "decide/decide.h"
#include "decide/when.h"

/* A rule: a condition over one effect (when.h), and what it means when it holds.  Texts are distances in the texts of its layer, 0: none; so
 * the shipped ones are a table of the program that needs no relocation. */
struct rule {
	struct when when;
	uint32_t id, text, instead, recommended_profile;
	uint32_t when_text; /* the condition as it was written, as JSON */
	uint32_t line; /* where it stands in its file, from 1 */
	uint16_t reason; /* enum reason_code */
	uint8_t action, undo; /* enum rule_effect, enum undo */
	bool is_destructive;
};

/* Rules of one file.  Those that are shipped are one layer, those of a workspace's file another. */
struct rule_layer {
	const char *name; /* "shipped", "workspace" */
	const char *origin; /* "built-in", or the name of the file */
	const char *file; /* what `line` counts in */
	const struct rule *rules;
	struct rule *own; /* the same, where they may be changed; NULL: they are a table of the program */
	size_t n;
	struct when_data data;
	/* Which of them can hold for a kind: by_kind from kind_start[kind] up to that of the next kind.  NULL: each is looked at. */
	const uint16_t *by_kind, *kind_start;
};
static inline const char *rule_layer_text(const struct rule_layer *l, uint32_t distance)
{
	return distance ? l->data.texts + distance : NULL;
}

/* A layer that is being made. */
struct rule_layer_maker {
	const char *name;
	struct bytes file; /* the text that is read, to count lines in */
	struct when_maker when;
	struct rule *rules;
	uint32_t n, room;
	uint32_t at, line; /* how far lines are counted */
};
void rule_layer_begin(struct rule_layer_maker *m, struct arena *a, const char *name, struct bytes file);
/* One rule object more; the caller has looked that it has an id.  It is at least as strict as `least`. */
int rule_layer_add(struct rule_layer_maker *m, const struct json *doc, enum rule_effect least, struct err *e);

/* The shipped rules, as the build made them of share/guard_rules.json (tools/generate/rules.c). */
extern const struct rule shipped_rules[];
extern const size_t shipped_rule_count;
extern const struct when_test shipped_tests[];
extern const char shipped_text[];
extern const char shipped_sha256[]; /* of the file they were made from, in hex */
extern const uint16_t shipped_by_kind[], shipped_kind_start[FX_KIND_COUNT + 1];

/* A rule of a workspace file that looks at the text. */
struct text_rule {
	const char *id, *text, *recommended_profile;
	enum rule_effect action;
	const char **substrings; /* compared without case; NULL-terminated */
	const struct pattern **patterns; /* NULL-terminated */
	const char *origin;
	const struct json *document;
};

/* profile_rules of a workspace file: actions to raise to. */
struct profile_rule {
	const char *profile;
	bool denies_writes, denies_network, wants_handoff;
	enum rule_effect on_write, on_network, on_destructive, on_execute;
};

enum { LAYER_SHIPPED, LAYER_FILE, LAYER_COUNT };

struct policy {
	int version;
	const char *error;
	bool has_unaccepted_override;
	enum guard_mode default_mode;
	bool permits_off;
	struct arena *a;
	struct bytes file;

	struct rule_layer layers[LAYER_COUNT];

	struct text_rule *text_rules;
	size_t text_rule_count;
	struct profile_rule *profile_rules;
	size_t profile_rule_count;
};

/* policy.c: the i-th rule of all layers, the shipped ones first, and its layer; NULL past the end. */
const struct rule *policy_rule_at(const struct policy *p, size_t i, const struct rule_layer **ret);
void policy_set_action(struct policy *p, size_t i, enum rule_effect action);

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
/* Does it happen in a directory of the call's own, where it concerns nobody else? */
bool facts_is_its_own(const struct effect *e, const struct profile *profile, const struct decide_context *at);

#endif
