/* cmd_witness.c — witness key, serve, ask: vouching for the logs of others, and having others vouch for one. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_serve.h"
#include "kernel/workspace.h"
#include "proof/tlog_policy.h"

#include <fcntl.h>
#include <string.h>

const struct opt witness_serve_opts[] = {
	{ "log", OPT_LIST, "KEY", "a log to vouch for, by its key: ORIGIN+ID+BASE64", NULL, false },
	{ "logs", OPT_VALUE, "FILE", "or a file of them, one on each line", NULL, false },
	{ "port", OPT_INT, "N", "where to listen; 0: any that is free, named on standard output (7716)", NULL,
		false },
	{ "bind", OPT_VALUE, "ADDRESS", "on which address (127.0.0.1)", NULL, false },
	{ "listen", OPT_VALUE, "unix:PATH", "also, or with --port -1 only, on a socket of this machine", NULL,
		false },
	{ "tls-cert", OPT_VALUE, "FILE", "certificate chain in PEM", NULL, false },
	{ "tls-key", OPT_VALUE, "FILE", "and its key", NULL, false },
	{ "insecure-remote", OPT_FLAG, NULL,
		"listen beyond this machine without TLS; nothing that is said here is secret", NULL, false },
	{ "workers", OPT_INT, "N", "so many are answered at once, at most 256 (32)", NULL, false },
	{ "otlp", OPT_VALUE, "URL", "send spans there (OTLP/HTTP, JSON)", NULL, false },
	{ 0 },
};

const struct opt witness_ask_opts[] = {
	{ "policy", OPT_VALUE, "FILE", "the witnesses with their URLs, and the quorum (c2sp.org/tlog-policy)",
		NULL, true },
	{ "tiles", OPT_VALUE, "DIR", "the log as tiles: DIR/tile/0/000, ...", NULL, true },
	{ 0 },
};

static int home_of(struct cli *r, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		*ret = path_join(r->a, home, "witness");
	return rc;
}

/* ---- its key ---- */

/* The name is written last: without it there is no witness yet. */
static int make(struct cli *r, const char *home, const char *name, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct buf text;
	int rc;

	if (!note_name_ok(bytes_of(name)))
		return err_set(e, E_USAGE, "WITNESS_KEY",
			"'%s' cannot be the name of a witness; it is like witness.example/1: no spaces, no '+'",
			name);
	rc = key_create(r->sys, AT_FDCWD, home, "witness", &k, e);
	if (rc && text_eq(e->code, "KEY_EXISTS"))
		rc = OK;
	json_seti(r->a, doc, "version", 1);
	json_sets(r->a, doc, "name", name);
	buf_init(&text, r->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	if (rc == OK)
		rc = file_create(
			r->sys, AT_FDCWD, path_join(r->a, home, "witness.json"), 0600, buf_bytes(&text), e);
	if (rc && text_eq(e->code, "FILE_EXISTS"))
		rc = err_set(e, E_INPUT, "WITNESS_KEY",
			"there is a witness here already: 'helm witness key' shows it");
	return rc;
}

int cmd_witness_key(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	struct json *doc;
	const char *home;
	int rc = home_of(r, &home, e);

	if (rc == OK && r->arg_count)
		rc = file_mkdirs(r->sys, AT_FDCWD, home, 0700, e);
	if (rc == OK && r->arg_count)
		rc = make(r, home, r->args[0], e);
	if (rc == OK)
		rc = doc_read(
			r->sys, r->a, AT_FDCWD, path_join(r->a, home, "witness.json"), 4096, 0, &doc, e);
	if (rc == E_MISSING)
		return err_set(e, E_MISSING, "WITNESS_KEY",
			"there is no witness here; 'helm witness key NAME' makes one");
	if (rc == OK)
		rc = key_load(r->sys, AT_FDCWD, home, "witness", &k, e);
	if (rc)
		return rc;
	struct note_key key = note_key_of(json_get_text(doc, "name", ""), NOTE_COSIGNATURE, key_public(k));
	out(r, "%s\n", note_key_text(r->a, &key));
	return OK;
}

/* ---- serving ---- */

static int add_log(struct cli *r, struct json *list, struct bytes text, const char *where, struct err *e)
{
	struct note_key key;
	int rc = note_key_parse(r->a, text, where, &key, e);

	if (rc == OK && key.type != NOTE_ED25519)
		rc = err_set(e, E_INPUT, "WITNESS_LOGS", "%s is the key of a witness, not of a log", where);
	if (rc == OK)
		json_pushs(r->a, list, note_key_text(r->a, &key));
	return rc;
}

static struct bytes trimmed(struct bytes line)
{
	while (line.n &&
		(line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t' || line.p[line.n - 1] == '\r'))
		line.n--;
	while (line.n && (line.p[0] == ' ' || line.p[0] == '\t'))
		line = (struct bytes){ line.p + 1, line.n - 1 };
	return line;
}

static int read_logs(struct cli *r, struct json *list, struct err *e)
{
	const char *file = opt_text(r, "logs", NULL), **words;
	size_t n = opt_list(r, "log", &words);
	struct bytes text = { 0 };
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = add_log(r, list, bytes_of(words[i]), "--log", e);
	if (rc == OK && file)
		rc = file_read(r->sys, r->a, AT_FDCWD, file, 1 << 20, FILE_FOLLOW, &text, e);
	for (int at = 1; rc == OK && text.n; at++) {
		struct bytes line = trimmed(text_cut(&text, '\n'));
		if (line.n && line.p[0] != '#')
			rc = add_log(r, list, line, arena_printf(r->a, "%s, line %d,", file, at), e);
	}
	if (rc == OK && !list->n)
		rc = err_set(
			e, E_USAGE, "WITNESS_LOGS", "name the logs to vouch for: --log KEY or --logs FILE");
	return rc;
}

int cmd_witness_serve(struct cli *r, struct err *e)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *witness = json_new(r->a, JSON_OBJECT),
		    *logs = json_new(r->a, JSON_ARRAY);
	const char *home;
	int rc = read_logs(r, logs, e);

	if (rc == OK)
		rc = home_of(r, &home, e);
	if (rc == OK)
		rc = serve_listening(r, 7716, doc, e);
	if (rc == OK && !file_exists(r->sys, AT_FDCWD, path_join(r->a, home, "witness.json")))
		rc = err_set(e, E_MISSING, "WITNESS_KEY",
			"there is no witness here; 'helm witness key NAME' makes one");
	if (rc)
		return rc;
	json_sets(r->a, witness, "home", home);
	json_set(r->a, witness, "logs", logs);
	json_set(r->a, doc, "witness", witness);
	return serve_become(r, doc, e);
}

/* ---- asking ---- */

int cmd_witness_ask(struct cli *r, struct err *e)
{
	struct json *options = json_new(r->a, JSON_OBJECT), *q = json_new(r->a, JSON_OBJECT), *answer;
	int code;

	json_sets(r->a, q, "policy", opt_text(r, "policy", ""));
	json_sets(r->a, q, "tiles", opt_text(r, "tiles", ""));
	json_sets(r->a, q, "note", r->args[0]);
	json_set(r->a, options, "witness_do", q);
	int rc = serve_ask(r, options, 30000, &answer, &code, e);
	if (rc)
		return rc;
	bool is_met = json_get_bool(answer, "is_met", false);
	if (r->is_json) {
		out_json(r, answer);
		return is_met ? OK : EXIT_NO;
	}
	if (!is_met) {
		struct buf why;
		buf_init(&why, r->a);
		json_each (one, json_get(answer, "witnesses"))
			buf_addf(&why, "; %s %s", json_get_text(one, "name", ""),
				json_get_text(one, "says", ""));
		return err_set(
			e, E_INPUT, "TLOG_QUORUM", "%s%s", json_get_text(answer, "problem", ""), why.p);
	}
	out(r, "%s", json_get_text(answer, "note", ""));
	return OK;
}
