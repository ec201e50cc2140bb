/* key.c — where signing keys live, and what is refused.
 *
 * Loading: the directory and the file are opened without following links, and owner and mode are asked of
 * what was opened, not of the name.  Somebody who exchanges the name in between changes nothing.
 *
 * Creating: a complete, synced file is put in place under a free name in one step, the secret first and
 * the public half after it.  A .pub without its .key would promise a signer that does not exist; a .key
 * without its .pub loses nothing, because the public half follows from the seed.
 *
 * Replacing (key_promote): the order of its steps is chosen so that a crash between any two of them leaves
 * a key that loads, and running it again completes it. */
#include "proof/key.h"

#include "base/file.h"
#include "base/hash.h"
#include "proof/key_heal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SEED_HEX = 2 * SIGN_SEED, PUBLIC_HEX = 2 * SIGN_PUBLIC };
static const char id_prefix[] = "ed25519:";

/* The seed and its hex form are in here, not on the stack, so that no copy of the secret is ever outside
 * the locked memory. */
struct key {
	uint8_t secret[SIGN_SECRET];
	uint8_t pub[SIGN_PUBLIC];
	bool is_locked;
	struct key_keeper keeper; /* who has the secret, when it is not here; all zeroes otherwise */
	/* The seed on its way between file and memory. */
	uint8_t seed[SIGN_SEED];
	char hex[SEED_HEX + 2];
};

/* Zeroed protected memory for a key.  Fails only when there is no memory; a system that cannot lock it is
 * noted in is_locked. */
static int key_new(struct key **ret, struct err *e)
{
	bool is_locked;
	struct key *k = secret_alloc(sizeof(*k), &is_locked);

	if (!k)
		return err_set(e, E_IO, "KEY_MEMORY", "no protected memory for a signing key");
	memset(k, 0, sizeof(*k));
	k->is_locked = is_locked;
	*ret = k;
	return OK;
}

void key_free(struct key **k)
{
	if (*k && (*k)->keeper.done)
		(*k)->keeper.done((*k)->keeper.arg);
	secret_free(*k);
	*k = NULL;
}

/* From the seed to a key that can sign.  The seed and its hex form are wiped, and the memory is made
 * read-only. */
static void key_finish(struct key *k)
{
	sign_expand(k->seed, k->secret, k->pub);
	secret_wipe(k->seed, sizeof(k->seed));
	secret_wipe(k->hex, sizeof(k->hex));
	secret_seal(k);
}

/* Refuses a secret that somebody else may read or have written: not a regular file, another owner, or a
 * mode open to group or others.  Asks the open file, so what was checked is what is read.  `file` is empty
 * for the directory itself. */
static int check_private(
	struct sys *s, int fd, bool want_dir, const char *dir, const char *file, struct err *e)
{
	const char *slash = file[0] ? "/" : "";
	struct stat st;

	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return err_sys(e, "KEY_READ", "cannot look at '%s%s%s'", dir, slash, file);
	if (!want_dir && !S_ISREG(st.st_mode))
		return err_set(e, E_INPUT, "KEY_FORMAT", "'%s%s%s' is not a regular file", dir, slash, file);
	if (st.st_uid != geteuid())
		return err_set(e, E_INPUT, "KEY_OWNER",
			"'%s%s%s' belongs to user %u, not to you; keys must be your own", dir, slash, file,
			(unsigned)st.st_uid);
	if (st.st_mode & 077)
		return err_set(e, E_INPUT, "KEY_MODE",
			"'%s%s%s' is open to others (mode %04o); run: chmod %s '%s%s%s'", dir, slash, file,
			(unsigned)(st.st_mode & 07777), want_dir ? "700" : "600", dir, slash, file);
	return OK;
}

/* The directory of keys.  It must be private too: whoever may write to it could exchange the files in it. */
static int open_keys(struct sys *s, int dirfd, const char *dir, int *ret_fd, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, dirfd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	/* O_DIRECTORY and O_NOFOLLOW together report a link as "not a directory". */
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(e, E_INPUT, "KEY_LINK",
			"'%s' is a symbolic link or no directory; keys are not read there", dir);
	if (fd < 0 && errno == ENOENT)
		return err_set(
			e, E_MISSING, "KEY_MISSING", "there is no key in '%s'; run: helm key create", dir);
	if (fd < 0)
		return err_sys(e, "KEY_READ", "cannot open '%s'", dir);
	int rc = check_private(s, fd, true, dir, "", e);
	if (rc)
		return rc;
	*ret_fd = fd;
	fd = -1;
	return OK;
}

/* O_NONBLOCK keeps a named pipe in the place of the key from hanging the program; check_private refuses it
 * then. */
static int open_secret(struct sys *s, int keys, const char *dir, const char *file, int *ret_fd, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, keys, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, 0);

	if (fd < 0 && errno == ELOOP)
		return err_set(e, E_INPUT, "KEY_LINK",
			"'%s/%s' is a symbolic link; keys are not read through links", dir, file);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, E_MISSING, "KEY_MISSING", "there is no key '%s/%s'; run: helm key create",
			dir, file);
	if (fd < 0)
		return err_sys(e, "KEY_READ", "cannot open '%s/%s'", dir, file);
	int rc = check_private(s, fd, false, dir, file, e);
	if (rc)
		return rc;
	*ret_fd = fd;
	fd = -1;
	return OK;
}

/* Exactly 64 hex digits; one newline at the end, as editors add it, is forgiven.  The buffer has room for
 * one byte more than that, so a longer file is noticed. */
static int read_seed(struct sys *s, int fd, struct key *k, const char *dir, const char *file, struct err *e)
{
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(k->hex) && (got = s->read(s, fd, k->hex + n, sizeof(k->hex) - n)) != 0) {
		if (got < 0)
			return err_sys(e, "KEY_READ", "cannot read '%s/%s'", dir, file);
		n += (size_t)got;
	}
	if (n == SEED_HEX + 1 && k->hex[SEED_HEX] == '\n')
		n--;
	if (!hex_decode(k->hex, n, k->seed, sizeof(k->seed), false))
		return err_set(e, E_CORRUPT, "KEY_FORMAT", "'%s/%s' is not a key: expected %d hex digits",
			dir, file, SEED_HEX);
	return OK;
}

static bool spells(struct bytes text, const uint8_t pub[SIGN_PUBLIC]);

/* A public half that is missing is no error.  One that is there must belong to the secret: if it does not,
 * one of the two was exchanged, and others may already have been given the wrong one.
 *
 * The usual case is compared and nothing else: what equals a public key made from a seed is a point of the
 * group, and proving that again would cost as much as four signatures, in every process that signs. */
static int check_public_file(
	struct sys *s, int keys, const char *dir, const char *file, const uint8_t *pub, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	uint8_t stored[SIGN_PUBLIC];
	struct bytes text;

	int rc = file_read(s, &a, keys, file, 1024, 0, &text, e);
	if (rc == E_MISSING)
		return OK;
	if (!rc && spells(text, pub))
		return OK;
	if (!rc)
		rc = key_parse_public(text, file, stored, e);
	if (rc)
		return err_wrap(e, "'%s'", dir);
	return err_set(e, E_CORRUPT, "KEY_MISMATCH",
		"'%s/%s' is not the public key of the secret beside it; one of them was exchanged", dir,
		file);
}

/* Names become file names: no way out of the directory, no hidden file. */
static int check_name(const char *name, struct err *e)
{
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') || strlen(name) > 64)
		return err_set(e, E_INPUT, "KEY_NAME", "'%.64s' cannot be the name of a key", name);
	return OK;
}

/* `check_pub`: the .pub is compared last, after the seed is known; until *ret is set the key is freed on every way out. */
static int load(struct sys *s, int dirfd, const char *dir, const char *name, bool check_pub, struct key **ret,
	struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	AUTO(close_fd) int keys = -1;
	AUTO(close_fd) int fd = -1;
	const char *file = arena_printf(&a, "%s.key", name);

	int rc = check_name(name, e);
	if (!rc)
		rc = open_keys(s, dirfd, dir, &keys, e);
	if (!rc)
		rc = open_secret(s, keys, dir, file, &fd, e);
	if (!rc)
		rc = key_new(&k, e);
	if (!rc)
		rc = read_seed(s, fd, k, dir, file, e);
	if (rc)
		return rc;
	key_finish(k);
	if (check_pub)
		rc = check_public_file(s, keys, dir, arena_printf(&a, "%s.pub", name), k->pub, e);
	if (rc)
		return rc;
	*ret = k;
	k = NULL;
	return OK;
}

int key_load(struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e)
{
	return load(s, dirfd, dir, name, true, ret, e);
}

int key_load_secret(
	struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e)
{
	return load(s, dirfd, dir, name, false, ret, e);
}

/* file_create refuses a name that is taken, so two processes that create the same key at once cannot
 * overwrite each other.  The secret goes from locked memory to the file and nowhere else. */
static int write_seed(struct sys *s, int keys, const char *file, struct key *k, struct err *e)
{
	if (s->random(s, k->seed, sizeof(k->seed)))
		return err_sys(e, "KEY_RANDOM", "the system gives no random numbers");
	hex_encode(k->seed, sizeof(k->seed), k->hex);
	return file_create(s, keys, file, 0600, (struct bytes){ (const uint8_t *)k->hex, SEED_HEX }, e);
}

/* May replace what is there: the public half can always be computed again. */
static int write_public(struct sys *s, int keys, const char *file, const uint8_t *pub, struct err *e)
{
	char hex[PUBLIC_HEX + 1];

	hex_encode(pub, SIGN_PUBLIC, hex);
	return file_replace(s, keys, file, 0644, (struct bytes){ (const uint8_t *)hex, PUBLIC_HEX }, e);
}

int key_write_public(
	struct sys *s, int dirfd, const char *dir, const char *name, const struct key *k, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int keys = -1;
	const char *file = arena_printf(&a, "%s.pub", name);
	int rc = check_name(name, e);

	if (!rc)
		rc = open_keys(s, dirfd, dir, &keys, e);
	if (rc)
		return rc;
	/* A link or a directory in its place is not replaced by a rename. */
	if (s->unlink(s, keys, file, 0) && errno == EISDIR)
		(void)s->unlink(s, keys, file, AT_REMOVEDIR);
	return write_public(s, keys, file, k->pub, e);
}

/* 64 places and 16 digits: a thousand seeds are tried.  All of them stay in the locked memory of `k`. */
static bool find_digit(struct key *k, const uint8_t pub[SIGN_PUBLIC])
{
	for (size_t at = 0; at < SEED_HEX; at++) {
		const char was = k->hex[at];
		for (int digit = 0; digit < 16; digit++) {
			k->hex[at] = "0123456789abcdef"[digit];
			if (!hex_decode(k->hex, SEED_HEX, k->seed, sizeof(k->seed), false))
				break; /* another place is wrong, too */
			sign_expand(k->seed, k->secret, k->pub);
			if (memcmp(k->pub, pub, SIGN_PUBLIC) == 0)
				return true;
		}
		k->hex[at] = was;
	}
	return false;
}

int key_mend(struct sys *s, int dirfd, const char *dir, const char *name, const uint8_t pub[SIGN_PUBLIC],
	struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	AUTO(close_fd) int keys = -1;
	AUTO(close_fd) int fd = -1;
	const char *file = arena_printf(&a, "%s.key", name);
	size_t n = 0;
	ssize_t got = 0;
	int rc = check_name(name, e);

	if (!rc)
		rc = open_keys(s, dirfd, dir, &keys, e);
	if (!rc)
		rc = open_secret(s, keys, dir, file, &fd, e);
	if (!rc)
		rc = key_new(&k, e);
	if (rc)
		return rc;
	while (n < sizeof(k->hex) && (got = s->read(s, fd, k->hex + n, sizeof(k->hex) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		return err_sys(e, "KEY_READ", "cannot read '%s/%s'", dir, file);
	if ((n != SEED_HEX && n != SEED_HEX + 1) || !find_digit(k, pub))
		return err_set(e, E_CORRUPT, "KEY_FORMAT",
			"'%s/%s' is no secret of this key in which one digit is wrong", dir, file);
	return file_replace(s, keys, file, 0600, (struct bytes){ (const uint8_t *)k->hex, SEED_HEX }, e);
}

/* After the secret is on the disk, a failure to write the public half is reported, but the key stays: it
 * is whole. */
int key_create(struct sys *s, int dirfd, const char *dir, const char *name, struct key **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	AUTO(close_fd) int keys = -1;

	int rc = check_name(name, e);
	if (!rc)
		rc = file_mkdirs(s, dirfd, dir, 0700, e);
	if (!rc)
		rc = open_keys(s, dirfd, dir, &keys, e);
	if (!rc)
		rc = key_new(&k, e);
	if (rc)
		return rc;
	struct err why = { 0 };
	if (write_seed(s, keys, arena_printf(&a, "%s.key", name), k, &why)) {
		if (strcmp(why.code, "FILE_EXISTS") == 0)
			return err_set(e, E_INPUT, "KEY_EXISTS",
				"there is a key '%s/%s.key' already; it is never overwritten", dir, name);
		return err_set(e, why.rc, why.code, "cannot create a key in '%s': %s", dir, why.text);
	}
	key_finish(k);
	rc = write_public(s, keys, arena_printf(&a, "%s.pub", name), k->pub, e);
	if (rc)
		return err_wrap(e, "the key was created in '%s', but not its public half", dir);
	*ret = k;
	k = NULL;
	return OK;
}

/* Overwrites the secret of a file whose name is gone already.  On file systems that never write in place
 * the old bytes may survive; more cannot be done from here. */
static int wipe_file(struct sys *s, int fd)
{
	static const char zeros[SEED_HEX] = { 0 };

	return s->write(s, fd, zeros, sizeof(zeros)) == (ssize_t)sizeof(zeros) ? s->fsync(s, fd) : -1;
}

/* Writes the public half that belongs to the secret in place now, whichever of the two keys that is. */
static int renew_public(struct sys *s, int dirfd, const char *dir, int keys, const char *name,
	const char *file, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	int rc = key_load(s, dirfd, dir, name, &k, e);

	return rc ? rc : write_public(s, keys, file, k->pub, e);
}

/* Steps, and what a crash after each leaves behind:
 *
 * - the .pub of `to` is removed: `to` still loads, its public half follows from its seed;
 * - the old secret is opened, to be wiped later; then `from` is renamed over it: `to` is the new key;
 * - the .pub of `to` is written from the new secret;
 * - the .pub of `from` is removed, which by now names nothing;
 * - the old secret, which has no name any more, is overwritten through the open descriptor.
 *
 * When `from` is gone the rename was done by an earlier call; the steps after it are repeated, except for
 * the wiping, for which there is nothing left to open. */
int key_promote(struct sys *s, int dirfd, const char *dir, const char *from, const char *to, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int keys = -1;
	AUTO(close_fd) int old = -1;
	const char *from_key = arena_printf(&a, "%s.key", from), *to_key = arena_printf(&a, "%s.key", to);
	const char *from_pub = arena_printf(&a, "%s.pub", from), *to_pub = arena_printf(&a, "%s.pub", to);
	struct stat st;

	int rc = open_keys(s, dirfd, dir, &keys, e);
	if (rc)
		return rc;
	bool is_moved = s->stat(s, keys, from_key, &st, AT_SYMLINK_NOFOLLOW) != 0;
	if (is_moved && errno != ENOENT)
		return err_sys(e, "KEY_READ", "cannot look at '%s/%s'", dir, from_key);
	/* A key loads without its public half, but not beside the public half of another.  So the old one
	 * goes first. */
	if (!is_moved && s->unlink(s, keys, to_pub, 0) && errno != ENOENT)
		return err_sys(e, "KEY_WRITE", "cannot replace '%s/%s'", dir, to_pub);
	old = is_moved ? -1 : s->open(s, keys, to_key, O_WRONLY | O_NOFOLLOW, 0, 0);
	if (!is_moved && (s->rename(s, keys, from_key, keys, to_key, 0) || s->fsync(s, keys)))
		return err_sys(e, "KEY_WRITE", "cannot put the new key in place in '%s'", dir);
	rc = renew_public(s, dirfd, dir, keys, to, to_pub, e);
	if (rc)
		return rc;
	if ((s->unlink(s, keys, from_pub, 0) && errno != ENOENT) || s->fsync(s, keys))
		return err_sys(e, "KEY_WRITE", "cannot remove '%s/%s'", dir, from_pub);
	if (old >= 0 && wipe_file(s, old))
		return err_sys(e, "KEY_WIPE",
			"the new key is in place, but the old one in '%s' could not be overwritten on the "
			"disk",
			dir);
	return OK;
}

/* The public half goes last: as long as it is there, somebody sees that this was not completed. */
int key_discard(struct sys *s, int dirfd, const char *dir, const char *name, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int keys = -1;
	AUTO(close_fd) int old = -1;
	const char *file = arena_printf(&a, "%s.key", name);
	int rc = open_keys(s, dirfd, dir, &keys, e);

	if (rc)
		return rc;
	old = s->open(s, keys, file, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	if (old >= 0)
		(void)wipe_file(s, old);
	if ((s->unlink(s, keys, file, 0) && errno != ENOENT) ||
		(s->unlink(s, keys, arena_printf(&a, "%s.pub", name), 0) && errno != ENOENT) ||
		s->fsync(s, keys))
		return err_sys(e, "KEY_WRITE", "cannot remove '%s/%s'", dir, file);
	return OK;
}

const uint8_t *key_public(const struct key *k)
{
	return k->pub;
}

bool key_is_locked(const struct key *k)
{
	return k->is_locked;
}

int key_from_seed(const uint8_t seed[SIGN_SEED], struct key **ret, struct err *e)
{
	struct key *k;

	if (key_new(&k, e))
		return E_IO;
	memcpy(k->seed, seed, SIGN_SEED);
	key_finish(k);
	*ret = k;
	return OK;
}

int key_new_kept(
	const uint8_t pub[SIGN_PUBLIC], const struct key_keeper *keeper, struct key **ret, struct err *e)
{
	struct key *k;
	int rc = key_new(&k, e);

	if (rc)
		return rc;
	memcpy(k->pub, pub, SIGN_PUBLIC);
	k->keeper = *keeper;
	secret_seal(k);
	*ret = k;
	return OK;
}

const struct key_keeper *key_keeper(const struct key *k)
{
	return k->keeper.ask ? &k->keeper : NULL;
}

/* Nothing goes on record with a signature that does not hold, whoever gave it. */
int key_ask(const struct key *k, enum key_use use, const struct json *whole, struct bytes preimage,
	uint8_t ret_sig[SIGN_SIZE], struct err *e)
{
	uint8_t sig[SIGN_SIZE];

	if (!k->keeper.ask) {
		key_sign(k, preimage, ret_sig);
		return OK;
	}
	int rc = k->keeper.ask(k->keeper.arg, use, whole, sig, e);
	if (rc)
		return rc;
	if (!sign_verify(k->pub, preimage, sig))
		return err_set(e, E_DENIED, "SIGNER_FALSE",
			"what the signer gave is no signature of its key; nothing was recorded");
	memcpy(ret_sig, sig, sizeof(sig));
	return OK;
}

void key_sign(const struct key *k, struct bytes msg, uint8_t ret_sig[SIGN_SIZE])
{
	if (k->keeper.ask)
		BUG("a key that is kept elsewhere cannot sign this");
	sign_message(k->secret, msg, ret_sig);
}

void key_id(const uint8_t pub[SIGN_PUBLIC], char ret_id[KEY_ID])
{
	memcpy(ret_id, id_prefix, sizeof(id_prefix));
	hex_encode(pub, SIGN_PUBLIC, ret_id + sizeof(id_prefix) - 1);
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The two spellings of a public key, 64 hex digits with or without the prefix of an id, and white space
 * around them.  Whether it is a safe one is not asked. */
static bool read_public(struct bytes text, uint8_t ret_pub[SIGN_PUBLIC])
{
	size_t skip = sizeof(id_prefix) - 1;

	while (text.n && is_space(text.p[text.n - 1]))
		text.n--;
	while (text.n && is_space(text.p[0]))
		text.p++, text.n--;
	if (text.n > skip && memcmp(text.p, id_prefix, skip) == 0)
		text.p += skip, text.n -= skip;
	return hex_decode((const char *)text.p, text.n, ret_pub, SIGN_PUBLIC, false);
}

/* Is it the public key `pub`, however spelled? */
static bool spells(struct bytes text, const uint8_t pub[SIGN_PUBLIC])
{
	uint8_t stored[SIGN_PUBLIC];

	return read_public(text, stored) && memcmp(stored, pub, sizeof(stored)) == 0;
}

bool key_is_public(const struct key *k, struct bytes text)
{
	return spells(text, k->pub);
}

/* ret_pub is written only on success, so a caller never holds half a key. */
int key_parse_public(struct bytes text, const char *where, uint8_t ret_pub[SIGN_PUBLIC], struct err *e)
{
	uint8_t pub[SIGN_PUBLIC];

	if (!read_public(text, pub))
		return err_set(e, E_INPUT, "KEY_FORMAT", "'%s' is not a public key: expected %d hex digits",
			where, PUBLIC_HEX);
	if (!sign_public_ok(pub))
		return err_set(e, E_INPUT, "KEY_WEAK",
			"'%s' is not a safe Ed25519 public key: not canonical, of small order, or outside "
			"the group",
			where);
	memcpy(ret_pub, pub, sizeof(pub));
	return OK;
}
