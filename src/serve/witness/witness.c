/* witness.c — the witness: which logs it knows, and its one route.
 *
 * There is nothing to authenticate: a checkpoint is signed by its log or it is nothing.  What is answered is on disk before.  A log that shows something that
 * does not go on from what it showed before has signed the proof of it: both notes are kept, for whoever runs the witness. */
#include "serve/witness/witness.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/vouch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { LOGS_MOST = 1024, CONFLICTS_MOST = 100 };
#define STATES "logs"
#define CONFLICTS "conflicts"

struct witness {
	struct sys *sys;
	struct arena a;
	int fd; /* of its directory */
	struct key *secret;
	struct note_key key;
	struct note_key *logs; /* several keys of one log are several entries */
	size_t log_count;
};

/* ---- answers ---- */

static int say(struct call *c, int status, const char *text)
{
	call_bytes(c, status, "text/plain; charset=utf-8", bytes_of(arena_printf(c->a, "%s\n", text)));
	return OK;
}

static int say_size(struct call *c, uint64_t size)
{
	call_bytes(c, TLOG_CONFLICT, "text/x.tlog.size",
		bytes_of(arena_printf(c->a, "%llu\n", (unsigned long long)size)));
	return OK;
}

/* ---- checkpoints ---- */

static size_t keys_of(const struct witness *w, const char *origin, struct note_key *ret, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < w->log_count && n < room; i++)
		if (text_eq(w->logs[i].name, origin))
			ret[n++] = w->logs[i];
	return n;
}

/* TLOG_COSIGN: understood, of a log that we know, and signed by it. */
static enum tlog_answer read_question(const struct witness *w, struct call *c, struct tlog_request *request,
	struct vouched *next, struct err *e)
{
	struct note_key keys[16];
	struct note_seen seen[16];
	struct note note;
	size_t n;

	if (tlog_request_parse(c->raw, "the question", request, e) ||
		note_parse(c->a, request->checkpoint, "the checkpoint", &note, e) ||
		tlog_head_parse(c->a, note.text, "the checkpoint", &next->head, e))
		return TLOG_BAD;
	n = keys_of(w, next->head.origin, keys, ARRAY_SIZE(keys));
	if (!n) {
		(void)err_set(e, E_MISSING, "TLOG_LOG", "the log '%s' is not known to this witness",
			next->head.origin);
		return TLOG_UNKNOWN;
	}
	if (note_verify(c->a, &note, keys, n, seen, e))
		return TLOG_UNSIGNED;
	next->note = arena_strndup(c->a, (const char *)request->checkpoint.p, request->checkpoint.n);
	return TLOG_COSIGN;
}

static const char *file_of(struct arena *a, const char *origin)
{
	return arena_printf(a, STATES "/%s.json", sha256_hex(a, origin, strlen(origin)));
}

/* What it signed before, and what it signed now.  Each is kept once; of each log so many, and from then on always the newest, so that a log with
 * many hides neither what another one did nor what it does now. */
static void keep_conflict(
	const struct witness *w, struct call *c, const struct vouched *last, const struct vouched *next)
{
	struct arena *a = c->a;
	const char *origin = next->head.origin,
		   *text = arena_printf(a, "%s\n%s", last->note ? last->note : "", next->note),
		   *log = arena_strndup(a, sha256_hex(a, origin, strlen(origin)), 16),
		   *path = arena_printf(a, CONFLICTS "/%s-%s.txt", log, sha256_hex(a, text, strlen(text)));
	char **names = NULL;
	size_t n = 0, of_log = 0;
	struct err e = { 0 };
	int rc = file_list(w->sys, a, w->fd, CONFLICTS, &names, &n, &e);

	for (size_t i = 0; i < n; i++)
		of_log += text_starts(names[i], log);
	if (rc == OK && of_log >= CONFLICTS_MOST && !file_exists(w->sys, w->fd, path))
		rc = file_put(w->sys, w->fd, arena_printf(a, CONFLICTS "/%s-newest.txt", log), 0600,
			bytes_of(text), &e);
	else if (rc == OK && !file_exists(w->sys, w->fd, path))
		rc = file_create(w->sys, w->fd, path, 0600, bytes_of(text), &e);
	log_line(c->server, "error", c, "%s has signed two trees that do not go on from each other: %s",
		origin, rc ? e.text : "both are kept in " CONFLICTS);
}

static int cosign(const struct witness *w, struct call *c, const struct vouched *next)
{
	struct bytes text = bytes_of(tlog_head_text(c->a, &next->head));
	uint64_t now = (uint64_t)(w->sys->now_us(w->sys) / 1000000);
	struct buf line;

	buf_init(&line, c->a);
	note_sign(&line, &w->key, w->secret, text, now);
	call_bytes(c, TLOG_COSIGN, "text/plain; charset=utf-8", buf_bytes(&line));
	return OK;
}

static int add_checkpoint(struct call *c, struct err *e)
{
	const struct witness *w = c->server->witness;
	struct tlog_request request;
	struct vouched next = { 0 }, last;
	struct err why = { 0 };
	enum tlog_answer answer = read_question(w, c, &request, &next, &why);

	if (answer == TLOG_COSIGN) {
		const struct vouch_place place = { w->sys, w->fd, file_of(c->a, next.head.origin) };
		int rc = vouch_step(&place, c->a, &next, &request, &answer, &last, e);
		if (rc)
			return rc;
		why = *e;
	}
	if (answer == TLOG_COSIGN)
		return cosign(w, c, &next);
	if (answer == TLOG_INCONSISTENT || text_eq(why.code, "MERKLE_EQUIVOCATION"))
		keep_conflict(w, c, &last, &next);
	return answer == TLOG_CONFLICT ? say_size(c, last.head.size) : say(c, (int)answer, why.text);
}

/* What a log's operator puts into a policy. */
static int tell_key(struct call *c, struct err *e)
{
	(void)e;
	return say(c, 200, note_key_text(c->a, &c->server->witness->key));
}

static const struct route routes[] = {
	{ "POST", "/add-checkpoint", AUTH_PUBLIC, 0, RATE_PUBLIC, NO_KERNEL, add_checkpoint,
		"cosign a further checkpoint of a log", NULL, NULL },
	{ "GET", "/key", AUTH_PUBLIC, 0, RATE_PUBLIC, NO_KERNEL, tell_key, "the key of this witness", NULL,
		NULL },
};

const struct route *witness_route_at(size_t i)
{
	return i < ARRAY_SIZE(routes) ? &routes[i] : NULL;
}

const struct route *witness_route(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed)
{
	return route_find_in(witness_route_at, a, method, path, args, ret_allowed);
}

/* ---- from start to end ---- */

static int read_logs(struct witness *w, const struct json *list, struct err *e)
{
	size_t n = json_is(list, JSON_ARRAY) ? list->n : 0;

	if (!n || n > LOGS_MOST)
		return err_set(e, E_USAGE, "WITNESS_LOGS", "a witness has 1 to %d keys of logs, not %zu",
			LOGS_MOST, n);
	w->logs = arena_zalloc(&w->a, n, sizeof(*w->logs));
	json_each (one, list) {
		const char *text = json_text(one) ? json_text(one) : "";
		int rc = note_key_parse(
			&w->a, bytes_of(text), arena_printf(&w->a, "'%s'", text), &w->logs[w->log_count], e);
		if (rc == OK && w->logs[w->log_count].type != NOTE_ED25519)
			rc = err_set(e, E_INPUT, "WITNESS_LOGS", "'%s' is the key of a witness, not of a log",
				text);
		if (rc)
			return rc;
		w->log_count++;
	}
	return OK;
}

static int open_home(struct witness *w, const char *home, struct err *e)
{
	struct json *doc;
	int rc = file_mkdirs(w->sys, AT_FDCWD, arena_printf(&w->a, "%s/" STATES, home), 0700, e);

	if (rc == OK)
		rc = file_mkdirs(w->sys, AT_FDCWD, arena_printf(&w->a, "%s/" CONFLICTS, home), 0700, e);
	if (rc == OK)
		rc = file_open_dir(w->sys, AT_FDCWD, home, &w->fd, e);
	if (rc == OK)
		rc = doc_read(w->sys, &w->a, w->fd, "witness.json", 4096, 0, &doc, e);
	if (rc == OK)
		rc = key_load(w->sys, AT_FDCWD, home, "witness", &w->secret, e);
	if (rc)
		return rc;
	const char *name = json_get_text(doc, "name", "");
	if (!note_name_ok(bytes_of(name)))
		return err_set(
			e, E_CORRUPT, "WITNESS_KEY", "%s/witness.json does not name the witness", home);
	w->key = note_key_of(name, NOTE_COSIGNATURE, key_public(w->secret));
	return OK;
}

int witness_start(struct server *s, const struct json *doc, struct err *e)
{
	struct witness *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		mem_exhausted(0);
	w->sys = s->sys;
	w->fd = -1;
	s->witness = w;
	rc = read_logs(w, json_get(doc, "logs"), e);
	return rc ? rc : open_home(w, json_get_text(doc, "home", ""), e);
}

void witness_stop(struct server *s)
{
	struct witness *w = s->witness;

	if (!w)
		return;
	key_free(&w->secret);
	close_fd(&w->fd);
	arena_done(&w->a);
	free(w);
	s->witness = NULL;
}
