/* programs.c — from a simple command to its effects: which program is it, and what do its assignments and redirections do.
 *
 * The head is resolved to a program's plain name (path, letter case, .exe and version suffixes are spelling, not meaning)
 * and looked up in the table that was made from share/programs/.  What is not there is FX_UNKNOWN; with a destroying verb among its first
 * words it says so, because command-line interfaces are built alike. */
#include "propose/programs/programs.h"

#include "base/file.h"
#include "model/command.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The names stand in the rows, so that nothing has to be relocated. */
static const struct {
	char name[27];
	uint8_t kind;
	char meant[8];
} tags[] = {
#define X(id, name, kind, meant, meaning, example) { name, FX_##kind, meant },
#include "propose/programs/tags.def"
#undef X
};

const char *tag_name(enum tag t)
{
	return tags[t].name;
}

enum effect_kind tag_kind(enum tag t)
{
	return (enum effect_kind)tags[t].kind;
}

/* Compares n bytes of a name with the name of a row, as strcmp() would. */
static int compare(const char *name, size_t n, const char *row)
{
	int order = strncmp(name, row, n);
	return order ? order : row[n] ? -1 : 0;
}

/* Binary search; the table is sorted when it is made. */
const struct program *program_find(const char *name, size_t n)
{
	size_t low = 0, high = program_count;
	const char *own = command_program();

	if (n == strlen(own) && strncasecmp(name, own, n) == 0) {
		name = "helm";
		n = strlen(name);
	}
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = compare(name, n, program_name(&programs[mid]));
		if (!order)
			return &programs[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* Families of programs that share a prefix, and names with a version: mkfs.ext4, newfs_msdos,
 * python3.11, gcc-12. */
static const struct program *find_family(const char *name, size_t n)
{
	static const struct {
		const char *prefix, *program;
	} families[] = { { "mkfs.", "mkfs" }, { "newfs_", "newfs" }, { "fsck.", "fsck" },
		{ "mount.", "mount" }, { "umount.", "umount" }, { "ld-linux", "ld-linux" },
		{ "ld.so", "ld-linux" }, { "ld-musl", "ld-linux" }, { "qemu-system-", "qemu-system" },
		{ "qemu-", "qemu-user" }, { "docker-compose", "docker-compose" } };
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (text_starts(name, families[i].prefix))
			return program_find(families[i].program, strlen(families[i].program));
	if (n > 3 && text_eq(name + n - 3, ".sh")) /* kafka-topics.sh is kafka-topics */
		return program_find(name, n - 3);
	const char *dot = memrchr(name, '.', n);
	if (dot && isdigit((unsigned char)dot[1])) {
		const struct program *p = program_find(name, (size_t)(dot - name));
		if (p)
			return p;
	}
	while (n > 1 && (isdigit((unsigned char)name[n - 1]) || name[n - 1] == '.' || name[n - 1] == '-'))
		n--;
	return program_find(name, n);
}

/* The name without its path, in lower case, without .exe and the like. Backslashes separate too, for
 * Windows paths. */
static const char *plain_name(struct arena *a, const struct word *head)
{
	const char *base = head->text;
	for (const char *p = head->text; *p; p++)
		if ((*p == '/' || *p == '\\') && p[1])
			base = p + 1;
	char *name = arena_strdup(a, base);
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++)
		name[i] = (char)tolower((unsigned char)name[i]);
	static const char *const suffixes[] = { ".exe", ".cmd", ".com" };
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (n > 4 && text_eq(name + n - 4, suffixes[i])) {
			name[n - 4] = '\0';
			break;
		}
	return name;
}

/* The words are copied, because handlers change the words they are given. */
void run_argv(struct call *k, struct word *v, size_t n, unsigned flags, const char *via)
{
	if (!n)
		return;
	struct word *copy = arena_alloc(walk_arena(k->w), n * sizeof(*v));
	memcpy(copy, v, n * sizeof(*v));
	walk_argv(k->w, k->c, copy, n, flags, via);
}

/* How it is called to run a text of this origin, or `otherwise`. */
enum tag tag_of_run(enum origin o, enum tag otherwise)
{
	enum feed_kind kind = feed_kind_of(o);
	return kind == FEED_FETCHED ? TAG_FETCH_EXEC : kind == FEED_DECODED ? TAG_DECODE_EXEC : otherwise;
}

/* Runs a text as far as it is known. When part of it is not known, running it is itself an effect, named
 * by where the text comes from; the known beginning is judged in addition. */
void run_text(struct call *k, const struct word *text, unsigned flags, const char *via)
{
	struct command inner = *k->c;
	inner.flags |= flags;
	if (text->certainty == CERTAIN || text->known_n) {
		walk_text(k->w, &inner, text, via);
		if (text->certainty == CERTAIN)
			return;
	}
	struct call at = *k;
	at.c = &inner;
	fx(&at, tag_of_run(text->origin, TAG_DYNAMIC_TEXT), text, 0);
	if (!text->known_n)
		walk_sources(k->w, &inner, -1);
}

/* Changes the working directory, runs, and changes back. A directory that was not known before is not
 * known afterwards either. */
void run_argv_in(
	struct call *k, const struct word *dir, struct word *v, size_t n, unsigned flags, const char *via)
{
	if (!dir || !dir->text) {
		run_argv(k, v, n, flags, via);
		return;
	}
	const char *was = walk_cwd(k->w, k->c);
	struct word back = was ? walk_word(k->w, arena_strdup(walk_arena(k->w), was), dir->at)
			       : (struct word){ .text = "", .certainty = DYNAMIC, .at = dir->at };
	walk_set_cwd(k->w, k->c, dir);
	run_argv(k, v, n, flags, via);
	walk_set_cwd(k->w, k->c, &back);
}

/* A shell whose input or output is a socket is a reverse shell. */
static void classify_socket_redirect(struct call *k, const struct redirect *r)
{
	bool is_write = r->op != REDIR_IN;
	fx(k, TAG_NETWORK_DEV_TCP, &r->target, is_write ? FXF_MUTATING : 0);
	if (k->c->argc && k->head &&
		(shell_is_known(k->head) || list_has("pwsh powershell exec", k->head, strlen(k->head))))
		fx(k, TAG_REVERSE_SHELL, &r->target, 0);
}

/* > f, : > f, cat /dev/null > f: all that happens is that the old content goes. */
static bool writes_nothing(const struct call *k)
{
	const struct feed *out = &k->c->out;
	bool is_blank = out->kind == FEED_KNOWN && out->n == 1 && out->text[0] == '\n'; /* echo "" > f */
	/* Without words it is either nothing at all, or a loop or group whose output is known. */
	if (!k->c->argc && out->kind == FEED_INHERIT)
		return true;
	return (k->c->argc && list_has(": true", k->head, strlen(k->head))) || out->kind == FEED_EMPTY ||
		(out->kind == FEED_KNOWN && !out->n) || is_blank ||
		(out->kind == FEED_FILE &&
			(text_eq(out->text, "/dev/null") || text_eq(out->text, "/dev/zero") ||
				text_eq(out->text, "/dev/urandom")));
}

/* The effect of one redirection. What is written is remembered, so that a script made this way is judged
 * when it is run. */
static void classify_redirect(struct call *k, const struct redirect *r)
{
	switch (r->op) {
	case REDIR_HEREDOC:
	case REDIR_HERESTRING:
	case REDIR_DUP_IN:
		return;
	case REDIR_DUP_OUT: /* >&2 is a duplicate, >& file is a write */
		if (r->target.certainty == CERTAIN &&
			strspn(r->target.text, "0123456789-") == r->target.text_n)
			return;
		break;
	default:
		break;
	}
	if (word_starts(&r->target, "/dev/tcp/") || word_starts(&r->target, "/dev/udp/")) {
		classify_socket_redirect(k, r);
		return;
	}
	if (r->op == REDIR_IN) {
		fx_read(k, &r->target, 1);
		return;
	}
	/* Appending keeps what is there; every other output replaces it. */
	bool appends = r->op == REDIR_APPEND || r->op == REDIR_BOTH_APPEND;
	struct effect *e = fx_path(k, TAG_WRITE_REDIRECT, &r->target, appends ? FXF_APPEND : FXF_OVERWRITE);
	if (e && !appends && r->fd <= 1 && writes_nothing(k) && e->kind == FX_WRITE &&
		e->path_class != PATH_TMP)
		e->tag = tag_name(TAG_WRITE_TRUNCATE);
	if (e && e->target && appends)
		note_appended(k, e->target, k->c->out);
	else if (e && e->target)
		note_written(k, e->target, k->c->out);
}

/* A raw disk given to a program nobody knows. */
static bool is_device_operand(const struct word *x)
{
	static const char *const disks[] = { "/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/xvd",
		"/dev/mmcblk", "/dev/disk", "/dev/rdisk", "/dev/mapper/", "/dev/md", "/dev/loop" };
	for (size_t i = 0; i < ARRAY_SIZE(disks); i++)
		if (word_starts(x, disks[i]))
			return true;
	return false;
}

/* hdfs dfs -rm, tool --purge, k3s-uninstall.sh: an option or the program's own name says that it
 * destroys. */
static bool says_destruction(const struct call *k)
{
	static const char options[] =
		"-rm -rmr -rmdir -delete -expunge --delete --delete-all --destroy --purge "
		"--wipe --drop --drop-all --erase --uninstall --factory-reset --remove --remove-all "
		"--unregister --nuke --terminate --zap";
	for (size_t i = 0; i < k->rest_count && !word_is(&k->rest[i], "--"); i++)
		if (word_is_any(&k->rest[i], options) || is_device_operand(&k->rest[i]) ||
			word_starts(&k->rest[i], "--dangerously") || word_is(&k->rest[i], "--yolo"))
			return true;
	static const char names[] = "uninstall delete destroy purge wipe erase nuke drop empty remove rm zap";
	const char *dash = strrchr(k->head, '-');
	const char *last = dash ? dash + 1 : k->head;
	if (list_has(names, last, strcspn(last, ".")))
		return true;
	/* Remove-ADUser, Reset-PhysicalDisk */
	return dash &&
		list_has("remove delete uninstall destroy purge wipe erase drop disable stop reset clear "
			 "initialize unregister revoke dismount repair restart suspend",
			k->head, strcspn(k->head, "-"));
}

/* Set-ItemProperty, Add-MpPreference: a cmdlet of PowerShell whose verb changes the system. Those that
 * only arrange the session are listed as harmless. The capitals tell a cmdlet from a program with a dash
 * in its name. */
static bool is_changing_cmdlet(const struct call *k)
{
	static const char verbs[] =
		"set add enable new install register grant send update start import invoke "
		"move rename export publish restore unlock unblock approve deny";
	static const char harmless[] =
		"set-location set-variable set-alias set-strictmode set-psdebug set-psreadlineoption "
		"new-object "
		"new-variable new-guid new-timespan new-item new-temporaryfile add-content add-member "
		"start-sleep "
		"start-job start-transcript import-module import-csv import-clixml export-csv export-clixml "
		"update-formatdata update-typedata move-item rename-item set-content start-process add-type "
		"invoke-pester invoke-webrequest invoke-restmethod new-alias set-date send-keys";
	const char *text = k->c->argv[0].text, *dash = strchr(text, '-');
	return dash && isupper((unsigned char)text[0]) && isupper((unsigned char)dash[1]) &&
		list_has(verbs, k->head, strcspn(k->head, "-")) &&
		!list_has(harmless, k->head, strlen(k->head));
}

/* unshadow /etc/passwd /etc/shadow: whatever the program is, it is given a secret. */
static void find_secret_operand(struct call *k)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		const char *base = strrchr(k->rest[i].text, '/');
		base = base ? base + 1 : k->rest[i].text;
		if (k->rest[i].certainty == CERTAIN && k->rest[i].text[0] != '-' &&
			!text_starts(base, ".env") && strchr(k->rest[i].text, '/') &&
			paths_is_secret(walk_surroundings(k->w), k->rest[i].text))
			fx(k, TAG_SECRET_FILE, &k->rest[i], 0);
	}
}

/* Whoever runs it, this is no ordinary work: it reaches out of the workspace, or at the guard. */
static bool is_grave(const struct effect *e)
{
	if (e->flags & (FXF_DECODED | FXF_DRY_RUN))
		return false;
	switch (e->kind) {
	case FX_WRITE:
	case FX_MOVE:
	case FX_PERMISSION:
		return e->path_class == PATH_HOME || e->path_class >= PATH_SYS;
	case FX_DELETE:
		return e->path_class >= PATH_HOME || e->certainty == DYNAMIC;
	case FX_DEVICE:
	case FX_PRIVILEGE:
	case FX_PERSISTENCE:
	case FX_CRON:
	case FX_SECRET_READ:
	case FX_TAMPER:
	case FX_FETCH_EXEC:
	case FX_DECODE_EXEC:
	case FX_FORK_BOMB:
	case FX_REVERSE_SHELL:
		return true;
	default:
		return false;
	}
}

/* It would be asked about if it stood alone. */
static bool is_questionable(const struct effect *e)
{
	for (size_t i = 0; i < TAG_COUNT; i++)
		if (e->tag && text_eq(tags[i].name, e->tag) &&
			(text_eq(tags[i].meant, "ask") || text_eq(tags[i].meant, "deny")))
			return !(e->flags & (FXF_DECODED | FXF_DRY_RUN));
	return is_grave(e);
}

/* A word that may begin a command: the name of a program we know. */
static bool begins_command(const char *text)
{
	size_t n = strcspn(text, " \t\n");
	const char *slash = memrchr(text, '/', n);
	const char *base = slash ? slash + 1 : text;
	return program_find(base, n - (size_t)(base - text)) != NULL;
}

/* Behind these words the next one is text for people. */
static bool says_message(const struct word *x)
{
	return word_is_option(x,
		"m message title summary description body comment note notes subject reason text name label help "
		"pattern query search filter");
}

/* direnv-like programs that nobody knows: `tool exec rm -rf ~`, `tool --cmd 'rm -rf ~'`.  Where the words say that a command
 * follows, it must be one that would be asked about; elsewhere one that no ordinary work contains. */
static bool carries_command(struct call *k)
{
	static const char runs[] =
		"-- exec run x shell spawn start stat record trace do call cmd command eval launch with";
	enum { MAX_TRIES = 8 };
	unsigned tries = 0;
	for (size_t i = 0; i < k->rest_count && tries < MAX_TRIES; i++) {
		const struct word *before = i ? &k->rest[i - 1] : NULL;
		struct word text = k->rest[i];
		const char *equals = text.text[0] == '-' ? strchr(text.text, '=') : NULL;
		if (text.certainty != CERTAIN || (before && says_message(before)) || says_message(&text))
			continue;
		if (equals)
			text = word_tail(&text, (size_t)(equals + 1 - text.text));
		if (!begins_command(text.text))
			continue;
		bool is_line = strpbrk(text.text, " \t\n") != NULL;
		bool is_told = equals || (before && (word_starts(before, "-") || word_is_any(before, runs)));
		if (!is_line && (equals || i + 1 == k->rest_count))
			continue;
		tries++;
		if (walk_attempt(k->w, k->c, k->rest + i, k->rest_count - i, is_line ? &text : NULL,
			    is_told ? is_questionable : is_grave)) {
			fx(k, TAG_UNKNOWN_COMMAND, &k->rest[i], 0);
			return true;
		}
	}
	return false;
}

/* DROP TABLE x, typed where a database's prompt was meant. */
static bool run_bare_sql(struct call *k)
{
	static const struct {
		const char *verb, *next;
	} known[] = { { "drop", "table database schema index view user role column trigger function" },
		{ "delete", "from" }, { "alter", "table database user role system" }, { "truncate", "table" },
		{ "update", NULL }, { "grant", "all select insert update delete" },
		{ "revoke", "all select insert update delete" } };
	char low[16] = { 0 };
	if (k->rest_count < 2)
		return false;
	for (size_t i = 0; i < sizeof(low) - 1 && i < k->rest[0].known_n; i++)
		low[i] = (char)tolower((unsigned char)k->rest[0].text[i]);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		bool is_next = known[i].next ? list_has(known[i].next, low, strlen(low))
					     : k->rest_count > 2 && strcasecmp(k->rest[1].text, "set") == 0;
		if (!is_next || !text_eq(k->head, known[i].verb))
			continue;
		struct word text = words_join(walk_arena(k->w), k->rest, k->rest_count);
		text = walk_word(k->w, arena_printf(walk_arena(k->w), "%s %s", k->head, text.text), k->c->at);
		classify_sql(k, &text);
		return true;
	}
	return false;
}

/* changeset publish, pod trunk push, kamal deploy. */
static bool says_publishing(const struct call *k, const size_t *places, size_t n)
{
	return (n && word_is_any(&k->rest[places[0]], "publish deploy upload push")) ||
		(n > 1 && word_is_any(&k->rest[places[1]], "publish push upload deploy"));
}

/* Nothing in the tables: the words themselves must tell. The tests go from the most telling to the
 * least, and each that speaks ends the search; what is left is an unknown program, and the profile
 * decides about those. */
void classify_unknown(struct call *k)
{
	size_t places[4];
	size_t n = verb_words(k, "", 3, places);
	/* "rm -rf" as one word is no program; whoever wrote it meant something else. */
	if (strpbrk(k->head, " \t\n")) {
		fx(k, TAG_DYNAMIC_HEAD, NULL, 0);
		return;
	}
	find_secret_operand(k);
	if (!k->program) /* else it was done */
		project_started(k);
	for (size_t i = 0; i < k->rest_count; i++) /* logsave f /bin/sh, openvpn --up '/bin/sh -c x' */
		if ((word_starts(&k->rest[i], "/bin/") && shell_speaks_sh(k->rest[i].text)) ||
			word_has(&k->rest[i], "/bin/sh -") || word_has(&k->rest[i], "(\"/bin/sh\")")) {
			fx(k, TAG_DYNAMIC_TEXT, &k->rest[i], 0);
			return;
		}
	if (carries_command(k))
		return;
	if (call_surely(k, "help version dry-run")) {
		fx(k, TAG_READ_QUERY, NULL, 0);
		return;
	}
	/* What takes away without deleting; only as the verb itself. */
	static const char taking[] = "disable revoke suspend detach drain cordon evict failover rollback "
				     "taint force-unlock deactivate unsubscribe unassign shutdown reboot "
				     "reset-all kill-all killall";
	for (size_t i = 0; i < n; i++) {
		const struct word *x = &k->rest[places[i]];
		if (verb_only_shows(x))
			break;
		/* delete-user.ts is a file */
		if (x->certainty == CERTAIN && !strpbrk(x->text, "./") &&
			(verb_is_destroying(x->text, x->text_n) ||
				(i < 2 && list_has(taking, x->text, x->text_n)))) {
			fx(k, TAG_UNKNOWN_DESTRUCTIVE, x, 0);
			return;
		}
	}
	if (run_bare_sql(k))
		return;
	for (size_t i = 0; i < n && i < 2; i++)
		if (verb_logs_in(k, places, i)) {
			fx(k, TAG_ACCOUNT_LOGIN, NULL, 0);
			return;
		}
	if (says_publishing(k, places, n))
		fx(k, TAG_PUBLISH_PACKAGE, &k->rest[places[0]], 0);
	else
		fx(k,
			says_destruction(k) || is_changing_cmdlet(k) ? TAG_UNKNOWN_DESTRUCTIVE
				: k->program			     ? k->program->tag
								     : TAG_UNKNOWN_PROGRAM,
			NULL, 0);
}

/* A tool that is known by name only: its words are judged as those of a program that nobody knows. */
HANDLER(tool)
{
	classify_unknown(k);
}

/* ping -c 1 HOST: the word that a program reaches.  Options and numbers are none, and this machine only where no other word is. */
static const struct word *reached(const struct call *k)
{
	const struct word *local = NULL;

	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		bool is_local = word_is_any(x, "localhost ::1") || word_starts(x, "127.");
		if (word_starts(x, "-") ||
			(x->certainty == CERTAIN && strspn(x->text, "0123456789") == x->text_n))
			continue;
		if (!is_local)
			return x;
		local = x;
	}
	return local ? local : k->rest_count ? &k->rest[0] : NULL;
}

/* By handler, by rows of verbs, or by the one tag of the program. */
void classify_known(struct call *k)
{
	const struct program *p = k->program;
	struct walk_mark mark = walk_mark(k->w);
	if (p->value_count)
		classify_values(k);
	project_started(k);
	if (p->handler)
		program_handle(p->handler, k);
	else if (p->verb_count)
		run_verbs(k);
	else
		fx(k, p->tag,
			tag_kind(p->tag) == FX_NETWORK ? reached(k)
				: k->rest_count	       ? &k->rest[0]
						       : NULL,
			p->flags);
	classify_sent_data(k, mark);
}

/* The only argument asks for help or the version; no program does anything else then. */
bool only_asks_help(const struct call *k)
{
	return k->rest_count == 1 && word_is_any(&k->rest[0], "--help --version -V -version --usage");
}

/* A name that only looks like a known one: letters of other alphabets, spaces that are none, signs
 * without a width. */
static bool is_disguised(const struct word *head)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = { { 0xa0, 0xa0 }, { 0xad, 0xad }, { 0x370, 0x52f }, { 0x2000, 0x200f },
		{ 0x202a, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 }, { 0xfeff, 0xfeff },
		{ 0xff01, 0xff5e }, { 0x1d400, 0x1d7ff } };
	for (size_t i = 0; i < head->text_n;) {
		uint32_t cp = 0;
		size_t n = (signed char)head->text[i] >= 0
			? 1
			: text_decode(head->text + i, head->text_n - i, &cp);
		for (size_t r = 0; cp && r < ARRAY_SIZE(ranges); r++)
			if (cp >= ranges[r].from && cp <= ranges[r].to)
				return true;
		i += n ? n : 1;
	}
	return false;
}

/* U+00A0 in UTF-8. */
static const char hard_blank[] = "\xc2\xa0";

/* A pasted command whose blanks are U+00A0: a shell sees one word, the person meant several, so the
 * several are judged. */
static void run_split(struct call *k, const struct word *head)
{
	size_t n = 0;
	struct word *v = arena_alloc(walk_arena(k->w), (head->text_n + k->rest_count) * sizeof(*v));
	for (const char *p = head->text; *p;) {
		const char *end = strstr(p, hard_blank);
		size_t len = end ? (size_t)(end - p) : strlen(p);
		if (len)
			v[n++] = walk_word(k->w, arena_strndup(walk_arena(k->w), p, len), head->at);
		p += end ? len + 2 : len;
	}
	for (size_t i = 0; i < k->rest_count; i++)
		v[n++] = k->rest[i];
	run_argv(k, v, n, 0, "hard blanks");
}

/* Finds out which program the first word names, and judges the command as that program. The order
 * matters: first the heads that are no plain name at all, then heads known only in part, then paths of
 * files that may have been written a moment ago, and only then the tables. */
/* A path that does not lie where the system keeps its programs: a known name there is whatever somebody has put under it. */
static bool is_somebodys(const struct word *head)
{
	static const char *const places[] = { "/usr/", "/bin/", "/sbin/", "/opt/", "/nix/", "/snap/",
		"/lib" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (text_starts(head->text, places[i]) && !strstr(head->text, "/../"))
			return false;
	return head->certainty == CERTAIN;
}

static void classify_head(struct call *k)
{
	struct word *head = &k->c->argv[0];
	if (head->certainty == CERTAIN && strstr(head->text, hard_blank)) {
		run_split(k, head);
		return;
	}
	if (text_eq(head->text, "[") || text_eq(head->text, "[["))
		head->certainty = CERTAIN; /* looks like a glob, is a command */
	if (k->c->is_argv && is_assignment(head)) { /* A=1 rm x given as words: meant as in a shell */
		note_assignment(k, head);
		run_argv(k, k->rest, k->rest_count, 0, "assignment");
		return;
	}
	bool has_name = head->certainty == PREFIXED ? strchr(head->text, '/') != NULL : walk_knows_name(head);
	if (head->certainty != CERTAIN && !has_name) {
		fx(k, tag_of_run(head->origin, TAG_DYNAMIC_HEAD), head, 0);
		return;
	}
	if (head->certainty != CERTAIN) { /* "$DIR/tool": the name may still be known */
		const char *base = strrchr(head->text, '/') + 1;
		/* The known text ends inside the name, so more of the name may follow. */
		bool cut = head->known_n > (size_t)(base - head->text) && !strchr(base, '.');
		if (!*base || head->is_glob || cut) {
			fx(k, TAG_DYNAMIC_HEAD, head, 0);
			return;
		}
	}
	k->head = plain_name(walk_arena(k->w), head);
	k->program = program_find(k->head, strlen(k->head));
	if (!k->program)
		k->program = find_family(k->head, strlen(k->head));
	if (k->program)
		k->head = program_name(k->program);
	if (!(k->program && text_eq(k->head, "helm")) && head_is_own(k)) {
		k->program = program_find("helm", strlen("helm"));
		k->head = program_name(k->program);
		classify_known(k);
		return;
	}
	struct feed content;
	/* 'rm -rf /' as one word: no path, whatever follows the blank */
	size_t word_n = strcspn(head->text, " \t\n");
	if (head->text[word_n] && !memchr(head->text, '/', word_n) && strchr(head->text, '/') &&
		!k->program) {
		fx(k, TAG_DYNAMIC_HEAD, head, 0);
		return;
	}
	const char *found = head->certainty == CERTAIN && !strchr(head->text, '/') ? file_of_path(k) : NULL;
	if (found) {
		*head = walk_word(k->w, found, head->at);
		classify_path_head(k);
		return;
	}
	/* Scripts of the system's services, whatever their names are. */
	bool is_init = text_starts(head->text, "/etc/init.d/") || text_starts(head->text, "/etc/rc.d/");
	if (strchr(head->text, '/') &&
		(!k->program || is_init || is_somebodys(head) || note_find(k, NULL, &content)))
		classify_path_head(k);
	else if (only_asks_help(k))
		fx(k, TAG_READ_QUERY, NULL, 0);
	else if (k->program)
		classify_known(k);
	else if (is_disguised(head))
		fx(k, TAG_DYNAMIC_HEAD, head, 0);
	else
		classify_unknown(k);
}

/* The system's password hashes, whichever program is told to open them; only asking about the file is
 * harmless. This runs for every command, because the programs that can open a file cannot all be known. */
static void find_password_file(struct call *k)
{
	static const char asks[] =
		"ls stat test [ [[ echo printf find du dirname basename realpath readlink getfacl "
		"lsattr namei chmod chown chgrp setfacl : true cd which type man exa eza git-crypt";
	if (list_has(asks, k->head, strlen(k->head)))
		return;
	for (size_t i = 1; i < k->c->argc; i++) {
		const struct word *x = &k->c->argv[i];
		const char *at = strstr(x->text, "/etc/");
		/* The path stands at the start of the word or behind a sign that introduces a file name
		 * (if=, @, file://, <). */
		bool begins = at && (at == x->text || strchr("=@/:<.", at[-1]));
		if (!begins || strchr(x->text, ' '))
			continue;
		const char *name = at + 5;
		size_t n = strcspn(name, ",;:)\"'");
		if (list_has("shadow shadow- gshadow gshadow- master.passwd", name, n)) {
			fx(k, TAG_SECRET_FILE, x, 0);
			return;
		}
	}
}

/* --password-command=/tmp/x, -o ssh_command=/tmp/x: a program from a place everybody can write to, to be
 * run by another one. */
static void find_named_program(struct call *k)
{
	for (size_t i = 1; i < k->c->argc; i++) {
		const struct word *x = &k->c->argv[i];
		const char *eq = strchr(x->text, '=');
		if (!eq || (size_t)(eq - x->text) >= x->known_n || strncmp(eq + 1, "/", 1) != 0)
			continue;
		struct word value = word_tail(x, (size_t)(eq - x->text) + 1);
		size_t n = (size_t)(eq - x->text);
		bool runs = (n > 7 && memcmp(eq - 7, "command", 7) == 0) ||
			(n > 4 && memcmp(eq - 4, "exec", 4) == 0) ||
			(n > 4 && memcmp(eq - 4, "hook", 4) == 0) ||
			(n > 5 && memcmp(eq - 5, "pager", 5) == 0) ||
			(n > 11 && memcmp(eq - 11, "conf-script", 11) == 0);
		if (runs && is_loose_program(&value))
			fx(k, TAG_ENVIRONMENT_LOADER, x, 0);
	}
}

/* env > file, { set; } > file: every credential this process was given, kept where others may read it. */
static bool keeps_environment(const struct call *k)
{
	bool kept = false;
	if (!feed_is_environment(&k->c->out))
		return false;
	for (size_t i = 0; i < k->c->redir_count; i++) {
		const struct redirect *r = &k->c->redirs[i];
		kept |= (r->op == REDIR_OUT || r->op == REDIR_APPEND || r->op == REDIR_CLOBBER) &&
			r->fd <= 1 && !word_starts(&r->target, "/dev/") && !word_starts(&r->target, "/tmp/");
	}
	return kept;
}

/* env | base64: no person reads it so; it is meant to leave unseen.  Or what is looked for in it is a credential. */
static bool hides_environment(const struct call *k)
{
	static const char heads[] = "base64 base32 basenc xxd od hexdump rev openssl gpg gzip zstd xz bzip2";
	if (!feed_is_environment(&k->c->in))
		return false;
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		/* env | awk '/TOKEN/', env | sed -n '/SECRET/p', env | tee dump.txt */
		if ((list_has("awk gawk mawk sed perl", k->head, strlen(k->head)) && says_credential(x)) ||
			(text_eq(k->head, "tee") && !word_starts(x, "-") && !word_starts(x, "/dev/") &&
				!word_starts(x, "/tmp/")))
			return true;
	}
	return list_has(heads, k->head, strlen(k->head));
}

/* find / -name id_rsa | sort | head -1: names that went through such a program are still those names. */
static void carry_names(struct call *k)
{
	static const char heads[] =
		"grep egrep fgrep zgrep rg sort uniq tee sed tr cat awk gawk mawk basename realpath "
		"readlink column fzf";
	struct feed *out = &k->c->out;
	if (!out->below && k->c->in.below && (out->kind == FEED_UNKNOWN || out->kind == FEED_DECODED) &&
		list_has(heads, k->head, strlen(k->head)))
		out->below = k->c->in.below;
}

/* Assignments come first, as in the shell. Redirections come last: what they write is known only when
 * the command's output is. */
void classify_command(struct walk *w, struct command *c)
{
	struct call k = { .w = w, .c = c, .head = c->argc ? c->argv[0].text : "" };
	if (c->argc) {
		k.rest = c->argv + 1;
		k.rest_count = c->argc - 1;
		/* What goes through an unknown program is still fetched text. */
		c->out = (struct feed){ .kind = c->in.kind == FEED_FETCHED ? FEED_FETCHED : FEED_UNKNOWN };
	}
	for (size_t i = 0; i < c->assign_count; i++)
		classify_assignment(&k, &c->assigns[i]);
	if (c->argc) {
		classify_head(&k);
		find_password_file(&k);
		find_named_program(&k);
	}
	for (size_t i = 0; i < c->redir_count; i++)
		classify_redirect(&k, &c->redirs[i]);
	if (keeps_environment(&k) || hides_environment(&k))
		fx(&k, TAG_SECRET_STORE, NULL, 0);
	carry_names(&k);
}
