/* ledger_test.c — ledgers that lie in several pieces: readers see one ledger, each row once, also beside writers who put pieces
 * aside and seal them. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NAME "task-ledger.jsonl"

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
};

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void put(int fd, int number, const char *filler)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = json_new(&a, JSON_OBJECT);
	struct err e = { 0 };

	json_seti(&a, row, "number", number);
	json_sets(&a, row, "filler", filler);
	assert_int_equal(ledger_note(sys_real(), &a, fd, FILE_NAME, row, &e), OK);
}

static void rotate(struct fixture *f)
{
	struct err e = { 0 };

	assert_int_equal(ledger_rotate(sys_real(), f->dir.fd, FILE_NAME, 1, true, &e), OK);
	assert_false(scratch_has(&f->dir, FILE_NAME));
}

static void seal(struct fixture *f, size_t expected)
{
	struct err e = { 0 };
	size_t n;

	if (ledger_seal(&f->r, &f->a, &n, &e))
		fail_msg("%s", e.text);
	assert_int_equal(n, expected);
}

/* What a reader met. */
struct seen {
	int next, n;
	off_t last, from_place;
	int from_number;
};

static int see_next(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct seen *s = arg;

	(void)e;
	assert_non_null(row);
	assert_int_equal(json_get_int(row, "number", -1), s->next);
	assert_true(s->n == 0 || place > s->last);
	assert_int_equal(line, ++s->n);
	if (s->next == s->from_number)
		s->from_place = place;
	s->last = place;
	s->next++;
	return 0;
}

static int see_previous(void *arg, struct json *row)
{
	struct seen *s = arg;

	assert_int_equal(json_get_int(row, "number", -1), --s->next);
	s->n++;
	return 0;
}

static void check_all(struct fixture *f, int count)
{
	struct seen forth = { .from_number = count / 2 }, back = { .next = count };
	struct json *rows, *row;
	struct err e = { 0 };

	assert_int_equal(rows_each(sys_real(), f->dir.fd, FILE_NAME, 0, see_next, &forth, &e), OK);
	assert_int_equal(forth.n, count);
	assert_int_equal(
		rows_back(sys_real(), NULL, f->dir.fd, FILE_NAME, 0, NULL, see_previous, &back, &e), OK);
	assert_int_equal(back.n, count);
	assert_int_equal(back.next, 0);
	assert_int_equal(
		rows_tail(sys_real(), &f->a, f->dir.fd, FILE_NAME, (size_t)count - 1, &rows, &e), OK);
	assert_int_equal(rows->n, count - 1);
	assert_int_equal(json_get_int(rows->items[0], "number", -1), 1);
	/* From a place in the middle, and the row at it. */
	struct seen rest = { .next = count / 2 };
	assert_int_equal(
		rows_each(sys_real(), f->dir.fd, FILE_NAME, forth.from_place, see_next, &rest, &e), OK);
	assert_int_equal(rest.n, count - count / 2);
	assert_int_equal(row_at(sys_real(), &f->a, f->dir.fd, FILE_NAME, forth.from_place, &row, &e), OK);
	assert_int_equal(json_get_int(row, "number", -1), count / 2);
	off_t end_place;
	assert_int_equal(ledger_end(sys_real(), f->dir.fd, FILE_NAME, &end_place, &e), OK);
	assert_true(end_place > forth.last);
}

/* Pieces in every state: sealed, waiting, newest; long lines among them. */
static void one_ledger(void **state)
{
	(void)state;
	struct fixture f;
	char *longer;
	int n = 0;

	begin(&f);
	longer = arena_text(&f.a, 600001);
	memset(longer, 'y', 600000);
	longer[600000] = '\0';
	for (int piece = 0; piece < 3; piece++) {
		for (int i = 0; i < 700; i++)
			put(f.dir.fd, n++, i % 300 == 7 ? longer : "short");
		if (piece < 2)
			rotate(&f);
		if (piece == 0)
			seal(&f, 1);
	}
	assert_true(scratch_has(&f.dir, "segments/task-ledger-000001.jsonl.zst"));
	assert_false(scratch_has(&f.dir, "segments/waiting/task-ledger-000001.jsonl"));
	assert_true(scratch_has(&f.dir, "segments/waiting/task-ledger-000002.jsonl"));
	check_all(&f, n);
	seal(&f, 1);
	check_all(&f, n);
	rotate(&f);
	check_all(&f, n);
	seal(&f, 1);
	check_all(&f, n);
	seal(&f, 0);
	put(f.dir.fd, n++, "after all");
	check_all(&f, n);
	end(&f);
}

/* The receipt says what the piece holds, and the packed file gives it. */
static void receipt_binds(void **state)
{
	(void)state;
	struct fixture f;
	struct json *rows;
	struct err e = { 0 };
	char hex[SHA256_HEX];
	uint64_t bytes;

	begin(&f);
	for (int i = 0; i < 10; i++)
		put(f.dir.fd, i, "x");
	char *text = arena_strdup(&f.a, scratch_get(&f.dir, FILE_NAME));
	rotate(&f);
	seal(&f, 1);
	assert_int_equal(rows_tail(sys_real(), &f.a, f.dir.fd, RECEIPTS, 1, &rows, &e), OK);
	const struct json *receipt = rows->items[0], *about = json_get(receipt, "metadata");
	assert_string_equal(json_get_text(receipt, "effect_id", ""), LEDGER_ROTATE_EFFECT);
	assert_string_equal(json_get_text(receipt, "output_hash", ""), json_sha256(&f.a, about));
	assert_string_equal(json_get_text(about, "sha256", ""), sha256_hex(&f.a, text, strlen(text)));
	assert_int_equal(json_get_int(about, "rows", 0), 10);
	assert_int_equal(json_get_int(about, "bytes", 0), strlen(text));
	const char *name = json_get_text(about, "segment", "");
	assert_int_equal(ledger_segment_digest(sys_real(), f.dir.fd, name, hex, &bytes, &e), OK);
	assert_string_equal(hex, json_get_text(about, "sha256", ""));
	assert_int_equal(bytes, strlen(text));
	end(&f);
}

/* A segment whose bytes were changed is said to be damaged, and is no reason to crash. */
static void damaged(void **state)
{
	(void)state;
	struct fixture f;
	struct seen s = { 0 };

	begin(&f);
	for (int i = 0; i < 100; i++)
		put(f.dir.fd, i, "some text that is packed");
	rotate(&f);
	seal(&f, 1);
	const char *name = "segments/task-ledger-000001.jsonl.zst";
	int fd = openat(f.dir.fd, name, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	int found = 0;
	for (off_t at = 0; at < size; at++) {
		struct err e = { 0 };
		uint8_t byte, other;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x55;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		s = (struct seen){ .next = -1 };
		char hex[SHA256_HEX];
		uint64_t bytes;
		int rc = ledger_segment_digest(sys_real(), f.dir.fd, name, hex, &bytes, &e);
		found += rc != OK;
		assert_true(rc == OK || rc == E_CORRUPT);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(found > size / 2);
	for (off_t cut = 0; cut < size; cut += 7) {
		struct err e = { 0 };
		assert_int_equal(ftruncate(fd, cut), 0);
		assert_int_equal(rows_each(sys_real(), f.dir.fd, FILE_NAME, 0, see_next, &s, &e), E_CORRUPT);
		assert_string_equal(e.code, "LEDGER_SEGMENT");
	}
	close(fd);
	end(&f);
}

/* Writers append and put aside, one seals, readers look: each sees a prefix without a hole and without a repetition. */
static void beside_writers(void **state)
{
	(void)state;
	enum { COUNT = 3000 };
	struct fixture f;
	int status, looks = 0;

	begin(&f);
	pid_t writer = fork();
	if (writer == 0) {
		for (int i = 0; i < COUNT; i++) {
			put(f.dir.fd, i, "beside");
			if (i % 50 == 49 && ledger_rotate(sys_real(), f.dir.fd, FILE_NAME, 1, false, NULL))
				_exit(1);
		}
		_exit(0);
	}
	pid_t sealer = fork();
	if (sealer == 0) {
		struct err e = { 0 };
		size_t n, all = 0;
		for (int i = 0; i < 20000 && all < COUNT / 50; i++) {
			if (ledger_seal(&f.r, &f.a, &n, &e))
				_exit(1);
			all += n;
			usleep(300);
		}
		_exit(0);
	}
	for (bool is_over = false; !is_over;) {
		struct seen forth = { 0 }, back = { 0 };
		struct json *rows;
		struct err e = { 0 };
		is_over = waitpid(writer, &status, WNOHANG) == writer;
		if (rows_each(sys_real(), f.dir.fd, FILE_NAME, 0, see_next, &forth, &e))
			fail_msg("%s", e.text);
		AUTO(arena_done) struct arena a = { 0 };
		if (rows_tail(sys_real(), &a, f.dir.fd, FILE_NAME, 1, &rows, &e))
			fail_msg("%s", e.text);
		back.next = rows->n ? (int)json_get_int(rows->items[0], "number", 0) + 1 : 0;
		assert_true(back.next >= forth.next);
		rows = json_new(&a, JSON_ARRAY);
		if (rows_tail(sys_real(), &a, f.dir.fd, FILE_NAME, 0, &rows, &e))
			fail_msg("%s", e.text);
		for (uint32_t i = 0; i < rows->n; i++)
			assert_int_equal(json_get_int(rows->items[i], "number", -1), i);
		looks++;
	}
	assert_true(looks > 2 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(waitpid(sealer, &status, 0), sealer);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	check_all(&f, COUNT);
	end(&f);
}

/* Reading twenty megabytes does not take twenty megabytes. */
static void bounded(void **state)
{
	(void)state;
	struct fixture f;
	int status;

	begin(&f);
	FILE *out = fdopen(openat(f.dir.fd, FILE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "w");
	assert_non_null(out);
	for (int i = 0; i < 300000; i++)
		fprintf(out, "{\"filler\": \"%060d\", \"number\": %d}\n", i, i);
	assert_int_equal(fclose(out), 0);
	for (int round = 0; round < 2; round++) {
		pid_t reader = fork();
		if (reader == 0) {
			struct rusage before, after;
			struct seen s = { 0 }, back = { .next = 300000 };
			struct err e = { 0 };
			getrusage(RUSAGE_SELF, &before);
			bool ok = rows_each(sys_real(), f.dir.fd, FILE_NAME, 0, see_next, &s, &e) == OK &&
				s.n == 300000 &&
				rows_back(sys_real(), NULL, f.dir.fd, FILE_NAME, 0, NULL, see_previous, &back,
					&e) == OK &&
				back.next == 0;
			getrusage(RUSAGE_SELF, &after);
			_exit(!ok ? 1 : after.ru_maxrss - before.ru_maxrss > 12 << 10 ? 2 : 0);
		}
		assert_int_equal(waitpid(reader, &status, 0), reader);
		assert_true(WIFEXITED(status));
#ifndef __SANITIZE_ADDRESS__
		assert_int_equal(WEXITSTATUS(status), 0);
#else
		assert_true(WEXITSTATUS(status) != 1);
#endif
		if (round == 0) {
			rotate(&f);
			seal(&f, 1);
		}
	}
	end(&f);
}

/* Numbers of pieces that were taken away are not used again while anything keeps their place. */
static void numbers_go_on(void **state)
{
	(void)state;
	struct fixture f;

	begin(&f);
	put(f.dir.fd, 0, "x");
	rotate(&f);
	seal(&f, 1);
	assert_int_equal(renameat(f.dir.fd, "segments/task-ledger-000001.jsonl.zst", f.dir.fd,
				 "segments/task-ledger-000001.jsonl.zst.archived.json"),
		0);
	put(f.dir.fd, 1, "x");
	rotate(&f);
	assert_true(scratch_has(&f.dir, "segments/waiting/task-ledger-000002.jsonl"));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_ledger),
		cmocka_unit_test(receipt_binds),
		cmocka_unit_test(damaged),
		cmocka_unit_test(beside_writers),
		cmocka_unit_test(bounded),
		cmocka_unit_test(numbers_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
