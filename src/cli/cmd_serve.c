/* cmd_serve.c — helm serve: start helm-serve, the program that has the network; list its routes; keep the keys of its callers.
 *
 * This program reads the command line and says what is wrong with it; then helm-serve takes its place, with the same process id, so that a
 * service manager sees one process. */
#include "cli/cmd_serve.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_mcp.h"
#include "kernel/apikey.h"
#include "kernel/policy/policy.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct opt serve_opts[] = {
	{ "policy", OPT_VALUE, "FILE", "the policy of this door, asked beside the one in use", NULL, true },
	{ "authority", OPT_VALUE, "FILE", "tools, agents and decision points that this door relies on", NULL,
		false },
	{ "otlp", OPT_VALUE, "URL", "send spans there (OTLP/HTTP, JSON; also OTEL_EXPORTER_OTLP_ENDPOINT)",
		NULL, false },
	{ "port", OPT_INT, "N", "where to listen; 0: any that is free, named on standard output (7714)", NULL,
		false },
	{ "bind", OPT_VALUE, "ADDRESS", "on which address (127.0.0.1)", NULL, false },
	{ "listen", OPT_VALUE, "unix:PATH", "also, or with --port -1 only, on a socket of this machine", NULL,
		false },
	{ "tls-cert", OPT_VALUE, "FILE", "certificate chain in PEM", NULL, false },
	{ "tls-key", OPT_VALUE, "FILE", "and its key", NULL, false },
	{ "tls-client-ca", OPT_VALUE, "FILE",
		"ask callers for certificates of these authorities (helm serve key add --certificate)", NULL,
		false },
	{ "origin", OPT_VALUE, "URL", "where browsers reach the console: https://helm.example.com", NULL,
		false },
	{ "insecure-remote", OPT_FLAG, NULL,
		"listen beyond this machine without TLS: keys can be read on the way", NULL, false },
	{ "workers", OPT_INT, "N", "so many requests are decided at once, at most 256 (32)", NULL, false },
	{ "demo", OPT_FLAG, NULL,
		"offer /api/demo: anybody who reaches the port may make entries in the record", NULL, false },
	{ "conformance", OPT_FLAG, NULL, "let a test harness describe the world; never for production", NULL,
		false },
	{ 0 },
};

const struct opt serve_key_opts[] = {
	{ "principal", OPT_VALUE, "NAME", "whose key it is: agent:billing, user:anna", NULL, false },
	{ "tenant", OPT_VALUE, "NAME", "which tenant that belongs to (default)", NULL, false },
	{ "scope", OPT_VALUE, "LIST", "what it opens: evaluate,read,approve,admin,service (evaluate,read)",
		NULL, false },
	{ "expires", OPT_VALUE, "DURATION",
		"it opens nothing after 12h, 30d, ... (90d); never: it does not end", NULL, false },
	{ "certificate", OPT_VALUE, "NAME",
		"add: whoever brings the certificate with this URI or common name, instead of a secret", NULL,
		false },
	{ "overlap", OPT_VALUE, "DURATION", "rotate: the old one goes on working for so long (0s)", NULL,
		false },
	{ "reason", OPT_VALUE, "TEXT", "revoke: why, for the record", NULL, false },
	PERSON_KEY,
	{ 0 },
};

/* ---- starting ---- */

int serve_find_program(struct cli *r, const char **ret, struct err *e)
{
	char exe[PATH_MAX];
	ssize_t n = r->sys->readlink(r->sys, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return err_sys(e, "SERVE_PROGRAM", "cannot find this program");
	exe[n] = '\0';
	const char *dir = arena_strndup(r->a, exe, (size_t)(path_base(exe) - exe));
	const char *const places[] = { arena_printf(r->a, "%shelm-serve", dir),
		path_clean(r->a, arena_printf(r->a, "%s../libexec/helm/helm-serve", dir)) };
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (file_exists(r->sys, AT_FDCWD, places[i])) {
			*ret = places[i];
			return OK;
		}
	return err_set(e, E_MISSING, "SERVE_PROGRAM",
		"helm-serve is not there (looked for %s and %s): it is built when libmicrohttpd-dev, libgnutls28-dev, libcurl4-openssl-dev and libpq-dev are installed",
		places[0], places[1]);
}

/* With the name that this program has here: the guard over there knows it by that.  The command is there for whoever looks at processes. */
int serve_prepare(struct cli *r, const struct json *options, struct serve_start *ret, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct json *doc = json_copy(r->a, options);
	const char *program;
	struct buf text;
	int rc = serve_find_program(r, &program, e);

	if (rc)
		return rc;
	json_sets(r->a, doc, "called", command_program());
	buf_init(&text, r->a);
	json_write(&text, doc, 0);
	fd = memfd_create("options", MFD_CLOEXEC);
	if (fd < 0 || write(fd, text.p, text.n) != (ssize_t)text.n || lseek(fd, 0, SEEK_SET))
		return err_sys(e, "SERVE_PROGRAM", "options cannot be given to helm-serve");
	*ret = (struct serve_start){ .argv = { program, arena_printf(r->a, SERVE_OPTIONS_FD "%d", fd),
					     r->cmd->is->name, NULL },
		.fd = fd };
	fd = -1;
	return OK;
}

int serve_become(struct cli *r, const struct json *options, struct err *e)
{
	struct serve_start start;
	int rc = serve_prepare(r, options, &start, e);

	if (rc)
		return rc;
	out_flush(r);
	(void)fcntl(start.fd, F_SETFD, 0);
	rc = proc_become(start.argv, e);
	close_fd(&start.fd);
	return rc;
}

int serve_listening(struct cli *r, int64_t usual, struct json *doc, struct err *e)
{
	static const struct {
		const char *option, *member;
	} texts[] = { { "bind", "bind" }, { "tls-cert", "tls_cert" }, { "tls-key", "tls_key" } };
	int64_t port = opt_int(r, "port", usual), workers = opt_int(r, "workers", 32);
	const char *listen = opt_text(r, "listen", NULL);

	if (port < -1 || port > 65535)
		return err_set(e, E_USAGE, "USAGE", "--port takes a number from 0 to 65535");
	if (listen && (!text_starts(listen, "unix:") || listen[strlen("unix:")] != '/'))
		return err_set(e, E_USAGE, "USAGE", "--listen takes unix: and a path from the root");
	if (port < 0 && !listen)
		return err_set(e, E_USAGE, "USAGE", "without a port --listen unix:PATH is needed");
	if (!opt_text(r, "tls-cert", NULL) != !opt_text(r, "tls-key", NULL))
		return err_set(e, E_USAGE, "USAGE", "--tls-cert and --tls-key belong together");
	if (workers < 1 || workers > 256)
		return err_set(e, E_USAGE, "USAGE", "--workers takes a number from 1 to 256");
	if (r->ws)
		json_sets(r->a, doc, "workspace", r->ws->root);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (opt_text(r, texts[i].option, NULL))
			json_sets(r->a, doc, texts[i].member, opt_text(r, texts[i].option, NULL));
	json_seti(r->a, doc, "port", port);
	json_seti(r->a, doc, "workers", workers);
	if (listen)
		json_sets(r->a, doc, "socket", listen + strlen("unix:"));
	json_setb(r->a, doc, "insecure_remote", opt_flag(r, "insecure-remote"));
	return OK;
}

void serve_spans(struct cli *r, struct json *doc)
{
	if (opt_text(r, "otlp", NULL))
		json_sets(r->a, doc, "otlp", opt_text(r, "otlp", NULL));
}

int serve_console(struct cli *r, struct json *doc, struct err *e)
{
	struct json *console = json_new(r->a, JSON_OBJECT);
	const char *origin = opt_text(r, "origin", NULL);

	if (origin &&
		(!text_starts(origin, "https://") || strpbrk(origin + strlen("https://"), "/?#@ ") ||
			!origin[strlen("https://")] || !opt_text(r, "tls-cert", NULL)))
		return err_set(e, E_USAGE, "USAGE",
			"--origin is https:// and a name, and a port unless it is 443, and needs --tls-cert: https://helm.example.com");
	json_sets(r->a, console, "program", serve_own_program(r));
	if (origin)
		json_sets(r->a, console, "origin", origin);
	json_set(r->a, doc, "console", console);
	return OK;
}

int cmd_serve(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct ruleset *rules;
	const char *client_ca = opt_text(r, "tls-client-ca", NULL);
	int rc = serve_listening(r, 7714, doc, e);

	if (rc == OK && client_ca && !opt_text(r, "tls-cert", NULL))
		rc = err_set(e, E_USAGE, "USAGE", "--tls-client-ca needs --tls-cert and --tls-key");
	if (rc == OK)
		rc = serve_console(r, doc, e);
	/* What is wrong with the policy is said here, the way every command says it. */
	if (rc == OK)
		rc = policy_source_compile(r->sys, r->a, opt_text(r, "policy", ""), &rules, e);
	if (rc)
		return rc;
	serve_spans(r, doc);
	json_sets(r->a, doc, "policy", opt_text(r, "policy", ""));
	if (client_ca)
		json_sets(r->a, doc, "tls_client_ca", client_ca);
	if (opt_text(r, "authority", NULL))
		json_sets(r->a, doc, "authority", opt_text(r, "authority", NULL));
	json_setb(r->a, doc, "demo", opt_flag(r, "demo"));
	json_setb(r->a, doc, "conformance", opt_flag(r, "conformance"));
	json_set(r->a, doc, "mcp", mcp_options(r, "http"));
	return serve_become(r, doc, e);
}

/* ---- routes ---- */

static void print_routes(struct cli *r, const struct json *routes)
{
	static const char *const heads[] = { "SERVER", "METHOD", "PATH", "AUTH", "RATE", "WHAT" };
	struct out_table *t = out_table(r, heads, ARRAY_SIZE(heads));

	json_each (row, routes) {
		const char *cells[] = { json_get_text(row, "server", ""), json_get_text(row, "method", ""),
			json_get_text(row, "path", ""), json_get_text(row, "auth", ""),
			json_get_text(row, "rate", ""), json_get_text(row, "what", "") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

int serve_ask(struct cli *r, const struct json *options, int timeout_ms, struct json **ret, int *ret_code,
	struct err *e)
{
	static const char own[] = "helm: ";
	struct proc_output said;
	struct serve_start start;
	int rc = serve_prepare(r, options, &start, e);

	if (rc)
		return rc;
	struct proc_spec spec = PROC_SPEC(start.argv);
	spec.kept_fd = start.fd;
	rc = proc_capture(r->sys, r->a, &spec, (struct bytes){ 0 }, 64 << 20, timeout_ms, &said, e);
	close_fd(&start.fd);
	if (rc)
		return rc;
	*ret_code = said.end.code;
	if (said.out.n)
		return json_parse(r->a, said.out, "what helm-serve says", NULL, ret, e);
	const char *why = (const char *)said.err.p;
	size_t n = strcspn(why, "\n");
	return text_starts(why, own)
		? err_set(e, E_IO, "SERVE_PROGRAM", "%.*s", (int)(n - strlen(own)), why + strlen(own))
		: err_set(e, E_IO, "SERVE_PROGRAM", "%s does not answer", start.argv[0]);
}

/* The table lies in the other program, which prints it. */
int cmd_serve_routes(struct cli *r, struct err *e)
{
	struct json *routes, *options = json_new(r->a, JSON_OBJECT);
	int code;

	json_sets(r->a, options, "show", "routes");
	int rc = serve_ask(r, options, 30000, &routes, &code, e);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, routes);
	else
		print_routes(r, routes);
	return 0;
}

/* ---- keys ---- */

static int read_duration(struct cli *r, const char *option, const char *fallback, int64_t *ret, struct err *e)
{
	const char *text = opt_text(r, option, fallback);

	*ret = 0;
	if (text_eq(text, "never") || text_eq(text, "0") || text_eq(text, "0s") || text_span(text, ret))
		return OK;
	return opt_span(r, option, ret, e);
}

static void show_token(struct cli *r, const char *token, struct json *row)
{
	(void)json_remove(row, "sha256");
	if (r->is_json) {
		if (token)
			json_sets(r->a, row, "token", token);
		out_json(r, row);
		return;
	}
	if (token)
		out(r, "%s\n", token);
	out(r,
		token ? "This is shown once.  It is key %s of %s, tenant %s"
		      : "The certificate is key %s of %s, tenant %s",
		json_get_text(row, "key_id", ""), json_get_text(row, "principal", ""),
		json_get_text(row, "tenant", ""));
	out(r, json_get(row, "expires_at") ? ", until %s.\n" : ", without an end%s.\n",
		json_get_text(row, "expires_at", ""));
}

static int add_key(struct cli *r, struct kernel *k, const struct person *who, struct err *e)
{
	struct apikey wish = { .principal = opt_text(r, "principal", ""),
		.tenant = opt_text(r, "tenant", "default"),
		.scopes = apikey_scopes(opt_text(r, "scope", "evaluate,read")),
		.certificate = opt_text(r, "certificate", NULL) };
	struct json *row;
	int64_t lasts_us;
	char *token;

	if (!*wish.principal)
		return err_set(e, E_USAGE, "USAGE", "say whose key it is: --principal agent:NAME");
	int rc = read_duration(r, "expires", "90d", &lasts_us, e);
	if (rc)
		return rc;
	wish.expires_us = lasts_us ? r->sys->now_us(r->sys) + lasts_us : 0;
	rc = apikey_add(k, r->a, &wish, who, &token, &row, e);
	if (rc)
		return rc;
	show_token(r, token, row);
	return 0;
}

static int rotate_key(struct cli *r, struct kernel *k, const struct person *who, struct err *e)
{
	struct json *row;
	int64_t overlap_us;
	char *token;
	int rc = read_duration(r, "overlap", "0s", &overlap_us, e);

	if (rc == OK)
		rc = apikey_rotate(k, r->a, r->args[1], overlap_us, who, &token, &row, e);
	if (rc)
		return rc;
	show_token(r, token, row);
	return 0;
}

static int revoke_key(struct cli *r, struct kernel *k, const struct person *who, struct err *e)
{
	struct json *row;
	int rc = apikey_revoke(k, r->a, r->args[1], opt_text(r, "reason", NULL), who, &row, e);

	if (rc)
		return rc;
	(void)json_remove(row, "sha256");
	if (r->is_json)
		out_json(r, row);
	else
		out(r, "Key %s opens nothing any more.\n", r->args[1]);
	return 0;
}

static const char *state_of(const struct json *row, int64_t now_us)
{
	const char *end = json_get_text(row, "expires_at", NULL);
	int64_t us;

	if (json_get_text(row, "revoked_at", NULL))
		return "revoked";
	return end && (!text_parse_time(end, strlen(end), &us) || now_us >= us) ? "expired" : "in force";
}

static int list_keys(struct cli *r, struct err *e)
{
	static const char *const heads[] = { "KEY", "PRINCIPAL", "TENANT", "SCOPES", "STATE", "UNTIL" };
	struct json *keys, *list = json_new(r->a, JSON_ARRAY);
	int rc = apikeys_load(r->sys, r->a, r->ws, &keys, e);

	if (rc)
		return rc;
	struct out_table *t = r->is_json ? NULL : out_table(r, heads, ARRAY_SIZE(heads));
	json_each_member (m, json_get(keys, "keys")) {
		struct json *row = json_copy(r->a, m->value);
		struct buf scopes;
		buf_init(&scopes, r->a);
		json_each (one, json_get(row, "scopes"))
			buf_addf(&scopes, "%s%s", scopes.n ? "," : "", json_text(one) ? json_text(one) : "?");
		(void)json_remove(row, "sha256");
		json_sets(r->a, row, "key_id", m->name);
		json_sets(r->a, row, "state", state_of(row, r->sys->now_us(r->sys)));
		json_push(r->a, list, row);
		const char *cells[] = { m->name, json_get_text(row, "principal", ""),
			json_get_text(row, "tenant", ""), scopes.p, json_get_text(row, "state", ""),
			json_get_text(row, "expires_at", "-") };
		if (t)
			out_row(t, cells, NULL);
	}
	if (!t)
		out_json(r, list);
	else if (list->n)
		out_table_end(t);
	else
		out(r, "There are no keys.\n");
	return 0;
}

int cmd_serve_key(struct cli *r, struct err *e)
{
	static const struct {
		const char *verb;
		size_t args;
		bool loosens;
		int (*fn)(struct cli *, struct kernel *, const struct person *, struct err *);
	} verbs[] = { { "add", 1, true, add_key }, { "rotate", 2, true, rotate_key },
		{ "revoke", 2, false, revoke_key } };

	if (text_eq(r->args[0], "list") && r->arg_count == 1)
		return list_keys(r, e);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		AUTO(kernel_close) struct kernel k = { 0 };
		struct person who;
		if (!text_eq(r->args[0], verbs[i].verb) || r->arg_count != verbs[i].args)
			continue;
		int rc = verbs[i].loosens ? person_loosens(r, &who, e) : person_here(r, &who, e);
		if (rc == OK)
			rc = kernel_open(r->sys, r->a, r->ws, &k, e);
		return rc ? rc : verbs[i].fn(r, &k, &who, e);
	}
	return err_set(e, E_USAGE, "USAGE", "say add, list, rotate KEY or revoke KEY");
}
