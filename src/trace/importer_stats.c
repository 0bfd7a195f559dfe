/* SPDX-License-Identifier: Apache-2.0
 * importer_stats.c - what the readers counted, under the names that SQL shows.
 */
#include "trace/importer.h"

#include <stddef.h>
#include <string.h>

/* Where in struct orma_importer a count is. */
#define COUNTER(member) offsetof(struct orma_importer, member)

static const struct {
	size_t offset;
	enum orma_stat stat;
} counts[] = {
	{COUNTER(index.counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE]),
	 ORMA_STAT_clock_sync_failure_unknown_source_clock},
	{COUNTER(index.counts[ORMA_COUNT_CLOCK_UNKNOWN_TARGET]),
	 ORMA_STAT_clock_sync_failure_unknown_target_clock},
	{COUNTER(index.counts[ORMA_COUNT_CLOCK_NO_PATH]), ORMA_STAT_clock_sync_failure_no_path},
	{COUNTER(index.counts[ORMA_COUNT_NEGATIVE_TIMES]),
	 ORMA_STAT_trace_sorter_negative_timestamp_dropped},
	{COUNTER(index.counts[ORMA_COUNT_NEGATIVE_EVENT_TIMES]),
	 ORMA_STAT_track_event_invalid_timestamp},
	{COUNTER(index.counts[ORMA_COUNT_EVENTS_WITHOUT_TIME]),
	 ORMA_STAT_track_event_missing_timestamp},
	{COUNTER(index.counts[ORMA_COUNT_EVENTS_WITHOUT_REFERENCE]),
	 ORMA_STAT_track_event_skipped_timestamp_delta_without_valid_state},
	{COUNTER(index.counts[ORMA_COUNT_EVENTS_WITHOUT_SEQUENCE]),
	 ORMA_STAT_track_event_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_THREADS_WITHOUT_SEQUENCE]),
	 ORMA_STAT_thread_descriptor_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_THREADS_WITHOUT_STATE]),
	 ORMA_STAT_thread_descriptor_skipped_incremental_state_invalid},
	{COUNTER(index.counts[ORMA_COUNT_INTERNED_WITHOUT_STATE]),
	 ORMA_STAT_interned_data_skipped_incremental_state_invalid},
	{COUNTER(index.counts[ORMA_COUNT_SKIPPED_WITHOUT_STATE]),
	 ORMA_STAT_packet_skipped_seq_needs_incremental_state_invalid},
	{COUNTER(index.counts[ORMA_COUNT_CLEARED_WITHOUT_SEQUENCE]),
	 ORMA_STAT_incremental_state_cleared_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_DROPPED_WITHOUT_SEQUENCE]),
	 ORMA_STAT_previous_packet_dropped_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_DEFAULTS_WITHOUT_SEQUENCE]),
	 ORMA_STAT_trace_packet_defaults_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_INTERNED_WITHOUT_SEQUENCE]),
	 ORMA_STAT_interned_data_missing_sequence_id},
	{COUNTER(index.counts[ORMA_COUNT_BAD_PACKETS]), ORMA_STAT_tokenizer_skipped_packets},
	{COUNTER(index.counts[ORMA_COUNT_UNPACK_FAILED]), ORMA_STAT_compressed_packets_skipped},
	{COUNTER(index.counts[ORMA_COUNT_BAD_BUNDLES]), ORMA_STAT_ftrace_bundle_tokenizer_errors},
	{COUNTER(slices.counts[ORMA_SLICES_MISPLACED_ENDS]), ORMA_STAT_misplaced_end_event},
	{COUNTER(slices.counts[ORMA_SLICES_OVERLAPPING]),
	 ORMA_STAT_slice_drop_overlapping_complete_event},
	{COUNTER(slices.counts[ORMA_SLICES_TOO_DEEP]), ORMA_STAT_slice_max_depth_exceeded},
	{COUNTER(sched.counts[ORMA_SCHED_SWITCHES_SKIPPED]),
	 ORMA_STAT_compact_sched_switch_skipped},
	{COUNTER(sched.counts[ORMA_SCHED_WAKINGS_SKIPPED]), ORMA_STAT_compact_sched_waking_skipped},
	{COUNTER(sched.counts[ORMA_SCHED_MISMATCHED_TIDS]), ORMA_STAT_mismatched_sched_switch_tids},
	{COUNTER(sched.counts[ORMA_SCHED_BAD_STATES]), ORMA_STAT_task_state_invalid},
	{COUNTER(sched.counts[ORMA_SCHED_BAD_CPUS]), ORMA_STAT_ftrace_bundle_tokenizer_errors},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_MISSING_UUID]),
	 ORMA_STAT_track_descriptor_missing_uuid},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_THREAD_WITHOUT_IDS]),
	 ORMA_STAT_track_descriptor_thread_missing_pid_tid},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_PROCESS_WITHOUT_PID]),
	 ORMA_STAT_track_descriptor_process_missing_pid},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_BAD_ORDERING]),
	 ORMA_STAT_track_descriptor_invalid_child_ordering},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_DEFAULT_WITH_PARENT]),
	 ORMA_STAT_track_descriptor_default_track_with_parent},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_CONFLICTING]),
	 ORMA_STAT_track_descriptor_conflicting_reservation},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_LOOP]),
	 ORMA_STAT_track_event_track_hierarchy_loop},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_TOO_DEEP]),
	 ORMA_STAT_track_event_track_hierarchy_too_deep},
	{COUNTER(descriptors.counts[ORMA_DESCRIPTORS_MISSING_PARENT]),
	 ORMA_STAT_track_hierarchy_missing_uuid},
	{COUNTER(counts[ORMA_IMPORT_SPILLED_SLICES]),
	 ORMA_STAT_slice_spill_overlapping_complete_event},
	{COUNTER(counts[ORMA_IMPORT_EVENT_ERRORS]), ORMA_STAT_track_event_parser_errors},
	{COUNTER(counts[ORMA_IMPORT_COUNTER_WITHOUT_TRACK]),
	 ORMA_STAT_track_event_counter_missing_track_uuid},
	{COUNTER(counts[ORMA_IMPORT_COUNTER_WITHOUT_VALUE]),
	 ORMA_STAT_track_event_counter_missing_value},
	{COUNTER(counts[ORMA_IMPORT_COUNTER_OF_NO_TRACK]),
	 ORMA_STAT_track_event_counter_invalid_track_uuid},
	{COUNTER(counts[ORMA_IMPORT_STATE_WITHOUT_TRACK]),
	 ORMA_STAT_track_event_state_missing_track_uuid},
	{COUNTER(counts[ORMA_IMPORT_EXTRA_WITHOUT_TRACKS]),
	 ORMA_STAT_track_event_extra_counter_missing_track_uuids},
	{COUNTER(counts[ORMA_IMPORT_EXTRA_TOO_FEW_TRACKS]),
	 ORMA_STAT_track_event_extra_counter_track_uuid_mismatch},
	{COUNTER(counts[ORMA_IMPORT_EXTRA_TOO_MANY]),
	 ORMA_STAT_track_event_extra_counter_exceeds_max},
	{COUNTER(counts[ORMA_IMPORT_EXTRA_OF_NO_TRACK]),
	 ORMA_STAT_track_event_extra_counter_invalid_track},
	{COUNTER(counts[ORMA_IMPORT_TIME_WITHOUT_REFERENCE]),
	 ORMA_STAT_track_event_skipped_thread_time_delta_without_valid_state},
	{COUNTER(counts[ORMA_IMPORT_INSTRUCTIONS_WITHOUT_REFERENCE]),
	 ORMA_STAT_track_event_skipped_thread_instruction_delta_without_valid_state},
	{COUNTER(counts[ORMA_IMPORT_UNKNOWN_EXTENSIONS]), ORMA_STAT_unknown_extension_fields},
	{COUNTER(types.problems), ORMA_STAT_extra_parsing_descriptors_error},
	{COUNTER(counts[ORMA_IMPORT_FLOW_BAD_ID]), ORMA_STAT_flow_invalid_id},
	{COUNTER(counts[ORMA_IMPORT_FLOW_WITHOUT_DIRECTION]), ORMA_STAT_flow_without_direction},
	{COUNTER(flows.counts[ORMA_FLOWS_DUPLICATE]), ORMA_STAT_flow_duplicate_id},
	{COUNTER(flows.counts[ORMA_FLOWS_WITHOUT_SLICE]), ORMA_STAT_flow_no_enclosing_slice},
	{COUNTER(flows.counts[ORMA_FLOWS_STEP_WITHOUT_BEGIN]), ORMA_STAT_flow_step_without_start},
	{COUNTER(flows.counts[ORMA_FLOWS_END_WITHOUT_BEGIN]), ORMA_STAT_flow_end_without_start},
	{COUNTER(processes.errors), ORMA_STAT_process_tracker_errors},
	{COUNTER(processes.changed_parents), ORMA_STAT_process_tracker_parent_pid_changed},
	{COUNTER(system.kernel.missing_ids), ORMA_STAT_ftrace_missing_event_id},
	{COUNTER(system.kernel.without_pid), ORMA_STAT_ftrace_bundle_tokenizer_errors},
};

void orma_importer_count(struct orma_importer *importer)
{
	/* They are counted for all machines together, and stand with the first. */
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t count;
		memcpy(&count, (const char *)importer + counts[i].offset, sizeof(count));
		if (count > 0)
			orma_stats_add(&importer->system.stats, 0, counts[i].stat, 0,
				       (int64_t)count);
	}
	for (uint32_t i = 0; i < importer->index.sequence_count; i++)
		orma_stats_add(&importer->system.stats, 0,
			       ORMA_STAT_streaming_profile_invalid_timestamp, 0,
			       (int64_t)importer->index.sequences[i]->time.bad_samples);
	if (importer->index.clocks.rejected_count > 0)
		orma_stats_add(&importer->system.stats, 0, ORMA_STAT_invalid_clock_snapshots, 0,
			       importer->index.clocks.rejected_count);
}
