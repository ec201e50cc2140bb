/* pack_read.c — a pack from outside becomes a sorted list of files with their digests.
 *
 * An archive is read once, front to back, and a directory is walked without following links.  Every byte
 * is hashed; only what the checks look into is kept, up to a fixed budget, so memory does not grow with
 * the pack.  Receipts in files of lines, and the log's leaves, may be of any number: they are looked into
 * while they are read (pack_lines.c).  A manifest layout needs its manifest and detached signatures, a native one is limited as a
 * whole (docs/formats/native-pack.md). */
#include "base/file.h"
#include "base/gzip.h"
#include "base/tar.h"
#include "verify/pack.h"

#include <fcntl.h>

enum { PIECE = 1 << 16, KEEP_MANIFEST = 64 << 20 };

/* State of one pass over a pack.  kept_bytes counts against the budget for contents; total_bytes counts
 * everything. */
struct reading {
	struct arena *a;
	struct sys *sys;
	struct pack *p;
	uint64_t kept_bytes, line_bytes, total_bytes;
	const struct pack_reading *how; /* NULL: nothing is looked into now */
	struct trust trust; /* as given, and what the pack tells of changes of keys */
	uint8_t *piece; /* PIECE bytes */
	struct stream_fd *file; /* for directories */
};

/* These have their own limit, since without them nothing about the pack can be said. */
static bool is_manifest(const char *path)
{
	return text_eq(path, "manifest.json") || text_eq(path, "00_INDEX.json") || text_eq(path, PACK_RECORD);
}

/* Room for the content, or NULL when it is not kept: then the file is hashed but cannot be looked into.
 * Sizes are those an archive states; the room is only reserved after that size was compared with the
 * budget. */
static uint8_t *keep_room(struct reading *r, const char *path, uint64_t size)
{
	if (is_manifest(path))
		return size <= KEEP_MANIFEST ? arena_alloc(r->a, (size_t)size + 1) : NULL;
	bool is_lines = pack_is_lines(path);
	if (size > PACK_KEEP_BYTES - r->kept_bytes || (is_lines && size > PACK_KEEP_LINES - r->line_bytes))
		return NULL;
	r->kept_bytes += size;
	r->line_bytes += is_lines ? size : 0;
	return arena_alloc(r->a, (size_t)size + 1);
}

static struct pack_file *new_file(struct reading *r, const char *path)
{
	struct pack *p = r->p;

	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 64;
		p->files = arena_grow(r->a, p->files, p->cap * sizeof(*p->files), cap * sizeof(*p->files));
		p->cap = cap;
	}
	p->files[p->n] = (struct pack_file){ .path = path };
	return &p->files[p->n++];
}

/* What is looked into while it is read: one of them, or none. */
struct look {
	struct lines_feed *lines;
	struct rows_feed *rows;
	struct leaves_feed *leaves;
};

static struct look look_begin(struct reading *r, const char *path, bool is_kept)
{
	struct look look = { 0 };

	if (!r->how)
		return look;
	if (pack_is_lines(path))
		look.lines = lines_begin(r->a, r->p->lines, path, &r->trust, r->how);
	else if (pack_is_rows(path))
		look.rows = rows_begin(r->a, &r->p->lines->rows);
	else if (text_eq(path, PACK_LEAVES) && !is_kept) /* what is kept is looked into at the end */
		look.leaves = leaves_begin(r->a, r->p, r->p->lines);
	return look;
}

static void look_feed(const struct look *look, const void *p, size_t n)
{
	if (look->lines)
		lines_feed(look->lines, p, n);
	if (look->rows)
		rows_feed(look->rows, p, n);
	if (look->leaves)
		leaves_feed(look->leaves, p, n);
}

static void look_end(struct reading *r, const struct look *look, const struct pack_file *f)
{
	if (look->lines)
		lines_end(look->lines);
	if (look->rows)
		rows_end(look->rows);
	if (look->leaves)
		leaves_end(look->leaves);
	if (r->how && text_eq(f->path, PACK_KEYS) && f->is_kept)
		(void)trust_add_seam_lines(r->a, f->content, &r->trust);
}

/* Hashes `size` bytes of a stream and keeps them when there is room.  Reads exactly that many: a file that
 * became shorter while it was read is refused, and bytes appended to it are not looked at. */
static int take_content(
	struct reading *r, struct pack_file *f, uint64_t size, struct stream *in, struct err *e)
{
	uint8_t *room = keep_room(r, f->path, size);
	struct sha256 h;
	uint64_t done = 0;
	int rc;

	struct look look = look_begin(r, f->path, room != NULL);
	sha256_begin(&h);
	while (done < size) {
		size_t want = size - done < PIECE ? (size_t)(size - done) : PIECE, got = 0;
		uint8_t *to = room ? room + done : r->piece;
		if ((rc = stream_fill(in, to, want, &got, e)))
			return rc;
		if (got != want)
			return err_set(
				e, E_INPUT, "PACK_CHANGED", "'%s' became shorter while it was read", f->path);
		sha256_add(&h, to, got);
		look_feed(&look, to, got);
		done += got;
	}
	sha256_end(&h, f->digest.b);
	f->size_bytes = size;
	f->is_kept = room != NULL;
	f->content = (struct bytes){ room, room ? (size_t)size : 0 };
	look_end(r, &look, f);
	r->total_bytes += size;
	return OK;
}

static void new_dir(struct reading *r, const char *path)
{
	json_pushs(r->a, r->p->dirs, path);
}

/* The content of the current archive entry as a stream, so that archives and directories share
 * take_content. */
struct entry_stream {
	struct stream stream;
	struct tar_reader *tar;
};

static int read_entry(struct stream *stream, void *to, size_t n, size_t *ret_n, struct err *e)
{
	return tar_read(((struct entry_stream *)stream)->tar, to, n, ret_n, e);
}

/* tar_next refuses links, special files, paths that lead out, and more than its limits; nothing is
 * unpacked to the disk. */
static int read_archive(struct reading *r, struct stream *in, struct err *e)
{
	struct tar_reader tar;
	struct entry_stream content = { { read_entry }, &tar };
	struct tar_entry entry;
	bool more;
	int rc;

	tar_open(&tar, r->a, in, &(struct tar_limits){ .total_bytes = PACK_MAX_BYTES });
	for (;;) {
		if ((rc = tar_next(&tar, &entry, &more, e)))
			return rc;
		if (!more)
			break;
		if (entry.is_dir) {
			new_dir(r, entry.path);
			continue;
		}
		if ((rc = take_content(r, new_file(r, entry.path), entry.size_bytes, &content.stream, e)))
			return rc;
	}
	r->p->departure = tar.departure;
	return OK;
}

/* One entry of a directory.  Links are refused rather than followed: a pack that names files elsewhere
 * would make the verifier hash what the pack's author has no right to read.  O_NOFOLLOW covers an exchange
 * between the look and the opening, O_NONBLOCK a pipe in its place. */
static int visit(void *arg, int parent_fd, const char *name, const char *rel_path, const struct stat *st,
	struct err *e)
{
	struct reading *r = arg;
	const char *path = arena_strdup(r->a, rel_path);
	struct stream *in;
	int rc;

	if (S_ISDIR(st->st_mode)) {
		new_dir(r, path);
		return OK;
	}
	if (S_ISLNK(st->st_mode))
		return err_set(e, E_INPUT, "PACK_LINK", "evidence pack path is a symlink: %s", rel_path);
	if (!S_ISREG(st->st_mode))
		return err_set(
			e, E_INPUT, "PACK_TYPE", "evidence pack path is not a regular file: %s", rel_path);
	if ((rc = tar_check_path(path, strlen(path), e)))
		return rc;
	if (r->p->n >= PACK_MAX_FILES || (uint64_t)st->st_size > PACK_MAX_BYTES - r->total_bytes)
		return err_set(e, E_LIMIT, "PACK_LIMIT", "the pack holds more than 64 GiB or %d files",
			PACK_MAX_FILES);
	AUTO(close_fd)
	int fd = r->sys->open(r->sys, parent_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (fd < 0)
		return err_sys(e, "FILE_OPEN", "cannot open '%s'", rel_path);
	in = stream_from_fd(r->file, r->sys, fd, rel_path);
	return take_content(r, new_file(r, path), (uint64_t)st->st_size, in, e);
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_file *)x)->path, ((const struct pack_file *)y)->path);
}

static void begin(
	struct reading *r, struct sys *s, struct arena *a, const struct pack_reading *how, struct pack *p)
{
	*p = (struct pack){ .dirs = json_new(a, JSON_ARRAY) };
	*r = (struct reading){ .a = a, .sys = s, .p = p, .how = how, .piece = arena_alloc(a, PIECE) };
	if (how) {
		p->lines = arena_zalloc(a, 1, sizeof(*p->lines));
		r->trust = *how->trust;
	}
}

/* Files are sorted by path bytes; verify_pack_find and the checks of layouts rely on it. */
static void end(struct reading *r, const char *form)
{
	if (r->p->n)
		qsort(r->p->files, r->p->n, sizeof(*r->p->files), by_path);
	r->p->form = form;
	r->p->total_bytes = r->total_bytes;
}

/* The first two bytes tell gzip from plain tar; they are put back in front of the stream.  *ret is set
 * only when the whole archive was read. */
static int read_stream(
	struct arena *a, struct stream *in, const struct pack_reading *how, struct pack *ret, struct err *e)
{
	struct reading r;
	struct pack p;
	uint8_t start[2];
	struct stream_joined *joined = arena_alloc(a, sizeof(*joined));
	size_t got = 0;
	const char *form = "tar";
	int rc = stream_fill(in, start, sizeof(start), &got, e);

	if (rc)
		return rc;
	begin(&r, NULL, a, how, &p);
	in = stream_join(joined, (struct bytes){ start, got }, in);
	if (gzip_is((struct bytes){ start, got })) {
		form = "tar.gz";
		if ((rc = gzip_open(a, in, &(struct gzip_limits){ .max_bytes = PACK_MAX_BYTES }, &in, e)))
			return rc;
	}
	if ((rc = read_archive(&r, in, e)))
		return rc;
	end(&r, form);
	*ret = p;
	return OK;
}

int verify_pack_stream(struct arena *a, struct stream *in, struct pack *ret, struct err *e)
{
	return read_stream(a, in, NULL, ret, e);
}

int verify_pack_bytes(struct arena *a, struct bytes archive, struct pack *ret, struct err *e)
{
	struct stream_bytes in;

	return verify_pack_stream(a, stream_from_bytes(&in, archive), ret, e);
}

static int read_dir(struct sys *s, struct arena *a, int dirfd, const char *path,
	const struct pack_reading *how, struct pack *ret, struct err *e)
{
	struct reading r;
	struct pack p;
	int rc;

	begin(&r, s, a, how, &p);
	r.file = arena_alloc(a, sizeof(*r.file));
	if ((rc = file_walk(s, dirfd, path, visit, &r, e)))
		return rc;
	end(&r, "directory");
	*ret = p;
	return OK;
}

/* The path itself may be a link: it is the caller's own word, unlike what is inside the pack. */
int verify_pack_open(struct sys *s, struct arena *a, int dirfd, const char *path,
	const struct pack_reading *how, struct pack *ret, struct err *e)
{
	struct stream_fd *in;

	if (file_is_dir(s, dirfd, path))
		return read_dir(s, a, dirfd, path, how, ret, e);
	AUTO(close_fd) int fd = s->open(s, dirfd, path, O_RDONLY | O_NONBLOCK, 0, 0);
	if (fd < 0)
		return err_sys(e, "FILE_OPEN", "cannot open '%s'", path);
	in = arena_alloc(a, sizeof(*in));
	return read_stream(a, stream_from_fd(in, s, fd, path), how, ret, e);
}

/* By exact path bytes; NULL when there is no such file. */
const struct pack_file *verify_pack_find(const struct pack *p, const char *path)
{
	struct pack_file key = { .path = path };

	return p->n ? bsearch(&key, p->files, p->n, sizeof(*p->files), by_path) : NULL;
}

/* An archive may have entries for directories or only files below them; both count. */
bool pack_has_dir(const struct pack *p, const char *dir)
{
	size_t n = strlen(dir);

	json_each (d, p->dirs) {
		if (text_eq(json_text(d), dir))
			return true;
	}
	for (size_t i = 0; i < p->n; i++)
		if (text_starts(p->files[i].path, dir) && p->files[i].path[n] == '/')
			return true;
	return false;
}

/* Content that was not kept is an error of its own, so that nobody takes a file that was not looked into
 * for one that is fine. */
int pack_json(struct arena *a, const struct pack_file *f, struct json **ret, struct err *e)
{
	if (!f->is_kept)
		return err_set(e, E_LIMIT, "PACK_LIMIT", "'%s' is too large to look into", f->path);
	return json_parse(a, f->content, f->path, NULL, ret, e);
}
