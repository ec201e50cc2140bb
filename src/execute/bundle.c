/* bundle.c — texts and descriptors from one process to another, over a Unix socket.
 *
 * An environment and a command line can be larger than any message, so the texts lie in a file without a name whose descriptor goes
 * first.  What is received is checked as if anybody could have sent it: counts, lengths, and that each text has its end. */
#include "execute/session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
	uint32_t kind, call;
	int32_t number;
	uint32_t text_count;
	uint64_t bytes;
};

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);
		if (done < 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

/* One file with all texts, each with its NUL; *ret_bytes is its size. */
static int write_texts(const struct bundle *b, uint64_t *ret_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < b->text_count; i++)
		n += strlen(b->texts[i]) + 1;
	char *all = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at = all;
	if (all == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < b->text_count; i++)
		at = stpcpy(at, b->texts[i]) + 1;
	int fd = memfd_create("helm-call", MFD_CLOEXEC);
	if (fd >= 0 && write_all(fd, all, n)) {
		close(fd);
		fd = -1;
	}
	munmap(all, n);
	*ret_bytes = n;
	return fd;
}

int bundle_send(int socket, const struct bundle *b)
{
	struct head head = { b->kind, b->call, b->number, (uint32_t)b->text_count, 0 };
	struct iovec part = { &head, sizeof(head) };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE((BUNDLE_FDS + 1) * sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	AUTO(close_fd) int texts = -1;
	int fds[BUNDLE_FDS + 1];
	size_t n = 0;

	if (b->text_count && (texts = write_texts(b, &head.bytes)) < 0)
		return -1;
	if (texts >= 0)
		fds[n++] = texts;
	for (size_t i = 0; i < BUNDLE_FDS && b->fds[i] >= 0; i++)
		fds[n++] = b->fds[i];
	if (n) {
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	ssize_t done;
	while ((done = sendmsg(socket, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return done < 0 ? -1 : 0;
}

/* Into a fixed array, in their order. */
static size_t take_fds(struct msghdr *m, int fds[BUNDLE_FDS + 1])
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (n <= BUNDLE_FDS)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

/* The texts again.  The file is read into our own memory, because its sender could still change it. */
static int read_texts(struct arena *a, int fd, const struct head *head, struct bundle *ret)
{
	struct stat st;

	errno = EPROTO;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != head->bytes || !head->bytes ||
		head->bytes > BUNDLE_BYTES || head->text_count > BUNDLE_TEXTS)
		return -1;
	char *all = arena_text(a, head->bytes);
	if (pread(fd, all, head->bytes, 0) != (ssize_t)head->bytes || all[head->bytes - 1]) {
		errno = EPROTO;
		return -1;
	}
	const char **texts = arena_zalloc(a, head->text_count + 1, sizeof(*texts));
	const char *at = all, *end = all + head->bytes;
	for (size_t i = 0; i < head->text_count; i++) {
		if (at >= end) {
			errno = EPROTO;
			return -1;
		}
		texts[i] = at;
		at += strlen(at) + 1;
	}
	ret->texts = texts;
	ret->text_count = head->text_count;
	return 0;
}

void bundle_close_fds(struct bundle *b)
{
	for (size_t i = 0; i < BUNDLE_FDS; i++) {
		close_fd(&b->fds[i]);
		b->fds[i] = -1;
	}
}

int bundle_receive(struct arena *a, int socket, struct bundle *ret)
{
	struct head head;
	struct iovec part = { &head, sizeof(head) };
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE((BUNDLE_FDS + 1) * sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control) };
	int fds[BUNDLE_FDS + 1];
	ssize_t got;

	*ret = (struct bundle){ .fds = { -1, -1, -1, -1, -1 } };
	while ((got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got <= 0) {
		errno = got ? errno : EPIPE;
		return -1;
	}
	size_t n = take_fds(&m, fds), first = got == (ssize_t)sizeof(head) && head.text_count ? 1 : 0;
	for (size_t i = first; i < n; i++) {
		if (i - first < BUNDLE_FDS)
			ret->fds[i - first] = fds[i];
		else
			close(fds[i]);
	}
	ret->kind = head.kind;
	ret->call = head.call;
	ret->number = head.number;
	int rc = 0;
	if (got != (ssize_t)sizeof(head) || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || n < first) {
		errno = EPROTO;
		rc = -1;
	} else if (first) {
		rc = read_texts(a, fds[0], &head, ret);
	}
	if (first && n) {
		int kept = errno;
		close(fds[0]);
		errno = kept;
	}
	if (rc)
		bundle_close_fds(ret);
	return rc;
}
