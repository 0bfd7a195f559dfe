/* SPDX-License-Identifier: Apache-2.0
 * debug_file_fuzz.c - any bytes as an ELF file, as a .gnu_debuglink, and as a .gnu_debugdata.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/debug_file.h"
#include "symbols/mini_debug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_elf_file file;
	struct orma_buf buf = {0};
	char name[NAME_MAX + 1];
	uint32_t crc;

	if (orma_elf_file_init_image(&file, data, size) < 0)
		file = (struct orma_elf_file){.fd = -1,
					      .image = data,
					      .size = size,
					      .debug_link = {.size = size},
					      .debug_data = {.size = size}};
	if (orma_debug_link_read(&file, name, &crc) == 0 &&
	    (strlen(name) == 0 || strchr(name, '/') || name[0] == '.'))
		abort();
	int r = orma_mini_debug_read(&file, &buf);
	if (r == 0 && orma_elf_file_init_image(&file, buf.data, buf.size) == 0)
		(void)orma_debug_link_read(&file, name, &crc);
	orma_base_buf_done(&buf);
	return 0;
}
