/* windows.c — Windows commands: they are judged on any system, because agents write them anywhere, and
 * some run through interoperability layers.
 *
 * cmd and PowerShell texts are split in a simple way (statements at ; & | { } and newlines, words at
 * blanks outside quotes): enough to find the command and its operands, which is all that is judged.
 * Names and options are compared without case. Paths with drive letters are not paths of this machine,
 * so they get tags of their own instead of a path class. */
#include "propose/programs/programs.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* One of a list, without case. */
static bool says(const struct word *x, const char *list)
{
	char low[24] = { 0 };
	for (size_t i = 0; i < sizeof(low) - 1 && i < x->text_n; i++)
		low[i] = (char)tolower((unsigned char)x->text[i]);
	return list_has(list, low, strlen(low));
}

static bool any_says(struct call *k, const char *list)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (says(&k->rest[i], list))
			return true;
	return false;
}

/* A drive's root or a directory of the system, also by the variables that usually name them. */
static bool is_system_path(const struct word *x)
{
	const char *p = x->text;
	if (*p == '%' || *p == '$')
		return strcasestr(p, "systemroot") || strcasestr(p, "windir") ||
			strcasestr(p, "systemdrive") || strcasestr(p, "userprofile") ||
			strcasestr(p, "programfiles");
	if (!isalpha((unsigned char)p[0]) || p[1] != ':')
		return false;
	p += 2;
	p += strspn(p, "\\/");
	return !*p || *p == '*' || strncasecmp(p, "windows", 7) == 0 || strncasecmp(p, "program", 7) == 0 ||
		strncasecmp(p, "users", 5) == 0 || strncasecmp(p, "boot", 4) == 0;
}

/* /s, /q, -Force: options of cmd and PowerShell. A longer word with a slash is a path. */
static bool is_switch(const struct word *x)
{
	return (x->text[0] == '/' && strlen(x->text) <= 5 && !strchr(x->text + 1, '/')) || x->text[0] == '-';
}

/* del, rd and Remove-Item. Windows paths are not resolved here; drives and system directories are told
 * by their look. */
HANDLER(del)
{
	bool recursive = any_says(k, "/s -recurse -r -rec -recursive") || text_eq(k->head, "rd") ||
		text_eq(k->head, "rmdir");
	bool any = false;
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (is_switch(x) || says(x, "silentlycontinue stop $true $false"))
			continue;
		any = true;
		bool is_drive = isalpha((unsigned char)x->text[0]) && x->text[1] == ':';
		if (is_system_path(x))
			fx(k, TAG_DELETE_WIN_SYSTEM, x, FXF_RECURSIVE);
		else if (recursive || is_drive || strpbrk(x->text, "*?"))
			fx(k, TAG_DELETE_WIN, x, recursive ? FXF_RECURSIVE : 0);
		else
			(void)fx_path(k, TAG_DELETE_FILE, x, 0);
		/* A path of this machine given to a Windows command is judged as that path too. */
		if (word_is_any(x, "/ ~ ~/ .. .") || word_starts(x, "/"))
			(void)fx_path(k, TAG_DELETE_FILE, x, recursive ? FXF_RECURSIVE : 0);
	}
	/* Get-ChildItem | Remove-Item: what is deleted comes through the pipe. */
	bool is_piped = k->c->in.kind != FEED_INHERIT && k->c->in.kind != FEED_EMPTY;
	if (!any)
		fx(k, recursive || is_piped ? TAG_DELETE_WIN : TAG_READ_QUERY, NULL, 0);
}

/* The files that hold a Windows machine's or domain's password hashes. A shell may have eaten the
 * backslashes, so separators are ignored. */
static bool is_hive(const char *path)
{
	static const char *const hives[] = { "configsam", "configsecurity", "ntds.dit", "hklmsam",
		"hklmsecurity", "microsoftcredentials" };
	char plain[128];
	size_t n = 0;
	for (; *path && n + 1 < sizeof(plain); path++)
		if (*path != '\\' && *path != '/')
			plain[n++] = (char)tolower((unsigned char)*path);
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(hives); i++)
		if (strstr(plain, hives[i]))
			return true;
	return false;
}

/* Get-Content and type show files, and a file may be a secret; backslashes separate too. */
HANDLER(show)
{
	for (size_t i = 0; i < k->rest_count; i++) {
		const struct word *x = &k->rest[i];
		if (is_hive(x->text)) {
			fx(k, TAG_SECRET_FILE, x, 0);
			continue;
		}
		if (is_switch(x) || x->certainty != CERTAIN)
			continue;
		char *path = arena_strndup(walk_arena(k->w), x->text, x->text_n);
		for (char *p = path; *p; p++)
			if (*p == '\\')
				*p = '/';
		/* A shell that ate the backslashes has glued the directory to the name. */
		const char *env = strstr(path, ".env");
		struct word plain = walk_word(k->w, env ? env : path, x->at);
		fx_read(k, &plain, 1);
	}
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* copy FROM TO */
HANDLER(copy)
{
	handle_show(k);
	if (k->rest_count > 1)
		(void)fx_path(k, TAG_WRITE_FILE, &k->rest[k->rest_count - 1], FXF_OVERWRITE);
}

/* procdump -ma lsass.exe: the process that knows everybody's password. */
HANDLER(dump)
{
	for (size_t i = 0; i < k->rest_count; i++)
		if (strcasestr(k->rest[i].text, "lsass"))
			fx(k, TAG_SECRET_STORE, &k->rest[i], 0);
	fx(k, TAG_READ_QUERY, NULL, 0);
}

/* format with a drive; the same name without one may be any other tool. */
HANDLER(format)
{
	/* "c:" or "c:\" alone. */
	bool drive = false;
	for (size_t i = 0; i < k->rest_count; i++)
		drive |= isalpha((unsigned char)k->rest[i].text[0]) && k->rest[i].text[1] == ':' &&
			k->rest[i].text_n <= 3;
	fx(k, drive || text_eq(k->head, "format-volume") ? TAG_DEVICE_FORMAT_WIN : TAG_UNKNOWN_VERB, NULL, 0);
}

/* Saving a hive gives away the password hashes in it. */
HANDLER(reg)
{
	bool reads = k->rest_count && says(&k->rest[0], "query compare export save");
	if (k->rest_count > 1 && is_hive(k->rest[1].text))
		fx(k, TAG_SECRET_STORE, &k->rest[1], 0);
	fx(k, reads ? TAG_READ_QUERY : TAG_KERNEL_REGISTRY, k->rest_count > 1 ? &k->rest[1] : NULL, 0);
}

HANDLER(vssadmin)
{
	fx(k, k->rest_count && says(&k->rest[0], "list") ? TAG_READ_QUERY : TAG_DEVICE_SNAPSHOT, NULL, 0);
}

/* Deleting shadow copies takes the backups away; calling and terminating concern processes. */
HANDLER(wmic)
{
	bool deletes = any_says(k, "delete");
	fx(k,
		deletes && any_says(k, "shadowcopy")	       ? TAG_DEVICE_SNAPSHOT
			: any_says(k, "call delete terminate") ? TAG_PROCESS_KILL
							       : TAG_READ_QUERY,
		NULL, 0);
}

/* net user, net stop, net share and the like. */
HANDLER(net_win)
{
	if (k->rest_count && says(&k->rest[0], "user localgroup group accounts"))
		fx(k, k->rest_count > 2 ? TAG_ACCOUNT_CHANGE : TAG_READ_QUERY, NULL, 0);
	else if (k->rest_count && says(&k->rest[0], "stop start pause continue"))
		fx(k, TAG_PROCESS_SERVICE, NULL, 0);
	else if (k->rest_count > 1 && says(&k->rest[0], "share use session file computer"))
		fx(k, TAG_LISTEN_PORT, &k->rest[1], 0);
	else
		fx(k, TAG_READ_QUERY, NULL, 0);
}

HANDLER(sc)
{
	bool reads = k->rest_count && says(&k->rest[0], "query queryex qc qdescription");
	fx(k, reads ? TAG_READ_QUERY : TAG_PROCESS_SERVICE, NULL, 0);
}

/* Shows, or changes the network and the firewall. */
HANDLER(netsh)
{
	fx(k,
		any_says(k, "show") && !any_says(k, "set add delete reset") ? TAG_READ_QUERY
									    : TAG_FIREWALL_CHANGE,
		NULL, 0);
}

/* A task that is created runs later without being asked. */
HANDLER(schtasks)
{
	fx(k,
		any_says(k, "/create /change /run")   ? TAG_PERSISTENCE_TASK_WIN
			: any_says(k, "/delete /end") ? TAG_CRON_EDIT
						      : TAG_READ_QUERY,
		NULL, 0);
}

/* /w overwrites free space, after which nothing can be brought back. */
HANDLER(cipher)
{
	bool wipes = false;
	for (size_t i = 0; i < k->rest_count; i++)
		wipes |= strncasecmp(k->rest[i].text, "/w", 2) == 0;
	fx(k, wipes ? TAG_DEVICE_WIPE : TAG_READ_QUERY, NULL, 0);
}

/* Invoke-Expression runs a text: fetched, or unknown. The same name is the prompt of Elixir. */
HANDLER(iex)
{
	bool fetches = any_says(k, "iwr irm curl wget invoke-webrequest invoke-restmethod");
	for (size_t i = 0; i < k->rest_count; i++)
		fetches |= strcasestr(k->rest[i].text, "downloadstring") ||
			strcasestr(k->rest[i].text, "http") || strcasestr(k->rest[i].text, "(iwr") ||
			strcasestr(k->rest[i].text, "(irm");
	/* iex alone, or iex -S mix, is the prompt of another language. */
	bool is_prompt = !k->rest_count || word_is_any(&k->rest[0], "-S --sname --name --remsh --cookie");
	if (is_prompt && k->c->in.kind == FEED_INHERIT)
		fx(k, TAG_SCRIPT_BUILD, NULL, 0);
	else
		fx(k, fetches || k->c->in.kind == FEED_FETCHED ? TAG_FETCH_EXEC : TAG_DYNAMIC_TEXT, NULL, 0);
}

/* Invoke-WebRequest and its kin. */
HANDLER(iwr)
{
	fx(k, TAG_NETWORK_GET, k->rest_count ? &k->rest[k->rest_count - 1] : NULL, 0);
	if (any_says(k, "post put delete patch -body -infile"))
		fx(k, TAG_NETWORK_MUTATE, NULL, FXF_MUTATING);
	k->c->out.kind = FEED_FETCHED;
}

/* Without one of its verbs it only shows. */
HANDLER(icacls)
{
	static const char *const verbs[] = { "/grant", "/deny", "/reset", "/setowner", "/remove", "/restore",
		"/inheritance" };
	bool changes = false;
	for (size_t i = 0; i < k->rest_count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(verbs); j++)
			changes |= word_has(&k->rest[i], verbs[j]);
	fx(k, changes ? TAG_PERMISSION_ACL : TAG_READ_QUERY, k->rest_count ? &k->rest[0] : NULL,
		changes ? FXF_RECURSIVE : 0);
}

/* fltmc unload, sysmon -u, MpCmdRun -RemoveDefinitions: switches protection off. */
HANDLER(protection)
{
	bool weakens =
		any_says(k, "unload detach -u -uninstall -removedefinitions -disableservice /uninstall");
	fx(k, weakens ? TAG_KERNEL_SECURITY : TAG_READ_QUERY, NULL, 0);
}

HANDLER(auditpol)
{
	fx(k, any_says(k, "/clear /remove /set /restore") ? TAG_KERNEL_SECURITY : TAG_READ_QUERY, NULL, 0);
}

/* /mir and its kin delete what is not in the source. */
HANDLER(robocopy)
{
	bool deletes = any_says(k, "/mir /purge /move /mov");
	fx(k, deletes ? TAG_DELETE_WIN : TAG_WRITE_FILE, k->rest_count > 1 ? &k->rest[1] : NULL, 0);
}

static bool program_find_any_case(struct call *k, const char *name, size_t n)
{
	char *low = arena_strndup(walk_arena(k->w), name, n);
	for (size_t i = 0; i < n; i++)
		low[i] = (char)tolower((unsigned char)low[i]);
	return program_find(low, n) != NULL;
}

/* The words of one statement; quotes are removed. */
static size_t split(
	struct call *k, const char *p, const char *end, struct word *v, size_t max, struct span at)
{
	size_t n = 0;
	struct arena *a = walk_arena(k->w);
	while (p < end && n < max) {
		while (p < end && isspace((unsigned char)*p))
			p++;
		struct buf b;
		buf_init(&b, a);
		bool any = false;
		for (char quote = 0; p < end && (quote || !isspace((unsigned char)*p)); p++) {
			any = true;
			if (!quote && (*p == '"' || *p == '\''))
				quote = *p;
			else if (*p == quote)
				quote = 0;
			else
				buf_addc(&b, *p);
		}
		if (any)
			v[n++] = walk_word(k->w, b.p, at);
	}
	return n;
}

/* for %f in (*) do del %f; if exist x rd x: the command inside is what counts. Returns how many words
 * come before it. */
static size_t skip_clause(const struct word *v, size_t n)
{
	size_t i = 0;
	if (n && says(&v[0], "for foreach")) {
		while (i < n && !says(&v[i], "do"))
			i++;
		return i < n ? i + 1 : 0;
	}
	if (n > 3 && says(&v[0], "if"))
		return says(&v[1], "not") ? 4 : says(&v[1], "exist defined errorlevel") ? 3 : 2;
	return n && says(&v[0], "@echo call start & . cmd") && n > 1 && word_is_any(&v[0], "& .") ? 1 : 0;
}

/* IEX(New-Object ...): the parenthesis needs no blank, so a known name in front of it is cut off. */
static void cut_parenthesis(struct call *k, struct word *v, size_t *n)
{
	size_t name = strcspn(v[0].text, "(");
	if (!name || name == v[0].text_n || !program_find_any_case(k, v[0].text, name))
		return;
	memmove(v + 2, v + 1, (*n - 1) * sizeof(*v));
	v[1] = word_tail(&v[0], name);
	v[0] = word_head(walk_arena(k->w), &v[0], name);
	++*n;
}

/* Each statement is judged as a command of its own; behind a bar it gets the output of the one before. */
void classify_windows_text(struct call *k, const struct word *text)
{
	if (text->certainty != CERTAIN)
		fx(k, TAG_DYNAMIC_TEXT, text, 0);
	const char *p = text->text, *end = p + text->text_n;
	struct word *v = arena_alloc(walk_arena(k->w), (text->text_n + 3) * sizeof(*v));
	struct feed in = k->c->in;
	unsigned statements = 0;
	while (p < end && statements++ < 256) {
		const char *stop = p;
		for (char quote = 0; stop < end && (quote || !strchr(";&|\n{}", *stop)); stop++)
			if (!quote && (*stop == '"' || *stop == '\''))
				quote = *stop;
			else if (*stop == quote)
				quote = 0;
		size_t n = split(k, p, stop, v, (size_t)(end - p) + 1, text->at);
		size_t from = skip_clause(v, n);
		if (n)
			cut_parenthesis(k, v, &n);
		if (n > from)
			run_argv(k, v + from, n - from, 0, k->head);
		/* Only a single bar is a pipe. */
		k->c->in = stop < end && *stop == '|' && stop + 1 < end && stop[1] != '|' ? k->c->out : in;
		p = stop + 1;
	}
	k->c->in = in;
}
