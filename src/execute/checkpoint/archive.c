/* archive.c — checkpoints of the program Helm descends from: a tar.gz for each.
 *
 * They are read into the same tree that our own manifests give, so preview and restore know no difference.
 * base/tar.h is for archives from strangers and refuses links, names that differ only in case, and much
 * else; these archives were made of this very workspace, and refusing one of them would lose the way back.
 * So this reader takes what it can, leaves out what it cannot (devices, sockets), and trusts no name: every
 * path passes the same check as a manifest's.
 *
 * For a restore the content goes into the object store, where it stays until the next prune.  A preview
 * writes nothing: it keeps small files in memory, for diffs. */
#include "base/gzip.h"
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum { BLOCK = 512, EXTRA_MAX = 64 << 10, KEPT_FILE = 1 << 20, KEPT_ALL = 64 << 20, PIECE = 64 << 10 };

struct loader {
	struct plan *plan;
	struct stream *in;
	struct feed feed;
	uint8_t *piece;
	size_t kept_bytes;
};

/* What one member says, extended headers included. */
struct member {
	const char *path, *target;
	char type;
	uint64_t size;
	int64_t mtime_ns;
	uint32_t mode, uid, gid;
	bool has_mtime;
};

static int damaged(struct err *e, const char *why)
{
	return err_set(e, E_CORRUPT, "CHECKPOINT_ARCHIVE", "the archive is damaged: %s", why);
}

/* ---- headers ---- */

/* Octal, or GNU's base 256 with the top bit set.  False for anything else, and for more than a signed
 * number holds. */
static bool get_number(const uint8_t *p, size_t n, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	if (p[0] & 0x80) {
		for (i = n - 8; i < n; i++)
			value = value << 8 | p[i];
		*ret = value;
		return value <= INT64_MAX;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(p[i] - '0');
	*ret = value;
	return (i == n || !p[i] || p[i] == ' ') && value <= INT64_MAX;
}

/* The checksum counts its own field as spaces. */
static bool checksum_ok(const uint8_t *block)
{
	uint64_t sum = 8 * ' ', stated;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i < 148 || i >= 156 ? block[i] : 0;
	return get_number(block + 148, 8, &stated) && stated == sum;
}

/* A field that fills its place has no NUL at its end. */
static const char *field(struct arena *a, const uint8_t *p, size_t n)
{
	return arena_strndup(a, (const char *)p, strnlen((const char *)p, n));
}

/* Values that an extended header gave before are kept. */
static int parse_header(struct arena *a, const uint8_t *block, struct member *m, struct err *e)
{
	uint64_t mode, uid, gid, mtime;

	if (!checksum_ok(block))
		return damaged(e, "a header's checksum is wrong");
	if (!get_number(block + 124, 12, &m->size) || !get_number(block + 100, 8, &mode) ||
		!get_number(block + 108, 8, &uid) || !get_number(block + 116, 8, &gid) ||
		!get_number(block + 136, 12, &mtime))
		return damaged(e, "a number in a header is none");
	m->type = block[156] ? (char)block[156] : '0';
	m->mode = mode & 07777;
	m->uid = (uint32_t)uid;
	m->gid = (uint32_t)gid;
	if (!m->has_mtime)
		m->mtime_ns = (int64_t)(mtime > INT32_MAX ? INT32_MAX : mtime) * 1000000000;
	if (!m->target)
		m->target = field(a, block + 157, 100);
	if (m->path)
		return OK;
	m->path = field(a, block, 100);
	if (memcmp(block + 257, "ustar\0", 6) == 0 && block[345])
		m->path = arena_printf(a, "%s/%s", field(a, block + 345, 155), m->path);
	return OK;
}

/* "1234567890.123456"; digits behind nanoseconds are dropped. */
static bool pax_time(const char *text, int64_t *ret_ns)
{
	const char *dot = strchr(text, '.');
	int64_t seconds, part = 0, scale = 100000000;
	char number[24];
	size_t n = dot ? (size_t)(dot - text) : strlen(text);

	if (n >= sizeof(number))
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	if (!text_int(number, &seconds) || seconds < 0 || seconds > INT32_MAX)
		return false;
	for (const char *p = dot ? dot + 1 : ""; *p >= '0' && *p <= '9'; p++, scale /= 10)
		part += (*p - '0') * scale;
	*ret_ns = seconds * 1000000000 + part;
	return true;
}

/* Only path, link target and time matter here; other records are passed over. */
static void take_record(struct arena *a, struct bytes line, struct member *m)
{
	const uint8_t *equals = memchr(line.p, '=', line.n);

	if (!equals)
		return;
	struct bytes key = { line.p, (size_t)(equals - line.p) };
	const char *value = arena_strndup(a, (const char *)equals + 1, line.n - key.n - 1);
	if (bytes_is(key, "path"))
		m->path = value;
	else if (bytes_is(key, "linkpath"))
		m->target = value;
	else if (bytes_is(key, "mtime"))
		m->has_mtime = pax_time(value, &m->mtime_ns);
}

/* Records are "LENGTH KEY=VALUE\n", where LENGTH counts the whole record. */
static int parse_pax(struct arena *a, struct bytes body, struct member *m, struct err *e)
{
	while (body.n) {
		size_t n = 0, i = 0;
		while (i < body.n && i < 6 && body.p[i] >= '0' && body.p[i] <= '9')
			n = n * 10 + (size_t)(body.p[i++] - '0');
		if (!i || n <= i + 1 || n > body.n || body.p[i] != ' ' || body.p[n - 1] != '\n')
			return damaged(e, "an extended header is malformed");
		take_record(a, (struct bytes){ body.p + i + 1, n - i - 2 }, m);
		body.p += n;
		body.n -= n;
	}
	return OK;
}

/* Exactly n bytes: an archive that ends early is damaged. */
static int fill(struct loader *l, void *to, size_t n, struct err *e)
{
	size_t got = 0;

	if (stream_fill(l->in, to, n, &got, e))
		return e->rc;
	return got == n ? OK : damaged(e, "it ends too early");
}

/* 'x': a pax header; 'L' and 'K': GNU's long name and link target; 'g' is read and passed over. */
static int read_extra(struct loader *l, struct member *m, struct member *next, struct err *e)
{
	struct arena *a = l->plan->a;
	size_t padded = (size_t)(m->size + BLOCK - 1) / BLOCK * BLOCK;

	if (m->size > EXTRA_MAX)
		return damaged(e, "an extended header is too long");
	uint8_t *body = arena_alloc(a, padded + 1);
	if (fill(l, body, padded, e))
		return e->rc;
	if (m->type == 'x')
		return parse_pax(a, (struct bytes){ body, (size_t)m->size }, next, e);
	if (m->type == 'L')
		next->path = field(a, body, (size_t)m->size);
	if (m->type == 'K')
		next->target = field(a, body, (size_t)m->size);
	return OK;
}

/* The next member with its extended headers applied; type 0 at the end.  The number of headers in a row is
 * bounded. */
static int next_member(struct loader *l, struct member *ret, struct err *e)
{
	struct member extra = { 0 };
	uint8_t block[BLOCK];
	static const uint8_t zeros[BLOCK];

	for (int depth = 0; depth < 8; depth++) {
		struct member m = extra;
		if (fill(l, block, BLOCK, e))
			return e->rc;
		if (memcmp(block, zeros, BLOCK) == 0) {
			ret->type = 0;
			return OK;
		}
		if (parse_header(l->plan->a, block, &m, e))
			return e->rc;
		if (!strchr("xgLK", m.type)) {
			*ret = m;
			return OK;
		}
		if (read_extra(l, &m, &extra, e))
			return e->rc;
	}
	return damaged(e, "too many extended headers in a row");
}

/* ---- content ---- */

/* All pieces of the member's content go through fn, then the padding to a whole block is read.  fn NULL:
 * passed over. */
static int each_piece(struct loader *l, uint64_t n, content_piece *fn, void *arg, struct err *e)
{
	uint8_t pad[BLOCK];
	size_t pad_n = (size_t)(-n & (BLOCK - 1));

	while (n) {
		size_t step = n < PIECE ? (size_t)n : PIECE;
		if (fill(l, l->piece, step, e))
			return e->rc;
		if (fn && fn(arg, (struct bytes){ l->piece, step }, e))
			return e->rc;
		n -= step;
	}
	return fill(l, pad, pad_n, e);
}

static int into_feed(void *arg, struct bytes piece, struct err *e)
{
	return feed_add(arg, piece, e);
}

struct digest {
	struct sha256 sha;
	struct buf *kept; /* or NULL */
};

static int into_digest(void *arg, struct bytes piece, struct err *e)
{
	struct digest *d = arg;

	(void)e;
	sha256_add(&d->sha, piece.p, piece.n);
	if (d->kept)
		buf_add(d->kept, piece.p, piece.n);
	return OK;
}

/* A restore needs the content in the store.  A preview only needs its digest, and the text of small files
 * for diffs. */
static int load_content(struct loader *l, struct entry *x, struct err *e)
{
	struct plan *p = l->plan;
	struct digest d = { 0 };
	struct buf kept;

	if (!p->req->is_dry_run) {
		feed_begin(&l->feed, p->st->pool, p->a, false);
		if (each_piece(l, x->size, into_feed, &l->feed, e))
			return e->rc;
		return feed_end(&l->feed, &x->content, e);
	}
	if (p->req->with_diff && x->size <= KEPT_FILE && l->kept_bytes + x->size <= KEPT_ALL) {
		buf_init(&kept, p->a);
		d.kept = &kept;
		l->kept_bytes += x->size;
	}
	sha256_begin(&d.sha);
	if (each_piece(l, x->size, into_digest, &d, e))
		return e->rc;
	sha256_end(&d.sha, x->content.sha.b);
	x->content.n = x->size;
	x->text = d.kept ? kept.p : NULL;
	return OK;
}

/* ---- members into entries ---- */

/* Version-control data and Helm's state are never put back from an archive. */
static bool is_history(struct plan *p, const char *path)
{
	const struct selection none = { 0 };
	struct bytes rest = bytes_of(path), first = text_cut(&rest, '/');

	if (bytes_is(first, p->st->state_name))
		return true;
	rest = bytes_of(path);
	while (rest.p) {
		struct bytes part = text_cut(&rest, '/');
		if (selection_hides_name(&none, arena_strndup(p->a, (const char *)part.p, part.n)))
			return true;
	}
	return false;
}

/* Without leading "./" and trailing slashes, as tar programs write them. */
static const char *member_path(struct arena *a, const char *path)
{
	size_t n = strlen(path);

	while (path[0] == '.' && path[1] == '/')
		path += 2, n -= 2;
	while (n && path[n - 1] == '/')
		n--;
	return arena_strndup(a, path, n);
}

/* A hard link in an archive is the content of an earlier member; nothing on disk is linked. */
static const struct entry *find_file(const struct plan *p, const char *path, const struct entry *end)
{
	for (const struct entry *x = end; x-- > p->tree.entries.v;)
		if (x->type == ENTRY_FILE && text_eq(x->path, path))
			return x;
	return NULL;
}

/* A path that leads outside refuses the whole archive: it was not made from this workspace as it claims. */
static int take_member(struct loader *l, const struct member *m, struct err *e)
{
	struct plan *p = l->plan;
	const char *path = member_path(p->a, m->path);
	bool has_content = m->type == '0' || m->type == '7';

	if (!checkpoint_path_ok(path) && *path && !text_eq(path, "."))
		return err_set(e, E_CORRUPT, "CHECKPOINT_ARCHIVE",
			"the archive names a path outside: '%.100s'",
			text_safe(p->a, path, strlen(path), false));
	if (!*path || text_eq(path, ".") || is_history(p, path) || !plan_wants(p, path))
		return each_piece(l, has_content ? m->size : 0, NULL, NULL, e);
	struct entry *x = entries_add(p->a, &p->tree.entries);
	*x = (struct entry){
		.path = path, .mode = m->mode, .uid = m->uid, .gid = m->gid, .mtime_ns = m->mtime_ns
	};
	if (m->type == '5' || m->type == '2') {
		x->type = m->type == '5' ? ENTRY_DIR : ENTRY_LINK;
		x->text = m->type == '5' ? NULL : m->target;
		return m->type == '2' && !*m->target ? damaged(e, "a link leads nowhere") : OK;
	}
	if (!has_content) {
		const struct entry *first =
			m->type == '1' ? find_file(p, member_path(p->a, m->target), x) : NULL;
		const char *why = m->type == '1' ? "hard link" : "device";
		*x = first ? *first : (struct entry){ .type = ENTRY_SKIPPED, .text = why };
		x->path = path;
		return OK;
	}
	x->type = ENTRY_FILE;
	x->size = x->held_bytes = m->size;
	return load_content(l, x, e);
}

static int by_path(const void *x, const void *y)
{
	const struct entry *p = x, *q = y;
	int order = checkpoint_path_cmp(p->path, q->path);

	/* `ino` holds the place in the archive: of two members with one name the later one counts. */
	return order ? order : p->ino < q->ino ? -1 : p->ino > q->ino;
}

/* Into the order that manifests have; of two members with one name the later one counts, as when
 * unpacking. */
static int sort_entries(struct entries *v, struct err *e)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		v->v[i].ino = i;
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), by_path);
	for (size_t i = 0; i < v->n; i++) {
		if (i + 1 < v->n && text_eq(v->v[i].path, v->v[i + 1].path))
			continue;
		if (n && v->v[n - 1].type != ENTRY_DIR &&
			checkpoint_path_covers(v->v[n - 1].path, v->v[i].path))
			return damaged(e, "a member lies below something that is not a directory");
		v->v[n++] = v->v[i];
	}
	v->n = n;
	return OK;
}

/* The paths of the record, as the selection: so a restore compares the same part of the disk. */
static int choose_paths(struct plan *p, struct err *e)
{
	const struct json *paths = json_get(p->record, "paths");

	p->tree.sel.paths = arena_zalloc(p->a, paths ? paths->n + 1u : 1, sizeof(char *));
	json_each (v, paths) {
		const char *path = json_text(v) ? path_clean(p->a, json_text(v)) : "..";
		if (!text_eq(path, ".") && !checkpoint_path_ok(path))
			return err_set(e, E_CORRUPT, "CHECKPOINT_RECORD",
				"the record names a path outside the workspace");
		p->tree.sel.paths[p->tree.sel.path_count++] = path;
	}
	selection_seal(&p->tree.sel);
	return OK;
}

/* One pass over the archive, which is never unpacked to disk. */
int archive_parse(struct plan *p, struct stream *in, struct err *e)
{
	struct loader l = { .plan = p, .in = in };
	struct member m = { 0 };

	l.piece = arena_alloc(p->a, PIECE);
	for (;;) {
		if (next_member(&l, &m, e))
			return e->rc;
		if (!m.type)
			return sort_entries(&p->tree.entries, e);
		if (take_member(&l, &m, e))
			return e->rc;
	}
}

/* The ratio bounds what a small file can blow up to.  On an error nothing is left in the store. */
int checkpoint_load_archive(struct plan *p, struct err *e)
{
	struct sys *s = p->st->sys;
	const char *id = json_get_text(p->record, "checkpoint_id", "?");
	const char *path = json_get_text(p->record, "archive", "");
	struct gzip_limits lim = { .max_bytes = (uint64_t)1 << 40, .max_ratio = 1100 };
	struct stream_fd raw;
	struct stream *in;
	uint64_t stored;

	if (!text_ends(path, ".tar.gz"))
		return err_set(e, E_INPUT, "CHECKPOINT_FORMAT",
			"checkpoint '%s' has a format this version does not read", id);
	AUTO(close_fd)
	int fd = s->open(s, p->st->root_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, RESOLVE_INSIDE);
	if (fd < 0)
		return err_sys(e, "CHECKPOINT_ARCHIVE", "cannot open the archive of checkpoint '%s'", id);
	if ((!p->req->is_dry_run && checkpoint_make_dirs(p->st, e)) || choose_paths(p, e) ||
		gzip_open(p->a, stream_from_fd(&raw, s, fd, path), &lim, &in, e) || archive_parse(p, in, e) ||
		(!p->req->is_dry_run && pool_commit(p->st->pool, &stored, e))) {
		pool_drop(p->st->pool);
		return err_wrap(e, "checkpoint '%s'", id);
	}
	return OK;
}
