/* SPDX-License-Identifier: Apache-2.0
 * stat_list.h - the names of all statistics: X(name, key, SINGLE or INDEXED, severity, source, GLOBAL or MACHINE, description).
 *
 * `key` is the number that Perfetto 58 gives the name; those from 10000 on are orma's own. Names of systems other than Linux are left out.
 */
#ifndef ORMA_TRACE_STAT_LIST_H
#define ORMA_TRACE_STAT_LIST_H

/* clang-format off */
#define ORMA_STAT_LIST(X) \
	X(deobfuscate_location_parse_error, 14, SINGLE, ERROR, ANALYSIS, GLOBAL, NULL) \
	X(energy_breakdown_missing_values, 15, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(energy_descriptor_invalid, 16, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(entity_state_descriptor_invalid, 17, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(entity_state_residency_invalid, 18, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(entity_state_residency_lookup_failed, 19, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(energy_uid_breakdown_missing_values, 20, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(ftrace_bundle_tokenizer_errors, 23, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(ftrace_cpu_bytes_begin, 24, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_bytes_end, 25, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_bytes_delta, 26, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_commit_overrun_begin, 27, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_commit_overrun_end, 28, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_commit_overrun_delta, 29, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_dropped_events_begin, 30, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_dropped_events_end, 31, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_dropped_events_delta, 32, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_entries_begin, 33, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_entries_end, 34, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_entries_delta, 35, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_now_ts_begin, 36, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_now_ts_end, 37, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_oldest_event_ts_begin, 38, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_oldest_event_ts_end, 39, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_overrun_begin, 40, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_overrun_end, 41, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_overrun_delta, 42, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_read_events_begin, 43, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_read_events_end, 44, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_read_events_delta, 45, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_cpu_has_data_loss, 46, INDEXED, DATA_LOSS, TRACE, MACHINE, "The kernel's buffer of this CPU was overwritten before it was read; a larger buffer or fewer events help.") \
	X(ftrace_kprobe_hits_begin, 47, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_kprobe_hits_end, 48, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_kprobe_hits_delta, 49, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_kprobe_misses_begin, 50, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_kprobe_misses_end, 51, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(ftrace_kprobe_misses_delta, 52, SINGLE, DATA_LOSS, TRACE, MACHINE, "Calls that the kernel's probes missed while the trace was recorded.") \
	X(ftrace_setup_errors, 53, SINGLE, NOTICE, TRACE, MACHINE, "Events or features that the recording asked for could not be enabled.") \
	X(ftrace_abi_errors_skipped_zero_data_length, 54, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(ftrace_generic_descriptor_errors, 55, SINGLE, ERROR, ANALYSIS, MACHINE, "Kernel events whose description in the trace is missing or does not fit.") \
	X(generic_task_state_invalid_order, 65, SINGLE, ERROR, ANALYSIS, MACHINE, "States of tasks of another kernel that cannot follow each other.") \
	X(guess_trace_type_duration_ns, 71, SINGLE, INFO, ANALYSIS, GLOBAL, NULL) \
	X(interned_data_tokenizer_errors, 76, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(invalid_clock_snapshots, 77, SINGLE, ERROR, ANALYSIS, GLOBAL, NULL) \
	X(invalid_cpu_times, 78, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(kernel_trackevent_format_error, 84, SINGLE, ERROR, ANALYSIS, MACHINE, "Kernel events that look like slices or counters but lack a field for it.") \
	X(concurrent_session_event_unknown_state, 87, SINGLE, ERROR, ANALYSIS, MACHINE, "Events of concurrent tracing sessions with a state that this version does not know.") \
	X(meminfo_unknown_keys, 88, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(cpu_info_unknown_cpu_features, 89, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(missing_disk_io_event_name, 90, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(cpu_info_empty, 91, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(mismatched_sched_switch_tids, 92, SINGLE, ERROR, ANALYSIS, MACHINE, "Task switches that do not fit to the one before, which lost events explain.") \
	X(mm_unknown_type, 93, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(parse_trace_duration_ns, 94, SINGLE, INFO, ANALYSIS, GLOBAL, NULL) \
	X(power_rail_empty_packet, 95, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(power_rail_unknown_index, 96, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(proc_stat_unknown_counters, 97, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(rss_stat_unknown_keys, 98, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(rss_stat_negative_size, 99, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(rss_stat_unknown_thread_for_mm_id, 100, SINGLE, INFO, ANALYSIS, MACHINE, "Memory counters of an address space whose process is not known.") \
	X(filter_input_bytes, 101, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(filter_input_packets, 102, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(filter_output_bytes, 103, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(filter_time_taken_ns, 104, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(filter_errors, 105, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(flow_duplicate_id, 106, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(flow_no_enclosing_slice, 107, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(flow_step_without_start, 108, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(flow_end_without_start, 109, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(flow_invalid_id, 110, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(flow_without_direction, 111, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_empty_callstack, 112, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_invalid_string_id, 113, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_invalid_mapping_id, 114, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_invalid_frame_id, 115, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_invalid_callstack_id, 116, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(stackprofile_parser_error, 117, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(smaps_parser_errors, 118, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(systemd_journal_num_failed, 119, SINGLE, ERROR, TRACE, MACHINE, "Entries of the journal that could not be read.") \
	X(systemd_journal_num_total, 120, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(systrace_parse_failure, 121, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(task_state_invalid, 122, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(traced_buf_abi_violations, 123, INDEXED, DATA_LOSS, TRACE, MACHINE, "Chunks of producers that broke the protocol of shared memory.") \
	X(traced_buf_buffer_size, 124, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_bytes_overwritten, 125, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_bytes_read, 126, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_bytes_filtered_out, 127, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_bytes_written, 128, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_clone_done_timestamp_ns, 129, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_discarded, 130, INDEXED, INFO, TRACE, MACHINE, "Chunks that a full buffer with the policy DISCARD refused.") \
	X(traced_buf_chunks_overwritten, 131, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_read, 132, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_relocated, 133, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_rewritten, 134, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_written, 135, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_chunks_committed_out_of_order, 136, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_padding_bytes_cleared, 137, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_padding_bytes_written, 138, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_patches_failed, 139, INDEXED, DATA_LOSS, TRACE, MACHINE, "Packets that could not be completed, since their beginning was overwritten.") \
	X(traced_buf_patches_succeeded, 140, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_readaheads_failed, 141, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_readaheads_succeeded, 142, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_buf_trace_writer_packet_loss, 143, INDEXED, DATA_LOSS, TRACE, MACHINE, "Packets that producers lost because shared memory was full.") \
	X(traced_buf_sequence_packet_loss, 144, INDEXED, DATA_LOSS, ANALYSIS, MACHINE, "Sequences of this buffer from which packets are missing.") \
	X(traced_buf_incremental_sequences_dropped, 145, INDEXED, DATA_LOSS, ANALYSIS, MACHINE, "Sequences of this buffer of which nothing could be read, as the packets they refer to are lost.") \
	X(traced_buf_data_loss_read_gap, 146, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_chunk_corrupted, 147, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_orphan_continuation, 148, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_reassembly_gap, 149, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_reassembly_broken_chain, 150, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_overwrite, 151, INDEXED, DATA_LOSS, TRACE, MACHINE, "Losses because the ring buffer was overwritten; a larger buffer helps.") \
	X(traced_buf_data_loss_writer_abort, 152, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(traced_buf_data_loss_smb_full, 153, INDEXED, DATA_LOSS, TRACE, MACHINE, "Losses because shared memory was full; more of it or fewer events help.") \
	X(traced_buf_write_wrap_count, 154, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(traced_clone_started_timestamp_ns, 155, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_clone_trigger_timestamp_ns, 156, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_chunks_discarded, 157, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_data_sources_registered, 158, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_data_sources_seen, 159, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_final_flush_failed, 160, SINGLE, DATA_LOSS, TRACE, MACHINE, "The flush at the end of the recording failed, so the newest data may be missing.") \
	X(traced_final_flush_succeeded, 161, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_flushes_failed, 162, SINGLE, DATA_LOSS, TRACE, MACHINE, "Flushes that producers did not answer in time.") \
	X(traced_flushes_requested, 163, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_flushes_succeeded, 164, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_patches_discarded, 165, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_producers_connected, 166, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_producers_seen, 167, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_total_buffers, 168, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(traced_tracing_sessions, 169, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(track_event_parser_errors, 170, SINGLE, INFO, ANALYSIS, MACHINE, "Track events or arguments that could not be read.") \
	X(track_event_dropped_packets_outside_of_range_of_interest, 171, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(track_event_tokenizer_errors, 172, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(track_hierarchy_missing_uuid, 173, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(track_event_thread_invalid_end, 174, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(tokenizer_skipped_packets, 175, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(vmstat_unknown_keys, 176, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(psi_unknown_resource, 177, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_failure, 179, SINGLE, ERROR, ANALYSIS, MACHINE, "Times that could not be converted to the clock of the trace.") \
	X(clock_sync_failure_unknown_source_clock, 180, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_failure_unknown_target_clock, 181, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_failure_no_path, 182, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_unrelatable_clock_domains, 183, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_mixed_clock_sources, 184, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(clock_sync_cache_miss, 185, SINGLE, INFO, ANALYSIS, GLOBAL, NULL) \
	X(process_tracker_errors, 186, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(process_tracker_parent_pid_changed, 187, SINGLE, INFO, ANALYSIS, MACHINE, "Processes that got another parent.") \
	X(namespaced_thread_missing_process, 188, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(json_tokenizer_failure, 189, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(json_parser_failure, 190, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(json_display_time_unit, 191, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(heap_graph_invalid_string_id, 192, INDEXED, ERROR, TRACE, GLOBAL, NULL) \
	X(heap_graph_malformed_packet, 193, INDEXED, ERROR, TRACE, GLOBAL, NULL) \
	X(heap_graph_missing_packet, 194, INDEXED, ERROR, TRACE, GLOBAL, NULL) \
	X(heapprofd_buffer_corrupted, 195, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_hit_guardrail, 196, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_buffer_overran, 197, INDEXED, DATA_LOSS, TRACE, MACHINE, "The profile of this process stopped early, since its buffer was full.") \
	X(heapprofd_client_error, 198, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_client_disconnected, 199, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(heapprofd_malformed_packet, 200, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_missing_packet, 201, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_rejected_concurrent, 202, INDEXED, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_non_finalized_profile, 203, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(heapprofd_sampling_interval_adjusted, 204, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(heapprofd_unwind_time_us, 205, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(heapprofd_unwind_samples, 206, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(heapprofd_client_spinlock_blocked, 207, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(heapprofd_last_profile_timestamp, 208, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(symbolization_tmp_build_id_not_found, 209, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(metatrace_overruns, 210, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(compact_sched_has_parse_errors, 216, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(misplaced_end_event, 217, SINGLE, DATA_LOSS, ANALYSIS, MACHINE, "Slices whose end does not fit to what encloses them; they were cut.") \
	X(truncated_sys_write_duration, 218, SINGLE, INFO, ANALYSIS, MACHINE, "Writes that are shown too short, as a marker that they wrote is a slice of its own.") \
	X(compact_sched_switch_skipped, 219, SINGLE, INFO, ANALYSIS, MACHINE, "The first switch of each CPU, which only says what ran next.") \
	X(compact_sched_waking_skipped, 220, SINGLE, INFO, ANALYSIS, MACHINE, "Wakings before the first switch of their CPU, so that who woke is not known.") \
	X(ninja_parse_errors, 222, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(perf_cpu_lost_records, 223, INDEXED, DATA_LOSS, TRACE, MACHINE, "Records that the kernel dropped on this CPU; a larger ring buffer helps.") \
	X(perf_process_shard_count, 224, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(perf_chosen_process_shard, 225, INDEXED, INFO, TRACE, MACHINE, NULL) \
	X(perf_guardrail_stop_ts, 226, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(perf_unknown_record_type, 227, INDEXED, INFO, ANALYSIS, MACHINE, NULL) \
	X(perf_record_skipped, 228, INDEXED, ERROR, ANALYSIS, MACHINE, NULL) \
	X(perf_samples_skipped, 229, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(perf_features_skipped, 230, INDEXED, INFO, ANALYSIS, MACHINE, NULL) \
	X(perf_samples_cpu_mode_unknown, 231, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(perf_samples_skipped_dataloss, 232, SINGLE, DATA_LOSS, TRACE, MACHINE, "Samples that the profiler dropped because it could not keep up.") \
	X(perf_dummy_mapping_used, 233, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(perf_unknown_aux_data, 241, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(ftrace_packet_before_tracing_start, 247, SINGLE, INFO, ANALYSIS, MACHINE, "Kernel events from before the recording began; they were dropped.") \
	X(sorter_push_event_out_of_order, 248, SINGLE, ERROR, TRACE, GLOBAL, NULL) \
	X(unknown_extension_fields, 249, SINGLE, ERROR, TRACE, MACHINE, "Fields of track events that no descriptor describes.") \
	X(ftrace_missing_event_id, 279, SINGLE, INFO, ANALYSIS, MACHINE, NULL) \
	X(config_write_into_file_no_flush, 285, SINGLE, ERROR, TRACE, MACHINE, "The recording streamed to a file without periodic flushes, so data may be out of order or missing.") \
	X(config_write_into_file_discard, 286, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(long_trace_mode_bytes_overwritten, 287, INDEXED, DATA_LOSS, TRACE, MACHINE, NULL) \
	X(trace_sorter_negative_timestamp_dropped, 304, SINGLE, ERROR, TRACE, GLOBAL, NULL) \
	X(slice_drop_overlapping_complete_event, 305, SINGLE, ERROR, ANALYSIS, MACHINE, "Slices with a duration that end after what encloses them; they were dropped.") \
	X(slice_spill_overlapping_complete_event, 306, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(perf_text_importer_sample_no_frames, 307, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(strace_parse_failure, 308, SINGLE, INFO, TRACE, MACHINE, NULL) \
	X(strace_unsupported_timestamp_format, 309, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(strace_missing_pid, 310, SINGLE, ERROR, TRACE, MACHINE, NULL) \
	X(slice_negative_duration, 312, SINGLE, ERROR, ANALYSIS, MACHINE, "Slices that end before they begin; they were dropped.") \
	X(slice_max_depth_exceeded, 313, SINGLE, ERROR, ANALYSIS, MACHINE, "Slices that are nested too deeply; they were dropped.") \
	X(track_descriptor_missing_uuid, 315, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_descriptor_thread_missing_pid_tid, 316, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_descriptor_process_missing_pid, 317, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_missing_sequence_id, 318, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_missing_timestamp, 319, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_invalid_timestamp, 320, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(streaming_profile_invalid_timestamp, 321, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(thread_descriptor_missing_sequence_id, 322, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(incremental_state_cleared_missing_sequence_id, 323, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(previous_packet_dropped_missing_sequence_id, 324, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(trace_packet_defaults_missing_sequence_id, 325, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(interned_data_missing_sequence_id, 326, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_track_hierarchy_loop, 327, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_track_hierarchy_too_deep, 328, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_descriptor_default_track_with_parent, 329, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_descriptor_conflicting_reservation, 330, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_range_of_interest_missing_start_us, 331, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_descriptor_invalid_child_ordering, 332, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_counter_missing_track_uuid, 333, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_counter_missing_value, 334, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_counter_invalid_track_uuid, 335, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_extra_counter_missing_track_uuids, 336, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_state_missing_track_uuid, 337, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_extra_counter_track_uuid_mismatch, 338, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_extra_counter_exceeds_max, 339, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(track_event_extra_counter_invalid_track, 340, SINGLE, ERROR, ANALYSIS, MACHINE, NULL) \
	X(thread_descriptor_skipped_incremental_state_invalid, 341, SINGLE, NOTICE, ANALYSIS, MACHINE, "Descriptions of threads between a loss of data and the next state that is whole.") \
	X(track_event_skipped_timestamp_delta_without_valid_state, 342, SINGLE, NOTICE, ANALYSIS, MACHINE, "Track events whose time is relative to an event that was lost.") \
	X(track_event_skipped_thread_time_delta_without_valid_state, 343, SINGLE, NOTICE, ANALYSIS, MACHINE, "Track events whose CPU time is relative to an event that was lost.") \
	X(track_event_skipped_thread_instruction_delta_without_valid_state, 344, SINGLE, NOTICE, ANALYSIS, MACHINE, "Track events whose count of instructions is relative to an event that was lost.") \
	X(packet_skipped_seq_needs_incremental_state_invalid, 345, SINGLE, NOTICE, ANALYSIS, MACHINE, "Packets that cannot be understood because names before them were lost, in a ring buffer mostly.") \
	X(interned_data_skipped_incremental_state_invalid, 346, SINGLE, NOTICE, ANALYSIS, MACHINE, "Names between a loss of data and the next state that is whole.") \
	X(heap_graph_non_finalized_graph, 347, SINGLE, DATA_LOSS, TRACE, GLOBAL, "Dumps of Java heaps whose last packets are missing; objects and references of them may be, too.") \
	X(compressed_packets_skipped, 10010, SINGLE, DATA_LOSS, ANALYSIS, MACHINE, "Compressed packets that are damaged, cannot be unpacked by this program, or would fill the disk. The name is orma's own.") \
	X(extra_parsing_descriptors_error, 350, SINGLE, ERROR, ANALYSIS, GLOBAL, NULL) \
	X(power_samples_dropped, 10011, SINGLE, DATA_LOSS, ANALYSIS, MACHINE, "Samples of power rails that were too many at one time. The name is orma's own.") \
	X(heapprofd_ended_abruptly, 10012, INDEXED, NOTICE, TRACE, MACHINE, "A profiled process with several threads was ended by a signal, _exit() or exec: what threads that began in the last tenth of a second have allocated may be missing. The name is orma's own.") \
	X(heapprofd_unseen_bytes, 10013, INDEXED, NOTICE, TRACE, MACHINE, "Bytes that the child of a fork has allocated before the profiler had a connection to it. The name is orma's own.") \
	X(heapprofd_reconnected, 10014, INDEXED, DATA_LOSS, TRACE, MACHINE, "The connection to a profiled process was lost and made again; what happened between is missing. The name is orma's own.") \
	X(ctf_events_discarded, 10000, SINGLE, DATA_LOSS, TRACE, MACHINE, "Events that LTTng or another tracer had no room for; larger or more buffers help.") \
	X(ctf_packets_lost, 10001, SINGLE, DATA_LOSS, TRACE, MACHINE, "Packets of streams that were overwritten or deleted before they were read.") \
	X(ctf_packets_damaged, 10002, SINGLE, ERROR, TRACE, MACHINE, "Packets of streams that could not be read, or not to their end.") \
	X(ctf_packets_cut, 10003, SINGLE, NOTICE, TRACE, MACHINE, "Packets that end before their size says, because the file was still being written.") \
	X(ctf_files_skipped, 10004, SINGLE, NOTICE, TRACE, MACHINE, "Files beside the metadata that are no streams of the trace.")
/* clang-format on */

#endif
