/* cmd_hook.c — what an agent client runs before and after each tool call.
 *
 * Whatever goes wrong here must end in a block, in the words of the client that asked (kernel/hook_words.c): clients take a
 * crash, a time-out or an unexpected exit code for "go on". So nothing is left to main(): the payload is
 * read with a limit, a deadline of our own ends in a denial, and every error becomes one.
 *
 * Inside a supervised session all of that is done by the supervisor (cli/hook_inside.c). */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/hook_inside.h"
#include "clients/clients.h"
#include "kernel/hook.h"
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

/* When it cannot be written, exit code 2 is the block that every client knows: half an answer is none. */
static void write_all(struct cli *r, int fd, struct bytes text)
{
	for (size_t done = 0; done < text.n;) {
		ssize_t n = r->sys->write(r->sys, fd, text.p + done, text.n - done);
		if (n <= 0 && fd == 1) {
			(void)!r->sys->write(r->sys, 2, "helm: cannot emit denial\n", 25);
			_exit(2);
		}
		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

static int say(struct cli *r, const struct hook_said *said)
{
	write_all(r, 1, said->out);
	write_all(r, 2, said->err);
	return said->exit_code;
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
	struct hook_said said;

	hook_say_late(r->a, c, &said);
	late_n = said.out.n < sizeof(late_text) ? said.out.n : sizeof(late_text);
	memcpy(late_text, said.out.p, late_n);
	/* The handler has no arguments, so all that it needs is global. */
	late_exit = said.exit_code;
	signal(SIGALRM, too_late);
	/* The handler is in place before the clock starts. */
	setitimer(ITIMER_REAL, &when, NULL);
}

/* Whatever is wrong with reading the payload is told as HOOK_PAYLOAD, which hook_say_failure() answers in
 * the safest way. */
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

/* Every path from here to the end answers: with silence or the same call inside the walls for an allowed call, with a refusal for
 * anything else.  Inside a supervised session the supervisor decides; it alone has the key. */
int cmd_hook_pre_tool(struct cli *r, struct err *e)
{
	const struct client *c = asking_client(r, e);
	struct bytes payload;
	struct tool_call call;
	struct hook_answer answer;
	struct hook_said said;
	struct kernel k;

	if (!c)
		return e->rc;
	int code = hook_inside("pre-tool", c->name);
	if (code >= 0)
		return code;
	set_deadline(r, c);
	int rc = read_call(r, c, &payload, &call, e);
	if (rc == OK && (rc = open_kernel(r, &k, e)) == OK) {
		k.recorder.is_hurried = true; /* the client waits */
		rc = hook_before(&k, r->a, c->name, c->speech->can_ask, &call, &answer, e);
		kernel_close(&k);
	}
	if (rc)
		hook_say_failure(r->a, c, e, &said);
	else
		hook_say_before(r->a, c, &call, &answer, &said);
	return say(r, &said);
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
	struct buf line;

	if (!c)
		return e->rc;
	if (!c->speech->welcome)
		return err_set(e, E_USAGE, "SETUP_CONTEXT",
			"%s cannot be told anything at the start of a session", c->title);
	drain(r);
	int rc = memory_page(r->sys, r->a, r->ws, &packing, &doc, json_new(r->a, JSON_ARRAY), e);
	if (rc)
		return rc;
	buf_init(&line, r->a);
	json_write(&line, c->speech->welcome(r->a, json_get_text(doc, "text", "")), 0);
	buf_addc(&line, '\n');
	return say(r, &(struct hook_said){ .out = buf_bytes(&line) });
}

/* After the call there is nothing to stop, so errors are only errors here.  What a wall refused is told to the model. */
int cmd_hook_post_tool(struct cli *r, struct err *e)
{
	const struct client *c = asking_client(r, e);
	const char *text = NULL;
	struct bytes payload;
	struct tool_call call;
	struct hook_said said;
	struct kernel k;

	if (!c)
		return e->rc;
	int code = hook_inside("post-tool", c->name);
	if (code >= 0)
		return code;
	int rc = read_call(r, c, &payload, &call, e);
	if (rc == OK && (rc = open_kernel(r, &k, e)) == OK) {
		rc = hook_after(&k, r->a, c->name, &call, &text, e);
		kernel_close(&k);
	}
	if (rc)
		return rc;
	hook_say_after(r->a, c, text, &said);
	return say(r, &said);
}
