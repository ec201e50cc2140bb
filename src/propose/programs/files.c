/* files.c — programs that make, change and remove files: rm, cp, mv, ln, chmod, tar and their kin.
 *
 * Each handler reads the program's options by specification, separates operands from option values, and
 * says what happens to which path; how bad that is, is for the rules to decide by path class and flags.
 * Options that run a program (tar --to-command, rsync -e, split --filter) are judged as that program.
 * When the call changes nothing it is said to read, so that every command has at least one effect. */
#include "propose/programs/programs.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>

static void parse(struct call *k, const char *spec, struct parsed *p)
{
	args_parse(walk_arena(k->w), k->rest, k->rest_count, spec, p);
}

/* The call only reports. */
static void nothing(struct call *k)
{
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* A glob for all sources or documents of a directory (*.py, *.md), as against what a build or a run
 * leaves behind. */
static bool is_precious_glob(const struct word *x)
{
	static const char kinds[] =
		"c h cc cpp cxx hpp hh m mm py pyi js jsx ts tsx mjs go rs java kt scala rb php swift cs fs "
		"lua pl pm sh bash zsh sql md rst txt tex html css scss vue svelte json yaml yml toml xml "
		"ini "
		"conf cfg env proto graphql tf ipynb r jl ex exs erl hs ml clj db sqlite sqlite3 csv xlsx "
		"xls "
		"doc docx ppt pptx pdf odt jpg jpeg png gif svg mp4 mov key pem crt";
	static const char *const made[] = { "build/", "dist/", "target/", "out/", "tmp/", "temp/", "cache/",
		"coverage/", "node_modules/", "generated/", "logs/" };
	if (!x->is_glob || x->origin != ORIGIN_LITERAL || text_starts(x->text, "/tmp/"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		if (word_has(x, made[i]))
			return false;
	const char *base = strrchr(x->text, '/');
	base = base ? base + 1 : x->text;
	const char *dot = strrchr(base, '.');
	/* test-*.txt is a few files somebody made; *.txt is all there are. */
	return dot && base[0] == '*' && dot <= base + 2 && list_has(kinds, dot + 1, strlen(dot + 1));
}

/* Also for programs that work like it (the row gives tag and flags). */
HANDLER(rm)
{
	enum { R, F, ROOT };
	struct parsed p;
	parse(k,
		"rR:recursive f:force :no-preserve-root n:dry-run d:dir iI:interactive v:verbose "
		":preserve-root,one-file-system Px",
		&p);
	unsigned flags =
		(args_has(&p, R) ? FXF_RECURSIVE : 0) | (args_has(&p, F) ? FXF_FORCE : 0) | k->program->flags;
	if (args_find(k->rest, k->rest_count, "help version"))
		p.operand_count = 0;
	/* An unknown, unquoted word in front of the operands could hold -r. */
	if (p.has_dynamic && p.operand_count > 1 && p.operands[0].certainty == DYNAMIC &&
		!p.operands[0].is_quoted)
		flags |= FXF_RECURSIVE;
	fx_paths(k, args_has(&p, ROOT) ? TAG_DELETE_NO_PRESERVE : k->program->tag, p.operands,
		p.operand_count, flags);
	for (size_t i = 0; i < p.operand_count; i++)
		if (is_precious_glob(&p.operands[i]))
			(void)fx_path(k, TAG_DELETE_GLOB, &p.operands[i], flags);
	if (!p.operand_count)
		nothing(k);
}

/* rmdir removes empty directories only, except as the Windows command. */
HANDLER(rmdir)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_is_any(&k->rest[i], "/s /S /q /Q")) {
			k->program = program_find("del", 3);
			classify_known(k);
			return;
		}
	struct parsed p;
	parse(k, "p:parents v:verbose :ignore-fail-on-non-empty", &p);
	fx_paths(k, TAG_DELETE_FILE, p.operands, p.operand_count, args_has(&p, 0) ? FXF_RECURSIVE : 0);
}

/* Overwrites before removing, so nothing can be brought back. */
HANDLER(shred)
{
	struct parsed p;
	parse(k, "n=:iterations s=:size :random-source= uzfvx:remove,zero,force,verbose,exact r:recursive",
		&p);
	unsigned flags = FXF_IRRECOVERABLE | (args_has(&p, 4) ? FXF_RECURSIVE : 0);
	for (size_t i = 0; i < p.operand_count; i++)
		(void)fx_path(k, TAG_DELETE_SHRED, &p.operands[i], flags);
}

/* Where a file ends up when the destination is surely a directory: below it, under its own name. That
 * matters for places where the name decides, such as .git/hooks and the settings of clients. */
static struct word destination(struct call *k, const struct word *dir, const struct word *from, bool is_dir)
{
	static const char known[] = ".git .ssh hooks";
	const char *base = strrchr(dir->text, '/');
	base = base ? base + 1 : dir->text;
	if (dir->certainty != CERTAIN || from->certainty != CERTAIN ||
		!(is_dir || !*base || list_has(known, base, strlen(base)) || clients_care_below(base)))
		return *dir;
	const char *name = strrchr(from->text, '/');
	name = name ? name + 1 : from->text;
	return walk_word(k->w, arena_printf(walk_arena(k->w), "%s/%s", dir->text, name), dir->at);
}

/* Operands of cp, mv, ln, install: sources and destination apart. */
struct transfer {
	struct word *from, *to;
	size_t from_count;
	bool into; /* -t: the destination is a directory */
};
/* Sources and destination of cp, mv, ln and install. The destination is the last operand, unless -t
 * names it. False when one of the two is missing. */
static bool split_transfer(struct parsed *p, int item_t, struct transfer *t)
{
	*t = (struct transfer){
		.from = p->operands, .from_count = p->operand_count, .to = p->values[item_t]
	};
	t->into = t->to != NULL;
	if (!t->to && p->operand_count) {
		t->to = &p->operands[p->operand_count - 1];
		t->from_count--;
	}
	return t->to && t->from_count;
}

/* The destination holds what the source holds; of a source that is not known nothing is known. */
static void copied(struct call *k, const struct word *from, const struct effect *to)
{
	const char *cwd = walk_cwd(k->w, k->c);
	struct arena *a = walk_arena(k->w);
	if (!to || !to->target)
		return;
	if (from->certainty == CERTAIN && (from->text[0] == '/' || cwd))
		note_copied(k, path_clean(a, path_join(a, cwd ? cwd : "/", from->text)), to->target);
	else
		note_written(k, to->target, (struct feed){ .kind = FEED_UNKNOWN });
}

/* The source goes away and the destination is replaced; both are judged. */
HANDLER(mv)
{
	enum { T, F, N };
	struct parsed p;
	struct transfer t;
	parse(k,
		"t=:target-directory f:force n:no-clobber "
		"iuvTbZ:interactive,update,verbose,backup,strip-trailing-slashes S=:suffix",
		&p);
	if (!split_transfer(&p, T, &t)) {
		nothing(k);
		return;
	}
	unsigned flags = (args_has(&p, F) ? FXF_FORCE : 0) | (args_has(&p, N) ? 0 : FXF_OVERWRITE);
	for (size_t i = 0; i < t.from_count; i++)
		(void)fx_path(k, TAG_MOVE_FROM, &t.from[i], flags);
	/* Moving a file over the null device replaces the device. */
	if (word_is(t.to, "/dev/null")) {
		fx(k, TAG_DEVICE_NULL, t.to, flags);
		return;
	}
	for (size_t i = 0; i < t.from_count; i++) {
		struct word to = destination(k, t.to, &t.from[i], t.into || t.from_count > 1);
		copied(k, &t.from[i], fx_path(k, TAG_MOVE_TO, &to, flags));
	}
}

/* cp .env.example .env where there is none yet: only placeholders are written, and nothing is lost. */
static bool is_first_from_template(
	struct call *k, const struct word *from, const struct word *to, unsigned flags)
{
	static const char *const templates[] = { ".example", ".sample", ".template", ".dist", ".tmpl",
		".defaults" };
	const struct surroundings *at = walk_surroundings(k->w);
	const char *cwd = walk_cwd(k->w, k->c), *name = strrchr(to->text, '/');
	bool is_template = false;
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		is_template |= from->certainty == CERTAIN && text_ends(from->text, templates[i]);
	if (!is_template || to->certainty != CERTAIN || !text_starts(name ? name + 1 : to->text, ".env"))
		return false;
	return !(flags & FXF_OVERWRITE) ||
		(at->sys && cwd &&
			!file_exists(at->sys, AT_FDCWD, path_join(walk_arena(k->w), cwd, to->text)));
}

/* cp and install: sources are read, destinations written. */
static void copy_files(struct call *k, struct transfer *t, unsigned flags)
{
	bool empties = t->from_count == 1 && word_is_any(&t->from[0], "/dev/null /dev/zero /dev/urandom");
	fx_read_tree(k, t->from, t->from_count);
	for (size_t i = 0; i < t->from_count; i++) {
		struct word to = destination(k, t->to, &t->from[i], t->into || t->from_count > 1);
		enum tag tag = empties					     ? TAG_WRITE_TRUNCATE
			: is_first_from_template(k, &t->from[i], &to, flags) ? TAG_WRITE_TOOL
									     : TAG_WRITE_FILE;
		struct effect *e = fx_path(k, tag, &to, flags);
		copied(k, &t->from[i], e);
	}
}

/* A link whose place is not known could be anywhere, and is judged where it is made. */
static void link_made(struct call *k, const struct word *from, const struct word *to, bool is_seen_from_here)
{
	const char *cwd = walk_cwd(k->w, k->c);
	struct arena *a = walk_arena(k->w);
	struct word lead = *from;
	/* A symbolic link's text is seen from where the link lies; all other links from here. */
	if (is_seen_from_here && from->certainty == CERTAIN && from->text[0] != '/' && cwd)
		lead = walk_word(k->w, path_join(a, cwd, from->text), from->at);
	if (to->certainty == CERTAIN && (to->text[0] == '/' || cwd))
		note_link(k, path_clean(a, path_join(a, cwd ? cwd : "/", to->text)), &lead);
}

/* A file with another name is changed by whoever writes to that one, and no later call shows which file it is: so its first name counts as written. */
static void second_name(struct call *k, const struct word *of, unsigned flags)
{
	(void)fx_path(k, TAG_WRITE_LINK, of, flags);
}

HANDLER(cp)
{
	enum { T, R, F, N, A, S, L };
	struct parsed p;
	struct transfer t;
	parse(k,
		"t=:target-directory rR:recursive f:force,remove-destination n:no-clobber a:archive "
		"s:symbolic-link l:link "
		"idpPvxuTHLbZcX:interactive,no-dereference,preserve,parents,verbose,update,one-file-system,"
		"no-target-directory "
		"S=:suffix :sparse= :reflink",
		&p);
	if (!split_transfer(&p, T, &t)) {
		nothing(k);
		return;
	}
	unsigned flags = (args_has(&p, R) || args_has(&p, A) ? FXF_RECURSIVE : 0) |
		(args_has(&p, F) ? FXF_FORCE : 0) | (args_has(&p, N) ? 0 : FXF_OVERWRITE);
	copy_files(k, &t, flags);
	/* cp -s, cp -l: the copies are links. */
	for (size_t i = 0; (args_has(&p, S) || args_has(&p, L)) && i < t.from_count; i++) {
		struct word to = destination(k, t.to, &t.from[i], t.into || t.from_count > 1);
		if (args_has(&p, L))
			second_name(k, &t.from[i], flags & FXF_RECURSIVE);
		link_made(k, &t.from[i], &to, true);
	}
}

/* Whether the mode sets the setuid, setgid or sticky bit, in octal or in letters. */
static bool sets_special_bits(const struct word *mode)
{
	size_t n = strspn(mode->text, "01234567");
	if (n && n == mode->text_n) {
		return n >= 4 && mode->text[n - 4] != '0';
	}
	const char *sign = strpbrk(mode->text, "+=");
	return sign && strpbrk(sign, "st") != NULL;
}

/* Whether the mode makes the file writable for everybody, or usable by nobody. */
static bool opens_or_locks(const struct word *mode)
{
	size_t n = strspn(mode->text, "01234567");
	if (n && n == mode->text_n) {
		char others = mode->text[n - 1];
		return strchr("2367", others) || strspn(mode->text, "0") == n;
	}
	/* o+w, a+rwx, ugo=rwx, +w is by the umask */
	size_t who = strspn(mode->text, "ugoa");
	char sign = mode->text[who];
	return memchr(mode->text, 'o', who) || memchr(mode->text, 'a', who)
		? (sign == '+' || sign == '=') && strchr(mode->text + who, 'w')
		: false;
}

/* Copies, or makes directories with -d; -m may set special bits. */
HANDLER(install)
{
	enum { T, D, M, O };
	struct parsed p;
	struct transfer t;
	parse(k,
		"t=:target-directory d:directory m=:mode o=g=:owner,group "
		"bCcDpsTvZ:compare,strip,preserve-timestamps,verbose,"
		"no-target-directory S=:suffix",
		&p);
	bool is_setuid = p.values[M] && sets_special_bits(p.values[M]);
	if (args_has(&p, D))
		fx_paths(k, TAG_WRITE_DIR, p.operands, p.operand_count, 0);
	else if (split_transfer(&p, T, &t))
		copy_files(k, &t, FXF_OVERWRITE);
	if (is_setuid)
		fx_paths(k, TAG_PERMISSION_SETUID, p.operands, p.operand_count, FXF_SETUID);
}

/* The link is remembered, because later writes through it go elsewhere. */
HANDLER(ln)
{
	enum { T, F, SYMBOLIC, RELATIVE };
	struct parsed p;
	struct transfer t;
	parse(k,
		"t=:target-directory f:force s:symbolic r:relative "
		"nivLPTb:no-dereference,interactive,verbose,logical,physical,no-target-directory S=:suffix",
		&p);
	bool is_seen_from_here = !args_has(&p, SYMBOLIC) || args_has(&p, RELATIVE);
	unsigned flags = args_has(&p, F) ? FXF_FORCE | FXF_OVERWRITE : 0;
	if (!split_transfer(&p, T, &t)) { /* ln -s DIR/NAME makes NAME here */
		const struct word *only = p.operand_count == 1 ? &p.operands[0] : NULL;
		fx(k, TAG_WRITE_LINK, NULL, flags);
		if (only && !args_has(&p, SYMBOLIC))
			second_name(k, only, 0);
		if (only && only->certainty == CERTAIN) {
			struct word to = walk_word(k->w, path_base(only->text), only->at);
			link_made(k, only, &to, is_seen_from_here);
		}
		return;
	}
	for (size_t i = 0; i < t.from_count; i++) {
		struct word to = destination(k, t.to, &t.from[i], t.into || t.from_count > 1);
		(void)fx_path(k, TAG_WRITE_LINK, &to, flags);
		if (!args_has(&p, SYMBOLIC)) {
			fx_read(k, &t.from[i], 1);
			second_name(k, &t.from[i], 0);
		}
		link_made(k, &t.from[i], &to, is_seen_from_here);
	}
}

/* Zeros without an end fill the disk; with notrunc they go over what is there; an empty input leaves an
 * empty file. */
static bool dd_wrecks(struct call *k)
{
	bool endless = false, counts = false, in_place = false;
	for (size_t i = 0; i < k->rest_count; i++) {
		endless |= word_is_any(&k->rest[i], "if=/dev/zero if=/dev/urandom if=/dev/random");
		counts |= word_starts(&k->rest[i], "count=");
		in_place |= word_starts(&k->rest[i], "conv=") && word_has(&k->rest[i], "notrunc");
		if (word_is(&k->rest[i], "if=/dev/null"))
			return true;
	}
	return endless && (!counts || in_place);
}

/* The output holds what if= names, or what comes on standard input. */
static void dd_copies(struct call *k, const struct effect *to)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (word_starts(&k->rest[i], "if=")) {
			struct word from = word_tail(&k->rest[i], 3);
			copied(k, &from, to);
			return;
		}
	if (to && to->target)
		note_written(k, to->target, k->c->in);
}

/* Operands are NAME=value. An operand that is not known at all could be of=. */
HANDLER(dd)
{
	enum tag t = dd_wrecks(k) ? TAG_WRITE_TRUNCATE : TAG_WRITE_FILE;
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (word_starts(x, "of=")) {
			struct word to = word_tail(x, 3);
			struct effect *e = fx_path(k, t, &to, FXF_OVERWRITE);
			if (e && e->kind == FX_DEVICE)
				e->tag = tag_name(TAG_DEVICE_DD);
			dd_copies(k, e);
		} else if (word_starts(x, "if=")) {
			struct word from = word_tail(x, 3);
			if (!word_is_any(&from, "/dev/zero /dev/urandom /dev/random"))
				fx_read(k, &from, 1);
		} else if (x->certainty != CERTAIN && !x->known_n) {
			fx(k, TAG_DYNAMIC_OPTION, x, 0);
		}
	}
}

/* tee f < /dev/null, cat /dev/null | sponge f: the file is emptied. */
static bool reads_nothing(const struct feed *in)
{
	return in->kind == FEED_EMPTY || (in->kind == FEED_KNOWN && !in->n) ||
		(in->kind == FEED_FILE && text_eq(in->text, "/dev/null"));
}

/* Writes its input to files and passes it on. */
HANDLER(tee)
{
	struct parsed p;
	parse(k, "a:append i:ignore-interrupts p?:output-error", &p);
	unsigned flags = args_has(&p, 0) ? FXF_APPEND : FXF_OVERWRITE;
	enum tag t = !args_has(&p, 0) && reads_nothing(&k->c->in) ? TAG_WRITE_TRUNCATE : TAG_WRITE_FILE;
	for (size_t i = 0; i < p.operand_count; i++) {
		struct effect *e = fx_path(k, t, &p.operands[i], flags);
		if (e && e->target && flags & FXF_APPEND)
			note_appended(k, e->target, k->c->in);
		else if (e && e->target)
			note_written(k, e->target, k->c->in);
	}
	if (!p.operand_count)
		nothing(k);
	k->c->out = k->c->in;
}

HANDLER(truncate)
{
	struct parsed p;
	parse(k, "s=:size r=:reference co:no-create,io-blocks", &p);
	/* truncate -s 1G makes a file; only zero, a smaller or an unknown size throws content away. */
	const struct word *size = p.values[0];
	bool makes = size && size->certainty == CERTAIN && size->text_n && !strchr("0-</", size->text[0]);
	fx_paths(k, makes ? TAG_WRITE_FILE : TAG_WRITE_TRUNCATE, p.operands, p.operand_count, FXF_OVERWRITE);
}

/* Programs that just write the files they are given; the row says by which tag. */
HANDLER(writer)
{
	struct parsed p;
	parse(k, program_options(k->program), &p);
	if (!p.operand_count)
		fx(k, k->program->tag, NULL, k->program->flags);
	fx_paths(k, k->program->tag, p.operands, p.operand_count, k->program->flags);
}

/* A pipe made by hand that a shell reads is half of a back-connect, so what comes out of it counts as a
 * socket. */
HANDLER(fifo)
{
	struct parsed p;
	parse(k, "m=:mode Z:context", &p);
	bool is_node = text_eq(k->head, "mknod");
	bool is_fifo = !is_node || (p.operand_count > 1 && word_is(&p.operands[1], "p"));
	size_t n = is_node && p.operand_count ? 1 : p.operand_count;
	for (size_t i = 0; i < n; i++) {
		struct effect *e = fx_path(k, is_fifo ? TAG_WRITE_FILE : TAG_KERNEL_BOOT, &p.operands[i], 0);
		if (e && e->target && is_fifo)
			note_written(k, e->target, (struct feed){ .kind = FEED_SOCKET });
	}
}

/* The first operand is the mode, unless --reference gives it. */
HANDLER(chmod)
{
	enum { R, REF };
	struct parsed p;
	/* A mode like -x or -rwx looks like an unknown option; then the first operand is already a file. */
	parse(k,
		"R:recursive :reference= cfvhHLP:changes,silent,quiet,verbose,no-preserve-root,preserve-root",
		&p);
	unsigned flags = args_has(&p, R) ? FXF_RECURSIVE : 0;
	size_t first = p.values[REF] || (p.has_unknown && p.operand_count == 1) ? 0 : 1;
	enum tag t = first && p.operand_count && opens_or_locks(&p.operands[0]) ? TAG_PERMISSION_OPEN
										: TAG_PERMISSION_MODE;
	if (first && p.operand_count && sets_special_bits(&p.operands[0])) {
		t = TAG_PERMISSION_SETUID;
		flags |= FXF_SETUID;
	}
	if (p.operand_count > first)
		fx_paths(k, t, p.operands + first, p.operand_count - first, flags);
	else
		nothing(k);
}

/* chown, chgrp, setfacl, chattr, setcap, chcon: the first operand says what, unless an option did. */
HANDLER(owner)
{
	enum { R, WHAT };
	struct parsed p;
	parse(k, program_options(k->program), &p);
	unsigned flags = args_has(&p, R) ? FXF_RECURSIVE : 0;
	size_t first = args_has(&p, WHAT) ? 0 : 1;
	if (p.operand_count > first)
		fx_paths(k, k->program->tag, p.operands + first, p.operand_count - first, flags);
	else
		nothing(k);
}

/* +i and -i are attributes, not options; everything else is a file. */
HANDLER(chattr)
{
	bool recursive = args_find(k->rest, k->rest_count, "R");
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (!word_starts(x, "-") && !word_starts(x, "+") && !word_starts(x, "="))
			(void)fx_path(k, TAG_PERMISSION_ATTR, x, recursive ? FXF_RECURSIVE : 0);
	}
}

/* host:path, but neither ./a:b nor a drive letter. */
static bool is_remote(const struct word *x)
{
	const char *colon = memchr(x->text, ':', x->text_n);
	const char *slash = memchr(x->text, '/', x->text_n);
	return colon && colon > x->text && (!slash || colon < slash) &&
		!(colon == x->text + 1 && colon[1] == '\\');
}

/* The last operand is the destination. With --delete what is not in the source goes there. */
HANDLER(rsync)
{
	enum { DELETE, RSH, DRY, REMOVE, RSYNC_PATH };
	struct parsed p;
	parse(k,
		":delete,del,delete-before,delete-during,delete-delay,delete-after,delete-excluded,delete-"
		"missing-args e=:rsh "
		"n:dry-run :remove-source-files :rsync-path= "
		"f=T=B=M=@=:filter=,exclude=,include=,exclude-from=,include-from=,"
		"files-from=,temp-dir=,compare-dest=,copy-dest=,link-dest=,log-file=,bwlimit=,chmod=,chown=,"
		"port=,timeout=,"
		"max-size=,min-size=,password-file=,out-format=,suffix=,backup-dir=,partial-dir=,block-size=,"
		"modify-window=",
		&p);
	unsigned flags = (args_has(&p, DRY) ? FXF_DRY_RUN : 0) | FXF_OVERWRITE | FXF_RECURSIVE;
	if (p.values[RSH] && strpbrk(p.values[RSH]->text, " ;|&$`"))
		run_text(k, p.values[RSH], 0, "rsync -e");
	for (size_t i = 0; i < p.operand_count; i++) {
		const struct word *x = &p.operands[i];
		/* A single operand is only listed. */
		bool is_last = i + 1 == p.operand_count && i > 0;
		if (is_remote(x)) {
			fx(k, TAG_NETWORK_CONNECT, x, 0);
			fx(k, TAG_REMOTE_COPY, x, is_last ? FXF_MUTATING : 0);
			if (is_last && args_has(&p, DELETE))
				fx(k, TAG_REMOTE_DELETE, x, flags);
		} else if (is_last) {
			if (args_has(&p, DELETE))
				(void)fx_path(k, TAG_DELETE_SYNC, x, flags);
			copied(k, &p.operands[0], fx_path(k, TAG_WRITE_FILE, x, flags));
		} else {
			fx_read_tree(k, x, 1);
			if (args_has(&p, REMOVE))
				(void)fx_path(k, TAG_MOVE_FROM, x, flags);
		}
	}
}

enum { TAR_CREATE = 1, TAR_EXTRACT = 2, TAR_LIST = 4, TAR_CHANGE = 8 };

/* What the words of a call to tar say. */
struct tar {
	unsigned mode;
	struct word file, dir;
	struct word *members;
	size_t member_count;
	bool removes, anywhere, has_list;
};

/* tar xfC a.tgz /etc: letters without a dash, whose values are the following words in the order of the letters.  They become
 * options as they would be typed today.  Returns how many words there are then. */
static size_t tar_modern(struct call *k, struct word *v)
{
	const struct word *first = &k->rest[0];
	size_t n = 0, next = 1;

	for (const char *p = first->text; *p; p++) {
		v[n++] = walk_word(k->w, arena_printf(walk_arena(k->w), "-%c", *p), first->at);
		if (strchr("fCTXbIFgHKLNV", *p) && next < k->rest_count)
			v[n++] = k->rest[next++];
	}
	while (next < k->rest_count)
		v[n++] = k->rest[next++];
	return n;
}

static void read_tar(struct call *k, struct tar *t)
{
	static const char spec[] =
		"f=:file C=:directory :remove-files c:create x:extract,get td:list,diff,compare "
		"ruA:append,update,catenate,delete P:absolute-names,absolute-paths T=:files-from :checkpoint-action= "
		"I=F=X=b=H=g=K=L=N=V=:to-command=,use-compress-program=,info-script=,new-volume-script=,rmt-command=,"
		"rsh-command=,exclude-from=,exclude=,transform=,strip-components=,owner=,group=,mode=,mtime=,"
		"blocking-factor=,format=,newer=,label=,checkpoint= OkvzjJaZhplSUWmsGiBMnow";
	enum { FILE_, DIR_, REMOVE, CREATE, EXTRACT, LIST, CHANGE, ANYWHERE, NAMES, ACTION };
	struct arena *a = walk_arena(k->w);
	struct args s;

	t->members = arena_alloc(a, (k->rest_count + 1) * sizeof(*t->members));
	args_start(&s, a, k->rest, k->rest_count, spec);
	for (int item; (item = args_next(&s)) != ARG_END;) {
		if (item == FILE_)
			t->file = s.value;
		else if (item == DIR_)
			t->dir = s.value;
		else if (item >= CREATE && item <= CHANGE)
			t->mode |=
				(unsigned[]){ TAR_CREATE, TAR_EXTRACT, TAR_LIST, TAR_CHANGE }[item - CREATE];
		else if (item == ARG_OPERAND || item == ARG_DYNAMIC)
			t->members[t->member_count++] = word_join(a, t->dir.text ? &t->dir : NULL, &s.value);
		else if (item == ACTION && word_starts(&s.value, "exec=")) {
			struct word text = word_tail(&s.value, 5);
			run_text(k, &text, 0, "tar --checkpoint-action");
		}
		t->removes |= item == REMOVE;
		t->anywhere |= item == ANYWHERE;
		t->has_list |= item == NAMES;
	}
}

/* What an archive holds is not known, so extracting writes some file below the directory; with -P the archive itself
 * says where its files go. */
HANDLER(tar)
{
	struct tar t = { 0 };
	struct call modern = *k;

	if (k->rest_count && k->rest[0].certainty == CERTAIN && k->rest[0].text[0] != '-') {
		size_t room = k->rest[0].text_n + k->rest_count;
		modern.rest = arena_alloc(walk_arena(k->w), room * sizeof(*modern.rest));
		modern.rest_count = tar_modern(k, modern.rest);
		classify_values(&modern);
	}
	read_tar(&modern, &t);
	struct word here = walk_word(k->w, t.anywhere ? "/" : ".", k->c->at);
	if (t.mode & TAR_EXTRACT) {
		if (t.file.text)
			fx_read(k, &t.file, 1);
		struct word inside = word_below(k, t.dir.text && !t.anywhere ? &t.dir : &here);
		(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_OVERWRITE | FXF_RECURSIVE);
	} else if (t.mode & (TAR_CREATE | TAR_CHANGE)) {
		fx_read_tree(k, t.members, t.member_count);
		if (t.file.text && !word_is(&t.file, "-"))
			(void)fx_path(k, TAG_WRITE_FILE, &t.file, FXF_OVERWRITE);
		if (t.removes)
			fx_paths(k, TAG_DELETE_FILE, t.members, t.member_count, FXF_RECURSIVE);
		/* The names stand in a file, and everything they name goes. */
		if (t.removes && t.has_list) {
			struct word any = {
				.text = "", .certainty = DYNAMIC, .origin = ORIGIN_UNKNOWN, .at = k->c->at
			};
			(void)fx_path(k, TAG_DELETE_FILE, &any, FXF_RECURSIVE);
		}
	} else {
		nothing(k);
	}
}

/* Extracts, unless it lists, tests or prints. */
HANDLER(unzip)
{
	struct parsed p;
	parse(k, "d=:directory ltzpcZv x= o:overwrite", &p);
	struct word here = walk_word(k->w, ".", k->c->at);
	struct word inside = word_below(k, p.values[0] ? p.values[0] : &here);
	if (args_has(&p, 1))
		nothing(k);
	else
		(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_OVERWRITE | FXF_RECURSIVE);
	if (p.operand_count)
		fx_read(k, p.operands, 1);
}

/* -m removes the files it has packed. */
HANDLER(zip)
{
	struct parsed p;
	parse(k, "~:TT=,unzip-command= m:move d:delete xi= b=t=n=P= :exclude=,include=", &p);
	if (!p.operand_count) {
		nothing(k);
		return;
	}
	(void)fx_path(k, TAG_WRITE_FILE, &p.operands[0], FXF_OVERWRITE);
	fx_read_tree(k, p.operands + 1, p.operand_count - 1);
	if (args_find(k->rest, k->rest_count, "@ names-stdin"))
		read_listed(k);
	if (args_has(&p, 1))
		fx_paths(k, TAG_DELETE_FILE, p.operands + 1, p.operand_count - 1, FXF_RECURSIVE);
}

/* Extracts or copies below a directory; -o only writes an archive. */
HANDLER(cpio)
{
	struct parsed p;
	parse(k, "D=:directory F=O=:file i:extract t:list p:pass-through o:create E=I=R=H=C=M=", &p);
	struct word here = walk_word(k->w, ".", k->c->at);
	const struct word *to = p.values[0] ? p.values[0]
		: (args_has(&p, 4) || text_eq(k->head, "pax")) && p.operand_count
		? &p.operands[p.operand_count - 1]
		: &here;
	struct word inside = word_below(k, to);
	if (args_has(&p, 4) || args_has(&p, 5))
		read_listed(k);
	if (args_has(&p, 3))
		nothing(k);
	else if (args_has(&p, 5) && p.values[1])
		(void)fx_path(k, TAG_WRITE_FILE, p.values[1], FXF_OVERWRITE);
	else if (args_has(&p, 5))
		nothing(k);
	else
		(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_RECURSIVE);
}

/* The first operand is the command. */
HANDLER(7z)
{
	struct parsed p;
	parse(k, "~o=p=t=m= yr sdel", &p);
	struct word here = walk_word(k->w, ".", k->c->at);
	struct word inside = word_below(k, p.values[0] ? p.values[0] : &here);
	if (!p.operand_count)
		nothing(k);
	else if (word_is_any(&p.operands[0], "x e"))
		(void)fx_path(k, TAG_WRITE_EXTRACT, &inside, FXF_RECURSIVE);
	else if (word_is_any(&p.operands[0], "a u d rn") && p.operand_count > 1) {
		(void)fx_path(k, TAG_WRITE_FILE, &p.operands[1], FXF_OVERWRITE);
		if (word_is_any(&p.operands[0], "a u"))
			fx_read_tree(k, p.operands + 2, p.operand_count - 2);
		for (size_t i = 0; i < k->rest_count; i++)
			if (word_is(&k->rest[i], "-sdel"))
				fx_paths(k, TAG_DELETE_FILE, p.operands + 2, p.operand_count - 2,
					FXF_RECURSIVE);
	} else
		nothing(k);
}

/* gzip and its kin replace the file, or work as filters. What they print went through a decoder. */
HANDLER(compressor)
{
	struct parsed p;
	parse(k,
		"ctl:stdout,to-stdout,test,list d:decompress,uncompress o=S=:output,suffix "
		"rkfvqn0123456789eT=M=",
		&p);
	if (p.operand_count && !args_has(&p, 0)) {
		fx_paths(k, TAG_WRITE_EDIT, p.operands, p.operand_count, FXF_OVERWRITE);
	} else {
		fx_read(k, p.operands, p.operand_count);
		if (!p.operand_count)
			nothing(k);
	}
	k->c->out = (struct feed){ .kind = k->c->in.kind == FEED_FETCHED ? FEED_FETCHED : FEED_DECODED };
}

/* Every file a patch names: added, changed, deleted, moved to; also in the unified form.  Headers are found as those who apply
 * patches find them: blanks around them do not matter.  Returns how many. */
static size_t patch_files(struct call *k, const char *text, size_t n, unsigned flags)
{
	static const struct {
		const char *mark;
		enum tag tag;
	} marks[] = { { "*** Add File:", TAG_WRITE_EDIT }, { "*** Update File:", TAG_WRITE_EDIT },
		{ "*** Delete File:", TAG_DELETE_FILE }, { "*** Move to:", TAG_WRITE_EDIT },
		{ "+++ b/", TAG_WRITE_EDIT }, { "+++ ", TAG_WRITE_EDIT }, { "--- a/", TAG_WRITE_EDIT },
		{ "rename to ", TAG_WRITE_EDIT }, { "rename from ", TAG_WRITE_EDIT },
		{ "copy to ", TAG_WRITE_EDIT } };
	struct bytes rest = { (const uint8_t *)text, n };
	size_t found = 0;
	while (rest.p && rest.n) {
		struct bytes line = text_cut(&rest, '\n');
		char *copy = arena_strndup(walk_arena(k->w), (const char *)line.p, line.n);
		copy += strspn(copy, " \t");
		for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
			if (!text_starts(copy, marks[i].mark))
				continue;
			char *path = copy + strlen(marks[i].mark);
			path += strspn(path, " \t");
			path[strcspn(path, "\t\r")] = '\0';
			for (size_t len = strlen(path); len && path[len - 1] == ' '; len--)
				path[len - 1] = '\0';
			if (*path && !text_eq(path, "/dev/null")) {
				struct word x = walk_word(k->w, path, k->c->at);
				(void)fx_path(k, marks[i].tag, &x,
					flags | (marks[i].tag == TAG_WRITE_EDIT ? FXF_OVERWRITE : 0));
				found++;
			}
			break;
		}
	}
	return found;
}

/* The patch is the argument or standard input.  One that names no file cannot be judged. */
HANDLER(apply_patch)
{
	size_t found = 0;
	bool is_known = k->rest_count || k->c->in.kind == FEED_KNOWN;
	if (k->rest_count)
		found = patch_files(k, k->rest[0].text, k->rest[0].text_n, 0);
	else if (k->c->in.kind == FEED_KNOWN)
		found = patch_files(k, k->c->in.text, k->c->in.n, 0);
	if (!is_known || !found || (k->rest_count && k->rest[0].certainty != CERTAIN))
		fx(k, TAG_DYNAMIC_OPTION, NULL, 0);
}

/* Which files a patch changes is said by the patch; it is read where it is part of the command. */
HANDLER(patch)
{
	struct parsed p;
	parse(k,
		"i=o=d=:input,output,directory :dry-run p=:strip F=B=Y=z=r=V=D=:fuzz,prefix,suffix "
		"RNEfstblcenu",
		&p);
	unsigned flags = args_has(&p, 1) ? FXF_DRY_RUN : 0;
	if (k->c->in.kind == FEED_KNOWN && !p.values[0])
		(void)patch_files(k, k->c->in.text, k->c->in.n, flags);
	if (p.operand_count)
		(void)fx_path(k, TAG_WRITE_EDIT, &p.operands[0], flags);
	else
		fx(k, TAG_WRITE_EDIT, NULL, flags);
}

/* Where the pieces go is known only by their prefix. */
HANDLER(split)
{
	struct parsed p;
	parse(k, "abClnfk=:suffix-length,bytes,line-bytes,lines,number,prefix", &p);
	fx_read(k, p.operands, p.operand_count ? 1 : 0);
	if (p.operand_count > 1)
		(void)fx_path(k, TAG_WRITE_FILE, &p.operands[1], 0);
	else
		fx(k, TAG_WRITE_FILE, NULL, 0);
}

/* A reader; its output and its helper program are values (values.txt). */
HANDLER(sort)
{
	struct parsed p;
	parse(k,
		"o=:output :compress-program= "
		"T=S=k=t=:temporary-directory=,buffer-size=,key=,field-separator=,parallel=,files0-from=",
		&p);
	fx_read(k, p.operands, p.operand_count);
	if (!p.operand_count)
		nothing(k);
}

/* The second operand is written. */
HANDLER(uniq)
{
	struct parsed p;
	parse(k, "f=s=w=:skip-fields,skip-chars,check-chars", &p);
	fx_read(k, p.operands, p.operand_count ? 1 : 0);
	if (p.operand_count > 1)
		(void)fx_path(k, TAG_WRITE_FILE, &p.operands[1], FXF_OVERWRITE);
	else if (!p.operand_count)
		nothing(k);
}
