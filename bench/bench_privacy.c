/* bench_privacy.c — looking through text for everything private, against `grep -E` with one pattern for the same kinds. */
#include "bench.h"

#include "privacy/privacy.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { BYTES = 32 << 20 };

/* Lines as programs and notes have them; one in fifty holds something. */
static size_t make_text(char *to, size_t n)
{
	static const char *const lines[] = {
		"static int read_choice(struct cli *r, struct evidence_choice *c)\n",
		"\tif (rc == OK && has_more(list, 1024, 0x7fff))\n",
		"The report says first whether the record is whole.\n",
		"  \"task_id\": \"20260413T091000Z-build\", \"exit_code\": 0, \"duration_ms\": 1843,\n",
		"2026-04-13 09:10:00.123 INFO worker 17 finished item 88213 in 12.4 ms\n"
	};
	static const char secret[] = "ann.smith@corp.io called +82 10-1234-5678, api_key=a1b2c3d4e5f6a7b8\n";
	size_t at = 0;

	for (unsigned i = 0; at + 200 < n; i++) {
		const char *line = i % 50 == 49 ? secret : lines[i % 5];
		size_t len = strlen(line);
		memcpy(to + at, line, len);
		at += len;
	}
	return at;
}

struct looked {
	struct arena a, scratch;
	char *text;
	size_t n;
	int fd, answer; /* the same text, for grep, and where it answers */
};

static void look(void *arg)
{
	struct looked *l = arg;
	const struct privacy_options options = { privacy_default_labels(), true };
	struct privacy_finding *found;

	if (!privacy_scan(&l->scratch, l->text, l->n, &options, &found))
		abort();
	arena_reset(&l->scratch);
}

static void grep(void *arg)
{
	const struct looked *l = arg;
	static const char pattern[] =
		"(pass(word|wd)|secret|token|api[_-]?key) *[=:] *[^ ]{8,}|(ghp|gho|sk|xoxb)[-_][A-Za-z0-9]{8,}|[0-9]{6}-[1-4][0-9]{6}|"
		"[A-Za-z0-9._+-]+@[A-Za-z0-9-]+[.][A-Za-z]{2,}|([0-9]{4}[ -]){3}[0-9]{4}|[+]?[0-9]{2,4}[-. ][0-9]{3,4}[-. ][0-9]{4}|[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}";
	posix_spawn_file_actions_t files;
	pid_t pid;
	int status;

	if (lseek(l->fd, 0, SEEK_SET))
		abort();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, l->fd, 0);
	/* With /dev/null for its answer it would stop at the first line. */
	posix_spawn_file_actions_adddup2(&files, l->answer, 1);
	const char *const argv[] = { "grep", "-c", "-E", pattern, NULL };
	if (posix_spawnp(&pid, "grep", &files, NULL, (char *const *)argv, environ) ||
		waitpid(pid, &status, 0) != pid || status)
		abort();
	posix_spawn_file_actions_destroy(&files);
}

int bench_privacy_scan(struct bench *b)
{
	struct looked l = { 0 };
	double s, base_s;

	l.text = arena_alloc(&l.a, BYTES);
	l.n = make_text(l.text, BYTES);
	l.fd = memfd_create("text", MFD_CLOEXEC);
	l.answer = memfd_create("answer", MFD_CLOEXEC);
	if (l.fd < 0 || l.answer < 0 || write(l.fd, l.text, l.n) != (ssize_t)l.n)
		return 1;
	bench_pair(b->rounds, look, grep, &l, &s, &base_s);
	b->value = (double)l.n / s / 1e6;
	b->baseline = (double)l.n / base_s / 1e6;
	b->unit = "MB/s";
	b->ratio = b->value / b->baseline;
	(void)close(l.fd);
	(void)close(l.answer);
	arena_done(&l.a);
	arena_done(&l.scratch);
	return 0;
}
