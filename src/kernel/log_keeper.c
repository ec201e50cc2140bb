/* log_keeper.c — what the keeper of a log's keys signs, and what it refuses.
 *
 * Per log one directory: log.key and control.key, log.json (what it is called), signed.json (the head that was signed last), ordered.json (the order that was
 * signed last, whole).  Each is replaced and synced before the signature leaves.
 *
 * Whoever asks and is killed before it has written down what it got is behind then.  A head it simply asks for again.  An order it would make anew, with
 * another content under the same number; so the answer is the one that stands there.
 *
 * What the keeper cannot see by itself is that its own files were put back from an old copy.  Three others can: whoever asks shows the newest note they have,
 * and one that the keeper signed and does not remember is the proof; witnesses refuse what grows from the old place; machines hold newer heads. */
#include "kernel/log_keeper.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/vouch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LOGS "logs"
#define SIGNED "signed.json"
static const struct doc ABOUT = { .file = "log.json", .type = JSON_OBJECT, .code = "LOG_STATE", .newest = 1 };
static const struct doc ORDERED = { .file = "ordered.json",
	.lock = "ordered.json.lock",
	.type = JSON_OBJECT,
	.code = "LOG_STATE",
	.newest = 1 };

struct log_keeper {
	struct sys *sys;
	struct arena a;
	const char *home;
	int lock_fd;
};

/* One log while a question about it is answered. */
struct kept_log {
	struct sys *sys;
	struct arena *a;
	int fd;
	const char *name, *origin, *dir;
	struct key *log, *control;
	struct note_key log_key, control_key;
};

/* ---- on disk ---- */

static const char *dir_of(struct arena *a, const char *home, const char *name)
{
	return arena_printf(a, "%s/" LOGS "/%s", home, name);
}

static int make_key(struct sys *s, const char *dir, const char *name, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;

	return key_create(s, AT_FDCWD, dir, name, &k, e);
}

/* Its name is written last: what has none yet is not there, and may be made again. */
int log_keeper_create(
	struct sys *s, struct arena *a, const char *home, const char *name, const char *origin, struct err *e)
{
	static const char *const keys[] = { "log", "control" };
	const char *dir = dir_of(a, home, name);
	struct json *doc = json_new(a, JSON_OBJECT);
	AUTO(close_fd) int fd = -1;
	struct stat st;
	int rc = OK;

	if (!text_is_id(name))
		return err_set(e, E_USAGE, "LOG_NAME", "'%s' cannot be the name of a log", name);
	if (!note_name_ok(bytes_of(origin)) || strlen(origin) > NOTE_NAME_MAX - strlen("/control"))
		return err_set(e, E_USAGE, "LOG_NAME",
			"'%s' cannot be the origin of a log; it is like ledger.example/team: no spaces, no '+'",
			origin);
	if (s->stat(s, AT_FDCWD, arena_printf(a, "%s/%s", dir, ABOUT.file), &st, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, E_INPUT, "LOG_EXISTS", "there is a log '%s' here already", name);
	rc = file_mkdirs(s, AT_FDCWD, dir, 0700, e);
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(keys); i++) {
		rc = make_key(s, dir, keys[i], e);
		if (rc && text_eq(e->code, "KEY_EXISTS"))
			rc = OK;
	}
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, dir, &fd, e);
	json_seti(a, doc, "version", 1);
	json_sets(a, doc, "origin", origin);
	return rc ? rc : doc_replace(s, a, fd, &ABOUT, doc, e);
}

static void log_close(struct kept_log *l)
{
	key_free(&l->log);
	key_free(&l->control);
	close_fd(&l->fd);
}

static int log_open(
	struct log_keeper *k, struct arena *a, const char *name, struct kept_log *l, struct err *e)
{
	struct json *doc;
	int rc;

	*l = (struct kept_log){ .sys = k->sys, .a = a, .fd = -1, .name = name };
	if (!text_is_id(name))
		return err_set(e, E_MISSING, "LOG_UNKNOWN", "no log is named");
	l->dir = dir_of(a, k->home, name);
	rc = file_open_dir(k->sys, AT_FDCWD, l->dir, &l->fd, e);
	if (rc == OK)
		rc = doc_load(k->sys, a, l->fd, &ABOUT, &doc, e);
	if (rc == E_MISSING || (rc == OK && !doc->n))
		return err_set(e, E_MISSING, "LOG_UNKNOWN",
			"there is no log '%s' here; 'helm signer log-key' makes one", name);
	if (rc)
		return rc;
	l->origin = json_get_text(doc, "origin", "");
	if (json_get_int(doc, "version", 0) != 1 || !note_name_ok(bytes_of(l->origin)))
		return err_set(e, E_CORRUPT, "LOG_STATE", "%s/%s does not say what the log is called", l->dir,
			ABOUT.file);
	rc = key_load(k->sys, AT_FDCWD, l->dir, "log", &l->log, e);
	if (rc == OK)
		rc = key_load(k->sys, AT_FDCWD, l->dir, "control", &l->control, e);
	if (rc)
		return rc;
	l->log_key = note_key_of(l->origin, NOTE_ED25519, key_public(l->log));
	l->control_key =
		note_key_of(arena_printf(a, "%s/control", l->origin), NOTE_ED25519, key_public(l->control));
	return OK;
}

/* ---- heads ---- */

/* The newest note that whoever asks has: do we remember it?  Only what we signed ourselves says anything. */
static int check_remembered(
	struct kept_log *l, const char *newest, const struct tlog_head *last, struct err *e)
{
	struct tlog_policy ours = tlog_policy_of(l->a, &l->log_key, NULL, 0);
	struct tlog_seen seen;

	if (!newest || tlog_policy_check(l->a, &ours, bytes_of(newest), "the newest note", &seen, NULL))
		return OK;
	if (seen.head.size > last->size ||
		(seen.head.size == last->size && !hash_eq(&seen.head.root, &last->root)))
		return err_set(e, E_CORRUPT, "LOG_SET_BACK",
			"this signer has signed a tree of %llu leaves of '%s' and remembers one of %llu: its files were set back by "
			"%llu leaves, and nothing is signed; put the newest copy back",
			(unsigned long long)seen.head.size, l->origin, (unsigned long long)last->size,
			(unsigned long long)(seen.head.size - last->size));
	return OK;
}

static const char *code_of(
	const struct tlog_head *last, const struct tlog_head *next, const struct tlog_request *request)
{
	return next->size < last->size		  ? "LOG_SMALLER"
		: request->old_size != last->size ? "LOG_ELSEWHERE"
						  : "LOG_DIFFERENT";
}

static int sign_head(struct kept_log *l, const struct tlog_head *next, const struct tlog_request *request,
	const char *newest, struct buf *note, struct err *e)
{
	const struct vouch_place place = { l->sys, l->fd, SIGNED };
	struct vouched last;
	enum tlog_answer answer;
	struct err why = { 0 };
	int rc = vouch_last(&place, l->a, l->origin, &last, e);

	if (rc == OK && !text_eq(next->origin, l->origin))
		rc = err_set(e, E_DENIED, "LOG_ORIGIN", "this log is called '%s', and not '%s'", l->origin,
			next->origin);
	if (rc == OK)
		rc = check_remembered(l, newest, &last.head, e);
	if (rc == OK)
		rc = vouch_step(
			&place, l->a, &(struct vouched){ *next, NULL }, request, &answer, &last, &why);
	if (rc && why.code[0])
		*e = why;
	if (rc)
		return rc;
	if (answer != TLOG_COSIGN)
		return err_set(e, E_DENIED, code_of(&last.head, next, request),
			"a tree of %llu leaves was signed, and this one of %llu does not go on from it: %s",
			(unsigned long long)last.head.size, (unsigned long long)next->size, why.text);
	struct bytes text = bytes_of(tlog_head_text(l->a, next));
	buf_add(note, text.p, text.n);
	buf_addc(note, '\n');
	note_sign(note, &l->log_key, l->log, text, 0);
	return OK;
}

/* ---- orders ---- */

struct bytes log_order_message(struct arena *a, const struct json *order)
{
	struct json *bare = json_copy(a, order);
	struct buf b;

	(void)json_remove(bare, "signature");
	buf_init(&b, a);
	buf_adds(&b, "helm:fleet-order:v1\n");
	json_canonical(&b, bare);
	return buf_bytes(&b);
}

const char *log_order_hash(struct arena *a, const struct json *signed_order)
{
	struct buf b;

	buf_init(&b, a);
	json_canonical(&b, signed_order);
	return sha256_hex(a, b.p, b.n);
}

/* An empty object when there is none. */
static int last_order(struct kept_log *l, const struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_load(l->sys, l->a, l->fd, &ORDERED, &doc, e);

	if (rc)
		return rc;
	*ret = doc->n ? json_get(doc, "order") : doc;
	if (json_is(*ret, JSON_OBJECT) && json_get_int(*ret, "seq", 0) >= (doc->n ? 1 : 0))
		return OK;
	return err_set(e, E_CORRUPT, "LOG_STATE",
		"%s/%s does not say what was ordered last; put it back from a copy", l->dir, ORDERED.file);
}

static int keep_order(struct kept_log *l, struct json *order, struct err *e)
{
	struct json *doc = json_new(l->a, JSON_OBJECT);

	json_seti(l->a, doc, "version", 1);
	json_set(l->a, doc, "order", order);
	return doc_replace(l->sys, l->a, l->fd, &ORDERED, doc, e);
}

static int no_order(struct err *e, const char *why)
{
	return err_set(e, E_DENIED, "LOG_ORDER", "this is no order to sign: %s", why);
}

static bool same_order(struct arena *a, const struct json *order, const struct json *was)
{
	return bytes_eq(log_order_message(a, order), log_order_message(a, was));
}

static int check_order(struct kept_log *l, const struct json *order, const struct json *last, struct err *e)
{
	int64_t seq = json_get_int(order, "seq", -1), done = json_get_int(last, "seq", 0);
	const char *hash = done ? log_order_hash(l->a, last) : "";

	if (!text_eq(json_get_text(order, "version", ""), FLEET_ORDER_V1) || json_get(order, "signature"))
		return no_order(e, "it is of another version, or signed already");
	if (!text_eq(json_get_text(order, "origin", ""), l->origin))
		return no_order(e, "it is of another log");
	if (seq == done && done)
		return same_order(l->a, order, last)
			? OK
			: err_set(e, E_DENIED, "LOG_ORDER_TAKEN",
				  "order %lld was signed before, and says something else", (long long)seq);
	if (seq != done + 1)
		return err_set(e, E_DENIED, seq <= done ? "LOG_SMALLER" : "LOG_ORDER",
			"order %lld is not the next one: %lld was signed last", (long long)seq,
			(long long)done);
	if (!text_eq(json_get_text(order, "prev_hash", "-"), hash))
		return no_order(e, "it does not continue the one that was signed last");
	return OK;
}

/* *ret: the signed one; with LOG_ORDER_TAKEN the one that stands in its place. */
static int sign_order(struct kept_log *l, const struct json *order, struct json **ret, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const struct json *last;
	uint8_t raw[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	int rc = doc_lock(l->sys, l->fd, &ORDERED, &lock, e);

	if (rc == OK)
		rc = last_order(l, &last, e);
	if (rc)
		return rc;
	*ret = json_copy(l->a, last);
	rc = check_order(l, order, last, e);
	if (rc || json_get_int(order, "seq", 0) == json_get_int(last, "seq", 0))
		return rc;
	struct json *whole = json_copy(l->a, order);
	key_sign(l->control, log_order_message(l->a, order), raw);
	hex_encode(raw, SIGN_SIZE, hex);
	json_sets(l->a, whole, "signature", hex);
	rc = keep_order(l, whole, e);
	*ret = whole;
	return rc;
}

/* ---- answers ---- */

static struct json *refuse(struct arena *a, const struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "error", e->code);
	json_sets(a, doc, "text", arena_strdup(a, e->text));
	return doc;
}

static int answer_facts(struct kept_log *l, struct json *doc, struct err *e)
{
	const struct json *order;
	const struct vouch_place place = { l->sys, l->fd, SIGNED };
	struct vouched last;
	int rc = vouch_last(&place, l->a, l->origin, &last, e);

	if (rc == OK)
		rc = last_order(l, &order, e);
	if (rc)
		return rc;
	json_sets(l->a, doc, "log", note_key_text(l->a, &l->log_key));
	json_sets(l->a, doc, "control", note_key_text(l->a, &l->control_key));
	json_sets(l->a, doc, "last", tlog_head_text(l->a, &last.head));
	json_seti(l->a, doc, "order_seq", json_get_int(order, "seq", 0));
	json_sets(l->a, doc, "order_hash", order->n ? log_order_hash(l->a, order) : "");
	return OK;
}

static int answer_head(struct kept_log *l, const struct json *record, struct json *doc, struct err *e)
{
	struct tlog_request request;
	struct tlog_head next;
	struct buf note;
	int rc = tlog_request_parse(
		bytes_of(json_get_text(record, "request", "")), "the question", &request, e);

	if (rc == OK)
		rc = tlog_head_parse(l->a, request.checkpoint, "the head", &next, e);
	buf_init(&note, l->a);
	if (rc == OK)
		rc = sign_head(l, &next, &request, json_get_text(record, "newest", NULL), &note, e);
	if (rc == OK)
		json_sets(l->a, doc, "note", note.p);
	return rc;
}

static int answer_order(struct kept_log *l, const struct json *record, struct json *doc, struct err *e)
{
	const struct json *order = json_get(record, "order");
	struct json *whole = NULL;
	int rc = json_is(order, JSON_OBJECT) ? sign_order(l, order, &whole, e)
					     : no_order(e, "there is none in the question");

	if (rc == OK || text_eq(e->code, "LOG_ORDER_TAKEN"))
		json_set(l->a, doc, "order", whole);
	return rc;
}

struct json *log_keeper_answer(void *keeper, struct arena *a, uid_t user, struct bytes question)
{
	static const struct {
		const char *op;
		int (*answer)(struct kept_log *l, const struct json *record, struct json *doc, struct err *e);
	} ops[] = { { "log_head", answer_head }, { "log_order", answer_order } };
	AUTO(log_close) struct kept_log l = { .fd = -1 };
	struct json *doc, *answer = json_new(a, JSON_OBJECT), *refused;
	struct err e = { 0 };
	int rc = json_parse(a, question, "question", NULL, &doc, &e);

	(void)user;
	const char *op = rc ? "" : json_get_text(doc, "op", "");
	const struct json *record = rc ? NULL : json_get(doc, "record");
	if (rc == OK)
		rc = log_open(keeper, a, json_get_text(record, "log", ""), &l, &e);
	if (rc == OK && text_eq(op, "log_facts"))
		return answer_facts(&l, answer, &e) ? refuse(a, &e) : answer;
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(ops); i++)
		if (text_eq(op, ops[i].op)) {
			rc = ops[i].answer(&l, record, answer, &e);
			if (rc == OK)
				return answer;
			refused = refuse(a, &e);
			if (json_get(answer, "order"))
				json_set(a, refused, "order", json_get(answer, "order"));
			return refused;
		}
	if (rc == OK)
		(void)err_set(&e, E_DENIED, "SIGNER_REFUSES", "that is not something to sign");
	return refuse(a, &e);
}

/* ---- opening ---- */

int log_keeper_look(struct sys *s, const char *home, struct log_keeper **ret, struct err *e)
{
	struct log_keeper *k;
	int rc = file_mkdirs(s, AT_FDCWD, home, 0700, e);

	if (rc)
		return rc;
	k = calloc(1, sizeof(*k));
	if (!k)
		mem_exhausted(0);
	*k = (struct log_keeper){ .sys = s, .lock_fd = -1 };
	k->home = arena_strdup(&k->a, home);
	*ret = k;
	return OK;
}

int log_keeper_open(struct sys *s, const char *home, struct log_keeper **ret, struct err *e)
{
	AUTO(log_keeper_close) struct log_keeper *k = NULL;
	AUTO(close_fd) int fd = -1;
	int rc = log_keeper_look(s, home, &k, e);

	if (rc == OK)
		rc = file_mkdirs(s, AT_FDCWD, arena_printf(&k->a, "%s/" LOGS, home), 0700, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, arena_printf(&k->a, "%s/" LOGS, home), &fd, e);
	if (rc == OK && file_lock(s, fd, ".lock", 0, &k->lock_fd, e))
		rc = err_set(e, E_INPUT, "SIGNER_RUNS", "a signer of logs works in %s already", home);
	if (rc)
		return rc;
	*ret = k;
	k = NULL;
	return OK;
}

void log_keeper_close(struct log_keeper **k)
{
	if (!*k)
		return;
	close_fd(&(*k)->lock_fd);
	arena_done(&(*k)->a);
	free(*k);
	*k = NULL;
}
