/* confine.c — what the door's process can still do: talk to the network and look names up.
 *
 * It reads what everybody may send it, so it is closed in as if it were already taken over: no key (it is a program of its own, with an
 * empty environment), no file of a person to read, none at all to write, no program to start, no privilege to win, no core. */
#include "execute/egress/parts.h"
#include "execute/landlock.h"
#include "execute/seccomp.h"

#include <sys/prctl.h>
#include <sys/resource.h>

/* Each of these is a second line: the door goes on where the kernel has one of them not. */
void egress_confine(void)
{
	static const char *const people[] = { "/home", "/root", "/srv", "/mnt", "/media", "/opt", "/boot",
		"/tmp", "/var/tmp", NULL };
	static const char *const none[] = { NULL };
	const struct rlimit nothing = { 0, 0 };
	const struct landlock_rules files = {
		.abi = landlock_abi(), .write_paths = none, .hidden = people, .is_shared = true
	};
	const struct seccomp_rules calls = {
		.inet = true, .unix_socket = true, .no_truncate = true, .no_exec = true
	};

	(void)setrlimit(RLIMIT_CORE, &nothing);
	(void)setrlimit(RLIMIT_FSIZE, &nothing);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return;
	if (files.abi)
		(void)landlock_confine(&files);
	(void)seccomp_install(&calls);
}
