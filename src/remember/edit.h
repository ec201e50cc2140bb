/* edit.h — how files are to be changed: a part at a time, after a look, and not again and again when it fails.  docs/formats/edit-policy.md. */
#ifndef REMEMBER_EDIT_H
#define REMEMBER_EDIT_H

#include "remember/contract.h"

#define EDIT_POLICY "references/edit_policy.json"

/* {default, max_patch_failures_per_file, on_repeated_patch_failure, requires_checkpoint_for[], read_before_write {mode}, whole_file_rewrite_allowed_for[],
 * small_file_bytes, generated_paths[]}: the file of the tree over what is shipped.  *ret_is_held: there is such a file, and tools are held to it.
 * E_INPUT EDIT_POLICY: there is one that nobody can read. */
int edit_policy(const struct contract_place *at, struct json **ret, bool *ret_is_held, struct err *e);

/* One change that is about to be made. */
struct edit_request {
	const char *path;
	bool is_rewrite, exists;
	int64_t size, mtime_ns; /* of the file now */
	const char
		*rewrite_reason; /* one of whole_file_rewrite_allowed_for; NULL: what the file itself gives */
	const struct json *read; /* {path, mtime_ns, size, read_at}; or NULL */
	int64_t failures; /* of changes to it, since it was last looked at or changed */
};
/* {path, kind patch|rewrite, ok, codes[], next, requires_checkpoint}; next: write, retry, or what the policy says about repeated failures. */
struct json *edit_judge(struct arena *a, const struct json *policy, const struct edit_request *q);

#endif
