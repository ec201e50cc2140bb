/* keys.c — the keys of this user over time: create, rotate, revoke.
 *
 * keys/history.jsonl has one link per change.  A link is signed by the key in force, so that whoever trusts
 * one key of the history can follow it to the others, and a new key signs the link that introduces it, so
 * that nobody can put a foreign key there.
 *
 * Rotation: the new key is made under the name "next"; the link goes on disk; then "next" takes the place
 * of "root".  The link is the moment of change: with it but without the last step, whoever loads the key
 * completes it; without it, whoever loads the key removes what was prepared.
 *
 * Trust: a reader who trusts one key follows the links.  A "revoked" link names a key that must no longer
 * be believed from some moment on.  It must be signed by a later key of the same line; a key cannot revoke
 * itself, since whoever stole it could do the same. */
#include "record/keys.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"
#include "base/text.h"
#include "proof/key_heal.h"
#include "proof/preimage.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char in_force[] = "root", coming[] = "next";
enum { HISTORY_LIMIT = 64 << 20 };

struct history {
	struct sys *sys;
	struct arena *a;
	int dirfd;
	const char *dir, *path;
	int lock_fd;
	/* Of the newest link. */
	int64_t sequence;
	const char *hash;
	struct json *last;
	const char *active; /* the key in force, as the links say; "" when none */
	struct bytes text; /* all of it */
	bool is_cut; /* links that were written are not there (key_end.c), or do not follow each other */
};

static void history_close(struct history *h)
{
	close_fd(&h->lock_fd);
}

/* State after all links: how many there are, the hash the next one has to name, and which key is in
 * force. */
static int read_last(struct history *h, struct err *e)
{
	struct bytes text;
	struct keys_end end;
	int rc = file_read(h->sys, h->a, h->dirfd, h->path, HISTORY_LIMIT, 0, &text, e);

	h->sequence = 0;
	h->hash = "";
	h->last = NULL;
	h->active = "";
	if (rc == E_MISSING)
		text = (struct bytes){ 0 };
	else if (rc)
		return rc;
	h->text = text;
	h->is_cut = keys_end_read(h->sys, h->a, h->dirfd, h->dir, &end) && !keys_end_holds(h->a, &end, text);
	rc = OK;
	while (rc == OK && text.n) {
		struct bytes line = text_cut(&text, '\n');
		if (!text.p)
			break; /* torn: never acknowledged, and repaired by the next append */
		rc = json_parse(h->a, line, h->path, NULL, &h->last, e);
		h->is_cut |= rc == OK &&
			(!text_eq(json_get_text(h->last, "prev_hash", ""), h->hash) ||
				json_get_int(h->last, "sequence", 0) != h->sequence + 1);
		h->sequence++;
		h->hash = sha256_hex(h->a, line.p, line.n);
		if (rc == OK && !text_eq(json_get_text(h->last, "event", ""), "revoked"))
			h->active = json_get_text(h->last, "key", "");
	}
	return rc;
}

/* Takes the lock of the keys directory until history_close(): changes of keys happen one at a time. */
static int history_open(
	struct sys *s, struct arena *a, int dirfd, const char *dir, struct history *ret, struct err *e)
{
	*ret = (struct history){ .sys = s, .a = a, .dirfd = dirfd, .dir = dir, .lock_fd = -1 };
	ret->path = arena_printf(a, "%s/%s", dir, KEY_HISTORY);
	int rc = file_mkdirs(s, dirfd, dir, 0700, e);
	if (rc == OK)
		rc = file_lock(s, dirfd, arena_printf(a, "%s/lock", dir), -1, &ret->lock_fd, e);
	if (rc == OK)
		rc = read_last(ret, e);
	if (rc == OK && ret->is_cut)
		rc = err_set(e, E_CORRUPT, "KEY_HISTORY",
			"links are missing from the key history '%s', or it is an older copy; run: helm key repair",
			ret->path);
	return rc;
}

static char *public_hex(struct arena *a, const struct key *k)
{
	char *hex = arena_text(a, 2 * SIGN_PUBLIC + 1);

	hex_encode(key_public(k), SIGN_PUBLIC, hex);
	return hex;
}

static int set_signature(struct arena *a, struct json *link, const char *name, const struct key *k,
	struct bytes preimage, struct err *e)
{
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	int rc = key_ask(k, KEY_FOR_LINK, link, preimage, signature, e);

	if (rc)
		return rc;
	hex_encode(signature, SIGN_SIZE, hex);
	json_sets(a, link, name, hex);
	return OK;
}

/* The name of whoever has this number, as the machine's own file says; the number where it does not. */
static const char *user_name(struct history *h)
{
	unsigned uid = (unsigned)h->sys->euid(h->sys);
	struct bytes text;

	if (file_read(h->sys, h->a, AT_FDCWD, "/etc/passwd", 1 << 20, FILE_FOLLOW, &text, NULL) == OK)
		while (text.n) {
			struct bytes line = text_cut(&text, '\n'), name = text_cut(&line, ':');
			(void)text_cut(&line, ':');
			struct bytes number = text_cut(&line, ':');
			if (bytes_is(number, arena_printf(h->a, "%u", uid)))
				return text_safe(h->a, (const char *)name.p, name.n, false);
		}
	return arena_printf(h->a, "uid:%u", uid);
}

/* Where a key begins, for people: what a machine says of itself, and nothing that identifies it. */
static void add_place(struct history *h, struct json *link)
{
	AUTO(close_fd) int fd = h->sys->open(h->sys, AT_FDCWD, "/proc/sys/kernel/hostname", O_RDONLY, 0, 0);
	char name[256];
	ssize_t n = fd < 0 ? 0 : h->sys->read(h->sys, fd, name, sizeof(name));

	struct bytes rest = { (const uint8_t *)name, n > 0 ? (size_t)n : 0 }, host = text_cut(&rest, '\n');
	if (host.n)
		json_sets(h->a, link, "host", text_safe(h->a, (const char *)host.p, host.n, false));
	json_sets(h->a, link, "user", user_name(h));
}

/* Completes, signs and appends a link, durable on return.  `newcomer`, when given, signs too, which proves
 * that whoever made the link has the new private key. */
static int put_link(struct history *h, struct json *link, const struct key *signer,
	const struct key *newcomer, struct err *e)
{
	struct arena *a = h->a;
	struct bytes preimage;
	struct buf line;

	json_sets(a, link, "version", KEY_HISTORY_V1);
	json_seti(a, link, "sequence", h->sequence + 1);
	json_sets(a, link, "at", text_time_z(a, h->sys->now_us(h->sys)));
	json_sets(a, link, "prev_hash", h->hash);
	json_sets(a, link, "signer", public_hex(a, signer));
	if (newcomer)
		add_place(h, link);
	int rc = key_link_preimage(a, link, &preimage, e);
	if (rc)
		return rc;
	rc = set_signature(a, link, "signature", signer, preimage, e);
	if (rc == OK && newcomer)
		rc = set_signature(a, link, "possession", newcomer, preimage, e);
	if (rc)
		return rc;
	buf_init(&line, a);
	json_canonical(&line, link);
	rc = file_append_line(h->sys, h->dirfd, h->path, 0600, buf_bytes(&line), NULL, e);
	if (rc == OK)
		rc = read_last(h, e);
	/* The link is what counts; an end that is behind it is made right with the next one. */
	if (rc == OK && keys_end_write(h->sys, h->a, h->dirfd, h->dir, h->text, e))
		rc = err_wrap(e, "the link is in the history, but how far that goes could not be noted");
	return rc;
}

static struct json *new_link(struct arena *a, const char *event, const char *key, const char *reason)
{
	struct json *link = json_new(a, JSON_OBJECT);

	json_sets(a, link, "event", event);
	json_sets(a, link, "key", key);
	json_sets(a, link, "reason", reason ? reason : "");
	return link;
}

/* A key that was made before there was a history gets its "created" link as soon as a second link is
 * due.  One that is not the last of a history that is there is none of those: links are missing. */
static int put_first(struct history *h, const struct key *k, struct err *e)
{
	const char *key = public_hex(h->a, k);

	if (text_eq(h->active, key))
		return OK;
	if (*h->active)
		return err_set(e, E_CORRUPT, "KEY_HISTORY",
			"the key history '%s' does not end with the key in force; run: helm key repair",
			h->path);
	return put_link(h, new_link(h->a, "created", key, ""), k, k, e);
}

static bool has_file(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *name)
{
	struct stat st;

	return s->stat(s, dirfd, arena_printf(a, "%s/%s", dir, name), &st, AT_SYMLINK_NOFOLLOW) == 0 ||
		(errno != ENOENT && errno != ENOTDIR);
}

bool keys_are_changing(struct sys *s, struct arena *a, int dirfd, const char *dir)
{
	return has_file(s, a, dirfd, dir, "next.key") || has_file(s, a, dirfd, dir, "next.pub");
}

/* Under the lock: a rotation that was interrupted.  Its link is not on disk, the key in place is still the
 * one in force: nobody was told of the coming one, and it goes.  It is on disk: the coming one takes its
 * place, or has taken it already and only the public halves are to be put right. */
static int settle_rotation(struct history *h, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(key_free) struct key *next = NULL;

	if (!keys_are_changing(h->sys, h->a, h->dirfd, h->dir))
		return OK;
	bool is_moved = !has_file(h->sys, h->a, h->dirfd, h->dir, "next.key");
	int rc = is_moved ? OK : key_load(h->sys, h->dirfd, h->dir, in_force, &key, e);
	if (rc)
		return rc;
	if (!is_moved && (!*h->active || text_eq(h->active, public_hex(h->a, key))))
		return key_discard(h->sys, h->dirfd, h->dir, coming, e);
	rc = is_moved ? OK : key_load(h->sys, h->dirfd, h->dir, coming, &next, e);
	if (rc)
		return rc;
	if (next && !text_eq(h->active, public_hex(h->a, next)))
		return err_set(e, E_CORRUPT, "KEY_HISTORY",
			"neither key in '%s' is the one its history names; put root.key back from a copy",
			h->dir);
	return key_promote(h->sys, h->dirfd, h->dir, coming, in_force, e);
}

/* The public half is derived.  It is made again only where the history says that the secret is the one in force:
 * otherwise it may be the secret that was exchanged. */
static int load_by_history(struct history *h, struct key **ret, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	int rc = key_load_secret(h->sys, h->dirfd, h->dir, in_force, &k, e);

	if (rc == OK && !*h->active)
		rc = err_set(e, E_CORRUPT, "KEY_HISTORY", "no history says which of the two is right");
	else if (rc == OK && !text_eq(h->active, public_hex(h->a, k)))
		rc = err_set(e, E_CORRUPT, "KEY_MISMATCH",
			"'%s/root.key' is not the secret of the key in force (%.16s..., as the history says); put it "
			"back from a copy, or: helm key repair",
			h->dir, h->active);
	if (rc)
		return rc;
	const bool is_made = key_write_public(h->sys, h->dirfd, h->dir, in_force, k, NULL) == OK;
	notice("%s/root.pub did not belong to root.key; it %s", h->dir,
		is_made ? "was made again" : "cannot be written now, and is not used");
	*ret = k;
	k = NULL;
	return OK;
}

/* Under the lock of the directory, so that a rotation that is under way is waited for. */
static int load_settled(
	struct sys *s, struct arena *a, int dirfd, const char *dir, struct key **ret, struct err *e)
{
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	int rc = history_open(s, a, dirfd, dir, &h, e);

	if (rc == OK)
		rc = settle_rotation(&h, e);
	if (rc)
		return rc;
	return key_load(s, dirfd, dir, in_force, ret, e) == OK ? OK : load_by_history(&h, ret, e);
}

/* The same for a key that another user keeps: who asks compares root.pub, and others are given it. */
static void heal_kept_public(struct sys *s, struct arena *a, int dirfd, const char *dir, const struct key *k)
{
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	struct bytes text = { 0 };

	if (file_read(s, a, dirfd, arena_printf(a, "%s/root.pub", dir), 1024, 0, &text, NULL) == OK &&
		key_is_public(k, text))
		return;
	if (history_open(s, a, dirfd, dir, &h, NULL) || !text_eq(h.active, public_hex(a, k)) ||
		key_write_public(s, dirfd, dir, in_force, k, NULL))
		return;
	notice("%s/root.pub was not the key that the signer keeps; it was made again", dir);
}

/* Takes the lock only when something of the coming key is there, so that the usual load needs no write
 * access to anything.  Without the lock a rotation may exchange the files between two looks, so that the
 * halves do not fit; then it is asked again under the lock. */
int keys_load(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err again = { 0 };

	if (keys_are_changing(s, &a, dirfd, dir))
		return load_settled(s, &a, dirfd, dir, ret, e);
	int rc = key_load(s, dirfd, dir, in_force, ret, e);
	/* Looked for last, so that it costs nothing where the secret is here. */
	if (rc == E_MISSING) {
		rc = signer_load(s, dirfd, dir, ret, &again);
		if (rc && rc != E_MISSING && e)
			*e = again;
		if (rc == OK)
			heal_kept_public(s, &a, dirfd, dir, *ret);
		return rc;
	}
	/* A directory that somebody else can write to is not healed in. */
	if (rc == OK || (e && (text_eq(e->code, "KEY_MODE") || text_eq(e->code, "KEY_OWNER"))))
		return rc;
	if (load_settled(s, &a, dirfd, dir, ret, &again) == OK)
		return OK;
	if (e && text_eq(again.code, "KEY_MISMATCH"))
		*e = again;
	return rc;
}

/* What only somebody with the secret may do is done where that is. */
static int check_here(struct sys *s, struct arena *a, int dirfd, const char *dir, struct err *e)
{
	return has_file(s, a, dirfd, dir, SIGNER_FILE)
		? err_set(e, E_DENIED, "SIGNER_REFUSES",
			  "the key is kept by a signer (%s/" SIGNER_FILE "), which makes no, changes no and "
			  "revokes no key for others",
			  dir)
		: OK;
}

static bool is_signed(const struct json *link, const char *by, const char *member, struct bytes preimage)
{
	const char *text = json_get_text(link, member, "");
	uint8_t pub[SIGN_PUBLIC], signature[SIGN_SIZE];

	return hex_decode(by, strlen(by), pub, SIGN_PUBLIC, true) &&
		hex_decode(text, strlen(text), signature, SIGN_SIZE, true) &&
		sign_verify(pub, preimage, signature);
}

/* Does this link lead from one key to the next, signed by both? */
static bool leads_on(struct arena *a, const struct json *link, const char *from)
{
	struct bytes preimage;

	return text_eq(json_get_text(link, "event", ""), "rotated") &&
		text_eq(json_get_text(link, "previous_key", ""), from) &&
		text_eq(json_get_text(link, "signer", ""), from) &&
		key_link_preimage(a, link, &preimage, NULL) == OK &&
		is_signed(link, from, "signature", preimage) &&
		is_signed(link, json_get_text(link, "key", ""), "possession", preimage);
}

/* The signer's user has changed the key: its history leads from the key that was in force here to the one that was named, and is ours
 * from now on.  A signer that is asked for another key answers, too, but cannot have such links. */
static int follow_signer(struct history *h, const struct key *k, const char *hex, struct err *e)
{
	const struct json *links;
	const char *at = "";
	struct buf text;
	int rc = signer_links(h->a, k, &links, e);

	if (rc)
		return rc;
	buf_init(&text, h->a);
	json_each (link, links) {
		const char *key = json_get_text(link, "key", "");
		if (text_eq(json_get_text(link, "event", ""), "revoked"))
			; /* of a key before it */
		else if (text_eq(key, h->active) || (*at && leads_on(h->a, link, at)))
			at = key;
		else
			at = ""; /* another line of keys */
		json_canonical(&text, link);
		buf_addc(&text, '\n');
	}
	if (!text_eq(at, hex))
		return err_set(e, E_DENIED, "KEY_HISTORY",
			"the signer's history does not lead from the key in force (%s) to this one",
			h->active);
	int done = file_replace(h->sys, h->dirfd, h->path, 0600, buf_bytes(&text), e);
	if (done == OK && read_last(h, NULL) == OK)
		(void)keys_end_write(h->sys, h->a, h->dirfd, h->dir, h->text, NULL);
	return done;
}

/* The link comes first and the file that names the signer last: killed in between, the same command completes it. */
int keys_use_signer(struct sys *s, int dirfd, const char *dir, const char *socket,
	const uint8_t pub[SIGN_PUBLIC], struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	char hex[2 * SIGN_PUBLIC + 1];
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf text;
	int rc = history_open(s, &a, dirfd, dir, &h, e);

	if (rc)
		return rc;
	hex_encode(pub, SIGN_PUBLIC, hex);
	bool follows = has_file(s, &a, dirfd, dir, SIGNER_FILE) && h.sequence && !text_eq(h.active, hex);
	if (has_file(s, &a, dirfd, dir, "root.key") ||
		(!has_file(s, &a, dirfd, dir, SIGNER_FILE) &&
			((*h.active && !text_eq(h.active, hex)) || h.sequence > 1)))
		return err_set(e, E_INPUT, "KEY_EXISTS",
			"there is, or was, another key in '%s'; a signer begins with a helm home of its own: set "
			"HELM_HOME to a new directory",
			dir);
	rc = signer_key(s, socket, pub, &k, e);
	if (rc == OK && follows)
		rc = follow_signer(&h, k, hex, e);
	if (rc == OK && !h.sequence)
		rc = put_link(&h, new_link(&a, "created", hex, ""), k, k, e);
	if (rc == OK)
		rc = file_replace(s, dirfd, arena_printf(&a, "%s/root.pub", dir), 0644, bytes_of(hex), e);
	if (rc)
		return rc;
	json_seti(&a, doc, "version", 1);
	json_sets(&a, doc, "socket", socket);
	json_sets(&a, doc, "public_key", hex);
	buf_init(&text, &a);
	json_canonical(&text, doc);
	return file_replace(s, dirfd, arena_printf(&a, "%s/" SIGNER_FILE, dir), 0600, buf_bytes(&text), e);
}

int keys_create(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	int rc = check_here(s, &a, dirfd, dir, e);

	if (rc == OK)
		rc = history_open(s, &a, dirfd, dir, &h, e);
	if (rc == OK)
		rc = key_create(s, dirfd, dir, in_force, &k, e);
	if (rc == OK)
		rc = put_link(&h, new_link(&a, "created", public_hex(&a, k), ""), k, k, e);
	if (rc)
		return rc;
	*ret = k;
	k = NULL;
	return OK;
}

/* Under the lock: what killed rotations left of keys that were never finished.  Nobody makes one now. */
static void drop_unfinished(struct history *h)
{
	char **names = NULL;
	size_t n = 0;

	(void)file_list(h->sys, h->a, h->dirfd, h->dir, &names, &n, NULL);
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], ".next.") && text_ends(names[i], ".tmp"))
			(void)h->sys->unlink(
				h->sys, h->dirfd, arena_printf(h->a, "%s/%s", h->dir, names[i]), 0);
}

/* The old key signs the link that introduces the new one.  The order makes every interruption safe: before
 * the link the old key is in force, after it the new one, whose private part is already on disk. */
int keys_rotate(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *reason,
	struct json **ret_link, struct err *e)
{
	AUTO(key_free) struct key *old = NULL;
	AUTO(key_free) struct key *next = NULL;
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	int rc = check_here(s, a, dirfd, dir, e);

	if (rc == OK)
		rc = key_load(s, dirfd, dir, in_force, &old, e);
	if (rc)
		return rc;
	key_free(&old); /* asked again under the lock */
	rc = history_open(s, a, dirfd, dir, &h, e);
	if (rc == OK)
		rc = settle_rotation(&h, e);
	if (rc == OK)
		rc = key_load(s, dirfd, dir, in_force, &old, e);
	if (rc == OK)
		rc = put_first(&h, old, e);
	if (rc == OK)
		drop_unfinished(&h);
	if (rc == OK)
		rc = key_create(s, dirfd, dir, coming, &next, e);
	if (rc)
		return rc;
	struct json *link = new_link(a, "rotated", public_hex(a, next), reason);
	json_sets(a, link, "previous_key", public_hex(a, old));
	rc = put_link(&h, link, old, next, e);
	if (rc)
		return rc;
	rc = key_promote(s, dirfd, dir, coming, in_force, e);
	if (rc)
		return err_wrap(e, "the new key is on record, and the next command puts it in place");
	*ret_link = link;
	return OK;
}

/* What the links say about one key. */
struct standing {
	bool is_cut; /* the history has lost links, of which one may have revoked it */
	bool is_known; /* the key in force descends from it, or is it */
	bool is_revoked;
	struct json *links; /* behind the one that introduced it, or of the newest line */
};

/* A "created" link starts a new line: a key made on its own cannot speak about keys before it. */
static int look_up(struct history *h, const char *hex, struct standing *ret, struct err *e)
{
	struct bytes text = { 0 };
	struct keys_end end;
	struct json *link;
	int rc = file_read(h->sys, h->a, h->dirfd, h->path, HISTORY_LIMIT, 0, &text, e);
	const bool is_cut = (rc == OK || rc == E_MISSING) &&
		keys_end_read(h->sys, h->a, h->dirfd, h->dir, &end) && !keys_end_holds(h->a, &end, text);

	*ret = (struct standing){ .links = json_new(h->a, JSON_ARRAY) };
	while (rc == OK && text.n) {
		struct bytes line = text_cut(&text, '\n');
		if (!text.p)
			break; /* torn: never acknowledged */
		rc = json_parse(h->a, line, h->path, NULL, &link, e);
		if (rc)
			break;
		bool is_it = text_eq(json_get_text(link, "key", ""), hex);
		const char *event = json_get_text(link, "event", "");
		if (text_eq(event, "created"))
			*ret = (struct standing){ .links = json_new(h->a, JSON_ARRAY) };
		ret->is_known |= is_it;
		ret->is_revoked |= is_it && text_eq(event, "revoked");
		if (is_it && !text_eq(event, "revoked"))
			ret->links = json_new(h->a, JSON_ARRAY);
		else
			json_push(h->a, ret->links, link);
	}
	ret->is_cut = is_cut;
	return rc == E_MISSING ? OK : rc;
}

static struct history history_at(struct sys *s, struct arena *a, int dirfd, const char *dir)
{
	return (struct history){ .sys = s,
		.a = a,
		.dirfd = dirfd,
		.dir = dir,
		.lock_fd = -1,
		.path = arena_printf(a, "%s/%s", dir, KEY_HISTORY) };
}

bool keys_knows(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex)
{
	struct history h = history_at(s, a, dirfd, dir);
	struct standing k;

	return look_up(&h, pub_hex, &k, NULL) == OK && k.is_known;
}

bool keys_trusts(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex)
{
	struct history h = history_at(s, a, dirfd, dir);
	struct standing k;

	return look_up(&h, pub_hex, &k, NULL) == OK && !k.is_cut && k.is_known && !k.is_revoked;
}

int keys_links_since(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *pub_hex,
	struct json **ret, struct err *e)
{
	struct history h = history_at(s, a, dirfd, dir);
	struct standing k;
	int rc = look_up(&h, pub_hex, &k, e);

	if (rc == OK && k.is_cut)
		rc = err_set(e, E_CORRUPT, "KEY_HISTORY",
			"links are missing from the key history '%s', or it is an older copy; run: helm key repair",
			h.path);
	if (rc == OK)
		*ret = k.links;
	return rc;
}

int keys_begin_line(struct sys *s, struct arena *a, int dirfd, const char *dir, const char *reason,
	struct json **ret_link, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	int rc = keys_load(s, dirfd, dir, &k, e); /* takes the lock itself */

	if (rc == OK)
		rc = history_open(s, a, dirfd, dir, &h, e);
	if (rc)
		return rc;
	struct json *link = new_link(a, "created", public_hex(a, k), reason);
	rc = put_link(&h, link, k, k, e);
	if (rc == OK)
		*ret_link = link;
	return rc;
}

/* Only a key of the same line, and not the one in force. */
int keys_revoke(struct sys *s, struct arena *a, int dirfd, const char *dir, const uint8_t pub[SIGN_PUBLIC],
	const char *reason, const char *since, struct json **ret_link, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	AUTO(history_close) struct history h = { .lock_fd = -1 };
	char hex[2 * SIGN_PUBLIC + 1];
	struct standing known;
	int rc = check_here(s, a, dirfd, dir, e);

	if (rc == OK)
		rc = keys_load(s, dirfd, dir, &k, e);
	if (rc == OK && memcmp(key_public(k), pub, SIGN_PUBLIC) == 0)
		rc = err_set(e, E_INPUT, "KEY_ACTIVE",
			"this key is in force, and a key cannot revoke itself; run: helm key rotate, then "
			"revoke "
			"it");
	if (rc == OK)
		rc = history_open(s, a, dirfd, dir, &h, e);
	if (rc == OK)
		rc = put_first(&h, k, e);
	hex_encode(pub, SIGN_PUBLIC, hex);
	if (rc == OK)
		rc = look_up(&h, hex, &known, e);
	if (rc)
		return rc;
	if (!known.is_known)
		return err_set(e, E_MISSING, "KEY_UNKNOWN",
			"the key in force does not follow that one, so it cannot revoke it; 'helm key "
			"history' lists "
			"them");
	struct json *link = new_link(a, "revoked", hex, reason);
	json_sets(a, link, "since", since ? since : text_time_z(a, s->now_us(s)));
	if (!since) /* nobody named a time: by its place in the history, whatever the clock says now */
		json_seti(a, link, "since_link", h.sequence + 1);
	rc = put_link(&h, link, k, NULL, e);
	if (rc == OK)
		*ret_link = link;
	return rc;
}
