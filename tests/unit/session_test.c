/* session_test.c — bundles between processes, and a session: what its calls share, how they end, and that nothing outlives it. */
#include "execute/execute.h"

#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2];

static int open_pair(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static void test_bundle_arrives(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static char long_text[300000];
	const char *texts[] = { "one", "", long_text };
	int pipes[2];
	struct bundle got,
		b = { .kind = 7,
			.call = 8,
			.number = -9,
			.texts = texts,
			.text_count = 3,
			.fds = { -1, -1, -1, -1, -1 } };

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	assert_int_equal(pipe(pipes), 0);
	b.fds[0] = pipes[0];
	assert_int_equal(bundle_send(pair[0], &b), 0);
	assert_int_equal(bundle_receive(&a, pair[1], &got), 0);
	assert_int_equal(got.kind, 7);
	assert_int_equal(got.call, 8);
	assert_int_equal(got.number, -9);
	assert_int_equal(got.text_count, 3);
	assert_string_equal(got.texts[0], "one");
	assert_string_equal(got.texts[1], "");
	assert_int_equal(strlen(got.texts[2]), sizeof(long_text) - 1);
	assert_null(got.texts[3]);
	assert_true(got.fds[0] >= 0);
	assert_int_equal(got.fds[1], -1);
	/* It is the same pipe, and not handed on to programs. */
	assert_int_equal(write(pipes[1], "p", 1), 1);
	char byte = 0;
	assert_int_equal(read(got.fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'p');
	assert_true(fcntl(got.fds[0], F_GETFD) & FD_CLOEXEC);
	bundle_close_fds(&got);
	close(pipes[0]);
	close(pipes[1]);
}

/* Whatever is sent, it is refused or whole. */
static void test_bundle_is_checked(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct {
		uint32_t kind, call;
		int32_t number;
		uint32_t texts;
		uint64_t bytes;
	} head = { 1, 1, 0, 3, 10 };
	struct bundle got;

	(void)state;
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(bundle_receive(&a, pair[1], &got), -1);
	/* Texts are promised, and no file came. */
	assert_int_equal(send(pair[0], &head, sizeof(head), 0), sizeof(head));
	assert_int_equal(bundle_receive(&a, pair[1], &got), -1);
	close(pair[0]);
	assert_int_equal(bundle_receive(&a, pair[1], &got), -1);
	pair[0] = dup(pair[1]);
}

/* ---- sessions ---- */

static const char *const writes[] = { "/tmp", "/dev/shm", NULL };
/* All tests run once for each way to build the sandbox that stands here. */
static struct sandbox_rules rules = { .network = NETWORK_LOOPBACK, .write_paths = writes };

static void begin(struct session *x, uint32_t number, const char *text, const char *note)
{
	const char *const argv[] = { "sh", "-c", text, NULL }, *const env[] = { "PATH=/usr/bin:/bin", NULL };
	AUTO(close_fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct session_call how = { .program = "/bin/sh",
		.argv = argv,
		.environment = env,
		.cwd = "/",
		.note = note,
		.umask = 022,
		.streams = { null, null, null },
		.extra = -1 };

	assert_int_equal(session_run(x, number, &how), 0);
}

static struct session_news await(struct session *x, uint32_t number)
{
	struct session_news news;

	do
		assert_int_equal(session_hear(x, &news), 0);
	while (news.call != number);
	return news;
}

static void test_calls_end(void **state)
{
	AUTO(session_end) struct session *x = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(session_start(sys_real(), &rules, &x, &e), OK);
	begin(x, 1, "exit 3", NULL);
	struct session_news news = await(x, 1);
	assert_int_equal(news.what, SESSION_ENDED);
	assert_int_equal(WEXITSTATUS(news.status), 3);
	assert_true(session_is_empty(x));
	assert_true(news.report.seccomp);
	begin(x, 2, "kill -9 $$", NULL);
	assert_int_equal(WTERMSIG(await(x, 2).status), SIGKILL);
	begin(x, 3, "cd /usr && pwd >/tmp/.session-test-note", "/tmp/.session-test-note");
	assert_string_equal(await(x, 3).note, "/usr");
	assert_int_not_equal(access("/tmp/.session-test-note", F_OK), 0);
	begin(x, 4, "sleep 100", NULL);
	session_signal(x, 4, SIGTERM);
	assert_int_equal(WTERMSIG(await(x, 4).status), SIGTERM);
}

static void test_calls_share(void **state)
{
	AUTO(session_end) struct session *x = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(session_start(sys_real(), &rules, &x, &e), OK);
	begin(x, 1, "cd /tmp && echo kept >.session-test-t; sleep 100 & echo $! >/tmp/.session-test-pid",
		NULL);
	struct session_news news = await(x, 1);
	assert_int_equal(news.status, 0);
	assert_false(session_is_empty(x)); /* the background process */
	/* Where the sandbox has the /proc from outside, the process has another number there. */
	begin(x, 2,
		"cd /tmp && pid=$(cat .session-test-pid) && test $(cat .session-test-t) = kept && "
		"rm .session-test-t .session-test-pid && read self rest </proc/self/stat && "
		"{ test $self != $$ || readlink /proc/$pid/exe; } && kill $pid",
		NULL);
	assert_int_equal(await(x, 2).status, 0);
	for (int i = 0; i < 500 && !session_is_empty(x); i++)
		usleep(10000);
	assert_true(session_is_empty(x));
}

/* A program that is not there, and a directory that is not. */
static void test_not_started(void **state)
{
	AUTO(session_end) struct session *x = NULL;
	const char *const argv[] = { "x", NULL }, *const env[] = { NULL };
	struct session_call how = { .program = "/nonexistent",
		.argv = argv,
		.environment = env,
		.cwd = "/",
		.streams = { 0, 1, 2 },
		.extra = -1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(session_start(sys_real(), &rules, &x, &e), OK);
	assert_int_equal(session_run(x, 1, &how), 0);
	struct session_news news = await(x, 1);
	assert_int_equal(WEXITSTATUS(news.status), 127);
	assert_int_equal(news.report.exec_errno, ENOENT);
	how.cwd = "/nonexistent";
	assert_int_equal(session_run(x, 2, &how), 0);
	assert_non_null(strstr(await(x, 2).report.refused, "cannot enter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bundle_arrives, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_bundle_is_checked, open_pair, close_pair),
		cmocka_unit_test(test_calls_end),
		cmocka_unit_test(test_calls_share),
		cmocka_unit_test(test_not_started),
	};

	int failed = 0;

	for (int k = SANDBOX_NAMESPACES; k <= SANDBOX_SUPERVISED; k++) {
		const char *name = k == SANDBOX_NAMESPACES ? "namespaces" : "supervised";
		struct session *x = NULL;
		struct err e = { 0 };
		rules.kind = (enum sandbox_kind)k;
		bool stands = session_start(sys_real(), &rules, &x, &e) == OK;
		session_end(&x);
		if (stands)
			failed += _cmocka_run_group_tests(name, tests, ARRAY_SIZE(tests), NULL, NULL);
		else
			print_message("SKIPPED: %s: %s\n", name, e.text);
	}
	return failed;
}
