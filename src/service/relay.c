/* SPDX-License-Identifier: Apache-2.0
 * relay.c - other machines: what their relays report, and how the reports get into traces.
 *
 * A relay forwards the connections of its machine's producers. It has a connection of its own, over
 * which it reports that machine's system (SystemInfo) and the readings of its clocks. Two readings
 * make a round:
 *
 *	relay   c1 --PING-->        c2 --UPDATE-->
 *	service            h1 --reply-->          h2
 *
 * From c1, h1, c2 and h2 the reader of a trace estimates the offset between the clocks; the service
 * only keeps the newest readings. Every session gets all of it once, in packets with the machine's
 * id. News is what the reports contain for the first time. Each piece of news gets an ascending
 * number, and a session remembers the number up to which its trace contains the news, so it need
 * not remember machines. A trace that is being streamed also gets machines that connect meanwhile,
 * and later rounds, since clocks drift apart (upstream writes what it knows at the first read). A
 * round becomes news when it is complete, but for one relay at most every
 * ORMA_SERVICE_CLOCK_NEWS_NS, unless a session has no readings of that relay yet.
 *
 * Invariants
 *  - An UPDATE in `syncs` followed a PING, though the PING may have been dropped as the oldest.
 *  - All clock ids in `syncs` mean the same in every trace.
 *  - Readings with a number come before readings without one.
 *
 * Rejected: machines as objects shared by producers and relays (they would only count references),
 * all kept readings in each packet (readers would see clocks go back).
 */
#include "service/relay.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/macros.h"
#include "base/options.h"
#include "proto/writer.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/remote_clock_sync.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/read/batch.h"
#include "service/read/clock_snapshot.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

int orma_relay_port_open(struct orma_service *service, const struct orma_relay_info *info,
			 struct orma_relay_port **ret)
{
	struct orma_relay_info whole = {0};
	struct orma_relay_port *port;

	if (!service || !info || !ret || orma_base_options_copy(&whole, sizeof(whole), info) < 0 ||
	    whole.machine_id == 0)
		return -EINVAL;
	if (service->relays.count >= ORMA_SERVICE_RELAYS_MAX)
		return -ENOSPC;
	port = orma_base_zalloc(sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->service = service;
	port->machine_id = whole.machine_id;
	orma_base_list_append(&service->relays.list, &port->link);
	service->relays.count++;
	*ret = port;
	return 0;
}

void orma_relay_port_close(struct orma_relay_port *port)
{
	if (!port)
		return;
	orma_base_list_remove(&port->link);
	port->service->relays.count--;
	orma_base_buf_done(&port->system_info);
	orma_base_free(port);
}

int orma_relay_port_set_system_info(struct orma_relay_port *port, const void *system_info,
				    size_t size)
{
	if (!port || (!system_info && size > 0))
		return -EINVAL;

	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf copy = {0};
	struct orma_pb_system_info *decoded;
	struct orma_buf old = port->system_info;
	int r;

	if (size > ORMA_SERVICE_SYSTEM_INFO_BYTES_MAX)
		return -EMSGSIZE;
	/* Decoded only to check it: unknown fields are passed on as they are. */
	r = orma_pb_system_info_decode(system_info, size, &arena, &decoded);
	if (r == 0)
		r = orma_base_buf_append(&copy, system_info, size);
	if (r < 0)
		return r;
	port->system_info = copy;
	copy = old;
	if (port->info_news == 0 && size > 0)
		port->info_news = ++port->service->relays.last_news;
	return 0;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static int check_clocks(const struct orma_relay_clock *clocks, size_t count)
{
	uint64_t seen = 0;

	if (count > ORMA_SERVICE_RELAY_CLOCKS_MAX)
		return -EMSGSIZE;
	for (size_t i = 0; i < count; i++) {
		uint32_t id = clocks[i].clock_id;

		/* Other clock ids have a meaning only within one sequence or one trace. */
		if (id == 0 || id > ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_MAX_ID ||
		    clocks[i].timestamp > INT64_MAX || seen >> id & 1)
			return -EPROTO;
		seen |= UINT64_C(1) << id;
	}
	return count ? 0 : -EPROTO;
}

/* The place for the next reading; NULL when this phase cannot follow the last one. */
static struct orma_service_clock_sync *next_sync(struct orma_relay_port *port,
						 enum orma_relay_phase phase)
{
	struct orma_service_clock_sync *last =
		port->sync_count ? &port->syncs[port->sync_count - 1] : NULL;
	bool is_round_open = last && last->phase == ORMA_RELAY_PING;

	if (phase == ORMA_RELAY_UPDATE && !is_round_open)
		return NULL;
	if (phase == ORMA_RELAY_PING && is_round_open)
		return last;
	if (port->sync_count == ORMA_SERVICE_CLOCK_SYNCS_KEPT) {
		memmove(&port->syncs[0], &port->syncs[1],
			(ORMA_SERVICE_CLOCK_SYNCS_KEPT - 1) * sizeof(port->syncs[0]));
		port->sync_count--;
	}
	ORMA_ASSERT(port->sync_count < ORMA_SERVICE_CLOCK_SYNCS_KEPT);
	return &port->syncs[port->sync_count++];
}

/* Makes news of all complete rounds that are not news yet; they share one number. */
static void number_rounds(struct orma_relay_port *port)
{
	size_t count = port->sync_count;

	if (count && port->syncs[count - 1].phase == ORMA_RELAY_PING)
		count--;
	if (count == 0 || port->syncs[count - 1].news)
		return;
	port->clock_news = ++port->service->relays.last_news;
	port->clock_news_ns = orma_service_now_ns(port->service);
	if (!port->first_clock_news)
		port->first_clock_news = port->clock_news;
	while (count > 0 && !port->syncs[count - 1].news)
		port->syncs[--count].news = port->clock_news;
}

int orma_relay_port_sync_clocks(struct orma_relay_port *port, enum orma_relay_phase phase,
				const struct orma_relay_clock *clocks, size_t count)
{
	struct orma_service_clock_snapshot host_clocks;
	struct orma_service_clock_sync *sync;
	uint64_t now_ns;
	int r;

	if (!port || (!clocks && count > 0))
		return -EINVAL;
	/* Read the clocks first: every delay adds to the error. */
	orma_service_clocks_take(port->service, &host_clocks);
	r = check_clocks(clocks, count);
	if (r < 0)
		return r;
	if (phase != ORMA_RELAY_PING && phase != ORMA_RELAY_UPDATE)
		return -EPROTO;
	sync = next_sync(port, phase);
	if (!sync)
		return -EPROTO;
	sync->news = 0;
	sync->phase = phase;
	sync->client_count = (uint32_t)count;
	if (count > 0)
		memcpy(sync->client_clocks, clocks, count * sizeof(*clocks));
	sync->host_clocks = host_clocks;
	now_ns = orma_service_now_ns(port->service);
	if (phase == ORMA_RELAY_UPDATE &&
	    (!port->first_clock_news || now_ns - port->clock_news_ns >= ORMA_SERVICE_CLOCK_NEWS_NS))
		number_rounds(port);
	return 0;
}

/* --- packets ---------------------------------------------------------------------------------- */

/* True when an older relay of the same machine reports the same. */
static bool is_reported_by_other(const struct orma_relay_port *port, bool of_clocks)
{
	const struct orma_relay_port *other;

	ORMA_LIST_FOR_EACH (other, &port->service->relays.list, link) {
		if (other == port)
			return false;
		if (other->machine_id == port->machine_id &&
		    (of_clocks ? other->first_clock_news > 0 : other->system_info.size > 0))
			return true;
	}
	return false;
}

static void write_head(struct orma_relay_port *port, struct orma_proto_writer *writer)
{
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_MACHINE_ID, port->machine_id);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TRUSTED_UID,
				(uint64_t)(int64_t)(int32_t)port->service->uid);
}

static int write_info(struct orma_relay_port *port)
{
	struct orma_proto_heap_writer heap;

	orma_service_own_begin(port->service, &heap);
	orma_proto_write_bytes(&heap.writer, ORMA_PB_TRACE_PACKET_SYSTEM_INFO,
			       port->system_info.data, port->system_info.size);
	write_head(port, &heap.writer);
	orma_proto_write_varint(&heap.writer, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
				ORMA_SERVICE_SEQUENCE_ID);
	return orma_service_own_end_bare(port->service, &heap);
}

static void write_clock(struct orma_proto_writer *writer, uint32_t id, uint64_t timestamp)
{
	struct orma_proto_nested nested;

	orma_proto_nested_begin(writer, &nested, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, id);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, timestamp);
	orma_proto_nested_end(writer, &nested);
}

static void write_sync(struct orma_proto_writer *writer, const struct orma_service_clock_sync *sync)
{
	struct orma_proto_nested outer, side;

	orma_proto_nested_begin(writer, &outer, ORMA_PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS);
	orma_proto_nested_begin(writer, &side,
				ORMA_PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS);
	for (uint32_t i = 0; i < sync->client_count; i++)
		write_clock(writer, sync->client_clocks[i].clock_id,
			    sync->client_clocks[i].timestamp);
	orma_proto_nested_end(writer, &side);
	orma_proto_nested_begin(writer, &side, ORMA_PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS);
	for (uint32_t i = 0; i < sync->host_clocks.count; i++)
		write_clock(writer, sync->host_clocks.clocks[i].id,
			    sync->host_clocks.clocks[i].value);
	orma_proto_nested_end(writer, &side);
	orma_proto_nested_end(writer, &outer);
}

/* Writes the readings with a higher number. The packet has no sequence id, as in upstream: no
 * other packet depends on it. */
static int write_clocks(struct orma_relay_port *port, uint64_t written)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_service_own_begin(port->service, &heap);
	write_head(port, &heap.writer);
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC);
	for (size_t i = 0; i < port->sync_count; i++)
		if (port->syncs[i].news > written)
			write_sync(&heap.writer, &port->syncs[i]);
	orma_proto_nested_end(&heap.writer, &nested);
	return orma_service_own_end_bare(port->service, &heap);
}

int orma_service_relays_write_infos(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service *service = session->service;
	struct orma_relay_port *port;
	int r = 0;

	if (session->relays.infos_written == service->relays.last_news ||
	    (builtin && builtin->disable_system_info))
		return 0;
	ORMA_LIST_FOR_EACH (port, &service->relays.list, link) {
		if (port->info_news > session->relays.infos_written && port->system_info.size &&
		    !is_reported_by_other(port, false))
			r = write_info(port);
		if (r < 0)
			return r;
	}
	session->relays.infos_written = service->relays.last_news;
	return 0;
}

/* Readings that were news may have been dropped since. */
static bool has_clock_news(const struct orma_relay_port *port, uint64_t written)
{
	for (size_t i = 0; port->clock_news > written && i < port->sync_count; i++)
		if (port->syncs[i].news > written)
			return true;
	return false;
}

int orma_service_relays_write_clocks(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;
	struct orma_service *service = session->service;
	struct orma_relay_port *port;
	int r = 0;

	if (session->relays.clocks_written == service->relays.last_news ||
	    (builtin && builtin->disable_clock_snapshotting))
		return 0;
	ORMA_LIST_FOR_EACH (port, &service->relays.list, link) {
		if (port->first_clock_news > session->relays.clocks_written)
			number_rounds(port);
		if (has_clock_news(port, session->relays.clocks_written) &&
		    !is_reported_by_other(port, true))
			r = write_clocks(port, session->relays.clocks_written);
		if (r < 0)
			return r;
	}
	session->relays.clocks_written = service->relays.last_news;
	return 0;
}
