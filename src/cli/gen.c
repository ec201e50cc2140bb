/* gen.c — help, man pages and the JSON description of all commands, made from the table, so that none of
 * them can drift from what the program accepts. */
#include "cli/gen.h"

#include "cli/opt.h"
#include "model/command.h"

#include <string.h>

/* Whether a command's first word is the family's name and a second one follows. */
static bool in_family(const struct cmd *c, const struct family *f)
{
	size_t n = strlen(f->name);

	return strncmp(c->is->name, f->name, n) == 0 && c->is->name[n] == ' ';
}

/* Required options are shown, the others are summed up as [options]. */
static void usage_words(struct buf *to, const struct cmd *c)
{
	buf_addf(to, "%s %s", command_program(), c->is->name);
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (o->is_required)
			buf_addf(to, " --%s %s", o->name, o->value);
	if (c->opts && c->opts->name)
		buf_adds(to, " [options]");
	if (*c->args)
		buf_addf(to, " %s", c->args);
}

/* One line; without a command the general form. */
void gen_usage(struct buf *to, const struct cmd *c)
{
	buf_adds(to, "usage: ");
	if (c)
		usage_words(to, c);
	else
		buf_addf(to, "%s <command> [<verb>] [options] [arguments] [-- command ...]",
			command_program());
	buf_addc(to, '\n');
}

/* What people come for, in the order in which they come. */
static const char *const group_help[COMMAND_GROUPS] = {
	[GROUP_START] = "set Helm up, and see that it stands",
	[GROUP_WORK] = "run things inside the boundary, save and go back",
	[GROUP_LOOK] = "what happened, and what would",
	[GROUP_ANSWER] = "what waits for a person",
	[GROUP_PROVE] = "show others, and yourself, that the record is true",
	[GROUP_GOVERN] = "say what is allowed, and who signs for it",
	[GROUP_DOORS] = "answer other programs",
	[GROUP_PLUMBING] = "for scripts, clients and tests",
};

static void banner(struct cli *r)
{
	static const char *const lines[] = {
		"█  █ █▀▀ █   █▄ ▄█",
		"█▀▀█ █▀▀ █   █ ▀ █",
		"▀  ▀ ▀▀▀ ▀▀▀ ▀   ▀",
	};
	static const char *const beside[] = { "", "   The boundary", "   an agent's actions pass through." };
	static const char *const plain[] = { "#  # ### #   #   #", "#### ##  #   ## ##",
		"#  # ### ### # # #" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		out(r, "%s%s%s%s\n", paint(r, PAINT_ACCENT), glyph(r, lines[i], plain[i]),
			paint(r, PAINT_OFF), beside[i]);
	out(r, "\n");
}

enum { HELP_NEEDS = 24 };

/* "margin name help" with the help wrapped below itself. A name that is too long has a line of its own. */
static void help_row(struct cli *r, const char *margin, size_t room, const char *name, const char *help)
{
	size_t n = text_width(name, strlen(name)), indent = strlen(margin);

	out(r, "%s%s%s%s%s%s", paint(r, PAINT_BOLD), margin, paint(r, PAINT_OFF), paint(r, PAINT_ACCENT),
		name, paint(r, PAINT_OFF));
	size_t at = indent + room + 2;
	/* Beside the name there would be hardly a word on a line. */
	if (out_width(r) < at + HELP_NEEDS)
		at = indent + 4, n = room + 1;
	if (n > room)
		out(r, "\n%*s", (int)at, "");
	else
		out(r, "%*s", (int)(room - n + 2), "");
	out_text(r, at, help);
}

/* The length of a command's first word. */
static size_t noun_length(const struct cmd *c)
{
	return strcspn(c->is->name, " ");
}

/* Whether two commands share their first word. */
static bool same_noun(const struct cmd *x, const struct cmd *y)
{
	return noun_length(x) == noun_length(y) && strncmp(x->is->name, y->is->name, noun_length(x)) == 0;
}

/* All commands of one group that share a first word: "checkpoint create|list|restore|...", as far as there
 * is room. */
static char *verbs_of(struct arena *a, const struct cmd *of, size_t room, size_t *ret_count)
{
	struct buf text;
	bool is_cut = false;

	buf_init(&text, a);
	buf_add(&text, of->is->name, noun_length(of));
	*ret_count = 0;
	for (size_t i = 0; i < command_count; i++) {
		const struct cmd *c = commands[i];
		if (c->is->group != of->is->group || !same_noun(c, of))
			continue;
		/* A command of one word shows its arguments in the place of a verb. */
		const char *verb = strchr(c->is->name, ' ') ? strchr(c->is->name, ' ') + 1 : c->args;
		++*ret_count;
		if (!*verb)
			continue; /* it has options only */
		/* Five columns are kept for the separator and "|...". */
		if (is_cut || text.n + strlen(verb) + 5 > room) {
			is_cut = true;
			continue;
		}
		buf_addf(&text, "%c%s", text.n == noun_length(of) ? ' ' : '|', verb);
	}
	if (is_cut)
		buf_adds(&text, *ret_count > 1 && strchr(text.p, ' ') ? "|..." : " ...");
	return text.p;
}

/* The family of a command's first word, or NULL. */
static const struct family *family_of(const struct cmd *c)
{
	for (size_t i = 0; i < family_count; i++)
		if (strlen(families[i].name) == noun_length(c) &&
			strncmp(families[i].name, c->is->name, noun_length(c)) == 0)
			return &families[i];
	return NULL;
}

/* Whether no earlier row of the same group has this first word: the overview shows each once. */
static bool is_first_of_noun(size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (commands[i]->is->group == commands[at]->is->group && same_noun(commands[i], commands[at]))
			return false;
	return true;
}

/* One line per first word, with the name of the group before the first line. */
static void overview_group(struct cli *r, enum command_group g, size_t room)
{
	const char *margin = command_group_name(g);

	for (size_t i = 0; i < command_count; i++) {
		const struct cmd *c = commands[i];
		size_t verbs;
		if (c->is->group != g || !is_first_of_noun(i))
			continue;
		char *name = verbs_of(r->a, c, room, &verbs);
		const struct family *f = verbs > 1 ? family_of(c) : NULL;
		help_row(r, arena_printf(r->a, "%-8s", margin), room, f ? name : c->is->name,
			f ? f->help : c->help);
		margin = "";
	}
}

/* Plumbing is left out: it is for scripts, and --all lists it. */
void gen_overview(struct cli *r)
{
	struct buf usage;
	/* On a narrow screen the names give way to their explanations. */
	size_t room = out_width(r) >= 76 ? 26 : 17;

	banner(r);
	buf_init(&usage, r->a);
	gen_usage(&usage, NULL);
	out_text(r, 7, usage.p);
	out(r, "\n");
	for (int g = 0; g < GROUP_PLUMBING; g++)
		overview_group(r, (enum command_group)g, room);
	out(r, "\n");
	out_text(r, 0, "'helm help NAME' explains a command or a group; 'helm help --all' lists all.");
}

/* Nothing is printed for a group without commands. */
void gen_group_help(struct cli *r, enum command_group g)
{
	bool has_rows = false;

	for (size_t i = 0; i < command_count; i++) {
		if (commands[i]->is->group != g)
			continue;
		if (!has_rows)
			out(r, "%s%s%s: %s\n", paint(r, PAINT_BOLD), command_group_name(g),
				paint(r, PAINT_OFF), group_help[g]);
		has_rows = true;
		help_row(r, "  ", 22, commands[i]->is->name, commands[i]->help);
	}
}

/* Groups without commands leave no empty line. */
void gen_everything(struct cli *r)
{
	for (int g = 0; g < COMMAND_GROUPS; g++) {
		size_t before = r->out->n;
		gen_group_help(r, (enum command_group)g);
		if (r->out->n != before)
			out(r, "\n");
	}
	out_text(r, 0, "'helm help WORD' and 'helm WORD VERB --help' explain one of them.");
}

static void help_verbs(struct cli *r, const struct family *f)
{
	out(r, "\nverbs:\n");
	for (size_t i = 0; i < command_count; i++)
		if (in_family(commands[i], f))
			help_row(r, "  ", 14, strchr(commands[i]->is->name, ' ') + 1, commands[i]->help);
}

void gen_family_help(struct cli *r, const struct family *f)
{
	out(r, "usage: %s %s <verb> [options] [arguments]\n\n%s\n", command_program(), f->name, f->help);
	help_verbs(r, f);
	out(r, "\n");
	out_text(r, 0, arena_printf(r->a, "'helm %s <verb> --help' explains one of them.", f->name));
}

/* "--name VALUE", or the choices in the place of the value. */
static void option_text(struct buf *to, const struct opt *o)
{
	buf_addf(to, "--%s", o->name);
	if (o->kind != OPT_FLAG)
		buf_addf(to, " %s", o->choices ? o->choices : o->value);
}

static const char *option_note(const struct opt *o)
{
	return o->kind == OPT_LIST ? (o->is_required ? " (required, repeatable)" : " (repeatable)")
		: o->is_required   ? " (required)"
				   : "";
}

/* Own and global options look alike; what is required or repeatable is said behind the text. */
static void help_options(struct cli *r, const struct opt *o)
{
	for (; o && o->name; o++) {
		struct buf left;
		buf_init(&left, r->a);
		option_text(&left, o);
		help_row(r, "  ", 26, left.p, arena_printf(r->a, "%s%s", o->help, option_note(o)));
	}
}

/* A command that is also the name of a family lists its verbs, too. */
void gen_help(struct cli *r, const struct cmd *c)
{
	struct buf usage;

	buf_init(&usage, r->a);
	gen_usage(&usage, c);
	out_text(r, 7, usage.p);
	out(r, "\n");
	out_text(r, 0, c->help);
	if (c->about) {
		out(r, "\n");
		out_text(r, 0, c->about);
	}
	out(r, "\noptions:\n");
	help_options(r, c->opts);
	help_options(r, opt_globals());
	if (!strchr(c->is->name, ' ') && family_of(c))
		help_verbs(r, family_of(c));
	if (c->examples)
		out(r, "\nexamples:\n%s\n", called(r->a, c->examples));
}

static struct json *options_json(struct arena *a, const struct opt *o)
{
	static const char *const kinds[] = { [OPT_FLAG] = "flag",
		[OPT_VALUE] = "value",
		[OPT_LIST] = "list",
		[OPT_INT] = "integer",
		[OPT_WORDS] = "words" };
	TABLE_COVERS(kinds, OPT_KINDS);
	struct json *all = json_new(a, JSON_ARRAY);

	for (; o && o->name; o++) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "name", o->name);
		json_sets(a, one, "kind", kinds[o->kind]);
		if (o->value)
			json_sets(a, one, "value", o->value);
		if (o->choices)
			json_sets(a, one, "choices", o->choices);
		json_setb(a, one, "required", o->is_required);
		json_sets(a, one, "help", o->help);
		json_push(a, all, one);
	}
	return all;
}

/* For programs that want to know what there is; the tests compare it with what the program does. */
/* It asks at a terminal, or takes --yes. */
static bool confirms(const struct cmd *c)
{
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (text_eq(o->name, "yes"))
			return true;
	return false;
}

struct json *gen_json(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT), *all = json_new(a, JSON_ARRAY);

	json_sets(a, doc, "program", command_program());
	json_sets(a, doc, "version", HELM_VERSION);
	json_set(a, doc, "global_options", options_json(a, opt_globals()));
	for (size_t i = 0; i < command_count; i++) {
		const struct cmd *c = commands[i];
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "name", c->is->name);
		json_sets(a, one, "class", command_class_name(c->is->class));
		json_sets(a, one, "group", command_group_name(c->is->group));
		json_sets(a, one, "arguments", c->args);
		json_sets(a, one, "help", c->help);
		if (c->about)
			json_sets(a, one, "about", c->about);
		if (c->examples)
			json_sets(a, one, "examples", c->examples);
		json_setb(a, one, "plumbing", c->is->group == GROUP_PLUMBING);
		json_setb(a, one, "document", c->needs & DOCUMENT);
		if (c->is->tool)
			json_sets(a, one, "tool", c->is->tool);
		json_set(a, one, "options", options_json(a, c->opts));
		json_setb(a, one, "confirms", confirms(c));
		json_push(a, all, one);
	}
	json_set(a, doc, "commands", all);
	return doc;
}

/* Text for a man page. A backslash, and a dot or quote at the start of a line, would be instructions; a
 * plain '-' would be typeset as a hyphen that cannot be copied. */
static void roff(struct buf *to, const char *s)
{
	bool at_start = true;

	for (s = called(to->a, s); *s; s++) {
		/* "\&" is nothing that takes no room, but the line no longer starts with the dot. */
		if (at_start && (*s == '.' || *s == '\''))
			buf_adds(to, "\\&");
		if (*s == '\\')
			buf_adds(to, "\\e");
		else if (*s == '-')
			buf_adds(to, "\\-");
		else
			buf_addc(to, *s);
		at_start = *s == '\n';
	}
}

static void man_options(struct buf *to, const struct opt *o)
{
	for (; o && o->name; o++) {
		struct buf left;
		buf_init(&left, to->a);
		option_text(&left, o);
		buf_adds(to, ".TP\n.B ");
		roff(to, left.p);
		buf_addc(to, '\n');
		roff(to, o->help);
		buf_addf(to, "%s.\n", option_note(o));
	}
}

/* One command as a subsection. */
static void man_command(struct buf *to, const struct cmd *c)
{
	buf_adds(to, ".SS \"");
	roff(to, c->is->name);
	buf_adds(to, "\"\n.B ");
	struct buf usage;
	buf_init(&usage, to->a);
	usage_words(&usage, c);
	roff(to, usage.p);
	buf_adds(to, "\n.PP\n");
	roff(to, c->help);
	buf_adds(to, ".\n");
	if (c->about) {
		buf_adds(to, ".PP\n");
		roff(to, c->about);
		buf_addc(to, '\n');
	}
	man_options(to, c->opts);
	if (c->examples) {
		buf_adds(to, ".PP\nExamples:\n.PP\n.nf\n");
		roff(to, c->examples);
		buf_adds(to, "\n.fi\n");
	}
}

/* The date is left empty, so that a page depends on nothing but the version. */
static void man_head(struct buf *to, const char *name, const char *what)
{
	buf_addf(to, ".TH %s 1 \"\" \"helm %s\" \"Helm\"\n.SH NAME\n", name, HELM_VERSION);
	roff(to, name);
	buf_adds(to, " \\- ");
	roff(to, what);
	buf_addf(to, "\n.SH SYNOPSIS\n.B %s\n", command_program());
}

/* The meaning of exit codes is the same for every command. */
static void man_exit_codes(struct buf *to)
{
	static const struct {
		const char *code, *what;
	} rows[] = {
		{ "0", "done; for inspections: nothing wrong" },
		{ "1", "the answer is no, or the operation failed; also when memory, stack, descriptors, the size of a file or processor time ran out" },
		{ "2", "wrong usage; in a hook before a call: blocked, whatever went wrong" },
		{ "3", "a gate judged the input not allowed" },
		{ "24", "a person must approve first" },
		{ "25", "denied" },
		{ "26", "the profile is paused" },
		{ "124", "a time limit ran out" },
		{ "126, 127",
			"the child could not be executed (also when no process can be started), or was not found" },
		{ "128+n", "the child was ended by signal n" },
	};
	buf_adds(to, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		buf_addf(to, ".TP\n.B %s\n%s.\n", rows[i].code, rows[i].what);
}

/* The page of the program holds the one-word commands and points to the pages of the families. */
static void man_program(struct buf *to)
{
	man_head(to, command_program(), "the boundary an agent's actions pass through");
	buf_adds(to,
		"\\fIcommand\\fR [\\fIverb\\fR] [options] [arguments] [\\-\\- \\fIchild command\\fR]\n.SH "
		"DESCRIPTION\n"
		"Helm stands between an AI agent and the machine it works on.  It understands a command "
		"before it runs,\n"
		"decides by profile and policy, lets the kernel enforce that, and records what "
		"happened.\n.SH COMMANDS\n");
	for (size_t i = 0; i < command_count; i++)
		if (!strchr(commands[i]->is->name, ' '))
			man_command(to, commands[i]);
	for (size_t i = 0; i < family_count; i++) {
		buf_addf(to, ".SS \"%s\"\n", families[i].name);
		roff(to, families[i].help);
		buf_addf(to, ".  See \\fB%s\\-%s\\fR(1).\n", command_program(), families[i].name);
	}
	buf_adds(to, ".SH OPTIONS OF ALL COMMANDS\n");
	man_options(to, opt_globals());
	buf_adds(to,
		".SH ENVIRONMENT\n.TP\n.B HELM_WORKSPACE\nThe workspace, when \\-\\-path is not "
		"given.\n.TP\n.B HELM_HOME\n"
		"Where keys and trust live; default ~/.helm.\n.TP\n.B HELM_GUARD_MODE\nenforce, audit or "
		"off.\n"
		".TP\n.B NO_COLOR, TERM=dumb\nNo colour.\n");
	man_exit_codes(to);
}

/* Without a family the page of the program. */
void gen_man(struct buf *to, const struct family *f)
{
	if (!f) {
		man_program(to);
		return;
	}
	man_head(to, arena_printf(to->a, "%s-%s", command_program(), f->name), f->help);
	buf_addf(to, "%s \\fIverb\\fR [options] [arguments]\n.SH VERBS\n", f->name);
	for (size_t i = 0; i < command_count; i++)
		if (in_family(commands[i], f))
			man_command(to, commands[i]);
	buf_addf(to, ".SH SEE ALSO\n.BR %s (1)\n", command_program());
}

/* The right words for a wrong one: the same verb of some family ("restore": 'checkpoint restore'),
 * otherwise what is spelled most alike. NULL when nothing is. */
const char *gen_suggestion(struct cli *r, const struct family *f, const char *word)
{
	const char **names = arena_zalloc(r->a, command_count + family_count, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < command_count; i++) {
		const char *name = commands[i]->is->name, *space = strchr(name, ' ');
		if (!f && space && text_eq(space + 1, word))
			return name;
		if (f && space && strncmp(name, f->name, strlen(f->name)) == 0 &&
			name[strlen(f->name)] == ' ')
			names[n++] = space + 1;
		else if (!f && !space)
			names[n++] = name;
	}
	for (size_t i = 0; !f && i < family_count; i++)
		names[n++] = families[i].name;
	const char *near = text_nearest(word, names, n);
	return near && f ? arena_printf(r->a, "%s %s", f->name, near) : near;
}
