/* SPDX-License-Identifier: Apache-2.0
 * empty_tables.c - tables of Perfetto's SQL that are made when a query first uses them.
 *
 * Some are views that few queries need. Others stay empty, because a trace of Linux has no data for them; they exist so that
 * a query that also reads them runs unchanged.
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
	{"actual_frame_timeline_slice",
	 "ts, dur, track_id, category, name, depth, parent_id, arg_set_id, "
	 "display_frame_token, upid, surface_frame_token, layer_name, "
	 "present_type, on_time_finish, gpu_composition, jank_type, "
	 "jank_severity_type, prediction_type, jank_tag, jank_tag_experimental, "
	 "jank_score, latched_unsignaled_count, "
	 "addressable_unsignaled_latch_count, latched_fence_state"},
	{"__intrinsic_elf_file", "file_id, load_bias, build_id"},
	{"__intrinsic_file", "name, size"},
	{"android_dumpstate", "section, service, line"},
	{"android_game_intervention_list",
	 "package_name, uid, current_mode, standard_mode_supported, "
	 "standard_mode_downscale, standard_mode_use_angle, standard_mode_fps, "
	 "perf_mode_supported, perf_mode_downscale, perf_mode_use_angle, "
	 "perf_mode_fps, battery_mode_supported, battery_mode_downscale, "
	 "battery_mode_use_angle, battery_mode_fps"},
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
	{"instruments_sample", "ts, utid, callsite_id, cpu"},
	{"memory_snapshot", "timestamp, track_id, detail_level"},
	{"memory_snapshot_edge", "source_node_id, target_node_id, importance"},
	{"memory_snapshot_node", "process_snapshot_id, parent_node_id, path, size, effective_size, "
				 "arg_set_id"},
	{"process_memory_mappings",
	 "upid, ts, path, aggregate_count, is_deleted, size_kb, rss_kb, "
	 "anonymous_kb, swap_kb, shared_clean_kb, shared_dirty_kb, "
	 "private_clean_kb, private_dirty_kb, locked_kb, pss_kb, pss_dirty_kb, "
	 "swap_pss_kb"},
	{"process_memory_snapshot", "snapshot_id, upid"},
	{"protolog", "ts, level, tag, message, stacktrace, location"},
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

/* Views that few queries use, and the module that has them. */
static const struct {
	const char *name, *module;
} views[] = {
	{"__intrinsic_aggregate_profile", "stack_samples"},
	{"__intrinsic_aggregate_sample", "stack_samples"},
	{"cpu_profile_stack_sample", "stack_samples"},
	{"perf_sample", "stack_samples"},
	{"perf_session", "stack_samples"},
	{"stack_profile_callsite", "stack_samples"},
	{"stack_profile_frame", "stack_samples"},
	{"stack_profile_mapping", "stack_samples"},
	{"stack_profile_symbol", "stack_samples"},
	{"stack_sample", "stack_samples"},
	{"stack_sample_async_context", "stack_samples"},
	{"stack_sample_counter", "stack_samples"},
	{"stack_sample_counter_track", "stack_samples"},
	{"stack_sample_execution_context", "stack_samples"},
	{"stack_sample_session", "stack_samples"},
	{"stack_sample_task_context", "stack_samples"},
	{"heap_graph", "memory"},
	{"heap_graph_class", "memory"},
	{"heap_graph_object", "memory"},
	{"heap_graph_object_data", "memory"},
	{"heap_graph_primitive", "memory"},
	{"heap_graph_reference", "memory"},
	{"heap_graph_thread_callsite", "memory"},
	{"heap_profile", "memory"},
	{"heap_profile_allocation", "memory"},
	{"package_list", "memory"},
	{"profiler_smaps", "memory"},
};

int orma_empty_tables_protect(struct orma_sql *sql)
{
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(views) && r == 0; i++)
		r = orma_sql_protect(sql, views[i].name);
	return r;
}

/* Makes the view of this name. 1, 0 (there is none), or a negative errno value. */
static int define_view(struct orma_sql *sql, const char *name, struct orma_error *reterr)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(views); i++) {
		if (strcasecmp(name, views[i].name) != 0)
			continue;
		ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
		int r = orma_base_buf_printf(&text, "include perfetto module prelude.after_eof.%s",
					     views[i].module);
		if (r == 0)
			r = orma_sql_execute(
				sql, (struct orma_str){(const char *)text.data, text.size}, reterr);
		return r < 0 ? r : 1;
	}
	return 0;
}

const char *orma_empty_table_name(size_t idx)
{
	size_t views_begin = ORMA_ARRAY_SIZE(empty_tables);
	if (idx < views_begin)
		return empty_tables[idx].name;
	return idx < views_begin + ORMA_ARRAY_SIZE(views) ? views[idx - views_begin].name : NULL;
}

int orma_empty_table_define(void *ctx, struct orma_sql *sql, const char *name,
			    struct orma_error *reterr)
{
	(void)ctx;
	int found = define_view(sql, name, reterr);
	if (found != 0)
		return found;
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
