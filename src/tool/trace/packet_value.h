/* SPDX-License-Identifier: Apache-2.0
 * packet_value.h - the pieces of a printed packet; see packet_value.c. All functions append to
 * printer->out and return 0 or -ENOMEM.
 */
#ifndef ORMA_TOOL_PACKET_VALUE_H
#define ORMA_TOOL_PACKET_VALUE_H

#include <stdint.h>

#include "proto/codec.h"
#include "proto/reader.h"
#include "tool/trace/packet_print.h"

#define ORMA_PACKET_TRY(expression)                                                                \
	do {                                                                                       \
		int try_r = (expression);                                                          \
		if (try_r < 0)                                                                     \
			return try_r;                                                              \
	} while (0)

int orma_packet_put(struct orma_packet_printer *printer, const char *text);
/* A string, or bytes. */
int orma_packet_put_string(struct orma_packet_printer *printer, struct orma_str bytes,
			   bool is_text);
/* A number of 64 bits, which is a string in JSON. */
int orma_packet_put_wide(struct orma_packet_printer *printer, uint64_t value, bool is_signed);
/* A number, bool or enum of this field; `value` is as on the wire. */
int orma_packet_put_number(struct orma_packet_printer *printer, const struct orma_proto_desc *table,
			   const struct orma_proto_field_desc *known, uint64_t value);
/* Text: an indented name. JSON: a comma, where one is needed, and the key. */
int orma_packet_put_name(struct orma_packet_printer *printer, struct orma_str name, unsigned depth);
/* The braces of a message around its fields; `note` is a comment in text, or NULL. */
int orma_packet_open_message(struct orma_packet_printer *printer, const char *note);
int orma_packet_close_message(struct orma_packet_printer *printer, unsigned depth);

/* generic_event_print.c. Returns 1 when the field is an event that the bundle describes, 0 when it is
 * not, or -errno. */
int orma_packet_print_generic_event(struct orma_packet_printer *printer,
				    const struct orma_proto_field *event, unsigned depth);

#endif
