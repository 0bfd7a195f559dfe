/* SPDX-License-Identifier: Apache-2.0
 * report_links.h - what the slices of a report have besides their boxes: the flows between them, and the stacks that they began at.
 */
#ifndef ORMA_VIEW_REPORT_LINKS_H
#define ORMA_VIEW_REPORT_LINKS_H

#include "base/buf.h"
#include "base/map.h"
#include "view/trace_view.h"

/* {0} is empty. */
struct orma_report_links {
	const struct orma_view *view;
	uint32_t *boxes;         /* by slice: its box + 1, or 0; NULL without flows */
	struct orma_map sites;   /* callsite + 1 by slice */
	struct orma_map numbers; /* the number of a stack by its callsite */
	uint32_t stack_count;
	struct orma_buf stacks; /* a JSON array without its end */
};

/* All return 0 or a negative errno value. The caller calls done() in any case. */
int orma_report_links_begin(struct orma_report_links *links, const struct orma_view *view);
void orma_report_links_done(struct orma_report_links *links);
/* Takes note of the box that stands for one slice, and finds the number of its stack; 0 = none. */
int orma_report_links_add_slice(struct orma_report_links *links, uint32_t row, uint32_t box,
				uint64_t *ret_stack);
/* Writes the flows whose ends both have a box. -EFBIG: there are more than max. */
int orma_report_links_write_flows(const struct orma_report_links *links, uint64_t max,
				  struct orma_buf *data, struct orma_buf *layout);

#endif
