/* SPDX-License-Identifier: Apache-2.0
 * perf_parse.c - reads the kernel's records of perf events.
 *
 * A record is a header {u32 type, u16 misc, u16 size}, its content, and padding to 8 bytes. A sample has the fields that
 * sample_type names, in an order that the kernel fixes. Every other record ends with the identity of its event (sample_id_all):
 * pid and tid, time, CPU.
 *
 * Owns nothing. memcpy() reads the words, because the data of tests need not be aligned.
 */
#include "probes/perf/perf_parse.h"

#include <errno.h>
#include <linux/perf_event.h>

#include "base/macros.h"

#define WORD 8u

/* Newer than the headers of Debian 12. */
#define MISC_SWITCH_OUT (1u << 13)
#define MISC_PREEMPTED  (1u << 14)

struct cursor {
	const uint8_t *at, *end;
};

static bool take(struct cursor *cursor, size_t size, const uint8_t **ret)
{
	if ((size_t)(cursor->end - cursor->at) < size)
		return false;
	*ret = cursor->at;
	cursor->at += size;
	return true;
}

static bool take_u32(struct cursor *cursor, uint32_t *ret)
{
	const uint8_t *bytes;

	if (!take(cursor, sizeof(*ret), &bytes))
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

static bool take_u64(struct cursor *cursor, uint64_t *ret)
{
	const uint8_t *bytes;

	if (!take(cursor, sizeof(*ret), &bytes))
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

static bool take_words(struct cursor *cursor, uint64_t count, struct orma_perf_words *ret)
{
	if (count > (size_t)(cursor->end - cursor->at) / WORD)
		return false;
	ret->count = (size_t)count;
	return take(cursor, (size_t)count * WORD, &ret->bytes);
}

/* ---- samples ---- */

static bool take_counts(struct cursor *cursor, const struct orma_perf_layout *layout,
			struct orma_perf_words *ret)
{
	uint64_t count = 1;

	if (layout->is_group && !take_u64(cursor, &count))
		return false;
	return take_words(cursor, count, ret);
}

static bool take_regs(struct cursor *cursor, const struct orma_perf_layout *layout,
		      struct orma_perf_sample *ret)
{
	if (!take_u64(cursor, &ret->abi))
		return false;
	return ret->abi == PERF_SAMPLE_REGS_ABI_NONE ||
	       take_words(cursor, (uint64_t)__builtin_popcountll(layout->user_regs), &ret->regs);
}

static bool take_stack(struct cursor *cursor, struct orma_perf_sample *ret)
{
	uint64_t room, used;

	if (!take_u64(cursor, &room) || room > (size_t)(cursor->end - cursor->at))
		return false;
	if (room == 0)
		return true;
	if (!take(cursor, (size_t)room, &ret->stack) || !take_u64(cursor, &used))
		return false;
	ret->stack_size = (size_t)ORMA_MIN(used, room);
	ret->is_stack_cut = used >= room;
	return true;
}

static bool read_sample(struct cursor *cursor, const struct orma_perf_layout *layout,
			struct orma_perf_record *ret)
{
	uint64_t type = layout->sample_type, count;
	struct orma_perf_sample *sample = &ret->sample;
	uint32_t reserved;

	*sample = (struct orma_perf_sample){0};
	if (type & PERF_SAMPLE_IP && !take_u64(cursor, &sample->ip))
		return false;
	if (type & PERF_SAMPLE_TID &&
	    (!take_u32(cursor, &ret->pid) || !take_u32(cursor, &ret->tid)))
		return false;
	if (type & PERF_SAMPLE_TIME && !take_u64(cursor, &ret->time))
		return false;
	if (type & PERF_SAMPLE_CPU &&
	    (!take_u32(cursor, &ret->cpu) || !take_u32(cursor, &reserved)))
		return false;
	if (type & PERF_SAMPLE_PERIOD && !take_u64(cursor, &sample->period))
		return false;
	if (type & PERF_SAMPLE_READ && !take_counts(cursor, layout, &sample->counts))
		return false;
	if (type & PERF_SAMPLE_CALLCHAIN &&
	    (!take_u64(cursor, &count) || !take_words(cursor, count, &sample->chain)))
		return false;
	if (type & PERF_SAMPLE_REGS_USER && !take_regs(cursor, layout, sample))
		return false;
	return !(type & PERF_SAMPLE_STACK_USER) || take_stack(cursor, sample);
}

/* ---- other records ---- */

static size_t identity_bytes(const struct orma_perf_layout *layout)
{
	const uint64_t parts = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

	return (size_t)__builtin_popcountll(layout->sample_type & parts) * WORD;
}

/* Takes the identity from the end of the record. The rest is the content. */
static bool read_identity(struct cursor *cursor, const struct orma_perf_layout *layout,
			  struct orma_perf_record *ret)
{
	size_t size = identity_bytes(layout);
	uint32_t reserved;

	if ((size_t)(cursor->end - cursor->at) < size)
		return false;
	struct cursor identity = {cursor->end - size, cursor->end};
	cursor->end -= size;
	if (layout->sample_type & PERF_SAMPLE_TID &&
	    (!take_u32(&identity, &ret->pid) || !take_u32(&identity, &ret->tid)))
		return false;
	if (layout->sample_type & PERF_SAMPLE_TIME && !take_u64(&identity, &ret->time))
		return false;
	return !(layout->sample_type & PERF_SAMPLE_CPU) ||
	       (take_u32(&identity, &ret->cpu) && take_u32(&identity, &reserved));
}

/* Takes text that ends with a NUL, or with the record. */
static struct orma_str take_text(const struct cursor *cursor)
{
	size_t size = (size_t)(cursor->end - cursor->at);

	return (struct orma_str){(const char *)cursor->at, strnlen((const char *)cursor->at, size)};
}

static bool read_mapping(struct cursor *cursor, struct orma_perf_record *ret)
{
	struct orma_perf_mapping *mapping = &ret->mapping;
	uint64_t generation;
	uint32_t flags;

	/* PERF_RECORD_MISC_MMAP_BUILD_ID is ignored. We ask for no build ids, but the events of others leave
	 * the bit set in our records (see perf_attr.c). */
	*mapping = (struct orma_perf_mapping){.is_data = (ret->misc & PERF_RECORD_MISC_MMAP_DATA) !=
							 0};
	if (!take_u32(cursor, &ret->pid) || !take_u32(cursor, &ret->tid) ||
	    !take_u64(cursor, &mapping->start) || !take_u64(cursor, &mapping->size) ||
	    !take_u64(cursor, &mapping->offset) || !take_u32(cursor, &mapping->device_major) ||
	    !take_u32(cursor, &mapping->device_minor) || !take_u64(cursor, &mapping->inode) ||
	    !take_u64(cursor, &generation) || !take_u32(cursor, &mapping->prot) ||
	    !take_u32(cursor, &flags))
		return false;
	mapping->path = take_text(cursor);
	return mapping->start + mapping->size >= mapping->start;
}

static bool read_task(struct cursor *cursor, struct orma_perf_record *ret)
{
	return take_u32(cursor, &ret->pid) && take_u32(cursor, &ret->parent.pid) &&
	       take_u32(cursor, &ret->tid) && take_u32(cursor, &ret->parent.tid);
}

static bool read_lost(struct cursor *cursor, struct orma_perf_record *ret)
{
	uint64_t id;

	return take_u64(cursor, &id) && take_u64(cursor, &ret->lost);
}

static bool read_content(struct cursor *cursor, struct orma_perf_record *ret)
{
	switch (ret->type) {
	case PERF_RECORD_MMAP2:
		return read_mapping(cursor, ret);
	case PERF_RECORD_COMM:
		if (!take_u32(cursor, &ret->pid) || !take_u32(cursor, &ret->tid))
			return false;
		ret->comm = take_text(cursor);
		return true;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return read_task(cursor, ret);
	case PERF_RECORD_LOST:
		return read_lost(cursor, ret);
	case PERF_RECORD_LOST_SAMPLES:
		return take_u64(cursor, &ret->lost);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		ret->turn.is_out = (ret->misc & MISC_SWITCH_OUT) != 0;
		ret->turn.is_preempted = (ret->misc & MISC_PREEMPTED) != 0;
		return true;
	default:
		return true;
	}
}

/* ---- all records ---- */

size_t orma_perf_ring_record_size(const void *header)
{
	struct perf_event_header copy;

	memcpy(&copy, header, sizeof(copy));
	return copy.size >= ORMA_PERF_HEADER_BYTES && copy.size % WORD == 0 ? copy.size : 0;
}

int orma_perf_ring_record_parse(const struct orma_perf_layout *layout, const void *bytes,
				size_t size, struct orma_perf_record *ret)
{
	struct perf_event_header header;
	struct orma_perf_record record = {0};

	if (size < sizeof(header))
		return -EBADMSG;
	memcpy(&header, bytes, sizeof(header));
	record.type = header.type;
	record.misc = header.misc;
	struct cursor cursor = {(const uint8_t *)bytes + sizeof(header),
				(const uint8_t *)bytes + size};
	bool is_good =
		record.type == PERF_RECORD_SAMPLE
			? read_sample(&cursor, layout, &record)
			: read_identity(&cursor, layout, &record) && read_content(&cursor, &record);
	if (!is_good)
		return -EBADMSG;
	*ret = record;
	return 0;
}

bool orma_perf_ring_record_time(const struct orma_perf_layout *layout, const void *bytes,
				size_t size, uint64_t *ret)
{
	struct perf_event_header header;
	size_t offset = sizeof(header);

	if (size < sizeof(header) || !(layout->sample_type & PERF_SAMPLE_TIME))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		offset += layout->sample_type & PERF_SAMPLE_IP ? WORD : 0;
		offset += layout->sample_type & PERF_SAMPLE_TID ? WORD : 0;
	} else {
		size_t identity = identity_bytes(layout);
		if (size < offset + identity)
			return false;
		offset = size - identity + (layout->sample_type & PERF_SAMPLE_TID ? WORD : 0);
	}
	if (size < offset + WORD)
		return false;
	memcpy(ret, (const uint8_t *)bytes + offset, WORD);
	return true;
}
