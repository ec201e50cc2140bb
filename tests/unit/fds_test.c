/* fds_test.c — descriptors from one process to another: all of them or none, and none that nobody asked for stays open. */
#include "base/fds.h"

#include "base/file.h"
#include "tools/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_arrive_with_their_bytes(void **state)
{
	const int yes = 1;
	int pair[2], pipes[2];
	char text[16];
	struct fds_got got;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(fds_send(pair[0], bytes_of("abc"), pipes, 2), 0);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), 0, &got), 3);
	assert_memory_equal(text, "abc", 3);
	assert_int_equal(got.pid, getpid());
	assert_true(got.fds[0] >= 0 && got.fds[1] >= 0 && got.fds[2] == -1);
	assert_int_equal(fcntl(got.fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(write(got.fds[1], "x", 1), 1);
	assert_int_equal(read(pipes[0], text, 1), 1);
	fds_close(&got);
	assert_int_equal(fds_send(pair[0], bytes_of("none"), NULL, 0), 0);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), 0, &got), 4);
	assert_int_equal(got.fds[0], -1);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), MSG_DONTWAIT, &got), -1);
	assert_int_equal(errno, EAGAIN);
	close(pair[0]);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), 0, &got), 0);
	close(pair[1]);
	close(pipes[0]);
	close(pipes[1]);
}

/* A message whose end was cut off could say another thing than its sender. */
static void test_what_is_cut_off_is_none(void **state)
{
	int pair[2], fds[FDS_MOST + 3];
	char text[4];
	struct fds_got got;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = pair[0];
	int before = count_open();
	assert_int_equal(fds_send(pair[0], bytes_of("longer"), fds, 2), 0);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), 0, &got), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(got.fds[0], -1);
	/* More than there is room for, from somebody who does not send as we do. */
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(fds))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(fds)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { text, 1 };
	struct msghdr many = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	assert_int_equal(sendmsg(pair[0], &many, 0), 1);
	assert_int_equal(fds_receive(pair[1], text, sizeof(text), 0, &got), -1);
	assert_int_equal(errno, EPROTO);
	assert_int_equal(count_open(), before);
	assert_int_equal(fds_send(pair[0], bytes_of("x"), fds, ARRAY_SIZE(fds)), -1);
	assert_int_equal(errno, EINVAL);
	close(pair[0]);
	close(pair[1]);
}

static void on_alarm(int number)
{
	(void)number;
}

/* More than a socket holds, to a reader who is slow, while signals interrupt. */
static void test_all_of_it_through_a_stream(void **state)
{
	static uint8_t text[3 << 20];
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	const struct sigaction act = { .sa_handler = on_alarm };
	size_t sum = 0;
	int pair[2], status, seen = 0;
	struct fds_got got;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	pid_t child = fork();
	if (child == 0) {
		sigaction(SIGALRM, &act, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		int rc = fds_send(pair[0], (struct bytes){ text, sizeof(text) }, pair, 2);
		setitimer(ITIMER_REAL, &never, NULL);
		_exit(rc ? 1 : 0);
	}
	close(pair[0]);
	while (sum < sizeof(text)) {
		static char chunk[64 << 10];
		ssize_t n = fds_receive(pair[1], chunk, sizeof(chunk), 0, &got);
		assert_true(n > 0);
		for (size_t i = 0; i < FDS_MOST; i++)
			seen += got.fds[i] >= 0;
		fds_close(&got);
		sum += (size_t)n;
		usleep(500);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(seen, 2);
	/* A reader that has gone is an error, not a signal. */
	int half[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, half), 0);
	close(half[1]);
	assert_int_equal(fds_send(half[0], bytes_of("x"), NULL, 0), -1);
	assert_int_equal(errno, EPIPE);
	close(half[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrive_with_their_bytes),
		cmocka_unit_test(test_what_is_cut_off_is_none),
		cmocka_unit_test(test_all_of_it_through_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
