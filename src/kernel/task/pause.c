/* pause.c — profiles that nobody may start for now.  Every decision asks, whichever door it came through.
 *
 * <state>/profile-pause-state.json: {profile: {paused_at, reason, token_sha256}}.  The token is shown once
 * and only its hash is kept, so that reading the file does not let anybody resume.  A file that cannot be
 * read counts as "everything is paused". */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/task.h"

#include <fcntl.h>
#include <string.h>

static const struct doc PAUSES = { .file = "profile-pause-state.json",
	.lock = "profile-pause-state.lock",
	.type = JSON_OBJECT,
	.style = JSON_SORT_BYTES,
	.code = "PAUSE_STATE" };

int pause_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	int rc = doc_load(s, a, ws->state_fd, &PAUSES, ret, e);

	return rc ? err_wrap(e, "every profile counts as paused until this file is mended") : OK;
}

/* Why the profile is paused, or NULL. */
const char *pause_in_force(struct kernel *k, struct arena *a, const char *profile)
{
	struct json *doc;
	struct err e = { 0 };

	if (pause_load(k->sys, a, k->ws, &doc, &e))
		return arena_strdup(a, e.text);
	const struct json *entry = json_get(doc, profile);
	if (!entry)
		return NULL;
	return arena_printf(
		a, "profile %s is paused: %s", profile, json_get_text(entry, "reason", "no reason given"));
}

/* The token is returned once, after the pause is on disk. */
int pause_profile(struct sys *s, struct arena *a, const struct workspace *ws, const char *profile,
	const char *reason, char **ret_token, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc, *entry = json_new(a, JSON_OBJECT);
	uint8_t raw[16];
	char hex[33];
	int rc = doc_lock(s, ws->state_fd, &PAUSES, &lock, e);

	if (rc == OK)
		rc = pause_load(s, a, ws, &doc, e);
	if (rc)
		return rc;
	if (s->random(s, raw, sizeof(raw)))
		return err_sys(e, "PAUSE_TOKEN", "cannot make a token");
	hex_encode(raw, sizeof(raw), hex);
	json_sets(a, entry, "paused_at", text_time_iso(a, s->now_us(s)));
	json_sets(a, entry, "reason", reason);
	json_sets(a, entry, "token_sha256", sha256_hex(a, hex, 32));
	json_set(a, doc, profile, entry);
	rc = doc_replace(s, a, ws->state_fd, &PAUSES, doc, e);
	if (rc == OK)
		*ret_token = arena_strdup(a, hex);
	return rc;
}

/* Looks at every byte, whatever differs, so that the time taken tells nothing. */
static bool same_hash(const char *x, const char *y)
{
	unsigned difference = 0;

	if (strlen(x) != 64 || strlen(y) != 64)
		return false;
	for (size_t i = 0; i < 64; i++)
		difference |= (unsigned char)(x[i] ^ y[i]);
	return !difference;
}

/* Without the token nobody resumes, not even who can write a command line. */
int resume_profile(struct sys *s, struct arena *a, const struct workspace *ws, const char *profile,
	const char *token, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc;
	int rc = doc_lock(s, ws->state_fd, &PAUSES, &lock, e);

	if (rc == OK)
		rc = pause_load(s, a, ws, &doc, e);
	if (rc)
		return rc;
	const struct json *entry = json_get(doc, profile);
	if (!entry)
		return err_set(e, E_INPUT, "PAUSE_NOT", "profile %s is not paused", profile);
	/* Files of older workspaces hold the token itself. */
	const char *kept = json_get_text(entry, "token_sha256", NULL),
		   *plain = json_get_text(entry, "resume_token", NULL);
	const char *want = kept ? kept : plain ? sha256_hex(a, plain, strlen(plain)) : "";
	if (!same_hash(want, sha256_hex(a, token, strlen(token))))
		return err_set(e, E_INPUT, "PAUSE_TOKEN",
			"that is not the token that was shown when %s was paused", profile);
	(void)json_remove(doc, profile);
	return doc_replace(s, a, ws->state_fd, &PAUSES, doc, e);
}
