/* intake.h — a skill from outside, read to its last file before anybody uses it. */
#ifndef KERNEL_INTAKE_H
#define KERNEL_INTAKE_H

#include "kernel/workspace.h"

/* {path, name, verdict accept|review|reject, sha256, file_count, words, findings [{severity reject|review|note, kind, file, line, why, text}]} of a directory.
 * Commands are judged by the guard, under workspace_edit; nothing is run.  `ws` may be NULL.  E_MISSING, E_LIMIT, E_IO when it cannot be read: then
 * it is not accepted, either. */
int intake_scan(struct sys *s, struct arena *a, const struct workspace *ws, const char *dir,
	struct json **ret, struct err *e);

#endif
