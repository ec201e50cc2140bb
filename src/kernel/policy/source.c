/* source.c — policy files as people write them, read from disk with what they name beside them. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/policy/policy.h"

#include <fcntl.h>
#include <string.h>

struct beside {
	struct sys *s;
	struct arena *a;
	int dirfd;
};

/* In the folder of the policy or below it. */
static int fetch(void *ctx, const char *name, struct bytes *ret, struct err *e)
{
	const struct beside *b = ctx;

	return file_read(b->s, b->a, b->dirfd, text_starts(name, "./") ? name + 2 : name, POLICY_MAX_BYTES,
		FILE_BENEATH, ret, e);
}

static const char *directory_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash ? "." : slash == path ? "/" : arena_strndup(a, path, (size_t)(slash - path));
}

int policy_source_read(struct sys *s, struct arena *a, const char *path, struct policy_way way,
	struct bytes *ret_text, struct policy_reading *ret, struct err *e)
{
	AUTO(close_fd) int dirfd = -1;
	bool is_input = text_eq(path, "-");
	struct beside from = { .s = s, .a = a };
	struct policy_input in = { .name = is_input ? "standard input" : path,
		.as_policy = way.as_policy,
		.is_import = way.is_import,
		.fetch_ctx = &from };

	*ret = (struct policy_reading){ 0 };
	if (file_read(s, a, AT_FDCWD, path, POLICY_MAX_BYTES + 1, FILE_FOLLOW, &in.text, e))
		return e->rc;
	if (!is_input && file_open_dir(s, AT_FDCWD, directory_of(a, path), &dirfd, e))
		return e->rc;
	from.dirfd = dirfd;
	in.fetch = dirfd >= 0 ? fetch : NULL;
	if (ret_text)
		*ret_text = in.text;
	return policy_document_read(a, &in, ret, e);
}

int policy_source_compile(
	struct sys *s, struct arena *a, const char *path, struct ruleset **ret, struct err *e)
{
	struct policy_reading reading;
	int rc = policy_source_read(s, a, path, (struct policy_way){ 0 }, NULL, &reading, e);

	if (rc)
		return rc;
	struct json *document = json_copy(a, reading.document);
	(void)json_remove(document, "signature");
	rc = policy_speaks(a, document, path, e);
	if (rc)
		return rc;
	rc = ruleset_compile(a, document, ret, e);
	return rc ? policy_compile_error(a, &reading, e) : OK;
}
