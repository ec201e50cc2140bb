/* cmd_open.c — helm open: the console of the workspace at hand, on this machine, for as long as the command runs.
 *
 * helm-serve is told the digest of a word, and this program prints the word as part of a link: so it stands in no list of processes and in no
 * environment.  The link also names the key of the workspace, which the page then holds against what the server says.  A browser is started
 * by a file that only this user can read, because the words of a command are seen by everybody on the machine. */
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_serve.h"
#include "kernel/kernel.h"
#include "kernel/passkey.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINK_LASTS_S = 600, WORD_BYTES = 32, READY_MS = 30000, END_MS = 15000 };

const struct opt serve_invite_opts[] = {
	{ "name", OPT_VALUE, "NAME", "whose key it will be", NULL, true },
	{ "url", OPT_VALUE, "URL", "where the console is reached (http://localhost:7714)", NULL, false },
	{ "expires", OPT_VALUE, "DURATION", "the link works once, and for so long (15m; at most 7d)", NULL,
		false },
	PERSON_KEY,
	{ 0 },
};
const struct opt open_opts[] = {
	{ "print", OPT_FLAG, NULL, "print the link, and start no browser", NULL, false },
	{ "port", OPT_INT, "N", "where to listen on this machine; 0: any that is free (0)", NULL, false },
	{ 0 },
};

static int ended_by;

static void on_signal(int number)
{
	ended_by = number;
}

static int new_word(struct cli *r, const char **ret, struct err *e)
{
	uint8_t bytes[WORD_BYTES];

	if (r->sys->random(r->sys, bytes, sizeof(bytes)))
		return err_sys(e, "RANDOM", "the system gives no random bytes");
	*ret = base64_encode(r->a, bytes, sizeof(bytes), BASE64_URL, false);
	return OK;
}

static int own_key(struct cli *r, const char **ret, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	char hex[2 * SIGN_PUBLIC + 1];
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	hex_encode(key_public(k.recorder.key), SIGN_PUBLIC, hex);
	*ret = arena_strdup(r->a, hex);
	return OK;
}

/* Under which name whoever comes by the link may register a key: only when a person is here to see the link. */
static const char *invited(struct cli *r)
{
	const char *user = r->sys->getenv(r->sys, "USER");
	struct person who = { 0 };
	struct err why = { 0 };

	if (person_loosens(r, &who, &why))
		return NULL;
	key_free(&who.key);
	return user && text_is_id(user) ? user
					: arena_printf(r->a, "user-%u", (unsigned)r->sys->euid(r->sys));
}

static struct json *options_of(struct cli *r, const char *word)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *console = json_new(r->a, JSON_OBJECT);
	const char *invite = invited(r);

	json_sets(r->a, console, "token_sha256", sha256_hex(r->a, word, strlen(word)));
	json_seti(
		r->a, console, "token_expires_us", r->sys->now_us(r->sys) + LINK_LASTS_S * INT64_C(1000000));
	json_sets(r->a, console, "program", serve_own_program(r));
	if (invite)
		json_sets(r->a, console, "invite", invite);
	json_sets(r->a, doc, "workspace", r->ws->root);
	json_seti(r->a, doc, "port", opt_int(r, "port", 0));
	json_setb(r->a, doc, "both_loopbacks", true);
	json_set(r->a, doc, "console", console);
	return doc;
}

/* The first line it says: where it listens. */
static int read_ready(struct cli *r, int fd, const char **ret_port, struct err *e)
{
	char line[4096];
	size_t n = 0;
	struct json *doc;

	while (n < sizeof(line) - 1 && !memchr(line, '\n', n)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		if (poll(&p, 1, READY_MS) <= 0)
			break;
		ssize_t got = read(fd, line + n, sizeof(line) - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (json_parse(r->a, bytes_of(line), "ready line", NULL, &doc, NULL) ||
		!json_get_bool(doc, "ready", false))
		return err_set(
			e, E_IO, "SERVE_PROGRAM", "helm-serve did not start; what it says stands above");
	const char *url = json_get_text(doc, "base_url", ""), *port = strrchr(url, ':');
	*ret_port = port ? port + 1 : "";
	return OK;
}

/* Where nobody else can read: a page that goes on to the link. */
static const char *write_page(struct cli *r, const char *url)
{
	const char *dir = r->sys->getenv(r->sys, "XDG_RUNTIME_DIR");
	const char *path =
		arena_printf(r->a, "%s/helm-open-%d.html", dir && *dir ? dir : "/tmp", (int)getpid());
	const char *text = arena_printf(r->a,
		"<!doctype html><meta charset=utf-8><title>Helm</title><meta http-equiv=refresh content=\"0;url=%s\">\n",
		url);
	AUTO(close_fd)
	int fd = r->sys->open(r->sys, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);

	return fd >= 0 && r->sys->write(r->sys, fd, text, strlen(text)) == (ssize_t)strlen(text) ? path
												 : NULL;
}

/* A person at a terminal, with a screen. */
static bool wants_browser(struct cli *r)
{
	struct sys *s = r->sys;

	return !opt_flag(r, "print") && !r->is_json && r->is_tty &&
		(s->getenv(s, "DISPLAY") || s->getenv(s, "WAYLAND_DISPLAY"));
}

static void start_browser(struct cli *r, const char *page)
{
	const char *const argv[] = { "xdg-open", page, NULL };
	const struct proc_spec spec = PROC_SPEC(argv);
	struct proc_output said;
	struct err why = { 0 };

	if (proc_capture(r->sys, r->a, &spec, (struct bytes){ 0 }, 4096, READY_MS, &said, &why) ||
		said.end.code)
		out(r, "No browser could be started; open the link yourself.\n");
}

static void tell(struct cli *r, const char *url, const char *port)
{
	struct json *doc = json_new(r->a, JSON_OBJECT);

	if (r->is_json) {
		json_sets(r->a, doc, "url", url);
		json_sets(r->a, doc, "base_url", arena_printf(r->a, "http://127.0.0.1:%s", port));
		json_seti(r->a, doc, "pid", getpid());
		json_sets(r->a, doc, "stop", arena_printf(r->a, "kill %d", (int)getpid()));
		json_sets(r->a, doc, "expires_at",
			text_time_z(r->a, r->sys->now_us(r->sys) + LINK_LASTS_S * INT64_C(1000000)));
		out_json(r, doc);
	} else {
		out(r, "%s\n", url);
		if (!opt_flag(r, "print"))
			out(r, "The link works once, within %d minutes.  The console is there until you press Ctrl-C.\n",
				LINK_LASTS_S / 60);
	}
	out_flush(r);
}

/* Until it ends, or we are told to end it.  A program that asked for a document is told so by its own end: nobody else knows of us. */
static int wait_for(struct cli *r, struct proc *p, struct err *e)
{
	struct proc_end end = { 0 };
	AUTO(close_fd) int parent = r->is_json ? (int)syscall(SYS_pidfd_open, getppid(), 0) : -1;
	struct pollfd fds[] = { { p->pidfd, POLLIN, 0 }, { parent, POLLIN, 0 } };
	sigset_t none;

	sigemptyset(&none);
	while (!ended_by && ppoll(fds, parent >= 0 ? 2 : 1, NULL, &none) < 0 && errno == EINTR)
		;
	if (!ended_by && fds[1].revents)
		ended_by = SIGHUP;
	if (ended_by)
		(void)kill(p->pid, SIGTERM);
	int rc = proc_wait(r->sys, p, END_MS, &end, e);
	return rc || ended_by ? rc : end.code;
}

static int run(
	struct cli *r, const struct serve_start *start, const char *word, const char *key, struct err *e)
{
	AUTO(proc_done) struct proc p = { 0 };
	const char *port, *page = NULL;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, "SERVE_PROGRAM", "no pipe can be made");
	AUTO(close_fd) int from = fds[0], to = fds[1];
	struct proc_spec spec = PROC_SPEC(start->argv);
	spec.kept_fd = start->fd;
	spec.in_fd = 0; /* that a person is at a terminal is looked at there, too */
	spec.out_fd = to;
	spec.err_fd = 2;
	int rc = proc_start(r->sys, &spec, &p, e);
	if (rc == OK) {
		(void)close(to);
		to = -1;
		rc = read_ready(r, from, &port, e);
	}
	if (rc)
		return rc;
	const char *url = arena_printf(r->a, "http://localhost:%s/console/#enter=%s&key=%s", port, word, key);
	tell(r, url, port);
	if (wants_browser(r) && (page = write_page(r, url)))
		start_browser(r, page);
	rc = wait_for(r, &p, e);
	if (page)
		(void)r->sys->unlink(r->sys, AT_FDCWD, page, 0);
	return rc;
}

int cmd_open(struct cli *r, struct err *e)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction how = { .sa_handler = on_signal };
	const char *word, *key;
	struct serve_start start = { .fd = -1 };
	sigset_t mine;
	int64_t port = opt_int(r, "port", 0);
	int rc = port < 0 || port > 65535
		? err_set(e, E_INPUT, "OPEN_PORT", "--port takes a number from 0 to 65535")
		: new_word(r, &word, e);

	if (rc == OK)
		rc = own_key(r, &key, e);
	if (rc == OK)
		rc = serve_prepare(r, options_of(r, word), &start, e);
	if (rc)
		return rc;
	/* Held back until somebody waits for them, so that none is missed. */
	sigemptyset(&mine);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		sigaddset(&mine, numbers[i]);
		(void)sigaction(numbers[i], &how, NULL);
	}
	(void)sigprocmask(SIG_BLOCK, &mine, NULL);
	rc = run(r, &start, word, key, e);
	close_fd(&start.fd);
	return rc;
}

/* ---- invitations ---- */

static int invite(struct cli *r, const struct person *who, const char *url, int64_t span, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct json *doc = json_new(r->a, JSON_OBJECT);
	const char *name = opt_text(r, "name", ""), *word, *key;
	int64_t until = r->sys->now_us(r->sys) + span;
	int rc = own_key(r, &key, e);

	if (rc == OK)
		rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK)
		rc = passkey_invite(&k, r->a, name, until, who, &word, e);
	if (rc)
		return rc;
	const char *link = arena_printf(r->a, "%s/console/#invite=%s&key=%s", url, word, key);
	if (!r->is_json) {
		out(r, "%s\nThis is shown once.  Whoever opens it may register one key, as %s, until %s.\n",
			link, name, text_time_z(r->a, until));
		return OK;
	}
	json_sets(r->a, doc, "url", link);
	json_sets(r->a, doc, "name", name);
	json_sets(r->a, doc, "expires_at", text_time_z(r->a, until));
	out_json(r, doc);
	return OK;
}

int cmd_serve_invite(struct cli *r, struct err *e)
{
	const char *url = opt_text(r, "url", "http://localhost:7714");
	struct person who = { 0 };
	int64_t us = INT64_C(15) * 60 * 1000000;

	if (opt_span(r, "expires", &us, e))
		return e->rc;
	if (us > INT64_C(7) * 86400 * 1000000)
		return err_set(e, E_USAGE, "USAGE", "--expires takes at most 7d");
	if (!url_is_private(url) || text_starts(url, "unix:"))
		return err_set(
			e, E_USAGE, "USAGE", "--url is https:// and a name, or http://localhost and a port");
	int rc = person_loosens(r, &who, e);
	if (rc)
		return rc;
	rc = invite(r, &who, url, us, e);
	key_free(&who.key);
	return rc;
}
