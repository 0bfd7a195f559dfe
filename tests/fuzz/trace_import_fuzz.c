/* SPDX-License-Identifier: Apache-2.0
 * trace_import_fuzz.c - any bytes as a trace for the engine: it is imported, with so little memory that columns are spilled, and
 * the arguments of all slices and kernel events are read. Every cell of every table must be readable.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../import_run.h"
#include "base/fd.h"
#include "codec/compression.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/importer.h"
#include "trace/kernel_args.h"

enum { MEMORY_BYTES = 1 << 20, ROWS_WITH_ARGS_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int unpack(uint32_t field_id, const void *data_untrusted, size_t size, size_t max_bytes,
		  struct orma_buf *ret)
{
	bool is_deflate = field_id == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS;
	if (field_id == ORMA_PB_TRACE_PACKET_EXTENSION_DESCRIPTOR)
		return orma_tool_gunzip(data_untrusted, size, max_bytes, ret);
	return orma_tool_decompress(is_deflate ? ORMA_CODEC_DEFLATE : ORMA_CODEC_ZSTD,
				    data_untrusted, size, max_bytes, ret);
}

static int64_t cell(const struct orma_tables *tables, enum orma_table_id table, size_t column,
		    uint64_t row)
{
	return orma_store_column_get(&tables->all[table].columns[column], row);
}

static void read_cells(const struct orma_tables *tables)
{
	static volatile char sink;
	for (int id = 0; id < ORMA_TABLES; id++) {
		const struct orma_table *table = &tables->all[id];
		for (size_t i = 0; i < table->column_count; i++)
			for (uint64_t row = 0; row < orma_store_table_rows(table); row++) {
				int64_t value = orma_store_column_get(&table->columns[i], row);
				if (table->specs[i].type != ORMA_COLUMN_STRING ||
				    value == ORMA_CELL_NULL)
					continue;
				struct orma_str text =
					orma_store_pool_get(&tables->strings, (uint32_t)value);
				if (text.size > 0)
					sink = text.data[text.size - 1];
			}
	}
	(void)sink;
}

static void read_slice_args(struct orma_importer *importer, struct orma_tables *tables,
			    struct orma_kernel_args *kernel_args, struct orma_arg_list *list)
{
	static const size_t ends[] = {ORMA_SLICE_BEGIN_PACKET, ORMA_SLICE_END_PACKET};
	uint64_t rows = orma_store_table_rows(&tables->all[ORMA_TABLE_SLICE]);
	for (uint64_t row = 0; row < rows && row < ROWS_WITH_ARGS_MAX; row++) {
		orma_arg_list_clear(list);
		for (size_t i = 0; i < 2; i++) {
			int64_t entry = cell(tables, ORMA_TABLE_SLICE, ends[i], row);
			int r = 0;
			if (entry != ORMA_CELL_NULL && entry & ORMA_KERNEL_EVENT_BIT)
				r = orma_kernel_args_add_slice(kernel_args, entry, list);
			else if (entry != ORMA_CELL_NULL)
				r = orma_event_args_add(&importer->event_args, (uint64_t)entry,
							list);
			if (r < 0)
				abort();
		}
	}
}

static void read_all(struct orma_importer *importer, struct orma_tables *tables)
{
	struct orma_kernel_args kernel_args = {.system = &importer->system};
	struct orma_arg_list list = {.tables = tables};
	if (orma_thread_states_finish(&importer->sched.states) < 0)
		abort();
	read_cells(tables);
	read_slice_args(importer, tables, &kernel_args, &list);
	uint64_t rows = orma_store_table_rows(&tables->all[ORMA_TABLE_FTRACE_EVENT]);
	for (uint64_t row = 0; row < rows && row < ROWS_WITH_ARGS_MAX; row++) {
		orma_arg_list_clear(&list);
		if (orma_kernel_args_add(&kernel_args, row, &list) < 0)
			abort();
	}
	orma_arg_list_done(&list);
	orma_kernel_args_done(&kernel_args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct orma_importer importer;
	struct orma_tables tables = {0};
	struct orma_trace_bytes input = {.fd = -1, .spool_fd = -1};
	struct orma_error error = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	importer = (struct orma_importer){0};
	if (fd < 0 || orma_base_fd_write_all(fd, data, size) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    orma_trace_bytes_open(&input, fd, NULL) < 0 ||
	    orma_tables_init(&tables, MEMORY_BYTES, NULL) < 0)
		abort();
	int r = import_run(&importer, &tables, &input, unpack, &error);
	if (r == 0 || r == -EBADMSG)
		read_all(&importer, &tables);
	else
		abort();
	orma_importer_done(&importer);
	orma_tables_done(&tables);
	orma_trace_bytes_done(&input);
	close(fd);
	return 0;
}
