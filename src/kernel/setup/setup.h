/* setup.h — Helm in the settings of agent clients (docs/formats/setup.md): put in, looked at, taken out. */
#ifndef KERNEL_SETUP_SETUP_H
#define KERNEL_SETUP_SETUP_H

#include "kernel/workspace.h"

struct setup {
	struct sys *sys;
	struct arena *a;
	struct workspace *ws;
	const char *home; /* of the user, or NULL */
	const char *project; /* the project stood in, or NULL */
	const char *program; /* this program, absolute */
	bool with_context; /* also at the start of a session: what 'helm context pack' prints */
};
/* `project` NULL: the git top level above the current directory, or that directory itself. */
int setup_open(struct sys *s, struct arena *a, struct workspace *ws, const char *project, struct setup *ret,
	struct err *e);

/* The command a client runs, for `sh -c`: `verb` is "pre-tool" or "post-tool". */
struct client;
char *setup_command(const struct setup *s, const struct client *c, const char *verb);

/* What a person has to paste for a client whose settings cannot be edited in place; NULL for the others. */
const char *setup_snippet(const struct setup *s, const char *client, struct err *e);

/* One change of one settings file, not yet made. */
struct setup_change {
	const char *client, *scope, *root, *file; /* file: below root */
	const char *path; /* both together */
	const char *command; /* as written for the call before a tool */
	const char *
		moved_from; /* the workspace that the entry it replaces decided by, when that is another; or NULL */
	bool existed, is_removal;
	struct bytes before, after; /* p NULL: no file */
	unsigned mode;
	struct json *record; /* row of setup.json */
};
/* `scope` NULL: project, or user when no project is stood in.  Writes nothing.  Refused: links, paths out
 * of the root, files that do not parse. */
int setup_plan(const struct setup *s, const char *client, const char *scope, struct setup_change *ret,
	struct err *e);
/* Make it, run the command just written with a destructive call as a client would, expect a denial and
 * verify its receipt; when that fails the file is as it was.  SETUP_RECOVERY when an earlier change was
 * interrupted. */
int setup_install(
	const struct setup *s, const struct setup_change *c, const char **ret_receipt_id, struct err *e);

/* How our entries are taken out again: the same bytes as before when nobody changed the file since, else
 * only what is ours. `n` 0: nothing is installed there.  scope NULL: wherever it is. */
int setup_plan_removal(const struct setup *s, const char *client, const char *scope,
	struct setup_change **ret, size_t *ret_n, struct err *e);
int setup_remove(const struct setup *s, const struct setup_change *c, struct err *e);

/* Finish or take back what was interrupted.  *ret_what is a sentence. */
int setup_repair(const struct setup *s, const char *client, const char **ret_what, struct err *e);

/* Rows {client, scope, file, settings, state, armed, detail, warnings}: state is armed, not_armed,
 * degraded, broken, absent, recovery_required or, for a client whose settings we cannot judge, unknown;
 * `settings` are the files there that steer the client.  `client` NULL: all.  Reads only; nothing is called
 * armed that was not seen to be. */
struct json *setup_status(const struct setup *s, const char *client);
/* Names of clients that this user has here and that Helm can guard: their program is in PATH, or their settings are in the home. */
struct json *setup_found_clients(const struct setup *s, const struct json *rows);
/* The command that guards it. */
const char *setup_advice(struct arena *a, const struct client *c);
/* Something is armed, and nothing that was put in is less than that. */
bool setup_is_sound(const struct json *rows);

#endif
