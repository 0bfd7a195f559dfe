/* SPDX-License-Identifier: Apache-2.0
 * profile_format_fuzz.c - the first byte chooses a format of profiles, and the rest is a file of it, whatever its beginning: it is
 * converted and imported. The conversion makes packets that the importer can read.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "../import_run.h"
#include "base/macros.h"
#include "formats/format.h"
#include "trace/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import(struct orma_trace_bytes *packets)
{
	static struct orma_importer importer;
	struct orma_tables tables;
	if (orma_tables_init(&tables, 0, NULL) == 0) {
		importer = (struct orma_importer){0};
		if (import_run(&importer, &tables, packets, NULL, NULL) != 0)
			abort();
		orma_importer_done(&importer);
	}
	orma_tables_done(&tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct orma_format *const formats[] = {&orma_format_collapsed,
							    &orma_format_perf_text,
							    &orma_format_pprof, &orma_format_perf};
	static struct orma_packet_output output;
	struct orma_trace_bytes input = {.fd = -1, .spool_fd = -1};
	struct orma_trace_bytes packets = {.fd = -1, .spool_fd = -1};
	uint64_t address;
	if (size < 2)
		return 0;
	const struct orma_format *format = formats[data[0] % ORMA_ARRAY_SIZE(formats)];
	if (orma_trace_bytes_add(&input, data + 1, size - 1, &address) < 0)
		abort();
	format->detect(-1, (struct orma_str){(const char *)data + 1, size - 1});
	orma_packet_output_init(&output, &packets);
	struct orma_conversion conversion = {.fd = -1, .input = &input, .output = &output};
	int r = format->convert(&conversion, NULL);
	if (r != 0 && r != -EBADMSG && r != -ENOMEM && r != -EFBIG)
		abort();
	if (orma_packet_output_finish(&output, format->name, size - 1) < 0)
		abort();
	import(&packets);
	orma_trace_bytes_done(&packets);
	orma_trace_bytes_done(&input);
	return 0;
}
