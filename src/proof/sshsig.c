/* sshsig.c — reads what OpenSSH writes: public key lines, and detached signatures (its PROTOCOL.sshsig and PROTOCOL.u2f).
 *
 * A detached signature is not over the message but over a small frame: a magic word, the namespace, a reserved text, the name of a
 * hash and the hash of the message.  The namespace keeps a signature that was made for one purpose (a git commit, a login) from
 * meaning anything for another.
 *
 * An authenticator does not sign that frame either, but
 *
 *	SHA-256(application) || flags || counter || SHA-256(frame)
 *
 * The application is what the key was made for ("ssh:"), so a web login with the same device is no signature here.  Bit 0 of the flags
 * says that somebody touched the device.  The counter is signed, but not compared with earlier ones: many devices count all their
 * keys together or not at all, and whoever answers a question twice is refused elsewhere.
 *
 * Everything here comes from strangers.  The reader never goes past the end, each length is compared before it is used, and what is
 * left over is an error: there is one spelling of a signature, so that no two files differ and mean the same. */
#include "proof/sshsig.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static const char plain_type[] = "ssh-ed25519", sk_type[] = "sk-ssh-ed25519@openssh.com";
static const char begin_line[] = "-----BEGIN SSH SIGNATURE-----\n",
		  end_line[] = "-----END SSH SIGNATURE-----";
static const char magic[] = "SSHSIG";
enum { MAGIC = sizeof(magic) - 1, VERSION = 1, TOUCHED = 1, PIN_GIVEN = 4, LINE_MAX_BYTES = 76 };

/* ---- reading; each moves `from` on, and is false when there is not enough ---- */

static bool take_u32(struct bytes *from, uint32_t *ret)
{
	if (from->n < 4)
		return false;
	*ret = (uint32_t)from->p[0] << 24 | (uint32_t)from->p[1] << 16 | (uint32_t)from->p[2] << 8 |
		from->p[3];
	from->p += 4;
	from->n -= 4;
	return true;
}

static bool take_bytes(struct bytes *from, size_t n, struct bytes *ret)
{
	if (from->n < n)
		return false;
	*ret = (struct bytes){ from->p, n };
	from->p += n;
	from->n -= n;
	return true;
}

/* A length and so many bytes. */
static bool take_string(struct bytes *from, struct bytes *ret)
{
	uint32_t n;

	return take_u32(from, &n) && take_bytes(from, n, ret);
}

static bool take_literal(struct bytes *from, const char *text)
{
	struct bytes got;

	return take_string(from, &got) && bytes_is(got, text);
}

/* A string of exactly n bytes. */
static bool take_fixed(struct bytes *from, uint8_t *to, size_t n)
{
	struct bytes got;

	if (!take_string(from, &got) || got.n != n)
		return false;
	memcpy(to, got.p, n);
	return true;
}

/* ---- writing ---- */

static void put_string(struct buf *to, struct bytes text)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(to, (char)(text.n >> shift));
	buf_add(to, text.p, text.n);
}

/* ---- keys ---- */

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool starts_with_word(struct bytes text, const char *word)
{
	size_t n = strlen(word);

	return text.n > n && memcmp(text.p, word, n) == 0 && text.p[n] == ' ';
}

/* Any OpenSSH key, also of algorithms that are refused then: the error is about the algorithm, not about hex digits. */
bool ssh_key_is_line(struct bytes text)
{
	return (text.n > 4 && memcmp(text.p, "ssh-", 4) == 0) ||
		(text.n > 3 && memcmp(text.p, "sk-", 3) == 0) ||
		(text.n > 6 && memcmp(text.p, "ecdsa-", 6) == 0);
}

/* The type stands in front of the line and again inside; both must agree. */
static bool read_blob(struct bytes blob, struct ssh_key *key)
{
	struct bytes rest = blob;

	if (!take_literal(&rest, key->is_sk ? sk_type : plain_type) ||
		!take_fixed(&rest, key->pub, sizeof(key->pub)))
		return false;
	if (key->is_sk &&
		(!take_string(&rest, &key->application) || key->application.n < 4 ||
			memcmp(key->application.p, "ssh:", 4) != 0))
		return false;
	key->blob = blob;
	return rest.n == 0;
}

int ssh_key_parse(struct arena *a, struct bytes line, const char *where, struct ssh_key *ret, struct err *e)
{
	struct ssh_key key = { .is_sk = starts_with_word(line, sk_type) };
	struct bytes blob;
	size_t skip = strlen(key.is_sk ? sk_type : plain_type) + 1, n = 0;

	if (line.n > SSH_KEY_LIMIT)
		return err_set(e, E_INPUT, "SSH_KEY_FORMAT", "'%s' is too long for a public key", where);
	if (!key.is_sk && !starts_with_word(line, plain_type))
		return err_set(e, E_INPUT, "SSH_KEY_TYPE",
			"'%s' is of an algorithm that is not verified here; use %s or %s", where, plain_type,
			sk_type);
	while (skip + n < line.n && !is_space(line.p[skip + n]))
		n++;
	if (!base64_decode(a, (const char *)line.p + skip, n, BASE64_STD, true, &blob) ||
		!read_blob(blob, &key))
		return err_set(e, E_INPUT, "SSH_KEY_FORMAT", "'%s' is not a public key of OpenSSH", where);
	if (!sign_public_ok(key.pub))
		return err_set(e, E_INPUT, "KEY_WEAK",
			"'%s' is not a safe Ed25519 public key: not canonical, of small order, or outside "
			"the group",
			where);
	*ret = key;
	return OK;
}

char *ssh_key_text(struct arena *a, const struct ssh_key *key)
{
	return arena_printf(a, "%s %s", key->is_sk ? sk_type : plain_type,
		base64_encode(a, key->blob.p, key->blob.n, BASE64_STD, true));
}

char *ssh_key_fingerprint(struct arena *a, const struct ssh_key *key)
{
	uint8_t digest[SHA256_SIZE];

	sha256(key->blob.p, key->blob.n, digest);
	return arena_printf(a, "SHA256:%s", base64_encode(a, digest, sizeof(digest), BASE64_STD, false));
}

/* ---- signatures ---- */

/* Begin line, base64 in lines, end line, nothing else; the newline behind the last line may be missing. */
static bool read_armour(struct arena *a, struct bytes text, struct bytes *ret)
{
	size_t head = sizeof(begin_line) - 1, tail = sizeof(end_line) - 1, column = 0;
	struct buf joined;

	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	if (text.n > SSHSIG_LIMIT || text.n < head + tail || memcmp(text.p, begin_line, head) != 0 ||
		memcmp(text.p + text.n - tail, end_line, tail) != 0)
		return false;
	buf_init(&joined, a);
	for (size_t i = head; i < text.n - tail; i++) {
		bool is_end = text.p[i] == '\n';
		/* No empty line, none that is too long. */
		if (is_end ? column == 0 : column == LINE_MAX_BYTES)
			return false;
		column = is_end ? 0 : column + 1;
		if (!is_end)
			buf_addc(&joined, (char)text.p[i]);
	}
	return column == 0 && joined.n && base64_decode(a, joined.p, joined.n, BASE64_STD, true, ret);
}

/* The parts of the file, not yet judged. */
struct parts {
	struct bytes key, name_space, reserved, hash, signature;
};

static bool read_parts(struct bytes blob, struct parts *ret)
{
	struct bytes word;
	uint32_t version;

	return take_bytes(&blob, MAGIC, &word) && bytes_is(word, magic) && take_u32(&blob, &version) &&
		version == VERSION && take_string(&blob, &ret->key) && take_string(&blob, &ret->name_space) &&
		take_string(&blob, &ret->reserved) && take_string(&blob, &ret->hash) &&
		take_string(&blob, &ret->signature) && blob.n == 0;
}

/* The frame that is signed in the place of the message.  False for a hash we do not know. */
static bool make_frame(struct parts *p, struct bytes message, struct buf *to)
{
	uint8_t digest[SHA512_SIZE];
	size_t n = bytes_is(p->hash, "sha512") ? SHA512_SIZE : bytes_is(p->hash, "sha256") ? SHA256_SIZE : 0;

	if (n == SHA512_SIZE)
		sha512(message, digest);
	else if (n)
		sha256(message.p, message.n, digest);
	buf_add(to, magic, MAGIC);
	put_string(to, p->name_space);
	put_string(to, p->reserved);
	put_string(to, p->hash);
	put_string(to, (struct bytes){ digest, n });
	return n != 0;
}

/* What an authenticator signs in the place of the frame. */
static struct bytes sk_message(
	struct arena *a, const struct ssh_key *key, uint8_t flags, uint32_t counter, struct bytes frame)
{
	uint8_t digest[SHA256_SIZE];
	struct buf b;

	buf_init(&b, a);
	sha256(key->application.p, key->application.n, digest);
	buf_add(&b, digest, sizeof(digest));
	buf_addc(&b, (char)flags);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_addc(&b, (char)(counter >> shift));
	sha256(frame.p, frame.n, digest);
	buf_add(&b, digest, sizeof(digest));
	return buf_bytes(&b);
}

static int check_signature(struct arena *a, const struct ssh_key *key, struct bytes blob, struct bytes frame,
	struct sshsig_facts *ret, struct err *e)
{
	struct sshsig_facts facts = { 0 };
	uint8_t signature[SIGN_SIZE];
	struct bytes flags = { (const uint8_t *)"", 0 };
	bool is_whole = take_literal(&blob, key->is_sk ? sk_type : plain_type) &&
		take_fixed(&blob, signature, sizeof(signature)) &&
		(!key->is_sk || (take_bytes(&blob, 1, &flags) && take_u32(&blob, &facts.counter))) &&
		blob.n == 0;

	if (!is_whole)
		return err_set(
			e, E_INPUT, "SSHSIG_FORMAT", "the signature is not one of the key's algorithm");
	if (key->is_sk)
		frame = sk_message(a, key, flags.p[0], facts.counter, frame);
	if (!sign_verify(key->pub, frame, signature))
		return err_set(e, E_DENIED, "SSHSIG_INVALID",
			"the signature is not over this text, or not by this key");
	if (key->is_sk && !(flags.p[0] & TOUCHED))
		return err_set(e, E_DENIED, "SSHSIG_PRESENCE",
			"the authenticator signed without being touched, so nobody was there");
	facts.is_verified = key->is_sk && (flags.p[0] & PIN_GIVEN);
	*ret = facts;
	return OK;
}

int sshsig_verify(struct arena *a, const struct ssh_key *key, const char *name_space, struct bytes message,
	struct bytes text, struct sshsig_facts *ret, struct err *e)
{
	struct parts p;
	struct bytes blob;
	struct buf frame;

	buf_init(&frame, a);
	if (!read_armour(a, text, &blob) || !read_parts(blob, &p))
		return err_set(e, E_INPUT, "SSHSIG_FORMAT",
			"this is not a signature of OpenSSH; make one with: ssh-keygen -Y sign -n %s",
			name_space);
	if (!bytes_eq(p.key, key->blob))
		return err_set(e, E_DENIED, "SSHSIG_KEY", "the signature is by another key");
	if (!bytes_is(p.name_space, name_space))
		return err_set(e, E_DENIED, "SSHSIG_NAMESPACE",
			"the signature was made for something else; the namespace is %s", name_space);
	if (p.reserved.n || !make_frame(&p, message, &frame))
		return err_set(e, E_INPUT, "SSHSIG_FORMAT",
			"the signature uses a hash or an extension that is not known here");
	return check_signature(a, key, p.signature, buf_bytes(&frame), ret, e);
}
