/* parts.h — inside privacy/: what the files of this room share. */
#ifndef PRIVACY_PARTS_H
#define PRIVACY_PARTS_H

#include "privacy/privacy.h"

/* What a matcher found at a place, counted from there. */
struct hit {
	size_t keep; /* bytes at the start that stay: the key of key=value */
	size_t end; /* end of what was found; 0: nothing */
};

/* Letters of a name or key.  A '-' belongs to it, so that "--token", "x-api-key" and "-----BEGIN" start words. */
bool is_word(char c);
/* The end of the run of bytes from `at` that `fn` accepts. */
size_t run(const char *p, size_t n, size_t at, bool (*fn)(char));

/* credentials.c: what stands at p, where a word or ':' starts.  `is_whole` takes the value up to the next blank or quote, as people
 * write one; otherwise separators of lists end it, too, so that what follows stays readable. */
struct hit credential_at(const char *p, size_t n, bool is_whole);
/* Whether a name ends in one of the names of secrets: DB_PASSWORD, x-api-key. */
bool is_secret_name(const char *p, size_t n);
/* Cheap, and true for every word of `word` bytes at which credential_at() finds something. */
bool may_be_credential(const char *p, size_t n, size_t word);
/* Is the value behind a key one that a program would hold, rather than the name of something that holds it? */
bool is_literal_secret(const char *p, size_t n, bool is_quoted);

/* personal.c: each looks at text[at] and around it; `ret` gets the place of what it found. */
struct place {
	size_t start, end;
};
typedef bool personal_fn(const char *text, size_t n, size_t at, bool is_strict, struct place *ret);
personal_fn personal_email, personal_phone, personal_rrn, personal_card, personal_iban, personal_ip,
	personal_mac;

#endif
