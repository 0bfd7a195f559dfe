/* SPDX-License-Identifier: Apache-2.0
 * replay.c - runs a fuzz target on every file of its corpus folder, without libFuzzer, so that an
 * input that broke a parser once is tested in every build.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	if (!file)
		return perror(path), 1;
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		return perror(path), 1;
	fclose(file);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int count = 0;
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		if (!dir)
			return perror(argv[i]), 1;
		for (struct dirent *entry; (entry = readdir(dir));) {
			char path[4096];
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (replay_file(path))
				return 1;
			count++;
		}
		closedir(dir);
	}
	printf("%d inputs replayed\n", count);
	return count > 0 ? 0 : 1;
}
