/* undo.c — what can be undone need not be asked.
 *
 * Where the workspace says `destructive: checkpoint`, a question whose every reason is the loss of files is
 * answered by saving those files first.  The burden of proof is all on this side: the rules say which
 * reasons a checkpoint can answer, and this file lets through only what it can show to be saved whole.
 * Every operand must be written out, lie below the workspace's root as it is written and as its links lead,
 * and be in the checkpoint with everything below it; nothing that runs before the loss may be able to
 * change where those names lead.  Whatever is in doubt stays a question, with the doubt said.
 *
 * Behind walls the proof is shorter.  Nothing that runs there can lose anything but the work tree, whatever it is and however it
 * was started, so a checkpoint of the whole tree, git's own data included, answers for operands that are not known
 * beforehand, for scripts and for git's losses.  What reaches out of the tree by its own words stays a question.
 *
 * The same saving, without the proof, is done before a destructive call that a person is asked about or has
 * granted, and before a command that writes over files of the tree: nobody is asked about those. */
#include "base/file.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/linked.h"
#include "kernel/settle.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
	PATHS_MAX = 64, /* more operands than this are a question */
	FILES_MAX = 20000,
	BYTES_MAX = 256 << 20,
	WHOLE_FILES_MAX = 1000000,
	/* The hook's own deadline is ten seconds, and after reading comes writing. */
	HOOK_MS = 3000,
	RUN_MS = 60000
};
#define WHOLE_BYTES_MAX ((uint64_t)8 << 30)

struct saving {
	struct kernel *k;
	const struct request *q;
	const struct handling *h;
	const char *paths[PATHS_MAX];
	size_t path_count;
	bool is_plain; /* something follows links or changes files in place */
	bool is_whole; /* all of the tree instead */
	const char *spared; /* git's own directory there is not touched */
	const char *why; /* it stays a question */
};

/* Always false, so that a doubt is returned in the place where it arises. */
static bool doubt(struct saving *u, const char *why)
{
	u->why = why;
	return false;
}

/* Text from a command, safe to print. */
static const char *shown(struct saving *u, const char *text)
{
	return text_safe(u->h->a, text, strnlen(text, 200), false);
}

static bool tag_is(const struct effect *e, const char *tag)
{
	return e->tag && text_eq(e->tag, tag);
}

/* ---- operands ---- */

/* Relative to the root of what checkpoints are made of; NULL when it is not strictly below. */
static const char *below_root(struct saving *u, const char *path)
{
	const char *root = u->k->ws->tree;

	return root[1] && path && path_is_below(path, root) && !text_eq(path, root) ? path + strlen(root) + 1
										    : NULL;
}

/* A link as an operand is a doubt: the command may act on the link or on what it leads to. */
static bool add_path(struct saving *u, const char *relative)
{
	struct stat st;

	if (u->path_count == PATHS_MAX)
		return doubt(u, "there are too many operands");
	if (u->k->sys->stat(u->k->sys, u->k->ws->tree_fd, relative, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISLNK(st.st_mode))
		return doubt(u, arena_printf(u->h->a, "'%s' is a link", shown(u, relative)));
	u->paths[u->path_count++] = relative;
	return true;
}

/* Whatever a pattern can match: every name with its fixed beginning, which is more than a shell would take.
 * Saving too much does no harm. */
static bool add_matches(struct saving *u, const char *relative)
{
	const char *name = path_base(relative);
	size_t known = strcspn(name, "*?[");
	char *dir = arena_strndup(u->h->a, relative, (size_t)(name - relative));
	char **names;
	size_t n;

	if (strcspn(relative, "*?[") < (size_t)(name - relative))
		return doubt(u, "a pattern stands in the middle of a path");
	if (*dir)
		dir[strlen(dir) - 1] = '\0';
	if (!known && *dir)
		return add_path(u, dir);
	if (file_list(u->k->sys, u->h->a, u->k->ws->tree_fd, *dir ? dir : ".", &names, &n, NULL))
		return doubt(u, "the directory of a pattern cannot be read");
	for (size_t i = 0; i < n; i++)
		if (strncmp(names[i], name, known) == 0 &&
			!add_path(u, *dir ? arena_printf(u->h->a, "%s/%s", dir, names[i]) : names[i]))
			return false;
	return true;
}

/* Is it certain where the command stands when the effect happens?  A `cd` may fail and the rest go on, so
 * both places count: where it started and where it went.  Only one `cd`, to an absolute path, is accepted,
 * because others depend on each other and on CDPATH.  *ret_from is where it started when that is another
 * place, else NULL. */
static bool is_placed(struct saving *u, const struct effect *e, const char **ret_from)
{
	const struct proposal *p = &u->h->proposal;
	const char *from = u->q->where->cwd;

	*ret_from = NULL;
	if (!e->cwd || !from || p->move_count > 1)
		return doubt(u, "the directory it runs in is not certain");
	if (text_eq(e->cwd, from))
		return true;
	*ret_from = from;
	if (p->move_count ? p->moves_to && text_eq(p->moves_to, e->cwd) : e->kind == FX_GIT)
		return true;
	return doubt(u, "the directory it runs in is not certain");
}

/* Another program in between (xargs, find -exec, a script) could change the operands. */
static bool is_started_directly(struct saving *u, const struct effect *e)
{
	return e->is_direct || doubt(u, "another program starts it");
}

static bool add_operand(struct saving *u, const char *relative, bool is_pattern)
{
	return is_pattern ? add_matches(u, relative) : add_path(u, relative);
}

/* Can a checkpoint of the operand undo this effect?  Every condition that fails names its doubt.  If a `cd`
 * came before, the operand as seen from the starting directory is saved, too. */
static bool cover_files(struct saving *u, const struct effect *e)
{
	const unsigned never = FXF_PRIVILEGED | FXF_IRRECOVERABLE | FXF_UNSET_ROOT | FXF_SETUID |
		FXF_INSIDE_CONTAINER | FXF_REMOTE_SIDE | FXF_HOST_MOUNT | FXF_OPEN_END;
	bool deletes = tag_is(e, "delete.file"), is_pattern = e->target && strpbrk(e->target, "*?[");

	if (e->flags & never)
		return doubt(u, "it happens with other rights or in another place");
	if (!deletes && !tag_is(e, "delete.find") && !tag_is(e, "delete.sync") &&
		!tag_is(e, "write.truncate") && !tag_is(e, "permission.mode"))
		return doubt(u, "a checkpoint does not hold what it changes");
	if (deletes && (e->flags & FXF_FIND))
		return doubt(u, "what it deletes is chosen by another command");
	if (e->certainty == DYNAMIC || (e->certainty != CERTAIN && !is_pattern) || !e->is_literal)
		return doubt(u, "its operand is not written out");
	const char *relative = e->path_class == PATH_IN ? below_root(u, e->target) : NULL;
	if (!relative)
		return doubt(
			u, "its operand is not below the workspace's root, which checkpoints are made of");
	if (e->resolved && !text_eq(e->resolved, e->target))
		return doubt(u, arena_printf(u->h->a, "a link leads to '%s'", shown(u, e->resolved)));
	if (is_pattern && !deletes)
		return doubt(u, "its operand is a pattern");
	const char *from;
	if (!is_started_directly(u, e) || !is_placed(u, e, &from))
		return false;
	u->is_plain |= !deletes;
	if (!add_operand(u, relative, is_pattern))
		return false;
	if (!from || !path_is_below(e->target, e->cwd))
		return true;
	const char *other = below_root(u, arena_printf(u->h->a, "%s%s", from, e->target + strlen(e->cwd)));
	return other ? add_operand(u, other, is_pattern)
		     : doubt(u, "its operand would be another one if 'cd' failed");
}

/* ---- git ---- */

/* Would git clean leave Helm's state alone?  Only if a plain line of .gitignore names it and no line
 * negates anything: reading git's rules in full would be too easy to get wrong. */
static bool ignores_state(struct saving *u, const char *top)
{
	const char *name = u->k->ws->state_name;
	struct bytes text;
	bool found = false;

	if (!text_eq(top, u->k->ws->root))
		return true;
	if (file_read(
		    u->k->sys, u->h->a, u->k->ws->tree_fd, ".gitignore", 1 << 20, FILE_BENEATH, &text, NULL))
		return false;
	while (text.p) {
		struct bytes line = text_cut(&text, '\n');
		const char *rule = arena_strndup(u->h->a, (const char *)line.p, line.n);
		if (rule[0] == '!')
			return false;
		rule += rule[0] == '/';
		size_t n = strlen(rule);
		n -= n && rule[n - 1] == '/';
		found |= n == strlen(name) && strncmp(rule, name, n) == 0;
	}
	return found;
}

/* An ordinary repository: its data beside its files, and its files nowhere else.  Environment variables and
 * a configured worktree can redirect git to other files than those that would be saved. */
static bool is_plain_repository(struct saving *u, const char *top)
{
	static const char *const elsewhere[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
		"GIT_COMMON_DIR" };
	struct sys *s = u->k->sys;
	struct stat st;
	struct bytes text;

	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		if (s->getenv(s, elsewhere[i]))
			return false;
	if (s->stat(s, AT_FDCWD, arena_printf(u->h->a, "%s/.git", top), &st, AT_SYMLINK_NOFOLLOW) ||
		!S_ISDIR(st.st_mode))
		return false;
	const char *config = arena_printf(u->h->a, "%s/.git/config", top);
	if (file_read(s, u->h->a, AT_FDCWD, config, 1 << 20, 0, &text, NULL))
		return false;
	return !strcasestr(arena_strndup(u->h->a, (const char *)text.p, text.n), "worktree");
}

static bool is_same_top(struct saving *u, const char *from, const char *top)
{
	const char *other = kernel_work_tree(u->k->sys, u->h->a, from, u->k->ws->home);

	return other && text_eq(other, top);
}

/* git can lose any file of the repository, so its whole tree is saved, except git's own directory, which
 * these commands do not lose. */
static bool cover_repository(struct saving *u, const struct effect *e)
{
	struct sys *s = u->k->sys;
	const char *root = u->k->ws->tree;

	if (!(e->flags & FXF_IN_REPOSITORY) || (e->flags & FXF_PRIVILEGED) || !e->cwd ||
		!path_is_below(e->cwd, root))
		return doubt(u, "git would work outside the workspace, or in a place that is not certain");
	const char *inside = text_eq(e->cwd, root) ? "." : e->cwd + strlen(root) + 1;
	AUTO(close_fd)
	int fd = s->open(s, u->k->ws->tree_fd, inside, O_PATH | O_DIRECTORY, 0,
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return doubt(u, "git would stand in a directory that is reached through a link");
	const char *from, *top = kernel_work_tree(s, u->h->a, e->cwd, u->k->ws->home);
	if (!is_started_directly(u, e) || !is_placed(u, e, &from))
		return false;
	if (from && top && u->h->proposal.move_count && !is_same_top(u, from, top))
		return doubt(u, "it would be another repository if 'cd' failed");
	if (!top || !path_is_below(top, root) || !is_plain_repository(u, top))
		return doubt(u, "the repository does not lie whole in the workspace");
	if (tag_is(e, "git.clean") && !ignores_state(u, top))
		return doubt(u, "git clean would delete Helm's state; name it in .gitignore");
	u->spared = text_eq(top, root) ? "." : top + strlen(root) + 1;
	return add_path(u, u->spared);
}

/* ---- what else the command does ---- */

static bool is_git_loss(const struct effect *e)
{
	return e->kind == FX_GIT && (e->flags & FXF_IN_REPOSITORY);
}

/* Can it make a name lead somewhere else?  Reading, deleting and filling files cannot. */
static bool can_move_names(const struct effect *e)
{
	if (e->kind == FX_READ || e->kind == FX_DELETE || e->kind == FX_PERMISSION)
		return false;
	return !tag_is(e, "write.redirect") && !tag_is(e, "write.dir") && !tag_is(e, "write.truncate") &&
		!tag_is(e, "write.touch");
}

/* Certainly later than the loss: behind it in the same text, and in a plain sequence. */
static bool comes_after(const struct effect *x, const struct effect *loss)
{
	return x->source == loss->source && x->at.start >= loss->at.end && x->is_in_sequence;
}

/* Nothing else in the command may change what the loss is about before it happens; otherwise other files
 * would be lost than those that were saved. */
static bool is_undisturbed(struct saving *u, const struct effect *loss)
{
	const struct proposal *p = &u->h->proposal;

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *x = &p->effects[i];
		if (x == loss || (x->flags & (FXF_DRY_RUN | FXF_DECODED)) || !can_move_names(x))
			continue;
		if (is_git_loss(loss) && is_git_loss(x))
			continue;
		if (x->step == loss->step && x->kind == FX_WRITE)
			continue; /* the receiving side of the same program */
		if (!comes_after(x, loss))
			return doubt(u, "another part of the command could change where its operands lead");
	}
	return true;
}

/* ---- the proof ---- */

/* One reason of the question.  It must be one that the rules let a checkpoint answer, and its effect must
 * be covered. */
static bool covers(struct saving *u, const struct ask *ask)
{
	const struct effect *e = ask->effect;

	if (ask->undo != UNDO_CHECKPOINT)
		return doubt(u,
			arena_printf(u->h->a, "%s asks, and a checkpoint does not answer that", ask->rule));
	if (!e)
		return true;
	if (!(e->kind == FX_GIT ? cover_repository(u, e) : cover_files(u, e)))
		return false;
	return is_undisturbed(u, e);
}

/* A decision that was made stricter by a door or a freeze has a decisive reason that is not among its own findings, and is never
 * answered here. */
static bool is_answerable(struct saving *u)
{
	const struct decision *d = &u->h->decision;
	bool is_own = false;

	for (size_t i = 0; i < d->finding_count; i++)
		is_own |= d->decisive == &d->findings[i];
	return is_own && d->ask_count && !d->has_more_asks && u->h->proposal.readable;
}

/* All reasons of the decision, or none. */
static bool is_all_covered(struct saving *u)
{
	const struct decision *d = &u->h->decision;

	for (size_t i = 0; i < d->ask_count; i++)
		if (!covers(u, &d->asks[i]))
			return false;
	return u->path_count > 0;
}

/* ---- behind walls ---- */

/* Every place that the walls let it write, and that outlives it, lies in the tree. */
static bool is_all_in_tree(struct saving *u)
{
	const struct workspace *ws = u->k->ws;
	const char *work = u->q->where->work_tree;
	struct linked to;

	if (ws->no_tree)
		return doubt(u, ws->no_tree);
	if (!path_is_below(work ? work : ws->root, ws->tree))
		return doubt(u, "it works in another tree than the one that checkpoints are made of");
	if (linked_find(u->k->sys, u->h->a, work ? work : ws->root, ws->home, &to))
		return doubt(u, "its repository lies elsewhere, and checkpoints do not hold that");
	for (const char *const *p = u->q->where->allowed; p && *p; p++)
		if (!path_is_below(*p, ws->tree))
			return doubt(u,
				arena_printf(u->h->a,
					"'%s' may be written here, and checkpoints do not hold it",
					shown(u, *p)));
	for (size_t i = 0; i < u->q->profile->write_path_count; i++)
		if (!path_is_below(
			    path_clean(u->h->a, path_join(u->h->a, ws->root, u->q->profile->write_paths[i])),
			    ws->tree))
			return doubt(
				u, "the profile lets it write outside the tree that checkpoints are made of");
	return true;
}

/* A temporary directory that the call has for itself; a home that lies in one is still a home. */
static bool is_own_place(const struct saving *u, const char *path)
{
	if (u->q->where->home && path_is_below(path, u->q->where->home))
		return false;
	for (size_t i = 0; i < u->q->profile->own_path_count; i++)
		if (path_is_below(path, u->q->profile->own_paths[i]))
			return true;
	return false;
}

/* By its own words it stays where the walls let it: in the tree, or nowhere in particular. */
static bool stays_inside(struct saving *u, const struct effect *e)
{
	const char *root = u->k->ws->tree;

	/* git -C ../other reset --hard: it names no path, but stands in one. */
	if (e && e->kind == FX_GIT && e->cwd && !path_is_below(e->cwd, root) && !is_own_place(u, e->cwd))
		return doubt(u, "it reaches out of the work tree");
	if (!e || e->path_class == PATH_NONE || e->path_class == PATH_SINK || e->path_class == PATH_TMP)
		return true;
	bool is_root = e->path_class == PATH_UP && e->target && text_eq(e->target, root);
	bool is_in = e->path_class == PATH_IN && e->target &&
		(path_is_below(e->target, root) || e->certainty == DYNAMIC);
	if ((is_root || is_in) && !(e->flags & (FXF_PRIVILEGED | FXF_HOST_MOUNT | FXF_UNSET_ROOT)))
		return true;
	return doubt(u, "it reaches out of the work tree");
}

static bool is_held_by_tree(struct saving *u)
{
	const struct decision *d = &u->h->decision;

	for (size_t i = 0; i < d->ask_count; i++) {
		if (d->asks[i].undo == UNDO_NONE)
			return doubt(u,
				arena_printf(u->h->a, "%s asks, and a checkpoint does not answer that",
					d->asks[i].rule));
		if (!stays_inside(u, d->asks[i].effect))
			return false;
		/* What may write into files in place may reach one that has another name outside. */
		const struct effect *e = d->asks[i].effect;
		u->is_plain |= !e || (e->kind != FX_DELETE && e->kind != FX_MOVE && e->kind != FX_GIT);
	}
	return is_all_in_tree(u);
}

static bool is_behind_walls(const struct saving *u)
{
	return u->h->decision.placement == IN_SANDBOX && u->q->profile->contained == CONTAINED_ALLOW;
}

/* git moves branches, too, which files alone do not bring back. */
static bool is_about_git(const struct saving *u)
{
	for (size_t i = 0; i < u->h->decision.ask_count; i++)
		if (u->h->decision.asks[i].effect && u->h->decision.asks[i].effect->kind == FX_GIT)
			return true;
	return false;
}

/* ---- saving ---- */

/* Only what exists can be lost.  If nothing does, the nearest existing directories above are saved: they
 * show that it was not there. */
static bool keep_existing(struct saving *u)
{
	struct kernel *k = u->k;
	size_t n = 0;

	for (size_t i = 0; i < u->path_count; i++)
		if (file_exists(k->sys, k->ws->tree_fd, u->paths[i]))
			u->paths[n++] = u->paths[i];
	u->path_count = n ? n : u->path_count;
	for (size_t i = 0; !n && i < u->path_count; i++) {
		char *dir = arena_strdup(u->h->a, u->paths[i]);
		do {
			char *slash = strrchr(dir, '/');
			slash ? (void)(*slash = '\0') : (void)(dir = arena_strdup(u->h->a, "."));
		} while (!text_eq(dir, ".") && !file_exists(k->sys, k->ws->tree_fd, dir));
		u->paths[i] = dir;
	}
	return n > 0;
}

enum how { AS_PROOF, BEST_EFFORT, ONLY_LOOK };

/* As a proof the checkpoint must be complete, or it fails; without that it is best effort.  Whoever only looks learns whether the
 * proof would hold, as far as that can be known without reading the files. */
static int save(struct saving *u, enum how how, int64_t limit_ms, const char **ret_id, struct err *e)
{
	struct kernel *k = u->k;
	struct checkpoint_store store;
	struct checkpoint_result made;
	bool exists = u->path_count && keep_existing(u), is_proof = how != BEST_EFFORT;
	struct checkpoint_request want = { .label = CHECKPOINT_UNDO,
		.is_dry_run = how == ONLY_LOOK,
		.task_id = u->q->what.task_id,
		.paths = u->path_count ? u->paths : NULL,
		.path_count = u->path_count,
		.skip_missing = true,
		.are_exact = u->path_count && !exists,
		.is_complete = is_proof && (exists || u->is_whole),
		.is_plain = u->is_plain,
		.is_whole = u->is_whole,
		.spared = u->is_whole ? "." : u->spared,
		.max_files = u->is_whole ? WHOLE_FILES_MAX : FILES_MAX,
		.max_bytes = u->is_whole ? WHOLE_BYTES_MAX : BYTES_MAX,
		.time_limit_ms = limit_ms };
	int rc = workspace_checkpoints(k->sys, u->h->a, k->ws, how != ONLY_LOOK, &store, e);

	if (rc == OK) {
		rc = checkpoint_create(&store, &want, &made, e);
		checkpoint_close(&store);
	}
	if (rc == OK && ret_id)
		*ret_id = made.id;
	return rc;
}

/* The small proof first, because it saves only what is concerned; behind walls then the whole tree.  False with the doubt in u->why,
 * or with the reason in *e why it could not be saved. */
static bool prove(struct saving *u, enum how how, int64_t limit_ms, const char **ret_id, struct err *e)
{
	if (!is_answerable(u))
		return false;
	if (!(is_behind_walls(u) && is_about_git(u)) && is_all_covered(u) &&
		save(u, how, limit_ms, ret_id, e) == OK)
		return true;
	if (!is_behind_walls(u))
		return false;
	*u = (struct saving){ .k = u->k, .q = u->q, .h = u->h, .is_whole = true };
	*e = (struct err){ 0 };
	return is_held_by_tree(u) && save(u, how, limit_ms, ret_id, e) == OK;
}

static void note(struct handling *h, const char *name, const char *text)
{
	if (!h->settled.about)
		h->settled.about = json_new(h->a, JSON_OBJECT);
	json_sets(h->a, h->settled.about, name, text);
}

static bool is_hook(const struct request *q)
{
	return text_starts(q->who.door, "hook/");
}

static bool is_wanted(struct kernel *k, const struct request *q, struct arena *a)
{
	enum destructive_rule rule;
	struct err e;

	return workspace_destructive(k->sys, a, k->ws, q->profile, &rule, &e) == OK &&
		rule == DESTRUCTIVE_CHECKPOINT;
}

/* True: the question is answered by a checkpoint that is on disk.  False: it stays a question, and
 * why_asked says what stood in the way. */
bool undo_settles(struct kernel *k, const struct request *q, struct handling *h)
{
	struct saving u = { .k = k, .q = q, .h = h };
	struct err e = { 0 };

	if (!h->decision.destructive && !h->decision.ask_count)
		return false;
	if (!is_wanted(k, q, h->a))
		return false;
	if (!prove(&u, AS_PROOF, is_hook(q) ? HOOK_MS : RUN_MS, &h->settled.checkpoint_id, &e)) {
		if (e.text[0]) {
			h->settled.why_asked = arena_strdup(h->a, e.text);
			note(h, "checkpoint_error", h->settled.why_asked);
		} else if (u.why && h->decision.destructive) {
			h->settled.why_asked = u.why;
		}
		return false;
	}
	h->settled.by = "checkpoint";
	h->settled.is_covered = true;
	note(h, "checkpoint_id", h->settled.checkpoint_id);
	return true;
}

bool undo_would_settle(struct kernel *k, const struct request *q, struct handling *h, const char **ret_why)
{
	struct saving u = { .k = k, .q = q, .h = h };
	struct err e = { 0 };

	*ret_why = NULL;
	if (!h->decision.ask_count || !is_wanted(k, q, h->a))
		return false;
	bool is_sure = prove(&u, ONLY_LOOK, is_hook(q) ? HOOK_MS : RUN_MS, NULL, &e);
	if (!is_sure && h->decision.destructive)
		*ret_why = e.text[0] ? arena_strdup(h->a, e.text) : u.why;
	if (is_sure)
		h->settled = (struct settlement){ .by = "checkpoint", .is_covered = true };
	return is_sure;
}

/* Is it known that what this is about lies elsewhere? */
static bool is_elsewhere(struct saving *u, const struct effect *e)
{
	return e && e->kind != FX_GIT && e->certainty == CERTAIN && e->target && e->target[0] == '/' &&
		!path_is_below(e->target, u->k->ws->tree) && !path_is_below(u->k->ws->tree, e->target);
}

/* Is there reason to think that files of the workspace are concerned? */
static bool is_about_workspace(struct saving *u)
{
	const char *cwd = u->q->where->cwd;
	bool is_open = false;

	for (size_t i = 0; i < u->h->decision.ask_count; i++) {
		const struct effect *e = u->h->decision.asks[i].effect;
		if (e && e->target && below_root(u, e->target))
			return true;
		is_open |= !is_elsewhere(u, e);
	}
	return is_open && cwd && path_is_below(cwd, u->k->ws->tree);
}

/* The operands when all of them are known, else nothing: then the whole workspace is saved. */
static void choose_known(struct saving *u)
{
	for (size_t i = 0; i < u->h->decision.ask_count; i++) {
		const struct effect *e = u->h->decision.asks[i].effect;
		const char *relative = e && e->kind != FX_GIT && e->certainty == CERTAIN &&
				!(e->flags & FXF_FIND) && !strpbrk(e->target ? e->target : "*", "*?[")
			? below_root(u, e->target)
			: NULL;
		if (e && (!relative || !add_path(u, relative))) {
			u->path_count = 0;
			return;
		}
	}
}

/* Best effort, and never changes the answer: a person decides, and a failed attempt is only noted.  Only where the proof holds
 * is it said that everything can be undone. */
void undo_save(struct kernel *k, const struct request *q, struct handling *h)
{
	struct saving u = { .k = k, .q = q, .h = h };
	struct err e = { 0 };

	if (!h->decision.destructive || h->settled.checkpoint_id ||
		json_get(h->settled.about, "checkpoint_error") || !is_about_workspace(&u))
		return;
	if (prove(&u, AS_PROOF, HOOK_MS, &h->settled.checkpoint_id, &e)) {
		h->settled.is_covered = true;
		note(h, "checkpoint_id", h->settled.checkpoint_id);
		return;
	}
	u = (struct saving){ .k = k, .q = q, .h = h };
	choose_known(&u);
	if (save(&u, BEST_EFFORT, HOOK_MS, &h->settled.checkpoint_id, &e))
		note(h, "checkpoint_error", arena_strdup(h->a, e.text));
	else
		note(h, "checkpoint_id", h->settled.checkpoint_id);
}

/* ---- what is written over ---- */

/* A file of the tree, with something in it. */
static bool is_file_with_text(struct saving *u, const char *relative)
{
	struct stat st;

	return u->k->sys->stat(u->k->sys, u->k->ws->tree_fd, relative, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode) && st.st_size > 0;
}

static void add_overwritten(struct saving *u, const char *relative)
{
	for (size_t i = 0; i < u->path_count; i++)
		if (text_eq(u->paths[i], relative))
			return;
	if (is_file_with_text(u, relative))
		(void)add_path(u, relative);
}

/* Whatever the step reads lands in the directory under its own name. */
static void add_in_directory(struct saving *u, const struct effect *into, const char *relative)
{
	const struct proposal *p = &u->h->proposal;

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *from = &p->effects[i];
		bool is_source = from->kind == FX_READ || tag_is(from, "move.from");
		if (is_source && from->step == into->step && from->target && from->certainty == CERTAIN)
			add_overwritten(u, arena_printf(u->h->a, "%s/%s", relative, path_base(from->target)));
	}
}

/* By its own words, and only what is certain: best effort, which changes no answer. */
static void find_overwritten(struct saving *u)
{
	const struct proposal *p = &u->h->proposal;

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		bool replaces = (e->kind == FX_WRITE || e->kind == FX_MOVE) && (e->flags & FXF_OVERWRITE);
		if (!(replaces || tag_is(e, "move.to")) || e->certainty != CERTAIN ||
			e->flags & (FXF_APPEND | FXF_DRY_RUN | FXF_DECODED | FXF_REMOTE_SIDE))
			continue;
		const char *relative = e->path_class == PATH_IN ? below_root(u, e->target) : NULL;
		if (!relative)
			continue;
		add_overwritten(u, relative);
		if (file_is_dir(u->k->sys, u->k->ws->tree_fd, relative))
			add_in_directory(u, e, relative);
	}
	/* What is moved away comes back with what it replaced. */
	for (size_t i = 0; u->path_count && i < p->effect_count; i++)
		if (tag_is(&p->effects[i], "move.from") && p->effects[i].certainty == CERTAIN &&
			below_root(u, p->effects[i].target))
			add_overwritten(u, below_root(u, p->effects[i].target));
}

void undo_save_overwritten(struct kernel *k, const struct request *q, struct handling *h)
{
	struct saving u = { .k = k, .q = q, .h = h, .is_plain = true };
	struct err e = { 0 };

	if (h->settled.checkpoint_id || q->mode != GUARD_ENFORCE || k->ws->no_tree || k->ws->tree_fd < 0)
		return;
	find_overwritten(&u);
	if (!u.path_count || !is_wanted(k, q, h->a))
		return;
	if (save(&u, BEST_EFFORT, HOOK_MS, &h->settled.checkpoint_id, &e))
		note(h, "checkpoint_error", arena_strdup(h->a, e.text));
	else
		note(h, "checkpoint_id", h->settled.checkpoint_id);
}
