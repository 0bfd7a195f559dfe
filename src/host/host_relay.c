/* SPDX-License-Identifier: Apache-2.0
 * host_relay.c - RelayPort: clocks and system of another machine, from its relay.
 *
 * The port is served on those producers' sockets whose listener asks for it (ORMA_HOST_RELAY). A
 * relay first names its machine in a SetPeerIdentity frame; its first call then opens the relay
 * port. A peer that sent no such frame, or that is on a Unix socket, belongs to this machine, whose
 * clocks and system the service knows by itself. Calls of such a peer get an empty answer and have
 * no effect. If they were rejected, a relay that was pointed at a local socket would keep
 * reconnecting. Rejected: opening the relay port with the connection, because most peers are
 * producers.
 */
#include <errno.h>

#include "host/host_reply.h"
#include "proto/reader.h"
#include "schema/gen/relay_port.pb.h"
#include "service/service_limits.h"

/* Returns 1 and the peer's relay port, 0 when the peer belongs to this machine, or -errno. */
static int get_port(struct orma_ipc_peer *ipc, struct orma_relay_port **ret)
{
	struct orma_host_peer *peer = orma_ipc_peer_data(ipc);
	struct orma_relay_info info = {
		.struct_size = sizeof(info),
		.machine_id = orma_ipc_peer_identity(ipc)->machine_id,
	};
	int r = 0;

	if (!peer)
		return -EPROTO;
	if (info.machine_id == 0)
		return 0;
	if (!peer->relay)
		r = orma_relay_port_open(peer->host->service, &info, &peer->relay);
	*ret = peer->relay;
	return r < 0 ? r : 1;
}

static int on_init_relay(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	struct orma_proto_field field = {.id = 0};
	struct orma_relay_port *port = NULL;
	int r = orma_proto_reader_find(args, size, ORMA_PB_INIT_RELAY_REQUEST_SYSTEM_INFO, &field);

	if (r == 0 || (r > 0 && field.type != ORMA_PROTO_BYTES))
		field.bytes = (struct orma_str){NULL, 0};
	if (r >= 0)
		r = get_port(ipc, &port);
	if (r > 0)
		r = orma_relay_port_set_system_info(port, field.bytes.data, field.bytes.size);
	return r < 0 ? r : orma_host_reply_empty(call);
}

static int read_clock(struct orma_str message, struct orma_relay_clock *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	*ret = (struct orma_relay_clock){0};
	orma_proto_reader_init(&reader, message.data, message.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID)
			ret->clock_id = (uint32_t)field.value;
		else if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP)
			ret->timestamp = field.value;
	}
	return r;
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
	int r;

	ret->phase = 0;
	ret->clock_count = 0;
	orma_proto_reader_init(&reader, args, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.id == ORMA_PB_SYNC_CLOCK_REQUEST_PHASE && field.type == ORMA_PROTO_VARINT)
			ret->phase = field.value;
		if (field.id != ORMA_PB_SYNC_CLOCK_REQUEST_CLOCKS || field.type != ORMA_PROTO_BYTES)
			continue;
		if (ret->clock_count == ORMA_ARRAY_SIZE(ret->clocks))
			return -EMSGSIZE;
		r = read_clock(field.bytes, &ret->clocks[ret->clock_count++]);
		if (r < 0)
			return r;
	}
	return r;
}

static int on_sync_clock(struct orma_ipc_peer *ipc, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	struct sync_request request;
	struct orma_relay_port *port = NULL;
	int r = read_sync(args, size, &request);

	if (r >= 0 && request.phase > ORMA_RELAY_UPDATE)
		r = -EPROTO;
	if (r >= 0)
		r = get_port(ipc, &port);
	if (r > 0)
		r = orma_relay_port_sync_clocks(port, (enum orma_relay_phase)request.phase,
						request.clocks, request.clock_count);
	return r < 0 ? r : orma_host_reply_empty(call);
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
