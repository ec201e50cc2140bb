/* become.c — the last step of a ward: it executes the command, looked up as the command would look it up itself. */
#include "execute/become.h"

#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void default_signals(void)
{
	for (int n = 1; n < NSIG; n++)
		signal(n, SIG_DFL);
}

void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The command's own PATH, not helm's: it is looked up as the command would look it up itself. */
static const char *get_path(const char *const *environment)
{
	for (; environment && *environment; environment++)
		if (text_starts(*environment, "PATH="))
			return *environment + strlen("PATH=");
	return "/usr/bin:/bin";
}

/* Returns only when it failed, with errno.  A script without a line that names its interpreter goes to the
 * shell, as everywhere. */
static void execute_file(const struct run_request *request, const char **shell_argv, const char *file)
{
	char *const *environment = (char *const *)request->environment;

	execve(file, (char *const *)request->argv, environment);
	if (errno != ENOEXEC)
		return;
	shell_argv[1] = file;
	execve(shell_argv[0], (char *const *)shell_argv, environment);
	errno = ENOEXEC;
}

/* Like execvp(), but with the PATH of the command's environment.  Returns only when it failed.  A directory
 * without permission is passed over and remembered, so that the final error is the useful one. */
void become(const struct run_request *request, const char **shell_argv)
{
	const char *name = request->program ? request->program : request->argv[0];
	bool is_forbidden = false;
	char file[PATH_MAX];

	if (!*name) {
		errno = ENOENT;
		return;
	}
	if (strchr(name, '/')) {
		execute_file(request, shell_argv, name);
		return;
	}
	for (const char *at = get_path(request->environment);; at++) {
		size_t n = strcspn(at, ":");
		if (snprintf(file, sizeof(file), "%.*s%s%s", (int)n, at, n ? "/" : "", name) <
			(int)sizeof(file))
			execute_file(request, shell_argv, file);
		if (errno == EACCES)
			is_forbidden = true;
		else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV)
			return;
		at += n;
		if (!*at)
			break;
	}
	errno = is_forbidden ? EACCES : ENOENT;
}
