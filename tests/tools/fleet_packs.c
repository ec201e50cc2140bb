/* fleet_packs.c — see fleet_packs.h. */
#include "tools/fleet_packs.h"

#include "base/file.h"
#include "base/hash.h"
#include "proof/preimage.h"
#include "record/record.h"
#include "tools/store.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err e;

/* What cannot be made here is a broken test. */
static void must(int rc)
{
	if (rc)
		BUG(e.text);
}

static struct key *key_of(uint8_t n)
{
	uint8_t seed[SIGN_SEED] = { n };
	struct key *k = NULL;

	must(key_from_seed(seed, &k, &e));
	return k;
}

static struct bytes read_text(struct arena *a, int fd, const char *path)
{
	struct bytes text;

	must(file_read(sys_real(), a, fd, path, 1 << 24, 0, &text, &e));
	return text;
}

static void copy_files(struct arena *a, int from, int to)
{
	char **names = NULL;
	size_t n = 0;

	must(file_list(sys_real(), a, from, ".", &names, &n, &e));
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		must(fstatat(from, names[i], &st, AT_SYMLINK_NOFOLLOW));
		if (S_ISREG(st.st_mode))
			must(file_put(sys_real(), to, names[i], 0600, read_text(a, from, names[i]), &e));
	}
}

static int open_dir(struct scratch *t, const char *name)
{
	must(mkdirat(t->fd, name, 0700));
	return openat(t->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void fill(int fd, struct key *key, uint64_t n, uint64_t first)
{
	const struct store_plan plan = { .receipts = n, .first = first, .is_unsynced = true };

	must(store_fill(sys_real(), fd, key, &plan, &e));
}

static struct json *line_at(struct arena *a, struct bytes text, int n)
{
	struct bytes line = text_cut(&text, '\n');
	struct json *doc;

	while (n-- > 0)
		line = text_cut(&text, '\n');
	must(json_parse(a, line, "line", NULL, &doc, &e));
	return doc;
}

static struct json *fork_of(struct arena *a, struct bytes keys, struct bytes ours, struct bytes theirs)
{
	struct json *doc = json_new(a, JSON_OBJECT), *links = json_new(a, JSON_ARRAY),
		    *both = json_new(a, JSON_ARRAY), *one = line_at(a, ours, 1);

	json_push(a, links, line_at(a, keys, 0));
	json_push(a, both, one);
	json_push(a, both, line_at(a, theirs, 1));
	json_sets(a, doc, "session_id", json_get_text(one, "session_id", ""));
	json_seti(a, doc, "lamport_clock", 2);
	json_set(a, doc, "keys", links);
	json_set(a, doc, "receipts", both);
	return doc;
}

/* A key, two receipts; the second machine goes on from a copy of its first one as well. */
static void make_machine(struct fleet_parts *f, struct scratch *t, int i)
{
	AUTO(key_free) struct key *key = NULL;
	const char *keys = arena_printf(f->a, "keys%d", i);
	AUTO(close_fd) int state = open_dir(t, arena_printf(f->a, "state%d", i));
	AUTO(close_fd) int copy = open_dir(t, arena_printf(f->a, "copy%d", i));

	must(keys_create(sys_real(), t->fd, keys, &key, &e));
	f->chains[i].keys = read_text(f->a, t->fd, arena_printf(f->a, "%s/history.jsonl", keys));
	fill(state, key, 1, 0);
	copy_files(f->a, state, copy);
	fill(state, key, 1, 10);
	f->receipts[i] = read_text(f->a, state, RECEIPTS);
	if (i == 1) {
		fill(copy, key, 1, 20);
		f->fork = fork_of(f->a, f->chains[i].keys, f->receipts[i], read_text(f->a, copy, RECEIPTS));
	}
}

static const char *order(struct fleet_parts *f, int seq, const char *before, const char *kind)
{
	struct json *doc = json_new(f->a, JSON_OBJECT);
	uint8_t raw[SIGN_SIZE];
	char hex[2 * SIGN_SIZE + 1];
	struct buf text;

	json_sets(f->a, doc, "version", "helm-fleet-order/1");
	json_sets(f->a, doc, "origin", f->log_key.name);
	json_seti(f->a, doc, "seq", seq);
	json_sets(f->a, doc, "prev_hash", before);
	json_sets(f->a, doc, "kind", kind);
	buf_init(&text, f->a);
	buf_adds(&text, "helm:fleet-order:v1\n");
	json_canonical(&text, doc);
	key_sign(f->control, buf_bytes(&text), raw);
	hex_encode(raw, SIGN_SIZE, hex);
	json_sets(f->a, doc, "signature", hex);
	buf_init(&text, f->a);
	json_canonical(&text, doc);
	return text.p;
}

static size_t chain_hashes(struct fleet_parts *f, int i, struct hash *ret)
{
	struct bytes rest = f->receipts[i];
	size_t n = 0;

	while (rest.n) {
		struct json *doc;
		must(json_parse(f->a, text_cut(&rest, '\n'), "line", NULL, &doc, &e));
		must(receipt_chain_hash(f->a, doc, ret[n++].b, &e));
		f->chains[i].session_id = json_get_text(doc, "session_id", "");
		f->chains[i].last = (uint64_t)json_get_int(doc, "lamport_clock", 0);
	}
	return n;
}

void fleet_parts_log(struct fleet_parts *f)
{
	struct hash hashes[64], leaves[64], root;
	size_t n = 0, ends[FLEET_MACHINES];
	struct buf note;

	for (int i = 0; i < FLEET_MACHINES; i++) {
		size_t got = chain_hashes(f, i, hashes + n);
		n += got;
		ends[i] = n - 1;
		f->chains[i].first = f->chains[i].last + 1 - got;
		f->chains[i].last_hash = hashes[n - 1];
		f->chains[i].receipts_bytes = f->receipts[i].n;
	}
	for (size_t i = 0; i < n; i++)
		leaves[i] = merkle_leaf(hashes[i].b, SHA256_SIZE);
	root = merkle_root(leaves, n);
	struct tlog_head head = { f->log_key.name, n, root };
	struct bytes text = bytes_of(tlog_head_text(f->a, &head));
	buf_init(&note, f->a);
	buf_add(&note, text.p, text.n);
	buf_addc(&note, '\n');
	note_sign(&note, &f->log_key, f->log, text, 0);
	note_sign(&note, &f->witness_key, f->witness, text, 1700000000);
	f->checkpoint = buf_bytes(&note);
	for (int i = 0; i < FLEET_MACHINES; i++) {
		struct tlog_proof p = { .index = ends[i], .checkpoint = f->checkpoint };
		p.n = merkle_prove_inclusion(leaves, n, ends[i], p.path);
		f->chains[i].proof = bytes_of(tlog_proof_text(f->a, &p));
	}
}

void fleet_parts_make(struct fleet_parts *f, struct scratch *t, struct arena *a)
{
	*f = (struct fleet_parts){ .a = a, .log = key_of(1), .control = key_of(2), .witness = key_of(3) };
	f->log_key = note_key_of("ledger.example/team", NOTE_ED25519, key_public(f->log));
	f->control_key = note_key_of("ledger.example/team/control", NOTE_ED25519, key_public(f->control));
	f->witness_key = note_key_of("witness.example/1", NOTE_COSIGNATURE, key_public(f->witness));
	for (int i = 0; i < FLEET_MACHINES; i++)
		make_machine(f, t, i);
	const char *first = order(f, 1, "", "freeze");
	f->orders = bytes_of(arena_printf(
		a, "%s\n%s\n", first, order(f, 2, sha256_hex(a, first, strlen(first)), "unfreeze")));
	fleet_parts_log(f);
}

void fleet_parts_done(struct fleet_parts *f)
{
	key_free(&f->log);
	key_free(&f->control);
	key_free(&f->witness);
}

int fleet_parts_write(const struct fleet_parts *f, struct sink *to, struct err *ret)
{
	struct fleet_pack p;

	fleet_pack_begin(&p, f->a, to, f->log_key.name, note_key_text(f->a, &f->log_key),
		note_key_text(f->a, &f->control_key));
	for (int i = 0; i < FLEET_MACHINES; i++) {
		struct bytes all = f->receipts[i];
		fleet_pack_chain(&p, &f->chains[i]);
		fleet_pack_receipts(&p, (struct bytes){ all.p, all.n / 2 });
		fleet_pack_receipts(&p, (struct bytes){ all.p + all.n / 2, all.n - all.n / 2 });
	}
	fleet_pack_checkpoint(&p, f->checkpoint);
	if (f->fork)
		fleet_pack_fork(&p, f->fork);
	fleet_pack_orders(&p, f->orders);
	return fleet_pack_end(&p, ret);
}

struct bytes fleet_parts_pack(const struct fleet_parts *f)
{
	struct sink_buf to;
	struct buf text;

	buf_init(&text, f->a);
	must(fleet_parts_write(f, sink_to_buf(&to, &text), &e));
	return buf_bytes(&text);
}
