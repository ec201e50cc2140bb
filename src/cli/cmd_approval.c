/* cmd_approval.c — approval approve, deny, revoke, grant: a person answers.
 *
 * An approval lets an agent do what the rules would stop, so the question here is who answers. Everything
 * is shown before anything is read, and what is read is a whole word: nobody approves by leaning on a key.
 * Standard input must be a terminal, and what is shown must go to one, unless a key answers that a person
 * registered for this; person_open() decides that.
 *
 * The order is always: read the options, find out who answers, open the kernel, show, ask, record. */
#include "cli/cmd_approval.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "proof/sshsig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define REACH_OPTIONS \
	{ "once", OPT_FLAG, NULL, "this very command, one time (the default)", NULL, false }, \
		{ "session", OPT_FLAG, NULL, \
			"only for the session that asked; without --shape: this very command", NULL, \
			false }, \
		{ "shape", OPT_FLAG, NULL, \
			"any command with the same effects on operands of the same class", NULL, false }, \
		{ "below", OPT_VALUE, "DIR", "the same effects on anything below this directory", NULL, \
			false }, \
		{ "host", OPT_VALUE, "HOST", "the same effects on this host", NULL, false }, \
		{ "until", OPT_VALUE, "TIME", "ends then: 2026-05-01, '2026-05-01 09:00'", NULL, false }, \
	{ \
		"for", OPT_VALUE, "DURATION", \
			"ends after 30m, 8h or 2d (default 8h; once and session 24h; at most 30d)", NULL, \
			false \
	}

/* The options of REACH_OPTIONS say how far an answer reaches; approve and grant share them. */
const struct opt approval_approve_opts[] = {
	REACH_OPTIONS,
	PERSON_KEY,
	{ "run", OPT_FLAG, NULL, "run the command at once, when the request came from a run", NULL, false },
	{ "signed", OPT_VALUE, "FILE",
		"an answer of 'approval message' that a registered ssh key has signed; FILE.sig is the signature",
		NULL, false },
	URL_OPTIONS,
	{ 0 },
};
const struct opt approval_message_opts[] = {
	REACH_OPTIONS,
	{ 0 },
};
const struct opt approval_deny_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why", NULL, false },
	PERSON_KEY,
	URL_OPTIONS,
	{ 0 },
};
const struct opt approval_grant_opts[] = {
	REACH_OPTIONS,
	PERSON_KEY,
	{ "shell", OPT_VALUE, "TEXT", "what a shell would run", NULL, false },
	{ "profile", OPT_VALUE, "NAME", "under this profile (default: the workspace's)", NULL, false },
	{ "principal", OPT_VALUE, "WHO", "only to this one, for example agent:codex (default: anybody)", NULL,
		false },
	{ "session-id", OPT_VALUE, "ID", "only in this session", NULL, false },
	{ 0 },
};

/* A grant that never ends would be forgotten and stay open for whatever comes. */
enum { LONGEST_DAYS = 30 };

/* ---- who answers ---- */

/* Shows the text and reads one line. True only when the line is exactly one of the words. Input that was
 * typed before the text was shown is thrown away. */
bool approver_says(struct cli *r, const char *text, const char *const *words, const char **ret_word)
{
	/* Standard error first: standard output may be a pipe that nobody reads. */
	int to = isatty(2) ? 2 : 1;
	char typed[64];

	out_flush(r);
	(void)tcflush(0, TCIFLUSH); /* what was typed before it was shown does not count */
	(void)!write(to, text, strlen(text));
	ssize_t n = read(0, typed, sizeof(typed) - 1);
	if (n <= 0)
		return false;
	typed[n] = '\0';
	typed[strcspn(typed, "\r\n")] = '\0';
	for (; *words; words++)
		if (text_eq(*words, typed)) {
			*ret_word = *words;
			return true;
		}
	return false;
}

/* Anything but the word leaves everything as it was. */
static int not_confirmed(struct cli *r)
{
	out(r, "Nothing was changed.\n");
	return EXIT_NO;
}

/* A key has said yes by being given; a person types the word. */
static bool confirms(struct cli *r, const struct person *who, const char *text, const char *word)
{
	const char *const words[] = { word, NULL };
	const char *typed;

	return who->key ||
		approver_says(r,
			arena_printf(r->a, "%s\nType %s to go on, anything else to leave it: ", text, word),
			words, &typed);
}

/* ---- how far ---- */

/* When a grant ends: --until, --for, or a default that is longer for narrow grants. Every grant ends,
 * after at most 30 days. Whole seconds, because the record keeps whole seconds. */
int approval_read_end(struct cli *r, struct approval_terms *t, struct err *e)
{
	const char *until = opt_text(r, "until", NULL), *span = opt_text(r, "for", NULL);
	int64_t now = r->sys->now_us(r->sys),
		us = (t->is_once || t->is_for_session ? 24 : 8) * INT64_C(3600) * 1000000;

	if (until && span)
		return err_set(e, E_USAGE, "APPROVAL_END", "give --until or --for, not both");
	int rc = opt_span(r, "for", &us, e);
	t->expires_us = now + us;
	if (rc == OK)
		rc = opt_until(r, "until", &t->expires_us, e);
	if (rc)
		return rc;
	/* A grant that is over already would be recorded and never used; that is surely a mistake. */
	if (t->expires_us <= now)
		return err_set(e, E_USAGE, "APPROVAL_END", "'%s' is over already%s", until,
			text_span(until, &us)
				? arena_printf(r->a, "; to end it so much later: --for %s", until)
				: "");
	if (t->expires_us > now + LONGEST_DAYS * INT64_C(86400) * 1000000)
		return err_set(
			e, E_USAGE, "APPROVAL_END", "a grant ends after at most %d days", LONGEST_DAYS);
	t->expires_us = t->expires_us / 1000000 * 1000000;
	return OK;
}

/* A directory that bounds a grant: with links resolved, and not one that holds the whole workspace or
 * home, since that would bound nothing. */
static int read_directory(struct cli *r, const char *given, const char **ret, struct err *e)
{
	char *real = realpath(given, NULL);

	if (!real)
		return err_sys(e, "APPROVAL_PATH", "cannot use '%s'", given);
	*ret = arena_strdup(r->a, real);
	free(real);
	/* The directory holds the workspace, or is it. */
	if (path_is_below(r->ws->root, *ret) || (r->ws->home && path_is_below(r->ws->home, *ret)))
		return err_set(e, E_USAGE, "APPROVAL_PATH",
			"'%s' holds the whole workspace or home: name a directory inside", *ret);
	return OK;
}

/* At most one kind of reach. Without any option a grant covers this very command once. */
static int read_terms(struct cli *r, struct approval_terms *ret, struct err *e)
{
	const char *dir = opt_text(r, "below", NULL), *host = opt_text(r, "host", NULL);
	bool shape = opt_flag(r, "shape"), timed = opt_text(r, "for", NULL) || opt_text(r, "until", NULL);
	struct approval_terms t = { .is_for_session = opt_flag(r, "session"),
		.reach = dir	? REACH_PATH
			: host	? REACH_HOST
			: shape ? REACH_SHAPE
				: REACH_EXACT };
	int rc = OK;

	if (shape + (dir != NULL) + (host != NULL) > 1)
		return err_set(e, E_USAGE, "APPROVAL_REACH", "give one of --shape, --below and --host");
	/* The narrowest reach is the default: this command, once. A session or a time makes it last. */
	t.is_once = opt_flag(r, "once") || (t.reach == REACH_EXACT && !t.is_for_session && !timed);
	if (dir)
		rc = read_directory(r, dir, &t.path, e);
	t.host = host ? host_of(r->a, host) : NULL;
	/* A host is taken only when it reads the same after parsing: no user, port or path may hide in it. */
	if (host && (!t.host || strcasecmp(t.host, host) != 0))
		return err_set(e, E_USAGE, "APPROVAL_HOST", "'%s' is no plain name of a host", host);
	if (rc == OK)
		rc = approval_read_end(r, &t, e);
	if (rc == OK)
		*ret = t;
	return rc;
}

/* ---- answering ---- */

/* The receipt for programs; for a person the end of the grant and the way to take it back. */
static void tell_grant(struct cli *r, const struct json *receipt)
{
	const struct json *grant = json_get(json_get(receipt, "metadata"), "grant");

	const struct json *joined = json_get(json_get(receipt, "metadata"), "assertion");

	if (r->is_json) {
		out_json(r, receipt);
		return;
	}
	if (joined) {
		out(r, "Noted: %lld of %lld people have said yes. Somebody else must, with a registered key of their own: helm approval approve %s --key FILE\n",
			(long long)json_get_int(joined, "so_far", 0),
			(long long)json_get_int(joined, "approvers", 0),
			json_get_text(joined, "approval_id", ""));
		return;
	}
	out(r, "Granted: %s, until %s.\nTo take it back: helm approval revoke %s\n",
		json_get_text(grant, "grant_id", ""), json_get_text(grant, "expires_at", ""),
		json_get_text(grant, "grant_id", ""));
}

/* Describes the grant as it will be recorded, asks, and records it. */
int approval_confirm_and_give(
	struct cli *r, struct kernel *k, struct grant *g, const struct person *who, struct err *e)
{
	struct json *receipt;
	struct buf text;

	buf_init(&text, r->a);
	grant_describe(r, &text, g);
	if (!confirms(r, who, text.p, "APPROVE"))
		return not_confirmed(r);
	/* Only now is anything written. */
	int rc = grant_give(k, r->a, g, who, &receipt, e);
	if (rc == OK)
		tell_grant(r, receipt);
	return rc;
}

/* Shows the request and, below it, exactly what the answer would grant. */
static int show_and_approve(struct cli *r, struct kernel *k, const struct person *who,
	const struct approval_terms *t, const struct json *entry, struct err *e)
{
	/* The draft only serves to show what would be granted; approval_approve() records the answer. */
	const struct json *request = json_get(entry, "request");
	const char *id = json_get_text(request, "approval_id", "");
	struct json *receipt;
	struct grant g;
	struct buf text;
	int rc = grant_draft(r->a, request, t, &g, e);

	if (rc)
		return rc;
	buf_init(&text, r->a);
	approval_describe(r, &text, entry);
	buf_adds(&text, "Your answer\n");
	grant_describe(r, &text, &g);
	if (!confirms(r, who, text.p, "APPROVE"))
		return not_confirmed(r);
	rc = approval_approve(k, r->a, id, t, who, &receipt, e);
	if (rc == OK)
		tell_grant(r, receipt);
	return rc;
}

/* Runs what was recorded, under the profile that was recorded, in the directory that was recorded: nothing
 * of it comes from the command line now. */
static int run_approved(struct cli *r, struct kernel *k, const struct json *request, struct err *e)
{
	const struct json *argv = json_get(request, "argv");
	const char **words = arena_zalloc(r->a, argv->n + 1, sizeof(*words));
	struct run_spec spec = { .profile = json_get_text(request, "profile", ""),
		.argv = words,
		.argc = argv->n,
		.parent_task_id = json_get_text(request, "task_id", NULL),
		.approval_id = json_get_text(request, "approval_id", NULL),
		/* The grant answers what is asked; everything else is still enforced. */
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.timeout_s = 1800,
		.cwd = json_get_text(request, "cwd", "/"),
		.is_terminal = r->is_tty && isatty(2) };
	struct run_report report;

	for (uint32_t i = 0; i < argv->n; i++)
		words[i] = json_text(argv->items[i]);
	out_flush(r);
	int rc = task_run(k, r->a, &spec, &report, e);
	if (rc)
		return rc;
	run_tell(r, &report);
	return report.exit_code;
}

/* ---- signed answers ---- */

int cmd_approval_message(struct cli *r, struct err *e)
{
	struct approval_terms terms;
	struct bytes message;
	struct kernel k;
	int rc = read_terms(r, &terms, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = approval_message(&k, r->a, r->args[0], &terms, SIGNED_WITH_SSH, &message, e);
	kernel_close(&k);
	if (rc)
		return rc;
	const char *text = arena_strndup(r->a, (const char *)message.p, message.n);
	if (!r->is_json) {
		out(r, "%s", text); /* these bytes and no others are signed: no newline follows */
		return OK;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_sets(r->a, doc, "approval_id", r->args[0]);
	json_sets(r->a, doc, "namespace", APPROVAL_NAMESPACE);
	json_sets(r->a, doc, "message", text);
	out_json(r, doc);
	return OK;
}

/* How far the answer reaches stands in what was signed, and cannot be said again beside it. */
static int check_signed_options(struct cli *r, struct err *e)
{
	static const char *const values[] = { "below", "host", "until", "for", "key" };
	static const char *const flags[] = { "once", "session", "shape", "run" };
	const char *given = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		given = opt_text(r, values[i], NULL) ? values[i] : given;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		given = opt_flag(r, flags[i]) ? flags[i] : given;
	return given ? err_set(e, E_USAGE, "APPROVAL_SIGNED",
			       "--%s does not go with --signed: the signed answer says everything", given)
		     : OK;
}

/* The signature was the word, so nobody is asked again; what it granted is shown. */
static int approve_signed(struct cli *r, const char *file, struct err *e)
{
	struct person who = { 0 };
	struct bytes message, signature;
	struct json *receipt;
	struct kernel k;
	int rc = check_signed_options(r, e);

	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, file, 1 << 20, FILE_FOLLOW, &message, e);
	if (rc == OK)
		rc = file_read(r->sys, r->a, AT_FDCWD, arena_printf(r->a, "%s.sig", file), SSHSIG_LIMIT,
			FILE_FOLLOW, &signature, e);
	if (rc == OK)
		rc = person_open_signed(r->sys, r->a, r->ws, message, signature, &who, e);
	if (rc == OK)
		rc = person_may_loosen(r->sys, r->a, r->ws, e);
	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = approval_approve_signed(&k, r->a, r->args[0], message, &who, &receipt, e);
	kernel_close(&k);
	if (rc == OK)
		tell_grant(r, receipt);
	return rc;
}

/* All checks come before the question: a person is never asked about something that cannot be done. */
int cmd_approval_approve(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct approval_terms terms;
	struct json *entry;
	struct kernel k;
	if (opt_text(r, "url", NULL))
		return remote_answer(r, "approve", e);
	if (opt_text(r, "signed", NULL))
		return approve_signed(r, opt_text(r, "signed", NULL), e);
	int rc = read_terms(r, &terms, e);

	if (rc == OK)
		rc = person_loosens(r, &who, e);
	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		rc = approval_get(&k, r->a, r->args[0], &entry, e);
		/* Whether it can be run is asked before the person answers. */
		bool runs = opt_flag(r, "run");
		if (rc == OK && !text_eq(request_state(entry, r->sys->now_us(r->sys)), "pending"))
			rc = err_set(e, E_INPUT, "APPROVAL_SETTLED", "request %s is %s already", r->args[0],
				request_state(entry, r->sys->now_us(r->sys)));
		if (rc == OK && runs && !json_get(json_get(entry, "request"), "argv"))
			rc = err_set(e, E_INPUT, "APPROVAL_RUN",
				"request %s has no command to run from here: whoever asked repeats it",
				r->args[0]);
		if (rc == OK)
			rc = show_and_approve(r, &k, &who, &terms, entry, e);
		if (rc == OK && runs)
			rc = run_approved(r, &k, json_get(entry, "request"), e);
		kernel_close(&k);
	}
	key_free(&who.key);
	return rc;
}

typedef int refuse_fn(struct kernel *k, struct arena *a, const char *id, const char *reason,
	const struct person *who, struct json **ret, struct err *e);

/* Saying no is shown and confirmed in the same way as saying yes. */
static int refuse(
	struct cli *r, refuse_fn *fn, const char *shown, const char *word, const char *done, struct err *e)
{
	struct person who = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc = person_here(r, &who, e);

	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK && !confirms(r, &who, shown, word)) {
		rc = not_confirmed(r);
		kernel_close(&k);
	} else if (rc == OK) {
		rc = fn(&k, r->a, r->args[0], opt_text(r, "reason", ""), &who, &receipt, e);
		kernel_close(&k);
		if (rc == OK && r->is_json)
			out_json(r, receipt);
		else if (rc == OK)
			out(r, "%s: %s\n", done, r->args[0]);
	}
	key_free(&who.key);
	return rc;
}

/* The kernel is opened only to read the request here; refuse() opens it again after it knows who answers. */
int cmd_approval_deny(struct cli *r, struct err *e)
{
	struct json *entry;
	struct kernel k;
	struct buf text;

	if (opt_text(r, "url", NULL))
		return remote_answer(r, "deny", e);
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	rc = approval_get(&k, r->a, r->args[0], &entry, e);
	kernel_close(&k);
	if (rc)
		return rc;
	buf_init(&text, r->a);
	approval_describe(r, &text, entry);
	return refuse(r, approval_deny, text.p, "DENY", "Denied", e);
}

/* Only what would end is shown: the grant itself needs no reading to be taken back. */
int cmd_approval_revoke(struct cli *r, struct err *e)
{
	if (opt_text(r, "url", NULL))
		return remote_answer(r, "revoke", e);
	return refuse(r, grant_revoke, arena_printf(r->a, "Grant %s ends now.\n", r->args[0]), "REVOKE",
		"Revoked", e);
}

/* ---- without a request ---- */

/* The command to grant in advance, as a request that nobody made yet. */
static int read_request(struct cli *r, struct kernel *k, struct request *q, struct err *e)
{
	const char *text = opt_text(r, "shell", NULL), *profile = opt_text(r, "profile", NULL);
	int rc = profile ? OK : workspace_default_profile(r->sys, r->a, r->ws, &profile, e);

	if (rc == OK)
		rc = profiles_get(&k->guard.profiles, profile, &q->profile, e);
	if (rc)
		return rc;
	if ((text != NULL) == (r->child_count > 0))
		return err_set(e, E_USAGE, "GRANT_COMMAND",
			"say what to grant: --shell TEXT, or -- COMMAND ARGS...");
	q->who.door = "grant";
	q->who.subject_id = opt_text(r, "principal", NULL);
	q->who.session = opt_text(r, "session-id", NULL);
	q->what.tool = text ? "sh" : path_base(r->child[0]);
	q->what.action = "EXECUTE_COMMAND";
	if (text)
		q->what.shell = bytes_of(text);
	q->what.argv = text ? NULL : (const char *const *)r->child;
	q->what.argc = r->child_count;
	q->where = &k->guard.at;
	q->mode = GUARD_ENFORCE;
	return OK;
}

/* A grant without a request. A shell text alone names no directory and no argument list, so it cannot be
 * granted exactly. */
int cmd_approval_grant(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct approval_terms terms;
	struct request q = { 0 };
	struct grant g;
	struct kernel k;
	int rc = read_terms(r, &terms, e);

	/* --session means "the session that asked", and here nobody asked. */
	if (rc == OK && terms.is_for_session)
		rc = err_set(e, E_USAGE, "GRANT_SESSION", "name the session: --session-id ID");
	if (rc == OK)
		rc = person_loosens(r, &who, e);
	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		rc = read_request(r, &k, &q, e);
		if (rc == OK && terms.reach == REACH_EXACT && q.what.shell.p)
			rc = err_set(e, E_USAGE, "GRANT_EXACT",
				"a text alone is not a call: give --shape, --below or --host, or -- COMMAND "
				"for 'helm run'");
		if (rc == OK)
			rc = grant_draft_for(&k, r->a, &q, &terms, &g, e);
		if (rc == OK)
			rc = approval_confirm_and_give(r, &k, &g, &who, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	return rc;
}

/* ---- one after the other ---- */

/* Called by `helm watch`: one request, answered once or not at all. Any other line goes back without a
 * change. */
int approval_ask_person(struct cli *r, const char *id, struct err *e)
{
	static const char *const words[] = { "APPROVE", "DENY", NULL };
	struct approval_terms once = { .reach = REACH_EXACT,
		.is_once = true,
		.expires_us = (r->sys->now_us(r->sys) / 1000000 + 86400) * 1000000 };
	struct person who = { 0 };
	struct json *entry, *receipt;
	const char *typed = "";
	struct kernel k;
	struct buf text;
	int rc = person_here(r, &who, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc)
		return rc;
	rc = approval_get(&k, r->a, id, &entry, e);
	if (rc == OK) {
		buf_init(&text, r->a);
		approval_describe(r, &text, entry);
		buf_adds(&text,
			"\nType APPROVE to let it happen once, DENY to refuse, anything else to go back: ");
		if (!approver_says(r, text.p, words, &typed))
			rc = OK;
		else if (text_eq(typed, "APPROVE"))
			rc = approval_approve(&k, r->a, id, &once, &who, &receipt, e);
		else
			rc = approval_deny(&k, r->a, id, "", &who, &receipt, e);
	}
	kernel_close(&k);
	return rc;
}
