/* cmd_schema.c — schema validate: is this document what that schema describes?
 *
 * The same checker guards our own formats, so a format's schema can be tried on any file. YAML is told by
 * its name; a .jsonl file is one document per line. */
#include "base/conf.h"
#include "base/file.h"
#include "base/schema.h"
#include "cli/cmd.h"

#include <fcntl.h>

enum { LARGEST_BYTES = 64 << 20 };

static int read_text(struct cli *r, const char *path, struct bytes *ret, struct err *e)
{
	return file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_BYTES, FILE_FOLLOW, ret, e);
}

/* YAML is told by its name, since every JSON text is YAML as well. */
static int parse(struct cli *r, const char *path, struct bytes text, struct json **ret, struct err *e)
{
	if (text_ends(path, ".yaml") || text_ends(path, ".yml"))
		return conf_parse_yaml(r->a, text, path, ret, e);
	return json_parse(r->a, text, text_eq(path, "-") ? "standard input" : path, NULL, ret, e);
}

/* A violation is an error that names the file and the place in it. */
static int check_document(
	struct cli *r, const struct schema *s, const char *path, struct bytes text, struct err *e)
{
	struct json *doc;
	int rc = parse(r, path, text, &doc, e);

	if (rc)
		return rc;
	rc = schema_check(s, doc, e);
	return rc ? err_wrap(e, "%s", path) : OK;
}

/* One document per line, as ledgers are. Each line gives its memory back, so a ledger of any length can be
 * checked. */
static int check_lines(struct cli *r, const struct schema *s, const char *path, struct bytes text,
	int64_t *ret_count, struct err *e)
{
	int64_t line = 0;

	while (text.n) {
		struct bytes one = text_cut(&text, '\n');
		struct arena_mark before = arena_mark(r->a);
		const char *name = arena_printf(r->a, "%s: line %lld", path, (long long)++line);
		int rc = check_document(r, s, name, one, e);
		if (rc)
			return rc;
		/* The document is not needed once it has been checked. */
		arena_release(r->a, before);
	}
	*ret_count = line;
	return OK;
}

static void print_valid(struct cli *r, int64_t count)
{
	if (!r->is_json) {
		out(r, "%s: valid", r->args[1]);
		if (count != 1)
			out(r, " (%lld documents)", (long long)count);
		out(r, "\n");
		return;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_setb(r->a, doc, "valid", true);
	json_sets(r->a, doc, "schema", r->args[0]);
	json_sets(r->a, doc, "file", r->args[1]);
	json_seti(r->a, doc, "documents", count);
	out_json(r, doc);
}

/* The schema is compiled before the document is read: a wrong schema is the first thing to know. */
int cmd_schema_validate(struct cli *r, struct err *e)
{
	const char *path = r->args[1];
	struct bytes text;
	struct json *doc;
	struct schema *s;
	int64_t count = 1;

	int rc = read_text(r, r->args[0], &text, e);
	if (!rc)
		rc = parse(r, r->args[0], text, &doc, e);
	if (!rc)
		rc = schema_compile(r->a, doc, r->args[0], &s, e);
	if (!rc)
		rc = read_text(r, path, &text, e);
	if (!rc && text_ends(path, ".jsonl"))
		rc = check_lines(r, s, path, text, &count, e);
	else if (!rc)
		rc = check_document(r, s, path, text, e);
	if (!rc)
		print_valid(r, count);
	return rc;
}
