/* plain.c — what is plain about an effect, for whoever wants to rely on it.
 *
 * Judging an effect needs the worst that it can be.  Answering for it (by saving first what it would destroy) needs the opposite: that
 * it is this and nothing else.  That is a question about the text, and texts are understood in this room only, so it is answered
 * here, once all effects are known: is the operand written out, does the text itself start it, and does the text run from its
 * beginning to its end.  Whatever is in doubt is not plain. */
#include "base/text.h"
#include "propose/walk.h"

#include <string.h>

/* No "..", whose meaning depends on links, nothing a shell would still replace, no pattern for directories. */
static bool is_literal(const struct effect *e)
{
	const struct source *s = e->source;

	if (!s || e->at.end > s->n || e->at.start >= e->at.end)
		return false;
	for (size_t i = e->at.start; i < e->at.end; i++)
		if (strchr("$`~({!", s->text[i]) ||
			(i > e->at.start && s->text[i] == '/' && strchr("*?]", s->text[i - 1])) ||
			(s->text[i] == '.' && i + 1 < e->at.end && s->text[i + 1] == '.'))
			return false;
	return true;
}

/* "bash -c": a shell is given the text. */
static bool is_given_to_shell(const char *via)
{
	char name[16];
	size_t n = strcspn(via, " ");

	if (n >= sizeof(name) || !text_eq(via + n, " -c"))
		return false;
	memcpy(name, via, n);
	name[n] = '\0';
	return shell_speaks_sh(name);
}

/* The input itself, or what a shell is given with it. */
static bool is_shell_text(const struct source *s)
{
	for (; s && s->via; s = s->parent)
		if (!is_given_to_shell(s->via))
			return false;
	return s != NULL;
}

/* A program in between may start it elsewhere, or on other operands; a script may be another one by then. */
static bool is_direct(const struct proposal *p, const struct effect *e)
{
	const struct step *s = e->step < p->step_count ? &p->steps[e->step] : NULL;

	return s && is_shell_text(e->source) && !s->wrappers &&
		(s->parent >= p->step_count || p->steps[s->parent].source != s->source);
}

static bool is_edge(char c)
{
	return !c || strchr(" \t\n;&|", c);
}

static bool has_word(const struct source *s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= s->n; i++)
		if (memcmp(s->text + i, word, n) == 0 && (!i || is_edge(s->text[i - 1])) &&
			(i + n == s->n || is_edge(s->text[i + n])))
			return true;
	return false;
}

/* One command after the other, each once: no loop, no function, nothing at the same time. */
static bool is_sequence(const struct source *s)
{
	static const char *const words[] = { "for", "while", "until", "select", "function", "trap", "coproc",
		"eval" };

	for (size_t i = 0; i < s->n; i++) {
		if (s->text[i] && strchr("({`", s->text[i]))
			return false;
		if (s->text[i] != '&' && s->text[i] != '|')
			continue;
		if (i + 1 == s->n || s->text[i + 1] != s->text[i])
			return false;
		i++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (has_word(s, words[i]))
			return false;
	return true;
}

static bool is_move(const struct step *s)
{
	static const char *const names[] = { "cd", "pushd", "popd", "chdir" };

	for (size_t i = 0; s->program && i < ARRAY_SIZE(names); i++)
		if (text_eq(s->program, names[i]))
			return true;
	return false;
}

static bool can_be_a_loss(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].kind == FX_DELETE || p->effects[i].kind == FX_WRITE ||
			p->effects[i].kind == FX_PERMISSION || p->effects[i].kind == FX_GIT)
			return true;
	return false;
}

void propose_mark_plain(struct proposal *p)
{
	const struct source *known = NULL;
	bool is_known_sequence = false;

	if (!can_be_a_loss(p))
		return; /* nobody will ask */
	for (size_t i = 0; i < p->step_count; i++)
		if (is_move(&p->steps[i])) {
			p->move_count++;
			p->moves_to = text_starts(p->steps[i].text, "cd /") ? p->steps[i].text + 3 : NULL;
		}
	for (size_t i = 0; i < p->effect_count; i++) {
		struct effect *e = &p->effects[i];
		if (e->source && e->source != known) {
			known = e->source;
			is_known_sequence = is_sequence(known);
		}
		e->is_literal = is_literal(e);
		e->is_direct = is_direct(p, e);
		e->is_in_sequence = e->source && is_known_sequence;
	}
}
