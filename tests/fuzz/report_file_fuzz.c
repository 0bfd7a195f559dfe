/* SPDX-License-Identifier: Apache-2.0
 * report_file_fuzz.c - the first two lines are the facts and the columns of a report, and the rest is its data: the page is
 * converted and imported. So mutations reach the columns, without having to be valid base91.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../import_run.h"
#include "formats/format.h"
#include "trace/base91.h"
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

/* Takes the next line off the input. */
static struct orma_str next_line(struct orma_str *rest)
{
	const char *end = rest->size > 0 ? memchr(rest->data, '\n', rest->size) : NULL;
	struct orma_str line = {rest->data, end ? (size_t)(end - rest->data) : rest->size};
	size_t used = line.size + (end != NULL);
	*rest = (struct orma_str){rest->data + used, rest->size - used};
	return line;
}

static int build(struct orma_buf *page, struct orma_str rest)
{
	struct orma_str meta = next_line(&rest), columns = next_line(&rest);
	int r = orma_base_buf_printf(
		page,
		"<!doctype html>\n<script type=\"application/json\" "
		"id=\"orma-meta\">%.*s</script>\n"
		"<script type=\"application/json\" id=\"orma-layout\">{\"format\":1,\"bytes\":%zu,"
		"\"columns\":[%.*s]}</script>\n<script type=\"application/octet-stream\" "
		"id=\"orma-data-0\">",
		(int)meta.size, meta.data, rest.size, (int)columns.size, columns.data);
	if (r == 0)
		r = orma_base91_append(page, rest);
	return r ? r : orma_base_buf_append_str(page, "</script>\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct orma_packet_output output;
	struct orma_trace_bytes input = {.fd = -1, .spool_fd = -1};
	struct orma_trace_bytes packets = {.fd = -1, .spool_fd = -1};
	struct orma_buf page = {0};
	uint64_t address;
	if (build(&page, (struct orma_str){(const char *)data, size}) < 0 ||
	    orma_trace_bytes_add(&input, page.data, page.size, &address) < 0)
		abort();
	orma_packet_output_init(&output, &packets);
	struct orma_conversion conversion = {.fd = -1, .input = &input, .output = &output};
	int r = orma_format_report.convert(&conversion, NULL);
	if (r != 0 && r != -EBADMSG && r != -EPROTONOSUPPORT)
		abort();
	if (orma_packet_output_finish(&output, orma_format_report.name, size) < 0)
		abort();
	import(&packets);
	orma_trace_bytes_done(&packets);
	orma_trace_bytes_done(&input);
	orma_base_buf_done(&page);
	return 0;
}
