/* SPDX-License-Identifier: Apache-2.0
 * session_read.c - reading a session's packets, which come in slices.
 *
 * The service streams slices, parts of packets; a packet may span slices and replies. A packet that
 * lies in one slice is handed on where it was received, others are assembled in one buffer that
 * lives as long as the read. Rejected: handing out slices (every caller would assemble), decoding
 * the replies into structs (a copy of every byte of the trace).
 */
#include <errno.h>

#include "base/error_message.h"
#include "client/session_read.h"
#include "proto/reader.h"
#include "schema/gen/consumer_port.pb.h"

#define PACKET_BYTES_MAX ((size_t)256 * 1024 * 1024)

static int take_slice(struct orma_client_read *reader, struct orma_str data, bool ends_packet)
{
	int r;

	if (ends_packet && reader->partial.size == 0)
		return reader->fn(reader->ctx, data.data, data.size);
	if (data.size > PACKET_BYTES_MAX - reader->partial.size)
		return -EMSGSIZE;
	r = orma_base_buf_append(&reader->partial, data.data, data.size);
	if (r < 0 || !ends_packet)
		return r;
	r = reader->fn(reader->ctx, reader->partial.data, reader->partial.size);
	reader->partial.size = 0;
	return r;
}

static int on_slice(struct orma_client_read *reader, struct orma_str slice_untrusted)
{
	struct orma_proto_reader fields;
	struct orma_proto_field field;
	struct orma_str data = {0};
	bool ends_packet = false;
	int r;

	orma_proto_reader_init(&fields, slice_untrusted.data, slice_untrusted.size);
	while ((r = orma_proto_reader_next(&fields, &field)) == 1) {
		if (field.id == ORMA_PB_READ_BUFFERS_RESPONSE_SLICE_DATA &&
		    field.type == ORMA_PROTO_BYTES)
			data = field.bytes;
		else if (field.id == ORMA_PB_READ_BUFFERS_RESPONSE_SLICE_LAST_SLICE_FOR_PACKET)
			ends_packet = field.value != 0;
	}
	return r < 0 ? r : take_slice(reader, data, ends_packet);
}

static int on_read_reply(struct orma_client_call *call, const void *data_untrusted, size_t size)
{
	struct orma_client_read *reader = ORMA_CONTAINER_OF(call, struct orma_client_read, call);
	struct orma_proto_reader fields;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&fields, data_untrusted, size);
	while ((r = orma_proto_reader_next(&fields, &field)) == 1) {
		if (field.id != ORMA_PB_READ_BUFFERS_RESPONSE_SLICES ||
		    field.type != ORMA_PROTO_BYTES)
			continue;
		r = on_slice(reader, field.bytes);
		if (r < 0)
			return r;
	}
	return r;
}

void orma_client_read_init(struct orma_client_read *read, orma_packet_fn *fn, void *ctx)
{
	*read = (struct orma_client_read){.call = {.reply = on_read_reply}, .fn = fn, .ctx = ctx};
}

int orma_client_read_error(int error, struct orma_error *reterr)
{
	if (error == -EREMOTEIO)
		return orma_base_error_set(reterr, -ESTALE, "there is nothing to read from");
	if (error < 0)
		return orma_base_error_set(reterr, error, "reading failed: %s",
					   orma_base_error_words(error));
	return 0;
}

int orma_session_read(struct orma_session *session, orma_packet_fn *fn, void *ctx)
{
	struct orma_client_read reader;
	int r;

	if (!session || !fn)
		return -EINVAL;
	orma_client_read_init(&reader, fn, ctx);
	r = orma_client_session_call(session, ORMA_CLIENT_READ_BUFFERS, NULL, -1,
				     session->timeout_ns, &reader.call);
	orma_base_buf_done(&reader.partial);
	return orma_client_read_error(r, NULL);
}
