/* names.c — which of many paths below a directory can be there.
 *
 * A name sets one bit of many, so others may have the same one: that costs a look, and no more.  Letters count without their case, because
 * a file system may find a name that way; one that does it for letters beyond ASCII, too, takes some of them for plain ones, so a name
 * with any such byte says nothing. */
#include "base/names.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { STEP_BYTES = 8192, NAMES_MAX = 2000 };

/* FNV-1a over the first n bytes; false: they do not say which name it is. */
static bool bit_of(const char *name, size_t n, uint32_t *ret)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)name[i];
		if (c >= 0x80)
			return false;
		h = (h ^ (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c)) * 16777619u;
	}
	*ret = (h ^ h >> 16) % NAMES_BITS;
	return true;
}

void names_look_in(struct sys *s, int fd, struct names *ret)
{
	_Alignas(struct dirent64) char step[STEP_BYTES] __attribute__((uninitialized));
	ssize_t got;
	size_t n = 0;

	*ret = (struct names){ 0 };
	while ((got = s->getdents(s, fd, step, sizeof(step))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *d = (const struct dirent64 *)(step + at);
			uint32_t bit;
			at += d->d_reclen;
			if (!bit_of(d->d_name, strlen(d->d_name), &bit) || ++n > NAMES_MAX)
				return;
			ret->bits[bit / 64] |= (uint64_t)1 << bit % 64;
		}
	ret->is_whole = got == 0;
}

void names_look(struct sys *s, int dirfd, const char *path, struct names *ret)
{
	AUTO(close_fd) int fd = s->open(s, dirfd, path, O_RDONLY | O_DIRECTORY, 0, 0);

	if (fd >= 0) {
		names_look_in(s, fd, ret);
		return;
	}
	*ret = (struct names){ .is_whole = errno == ENOENT || errno == ENOTDIR };
}

bool names_may_have(const struct names *n, const char *path)
{
	uint32_t bit;

	return !n->is_whole || !bit_of(path, strcspn(path, "/"), &bit) || n->bits[bit / 64] >> bit % 64 & 1;
}
