/* private_files.h — inside execute/: files that a run writes in copies of its own (struct sandbox_file), with mounts.
 *
 * The copy lies over the file as a mount.  Programs such as git write a file anew and rename it onto the old name, which the kernel
 * refuses for a mount.  So the warden hears renames: one onto a copy is carried out as writing into it, any other continues.  Nothing
 * that is guaranteed rests on this, because the mount holds whatever is renamed.
 *
 * A mount lies on a file, not on a name: somebody outside who puts another file there takes the mount away.  The warden hears that,
 * too, and covers the new file at once. */
#ifndef EXECUTE_PRIVATE_FILES_H
#define EXECUTE_PRIVATE_FILES_H

#include "execute/sandbox.h"
#include "execute/supervise.h"

enum { PRIVATE_FILE_BYTES = 256 << 10 };

/* In the warden, before anything is mounted over the directory of the copies. */
void private_files_open(const struct sandbox_rules *rules, struct sandbox_report *report);
/* 0, or -1 when the i-th file is not covered. */
int private_files_cover(const struct sandbox_rules *rules, const struct sandbox_report *report, size_t i);
/* Covers again what somebody outside has replaced.  False: one of them is not there to be covered just now. */
bool private_files_renew(struct supervisor *s);
/* A call of the sandbox: a rename onto a copy is carried out, everything else continues. */
int64_t private_files_call(struct notified *c);

/* SANDBOX_SUPERVISED: is it one of `files`?  And what becomes of a rename onto it: carried out where the new text has nothing but
 * settings that a run may leave behind.  The object has that file's name. */
bool judged_is_file(const struct supervisor *s, const char *path);
int64_t judged_replace(struct notified *c, const struct object *from, const struct object *to);

#endif
