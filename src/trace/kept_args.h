/* SPDX-License-Identifier: Apache-2.0
 * kept_args.h - what is kept of the arguments of slices when a trace is loaded: keys, types, and values that are numbers.
 */
#ifndef ORMA_TRACE_KEPT_ARGS_H
#define ORMA_TRACE_KEPT_ARGS_H

#include "trace/plain_args.h"

enum {
	ORMA_KEPT_ARGS_MAX = 8, /* a set with more is not kept */
	ORMA_ARG_SHAPES_MAX = 255,
	ORMA_SHAPE_SLOTS = 1024,
};

/* An argument on its way from the thread that reads events. */
struct orma_noted_arg {
	int64_t value; /* a number; unused for a text */
	uint32_t iid;  /* the name's */
	uint8_t type;  /* enum orma_arg_type */
	uint8_t count; /* arguments of the set */
};

/* The keys and types that sets have in common. */
struct orma_arg_shape {
	uint32_t keys
		[ORMA_KEPT_ARGS_MAX]; /* strings of the pool, no two alike; flat keys are the same */
	uint8_t types[ORMA_KEPT_ARGS_MAX]; /* enum orma_arg_type */
	int8_t values
		[ORMA_KEPT_ARGS_MAX]; /* the number of the column that has the value; -1 = no column has it */
	uint8_t count;
};

/* {0} keeps nothing. */
struct orma_kept_args {
	struct orma_tables *tables;
	bool is_on;
	struct orma_arg_shape *shapes;
	uint32_t shape_count, shape_capacity;
	uint8_t slots[ORMA_SHAPE_SLOTS];        /* number of a shape + 1, by hash */
	uint64_t max_bytes, bytes;              /* limit and sum of the packed values */
	size_t counted_blocks[ORMA_ARG_VALUES]; /* blocks of each column that are in `bytes` */
	uint64_t block;                         /* the last slice's */
	bool has_no_room;                       /* no more values are kept */
};

void orma_kept_args_done(struct orma_kept_args *kept);

/* Notes plain annotations. Returns how many there are, or 0 when the set is not kept. */
size_t orma_note_args(const struct orma_plain_arg *args, int count,
		      struct orma_noted_arg ret[ORMA_KEPT_ARGS_MAX]);
/* Keeps the arguments that a slice began with, which is the newest row; the names of its generation are loaded. 0, -ENOMEM or an
 * error of spilling. */
int orma_kept_args_add(struct orma_kept_args *kept, struct orma_interning *interning,
		       const struct orma_noted_arg *args, uint64_t row);
/* Reads the shapes from the tables. 0, -ENOMEM, or -EBADMSG when they make no sense. */
int orma_kept_args_restore(struct orma_kept_args *kept);

/* The following need sealed tables. */

/* Returns the shape of all arguments of a slice; NULL = it has none, or they are only known from its packets. */
const struct orma_arg_shape *orma_kept_args_shape(const struct orma_kept_args *kept, uint64_t row);
/* Returns a value that one of a slice's arguments has; ORMA_CELL_NULL = it has to be read from the packet. */
int64_t orma_kept_args_value(const struct orma_kept_args *kept, const struct orma_arg_shape *shape,
			     uint32_t idx, uint64_t row);
/* Says what is known of the arguments in a block of slices. */
enum orma_kept_block {
	ORMA_KEPT_NO_ARGS,   /* no slice has arguments that would be read from packets */
	ORMA_KEPT_ONE_SHAPE, /* all have the shape cells[0] */
	ORMA_KEPT_MIXED, /* cells[i] is the slice's shape; ORMA_CELL_NULL as with orma_kept_args_shape() */
};
enum orma_kept_block orma_kept_args_read_block(const struct orma_kept_args *kept, size_t block_idx,
					       int64_t cells[ORMA_BLOCK_ROWS]);

#endif
