/* cmd_key.c — key show, create, export, rotate, revoke, history: the key that signs what this machine
 * records.
 *
 * It lives in ~/.helm/keys (HELM_HOME moves ~/.helm), outside every workspace. No command prints the
 * secret. None replaces the key without a link in the key history: a key that is replaced silently makes
 * old records look as if somebody else had signed them. */
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/workspace.h"
#include "proof/key.h"
#include "record/record.h"
#include "verify/verify.h"

#include <fcntl.h>

static const char key_name[] = "root";
enum { HISTORY_LIMIT = 64 << 20 };

const struct opt key_export_opts[] = {
	{ "out", OPT_VALUE, "FILE", "write to a new file instead of standard output", NULL, false },
	{ 0 },
};

const struct opt key_rotate_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why, for those who read the history", NULL, false },
	PERSON_KEY,
	{ 0 },
};
const struct opt key_revoke_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why, for those who read the history", NULL, false },
	{ "since", OPT_VALUE, "TIME", "from when on the key is not to be trusted; now, when not given", NULL,
		false },
	PERSON_KEY,
	{ 0 },
};

/* ~/.helm/keys, or below HELM_HOME. */
static int key_dir(struct cli *r, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (!rc)
		*ret = path_join(r->a, home, "keys");
	return rc;
}

/* The public half only. */
static void print_key(struct cli *r, const struct key *k, const char *dir)
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

int cmd_key_show(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = keys_load(r->sys, AT_FDCWD, dir, &k, e);
	if (!rc)
		print_key(r, k, dir);
	return rc;
}

/* Refuses when there is a key already: a new one must come by rotation. */
int cmd_key_create(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (!rc)
		rc = keys_create(r->sys, AT_FDCWD, dir, &k, e);
	if (!rc)
		print_key(r, k, dir);
	return rc;
}

/* --out makes a new file and never overwrites one. */
int cmd_key_export(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	const char *dir, *to = opt_text(r, "out", NULL);
	char line[2 * SIGN_PUBLIC + 2];

	int rc = key_dir(r, &dir, e);
	if (!rc)
		rc = keys_load(r->sys, AT_FDCWD, dir, &k, e);
	if (rc)
		return rc;
	hex_encode(key_public(k), SIGN_PUBLIC, line);
	/* In the place of the NUL that hex_encode() wrote. */
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

/* Members that are empty are left out. */
static void print_link(struct cli *r, const struct json *link)
{
	if (r->is_json) {
		out_json(r, link);
		return;
	}
	json_each_member (m, link)
		if (json_is(m->value, JSON_STRING) && m->value->n)
			out(r, "%s=%s\n", m->name, text_safe(r->a, m->value->text, m->value->n, false));
}

/* The link is signed by the old key and by the new one; it is shown together with what others need. */
int cmd_key_rotate(struct cli *r, struct err *e)
{
	const char *dir;
	struct json *link;
	int rc = person_is_there(r, e);

	if (rc == OK)
		rc = key_dir(r, &dir, e);
	if (rc == OK)
		rc = keys_rotate(r->sys, r->a, AT_FDCWD, dir, opt_text(r, "reason", ""), &link, e);
	if (rc)
		return rc;
	print_link(r, link);
	if (!r->is_json)
		out(r, "\nGive the new public key to those who verify, or the history itself: %s/%s\n", dir,
			KEY_HISTORY);
	return 0;
}

/* Times are read in any spelling and written in one. */
static int read_since(struct cli *r, const char **ret, struct err *e)
{
	const char *text = opt_text(r, "since", NULL);
	int64_t us;

	*ret = NULL;
	if (!text)
		return OK;
	if (!text_parse_time(text, strlen(text), &us))
		return err_set(
			e, E_USAGE, "USAGE_TIME", "'%s' is not a time; write 2026-04-13T09:10:00Z", text);
	*ret = text_time_z(r->a, us);
	return OK;
}

/* Everything is read and checked before the history is touched. */
int cmd_key_revoke(struct cli *r, struct err *e)
{
	uint8_t pub[SIGN_PUBLIC];
	const char *dir, *since;
	struct json *link;
	int rc = key_parse_public(bytes_of(r->args[0]), r->args[0], pub, e);

	if (rc == OK)
		rc = read_since(r, &since, e);
	if (rc == OK)
		rc = person_is_there(r, e);
	if (rc == OK)
		rc = key_dir(r, &dir, e);
	if (rc == OK)
		rc = keys_revoke(
			r->sys, r->a, AT_FDCWD, dir, pub, opt_text(r, "reason", ""), since, &link, e);
	if (rc == OK)
		print_link(r, link);
	return rc;
}

/* Lines that are no JSON are passed over here; the verification above them has reported them. */
static void print_history(struct cli *r, const struct verification *v, struct bytes text)
{
	static const char *const headings[] = { "#", "AT", "EVENT", "KEY", "REASON" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));

	while (text.n) {
		struct json *link;
		if (json_parse(r->a, text_cut(&text, '\n'), KEY_HISTORY, NULL, &link, NULL))
			continue;
		const char *reason = json_get_text(link, "reason", "");
		const char *cells[] = { arena_printf(
						r->a, "%lld", (long long)json_get_int(link, "sequence", 0)),
			text_safe(r->a, json_get_text(link, "at", ""), strlen(json_get_text(link, "at", "")),
				false),
			json_get_text(link, "event", ""), json_get_text(link, "key", ""),
			text_safe(r->a, reason, strlen(reason), false) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (v->integrity == ANSWER_YES)
		out(r, "\nunbroken; in force: %s\n", json_get_text(v->values, "active", "none"));
	else
		out(r, "\nBROKEN: %s\n", v->text);
}

/* The history is verified before it is shown, and the exit code is that of the verification. */
int cmd_key_history(struct cli *r, struct err *e)
{
	struct trust nobody = { 0 };
	struct verification v;
	struct bytes text;
	const char *dir;
	int rc = key_dir(r, &dir, e);

	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, path_join(r->a, dir, KEY_HISTORY), HISTORY_LIMIT, 0,
			&text, e);
	if (rc == E_MISSING)
		return err_set(e, E_MISSING, "KEY_HISTORY",
			"there is no key history yet; 'helm key create' starts it");
	if (rc)
		return rc;
	while (text.n && text.p[text.n - 1] != '\n')
		/* A last line without a newline is what a crash left of a link that nobody was told about. */
		text.n--;
	/* The history proves itself: each link is signed by the key before it. */
	verification_begin(&v, r->a, &nobody, "key history");
	verify_key_history(&v, text, KEY_HISTORY);
	if (r->is_json) {
		struct json *doc = verification_json(r->a, &v), *links = json_new(r->a, JSON_ARRAY), *link;
		for (struct bytes rest = text; rest.n;)
			if (json_parse(r->a, text_cut(&rest, '\n'), KEY_HISTORY, NULL, &link, NULL) == OK)
				json_push(r->a, links, link);
		json_set(r->a, doc, "links", links);
		out_json(r, doc);
	} else {
		print_history(r, &v, text);
	}
	return v.integrity == ANSWER_YES ? 0 : EXIT_NO;
}
