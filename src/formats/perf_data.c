/* SPDX-License-Identifier: Apache-2.0
 * perf_data.c - files of `perf record` become samples of perf: PerfSample packets, a sequence for each event.
 *
 * Records of several CPUs are not in the order of time, and a sample needs the mappings of its time. perf marks the end of
 * each round over its buffers: nothing that comes later is older than the newest record of the round before. So records wait,
 * with 24 bytes each, until a round has passed.
 *
 * `perf record -z` packs records, each piece of them into one record of its own, and a packed record may begin in one piece
 * and end in the next. They are unpacked into the spool behind the file, where they have addresses like all others.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "formats/format.h"
#include "formats/inflate.h"
#include "formats/perf_file.h"
#include "formats/perf_output.h"
#include "formats/zstd_unpack.h"
#include "store/grow.h"

enum { AHEAD_BYTES = 256 << 10, WAITING_MAX = 16 << 20 };

/* Bits of a record's header. */
enum {
	MISC_MMAP_DATA = 1 << 13,
	MISC_COMM_EXEC = 1 << 13,
	MISC_LOST_BY_FILTER = 1 << 15, /* the user's filter did not want these samples */
};

/* A record that waits for its turn. */
struct waiting {
	uint64_t time, address;
	uint32_t size;
};

struct perf_data {
	struct orma_perf_file file;
	struct orma_trace_bytes *input;
	struct orma_perf_output output;
	struct orma_trace_window window, record_window;
	struct waiting *waiting;
	uint32_t waiting_count, waiting_capacity;
	uint64_t newest, newest_before; /* times of this round, and of those before */
	struct orma_zstd_stream packed;
	uint64_t
		unpacked; /* where the next record is that was packed; UINT64_MAX = there are none */
	uint64_t spool_max; /* bytes */
	/* Records that found no room in a ring, by the kernel and by the counts of the events; samples
	 * that the processor dropped; their sum as it was reported. */
	uint64_t ring_lost, event_lost, processor_lost, reported_lost;
};

static int compare(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void skip_record(struct perf_data *data, uint32_t type)
{
	orma_stats_add(&data->output.packets->stats, 0, ORMA_STAT_perf_record_skipped,
		       (int32_t)type, 1);
}

static int take_mapping(struct perf_data *data, uint32_t type, uint16_t misc,
			struct orma_perf_bytes bytes)
{
	struct orma_perf_mapping mapping = {.build_id = {NULL, 0}};
	int32_t pid = (int32_t)orma_perf_read_u32(&bytes);
	orma_perf_read_u32(&bytes); /* the thread */
	mapping.start = orma_perf_read_u64(&bytes);
	uint64_t size = orma_perf_read_u64(&bytes);
	mapping.offset = orma_perf_read_u64(&bytes);
	if (type == ORMA_PERF_MMAP2) {
		struct orma_perf_bytes id = bytes;
		orma_perf_skip(&bytes,
			       32); /* the build id, or the file's numbers; what it is used for */
		if (!bytes.is_cut)
			mapping.build_id = orma_perf_file_mapped_build_id(&data->file, misc, id.at);
	}
	mapping.name = orma_perf_read_text(&bytes);
	mapping.end = mapping.start + size;
	if (bytes.is_cut || mapping.end < mapping.start) {
		skip_record(data, type);
		return 0;
	}
	if (misc & MISC_MMAP_DATA)
		return 0;
	if (!mapping.build_id.data)
		mapping.build_id = orma_perf_file_build_id(&data->file, mapping.name);
	int r = orma_perf_spaces_add(&data->output.spaces, pid, &mapping);
	if (r == -ENOSPC)
		skip_record(data, type);
	return r == -ENOSPC ? 0 : r;
}

static int take_comm(struct perf_data *data, uint16_t misc, uint64_t time,
		     struct orma_perf_bytes bytes)
{
	int32_t pid = (int32_t)orma_perf_read_u32(&bytes);
	int32_t tid = (int32_t)orma_perf_read_u32(&bytes);
	if (bytes.is_cut) {
		skip_record(data, ORMA_PERF_COMM);
		return 0;
	}
	/* A program that starts another one has new mappings. */
	int r = misc & MISC_COMM_EXEC && pid == tid
			? orma_perf_spaces_begin(&data->output.spaces, pid, -1)
			: 0;
	return r < 0 ? r
		     : orma_perf_output_name(&data->output, time, pid, tid,
					     orma_perf_read_text(&bytes));
}

static int take_fork(struct perf_data *data, uint64_t time, struct orma_perf_bytes bytes)
{
	int32_t pid = (int32_t)orma_perf_read_u32(&bytes);
	int32_t parent = (int32_t)orma_perf_read_u32(&bytes);
	int32_t tid = (int32_t)orma_perf_read_u32(&bytes);
	int32_t parent_tid = (int32_t)orma_perf_read_u32(&bytes);
	if (bytes.is_cut) {
		skip_record(data, ORMA_PERF_FORK);
		return 0;
	}
	int r = pid != parent ? orma_perf_spaces_begin(&data->output.spaces, pid, parent) : 0;
	if (r == -ENOSPC)
		skip_record(data, ORMA_PERF_FORK);
	return r < 0 && r != -ENOSPC
		       ? r
		       : orma_perf_output_fork(&data->output, time, pid, parent, tid, parent_tid);
}

static void add_capped(uint64_t *sum, uint64_t count)
{
	if (__builtin_add_overflow(*sum, count, sum) || *sum > INT64_MAX)
		*sum = INT64_MAX;
}

/*
 * When a ring is full, the kernel counts the record for the ring, which gets a LOST as soon as there is room
 * again, and also for the event. Since version 6.1, perf reads the counts of the events at its end, and
 * writes them as LOST_SAMPLES, which have no time. They repeat what LOST says, but for records that were
 * lost after the last LOST. A LOST_SAMPLES with a time is the kernel's, about samples that the processor
 * dropped.
 */
static void take_lost(struct perf_data *data, uint32_t type, uint16_t misc, uint64_t time,
		      struct orma_perf_bytes bytes)
{
	if (type == ORMA_PERF_LOST)
		orma_perf_read_u64(&bytes); /* the event */
	uint64_t count = orma_perf_read_u64(&bytes);
	if (bytes.is_cut || (type == ORMA_PERF_LOST_SAMPLES && misc & MISC_LOST_BY_FILTER))
		return;
	if (type == ORMA_PERF_LOST)
		add_capped(&data->ring_lost, count);
	else
		add_capped(time > 0 ? &data->processor_lost : &data->event_lost, count);
	uint64_t sum = ORMA_MAX(data->ring_lost, data->event_lost);
	add_capped(&sum, data->processor_lost);
	orma_stats_add(&data->output.packets->stats, 0, ORMA_STAT_perf_cpu_lost_records, 0,
		       (int64_t)(sum - data->reported_lost));
	data->reported_lost = sum;
}

static int take_sample(struct perf_data *data, uint16_t misc, struct orma_perf_bytes bytes)
{
	struct orma_perf_sample sample;
	if (orma_perf_sample_read(&data->file, bytes, &sample))
		return orma_perf_output_sample(&data->output, misc & 7, &sample);
	skip_record(data, ORMA_PERF_SAMPLE);
	return 0;
}

/* Takes a record when it is its turn. */
static int take_record(struct perf_data *data, const struct waiting *record)
{
	const uint8_t *header;
	uint32_t type, sizes;
	int r = orma_trace_window_read(&data->record_window, data->file.input, record->address,
				       record->size, AHEAD_BYTES, &header);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	memcpy(&type, header, 4);
	memcpy(&sizes, header + 4, 4);
	uint16_t misc = (uint16_t)sizes;
	struct orma_perf_bytes bytes = {header + ORMA_PERF_RECORD_HEADER, header + record->size,
					false};
	if (type == ORMA_PERF_SAMPLE)
		return take_sample(data, misc, bytes);
	uint64_t time = orma_perf_record_time(&data->file, &bytes);
	switch (type) {
	case ORMA_PERF_MMAP:
	case ORMA_PERF_MMAP2:
		return take_mapping(data, type, misc, bytes);
	case ORMA_PERF_COMM:
		return take_comm(data, misc, time, bytes);
	case ORMA_PERF_FORK:
		return take_fork(data, time, bytes);
	default:
		take_lost(data, type, misc, time, bytes);
		return 0;
	}
}

/* Takes all records up to a time. */
static int flush(struct perf_data *data, uint64_t limit)
{
	uint32_t count = 0;
	int r = 0;
	if (data->waiting_count > 0)
		qsort(data->waiting, data->waiting_count, sizeof(*data->waiting), compare);
	while (count < data->waiting_count && data->waiting[count].time <= limit && r == 0)
		r = take_record(data, &data->waiting[count++]);
	data->waiting_count -= count;
	if (count > 0 && data->waiting_count > 0)
		memmove(data->waiting, data->waiting + count,
			data->waiting_count * sizeof(*data->waiting));
	return r;
}

static int add_waiting(struct perf_data *data, uint64_t address, uint32_t type, uint32_t size,
		       struct orma_perf_bytes bytes)
{
	/* A file that has no rounds is sorted in parts. */
	int r = data->waiting_count == WAITING_MAX ? flush(data, data->newest) : 0;
	if (r == 0)
		r = orma_store_grow(&data->waiting, (uint64_t)data->waiting_count + 1,
				    &data->waiting_capacity, sizeof(*data->waiting));
	if (r < 0)
		return r;
	uint64_t time = orma_perf_time_of(&data->file, type, bytes);
	data->waiting[data->waiting_count++] = (struct waiting){time, address, size};
	data->newest = ORMA_MAX(data->newest, time);
	return 0;
}

static int end_round(struct perf_data *data)
{
	int r = flush(data, data->newest_before);
	data->newest_before = data->newest;
	return r;
}

/* Records that add nothing to samples: ends of threads, switches, symbols of the kernel, lists of CPUs. */
static bool is_needless(uint32_t type)
{
	enum {
		THROTTLE = 5,
		UNTHROTTLE = 6,
		READ = 8,
		SWITCH = 14,
		CGROUP = 19,
		ID_INDEX = 69,
		THREAD_MAP = 73,
		TIME_CONV = 79,
		FINISHED_INIT = 82
	};
	return type == ORMA_PERF_EXIT || type == THROTTLE || type == UNTHROTTLE || type == READ ||
	       (type >= SWITCH && type <= CGROUP) || type == ID_INDEX ||
	       (type >= THREAD_MAP && type <= TIME_CONV) || type == FINISHED_INIT ||
	       type == ORMA_PERF_TRACING_DATA;
}

/* Unpacks records; read_unpacked() takes them. Damaged pieces are left out. */
static int take_packed(struct perf_data *data, uint32_t type, struct orma_perf_bytes bytes)
{
	if (type == ORMA_PERF_COMPRESSED2) {
		uint64_t size = orma_perf_read_u64(&bytes);
		if (size <= (uint64_t)(bytes.end - bytes.at))
			bytes.end = bytes.at + size;
	}
	int r = data->packed.context ? 0 : orma_zstd_begin(&data->packed);
	if (r == 0 && data->unpacked == UINT64_MAX)
		data->unpacked = orma_trace_bytes_end(data->input);
	if (r == 0)
		r = orma_zstd_add(&data->packed, bytes.at, (size_t)(bytes.end - bytes.at),
				  data->spool_max, data->input);
	if (r != -ENOTSUP && r != -EBADMSG && r != -EMSGSIZE)
		return r;
	skip_record(data, type);
	return 0;
}

/* Records of perf itself. */
static int take_own_record(struct perf_data *data, uint32_t type, uint16_t misc,
			   struct orma_perf_bytes bytes)
{
	switch (type) {
	case ORMA_PERF_FINISHED_ROUND:
		return end_round(data);
	case ORMA_PERF_HEADER_ATTR:
		return orma_perf_file_take_attr(&data->file, bytes);
	case ORMA_PERF_BUILD_ID:
		return orma_perf_file_take_build_id(&data->file, misc, bytes);
	case ORMA_PERF_FEATURE: {
		uint64_t feature = orma_perf_read_u64(&bytes);
		return orma_perf_file_take_feature(&data->file, (uint32_t)feature, bytes);
	}
	case ORMA_PERF_COMPRESSED:
	case ORMA_PERF_COMPRESSED2:
		return take_packed(data, type, bytes);
	default:
		if (!is_needless(type))
			orma_stats_add(&data->output.packets->stats, 0,
				       ORMA_STAT_perf_unknown_record_type, (int32_t)type, 1);
		return 0;
	}
}

/* Some records are followed by data that their size does not count. */
static uint64_t size_behind(uint32_t type, struct orma_perf_bytes bytes)
{
	if (type == ORMA_PERF_TRACING_DATA)
		return ((uint64_t)orma_perf_read_u32(&bytes) + 7) & ~UINT64_C(7);
	return type == ORMA_PERF_AUXTRACE ? orma_perf_read_u64(&bytes) : 0;
}

/* Returns the bytes of the record with those behind it, 0 when it is cut or no record, or a negative errno value. */
static int64_t next_record(struct perf_data *data, uint64_t address, uint64_t end)
{
	uint64_t left = end - address;
	uint32_t type, sizes;
	const uint8_t *header;
	int r = left < ORMA_PERF_RECORD_HEADER
			? 0
			: orma_trace_window_read(&data->window, data->file.input, address,
						 ORMA_PERF_RECORD_HEADER, AHEAD_BYTES, &header);
	if (r <= 0)
		return r;
	memcpy(&type, header, 4);
	memcpy(&sizes, header + 4, 4);
	uint32_t size = sizes >> 16;
	if (size < ORMA_PERF_RECORD_HEADER || size > left)
		return 0;
	r = orma_trace_window_read(&data->window, data->file.input, address, size, AHEAD_BYTES,
				   &header);
	if (r <= 0)
		return r;
	struct orma_perf_bytes bytes = {header + ORMA_PERF_RECORD_HEADER, header + size, false};
	uint64_t behind = size_behind(type, bytes);
	bool waits = type == ORMA_PERF_SAMPLE || type == ORMA_PERF_MMAP ||
		     type == ORMA_PERF_MMAP2 || type == ORMA_PERF_COMM || type == ORMA_PERF_FORK ||
		     type == ORMA_PERF_LOST || type == ORMA_PERF_LOST_SAMPLES;
	r = waits ? add_waiting(data, address, type, size, bytes)
		  : take_own_record(data, type, (uint16_t)sizes, bytes);
	if (r < 0)
		return r;
	return behind > left - size ? 0 : (int64_t)(size + behind);
}

/* Takes the records that are whole by now. */
static int read_unpacked(struct perf_data *data)
{
	uint64_t end = orma_trace_bytes_end(data->input);
	int64_t size = 1;
	while (data->unpacked < end && size > 0) {
		size = next_record(data, data->unpacked, end);
		data->unpacked += size > 0 ? (uint64_t)size : 0;
	}
	return size < 0 ? (int)size : 0;
}

static int read_records(struct perf_data *data, struct orma_error *reterr)
{
	uint64_t address = data->file.data_begin, end = data->file.data_end;
	int64_t size = 1;
	while (address < end && (size = next_record(data, address, end)) > 0) {
		address += (uint64_t)size;
		int r = read_unpacked(data);
		if (r < 0)
			return r;
	}
	int r = size < 0 ? (int)size : flush(data, UINT64_MAX);
	bool is_cut = size == 0 || data->unpacked < orma_trace_bytes_end(data->input);
	return r == 0 && is_cut ? orma_base_error_set(reterr, -EBADMSG,
						      "the file of perf is damaged at byte %llu",
						      (unsigned long long)address)
				: r;
}

static bool detect(int fd, struct orma_str beginning)
{
	(void)fd;
	return orma_perf_file_detect(beginning);
}

static int convert(struct orma_conversion *conversion, struct orma_error *reterr)
{
	struct perf_data *data = orma_base_zalloc(sizeof(*data));
	if (!data)
		return -ENOMEM;
	data->file.input = data->input = conversion->input;
	data->unpacked = UINT64_MAX;
	data->spool_max = conversion->input->spool_size +
			  orma_unpacked_limit(orma_trace_bytes_end(conversion->input));
	data->output.file = &data->file;
	data->output.packets = data->output.stacks.output = conversion->output;
	int r = orma_perf_file_open(&data->file, reterr);
	if (r == 0)
		r = read_records(data, reterr);
	/* Names that could not be copied are missing. */
	if (r == 0 && data->file.arena.has_failed)
		r = -ENOMEM;
	orma_perf_output_done(&data->output);
	orma_perf_file_done(&data->file);
	orma_trace_window_done(&data->window);
	orma_trace_window_done(&data->record_window);
	orma_zstd_done(&data->packed);
	orma_base_free(data->waiting);
	orma_base_free(data);
	return r;
}

const struct orma_format orma_format_perf = {"perf", false, false, detect, convert};
