/* cmd_contained.c — contained: what an agent client runs in the place of a shell command, so that it runs inside the walls.
 *
 * The hook writes this command line; nobody types it.  To the client it is the command: its streams, its exit code, its signals. */
#include "base/text.h"
#include "cli/cmd.h"
#include "execute/execute.h"
#include "kernel/task/contain.h"

#include <fcntl.h>
#include <string.h>

const struct opt contained_opts[] = {
	{ "state", OPT_INT, "FD", "a descriptor with what the client's shell has loaded, as commands", NULL,
		false },
	{ "input", OPT_INT, "FD", "the command's standard input; default: ours", NULL, false },
	{ "start", OPT_FLAG, NULL, "start the session of the call, and do not run it", NULL, false },
	{ 0 },
};

/* The words behind "--" are $0 of the client's shell, the command and the shell's arguments. */
int cmd_contained(struct cli *r, struct err *e)
{
	struct contained_call call = { .id = r->args[0],
		.name = r->child_count ? r->child[0] : "sh",
		.text = r->child_count > 1 ? r->child[1] : "",
		.state_fd = (int)opt_int(r, "state", -1),
		.input_fd = (int)opt_int(r, "input", 0) };
	const char *word = "";
	int status;

	if (opt_flag(r, "start"))
		return contained_start(r->sys, r->a, call.id, e);
	const char **args = arena_zalloc(r->a, r->child_count + 1, sizeof(*args));
	for (size_t i = 2; i < r->child_count; i++)
		args[i - 2] = r->child[i];
	call.args = args;
	if (fcntl(call.input_fd, F_GETFD) < 0 || (call.state_fd >= 0 && fcntl(call.state_fd, F_GETFD) < 0))
		return err_sys(e, "CONTAINED_FD", "a descriptor that was named is not open");
	int rc = contained_run(r->sys, r->a, &call, &status, &word, e);
	if (rc)
		return rc;
	if (*word)
		warn(r, "%s", text_safe(r->a, word, strlen(word), true));
	return contained_end_alike(status);
}
