/* SPDX-License-Identifier: Apache-2.0
 * formats.c - tells formats by the first bytes, and converts until packets are left.
 *
 *   file --(wrapper: gzip)--> spool --(wrapper: tar)--> spool --(format: json)--> spool of packets
 *
 * Each step reads one orma_trace_bytes and writes the next; the one that was read is closed. A trace of packets needs no
 * step. Formats are asked in the order of the trace processor, because some beginnings fit several of them.
 */
#include "formats/formats.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"

/* A wrapper in a wrapper, and so on. */
enum { STEPS_MAX = 8, PACKET_TAG = 0x0a };

/* In the order in which they are asked. */
static const struct orma_format *const formats[] = {
	&orma_format_ctf,
	&orma_format_perf,
	&orma_format_json,
	&orma_format_ninja,
	&orma_format_collapsed,
	&orma_format_perf_text,
	&orma_format_strace,
	&orma_format_pprof,
};

static bool is_folder(int fd)
{
	struct stat status;
	return fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

static const struct orma_format *find_format(int fd, struct orma_str beginning)
{
	bool of_folder = is_folder(fd);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(formats); i++)
		if (formats[i]->is_folder == of_folder && formats[i]->detect(fd, beginning))
			return formats[i];
	return NULL;
}

const char *orma_formats_name(int fd, struct orma_str beginning)
{
	const struct orma_format *format = find_format(fd, beginning);
	if (format)
		return format->name;
	return beginning.size > 0 && beginning.data[0] == PACKET_TAG ? "proto" : NULL;
}

/* Shows the first bytes of the input to the formats. 1 (*ret is one of them, or NULL for packets) or a negative errno
 * value. */
static int detect(int fd, const struct orma_trace_bytes *input, const struct orma_format **ret)
{
	struct orma_trace_window window = {0};
	uint64_t end = orma_trace_bytes_end(input);
	size_t size = (size_t)ORMA_MIN(end, (uint64_t)ORMA_FORMAT_BEGINNING_BYTES);
	const uint8_t *data = NULL;
	int r = size > 0 ? orma_trace_window_read(&window, input, 0, size, size, &data) : 1;
	struct orma_str beginning = {(const char *)data, r > 0 ? size : 0};
	if (r >= 0) {
		*ret = find_format(fd, beginning);
		bool is_known = *ret || (beginning.size > 0 && data[0] == PACKET_TAG) ||
				(beginning.size == 0 && !is_folder(fd));
		r = is_known ? 1 : -EPROTONOSUPPORT;
	}
	orma_trace_window_done(&window);
	return r;
}

static int convert(const struct orma_format *format, int fd, struct orma_trace_bytes *input,
		   struct orma_trace_bytes *ret, struct orma_error *reterr)
{
	struct orma_packet_output output;
	struct orma_conversion conversion = {.fd = fd, .input = input, .content = ret};
	*ret = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1, .folder = input->folder};
	if (format->is_wrapper)
		return format->convert(&conversion, reterr);
	orma_packet_output_init(&output, ret);
	conversion.output = &output;
	int r = format->convert(&conversion, reterr);
	int finished = orma_packet_output_finish(
		&output, format->name, orma_trace_bytes_end(input) + conversion.folder_bytes);
	/* An error of writing is the cause of what the reader says. */
	return finished < 0 ? finished : r;
}

int orma_formats_open(int fd, const char *folder, struct orma_trace_bytes *ret,
		      struct orma_error *reterr)
{
	*ret = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1, .folder = folder};
	int r = is_folder(fd) ? 0 : orma_trace_bytes_open(ret, fd, folder);
	bool is_converted = ret->size == 0;
	int damage = 0;
	for (int step = 0; r == 0; step++) {
		const struct orma_format *format;
		struct orma_trace_bytes next;
		r = detect(fd, ret, &format);
		if (r == -EPROTONOSUPPORT)
			return orma_base_error_set(reterr, r,
						   "Unknown trace type provided (ERR:fmt)");
		if (r < 0 || !format)
			break;
		if (step == STEPS_MAX)
			return orma_base_error_set(reterr, -EPROTONOSUPPORT,
						   "more than %d wrappers are one in the other",
						   STEPS_MAX);
		r = convert(format, fd, ret, &next, reterr);
		orma_trace_bytes_done(ret);
		*ret = next;
		fd = -1;
		is_converted = true;
		/* The first damage is the cause of any later. */
		if (r == -EBADMSG) {
			damage = r;
			reterr = NULL;
			r = 0;
		}
		if (r < 0 || !format->is_wrapper)
			break;
	}
	if (r < 0)
		return r;
	return damage ? damage : is_converted;
}
