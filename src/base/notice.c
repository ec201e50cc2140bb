/* notice.c — who hears that something was made whole again; see notice.h.  Set once, before there is a second thread. */
#include "base/notice.h"

#include <stdarg.h>
#include <stdio.h>

static void (*hears)(const char *text);

void notice_to(void (*hear)(const char *text))
{
	hears = hear;
}

void notice(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (!hears)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	hears(text);
}
