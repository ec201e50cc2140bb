/* bench_startup.c — what every call of helm pays before it does anything: the start of the program and SHA-256. */
#include "bench.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "yardstick.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

/* startup: exec of `helm version` against exec of /bin/true */

enum { STARTS = 60 };
extern char **environ;

struct start {
	const char *helm;
	bool has_failed;
};

static void spawn_often(struct start *s, const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < STARTS; i++) {
		pid_t pid;
		if (posix_spawn(&pid, argv[0], &quiet, NULL, (char *const *)argv, environ) ||
			waitpid(pid, &status, 0) != pid || status != 0)
			s->has_failed = true;
	}
	posix_spawn_file_actions_destroy(&quiet);
}

static void start_helm(void *arg)
{
	struct start *s = arg;

	spawn_often(s, (const char *const[]){ s->helm, "version", NULL });
}

static void start_true(void *arg)
{
	spawn_often(arg, (const char *const[]){ "/bin/true", NULL });
}

int bench_startup(struct bench *b)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *name = path_base(b->program);
	struct start s = { .helm = arena_printf(&a, "%.*shelm", (int)(name - b->program), b->program) };
	double ours, theirs;

	if (access(s.helm, X_OK)) {
		b->skipped = "there is no helm beside helm-bench";
		return 0;
	}
	bench_pair(b->rounds, start_helm, start_true, &s, &ours, &theirs);
	b->value = ours / STARTS * 1e6;
	b->baseline = theirs / STARTS * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	return s.has_failed;
}

/* sha256: our rate against that of the openssl program for the same block, or of its EVP interface */

enum { BLOCK = 16384, BLOCKS = 8000 };

/* openssl counts processor time, so we do. */
static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double rate_of(void (*hash)(const void *, size_t, uint8_t *))
{
	static uint8_t block[BLOCK];
	uint8_t digest[SHA256_SIZE];
	double start = cpu_s();

	for (int i = 0; i < BLOCKS; i++) {
		hash(block, sizeof(block), digest);
		bench_keep(digest);
	}
	return (double)BLOCK * BLOCKS / (cpu_s() - start);
}

/* The line "+F:<number>:sha256:<bytes per second>".  0 when there is no such program. */
static double openssl_rate(void)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *argv[] = { "openssl", "speed", "-mr", "-evp", "sha256", "-bytes", "16384", "-seconds",
		"1", NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc_output got;

	if (proc_capture(sys_real(), &a, &spec, (struct bytes){ 0 }, 1 << 16, 20000, &got, NULL))
		return 0;
	const char *line = strstr((const char *)got.out.p, "+F:");
	const char *rate = line ? strstr(line, ":sha256:") : NULL;
	return rate ? strtod(rate + strlen(":sha256:"), NULL) : 0;
}

int bench_sha256(struct bench *b)
{
	int rounds = b->rounds < 3 ? b->rounds : 3;

	for (int i = 0; i < rounds; i++) {
		double ours = rate_of(sha256);
		double theirs = openssl_rate();
		if (theirs == 0)
			theirs = rate_of(yardstick_evp_sha256);
		b->value = ours > b->value ? ours : b->value;
		b->baseline = theirs > b->baseline ? theirs : b->baseline;
	}
	b->ratio = b->value / b->baseline;
	b->value /= 1e6;
	b->baseline /= 1e6;
	b->unit = "MB/s";
	return 0;
}
