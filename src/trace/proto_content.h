/* SPDX-License-Identifier: Apache-2.0
 * proto_content.h - how many bytes of a trace each field of its packets takes.
 */
#ifndef ORMA_TRACE_PROTO_CONTENT_H
#define ORMA_TRACE_PROTO_CONTENT_H

#include "trace/args.h"

struct orma_content_node;

/* {.is_wanted = true} is empty; {0} counts nothing. */
struct orma_proto_content {
	bool is_wanted;
	struct orma_content_node *nodes;
	uint32_t count, capacity;
	struct orma_map ids; /* index + 1 by parent and field, or by the packet's kind */
};

/* Packets of one kind are counted together. */
struct orma_content_kind {
	int64_t category, name; /* cells, of track events; else ORMA_CELL_NULL */
	bool is_skipped;        /* its sequence had no valid state */
	bool is_event;
};

void orma_proto_content_done(struct orma_proto_content *content);
/* Adds the fields of a packet. 0 or a negative errno value. */
int orma_proto_content_add(struct orma_proto_content *content, struct orma_str packet,
			   const struct orma_content_kind *kind);
/* Fills the tables. 0 or a negative errno value. */
int orma_proto_content_write(const struct orma_proto_content *content, struct orma_tables *tables,
			     struct orma_arg_sets *sets);

#endif
