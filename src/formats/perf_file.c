/* SPDX-License-Identifier: Apache-2.0
 * perf_file.c - the header of a file of perf, its events, and the features behind its records.
 *
 *	file: magic, size, size of an event | events | data | features		pipe: magic, size | records
 *
 * A pipe has the events and features as records.
 */
#include "formats/perf_file.h"

#include <errno.h>

#include "base/error_message.h"
#include "base/macros.h"

enum {
	MAGIC_BYTES = 8,
	PIPE_HEADER_BYTES = 16,
	FILE_HEADER_BYTES = 104,
	ATTR_BYTES_MIN = 64,
	ATTR_BYTES_MAX = 4096,
	SECTION_BYTES = 16,
	SECTION_MAX_BYTES = 64 << 20,
	BUILD_ID_BYTES = 20,
	MISC_HAS_BUILD_ID_SIZE = 1 << 15,
	MISC_MMAP_BUILD_ID = 1 << 14,
	/* Bits of the flags of an attr. */
	FLAG_FREQUENCY = 1 << 10,
	FLAG_SAMPLE_ID_ALL = 1 << 18,
	FLAG_USE_CLOCKID = 1 << 25,
};
#define FLAG_BUILD_ID (UINT64_C(1) << 34)

static const char magic[] = "PERFILE2";

uint32_t orma_perf_read_u32(struct orma_perf_bytes *bytes)
{
	uint32_t value = 0;
	if (bytes->end - bytes->at >= 4) {
		memcpy(&value, bytes->at, 4);
		bytes->at += 4;
	} else {
		bytes->is_cut = true;
		bytes->at = bytes->end;
	}
	return value;
}

uint64_t orma_perf_read_u64(struct orma_perf_bytes *bytes)
{
	uint64_t value = 0;
	if (bytes->end - bytes->at >= 8) {
		memcpy(&value, bytes->at, 8);
		bytes->at += 8;
	} else {
		bytes->is_cut = true;
		bytes->at = bytes->end;
	}
	return value;
}

void orma_perf_skip(struct orma_perf_bytes *bytes, uint64_t count)
{
	bytes->is_cut |= count > (uint64_t)(bytes->end - bytes->at);
	bytes->at = bytes->is_cut ? bytes->end : bytes->at + count;
}

struct orma_str orma_perf_read_text(struct orma_perf_bytes *bytes)
{
	size_t size = (size_t)(bytes->end - bytes->at);
	const uint8_t *end = size > 0 ? memchr(bytes->at, 0, size) : NULL;
	struct orma_str text = {(const char *)bytes->at, end ? (size_t)(end - bytes->at) : size};
	bytes->at = bytes->end;
	return text;
}

bool orma_perf_file_detect(struct orma_str beginning)
{
	return beginning.size >= PIPE_HEADER_BYTES &&
	       memcmp(beginning.data, magic, MAGIC_BYTES) == 0;
}

void orma_perf_file_done(struct orma_perf_file *file)
{
	orma_base_map_done(&file->ids);
	orma_base_map_done(&file->build_ids);
	orma_base_arena_done(&file->arena);
}

static struct orma_str copy(struct orma_perf_file *file, struct orma_str text)
{
	char *data = orma_base_arena_strdup(&file->arena, text);
	return (struct orma_str){data, data ? text.size : 0};
}

/* Reads a perf_event_attr, of which older ones are shorter. */
static void read_attr(struct orma_perf_bytes bytes, struct orma_perf_event *ret)
{
	struct orma_perf_event *event = ret;
	*event = (struct orma_perf_event){.type = orma_perf_read_u32(&bytes)};
	orma_perf_read_u32(&bytes); /* its size */
	event->config = orma_perf_read_u64(&bytes);
	event->period = orma_perf_read_u64(&bytes);
	event->sample_type = orma_perf_read_u64(&bytes);
	event->read_format = orma_perf_read_u64(&bytes);
	uint64_t flags = orma_perf_read_u64(&bytes);
	event->is_frequency = flags & FLAG_FREQUENCY;
	event->has_sample_ids = flags & FLAG_SAMPLE_ID_ALL;
	event->uses_clock = flags & FLAG_USE_CLOCKID;
	event->has_build_ids = flags & FLAG_BUILD_ID;
	orma_perf_skip(&bytes,
		       44); /* wakeup, breakpoint or config1 and 2, branches, registers, stack */
	event->clock = (int32_t)orma_perf_read_u32(&bytes);
}

static int add_ids(struct orma_perf_file *file, uint32_t event, struct orma_perf_bytes bytes)
{
	int r = 0;
	while (r == 0 && bytes.end - bytes.at >= 8 && file->id_count < ORMA_PERF_IDS_MAX) {
		r = orma_base_map_put(&file->ids, orma_perf_read_u64(&bytes),
				      (void *)((uintptr_t)event + 1));
		file->id_count++;
	}
	return r;
}

int orma_perf_file_take_attr(struct orma_perf_file *file, struct orma_perf_bytes bytes)
{
	struct orma_perf_bytes attr = bytes, size_field = bytes;
	orma_perf_read_u32(&size_field);
	uint32_t size = orma_perf_read_u32(&size_field);
	if (file->event_count == ORMA_PERF_EVENTS_MAX || size < ATTR_BYTES_MIN ||
	    size > (uint64_t)(bytes.end - bytes.at))
		return 0;
	attr.end = attr.at + size;
	read_attr(attr, &file->events[file->event_count]);
	orma_perf_skip(&bytes, size);
	return add_ids(file, file->event_count++, bytes);
}

static uint64_t hash_of(struct orma_str text)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, text.data, text.size);
}

int orma_perf_file_take_build_id(struct orma_perf_file *file, uint16_t misc,
				 struct orma_perf_bytes bytes)
{
	orma_perf_read_u32(&bytes); /* the process, or -1 for the kernel */
	struct orma_str id = {(const char *)bytes.at, BUILD_ID_BYTES};
	orma_perf_skip(&bytes, BUILD_ID_BYTES + 4);
	if (bytes.is_cut)
		return 0;
	if (misc & MISC_HAS_BUILD_ID_SIZE)
		id.size =
			ORMA_MIN((size_t)(uint8_t)id.data[BUILD_ID_BYTES], (size_t)BUILD_ID_BYTES);
	struct orma_str *known = orma_base_arena_alloc(&file->arena, sizeof(*known));
	if (!known)
		return -ENOMEM;
	*known = copy(file, id);
	if (!known->data)
		return -ENOMEM;
	return orma_base_map_put(&file->build_ids, hash_of(orma_perf_read_text(&bytes)), known);
}

struct orma_str orma_perf_file_mapped_build_id(const struct orma_perf_file *file, uint16_t misc,
					       const uint8_t *id)
{
	bool has_build_ids = id[0] == BUILD_ID_BYTES;

	for (uint32_t i = 0; i < file->event_count; i++)
		has_build_ids |= file->events[i].has_build_ids;
	return misc & MISC_MMAP_BUILD_ID && has_build_ids && id[0] <= BUILD_ID_BYTES
		       ? (struct orma_str){(const char *)id + 4, id[0]}
		       : (struct orma_str){NULL, 0};
}

struct orma_str orma_perf_file_build_id(const struct orma_perf_file *file, struct orma_str name)
{
	const struct orma_str *known = orma_base_map_get(&file->build_ids, hash_of(name));
	return known ? *known : (struct orma_str){NULL, 0};
}

/* Build ids are records with their headers. */
static int read_build_ids(struct orma_perf_file *file, struct orma_perf_bytes bytes)
{
	int r = 0;
	while (r == 0 && bytes.end - bytes.at >= ORMA_PERF_RECORD_HEADER) {
		struct orma_perf_bytes record = bytes;
		orma_perf_read_u32(&record);
		uint32_t sizes = orma_perf_read_u32(&record);
		if (sizes >> 16 < ORMA_PERF_RECORD_HEADER ||
		    sizes >> 16 > (uint64_t)(bytes.end - bytes.at))
			break;
		record.end = bytes.at + (sizes >> 16);
		r = orma_perf_file_take_build_id(file, (uint16_t)sizes, record);
		bytes.at = record.end;
	}
	return r;
}

static struct orma_str read_string(struct orma_perf_bytes *bytes)
{
	uint32_t size = orma_perf_read_u32(bytes);
	struct orma_perf_bytes text = *bytes;
	orma_perf_skip(bytes, size);
	if (bytes->is_cut)
		return ORMA_STR("");
	text.end = text.at + size;
	return orma_perf_read_text(&text);
}

/* The words of the command, with blanks between them. */
static int read_command(struct orma_perf_file *file, struct orma_perf_bytes bytes)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	uint32_t count = orma_perf_read_u32(&bytes);
	int r = 0;
	for (uint32_t i = 0; i < count && !bytes.is_cut && r == 0; i++) {
		struct orma_str word = read_string(&bytes);
		r = i > 0 ? orma_base_buf_append(&text, " ", 1) : 0;
		if (r == 0)
			r = orma_base_buf_append(&text, word.data, word.size);
	}
	if (r == 0 && text.size > 0)
		file->command = copy(file, (struct orma_str){(char *)text.data, text.size});
	return r;
}

/* Events with their names and ids. They are in the order of the file's events; a pipe's are found by id, too. */
static int read_event_names(struct orma_perf_file *file, struct orma_perf_bytes bytes)
{
	uint32_t count = orma_perf_read_u32(&bytes), size = orma_perf_read_u32(&bytes);
	int r = 0;
	for (uint32_t i = 0; i < count && i < file->event_count && !bytes.is_cut && r == 0; i++) {
		orma_perf_skip(&bytes, size);
		uint32_t ids = orma_perf_read_u32(&bytes);
		struct orma_str name = read_string(&bytes);
		struct orma_perf_bytes list = bytes;
		orma_perf_skip(&bytes, (uint64_t)ids * 8);
		if (bytes.is_cut)
			break;
		list.end = bytes.at;
		file->events[i].name = copy(file, name);
		r = add_ids(file, i, list);
	}
	return r;
}

int orma_perf_file_take_feature(struct orma_perf_file *file, uint32_t feature,
				struct orma_perf_bytes bytes)
{
	switch (feature) {
	case ORMA_PERF_FEATURE_BUILD_ID:
		return read_build_ids(file, bytes);
	case ORMA_PERF_FEATURE_HOSTNAME:
		file->hostname = copy(file, read_string(&bytes));
		return 0;
	case ORMA_PERF_FEATURE_OSRELEASE:
		file->release = copy(file, read_string(&bytes));
		return 0;
	case ORMA_PERF_FEATURE_ARCH:
		file->arch = copy(file, read_string(&bytes));
		return 0;
	case ORMA_PERF_FEATURE_CMDLINE:
		return read_command(file, bytes);
	case ORMA_PERF_FEATURE_EVENT_DESC:
		return read_event_names(file, bytes);
	default:
		file->features_skipped++;
		return 0;
	}
}

/* Finds the bytes of a section. 1, 0 (they are not there, or too many), or an error of reading. */
static int read_section(const struct orma_perf_file *file, struct orma_trace_window *window,
			uint64_t offset, uint64_t size, struct orma_perf_bytes *ret)
{
	uint64_t end = orma_trace_bytes_end(file->input);
	const uint8_t *data;
	if (size > SECTION_MAX_BYTES || offset > end || size > end - offset)
		return 0;
	int r = size > 0 ? orma_trace_window_read(window, file->input, offset, (size_t)size,
						  (size_t)size, &data)
			 : 0;
	if (r > 0)
		*ret = (struct orma_perf_bytes){data, data + size, false};
	return r;
}

static int read_events(struct orma_perf_file *file, struct orma_trace_window *window,
		       uint64_t offset, uint64_t size, uint64_t entry_size)
{
	struct orma_trace_window ids_window = {0};
	struct orma_perf_bytes bytes, ids;
	int r = read_section(file, window, offset, size, &bytes);
	bool is_cut = r == 0;
	while (r > 0 && (uint64_t)(bytes.end - bytes.at) >= entry_size &&
	       file->event_count < ORMA_PERF_EVENTS_MAX) {
		struct orma_perf_bytes attr = {bytes.at, bytes.at + entry_size - SECTION_BYTES,
					       false};
		struct orma_perf_bytes section = {attr.end, bytes.at + entry_size, false};
		read_attr(attr, &file->events[file->event_count]);
		uint64_t ids_offset = orma_perf_read_u64(&section);
		int found = read_section(file, &ids_window, ids_offset,
					 orma_perf_read_u64(&section), &ids);
		r = found > 0 ? add_ids(file, file->event_count, ids) : found;
		r = r < 0 ? r : 1;
		file->event_count++;
		bytes.at += entry_size;
	}
	orma_trace_window_done(&ids_window);
	if (r < 0)
		return r;
	return is_cut || file->event_count == 0 ? -EBADMSG : 0;
}

/* The places of features are behind the data, one for each bit that is set. */
static int read_features(struct orma_perf_file *file, const uint8_t *bits)
{
	struct orma_trace_window places_window = {0}, window = {0};
	struct orma_perf_bytes places, bytes;
	uint64_t count = 0;
	for (uint32_t i = 0; i < ORMA_PERF_FEATURES; i++)
		count += bits[i / 8] >> (i % 8) & 1;
	int r = read_section(file, &places_window, file->data_end, count * SECTION_BYTES, &places);
	for (uint32_t i = 0; i < ORMA_PERF_FEATURES && r > 0; i++) {
		if (!(bits[i / 8] >> (i % 8) & 1))
			continue;
		uint64_t offset = orma_perf_read_u64(&places);
		int found =
			read_section(file, &window, offset, orma_perf_read_u64(&places), &bytes);
		r = found > 0 ? orma_perf_file_take_feature(file, i, bytes) : found;
		r = r < 0 ? r : 1;
	}
	orma_trace_window_done(&places_window);
	orma_trace_window_done(&window);
	return ORMA_MIN(r, 0);
}

static int open_file(struct orma_perf_file *file, struct orma_perf_bytes header)
{
	struct orma_trace_window window = {0};
	uint64_t end = orma_trace_bytes_end(file->input);
	uint64_t attr_size = orma_perf_read_u64(&header);
	uint64_t attrs = orma_perf_read_u64(&header), attrs_size = orma_perf_read_u64(&header);
	uint64_t data = orma_perf_read_u64(&header), data_size = orma_perf_read_u64(&header);
	orma_perf_skip(&header, SECTION_BYTES); /* types of events, of old */
	uint8_t bits[ORMA_PERF_FEATURES / 8];
	memcpy(bits, header.at, sizeof(bits));
	if (attr_size < ATTR_BYTES_MIN + SECTION_BYTES || attr_size > ATTR_BYTES_MAX || data > end)
		return -EBADMSG;
	file->data_begin = data;
	/* A recording that was killed has a size of 0, and no features. */
	file->data_end = data_size == 0 || data_size > end - data ? end : data + data_size;
	int r = read_events(file, &window, attrs, attrs_size, attr_size);
	if (r == 0 && data_size > 0 && file->data_end == data + data_size)
		r = read_features(file, bits);
	orma_trace_window_done(&window);
	return r;
}

int orma_perf_file_open(struct orma_perf_file *file, struct orma_error *reterr)
{
	struct orma_trace_window window = {0};
	uint64_t end = orma_trace_bytes_end(file->input);
	struct orma_perf_bytes header;
	int r = read_section(file, &window, 0, ORMA_MIN(end, (uint64_t)FILE_HEADER_BYTES), &header);
	if (r > 0) {
		orma_perf_skip(&header, MAGIC_BYTES);
		uint64_t size = orma_perf_read_u64(&header);
		file->is_pipe = size == PIPE_HEADER_BYTES;
		file->data_begin = PIPE_HEADER_BYTES;
		file->data_end = end;
		r = file->is_pipe ? 0
		    : size >= FILE_HEADER_BYTES && end >= FILE_HEADER_BYTES
			    ? open_file(file, header)
			    : -EBADMSG;
	} else if (r == 0) {
		r = -EBADMSG;
	}
	orma_trace_window_done(&window);
	return r == -EBADMSG
		       ? orma_base_error_set(reterr, r, "the header of the file of perf is damaged")
		       : r;
}
