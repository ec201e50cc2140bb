/* bundle.c — texts and descriptors from one process to another, over a Unix socket.
 *
 * An environment and a command line can be larger than any message, so the texts lie in a file without a name whose descriptor goes
 * first.  What is received is checked as if anybody could have sent it: counts, lengths, and that each text has its end. */
#include "execute/session.h"

#include "base/fds.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
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
		if (done < 0 && errno == EINTR)
			continue;
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
	AUTO(close_fd) int texts = -1;
	int fds[BUNDLE_FDS + 1];
	size_t n = 0;

	if (b->text_count && (texts = write_texts(b, &head.bytes)) < 0)
		return -1;
	if (texts >= 0)
		fds[n++] = texts;
	for (size_t i = 0; i < BUNDLE_FDS && b->fds[i] >= 0; i++)
		fds[n++] = b->fds[i];
	return fds_send(socket, (struct bytes){ (const uint8_t *)&head, sizeof(head) }, fds, n);
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
	struct fds_got got;
	ssize_t n = fds_receive(socket, &head, sizeof(head), 0, &got);

	*ret = (struct bundle){ .fds = { -1, -1, -1, -1, -1 } };
	if (n != (ssize_t)sizeof(head)) {
		errno = n > 0 ? EPROTO : n == 0 ? EPIPE : errno;
		if (n > 0)
			fds_close(&got);
		return -1;
	}
	ret->kind = head.kind;
	ret->call = head.call;
	ret->number = head.number;
	size_t first = head.text_count ? 1 : 0;
	int rc = first ? read_texts(a, got.fds[0], &head, ret) : 0, why = errno;
	for (size_t i = 0; rc == 0 && i < BUNDLE_FDS; i++) {
		ret->fds[i] = got.fds[first + i];
		got.fds[first + i] = -1;
	}
	fds_close(&got);
	errno = why;
	return rc;
}
