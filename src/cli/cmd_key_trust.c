/* cmd_key_trust.c — key trust, approval trust: the keys of others that this user has decided to trust, for
 * one thing or another.
 *
 * Keys for verifying stand in ~/.helm/trust/keys.json, in the form that every --trust FILE has. Being in
 * there alone makes nothing trusted: a verification uses the file only when it is named. Keys that may
 * approve what an agent asks for stand beside it in approvers.json; to put one there takes what an
 * approval takes. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/sealed.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "kernel/operator_files.h"
#include "proof/key.h"
#include "proof/sshsig.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>

enum { TRUST_LIMIT = 1 << 20 };

const struct opt key_trust_opts[] = {
	{ "label", OPT_VALUE, "TEXT", "whose key it is (add)", NULL, false },
	PERSON_KEY,
	{ 0 },
};

/* One of the two files, read, and locked when it is to be changed. */
struct store {
	const char *dir, *path;
	struct json *doc, *keys;
	int lock_fd;
};

static void store_close(struct store *s)
{
	close_fd(&s->lock_fd);
}

/* Changes hold the lock from reading to writing, so that two of them do not lose one. A missing file is an
 * empty one. */
static int store_open(struct cli *r, struct store *s, const char *file, bool to_write, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc)
		return rc;
	s->dir = path_join(r->a, home, "trust");
	s->path = path_join(r->a, s->dir, file);
	if (to_write)
		rc = file_mkdirs(r->sys, AT_FDCWD, s->dir, 0700, e);
	if (to_write && rc == OK)
		rc = file_lock(r->sys, AT_FDCWD, path_join(r->a, s->dir, "lock"), -1, &s->lock_fd, e);
	if (rc == OK)
		rc = sealed_read(r->sys, r->a, AT_FDCWD, s->path, TRUST_LIMIT,
			text_eq(file, APPROVERS) ? APPROVERS_NAME : TRUSTED_KEYS_NAME, &s->doc, e);
	if (rc == E_MISSING)
		rc = OK;
	if (rc)
		return rc;
	if (!s->doc)
		s->doc = json_new(r->a, JSON_OBJECT);
	s->keys = json_get(s->doc, "keys");
	if (!s->keys) {
		s->keys = json_new(r->a, JSON_ARRAY);
		json_set(r->a, s->doc, "keys", s->keys);
	}
	if (!json_is(s->keys, JSON_ARRAY))
		return err_set(e, E_CORRUPT, "TRUST_FILE",
			"%s is not a trust file; put it back from a copy, or start it anew: " SEALED_COMMAND
			" reset %s",
			s->path, text_eq(file, APPROVERS) ? APPROVERS_NAME : TRUSTED_KEYS_NAME);
	return OK;
}

/* The file is replaced whole, under the lock that store_open() took. */
static int store_write(struct cli *r, const struct store *s, struct err *e)
{
	const struct doc file = { .file = s->path };

	return sealed_replace(r->sys, r->a, AT_FDCWD, &file, s->doc, e);
}

/* A key of ours, by its hex digits; one of OpenSSH, by its line without the comment; a passkey, by its id. */
struct named_key {
	char hex[2 * SIGN_PUBLIC + 1];
	const char *ssh; /* or NULL */
	bool is_passkey; /* known by its id alone: it comes in by invitation */
	const char *id; /* as people know it: ed25519:HEX, SHA256:... */
};

static bool is_row_of(const struct json *row, const struct named_key *key)
{
	if (key->is_passkey)
		return text_eq(json_get_text(row, "key_id", ""), key->id);
	return key->ssh ? text_eq(json_get_text(row, "ssh_key", ""), key->ssh)
			: strcasecmp(json_get_text(row, "public_key_hex", ""), key->hex) == 0;
}

/* The place of a key, or the number of keys when it is not there. Hex is compared without case. */
static size_t find(const struct store *s, const struct named_key *key)
{
	size_t i = 0;

	while (i < s->keys->n && !is_row_of(s->keys->items[i], key))
		i++;
	return i;
}

/* One text, of either kind. */
static int parse_key(
	struct cli *r, struct bytes text, const char *where, struct named_key *ret, struct err *e)
{
	uint8_t pub[SIGN_PUBLIC];
	struct ssh_key ssh;
	bool is_ssh = ssh_key_is_line(text);
	int rc = is_ssh ? ssh_key_parse(r->a, text, where, &ssh, e) : key_parse_public(text, where, pub, e);

	if (rc)
		return rc;
	*ret = (struct named_key){ 0 };
	if (is_ssh) {
		ret->ssh = ssh_key_text(r->a, &ssh);
		ret->id = ssh_key_fingerprint(r->a, &ssh);
	} else {
		hex_encode(pub, SIGN_PUBLIC, ret->hex);
		ret->id = arena_printf(r->a, "ed25519:%s", ret->hex);
	}
	return OK;
}

/* A key as it is spelled, or the file that holds it. A weak key is refused at once and not tried as a file
 * name. */
static int read_key(struct cli *r, const char *word, struct named_key *ret, struct err *e)
{
	struct bytes text = bytes_of(word);
	struct err why;

	if (text_starts(word, "webauthn:")) {
		*ret = (struct named_key){ .id = word, .is_passkey = true };
		return OK;
	}
	if (parse_key(r, text, word, ret, &why) == OK)
		return OK;
	if (text_eq(why.code, "KEY_WEAK") ||
		file_read(r->sys, r->a, AT_FDCWD, word, 4096, FILE_FOLLOW, &text, NULL)) {
		*e = why;
		return why.rc;
	}
	return parse_key(r, text, word, ret, e);
}

/* A key that is there already is an error, so that its label is not changed by accident. */
static int trust_add(struct cli *r, struct store *s, const struct named_key *key, struct err *e)
{
	struct json *row = json_new(r->a, JSON_OBJECT);
	const char *label = opt_text(r, "label", NULL);

	if (find(s, key) < s->keys->n)
		return err_set(e, E_INPUT, "TRUST_EXISTS", "the key is trusted already");
	/* The form that every --trust FILE has, so that the file can be given to others. */
	json_sets(r->a, row, "key_id", key->id);
	json_sets(r->a, row, key->ssh ? "ssh_key" : "public_key_hex", key->ssh ? key->ssh : key->hex);
	if (label)
		json_sets(r->a, row, "label", label);
	json_sets(r->a, row, "added_at", text_time_z(r->a, r->sys->now_us(r->sys)));
	json_push(r->a, s->keys, row);
	return store_write(r, s, e);
}

static int trust_remove(struct cli *r, struct store *s, const struct named_key *key, struct err *e)
{
	size_t at = find(s, key);

	if (at == s->keys->n)
		return err_set(e, E_MISSING, "TRUST_MISSING", "the key is not among the trusted ones");
	memmove(s->keys->items + at, s->keys->items + at + 1,
		(s->keys->n - at - 1) * sizeof(*s->keys->items));
	s->keys->n--;
	return store_write(r, s, e);
}

/* After a change the whole list is shown. */
static void trust_list(struct cli *r, const struct store *s)
{
	static const char *const headings[] = { "KEY", "ADDED", "LABEL" };

	if (r->is_json) {
		out_json(r, s->doc);
		return;
	}
	if (!s->keys->n) {
		out(r, "No keys are trusted yet; 'helm %s add KEY' adds one.\n", r->cmd->is->name);
		return;
	}
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, s->keys) {
		const char *label = json_get_text(row, "label", "");
		const char *cells[] = { json_get_text(row, "public_key_hex", safe_member(r, row, "key_id")),
			json_get_text(row, "added_at", ""), text_safe(r->a, label, strlen(label), false) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	if (text_ends(s->path, "/" TRUSTED_KEYS))
		out(r, "\nUse them with: helm verify FILE --trust %s\n", s->path);
}

/* A key that may approve is as good as a person, so only a person at a terminal gives or takes that. */
static int change_approvers(struct cli *r, const char *action, const struct named_key *key, struct err *e)
{
	const char *word = text_eq(action, "add") ? "TRUST" : "REMOVE", *typed;
	const char *const words[] = { word, NULL };
	struct person who = { 0 };
	int rc = person_open(r->sys, r->a, r->ws, NULL, &who, e);

	if (rc == OK && text_eq(action, "add"))
		rc = person_may_loosen(r->sys, r->a, r->ws, e);
	if (rc)
		return rc;
	const char *text = arena_printf(r->a,
		"Key %s\n  %s\nType %s to go on, anything else to leave it: ", key->id,
		!text_eq(action, "add") ? "may no longer approve"
			: key->ssh
			? "may approve in every workspace of this user, by signed answers"
			: "may approve, deny and revoke in every workspace of this user, without a terminal",
		word);
	return approver_says(r, text, words, &typed)
		? OK
		: err_set(e, E_INPUT, "APPROVAL_UNCONFIRMED", "nothing was changed");
}

/* The person is asked before the lock is taken: nobody should wait for somebody who is reading. */
static int change_or_list(struct cli *r, const char *file, struct err *e)
{
	AUTO(store_close) struct store s = { .lock_fd = -1 };
	const char *action = r->args[0];
	bool is_list = text_eq(action, "list");
	struct named_key key;

	if (!is_list && !text_eq(action, "add") && !text_eq(action, "remove"))
		return err_set(e, E_USAGE, "USAGE_ACTION", "'%s' is not one of add, list, remove", action);
	if (is_list != (r->arg_count == 1))
		return err_set(
			e, E_USAGE, "USAGE_KEY", "'%s' %s", action, is_list ? "takes no key" : "needs a key");
	/* The key is read before a person is asked, so that they see which one it is. */
	int rc = is_list ? OK : read_key(r, r->args[1], &key, e);
	if (rc == OK && !is_list && key.ssh && !text_eq(file, APPROVERS))
		rc = err_set(e, E_INPUT, "SSH_KEY_TYPE",
			"a key of OpenSSH signs no receipts; it may approve: helm approval trust add KEY");
	if (rc == OK && !is_list && key.is_passkey && text_eq(action, "add"))
		rc = err_set(e, E_INPUT, "TRUST_PASSKEY",
			"a passkey is registered in the browser that has it: helm serve invite --name NAME");
	if (rc == OK && !is_list && text_eq(file, APPROVERS))
		rc = change_approvers(r, action, &key, e);
	else if (rc == OK && !is_list)
		rc = person_is_there(r, e);
	if (rc == OK)
		rc = store_open(r, &s, file, !is_list, e);
	if (rc)
		return rc;
	if (!is_list)
		rc = text_eq(action, "add") ? trust_add(r, &s, &key, e) : trust_remove(r, &s, &key, e);
	if (rc == OK)
		trust_list(r, &s);
	return rc;
}

int cmd_key_trust(struct cli *r, struct err *e)
{
	return change_or_list(r, TRUSTED_KEYS, e);
}

int cmd_approval_trust(struct cli *r, struct err *e)
{
	return change_or_list(r, APPROVERS, e);
}
