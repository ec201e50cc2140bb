/* shell.c — the words around a contained call: what the client's shell evaluates, and what the shell inside evaluates.
 *
 * A client prepares its shell before a command (functions, aliases, options of its person) and may carry the working directory from one
 * command to the next.  Both must survive although the command runs in another shell.  So the wrapped text
 *
 *  - writes functions, aliases and options into a pipe, as commands.  A pipe, because an argument is limited to 128 KiB and a here-document
 *    makes some clients leave out what they do for standard input;
 *  - keeps standard input as descriptor 7 across that pipe.  The wrapper takes both as they are, because zsh would join two inputs of
 *    one command;
 *  - goes where the command ended, when it ended well and elsewhere: the keeper leaves a symbolic link then.  No process is started
 *    for that, and $? stays what it was.
 *
 * All of it is understood by bash, zsh and dash, and spelled so that a client which looks for pipes, here-documents or redirections of
 * standard input in a command finds what it would find in the command itself. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/contain_parts.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* More than this, quoted, is left to the ticket: clients quote it again, and one argument has a limit. */
enum { SHOWN_BYTES = 24 << 10 };

const char *shell_wrapped(struct arena *a, const char *program, const char *helm_home, const char *session,
	const char *id, const char *text)
{
	const char *shown = text_quote(a, text);
	const char *link = text_quote(
		a, arena_printf(a, "%s/" SESSIONS_DIR "/%s/" SESSION_CWD "/%s", helm_home, session, id));

	if (strlen(shown) > SHOWN_BYTES)
		shown = "''";
	return arena_printf(a,
		"{ { shopt -p; typeset -f; alias -L || alias -p; set +o; :; } 2>/dev/null | "
		"%s contained %s --state 0 --input 7 -- \"${0}\" %s \"$@\"; } 7<&0 && "
		"{ ! [ -L %s ] || builtin cd -P %s || command cd -P %s || :; } 2>/dev/null",
		text_quote(a, program), id, shown, link, link, link);
}

/* One line, so that the text is on line 1 as it is without us.  The status of the text is kept in $1, because a variable could be
 * somebody's. */
static const char *driver(struct arena *a, const char *cwd, const char *note, bool has_state, bool is_zsh)
{
	struct buf text;

	buf_init(&text, a);
	/* zsh keeps here-documents in files, and not in $TMPDIR. */
	if (is_zsh)
		buf_adds(&text, "[ -z \"${TMPDIR-}\" ] || TMPPREFIX=$TMPDIR/zsh; ");
	if (has_state)
		buf_addf(&text, ". /dev/fd/%d 2>/dev/null; exec %d<&-; ", SESSION_EXTRA, SESSION_EXTRA);
	buf_adds(&text, "eval \"shift; $1\"; { set -- \"$?\"; set +x; } 2>/dev/null; ");
	if (note)
		buf_addf(&text,
			"[ . -ef %s ] 2>/dev/null || { builtin pwd -P || command pwd -P; } >|%s 2>/dev/null; ",
			text_quote(a, cwd), text_quote(a, note));
	buf_adds(&text, "exit \"$1\"");
	return text.p;
}

const char *const *shell_argv(struct arena *a, const char *shell, const char *name, const char *text,
	const char *const *args, const char *cwd, const char *note, bool has_state)
{
	const char *base = path_base(shell);
	bool is_zsh = text_starts(base, "zsh"); /* and zsh-5.9 */
	size_t n = 0, argc = 0;

	while (args[argc])
		argc++;
	const char **argv = arena_zalloc(a, argc + 8, sizeof(*argv));
	argv[n++] = text_eq(base, "busybox") ? "sh" : base;
	if (is_zsh)
		argv[n++] = "-f"; /* what its start-up files do is in the state already */
	argv[n++] = "-c";
	argv[n++] = driver(a, cwd, note, has_state, is_zsh);
	argv[n++] = name;
	argv[n++] = text;
	memcpy(argv + n, args, argc * sizeof(*argv));
	return argv;
}

const char *shell_of_person(struct sys *s)
{
	const char *own = s->getenv(s, "SHELL");

	return own && *own == '/' && shell_speaks_sh(own) ? own : "/bin/sh";
}

const char *shell_of_caller(struct sys *s, struct arena *a)
{
	char exe[4096];
	ssize_t n = s->readlink(
		s, AT_FDCWD, arena_printf(a, "/proc/%d/exe", (int)getppid()), exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = '\0';
	if (n > 0 && (shell_speaks_sh(exe) || text_eq(path_base(exe), "busybox")))
		return arena_strdup(a, exe);
	return shell_of_person(s);
}
