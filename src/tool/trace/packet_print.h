/* SPDX-License-Identifier: Apache-2.0
 * packet_print.h - a packet as protobuf text, or as one line of JSON.
 */
#ifndef ORMA_TOOL_PACKET_PRINT_H
#define ORMA_TOOL_PACKET_PRINT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

struct orma_print_field;

/* {0} prints text; its memory is reused from packet to packet. */
struct orma_packet_printer {
	bool is_json;
	struct orma_buf out; /* the result; the caller empties it */
	/* The fields of all messages that are being printed; each message has the last ones. */
	struct orma_print_field *fields;
	size_t field_count, field_capacity;
	struct orma_str bundle; /* the bundle of kernel events around the current message */
};

void orma_packet_printer_done(struct orma_packet_printer *printer);
/*
 * Appends the packet to `out`: "packet { ... }" on several lines, or an object of JSON and a line feed. 0,
 * -EBADMSG, -EMSGSIZE (messages nest too deeply), or -ENOMEM.
 */
int orma_packet_print(struct orma_packet_printer *printer, const void *data, size_t size);

#endif
