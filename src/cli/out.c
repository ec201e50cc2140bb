/* out.c — one way to print: buffered, wrapped to the screen between words, painted only where paint shows,
 * quiet when nobody listens.
 *
 * Wrapping happens where the text leaves the program: every line a command prints for people comes by
 * here, so no command has to think of the width of a screen. In a pipe lines stay whole, unless COLUMNS
 * asks otherwise; documents and JSON are never wrapped. */
#include "cli/cli.h"

#include "base/text.h"
#include "model/command.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* LAST_NEEDS: columns that a long last cell must have beside the others, or it goes to a line of its own. */
enum { FLUSH_AT = 64 << 10, TABLE_INDENT = 4, LAST_NEEDS = 24 };

/* A reader that went away ends the program without a word. Any other failure to print is an error worth an
 * exit code. */
static void write_all(struct sys *s, int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = s->write(s, fd, p, n);
		/* `helm ... | head` is no error. */
		if (done < 0 && errno == EPIPE)
			_exit(0);
		if (done < 0 && fd != 2) {
			struct err e = { 0 };
			char line[sizeof(e.text) + 16];
			(void)err_sys(&e, "OUT_WRITE", "cannot write to standard output");
			int length = snprintf(line, sizeof(line), "helm: %s\n", e.text);
			write_all(s, 2, line, (size_t)length);
		}
		if (done < 0)
			_exit(1);
		p += done;
		n -= (size_t)done;
	}
}

/* ---- wrapping ---- */

/* COLUMNS, when it is a sensible number. */
static bool asked_columns(const struct cli *r, size_t *ret)
{
	const char *columns = r->sys->getenv(r->sys, "COLUMNS");
	int64_t n;

	if (!columns || !text_int(columns, &n) || n < 20)
		return false;
	*ret = (size_t)n;
	return true;
}

/* The width of the screen: what COLUMNS asks, what the terminal says, or 80. */
size_t out_width(const struct cli *r)
{
	struct winsize size;
	size_t n;

	if (asked_columns(r, &n))
		return n;
	if (r->is_tty && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

/* The width that lines have to keep to, or SIZE_MAX where they stay whole. */
static size_t line_width(const struct cli *r)
{
	size_t n;

	if (r->is_json || r->is_document || (r->cmd && r->cmd->needs & DOCUMENT) ||
		!(r->is_tty || asked_columns(r, &n)))
		return SIZE_MAX;
	return out_width(r);
}

/* The columns that a text takes on the screen, without its escape sequences. */
static size_t visible(const char *p, size_t n)
{
	size_t wide = 0, from = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\033')
			continue;
		wide += text_width(p + from, i - from);
		/* An escape sequence ends with a letter. */
		while (i + 1 < n && !((p[i] >= 'A' && p[i] <= 'Z') || (p[i] >= 'a' && p[i] <= 'z')))
			i++;
		from = i + 1;
	}
	return from < n ? wide + text_width(p + from, n - from) : wide;
}

/* A command that is meant to be pasted stays on one line, however long that is: a screen that shows it in two lines still gives it back as
 * one.  Such is what stands between quotes and begins with "helm ", and the rest of a line from a "helm" on that comes behind a colon.  Returns where it ends; `from` when there is none. */
static size_t command_end(const char *p, size_t from, size_t n)
{
	char helm[40];
	size_t wide = (size_t)snprintf(helm, sizeof(helm), "%s ", command_program()), gap = from;

	if (p[from] == '\'' && n - from > wide + 1 && memcmp(p + from + 1, helm, wide) == 0) {
		const char *end = memchr(p + from + 1, '\'', n - from - 1);
		return end ? (size_t)(end - p) + 1 : from;
	}
	while (gap > 0 && p[gap - 1] == ' ')
		gap--;
	bool begins = gap > 0 && p[gap - 1] == ':';
	return begins && n - from > wide && memcmp(p + from, helm, wide) == 0 ? n : from;
}

/* Appends one line that begins in column `column`; what does not fit goes on in column `hang` below. Words
 * stay whole. */
static void wrap(struct buf *to, const char *p, size_t n, size_t width, size_t column, size_t hang)
{
	bool is_first = true;

	for (size_t i = 0; i < n;) {
		size_t blanks = 0;
		for (; i < n && p[i] == ' '; i++)
			blanks++;
		size_t from = i;
		if (i < n)
			i = command_end(p, from, n);
		while (i < n && p[i] != ' ')
			i++;
		if (from == i)
			break;
		size_t wide = visible(p + from, i - from);
		/* a word too long for any line stays where it is, unless more room is below */
		bool fits_below = hang + wide <= width || column + blanks > hang;
		if (!is_first && column + blanks + wide > width && fits_below) {
			buf_addf(to, "\n%*s", (int)hang, "");
			column = hang;
			blanks = 0;
		}
		buf_addf(to, "%*s", (int)blanks, "");
		buf_add(to, p + from, i - from);
		column += blanks + wide;
		is_first = false;
	}
}

/* Where the rest of a long line goes: below the value of "name value", or below the first word of an
 * indented line. Two blanks behind a sentence's end do not count as such a gap. */
static size_t hang_of(const char *p, size_t n, size_t width)
{
	size_t lead = 0;

	while (lead < n && p[lead] == ' ')
		lead++;
	for (size_t i = lead + 1; i + 1 < n; i++) {
		if (p[i] != ' ' || p[i + 1] != ' ' || strchr(".;:!?", p[i - 1]))
			continue;
		while (i < n && p[i] == ' ')
			i++;
		size_t column = visible(p, i);
		/* A value that begins far to the right would leave too little room below itself. */
		return column <= width / 2 ? column : lead;
	}
	return lead;
}

/* Lines that fit are left exactly as they are, blanks and all. */
static void wrap_lines(struct buf *to, const char *p, size_t n, size_t width)
{
	while (n) {
		const char *end = memchr(p, '\n', n);
		size_t line = end ? (size_t)(end - p) : n;
		if (visible(p, line) > width)
			wrap(to, p, line, width, 0, hang_of(p, line, width));
		else
			buf_add(to, p, line);
		if (end)
			buf_addc(to, '\n');
		p += line + (end ? 1 : 0);
		n -= line + (end ? 1 : 0);
	}
}

/* Writes the first n bytes of the buffer, wrapped where that is wanted. */
static void flush_part(struct cli *r, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t width = line_width(r);

	if (width == SIZE_MAX) {
		write_all(r->sys, 1, r->out->p, n);
	} else {
		struct buf wrapped;
		buf_init(&wrapped, &a);
		wrap_lines(&wrapped, r->out->p, n, width);
		write_all(r->sys, 1, wrapped.p, wrapped.n);
	}
	r->out->n -= n;
	memmove(r->out->p, r->out->p + n, r->out->n);
}

void out_flush(struct cli *r)
{
	if (r->out->n)
		flush_part(r, r->out->n);
}

int out_set_aside(struct cli *r, int *ret_kept, struct err *e)
{
	out_flush(r);
	*ret_kept = dup(1);
	if (*ret_kept < 0 || dup2(2, 1) < 0)
		return err_sys(e, "OUTPUT", "cannot set the output of the command aside");
	return OK;
}

int out_put_back(int kept, int rc, struct err *e)
{
	if (dup2(kept, 1) < 0 && rc == OK)
		rc = err_sys(e, "OUTPUT", "standard output is lost");
	(void)close(kept);
	return rc;
}

/* Whole lines only, because the width of a line is known at its end. */
static void flush_when_full(struct cli *r)
{
	const char *end = r->out->n >= FLUSH_AT ? memrchr(r->out->p, '\n', r->out->n) : NULL;

	if (end)
		flush_part(r, (size_t)(end - r->out->p) + 1);
}

bool out_wait(int64_t us)
{
	struct pollfd reader = { 1, 0, 0 };

	return poll(&reader, 1, (int)(us / 1000)) <= 0;
}

/* Paragraphs for help: each line of `text` is wrapped; one that begins with a blank is an example and
 * stays as it is. */
void out_text(struct cli *r, size_t indent, const char *text)
{
	text = called(r->a, text);
	while (*text) {
		size_t n = strcspn(text, "\n");
		if (*text == ' ')
			buf_add(r->out, text, n);
		else
			wrap(r->out, text, n, out_width(r), indent, indent);
		text += n;
		if (*text && *++text)
			buf_addf(r->out, "\n%*s", *text == '\n' ? 0 : (int)indent, "");
	}
	buf_addc(r->out, '\n');
}

/* Measures first, so that the text is formatted into the buffer once and never cut. */
void out(struct cli *r, const char *fmt, ...)
{
	va_list ap, again;

	const char *said = called(r->a, fmt);

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, said, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format");
	vsnprintf(buf_room(r->out, (size_t)n), (size_t)n + 1, said, again);
	r->out->n += (size_t)n;
	va_end(again);
	flush_when_full(r);
}

void out_json(struct cli *r, const struct json *v)
{
	json_write(r->out, v, JSON_INDENT);
	buf_addc(r->out, '\n');
	flush_when_full(r);
}

void out_line_json(struct cli *r, const struct json *v)
{
	json_write(r->out, v, 0);
	buf_addc(r->out, '\n');
	flush_when_full(r);
}

/* What was printed before leaves first, so that the two streams stay in order on a terminal.  A terminal gets whole words here, too,
 * whatever becomes of standard output. */
void out_say(struct cli *r, const char *text, size_t n)
{
	struct winsize size;
	struct buf wrapped;
	size_t width = SIZE_MAX, asked;

	out_flush(r);
	if (asked_columns(r, &asked))
		width = asked;
	else if (isatty(2) && ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		width = size.ws_col;
	buf_init(&wrapped, r->a);
	wrap_lines(&wrapped, text, n, width);
	/* Not by `sys`: why nothing can be written any more has to be said all the same. */
	(void)!write(2, wrapped.p, wrapped.n);
}

void warn(struct cli *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct buf line;
	buf_init(&line, r->a);
	buf_addf(&line, "%s: warning: %s\n", command_program(),
		called(r->a, text_safe(r->a, text, strlen(text), true)));
	out_say(r, line.p, line.n);
}

const char *glyph(const struct cli *r, const char *fine, const char *plain)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *locale = r->sys->getenv(r->sys, names[i]);
		if (locale && *locale)
			return strcasestr(locale, "utf-8") || strcasestr(locale, "utf8") ? fine : plain;
	}
	return fine;
}

/* An empty text where colour is off, so that callers need not ask. */
const char *paint(const struct cli *r, enum paint p)
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
	TABLE_COVERS(codes, PAINT_COUNT);
	return r->has_color ? codes[p] : "";
}

/* Rows are kept until out_table_end(), because the widest cell is only known then. */
struct out_table {
	struct cli *r;
	size_t columns, rows, cap;
	const char **cells;
	enum paint *paints;
};

struct out_table *out_table(struct cli *r, const char *const *headings, size_t columns)
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

/* Cells are copied, so the caller may use its memory again. */
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

/* Where the columns stand: side by side, and those that do not fit on further lines, indented, in the same
 * way in every row. The last column may wrap, so it needs only some room. */
static void table_places(
	const struct out_table *t, const size_t *widths, size_t total, size_t *places, bool *is_below)
{
	size_t at = 0;

	for (size_t i = 0; i < t->columns; i++) {
		size_t need = i + 1 == t->columns && widths[i] > LAST_NEEDS ? LAST_NEEDS : widths[i];
		/* This column and those behind it go to another line. */
		is_below[i] = i && at + need > total;
		if (is_below[i])
			at = TABLE_INDENT;
		places[i] = at;
		at += widths[i] + 2;
	}
}

static void table_row(
	struct out_table *t, size_t row, const size_t *places, const bool *is_below, size_t total)
{
	struct cli *r = t->r;
	size_t used = 0;

	for (size_t i = 0; i < t->columns; i++) {
		const char *cell = t->cells[row * t->columns + i];
		enum paint p = t->paints[row * t->columns + i];
		size_t n = strlen(cell);
		if (is_below[i]) {
			buf_addc(r->out, '\n');
			used = 0;
		}
		buf_addf(r->out, "%*s%s", (int)(places[i] - used), "", p ? paint(r, p) : "");
		if (i + 1 == t->columns && total != SIZE_MAX)
			wrap(r->out, cell, n, total, places[i], places[i]);
		else
			buf_add(r->out, cell, n);
		if (p)
			buf_adds(r->out, paint(r, PAINT_OFF));
		used = places[i] + text_width(cell, n);
	}
	out(r, "\n");
}

/* The widest cell of each column; returns how wide all of them are side by side. */
static size_t table_widths(const struct out_table *t, size_t *widths)
{
	size_t sum = 0;

	for (size_t i = 0; i < t->columns; i++) {
		widths[i] = 0;
		for (size_t row = 0; row < t->rows; row++) {
			const char *cell = t->cells[row * t->columns + i];
			size_t width = text_width(cell, strlen(cell));
			if (width > widths[i])
				widths[i] = width;
		}
		sum += widths[i] + (i ? 2 : 0);
	}
	return sum;
}

/* Times as the clock on the wall shows them: the whole of one is as wide as half a screen. */
static void shorten_times(struct out_table *t)
{
	int64_t us;

	for (size_t i = t->columns; i < t->rows * t->columns; i++)
		if (text_parse_time(t->cells[i], strlen(t->cells[i]), &us))
			t->cells[i] = text_time_local(t->r->a, us);
}

/* Measures all cells, places the columns once, and prints every row in the same way. */
void out_table_end(struct out_table *t)
{
	size_t *widths = arena_zalloc(t->r->a, t->columns, sizeof(*widths));
	size_t *places = arena_zalloc(t->r->a, t->columns, sizeof(*places));
	bool *is_below = arena_zalloc(t->r->a, t->columns, sizeof(*is_below));
	size_t total = line_width(t->r);

	if (table_widths(t, widths) > total) {
		shorten_times(t);
		(void)table_widths(t, widths);
	}
	table_places(t, widths, total, places, is_below);
	for (size_t row = 0; row < t->rows; row++)
		table_row(t, row, places, is_below, total);
}

/* Progress is shown at most ten times a second, on one line of standard error that is wiped at the end.
 * Only a terminal sees it. */
void progress_begin(struct progress *p, struct cli *r, const char *what, uint64_t total)
{
	*p = (struct progress){ .sys = r->sys, .what = what, .total = total };
	p->is_on = isatty(2) && !r->is_json;
	p->started_us = p->shown_us = r->sys->mono_us(r->sys);
}

/* The time left is guessed from the rate so far. */
static void show(struct progress *p, int64_t now)
{
	char line[160];
	double seconds = (double)(now - p->started_us) / 1e6;
	double rate = seconds > 0 ? (double)p->done / seconds : 0;
	int n;

	/* Without a total there is no time left to tell. */
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

/* Cheap when nobody looks; otherwise at most ten times a second. */
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

void show_step(void *shown, const char *what, uint64_t done, uint64_t total)
{
	struct shown *s = shown;

	if (s->what != what) {
		show_end(s);
		progress_begin(&s->p, s->r, what, total);
		s->what = what;
	}
	s->p.total = total;
	progress_step(&s->p, done);
}

void show_end(struct shown *s)
{
	if (s->what)
		progress_end(&s->p);
}
