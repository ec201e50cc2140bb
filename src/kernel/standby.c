/* standby.c — a kernel that is kept from request to request.
 *
 * Opening one reads and compiles profiles and rules, loads a key and opens the chain; nearly always all of that is as it was a moment ago.  So it
 * is kept, and before each request everything that it was made from is looked at: a dozen stat() calls instead of reading.  Whatever is not
 * exactly the same file any more, or was not there and is now, has all of it made again.  What decides otherwise (freezes, pauses, grants, the
 * choice of a profile) is not kept here: it is read where it is asked for. */
#include "base/text.h"
#include "kernel/posture_parts.h"

#include <fcntl.h>
#include <string.h>

enum { COARSE_US = 100000, DIRECTORIES = 2 };

/* Of a directory only which one it is counts: files come and go in it. */
static struct stamp stamp_of(const struct standby *x, struct sys *s, size_t i)
{
	struct stamp now = x->sources[i] ? posture_stamp(s, x->sources[i], 0) : (struct stamp){ 0 };

	return i < DIRECTORIES ? (struct stamp){ .dev = now.dev, .ino = now.ino } : now;
}

/* File systems tell times coarsely: one that changed a moment ago may change once more without looking otherwise.  Its stamp is none that it will ever
 * have, so that it is read again. */
static struct stamp settled_stamp(const struct standby *x, struct sys *s, size_t i)
{
	struct stamp now = stamp_of(x, s, i);
	int64_t age_us = s->now_us(s) - (int64_t)now.changed_s * 1000000 - (int64_t)now.changed_ns / 1000;

	if (now.changed_s && age_us < COARSE_US)
		now.modified_ns = UINT64_MAX;
	return now;
}

/* Everything that is read when a kernel is opened.  Bytes that a person has accepted are kept by digest: only that they are there counts. */
static void name_sources(struct standby *x, struct sys *s, const struct workspace *ws)
{
	const struct posture *p = posture_of(s, ws);
	struct arena *a = &x->a;
	size_t n = 0;

	x->word = p->word;
	x->sources[n++] = ws->root; /* DIRECTORIES of them */
	x->sources[n++] = ws->state_dir;
	x->sources[n++] = arena_printf(a, "%s/workspace.json", ws->state_dir);
	x->sources[n++] = arena_printf(a, "%s/keys/root.key", ws->helm_home ? ws->helm_home : "");
	x->sources[n++] = arena_printf(a, "%s/keys/" SIGNER_FILE, ws->helm_home ? ws->helm_home : "");
	for (size_t i = 0; i < GOVERNED_CHECKPOINTS; i++) {
		const char *digest = json_get_text(json_get(p->word, "accepted"), GOVERNED[i].file, NULL);
		x->sources[n++] = arena_printf(a, "%s/%s", ws->root, GOVERNED[i].file);
		x->sources[n++] =
			digest && text_starts(digest, "sha256:") ? accepted_copy(a, p, digest) : NULL;
	}
	if (n > STANDBY_SOURCES)
		BUG("more sources than there is room for");
	for (size_t i = 0; i < n; i++)
		x->stamps[i] = settled_stamp(x, s, i);
	x->source_count = n;
}

static bool is_current(struct standby *x)
{
	struct sys *s = x->k.sys;

	if (posture_of(s, x->k.ws)->word != x->word)
		return false;
	for (size_t i = 0; i < x->source_count; i++) {
		struct stamp now = stamp_of(x, s, i);
		if (memcmp(&now, &x->stamps[i], sizeof(now)) != 0)
			return false;
	}
	return true;
}

void standby_close(struct standby *x)
{
	if (x->is_open) {
		kernel_close(&x->k);
		workspace_close(x->k.ws);
	}
	arena_done(&x->a);
	*x = (struct standby){ 0 };
}

/* Sources are looked at before they are read: what changes meanwhile is noticed by the next request. */
static int open_anew(struct standby *x, struct sys *s, const char *root, struct err *e)
{
	struct workspace *ws;
	int rc = workspace_open(s, &x->a, root, 0, &ws, e);

	if (rc)
		return rc;
	name_sources(x, s, ws);
	rc = kernel_open_unarmed(s, &x->a, ws, &x->k, e);
	if (rc)
		workspace_close(ws);
	x->is_open = rc == OK;
	return rc;
}

int standby_open(struct standby *x, struct sys *s, const char *root, struct kernel **ret, struct err *e)
{
	int rc = OK;

	if (!x->is_open || !is_current(x)) {
		standby_close(x);
		rc = open_anew(x, s, root, e);
	}
	if (rc)
		standby_close(x);
	else
		*ret = &x->k;
	return rc;
}
