/* limits.c — signals, streams, stack and descriptors of this process; see limits.h. */
#include "base/limits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_IN_CHILD = 126 };

static pid_t began_as;

static int code_of_this_process = 1;

void limits_block_by(int exit_code)
{
	code_of_this_process = exit_code;
}

/* Forked since the beginning: to become a command, or to watch one. */
int limits_exit_code(void)
{
	return began_as && getpid() != began_as ? EXIT_IN_CHILD : code_of_this_process;
}

/* A closed input cannot be read and a closed output cannot be written, as before; what would go to a closed standard error is lost.
 * Where there is no /dev/null the number stays taken by the root directory, which can be neither. */
static void fill_closed_streams(struct sys *s)
{
	static const int how[] = { O_WRONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && s->open(s, AT_FDCWD, "/dev/null", how[fd], 0, 0) < 0)
			(void)s->open(s, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0, 0);
}

/* The limit that ends without a word comes some seconds after this signal, if it leaves any. */
static void on_time_used_up(int signal_number)
{
	static const char text[] =
		"helm: the processor time that 'ulimit -t' allows is used up. Nothing more is allowed or recorded\n";

	(void)signal_number;
	(void)!write(2, text, sizeof(text) - 1);
	_exit(limits_exit_code());
}

void limits_begin(struct sys *s)
{
	struct sigaction time_used_up = { .sa_handler = on_time_used_up };

	began_as = getpid();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)sigaction(SIGXCPU, &time_used_up, NULL);
	fill_closed_streams(s);
}

int limits_check(struct err *e)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur < LIMITS_STACK_KIB << 10)
		return err_set(e, E_LIMIT, "STACK_LIMIT",
			"the stack is limited to %llu KiB here, and helm needs %d: " LIMITS_STACK_REMEDY,
			(unsigned long long)(now.rlim_cur >> 10), LIMITS_STACK_KIB);
	if (getrlimit(RLIMIT_AS, &now) == 0 && now.rlim_cur < LIMITS_MEMORY_KIB << 10)
		return err_set(e, E_LIMIT, "MEMORY_LIMIT",
			"the memory is limited to %llu KiB here, and helm needs %d: " LIMITS_MEMORY_REMEDY,
			(unsigned long long)(now.rlim_cur >> 10), LIMITS_MEMORY_KIB);
	if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < LIMITS_DESCRIPTORS)
		return err_set(e, E_LIMIT, "DESCRIPTOR_LIMIT",
			"only %llu files may be open at once here, and helm needs %d: raise it with 'ulimit -n 1024'",
			(unsigned long long)now.rlim_cur, LIMITS_DESCRIPTORS);
	return OK;
}
