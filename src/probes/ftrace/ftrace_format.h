/* SPDX-License-Identifier: Apache-2.0
 * ftrace_format.h - parses the kernel's descriptions of its binary records: events/GROUP/NAME/format, and
 * events/header_page.
 */
#ifndef ORMA_PROBES_FTRACE_FORMAT_H
#define ORMA_PROBES_FTRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define ORMA_FTRACE_FORMAT_BYTES_MAX (1u << 20) /* a longer format file is -EFBIG */
#define ORMA_FTRACE_FIELDS_MAX       256        /* an event with more is -EBADMSG */
#define ORMA_FTRACE_RECORD_BYTES_MAX 65535      /* offset and size of a field are within it */

enum orma_ftrace_kind {
	ORMA_FTRACE_UNKNOWN, /* nothing is known but where its bytes are */
	ORMA_FTRACE_INTEGER, /* 1, 2, 4 or 8 bytes */
	ORMA_FTRACE_PID,
	ORMA_FTRACE_DEVICE,        /* dev_t as the kernel has it: major << 20 | minor */
	ORMA_FTRACE_INODE,         /* ino_t */
	ORMA_FTRACE_ADDRESS,       /* void *: a function or an object of the kernel */
	ORMA_FTRACE_TEXT,          /* char name[N]; ends at a NUL or after N bytes */
	ORMA_FTRACE_TEXT_TAIL,     /* the rest of the record, up to a NUL */
	ORMA_FTRACE_TEXT_POINTER,  /* address of a string that printk_formats may know */
	ORMA_FTRACE_ARRAY,         /* a fixed number of elements */
	ORMA_FTRACE_DYNAMIC_TEXT,  /* __data_loc or __rel_loc char[] */
	ORMA_FTRACE_DYNAMIC_ARRAY, /* __data_loc or __rel_loc of another element type */
};

struct orma_ftrace_field {
	struct orma_str name; /* points into the text */
	enum orma_ftrace_kind kind;
	uint16_t offset, size;
	uint8_t element_bytes; /* size of an element of an array: 1, 2, 4 or 8 */
	bool is_signed;        /* integers, and elements of arrays */
	bool is_relative;      /* __rel_loc: its offset counts from the end of the field */
};

struct orma_ftrace_format {
	struct orma_str name; /* points into the text */
	uint16_t id;
	uint16_t record_bytes; /* the largest end of a field: shorter records are not this event */
	struct orma_ftrace_field
		*fields; /* the fields that all events have, then the event's own */
	uint16_t field_count;
	uint16_t common_count;
};

/* 0, -EBADMSG or -ENOMEM. Strings point into `text`; the fields are in the arena. */
int orma_ftrace_format_parse(struct orma_str text, struct orma_arena *arena,
			     struct orma_ftrace_format *ret);

/* The first field of this name, or NULL. */
const struct orma_ftrace_field *orma_ftrace_format_field(const struct orma_ftrace_format *format,
							 struct orma_str name);

/* Where the parts of a page of the ring buffer are. */
struct orma_ftrace_page_layout {
	uint32_t page_bytes;   /* header and data */
	uint16_t commit_bytes; /* 4 on a 32-bit kernel */
	uint16_t timestamp_offset, commit_offset, data_offset;
};

/* Parses header_page. 0 or -EBADMSG. */
int orma_ftrace_page_layout_parse(struct orma_str text, struct orma_ftrace_page_layout *ret);

#endif
