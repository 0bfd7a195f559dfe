/* SPDX-License-Identifier: Apache-2.0
 * typed_args.h - fields of messages whose type is known.
 */
#ifndef ORMA_TRACE_TYPED_ARGS_H
#define ORMA_TRACE_TYPED_ARGS_H

#include "trace/arg_walk.h"

/* Appends the name of a field of the message on top of the stack, and its index when it is repeated. 0 or -ENOMEM. */
int orma_typed_append_name(struct orma_arg_walk *walk, const struct orma_typed_field *field,
			   uint32_t id);
/* Adds a field that is not a message. One of a wrong wire type is skipped. 0 or -ENOMEM. */
int orma_typed_add(struct orma_arg_walk *walk, const struct orma_typed_field *field,
		   const struct orma_proto_field *part);

#endif
