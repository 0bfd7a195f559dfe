/* SPDX-License-Identifier: Apache-2.0
 * page_parse.h - splits a raw page of the kernel's ring buffer into records.
 */
#ifndef ORMA_PROBES_PAGE_PARSE_H
#define ORMA_PROBES_PAGE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "probes/ftrace/ftrace_format.h"
#include "schema/gen/ftrace_stats.pb.h"

/* A value of enum orma_pb_ftrace_parse_status. */
#define ORMA_FTRACE_STATUS(name) ORMA_PB_FTRACE_PARSE_STATUS_FTRACE_STATUS_##name

struct orma_ftrace_record {
	uint64_t timestamp_ns; /* in the buffer's trace clock */
	const uint8_t *data;   /* begins with the fields that all events have */
	uint32_t size;
	uint16_t id;
};

/* A page that is being split. */
struct orma_ftrace_page {
	const uint8_t *at, *end; /* the part that is still to be split */
	uint64_t begin_ns;       /* the page's own timestamp */
	uint64_t now_ns;         /* the time of the record before `at` */
	bool has_lost_events;    /* the kernel overwrote events before this page */
	int status;              /* why the rest is left out; an enum orma_pb_ftrace_parse_status */
};

static inline int32_t orma_ftrace_load_i32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t orma_ftrace_load_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The number of bytes of records in the page; 0 for an invalid header. */
uint32_t orma_ftrace_page_used_bytes(const struct orma_ftrace_page_layout *layout,
				     const uint8_t *data);

/*
 * Begins a page of layout->page_bytes bytes at `data`. With an invalid header it has no records, and its status says so.
 */
void orma_ftrace_page_begin(const struct orma_ftrace_page_layout *layout, const uint8_t *data,
			    struct orma_ftrace_page *ret);

#define ORMA_FTRACE_DELTA_BITS       27
#define ORMA_FTRACE_SHORT_LENGTH_MAX 28 /* types from 1 to this are events of 4 * type bytes */

static inline uint32_t orma_ftrace_header_type(uint32_t header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return header & 31;
#else
	return header >> ORMA_FTRACE_DELTA_BITS;
#endif
}

static inline uint32_t orma_ftrace_header_delta(uint32_t header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return header >> 5;
#else
	return header & ((UINT32_C(1) << ORMA_FTRACE_DELTA_BITS) - 1);
#endif
}

/* The slow path of the function below. Do not call it. */
bool orma_ftrace_page_take(struct orma_ftrace_page *page, struct orma_ftrace_record *ret);

/* Takes the next event. Returns false when there is none, or when the page is broken, which page->status says then. */
static inline bool orma_ftrace_page_next(struct orma_ftrace_page *page,
					 struct orma_ftrace_record *ret)
{
	const uint8_t *at = page->at;
	uint32_t header;

	if (ORMA_UNLIKELY(page->end - at < 4))
		return orma_ftrace_page_take(page, ret);
	memcpy(&header, at, sizeof(header));
	uint32_t type = orma_ftrace_header_type(header);
	if (ORMA_UNLIKELY(type - 1 >= ORMA_FTRACE_SHORT_LENGTH_MAX ||
			  page->end - at < 4 + 4 * (ptrdiff_t)type))
		return orma_ftrace_page_take(page, ret);
	page->now_ns += orma_ftrace_header_delta(header);
	page->at = at + 4 + 4 * (size_t)type;
	ret->timestamp_ns = page->now_ns;
	ret->data = at + 4;
	ret->size = 4 * type;
	memcpy(&ret->id, at + 4, sizeof(ret->id));
	return true;
}

#endif
