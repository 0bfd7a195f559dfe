/* SPDX-License-Identifier: Apache-2.0
 * raw_relay.c - the frames of a relay, in the order in which upstream's sends them.
 *
 * Rejected: a real process in between (it would pass the same bytes on, and a test could not
 * send wrong ones).
 */
#include "raw_relay.h"

#include "base/buf.h"
#include "base/map.h"
#include "harness.h"
#include "proto/writer.h"
#include "schema/gen/relay_port.pb.h"

enum { FRAME_REQUEST_ID = 2, FRAME_SET_PEER_IDENTITY = 8 };

void orma_raw_identify(struct orma_raw_client *client, int32_t pid, int32_t uid, const char *hint,
		       const char *machine_name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf frame = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_proto_heap_writer_init(&heap, &frame);
	orma_proto_write_varint(&heap.writer, FRAME_REQUEST_ID, 0);
	orma_proto_nested_begin(&heap.writer, &nested, FRAME_SET_PEER_IDENTITY);
	orma_proto_write_int(&heap.writer, 1, pid);
	orma_proto_write_int(&heap.writer, 2, uid);
	orma_proto_write_string(&heap.writer, 3, hint);
	orma_proto_write_string(&heap.writer, 4, machine_name);
	orma_proto_nested_end(&heap.writer, &nested);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK(orma_raw_send_frame(client, frame.data, frame.size, -1));
}

uint32_t orma_raw_machine_id(const char *hint)
{
	return (uint32_t)orma_base_fnv1a(ORMA_FNV1A_INIT, hint, strlen(hint));
}

void orma_raw_relay_open(struct orma_raw_client *client, uint16_t port, const char *hint)
{
	orma_raw_connect_tcp(client, port);
	orma_raw_identify(client, 4242, 0, hint, "guest");
	orma_raw_bind(client, "RelayPort");
}

bool orma_raw_relay_init(struct orma_raw_client *client, const char *system_info)
{
	struct orma_str args = orma_raw_text(client, &orma_pb_init_relay_request_desc,
					     "system_info { %s }", system_info);

	return orma_raw_call(client, "InitRelay", args)->success;
}

bool orma_raw_relay_sync(struct orma_raw_client *client, const char *request)
{
	struct orma_str args =
		orma_raw_text(client, &orma_pb_sync_clock_request_desc, "%s", request);

	return orma_raw_call(client, "SyncClock", args)->success;
}

void orma_raw_relay_round(struct orma_raw_client *client, uint64_t ping_ns, uint64_t update_ns)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "phase: PING clocks { clock_id: 6 timestamp: %llu } "
		 "clocks { clock_id: 3 timestamp: 1 }",
		 (unsigned long long)ping_ns);
	CHECK(orma_raw_relay_sync(client, text));
	snprintf(text, sizeof(text),
		 "phase: UPDATE clocks { clock_id: 6 timestamp: %llu } "
		 "clocks { clock_id: 3 timestamp: 2 }",
		 (unsigned long long)update_ns);
	CHECK(orma_raw_relay_sync(client, text));
}

void orma_raw_remote_open(struct orma_raw_producer *producer, uint16_t port, const char *hint,
			  const char *machine_name, const char *name)
{
	char args[64];

	*producer = (struct orma_raw_producer){.shm_fd = -1};
	orma_raw_connect_tcp(&producer->client, port);
	orma_raw_identify(&producer->client, 77, 1234, hint, machine_name);
	orma_raw_bind(&producer->client, "ProducerPort");
	snprintf(args, sizeof(args), "producer_name: \"%s\"", name);
	CHECK(orma_raw_producer_initialize(producer, args, -1)->success);
	orma_raw_producer_listen(producer);
}
