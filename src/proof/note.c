/* note.c — signed notes: keys as text, strict reading, verification, signing, and the text of a checkpoint.
 *
 * A signature line names its key twice: by name, and by four bytes of a hash over name, algorithm and key.  Four bytes are no proof of
 * anything; they only say which key is meant.  So a line that means a key we know has to hold under it, and a line that means another
 * one says nothing, whatever its name.
 *
 * The text ends at the last empty line of the note, so no text can bring along lines that look like signatures. */
#include "proof/note.h"

#include "base/hash.h"

#include <string.h>

static const char dash[] = "\xe2\x80\x94 "; /* each signature line begins with it */
static const char private_prefix[] = "PRIVATE+KEY+";
enum { DASH = sizeof(dash) - 1, ID = 4, ID_HEX = 8, TIME = 8, HASH_TEXT = 44, KEY_TEXT = 44 };

/* ---- names and keys ---- */

/* As Unicode has them: whoever reads a line by cutting at spaces must find the same words. */
static bool is_space(uint32_t cp)
{
	return cp <= 0x20 || cp == 0x7f || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
		(cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
		cp == 0x205f || cp == 0x3000;
}

bool note_name_ok(struct bytes name)
{
	if (!name.n || name.n > NOTE_NAME_MAX)
		return false;
	for (size_t at = 0, n; at < name.n; at += n) {
		uint32_t cp = 0;
		n = text_decode((const char *)name.p + at, name.n - at, &cp);
		if (!n || cp == '+' || is_space(cp))
			return false;
	}
	return true;
}

struct note_key note_key_of(const char *name, enum note_type type, const uint8_t pub[SIGN_PUBLIC])
{
	struct note_key key = { .name = name, .type = type };
	uint8_t tag = (uint8_t)type, digest[SHA256_SIZE];
	struct sha256 h;

	memcpy(key.pub, pub, SIGN_PUBLIC);
	sha256_begin(&h);
	sha256_add(&h, name, strlen(name));
	sha256_add(&h, "\n", 1);
	sha256_add(&h, &tag, 1);
	sha256_add(&h, pub, SIGN_PUBLIC);
	sha256_end(&h, digest);
	for (int i = 0; i < ID; i++)
		key.id = key.id << 8 | digest[i];
	return key;
}

static int no_key(const char *where, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "NOTE_KEY", "%s is no key of a signed note: %s", where, why);
}

/* NAME+ID+ at the beginning; what is behind goes to *rest, and may have a '+' of its own. */
static bool take_name_and_id(struct bytes *rest, struct bytes *ret_name, uint32_t *ret_id)
{
	struct bytes id;
	uint8_t raw[ID];

	*ret_name = text_cut(rest, '+');
	id = text_cut(rest, '+');
	if (!rest->p || !note_name_ok(*ret_name) || !hex_decode((const char *)id.p, id.n, raw, ID, true))
		return false;
	*ret_id = (uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 | (uint32_t)raw[2] << 8 | raw[3];
	return true;
}

int note_key_parse(struct arena *a, struct bytes text, const char *where, struct note_key *ret, struct err *e)
{
	struct bytes rest = text, name, raw;
	uint32_t id;

	if (!take_name_and_id(&rest, &name, &id))
		return no_key(where, "it has to read NAME+ID+BASE64", e);
	if (!base64_decode(a, (const char *)rest.p, rest.n, BASE64_STD, true, &raw) || !raw.n)
		return no_key(where, "what follows the last '+' is not base64", e);
	if (raw.p[0] != NOTE_ED25519 && raw.p[0] != NOTE_COSIGNATURE)
		return err_set(e, E_INPUT, "NOTE_KEY_TYPE",
			"%s is a key for algorithm 0x%02x; only Ed25519 (0x01) and its cosignatures (0x04) can be checked",
			where, raw.p[0]);
	if (raw.n != 1 + SIGN_PUBLIC || !sign_public_ok(raw.p + 1))
		return no_key(where, "it holds no usable Ed25519 key", e);
	struct note_key key = note_key_of(
		arena_strndup(a, (const char *)name.p, name.n), (enum note_type)raw.p[0], raw.p + 1);
	if (key.id != id)
		return no_key(where, "its id does not follow from name and key; one of them was changed", e);
	*ret = key;
	return OK;
}

char *note_key_text(struct arena *a, const struct note_key *key)
{
	uint8_t raw[1 + SIGN_PUBLIC];

	raw[0] = (uint8_t)key->type;
	memcpy(raw + 1, key->pub, SIGN_PUBLIC);
	return arena_printf(a, "%s+%08x+%s", key->name, (unsigned)key->id,
		base64_encode(a, raw, sizeof(raw), BASE64_STD, true));
}

static int base64_digit(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* A secret may not pass through an arena, so base64_decode() is not for it.  33 bytes are 44 digits without padding. */
static bool decode_secret(struct bytes text, uint8_t to[1 + SIGN_SEED])
{
	if (text.n != KEY_TEXT)
		return false;
	for (size_t i = 0; i < KEY_TEXT; i += 4) {
		uint32_t three = 0;
		for (size_t k = 0; k < 4; k++) {
			int digit = base64_digit(text.p[i + k]);
			if (digit < 0)
				return false;
			three = three << 6 | (uint32_t)digit;
		}
		for (size_t k = 0; k < 3; k++)
			to[i / 4 * 3 + k] = (uint8_t)(three >> (16 - 8 * k));
	}
	return true;
}

int note_secret_parse(struct arena *a, struct bytes text, const char *where, struct note_key *ret,
	struct key **ret_secret, struct err *e)
{
	size_t prefix = sizeof(private_prefix) - 1;
	uint8_t raw[1 + SIGN_SEED];
	struct bytes rest, name;
	struct key *secret = NULL;
	uint32_t id;

	if (text.n < prefix || memcmp(text.p, private_prefix, prefix) != 0)
		return no_key(where, "a secret begins with PRIVATE+KEY+", e);
	rest = (struct bytes){ text.p + prefix, text.n - prefix };
	if (!take_name_and_id(&rest, &name, &id) || !decode_secret(rest, raw) ||
		(raw[0] != NOTE_ED25519 && raw[0] != NOTE_COSIGNATURE)) {
		secret_wipe(raw, sizeof(raw));
		return no_key(where, "it has to read PRIVATE+KEY+NAME+ID+BASE64, for Ed25519", e);
	}
	enum note_type type = (enum note_type)raw[0];
	bool is_made = key_from_seed(raw + 1, &secret, e) == OK;
	secret_wipe(raw, sizeof(raw));
	if (!is_made)
		return E_IO;
	struct note_key key =
		note_key_of(arena_strndup(a, (const char *)name.p, name.n), type, key_public(secret));
	if (key.id != id) {
		key_free(&secret);
		return no_key(where, "its id does not follow from name and key; one of them was changed", e);
	}
	*ret = key;
	*ret_secret = secret;
	return OK;
}

/* ---- reading ---- */

static int no_note(const char *where, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "NOTE_FORMAT", "%s is no signed note: %s", where, why);
}

/* One line, without its newline. */
static bool parse_line(struct arena *a, struct bytes line, struct note_signature *ret)
{
	struct bytes rest, raw;

	if (line.n < DASH || memcmp(line.p, dash, DASH) != 0)
		return false;
	rest = (struct bytes){ line.p + DASH, line.n - DASH };
	ret->name = text_cut(&rest, ' ');
	if (!rest.p || !note_name_ok(ret->name) ||
		!base64_decode(a, (const char *)rest.p, rest.n, BASE64_STD, true, &raw) || raw.n <= ID)
		return false;
	ret->id = (uint32_t)raw.p[0] << 24 | (uint32_t)raw.p[1] << 16 | (uint32_t)raw.p[2] << 8 | raw.p[3];
	ret->raw = (struct bytes){ raw.p + ID, raw.n - ID };
	ret->line = (struct bytes){ line.p, line.n + 1 };
	return true;
}

int note_parse_signatures(
	struct arena *a, struct bytes lines, const char *where, struct note *ret, struct err *e)
{
	struct note_signature list[NOTE_SIGNATURES];
	size_t n = 0;

	if (lines.n > NOTE_LIMIT)
		return err_set(e, E_LIMIT, "NOTE_LONG", "%s is longer than %d bytes", where, NOTE_LIMIT);
	if (!lines.n || lines.p[lines.n - 1] != '\n')
		return no_note(where, "it does not end in a signature line", e);
	while (lines.n) {
		if (n == NOTE_SIGNATURES)
			return err_set(e, E_LIMIT, "NOTE_LONG", "%s has more than %d signatures", where,
				NOTE_SIGNATURES);
		if (!parse_line(a, text_cut(&lines, '\n'), &list[n++]))
			return no_note(where, "a signature line is not spelled as one", e);
	}
	ret->list = arena_alloc(a, n * sizeof(*list));
	memcpy(ret->list, list, n * sizeof(*list));
	ret->n = n;
	return OK;
}

/* Where the signature lines begin, behind the last empty line; 0 when there is none. */
static size_t signatures_at(struct bytes text)
{
	for (size_t i = text.n; i >= 2; i--)
		if (text.p[i - 1] == '\n' && text.p[i - 2] == '\n')
			return i;
	return 0;
}

int note_parse(struct arena *a, struct bytes text, const char *where, struct note *ret, struct err *e)
{
	size_t at;

	if (text.n > NOTE_LIMIT)
		return err_set(e, E_LIMIT, "NOTE_LONG", "%s is longer than %d bytes", where, NOTE_LIMIT);
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < 0x20 && text.p[i] != '\n')
			return no_note(where, "it has a control character", e);
	if (text_utf8_valid((const char *)text.p, text.n) != text.n)
		return no_note(where, "it is not UTF-8", e);
	at = signatures_at(text);
	if (!at)
		return no_note(where, "no empty line divides its text from its signatures", e);
	ret->text = (struct bytes){ text.p, at - 1 };
	return note_parse_signatures(a, (struct bytes){ text.p + at, text.n - at }, where, ret, e);
}

/* ---- verifying and signing ---- */

static bool is_of(const struct note_signature *s, const struct note_key *key)
{
	return s->id == key->id && bytes_is(s->name, key->name);
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < TIME; i++)
		v = v << 8 | p[i];
	return v;
}

static bool holds(struct arena *a, const struct note *note, const struct note_signature *s,
	const struct note_key *key, uint64_t *ret_time)
{
	size_t front = key->type == NOTE_COSIGNATURE ? TIME : 0;
	uint64_t time = 0;

	if (s->raw.n != front + SIGN_SIZE)
		return false;
	if (front)
		time = get_u64(s->raw.p);
	if (time > INT64_MAX)
		return false;
	*ret_time = time;
	return sign_verify(key->pub, note_message(a, key, note->text, time), s->raw.p + front);
}

int note_verify(struct arena *a, const struct note *note, const struct note_key *keys, size_t n,
	struct note_seen *ret_seen, struct err *e)
{
	bool is_signed = false;

	for (size_t k = 0; k < n; k++)
		ret_seen[k] = (struct note_seen){ 0 };
	for (size_t i = 0; i < note->n; i++)
		for (size_t k = 0; k < n; k++) {
			const struct note_signature *s = &note->list[i];
			uint64_t time = 0;
			if (!is_of(s, &keys[k]))
				continue;
			if (!holds(a, note, s, &keys[k], &time))
				return err_set(e, E_INPUT, "NOTE_SIGNATURE",
					"the signature of %s on this note is false: the note was changed, or it never signed it",
					keys[k].name);
			if (!ret_seen[k].has_signed)
				ret_seen[k] = (struct note_seen){ true, time, s->line };
			is_signed = true;
		}
	return is_signed ? OK
			 : err_set(e, E_INPUT, "NOTE_UNSIGNED",
				   "the note has no signature of a known key; it says nothing");
}

struct bytes note_message(struct arena *a, const struct note_key *key, struct bytes text, uint64_t time)
{
	struct buf b;

	if (key->type != NOTE_COSIGNATURE)
		return text;
	buf_init(&b, a);
	buf_addf(&b, "cosignature/v1\ntime %llu\n", (unsigned long long)time);
	buf_add(&b, text.p, text.n);
	return buf_bytes(&b);
}

void note_add_line(struct buf *to, const struct note_key *key, uint64_t time, const uint8_t sig[SIGN_SIZE])
{
	uint8_t raw[ID + TIME + SIGN_SIZE];
	size_t n = 0;

	for (int i = 0; i < ID; i++)
		raw[n++] = (uint8_t)(key->id >> (24 - 8 * i));
	for (int i = 0; key->type == NOTE_COSIGNATURE && i < TIME; i++)
		raw[n++] = (uint8_t)(time >> (56 - 8 * i));
	memcpy(raw + n, sig, SIGN_SIZE);
	buf_addf(
		to, "%s%s %s\n", dash, key->name, base64_encode(to->a, raw, n + SIGN_SIZE, BASE64_STD, true));
}

void note_sign(struct buf *to, const struct note_key *key, const struct key *secret, struct bytes text,
	uint64_t time)
{
	uint8_t sig[SIGN_SIZE];

	key_sign(secret, note_message(to->a, key, text, time), sig);
	note_add_line(to, key, time, sig);
}

/* ---- checkpoints ---- */

char *tlog_head_text(struct arena *a, const struct tlog_head *head)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "%s\n%llu\n", head->origin, (unsigned long long)head->size);
	note_add_hash(&b, &head->root);
	buf_addc(&b, '\n');
	return b.p;
}

int tlog_head_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_head *ret, struct err *e)
{
	struct bytes origin = text_cut(&text, '\n'), size = text_cut(&text, '\n'),
		     root = text_cut(&text, '\n');
	struct tlog_head head;

	if (!note_name_ok(origin) || !note_number(size, &head.size) || !note_hash(root, &head.root) ||
		!text.p)
		return err_set(e, E_INPUT, "TLOG_HEAD",
			"%s is no checkpoint of a log: it has to be an origin, a size and a root, one on each line",
			where);
	if (text.n)
		return err_set(e, E_INPUT, "TLOG_EXTENSION",
			"%s has extension lines behind the root; nobody can audit those, so they are refused",
			where);
	head.origin = arena_strndup(a, (const char *)origin.p, origin.n);
	*ret = head;
	return OK;
}

bool tlog_head_eq(const struct tlog_head *x, const struct tlog_head *y)
{
	return x->size == y->size && hash_eq(&x->root, &y->root) && text_eq(x->origin, y->origin);
}

void note_add_hash(struct buf *to, const struct hash *h)
{
	buf_adds(to, base64_encode(to->a, h->b, SHA256_SIZE, BASE64_STD, true));
}

bool note_hash(struct bytes text, struct hash *ret)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes raw;

	if (text.n != HASH_TEXT || !base64_decode(&a, (const char *)text.p, text.n, BASE64_STD, true, &raw) ||
		raw.n != SHA256_SIZE)
		return false;
	memcpy(ret->b, raw.p, SHA256_SIZE);
	return true;
}

bool note_number(struct bytes text, uint64_t *ret)
{
	uint64_t v = 0;

	if (!text.n || text.n > 19 || (text.n > 1 && text.p[0] == '0'))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		v = v * 10 + (uint64_t)(text.p[i] - '0');
	}
	*ret = v;
	return v <= INT64_MAX;
}
