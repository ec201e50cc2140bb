/* wrong_kind.c — a directory, a symbolic link, a pipe or a device where the record has a file.
 *
 * Nothing of the record can be told through it, so it is found before anything is read, and put aside before anything is repaired: from
 * then on the file is one that is gone, which every repair knows. */
#include "audit/parts.h"
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"

#include <fcntl.h>

struct looking {
	struct sys *s;
	struct arena *a;
	int state_fd;
	struct json *found;
};

static void look_at(struct looking *l, const char *name)
{
	struct stat st;

	if (l->s->stat(l->s, l->state_fd, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISREG(st.st_mode))
		return;
	json_sets(l->a, l->found, name,
		S_ISDIR(st.st_mode)	      ? "a directory"
			: S_ISLNK(st.st_mode) ? "a symbolic link"
					      : "a device, pipe or socket");
}

/* Those whose names end so. */
static void look_in(struct looking *l, const char *dir, const char *ends)
{
	char **names;
	size_t n = 0;

	if (file_list(l->s, l->a, l->state_fd, dir, &names, &n, &(struct err){ 0 }))
		return;
	for (size_t i = 0; i < n; i++)
		if (text_ends(names[i], ends))
			look_at(l, text_eq(dir, ".") ? names[i] : path_join(l->a, dir, names[i]));
}

struct json *audit_wrong_kinds(struct sys *s, struct arena *a, int state_fd)
{
	struct looking l = { s, a, state_fd, json_new(a, JSON_OBJECT) };

	look_in(&l, ".", ".jsonl");
	look_at(&l, HEADS);
	look_at(&l, ANCHORS);
	look_in(&l, LEDGER_SEGMENTS, ".jsonl.zst");
	look_in(&l, LEDGER_SEGMENTS "/waiting", ".jsonl");
	return l.found;
}

int audit_put_wrong_kinds_aside(struct sys *s, struct arena *a, int state_fd, const struct json *found,
	struct json **ret, struct err *e)
{
	struct json *moved = json_new(a, JSON_OBJECT);

	json_each_member (f, found) {
		const char *aside = arena_printf(a, "%s.damaged-%lld", f->name, (long long)s->now_us(s));
		if (s->rename(s, state_fd, f->name, state_fd, aside, RENAME_NOREPLACE))
			return err_sys(e, "LOG_REPAIR", "cannot put %s aside as %s", f->name, aside);
		json_sets(a, moved, f->name, aside);
	}
	*ret = moved;
	return OK;
}
