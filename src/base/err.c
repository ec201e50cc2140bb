/* err.c — filling the caller's error; see err.h for the contract.
 *
 * Every function here accepts a NULL error, for callers that only need to know that something failed, and
 * returns the code, so that a failure is one `return err_set(...)`. */
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Text that was cut ends in dots, so that nobody takes half a path for the whole. */
__attribute__((format(printf, 3, 0))) static void format(char *to, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(to, size, fmt, ap);

	if (n < 0)
		to[0] = '\0';
	else if ((size_t)n >= size)
		memcpy(to + size - 4, "...", 4);
}

static int fill(struct err *e, enum rc rc, int sys, const char *code)
{
	if (!e)
		return rc;
	e->rc = rc;
	e->sys = sys;
	snprintf(e->code, sizeof(e->code), "%s", code);
	return rc;
}

int err_set(struct err *e, enum rc rc, const char *code, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		format(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
	}
	return fill(e, rc, 0, code);
}

/* What to type when a limit of the system is the reason; others may have many causes. */
static const char *remedy_of(int sys)
{
	switch (sys) {
	case EFBIG:
		return "; raise 'ulimit -f', which limits the size of a file here";
	case EMFILE:
		return "; raise 'ulimit -n', or close what this process was given";
	case ENOMEM:
		return "; raise 'ulimit -v', or the memory limit of the container";
	default:
		return "";
	}
}

/* errno is saved first and restored at the end: formatting may change it, and the caller may still look at
 * it. A missing file has a code of its own, since many callers treat it as "empty". */
int err_sys(struct err *e, const char *code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		format(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
		size_t n = strlen(e->text);
		snprintf(e->text + n, sizeof(e->text) - n, ": %s%s", strerror(saved), remedy_of(saved));
	}
	errno = saved;
	return fill(e, saved == ENOENT ? E_MISSING : E_IO, saved, code);
}

const char *err_start_hint(void)
{
	return errno == EAGAIN ? " (no more processes are allowed: raise 'ulimit -u')" : "";
}

/* Puts what was being done before why it failed. When the text gets too long, its end is lost. */
int err_wrap(struct err *e, const char *fmt, ...)
{
	char outer[sizeof(e->text)];
	va_list ap;

	if (!e)
		return E_INPUT;
	va_start(ap, fmt);
	format(outer, sizeof(outer), fmt, ap);
	va_end(ap);
	size_t used = strlen(outer);
	size_t room = sizeof(outer) - used;
	int n = snprintf(outer + used, room, ": %s", e->text);
	if (n < 0 || (size_t)n >= room)
		memcpy(outer + sizeof(outer) - 4, "...", 4);
	memcpy(e->text, outer, sizeof(e->text));
	return e->rc;
}

/* Says where and ends the program at once: state that is not understood must not be acted on. write() is
 * used, because stdio may be what is broken. */
void err_bug(const char *file, int line, const char *what)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "helm: bug at %s:%d: %s\n", file, line, what);

	if (n > 0)
		(void)!write(2, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	abort();
}
