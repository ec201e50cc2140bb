/* keep.c — the operator puts a file that a session wrote in the home directory into its place. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/agent/parts.h"

#include <string.h>

/* The content that is on record is the content that is written. */
int agent_keep(struct kernel *k, struct arena *a, const char *task_id, const char *path, const char *executor,
	const char **ret_at, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT), *receipt;
	const char *home = k->ws->helm_home, *rel = text_starts(path, "~/") ? path + 2 : path;
	struct bytes content;

	if (k->ws->home && path_is_below(rel, k->ws->home) && !text_eq(rel, k->ws->home))
		rel += strlen(k->ws->home) + 1;
	rel = path_clean(a, rel);
	if (*rel == '/' || text_starts(rel, "..") || !home)
		return err_set(e, E_INPUT, "LAYER_FILE", "'%s' is no path below the home directory", path);
	int rc = layer_read_kept(k->sys, a, home, task_id, rel, &content, e);
	if (rc)
		return rc;
	json_sets(a, about, "task_id", task_id);
	json_sets(a, about, "path", rel);
	json_sets(a, about, "sha256", sha256_prefixed(a, content.p, content.n));
	rc = act_record(k, a,
		&(struct act){ .effect_id = "helm.session/keep",
			.type = "setting",
			.executor_id = executor,
			.about = about },
		&receipt, e);
	if (rc == OK)
		rc = layer_keep(k->sys, a, home, task_id, rel, content, e);
	if (rc == OK)
		*ret_at = arena_printf(a, "%s/%s", k->ws->home, rel);
	return rc;
}
