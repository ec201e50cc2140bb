/* Limits of memory: an error where input decides, one sentence and an exit code elsewhere; never a signal. */
#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void pass_the_limit(void)
{
	struct arena a = { .limit_bytes = 1000 };

	(void)arena_alloc(&a, 1001);
}

#ifndef __SANITIZE_ADDRESS__
static void find_no_memory(void)
{
	struct arena a = { .limit_bytes = SIZE_MAX };

	(void)arena_alloc(&a, SIZE_MAX / 4);
}

static void find_no_memory_below(void)
{
	if (fork() == 0)
		find_no_memory();
	int status;
	(void)wait(&status);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static void be_blocked(void)
{
	limits_block_by(2);
	find_no_memory();
}

#endif

static void use_up_time(void)
{
	(void)raise(SIGXCPU);
}

/* A file that may not grow is an error of write(). */
static void write_too_much(void)
{
	struct rlimit none = { 0, RLIM_INFINITY };
	char path[] = "/tmp/limits-XXXXXX";
	int fd = mkstemp(path);

	(void)unlink(path);
	(void)setrlimit(RLIMIT_FSIZE, &none);
	ssize_t n = write(fd, "x", 1);
	struct err e;
	(void)err_sys(&e, "TEST", "cannot write");
	(void)!write(2, e.text, strlen(e.text));
	_exit(n < 0 && errno == EFBIG ? 7 : 8);
}

/* What it wrote to standard error; *ret_status is its end. */
static const char *end_of(void (*fn)(void), int *ret_status)
{
	static char text[1 << 16]; /* a sanitizer has its say first */
	int pipe_fd[2];

	assert_int_equal(pipe(pipe_fd), 0);
	pid_t pid = fork();
	if (pid == 0) {
		(void)dup2(pipe_fd[1], 2);
		limits_begin(sys_real());
		fn();
		_exit(98);
	}
	(void)close(pipe_fd[1]);
	size_t n = 0;
	for (ssize_t got; (got = read(pipe_fd[0], text + n, sizeof(text) - 1 - n)) > 0;)
		n += (size_t)got;
	text[n] = '\0';
	(void)close(pipe_fd[0]);
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
	return text;
}

static void a_limit_ends_with_a_sentence_and_a_code(void **state)
{
	static const struct {
		void (*fn)(void);
		int code;
		const char *text;
	} rows[] = {
		{ pass_the_limit, 1,
			"helm: out of memory: 1001 bytes more were needed. One operation may use 1000" },
#ifndef __SANITIZE_ADDRESS__ /* whose malloc() ends the process itself */
		{ find_no_memory, 1, "Raise 'ulimit -v'" },
		{ find_no_memory_below, 126, "helm: out of memory: " },
		{ be_blocked, 2, "helm: out of memory: " },
#endif
		{ use_up_time, 1, "ulimit -t" },
		{ write_too_much, 7, "cannot write: File too large; raise 'ulimit -f'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int status;
		const char *text = end_of(rows[i].fn, &status);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), rows[i].code);
		if (!strstr(text, rows[i].text))
			fail_msg("%zu: \"%s\" is not in: %s", i, rows[i].text, text);
	}
}

/* At every size of the arena: the tree, or an error; the process goes on. */
static void json_that_does_not_fit_is_an_error(void **state)
{
	AUTO(arena_done) struct arena texts = { 0 };
	struct json *doc;
	struct err e;
	struct buf text;

	(void)state;
	buf_init(&text, &texts);
	buf_adds(&text, "[");
	for (int i = 0; i < 2000; i++)
		buf_addf(&text, "%s{\"a\":[%d,{\"b\":\"c\"}],\"d\":true}", i ? "," : "", i);
	buf_adds(&text, "]");
	bool fitted = false;
	for (size_t limit = 1; !fitted && limit < 8 << 20; limit += limit < 4096 ? 97 : 20011) {
		AUTO(arena_done) struct arena a = { .limit_bytes = limit };
		int rc = json_parse(&a, buf_bytes(&text), "deep", NULL, &doc, &e);
		fitted = rc == OK;
		if (!fitted) {
			assert_int_equal(rc, E_LIMIT);
			assert_string_equal(e.code, "JSON_MEMORY");
		}
	}
	assert_true(fitted);
}

static void a_file_that_does_not_fit_is_an_error(void **state)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 1000 };
	struct bytes text;
	struct err e;

	(void)state;
	assert_int_equal(
		file_read(sys_real(), &a, AT_FDCWD, "/proc/self/exe", SIZE_MAX / 2, FILE_FOLLOW, &text, &e),
		E_LIMIT);
	assert_string_equal(e.code, "FILE_MEMORY");
	assert_false(arena_has_room(&a, 1001));
	assert_true(arena_has_room(&a, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_ends_with_a_sentence_and_a_code),
		cmocka_unit_test(json_that_does_not_fit_is_an_error),
		cmocka_unit_test(a_file_that_does_not_fit_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
