/* shipped.c — see shipped.h.
 *
 * share/shipped.txt has a line for every text that some release shipped: release, day, digest, file of share/.  tools/shipped.sh adds
 * lines from the history of this repository; a test fails when a shipped file has none. */
#include "kernel/shipped.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <string.h>

#define REFERENCES "share/workspace/references/"

const struct shipped_file SHIPPED_FILES[SHIPPED_COUNT] = {
	{ "MEMORY.md", "share/workspace/MEMORY.md", SHIPPED_BEGUN },
	{ ".helm/.gitignore", "share/workspace/gitignore", SHIPPED_OPTIONAL },
	{ "references/execution_profiles.json", "share/execution_profiles.json", SHIPPED_REQUIRED },
	{ "references/model_recovery_policy.json", REFERENCES "model_recovery_policy.json",
		SHIPPED_REQUIRED },
	{ "references/skill-capture-template.md", REFERENCES "skill-capture-template.md", SHIPPED_REQUIRED },
	{ "references/skill-contract-template.json", REFERENCES "skill-contract-template.json",
		SHIPPED_REQUIRED },
	{ "references/skill_profile_policies.json", REFERENCES "skill_profile_policies.json",
		SHIPPED_OPTIONAL },
	{ "references/tool_groups.json", "share/tool_groups.json", SHIPPED_OPTIONAL },
};

struct bytes shipped_content(const struct shipped_file *f)
{
	struct bytes text;

	if (!embed_find(f->from, &text))
		BUG("a shipped file is missing from the program");
	return text;
}

/* Takes the next word of a line. */
static struct bytes next_word(struct bytes *line)
{
	return text_cut(line, ' ');
}

static bool is_listed(const char *from, const char *digest)
{
	struct bytes table;

	if (!embed_find("share/shipped.txt", &table))
		BUG("the table of shipped files is missing from the program");
	while (table.n) {
		struct bytes line = text_cut(&table, '\n');
		if (!line.n || line.p[0] == '#')
			continue;
		(void)next_word(&line); /* release */
		(void)next_word(&line); /* day */
		struct bytes listed = next_word(&line);
		if (bytes_is(listed, digest) && bytes_is(line, from))
			return true;
	}
	return false;
}

enum shipped_age shipped_age(const char *path, struct bytes found)
{
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; i < SHIPPED_COUNT; i++) {
		const struct shipped_file *f = &SHIPPED_FILES[i];
		if (!text_eq(f->to, path))
			continue;
		if (bytes_eq(found, shipped_content(f)))
			return SHIPPED_NOW;
		return is_listed(f->from, sha256_hex(&a, found.p, found.n)) ? SHIPPED_EARLIER : SHIPPED_NEVER;
	}
	return SHIPPED_NEVER;
}

static int keep_beside(
	struct sys *s, struct arena *a, int root_fd, const char *path, struct bytes found, struct err *e)
{
	enum { MOST = 1000 };

	for (int i = 0; i < MOST; i++) {
		struct err why = { 0 };
		struct bytes kept;
		const char *name =
			i ? arena_printf(a, "%s.bak.%d", path, i) : arena_printf(a, "%s.bak", path);
		int rc = file_create(s, root_fd, name, 0644, found, &why);
		if (rc && text_eq(why.code, "FILE_EXISTS")) {
			if (file_read(s, a, root_fd, name, SHIPPED_MOST_BYTES, FILE_BENEATH, &kept, NULL) ==
					OK &&
				bytes_eq(kept, found))
				return OK;
			continue;
		}
		if (rc && e)
			*e = why;
		return rc;
	}
	return err_set(e, E_LIMIT, "RECONCILE_KEEP",
		"'%s' was not replaced: there are %d older ones beside it; remove some", path, MOST);
}

int shipped_put(struct sys *s, struct arena *a, int root_fd, const struct shipped_file *f,
	const struct bytes *found, struct err *e)
{
	int rc = OK;

	if (found && shipped_age(f->to, *found) == SHIPPED_NEVER)
		rc = keep_beside(s, a, root_fd, f->to, *found, e);
	return rc ? rc : file_replace(s, root_fd, f->to, 0644, shipped_content(f), e);
}
