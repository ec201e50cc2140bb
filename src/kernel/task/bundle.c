/* bundle.c — what a task leaves for whoever goes on with it: state.md, plan.md, evidence.json, blockers.md, copies of what it touched, and a manifest
 * with the digest of each (docs/formats/task-bundle.md).
 *
 * The row names the bundle with the digest of its manifest, and the receipt of a run binds the row.  Each file is put in place whole, the manifest last:
 * a bundle that a kill or a power cut came into is told by its digests.  Nothing depends on it, so it never keeps a run from its end. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST "manifest.json"
#define FILES "files"
enum {
	FILES_MOST = 64,
	FILE_BYTES = 1 << 20,
	ALL_BYTES = 4 << 20,
	DOCUMENT_BYTES = 64 << 20,
	BUNDLES_KEPT = 128,
	DROP_AT_ONCE = 16
};

/* Put there by others; whoever has them is not dropped. */
static const char *const asked_for[] = { "consensus.json", "verification-evidence.json",
	"verified-execution.json" };

struct bundling {
	struct sys *s;
	struct arena *a;
	const struct workspace *ws;
	const char *id;
	int fd;
	const struct json *row; /* without secrets */
	struct json *documents; /* [{name, sha256}] */
	struct err e; /* the first thing that went wrong */
};

/* ---- documents ---- */

static void list_document(struct bundling *b, const char *name, struct bytes text)
{
	struct json *one = json_new(b->a, JSON_OBJECT);

	json_sets(b->a, one, "name", name);
	json_sets(b->a, one, "sha256", sha256_hex(b->a, text.p, text.n));
	json_push(b->a, b->documents, one);
}

static void put(struct bundling *b, const char *name, struct bytes text)
{
	struct err e = { 0 };

	if (file_put(b->s, b->fd, name, 0600, text, &e) == OK)
		list_document(b, name, text);
	else if (!b->e.rc)
		b->e = e;
}

static void put_json(struct bundling *b, const char *name, struct json *doc, struct bytes *ret)
{
	struct buf text;

	privacy_redact_json(b->a, doc);
	buf_init(&text, b->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	put(b, name, buf_bytes(&text));
	if (ret)
		*ret = buf_bytes(&text);
}

static bool has(const struct bundling *b, const char *name)
{
	return file_exists(b->s, b->fd, name);
}

/* One that is there already stays as it is. */
static void list_kept(struct bundling *b, const char *name)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct bytes text;
	struct err e = { 0 };

	if (!has(b, name))
		return;
	if (file_read(b->s, &own, b->fd, name, DOCUMENT_BYTES, 0, &text, &e) == OK)
		list_document(b, name, text);
	else if (!b->e.rc)
		b->e = e;
}

/* ---- in words ---- */

static const char *phase_of(const char *status)
{
	static const char *const phases[][2] = { { "queued", "plan" }, { "ready", "plan" },
		{ "triage", "plan" }, { "running", "execute" }, { "completed", "complete" },
		{ "handoff_required", "handoff" }, { "cancelled", "cancelled" },
		{ "archived", "cancelled" } };

	for (size_t i = 0; i < ARRAY_SIZE(phases); i++)
		if (text_eq(status, phases[i][0]))
			return phases[i][1];
	return "blocked";
}

static const char *member(const struct bundling *b, const char *name)
{
	const char *text = json_get_text(b->row, name, "");

	return *text ? text_safe(b->a, text, strlen(text), false) : "-";
}

static const char *status_of(const struct bundling *b)
{
	return json_get_text(b->row, "status", "");
}

static const char *next_action(const struct bundling *b)
{
	return json_get(b->row, "next_action")	   ? member(b, "next_action")
		: text_eq(status_of(b), "running") ? "wait for its end"
						   : task_next_step(status_of(b));
}

/* "- name:" with the items below, or "none". */
static void add_list(struct buf *to, const char *name, const struct json *items)
{
	size_t n = 0;

	buf_addf(to, "- %s:", name);
	json_each (one, items)
		if (json_text(one))
			buf_addf(to, "\n  - %s", text_safe(to->a, one->text, one->n, false)), n++;
	buf_adds(to, n ? "\n" : " none\n");
}

/* What it had to do with outside of the workspace. */
static struct json *surfaces(const struct bundling *b)
{
	static const char service[] = "service_readback:";
	struct json *list = json_new(b->a, JSON_ARRAY);
	const struct json *egress = json_get(b->row, "egress");

	if (json_get(b->row, "runtime_target") && json_get_text(b->row, "runtime_target", NULL))
		json_push(b->a, list,
			json_stringf(b->a, "target: %s", json_get_text(b->row, "runtime_target", "")));
	if (egress)
		json_push(b->a, list,
			json_stringf(b->a, "network: %lld connections, %lld refused",
				(long long)json_get_int(egress, "admitted", 0),
				(long long)json_get_int(egress, "refused", 0)));
	json_each (url, json_get(b->row, "source_urls"))
		if (json_text(url))
			json_push(b->a, list, json_stringf(b->a, "page: %s", json_text(url)));
	json_each (ref, json_get(b->row, "evidence_refs"))
		if (json_text(ref) && text_starts(json_text(ref), service))
			json_push(b->a, list,
				json_stringf(b->a, "service: %s", json_text(ref) + strlen(service)));
	return list;
}

static struct json *blockers(const struct bundling *b)
{
	struct json *list = json_new(b->a, JSON_ARRAY);
	const char *status = status_of(b), *phase = phase_of(status),
		   *reason = json_get_text(b->row, "failure_reason", NULL),
		   *held = json_get_text(b->row, "blocked_reason", NULL);

	if (reason)
		json_pushs(b->a, list, reason);
	if (held && !(reason && text_eq(held, reason)))
		json_pushs(b->a, list, held);
	json_each (path, json_get(json_get(b->row, "scope_gate"), "violations"))
		if (json_text(path))
			json_push(b->a, list, json_stringf(b->a, "outside of its plan: %s", json_text(path)));
	json_each (claim, json_get(json_get(b->row, "finalization_gate"), "claims"))
		if (!json_get_bool(claim, "ok", false))
			json_push(b->a, list,
				json_stringf(b->a, "not shown: %s (%s)", json_get_text(claim, "claim_id", ""),
					json_get_text(claim, "reason", "")));
	if (!list->n && text_eq(phase, "handoff"))
		json_pushs(b->a, list, "it is to be done elsewhere");
	if (!list->n && json_get(b->row, "exit_code") && text_eq(phase, "blocked"))
		json_push(b->a, list,
			json_stringf(
				b->a, "it ended with %lld", (long long)json_get_int(b->row, "exit_code", 0)));
	return list;
}

static struct json *resume_hints(const struct bundling *b)
{
	struct json *list = json_new(b->a, JSON_ARRAY);
	const char *checkpoint = json_get_text(b->row, "checkpoint_id", NULL),
		   *resume = json_get_text(json_get(b->row, "runtime_pause"), "resume_command", NULL);

	json_push(b->a, list, json_stringf(b->a, "helm task show %s", b->id));
	if (resume)
		json_push(b->a, list, json_stringf(b->a, "once it is approved: %s", resume));
	if (checkpoint)
		json_push(b->a, list, json_stringf(b->a, "helm checkpoint restore %s", checkpoint));
	return list;
}

static void put_state(struct bundling *b)
{
	struct buf text;

	buf_init(&text, b->a);
	buf_addf(&text, "# Task state\n\n- task_id: %s\n- phase: %s\n- status: %s\n", b->id,
		phase_of(status_of(b)), member(b, "status"));
	buf_addf(&text, "- operational_status: %s\n- current_task: %s\n- next_action: %s\n",
		json_get(b->row, "operational_status") ? member(b, "operational_status")
						       : member(b, "status"),
		member(b, "task_name"), next_action(b));
	add_list(&text, "touched_paths", json_get(b->row, "touched_paths"));
	if (json_get_bool(b->row, "touched_paths_cut", false))
		buf_adds(&text, "- touched_paths_cut: there are more, which were not listed\n");
	add_list(&text, "external_surfaces", surfaces(b));
	add_list(&text, "blockers", blockers(b));
	add_list(&text, "resume_hints", resume_hints(b));
	put(b, "state.md", buf_bytes(&text));
}

static void put_blockers(struct bundling *b)
{
	const struct json *list = blockers(b);
	struct buf text;

	buf_init(&text, b->a);
	buf_adds(&text, "# Blockers\n\n");
	if (list->n) {
		buf_addf(&text, "- stage: %s\n", member(b, "failure_stage"));
		add_list(&text, "reasons", list);
		buf_addf(&text, "- next_action: %s\n", next_action(b));
	} else {
		buf_adds(&text, "none\n");
	}
	put(b, "blockers.md", buf_bytes(&text));
}

static void add_tasks(struct buf *to, const struct json *plan)
{
	json_each (task, json_get(plan, "tasks")) {
		const char *title = json_get_text(task, "title", json_get_text(task, "task_id", "?"));
		buf_addf(to, "\n## %s\n\n", text_safe(to->a, title, strlen(title), false));
		add_list(to, "scope", json_get(task, "scope"));
		add_list(to, "acceptance_criteria", json_get(task, "acceptance_criteria"));
	}
}

/* From the plan that was approved, or else what is known of what was wanted.  Somebody may have written a better one. */
static void put_plan(struct bundling *b, const struct json *given)
{
	struct json *plan = given ? json_copy(b->a, given) : NULL;
	const char *goal = json_get_text(b->row, "task_goal", NULL);
	struct buf text;

	if (has(b, "plan.md")) {
		list_kept(b, "plan.md");
		return;
	}
	privacy_redact_json(b->a, plan);
	if (json_get_text(plan, "objective", NULL))
		goal = json_get_text(plan, "objective", NULL);
	if (!goal)
		goal = json_get_text(b->row, "task_name", "-");
	buf_init(&text, b->a);
	buf_addf(&text, "# Plan\n\n- objective: %s\n- profile: %s\n- command: %s\n",
		text_safe(b->a, goal, strlen(goal), false), member(b, "profile"),
		member(b, "command_preview"));
	if (plan) {
		add_list(&text, "scope", json_get(plan, "scope"));
		add_list(&text, "verification", json_get(plan, "verification"));
		const char *back = json_get_text(plan, "rollback_note", "-");
		buf_addf(&text, "- rollback: %s\n", text_safe(b->a, back, strlen(back), false));
		add_tasks(&text, plan);
	}
	put(b, "plan.md", buf_bytes(&text));
}

static void copy_members(struct bundling *b, struct json *to, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct json *v = json_get(b->row, names[i]);
		json_set(b->a, to, names[i], v ? json_copy(b->a, v) : json_new(b->a, JSON_NULL));
	}
}

static void put_evidence(struct bundling *b)
{
	static const char *const names[] = { "operational_status", "evidence_refs", "completion_claims",
		"finalization_gate", "evidence_gathering", "scope_gate" };
	struct json *doc = json_new(b->a, JSON_OBJECT);

	json_seti(b->a, doc, "schema_version", 1);
	json_sets(b->a, doc, "task_id", b->id);
	json_sets(b->a, doc, "updated_at", text_time_iso(b->a, b->s->now_us(b->s)));
	copy_members(b, doc, names, ARRAY_SIZE(names));
	put_json(b, "evidence.json", doc, NULL);
}

/* ---- copies ---- */

static bool is_unsafe(const char *path)
{
	return path[0] == '/' || !*path || text_eq(path, "..") || text_starts(path, "../") ||
		strstr(path, "/../") || text_ends(path, "/..");
}

static int make_parents(struct bundling *b, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *dir = arena_strndup(b->a, path, (size_t)(slash - path));
		if (b->s->mkdir(b->s, b->fd, dir, 0700) && errno != EEXIST)
			return -1;
	}
	return OK;
}

/* Why it is not copied; NULL: it is. */
static const char *copy_file(struct bundling *b, const char *path, struct bytes text)
{
	AUTO(arena_done) struct arena own = { 0 };
	const char *to = arena_printf(b->a, FILES "/%s", path);
	struct err e;
	size_t n;

	if (privacy_redact(&own, (const char *)text.p, text.n, &n) != (const char *)text.p)
		return "it holds a secret";
	if (make_parents(b, to) || file_put(b->s, b->fd, to, 0600, text, &e))
		return "it could not be written";
	return NULL;
}

static struct json *artifact(struct bundling *b, int root, const char *path, size_t n, size_t *left)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct json *one = json_new(b->a, JSON_OBJECT);
	const char *why = NULL, *state = "present";
	struct bytes text = { 0 };
	struct stat st;
	struct err e;

	json_sets(b->a, one, "path", path);
	if (is_unsafe(path))
		state = "unsafe_path";
	else if (b->s->stat(b->s, root, path, &st, AT_SYMLINK_NOFOLLOW))
		state = "missing";
	else if (!S_ISREG(st.st_mode))
		state = "unsafe_path"; /* a link leads anywhere */
	else if (n >= FILES_MOST)
		why = "only the first 64 files are";
	else if ((size_t)st.st_size > FILE_BYTES || (size_t)st.st_size > *left)
		why = "it is too large";
	else if (file_read(b->s, &own, root, path, FILE_BYTES, FILE_BENEATH, &text, &e))
		state = "unsafe_path";
	else
		why = copy_file(b, path, text);
	json_sets(b->a, one, "state", state);
	json_sets(b->a, one, "sha256", text.p ? sha256_hex(b->a, text.p, text.n) : NULL);
	json_setb(b->a, one, "copied", text.p && !why);
	if (why)
		json_sets(b->a, one, "not_copied", why);
	*left -= text.n < *left ? text.n : *left;
	return one;
}

static struct json *artifacts(struct bundling *b, const char *tree)
{
	struct json *list = json_new(b->a, JSON_ARRAY);
	const struct json *touched = json_get(b->row, "touched_paths");
	size_t left = ALL_BYTES, n = 0;
	AUTO(close_fd) int root = -1;

	file_remove_tree(b->s, b->fd, FILES);
	if (!json_is(touched, JSON_ARRAY) || !touched->n)
		return list;
	root = b->s->open(b->s, AT_FDCWD, tree, O_RDONLY | O_DIRECTORY, 0, 0);
	json_each (path, touched)
		if (json_text(path) && root >= 0)
			json_push(b->a, list, artifact(b, root, json_text(path), n++, &left));
	return list;
}

/* ---- the manifest ---- */

static const struct json *manifest_before(struct bundling *b)
{
	struct json *doc;
	struct err e;

	return doc_read(b->s, b->a, b->fd, MANIFEST, DOCUMENT_BYTES, 0, &doc, &e) == OK ? doc : NULL;
}

static const char *put_manifest(struct bundling *b, const char *tree, const struct json *list)
{
	static const char *const names[] = { "checkpoint_id", "evidence_refs", "completion_claims",
		"finalization_gate", "scope_gate", "command" };
	struct json *doc = json_new(b->a, JSON_OBJECT);
	struct bytes text;

	json_seti(b->a, doc, "schema_version", 1);
	json_sets(b->a, doc, "task_id", b->id);
	json_sets(b->a, doc, "status", status_of(b));
	json_sets(b->a, doc, "updated_at", text_time_iso(b->a, b->s->now_us(b->s)));
	json_sets(b->a, doc, "tree", tree);
	json_set(b->a, doc, "documents", json_copy(b->a, b->documents));
	json_set(b->a, doc, "artifacts", json_copy(b->a, list));
	if (json_get_bool(b->row, "touched_paths_cut", false))
		json_setb(b->a, doc, "artifacts_cut", true);
	copy_members(b, doc, names, ARRAY_SIZE(names));
	put_json(b, MANIFEST, doc, &text);
	return sha256_hex(b->a, text.p, text.n);
}

/* For whoever looks later; the row has the digest, so it is on disk before that. */
const char *task_keep(struct task *t, const char *name, const struct json *doc)
{
	const char *dir = arena_printf(t->a, TASK_BUNDLES "/%s", t->id);
	struct json *shown = json_copy(t->a, doc);
	struct buf text;
	struct err e;

	privacy_redact_json(t->a, shown);
	buf_init(&text, t->a);
	json_write(&text, shown, JSON_SPACED | JSON_SORT_BYTES);
	buf_addc(&text, '\n');
	if (file_mkdirs(t->k->sys, t->k->ws->state_fd, dir, 0700, &e) == OK)
		(void)file_replace(t->k->sys, t->k->ws->state_fd, arena_printf(t->a, "%s/%s", dir, name),
			0600, buf_bytes(&text), &e);
	return sha256_hex(t->a, text.p, text.n);
}

/* ---- how many there are ---- */

struct old_bundle {
	const char *name;
	int64_t at;
};

static int by_age(const void *x, const void *y)
{
	const struct old_bundle *one = x, *other = y;

	return one->at < other->at ? -1 : one->at > other->at;
}

static bool is_asked_for(struct bundling *b, int dir, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(asked_for); i++)
		if (file_exists(b->s, dir, arena_printf(b->a, "%s/%s", name, asked_for[i])))
			return true;
	return false;
}

/* The oldest go, some at a time, so that most runs do not look. */
static void drop_oldest(struct bundling *b)
{
	struct sys *s = b->s;
	AUTO(close_fd) int dir = s->open(s, b->ws->state_fd, TASK_BUNDLES, O_RDONLY | O_DIRECTORY, 0, 0);
	char **names;
	size_t n, count = 0;
	struct stat st;
	struct err e;

	/* A directory has a link from each one in it, where the file system counts them. */
	if (dir < 0 || s->stat(s, dir, "", &st, AT_EMPTY_PATH) ||
		(st.st_nlink > 1 && st.st_nlink < BUNDLES_KEPT + DROP_AT_ONCE + 2) ||
		file_list(s, b->a, dir, ".", &names, &n, &e) || n < BUNDLES_KEPT + DROP_AT_ONCE)
		return;
	struct old_bundle *old = arena_zalloc(b->a, n, sizeof(*old));
	for (size_t i = 0; i < n; i++)
		if (!text_eq(names[i], b->id) && s->stat(s, dir, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISDIR(st.st_mode) && !is_asked_for(b, dir, names[i]))
			old[count++] = (struct old_bundle){ names[i],
				(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
	qsort(old, count, sizeof(*old), by_age);
	for (size_t i = 0; count > BUNDLES_KEPT && i < count - BUNDLES_KEPT; i++)
		file_remove_tree(s, dir, old[i].name);
}

/* ---- all of it ---- */

static int open_bundle(struct bundling *b, struct err *e)
{
	struct sys *s = b->s;
	const char *dir = arena_printf(b->a, TASK_BUNDLES "/%s", b->id);

	/* Not synced into its parent, as file_mkdirs() would: it would cost more than all the rest. */
	if (s->mkdir(s, b->ws->state_fd, dir, 0700) && errno == ENOENT &&
		(s->mkdir(s, b->ws->state_fd, TASK_BUNDLES, 0700) == 0 || errno == EEXIST))
		(void)s->mkdir(s, b->ws->state_fd, dir, 0700);
	b->fd = s->open(s, b->ws->state_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	return b->fd < 0 ? err_sys(e, "TASK_BUNDLE", "the bundle of the task cannot be made") : OK;
}

static struct json *named(struct bundling *b, const char *sha256)
{
	static const char *const names[][2] = { { "state", "state.md" }, { "plan", "plan.md" },
		{ "evidence", "evidence.json" }, { "blockers", "blockers.md" }, { "manifest", MANIFEST } };
	const char *dir = arena_printf(b->a, "%s/" TASK_BUNDLES "/%s", b->ws->state_name, b->id);
	struct json *doc = json_new(b->a, JSON_OBJECT);

	json_sets(b->a, doc, "path", dir);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_sets(b->a, doc, names[i][0], arena_printf(b->a, "%s/%s", dir, names[i][1]));
	json_sets(b->a, doc, "sha256", sha256);
	return doc;
}

void task_bundle(struct sys *s, struct arena *a, const struct workspace *ws, const char *tree,
	const struct json *plan, struct json *row)
{
	struct json *shown = json_copy(a, row);
	struct bundling b = { .s = s,
		.a = a,
		.ws = ws,
		.id = json_get_text(row, "task_id", ""),
		.row = shown,
		.documents = json_new(a, JSON_ARRAY) };

	(void)json_remove(row, "state_bundle");
	(void)json_remove(row, "state_bundle_error");
	if (!text_is_id(b.id))
		return;
	privacy_redact_json(a, shown);
	if (open_bundle(&b, &b.e) == OK) {
		const struct json *before = tree ? NULL : manifest_before(&b),
				  *list = tree ? artifacts(&b, tree) : json_get(before, "artifacts");
		put_state(&b);
		put_plan(&b, plan);
		put_evidence(&b);
		put_blockers(&b);
		for (size_t i = 0; i < ARRAY_SIZE(asked_for); i++)
			list_kept(&b, asked_for[i]);
		const char *sha256 = put_manifest(&b, tree ? tree : json_get_text(before, "tree", NULL),
			list ? list : json_new(a, JSON_ARRAY));
		if (!b.e.rc)
			json_set(a, row, "state_bundle", named(&b, sha256));
		drop_oldest(&b);
	}
	close_fd(&b.fd);
	if (b.e.rc)
		json_sets(a, row, "state_bundle_error", b.e.text);
}

/* ---- read back ---- */

static const char *found(struct sys *s, int dir, const char *name, const char *sha256)
{
	AUTO(arena_done) struct arena own = { 0 };
	struct bytes text;
	struct err e;
	int rc = file_read(s, &own, dir, name, DOCUMENT_BYTES, FILE_BENEATH, &text, &e);

	return rc == E_MISSING						      ? "missing"
		: rc							      ? "unreadable"
		: sha256 && text_eq(sha256_hex(&own, text.p, text.n), sha256) ? "same"
									      : "changed";
}

static void look_at_documents(struct sys *s, struct arena *a, int dir, struct json *doc, bool *ok)
{
	json_each (one, json_get(doc, "documents")) {
		const char *is = text_is_id(json_get_text(one, "name", ""))
			? found(s, dir, json_get_text(one, "name", ""), json_get_text(one, "sha256", NULL))
			: "unreadable";
		json_sets(a, one, "found", is);
		*ok &= text_eq(is, "same");
	}
}

/* The copy is to be as it was; the file itself may have been worked on since. */
static void look_at_artifacts(struct sys *s, struct arena *a, int dir, struct json *doc, bool *ok)
{
	const char *tree = json_get_text(doc, "tree", NULL);
	AUTO(close_fd) int root = tree ? s->open(s, AT_FDCWD, tree, O_RDONLY | O_DIRECTORY, 0, 0) : -1;

	json_each (one, json_get(doc, "artifacts")) {
		const char *path = json_get_text(one, "path", ""),
			   *sha256 = json_get_text(one, "sha256", NULL);
		bool is_copied = json_get_bool(one, "copied", false);
		const char *copy = !is_copied ? "none"
			: is_unsafe(path)     ? "unreadable"
					      : found(s, dir, arena_printf(a, FILES "/%s", path), sha256);
		json_sets(a, one, "copy", copy);
		json_sets(a, one, "now",
			root < 0 || is_unsafe(path) || !sha256 ? NULL : found(s, root, path, sha256));
		*ok &= !is_copied || text_eq(copy, "same");
	}
}

int task_bundle_read(struct sys *s, struct arena *a, const struct workspace *ws, const struct json *row,
	struct json **ret, struct err *e)
{
	const char *id = json_get_text(row, "task_id", ""),
		   *sha256 = json_get_text(json_get(row, "state_bundle"), "sha256", NULL);
	struct json *doc = NULL, *told = json_new(a, JSON_OBJECT);
	struct bytes text;
	bool ok = true;

	if (!sha256 || !text_is_id(id))
		return err_set(e, E_MISSING, "TASK_BUNDLE", "no bundle of task '%.128s' is on record%s%s", id,
			json_get(row, "state_bundle_error") ? ": " : "",
			json_get_text(row, "state_bundle_error", ""));
	AUTO(close_fd)
	int dir = s->open(s, ws->state_fd, arena_printf(a, TASK_BUNDLES "/%s", id),
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (dir < 0)
		return err_set(e, E_MISSING, "TASK_BUNDLE",
			"the bundle of task '%s' is not there any more; the newest %d are kept", id,
			BUNDLES_KEPT);
	const char *is = found(s, dir, MANIFEST, sha256);
	(void)doc_read(s, a, dir, MANIFEST, DOCUMENT_BYTES, 0, &doc, NULL);
	ok = text_eq(is, "same") && doc;
	if (doc) {
		look_at_documents(s, a, dir, doc, &ok);
		look_at_artifacts(s, a, dir, doc, &ok);
	}
	json_sets(a, told, "task_id", id);
	json_sets(a, told, "path", json_get_text(json_get(row, "state_bundle"), "path", ""));
	json_setb(a, told, "ok", ok);
	json_sets(a, told, "manifest", is);
	json_set(a, told, "documents",
		json_get(doc, "documents") ? json_get(doc, "documents") : json_new(a, JSON_ARRAY));
	json_set(a, told, "artifacts",
		json_get(doc, "artifacts") ? json_get(doc, "artifacts") : json_new(a, JSON_ARRAY));
	bool has_state = file_read(s, a, dir, "state.md", DOCUMENT_BYTES, 0, &text, NULL) == OK;
	json_set(a, told, "state",
		has_state ? json_stringn(a, (const char *)text.p, text.n) : json_new(a, JSON_NULL));
	*ret = told;
	return OK;
}
