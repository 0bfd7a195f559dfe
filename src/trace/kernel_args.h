/* SPDX-License-Identifier: Apache-2.0
 * kernel_args.h - reads the arguments of kernel events from the trace, when somebody asks for them.
 */
#ifndef ORMA_TRACE_KERNEL_ARGS_H
#define ORMA_TRACE_KERNEL_ARGS_H

#include "trace/kernel_import.h"

/* {.system = ...} is empty. Ask in the order of rows: it remembers the bundle that was read last. */
struct orma_kernel_args {
	struct orma_system *system;
	struct orma_trace_window window, bundle_window;
	struct orma_bundle_events compact; /* events of the bundle at `bundle` */
	uint64_t bundle;                   /* address + 1; 0 = none */
};

void orma_kernel_args_done(struct orma_kernel_args *args);
/* Adds the arguments of a row of the table of kernel events. 0, -ENOMEM or an error of reading. */
int orma_kernel_args_add(struct orma_kernel_args *args, uint64_t row, struct orma_arg_list *list);
/* The same for an event at hand, when the trace cannot be read again. */
int orma_kernel_args_add_ordered(struct orma_kernel_args *args,
				 const struct orma_ordered_event *event,
				 struct orma_arg_list *list);
/* Adds those of a slice: `locator` is its begin_packet or end_packet, with ORMA_KERNEL_EVENT_BIT. */
int orma_kernel_args_add_slice(struct orma_kernel_args *args, int64_t locator,
			       struct orma_arg_list *list);

#endif
