/* own.h — inside execute/: directories that only this run has, in places that everybody else has, too. */
#ifndef EXECUTE_OWN_H
#define EXECUTE_OWN_H

#include "execute/sandbox.h"

enum { OWN_MAX = LAYERS_MAX + HOMES_MAX + 8 };

/* `program` stays visible where it is covered, for hooks inside that call it: the caller makes it read-only.
 * In the warden, before anything is made read-only.  What stands is in the report; a layer that the kernel refuses is left
 * out, and its place stays read-only. */
void own_put_up(const struct sandbox_rules *rules, const char *program, struct sandbox_report *report);
/* Makes directories on the way to `path`, and there a file or a directory that a mount can lie on. */
bool own_make_way(const char *path, mode_t last);
/* Does one of these directories cover this path? */
bool own_covers(const struct sandbox_rules *rules, const char *path);

/* Which places of these rules may be written because they are the run's own: at most OWN_MAX of them, and NULL. */
void own_list(const struct sandbox_rules *rules, const struct sandbox_report *report, const char **ret);

#endif
