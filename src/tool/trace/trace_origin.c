/* SPDX-License-Identifier: Apache-2.0
 * trace_origin.c - tells machines and boots apart by the first snapshot of the clocks and by SystemInfo.
 *
 * No packet has the id of a boot. The time of the boot serves as one: the kernel corrects the rate of
 * CLOCK_REALTIME and CLOCK_BOOTTIME alike, so their difference changes only when the time of day is set,
 * or by a leap second.
 */
#include "tool/trace/trace_origin.h"

#include "base/clock_ns.h"
#include "base/map.h"
#include "proto/reader.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/system_info.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define SAME_BOOT_NS (2 * ORMA_NS_PER_SEC)

static uint64_t find_number(struct orma_str message, uint32_t id)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, id, &field) > 0 &&
			       field.type == ORMA_PROTO_VARINT
		       ? field.value
		       : 0;
}

static void take_snapshot(struct orma_trace_origin *origin, struct orma_str snapshot)
{
	uint64_t realtime_ns = 0, boottime_ns = 0;
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, snapshot.data, snapshot.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_CLOCK_SNAPSHOT_CLOCKS || field.type != ORMA_PROTO_BYTES)
			continue;
		uint64_t id = find_number(field.bytes, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID);
		uint64_t ns = find_number(field.bytes, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP);
		if (id == ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_REALTIME)
			realtime_ns = ns;
		else if (id == ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME)
			boottime_ns = ns;
	}
	origin->has_boot = realtime_ns > 0 && boottime_ns > 0;
	origin->boot_ns = realtime_ns - boottime_ns;
}

static void take_system(struct orma_trace_origin *origin, struct orma_str info)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	origin->system = ORMA_FNV1A_INIT;
	orma_proto_reader_init(&reader, info.data, info.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES ||
		    (field.id != ORMA_PB_SYSTEM_INFO_UTSNAME &&
		     field.id != ORMA_PB_SYSTEM_INFO_MACHINE_NAME))
			continue;
		origin->has_system = true;
		origin->system =
			orma_base_fnv1a(origin->system, field.bytes.data, field.bytes.size);
	}
}

void orma_trace_origin_take(struct orma_trace_origin *origin, const void *packet_untrusted,
			    size_t size)
{
	struct orma_packet_view packet;

	if ((origin->has_boot && origin->has_system) ||
	    orma_packet_view_read(packet_untrusted, size, &packet) < 0 || packet.machine != 0)
		return;
	if (packet.kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT && !origin->has_boot)
		take_snapshot(origin, packet.content);
	else if (packet.kind == ORMA_PB_TRACE_PACKET_SYSTEM_INFO && !origin->has_system)
		take_system(origin, packet.content);
}

const char *orma_trace_origin_difference(const struct orma_trace_origin *a,
					 const struct orma_trace_origin *b)
{
	uint64_t apart_ns =
		a->boot_ns > b->boot_ns ? a->boot_ns - b->boot_ns : b->boot_ns - a->boot_ns;

	if (a->has_system && b->has_system && a->system != b->system)
		return "they are of two machines or kernels";
	if (a->has_boot && b->has_boot && apart_ns > SAME_BOOT_NS)
		return "they are of two machines or boots, or the time of day was set in between";
	return NULL;
}
