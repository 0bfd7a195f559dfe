/* SPDX-License-Identifier: Apache-2.0
 * page_parse.c - the ring buffer's pages.
 *
 *	 0           8           16 (12 on a 32-bit kernel)      16 + size
 *	 +-----------+-----------+------+------+------ ... ------+----------+-----
 *	 | timestamp |  commit   |record|record|                 |lost count| rest
 *	 +-----------+-----------+------+------+------ ... ------+----------+-----
 *
 * commit: bits 0-26 are the size of the records, bit 31 says that events before this page were overwritten, and bit 30
 * that their number follows the records (FtraceStats has the sums, and a bundle only has a flag). A record is a 32-bit word, of which the low 5 bits are its type and the high 27
 * bits the time since the record before, and then
 *
 *	type 1-28   4 * type bytes of an event
 *	type 0      a word with the length of itself and the event
 *	type 29     padding, or an event that was discarded: a word with the length of itself and the rest
 *	type 30     a word that adds 2^27 times its value to the time
 *	type 31     a word that is the time divided by 2^27; the word before has the low bits
 *
 * (In the machine's byte order the type is in the low bits of a little-endian word and in the high bits of a big-endian
 * one.)
 *
 * Owns nothing. Invariant: begin <= at <= end, and `end` is within the page, so no record reaches past the bytes that the
 * kernel has committed. An event is at least the two bytes of its id; what else it must have is known to its plan.
 *
 * The records of a page are put into an array before any of them is encoded. This costs 24 bytes of writing per event,
 * and lets a page that several sessions want be split once; each session then works through the array in a loop of its
 * own. Rejected: a callback per event, which costs more than the array; and splitting again for each session, as
 * upstream does.
 */
#include "probes/ftrace/page_parse.h"

#include <string.h>

#include "base/assert.h"
#include "base/macros.h"

enum { TYPE_LENGTH_MAX = 28, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define COMMIT_SIZE_MASK ((UINT32_C(1) << 27) - 1)
#define COMMIT_LOST      (UINT32_C(1) << 31)

#define DELTA_BITS 27
/* An absolute timestamp has no room for these bits. */
#define TIME_HIGH_BITS (UINT64_C(0xf8) << 56)

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t load_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The kernel's `local_t commit`, of which only the low 32 bits are used. */
static uint32_t load_commit(const struct orma_ftrace_page_layout *layout, const uint8_t *data)
{
	const uint8_t *at = data + layout->commit_offset;

	return layout->commit_bytes == 8 ? (uint32_t)load_u64(at) : load_u32(at);
}

uint32_t orma_ftrace_page_used_bytes(const struct orma_ftrace_page_layout *layout,
				     const uint8_t *data)
{
	uint32_t size = load_commit(layout, data) & COMMIT_SIZE_MASK;

	return size <= layout->page_bytes - layout->data_offset ? size : 0;
}

int orma_ftrace_page_begin(const struct orma_ftrace_page_layout *layout, const uint8_t *data,
			   struct orma_ftrace_page *ret)
{
	uint32_t commit = load_commit(layout, data);
	uint32_t size = orma_ftrace_page_used_bytes(layout, data);
	const uint8_t *begin = data + layout->data_offset;

	ret->begin_ns = load_u64(data + layout->timestamp_offset);
	ret->now_ns = ret->begin_ns;
	ret->at = begin;
	ret->end = begin + size;
	ret->has_lost_events = (commit & COMMIT_LOST) != 0;
	if (size == 0)
		return ORMA_FTRACE_STATUS(ABI_INVALID_PAGE_HEADER);
	return ORMA_FTRACE_STATUS(OK);
}

static uint32_t header_type(uint32_t header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return header & 31;
#else
	return header >> DELTA_BITS;
#endif
}

static uint32_t header_delta(uint32_t header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return header >> 5;
#else
	return header & ((UINT32_C(1) << DELTA_BITS) - 1);
#endif
}

/* The word that follows the header of a record at `page->at`; false when the page ends before it. */
static bool take_word(struct orma_ftrace_page *page, uint32_t *ret)
{
	if (page->end - page->at < 4)
		return false;
	*ret = load_u32(page->at);
	page->at += 4;
	return true;
}

static int skip_padding(struct orma_ftrace_page *page, uint32_t delta)
{
	uint32_t length;

	if (delta == 0)
		return ORMA_FTRACE_STATUS(ABI_NULL_PADDING);
	if (!take_word(page, &length))
		return ORMA_FTRACE_STATUS(ABI_SHORT_PADDING_LENGTH);
	if (length < 4)
		return ORMA_FTRACE_STATUS(ABI_INVALID_PADDING_LENGTH);
	/* A page may end inside its padding. */
	page->at += ORMA_MIN((size_t)length - 4, (size_t)(page->end - page->at));
	page->now_ns += delta;
	return ORMA_FTRACE_STATUS(OK);
}

static int take_time(struct orma_ftrace_page *page, uint32_t type, uint32_t delta)
{
	uint32_t high;

	if (!take_word(page, &high))
		return type == TYPE_TIME_EXTEND ? ORMA_FTRACE_STATUS(ABI_SHORT_TIME_EXTEND)
						: ORMA_FTRACE_STATUS(ABI_SHORT_TIME_STAMP);
	uint64_t time = ((uint64_t)high << DELTA_BITS) + delta;
	if (type == TYPE_TIME_EXTEND)
		page->now_ns += time;
	else
		page->now_ns = time | (page->begin_ns & TIME_HIGH_BITS);
	return ORMA_FTRACE_STATUS(OK);
}

static int take_long_length(struct orma_ftrace_page *page, uint32_t *ret)
{
	if (!take_word(page, ret))
		return ORMA_FTRACE_STATUS(ABI_SHORT_DATA_LENGTH);
	if (*ret == 0)
		return ORMA_FTRACE_STATUS(ABI_ZERO_DATA_LENGTH);
	if (*ret < 4)
		return ORMA_FTRACE_STATUS(ABI_INVALID_DATA_LENGTH);
	*ret -= 4;
	return ORMA_FTRACE_STATUS(OK);
}

/* Takes the record whose header page->at has just passed. Sets ret->size to 0 when it is not an event. */
static int take_record(struct orma_ftrace_page *page, uint32_t header,
		       struct orma_ftrace_record *ret)
{
	uint32_t type = header_type(header), delta = header_delta(header), size;

	ret->size = 0;
	if (type == TYPE_PADDING)
		return skip_padding(page, delta);
	if (type > TYPE_PADDING)
		return take_time(page, type, delta);
	size = 4 * type;
	if (type == 0) {
		int status = take_long_length(page, &size);
		if (status != ORMA_FTRACE_STATUS(OK))
			return status;
	}
	if (size > (size_t)(page->end - page->at))
		return ORMA_FTRACE_STATUS(ABI_END_OVERFLOW);
	if (size < sizeof(ret->id))
		return ORMA_FTRACE_STATUS(ABI_SHORT_EVENT_ID);
	page->now_ns += delta;
	ret->timestamp_ns = page->now_ns;
	ret->data = page->at;
	ret->size = size;
	memcpy(&ret->id, page->at, sizeof(ret->id));
	page->at += size;
	return ORMA_FTRACE_STATUS(OK);
}

/* Takes events of types 1 to 28, which nearly all are, up to the first record that is something else. Returns how many. */
static size_t take_short_events(struct orma_ftrace_page *page, struct orma_ftrace_record *records,
				size_t max)
{
	const uint8_t *at = page->at, *end = page->end;
	uint64_t now_ns = page->now_ns;
	struct orma_ftrace_record *ret = records;

	for (; ret < records + max && end - at >= 4; ret++) {
		uint32_t header = load_u32(at), type = header_type(header);
		if (type - 1 >= TYPE_LENGTH_MAX || end - at < 4 + 4 * (ptrdiff_t)type)
			break;
		now_ns += header_delta(header);
		ret->timestamp_ns = now_ns;
		ret->data = at + 4;
		ret->size = 4 * type;
		memcpy(&ret->id, at + 4, sizeof(ret->id));
		at += 4 + 4 * type;
	}
	page->at = at;
	page->now_ns = now_ns;
	return (size_t)(ret - records);
}

int orma_ftrace_page_records(struct orma_ftrace_page *page, struct orma_ftrace_record *records,
			     size_t max, size_t *ret_count)
{
	size_t count = take_short_events(page, records, max);
	int status = ORMA_FTRACE_STATUS(OK);
	uint32_t header;

	while (count < max && page->at < page->end) {
		status = take_word(page, &header) ? take_record(page, header, &records[count])
						  : ORMA_FTRACE_STATUS(ABI_SHORT_EVENT_HEADER);
		if (ORMA_UNLIKELY(status != ORMA_FTRACE_STATUS(OK))) {
			page->at = page->end;
			break;
		}
		count += records[count].size > 0;
		count += take_short_events(page, records + count, max - count);
	}
	ORMA_ASSERT(page->at <= page->end);
	*ret_count = count;
	return status;
}
