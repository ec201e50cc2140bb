/* shell_dump.c — what the parser made of a text, as counts and as an outline, for tests that compare it with others. */
#include "tools/shell_dump.h"

#include "base/text.h"

static void count_script(struct shell_counts *c, const struct shell_script *s);
static void count_words(struct shell_counts *c, const struct shell_word *w);

static void count_param(struct shell_counts *c, const struct shell_param *p)
{
	c->params++;
	count_words(c, p->index);
	count_words(c, p->word);
	count_words(c, p->word2);
}

static void count_parts(struct shell_counts *c, const struct shell_part *part)
{
	for (; part; part = part->next) {
		switch (part->kind) {
		case PART_TEXT:
			break;
		case PART_PARAM:
			count_param(c, part->param);
			break;
		case PART_COMMAND:
			c->substitutions++;
			count_script(c, part->script);
			break;
		case PART_PROC_IN:
		case PART_PROC_OUT:
			c->processes++;
			count_script(c, part->script);
			break;
		case PART_ARITH:
			c->expressions++;
			count_words(c, part->arith);
			break;
		}
	}
}

static void count_words(struct shell_counts *c, const struct shell_word *w)
{
	for (; w; w = w->next) {
		count_parts(c, w->first);
		count_words(c, w->index);
		count_words(c, w->elements);
	}
}

static void count_list(struct shell_counts *c, const struct shell_node *n);

static void count_node(struct shell_counts *c, const struct shell_node *n)
{
	if (n->kind == SH_SIMPLE) {
		c->commands += n->words || n->assigns;
		for (const struct shell_word *w = n->words; w; w = w->next)
			c->words++;
		for (const struct shell_word *w = n->assigns; w; w = w->next)
			c->assigns++;
	}
	c->subshells += n->kind == SH_SUBSHELL;
	c->groups += n->kind == SH_GROUP;
	c->loops += n->kind == SH_WHILE || n->kind == SH_FOR || n->kind == SH_FOR_ARITH;
	c->cases += n->kind == SH_CASE;
	c->functions += n->kind == SH_FUNCTION;
	c->conditions += n->kind == SH_COND;
	c->arithmetics += n->kind == SH_ARITH;
	c->coprocs += n->kind == SH_COPROC;
	for (const struct shell_clause *clause = n->clauses; clause; clause = clause->next) {
		c->ifs += n->kind == SH_IF && clause->condition;
		count_words(c, clause->patterns);
		count_list(c, clause->condition);
		count_list(c, clause->body);
	}
	for (const struct shell_redir *r = n->redirs; r; r = r->next) {
		c->redirects++;
		count_words(c, r->word);
	}
	count_words(c, n->assigns);
	count_words(c, n->words);
	count_list(c, n->items);
	count_list(c, n->body);
}

static void count_list(struct shell_counts *c, const struct shell_node *n)
{
	for (; n; n = n->next)
		count_node(c, n);
}

static void count_script(struct shell_counts *c, const struct shell_script *s)
{
	count_list(c, s->first);
}

void shell_dump_count(const struct shell_script *s, struct shell_counts *ret)
{
	*ret = (struct shell_counts){ 0 };
	count_script(ret, s);
}
