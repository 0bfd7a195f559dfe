/* SPDX-License-Identifier: Apache-2.0
 * any_format_fuzz.c - any bytes as a trace of any format: JSON, texts of kernel events, strace, ninja, compressed files and
 * archives. The result is imported, and the packets are those of our own writer, so none of them may be damaged.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../import_run.h"
#include "base/fd.h"
#include "formats/formats.h"
#include "trace/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the arguments of the first slices, which a record has as a text. */
static void read_args(struct orma_importer *importer, struct orma_tables *tables)
{
	enum { SLICES_MAX = 64 };
	struct orma_table *slices = &tables->all[ORMA_TABLE_SLICE];
	uint64_t count = orma_store_table_rows(slices);
	struct orma_arg_list list = {.tables = tables};
	for (uint64_t row = 0; row < count && row < SLICES_MAX; row++) {
		int64_t entry =
			orma_store_column_get(&slices->columns[ORMA_SLICE_BEGIN_PACKET], row);
		orma_arg_list_clear(&list);
		if (entry != ORMA_CELL_NULL)
			(void)orma_event_args_add(&importer->event_args, (uint64_t)entry, &list);
	}
	orma_arg_list_done(&list);
}

static void import(struct orma_trace_bytes *bytes, bool is_ours)
{
	static struct orma_importer importer;
	struct orma_tables tables;
	struct orma_error error = {0};
	if (orma_tables_init(&tables, 0, NULL) < 0)
		return;
	importer = (struct orma_importer){0};
	int r = import_run(&importer, &tables, bytes, NULL, &error);
	if (is_ours && (r < 0 || importer.index.counts[ORMA_COUNT_BAD_PACKETS] > 0))
		abort();
	if (r == 0)
		read_args(&importer, &tables);
	if (r == 0 && orma_thread_states_finish(&importer.sched.states) < 0)
		abort();
	orma_importer_done(&importer);
	orma_tables_done(&tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_trace_bytes bytes;
	struct orma_error error = {0};
	struct orma_trace_files files = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	bool may_be_packets = size > 2 && (data[0] == 0x0a || data[0] == 0x1f || data[0] == 0x28 ||
					   data[0] == 'P' || size > 512);
	if (orma_base_fd_write_all(fd, data, size) == 0) {
		struct orma_formats_source source = {.fd = fd};
		struct orma_formats_options options = {.has_records = size % 4 != 0};
		int r = orma_formats_open_all(&source, 1, &options, &files, &bytes, &error);
		if (r >= 0 || r == -EBADMSG)
			import(&bytes, r > 0 && !may_be_packets);
		orma_trace_bytes_done(&bytes);
		orma_trace_files_done(&files);
	}
	close(fd);
	return 0;
}
