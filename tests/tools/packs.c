/* packs.c — see packs.h. */
#include "tools/packs.h"

#include "base/file.h"
#include "base/tar.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void need(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "packs: %s\n", what);
	abort();
}

struct key *packs_key(struct scratch *t)
{
	static const char seed[] = "2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a";
	struct key *k = NULL;
	struct err e = { 0 };

	if (mkdirat(t->fd, "keys", 0700) == 0)
		need(file_replace(sys_real(), t->fd, "keys/demo.key", 0600, bytes_of(seed), &e) == OK,
			e.text);
	need(key_load(sys_real(), t->fd, "keys", "demo", &k, &e) == OK, e.text);
	return k;
}

struct trust packs_trust(struct trusted_key *k)
{
	*k = (struct trusted_key){ .id = "" };
	need(trust_parse_key(DEMO_PUBLIC, k->key), "demo key");
	return (struct trust){ .keys = k, .key_count = 1 };
}

const struct pack_about packs_about = { "did:helm:agent-test", "task-1",
	"sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "2026-04-13T12:00:00Z" };

struct pack_item *packs_items(struct arena *a)
{
	static const char *const files[PACKS_ITEMS][2] = {
		{ "transcripts/tool-1.json", "{\"action\":\"x\",\"tool_id\":\"t\"}" },
		{ "receipts/00000002-r2.json",
			"{\"lamport_clock\":2,\"receipt_id\":\"r2\",\"verdict\":\"DENY\"}" },
		{ "receipts/00000001-r1.json",
			"{\"lamport_clock\":1,\"receipt_id\":\"r1\",\"verdict\":\"ALLOW\"}" },
		{ "receipts/00000003-\xc3\xa9.json", "{\"lamport_clock\":3,\"receipt_id\":\"\xc3\xa9\"}" },
		{ "policy/gate.json", "{\"policy_id\":\"p\"}" },
		{ "transparency/head.json", "{\"tree_size\":3}" },
	};
	struct pack_item *items = arena_zalloc(a, PACKS_ITEMS, sizeof(*items));

	for (size_t i = 0; i < PACKS_ITEMS; i++)
		items[i] = (struct pack_item){ .path = files[i][0], .content = bytes_of(files[i][1]) };
	return items;
}

struct bytes packs_archive(
	struct scratch *t, struct arena *a, const struct key *key, struct pack_item *items, size_t n)
{
	struct pack_written w;
	struct bytes archive;
	struct err e = { 0 };

	need(pack_write(sys_real(), a, t->fd, "p.tar", &packs_about, items, n, key, &w, &e) == OK, e.text);
	need(file_read(sys_real(), a, t->fd, "p.tar", 64 << 20, 0, &archive, &e) == OK, e.text);
	return archive;
}

void packs_judge(struct arena *a, struct bytes archive, struct verification *v, struct pack *p)
{
	struct trusted_key *key = arena_zalloc(a, 1, sizeof(*key));
	struct trust *trust = arena_zalloc(a, 1, sizeof(*trust));
	struct err e = { 0 };

	*trust = packs_trust(key);
	verification_begin(v, a, trust, "evidence pack");
	if (verify_pack_bytes(a, archive, p, &e))
		verify_pack_unreadable(v, &e);
	else
		verify_pack(v, p);
}

static int by_path(const void *x, const void *y)
{
	return strcmp(((const struct pack_item *)x)->path, ((const struct pack_item *)y)->path);
}

struct bytes packs_tar(struct arena *a, struct pack_item *items, size_t n)
{
	struct tar_writer w;
	struct sink_buf sink;
	struct buf b;
	struct err e = { 0 };

	qsort(items, n, sizeof(*items), by_path);
	buf_init(&b, a);
	tar_begin(&w, sink_to_buf(&sink, &b));
	for (size_t i = 0; i < n; i++)
		need(!tar_add(&w, items[i].path, items[i].content.n, &e) &&
				!tar_put(&w, items[i].content.p, items[i].content.n, &e),
			e.text);
	need(tar_end(&w, &e) == OK, e.text);
	return buf_bytes(&b);
}
