/* refusal.c — when a run failed at its sandbox, one line says at what, and how an operator opens just that.
 *
 * The kernel refuses without telling anybody.  So a run that failed is explained from the effects that were understood before it began, and
 * from what it printed last: a path or a host in a line that says why.  A path is named only where the sandbox is the cause: it exists and
 * is not shown, or its owner could write it.  This explains, and decides nothing. */
#include "base/file.h"
#include "base/text.h"
#include "decide/decide.h"
#include "kernel/task/parts.h"
#include "model/secret.h"
#include "model/terms.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

struct refusal {
	const char *what; /* "write", "fixed", "closed", "unseen", "list", "network" */
	const char *target;
};

/* A directory of the run's own, or one of its layers.  Whoever was not there when the walls went up knows them by the profile. */
static bool is_private(const struct task *t, const char *path)
{
	const struct profile *p = t->profile;

	for (size_t i = 0; !t->tmp.path && i < p->own_path_count; i++)
		if (path_is_below(path, p->own_paths[i]))
			return true;
	for (size_t i = 0; !t->tmp.path && t->k->ws->home && i < p->layer_count; i++)
		if (path_is_below(path,
			    path_clean(t->a, arena_printf(t->a, "%s/%s", t->k->ws->home, p->layers[i]))))
			return true;
	for (const struct sandbox_own *o = t->rules.own; o && o->at; o++)
		if (path_is_below(path, o->at))
			return true;
	for (const struct sandbox_layer *l = t->rules.layers; l && l->at; l++)
		if (path_is_below(path, l->at))
			return true;
	return false;
}

/* Could whoever started the run write there without walls?  What does not exist is made in the directory above. */
static bool is_writable_bare(struct arena *a, const char *path)
{
	char *dir = arena_strdup(a, path);

	/* Of the kernel's own files nobody says by their modes whether they can be written. */
	if (path_is_below(path, "/proc") || path_is_below(path, "/sys") || path_is_below(path, "/dev"))
		return false;
	while (faccessat(AT_FDCWD, dir, F_OK, AT_EACCESS)) {
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			return false;
		*slash = '\0';
	}
	return faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0;
}

/* Without mounts that cover them, a directory above hidden places cannot be listed. */
static bool is_above_hidden(const struct task *t, const char *path)
{
	for (const char *const *p = t->rules.hidden; p && *p; p++)
		if (path_is_below(*p, path))
			return true;
	return text_eq(path, "/");
}

/* It exists in a home, and the sandbox does not show it. */
static bool is_unseen(const struct task *t, const char *path)
{
	bool is_in_home = false;

	for (const struct sandbox_home *h = t->rules.homes; h && h->at; h++)
		is_in_home |= path_is_below(path, h->at) && !text_eq(path, h->at);
	if (!is_in_home || text_eq(path_base(path), ".gitconfig") || path_is_in_one(path, t->rules.shown) ||
		path_is_in_one(path, t->rules.write_paths) || is_private(t, path))
		return false;
	/* A directory on the way to a place that is shown is there. */
	for (const char *const *p = t->rules.shown; p && *p; p++)
		if (path_is_below(*p, path))
			return false;
	for (const char *const *p = t->rules.write_paths; p && *p; p++)
		if (path_is_below(*p, path))
			return false;
	return file_exists(t->k->sys, AT_FDCWD, path);
}

/* As it is outside: without mounts HOME is a directory of the run's own. */
static const char *outside_path(const struct task *t, const char *text)
{
	const char *path = path_clean(t->a, path_join(t->a, t->spec->cwd, text));

	if (t->own_home && path_is_below(path, t->own_home) && t->k->ws->home)
		return arena_printf(t->a, "%s%s", t->k->ws->home, path + strlen(t->own_home));
	return path;
}

/* In ~/.cache, which is a layer, the caches of programs that are no toolchain are hidden (homes.c). */
static bool is_cache(const struct task *t, const char *path)
{
	const char *home = t->k->ws->home;

	return home && path_is_below(path, arena_printf(t->a, "%s/.cache", home)) &&
		!secret_place_holds(path);
}

/* git's configuration, of which a run may set only what starts nothing and leads git nowhere else. */
static bool is_git_file(const struct task *t, const char *path)
{
	for (const struct sandbox_file *f = t->rules.files; f && f->at; f++)
		if (text_eq(f->at, path))
			return true;
	return false;
}

/* An operator's yes opened it, so it is not what the sandbox refused. */
static bool is_opened(const struct task *t, const char *path)
{
	for (size_t i = 0; i < t->opening_count; i++)
		if (t->openings[i].fd >= 0 && text_eq(t->openings[i].target, path))
			return true;
	return false;
}

/* It exists, and the run has an empty directory of its own in the place of the one above it. */
static bool is_in_own_directory(const struct task *t, const char *path)
{
	const struct profile *p = t->profile;

	for (size_t i = 0; t->rules.kind != SANDBOX_SUPERVISED && i < p->own_path_count; i++)
		if (path_is_below(path, p->own_paths[i]) && !text_eq(path, p->own_paths[i]) &&
			!path_is_in_one(path, t->rules.write_paths))
			return file_exists(t->k->sys, AT_FDCWD, path);
	return false;
}

/* Was the command understood to write there, or below? */
static bool is_written(const struct task *t, const char *path)
{
	const struct proposal *p = t->report ? &t->report->handling.proposal : NULL;

	for (size_t i = 0; p && i < p->effect_count; i++) {
		const struct effect *f = &p->effects[i];
		if ((f->kind == FX_WRITE || f->kind == FX_MOVE || f->kind == FX_DELETE) && f->target &&
			*f->target == '/' && path_is_below(path_clean(t->a, f->target), path))
			return true;
	}
	return false;
}

enum failed {
	FAILED_READ,
	FAILED_ABSENT, /* it said that there is no such file */
	FAILED_WRITE
};

/* What the sandbox says about this path, if it is what refused it.  A program that could not read is never told where it may write. */
static bool judge_path(const struct task *t, const char *text, enum failed how, struct refusal *ret)
{
	const char *path = outside_path(t, text);
	const bool is_read = how != FAILED_WRITE;

	if (is_opened(t, path))
		return false;
	if (is_read && is_in_own_directory(t, path))
		*ret = (struct refusal){ "own", path };
	else if (path_is_in_one(path, t->rules.hidden) && file_exists(t->k->sys, AT_FDCWD, path))
		*ret = (struct refusal){ is_cache(t, path) ? "unseen" : "closed", path };
	else if (is_unseen(t, path))
		*ret = (struct refusal){ secret_place_holds(path) ? "closed"
				: is_written(t, path)		  ? "write"
								  : "unseen",
			path };
	else if (how == FAILED_ABSENT)
		return false;
	else if (is_read && is_above_hidden(t, path))
		*ret = (struct refusal){ "list", path };
	else if (is_read)
		return false;
	else if (path_is_in_one(path, t->rules.read_only))
		*ret = (struct refusal){ "fixed", path };
	else if (is_git_file(t, path))
		*ret = (struct refusal){ "git", path };
	else if (!path_is_in_one(path, t->rules.write_paths) && !is_private(t, path) &&
		is_writable_bare(t->a, path))
		*ret = (struct refusal){ "write", path };
	else
		return false;
	return true;
}

bool refusal_foreseen(const struct task *t, const char *path, bool is_write)
{
	struct refusal found;

	return judge_path(t, path, is_write ? FAILED_WRITE : FAILED_ABSENT, &found);
}

static bool says_one(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Words of a line, as programs put names into it: between quotes, or between blanks without the colon behind. */
static bool next_word(const char **at, char *to, size_t room)
{
	static const char blanks[] = " \t'\"`()[]<>,;";
	const char *from = *at + strspn(*at, blanks);
	size_t n = strcspn(from, blanks);

	*at = from + n;
	while (n && (from[n - 1] == ':' || from[n - 1] == '.'))
		n--;
	if (!*from || n >= room)
		return *from != '\0' && (to[0] = '\0', true);
	memcpy(to, from, n);
	to[n] = '\0';
	return true;
}

static const char *const absents[] = { "No such file or directory", "ENOENT", "not found", "does not exist",
	"Directory nonexistent" };
/* How programs say that it was reading that failed. */
static const char *const reads[] = { "open directory", "read directory", "reading directory", "cannot access",
	"cannot stat", "cannot read", "can't read", "for reading", "scandir", "opendir" };

/* The name of the program that speaks stands first, with a colon behind it, and is not what was refused. */
static bool find_path(const struct task *t, const char *line, struct refusal *ret)
{
	const size_t first = strcspn(line, " "), slash = strcspn(line, "/");
	char word[LINE_MAX_BYTES];
	enum failed how = says_one(line, absents, ARRAY_SIZE(absents)) ? FAILED_ABSENT
		: says_one(line, reads, ARRAY_SIZE(reads))	       ? FAILED_READ
								       : FAILED_WRITE;

	if (first > 1 && line[first] && line[first - 1] == ':' && (slash > first || how != FAILED_ABSENT))
		line += first;
	while (next_word(&line, word, sizeof(word)))
		if (strchr(word, '/') && judge_path(t, word, how, ret))
			return true;
	return false;
}

/* The first word of the line that looks like a host, after the text that says why. */
static bool find_host(const struct task *t, const char *after, struct refusal *ret)
{
	char word[LINE_MAX_BYTES];

	while (next_word(&after, word, sizeof(word)))
		if (strchr(word, '.') && !strchr(word, '/') && strspn(word, "0123456789.") != strlen(word)) {
			word[strcspn(word, ":")] = '\0';
			*ret = (struct refusal){ "network", arena_strdup(t->a, word) };
			return true;
		}
	return false;
}

static const char *const writes[] = { "Read-only file system", "Permission denied", "EROFS", "EACCES",
	"Operation not permitted" };
static const char *const names[] = { "Could not resolve host", "Couldn't resolve host", "ENOTFOUND",
	"EAI_AGAIN", "Name or service not known", "Temporary failure in name resolution", "no such host",
	"failed to lookup address", "Failed to resolve", "Network is unreachable", "ENETUNREACH" };

static bool judge_line(const struct task *t, const char *line, struct refusal *ret)
{
	if ((says_one(line, writes, ARRAY_SIZE(writes)) || says_one(line, absents, ARRAY_SIZE(absents))) &&
		find_path(t, line, ret))
		return true;
	for (size_t i = 0; t->rules.network != NETWORK_FULL && i < ARRAY_SIZE(names); i++)
		if (strstr(line, names[i]) &&
			(find_host(t, strstr(line, names[i]), ret) || find_host(t, line, ret)))
			return true;
	return false;
}

/* Programs that speak UTF-8 put names between curled quotes. */
static char *plain_quotes(struct arena *a, struct bytes line)
{
	char *text = arena_strndup(a, (const char *)line.p, line.n);

	for (char *at = text; (at = strstr(at, "\xe2\x80"));)
		if (at[2] == '\x98' || at[2] == '\x99' || at[2] == '\x9c' || at[2] == '\x9d')
			memcpy(at, "'  ", 3);
		else
			at += 2;
	return text;
}

static bool judge_text(const struct task *t, struct bytes text, struct refusal *ret)
{
	while (text.p) {
		struct bytes line = text_cut(&text, '\n');
		if (line.n && line.n < LINE_MAX_BYTES && judge_line(t, plain_quotes(t->a, line), ret))
			return true;
	}
	return false;
}

static bool judge_stream(const struct task *t, const struct run_stream *s, struct refusal *ret)
{
	return judge_text(t, (struct bytes){ (const uint8_t *)s->tail, s->tail_n }, ret);
}

/* The directory that a person would allow: the path itself where it is one. */
static const char *place_of(const struct task *t, const char *path)
{
	struct stat st;
	char *dir = arena_strdup(t->a, path);

	while (t->k->sys->stat(t->k->sys, AT_FDCWD, dir, &st, 0) || !S_ISDIR(st.st_mode)) {
		char *slash = strrchr(dir, '/');
		if (!slash || slash == dir)
			return path;
		*slash = '\0';
	}
	return dir;
}

/* What was refused, why, and what an operator types to open just that. */
struct said {
	const char *what, *why, *type;
};

static struct said say_network(const struct task *t, const char *shown)
{
	struct arena *a = t->a;
	const struct profile *p = t->profile;
	const char *what = *shown ? arena_printf(a, "the sandbox refused %s", shown)
				  : "the sandbox refused a connection";

	if (t->rules.network == NETWORK_NAMED)
		return (struct said){ what,
			arena_printf(a, "the profile %s has no way there but the egress proxy", p->name),
			arena_printf(a, "to allow it: helm allow host %s", *shown ? shown : "HOST") };
	const char *wider = task_profile_with_network(t);
	return (struct said){ what,
		arena_printf(a, "the profile %s has no way there; under %s the network is open", p->name,
			wider ? wider : "service_ops"),
		wider && t->spec->argc ? arena_printf(a, "to run it there: helm run --profile %s -- %s",
						 wider, task_preview(a, t->spec->argv, t->spec->argc))
				       : NULL };
}

/* The same command with an operator's yes, where that opens this path; or NULL. */
static const char *say_once(const struct task *t, const char *target)
{
	if (!t->report || !t->spec->argc || t->spec->approve_risk || !openings_could(t, target))
		return NULL;
	return arena_printf(t->a, "to do it this once: helm run --profile %s --approve-risk -- %s",
		t->profile->name, task_preview(t->a, t->spec->argv, t->spec->argc));
}

static struct said say_write(const struct task *t, const char *shown, const char *target)
{
	struct arena *a = t->a;
	const char *place = place_of(t, target);
	const bool is_too_much = place_is_too_much(t->k->ws->home, t->k->ws->helm_home, place);

	const char *type = is_too_much
		? "to let runs here write in a directory of its own: helm allow path DIR"
		: arena_printf(a, "to allow that place: helm allow path %s",
			  text_safe(a, place, strlen(place), false));
	/* In the home itself no directory can be allowed that is not too much: this one file can. */
	const char *once = say_once(t, target);
	if (once)
		type = is_too_much ? once : arena_printf(a, "%s\n%s", type, once);
	return (struct said){ arena_printf(a, "the sandbox refused %s", shown),
		arena_printf(a, "the profile %s lets it write only in the work tree", t->profile->name),
		type };
}

static struct said say(const struct task *t, const struct refusal *r)
{
	struct arena *a = t->a;
	const char *shown = text_safe(a, r->target, strlen(r->target), false);
	const char *refused = arena_printf(a, "the sandbox refused %s", shown);

	if (t->profile->terms && !text_eq(r->what, "fixed"))
		return (struct said){ refused,
			arena_printf(
				a, "the contract of skill '%s' does not have it", t->profile->terms->skill),
			NULL };
	if (text_eq(r->what, "closed"))
		return (struct said){ arena_printf(a, "the sandbox hides %s", shown),
			arena_printf(a, "the profile %s keeps credentials closed", t->profile->name),
			say_once(t, r->target) };
	if (text_eq(r->what, "own"))
		return (struct said){ arena_printf(a, "the sandbox does not show %s", shown),
			arena_printf(a, "under the profile %s a run has a temporary directory of its own",
				t->profile->name),
			arena_printf(a, "to use it in a run: cp -- %s .", task_preview(a, &r->target, 1)) };
	if (text_eq(r->what, "unseen"))
		return (struct said){ arena_printf(a, "the sandbox does not show %s", shown),
			"of your home a run sees its work tree and toolchains",
			arena_printf(a, "to let runs here read it: helm allow path --read %s", shown) };
	if (text_eq(r->what, "list"))
		return (struct said){ arena_printf(a, "the sandbox refused to read %s", shown),
			"credentials lie below it, and this machine has no mounts to cover them",
			"name what lies in it instead" };
	if (text_eq(r->what, "fixed"))
		return (struct said){ refused,
			"what decides about runs, or starts programs later, is read-only in one", NULL };
	if (text_eq(r->what, "git"))
		return (struct said){ refused,
			"a run may not set what leads git elsewhere, or starts programs",
			t->spec->argc && !t->spec->approve_risk
				? arena_printf(a,
					  "to do it with your yes: helm run --profile %s --approve-risk -- %s",
					  t->profile->name, task_preview(a, t->spec->argv, t->spec->argc))
				: NULL };
	return text_eq(r->what, "network") ? say_network(t, shown) : say_write(t, shown, r->target);
}

static const char *sentence(const struct task *t, const struct refusal *r)
{
	const struct said x = say(t, r);

	const char *type = x.type ? x.type : "";
	return arena_printf(
		t->a, "%s: %s%s%.*s", x.what, x.why, *type ? "; " : "", (int)strcspn(type, "\n"), type);
}

/* Files that the command was understood to read, and that the sandbox does not show. */
static bool judge_reads(const struct task *t, struct refusal *ret)
{
	const struct proposal *p = &t->report->handling.proposal;
	char real[PATH_MAX];

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *f = &p->effects[i];
		const char *dir = facts_directory(f);
		if (dir && judge_path(t, dir, FAILED_ABSENT, ret))
			return true;
		if ((f->kind == FX_READ || f->kind == FX_SECRET_READ || f->kind == FX_SCRIPT) && f->target &&
			*f->target == '/' &&
			(judge_path(t, f->target, FAILED_ABSENT, ret) ||
				(realpath(f->target, real) && judge_path(t, real, FAILED_ABSENT, ret))))
			return true;
	}
	return false;
}

static bool tail_says(const struct run_stream *s, const char *const *words, size_t n, struct arena *a)
{
	return s->tail_n && says_one(arena_strndup(a, s->tail, s->tail_n), words, n);
}

static bool output_says(const struct task *t, const char *const *words, size_t n)
{
	return tail_says(&t->result->err, words, n, t->a) || tail_says(&t->result->out, words, n, t->a);
}

/* The directory that it was to be made in exists, and the sandbox does not show it. */
static bool is_in_unseen(const struct task *t, const char *path, struct refusal *ret)
{
	const size_t n = (size_t)(path_base(path) - path);

	if (n < 2 || !judge_path(t, arena_strndup(t->a, path, n - 1), FAILED_ABSENT, ret))
		return false;
	*ret = (struct refusal){ text_eq(ret->what, "unseen") ? "write" : ret->what, path };
	return true;
}

/* The output says how it failed, and not at what: that is known from what the command was understood to write, or to connect to. */
static bool judge_unnamed(const struct task *t, struct refusal *ret)
{
	const struct proposal *p = &t->report->handling.proposal;
	const bool is_write = output_says(t, writes, ARRAY_SIZE(writes)),
		   is_absent = output_says(t, absents, ARRAY_SIZE(absents)),
		   is_net = t->rules.network != NETWORK_FULL && output_says(t, names, ARRAY_SIZE(names));

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *f = &p->effects[i];
		if (!f->target || f->certainty != CERTAIN || f->flags & FXF_DRY_RUN)
			continue;
		if ((f->kind == FX_WRITE || f->kind == FX_MOVE || f->kind == FX_DELETE) &&
			*f->target == '/' &&
			((is_write && judge_path(t, f->target, FAILED_WRITE, ret)) ||
				(is_absent && is_in_unseen(t, f->target, ret))))
			return true;
		const char *host = is_net && f->kind == FX_NETWORK
			? host_of(t->a, f->resolved ? f->resolved : f->target)
			: NULL;
		if (host && strchr(host, '.')) {
			*ret = (struct refusal){ "network", host };
			return true;
		}
	}
	/* Without any network a name is never found, and no other machine is reached. */
	*ret = (struct refusal){ "network", "" };
	return is_net && t->rules.network != NETWORK_NAMED;
}

void task_tell_refusal(struct task *t)
{
	const struct run_result *r = t->result;
	struct refusal found;

	if (!r->exit_code || t->rules.off ||
		(!judge_reads(t, &found) && !judge_stream(t, &r->err, &found) &&
			!judge_stream(t, &r->out, &found) && !judge_unnamed(t, &found)))
		return;
	const struct said x = say(t, &found);
	json_sets(t->a, t->row, "refused_by_wall", sentence(t, &found));
	json_sets(t->a, t->row, "remedy", x.type);
	/* A call of a session is told to a model, in one line. */
	if (!t->spec->argc) {
		task_hint(t, sentence(t, &found));
		return;
	}
	task_hint(t, x.what);
	task_hint(t, x.why);
	if (x.type)
		task_hint(t, x.type);
}

const char *refusal_in(struct kernel *k, struct arena *a, const struct profile *p,
	const struct surroundings *at, const char *said)
{
	const struct run_spec spec = { .cwd = at->cwd ? at->cwd : "/" };
	struct task t = { .k = k, .a = a, .spec = &spec, .profile = p, .at = *at };
	struct refusal found;

	/* Most have nothing to do with the sandbox, and which places it shows takes a look at the tree. */
	if (!says_one(said, writes, ARRAY_SIZE(writes)) && !says_one(said, absents, ARRAY_SIZE(absents)) &&
		!says_one(said, names, ARRAY_SIZE(names)))
		return NULL;
	task_rules(&t);
	return judge_text(&t, bytes_of(said), &found) ? sentence(&t, &found) : NULL;
}
