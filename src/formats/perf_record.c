/* SPDX-License-Identifier: Apache-2.0
 * perf_record.c - the fields of records, whose presence and order the bits of their event say.
 */
#include <errno.h>

#include "formats/perf_file.h"

enum {
	READ_ENABLED = 1 << 0,
	READ_RUNNING = 1 << 1,
	READ_ID = 1 << 2,
	READ_GROUP = 1 << 3,
	READ_LOST = 1 << 4,
};

/* Returns the number of an event with this id, or of the only one; UINT32_MAX = unknown. */
static uint32_t find_event(const struct orma_perf_file *file, uint64_t id)
{
	uintptr_t known = (uintptr_t)orma_base_map_get(&file->ids, id);
	if (known > 0)
		return (uint32_t)known - 1;
	return file->event_count == 1 ? 0 : UINT32_MAX;
}

/* Finds the event of a sample. The id is the first field, or stands where the first event's bits say. */
static uint32_t event_of(const struct orma_perf_file *file, struct orma_perf_bytes bytes)
{
	uint64_t type = file->event_count > 0 ? file->events[0].sample_type : 0;
	if (file->event_count <= 1)
		return file->event_count == 1 ? 0 : UINT32_MAX;
	if (type & ORMA_PERF_SAMPLE_IDENTIFIER)
		return find_event(file, orma_perf_read_u64(&bytes));
	if (!(type & ORMA_PERF_SAMPLE_ID))
		return 0;
	static const uint64_t before[] = {ORMA_PERF_SAMPLE_IP, ORMA_PERF_SAMPLE_TID,
					  ORMA_PERF_SAMPLE_TIME, ORMA_PERF_SAMPLE_ADDR};
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (type & before[i])
			orma_perf_skip(&bytes, 8);
	return find_event(file, orma_perf_read_u64(&bytes));
}

/* Reads the value of the sample's own event among those of its group. */
static void read_values(const struct orma_perf_file *file, const struct orma_perf_event *event,
			struct orma_perf_bytes *bytes, struct orma_perf_sample *ret)
{
	uint64_t format = event->read_format, id;
	bool is_group = format & READ_GROUP;
	uint64_t count = is_group ? orma_perf_read_u64(bytes) : 1;
	if (!is_group)
		ret->value = orma_perf_read_u64(bytes);
	if (format & READ_ENABLED)
		orma_perf_read_u64(bytes);
	if (format & READ_RUNNING)
		orma_perf_read_u64(bytes);
	for (uint64_t i = 0; i < count && !bytes->is_cut; i++) {
		uint64_t value = is_group ? orma_perf_read_u64(bytes) : ret->value;
		id = format & READ_ID ? orma_perf_read_u64(bytes) : 0;
		if (format & READ_LOST)
			orma_perf_read_u64(bytes);
		if (is_group && (i == 0 || find_event(file, id) == ret->event))
			ret->value = value;
	}
	ret->has_value = true;
}

/* The process and the thread; each of the following fields has eight bytes. */
static void read_tid(struct orma_perf_bytes *bytes, struct orma_perf_sample *ret)
{
	ret->pid = (int32_t)orma_perf_read_u32(bytes);
	ret->tid = (int32_t)orma_perf_read_u32(bytes);
	ret->has_tid = true;
}

bool orma_perf_sample_read(const struct orma_perf_file *file, struct orma_perf_bytes bytes,
			   struct orma_perf_sample *ret)
{
	*ret = (struct orma_perf_sample){.event = event_of(file, bytes)};
	if (ret->event == UINT32_MAX)
		return false;
	const struct orma_perf_event *event = &file->events[ret->event];
	uint64_t type = event->sample_type;
	if (type & ORMA_PERF_SAMPLE_IDENTIFIER)
		orma_perf_read_u64(&bytes);
	if (type & ORMA_PERF_SAMPLE_IP)
		ret->ip = orma_perf_read_u64(&bytes);
	if (type & ORMA_PERF_SAMPLE_TID)
		read_tid(&bytes, ret);
	ret->has_time = type & ORMA_PERF_SAMPLE_TIME;
	if (ret->has_time)
		ret->time = orma_perf_read_u64(&bytes);
	if (type & ORMA_PERF_SAMPLE_ADDR)
		orma_perf_read_u64(&bytes);
	if (type & ORMA_PERF_SAMPLE_ID)
		orma_perf_read_u64(&bytes);
	if (type & ORMA_PERF_SAMPLE_STREAM_ID)
		orma_perf_read_u64(&bytes);
	ret->has_cpu = type & ORMA_PERF_SAMPLE_CPU;
	if (ret->has_cpu)
		ret->cpu = (uint32_t)orma_perf_read_u64(&bytes);
	ret->has_period = type & ORMA_PERF_SAMPLE_PERIOD;
	ret->period = ret->has_period       ? orma_perf_read_u64(&bytes)
		      : event->is_frequency ? 0
					    : event->period;
	if (type & ORMA_PERF_SAMPLE_READ)
		read_values(file, event, &bytes, ret);
	if (type & ORMA_PERF_SAMPLE_CALLCHAIN) {
		ret->chain_count = orma_perf_read_u64(&bytes);
		ret->chain = bytes.at;
		bytes.is_cut |= ret->chain_count > (uint64_t)(bytes.end - bytes.at) / 8;
	}
	return !bytes.is_cut;
}

uint64_t orma_perf_record_time(const struct orma_perf_file *file, struct orma_perf_bytes *bytes)
{
	static const uint64_t fields[] = {ORMA_PERF_SAMPLE_TID, ORMA_PERF_SAMPLE_TIME,
					  ORMA_PERF_SAMPLE_ID,  ORMA_PERF_SAMPLE_STREAM_ID,
					  ORMA_PERF_SAMPLE_CPU, ORMA_PERF_SAMPLE_IDENTIFIER};
	const struct orma_perf_event *event = file->event_count > 0 ? &file->events[0] : NULL;
	uint64_t size = 0, before = 0, time = 0;
	if (!event || !event->has_sample_ids)
		return 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		size += event->sample_type & fields[i] ? 8 : 0;
	before = event->sample_type & ORMA_PERF_SAMPLE_TID ? 8 : 0;
	if (size > (uint64_t)(bytes->end - bytes->at))
		return 0;
	bytes->end -= size;
	if (event->sample_type & ORMA_PERF_SAMPLE_TIME)
		memcpy(&time, bytes->end + before, sizeof(time));
	return time;
}

uint64_t orma_perf_time_of(const struct orma_perf_file *file, uint32_t type,
			   struct orma_perf_bytes bytes)
{
	struct orma_perf_sample sample;
	if (type != ORMA_PERF_SAMPLE)
		return orma_perf_record_time(file, &bytes);
	return orma_perf_sample_read(file, bytes, &sample) ? sample.time : 0;
}
