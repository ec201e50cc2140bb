/* cmd_canonical.c — canonical: the bytes that are hashed and signed, or the exact reason there are none.
 *
 * For people who write their own verifier: they compare their bytes with these. Without --strict a number
 * that other programs may read differently is accepted, and the JSON output says that the text is not
 * interoperable. */
#include "base/file.h"
#include "base/hash.h"
#include "cli/cmd.h"

#include <fcntl.h>

enum { LARGEST_BYTES = 64 << 20 };

const struct opt canonical_opts[] = {
	{ "check", OPT_FLAG, NULL, "print nothing; fail unless the input is canonical and strict already",
		NULL, false },
	{ "strict", OPT_FLAG, NULL, "refuse numbers that other programs may read differently", NULL, false },
	{ 0 },
};

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* A few bytes at the place, or words for the end. */
static const char *piece(struct arena *a, struct bytes text, size_t at)
{
	size_t n = text.n - at < 24 ? text.n - at : 24;

	return n ? arena_printf(a, "'%s'", text_safe(a, (const char *)text.p + at, n, false))
		 : "the end of the text";
}

/* Says where the input first departs from its canonical form, and how. White space has a message of its
 * own, since it is the usual reason and cannot be seen. */
static int not_canonical(struct cli *r, const char *name, struct bytes text, struct bytes want, struct err *e)
{
	size_t at = 0, line = 1, column = 1;

	while (at < text.n && at < want.n && text.p[at] == want.p[at])
		at++;
	for (size_t i = 0; i < at; i++) {
		column += (text.p[i] & 0xc0) != 0x80;
		if (text.p[i] == '\n') {
			line++;
			column = 1;
		}
	}
	if (at < text.n && is_space(text.p[at]))
		return err_set(e, E_INPUT, "NOT_CANONICAL",
			"%s:%zu:%zu: not canonical: expected no white space %s", name, line, column,
			at == want.n ? "after the value" : "between tokens");
	return err_set(e, E_INPUT, "NOT_CANONICAL", "%s:%zu:%zu: not canonical: expected %s, found %s", name,
		line, column, piece(r->a, want, at), piece(r->a, text, at));
}

/* The bytes themselves, without a newline: whoever pipes them into a hash must get the right one. */
static void print_canonical(struct cli *r, struct bytes canonical, bool is_strict)
{
	if (!r->is_json) {
		buf_add(r->out, canonical.p, canonical.n);
		return;
	}
	struct json *doc = json_new(r->a, JSON_OBJECT);
	json_set(r->a, doc, "canonical", json_stringn(r->a, (const char *)canonical.p, canonical.n));
	json_sets(r->a, doc, "sha256", sha256_hex(r->a, canonical.p, canonical.n));
	json_seti(r->a, doc, "bytes", (int64_t)canonical.n);
	json_setb(r->a, doc, "interoperable", is_strict);
	out_json(r, doc);
}

/* The strict writer is tried first even when it is not asked for: its answer is what "interoperable"
 * reports. */
int cmd_canonical(struct cli *r, struct err *e)
{
	const char *path = r->arg_count ? r->args[0] : "-";
	const char *name = text_eq(path, "-") ? "standard input" : path;
	bool is_check = opt_flag(r, "check");
	struct bytes text;
	struct json *doc;
	struct buf canonical;

	int rc = file_read(r->sys, r->a, AT_FDCWD, path, LARGEST_BYTES, FILE_FOLLOW, &text, e);
	if (!rc)
		rc = json_parse(r->a, text, name, NULL, &doc, e);
	if (rc)
		return rc;
	buf_init(&canonical, r->a);
	rc = json_canonical_strict(&canonical, doc, e);
	/* Without --strict the refusal is only reported as "interoperable": false. */
	if (rc && (is_check || opt_flag(r, "strict")))
		return err_wrap(e, "%s", name);
	if (rc)
		json_canonical(&canonical, doc);
	if (is_check && !bytes_eq(text, buf_bytes(&canonical)))
		return not_canonical(r, name, text, buf_bytes(&canonical), e);
	if (!is_check || r->is_json)
		print_canonical(r, buf_bytes(&canonical), !rc);
	return OK;
}
