/* opening.c — what an operator's yes opens of the sandbox, for one run.
 *
 * The guard asks about an effect that the sandbox of the profile does not let happen: a credential is hidden, a file outside the work tree
 * is read-only, a host is not named.  Before the question is put, this says of each effect that is asked about whether the sandbox can
 * open just that.  It can open
 *
 *	one existing file or directory, to read;
 *	one file, to write: it is there, or its directory is, and then an empty one is made;
 *	one host and port, where the profile names hosts.
 *
 * Everything else is not asked but denied, with the command that would work.  After a yes the very object is opened (O_PATH, no links on
 * the way), its number goes into the rules of the sandbox (execute/openings.h), and what it is now must be what was judged.  The outcome
 * receipt names what was opened.  Helm's own places, files with a second name, and what starts programs later are never opened. */
#include "base/file.h"
#include "base/text.h"
#include "clients/clients.h"
#include "decide/decide.h"
#include "kernel/hosts.h"
#include "kernel/task/contain.h"
#include "kernel/task/parts.h"
#include "model/egress.h"
#include "model/secret.h"
#include "model/terms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- what can be opened ---- */

static void set_never(struct opening *o, const char *why, const char *instead)
{
	o->what = OPENS_NEVER;
	o->why = why;
	o->instead = instead;
}

static bool is_one_of(const char *text, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(text, list[i]))
			return true;
	return false;
}

static bool touches(const char *path, const char *place)
{
	return place && (path_is_below(path, place) || path_is_below(place, path));
}

static const char *command_of(const struct task *t)
{
	return task_preview(t->a, t->spec->argv, t->spec->argc);
}

/* The directory that would have to be allowed to runs, and the command that does it. */
static const char *allow_instead(const struct task *t, const char *path)
{
	struct arena *a = t->a;
	const char *dir =
		arena_strndup(a, path, (size_t)(path_base(path) - path) - (path_base(path) > path + 1));

	if (place_is_too_much(t->k->ws->home, t->k->ws->helm_home, dir) || secret_place_holds(dir))
		return "do it yourself, in a terminal of your own";
	return arena_printf(a, "helm allow path %s", task_preview(a, &dir, 1));
}

/* The profile that shows this place to every run, where there is one. */
static const char *profile_instead(const struct task *t, const char *path)
{
	const struct profiles *all = &t->k->guard.profiles;
	const char *home = t->k->ws->home;

	for (size_t i = 0; home && path_is_below(path, home) && i < all->count; i++) {
		const struct profile *p = &all->list[i];
		for (size_t s = 0; s < p->secret_count && text_eq(p->backend, "local"); s++)
			if (path_is_below(
				    path, path_clean(t->a, arena_printf(t->a, "%s/%s", home, p->secrets[s]))))
				return arena_printf(
					t->a, "helm run --profile %s -- %s", p->name, command_of(t));
	}
	return NULL;
}

/* The path without links of what is there, or of what would be made there; NULL: its directory is not there. */
static const char *real_path(struct arena *a, const char *path)
{
	char real[PATH_MAX], dir[PATH_MAX];
	const char *base = path_base(path);

	if (realpath(path, real))
		return arena_strdup(a, real);
	if (errno != ENOENT || (size_t)(base - path) >= sizeof(dir))
		return NULL;
	snprintf(dir, sizeof(dir), "%.*s", (int)(base - path), path);
	struct stat st;
	/* A link that leads nowhere is a name that something is made under elsewhere. */
	if (!realpath(dir, real) || lstat(path, &st) == 0)
		return NULL;
	return arena_printf(a, "%s/%s", text_eq(real, "/") ? "" : real, base);
}

static const char *do_it_yourself(const struct task *t)
{
	return arena_printf(t->a, "to do it, in a terminal of your own: %s", command_of(t));
}

/* Says of a place that is hidden, or read-only, why it stays so.  Leaves o->what as it is where it can be opened. */
static void judge_place(const struct task *t, const char *path, struct opening *o)
{
	const struct workspace *ws = t->k->ws;
	struct arena *a = t->a;
	const bool is_write = o->what == OPENS_WRITE;
	const char *real = real_path(a, path);
	struct stat st;

	if (touches(path, ws->helm_home) || touches(path, ws->state_dir) ||
		(real && (touches(real, ws->helm_home) || touches(real, ws->state_dir))))
		set_never(o, arena_printf(a, "%s: Helm's own records and keys are never opened", path),
			"use Helm's commands: helm log, helm report, helm key");
	else if (!real)
		set_never(o, arena_printf(a, "%s: its directory does not exist", path),
			"make the directory first, in a terminal of your own");
	else if (!text_eq(real, path))
		set_never(o,
			arena_printf(a,
				"%s is a link, or lies behind one, and only the path it leads to is opened",
				path),
			arena_printf(a, "name that path instead: %s", task_preview(a, &real, 1)));
	else if (lstat(path, &st))
		return; /* a new file */
	else if (!S_ISREG(st.st_mode) && (is_write || !S_ISDIR(st.st_mode)))
		set_never(o,
			arena_printf(a, "%s is %s, and the sandbox opens single files", path,
				S_ISDIR(st.st_mode) ? "a directory" : "no file"),
			S_ISDIR(st.st_mode) ? arena_printf(a, "helm allow path %s", task_preview(a, &path, 1))
					    : "do it yourself, in a terminal of your own");
	else if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		set_never(o,
			arena_printf(a, "%s has another name (a hard link), and what that is nobody can say",
				path),
			"copy it, and name the copy");
}

/* A name of which only the beginning is known: is that closed?  The whole name has to be known. */
static void judge_prefix(const struct task *in, const struct effect *e, enum opens what, struct opening *ret)
{
	struct arena *a = in->a;
	const char *slash = strrchr(e->target, '/'),
		   *dir = arena_strndup(a, e->target, slash > e->target ? (size_t)(slash - e->target) : 1);

	if (e->path_class <= PATH_TMP || !refusal_foreseen(in, dir, what == OPENS_WRITE))
		return;
	const char *wider = what == OPENS_READ ? profile_instead(in, dir) : NULL;
	set_never(ret, arena_printf(a, "%s: the sandbox opens only what is named whole", e->target),
		wider ? wider : "name each file");
}

/* Programs that write beside a file and rename, or that remove a name, need all of its directory; so does one that makes a directory.  The
 * file is there, empty, when the program begins. */
static bool writes_in_place(const struct effect *e)
{
	static const char *const tags[] = { "write.redirect", "write.truncate", "write.code",
		"permission.mode", "permission.open" };
	static const char *const programs[] = { "cp", "curl", "dd", "fallocate", "sort", "tar", "tee",
		"touch", "truncate", "wget" };

	if (!e->tag || e->flags & FXF_RECURSIVE)
		return false;
	if (text_eq(e->tag, "write.file") || text_eq(e->tag, "write.download"))
		return e->program && is_one_of(e->program, programs, ARRAY_SIZE(programs));
	return is_one_of(e->tag, tags, ARRAY_SIZE(tags));
}

/* It is there, and with mounts a run sees a directory of its own in the place of the one above it. */
static bool is_hidden_by_own(const struct task *in, const char *path)
{
	const struct profile *p = in->profile;

	for (size_t i = 0; in->rules.kind != SANDBOX_SUPERVISED && i < p->own_path_count; i++)
		if (path_is_below(path, p->own_paths[i]) && !path_is_in_one(path, in->rules.write_paths))
			return file_exists(in->k->sys, AT_FDCWD, path);
	return false;
}

static void judge_path(const struct task *in, const struct effect *e, enum opens what, struct opening *ret)
{
	const char *path = e->target;

	if (!path || path[0] != '/' || e->certainty == DYNAMIC)
		return;
	if (e->certainty != CERTAIN || strpbrk(path, "*?[")) {
		judge_prefix(in, e, what, ret);
		return;
	}
	path = path_clean(in->a, path);
	*ret = (struct opening){ .what = what, .target = path, .fd = -1 };
	if (what == OPENS_READ && is_hidden_by_own(in, path)) {
		set_never(ret,
			arena_printf(in->a,
				"%s: under the profile %s a run has a temporary directory of its own, in which that is not",
				path, in->profile->name),
			arena_printf(in->a, "to use it in a run: cp -- %s .", task_preview(in->a, &path, 1)));
		return;
	}
	if (text_starts(path, "/proc/") && path[6] >= '0' && path[6] <= '9') {
		set_never(ret, arena_printf(in->a, "%s: a run sees no processes but its own", path),
			do_it_yourself(in));
		return;
	}
	/* A link in the work tree leads to what is closed. */
	const char *real = real_path(in->a, path);
	if (!refusal_foreseen(in, path, what == OPENS_WRITE) &&
		!(real && !text_eq(real, path) && refusal_foreseen(in, real, what == OPENS_WRITE))) {
		ret->what = OPENS_NOTHING;
		return;
	}
	if (path_is_in_one(path, in->rules.read_only))
		set_never(ret,
			arena_printf(in->a,
				"%s decides about runs, or starts programs later, and is never opened to one",
				path),
			do_it_yourself(in));
	else if (in->profile->terms)
		set_never(ret,
			arena_printf(in->a, "the contract of skill '%s' does not have %s",
				in->profile->terms->skill, path),
			arena_printf(in->a, "helm skill show %s", in->profile->terms->skill));
	else if (what == OPENS_WRITE && !writes_in_place(e))
		set_never(ret,
			arena_printf(in->a,
				"%s would change %s together with its directory, and the sandbox opens single files",
				e->program ? e->program : "it", path),
			allow_instead(in, path));
	else
		judge_place(in, path, ret);
}

/* ---- hosts ---- */

/* The rule that lets just this through: a name or an address with its port. */
static const char *host_rule(struct arena *a, const char *target)
{
	const char *scheme = target ? strstr(target, "://") : NULL, *at = scheme ? scheme + 3 : target, *host;
	uint16_t port = target && text_starts(target, "http://") ? 80 : 443;
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address;
	size_t n;

	if (!at || (scheme && !text_starts(target, "http://") && !text_starts(target, "https://")))
		return NULL;
	if (!egress_split(at, strcspn(at, "/?#"), &host, &n, &port) ||
		!egress_host(host, n, name, &is_address, address) || (!is_address && !strchr(name, '.')))
		return NULL;
	return arena_printf(a, strchr(name, ':') ? "[%s]:%u" : "%s:%u", name, port);
}

const char *task_profile_with_network(const struct task *t)
{
	for (size_t i = 0; i < t->k->guard.profiles.count; i++) {
		const struct profile *p = &t->k->guard.profiles.list[i];
		if (profile_reach(p) == NETWORK_FULL && !p->handoff_required && !t->profile->terms)
			return p->name;
	}
	return NULL;
}

static const char *service_instead(const struct task *t)
{
	const char *profile = task_profile_with_network(t);

	return profile ? arena_printf(t->a, "helm run --profile %s -- %s", profile, command_of(t))
		       : "do it yourself, in a terminal of your own";
}

/* Is it the profile that asks about this host? */
static bool is_asked_by_profile(const struct decision *d, const struct effect *e)
{
	for (size_t i = 0; i < d->ask_count; i++)
		if (d->asks[i].effect == e && text_eq(d->asks[i].rule, "profile.network"))
			return true;
	return false;
}

/* A repository of this machine, which a push writes in. */
static void judge_remote_directory(
	const struct task *t, const struct effect *e, const char *dir, struct opening *ret)
{
	const char *path = path_clean(t->a, path_join(t->a, t->spec->cwd, dir));

	if (e->flags & FXF_MUTATING && refusal_foreseen(t, path, true))
		set_never(ret,
			arena_printf(t->a,
				"git would publish commits to %s, and the profile %s lets a run write only in the work tree",
				text_safe(t->a, path, strlen(path), false), t->profile->name),
			arena_printf(t->a, "helm allow path %s", task_preview(t->a, &path, 1)));
}

static void judge_host(
	const struct task *t, const struct decision *d, const struct effect *e, struct opening *ret)
{
	struct arena *a = t->a;
	const char *dir = facts_directory(e);

	if (dir) {
		judge_remote_directory(t, e, dir, ret);
		return;
	}
	const bool is_push = e->tag && text_eq(e->tag, "network.git_push"),
		   is_remote = e->kind == FX_REMOTE || e->kind == FX_PUBLISH;

	if (t->profile->reach != NETWORK_NAMED || e->flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE))
		return;
	if (!is_push && !is_remote && (!is_asked_by_profile(d, e) || e->certainty != CERTAIN))
		return;
	const char *shown =
		e->target && *e->target ? text_safe(a, e->target, strlen(e->target), false) : "that";
	if (is_push || is_remote)
		set_never(ret,
			arena_printf(a,
				"%s needs your credentials for %s, and the sandbox of the profile %s has none of them",
				e->program ? e->program : "it", shown, t->profile->name),
			service_instead(t));
	else if (t->profile->terms)
		set_never(ret,
			arena_printf(a, "the contract of skill '%s' does not have %s",
				t->profile->terms->skill, shown),
			arena_printf(a, "helm skill show %s", t->profile->terms->skill));
	else if (!(ret->target = host_rule(a, e->target)))
		set_never(ret,
			arena_printf(a,
				"%s: the sandbox of the profile %s has no way to other than named hosts",
				shown, t->profile->name),
			service_instead(t));
	else
		ret->what = OPENS_HOST;
}

/* ---- what starts programs later, and other privileges ---- */

/* Is this file, which is in the work tree, read-only to a run, or taken away after one (armed.c)? */
static bool is_auto_run(const struct task *in, const char *path)
{
	const char *tree = task_tree(in);

	if (tree && path_is_below(path, tree) && !text_eq(path, tree) &&
		clients_care(path + strlen(tree) + 1) != CARE_NONE)
		return true;
	return strstr(path, "/.git/") || text_eq(path_base(path), ".git") ||
		text_eq(path_base(path), ".envrc") || clients_care_anywhere(path) == CARE_CLOSED;
}

/* A setting of git, by its key.  With "=" it is one of this call alone. */
static bool is_git_setting(const struct task *in, const struct effect *e)
{
	const struct proposal *p = &in->report->handling.proposal;
	const char *verb = e->step < p->step_count ? p->steps[e->step].git_verb : NULL;

	return e->target && verb && text_eq(verb, "config") && !strchr(e->target, '=');
}

static void judge_later(const struct task *in, const struct effect *e, struct opening *ret)
{
	const bool is_path = e->target && *e->target == '/' && e->certainty == CERTAIN;
	const char *path = is_path ? path_clean(in->a, e->target) : NULL;

	if (path ? is_auto_run(in, path) || refusal_foreseen(in, path, true) : is_git_setting(in, e))
		set_never(ret,
			arena_printf(in->a,
				"%s starts programs later, and a run leaves nothing of that behind",
				text_safe(in->a, e->target, strlen(e->target), false)),
			do_it_yourself(in));
	else if (!path && e->tag &&
		(text_eq(e->tag, "persistence.at") || text_eq(e->tag, "persistence.unit") ||
			text_eq(e->tag, "cron.edit") ||
			(text_eq(e->tag, "process.service") && in->profile->reach != NETWORK_FULL)))
		set_never(ret, "the sandbox has no way to the jobs and services of this machine",
			do_it_yourself(in));
}

/* ---- before the question ---- */

static void judge_effect(
	const struct task *in, const struct decision *d, const struct effect *e, struct opening *ret)
{
	*ret = (struct opening){ .what = OPENS_NOTHING, .fd = -1 };
	/* The kernel gives a process of the sandbox no rights that it does not have (no_new_privs). */
	if (e->kind == FX_PRIVILEGE && geteuid() != 0 &&
		!(e->flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE)))
		set_never(ret, "the sandbox gives a command no other privileges than yours",
			do_it_yourself(in));
	if (e->flags & (FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE | FXF_PRIVILEGED | FXF_DECODED | FXF_DRY_RUN))
		return;
	switch ((int)e->kind) {
	case FX_READ:
	case FX_SECRET_READ:
		judge_path(in, e, OPENS_READ, ret);
		break;
	case FX_WRITE:
	case FX_DELETE:
	case FX_MOVE:
	case FX_PERMISSION:
		judge_path(in, e, OPENS_WRITE, ret);
		break;
	case FX_NETWORK:
	case FX_REMOTE:
	case FX_PUBLISH:
		judge_host(in, d, e, ret);
		break;
	case FX_PERSISTENCE:
	case FX_CRON:
	case FX_PROCESS:
		judge_later(in, e, ret);
		break;
	}
}

/* Which places its sandbox will show and keep, without any of its own directories. */
static struct task *sandbox_foreseen(const struct task *t)
{
	struct task *in = arena_zalloc(t->a, 1, sizeof(*in));

	*in = (struct task){ .k = t->k,
		.a = t->a,
		.spec = t->spec,
		.profile = t->profile,
		.at = t->at,
		.program = t->program,
		.report = t->report,
		.nested = t->nested,
		.tmp = { .fd = -1, .rack = -1 } };
	task_rules(in);
	return in;
}

/* Most questions are about the work tree, where nothing has to be opened. */
static bool may_need_opening(const struct decision *d)
{
	static const uint64_t kinds_outside = 1ull << FX_NETWORK | 1ull << FX_REMOTE | 1ull << FX_PUBLISH |
		1ull << FX_SECRET_READ | 1ull << FX_PERSISTENCE | 1ull << FX_CRON | 1ull << FX_PROCESS |
		1ull << FX_PRIVILEGE;

	for (size_t i = 0; i < d->ask_count; i++) {
		const struct effect *e = d->asks[i].effect;
		if (e && (e->path_class > PATH_IN || kinds_outside & 1ull << e->kind))
			return true;
	}
	return false;
}

static bool is_listed(const struct task *t, const struct opening *o)
{
	for (size_t i = 0; i < t->opening_count; i++)
		if (t->openings[i].what == o->what && text_eq(t->openings[i].target, o->target))
			return true;
	return false;
}

/* The openings that a yes would need, into t->openings; or the first one that cannot be. */
static bool list_asked(struct task *t, const struct decision *d, struct opening *ret_never)
{
	const struct task *in = sandbox_foreseen(t);

	t->openings = arena_zalloc(t->a, OPENINGS_MAX, sizeof(*t->openings));
	for (size_t i = 0; i < d->ask_count; i++) {
		struct opening o;
		if (!d->asks[i].effect)
			continue;
		judge_effect(in, d, d->asks[i].effect, &o);
		if (o.what == OPENS_NOTHING || (o.what != OPENS_NEVER && is_listed(t, &o)))
			continue;
		if (o.what != OPENS_NEVER && t->opening_count == OPENINGS_MAX)
			set_never(&o, "so many places are not opened for one command",
				"split it into smaller commands");
		if (o.what == OPENS_NEVER) {
			const enum effect_kind kind = d->asks[i].effect->kind;
			o.is_network = kind == FX_NETWORK || kind == FX_REMOTE || kind == FX_PUBLISH;
			*ret_never = o;
			return false;
		}
		t->openings[t->opening_count++] = o;
	}
	return true;
}

/* An operator has said yes beforehand, and nothing is asked: what the command is understood to need is opened as if it had been. */
static void list_unasked(struct task *t, const struct decision *d)
{
	const struct proposal *p = &t->report->handling.proposal;
	const struct task *in = NULL;

	t->openings = arena_zalloc(t->a, OPENINGS_MAX, sizeof(*t->openings));
	for (size_t i = 0; i < p->effect_count && t->opening_count < OPENINGS_MAX; i++) {
		struct opening o;
		if (p->effects[i].path_class <= PATH_IN)
			continue;
		in = in ? in : sandbox_foreseen(t);
		judge_effect(in, d, &p->effects[i], &o);
		if ((o.what == OPENS_READ || o.what == OPENS_WRITE) && !is_listed(t, &o))
			t->openings[t->opening_count++] = o;
	}
}

bool openings_could(const struct task *t, const char *path)
{
	const struct handling *h = &t->report->handling;

	for (size_t i = 0; i < h->proposal.effect_count; i++) {
		const struct effect *e = &h->proposal.effects[i];
		struct opening o;
		if (!e->target || !text_eq(path_clean(t->a, e->target), path))
			continue;
		judge_effect(t, &h->decision, e, &o);
		if (o.what == OPENS_READ || o.what == OPENS_WRITE)
			return true;
	}
	return false;
}

static void deny_closed(const struct opening *never, struct handling *h)
{
	guard_raise(h->a, ACTION_DENY, REASON_SANDBOX_VIOLATION, OPENING_RULE, never->why, &h->decision)
		->instead = never->instead;
	h->verdict = V_DENY;
}

void openings_foresee(struct task *t)
{
	struct handling *h = &t->report->handling;
	struct opening never;

	if (h->verdict == V_ALLOW && t->spec->approve_risk && t->request.placement != UNSANDBOXED)
		list_unasked(t, &h->decision);
	if (h->verdict != V_ESCALATE || t->request.placement == UNSANDBOXED ||
		!may_need_opening(&h->decision) || list_asked(t, &h->decision, &never))
		return;
	t->opening_count = 0;
	deny_closed(&never, h);
}

enum opening_answer opening_conclude(
	struct kernel *k, const struct request *q, const char *const *argv, size_t argc, struct handling *h)
{
	const struct run_spec spec = {
		.cwd = q->where->cwd ? q->where->cwd : "/", .argv = argv, .argc = argc
	};
	struct run_report report = { .handling = *h };
	struct task t = {
		.k = k, .a = h->a, .spec = &spec, .profile = q->profile, .at = *q->where, .report = &report
	};
	struct opening never = { 0 };

	if (h->verdict != V_ESCALATE || q->placement != IN_SANDBOX || q->profile->terms ||
		!may_need_opening(&h->decision))
		return OPENING_NONE;
	if (list_asked(&t, &h->decision, &never))
		return t.opening_count ? OPENING_POSSIBLE : OPENING_NONE;
	/* What a session cannot reach on the network is its supervisor's to judge (hook.c). */
	if (k->session && never.is_network)
		return OPENING_NONE;
	deny_closed(&never, h);
	return OPENING_NEVER;
}

/* ---- after a yes ---- */

/* No link on the way, and none at the end. */
static int open_exactly(const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.mode = flags & O_CREAT ? 0666 : 0,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* An empty file in the place of the one that is to be written.  It is taken away again if nothing was written. */
static int make_empty(struct opening *o)
{
	static const struct timespec untouched[2] = { { 1, 0 }, { 1, 0 } };
	AUTO(close_fd) int fd = open_exactly(o->target, O_WRONLY | O_CREAT | O_EXCL);

	if (fd < 0 || futimens(fd, untouched))
		return -1;
	o->is_made = true;
	return 0;
}

static int open_one(struct task *t, struct opening *o, struct err *e)
{
	if (o->what == OPENS_HOST)
		return OK;
	o->fd = open_exactly(o->target, O_PATH);
	if (o->fd < 0 && errno == ENOENT && o->what == OPENS_WRITE && make_empty(o) == 0)
		o->fd = open_exactly(o->target, O_PATH);
	if (o->fd < 0 || fstat(o->fd, &o->st))
		return err_sys(e, "OPENING", "not run: %s was approved, and cannot be opened", o->target);
	if (S_ISDIR(o->st.st_mode) ? o->what == OPENS_READ : S_ISREG(o->st.st_mode) && o->st.st_nlink == 1)
		return OK;
	return err_set(e, E_DENIED, "OPENING",
		"not run: %s is not what it was when it was approved; run the command again to be asked anew",
		text_safe(t->a, o->target, strlen(o->target), false));
}

/* Only an operator's own word opens anything: a grant, --approve-risk, a policy that an operator put in use, or a decision on record. */
static bool is_word_of_operator(const struct task *t)
{
	static const char *const words[] = { "grant", "approve-risk", "decision", "policy" };
	const struct handling *h = &t->report->handling;

	if (h->verdict != V_ALLOW)
		return false;
	if (!h->settled.by)
		return t->spec->approve_risk;
	for (size_t i = 0; h->settled.by && i < ARRAY_SIZE(words); i++)
		if (text_eq(h->settled.by, words[i]))
			return true;
	return false;
}

int openings_open(struct task *t, struct err *e)
{
	if (!is_word_of_operator(t))
		t->opening_count = 0;
	for (size_t i = 0; i < t->opening_count; i++) {
		int rc = open_one(t, &t->openings[i], e);
		if (rc)
			return rc;
	}
	return OK;
}

/* Into the rules, once for each sandbox that is made.  A hidden place that is opened itself is not hidden. */
void openings_rule(struct task *t)
{
	struct sandbox_opening *list = arena_zalloc(t->a, OPENINGS_MAX + 1, sizeof(*list));
	struct json *hidden = json_new(t->a, JSON_ARRAY);
	size_t n = 0;

	for (size_t i = 0; i < t->opening_count; i++) {
		const struct opening *o = &t->openings[i];
		if (o->what != OPENS_HOST)
			list[n++] = (struct sandbox_opening){ .at = o->target,
				.dev = o->st.st_dev,
				.ino = o->st.st_ino,
				.is_dir = S_ISDIR(o->st.st_mode),
				.is_writable = o->what == OPENS_WRITE };
	}
	if (!n)
		return;
	for (const char *const *p = t->rules.hidden; p && *p; p++) {
		bool is_opened = false;
		for (size_t i = 0; i < n; i++)
			is_opened |= text_eq(*p, list[i].at);
		if (!is_opened)
			place_add(t->a, hidden, *p);
	}
	t->rules.hidden = place_list(t->a, hidden);
	t->rules.openings = list;
}

/* ---- git's configuration ---- */

/* The key, or all addresses of the remote, that the effect names. */
static void add_setting(const struct task *t, const struct effect *e, struct json *list)
{
	const struct proposal *p = &t->report->handling.proposal;
	const char *verb = e->step < p->step_count ? p->steps[e->step].git_verb : NULL;

	if (!e->tag || !e->target || e->certainty != CERTAIN || !*e->target || !verb ||
		(!text_eq(e->tag, "git.remote") && !text_eq(e->tag, "write.config")))
		return;
	if (text_eq(verb, "remote"))
		json_pushs(t->a, list, arena_printf(t->a, "remote.%s.", e->target));
	else if (text_eq(verb, "config") && strchr(e->target, '.'))
		json_pushs(t->a, list, e->target);
}

/* What an operator said yes to in git's configuration is carried back into it (git_private.c). */
void openings_rule_git(struct task *t)
{
	const struct handling *h = t->report ? &t->report->handling : NULL;
	struct json *list = json_new(t->a, JSON_ARRAY);

	if (!h || !is_word_of_operator(t))
		return;
	for (size_t i = 0; i < h->decision.ask_count; i++)
		if (h->decision.asks[i].effect)
			add_setting(t, h->decision.asks[i].effect, list);
	for (size_t i = 0; t->spec->approve_risk && i < h->proposal.effect_count; i++)
		add_setting(t, &h->proposal.effects[i], list);
	t->rules.git_approved = list->n ? place_list(t->a, list) : NULL;
}

/* ---- the end ---- */

void openings_tell(struct task *t)
{
	static const char *const names[] = {
		[OPENS_READ] = "read", [OPENS_WRITE] = "write", [OPENS_HOST] = "host"
	};
	struct json *list = json_new(t->a, JSON_ARRAY);

	for (size_t i = 0; i < t->opening_count; i++) {
		const struct opening *o = &t->openings[i];
		struct json *one = json_new(t->a, JSON_OBJECT);
		json_sets(t->a, one, "what", names[o->what]);
		json_sets(t->a, one, o->what == OPENS_HOST ? "host" : "path",
			text_safe(t->a, o->target, strlen(o->target), false));
		json_push(t->a, list, one);
	}
	if (!list->n)
		return;
	json_set(t->a, t->happened, "opened", list);
	json_set(t->a, t->row, "opened", list);
}

/* Was the file that was made for it left as it was made? */
static bool is_untouched(const struct opening *o)
{
	struct stat st;

	return o->is_made && o->fd >= 0 && fstat(o->fd, &st) == 0 && !st.st_size && st.st_mtime == 1 &&
		lstat(o->target, &st) == 0 && st.st_ino == o->st.st_ino && st.st_dev == o->st.st_dev;
}

void openings_close(struct task *t)
{
	for (size_t i = 0; i < t->opening_count; i++) {
		struct opening *o = &t->openings[i];
		if (is_untouched(o))
			(void)t->k->sys->unlink(t->k->sys, AT_FDCWD, o->target, 0);
		close_fd(&o->fd);
	}
	t->opening_count = 0;
}
