/* exit_answer.c — which command an exit code is of, and whether it is an answer: `grep` that finds nothing ends with 1. */
#include "base/file.h"
#include "base/text.h"
#include "remember/failure.h"
#include "remember/failure_table.h"

#include <string.h>

static bool is_shell(const char *program)
{
	static const char *const shells[] = { "sh", "bash", "zsh", "dash", "ksh" };

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (text_eq(shells[i], path_base(program)))
			return true;
	return false;
}

/* The end of the quoted part that begins at p; NULL: it has none, or something is expanded in it that runs a command. */
static const char *skip_quoted(const char *p)
{
	const char quote = *p++;

	for (; *p && *p != quote; p++) {
		if (quote == '"' && (*p == '`' || (*p == '$' && p[1] == '(')))
			return NULL;
		if (quote == '"' && *p == '\\' && p[1])
			p++;
	}
	return *p ? p : NULL;
}

/* From the last `|`, `;` or `&&` on.  NULL: more than that is in it.  *ret_is_sure stays where nothing stands before. */
static const char *last_part(const char *text, bool *ret_is_sure)
{
	const char *from = text;

	for (const char *p = text; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '\'' || *p == '"')
			p = skip_quoted(p);
		else if (strchr("`(){}\n", *p) || (*p == '|' && p[1] == '|') ||
			(*p == '&' && p[1] != '&' && !(p > text && p[-1] == '>') && p[1] != '>'))
			return NULL;
		else if (*p == '|' || *p == ';' || (*p == '&' && p[1] == '&')) {
			/* What stands before `&&` may have given the code, unless it only goes somewhere. */
			const char *word = from + strspn(from, " \t");
			if (*p == '&' && !text_starts(word, "cd "))
				return NULL;
			p += *p == '&';
			from = p + 1;
			*ret_is_sure = false;
		}
		if (!p)
			return NULL;
	}
	return from;
}

static bool is_assignment(const char *word)
{
	const size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && word[n] == '=';
}

/* Without assignments before it and redirections in it. */
static void drop_around(
	struct arena *a, const char *const *words, size_t n, const char *const **ret, size_t *ret_n)
{
	const char **kept = arena_zalloc(a, n + 1, sizeof(*kept));
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		const char *p = words[i] + strspn(words[i], "0123456789&");
		if (*p == '<' || *p == '>') {
			i += p[strspn(p, "<>&|")] == '\0';
			continue;
		}
		if (count || !is_assignment(words[i]))
			kept[count++] = words[i];
	}
	*ret = kept;
	*ret_n = count;
}

static bool is_keyword(const char *word)
{
	static const char *const words[] = { "if", "then", "else", "fi", "for", "while", "until", "do",
		"done", "case", "esac", "!", "time", "exec", "eval", "trap", "set" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_eq(words[i], word))
			return true;
	return false;
}

bool failure_last_command(struct arena *a, const struct json *command, const char *const **ret_words,
	size_t *ret_n, bool *ret_is_sure)
{
	const char **argv = arena_zalloc(a, json_is(command, JSON_ARRAY) ? command->n + 1 : 1, sizeof(*argv));
	size_t n = 0;

	*ret_is_sure = true;
	json_each (word, command)
		argv[n++] = json_text(word) ? json_text(word) : "";
	if (!n || !is_shell(argv[0])) {
		*ret_words = argv;
		*ret_n = n;
		return n > 0;
	}
	const char *option = n > 2 ? argv[1] : "", *from;
	const char *const *words;
	if (option[0] != '-' || !strchr(option, 'c') || strstr(argv[2], "pipefail") ||
		!(from = last_part(argv[2], ret_is_sure)) || !text_words(a, from, &words, &n))
		return false;
	drop_around(a, words, n, ret_words, ret_n);
	return *ret_n > 0 && !is_keyword((*ret_words)[0]);
}

const char *failure_answer(struct arena *a, const struct json *command, int64_t exit_code, size_t err_n)
{
	const char *const *words;
	size_t n;
	bool is_sure;

	if (exit_code <= 0 || !failure_last_command(a, command, &words, &n, &is_sure) || (!is_sure && err_n))
		return NULL;
	return failure_exit_answer(a, words, n, exit_code);
}
