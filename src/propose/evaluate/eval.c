/* eval.c — through the tree in the order of execution.
 *
 * No branch is left out because its condition looks false: whatever might run is judged. What a branch
 * changes is then merged with what the others leave (scope.c), so a variable may have several values
 * afterwards. A command whose words depend on such variables is judged once for each combination:
 * eval_choose() says which value to take in the present try, and for_each_choice() goes on to the next
 * combination until all were tried. Loops are walked until what they change settles, three times at
 * most.
 *
 * Tests like [ -n "$x" ] are the one kind of condition that is believed: they are how careful scripts
 * protect `rm -rf "$x"/...`, and behind them the variable is known not to be empty. */
#include "propose/evaluate/evaluate.h"

/* ---- several values ---- */

/* `key` identifies the thing that has n possible values; asking again with the same key in one try gives
 * the same answer. A new key starts with 0 and is remembered, so that next_choice() can count it up. */
uint32_t eval_choose(struct walk *w, const void *key, uint32_t n)
{
	if (n <= 1)
		return 0;
	if (w->diagonal >= 0)
		return (uint32_t)(w->diagonal % n);
	for (uint32_t i = 0; i < w->choice_n; i++)
		if (w->choices[i].key == key)
			return w->choices[i].i;
	if (w->choice_n == EVAL_MAX_CHOICES)
		return 0;
	w->choices[w->choice_n++] = (struct choice){ key, n, 0 };
	return 0;
}

/* Counts the choices made since `base` like digits of a number, the last one fastest. A digit that is
 * used up is forgotten, because later choices may depend on it. False when all combinations were tried. */
static bool next_choice(struct walk *w, uint32_t base)
{
	while (w->choice_n > base) {
		struct choice *c = &w->choices[w->choice_n - 1];
		if (++c->i < c->n)
			return true;
		w->choice_n--;
	}
	return false;
}

/* How many combinations the choices seen so far make, and how many values the largest of them has. */
static uint64_t combinations(const struct walk *w, uint32_t base, uint32_t *ret_most)
{
	uint64_t all = 1;

	*ret_most = 1;
	for (uint32_t i = base; i < w->choice_n; i++) {
		all = all < UINT32_MAX ? all * w->choices[i].n : all;
		if (w->choices[i].n > *ret_most)
			*ret_most = w->choices[i].n;
	}
	return all;
}

/* Runs fn for every combination of the values it looks at, and merges what the runs change. When there
 * are too many combinations, all choices are moved together instead (the "diagonal"): every value is
 * still tried, but not with every other. Inside a diagonal nothing is multiplied again. */
static void for_each_choice(struct walk *w, void (*fn)(struct walk *, const void *), const void *arg)
{
	uint32_t base = w->choice_n, most, tries = 1;
	struct fork f;

	if (w->diagonal >= 0) {
		fn(w, arg);
		return;
	}
	fork_begin(w, &f);
	size_t before = w->log_n;
	fn(w, arg);
	if (w->choice_n == base && before == f.mark) { /* nothing to choose: what was done stays done */
		w->is_dead |= f.was_dead;
		return;
	}
	bool is_square = combinations(w, base, &most) > EVAL_MAX_TRIES;
	if (is_square) {
		fork_cut(w, &f);
		w->choice_n = base;
		for (w->diagonal = 1; w->diagonal < most && !w->is_stopped; w->diagonal++) {
			fn(w, arg);
			fork_cut(w, &f);
		}
		w->diagonal = -1;
	} else {
		while (next_choice(w, base) && tries++ < EVAL_MAX_TRIES && !w->is_stopped) {
			fork_cut(w, &f);
			fn(w, arg);
		}
		fork_cut(w, &f);
	}
	w->choice_n = base;
	(void)fork_end(w, &f, false);
}

/* ---- output ---- */

/* Starts to collect what is printed, for $(...), pipes and redirections of compound commands. */
void eval_capture_begin(struct walk *w)
{
	struct capture *c = arena_alloc(w->a, sizeof(*c));

	*c = (struct capture){ .outer = w->capture,
		.conditional = w->conditional,
		.kind = FEED_EMPTY,
		.sole = { .kind = FEED_EMPTY } };
	w->capture = c;
}

/* What was collected, in the most exact form: one file or decoded text, known bytes, a known beginning,
 * or only the kind. */
struct feed eval_capture_end(struct walk *w)
{
	struct capture *c = w->capture;

	w->capture = c->outer;
	if (c->sole.kind != FEED_EMPTY)
		return c->sole;
	if (c->kind == FEED_KNOWN)
		return (struct feed){ .kind = FEED_KNOWN, .text = c->text.p, .n = c->text.n };
	if (c->kind == FEED_UNKNOWN && c->text.a)
		return (struct feed){ .kind = FEED_UNKNOWN,
			.text = c->text.p,
			.n = c->text.n,
			.is_filled = c->is_filled,
			.below = c->below };
	return (struct feed){ .kind = c->kind,
		.is_filled = c->is_filled,
		.below = c->below,
		.names = c->names,
		.lines = c->lines };
}

/* How dangerous it would be to run such output as a program. A list prints what the worst of its
 * commands prints. */
static int badness(enum feed_kind k)
{
	static const int order[] = { [FEED_EMPTY] = 0,
		[FEED_INHERIT] = 2,
		[FEED_KNOWN] = 1,
		[FEED_FILE] = 3,
		[FEED_UNKNOWN] = 3,
		[FEED_DECODED] = 4,
		[FEED_SOCKET] = 6,
		[FEED_FETCHED] = 5 };

	return order[k];
}

/* A command printed something: it becomes part of what the list around it prints. Known text stays known
 * only while every command before it was known and surely ran; a command that may not run makes the
 * whole unknown. */
void eval_prints(struct walk *w, const struct feed *out)
{
	struct capture *c = w->capture;

	if (!c || out->kind == FEED_EMPTY)
		return;
	if (out->below)
		c->below = out->below;
	if (out->names)
		c->names = out->names;
	if (out->lines)
		c->lines = out->lines;
	/* Inside a branch that began after the capture, it is not certain that this is printed. */
	bool is_maybe = w->conditional > c->conditional;
	bool is_sole = c->kind == FEED_EMPTY && !is_maybe && out->text &&
		(out->kind == FEED_FILE || out->kind == FEED_DECODED);
	c->sole = is_sole ? *out : (struct feed){ .kind = FEED_EMPTY };
	if (out->kind == FEED_KNOWN && !is_maybe && (c->kind == FEED_EMPTY || c->kind == FEED_KNOWN)) {
		if (!c->text.a)
			buf_init(&c->text, w->a);
		buf_add(&c->text, out->text, out->n);
		w->bytes += out->n;
		c->kind = FEED_KNOWN;
		return;
	}
	if (out->kind == FEED_UNKNOWN && !is_maybe && (c->kind == FEED_EMPTY || c->kind == FEED_KNOWN) &&
		out->text) {
		if (!c->text.a)
			buf_init(&c->text, w->a);
		buf_add(&c->text, out->text, out->n);
		c->kind = FEED_UNKNOWN;
		c->is_filled = out->is_filled;
		return;
	}
	if (!is_maybe)
		c->is_filled |= out->is_filled;
	/* Known text behind an unknown one leaves the known beginning as it is; anything else makes it
	 * worthless. */
	if (c->kind == FEED_UNKNOWN && out->kind != FEED_KNOWN)
		c->text = (struct buf){ 0 };
	if (c->kind == FEED_KNOWN || c->kind == FEED_EMPTY) {
		if (c->kind == FEED_EMPTY || is_maybe)
			c->text = (struct buf){ 0 };
		c->kind = FEED_UNKNOWN;
	}
	if (badness(out->kind) > badness(c->kind))
		c->kind = out->kind == FEED_FILE || out->kind == FEED_INHERIT ? FEED_UNKNOWN : out->kind;
}

static void run_script(struct walk *w, const struct shell_script *script)
{
	const struct shell_script *outer = w->script;

	w->script = script;
	eval_list(w, script->first);
	w->script = outer;
}

/* Goes one level deeper into texts inside texts. False at the limit, which stops the analysis, or when
 * it has stopped. */
bool eval_enter(struct walk *w)
{
	if (w->depth >= WALK_MAX_DEPTH) {
		eval_stop(w, "depth_limit", "commands inside commands, more than 16 levels deep");
		return false;
	}
	w->depth++;
	if (w->depth > w->p->max_depth)
		w->p->max_depth = w->depth;
	return !w->is_stopped;
}

/* Runs in a subshell: what it changes is undone, and an exit in it ends only itself. */
struct feed eval_output(struct walk *w, const struct shell_script *script)
{
	size_t mark = w->log_n;
	bool was_dead = w->is_dead;
	const struct shell_node *first = script->first;

	if (w->is_stopped || !eval_enter(w))
		return (struct feed){ .kind = FEED_UNKNOWN };
	eval_capture_begin(w);
	run_script(w, script);
	struct feed out = eval_capture_end(w);
	/* $(<file) prints the file, although no command does. */
	if (first && !first->next && first->kind == SH_SIMPLE && !first->words && first->redirs &&
		out.kind == FEED_EMPTY)
		out.kind = FEED_UNKNOWN;
	scope_undo(w, mark);
	w->is_dead = was_dead;
	w->depth--;
	return out;
}

/* ---- nodes ---- */

/* The redirections of a compound command. Its input is set before the body is walked; the effects of its
 * redirections are added behind it, when it is known what is written. */
struct around {
	struct command c;
	struct feed in;
	bool captures;
};

static void around_begin(struct walk *w, const struct shell_node *n, struct around *a)
{
	if (!n->redirs)
		return;
	*a = (struct around){ .in = w->in };
	a->c = (struct command){ .in = w->in, .source = w->script->source, .at = n->at, .flags = w->flags };
	eval_redirs(w, n->redirs, &a->c);
	w->in = a->c.in;
	a->captures = eval_redirects_output(&a->c);
	if (a->captures)
		eval_capture_begin(w);
}

static void around_end(struct walk *w, const struct shell_node *n, struct around *a)
{
	if (!n->redirs)
		return;
	if (a->captures)
		a->c.out = eval_capture_end(w);
	w->in = a->in;
	uint32_t outer = w->step;
	w->step = walk_step_begin(w, &a->c);
	classify_command(w, &a->c);
	walk_step_end(w, outer);
}

static void eval_node(struct walk *w, const struct shell_node *n);

/* Each side gets the output of the one before as its input. Each side runs in a subshell, so its changes
 * are dropped (is_dead makes fork_cut() drop them); only the last side keeps them as possible, because
 * some shells run it in place. */
static void eval_pipeline(struct walk *w, const struct shell_node *n)
{
	struct feed in = w->in, out = { .kind = FEED_EMPTY };
	const struct shell_node *outer = w->pipeline;
	bool was_dead = w->is_dead;

	w->pipeline = n;
	for (const struct shell_node *item = n->items; item && !w->is_stopped; item = item->next) {
		struct fork f;
		eval_capture_begin(w);
		fork_begin(w, &f);
		eval_node(w, item);
		w->is_dead =
			item->next != NULL; /* each side is a subshell; the last one in some shells is not */
		fork_cut(w, &f);
		(void)fork_end(w, &f, true);
		out = eval_capture_end(w);
		w->in = out;
		if (w->in.kind == FEED_INHERIT)
			w->in.kind = FEED_UNKNOWN;
	}
	w->pipeline = outer;
	w->in = in;
	w->is_dead = was_dead;
	eval_prints(w, &out);
}

/* The right side of ||. It runs when the left side failed, and the cd in it may be what failed, so both
 * directories are possible. Behind it, the list goes on where the cd led: `cd x || exit` is how scripts
 * make sure of that. */
static void eval_otherwise(struct walk *w, const struct shell_node *item, const struct value *dir)
{
	struct binding *b = scope_binding(w, BIND_DIRECTORY, "", 0, true);
	const struct value *now = scope_directory(w);

	w->conditional++;
	if (now != dir)
		scope_set(w, b, value_union(w, now, dir));
	const void *both = b->now;
	eval_node(w, item);
	if (b->now == both && now != dir) /* whatever it did, the list goes on where the cd led */
		scope_set(w, b, now);
	w->conditional--;
}

/* The variable that a test like `[ -n "$x" ]`, `test "$x"` or `[[ ! -z $x ]]` is about, or NULL when the
 * command is no such test. *ret_filled says whether the test holds when the variable is not empty. */
static const struct shell_param *tested_name(const struct shell_node *n, bool *ret_filled)
{
	const struct shell_word *w = n->words;

	if (n->kind == SH_SIMPLE && w && (shell_word_is(w, "[") || shell_word_is(w, "test")))
		w = w->next;
	else if (n->kind != SH_COND)
		return NULL;
	*ret_filled = !n->is_negated;
	if (w && shell_word_is(w, "!")) {
		*ret_filled = !*ret_filled;
		w = w->next;
	}
	if (w && shell_word_is(w, "-z"))
		*ret_filled = !*ret_filled;
	if (w && (shell_word_is(w, "-z") || shell_word_is(w, "-n")))
		w = w->next;
	if (!w || (w->next && !(shell_word_is(w->next, "]") && !w->next->next)))
		return NULL;
	const struct shell_part *part = w->first;
	bool is_name = part && !part->next && part->kind == PART_PARAM && part->param->op <= PARAM_DEFAULT &&
		!part->param->index && !part->param->is_indirect && part->param->name_n > 0;
	return is_name ? part->param : NULL;
}

static bool is_name_text(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
			    (p[i] >= '0' && p[i] <= '9') || p[i] == '_'))
			return false;
	return n > 0;
}

/* From here on the variable is known not to be empty. Only values that are wholly unknown change. */
static void assume_filled(struct walk *w, const struct shell_param *p)
{
	const struct value *old = scope_variable(w, p->name, p->name_n);
	bool is_open = false;

	if (old->is_array || (p->name[0] >= '0' && p->name[0] <= '9') || !is_name_text(p->name, p->name_n))
		return;
	for (uint32_t i = 0; i < old->n; i++)
		is_open |= text_eq(old->items[i], "\1");
	if (!is_open)
		return;
	struct value *v = value_new(w, old->n, false);
	for (uint32_t i = 0; i < old->n; i++)
		v->items[i] = text_eq(old->items[i], "\1") ? "\2" : old->items[i];
	scope_set_variable(w, p->name, p->name_n, v);
}

/* Commands joined by &&: each runs only when the one before it succeeded, so a test before it holds.
 * Returns the first item that is joined differently. */
static const struct shell_node *eval_ands(
	struct walk *w, const struct shell_node *before, const struct shell_node *item)
{
	for (; item && item->join == JOIN_AND && !w->is_stopped; before = item, item = item->next) {
		bool is_filled;
		const struct shell_param *p = tested_name(before, &is_filled);
		if (p && is_filled)
			assume_filled(w, p);
		eval_node(w, item);
	}
	return item;
}

/* Goes through the items from left to right. A run of && forms one branch; a || behind it forms the
 * other one. What ends in exit leaves the branch, and therefore the test in front of it says something
 * about all that follows. */
static void eval_and_or(struct walk *w, const struct shell_node *n)
{
	const struct value *dir = scope_directory(w);
	const struct shell_node *before = n->items;

	eval_node(w, before);
	for (const struct shell_node *item = before->next; item && !w->is_stopped;) {
		struct fork f;
		bool is_filled, was_and = item->join == JOIN_AND;
		const struct shell_param *p = tested_name(before, &is_filled);
		fork_begin(w, &f);
		if (was_and) {
			/* With a || behind the run, the run itself may not happen; without one, what it
			 * prints counts as printed. */
			bool has_other = false;
			for (const struct shell_node *x = item; x && !has_other; x = x->next)
				has_other = x->join == JOIN_OR;
			w->conditional += has_other;
			item = eval_ands(w, before, item);
			w->conditional -= has_other;
			bool is_dead = w->is_dead;
			fork_cut(w, &f);
			/* a && b || c: one of b and c runs */
			if (item) {
				eval_otherwise(w, item, dir);
				fork_cut(w, &f);
				before = item;
				item = item->next;
				(void)fork_end(w, &f, false);
				continue;
			}
			(void)fork_end(w, &f, true);
			if (p && !is_filled && is_dead) /* [ -z "$x" ] && exit */
				assume_filled(w, p);
			return;
		}
		eval_otherwise(w, item, dir);
		bool is_dead = w->is_dead;
		fork_cut(w, &f);
		(void)fork_end(w, &f, true);
		if (p && is_filled && is_dead) /* [ -n "$x" ] || exit */
			assume_filled(w, p);
		before = item;
		item = item->next;
	}
}

/* The first condition always runs. Each clause starts from the state behind it, and without an else the
 * state may also stay as it is. */
static void eval_if(struct walk *w, const struct shell_node *n)
{
	struct fork f;
	const struct shell_node *first = n->clauses->condition;
	bool has_else = false, is_filled = false, is_dead = false;
	const struct shell_param *p = first && !first->next ? tested_name(first, &is_filled) : NULL;

	eval_list(w, first);
	fork_begin(w, &f);
	w->conditional++;
	for (const struct shell_clause *c = n->clauses; c && !w->is_stopped; c = c->next) {
		has_else |= !c->condition;
		if (c != n->clauses)
			eval_list(w, c->condition);
		if (p && (c == n->clauses) == is_filled)
			assume_filled(w, p);
		eval_list(w, c->body);
		if (c == n->clauses)
			is_dead = w->is_dead;
		fork_cut(w, &f);
	}
	w->conditional--;
	(void)fork_end(w, &f, !has_else);
	if (p && !is_filled && is_dead) /* if [ -z "$x" ]; then exit; fi */
		assume_filled(w, p);
}

/* Every clause may run. The subject and the patterns are expanded for the commands inside them. */
static void eval_case(struct walk *w, const struct shell_node *n)
{
	struct fork f;
	bool has_rest = false;

	(void)expand_text(w, n->words, 0);
	fork_begin(w, &f);
	w->conditional++;
	for (const struct shell_clause *c = n->clauses; c && !w->is_stopped; c = c->next) {
		for (const struct shell_word *p = c->patterns; p; p = p->next) {
			has_rest |= shell_word_is(p, "*");
			(void)expand_pattern(w, p);
		}
		eval_list(w, c->body);
		fork_cut(w, &f);
	}
	w->conditional--;
	(void)fork_end(w, &f, !has_rest);
}

/* A loop's body, walked again while what it changes still changes what it does. Only the outermost loop
 * repeats: the inner ones are inside every round of it, and repeating each would multiply the work. */
static void eval_loop(struct walk *w, const struct shell_node *condition, const struct shell_node *body)
{
	bool is_outer = w->loops == 0;
	size_t effects = w->p->effect_count, steps = w->p->step_count;

	w->loops++;
	for (int round = 0; round < 3 && !w->is_stopped; round++) {
		struct fork f;
		fork_begin(w, &f);
		w->conditional++;
		eval_list(w, condition);
		eval_list(w, body);
		w->conditional--;
		fork_cut(w, &f);
		if (!fork_end(w, &f, true) || !is_outer || round == 2)
			break;
		/* The next round starts from the merged state, so it finds all that this one found, and
		 * more; this one's effects are dropped. */
		w->p->effect_count = effects;
		w->p->step_count = steps;
	}
	w->loops--;
}

/* while :; do a & done: nothing in it ever waits, so processes pile up without end. */
static void find_bomb(struct walk *w, const struct shell_node *n)
{
	const struct shell_node *c = n->items;
	bool is_endless = c && !c->next && c->kind == SH_SIMPLE && c->words && !c->words->next &&
		(shell_word_is(c->words, ":") || shell_word_is(c->words, "true"));

	/* for ((;;)) has no words between its semicolons */
	if (n->kind == SH_FOR_ARITH) {
		const char *text = expand_text(w, n->words, 0);
		const char *middle = strchr(text, ';');
		is_endless = middle && middle[1 + strspn(middle + 1, " \t")] == ';';
	}
	for (const struct shell_node *b = n->body; b; b = b->next)
		is_endless &= b->is_background;
	if (!is_endless)
		return;
	struct command loop = { .source = w->script->source, .at = n->at, .flags = w->flags };
	uint32_t outer = w->step;
	w->step = walk_step_begin(w, &loop);
	walk_effect(w, &loop, FX_FORK_BOMB, NULL)->tag = "fork.bomb";
	walk_step_end(w, outer);
}

/* The variable may be each of the words. A glob among them is marked as one name, so that "$f" is judged
 * as one file of that directory rather than as an unknown text. */
static void eval_for(struct walk *w, const struct shell_node *n)
{
	struct word_list words = { 0 };
	const struct value *v;

	if (n->has_in) {
		for (const struct shell_word *word = n->words; word && !w->is_stopped; word = word->next)
			expand_word(w, word, &words);
		const struct value *sum = NULL;
		for (size_t i = 0; i < words.n; i++) {
			const char *item = word_marked(w, &words.v[i]);
			if (words.v[i].is_glob) { /* each name it matches, whatever quotes will stand around the variable */
				char *name = arena_strdup(w->a, item);
				for (char *p = name; *p; p++)
					if (*p == '*' || *p == '?' || *p == '[')
						*p = MARK_NAME;
				item = name;
			}
			const struct value *one = value_text(w, item);
			sum = sum ? value_union(w, sum, one) : one;
		}
		v = sum;
	} else {
		const struct value *args = scope_variable(w, "@", 1);
		struct value *copy = value_new(w, args->n + 1, false);
		copy->n = 0;
		for (uint32_t i = 0; i < args->n && copy->n < EVAL_MAX_ALTERNATIVES; i++)
			copy->items[copy->n++] = args->items[i];
		if (args->is_open || args->n > EVAL_MAX_ALTERNATIVES)
			copy->items[copy->n++] = "\2";
		v = copy;
	}
	if (!v || v->n == 0) /* nothing to loop over that we know of, but the list may be an expansion */
		v = value_text(w, "\1");
	scope_set_variable(w, n->name, n->name_n, v);
	eval_loop(w, NULL, n->body);
}

static void eval_arith(struct walk *w, const struct shell_word *word)
{
	const char *text = expand_text(w, word, 0);
	int64_t value;

	if (!has_mark(text))
		(void)arith_eval(w, text, &value);
}

/* for ((i = 0; ...)): its variables are numbers that are not followed; they are known not to be empty. */
static void eval_for_arith(struct walk *w, const struct shell_node *n)
{
	const char *text = expand_text(w, n->words, 0);

	for (const char *p = text; *p;) {
		size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
		if (len && !(*p >= '0' && *p <= '9'))
			scope_set_variable(w, p, len, value_text(w, "\2"));
		p += len ? len : 1;
	}
	eval_loop(w, NULL, n->body);
}

/* What is changed inside is undone behind it. */
static void eval_subshell(struct walk *w, const struct shell_node *list, bool is_background)
{
	size_t mark = w->log_n;
	bool was_dead = w->is_dead;

	w->background += is_background;
	eval_list(w, list);
	w->background -= is_background;
	scope_undo(w, mark);
	w->is_dead = was_dead;
}

/* A command that gets an alias's arguments is recognised by its node. */
static void eval_simple_node(struct walk *w, const struct shell_node *n)
{
	struct simple_run run = { n, n == w->extra_node ? w->extra : NULL,
		n == w->extra_node ? w->extra_n : 0 };

	if (n->words || n->assigns || n->redirs)
		for_each_choice(w, eval_simple, &run);
}

/* One compound command, its redirections already handled by the caller. */
static void eval_compound(struct walk *w, const struct shell_node *n)
{
	switch (n->kind) {
	case SH_SUBSHELL:
		eval_subshell(w, n->items, false);
		break;
	case SH_GROUP:
		eval_list(w, n->items);
		break;
	case SH_IF:
		eval_if(w, n);
		break;
	case SH_WHILE:
		eval_loop(w, n->items, n->body);
		find_bomb(w, n);
		break;
	case SH_FOR:
		eval_for(w, n);
		break;
	case SH_FOR_ARITH:
		eval_for_arith(w, n);
		find_bomb(w, n);
		break;
	case SH_CASE:
		eval_case(w, n);
		break;
	case SH_COPROC:
		eval_subshell(w, n->items, true);
		break;
	case SH_ARITH:
		eval_arith(w, n->words);
		break;
	/* Conditions are not decided, but substitutions and subscripts in them run. */
	case SH_COND:
		for (const struct shell_word *word = n->words; word && !w->is_stopped; word = word->next)
			eval_subscript(w,
				&(struct command){
					.at = n->at, .source = w->script->source, .flags = w->flags },
				expand_text(w, word, 0));
		break;
	default:
		break;
	}
}

static void eval_node(struct walk *w, const struct shell_node *n)
{
	if (w->is_stopped)
		return;
	switch (n->kind) {
	case SH_SIMPLE:
		eval_simple_node(w, n);
		return;
	case SH_PIPELINE:
		eval_pipeline(w, n);
		return;
	case SH_AND_OR:
		eval_and_or(w, n);
		return;
	case SH_FUNCTION:
		eval_define(w, n);
		return;
	default:
		break;
	}
	struct around a;
	around_begin(w, n, &a);
	eval_compound(w, n);
	around_end(w, n, &a);
}

/* A command in the background runs in a subshell of its own. */
void eval_list(struct walk *w, const struct shell_node *first)
{
	for (const struct shell_node *n = first; n && !w->is_stopped; n = n->next) {
		if (!n->is_background) {
			eval_node(w, n);
			continue;
		}
		size_t mark = w->log_n;
		bool was_dead = w->is_dead;
		w->background++;
		eval_node(w, n);
		w->background--;
		scope_undo(w, mark);
		w->is_dead = was_dead;
	}
}
