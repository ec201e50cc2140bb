/* cmd_hook.c — what an agent client runs before and after each tool call.
 *
 * Whatever goes wrong here must end in a block, in the words of the client that asked: clients take a
 * crash, a time-out or an unexpected exit code for "go on". So nothing is left to main(): the payload is
 * read with a limit, a deadline of our own ends in a denial, and every error becomes one.
 *
 * An allowed call gets no answer at all: saying "allow" would switch off the client's own questions. Only a shell call that is to run
 * inside the walls is answered, with another command (contained). */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "clients/clients.h"
#include "kernel/agent/agent.h"
#include "kernel/memory.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

enum { HOOK_LIMIT = 8 << 20, DEADLINE_S = 10 };

const struct opt hook_opts[] = {
	{ "client", OPT_VALUE, "CLIENT", "who asks", NULL, true },
	{ 0 },
};

/* The client that --client names. */
static const struct client *asking_client(struct cli *r, struct err *e)
{
	const char *name = opt_text(r, "client", "");
	const struct client *c = clients_find(name);

	if (c && c->speech)
		return c;
	(void)err_set(e, E_USAGE, "HOOK_CLIENT", "no client with a hook is called '%s': %s", name,
		clients_with_hook(r->a));
	return NULL;
}

/* A client that cannot ask its person gets a denial in the place of a question. */
static struct json *answer_doc(
	struct arena *a, const struct client *c, bool ask, const char *text, const char *person)
{
	return c->speech->answer(a, ask && c->speech->can_ask ? "ask" : "deny", text, person);
}

/* When it cannot be written, exit code 2 is the block that every client knows: half an answer is none. */
static void say(struct cli *r, const struct json *doc)
{
	struct buf line;

	buf_init(&line, r->a);
	json_write(&line, doc, 0);
	buf_addc(&line, '\n');
	for (size_t done = 0; done < line.n;) {
		ssize_t n = r->sys->write(r->sys, 1, line.p + done, line.n - done);
		if (n <= 0) {
			(void)!r->sys->write(r->sys, 2, "helm: cannot emit denial\n", 25);
			_exit(2);
		}
		done += (size_t)n;
	}
}

/* Says no. */
static int refuse(struct cli *r, const struct client *c, bool ask, const char *text, const char *person)
{
	say(r, answer_doc(r->a, c, ask, text, person));
	if (c->speech->wants_stderr)
		(void)!r->sys->write(r->sys, 2, text, strlen(text));
	return c->speech->deny_exit;
}

/* Which of our parts was missing, as a code that the model and a person can act on. */
static const char *failure_code(const struct err *e)
{
	if (text_starts(e->code, "KEY_") || text_eq(e->code, "HOME_UNSET") || text_eq(e->code, "LOG_KEY"))
		return "[INBOX_SIGNER_UNAVAILABLE] the signer is unavailable";
	/* The payload is read by now, so what is no JSON is a file that says what is permitted. */
	if (text_starts(e->code, "PROFILE_") || text_starts(e->code, "TOOL_GROUPS") ||
		text_starts(e->code, "ACCEPT_") || text_starts(e->code, "JSON_"))
		return "[INBOX_POLICY_PROFILE_UNAVAILABLE] the policy profile is unavailable";
	if (text_starts(e->code, "HOOK_"))
		return "[SCHEMA_VIOLATION] the call could not be read";
	return "[INBOX_RECEIPT_PERSISTENCE_UNAVAILABLE] receipt persistence is unavailable";
}

/* Turns an error of ours into a denial. A payload that could not be read may not come from the client we
 * think, so it is answered by exit code 2, which all clients take as a block. */
static int refuse_for(struct cli *r, const struct client *c, const struct err *e)
{
	const char *text = arena_printf(r->a,
		"HELM denied this call because it could not be decided on record: %s: %s. "
		"Remediation: a person should run 'helm doctor'.",
		failure_code(e), e->text);

	text = text_safe(r->a, text, strlen(text), false);
	/* A payload that is none may not come from the client we think: exit code 2 is the block all of them know. */
	if (text_starts(e->code, "HOOK_")) {
		(void)!r->sys->write(r->sys, 2, text, strlen(text));
		return 2;
	}
	return refuse(r, c, false, text, "Helm could not decide this on record");
}

/* The answer for the deadline is made before anything else, because a signal handler may only write what
 * was prepared. */
static char late_text[1024];
static size_t late_n;
static int late_exit;

/* Runs in a signal handler: only write() and _exit() are allowed here. */
static void too_late(int signal_number)
{
	(void)signal_number;
	(void)!write(1, late_text, late_n);
	_exit(late_exit);
}

/* Our deadline is shorter than the one in the client's settings, so that we are the one who answers. */
static void set_deadline(struct cli *r, const struct client *c)
{
	struct itimerval when = { .it_value = { .tv_sec = DEADLINE_S } };
	struct buf line;

	buf_init(&line, r->a);
	json_write(&line,
		answer_doc(r->a, c, false,
			"HELM denied this call: it could not be decided in time. "
			"Remediation: try again; a person should run 'helm doctor'.",
			"Helm ran out of time"),
		0);
	buf_addc(&line, '\n');
	late_n = line.n < sizeof(late_text) ? line.n : sizeof(late_text);
	memcpy(late_text, line.p, late_n);
	/* The handler has no arguments, so all that it needs is global. */
	late_exit = c->speech->deny_exit;
	signal(SIGALRM, too_late);
	/* The handler is in place before the clock starts. */
	setitimer(ITIMER_REAL, &when, NULL);
}

/* Whatever is wrong with reading the payload is told as HOOK_PAYLOAD, which refuse_for() answers in the
 * safest way. */
static int read_call(struct cli *r, const struct client *c, struct bytes *ret_payload, struct tool_call *ret,
	struct err *e)
{
	int rc = file_read(r->sys, r->a, AT_FDCWD, "-", HOOK_LIMIT, FILE_FOLLOW, ret_payload, e);

	if (rc == OK)
		rc = clients_read_call(c, r->a, *ret_payload, ret, e);
	if (rc)
		snprintf(e->code, sizeof(e->code), "HOOK_PAYLOAD");
	return rc;
}

/* "Unarmed": that there is a key is checked, but it is loaded only when something is signed. An allowed
 * look costs less that way. */
static int open_kernel(struct cli *r, struct kernel *ret, struct err *e)
{
	int rc = workspace_open(r->sys, r->a, r->path_option, 0, &r->ws, e);

	return rc ? rc : kernel_open_unarmed(r->sys, r->a, r->ws, ret, e);
}

/* Inside a supervised session the supervisor decides; it alone has the key. */
static int settle_call(struct cli *r, const struct client *c, struct bytes payload,
	const struct tool_call *call, struct hook_answer *ret, struct err *e)
{
	struct kernel k;
	int rc = agent_ask_hook(r->sys, r->a, c->name, payload, ret, e);

	if (rc != E_MISSING || !text_eq(e->code, "AGENT_NONE"))
		return rc;
	*e = (struct err){ 0 };
	rc = open_kernel(r, &k, e);
	if (rc)
		return rc;
	rc = hook_before(&k, r->a, c->name, c->speech->can_ask, call, ret, e);
	kernel_close(&k);
	return rc;
}

/* The same call inside the walls. There no question is needed, so "allow" says that the client need not put its own. */
static int wrap(
	struct cli *r, const struct client *c, const struct tool_call *call, const struct hook_answer *answer)
{
	bool asks = answer->verdict == V_ESCALATE;

	say(r,
		c->speech->rewrite(r->a, asks ? "ask" : "allow", call,
			answer->instead ? answer->instead : answer->contained,
			asks ? answer->text
				: answer->instead
				? "a person has permitted it: it is carried out outside the walls, once"
				: "it runs inside the walls of its profile"));
	return 0;
}

/* Every path from here to the end answers: with silence or the same call inside the walls for an allowed call, with a refusal for
 * anything else. */
int cmd_hook_pre_tool(struct cli *r, struct err *e)
{
	const struct client *c = asking_client(r, e);
	struct bytes payload;
	struct tool_call call;
	struct hook_answer answer;

	if (!c)
		return e->rc;
	set_deadline(r, c);
	int rc = read_call(r, c, &payload, &call, e);
	if (rc == OK)
		rc = settle_call(r, c, payload, &call, &answer, e);
	if (rc)
		return refuse_for(r, c, e);
	if (answer.contained || (answer.verdict == V_ALLOW && answer.instead && c->speech->rewrite))
		return wrap(r, c, &call, &answer);
	/* Silence lets the client ask its own questions. */
	if (answer.verdict == V_ALLOW)
		return 0;
	return refuse(r, c, answer.verdict == V_ESCALATE && !answer.is_asked_elsewhere, answer.text,
		answer.short_text);
}

/* Inside a supervised session the supervisor writes the record. */
static int settle_after(struct cli *r, const struct client *c, struct bytes payload,
	const struct tool_call *call, const char **ret_text, struct err *e)
{
	struct kernel k;
	int rc = agent_ask_hook_after(r->sys, r->a, c->name, payload, ret_text, e);

	if (rc != E_MISSING || !text_eq(e->code, "AGENT_NONE"))
		return rc;
	*e = (struct err){ 0 };
	rc = open_kernel(r, &k, e);
	if (rc)
		return rc;
	rc = hook_after(&k, r->a, c->name, call, ret_text, e);
	kernel_close(&k);
	return rc;
}

/* The client's words are read so that it can write them; nothing in them is needed. */
static void drain(struct cli *r)
{
	char piece[4096];

	for (size_t n = 0; n < HOOK_LIMIT && !isatty(0); n += sizeof(piece))
		if (r->sys->read(r->sys, 0, piece, sizeof(piece)) <= 0)
			break;
}

/* A session starts whether or not there is something to tell it: an error is an error, and stops nothing. */
int cmd_hook_session_start(struct cli *r, struct err *e)
{
	const struct client *c = asking_client(r, e);
	struct context_packing packing = { 0 };
	struct json *doc;

	if (!c)
		return e->rc;
	if (!c->speech->welcome)
		return err_set(e, E_USAGE, "SETUP_CONTEXT",
			"%s cannot be told anything at the start of a session", c->title);
	drain(r);
	int rc = memory_page(r->sys, r->a, r->ws, &packing, &doc, json_new(r->a, JSON_ARRAY), e);
	if (rc == OK)
		say(r, c->speech->welcome(r->a, json_get_text(doc, "text", "")));
	return rc;
}

/* After the call there is nothing to stop, so errors are only errors here.  What a wall refused is told to the model. */
int cmd_hook_post_tool(struct cli *r, struct err *e)
{
	const struct client *c = asking_client(r, e);
	const char *text = NULL;
	struct bytes payload;
	struct tool_call call;

	if (!c)
		return e->rc;
	int rc = read_call(r, c, &payload, &call, e);
	if (rc == OK)
		rc = settle_after(r, c, payload, &call, &text, e);
	if (rc == OK && text && c->speech->remark)
		say(r, c->speech->remark(r->a, text));
	return rc;
}
