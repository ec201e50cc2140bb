/* profile.h — execution profiles: what a run may do, by name.
 *
 * Six ship with the program (share/execution_profiles.json); those that a person accepted for a workspace take their
 * place (kernel/posture.h).  Whatever a profile does not say is not allowed.  With them come the tool groups each profile grants, asks about
 * or denies (share/tool_groups.json). */
#ifndef MODEL_PROFILE_H
#define MODEL_PROFILE_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/egress.h"

#include <stdbool.h>

/* A right that a profile gives.  A text instead of true or false means that the target machine decides: nothing is
 * allowed here without asking. */
enum allowance { ALLOWANCE_NO, ALLOWANCE_YES, ALLOWANCE_TARGET };

enum checkpoint_rule {
	CHECKPOINT_NEVER,
	CHECKPOINT_OPTIONAL,
	CHECKPOINT_REQUIRED,
	CHECKPOINT_MANUAL,
	CHECKPOINT_RULES
};
/* NAMED: a loopback of its own, and the hosts that `egress` names through one door. */
enum network_reach { NETWORK_NONE, NETWORK_LOOPBACK, NETWORK_NAMED, NETWORK_FULL, NETWORK_REACHES };
enum sandbox_rule { SANDBOX_BEST_EFFORT, SANDBOX_REQUIRED, SANDBOX_RULES };
/* Walls around a run, as a profile names those it cannot do without. */
#define WALLS(X) \
	X(FILES, "files") /* writes only where allowed */ \
	X(METADATA, "metadata") /* modes, owners and times elsewhere stay */ \
	X(CAPABILITIES, "capabilities") \
	X(SECRETS, "secrets") /* keys and credentials cannot be read */ \
	X(SIGNALS, "signals") /* processes outside are out of reach */ \
	X(STATE, "state") /* what decides about runs cannot be changed */

enum wall {
#define WALL_BIT(id, name) WALL_BIT_##id,
	WALLS(WALL_BIT)
#undef WALL_BIT
		WALL_COUNT
};
enum {
#define WALL_MASK(id, name) WALL_##id = 1 << WALL_BIT_##id,
	WALLS(WALL_MASK)
#undef WALL_MASK
		WALL_ALL = (1 << WALL_COUNT) - 1
};
const char *wall_name(enum wall w);
enum destructive_rule { DESTRUCTIVE_ASK, DESTRUCTIVE_CHECKPOINT };
enum unknown_rule { UNKNOWN_ALLOW, UNKNOWN_ASK, UNKNOWN_DENY, UNKNOWN_RULES };
enum unread_rule { UNREAD_ALLOW, UNREAD_ASK };
/* What the walls keep harmless (signals, a temporary directory of its own, what a checkpoint of the tree brings back) is asked
 * about all the same, or is not, where the call really stands behind them. */
enum contained_rule { CONTAINED_ASK, CONTAINED_ALLOW };
enum { LAYERS_MAX = 32 };

#define TOOL_GROUPS(X) \
	X(READ_FILE, "read_file") \
	X(APPLY_PATCH, "apply_patch") \
	X(FOCUSED_TEST, "focused_test") \
	X(GIT_DIFF, "git_diff") \
	X(BROAD_SHELL, "broad_shell") \
	X(EXTERNAL_NETWORK, "external_network") \
	X(SECRETS_READ, "secrets_read") \
	X(DESTRUCTIVE_GIT, "destructive_git")

enum tool_group {
#define TOOL_GROUP_ENUM(id, name) GROUP_##id,
	TOOL_GROUPS(TOOL_GROUP_ENUM)
#undef TOOL_GROUP_ENUM
		GROUP_COUNT
};
const char *tool_group_name(enum tool_group g);
bool tool_group_parse(const char *name, enum tool_group *ret);

enum tool_rule { TOOLS_ASK, TOOLS_ALLOW, TOOLS_DENY };

/* What one run may use; 0: no limit of ours. */
#define LIMITS(X) \
	X(processes) /* of the user; not for root, whom the kernel does not count; in a control group also the sum */ \
	X(memory_mb) /* of one process, addresses and all; in a control group also the sum */ \
	X(file_mb) /* one file */ \
	X(open_files) /* of one process */ \
	X(output_mb) /* printed, when it is captured */

struct run_limits {
#define LIMIT_FIELD(name) int64_t name;
	LIMITS(LIMIT_FIELD)
#undef LIMIT_FIELD
};

struct terms;

struct profile {
	const char *name;
	const struct terms *terms; /* of the skill that narrowed it (terms.h); NULL: none did */
	const char *description;
	const char *backend, *runtime_backend, *runtime_target_kind, *isolation;
	bool handoff_required;
	enum allowance writes, network;
	enum checkpoint_rule checkpoint;
	enum network_reach reach;
	enum sandbox_rule sandbox;
	unsigned requires; /* WALL_* without which nothing runs */
	struct run_limits limits;
	const char *const *secrets; /* places of model/secret.h that a run may read */
	size_t secret_count;
	const char *const *egress; /* rules of model/egress.h, as written; NETWORK_NAMED */
	size_t egress_count;
	struct egress_rules hosts; /* the same, read */
	enum destructive_rule destructive;
	enum unknown_rule unknown_tool;
	enum unread_rule unread; /* scripts and builds whose text could not be read to its end */
	enum contained_rule contained;
	const char *const *own_paths; /* absolute; the run sees an empty directory of its own there */
	size_t own_path_count;
	const char *const *layers; /* below the home; the run writes into a copy that goes with it */
	size_t layer_count;
	const char *const *
		write_paths; /* below the workspace, or absolute; NULL: the workspace and the temporary directory */
	size_t write_path_count;
	const char *const *intended_for;
	size_t intended_for_count;
	const char *browser_policy_ref; /* or NULL */
	enum tool_rule tool_rules[GROUP_COUNT];
	const struct json *document; /* as written in the file; NULL: ask profile_document() */
};

struct profiles {
	struct profile *list; /* in the order of the file */
	size_t count;
	const char *origin; /* "built-in", or the file's name */
	const char *const *warnings; /* rights that the file leaves out, for a person */
	size_t warning_count;
};

/* The profiles of one document {"profiles": {name: {...}}}.  `groups` is the text of tool_groups.json, or empty for the
 * shipped one.  E_INPUT with PROFILE_FILE, PROFILE_FIELD or TOOL_GROUPS names file, profile and member.  The texts must
 * outlive the result. */
int profiles_parse(struct arena *a, struct bytes text, const char *name, struct bytes groups,
	const char *groups_name, struct profiles *ret, struct err *e);

/* The shipped ones, from tables.  Cannot fail. */
void profiles_builtin(struct arena *a, struct profiles *ret);
/* As it is written, in its file or in the shipped one. */
const struct json *profile_document(struct arena *a, const struct profile *p);

/* The shipped text of "execution_profiles.json" or "tool_groups.json". */
struct bytes profiles_shipped(const char *name);

/* NULL when there is none of that name. */
const struct profile *profiles_find(const struct profiles *p, const char *name);

/* E_USAGE PROFILE_UNKNOWN that lists the known names, sorted. */
int profiles_get(const struct profiles *p, const char *name, const struct profile **ret, struct err *e);

/* What the walls give.  A profile that may use the network has all of it, unless it names hosts: then only them. */
enum network_reach profile_reach(const struct profile *p);

/* Does `x` permit nothing that `y` does not?  Whatever cannot be compared is answered with no, so that "yes" may be relied on. */
bool profile_is_within(const struct profile *x, const struct profile *y);

/* Split requested groups by what the profile says, keeping their order: {granted, requires_approval, denied}. */
struct json *profile_compute_grant(
	struct arena *a, const struct profile *p, const enum tool_group *requested, size_t n);

const char *checkpoint_rule_name(enum checkpoint_rule v);

#endif
