/* program.c — what is run is what was judged.
 *
 * Between the decision and the start lie a checkpoint, records on disk, walls: time in which somebody can
 * put another file in the place of the one that was judged.  So the program is looked up once, and known by
 * its inode and times; a script whose text was judged is known by its digest.  Both are looked at again by
 * the child itself, as the last thing before it becomes the command. Running from an open descriptor would
 * close the last gap, too, but then a script no longer knows its own name. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/contain.h"
#include "kernel/task/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Larger programs are known by size and times alone: a digest of each would cost more than the run. */
enum { DIGEST_MAX = 2 << 20, CHUNK = 16 << 10 };

static bool is_program(struct sys *s, const char *path, struct stat *st)
{
	return s->stat(s, AT_FDCWD, path, st, 0) == 0 && S_ISREG(st->st_mode) && (st->st_mode & 0111);
}

/* As execvp(3) will look for it, seen from `cwd`. */
static const char *look_up(struct sys *s, struct arena *a, const char *name, const char *cwd, struct stat *st)
{
	const char *list = s->getenv(s, "PATH");
	struct bytes rest = bytes_of(list ? list : "/bin:/usr/bin");

	if (strchr(name, '/')) {
		const char *path = path_join(a, cwd, name);
		return is_program(s, path, st) ? path : NULL;
	}
	while (*name && rest.p) {
		struct bytes dir = text_cut(&rest, ':');
		const char *path = arena_printf(a, "%s/%s",
			path_join(a, cwd, dir.n ? arena_strndup(a, (const char *)dir.p, dir.n) : "."), name);
		if (is_program(s, path, st))
			return path;
	}
	return NULL;
}

/* False when it cannot be read. */
static bool digest_of(struct sys *s, const char *path, char hex[SHA256_HEX])
{
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, 0);
	uint8_t digest[SHA256_SIZE], chunk[CHUNK];
	struct sha256 hash;
	ssize_t n = fd < 0 ? -1 : 0;

	sha256_begin(&hash);
	while (fd >= 0 && (n = s->read(s, fd, chunk, sizeof(chunk))) > 0)
		sha256_add(&hash, chunk, (size_t)n);
	sha256_end(&hash, digest);
	hex_encode(digest, SHA256_SIZE, hex);
	return n == 0;
}

bool task_finds_program(struct sys *s, struct arena *a, const char *name, const char *cwd)
{
	struct stat st;

	return look_up(s, a, name, cwd, &st) != NULL;
}

bool task_is_found_by_name(struct sys *s, struct arena *a, const char *name, const char *cwd)
{
	struct stat named, found;

	return !strchr(name, '/') ||
		(look_up(s, a, name, cwd, &named) && look_up(s, a, path_base(name), cwd, &found) &&
			named.st_dev == found.st_dev && named.st_ino == found.st_ino);
}

void task_find_program(
	struct kernel *k, struct arena *a, const struct run_spec *spec, struct task_program *ret)
{
	struct task_program p = { .sys = k->sys, .place = spec->permitted_at };
	char hex[SHA256_HEX];

	p.path = look_up(k->sys, a, spec->argv[0], spec->cwd, &p.st);
	if (p.path && p.st.st_size <= DIGEST_MAX && digest_of(k->sys, p.path, hex))
		p.sha256 = arena_strdup(a, hex);
	*ret = p;
}

struct json *task_program_json(struct arena *a, const struct task_program *p)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "path", text_safe(a, p->path, strlen(p->path), true));
	json_seti(a, doc, "size", p->st.st_size);
	if (p->sha256)
		json_sets(a, doc, "sha256", p->sha256);
	return doc;
}

/* The change time is compared, too: it cannot be set back after a file was written to. */
static bool is_same(const struct stat *x, const struct stat *y)
{
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_size == y->st_size &&
		x->st_mtim.tv_sec == y->st_mtim.tv_sec && x->st_mtim.tv_nsec == y->st_mtim.tv_nsec &&
		x->st_ctim.tv_sec == y->st_ctim.tv_sec && x->st_ctim.tv_nsec == y->st_ctim.tv_nsec;
}

/* The directory we stand in, by its number and by its way down: one that was moved has other directories above it. */
static bool is_there(struct sys *s, const struct held_place *at)
{
	char now[PATH_MAX];
	struct stat st;

	return getcwd(now, sizeof(now)) && text_eq(now, at->real) && s->stat(s, AT_FDCWD, ".", &st, 0) == 0 &&
		st.st_dev == at->dev && st.st_ino == at->ino;
}

/* Called in the child, which shares helm's memory: it only reads and writes `why`. */
bool task_program_is_same(const struct task_program *p, char *why, size_t why_n)
{
	char hex[SHA256_HEX];
	struct stat now;

	if (p->path && p->sys->stat(p->sys, AT_FDCWD, p->path, &now, 0) && errno == ENOENT) {
		snprintf(why, why_n,
			"'%.120s' is not to be seen from inside: it lies where the run has a directory of its own (/tmp), or is gone; put it elsewhere",
			p->path);
		return false;
	}
	if (p->path && (!is_program(p->sys, p->path, &now) || !is_same(&now, &p->st))) {
		snprintf(why, why_n, "'%.120s' is no longer the program that was judged", p->path);
		return false;
	}
	if (p->place && !is_there(p->sys, p->place)) {
		snprintf(why, why_n, "'%.120s' is no longer the directory that it was permitted in",
			p->place->real);
		return false;
	}
	for (size_t i = 0; i < p->file_count; i++) {
		if (digest_of(p->sys, p->files[i].path, hex) && text_eq(hex, p->files[i].sha256))
			continue;
		snprintf(why, why_n, "'%.120s' is no longer the text that was judged", p->files[i].path);
		return false;
	}
	return true;
}

/* ---- what a contract lets be executed ---- */

/* The file itself, without links: that is what the kernel looks at. */
static const char *real_program(const struct task *t, const char *name)
{
	char real[PATH_MAX];
	struct stat st;
	const char *path = look_up(t->k->sys, t->a, name, task_tree(t), &st);

	return path && realpath(path, real) ? arena_strdup(t->a, real) : path;
}

/* "#!/usr/bin/env python3": both of them. */
static void add_interpreters(const struct task *t, const char *path, struct json *list)
{
	char line[256];
	AUTO(close_fd)
	int fd = path ? t->k->sys->open(t->k->sys, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, 0) : -1;
	ssize_t n = fd < 0 ? -1 : t->k->sys->read(t->k->sys, fd, line, sizeof(line) - 1);
	const char *const *words;
	size_t count = 0;

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (!text_words(t->a, line + 2, &words, &count))
		return;
	for (size_t i = 0; i < count && i < 2; i++)
		if (i == 0 || text_eq(path_base(words[0]), "env"))
			place_add(t->a, list, real_program(t, words[i]));
}

static void add_program(const struct task *t, const char *name, struct json *list)
{
	const char *path = real_program(t, name);

	place_add(t->a, list, path);
	add_interpreters(t, path, list);
}

const char *const *task_programs(const struct task *t)
{
	const char *const shells[] = { "/bin/sh", "/bin/bash", shell_of_person(t->k->sys) };
	const struct terms *terms = t->profile->terms;
	struct json *list = json_new(t->a, JSON_ARRAY);

	if (!terms || !terms->has_commands)
		return NULL;
	for (size_t i = 0; i < terms->command_count; i++)
		if (terms->commands[i].n)
			add_program(t, terms->commands[i].words[0], list);
	if (terms->entrypoint.n)
		add_program(t, terms->entrypoint.words[0], list);
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		add_program(t, shells[i], list);
	if (t->spec->argc)
		add_program(t, t->spec->argv[0], list);
	return place_list(t->a, list);
}
