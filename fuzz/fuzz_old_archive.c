/* fuzz_old_archive.c — the tar inside an old checkpoint: whatever it says, the entries stay inside, sorted, each once. */
#include "base/stream.h"
#include "execute/checkpoint/parts.h"
#include "fuzz.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct checkpoint_store st = { .sys = sys_real(), .a = &a, .state_name = ".helm" };
	struct checkpoint_restore req = { .is_dry_run = true, .with_diff = true };
	struct plan p = { .st = &st, .req = &req, .a = &a };
	struct stream_bytes in;
	struct err e;

	if (archive_parse(&p, stream_from_bytes(&in, (struct bytes){ data, size }), &e))
		return;
	for (size_t i = 0; i < p.tree.entries.n; i++) {
		const struct entry *x = &p.tree.entries.v[i];
		if (!checkpoint_path_ok(x->path))
			BUG("a path leads outside");
		if (i && checkpoint_path_cmp(x[-1].path, x->path) >= 0)
			BUG("entries are not in order");
		if (i && x[-1].type != ENTRY_DIR && checkpoint_path_covers(x[-1].path, x->path))
			BUG("an entry lies below something that is not a directory");
	}
}
