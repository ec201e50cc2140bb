/* armed_end.c — what is said about auto-run files once they were looked at: to the operator, in the row, in the receipt. */
#include "base/text.h"
#include "kernel/task/parts.h"

/* A list for the person; NULL when nothing was done. */
static const char *say(struct task *t)
{
	struct buf text;
	size_t shown = 0;

	buf_init(&text, t->a);
	json_each (one, t->left_behind) {
		const char *what = json_get_text(one, "what", "");
		if (text_eq(what, "noted") || text_eq(what, "left") || text_eq(what, "dropped"))
			continue;
		if (++shown > 3)
			continue;
		buf_addf(&text, "%s%s (%s%s%s)", text.n ? ", " : "", json_get_text(one, "path", ""),
			text_eq(what, "put_back") ? "put back" : what, json_get(one, "as") ? ", as " : "",
			json_get_text(one, "as", ""));
	}
	if (!shown)
		return NULL;
	if (shown > 3)
		buf_addf(&text, " and %zu more", shown - 3);
	return text.p;
}

const char *armed_left(const struct task *t)
{
	struct buf text;
	size_t shown = 0;

	buf_init(&text, t->a);
	json_each (one, t->left_behind)
		if (text_eq(json_get_text(one, "what", ""), "left") && ++shown <= 3)
			buf_addf(&text, "%s%s (%s)", text.n ? ", " : "", json_get_text(one, "path", ""),
				json_get_text(one, "why", ""));
	if (!shown)
		buf_adds(&text, "more than is listed");
	if (shown > 3)
		buf_addf(&text, " and %zu more", shown - 3);
	return arena_printf(t->a,
		"STILL ACTIVE: this may start programs later, and could not be looked at or taken away: %s; nothing more is run here until an "
		"operator has removed it; then: helm task recover",
		text.p);
}

uint32_t task_left_count(const struct task *t)
{
	return t->left_behind ? t->left_behind->n : 0;
}

/* In a process of its own: the session goes on meanwhile, so nothing of it but what never changes is used.  What it was at its beginning
 * stays what this run is compared with at its end: what is written between this look and the command's own is found then. */
int armed_hold(struct task *t, struct err *e)
{
	const struct task *session = t->spec->left;
	struct run_report report = { 0 };
	struct task look = { .k = t->k,
		.a = t->a,
		.spec = session->spec,
		.report = &report,
		.profile = session->profile,
		.at = session->at,
		.armed = session->armed,
		.linked_own = session->linked_own,
		.nested = session->nested,
		.modes = session->modes,
		.lasts = true,
		.hooks = session->hooks,
		.rules = session->rules,
		.result = session->so_far };

	if (session->profile->writes != ALLOWANCE_YES)
		return OK;
	(void)task_touched(&look);
	armed_check(&look);
	t->armed = session->armed;
	t->linked_own = session->linked_own;
	t->nested = session->nested;
	t->modes = session->modes;
	t->hooks = session->hooks;
	/* Also what was taken away while the session went on, since somebody was last stopped by it. */
	struct json *held = session->left_behind;
	for (uint32_t i = t->spec->left_told; held && i < held->n; i++)
		armed_say_row(&look, held->items[i]);
	const char *what = look.is_left ? armed_left(&look) : look.left_behind ? say(&look) : NULL;
	if (!what)
		return OK;
	t->left_behind = look.left_behind;
	t->is_left = look.is_left;
	return err_set(e, E_DENIED, "RUN_ARMED",
		"not run: the session has written what would start programs: %s; propose it again", what);
}

/* Row, receipt and hint. */
void armed_tell(struct task *t)
{
	const char *line = t->left_behind ? say(t) : NULL;

	if (!t->left_behind)
		return;
	json_set(t->a, t->row, "left_behind", t->left_behind);
	json_set(t->a, t->happened, "left_behind", t->left_behind);
	git_private_tell(t);
	if (t->is_left)
		task_hint(t, armed_left(t));
	if (!line)
		return;
	line = arena_printf(t->a, "this run left behind what would start programs later: %s", line);
	task_hint(t, line);
}
