/* receipts.c — reading the chain back, and mending it when it was damaged. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/parts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* One file, line by line, mapped: chains grow large and a line is needed once. */
static int each_in(struct sys *s, int state_fd, const char *file, receipt_visit *fn, void *arg, struct err *e)
{
	struct stat st;
	AUTO(close_fd) int fd = s->open(s, state_fd, file, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "LOG_READ", "cannot read %s", file);
	if (!st.st_size)
		return OK;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return err_sys(e, "LOG_READ", "cannot read %s", file);
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes rest = { map, (size_t)st.st_size };
	int rc = OK;
	for (uint64_t number = 1; rc == OK && rest.n; number++) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		if (!end)
			break; /* a torn end was never acknowledged */
		struct bytes line = { rest.p, (size_t)(end - rest.p) };
		struct json *receipt = NULL;
		if (json_parse(&a, line, file, NULL, &receipt, NULL) || !json_is(receipt, JSON_OBJECT))
			receipt = NULL;
		rc = fn(arg, file, number, line, receipt, e);
		arena_reset(&a);
		rest.n -= line.n + 1;
		rest.p = end + 1;
	}
	munmap(map, (size_t)st.st_size);
	return rc;
}

int receipts_each(struct sys *s, int state_fd, receipt_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char **files;
	size_t n;
	int rc = receipts_files(s, &a, state_fd, &files, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		rc = each_in(s, state_fd, files[i], fn, arg, e);
	return rc > 0 ? OK : rc;
}

/* Move what is bad out of the way, cut, and let the first new receipt say so. */
static int put_aside(
	struct recorder *r, struct arena *a, off_t good, struct bytes bad, char **ret_name, struct err *e)
{
	struct sys *s = r->sys;
	char *name = arena_printf(a, "%s.damaged-%s", RECEIPTS, text_time_compact(a, s->now_us(s)));
	int rc = file_replace(s, r->state_fd, name, 0600, bad, e);

	if (rc)
		return rc;
	AUTO(close_fd) int fd = s->open(s, r->state_fd, RECEIPTS, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600, 0);
	if (fd < 0 || s->truncate(s, fd, good) || s->fsync(s, fd))
		return err_sys(e, "LOG_REPAIR", "cannot cut %s", RECEIPTS);
	/* Leaves and edge are made again from what is left. */
	(void)s->unlink(s, r->state_fd, LEAVES, 0);
	(void)s->unlink(s, r->state_fd, EDGE, 0);
	*ret_name = name;
	return OK;
}

static int retire_heads(struct recorder *r, struct arena *a, struct json **ret_last, struct err *e)
{
	int rc = log_last_head(r->sys, a, r->state_fd, ret_last, e);

	if (rc || !*ret_last)
		return rc;
	char *name = arena_printf(a, "%s.before-%s", HEADS, text_time_compact(a, r->sys->now_us(r->sys)));
	if (r->sys->rename(r->sys, r->state_fd, HEADS, r->state_fd, name, 0))
		return err_sys(e, "LOG_REPAIR", "cannot put %s aside", HEADS);
	return OK;
}

int log_repair(struct recorder *r, struct arena *a, const struct log_damage *damage, struct json **ret_seam,
	struct err *e)
{
	struct bytes text = { NULL, 0 };
	struct json *about = json_new(a, JSON_OBJECT), *head = NULL;
	char *kept = NULL;

	if (!r->key)
		return err_set(e, E_DENIED, "LOG_KEY", "no signing key; 'helm key create' makes one");
	int rc = file_read(r->sys, a, r->state_fd, RECEIPTS, (size_t)1 << 32, 0, &text, e);
	if (rc && rc != E_MISSING)
		return rc;
	size_t good = (size_t)damage->good_bytes < text.n ? (size_t)damage->good_bytes : text.n;
	struct bytes bad = { text.p + good, text.n - good };
	AUTO(close_fd) int lock = -1;
	rc = log_lock(r, &lock, e);
	if (rc == OK)
		rc = put_aside(r, a, (off_t)good, bad, &kept, e);
	if (rc == OK)
		rc = retire_heads(r, a, &head, e);
	if (rc)
		return rc;
	close_fd(&lock);
	lock = -1;
	r->known_size = -1;
	json_sets(a, about, "why", damage->why);
	json_sets(a, about, "kept_as", kept);
	json_seti(a, about, "lost_bytes", (int64_t)bad.n);
	json_sets(a, about, "lost_sha256", sha256_hex(a, bad.p, bad.n));
	if (head) {
		json_seti(a, about, "head_tree_size", json_get_int(head, "tree_size", 0));
		json_sets(a, about, "head_root_hash", json_get_text(head, "root_hash", ""));
	}
	char *id;
	rc = record_new_id(a, r->sys, "seam-", &id, e);
	struct draft seam = { .decision_id = id,
		.effect_id = "helm.log/repair",
		.status = "DAMAGED",
		.type = "seam",
		.output_hash = arena_printf(a, "sha256:%s", json_get_text(about, "lost_sha256", "")),
		.metadata = about };
	if (rc == OK)
		rc = recorder_append(r, a, &seam, 1, ret_seam, e);
	return rc ? rc : log_sign_head(r, a, NULL, e);
}
