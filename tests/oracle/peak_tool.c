/* peak_tool.c — how much memory a program needed at most.
 *
 *   peak_tool FILE PROGRAM ARGS...
 *
 * Runs it, writes the most that was resident, in KiB, to FILE, and ends as it did.  A program of its own because that number begins with what
 * the process had before exec, and this one has next to nothing. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage used;
	int status;

	if (argc < 3) {
		fputs("usage: peak_tool FILE PROGRAM ARGS...\n", stderr);
		return 2;
	}
	pid_t pid = fork();
	if (pid == 0) {
		(void)execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 126;
	FILE *f = fopen(argv[1], "w");
	if (!f || fprintf(f, "%ld\n", used.ru_maxrss) < 0 || fclose(f))
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}
