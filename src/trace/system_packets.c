/* SPDX-License-Identifier: Apache-2.0
 * system_packets.c - who takes a packet about the system: those about the machine or the recording in the order of the file, so that
 * all later ones can use them; those with values in the order of time.
 */
#include "trace/system_packets.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/interrupt_info.pb.h"
#include "schema/gen/journald_event.pb.h"
#include "schema/gen/range_of_interest.pb.h"
#include "schema/gen/service_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_uuid.pb.h"
#include "schema/gen/trigger.pb.h"
#include "trace/conversion.h"
#include "trace/conversion_fields.h"
#include "trace/power_packets.h"

static int add_slow_sources(struct orma_system *system, uint32_t machine_idx,
			    const struct orma_pb_tracing_service_event_data_sources *sources)
{
	int r = 0;
	for (size_t i = 0; i < sources->data_source.count && r >= 0; i++) {
		struct orma_str producer = sources->data_source.items[i]->producer_name;
		struct orma_str name = sources->data_source.items[i]->data_source_name;
		system->text.size = 0;
		r = orma_base_buf_printf(&system->text, "%.*s %.*s", (int)producer.size,
					 producer.data ? producer.data : "", (int)name.size,
					 name.data ? name.data : "");
		if (r >= 0)
			r = orma_metadata_set(
				system,
				&(struct orma_metadata){
					.name = ORMA_STR("slow_start_data_source"),
					.scope = ORMA_METADATA_BOTH,
					.machine_idx = machine_idx,
					.is_list = true,
					.number = ORMA_CELL_NULL,
					.text = orma_system_text(
						system,
						(struct orma_str){(const char *)system->text.data,
								  system->text.size})});
	}
	return r;
}

static int take_event(struct orma_system *system, uint32_t machine_idx, int64_t ns,
		      const struct orma_pb_tracing_service_event *event)
{
	struct orma_system_machine *machine = orma_system_machine(system, machine_idx);
	int r = machine ? 0 : -ENOMEM;
	if (r == 0 && event->tracing_started) {
		/* A machine may have several recordings, of which the first begins. */
		bool is_other = machine->started_file != system->stats.trace_file &&
				machine->started_ns != 0;
		machine->started_ns = is_other ? ORMA_MIN(machine->started_ns, ns) : ns;
		machine->started_file = system->stats.trace_file;
		r = orma_metadata_number(system, "tracing_started_ns", ORMA_METADATA_BOTH,
					 machine_idx, ns);
	}
	if (r == 0 && event->tracing_disabled)
		r = orma_metadata_number(system, "tracing_disabled_ns", ORMA_METADATA_BOTH,
					 machine_idx, ns);
	if (r == 0 && event->all_data_sources_started)
		r = orma_metadata_number(system, "all_data_source_started_ns", ORMA_METADATA_BOTH,
					 machine_idx, ns);
	if (r == 0 && event->all_data_sources_flushed)
		r = orma_metadata_set(
			system,
			&(struct orma_metadata){.name = ORMA_STR("all_data_source_flushed_ns"),
						.scope = ORMA_METADATA_BOTH,
						.machine_idx = machine_idx,
						.is_list = true,
						.number = ns,
						.text = ORMA_CELL_NULL});
	if (r == 0 && event->slow_starting_data_sources)
		r = add_slow_sources(system, machine_idx, event->slow_starting_data_sources);
	if (r == 0 && orma_pb_tracing_service_event_has_clone_started(event))
		orma_stats_set(&system->stats, machine_idx,
			       ORMA_STAT_traced_clone_started_timestamp_ns, 0, ns);
	if (r == 0 && orma_pb_tracing_service_event_has_buffer_cloned(event))
		orma_stats_set(&system->stats, machine_idx,
			       ORMA_STAT_traced_buf_clone_done_timestamp_ns,
			       (int32_t)event->buffer_cloned, ns);
	return r;
}

static int take_service_event(struct orma_system *system, uint32_t machine_idx, int64_t ns,
			      struct orma_str content)
{
	struct orma_pb_tracing_service_event *event;
	struct orma_arena arena = {0};
	int r = orma_pb_tracing_service_event_decode(content.data, content.size, &arena, &event);
	if (r == 0)
		r = take_event(system, machine_idx, ns, event);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

/* The service takes its times from the clock of the boot, also when the trace's clock is another. */
static int64_t service_time(const struct orma_system *system, uint32_t machine_idx,
			    const struct orma_packet *packet)
{
	const struct orma_clocks *clocks = &system->index->clocks;
	uint32_t clock = packet->clock ? packet->clock : ORMA_CLOCK_BOOTTIME;
	struct orma_clock_cache cache = {0};
	int64_t ns;
	return orma_trace_clocks_convert(clocks, orma_trace_clock_key(machine_idx, 0, clock),
					 (int64_t)packet->timestamp, clocks->trace_time,
					 clocks->snapshot_count, &cache,
					 &ns) == ORMA_CLOCK_CONVERTED
		       ? ns
		       : (int64_t)packet->timestamp;
}

static int take_uuid(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_proto_field msb = {0}, lsb = {0};
	if (orma_proto_reader_find(content.data, content.size, ORMA_PB_TRACE_UUID_MSB, &msb) < 0 ||
	    orma_proto_reader_find(content.data, content.size, ORMA_PB_TRACE_UUID_LSB, &lsb) < 0)
		return 0;
	return orma_trace_uuid(system, machine_idx, (int64_t)msb.value, (int64_t)lsb.value);
}

static int take_range(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_proto_field start;
	int64_t ns;
	if (orma_proto_reader_find(content.data, content.size,
				   ORMA_PB_TRACK_EVENT_RANGE_OF_INTEREST_START_US, &start) <= 0 ||
	    start.type != ORMA_PROTO_VARINT) {
		orma_stats_add(&system->stats, machine_idx,
			       ORMA_STAT_track_event_range_of_interest_missing_start_us, 0, 1);
		return 0;
	}
	if (system->crops_events &&
	    !__builtin_mul_overflow((int64_t)start.value, (int64_t)1000, &ns))
		system->crop_ns = ns;
	return orma_metadata_number(system, "range_of_interest_start_us", ORMA_METADATA_TRACE,
				    machine_idx, (int64_t)start.value);
}

static int take_interrupts(struct orma_system *system, uint32_t machine_idx,
			   struct orma_str content)
{
	struct orma_pb_interrupt_info *info;
	struct orma_arena arena = {0};
	int r = orma_pb_interrupt_info_decode(content.data, content.size, &arena, &info);
	for (size_t i = 0; r == 0 && i < info->irq_mapping.count; i++) {
		const struct orma_pb_interrupt_info_interrupt_mapping *mapping =
			info->irq_mapping.items[i];
		int64_t *seen = orma_kernel_sum(&system->kernel, 'i', machine_idx, mapping->irq_id);
		if (!seen)
			r = -ENOMEM;
		if (r < 0 || !mapping->name.data || (*seen)++ > 0 ||
		    !orma_pb_interrupt_info_interrupt_mapping_has_irq_id(mapping))
			continue;
		int64_t cells[] = {[ORMA_INTERRUPT_IRQ_ID] = mapping->irq_id,
				   [ORMA_INTERRUPT_NAME] = orma_system_text(system, mapping->name),
				   [ORMA_INTERRUPT_MACHINE_ID] = machine_idx};
		r = orma_store_table_append(&system->tables->all[ORMA_TABLE_INTERRUPT], cells);
	}
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

int orma_system_packet_early(struct orma_system *system, const struct orma_sequence *sequence,
			     const struct orma_packet *packet)
{
	uint32_t machine_idx = sequence->machine_idx;
	switch (packet->kind) {
	case ORMA_PB_TRACE_PACKET_SYSTEM_INFO:
		return orma_system_info(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_CPU_INFO:
		return orma_cpu_info(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_INTERRUPT_INFO:
		return take_interrupts(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACE_CONFIG:
		return orma_trace_config(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACE_STATS:
		return orma_trace_stats(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACE_UUID:
		return take_uuid(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACE_ATTRIBUTES:
		return orma_trace_attributes(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_FTRACE_STATS:
		return orma_ftrace_stats(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_TRACK_EVENT_RANGE_OF_INTEREST:
		return take_range(system, machine_idx, packet->content);
	case ORMA_PB_TRACE_PACKET_SERVICE_EVENT:
		return take_service_event(system, machine_idx,
					  service_time(system, machine_idx, packet),
					  packet->content);
	case ORMA_PACKET_ENERGY_BREAKDOWN:
	case ORMA_PACKET_ENTITY_STATE:
		return orma_power_describe(system, machine_idx, packet->kind, packet->content);
	case ORMA_PACKET_CONVERSION_REPORT:
		return orma_conversion_report_take(system, machine_idx, packet->content);
	default:
		return 0;
	}
}

static void add_text_arg(struct orma_system *system, const char *key, struct orma_str text)
{
	if (text.data)
		orma_arg_list_add_string(&system->args, key, text);
}

static int add_entry(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		     const struct orma_pb_systemd_journald_event *entry)
{
	int64_t utid = ORMA_CELL_NULL;
	if (entry->pid != 0) {
		bool has_tid = orma_pb_systemd_journald_event_has_tid(entry);
		utid = orma_processes_thread_of(system->processes, machine_idx,
						(int32_t)(has_tid ? entry->tid : entry->pid),
						(int32_t)entry->pid);
		if (utid < 0)
			return (int)utid;
	}
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	if (orma_pb_systemd_journald_event_has_uid(entry))
		orma_arg_list_add_int(&system->args, "uid", (int32_t)entry->uid);
	add_text_arg(system, "comm", entry->comm);
	add_text_arg(system, "systemd_unit", entry->systemd_unit);
	add_text_arg(system, "hostname", entry->hostname);
	add_text_arg(system, "transport", entry->transport);
	int64_t cells[ORMA_LOG_COLUMNS] = {
		[ORMA_LOG_TS] = ts,
		[ORMA_LOG_UTID] = utid,
		[ORMA_LOG_PRIO] = entry->prio,
		[ORMA_LOG_LOG_SOURCE] =
			orma_tables_string(system->tables, ORMA_STR("systemd_journald")),
		[ORMA_LOG_TAG] = orma_tables_string(system->tables, entry->tag),
		[ORMA_LOG_MSG] = orma_tables_passing_string(
			system->tables, entry->message.data ? entry->message : ORMA_STR("")),
		[ORMA_LOG_ARG_SET_ID] = orma_system_take_args(system),
	};
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_LOG], cells);
}

static int take_journal_entry(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			      struct orma_str content)
{
	struct orma_pb_systemd_journald_event *entry;
	struct orma_arena arena = {0};
	int r = orma_pb_systemd_journald_event_decode(content.data, content.size, &arena, &entry);
	bool has_total = r == 0 && orma_pb_systemd_journald_event_has_num_total(entry);
	bool has_failed = r == 0 && orma_pb_systemd_journald_event_has_num_failed(entry);
	if (has_total)
		orma_stats_set(&system->stats, machine_idx, ORMA_STAT_systemd_journal_num_total, 0,
			       (int64_t)entry->num_total);
	if (has_failed)
		orma_stats_set(&system->stats, machine_idx, ORMA_STAT_systemd_journal_num_failed, 0,
			       (int64_t)entry->num_failed);
	if (r == 0 && !has_total && !has_failed)
		r = add_entry(system, machine_idx, ts, entry);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

static int take_trigger(struct orma_system *system, uint32_t machine_idx, int64_t ts,
			struct orma_str content, bool is_clone)
{
	static const struct orma_track_kind kind = {.type = "triggers", .name = "Trace Triggers"};
	struct orma_pb_trigger *trigger;
	struct orma_arena arena = {0};
	int r = orma_pb_trigger_decode(content.data, content.size, &arena, &trigger);
	if (r < 0) {
		orma_base_arena_done(&arena);
		return r == -EBADMSG ? 0 : r;
	}
	struct orma_str name = trigger->trigger_name.data ? trigger->trigger_name : ORMA_STR("");
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	add_text_arg(system, "producer_name", trigger->producer_name);
	if (orma_pb_trigger_has_trusted_producer_uid(trigger))
		orma_arg_list_add_int(&system->args, "trusted_producer_uid",
				      trigger->trusted_producer_uid);
	r = orma_system_begin(
		system, &(struct orma_system_slice){
				.ts = ts,
				.track_id = orma_system_track(system, machine_idx, &kind, NULL),
				.category = ORMA_CELL_NULL,
				.name = orma_system_text(system, name),
				.arg_set_id = orma_system_take_args(system),
				.kernel_event = ORMA_CELL_NULL});
	/* The trigger of the clone counts, else the first. */
	int64_t *seen = orma_kernel_sum(&system->kernel, 'g', machine_idx, is_clone);
	int64_t *clones = orma_kernel_sum(&system->kernel, 'g', machine_idx, 1);
	if (r == 0 && (!seen || !clones))
		r = -ENOMEM;
	if (r == 0 && *seen == 0 && *clones == 0) {
		*seen = 1;
		r = orma_metadata_text(system, "trace_trigger", ORMA_METADATA_TRACE, machine_idx,
				       name);
		if (is_clone)
			orma_stats_set(&system->stats, machine_idx,
				       ORMA_STAT_traced_clone_trigger_timestamp_ns, 0, ts);
	}
	orma_base_arena_done(&arena);
	return r;
}

int orma_system_packet(struct orma_system *system, const struct orma_ordered_event *event)
{
	uint32_t machine_idx = event->machine_idx;
	struct orma_str content = event->packet->content;
	switch (event->packet->kind) {
	case ORMA_PB_TRACE_PACKET_PROCESS_TREE:
		return orma_process_tree(system, machine_idx, content);
	case ORMA_PB_TRACE_PACKET_PROCESS_STATS:
		return orma_process_stats(system, machine_idx, event->ns, content);
	case ORMA_PB_TRACE_PACKET_SYS_STATS:
		return orma_sys_stats(system, machine_idx, event->ns, content);
	case ORMA_PB_TRACE_PACKET_JOURNALD_EVENT:
		return take_journal_entry(system, machine_idx, event->ns, content);
	case ORMA_PB_TRACE_PACKET_BATTERY:
		return orma_battery(system, machine_idx, event->ns, content);
	case ORMA_PACKET_ENERGY_BREAKDOWN:
		return orma_energy_breakdown(system, machine_idx, event->ns, content);
	case ORMA_PACKET_ENTITY_STATE:
		return orma_entity_states(system, machine_idx, event->ns, content);
	case ORMA_PACKET_DISPLAY_STATE:
		return orma_display_state(system, machine_idx, event->ns, content);
	case ORMA_PACKET_SYSTEM_PROPERTIES:
		return orma_system_properties(system, machine_idx, event->ns, content);
	case ORMA_PB_TRACE_PACKET_TRIGGER:
	case ORMA_PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER:
		return take_trigger(system, machine_idx, event->ns, content,
				    event->packet->kind ==
					    ORMA_PB_TRACE_PACKET_CLONE_SNAPSHOT_TRIGGER);
	default:
		return orma_generic_task_packet(system, event);
	}
}

int orma_clock_rows(struct orma_system *system, const struct orma_clock_reading *readings,
		    size_t count)
{
	static const char *const names[] = {NULL,        "REALTIME",         "REALTIME_COARSE",
					    "MONOTONIC", "MONOTONIC_COARSE", "MONOTONIC_RAW",
					    "BOOTTIME"};
	struct orma_clocks *clocks = &system->index->clocks;
	struct orma_clock_cache cache = {0};
	const struct orma_clock_reading *trace_time = NULL;
	int r = 0;
	for (size_t i = 0; i < count; i++)
		if (readings[i].key == clocks->trace_time)
			trace_time = &readings[i];
	for (size_t i = 0; i < count && r == 0; i++) {
		int64_t value =
			(int64_t)((uint64_t)readings[i].value * (uint64_t)readings[i].unit_ns);
		uint32_t machine_idx = (uint32_t)(readings[i].key >> 41);
		bool is_of_sequence = readings[i].key >> 40 & 1;
		uint32_t id = (uint32_t)readings[i].key;
		int64_t ts;
		if (is_of_sequence)
			id &= 0xff;
		if (orma_trace_clocks_convert(clocks, readings[i].key, value, clocks->trace_time,
					      clocks->snapshot_count, &cache,
					      &ts) != ORMA_CLOCK_CONVERTED) {
			/* A clock that was set back cannot be converted, but the snapshot says when it was read. */
			if (!trace_time)
				continue;
			ts = trace_time->value;
		}
		bool has_name = !is_of_sequence && id > 0 && id < sizeof(names) / sizeof(*names);
		int64_t cells[ORMA_CLOCK_SNAPSHOT_COLUMNS] = {
			[ORMA_CLOCK_SNAPSHOT_TS] = ts,
			[ORMA_CLOCK_SNAPSHOT_CLOCK_ID] = id,
			[ORMA_CLOCK_SNAPSHOT_CLOCK_NAME] =
				has_name ? orma_tables_string(system->tables,
							      orma_base_str(names[id]))
					 : ORMA_CELL_NULL,
			[ORMA_CLOCK_SNAPSHOT_CLOCK_VALUE] = value,
			[ORMA_CLOCK_SNAPSHOT_SNAPSHOT_ID] = clocks->snapshot_count - 1,
			[ORMA_CLOCK_SNAPSHOT_MACHINE_ID] = machine_idx,
		};
		r = orma_store_table_append(&system->tables->all[ORMA_TABLE_CLOCK_SNAPSHOT], cells);
	}
	return r;
}
