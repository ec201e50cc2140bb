/* err.c — filling the caller's error; see err.h for the contract. */
#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Cut text ends in dots, so that nobody takes half a path for the whole. */
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

int err_sys(struct err *e, const char *code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		format(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
		size_t n = strlen(e->text);
		snprintf(e->text + n, sizeof(e->text) - n, ": %s", strerror(saved));
	}
	errno = saved;
	return fill(e, saved == ENOENT ? E_MISSING : E_IO, saved, code);
}

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

void err_bug(const char *file, int line, const char *what)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "helm: bug at %s:%d: %s\n", file, line, what);

	if (n > 0)
		(void)!write(2, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	abort();
}
