/* SPDX-License-Identifier: Apache-2.0
 * dump_command.c - `orma dump`: prints a trace file as protobuf text, or as JSON.
 *
 * The file is read once, in windows: memory holds one packet and its text, whatever the size of the
 * trace. A trace that is cut or damaged is printed up to the damage; then the command reports its
 * position and fails.
 */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "proto/reader.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/packet_print.h"
#include "tool/trace/packet_select.h"
#include "tool/trace/trace_file.h"
#include "tool/trace/trace_input.h"

struct dump {
	struct orma_packet_select select;
	struct orma_packet_clocks clocks;
	uint64_t limit, printed;
	bool has_packets;
	int output_error;
	struct orma_packet_printer printer;
};

static bool has_chosen_field(const struct orma_packet_select *select,
			     const struct orma_packet_view *packet)
{
	struct orma_proto_field field;

	for (size_t i = 0; i < select->kind_count; i++)
		if (orma_proto_reader_find(packet->bytes.data, packet->bytes.size, select->kinds[i],
					   &field) > 0)
			return true;
	return select->kind_count == 0;
}

/* Also learns from packets that nobody wants: they declare clocks. Returns 1, 0 or -ENOMEM. */
static int is_wanted(struct dump *dump, const struct orma_packet_view *packet)
{
	const struct orma_packet_select *select = &dump->select;
	struct orma_packet_times times;
	int has_time = orma_packet_clocks_take(&dump->clocks, packet, &times);

	if (has_time < 0)
		return has_time;
	return has_chosen_field(select, packet) &&
	       orma_packet_select_wants_sequence(select, packet->sequence) &&
	       orma_packet_select_wants_process(select, packet) &&
	       (!orma_packet_select_has_time(select) ||
		(has_time && orma_packet_select_overlaps(select, &times)));
}

static int dump_packet(void *ctx, const void *data, size_t size)
{
	struct dump *dump = ctx;
	struct orma_buf *text = &dump->printer.out;
	struct orma_packet_view packet;
	int r = orma_packet_view_read(data, size, &packet);

	dump->has_packets = true;
	if (r == 0)
		r = is_wanted(dump, &packet);
	if (r <= 0)
		return r;
	dump->printed++;
	text->size = 0;
	r = orma_packet_print(&dump->printer, data, size);
	if (r < 0)
		return r;
	if ((r = orma_tool_write_raw(stdout, text->data, text->size))) {
		dump->output_error = r;
		return r;
	}
	/* Do not read the rest of the file: it may be damaged, or still be on its way through the
	 * pipe. */
	return dump->printed == dump->limit;
}

static int dump_file(struct dump *dump, const char *path)
{
	struct orma_error error = {0};
	const char *name = orma_trace_input_name(path);
	int fd = orma_trace_input_open_packets(path);
	if (fd < 0)
		return ORMA_EXIT_FAILURE;
	int status = orma_packet_select_prepare(&dump->select, fd, name), r = 0;
	if (status == ORMA_EXIT_OK && dump->limit > 0)
		r = orma_tool_trace_read(fd, dump_packet, dump, &error);
	orma_trace_input_close(fd);
	if (dump->output_error == 0 && fflush(stdout) != 0)
		dump->output_error = -errno;
	if (dump->output_error == -EPIPE)
		return ORMA_EXIT_OK; /* `orma dump x | head` is not a failure */
	if (dump->output_error)
		return orma_tool_fail("cannot write to standard output: %s",
				      strerror(-dump->output_error));
	if (r < 0)
		return orma_tool_fail("%s: %s", name,
				      error.message[0] ? error.message : strerror(-r));
	if (status == ORMA_EXIT_OK && dump->limit > 0 && !dump->has_packets)
		orma_tool_warn("%s: there is no packet in it", name);
	return status;
}

static const struct orma_tool_option option_table[] = {
	{'f', "field", "NAME",
	 "Print only packets that have this field, for example process_stats. May be given several "
	 "times.",
	 NULL},
	ORMA_SELECT_TIME_OPTIONS,
	{'p', "process", "PROCESS",
	 "Print only packets that this process wrote: an id, or a pattern for names. May be given "
	 "several times.",
	 NULL},
	{ORMA_SELECT_SEQUENCE, "sequence", "ID",
	 "Print only packets of this trusted_packet_sequence_id. May be given several times.",
	 NULL},
	{'n', "count", "N", "Print at most N packets.", NULL},
	{'j', "json", NULL, "Print JSON, one packet per line.", NULL},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct dump *dump = ctx;

	switch (id) {
	case 'f':
		return orma_packet_select_add_kind(&dump->select, value);
	case 'p':
		return orma_packet_select_add_process(&dump->select, value);
	case 'n':
		return orma_base_parse_u64(value, 10, &dump->limit)
			       ? orma_tool_usage_error("\"%s\" is not a number of packets", value)
			       : -1;
	case 'j':
		dump->printer.is_json = true;
		return -1;
	default:
		return orma_packet_select_take(&dump->select, id, value);
	}
}

static int run(int argc, char **argv)
{
	struct dump dump = {.limit = UINT64_MAX};
	int status = orma_tool_read_options(&orma_dump_command, argc, argv, take_option, &dump);

	if (status >= 0)
		return status;
	if (optind + 1 != argc)
		return orma_tool_usage_error("name one trace file");
	status = dump_file(&dump, argv[optind]);
	orma_packet_select_done(&dump.select);
	orma_packet_clocks_done(&dump.clocks);
	orma_packet_printer_done(&dump.printer);
	return status;
}

const struct orma_tool_command orma_dump_command = {
	.name = "dump",
	.summary = "print a trace as text or JSON",
	.usage = "[OPTIONS] TRACE",
	.about = "Prints a trace (- is standard input) as protobuf text, or as JSON, one packet "
		 "after the other.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
