/* own.c — is it helm that would run, whatever its file is called?
 *
 * A link, a second name or a copy of our program does what our program does.  So a head whose words could be ours is followed to its file,
 * and that is asked for the note that every helm carries (src/cli/main.c).  Files that the text itself has copied are asked where they come
 * from.  Whoever changes the bytes of a copy has a program that nobody knows; what is a person's to do, it refuses as helm does. */
#include "propose/programs/programs.h"

#include "base/elf.h"
#include "base/file.h"
#include "model/command.h"

#include <fcntl.h>
#include <string.h>

enum { WORDS_LOOKED_AT = 16, COPIES_FOLLOWED = 8 };

/* A word that begins one of our commands, or may be one. */
static bool could_be_ours(const struct word *x)
{
	if (x->certainty != CERTAIN)
		return true;
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		size_t n = strcspn(command_table[i].name, " ");
		if (n == x->text_n && strncmp(command_table[i].name, x->text, n) == 0)
			return true;
	}
	return false;
}

static bool has_our_words(const struct call *k)
{
	for (size_t i = 0; i < k->rest_count && i < WORDS_LOOKED_AT; i++)
		if (could_be_ours(&k->rest[i]))
			return true;
	return false;
}

/* What lies there now. */
static bool file_is_own(struct sys *s, const char *path)
{
	uint8_t head[ELF_HEAD_BYTES];
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, 0);
	struct stat st;

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH) || !S_ISREG(st.st_mode))
		return false;
	ssize_t n = s->pread(s, fd, head, sizeof(head), 0);
	return n > 0 && elf_has_note((struct bytes){ head, (size_t)n }, COMMAND_NOTE_OWNER);
}

/* The file of this path, or one that this text has copied it from.  What the text has written there says nothing about what is still there:
 * bytes that are added to a program leave it what it is. */
static bool path_is_own(struct call *k, const char *path)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct feed content;

	for (unsigned i = 0; i < COPIES_FOLLOWED; i++) {
		if (at->sys && at->inspect_scripts && *path == '/' && file_is_own(at->sys, path))
			return true;
		if (!note_find(k, NULL, &content) || !note_find(k, path, &content) ||
			content.kind != FEED_FILE)
			return false;
		path = content.text;
		if (command_is_program(path_base(path)))
			return true;
	}
	return false;
}

static const char *search_path(const struct call *k)
{
	const struct surroundings *at = walk_surroundings(k->w);

	for (const char *const *v = at->environment; v && *v; v++)
		if (text_starts(*v, "PATH="))
			return *v + strlen("PATH=");
	return at->environment || !at->sys ? NULL : at->sys->getenv(at->sys, "PATH");
}

/* A file of this name where the shell looks.  Which of them it takes depends on rights, and on what this text makes first. */
static bool is_own_on_path(struct call *k, const char *name, const char *cwd)
{
	const struct surroundings *at = walk_surroundings(k->w);
	struct arena *a = walk_arena(k->w);
	const char *list = search_path(k);

	while (list && *list && at->sys && at->inspect_scripts) {
		size_t n = strcspn(list, ":");
		const char *dir = n ? arena_strndup(a, list, n) : ".";
		if ((*dir == '/' || cwd) &&
			path_is_own(k,
				path_clean(a,
					path_join(a, cwd ? cwd : "/", arena_printf(a, "%s/%s", dir, name)))))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

bool head_is_own(struct call *k)
{
	const struct word *head = &k->c->argv[0];
	const char *cwd = walk_cwd(k->w, k->c);
	struct arena *a = walk_arena(k->w);

	if (head->certainty != CERTAIN || !head->text_n || !has_our_words(k))
		return false;
	if (!strchr(head->text, '/'))
		return is_own_on_path(k, head->text, cwd);
	if (*head->text != '/' && !cwd)
		return false;
	/* Not cleaned: what stands behind a link is found by the kernel. */
	const char *plain = path_clean(a, path_join(a, cwd ? cwd : "/", head->text));
	return path_is_own(k, plain) || path_is_own(k, path_join(a, cwd ? cwd : "/", head->text));
}
