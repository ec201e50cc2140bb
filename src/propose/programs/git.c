/* git.c — git and other version control: what discards work, what rewrites history, what runs programs.
 *
 * Ordinary work (status, add, commit, switch, merge, stash, fetch) must pass without a question; so each
 * subcommand is read with its options, and only what can lose something gets a tag that rules ask about.
 * What git itself can bring back (a commit, a merge, a rebase through the reflog) is ordinary;
 * uncommitted changes that are overwritten, branches deleted by force and forced pushes are not.
 *
 * git also starts other programs: aliases with "!", core.pager and its like, bisect run, rebase --exec,
 * submodule foreach, filters and hooks. Whatever the call itself names as such a program is judged as a
 * command. */
#include "propose/git.h"
#include "base/file.h"
#include "propose/programs/programs.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A pager or editor as people set them: a program that only shows or edits, with options and nothing
 * that a shell would act on. */
static bool is_plain_helper(const struct word *value)
{
	static const char helpers[] = "cat less more most bat delta diff-so-fancy vim nvim vi nano emacs "
				      "emacsclient micro hx code subl kak true false : store cache "
				      "osxkeychain manager manager-core libsecret";
	size_t n = strcspn(value->text, " ");
	return value->certainty == CERTAIN && list_has(helpers, value->text, n) &&
		!strpbrk(value->text, ";|&$`<>()!+\\\n");
}

/* Settings whose value git runs as a program, or which lead git to another repository or configuration.  New ones are named
 * alike: the last part of the key says that it is a command. */
bool git_key_runs(const char *key)
{
	static const char *const keys[] = { "core.gitproxy", "diff.external", "init.templatedir",
		"include.path", "core.worktree", "core.hookspath", "protocol.ext.allow",
		"core.attributesfile" };
	static const char *const ends[] = { ".process", ".clean", ".smudge", ".driver", ".uploadpack",
		".receivepack", ".vcs", ".insteadof", ".pushinsteadof", ".path", ".packobjectshook",
		".difffilter", ".httpd", ".tunnel", ".smtpserver" };
	const char *dot = strrchr(key, '.');

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcasecmp(key, keys[i]) == 0)
			return true;
	for (size_t i = 0; dot && i < ARRAY_SIZE(ends); i++)
		if (strcasecmp(dot, ends[i]) == 0)
			return !(strcasecmp(dot, ".path") == 0 && strncasecmp(key, "submodule.", 10) == 0);
	return strncasecmp(key, "pager.", 6) == 0 || (dot && names_command(dot + 1, strlen(dot + 1)));
}

bool git_key_is_proxy(const char *key)
{
	const char *dot = strrchr(key, '.');
	return dot && strcasecmp(dot, ".proxy") == 0;
}

/* Settings that start nothing, and decide where work goes, where it comes from and who is believed on the way.  A key, or a whole section.
 * value NULL: it is taken away. */
static bool git_key_redirects(const char *key, const char *value)
{
	static const char *const sections[] = { "remote", "url", "http" };
	const char *dot = strrchr(key, '.');

	if (git_key_is_proxy(key))
		return false; /* judged by where the proxy is */
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		size_t n = strlen(sections[i]);
		if (strncasecmp(key, sections[i], n) == 0 && (key[n] == '.' || !key[n]))
			return true;
	}
	if (strncasecmp(key, "submodule.", 10) == 0)
		return strcasecmp(dot, ".url") == 0;
	if (strncasecmp(key, "branch.", 7) != 0)
		return false;
	return strcasecmp(dot, ".pushremote") == 0 ||
		(strcasecmp(dot, ".remote") == 0 && value && !git_key_is_harmless(key, value));
}

/* What the options before the subcommand say. */
struct git {
	struct word dir; /* -C */
	bool has_dir;
	bool clean_unforced; /* clean.requireForce=false */
	const struct word *alias_text; /* the alias this call uses, given by -c */
};

/* -c key=value: a setting for this call only. A value that git would run is judged as a command; an
 * alias is remembered when this call uses it. */
static void git_setting(struct call *k, const struct word *x, const struct word *verb, struct git *g)
{
	size_t n = strcspn(x->text, "=");
	const char *key = arena_strndup(walk_arena(k->w), x->text, n);
	struct word value = word_tail(x, n < x->text_n ? n + 1 : n);
	if (x->known_n <= n && x->certainty != CERTAIN) {
		fx(k, TAG_DYNAMIC_OPTION, x, 0);
	} else if (strncasecmp(key, "alias.", 6) == 0) {
		if (verb && verb->certainty == CERTAIN && strcasecmp(key + 6, verb->text) == 0) {
			struct word *copy = arena_alloc(walk_arena(k->w), sizeof(*copy));
			*copy = value;
			g->alias_text = copy;
		}
	} else if (strcasecmp(key, "clean.requireforce") == 0) {
		g->clean_unforced = !word_is_any(&value, "true 1 yes on");
	} else if (strcasecmp(key, "core.hookspath") == 0) {
		if (!word_is_any(&value, "/dev/null"))
			fx(k, TAG_PERSISTENCE_GIT_HOOK, x, 0);
	} else if (strcasecmp(key, "core.worktree") == 0 || strcasecmp(key, "protocol.ext.allow") == 0 ||
		(strncasecmp(key, "url.ext::", 9) == 0)) {
		fx(k, TAG_DYNAMIC_OPTION, x, 0);
	} else if (git_key_is_proxy(key) && value.text_n) {
		if (value.certainty != CERTAIN || !names_local_host(value.text))
			fx(k, TAG_ENVIRONMENT_PROXY, x, 0);
	} else if ((git_key_runs(key) || value.text[0] == '!') && value.text_n && !is_plain_helper(&value)) {
		if (value.text[0] == '!')
			value = word_tail(&value, 1);
		if (is_loose_program(&value))
			fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
		run_text(k, &value, 0, arena_printf(walk_arena(k->w), "git -c %s", key));
	} else if (git_key_redirects(key, value.text)) {
		fx(k, TAG_GIT_REMOTE, x, 0);
	}
}

/* --config-env=key=VARIABLE: what the variable holds is not looked up. */
static void setting_by_variable(struct call *k, const struct word *x)
{
	const char *key = x->text ? arena_strndup(walk_arena(k->w), x->text, strcspn(x->text, "=")) : "";
	if (git_key_runs(key) || git_key_is_proxy(key) || strncasecmp(key, "alias.", 6) == 0 ||
		(x->text && x->certainty != CERTAIN))
		fx(k, TAG_DYNAMIC_OPTION, x, 0);
}

/* An alias that starts with "!" is a shell command, any other one is words of git. */
static void run_alias(struct call *k, const struct word *text)
{
	struct arena *a = walk_arena(k->w);
	if (text->text[0] == '!') {
		struct word all = word_tail(text, 1);
		/* git appends "$@" to the text, so each word stays one word. */
		for (size_t i = 0; i < k->rest_count; i++) {
			struct word quoted = k->rest[i];
			if (quoted.certainty == CERTAIN && strpbrk(quoted.text, " \t;|&$`<>()"))
				quoted = walk_word(k->w, arena_printf(a, "'%s'", quoted.text), quoted.at);
			struct word both[2] = { all, quoted };
			all = words_join(a, both, 2);
		}
		run_text(k, &all, 0, "git alias");
		return;
	}
	struct word *v = arena_alloc(a, (text->text_n + 2 + k->rest_count) * sizeof(*v));
	size_t n = 0;
	v[n++] = walk_word(k->w, "git", text->at);
	for (const char *p = text->text; *p;) {
		struct buf b;
		buf_init(&b, a);
		p += strspn(p, " \t");
		for (char quote = 0; *p && (quote || !strchr(" \t", *p)); p++) {
			if (!quote && (*p == '\'' || *p == '"'))
				quote = *p;
			else if (*p == quote)
				quote = 0;
			else
				buf_addc(&b, *p == '\\' && p[1] ? *++p : *p);
		}
		if (b.n)
			v[n++] = walk_word(k->w, b.p, text->at);
	}
	memcpy(v + n, k->rest, k->rest_count * sizeof(*v));
	run_argv(k, v, n + k->rest_count, 0, "git alias");
}

static bool has(struct call *k, const char *options)
{
	return args_find(k->rest, k->rest_count, options);
}

/* The same for options that make it harmless; those of subcommands that take values are named. */
static bool surely(struct call *k, const char *options)
{
	static const char valued[] =
		"e=o=:exclude=,push-option=,receive-pack=,exec=,repo=,pathspec-from-file=,recurse-submodules,signed";
	return args_surely(walk_arena(k->w), k->rest, k->rest_count, valued, options);
}

static void operands(struct call *k, const char *spec, struct parsed *p)
{
	args_parse(walk_arena(k->w), k->rest, k->rest_count, spec, p);
}

/* Whether a single operand of checkout names a file rather than a branch, for which git would look into
 * the repository. A suffix like .py says file; versions such as 4.x do not. */
static bool looks_like_path(const struct word *x)
{
	if (word_is_any(x, ". .. * :/") || word_starts(x, "./") || word_starts(x, "../") ||
		word_starts(x, ":"))
		return true;
	if (x->is_glob || strpbrk(x->text, "*?["))
		return x->is_glob;
	const char *base = strrchr(x->text, '/');
	base = base ? base + 1 : x->text;
	const char *dot = strrchr(base, '.');
	size_t n = dot ? strlen(dot + 1) : 0;
	/* 4.x, v20.x, 2.0.rc: a line of versions */
	if (n && isdigit((unsigned char)dot[-(dot > base)]) && list_has("x rc dev beta", dot + 1, n))
		return false;
	return n >= 1 && n <= 4 &&
		strspn(dot + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == n;
}

/* An effect that throws away changes to files. is_bounded: only in the work tree, and only what git
 * tracks or cleans there; then, unless git was told to work elsewhere, the effect is marked as inside
 * the repository, which a checkpoint can undo. */
static void discards(struct call *k, enum tag t, const struct word *target, unsigned flags, bool is_bounded)
{
	static const char *const names[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR" };
	struct effect *e = fx(k, t, target, flags);
	bool is_here = is_bounded && !k->is_elsewhere;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		is_here = is_here && !walk_names_variable(k->w, names[i]);
	if (is_here)
		e->flags |= FXF_IN_REPOSITORY;
}

/* With paths it overwrites files; with a branch it refuses to lose changes, unless forced. */
HANDLER(git_checkout)
{
	bool dashes = false;
	for (size_t i = 0; i < k->rest_count; i++)
		dashes |= word_is(&k->rest[i], "--") && i + 1 < k->rest_count;
	struct parsed p;
	operands(k, "bB=:orphan= :conflict=,pathspec-from-file=", &p);
	bool creates = args_has(&p, 0) || has(k, "t track detach");
	/* Behind "--" stand paths; two operands are a commit and a path; one may be a path by its look. */
	bool loses = dashes || has(k, "f force ours theirs pathspec-from-file") ||
		(!creates && p.operand_count > 1) ||
		(!creates && p.operand_count == 1 && looks_like_path(&p.operands[0]));
	/* -B moves a branch that may exist: its commits may then be reachable from nowhere. */
	if (has(k, "B"))
		fx(k, TAG_GIT_BRANCH_DELETE, p.values[0], 0);
	const struct word *last = p.operand_count ? &p.operands[p.operand_count - 1] : NULL;
	if (loses)
		discards(k, TAG_GIT_DISCARD, last, 0, true);
	else
		fx(k, TAG_WRITE_GIT, last, 0);
}

/* Loses changes only when told to. */
HANDLER(git_switch)
{
	if (has(k, "C force-create"))
		fx(k, TAG_GIT_BRANCH_DELETE, NULL, 0);
	if (has(k, "f force discard-changes"))
		discards(k, TAG_GIT_DISCARD, NULL, 0, true);
	else
		fx(k, TAG_WRITE_GIT, NULL, 0);
}

/* With --staged alone only the index changes. */
HANDLER(git_restore)
{
	bool only_index = has(k, "S staged") && !has(k, "W worktree");
	const struct word *last = k->rest_count ? &k->rest[k->rest_count - 1] : NULL;
	if (only_index)
		fx(k, TAG_WRITE_GIT, last, 0);
	else
		discards(k, TAG_GIT_DISCARD, last, 0, true);
}

/* A word that is not known could be the dangerous option. */
static bool has_unknown_word(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (k->rest[i].certainty != CERTAIN && !k->rest[i].known_n && !k->rest[i].is_glob)
			return true;
	return false;
}

/* Only --hard, --merge and --keep touch files. */
HANDLER(git_reset)
{
	if (has(k, "hard merge keep"))
		discards(k, TAG_GIT_RESET_HARD, NULL, 0, true);
	else
		fx(k, has_unknown_word(k) && !k->rest[0].is_quoted ? TAG_DYNAMIC_OPTION : TAG_WRITE_GIT, NULL,
			0);
}

/* Without -f git refuses, so that only reports. */
HANDLER(git_clean)
{
	unsigned flags = (has(k, "f force") ? FXF_FORCE : 0) | (has(k, "d x") ? FXF_RECURSIVE : 0);
	if (surely(k, "n dry-run"))
		fx(k, TAG_READ_QUERY, NULL, FXF_DRY_RUN);
	else if (has(k, "f force i interactive"))
		/* With -x also ignored files go, and Helm's state is one of them. */
		discards(k, TAG_GIT_CLEAN, NULL, flags, !has(k, "x X") && !has_unknown_word(k));
	else
		fx(k, has_unknown_word(k) ? TAG_DYNAMIC_OPTION : TAG_READ_QUERY, NULL, 0);
}

/* Deleting or moving a branch by force can lose its commits. */
HANDLER(git_branch)
{
	bool deletes = has(k, "D") || (has(k, "d delete") && has(k, "f force"));
	struct parsed p;
	operands(k,
		"u=:set-upstream-to=,contains=,no-contains=,merged=,no-merged=,sort=,format=,points-at=", &p);
	/* "branch -M main" names a new repository's branch; with two names a branch is overwritten. */
	bool moves = (has(k, "f force C") && !has(k, "m M move")) ||
		(p.operand_count > 1 && (has(k, "M") || (has(k, "m move") && has(k, "f force"))));
	if (deletes || moves)
		fx(k, TAG_GIT_BRANCH_DELETE, p.operand_count ? &p.operands[0] : NULL, 0);
	else
		fx(k,
			p.operand_count || has(k, "u set-upstream-to unset-upstream") ? TAG_WRITE_GIT
										      : TAG_READ_QUERY,
			NULL, 0);
}

/* Deleting or moving a tag; listing and verifying only read. */
HANDLER(git_tag)
{
	struct parsed p;
	operands(k, "m=F=u=:message=,file=,local-user=,sort=,format=,contains=,points-at=", &p);
	if (has(k, "d delete f force"))
		fx(k, TAG_GIT_TAG_DELETE, p.operand_count ? &p.operands[0] : NULL, 0);
	else
		fx(k, p.operand_count && !has(k, "l list v verify n") ? TAG_WRITE_GIT : TAG_READ_QUERY, NULL,
			0);
}

/* Does a variable, or an option that is not known, say which repository it is? */
static bool is_lost(struct call *k)
{
	static const char *const names[] = { "GIT_DIR", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_GLOBAL",
		"GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (walk_names_variable(k->w, names[i]))
			return true;
	return k->git_dir && k->git_dir->certainty != CERTAIN;
}

/* To or from a remote: its name is what the settings make of it at that moment, so where that leads belongs to what is asked. */
static void fx_remote(struct call *k, enum tag t, const struct word *remote, unsigned flags)
{
	struct effect *e = fx(k, t, remote, flags);
	struct arena *a = walk_arena(k->w);
	const char *cwd = walk_cwd(k->w, k->c);

	if (k->c->flags & (FXF_REMOTE_SIDE | FXF_INSIDE_CONTAINER) ||
		(remote && remote->certainty != CERTAIN))
		return;
	if (is_lost(k)) {
		e->resolved = "an address that is not known beforehand";
		return;
	}
	if (cwd && k->git_dir)
		cwd = path_clean(a, path_join(a, cwd, k->git_dir->text));
	e->resolved = git_address(
		a, walk_surroundings(k->w), cwd, remote ? remote->text : NULL, t == TAG_NETWORK_GIT_PUSH);
}

/* A force or a deletion can be said by an option, by "+" or by ":" in front of a branch. */
HANDLER(git_push)
{
	struct parsed p;
	unsigned flags = FXF_MUTATING | (surely(k, "n dry-run") ? FXF_DRY_RUN : 0);
	operands(k, "o=:push-option= :repo= :receive-pack=,exec=", &p);
	/* --mirror makes the other side equal to this one, which both forces and deletes. */
	bool forces = has(k, "f force force-with-lease force-if-includes mirror");
	bool deletes = has(k, "d delete prune mirror");
	for (size_t i = 1; i < p.operand_count; i++) {
		forces |= word_starts(&p.operands[i], "+");
		deletes |= word_starts(&p.operands[i], ":") && p.operands[i].text_n > 1;
	}
	const struct word *to = p.operand_count ? &p.operands[0] : p.values[1];
	fx_remote(k, TAG_NETWORK_GIT_PUSH, to, flags);
	if (forces)
		fx(k, TAG_GIT_PUSH_FORCE, p.operand_count ? &p.operands[p.operand_count - 1] : NULL, flags);
	if (deletes)
		fx(k, TAG_GIT_PUSH_DELETE, p.operand_count ? &p.operands[p.operand_count - 1] : NULL, flags);
	/* git push $ARGS could hold --force; a quoted word or a variable for the branch could not. */
	for (size_t i = 0; i < p.operand_count; i++)
		if (p.operands[i].certainty == DYNAMIC && !p.operands[i].is_quoted && p.operand_count == 1)
			fx(k, TAG_DYNAMIC_OPTION, &p.operands[i], 0);
}

/* An address "ext::command" runs a command. */
static void run_address(struct call *k, const struct word *url)
{
	if (!word_starts_caseless(url, "ext::"))
		return;
	char *text = arena_strdup(walk_arena(k->w), url->text + 5);
	for (char *c = text; *c; c++) /* "% " is a blank inside a word */
		if (c[0] == '%' && c[1])
			*c = ' ';
	struct word line = walk_word(k->w, text, url->at);
	run_text(k, &line, 0, "git ext::");
	fx(k, TAG_DYNAMIC_TEXT, url, 0);
}

/* fetch, ls-remote and the like. */
HANDLER(git_network)
{
	struct parsed p;
	operands(k,
		"_ :upload-pack= "
		"b=c=o=j=:branch=,config=,origin=,depth=,reference=,separate-git-dir=,jobs=,filter=",
		&p);
	const struct word *url = p.operand_count ? &p.operands[0] : NULL;
	if (url)
		run_address(k, url);
	fx_remote(k, TAG_NETWORK_GIT, url, 0);
}

/* Written as a path: git looks for a repository there, and reads it. */
static bool is_local(const struct word *url)
{
	return url->certainty == CERTAIN &&
		(word_starts(url, "/") || word_starts(url, "./") || word_starts(url, "../") ||
			word_starts_caseless(url, "file:///"));
}

/* A directory that is made and filled.  Where nobody knows which one it is, files go anywhere. */
static void fill_directory(struct call *k, const struct word *dir)
{
	(void)fx_path(k, dir->certainty == DYNAMIC ? TAG_WRITE_EXTRACT : TAG_WRITE_DIR, dir, 0);
}

HANDLER(git_clone)
{
	struct parsed p;
	operands(k,
		"b=u=c=o=j=:branch=,upload-pack=,config=,origin=,depth=,reference=,template=,jobs=,filter=",
		&p);
	if (p.operand_count && is_local(&p.operands[0])) {
		struct word from = walk_word(k->w,
			p.operands[0].text +
				(word_starts_caseless(&p.operands[0], "file://") ? strlen("file://") : 0),
			p.operands[0].at);
		fx_read_tree(k, &from, 1);
	} else {
		handle_git_network(k);
	}
	if (p.operand_count > 1)
		fill_directory(k, &p.operands[1]);
}

HANDLER(git_remote_add)
{
	struct parsed p;
	operands(k, "tm=:mirror=", &p);
	if (p.operand_count > 1)
		run_address(k, &p.operands[1]);
	fx(k, TAG_WRITE_CONFIG, p.operand_count ? &p.operands[0] : NULL, 0);
}

/* From where the settings of each submodule say, unless an address is given. */
HANDLER(git_submodule)
{
	struct parsed p;
	const struct word *url = NULL;
	operands(k, "bj=:branch=,reference=,depth=,name=,jobs=,filter=", &p);
	for (size_t i = 0; i < p.operand_count; i++)
		if (word_has(&p.operands[i], ":") || p.operands[i].certainty != CERTAIN)
			url = &p.operands[i];
	if (url)
		run_address(k, url);
	fx(k, TAG_NETWORK_GIT, url, 0);
	if (k->c->argc > 2 && word_is(&k->rest[-1], "add") && p.operand_count > 1)
		fill_directory(k, &p.operands[1]);
}

/* From where the settings of the repository say, unless a remote is named; a push leaves the machine. */
HANDLER(git_lfs)
{
	if (word_is(&k->rest[-1], "push"))
		fx(k, TAG_NETWORK_GIT_PUSH, NULL, FXF_MUTATING);
	else if (word_is_any(&k->rest[-1], "checkout install"))
		fx(k, TAG_WRITE_GIT, NULL, 0);
	else
		handle_git_network(k);
}

HANDLER(git_pull)
{
	handle_git_network(k);
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

HANDLER(git_rebase)
{
	fx(k,
		has(k, "root")				     ? TAG_GIT_REWRITE
			: has(k, "abort continue skip quit") ? TAG_WRITE_GIT
							     : TAG_GIT_REBASE,
		NULL, 0);
}

HANDLER(git_bisect)
{
	if (k->rest_count > 1 && word_is(&k->rest[0], "run"))
		run_argv(k, k->rest + 1, k->rest_count - 1, 0, "git bisect run");
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

HANDLER(git_submodule_foreach)
{
	size_t i = 0;
	while (i < k->rest_count && word_starts(&k->rest[i], "-"))
		i++;
	struct word text = words_join(walk_arena(k->w), k->rest + i, k->rest_count - i);
	if (text.text_n || text.certainty != CERTAIN)
		run_text(k, &text, 0, "git submodule foreach");
}

/* A key that git runs is a way to have a program started later, so setting it is persistence. */
HANDLER(git_config)
{
	struct parsed p;
	operands(k, "f=:file= :blob=,type=,default=,comment=,value=", &p);
	size_t at = p.operand_count &&
		word_is_any(&p.operands[0], "set unset get list edit rename-section remove-section");
	bool reads =
		has(k, "get get-all get-regexp get-urlmatch list l get-color get-colorbool show-origin") ||
		(at && word_is_any(&p.operands[0], "get list")) ||
		(!at && p.operand_count == 1 && !has(k, "unset unset-all e edit remove-section"));
	if (reads) {
		bool is_secret = false; /* git config --get-regexp token, http.https://x/.extraheader */
		for (size_t i = at; i < p.operand_count; i++)
			is_secret |= strcasestr(p.operands[i].text, "token") ||
				strcasestr(p.operands[i].text, "passw") ||
				strcasestr(p.operands[i].text, "extraheader");
		fx(k, is_secret ? TAG_SECRET_STORE : TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (p.values[0]) /* -f FILE */
		(void)fx_path(k, TAG_WRITE_FILE, p.values[0], 0);
	const struct word *key = p.operand_count > at ? &p.operands[at] : NULL;
	const struct word *value = p.operand_count > at + 1 ? &p.operands[at + 1] : NULL;
	enum tag t = TAG_WRITE_CONFIG;
	if (key && strcasecmp(key->text, "core.hooksPath") == 0)
		t = TAG_PERSISTENCE_GIT_HOOK;
	else if (key && value && (git_key_runs(key->text) || word_starts(value, "!")))
		t = is_plain_helper(value) ? TAG_WRITE_CONFIG : TAG_PERSISTENCE_GIT_CONFIG;
	else if (key && value && git_key_is_proxy(key->text) && value->text_n &&
		(value->certainty != CERTAIN || !names_local_host(value->text)))
		t = TAG_ENVIRONMENT_PROXY;
	else if (key && git_key_redirects(key->text, value ? value->text : NULL))
		t = TAG_GIT_REMOTE;
	fx(k, t, key, 0);
	if (value && word_starts(value, "!")) {
		struct word text = word_tail(value, 1);
		run_text(k, &text, 0, "git config alias");
	}
}

/* With --cached only the index changes. */
HANDLER(git_rm)
{
	struct parsed p;
	operands(k, "r f:force n:dry-run :cached q:quiet", &p);
	if (args_has(&p, 3) || args_has(&p, 2)) {
		fx(k, TAG_WRITE_GIT, NULL, args_has(&p, 2) ? FXF_DRY_RUN : 0);
		return;
	}
	unsigned flags = (args_has(&p, 0) ? FXF_RECURSIVE : 0) | (args_has(&p, 1) ? FXF_FORCE : 0);
	fx_paths(k, TAG_DELETE_GIT, p.operands, p.operand_count, flags);
	if (has(k, "pathspec-from-file")) { /* the names stand in a file */
		struct word any = {
			.text = "", .certainty = DYNAMIC, .origin = ORIGIN_UNKNOWN, .at = k->c->at
		};
		(void)fx_path(k, TAG_DELETE_GIT, &any, flags);
	}
}

HANDLER(git_grep)
{
	struct parsed p;
	operands(k, "O?:open-files-in-pager", &p);
	if (args_has(&p, 0) && p.values[0])
		run_text(k, p.values[0], 0, "git grep -O");
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* git worktree add DIR, git init DIR: files are written there. */
HANDLER(git_place)
{
	struct parsed p;
	operands(k,
		"bB=:reason=,orphan=,initial-branch=,object-format=,ref-format=,template=,separate-git-dir=,shared",
		&p);
	if (p.operand_count)
		fill_directory(k, &p.operands[0]);
	fx(k, TAG_WRITE_GIT, p.operand_count ? &p.operands[0] : NULL, 0);
}

HANDLER(git_move_place)
{
	struct parsed p;
	operands(k, "f:force", &p);
	if (p.operand_count > 1)
		fill_directory(k, &p.operands[1]);
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

/* The file is the first operand. */
HANDLER(git_bundle)
{
	struct parsed p;
	operands(k, "", &p);
	if (p.operand_count)
		(void)fx_path(k, TAG_WRITE_FILE, &p.operands[0], FXF_OVERWRITE);
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

HANDLER(git_mv)
{
	struct parsed p;
	operands(k, "", &p);
	if (p.operand_count > 1)
		(void)fx_path(k, TAG_MOVE_TO, &p.operands[p.operand_count - 1], 0);
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

/* --cacheinfo MODE,OBJECT,PATH puts a file into the index that the next checkout writes; 120000 is a link to anywhere. */
HANDLER(git_update_index)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++) {
		const struct word *x = &k->rest[i + 1];
		if (!word_is(&k->rest[i], "--cacheinfo"))
			continue;
		const char *comma = strrchr(x->text, ',');
		struct word path = comma	? word_tail(x, (size_t)(comma + 1 - x->text))
			: i + 3 < k->rest_count ? k->rest[i + 3]
						: *x;
		(void)fx_path(k, TAG_WRITE_FILE, &path, FXF_OVERWRITE);
		if (word_starts(x, "120000"))
			fx(k, TAG_DYNAMIC_OPTION, x, 0);
	}
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

/* What is staged will be published some day, so secrets are named. */
HANDLER(git_add)
{
	struct parsed p;
	operands(k, "A:all :chmod=,pathspec-from-file=", &p);
	for (size_t i = 0; i < p.operand_count; i++) {
		const char *path = p.operands[i].text;
		if (p.operands[i].known_n && paths_is_secret(walk_surroundings(k->w), path) &&
			!text_starts(path, "-"))
			fx(k, TAG_SECRET_FILE, &p.operands[i], 0);
	}
	/* git -C ~ add -A: everything there is taken in. */
	struct word here = walk_word(k->w, ".", k->c->at);
	fx_read_tree(k, args_has(&p, 0) ? &here : p.operands, args_has(&p, 0) ? 1 : p.operand_count);
	fx(k, TAG_WRITE_GIT, NULL, 0);
}

HANDLER(git_archive)
{
	struct parsed p;
	operands(k, "o=:output= :exec= :remote= :format=,prefix=", &p);
	if (p.values[2]) {
		run_address(k, p.values[2]);
		fx(k, TAG_NETWORK_GIT, p.values[2], 0);
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* git takes the beginning of a long option for the whole: --har is --hard. Options that matter are
 * written out before they are looked for. */
static void complete_options(struct call *k)
{
	static const struct {
		const char *name;
		size_t least;
	} names[] = { { "hard", 1 }, { "force", 1 }, { "delete", 3 }, { "mirror", 2 },
		{ "discard-changes", 3 } };
	for (size_t i = 1; i < k->rest_count && !word_is(&k->rest[i], "--"); i++) {
		struct word *x = &k->rest[i];
		if (x->certainty != CERTAIN || !word_starts(x, "--"))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			if (x->text_n >= names[j].least + 2 &&
				strncmp(names[j].name, x->text + 2, x->text_n - 2) == 0)
				*x = walk_word(
					k->w, arena_printf(walk_arena(k->w), "--%s", names[j].name), x->at);
	}
}

/* git diff --no-index x ~/.netrc, git hash-object ~/.ssh/id_rsa: a secret that is no file of the repository. */
static void git_secrets(struct call *k)
{
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c);
	bool is_any = args_find(k->rest, k->rest_count, "no-index") || word_is(&k->rest[0], "hash-object");

	for (size_t i = 1; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		const char *path = is_any && x->text[0] != '-' ? project_here(k, x->text) : NULL;
		if ((((word_starts(x, "/") || word_starts(x, "../")) && paths_is_secret(at, x->text)) ||
			    (path && paths_is_secret(at, path))) &&
			!word_is_any(&k->rest[0], "check-ignore ls-files config"))
			fx(k, TAG_SECRET_FILE, x, 0);
	}
	/* git -C ~/.ssh grep --no-index x: every file there */
	if (is_any && cwd && word_is(&k->rest[0], "grep") && strstr(cwd, "/.") &&
		paths_holds_secrets(at, walk_arena(k->w), cwd))
		fx_name(k, TAG_SECRET_FILE, cwd, 0);
}

static bool git_only_looks(const struct word *verb)
{
	return word_is_any(verb,
		"status log diff show blame rev-parse rev-list ls-files ls-tree cat-file describe config");
}

/* git -C ~/.helm init: what git writes there is the guard's own. */
static void git_place(struct call *k, const struct word *dir)
{
	struct effect *e = fx_path(k, TAG_WRITE_GIT, dir, 0);
	if (e && e->path_class != PATH_STATE)
		e->path_class = PATH_NONE; /* a repository lies where it lies */
}

/* git mv .helm x, git stash push -- .helm, git read-tree -u --prefix=.helm/ HEAD: whichever verb changes the work tree or the index,
 * a word of it that names the guard's own is what it changes. */
static void git_state(struct call *k, const struct word *verb)
{
	struct arena *a = walk_arena(k->w);
	const char *cwd = walk_cwd(k->w, k->c), *resolved;

	if (!word_is_any(verb,
		    "mv rm stash checkout restore reset clean switch read-tree checkout-index sparse-checkout "
		    "apply worktree submodule"))
		return;
	for (size_t i = 1; cwd && i < k->rest_count; i++) {
		const char *text = k->rest[i].text, *value = text[0] == '-' ? strchr(text, '=') : NULL;
		if (k->rest[i].certainty != CERTAIN || !k->rest[i].text_n || (text[0] == '-' && !value) ||
			word_is_any(&k->rest[i - 1], "-m --message"))
			continue;
		text = value ? value + 1 : text + strspn(text, "!:/^");
		if (!*text || strpbrk(text, " \n") ||
			paths_classify(walk_surroundings(k->w), a, path_clean(a, path_join(a, cwd, text)),
				false, &resolved) != PATH_STATE)
			continue;
		struct word path = walk_word(k->w, text, k->rest[i].at);
		(void)fx_path(k, TAG_WRITE_GIT, &path, 0);
	}
}

/* Options before the subcommand are read first: they change the directory, set what git runs, or define
 * the alias that is used. Then the rows and handlers of the subcommand see the words from the subcommand
 * on. */
HANDLER(git)
{
	const char *options = program_options(k->program);
	struct git g = { 0 };
	struct args s;
	struct arena *a = walk_arena(k->w);
	size_t place;
	const struct word *verb = verb_words(k, options, 1, &place) ? &k->rest[place] : NULL;
	args_start(&s, a, k->rest, verb ? place : k->rest_count, options);
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == 0 && s.value.text) {
			g.dir = s.value;
			g.has_dir = true;
		} else if (item == 1 && s.value.text) {
			git_setting(k, &s.value, verb, &g);
		}
		if (item == 2 && s.word && word_starts(s.word, "--exec-path="))
			fx(k, TAG_ENVIRONMENT_LOADER, s.word, 0);
		if (item == 2 && s.word && word_starts(s.word, "--config-env"))
			setting_by_variable(k, &s.value);
		if (item == 2 && s.word && word_starts(s.word, "--git-dir")) {
			struct word *dir = arena_alloc(a, sizeof(*dir));
			*dir = s.value;
			k->git_dir = dir;
			classify_assignment(k, &(struct assignment){ .name = "GIT_DIR", .value = *dir });
		}
		/* A setting or --git-dir and its kin may lead git to another repository. */
		k->is_elsewhere |= item == 1 || item == 2;
	}
	if (!verb) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (verb->certainty != CERTAIN) {
		fx(k, TAG_DYNAMIC_OPTION, verb, 0);
		return;
	}
	walk_git_verb(k->w, verb->text);
	if (g.alias_text) {
		k->rest += place + 1;
		k->rest_count -= place + 1;
		run_alias(k, g.alias_text);
		return;
	}
	k->rest += place;
	k->rest_count -= place;
	if (word_is_any(verb, "reset clean push branch tag checkout switch worktree stash"))
		complete_options(k);
	if (g.clean_unforced && word_is(verb, "clean") && !surely(k, "n dry-run")) {
		fx(k, TAG_GIT_CLEAN, NULL, 0);
		return;
	}
	if (surely(k, "help") || (k->rest_count == 2 && word_is(&k->rest[1], "-h"))) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	if (g.has_dir && !git_only_looks(verb))
		git_place(k, &g.dir);
	const char *was = g.has_dir ? walk_cwd(k->w, k->c) : NULL;
	struct word back = was ? walk_word(k->w, arena_strdup(a, was), k->c->at)
			       : (struct word){ .text = "", .certainty = DYNAMIC, .at = k->c->at };
	if (g.has_dir)
		walk_set_cwd(k->w, k->c, &g.dir);
	git_secrets(k);
	git_state(k, verb);
	if (!k->is_elsewhere)
		project_repository(k, verb->text);
	run_verbs_at(k, TAG_UNKNOWN_VERB);
	if (g.has_dir)
		walk_set_cwd(k->w, k->c, &back);
}
