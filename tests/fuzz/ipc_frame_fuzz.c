/* SPDX-License-Identifier: Apache-2.0
 * ipc_frame_fuzz.c - a stream of frames that arrives in pieces. The first byte is the size of a
 * piece, the rest is the stream.
 */
#include <stdlib.h>

#include "base/macros.h"
#include "ipc/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void require_inside(struct orma_str part, const uint8_t *data, size_t size)
{
	const uint8_t *at = (const uint8_t *)part.data;

	require(part.size == 0 || (at >= data && at + part.size <= data + size));
}

static void decode(const uint8_t *data, size_t size)
{
	struct orma_ipc_frame frame;
	struct orma_ipc_method_info info;
	struct orma_proto_reader reader;

	if (orma_ipc_frame_decode(data, size, &frame) < 0)
		return;
	switch (frame.kind) {
	case ORMA_IPC_FRAME_BIND:
		require_inside(frame.u.bind.service_name, data, size);
		break;
	case ORMA_IPC_FRAME_BIND_REPLY:
		orma_proto_reader_init(&reader, frame.u.bind_reply.message.data,
				       frame.u.bind_reply.message.size);
		while (orma_ipc_bind_reply_next(&reader, &info) > 0)
			require_inside(info.name, data, size);
		break;
	case ORMA_IPC_FRAME_INVOKE:
		require_inside(frame.u.invoke.args, data, size);
		break;
	case ORMA_IPC_FRAME_INVOKE_REPLY:
		require_inside(frame.u.invoke_reply.reply, data, size);
		break;
	case ORMA_IPC_FRAME_ERROR:
		require_inside(frame.u.error.text, data, size);
		break;
	case ORMA_IPC_FRAME_IDENTITY:
		require_inside(frame.u.identity.machine_id_hint, data, size);
		require_inside(frame.u.identity.machine_name, data, size);
		break;
	case ORMA_IPC_FRAME_OTHER:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_ipc_assembler assembler = {0};
	size_t piece = size > 0 ? data[0] + 1u : 1;
	int r = 0;

	for (size_t at = 1; at < size && r == 0;) {
		const uint8_t *frame;
		uint8_t *window;
		size_t room, frame_size;

		require(orma_ipc_assembler_window(&assembler, &window, &room) == 0 && room > 0);
		require(assembler.capacity <= ORMA_IPC_FRAME_BYTES_MAX);
		room = ORMA_MIN(room, piece);
		room = ORMA_MIN(room, size - at);
		memcpy(window, data + at, room);
		orma_ipc_assembler_fill(&assembler, room);
		at += room;
		while ((r = orma_ipc_assembler_next(&assembler, &frame, &frame_size)) > 0)
			decode(frame, frame_size);
		orma_ipc_assembler_trim(&assembler);
	}
	orma_ipc_assembler_done(&assembler);
	return 0;
}
