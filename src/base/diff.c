/* diff.c — unified diffs, for people.
 *
 * Myers' greedy algorithm: the furthest reaching path for each number of edits, remembered step by step so
 * that it can be walked back.  Common lines at both ends are cut off first; what is left of a real change
 * is small.  Two texts that have next to nothing in common would cost quadratic time and memory: past
 * EDITS_MAX everything between the ends counts as replaced, which is also what a person would say. */
#include "base/diff.h"

#include "base/text.h"

#include <string.h>

enum { CONTEXT = 3, EDITS_MAX = 1500, SNIFF = 8000 };

struct lines {
	struct bytes *v;
	size_t n;
};

struct diff {
	struct arena *a;
	struct lines x, y;
	bool *gone, *come; /* per line of x and of y */
};

/* A NUL byte near the beginning makes it binary, as other tools decide it. */
static bool is_text(struct bytes b)
{
	size_t n = b.n < SNIFF ? b.n : SNIFF;

	return !n || !memchr(b.p, 0, n);
}

/* Lines keep their newline, so that a missing one at the end is a difference. */
static struct lines split(struct arena *a, struct bytes text)
{
	struct lines l = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < text.n; i++)
		count += text.p[i] == '\n';
	l.v = arena_zalloc(a, count + 2, sizeof(*l.v));
	while (text.n) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) + 1 : text.n;
		l.v[l.n++] = (struct bytes){ text.p, n };
		text.p += n;
		text.n -= n;
	}
	return l;
}

/* Everything in these ranges counts as replaced. */
static void mark_all(struct diff *d, size_t x0, size_t x1, size_t y0, size_t y1)
{
	for (size_t i = x0; i < x1; i++)
		d->gone[i] = true;
	for (size_t i = y0; i < y1; i++)
		d->come[i] = true;
}

/* From the end of both texts back to the start, step by step, marking the one line that each edit removed
 * or added.  v[k] is how far down x the best path on diagonal k reaches; trace[d] is v before step d. */
static void walk_back(struct diff *d, int **trace, int edits, int n, int m, size_t x0, size_t y0)
{
	int x = n, y = m;

	for (int step = edits; step > 0; step--) {
		const int *v = trace[step] + EDITS_MAX + 1;
		int k = x - y;
		bool is_down = k == -step || (k != step && v[k - 1] < v[k + 1]);
		int from = is_down ? k + 1 : k - 1;
		int px = v[from], py = px - from;
		if (is_down)
			d->come[y0 + (size_t)py] = true;
		else
			d->gone[x0 + (size_t)px] = true;
		x = px;
		y = py;
	}
}

/* For each number of edits it finds how far one can get on every diagonal; the first path that reaches the
 * end has the fewest edits. */
static void compare(struct diff *d, size_t x0, size_t x1, size_t y0, size_t y1)
{
	int n = (int)(x1 - x0), m = (int)(y1 - y0);
	int max = n + m < EDITS_MAX ? n + m : EDITS_MAX;
	int *all = arena_zalloc(d->a, 2 * EDITS_MAX + 3, sizeof(*all)), *v = all + EDITS_MAX + 1;
	int **trace = arena_zalloc(d->a, (size_t)max + 1, sizeof(*trace));

	for (int step = 0; step <= max; step++) {
		trace[step] = arena_alloc(d->a, (2 * EDITS_MAX + 3) * sizeof(*all));
		memcpy(trace[step], all, (2 * EDITS_MAX + 3) * sizeof(*all));
		for (int k = -step; k <= step; k += 2) {
			int x = k == -step || (k != step && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
			int y = x - k;
			while (x < n && y < m && bytes_eq(d->x.v[x0 + (size_t)x], d->y.v[y0 + (size_t)y]))
				x++, y++;
			v[k] = x;
			if (x >= n && y >= m) {
				walk_back(d, trace, step, n, m, x0, y0);
				return;
			}
		}
	}
	mark_all(d, x0, x1, y0, y1);
}

/* A last line without a newline is marked, as in every unified diff. */
static void put_line(struct buf *to, char sign, struct bytes line)
{
	buf_addc(to, sign);
	buf_add(to, line.p, line.n);
	if (line.p[line.n - 1] != '\n')
		buf_adds(to, "\n\\ No newline at end of file\n");
}

/* One hunk that starts before (x, y), where the first change is; both move to its end.  It goes on over
 * gaps of up to twice the context, and ends with one context of common lines. */
static void put_hunk(struct diff *d, struct buf *to, size_t *at_x, size_t *at_y)
{
	size_t lead = *at_x < CONTEXT ? *at_x : CONTEXT, x = *at_x - lead, y = *at_y - lead;
	size_t x0 = x, y0 = y, end_x = x, end_y = y, end_n = 0, same = 0;
	struct buf body;

	buf_init(&body, d->a);
	while ((x < d->x.n || y < d->y.n) && (x < *at_x || same < 2 * CONTEXT)) {
		bool is_gone = x < d->x.n && d->gone[x], is_come = y < d->y.n && d->come[y];
		same = is_gone || is_come ? 0 : same + (x >= *at_x);
		if (is_gone)
			put_line(&body, '-', d->x.v[x++]);
		else if (is_come)
			put_line(&body, '+', d->y.v[y++]);
		else
			put_line(&body, ' ', d->x.v[x++]), y++;
		if (same <= CONTEXT) {
			end_x = x;
			end_y = y;
			end_n = body.n;
		}
	}
	buf_addf(to, "@@ -%zu,%zu +%zu,%zu @@\n", x0 + (end_x > x0), end_x - x0, y0 + (end_y > y0),
		end_y - y0);
	buf_add(to, body.p, end_n);
	*at_x = end_x;
	*at_y = end_y;
}

const char *diff_unified(
	struct arena *a, const char *from_name, struct bytes from, const char *to_name, struct bytes to)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct diff d = { .a = &scratch };
	struct buf out;

	if (!is_text(from) || !is_text(to))
		return NULL;
	d.x = split(&scratch, from);
	d.y = split(&scratch, to);
	d.gone = arena_zalloc(&scratch, d.x.n + 1, sizeof(bool));
	d.come = arena_zalloc(&scratch, d.y.n + 1, sizeof(bool));
	size_t head = 0, x1 = d.x.n, y1 = d.y.n;
	while (head < x1 && head < y1 && bytes_eq(d.x.v[head], d.y.v[head]))
		head++;
	while (x1 > head && y1 > head && bytes_eq(d.x.v[x1 - 1], d.y.v[y1 - 1]))
		x1--, y1--;
	compare(&d, head, x1, head, y1);
	buf_init(&out, a);
	buf_addf(&out, "--- %s\n+++ %s\n", text_safe(a, from_name, strlen(from_name), false),
		text_safe(a, to_name, strlen(to_name), false));
	for (size_t x = 0, y = 0; x < d.x.n || y < d.y.n;) {
		if ((x < d.x.n && d.gone[x]) || (y < d.y.n && d.come[y]))
			put_hunk(&d, &out, &x, &y);
		else
			x++, y++;
	}
	return out.p;
}
