/* place.c — a throw-away home with a workspace. */
#include "place.h"

#include "base/file.h"
#include "base/sys.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

int place_start(const struct place *p, const char *const *argv)
{
	posix_spawn_file_actions_t files;
	pid_t pid;
	int status = -1;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, p->input[0] ? p->input : "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &files, NULL, (char *const *)argv, (char *const *)p->env) == 0)
		(void)waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&files);
	return status;
}

int place_peak(const char *file, char *const *argv)
{
	struct rusage used = { 0 };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 126;
	FILE *f = fopen(file, "w");
	if (!f || fprintf(f, "%ld\n", used.ru_maxrss) < 0 || fclose(f))
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

/* By another helm-bench, because the number begins with what the process had before exec, and this one may have had a lot. */
double place_memory(struct place *p, const char *const *argv)
{
	const char *file = path_join(&p->a, p->home, "peak"),
		   *words[16] = { "/proc/self/exe", "--peak", file };
	size_t n = 3;
	long kib = 0;

	for (size_t i = 0; argv[i] && n + 1 < ARRAY_SIZE(words); i++)
		words[n++] = argv[i];
	int status = place_start(p, words);
	FILE *f = fopen(file, "r");
	p->has_failed |= !f || fscanf(f, "%ld", &kib) != 1; /* NOLINT: our own file */
	if (f)
		(void)fclose(f);
	p->has_failed |= !WIFEXITED(status) || WEXITSTATUS(status) > 1; /* 1: it has something to say */
	return (double)kib / 1024;
}

bool place_open(struct place *p, const struct bench *b, const char *name)
{
	const char *base = path_base(b->program);

	*p = (struct place){ 0 };
	char *dir = arena_printf(&p->a, "%.*s", (int)(base - b->program), b->program);
	p->helm = path_clean(&p->a, path_join(&p->a, dir, "helm"));
	p->home = path_clean(&p->a, path_join(&p->a, dir, arena_printf(&p->a, "bench-%s.d", name)));
	if (p->helm[0] != '/') {
		char *cwd = getcwd(NULL, 0);
		p->helm = path_join(&p->a, cwd, p->helm);
		p->home = path_join(&p->a, cwd, p->home);
		free(cwd);
	}
	file_remove_tree(sys_real(), AT_FDCWD, p->home);
	p->env[0] = arena_printf(&p->a, "HOME=%s", p->home);
	p->env[1] = "PATH=/usr/bin:/bin";
	p->env[2] = arena_printf(&p->a, "HELM_WORKSPACE=%s/ws", p->home);
	if (access(p->helm, X_OK) || mkdir(p->home, 0700))
		return false;
	return place_start(p, (const char *const[]){ p->helm, "init", NULL }) == 0;
}

void place_close(struct place *p)
{
	file_remove_tree(sys_real(), AT_FDCWD, p->home);
	arena_done(&p->a);
}

void place_input(struct place *p, const char *text)
{
	snprintf(p->input, sizeof(p->input), "%s/ws/payload", p->home);
	FILE *f = fopen(p->input, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		p->has_failed = true;
}
