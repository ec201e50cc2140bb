/* heartbeat.c — a sign of life of a long run, beside the ledger.
 *
 * A run of hours says nothing for hours, and a ledger row every half minute would be noise that stays.  So
 * a small file per run is replaced instead and removed at the end.  It is for people and proves nothing;
 * one that is left behind by a killed run is removed when that run is closed. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <unistd.h>

const char *heartbeat_file(struct arena *a, const char *task_id)
{
	return arena_printf(a, HEARTBEATS "/%s.json", task_id);
}

void heartbeat_beat(struct sys *s, const struct workspace *ws, const char *task_id)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf text;
	struct err e;

	json_sets(&a, doc, "task_id", task_id);
	json_seti(&a, doc, "pid", getpid());
	json_sets(&a, doc, "heartbeat_at", text_time_iso(&a, s->now_us(s)));
	buf_init(&text, &a);
	json_write(&text, doc, 0);
	buf_addc(&text, '\n');
	/* A sign that cannot be given is no reason to disturb the run. */
	if (file_mkdirs(s, ws->state_fd, HEARTBEATS, 0700, &e) == OK)
		(void)file_put(s, ws->state_fd, heartbeat_file(&a, task_id), 0600, buf_bytes(&text), &e);
}

void heartbeat_end(struct sys *s, const struct workspace *ws, const char *task_id)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)s->unlink(s, ws->state_fd, heartbeat_file(&a, task_id), 0);
}
