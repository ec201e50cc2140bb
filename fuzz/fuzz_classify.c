/* fuzz_classify.c — inline code, SQL and option words of any shape: no crash, no runaway.
 *
 * The first byte picks the program that gets the rest as its text, so that the small tokenizers see bytes nobody would write. */
#include "fuzz.h"
#include "propose/propose.h"

#include "base/text.h"

#include <string.h>

void fuzz_one(const uint8_t *data, size_t size)
{
	static const char *const heads[][3] = { { "python3", "-c", NULL }, { "perl", "-e", NULL },
		{ "ruby", "-e", NULL }, { "node", "-e", NULL }, { "php", "-r", NULL }, { "lua", "-e", NULL },
		{ "awk", NULL, NULL }, { "sed", "-n", NULL }, { "psql", "-c", NULL }, { "mysql", "-e", NULL },
		{ "sqlite3", "x.db", NULL }, { "mongosh", "--eval", NULL }, { "redis-cli", NULL, NULL },
		{ "osascript", "-e", NULL }, { "cmd", "/c", NULL }, { "env", "-S", NULL },
		{ "vim", "-c", NULL }, { "tar", NULL, NULL }, { "find", NULL, NULL }, { "git", NULL, NULL },
		{ "docker", "run", NULL }, { "curl", NULL, NULL } };
	struct surroundings at = {
		.cwd = "/home/u/ws", .home = "/home/u", .workspace = "/home/u/ws", .tmpdir = "/tmp"
	};
	struct arena a = { .limit_bytes = 256 << 20 };
	struct proposal p = { 0 };
	const char *argv[40];
	size_t argc = 0;

	if (size < 2 || size > 1 << 16 || memchr(data, 0, size))
		return;
	const char *const *head = heads[data[0] % ARRAY_SIZE(heads)];
	for (size_t i = 0; i < 3 && head[i]; i++)
		argv[argc++] = head[i];
	/* A newline at the front of the text makes words of its lines, else it is one word. */
	char *text = arena_strndup(&a, (const char *)data + 1, size - 1);
	if (*text == '\n') {
		struct bytes rest = bytes_of(text + 1);
		while (rest.p && argc < ARRAY_SIZE(argv)) {
			struct bytes word = text_cut(&rest, '\n');
			argv[argc++] = arena_strndup(&a, (const char *)word.p, word.n);
		}
	} else {
		argv[argc++] = text;
	}
	propose_argv(&a, &at, argv, argc, &p);
	arena_done(&a);
}
