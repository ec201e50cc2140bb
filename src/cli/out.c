/* out.c — everything a command prints goes through here: buffered, coloured only for eyes, quiet when nobody listens. */
#include "cli/cli.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FLUSH_AT = 64 << 10 };

/* A reader that went away ends the program without a word; any other failure to print is an error worth an exit code. */
static void write_all(struct sys *s, int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = s->write(s, fd, p, n);
		if (done < 0 && errno == EPIPE)
			_exit(0);
		if (done < 0) {
			if (fd != 2)
				write_all(s, 2, "helm: cannot write to standard output\n", 38);
			_exit(1);
		}
		p += done;
		n -= (size_t)done;
	}
}

void out_flush(struct run *r)
{
	write_all(r->sys, 1, r->out->p, r->out->n);
	r->out->n = 0;
}

static void flush_when_full(struct run *r)
{
	if (r->out->n >= FLUSH_AT)
		out_flush(r);
}

void out(struct run *r, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format");
	vsnprintf(buf_room(r->out, (size_t)n), (size_t)n + 1, fmt, again);
	r->out->n += (size_t)n;
	va_end(again);
	flush_when_full(r);
}

void out_json(struct run *r, const struct json *v)
{
	json_write(r->out, v, JSON_INDENT);
	buf_addc(r->out, '\n');
	flush_when_full(r);
}

void out_line_json(struct run *r, const struct json *v)
{
	json_write(r->out, v, 0);
	buf_addc(r->out, '\n');
	flush_when_full(r);
}

void warn(struct run *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_flush(r);
	struct buf line;
	buf_init(&line, r->a);
	buf_addf(&line, "helm: warning: %s\n", text_safe(r->a, text, strlen(text), true));
	write_all(r->sys, 2, line.p, line.n);
}

const char *paint(const struct run *r, enum paint p)
{
	static const char *const codes[] = {
		[PAINT_OFF] = "\033[0m",
		[PAINT_PRIMARY] = "\033[38;2;230;236;244m",
		[PAINT_ACCENT] = "\033[38;2;105;162;255m",
		[PAINT_MUTED] = "\033[38;2;137;161;196m",
		[PAINT_GOOD] = "\033[38;2;110;200;140m",
		[PAINT_WARN] = "\033[38;2;235;190;90m",
		[PAINT_BAD] = "\033[38;2;240;110;110m",
		[PAINT_BOLD] = "\033[1m",
	};
	return r->has_color ? codes[p] : "";
}

/* Tables: rows are kept until the end, because the widest cell is only known then. */
struct out_table {
	struct run *r;
	size_t columns, rows, cap;
	const char **cells;
	enum paint *paints;
};

struct out_table *out_table(struct run *r, const char *const *headings, size_t columns)
{
	struct out_table *t = arena_zalloc(r->a, 1, sizeof(*t));

	t->r = r;
	t->columns = columns;
	enum paint *paints = arena_zalloc(r->a, columns, sizeof(*paints));
	for (size_t i = 0; i < columns; i++)
		paints[i] = PAINT_MUTED;
	out_row(t, headings, paints);
	return t;
}

void out_row(struct out_table *t, const char *const *cells, const enum paint *paints)
{
	if (t->rows == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16, n = t->columns;
		t->cells = arena_grow(
			t->r->a, t->cells, t->cap * n * sizeof(*t->cells), cap * n * sizeof(*t->cells));
		t->paints = arena_grow(
			t->r->a, t->paints, t->cap * n * sizeof(*t->paints), cap * n * sizeof(*t->paints));
		t->cap = cap;
	}
	for (size_t i = 0; i < t->columns; i++) {
		size_t at = t->rows * t->columns + i;
		t->cells[at] = cells[i] ? arena_strdup(t->r->a, cells[i]) : "-";
		t->paints[at] = paints ? paints[i] : PAINT_OFF;
	}
	t->rows++;
}

size_t out_width(const struct run *r)
{
	struct winsize size;
	const char *columns = r->sys->getenv(r->sys, "COLUMNS");
	int64_t n;

	if (!r->is_tty)
		return SIZE_MAX;
	if (columns && text_int(columns, &n) && n >= 20)
		return (size_t)n;
	if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

/* The longest beginning of a cell that fits in `room` columns. */
static size_t cut_to(const char *cell, size_t room)
{
	size_t at = 0, n = strlen(cell), used = 0;

	while (at < n) {
		uint32_t cp;
		size_t step = text_decode(cell + at, n - at, &cp);
		if (!step)
			step = 1;
		size_t wide = text_width(cell + at, step);
		if (used + wide > room)
			break;
		used += wide;
		at += step;
	}
	return at;
}

static void table_row(struct out_table *t, size_t row, const size_t *widths, size_t total)
{
	struct run *r = t->r;
	size_t used = 0;

	for (size_t i = 0; i < t->columns; i++) {
		const char *cell = t->cells[row * t->columns + i];
		enum paint p = t->paints[row * t->columns + i];
		size_t n = strlen(cell), width = text_width(cell, n);
		bool last = i + 1 == t->columns;
		const char *tail = "";
		if (last && total != SIZE_MAX && used + width > total && total > used + 1) {
			n = cut_to(cell, total - used - 1);
			tail = "…";
		}
		out(r, "%s%.*s%s%s", p ? paint(r, p) : "", (int)n, cell, tail, p ? paint(r, PAINT_OFF) : "");
		if (!last)
			out(r, "%*s", (int)(widths[i] - width + 2), "");
		used += widths[i] + 2;
	}
	out(r, "\n");
}

void out_table_end(struct out_table *t)
{
	size_t *widths = arena_zalloc(t->r->a, t->columns, sizeof(*widths));
	size_t total = out_width(t->r);

	for (size_t row = 0; row < t->rows; row++)
		for (size_t i = 0; i < t->columns; i++) {
			const char *cell = t->cells[row * t->columns + i];
			size_t width = text_width(cell, strlen(cell));
			if (width > widths[i])
				widths[i] = width;
		}
	for (size_t row = 0; row < t->rows; row++)
		table_row(t, row, widths, total);
}

/* Progress: at most ten lines a second, on one line of standard error that is wiped at the end. */
void progress_begin(struct progress *p, struct run *r, const char *what, uint64_t total)
{
	*p = (struct progress){ .sys = r->sys, .what = what, .total = total };
	p->is_on = isatty(2) && !r->is_json;
	p->started_us = p->shown_us = r->sys->mono_us(r->sys);
}

static void show(struct progress *p, int64_t now)
{
	char line[160];
	double seconds = (double)(now - p->started_us) / 1e6;
	double rate = seconds > 0 ? (double)p->done / seconds : 0;
	int n;

	if (p->total && rate > 0)
		n = snprintf(line, sizeof(line), "\r\033[K%s: %llu of %llu, %.0f/s, %.0f s left", p->what,
			(unsigned long long)p->done, (unsigned long long)p->total, rate,
			(double)(p->total - (p->done < p->total ? p->done : p->total)) / rate);
	else
		n = snprintf(line, sizeof(line), "\r\033[K%s: %llu, %.0f/s", p->what,
			(unsigned long long)p->done, rate);
	if (n > 0)
		write_all(p->sys, 2, line, (size_t)n);
}

void progress_step(struct progress *p, uint64_t done)
{
	p->done = done;
	if (!p->is_on)
		return;
	int64_t now = p->sys->mono_us(p->sys);
	if (now - p->shown_us < 100000)
		return;
	p->shown_us = now;
	show(p, now);
}

void progress_end(struct progress *p)
{
	if (p->is_on)
		write_all(p->sys, 2, "\r\033[K", 4);
}
