/* state_files.c — see state_files.h.
 *
 * One that can be read is never touched, whatever it says; and one of a newer release can be read. */
#include "kernel/state_files.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "kernel/shipped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* What is lost with each. */
static const struct {
	const char *file, *lost;
} of_state[] = {
	{ "long-running-runtime.json", "which runs waited for a person; they ask again" },
	{ "setup.json", "what was put in front of agent clients; 'helm setup status' finds what is there" },
	{ "profile-pause-state.json", "nothing: pauses stand in the settings" },
	{ "workspace.json", "nothing: the settings say what was chosen" },
};

/* It is there, and no document. */
static bool is_damaged(
	struct sys *s, struct arena *a, int dirfd, const char *file, bool is_object, struct bytes *ret)
{
	struct json *doc;

	return file_read(s, a, dirfd, file, SHIPPED_MOST_BYTES, 0, ret, NULL) == OK &&
		(json_parse(a, *ret, file, NULL, &doc, NULL) || (is_object && !json_is(doc, JSON_OBJECT)));
}

bool state_file_is_unusable(struct sys *s, struct arena *a, const struct workspace *ws, const char *file)
{
	struct json *offer;
	struct err e = { 0 };

	return accepted_offer(s, a, ws, &offer, &e) && text_starts(e.text, file);
}

static int put_aside(struct sys *s, struct arena *a, int dirfd, const char *file, const char *lost,
	struct json *done, struct err *e)
{
	const char *aside = arena_printf(a, "%s.damaged-%lld", file, (long long)s->now_us(s));

	if (s->rename(s, dirfd, file, dirfd, aside, RENAME_NOREPLACE))
		return err_sys(e, "STATE_REPAIR", "cannot put %s aside", file);
	json_pushs(a, done,
		arena_printf(
			a, "%s was no document any more; it is kept as %s; lost: %s", file, aside, lost));
	return OK;
}

int state_files_repair(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json *done, struct err *e)
{
	struct bytes text;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < SHIPPED_COUNT; i++) {
		const struct shipped_file *f = &SHIPPED_FILES[i];
		if (!text_ends(f->to, ".json") ||
			(!is_damaged(s, a, ws->root_fd, f->to, false, &text) &&
				!state_file_is_unusable(s, a, ws, f->to)))
			continue;
		rc = shipped_put(s, a, ws->root_fd, f, &text, e);
		if (rc == OK)
			json_pushs(a, done,
				arena_printf(a,
					"%s could not be read any more; it is as shipped again, and what was there is kept as "
					"%s.bak",
					f->to, f->to));
	}
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(of_state); i++)
		if (ws->state_fd >= 0 && is_damaged(s, a, ws->state_fd, of_state[i].file, true, &text))
			rc = put_aside(s, a, ws->state_fd, of_state[i].file, of_state[i].lost, done, e);
	return rc;
}
