/* privacy.h — what must not be written down, and what must not be passed on.
 *
 * One table of detectors (scan.c) for everything: `helm privacy`, logs, ledgers, memory, reports.  A detector knows a shape: of a
 * credential (a key by its service's prefix, a value behind the name of a secret, a token, a key block) or of what
 * belongs to a person (addresses, numbers).  Where a shape has a checksum, it must hold.
 *
 * Redacting replaces credentials by [REDACTED] and keeps what a person needs to recognise the line.  Tokenizing replaces what belongs
 * to a person by names that can be turned back (token.c). */
#ifndef PRIVACY_PRIVACY_H
#define PRIVACY_PRIVACY_H

#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>

#define REDACTED "[REDACTED]"

/* The text with secrets replaced, in one pass; the same pointer when there was nothing to replace. */
const char *privacy_redact(struct arena *a, const char *text, size_t n, size_t *ret_n);

/* The same of a text that ends in NUL, as sentences to callers do. */
const char *privacy_redact_text(struct arena *a, const char *text);

/* Every string in a tree, in place; a member whose name says "password" and the like is replaced whole. */
void privacy_redact_json(struct arena *a, struct json *v);

/* The same for what belongs to people: addresses, numbers of accounts, cards and telephones, wherever they stand in a tree.  An account on a machine
 * (user@host:path, scheme://user@host) is a place, and stays. */
void privacy_redact_people(struct arena *a, struct json *v);

/* X(NAME, recoverable, default): names are stable, they stand in tokens and vaults.  In this order the first of two that found the same
 * place counts: the more special one. */
#define PRIVACY_LABELS(X) \
	X(SECRET, false, true) \
	X(EMAIL, true, true) \
	X(KOREAN_RRN, true, true) \
	X(CREDIT_CARD, true, true) \
	X(IBAN, true, true) \
	X(MAC_ADDRESS, true, false) \
	X(IP_ADDRESS, true, false) \
	X(PHONE, true, true)

enum privacy_label {
#define PRIVACY_ENUM(name, recoverable, is_default) PRIVACY_##name,
	PRIVACY_LABELS(PRIVACY_ENUM)
#undef PRIVACY_ENUM
		PRIVACY_LABEL_COUNT
};
const char *privacy_label_name(enum privacy_label l);
bool privacy_label_parse(const char *name, size_t n, enum privacy_label *ret);
bool privacy_label_is_recoverable(enum privacy_label l);
unsigned privacy_default_labels(void); /* bit per label */

struct privacy_options {
	unsigned labels; /* bit per label */
	/* For program text, where most of what looks like a number or the name of a secret is none: only what leaves little doubt. */
	bool is_strict;
};

/* One thing that was found; places are bytes of the text, the end exclusive. */
struct privacy_finding {
	enum privacy_label label;
	size_t start, end;
};

/* All of them, in the order of the text; where two overlap the earlier counts, of the same start the longer.  In `a`. */
size_t privacy_scan(struct arena *a, const char *text, size_t n, const struct privacy_options *options,
	struct privacy_finding **ret);

enum { PRIVACY_HASH = 16 };
/* What stands for a value where the value must not stand: the first digits of its SHA-256. */
void privacy_hash(const char *value, size_t n, char ret[PRIVACY_HASH + 1]);

/* ---- tokens ---- */

/* A scope of a vault: {created_at, tokens {token: value}, labels {token: label}, hashes {hash: token}}.  Tokenizing adds to it; the same value has the
 * same token, and numbers go on behind the highest of their label.  Secrets become <SECRET_REDACTED_n> and are in no scope.  What looked like a
 * token already is written with a backslash behind its '<', so that restoring gives back what there was.
 * The answer: {text, replacement_count, replacements [{label, token, value_hash, recoverable}]}. */
struct json *privacy_tokenize(struct arena *a, const char *text, size_t n,
	const struct privacy_options *options, struct json *scope, bool is_kept);
/* {text, replacement_count}: every token of the scope becomes its value; a token that the scope does not have stays. */
struct json *privacy_restore(struct arena *a, const char *text, size_t n, const struct json *scope);

#endif
