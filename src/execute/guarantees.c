/* guarantees.c — the table: guarantee x how it was met. */
#include "execute/guarantees.h"

#include "base/text.h"
#include "execute/sandbox.h"

static const struct {
	const char *name, *promise;
} guarantees[] = {
#define GUARANTEE_ROW(id, name, promise) { name, promise },
	GUARANTEES(GUARANTEE_ROW)
#undef GUARANTEE_ROW
};
TABLE_COVERS(guarantees, GUARANTEE_COUNT);

const char *guarantee_name(enum guarantee g)
{
	return guarantees[g].name;
}

const char *guarantee_promise(enum guarantee g)
{
	return guarantees[g].promise;
}

bool guarantee_parse(const char *name, enum guarantee *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(guarantees); i++)
		if (text_eq(guarantees[i].name, name)) {
			*ret = (enum guarantee)i;
			return true;
		}
	return false;
}

/* A profile that requires no wall runs with whatever stands; network, end, own directories and auto-run files come with the rest. */
unsigned guarantees_of_walls(unsigned walls)
{
	static const struct {
		unsigned wall, demand;
	} table[] = {
		{ WALL_FILES, DEMAND_WRITE },
		{ WALL_METADATA, DEMAND_WRITE | DEMAND_OWN },
		{ WALL_CAPABILITIES, DEMAND_PRIVILEGE },
		{ WALL_SECRETS, DEMAND_READ },
		{ WALL_SIGNALS, DEMAND_PROCESSES },
		{ WALL_STATE, DEMAND_STATE },
	};
	unsigned demands = walls ? DEMAND_NETWORK | DEMAND_END : 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (walls & table[i].wall)
			demands |= table[i].demand;
	return demands;
}

static const char *network_mechanism(const struct sandbox_rules *rules, const struct sandbox_report *r)
{
	if (rules->network == NETWORK_FULL)
		return "open by profile";
	if (!r->network_closed)
		return NULL;
	if (rules->network == NETWORK_NONE)
		return "seccomp";
	return r->network_namespace ? "network namespace" : r->supervised ? "supervised sockets" : "seccomp";
}

static const char *process_mechanism(const struct sandbox_report *r)
{
	if (!r->signals_confined)
		return NULL;
	return r->pid_namespace	       ? "pid namespace"
		: r->landlock_abi >= 6 ? "Landlock"
				       : "Landlock and supervisor";
}

static const char *end_mechanism(const struct sandbox_report *r)
{
	if (r->pid_namespace)
		return "pid namespace";
	return r->group_kill ? "guardian process and control group" : "guardian process";
}

const char *guarantee_mechanism(
	enum guarantee g, const struct sandbox_rules *rules, const struct sandbox_report *r)
{
	const bool mounts = r->mount_namespace;

	switch (g) {
	case GUARANTEE_WRITE:
		return !r->files_confined || !r->metadata_confined ? NULL
			: mounts				   ? "mounts and Landlock"
								   : "Landlock and supervisor";
	case GUARANTEE_READ:
		return !r->keys_hidden ? NULL : r->places_covered ? "mounts" : "Landlock";
	case GUARANTEE_NETWORK:
		return network_mechanism(rules, r);
	case GUARANTEE_PROCESSES:
		return process_mechanism(r);
	case GUARANTEE_STATE:
		return !r->state_protected	      ? NULL
			: r->supervised		      ? "supervisor"
			: r->read_only_held && mounts ? "mounts"
						      : "Landlock";
	case GUARANTEE_END:
		return end_mechanism(r);
	case GUARANTEE_PRIVILEGE:
		return r->no_new_privileges && r->capabilities_dropped
			? "no_new_privs and dropped capabilities"
			: NULL;
	case GUARANTEE_OWN:
		return rules->own_by_environment ? "environment"
			: !rules->own		 ? "none asked for"
			: !r->own_directories	 ? NULL
						 : "mounts";
	case GUARANTEE_AUTORUN:
		return r->supervised ? "supervisor, then a scan"
			: r->read_only_held && rules->files && r->files_private
			? "mounts and private copies, then a scan"
			: r->read_only_held ? "mounts, then a scan"
					    : "a scan after the run";
	case GUARANTEE_COUNT:
		break;
	}
	return NULL;
}
