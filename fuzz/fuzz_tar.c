/* fuzz_tar.c — archives from strangers, plain and compressed.  Whatever is accepted in the writer's own form must come out of
 * the writer again byte for byte.
 *
 * An input that starts with '!' is an archive behind it whose checksums are made right first: the fuzzer would need for ever
 * to find them. */
#include "base/gzip.h"
#include "base/tar.h"
#include "fuzz.h"

struct taken {
	struct tar_writer w;
	struct sink_buf sink;
	struct buf copy;
	bool is_ordered;
};

static int take(struct tar_reader *r, const struct tar_entry *entry, struct taken *t, struct err *e)
{
	uint8_t piece[1000];
	size_t got = 1;
	int rc = t->is_ordered ? tar_add(&t->w, entry->path, entry->size_bytes, e) : OK;

	while (!rc && got) {
		rc = tar_read(r, piece, sizeof(piece), &got, e);
		if (!rc && t->is_ordered)
			rc = tar_put(&t->w, piece, got, e);
	}
	return rc;
}

static void read_whole(struct arena *a, struct stream *in, struct bytes whole, bool is_plain)
{
	struct tar_limits lim = { .total_bytes = 1 << 22, .max_entries = 1000 };
	struct tar_reader r;
	struct tar_entry entry;
	struct taken t = { .is_ordered = true };
	struct err e = { 0 };
	bool more = true;
	int rc = OK;

	buf_init(&t.copy, a);
	tar_begin(&t.w, sink_to_buf(&t.sink, &t.copy));
	tar_open(&r, a, in, &lim);
	while (!rc && !(rc = tar_next(&r, &entry, &more, &e)) && more) {
		t.is_ordered &= !r.departure;
		rc = entry.is_dir ? OK : take(&r, &entry, &t, &e);
	}
	if (rc && (!e.code[0] || !e.text[0]))
		__builtin_trap();
	if (rc || r.departure || !is_plain)
		return;
	if (tar_end(&t.w, &e) || !bytes_eq(buf_bytes(&t.copy), whole))
		__builtin_trap();
}

static struct bytes with_checksums(struct arena *a, struct bytes from)
{
	uint8_t *copy = arena_alloc(a, from.n + 1);

	memcpy(copy, from.p, from.n);
	for (size_t at = 0; at + TAR_BLOCK <= from.n; at += TAR_BLOCK) {
		uint32_t sum = 0;
		char digits[8];
		if (memcmp(copy + at + 257, "ustar", 5) != 0)
			continue;
		memset(copy + at + 148, ' ', 8);
		for (size_t i = 0; i < TAR_BLOCK; i++)
			sum += copy[at + i];
		snprintf(digits, sizeof(digits), "%06o", sum & 0777777);
		memcpy(copy + at + 148, digits, 7);
	}
	return (struct bytes){ copy, from.n };
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 256 << 20 };
	struct gzip_limits lim = { .max_bytes = 1 << 22 };
	struct bytes whole = { data, size };
	struct stream_bytes in;
	struct stream *plain;
	struct err e = { 0 };

	if (size && data[0] == '!')
		whole = with_checksums(&a, (struct bytes){ data + 1, size - 1 });
	if (!gzip_is(whole))
		read_whole(&a, stream_from_bytes(&in, whole), whole, true);
	else if (gzip_open(&a, stream_from_bytes(&in, whole), &lim, &plain, &e) == OK)
		read_whole(&a, plain, whole, false);
}
