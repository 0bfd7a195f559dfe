/* SPDX-License-Identifier: Apache-2.0
 * empty_tables.c - tables of Perfetto's SQL for which traces of Linux have no data. They are made, without rows, when a
 * query uses them, so that queries which look into them, too, run unchanged.
 */
#include <errno.h>
#include <strings.h>

#include "answers/trace_database.h"
#include "base/buf.h"
#include "base/macros.h"

/* All have a column `id`, too. */
static const struct {
	const char *name, *columns;
} empty_tables[] = {
	{"__intrinsic_profiler_counter_set", "counter_set_id, counter_id"},
	{"__intrinsic_profiler_execution_context", "ucpu, cpu_mode"},
	{"__intrinsic_profiler_sample",
	 "ts, source, task_context_id, execution_context_id, callsite_id, "
	 "unwind_error, session_id, counter_set_id"},
	{"__intrinsic_profiler_task_context", "upid, utid, async_context_id"},
	{"__intrinsic_track_event_callstacks",
	 "slice_id, track_id, callsite_id, end_callsite_id, weight"},
	{"_trace_import_logs", "trace_id, ts, byte_offset, severity, name, arg_set_id"},
	{"actual_frame_timeline_slice",
	 "ts, dur, track_id, category, name, depth, parent_id, arg_set_id, "
	 "display_frame_token, upid, surface_frame_token, layer_name, "
	 "present_type, on_time_finish, gpu_composition, jank_type, "
	 "jank_severity_type, prediction_type, jank_tag, jank_tag_experimental, "
	 "jank_score, latched_unsignaled_count, "
	 "addressable_unsignaled_latch_count, latched_fence_state"},
	{"android_dumpstate", "section, service, line"},
	{"android_game_intervention_list",
	 "package_name, uid, current_mode, standard_mode_supported, "
	 "standard_mode_downscale, standard_mode_use_angle, standard_mode_fps, "
	 "perf_mode_supported, perf_mode_downscale, perf_mode_use_angle, "
	 "perf_mode_fps, battery_mode_supported, battery_mode_downscale, "
	 "battery_mode_use_angle, battery_mode_fps"},
	{"cpu_profile_stack_sample", "ts, callsite_id, utid, process_priority"},
	{"expected_frame_timeline_slice",
	 "ts, dur, track_id, category, name, depth, parent_id, arg_set_id, "
	 "display_frame_token, surface_frame_token, upid, layer_name"},
	{"frame_slice", "ts, dur, track_id, category, name, depth, parent_id, arg_set_id, "
			"layer_name, frame_number, queue_to_acquire_time, acquire_to_latch_time, "
			"latch_to_present_time"},
	{"gpu", "ugpu, gpu, name, vendor, model, architecture, uuid, pci_bdf, machine_id, "
		"arg_set_id"},
	{"gpu_counter_group", "group_id, track_id, name, description"},
	{"gpu_slice", "ts, dur, track_id, category, name, depth, parent_id, arg_set_id, "
		      "context_id, render_target, render_target_name, render_pass, "
		      "render_pass_name, command_buffer, command_buffer_name, frame_id, "
		      "submission_id, hw_queue_id, upid, render_subpasses, "
		      "render_stage_category"},
	{"heap_graph", "ts, upid, dump_reason, heap_size, truncated"},
	{"heap_graph_class",
	 "name, deobfuscated_name, location, superclass_id, classloader_id, kind"},
	{"heap_graph_object",
	 "upid, graph_sample_ts, self_size, native_size, reference_set_id, "
	 "reachable, heap_type, type_id, root_type, root_distance, object_data_id"},
	{"heap_graph_object_data",
	 "field_set_id, value_string, array_element_type, array_element_count, "
	 "array_data_id, array_data_hash"},
	{"heap_graph_primitive", "field_set_id, field_name, field_type, bool_value, byte_value, "
				 "char_value, short_value, int_value, long_value, float_value, "
				 "double_value"},
	{"heap_graph_reference",
	 "reference_set_id, owner_id, owned_id, field_name, field_type_name, "
	 "deobfuscated_field_name"},
	{"heap_graph_thread_callsite", "heap_graph_id, utid, callsite_id"},
	{"heap_profile", "ts, ts_end, dur, upid, heap_name"},
	{"heap_profile_allocation", "ts, upid, heap_name, callsite_id, count, size"},
	{"instruments_sample", "ts, utid, callsite_id, cpu"},
	{"memory_snapshot", "timestamp, track_id, detail_level"},
	{"memory_snapshot_edge", "source_node_id, target_node_id, importance"},
	{"memory_snapshot_node", "process_snapshot_id, parent_node_id, path, size, effective_size, "
				 "arg_set_id"},
	{"package_list", "package_name, uid, debuggable, profileable_from_shell, version_code"},
	{"perf_sample", "ts, utid, cpu, cpu_mode, callsite_id, unwind_error, perf_session_id"},
	{"perf_session", "perf_session_id, cmdline"},
	{"process_memory_mappings",
	 "upid, ts, path, aggregate_count, is_deleted, size_kb, rss_kb, "
	 "anonymous_kb, swap_kb, shared_clean_kb, shared_dirty_kb, "
	 "private_clean_kb, private_dirty_kb, locked_kb, pss_kb, pss_dirty_kb, "
	 "swap_pss_kb"},
	{"process_memory_snapshot", "snapshot_id, upid"},
	{"profiler_smaps", "upid, ts, path, path_trimmed, aggregate_count, is_deleted, size_kb, "
			   "private_dirty_kb, swap_kb, file_name, start_address, module_timestamp, "
			   "module_debugid, module_debug_path, protection_flags, "
			   "private_clean_resident_kb, shared_dirty_resident_kb, "
			   "shared_clean_resident_kb, locked_kb, proportional_resident_kb, rss_kb, "
			   "anonymous_kb, pss_dirty_kb, swap_pss_kb"},
	{"protolog", "ts, level, tag, message, stacktrace, location"},
	{"stack_profile_callsite", "depth, parent_id, frame_id"},
	{"stack_profile_frame", "name, mapping, rel_pc, symbol_set_id, deobfuscated_name, type"},
	{"stack_profile_mapping",
	 "build_id, exact_offset, start_offset, start, end, load_bias, name"},
	{"stack_profile_symbol", "symbol_set_id, name, source_file, line_number, inlined"},
	{"stack_sample", "ts, source, task_context_id, execution_context_id, callsite_id, "
			 "session_id"},
	{"stack_sample_async_context", "name, kind, parent_id"},
	{"stack_sample_counter", "stack_sample_id, track_id, value"},
	{"stack_sample_counter_track",
	 "name, type, parent_id, source_arg_set_id, machine_id, unit, description, "
	 "session_id, cpu, is_timebase"},
	{"stack_sample_execution_context", "ucpu, cpu_mode"},
	{"stack_sample_session", "source, timebase_unit, cmdline"},
	{"stack_sample_task_context", "upid, utid, async_context_id"},
	{"surfaceflinger_layer", "snapshot_id, arg_set_id, base64_proto_id, layer_id, layer_name, "
				 "is_visible, parent, corner_radius_tl, corner_radius_tr, "
				 "corner_radius_bl, corner_radius_br, hwc_composition_type, "
				 "is_hidden_by_policy, z_order_relative_of, is_missing_z_parent, "
				 "layer_rect_id, input_rect_id"},
	{"surfaceflinger_layers_snapshot",
	 "ts, arg_set_id, base64_proto_id, sequence_id, has_invalid_elapsed_ts"},
	{"surfaceflinger_transactions", "ts, arg_set_id, base64_proto_id, vsync_id"},
	{"trace_metrics", "name"},
	{"vulkan_memory_allocations",
	 "arg_set_id, source, operation, timestamp, upid, device, device_memory, "
	 "memory_type, heap, function_name, object_handle, memory_address, "
	 "memory_size, scope"},
	{"window_manager_shell_transition_handlers", "handler_id, handler_name, base64_proto_id"},
	{"window_manager_shell_transitions",
	 "ts, transition_id, arg_set_id, transition_type, send_time_ns, "
	 "dispatch_time_ns, duration_ns, finish_time_ns, shell_abort_time_ns, "
	 "wm_abort_time_ns, merge_time_ns, create_time_ns, handler, status, flags, "
	 "start_transaction_id, finish_transaction_id"},
};

int orma_empty_table_define(void *ctx, struct orma_sql *sql, const char *name,
			    struct orma_error *reterr)
{
	(void)ctx;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(empty_tables); i++) {
		if (strcasecmp(name, empty_tables[i].name) != 0)
			continue;
		ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
		int r = orma_base_buf_printf(&text, "create table %s(id, %s)", empty_tables[i].name,
					     empty_tables[i].columns);
		if (r == 0)
			r = orma_sql_execute(
				sql, (struct orma_str){(const char *)text.data, text.size}, reterr);
		return r < 0 ? r : 1;
	}
	return 0;
}
