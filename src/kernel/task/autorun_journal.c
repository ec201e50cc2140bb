/* autorun_journal.c — the auto-run files of a place, as they were, on disk before a run there begins.
 *
 * <helm home>/journal/ID.json, out of reach for everything inside a sandbox (docs/formats/autorun-journal.md).  Its owner holds a lock on it,
 * which the kernel lets go when the owner ends, however it ends: a journal that nobody holds is a run that did not come to its clean-up,
 * and whoever begins there next finishes that (autorun_recover.c).  Its digest is in the receipt of the decision, and it is synced in the same
 * moment: nothing runs before both are on disk.
 *
 * It is whole under its name, or not there.  Only a power cut before the sync can leave less, and then nothing has begun. */
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/task/armed.h"
#include "kernel/task/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { TEXTS_MOST = 8 << 20, TRIES = 20 };
#define VERSION "helm.autorun-journal/v1"

static const char *const kinds[] = {
	[ARMED_WHOLE] = "whole", [ARMED_CONFIG] = "config", [ARMED_TODO] = "todo", [ARMED_COMMON] = "common"
};

/* ---- as a document ---- */

/* Names of files may hold any byte. */
static void put_name(struct arena *a, struct json *to, const char *member, const char *name)
{
	size_t n = strlen(name);

	if (text_utf8_valid(name, n) == n)
		json_append(a, to, member, json_stringn(a, name, n));
	else
		json_append(a, to, arena_printf(a, "%s_base64", member),
			json_string(a, base64_encode(a, (const uint8_t *)name, n, BASE64_STD, true)));
}

static const char *get_name(struct arena *a, const struct json *from, const char *member)
{
	const char *plain = json_get_text(from, member, NULL),
		   *coded = plain ? NULL : json_get_text(from, arena_printf(a, "%s_base64", member), NULL);
	struct bytes name;

	return plain ? plain
		: coded && base64_decode(a, coded, strlen(coded), BASE64_STD, true, &name)
		? arena_strndup(a, (const char *)name.p, name.n)
		: NULL;
}

static void put_number(struct arena *a, struct json *to, const struct stat *st)
{
	json_append(a, to, "number",
		json_stringf(a, "%llu:%llu", (unsigned long long)st->st_dev, (unsigned long long)st->st_ino));
}

static bool get_number(const struct json *from, dev_t *dev, ino_t *ino)
{
	const char *text = json_get_text(from, "number", "");
	char *end;

	*dev = strtoull(text, &end, 10);
	if (end == text || *end != ':')
		return false;
	*ino = strtoull(end + 1, &end, 10);
	return !*end;
}

static struct json *file_json(struct arena *a, const struct armed_file *f, size_t *texts)
{
	struct json *one = json_new(a, JSON_OBJECT);

	put_name(a, one, "root", f->root);
	put_name(a, one, "path", f->path);
	json_append(a, one, "kind", json_string(a, kinds[f->kind]));
	json_append(a, one, "mode", json_number(a, f->st.st_mode));
	put_number(a, one, &f->st);
	json_append(a, one, "changed",
		json_stringf(a, "%lld.%09ld", (long long)f->st.st_ctim.tv_sec, f->st.st_ctim.tv_nsec));
	if (f->target)
		put_name(a, one, "target", f->target);
	if (f->text.p && *texts + f->text.n <= TEXTS_MOST) {
		*texts += f->text.n;
		json_append(a, one, "text",
			json_string(a, base64_encode(a, f->text.p, f->text.n, BASE64_STD, true)));
	}
	return one;
}

static int get_file(struct arena *a, const struct json *one, struct armed_file *ret)
{
	const char *kind = json_get_text(one, "kind", ""), *changed = json_get_text(one, "changed", ""),
		   *text = json_get_text(one, "text", NULL);
	size_t k = 0;
	char *end;

	while (k < ARRAY_SIZE(kinds) && !text_eq(kinds[k], kind))
		k++;
	*ret = (struct armed_file){ .root = get_name(a, one, "root"),
		.path = get_name(a, one, "path"),
		.target = get_name(a, one, "target"),
		.kind = (enum armed_kind)k };
	ret->st.st_mode = (mode_t)json_get_int(one, "mode", 0);
	ret->st.st_ctim.tv_sec = strtoll(changed, &end, 10);
	if (k == ARRAY_SIZE(kinds) || !ret->root || *ret->root != '/' || !ret->path || *ret->path == '/' ||
		!ret->st.st_mode || *end != '.' || !get_number(one, &ret->st.st_dev, &ret->st.st_ino) ||
		(text && !base64_decode(a, text, strlen(text), BASE64_STD, true, &ret->text)))
		return E_CORRUPT;
	ret->st.st_ctim.tv_nsec = strtol(end + 1, NULL, 10);
	return OK;
}

static struct json *directories_json(struct arena *a, const struct task *t)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (const struct known_mode *m = t->modes; m; m = m->next) {
		struct json *one = json_new(a, JSON_OBJECT);
		put_name(a, one, "path", m->path);
		json_append(a, one, "mode", json_number(a, m->mode));
		put_number(a, one, &(struct stat){ .st_dev = m->dev, .st_ino = m->ino });
		json_push(a, list, one);
	}
	return list;
}

static struct json *to_json(struct task *t, const char *kind, int64_t since_us)
{
	struct arena *a = t->a;
	struct sys *s = t->k->sys;
	struct json *doc = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY);
	size_t texts = 0;

	json_sets(a, doc, "journal", VERSION);
	json_sets(a, doc, "kind", kind);
	json_sets(a, doc, "task_id", t->id);
	json_sets(a, doc, "at", text_time_iso(a, s->now_us(s)));
	json_seti(a, doc, "since_us", since_us);
	json_sets(a, doc, "boot_id", proc_boot_id(s, a));
	json_seti(a, doc, "pid", getpid());
	json_seti(a, doc, "pid_start", proc_start_ticks(s, 0));
	put_name(a, doc, "workspace", t->k->ws->root);
	put_name(a, doc, "state_name", t->k->ws->state_name);
	if (t->at.work_tree)
		put_name(a, doc, "work_tree", t->at.work_tree);
	if (t->linked_own)
		put_name(a, doc, "linked_own", t->linked_own);
	json_set(a, doc, "hooks", t->hooks ? json_copy(a, t->hooks) : json_new(a, JSON_ARRAY));
	for (const struct armed_file *f = t->armed; f; f = f->next)
		json_push(a, files, file_json(a, f, &texts));
	json_set(a, doc, "files", files);
	json_set(a, doc, "directories", directories_json(a, t));
	nested_write(t->nested, a, doc);
	return doc;
}

/* After another start of the machine the same file system may have another number. */
static void renumber(struct task *t, const char *boot)
{
	struct sys *s = t->k->sys;
	const char *now = proc_boot_id(s, t->a), *tree = task_tree(t);
	const struct known_mode *root = t->modes;
	struct stat st;

	while (root && !text_eq(root->path, tree))
		root = root->next;
	if ((boot && now && text_eq(boot, now)) || !root || s->stat(s, AT_FDCWD, tree, &st, 0) ||
		st.st_dev == root->dev)
		return;
	const dev_t was = root->dev;
	for (struct armed_file *f = t->armed; f; f = f->next)
		if (f->st.st_dev == was)
			f->st.st_dev = st.st_dev;
	for (struct known_mode *m = t->modes; m; m = m->next)
		if (m->dev == was)
			m->dev = st.st_dev;
	nested_renumber(t->nested, was, st.st_dev);
}

/* The order of the lists is turned: they grow at their heads. */
int journal_read(struct task *t, const struct json *doc, struct run_result *result)
{
	struct arena *a = t->a;
	const char *root = get_name(a, doc, "workspace"), *name = get_name(a, doc, "state_name");
	struct kernel *k = arena_zalloc(a, 1, sizeof(*k));
	struct workspace *ws = arena_zalloc(a, 1, sizeof(*ws));

	if (!text_eq(json_get_text(doc, "journal", ""), VERSION) || !root || *root != '/' || !name ||
		!json_is(json_get(doc, "files"), JSON_ARRAY) ||
		!json_is(json_get(doc, "directories"), JSON_ARRAY) || json_get_int(doc, "since_us", 0) <= 0)
		return E_CORRUPT;
	/* The place is that of the journal, whichever workspace it is looked at from. */
	*ws = *t->k->ws;
	ws->root = root;
	ws->state_name = name;
	*k = *t->k;
	k->ws = ws;
	t->k = k;
	t->id = json_get_text(doc, "task_id", "");
	t->at.work_tree = get_name(a, doc, "work_tree");
	t->linked_own = get_name(a, doc, "linked_own");
	t->hooks = json_get(doc, "hooks");
	t->lasts = true;
	*result = (struct run_result){ .started_us = json_get_int(doc, "since_us", 0) };
	t->result = result;
	json_each (one, json_get(doc, "files")) {
		struct armed_file *f = arena_zalloc(a, 1, sizeof(*f));
		if (get_file(a, one, f))
			return E_CORRUPT;
		f->next = t->armed;
		t->armed = f;
	}
	json_each (one, json_get(doc, "directories")) {
		struct known_mode m = { .mode = (mode_t)json_get_int(one, "mode", 0) };
		const char *path = get_name(a, one, "path");
		if (!path || *path != '/' || !get_number(one, &m.dev, &m.ino))
			return E_CORRUPT;
		mode_add(t, path, &m);
	}
	int rc = nested_read(a, t, doc, &t->nested);
	if (rc == OK)
		renumber(t, json_get_text(doc, "boot_id", NULL));
	return rc;
}

const char *journal_tree(struct arena *a, const struct json *doc)
{
	const char *tree = get_name(a, doc, "work_tree");

	if (!text_eq(json_get_text(doc, "journal", ""), VERSION))
		return NULL;
	return tree ? tree : get_name(a, doc, "workspace");
}

/* ---- on disk ---- */

static int cannot_write(struct err *e, const char *path)
{
	return err_sys(
		e, "AUTORUN_JOURNAL", "not run: what is there before it cannot be written to '%s'", path);
}

/* Whole under a name that nobody reads, then under its own: with the lock, which goes with the file.  One who sweeps may take it for
 * something that was left, for a moment. */
static int put_file(struct task *t, const char *home, struct bytes text, int *ret, struct err *e)
{
	struct sys *s = t->k->sys;
	const char *path = t->journal->path,
		   *draft = arena_printf(t->a, "%s/" JOURNAL_DIR "/.%s.tmp", home, path_base(path));

	for (int i = 0; i < TRIES; i++) {
		AUTO(close_fd)
		int fd = s->open(s, AT_FDCWD, draft, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, 0);
		if (fd < 0 && errno == ENOENT && i == 0) {
			int rc = file_mkdirs(
				s, AT_FDCWD, arena_printf(t->a, "%s/" JOURNAL_DIR, home), 0700, e);
			if (rc)
				return rc;
			continue;
		}
		if (fd < 0 || s->lock(s, fd, LOCK_EX))
			return cannot_write(e, draft);
		for (size_t done = 0; done < text.n;) {
			ssize_t n = s->write(s, fd, text.p + done, text.n - done);
			if (n <= 0 && errno != EINTR) {
				int why = errno;
				(void)s->unlink(s, AT_FDCWD, draft, 0);
				errno = why;
				return cannot_write(e, draft);
			}
			done += n > 0 ? (size_t)n : 0;
		}
		if (s->rename(s, AT_FDCWD, draft, AT_FDCWD, path, 0) == 0) {
			*ret = fd;
			fd = -1;
			return OK;
		}
		if (errno != ENOENT)
			return cannot_write(e, path);
	}
	return err_set(e, E_IO, "AUTORUN_JOURNAL", "not run: somebody keeps removing '%s'", draft);
}

static int put_doc(struct task *t, struct err *e)
{
	struct journal *j = t->journal;
	struct buf text;
	int fd;

	buf_init(&text, t->a);
	json_write(&text, j->doc, 0);
	buf_addc(&text, '\n');
	int rc = put_file(t, t->k->ws->helm_home, buf_bytes(&text), &fd, e);
	if (rc)
		return rc;
	close_fd(&j->fd);
	j->fd = fd;
	snprintf(j->sha256, sizeof(j->sha256), "%s", sha256_hex(t->a, text.p, text.n));
	return OK;
}

int64_t journal_pid_space(struct sys *s)
{
	struct stat st;

	return s->stat(s, AT_FDCWD, "/proc/self/ns/pid", &st, 0) ? 0 : (int64_t)st.st_ino;
}

struct journal *journal_new(struct task *t)
{
	struct journal *j = arena_zalloc(t->a, 1, sizeof(*j));

	*j = (struct journal){ .fd = -1,
		.path = arena_printf(t->a, "%s/" JOURNAL_DIR "/%s@%d-%lld-%lld.json", t->k->ws->helm_home,
			t->id, getpid(), (long long)proc_start_ticks(t->k->sys, 0),
			(long long)journal_pid_space(t->k->sys)) };
	return j;
}

int journal_begin(struct task *t, const char *kind, int64_t since_us, struct err *e)
{
	const char *home = t->k->ws->helm_home;

	if (!home)
		return err_set(e, E_IO, "AUTORUN_JOURNAL",
			"not run: what is there before it cannot be written: there is no helm home; set HOME or HELM_HOME");
	if (!t->journal)
		t->journal = journal_new(t);
	t->journal->doc = to_json(t, kind, since_us);
	int rc = put_doc(t, e);
	if (rc && t->journal->fd < 0)
		t->journal = NULL;
	return rc;
}

/* The name first: directories are quick where the file is on its way. */
int journal_later(struct task *t, struct err *e)
{
	struct sys *s = t->k->sys;
	int fd = fcntl(t->journal->fd, F_DUPFD_CLOEXEC, 3),
	    dir = s->open(s, AT_FDCWD, arena_printf(t->a, "%s/" JOURNAL_DIR, t->k->ws->helm_home),
		    O_RDONLY | O_DIRECTORY, 0, 0);

	if (fd < 0 || dir < 0) {
		close_fd(&fd);
		close_fd(&dir);
		return cannot_write(e, t->journal->path);
	}
	recorder_sync_too(&t->k->recorder, JOURNAL_DIR, fd);
	recorder_sync_too(&t->k->recorder, JOURNAL_DIR "/", dir);
	return OK;
}

/* The name, too: of a file that was made just now. */
int journal_sync(struct task *t, struct err *e)
{
	struct sys *s = t->k->sys;
	AUTO(close_fd)
	int dir = s->open(s, AT_FDCWD, arena_printf(t->a, "%s/" JOURNAL_DIR, t->k->ws->helm_home),
		O_RDONLY | O_DIRECTORY, 0, 0);

	return s->sync(s, t->journal->fd) || dir < 0 || s->fsync(s, dir) ? cannot_write(e, t->journal->path)
									 : OK;
}

void journal_left(struct task *t)
{
	struct err e = { 0 };

	if (!t->journal->doc)
		return;
	json_set(t->a, t->journal->doc, "left", t->left_behind ? t->left_behind : json_new(t->a, JSON_ARRAY));
	if (put_doc(t, &e) == OK)
		(void)journal_sync(t, &e);
}

void journal_end(struct task *t)
{
	struct sys *s = t->k->sys;
	struct journal *j = t->journal;

	if (!j)
		return;
	if (!t->is_left)
		(void)s->unlink(s, AT_FDCWD, j->path, 0);
	else
		journal_left(t);
	t->journal = NULL;
	close_fd(&j->fd);
	j->fd = -1;
}
