/* profile_shipped.h — the shipped profiles as data: made by tools/generate/profiles.c from share/execution_profiles.json,
 * share/tool_groups.json and the lists of hosts, by the code that reads a workspace's own files. */
#ifndef MODEL_PROFILE_SHIPPED_H
#define MODEL_PROFILE_SHIPPED_H

#include "model/egress.h"
#include "model/profile.h"

/* Texts are distances in profile_texts, 0: none; so the tables need no relocation.  A list is where it begins in profile_lists, and its
 * length; 0: there is none, which is not the same as an empty one. */
struct shipped_list {
	uint16_t from, n;
};

struct shipped_profile {
	uint16_t name, description, backend, runtime_backend, runtime_target_kind, isolation,
		browser_policy_ref;
	bool handoff_required;
	uint8_t writes, network, checkpoint, reach, sandbox, destructive, unknown_tool, unread, contained;
	uint8_t tool_rules[GROUP_COUNT];
	unsigned requires;
	struct run_limits limits;
	struct shipped_list secrets, egress, own_paths, layers, write_paths, intended_for;
	struct shipped_list hosts; /* in profile_hosts */
};

struct shipped_host {
	uint16_t text, from, host, port;
	bool is_below;
	uint8_t address[EGRESS_ADDRESS];
};

extern const struct shipped_profile profile_rows[];
extern const size_t profile_row_count;
extern const struct shipped_host profile_hosts[];
extern const uint16_t profile_lists[];
extern const char profile_texts[];

#endif
