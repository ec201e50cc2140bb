/* guarantees.h — what a profile demands of the sandbox, and by which mechanism each demand is met.
 *
 * A profile demands guarantees, not mechanisms.  There are two ways to build the sandbox: with namespaces and mounts, or, where a
 * container or the kernel refuses those, with Landlock, seccomp and a supervisor that carries out the system calls Landlock does not
 * cover (supervise.h).  Nothing else in the tree asks whether there is a namespace. */
#ifndef EXECUTE_GUARANTEES_H
#define EXECUTE_GUARANTEES_H

#include <stdbool.h>

/* id, name in documents, promise in one sentence */
#define GUARANTEES(X) \
	X(WRITE, "write", "nothing outside the allowed places is written") \
	X(READ, "read", "hidden places are not read") \
	X(NETWORK, "network", "no network but what the profile names") \
	X(PROCESSES, "processes", "no signal, trace, memory or socket to processes outside") \
	X(STATE, "state", "Helm's state and keys are out of reach") \
	X(END, "end", "no process outlives the run") \
	X(PRIVILEGE, "privilege", "no privilege is gained") \
	X(OWN, "own", "temporary directories and caches of its own") \
	X(AUTORUN, "autorun", "no file that starts something later stays behind")

enum guarantee {
#define GUARANTEE_ID(id, name, promise) GUARANTEE_##id,
	GUARANTEES(GUARANTEE_ID)
#undef GUARANTEE_ID
		GUARANTEE_COUNT
};
enum {
#define GUARANTEE_MASK(id, name, promise) DEMAND_##id = 1 << GUARANTEE_##id,
	GUARANTEES(GUARANTEE_MASK)
#undef GUARANTEE_MASK
		DEMAND_ALL = (1 << GUARANTEE_COUNT) - 1
};

enum sandbox_kind { SANDBOX_NAMESPACES, SANDBOX_SUPERVISED };

const char *guarantee_name(enum guarantee g);
const char *guarantee_promise(enum guarantee g);
bool guarantee_parse(const char *name, enum guarantee *ret);

/* The guarantees behind the walls that a profile requires (model/profile.h). */
unsigned guarantees_of_walls(unsigned walls);

struct sandbox_rules;
struct sandbox_report;
/* How the guarantee was met in a run with this report: "mounts and Landlock".  NULL: it was not. */
const char *guarantee_mechanism(
	enum guarantee g, const struct sandbox_rules *rules, const struct sandbox_report *report);

#endif
