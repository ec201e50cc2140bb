/* opt.c — reading the command line against a command's option specs.
 *
 * Grammar: `helm FAMILY [--path W] VERB [options and arguments mixed] [-- child argv]`. Long options only,
 * `--name value` and `--name=value`. A wrong word is answered with one usage line, the reason and the
 * nearest right word, and exit code 2. Options are never abbreviated: a new option must not change what an
 * old script means. */
#include "cli/opt.h"

#include "base/text.h"
#include "cli/gen.h"
#include "clients/clients.h"

#include <string.h>

/* Options every command has. */
static const struct opt global_opts[] = {
	{ "json", OPT_FLAG, NULL, "print one JSON document instead of text", NULL, false },
	{ "path", OPT_VALUE, "DIR", "the workspace to use", NULL, false },
	{ "workspace", OPT_VALUE, "DIR", "the workspace to use", NULL, false },
	{ "help", OPT_FLAG, NULL, "show help for this command", NULL, false },
	{ 0 },
};

const struct opt *opt_globals(void)
{
	return global_opts;
}

static const struct opt *find_in(const struct opt *opts, const char *name, size_t n)
{
	for (; opts && opts->name; opts++)
		if (strlen(opts->name) == n && memcmp(opts->name, name, n) == 0)
			return opts;
	return NULL;
}

/* The command's own options win over the global ones. */
static const struct opt *find_opt(const struct cmd *cmd, const char *name, size_t n)
{
	const struct opt *o = cmd ? find_in(cmd->opts, name, n) : NULL;

	return o ? o : find_in(global_opts, name, n);
}

/* Options that have another name now. */
static const char *new_name(const struct cmd *cmd, const char *word)
{
	static const struct {
		const char *command, *was, *is;
	} renamed[] = { { "guard tune", "--days", "--since 30d" }, { "guard tune", "--apply", "--grant K" } };
	size_t n = strcspn(word, "=");

	for (size_t i = 0; cmd && i < ARRAY_SIZE(renamed); i++)
		if (text_eq(cmd->is->name, renamed[i].command) && strlen(renamed[i].was) == n &&
			strncmp(word, renamed[i].was, n) == 0)
			return renamed[i].is;
	return NULL;
}

/* Names the option that is spelled most alike. */
static int unknown_option(const struct cmd *cmd, const char *word, struct err *e)
{
	const char *names[96], *renamed = new_name(cmd, word);
	size_t n = 0;

	if (renamed)
		return err_set(e, E_USAGE, "USAGE_OPTION", "'%s' has another name now: %s", word, renamed);

	for (const struct opt *o = cmd ? cmd->opts : NULL; o && o->name && n < 90; o++)
		names[n++] = o->name;
	for (const struct opt *o = global_opts; o->name; o++)
		names[n++] = o->name;
	char bare[64];
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	const char *near = word[1] == '-' ? text_nearest(bare, names, n) : NULL;
	if (near)
		return err_set(
			e, E_USAGE, "USAGE_OPTION", "unknown option '%s'; did you mean '--%s'?", word, near);
	return err_set(e, E_USAGE, "USAGE_OPTION", "unknown option '%s'", word);
}

/* `choices` is the same text that help shows. */
static int check_choice(const struct opt *o, const char *value, struct err *e)
{
	struct bytes rest = bytes_of(o->choices ? o->choices : "");

	if (!o->choices)
		return OK;
	while (rest.p) {
		struct bytes one = text_cut(&rest, '|');
		if (bytes_is(one, value))
			return OK;
	}
	return err_set(
		e, E_USAGE, "USAGE_CHOICE", "--%s takes one of %s, not '%s'", o->name, o->choices, value);
}

/* The four global options are recognised by their place in global_opts. Values are kept in order, for
 * options that may be repeated. */
static int store(struct cli *r, const struct opt *o, const char *text, struct err *e)
{
	struct opt_value v = { .opt = o, .text = text };

	/* Negative numbers have no meaning for any option there is. */
	if (o->kind == OPT_INT && (!text_int(text, &v.number) || v.number < 0))
		return err_set(e, E_USAGE, "USAGE_NUMBER", "--%s takes a whole number from 0, not '%s'",
			o->name, text);
	if (o->choices) {
		int rc = check_choice(o, text, e);
		if (rc)
			return rc;
	}
	if (o == &global_opts[0])
		r->is_json = true;
	else if (o == &global_opts[2] || (o == &global_opts[1] && !(r->cmd->needs & PATH_MAY_BE_FILE)))
		r->path_option = text;
	else if (o == &global_opts[3])
		r->wants_help = true;
	r->values[r->value_count++] = v;
	return OK;
}

/* One word that starts with "--". *i moves on when the value is the next word. */
static int take_option(struct cli *r, char **argv, size_t argc, size_t *i, struct err *e)
{
	const char *word = argv[*i];
	size_t n = strcspn(word + 2, "=");
	const char *value = word[2 + n] == '=' ? word + 2 + n + 1 : NULL;
	const struct opt *o = find_opt(r->cmd, word + 2, n);

	if (!o)
		return unknown_option(r->cmd, word, e);
	if (o->kind == OPT_FLAG && value)
		return err_set(e, E_USAGE, "USAGE_OPTION", "--%s takes no value", o->name);
	if (o->kind != OPT_FLAG && !value) {
		if (*i + 1 >= argc)
			return err_set(
				e, E_USAGE, "USAGE_OPTION", "--%s needs a value (%s)", o->name, o->value);
		value = argv[++*i];
	}
	int rc = store(r, o, value, e);
	while (rc == OK && o->kind == OPT_WORDS && *i + 1 < argc && argv[*i + 1][0] != '-' &&
		check_choice(o, argv[*i + 1], NULL) == OK)
		rc = store(r, o, argv[++*i], e);
	return rc;
}

static bool takes_text(const struct cmd *c)
{
	for (const struct opt *o = c->opts; o && o->name; o++)
		if (text_eq(o->name, "text") && o->kind == OPT_VALUE)
			return true;
	return false;
}

/* A command that has verbs beside it was perhaps meant with one of these. */
static int unexpected(struct cli *r, struct err *e)
{
	const char *word = r->args[r->cmd->max_args];
	const struct family f = { r->cmd->is->name, NULL };
	const char *near = r->cmd->max_args ? NULL : gen_suggestion(r, &f, word);

	if (near)
		return err_set(e, E_USAGE, "USAGE_ARGUMENTS", "unexpected argument '%s'; did you mean '%s'?",
			word, near);
	return err_set(e, E_USAGE, "USAGE_ARGUMENTS", "unexpected argument '%s'%s", word,
		takes_text(r->cmd) ? "; a text goes with --text TEXT" : "");
}

/* Of what exists already: who lists it.  The argument is one of these words, or begins with it. */
static const char *where_named(struct cli *r)
{
	static const struct {
		const char *word, *list;
	} lists[] = { { "TASK", "task list" }, { "CHECKPOINT", "checkpoint list" },
		{ "RECEIPT", "receipts list" }, { "REQUEST", "approval list" }, { "GRANT", "approval list" },
		{ "PROFILE", "profile list" }, { "SKILL", "skill list" }, { "LOOP", "loops list" },
		{ "RUN", "loops runs" }, { "SESSION", "log sessions" }, { "SERVER", "mcp list" },
		{ "FINGERPRINT", "failures list" } };
	const char *args = r->cmd->args;

	if (text_starts(args, "CLIENT [--"))
		return " (claude-code, codex, or any program: helm agent sh)";
	if (text_starts(args, "CLIENT"))
		return arena_printf(r->a, " (known are %s)", clients_with_hook(r->a));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		size_t n = strlen(lists[i].word);
		/* What is added with a command of its own is new. */
		if (text_starts(args, lists[i].word) && (!args[n] || strchr(" |.", args[n])) &&
			!strstr(args, "[--"))
			return arena_printf(r->a, " ('helm %s' names them)", lists[i].list);
	}
	return "";
}

/* Not asked when help is wanted: help must work with missing arguments. */
static int check_required(struct cli *r, struct err *e)
{
	if (r->wants_help)
		return OK;
	if (r->cmd->max_args >= 0 && r->arg_count > (size_t)r->cmd->max_args)
		return unexpected(r, e);
	for (const struct opt *o = r->cmd->opts; o && o->name; o++)
		if (o->is_required && !opt_text(r, o->name, NULL))
			return err_set(e, E_USAGE, "USAGE_MISSING", "--%s %s is required", o->name, o->value);
	if (r->arg_count < (size_t)r->cmd->min_args)
		return err_set(e, E_USAGE, "USAGE_ARGUMENTS",
			"missing argument: %s%s; 'helm %s --help' explains it", r->cmd->args, where_named(r),
			r->cmd->is->name);
	return OK;
}

/* A command that takes a child command also takes it without "--", from the first word that is no argument
 * of its own. From there on nothing is read as our option. */
int opt_parse(struct cli *r, char **argv, size_t argc, struct err *e)
{
	bool takes_child = r->cmd->needs & CHILD_ARGV;

	/* No more values than words can come. */
	r->values = arena_zalloc(r->a, r->value_count + argc + 1, sizeof(*r->values));
	r->args = arena_zalloc(r->a, argc + 1, sizeof(*r->args));
	for (size_t i = 0; i < argc; i++) {
		char *word = argv[i];
		int rc = OK;
		bool bare = word[0] != '-' || text_eq(word, "-");
		if (text_eq(word, "--")) {
			if (takes_child) {
				r->child = argv + i + 1;
				r->child_count = argc - i - 1;
				break;
			}
			/* Behind "--" everything is an argument, even if it begins with a dash. */
			while (++i < argc)
				r->args[r->arg_count++] = argv[i];
		} else if (bare && takes_child && r->arg_count == (size_t)r->cmd->max_args) {
			r->child = argv + i;
			r->child_count = argc - i;
			break;
		} else if (bare) {
			r->args[r->arg_count++] = word;
		} else if (text_eq(word, "-h")) {
			r->wants_help = true;
		} else if (word[1] == '-') {
			rc = take_option(r, argv, argc, &i, e);
		} else {
			rc = unknown_option(r->cmd, word, e);
		}
		if (rc)
			return rc;
	}
	return check_required(r, e);
}

/* The last value given wins. Asking for an option that is not in the row is a mistake in this program,
 * found at the first call. */
static const struct opt_value *last_value(const struct cli *r, const char *name)
{
	if (!find_in(r->cmd->opts, name, strlen(name)) && !find_in(global_opts, name, strlen(name)))
		BUG("a command asked for an option that is not in its row");
	for (size_t i = r->value_count; i-- > 0;)
		if (text_eq(r->values[i].opt->name, name))
			return &r->values[i];
	return NULL;
}

/* Asks only whether the option was given. */
bool opt_flag(const struct cli *r, const char *name)
{
	return last_value(r, name) != NULL;
}

/* The value, or the fallback when the option was not given. */
const char *opt_text(const struct cli *r, const char *name, const char *fallback)
{
	const struct opt_value *v = last_value(r, name);

	return v && v->text ? v->text : fallback;
}

/* A number from 0 up; store() has checked it. */
int64_t opt_int(const struct cli *r, const char *name, int64_t fallback)
{
	const struct opt_value *v = last_value(r, name);

	return v ? v->number : fallback;
}

/* All values in the order in which they were given. */
size_t opt_list(const struct cli *r, const char *name, const char ***ret)
{
	size_t n = 0;
	const char **all = arena_zalloc(r->a, r->value_count + 1, sizeof(*all));

	(void)last_value(r, name);
	for (size_t i = 0; i < r->value_count; i++)
		if (text_eq(r->values[i].opt->name, name))
			all[n++] = r->values[i].text;
	*ret = all;
	return n;
}

static int read_when(struct cli *r, const char *name, struct text_when *ret, struct err *e)
{
	const char *text = opt_text(r, name, NULL);

	if (!text || text_when(text, r->sys->now_us(r->sys), ret))
		return OK;
	return err_set(e, E_USAGE, "USAGE_TIME",
		"--%s takes a time, and '%.60s' is none; write " TEXT_WHEN_FORMS, name, text);
}

int opt_since(struct cli *r, const char *name, int64_t *ret_us, struct err *e)
{
	struct text_when when = { *ret_us, *ret_us };
	int rc = read_when(r, name, &when, e);

	*ret_us = when.from_us;
	return rc;
}

int opt_until(struct cli *r, const char *name, int64_t *ret_us, struct err *e)
{
	struct text_when when = { *ret_us, *ret_us };
	int rc = read_when(r, name, &when, e);

	*ret_us = when.to_us;
	return rc;
}

int opt_span(struct cli *r, const char *name, int64_t *ret_us, struct err *e)
{
	const char *text = opt_text(r, name, NULL);

	if (!text || text_span(text, ret_us))
		return OK;
	return err_set(e, E_USAGE, "USAGE_TIME",
		"--%s takes how long, and '%.60s' is no duration; write " TEXT_SPAN_FORMS, name, text);
}

void out_since(struct cli *r, int64_t since_us)
{
	if (since_us && !r->is_json)
		out(r, "Since %s:\n", text_when_words(r->a, since_us));
}
