/* tar_write.c — the one form of archive this program writes: the same files give the same bytes on any
 * machine (docs/formats/tar.md).
 *
 * Every field that could differ between two machines (times, owners, modes) is a constant, and files come
 * in ascending order, so an archive can be compared and signed by its hash. Names that fit neither the
 * name field nor the split into prefix and name travel in a pax record; the header behind it then carries
 * what is left of the name in ASCII. */
#include "base/tar.h"

struct field {
	uint8_t *at;
	size_t n;
};

static const char zeros[2 * TAR_BLOCK];

/* n - 1 octal digits and NUL. */
static void put_octal(struct field f, uint64_t value)
{
	f.at[f.n - 1] = 0;
	for (size_t i = f.n - 1; i-- > 0; value >>= 3)
		f.at[i] = (uint8_t)('0' + (value & 7));
}

/* The sum counts its own field as eight spaces. */
static void put_checksum(uint8_t *block)
{
	uint32_t sum = 8 * ' ';

	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (i < 148 || i >= 156)
			sum += block[i];
	put_octal((struct field){ block + 148, 7 }, sum);
	block[155] = ' ';
}

/* Everything but the name, for a file of the given type. */
static void put_header(uint8_t *block, char type, uint32_t mode, uint64_t size)
{
	put_octal((struct field){ block + 100, 8 }, mode);
	put_octal((struct field){ block + 108, 8 }, 0);
	put_octal((struct field){ block + 116, 8 }, 0);
	put_octal((struct field){ block + 124, 12 }, size);
	put_octal((struct field){ block + 136, 12 }, 0);
	block[156] = (uint8_t)type;
	memcpy(block + 257, "ustar\00000", 8);
	if (type == '0') {
		put_octal((struct field){ block + 329, 8 }, 0);
		put_octal((struct field){ block + 337, 8 }, 0);
	}
	put_checksum(block);
}

static bool is_ascii(const char *s)
{
	for (; *s; s++)
		if ((uint8_t)*s >= 0x80)
			return false;
	return true;
}

/* The ASCII bytes of `s`, cut to the name field; a cut name must not end in a slash, which old readers take for a
 * directory. */
static void put_ascii_name(uint8_t name[100], const char *s)
{
	size_t n = 0;
	bool is_cut = false;

	for (; *s; s++) {
		if ((uint8_t)*s >= 0x80)
			continue;
		if (n == 100) {
			is_cut = true;
			break;
		}
		name[n++] = (uint8_t)*s;
	}
	if (is_cut && name[99] == '/')
		for (n = 99; n > 0 && name[n] == '/'; n--)
			name[n] = 0;
}

/* "<length> path=<name>\n", the length counting itself. */
static size_t pax_record(const char *path, char *to, size_t room)
{
	size_t body = strlen(" path=\n") + strlen(path), n = body;

	for (;;) {
		size_t digits = (size_t)snprintf(NULL, 0, "%zu", n);
		if (n == body + digits)
			break;
		n = body + digits;
	}
	snprintf(to, room, "%zu path=%s\n", n, path);
	return n;
}

static size_t put_pax(const char *path, uint8_t *to)
{
	char record[TAR_PATH_MAX + 32], name[TAR_PATH_MAX + 32];
	const char *slash = strrchr(path, '/');
	size_t n = pax_record(path, record, sizeof(record));

	if (slash)
		snprintf(name, sizeof(name), "%.*s/PaxHeaders.0/%s", (int)(slash - path), path, slash + 1);
	else
		snprintf(name, sizeof(name), "PaxHeaders.0/%s", path);
	put_ascii_name(to, name);
	put_header(to, 'x', 0, n);
	memcpy(to + TAR_BLOCK, record, n);
	return TAR_BLOCK + (n + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
}

/* Where an ASCII name of more than 100 bytes splits into prefix (at most 155) and name (at most 100); 0
 * when it does not. */
static size_t split_at(const char *path, size_t n)
{
	size_t i = n > 156 ? 156 : n;

	while (i > 0 && path[i - 1] != '/')
		i--;
	if (i < 2 || n - i == 0 || n - i > 100)
		return 0;
	return i - 1;
}

size_t tar_header(const char *path, uint64_t size_bytes, uint8_t to[TAR_HEADER_MAX])
{
	size_t n = strlen(path), at = 0, slash;
	bool is_plain = is_ascii(path);
	uint8_t *block;

	memset(to, 0, TAR_HEADER_MAX);
	if (is_plain && n <= 100) {
		memcpy(to, path, n);
	} else if (is_plain && (slash = split_at(path, n))) {
		memcpy(to + 345, path, slash);
		memcpy(to, path + slash + 1, n - slash - 1);
	} else {
		at = put_pax(path, to);
		put_ascii_name(to + at, path);
	}
	block = to + at;
	put_header(block, '0', 0644, size_bytes);
	return at + TAR_BLOCK;
}

void tar_begin(struct tar_writer *w, struct sink *to)
{
	*w = (struct tar_writer){ .to = to };
}

/* The caller announced a size and must have given exactly that: anything else would shift all that
 * follows. */
static int end_entry(struct tar_writer *w, struct err *e)
{
	uint32_t pad = w->pad_bytes;

	if (w->left_bytes)
		BUG("a file in the archive was given fewer bytes than announced");
	w->pad_bytes = 0;
	return pad ? w->to->write(w->to, zeros, pad, e) : OK;
}

/* Order and size are checked here, so an archive that was written can always be read back by tar.c. */
int tar_add(struct tar_writer *w, const char *path, uint64_t size_bytes, struct err *e)
{
	uint8_t header[TAR_HEADER_MAX];
	size_t n = strlen(path);
	int rc;

	if ((rc = tar_check_path(path, n, e)) || (rc = end_entry(w, e)))
		return rc;
	if (size_bytes >= 1ull << 33)
		return err_set(e, E_LIMIT, "TAR_SIZE", "'%s' has 8 GiB or more: leave it out", path);
	if (strcmp(w->last_path, path) >= 0)
		BUG("files must enter the archive in ascending order");
	memcpy(w->last_path, path, n + 1);
	w->left_bytes = size_bytes;
	w->pad_bytes = (uint32_t)(-size_bytes & (TAR_BLOCK - 1));
	return w->to->write(w->to, header, tar_header(path, size_bytes, header), e);
}

int tar_put(struct tar_writer *w, const void *p, size_t n, struct err *e)
{
	if (n > w->left_bytes)
		BUG("a file in the archive was given more bytes than announced");
	w->left_bytes -= n;
	return n ? w->to->write(w->to, p, n, e) : OK;
}

int tar_end(struct tar_writer *w, struct err *e)
{
	int rc = end_entry(w, e);

	return rc ? rc : w->to->write(w->to, zeros, sizeof(zeros), e);
}
