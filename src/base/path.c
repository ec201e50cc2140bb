/* path.c — paths as text. Nothing here looks at the file system, so nothing here decides what a path means
 * there: only the open call does that (file.c). A link in the middle of a path makes its clean text lead
 * elsewhere. */
#include "base/file.h"

#include <string.h>

/* Drop the last component of out[0..n), unless there is none to drop. */
static size_t drop_last(const char *out, size_t n, size_t floor)
{
	while (n > floor && out[n - 1] != '/')
		n--;
	return n > floor ? n - 1 : floor;
}

/* ".." cancels the component before it. At the root it vanishes; at the start of a relative path it stays.
 * `floor` is the part of the output that can never be cancelled. */
char *path_clean(struct arena *a, const char *path)
{
	char *out = arena_text(a, strlen(path) + 2);
	bool is_absolute = path[0] == '/';
	size_t n = 0, floor = 0;

	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		bool is_up = len == 2 && p[0] == '.' && p[1] == '.';
		if (is_up && n > floor) {
			n = drop_last(out, n, floor);
		} else if (len > 0 && !(len == 1 && p[0] == '.') && !(is_up && is_absolute)) {
			if (n > 0 || is_absolute)
				out[n++] = '/';
			memcpy(out + n, p, len);
			n += len;
			if (is_up)
				floor = n;
		}
		p += len + (p[len] == '/');
	}
	if (n == 0)
		out[n++] = is_absolute ? '/' : '.';
	out[n] = '\0';
	return out;
}

char *path_join(struct arena *a, const char *base, const char *path)
{
	if (path[0] == '/')
		return path_clean(a, path);
	return path_clean(a, arena_printf(a, "%s/%s", base[0] ? base : ".", path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A directory counts as below itself. Both paths must be clean: this compares text. */
bool path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1 && dir[0] == '/')
		return path[0] == '/';
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool path_is_in_one(const char *path, const char *const *dirs)
{
	for (; dirs && *dirs; dirs++)
		if (path_is_below(path, *dirs))
			return true;
	return false;
}
