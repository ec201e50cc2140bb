/* hand.c — what was made inside a session's walls is handed to helm outside: the desk, and our side of the terminal.
 *
 * With it comes the sender's pid, translated by the kernel into our own pid namespace, where a process inside could not name itself. */
#include "execute/hand.h"

#include "base/fds.h"

#include <sys/socket.h>

int hand_open(int pair[2])
{
	const int yes = 1;

	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
			setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes))
		? -1
		: 0;
}

int hand_send(int to, const int *fds, int n)
{
	return fds_send(to, BYTES_LITERAL("d"), fds, (size_t)n);
}

pid_t hand_receive(int from, int fds[2])
{
	struct fds_got got;
	char byte;

	if (fds_receive(from, &byte, 1, 0, &got) != 1)
		return 0;
	for (int i = 0; i < 2; i++) {
		fds[i] = got.fds[i];
		got.fds[i] = -1;
	}
	fds_close(&got);
	return got.pid;
}
