/* merge.c — two changes of one text, line by line.
 *
 * Lines that both sides kept are the fixed points; between two of them stands what each side made of the same piece.  A piece that only
 * one side changed is taken from there; what both added is kept; where both changed the same lines nobody's are thrown away: theirs stay,
 * ours are told. */
#include "remember/parts.h"

#include <string.h>

enum { TABLE_CELLS = 8 << 20 }; /* larger differences count as one piece */

struct lines {
	struct bytes *p;
	size_t n;
};

static struct lines split(struct arena *a, struct bytes text)
{
	size_t n = 0, room = 1;
	struct lines l;

	for (size_t i = 0; i < text.n; i++)
		room += text.p[i] == '\n';
	l.p = arena_zalloc(a, room, sizeof(*l.p));
	while (text.n) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t len = end ? (size_t)(end - text.p) : text.n;
		l.p[n++] = (struct bytes){ text.p, len };
		len += end != NULL;
		text = (struct bytes){ text.p + len, text.n - len };
	}
	l.n = n;
	return l;
}

/* For each line of x the one of y that it became, or SIZE_MAX: a longest common sequence. */
static size_t *match(struct arena *a, struct lines x, struct lines y)
{
	size_t *to = arena_zalloc(a, x.n + 1, sizeof(*to)), first = 0, last = 0;

	for (size_t i = 0; i < x.n; i++)
		to[i] = SIZE_MAX;
	while (first < x.n && first < y.n && bytes_eq(x.p[first], y.p[first])) {
		to[first] = first;
		first++;
	}
	while (last < x.n - first && last < y.n - first &&
		bytes_eq(x.p[x.n - 1 - last], y.p[y.n - 1 - last])) {
		to[x.n - 1 - last] = y.n - 1 - last;
		last++;
	}
	size_t n = x.n - first - last, m = y.n - first - last;
	if (!n || !m || n > TABLE_CELLS / m)
		return to;
	struct arena_mark mark = arena_mark(a);
	uint32_t *table = arena_zalloc(a, (n + 1) * (m + 1), sizeof(*table));
#define CELL(i, j) table[(i) * (m + 1) + (j)]
	for (size_t i = n; i-- > 0;)
		for (size_t j = m; j-- > 0;) {
			uint32_t down = CELL(i + 1, j), right = CELL(i, j + 1);
			CELL(i, j) = bytes_eq(x.p[first + i], y.p[first + j]) ? CELL(i + 1, j + 1) + 1
				: down > right				      ? down
									      : right;
		}
	for (size_t i = 0, j = 0; i < n && j < m;) {
		if (bytes_eq(x.p[first + i], y.p[first + j])) {
			to[first + i++] = first + j++;
		} else if (CELL(i + 1, j) >= CELL(i, j + 1)) {
			i++;
		} else {
			j++;
		}
	}
#undef CELL
	arena_release(a, mark);
	return to;
}

/* Lines from..to of one side. */
struct piece {
	struct bytes *p;
	size_t n;
};

static struct piece piece_of(struct lines l, size_t from, size_t to)
{
	return (struct piece){ l.p + from, to - from };
}

static bool is_same(struct piece x, struct piece y)
{
	bool same = x.n == y.n;

	for (size_t i = 0; same && i < x.n; i++)
		same = bytes_eq(x.p[i], y.p[i]);
	return same;
}

static void put(struct buf *to, struct piece p)
{
	for (size_t i = 0; i < p.n; i++) {
		buf_add(to, p.p[i].p, p.p[i].n);
		buf_addc(to, '\n');
	}
}

static bool has_line(struct piece p, struct bytes line)
{
	for (size_t i = 0; i < p.n; i++)
		if (bytes_eq(p.p[i], line))
			return true;
	return false;
}

static struct json *told(struct arena *a, struct piece p)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < p.n; i++) {
		size_t n;
		const char *text = text_utf8(a, (const char *)p.p[i].p, p.p[i].n, TEXT_BYTE, &n);
		json_push(a, list, json_stringn(a, text, n));
	}
	return list;
}

static void merge_piece(struct arena *a, struct buf *to, struct piece base, struct piece ours,
	struct piece theirs, size_t line, struct json **conflicts)
{
	if (is_same(ours, base) || is_same(ours, theirs)) {
		put(to, theirs);
	} else if (is_same(theirs, base)) {
		put(to, ours);
	} else if (!base.n) {
		put(to, theirs);
		for (size_t i = 0; i < ours.n; i++)
			if (!ours.p[i].n || !has_line(theirs, ours.p[i]))
				put(to, (struct piece){ ours.p + i, 1 });
	} else {
		struct json *c = json_new(a, JSON_OBJECT);
		json_seti(a, c, "line", (int64_t)line + 1);
		json_set(a, c, "ours", told(a, ours));
		json_set(a, c, "theirs", told(a, theirs));
		if (!*conflicts)
			*conflicts = json_new(a, JSON_ARRAY);
		json_push(a, *conflicts, c);
		put(to, theirs);
	}
}

void memory_merge(struct arena *a, struct bytes base, struct bytes ours, struct bytes theirs, struct buf *ret,
	struct json **ret_conflicts)
{
	struct lines b = split(a, base), o = split(a, ours), t = split(a, theirs);
	size_t *to_o = match(a, b, o), *to_t = match(a, b, t), at_b = 0, at_o = 0, at_t = 0;

	*ret_conflicts = NULL;
	for (size_t i = 0; i <= b.n; i++) {
		bool is_end = i == b.n;
		if (!is_end && (to_o[i] == SIZE_MAX || to_t[i] == SIZE_MAX))
			continue;
		size_t end_o = is_end ? o.n : to_o[i], end_t = is_end ? t.n : to_t[i];
		merge_piece(a, ret, piece_of(b, at_b, i), piece_of(o, at_o, end_o), piece_of(t, at_t, end_t),
			at_t, ret_conflicts);
		if (!is_end)
			put(ret, (struct piece){ b.p + i, 1 });
		at_b = i + 1;
		at_o = end_o + 1;
		at_t = end_t + 1;
	}
}

/* ---- one change of a text, to be read ---- */

/* One line of a difference: out of the first text (x), into the second (y), or in both. */
struct step {
	char sign;
	size_t x, y;
};

static struct step *steps_of(struct arena *a, struct lines x, struct lines y, size_t *ret_n)
{
	struct step *list = arena_zalloc(a, x.n + y.n + 1, sizeof(*list));
	size_t *to = match(a, x, y), n = 0, j = 0;

	for (size_t i = 0; i < x.n; i++) {
		while (to[i] != SIZE_MAX && j < to[i]) {
			list[n++] = (struct step){ '+', i, j };
			j++;
		}
		list[n++] = (struct step){ to[i] == SIZE_MAX ? '-' : ' ', i, j };
		j += to[i] != SIZE_MAX;
	}
	for (; j < y.n; j++)
		list[n++] = (struct step){ '+', x.n, j };
	*ret_n = n;
	return list;
}

static void put_hunk(struct buf *ret, struct lines x, struct lines y, const struct step *s, size_t n)
{
	size_t old = 0, new = 0;

	for (size_t i = 0; i < n; i++) {
		old += s[i].sign != '+';
		new += s[i].sign != '-';
	}
	buf_addf(ret, "@@ -%zu,%zu +%zu,%zu @@\n", s->x + (old > 0), old, s->y + (new > 0), new);
	for (size_t i = 0; i < n; i++) {
		struct bytes line = s[i].sign == '+' ? y.p[s[i].y] : x.p[s[i].x];
		buf_addc(ret, s[i].sign);
		buf_add(ret, line.p, line.n);
		buf_addc(ret, '\n');
	}
}

void memory_difference(struct arena *a, const char *name, struct bytes from, struct bytes to, struct buf *ret)
{
	enum { AROUND = 3 };
	struct lines x = split(a, from), y = split(a, to);
	size_t n, i = 0;
	struct step *s = steps_of(a, x, y, &n);

	buf_addf(ret, "--- shipped/%s\n+++ %s\n", name, name);
	while (i < n) {
		for (; i < n && s[i].sign == ' '; i++)
			;
		if (i == n)
			break;
		size_t begin = i > AROUND ? i - AROUND : 0, last = i;
		for (; i < n && i <= last + 2 * AROUND; i++)
			last = s[i].sign == ' ' ? last : i;
		size_t end = last + 1 + AROUND < n ? last + 1 + AROUND : n;
		put_hunk(ret, x, y, s + begin, end - begin);
		i = end;
	}
}
