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
 * Each session takes the records one by one, from a copy of struct orma_ftrace_page of its own. Rejected: an array of all
 * records, which several sessions could share, because making it costs more than taking each record; and a callback for
 * each event.
 */
#include "probes/ftrace/page_parse.h"

#include <string.h>

#include "base/assert.h"

enum { TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define COMMIT_SIZE_MASK ((UINT32_C(1) << 27) - 1)
#define COMMIT_LOST      (UINT32_C(1) << 31)

/* An absolute timestamp has no room for these bits. */
#define TIME_HIGH_BITS (UINT64_C(0xf8) << 56)

static uint32_t load_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The kernel's `local_t commit`, of which only the low 32 bits are used. */
static uint32_t load_commit(const struct orma_ftrace_page_layout *layout, const uint8_t *data)
{
	const uint8_t *at = data + layout->commit_offset;

	return layout->commit_bytes == 8 ? (uint32_t)orma_ftrace_load_u64(at) : load_u32(at);
}

static uint32_t records_bytes(const struct orma_ftrace_page_layout *layout, uint32_t commit)
{
	uint32_t size = commit & COMMIT_SIZE_MASK;

	return size <= layout->page_bytes - layout->data_offset ? size : 0;
}

uint32_t orma_ftrace_page_used_bytes(const struct orma_ftrace_page_layout *layout,
				     const uint8_t *data)
{
	return records_bytes(layout, load_commit(layout, data));
}

void orma_ftrace_page_begin(const struct orma_ftrace_page_layout *layout, const uint8_t *data,
			    struct orma_ftrace_page *ret)
{
	uint32_t commit = load_commit(layout, data), size = records_bytes(layout, commit);

	ret->begin_ns = orma_ftrace_load_u64(data + layout->timestamp_offset);
	ret->now_ns = ret->begin_ns;
	ret->at = data + layout->data_offset;
	ret->end = ret->at + size;
	ret->has_lost_events = (commit & COMMIT_LOST) != 0;
	ret->status =
		size == 0 ? ORMA_FTRACE_STATUS(ABI_INVALID_PAGE_HEADER) : ORMA_FTRACE_STATUS(OK);
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
	uint64_t time = ((uint64_t)high << ORMA_FTRACE_DELTA_BITS) + delta;
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
	uint32_t type = orma_ftrace_header_type(header), delta = orma_ftrace_header_delta(header),
		 size;

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

bool orma_ftrace_page_take(struct orma_ftrace_page *page, struct orma_ftrace_record *ret)
{
	uint32_t header;

	while (page->at < page->end) {
		int status = take_word(page, &header) ? take_record(page, header, ret)
						      : ORMA_FTRACE_STATUS(ABI_SHORT_EVENT_HEADER);
		ORMA_ASSERT(page->at <= page->end);
		if (ORMA_UNLIKELY(status != ORMA_FTRACE_STATUS(OK))) {
			page->status = status;
			page->at = page->end;
			return false;
		}
		if (ret->size > 0)
			return true;
	}
	return false;
}
