/* about.c — what this program is made of, and what the running kernel can enforce. */
#include "kernel/kernel.h"
#include "model/command.h"

#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Asks the kernel; 0 when Landlock is off or absent. */
static int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

/* The build lists them as "name=version name=version ...". */
static struct json *libraries(struct arena *a)
{
	struct json *all = json_new(a, JSON_OBJECT);
	struct bytes rest = BYTES_LITERAL(HELM_LIBRARIES);

	while (rest.p) {
		struct bytes one = text_cut(&rest, ' ');
		struct bytes name = text_cut(&one, '=');
		if (one.p)
			json_set(a, all, arena_strndup(a, (const char *)name.p, name.n),
				json_stringn(a, (const char *)one.p, one.n));
	}
	return all;
}

/* "seccomp" and "user_namespaces" say what the kernel has, not what it would allow to this user; a run
 * finds that out by trying and reports it. */
struct json *kernel_about(struct sys *s, struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT), *protections = json_new(a, JSON_OBJECT);
	struct utsname host;

	(void)s;
	json_sets(a, doc, "program", "helm");
	json_sets(a, doc, "called", command_program());
	json_sets(a, doc, "version", HELM_VERSION);
	json_set(a, doc, "libraries", libraries(a));
	json_sets(a, doc, "system",
		uname(&host) == 0 ? arena_printf(a, "%s %s", host.sysname, host.release) : NULL);
	json_seti(a, protections, "landlock_abi", landlock_abi());
	json_setb(a, protections, "seccomp", prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0);
	json_setb(a, protections, "user_namespaces", access("/proc/self/ns/user", F_OK) == 0);
	json_set(a, doc, "protections", protections);
	return doc;
}
