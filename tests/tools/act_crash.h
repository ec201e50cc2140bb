/* act_crash.h — acts about what governs a workspace, in crash tests: a workspace to act in, and one act by one process of its own. */
#ifndef TESTS_TOOLS_ACT_CRASH_H
#define TESTS_TOOLS_ACT_CRASH_H

#include "base/hash.h"
#include "tools/crash.h"
#include "tools/place.h"
#include "tools/unit.h"

#include <string.h>

static inline void set_home(struct crash *c, struct fault *f, struct place *p)
{
	p->env[0] = arena_printf(&p->a, "HOME=%s", c->t.path);
	f->env = p->env;
}

/* Only the workspace, as somebody who reads sees it. */
static inline int look(struct crash *c, struct sys *s, struct place *p, struct err *e)
{
	return workspace_open(s, &p->a, arena_printf(&p->a, "%s/ws", c->t.path), 0, &p->ws, e);
}

/* With the kernel, as every command that signs does: what was left is finished first. */
static inline int place_open(struct crash *c, struct sys *s, struct place *p, struct err *e)
{
	int rc = look(c, s, p, e);

	if (rc == OK)
		rc = kernel_open(s, &p->a, p->ws, &p->k, e);
	p->is_open = rc == OK;
	return rc;
}

typedef int act_fn(struct place *p, struct err *e);

static inline void calmly(struct crash *c, act_fn *fn)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };

	fault_init(&f);
	set_home(c, &f, &p);
	if (place_open(c, &f.sys, &p, &e) || fn(&p, &e))
		fail_msg("%s", e.text);
}

static inline void setup_workspace(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct json *done;
	struct err e = { 0 };
	bool created;

	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(workspace_open(&f.sys, &p.a, arena_printf(&p.a, "%s/ws", c->t.path), WORKSPACE_NEW,
				 &p.ws, &e),
		OK);
	assert_int_equal(workspace_init(&f.sys, &p.a, p.ws, false, &done, &e), OK);
	assert_int_equal(kernel_ensure_key(&f.sys, &p.a, &created, &e), OK);
}

/* What can be made again from the receipts may be lost, and so may a lock. */
static inline void acknowledge(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *root = arena_printf(&a, "%s/ws", c->t.path);
	const char *const names[] = { "ws/.helm/log", "ws/.helm/log/leaves", "ws/.helm/log/edge",
		"ws/.helm/log/lock", "ws/.helm/log/heads.jsonl",
		arena_printf(&a, ".helm/trees/%s/posture.lock", sha256_hex(&a, root, strlen(root))) };
	struct stat st;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
	crash_ack(c);
}

static inline int act(struct crash *c, act_fn *fn, struct err *e)
{
	AUTO(place_close) struct place p = { 0 };

	set_home(c, &c->f, &p);
	int rc = place_open(c, &c->f.sys, &p, e);
	if (rc == OK)
		rc = fn(&p, e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

#endif
