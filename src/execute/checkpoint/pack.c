/* pack.c — objects by their SHA-256, many in one file.
 *
 * A file of its own for each object would cost a create, a sync and a rename each: thousands of them for
 * one source tree. So the new objects of one checkpoint go into one pack, which costs one sync, and a pack
 * never changes once it has its name:
 *
 *	"HELMPK1\n"  objects, one after the other  index  trailer
 *
 * The index has one row per object, sorted by id: id[32], offset u64, stored length u32, raw length u32,
 * little-endian. An object whose two lengths are equal is stored as it is, otherwise it is one zstd frame.
 * The trailer is the index's offset u64, the row count u64, SHA-256 of the index, and "HELMPKE1".  A pack's
 * name is drawn at random and never given twice: who has written a pack anew may then remove the old one,
 * whatever an interrupted attempt before left behind.
 *
 * Whatever is read is checked against the name it was asked for by: a damaged pack gives an error, never
 * wrong bytes.  Where there are several copies of an object, a whole one is found.  A pack whose index is
 * damaged counts as not there, so that what it held is saved anew by the next checkpoint of the same
 * files. */
#include "base/file.h"
#include "execute/checkpoint/parts.h"

#include <endian.h>
#include <errno.h>

enum {
	ROW_SIZE = 48,
	TRAILER_SIZE = 56,
	OUT_SIZE = 256 << 10,
	TINY = 96,
	MAX_ROWS = 64 << 20,
	ROWS_SEARCHED = 16 << 20
};
enum { REUSE_CHECKED = 256, REUSE_STRIDE = 16 };
static const char head_magic[8] = "HELMPK1\n";
static const char tail_magic[8] = "HELMPKE1";

struct pool_writer {
	int fd;
	char name[40]; /* while it has no final one */
	uint8_t *out;
	size_t out_n;
	uint64_t at; /* bytes given out so far, buffered ones included */
	uint32_t first; /* index of its first object in pool->all */
};

static void put64(uint8_t *to, uint64_t v)
{
	v = htole64(v);
	memcpy(to, &v, sizeof(v));
}

static void put32(uint8_t *to, uint32_t v)
{
	v = htole32(v);
	memcpy(to, &v, sizeof(v));
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

/* ---- the table ---- */

void pool_init(struct pool *p, struct sys *s, struct arena *a, int dir_fd)
{
	*p = (struct pool){ .sys = s, .a = a, .dir_fd = dir_fd };
	for (size_t i = 0; i < POOL_FDS; i++)
		p->open[i].fd = -1;
}

/* Ids are digests and so random enough to be their own hash.  Ends at the object's slot, or at the empty
 * one where it belongs. */
static size_t slot_of(const struct pool *p, const struct object_id *id)
{
	size_t at = (size_t)get64(id->b) & (p->slot_count - 1);

	while (p->slots[at] && !object_eq(&p->all[p->slots[at] - 1].id, id))
		at = (at + 1) & (p->slot_count - 1);
	return at;
}

/* The first copy of an object that is not known to be damaged is the one that is found. */
static void give_slot(struct pool *p, size_t index)
{
	size_t at = slot_of(p, &p->all[index].id);

	if (!p->slots[at] || p->all[p->slots[at] - 1].is_bad)
		p->slots[at] = (uint32_t)index + 1;
}

/* Twice as many slots as objects keep searches short. */
static void grow_slots(struct pool *p)
{
	p->slot_count = p->slot_count ? p->slot_count * 2 : 4096;
	p->slots = arena_zalloc(p->a, p->slot_count, sizeof(*p->slots));
	for (size_t i = 0; i < p->count; i++)
		give_slot(p, i);
}

/* At most half of the slots are used. */
static void insert(struct pool *p, const struct object *o)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 2048;
		p->all = arena_grow(p->a, p->all, p->cap * sizeof(*p->all), cap * sizeof(*p->all));
		p->cap = cap;
	}
	p->all[p->count++] = *o;
	if (p->count * 2 > p->slot_count)
		grow_slots(p);
	else
		give_slot(p, p->count - 1);
}

/* What stands in the table under this name, also when it is known to be damaged. */
static struct object *find_any(const struct pool *p, const struct object_id *id)
{
	if (!p->slot_count)
		return NULL;
	uint32_t slot = p->slots[slot_of(p, id)];
	return slot ? &p->all[slot - 1] : NULL;
}

const struct object *pool_find(const struct pool *p, const struct object_id *id)
{
	const struct object *o = find_any(p, id);

	return o && !o->is_bad ? o : NULL;
}

const char *pool_pack_of(const struct pool *p, const struct object_id *id)
{
	const struct object *o = find_any(p, id);

	return o ? p->packs[o->pack].name : NULL;
}

/* Its objects follow in pool->all, from `first` on. */
static struct pack *add_pack(struct pool *p, const char *name, uint64_t size)
{
	if (p->pack_count == p->pack_cap) {
		size_t cap = p->pack_cap ? p->pack_cap * 2 : 16;
		p->packs =
			arena_grow(p->a, p->packs, p->pack_cap * sizeof(*p->packs), cap * sizeof(*p->packs));
		p->pack_cap = cap;
	}
	struct pack *k = &p->packs[p->pack_count++];
	*k = (struct pack){ .name = arena_strdup(p->a, name), .size = size, .first = (uint32_t)p->count };
	return k;
}

/* ---- reading ---- */

/* A file that ends early is damaged, which is another thing than a failing read. */
static int read_at(struct pool *p, int fd, void *to, size_t n, uint64_t at, const char *name, struct err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = p->sys->pread(p->sys, fd, (char *)to + done, n - done, (off_t)(at + done));
		if (got < 0)
			return err_sys(e, "CHECKPOINT_READ", "cannot read pack '%s'", name);
		if (got == 0)
			return err_set(e, E_CORRUPT, "CHECKPOINT_PACK", "pack '%s' is cut short", name);
		done += (size_t)got;
	}
	return OK;
}

static int corrupt(const char *name, const char *why, struct err *e)
{
	return err_set(e, E_CORRUPT, "CHECKPOINT_PACK", "pack '%s' is damaged: %s", name, why);
}

static struct object row_object(const uint8_t *row)
{
	struct object o = { .at = get64(row + 32), .stored_n = get32(row + 40), .raw_n = get32(row + 44) };

	memcpy(o.id.b, row, SHA256_SIZE);
	return o;
}

/* `limit` is where the objects end.  A row that passes cannot lead outside the file or ask for too much memory. */
static bool is_row_ok(const struct object *o, uint64_t limit)
{
	return o->at >= sizeof(head_magic) && o->at <= limit && o->stored_n <= limit - o->at &&
		o->raw_n <= CHUNK_MAX && o->stored_n <= o->raw_n;
}

static bool are_rows_ok(const uint8_t *rows, uint64_t count, uint64_t limit)
{
	for (uint64_t i = 0; i < count; i++) {
		struct object o = row_object(rows + i * ROW_SIZE);
		if (!is_row_ok(&o, limit))
			return false;
	}
	return true;
}

/* Reads the index only.  Nothing of the pack is in the table unless all of its index is right. */
static int load_pack(struct pool *p, const char *name, struct err *e)
{
	AUTO(close_fd)
	int fd = p->sys->open(p->sys, p->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct stat st;
	uint8_t tail[TRAILER_SIZE], digest[SHA256_SIZE];

	if (fd < 0 || p->sys->stat(p->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "CHECKPOINT_READ", "cannot open pack '%s'", name);
	if (st.st_size < (off_t)(sizeof(head_magic) + TRAILER_SIZE))
		return corrupt(name, "too short", e);
	uint64_t size = (uint64_t)st.st_size;
	if (read_at(p, fd, tail, sizeof(tail), size - TRAILER_SIZE, name, e))
		return e->rc;
	uint64_t index_at = get64(tail), count = get64(tail + 8);
	if (memcmp(tail + 48, tail_magic, 8) || count > MAX_ROWS || index_at < sizeof(head_magic) ||
		index_at > size - TRAILER_SIZE || size - TRAILER_SIZE - index_at != count * ROW_SIZE)
		return corrupt(name, "no valid trailer", e);
	AUTO(arena_done) struct arena scratch = { 0 };
	uint8_t *rows = arena_alloc(&scratch, count * ROW_SIZE + 1);
	if (read_at(p, fd, rows, count * ROW_SIZE, index_at, name, e))
		return e->rc;
	sha256(rows, count * ROW_SIZE, digest);
	if (memcmp(digest, tail + 16, SHA256_SIZE))
		return corrupt(name, "the index does not match its digest", e);
	if (!are_rows_ok(rows, count, index_at))
		return corrupt(name, "an index row is out of range", e);
	add_pack(p, name, size)->count = (uint32_t)count;
	for (uint64_t i = 0; i < count; i++) {
		struct object o = row_object(rows + i * ROW_SIZE);
		o.pack = (uint32_t)p->pack_count - 1;
		insert(p, &o);
	}
	return OK;
}

/* A damaged pack is set aside in `damaged` and counts as not there; a pack that cannot be read for another
 * reason is an error, because it may be fine tomorrow. */
int pool_load(struct pool *p, struct err *e)
{
	char **names;
	size_t n;

	if (p->is_loaded || p->dir_fd < 0)
		return OK;
	if (file_list(p->sys, p->a, p->dir_fd, ".", &names, &n, e))
		return err_wrap(e, "checkpoint objects");
	p->damaged = arena_zalloc(p->a, n + 1, sizeof(*p->damaged));
	p->damaged_count = 0;
	for (size_t i = 0; i < n; i++) {
		if (!text_starts(names[i], "pack-") || !text_ends(names[i], ".pack") ||
			load_pack(p, names[i], e) == OK)
			continue;
		/* A bad sector is damage; what can be read the second time is not. */
		if (e->sys == EIO && load_pack(p, names[i], e) == OK)
			continue;
		if (e->rc != E_CORRUPT && e->sys != EIO)
			return e->rc;
		p->damaged[p->damaged_count++] = names[i];
	}
	p->is_loaded = true;
	return OK;
}

bool pool_has_packs(struct pool *p)
{
	char **names;
	size_t n = 0;
	struct err why = { 0 };

	if (p->dir_fd < 0 || file_list(p->sys, p->a, p->dir_fd, ".", &names, &n, &why))
		return false;
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], "pack-") && text_ends(names[i], ".pack"))
			return true;
	return false;
}

/* Where the rows of a pack begin whose trailer cannot be believed: objects lie side by side, so the right number of rows is the
 * one whose lengths add up to where they begin.  `tail` is the end of the file, from `from` on, without the trailer.  0: not
 * found. */
static uint64_t find_rows(const uint8_t *tail, uint64_t from, uint64_t end)
{
	uint64_t sum = sizeof(head_magic);

	for (uint64_t at = end; at >= from + ROW_SIZE;) {
		at -= ROW_SIZE;
		sum += get32(tail + (at - from) + 40);
		if (sum >= at)
			return sum == at ? at : 0;
	}
	return 0;
}

/* One damaged pack.  What its rows lead to is compared with its name by whoever reads it, so a wrong row gives a bad object and
 * never a wrong one. */
static int load_damaged(struct pool *p, const char *name, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	AUTO(close_fd)
	int fd = p->sys->open(p->sys, p->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct stat st;
	uint8_t number[8];
	struct err why;

	if (fd < 0 || p->sys->stat(p->sys, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "CHECKPOINT_READ", "cannot open pack '%s'", name);
	if (st.st_size < (off_t)(sizeof(head_magic) + TRAILER_SIZE) ||
		read_at(p, fd, number, sizeof(number), (uint64_t)st.st_size - TRAILER_SIZE, name, &why))
		return OK;
	uint64_t end = (uint64_t)st.st_size - TRAILER_SIZE, at = get64(number);
	bool is_likely = at >= sizeof(head_magic) && at <= end && (end - at) % ROW_SIZE == 0;
	uint64_t from = is_likely ? at : end > ROWS_SEARCHED ? end - ROWS_SEARCHED : 0;
	if (end - from > (uint64_t)MAX_ROWS * ROW_SIZE)
		return OK;
	uint8_t *tail = arena_alloc(&scratch, end - from + 1);
	if (read_at(p, fd, tail, end - from, from, name, &why))
		return OK;
	if (!is_likely && !(at = find_rows(tail, from, end)))
		return OK;
	uint32_t pack = (uint32_t)p->pack_count;
	add_pack(p, name, (uint64_t)st.st_size);
	for (uint64_t row = at; row < end; row += ROW_SIZE) {
		struct object o = row_object(tail + (row - from));
		o.pack = pack;
		if (!is_row_ok(&o, at))
			continue;
		insert(p, &o);
		p->packs[pack].count++;
	}
	return OK;
}

int pool_load_damaged(struct pool *p, struct err *e)
{
	for (size_t i = 0; i < p->damaged_count; i++)
		if (load_damaged(p, p->damaged[i], e))
			return e->rc;
	return OK;
}

/* A few descriptors are kept open; packs share slots by number. */
static int pack_fd(struct pool *p, uint32_t pack, int *ret, struct err *e)
{
	if (p->writer && pack == p->pack_count - 1) {
		*ret = p->writer->fd;
		return OK;
	}
	size_t slot = pack % POOL_FDS;
	if (p->open[slot].fd < 0 || p->open[slot].pack != pack) {
		close_fd(&p->open[slot].fd);
		p->open[slot].pack = pack;
		p->open[slot].fd = p->sys->open(
			p->sys, p->dir_fd, p->packs[pack].name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
		if (p->open[slot].fd < 0)
			return err_sys(e, "CHECKPOINT_READ", "cannot open pack '%s'", p->packs[pack].name);
	}
	*ret = p->open[slot].fd;
	return OK;
}

/* Made once and kept, because every object needs them. */
static void need_scratch(struct pool *p)
{
	if (p->raw)
		return;
	p->raw = arena_alloc(p->a, CHUNK_MAX);
	p->read = arena_alloc(p->a, CHUNK_MAX);
	p->stored = arena_alloc(p->a, zst_bound(CHUNK_MAX));
}

/* Bytes of one object from an open pack, unpacked and checked against its name. */
static int read_object(struct pool *p, int fd, const struct object *o, struct bytes *ret, struct err *e)
{
	const char *name = p->packs[o->pack].name;
	bool is_plain = o->stored_n == o->raw_n;
	uint8_t digest[SHA256_SIZE];

	if (read_at(p, fd, is_plain ? p->raw : p->read, o->stored_n, o->at, name, e))
		return e->rc;
	if (!is_plain && zst_unpack(&p->zst, (struct bytes){ p->read, o->stored_n }, p->raw, o->raw_n, e))
		return err_wrap(e, "pack '%s'", name);
	sha256(p->raw, o->raw_n, digest);
	if (memcmp(digest, o->id.b, SHA256_SIZE))
		return corrupt(name, "an object does not match its digest", e);
	*ret = (struct bytes){ p->raw, o->raw_n };
	return OK;
}

static int read_copy(struct pool *p, const struct object *o, struct bytes *ret, struct err *e)
{
	int fd, rc = OK;

	/* A pack that can be opened and read the second time is not damaged. */
	for (int tries = 0; tries < 2; tries++) {
		rc = pack_fd(p, o->pack, &fd, e);
		rc = rc ? rc : read_object(p, fd, o, ret, e);
		if (!rc || e->sys != EIO)
			break;
	}
	return rc;
}

/* The copy that was found is damaged.  Every other copy is tried; the first whole one takes its slot, so
 * that it is found from now on.  If there is none the first error stands. */
static int read_other(struct pool *p, struct object *bad, struct bytes *ret, struct err *e)
{
	struct err why;

	bad->is_bad = true;
	for (size_t i = 0; i < p->count; i++) {
		struct object *o = &p->all[i];
		if (o->is_bad || !object_eq(&o->id, &bad->id))
			continue;
		if (read_copy(p, o, ret, &why) == OK) {
			give_slot(p, i);
			return OK;
		}
		o->is_bad = true;
	}
	return e->rc;
}

/* Nothing is found by them, so nobody else looks at them. */
static int read_heads(struct pool *p, struct err *e)
{
	char head[sizeof(head_magic)];
	struct err why = { 0 };
	int fd;

	for (uint32_t i = 0; i < p->pack_count; i++) {
		int rc = pack_fd(p, i, &fd, &why);
		rc = rc ? rc : read_at(p, fd, head, sizeof(head), 0, p->packs[i].name, &why);
		if (rc && why.sys && why.sys != EIO) {
			*e = why;
			return rc;
		}
		p->packs[i].has_bad_head = rc || memcmp(head, head_magic, sizeof(head)) != 0;
	}
	return OK;
}

/* A copy that is damaged is never returned: another copy is tried, or it is an error. */
int pool_read(struct pool *p, const struct object_id *id, struct bytes *ret, struct err *e)
{
	if (pool_load(p, e))
		return e->rc;
	need_scratch(p);
	struct object *o = find_any(p, id);
	if (!o) {
		char hex[SHA256_HEX];
		hex_encode(id->b, SHA256_SIZE, hex);
		return err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT",
			"object %.16s... is missing from the store%s%s", hex,
			p->damaged_count ? "; damaged: " : "", p->damaged_count ? p->damaged[0] : "");
	}
	return read_copy(p, o, ret, e) == OK ? OK : read_other(p, o, ret, e);
}

int pool_check(struct pool *p, const struct object_id *id, struct err *e)
{
	struct object *o = find_any(p, id);
	struct bytes got;

	/* What is being written is read back when it is committed. */
	if (o && (o->is_checked || (p->writer && o->pack == p->pack_count - 1)))
		return OK;
	if (pool_read(p, id, &got, e)) {
		const struct err why = *e;
		return why.rc == E_CORRUPT ? err_set(e, E_CORRUPT, "CHECKPOINT_OBJECT",
						     "an object of it is missing or damaged (%s)", why.text)
					   : why.rc;
	}
	find_any(p, id)->is_checked = true;
	return OK;
}

int pool_read_all(struct pool *p, const struct checkpoint_progress *progress, struct err *e)
{
	struct bytes got;
	struct err why;

	need_scratch(p);
	for (size_t i = 0; i < p->count; i++) {
		struct object *o = &p->all[i];
		if (progress && i % 256 == 0)
			progress->step(progress->arg, "reading objects", i, p->count);
		o->is_bad = read_copy(p, o, &got, &why) != OK;
		if (o->is_bad && why.sys && why.sys != EIO) {
			*e = why;
			return e->rc;
		}
		o->is_checked = !o->is_bad;
	}
	for (size_t i = 0; i < p->count; i++)
		if (!p->all[i].is_bad)
			give_slot(p, i);
	return read_heads(p, e);
}

/* ---- writing ---- */

/* Short writes are continued. */
static int flush(struct pool *p, struct err *e)
{
	struct pool_writer *w = p->writer;

	for (size_t done = 0; done < w->out_n;) {
		ssize_t put = p->sys->write(p->sys, w->fd, w->out + done, w->out_n - done);
		if (put < 0)
			return err_sys(e, "CHECKPOINT_WRITE", "cannot write checkpoint objects");
		done += (size_t)put;
	}
	w->out_n = 0;
	return OK;
}

/* Collected in memory, and written in large pieces. */
static int put(struct pool *p, const void *from, size_t n, struct err *e)
{
	struct pool_writer *w = p->writer;

	for (size_t done = 0; done < n;) {
		size_t step = n - done < OUT_SIZE - w->out_n ? n - done : OUT_SIZE - w->out_n;
		memcpy(w->out + w->out_n, (const char *)from + done, step);
		w->out_n += step;
		done += step;
		if (w->out_n == OUT_SIZE && flush(p, e))
			return e->rc;
	}
	w->at += n;
	return OK;
}

/* The pack gets a temporary name until pool_commit(); one that a crash leaves is found by it and pruned. */
int pool_begin(struct pool *p, struct err *e)
{
	uint64_t random;

	if (pool_load(p, e))
		return e->rc;
	if (p->sys->random(p->sys, &random, sizeof(random)))
		return err_sys(e, "CHECKPOINT_RANDOM", "no random numbers");
	need_scratch(p);
	struct pool_writer *w = arena_zalloc(p->a, 1, sizeof(*w));
	snprintf(w->name, sizeof(w->name), "tmp-%016llx.pack", (unsigned long long)random);
	w->fd = p->sys->open(p->sys, p->dir_fd, w->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);
	if (w->fd < 0)
		return err_sys(e, "CHECKPOINT_WRITE", "cannot create a pack for checkpoint objects");
	w->out = arena_alloc(p->a, OUT_SIZE);
	w->first = (uint32_t)p->count;
	p->writer = w;
	add_pack(p, w->name, 0);
	return put(p, head_magic, sizeof(head_magic), e);
}

/* An object that is there already is relied upon, so it is read back: the first ones, then every so often,
 * or all of them. */
static bool can_reuse(struct pool *p, const struct object_id *id)
{
	bool is_due = p->checks_all || p->reused < REUSE_CHECKED || p->reused % REUSE_STRIDE == 0;
	struct err why;

	if (!find_any(p, id))
		return false;
	p->reused++;
	if (is_due ? pool_check(p, id, &why) == OK : pool_find(p, id) != NULL)
		return true;
	p->replaced++;
	return false;
}

/* Compressed when that makes it smaller; tiny objects are not tried. */
int pool_add(struct pool *p, struct bytes raw, struct object_id *ret, struct err *e)
{
	struct object o = { .raw_n = (uint32_t)raw.n };
	const uint8_t *bytes = raw.p;
	size_t n = raw.n;

	sha256(raw.p, raw.n, o.id.b);
	*ret = o.id;
	if (!p->writer && pool_begin(p, e))
		return e->rc;
	if (can_reuse(p, &o.id))
		return OK;
	if (raw.n > TINY) {
		if (zst_pack(&p->zst, raw, 1, p->stored, zst_bound(CHUNK_MAX), &n, e))
			return e->rc;
		if (n < raw.n)
			bytes = p->stored;
		else
			n = raw.n;
	}
	o.pack = (uint32_t)p->pack_count - 1;
	o.at = p->writer->at;
	o.stored_n = (uint32_t)n;
	if (put(p, bytes, n, e))
		return e->rc;
	insert(p, &o);
	return OK;
}

/* The stored bytes as they are; whether they are whole is checked when the new pack is read back. */
int pool_copy(struct pool *p, size_t index, struct err *e)
{
	struct object o = p->all[index];
	int fd;

	if (pack_fd(p, o.pack, &fd, e) || read_at(p, fd, p->read, o.stored_n, o.at, p->packs[o.pack].name, e))
		return e->rc;
	o.pack = (uint32_t)p->pack_count - 1;
	o.at = p->writer->at;
	if (put(p, p->read, o.stored_n, e))
		return e->rc;
	insert(p, &o);
	return OK;
}

static int by_id(const void *x, const void *y)
{
	return memcmp(((const struct object *)x)->id.b, ((const struct object *)y)->id.b, SHA256_SIZE);
}

/* The rows sorted by id, then the trailer, as the format at the top of this file says. */
static int put_index(struct pool *p, struct err *e)
{
	struct pool_writer *w = p->writer;
	size_t count = p->count - w->first;
	AUTO(arena_done) struct arena scratch = { 0 };
	struct object *sorted = arena_alloc(&scratch, count * sizeof(*sorted) + 1);
	uint8_t *rows = arena_alloc(&scratch, count * ROW_SIZE + 1), tail[TRAILER_SIZE], digest[SHA256_SIZE];

	if (count)
		memcpy(sorted, p->all + w->first, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_id);
	for (size_t i = 0; i < count; i++) {
		uint8_t *row = rows + i * ROW_SIZE;
		memcpy(row, sorted[i].id.b, SHA256_SIZE);
		put64(row + 32, sorted[i].at);
		put32(row + 40, sorted[i].stored_n);
		put32(row + 44, sorted[i].raw_n);
	}
	sha256(rows, count * ROW_SIZE, digest);
	put64(tail, w->at);
	put64(tail + 8, count);
	memcpy(tail + 16, digest, SHA256_SIZE);
	memcpy(tail + 48, tail_magic, 8);
	if (put(p, rows, count * ROW_SIZE, e) || put(p, tail, sizeof(tail), e))
		return e->rc;
	return flush(p, e);
}

/* Reads every object of the new pack back: a checkpoint that cannot be read must not be reported as
 * made. */
static int verify_written(struct pool *p, struct err *e)
{
	struct bytes got;

	for (size_t i = p->writer->first; i < p->count; i++)
		if (read_object(p, p->writer->fd, &p->all[i], &got, e))
			return err_wrap(e, "verifying the new checkpoint");
	return OK;
}

/* The packs are read again when they are next needed. */
void pool_forget(struct pool *p)
{
	p->count = p->pack_count = p->slot_count = 0;
	p->is_loaded = false;
	for (size_t i = 0; i < POOL_FDS; i++) {
		close_fd(&p->open[i].fd);
		p->open[i].fd = -1;
	}
}

/* The temporary file goes, and so does the table, which knows its objects. */
void pool_drop(struct pool *p)
{
	if (!p->writer)
		return;
	close_fd(&p->writer->fd);
	(void)p->sys->unlink(p->sys, p->dir_fd, p->writer->name, 0);
	p->writer = NULL;
	pool_forget(p); /* its objects are in the table */
}

/* Content durable, read back, then renamed, then the directory durable.  Only then may a record name its
 * objects. */
int pool_commit(struct pool *p, uint64_t *ret_bytes, struct err *e)
{
	struct pool_writer *w = p->writer;
	uint8_t random[16];
	char name[64], hex[2 * sizeof(random) + 1];

	*ret_bytes = 0;
	if (!w)
		return OK;
	if (p->count == w->first) {
		pool_drop(p);
		return OK;
	}
	if (put_index(p, e))
		return e->rc;
	if (p->sys->sync(p->sys, w->fd))
		return err_sys(e, "CHECKPOINT_SYNC", "cannot make checkpoint objects durable");
	if (verify_written(p, e))
		return e->rc;
	if (p->sys->random(p->sys, random, sizeof(random)))
		return err_sys(e, "CHECKPOINT_RANDOM", "no random numbers");
	hex_encode(random, sizeof(random), hex);
	snprintf(name, sizeof(name), "pack-%s.pack", hex);
	if (p->sys->rename(p->sys, p->dir_fd, w->name, p->dir_fd, name, RENAME_NOREPLACE) ||
		p->sys->fsync(p->sys, p->dir_fd))
		return err_sys(e, "CHECKPOINT_SYNC", "cannot store checkpoint objects");
	struct pack *k = &p->packs[p->pack_count - 1];
	k->name = arena_strdup(p->a, name);
	k->size = w->at;
	k->count = (uint32_t)(p->count - w->first);
	*ret_bytes = w->at;
	close_fd(&w->fd);
	p->writer = NULL;
	return OK;
}

void pool_done(struct pool *p)
{
	pool_drop(p);
	for (size_t i = 0; i < POOL_FDS; i++)
		close_fd(&p->open[i].fd);
	zst_done(&p->zst);
}
