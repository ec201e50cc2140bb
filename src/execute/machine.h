/* machine.h — what this machine offers for a sandbox, found out by trying.
 *
 * There are two kinds of sandbox (guarantees.h).  machine_probe() puts up each of them around a command that does nothing and notes which
 * guarantees it met.  machine_look() is the same from a small file below the helm home, as long as nothing has changed that the answer
 * depends on: boot, kernel, user, capabilities, filters, namespaces, LSM label, and this program's version.
 *
 * The answer chooses the kind and is told to people.  It permits nothing: each run judges its own guarantees (sandbox.c). */
#ifndef EXECUTE_MACHINE_H
#define EXECUTE_MACHINE_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"
#include "execute/guarantees.h"

#include <stdbool.h>

#define MACHINE_FILE "machine.json" /* in the helm home (docs/formats/machine.md) */

struct machine {
	int landlock_abi; /* 0: none */
	bool namespaces; /* a sandbox of namespaces and mounts meets every guarantee here */
	bool supervisor; /* a sandbox of Landlock, seccomp and a supervisor does */
	bool overlay; /* it can lay a directory of the helm home over another one */
	bool group_kill; /* a control group ends everything in a run at once */
	bool is_cached;
	bool may_pass; /* something was refused for a lack of memory or the like: another look may find more */
	unsigned unmet
		[2]; /* DEMAND_*, by enum sandbox_kind; DEMAND_ALL where it could not be put up, or was not tried */
	const char *why_not_namespaces, *why_not_supervisor; /* NULL: it stands, or was not tried */
	const char *how
		[2]
		[GUARANTEE_COUNT]; /* by kind: the mechanism that was seen; NULL: unmet, or from the cache */
};

/* Places for the probe, which must exist to be tried: it may write `write`, must not change `state` and must not read `hidden`.  Nothing
 * is written in any of them. */
struct machine_places {
	const char *write, *state, *hidden;
	const char
		*layer; /* a directory with empty directories l, u and w, to lay one over another; or NULL */
};

/* Tries both kinds, now. */
void machine_probe(struct sys *s, struct arena *a, const struct machine_places *at, struct machine *ret);
/* From the cache where that says that every guarantee is met; else tries namespaces, and the supervisor where those do not meet everything,
 * and writes the cache.  A cache that cannot be read, understood or written does no harm.  helm_home NULL: tries.  Starts processes: not
 * for programs with threads. */
void machine_look(struct sys *s, struct arena *a, const char *helm_home, struct machine *ret);

/* From the cache alone, whatever it says; false when there is none that counts.  For views, also in programs with threads. */
bool machine_recall(struct sys *s, struct arena *a, const char *helm_home, struct machine *ret);

/* The kind for this machine.  Where neither meets every guarantee, namespaces: the run is then refused by the guarantee it lacks. */
enum sandbox_kind machine_sandbox(const struct machine *m);
/* Both in one: the kind of every run here. */
enum sandbox_kind machine_kind(struct sys *s, struct arena *a, const char *helm_home);
/* What that kind cannot guarantee here. */
unsigned machine_unmet(const struct machine *m);

const char *sandbox_kind_name(enum sandbox_kind kind); /* in documents */
/* What this kind does not give although it meets every guarantee, one sentence each; NULL-terminated. */
const char *const *sandbox_not_given(enum sandbox_kind kind);
/* Which sandbox stands here and what it does not give: one line for people, without a period at its end. */
const char *machine_line(struct arena *a, const struct machine *m);

/* docker, podman, kubernetes, devcontainer, codespaces, lxc, gvisor, wsl, ci; "": no sign of any. */
const char *machine_place(struct sys *s);
/* The line that keeps the helm home on a volume, in a container whose helm home lies on none; NULL: there is nothing to say. */
const char *machine_volume(struct sys *s, const char *place, const char *helm_home);
/* What would help here, one line; NULL: nothing is missing. */
const char *machine_remedy(struct sys *s, struct arena *a, const struct machine *m);

/* Why this kernel is too old for the supervisor, by its release; or NULL. */
const char *machine_old_kernel(struct arena *a);

/* Names of guarantees, with `between` between them. */
const char *guarantees_text(struct arena *a, unsigned demands, const char *between);
struct json *guarantees_list(struct arena *a, unsigned demands);
/* The known names of a list of them.  False when it is no list, or has others. */
bool guarantees_parse(const struct json *list, unsigned *ret);

/* The one sentence of a run that was refused because of its sandbox: what happened, by which guarantee, what would help in this place, and
 * the command to accept less.  `report` NULL: the sandbox ended before it said anything.  Returns E_DENIED. */
int machine_refuse(
	struct sys *s, const struct sandbox_rules *rules, const struct sandbox_report *report, struct err *e);

#endif
