/* verify_tool.c — what helm verify says about many documents, in one process: for the test that compares it with
 * a second verifier over thousands of changed ones.
 *
 *   verify_tool KEY_HEX <documents      one per line, in hex; prints its headline and the error, or "-" */
#include "base/hash.h"
#include "base/text.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As cmd_verify.c tells archives from documents. */
static bool is_archive(struct bytes text)
{
	return (text.n > 2 && text.p[0] == 0x1f && text.p[1] == 0x8b) ||
		(text.n > 262 && memcmp(text.p + 257, "ustar", 5) == 0);
}

static void judge(struct verification *v, struct arena *a, struct bytes text)
{
	struct pack p = { 0 };
	struct err why = { 0 };

	if (!is_archive(text))
		verify_document(v, text, "document");
	else if (verify_pack_bytes(a, text, &p, &why))
		verify_pack_unreadable(v, &why);
	else if (!verify_pack_is_one(&p))
		verify_no_record(v);
	else
		verify_pack(v, &p);
}

int main(int argc, char **argv)
{
	struct trusted_key key = { .id = "" };
	const struct trust trust = { .keys = &key, .key_count = 1, .threads = 1 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (argc != 2 || !trust_parse_key(argv[1], key.key)) {
		fputs("usage: verify_tool KEY_HEX <documents\n", stderr);
		return 2;
	}
	while ((n = getline(&line, &cap, stdin)) > 0) {
		AUTO(arena_done) struct arena a = { 0 };
		size_t size = (size_t)(n - 1) / 2;
		uint8_t *text = arena_alloc(&a, size + 1);
		struct verification v;
		if (!hex_decode(line, (size_t)n - 1, text, size, true))
			return 2;
		verification_begin(&v, &a, &trust, "document");
		judge(&v, &a, (struct bytes){ text, size });
		printf("%s\t%s\n", headline_name(verification_headline(&v)), v.error ? v.error : "-");
	}
	free(line);
	return 0;
}
