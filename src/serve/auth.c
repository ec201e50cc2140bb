/* auth.c — who calls.
 *
 * A key of this workspace (kernel/apikey.h) names its principal, tenant and scopes.  Two keys may come from the environment, for programs
 * that were written for the original: HELM_ADMIN_API_KEY, which needs the tenant and the principal of the installation beside it, and
 * HELM_SERVICE_API_KEY.  A certificate that holds (--tls-client-ca) is the key whose row names it.  Whoever comes by the socket of this machine is who
 * the kernel says: user:UID, who may ask and read; answering questions takes a key, because a governed program may be the same user.
 *
 * What a header says about principal or tenant must agree with the key; it never makes anybody somebody else. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/console.h"
#include "serve/parts.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

const char *auth_class_name(enum auth_class c)
{
	static const char *const names[] = { "public", "tenant_scoped", "admin", "service_internal",
		"machine", "reader" };
	TABLE_COVERS(names, AUTH_COUNT);

	return names[c];
}

const char *rate_class_name(enum rate_class c)
{
	static const char *const names[] = { "public", "kernel", "evidence", "admin", "stream" };
	TABLE_COVERS(names, RATE_COUNT);

	return names[c];
}

/* ---- keys ---- */

/* The value of NAME, or of the file that NAME_FILE names; NULL when neither is set.  An empty one opens nothing. */
static const char *secret_of(struct call *c, const char *name)
{
	struct sys *s = c->server->sys;
	const char *value = s->getenv(s, name);
	const char *file = s->getenv(s, arena_printf(c->a, "%s_FILE", name));
	struct bytes text;

	if (!value && file && file_read(s, c->a, AT_FDCWD, file, 4096, FILE_FOLLOW, &text, NULL) == OK) {
		char *copy = arena_strndup(c->a, (const char *)text.p, text.n);
		copy[strcspn(copy, "\r\n")] = '\0';
		value = copy;
	}
	return value && *value ? value : NULL;
}

/* By digest, so that neither length nor content tells how much was right. */
static bool is_secret(const char *given, const char *secret)
{
	uint8_t x[SHA256_SIZE], y[SHA256_SIZE];
	unsigned char differ = 0;

	if (!secret)
		return false;
	sha256(given, strlen(given), x);
	sha256(secret, strlen(secret), y);
	for (size_t i = 0; i < SHA256_SIZE; i++)
		differ |= (unsigned char)(x[i] ^ y[i]);
	return !differ;
}

static const char *runtime(const struct server *s, const char *name, const char *fallback)
{
	const char *value = s->sys->getenv(s->sys, name);

	return value && *value ? value : fallback;
}

const char *auth_home_tenant(const struct server *s)
{
	return runtime(s, "HELM_RUNTIME_TENANT_ID", "default");
}

static int nobody(struct call *c, struct err *e, const char *why)
{
	__atomic_add_fetch(&c->server->count.unauthenticated, 1, __ATOMIC_RELAXED);
	call_send_header(c, "WWW-Authenticate", "Bearer realm=\"helm\"");
	return call_refuse(c, e, 401, "UNAUTHENTICATED", "%s", why);
}

/* So many a second: whoever tries keys does not fill the disk of whoever keeps the log. */
static bool may_log(struct call *c)
{
	enum { A_SECOND = 10 };
	static int64_t second, lines;
	int64_t now = c->server->sys->mono_us(c->server->sys) / 1000000;

	if (__atomic_exchange_n(&second, now, __ATOMIC_RELAXED) != now)
		__atomic_store_n(&lines, 0, __ATOMIC_RELAXED);
	return __atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED) < A_SECOND;
}

/* Who tries keys leaves a trace of where from, and none of what was tried. */
static int refused(struct call *c, struct err *e, const char *why)
{
	if (may_log(c))
		log_line(c->server, "warning", c, "401 for %s: %s", c->peer.address ? c->peer.address : "?",
			why);
	return nobody(c, e, why);
}

static void become(struct call *c, const struct apikey *key)
{
	c->who = (struct who){ key->principal, key->tenant, key->id, key->scopes };
	if (key->scopes & SCOPE_ADMIN)
		c->who.scopes |= SCOPE_EVALUATE | SCOPE_READ | SCOPE_APPROVE;
}

int auth_token(struct call *c, const char *token, struct err *e)
{
	struct sys *s = c->server->sys;
	const char *why = NULL;
	struct json *keys;
	struct apikey key;

	if (is_secret(token, secret_of(c, "HELM_SERVICE_API_KEY"))) {
		c->who = (struct who){ "service", auth_home_tenant(c->server), NULL, SCOPE_SERVICE };
		return OK;
	}
	if (is_secret(token, secret_of(c, "HELM_ADMIN_API_KEY"))) {
		c->who = (struct who){ runtime(c->server, "HELM_RUNTIME_PRINCIPAL_ID", "system-admin"),
			auth_home_tenant(c->server), NULL,
			SCOPE_EVALUATE | SCOPE_READ | SCOPE_APPROVE | SCOPE_ADMIN };
		return OK;
	}
	int rc = apikeys_load(s, c->a, c->server->ws, &keys, e);
	if (rc)
		return rc;
	if (!apikey_match(c->a, keys, token, s->now_us(s), &key, &why))
		return refused(
			c, e, why ? arena_printf(c->a, "this key is %s", why) : "this key is not known here");
	become(c, &key);
	return OK;
}

/* A certificate has no secret to compare: that it holds was found out with the connection, and what it opens says the row that names it. */
static int by_certificate(struct call *c, struct err *e)
{
	struct json *keys;
	struct apikey key;
	const char *why = NULL;
	int rc = apikeys_load(c->server->sys, c->a, c->server->ws, &keys, e);

	if (rc)
		return rc;
	if (!apikey_match_certificate(
		    c->a, keys, c->peer.certificate, c->server->sys->now_us(c->server->sys), &key, &why))
		return refused(c, e,
			why ? arena_printf(
				      c->a, "the key of the certificate '%s' is %s", c->peer.certificate, why)
			    : arena_printf(c->a,
				      "nobody has said who '%s' is: helm serve key add --certificate makes it known",
				      c->peer.certificate));
	become(c, &key);
	return OK;
}

static const char *token_of(const struct call *c, bool *ret_is_other)
{
	static const char bearer[] = "Bearer ";
	const char *given = call_header(c, "Authorization"), *own = call_header(c, "X-Helm-Key");

	/* A gateway sends on what its client said, and its own key beside it. */
	*ret_is_other = !own && given && strncasecmp(given, bearer, strlen(bearer)) != 0;
	return own ? own : given && !*ret_is_other ? given + strlen(bearer) : NULL;
}

/* A gateway that was started for whoever is on this machine. */
static bool is_open(struct call *c)
{
	const char *client = json_get_text(c->server->o.mcp, "client", NULL);

	if (!c->server->o.is_open || !c->peer.is_loopback || !text_eq(c->path, "/mcp"))
		return false;
	c->who = (struct who){ client ? arena_printf(c->a, "agent:%s", client)
				      : arena_printf(c->a, "user:%u", c->server->sys->euid(c->server->sys)),
		"default", NULL, SCOPE_EVALUATE | SCOPE_READ };
	return true;
}

/* Of anybody, or of whom the route itself knows by other means than keys of callers. */
static bool is_for_others(const struct route *r)
{
	return r->auth == AUTH_PUBLIC || r->auth == AUTH_MACHINE || r->auth == AUTH_READER;
}

int auth_at_headers(struct call *c, struct err *e)
{
	bool is_other;

	if (console_is_path(c->path) && c->route) {
		int rc = console_check_host(c, e);
		if (rc)
			return rc;
	}
	if (!c->route || is_for_others(c->route) || token_of(c, &is_other) || c->peer.is_local ||
		c->peer.certificate || is_open(c))
		return OK;
	if (console_has_cookie(c))
		return console_check_browser(c, e);
	if (is_other)
		return refused(c, e, "only Authorization: Bearer KEY is understood");
	if (c->peer.no_certificate)
		return refused(c, e, c->peer.no_certificate);
	return nobody(c, e, "a key is needed: Authorization: Bearer KEY ('helm serve key add' makes one)");
}

static int identify(struct call *c, struct err *e)
{
	bool is_other;
	const char *token = token_of(c, &is_other);

	if (token)
		return auth_token(c, token, e);
	if (console_has_cookie(c)) {
		int rc = console_check_browser(c, e);
		if (rc || console_who(c, &c->who))
			return rc;
		return nobody(
			c, e, "this session is over; a link of 'helm open', or your key, opens another one");
	}
	if (c->peer.certificate)
		return by_certificate(c, e);
	if (c->peer.is_local && !is_other) {
		c->who = (struct who){ arena_printf(c->a, "user:%u", c->peer.uid),
			auth_home_tenant(c->server), NULL, SCOPE_EVALUATE | SCOPE_READ };
		return OK;
	}
	return refused(c, e, "only Authorization: Bearer KEY is understood");
}

/* ---- tenant and principal ---- */

/* What the caller says, by header or, for the tenant, in the query. */
static int check_said(struct call *c, struct err *e)
{
	const char *tenant = call_header(c, "X-Helm-Tenant-ID"),
		   *principal = call_header(c, "X-Helm-Principal-ID");
	const char *asked = call_query(c, "tenant_id");
	bool is_admin_key = !c->who.key_id && !c->peer.is_local;

	if (tenant && asked && !text_eq(tenant, asked))
		return call_refuse(c, e, 403, "FORBIDDEN", "X-Helm-Tenant-ID and tenant_id name two tenants");
	tenant = tenant ? tenant : asked;
	/* The key of the environment belongs to the installation: who uses it says for whom. */
	if (c->route->auth == AUTH_TENANT && is_admin_key && (!tenant || !principal))
		return call_refuse(c, e, 403, "FORBIDDEN",
			"with this key X-Helm-Tenant-ID and X-Helm-Principal-ID are needed");
	if (tenant && !text_eq(tenant, c->who.tenant))
		return call_refuse(c, e, 403, "TENANT_ISOLATION", "this key does not belong to that tenant");
	if (principal && !text_eq(principal, c->who.principal))
		return call_refuse(c, e, 403, "FORBIDDEN", "this key does not belong to that principal");
	return OK;
}

/* "approve", or several with "and". */
static const char *scope_words(struct arena *a, unsigned scopes)
{
	struct buf b;

	buf_init(&b, a);
	json_each (one, apikey_scopes_json(a, scopes))
		buf_addf(&b, "%s%s", b.n ? " and " : "", json_text(one));
	return b.n ? b.p : "none";
}

int auth_check(struct call *c, struct err *e)
{
	if (is_for_others(c->route) || is_open(c))
		return OK;
	int rc = identify(c, e);
	if (rc == OK)
		rc = check_said(c, e);
	if (rc)
		return rc;
	if ((c->who.scopes & c->route->scope) == c->route->scope)
		return OK;
	if (!c->who.key_id && !c->peer.is_local)
		return refused(c, e,
			arena_printf(c->a, "this key does not open the route, which needs the scope %s",
				scope_words(c->a, c->route->scope)));
	return call_refuse(c, e, 403, "FORBIDDEN",
		"this route needs the scope %s, and the caller has %s; 'helm serve key add --scope %s' makes a key for it",
		scope_words(c->a, c->route->scope), scope_words(c->a, c->who.scopes),
		scope_words(c->a, c->route->scope & ~c->who.scopes));
}

bool auth_still(struct server *s, const char *key_id, unsigned scope, int64_t *asked_us)
{
	enum { KEY_S = 2 };
	AUTO(arena_done) struct arena a = { 0 };
	int64_t now = s->sys->mono_us(s->sys);
	struct json *keys;
	struct err e = { 0 };

	if (!key_id || now - *asked_us < (int64_t)KEY_S * 1000000)
		return true;
	*asked_us = now;
	if (apikeys_load(s->sys, &a, s->ws, &keys, &e))
		return false;
	const struct json *row = json_get(json_get(keys, "keys"), key_id);
	return row && !apikey_over(row, s->sys->now_us(s->sys)) &&
		apikey_row_scopes(row) & (scope | SCOPE_ADMIN);
}
