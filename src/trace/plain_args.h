/* SPDX-License-Identifier: Apache-2.0
 * plain_args.h - the arguments of the events that most events are.
 */
#ifndef ORMA_TRACE_PLAIN_ARGS_H
#define ORMA_TRACE_PLAIN_ARGS_H

#include "trace/args.h"
#include "trace/interning.h"

/*
 * Adds the arguments of a TrackEvent that has none but annotations with an interned name and one plain value. `typed_ids` has a
 * bit for each of the first 64 fields that are arguments because of their types. The names of the event's generation are
 * loaded. 1, 0 (it has others; nothing is added) or -ENOMEM.
 */
int orma_plain_args_add(struct orma_arg_list *list, struct orma_interning *interning,
			uint64_t typed_ids, struct orma_str event);

#endif
