/* openings.h — inside execute/: single files and directories that an operator's yes opens for one run, with mounts.
 *
 * The mount of each is taken before anything covers it, compared with what was approved, and put in its place last, read-only or writable. */
#ifndef EXECUTE_OPENINGS_H
#define EXECUTE_OPENINGS_H

#include "execute/sandbox.h"

#include <sys/stat.h>

/* Is it the object that was approved, and of the same kind?  *ret is what it is. */
bool openings_match(const struct sandbox_opening *o, int fd, struct stat *ret);

/* In the warden.  Takes a mount of each; -1 for one that is not what was approved. */
void openings_keep(const struct sandbox_rules *rules, int fds[OPENINGS_MAX]);
/* Does one of them lie in the hidden directory `dir`, and is not `dir` itself? */
bool openings_are_below(const struct sandbox_rules *rules, const char *dir);
/* Covers such a directory: it is empty, but for the names that openings are put on.  0 or -1 with errno. */
int openings_cover(const struct sandbox_rules *rules, const char *dir);
/* Everything else stands: puts them in their places, and closes the descriptors.  -1: one of them could not be. */
int openings_put(const struct sandbox_rules *rules, int fds[OPENINGS_MAX]);
/* Does an opened directory show `hidden` again, which lies in it? */
bool openings_show(const struct sandbox_rules *rules, const char *hidden);

#endif
