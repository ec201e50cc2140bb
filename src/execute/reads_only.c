/* reads_only.c — a call of a client whose own sandbox lets nothing be written.
 *
 * The client's person chose that, so the call must not write the work tree here, either.  The session's sandbox is shared by all of its
 * calls and lets them write; this call gets one more layer of Landlock.  As every layer of its own, it also keeps the call from signalling
 * processes that other calls left running. */
#include "execute/session.h"

#include "base/file.h"
#include "execute/landlock.h"

#include <errno.h>

enum { OWN_MOST = 16 };

/* Is what may otherwise be written in this directory?  Landlock cannot take back below a directory what it grants there. */
static bool is_above(const char *dir, const char *const *paths)
{
	for (; paths && *paths; paths++)
		if (path_is_below(*paths, dir))
			return true;
	return false;
}

int reads_only_lock(const struct sandbox_rules *rules, const struct sandbox_report *report)
{
	const char *own[OWN_MOST + 1] = { 0 };
	size_t n = 0;
	struct landlock_rules lock = { .abi = report->landlock_abi, .own = own };

	/* Where the supervisor makes the changes, a layer of the caller's does not bind it. */
	if (!lock.abi || report->supervised) {
		errno = ENOSYS;
		return -1;
	}
	for (const struct sandbox_own *o = rules->own; report->own_directories && o && o->at && n < OWN_MOST;
		o++)
		if (!is_above(o->at, rules->write_paths))
			own[n++] = o->at;
	return landlock_confine(&lock);
}
