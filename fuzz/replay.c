/* replay.c — runs every file of a corpus directory through the target, without a fuzzing engine. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int replay(const char *dir, const char *name)
{
	char path[4096];
	size_t n = 0, cap = 1 << 16;
	uint8_t *data = malloc(cap);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");
	if (!f || !data) {
		perror(path);
		exit(1);
	}
	for (size_t got; (got = fread(data + n, 1, cap - n, f)) > 0;) {
		n += got;
		if (n == cap && !(data = realloc(data, cap *= 2)))
			exit(1);
	}
	fclose(f);
	/* An exact-size copy, so that the sanitizer sees one byte too far. */
	uint8_t *exact = malloc(n ? n : 1);
	if (!exact)
		exit(1);
	memcpy(exact, data, n);
	fuzz_one(exact, n);
	free(exact);
	free(data);
	return 1;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		if (!d) {
			perror(argv[i]);
			return 1;
		}
		for (struct dirent *entry; (entry = readdir(d));)
			if (entry->d_name[0] != '.')
				count += replay(argv[i], entry->d_name);
		closedir(d);
	}
	printf("%d inputs replayed\n", count);
	return count ? 0 : 1;
}
