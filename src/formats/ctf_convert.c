/* SPDX-License-Identifier: Apache-2.0
 * ctf_convert.c - converts all traces below a folder into Perfetto packets.
 *
 * Each stream becomes a sequence, and the reader of the packets brings them into the order of time. Only the streams of one
 * CPU of a kernel are merged here, because each event of a CPU has to say which thread ran.
 *
 * LTTng's clock is CLOCK_MONOTONIC, which all programs of a machine share, and its offset gives the time of day. If all
 * traces use it, their times are written unchanged, and one snapshot relates that clock to the time of day. Otherwise all
 * times are converted to the time of day, because every trace has that. Perfetto's kernel events are always on
 * CLOCK_BOOTTIME. It differs from CLOCK_MONOTONIC by the time that the machine has slept, which is not in the trace, so
 * the snapshot says that the two are equal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "formats/ctf_folder.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/trace_attributes.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6, EVENTS_BEFORE_SWITCH = 1 << 20 };

/* One of the traces. */
struct part {
	const struct orma_ctf_found *found;
	struct orma_ctf_trace trace;
	bool is_kernel;
	struct orma_ctf_file
		*files; /* that are streams; neighbours of one stream, in the order of time */
	uint32_t file_count;
};

struct conversion {
	int fd;
	struct orma_ctf_folder folder;
	struct orma_ctf_output output;
	struct part *parts;
	uint32_t part_count;
	struct orma_ctf_report *report;
	struct orma_error *reterr;
};

/* --- opening ---------------------------------------------------------------------------------- */

static int open_file(const struct conversion *conversion, const char *path)
{
	int fd = orma_base_fd_avoid_standard(
		openat(conversion->fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
	return fd < 0 ? -errno : fd;
}

static int open_trace(struct conversion *conversion, struct part *part)
{
	struct orma_buf ORMA_AUTO(orma_base_buf_done) text = {0};
	int r = orma_base_file_read(conversion->fd, part->found->metadata, ORMA_CTF_METADATA_MAX,
				    &text);
	if (r == 0)
		r = orma_ctf_trace_open(&part->trace, part->found->metadata,
					(struct orma_str){(const char *)text.data, text.size},
					conversion->reterr);
	conversion->report->bytes += text.size;
	if (r == -EFBIG)
		return orma_base_error_set(conversion->reterr, -EMSGSIZE,
					   "%s has more than %d bytes", part->found->metadata,
					   ORMA_CTF_METADATA_MAX);
	part->is_kernel =
		r == 0 &&
		orma_base_str_is(orma_ctf_metadata_env(&part->trace.metadata, "domain"), "kernel");
	return r;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Files of one stream are neighbours, in the order of time. */
static int compare_files(const void *a, const void *b)
{
	const struct orma_ctf_file *one = a, *other = b;
	int r = compare_numbers(one->plan->declared->id, other->plan->declared->id);
	if (r == 0)
		r = compare_numbers(one->first.has_instance, other->first.has_instance);
	if (r == 0)
		r = compare_numbers(one->first.instance, other->first.instance);
	if (r == 0)
		r = compare_numbers(one->first.has_cpu, other->first.has_cpu);
	if (r == 0)
		r = compare_numbers(one->first.cpu, other->first.cpu);
	if (r == 0)
		r = compare_numbers(one->first.begin, other->first.begin);
	return r == 0 ? strcmp(one->path, other->path) : r;
}

static bool is_one_stream(const struct orma_ctf_file *a, const struct orma_ctf_file *b)
{
	const struct orma_ctf_packet *one = &a->first, *other = &b->first;
	return a->plan == b->plan && (one->has_instance || one->has_cpu) &&
	       one->has_instance == other->has_instance && one->instance == other->instance &&
	       one->has_cpu == other->has_cpu && one->cpu == other->cpu;
}

/* Looks at the files of a trace, and counts the ones that are no streams of it. */
static int open_streams(struct conversion *conversion, struct part *part)
{
	const struct orma_ctf_found *found = part->found;
	part->files = orma_base_arena_alloc(&conversion->folder.arena,
					    (found->files.count + 1) * sizeof(*part->files));
	if (!part->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < found->files.count; i++) {
		struct orma_ctf_file *file = &part->files[part->file_count];
		int ORMA_AUTO(orma_base_fd_closep) fd =
			open_file(conversion, found->files.items[i]);
		file->path = found->files.items[i];
		int r = fd < 0 ? fd : orma_ctf_file_look(&part->trace, fd, file);
		if (r < 0 && r != -EBADMSG && r != -EMSGSIZE)
			return r;
		conversion->report->foreign_files += r < 0;
		conversion->report->bytes += r > 0 ? file->bytes : 0;
		part->file_count += r > 0;
	}
	qsort(part->files, part->file_count, sizeof(*part->files), compare_files);
	return 0;
}

static int open_all(struct conversion *conversion)
{
	struct orma_ctf_folder *folder = &conversion->folder;
	int r = orma_ctf_folder_find(folder, conversion->fd, conversion->reterr);
	if (r < 0)
		return r;
	conversion->parts = orma_base_alloc_array(folder->traces.count, sizeof(*conversion->parts));
	if (!conversion->parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < folder->traces.count && r == 0; i++) {
		struct part *part = &conversion->parts[conversion->part_count++];
		part->found = &folder->traces.items[i];
		r = open_trace(conversion, part);
		if (r == 0)
			r = open_streams(conversion, part);
	}
	conversion->report->traces = conversion->part_count;
	return r;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static const struct orma_ctf_clock *clock_of(const struct part *part)
{
	return part->file_count > 0 ? &part->files[0].plan->clock : NULL;
}

/* Whether all times are CLOCK_MONOTONIC's of one machine since one boot, which is what a clock's uuid stands for. */
static bool is_monotonic(const struct conversion *conversion)
{
	const struct orma_ctf_clock *first = NULL;
	for (uint32_t i = 0; i < conversion->part_count; i++) {
		const struct orma_ctf_clock *clock = clock_of(&conversion->parts[i]);
		if (!clock)
			continue;
		if (!orma_base_str_is(clock->name, "monotonic") ||
		    (first && !orma_base_str_is_equal(first->uuid, clock->uuid)))
			return false;
		first = first ? first : clock;
	}
	return first;
}

static void write_reading(struct orma_proto_writer *writer, uint32_t clock, uint64_t ns)
{
	struct orma_proto_nested reading;
	orma_proto_nested_begin(writer, &reading, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, ns);
	orma_proto_nested_end(writer, &reading);
}

/* When the first of all streams begins. Times before a snapshot of clocks have no time of day of their own, and any stream
 * may be the first: each CPU's is as old as what its buffer kept. */
static uint64_t find_begin(const struct conversion *conversion)
{
	uint64_t begin = UINT64_MAX;
	for (uint32_t i = 0; i < conversion->part_count; i++) {
		const struct part *part = &conversion->parts[i];
		for (uint32_t k = 0; k < part->file_count; k++) {
			const struct orma_ctf_file *file = &part->files[k];
			uint64_t ns = orma_ctf_output_time(&conversion->output, &file->plan->clock,
							   file->first.begin);
			begin = ORMA_MIN(begin, ns);
		}
	}
	return begin;
}

/* Chooses the clock of all times, and says how it relates to the others. */
static int write_clocks(struct conversion *conversion)
{
	struct orma_ctf_output *output = &conversion->output;
	struct orma_proto_writer *writer = &output->heap.writer;
	const struct orma_ctf_clock *clock = NULL;
	struct orma_proto_nested snapshot;
	bool has_kernel = false;
	for (uint32_t i = 0; i < conversion->part_count; i++) {
		has_kernel |= conversion->parts[i].is_kernel;
		clock = clock ? clock : clock_of(&conversion->parts[i]);
	}
	output->has_realtime_only = !is_monotonic(conversion);
	output->clock = output->has_realtime_only ? REALTIME : MONOTONIC;
	if (!clock)
		return 0;
	uint64_t ns = find_begin(conversion);
	orma_ctf_packet_begin(output, ++output->last_sequence);
	orma_proto_nested_begin(writer, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	write_reading(writer, output->clock, ns);
	if (!output->has_realtime_only)
		write_reading(writer, REALTIME, ns + (uint64_t)orma_ctf_clock_offset_ns(clock));
	if (has_kernel)
		write_reading(writer, BOOTTIME, ns);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, output->clock);
	return orma_ctf_packet_end(output);
}

/* The environment of a trace. When there are several, the names begin with the trace's folder. */
static int write_environment(struct conversion *conversion, const struct part *part)
{
	struct orma_ctf_output *output = &conversion->output;
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_buf ORMA_AUTO(orma_base_buf_done) key = {0};
	struct orma_proto_nested attributes, attribute;
	struct orma_str folder = conversion->part_count > 1 ? part->found->folder : ORMA_STR("");
	int r = 0;
	if (!part->trace.metadata.env)
		return 0;
	orma_ctf_packet_begin(output, ++output->last_sequence);
	orma_proto_nested_begin(writer, &attributes, ORMA_PB_TRACE_PACKET_TRACE_ATTRIBUTES);
	for (const struct orma_ctf_env *env = part->trace.metadata.env; env && r == 0;
	     env = env->next) {
		key.size = 0;
		r = orma_base_buf_printf(&key, "ctf.%.*s%s%.*s", (int)folder.size, folder.data,
					 folder.size > 0 ? "." : "", (int)env->name.size,
					 env->name.data);
		orma_proto_nested_begin(writer, &attribute, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE);
		orma_proto_write_bytes(writer, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE_KEY, key.data,
				       key.size);
		orma_proto_write_str(writer, ORMA_PB_TRACE_ATTRIBUTES_ATTRIBUTE_STRING_VALUE,
				     env->text);
		orma_proto_nested_end(writer, &attribute);
	}
	int last = orma_ctf_packet_end(output);
	return r < 0 ? r : last;
}

/* --- streams ---------------------------------------------------------------------------------- */

static uint32_t count_files(const struct part *part, uint32_t first)
{
	uint32_t count = 1;
	while (first + count < part->file_count &&
	       is_one_stream(&part->files[first], &part->files[first + count]))
		count++;
	return count;
}

static void init_stream(const struct conversion *conversion, const struct part *part,
			uint32_t first, struct orma_ctf_stream *ret)
{
	*ret = (struct orma_ctf_stream){.trace = &part->trace,
					.files = &part->files[first],
					.file_count = count_files(part, first),
					.plan = part->files[first].plan,
					.folder_fd = conversion->fd,
					.fd = -1};
}

static void end_stream(struct conversion *conversion, struct orma_ctf_stream *stream)
{
	struct orma_ctf_counts *total = &conversion->report->counts;
	total->events += stream->counts.events;
	total->packets += stream->counts.packets;
	total->discarded_events += stream->counts.discarded_events;
	total->lost_packets += stream->counts.lost_packets;
	total->bad_packets += stream->counts.bad_packets;
	total->cut_packets += stream->counts.cut_packets;
	conversion->report->streams++;
	orma_ctf_stream_done(stream);
}

static int convert_program(struct conversion *conversion, struct part *part)
{
	struct orma_ctf_tracks tracks;
	int r = orma_ctf_tracks_init(&tracks, &conversion->output, &part->trace);
	for (uint32_t i = 0; i < part->file_count && r == 0;) {
		struct orma_ctf_stream stream;
		init_stream(conversion, part, i, &stream);
		const char *slash = strrchr(stream.files[0].path, '/');
		orma_ctf_tracks_begin_stream(&tracks, slash ? slash + 1 : stream.files[0].path);
		while ((r = orma_ctf_stream_next(&stream)) > 0)
			if ((r = orma_ctf_tracks_write(&tracks, &stream)) < 0)
				break;
		i += stream.file_count;
		end_stream(conversion, &stream);
	}
	return r;
}

/* --- the streams of one CPU ------------------------------------------------------------------- */

struct cpu {
	struct orma_ctf_stream *streams; /* each that has an event is at it */
	uint32_t count;
	bool *has_event;
};

static void end_cpu(struct conversion *conversion, struct cpu *cpu, bool is_counted)
{
	for (uint32_t i = 0; i < cpu->count; i++) {
		if (is_counted)
			end_stream(conversion, &cpu->streams[i]);
		else
			orma_ctf_stream_done(&cpu->streams[i]);
	}
	orma_base_free(cpu->streams);
	orma_base_free(cpu->has_event);
	*cpu = (struct cpu){0};
}

/* Takes the streams of a CPU, each at its first event. */
static int begin_cpu(struct conversion *conversion, const struct part *part, uint64_t number,
		     struct cpu *ret)
{
	int r = 0;
	*ret = (struct cpu){0};
	ret->streams = orma_base_alloc_array(part->file_count, sizeof(*ret->streams));
	ret->has_event = orma_base_alloc_array(part->file_count, sizeof(*ret->has_event));
	if (!ret->streams || !ret->has_event)
		r = -ENOMEM;
	for (uint32_t i = 0; i < part->file_count && r >= 0;) {
		uint32_t count = count_files(part, i);
		if (part->files[i].first.cpu == number) {
			struct orma_ctf_stream *stream = &ret->streams[ret->count];
			init_stream(conversion, part, i, stream);
			r = orma_ctf_stream_next(stream);
			ret->has_event[ret->count++] = r > 0;
		}
		i += count;
	}
	if (r < 0)
		end_cpu(conversion, ret, false);
	return r < 0 ? r : 0;
}

/* The stream with the earliest event, or NULL. */
static struct orma_ctf_stream *earliest(const struct cpu *cpu)
{
	struct orma_ctf_stream *found = NULL;
	for (uint32_t i = 0; i < cpu->count; i++)
		if (cpu->has_event[i] &&
		    (!found || cpu->streams[i].reader.clock < found->reader.clock))
			found = &cpu->streams[i];
	return found;
}

static int next_of(struct cpu *cpu, struct orma_ctf_stream *stream)
{
	int r = orma_ctf_stream_next(stream);
	cpu->has_event[stream - cpu->streams] = r > 0;
	return r < 0 ? r : 0;
}

/* The thread that runs when the trace of a CPU begins, which the first switch says; -1: unknown. Also smaller errno
 * values. */
static int64_t first_thread(struct conversion *conversion, const struct part *part,
			    const struct orma_ctf_kernel *kernel, uint64_t number)
{
	struct orma_ctf_stream *stream;
	struct cpu cpu;
	int64_t tid = -1;
	int r = begin_cpu(conversion, part, number, &cpu);
	if (r < 0)
		return r - 1;
	for (uint32_t i = 0; i < EVENTS_BEFORE_SWITCH && r == 0 && (stream = earliest(&cpu)); i++) {
		if (orma_ctf_kernel_is_switch(kernel, stream, &tid))
			break;
		r = next_of(&cpu, stream);
	}
	end_cpu(conversion, &cpu, false);
	return r < 0 ? r - 1 : tid;
}

static int convert_cpu(struct conversion *conversion, const struct part *part,
		       struct orma_ctf_kernel *kernel, uint64_t number)
{
	struct orma_ctf_stream *stream;
	struct cpu cpu;
	int64_t tid = first_thread(conversion, part, kernel, number);
	int r = tid < -1 ? (int)tid + 1 : begin_cpu(conversion, part, number, &cpu);
	if (r < 0)
		return r;
	orma_ctf_kernel_begin_cpu(kernel, (uint32_t)number, tid);
	while (r == 0 && (stream = earliest(&cpu))) {
		r = orma_ctf_kernel_write(kernel, stream);
		if (r == 0)
			r = next_of(&cpu, stream);
	}
	if (r == 0)
		r = orma_ctf_kernel_end_cpu(kernel);
	end_cpu(conversion, &cpu, true);
	return r;
}

static int convert_kernel(struct conversion *conversion, struct part *part)
{
	struct orma_ctf_kernel kernel;
	struct orma_map done = {0};
	int r = orma_ctf_kernel_init(&kernel, &conversion->output, &part->trace);
	for (uint32_t i = 0; i < part->file_count && r == 0; i++) {
		uint64_t number = part->files[i].first.cpu;
		if (orma_base_map_get(&done, number))
			continue;
		r = orma_base_map_put(&done, number, &done);
		if (r == 0)
			r = convert_cpu(conversion, part, &kernel, number);
	}
	orma_base_map_done(&done);
	orma_ctf_kernel_done(&kernel);
	return r;
}

/* ---------------------------------------------------------------------------------------------- */

static void end_conversion(struct conversion *conversion)
{
	for (uint32_t i = 0; i < conversion->part_count; i++)
		orma_ctf_trace_done(&conversion->parts[i].trace);
	orma_base_free(conversion->parts);
	orma_ctf_output_done(&conversion->output);
	orma_ctf_folder_done(&conversion->folder);
}

int orma_ctf_convert(int fd, orma_ctf_write_fn *write, void *ctx, struct orma_ctf_report *ret,
		     struct orma_error *reterr)
{
	struct conversion conversion = {
		.fd = fd, .output = {.write = write, .ctx = ctx}, .report = ret, .reterr = reterr};
	*ret = (struct orma_ctf_report){0};
	int r = open_all(&conversion);
	if (r == 0)
		r = write_clocks(&conversion);
	for (uint32_t i = 0; i < conversion.part_count && r == 0; i++) {
		struct part *part = &conversion.parts[i];
		r = write_environment(&conversion, part);
		if (r == 0)
			r = part->is_kernel ? convert_kernel(&conversion, part)
					    : convert_program(&conversion, part);
	}
	if (r == 0)
		r = orma_ctf_output_flush(&conversion.output);
	end_conversion(&conversion);
	return r;
}
