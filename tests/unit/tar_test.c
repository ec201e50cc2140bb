/* tar_test.c — archives: the same bytes every time, and nothing strange accepted. */
#include "base/gzip.h"
#include "base/tar.h"
#include "tools/unit.h"

#include <zlib.h>

static struct arena a;
static struct err e;
static struct buf b;

static int setup(void **state)
{
	(void)state;
	e = (struct err){ 0 };
	buf_init(&b, &a);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

/* Reads an archive to its end; returns how many entries it had, or the error. */
static int read_all(struct bytes archive, const struct tar_limits *lim, const char **ret_departure)
{
	struct stream_bytes in;
	struct tar_reader r;
	struct tar_entry entry;
	bool more = true;
	int n = 0;

	tar_open(&r, &a, stream_from_bytes(&in, archive), lim);
	for (;;) {
		int rc = tar_next(&r, &entry, &more, &e);
		if (rc)
			return rc;
		if (!more)
			break;
		n++;
	}
	if (ret_departure)
		*ret_departure = r.departure;
	return n;
}

static void refused(struct bytes archive, const char *code)
{
	e = (struct err){ 0 };
	int rc = read_all(archive, NULL, NULL);
	if (rc >= 0)
		fail_msg("accepted, expected %s", code);
	assert_string_equal(e.code, code);
	assert_true(e.text[0]);
}

static struct tar_writer writer;
static struct sink_buf sink;

static void begin(void)
{
	buf_init(&b, &a);
	tar_begin(&writer, sink_to_buf(&sink, &b));
}

static void add(const char *path, const char *content)
{
	assert_int_equal(tar_add(&writer, path, strlen(content), &e), OK);
	assert_int_equal(tar_put(&writer, content, strlen(content), &e), OK);
}

static struct bytes end(void)
{
	assert_int_equal(tar_end(&writer, &e), OK);
	return buf_bytes(&b);
}

static void fix_checksum(uint8_t *block)
{
	uint32_t sum = 0;
	char digits[8];

	memset(block + 148, ' ', 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	snprintf(digits, sizeof(digits), "%06o", sum);
	memcpy(block + 148, digits, 7);
}

/* A one-file archive whose header a stranger wrote. */
static struct bytes crafted(const char *name, char type, const char *size_field)
{
	begin();
	add("name", "x");
	struct bytes whole = end();
	uint8_t *block = (uint8_t *)b.p;
	memset(block, 0, 100);
	memcpy(block, name, strlen(name) > 100 ? 100 : strlen(name));
	block[156] = (uint8_t)type;
	if (size_field)
		memcpy(block + 124, size_field, 12);
	fix_checksum(block);
	return whole;
}

static void round_trip(void **state)
{
	(void)state;
	const char *departure = "unset";
	char long_name[256], split[200];

	memset(long_name, 'z', 250);
	long_name[250] = 0;
	memset(split, 'q', 180);
	split[90] = '/';
	split[180] = 0;
	begin();
	add("a", "");
	add("b/c.json", "{}");
	add("d\xc3\xa9j\xc3\xa0", "vu");
	add(split, "split name");
	add(long_name, "pax name");
	struct bytes archive = end();
	assert_int_equal(archive.n % TAR_BLOCK, 0);
	assert_int_equal(read_all(archive, NULL, &departure), 5);
	assert_null(departure);
}

static void reads_what_it_wrote(void **state)
{
	(void)state;
	struct stream_bytes in;
	struct tar_reader r;
	struct tar_entry entry;
	bool more;
	char text[16];
	size_t n;

	begin();
	add("one", "first");
	add("two", "second");
	tar_open(&r, &a, stream_from_bytes(&in, end()), NULL);
	assert_int_equal(tar_next(&r, &entry, &more, &e), OK);
	assert_string_equal(entry.path, "one");
	assert_int_equal(tar_next(&r, &entry, &more, &e), OK); /* skipped unread */
	assert_int_equal(entry.size_bytes, 6);
	assert_int_equal(tar_read(&r, text, sizeof(text), &n, &e), OK);
	assert_int_equal(n, 6);
	assert_memory_equal(text, "second", 6);
	assert_int_equal(tar_read(&r, text, sizeof(text), &n, &e), OK);
	assert_int_equal(n, 0);
	assert_int_equal(tar_next(&r, &entry, &more, &e), OK);
	assert_false(more);
}

/* The header of docs/formats/tar.md, field by field. */
static void header_bytes(void **state)
{
	(void)state;
	uint8_t h[TAR_HEADER_MAX];

	assert_int_equal(tar_header("manifest.json", 1317, h), TAR_BLOCK);
	assert_memory_equal(h, "manifest.json\0", 14);
	assert_memory_equal(h + 100,
		"0000644\0"
		"0000000\0"
		"0000000\0"
		"00000002445\0"
		"00000000000\0",
		48);
	assert_memory_equal(h + 156, "0", 1);
	assert_memory_equal(h + 257, "ustar\00000", 8);
	assert_memory_equal(h + 329,
		"0000000\0"
		"0000000\0",
		16);
	assert_int_equal(h[154], 0);
	assert_int_equal(h[155], ' ');
}

static void pax_bytes(void **state)
{
	(void)state;
	uint8_t h[TAR_HEADER_MAX];

	assert_int_equal(tar_header("dir/\xc3\xa9.json", 1, h), 3 * TAR_BLOCK);
	assert_string_equal((char *)h, "dir/PaxHeaders.0/.json");
	assert_memory_equal(h + 100, "0000000\0", 8);
	assert_int_equal(h[156], 'x');
	assert_int_equal(h[329], 0);
	assert_memory_equal(h + TAR_BLOCK, "20 path=dir/\xc3\xa9.json\n", 20);
	assert_string_equal((char *)h + 2 * TAR_BLOCK, "dir/.json");
}

static void names_refused(void **state)
{
	(void)state;
	static const char *const bad[] = { "../evil", "a/../b", "/abs", "a//b", "a/./b", "C:x", "a\\b",
		"a\nb", "..", "\xff\xfe", "a/..", "x/", "./../x" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		refused(crafted(bad[i], '0', NULL), "TAR_NAME");
	refused(crafted("", '0', NULL), "TAR_NAME");
	assert_int_equal(read_all(crafted("./ok", '0', NULL), NULL, NULL), 1);
}

static void types_refused(void **state)
{
	(void)state;
	refused(crafted("l", '1', NULL), "TAR_LINK");
	refused(crafted("l", '2', NULL), "TAR_LINK");
	for (const char *t = "3467gKSVDMN"; *t; t++)
		refused(crafted("l", *t, NULL), "TAR_TYPE");
	refused(crafted("d", '5', NULL), "TAR_SIZE"); /* a directory with content */
}

static void sizes_refused(void **state)
{
	(void)state;
	struct tar_limits lim = { .total_bytes = 1000, .entry_bytes = 10, .max_entries = 2 };

	refused(crafted("n", '0', "77777777777"), "TAR_LIMIT");
	refused(crafted("n", '0', "\x80\0\0\0\0\0\0\0\0\0\1\0"), "TAR_SIZE");
	refused(crafted("n", '0', "-1         "), "TAR_SIZE");
	refused(crafted("n", '0', "00000001 x "), "TAR_SIZE");
	refused(crafted("n", '0', "00000010000"), "TAR_TRUNCATED");
	begin();
	add("a", "12345678901");
	assert_int_equal(read_all(end(), &lim, NULL), E_LIMIT);
	begin();
	add("a", "1");
	add("b", "1");
	add("c", "1");
	assert_int_equal(read_all(end(), &lim, NULL), E_LIMIT);
	assert_string_equal(e.code, "TAR_LIMIT");
}

/* Two one-file archives become one with both names. */
static struct bytes joined(const char *x, char x_type, const char *y)
{
	struct bytes first = crafted(x, x_type, x_type == '5' ? "00000000000" : NULL);
	uint8_t *copy = arena_alloc(&a, 4 * TAR_BLOCK + 1024);
	size_t n = x_type == '5' ? TAR_BLOCK : 2 * TAR_BLOCK;

	memcpy(copy, first.p, n);
	struct bytes second = crafted(y, '0', NULL);
	memcpy(copy + n, second.p, second.n);
	return (struct bytes){ copy, n + second.n };
}

static void same_name_twice(void **state)
{
	(void)state;
	refused(joined("a", '0', "a"), "TAR_DUPLICATE");
	refused(joined("a", '0', "./a"), "TAR_DUPLICATE");
	refused(joined("a", '0', "A"), "TAR_CASE");
	refused(joined("dir/a", '0', "DIR/b"), "TAR_CASE");
	refused(joined("\xc3\xa9", '0', "\xc3\x89"), "TAR_CASE"); /* e acute, E acute */
	refused(joined("\xc3\xa9", '0', "e\xcc\x81"), "TAR_CASE"); /* the same letter, composed and not */
	refused(joined("a", '0', "a/b"), "TAR_DUPLICATE");
	refused(joined("a/b", '0', "a"), "TAR_DUPLICATE");
	refused(joined("a/", '5', "a"), "TAR_DUPLICATE");
	assert_int_equal(read_all(joined("a/", '5', "a/b"), NULL, NULL), 2);
}

static void damage_refused(void **state)
{
	(void)state;
	begin();
	add("a", "x");
	struct bytes whole = end();

	for (size_t n = 0; n < whole.n; n++)
		assert_true(read_all((struct bytes){ whole.p, n }, NULL, NULL) < 0);
	b.p[TAR_BLOCK + 9] = 1;
	refused(whole, "TAR_PADDING");
	b.p[TAR_BLOCK + 9] = 0;
	b.p[3 * TAR_BLOCK + 5] = 1;
	refused(whole, "TAR_TRAILING");
	b.p[3 * TAR_BLOCK + 5] = 0;
	b.p[0] ^= 1;
	refused(whole, "TAR_CHECKSUM");
	b.p[0] ^= 1;
	b.p[155] = 0;
	refused(whole, "TAR_CHECKSUM");
	b.p[155] = ' ';
	buf_add(&b, "tail", 4);
	refused(buf_bytes(&b), "TAR_TRAILING");
	b.n -= 4;
	memcpy(b.p + 257, "tar old ", 8);
	fix_checksum((uint8_t *)b.p);
	refused(buf_bytes(&b), "TAR_HEADER");
}

/* The header blocks of a single bit's difference are all noticed by the reader alone. */
static void every_header_bit_counts(void **state)
{
	(void)state;
	begin();
	add("a/file", "content");
	struct bytes whole = end();

	for (size_t bit = 0; bit < whole.n * 8; bit++) {
		size_t at = bit / 8;
		if (at >= TAR_BLOCK && at < TAR_BLOCK + 7)
			continue; /* content is for whoever knows its digest */
		b.p[at] = (char)(b.p[at] ^ 1 << bit % 8);
		if (read_all(whole, NULL, NULL) >= 0)
			fail_msg("bit %zu of the archive can be changed unnoticed", bit);
		b.p[at] = (char)(b.p[at] ^ 1 << bit % 8);
	}
}

static struct bytes with_pax(const char *records)
{
	uint8_t h[TAR_HEADER_MAX];

	buf_init(&b, &a);
	tar_header("\xc3\xa9", 0, h);
	memset(h + TAR_BLOCK, 0, TAR_BLOCK);
	memcpy(h + TAR_BLOCK, records, strlen(records));
	char size[13];
	snprintf(size, sizeof(size), "%011zo", strlen(records));
	memcpy(h + 124, size, 12);
	fix_checksum(h);
	buf_add(&b, h, 3 * TAR_BLOCK);
	for (int i = 0; i < 2 * TAR_BLOCK; i++)
		buf_addc(&b, 0);
	return buf_bytes(&b);
}

static void pax_records(void **state)
{
	(void)state;
	static const char *const bad[] = { "10 path=x", "8 path=x\n", "010 path=x\n", "10 pathox\n",
		"10path=xx\n", "99 path=x\n", "11 path=x\n\n", "24 GNU.sparse.major=1\n\n",
		"23 GNU.sparse.major=1\n", "14 linkpath=x\n", "8 size=1\n", "9 size=-1\n",
		"10 path=x\n10 path=y\n", "18 hdrcharset=BIN\n", "8 path=\n" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int rc = read_all(with_pax(bad[i]), NULL, NULL);
		if (rc >= 0)
			fail_msg("accepted pax records: %s", bad[i]);
	}
	assert_int_equal(read_all(with_pax("10 path=x\n"), NULL, NULL), 1);
	assert_int_equal(read_all(with_pax("10 path=x\n13 mtime=1.5\n"), NULL, NULL), 1);
	assert_int_equal(read_all(with_pax("10 size=0\n" + 1), NULL, NULL), E_INPUT);
	assert_int_equal(read_all(with_pax("10 path=x\n9 size=0\n"), NULL, NULL), 1);
	refused(with_pax("11 path=..\n"), "TAR_NAME");
}

static void departures_are_told(void **state)
{
	(void)state;
	const char *departure = NULL;

	read_all(joined("b", '0', "a"), NULL, &departure);
	assert_string_equal(departure, "its files are not in ascending order");
	read_all(joined("a/", '5', "a/b"), NULL, &departure);
	assert_string_equal(departure, "it has directory entries");
	begin();
	add("a", "x");
	end();
	for (int i = 0; i < TAR_BLOCK; i++)
		buf_addc(&b, 0);
	assert_int_equal(read_all(buf_bytes(&b), NULL, &departure), 1);
	assert_string_equal(departure, "it ends in more than two zero blocks");
}

static struct bytes gzipped(struct bytes plain)
{
	z_stream z = { 0 };
	size_t room = plain.n + 1024;
	uint8_t *to = arena_alloc(&a, room);

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)plain.p;
	z.avail_in = (uInt)plain.n;
	z.next_out = to;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size_t n = z.total_out;
	deflateEnd(&z);
	return (struct bytes){ to, n };
}

static int gunzip(struct bytes packed, const struct gzip_limits *lim, struct buf *to)
{
	struct stream_bytes in;
	struct stream *out;
	char piece[1000];
	size_t got = 1;
	int rc = gzip_open(&a, stream_from_bytes(&in, packed), lim, &out, &e);

	while (!rc && got) {
		rc = out->read(out, piece, sizeof(piece), &got, &e);
		if (!rc && to)
			buf_add(to, piece, got);
	}
	return rc;
}

static void gzip_reads(void **state)
{
	(void)state;
	begin();
	add("a", "hello");
	struct bytes plain = end(), packed = gzipped(plain);
	struct buf out;

	buf_init(&out, &a);
	assert_true(gzip_is(packed));
	assert_int_equal(gunzip(packed, NULL, &out), OK);
	assert_true(bytes_eq(buf_bytes(&out), plain));
	for (size_t n = 0; n < packed.n; n++)
		assert_true(gunzip((struct bytes){ packed.p, n }, NULL, NULL) < 0);
	assert_string_equal(e.code, "GZIP_TRUNCATED");
}

static void gzip_refuses(void **state)
{
	(void)state;
	struct bytes packed = gzipped(BYTES_LITERAL("hello hello hello"));
	uint8_t *bytes = arena_alloc(&a, 2 * packed.n);
	struct gzip_limits small = { .max_bytes = 8 };

	memcpy(bytes, packed.p, packed.n);
	memcpy(bytes + packed.n, packed.p, packed.n);
	assert_int_equal(gunzip((struct bytes){ bytes, packed.n + 1 }, NULL, NULL), E_INPUT);
	assert_string_equal(e.code, "GZIP_TRAILING");
	assert_int_equal(gunzip((struct bytes){ bytes, 2 * packed.n }, NULL, NULL), E_INPUT);
	bytes[packed.n - 6] ^= 1;
	assert_int_equal(gunzip((struct bytes){ bytes, packed.n }, NULL, NULL), E_INPUT);
	assert_string_equal(e.code, "GZIP_DAMAGED");
	assert_int_equal(gunzip(packed, &small, NULL), E_LIMIT);
	assert_string_equal(e.code, "GZIP_TOO_LARGE");
}

static void gzip_bomb(void **state)
{
	(void)state;
	size_t n = 16 << 20;
	struct bytes zeros = { arena_zalloc(&a, n, 1), n };

	assert_int_equal(gunzip(gzipped(zeros), NULL, NULL), E_LIMIT);
	assert_string_equal(e.code, "GZIP_RATIO");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_what_it_wrote, setup, teardown),
		cmocka_unit_test_setup_teardown(header_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(pax_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(names_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(types_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(same_name_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(every_header_bit_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(pax_records, setup, teardown),
		cmocka_unit_test_setup_teardown(departures_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(gzip_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(gzip_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(gzip_bomb, setup, teardown),
	};

	return cmocka_run_group_tests_name("tar", tests, NULL, NULL);
}
