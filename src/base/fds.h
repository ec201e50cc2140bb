/* fds.h — bytes and descriptors from one process to another, over a Unix socket of any type. */
#ifndef BASE_FDS_H
#define BASE_FDS_H

#include "base/mem.h"

#include <sys/types.h>

enum { FDS_MOST = 8 };

/* All of `text`, which is not empty; the descriptors go along with its first byte.  0, or -1 with errno.  Raises no SIGPIPE. */
int fds_send(int socket, struct bytes text, const int *fds, size_t n);

struct fds_got {
	int fds[FDS_MOST]; /* the receiver's, closed on exec; -1 behind the last */
	pid_t pid; /* who sent it, as we see that process, where the socket has SO_PASSCRED; else 0 */
};
/* One read.  The number of bytes, 0 at the end, or -1 with errno; then nothing came.  What was cut off, bytes of a message or
 * descriptors, is no message: EPROTO.  `flags` as for recvmsg(). */
ssize_t fds_receive(int socket, void *to, size_t room, int flags, struct fds_got *ret);
void fds_close(struct fds_got *got); /* those that are still there */

#endif
