/* main.c — find the row, read the options, open what the row needs, run it, report.
 *
 * This is the only place that turns an error into words on standard error and an exit code (hooks are the
 * exception: their errors are answers). A command returns an error below zero, or its own exit code. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/notice.h"
#include "base/text.h"
#include "cli/gen.h"
#include "cli/opt.h"
#include "kernel/agent/agent.h"
#include "kernel/task/task.h"
#include "kernel/workspace.h"
#include "model/command.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* By this the guard knows the program under any name: as a link, a copy or a second name of its file (src/propose/programs/own.c). */
static const struct {
	Elf64_Nhdr head;
	char owner[(sizeof(COMMAND_NOTE_OWNER) + 3) & ~3u];
} own_note __attribute__((used, aligned(4), section(".note.helm"))) = {
	.head = { .n_namesz = sizeof(COMMAND_NOTE_OWNER), .n_descsz = 0, .n_type = 1 },
	.owner = COMMAND_NOTE_OWNER,
};

/* Most errors are a plain "no"; usage, denial and a needed approval have codes of their own that scripts
 * rely on. */
static int exit_code(int rc)
{
	switch (rc) {
	case E_USAGE:
		return EXIT_USAGE;
	case E_DENIED:
		return EXIT_DENIED;
	case E_ESCALATE:
		return EXIT_APPROVAL;
	default:
		return EXIT_NO;
	}
}

/* Errors carry text from files and arguments, so it is made safe for a terminal first. Under --json the
 * document on standard output says it, too: a program that reads us never gets nothing. */
static int report(struct cli *r, const struct err *e)
{
	const char *text = hint(r, text_safe(r->a, e->text, strlen(e->text), true));
	struct buf line;

	if (r->is_json && r->out->n == 0) {
		struct json *doc = json_new(r->a, JSON_OBJECT), *error = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, error, "code", e->code);
		json_sets(r->a, error, "message", text);
		json_set(r->a, doc, "error", error);
		out_json(r, doc);
	}
	buf_init(&line, r->a);
	if (e->rc == E_USAGE)
		gen_usage(&line, r->cmd);
	buf_addf(&line, "%s: %s\n", command_program(), text);
	out_say(r, line.p, line.n);
	return exit_code(e->rc);
}

/* Where the verb is: options before it are stepped over, and those that take a value take the next word along. */
static size_t verb_at(char *const *argv, size_t argc)
{
	size_t verb = 1;

	while (verb < argc && argv[verb][0] == '-' && !text_eq(argv[verb], "--"))
		verb += strchr(argv[verb], '=') || text_eq(argv[verb], "--json") ||
				text_eq(argv[verb], "--help") || text_eq(argv[verb], "-h")
			? 1
			: 2;
	return verb;
}

/* Two words name a command of a family, one word the others. Options may stand between the two words, so
 * that `helm profile --path W run` works: there --path is the workspace, also for commands where it may be
 * a file. *ret_used says how many words of argv were used up; they are moved to the front. */
static const struct cmd *find_command(struct arena *a, char **argv, size_t argc, size_t *ret_used)
{
	size_t verb = verb_at(argv, argc);

	for (size_t i = 1; i < verb && i < argc; i++)
		if (text_eq(argv[i], "--path") || text_starts(argv[i], "--path="))
			argv[i] = arena_printf(a, "--workspace%s", argv[i] + strlen("--path"));
	const struct helm_command *found = command_find(argv[0], verb < argc ? argv[verb] : NULL, ret_used);
	if (found && *ret_used == 2) {
		char *word = argv[verb];
		memmove(argv + 2, argv + 1, (verb - 1) * sizeof(*argv));
		argv[1] = word;
	}
	return found ? commands[found - command_table] : NULL;
}

static const struct family *find_family(const char *name)
{
	for (size_t i = 0; i < family_count; i++)
		if (text_eq(families[i].name, name))
			return &families[i];
	return NULL;
}

/* A family without a verb shows its verbs, with the exit code of wrong usage unless help was asked for. A verb that there is none of
 * is told, also before --help. */
static int unknown_command(struct cli *r, char **argv, size_t argc)
{
	struct err e = { 0 };
	const struct family *f = find_family(argv[0]);
	size_t verb = verb_at(argv, argc);

	for (size_t i = 1; f && verb >= argc && i < argc; i++)
		if (text_eq(argv[i], "--help") || text_eq(argv[i], "-h")) {
			gen_family_help(r, f);
			out_flush(r);
			return 0;
		}
	if (f && argc < 2) {
		gen_family_help(r, f);
		out_flush(r);
		return EXIT_USAGE;
	}
	/* Of a family the second word is the wrong one. */
	const char *word = f ? argv[verb < argc ? verb : 1] : argv[0], *near = gen_suggestion(r, f, word);
	err_set(&e, E_USAGE, "USAGE_COMMAND", "%s '%s%s%s'; %s%s%s",
		f && verb >= argc ? "there is no verb in" : "unknown command", f ? f->name : "", f ? " " : "",
		word,
		near	    ? "did you mean '"
			: f ? "see 'helm help "
			    : "see 'helm --help",
		near	    ? near
			: f ? f->name
			    : "",
		near ? "'?" : "'");
	return report(r, &e);
}

/* Nothing is opened before the words have been understood. */
static int dispatch(struct cli *r, char **argv, size_t argc)
{
	struct err e = { 0 };
	size_t used = 0;

	r->cmd = find_command(r->a, argv, argc, &used);
	if (!r->cmd)
		return unknown_command(r, argv, argc);
	/* Asked for before the words are judged, so that an error is already said the wanted way. */
	for (size_t i = used; i < argc && !text_eq(argv[i], "--"); i++)
		r->is_json |= text_eq(argv[i], "--json");
	int rc = opt_parse(r, argv + used, argc - used, &e);
	if (rc)
		return report(r, &e);
	if (r->wants_help) {
		gen_help(r, r->cmd);
		out_flush(r);
		return 0;
	}
	rc = workspace_option_open(r, &e);
	if (rc == OK)
		rc = r->cmd->fn(r, &e);
	/* Errors are below zero; anything else is the command's own exit code. */
	if (rc < 0)
		rc = report(r, &e);
	else
		out_flush(r);
	workspace_close(r->ws);
	return rc;
}

/* The file's name is the program's: who installed it beside another helm called it something else.  The twins of the tests are helm, whatever
 * their files are called. */
static void learn_name(struct sys *s)
{
#ifndef HELM_TWIN
	char exe[PATH_MAX];
	ssize_t n = s->readlink(s, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return;
	exe[n] = '\0';
	command_be_called(path_base(exe));
#else
	(void)s;
#endif
}

/* Straight to standard error: it may come while a hook's answer is being made, or from any thread of a server. */
static void print_notice(const char *text)
{
	(void)fprintf(stderr, "%s: note: %s\n", command_program(), text);
}

/* What needs no command (no words, --help, --version) is answered here; everything else goes through the
 * table. */
int main(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;
	struct cli r = { .sys = sys_default(), .a = &a, .out = &text };
	const char *term = r.sys->getenv(r.sys, "TERM");
	const char *no_color = r.sys->getenv(r.sys, "NO_COLOR");

	limits_begin(r.sys);
	notice_to(print_notice);
	learn_name(r.sys);
	/* Most commands need some hundred kilobytes and end: memory is taken from the heap in one piece and
	 * left to the end of the process, instead of being mapped and unmapped block by block. */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
	mallopt(M_TOP_PAD, 256 << 10);
	buf_init(&text, &a);
	r.is_tty = isatty(1);
	/* NO_COLOR and TERM=dumb are what people and tools use to switch colour off. */
	r.has_color = r.is_tty && !(no_color && *no_color) && !(term && text_eq(term, "dumb"));
	if (argc < 2) {
		struct err e = { 0 };
		err_set(&e, E_USAGE, "USAGE_COMMAND", "say what to do; 'helm --help' lists the commands");
		return report(&r, &e);
	}
	if ((text_eq(argv[1], "--help") || text_eq(argv[1], "-h")) && argc > 2)
		argv[1] = arena_strdup(&a, "help"); /* about what follows */
	if (text_eq(argv[1], "--help") || text_eq(argv[1], "-h")) {
		gen_overview(&r);
		out_flush(&r);
		return 0;
	}
	if (text_eq(argv[1], "--version")) {
		out(&r, "%s %s\n", command_program(), HELM_VERSION);
		out_flush(&r);
		return 0;
	}
	struct err e = { 0 };
	if (text_eq(argv[1], "hook"))
		limits_block_by(EXIT_USAGE); /* 2 is the block that every client knows */
	if (limits_check(&e)) {
		(void)report(&r, &e);
		return limits_exit_code();
	}
	return dispatch(&r, argv + 1, (size_t)argc - 1);
}
