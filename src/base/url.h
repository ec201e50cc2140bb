/* url.h — where a URL leads, as far as keys are concerned. */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>

/* Can keys be sent there without others on the way reading them: https://, unix:/, or http:// to this machine.  What could be read in two
 * ways is not this machine. */
bool url_is_private(const char *url);

#endif
