/* apikey.h — keys by which programs call this boundary over HTTP: whose they are, what they open, how long.
 *
 * Only digests are kept, in <helm home>/trees/<place>/serve-keys.json, where nobody who is governed can write.  Making, rotating and
 * revoking one is a person's act, on record.  docs/formats/serve-keys.md. */
#ifndef KERNEL_APIKEY_H
#define KERNEL_APIKEY_H

#include "kernel/kernel.h"

#define APIKEYS "serve-keys.json"

enum apikey_scope {
	SCOPE_EVALUATE = 1, /* ask for decisions, and end what was decided */
	SCOPE_READ = 2, /* receipts, evidence, status */
	SCOPE_APPROVE = 4, /* answer questions, as the person that the key belongs to */
	SCOPE_ADMIN = 8, /* everything above, and what only administrators see */
	SCOPE_SERVICE = 16, /* routes for other programs of the installation */
};
/* "evaluate,read" into bits; 0 when a word of it is none. */
unsigned apikey_scopes(const char *words);
struct json *apikey_scopes_json(struct arena *a, unsigned scopes);

struct apikey {
	const char *id, *principal, *tenant;
	unsigned scopes;
	int64_t expires_us; /* 0: never */
	const char *certificate; /* the name in the caller's certificate, instead of a secret; or NULL */
};

/* {version, keys: {id: {principal, tenant, scopes, sha256, created_at, expires_at, revoked_at, ...}}}; empty when there is none. */
int apikeys_load(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* Where it lies; NULL: there is no helm home. */
const char *apikeys_path(struct arena *a, const struct workspace *ws);
/* Whose key is this, now?  The digest is compared in constant time.  *ret_why says what is wrong with one that is known: "expired", "revoked". */
bool apikey_match(struct arena *a, const struct json *keys, const char *token, int64_t now_us,
	struct apikey *ret, const char **ret_why);
/* Whose is the certificate with this name, which holds? */
bool apikey_match_certificate(struct arena *a, const struct json *keys, const char *name, int64_t now_us,
	struct apikey *ret, const char **ret_why);
/* Does this row of the store open something now?  NULL: it does; otherwise "expired" or "revoked". */
const char *apikey_over(const struct json *row, int64_t now_us);
/* The scopes of a row. */
unsigned apikey_row_scopes(const struct json *row);

/* A new key: *ret_token is shown once, and never kept; NULL for a certificate.  E_INPUT APIKEY_TAKEN: that certificate is somebody's already. */
int apikey_add(struct kernel *k, struct arena *a, const struct apikey *wish, const struct person *who,
	char **ret_token, struct json **ret_row, struct err *e);
/* Another secret for the same caller under a new id; the old one ends after `overlap_us`.  E_MISSING APIKEY_UNKNOWN, E_INPUT APIKEY_OVER. */
int apikey_rotate(struct kernel *k, struct arena *a, const char *id, int64_t overlap_us,
	const struct person *who, char **ret_token, struct json **ret_row, struct err *e);
int apikey_revoke(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret_row, struct err *e);

#endif
