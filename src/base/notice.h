/* notice.h — one sentence for the operator at the moment when something derived was made whole again.
 *
 * Code below src/cli never prints: main() says who hears it.  Nobody, in programs that did not say so. */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

void notice_to(void (*hear)(const char *text));
void notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
