/* tls.c — certificates by GnuTLS: the only file that knows it.
 *
 * The HTTP library asks for the certificate at each handshake, so another one counts for the next connection, and those that are open go on.  What
 * was replaced is kept for a while, because a handshake may still use it.  Certificates of callers are verified with each request, so that an
 * authority that is not trusted any more opens nothing by a connection that was made before. */
#include "serve/tls.h"

#include "base/file.h"
#include "base/text.h"
#include "serve/parts.h"

#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { CHAIN_MOST = 16, PEM_MOST = 1 << 20, KEPT_S = 300, NAME_MOST = 200 };

struct identity {
	gnutls_pcert_st chain[CHAIN_MOST];
	unsigned n;
	gnutls_privkey_t key;
	gnutls_x509_trust_list_t callers; /* or NULL */
	char *ca; /* its text */
	int64_t replaced_us; /* 0: in force */
	struct identity *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct identity *newest;

static void free_identity(struct identity *x)
{
	for (unsigned i = 0; i < x->n; i++)
		gnutls_pcert_deinit(&x->chain[i]);
	if (x->key)
		gnutls_privkey_deinit(x->key);
	if (x->callers)
		gnutls_x509_trust_list_deinit(x->callers, 1);
	free(x->ca);
	free(x);
}

/* ---- reading ---- */

static int wrong(struct err *e, const char *file, int code)
{
	return err_set(e, E_INPUT, "SERVE_TLS", "%s cannot be used: %s", file, gnutls_strerror(code));
}

static int read_file(struct sys *s, struct arena *a, const char *file, gnutls_datum_t *ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(s, a, AT_FDCWD, file, PEM_MOST, FILE_FOLLOW, &text, e);

	if (rc == OK)
		*ret = (gnutls_datum_t){ (unsigned char *)(uintptr_t)text.p, (unsigned)text.n };
	return rc;
}

/* The key must belong to the first certificate: a handshake that fails later would tell nobody why. */
static bool is_pair(const struct identity *x)
{
	unsigned char of_key[64], of_cert[64];
	size_t n = sizeof(of_key), m = sizeof(of_cert);
	gnutls_pubkey_t public;

	if (gnutls_pubkey_init(&public))
		return false;
	bool is_read = gnutls_pubkey_import_privkey(public, x->key, 0, 0) == 0 &&
		gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key, &n) == 0 &&
		gnutls_pubkey_get_key_id(x->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_cert, &m) == 0;
	gnutls_pubkey_deinit(public);
	return is_read && n == m && memcmp(of_key, of_cert, n) == 0;
}

static int read_own(
	struct sys *s, struct arena *a, const struct tls_files *f, struct identity *x, struct err *e)
{
	gnutls_datum_t text;
	unsigned n = CHAIN_MOST;
	int rc = read_file(s, a, f->cert, &text, e), code;

	if (rc)
		return rc;
	code = gnutls_pcert_list_import_x509_raw(x->chain, &n, &text, GNUTLS_X509_FMT_PEM, 0);
	if (code < 0)
		return wrong(e, f->cert, code);
	x->n = n;
	rc = read_file(s, a, f->key, &text, e);
	if (rc)
		return rc;
	code = gnutls_privkey_init(&x->key);
	if (code == 0)
		code = gnutls_privkey_import_x509_raw(x->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (code < 0)
		return wrong(e, f->key, code);
	return is_pair(x)
		? OK
		: err_set(e, E_INPUT, "SERVE_TLS", "the key in %s is not that of %s", f->key, f->cert);
}

static int read_callers(
	struct sys *s, struct arena *a, const struct tls_files *f, struct identity *x, struct err *e)
{
	gnutls_datum_t text;
	int rc = f->client_ca ? read_file(s, a, f->client_ca, &text, e) : OK, code;

	if (rc || !f->client_ca)
		return rc;
	code = gnutls_x509_trust_list_init(&x->callers, 0);
	if (code == 0)
		code = gnutls_x509_trust_list_add_trust_mem(
			x->callers, &text, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
	if (code < 0)
		return wrong(e, f->client_ca, code);
	if (code == 0)
		return err_set(e, E_INPUT, "SERVE_TLS", "%s holds no certificate", f->client_ca);
	x->ca = strndup((const char *)text.data, text.size);
	return OK;
}

static void put_in_force(struct sys *s, struct identity *x)
{
	int64_t now = s->mono_us(s);
	struct identity *old = NULL;

	pthread_mutex_lock(&lock);
	if (newest)
		newest->replaced_us = now;
	x->next = newest;
	newest = x;
	for (struct identity **at = &x->next; *at;) {
		if (now - (*at)->replaced_us < (int64_t)KEPT_S * 1000000) {
			at = &(*at)->next;
			continue;
		}
		old = *at;
		*at = old->next;
		free_identity(old);
	}
	pthread_mutex_unlock(&lock);
}

int tls_load(struct sys *s, const struct tls_files *f, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct identity *x = calloc(1, sizeof(*x));

	if (!x)
		mem_exhausted(0);
	int rc = read_own(s, &a, f, x, e);
	if (rc == OK)
		rc = read_callers(s, &a, f, x, e);
	if (rc)
		free_identity(x);
	else
		put_in_force(s, x);
	return rc;
}

void tls_end(void)
{
	for (struct identity *next; newest; newest = next) {
		next = newest->next;
		free_identity(newest);
	}
}

/* ---- for the HTTP library ---- */

static int choose(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
	const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **ret_chain,
	unsigned *ret_n, gnutls_privkey_t *ret_key)
{
	(void)session;
	(void)names;
	(void)name_count;
	(void)algorithms;
	(void)algorithm_count;
	pthread_mutex_lock(&lock);
	*ret_chain = newest->chain;
	*ret_n = newest->n;
	*ret_key = newest->key;
	pthread_mutex_unlock(&lock);
	return 0;
}

void *tls_chooser(void)
{
	return (void *)(uintptr_t)choose;
}

const char *tls_client_ca(void)
{
	return newest ? newest->ca : NULL;
}

/* ---- who calls ---- */

struct chain {
	gnutls_x509_crt_t list[CHAIN_MOST];
	unsigned n;
};

static void free_chain(struct chain *c)
{
	for (unsigned i = 0; i < c->n; i++)
		gnutls_x509_crt_deinit(c->list[i]);
}

static bool read_chain(const gnutls_datum_t *raw, unsigned n, struct chain *ret)
{
	for (; ret->n < n; ret->n++) {
		if (ret->n == CHAIN_MOST || gnutls_x509_crt_init(&ret->list[ret->n]))
			return false;
		if (gnutls_x509_crt_import(ret->list[ret->n], &raw[ret->n], GNUTLS_X509_FMT_DER)) {
			gnutls_x509_crt_deinit(ret->list[ret->n]);
			return false;
		}
	}
	return n > 0;
}

/* Of the authority, within its time, and made for callers. */
static bool holds(struct chain *c)
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
		.size = 0 };
	unsigned status = 1;

	pthread_mutex_lock(&lock);
	bool is_asked = newest && newest->callers &&
		gnutls_x509_trust_list_verify_crt2(
			newest->callers, c->list, c->n, &purpose, 1, 0, &status, NULL) == 0;
	pthread_mutex_unlock(&lock);
	return is_asked && status == 0;
}

/* A name that a person could read wrongly, or that ends before its end, is none. */
static const char *plain_name(struct arena *a, const char *text, size_t n)
{
	if (!n || n > NAME_MOST || memchr(text, '\0', n))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (text[i] <= 0x20 || text[i] >= 0x7f)
			return NULL;
	return arena_strndup(a, text, n);
}

static const char *name_of(struct arena *a, gnutls_x509_crt_t crt)
{
	const char *uri = NULL;
	char text[NAME_MOST + 1];
	unsigned uris = 0;
	int type;

	for (unsigned i = 0;; i++) {
		size_t n = sizeof(text);
		type = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &n, NULL);
		if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			break;
		if (type < 0)
			return NULL;
		if (type == GNUTLS_SAN_URI && uris++ == 0)
			uri = plain_name(a, text, n);
	}
	if (uris)
		return uris == 1 ? uri : NULL;
	size_t n = sizeof(text);
	if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, text, &n))
		return NULL;
	return plain_name(a, text, n);
}

const char *tls_peer(struct arena *a, void *session, const char **ret_why)
{
	AUTO(free_chain) struct chain chain = { .n = 0 };
	unsigned n = 0;
	const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &n);

	*ret_why = NULL;
	if (!raw || !n)
		return NULL;
	if (!read_chain(raw, n, &chain)) {
		*ret_why = "this certificate cannot be read";
		return NULL;
	}
	if (!holds(&chain)) {
		*ret_why =
			"this certificate does not hold: it is not of an authority that is trusted here, is out of its time, or was not made for callers";
		return NULL;
	}
	const char *name = name_of(a, chain.list[0]);
	if (!name)
		*ret_why = "this certificate names nobody: it needs one URI, or a common name without blanks";
	return name;
}

/* ---- keys of people ---- */

static gnutls_datum_t datum(const void *p, size_t n)
{
	return (gnutls_datum_t){ (unsigned char *)(uintptr_t)p, (unsigned)n };
}

bool tls_es256(const struct webauthn_key *key, struct bytes message, struct bytes der)
{
	const gnutls_datum_t x = datum(key->x, sizeof(key->x)), y = datum(key->y, sizeof(key->y)),
			     text = datum(message.p, message.n), sig = datum(der.p, der.n);
	gnutls_pubkey_t public;

	if (der.n > 80 || gnutls_pubkey_init(&public))
		return false;
	bool holds = gnutls_pubkey_import_ecc_raw(public, GNUTLS_ECC_CURVE_SECP256R1, &x, &y) == 0 &&
		gnutls_pubkey_verify_data2(public, GNUTLS_SIGN_ECDSA_SHA256, 0, &text, &sig) >= 0;
	gnutls_pubkey_deinit(public);
	return holds;
}

/* ---- what comes ---- */

static ssize_t refuse_request(struct wire *w, gnutls_session_t session)
{
	char text[2048];
	size_t n = wire_refusal(w, text, sizeof(text));

	if (n) {
		(void)gnutls_record_send(session, text, n);
		(void)gnutls_bye(session, GNUTLS_SHUT_WR);
		(void)shutdown(gnutls_transport_get_int(session), SHUT_WR);
	}
	return wire_linger(w) ? GNUTLS_E_AGAIN : 0;
}

ssize_t tls_receive(struct gnutls_session_int *session, void *to, size_t n, tls_read *next)
{
	struct wire *w = wire_of(gnutls_transport_get_int(session), true);

	if (w && wire_is_refused(w))
		return refuse_request(w, session);
	ssize_t got = next(session, to, n);
	if (!w || got <= 0)
		return got;
	size_t passed = wire_check(w, to, (size_t)got);
	return passed ? (ssize_t)passed : refuse_request(w, session);
}
