/* place.h — a workspace and its kernel in a crash test: as one process sees it. */
#ifndef TESTS_TOOLS_PLACE_H
#define TESTS_TOOLS_PLACE_H

#include "kernel/kernel.h"
#include "kernel/workspace.h"
#include "propose/propose.h"

struct place {
	struct arena a;
	struct workspace *ws;
	struct kernel k;
	struct surroundings at;
	bool is_open; /* the kernel */
	const char *env[4];
};

/* For AUTO(). */
static inline void place_close(struct place *p)
{
	if (p->is_open)
		kernel_close(&p->k);
	workspace_close(p->ws);
	arena_done(&p->a);
}

#endif
