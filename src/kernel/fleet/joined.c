/* joined.c — <helm home>/fleet/: what this user has joined, and how far the ledger has what is here. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/fleet/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const struct doc JOINED = {
	.file = FLEET_JOINED, .type = JSON_OBJECT, .code = "FLEET_JOINED", .newest = 1
};
static const struct doc STATE = {
	.file = FLEET_STATE, .type = JSON_OBJECT, .max_bytes = 16 << 20, .code = "FLEET_STATE"
};

#define STATE_ASIDE FLEET_STATE ".damaged"

/* A line each, so none of them may have two. */
bool fleet_message_of(struct arena *a, const struct json *doc, struct bytes *ret)
{
	static const char *const names[] = { "origin", "method", "path", "body_sha256" };
	int64_t time_s = json_get_int(doc, "time", -1);
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "helm:fleet:v1\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = json_get_text(doc, names[i], NULL);
		if (!value || !*value || strchr(value, '\n'))
			return false;
		buf_addf(&text, "%s\n", value);
	}
	buf_addf(&text, "%lld\n", (long long)time_s);
	*ret = buf_bytes(&text);
	return time_s >= 0;
}

static struct json *request_json(struct arena *a, const struct fleet_request *q)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "origin", q->origin);
	json_sets(a, doc, "method", q->method);
	json_sets(a, doc, "path", q->path);
	json_sets(a, doc, "body_sha256", sha256_hex(a, q->body.p ? (const void *)q->body.p : "", q->body.n));
	json_seti(a, doc, "time", q->time_s);
	return doc;
}

struct bytes fleet_message(struct arena *a, const struct fleet_request *q)
{
	struct bytes message = { 0 };

	(void)fleet_message_of(a, request_json(a, q), &message);
	return message;
}

int fleet_sign(struct arena *a, const struct key *k, const struct fleet_request *q, uint8_t ret[SIGN_SIZE],
	struct err *e)
{
	return key_ask(k, KEY_FOR_FLEET, request_json(a, q), fleet_message(a, q), ret, e);
}

static int open_dir(
	struct sys *s, struct arena *a, const char *helm_home, bool will_write, int *ret, struct err *e)
{
	const char *dir = arena_printf(a, "%s/" FLEET_DIR, helm_home);
	int rc = will_write ? file_mkdirs(s, AT_FDCWD, dir, 0700, e) : OK;

	return rc ? rc : file_open_dir(s, AT_FDCWD, dir, ret, e);
}

static int load(struct sys *s, struct arena *a, const char *helm_home, const struct doc *d, struct json **ret,
	struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, false, &fd, e);

	if (rc == E_MISSING) {
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return rc ? rc : doc_load(s, a, fd, d, ret, e);
}

static int save(struct sys *s, struct arena *a, const char *helm_home, const struct doc *d,
	const struct json *doc, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, true, &fd, e);

	return rc ? rc : doc_replace(s, a, fd, d, doc, e);
}

int fleet_joined(struct sys *s, struct arena *a, const char *helm_home, struct json **ret, struct err *e)
{
	int rc = load(s, a, helm_home, &JOINED, ret, e);

	if (rc == OK && !(*ret)->n)
		*ret = NULL;
	return rc;
}

int fleet_join_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *doc, struct err *e)
{
	return save(s, a, helm_home, &JOINED, doc, e);
}

/* It can always be asked for again; that it had to be is said (fleet_wrong). */
int fleet_state(struct sys *s, struct arena *a, const char *helm_home, struct json **ret, struct err *e)
{
	int rc = load(s, a, helm_home, &STATE, ret, e);

	if (rc && rc != E_IO) {
		*ret = json_new(a, JSON_OBJECT);
		json_sets(a, *ret, "damaged", e ? e->text : "");
		rc = OK;
	}
	return rc;
}

/* The file that could not be understood, out of the way of the new one. */
static int put_aside(struct sys *s, struct arena *a, const char *helm_home, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, false, &fd, e);

	if (rc == OK && s->rename(s, fd, FLEET_STATE, fd, STATE_ASIDE, 0) && errno != ENOENT)
		rc = err_sys(e, "FLEET_STATE",
			"cannot put the damaged %s/" FLEET_DIR "/" FLEET_STATE " aside", helm_home);
	return rc;
}

int fleet_state_save(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *doc, struct err *e)
{
	struct json *kept = json_copy(a, doc);

	if (json_remove(kept, "damaged")) {
		int rc = put_aside(s, a, helm_home, e);
		if (rc)
			return rc;
	}
	return save(s, a, helm_home, &STATE, kept, e);
}

/* The lease first: without what was joined nobody could renew it. */
int fleet_forget(struct sys *s, struct arena *a, const char *helm_home, struct err *e)
{
	static const char *const files[] = { "lease.json", FLEET_STATE, STATE_ASIDE, FLEET_APPROVERS,
		FLEET_JOINED };
	AUTO(close_fd) int fd = -1;
	int rc = open_dir(s, a, helm_home, false, &fd, e);

	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(files); i++)
		if (s->unlink(s, fd, files[i], 0) && errno != ENOENT)
			rc = err_sys(
				e, "FLEET_LEAVE", "cannot remove %s/" FLEET_DIR "/%s", helm_home, files[i]);
	return rc;
}

static void tell(struct arena *a, struct json *list, const char *text, const char *remedy)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "text", text);
	json_sets(a, one, "remedy", remedy);
	json_push(a, list, one);
}

static void tell_damage(
	struct sys *s, struct arena *a, const char *helm_home, const struct json *state, struct json *list)
{
	const char *aside = arena_printf(a, "%s/" FLEET_DIR "/" STATE_ASIDE, helm_home);

	if (json_get(state, "damaged"))
		tell(a, list,
			arena_printf(a, "what is known of the fleet is damaged, and is asked for again: %s",
				json_get_text(state, "damaged", "")),
			"helm fleet sync");
	else if (file_exists(s, AT_FDCWD, aside))
		tell(a, list, "what was known of the fleet was damaged, and was asked for again",
			arena_printf(a, "look at %s, and remove it", aside));
}

static void tell_orders(struct sys *s, struct arena *a, const struct json *state, struct json *list)
{
	const struct json *behind = json_get(state, "behind");
	int64_t since = json_get_int(behind, "since_s", 0);

	json_each (one, json_get(state, "missed"))
		tell(a, list,
			arena_printf(a, "order %lld of the centre (%s) was not obeyed in %s: %s",
				(long long)json_get_int(json_get(one, "order"), "seq", 0),
				json_get_text(json_get(one, "order"), "kind", ""),
				json_get_text(one, "workspace", ""), json_get_text(one, "why", "")),
			"mend the workspace; it is tried again at each contact");
	if (behind && s->now_us(s) / 1000000 - since > FLEET_PATIENCE_S)
		tell(a, list,
			arena_printf(a, "the fleet's log has not shown what was acknowledged since %s",
				text_time_z(a, since * 1000000)),
			"tell whoever runs the fleet: its signer may be away");
}

/* The state is written by the program that talks to the ledger; here it is only read. */
struct json *fleet_wrong(struct sys *s, struct arena *a, const char *helm_home)
{
	struct json *list = json_new(a, JSON_ARRAY), *joined = NULL, *state = NULL;
	struct err e = { 0 };

	if (!helm_home)
		return list;
	if (fleet_joined(s, a, helm_home, &joined, &e) ||
		(joined && fleet_state(s, a, helm_home, &state, &e)))
		tell(a, list, arena_printf(a, "what this user has joined cannot be read: %s", e.text),
			"helm fleet status");
	if (!state)
		return list;
	tell_damage(s, a, helm_home, state, list);
	tell_orders(s, a, state, list);
	json_each_member (m, json_get(state, "chains")) {
		const struct json *stopped = json_get(m->value, "stopped");
		if (stopped)
			tell(a, list,
				arena_printf(a, "the fleet's ledger takes nothing more of %s: %s",
					json_get_text(m->value, "workspace", m->name),
					json_get_text(stopped, "why", "")),
				text_eq(json_get_text(stopped, "code", ""), "FLEET_REFUSED")
					? "helm log check"
					: "helm fleet rejoin");
	}
	if (json_get(state, "stopped"))
		tell(a, list,
			arena_printf(a, "the fleet's ledger takes nothing of this machine: %s",
				json_get_text(json_get(state, "stopped"), "why", "")),
			"helm fleet status");
	if (json_get(state, "alarm"))
		tell(a, list, json_get_text(json_get(state, "alarm"), "why", ""),
			"tell whoever runs the fleet; helm fleet status");
	const uint32_t unread = fleet_approvers_unread(s, a, helm_home, joined);
	if (unread)
		tell(a, list,
			arena_printf(a,
				"%u of the keys that may answer from the centre cannot be read by this program: nobody answers here with them",
				unread),
			"upgrade helm on this machine");
	const char *over = fleet_lease_over(s, a, helm_home);
	if (over)
		tell(a, list, arena_printf(a, "everything stands as if frozen: %s", over), "helm fleet sync");
	return list;
}
