/* SPDX-License-Identifier: Apache-2.0
 * plain_args.h - the arguments of the events that most events are: annotations with an interned name and one plain value.
 */
#ifndef ORMA_TRACE_PLAIN_ARGS_H
#define ORMA_TRACE_PLAIN_ARGS_H

#include "trace/args.h"
#include "trace/interning.h"

enum { ORMA_PLAIN_ARGS_MAX = 16 };

/* Its bytes are borrowed. */
struct orma_plain_arg {
	uint64_t iid;            /* the name's */
	enum orma_arg_type type; /* ORMA_ARG_NULL = no value yet */
	uint64_t number;
	struct orma_str text;
};

/* Reads a DebugAnnotation. False when it is not a plain one. */
bool orma_plain_arg_read(struct orma_str annotation, struct orma_plain_arg *ret);
/*
 * Reads the arguments of a TrackEvent that has none but plain annotations. `typed_ids` has a bit for each of the first 64 fields
 * that are arguments because of their types. Returns how many there are, or -1 when the event is not one of these.
 */
int orma_plain_args_read(struct orma_str event, uint64_t typed_ids,
			 struct orma_plain_arg args[ORMA_PLAIN_ARGS_MAX]);
/* Finds the key of an argument by the name's number. 1, 0 (the name is not there, or longer than most) or -ENOMEM. */
int orma_plain_arg_key(struct orma_tables *tables, struct orma_interning *interning, uint64_t iid,
		       uint32_t *ret);
/*
 * Adds the arguments of such an event. The names of its generation are loaded. 1, 0 (it has others; nothing is added) or
 * -ENOMEM.
 */
int orma_plain_args_add(struct orma_arg_list *list, struct orma_interning *interning,
			uint64_t typed_ids, struct orma_str event);

#endif
