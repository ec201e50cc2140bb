/* absent.c — what clients ask for and this boundary does not offer: said by name, with what to use instead.
 *
 * Lists of things that cannot exist here are empty, which is true.  Whoever builds one of these takes its row out. */
#include "serve/http/http.h"

/* 501 with the row's own text. */
static int absent(struct call *c, struct err *e)
{
	return call_refuse(c, e, 501, "NOT_OFFERED", "not offered: %s", c->route->what);
}

static int none(struct call *c, struct err *e)
{
	(void)e;
	call_answer(c, 200, json_new(c->a, JSON_ARRAY));
	return OK;
}

#define GRANTS "grants of sandboxes; the walls of a run are those of its profile (helm profile show)"
#define REGISTRY \
	"adding and approving servers of tools over HTTP; that is a person's, at a terminal (helm mcp add, helm mcp approve, helm mcp scan)"
#define PROFILES \
	"profiles of how to log in at servers of tools; it is said where a server is added (helm mcp add)"
#define WEBAUTHN \
	"WebAuthn; registered keys of OpenSSH, also those on a security key, approve (helm approval message)"
#define RELATIONS "a store of relationships; who may do what is said by keys and policies"
#define ENVELOPES "other envelopes around evidence; a pack is signed as it is (POST /api/v1/evidence/export)"
#define LISTED(path, what) \
	{ \
		"GET", path, AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, 0, none, "none: " what, NULL, "[]Nothing" \
	}
#define ABSENT(method, path, what) \
	{ \
		method, path, AUTH_ADMIN, SCOPE_ADMIN, RATE_ADMIN, NOT_OFFERED, absent, what, NULL, NULL \
	}

const struct route http_absent_routes[] = {
	LISTED("/api/v1/sandbox/grants/inspect", GRANTS),
	LISTED("/api/v1/sandbox/profiles", GRANTS),
	LISTED("/api/v1/sandbox/grants", GRANTS),
	ABSENT("POST", "/api/v1/sandbox/grants", GRANTS),
	ABSENT("GET", "/api/v1/sandbox/grants/{id}", GRANTS),
	ABSENT("POST", "/api/v1/sandbox/grants/{id}/verify", GRANTS),
	ABSENT("POST", "/api/v1/sandbox/preflight", GRANTS),
	ABSENT("POST", "/api/v1/mcp/registry", REGISTRY),
	ABSENT("POST", "/api/v1/mcp/registry/approve", REGISTRY),
	ABSENT("POST", "/api/v1/mcp/registry/{id}/approve", REGISTRY),
	ABSENT("POST", "/api/v1/mcp/scan", REGISTRY),
	LISTED("/api/v1/mcp/auth-profiles", PROFILES),
	ABSENT("PUT", "/api/v1/mcp/auth-profiles/{id}", PROFILES),
	ABSENT("POST", "/api/v1/approvals/{id}/webauthn/challenge", WEBAUTHN),
	ABSENT("POST", "/api/v1/approvals/{id}/webauthn/assert", WEBAUTHN),
	ABSENT("POST", "/api/v1/authz/check", RELATIONS),
	LISTED("/api/v1/authz/snapshots", RELATIONS),
	ABSENT("GET", "/api/v1/authz/snapshots/{id}", RELATIONS),
	LISTED("/api/v1/evidence/envelopes", ENVELOPES),
	ABSENT("POST", "/api/v1/evidence/envelopes", ENVELOPES),
	ABSENT("GET", "/api/v1/evidence/envelopes/{id}", ENVELOPES),
	ABSENT("POST", "/api/v1/evidence/envelopes/{id}/verify", ENVELOPES),
	ABSENT("GET", "/api/v1/evidence/envelopes/{id}/payload", ENVELOPES),
	ABSENT("POST", "/api/v1/kernel/approve",
		"intents that were signed elsewhere; POST /api/v1/approvals/{id}/approve answers"),
	ABSENT("POST", "/api/v1/telemetry/export", "export of telemetry on request"),
	{ 0 },
};
