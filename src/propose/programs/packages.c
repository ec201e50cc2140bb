/* packages.c — package managers, publishers, build tools, test runners and language toolchains.
 *
 * Building and testing is the daily work: it runs project code, which the sandbox contains, and is not
 * stopped here. Installing brings in code of others, publishing sends ours out; both have tags of their
 * own. Project tasks (npm run x, make x) are opaque: what they do stands in files that are not read
 * here, so only their names can warn. */
#include "propose/programs/programs.h"

#include "base/json.h"
#include "base/toml.h"

#include <string.h>

/* A task whose name says what it does to the data: db:reset, drop-db, destroy. Softer verbs count only
 * together with a word for data, because `reset` alone may reset anything. */
bool task_destroys(const struct word *x)
{
	static const char verbs[] = "destroy drop nuke wipe purge teardown uninstall obliterate";
	if (x->certainty != CERTAIN || word_starts(x, "-") || strchr(x->text, '='))
		return false;
	if (verb_in(verbs, x->text, x->text_n))
		return true;
	/* Words that say that the task is about data. */
	bool is_data =
		word_has(x, "db") || word_has(x, "database") || word_has(x, "prisma") || word_has(x, "prod");
	return is_data &&
		(word_has(x, "reset") || word_has(x, "drop") || word_has(x, "wipe") ||
			word_has(x, "destroy") || word_has(x, "delete") || word_has(x, "truncate") ||
			word_has(x, "purge"));
}

/* npx tool args: known tools are judged as themselves, all are fetched packages that run. */
HANDLER(npx)
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
		if (word_has(&s.value, "/") && text_ends(s.value.text, ".py")) { /* pipx run ./tool.py */
			run_script(k, &s.value, "python");
			return;
		}
		if (word_has(&s.value, " ")) { /* yarn exec 'a line for the shell' */
			run_text(k, &s.value, 0, "exec");
			return;
		}
		size_t n = strcspn(s.value.text, "@");
		/* A version behind "@" is not part of the tool's name. */
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

/* yarn workspaces foreach [options] exec cmd */
HANDLER(yarn_each)
{
	if (k->rest_count)
		run_argv(k, k->rest, k->rest_count, 0, "yarn");
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* poetry run cmd, uv run cmd, bundle exec cmd: the first operand starts the command. */
HANDLER(rest)
{
	struct args s;
	args_start(&s, walk_arena(k->w), k->rest, k->rest_count,
		"+np=:with=,python=,env-file=,group=,extra=,package=,project=,directory=,name=,prefix=,cwd=");
	for (int item; (item = args_next(&s)) != ARG_END;)
		if (item == ARG_OPERAND || item == ARG_DYNAMIC) {
			/* uv run tool.py: the file, not a program of that name */
			if (text_ends(s.value.text, ".py") && s.value.certainty == CERTAIN &&
				!text_eq(s.value.text, "manage.py") && !text_eq(s.value.text, "setup.py"))
				run_script(k, &s.value, "python");
			else
				run_argv(k, s.word, k->rest_count - (size_t)(s.word - k->rest), 0, k->head);
			return;
		}
}

/* concurrently 'cmd' 'cmd', nodemon --exec 'cmd': words that are command lines. */
HANDLER(texts)
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
		if (word_starts(&p.operands[i], "npm:") || word_starts(&p.operands[i], "pnpm:") ||
			word_starts(&p.operands[i], "yarn:") || word_starts(&p.operands[i], "bun:") ||
			word_starts(&p.operands[i], "node:")) {
			struct word name = word_tail(&p.operands[i], strcspn(p.operands[i].text, ":") + 1);
			project_script(k, &name);
		} else {
			run_text(k, &p.operands[i], 0, k->head);
		}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* npm explore pkg -- cmd; without a command it opens a shell. */
HANDLER(after_dashes)
{
	size_t i = 0;
	while (i < k->rest_count && !word_is(&k->rest[i], "--"))
		i++;
	if (i + 1 < k->rest_count)
		run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, k->head);
	else
		fx(k, TAG_STDIN_SHELL, NULL, 0);
}

/* nix develop -c cmd args: the command runs in the project's environment. */
HANDLER(nix_command)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "-c --command")) {
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, k->head);
			break;
		}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* nix eval --expr TEXT: the text is code, what it reads is printed, and paths stand in it without quotes. */
HANDLER(nix_eval)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++) {
		const struct word *x = &k->rest[i + 1];
		if (!word_is_any(&k->rest[i], "-E --expr"))
			continue;
		classify_code(k, "nix", x);
		for (const char *p = x->text; (p = strpbrk(p, "/~"));) {
			size_t n = strcspn(p, " \t\n;)}]\"'");
			bool begins = p == x->text || strchr(" \t\n([=", p[-1]);
			struct word path = walk_word(k->w, arena_strndup(walk_arena(k->w), p, n), x->at);
			p += n;
			if (begins && n > 1)
				fx_read(k, &path, 1);
		}
	}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* What the tasks of a Taskfile run; to list them, or to say what would be run, runs nothing. */
static void run_taskfile(struct call *k)
{
	enum { FILE_, DIR_, ONLY_SAYS };
	const char *cwd = walk_cwd(k->w, k->c);
	struct word back = cwd ? walk_word(k->w, arena_strdup(walk_arena(k->w), cwd), k->c->at)
			       : (struct word){ .text = "", .certainty = DYNAMIC, .at = k->c->at };
	struct parsed p;
	size_t n = 0; /* what stands behind "--" is for the commands */
	while (n < k->rest_count && !word_is(&k->rest[n], "--"))
		n++;
	args_parse(walk_arena(k->w), k->rest, n,
		"t=:taskfile= d=:dir= lanih:list,list-all,summary,dry,init,version,help,completion= "
		"oCIx=:output=,concurrency=,interval=,sort=,output-group-begin=,output-group-end=",
		&p);
	if (args_has(&p, ONLY_SAYS))
		return;
	if (p.values[DIR_])
		walk_set_cwd(k->w, k->c, p.values[DIR_]);
	project_taskfile(k, p.values[FILE_], p.operands, p.operand_count);
	if (p.values[DIR_])
		walk_set_cwd(k->w, k->c, &back);
}

/* The project's own tasks: what they do is not known, but some names say it. */
HANDLER(task)
{
	size_t place;
	struct parsed p;
	if (text_eq(k->head, "just") &&
		!args_find(k->rest, k->rest_count,
			"l list summary dump s show evaluate fmt n dry-run V version h help")) {
		args_parse(walk_arena(k->w), k->rest, k->rest_count,
			"f=:justfile= d=:working-directory= E=:dotenv-path=,dotenv-filename=,shell=,shell-arg=,color=,chooser=",
			&p);
		project_justfile(k, p.values[0], p.operands, p.operand_count);
	}
	if (text_eq(k->head, "task"))
		run_taskfile(k);
	if (verb_words(k, "", 1, &place) && task_destroys(&k->rest[place]))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[place], 0);
	else
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* run-s clean build, concurrently npm:test: each operand is the name of a script; of nx it follows the project. */
HANDLER(scripts)
{
	for (size_t i = 0; i < k->rest_count && !word_is(&k->rest[i], "--"); i++) {
		const struct word *x = &k->rest[i];
		const char *colon = text_eq(k->head, "nx") ? strchr(x->text, ':') : NULL;
		struct word name = word_tail(x, colon ? (size_t)(colon + 1 - x->text) : 0);
		if (!word_starts(x, "-"))
			project_script(k, &name);
		if (!word_starts(x, "-") && task_destroys(x))
			fx(k, TAG_UNKNOWN_DESTRUCTIVE, x, 0);
	}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* corepack pnpm@9 add x: the word in front of those that are left is the program, with or without a version. */
HANDLER(verb_program)
{
	struct word *v = arena_alloc(walk_arena(k->w), (k->rest_count + 1) * sizeof(*v));
	memcpy(v, k->rest - 1, (k->rest_count + 1) * sizeof(*v));
	if (v[0].certainty == CERTAIN)
		v[0] = word_head(walk_arena(k->w), &v[0], strcspn(v[0].text, "@"));
	const struct program *p = v[0].certainty == CERTAIN ? program_find(v[0].text, v[0].text_n) : NULL;
	if (p)
		run_argv(k, v, k->rest_count + 1, 0, k->head);
	else
		fx(k, TAG_PACKAGE_CONFIG, NULL, 0);
}

/* npm it, npm cit: what was installed is tested. */
HANDLER(npm_install_test)
{
	struct word name = walk_word(k->w, "test", k->c->at);
	project_script(k, &name);
	fx(k, TAG_PACKAGE_INSTALL, k->rest_count ? &k->rest[0] : NULL, 0);
}

/* npm run NAME: what package.json says that it does. */
HANDLER(npm_run)
{
	size_t place;
	if (verb_words(k, "", 1, &place))
		project_script(k, &k->rest[place]);
	handle_task(k);
}

/* npm config get //registry/:_authToken: a credential that is printed. */
HANDLER(npm_get)
{
	bool is_secret = false;
	for (size_t i = 0; i < k->rest_count; i++)
		is_secret |= says_credential(&k->rest[i]) || strcasestr(k->rest[i].text, "auth");
	fx(k, is_secret ? TAG_SECRET_STORE : TAG_PACKAGE_READ, NULL, 0);
}

/* npm test, npm start: the verb, which stands in front of the words that are left, is the script's name. */
HANDLER(npm_script)
{
	project_script(k, k->rest - 1);
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* java -jar tool.jar delete-job x: the words behind the archive are those of a program nobody knows. */
HANDLER(java)
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

/* cmake -E is a toolbox that deletes files and runs programs; otherwise cmake builds. */
HANDLER(cmake)
{
	for (size_t i = 0; i + 1 < k->rest_count; i++)
		if (word_is(&k->rest[i], "--test-command")) /* of ctest: the rest of the line */
			run_argv(k, k->rest + i + 1, k->rest_count - i - 1, 0, "ctest");
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
			if (word_is_any(&v[0],
				    "copy copy_directory rename copy_if_different create_symlink touch cat tar") &&
				n > 1) {
				fx_read_tree(k, v + 1, n - 2);
				if (!word_is(&v[0], "cat"))
					(void)fx_path(k, TAG_WRITE_FILE, &v[n - 1], FXF_OVERWRITE);
				return;
			}
			if (word_is(&v[0], "env")) {
				run_argv(k, v, n, 0, "cmake -E");
				return;
			}
			if (word_is_any(&v[0], "time chdir")) {
				size_t skip = word_is(&v[0], "chdir") ? 2 : 1;
				if (n > skip)
					run_argv(k, v + skip, n - skip, 0, "cmake -E");
				return;
			}
		}
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* yarn alone installs; with a word it does not know it runs the project's script of that name. */
HANDLER(yarn)
{
	size_t place;
	bool has_verb = verb_words(k, program_options(k->program), 1, &place);
	if (has_verb && strchr(k->rest[place].text, ':') && task_destroys(&k->rest[place]))
		fx(k, TAG_UNKNOWN_DESTRUCTIVE, &k->rest[place], 0);
	else if (has_verb || !text_eq(program_name(k->program), "yarn")) {
		if (has_verb)
			project_script(k, &k->rest[place]);
		run_verbs(k);
	} else
		fx(k,
			args_find(k->rest, k->rest_count, "v version help h") ? TAG_PACKAGE_READ
									      : TAG_PACKAGE_INSTALL,
			NULL, 0);
}

/* go run ./cmd/x runs the files there; go generate runs the lines that begin with //go:generate. */
static void read_go(struct call *k)
{
	const char *files[SCRIPTS_FOUND];
	bool runs = k->rest_count > 1 && word_is(&k->rest[0], "run"),
	     generates = k->rest_count && word_is(&k->rest[0], "generate");

	for (size_t i = 1; runs && i < k->rest_count; i++) {
		if (word_starts(&k->rest[i], "-") || k->rest[i].certainty != CERTAIN)
			continue;
		size_t n = text_ends(k->rest[i].text, ".go")
			? 0
			: tree_select(
				  k, project_here(k, k->rest[i].text), "*.go", true, files, SCRIPTS_FOUND);
		for (size_t j = 0; j < n; j++)
			project_code(k, files[j], "go");
		break;
	}
	if (generates)
		for (size_t j = 0,
			    n = tree_select(k, project_here(k, "."), "*.go", false, files, SCRIPTS_FOUND);
			j < n; j++)
			project_document(k, files[j], "go");
}

/* go run of a file written a moment ago runs that text. */
HANDLER(go)
{
	/* go run f.go, where f.go was written a moment ago */
	for (size_t i = 1; i < k->rest_count && word_is(&k->rest[0], "run"); i++) {
		struct feed content;
		if (!text_ends(k->rest[i].text, ".go"))
			continue;
		struct effect *e = fx_path(k, TAG_SCRIPT_FILE, &k->rest[i], 0);
		if (e && e->target && note_find(k, e->target, &content) && content.kind == FEED_KNOWN)
			classify_code_bytes(k, "go", content.text, content.n);
		else if (e && e->target)
			project_code(k, e->target, "go");
	}
	read_go(k);
	run_verbs(k);
}

/* A word of .cargo/config.toml stands for others. */
static const struct json *cargo_alias(struct call *k, const struct word *verb)
{
	static const char *const files[] = { ".cargo/config.toml", ".cargo/config" };
	struct arena *a = walk_arena(k->w);
	struct bytes text;
	struct json *doc;

	for (size_t i = 0; i < ARRAY_SIZE(files) && verb->certainty == CERTAIN; i++) {
		const char *path = project_here(k, files[i]);
		if (path && project_text(k, path, &text) && toml_parse(a, text, path, &doc, NULL) == 0 &&
			json_get(json_get(doc, "alias"), verb->text))
			return json_get(json_get(doc, "alias"), verb->text);
	}
	return NULL;
}

static void run_cargo_alias(struct call *k, const struct json *alias, size_t place)
{
	struct arena *a = walk_arena(k->w);
	struct buf line;

	buf_init(&line, a);
	buf_adds(&line, "cargo");
	if (json_is(alias, JSON_STRING))
		buf_addf(&line, " %s", alias->text);
	json_each (word, alias)
		if (json_text(word))
			buf_addf(&line, " %s", json_text(word));
	for (size_t i = place + 1; i < k->rest_count; i++)
		buf_addf(&line, " %s", k->rest[i].text);
	struct word text = walk_word(k->w, line.p, k->c->at);
	run_text(k, &text, 0, "cargo alias");
}

/* cargo run, test, bench: the program that it builds and starts, as far as its text is where cargo looks for it. */
HANDLER(cargo)
{
	struct arena *a = walk_arena(k->w);
	size_t place;
	bool has_verb = verb_words(k, program_options(k->program), 1, &place);
	const struct json *alias = has_verb ? cargo_alias(k, &k->rest[place]) : NULL;

	if (alias) {
		run_cargo_alias(k, alias, place);
		return;
	}
	if (has_verb && word_is_any(&k->rest[place], "run r test t bench xtask")) {
		const char *files[] = { "src/main.rs", "xtask/src/main.rs", "src/lib.rs" };
		for (size_t i = 0; i < ARRAY_SIZE(files); i++)
			project_code(k, project_here(k, files[i]), "rust");
		for (size_t i = 0; i + 1 < k->rest_count; i++) {
			const char *name = k->rest[i + 1].text;
			if (word_is(&k->rest[i], "--bin"))
				project_code(
					k, project_here(k, arena_printf(a, "src/bin/%s.rs", name)), "rust");
			else if (word_is(&k->rest[i], "--example"))
				project_code(
					k, project_here(k, arena_printf(a, "examples/%s.rs", name)), "rust");
			else if (word_is_any(&k->rest[i], "-p --package")) {
				project_code(
					k, project_here(k, arena_printf(a, "%s/src/main.rs", name)), "rust");
				project_code(k,
					project_here(k, arena_printf(a, "crates/%s/src/main.rs", name)),
					"rust");
			}
		}
	}
	run_verbs(k);
}

/* dpkg, rpm and pacman say by options what other managers say by verbs. */
HANDLER(dpkg)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "xX:extract,vextract,control R", &p);
	if (args_has(&p, 0)) { /* an archive is unpacked, not installed */
		struct word inside = word_below(k, p.operand_count > 1 ? &p.operands[1] : &k->rest[0]);
		fx_read(k, p.operands, p.operand_count ? 1 : 0);
		if (p.operand_count > 1)
			(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_OVERWRITE | FXF_RECURSIVE);
	} else if (args_find(k->rest, k->rest_count, "i install unpack configure"))
		fx(k, TAG_PACKAGE_INSTALL, NULL, 0);
	else if (args_find(k->rest, k->rest_count, "r P remove purge"))
		fx(k, TAG_PACKAGE_REMOVE, NULL, 0);
	else
		fx(k, TAG_PACKAGE_READ, NULL, 0);
}

/* %(command) in a text that rpm expands is run by a shell. */
static void expand_rpm(struct call *k, const struct word *x)
{
	const char *open = strstr(x->text, "%(");
	if (open) {
		const char *close = strrchr(open, ')');
		size_t n = close ? (size_t)(close - open) - 2 : strlen(open + 2);
		struct word text = walk_word(k->w, arena_strndup(walk_arena(k->w), open + 2, n), x->at);
		run_text(k, &text, 0, "rpm --eval");
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* Queries are named; whatever is neither a query nor an erasure installs. */
HANDLER(rpm)
{
	struct parsed p;
	args_parse(walk_arena(k->w), k->rest, k->rest_count, "E=:eval= D=:define=", &p);
	if (p.values[0])
		expand_rpm(k, p.values[0]);
	else if (args_find(k->rest, k->rest_count, "q query V verify checksig K"))
		fx(k, TAG_PACKAGE_READ, NULL, 0);
	else
		fx(k, args_find(k->rest, k->rest_count, "e erase") ? TAG_PACKAGE_REMOVE : TAG_PACKAGE_INSTALL,
			NULL, 0);
}

/* Operations are capital letters; s, i and l make most of them a query. */
HANDLER(pacman)
{
	bool reads = args_find(k->rest, k->rest_count, "Q query F files") ||
		args_find(k->rest, k->rest_count, "s i l search info");
	bool removes = args_find(k->rest, k->rest_count, "R remove");
	fx(k, removes ? TAG_PACKAGE_REMOVE : reads ? TAG_PACKAGE_READ : TAG_PACKAGE_INSTALL, NULL, 0);
}

/* Formatters and linters read, unless they are told to write or are known to write by themselves. */
HANDLER(linter)
{
	bool writes = args_find(k->rest, k->rest_count, "fix write w i in-place inplace fix-dry-run apply") ||
		(k->program->mode & MODE_REWRITES &&
			!args_find(k->rest, k->rest_count, "check diff l list-files version help")) ||
		(k->rest_count && word_is_any(&k->rest[0], "format fmt"));
	if (args_find(k->rest, k->rest_count, "check diff") && k->program->mode & MODE_REWRITES)
		writes = false;
	fx(k, writes ? TAG_WRITE_TOOL : TAG_READ_QUERY, NULL, 0);
}

/* TeX runs programs when it is told to, or when the text on its command line says so. */
HANDLER(tex)
{
	bool escapes = args_find(k->rest, k->rest_count, "shell-escape enable-write18");
	for (size_t i = 0; i < k->rest_count; i++)
		escapes |= word_has(&k->rest[i], "write18") || word_has(&k->rest[i], "\\input|");
	if (escapes)
		fx(k, TAG_DYNAMIC_OPTION, NULL, 0);
	fx(k, TAG_SCRIPT_BUILD, NULL, 0);
}

/* ImageMagick takes a kind in front of a name.  msl and mvg are scripts, and ephemeral deletes what it has read. */
static void judge_kind(struct call *k, const struct word *x)
{
	size_t n = strcspn(x->text, ":");
	struct word file = word_tail(x, n + (x->text[n] == ':'));
	if (word_starts_caseless(x, "msl:") || word_starts_caseless(x, "mvg:"))
		load_code(k, &file, "msl");
	else if (word_starts_caseless(x, "ephemeral:"))
		(void)fx_path(k, TAG_DELETE_FILE, &file, 0);
}

/* The last operand is written; one that starts with a bar is a command. */
HANDLER(converter)
{
	const struct word *last = k->rest_count > 1 ? &k->rest[k->rest_count - 1] : NULL;
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "|")) {
			struct word text = word_tail(&k->rest[i], 1);
			run_text(k, &text, 0, k->head);
		}
	for (size_t i = 0; i < k->rest_count && list_has("convert magick", k->head, strlen(k->head)); i++) {
		judge_kind(k, &k->rest[i]);
		if (i && word_is_any(&k->rest[i - 1], "-write +write"))
			(void)fx_path(k, TAG_WRITE_FILE, &k->rest[i], 0);
	}
	for (size_t i = 0; i + 1 < k->rest_count;
		i++) { /* what is read may be named with its kind: file:PATH */
		const char *colon = strchr(k->rest[i].text, ':');
		struct word from = word_tail(&k->rest[i], colon ? (size_t)(colon + 1 - k->rest[i].text) : 0);
		if (paths_is_secret(walk_surroundings(k->w), from.text))
			fx_read(k, &from, 1);
	}
	if (last && !word_starts(last, "-") && !word_starts(last, "|"))
		(void)fx_path(k, walk_knows_name(last) ? TAG_WRITE_TOOL : TAG_WRITE_FILE, last, 0);
	else
		fx(k, TAG_WRITE_TOOL, NULL, 0);
}
