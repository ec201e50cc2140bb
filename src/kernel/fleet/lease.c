/* lease.c — how long a machine goes on without its centre.
 *
 * <helm home>/fleet/lease.json is {seconds, boot_id, at_ms}: written at each contact, read by each decision where there is one.  Time is that of
 * /proc/uptime, which nobody sets and which runs on while the machine sleeps.  Another boot than that of the last contact counts as over, and
 * so does a file that cannot be understood: only contact mends it. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/fleet/fleet.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LEASE_FILE "lease.json"
static const struct doc LEASE = {
	.file = LEASE_FILE, .type = JSON_OBJECT, .max_bytes = 4096, .code = "FLEET_LEASE"
};

static size_t read_small(struct sys *s, const char *path, char *to, size_t n)
{
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY, 0, 0);
	ssize_t got = fd < 0 ? -1 : s->read(s, fd, to, n - 1);

	to[got > 0 ? got : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	return strlen(to);
}

/* Since this boot, and which it is. */
static bool read_boot(struct sys *s, char id[64], int64_t *ret_ms)
{
	char text[128];

	if (!read_small(s, "/proc/sys/kernel/random/boot_id", id, 64) ||
		!read_small(s, "/proc/uptime", text, sizeof(text)))
		return false;
	char *dot = strchr(text, '.');
	int64_t seconds, hundredths = 0;
	if (!dot)
		return false;
	*dot = '\0';
	dot[1 + strspn(dot + 1, "0123456789")] = '\0';
	if (!text_int(text, &seconds) || !text_int(dot + 1, &hundredths))
		return false;
	*ret_ms = seconds * 1000 + hundredths * 10;
	return true;
}

static int open_dir(struct sys *s, struct arena *a, const char *helm_home, int *ret, struct err *e)
{
	return file_open_dir(s, AT_FDCWD, arena_printf(a, "%s/" FLEET_DIR, helm_home), ret, e);
}

int fleet_lease_renew(struct sys *s, struct arena *a, const char *helm_home, int64_t seconds, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	AUTO(close_fd) int fd = -1;
	char boot[64];
	int64_t ms;
	int rc = open_dir(s, a, helm_home, &fd, e);

	if (rc)
		return rc;
	if (seconds <= 0) {
		(void)s->unlink(s, fd, LEASE_FILE, 0);
		return OK;
	}
	if (!read_boot(s, boot, &ms))
		return err_set(
			e, E_IO, "FLEET_LEASE", "this machine does not say how long it is up (/proc/uptime)");
	json_seti(a, doc, "seconds", seconds);
	json_sets(a, doc, "boot_id", boot);
	json_seti(a, doc, "at_ms", ms);
	return doc_replace(s, a, fd, &LEASE, doc, e);
}

const char *fleet_lease_over(struct sys *s, struct arena *a, const char *helm_home)
{
	static const char remedy[] = "the service of 'helm fleet ship' renews it, or 'helm fleet sync' once";
	AUTO(close_fd) int fd = -1;
	struct err e = { 0 };
	struct json *doc;
	struct stat st;
	char boot[64];
	int64_t now_ms;

	if (!helm_home)
		return NULL;
	int rc = open_dir(s, a, helm_home, &fd, &e);
	if (rc == OK && s->stat(s, fd, LEASE_FILE, &st, AT_SYMLINK_NOFOLLOW))
		rc = err_sys(&e, "FLEET_LEASE", "cannot look at " LEASE_FILE);
	if (rc == E_MISSING)
		return NULL;
	if (rc) /* there may be one */
		return arena_printf(a, "the lease of the fleet cannot be read (%s); %s", e.text, remedy);
	int64_t seconds = -1;
	if (doc_load(s, a, fd, &LEASE, &doc, &e) == OK)
		seconds = json_get_int(doc, "seconds", -1);
	if (seconds < 0 || !read_boot(s, boot, &now_ms))
		return arena_printf(a, "the lease of the fleet cannot be read; %s", remedy);
	if (!text_eq(json_get_text(doc, "boot_id", ""), boot))
		return arena_printf(
			a, "the fleet was not reached since this machine was started; %s", remedy);
	int64_t silent_ms = now_ms - json_get_int(doc, "at_ms", INT64_MAX);
	return silent_ms < 0 || silent_ms > seconds * 1000
		? arena_printf(a, "the fleet was not reached for %lld s, and its lease is of %lld s; %s",
			  (long long)(silent_ms / 1000), (long long)seconds, remedy)
		: NULL;
}
