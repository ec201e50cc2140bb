/* git_text.h — inside propose/: a git configuration file with its places, for those who write it again. */
#ifndef PROPOSE_GIT_TEXT_H
#define PROPOSE_GIT_TEXT_H

#include "base/mem.h"

#include <stdbool.h>

enum { GIT_TEXT_BYTES = 256 << 10, GIT_SETTINGS_MOST = 4096 };

struct git_section {
	const char *name; /* "core", "branch.topic": the first part in small letters */
	size_t from, to; /* of its line: from '[' to behind ']' */
};
struct git_setting {
	size_t section;
	const char *name; /* in small letters */
	const char *value; /* NULL: the name stands alone */
	size_t from, name_to, to; /* to: the end of its last line */
};
struct git_text {
	struct arena *a;
	struct bytes text;
	struct git_section *sections;
	size_t section_count;
	struct git_setting *settings;
	size_t count;
	size_t at; /* while it is read */
	bool is_end;
};

/* False: git would not read it, or it is more than this reader holds. */
bool git_text_read(struct arena *a, struct bytes text, struct git_text *ret);

#endif
