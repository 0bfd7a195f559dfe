/* SPDX-License-Identifier: Apache-2.0
 * thrift_writer.h - structures in Thrift's compact protocol, in which Parquet describes itself.
 */
#ifndef ORMA_TOOL_THRIFT_WRITER_H
#define ORMA_TOOL_THRIFT_WRITER_H

#include "base/buf.h"

enum { ORMA_THRIFT_DEPTH_MAX = 8 };

/* The numbers are those of the protocol. */
enum orma_thrift_type { ORMA_THRIFT_I32 = 5, ORMA_THRIFT_TEXT = 8, ORMA_THRIFT_STRUCT = 12 };

/* {.out = BUF} is ready to write the fields of the outermost structure. */
struct orma_thrift {
	struct orma_buf *out;
	int error; /* 0 or -ENOMEM; later calls do nothing */
	int last_field
		[ORMA_THRIFT_DEPTH_MAX]; /* the structure's, and those of the ones around it */
	size_t depth;
};

void orma_thrift_int32(struct orma_thrift *thrift, int field, int32_t value);
void orma_thrift_int64(struct orma_thrift *thrift, int field, int64_t value);
void orma_thrift_bytes(struct orma_thrift *thrift, int field, struct orma_str value);
/* Begins a structure that is a field, or with field 0 an element of a list. */
void orma_thrift_begin(struct orma_thrift *thrift, int field);
void orma_thrift_end(struct orma_thrift *thrift);
/* Begins a list; the elements follow: structures, or values by the next two. */
void orma_thrift_list(struct orma_thrift *thrift, int field, enum orma_thrift_type type,
		      size_t count);
void orma_thrift_element_int(struct orma_thrift *thrift, int32_t value);
void orma_thrift_element_text(struct orma_thrift *thrift, const char *text);

#endif
