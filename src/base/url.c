/* url.c — where a URL leads, as far as keys are concerned. */
#include "base/url.h"

#include "base/text.h"

#include <string.h>

bool url_is_private(const char *url)
{
	static const char *const near[] = { "http://127.0.0.1", "http://localhost", "http://[::1]" };

	if (text_starts(url, "https://") || text_starts(url, "unix:/"))
		return true;
	if (strpbrk(url, "@\\"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(near); i++)
		if (text_starts(url, near[i]) && strchr(":/", url[strlen(near[i])]) /* also its end */)
			return true;
	return false;
}
