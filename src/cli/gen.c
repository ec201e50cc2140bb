/* gen.c — help, man pages and completion, all from the table, so that none of them can drift. */
#include "cli/gen.h"

#include "cli/opt.h"

#include <string.h>

static bool in_family(const struct cmd *c, const struct family *f)
{
	size_t n = strlen(f->name);

	return strncmp(c->name, f->name, n) == 0 && c->name[n] == ' ';
}

static void usage_words(struct buf *to, const struct cmd *c)
{
	buf_addf(to, "helm %s", c->name);
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (o->is_required)
			buf_addf(to, " --%s %s", o->name, o->value);
	if (c->opts && c->opts->name)
		buf_adds(to, " [options]");
	if (*c->args)
		buf_addf(to, " %s", c->args);
}

void gen_usage(struct buf *to, const struct cmd *c)
{
	buf_adds(to, "usage: ");
	if (c)
		usage_words(to, c);
	else
		buf_adds(to, "helm <command> [<verb>] [options] [arguments] [-- child command ...]");
	buf_addc(to, '\n');
}

static void banner(struct run *r)
{
	static const char *const lines[] = {
		"█  █ █▀▀ █   █▄ ▄█",
		"█▀▀█ █▀▀ █   █ ▀ █",
		"▀  ▀ ▀▀▀ ▀▀▀ ▀   ▀",
	};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		out(r, "%s%s%s\n", paint(r, PAINT_ACCENT), lines[i], paint(r, PAINT_OFF));
	out(r, "%sThe boundary an agent's actions pass through.%s\n\n", paint(r, PAINT_MUTED),
		paint(r, PAINT_OFF));
}

static void help_row(struct run *r, const char *name, const char *help)
{
	out(r, "  %s%-14s%s %s\n", paint(r, PAINT_ACCENT), name, paint(r, PAINT_OFF), help);
}

void gen_overview(struct run *r, bool all)
{
	struct buf usage;

	banner(r);
	buf_init(&usage, r->a);
	gen_usage(&usage, NULL);
	out(r, "%s\ncommands:\n", usage.p);
	for (size_t i = 0; i < command_count; i++) {
		if (strchr(commands[i].name, ' ') || (commands[i].needs & HIDDEN && !all))
			continue;
		help_row(r, commands[i].name, commands[i].help);
	}
	for (size_t i = 0; i < family_count; i++) {
		struct buf verbs;
		buf_init(&verbs, r->a);
		for (size_t k = 0; k < command_count; k++)
			if (in_family(&commands[k], &families[i]))
				buf_addf(&verbs, "%s%s", verbs.n ? ", " : "",
					strchr(commands[k].name, ' ') + 1);
		help_row(r, families[i].name, families[i].help);
		out(r, "  %14s %s%s%s\n", "", paint(r, PAINT_MUTED), verbs.p, paint(r, PAINT_OFF));
	}
	out(r, "\n'helm <command> --help' explains one of them.\n");
}

void gen_family_help(struct run *r, const struct family *f)
{
	out(r, "usage: helm %s <verb> [options] [arguments]\n\n%s\n\nverbs:\n", f->name, f->help);
	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], f))
			help_row(r, strchr(commands[i].name, ' ') + 1, commands[i].help);
	out(r, "\n'helm %s <verb> --help' explains one of them.\n", f->name);
}

static void option_text(struct buf *to, const struct opt *o)
{
	buf_addf(to, "--%s", o->name);
	if (o->kind != OPT_FLAG)
		buf_addf(to, " %s", o->choices ? o->choices : o->value);
}

static void help_options(struct run *r, const struct opt *o)
{
	for (; o && o->name; o++) {
		struct buf left;
		buf_init(&left, r->a);
		option_text(&left, o);
		if (left.n > 26)
			out(r, "  %s%s%s\n  %26s %s", paint(r, PAINT_ACCENT), left.p, paint(r, PAINT_OFF), "",
				o->help);
		else
			out(r, "  %s%-26s%s %s", paint(r, PAINT_ACCENT), left.p, paint(r, PAINT_OFF),
				o->help);
		out(r, "%s\n", o->kind == OPT_LIST ? " (repeatable)" : o->is_required ? " (required)" : "");
	}
}

void gen_help(struct run *r, const struct cmd *c)
{
	struct buf usage;

	buf_init(&usage, r->a);
	gen_usage(&usage, c);
	out(r, "%s\n%s\n", usage.p, c->help);
	if (c->about)
		out(r, "\n%s\n", c->about);
	out(r, "\noptions:\n");
	help_options(r, c->opts);
	help_options(r, opt_globals());
	if (c->examples)
		out(r, "\nexamples:\n%s\n", c->examples);
}

static struct json *options_json(struct arena *a, const struct opt *o)
{
	static const char *const kinds[] = { "flag", "value", "list", "integer" };
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

struct json *gen_json(struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT), *all = json_new(a, JSON_ARRAY);

	json_sets(a, doc, "program", "helm");
	json_sets(a, doc, "version", HELM_VERSION);
	json_set(a, doc, "global_options", options_json(a, opt_globals()));
	for (size_t i = 0; i < command_count; i++) {
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "name", commands[i].name);
		json_sets(a, one, "arguments", commands[i].args);
		json_sets(a, one, "help", commands[i].help);
		if (commands[i].about)
			json_sets(a, one, "about", commands[i].about);
		if (commands[i].examples)
			json_sets(a, one, "examples", commands[i].examples);
		json_setb(a, one, "plumbing", commands[i].needs & HIDDEN);
		if (commands[i].tool)
			json_sets(a, one, "tool", commands[i].tool);
		json_set(a, one, "options", options_json(a, commands[i].opts));
		json_push(a, all, one);
	}
	json_set(a, doc, "commands", all);
	return doc;
}

/* roff: a backslash, and a dot or quote at the start of a line, would be instructions. */
static void roff(struct buf *to, const char *s)
{
	bool at_start = true;

	for (; *s; s++) {
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
		buf_addf(to, "%s.\n",
			o->kind == OPT_LIST	 ? " (repeatable)"
				: o->is_required ? " (required)"
						 : "");
	}
}

static void man_command(struct buf *to, const struct cmd *c)
{
	buf_adds(to, ".SS \"");
	roff(to, c->name);
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

static void man_head(struct buf *to, const char *name, const char *what)
{
	buf_addf(to, ".TH %s 1 \"\" \"helm %s\" \"Helm\"\n.SH NAME\n", name, HELM_VERSION);
	roff(to, name);
	buf_adds(to, " \\- ");
	roff(to, what);
	buf_adds(to, "\n.SH SYNOPSIS\n.B helm\n");
}

static void man_exit_codes(struct buf *to)
{
	static const struct {
		const char *code, *what;
	} rows[] = {
		{ "0", "done; for inspections: nothing wrong" },
		{ "1", "the answer is no, or the operation failed" },
		{ "2", "wrong usage" },
		{ "3", "a gate judged the input not allowed" },
		{ "24", "a person must approve first" },
		{ "25", "denied" },
		{ "26", "the profile is paused" },
		{ "124", "a time limit ran out" },
		{ "126, 127", "the child could not be executed, or was not found" },
		{ "128+n", "the child was ended by signal n" },
	};
	buf_adds(to, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		buf_addf(to, ".TP\n.B %s\n%s.\n", rows[i].code, rows[i].what);
}

static void man_program(struct buf *to)
{
	man_head(to, "helm", "the boundary an agent's actions pass through");
	buf_adds(to,
		"\\fIcommand\\fR [\\fIverb\\fR] [options] [arguments] [\\-\\- \\fIchild command\\fR]\n.SH "
		"DESCRIPTION\n"
		"Helm stands between an AI agent and the machine it works on.  It understands a command "
		"before it runs,\n"
		"decides by profile and policy, lets the kernel enforce that, and records what "
		"happened.\n.SH COMMANDS\n");
	for (size_t i = 0; i < command_count; i++)
		if (!strchr(commands[i].name, ' '))
			man_command(to, &commands[i]);
	for (size_t i = 0; i < family_count; i++) {
		buf_addf(to, ".SS \"%s\"\n", families[i].name);
		roff(to, families[i].help);
		buf_addf(to, ".  See \\fBhelm\\-%s\\fR(1).\n", families[i].name);
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

void gen_man(struct buf *to, const struct family *f)
{
	if (!f) {
		man_program(to);
		return;
	}
	man_head(to, arena_printf(to->a, "helm-%s", f->name), f->help);
	buf_addf(to, "%s \\fIverb\\fR [options] [arguments]\n.SH VERBS\n", f->name);
	for (size_t i = 0; i < command_count; i++)
		if (in_family(&commands[i], f))
			man_command(to, &commands[i]);
	buf_adds(to, ".SH SEE ALSO\n.BR helm (1)\n");
}

/* The scripts ask the program itself, which answers from the table in a millisecond; files are the fallback. */
void gen_completion(struct buf *to, const char *shell)
{
	if (text_eq(shell, "bash"))
		buf_adds(to,
			"# bash completion for helm\n"
			"_helm() {\n"
			"  local IFS=$'\\n'\n"
			"  COMPREPLY=($(compgen -W \"$(helm completion words -- "
			"\"${COMP_WORDS[@]:1:COMP_CWORD}\" "
			"2>/dev/null)\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
			"}\n"
			"complete -o default -F _helm helm\n");
	else if (text_eq(shell, "zsh"))
		buf_adds(to,
			"#compdef helm\n"
			"# zsh completion for helm\n"
			"_helm() {\n"
			"  local -a found\n"
			"  found=(${(f)\"$(helm completion words -- ${words[2,CURRENT]} 2>/dev/null)\"})\n"
			"  if (( $#found )); then compadd -a found; else _files; fi\n"
			"}\n"
			"if [ \"$funcstack[1]\" = \"_helm\" ]; then _helm \"$@\"; else compdef _helm helm; "
			"fi\n");
	else
		buf_adds(to,
			"# fish completion for helm\n"
			"function __helm_words\n"
			"  set -l words (commandline -opc) (commandline -ct)\n"
			"  helm completion words -- $words[2..-1] 2>/dev/null\n"
			"end\n"
			"complete -c helm -a '(__helm_words)'\n");
}

static void offer(struct run *r, const char *word, const char *typed)
{
	if (strncmp(word, typed, strlen(typed)) == 0)
		out(r, "%s\n", word);
}

static void offer_options(struct run *r, const struct opt *o, const char *typed)
{
	for (; o && o->name; o++)
		offer(r, arena_printf(r->a, "--%s", o->name), typed);
}

static void offer_choices(struct run *r, const struct opt *o, const char *typed)
{
	struct bytes rest = bytes_of(o->choices ? o->choices : "");

	while (o->choices && rest.p) {
		struct bytes one = text_cut(&rest, '|');
		offer(r, arena_strndup(r->a, (const char *)one.p, one.n), typed);
	}
}

static const struct cmd *command_named(const char *first, const char *second)
{
	for (size_t i = 0; i < command_count; i++) {
		const char *space = strchr(commands[i].name, ' ');
		if (!space ? text_eq(commands[i].name, first)
			   : second && strlen(first) == (size_t)(space - commands[i].name) &&
					strncmp(commands[i].name, first, strlen(first)) == 0 &&
					text_eq(space + 1, second))
			return &commands[i];
	}
	return NULL;
}

void gen_candidates(struct run *r, char **words, size_t n)
{
	const char *typed = n ? words[n - 1] : "";

	if (n <= 1) {
		for (size_t i = 0; i < command_count; i++)
			if (!strchr(commands[i].name, ' ') && !(commands[i].needs & HIDDEN))
				offer(r, commands[i].name, typed);
		for (size_t i = 0; i < family_count; i++)
			offer(r, families[i].name, typed);
		return;
	}
	const struct cmd *c = command_named(words[0], n > 2 ? words[1] : NULL);
	if (!c) {
		for (size_t i = 0; n == 2 && i < command_count; i++) {
			const char *space = strchr(commands[i].name, ' ');
			if (space && strlen(words[0]) == (size_t)(space - commands[i].name) &&
				strncmp(commands[i].name, words[0], strlen(words[0])) == 0)
				offer(r, space + 1, typed);
		}
		return;
	}
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (o->kind != OPT_FLAG && strncmp(words[n - 2], "--", 2) == 0 &&
			text_eq(words[n - 2] + 2, o->name)) {
			offer_choices(r, o, typed);
			return;
		}
	if (typed[0] == '-') {
		offer_options(r, c->opts, typed);
		offer_options(r, opt_globals(), typed);
	}
}
