/* SPDX-License-Identifier: Apache-2.0
 * import_image_fuzz.c - any bytes as the parts of an index, whose sum only its owner can make. All that is restored is read,
 * and arguments are read from a trace that is none.
 *
 * An input begins with the size of the data in four bytes; the data and the notes follow.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/event_args.h"
#include "trace/import_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRACE_BYTES = 64 << 10, EVENTS = 16 };

static void read_column(const struct orma_column *column)
{
	static int64_t cells[ORMA_BLOCK_ROWS];
	int64_t min, max;
	for (size_t block = 0; block < orma_store_column_blocks(column); block++) {
		orma_store_column_read(column, block, cells);
		orma_store_column_range(column, block, &min, &max);
		(void)orma_store_column_get(column, (uint64_t)block * ORMA_BLOCK_ROWS);
	}
}

static void read_all(struct orma_importer *importer, struct orma_tables *tables)
{
	static struct orma_event_args events;
	struct orma_arg_list list = {.tables = tables};
	int64_t ns;
	struct orma_clock_cache cache = {.is_valid = false};
	for (size_t i = 0; i < ORMA_TABLES; i++)
		for (size_t k = 0; k < tables->all[i].column_count; k++)
			read_column(&tables->all[i].columns[k]);
	orma_event_args_init(&events, &importer->index, &importer->types);
	for (uint64_t i = 0; i < EVENTS; i++)
		orma_event_args_add(&events, i * 7, &list);
	orma_trace_clocks_convert(&importer->index.clocks, importer->index.clocks.trace_time, 1,
				  ORMA_CLOCK_REALTIME, ORMA_CLOCK_ALL_SNAPSHOTS, &cache, &ns);
	orma_event_args_done(&events);
	orma_arg_list_done(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct orma_importer importer;
	struct orma_tables tables;
	struct orma_trace_bytes input = {
		.fd = memfd_create("trace", MFD_CLOEXEC), .spool_fd = -1, .size = TRACE_BYTES};
	uint32_t data_bytes = 0;
	if (size >= sizeof(data_bytes))
		memcpy(&data_bytes, data, sizeof(data_bytes));
	if (input.fd < 0)
		return 0;
	if (size >= sizeof(data_bytes) && data_bytes <= size - sizeof(data_bytes) &&
	    ftruncate(input.fd, TRACE_BYTES) == 0 && orma_tables_init(&tables, 0, NULL) == 0) {
		const uint8_t *parts = data + sizeof(data_bytes);
		struct orma_image_reader image = {.data = parts,
						  .data_bytes = data_bytes,
						  .notes = parts + data_bytes,
						  .end = data + size};
		importer = (struct orma_importer){0};
		if (orma_import_image_restore(&importer, &tables, &input, NULL, &image) == 0)
			read_all(&importer, &tables);
		orma_importer_done(&importer);
		orma_tables_done(&tables);
	}
	close(input.fd);
	return 0;
}
