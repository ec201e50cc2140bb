/* pause.c — profiles that nobody may start for now.  Every decision asks, whichever door it came through.
 *
 * Pauses are part of the standing word (posture.h): {profile: {paused_at, reason, token_sha256}}.  <state>/profile-pause-state.json says the
 * same for people and older tools, and a pause that only it knows counts, too.  The token is shown once and only its hash is
 * kept, so that reading the file does not let anybody resume.  What cannot be read counts as "everything is paused". */
#include "base/doc.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/posture_parts.h"
#include "kernel/task/task.h"

#include <string.h>

int pause_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = tree_pauses(s, a, ws, &doc, e);

	if (rc)
		return rc;
	json_each_member (m, json_get(posture_of(s, ws)->word, "pauses"))
		json_set(a, doc, m->name, json_copy(a, m->value));
	*ret = doc;
	return OK;
}

const char *pause_in_force(struct kernel *k, struct arena *a, const char *profile, const char **ret_instead)
{
	struct json *doc;
	struct err e = { 0 };

	if (pause_load(k->sys, a, k->ws, &doc, &e)) {
		*ret_instead = arena_printf(
			a, "a person mends %s/" PAUSE_FILE ", or moves it away", k->ws->state_dir);
		return arena_strdup(a, e.text);
	}
	const struct json *entry = json_get(doc, profile);
	if (!entry)
		return NULL;
	*ret_instead = arena_printf(
		a, "wait until a person ends the pause with 'helm profile resume %s --token TOKEN'", profile);
	return arena_printf(
		a, "profile %s is paused: %s", profile, json_get_text(entry, "reason", "no reason given"));
}

/* One pause, or its end. */
struct pausing {
	const char *profile;
	struct json *entry; /* of a pause */
	const char *token; /* of its end */
};

static int begin_pause(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct pausing *p = arg;

	(void)e;
	json_set(a, doc_part(a, word, "pauses"), p->profile, p->entry);
	return OK;
}

/* The token is returned once, after the pause is on record and in force. */
int pause_profile(struct kernel *k, struct arena *a, const char *profile, const char *reason,
	char **ret_token, struct err *e)
{
	struct json *entry = json_new(a, JSON_OBJECT), *about = json_new(a, JSON_OBJECT), *receipt;
	uint8_t raw[16];
	char hex[33];

	if (k->sys->random(k->sys, raw, sizeof(raw)))
		return err_sys(e, "PAUSE_TOKEN", "cannot make a token");
	hex_encode(raw, sizeof(raw), hex);
	json_sets(a, entry, "paused_at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_sets(a, entry, "reason", reason);
	json_sets(a, entry, "token_sha256", sha256_hex(a, hex, 32));
	json_sets(a, about, "profile", profile);
	json_sets(a, about, "reason", reason);
	struct pausing p = { .profile = profile, .entry = entry };
	int rc = posture_change(k, a,
		&(struct act){ .effect_id = "helm.profile/pause", .type = "setting", .about = about },
		begin_pause, &p, &receipt, e);
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
static int end_pause(void *arg, struct arena *a, struct json *word, struct err *e)
{
	const struct pausing *p = arg;
	struct json *all = doc_part(a, word, "pauses");
	const struct json *entry = json_get(all, p->profile);

	if (!entry)
		return err_set(e, E_INPUT, "PAUSE_NOT", "profile %s is not paused", p->profile);
	/* Files of older workspaces hold the token itself. */
	const char *kept = json_get_text(entry, "token_sha256", NULL),
		   *plain = json_get_text(entry, "resume_token", NULL);
	const char *want = kept ? kept : plain ? sha256_hex(a, plain, strlen(plain)) : "";
	if (!same_hash(want, sha256_hex(a, p->token, strlen(p->token))))
		return err_set(e, E_INPUT, "PAUSE_TOKEN",
			"that is not the token that was shown when %s was paused", p->profile);
	(void)json_remove(all, p->profile);
	return OK;
}

int resume_profile(struct kernel *k, struct arena *a, const char *profile, const char *token, struct err *e)
{
	struct pausing p = { .profile = profile, .token = token };
	struct json *about = json_new(a, JSON_OBJECT), *receipt;
	int rc = pause_load(
		k->sys, a, k->ws, &receipt, e); /* while nobody can say what is paused, nothing is resumed */

	if (rc)
		return rc;
	json_sets(a, about, "profile", profile);
	return posture_change(k, a,
		&(struct act){ .effect_id = "helm.profile/resume", .type = "setting", .about = about },
		end_pause, &p, &receipt, e);
}
