/* tls.h — inside serve/: certificates of this server, and of those who call. */
#ifndef SERVE_TLS_H
#define SERVE_TLS_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "proof/webauthn.h"

#include <sys/types.h>

/* What these files hold counts from now on: chain and key of the server, and whose certificates callers may bring (or NULL).  One that cannot be used
 * leaves what counted before.  The texts are given back for as long as the process lives. */
struct tls_files {
	const char *cert, *key, *client_ca;
};
int tls_load(struct sys *s, const struct tls_files *f, struct err *e);
void tls_end(void);
/* For the HTTP library: the function that gives the certificate to each handshake, and the list of those whose certificates are asked for. */
void *tls_chooser(void);
const char *tls_client_ca(void); /* PEM, or NULL */

/* Who is at the other end, by a certificate that holds now: its only URI, or else its common name.  NULL: there is none, and *ret_why says what is
 * wrong with one that was brought. */
const char *tls_peer(struct arena *a, void *session, const char **ret_why);

/* ECDSA with P-256 and SHA-256: a signature in DER over this message, by the key with these coordinates. */
bool tls_es256(const struct webauthn_key *key, struct bytes message, struct bytes der);

/* What a connection of a listener receives, checked (wire.c); `next` reads it.  For any other session only that. */
struct gnutls_session_int;
typedef ssize_t tls_read(struct gnutls_session_int *session, void *to, size_t n);
ssize_t tls_receive(struct gnutls_session_int *session, void *to, size_t n, tls_read *next);

#endif
