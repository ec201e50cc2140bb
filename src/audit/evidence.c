/* evidence.c — what of a workspace goes into a pack, chosen by task, session or time.
 *
 * Receipts go along byte for byte as they were signed.  A few of them become one file each, named by their place in the
 * chain; many become lines of files, some thousand in each, so that a pack of a million receipts has some hundred files.  Rows
 * of the ledgers that match stay lines of a file.  The newest signed tree head and the log's leaf hashes go along: hashes show
 * nothing of what was left out, and with them each receipt's place can be checked.  Every path sorts behind "manifest.json", so
 * that the manifest comes first in the archive.
 *
 * Nothing of that is held in memory.  The manifest needs length and digest of every file before the first of them is written;
 * so everything is read twice.  The first time each line is judged, and one bit kept of it; the second time the lines with a
 * bit are written.  Both times the files are those of one moment (record/cut.c), however many writers there are.  Ledgers are
 * read behind that moment: rows that a receipt tells of were there before it.  Their rows never change, and those that come
 * later have no bit. */
#include "audit/parts.h"
#include "base/file.h"
#include "model/stamp.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

/* SINGLES: more receipts than that become lines.  PART_*: how many of them are in one file.  LEDGER_PART: a file in an archive
 * has less than 8 GiB. */
enum {
	SINGLES = 10000,
	PART_LINES = 4096,
	PART_BYTES = 16 << 20,
	READ_STEP = 256 << 10,
	LINE_LIMIT = 64 << 20,
	TAIL_BYTES = 1 << 20
};
#define LEDGER_PART ((uint64_t)1 << 32)

/* Files of the chain, or a ledger, whose lines are chosen from; one bit for each line. */
struct source {
	struct evidence *x;
	const struct log_file *files;
	size_t n;
	const char *ledger; /* NULL: the chain */
	uint8_t *bits;
	uint64_t lines, cap;
};

/* Some chosen lines of a source, which become one file of the pack. */
struct part {
	const struct source *from;
	size_t file; /* where the first of them stands (of a ledger: its place), */
	off_t at;
	uint64_t line; /* and its number in the source */
	uint64_t count;
	bool is_bare; /* one line without its newline */
};

/* A part that is being put together. */
struct making {
	struct part part;
	struct sha256 digest;
	uint64_t size_bytes, first, last; /* clocks */
};

/* A text that is replaced again and again, by as many receipts as there are, in memory of its own. */
struct kept {
	char *text; /* NULL: none yet */
	size_t room;
};

static void keep(struct arena *a, struct kept *k, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > k->room) {
		k->room = 2 * n;
		k->text = arena_text(a, k->room);
	}
	memcpy(k->text, text, n);
}

/* What was collected so far, and what the pack will say about itself. */
struct collection {
	struct sys *sys;
	struct arena *a;
	const struct evidence_choice *choice;
	struct evidence *x;
	size_t cap;
	struct arena row; /* one line's worth */
	/* The file being read. */
	struct source *source;
	size_t file;
	const char *name; /* of the ledger; NULL: the chain */
	struct making making;
	struct pack_item *parts; /* of receipts as lines */
	size_t part_n, part_cap, ledger_parts;
	bool has_any; /* that was chosen; changes of keys go along with it */
	struct buf keys; /* the lines of those changes */
	struct bound_rows bound; /* by receipts that were chosen */
	struct noted_parts noted; /* the same of notes */
	struct shown_wanted shown; /* and of what was asked */
	struct json *head;
	struct kept actor, policy_hash, newest;
	int64_t newest_us;
	bool has_actors; /* more than one */
};

static void push(struct arena *a, struct pack_item **list, size_t *n, size_t *cap, struct pack_item item)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 64;
		*list = arena_grow(a, *list, *cap * sizeof(item), more * sizeof(item));
		*cap = more;
	}
	(*list)[(*n)++] = item;
}

static void add_item(struct collection *c, struct pack_item item)
{
	push(c->a, &c->x->items, &c->x->n, &c->cap, item);
}

/* ---- lines with a bit ---- */

/* Every line has a number; the bits grow with the lines. */
static uint64_t next_line(struct collection *c)
{
	struct source *s = c->source;

	if (s->lines == s->cap) {
		uint64_t cap = s->cap ? 2 * s->cap : 1 << 16;
		s->bits = arena_grow(c->a, s->bits, s->cap / 8, cap / 8);
		memset(s->bits + s->cap / 8, 0, (cap - s->cap) / 8);
		s->cap = cap;
	}
	return s->lines++;
}

static bool has_bit(const struct source *s, uint64_t line)
{
	return line < s->lines && s->bits[line / 8] >> (line % 8) & 1;
}

/* ---- the second time ---- */

/* A window over the files of a source, from the first line of a part on. */
struct window {
	struct arena a;
	const struct part *part;
	struct sink *to;
	char *hold;
	size_t n, cap, file;
	off_t at; /* of what is read next */
	uint64_t line, left;
};

static int give(struct window *w, const char *p, size_t n, struct err *e)
{
	struct evidence *x = w->part->from->x;

	x->given_bytes += n;
	if (x->step)
		x->step(x->arg, x->given_bytes, x->total_bytes);
	return n ? w->to->write(w->to, p, n, e) : OK;
}

/* Whole lines in the window: those that are next to each other go out in one piece. */
static int give_lines(struct window *w, bool is_end, struct err *e)
{
	const struct source *s = w->part->from;
	size_t used = 0, run = 0;
	int rc = OK;

	while (rc == OK && w->left && used < w->n) {
		const char *end = memchr(w->hold + used, '\n', w->n - used);
		if (!end && !is_end)
			break;
		size_t next = end ? (size_t)(end - w->hold) + 1 : w->n;
		if (!has_bit(s, w->line++)) {
			rc = give(w, w->hold + run, used - run, e);
			run = next;
		} else if (--w->left == 0 && w->part->is_bare) {
			rc = give(w, w->hold + run, next - (end != NULL) - run, e);
			run = next;
		} else if (!end) { /* a row that only lacks its newline */
			rc = give(w, w->hold + run, next - run, e);
			run = next;
			if (rc == OK)
				rc = give(w, "\n", 1, e);
		}
		used = next;
	}
	if (rc == OK)
		rc = give(w, w->hold + run, used - run, e);
	memmove(w->hold, w->hold + used, w->n - used);
	w->n -= used;
	return rc;
}

/* Fill the window, from the next file when this one is at its end. */
static int fill_window(struct window *w, bool *ret_is_end, struct err *e)
{
	const struct source *s = w->part->from;
	const struct log_file *f = &s->files[w->file];

	if (w->n == w->cap) {
		w->hold = arena_grow(&w->a, w->hold, w->cap, 2 * w->cap);
		w->cap *= 2;
	}
	size_t room = w->cap - w->n;
	if (f->fd < 0 || (off_t)room > f->size_bytes - w->at)
		room = f->fd < 0 ? 0 : (size_t)(f->size_bytes - w->at);
	int rc = room ? log_file_read(&s->x->cut, f, w->hold + w->n, room, w->at, e) : OK;
	if (rc)
		return rc;
	w->n += room;
	w->at += (off_t)room;
	*ret_is_end = f->fd < 0 || w->at == f->size_bytes;
	return OK;
}

static int give_part(const struct pack_item *item, struct sink *to, struct err *e)
{
	const struct part *p = item->arg;
	struct window w = {
		.part = p, .to = to, .file = p->file, .at = p->at, .line = p->line, .left = p->count
	};
	int rc = OK;

	/* One receipt in a file of its own needs no large window. */
	w.cap = p->is_bare && item->size_bytes < READ_STEP ? (size_t)item->size_bytes + 1 : READ_STEP;
	w.hold = arena_text(&w.a, w.cap);
	while (rc == OK && w.left && w.file < p->from->n) {
		bool is_end = false;
		rc = fill_window(&w, &is_end, e);
		if (rc == OK)
			rc = give_lines(&w, is_end, e);
		if (is_end) {
			w.file++;
			w.at = 0;
			w.n = 0;
		}
	}
	arena_done(&w.a);
	return rc;
}

/* The rows of a ledger come one by one, from whatever pieces it lies in. */
struct rows {
	const struct part *part;
	struct sink *to;
	uint64_t line, left;
};

static int give_row(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct rows *r = arg;
	struct evidence *x = r->part->from->x;

	(void)at;
	(void)number;
	(void)is_whole;
	if (!has_bit(r->part->from, r->line++))
		return OK;
	x->given_bytes += text.n + 1;
	if (x->step)
		x->step(x->arg, x->given_bytes, x->total_bytes);
	int rc = r->to->write(r->to, text.p, text.n, e);
	if (rc == OK)
		rc = r->to->write(r->to, "\n", 1, e);
	return rc ? rc : --r->left == 0;
}

static int give_rows(const struct pack_item *item, struct sink *to, struct err *e)
{
	const struct part *p = item->arg;
	const struct evidence *x = p->from->x;
	struct rows rows = { p, to, p->line, p->count };

	return ledger_lines(x->cut.sys, x->state_fd, p->from->ledger, p->at, give_row, &rows, e);
}

/* ---- the first time ---- */

/* When a row says it happened, by the first of the names in use. */
static const char *row_time(const struct json *row, int64_t *ret_us)
{
	static const char *const names[] = { "timestamp", "updated_at", "ts", "created_at", "finished_at",
		"started_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_text(json_get(row, names[i]));
		if (text && text_parse_time(text, strlen(text), ret_us))
			return text;
	}
	return NULL;
}

/* Some rows carry these names in their metadata. */
static bool has_member(const struct json *row, const char *const *names, const char *value)
{
	const struct json *metadata = json_get(row, "metadata");

	for (; *names; names++)
		if (text_eq(json_get_text(row, *names, ""), value) ||
			text_eq(json_get_text(metadata, *names, ""), value))
			return true;
	return false;
}

static bool is_of_tenant(const struct json *row, const struct evidence_choice *choice)
{
	const char *named = json_get_text(json_get(row, "metadata"), "tenant", NULL);

	return named ? text_eq(named, choice->tenant) : !choice->needs_tenant;
}

/* All conditions that are given must hold.  A row without a time is left out when a span is asked for: it
 * cannot be shown to lie in it. */
static bool is_chosen(const struct collection *c, const struct json *row)
{
	static const char *const tasks[] = { "task_id", "correlation_id", "parent_task_id", NULL };
	static const char *const sessions[] = { "session", "session_id", "owner_session_id", "correlation_id",
		NULL };
	const struct evidence_choice *choice = c->choice;
	int64_t us;

	if (choice->task && !has_member(row, tasks, choice->task))
		return false;
	if (choice->session && !has_member(row, sessions, choice->session))
		return false;
	if (choice->tenant && !is_of_tenant(row, choice))
		return false;
	if (!choice->has_since && !choice->has_until)
		return true;
	if (!row_time(row, &us))
		return false;
	return (!choice->has_since || us >= choice->since_us) &&
		(!choice->has_until || us < choice->until_us);
}

/* The newest time of anything chosen becomes the pack's creation time: the same selection gives the same
 * pack. */
static void note_time(struct collection *c, const struct json *row)
{
	int64_t us;
	const char *text = row_time(row, &us);

	if (!text || (c->newest.text && us <= c->newest_us))
		return;
	c->newest_us = us;
	keep(c->a, &c->newest, text);
}

/* Characters that every file system keeps apart and no reader of archives trips over. */
static char *safe_name(struct arena *a, const char *id)
{
	size_t n = strlen(id) > 80 ? 80 : strlen(id);
	char *name = arena_strndup(a, id, n);

	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *p))
			*p = '_';
	return *name ? name : arena_strdup(a, "receipt");
}

/* The pack names one actor when all receipts have the same, and the policy of the last one. */
static void note_receipt(struct collection *c, const struct json *receipt)
{
	const char *actor = json_get_text(receipt, "executor_id", ""),
		   *policy = json_get_text(receipt, "policy_hash", "");

	if (*actor && c->actor.text && !text_eq(c->actor.text, actor))
		c->has_actors = true;
	if (*actor)
		keep(c->a, &c->actor, actor);
	if (*policy)
		keep(c->a, &c->policy_hash, policy);
	note_time(c, receipt);
}

static struct pack_item part_item(struct collection *c, const struct making *m, const char *path)
{
	struct part *part = arena_alloc(c->a, sizeof(*part));
	struct pack_item item = { .path = path,
		.give = c->name ? give_rows : give_part,
		.arg = part,
		.size_bytes = m->size_bytes };
	struct sha256 digest = m->digest;

	*part = m->part;
	sha256_end(&digest, item.digest.b);
	return item;
}

/* The part that was being put together is complete. */
static void end_part(struct collection *c)
{
	struct making *m = &c->making;

	if (!m->part.count)
		return;
	if (!c->name)
		push(c->a, &c->parts, &c->part_n, &c->part_cap,
			part_item(c, m,
				arena_printf(c->a, "receipts/%012llu-%012llu.jsonl",
					(unsigned long long)m->first, (unsigned long long)m->last)));
	else
		add_item(c,
			part_item(c, m,
				c->ledger_parts++
					? arena_printf(c->a, "transcripts/%.*s.%04zu.jsonl",
						  (int)strlen(c->name) - 6, c->name, c->ledger_parts)
					: arena_printf(c->a, "transcripts/%s", c->name)));
	*m = (struct making){ 0 };
}

/* A line was chosen: its bit, and it joins the part. */
static void take_line(struct collection *c, uint64_t line, off_t at, struct bytes text, uint64_t clock)
{
	struct making *m = &c->making;

	if (m->part.count &&
		(c->name ? m->size_bytes + text.n >= LEDGER_PART
			 : m->part.count == PART_LINES || m->size_bytes + text.n > PART_BYTES))
		end_part(c);
	if (!m->part.count) {
		*m = (struct making){ .part = { c->source, c->file, at, line, 0, false }, .first = clock };
		sha256_begin(&m->digest);
	}
	c->source->bits[line / 8] |= (uint8_t)(1 << line % 8);
	sha256_add(&m->digest, text.p, text.n);
	sha256_add(&m->digest, "\n", 1);
	m->size_bytes += text.n + 1;
	m->last = clock;
	m->part.count++;
}

/* The first so many receipts are also prepared as files of their own, which is what a small pack has. */
static void take_single(struct collection *c, uint64_t line, off_t at, struct bytes text, uint64_t clock,
	const struct json *receipt)
{
	struct making m = { .part = { c->source, c->file, at, line, 1, true }, .size_bytes = text.n };

	if (c->x->receipts > (c->choice->singles ? c->choice->singles : SINGLES))
		return;
	sha256_begin(&m.digest);
	sha256_add(&m.digest, text.p, text.n);
	add_item(c,
		part_item(c, &m,
			arena_printf(c->a, "receipts/%08llu-%s.json", (unsigned long long)clock,
				safe_name(c->a,
					receipt_id_short(c->a, json_get_text(receipt, "receipt_id", ""))))));
}

/* The position is the receipt's place in the chain, so that a name does not depend on the selection. */
static int take_receipt(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct collection *c = arg;
	uint64_t line = next_line(c);
	struct json *receipt;

	(void)number;
	(void)e;
	arena_reset(&c->row);
	if (!is_whole || json_parse(&c->row, text, RECEIPTS, NULL, &receipt, NULL) ||
		!json_is(receipt, JSON_OBJECT))
		return OK;
	/* Changes of keys always go along: with them the pack can be verified from any one of the keys. */
	bool is_seam = text_eq(json_get_text(receipt, "effect_id", ""), KEY_EFFECT);
	bool is_wanted = is_chosen(c, receipt);
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	if ((!is_wanted && !is_seam) || clock < 1)
		return OK;
	if (is_wanted)
		note_receipt(c, receipt);
	c->x->receipts++;
	bound_take(&c->bound, receipt);
	noted_take(&c->noted, receipt);
	shown_take(&c->shown, receipt);
	c->has_any |= is_wanted && !is_seam;
	if (is_seam) {
		buf_add(&c->keys, text.p, text.n);
		buf_addc(&c->keys, '\n');
	}
	take_line(c, line, at, text, (uint64_t)clock);
	take_single(c, line, at, text, (uint64_t)clock, receipt);
	return OK;
}

/* Lines that match, and those that a chosen receipt binds, go along as they stand; lines that are not JSON cannot be judged and are left
 * out. */
static int take_row(void *arg, off_t at, uint64_t number, struct bytes text, bool is_whole, struct err *e)
{
	struct collection *c = arg;
	uint64_t line = next_line(c);
	struct json *row;

	(void)number;
	(void)is_whole;
	(void)e;
	arena_reset(&c->row);
	if (!text.n || json_parse(&c->row, text, c->name, NULL, &row, NULL))
		return OK;
	if (bound_meet(&c->bound, text) || is_chosen(c, row)) {
		note_time(c, row);
		c->has_any = true;
		take_line(c, line, at, text, 0);
	}
	return OK;
}

static struct source *new_source(struct collection *c, const struct log_file *files, size_t n)
{
	c->source = arena_zalloc(c->a, 1, sizeof(*c->source));
	*c->source = (struct source){ .x = c->x, .files = files, .n = n };
	return c->source;
}

/* The newest file of the cut that has anything in it, or NULL. */
static struct log_file *newest_file(const struct log_cut *cut)
{
	size_t i = cut->n;

	while (i && (cut->chain[i - 1].fd < 0 || !cut->chain[i - 1].size_bytes))
		i--;
	return i ? &cut->chain[i - 1] : NULL;
}

/* Under the lock.  What a killed writer left of a line, and receipts without a leaf, whose writer waits for the disk, may be taken
 * back, and others written in their place; so the cut ends before them, and they come into the next pack.  When more lack
 * their leaf than can be on their way, leaves were lost, and nothing is left out for that. */
static void end_where_it_is_sure(struct collection *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct log_file *f = newest_file(&c->x->cut);
	uint64_t leaves = (uint64_t)c->x->cut.leaves.size_bytes / LEAF_TEXT, last = 0, clock;
	struct json *receipt;

	if (!f)
		return;
	size_t n = f->size_bytes < TAIL_BYTES ? (size_t)f->size_bytes : TAIL_BYTES;
	off_t from = f->size_bytes - (off_t)n;
	char *text = arena_text(&a, n);
	if (log_file_read(&c->x->cut, f, text, n, from, NULL))
		return;
	const char *end = memrchr(text, '\n', n), *start;
	if (end || !from)
		f->size_bytes = from + (end ? end - text + 1 : 0);
	for (; end; end = start > text ? start - 1 : NULL) {
		start = memrchr(text, '\n', (size_t)(end - text));
		start = start ? start + 1 : text;
		struct bytes line = { (const uint8_t *)start, (size_t)(end - start) };
		if (json_parse(&a, line, RECEIPTS, NULL, &receipt, NULL))
			return;
		clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
		last = last ? last : clock;
		if (clock <= leaves || last - leaves > RECENT_LEAVES)
			return;
		f->size_bytes = from + (start - text);
	}
}

static int take_chain(struct collection *c, struct err *e)
{
	const struct log_cut *cut = &c->x->cut;
	int rc = OK;

	(void)new_source(c, cut->chain, cut->n);
	buf_init(&c->keys, c->a);
	for (c->file = 0; rc == OK && c->file < cut->n; c->file++) {
		if (cut->chain[c->file].fd < 0 && !c->x->away)
			c->x->away = cut->chain[c->file].name;
		rc = log_file_lines(cut, &cut->chain[c->file], take_receipt, c, e);
	}
	end_part(c);
	/* Few: as files of their own.  Many: as lines. */
	if (c->x->receipts > (c->choice->singles ? c->choice->singles : SINGLES)) {
		c->x->items = c->parts;
		c->x->n = c->part_n;
		c->cap = c->part_cap;
		if (c->keys.n)
			add_item(c,
				(struct pack_item){
					.path = "order-of-keys.jsonl", .content = buf_bytes(&c->keys) });
	}
	return rc;
}

static bool has_name(char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(list[i], name))
			return true;
	return false;
}

/* Names of ledgers in one directory.  Pieces that were put aside are called after their ledger: "<name>-NNNNNN.jsonl...". */
static int add_ledgers(struct collection *c, int state_fd, const char *dir, char **list, size_t most,
	size_t *n, struct err *e)
{
	bool is_aside = !text_eq(dir, ".");
	char **names;
	size_t count;
	int rc = file_list(c->sys, c->a, state_fd, dir, &names, &count, e);

	if (rc)
		return rc == E_MISSING ? OK : rc;
	for (size_t i = 0; i < count && *n < most; i++) {
		const char *end = strstr(names[i], ".jsonl");
		size_t stem = end ? (size_t)(end - names[i]) : 0;
		if (!end || text_starts(names[i], "receipts") || names[i][0] == '.' ||
			(!is_aside && end[6]) || (is_aside && stem < 8))
			continue;
		char *name = arena_printf(c->a, "%.*s.jsonl", (int)(is_aside ? stem - 7 : stem), names[i]);
		if (!has_name(list, *n, name))
			list[(*n)++] = name;
	}
	return OK;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

/* All ledgers of the workspace, except the files of the chain, which are taken receipt by receipt. */
static int take_ledgers(struct collection *c, int state_fd, struct err *e)
{
	enum { MOST = 4096 };
	char **names = arena_zalloc(c->a, MOST, sizeof(*names));
	size_t n = 0;
	int rc = add_ledgers(c, state_fd, ".", names, MOST, &n, e);

	if (rc == OK)
		rc = add_ledgers(c, state_fd, LEDGER_SEGMENTS "/waiting", names, MOST, &n, e);
	if (rc == OK)
		rc = add_ledgers(c, state_fd, LEDGER_SEGMENTS, names, MOST, &n, e);
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; rc == OK && i < n; i++) {
		c->name = names[i];
		c->file = 0;
		c->ledger_parts = 0;
		new_source(c, NULL, 0)->ledger = names[i];
		rc = ledger_lines(c->sys, state_fd, names[i], 0, take_row, c, e);
		end_part(c);
	}
	return rc;
}

/* ---- the log ---- */

/* Keeps the last head that can be read to its end: the newest one signed. */
static int keep_head(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct collection *c = arg;
	struct json *head;

	(void)offset;
	(void)line;
	(void)e;
	if (!is_whole)
		return OK;
	arena_reset(&c->row);
	c->head = json_parse(&c->row, text, HEADS, NULL, &head, NULL) ? NULL : head;
	return OK;
}

/* Leaves are made from receipts and can be damaged like any file; the newest head says what they were.  Only lines up to its size. */
static void grow(struct merkle *tree, uint64_t size, const char *lines, size_t n)
{
	struct hash leaf = { 0 };

	for (; n && tree->size < size; lines += LEAF_TEXT, n -= LEAF_TEXT) {
		(void)hex_decode(lines, 64, leaf.b, SHA256_SIZE, true);
		merkle_append(tree, &leaf);
	}
}

/* The leaves of the cut, some at a time: to `to`, or, when it is NULL, through the digest and into the tree, up to `size`. */
static int read_leaves(const struct evidence *x, struct sink *to, struct sha256 *digest, struct merkle *tree,
	uint64_t size, uint64_t n, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	enum { STEP = READ_STEP / LEAF_TEXT * LEAF_TEXT }; /* whole lines */
	char *step = arena_text(&a, STEP);
	int rc = OK;

	for (uint64_t at = 0; rc == OK && at < n;) {
		size_t k = n - at < STEP ? (size_t)(n - at) : STEP;
		rc = log_file_read(&x->cut, &x->cut.leaves, step, k, (off_t)at, e);
		if (rc == OK && !to) {
			sha256_add(digest, step, k);
			grow(tree, size, step, k);
		}
		if (rc == OK && to)
			rc = to->write(to, step, k, e);
		at += k;
	}
	return rc;
}

static int give_leaves(const struct pack_item *item, struct sink *to, struct err *e)
{
	return read_leaves(item->arg, to, NULL, NULL, 0, item->size_bytes, e);
}

/* Head and leaves of the same moment as the receipts.  Leaves are optional: without them a reader cannot
 * check places, and is told so. */
static int take_log(struct collection *c, struct err *e)
{
	const struct log_cut *cut = &c->x->cut;
	struct pack_item leaves = { .path = "transparency/leaves.txt", .give = give_leaves, .arg = c->x };
	struct merkle tree = { 0 };
	struct hash root, said;
	struct sha256 digest;
	struct buf b;
	int rc = log_file_lines(cut, &cut->heads, keep_head, c, e);

	if (rc == OK && c->head) {
		buf_init(&b, c->a);
		json_write(&b, c->head, JSON_INDENT | JSON_HTML_SAFE);
		add_item(c, (struct pack_item){ .path = "transparency/head.json", .content = buf_bytes(&b) });
	}
	leaves.size_bytes = (uint64_t)cut->leaves.size_bytes / LEAF_TEXT * LEAF_TEXT;
	if (rc || !leaves.size_bytes)
		return rc;
	sha256_begin(&digest);
	rc = read_leaves(c->x, NULL, &digest, &tree, (uint64_t)json_get_int(c->head, "tree_size", 0),
		leaves.size_bytes, e);
	sha256_end(&digest, leaves.digest.b);
	add_item(c, leaves);
	root = merkle_head(&tree);
	if (rc == OK && !c->choice->any_leaves &&
		hash_from_hex(json_get_text(c->head, "root_hash", ""), &said) && !hash_eq(&root, &said))
		rc = err_set(e, E_CORRUPT, "LOG_LEAVES",
			"%s does not have the root that was signed, so a pack with it would not verify; "
			"'helm log check' says what helps",
			LEAVES);
	return rc;
}

static void add_noted(void *arg, struct pack_item item)
{
	add_item(arg, item);
}

static bool is_everything(const struct evidence_choice *choice)
{
	return !choice->task && !choice->session && !choice->tenant && !choice->needs_tenant &&
		!choice->has_since && !choice->has_until;
}

/* record.json: what was found about the record when the pack was made, and which ledger entries its receipts bind. */
static void take_record(struct collection *c)
{
	const struct record_verdict *v = c->choice->verdict;
	struct json *doc = json_new(c->a, JSON_OBJECT);
	struct buf b;

	json_sets(c->a, doc, "version", "helm-pack-record/v1");
	if (v) {
		json_setb(c->a, doc, "sound", v->is_sound);
		if (!v->is_sound)
			json_sets(c->a, doc, "why", v->why);
		json_set(c->a, doc, "findings", json_copy(c->a, v->findings));
	}
	json_set(c->a, doc, "entries", bound_json(&c->bound));
	json_set(c->a, doc, "notes", noted_items(&c->noted, c->sys, c->x->state_fd, add_noted, c));
	json_set(c->a, doc, "shown", shown_items(&c->shown, c->sys, c->x->state_fd, add_noted, c));
	buf_init(&b, c->a);
	json_write(&b, doc, JSON_INDENT | JSON_HTML_SAFE);
	add_item(c, (struct pack_item){ .path = "record.json", .content = buf_bytes(&b) });
}

/* Several actors are named as the workspace. */
static const char *actor_did(const struct collection *c)
{
	if (!c->actor.text || c->has_actors)
		return "did:helm:workspace";
	return text_starts(c->actor.text, "did:")
		? c->actor.text
		: arena_printf(c->a, "did:helm:%s", safe_name(c->a, c->actor.text));
}

/* What was asked for, as the exporter stated it. */
static const char *intent_id(const struct collection *c)
{
	const struct evidence_choice *choice = c->choice;
	const char *since = choice->has_since ? text_time_z(c->a, choice->since_us) : "",
		   *until = choice->has_until ? text_time_z(c->a, choice->until_us) : "";

	if (choice->task)
		return choice->task;
	if (choice->session)
		return choice->session;
	return *since || *until ? arena_printf(c->a, "%s/%s", since, until) : "all";
}

/* The hash of nothing when no receipt names a policy: the member is required. */
static const char *policy_hash(const struct collection *c)
{
	if (!c->policy_hash.text)
		return sha256_prefixed(c->a, "", 0);
	return text_starts(c->policy_hash.text, "sha256:")
		? c->policy_hash.text
		: arena_printf(c->a, "sha256:%s", c->policy_hash.text);
}

static void set_about(struct collection *c)
{
	struct pack_about *about = &c->x->about;

	*about = (struct pack_about){ actor_did(c), intent_id(c), policy_hash(c),
		c->newest.text ? stamp_canonical(c->a, c->newest.text, strlen(c->newest.text), true)
			       : "1970-01-01T00:00:00Z" };
	if (!about->created_at)
		about->created_at = text_time_z(c->a, c->newest_us);
	for (size_t i = 0; i < c->x->n; i++)
		c->x->total_bytes += c->x->items[i].give ? c->x->items[i].size_bytes : 0;
}

/* Chain, leaves and heads are read as they were at one moment, so that they fit each other while others
 * write.  The log goes along only when there are receipts whose place it could show. */
int evidence_collect(struct sys *s, struct arena *a, int state_fd, const struct evidence_choice *choice,
	struct evidence *ret, struct err *e)
{
	struct collection c = { .sys = s, .a = a, .choice = choice, .x = ret, .bound = { .a = a } };
	int rc;

	c.shown.a = a;
	c.noted = (struct noted_parts){ .a = a, .is_carried = is_everything(choice) };
	*ret = (struct evidence){ .state_fd = state_fd,
		.cut = { .lock_fd = -1, .leaves = { .fd = -1 }, .heads = { .fd = -1 } } };
	if (state_fd < 0)
		return err_set(e, E_MISSING, "PACK_EMPTY", "the workspace has recorded nothing yet");
	rc = log_cut_take(s, a, state_fd, CUT_HELD, &ret->cut, e);
	if (rc == OK) {
		end_where_it_is_sure(&c);
		log_cut_release(&ret->cut);
		rc = take_chain(&c, e);
	}
	bound_ready(&c.bound);
	if (rc == OK)
		rc = take_ledgers(&c, state_fd, e);
	if (rc == OK && !c.has_any)
		rc = err_set(e, E_MISSING, "PACK_EMPTY",
			"nothing recorded matches: try --all, or `helm receipts list`");
	if (rc == OK && ret->receipts) {
		take_record(&c);
		rc = take_log(&c, e);
	}
	if (rc == OK)
		set_about(&c);
	arena_done(&c.row);
	return rc;
}

void evidence_close(struct evidence *x)
{
	if (x->cut.sys)
		log_cut_close(&x->cut);
}
