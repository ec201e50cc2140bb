/* bench_checkpoint.c — saving and restoring 6,500 files, against the programs people would use instead.
 *
 * The tree is 650 directories of ten source-like files, about 40 MB in all.  `git add -A` starts with an empty repository, as
 * we start with an empty store; both read and compress every file, we also sync and read back.  The bare walk lists and
 * stats every file and does nothing else.  `cp -a` does not sync; we do.  Preparing and cleaning are not timed. */
#include "bench.h"
#include "execute/checkpoint/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILES = 6500, PER_DIRECTORY = 10 };

struct place {
	char path[256];
	int root_fd, state_fd;
	uint64_t walked;
	bool is_broken;
};

static int run_program(const char *const *argv, const char *dir)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (dir && chdir(dir))
			_exit(126);
		int null = open("/dev/null", O_RDWR);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the tree ---- */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t fill(char *text, size_t n, uint64_t *seed)
{
	static const char *const words[] = { "static ", "int ", "return ", "struct ", "if (", ") {\n\t",
		"}\n", "const char *", "err_set(", "size_t ", "= 0;\n", "for (", "->", "NULL", "/* why */ ",
		"value", "index", "count" };
	size_t at = 0;

	while (at + 40 < n) {
		uint64_t r = next_random(seed);
		at += (size_t)snprintf(text + at, 40, "%s", words[r % ARRAY_SIZE(words)]);
		if (r % 7 == 0)
			at += (size_t)snprintf(text + at, 20, "x%llx ", (unsigned long long)(r >> 40));
	}
	return at;
}

static bool make_tree(const char *root)
{
	static char text[64 << 10];
	char path[512];
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < FILES; i++) {
		int dir = i / PER_DIRECTORY;
		if (i % PER_DIRECTORY == 0) {
			snprintf(path, sizeof(path), "%s/m%d", root, dir / 50);
			mkdir(path, 0755);
			snprintf(path, sizeof(path), "%s/m%d/d%d", root, dir / 50, dir);
			if (mkdir(path, 0755))
				return false;
		}
		snprintf(path, sizeof(path), "%s/m%d/d%d/file%d.c", root, dir / 50, dir, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		size_t n = fill(text, 200 + (size_t)(next_random(&seed) % 12000), &seed);
		bool is_done = fd >= 0 && write(fd, text, n) == (ssize_t)n;
		close(fd);
		if (!is_done)
			return false;
	}
	return true;
}

static bool open_place(struct place *p)
{
	const char *tmp = getenv("TMPDIR");
	char path[300];

	snprintf(p->path, sizeof(p->path), "%s/helm-bench-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(p->path))
		return false;
	snprintf(path, sizeof(path), "%s/tree", p->path);
	if (mkdir(path, 0755) || !make_tree(path))
		return false;
	p->root_fd = open(path, O_RDONLY | O_DIRECTORY);
	p->state_fd = -1;
	/* Files as young as this are read again on purpose; a real tree is older. */
	struct timespec nap = { .tv_nsec = 100000000 };
	sync();
	nanosleep(&nap, NULL);
	return p->root_fd >= 0;
}

static void clean(struct place *p, const char *name)
{
	const char *argv[] = { "rm", "-rf", name, NULL };

	if (run_program(argv, p->path))
		p->is_broken = true;
}

static void close_place(struct place *p)
{
	const char *argv[] = { "rm", "-rf", p->path, NULL };

	close(p->root_fd);
	close(p->state_fd);
	run_program(argv, NULL);
}

/* ---- ours ---- */

static void fresh_state(struct place *p)
{
	if (p->state_fd >= 0)
		close(p->state_fd);
	clean(p, "tree/.helm");
	mkdirat(p->root_fd, ".helm", 0700);
	p->state_fd = openat(p->root_fd, ".helm", O_RDONLY | O_DIRECTORY);
}

static void create(void *arg)
{
	struct place *p = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct checkpoint_store st;
	struct checkpoint_result made;
	struct err e;
	struct checkpoint_request q = { .label = "bench" };

	if (checkpoint_open(&st, sys_real(), &a, p->root_fd, p->state_fd, ".helm", &e)) {
		p->is_broken = true;
		return;
	}
	if (checkpoint_create(&st, &q, &made, &e) || made.files != FILES)
		p->is_broken = true;
	checkpoint_close(&st);
}

static void restore(void *arg)
{
	struct place *p = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct checkpoint_store st;
	struct checkpoint_restored back;
	struct err e;
	struct checkpoint_restore q = { .id = "latest" };

	if (checkpoint_open(&st, sys_real(), &a, p->root_fd, p->state_fd, ".helm", &e)) {
		p->is_broken = true;
		return;
	}
	if (checkpoint_restore(&st, &q, &back, &e) || back.written < FILES)
		p->is_broken = true;
	checkpoint_close(&st);
}

/* ---- the yardsticks ---- */

static void git_init(struct place *p)
{
	const char *argv[] = { "git", "init", "-q", "--separate-git-dir=git", "tree", NULL };

	clean(p, "git");
	clean(p, "tree/.git");
	if (run_program(argv, p->path))
		p->is_broken = true;
}

static void git_add(void *arg)
{
	struct place *p = arg;
	const char *argv[] = { "git", "add", "-A", "--", ".", ":!.helm", NULL };
	char tree[300];

	snprintf(tree, sizeof(tree), "%s/tree", p->path);
	if (run_program(argv, tree))
		p->is_broken = true;
}

static void walk(struct place *p, int fd)
{
	char block[32 << 10] __attribute__((aligned(8)));
	ssize_t got;

	while ((got = getdents64(fd, block, sizeof(block))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *d = (const struct dirent64 *)(block + at);
			struct stat st;
			at += d->d_reclen;
			if (d->d_name[0] == '.' || fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
				continue;
			p->walked++;
			if (!S_ISDIR(st.st_mode))
				continue;
			int inner = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			walk(p, inner);
			close(inner);
		}
}

static void bare_walk(void *arg)
{
	struct place *p = arg;
	int fd = openat(p->root_fd, ".", O_RDONLY | O_DIRECTORY);

	walk(p, fd);
	close(fd);
}

static void copy(void *arg)
{
	struct place *p = arg;
	char to[32];
	const char *argv[] = { "cp", "-a", "tree", to, NULL };

	snprintf(to, sizeof(to), "copy%llu", (unsigned long long)p->walked++);
	if (run_program(argv, p->path))
		p->is_broken = true;
}

/* ---- the figures ---- */

static double once(void (*fn)(void *), void *arg)
{
	double start = bench_now_s();

	fn(arg);
	return bench_now_s() - start;
}

static int finish(struct bench *b, struct place *p, double ours, double theirs)
{
	b->value = ours * 1000;
	b->baseline = theirs * 1000;
	b->unit = "ms";
	b->ratio = ours / theirs;
	close_place(p);
	return p->is_broken;
}

static double least(double x, double y)
{
	return x < y ? x : y;
}

int bench_checkpoint_first(struct bench *b)
{
	struct place p = { 0 };
	double ours = 1e9, git = 1e9;
	const char *argv[] = { "git", "--version", NULL };

	if (run_program(argv, NULL)) {
		b->skipped = "no git here";
		return 0;
	}
	if (!open_place(&p))
		return 1;
	for (int i = 0; i < b->rounds; i++) {
		fresh_state(&p);
		ours = least(ours, once(create, &p));
		git_init(&p);
		git = least(git, once(git_add, &p));
	}
	return finish(b, &p, ours, git);
}

int bench_checkpoint_again(struct bench *b)
{
	struct place p = { 0 };
	double ours, theirs;

	if (!open_place(&p))
		return 1;
	fresh_state(&p);
	create(&p);
	bench_pair(b->rounds * 4, create, bare_walk, &p, &ours, &theirs);
	return finish(b, &p, ours, theirs);
}

/* Both make new files; nothing is deleted while it is measured, because some file systems search long for inodes that were
 * not in use a moment ago. */
int bench_checkpoint_restore(struct bench *b)
{
	struct place p = { 0 };
	double ours = 1e9, theirs = 1e9;
	const char *aside[] = { "sh", "-c", "mkdir -p old && d=$(mktemp -d old/XXXXXX) && mv tree/m* \"$d\"",
		NULL };
	const char *settle[] = { "sync", NULL };

	if (!open_place(&p))
		return 1;
	fresh_state(&p);
	create(&p);
	for (int i = 0; i < b->rounds; i++) {
		run_program(settle, NULL);
		theirs = least(theirs, once(copy, &p));
		if (run_program(aside, p.path))
			p.is_broken = true;
		run_program(settle, NULL);
		ours = least(ours, once(restore, &p));
	}
	return finish(b, &p, ours, theirs);
}
