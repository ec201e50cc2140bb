/* bench_pack.c — evidence packs of 10 000 files: writing and verifying one, against sha256sum over the same files.
 *
 * sha256sum opens, reads and hashes each file once: nobody who looks at every byte can do less.  Export does that too, and
 * writes, signs and syncs an archive; verification reads the archive and checks every step. */
#include "base/file.h"
#include "bench.h"
#include "record/record.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

enum { FILES = 10000, FILE_BYTES = 1200 };

struct place {
	char dir[64];
	int fd;
	struct key *key;
	struct trusted_key trusted;
	bool is_broken;
};

static const char *file_name(char to[32], int i)
{
	snprintf(to, 32, "receipts/%08d.json", i);
	return to;
}

/* Receipts of the usual size; their text is of no importance, only that no two are the same. */
static int make_files(struct place *p)
{
	char text[FILE_BYTES + 1], name[32];
	struct err e = { 0 };

	if (file_mkdirs(sys_real(), p->fd, "receipts", 0700, &e))
		return 1;
	for (int i = 0; i < FILES; i++) {
		memset(text, 'x', FILE_BYTES);
		int n = snprintf(text, sizeof(text), "{\"receipt_id\":\"r%d\",\"note\":\"", i);
		text[n] = 'y';
		memcpy(text + FILE_BYTES - 2, "\"}", 2);
		int fd = openat(p->fd, file_name(name, i), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, text, FILE_BYTES) != FILE_BYTES || close(fd))
			return 1;
	}
	return 0;
}

static int open_place(struct place *p)
{
	struct err e = { 0 };

	*p = (struct place){ .dir = "/tmp/helm-bench-XXXXXX", .fd = -1, .trusted = { .id = "" } };
	if (!mkdtemp(p->dir) || (p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	if (key_create(sys_real(), p->fd, "keys", "root", &p->key, &e))
		return 1;
	memcpy(p->trusted.key, key_public(p->key), KEY_SIZE);
	return make_files(p);
}

static void close_place(struct place *p)
{
	char *const argv[] = { (char *)(uintptr_t) "rm", (char *)(uintptr_t) "-rf", p->dir, NULL };
	pid_t pid;

	key_free(&p->key);
	close_fd(&p->fd);
	if (posix_spawnp(&pid, "rm", NULL, NULL, argv, environ) == 0)
		waitpid(pid, NULL, 0);
}

static void run_sha256sum(void *arg)
{
	struct place *p = arg;
	char command[128];
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL };
	pid_t pid;
	int status = 1;

	snprintf(command, sizeof(command), "cd %s && sha256sum receipts/* >sums", p->dir);
	if (posix_spawnp(&pid, "sh", NULL, NULL, argv, environ) == 0)
		waitpid(pid, &status, 0);
	p->is_broken |= status != 0;
}

static void run_export(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct place *p = arg;
	struct pack_item *items = arena_zalloc(&a, FILES, sizeof(*items));
	const struct pack_about about = { "did:helm:bench", "bench", "sha256:", "2026-01-01T00:00:00Z" };
	struct pack_written written;
	struct err e = { 0 };
	int rc = OK;

	for (int i = 0; i < FILES && !rc; i++) {
		items[i].path = file_name(arena_text(&a, 32), i);
		rc = file_read(sys_real(), &a, p->fd, items[i].path, 1 << 20, 0, &items[i].content, &e);
	}
	if (!rc)
		rc = pack_write(sys_real(), &a, p->fd, "p.tar", &about, items, FILES, p->key, &written, &e);
	p->is_broken |= rc != OK;
}

static void run_verify(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct place *p = arg;
	struct trust trust = { .keys = &p->trusted, .key_count = 1 };
	struct verification v;
	struct pack pack;
	struct err e = { 0 };

	verification_begin(&v, &a, &trust, "pack");
	if (verify_pack_open(sys_real(), &a, p->fd, "p.tar", NULL, &pack, &e) == OK)
		verify_pack(&v, &pack);
	p->is_broken |= verification_headline(&v) != HEADLINE_ADMISSIBLE;
}

static int measure(struct bench *b, void (*fn)(void *))
{
	struct place p;
	int rc = open_place(&p);

	if (!rc) {
		run_export(&p);
		bench_pair(b->rounds, fn, run_sha256sum, &p, &b->value, &b->baseline);
		b->unit = "s";
		b->ratio = b->value / b->baseline;
		rc = p.is_broken;
	}
	close_place(&p);
	return rc;
}

int bench_pack_export(struct bench *b)
{
	return measure(b, run_export);
}

int bench_pack_verify(struct bench *b)
{
	return measure(b, run_verify);
}
