/* cmd_key.c — key show, create, export: the key that signs what this machine records.
 *
 * It lives in ~/.helm/keys (HELM_HOME moves ~/.helm), outside every workspace.  No command prints the secret, and none
 * overwrites it: whoever loses the key loses nothing already signed, whoever replaces it silently makes old records look
 * foreign. */
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "kernel/kernel.h"
#include "proof/key.h"

#include <fcntl.h>

static const char key_name[] = "root";

const struct opt key_export_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write to a new file instead of standard output", NULL, false },
	{ 0 },
};

static int key_dir(struct run *r, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (!rc)
		*ret = path_join(r->a, home, "keys");
	return rc;
}

static void print_key(struct run *r, const struct key *k, const char *dir)
{
	const char *file = arena_printf(r->a, "%s/%s.key", dir, key_name);
	char id[KEY_ID], hex[2 * SIGN_PUBLIC + 1];

	key_id(key_public(k), id);
	hex_encode(key_public(k), SIGN_PUBLIC, hex);
	if (!r->is_json) {
		out(r, "key_id=%s\npublic_key=%s\nfile=%s\n", id, hex, file);
		return;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "algorithm", "ed25519");
	json_sets(r->a, doc, "key_id", id);
	json_sets(r->a, doc, "public_key", hex);
	json_sets(r->a, doc, "file", file);
	json_setb(r->a, doc, "memory_locked", key_is_locked(k));
	out_json(r, doc);
}

int cmd_key_show(struct run *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = key_load(r->sys, AT_FDCWD, dir, key_name, &k, e);
	if (!rc)
		print_key(r, k, dir);
	return rc;
}

int cmd_key_create(struct run *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = key_create(r->sys, AT_FDCWD, dir, key_name, &k, e);
	if (!rc)
		print_key(r, k, dir);
	return rc;
}

int cmd_key_export(struct run *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir, *to = opt_text(r, "out", NULL);
	char line[2 * SIGN_PUBLIC + 2];

	int rc = key_dir(r, &dir, e);
	if (!rc)
		rc = key_load(r->sys, AT_FDCWD, dir, key_name, &k, e);
	if (rc)
		return rc;
	hex_encode(key_public(k), SIGN_PUBLIC, line);
	line[2 * SIGN_PUBLIC] = '\n';
	if (to) {
		rc = file_create(r->sys, AT_FDCWD, to, 0644,
			(struct bytes){ (const uint8_t *)line, sizeof(line) - 1 }, e);
		if (rc || !r->is_json)
			return rc;
	}
	if (r->is_json)
		print_key(r, k, dir);
	else
		out(r, "%s", line);
	return 0;
}
