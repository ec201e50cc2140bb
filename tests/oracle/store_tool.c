/* store_tool.c — a large record at a shell test's hand (tests/tools/store.h).
 *
 *   store_tool STATE_DIR KEYS_DIR RECEIPTS [ROWS [ROTATE_BYTES [START_US STEP_US [FIRST [CALLS]]]]]
 *   store_tool --denied N --door DOOR ...: the first N decisions are denials, and all come by that entry point
 *
 * With FIRST, the number of the first task, every decision and outcome is a task with rows in the ledgers, and nothing is synced:
 * a store of millions can be made piece by piece.  CALLS: rows of tool calls for each task. */
#include "base/file.h"
#include "tools/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(close_fd) int fd = -1;
	struct store_plan plan = { .session = "session-of-a-client" };
	uint64_t numbers[7] = { 0 };
	struct err e = { 0 };

	for (; argc > 3 && argv[1][0] == '-'; argc -= 2, argv += 2)
		if (strcmp(argv[1], "--denied") == 0)
			plan.denied = strtoull(argv[2], NULL, 10);
		else
			plan.door = argv[2];
	if (argc < 4) {
		fputs("usage: store_tool [--denied N] [--door DOOR] STATE_DIR KEYS_DIR RECEIPTS [ROWS [ROTATE_BYTES [START_US STEP_US [FIRST [CALLS]]]]]\n",
			stderr);
		return 2;
	}
	for (int i = 3; i < argc && i < 10; i++)
		numbers[i - 3] = strtoull(argv[i], NULL, 10);
	plan.receipts = numbers[0];
	plan.rows = numbers[1];
	plan.rotate_bytes = numbers[2];
	plan.start_us = (int64_t)numbers[3];
	plan.step_us = (int64_t)numbers[4];
	plan.first = numbers[5];
	plan.calls = numbers[6];
	plan.has_tasks = plan.is_unsynced = argc > 8;
	if (file_open_dir(sys_real(), AT_FDCWD, argv[1], &fd, &e) ||
		keys_load(sys_real(), AT_FDCWD, argv[2], &key, &e) ||
		store_fill(sys_real(), fd, key, &plan, &e)) {
		fprintf(stderr, "store_tool: %s\n", e.text);
		return 1;
	}
	return 0;
}
