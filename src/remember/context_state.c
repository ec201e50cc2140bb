/* context_state.c — the card of a task: how it ended, for whoever goes on. */
#include "remember/context.h"

#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>

#define CARDS "state-snapshots"
enum { CARD_BYTES = 1 << 20 };

struct wanted {
	struct arena *a;
	const char *task_id;
	struct json *row;
};

/* The path of a card: an object says more, older rows have the path alone. */
static const char *card_path(const struct json *row)
{
	const struct json *card = json_get(row, "state_snapshot");

	return json_text(card) ? json_text(card) : json_get_text(card, "path", NULL);
}

static int find_row(void *arg, struct json *row)
{
	struct wanted *w = arg;

	if (!card_path(row) || (w->task_id && !text_eq(json_get_text(row, "task_id", ""), w->task_id)))
		return 0;
	w->row = json_copy(w->a, row);
	return 1;
}

/* Without a row the newest file: its name begins with the time. */
static const char *newest_card(const struct context_place *at)
{
	char **names = NULL;
	size_t n = 0;

	if (file_list(at->sys, at->a, at->state_fd, CARDS, &names, &n, NULL))
		return NULL;
	while (n-- > 0)
		if (text_ends(names[n], ".md"))
			return arena_printf(at->a, "%s/%s/%s", at->state_name, CARDS, names[n]);
	return NULL;
}

int context_snapshot(const struct context_place *at, const char *task_id, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct wanted w = { .a = a, .task_id = task_id };
	struct json *doc = json_new(a, JSON_OBJECT);
	struct bytes text;
	size_t n;
	int rc = rows_back(at->sys, NULL, at->state_fd, TASK_LEDGER, 0, task_id, find_row, &w, e);

	if (rc)
		return rc;
	const char *path = w.row ? card_path(w.row) : task_id ? NULL : newest_card(at);
	if (!path)
		return err_set(e, E_MISSING, "CONTEXT_SNAPSHOT",
			task_id ? "the task '%s' has no snapshot of its state; 'helm task list' shows tasks"
				: "no task has a snapshot of its state yet%s",
			task_id ? task_id : "");
	rc = file_read(at->sys, a, at->root_fd, path, CARD_BYTES, FILE_BENEATH, &text, e);
	if (rc)
		return err_wrap(e, "the snapshot cannot be read");
	if (w.row)
		privacy_redact_json(a, w.row);
	const char *shown = privacy_redact(a, (const char *)text.p, text.n, &n);
	json_sets(a, doc, "workspace", at->root);
	json_set(a, doc, "task", w.row ? w.row : json_new(a, JSON_NULL));
	const struct json *card = json_get(w.row, "state_snapshot");
	struct json *about = json_is(card, JSON_OBJECT) ? json_copy(a, card) : json_new(a, JSON_OBJECT);
	json_sets(a, about, "path", path);
	json_set(a, doc, "snapshot", about);
	json_sets(a, doc, "snapshot_path", path);
	json_set(a, doc, "content", json_stringn(a, shown, n));
	*ret = doc;
	return OK;
}
