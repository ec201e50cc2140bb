/* shown_text.c — what was asked (record/shown.h) for a terminal: the diff of a write or an edit, the arguments of any other call.
 *
 * An agent wrote it and a person decides by it: every line goes through text_seen(), so that nothing in it moves the cursor, turns the direction of
 * what follows, or has no width. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "record/shown.h"

#include <string.h>

/* Line by line behind a title that stands on the first; `plain`: no title of a member. */
static void put_lines(struct cli *r, struct buf *to, const char **title, const char *name, struct bytes text)
{
	struct bytes rest = text;

	while (rest.p && (rest.n || *name)) {
		struct bytes one = text_cut(&rest, '\n');
		buf_addf(to, "  %-10s %s%s\n", *title, name,
			text_seen(r->a, (const char *)one.p, one.n, true));
		*title = "";
		name = "";
	}
}

/* A member that is no text is written as JSON. */
static void put_argument(struct cli *r, struct buf *to, const char **title, const struct json_member *m)
{
	const char *name = arena_printf(r->a, "%s: ", text_seen(r->a, m->name, m->name_n, false));
	struct bytes text = { 0 };
	struct buf json;

	if (json_is(m->value, JSON_STRING)) {
		text = (struct bytes){ (const uint8_t *)m->value->text, m->value->n };
	} else {
		buf_init(&json, r->a);
		json_canonical(&json, m->value);
		text = buf_bytes(&json);
	}
	put_lines(r, to, title, name, text);
}

/* Nothing beyond what the line of the command says already. */
static bool is_command(const struct json *shown)
{
	const struct json *arguments = json_get(shown, "arguments");

	return json_is(arguments, JSON_OBJECT) && arguments->n == 1 &&
		(json_get(arguments, "command") || json_get(arguments, "argv"));
}

static void describe_shown(struct cli *r, struct buf *to, const struct json *shown)
{
	const char *diff = json_get_text(shown, "diff", NULL), *note = json_get_text(shown, "note", NULL),
		   *title = "arguments";
	int64_t left_out = json_get_int(shown, "left_out_bytes", 0);

	if (diff) {
		title = "changes";
		put_lines(r, to, &title, "", bytes_of(*diff ? diff : "nothing\n"));
	} else if (!is_command(shown)) {
		json_each_member (m, json_get(shown, "arguments"))
			put_argument(r, to, &title, m);
	}
	if (note)
		buf_addf(to, "  %-10s %s%s%s\n", "note", paint(r, PAINT_WARN),
			text_seen(r->a, note, strlen(note), false), paint(r, PAINT_OFF));
	if (left_out)
		buf_addf(to, "  %-10s %s%lld bytes of what was asked are left out here%s\n", "note",
			paint(r, PAINT_WARN), (long long)left_out, paint(r, PAINT_OFF));
}

const struct json *shown_of(struct cli *r, const struct json *request, struct err *e)
{
	const char *sha256 = json_get_text(request, SHOWN_MEMBER, NULL);
	struct json *shown;

	return sha256 && r->ws && !shown_read(r->sys, r->a, r->ws->state_fd, sha256, &shown, e) ? shown
												: NULL;
}

/* A question of an earlier version has no digest, and nothing is said about it. */
void shown_describe(struct cli *r, struct buf *to, const struct json *request)
{
	struct err e = { 0 };
	const struct json *shown = shown_of(r, request, &e);

	if (shown)
		describe_shown(r, to, shown);
	else if (e.rc)
		buf_addf(to, "  %-10s %s%s%s\n", "arguments", paint(r, PAINT_WARN),
			text_safe(r->a, e.text, strlen(e.text), false), paint(r, PAINT_OFF));
}

const char *shown_summary(struct cli *r, const struct json *request)
{
	const char *diff = json_get_text(shown_of(r, request, NULL), "diff", NULL);
	size_t more = 0, less = 0;
	struct bytes rest = bytes_of(diff ? diff : "");

	if (!diff)
		return NULL;
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		bool is_head =
			line.n > 3 && (memcmp(line.p, "+++ ", 4) == 0 || memcmp(line.p, "--- ", 4) == 0);
		more += line.n && line.p[0] == '+' && !is_head;
		less += line.n && line.p[0] == '-' && !is_head;
	}
	return arena_printf(r->a, "adds %s, takes %zu away; helm approval show %s shows them",
		text_count(r->a, (int64_t)more, "line"), less,
		text_safe(r->a, json_get_text(request, "approval_id", ""),
			strlen(json_get_text(request, "approval_id", "")), false));
}
