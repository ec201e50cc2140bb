/* place.h — a throw-away home with a workspace, in which helm is started as a client starts it. */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include "bench.h"

struct place {
	struct arena a;
	const char *helm, *home;
	const char *env[8];
	bool has_failed;
	char input[4200]; /* file given as standard input; "" = /dev/null */
};

/* Made below the build, so that it is on a real disk.  False when there is no helm beside helm-bench, or it cannot start. */
bool place_open(struct place *p, const struct bench *b, const char *name);
void place_close(struct place *p);
/* What is started from now on reads this. */
void place_input(struct place *p, const char *text);
/* Start and wait: the status of waitpid().  Thread-safe. */
int place_start(const struct place *p, const char *const *argv);
/* Start and wait; the most memory it had, in MiB.  Exit 1 is no failure: it has something to say. */
double place_memory(struct place *p, const char *const *argv);
/* helm-bench --peak FILE PROGRAM ARGS: run it, write the most that was resident, in KiB, to FILE, end as it did. */
int place_peak(const char *file, char *const *argv);

#endif
