/* SPDX-License-Identifier: Apache-2.0
 * trace_info.c - the recording: its configuration, the service's statistics and those of the kernel's tracer.
 */
#include <errno.h>

#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_stats.pb.h"
#include "schema/gen/trace_attributes.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "trace/import_log.h"
#include "trace/system_packets.h"

static void set(struct orma_system *system, uint32_t machine_idx, enum orma_stat stat, int32_t idx,
		uint64_t value)
{
	orma_stats_set(&system->stats, machine_idx, stat, idx, (int64_t)value);
}

int orma_trace_attributes(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_pb_trace_attributes *attributes;
	struct orma_arena arena = {0};
	int r = orma_pb_trace_attributes_decode(content.data, content.size, &arena, &attributes);
	for (size_t i = 0; r == 0 && i < attributes->attribute.count; i++) {
		const struct orma_pb_trace_attributes_attribute *attribute =
			attributes->attribute.items[i];
		bool is_number = orma_pb_trace_attributes_attribute_has_long_value(attribute);
		if (!is_number && !attribute->string_value.data)
			continue;
		system->text.size = 0;
		/* Names that a conversion gave are whole. */
		bool is_whole = attribute->key.size > 14 &&
				memcmp(attribute->key.data, "json_metadata.", 14) == 0;
		r = orma_base_buf_printf(
			&system->text, "%s%.*s", is_whole ? "" : "trace_attribute.",
			(int)attribute->key.size, attribute->key.data ? attribute->key.data : "");
		if (r < 0)
			break;
		r = orma_metadata_set(
			system,
			&(struct orma_metadata){
				.name = {(const char *)system->text.data, system->text.size},
				.scope = ORMA_METADATA_BOTH,
				.machine_idx = machine_idx,
				.number = is_number ? attribute->long_value : ORMA_CELL_NULL,
				.text = orma_tables_string(system->tables,
							   attribute->string_value)});
	}
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

int orma_trace_uuid(struct orma_system *system, uint32_t machine_idx, int64_t msb, int64_t lsb)
{
	struct orma_system_machine *machine = orma_system_machine(system, machine_idx);
	uint64_t high = (uint64_t)msb, low = (uint64_t)lsb;
	if (!machine)
		return -ENOMEM;
	/* The packet comes before the configuration and is right: a clone has a number of its own. */
	uint32_t own = system->stats.trace_file + 1;
	if (machine->uuid_file == own || (msb == 0 && lsb == 0))
		return 0;
	machine->uuid_file = own;
	system->text.size = 0;
	int r = orma_base_buf_printf(&system->text, "%08x-%04x-%04x-%04x-%012llx",
				     (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
				     (unsigned)(high & 0xffff), (unsigned)(low >> 48),
				     (unsigned long long)(low & 0xffffffffffff));
	return r < 0 ? r
		     : orma_metadata_text(system, "trace_uuid", ORMA_METADATA_TRACE, machine_idx,
					  (struct orma_str){(const char *)system->text.data,
							    system->text.size});
}

/* A trace that was streamed to a file all the time: what its buffers overwrote is lost, and without flushes it may have gaps. */
static void take_streaming(struct orma_system *system, uint32_t machine_idx,
			   const struct orma_pb_trace_config *config)
{
	struct orma_system_machine *machine = orma_system_machine(system, machine_idx);
	enum { DAY_MS = 24 * 60 * 60 * 1000 };
	if (!machine)
		return;
	machine->streams =
		config->file_write_period_ms < DAY_MS ? (uint32_t)config->buffers.count : 0;
	machine->has_no_flushes = config->flush_period_ms == 0;
}

static int take_config(struct orma_system *system, uint32_t machine_idx,
		       const struct orma_pb_trace_config *config)
{
	struct orma_buf text = {0};
	for (size_t i = 0; config->write_into_file && i < config->buffers.count; i++)
		if (config->buffers.items[i]->fill_policy ==
		    ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY_DISCARD)
			orma_stats_add(&system->stats, machine_idx,
				       ORMA_STAT_config_write_into_file_discard, (int32_t)i, 1);
	if (config->write_into_file)
		take_streaming(system, machine_idx, config);
	int r = orma_trace_uuid(system, machine_idx, config->trace_uuid_msb,
				config->trace_uuid_lsb);
	if (r == 0)
		r = orma_metadata_text(system, "unique_session_name", ORMA_METADATA_TRACE,
				       machine_idx, config->unique_session_name);
	if (r == 0)
		r = orma_proto_text_print(config, 0, &text);
	while (text.size > 0 && text.data[text.size - 1] == '\n')
		text.size--;
	if (r == 0)
		r = orma_metadata_text(
			system, "trace_config_pbtxt", ORMA_METADATA_TRACE, machine_idx,
			(struct orma_str){text.data ? (const char *)text.data : "", text.size});
	orma_base_buf_done(&text);
	return r;
}

int orma_trace_config(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_pb_trace_config *config;
	struct orma_proto_field attributes;
	struct orma_arena arena = {0};
	int r = orma_pb_trace_config_decode(content.data, content.size, &arena, &config);
	if (r == 0)
		r = take_config(system, machine_idx, config);
	orma_base_arena_done(&arena);
	system->config.size = 0;
	if (r == 0)
		r = orma_base_buf_append(&system->config, content.data, content.size);
	if (r == 0 &&
	    orma_proto_reader_find(content.data, content.size,
				   ORMA_PB_TRACE_CONFIG_TRACE_ATTRIBUTES, &attributes) > 0)
		r = orma_trace_attributes(system, machine_idx, attributes.bytes);
	return r == -EBADMSG || r == -EMSGSIZE ? 0 : r;
}

static void take_filter(struct orma_system *system, uint32_t machine_idx,
			const struct orma_pb_trace_stats_filter_stats *filter)
{
	set(system, machine_idx, ORMA_STAT_filter_errors, 0, filter->errors);
	set(system, machine_idx, ORMA_STAT_filter_input_bytes, 0, filter->input_bytes);
	set(system, machine_idx, ORMA_STAT_filter_input_packets, 0, filter->input_packets);
	set(system, machine_idx, ORMA_STAT_filter_output_bytes, 0, filter->output_bytes);
	set(system, machine_idx, ORMA_STAT_filter_time_taken_ns, 0, filter->time_taken_ns);
	for (size_t i = 0; i < filter->bytes_discarded_per_buffer.count; i++)
		set(system, machine_idx, ORMA_STAT_traced_buf_bytes_filtered_out, (int32_t)i,
		    filter->bytes_discarded_per_buffer.items[i]);
}

static void take_buffer(struct orma_system *system, uint32_t machine_idx, int32_t idx,
			const struct orma_pb_trace_stats_buffer_stats *buffer)
{
	const struct {
		enum orma_stat stat;
		uint64_t value;
	} values[] = {
		{ORMA_STAT_traced_buf_buffer_size, buffer->buffer_size},
		{ORMA_STAT_traced_buf_bytes_written, buffer->bytes_written},
		{ORMA_STAT_traced_buf_bytes_overwritten, buffer->bytes_overwritten},
		{ORMA_STAT_traced_buf_bytes_read, buffer->bytes_read},
		{ORMA_STAT_traced_buf_padding_bytes_written, buffer->padding_bytes_written},
		{ORMA_STAT_traced_buf_padding_bytes_cleared, buffer->padding_bytes_cleared},
		{ORMA_STAT_traced_buf_chunks_written, buffer->chunks_written},
		{ORMA_STAT_traced_buf_chunks_rewritten, buffer->chunks_rewritten},
		{ORMA_STAT_traced_buf_chunks_overwritten, buffer->chunks_overwritten},
		{ORMA_STAT_traced_buf_chunks_discarded, buffer->chunks_discarded},
		{ORMA_STAT_traced_buf_chunks_read, buffer->chunks_read},
		{ORMA_STAT_traced_buf_chunks_relocated, buffer->chunks_relocated},
		{ORMA_STAT_traced_buf_chunks_committed_out_of_order,
		 buffer->chunks_committed_out_of_order},
		{ORMA_STAT_traced_buf_write_wrap_count, buffer->write_wrap_count},
		{ORMA_STAT_traced_buf_patches_succeeded, buffer->patches_succeeded},
		{ORMA_STAT_traced_buf_patches_failed, buffer->patches_failed},
		{ORMA_STAT_traced_buf_readaheads_succeeded, buffer->readaheads_succeeded},
		{ORMA_STAT_traced_buf_readaheads_failed, buffer->readaheads_failed},
		{ORMA_STAT_traced_buf_abi_violations, buffer->abi_violations},
		{ORMA_STAT_traced_buf_trace_writer_packet_loss, buffer->trace_writer_packet_loss},
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		set(system, machine_idx, values[i].stat, idx, values[i].value);
}

/* Adds the losses of a buffer's sequences, as far as the file has been read. */
static void take_writer(struct orma_system *system, uint32_t machine_idx,
			const struct orma_pb_trace_stats_writer_stats *writer)
{
	const struct orma_sequence *sequence =
		orma_base_map_get(&system->index->sequence_map,
				  (uint64_t)machine_idx << 32 | (uint32_t)writer->sequence_id);
	int32_t idx = (int32_t)writer->buffer;
	if (!sequence)
		return;
	orma_stats_add(&system->stats, machine_idx, ORMA_STAT_traced_buf_sequence_packet_loss, idx,
		       (int64_t)sequence->losses);
	orma_stats_add(&system->stats, machine_idx,
		       ORMA_STAT_traced_buf_incremental_sequences_dropped, idx,
		       sequence->skipped > 0 && sequence->skipped == sequence->needed_state);
	for (size_t i = 1; i < ORMA_LOSS_CAUSES; i++)
		orma_stats_add(&system->stats, machine_idx, orma_import_log_cause((unsigned)i), idx,
			       (int64_t)sequence->losses_by_cause[i]);
}

static void clear_writers(struct orma_system *system, uint32_t machine_idx,
			  const struct orma_pb_trace_stats *stats)
{
	for (size_t i = 0; i < stats->writer_stats.count; i++) {
		int32_t idx = (int32_t)stats->writer_stats.items[i]->buffer;
		for (int stat = ORMA_STAT_traced_buf_sequence_packet_loss;
		     stat <= ORMA_STAT_traced_buf_data_loss_smb_full; stat++)
			set(system, machine_idx, (enum orma_stat)stat, idx, 0);
	}
}

static void take_stats(struct orma_system *system, uint32_t machine_idx,
		       const struct orma_pb_trace_stats *stats)
{
	const struct {
		enum orma_stat stat;
		uint64_t value;
	} values[] = {
		{ORMA_STAT_traced_producers_connected, stats->producers_connected},
		{ORMA_STAT_traced_producers_seen, stats->producers_seen},
		{ORMA_STAT_traced_data_sources_registered, stats->data_sources_registered},
		{ORMA_STAT_traced_data_sources_seen, stats->data_sources_seen},
		{ORMA_STAT_traced_tracing_sessions, stats->tracing_sessions},
		{ORMA_STAT_traced_total_buffers, stats->total_buffers},
		{ORMA_STAT_traced_chunks_discarded, stats->chunks_discarded},
		{ORMA_STAT_traced_patches_discarded, stats->patches_discarded},
		{ORMA_STAT_traced_flushes_requested, stats->flushes_requested},
		{ORMA_STAT_traced_flushes_succeeded, stats->flushes_succeeded},
		{ORMA_STAT_traced_flushes_failed, stats->flushes_failed},
	};
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		set(system, machine_idx, values[i].stat, 0, values[i].value);
	if (stats->filter_stats)
		take_filter(system, machine_idx, stats->filter_stats);
	if (stats->final_flush_outcome ==
	    ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_SUCCEEDED)
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_traced_final_flush_succeeded,
			       0, 1);
	if (stats->final_flush_outcome ==
	    ORMA_PB_TRACE_STATS_FINAL_FLUSH_OUTCOME_FINAL_FLUSH_FAILED)
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_traced_final_flush_failed, 0,
			       1);
	for (size_t i = 0; i < stats->buffer_stats.count; i++)
		take_buffer(system, machine_idx, (int32_t)i, stats->buffer_stats.items[i]);
	clear_writers(system, machine_idx, stats);
	for (size_t i = 0; i < stats->writer_stats.count; i++)
		take_writer(system, machine_idx, stats->writer_stats.items[i]);
}

int orma_trace_stats(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_pb_trace_stats *stats;
	struct orma_arena arena = {0};
	int r = orma_pb_trace_stats_decode(content.data, content.size, &arena, &stats);
	if (r == 0)
		take_stats(system, machine_idx, stats);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

/* The next statistic in the list is the one at the end, and the next but one the difference. */
static void take_phase(struct orma_system *system, uint32_t machine_idx, enum orma_stat first,
		       int32_t idx, bool is_end, int64_t value)
{
	int64_t begin;
	orma_stats_set(&system->stats, machine_idx, (enum orma_stat)(first + is_end), idx, value);
	if (is_end && orma_stats_get(&system->stats, machine_idx, first, idx, &begin))
		orma_stats_set(&system->stats, machine_idx, (enum orma_stat)(first + 2), idx,
			       (int64_t)((uint64_t)value - (uint64_t)begin));
}

static int64_t to_ns(double seconds)
{
	double ns = seconds * 1e9;
	if (!(ns < 0x1p63))
		return INT64_MAX;
	return ns > -0x1p63 ? (int64_t)ns : INT64_MIN;
}

static void take_cpu(struct orma_system *system, uint32_t machine_idx, bool is_end,
		     const struct orma_pb_ftrace_cpu_stats *cpu)
{
	const struct {
		enum orma_stat first;
		uint64_t value;
	} values[] = {
		{ORMA_STAT_ftrace_cpu_entries_begin, cpu->entries},
		{ORMA_STAT_ftrace_cpu_overrun_begin, cpu->overrun},
		{ORMA_STAT_ftrace_cpu_commit_overrun_begin, cpu->commit_overrun},
		{ORMA_STAT_ftrace_cpu_bytes_begin, cpu->bytes_read},
		{ORMA_STAT_ftrace_cpu_dropped_events_begin, cpu->dropped_events},
		{ORMA_STAT_ftrace_cpu_read_events_begin, cpu->read_events},
	};
	int32_t idx = (int32_t)cpu->cpu;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		take_phase(system, machine_idx, values[i].first, idx, is_end,
			   (int64_t)values[i].value);
	orma_stats_set(&system->stats, machine_idx,
		       (enum orma_stat)(ORMA_STAT_ftrace_cpu_now_ts_begin + is_end), idx,
		       to_ns(cpu->now_ts));
	orma_stats_set(&system->stats, machine_idx,
		       (enum orma_stat)(ORMA_STAT_ftrace_cpu_oldest_event_ts_begin + is_end), idx,
		       to_ns(cpu->oldest_event_ts));
}

static void take_ftrace(struct orma_system *system, struct orma_system_machine *machine,
			uint32_t machine_idx, const struct orma_pb_ftrace_stats *stats)
{
	bool is_end = stats->phase == ORMA_PB_FTRACE_STATS_PHASE_END_OF_TRACE;
	int64_t hits = stats->kprobe_stats ? stats->kprobe_stats->hits : 0;
	int64_t misses = stats->kprobe_stats ? stats->kprobe_stats->misses : 0;
	size_t errors = stats->failed_ftrace_events.count + stats->unknown_ftrace_events.count +
			(stats->atrace_errors.size > 0) + (stats->exclusive_feature_error.size > 0);
	if (!is_end && stats->phase != ORMA_PB_FTRACE_STATS_PHASE_START_OF_TRACE)
		return;
	for (size_t i = 0; i < stats->cpu_stats.count; i++)
		take_cpu(system, machine_idx, is_end, stats->cpu_stats.items[i]);
	take_phase(system, machine_idx, ORMA_STAT_ftrace_kprobe_hits_begin, 0, is_end, hits);
	take_phase(system, machine_idx, ORMA_STAT_ftrace_kprobe_misses_begin, 0, is_end, misses);
	if (!is_end) {
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_ftrace_setup_errors, 0,
			       (int64_t)errors);
		machine->keeps_old_events =
			machine->keeps_old_events || stats->preserve_ftrace_buffer;
	}
	for (size_t i = 0; i < stats->ftrace_parse_errors.count; i++)
		orma_stats_add(
			&system->stats, machine_idx,
			ORMA_STAT_ftrace_abi_errors_skipped_zero_data_length, 0,
			stats->ftrace_parse_errors.items[i] ==
				ORMA_PB_FTRACE_PARSE_STATUS_FTRACE_STATUS_ABI_ZERO_DATA_LENGTH);
}

int orma_ftrace_stats(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_system_machine *machine = orma_system_machine(system, machine_idx);
	struct orma_pb_ftrace_stats *stats;
	struct orma_arena arena = {0};
	int r = machine ? orma_pb_ftrace_stats_decode(content.data, content.size, &arena, &stats)
			: -ENOMEM;
	if (r == 0)
		take_ftrace(system, machine, machine_idx, stats);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}
