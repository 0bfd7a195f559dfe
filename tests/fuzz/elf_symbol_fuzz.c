/* SPDX-License-Identifier: Apache-2.0
 * elf_symbol_fuzz.c - any file as a program whose function is looked up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probes/ftrace/elf_symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t offset = UINT64_MAX, again = UINT64_MAX;
	uint64_t left = UINT64_C(1) << 20, left_again = left;
	char path[64];
	int fd = memfd_create("program", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = orma_elf_find_function(path, ORMA_STR("main"), &left, &offset);
	if (r > 0 || (r == 0) != (offset != UINT64_MAX))
		abort();
	/* A file that does not change has one answer. */
	if (orma_elf_find_function(path, ORMA_STR("main"), &left_again, &again) != r ||
	    offset != again || left != left_again)
		abort();
	close(fd);
	return 0;
}
