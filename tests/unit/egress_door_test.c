/* egress_door_test.c — the door as a process: where names lead, who is held up by whom, and what is said about it.
 *
 * The door is served by a child with a resolver of the test's own; its listening socket and the servers are on this machine's
 * loopback, whose addresses the rules name. */
#include "execute/egress/egress.h"

#include "base/text.h"

#include "tools/unit.h"
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shared with the resolver in the child. */
static struct {
	int calls;
} * seen;

static struct {
	pid_t pid;
	int control, records, server;
	uint16_t port, server_port;
} door;

static struct sockaddr_in local(uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
}

static int listen_somewhere(uint16_t *ret_port)
{
	struct sockaddr_in at = local(0);
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(fd, 2000), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void put_v4(uint8_t *to, const char *four)
{
	memset(to, 0, 10);
	memset(to + 10, 0xff, 2);
	memcpy(to + 12, four, 4);
}

/* Where the names of this test lead. */
static int resolve(void *arg, const char *host, uint8_t (*ret)[EGRESS_ADDRESS], int most)
{
	int call = __atomic_fetch_add(&seen->calls, 1, __ATOMIC_SEQ_CST);

	(void)arg;
	(void)most;
	if (text_eq(host, "slow.test"))
		sleep(30);
	if (text_eq(host, "inside.test")) {
		put_v4(ret[0], "\x0a\0\0\1");
		return 1;
	}
	if (text_eq(host, "metadata.test")) {
		put_v4(ret[0], "\xa9\xfe\xa9\xfe");
		return 1;
	}
	if (text_eq(host, "both.test")) {
		put_v4(ret[0], "\x0a\0\0\1");
		put_v4(ret[1], "\x7f\0\0\1");
		return 2;
	}
	/* The first answer is good and every later one leads inside. */
	if (text_eq(host, "rebind.test")) {
		put_v4(ret[0], call ? "\xa9\xfe\xa9\xfe" : "\x7f\0\0\1");
		return 1;
	}
	if (text_eq(host, "good.test")) {
		put_v4(ret[0], "\x7f\0\0\1");
		return 1;
	}
	return -1;
}

static void hand_listener(int listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS } };
	char byte = 'l';
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};

	memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
	assert_int_equal(sendmsg(door.control, &message, 0), 1);
}

static void tell(const char *text)
{
	assert_int_equal(send(door.control, text, strlen(text), 0), (ssize_t)strlen(text));
}

static int start(void **state)
{
	struct egress_service how = {
		.resolve = resolve, .greet_ms = 1000, .connect_ms = 1500, .idle_ms = 2000
	};
	struct rlimit files;
	char text[400];
	int pair[2], records[2];

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe(records), 0);
	int listener = listen_somewhere(&door.port);
	door.server = listen_somewhere(&door.server_port);
	door.pid = fork();
	if (door.pid == 0) {
		close(pair[0]);
		close(records[0]);
		how.control = pair[1];
		how.records = records[1];
		_exit(egress_serve(&how, NULL) ? 1 : 0);
	}
	close(pair[1]);
	close(records[1]);
	door.control = pair[0];
	door.records = records[0];
	tell("wprofile test");
	snprintf(text, sizeof(text),
		"rt\tgood.test:%u\nt\trebind.test:%u\nt\tslow.test:%u\nt\tinside.test:%u\nt\tboth.test:%u\n"
		"t\tmetadata.test:%u\nt\tnowhere.test:%u\nt\t127.0.0.1:%u\n",
		door.server_port, door.server_port, door.server_port, door.server_port, door.server_port,
		door.server_port, door.server_port, door.server_port);
	tell(text);
	hand_listener(listener);
	close(listener);
	return 0;
}

/* What the door recorded, all of it, once it has ended; in memory that the next call reuses. */
static const char *stop_door(void)
{
	static char text[1 << 20];
	size_t n = 0;
	ssize_t got;
	int status;

	close(door.control);
	door.control = -1;
	while (n + 1 < sizeof(text) && (got = read(door.records, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	assert_int_equal(waitpid(door.pid, &status, 0), door.pid);
	door.pid = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return text;
}

static int stop(void **state)
{
	(void)state;
	if (door.pid) {
		kill(door.pid, SIGKILL);
		waitpid(door.pid, NULL, 0);
	}
	close_fd(&door.control);
	close_fd(&door.records);
	close_fd(&door.server);
	munmap(seen, sizeof(*seen));
	return 0;
}

static int reach(void)
{
	struct sockaddr_in at = local(door.port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void ask_for(int fd, const char *host)
{
	char text[300];

	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\n\r\n", host, door.server_port);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* The status of the answer; 0: the connection ended, -1: none came in time. */
static int status_of(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[2000] = "";

	if (poll(&p, 1, wait_ms) == 0)
		return -1;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	return n <= 0 ? 0 : (int)strtol(text + strlen("HTTP/1.1 "), NULL, 10);
}

static int try(const char *host, int wait_ms)
{
	int fd = reach();

	ask_for(fd, host);
	int status = status_of(fd, wait_ms);
	close(fd);
	return status;
}

static void names_that_lead_inside_are_refused(void **state)
{
	(void)state;
	assert_int_equal(try("good.test", 3000), 200);
	assert_int_equal(try("inside.test", 3000), 403);
	assert_int_equal(try("metadata.test", 3000), 403);
	assert_int_equal(try("both.test", 3000), 200); /* by the one of its addresses that is named */
	assert_int_equal(try("nowhere.test", 3000), 502);
	assert_int_equal(try("other.test", 3000), 403);
	assert_int_equal(seen->calls, 5); /* nobody looked for the one that is not named */
	const char *rows = stop_door();
	assert_non_null(strstr(rows, "\"host\":\"inside.test\""));
	assert_non_null(strstr(rows, "\"reason\":\"not public\""));
	assert_non_null(strstr(rows, "\"address\":\"169.254.169.254\""));
	assert_null(strstr(rows, "\"address\":\"10.0.0.1\",\"via\":\"connect\",\"verdict\":\"admitted\""));
}

/* The address that was judged is the one that is used: a name is looked up once for each connection. */
static void a_name_is_looked_up_once(void **state)
{
	(void)state;
	assert_int_equal(try("rebind.test", 3000), 200);
	assert_int_equal(seen->calls, 1);
	assert_int_equal(try("rebind.test", 3000), 403);
	assert_int_equal(seen->calls, 2);
}

static void a_slow_resolver_holds_nobody(void **state)
{
	int slow[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		slow[i] = reach();
		ask_for(slow[i], "slow.test");
	}
	assert_int_equal(try("good.test", 1000), 200);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(status_of(slow[i], 5000), 504);
		close(slow[i]);
	}
}

static void who_takes_too_long_is_ended(void **state)
{
	int silent = reach(), slow = reach(), idle = reach();

	(void)state;
	assert_int_equal(write(slow, "CONNECT go", 10), 10);
	ask_for(idle, "good.test");
	assert_int_equal(status_of(idle, 3000), 200);
	assert_int_equal(status_of(silent, 5000), 0);
	assert_int_equal(status_of(slow, 5000), 408);
	assert_int_equal(status_of(idle, 6000), 0);
	close(silent);
	close(slow);
	close(idle);
}

/* All places are taken by clients that say nothing: who does is served all the same. */
static void who_says_nothing_makes_room(void **state)
{
	static int silent[EGRESS_LINKS + 50];
	struct rlimit files;
	size_t n = 0, most = ARRAY_SIZE(silent);

	(void)state;
	/* start() has raised the limit as far as it goes.  Where it is low, the door has fewer places: two files for each. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_cur < most + 100)
		most = (size_t)files.rlim_cur - 100;
	for (; n < most; n++)
		silent[n] = reach();
	assert_int_equal(try("good.test", 3000), 200);
	while (n)
		close(silent[--n]);
}

/* One side does not read: the door holds no more than a piece, and the other side is held back, not the others. */
static void a_side_that_does_not_read_is_waited_for(void **state)
{
	static char piece[1 << 16];
	int fd = reach();
	size_t sent = 0;
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	(void)state;
	ask_for(fd, "good.test");
	assert_int_equal(status_of(fd, 3000), 200);
	int server = accept(door.server, NULL, NULL);
	while (sent < 256u << 20 && poll(&p, 1, 300) == 1) {
		ssize_t n = send(fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n > 0)
			sent += (size_t)n;
	}
	assert_true(sent < 64u << 20);
	assert_int_equal(try("good.test", 2000), 200);
	shutdown(fd, SHUT_WR);
	size_t got = 0;
	for (ssize_t n; (n = read(server, piece, sizeof(piece))) > 0;)
		got += (size_t)n;
	assert_int_equal(got, sent);
	/* and the way back is still open */
	assert_int_equal(write(server, "end", 3), 3);
	assert_int_equal(read(fd, piece, 3), 3);
	close(server);
	assert_int_equal(read(fd, piece, 3), 0);
	close(fd);
	char want[60];
	snprintf(want, sizeof(want), "\"bytes_out\":%zu,", sent);
	assert_non_null(strstr(stop_door(), want));
}

/* However much went before it: the end of what one side says is the end for the other. */
static void every_end_arrives(void **state)
{
	static char piece[8192];
	struct timeval soon = { .tv_sec = 5 };

	(void)state;
	for (size_t i = 0; i < 250; i++) {
		int fd = reach();
		ask_for(fd, "127.0.0.1");
		assert_int_equal(status_of(fd, 3000), 200);
		int server = accept(door.server, NULL, NULL);
		setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
		int sender = fork();
		if (sender == 0) {
			for (size_t k = 0; k < i; k++)
				(void)!write(fd, piece, sizeof(piece));
			_exit(shutdown(fd, SHUT_WR));
		}
		size_t got = 0;
		ssize_t n;
		while ((n = read(server, piece, sizeof(piece))) > 0)
			got += (size_t)n;
		assert_int_equal(n, 0);
		assert_int_equal(got, i * sizeof(piece));
		assert_int_equal(waitpid(sender, NULL, 0), sender);
		close(server);
		close(fd);
	}
}

static void rules_may_come_later(void **state)
{
	char text[100];

	(void)state;
	assert_int_equal(try("later.test", 3000), 403);
	snprintf(text, sizeof(text), "rt\tlater.test:%u\n", door.server_port);
	tell(text);
	for (int i = 0; i < 100 && try("later.test", 3000) == 403; i++)
		usleep(10000);
	assert_int_equal(try("later.test", 3000), 502); /* named now, and nowhere */
}

/* The door ends with whoever started it, and what was open is on record. */
static void the_end_is_on_record(void **state)
{
	int fd = reach();

	(void)state;
	ask_for(fd, "good.test");
	assert_int_equal(status_of(fd, 3000), 200);
	const char *rows = stop_door();
	assert_non_null(strstr(rows, "\"host\":\"good.test\""));
	assert_non_null(strstr(rows, "\"verdict\":\"admitted\""));
	assert_int_equal(status_of(fd, 3000), 0);
	close(fd);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_that_lead_inside_are_refused, start, stop),
		cmocka_unit_test_setup_teardown(a_name_is_looked_up_once, start, stop),
		cmocka_unit_test_setup_teardown(a_slow_resolver_holds_nobody, start, stop),
		cmocka_unit_test_setup_teardown(who_takes_too_long_is_ended, start, stop),
		cmocka_unit_test_setup_teardown(who_says_nothing_makes_room, start, stop),
		cmocka_unit_test_setup_teardown(a_side_that_does_not_read_is_waited_for, start, stop),
		cmocka_unit_test_setup_teardown(every_end_arrives, start, stop),
		cmocka_unit_test_setup_teardown(rules_may_come_later, start, stop),
		cmocka_unit_test_setup_teardown(the_end_is_on_record, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
