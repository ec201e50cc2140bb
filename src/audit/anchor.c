/* anchor.c — tree heads kept outside the workspace.
 *
 * Whoever can write the workspace can make chain, leaves and heads agree with each other.  A head that
 * lies elsewhere, in a file or behind a git reference, cannot be changed with them; with it a tail that
 * was cut off or rewritten is found.  log/anchors.json remembers where heads were put; forgetting it loses
 * the reminder, not the anchor.
 *
 * The head is put in place first and remembered after.  A crash in between leaves an anchor that nobody is
 * reminded of, never a reminder of an anchor that does not exist. */
#include "audit/audit.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "proof/merkle.h"

#include <fcntl.h>
#include <string.h>

enum { ANCHOR_LIMIT = 1 << 20, GIT_TIMEOUT_MS = 30000 };

/* Everything else is the name of a file. */
static bool is_git_ref(const char *to)
{
	return text_starts(to, "refs/");
}

/* Runs git on the repository with a fixed environment: no configuration of the user or system, no hooks,
 * no file system monitor, no prompts, no garbage collection.  A repository from somewhere else must not be
 * able to run a program here.  `date` makes commits reproducible. */
static int git(struct sys *s, struct arena *a, int root_fd, const char *const *words, const char *date,
	struct bytes input, struct bytes *ret_out, struct err *e)
{
	const char *argv[20] = { "git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",
		"gc.auto=0" };
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0", "GIT_AUTHOR_NAME=helm",
		"GIT_AUTHOR_EMAIL=helm@localhost", "GIT_COMMITTER_NAME=helm",
		"GIT_COMMITTER_EMAIL=helm@localhost", arena_printf(a, "GIT_AUTHOR_DATE=%s", date),
		arena_printf(a, "GIT_COMMITTER_DATE=%s", date), NULL };
	struct proc_output result;
	size_t n = 7;

	while (*words && n < ARRAY_SIZE(argv) - 1)
		argv[n++] = *words++;
	struct proc_spec spec = PROC_SPEC(argv);
	spec.env = env;
	spec.path = "/usr/local/bin:/usr/bin:/bin";
	spec.cwd_fd = root_fd;
	int rc = proc_capture(s, a, &spec, input, ANCHOR_LIMIT, GIT_TIMEOUT_MS, &result, e);
	if (rc)
		return rc;
	if (result.end.code)
		return err_set(e, E_IO, "ANCHOR_GIT", "git %s failed: %.200s", argv[7],
			text_safe(a, (const char *)result.err.p, result.err.n, false));
	while (result.out.n && result.out.p[result.out.n - 1] == '\n')
		result.out.n--;
	*ret_out = result.out;
	return OK;
}

static const char *word(struct arena *a, struct bytes b)
{
	return arena_strndup(a, (const char *)b.p, b.n);
}

/* git itself judges the name. */
static int check_ref(struct sys *s, struct arena *a, int root_fd, const char *ref, struct err *e)
{
	const char *const check[] = { "check-ref-format", ref, NULL };
	struct bytes out;

	if (strlen(ref) > 200 || git(s, a, root_fd, check, "", (struct bytes){ 0 }, &out, e))
		return err_set(
			e, E_USAGE, "ANCHOR_REF", "'%.200s' is not a name git accepts for a reference", ref);
	return OK;
}

/* Makes a commit that holds the head as head.json, on top of what the reference has, so that the
 * reference's history is the history of heads.  Works on objects only: neither the index nor the working
 * tree is touched. */
static int put_in_git(struct sys *s, struct arena *a, int root_fd, const char *ref, const char *date,
	struct bytes head, struct err *e)
{
	const struct bytes none = { 0 };
	struct bytes blob, tree, commit, old = { 0 };
	const char *const hash[] = { "hash-object", "-w", "--stdin", NULL };
	const char *const mktree[] = { "mktree", NULL };
	const char *const parse[] = { "rev-parse", "--verify", "--quiet", ref, NULL };
	int rc = check_ref(s, a, root_fd, ref, e);

	if (rc == OK)
		rc = git(s, a, root_fd, hash, date, head, &blob, e);
	if (rc)
		return rc;
	const char *row = arena_printf(a, "100644 blob %s\thead.json\n", word(a, blob));
	rc = git(s, a, root_fd, mktree, date, bytes_of(row), &tree, e);
	if (rc)
		return rc;
	bool has_old = git(s, a, root_fd, parse, date, none, &old, NULL) == OK;
	const char *const on_top[] = { "commit-tree", word(a, tree), "-m", "helm: tree head",
		has_old ? "-p" : NULL, word(a, old), NULL };
	rc = git(s, a, root_fd, on_top, date, none, &commit, e);
	if (rc)
		return rc;
	/* The old value is given, so that git refuses when somebody moved the reference meanwhile.  An empty
	 * one means that there must be none, whichever hash the repository uses. */
	const char *const update[] = { "update-ref", ref, word(a, commit), has_old ? word(a, old) : "",
		NULL };
	return git(s, a, root_fd, update, date, none, &commit, e);
}

/* Only the form is judged here; the signature is the matter of the check. */
int log_anchor_read(
	struct sys *s, struct arena *a, int root_fd, const char *to, struct json **ret, struct err *e)
{
	const char *const show[] = { "cat-file", "blob", arena_printf(a, "%s:head.json", to), NULL };
	struct json *head;
	struct hash root;
	struct bytes text;
	int rc = is_git_ref(to) ? git(s, a, root_fd, show, "", (struct bytes){ 0 }, &text, e)
				: file_read(s, a, AT_FDCWD, to, ANCHOR_LIMIT, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = json_parse(a, text, to, NULL, &head, e);
	if (rc)
		return rc;
	if (json_get_int(head, "tree_size", -1) < 0 ||
		!hash_from_hex(json_get_text(head, "root_hash", ""), &root))
		return err_set(e, E_INPUT, "ANCHOR_FORM", "'%s' does not hold a tree head", to);
	*ret = head;
	return OK;
}

static const struct doc KEPT = { .file = ANCHORS,
	.lock = ANCHORS ".lock",
	.type = JSON_OBJECT,
	.max_bytes = ANCHOR_LIMIT,
	.code = "ANCHOR_FORM" };

/* An absent file is an empty list. */
int log_anchors(struct sys *s, struct arena *a, int state_fd, struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_load(s, a, state_fd, &KEPT, &doc, e);

	if (rc)
		return rc;
	*ret = doc->n ? json_get(doc, "anchors") : json_new(a, JSON_ARRAY);
	if (!json_is(*ret, JSON_ARRAY))
		return err_set(e, E_CORRUPT, "ANCHOR_FORM", "%s is not a list of anchors", ANCHORS);
	return OK;
}

/* One entry per place, the newest.  The lock keeps two anchorings at once from losing one of the entries. */
static int remember(
	struct sys *s, struct arena *a, int state_fd, const char *to, struct json *head, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *old, *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	struct json *entry = json_new(a, JSON_OBJECT);
	int rc = doc_lock(s, state_fd, &KEPT, &lock, e);

	if (rc == OK)
		rc = log_anchors(s, a, state_fd, &old, e);
	if (rc)
		return rc;
	json_each (row, old)
		if (!text_eq(json_get_text(row, "to", ""), to))
			json_push(a, list, row);
	json_sets(a, entry, "to", to);
	json_set(a, entry, "head", head);
	json_push(a, list, entry);
	json_set(a, doc, "anchors", list);
	return doc_replace(s, a, state_fd, &KEPT, doc, e);
}

static bool has_ref(struct sys *s, struct arena *a, int root_fd, const char *ref)
{
	const char *const parse[] = { "rev-parse", "--verify", "--quiet", ref, NULL };
	struct bytes out;

	return git(s, a, root_fd, parse, "", (struct bytes){ 0 }, &out, NULL) == OK;
}

/* What is there already must be an earlier head of this log: an anchor is not silently exchanged for
 * another log's, and a reference that somebody uses for something else is not taken.  Nothing there is
 * fine. */
static int check_before(
	struct sys *s, struct arena *a, int root_fd, int state_fd, const char *to, struct err *e)
{
	struct json *before;
	struct hash root;
	uint64_t n;
	struct err why = { 0 };
	int rc = log_anchor_read(s, a, root_fd, to, &before, &why);

	if (rc && (is_git_ref(to) ? has_ref(s, a, root_fd, to) : rc != E_MISSING)) {
		*e = why;
		return rc;
	}
	if (rc)
		return OK;
	rc = log_leaf_count(s, state_fd, &n, e);
	if (rc)
		return rc;
	uint64_t size = (uint64_t)json_get_int(before, "tree_size", 0);
	if (size <= n) {
		rc = log_roots(s, state_fd, &(struct merkle_range){ 0, size }, 1, &root, e);
		if (rc)
			return rc;
		if (text_eq(hash_hex(a, &root), json_get_text(before, "root_hash", "")))
			return OK;
	}
	return err_set(e, E_CORRUPT, "ANCHOR_CONFLICT",
		"'%s' holds a head of %llu receipts that this log does not continue; see 'helm log check', "
		"or anchor "
		"elsewhere",
		to, (unsigned long long)size);
}

/* The old anchor is checked before a new head is signed. */
int log_anchor(struct recorder *r, struct arena *a, int root_fd, const char *to, struct json **ret_head,
	struct err *e)
{
	struct json *head;
	struct buf text;
	int rc = check_before(r->sys, a, root_fd, r->state_fd, to, e);

	if (rc == OK)
		rc = log_sign_head(r, a, &head, e);
	if (rc)
		return rc;
	buf_init(&text, a);
	json_canonical(&text, head);
	buf_addc(&text, '\n');
	rc = is_git_ref(to) ? put_in_git(r->sys, a, root_fd, to, json_get_text(head, "timestamp", ""),
				      buf_bytes(&text), e)
			    : file_replace(r->sys, AT_FDCWD, to, 0644, buf_bytes(&text), e);
	if (rc == OK)
		rc = remember(r->sys, a, r->state_fd, to, head, e);
	if (rc == OK)
		*ret_head = head;
	return rc;
}
