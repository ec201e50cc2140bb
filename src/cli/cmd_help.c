/* cmd_help.c — help, version, completion: what the program knows about itself.
 *
 * Everything is made from the command table (gen.c), so that help, man pages and completion cannot
 * disagree with what the program accepts. */
#include "cli/cmd.h"

#include "base/text.h"
#include "cli/gen.h"
#include "kernel/kernel.h"
#include "model/command.h"

#include <string.h>

const struct opt help_opts[] = {
	{ "all", OPT_FLAG, NULL, "list the plumbing commands too", NULL, false },
	{ "families", OPT_FLAG, NULL, "print only the names of families, one a line", NULL, false },
	{ "man", OPT_FLAG, NULL, "print the man page, of helm or of the named family", NULL, false },
	{ 0 },
};

static const struct family *family_named(const char *name)
{
	for (size_t i = 0; i < family_count; i++)
		if (text_eq(families[i].name, name))
			return &families[i];
	return NULL;
}

/* A topic is a command, a family of commands, or a group, in this order. */
static int help_topic(struct cli *r, struct err *e)
{
	const struct family *f = family_named(r->args[0]);
	const char *name =
		r->arg_count > 1 ? arena_printf(r->a, "%s %s", r->args[0], r->args[1]) : r->args[0];

	for (size_t i = 0; i < command_count; i++)
		if (text_eq(commands[i]->is->name, name)) {
			gen_help(r, commands[i]);
			return 0;
		}
	if (f && r->arg_count == 1) {
		gen_family_help(r, f);
		return 0;
	}
	/* Groups are tried last: their names are plain words that a command may have as well. */
	for (int g = 0; g < COMMAND_GROUPS && r->arg_count == 1; g++)
		if (text_eq(command_group_name((enum command_group)g), name)) {
			gen_group_help(r, (enum command_group)g);
			return 0;
		}
	const char *near = gen_suggestion(r, NULL, r->args[0]);
	return err_set(e, E_INPUT, "HELP_TOPIC",
		"no command is called '%s'; %s%s%s'helm help --all' lists them", name,
		near ? "did you mean '" : "", near ? near : "", near ? "'?  " : "");
}

/* The forms exclude each other; the first that is asked for wins. */
int cmd_help(struct cli *r, struct err *e)
{
	if (r->is_json) {
		out_json(r, gen_json(r->a));
		return 0;
	}
	if (opt_flag(r, "families")) {
		for (size_t i = 0; i < family_count; i++)
			out(r, "%s\n", families[i].name);
		return 0;
	}
	if (opt_flag(r, "man")) {
		const struct family *f = r->arg_count ? family_named(r->args[0]) : NULL;
		if (r->arg_count && !f)
			return err_set(e, E_INPUT, "HELP_TOPIC", "no family is called '%s'", r->args[0]);
		r->is_document = true;
		gen_man(r->out, f);
		return 0;
	}
	if (r->arg_count)
		return help_topic(r, e);
	if (opt_flag(r, "all"))
		gen_everything(r);
	else
		gen_overview(r);
	return 0;
}

/* "words" is what the completion scripts call: it prints the candidates for a line that is being typed. */
int cmd_completion(struct cli *r, struct err *e)
{
	if (r->arg_count && text_eq(r->args[0], "words")) {
		gen_candidates(r, r->child, r->child_count);
		return 0;
	}
	if (!r->arg_count ||
		(!text_eq(r->args[0], "bash") && !text_eq(r->args[0], "zsh") && !text_eq(r->args[0], "fish")))
		return err_set(e, E_USAGE, "COMPLETION_SHELL", "name the shell: bash, zsh or fish");
	gen_completion(r->out, r->args[0]);
	return 0;
}

/* As JSON also what the program is made of and what the kernel offers. */
int cmd_version(struct cli *r, struct err *e)
{
	(void)e;
	if (!r->is_json) {
		out(r, "%s %s\n", command_program(), HELM_VERSION);
		return 0;
	}
	out_json(r, kernel_about(r->sys, r->a));
	return 0;
}
