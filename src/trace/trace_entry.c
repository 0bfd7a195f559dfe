/* SPDX-License-Identifier: Apache-2.0
 * trace_entry.c - the entries of a Trace message: packets, and fields that later versions may add.
 */
#include <errno.h>

#include "proto/wire.h"
#include "trace/packet_index.h"

enum { PACKET_FIELD = 1 };

int orma_trace_entry_read_any(const uint8_t *data, size_t size, struct orma_str *ret_packet,
			      uint64_t *ret_size)
{
	const uint8_t *end = data + size, *at;
	uint64_t tag, value = 0;
	*ret_size = 0;
	at = orma_proto_get_varint(data, end, &tag);
	if (!at)
		return size < ORMA_PROTO_VARINT_MAX ? -EAGAIN : -EBADMSG;
	if (tag >> 3 == 0 || tag >> 3 > ORMA_PROTO_FIELD_ID_MAX)
		return -EBADMSG;
	if ((tag & 7) == ORMA_PROTO_VARINT || (tag & 7) == ORMA_PROTO_BYTES) {
		const uint8_t *number = at;
		at = orma_proto_get_varint(at, end, &value);
		if (!at)
			return end - number < ORMA_PROTO_VARINT_MAX ? -EAGAIN : -EBADMSG;
		value = (tag & 7) == ORMA_PROTO_BYTES ? value : 0;
	} else if ((tag & 7) == ORMA_PROTO_FIXED64 || (tag & 7) == ORMA_PROTO_FIXED32) {
		value = (tag & 7) == ORMA_PROTO_FIXED64 ? 8 : 4;
	} else {
		return -EBADMSG;
	}
	if (value > ORMA_PROTO_LENGTH_MAX)
		return -EBADMSG;
	*ret_size = (uint64_t)(at - data) + value;
	if (value > (uint64_t)(end - at))
		return -EAGAIN;
	*ret_packet = (struct orma_str){(const char *)at, (size_t)value};
	return tag == orma_proto_tag(PACKET_FIELD, ORMA_PROTO_BYTES);
}
