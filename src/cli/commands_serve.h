/* commands_serve.h — rows of commands.c: the program that has the network, started and asked. */

static const struct cmd row_open = { KNOWN(open), "", 0, 0, "look at this workspace in a browser",
	"What was stopped, what waits for an answer, and the proof of each, checked by the browser.  Starts helm-serve on this machine, on a port that is free, and prints a link that works once, within ten minutes; at a terminal with a screen a browser opens it.  "
	"Ctrl-C ends it.  Whoever has come in can look; acting takes a key that a person has registered, and a touch of it each time (docs/guides/console.md).  "
	"With --json the first document on standard output is {url, base_url, pid, stop, expires_at}; it ends with the program that started it, or by what `stop` says.",
	NULL, open_opts, NEEDS_WORKSPACE, cmd_open };

static const struct cmd row_serve = { KNOWN(serve), "", 0, 0,
	"answer over HTTP: decisions, receipts, approvals, evidence",
	"Starts helm-serve in its own place, on 127.0.0.1:7714.  Every decision goes through the kernel and is in the chain of the workspace, on disk, before its answer leaves.  "
	"The policy of --policy is asked beside the one in use, and can only make answers stricter; SIGHUP reads it again, and one that cannot be used leaves the old one in force.  "
	"Callers have keys ('helm serve key add'); HELM_ADMIN_API_KEY and HELM_SERVICE_API_KEY (or _FILE) are for programs that know only those.  "
	"With --port 0 the first line on standard output is {\"ready\":true,\"base_url\":\"...\"}.  'helm serve routes' lists what is offered; docs/guides/serve.md shows it.",
	NULL, serve_opts, NEEDS_WORKSPACE, cmd_serve };

static const struct cmd row_serve_routes = { KNOWN(serve_routes), "", 0, 0,
	"list the routes of 'helm serve' and its kin: who may call them, and what they do",
	"SERVER is serve for 'helm serve', fleet for 'helm serve fleet', witness for 'helm witness serve'.  AUTH is public, tenant_scoped, admin or service_internal, by keys of callers; machine: signed by the key of a machine that has joined the fleet; reader: a session or token of the fleet's console.",
	NULL, NULL, 0, cmd_serve_routes };

static const struct cmd row_serve_reload = { KNOWN(serve_reload), "", 0, 0,
	"have a server read its policy, authority and certificates again",
	"With a key of the scope service, in HELM_KEY or --api-key-file.  What cannot be used leaves what was in force; SIGHUP does the same.",
	NULL, serve_reload_opts, 0, cmd_serve_reload };

static const struct cmd row_serve_invite = { KNOWN(serve_invite), "", 0, 0,
	"a link by which somebody registers a key for the console",
	"Whoever opens it registers one key of theirs (a passkey, with a touch and a PIN, finger or face) and may answer questions and freeze with it from then on, in every workspace of this user.  "
	"'helm approval trust list' shows the keys, 'helm approval trust remove KEY' takes one away.  Inviting is a person's act, on record.",
	NULL, serve_invite_opts, NEEDS_WORKSPACE, cmd_serve_invite };

static const struct cmd row_serve_key = { KNOWN(serve_key), "add|list|rotate KEY|revoke KEY", 1, 2,
	"keys of those who call 'helm serve'",
	"A key belongs to one principal in one tenant and opens what its scopes say.  It is shown once; only its digest is kept, in the helm home.  "
	"Making, rotating and revoking one is a person's act, on record; a server that runs knows of it with the next request.",
	NULL, serve_key_opts, NEEDS_WORKSPACE, cmd_serve_key };
