/* tlog_tool.c — our logs at a shell test's hand: nothing the shipped program offers.
 *
 *   tlog_tool make DIR SIZE...     a log that grows to each size in turn, as files: DIR/tile/..., DIR/SIZE.checkpoint (signed and cosigned),
 *                                  DIR/log.vkey, DIR/witness.vkey, DIR/SIZE.old.proof (consistency with the size before, in base64 lines),
 *                                  DIR/SIZE.INDEX.tlog-proof for some leaves
 *   tlog_tool open VKEY <note      exit 0 and the text when the note is signed by that key
 *   tlog_tool sign SKEY <text      the note */
#include "base/file.h"
#include "base/hash.h"
#include "proof/tile.h"
#include "proof/tlog_proof.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena a;
static struct err e;
static int root_fd;

static int fail(void)
{
	fprintf(stderr, "tlog_tool: %s\n", e.text);
	return 1;
}

static int read_file(void *arg, struct arena *to, const struct tile *t, struct bytes *ret, struct err *err)
{
	char path[TILE_PATH];

	(void)arg;
	tile_path(t, path);
	return file_read(sys_real(), to, root_fd, path, 1 << 20, 0, ret, err);
}
static const struct tile_source source = { read_file, NULL };

static int put(const char *path, struct bytes data)
{
	char *dir = arena_strdup(&a, path), *slash = strrchr(dir, '/');

	if (slash) {
		*slash = '\0';
		if (file_mkdirs(sys_real(), root_fd, dir, 0755, &e))
			return fail();
	}
	return file_replace(sys_real(), root_fd, path, 0644, data, &e) ? fail() : 0;
}

static int put_hashes(const char *path, const struct hash *list, size_t n)
{
	struct buf b;

	buf_init(&b, &a);
	for (size_t i = 0; i < n; i++) {
		note_add_hash(&b, &list[i]);
		buf_addc(&b, '\n');
	}
	return put(path, buf_bytes(&b));
}

static struct key *key_of(uint8_t n)
{
	uint8_t seed[SIGN_SEED] = { n };
	struct key *k = NULL;

	if (key_from_seed(seed, &k, &e))
		exit(fail());
	return k;
}

/* Entry i of every log here. */
static struct hash chain_hash(uint64_t i)
{
	struct hash h;
	char text[32];
	int n = snprintf(text, sizeof(text), "entry %llu", (unsigned long long)i);

	sha256(text, (size_t)n, h.b);
	return h;
}

static struct bytes checkpoint(uint64_t size, const struct hash *root)
{
	AUTO(key_free) struct key *log = key_of(1), *witness = key_of(2);
	struct note_key k = note_key_of("log.example/fleet", NOTE_ED25519, key_public(log)),
			w = note_key_of("w.example/1", NOTE_COSIGNATURE, key_public(witness));
	struct tlog_head head = { k.name, size, *root };
	struct bytes text = bytes_of(tlog_head_text(&a, &head));
	struct buf b;

	(void)put("log.vkey", bytes_of(note_key_text(&a, &k)));
	(void)put("witness.vkey", bytes_of(note_key_text(&a, &w)));
	buf_init(&b, &a);
	buf_add(&b, text.p, text.n);
	buf_addc(&b, '\n');
	note_sign(&b, &k, log, text, 0);
	note_sign(&b, &w, witness, text, 1700000000);
	return buf_bytes(&b);
}

static int prove(uint64_t size, uint64_t old, struct bytes note)
{
	struct tlog_proof p = { .checkpoint = note };

	if (old) {
		if (tile_prove_consistency(&a, &source, size, old, p.path, &p.n, &e))
			return fail();
		if (put_hashes(arena_printf(&a, "%llu.old.proof", (unsigned long long)size), p.path, p.n))
			return 1;
	}
	for (uint64_t k = 0; k < 8; k++) {
		p.index = k * (size - 1) / 7;
		if (tile_prove_inclusion(&a, &source, size, p.index, p.path, &p.n, &e))
			return fail();
		if (put(arena_printf(&a, "%llu.%llu.tlog-proof", (unsigned long long)size,
				(unsigned long long)p.index),
			    bytes_of(tlog_proof_text(&a, &p))))
			return 1;
	}
	return 0;
}

static int make(char **sizes, int n)
{
	struct hash root = merkle_root(NULL, 0);
	uint64_t size = 0;

	for (int i = 0; i < n; i++) {
		uint64_t next = strtoull(sizes[i], NULL, 10), old = size;
		struct hash *chain = arena_zalloc(&a, next - size, sizeof(*chain));
		struct tile_rows rows;
		for (uint64_t k = 0; k < next - size; k++)
			chain[k] = chain_hash(size + k);
		if (tile_append(&a, &source, size, &root, chain, next - size, &rows, &root, &e))
			return fail();
		for (size_t k = 0; k < rows.n; k++) {
			char path[TILE_PATH];
			tile_path(&rows.list[k].at, path);
			if (put(path, rows.list[k].data))
				return 1;
		}
		size = next;
		struct bytes note = checkpoint(size, &root);
		if (put(arena_printf(&a, "%s.checkpoint", sizes[i]), note) || prove(size, old, note))
			return 1;
	}
	return 0;
}

static int open_note(const char *vkey)
{
	struct note_key key;
	struct note_seen seen;
	struct bytes text;
	struct note note;

	if (note_key_parse(&a, bytes_of(vkey), "the key", &key, &e) ||
		file_read(sys_real(), &a, -1, "-", 1 << 20, FILE_FOLLOW, &text, &e) ||
		note_parse(&a, text, "the note", &note, &e) || note_verify(&a, &note, &key, 1, &seen, &e))
		return fail();
	return fwrite(note.text.p, 1, note.text.n, stdout) != note.text.n;
}

static int sign(const char *skey)
{
	AUTO(key_free) struct key *secret = NULL;
	struct note_key key;
	struct bytes text;
	struct buf b;

	if (note_secret_parse(&a, bytes_of(skey), "the key", &key, &secret, &e) ||
		file_read(sys_real(), &a, -1, "-", 1 << 20, FILE_FOLLOW, &text, &e))
		return fail();
	buf_init(&b, &a);
	buf_add(&b, text.p, text.n);
	buf_addc(&b, '\n');
	note_sign(&b, &key, secret, text, 0);
	return fwrite(b.p, 1, b.n, stdout) != b.n;
}

int main(int argc, char **argv)
{
	int rc = 2;

	if (argc > 3 && strcmp(argv[1], "make") == 0) {
		root_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = root_fd < 0 ? 1 : make(argv + 3, argc - 3);
	} else if (argc == 3 && strcmp(argv[1], "open") == 0) {
		rc = open_note(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "sign") == 0) {
		rc = sign(argv[2]);
	}
	arena_done(&a);
	return rc;
}
