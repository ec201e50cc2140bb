/* setup.c — putting Helm in front of an agent client, and taking it away again.
 *
 * A settings file is the user's.  We insert our entries into its text and remember where, so that removing
 * them gives the same bytes back.  Before the first change setup-recovery.json says what is about to happen
 * and how both states look; after the last one it goes.  Whoever finds it knows from the file's digest
 * which side of the change the machine stopped on.
 *
 * An installation is done only when its self-test passed: the very command that was written is run as the
 * client would run it, with a destructive call, and must deny it with a receipt that verifies.  If not, the
 * old file is put back. */
#include "base/doc.h"
#include "kernel/setup/parts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "proof/preimage.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

enum { SELF_TEST_MS = 20000, RECEIPTS_BACK = 256 };

/* ---- places ---- */

/* The program is named by its real path, because a client runs the command from anywhere. */
int setup_open(struct sys *s, struct arena *a, struct workspace *ws, const char *project, struct setup *ret,
	struct err *e)
{
	char link[4096];
	ssize_t n = s->readlink(s, AT_FDCWD, "/proc/self/exe", link, sizeof(link) - 1);
	char *cwd = getcwd(NULL, 0);

	if (n <= 0)
		return err_sys(e, "SETUP_PROGRAM", "cannot tell where this program lies");
	link[n] = '\0';
	*ret = (struct setup){
		.sys = s, .a = a, .ws = ws, .home = ws->home, .program = arena_strdup(a, link)
	};
	if (cwd && project)
		ret->project = path_clean(a, path_join(a, cwd, project));
	else if (cwd)
		ret->project = kernel_work_tree(s, a, arena_strdup(a, cwd), ws->home);
	free(cwd);
	return OK;
}

/* The directory a scope's settings lie in. */
static int root_of(const struct setup *s, const char *scope, const char **ret, struct err *e)
{
	*ret = text_eq(scope, "user") ? s->home : s->project;
	if (*ret)
		return OK;
	return err_set(e, E_USAGE, "SETUP_SCOPE", "there is no %s here; %s",
		text_eq(scope, "user") ? "home directory" : "project",
		text_eq(scope, "user") ? "HOME is not set" : "go into one, or use --scope user");
}

/* Settings behind a link belong to something else (a dotfiles repository, another user); replacing the link
 * would break that. */
static int refuse_path(struct err *e, const char *root, const char *file)
{
	if (errno == ELOOP || errno == EXDEV)
		return err_set(e, E_INPUT, "SETUP_LINK",
			"'%s/%s' is or leads through a symbolic link; settings are only edited where they "
			"really lie",
			root, file);
	return err_sys(e, "SETUP_READ", "cannot open '%s/%s'", root, file);
}

/* Opened beneath the root and through no link.  A missing directory or file is no error: ret->p is NULL
 * then. */
int setup_read(const struct setup *s, const char *root, const char *file, struct bytes *ret, mode_t *ret_mode,
	int *ret_dir, struct err *e)
{
	const char *base = path_base(file);
	const char *dir = arena_strndup(s->a, file, (size_t)(base - file) - 1);
	AUTO(close_fd) int root_fd = s->sys->open(s->sys, AT_FDCWD, root, O_PATH | O_DIRECTORY, 0, 0);
	AUTO(close_fd) int dir_fd = -1;
	struct stat st;

	*ret = (struct bytes){ 0 };
	if (ret_dir)
		*ret_dir = -1;
	if (root_fd < 0)
		return err_sys(e, "SETUP_READ", "cannot open '%s'", root);
	dir_fd = s->sys->open(
		s->sys, root_fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
	if (dir_fd < 0)
		return errno == ENOENT ? OK : refuse_path(e, root, file);
	if (s->sys->stat(s->sys, dir_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = ELOOP;
		if (S_ISLNK(st.st_mode))
			return refuse_path(e, root, file);
		int rc = file_read(s->sys, s->a, dir_fd, base, SETUP_FILE_LIMIT, FILE_BENEATH, ret, e);
		if (rc)
			return err_wrap(e, "'%s/%s'", root, file);
		if (ret_mode)
			*ret_mode = st.st_mode & 07777;
	}
	if (ret_dir) {
		*ret_dir = dir_fd;
		dir_fd = -1;
	}
	return OK;
}

/* ---- what was installed ---- */

static const char *digest_of(struct arena *a, struct bytes text)
{
	return text.p ? sha256_prefixed(a, text.p, text.n) : "";
}

static const struct doc RECORDS = { .file = SETUP_RECORDS,
	.type = JSON_OBJECT,
	.max_bytes = SETUP_FILE_LIMIT,
	.code = "SETUP_RECORDS",
	.newest = 1 };
static const struct doc RECOVERY = { .file = SETUP_RECOVERY,
	.type = JSON_OBJECT,
	.max_bytes = SETUP_FILE_LIMIT,
	.code = "SETUP_RECOVERY",
	.newest = 1 };

/* Without a file there are no installs; a damaged one is an error, since it is needed to take entries back
 * exactly. */
int setup_records(const struct setup *s, struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_load(s->sys, s->a, s->ws->state_fd, &RECORDS, &doc, e);

	if (rc)
		return rc;
	*ret = doc->n ? json_get(doc, "installs") : json_new(s->a, JSON_ARRAY);
	return json_is(*ret, JSON_ARRAY)
		? OK
		: err_set(e, E_CORRUPT, "SETUP_RECORDS", "%s holds no list of installs", SETUP_RECORDS);
}

/* By client and absolute path: one client can be set up in several projects. */
struct json *setup_record_of(const struct json *records, const char *client, const char *path)
{
	json_each (row, records)
		if (text_eq(json_get_text(row, "client", ""), client) &&
			text_eq(json_get_text(row, "path", ""), path))
			return row;
	return NULL;
}

/* The row of this client and file is replaced by `record`, or taken out when that is NULL. */
static int put_record(
	const struct setup *s, const char *client, const char *path, struct json *record, struct err *e)
{
	struct json *rows, *kept = json_new(s->a, JSON_ARRAY), *doc = json_new(s->a, JSON_OBJECT);
	int rc = setup_records(s, &rows, e);

	if (rc)
		return rc;
	json_each (row, rows)
		if (row != setup_record_of(rows, client, path))
			json_push(s->a, kept, row);
	if (record)
		json_push(s->a, kept, record);
	if (!kept->n && !file_exists(s->sys, s->ws->state_fd, SETUP_RECORDS))
		return OK;
	json_seti(s->a, doc, "version", 1);
	json_set(s->a, doc, "installs", kept);
	return doc_replace(s->sys, s->a, s->ws->state_fd, &RECORDS, doc, e);
}

/* ---- planning ---- */

/* The file as it was before us.  If nobody touched it since, the remembered spans are cut out and the
 * digest proves that it is exactly the old text.  Otherwise our entries are found and removed from what it
 * is now. */
static int without_ours(const struct setup *s, const struct client *c, const struct json *record,
	struct bytes text, const char *path, struct bytes *ret, bool *ret_is_exact, struct err *e)
{
	const struct json *spans = json_get(record, "spans");

	*ret_is_exact = false;
	if (record && text_eq(json_get_text(record, "installed_sha256", ""), digest_of(s->a, text))) {
		struct bytes back = text;
		for (uint32_t i = spans ? spans->n : 0; i-- > 0;) {
			int64_t at = 0, n = 0;
			json_int(json_at(json_at(spans, i), 0), &at);
			json_int(json_at(json_at(spans, i), 1), &n);
			if (at < 0 || n < 0 || (size_t)at > back.n || (size_t)n > back.n - (size_t)at)
				break;
			back = json_edit_cut(s->a, back, (struct json_span){ (size_t)at, (size_t)n });
		}
		*ret_is_exact = text_eq(digest_of(s->a, back), json_get_text(record, "original_sha256", ""));
		if (*ret_is_exact) {
			*ret = back;
			return OK;
		}
	}
	return setup_drop_entries(s->a, c, text, path, ret, e);
}

/* One entry into the text; where it stands is remembered, so that it can be taken out again. */
static int insert_one(const struct setup *s, const struct client *c, const struct setup_change *ch,
	const struct client_event *ev, struct bytes *text, struct json *spans, struct err *e)
{
	struct arena *a = s->a;
	const char *path[] = { "hooks", ev->event };
	struct json_span span = { 0 };
	struct json *pair = json_new(a, JSON_ARRAY);
	struct json *entry = c->setup->entry(a, setup_command(s, c, ev->verb), ev->verb);
	int rc = c->setup->is_yaml
		? yaml_edit_insert(a, *text, ch->path, "hooks", ev->event, entry, text, &span, e)
		: json_edit_append(a, *text, ch->path, path, 2, entry, text, &span, e);

	json_push(a, pair, json_number(a, (int64_t)span.at));
	json_push(a, pair, json_number(a, (int64_t)span.n));
	json_push(a, spans, pair);
	return rc;
}

/* One entry per event. */
static int insert_ours(const struct setup *s, const struct client *c, struct setup_change *ch,
	struct bytes text, struct err *e)
{
	struct arena *a = s->a;
	struct json *spans = json_new(a, JSON_ARRAY);
	const struct client_event start = { c->setup->start_event, "session-start" };
	int rc = OK;

	if (s->with_context && !start.event)
		return err_set(e, E_USAGE, "SETUP_CONTEXT",
			"%s cannot be told anything at the start of a session; 'helm context pack' prints it",
			c->title);
	json_sets(a, ch->record, "original_sha256", digest_of(a, text));
	for (const struct client_event *ev = c->setup->events; rc == OK && ev->event; ev++)
		rc = insert_one(s, c, ch, ev, &text, spans, e);
	if (rc == OK && s->with_context)
		rc = insert_one(s, c, ch, &start, &text, spans, e);
	ch->after = text;
	json_set(a, ch->record, "spans", spans);
	json_sets(a, ch->record, "installed_sha256", digest_of(a, text));
	return rc;
}

/* The workspace that the entry there decides by, when it is not ours: the user is told that it moves. */
static const char *other_workspace(
	const struct setup *s, const struct client *c, struct bytes text, const char *path)
{
	struct setup_place place;
	struct json *doc;

	if (!text.p || setup_parse(s->a, c, text, path, &doc, NULL) ||
		!setup_find_entry(s->a, c, doc, "pre-tool", &place))
		return NULL;
	const char *there = setup_workspace_of(s->a, place.entry);
	return there && !text_eq(there, s->ws->root) ? there : NULL;
}

/* Everything is worked out in memory; nothing is written.  An earlier entry of ours is taken out first, so
 * installing twice gives one entry. */
int setup_plan(
	const struct setup *s, const char *client, const char *scope, struct setup_change *ret, struct err *e)
{
	struct arena *a = s->a;
	const struct client *c;
	struct setup_change ch = { .mode = 0600 };
	struct json *rows, *old;
	bool is_exact;
	int rc = setup_find_client(s->a, client, &c, e);

	if (rc)
		return rc;
	ch.client = client = c->name;
	if (!c->setup)
		return err_set(
			e, E_INPUT, "SETUP_PASTE", "the settings of %s cannot be edited in place", client);
	ch.scope = scope ? scope : !c->setup->is_of_user && s->project ? "project" : "user";
	if (c->setup->is_of_user && !text_eq(ch.scope, "user"))
		rc = err_set(e, E_USAGE, "SETUP_SCOPE", "%s reads the user's settings only; use --scope user",
			client);
	if (rc == OK)
		rc = root_of(s, ch.scope, &ch.root, e);
	if (rc == OK)
		rc = setup_records(s, &rows, e);
	if (rc)
		return rc;
	ch.file = c->setup->file;
	ch.path = arena_printf(a, "%s/%s", ch.root, ch.file);
	ch.command = setup_command(s, c, "pre-tool");
	rc = setup_read(s, ch.root, ch.file, &ch.before, &ch.mode, NULL, e);
	if (rc)
		return rc;
	ch.moved_from = other_workspace(s, c, ch.before, ch.path);
	old = setup_record_of(rows, client, ch.path);
	ch.existed = ch.before.p && json_get_bool(old, "existed", true);
	struct bytes base = bytes_of(c->setup->fresh);
	if (ch.before.p)
		rc = without_ours(s, c, old, ch.before, ch.path, &base, &is_exact, e);
	if (rc)
		return rc;
	ch.record = json_new(a, JSON_OBJECT);
	json_sets(a, ch.record, "client", client);
	json_sets(a, ch.record, "scope", ch.scope);
	json_sets(a, ch.record, "root", ch.root);
	json_sets(a, ch.record, "path", ch.path);
	json_sets(a, ch.record, "command", ch.command);
	json_setb(a, ch.record, "existed", ch.existed);
	json_setb(a, ch.record, "made_directory",
		json_get_bool(old, "made_directory", false) ||
			!file_exists(s->sys, AT_FDCWD,
				arena_strndup(a, ch.path, strlen(ch.path) - strlen(path_base(ch.path)))));
	rc = insert_ours(s, c, &ch, base, e);
	if (rc)
		return rc;
	*ret = ch;
	return OK;
}

/* ---- changing ---- */

/* The file becomes `text`, or is removed when there is none.  Replaced by rename, so the client never reads
 * half of it. */
static int put_file(const struct setup *s, const char *root, const char *file, struct bytes text,
	unsigned mode, struct err *e)
{
	AUTO(close_fd) int dir = -1;
	AUTO(close_fd) int root_fd = -1;
	const char *base = path_base(file);
	struct bytes now;
	int rc = setup_read(s, root, file, &now, NULL, &dir, e);

	if (rc == OK && dir < 0 && text.p) {
		rc = file_open_dir(s->sys, AT_FDCWD, root, &root_fd, e);
		if (rc == OK)
			rc = file_mkdirs(s->sys, root_fd,
				arena_strndup(s->a, file, (size_t)(base - file) - 1), 0700, e);
		if (rc == OK)
			rc = setup_read(s, root, file, &now, NULL, &dir, e);
	}
	if (rc)
		return rc;
	if (text.p)
		return file_replace(s->sys, dir, base, (mode_t)mode, text, e);
	if (dir >= 0 && s->sys->unlink(s->sys, dir, base, 0) && errno != ENOENT)
		return err_sys(e, "SETUP_WRITE", "cannot remove '%s/%s'", root, file);
	if (dir >= 0 && s->sys->fsync(s->sys, dir))
		return err_sys(e, "SETUP_WRITE", "cannot sync the directory of '%s/%s'", root, file);
	return OK;
}

/* Only a directory that we made, and only when it is empty. */
static void drop_directory(const struct setup *s, const struct json *record)
{
	const char *path = json_get_text(record, "path", "");

	if (json_get_bool(record, "made_directory", false) && *path) /* stays when something is in it */
		(void)!s->sys->unlink(s->sys, AT_FDCWD,
			arena_strndup(s->a, path, strlen(path) - strlen(path_base(path)) - 1), AT_REMOVEDIR);
}

/* From here to finish() an interruption can be recognised and repaired. */
static int begin(const struct setup *s, const struct setup_change *c, struct err *e)
{
	struct arena *a = s->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	if (file_exists(s->sys, s->ws->state_fd, SETUP_RECOVERY))
		return err_set(e, E_INPUT, "SETUP_RECOVERY",
			"an earlier change was interrupted; run 'helm setup repair %s' first", c->client);
	json_seti(a, doc, "version", 1);
	json_sets(a, doc, "operation", c->is_removal ? "remove" : "install");
	json_sets(a, doc, "client", c->client);
	json_sets(a, doc, "started_at", text_time_iso(a, s->sys->now_us(s->sys)));
	json_sets(a, doc, "root", c->root);
	json_sets(a, doc, "file", c->file);
	json_sets(a, doc, "path", c->path);
	json_sets(a, doc, "before_sha256", digest_of(a, c->before));
	json_sets(a, doc, "after_sha256", digest_of(a, c->after));
	json_set(a, doc, "record", c->record ? c->record : json_new(a, JSON_NULL));
	return doc_replace(s->sys, s->a, s->ws->state_fd, &RECOVERY, doc, e);
}

/* The change is complete: the recovery note goes, durably. */
static int finish(const struct setup *s, struct err *e)
{
	if (s->sys->unlink(s->sys, s->ws->state_fd, SETUP_RECOVERY, 0) && errno != ENOENT)
		return err_sys(e, "SETUP_RECOVERY", "cannot remove '%s'", SETUP_RECOVERY);
	return s->sys->fsync(s->sys, s->ws->state_fd)
		? err_sys(e, "SETUP_RECOVERY", "cannot sync '%s'", s->ws->state_dir)
		: OK;
}

/* One change of settings at a time, for all clients of this workspace. */
static int lock_setup(const struct setup *s, int *ret, struct err *e)
{
	return file_lock(s->sys, s->ws->state_fd, "setup.lock", 5000, ret, e);
}

/* Nobody may have written to the file between the plan and the change; otherwise their change would be
 * lost. */
static int still_as_planned(const struct setup *s, const struct setup_change *c, struct err *e)
{
	struct bytes now;
	int rc = setup_read(s, c->root, c->file, &now, NULL, NULL, e);

	/* By content, not by time: an editor may save the same text again. */
	if (rc == OK && !text_eq(digest_of(s->a, now), digest_of(s->a, c->before)))
		rc = err_set(e, E_INPUT, "SETUP_CHANGED", "'%s' was changed meanwhile; try again", c->path);
	return rc;
}

/* ---- the self-test ---- */

/* A call that every policy must deny.  It is only judged; nothing executes it. */
static const char *test_payload(const struct setup *s, const struct client *c, const char *cwd)
{
	struct buf text;

	buf_init(&text, s->a);
	json_write(&text, clients_test_payload(c, s->a, cwd, "rm -rf /"), 0);
	return text.p;
}

/* The text of a denial, or NULL when the answer is anything else. */
static const char *denial_text(const struct setup *s, const struct client *c, struct bytes answer)
{
	struct json *doc;

	return json_parse(s->a, answer, "answer", NULL, &doc, NULL) ? NULL : c->speech->denial(doc);
}

/* The id in "(receipt: ID)" of the hook's answer; "" when there is none. */
static const char *receipt_named(struct arena *a, const char *text)
{
	const char *at = strstr(text, "(receipt: ");

	if (!at)
		return "";
	at += strlen("(receipt: ");
	return arena_strndup(a, at, strcspn(at, ")"));
}

/* The receipt that the denial names must be on record and verify under this user's key. */
static int verify_named(const struct setup *s, const char *id, struct err *e)
{
	struct trust trust = { 0 };
	struct verification v;
	struct json *rows;
	int rc = rows_tail(s->sys, s->a, s->ws->state_fd, "receipts.jsonl", RECEIPTS_BACK, &rows, e);

	if (rc == OK)
		rc = trust_add_key(
			s->sys, s->a, arena_printf(s->a, "%s/keys/root.pub", s->ws->helm_home), &trust, e);
	if (rc)
		return rc;
	json_each (row, rows) {
		if (!receipt_id_is(json_get_text(row, "receipt_id", ""), id))
			continue;
		verification_begin(&v, s->a, &trust, "receipt");
		verify_receipt(&v, row);
		if (verification_headline(&v) == HEADLINE_ADMISSIBLE)
			return OK;
		return err_set(e, E_CORRUPT, "SETUP_SELF_TEST", "the receipt '%s' does not verify: %s", id,
			v.text ? v.text : "not established");
	}
	return err_set(e, E_INPUT, "SETUP_SELF_TEST",
		"the denial names the receipt '%s', which is not on record", id);
}

/* Runs the exact command through a shell, as the client does. */
static int self_test(
	const struct setup *s, const struct setup_change *c, const char **ret_receipt_id, struct err *e)
{
	const char *const argv[] = { "/bin/sh", "-c", c->command, NULL };
	const struct client *client = clients_find(c->client);
	struct proc_spec spec = PROC_SPEC(argv);
	struct proc_output got = { 0 };
	int rc = proc_capture(s->sys, s->a, &spec, bytes_of(test_payload(s, client, c->root)), 1 << 20,
		SELF_TEST_MS, &got, e);

	if (rc)
		return err_wrap(e, "the command that was written cannot be run");
	/* 0 with an answer, or 2, which is a block to every client.  Any other code means the command did
	 * not work. */
	const char *text = got.end.code == 0 || got.end.code == 2 ? denial_text(s, client, got.out) : NULL;
	if (!text)
		return err_set(e, E_INPUT, "SETUP_SELF_TEST",
			"the command that was written did not deny a destructive call (exit code %d)",
			got.end.code);
	const char *id = receipt_named(s->a, text);
	if (!*id)
		return err_set(e, E_INPUT, "SETUP_SELF_TEST", "the denial names no receipt: %s", text);
	rc = verify_named(s, id, e);
	if (rc == OK)
		*ret_receipt_id = id;
	return rc;
}

/* ---- install, remove, repair ---- */

/* After a failed installation: file, record and directory as they were. */
static int take_back(const struct setup *s, const struct setup_change *c, struct json *old)
{
	struct err ignored = { 0 };
	int rc = put_file(s, c->root, c->file, c->before, c->mode, &ignored);

	if (rc == OK)
		rc = put_record(s, c->client, c->path, old, &ignored);
	if (rc == OK && !c->before.p)
		drop_directory(s, c->record);
	return rc ? rc : finish(s, &ignored);
}

/* Recovery note, file, record, self-test, and only then is the note removed. */
int setup_install(
	const struct setup *s, const struct setup_change *c, const char **ret_receipt_id, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *rows;
	bool has_new_key;
	int rc = lock_setup(s, &lock, e);

	if (rc == OK)
		rc = setup_records(s, &rows, e);
	if (rc == OK)
		rc = kernel_ensure_key(s->sys, s->a, &has_new_key, e);
	if (rc == OK)
		rc = still_as_planned(s, c, e);
	if (rc == OK)
		rc = begin(s, c, e);
	if (rc)
		return rc;
	rc = put_file(s, c->root, c->file, c->after, c->mode, e);
	if (rc == OK)
		rc = put_record(s, c->client, c->path, c->record, e);
	if (rc == OK)
		rc = self_test(s, c, ret_receipt_id, e);
	if (rc == OK)
		return finish(s, e);
	if (take_back(s, c, setup_record_of(rows, c->client, c->path)))
		return err_wrap(e, "'helm setup repair %s' is needed", c->client);
	return err_wrap(e, "nothing was installed; '%s' is as it was", c->path);
}

/* Nothing but what a new file begins with: a file that we made can go as a whole. */
static bool is_bare(const struct setup *s, const struct client *c, struct bytes text)
{
	struct json *doc, *fresh;

	return setup_parse(s->a, c, text, "", &doc, NULL) == OK &&
		setup_parse(s->a, c, bytes_of(c->setup->fresh), "", &fresh, NULL) == OK &&
		(json_eq(doc, fresh) || (json_is(doc, JSON_OBJECT) && doc->n == 0));
}

/* *ret_is_there: there is something of ours to remove. */
static int plan_one_removal(const struct setup *s, const struct client *c, const char *scope,
	const char *root, struct json *record, struct setup_change *ret, bool *ret_is_there, struct err *e)
{
	struct setup_change ch = { .client = c->name,
		.scope = scope,
		.root = root,
		.file = c->setup->file,
		.path = arena_printf(s->a, "%s/%s", root, c->setup->file),
		.command = json_get_text(record, "command", ""),
		.is_removal = true,
		.mode = 0600,
		.record = record };
	bool is_exact = false;
	int rc = setup_read(s, root, c->setup->file, &ch.before, &ch.mode, NULL, e);

	*ret_is_there = false;
	if (rc == OK && ch.before.p)
		rc = without_ours(s, c, record, ch.before, ch.path, &ch.after, &is_exact, e);
	if (rc)
		return rc;
	ch.existed = json_get_bool(record, "existed", true);
	*ret_is_there = record || !bytes_eq(ch.before, ch.after);
	if (!ch.existed && ch.after.p && is_bare(s, c, ch.after))
		ch.after = (struct bytes){ 0 };
	*ret = ch;
	return OK;
}

/* Every place that is on record, and the usual places as well, in case the record was lost. */
int setup_plan_removal(const struct setup *s, const char *client, const char *scope,
	struct setup_change **ret, size_t *ret_n, struct err *e)
{
	static const char *const scopes[] = { "user", "project" };
	const struct client *c;
	struct json *rows;
	size_t n = 0;
	bool is_there;
	int rc = setup_find_client(s->a, client, &c, e);

	if (rc)
		return rc;
	client = c->name;
	if (!c->setup)
		return err_set(e, E_INPUT, "SETUP_PASTE",
			"the settings of %s were not edited by this program; take out by hand what was "
			"pasted",
			client);
	rc = setup_records(s, &rows, e);
	if (rc)
		return rc;
	struct setup_change *all = arena_zalloc(s->a, rows->n + ARRAY_SIZE(scopes), sizeof(*all));
	json_each (row, rows) {
		const char *at = json_get_text(row, "scope", "");
		if (!text_eq(json_get_text(row, "client", ""), client) || (scope && !text_eq(at, scope)))
			continue;
		rc = plan_one_removal(s, c, at, json_get_text(row, "root", "/"), row, &all[n], &is_there, e);
		if (rc)
			return rc;
		n += is_there;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		const char *root = i == 0 ? s->home : s->project;
		if (!root || (scope && !text_eq(scope, scopes[i])) || (i == 1 && c->setup->is_of_user) ||
			setup_record_of(rows, client, arena_printf(s->a, "%s/%s", root, c->setup->file)))
			continue;
		rc = plan_one_removal(s, c, scopes[i], root, NULL, &all[n], &is_there, e);
		if (rc)
			return rc;
		n += is_there;
	}
	*ret = all;
	*ret_n = n;
	return OK;
}

/* File first, then the record: if it stops in between, repair removes what is left. */
static int remove_locked(const struct setup *s, const struct setup_change *c, struct err *e)
{
	int rc = put_file(s, c->root, c->file, c->after, c->mode, e);

	if (rc == OK && !c->after.p && c->record)
		drop_directory(s, c->record);
	if (rc == OK)
		rc = put_record(s, c->client, c->path, NULL, e);
	return rc ? rc : finish(s, e);
}

/* Uses the same recovery note as an installation. */
int setup_remove(const struct setup *s, const struct setup_change *c, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	int rc = lock_setup(s, &lock, e);

	if (rc == OK)
		rc = still_as_planned(s, c, e);
	if (rc == OK)
		rc = begin(s, c, e);
	return rc ? rc : remove_locked(s, c, e);
}

/* The digest of the file tells which side of the change the machine stopped on.  A file that is neither was
 * changed by somebody else, and is left alone. */
static int repair_install(const struct setup *s, const struct json *doc, struct json *record, const char *now,
	const char **ret_what, struct err *e)
{
	struct setup_change c = { .client = json_get_text(doc, "client", ""),
		.root = json_get_text(doc, "root", "/"),
		.path = json_get_text(doc, "path", ""),
		.command = json_get_text(record, "command", "false") };
	const char *id;
	int rc = OK;

	if (text_eq(now, json_get_text(doc, "after_sha256", "-"))) {
		rc = self_test(s, &c, &id, e);
		if (rc == OK)
			rc = put_record(s, c.client, c.path, record, e);
		*ret_what = "the installation was finished, and its self-test passed";
	} else if (text_eq(now, json_get_text(doc, "before_sha256", "-"))) {
		if (!*now)
			drop_directory(s, record);
		*ret_what = "the installation had not begun and was taken back";
	} else {
		*ret_what =
			"the file was changed by somebody else meanwhile and was left alone; install again";
	}
	return rc;
}

/* A removal is simply done again from the present state of the file; an installation is completed or called
 * off. */
int setup_repair(const struct setup *s, const char *client, const char **ret_what, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const struct client *c;
	struct bytes now;
	struct json *doc;
	int rc = setup_find_client(s->a, client, &c, e);

	if (rc == OK && !c->setup)
		rc = err_set(e, E_INPUT, "SETUP_PASTE", "the settings of %s are never edited", c->name);
	if (rc == OK)
		rc = lock_setup(s, &lock, e);
	if (rc)
		return rc;
	if (!file_exists(s->sys, s->ws->state_fd, SETUP_RECOVERY)) {
		*ret_what = "nothing was interrupted";
		return OK;
	}
	rc = doc_load(s->sys, s->a, s->ws->state_fd, &RECOVERY, &doc, e);
	if (rc)
		return rc;
	if (!text_eq(json_get_text(doc, "client", ""), c->name))
		return err_set(e, E_USAGE, "SETUP_CLIENT", "what was interrupted is the setup of %s",
			json_get_text(doc, "client", "?"));
	rc = setup_read(s, json_get_text(doc, "root", "/"), c->setup->file, &now, NULL, NULL, e);
	if (rc)
		return rc;
	if (text_eq(json_get_text(doc, "operation", ""), "install")) {
		rc = repair_install(s, doc, json_get(doc, "record"), digest_of(s->a, now), ret_what, e);
		return rc ? rc : finish(s, e);
	}
	struct setup_change ch;
	struct json *record = json_get(doc, "record");
	bool is_there;
	rc = plan_one_removal(s, c, "", json_get_text(doc, "root", "/"),
		json_is(record, JSON_OBJECT) ? record : NULL, &ch, &is_there, e);
	*ret_what = "the removal was finished";
	return rc ? rc : remove_locked(s, &ch, e);
}
