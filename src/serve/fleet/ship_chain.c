/* ship_chain.c — a chain of this machine as the ledger is to have it.
 *
 * The chain is the buffer: what was not acknowledged is simply still there, and how far the ledger is it says itself.  A batch is the lines as they
 * stand in the file. */
#include "base/hash.h"
#include "base/text.h"
#include "base/zst.h"
#include "kernel/approval/approval.h"
#include "proof/preimage.h"
#include "record/record.h"
#include "serve/fleet/ship.h"

#include <string.h>

/* ---- reading ---- */

static int hash_of(struct arena *a, const struct json *receipt, const char **ret, struct err *e)
{
	struct hash h;
	int rc = receipt_chain_hash(a, receipt, h.b, e);

	if (rc == OK)
		*ret = hash_hex(a, &h);
	return rc;
}

int local_open(struct shipper *h, const char *root, struct local_chain *ret, struct err *e)
{
	struct fleet_head head = { 0 };

	*ret = (struct local_chain){ .root = root, .head_hash = "" };
	int rc = workspace_open(h->sys, h->a, root, 0, &ret->ws, e);
	if (rc == OK)
		rc = fleet_chain_head(h->sys, h->a, ret->ws, &head, e);
	if (rc || !head.session)
		return rc;
	ret->session = head.session;
	ret->head = head.clock;
	ret->head_hash = head.hash;
	return OK;
}

void local_close(struct local_chain *c)
{
	workspace_close(c->ws);
	c->ws = NULL;
}

struct one_at {
	struct arena *a;
	int64_t clock;
	const char *hash;
};

static int take_at(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct one_at *x = arg;

	(void)file;
	(void)line;
	(void)text;
	if (!receipt || json_get_int(receipt, "lamport_clock", -1) != x->clock)
		return receipt && json_get_int(receipt, "lamport_clock", -1) > x->clock ? 1 : 0;
	int rc = hash_of(x->a, receipt, &x->hash, e);
	return rc ? rc : 1;
}

int local_hash_at(
	struct shipper *h, const struct local_chain *c, int64_t clock, const char **ret, struct err *e)
{
	struct one_at x = { .a = h->a, .clock = clock };

	if (!clock) {
		*ret = "";
		return OK;
	}
	int rc = receipts_from(h->sys, c->ws->state_fd, (uint64_t)clock, take_at, &x, e);
	if (rc)
		return rc;
	*ret = x.hash;
	return x.hash
		? OK
		: err_set(e, E_MISSING, "FLEET_CHAIN", "the chain has no receipt %lld", (long long)clock);
}

/* ---- packing ---- */

struct packing {
	struct shipper *h;
	struct arena *a; /* of this batch */
	struct buf lines;
	int64_t first, n;
	const char *before, *session;
	struct arena newest; /* of `last` */
	struct json *last;
	struct json *wanted; /* decision or task id -> {id, digest} of its caption */
	struct json *asked; /* id of a question -> its digest */
};

/* Calls of agents have rows by decision, runs by task. */
static void want_caption(struct packing *p, const struct json *receipt, const char *digest)
{
	struct arena *a = p->a;
	struct json *one = json_new(a, JSON_OBJECT);
	const char *id = json_get_text(receipt, "decision_id", ""),
		   *task = json_get_text(json_get(receipt, "metadata"), "task_id", NULL);

	json_sets(a, one, "id", id);
	json_sets(a, one, "digest", digest);
	json_append(a, p->wanted, arena_strdup(a, id), one);
	if (task && !json_get(p->wanted, task))
		json_append(a, p->wanted, arena_strdup(a, task), one);
}

static void want_question(struct packing *p, const struct json *about)
{
	const char *id = json_get_text(about, "approval_id", NULL),
		   *digest = json_get_text(about, "request_sha256", NULL);

	if (id && digest)
		json_sets(p->a, p->asked, arena_strdup(p->a, id), arena_strdup(p->a, digest));
}

static int take_line(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct packing *p = arg;
	struct arena *a = p->a;
	const char *digest = json_get_text(json_get(receipt, "metadata"), "preview_sha256", NULL);

	if (!receipt)
		return err_set(e, E_CORRUPT, "FLEET_CHAIN", "%s line %llu is no receipt; run: helm log check",
			file, (unsigned long long)line);
	if (json_get_int(receipt, "lamport_clock", -1) < p->first)
		return 0;
	if (p->n == SHIP_RECEIPTS || (p->n && p->lines.n + text.n > SHIP_BYTES))
		return 1;
	if (!p->n) {
		p->before = arena_strdup(a, json_get_text(receipt, "prev_hash", ""));
		p->session = arena_strdup(a, json_get_text(receipt, "session_id", ""));
	}
	if (digest && text_eq(json_get_text(receipt, "type", ""), "decision"))
		want_caption(p, receipt, digest);
	want_question(p, json_get(receipt, "metadata"));
	buf_add(&p->lines, text.p, text.n);
	buf_addc(&p->lines, '\n');
	arena_reset(&p->newest);
	p->last = json_copy(&p->newest, receipt);
	p->n++;
	return 0;
}

struct captions {
	struct arena *a;
	struct buf *to;
	size_t most; /* so many bytes may be there then */
	struct json *wanted, *sent;
};

/* What does not fit beside the receipts is left out: nothing that was recorded waits for it. */
static bool add_line(struct arena *a, struct buf *to, size_t most, const struct json *doc)
{
	struct buf line;

	buf_init(&line, a);
	json_canonical(&line, doc);
	buf_addc(&line, '\n');
	if (to->n + line.n > most)
		return false;
	buf_add(to, line.p, line.n);
	return true;
}

/* Only what is as it was when it was judged: its digest stands in the receipt. */
static int take_caption(void *arg, struct json *row)
{
	struct captions *x = arg;
	const char *by = json_get_text(row, "decision_id", NULL),
		   *text = json_get_text(row, "preview", json_get_text(row, "command_preview", NULL));
	const struct json *one = by ? json_get(x->wanted, by) : NULL;
	struct json *doc;

	if (!one)
		one = json_get(x->wanted, json_get_text(row, "task_id", "-"));
	if (!one || !text || json_get(x->sent, json_get_text(one, "id", "")) ||
		!text_eq(sha256_hex(x->a, text, strlen(text)), json_get_text(one, "digest", "")))
		return 0;
	doc = json_new(x->a, JSON_OBJECT);
	json_sets(x->a, doc, "decision_id", json_get_text(one, "id", ""));
	json_sets(x->a, doc, "text", text);
	if (strlen(text) <= CAPTION_BYTES && add_line(x->a, x->to, x->most, doc))
		json_setb(x->a, x->sent, json_get_text(one, "id", ""), true);
	return 0;
}

static void add_captions(struct packing *p, const struct local_chain *c)
{
	static const char *const files[] = { TOOL_CALLS, TASK_LEDGER };
	enum { ROWS = 4000 };
	struct captions x = { p->a, &p->lines, p->lines.n + BESIDE_BYTES, p->wanted,
		json_new(p->a, JSON_OBJECT) };

	if (text_eq(json_get_text(p->h->joined, "ship", "receipts"), "receipts"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(files) && p->wanted->n; i++)
		(void)rows_back(
			p->h->sys, NULL, c->ws->state_fd, files[i], ROWS, NULL, take_caption, &x, NULL);
}

/* Those that still wait, as they stand beside the signed decision; its receipt has their digest. */
static void add_questions(struct packing *p, const struct local_chain *c)
{
	struct arena *a = p->a;
	const size_t most = p->lines.n + BESIDE_BYTES;
	struct json *doc;

	if (!text_eq(json_get_text(p->h->joined, "ship", "receipts"), "questions") || !p->asked->n ||
		approvals_load(p->h->sys, a, c->ws, &doc, NULL))
		return;
	json_each_member (m, p->asked) {
		const struct json *entry = json_get(json_get(doc, "requests"), m->name),
				  *request = json_get(entry, "request");
		struct json *line = json_new(a, JSON_OBJECT);
		if (!request || !text_eq(json_sha256(a, request), json_text(m->value)) ||
			!text_eq(request_state(entry, p->h->sys->now_us(p->h->sys)), "pending"))
			continue;
		json_sets(a, line, "approval_id", m->name);
		json_set(a, line, "request", json_copy(a, request));
		(void)!add_line(a, &p->lines, most, line);
	}
}

static struct bytes header_of(struct packing *p)
{
	struct arena *a = p->a;
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf text;

	json_seti(a, doc, "count", p->n);
	json_seti(a, doc, "first", p->first);
	json_sets(a, doc, "prev_hash", p->before);
	json_sets(a, doc, "session_id", p->session);
	json_sets(a, doc, "version", FLEET_BATCH_V1);
	buf_init(&text, a);
	json_canonical(&text, doc);
	buf_addc(&text, '\n');
	return buf_bytes(&text);
}

static void packing_done(struct packing *p)
{
	arena_done(&p->newest);
}

int local_pack(struct shipper *h, struct arena *a, const struct local_chain *c, int64_t first,
	struct packed *ret, struct err *e)
{
	AUTO(zst_done) struct zst z = { 0 };
	AUTO(packing_done)
	struct packing p = { .h = h,
		.a = a,
		.first = first,
		.wanted = json_new(a, JSON_OBJECT),
		.asked = json_new(a, JSON_OBJECT) };
	struct buf whole;
	size_t n;

	*ret = (struct packed){ 0 };
	buf_init(&p.lines, a);
	int rc = receipts_from(h->sys, c->ws->state_fd, (uint64_t)first, take_line, &p, e);
	if (rc < 0 || !p.n)
		return rc < 0 ? rc : OK;
	add_questions(&p, c);
	add_captions(&p, c);
	rc = hash_of(a, p.last, &ret->last_hash, e);
	if (rc)
		return rc;
	buf_init(&whole, a);
	struct bytes head = header_of(&p);
	buf_add(&whole, head.p, head.n);
	buf_add(&whole, p.lines.p, p.lines.n);
	uint8_t *to = arena_alloc(a, zst_bound(whole.n));
	rc = zst_pack(&z, buf_bytes(&whole), 3, to, zst_bound(whole.n), &n, e);
	ret->frame = (struct bytes){ to, n };
	ret->n = p.n;
	return rc;
}
