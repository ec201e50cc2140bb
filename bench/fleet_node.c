/* fleet_node.c — see fleet_node.h. */
#include "fleet_node.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/zst.h"
#include "kernel/fleet/fleet.h"
#include "proof/preimage.h"
#include "serve/web.h"
#include "tools/store.h"

#include <fcntl.h>
#include <string.h>

static int read_lines(struct fleet_node *x, const char *dir, struct err *e)
{
	struct bytes text, rest;
	int rc = file_read(sys_real(), &x->a, AT_FDCWD, arena_printf(&x->a, "%s/state/receipts.jsonl", dir),
		(size_t)1 << 30, 0, &text, e);

	if (rc)
		return rc;
	x->bytes = text.n;
	for (size_t i = 0; i < text.n; i++)
		x->n += text.p[i] == '\n';
	x->lines = arena_zalloc(&x->a, x->n, sizeof(*x->lines));
	x->receipts = arena_zalloc(&x->a, x->n, sizeof(struct json *));
	x->hashes = arena_zalloc(&x->a, x->n, sizeof(*x->hashes));
	rest = text;
	for (size_t i = 0; rc == OK && i < x->n; i++) {
		x->lines[i] = text_cut(&rest, '\n');
		rc = json_parse(&x->a, x->lines[i], "receipt", NULL, &x->receipts[i], e);
		if (rc == OK)
			rc = receipt_chain_hash(&x->a, x->receipts[i], x->hashes[i].b, e);
	}
	if (rc == OK)
		x->session = json_get_text(x->receipts[0], "session_id", "");
	return rc;
}

static int read_history(struct fleet_node *x, const char *dir, struct err *e)
{
	struct bytes text;
	struct json *link;
	int rc = file_read(sys_real(), &x->a, AT_FDCWD, arena_printf(&x->a, "%s/keys/" KEY_HISTORY, dir),
		1 << 20, 0, &text, e);

	x->history = json_new(&x->a, JSON_ARRAY);
	while (rc == OK && text.n) {
		rc = json_parse(&x->a, text_cut(&text, '\n'), KEY_HISTORY, NULL, &link, e);
		if (rc == OK)
			json_push(&x->a, x->history, link);
	}
	return rc;
}

int fleet_node_make(struct fleet_node *ret, const char *dir, uint64_t receipts, struct err *e)
{
	AUTO(close_fd) int fd = -1;
	struct sys *s = sys_real();
	const struct store_plan plan = {
		.receipts = receipts, .rotate_bytes = UINT64_C(1) << 40, .is_unsynced = true
	};

	*ret = (struct fleet_node){ .a = { .limit_bytes = (size_t)4 << 30 } };
	const char *state = arena_printf(&ret->a, "%s/state", dir);
	int rc = file_mkdirs(s, AT_FDCWD, state, 0700, e);
	if (rc == OK)
		rc = keys_create(s, AT_FDCWD, arena_printf(&ret->a, "%s/keys", dir), &ret->key, e);
	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, state, &fd, e);
	if (rc == OK)
		rc = store_fill(s, fd, ret->key, &plan, e);
	if (rc == OK)
		rc = read_lines(ret, dir, e);
	return rc ? rc : read_history(ret, dir, e);
}

void fleet_node_done(struct fleet_node *x)
{
	key_free(&x->key);
	arena_done(&x->a);
}

struct bytes fleet_node_batch(const struct fleet_node *x, struct arena *a, size_t from, size_t n)
{
	AUTO(zst_done) struct zst z = { 0 };
	struct json *head = json_new(a, JSON_OBJECT);
	struct buf text;
	size_t packed = 0;

	json_seti(a, head, "count", (int64_t)n);
	json_seti(a, head, "first", (int64_t)from + 1);
	json_sets(a, head, "prev_hash", from ? hash_hex(a, &x->hashes[from - 1]) : "");
	json_sets(a, head, "session_id", x->session);
	json_sets(a, head, "version", FLEET_BATCH_V1);
	buf_init(&text, a);
	json_canonical(&text, head);
	buf_addc(&text, '\n');
	for (size_t i = from; i < from + n; i++) {
		buf_add(&text, x->lines[i].p, x->lines[i].n);
		buf_addc(&text, '\n');
	}
	uint8_t *to = arena_alloc(a, zst_bound(text.n));
	(void)!zst_pack(&z, buf_bytes(&text), 1, to, zst_bound(text.n), &packed, NULL);
	return (struct bytes){ to, packed };
}

int fleet_node_ask(const struct fleet_node *x, struct arena *a, const struct fleet_place *to,
	const char *method, const char *path, struct bytes body, const char *type, struct json **ret)
{
	struct fleet_request q = { to->origin, method, path, body, sys_real()->now_us(sys_real()) / 1000000 };
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1], id[KEY_ID];
	struct web_answer answer;

	if (fleet_sign(a, x->key, &q, signature, NULL))
		return -1;
	hex_encode(signature, sizeof(signature), hex);
	key_id(key_public(x->key), id);
	const struct web_ask ask = { .method = method,
		.url = arena_printf(a, "%s%s", to->url, path),
		.headers = { arena_printf(a, "Helm-Origin: %s", to->origin),
			arena_printf(a, "Helm-Key: %s", id),
			arena_printf(a, "Helm-Time: %lld", (long long)q.time_s),
			arena_printf(a, "Helm-Signature: %s", hex) },
		.header_count = 4,
		.body = body,
		.type = type,
		.timeout_ms = 60000,
		.most_bytes = 8 << 20 };
	if (web_ask(a, &ask, &answer, NULL))
		return -1;
	if (ret && json_parse(a, answer.body, "answer", NULL, ret, NULL))
		*ret = json_new(a, JSON_OBJECT);
	return answer.status;
}

int fleet_node_join(const struct fleet_node *x, const struct fleet_place *to, const char *secret)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf text;

	json_sets(&a, doc, "version", FLEET_JOIN_V1);
	json_sets(&a, doc, "token", secret);
	json_set(&a, doc, "history", json_copy(&a, x->history));
	buf_init(&text, &a);
	json_canonical(&text, doc);
	return fleet_node_ask(x, &a, to, "POST", "/v1/fleet/join", buf_bytes(&text), NULL, NULL) == 200 ? 0
													: -1;
}
