/* log_fixture.h — a small log for tests: its leaves, its heads, and the steps between them. */
#ifndef TOOLS_LOG_FIXTURE_H
#define TOOLS_LOG_FIXTURE_H

#include "proof/tlog_proof.h"

#include <string.h>

enum { LOG_LEAVES = 40 };
#define LOG_ORIGIN "ledger.example/team"

/* Leaf i of story `story`: two stories agree on their first `story` leaves with story 0, and differ from there on. */
static inline struct hash log_leaf(uint8_t i, uint8_t story)
{
	uint8_t input[2] = { i, story && i >= story ? story : 0 };

	return merkle_leaf(input, sizeof(input));
}

static inline void log_leaves(struct hash ret[LOG_LEAVES], uint8_t story)
{
	for (uint8_t i = 0; i < LOG_LEAVES; i++)
		ret[i] = log_leaf(i, story);
}

static inline struct tlog_head log_head(uint64_t size, uint8_t story)
{
	struct hash leaves[LOG_LEAVES];

	log_leaves(leaves, story);
	return (struct tlog_head){ LOG_ORIGIN, size, merkle_root(leaves, size) };
}

/* What leads from `old` to `size` within one story. */
static inline struct tlog_request log_step(uint64_t old, uint64_t size, uint8_t story)
{
	struct tlog_request r = { .old_size = old };
	struct hash leaves[LOG_LEAVES];

	log_leaves(leaves, story);
	if (old && old <= size)
		r.n = merkle_prove_consistency(leaves, size, old, r.path);
	return r;
}

#endif
