/* err.h — one error per operation, owned by the caller, never allocated.
 *
 * A function that can fail takes `struct err *e` last, returns OK or a negative enum rc, and fills *e only when it
 * fails; its other outputs are untouched then.  Reporting a failure can therefore not fail itself.  Code below
 * src/cli and src/serve never prints: it returns the error to whoever can.
 *
 * `code` is stable and for machines (JSON, tests, receipts); `text` is one line for a person: what was tried, on which
 * object, why it did not work and, where there is one, the remedy. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum rc {
	OK = 0,
	E_USAGE = -1, /* the caller's words are wrong: exit 2 */
	E_INPUT = -2, /* a document or argument is not acceptable: exit 1 */
	E_DENIED = -3, /* a decision says no: exit 25 */
	E_IO = -4, /* the operating system said no, or a newer release wrote it (STATE_NEWER): it is there, and nothing is made in its place: exit 1 */
	E_CORRUPT = -5, /* our own state is damaged: exit 1 */
	E_MISSING = -6, /* the named object does not exist: exit 1 */
	E_LIMIT = -7, /* a limit on size, depth or time was reached: exit 1 */
	E_ESCALATE = -8 /* a person must approve: exit 24 */
};

struct err {
	enum rc rc;
	int sys; /* errno at the point of failure, or 0 */
	char code[40];
	char text[472];
};

/* Fill *e and return rc, so that `return err_set(e, …)` is the whole failure path.  A text that does not fit is cut
 * and ends in "...".  e may be NULL: then only the code is returned. */
int err_set(struct err *e, enum rc rc, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a failed system call: appends ": " and the system's reason for errno.  Returns E_IO, or E_MISSING when
 * errno is ENOENT. */
int err_sys(struct err *e, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What may be said behind the name of a process or thread that could not be started, by errno. */
const char *err_start_hint(void);

/* Put "context: " in front of the text that is there.  Returns e->rc; E_INPUT when nobody wanted the error (e NULL). */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A broken promise inside the program, not a condition of the world: message and abort.  Never a code path. */
#define BUG(what) err_bug(__FILE__, __LINE__, what)
_Noreturn void err_bug(const char *file, int line, const char *what);

#endif
