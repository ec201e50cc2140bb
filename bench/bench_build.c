/* bench_build.c — what a real build costs inside the walls: compiling and testing a small C project, and `npm ci` where npm is, each
 * under `helm run --profile develop` against the same without.
 *
 * Almost all of it is the build's own work; what is measured is the rest: the decision and its record, the walls, the system calls that
 * pass their filters, the layers over caches, and the look at what changed. Packages come from files, because there is no network
 * here that could be compared. */
#include "bench.h"
#include "place.h"

#include "base/text.h"

#include <stdio.h>
#include <unistd.h>

static const char make_c[] =
	"mkdir -p src && i=0 && while [ $i -lt 8 ]; do i=$((i + 1)); {\n"
	"  echo '#include <stdio.h>'; echo '#include <stdlib.h>'; echo '#include <string.h>'\n"
	"  j=0; while [ $j -lt 40 ]; do j=$((j + 1))\n"
	"    echo \"int f${i}_$j(int a, int b) { char t[64]; for (int k = 0; k < b; k++) a += (k ^ $j) % (a | 1); snprintf(t, sizeof(t), \\\"%d\\\", a); return (int)strlen(t) + atoi(t); }\"\n"
	"  done; } >src/part$i.c; done\n"
	"{ i=0; while [ $i -lt 8 ]; do i=$((i + 1)); echo \"int f${i}_1(int, int);\"; done\n"
	"  echo 'int main(void) { int n = 0;'; i=0; while [ $i -lt 8 ]; do i=$((i + 1)); echo \"n += f${i}_1($i, 9);\"; done; echo 'return n == 0; }'; } >src/main.c\n";
static const char build_c[] =
	"rm -rf build && mkdir build && for f in src/*.c; do gcc -O1 -c \"$f\" -o \"build/${f##*/}.o\" || exit 1; done\n"
	"gcc -o build/app build/*.o && ./build/app\n";

static const char make_npm[] =
	"mkdir -p parts package && i=0 && while [ $i -lt 40 ]; do i=$((i + 1))\n"
	"  printf '{\"name\":\"part%d\",\"version\":\"1.0.0\"}' $i >package/package.json\n"
	"  j=0; while [ $j -lt 20 ]; do j=$((j + 1)); echo \"module.exports = $j;\" >package/f$j.js; done\n"
	"  tar czf parts/part$i.tgz package || exit 1; done; rm -rf package\n"
	"{ printf '{\"name\":\"all\",\"version\":\"1.0.0\",\"dependencies\":{'; i=0; while [ $i -lt 40 ]; do i=$((i + 1)); [ $i = 1 ] || printf ,\n"
	"  printf '\"part%d\":\"file:parts/part%d.tgz\"' $i $i; done; printf '}}'; } >package.json\n"
	"npm install --offline --no-audit --no-fund\n";
static const char build_npm[] =
	"npm ci --offline --no-audit --no-fund && node -e \"require('part40/f7.js')\"\n";

struct build {
	struct place place;
	const char *script; /* its path */
};

static void bare(void *arg)
{
	struct build *b = arg;

	b->place.has_failed |=
		place_start(&b->place, (const char *const[]){ "/bin/sh", b->script, NULL }) != 0;
}

static void contained(void *arg)
{
	struct build *b = arg;

	b->place.has_failed |= place_start(&b->place,
				       (const char *const[]){ b->place.helm, "run", "--profile", "develop",
					       "--", "sh", b->script, NULL }) != 0;
}

static bool write_script(struct build *x, const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	const char *root = arena_printf(&x->place.a, "%s/ws", x->place.home);
	bool is_good = f && fprintf(f, "set -e\ncd %s\n%s", text_quote(&x->place.a, root), text) > 0;

	return f && fclose(f) == 0 && is_good;
}

static int measure(struct bench *b, const char *name, const char *needs, const char *make, const char *build)
{
	struct build x = { 0 };
	double ours, theirs;

	if (access(needs, X_OK)) {
		b->skipped = "the program that builds is not there";
		return 0;
	}
	if (!place_open(&x.place, b, name))
		return 1;
	struct place *p = &x.place;
	const char *maker = arena_printf(&p->a, "%s/ws/make.sh", p->home);
	x.script = arena_printf(&p->a, "%s/ws/build.sh", p->home);
	if (place_start(
		    p, (const char *const[]){ p->helm, "run", "--profile", "develop", "--", "true", NULL }) !=
		0) {
		b->skipped = "the walls of develop cannot be put up here";
		place_close(p);
		return 0;
	}
	p->has_failed |= !write_script(&x, maker, make) || !write_script(&x, x.script, build) ||
		place_start(p, (const char *const[]){ "/bin/sh", maker, NULL }) != 0;
	if (!p->has_failed)
		bench_pair(b->rounds, contained, bare, &x, &ours, &theirs);
	b->value = p->has_failed ? 0 : ours * 1e3;
	b->baseline = p->has_failed ? 1 : theirs * 1e3;
	b->unit = "ms";
	b->ratio = b->value / b->baseline;
	bool failed = p->has_failed;
	place_close(p);
	return failed;
}

int bench_contained_build(struct bench *b)
{
	return measure(b, "build", "/usr/bin/gcc", make_c, build_c);
}

int bench_contained_npm(struct bench *b)
{
	return measure(b, "npm", "/usr/bin/npm", make_npm, build_npm);
}
