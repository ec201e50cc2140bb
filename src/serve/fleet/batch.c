/* batch.c — what a machine sends: one zstd frame with a header line, lines of its chain byte for byte, and captions
 * (docs/formats/fleet-batch.md).
 *
 * Every receipt is verified before it is stored: strict JSON, canonical bytes, its place behind the one before, and its signature under a key of the
 * node in the order of its history.  A caption is taken only when its digest stands in the receipt it is about. */
#include "base/hash.h"
#include "base/text.h"
#include "base/zst.h"
#include "kernel/fleet/fleet.h"
#include "proof/preimage.h"
#include "serve/fleet/parts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int wrong(struct err *e, const char *what)
{
	return err_set(e, E_INPUT, "FLEET_BATCH", "%s", what);
}

/* Making what packs costs more than packing one receipt: each thread keeps its own until it ends. */
static pthread_key_t packer_key;

static void end_packer(void *p)
{
	zst_done(p);
	free(p);
}

static void make_key(void)
{
	if (pthread_key_create(&packer_key, end_packer))
		BUG("no key for a thread");
}

static struct zst *packer(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, make_key);
	struct zst *z = pthread_getspecific(packer_key);
	if (!z) {
		z = calloc(1, sizeof(*z));
		if (!z || pthread_setspecific(packer_key, z))
			mem_exhausted(0);
	}
	return z;
}

static int unpack(struct arena *a, struct bytes body, struct bytes *ret, struct err *e)
{
	size_t n;

	if (body.n > BATCH_BYTES)
		return err_set(e, E_INPUT, "FLEET_BATCH", "a batch has at most %d bytes", BATCH_BYTES);
	int rc = zst_says(body, &n, e);
	if (rc == OK && n > BATCH_RAW)
		return err_set(e, E_INPUT, "FLEET_BATCH", "a batch unpacks to at most %d bytes", BATCH_RAW);
	if (rc)
		return err_set(
			e, E_INPUT, "FLEET_BATCH", "%s", "the body is not one zstd frame that says its size");
	char *text = arena_text(a, n + 1);
	rc = zst_unpack(packer(), body, text, n, e);
	text[rc ? 0 : n] = '\0';
	*ret = (struct bytes){ (const uint8_t *)text, n };
	return rc ? wrong(e, "the frame is damaged") : OK;
}

static int take_header(struct arena *a, struct bytes line, const char *session, struct batch *ret,
	int64_t *ret_count, struct err *e)
{
	static const char *const members[] = { "count", "first", "prev_hash", "session_id", "version" };
	struct json *head;
	struct buf again;

	if (json_parse(a, line, "header", NULL, &head, NULL) || !json_is(head, JSON_OBJECT) ||
		head->n != ARRAY_SIZE(members))
		return wrong(e, "the first line is no header of a batch");
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!json_get(head, members[i]))
			return err_set(e, E_INPUT, "FLEET_BATCH", "the header has no %s", members[i]);
	buf_init(&again, a);
	json_canonical(&again, head);
	if (!bytes_eq(buf_bytes(&again), line))
		return wrong(e, "the header is not canonical JSON");
	if (!text_eq(json_get_text(head, "version", ""), FLEET_BATCH_V1))
		return wrong(e, "the version of the batch is not known here");
	*ret_count = json_get_int(head, "count", -1);
	ret->first = json_get_int(head, "first", -1);
	ret->session = json_get_text(head, "session_id", "");
	const char *before = json_get_text(head, "prev_hash", "?");
	if (*ret_count < 1 || *ret_count > BATCH_RECEIPTS || ret->first < 1)
		return err_set(e, E_INPUT, "FLEET_BATCH", "a batch has 1 to %d receipts, from a clock on",
			BATCH_RECEIPTS);
	if (!text_eq(ret->session, session))
		return wrong(e, "the header names another chain than the path");
	ret->before = (struct hash){ 0 };
	if (ret->first == 1 ? *before != '\0' : !hash_from_hex(before, &ret->before))
		return wrong(e, "prev_hash is not the hash before the first receipt");
	return OK;
}

static int take_receipt(struct arena *a, struct bytes line, struct line_of *ret, struct err *e)
{
	*ret = (struct line_of){ .text = line };
	int rc = json_parse(a, line, "receipt", NULL, &ret->receipt, e);

	if (rc == OK && !json_is(ret->receipt, JSON_OBJECT))
		rc = wrong(e, "it is no object");
	return rc ? rc : receipt_chain_hash(a, ret->receipt, ret->chain.b, e);
}

/* What stands in a receipt about what may come behind the receipts: looked up once, because whoever sends it may send many. */
struct behind {
	struct about {
		const char *decision, *preview, *question, *request;
	} * of;
	size_t hint; /* they come in the order of the receipts, one way or the other */
	size_t n;
};

static struct behind look_behind(struct arena *a, const struct batch *b)
{
	struct behind x = { .of = arena_zalloc(a, b->n, sizeof(*x.of)) };

	for (size_t i = 0; i < b->n; i++) {
		const struct json *about = json_get(b->lines[i].receipt, "metadata");
		x.of[i] = (struct about){ json_get_text(b->lines[i].receipt, "decision_id", ""),
			json_get_text(about, "preview_sha256", ""), json_get_text(about, "approval_id", ""),
			json_get_text(about, "request_sha256", "") };
	}
	return x;
}

static int take_caption(
	struct arena *a, const struct json *doc, struct batch *b, struct behind *x, struct err *e)
{
	const char *id = json_get_text(doc, "decision_id", ""), *text = json_get_text(doc, "text", NULL);

	if (!text)
		return wrong(e, "a caption has no text");
	if (strlen(text) > CAPTION_BYTES)
		return err_set(e, E_INPUT, "FLEET_BATCH", "a caption has at most %d bytes", CAPTION_BYTES);
	const char *digest = sha256_hex(a, text, strlen(text));
	for (size_t k = 0; k < b->n; k++) {
		size_t i = (x->hint + k) % b->n;
		if (!text_eq(x->of[i].decision, id) || !text_eq(x->of[i].preview, digest))
			continue;
		b->lines[i].caption = text;
		x->hint = i;
		return OK;
	}
	return wrong(e, "a caption is about no receipt of the batch, or its digest does not stand there");
}

static int take_question(
	struct arena *a, const struct json *doc, struct batch *b, struct behind *x, struct err *e)
{
	const char *id = json_get_text(doc, "approval_id", "");
	const struct json *request = json_get(doc, "request");
	const char *until = json_get_text(request, "expires_at", "");
	struct buf text;
	int64_t us;

	buf_init(&text, a);
	if (json_is(request, JSON_OBJECT))
		json_canonical(&text, request);
	if (!json_is(request, JSON_OBJECT) || !text_is_id(id) ||
		!text_eq(json_get_text(request, "approval_id", ""), id) ||
		!text_parse_time(until, strlen(until), &us))
		return wrong(e, "a line behind the receipts is no question");
	if (text.n > 4 * CAPTION_BYTES)
		return err_set(
			e, E_INPUT, "FLEET_BATCH", "a question has at most %d bytes", 4 * CAPTION_BYTES);
	const char *digest = json_sha256(a, request);
	for (size_t i = 0; i < b->n; i++)
		if (text_eq(x->of[i].question, id) && text_eq(x->of[i].request, digest)) {
			b->lines[i].question = id;
			b->lines[i].request = buf_bytes(&text);
			b->lines[i].expires_us = us;
			return OK;
		}
	return wrong(e, "a question is about no receipt of the batch, or its digest does not stand there");
}

/* At most one of each for a receipt. */
static int take_behind(struct arena *a, struct bytes line, struct batch *b, struct behind *x, struct err *e)
{
	struct json *doc;

	if (++x->n > 2 * b->n)
		return wrong(e, "there are more lines behind the receipts than there can be");
	if (json_parse(a, line, "caption", NULL, &doc, NULL) || !json_is(doc, JSON_OBJECT) || doc->n != 2)
		return wrong(e, "a line behind the receipts is no caption");
	return json_get(doc, "approval_id") ? take_question(a, doc, b, x, e) : take_caption(a, doc, b, x, e);
}

int batch_read(struct arena *a, struct bytes body, const char *session, struct batch *ret, struct err *e)
{
	struct bytes rest;
	int64_t count = 0;
	int rc = unpack(a, body, &rest, e);

	if (rc == OK)
		rc = take_header(a, text_cut(&rest, '\n'), session, ret, &count, e);
	if (rc)
		return rc;
	ret->lines = arena_zalloc(a, (size_t)count, sizeof(*ret->lines));
	ret->n = (size_t)count;
	for (size_t i = 0; i < ret->n; i++) {
		if (!rest.n)
			return wrong(e, "there are fewer receipts than the header says");
		rc = take_receipt(a, text_cut(&rest, '\n'), &ret->lines[i], e);
		if (rc || !rest.p)
			return err_set(e, E_INPUT, "FLEET_BATCH", "line %zu is no whole receipt", i + 2);
	}
	struct behind behind = rest.n ? look_behind(a, ret) : (struct behind){ 0 };
	while (rc == OK && rest.n)
		rc = take_behind(a, text_cut(&rest, '\n'), ret, &behind, e);
	return rc;
}

/* ---- verifying ---- */

static int check_place(
	const struct line_of *line, const char *session, int64_t clock, const char *before, struct err *e)
{
	if (!text_eq(json_get_text(line->receipt, "session_id", ""), session))
		return wrong(e, "it is of another chain");
	if (json_get_int(line->receipt, "lamport_clock", -1) != clock)
		return err_set(e, E_INPUT, "FLEET_RECEIPT", "its clock is not %lld", (long long)clock);
	return text_eq(json_get_text(line->receipt, "prev_hash", "?"), before)
		? OK
		: wrong(e, "its prev_hash is not the hash of the receipt before it");
}

static int check_signed(
	struct arena *scratch, struct line_of *line, const struct trust *trust, int64_t order, struct err *e)
{
	struct verification v = { .a = scratch, .trust = trust, .kind = "receipt" };
	struct json *receipt;
	struct hash chain;

	if (!verify_receipt_line(&v, line->text, "receipt", &receipt, &chain) || v.error ||
		!hash_eq(&chain, &line->chain))
		return err_set(e, E_INPUT, "FLEET_RECEIPT", "%s", v.text ? v.text : "it does not verify");
	if (v.integrity != ANSWER_YES || v.trusted != ANSWER_YES || !v.signer_key)
		return wrong(e, "it is not signed by a key of this machine");
	if ((int64_t)v.signer_key->order < order)
		return wrong(e, "it is signed by an older key than a receipt before it");
	line->order = v.signer_key->order;
	return OK;
}

int batch_verify(struct arena *a, const struct batch *b, size_t from, const struct chain_row *at,
	const struct trust *trust, size_t *ret_bad, struct err *e)
{
	const struct hash *before = from ? &b->lines[from - 1].chain : &b->before;
	int64_t clock = b->first + (int64_t)from, order = at->key_order;
	AUTO(arena_done) struct arena scratch = { 0 };

	for (size_t i = from; i < b->n; i++, clock++) {
		struct line_of *line = &b->lines[i];
		int rc = check_place(line, b->session, clock, clock == 1 ? "" : hash_hex(a, before), e);
		if (rc == OK)
			rc = check_signed(&scratch, line, trust, order, e);
		if (rc) {
			*ret_bad = i;
			return rc;
		}
		arena_reset(&scratch);
		before = &line->chain;
		order = line->order;
	}
	return OK;
}

int batch_pack(struct arena *a, const struct batch *b, size_t from, struct bytes *ret, size_t *ret_raw,
	struct err *e)
{
	const uint8_t *first = b->lines[from].text.p;
	const struct bytes *last = &b->lines[b->n - 1].text;
	struct bytes raw = { first, (size_t)(last->p + last->n + 1 - first) };
	uint8_t *to = arena_alloc(a, zst_bound(raw.n));
	size_t n;
	int rc = zst_pack(packer(), raw, 1, to, zst_bound(raw.n), &n, e);

	*ret = (struct bytes){ to, n };
	*ret_raw = raw.n;
	return rc;
}

int verdict_number(const struct json *receipt)
{
	static const char *const names[] = { "ALLOW", "DENY", "ESCALATE" };
	const char *verdict = json_get_text(receipt, "verdict", "");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(verdict, names[i]))
			return (int)i + 1;
	return 0;
}
