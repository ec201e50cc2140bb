/* verdict_kept.c — the verdict of the last check, for as long as no file that it rests on has changed.
 *
 * Kept in the helm home, where nobody who is governed can write, together with what every file was like from outside: device, inode,
 * length, modification time, change time.  While all of them are the same the answer costs a few stats.  A document that is damaged, that
 * another user wrote, or that another version of the program wrote, counts as none.
 *
 * Two changes within one tick of the file system's clock can leave the same times.  So a file that changed in the last moment before its
 * marks were taken makes them worth nothing, and the next question checks again. */
#include "audit/parts.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FINDINGS = 100, TICK_US = 50000 };
#define VERDICT_VERSION "helm-record-verdict/v1"
#define VERDICT_FILE "verdict.json"

static const struct doc KEPT = { .type = JSON_OBJECT, .max_bytes = 16 << 20, .code = "VERDICT_KEPT" };

/* Files of the state by name; those of the chain and the sealed pieces are found in their directories. */
static const char *const of_state[] = { LEAVES, HEADS, ANCHORS, TASK_LEDGER, COMMAND_LOG, TOOL_CALLS,
	EGRESS_LOG, MEMORY_OPERATIONS, MEMORY_CRYSTALS, MEMORY_ENTRIES, MEMORY_TREE_ROWS };
/* And of the helm home, whose keys/ is listed. */
static const char *const of_home[] = { "trust/" TRUSTED_KEYS };
/* And of what operators decided about this workspace, which lies where the verdict is kept. */
static const char *const of_beside[] = { "posture.json", "posture.json.seal", "posture.intent",
	"place.json" };

struct marking {
	struct sys *s;
	struct arena *a;
	const struct audit_place *at;
	struct record_marks *to;
};

/* ---- marks ---- */

static int64_t ns(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One file under the name it has in the document; one that is not there is marked as that. */
static void mark(struct marking *m, const char *shown, int dirfd, const char *path, int flags)
{
	struct stat st;
	char text[160] = "-";

	if (m->s->stat(m->s, dirfd, path, &st, flags) == 0) {
		if (S_ISDIR(st.st_mode))
			return;
		(void)snprintf(text, sizeof(text), "%llu:%llu:%lld:%lld:%lld", (unsigned long long)st.st_dev,
			(unsigned long long)st.st_ino, (long long)st.st_size, (long long)ns(st.st_mtim),
			(long long)ns(st.st_ctim));
		m->to->bytes += (uint64_t)st.st_size;
		if (ns(st.st_ctim) / 1000 > m->to->taken_us - TICK_US)
			m->to->is_settled = false;
	}
	json_sets(m->a, m->to->files, shown, text);
}

/* Every file in a directory whose name begins so.  Locks hold nothing. */
static void mark_dir(struct marking *m, const char *prefix, int dirfd, const char *dir, const char *begins)
{
	char **names;
	size_t n = 0;

	if (file_list(m->s, m->a, dirfd, dir, &names, &n, &(struct err){ 0 }))
		return;
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], begins) && !text_ends(names[i], "lock")) {
			const char *path = path_join(m->a, dir, names[i]);
			mark(m, path_join(m->a, prefix, names[i]), dirfd, path, AT_SYMLINK_NOFOLLOW);
		}
}

static void mark_elsewhere(struct marking *m, const char *path)
{
	mark(m, arena_printf(m->a, "at:%s", path), AT_FDCWD, path, 0);
}

/* What was moved away lies where the receipt in its place says. */
static void mark_archived(struct marking *m)
{
	struct json *names = json_new(m->a, JSON_ARRAY), *stub;

	json_each_member (f, m->to->files)
		if (text_ends(f->name, ARCHIVED))
			json_pushs(m->a, names, f->name);
	json_each (name, names) {
		const char *file = json_text(name), *base = path_base(file);
		if (doc_read(m->s, m->a, m->at->state_fd, file, 1 << 20, 0, &stub, &(struct err){ 0 }))
			continue;
		const char *to = json_get_text(json_get(stub, "metadata"), "to", "");
		if (*to == '/')
			mark_elsewhere(m,
				path_join(m->a, to,
					arena_strndup(m->a, base, strlen(base) - strlen(ARCHIVED))));
	}
}

/* A git reference lies in a file of its own or among the packed ones; in a repository that is not the workspace itself nobody knows where. */
static void mark_anchors(struct marking *m)
{
	struct json *list = NULL;

	if (log_anchors(m->s, m->a, m->at->state_fd, &list, &(struct err){ 0 }))
		return;
	json_each (row, list) {
		const char *to = json_get_text(row, "to", "");
		if (*to == '/') {
			mark_elsewhere(m, to);
			continue;
		}
		m->to->is_complete &= file_is_dir(m->s, m->at->root_fd, ".git") &&
			!file_exists(m->s, m->at->root_fd, ".git/reftable");
		mark(m, arena_printf(m->a, "git:%s", to), m->at->root_fd, arena_printf(m->a, ".git/%s", to),
			0);
		mark(m, "git:packed-refs", m->at->root_fd, ".git/packed-refs", 0);
	}
}

void marks_take(struct sys *s, struct arena *a, const struct audit_place *at, struct record_marks *ret)
{
	struct marking m = { s, a, at, ret };

	*ret = (struct record_marks){ .files = json_new(a, JSON_OBJECT),
		.taken_us = s->now_us(s),
		.is_settled = true,
		.is_complete = true };
	mark_dir(&m, "", at->state_fd, ".", "receipts");
	mark_dir(&m, LEDGER_SEGMENTS, at->state_fd, LEDGER_SEGMENTS, "");
	mark_dir(&m, LEDGER_SEGMENTS "/waiting", at->state_fd, LEDGER_SEGMENTS "/waiting", "");
	for (size_t i = 0; i < ARRAY_SIZE(of_state); i++)
		mark(&m, of_state[i], at->state_fd, of_state[i], AT_SYMLINK_NOFOLLOW);
	mark_archived(&m);
	mark_anchors(&m);
	ret->is_complete &= !audit_wrong_kinds(s, a, at->state_fd)->n;
	if (!at->helm_home)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(of_home); i++)
		mark(&m, arena_printf(a, "home:%s", of_home[i]), AT_FDCWD,
			path_join(a, at->helm_home, of_home[i]), 0);
	for (size_t i = 0; at->beside && i < ARRAY_SIZE(of_beside); i++)
		mark(&m, arena_printf(a, "beside:%s", of_beside[i]), AT_FDCWD,
			path_join(a, at->beside, of_beside[i]), AT_SYMLINK_NOFOLLOW);
	mark_dir(&m, "home:keys", AT_FDCWD, path_join(a, at->helm_home, "keys"), "");
}

/* ---- the document ---- */

/* Written by us, and by nobody else since: of this user, and not for others to write. */
static bool is_ours(struct sys *s, const char *file)
{
	struct stat st;

	return s->stat(s, AT_FDCWD, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		st.st_uid == s->euid(s) && !(st.st_mode & 022);
}

static bool has_form(const struct json *doc)
{
	return text_eq(json_get_text(doc, "version", ""), VERDICT_VERSION) &&
		text_eq(json_get_text(doc, "program", ""), HELM_VERSION) && json_get(doc, "sound") &&
		json_is(json_get(doc, "files"), JSON_OBJECT) &&
		json_is(json_get(doc, "findings"), JSON_ARRAY) && json_get_int(doc, "receipts", -1) >= 0 &&
		*json_get_text(doc, "checked_at", "");
}

bool verdict_load(struct sys *s, struct arena *a, const struct audit_place *at,
	const struct record_marks *now, struct record_verdict *ret, bool *ret_stands)
{
	struct doc kept = KEPT;
	struct json *doc;

	*ret_stands = false;
	kept.file = at->beside ? path_join(a, at->beside, VERDICT_FILE) : NULL;
	if (!kept.file || !is_ours(s, kept.file) ||
		doc_load(s, a, AT_FDCWD, &kept, &doc, &(struct err){ 0 }) || !has_form(doc))
		return false;
	*ret = (struct record_verdict){ .is_known = true,
		.is_sound = json_get_bool(doc, "sound", false),
		.receipts = (uint64_t)json_get_int(doc, "receipts", 0),
		.checked_at = json_get_text(doc, "checked_at", ""),
		.findings = json_get(doc, "findings") };
	audit_conclude(a, ret);
	*ret_stands = json_get_bool(doc, "settled", false) && now->is_complete &&
		json_eq(json_get(doc, "files"), now->files);
	return true;
}

/* Findings that count come first: with only notices left of an unsound record nobody would know why. */
static struct json *some_findings(struct arena *a, const struct json *findings)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (int notices = 0; notices < 2; notices++)
		json_each (f, findings)
			if (list->n < MOST_FINDINGS &&
				text_eq(json_get_text(f, "severity", ""), "notice") == (notices == 1))
				json_push(a, list, json_copy(a, f));
	return list;
}

void verdict_keep(struct sys *s, struct arena *a, const struct audit_place *at,
	const struct record_marks *before, const struct record_verdict *v)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct doc kept = KEPT;

	if (!at->beside || file_mkdirs(s, AT_FDCWD, at->beside, 0700, &(struct err){ 0 }))
		return;
	json_sets(a, doc, "version", VERDICT_VERSION);
	json_sets(a, doc, "program", HELM_VERSION);
	json_sets(a, doc, "checked_at", v->checked_at);
	json_setb(a, doc, "sound", v->is_sound);
	json_seti(a, doc, "receipts", (int64_t)v->receipts);
	json_set(a, doc, "findings", some_findings(a, v->findings));
	json_setb(a, doc, "settled", before->is_settled);
	json_set(a, doc, "files", before->files);
	kept.file = path_join(a, at->beside, VERDICT_FILE);
	(void)!doc_replace(s, a, AT_FDCWD, &kept, doc, &(struct err){ 0 });
}
