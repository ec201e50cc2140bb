/* simple.c — one simple command: its words expanded, its redirections, and who runs it (alias, function,
 * builtin or program).
 *
 * The order in eval_simple() is that of the shell: words, redirections, assignments, then the command.
 * It may run several times for one command, once for each combination of values its words can have
 * (for_each_choice in eval.c); it must therefore change what is known only through scope_set(), so that
 * a try can be undone. */
#include "propose/evaluate/evaluate.h"

#include "base/file.h"

/* done < <(find / -name id_rsa), <<< "$FOUND": the text is names of files with secrets. */
static const char *names_of(const struct word *x)
{
	return x->origin == ORIGIN_SECRETS ? "files with secrets" : NULL;
}

/* What standard input is after a redirection. Where the text comes from (network, decoder, socket) is
 * kept, because a shell that reads it would run it. */
static void set_feed(struct walk *w, struct command *c, const struct redirect *r)
{
	const char *marked;

	switch (r->op) {
	case REDIR_HEREDOC:
	case REDIR_HERESTRING:
		marked = word_marked(w, &r->target);
		/* Nothing but unknown text: then only where it comes from is worth knowing. */
		if (r->target.certainty != CERTAIN && !r->target.text[strspn(r->target.text, " \t\n")])
			c->in = (struct feed){ .kind = feed_kind_of(r->target.origin),
				.below = names_of(&r->target) };
		else
			c->in = (struct feed){ .kind = FEED_KNOWN, .text = marked, .n = strlen(marked) };
		break;
	case REDIR_IN:
	case REDIR_RDWR:
		if (walk_process(w, &r->target, &c->in))
			break;
		if (r->target.certainty != CERTAIN)
			c->in = (struct feed){ .kind = feed_kind_of(r->target.origin),
				.below = names_of(&r->target) };
		else if (text_eq(r->target.text, "/dev/null"))
			c->in = (struct feed){ .kind = FEED_EMPTY };
		else if (text_starts(r->target.text, "/dev/tcp/") || text_starts(r->target.text, "/dev/udp/"))
			c->in = (struct feed){ .kind = FEED_SOCKET };
		else
			c->in = (struct feed){
				.kind = FEED_FILE, .text = r->target.text, .n = r->target.text_n
			};
		break;
	case REDIR_DUP_IN: {
		int64_t fd;
		if (r->target.certainty == CERTAIN && text_eq(r->target.text, "-"))
			c->in = (struct feed){ .kind = FEED_EMPTY };
		else if (r->target.certainty == CERTAIN && text_int(r->target.text, &fd) && fd >= 0 &&
			fd < 64 && w->socket_fds >> fd & 1)
			c->in = (struct feed){ .kind = FEED_SOCKET };
		else if (!text_eq(r->target.text, "0"))
			c->in = (struct feed){ .kind = FEED_UNKNOWN };
		break;
	}
	default:
		break;
	}
}

static bool is_output(enum redirect_op op)
{
	return op == REDIR_OUT || op == REDIR_APPEND || op == REDIR_CLOBBER || op == REDIR_BOTH ||
		op == REDIR_BOTH_APPEND;
}

/* Expands the redirections of a command and notes what they do to its input. Their effects are added
 * later, by classify_command(). */
void eval_redirs(struct walk *w, const struct shell_redir *first, struct command *c)
{
	size_t n = 0;

	for (const struct shell_redir *r = first; r; r = r->next)
		n++;
	if (n == 0)
		return;
	c->redirs = arena_zalloc(w->a, n, sizeof(*c->redirs));
	for (const struct shell_redir *r = first; r && !w->is_stopped; r = r->next) {
		const char *text = expand_text(w, r->word, 0);
		/* > $(mktemp): a name that nobody keeps is not known afterwards, whatever it begins with. */
		if (is_output(r->op) && r->word->first && r->word->first->kind == PART_COMMAND &&
			!r->word->first->next && has_mark(text))
			text = "\1";
		size_t len = strlen(text);
		char *with_newline = NULL;
		if (r->op == REDIR_HERESTRING) {
			with_newline = arena_printf(w->a, "%s\n", text);
			text = with_newline;
			len++;
		}
		struct redirect *to = &c->redirs[c->redir_count++];
		bool is_file = r->op != REDIR_HEREDOC && r->op != REDIR_HERESTRING;
		size_t glob_at = is_file && r->word->first && !r->word->is_plain && !r->word->first->is_quoted
			? strcspn(text, "*?[")
			: len;
		*to = (struct redirect){ .op = r->op,
			.fd = r->fd,
			.target = word_of_marked(w, text, len, glob_at < len ? glob_at : SIZE_MAX, r->at),
			.at = r->at };
		if (r->op == REDIR_HEREDOC)
			w->p->heredoc_input = true;
		if (r->fd <= 0 && !r->is_fd_name)
			set_feed(w, c, to);
	}
}

/* Standard output goes to a file, or nowhere. */
bool eval_redirects_output(const struct command *c)
{
	for (size_t i = 0; i < c->redir_count; i++) {
		const struct redirect *r = &c->redirs[i];
		bool is_out = r->op == REDIR_OUT || r->op == REDIR_APPEND || r->op == REDIR_CLOBBER;
		if ((is_out && (r->fd == 1 || r->fd == -1)) || r->op == REDIR_BOTH ||
			r->op == REDIR_BOTH_APPEND)
			return true;
		if (r->op == REDIR_DUP_OUT && (r->fd == 1 || r->fd == -1) && !text_eq(r->target.text, "1"))
			return true;
	}
	return false;
}

/* An unquoted expansion of which nothing is known: it may also be no word at all. */
static bool is_pure_hole(const struct word *x)
{
	return x->certainty == DYNAMIC && x->text_n == 0 && !x->is_quoted && !x->is_guarded;
}

/* Programs that run the text they are given as a file. */
static bool has_heredoc_shell(const struct word *head)
{
	const char *base = path_base(head->text);

	return shell_speaks_sh(base) || text_eq(base, "source") || text_eq(base, ".");
}

/* bash <(echo ...): the file that the shell is given is text we know, so it is judged as a script. */
static void walk_known_process(struct walk *w, struct command *c, const struct shell_node *node)
{
	const struct shell_word *word = node->words ? node->words->next : NULL;

	if (!c->argc || c->argv[0].certainty != CERTAIN || !has_heredoc_shell(&c->argv[0]))
		return;
	for (; word && !w->is_stopped; word = word->next) {
		const struct shell_part *part = word->first;
		if (!part || part->kind != PART_PROC_IN || part->next)
			continue;
		size_t effects = w->p->effect_count, steps = w->p->step_count;
		struct feed out = eval_output(w, part->script);
		w->p->effect_count = effects; /* these were counted when the word was expanded */
		w->p->step_count = steps;
		if (out.kind == FEED_KNOWN)
			walk_bytes(w, c, out.text, out.n, c->at, "process substitution");
	}
}

/* Commands whose NAME=value arguments are assignments: the value is not split, and it stays after the
 * command. */
static bool declares_names(const struct shell_word *head)
{
	static const char *const names[] = { "export", "readonly", "declare", "typeset", "local" };

	for (size_t i = 0; head->is_plain && i < ARRAY_SIZE(names); i++)
		if (shell_word_is(head, names[i]))
			return true;
	return false;
}

/* Makes the assignments among the words. `before`, when given, gets the old values; is_local gives the
 * function's caller its value back at the end of the function. */
static void assign_all(struct walk *w, const struct shell_word *word, struct command *c,
	struct change *before, bool is_local)
{
	size_t n = 0;

	for (; word && !w->is_stopped; word = word->next) {
		if (!word->name_n)
			continue;
		struct binding *b = scope_binding(w, BIND_VARIABLE, word->first->text, word->name_n, true);
		if (before)
			before[n++] = (struct change){ b, b->now };
		if (is_local)
			eval_local(w, b);
		builtin_assign(w, word, &c->assigns[c->assign_count++]);
	}
}

/* ${#x}, ${x:+set}, ${x:0:4}: something about the value, or its beginning, as people show that there is one. */
static bool shows_value(enum param_op op)
{
	return op != PARAM_ALTERNATE && op != PARAM_LENGTH && op != PARAM_NAMES && op != PARAM_SLICE;
}

/* A variable of this word that holds a credential; NULL: none.  A value that the text itself has set is no secret. */
static const struct shell_param *secret_of(struct walk *w, const struct shell_word *word)
{
	for (const struct shell_part *p = word->first; p; p = p->next) {
		if (p->kind != PART_PARAM || p->param->is_indirect || !shows_value(p->param->op))
			continue;
		bool is_named = paths_is_secret_variable(p->param->name, p->param->name_n);
		const struct value *v = scope_variable(w, p->param->name, p->param->name_n);
		if ((is_named && (!v->n || has_mark(v->items[0]))) ||
			(v->n && strchr(v->items[0], MARK_CREDENTIAL)))
			return p->param;
	}
	return NULL;
}

/* echo $API_KEY shows a credential to whoever reads the output, and so does base64 <<< $API_KEY.  In a pipe it goes to a program
 * instead. */
static void find_printed_secret(struct walk *w, struct command *c, const struct shell_node *node)
{
	static const char *const copies[] = { "cat", "base64", "base32", "xxd", "od", "hexdump", "rev", "tac",
		"fold", "nl", "tr", "tee" };
	const struct shell_word *head = node->words;
	const struct shell_param *found = NULL;
	bool is_copy = false;

	if (!head || w->pipeline)
		return;
	if (shell_word_is(head, "echo") || shell_word_is(head, "printf"))
		for (const struct shell_word *word = head->next; word && !found; word = word->next)
			found = secret_of(w, word);
	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		is_copy |= shell_word_is(head, copies[i]);
	for (const struct shell_redir *r = node->redirs; r && is_copy && !found; r = r->next)
		if (r->op == REDIR_HERESTRING && r->word)
			found = secret_of(w, r->word);
	if (!found)
		return;
	struct effect *e = walk_effect(w, c, FX_SECRET_READ, NULL);
	e->tag = "secret.store";
	e->program = "echo";
	e->target = arena_strndup(w->a, found->name, found->name_n);
}

/* A prompt is expanded when it is shown: everything that a here-document would run, it runs. */
void eval_prompt(struct walk *w, const struct command *c, const char *text)
{
	if (!strpbrk(text, "$`"))
		return;
	const char *script = arena_printf(w->a, ": <<helm_prompt\n%s\nhelm_prompt\n", text);
	struct command inner = *c;
	walk_bytes(w, &inner, script, strlen(script), c->at, "prompt");
}

/* A subscript is evaluated when it is used: a command hidden in a[$(cmd)] runs although it was quoted, so it is judged. */
void eval_subscript(struct walk *w, const struct command *c, const char *text)
{
	const char *bracket = text ? strchr(text, '[') : NULL;
	const char *open = bracket ? strstr(bracket, "$(") : NULL,
		   *tick = bracket ? strchr(bracket, '`') : NULL;

	if (open && open[2] != '(') {
		const char *end = strrchr(open, ')');
		size_t n = end ? (size_t)(end - open - 2) : strlen(open + 2);
		walk_bytes(w, c, open + 2, n, c->at, "late expansion");
	} else if (tick) {
		walk_bytes(w, c, tick + 1, strcspn(tick + 1, "`"), c->at, "late expansion");
	}
}

/* Looks for such text in the arguments of builtins that take names, and in assigned values. */
static void find_late_text(struct walk *w, const struct command *c)
{
	static const char *const names[] = { "let", "unset", "read", "declare", "typeset", "local", "export",
		"readonly", "printf", "test", "[", "wait", "getopts", "mapfile", "readarray" };
	const char *head = c->argc && c->argv[0].certainty == CERTAIN ? c->argv[0].text : "";
	bool evaluates = false;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		evaluates |= text_eq(head, names[i]);
	bool names_only = text_eq(head, "printf") || text_eq(head, "test") || text_eq(head, "[");
	for (size_t i = 1; evaluates && i < c->argc && !w->is_stopped; i++)
		if (!names_only || text_eq(c->argv[i - 1].text, "-v"))
			eval_subscript(w, c, c->argv[i].text);
	for (size_t i = 0; i < c->assign_count && !w->is_stopped; i++)
		eval_subscript(w, c, c->assigns[i].value.text);
}

/* bash /dev/fd/3 3<<< text: the script is the here-document of that number. */
static void walk_numbered_input(struct walk *w, struct command *c)
{
	if (c->argc < 2 || !c->redir_count || c->argv[0].certainty != CERTAIN ||
		!has_heredoc_shell(&c->argv[0]))
		return;
	for (size_t i = 0; i < c->redir_count && !w->is_stopped; i++) {
		const struct redirect *r = &c->redirs[i];
		if (r->fd < 1 || (r->op != REDIR_HEREDOC && r->op != REDIR_HERESTRING))
			continue;
		const char *name = arena_printf(w->a, "/fd/%d", r->fd), *text = word_marked(w, &r->target);
		for (size_t k = 1; k < c->argc; k++)
			if (text_ends(c->argv[k].text, name))
				walk_bytes(w, c, text, strlen(text), r->at, "here-document");
	}
}

/* The last steps matter: assignments in front of a command are taken back only after everything that may
 * look at them, and output that goes to a file is not part of what the surrounding list prints. */
void eval_simple(struct walk *w, const void *arg)
{
	const struct simple_run *run = arg;
	const struct shell_node *node = run->node;
	struct word_list argv = { 0 };
	struct command c = { .in = w->in, .source = w->script->source, .at = node->at, .flags = w->flags };
	size_t assigns = 0;

	if (w->is_stopped)
		return;
	if (++w->work > EVAL_MAX_WORK) {
		eval_stop(w, "expansion_limit", "more than 20000 commands to judge");
		return;
	}
	bool declares = node->words && declares_names(node->words);
	for (const struct shell_word *word = node->words; word && !w->is_stopped; word = word->next) {
		if (declares && word->name_n)
			assigns++;
		else
			expand_word(w, word, &argv);
	}
	for (size_t i = 0; i < run->extra_n; i++) {
		struct word x = run->extra[i];
		x.at = run->node->at; /* it stands in another text */
		word_push(w, &argv, x);
	}
	for (const struct shell_word *word = node->assigns; word; word = word->next)
		assigns++;
	eval_redirs(w, node->redirs, &c);
	c.argv = argv.v;
	c.argc = argv.n;
	struct change *before = NULL;
	if (assigns) {
		before = arena_zalloc(w->a, assigns, sizeof(*before));
		c.assigns = arena_zalloc(w->a, assigns, sizeof(*c.assigns));
		assign_all(w, node->assigns, &c, before, false);
		if (declares)
			assign_all(w, node->words, &c, NULL,
				!shell_word_is(node->words, "export") &&
					!shell_word_is(node->words, "readonly"));
	}
	if (w->is_stopped)
		return;
	/* Several possible directories count as a choice, even when no word depends on it: relative
	 * paths do. */
	const struct value *dir = scope_directory(w);
	if (dir->n > 1)
		(void)eval_choose(w, dir, dir->n);
	if (node->words && node->words->next)
		walk_known_process(w, &c, node);
	uint32_t outer = w->step;
	w->step = walk_step_begin(w, &c);
	eval_dispatch(w, &c, !node->words || !node->words->is_plain);
	find_printed_secret(w, &c, node);
	find_late_text(w, &c);
	walk_numbered_input(w, &c);
	walk_step_end(w, outer);
	/* Assignments in front of a command hold for it only; without a command, they stay. */
	for (size_t i = 0; c.argc && node->assigns && i < assigns && before[i].binding; i++)
		scope_set(w, before[i].binding, before[i].before);
	if (c.argc && is_pure_hole(&c.argv[0]) &&
		c.argc > 1) { /* $SUDO rm: the word may not be there at all */
		struct command rest = c;
		rest.argv++;
		rest.argc--;
		w->step = walk_step_begin(w, &rest);
		eval_dispatch(w, &rest, false);
		walk_step_end(w, outer);
	}
	if (eval_redirects_output(&c))
		c.out = (struct feed){ .kind = FEED_EMPTY };
	eval_prints(w, &c.out);
}

/* ---- functions ---- */

/* A variable that a function has made local, and the value to give back at its end. */
struct local {
	struct local *next;
	struct change was;
};

/* Only the first `local` of a name in a frame saves the value; a second one would save the function's
 * own. */
void eval_local(struct walk *w, struct binding *b)
{
	if (!w->frames)
		return;
	for (const struct local *l = w->frames->locals; l; l = l->next)
		if (l->was.binding == b)
			return;
	struct local *l = arena_alloc(w->a, sizeof(*l));
	*l = (struct local){ w->frames->locals, { b, b->now } };
	w->frames->locals = l;
}

/* Walks the body with the call's arguments. A function that calls itself in the background, or on both
 * sides of one pipeline, multiplies without end: a fork bomb. Recursion is followed a few levels only;
 * more would show nothing new. */
static void call_function(struct walk *w, struct command *c, const struct function *fn)
{
	uint32_t active = 0;
	/* The innermost call of the same function that is still running. */
	const struct frame *self = NULL;

	for (const struct frame *f = w->frames; f; f = f->outer)
		if (f->function == fn->node) {
			active++;
			self = self ? self : f;
		}
	if (self && w->background > self->background) {
		walk_effect(w, c, FX_FORK_BOMB, NULL)->tag = "fork.bomb";
		return;
	}
	if (self && w->pipeline) {
		if (self->pipeline == w->pipeline)
			walk_effect(w, c, FX_FORK_BOMB, NULL)->tag = "fork.bomb";
		((struct frame *)self)->pipeline = w->pipeline;
	}
	*fn->was_called = true;
	if (active >= EVAL_MAX_RECURSION || !eval_enter(w))
		return;
	struct frame *frame = arena_alloc(w->a, sizeof(*frame));
	*frame = (struct frame){ .outer = w->frames, .function = fn->node, .background = w->background };
	const struct value *before = scope_variable(w, "@", 1);
	struct value *args = value_new(w, (uint32_t)c->argc - 1, true);
	for (size_t i = 1; i < c->argc; i++) {
		args->items[i - 1] = word_marked(w, &c->argv[i]);
		args->is_open |= is_pure_hole(&c->argv[i]);
	}
	scope_set_variable(w, "@", 1, args);
	w->frames = frame;
	struct feed in = w->in;
	const struct shell_script *script = w->script;
	w->in = c->in;
	w->script = fn->script;
	bool was_dead = w->is_dead;
	eval_capture_begin(w);
	eval_list(w, fn->node->items);
	c->out = eval_capture_end(w);
	w->is_dead = was_dead;
	w->script = script;
	w->in = in;
	for (const struct local *l = frame->locals; l; l = l->next)
		scope_set(w, l->was.binding, l->was.before);
	w->frames = frame->outer;
	scope_set_variable(w, "@", 1, before);
	w->depth--;
	/* Redirections of the call are judged like those of a compound command, when its output is
	 * known. */
	struct command redirs = *c;
	redirs.argc = 0;
	if (redirs.redir_count)
		classify_command(w, &redirs);
}

/* A function defined inside a branch is not certain: the name may also mean a program, and both are
 * judged. */
void eval_define(struct walk *w, const struct shell_node *node)
{
	struct function *fn = arena_zalloc(w->a, 1, sizeof(*fn));

	fn->node = node;
	fn->script = w->script;
	fn->is_certain = w->conditional == 0;
	fn->was_called = arena_zalloc(w->a, 1, sizeof(bool));
	fn->older = w->functions;
	w->functions = fn;
	scope_set(w, scope_binding(w, BIND_FUNCTION, node->name, node->name_n, true), fn);
}

/* Functions nobody called may be called later by whoever reads this text, with any arguments; so their
 * bodies are judged. A body may define further functions, which are then judged too; the number of
 * rounds is limited. */
void eval_uncalled(struct walk *w)
{
	static const char *no_items[1];
	static const struct value anything = { no_items, 0, true, true, false };

	for (uint32_t rounds = 0; w->functions && rounds < 1000 && !w->is_stopped; rounds++) {
		struct function *fn = w->functions;
		w->functions = fn->older;
		if (*fn->was_called || !eval_enter(w))
			continue;
		size_t mark = w->log_n;
		struct frame *frame = arena_alloc(w->a, sizeof(*frame));
		*frame = (struct frame){ .function = fn->node };
		*fn->was_called = true;
		scope_set_variable(w, "@", 1, &anything);
		w->frames = frame;
		w->script = fn->script;
		w->in = (struct feed){ 0 };
		scope_set(w, scope_binding(w, BIND_FUNCTION, fn->node->name, fn->node->name_n, true), fn);
		eval_list(w, fn->node->items);
		w->frames = NULL;
		scope_undo(w, mark);
		w->depth--;
	}
}

/* ---- dispatch ---- */

/* Walks the alias's text, the arguments added to its last command. The alias is hidden meanwhile: as in
 * the shell, it is not expanded inside itself. */
static void run_alias(struct walk *w, struct command *c, struct binding *alias)
{
	const char *text = alias->now;
	const void *before = alias->now;
	struct script_call call = { .text = text,
		.n = strlen(text),
		.at = c->at,
		.via = arena_printf(w->a, "alias %s", alias->name),
		.in_place = true,
		.extra = c->argv + 1,
		.extra_n = c->argc - 1 };

	scope_set(w, alias, NULL); /* not again inside itself */
	eval_text(w, c, &call);
	scope_set(w, alias, before);
}

static void run_program(struct walk *w, struct command *c)
{
	classify_command(w, c);
	outputs_refine(w, c);
}

/* The order is the shell's: alias, function, builtin, program. But an alias or a function that may not
 * be in force does not hide what comes after it: non-interactive shells do not expand aliases, so both
 * meanings are judged. */
void eval_dispatch(struct walk *w, struct command *c, bool is_plain)
{
	if (c->argc == 0) {
		if (c->assign_count || c->redir_count)
			classify_command(w, c);
		c->out = (struct feed){ .kind = FEED_EMPTY };
		return;
	}
	const struct word *head = &c->argv[0];
	if (c->is_argv || head->certainty != CERTAIN) {
		run_program(w, c);
		return;
	}
	struct binding *alias =
		is_plain ? NULL : scope_binding(w, BIND_ALIAS, head->text, head->text_n, false);
	if (alias && alias->now)
		run_alias(w, c, alias);
	struct binding *b = scope_binding(w, BIND_FUNCTION, head->text, head->text_n, false);
	if (b && b->now) {
		const struct function *fn = b->now;
		call_function(w, c, fn);
		if (fn->is_certain)
			return;
	}
	if (!builtin_run(w, c))
		run_program(w, c);
}
