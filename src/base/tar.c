/* tar.c — the archive reader; see tar.h for what it refuses.
 *
 * An archive comes from somebody else, and evidence is read from it, so two programs must never see
 * different files in it. It is read once, front to back. What has to be remembered is the set of names:
 * every file and directory, including directories that are only implied by a path, under its case-folded
 * spelling. So "A" and "a", or a file "x" and a directory "x", are met the moment the second one arrives.
 *
 * Checksums are compared in their exact spelling and padding must be zero: no bit of a well-formed archive
 * can be changed without being noticed here or in the content. `departure` notes the first thing in which
 * the archive differs from the one form that tar_write.c writes. */
#include "base/tar.h"

enum { PAX_MAX = 64 << 10, TRAILING_MAX = 1 << 20 };

/* NAME_IMPLIED: a directory that stands in a path but has no entry of its own (yet). */
enum name_kind { NAME_FILE, NAME_DIR, NAME_IMPLIED };

struct tar_name {
	const char *folded; /* NULL: free slot */
	const char *exact;
	uint32_t hash;
	enum name_kind kind;
};

struct tar_names {
	struct tar_name *slots;
	uint32_t count, cap;
};

/* Limits that are not given get defaults: 1 GiB in all, 200 000 entries. */
void tar_open(struct tar_reader *r, struct arena *a, struct stream *in, const struct tar_limits *lim)
{
	memset(r, 0, sizeof(*r));
	r->in = in;
	r->a = a;
	if (lim)
		r->lim = *lim;
	if (!r->lim.total_bytes)
		r->lim.total_bytes = 1ull << 30;
	if (!r->lim.entry_bytes)
		r->lim.entry_bytes = r->lim.total_bytes;
	if (!r->lim.max_entries)
		r->lim.max_entries = 200000;
	r->last_path = "";
	r->names = arena_zalloc(a, 1, sizeof(*r->names));
	r->names->cap = 256;
	r->names->slots = arena_zalloc(a, r->names->cap, sizeof(*r->names->slots));
}

/* Names. */

static const char *bad_component(const char *p, size_t n)
{
	if (n == 0)
		return "has an empty component";
	if (n == 1 && p[0] == '.')
		return "has a '.' component";
	if (n == 2 && p[0] == '.' && p[1] == '.')
		return "leaves the archive";
	return NULL;
}

/* Why a path is not acceptable, or NULL. What is refused would mean something else on some system:
 * absolute paths, "..", drive letters, backslashes, control characters, bytes that are no UTF-8. */
static const char *bad_path(const char *path, size_t n)
{
	const char *why = NULL;

	if (n == 0)
		return "is empty";
	if (n > TAR_PATH_MAX)
		return "is longer than 1024 bytes";
	if (path[0] == '/')
		return "is absolute";
	if (n >= 2 && path[1] == ':')
		return "starts with a drive letter";
	for (size_t i = 0, start = 0; i <= n; i++) {
		if (i < n && ((uint8_t)path[i] < 0x20 || path[i] == 0x7f))
			return "has a control character";
		if (i < n && path[i] == '\\')
			return "has a backslash";
		if (i < n && path[i] != '/')
			continue;
		if ((why = bad_component(path + start, i - start)))
			return why;
		start = i + 1;
	}
	return text_utf8_valid(path, n) == n ? NULL : "is not UTF-8";
}

/* Used for reading and for writing: what we would not accept we do not write. */
int tar_check_path(const char *path, size_t n, struct err *e)
{
	const char *why = bad_path(path, n);

	if (!why)
		return OK;
	/* The name is a stranger's: only its printable ASCII is repeated. */
	char shown[96];
	size_t k = 0;
	for (size_t i = 0; i < n && k < sizeof(shown) - 1; i++)
		shown[k++] = path[i] >= 0x20 && path[i] < 0x7f ? path[i] : '?';
	shown[k] = 0;
	return err_set(e, E_INPUT, "TAR_NAME", "the name '%s' in the archive %s", shown, why);
}

/* FNV-1a. An archive that makes names collide only slows its own reading, and the number of names is
 * limited. */
static uint32_t name_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	return h;
}

/* Open addressing; the table is never more than half full. */
static struct tar_name *name_slot(const struct tar_names *t, const char *folded, uint32_t hash)
{
	uint32_t i = hash & (t->cap - 1);

	while (t->slots[i].folded && (t->slots[i].hash != hash || strcmp(t->slots[i].folded, folded) != 0))
		i = (i + 1) & (t->cap - 1);
	return &t->slots[i];
}

/* Doubles; names keep their hash, so nothing is hashed again. */
static void names_grow(struct arena *a, struct tar_names *t)
{
	struct tar_names next = { arena_zalloc(a, t->cap * 2, sizeof(*t->slots)), t->count, t->cap * 2 };

	for (uint32_t i = 0; i < t->cap; i++)
		if (t->slots[i].folded)
			*name_slot(&next, t->slots[i].folded, t->slots[i].hash) = t->slots[i];
	*t = next;
}

/* A name came again. Only a directory may: implied any number of times, and once in an entry of its own. */
static int name_met(const struct tar_name *old, const char *exact, enum name_kind kind, struct err *e)
{
	if (!text_eq(old->exact, exact))
		return err_set(e, E_INPUT, "TAR_CASE",
			"the names '%s' and '%s' in the archive differ only in case", old->exact, exact);
	if (kind == NAME_IMPLIED && old->kind != NAME_FILE)
		return OK;
	if (kind == NAME_DIR && old->kind == NAME_IMPLIED)
		return OK;
	if (kind == old->kind)
		return err_set(
			e, E_INPUT, "TAR_DUPLICATE", "the name '%s' stands twice in the archive", exact);
	return err_set(e, E_INPUT, "TAR_DUPLICATE", "'%s' is a file and a directory in the archive", exact);
}

/* Remembers a name. The memory of a name that is known already is given back. */
static int name_add(struct tar_reader *r, const char *path, size_t n, enum name_kind kind, struct err *e)
{
	struct arena_mark mark = arena_mark(r->a);
	const char *exact = arena_strndup(r->a, path, n), *folded = text_fold(r->a, path, n);
	uint32_t hash = name_hash(folded);
	struct tar_name *slot = name_slot(r->names, folded, hash);

	if (slot->folded) {
		int rc = name_met(slot, exact, kind, e);
		if (!rc && kind == NAME_DIR)
			slot->kind = NAME_DIR;
		arena_release(r->a, mark);
		return rc;
	}
	if (r->names->count >= 4 * r->lim.max_entries)
		return err_set(e, E_LIMIT, "TAR_LIMIT", "the archive has too many directories");
	if (2 * (r->names->count + 1) > r->names->cap) {
		names_grow(r->a, r->names);
		slot = name_slot(r->names, folded, hash);
	}
	*slot = (struct tar_name){ folded, exact, hash, kind };
	r->names->count++;
	return OK;
}

/* The path and every directory above it. */
static int names_take(struct tar_reader *r, const char *path, bool is_dir, struct err *e)
{
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		size_t n = (size_t)(slash - path);
		int rc = name_add(r, path, n, NAME_IMPLIED, e);
		if (rc)
			return rc;
	}
	return name_add(r, path, strlen(path), is_dir ? NAME_DIR : NAME_FILE, e);
}

/* Blocks. */

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* A whole block or an error: an archive that ends early is damaged. */
static int read_block(struct tar_reader *r, uint8_t block[TAR_BLOCK], struct err *e)
{
	size_t got = 0;
	int rc = stream_fill(r->in, block, TAR_BLOCK, &got, e);

	if (rc)
		return rc;
	if (got != TAR_BLOCK)
		return err_set(e, E_INPUT, "TAR_TRUNCATED",
			"the archive ends in the middle, after %u entries", r->entries);
	return OK;
}

/* Padding is checked and not just skipped: it is a place where bytes could hide. */
static int skip_padding(struct tar_reader *r, struct err *e)
{
	uint8_t pad[TAR_BLOCK];
	size_t got = 0;
	int rc = stream_fill(r->in, pad, r->pad_bytes, &got, e);

	if (rc)
		return rc;
	if (got != r->pad_bytes)
		return err_set(
			e, E_INPUT, "TAR_TRUNCATED", "the archive ends in the padding of '%s'", r->last_path);
	if (!is_zero(pad, got))
		return err_set(
			e, E_INPUT, "TAR_PADDING", "the padding behind '%s' is not zero", r->last_path);
	r->pad_bytes = 0;
	return OK;
}

/* Content of the current entry; never beyond it. */
int tar_read(struct tar_reader *r, void *to, size_t n, size_t *ret_n, struct err *e)
{
	size_t got = 0;
	int rc;

	if (n > r->left_bytes)
		n = (size_t)r->left_bytes;
	if (n && (rc = stream_fill(r->in, to, n, &got, e)))
		return rc;
	if (got != n)
		return err_set(e, E_INPUT, "TAR_TRUNCATED", "the archive ends inside '%s'", r->last_path);
	r->left_bytes -= n;
	*ret_n = n;
	return OK;
}

/* What the caller did not read of the last entry is read and dropped, padding included. */
static int skip_entry(struct tar_reader *r, struct err *e)
{
	uint8_t piece[4096];
	size_t got;
	int rc;

	while (r->left_bytes)
		if ((rc = tar_read(r, piece, sizeof(piece), &got, e)))
			return rc;
	return r->pad_bytes ? skip_padding(r, e) : OK;
}

/* One zero block was read: another must follow, and behind it only zeros, up to 1 MiB of them. */
static int read_end(struct tar_reader *r, struct err *e)
{
	uint8_t block[TAR_BLOCK];
	size_t got = TAR_BLOCK, behind = 0;
	int rc = read_block(r, block, e);

	if (rc)
		return rc;
	while (got == TAR_BLOCK) {
		if (!is_zero(block, TAR_BLOCK) || behind > TRAILING_MAX)
			return err_set(
				e, E_INPUT, "TAR_TRAILING", "there is more behind the end of the archive");
		if ((rc = stream_fill(r->in, block, TAR_BLOCK, &got, e)))
			return rc;
		behind += got;
	}
	if (got)
		return err_set(e, E_INPUT, "TAR_TRAILING", "the archive is not a whole number of blocks");
	if (behind && !r->departure)
		r->departure = "it ends in more than two zero blocks";
	r->is_ended = true;
	return OK;
}

/* Headers. */

/* Octal digits to the first NUL or space, which all that follows must be; the field is not empty. */
static bool get_octal(const uint8_t *p, size_t n, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	while (i < n && p[i] >= '0' && p[i] <= '7')
		value = value << 3 | (uint64_t)(p[i++] - '0');
	if (!i)
		return false;
	for (; i < n; i++)
		if (p[i] && p[i] != ' ')
			return false;
	*ret = value;
	return true;
}

/* The field holds six digits, then NUL and space in either order: the two spellings in use. */
static bool checksum_ok(const uint8_t *block)
{
	uint32_t sum = 8 * ' ', stated = 0;
	const uint8_t *f = block + 148;

	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (i < 148 || i >= 156)
			sum += block[i];
	for (size_t i = 0; i < 6; i++) {
		if (f[i] < '0' || f[i] > '7')
			return false;
		stated = stated << 3 | (uint32_t)(f[i] - '0');
	}
	return stated == sum && ((f[6] == 0 && f[7] == ' ') || (f[6] == ' ' && f[7] == 0));
}

struct header {
	char type;
	uint64_t size;
	char name[TAR_PATH_MAX + 2]; /* as it stands, before cleaning */
	size_t name_n;
};

static size_t field_length(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, 0, n);

	return end ? (size_t)(end - p) : n;
}

/* Only ustar, pax and GNU headers; the prefix field means something in POSIX headers only. */
static int parse_header(const uint8_t *block, struct header *h, struct err *e)
{
	bool is_posix = memcmp(block + 257, "ustar\00000", 8) == 0;
	size_t prefix_n = is_posix ? field_length(block + 345, 155) : 0;
	size_t name_n = field_length(block, 100);

	if (!checksum_ok(block))
		return err_set(e, E_INPUT, "TAR_CHECKSUM", "a header of the archive has a wrong checksum");
	if (!is_posix && memcmp(block + 257, "ustar  ", 8) != 0)
		return err_set(e, E_INPUT, "TAR_HEADER", "the archive is not a ustar, pax or GNU tar file");
	if (!get_octal(block + 124, 12, &h->size))
		return err_set(e, E_INPUT, "TAR_SIZE", "a size in the archive is not an octal number");
	h->type = block[156] ? (char)block[156] : '0';
	h->name_n = 0;
	if (prefix_n) {
		memcpy(h->name, block + 345, prefix_n);
		h->name[prefix_n] = '/';
		h->name_n = prefix_n + 1;
	}
	memcpy(h->name + h->name_n, block, name_n);
	h->name_n += name_n;
	h->name[h->name_n] = 0;
	return OK;
}

/* What an x header or a GNU long name says about the entry behind it. */
struct extra {
	bool has_path, has_size;
	char path[TAR_PATH_MAX + 2];
	size_t path_n;
	uint64_t size;
};

/* Keys that do not change what a file is. Vendors' own keys carry a dot; GNU.sparse changes what the
 * content means, so it is not ignored. */
static bool is_ignored_key(struct bytes key)
{
	static const char *const known[] = { "atime", "ctime", "mtime", "uid", "gid", "uname", "gname",
		"comment" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (bytes_is(key, known[i]))
			return true;
	/* Vendors' own keys carry a dot.  GNU.sparse changes what the content means. */
	return memchr(key.p, '.', key.n) && !(key.n >= 10 && memcmp(key.p, "GNU.sparse", 10) == 0);
}

/* A path or size may be given once. Any key that is neither known nor harmless is an error. */
static int take_record(struct extra *x, struct bytes key, struct bytes value, struct err *e)
{
	char digits[24];
	int64_t size;

	if (bytes_is(key, "path") && !x->has_path && value.n && value.n <= TAR_PATH_MAX + 1) {
		memcpy(x->path, value.p, value.n);
		x->path_n = value.n;
		x->has_path = true;
		return OK;
	}
	if (bytes_is(key, "size") && !x->has_size && value.n < sizeof(digits)) {
		memcpy(digits, value.p, value.n);
		digits[value.n] = 0;
		if (text_int(digits, &size) && size >= 0) {
			x->size = (uint64_t)size;
			x->has_size = true;
			return OK;
		}
	}
	if (is_ignored_key(key))
		return OK;
	return err_set(e, E_INPUT, "TAR_PAX", "a pax record '%.*s' of the archive is not acceptable",
		(int)(key.n > 40 ? 40 : key.n), (const char *)key.p);
}

/* "<length> <key>=<value>\n", one after the other to the last byte. */
static int parse_pax(struct bytes body, struct extra *x, struct err *e)
{
	while (body.n) {
		size_t n = 0, i = 0;
		while (i < body.n && i < 6 && body.p[i] >= '0' && body.p[i] <= '9')
			n = n * 10 + (size_t)(body.p[i++] - '0');
		const uint8_t *equals = n <= body.n && n > i + 2 ? memchr(body.p + i, '=', n - i) : NULL;
		if (!i || body.p[0] == '0' || !equals || body.p[i] != ' ' || body.p[n - 1] != '\n')
			return err_set(e, E_INPUT, "TAR_PAX", "the pax records of the archive are malformed");
		const uint8_t *key = body.p + i + 1, *value = equals + 1;
		int rc = take_record(x, (struct bytes){ key, (size_t)(equals - key) },
			(struct bytes){ value, (size_t)(body.p + n - 1 - value) }, e);
		if (rc)
			return rc;
		body.p += n;
		body.n -= n;
	}
	return OK;
}

/* Keeps the header's bytes for note_form(); headers that are longer than ours can be are a departure by
 * themselves. */
static void keep_raw(struct tar_reader *r, const uint8_t *p, size_t n)
{
	if (r->raw_n + n > sizeof(r->raw)) {
		r->departure =
			r->departure ? r->departure : "it has extended headers this program does not write";
		return;
	}
	memcpy(r->raw + r->raw_n, p, n);
	r->raw_n += n;
}

/* The body of a pax header ('x') or of a GNU long name ('L'). */
static int read_extra(struct tar_reader *r, const struct header *h, struct extra *x, struct err *e)
{
	size_t padded = (size_t)(h->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK, got = 0;
	struct arena_mark mark = arena_mark(r->a);
	int rc;

	if (h->size == 0 || h->size > PAX_MAX)
		return err_set(e, E_LIMIT, "TAR_PAX",
			"an extended header of the archive is empty or larger than 64 KiB");
	uint8_t *body = arena_alloc(r->a, padded);
	rc = stream_fill(r->in, body, padded, &got, e);
	if (!rc && got != padded)
		rc = err_set(e, E_INPUT, "TAR_TRUNCATED", "the archive ends in an extended header");
	if (!rc && !is_zero(body + h->size, padded - (size_t)h->size))
		rc = err_set(e, E_INPUT, "TAR_PADDING", "the padding of an extended header is not zero");
	if (!rc && h->type == 'x')
		rc = parse_pax((struct bytes){ body, (size_t)h->size }, x, e);
	else if (!rc && (body[h->size - 1] || h->size > TAR_PATH_MAX + 2 || x->has_path))
		rc = err_set(e, E_INPUT, "TAR_NAME", "a long name of the archive is malformed");
	else if (!rc) {
		x->has_path = true;
		x->path_n = (size_t)h->size - 1;
		memcpy(x->path, body, x->path_n);
	}
	if (!rc)
		keep_raw(r, body, padded);
	arena_release(r->a, mark);
	return rc;
}

/* Files and directories only. Links could lead out of the archive, and devices are no evidence. */
static int check_type(const struct header *h, struct err *e)
{
	switch (h->type) {
	case '0':
	case '5':
		return OK;
	case '1':
	case '2':
		return err_set(e, E_INPUT, "TAR_LINK", "the archive holds a link: %.90s", h->name);
	default:
		return err_set(e, E_INPUT, "TAR_TYPE",
			"the archive holds an entry of type 0x%02x (%s): only files and directories",
			(uint8_t)h->type,
			strchr("346", h->type)	 ? "device or fifo"
				: h->type == 'S' ? "sparse file"
						 : "not supported");
	}
}

/* Limits are checked before a byte of content is read. */
static int check_size(struct tar_reader *r, const struct header *h, const struct extra *x, struct err *e)
{
	if (x->has_size && x->size != h->size)
		return err_set(e, E_INPUT, "TAR_SIZE", "the archive states two sizes for '%.90s'", h->name);
	if (h->type == '5' && h->size)
		return err_set(
			e, E_INPUT, "TAR_SIZE", "the directory '%.90s' in the archive has content", h->name);
	if (h->size > r->lim.entry_bytes || h->size > r->lim.total_bytes - r->total_bytes)
		return err_set(e, E_LIMIT, "TAR_LIMIT", "the archive holds more than %llu bytes",
			(unsigned long long)(h->size > r->lim.entry_bytes ? r->lim.entry_bytes
									  : r->lim.total_bytes));
	if (r->entries >= r->lim.max_entries)
		return err_set(e, E_LIMIT, "TAR_LIMIT", "the archive holds more than %u entries",
			r->lim.max_entries);
	return OK;
}

/* "./x" is "x", and "x/" is the directory x: what `tar -C dir .` writes. */
static int clean_path(
	struct tar_reader *r, const struct header *h, const struct extra *x, const char **ret, struct err *e)
{
	const char *p = x->has_path ? x->path : h->name;
	size_t n = x->has_path ? x->path_n : h->name_n;
	int rc;

	if (h->type == '5' && n && p[n - 1] == '/')
		n--;
	if (h->type == '5' && n == 1 && p[0] == '.') {
		*ret = NULL;
		return OK;
	}
	if (n > 2 && p[0] == '.' && p[1] == '/') {
		p += 2;
		n -= 2;
	}
	if ((rc = tar_check_path(p, n, e)))
		return rc;
	*ret = arena_strndup(r->a, p, n);
	return OK;
}

/* Whether this entry is written exactly as tar_write.c would write it. */
static void note_form(struct tar_reader *r, const struct tar_entry *entry)
{
	uint8_t header[TAR_HEADER_MAX];

	if (r->departure)
		return;
	if (entry->is_dir)
		r->departure = "it has directory entries";
	else if (strcmp(r->last_path, entry->path) >= 0)
		r->departure = "its files are not in ascending order";
	else if (tar_header(entry->path, entry->size_bytes, header) != r->raw_n ||
		memcmp(header, r->raw, r->raw_n) != 0)
		r->departure = "its headers have other modes, owners, times or name forms";
}

/* Header blocks up to and including the one that describes a file or directory; type 0 at the end of the
 * archive. At most two extended headers may come before an entry. */
static int read_headers(struct tar_reader *r, struct header *h, struct extra *x, struct err *e)
{
	uint8_t block[TAR_BLOCK];
	int rc;

	r->raw_n = 0;
	for (int depth = 0; depth < 3; depth++) {
		if ((rc = read_block(r, block, e)))
			return rc;
		if (is_zero(block, TAR_BLOCK)) {
			h->type = 0;
			return depth ? err_set(e, E_INPUT, "TAR_PAX",
					       "an extended header of the archive has no file")
				     : read_end(r, e);
		}
		if ((rc = parse_header(block, h, e)))
			return rc;
		keep_raw(r, block, TAR_BLOCK);
		if (h->type != 'x' && h->type != 'L')
			return OK;
		if ((rc = read_extra(r, h, x, e)))
			return rc;
	}
	return err_set(e, E_INPUT, "TAR_PAX", "the archive has too many extended headers in a row");
}

/* The entry is acceptable; from here on tar_read() gives its content. */
static int take_entry(
	struct tar_reader *r, const struct header *h, const char *path, struct tar_entry *ret, struct err *e)
{
	int rc = names_take(r, path, h->type == '5', e);

	if (rc)
		return rc;
	r->entries++;
	r->total_bytes += h->size;
	r->left_bytes = h->size;
	r->pad_bytes = (uint32_t)(-h->size & (TAR_BLOCK - 1));
	*ret = (struct tar_entry){ path, h->size, h->type == '5' };
	note_form(r, ret);
	r->last_path = path;
	return OK;
}

/* Nothing of an entry is believed before type, size and path have been checked, in this order. */
int tar_next(struct tar_reader *r, struct tar_entry *ret, bool *ret_more, struct err *e)
{
	struct header h;
	struct extra x;
	const char *path = NULL;
	int rc;

	while (!path) {
		x = (struct extra){ 0 };
		if (r->is_ended) {
			*ret_more = false;
			return OK;
		}
		if ((rc = skip_entry(r, e)) || (rc = read_headers(r, &h, &x, e)))
			return rc;
		if (!h.type)
			continue;
		if ((rc = check_type(&h, e)) || (rc = check_size(r, &h, &x, e)) ||
			(rc = clean_path(r, &h, &x, &path, e)))
			return rc;
		if (!path) /* "./" itself */
			r->departure = "it has directory entries";
	}
	*ret_more = true;
	return take_entry(r, &h, path, ret, e);
}
