/* braces.c — {a,b} and {1..5}: one word becomes several, before anything else is expanded.
 *
 * Works on lists of parts, because what stands between the braces may be quoted or expand itself. In
 * each round the leftmost group of every word is taken apart; the results are looked at again, until no
 * group is left or the limit is reached. Both the number of words and the bytes looked at are limited,
 * because a few dozen bytes of braces can stand for millions of words. */
#include "propose/evaluate/evaluate.h"

/* A place in a list of parts. */
struct place {
	struct shell_part *part;
	size_t at;
};

struct range {
	int64_t from, last, step;
	int width; /* with leading zeros */
	bool is_letters;
};

/* One pair of braces with its commas, or with a range when it has none. */
struct group {
	struct place open, close, commas[WALK_MAX_BRACES];
	size_t comma_count;
	struct range range; /* when there are no commas */
};

/* Braces count only in text that is not quoted. */
static bool is_live(const struct shell_part *p)
{
	return p->kind == PART_TEXT && !p->is_quoted;
}

/* Reads a..b or a..b..step, of numbers or single letters. A step of 0 counts as 1, and its sign is
 * ignored: the ends say the direction, as in the shell. */
static bool read_range(struct arena *a, const char *text, size_t n, struct range *r)
{
	const char *low = arena_strndup(a, text, n);
	char *dots = strstr(low, "..");

	*r = (struct range){ .step = 1 };
	if (!dots || n > 64)
		return false;
	*dots = '\0';
	char *high = dots + 2, *more = strstr(high, "..");
	if (more) {
		*more = '\0';
		if (!text_int(more + 2, &r->step))
			return false;
	}
	r->is_letters = low[0] && !low[1] && high[0] && !high[1] && !(*low >= '0' && *low <= '9');
	if (r->is_letters) {
		r->from = (unsigned char)*low;
		r->last = (unsigned char)*high;
	} else if (!text_int(low, &r->from) || !text_int(high, &r->last)) {
		return false;
	}
	r->step = r->step == 0 || r->step == INT64_MIN ? 1 : r->step < 0 ? -r->step : r->step;
	r->width = low[0] == '0' && low[1] ? (int)strlen(low) : 0;
	return true;
}

/* Finds the brace that closes the group opening at `from`, and collects the commas of its own level.
 * False when it is no group: never closed, or neither comma nor range in it; the brace is then ordinary
 * text. */
static bool scan_group(struct walk *w, struct place from, struct group *g)
{
	uint32_t depth = 0;

	g->open = from;
	g->comma_count = 0;
	for (struct shell_part *p = from.part; p; p = p->next) {
		if (!is_live(p))
			continue;
		for (size_t i = p == from.part ? from.at : 0; i < p->text_n; i++) {
			char c = p->text[i];
			if (c == '{') {
				depth++;
			} else if (c == '}' && --depth == 0) {
				g->close = (struct place){ p, i };
				return g->comma_count > 0 ||
					(p == from.part &&
						read_range(w->a, p->text + from.at + 1, i - from.at - 1,
							&g->range));
			} else if (c == ',' && depth == 1) {
				if (g->comma_count == WALK_MAX_BRACES)
					return false;
				g->commas[g->comma_count++] = (struct place){ p, i };
			}
		}
	}
	return false;
}

/* The first real group of the list. A brace that opens no group costs a scan to the end of its text, so
 * a text full of them would cost the square of its length; the number of tries and the bytes scanned are
 * limited. */
static bool find_group(struct walk *w, struct shell_part *first, struct group *g)
{
	uint32_t tries = 0;

	for (struct shell_part *p = first; p; p = p->next) {
		if (!is_live(p))
			continue;
		for (size_t i = 0; i < p->text_n; i++) {
			if (p->text[i] != '{')
				continue;
			w->bytes += p->text_n - i;
			if (++tries > 64 || w->bytes > EVAL_MAX_BYTES) {
				eval_stop(w, "expansion_limit", "too many braces in one word");
				return false;
			}
			if (scan_group(w, (struct place){ p, i }, g))
				return true;
		}
	}
	return false;
}

/* Appends copies of the parts between two places. Texts are cut to the slice that is meant; empty
 * unquoted ones are left out, but a quoted empty text stays, because it makes a word. */
static void copy_between(struct walk *w, struct shell_part ***end, struct place from, struct place to)
{
	for (struct shell_part *p = from.part; p; p = p->next) {
		struct shell_part *copy = arena_alloc(w->a, sizeof(*copy));
		*copy = *p;
		copy->next = NULL;
		size_t start = p == from.part ? from.at : 0;
		if (p->kind == PART_TEXT) {
			size_t stop = p == to.part ? to.at : p->text_n;
			copy->text = p->text + start;
			copy->text_n = stop - start;
		}
		if (copy->kind != PART_TEXT || copy->text_n || copy->is_quoted) {
			**end = copy;
			*end = &copy->next;
		}
		if (p == to.part)
			return;
	}
}

/* The word with its group replaced: what stands before it, then `text` or the parts between `from` and
 * `to`, then what stands behind it. */
static struct shell_part *with_middle(struct walk *w, struct shell_part *first, const struct group *g,
	struct place from, struct place to, const char *text)
{
	struct shell_part *result = NULL, **end = &result;

	copy_between(w, &end, (struct place){ first, 0 }, g->open);
	if (text) {
		struct shell_part *p = arena_zalloc(w->a, 1, sizeof(*p));
		p->kind = PART_TEXT;
		p->text = text;
		p->text_n = strlen(text);
		p->at = g->open.part->at;
		*end = p;
		end = &p->next;
	} else {
		copy_between(w, &end, from, to);
	}
	copy_between(w, &end, (struct place){ g->close.part, g->close.at + 1 }, (struct place){ NULL, 0 });
	return result;
}

struct parts_list {
	struct shell_part **v;
	size_t n, cap;
};

/* False at the limit, which also ends the whole analysis: words left out would be words not judged. */
static bool push(struct walk *w, struct parts_list *l, struct shell_part *p)
{
	if (l->n >= WALK_MAX_BRACES) {
		eval_stop(w, "expansion_limit", "braces make more than 256 words");
		return false;
	}
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		l->v = arena_grow(w->a, l->v, l->cap * sizeof(*l->v), cap * sizeof(*l->v));
		l->cap = cap;
	}
	l->v[l->n++] = p;
	return true;
}

/* One word for each number or letter. The step may lead beyond 64 bits; then the range is over. */
static void push_range(struct walk *w, struct shell_part *first, const struct group *g, struct parts_list *to)
{
	const struct range *r = &g->range;
	bool rises = r->from <= r->last;

	for (int64_t i = r->from; rises ? i <= r->last : i >= r->last;) {
		const char *item = r->is_letters ? arena_printf(w->a, "%c", (int)i)
						 : arena_printf(w->a, "%0*lld", r->width, (long long)i);
		if (!push(w, to, with_middle(w, first, g, g->open, g->open, item)))
			return;
		if (__builtin_add_overflow(i, rises ? r->step : -r->step, &i))
			return;
	}
}

static void push_list(struct walk *w, struct shell_part *first, const struct group *g, struct parts_list *to)
{
	struct place from = { g->open.part, g->open.at + 1 };

	for (size_t i = 0; i <= g->comma_count; i++) {
		struct place stop = i < g->comma_count ? g->commas[i] : g->close;
		if (!push(w, to, with_middle(w, first, g, from, stop, NULL)))
			return;
		from = (struct place){ stop.part, stop.at + 1 };
	}
}

/* Rounds over the whole list, one group per word and round, until a round finds none. */
size_t expand_braces(struct walk *w, const struct shell_word *word, struct shell_part ***ret)
{
	struct parts_list now = { 0 };
	struct group g;

	if (!find_group(w, word->first, &g))
		return 0;
	(void)push(w, &now, word->first);
	for (bool again = true; again && !w->is_stopped;) {
		struct parts_list next = { 0 };
		again = false;
		for (size_t i = 0; i < now.n && !w->is_stopped; i++) {
			if (!find_group(w, now.v[i], &g)) {
				(void)push(w, &next, now.v[i]);
				continue;
			}
			if (g.comma_count > 0)
				push_list(w, now.v[i], &g, &next);
			else
				push_range(w, now.v[i], &g, &next);
			again = true;
		}
		now = next;
	}
	*ret = now.v;
	return now.n;
}
