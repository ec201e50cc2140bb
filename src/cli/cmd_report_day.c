/* cmd_report_day.c — the last 24 hours on a page: for a person who comes back and wants to know what agents did alone.
 *
 * Every list is cut to the room there is and says how many there are; every remedy is a command that can be pasted. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_report.h"

#include <string.h>

/* Rows of each list on a page. */
enum { COMMITS = 3, WALLS = 4, HOSTS = 4, LEFT = 4, UNDOS = 6 };

size_t page_take(struct page *p, size_t n, size_t most, size_t frame)
{
	if (p->left == SIZE_MAX)
		return n;
	size_t shown = n < most ? n : most;
	if (!n || p->left < frame + 1)
		return 0;
	if (shown + frame > p->left)
		shown = p->left - frame;
	p->left -= shown + frame;
	return shown;
}

const char *page_fit(const struct page *p, const char *text, size_t columns)
{
	const char *safe = text_safe(p->r->a, text, strlen(text), false);
	size_t n = strlen(safe);

	if (p->left == SIZE_MAX || text_width(safe, n) <= columns)
		return safe;
	/* Whole characters: what follows a first byte begins with the bits 10. */
	while (n && (text_width(safe, n) + 1 > columns || ((unsigned char)safe[n] & 0xC0) == 0x80))
		n--;
	return arena_printf(p->r->a, "%.*s%s", (int)n, safe, glyph(p->r, "…", "~"));
}

const char *page_clock(struct cli *r, const char *stamp)
{
	int64_t us;

	return text_parse_time(stamp, strlen(stamp), &us)
		? arena_strndup(r->a, text_time_local(r->a, us) + strlen("2026-11-16 "), strlen("05:36"))
		: "     ";
}

static void title(struct page *p, const char *what, int64_t all, size_t shown, const char *rest)
{
	out(p->r, "\n%s%s%s (%lld%s%s%s)\n", paint(p->r, PAINT_ACCENT), what, paint(p->r, PAINT_OFF),
		(long long)all, (int64_t)shown < all ? "; " : "", (int64_t)shown < all ? "all with: " : "",
		(int64_t)shown < all ? rest : "");
}

/* "12 s", "3 min", "2 h 5 min". */
static const char *how_long(struct cli *r, const char *first, const char *last)
{
	int64_t from, to;

	if (!text_parse_time(first, strlen(first), &from) || !text_parse_time(last, strlen(last), &to))
		return "";
	int64_t s = (to - from) / 1000000;
	return s < 120 ? arena_printf(r->a, "%lld s", (long long)s)
		: s < 7200
		? arena_printf(r->a, "%lld min", (long long)s / 60)
		: arena_printf(r->a, "%lld h %lld min", (long long)s / 3600, (long long)s / 60 % 60);
}

static const char *size_words(struct cli *r, int64_t n)
{
	return n < 1000 ? arena_printf(r->a, "%lld bytes", (long long)n)
		: n < 1000000
		? arena_printf(r->a, "%lld kB", (long long)n / 1000)
		: arena_printf(r->a, "%lld.%lld MB", (long long)n / 1000000, (long long)n / 100000 % 10);
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- what was done ---- */

static void commits(struct page *p, const struct json *day)
{
	const struct json *rows = json_get(day, "commits");
	int64_t n = json_get_int(day, "commit_count", 0);
	size_t shown = page_take(p, rows->n, COMMITS, 0);

	for (size_t i = 0; i < shown; i++) {
		const struct json *one = rows->items[i];
		out(p->r, "  %s  %s  %s%s\n", page_clock(p->r, json_get_text(one, "at", "")),
			safe_member(p->r, one, "commit"),
			page_fit(p, json_get_text(one, "subject", ""), p->width - 50),
			i + 1 == shown && n > (int64_t)shown
				? arena_printf(p->r->a, "  and %lld more", (long long)(n - (int64_t)shown))
				: "");
	}
}

void report_done(struct page *p, const struct json *day)
{
	struct cli *r = p->r;
	const struct json *clients = json_get(day, "clients");
	const char *first = json_get_text(day, "first_at", ""), *last = json_get_text(day, "last_at", "");
	int64_t calls = json_get_int(day, "calls", 0), n = json_get_int(day, "commit_count", 0),
		changed = json_get(day, "changed_files")->n, deleted = json_get(day, "deleted_files")->n;

	if (!calls)
		return;
	(void)page_take(p, 4, 4, 0);
	out(r, "\n%sLast 24 hours%s%s: %lld call%s of", paint(r, PAINT_ACCENT), paint(r, PAINT_OFF),
		json_get_bool(day, "is_partial", false) ? ", the newest rows of them" : "", (long long)calls,
		plural(calls));
	json_each_member (m, clients)
		out(r, "%s %s", m == clients->members ? "" : ",", text_safe(r->a, m->name, m->name_n, false));
	out(r, ", from %s to %s (%s)\n", page_clock(r, first), page_clock(r, last), how_long(r, first, last));
	out(r, "  %lld only looked, %lld ran, %lld asked for a person, %lld refused.\n",
		(long long)json_get_int(day, "only_read", 0), (long long)json_get_int(day, "allowed", 0),
		(long long)json_get_int(day, "asked", 0), (long long)json_get_int(day, "refused", 0));
	out(r, "  %lld file%s changed, %lld deleted; %lld commit%s%s\n", (long long)changed, plural(changed),
		(long long)deleted, (long long)n, plural(n), n ? ", says git's own log:" : ".");
	commits(p, day);
}

/* ---- the walls, and what left them ---- */

/* Hosts that the door refused, each with what would open it. */
static void refused_hosts(struct page *p, const struct json *hosts, size_t shown)
{
	json_each_member (m, hosts) {
		if (!shown--)
			return;
		const char *name = text_safe(p->r->a, m->name, m->name_n, false);
		int64_t n = json_get_int(m->value, "connections", 0);
		out(p->r, "  connection to %s%s; to open it: helm allow host %s\n", name,
			n > 1 ? arena_printf(p->r->a, ", %lld times", (long long)n) : "", name);
	}
}

void report_walls(struct page *p, const struct json *day)
{
	const struct json *rows = json_get(day, "walls"), *hosts = json_get(json_get(day, "door"), "refused");
	int64_t n = json_get_int(day, "wall_count", 0);
	size_t shown = page_take(p, rows->n, WALLS, 2), doors = page_take(p, hosts->n, HOSTS, shown ? 0 : 2);

	if (!shown && !doors)
		return;
	title(p, "Refused by the walls", n + hosts->n, shown + doors, "helm report --json");
	for (size_t i = 0; i < shown; i++)
		out(p->r, "  %s  %s\n", page_clock(p->r, json_get_text(rows->items[i], "at", "")),
			page_fit(p, json_get_text(rows->items[i], "refused_by_wall", ""), p->width - 9));
	refused_hosts(p, hosts, doors);
}

void report_left(struct page *p, const struct json *day)
{
	const struct json *rows = json_get(day, "left"), *hosts = json_get(json_get(day, "door"), "admitted");
	int64_t n = json_get_int(day, "left_count", 0), code;
	size_t shown = page_take(p, rows->n, LEFT, 2), doors = page_take(p, hosts->n, HOSTS, shown ? 0 : 2);

	if (!shown && !doors)
		return;
	title(p, "Left the walls", n + hosts->n, shown + doors, "helm report --json");
	for (size_t i = 0; i < shown; i++) {
		const struct json *one = rows->items[i];
		const char *how = json_int(json_get(one, "exit_code"), &code)
			? arena_printf(p->r->a, "permitted, exit %lld", (long long)code)
			: "permitted";
		out(p->r, "  %s  %s  (%s)\n", page_clock(p->r, json_get_text(one, "at", "")),
			page_fit(p, json_get_text(one, "preview", ""), p->width - 13 - strlen(how)), how);
	}
	json_each_member (m, hosts) {
		if (!doors--)
			break;
		int64_t times = json_get_int(m->value, "connections", 0);
		out(p->r, "  through the door to %s: %lld connection%s, %s out, %s in\n",
			text_safe(p->r->a, m->name, m->name_n, false), (long long)times, plural(times),
			size_words(p->r, json_get_int(m->value, "bytes_out", 0)),
			size_words(p->r, json_get_int(m->value, "bytes_in", 0)));
	}
}

/* The command stands first: it is what one wants to take along. */
void report_undo(struct page *p, const struct json *day)
{
	const struct json *rows = json_get(day, "undo");
	size_t shown = page_take(p, rows->n, UNDOS, 2);

	if (!shown)
		return;
	title(p, "Can be undone, the newest first", json_get_int(day, "undo_count", 0), shown,
		"helm checkpoint list");
	for (size_t i = 0; i < shown; i++) {
		const struct json *one = rows->items[i];
		const char *undo = arena_printf(
			p->r->a, "helm checkpoint restore %s", safe_member(p->r, one, "checkpoint_id"));
		size_t used = strlen(undo) + 11;
		out(p->r, "  %s  %s  %s\n", page_clock(p->r, json_get_text(one, "at", "")), undo,
			page_fit(p, json_get_text(one, "preview", ""),
				p->width > used + 10 ? p->width - used : 10));
	}
}
