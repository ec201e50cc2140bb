/* parts.h — inside kernel/setup/: our entries in the settings of agent clients (clients/clients.h says how
 * these look).
 *
 * An entry is ours when its command runs a program called helm with `hook pre-tool`, `hook post-tool` or `hook
 * session-start` for that client, wherever that program lies: a moved program is replaced, never doubled. */
#ifndef KERNEL_SETUP_PARTS_H
#define KERNEL_SETUP_PARTS_H

#include "base/yaml_edit.h"
#include "clients/clients.h"
#include "kernel/setup/setup.h"

enum { SETUP_FILE_LIMIT = 4 << 20 };
#define SETUP_RECORDS "setup.json"
#define SETUP_RECOVERY "setup-recovery.json"

/* E_USAGE SETUP_CLIENT: nobody is called that.  E_INPUT SETUP_NO_HOOK: we know it, but no hook of it. */
int setup_find_client(struct arena *a, const char *name, const struct client **ret, struct err *e);

/* A settings file as a tree. */
int setup_parse(struct arena *a, const struct client *c, struct bytes text, const char *name,
	struct json **ret, struct err *e);

/* Words of a command that is only quoted words; leading NAME=VALUE and a final "|| exit 2" are left out.
 * NULL: it is more than that. */
struct json *setup_words(struct arena *a, const char *command);
bool setup_is_ours(struct arena *a, const struct json *command, const char *client);

/* The workspace an entry of ours decides by; NULL when it names none. */
const char *setup_workspace_of(struct arena *a, const struct json *entry);

/* The first entry of ours in a parsed settings file. */
struct setup_place {
	const char *event;
	size_t group, handler; /* handler: in the group's `hooks`; 0 when flat */
	const struct json *entry; /* with the command */
	const struct json *box; /* the group; the entry itself when flat */
};
bool setup_find_entry(struct arena *a, const struct client *c, const struct json *doc, const char *verb,
	struct setup_place *ret);

/* All of ours taken out, and what became empty by that. */
int setup_drop_entries(struct arena *a, const struct client *c, struct bytes text, const char *name,
	struct bytes *ret, struct err *e);

/* A settings file below its root, never through a link: missing is OK with ret->p NULL.  ret_dir, when not
 * NULL, receives the directory it lies in, or -1. */
int setup_read(const struct setup *s, const char *root, const char *file, struct bytes *ret, mode_t *ret_mode,
	int *ret_dir, struct err *e);

/* The rows of setup.json: what was installed, and how it is taken back. */
int setup_records(const struct setup *s, struct json **ret, struct err *e);
struct json *setup_record_of(const struct json *records, const char *client, const char *path);

#endif
