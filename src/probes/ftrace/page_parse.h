/* SPDX-License-Identifier: Apache-2.0
 * page_parse.h - splits a raw page of the kernel's ring buffer into records.
 */
#ifndef ORMA_PROBES_PAGE_PARSE_H
#define ORMA_PROBES_PAGE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
};

/*
 * Begins a page of layout->page_bytes bytes at `data`. Returns an enum orma_pb_ftrace_parse_status: OK, or
 * ABI_INVALID_PAGE_HEADER, with which only begin_ns is set.
 */
int orma_ftrace_page_begin(const struct orma_ftrace_page_layout *layout, const uint8_t *data,
			   struct orma_ftrace_page *ret);
/* The number of bytes of records in the page; 0 for an invalid header. */
uint32_t orma_ftrace_page_used_bytes(const struct orma_ftrace_page_layout *layout,
				     const uint8_t *data);

/*
 * Takes the next records, at most `max`. *ret_count < max means that the page has ended. Returns a parse status: if it is
 * not OK, the records before the error are valid, and the rest of the page is left out.
 */
int orma_ftrace_page_records(struct orma_ftrace_page *page, struct orma_ftrace_record *records,
			     size_t max, size_t *ret_count);

#endif
