/* ask.c — asks the witnesses of a log, all at once.
 *
 * The proof that a witness needs begins at what it cosigned last.  We remember that; when it is not so, its answer says what it was, and it is asked once
 * more.  So there are two rounds at most, both within the same time.  Tiles are read between the rounds by whoever asks, because a database belongs to one
 * thread; only the waiting for others is spread over threads.
 *
 * A witness's word is looked at before it is used: what is no cosignature of this very checkpoint under its key is as if it had said nothing. */
#include "base/file.h"
#include "base/text.h"
#include "serve/web.h"
#include "serve/witness/witness.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>

enum { ANSWER_MOST = 16 << 10, ROUNDS = 2 };

/* One witness while it is asked. */
struct asked {
	const struct tlog_party *party;
	struct arena a; /* of its thread */
	const char *url;
	struct tlog_request request;
	int64_t wait_ms;
	bool is_asked, is_over; /* in this round; for good */
	int rc;
	struct err e;
	struct web_answer answer;
	const char *says; /* for the report */
	struct bytes line; /* its cosignature */
};

struct asking {
	struct sys *sys;
	struct arena *a;
	const struct tile_source *tiles;
	struct tlog_head head;
	struct note note;
	struct bytes checkpoint;
	struct asked *list;
	size_t n;
	int64_t until_us;
	uint64_t *sizes, largest;
};

static void *ask_one(void *arg)
{
	struct asked *w = arg;
	const char *body = tlog_request_text(&w->a, &w->request);

	w->rc = web_ask(&w->a,
		&(struct web_ask){ .url = w->url,
			.body = bytes_of(body),
			.type = "text/plain; charset=utf-8",
			.timeout_ms = w->wait_ms,
			.most_bytes = ANSWER_MOST },
		&w->answer, &w->e);
	return NULL;
}

/* The proof from what it has; false: there is none, and it is not asked. */
static bool prepare(struct asking *x, size_t i)
{
	struct asked *w = &x->list[i];
	uint64_t old = x->sizes[i];
	struct hash path[MERKLE_MAX_PATH];
	struct err e = { 0 };
	size_t n = 0;

	if (old > x->head.size) {
		w->says = arena_printf(
			x->a, "has cosigned a larger tree, of %llu leaves", (unsigned long long)old);
		return false;
	}
	if (old && tile_prove_consistency(x->a, x->tiles, x->head.size, old, path, &n, &e)) {
		w->says = arena_printf(x->a, "needs a proof from %llu leaves on that cannot be made: %s",
			(unsigned long long)old, e.text);
		return false;
	}
	w->request = (struct tlog_request){ .old_size = old, .n = n, .checkpoint = x->checkpoint };
	if (n)
		memcpy(w->request.path, path, n * sizeof(*path));
	return true;
}

static void ask_all(struct asking *x)
{
	pthread_t threads[TLOG_POLICY_MOST];

	for (size_t i = 0; i < x->n; i++) {
		struct asked *w = &x->list[i];
		w->wait_ms = (x->until_us - x->sys->mono_us(x->sys)) / 1000;
		w->is_asked = !w->is_over && w->wait_ms > 0 && prepare(x, i);
		if (w->is_asked && pthread_create(&threads[i], NULL, ask_one, w)) {
			w->is_asked = false;
			w->says = "could not be asked: no thread";
		}
		w->is_over = w->is_over || !w->is_asked;
	}
	for (size_t i = 0; i < x->n; i++)
		if (x->list[i].is_asked)
			pthread_join(threads[i], NULL);
}

static void take_lines(struct asking *x, size_t i)
{
	struct asked *w = &x->list[i];
	struct note lines;
	struct note_seen seen;
	struct err e = { 0 };

	if (note_parse_signatures(x->a, w->answer.body, "its answer", &lines, &e) == OK) {
		lines.text = x->note.text;
		if (note_verify(x->a, &lines, &w->party->key, 1, &seen, &e) == OK) {
			w->line = (struct bytes){ (const uint8_t *)arena_strndup(
							  x->a, (const char *)seen.line.p, seen.line.n),
				seen.line.n };
			w->says = "cosigned";
			x->sizes[i] = x->head.size;
			return;
		}
	}
	w->says = arena_printf(x->a, "answered with what is no cosignature of its own: %s", e.text);
}

/* 409 says what it has. */
static void take_size(struct asking *x, size_t i)
{
	struct asked *w = &x->list[i];
	struct bytes text = w->answer.body, number = text_cut(&text, '\n');
	uint64_t size;

	if (!note_number(number, &size)) {
		w->says = "says that it has cosigned another tree, and not which";
		w->is_over = true;
		return;
	}
	if (size > x->largest)
		x->largest = size;
	if (size == x->sizes[i]) {
		w->says = arena_printf(
			x->a, "has cosigned another tree of %llu leaves", (unsigned long long)size);
		w->is_over = true;
	}
	x->sizes[i] = size;
}

static void take_answer(struct asking *x, size_t i)
{
	struct asked *w = &x->list[i];
	const char *body = (const char *)w->answer.body.p;

	if (w->rc == OK && w->answer.status == TLOG_CONFLICT) {
		take_size(x, i);
		return;
	}
	w->is_over = true;
	if (w->rc)
		w->says = arena_printf(x->a, "did not answer: %s", w->e.text);
	else if (w->answer.status == TLOG_COSIGN)
		take_lines(x, i);
	else
		w->says = arena_printf(x->a, "refused (%d): %s", w->answer.status,
			text_safe(x->a, body, w->answer.body.n < 200 ? w->answer.body.n : 200, false));
}

static const char *url_of(struct arena *a, const char *prefix)
{
	return arena_printf(a, "%s%sadd-checkpoint", prefix, text_ends(prefix, "/") ? "" : "/");
}

static void begin(struct asking *x, const struct tlog_policy *policy)
{
	x->n = policy->witness_count;
	x->list = arena_zalloc(x->a, x->n + 1, sizeof(*x->list));
	for (size_t i = 0; i < x->n; i++) {
		const char *url = policy->witnesses[i].url;
		x->list[i] = (struct asked){ .party = &policy->witnesses[i],
			.is_over = !url,
			.says = url ? "did not answer in time" : "has no URL in the policy",
			.url = url ? url_of(x->a, url) : NULL };
	}
}

static struct json *report_of(struct asking *x)
{
	struct json *list = json_new(x->a, JSON_ARRAY);

	for (size_t i = 0; i < x->n; i++) {
		struct json *one = json_new(x->a, JSON_OBJECT);
		json_sets(x->a, one, "name", x->list[i].party->key.name);
		json_sets(x->a, one, "says", x->list[i].says);
		json_push(x->a, list, one);
	}
	return list;
}

/* The note as it was, with what was added; and whether that is enough. */
static int finish(
	struct asking *x, const struct tlog_policy *policy, struct witness_result *ret, struct err *e)
{
	bool cosigned[TLOG_POLICY_MOST] = { false };
	struct buf note;

	buf_init(&note, x->a);
	buf_add(&note, x->checkpoint.p, x->checkpoint.n);
	*ret = (struct witness_result){ .largest = x->largest, .report = report_of(x) };
	for (size_t i = 0; i < x->n; i++) {
		cosigned[i] = x->list[i].line.n > 0;
		ret->cosigned += cosigned[i];
		if (cosigned[i])
			buf_add(&note, x->list[i].line.p, x->list[i].line.n);
		arena_done(&x->list[i].a);
	}
	ret->note = note.p;
	return tlog_policy_met(policy, cosigned)
		? OK
		: err_set(e, E_DENIED, "TLOG_QUORUM",
			  "%zu of %zu witnesses cosigned the tree of %llu leaves, which is not the quorum",
			  ret->cosigned, x->n, (unsigned long long)x->head.size);
}

int witness_ask(struct sys *s, struct arena *a, const struct tlog_policy *policy, const char *note,
	const struct tile_source *tiles, uint64_t *sizes, struct witness_result *ret, struct err *e)
{
	struct asking x = { .sys = s,
		.a = a,
		.tiles = tiles,
		.checkpoint = bytes_of(note),
		.sizes = sizes,
		.until_us = s->mono_us(s) + (int64_t)WITNESS_WAIT_MS * 1000 };
	int rc = note_parse(a, x.checkpoint, "the checkpoint", &x.note, e);

	if (rc == OK)
		rc = tlog_head_parse(a, x.note.text, "the checkpoint", &x.head, e);
	if (rc)
		return rc;
	begin(&x, policy);
	for (int round = 0; round < ROUNDS; round++) {
		ask_all(&x);
		for (size_t i = 0; i < x.n; i++)
			if (x.list[i].is_asked)
				take_answer(&x, i);
	}
	return finish(&x, policy, ret, e);
}

/* ---- helm witness ask ---- */

static int read_tile(void *arg, struct arena *a, const struct tile *t, struct bytes *ret, struct err *e)
{
	char path[TILE_PATH];
	struct tile full = { t->level, t->idx, TILE_WIDTH };
	int rc;

	tile_path(t, path);
	rc = file_read(sys_real(), a, *(int *)arg, path, 1 << 20, FILE_BENEATH, ret, e);
	if (rc != E_MISSING || t->width == TILE_WIDTH)
		return rc;
	/* A log may drop a partial tile when the whole one is there. */
	tile_path(&full, path);
	return file_read(sys_real(), a, *(int *)arg, path, 1 << 20, FILE_BENEATH, ret, e);
}

int witness_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	const char *policy_file = json_get_text(q, "policy", ""), *note_file = json_get_text(q, "note", "");
	struct tile_source tiles = { read_tile, &fd };
	uint64_t sizes[TLOG_POLICY_MOST] = { 0 };
	struct witness_result got = { 0 };
	struct tlog_policy policy;
	struct bytes text, note;
	struct json *doc = json_new(a, JSON_OBJECT);
	int rc = file_read(s, a, AT_FDCWD, policy_file, TLOG_POLICY_LIMIT, FILE_FOLLOW, &text, e);

	if (rc == OK)
		rc = tlog_policy_parse(a, text, policy_file, &policy, e);
	if (rc == OK)
		rc = file_read(s, a, AT_FDCWD, note_file, NOTE_LIMIT, FILE_FOLLOW, &note, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, json_get_text(q, "tiles", ""), &fd, e);
	if (rc)
		return rc;
	rc = witness_ask(
		s, a, &policy, arena_strndup(a, (const char *)note.p, note.n), &tiles, sizes, &got, e);
	if (rc && !got.note)
		return rc;
	json_setb(a, doc, "is_met", rc == OK);
	json_sets(a, doc, "note", got.note);
	json_seti(a, doc, "cosigned", (int64_t)got.cosigned);
	json_set(a, doc, "witnesses", got.report);
	if (rc)
		json_sets(a, doc, "problem", e->text);
	*ret = doc;
	return OK;
}
