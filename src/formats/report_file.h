/* SPDX-License-Identifier: Apache-2.0
 * report_file.h - the data in a file that `orma report` has written; docs/report-format.md describes them.
 *
 * All of a file is checked when it is read: lines lie one behind the other in their tables, columns of a table have one count, and
 * times do not overflow. Names and other numbers of boxes are not checked.
 */
#ifndef ORMA_FORMATS_REPORT_FILE_H
#define ORMA_FORMATS_REPORT_FILE_H

#include <orma/error.h>

#include "base/arena.h"
#include "trace/json_scan.h"
#include "trace/trace_bytes.h"

enum orma_report_table {
	ORMA_REPORT_SLICE,
	ORMA_REPORT_STATE,
	ORMA_REPORT_SCHED,
	ORMA_REPORT_THREAD_STATE,
	ORMA_REPORT_COUNTER,
	ORMA_REPORT_TABLES
};

enum orma_report_column_id {
	ORMA_REPORT_LINE_LANE,
	ORMA_REPORT_LINE_DEPTH,
	ORMA_REPORT_LINE_COUNT,
	ORMA_REPORT_GAP,
	ORMA_REPORT_LENGTH,
	ORMA_REPORT_NAME,
	ORMA_REPORT_FLAGS,
	ORMA_REPORT_MORE,
	ORMA_REPORT_CATEGORY,
	ORMA_REPORT_ARGS,
	ORMA_REPORT_STACK,
	ORMA_REPORT_WAKER,
	ORMA_REPORT_BLOCKED,
	ORMA_REPORT_MIN,
	ORMA_REPORT_MAX,
	ORMA_REPORT_LAST,
	ORMA_REPORT_COLUMNS
};

/* The bits of ORMA_REPORT_FLAGS. */
enum {
	ORMA_REPORT_IS_INSTANT = 2,
	ORMA_REPORT_IS_UNFINISHED = 4,
	ORMA_REPORT_IS_REAL_TIME = 16,
};

/* Numbers in planes of bytes. */
struct orma_report_planes {
	const uint8_t *bytes;
	uint64_t count;
	unsigned width;
};

/* Two slices, by their boxes. */
struct orma_report_flow {
	uint32_t from, to;
};

/* The boxes [first, end) of a table are those of a lane at one depth. */
struct orma_report_line {
	enum orma_report_table table;
	uint32_t lane, depth;
	uint32_t first, end;
};

struct orma_report_file {
	struct orma_buf meta, layout; /* JSON */
	struct orma_str tracks;       /* JSON */
	struct orma_trace_bytes unpacked;
	struct orma_trace_window window;
	struct orma_report_planes columns[ORMA_REPORT_TABLES][ORMA_REPORT_COLUMNS];
	uint64_t *starts[ORMA_REPORT_TABLES]; /* by box, since the trace's start */
	struct orma_report_line *lines;       /* lines of a table are neighbours */
	uint32_t line_count, line_capacity;
	/* Texts are found by their number - 1. Arguments and stacks are JSON, between the brackets. */
	struct orma_report_texts {
		struct orma_str *items;
		uint32_t count, capacity;
	} names, args, stacks;
	struct orma_report_planes flow_planes[2];
	struct orma_report_flow *flows; /* in the order of `from` */
	uint32_t *flows_by_to;          /* their places, in the order of `to` */
	uint32_t flow_count;
	struct orma_arena arena;
};

/* {.unpacked = {.fd = -1, .spool_fd = -1}} is empty. 0, -EPROTONOSUPPORT (it is another page, or of another version), -EBADMSG, both with
 * a message, or another negative errno value. The caller calls done() in any case. */
int orma_report_file_read(struct orma_report_file *file, const struct orma_trace_bytes *input,
			  struct orma_error *reterr);
void orma_report_file_done(struct orma_report_file *file);

static inline uint64_t orma_report_number(const struct orma_report_planes *planes, uint64_t row)
{
	uint64_t value = 0;
	for (unsigned plane = planes->width; plane-- > 0;)
		value = value << 8 | planes->bytes[plane * planes->count + row];
	return value;
}

/* Returns a number of a column; 0 where the column is missing. */
static inline uint64_t orma_report_file_get(const struct orma_report_file *file,
					    enum orma_report_table table,
					    enum orma_report_column_id column, uint32_t row)
{
	return orma_report_number(&file->columns[table][column], row);
}

/* Returns a text by the number in a column; without data: it is none. */
static inline struct orma_str orma_report_file_text(const struct orma_report_file *file,
						    const struct orma_report_texts *texts,
						    enum orma_report_table table,
						    enum orma_report_column_id column, uint32_t row)
{
	uint64_t number = orma_report_file_get(file, table, column, row);
	return number > 0 && number <= texts->count ? texts->items[number - 1]
						    : (struct orma_str){NULL, 0};
}

/* Makes flows of their columns. 0, -EBADMSG (one has no such box) or -ENOMEM. */
int orma_report_flows_read(struct orma_report_file *file);
/* Finds the flows [ret_first, end) that leave a box, or the places [ret_first, end) in flows_by_to of those that reach it. Returns the end. */
uint32_t orma_report_flows_from(const struct orma_report_file *file, uint32_t box,
				uint32_t *ret_first);
uint32_t orma_report_flows_to(const struct orma_report_file *file, uint32_t box,
			      uint32_t *ret_first);

/* Reads the items of an array, or the fields of an object, whose text is between the brackets. `fn` may be called with a key
 * that is NULL. 0, -EBADMSG, or what `fn` returns if that is not 0. */
typedef int orma_report_json_fn(void *ctx, const struct orma_json_value *key,
				const struct orma_json_value *value);
int orma_report_json_items(struct orma_str inner, orma_report_json_fn *fn, void *ctx);
int orma_report_json_fields(struct orma_str inner, orma_report_json_fn *fn, void *ctx);
/* Reads a whole text, which is one object. */
int orma_report_json_object(struct orma_str text, orma_report_json_fn *fn, void *ctx);

#endif
