/* auth.c — who calls.
 *
 * A key of this workspace (kernel/apikey.h) names its principal, tenant and scopes.  Two keys may come from the environment, for programs
 * that were written for the original: HELM_ADMIN_API_KEY, which needs the tenant and the principal of the installation beside it, and
 * HELM_SERVICE_API_KEY.  Whoever comes by the socket of this machine is who the kernel says: user:UID, who may ask and read; answering
 * questions takes a key, because a governed program may be the same user.
 *
 * What a header says about principal or tenant must agree with the key; it never makes anybody somebody else. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "serve/parts.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

const char *auth_class_name(enum auth_class c)
{
	static const char *const names[] = { "public", "tenant_scoped", "admin", "service_internal" };

	return names[c];
}

const char *rate_class_name(enum rate_class c)
{
	static const char *const names[] = { "public", "kernel", "evidence", "admin", "stream" };

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

static const char *runtime(struct call *c, const char *name, const char *fallback)
{
	const char *value = c->server->sys->getenv(c->server->sys, name);

	return value && *value ? value : fallback;
}

static int nobody(struct call *c, struct err *e, const char *why)
{
	call_send_header(c, "WWW-Authenticate", "Bearer realm=\"helm\"");
	return call_refuse(c, e, 401, "UNAUTHENTICATED", "%s", why);
}

static int by_token(struct call *c, const char *token, struct err *e)
{
	struct sys *s = c->server->sys;
	const char *why = NULL;
	struct json *keys;
	struct apikey key;

	if (is_secret(token, secret_of(c, "HELM_SERVICE_API_KEY"))) {
		c->who = (struct who){ "service", runtime(c, "HELM_RUNTIME_TENANT_ID", "default"), NULL,
			SCOPE_SERVICE };
		return OK;
	}
	if (is_secret(token, secret_of(c, "HELM_ADMIN_API_KEY"))) {
		c->who = (struct who){ runtime(c, "HELM_RUNTIME_PRINCIPAL_ID", "system-admin"),
			runtime(c, "HELM_RUNTIME_TENANT_ID", "default"), NULL,
			SCOPE_EVALUATE | SCOPE_READ | SCOPE_APPROVE | SCOPE_ADMIN };
		return OK;
	}
	int rc = apikeys_load(s, c->a, c->server->ws, &keys, e);
	if (rc)
		return rc;
	if (!apikey_match(c->a, keys, token, s->now_us(s), &key, &why))
		return nobody(
			c, e, why ? arena_printf(c->a, "this key is %s", why) : "this key is not known here");
	c->who = (struct who){ key.principal, key.tenant, key.id, key.scopes };
	if (key.scopes & SCOPE_ADMIN)
		c->who.scopes |= SCOPE_EVALUATE | SCOPE_READ | SCOPE_APPROVE;
	return OK;
}

static int identify(struct call *c, struct err *e)
{
	static const char bearer[] = "Bearer ";
	const char *given = call_header(c, "Authorization"), *own = call_header(c, "X-Helm-Key");

	/* A gateway sends on what its client said, and its own key beside it. */
	if (own)
		return by_token(c, own, e);
	if (given && strncasecmp(given, bearer, strlen(bearer)) != 0)
		return nobody(c, e, "only Authorization: Bearer KEY is understood");
	if (given)
		return by_token(c, given + strlen(bearer), e);
	if (c->peer.is_local) {
		c->who = (struct who){ arena_printf(c->a, "user:%u", c->peer.uid),
			runtime(c, "HELM_RUNTIME_TENANT_ID", "default"), NULL, SCOPE_EVALUATE | SCOPE_READ };
		return OK;
	}
	return nobody(c, e, "a key is needed: Authorization: Bearer KEY ('helm serve key add' makes one)");
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

int auth_check(struct call *c, struct err *e)
{
	if (c->route->auth == AUTH_PUBLIC || is_open(c))
		return OK;
	int rc = identify(c, e);
	if (rc == OK)
		rc = check_said(c, e);
	if (rc)
		return rc;
	if ((c->who.scopes & c->route->scope) == c->route->scope)
		return OK;
	if (!c->who.key_id && !c->peer.is_local)
		return nobody(c, e, "this key does not open the route");
	return call_refuse(c, e, 403, "FORBIDDEN", "this caller may not use the route");
}
