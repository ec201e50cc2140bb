/* operator_files.h — documents by which operators decide who may do what, outside of the signed settings: one table with the reader of each
 * and what helps when it is damaged.
 *
 * Each is sealed (base/sealed.h).  Whoever needs one that is damaged is refused with the sentence that stands here, too. */
#ifndef KERNEL_OPERATOR_FILES_H
#define KERNEL_OPERATOR_FILES_H

#include "base/sealed.h"
#include "kernel/workspace.h"

/* What 'helm operator-file' calls them. */
#define APPROVERS_NAME "approvers"
#define PASSKEY_COUNTERS_NAME "passkey-counters"
#define TRUSTED_KEYS_NAME "trusted-keys"
#define APIKEYS_NAME "serve-keys"
#define CEILINGS_NAME "serve-budgets"
#define MCP_REGISTRY_NAME "mcp-servers"

#define PASSKEY_COUNTERS "passkeys.json" /* in <helm home>/trust/: how far each passkey has counted */

/* Adds {name, file, text, remedy} for each that is damaged.  Reads only. */
void operator_files_check(struct sys *s, struct arena *a, const struct workspace *ws, struct json *findings);
/* All of them: [{name, file, about, state}], state "sound", "absent", "unsealed" (written by an older version) or "damaged" with text. */
struct json *operator_files_list(struct sys *s, struct arena *a, const struct workspace *ws);

/* An operator has looked at it: what it says now is what counts.  Refused when it is not well formed. */
int operator_file_accept(
	struct sys *s, struct arena *a, const struct workspace *ws, const char *name, struct err *e);
/* An operator gives it up.  It lies aside (*ret_aside, or NULL), and nobody stands in it any more. */
int operator_file_reset(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const char **ret_aside, struct err *e);
/* What the file says, for the operator who is asked; and what follows from giving it up. */
int operator_file_show(struct sys *s, struct arena *a, const struct workspace *ws, const char *name,
	const char **ret_path, struct bytes *ret_text, const char **ret_reset_means, struct err *e);

#endif
