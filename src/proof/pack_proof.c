/* pack_proof.c — one line of a pack shown, the rest withheld: inclusion proofs and redacted views
 * (pack.h).
 *
 * A proof that agrees with itself proves nothing: whoever wrote it could have made up the tree.
 * Membership is established only against a root that came from elsewhere, for example from the pack's
 * verified manifest. */
#include "model/stamp.h"
#include "proof/pack.h"

#define PROOF_VERSION "1.0.0"

/* The entry as it is shown in a proof; its members are those the leaf is made of. */
static struct json *entry_json(struct arena *a, const struct pack_entry *entry)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "path", entry->path);
	json_sets(a, v, "content_hash", entry->content_hash);
	json_seti(a, v, "size", entry->size_bytes);
	json_sets(a, v, "content_type", entry->content_type);
	return v;
}

/* "sha256:" hash of the canonical {version, binding, entry, leaf_hash}.  It ties the entry to the pack it
 * is said to come from.  NULL when the proof has no canonical form. */
static char *binding_hash(struct arena *a, const struct json *proof)
{
	static const char *const bound[] = { "binding", "entry", "leaf_hash", "version" };
	struct json *v = json_new(a, JSON_OBJECT);
	struct buf b;

	for (size_t i = 0; i < ARRAY_SIZE(bound); i++)
		if (json_get(proof, bound[i]))
			json_set(a, v, bound[i], json_get(proof, bound[i]));
	buf_init(&b, a);
	if (json_canonical_strict(&b, v, NULL))
		return NULL;
	return sha256_prefixed(a, b.p, b.n);
}

/* What the proof says about its pack.  entry_count is in it because the root alone does not fix the number
 * of leaves. */
static struct json *proof_binding(
	struct arena *a, const struct json *manifest, const char *created, const struct hash *root, size_t n)
{
	struct json *binding = json_new(a, JSON_OBJECT);

	json_sets(a, binding, "pack_id", json_get_text(manifest, "pack_id", ""));
	json_sets(a, binding, "manifest_hash", json_get_text(manifest, "manifest_hash", ""));
	json_sets(a, binding, "policy_hash", json_get_text(manifest, "policy_hash", ""));
	json_sets(a, binding, "created_at", created);
	json_sets(a, binding, "entries_merkle_root", pack_hash_text(a, root));
	json_seti(a, binding, "entry_count", (int64_t)n);
	return binding;
}

/* The caller has checked that index < n and that entries are sorted. */
int pack_prove(struct arena *a, const struct json *manifest, const struct pack_entry *entries, size_t n,
	size_t index, struct json **ret, struct err *e)
{
	struct json *proof = json_new(a, JSON_OBJECT), *path = json_new(a, JSON_ARRAY);
	struct hash *leaves = arena_zalloc(a, n, sizeof(*leaves)), root;
	struct pack_step steps[PACK_PATH_MAX];
	const char *created = json_get_text(manifest, "created_at", "");

	if (!(created = stamp_canonical(a, created, strlen(created), true)))
		return err_set(e, E_INPUT, "PACK_MANIFEST", "the manifest's created_at is not a time");
	for (size_t i = 0; i < n; i++)
		leaves[i] = pack_entry_leaf(a, &entries[i]);
	root = pack_tree_root(a, leaves, n);
	size_t step_n = pack_tree_path(a, leaves, n, index, steps);
	for (size_t i = 0; i < step_n; i++) {
		struct json *step = json_new(a, JSON_OBJECT);
		json_sets(a, step, "sibling_hash", pack_hash_text(a, &steps[i].sibling));
		json_setb(a, step, "right", steps[i].is_right);
		json_push(a, path, step);
	}
	json_sets(a, proof, "version", PROOF_VERSION);
	json_set(a, proof, "binding", proof_binding(a, manifest, created, &root, n));
	json_set(a, proof, "entry", entry_json(a, &entries[index]));
	json_sets(a, proof, "leaf_hash", pack_hash_text(a, &leaves[index]));
	json_set(a, proof, "merkle_path", path);
	json_sets(a, proof, "binding_hash", binding_hash(a, proof));
	*ret = proof;
	return OK;
}

/* Fold a list of {sibling_hash, right} onto *running; false when a step is malformed. */
static bool fold(const struct json *path, struct hash *running)
{
	json_each (step, path) {
		struct hash sibling;
		const struct json *right = json_get(step, "right");
		if (!pack_hash_parse(json_text(json_get(step, "sibling_hash")), &sibling) ||
			!json_is_bool(right))
			return false;
		*running = json_is(right, JSON_TRUE) ? merkle_node(running, &sibling)
						     : merkle_node(&sibling, running);
	}
	return json_is(path, JSON_ARRAY);
}

/* Exactly the four members of an entry: a fifth would be shown to a reader without being covered by the
 * leaf. */
static bool read_entry(const struct json *v, struct pack_entry *ret)
{
	struct hash ignored;

	ret->path = json_text(json_get(v, "path"));
	ret->content_hash = json_text(json_get(v, "content_hash"));
	ret->content_type = json_text(json_get(v, "content_type"));
	return json_is(v, JSON_OBJECT) && v->n == 4 && ret->path && ret->content_type &&
		pack_hash_parse(ret->content_hash, &ignored) &&
		json_int(json_get(v, "size"), &ret->size_bytes) && ret->size_bytes >= 0;
}

/* Adds what is wrong with the path from `leaf` to the root.  The count in the binding is only believed
 * when is_bound says that the binding is as its hash says.  Without an expected root an empty path is
 * refused too: a tree of one leaf that names itself as root says nothing at all. */
static void check_path(struct arena *a, const struct json *proof, const struct hash *leaf,
	const char *expected_root, bool is_bound, struct json *errors)
{
	const struct json *binding = json_get(proof, "binding"), *path = json_get(proof, "merkle_path");
	const char *root_text = json_get_text(binding, "entries_merkle_root", "");
	int64_t count = json_get_int(binding, "entry_count", 0);
	struct hash root, running = *leaf;

	if (!expected_root && json_is(path, JSON_ARRAY) && !path->n)
		json_pushs(a, errors, "empty merkle path");
	if (is_bound &&
		(count < 1 || (json_is(path, JSON_ARRAY) && path->n != pack_path_length((uint64_t)count))))
		json_pushs(a, errors, "merkle path length does not match the entry count");
	if (!pack_hash_parse(root_text, &root) || !fold(path, &running) || !hash_eq(&running, &root))
		json_pushs(a, errors, "merkle path does not reach the binding's root");
	if (expected_root && !text_eq(expected_root, root_text))
		json_push(a, errors,
			json_stringf(
				a, "binding root %.80s does not match the expected pack root", root_text));
}

/* Collects all failures instead of stopping at the first, since a reader wants to know what was changed.
 * Only an entry that cannot be read ends it early: there is nothing to compare then. */
void pack_check_proof(struct arena *a, const struct json *proof, const char *expected_root,
	const char *expected_path, struct pack_proof_result *ret)
{
	struct json *errors = json_new(a, JSON_ARRAY);
	struct pack_entry entry = { 0 };
	struct hash leaf, stated;
	const char *bound = binding_hash(a, proof);
	bool is_bound = bound && text_eq(json_get_text(proof, "binding_hash", ""), bound);

	*ret = (struct pack_proof_result){ .errors = errors };
	if (!text_eq(json_get_text(proof, "version", ""), PROOF_VERSION))
		json_pushs(a, errors, "unsupported version");
	if (!is_bound)
		json_pushs(a, errors, "binding hash mismatch");
	if (!read_entry(json_get(proof, "entry"), &entry)) {
		json_pushs(a, errors, "entry record is malformed");
		return;
	}
	leaf = pack_entry_leaf(a, &entry);
	if (!pack_hash_parse(json_text(json_get(proof, "leaf_hash")), &stated) || !hash_eq(&leaf, &stated))
		json_pushs(a, errors, "leaf hash does not match entry record");
	/* The path is folded from the stated leaf, so that an edited entry is one failure, not two. */
	if (pack_hash_parse(json_text(json_get(proof, "leaf_hash")), &stated))
		check_path(a, proof, &stated, expected_root, is_bound, errors);
	if (expected_path && !text_eq(expected_path, entry.path))
		json_push(a, errors,
			json_stringf(
				a, "the proof is for '%.200s', not for the entry asked for", entry.path));
	ret->path = entry.path;
	ret->content_hash = entry.content_hash;
	ret->size_bytes = entry.size_bytes;
	ret->is_member = !errors->n && expected_root;
	ret->is_self_attested = !errors->n && !expected_root;
}

/* Redacted views: leaves are values at JSON pointers. */

/* One text has one spelling: Unicode characters composed (NFC).  A text with a NUL is refused, because
 * programs that end texts at a NUL would read another one. */
static int compose(struct arena *a, const char **text, uint32_t *n, struct err *e)
{
	if (memchr(*text, '\0', *n))
		return err_set(
			e, E_INPUT, "PACK_VIEW", "the view holds a text with a NUL in it: %.40s", *text);
	*text = text_nfc(a, *text, *n);
	*n = (uint32_t)strlen(*text);
	return OK;
}

static int normalize(struct arena *a, struct json *v, struct err *e);

/* Members that are null are dropped.  Two names that become the same would make the view ambiguous and are
 * refused. */
static int normalize_object(struct arena *a, struct json *v, struct err *e)
{
	uint32_t kept = 0, first, again;
	int rc;

	json_each_member (m, v) {
		if (json_is(m->value, JSON_NULL))
			continue;
		if ((rc = compose(a, &m->name, &m->name_n, e)) || (rc = normalize(a, m->value, e)))
			return rc;
		v->members[kept++] = *m;
	}
	v->n = kept;
	if (json_duplicate(v->members, kept, &first, &again))
		return err_set(e, E_INPUT, "PACK_VIEW", "two members of the view have the same name '%s'",
			v->members[again].name);
	return OK;
}

/* The normal form, in place: texts composed, members that are null left out, whole numbers only. */
static int normalize(struct arena *a, struct json *v, struct err *e)
{
	int rc;

	if (json_is(v, JSON_STRING))
		return compose(a, &v->text, &v->n, e);
	if (json_is(v, JSON_NUMBER) && strpbrk(v->text, ".eE"))
		return err_set(
			e, E_INPUT, "PACK_VIEW", "the view holds a number that is not whole: %.40s", v->text);
	json_each (item, v)
		if ((rc = normalize(a, item, e)))
			return rc;
	return json_is(v, JSON_OBJECT) ? normalize_object(a, v, e) : OK;
}

/* The domain and the pointer each end in a NUL, so that no text can run from one into the other. */
int pack_view_leaf(
	struct arena *a, const char *pointer, const struct json *value, struct hash *ret, struct err *e)
{
	static const char domain[] = "helm:evidence:leaf:v1";
	struct json *normal = json_copy(a, value);
	struct buf b;
	int rc;

	if ((rc = normalize(a, normal, e)))
		return rc;
	buf_init(&b, a);
	buf_add(&b, domain, sizeof(domain)); /* its NUL is the separator */
	buf_add(&b, pointer, strlen(pointer) + 1);
	json_write(&b, normal, JSON_SORT_BYTES | JSON_HTML_SAFE);
	sha256(b.p, b.n, ret->b);
	return OK;
}

/* Another domain than that of leaves, so that a node cannot be presented as a leaf. */
struct hash pack_view_node(const struct hash *left, const struct hash *right)
{
	static const char domain[] = "helm:evidence:node:v1";
	struct sha256 h;
	struct hash node;

	sha256_begin(&h);
	sha256_add(&h, domain, sizeof(domain));
	sha256_add(&h, left->b, SHA256_SIZE);
	sha256_add(&h, right->b, SHA256_SIZE);
	sha256_end(&h, node.b);
	return node;
}

/* One step of a JSON pointer, with ~1 and ~0 undone. */
static char *pointer_name(struct arena *a, const char *p, size_t n)
{
	char *name = arena_strndup(a, p, n), *to = name;

	for (const char *from = name; *from; from++) {
		bool is_escape = from[0] == '~' && (from[1] == '0' || from[1] == '1');
		*to++ = !is_escape ? from[0] : from[1] == '1' ? '/' : '~';
		from += is_escape;
	}
	*to = 0;
	return name;
}

/* The value at a JSON pointer (RFC 6901), or NULL.  NULL also for a pointer that does not begin with a
 * slash. */
static const struct json *at_pointer(struct arena *a, const struct json *v, const char *pointer)
{
	while (v && *pointer == '/') {
		const char *end = strchrnul(++pointer, '/');
		char *name = pointer_name(a, pointer, (size_t)(end - pointer));
		int64_t index;
		if (!json_is(v, JSON_ARRAY))
			v = json_get(v, name);
		else
			v = text_int(name, &index) ? json_at(v, (size_t)index) : NULL;
		pointer = end;
	}
	return *pointer ? NULL : v;
}

/* One proof of a view.  `value` is NULL when the view withholds it: then only the way from the stated leaf
 * to the root is checked.  A root that differs from the expected one is refused even when the proof agrees
 * with itself. */
static bool check_view_proof(struct arena *a, const char *pointer, const struct json *value,
	const struct json *proof, const char *expected_root)
{
	const char *root_text = json_get_text(proof, "merkle_root", "");
	struct hash running, stated, root;

	if (!hash_from_hex(json_get_text(proof, "leaf_hash", ""), &stated) ||
		!hash_from_hex(root_text, &root))
		return false;
	if (value && (pack_view_leaf(a, pointer, value, &running, NULL) || !hash_eq(&running, &stated)))
		return false;
	running = stated;
	json_each (step, json_get(proof, "proof_path")) {
		const char *side = json_get_text(step, "side", "");
		struct hash sibling;
		if (!hash_from_hex(json_get_text(step, "sibling_hash", ""), &sibling) ||
			(!text_eq(side, "L") && !text_eq(side, "R")))
			return false;
		running = *side == 'L' ? pack_view_node(&sibling, &running)
				       : pack_view_node(&running, &sibling);
	}
	return hash_eq(&running, &root) && (!expected_root || text_eq(expected_root, root_text));
}

/* Values are told apart by where they lie in memory, not by what they say: an equal value elsewhere in the
 * view is another one. */
static int by_address(const void *x, const void *y)
{
	const struct json *a = *(const struct json *const *)x, *b = *(const struct json *const *)y;

	return a < b ? -1 : a > b;
}

/* Every value that is shown is a proven one or lies below one.  null counts as absent.  An empty list or
 * object is a value too, and needs a proof. */
static bool is_proven(const struct json *v, const struct json *const *proven, size_t n)
{
	if (json_is(v, JSON_NULL) || bsearch(&v, proven, n, sizeof(*proven), by_address))
		return true;
	json_each (item, v)
		if (!is_proven(item, proven, n))
			return false;
	json_each_member (m, v)
		if (!is_proven(m->value, proven, n))
			return false;
	return (json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT)) && v->n > 0;
}

static bool shows_nothing(const struct json *disclosed)
{
	return !disclosed || (json_is(disclosed, JSON_OBJECT) && !disclosed->n);
}

/* Two questions: does each proof hold, and is there anything shown for which there is no proof.  The
 * second keeps somebody from adding values to a view that is otherwise genuine. */
void pack_check_view(
	struct arena *a, const struct json *view, const char *expected_root, struct pack_proof_result *ret)
{
	const struct json *proofs = json_get(view, "proofs"), *disclosed = json_get(view, "disclosed");
	struct json *errors = json_new(a, JSON_ARRAY);
	const struct json **proven;
	size_t n = 0;

	*ret = (struct pack_proof_result){ .errors = errors };
	if (!json_is(proofs, JSON_ARRAY) || !proofs->n) {
		json_pushs(a, errors, "the view has no proofs");
		return;
	}
	proven = arena_zalloc(a, proofs->n, sizeof(struct json *));
	json_each (proof, proofs) {
		const char *pointer = json_get_text(proof, "leaf_path", "");
		const struct json *value = at_pointer(a, disclosed, pointer);
		if (!check_view_proof(a, pointer, value, proof, expected_root))
			json_push(a, errors, json_stringf(a, "the proof of '%.200s' does not hold", pointer));
		else if (value)
			proven[n++] = value;
	}
	qsort(proven, n, sizeof(*proven), by_address);
	if (!shows_nothing(disclosed) && !is_proven(disclosed, proven, n))
		json_pushs(a, errors, "the view shows a value that no proof speaks of");
	ret->is_member = !errors->n && expected_root;
	ret->is_self_attested = !errors->n && !expected_root;
}
