/* vault.h — where the values behind tokens are kept: .helm/privacy-vault.json, sealed with a key of the helm home.
 *
 * A vault has scopes; each is sealed by itself, with a key made of the vault's and its name.  A vault that the Python Helm made (version 1, in the
 * clear) opens as it is, and is sealed when something is added.  Turning tokens back is an act on record. */
#ifndef KERNEL_VAULT_H
#define KERNEL_VAULT_H

#include "kernel/workspace.h"
#include "privacy/privacy.h"

struct kernel;

#define VAULT_FILE "privacy-vault.json"
#define VAULT_AUDIT "privacy-audit.jsonl"

struct vault {
	struct sys *sys;
	int dirfd; /* the names below are relative to it */
	const char *file, *audit; /* audit NULL: no row is written */
	const char *keys_dir; /* of the helm home */
};
/* Of the workspace; `file` and `audit` as a person gave them, or NULL. */
int vault_of(struct sys *s, struct arena *a, const struct workspace *ws, const char *file, const char *audit,
	struct vault *ret, struct err *e);

/* The answer of privacy_tokenize() with the member `vault`.  What was added is on disk when this returns OK.  `is_kept` false: nothing is
 * read or written but the audit row. */
int vault_tokenize(struct arena *a, const struct vault *v, const char *scope, struct bytes text,
	const struct privacy_options *options, bool is_kept, struct json **ret, struct err *e);

/* The answer of privacy_restore() with the member `vault`.  A receipt that says scope, count and reason is on disk before the text is given.
 * E_MISSING VAULT_SCOPE when there is no such scope. */
int vault_restore(struct kernel *k, struct arena *a, const struct vault *v, const char *scope,
	struct bytes text, const char *reason, struct json **ret, struct err *e);

#endif
