/* signer.c — what the keeper of a key signs for others, and what it refuses.
 *
 * Per chain one file: its first line says where the file begins (place, hash, Merkle edge, the standing word), each further line is a
 * receipt as it was signed.  A receipt is appended and synced before its signature is given away.  So after a kill at any moment the
 * signer knows at least what it has given, and for one place it never gives two.
 *
 * Whoever asks and does not get to write (killed, disk full) is behind then.  Their next question is for a place that is taken; the
 * answer brings what stands there, and they take it before they go on.  A question that fits to no place at all is a chain that was
 * cut or rewritten, and gets nothing. */
#include "kernel/signer.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/fleet/fleet.h"
#include "kernel/operator_files.h"
#include "kernel/passkey.h"
#include "kernel/person.h"
#include "proof/merkle.h"
#include "proof/preimage.h"
#include "proof/sshsig.h"
#include "record/record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define CHAINS "signer/chains"
#define ACTS "signer/acts.txt"
enum { KEEP = 64, LIMIT = 256, CACHED = 32, CHAINS_MOST = 1000, ACTS_MAX = 64 << 20, TRUST_MAX = 1 << 20 };
/* A chain's file is shortened when it is as long, and then as much of it is kept. */
enum { LONG = 8 << 20, LONG_KEPT = 4 << 20, FILE_MAX = 64 << 20 };

/* One chain, as far as its file says. */
struct signed_chain {
	struct arena a;
	char *id, *path;
	uint64_t base; /* so many receipts came before those of the file */
	struct hash base_last;
	struct merkle base_tree;
	struct hash recent[LIMIT]; /* chain hashes of the receipts in the file */
	size_t n;
	size_t bytes; /* of the file */
	struct json *word; /* the newest standing word that was signed; an empty object when there is none */
	struct signed_chain *next;
};

struct signer {
	struct sys *sys;
	struct arena a;
	const char *home;
	int home_fd, lock_fd;
	struct key *key;
	char pub[2 * SIGN_PUBLIC + 1];
	uid_t asks; /* who asks now */
	struct signed_chain *chains; /* the newest used one first */
};

/* ---- answers ---- */

static struct json *refuse(struct arena *a, const char *code, const char *text)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "error", code);
	json_sets(a, doc, "text", text);
	return doc;
}

static struct json *sign(struct signer *g, struct arena *a, struct bytes preimage)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	uint8_t raw[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	key_sign(g->key, preimage, raw);
	hex_encode(raw, SIGN_SIZE, hex);
	json_sets(a, doc, "signature", hex);
	return doc;
}

/* ---- chains on disk ---- */

static void chain_free(struct signed_chain *c)
{
	arena_done(&c->a);
	free(c);
}

static struct hash chain_last(const struct signed_chain *c)
{
	return c->n ? c->recent[c->n - 1] : c->base_last;
}

static uint64_t chain_clock(const struct signed_chain *c)
{
	return c->base + c->n;
}

/* The tree over the first `size` receipts; the caller knows that the file reaches so far. */
static struct merkle chain_tree(const struct signed_chain *c, uint64_t size)
{
	struct merkle tree = c->base_tree;

	for (size_t i = 0; c->base + i < size; i++) {
		struct hash leaf = merkle_leaf(c->recent[i].b, SHA256_SIZE);
		merkle_append(&tree, &leaf);
	}
	return tree;
}

/* The standing word in a receipt, or NULL. */
static const struct json *word_in(const struct json *receipt)
{
	const struct json *word = json_get(json_get(receipt, "metadata"), "posture");

	return json_is(word, JSON_OBJECT) ? word : NULL;
}

static struct json *first_line(struct arena *a, const struct signed_chain *c, uint64_t size)
{
	struct json *doc = json_new(a, JSON_OBJECT), *edge = json_new(a, JSON_ARRAY);
	struct merkle tree = chain_tree(c, size);

	json_seti(a, doc, "version", 1);
	json_sets(a, doc, "chain_id", c->id);
	json_seti(a, doc, "clock", (int64_t)size);
	json_sets(a, doc, "last",
		size > c->base ? hash_hex(a, &c->recent[size - c->base - 1]) : hash_hex(a, &c->base_last));
	for (int k = 0; k < MERKLE_MAX_PATH && tree.size >> k; k++)
		json_pushs(a, edge, tree.size >> k & 1 ? hash_hex(a, &tree.edge[k]) : "");
	json_set(a, doc, "edge", edge);
	json_set(a, doc, "word", c->word);
	return doc;
}

static bool read_first(struct signed_chain *c, const struct json *doc)
{
	const struct json *edge = json_get(doc, "edge");
	int64_t clock = json_get_int(doc, "clock", -1);

	if (json_get_int(doc, "version", 0) != 1 || clock < 0 || !json_is(edge, JSON_ARRAY) ||
		edge->n > MERKLE_MAX_PATH || !text_eq(json_get_text(doc, "chain_id", ""), c->id) ||
		!hash_from_hex(json_get_text(doc, "last", ""), &c->base_last))
		return false;
	c->base = c->base_tree.size = (uint64_t)clock;
	for (uint32_t k = 0; k < edge->n; k++)
		if ((c->base >> k & 1) && !hash_from_hex(json_text(edge->items[k]), &c->base_tree.edge[k]))
			return false;
	c->word = json_copy(&c->a, json_get(doc, "word"));
	return (!clock || c->base >> (edge->n - 1) == 1) && json_is(c->word, JSON_OBJECT);
}

/* A last line without its newline was never answered with a signature. */
static int read_chain(struct signer *g, struct signed_chain *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes text;
	bool is_first = true;
	int rc = file_read(g->sys, &a, g->home_fd, c->path, FILE_MAX, 0, &text, e);

	if (rc == E_MISSING)
		return OK;
	c->bytes = rc ? 0 : text.n;
	while (rc == OK && text.n) {
		struct bytes line = text_cut(&text, '\n');
		struct json *doc;
		if (!text.p)
			break;
		bool ok = json_parse(&a, line, c->path, NULL, &doc, NULL) == OK && c->n < LIMIT &&
			(is_first ? read_first(c, doc)
				  : receipt_chain_hash(&a, doc, c->recent[c->n].b, NULL) == OK);
		if (!ok)
			return err_set(e, E_CORRUPT, "SIGNER_STATE",
				"%s/%s is damaged: put it back from a copy", g->home, c->path);
		if (!is_first && word_in(doc))
			c->word = json_copy(&c->a, word_in(doc));
		c->n += !is_first;
		is_first = false;
	}
	return rc;
}

static const char *chains_of(const struct signer *g, struct arena *a)
{
	return arena_printf(a, CHAINS "/%lu", (unsigned long)g->asks);
}

/* Its file lies with those of whoever began it.  Others may continue it: several users can work in one place. */
static char *chain_path(struct signer *g, struct arena *a, const char *id)
{
	const char *name = arena_printf(a, "%s.jsonl", sha256_hex(a, id, strlen(id)));
	char **users = NULL;
	size_t n = 0;
	struct stat st;

	(void)file_list(g->sys, a, g->home_fd, CHAINS, &users, &n, NULL);
	for (size_t i = 0; i < n; i++) {
		/* Before they had users, they lay beside each other. */
		char *path = text_eq(users[i], name) ? arena_printf(a, CHAINS "/%s", name)
						     : arena_printf(a, CHAINS "/%s/%s", users[i], name);
		if (g->sys->stat(g->sys, g->home_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return path;
	}
	return arena_printf(a, "%s/%s", chains_of(g, a), name);
}

static int chain_get(struct signer *g, const char *id, struct signed_chain **ret, struct err *e)
{
	size_t n = 0;

	for (struct signed_chain **at = &g->chains, *c; (c = *at); at = &c->next, n++)
		if (text_eq(c->id, id)) {
			*at = c->next;
			c->next = g->chains;
			g->chains = *ret = c;
			return OK;
		} else if (n >= CACHED) {
			*at = c->next;
			chain_free(c);
			break;
		}
	struct signed_chain *c = calloc(1, sizeof(*c));
	if (!c)
		mem_exhausted(0);
	c->id = arena_strdup(&c->a, id);
	c->path = chain_path(g, &c->a, id);
	c->word = json_new(&c->a, JSON_OBJECT);
	int rc = read_chain(g, c, e);
	if (rc) {
		chain_free(c);
		return rc;
	}
	c->next = g->chains;
	g->chains = *ret = c;
	return OK;
}

/* What is in memory may not be what is on disk: it is read again for the next question. */
static void chain_drop(struct signer *g, struct signed_chain *gone)
{
	for (struct signed_chain **at = &g->chains; *at; at = &(*at)->next)
		if (*at == gone) {
			*at = gone->next;
			chain_free(gone);
			return;
		}
}

static struct bytes line_of(struct arena *a, const struct json *doc)
{
	struct buf b;

	buf_init(&b, a);
	json_canonical(&b, doc);
	return buf_bytes(&b);
}

/* The newest receipts of the file, in a new file that begins right before them: KEEP, or as many as fit. */
static int chain_shorten(struct signer *g, struct arena *a, struct signed_chain *c, struct err *e)
{
	size_t starts[LIMIT], keep = 0;
	struct bytes text;
	struct buf b;
	int rc = file_read(g->sys, a, g->home_fd, c->path, FILE_MAX, 0, &text, e);

	if (rc)
		return rc;
	const uint8_t *file = text.p;
	(void)text_cut(&text, '\n');
	for (size_t i = 0; i < c->n; i++) {
		starts[i] = (size_t)(text.p - file);
		(void)text_cut(&text, '\n');
	}
	size_t end = (size_t)(text.p - file);
	while (keep < KEEP && keep + 1 < c->n && (!keep || end - starts[c->n - keep - 1] <= LONG_KEPT))
		keep++;
	uint64_t from = chain_clock(c) - keep;
	size_t gone = c->n - keep;
	buf_init(&b, a);
	json_canonical(&b, first_line(a, c, from));
	buf_addc(&b, '\n');
	if (keep)
		buf_add(&b, file + starts[gone], end - starts[gone]);
	rc = file_replace(g->sys, g->home_fd, c->path, 0600, buf_bytes(&b), e);
	if (rc)
		return rc;
	c->base_tree = chain_tree(c, from);
	c->base_last = c->recent[gone - 1];
	memmove(c->recent, c->recent + gone, keep * sizeof(*c->recent));
	c->base = from;
	c->n = keep;
	c->bytes = b.n;
	return OK;
}

/* A new chain's file, which has no receipts yet. */
static int chain_begin(struct signer *g, struct arena *a, struct signed_chain *c, struct err *e)
{
	struct buf b;
	int rc = file_mkdirs(g->sys, g->home_fd, chains_of(g, a), 0700, e);

	buf_init(&b, a);
	json_canonical(&b, first_line(a, c, 0));
	buf_addc(&b, '\n');
	c->bytes = b.n;
	return rc ? rc : file_replace(g->sys, g->home_fd, c->path, 0600, buf_bytes(&b), e);
}

/* On disk when this returns OK. */
static int chain_append(
	struct signer *g, struct arena *a, struct signed_chain *c, const struct json *receipt, struct err *e)
{
	struct bytes line = line_of(a, receipt);
	int rc = !chain_clock(c) ? chain_begin(g, a, c, e) : OK;

	if (rc == OK && (c->n == LIMIT || c->bytes > LONG))
		rc = chain_shorten(g, a, c, e);
	c->bytes += line.n + 1;
	return rc ? rc : file_append_line(g->sys, g->home_fd, c->path, 0600, line, NULL, e);
}

/* Has whoever asks begun as many chains as one user may?  Otherwise they could fill the disk with them. */
static bool has_too_many(struct signer *g, struct arena *a)
{
	char **names = NULL;
	size_t n = 0;
	int rc = file_list(g->sys, a, g->home_fd, chains_of(g, a), &names, &n, NULL);

	return rc ? rc != E_MISSING : n >= CHAINS_MOST;
}

/* What stands in the file from `clock` on, as much of it as goes into one answer, and one receipt in any case. */
static struct json *chain_missing(
	struct signer *g, struct arena *a, const struct signed_chain *c, uint64_t clock)
{
	struct json *list = json_new(a, JSON_ARRAY), *doc;
	struct bytes text;
	size_t bytes = 0;

	if (file_read(g->sys, a, g->home_fd, c->path, FILE_MAX, 0, &text, NULL))
		return list;
	for (uint64_t at = c->base; text.n && at <= chain_clock(c); at++) {
		struct bytes line = text_cut(&text, '\n');
		if (at < clock)
			continue;
		bytes += line.n;
		if (list->n && bytes > SIGNER_LIMIT)
			break;
		if (json_parse(a, line, c->path, NULL, &doc, NULL) == OK)
			json_push(a, list, doc);
	}
	return list;
}

/* ---- a person's word ---- */

/* Effects that a person alone may have; whatever changes the standing word is judged by what it changes. */
static bool is_persons(const char *effect)
{
	static const char *const effects[] = { "helm.approval/grant", "helm.workspace/trust",
		"helm.profile/resume", "helm.freeze/lift", NULL };

	for (const char *const *one = effects; *one; one++)
		if (text_eq(*one, effect))
			return true;
	return false;
}

/* As it was: who froze it, and why, is not rewritten either. */
static bool has_all(struct arena *a, const struct json *now, const struct json *before)
{
	json_each_member (m, before) {
		const struct json *kept = json_get(now, m->name);
		if (!kept || !text_eq(json_sha256(a, kept), json_sha256(a, m->value)))
			return false;
	}
	return true;
}

/* Nothing but more freezes and pauses: that needs nobody, because stopping must always be possible. */
static bool only_stops_more(struct arena *a, const struct json *before, const struct json *now)
{
	static const char *const free_parts[] = { "at", "version", "root", "freezes", "pauses" };
	struct json *x = json_copy(a, before), *y = json_copy(a, now);

	if (!has_all(a, json_get(now, "freezes"), json_get(before, "freezes")) ||
		!has_all(a, json_get(now, "pauses"), json_get(before, "pauses")) ||
		(json_get(before, "root") &&
			!text_eq(json_get_text(before, "root", ""), json_get_text(now, "root", ""))))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(free_parts); i++) {
		(void)json_remove(x, free_parts[i]);
		(void)json_remove(y, free_parts[i]);
	}
	/* Whether a place that a person made stands alone is noted beside the word at first, and comes into it with the first act. */
	if (!json_get(before, "root"))
		(void)json_remove(y, "stands_alone");
	return text_eq(json_sha256(a, x), json_sha256(a, y));
}

/* `said` is what the key of a person has signed: by one of ours, or by one of OpenSSH. */
static bool is_signed_by(struct arena *a, const struct json *row, const struct json *approver,
	const char *type, const struct json *said)
{
	const char *signature = json_get_text(approver, "signature", ""),
		   *line = json_get_text(row, "ssh_key", NULL),
		   *digest = json_get_text(approver, "request_sha256", NULL);
	const char *hex = json_get_text(row, "public_key_hex", "");
	uint8_t raw[SIGN_SIZE], pub[SIGN_PUBLIC];
	struct sshsig_facts facts;
	struct ssh_key key;

	if (json_get(row, "passkey"))
		return text_eq(type, "grant") &&
			passkey_proof_holds(a, row, approver,
				act_message_ssh(a, said, json_get_text(approver, "request_sha256", "")));
	if (!line)
		return hex_decode(hex, strlen(hex), pub, SIGN_PUBLIC, false) &&
			hex_decode(signature, strlen(signature), raw, SIGN_SIZE, true) &&
			sign_verify(pub,
				digest && text_eq(type, "grant") ? act_message_ssh(a, said, digest)
								 : act_message(a, said),
				raw);
	return text_eq(type, "grant") && ssh_key_parse(a, bytes_of(line), APPROVERS, &key, NULL) == OK &&
		sshsig_verify(a, &key, APPROVAL_NAMESPACE,
			act_message_ssh(a, said, json_get_text(approver, "request_sha256", "")),
			bytes_of(signature), &facts, NULL) == OK;
}

/* The signed part of the metadata is the one that the receipt's output_hash names, and a registered key has signed it. */
static bool person_says_so(struct signer *g, struct arena *a, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *type = json_get(about, "posture") ? "posture" : "grant";
	const struct json *said = json_get(about, type), *approver = json_get(about, "approver");
	struct json *doc;

	if (!json_is(said, JSON_OBJECT) || !json_is(approver, JSON_OBJECT) ||
		!text_eq(json_sha256(a, said), json_get_text(receipt, "output_hash", "")) ||
		sealed_read(g->sys, a, g->home_fd, "trust/" APPROVERS, TRUST_MAX, APPROVERS_NAME, &doc, NULL))
		return false;
	json_each (row, json_get(doc, "keys"))
		if (is_signed_by(a, row, approver, type, said))
			return true;
	return false;
}

/* A person's word counts once: what was signed for one receipt cannot be shown again for another. */
static bool is_used(struct signer *g, struct arena *a, const char *digest)
{
	struct bytes text;
	int rc = file_read(g->sys, a, g->home_fd, ACTS, ACTS_MAX, 0, &text, NULL);

	if (rc)
		return rc != E_MISSING;
	while (text.n)
		if (bytes_is(text_cut(&text, '\n'), digest))
			return true;
	return false;
}

/* NULL: it may be signed. */
static struct json *judge_act(
	struct signer *g, struct arena *a, const struct signed_chain *c, const struct json *receipt)
{
	const char *effect = json_get_text(receipt, "effect_id", "");
	const struct json *about = json_get(receipt, "metadata"), *word = word_in(receipt);
	const char *digest = json_get_text(receipt, "output_hash", "");
	bool is_free = !is_persons(effect) && !json_get(about, "grant") && !json_get(about, "posture");

	if (is_free)
		return NULL;
	if (json_get(about, "posture") &&
		(!word || json_get(about, "grant") || !text_eq(json_sha256(a, word), digest)))
		return refuse(a, "SIGNER_REFUSES", "the receipt does not bind the word it carries");
	if (!is_persons(effect) && word && only_stops_more(a, c->word, word))
		return NULL;
	if (!person_says_so(g, a, receipt))
		return refuse(a, "SIGNER_PERSON",
			"this takes a person's key that is registered with the signer: --key FILE");
	if (is_used(g, a, digest))
		return refuse(a, "SIGNER_USED", "this word of a person was used already");
	struct err e = { 0 };
	if (file_append_line(g->sys, g->home_fd, ACTS, 0600, bytes_of(digest), NULL, &e))
		return refuse(a, "SIGNER_STATE", arena_strdup(a, e.text));
	return NULL;
}

/* ---- what is signed ---- */

static bool is_own(const struct signer *g, const struct json *receipt)
{
	return text_eq(json_get_text(json_get(receipt, "public_key_set"), "ed25519", ""), g->pub) &&
		text_eq(json_get_text(receipt, "signature_algorithm", ""), "ed25519") &&
		!json_get(receipt, "log_id") && !json_get(receipt, "leaf_index") &&
		!json_get(receipt, "transparency");
}

/* Its mark covers every member, so that what is signed is what is kept here. */
static bool is_marked(struct arena *a, const struct json *receipt)
{
	const char *mark = receipt_id_mark(json_get_text(receipt, "receipt_id", ""));
	struct receipt_text text;
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX];

	if (!mark || receipt_text(a, receipt, &text, NULL))
		return false;
	receipt_text_mark(&text, digest);
	hex_encode(digest, sizeof(digest), hex);
	return text_eq(mark, hex);
}

/* The place is taken, or there is none such.  `want`: the receipt as it would be signed, so that a question that is asked twice gets the
 * answer that it got. */
static struct json *answer_elsewhere(struct signer *g, struct arena *a, const struct signed_chain *c,
	int64_t clock, const char *previous, const struct hash *want, struct json *same)
{
	struct hash before = { { 0 } };
	uint64_t place = clock > 0 ? (uint64_t)clock : 0;

	if (place > chain_clock(c) + 1 || place <= c->base || !place)
		return refuse(a, chain_clock(c) ? "SIGNER_FORK" : "SIGNER_UNKNOWN",
			chain_clock(c)
				? "this chain does not end where what was signed for it does: it was cut, "
				  "or put back to an older state"
				: "a chain is signed from its first receipt on, and this one was begun "
				  "with another key");
	struct hash known = place - 1 == c->base ? c->base_last : c->recent[place - 2 - c->base];
	bool follows = place == 1 ? !*previous : hash_from_hex(previous, &before) && hash_eq(&before, &known);
	if (!follows || place == chain_clock(c) + 1)
		return refuse(
			a, "SIGNER_FORK", "the receipt does not continue what was signed for this chain");
	if (hash_eq(&c->recent[place - 1 - c->base], want))
		return same;
	struct json *doc = refuse(a, "SIGNER_AHEAD", "there is a receipt for this place already");
	json_set(a, doc, "missing", chain_missing(g, a, c, place));
	return doc;
}

/* A key, but not the one that signs here: its user has changed it. */
static bool is_other_key(const struct signer *g, const char *hex)
{
	uint8_t pub[SIGN_PUBLIC];

	return hex_decode(hex, strlen(hex), pub, SIGN_PUBLIC, true) && !text_eq(hex, g->pub);
}

static struct json *say_key(const struct signer *g, struct arena *a)
{
	return refuse(a, "SIGNER_KEY",
		arena_printf(a, "its key is %s now; a person goes on with that: helm signer use SOCKET %s",
			g->pub, g->pub));
}

static struct json *answer_receipt(struct signer *g, struct arena *a, struct json *receipt)
{
	struct signed_chain *c;
	struct bytes preimage;
	struct hash hash, last, end;
	struct err e = { 0 };

	(void)json_remove(receipt, "signature");
	const char *id = json_get_text(receipt, "session_id", ""),
		   *previous = json_get_text(receipt, "prev_hash", "-");
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	if (is_other_key(g, json_get_text(json_get(receipt, "public_key_set"), "ed25519", "")))
		return say_key(g, a);
	if (!*id || !is_own(g, receipt) || receipt_preimage_v5(a, receipt, &preimage, &e) ||
		!is_marked(a, receipt))
		return refuse(a, "SIGNER_REFUSES", "this is no receipt to sign");
	if (chain_get(g, id, &c, &e))
		return refuse(a, "SIGNER_STATE", arena_strdup(a, e.text));
	struct json *answer = sign(g, a, preimage);
	json_sets(a, receipt, "signature", json_get_text(answer, "signature", ""));
	if (receipt_chain_hash(a, receipt, hash.b, &e))
		return refuse(a, "SIGNER_REFUSES", "this is no receipt to sign");
	end = chain_last(c);
	bool is_next = clock == (int64_t)chain_clock(c) + 1 &&
		(chain_clock(c) ? hash_from_hex(previous, &last) && hash_eq(&last, &end) : !*previous);
	if (!is_next)
		return answer_elsewhere(g, a, c, clock, previous, &hash, answer);
	if (!chain_clock(c) && has_too_many(g, a))
		return refuse(a, "SIGNER_FULL",
			arena_printf(a,
				"user %lu has begun %d chains, as many as one may; the signer's user removes old "
				"ones from %s/%s, and those cannot be continued then",
				(unsigned long)g->asks, CHAINS_MOST, g->home, chains_of(g, a)));
	struct json *no = judge_act(g, a, c, receipt);
	if (no)
		return no;
	if (chain_append(g, a, c, receipt, &e)) {
		chain_drop(g, c);
		return refuse(a, "SIGNER_STATE", arena_strdup(a, e.text));
	}
	c->recent[c->n++] = hash;
	if (word_in(receipt))
		c->word = json_copy(&c->a, word_in(receipt));
	return answer;
}

static struct json *answer_decision(struct signer *g, struct arena *a, struct json *record)
{
	struct bytes preimage;

	(void)json_remove(record, "signature");
	const char *type = json_get_text(record, "signature_type", "");
	if (text_starts(type, "ed25519:") && is_other_key(g, type + strlen("ed25519:")))
		return say_key(g, a);
	if (!text_eq(json_get_text(record, "signature_version", ""), DECISION_V4) ||
		!text_eq(
			json_get_text(record, "signature_type", ""), arena_printf(a, "ed25519:%s", g->pub)) ||
		decision_preimage(a, record, &preimage, NULL))
		return refuse(a, "SIGNER_REFUSES", "this is no decision record to sign");
	return sign(g, a, preimage);
}

/* Only the head over exactly the receipts that were signed. */
static struct json *answer_head(struct signer *g, struct arena *a, const struct json *whole)
{
	const struct json *head = json_get(whole, "head");
	const char *id = json_get_text(whole, "chain_id", "");
	int64_t size = json_get_int(head, "tree_size", -1);
	struct signed_chain *c;
	struct hash root;
	struct bytes preimage;
	struct err e = { 0 };

	if (!*id || chain_get(g, id, &c, &e))
		return refuse(a, "SIGNER_STATE", *id ? arena_strdup(a, e.text) : "no chain is named");
	if (size < (int64_t)c->base || size < 1 || size > (int64_t)chain_clock(c) ||
		!json_is(head, JSON_OBJECT) || !hash_from_hex(json_get_text(head, "root_hash", ""), &root) ||
		log_head_preimage(a, head, &preimage, NULL))
		return refuse(a, "SIGNER_REFUSES", "this is no head over what was signed");
	struct merkle tree = chain_tree(c, (uint64_t)size);
	struct hash own = merkle_head(&tree);
	return hash_eq(&own, &root) ? sign(g, a, preimage)
				    : refuse(a, "SIGNER_FORK", "the head is over other receipts");
}

/* The one link that begins a history with this key. */
static struct json *answer_link(struct signer *g, struct arena *a, const struct json *link)
{
	struct bytes preimage;

	if (!text_eq(json_get_text(link, "event", ""), "created") ||
		!text_eq(json_get_text(link, "key", ""), g->pub) ||
		!text_eq(json_get_text(link, "signer", ""), g->pub) ||
		json_get_int(link, "sequence", 0) != 1 ||
		!text_eq(json_get_text(link, "version", ""), KEY_HISTORY_V1) ||
		!text_eq(json_get_text(link, "prev_hash", "-"), "") ||
		key_link_preimage(a, link, &preimage, NULL))
		return refuse(a, "SIGNER_REFUSES", "only the link that begins a history is signed");
	return sign(g, a, preimage);
}

/* Which keys this one follows: nothing secret, and what whoever asks needs to go on behind a rotation. */
static struct json *answer_history(struct signer *g, struct arena *a)
{
	struct json *doc = json_new(a, JSON_OBJECT), *links = json_new(a, JSON_ARRAY), *link;
	struct bytes text;
	struct err e = { 0 };

	if (file_read(g->sys, a, g->home_fd, "keys/" KEY_HISTORY, SIGNER_LIMIT, 0, &text, &e))
		return refuse(a, "SIGNER_STATE", arena_strdup(a, e.text));
	while (text.n && json_parse(a, text_cut(&text, '\n'), KEY_HISTORY, NULL, &link, NULL) == OK)
		json_push(a, links, link);
	json_set(a, doc, "links", links);
	return doc;
}

/* A request to the ledger of a fleet proves who sends it, for some minutes, and nothing about any record. */
static struct json *answer_fleet(struct signer *g, struct arena *a, const struct json *whole)
{
	struct bytes message;
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];

	if (!fleet_message_of(a, whole, &message))
		return refuse(a, "SIGNER_REFUSES", "that is no request to a fleet's ledger");
	key_sign(g->key, message, signature);
	hex_encode(signature, sizeof(signature), hex);
	struct json *answer = json_new(a, JSON_OBJECT);
	json_sets(a, answer, "signature", hex);
	return answer;
}

struct json *signer_answer(struct signer *g, struct arena *a, uid_t user, struct bytes question)
{
	struct json *doc;

	g->asks = user;
	if (json_parse(a, question, "question", NULL, &doc, NULL))
		return refuse(a, "SIGNER_REFUSES", "the question is no JSON document");
	const char *op = json_get_text(doc, "op", "");
	struct json *record = json_get(doc, "record");
	if (!json_is(record, JSON_OBJECT))
		return refuse(a, "SIGNER_REFUSES", "the question has no record");
	return text_eq(op, "receipt")	  ? answer_receipt(g, a, record)
		: text_eq(op, "decision") ? answer_decision(g, a, record)
		: text_eq(op, "head")	  ? answer_head(g, a, record)
		: text_eq(op, "link")	  ? answer_link(g, a, record)
		: text_eq(op, "fleet")	  ? answer_fleet(g, a, record)
		: text_eq(op, "history")  ? answer_history(g, a)
					  : refuse(a, "SIGNER_REFUSES", "that is not something to sign");
}

static struct json *answer_at_door(void *arg, struct arena *a, uid_t user, struct bytes question)
{
	return signer_answer(arg, a, user, question);
}

struct signer_door signer_door_of(struct signer *g)
{
	return (struct signer_door){ answer_at_door, g };
}

/* ---- opening ---- */

int signer_open(struct sys *s, const char *home, struct signer **ret, struct err *e)
{
	AUTO(signer_close) struct signer *g = calloc(1, sizeof(*g));

	if (!g)
		mem_exhausted(0);
	*g = (struct signer){ .sys = s, .home_fd = -1, .lock_fd = -1 };
	g->home = arena_strdup(&g->a, home);
	const char *keys = arena_printf(&g->a, "%s/keys", home);
	int rc = key_load(s, AT_FDCWD, keys, "root", &g->key, e);
	if (rc == OK)
		rc = file_mkdirs(s, AT_FDCWD, arena_printf(&g->a, "%s/" CHAINS, home), 0700, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, home, &g->home_fd, e);
	if (rc == OK && file_lock(s, g->home_fd, "signer/lock", 0, &g->lock_fd, e))
		rc = err_set(e, E_INPUT, "SIGNER_RUNS", "a signer works in %s already", home);
	if (rc)
		return rc;
	hex_encode(key_public(g->key), SIGN_PUBLIC, g->pub);
	*ret = g;
	g = NULL;
	return OK;
}

void signer_close(struct signer **s)
{
	struct signer *g = *s;

	if (!g)
		return;
	while (g->chains) {
		struct signed_chain *c = g->chains;
		g->chains = c->next;
		chain_free(c);
	}
	key_free(&g->key);
	close_fd(&g->lock_fd);
	close_fd(&g->home_fd);
	arena_done(&g->a);
	free(g);
	*s = NULL;
}
