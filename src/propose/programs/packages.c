/* packages.c — package managers, publishers, build tools, test runners and language toolchains.
 *
 * Building and testing is the daily work: it runs project code, which the sandbox contains, and is not stopped here.
 * Installing brings in code of others, publishing sends ours out. */
#include "propose/programs/programs.h"

#include <string.h>

/* A task whose name says what it does to the data: db:reset, drop-db, destroy. */
bool task_destroys(const struct word *x)
{
	static const char verbs[] = "destroy drop nuke wipe purge teardown uninstall obliterate";
	if (x->certainty != CERTAIN || word_starts(x, "-") || strchr(x->text, '='))
		return false;
	if (verb_in(verbs, x->text, x->text_n))
		return true;
	bool is_data =
		word_has(x, "db") || word_has(x, "database") || word_has(x, "prisma") || word_has(x, "prod");
	return is_data &&
		(word_has(x, "reset") || word_has(x, "drop") || word_has(x, "wipe") ||
			word_has(x, "destroy") || word_has(x, "delete") || word_has(x, "truncate") ||
			word_has(x, "purge"));
}

/* npx tool args: known tools are judged as themselves, the rest as fetched packages. */
static void classify_npx(struct call *k)
{
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+c=:call= p=:package= yq:yes,no,no-install,quiet,bun,prefer-offline :with=,from=,python=");
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == 0 && s.value.text) {
			run_text(k, &s.value, 0, "npx -c");
			return;
		}
		if (item != ARG_OPERAND && item != ARG_DYNAMIC)
			continue;
		fx(k, TAG_PACKAGE_RUN, &s.value, 0);
		size_t n = strcspn(s.value.text, "@");
		const struct program *p =
			s.value.certainty == CERTAIN && n ? program_find(s.value.text, n) : NULL;
		if (p) {
			struct word *v = s.word;
			v[0] = word_head(walk_arena(k->w), &v[0], n);
			run_argv(k, v, k->rest_count - (size_t)(v - k->rest), 0, k->head);
		}
		/* npx tool schema:drop */
		for (size_t i = (size_t)(s.word - k->rest) + 1; !p && i < k->rest_count && i < 4; i++)
			if (task_destroys(&k->rest[i]) && !strpbrk(k->rest[i].text, "./ "))
				fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[i], 0);
		return;
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* poetry run cmd, uv run cmd, bundle exec cmd ... */
static void run_rest(struct call *k)
{
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+np=:with=,python=,env-file=,group=,extra=,package=,project=,directory=,name=,prefix=,cwd=");
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			run_argv(k, s.word, k->rest_count - (size_t)(s.word - k->rest), 0, k->head);
			return;
		}
}

/* concurrently 'cmd' 'cmd', nodemon --exec 'cmd': words that are command lines. */
static void run_texts(struct call *k)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count,
		"x=:exec= ncp=:names=,prefix-colors=,prefix=,max-processes= we=:watch=,ext=,ignore= kr", &p);
	if (p.values[0]) { /* what follows are its words */
		struct word *v = arena_alloc(walk_arena(k->w), (p.operand_count + 1) * sizeof(*v));
		v[0] = *p.values[0];
		if (p.operand_count)
			memcpy(v + 1, p.operands, p.operand_count * sizeof(*v));
		struct word text = words_join(walk_arena(k->w), v, p.operand_count + 1);
		run_text(k, &text, 0, k->head);
	}
	for (size_t i = 0; text_eq(k->head, "concurrently") && i < p.operand_count; i++)
		if (!word_starts(&p.operands[i], "npm:") && !word_starts(&p.operands[i], "pnpm:") &&
			!word_starts(&p.operands[i], "yarn:") && !word_starts(&p.operands[i], "bun:"))
			run_text(k, &p.operands[i], 0, k->head);
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* npm explore pkg -- cmd */
static void run_after_dashes(struct call *k)
{
	size_t i = 0;
	while (i < k->rest_count && !word_is(&k->rest[i], "--"))
		i++;
	if (i + 1 < k->rest_count)
		run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, k->head);
	else
		fx(k, TAG_STDIN_SHELL, NULL, 0);
}

/* The project's own tasks: what they do is not known, but some say it. */
static void run_task(struct call *k)
{
	size_t place;
	if (verb_words(k, "", 1, &place) && task_destroys(&k->rest[place]))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[place], 0);
	else
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* java -jar tool.jar delete-job x */
static void classify_java(struct call *k)
{
	for (size_t i = 0; i + 2 < k->rest_count; i++)
		if (word_is(&k->rest[i], "-jar"))
			for (size_t j = i + 2; j < k->rest_count && j < i + 6; j++)
				if (k->rest[j].certainty == CERTAIN &&
					verb_is_destroying(k->rest[j].text, k->rest[j].text_n)) {
					fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[j], 0);
					return;
				}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* make SHELL=/bin/bash: one of the machine's own shells. */
static bool is_plain_shell(const struct word *x)
{
	return x->certainty == CERTAIN && shell_speaks_sh(x->text) &&
		(!strchr(x->text, '/') || word_starts(x, "/bin/") || word_starts(x, "/usr/bin/"));
}

/* make: targets are the project's; SHELL= and --eval are texts. */
static void classify_make(struct call *k)
{
	unsigned flags = args_find(k->rest, k->rest_count, "n just-print dry-run recon") ? FXF_DRY_RUN : 0;
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "--eval -E")) {
			const char *recipe = strchr(k->rest[i + 1].text, ';');
			struct word text = recipe
				? word_tail(&k->rest[i + 1], (size_t)(recipe + 1 - k->rest[i + 1].text))
				: k->rest[i + 1];
			run_text(k, &text, 0, "make --eval");
		}
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (word_starts(x, "--eval=") || word_starts(x, "SHELL=")) {
			struct word text = word_tail(x, word_starts(x, "SHELL=") ? 6 : 7);
			const char *open = strstr(text.text, "$(shell ");
			if (word_starts(x, "SHELL=") && !is_plain_shell(&text)) {
				run_text(k, &text, 0, "make SHELL=");
			} else if (open) {
				const char *close = strrchr(open, ')');
				size_t from = (size_t)(open + 8 - text.text);
				size_t n = close ? (size_t)(close - text.text) - from : text.text_n - from;
				struct word inner = walk_word(
					k->w, arena_strndup(walk_arena(k->w), text.text + from, n), x->at);
				run_text(k, &inner, 0, "make --eval");
			} else if (word_starts(
					   x, "--eval=")) { /* the recipe: behind a tab or ';', and - @ + */
				const char *recipe = strpbrk(text.text, "\t;");
				size_t skip = recipe ? (size_t)(recipe - text.text) : text.text_n;
				skip += strspn(text.text + skip, "\t; -@+");
				struct word inner = word_tail(&text, skip);
				if (recipe)
					run_text(k, &inner, 0, "make --eval");
			}
		}
	}
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-f --file --makefile") &&
			(word_is_any(&k->rest[i + 1], "- /dev/stdin") ||
				word_starts(&k->rest[i + 1], "/dev/fd/")))
			fx(k, k->c->in.kind == FEED_FETCHED ? TAG_FETCH_EXEC : TAG_STDIN_SHELL, NULL, 0);
	for (size_t i = 0; !flags && i < k->rest_count; i++)
		if (task_destroys(&k->rest[i]) && !(i && word_is_any(&k->rest[i - 1], "-C -f -I -o -W")))
			fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[i], 0);
	fx(k, TAG_SCRIPT_BUILD, NULL, flags);
}

static void classify_cmake(struct call *k)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "-E")) {
			struct word *v = k->rest + i + 1;
			size_t n = k->rest_count - i - 1;
			if (word_is_any(&v[0], "rm remove remove_directory")) {
				unsigned flags =
					args_find(v, n, "r R rf fr") || word_is(&v[0], "remove_directory")
					? FXF_RECURSIVE
					: 0;
				for (size_t j = 1; j < n; j++)
					if (!word_starts(&v[j], "-"))
						(void)fx_path(k, TAG_DELETE_FILE, &v[j], flags);
				return;
			}
			if (word_is_any(&v[0], "env time chdir")) {
				size_t skip = word_is(&v[0], "chdir") ? 2 : 1;
				if (n > skip)
					run_argv(k, v + skip, n - skip, 0, "cmake -E");
				return;
			}
		}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* yarn alone installs; yarn with a word it does not know runs the project's script of that name. */
static void classify_yarn(struct call *k)
{
	size_t place;
	bool has_verb = verb_words(k, k->program->spec, 1, &place);
	if (has_verb && strchr(k->rest[place].text, ':') && task_destroys(&k->rest[place]))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[place], 0);
	else if (has_verb || !text_eq(k->program->name, "yarn"))
		run_verbs(k);
	else
		fx(k,
			args_find(k->rest, k->rest_count, "v version help h") ? TAG_PACKAGE_READ
									      : TAG_PACKAGE_INSTALL,
			NULL, 0);
}

static void classify_go(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_is(&k->rest[i], "-exec") && i + 1 < k->rest_count)
			run_text(k, &k->rest[i + 1], 0, "go -exec");
	/* go run f.go, where f.go was written a moment ago */
	for (size_t i = 1; i < k->rest_count && word_is(&k->rest[0], "run"); i++) {
		struct feed content;
		if (!text_ends(k->rest[i].text, ".go"))
			continue;
		struct effect *e = fx_path(k, TAG_SCRIPT_FILE, &k->rest[i], 0);
		if (e && e->target && note_find(k, e->target, &content) && content.kind == FEED_KNOWN)
			classify_code_bytes(k, "go", content.text, content.n);
	}
	run_verbs(k);
}

static void classify_dpkg(struct call *k)
{
	if (args_find(k->rest, k->rest_count, "i install unpack configure"))
		fx(k, TAG_PACKAGE_INSTALL, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "r P remove purge"))
		fx(k, TAG_PACKAGE_REMOVE, NULL, 0);
	else
		fx(k, TAG_PACKAGE_READ, NULL, 0);
}

static void classify_rpm(struct call *k)
{
	if (args_find(k->rest, k->rest_count, "q query V verify checksig K"))
		fx(k, TAG_PACKAGE_READ, NULL, 0);
	else
		fx(k, args_find(k->rest, k->rest_count, "e erase") ? TAG_PACKAGE_REMOVE : TAG_PACKAGE_INSTALL,
			NULL, 0);
}

static void classify_pacman(struct call *k)
{
	bool reads = args_find(k->rest, k->rest_count, "Q query F files") ||
		args_find(k->rest, k->rest_count, "s i l search info");
	bool removes = args_find(k->rest, k->rest_count, "R remove");
	fx(k, removes ? TAG_PACKAGE_REMOVE : reads ? TAG_PACKAGE_READ : TAG_PACKAGE_INSTALL, NULL, 0);
}

/* Formatters and linters: read, unless told to write. */
static void classify_linter(struct call *k)
{
	bool writes = args_find(k->rest, k->rest_count, "fix write w i in-place inplace fix-dry-run apply") ||
		(k->program->mode &&
			!args_find(k->rest, k->rest_count, "check diff l list-files version help")) ||
		(k->rest_count && word_is_any(&k->rest[0], "format fmt"));
	if (args_find(k->rest, k->rest_count, "check diff") && k->program->mode)
		writes = false;
	fx(k, writes ? TAG_WRITE_TOOL : TAG_READ_QUERY, NULL, 0);
}

#define ROW(words, needs, forbids, tag) \
	{ \
		words, needs, forbids, tag, 0, NULL \
	}
#define CALL(words, run) \
	{ \
		words, NULL, NULL, TAG_READ_QUERY, 0, run \
	}
#define END \
	{ \
		NULL, NULL, NULL, 0, 0, NULL \
	}

static const struct verb npm_verbs[] = {
	ROW("workspace * add|install|upgrade|up", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("workspace * remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	CALL("run|run-script", run_task),
	CALL("explore", run_after_dashes),
	ROW("test|t|tst|start|stop|restart|build|dev|lint|bench", NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("cache clean|clear|rm|prune|delete", NULL, NULL, TAG_DELETE_CACHE),
	ROW("store prune", NULL, NULL, TAG_DELETE_CACHE),
	ROW("unpublish|deprecate", NULL, NULL, TAG_PUBLISH_UNPUBLISH),
	ROW("publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("npm publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("dist-tag add|rm", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("owner|access|team|org|token|hook add|rm|remove|set|grant|revoke|create|destroy|update", NULL,
		NULL, TAG_PUBLISH_PACKAGE),
	ROW("config set|delete|rm|edit|unset", NULL, NULL, TAG_PACKAGE_CONFIG),
	ROW("set", NULL, NULL, TAG_PACKAGE_CONFIG),
	ROW("audit fix", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("init|create *", NULL, NULL, TAG_PACKAGE_RUN),
	ROW("init", NULL, NULL, TAG_WRITE_TOOL),
	ROW("install|i|in|ins|add|ci|clean-install|isntall|update|up|upgrade|link|ln|dedupe|rebuild|import|"
	    "it|install-test|fetch|patch",
		NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("uninstall|un|unlink|remove|rm|r|prune|autoremove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("global add|upgrade", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("global remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	CALL("exec|x|dlx", classify_npx),
	ROW("version|pkg|shrinkwrap|pack", NULL, NULL, TAG_WRITE_TOOL),
	ROW("login|logout|adduser", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("ls|list|la|ll|view|info|show|outdated|audit|why|explain|search|help|root|prefix|bin|whoami|ping|"
	    "doctor|fund|config|get|cache|dist-tag|owner|docs|repo|"
	    "licenses|query|token|profile|completion|diff|bugs|home|access|store|workspaces|check|versions",
		NULL, NULL, TAG_PACKAGE_READ),
	END,
};
static const struct verb pip_verbs[] = {
	ROW("install|download|wheel", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("cache purge|remove", NULL, NULL, TAG_DELETE_CACHE),
	ROW("config set|unset|edit", NULL, NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb uv_verbs[] = {
	CALL("run", run_rest),
	CALL("tool run", classify_npx),
	ROW("pip list|show|freeze|check|tree", NULL, NULL, TAG_PACKAGE_READ),
	ROW("pip|tool|python uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("pip|tool|python install|sync|upgrade|compile", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("add|sync|update|self", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("cache clean|prune", NULL, NULL, TAG_DELETE_CACHE),
	ROW("venv|init|build|export|lock", NULL, NULL, TAG_WRITE_TOOL),
	END,
};
static const struct verb poetry_verbs[] = {
	CALL("run", run_rest),
	ROW("publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("env remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("cache clear", NULL, NULL, TAG_DELETE_CACHE),
	ROW("remove|uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("add|install|update|sync|self|upgrade", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("config", NULL, NULL, TAG_WRITE_CONFIG),
	ROW("build|init|new|export|version|lock", NULL, NULL, TAG_WRITE_TOOL),
	END,
};
static const struct verb apt_verbs[] = {
	ROW("bundle check|list", NULL, NULL, TAG_PACKAGE_READ),
	ROW("install|upgrade|full-upgrade|dist-upgrade|update|reinstall|build-dep|satisfy|download|source|"
	    "localinstall|groupinstall|makecache|builddep|swap|downgrade|refresh|tap|fetch|bundle|sync|"
	    "distro-sync|check-update|safe-upgrade|system-upgrade|add|in|up|dup|enable|switch",
		NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("remove|purge|autoremove|autopurge|erase|uninstall|groupremove|delete|del|rm|untap|unlink|"
	    "deinstall|zap",
		NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("clean|autoclean|cleanup", NULL, NULL, TAG_DELETE_CACHE),
	ROW("services stop|start|restart", NULL, NULL, TAG_PROCESS_SERVICE),
	ROW("config-manager|edit-sources|mark|pin|unpin|hold|unhold|link|module|copr|repos|addrepo|"
	    "removerepo|ar|rr",
		NULL, NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb apt_mark_verbs[] = {
	ROW("showmanual|showauto|showhold|showinstall|showremove|showpurge|minimize-manual", NULL, NULL,
		TAG_PACKAGE_READ),
	END,
};
static const struct verb emerge_verbs[] = {
	ROW("", "p pretend s search info", NULL, TAG_PACKAGE_READ),
	END,
};
static const struct verb conda_verbs[] = {
	CALL("run", run_rest),
	ROW("env remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("env list|export", NULL, NULL, TAG_PACKAGE_READ),
	ROW("remove|uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("install|create|update|upgrade|env|self-update", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("clean", NULL, NULL, TAG_DELETE_CACHE),
	ROW("config", "add set remove append prepend", NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb cargo_verbs[] = {
	ROW("build|b|check|c|test|t|run|r|bench|clippy|doc|d|fetch|nextest|miri|tarpaulin|watch|make|llvm-"
	    "cov|expand|leptos|tauri|xtask",
		NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("clean", NULL, NULL, TAG_DELETE_CACHE),
	ROW("publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("yank|owner", NULL, NULL, TAG_PUBLISH_UNPUBLISH),
	ROW("install|binstall", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("add|remove|rm|update|generate-lockfile|vendor|new|init|fmt|fix|package", NULL, NULL,
		TAG_WRITE_TOOL),
	ROW("login|logout", NULL, NULL, TAG_WRITE_CONFIG),
	END,
};
static const struct verb go_verbs[] = {
	ROW("build|test|run|vet|generate|tool", NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("install|get", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("clean", NULL, NULL, TAG_DELETE_CACHE),
	ROW("mod|work|fmt|fix", NULL, NULL, TAG_WRITE_TOOL),
	ROW("env", "w u", NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb gem_verbs[] = {
	ROW("push", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("yank|owner", NULL, NULL, TAG_PUBLISH_UNPUBLISH),
	ROW("install|i|update|fetch", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("uninstall|cleanup", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("build", NULL, NULL, TAG_WRITE_TOOL),
	ROW("sources", "a r add remove clear-all", NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb bundle_verbs[] = {
	CALL("exec", run_rest),
	ROW("install|update|add|i", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("remove|clean", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("config", NULL, NULL, TAG_WRITE_CONFIG),
	END,
};
static const struct verb composer_verbs[] = {
	ROW("install|i|update|u|require|r|global|create-project|self-update|upgrade", NULL, NULL,
		TAG_PACKAGE_INSTALL),
	ROW("remove|uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("run-script|run|test|exec|dump-autoload|dumpautoload", NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("clear-cache|clearcache|cc", NULL, NULL, TAG_DELETE_CACHE),
	ROW("config", NULL, NULL, TAG_PACKAGE_CONFIG),
	END,
};
static const struct verb twine_verbs[] = { ROW("upload|register", NULL, NULL, TAG_PUBLISH_PACKAGE), END };
static const struct verb flit_verbs[] = { ROW("publish|upload", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("install", NULL, NULL, TAG_PACKAGE_INSTALL), CALL("run", run_rest),
	ROW("env remove|prune", NULL, NULL, TAG_PACKAGE_REMOVE), END };
static const struct verb gradle_verbs[] = {
	ROW("publish|uploadArchives|publishToMavenCentral|publishPlugins|"
	    "publishAllPublicationsToMavenRepository|closeAndReleaseRepository",
		NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("clean publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("publishSigned|+publish|+publishSigned|sonatypeRelease|sonatypeBundleRelease|release", NULL, NULL,
		TAG_PUBLISH_PACKAGE),
	ROW("flywayClean|dropDatabase|dropAll|liquibaseDropAll", NULL, NULL, TAG_DB_DROP),
	END,
};
static const struct verb mvn_verbs[] = {
	ROW("deploy|release:perform|release:prepare|site-deploy", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("clean deploy", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("flyway:clean|liquibase:dropAll", NULL, NULL, TAG_DB_DROP),
	END,
};
static const struct verb dotnet_verbs[] = {
	ROW("nuget push", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("nuget delete", NULL, NULL, TAG_PUBLISH_UNPUBLISH),
	ROW("ef database drop", NULL, NULL, TAG_DB_DROP),
	ROW("ef database", NULL, NULL, TAG_DB_MIGRATE),
	ROW("tool install|update|uninstall", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("add * package", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("add|remove|new|sln|format", NULL, NULL, TAG_WRITE_TOOL),
	ROW("user-secrets list", NULL, NULL, TAG_SECRET_STORE),
	ROW("user-secrets clear|remove", NULL, NULL, TAG_DELETE_KEY),
	ROW("workload|sdk install|uninstall|update", NULL, NULL, TAG_PACKAGE_INSTALL),
	END,
};
static const struct verb mix_verbs[] = {
	ROW("ecto.drop|ecto.reset", NULL, NULL, TAG_DB_DROP),
	ROW("ecto.rollback", NULL, NULL, TAG_DB_CHANGE),
	ROW("hex.publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("hex.retire", NULL, NULL, TAG_PUBLISH_UNPUBLISH),
	ROW("deps.get|deps.update|archive.install|local.hex", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("deps.clean|clean", NULL, NULL, TAG_DELETE_CACHE),
	END,
};
/* Capacitor and Capistrano share a name; the latter deploys. */
static const struct verb cap_verbs[] = {
	ROW("sync|copy|build|open|ls|doctor|add|init|update|migrate|plugin", NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("", "T tasks", NULL, TAG_READ_QUERY),
	END,
};
static const struct verb rustup_verbs[] = {
	ROW("show|which|doc|help", NULL, NULL, TAG_PACKAGE_READ),
	ROW("toolchain|target|component|override list", NULL, NULL, TAG_PACKAGE_READ),
	ROW("check|completions|man", NULL, NULL, TAG_PACKAGE_READ),
	CALL("run", run_rest),
	ROW("self uninstall", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("toolchain|target|component|override remove|uninstall|unset", NULL, NULL, TAG_PACKAGE_REMOVE),
	END,
};
static const struct verb nix_verbs[] = {
	ROW("store|profile|registry|config|derivation "
	    "ping|info|list|history|diff-closures|ls|cat|show|path-info|"
	    "verify|dump-path",
		NULL, NULL, TAG_PACKAGE_READ),
	ROW("hash|why-depends|edit|doctor|print-dev-env|nar|key", NULL, NULL, TAG_PACKAGE_READ),
	ROW("build|develop|shell|run|eval|repl|log|search|show-derivation|path-info", NULL, NULL,
		TAG_SCRIPT_BUILD),
	ROW("store|profile gc|delete|remove|wipe-history", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("flake|fmt", NULL, NULL, TAG_WRITE_TOOL),
	END,
};
static const struct verb fab_verbs[] = {
	ROW("", "l list d display", NULL, TAG_READ_QUERY),
	END,
};
static const struct verb nix_env_verbs[] = {
	ROW("", "q query list-generations", NULL, TAG_PACKAGE_READ),
	END,
};
static const struct verb nix_collect_verbs[] = {
	ROW("", "dry-run", NULL, TAG_PACKAGE_READ),
	END,
};
static const struct verb nvm_verbs[] = {
	ROW("uninstall|remove", NULL, NULL, TAG_PACKAGE_REMOVE),
	ROW("install|i", NULL, NULL, TAG_PACKAGE_INSTALL),
	CALL("exec|run", run_rest),
	END,
};
static const struct verb vsce_verbs[] = { ROW("publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("unpublish|delete-publisher", NULL, NULL, TAG_PUBLISH_UNPUBLISH), END };
static const struct verb code_verbs[] = {
	ROW("", "install-extension uninstall-extension", NULL, TAG_PACKAGE_INSTALL),
	END,
};
static const struct verb turbo_verbs[] = { CALL("exec", run_rest),
	ROW("reset|daemon", NULL, NULL, TAG_DELETE_CACHE),
	ROW("release|publish", NULL, NULL, TAG_PUBLISH_PACKAGE), END };

static const struct verb eas_verbs[] = {
	ROW("submit|update|deploy|deliver|pilot|supply|release|beta|upload_to_app_store|upload_to_testflight|"
	    "upload_to_play_store|production|appstore|testflight",
		NULL, NULL, TAG_PUBLISH_RELEASE),
	ROW("ios|android|mac submit|deploy|deliver|pilot|supply|release|beta|production|upload", NULL, NULL,
		TAG_PUBLISH_RELEASE),
	ROW("match nuke", NULL, NULL, TAG_DELETE_KEY),
	END,
};
static const struct verb pub_verbs[] = {
	ROW("pub publish|lish", NULL, "n dry-run", TAG_PUBLISH_PACKAGE),
	ROW("upload|publish", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("pub global", NULL, NULL, TAG_PACKAGE_INSTALL),
	ROW("remove|purge", NULL, NULL, TAG_PACKAGE_REMOVE),
	END,
};
static const struct verb ninja_verbs[] = {
	ROW("clean|cleandead|restat", "t", NULL, TAG_DELETE_CACHE),
	END,
};
static const struct verb code_option[] = { ROW("", "e", NULL, TAG_DYNAMIC_CODE), END };
static const struct verb release_verbs[] = {
	ROW("check|healthcheck|jsonschema|completion|init", NULL, NULL, TAG_READ_QUERY),
	ROW("build", NULL, NULL, TAG_SCRIPT_BUILD),
	ROW("", "dry-run d snapshot version v help h", NULL, TAG_READ_QUERY),
	END,
};
static const struct verb setup_verbs[] = {
	ROW("upload|register", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("* upload|register", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("* * upload|register", NULL, NULL, TAG_PUBLISH_PACKAGE),
	ROW("install|develop", NULL, NULL, TAG_PACKAGE_INSTALL),
	END,
};

#define BUILD(name) \
	{ \
		name, NULL, TAG_SCRIPT_BUILD, NULL, NULL, 0, 0 \
	}
#define TAGGED(name, tag) \
	{ \
		name, NULL, tag, NULL, NULL, 0, 0 \
	}
#define RUNS(name, run, tag) \
	{ \
		name, run, tag, NULL, NULL, 0, 0 \
	}
#define VERBS(name, tag, spec, verbs) \
	{ \
		name, NULL, tag, spec, verbs, 0, 0 \
	}
#define LINT(name, mode) \
	{ \
		name, classify_linter, TAG_READ_QUERY, NULL, NULL, 0, mode \
	}
#define APT "co=:option=,config-file=,target-release= t="
#define NPM "CF=:prefix=,registry=,workspace=,filter=,cwd=,dir=,userconfig= w="

static const struct program rows[] = {
	VERBS("apk", TAG_PACKAGE_READ, "p=X=", apt_verbs),
	VERBS("apt", TAG_PACKAGE_READ, APT, apt_verbs),
	TAGGED("apt-cache", TAG_PACKAGE_READ),
	VERBS("apt-get", TAG_PACKAGE_READ, APT, apt_verbs),
	TAGGED("apt-key", TAG_PACKAGE_CONFIG),
	VERBS("apt-mark", TAG_PACKAGE_CONFIG, "", apt_mark_verbs),
	VERBS("aptitude", TAG_PACKAGE_READ, APT, apt_verbs),
	BUILD("autoconf"),
	BUILD("automake"),
	LINT("autopep8", 0),
	BUILD("autoreconf"),
	BUILD("ava"),
	BUILD("bazel"),
	BUILD("bazelisk"),
	LINT("biome", 0),
	LINT("black", 1),
	VERBS("brew", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("buck2"),
	VERBS("bundle", TAG_PACKAGE_READ, "", bundle_verbs),
	VERBS("bundler", TAG_PACKAGE_READ, "", bundle_verbs),
	RUNS("bunx", classify_npx, TAG_PACKAGE_RUN),
	BUILD("c++"),
	BUILD("cabal"),
	VERBS("cap", TAG_PUBLISH_DEPLOY, "", cap_verbs),
	VERBS("cargo", TAG_SCRIPT_BUILD, "", cargo_verbs),
	BUILD("cc"),
	VERBS("choco", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("clang"),
	BUILD("clang++"),
	LINT("clang-format", 0),
	LINT("clang-tidy", 0),
	RUNS("cmake", classify_cmake, TAG_SCRIPT_BUILD),
	VERBS("code", TAG_READ_QUERY, "", code_verbs),
	VERBS("composer", TAG_PACKAGE_READ, "d=", composer_verbs),
	RUNS("concurrently", run_texts, TAG_SCRIPT_BUILD),
	VERBS("conda", TAG_PACKAGE_READ, "np=", conda_verbs),
	BUILD("configure"),
	BUILD("coverage"),
	BUILD("cpack"),
	BUILD("ctest"),
	BUILD("cypress"),
	VERBS("dart", TAG_SCRIPT_BUILD, "", pub_verbs),
	BUILD("dbt"),
	VERBS("dnf", TAG_PACKAGE_READ, "cx=:enablerepo=,disablerepo=,exclude=", apt_verbs),
	VERBS("dotnet", TAG_SCRIPT_BUILD, "", dotnet_verbs),
	RUNS("dpkg", classify_dpkg, TAG_PACKAGE_READ),
	VERBS("eas", TAG_SCRIPT_BUILD, "", eas_verbs),
	TAGGED("easy_install", TAG_PACKAGE_INSTALL),
	VERBS("emerge", TAG_PACKAGE_INSTALL, "", emerge_verbs),
	BUILD("esbuild"),
	LINT("eslint", 0),
	VERBS("fab", TAG_PUBLISH_DEPLOY, "", fab_verbs),
	VERBS("fastlane", TAG_SCRIPT_BUILD, "", eas_verbs),
	LINT("flake8", 0),
	VERBS("flatpak", TAG_PACKAGE_READ, "", apt_verbs),
	VERBS("flit", TAG_SCRIPT_BUILD, "", flit_verbs),
	VERBS("flutter", TAG_SCRIPT_BUILD, "", pub_verbs),
	BUILD("g++"),
	BUILD("gcc"),
	VERBS("gem", TAG_PACKAGE_READ, "", gem_verbs),
	BUILD("gfortran"),
	VERBS("ghc", TAG_SCRIPT_BUILD, "", code_option),
	RUNS("gmake", classify_make, TAG_SCRIPT_BUILD),
	{ "go", classify_go, TAG_PACKAGE_READ, "C=", go_verbs, 0, 0 },
	LINT("gofmt", 0),
	LINT("goimports", 0),
	LINT("golangci-lint", 0),
	VERBS("goreleaser", TAG_PUBLISH_RELEASE, "", release_verbs),
	VERBS("gradle", TAG_SCRIPT_BUILD, "pbIg=", gradle_verbs),
	VERBS("gradlew", TAG_SCRIPT_BUILD, "pbIg=", gradle_verbs),
	BUILD("grunt"),
	BUILD("gulp"),
	LINT("hadolint", 0),
	VERBS("hatch", TAG_SCRIPT_BUILD, "", flit_verbs),
	LINT("isort", 1),
	BUILD("jasmine"),
	RUNS("java", classify_java, TAG_SCRIPT_BUILD),
	BUILD("javac"),
	BUILD("jest"),
	BUILD("jupyter"),
	RUNS("just", run_task, TAG_SCRIPT_BUILD),
	BUILD("k6"),
	BUILD("kotlinc"),
	LINT("ktlint", 0),
	BUILD("lake"),
	BUILD("lcov"),
	BUILD("ld"),
	VERBS("lerna", TAG_SCRIPT_BUILD, "", turbo_verbs),
	VERBS("luarocks", TAG_SCRIPT_BUILD, "", pub_verbs),
	RUNS("make", classify_make, TAG_SCRIPT_BUILD),
	VERBS("mamba", TAG_PACKAGE_READ, "np=", conda_verbs),
	BUILD("maturin"),
	BUILD("meson"),
	VERBS("micromamba", TAG_PACKAGE_READ, "np=", conda_verbs),
	VERBS("mix", TAG_SCRIPT_BUILD, "", mix_verbs),
	BUILD("mocha"),
	VERBS("mvn", TAG_SCRIPT_BUILD, "fPsD=", mvn_verbs),
	VERBS("mvnw", TAG_SCRIPT_BUILD, "fPsD=", mvn_verbs),
	LINT("mypy", 0),
	BUILD("next"),
	BUILD("ng"),
	VERBS("ninja", TAG_SCRIPT_BUILD, "CfjklNd=", ninja_verbs),
	VERBS("nix", TAG_PACKAGE_INSTALL, "", nix_verbs),
	BUILD("nix-build"),
	VERBS("nix-collect-garbage", TAG_PACKAGE_REMOVE, "", nix_collect_verbs),
	VERBS("nix-env", TAG_PACKAGE_INSTALL, "", nix_env_verbs),
	BUILD("nix-shell"),
	TAGGED("nixos-rebuild", TAG_PACKAGE_INSTALL),
	RUNS("nodemon", run_texts, TAG_SCRIPT_BUILD),
	BUILD("nosetests"),
	BUILD("nox"),
	VERBS("npm", TAG_PACKAGE_READ, NPM, npm_verbs),
	RUNS("npx", classify_npx, TAG_PACKAGE_RUN),
	BUILD("nvcc"),
	VERBS("nvm", TAG_PACKAGE_READ, "", nvm_verbs),
	VERBS("nx", TAG_SCRIPT_BUILD, "", turbo_verbs),
	RUNS("pacman", classify_pacman, TAG_PACKAGE_INSTALL),
	BUILD("parcel"),
	RUNS("paru", classify_pacman, TAG_PACKAGE_INSTALL),
	VERBS("pdm", TAG_PACKAGE_READ, "p=", poetry_verbs),
	LINT("phpcs", 0),
	LINT("phpstan", 0),
	BUILD("phpunit"),
	VERBS("pip", TAG_PACKAGE_READ, ":proxy=,log=,cache-dir=", pip_verbs),
	VERBS("pip3", TAG_PACKAGE_READ, ":proxy=,log=,cache-dir=", pip_verbs),
	VERBS("pipenv", TAG_PACKAGE_READ, "", poetry_verbs),
	VERBS("pipx", TAG_PACKAGE_READ, "", uv_verbs),
	VERBS("pixi", TAG_PACKAGE_READ, "", poetry_verbs),
	VERBS("pkg", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("playwright"),
	{ "pnpm", classify_yarn, TAG_SCRIPT_BUILD, NPM, npm_verbs, 0, 0 },
	RUNS("pnpx", classify_npx, TAG_PACKAGE_RUN),
	VERBS("poetry", TAG_PACKAGE_READ, "CP=:directory=,project=", poetry_verbs),
	VERBS("port", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("pre-commit"),
	LINT("prettier", 0),
	BUILD("protoc"),
	BUILD("py.test"),
	LINT("pylint", 0),
	LINT("pyright", 0),
	BUILD("pytest"),
	VERBS("release-it", TAG_PUBLISH_RELEASE, "", release_verbs),
	BUILD("rollup"),
	RUNS("rpm", classify_rpm, TAG_PACKAGE_INSTALL),
	BUILD("rspec"),
	LINT("rubocop", 0),
	LINT("ruff", 0),
	BUILD("rustc"),
	LINT("rustfmt", 1),
	VERBS("rustup", TAG_PACKAGE_INSTALL, "", rustup_verbs),
	VERBS("sbt", TAG_SCRIPT_BUILD, "", gradle_verbs),
	BUILD("scons"),
	VERBS("scoop", TAG_PACKAGE_READ, "", apt_verbs),
	VERBS("sdk", TAG_PACKAGE_READ, "", apt_verbs),
	VERBS("semantic-release", TAG_PUBLISH_RELEASE, "", release_verbs),
	VERBS("setup.py", TAG_SCRIPT_BUILD, "", setup_verbs),
	LINT("shfmt", 0),
	RUNS("shx", run_rest, TAG_SCRIPT_BUILD),
	VERBS("snap", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("stack"),
	BUILD("storybook"),
	LINT("stylelint", 0),
	VERBS("swift", TAG_SCRIPT_BUILD, "", code_option),
	LINT("swiftlint", 0),
	RUNS("task", run_task, TAG_SCRIPT_BUILD),
	BUILD("tox"),
	BUILD("trunk"),
	BUILD("tsc"),
	VERBS("turbo", TAG_SCRIPT_BUILD, "", turbo_verbs),
	VERBS("twine", TAG_PACKAGE_READ, "", twine_verbs),
	VERBS("uv", TAG_PACKAGE_READ, ":directory=,project=,config-file=", uv_verbs),
	RUNS("uvx", classify_npx, TAG_PACKAGE_RUN),
	BUILD("virtualenv"),
	BUILD("vite"),
	BUILD("vitest"),
	VERBS("vsce", TAG_READ_QUERY, "", vsce_verbs),
	BUILD("webpack"),
	VERBS("winget", TAG_PACKAGE_READ, "", apt_verbs),
	BUILD("xcodebuild"),
	BUILD("xcrun"),
	LINT("yamllint", 0),
	{ "yarn", classify_yarn, TAG_SCRIPT_BUILD, NPM, npm_verbs, 0, 0 },
	RUNS("yay", classify_pacman, TAG_PACKAGE_INSTALL),
	VERBS("yum", TAG_PACKAGE_READ, "cx=:enablerepo=,disablerepo=", apt_verbs),
	BUILD("zig"),
	VERBS("zypper", TAG_PACKAGE_READ, "cr=", apt_verbs),
};
const struct program_table programs_packages = { rows, ARRAY_SIZE(rows) };
