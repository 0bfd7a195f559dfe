/* SPDX-License-Identifier: Apache-2.0
 * ftrace_bundle.c - the packets of a sink: FtraceEventBundle, and the names of addresses in it.
 *
 *	begin                       records                        end
 *	cpu, lost_events,           event, event, ...,             packet: ftrace_events { fields, compact_sched }
 *	previous_bundle_end,   -->  descriptors, errors       -->          sequence_flags, interned_data
 *	clock pair
 *
 * A bundle's fields are encoded into one buffer that is kept from bundle to bundle. Its events are copied into shared
 * memory once, as a whole; the columns and the names follow straight from where they are. A bundle ends with the batch
 * of pages, when the kernel has lost events (a bundle says that for all of its events), when the columns are full, and
 * after the record with which it is large. It never ends within the work for a record that is not in the columns: whether
 * the bundle describes a generic event is decided before its record is encoded.
 *
 * previous_bundle_end_timestamp is the time of the last event in the previous bundle of this CPU. A ring buffer may have lost
 * its oldest packets, and this field tells a reader from which time on it has all events of the CPU. Trace processor reads it
 * in the first bundle of each CPU and takes the latest of these times as the start of the complete data. 0 means that the
 * data are complete since the session started.
 *
 * Names of addresses are interned: a packet has those that are new since the last one. It has all of them, and declares a
 * new incremental state, when the old one is lost (orma_packet_take_needs_state()). SEQ_NEEDS_INCREMENTAL_STATE is never
 * set, because a reader must not drop events for want of a name.
 *
 * Rejected: encoding events in the chunk. Their nested lengths would need patches wherever a chunk ends, and the copy is
 * a few nanoseconds per event.
 */
#include "base/macros.h"
#include "probes/ftrace/put.h"
#include "probes/ftrace/sink_state.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_common.pb.h"
#include "schema/gen/trace_packet.pb.h"

/* Room for the fields that begin a bundle, and for an error. */
#define BEGIN_BYTES 128

#define FIELD(name) ORMA_PB_FTRACE_EVENT_BUNDLE_##name

static uint8_t *put_number(uint8_t *at, uint32_t field_id, uint64_t value)
{
	return orma_put_varint(orma_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_VARINT)),
			       value);
}

void orma_bundle_begin(struct orma_ftrace_sink *sink, bool has_lost_events)
{
	struct orma_sink_bundle *bundle = &sink->bundle;

	bundle->fields.size = 0;
	bundle->is_open = true;
	if (orma_base_buf_reserve(&bundle->fields, BEGIN_BYTES) < 0) {
		sink->has_dropped = true;
		bundle->is_open = false;
		return;
	}
	uint8_t *at = bundle->fields.data;
	at = put_number(at, FIELD(CPU), bundle->cpu);
	if (has_lost_events || sink->has_dropped)
		at = put_number(at, FIELD(LOST_EVENTS), true);
	at = put_number(at, FIELD(PREVIOUS_BUNDLE_END_TIMESTAMP),
			sink->previous_end_ns[bundle->cpu]);
	if (bundle->clock.clock != 0)
		at = put_number(at, FIELD(FTRACE_CLOCK), (uint64_t)bundle->clock.clock);
	if (bundle->clock.ftrace_ns != 0) {
		at = put_number(at, FIELD(FTRACE_TIMESTAMP), bundle->clock.ftrace_ns);
		at = put_number(at, FIELD(BOOT_TIMESTAMP), bundle->clock.boot_ns);
	}
	bundle->fields.size = (size_t)(at - bundle->fields.data);
	sink->has_dropped = false;
}

uint8_t *orma_bundle_reserve(struct orma_ftrace_sink *sink, size_t bytes)
{
	struct orma_sink_bundle *bundle = &sink->bundle;

	if (ORMA_UNLIKELY(!bundle->is_open))
		orma_bundle_begin(sink, false);
	if (ORMA_UNLIKELY(!bundle->is_open))
		return NULL;
	if (ORMA_UNLIKELY(bundle->fields.capacity - bundle->fields.size < bytes) &&
	    orma_base_buf_reserve(&bundle->fields, bytes) < 0)
		return NULL;
	return bundle->fields.data + bundle->fields.size;
}

/* --- errors --------------------------------------------------------------------------------- */

void orma_sink_count_error(struct orma_ftrace_sink *sink, int status)
{
	sink->parse_errors |= UINT32_C(1) << status;
}

void orma_sink_error(struct orma_ftrace_sink *sink, int status, uint64_t timestamp_ns,
		     const uint8_t *page, size_t page_bytes)
{
	uint8_t error[32], *end = error;
	size_t kept_bytes = page && sink->keep_broken_pages ? page_bytes : 0;

	orma_sink_count_error(sink, status);
	if (timestamp_ns != 0)
		end = put_number(end, FIELD(FTRACE_ERROR_TIMESTAMP), timestamp_ns);
	end = put_number(end, FIELD(FTRACE_ERROR_STATUS), (uint64_t)status);
	uint8_t *begin = orma_bundle_reserve(sink, BEGIN_BYTES + kept_bytes);
	if (!begin)
		return;
	uint8_t *at = begin;
	at = orma_put_varint(at, orma_proto_tag(FIELD(ERROR), ORMA_PROTO_BYTES));
	at = orma_put_varint(at, (uint64_t)(end - error));
	memcpy(at, error, (size_t)(end - error));
	at += end - error;
	if (kept_bytes > 0) {
		at = orma_put_varint(
			at, orma_proto_tag(FIELD(BROKEN_ABI_TRACE_PAGE), ORMA_PROTO_BYTES));
		at = orma_put_varint(at, kept_bytes);
		memcpy(at, page, kept_bytes);
		at += kept_bytes;
	}
	sink->bundle.fields.size += (size_t)(at - begin);
}

/* --- the packet ----------------------------------------------------------------------------- */

static void write_symbol(struct orma_packet *packet, uint32_t index, struct orma_str name)
{
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, ORMA_PB_INTERNED_DATA_KERNEL_SYMBOLS);
	orma_packet_varint(packet, ORMA_PB_INTERNED_STRING_IID, index);
	orma_packet_bytes(packet, ORMA_PB_INTERNED_STRING_STR, name.data, name.size);
	orma_packet_nested_end(packet, &nested);
}

/* Addresses of objects have no name, and are left out. */
static void write_symbols(struct orma_ftrace_sink *sink, struct orma_packet *packet)
{
	struct orma_symbol_index *symbols = &sink->met.symbols;
	struct orma_nested interned;
	bool has_names = false;

	while (symbols->written < symbols->count) {
		uint64_t address = symbols->addresses[symbols->written++];
		struct orma_str name = orma_kallsyms_find(sink->kallsyms, address);
		if (name.size == 0)
			continue;
		if (!has_names)
			orma_packet_nested_begin(packet, &interned, ORMA_PACKET_INTERNED_DATA);
		has_names = true;
		write_symbol(packet, symbols->written, name);
	}
	if (has_names)
		orma_packet_nested_end(packet, &interned);
}

static void write_interned(struct orma_ftrace_sink *sink, struct orma_packet *packet)
{
	bool needs_state = orma_packet_take_needs_state(packet);

	if (needs_state || sink->needs_clear) {
		orma_packet_varint(packet, ORMA_PACKET_SEQUENCE_FLAGS, ORMA_SEQUENCE_STATE_CLEARED);
		sink->met.symbols.written = 0;
	}
	sink->needs_clear = false;
	write_symbols(sink, packet);
	if (sink->met.symbols.count > ORMA_SYMBOL_INDEX_RENEW) {
		orma_symbol_index_clear(&sink->met.symbols);
		sink->needs_clear = true;
	}
}

/* The next bundle describes its events again. */
static void forget_described(struct orma_ftrace_sink *sink)
{
	struct orma_buf *described = &sink->bundle.described;

	for (size_t at = 0; at < described->size; at += sizeof(uint16_t)) {
		uint16_t id;
		memcpy(&id, described->data + at, sizeof(id));
		if (sink->wanted.actions[id] == ORMA_SINK_ENCODE)
			sink->wanted.actions[id] = ORMA_SINK_DESCRIBE;
	}
	described->size = 0;
}

static void write_packet(struct orma_ftrace_sink *sink, struct orma_packet *packet)
{
	const struct orma_sink_bundle *bundle = &sink->bundle;
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_FTRACE_EVENTS);
	orma_packet_raw(packet, bundle->fields.data, bundle->fields.size);
	orma_compact_sched_write(&bundle->sched, packet);
	orma_packet_nested_end(packet, &nested);
	if (sink->kallsyms)
		write_interned(sink, packet);
	else if (sink->met.symbols.count > ORMA_SYMBOL_INDEX_RENEW)
		orma_symbol_index_clear(&sink->met.symbols);
	orma_packet_end(packet);
}

void orma_bundle_end(struct orma_ftrace_sink *sink)
{
	struct orma_sink_bundle *bundle = &sink->bundle;

	if (!bundle->is_open)
		return;
	struct orma_packet *packet = orma_packet_begin(sink->source, sink->instance_idx);
	if (packet) /* otherwise the instance has stopped */
		write_packet(sink, packet);
	orma_compact_sched_clear(&bundle->sched);
	forget_described(sink);
	bundle->fields.size = 0;
	if (bundle->end_ns != 0)
		sink->previous_end_ns[bundle->cpu] = bundle->end_ns;
	bundle->end_ns = 0;
	bundle->is_open = false;
}
