/* SPDX-License-Identifier: Apache-2.0
 * cat_command.c - `orma cat`: copies traces, or parts of them, into one trace.
 *
 *   file -> trace_file.c: packets, unpacked -> packet_cut.c: what stays of each -> batch -> output
 *
 * Memory holds a packet, a batch and the state of each sequence, whatever the size of the traces. The
 * output grows by whole packets: when it takes no more, a file is cut back to the last whole batch.
 * An output file is created or emptied only when the first batch is ready, so a mistake in the
 * options or in the names of the inputs leaves an older file as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/wire.h"
#include "tool/daemon/file_series.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/file_write.h"
#include "tool/trace/packet_cut.h"
#include "tool/trace/packet_select.h"
#include "tool/trace/trace_copy.h"
#include "tool/trace/trace_file.h"
#include "tool/trace/trace_input.h"
#include "tool/trace/trace_origin.h"

#define BATCH_BYTES ((size_t)256 << 10)
#define PACKET_TAG  0x0a

struct cat {
	struct orma_packet_select select;
	struct orma_packet_cut cut;
	bool repairs;
	bool has_packets;        /* the current trace */
	const char *input;       /* its name for messages */
	const char *output_path; /* NULL = standard output */
	int fd;                  /* -1 = the output file is not open yet */
	int output_error;        /* -errno */
	uint64_t packet_count;
	struct orma_buf batch; /* whole packets */
	/* The first trace, and the one that is being read. */
	struct orma_trace_origin first_origin, origin;
	const char *first_input;
};

/* --- output ----------------------------------------------------------------------------------- */

static const char *output_name(const struct cat *cat)
{
	return cat->output_path ? cat->output_path : "standard output";
}

static int choose_output(struct cat *cat)
{
	if (cat->output_path && strcmp(cat->output_path, "-") != 0)
		return ORMA_EXIT_OK;
	cat->output_path = NULL;
	cat->fd = STDOUT_FILENO;
	return isatty(cat->fd) ? orma_tool_usage_error("a trace is not for a terminal: name a file "
						       "with --out, or a pipe")
			       : ORMA_EXIT_OK;
}

static int open_output(struct cat *cat)
{
	if (cat->fd >= 0)
		return 0;
	struct stat info;

	cat->fd = open(cat->output_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (cat->fd < 0 || fstat(cat->fd, &info))
		return cat->output_error = -errno;
	if (!S_ISREG(info.st_mode))
		return 0;
	if (orma_file_series_lock(cat->fd))
		return cat->output_error = -EBUSY;
	if (ftruncate(cat->fd, 0))
		cat->output_error = -errno;
	return cat->output_error;
}

static int flush(struct cat *cat)
{
	size_t written = 0;
	int r = open_output(cat);

	if (r < 0)
		return r;
	while (written < cat->batch.size) {
		ssize_t count =
			write(cat->fd, cat->batch.data + written, cat->batch.size - written);

		if (count < 0 && errno != EINTR) {
			cat->output_error = -errno;
			orma_file_cut_tail(cat->fd, written);
			return cat->output_error;
		}
		written += count > 0 ? (size_t)count : 0;
	}
	cat->batch.size = 0;
	return 0;
}

static int write_packet(struct cat *cat, struct orma_str packet)
{
	uint8_t header[1 + ORMA_PROTO_VARINT_MAX] = {PACKET_TAG};
	size_t size = (size_t)(orma_proto_put_varint(header + 1, packet.size) - header);
	int r = orma_base_buf_append(&cat->batch, header, size);

	if (r == 0)
		r = orma_base_buf_append(&cat->batch, packet.data, packet.size);
	cat->packet_count++;
	return r == 0 && cat->batch.size >= BATCH_BYTES ? flush(cat) : r;
}

/* Returns `status`, or that of writing if that failed. An output without packets is created only
 * after success. */
static int close_output(struct cat *cat, int status)
{
	if (cat->output_error == 0 && (cat->batch.size > 0 || status == ORMA_EXIT_OK))
		flush(cat);
	if (cat->fd != STDOUT_FILENO && cat->fd >= 0 && close(cat->fd) < 0 &&
	    cat->output_error == 0)
		cat->output_error = -errno;
	if (cat->output_error == -EPIPE)
		return ORMA_EXIT_OK; /* the reader has seen enough */
	if (cat->output_error)
		return orma_tool_fail("cannot write to %s: %s", output_name(cat),
				      cat->output_error == -EBUSY ? "a recording writes into it"
								  : strerror(-cat->output_error));
	return status;
}

/* --- input ------------------------------------------------------------------------------------ */

static int take_packet(void *ctx, const void *data, size_t size)
{
	struct orma_str packet;
	struct cat *cat = ctx;

	cat->has_packets = true;
	orma_trace_origin_take(&cat->origin, data, size);
	int r = cat->repairs && !orma_packet_is_intact(data, size)
			? -EBADMSG
			: orma_packet_cut_take(&cat->cut, data, size, &packet);

	return r > 0 ? write_packet(cat, packet) : r;
}

static void tell_rescue(const struct cat *cat, const struct orma_tool_damage *damage)
{
	const char *words = orma_base_noun(damage->rescued_packets, "packet is", "packets are");
	char rest[96] = "the checksum is wrong, so one of them may be wrong";

	if (damage->lost_bytes > 0)
		snprintf(rest, sizeof(rest), "the rest is left out, %" PRIu64 " bytes or more",
			 damage->lost_bytes);
	orma_tool_warn("%s: the %" PRIu64 " bytes from byte %" PRIu64
		       " are compressed, and damaged: the first %" PRIu64 " %s copied (%" PRIu64
		       " bytes); %s",
		       cat->input, damage->end - damage->begin, damage->begin,
		       damage->rescued_packets, words, damage->rescued_bytes, rest);
}

static int take_gap(void *ctx, const struct orma_tool_damage *damage)
{
	uint64_t size = damage->end - damage->begin;
	struct cat *cat = ctx;

	orma_packet_cut_note_gap(&cat->cut);
	if (damage->rescued_packets > 0)
		tell_rescue(cat, damage);
	else if (damage->is_cut)
		orma_tool_warn("%s: the last %" PRIu64 " bytes, from byte %" PRIu64
			       ", are not a whole packet and are left out",
			       cat->input, size, damage->begin);
	else
		orma_tool_warn("%s: the %" PRIu64 " bytes from byte %" PRIu64
			       " are damaged and are left out",
			       cat->input, size, damage->begin);
	return 0;
}

static int tell_failure(const struct cat *cat, int r, const struct orma_error *error)
{
	if (r == -EOVERFLOW)
		return orma_tool_fail("%s: there are no ids left for the sequences of this trace",
				      cat->input);
	orma_tool_warn("%s: %s", cat->input, error->message[0] ? error->message : strerror(-r));
	if (r == -EBADMSG && !cat->repairs && cat->packet_count > 0)
		orma_tool_warn("what is before is copied; --repair also copies what is behind");
	return ORMA_EXIT_FAILURE;
}

/* Returns -errno when the input cannot be opened. A pipe is not tried: opening and closing it would
 * end its writer. */
static int stat_input(const char *path, struct stat *ret)
{
	if (strcmp(path, "-") == 0)
		return fstat(STDIN_FILENO, ret) < 0 ? -errno : 0;
	if (stat(path, ret) < 0)
		return -errno;
	if (S_ISFIFO(ret->st_mode))
		return 0;
	int fd = orma_trace_input_open(path);
	if (fd < 0)
		return fd;
	orma_trace_input_close(fd);
	return 0;
}

/* Checks that each input can be opened and is not the file that is written, before the output file
 * is touched. */
static int check_files(struct cat *cat, char **inputs, int input_count)
{
	struct stat output, input;
	bool has_output = cat->output_path ? stat(cat->output_path, &output) == 0
					   : fstat(cat->fd, &output) == 0;

	for (int i = 0; i < input_count; i++) {
		int r = stat_input(inputs[i], &input);

		if (r < 0)
			return orma_trace_input_fail(inputs[i], r);
		if (has_output && S_ISREG(output.st_mode) && output.st_dev == input.st_dev &&
		    output.st_ino == input.st_ino)
			return orma_tool_fail("%s would be overwritten while it is read",
					      strcmp(inputs[i], "-") == 0 ? output_name(cat)
									  : inputs[i]);
	}
	return ORMA_EXIT_OK;
}

static void compare_origins(struct cat *cat)
{
	const char *difference = orma_trace_origin_difference(&cat->first_origin, &cat->origin);

	if (difference)
		orma_tool_warn("the times of %s and %s do not compare: %s", cat->first_input,
			       cat->input, difference);
	if (!cat->first_input) {
		cat->first_input = cat->input;
		cat->first_origin = cat->origin;
	}
}

static int copy_trace(struct cat *cat, const char *path)
{
	struct orma_error error = {0};
	int fd = orma_trace_input_open_packets(path);

	if (fd < 0)
		return ORMA_EXIT_FAILURE;
	cat->input = orma_trace_input_name(path);
	cat->origin = (struct orma_trace_origin){0};
	cat->has_packets = false;
	orma_packet_cut_begin_trace(&cat->cut);
	int status = orma_packet_select_prepare(&cat->select, fd, cat->input);
	if (status == ORMA_EXIT_OK) {
		int r = cat->repairs
				? orma_tool_trace_repair(fd, take_packet, take_gap, cat, &error)
				: orma_tool_trace_read(fd, take_packet, cat, &error);
		if (r < 0 && cat->output_error == 0)
			status = tell_failure(cat, r, &error);
		else if (!cat->has_packets && cat->output_error == 0)
			orma_tool_warn("%s: there is no packet in it", cat->input);
		compare_origins(cat);
	}
	orma_trace_input_close(fd);
	return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static const struct orma_tool_option option_table[] = {
	{'o', "out", "FILE", "Write to FILE; - is standard output, the default.",
	 ORMA_COMPLETE_FILE},
	{'r', "repair", NULL,
	 "Skip what is damaged or cut in a trace, say what that is, and copy all other packets.",
	 NULL},
	ORMA_SELECT_TIME_OPTIONS,
	{'f', "field", "NAME",
	 "Of what happened, copy only packets with this field, for example ftrace_events. What "
	 "describes the machine and its processes is always copied. May be given several times.",
	 NULL},
	{'p', "process", "PROCESS",
	 "Of what programs wrote about themselves, copy only what this process wrote: an id, or a "
	 "pattern for names. Kernel events and samples of the machine are always copied. May be "
	 "given several times.",
	 NULL},
	{ORMA_SELECT_SEQUENCE, "sequence", "ID",
	 "Copy only packets of this trusted_packet_sequence_id. May be given several times.", NULL},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct cat *cat = ctx;

	switch (id) {
	case 'o':
		cat->output_path = value;
		return -1;
	case 'r':
		cat->repairs = true;
		return -1;
	case 'f':
		return orma_packet_select_add_kind(&cat->select, value);
	case 'p':
		return orma_packet_select_add_process(&cat->select, value);
	default:
		return orma_packet_select_take(&cat->select, id, value);
	}
}

static int copy_all(struct cat *cat, char **paths, int count)
{
	cat->cut.select = &cat->select;
	int status = choose_output(cat);
	if (status == ORMA_EXIT_OK)
		status = check_files(cat, paths, count);
	if (status == ORMA_EXIT_OK) {
		for (int i = 0; i < count && status == ORMA_EXIT_OK && cat->output_error == 0; i++)
			status = copy_trace(cat, paths[i]);
		status = close_output(cat, status);
	}
	orma_packet_cut_done(&cat->cut);
	orma_packet_select_done(&cat->select);
	orma_base_buf_done(&cat->batch);
	return status;
}

int orma_trace_copy(const char *output, char **paths, int count)
{
	struct cat cat = {.fd = -1, .output_path = output};
	return copy_all(&cat, paths, count);
}

static int run(int argc, char **argv)
{
	struct cat cat = {.fd = -1};
	int status = orma_tool_read_options(&orma_cat_command, argc, argv, take_option, &cat);

	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name one trace file or more");
	return copy_all(&cat, argv + optind, argc - optind);
}

const struct orma_tool_command orma_cat_command = {
	.name = "cat",
	.summary = "copy traces, or parts of them, into one",
	.usage = "[OPTIONS] TRACE...",
	.about =
		"Copies traces (- is standard input) into one trace, decompressed. With options, "
		"it copies a part of them, which decodes like the whole: packets that declare "
		"names, clocks or tracks are kept. Traces of other formats, such as Chrome's JSON, "
		"are converted.\n"
		"\n"
		"Several traces become one if they are of one machine and boot, such as the files "
		"of a rotation, named from the oldest to the newest. Of others, a warning says "
		"that their times do not compare.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
