/* draws.c — the chain is the truth of what was drawn; this is the sum over it.
 *
 * What a decision uses up stands in its signed receipt (model/draw.h).  Whoever draws looks first whether there is enough, under the lock of the
 * chain and with the sum up to the chain's end, and writes the receipt before the lock is let go.  So there is one order of all draws, whoever
 * makes them, and nothing is drawn twice or lost: what is not in the chain was not drawn.
 *
 * The sum is kept in memory between appends, and now and then in log/draws with the place that it reaches.  It goes on from there by what the chain
 * has behind.  It is believed only where the receipt at that place continues the very chain hash that it was summed up to; otherwise everything is
 * summed up again.  The file is no truth: it is not synced, and whoever removes it only makes the next one read more.  Nor can whoever writes
 * to the state directory write one that says less: it is believed only with the mark that a key of the helm home makes, which no run can read.
 *
 * Before parts of the chain are moved away the sum is put into log/draws.base, synced, because they may not be there to be read again. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS LOG_DIR "/draws"
#define DRAWS_BASE LOG_DIR "/draws.base"
#define DRAWS_KEY "draws.key" /* in the directory of keys */
#define DRAWS_DOMAIN "HELM/Draws/v2\n"

enum { LARGEST_FOLD = 64 << 20 };

struct fold {
	struct drawn drawn;
	uint64_t clock; /* of the last receipt in it */
	struct hash last; /* and its chain hash */
	off_t at; /* where the next one begins, in the file that has or will have it */
	off_t since; /* bytes of receipts that the file log/draws does not know */
	off_t kept; /* bytes of that file */
	bool is_loose; /* its place is not known: good for looking, not for going on */
};

void fold_free(struct fold **f)
{
	if (*f)
		drawn_done(&(*f)->drawn);
	free(*f);
	*f = NULL;
}

static void clear(struct fold *f)
{
	drawn_done(&f->drawn);
	*f = (struct fold){ 0 };
}

/* ---- the key ---- */

static int make_key(struct sys *s, const char *path, struct err *e)
{
	uint8_t key[BOX_KEY];
	char hex[2 * BOX_KEY + 1];

	if (s->random(s, key, sizeof(key)))
		return err_sys(e, "DRAWS_KEY", "no random bytes for '%s'", path);
	hex_encode(key, sizeof(key), hex);
	int rc = file_create(s, AT_FDCWD, path, 0600, (struct bytes){ (const uint8_t *)hex, 2 * BOX_KEY }, e);
	secret_wipe(key, sizeof(key));
	secret_wipe(hex, sizeof(hex));
	return rc && text_eq(e->code, "FILE_EXISTS") ? OK : rc; /* somebody else was quicker */
}

/* `make`: when there is none.  It signs nothing and opens nothing: without it everything is summed up again. */
static int load_key(struct sys *s, const char *keys_dir, bool make, uint8_t ret[BOX_KEY], struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err own;
	struct bytes text;

	e = e ? e : &own;
	if (!keys_dir)
		return err_set(e, E_MISSING, "DRAWS_KEY", "there is no directory of keys");
	const char *path = path_join(&a, keys_dir, DRAWS_KEY);
	int rc = file_read(s, &a, AT_FDCWD, path, 4096, 0, &text, e);
	if (rc == E_MISSING && make) {
		rc = make_key(s, path, e);
		if (rc == OK)
			rc = file_read(s, &a, AT_FDCWD, path, 4096, 0, &text, e);
	}
	if (rc)
		return rc;
	return text.n == 2 * BOX_KEY && hex_decode((const char *)text.p, text.n, ret, BOX_KEY, true)
		? OK
		: err_set(e, E_CORRUPT, "DRAWS_KEY", "'%s' is no key; remove it, and another one is made",
			  path);
}

/* Only with the key can anybody make it. */
static const char *mark(struct arena *a, const uint8_t key[BOX_KEY], struct bytes text)
{
	uint8_t mac[BOX_KEY];
	char *hex = arena_alloc(a, 2 * BOX_KEY + 1);
	struct buf whole;

	buf_init(&whole, a);
	buf_adds(&whole, DRAWS_DOMAIN);
	buf_add(&whole, text.p, text.n);
	box_derive(key, buf_bytes(&whole), mac);
	hex_encode(mac, sizeof(mac), hex);
	return hex;
}

/* ---- the file ---- */

static struct bytes fold_text(struct arena *a, const struct fold *f, const uint8_t key[BOX_KEY])
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf b, whole;

	json_seti(a, doc, "version", 2);
	json_seti(a, doc, "clock", (int64_t)f->clock);
	json_seti(a, doc, "at", (int64_t)f->at);
	json_sets(a, doc, "last", hash_hex(a, &f->last));
	json_set(a, doc, "drawn", drawn_json(a, &f->drawn));
	buf_init(&b, a);
	json_canonical(&b, doc);
	buf_init(&whole, a);
	buf_addf(&whole, "%s\n", mark(a, key, buf_bytes(&b)));
	buf_add(&whole, b.p, b.n);
	return buf_bytes(&whole);
}

/* The mark of the rest stands in front: a file that was not written to its end is none. */
static bool fold_parse(struct fold *f, struct bytes text, const uint8_t key[BOX_KEY])
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes marked = text_cut(&text, '\n');
	struct json *doc;
	int64_t clock, at;

	if (!text.p || !bytes_is(marked, mark(&a, key, text)) ||
		json_parse(&a, text, DRAWS, NULL, &doc, NULL) || json_get_int(doc, "version", 0) != 2 ||
		!json_int(json_get(doc, "clock"), &clock) || clock < 0 ||
		!json_int(json_get(doc, "at"), &at) || at < 0)
		return false;
	const char *last = json_get_text(doc, "last", "");
	if (!hex_decode(last, strlen(last), f->last.b, SHA256_SIZE, true) ||
		!drawn_from_json(&f->drawn, json_get(doc, "drawn")))
		return false;
	f->clock = (uint64_t)clock;
	f->at = (off_t)at;
	return true;
}

static bool fold_load(struct sys *s, int state_fd, const char *keys_dir, const char *name, struct fold *f)
{
	AUTO(arena_done) struct arena a = { 0 };
	uint8_t key[BOX_KEY];
	struct bytes text;

	clear(f);
	if (file_read(s, &a, state_fd, name, LARGEST_FOLD, 0, &text, NULL) ||
		load_key(s, keys_dir, false, key, NULL) || !fold_parse(f, text, key)) {
		clear(f);
		return false;
	}
	f->kept = (off_t)text.n;
	return true;
}

/* Best effort, in place and not synced: one that is torn is none, and costs the next one a longer way. */
static void fold_store(struct recorder *r, struct fold *f)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = r->sys;
	uint8_t key[BOX_KEY];

	f->since = 0;
	if (load_key(s, r->keys_dir, true, key, NULL))
		return;
	struct bytes text = fold_text(&a, f, key);
	AUTO(close_fd)
	int fd = s->open(
		s, r->state_fd, DRAWS, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0600, 0);

	f->kept = (off_t)text.n;
	if (fd >= 0)
		(void)write_all(s, fd, text.p, text.n);
}

/* ---- summing up ---- */

struct summing {
	struct fold *f;
	const char *file;
	struct arena a;
	bool is_first; /* the next line must continue what was summed up */
	bool is_elsewhere; /* and did not */
};

static bool speaks_of_draws(struct bytes line)
{
	return memmem(line.p, line.n, "\"" DRAWS_MEMBER "\":[", strlen(DRAWS_MEMBER) + 4) ||
		memmem(line.p, line.n, "\"" SETTLES_MEMBER "\":[", strlen(SETTLES_MEMBER) + 4);
}

/* Does this receipt continue the chain where the sum ends?  The first of all continues nothing. */
static bool continues(const struct fold *f, const struct json *receipt)
{
	uint8_t previous[SHA256_SIZE];
	const char *text = json_get_text(receipt, "prev_hash", "");

	if (json_get_int(receipt, "lamport_clock", 0) != (int64_t)f->clock + 1)
		return false;
	return f->clock ? hex_decode(text, strlen(text), previous, SHA256_SIZE, true) &&
			memcmp(previous, f->last.b, SHA256_SIZE) == 0
			: !*text;
}

/* Only lines that speak of draws are read; the first one is, to know that it is the next. */
static int sum_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct summing *x = arg;
	struct json *receipt;

	(void)offset;
	if (!is_whole || (!x->is_first && !speaks_of_draws(text)))
		return OK;
	arena_reset(&x->a);
	bool is_read = json_parse(&x->a, text, x->file, NULL, &receipt, NULL) == OK;
	if (x->is_first && !(is_read && continues(x->f, receipt))) {
		x->is_elsewhere = true;
		return 1;
	}
	if (!is_read)
		return damaged(e, "%s line %llu is no receipt", x->file, (unsigned long long)line);
	x->is_first = false;
	if (!drawn_receipt(&x->f->drawn, receipt))
		return damaged(e, "%s line %llu: what the receipt says of draws cannot be read", x->file,
			(unsigned long long)line);
	return OK;
}

/* One file from a place on.  False in *ret_is_here: the receipt there is not the next one. */
static int sum_file(struct sys *s, struct fold *f, int fd, const char *file, off_t from, off_t to,
	bool must_continue, bool *ret_is_here, struct err *e)
{
	struct summing x = { .f = f, .file = file, .is_first = must_continue };
	int rc = lines_of(s, fd, file, from, to, sum_line, &x, e);

	arena_done(&x.a);
	*ret_is_here = !x.is_elsewhere && !x.is_first;
	f->since += to - from;
	return rc > 0 ? OK : rc;
}

struct looking {
	const struct fold *f;
	struct arena a;
	bool is_next;
};

static int look_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct looking *x = arg;
	struct json *receipt;

	(void)offset, (void)line, (void)e;
	x->is_next = is_whole && json_parse(&x->a, text, RECEIPTS, NULL, &receipt, NULL) == OK &&
		continues(x->f, receipt);
	return 1;
}

static bool goes_on_at(
	const struct log_cut *cut, const struct fold *f, const struct log_file *file, off_t from)
{
	struct looking x = { .f = f };

	if (file->fd >= 0 && from < file->size_bytes)
		(void)lines_of(cut->sys, file->fd, file->name, from, file->size_bytes, look_line, &x, NULL);
	arena_done(&x.a);
	return x.is_next;
}

/* The last receipt of all is the last one in the sum. */
static bool ends_with(const struct log_cut *cut, const struct fold *f)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct chain_end end;
	struct bytes line;
	off_t at, size;
	size_t i = cut->n;

	while (i && (cut->chain[i - 1].fd < 0 || !cut->chain[i - 1].size_bytes))
		i--;
	return i && tail_line(cut->sys, &a, cut->chain[i - 1].fd, RECEIPTS, &line, &at, &size, NULL) == OK &&
		line.n && chain_read_last(&a, line, RECEIPTS, &end, NULL, NULL) == OK &&
		end.clock == f->clock && hash_eq(&end.last, &f->last);
}

/* Where the chain goes on behind the sum: at its place in one file, or at the beginning of one.  False: nowhere. */
static bool find_next(const struct log_cut *cut, const struct fold *f, size_t *ret, off_t *ret_from)
{
	for (size_t i = cut->n; i-- > 0;)
		for (int tries = 0; tries < 2; tries++) {
			*ret = i;
			*ret_from = tries ? 0 : f->at;
			if (goes_on_at(cut, f, &cut->chain[i], *ret_from))
				return true;
		}
	*ret = cut->n;
	return ends_with(cut, f);
}

/* Everything of the cut from one place on. */
static int sum_from(const struct log_cut *cut, struct fold *f, size_t i, off_t from, struct err *e)
{
	int rc = OK;

	for (; rc == OK && i < cut->n; i++, from = 0) {
		const struct log_file *file = &cut->chain[i];
		bool is_here;
		if (file->fd < 0 && file->moved)
			return err_set(e, E_MISSING, "DRAWS_ARCHIVED",
				"%s was moved to '%s' and cannot be read there, so what was drawn is not known; bring it back",
				file->name, file->moved_to ? file->moved_to : "another place");
		if (file->fd >= 0)
			rc = sum_file(cut->sys, f, file->fd, file->name, from, file->size_bytes, false,
				&is_here, e);
	}
	return rc;
}

/* From what is stored, if the chain goes on there; else from the beginning. */
static int sum_all(struct sys *s, int state_fd, const char *keys_dir, const struct log_cut *cut,
	struct fold *f, struct err *e)
{
	static const char *const names[] = { DRAWS, DRAWS_BASE };
	off_t from = 0;
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++)
		if (fold_load(s, state_fd, keys_dir, names[k], f) && find_next(cut, f, &i, &from))
			return sum_from(cut, f, i, from, e);
	clear(f);
	return sum_from(cut, f, 0, 0, e);
}

/* ---- the writer's ---- */

static bool is_at_end(const struct fold *f, const struct chain_end *end)
{
	return f->clock == end->clock && (!f->clock || hash_eq(&f->last, &end->last));
}

static void set_end(struct fold *f, const struct chain_end *end)
{
	f->clock = end->clock;
	f->last = end->last;
	f->at = (off_t)end->file.size_bytes;
}

/* The usual case: what is missing stands in receipts.jsonl, behind the place that the sum reaches. */
static int follow(struct recorder *r, struct fold *f, bool *ret_is_here, struct err *e)
{
	off_t size = (off_t)r->at.file.size_bytes;

	*ret_is_here = false;
	if (f->clock >= r->at.clock || f->at >= size)
		return OK;
	return sum_file(r->sys, f, r->fd, RECEIPTS, f->at, size, true, ret_is_here, e);
}

static int reach_slowly(struct recorder *r, struct arena *a, struct fold *f, struct err *e)
{
	AUTO(log_cut_close) struct log_cut cut;
	int rc = log_cut_take(r->sys, a, r->state_fd, CUT_LOCKED, &cut, e);

	if (rc == OK)
		rc = sum_all(r->sys, r->state_fd, r->keys_dir, &cut, f, e);
	return rc;
}

/* Under the lock, with the chain's end known: the sum of all of it in r->fold.  After an error nothing is known. */
static int reach(struct recorder *r, struct arena *a, struct err *e)
{
	bool is_here = false, was_known = r->fold && !r->fold->is_loose;
	int rc = OK;

	if (!r->fold && !(r->fold = calloc(1, sizeof(*r->fold))))
		mem_exhausted(0);
	if (!was_known)
		(void)fold_load(r->sys, r->state_fd, r->keys_dir, DRAWS, r->fold);
	if (!is_at_end(r->fold, &r->at)) {
		rc = follow(r, r->fold, &is_here, e);
		if (rc == OK && !is_here)
			rc = reach_slowly(r, a, r->fold, e);
	}
	if (rc) {
		fold_free(&r->fold);
		return rc;
	}
	set_end(r->fold, &r->at);
	drawn_sweep(&r->fold->drawn);
	return OK;
}

static void unclaim(struct recorder *r, const struct draft *drafts, size_t n, size_t m)
{
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k < (i < n ? drafts[i].draw_count : m); k++)
			drawn_unclaim(&r->fold->drawn, &drafts[i].draws[k]);
}

static int refuse(struct recorder *r, const struct draft *drafts, size_t i, size_t k, enum draw_answer why,
	struct err *e)
{
	static const char *const words[] = { [DRAW_FITS] = "",
		[DRAW_FULL] = "there is not enough left",
		[DRAW_USED] = "it was used before",
		[DRAW_CLOSED] = "its window is over",
		[DRAW_WRONG] = "it is no amount" };
	TABLE_COVERS(words, DRAW_ANSWERS);

	unclaim(r, drafts, i, k);
	r->refused = i;
	return err_set(e, E_DENIED, "DRAW_REFUSED", "%lld of %s '%s' cannot be drawn: %s",
		(long long)drafts[i].draws[k].amount, draw_kind_name(drafts[i].draws[k].kind),
		drafts[i].draws[k].key, words[why]);
}

static bool draw_anything(const struct draft *drafts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (drafts[i].draw_count)
			return true;
	return false;
}

int draws_claim(struct recorder *r, struct arena *a, const struct draft *drafts, size_t n, struct err *e)
{
	if (!draw_anything(drafts, n))
		return OK;
	int rc = reach(r, a, e);
	if (rc)
		return rc;
	int64_t now = r->sys->now_us(r->sys);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < drafts[i].draw_count; k++) {
			enum draw_answer answer = drawn_check(&r->fold->drawn, &drafts[i].draws[k], now);
			if (answer != DRAW_FITS)
				return refuse(r, drafts, i, k, answer, e);
			drawn_claim(&r->fold->drawn, &drafts[i].draws[k]);
		}
	return OK;
}

/* The sum goes on by the very receipts that were written, as everybody else will sum them up.  One that draws nothing and meets a sum that is up to
 * date moves it on all the same, or the next one would read it again. */
void draws_written(struct recorder *r, const struct draft *drafts, size_t n, const struct batch *b, int rc)
{
	struct fold *f = r->fold;

	if (!f || f->is_loose)
		return;
	if (draw_anything(drafts, n))
		unclaim(r, drafts, n, 0);
	if (rc || f->clock != b->clock_before)
		return;
	for (size_t i = 0; i < b->n; i++)
		if (!drawn_receipt(&f->drawn, b->receipts[i])) {
			fold_free(&r->fold);
			return;
		}
	set_end(f, &r->at);
	f->since += (off_t)b->lines.n;
	if (f->since >= r->draws_bytes && (!r->draws_bytes || f->since >= f->kept))
		fold_store(r, f);
}

/* The chain's end and the sum up to it, by somebody who could also go on from there. */
static int settle_and_reach(struct recorder *r, struct arena *a, struct err *e)
{
	int rc = key_renew(r, e);

	if (rc == OK)
		rc = chain_settle(r, a, e);
	return rc ? rc : reach(r, a, e);
}

/* What was moved away before anybody kept a sum, and cannot be read, cannot be kept now either. */
int draws_keep(struct recorder *r, struct arena *a, struct err *e)
{
	uint8_t key[BOX_KEY];
	int rc = r->keys_dir ? load_key(r->sys, r->keys_dir, true, key, e) : OK;

	if (rc == OK)
		rc = recorder_lock(r, e);
	if (rc)
		return rc;
	rc = settle_and_reach(r, a, e);
	if (rc == OK && r->keys_dir)
		rc = file_replace(r->sys, r->state_fd, DRAWS_BASE, 0600, fold_text(a, r->fold, key), e);
	recorder_unlock(r);
	return rc == E_MISSING ? OK : rc;
}

/* ---- whoever looks ---- */

/* Without a key nothing of the log may be made or mended: then this is a mere look. */
static int look(struct recorder *r, struct err *e)
{
	struct drawn found;
	int rc = draws_look(r->sys, r->state_fd, r->keys_dir, &found, e);

	if (rc)
		return rc;
	fold_free(&r->fold);
	if (!(r->fold = calloc(1, sizeof(*r->fold))))
		mem_exhausted(0);
	r->fold->drawn = found;
	r->fold->is_loose = true;
	return OK;
}

int recorder_drawn(struct recorder *r, struct arena *a, const struct drawn **ret, struct err *e)
{
	int rc = r->key ? recorder_lock(r, e) : look(r, e);

	if (rc)
		return rc;
	if (r->key) {
		rc = settle_and_reach(r, a, e);
		recorder_unlock(r);
	}
	if (rc == OK)
		*ret = &r->fold->drawn;
	return rc;
}

int draws_look(struct sys *s, int state_fd, const char *keys_dir, struct drawn *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	struct fold f = { 0 };
	int rc = log_cut_take(s, &a, state_fd, CUT_MOMENT, &cut, e);

	if (rc == OK)
		rc = sum_all(s, state_fd, keys_dir, &cut, &f, e);
	if (rc) {
		clear(&f);
		return rc;
	}
	*ret = f.drawn;
	return OK;
}
