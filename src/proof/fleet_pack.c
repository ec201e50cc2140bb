/* fleet_pack.c — writes a pack of a fleet, and the list at its end. */
#include "proof/fleet_pack.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

/* ---- the list ---- */

void fleet_list_begin(struct fleet_list *l, struct arena *a)
{
	*l = (struct fleet_list){ .chains = json_new(a, JSON_ARRAY), .files = json_new(a, JSON_ARRAY) };
}

void fleet_list_file(
	struct fleet_list *l, struct arena *a, const char *path, uint64_t size, const struct hash *digest)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "path", path);
	json_sets(a, one, "sha256", hash_hex(a, digest));
	json_seti(a, one, "size", (int64_t)size);
	json_push(a, l->files, one);
}

void fleet_list_chain(struct fleet_list *l, struct arena *a, const char *session_id, uint64_t first,
	uint64_t last, const struct hash *last_hash)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "session_id", session_id);
	json_seti(a, one, "first", (int64_t)first);
	json_seti(a, one, "last", (int64_t)last);
	json_sets(a, one, "last_hash", hash_hex(a, last_hash));
	json_push(a, l->chains, one);
}

struct bytes fleet_list_text(struct arena *a, const struct fleet_list *l, const char *origin,
	const char *log_key, const char *control_key)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf text;

	json_sets(a, doc, "version", FLEET_PACK_V1);
	json_sets(a, doc, "origin", origin);
	json_sets(a, doc, "log_key", log_key);
	json_sets(a, doc, "control_key", control_key);
	json_set(a, doc, "chains", l->chains);
	json_set(a, doc, "files", l->files);
	json_seti(a, doc, "forks", l->forks);
	json_seti(a, doc, "orders", l->orders);
	buf_init(&text, a);
	json_canonical(&text, doc);
	buf_addc(&text, '\n');
	return buf_bytes(&text);
}

/* ---- writing ---- */

static void open_file(struct fleet_pack *p, const char *path, uint64_t size)
{
	if (p->open_path)
		BUG("a file of the pack is not written to its end");
	if (p->rc == OK)
		p->rc = tar_add(&p->tar, path, size, &p->e);
	p->open_path = path;
	p->size = size;
	sha256_begin(&p->digest);
}

static void write_some(struct fleet_pack *p, struct bytes some)
{
	if (p->rc == OK)
		p->rc = tar_put(&p->tar, some.p, some.n, &p->e);
	sha256_add(&p->digest, some.p, some.n);
}

static void close_file(struct fleet_pack *p)
{
	struct hash digest;

	sha256_end(&p->digest, digest.b);
	fleet_list_file(&p->list, p->a, p->open_path, p->size, &digest);
	p->open_path = NULL;
}

static void add_file(struct fleet_pack *p, const char *path, struct bytes content)
{
	open_file(p, path, content.n);
	write_some(p, content);
	close_file(p);
}

void fleet_pack_begin(struct fleet_pack *p, struct arena *a, struct sink *to, const char *origin,
	const char *log_key, const char *control_key)
{
	*p = (struct fleet_pack){ .a = a, .origin = origin, .log_key = log_key, .control_key = control_key };
	fleet_list_begin(&p->list, a);
	tar_begin(&p->tar, to);
	add_file(p, FLEET_PACK_MARK, BYTES_LITERAL(FLEET_PACK_V1 "\n"));
}

/* The receipts of the chain before end where the next thing begins. */
static void end_receipts(struct fleet_pack *p)
{
	if (p->open_path)
		close_file(p);
}

void fleet_pack_chain(struct fleet_pack *p, const struct fleet_chain *c)
{
	end_receipts(p);
	const char *dir = arena_printf(p->a, "chains/%08u", ++p->chain);
	add_file(p, arena_printf(p->a, "%s/end.tlog-proof", dir), c->proof);
	add_file(p, arena_printf(p->a, "%s/keys.jsonl", dir), c->keys);
	fleet_list_chain(&p->list, p->a, c->session_id, c->first, c->last, &c->last_hash);
	open_file(p, arena_printf(p->a, "%s/receipts.jsonl", dir), c->receipts_bytes);
}

void fleet_pack_receipts(struct fleet_pack *p, struct bytes some)
{
	write_some(p, some);
}

void fleet_pack_checkpoint(struct fleet_pack *p, struct bytes note)
{
	end_receipts(p);
	add_file(p, FLEET_PACK_CHECKPOINT, note);
}

void fleet_pack_fork(struct fleet_pack *p, const struct json *fork)
{
	struct buf text;

	buf_init(&text, p->a);
	json_canonical(&text, fork);
	buf_addc(&text, '\n');
	p->list.forks++;
	add_file(p, arena_printf(p->a, "forks/%08u.json", ++p->fork), buf_bytes(&text));
}

void fleet_pack_orders(struct fleet_pack *p, struct bytes lines)
{
	for (size_t i = 0; i < lines.n; i++)
		p->list.orders += lines.p[i] == '\n';
	add_file(p, FLEET_PACK_ORDERS, lines);
}

/* The list does not list itself. */
int fleet_pack_end(struct fleet_pack *p, struct err *e)
{
	struct bytes text = fleet_list_text(p->a, &p->list, p->origin, p->log_key, p->control_key);

	open_file(p, FLEET_PACK_LIST, text.n);
	write_some(p, text);
	p->open_path = NULL;
	if (p->rc == OK)
		p->rc = tar_end(&p->tar, &p->e);
	if (p->rc)
		*e = p->e;
	return p->rc;
}
