/* pack.h — what the verifiers of packs share inside this folder. */
#ifndef VERIFY_PACK_H
#define VERIFY_PACK_H

#include "verify/parts.h"
#include "verify/verify.h"

enum {
	PACK_KEEP_BYTES = 32 << 20, /* of content held for looking into it */
	PACK_MAX_BYTES = 1 << 30,
	PACK_MAX_FILES = 200000
};

bool pack_has_dir(const struct pack *p, const char *dir);
/* The document in a file; PACK_LIMIT when its content was not kept. */
int pack_json(struct arena *a, const struct pack_file *f, struct json **ret, struct err *e);

/* The three layouts. */
void verify_pack_v1(struct verification *v, const struct pack *p, const struct json *manifest);
void verify_pack_native(struct verification *v, const struct pack *p);

/* A list of texts, for findings that accumulate. */
void pack_add_error(struct verification *v, struct json *errors, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
char *pack_join(struct arena *a, const struct json *texts, const char *between);

/* Native index. */
struct index_entry {
	const char *path;
	const char *sha256; /* as written */
	struct hash digest;
	bool is_digest; /* sha256 is 32 bytes of hex, with or without prefix */
};
struct pack_index {
	struct json *doc; /* NULL: there is no index */
	struct bytes text;
	struct index_entry *entries; /* sorted by path */
	size_t n;
	struct json *errors; /* of reading it */
};
void pack_index_read(struct verification *v, const struct pack *p, struct pack_index *ret);

/* The seal of the native layout.  Reports check evidence_pack_seal and values seal_state, seal_form, seal_signature_valid,
 * anchor_status, storage_status. */
void pack_check_seal(struct verification *v, const struct pack *p, const struct pack_index *index);

/* Receipts of a pack as chains: checks chain_integrity and lamport_monotonicity. */
void pack_check_chain(struct verification *v, const struct pack *p, const char *receipts_dir);

/* Receipts of a manifest layout by themselves: checks receipts (their own signatures) and transparency (their places in the
 * log whose leaves and head went along). */
void pack_check_receipts(struct verification *v, const struct pack *p);
/* Before that: receipts in it may extend v->trust to the keys that followed or preceded those given. */
void pack_add_seams(struct verification *v, const struct pack *p);

/* Tapes: `issues` receives what is wrong; empty means they replay.  Returns how many entries were checked. */
size_t pack_check_tapes(struct verification *v, const struct pack *p, struct json *issues);

#endif
