/* builds.c — make: the texts that its command line carries, and the recipes of the makefile it would follow.
 *
 * Targets are the project's own business and are not asked about; what reaches out of the project is.  So everything that make
 * would evaluate is judged: --eval and variables with $(shell ...), SHELL=, a makefile from standard input or written a
 * moment ago, and the recipes of the makefile on disk (project.c says how much of those counts). */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>

/* make SHELL=/bin/bash: one of the machine's own shells. */
static bool is_plain_shell(const struct word *x)
{
	return x->certainty == CERTAIN && shell_speaks_sh(x->text) &&
		(!strchr(x->text, '/') || word_starts(x, "/bin/") || word_starts(x, "/usr/bin/"));
}

/* $(shell CMD), ${shell CMD}, and NAME!=CMD: make runs CMD when it reads the text. */
static void shell_functions(struct call *k, const char *text, struct span at)
{
	for (const char *p = text; (p = strstr(p, "shell "));) {
		bool is_call = p >= text + 2 && (p[-1] == '(' || p[-1] == '{') && p[-2] == '$';
		p += 6;
		if (!is_call)
			continue;
		char open = p[-7], close = open == '(' ? ')' : '}';
		unsigned depth = 1;
		size_t n = 0;
		for (; p[n]; n++) {
			depth += p[n] == open;
			if (p[n] == close && --depth == 0)
				break;
		}
		struct word inner = walk_word(k->w, arena_strndup(walk_arena(k->w), p, n), at);
		run_text(k, &inner, 0, "make $(shell)");
		p += n;
	}
}

/* Text of a makefile that is known: functions, and recipes behind a tab or ";". */
static void makefile_text(struct call *k, const char *text, size_t n)
{
	struct snippet *list;
	size_t count;
	struct bytes all = project_included(k, (struct bytes){ (const uint8_t *)text, n });
	const char *copy = arena_strndup(walk_arena(k->w), (const char *)all.p, n = all.n);
	struct command inner = *k->c; /* what a recipe prints is not followed */
	shell_functions(k, copy, k->c->at);
	harvest(walk_arena(k->w), SCRIPT_MAKE, (struct bytes){ (const uint8_t *)copy, n }, &list, &count);
	for (size_t i = 0; i < count; i++)
		walk_bytes(
			k->w, &inner, (const char *)list[i].text.p, list[i].text.n, k->c->at, "make recipe");
	/* all: deps; command */
	struct bytes rest = { (const uint8_t *)copy, n };
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		const char *colon = memchr(line.p, ':', line.n);
		const char *recipe =
			colon ? memchr(colon, ';', line.n - (size_t)(colon - (const char *)line.p)) : NULL;
		if (recipe && line.p[0] != '\t' && line.p[0] != '#') {
			recipe += 1 + strspn(recipe + 1, " -@+");
			walk_bytes(k->w, &inner, recipe, line.n - (size_t)(recipe - (const char *)line.p),
				k->c->at, "make recipe");
		}
	}
}

/* --eval TEXT: one rule, or anything else that may stand in a makefile. */
static void eval_text(struct call *k, const struct word *x)
{
	const char *recipe = strpbrk(x->text, "\t;");
	shell_functions(k, x->text, x->at);
	if (x->certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_TEXT, x, 0);
	if (recipe) { /* the recipe: behind a tab or ';', and - @ + */
		struct word inner = word_tail(x, (size_t)(recipe - x->text) + strspn(recipe, "\t; -@+"));
		run_text(k, &inner, 0, "make --eval");
	} else if (!strchr(x->text, ':') && !strchr(x->text, '=') && !strchr(x->text, '$')) {
		run_text(k, x, 0, "make --eval");
	}
}

/* NAME=value on the command line. */
static void variable(struct call *k, const struct word *x, size_t name_n)
{
	struct word value = word_tail(x, name_n + strspn(x->text + name_n, ":?+!="));
	bool runs = memchr(x->text + name_n, '!', strspn(x->text + name_n, ":?+!=")) != NULL;
	shell_functions(k, value.text, x->at);
	if (runs || strncmp(x->text, ".SHELLFLAGS", 11) == 0) {
		struct word text = word_tail(&value, strspn(value.text, "-c \""));
		run_text(k, &text, 0, "make");
	} else if (strncmp(x->text, "SHELL=", 6) == 0 && !is_plain_shell(&value)) {
		if (is_loose_program(&value))
			fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
		run_text(k, &value, 0, "make SHELL=");
	} else if (strncmp(x->text, "MAKEFLAGS", 9) == 0 || strncmp(x->text, "PATH=", 5) == 0 ||
		(x->text[name_n] == '=' && strpbrk(value.text, " ;|&"))) {
		note_assignment(k, x); /* CC='...': what the environment could say, too */
	}
}

/* The makefile that is named: standard input, a file written a moment ago, or one of the project. */
static void makefile(struct call *k, const struct word *x, const struct word *goals, size_t count)
{
	struct feed content = k->c->in;
	bool is_input = word_is_any(x, "- /dev/stdin") || word_starts(x, "/dev/fd/");
	struct effect *e = is_input ? NULL : fx_path(k, TAG_SCRIPT_FILE, x, 0);
	bool is_known = is_input || (e && e->target && note_find(k, e->target, &content));
	if (is_known && content.kind == FEED_KNOWN && !word_starts(x, "/dev/fd/"))
		makefile_text(k, content.text, content.n);
	else if (is_known)
		fx(k, content.kind == FEED_FETCHED ? TAG_FETCH_EXEC : TAG_STDIN_SHELL, NULL, 0);
	else if (e && e->path_class != PATH_IN)
		fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
	else if (e && e->target)
		project_makefile(k, e->target, goals, count);
}

/* Which file make would take by itself: the first of these that is there. */
static void default_makefile(struct call *k, const struct word *goals, size_t count)
{
	static const char *const names[] = { "GNUmakefile", "makefile", "Makefile" };
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	struct feed content;
	for (size_t i = 0; cwd && i < ARRAY_SIZE(names); i++) {
		const char *path = path_join(walk_arena(k->w), cwd, names[i]);
		if (note_find(k, path, &content)) {
			struct word x = walk_word(k->w, names[i], k->c->at);
			makefile(k, &x, goals, count);
			return;
		}
		if (at->sys && at->inspect_scripts && file_exists(at->sys, AT_FDCWD, path)) {
			project_makefile(k, path, goals, count);
			return;
		}
	}
}

/* The words of the command line, read once for texts and variables, and then for the makefile with its goals. */
HANDLER(make)
{
	enum { EVAL, FILE_, DIR_, DRY };
	struct args s;
	struct word file = { 0 }, dir = { 0 };
	struct word *goals = arena_alloc(walk_arena(k->w), (k->rest_count + 1) * sizeof(*goals));
	size_t count = 0;
	unsigned flags = 0;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"E=:eval= f=:file=,makefile= C=:directory= n:just-print,dry-run,recon "
		"IoWV=:include-dir=,old-file=,assume-old=,what-if=,new-file=,assume-new= j?l?O?:jobs,load-average,output-sync");
	for (int item; (item = args_next(&s)) != ARG_END;) {
		size_t name_n = s.value.text ? strcspn(s.value.text, ":?+!= \t") : 0;
		if (item == EVAL && s.value.text)
			eval_text(k, &s.value);
		else if (item == FILE_ && s.value.text)
			file = s.value;
		else if (item == DIR_ && s.value.text)
			dir = s.value;
		else if (item == DRY)
			flags = FXF_DRY_RUN;
		else if (item == ARG_OPERAND && name_n && strchr(s.value.text, '='))
			variable(k, &s.value, name_n);
		else if (item == ARG_OPERAND)
			goals[count++] = s.value;
	}
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_has(&k->rest[i], "${") && word_has(&k->rest[i], ":!")) /* bmake -V '${:!cmd!}' */
			fx(k, TAG_DYNAMIC_TEXT, &k->rest[i], 0);
	for (size_t i = 0; !flags && i < count; i++)
		if (task_destroys(&goals[i]))
			fx(k, TAG_UNKNOWN_DESTRUCTIVE, &goals[i], 0);
	const char *was = walk_cwd(k->w, k->c);
	struct word back = was ? walk_word(k->w, arena_strdup(walk_arena(k->w), was), k->c->at)
			       : (struct word){ .text = "", .certainty = DYNAMIC, .at = k->c->at };
	if (dir.text)
		walk_set_cwd(k->w, k->c, &dir);
	if (file.text)
		makefile(k, &file, goals, count);
	else if (!flags)
		default_makefile(k, goals, count);
	if (dir.text)
		walk_set_cwd(k->w, k->c, &back);
	fx(k, TAG_SCRIPT_BUILD, NULL, flags);
}
