/* SPDX-License-Identifier: Apache-2.0
 * host_relay.c - RelayPort: what the relay of another machine says over its own connection.
 *
 * It is served on producers' sockets, to those whose listener asks for it. Who says that he speaks
 * for a machine said so before, in the frame SetPeerIdentity; the port is opened by his first call.
 * A peer without it, and everybody on a socket of this machine, belongs to this machine, whose
 * clocks and system the service knows by itself: such calls are answered and nothing is kept, so
 * that a relay that was pointed at a local socket does not go on connecting. Rejected: the peer's
 * port made with the connection (most are producers').
 */
#include <errno.h>

#include "host/host_state.h"
#include "proto/reader.h"
#include "schema/gen/relay_port.pb.h"
#include "service/limits.h"

/* 1 and the peer's port, 0 = nothing that it says is to be kept, -errno. */
static int get_port(struct orma_ipc_peer *ipc, struct orma_relay_port **ret)
{
	struct orma_host_peer *peer = orma_ipc_peer_data(ipc);
	struct orma_relay_info info = {
		.struct_size = sizeof(info),
		.machine_id = orma_ipc_peer_identity(ipc)->machine_id,
	};
	int result = 0;

	if (!peer)
		return -EPROTO;
	if (info.machine_id == 0)
		return 0;
	if (!peer->relay)
		result = orma_relay_port_open(peer->host->service, &info, &peer->relay);
	*ret = peer->relay;
	return result < 0 ? result : 1;
}

static int on_init_relay(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	struct orma_proto_field field = {.id = 0};
	struct orma_relay_port *port = NULL;
	int result =
		orma_proto_reader_find(args, size, ORMA_PB_INIT_RELAY_REQUEST_SYSTEM_INFO, &field);

	if (result == 0 || (result > 0 && field.type != ORMA_PROTO_BYTES))
		field.bytes = (struct orma_str){NULL, 0};
	if (result >= 0)
		result = get_port(ipc, &port);
	if (result > 0)
		result = orma_relay_port_set_system_info(port, field.bytes.data, field.bytes.size);
	return result < 0 ? result : orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static int read_clock(struct orma_str message, struct orma_relay_clock *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int result;

	*ret = (struct orma_relay_clock){0};
	orma_proto_reader_init(&reader, message.data, message.size);
	while ((result = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID)
			ret->clock_id = (uint32_t)field.value;
		else if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP)
			ret->timestamp = field.value;
	}
	return result;
}

struct sync_request {
	uint64_t phase;
	struct orma_relay_clock clocks[ORMA_SERVICE_RELAY_CLOCKS_MAX];
	size_t clock_count;
};

static int read_sync(const void *args, size_t size, struct sync_request *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int result;

	ret->phase = 0;
	ret->clock_count = 0;
	orma_proto_reader_init(&reader, args, size);
	while ((result = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_PHASE && field.type == ORMA_PROTO_VARINT)
			ret->phase = field.value;
		if (field.id != ORMA_PB_SYNC_CLOCK_REQUEST_CLOCKS || field.type != ORMA_PROTO_BYTES)
			continue;
		if (ret->clock_count == ORMA_ARRAY_SIZE(ret->clocks))
			return -EMSGSIZE;
		result = read_clock(field.bytes, &ret->clocks[ret->clock_count++]);
		if (result < 0)
			return result;
	}
	return result;
}

static int on_sync_clock(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	struct sync_request request;
	struct orma_relay_port *port = NULL;
	int result = read_sync(args, size, &request);

	if (result >= 0 && request.phase > ORMA_RELAY_UPDATE)
		result = -EPROTO;
	if (result >= 0)
		result = get_port(ipc, &port);
	if (result > 0)
		result = orma_relay_port_sync_clocks(port, (enum orma_relay_phase)request.phase,
						     request.clocks, request.clock_count);
	return result < 0 ? result : orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static const struct orma_ipc_method methods[] = {
	{"InitRelay", on_init_relay},
	{"SyncClock", on_sync_clock},
};

const struct orma_ipc_service orma_host_relay_service = {
	.name = "RelayPort",
	.methods = methods,
	.method_count = ORMA_ARRAY_SIZE(methods),
};
