/* merkle_test.c — the RFC 6962 tree: known roots, every proof of small trees, every way a proof can be wrong. */
#include "proof/merkle.h"
#include "tools/unit.h"

enum { LEAVES = 33 };
static struct arena a;
static struct hash leaves[LEAVES];

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < LEAVES; i++)
		leaves[i] = merkle_leaf(&(uint8_t){ (uint8_t)i }, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static void known_roots(void **state)
{
	/* Chain hashes of three receipts, and what their log looks like. */
	static const char *const chain[] = {
		"7ddb403ce5b6d7068ef1c48841fd6b3e8e7cae66e4767eca62ecc80a5957180e",
		"d474ce7c63b2f8d2b719e0a3e512281d7a9f3b1087655d62659005c110cac70f",
		"f40e44cd46fe83f2eae9ed2325993c8d0bb95c1905ef34e3114481edf604fce8"
	};
	struct hash three[3], root;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_true(hash_from_hex(chain[i], &root));
		three[i] = merkle_leaf(root.b, sizeof(root.b));
	}
	assert_string_equal(
		hash_hex(&a, &three[0]), "ba3a91ab4f0685b9f6aec9f5bee678fd57f3676f5c7d65f3c62d250eac61210d");
	root = merkle_root(three, 3);
	assert_string_equal(
		hash_hex(&a, &root), "b5e961fe7d541d7d0decfc61ba2cc0c2e845df507f290a686e7636ce6e2a94be");
	root = merkle_root(NULL, 0);
	assert_string_equal(
		hash_hex(&a, &root), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void every_inclusion_proof_holds(void **state)
{
	struct hash path[MERKLE_MAX_PATH];
	struct err e;

	(void)state;
	for (uint64_t n = 1; n <= LEAVES; n++) {
		struct hash root = merkle_root(leaves, n);
		for (uint64_t i = 0; i < n; i++) {
			size_t k = merkle_prove_inclusion(leaves, n, i, path);
			assert_int_equal(merkle_check_inclusion(&leaves[i], i, n, path, k, &root, &e), OK);
			if (n == 1)
				continue;
			assert_int_not_equal(
				merkle_check_inclusion(&leaves[i], i ^ 1, n, path, k, &root, &e), OK);
			assert_int_not_equal(
				merkle_check_inclusion(&leaves[i], i, n, path, k - 1, &root, &e), OK);
			assert_string_equal(e.code, "MERKLE_PATH_SHORT");
			path[k] = root;
			assert_int_not_equal(
				merkle_check_inclusion(&leaves[i], i, n, path, k + 1, &root, &e), OK);
			assert_string_equal(e.code, "MERKLE_PATH_LONG");
			path[k - 1].b[0] ^= 1;
			assert_int_not_equal(
				merkle_check_inclusion(&leaves[i], i, n, path, k, &root, &e), OK);
			assert_string_equal(e.code, "MERKLE_ROOT");
		}
	}
}

static void every_consistency_proof_holds(void **state)
{
	struct hash path[MERKLE_MAX_PATH];
	struct err e;

	(void)state;
	for (uint64_t n = 1; n <= LEAVES; n++)
		for (uint64_t m = 1; m <= n; m++) {
			struct hash old_root = merkle_root(leaves, m), root = merkle_root(leaves, n);
			size_t k = merkle_prove_consistency(leaves, n, m, path);
			assert_int_equal(merkle_check_consistency(m, n, path, k, &old_root, &root, &e), OK);
			struct hash other = old_root;
			other.b[31] ^= 1;
			assert_int_not_equal(merkle_check_consistency(m, n, path, k, &other, &root, &e), OK);
			if (m == n) {
				assert_string_equal(e.code, "MERKLE_EQUIVOCATION");
				continue;
			}
			assert_int_not_equal(
				merkle_check_consistency(m, n, path, k - 1, &old_root, &root, &e), OK);
			path[k] = root;
			assert_int_not_equal(
				merkle_check_consistency(m, n, path, k + 1, &old_root, &root, &e), OK);
			assert_int_not_equal(
				merkle_check_consistency(m, n, path, k, &old_root, &other, &e), OK);
		}
}

static void nonsense_sizes_are_refused(void **state)
{
	struct hash root = merkle_root(leaves, 4);
	struct err e;

	(void)state;
	assert_int_not_equal(merkle_check_inclusion(&leaves[0], 0, 0, NULL, 0, &root, &e), OK);
	assert_int_not_equal(merkle_check_inclusion(&leaves[0], 4, 4, NULL, 0, &root, &e), OK);
	assert_string_equal(e.code, "MERKLE_INDEX");
	assert_int_not_equal(merkle_check_consistency(0, 4, NULL, 0, &root, &root, &e), OK);
	assert_int_not_equal(merkle_check_consistency(5, 4, NULL, 0, &root, &root, &e), OK);
}

static void a_growing_tree_has_the_same_roots(void **state)
{
	struct merkle m = { 0 };

	(void)state;
	for (uint64_t n = 0; n < LEAVES; n++) {
		struct hash grown = merkle_head(&m), whole = merkle_root(leaves, n);
		assert_true(hash_eq(&grown, &whole));
		merkle_append(&m, &leaves[n]);
	}
	assert_int_equal(m.size, LEAVES);
}

/* Trees of the same size need no path between them, and get none. */
static void equal_sizes_take_no_path(void **state)
{
	struct hash root = merkle_leaf("x", 1), other = merkle_leaf("y", 1);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(merkle_check_consistency(5, 5, NULL, 0, &root, &root, &e), OK);
	assert_int_equal(merkle_check_consistency(5, 5, &other, 1, &root, &root, &e), E_INPUT);
	assert_string_equal(e.code, "MERKLE_PATH_LONG");
	assert_int_equal(merkle_check_consistency(5, 5, NULL, 0, &root, &other, &e), E_INPUT);
	assert_string_equal(e.code, "MERKLE_EQUIVOCATION");
}

static void only_64_hex_digits_are_a_hash(void **state)
{
	struct hash h = { { 7 } };

	(void)state;
	assert_false(hash_from_hex(NULL, &h));
	assert_false(hash_from_hex("", &h));
	assert_false(hash_from_hex("00", &h));
	assert_false(hash_from_hex("g000000000000000000000000000000000000000000000000000000000000000", &h));
	assert_int_equal(h.b[0], 7);
	assert_true(hash_from_hex("AB00000000000000000000000000000000000000000000000000000000000000", &h));
	assert_int_equal(h.b[0], 0xab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_roots),
		cmocka_unit_test(every_inclusion_proof_holds),
		cmocka_unit_test(every_consistency_proof_holds),
		cmocka_unit_test(nonsense_sizes_are_refused),
		cmocka_unit_test(a_growing_tree_has_the_same_roots),
		cmocka_unit_test(equal_sizes_take_no_path),
		cmocka_unit_test(only_64_hex_digits_are_a_hash),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
