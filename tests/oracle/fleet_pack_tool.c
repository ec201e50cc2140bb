/* fleet_pack_tool.c — a small pack of a fleet at a shell test's hand.
 *
 *   fleet_pack_tool FILE     writes the pack, and prints the keys of its log, its control and its witness on three lines */
#include "tools/fleet_packs.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t = { 0 };
	struct fleet_parts f;

	if (argc != 2)
		return 2;
	scratch_open(&t);
	fleet_parts_make(&f, &t, &a);
	struct bytes pack = fleet_parts_pack(&f);
	FILE *to = fopen(argv[1], "w");
	int rc = !to || fwrite(pack.p, 1, pack.n, to) != pack.n || fclose(to);
	printf("%s\n%s\n%s\n", note_key_text(&a, &f.log_key), note_key_text(&a, &f.control_key),
		note_key_text(&a, &f.witness_key));
	fleet_parts_done(&f);
	return rc;
}
