/* shown.c — the redacted form of what was asked: made, kept, found again by its digest, and erased.
 *
 * The newest lines are in SHOWN_FILE.  It is put aside as shown/<microseconds>.jsonl when it has become large, or when a new week has begun, and
 * then the oldest of those files go as far as the limits of age and size say.  Nothing here is synced: a line that a power
 * cut took is one that is not kept, and the digest in the receipt says of every other one whether it is what it was.
 *
 * Redacting sees more of a text than is kept of it, so that a secret at the place of the cut is still known by its end. */
#include "record/shown.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "helm-shown/v1"
static const int64_t DAY_US = INT64_C(86400) * 1000000;

enum {
	TEXT_MOST = 8 << 10, /* of one text in the arguments */
	ALL_MOST = 48 << 10, /* of all of them */
	PREVIEW_MOST = 2 << 10,
	DIFF_MOST = 48 << 10,
	SLACK = 16 << 10, /* beyond a cut: longer than any key */
	DEEPEST = 32,
};

/* ---- making ---- */

struct room {
	size_t text, all; /* bytes that one text, and all that follows, may have */
	bool is_raw; /* not redacted yet: what is cut off begins with a whole word */
	uint64_t left_out;
};

/* Half of a token is not known for one. */
static size_t word_before(const char *text, size_t at)
{
	size_t least = at > SLACK ? at - SLACK : 0;

	while (at > least && (uint8_t)text[at - 1] > ' ')
		at--;
	return at;
}

/* The text up to so many bytes, never through a character. */
static size_t cut_at(const char *text, size_t n, size_t most)
{
	if (n <= most)
		return n;
	while (most && ((uint8_t)text[most] & 0xC0) == 0x80)
		most--;
	return most;
}

static const char *take_text(
	struct arena *a, const char *text, size_t n, struct room *room, size_t most, size_t *ret_n)
{
	size_t keep = cut_at(text, n, most < room->all ? most : room->all);

	if (room->is_raw && keep < n)
		keep = cut_at(text, n, word_before(text, keep));
	room->all -= keep;
	*ret_n = keep;
	if (keep == n)
		return text;
	room->left_out += n - keep;
	const char *cut =
		arena_printf(a, "%.*s [%zu bytes left out]", (int)strnlen(text, keep), text, n - keep);
	*ret_n = strlen(cut);
	return cut;
}

/* How much there is below it, for what is left out whole. */
static uint64_t bytes_of_all(const struct json *v, unsigned depth)
{
	uint64_t n = json_is(v, JSON_STRING) ? v->n : 1;

	if (depth > DEEPEST)
		return n;
	json_each (item, v)
		n += bytes_of_all(item, depth + 1);
	json_each_member (m, v)
		n += m->name_n + bytes_of_all(m->value, depth + 1);
	return n;
}

static struct json *take(struct arena *a, const struct json *v, struct room *room, unsigned depth);

static struct json *take_members(struct arena *a, const struct json *v, struct room *room, unsigned depth)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_each_member (m, v) {
		if (room->all <= m->name_n) {
			room->left_out += m->name_n + bytes_of_all(m->value, depth);
			continue;
		}
		room->all -= m->name_n + 1;
		json_append(a, o, m->name, take(a, m->value, room, depth + 1));
	}
	return o;
}

static struct json *take(struct arena *a, const struct json *v, struct room *room, unsigned depth)
{
	struct json *list;
	const char *text;
	size_t n;

	if (json_is(v, JSON_STRING)) {
		text = take_text(a, v->text, v->n, room, room->text, &n);
		return json_stringn(a, text, n);
	}
	if (!json_is(v, JSON_ARRAY) && !json_is(v, JSON_OBJECT))
		return json_copy(a, v);
	if (depth > DEEPEST) {
		room->left_out += bytes_of_all(v, 0);
		return json_string(a, "[left out: it lies too deep]");
	}
	if (json_is(v, JSON_OBJECT))
		return take_members(a, v, room, depth);
	list = json_new(a, JSON_ARRAY);
	json_each (item, v) {
		if (!room->all) {
			room->left_out += bytes_of_all(item, depth);
			continue;
		}
		room->all--;
		json_push(a, list, take(a, item, room, depth + 1));
	}
	return list;
}

static void put_text(struct arena *a, struct json *doc, const char *name, const char *text, size_t most,
	uint64_t *left_out)
{
	struct room wide = { .all = most + SLACK, .is_raw = true }, room = { .all = most };
	size_t n;

	if (!text)
		return;
	text = take_text(a, text, strlen(text), &wide, most + SLACK, &n);
	text = privacy_redact(a, text, n, &n);
	text = take_text(a, text, n, &room, most, &n);
	json_set(a, doc, name, json_stringn(a, text, n));
	*left_out += wide.left_out + room.left_out;
}

struct json *shown_make(struct arena *a, const struct shown_asked *asked)
{
	struct room wide = { .text = TEXT_MOST + SLACK, .all = ALL_MOST + 4 * SLACK, .is_raw = true },
		    room = { .text = TEXT_MOST, .all = ALL_MOST };
	struct json *doc = json_new(a, JSON_OBJECT);
	struct json *arguments = take(a, asked->arguments, &wide, 0);
	uint64_t left_out = 0;

	privacy_redact_json(a, arguments);
	arguments = take(a, arguments, &room, 0);
	receipt_plain_numbers(a, arguments); /* so that every reader has the same canonical form of it */
	json_sets(a, doc, "version", VERSION);
	put_text(a, doc, "tool", asked->tool, PREVIEW_MOST, &left_out);
	put_text(a, doc, "preview", asked->preview, PREVIEW_MOST, &left_out);
	json_set(a, doc, "arguments", arguments);
	put_text(a, doc, "diff", asked->diff, DIFF_MOST, &left_out);
	put_text(a, doc, "note", asked->note, PREVIEW_MOST, &left_out);
	left_out += wide.left_out + room.left_out;
	if (left_out)
		json_seti(a, doc, "left_out_bytes", (int64_t)left_out);
	json_make_utf8(a, doc);
	return doc;
}

/* ---- the files ---- */

struct piece_file {
	const char *path; /* below the state */
	int64_t changed_us;
	off_t size;
};

/* Oldest first, SHOWN_FILE last. */
static int list_files(
	struct sys *s, struct arena *a, int state_fd, struct piece_file **ret, size_t *ret_n, struct err *e)
{
	struct piece_file *list, now = { 0 };
	char **names;
	size_t n, count = 0;
	int rc = file_list(s, a, state_fd, SHOWN_DIR, &names, &n, e);

	*ret_n = 0;
	if (rc)
		return rc == E_MISSING ? OK : rc;
	list = arena_zalloc(a, n + 1, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		struct piece_file f = { .path = arena_printf(a, SHOWN_DIR "/%s", names[i]) };
		struct stat st;
		if (names[i][0] == '.' || !text_ends(names[i], ".jsonl") ||
			s->stat(s, state_fd, f.path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		f.changed_us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
		f.size = st.st_size;
		if (text_eq(f.path, SHOWN_FILE))
			now = f;
		else
			list[count++] = f;
	}
	if (now.path)
		list[count++] = now;
	*ret = list;
	*ret_n = count;
	return OK;
}

/* Files that were put aside, as far as they are too old or too much. */
static void drop_old(struct sys *s, int state_fd, int64_t now_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct piece_file *list;
	size_t n;
	off_t kept = 0;

	if (list_files(s, &a, state_fd, &list, &n, NULL))
		return;
	while (n--) {
		kept += list[n].size;
		if (!text_eq(list[n].path, SHOWN_FILE) &&
			(kept > SHOWN_MOST_BYTES - SHOWN_PIECE_BYTES ||
				list[n].changed_us < now_us - SHOWN_MOST_DAYS * DAY_US))
			(void)s->unlink(s, state_fd, list[n].path, 0);
	}
}

/* Is the newest file large, or of an earlier week?  One look at its name. */
static bool is_due(struct sys *s, int state_fd, int64_t now_us)
{
	struct stat st;
	const int64_t week = 7 * DAY_US / 1000000;

	return s->stat(s, state_fd, SHOWN_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size &&
		(st.st_size >= SHOWN_PIECE_BYTES || st.st_mtim.tv_sec / week < now_us / 1000000 / week);
}

static void rotate(struct sys *s, int state_fd, int64_t now_us)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int fd = -1;

	if (!is_due(s, state_fd, now_us) || file_lock(s, state_fd, SHOWN_FILE, -1, &fd, NULL) ||
		!is_due(s, state_fd, now_us))
		return;
	if (s->rename(s, state_fd, SHOWN_FILE, state_fd,
		    arena_printf(&a, SHOWN_DIR "/%016lld.jsonl", (long long)now_us), RENAME_NOREPLACE) == 0)
		drop_old(s, state_fd, now_us);
}

int shown_keep(struct sys *s, struct arena *a, int state_fd, const char *session, const struct json *shown,
	struct err *e)
{
	struct json *line = json_new(a, JSON_OBJECT);
	AUTO(close_fd) int fd = -1;
	int64_t now_us = s->now_us(s);
	struct buf text;

	json_sets(a, line, "at", text_time_z(a, now_us));
	if (session)
		json_sets(a, line, "session", session);
	json_sets(a, line, "sha256", json_sha256(a, shown));
	json_set(a, line, "shown", (struct json *)shown);
	buf_init(&text, a);
	json_canonical(&text, line);
	rotate(s, state_fd, now_us);
	int rc = file_append_lines(s, state_fd, SHOWN_FILE, 0600, buf_bytes(&text), &fd, e);
	if (rc == OK || file_is_dir(s, state_fd, SHOWN_DIR))
		return rc;
	if (e)
		*e = (struct err){ 0 };
	rc = file_mkdirs(s, state_fd, SHOWN_DIR, 0700, e);
	return rc ? rc : file_append_lines(s, state_fd, SHOWN_FILE, 0600, buf_bytes(&text), &fd, e);
}

/* ---- reading ---- */

struct finding {
	struct arena *a;
	const char *sha256, *mark;
	struct json *found;
	bool is_changed; /* a line names the digest and does not have it */
};

static int look_at_line(void *arg, off_t at, struct bytes text, bool is_whole, struct err *e)
{
	struct finding *f = arg;
	struct json *line, *shown;

	(void)at;
	(void)is_whole;
	(void)e;
	if (!memmem(text.p, text.n, f->mark, strlen(f->mark)))
		return 0;
	if (json_parse(f->a, text, SHOWN_FILE, NULL, &line, NULL))
		return 0; /* a part of a line */
	shown = json_get(line, "shown");
	if (!text_eq(json_get_text(line, "sha256", ""), f->sha256))
		return 0;
	if (json_is(shown, JSON_OBJECT) && text_eq(json_sha256(f->a, shown), f->sha256))
		f->found = shown;
	f->is_changed |= !f->found;
	return f->found != NULL;
}

static int not_kept(struct err *e)
{
	return err_set(e, E_MISSING, "SHOWN_MISSING", "what was asked is not kept any more");
}

int shown_read(
	struct sys *s, struct arena *a, int state_fd, const char *sha256, struct json **ret, struct err *e)
{
	struct finding f = { .a = a, .sha256 = sha256 };
	struct piece_file *list;
	size_t n = 0;
	int rc = OK;

	if (!sha256 || !text_starts(sha256, "sha256:"))
		return not_kept(e);
	f.mark = arena_printf(a, "\"sha256\":\"%s\"", sha256);
	if (state_fd >= 0 && list_files(s, a, state_fd, &list, &n, NULL))
		n = 0;
	while (rc == OK && n-- && !f.found) {
		AUTO(close_fd)
		int fd = s->open(s, state_fd, list[n].path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
		if (fd >= 0) /* one that went meanwhile is not kept */
			rc = lines_back(s, fd, list[n].path, list[n].size, look_at_line, &f, e);
		rc = rc > 0 ? OK : rc;
	}
	if (rc)
		return rc;
	if (!f.found && f.is_changed)
		return err_set(e, E_CORRUPT, "SHOWN_CHANGED",
			"what is kept of the request is not what was asked: %s was changed", SHOWN_DIR);
	if (!f.found)
		return not_kept(e);
	*ret = f.found;
	return OK;
}

struct visiting {
	shown_visit *fn;
	void *arg;
};

static int visit_line(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct visiting *v = arg;
	struct json *line = NULL;

	(void)at;
	(void)number;
	if (!is_whole) /* it is being written */
		return OK;
	(void)json_parse(&a, text, SHOWN_FILE, NULL, &line, NULL);
	const struct json *shown = json_get(line, "shown");
	const char *sha256 = json_get_text(line, "sha256", "");
	return v->fn(v->arg, sha256,
		json_is(shown, JSON_OBJECT) && text_eq(json_sha256(&a, shown), sha256) ? shown : NULL, e);
}

int shown_each(struct sys *s, int state_fd, shown_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct visiting v = { fn, arg };
	struct piece_file *list;
	size_t n = 0;
	int rc = state_fd < 0 ? OK : list_files(s, &a, state_fd, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		rc = lines_each(s, state_fd, list[i].path, visit_line, &v, e);
		rc = rc == E_MISSING ? OK : rc; /* another process has put it aside */
	}
	return rc > 0 ? OK : rc;
}

static int first_time(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	int64_t *ret = arg;
	struct json *line;

	(void)at;
	(void)number;
	(void)is_whole;
	(void)e;
	if (json_parse(&a, text, SHOWN_FILE, NULL, &line, NULL))
		return 0;
	const char *time = json_get_text(line, "at", "");
	return text_parse_time(time, strlen(time), ret);
}

int shown_usage(struct sys *s, struct arena *a, int state_fd, struct shown_usage *ret, struct err *e)
{
	struct shown_usage u = { 0 };
	struct piece_file *list;
	size_t n = 0;
	int rc = state_fd < 0 ? OK : list_files(s, a, state_fd, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		u.bytes += (uint64_t)list[i].size;
		u.files++;
		if (!u.oldest_us)
			rc = lines_each(s, state_fd, list[i].path, first_time, &u.oldest_us, e);
		rc = rc > 0 || rc == E_MISSING ? OK : rc; /* another process has put it aside */
	}
	if (rc == OK)
		*ret = u;
	return rc;
}

/* ---- erasing ---- */

struct erasing {
	struct recorder *r;
	const struct shown_choice *choice;
	const char *path;
	int to; /* the lines that stay are written there; -1: only counted */
	uint64_t lines, bytes, kept;
};

/* A line that cannot be read has no time and no session: it goes when all of an age goes. */
static bool goes(const struct shown_choice *c, struct bytes text)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *line;
	int64_t at_us;

	if (json_parse(&a, text, SHOWN_FILE, NULL, &line, NULL))
		return !c->session;
	const char *at = json_get_text(line, "at", "");
	if (text_parse_time(at, strlen(at), &at_us) && at_us >= c->before_us)
		return false;
	return !c->session || text_eq(json_get_text(line, "session", ""), c->session);
}

static int erase_line(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct erasing *x = arg;
	struct sys *s = x->r->sys;

	(void)at;
	(void)number;
	if (goes(x->choice, text)) {
		x->lines++;
		x->bytes += text.n + is_whole;
		return OK;
	}
	x->kept++;
	if (x->to >= 0 && (write_all(s, x->to, text.p, text.n) || write_all(s, x->to, "\n", 1)))
		return err_sys(e, "FILE_WRITE", "cannot write %s", x->path);
	return OK;
}

static int write_rest(void *arg, struct sys *s, int fd, struct err *e)
{
	struct erasing *x = arg;

	x->to = fd;
	return lines_each(s, x->r->state_fd, x->path, erase_line, x, e);
}

/* The torn ends of it hold the same. */
static int erase_file(struct erasing *x, const char *path, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int lock = -1;
	struct sys *s = x->r->sys;
	struct erasing again = { .r = x->r, .choice = x->choice, .path = path };
	int rc = file_lock(s, x->r->state_fd, path, -1, &lock, e);

	if (rc == OK && s->unlink(s, x->r->state_fd, arena_printf(&a, "%s.torn", path), 0) && errno != ENOENT)
		rc = err_sys(e, "SHOWN_ERASE", "cannot remove %s.torn", path);
	if (rc == OK) /* and the directory is durable */
		rc = file_replace_by(s, x->r->state_fd, path, 0600, write_rest, &again, e);
	if (rc == OK && !again.kept && s->unlink(s, x->r->state_fd, path, 0) && errno != ENOENT)
		rc = err_sys(e, "SHOWN_ERASE", "cannot remove %s", path);
	return rc;
}

static int sign_erasing(struct recorder *r, struct arena *a, struct json *report, struct err *e)
{
	struct json *about = json_copy(a, report), *receipt;
	char *id;
	int rc = record_new_id(a, r->sys, "erase-", &id, e);

	if (rc)
		return rc;
	struct draft d = { .decision_id = id,
		.effect_id = SHOWN_ERASE_EFFECT,
		.status = "ERASED",
		.type = "erase",
		.output_hash = json_sha256(a, about),
		.metadata = about,
		.is_summed = true };
	rc = recorder_append(r, a, &d, 1, &receipt, e);
	if (rc == OK)
		json_sets(a, report, "receipt_id", json_get_text(receipt, "receipt_id", ""));
	return rc;
}

int shown_erase(struct recorder *r, struct arena *a, const struct shown_choice *choice,
	struct json **ret_report, struct err *e)
{
	struct erasing x = { .r = r, .choice = choice, .to = -1 };
	struct json *report = json_new(a, JSON_OBJECT);
	struct piece_file *list;
	size_t n, chosen = 0;
	int rc = list_files(r->sys, a, r->state_fd, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++) {
		uint64_t before = x.lines;
		x.path = list[i].path;
		rc = lines_each(r->sys, r->state_fd, list[i].path, erase_line, &x, e);
		if (x.lines > before)
			list[chosen++] = list[i];
	}
	if (rc)
		return rc;
	json_sets(a, report, "before", text_time_z(a, choice->before_us));
	if (choice->session)
		json_sets(a, report, "session", choice->session);
	json_seti(a, report, "lines", (int64_t)x.lines);
	json_seti(a, report, "bytes", (int64_t)x.bytes);
	if (chosen && !choice->is_dry)
		rc = sign_erasing(r, a, report, e);
	for (size_t i = 0; rc == OK && i < chosen && !choice->is_dry; i++)
		rc = erase_file(&x, list[i].path, e);
	json_setb(a, report, "dry_run", choice->is_dry);
	*ret_report = report;
	return rc;
}
