/* cmd_signer.c — signer run, log, log-key, use, status: keys that another user keeps.
 *
 * `run` is the keeper's: a process of a user of its own, for as long as the machine is up.  `use` is done by the person whose
 * records it signs, in a helm home that has no key yet, and again when the signer has another one.  `status` asks for a signature that means nothing, and so shows whether the
 * one who answers has the key. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "kernel/log_keeper.h"
#include "kernel/signer.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_USERS = 16 };

const struct opt signer_run_opts[] = {
	{ "socket", OPT_VALUE, "PATH", "where to listen; nobody else may write to its directory", NULL,
		true },
	{ "for", OPT_LIST, "USER", "who may ask: a name or a number", NULL, true },
	{ 0 },
};

static volatile int stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* A number, or a name of /etc/passwd; the C library's own way would load other libraries. */
static int read_user(struct cli *r, const char *word, uid_t *ret, struct err *e)
{
	struct bytes text;
	int64_t number;

	if (!text_int(word, &number)) {
		number = -1;
		if (file_read(r->sys, r->a, AT_FDCWD, "/etc/passwd", 4 << 20, FILE_FOLLOW, &text, NULL))
			text.n = 0;
		while (text.n && number < 0) {
			struct bytes line = text_cut(&text, '\n'), name = text_cut(&line, ':');
			(void)text_cut(&line, ':');
			struct bytes id = text_cut(&line, ':');
			if (bytes_is(name, word))
				(void)text_int(arena_strndup(r->a, (const char *)id.p, id.n), &number);
		}
	}
	if (number < 0 || number >= UINT32_MAX)
		return err_set(e, E_USAGE, "SIGNER_USER", "there is no user '%s'; a number will do", word);
	*ret = (uid_t)number;
	return OK;
}

/* Whoever may write to the directory could put a socket of their own in its place.  That would give no signature that counts, but
 * nobody could work. */
static int check_place(struct cli *r, const char *socket, struct err *e)
{
	const char *base = path_base(socket);
	const char *dir = base - socket > 1 ? arena_strndup(r->a, socket, (size_t)(base - socket) - 1) : "/";
	struct stat st;

	if (socket[0] != '/')
		return err_set(e, E_USAGE, "SIGNER_SOCKET", "--socket takes a path from the root");
	if (r->sys->stat(r->sys, AT_FDCWD, dir, &st, 0))
		return err_sys(e, "SIGNER_SOCKET", "cannot look at '%s'", dir);
	if ((st.st_uid != r->sys->euid(r->sys) && st.st_uid != 0) || st.st_mode & 022)
		return err_set(e, E_INPUT, "SIGNER_SOCKET",
			"others may write to '%s'; make a directory of your own for the socket, with mode 0755",
			dir);
	return OK;
}

/* Who may ask, and where, before anything is opened. */
static int read_door(struct cli *r, uid_t users[MAX_USERS], size_t *ret_n, struct err *e)
{
	const char **words;
	size_t n = opt_list(r, "for", &words);
	int rc = n > MAX_USERS ? err_set(e, E_USAGE, "SIGNER_USER", "at most %d users", MAX_USERS) : OK;

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = read_user(r, words[i], &users[i], e);
	*ret_n = n;
	return rc ? rc : check_place(r, opt_text(r, "socket", ""), e);
}

static int answer_until_ended(
	struct cli *r, const struct signer_door *door, const uid_t *users, size_t n, struct err *e)
{
	struct sigaction on = { .sa_handler = on_signal };

	(void)sigaction(SIGTERM, &on, NULL);
	(void)sigaction(SIGINT, &on, NULL);
	return signer_serve(door, r->sys, opt_text(r, "socket", ""), users, n, &stop, e);
}

int cmd_signer_run(struct cli *r, struct err *e)
{
	AUTO(signer_close) struct signer *g = NULL;
	const char *home;
	uid_t users[MAX_USERS];
	size_t n;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		rc = read_door(r, users, &n, e);
	if (rc == OK)
		rc = signer_open(r->sys, home, &g, e);
	if (rc)
		return rc;
	struct signer_door door = signer_door_of(g);
	return answer_until_ended(r, &door, users, n, e);
}

int cmd_signer_log(struct cli *r, struct err *e)
{
	AUTO(log_keeper_close) struct log_keeper *k = NULL;
	const char *home;
	uid_t users[MAX_USERS];
	size_t n;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		rc = read_door(r, users, &n, e);
	if (rc == OK)
		rc = log_keeper_open(r->sys, home, &k, e);
	return rc ? rc : answer_until_ended(r, &(struct signer_door){ log_keeper_answer, k }, users, n, e);
}

/* Made once; asked again it says the same. */
int cmd_signer_log_key(struct cli *r, struct err *e)
{
	AUTO(log_keeper_close) struct log_keeper *k = NULL;
	AUTO(log_line_close) struct log_line *l = NULL;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct log_facts facts;
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK && r->arg_count == 2)
		rc = log_keeper_create(r->sys, r->a, home, r->args[0], r->args[1], e);
	if (rc == OK)
		rc = log_keeper_look(r->sys, home, &k, e);
	if (rc == OK)
		rc = log_line_open(r->sys, "", k, &l, e);
	if (rc == OK)
		rc = log_ask_facts(l, r->a, r->args[0], &facts, e);
	if (rc)
		return rc;
	const char *log = note_key_text(r->a, &facts.log), *control = note_key_text(r->a, &facts.control);
	json_sets(r->a, doc, "log_key", log);
	json_sets(r->a, doc, "control_key", control);
	json_seti(r->a, doc, "size", (int64_t)facts.last.size);
	json_seti(r->a, doc, "orders", facts.order_seq);
	if (r->is_json)
		out_json(r, doc);
	else
		out(r, "log_key=%s\ncontrol_key=%s\nsigned=%llu leaves, %lld orders\n", log, control,
			(unsigned long long)facts.last.size, (long long)facts.order_seq);
	return OK;
}

/* A person says so, who has the public key from the signer's user: whoever listens on the socket proves that it is theirs. */
int cmd_signer_use(struct cli *r, struct err *e)
{
	static const char *const words[] = { "TRUST", NULL };
	uint8_t pub[SIGN_PUBLIC];
	char hex[2 * SIGN_PUBLIC + 1];
	struct person who = { 0 };
	const char *home, *typed;
	int rc = key_parse_public(bytes_of(r->args[1]), r->args[1], pub, e);

	if (rc == OK && r->args[0][0] != '/')
		rc = err_set(e, E_USAGE, "SIGNER_SOCKET", "SOCKET is a path from the root");
	if (rc == OK)
		rc = person_open(r->sys, r->a, r->ws, NULL, &who, e);
	if (rc == OK)
		rc = workspace_helm_home(r->sys, r->a, &home, e);
	if (rc)
		return rc;
	hex_encode(pub, SIGN_PUBLIC, hex);
	if (!approver_says(r,
		    arena_printf(r->a,
			    "Signer at %s\n  signs with the key ed25519:%s what is recorded for %s\nType TRUST to go "
			    "on, anything else to leave it: ",
			    text_safe(r->a, r->args[0], strlen(r->args[0]), false), hex,
			    text_safe(r->a, home, strlen(home), false)),
		    words, &typed))
		return err_set(e, E_INPUT, "APPROVAL_UNCONFIRMED", "nothing was changed");
	rc = file_mkdirs(r->sys, AT_FDCWD, home, 0700, e);
	if (rc == OK)
		rc = keys_use_signer(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), r->args[0], pub, e);
	if (rc == OK)
		out(r, "signer=%s\nkey_id=ed25519:%s\n",
			text_safe(r->a, r->args[0], strlen(r->args[0]), false), hex);
	return rc;
}

int cmd_signer_status(struct cli *r, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	struct err why = { 0 };
	char id[KEY_ID];
	const char *home;
	int rc = workspace_helm_home(r->sys, r->a, &home, e);

	if (rc == OK)
		rc = keys_load(r->sys, AT_FDCWD, path_join(r->a, home, "keys"), &k, e);
	if (rc)
		return rc;
	bool is_kept = key_keeper(k) != NULL, answers = is_kept && signer_check(r->a, k, &why) == OK;
	key_id(key_public(k), id);
	json_setb(r->a, doc, "signer", is_kept);
	json_sets(r->a, doc, "key_id", id);
	if (is_kept)
		json_setb(r->a, doc, "answers", answers);
	if (is_kept && !answers)
		json_sets(r->a, doc, "problem", why.text);
	if (r->is_json)
		out_json(r, doc);
	else if (!is_kept)
		out(r, "signer=none: the key is in this user's own files\nkey_id=%s\n", id);
	else
		out(r, "signer=%s\nkey_id=%s\n", answers ? "answers" : why.text, id);
	return !is_kept || answers ? 0 : EXIT_NO;
}
