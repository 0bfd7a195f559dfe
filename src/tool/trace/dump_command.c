/* SPDX-License-Identifier: Apache-2.0
 * dump_command.c - `orma dump`: prints a trace file as protobuf text.
 *
 * The file is read once, in windows: memory holds one packet and its text, whatever the size of the
 * trace. A trace that is cut or damaged is printed up to the damage; then the command reports its
 * position and fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "proto/codec.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/trace_file.h"

struct dump {
	const struct orma_proto_field_desc *field; /* NULL = every packet */
	uint64_t limit, printed;
	int output_error;
	struct orma_arena arena;
	struct orma_buf text;
};

static bool is_wanted(const struct dump *dump, const struct orma_pb_trace_packet *packet)
{
	if (!dump->field)
		return true;
	if (dump->field->kind == ORMA_PROTO_KIND_MESSAGE) {
		const void *const *member =
			(const void *)((const char *)packet + dump->field->offset);
		return *member != NULL;
	}
	return orma_proto_has(&packet->base, dump->field);
}

static int dump_packet(void *ctx, const void *data, size_t size)
{
	struct dump *dump = ctx;
	struct orma_pb_trace_packet *packet;

	orma_base_arena_clear(&dump->arena);
	dump->text.size = 0;
	int r = orma_proto_decode(&orma_pb_trace_packet_desc, data, size, &dump->arena, &packet);
	if (r)
		return r;
	if (!is_wanted(dump, packet))
		return 0;
	dump->printed++;
	if ((r = orma_base_buf_append_str(&dump->text, "packet {\n")) ||
	    (r = orma_proto_text_print(packet, 1, &dump->text)) ||
	    (r = orma_base_buf_append_str(&dump->text, "}\n")))
		return r;
	if ((r = orma_tool_write_raw(stdout, dump->text.data, dump->text.size))) {
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
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return orma_tool_fail("cannot open %s: %s", path, strerror(errno));
	int r = dump->limit ? orma_tool_trace_read(fd, dump_packet, dump, &error) : 0;
	if (fd != STDIN_FILENO)
		orma_base_fd_close(fd);
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
	return ORMA_EXIT_OK;
}

static const struct orma_tool_option option_table[] = {
	{'f', "field", "NAME",
	 "Print only packets that have this field, for example process_stats.", NULL},
	{'n', "count", "N", "Print at most N packets.", NULL},
	{0},
};

static int take_option(void *ctx, int option, char *value)
{
	struct dump *dump = ctx;

	if (option == 'n')
		return orma_base_parse_u64(value, 10, &dump->limit)
			       ? orma_tool_usage_error("\"%s\" is not a number of packets", value)
			       : -1;
	dump->field = orma_proto_desc_find_name(&orma_pb_trace_packet_desc, orma_base_str(value));
	return dump->field ? -1 : orma_tool_usage_error("a packet has no field \"%s\"", value);
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
	orma_base_arena_done(&dump.arena);
	orma_base_buf_done(&dump.text);
	return status;
}

const struct orma_tool_command orma_dump_command = {
	.name = "dump",
	.summary = "print a trace as text",
	.usage = "[OPTIONS] TRACE",
	.about = "Prints a trace (- is standard input) as protobuf text, one packet after the "
		 "other.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
