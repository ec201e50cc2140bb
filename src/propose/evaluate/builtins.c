/* builtins.c — the shell's own commands that change what is known: variables, directory, aliases,
 * functions, input.
 *
 * These commands are kept from the knowledge of programs, because their effect is on the evaluator's own
 * state: after `cd /` every relative path means something else. Each handler first adds the effects of
 * its assignments and redirections (effects_only) and then changes the state. What a handler cannot
 * follow it sets to unknown, never leaves as it was. The bytes \1 and \2 in texts are markers:
 * "anything", and "anything but nothing" (evaluate.h). */
#include "propose/evaluate/evaluate.h"

#include "base/file.h"

/* Adds the effects of assignments and redirections, as if of a command without words that prints this. The builtin itself
 * prints nothing, unless its handler says otherwise afterwards. */
static void effects_with(struct walk *w, struct command *c, struct feed out)
{
	struct command rest = *c;

	rest.argc = 0;
	rest.out = out;
	if (rest.assign_count || rest.redir_count)
		classify_command(w, &rest);
	c->out = (struct feed){ .kind = FEED_EMPTY };
}

static void effects_only(struct walk *w, struct command *c)
{
	effects_with(w, c, (struct feed){ .kind = FEED_UNKNOWN });
}

static bool is_option(const struct word *x)
{
	return x->known_n > 1 && x->text[0] == '-';
}

/* ---- assignments ---- */

/* The elements of name=( ... ). With [index]= in it, places are no longer what the order says. */
static const struct value *elements_of(struct walk *w, const struct shell_word *first)
{
	struct word_list list = { 0 };
	bool is_keyed = false;

	for (const struct shell_word *e = first; e && !w->is_stopped; e = e->next) {
		if (e->value_skip && e->index) {
			is_keyed = true;
			const char *text = expand_text(w, e, e->value_skip);
			word_push(w, &list, word_of_marked(w, text, strlen(text), SIZE_MAX, e->at));
		} else {
			expand_word(w, e, &list);
		}
	}
	struct value *v = value_new(w, (uint32_t)list.n, true);
	for (size_t i = 0; i < list.n; i++)
		v->items[i] = word_marked(w, &list.v[i]);
	v->is_keyed = is_keyed;
	return v;
}

/* All elements of both, in order. When the first may have more elements than are known, places are not
 * certain. */
static const struct value *joined_arrays(struct walk *w, const struct value *x, const struct value *y)
{
	struct value *v = value_new(w, x->n + y->n, true);

	memcpy(v->items, x->items, x->n * sizeof(*v->items));
	memcpy(v->items + x->n, y->items, y->n * sizeof(*v->items));
	v->is_open = x->is_open || y->is_open;
	v->is_keyed = x->is_keyed || y->is_keyed || x->is_open;
	w->bytes += v->n * sizeof(*v->items);
	return v;
}

/* name[index]=text. When the place is not known, the old elements stay in view beside the new one, so
 * that nothing possible is lost. */
static const struct value *with_element(
	struct walk *w, const struct value *old, const char *index, const char *text)
{
	int64_t i;
	const struct value *one = value_text(w, text);

	if (!old->is_array)
		old = value_new(w, 0, true);
	bool is_known =
		!old->is_keyed && !has_mark(index) && arith_eval(w, index, &i) && i >= 0 && i <= old->n;
	struct value *v =
		(struct value *)joined_arrays(w, old, is_known && i < old->n ? value_new(w, 0, true) : one);
	if (is_known)
		v->items[i] = text;
	else
		v->is_keyed = true;
	return v;
}

/* Makes one assignment of the grammar, and describes it for the effects. An appended text joins the
 * chosen value. */
void builtin_assign(struct walk *w, const struct shell_word *word, struct assignment *ret)
{
	const char *name = arena_strndup(w->a, word->first->text, word->name_n);
	const struct value *old = scope_variable(w, name, word->name_n), *v;
	const char *text = "";

	if (word->is_array) {
		v = elements_of(w, word->elements);
		if (word->is_append)
			v = joined_arrays(w, old->is_array ? old : value_new(w, 0, true), v);
		text = v->n ? v->items[0] : "";
	} else {
		text = expand_text(w, word, word->value_skip);
		if (word->index) {
			v = with_element(w, old, expand_text(w, word->index, 0), text);
		} else {
			if (word->is_append && old->n && !old->is_array) {
				const char *before = old->items[eval_choose(w, old, old->n)];
				text = text_keep(w, arena_printf(w->a, "%s%s", before, text),
					strlen(before) + strlen(text));
			}
			v = value_text(w, text);
		}
	}
	if (word->index && (text_eq(name, "BASH_ALIASES") || text_eq(name, "BASH_CMDS"))) {
		const char *of = expand_text(w, word->index, 0);
		scope_set(w, scope_binding(w, BIND_ALIAS, of, strlen(of), true), text);
	}
	*ret = (struct assignment){ .name = name,
		.value = word_of_marked(w, text, strlen(text), SIZE_MAX, word->at),
		.is_append = word->is_append };
	scope_set_variable(w, name, word->name_n, v);
}

/* Makes an assignment that came as an ordinary word, such as an argument of export. */
static bool assign_word(struct walk *w, const struct word *x)
{
	const char *marked = word_marked(w, x), *equals = strchr(marked, '=');

	if (!equals || equals == marked)
		return false;
	scope_set_variable(w, marked, (size_t)(equals - marked), value_text(w, equals + 1));
	return true;
}

/* declare, export, local, readonly, typeset. Alone or with -p they print all variables, which may hold
 * credentials. */
static void run_declare(struct walk *w, struct command *c)
{
	bool prints = c->argc == 1 && !c->assign_count, names = false, keys = false, all = true;

	for (size_t i = 1; i < c->argc; i++) {
		prints |= is_option(&c->argv[i]) &&
			(strchr(c->argv[i].text, 'p') || (c->argc == 2 && strchr(c->argv[i].text, 'x')));
		names |= is_option(&c->argv[i]) && strchr(c->argv[i].text, 'n');
		keys |= is_option(&c->argv[i]) && strchr(c->argv[i].text, 'A');
		all &= is_option(&c->argv[i]);
		if (is_option(&c->argv[i]) || assign_word(w, &c->argv[i]))
			continue;
		if (keys && c->argv[i].certainty == CERTAIN && !strchr(c->argv[i].text, '=')) {
			struct value *v = value_new(w, 0, true);
			v->is_keyed = true;
			scope_set_variable(w, c->argv[i].text, c->argv[i].text_n, v);
			continue;
		}
		if (text_eq(c->argv[0].text, "local") && c->argv[i].certainty == CERTAIN) {
			eval_local(
				w, scope_binding(w, BIND_VARIABLE, c->argv[i].text, c->argv[i].text_n, true));
			scope_set_variable(w, c->argv[i].text, c->argv[i].text_n, value_text(w, ""));
		}
	}
	const struct feed every = { .kind = FEED_UNKNOWN, .below = FEED_ENVIRONMENT };
	effects_with(w, c, prints && all ? every : (struct feed){ .kind = FEED_UNKNOWN });
	if (names) /* one variable under two names: what it holds is not followed */
		walk_effect(w, c, FX_DYNAMIC_EXEC, NULL)->tag = "dynamic.text";
	if (prints) {
		walk_effect(w, c, FX_CREDENTIAL, NULL)->tag = "credential.environment";
		c->out = every;
	}
}

/* unset 'a[1]': one element less, and the others keep their places; which one is gone is not followed. */
static void unset_element(struct walk *w, const char *text)
{
	size_t n = strcspn(text, "[");
	const struct value *old = scope_variable(w, text, n);

	if (!old->is_array)
		return;
	struct value *v = (struct value *)joined_arrays(w, old, value_new(w, 0, true));
	v->is_keyed = true;
	scope_set_variable(w, text, n, v);
}

/* Unsets variables and functions. Taking away what marks a governed process, or the shell's history
 * file, is an effect. */
static void run_unset(struct walk *w, struct command *c)
{
	bool functions = false, variables = false;

	for (size_t i = 1; i < c->argc; i++) {
		const struct word *x = &c->argv[i];
		if (is_option(x)) {
			functions |= strchr(x->text, 'f') != NULL;
			variables |= strchr(x->text, 'v') != NULL;
			continue;
		}
		if (x->certainty != CERTAIN)
			continue;
		struct binding *b = scope_binding(w, BIND_FUNCTION, x->text, x->text_n, false);
		/* Variables that mark a governed process, and the place of a shell's history, are not a
		 * command's to take away. */
		if (text_starts(x->text, "HELM_") || text_starts(x->text, "OPENCLAW_"))
			walk_effect(w, c, FX_TAMPER, x)->tag = "tamper.variable";
		else if (text_eq(x->text, "HISTFILE"))
			walk_effect(w, c, FX_DELETE, NULL)->tag = "delete.history";
		if (!functions && strchr(x->text, '['))
			unset_element(w, x->text);
		else if (!functions)
			scope_set_variable(w, x->text, x->text_n, NULL);
		if (b && !variables)
			scope_set(w, b, NULL);
	}
	effects_only(w, c);
}

/* Makes the words from `from` on the positional arguments. An unquoted unknown word may be any number of
 * words. */
static void set_arguments(struct walk *w, const struct command *c, size_t from)
{
	struct value *v = value_new(w, (uint32_t)(c->argc - from), true);

	for (size_t i = from; i < c->argc; i++) {
		v->items[i - from] = word_marked(w, &c->argv[i]);
		v->is_open |= c->argv[i].certainty == DYNAMIC && !c->argv[i].is_quoted;
	}
	scope_set_variable(w, "@", 1, v);
}

/* Alone it prints every variable; otherwise its options are skipped, and what follows them are the
 * arguments. */
static void run_set(struct walk *w, struct command *c)
{
	size_t i = 1;

	if (c->argc == 1) {
		const struct feed every = { .kind = FEED_UNKNOWN, .below = FEED_ENVIRONMENT };
		effects_with(w, c, every);
		walk_effect(w, c, FX_CREDENTIAL, NULL)->tag = "credential.environment";
		c->out = every;
		return;
	}
	effects_only(w, c);
	for (; i < c->argc && (is_option(&c->argv[i]) || c->argv[i].text[0] == '+'); i++) {
		if (text_eq(c->argv[i].text, "--")) {
			set_arguments(w, c, i + 1);
			return;
		}
		size_t n = c->argv[i].text_n;
		if (n > 1 && c->argv[i].text[n - 1] == 'o') {
			i++;
			if (i < c->argc && c->argv[i - 1].text[0] == '+' &&
				text_eq(c->argv[i].text, "history"))
				walk_effect(w, c, FX_DELETE, NULL)->tag = "delete.history";
		}
	}
	if (i < c->argc)
		set_arguments(w, c, i);
}

/* When it is not known how many are shifted, all stay in view without their places. */
static void run_shift(struct walk *w, struct command *c)
{
	const struct value *v = scope_variable(w, "@", 1);
	int64_t n = 1;
	bool is_known = c->argc == 1 || (c->argv[1].certainty == CERTAIN && text_int(c->argv[1].text, &n));

	effects_only(w, c);
	/* To shift more arguments than there are is an error in the shell and shifts nothing. */
	if (is_known && (n <= 0 || (n > v->n && !v->is_open)))
		return;
	is_known &= n <= v->n && !v->is_keyed;
	uint32_t gone = is_known ? (uint32_t)n : 0;
	struct value *rest = value_new(w, v->n - gone, true);
	if (rest->n)
		memcpy(rest->items, v->items + gone, rest->n * sizeof(*rest->items));
	/* How often a loop has shifted is not known; the merge of its rounds keeps what each of them
	 * left. */
	rest->is_open = v->is_open;
	rest->is_keyed = !is_known;
	scope_set_variable(w, "@", 1, rest);
}

/* ---- input ---- */

/* Gives the fields of one line to the names in turn; the last name gets the rest. Each line of the input
 * is one possibility, since read may stand in a loop. */
static void read_line(struct walk *w, const char *line, size_t n, const struct word *names, size_t count,
	const struct value **values)
{
	const struct value *ifs_value = scope_variable(w, "IFS", 3);
	const char *ifs = ifs_value->n == 1 && !has_mark(ifs_value->items[0]) ? ifs_value->items[0] : " \t\n";
	const char *p = text_keep(w, line, n);

	(void)names;
	for (size_t i = 0; i < count; i++) {
		p += strspn(p, ifs);
		size_t len = i + 1 == count ? strlen(p) : strcspn(p, ifs);
		while (i + 1 == count && len > 0 && strchr(ifs, p[len - 1]))
			len--;
		const struct value *v = value_text(w, arena_strndup(w->a, p, len));
		values[i] = values[i] ? value_union(w, values[i], v) : v;
		p += len;
	}
}

/* A variable that gets its value from input: one that the shell runs or expands is judged as if it were assigned. */
static void set_late(struct walk *w, struct command *c, const char *name, const struct value *v)
{
	struct command assigns = { .source = c->source, .at = c->at, .flags = c->flags };
	struct assignment *list = arena_zalloc(w->a, v->n + 1, sizeof(*list));

	scope_set_variable(w, name, strlen(name), v);
	for (uint32_t i = 0; i < v->n; i++)
		list[i] = (struct assignment){ .name = name,
			.value = word_of_marked(w, v->items[i], strlen(v->items[i]), SIZE_MAX, c->at) };
	assigns.assigns = list;
	assigns.assign_count = v->n;
	classify_command(w, &assigns);
}

/* With known input the variables may be any of its lines; otherwise they are as unknown as the input is
 * bad. */
static void run_read(struct walk *w, struct command *c)
{
	static const struct word reply = { .text = "REPLY", .text_n = 5, .known_n = 5 };
	bool is_array = false;
	size_t i = 1;

	effects_only(w, c);
	for (; i < c->argc && is_option(&c->argv[i]); i++) {
		const char *o = c->argv[i].text;
		char last = o[strlen(o) - 1];
		is_array |= strchr(o, 'a') != NULL && o[1] != '-';
		if (strchr("pdntuiN", last) && o[1] != '-')
			i++;
	}
	const struct word *names = i < c->argc ? &c->argv[i] : &reply;
	size_t count = i < c->argc ? c->argc - i : 1;
	const struct value **values = arena_zalloc(w->a, count, sizeof(*values));
	if (c->in.kind == FEED_KNOWN && !is_array) {
		size_t lines = 0;
		for (size_t from = 0; from < c->in.n && lines++ < EVAL_MAX_ALTERNATIVES && !w->is_stopped;) {
			const char *newline = memchr(c->in.text + from, '\n', c->in.n - from);
			size_t end = newline ? (size_t)(newline - c->in.text) : c->in.n;
			read_line(w, c->in.text + from, end - from, names, count, values);
			from = end + 1;
		}
	}
	const char *other = mark_of_feed(w,
		&(struct feed){
			.kind = c->in.kind == FEED_KNOWN ? FEED_UNKNOWN : c->in.kind, .below = c->in.below });
	for (size_t k = 0; k < count; k++)
		if (names[k].certainty == CERTAIN)
			set_late(w, c, names[k].text,
				values[k] ? values[k] : value_text(w, *other ? other : "\1"));
}

/* How running a text of this origin is called. */
static const char *tag_of(enum origin o, enum effect_kind *ret)
{
	enum feed_kind k = feed_kind_of(o);
	*ret = k == FEED_FETCHED ? FX_FETCH_EXEC : k == FEED_DECODED ? FX_DECODE_EXEC : FX_DYNAMIC_EXEC;
	return k == FEED_FETCHED ? "fetch.exec" : k == FEED_DECODED ? "decode.exec" : "dynamic.text";
}

/* Runs a text that a builtin was given; when it is not known, that itself is an effect. */
static void run_given(struct walk *w, struct command *c, const struct word *text, const char *via)
{
	if (text->certainty != CERTAIN && text->origin != ORIGIN_LITERAL) {
		enum effect_kind kind;
		const char *tag = tag_of(text->origin, &kind);
		walk_effect(w, c, kind, text)->tag = tag;
	}
	struct command inner = *c; /* what the text prints is not what the builtin prints */
	walk_text(w, &inner, text, via);
}

/* The value of an option: the rest of its word, or the next word.  `valued` are all letters that take one.  NULL: not there. */
static const struct word *option_value(
	struct walk *w, const struct command *c, const char *valued, char letter)
{
	for (size_t i = 1; i < c->argc && is_option(&c->argv[i]) && !text_eq(c->argv[i].text, "--"); i++)
		for (size_t j = 1; j < c->argv[i].known_n; j++) {
			char found = c->argv[i].text[j];
			if (!strchr(valued, found))
				continue;
			const struct word *value = i + 1 < c->argc ? &c->argv[i + 1] : NULL;
			if (j + 1 < c->argv[i].text_n || c->argv[i].certainty != CERTAIN) {
				struct word *rest = arena_alloc(w->a, sizeof(*rest));
				const char *marked = word_marked(w, &c->argv[i]) + j + 1;
				*rest = word_of_marked(w, marked, strlen(marked), SIZE_MAX, c->argv[i].at);
				value = rest;
			} else {
				i++;
			}
			if (found == letter)
				return value;
			break;
		}
	return NULL;
}

/* complete and compgen: -C is a command, -W is a list that is expanded, commands in it included. */
static void run_complete(struct walk *w, struct command *c)
{
	static const char valued[] = "oAGWFCXPSV";
	const struct word *command = option_value(w, c, valued, 'C'), *list = option_value(w, c, valued, 'W');
	const struct word *names = option_value(w, c, valued, 'G'),
			  *without = option_value(w, c, valued, 'X');

	effects_only(w, c);
	if (command)
		run_given(w, c, command, "complete -C");
	if (without && without->certainty == CERTAIN)
		eval_prompt(w, c, without->text);
	if (list && list->certainty == CERTAIN)
		eval_prompt(w, c, list->text);
	else if (list && list->origin != ORIGIN_LITERAL && !list->known_n)
		walk_effect(w, c, FX_DYNAMIC_EXEC, list)->tag = "dynamic.text";
	c->out = (struct feed){ .kind = FEED_UNKNOWN };
	if (names && paths_selects_secrets(w->at, w->a, names->text))
		c->out.below = names->text;
}

/* mapfile -C: the command is run with the number and the text of a line behind it. */
static void run_callback(struct walk *w, struct command *c, const struct word *callback)
{
	const char *line = "\1";

	if (c->in.kind == FEED_KNOWN)
		line = arena_printf(w->a, "'%.*s'", (int)strcspn(c->in.text, "\n'"), c->in.text);
	struct word text = *callback;
	text.marked = NULL;
	if (callback->certainty == CERTAIN) {
		const char *marked = arena_printf(w->a, "%s 0 %s", callback->text, line);
		text = word_of_marked(w, marked, strlen(marked), SIZE_MAX, callback->at);
		text.origin = ORIGIN_LITERAL;
	}
	run_given(w, c, &text, "mapfile -C");
}

/* bind -x '"key":command', bind '"key":"text\n"': run or typed when somebody presses the key; bind -f reads a file of them. */
static void run_bind(struct walk *w, struct command *c)
{
	bool is_file = option_value(w, c, "mqurfx", 'f') != NULL;

	effects_only(w, c);
	c->out = (struct feed){ .kind = FEED_UNKNOWN };
	if (is_file)
		walk_effect(w, c, FX_DYNAMIC_EXEC, NULL)->tag = "dynamic.text";
	for (size_t i = 1; i < c->argc; i++) {
		const struct word *x = &c->argv[i];
		const char *colon = strstr(x->text, "\":");
		if (x->certainty != CERTAIN || !colon)
			continue;
		const char *from = colon + 2 + strspn(colon + 2, " \"");
		size_t n = strlen(from);
		while (n && (from[n - 1] == '"' || text_ends(arena_strndup(w->a, from, n), "\\n")))
			n -= from[n - 1] == '"' ? 1 : 2;
		struct word text = word_of_marked(w, arena_strndup(w->a, from, n), n, SIZE_MAX, x->at);
		if (strpbrk(text.text, " /;|"))
			run_given(w, c, &text, "bind");
	}
}

/* fc runs commands of the history again, as they are or edited; only -l shows them. */
static void run_fc(struct walk *w, struct command *c)
{
	bool lists = false;
	const struct word *editor = option_value(w, c, "e", 'e');

	for (size_t i = 1; i < c->argc && is_option(&c->argv[i]); i++)
		lists |= strchr(c->argv[i].text, 'l') != NULL;
	effects_only(w, c);
	c->out = (struct feed){ .kind = FEED_UNKNOWN };
	if (editor)
		run_given(w, c, editor, "fc -e");
	if (!lists)
		walk_effect(w, c, FX_DYNAMIC_EXEC, NULL)->tag = "dynamic.text";
}

/* Known input gives the elements, one for each line; otherwise the array may hold anything. */
static void run_mapfile(struct walk *w, struct command *c)
{
	const struct word *name = &c->argv[c->argc - 1];
	struct value *v = value_new(w, EVAL_MAX_ALTERNATIVES, true);

	const struct word *callback = option_value(w, c, "dnOsuCc", 'C');

	effects_only(w, c);
	if (callback)
		run_callback(w, c, callback);
	v->n = 0;
	v->is_open = c->in.kind != FEED_KNOWN;
	for (size_t from = 0; c->in.kind == FEED_KNOWN && from < c->in.n && v->n < EVAL_MAX_ALTERNATIVES;) {
		const char *newline = memchr(c->in.text + from, '\n', c->in.n - from);
		size_t end = newline ? (size_t)(newline - c->in.text) : c->in.n;
		v->items[v->n++] = text_keep(w, c->in.text + from, end - from);
		from = end + 1;
	}
	if (feed_names_secrets(&c->in))
		v->items[v->n++] = mark_of_feed(w, &c->in);
	if (c->argc > 1 && !is_option(name) && name->certainty == CERTAIN)
		scope_set_variable(w, name->text, name->text_n, v);
}

/* Which option comes is not followed; its name is never empty, its argument may be. */
static void run_getopts(struct walk *w, struct command *c)
{
	effects_only(w, c);
	if (c->argc > 2 && c->argv[2].certainty == CERTAIN)
		scope_set_variable(w, c->argv[2].text, c->argv[2].text_n, value_text(w, "\2"));
	scope_set_variable(w, "OPTARG", 6, value_text(w, "\1"));
}

/* Evaluated for its assignments. */
static void run_let(struct walk *w, struct command *c)
{
	int64_t value;

	effects_only(w, c);
	for (size_t i = 1; i < c->argc; i++)
		if (c->argv[i].certainty == CERTAIN ||
			(c->argv[i].is_glob && c->argv[i].origin == ORIGIN_LITERAL))
			(void)arith_eval(w, c->argv[i].text, &value);
}

/* ---- directory ---- */

/* Without a word to HOME, with "-" back to where it was before. A directory that is not known makes
 * relative paths unknown. */
static void change_directory(struct walk *w, struct command *c, const struct word *to)
{
	const struct value *v = NULL;

	if (!to)
		v = scope_variable(w, "HOME", 4);
	else if (to->certainty == CERTAIN && text_eq(to->text, "-"))
		v = scope_variable(w, "OLDPWD", 6);
	if (v)
		scope_set_directory(w, v->n ? v : value_text(w, "\1"));
	else
		walk_set_cwd(w, c, to);
}

static const struct word *directory_operand(const struct command *c)
{
	size_t i = 1;

	while (i < c->argc && is_option(&c->argv[i]) && c->argv[i].certainty == CERTAIN) {
		i++;
		if (text_eq(c->argv[i - 1].text, "--"))
			break;
	}
	return i < c->argc ? &c->argv[i] : NULL;
}

/* With -P ".." goes up from where a link leads, which is not followed here. */
static void run_cd(struct walk *w, struct command *c)
{
	const struct word *to = directory_operand(c);
	bool is_physical = false;

	for (size_t i = 1; i < c->argc && is_option(&c->argv[i]); i++)
		is_physical |= strchr(c->argv[i].text, 'P') != NULL;
	effects_only(w, c);
	if (is_physical && to && strstr(to->text, ".."))
		scope_set_directory(w, value_text(w, "\1"));
	else
		change_directory(w, c, to);
}

/* +N and -N rotate the stack, which is not followed: then the directory is unknown. */
static void run_pushd(struct walk *w, struct command *c)
{
	const struct word *to = directory_operand(c);

	effects_only(w, c);
	if (w->directory_count == w->directory_cap) {
		size_t cap = w->directory_cap ? w->directory_cap * 2 : 4;
		w->directories = arena_grow(w->a, w->directories, w->directory_cap * sizeof(*w->directories),
			cap * sizeof(*w->directories));
		w->directory_cap = cap;
	}
	const struct value *before = scope_directory(w);
	if (to && to->certainty == CERTAIN && to->text[0] != '+' && to->text[0] != '-')
		change_directory(w, c, to);
	else
		scope_set_directory(w, value_text(w, "\1"));
	w->directories[w->directory_count++] = before;
}

static void run_popd(struct walk *w, struct command *c)
{
	effects_only(w, c);
	if (w->directory_count && c->argc == 1)
		scope_set_directory(w, w->directories[--w->directory_count]);
	else
		scope_set_directory(w, value_text(w, "\1"));
}

/* ---- texts ---- */

/* Runs the words from `from` on, joined by blanks, as a text. When part of it is not known, that itself
 * is an effect; what is known is walked all the same. */
static void run_words(struct walk *w, struct command *c, size_t from, const char *via, bool in_place)
{
	struct buf b;
	enum origin worst = ORIGIN_LITERAL;
	bool is_certain = true;

	buf_init(&b, w->a);
	for (size_t i = from; i < c->argc; i++) {
		if (i > from)
			buf_addc(&b, ' ');
		buf_adds(&b, word_marked(w, &c->argv[i]));
		worst = c->argv[i].origin > worst ? c->argv[i].origin : worst;
		is_certain &= c->argv[i].certainty == CERTAIN || c->argv[i].origin == ORIGIN_LITERAL;
	}
	if (!is_certain) {
		enum effect_kind kind;
		const char *tag = tag_of(worst, &kind);
		walk_effect(w, c, kind, &c->argv[from])->tag = tag;
		walk_sources(w, c, -1);
	}
	struct span at = from < c->argc ? c->argv[from].at : c->at;
	eval_text(w, c,
		&(struct script_call){ .text = b.p, .n = b.n, .at = at, .via = via, .in_place = in_place });
}

/* The text runs in place: what it sets remains. */
static void run_eval(struct walk *w, struct command *c)
{
	size_t from = 1;

	effects_only(w, c);
	if (from < c->argc && text_eq(c->argv[from].text, "--"))
		from++;
	if (from < c->argc)
		run_words(w, c, from, "eval", true);
}

/* The text runs later, at a signal or at the end; it is judged at once, and what it sets does not
 * remain. */
static void run_trap(struct walk *w, struct command *c)
{
	size_t i = 1;

	effects_only(w, c);
	if (i < c->argc && text_eq(c->argv[i].text, "--"))
		i++;
	if (i >= c->argc || is_option(&c->argv[i]) || text_eq(c->argv[i].text, "-") ||
		(c->argv[i].certainty == CERTAIN && !c->argv[i].text_n))
		return;
	struct command text = *c;
	text.argc = i + 1;
	run_words(w, &text, i, "trap", false);
}

static void run_alias(struct walk *w, struct command *c)
{
	effects_only(w, c);
	for (size_t i = 1; i < c->argc; i++) {
		const char *marked = word_marked(w, &c->argv[i]), *equals = strchr(marked, '=');
		if (!equals)
			continue;
		scope_set(
			w, scope_binding(w, BIND_ALIAS, marked, (size_t)(equals - marked), true), equals + 1);
	}
}

static void run_unalias(struct walk *w, struct command *c)
{
	effects_only(w, c);
	for (size_t i = 1; i < c->argc; i++) {
		struct binding *b = scope_binding(w, BIND_ALIAS, c->argv[i].text, c->argv[i].text_n, false);
		if (b)
			scope_set(w, b, NULL);
	}
}

/* hash -p PATH NAME: from now on NAME is PATH. */
static void run_hash(struct walk *w, struct command *c)
{
	effects_only(w, c);
	if (c->argc == 4 && text_eq(c->argv[1].text, "-p"))
		scope_set(w, scope_binding(w, BIND_ALIAS, c->argv[3].text, c->argv[3].text_n, true),
			word_marked(w, &c->argv[2]));
}

/* enable -f loads a builtin from a shared object: code of somebody else, run inside the shell. */
static void run_enable(struct walk *w, struct command *c)
{
	effects_only(w, c);
	if (option_value(w, c, "f", 'f'))
		walk_effect(w, c, FX_ENVIRONMENT, &c->argv[c->argc - 1])->tag = "environment.loader";
}

/* ---- commands in front of commands ---- */

/* Runs the words behind a prefix such as exec or command. Neither aliases nor functions apply to them. */
static void run_rest(struct walk *w, struct command *c, size_t from)
{
	struct command inner = *c;

	inner.argv += from;
	inner.argc -= from;
	w->p->steps[w->step].head = inner.argv[0].certainty == CERTAIN ? inner.argv[0].text : NULL;
	if (inner.argv[0].certainty != CERTAIN || !builtin_run(w, &inner)) {
		classify_command(w, &inner);
		outputs_refine(w, &inner);
	}
	c->out = inner.out;
}

/* exec 3<>/dev/tcp/host/port: the descriptor is remembered, so that a later <&3 is seen as a socket. */
static void note_sockets(struct walk *w, const struct command *c)
{
	for (size_t i = 0; i < c->redir_count; i++) {
		const struct redirect *r = &c->redirs[i];
		if (text_starts(r->target.text, "/dev/tcp/") || text_starts(r->target.text, "/dev/udp/"))
			w->socket_fds |= r->fd >= 0 && r->fd < 64 ? (uint64_t)1 << r->fd : 1;
	}
}

/* With a command it runs that; without one its redirections stay in force for the rest of the shell. */
static void run_exec(struct walk *w, struct command *c)
{
	size_t i = 1;

	for (; i < c->argc && is_option(&c->argv[i]); i++)
		if (text_eq(c->argv[i].text, "-a"))
			i++;
	if (i < c->argc) {
		run_rest(w, c, i);
		return;
	}
	note_sockets(w, c);
	effects_only(w, c);
	w->in = c->in;
}

/* command and builtin: the words behind them, without functions and aliases; "command -v" only asks. */
static bool run_command(struct walk *w, struct command *c)
{
	size_t i = 1;

	for (; i < c->argc && is_option(&c->argv[i]); i++)
		if (strpbrk(c->argv[i].text, "vV"))
			return false;
	if (i >= c->argc)
		effects_only(w, c);
	else
		run_rest(w, c, i);
	return true;
}

/* Behind exit and return nothing more runs in this branch. Its changes are dropped when the branches are
 * merged (fork_cut). */
static void run_exit(struct walk *w, struct command *c)
{
	effects_only(w, c);
	w->is_dead = true;
}

/* printf -v NAME: what it prints goes into the variable. */
static bool run_printf(struct walk *w, struct command *c)
{
	if (c->argc < 4 || !text_eq(c->argv[1].text, "-v") || c->argv[2].certainty != CERTAIN)
		return false;
	struct command inner = *c;
	inner.argv = arena_alloc(w->a, (c->argc - 2) * sizeof(*inner.argv));
	inner.argc = c->argc - 2;
	inner.argv[0] = c->argv[0];
	memcpy(inner.argv + 1, c->argv + 3, (c->argc - 3) * sizeof(*inner.argv));
	classify_command(w, &inner);
	set_late(w, c, c->argv[2].text, value_text(w, mark_of_feed(w, &inner.out)));
	c->out = (struct feed){ .kind = FEED_EMPTY };
	return true;
}

static const struct {
	const char *name;
	void (*run)(struct walk *, struct command *);
} builtins[] = {
	{ "alias", run_alias },
	{ "bind", run_bind },
	{ "cd", run_cd },
	{ "chdir", run_cd },
	{ "compgen", run_complete },
	{ "complete", run_complete },
	{ "declare", run_declare },
	{ "enable", run_enable },
	{ "eval", run_eval },
	{ "exec", run_exec },
	{ "exit", run_exit },
	{ "export", run_declare },
	{ "fc", run_fc },
	{ "getopts", run_getopts },
	{ "hash", run_hash },
	{ "let", run_let },
	{ "local", run_declare },
	{ "mapfile", run_mapfile },
	{ "popd", run_popd },
	{ "pushd", run_pushd },
	{ "read", run_read },
	{ "readarray", run_mapfile },
	{ "readonly", run_declare },
	{ "return", run_exit },
	{ "set", run_set },
	{ "shift", run_shift },
	{ "trap", run_trap },
	{ "typeset", run_declare },
	{ "unalias", run_unalias },
	{ "unset", run_unset },
};

/* command and printf decide themselves whether they are meant; all others are found in the table. */
bool builtin_run(struct walk *w, struct command *c)
{
	const char *name = c->argv[0].text;

	if (text_eq(name, "command") || text_eq(name, "builtin"))
		return run_command(w, c);
	if (text_eq(name, "printf"))
		return run_printf(w, c);
	for (size_t i = 0; i < ARRAY_SIZE(builtins); i++)
		if (builtins[i].name[0] == name[0] && text_eq(builtins[i].name, name)) {
			builtins[i].run(w, c);
			return true;
		}
	return false;
}
