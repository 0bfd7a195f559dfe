/* SPDX-License-Identifier: Apache-2.0
 * tables.c - the columns of each table.
 *
 * A table costs what its packed columns need, and a column that a trace does not use costs nothing: blocks of equal cells
 * have no data. So there is one table for all kinds of tracks, counters and slices, as in the SQL that people know.
 */
#include "trace/tables.h"

#include <errno.h>

#include "base/macros.h"
#include "store/group_sums.h"

/* Short names, so that each column is one line. */
#define INT     ORMA_COLUMN_INT
#define STRING  ORMA_COLUMN_STRING
#define DOUBLE  ORMA_COLUMN_DOUBLE
#define SORTED  ORMA_COLUMN_SORTED
#define CHANGES ORMA_COLUMN_CHANGES
#define RANDOM  ORMA_COLUMN_RANDOM
#define HIDDEN  ORMA_COLUMN_HIDDEN
#define SPARSE  ORMA_COLUMN_SPARSE

static const struct orma_column_spec machine_columns[] = {
	[ORMA_MACHINE_RAW_ID] = {"raw_id", INT, RANDOM},
	[ORMA_MACHINE_NAME] = {"name", STRING, RANDOM},
	[ORMA_MACHINE_SYSNAME] = {"sysname", STRING, RANDOM},
	[ORMA_MACHINE_RELEASE] = {"release", STRING, RANDOM},
	[ORMA_MACHINE_VERSION] = {"version", STRING, RANDOM},
	[ORMA_MACHINE_ARCH] = {"arch", STRING, RANDOM},
	[ORMA_MACHINE_NUM_CPUS] = {"num_cpus", INT, RANDOM},
	[ORMA_MACHINE_ANDROID_BUILD_FINGERPRINT] = {"android_build_fingerprint", STRING, RANDOM},
	[ORMA_MACHINE_ANDROID_DEVICE_MANUFACTURER] = {"android_device_manufacturer", STRING,
						      RANDOM},
	[ORMA_MACHINE_ANDROID_SDK_VERSION] = {"android_sdk_version", INT, RANDOM},
	[ORMA_MACHINE_SYSTEM_RAM_BYTES] = {"system_ram_bytes", INT, RANDOM},
	[ORMA_MACHINE_SYSTEM_RAM_GB] = {"system_ram_gb", INT, RANDOM},
};
static const struct orma_column_spec process_columns[] = {
	[ORMA_PROCESS_PID] = {"pid", INT, RANDOM},
	[ORMA_PROCESS_NAME] = {"name", STRING, RANDOM},
	[ORMA_PROCESS_START_TS] = {"start_ts", INT, RANDOM},
	[ORMA_PROCESS_END_TS] = {"end_ts", INT, RANDOM},
	[ORMA_PROCESS_PARENT_UPID] = {"parent_upid", INT, RANDOM},
	[ORMA_PROCESS_UID] = {"uid", INT, RANDOM},
	[ORMA_PROCESS_ANDROID_APPID] = {"android_appid", INT, RANDOM},
	[ORMA_PROCESS_ANDROID_USER_ID] = {"android_user_id", INT, RANDOM},
	[ORMA_PROCESS_CMDLINE] = {"cmdline", STRING, RANDOM},
	[ORMA_PROCESS_ARG_SET_ID] = {"arg_set_id", INT, RANDOM},
	[ORMA_PROCESS_MACHINE_ID] = {"machine_id", INT, RANDOM},
};
static const struct orma_column_spec thread_columns[] = {
	[ORMA_THREAD_TID] = {"tid", INT, RANDOM},
	[ORMA_THREAD_NAME] = {"name", STRING, RANDOM},
	[ORMA_THREAD_START_TS] = {"start_ts", INT, RANDOM},
	[ORMA_THREAD_END_TS] = {"end_ts", INT, RANDOM},
	[ORMA_THREAD_UPID] = {"upid", INT, RANDOM},
	[ORMA_THREAD_IS_MAIN_THREAD] = {"is_main_thread", INT, RANDOM},
	[ORMA_THREAD_IS_IDLE] = {"is_idle", INT, RANDOM},
	[ORMA_THREAD_MACHINE_ID] = {"machine_id", INT, RANDOM},
	[ORMA_THREAD_ARG_SET_ID] = {"arg_set_id", INT, RANDOM},
};
static const struct orma_column_spec cpu_columns[] = {
	[ORMA_CPU_CPU] = {"cpu", INT, RANDOM},
	[ORMA_CPU_CLUSTER_ID] = {"cluster_id", INT, RANDOM},
	[ORMA_CPU_PROCESSOR] = {"processor", STRING, RANDOM},
	[ORMA_CPU_MACHINE_ID] = {"machine_id", INT, RANDOM},
	[ORMA_CPU_CAPACITY] = {"capacity", INT, RANDOM},
	[ORMA_CPU_ARG_SET_ID] = {"arg_set_id", INT, RANDOM},
};
static const struct orma_column_spec cpu_freq_columns[] = {
	[ORMA_CPU_FREQ_UCPU] = {"ucpu", INT, 0},
	[ORMA_CPU_FREQ_FREQ] = {"freq", INT, 0},
};
static const struct orma_column_spec track_columns[] = {
	[ORMA_TRACK_NAME] = {"name", STRING, RANDOM},
	[ORMA_TRACK_TYPE] = {"type", STRING, RANDOM},
	[ORMA_TRACK_DIMENSION_ARG_SET_ID] = {"dimension_arg_set_id", INT, RANDOM},
	[ORMA_TRACK_PARENT_ID] = {"parent_id", INT, RANDOM},
	[ORMA_TRACK_SOURCE_ARG_SET_ID] = {"source_arg_set_id", INT, RANDOM},
	[ORMA_TRACK_MACHINE_ID] = {"machine_id", INT, RANDOM},
	[ORMA_TRACK_TRACK_GROUP_ID] = {"track_group_id", INT, RANDOM},
	[ORMA_TRACK_EVENT_TYPE] = {"event_type", STRING, RANDOM | HIDDEN},
	[ORMA_TRACK_COUNTER_UNIT] = {"counter_unit", STRING, RANDOM | HIDDEN},
	[ORMA_TRACK_UTID] = {"utid", INT, RANDOM | HIDDEN},
	[ORMA_TRACK_UPID] = {"upid", INT, RANDOM | HIDDEN},
};
static const struct orma_column_spec slice_columns[] = {
	[ORMA_SLICE_TS] = {"ts", INT, SORTED},
	[ORMA_SLICE_DUR] = {"dur", INT, CHANGES},
	[ORMA_SLICE_TRACK_ID] = {"track_id", INT, 0},
	[ORMA_SLICE_CATEGORY] = {"category", STRING, 0},
	[ORMA_SLICE_NAME] = {"name", STRING, CHANGES},
	[ORMA_SLICE_DEPTH] = {"depth", INT, 0},
	[ORMA_SLICE_PARENT_ID] = {"parent_id", INT, 0},
	[ORMA_SLICE_ARG_SET_ID] = {"arg_set_id", INT, CHANGES | SPARSE},
	[ORMA_SLICE_THREAD_TS] = {"thread_ts", INT, SPARSE},
	[ORMA_SLICE_THREAD_DUR] = {"thread_dur", INT, CHANGES | SPARSE},
	[ORMA_SLICE_THREAD_INSTRUCTION_COUNT] = {"thread_instruction_count", INT, SPARSE},
	[ORMA_SLICE_THREAD_INSTRUCTION_DELTA] = {"thread_instruction_delta", INT, CHANGES | SPARSE},
	[ORMA_SLICE_BEGIN_PACKET] = {"begin_packet", INT, HIDDEN | SPARSE},
	[ORMA_SLICE_END_PACKET] = {"end_packet", INT, CHANGES | HIDDEN | SPARSE},
	[ORMA_SLICE_PASSED_UTID] = {"passed_utid", INT, CHANGES | HIDDEN | SPARSE},
	[ORMA_SLICE_ARG_SHAPE] = {"arg_shape", INT, HIDDEN | SPARSE},
	[ORMA_SLICE_ARG_VALUE] = {"arg_value_0", INT, HIDDEN | SPARSE},
	[ORMA_SLICE_ARG_VALUE + 1] = {"arg_value_1", INT, HIDDEN | SPARSE},
	[ORMA_SLICE_ARG_VALUE + 2] = {"arg_value_2", INT, HIDDEN | SPARSE},
	[ORMA_SLICE_ARG_VALUES_END] = {"arg_value_3", INT, HIDDEN | SPARSE},
};
static const struct orma_column_spec counter_columns[] = {
	[ORMA_COUNTER_TS] = {"ts", INT, SORTED},
	[ORMA_COUNTER_TRACK_ID] = {"track_id", INT, CHANGES},
	[ORMA_COUNTER_VALUE] = {"value", DOUBLE, 0},
	[ORMA_COUNTER_ARG_SET_ID] = {"arg_set_id", INT, SPARSE},
};
static const struct orma_column_spec state_columns[] = {
	[ORMA_STATE_TS] = {"ts", INT, SORTED},
	[ORMA_STATE_DUR] = {"dur", INT, CHANGES},
	[ORMA_STATE_TRACK_ID] = {"track_id", INT, 0},
	[ORMA_STATE_CATEGORY] = {"category", STRING, 0},
	[ORMA_STATE_VALUE] = {"value", STRING, 0},
	[ORMA_STATE_ARG_SET_ID] = {"arg_set_id", INT, CHANGES | SPARSE},
};
static const struct orma_column_spec flow_columns[] = {
	[ORMA_FLOW_SLICE_OUT] = {"slice_out", INT, 0},
	[ORMA_FLOW_SLICE_IN] = {"slice_in", INT, 0},
	[ORMA_FLOW_TRACE_ID] = {"trace_id", INT, 0},
	[ORMA_FLOW_ARG_SET_ID] = {"arg_set_id", INT, 0},
};
static const struct orma_column_spec args_columns[] = {
	[ORMA_ARGS_ARG_SET_ID] = {"arg_set_id", INT, 0},
	[ORMA_ARGS_FLAT_KEY] = {"flat_key", STRING, 0},
	[ORMA_ARGS_KEY] = {"key", STRING, 0},
	[ORMA_ARGS_INT_VALUE] = {"int_value", INT, 0},
	[ORMA_ARGS_STRING_VALUE] = {"string_value", STRING, 0},
	[ORMA_ARGS_REAL_VALUE] = {"real_value", DOUBLE, 0},
	[ORMA_ARGS_VALUE_TYPE] = {"value_type", STRING, 0},
};
static const struct orma_column_spec arg_shape_columns[] = {
	[ORMA_ARG_SHAPE_SHAPE] = {"shape", INT, SORTED},
	[ORMA_ARG_SHAPE_KEY] = {"key", STRING, 0},
	[ORMA_ARG_SHAPE_TYPE] = {"type", INT, 0},
};
static const struct orma_column_spec sched_columns[] = {
	[ORMA_SCHED_TS] = {"ts", INT, SORTED},
	[ORMA_SCHED_DUR] = {"dur", INT, CHANGES},
	[ORMA_SCHED_UTID] = {"utid", INT, 0},
	[ORMA_SCHED_END_STATE] = {"end_state", STRING, CHANGES},
	[ORMA_SCHED_PRIORITY] = {"priority", INT, 0},
	[ORMA_SCHED_UCPU] = {"ucpu", INT, 0},
};
static const struct orma_column_spec thread_state_columns[] = {
	[ORMA_THREAD_STATE_TS] = {"ts", INT, SORTED},
	[ORMA_THREAD_STATE_DUR] = {"dur", INT, CHANGES},
	[ORMA_THREAD_STATE_UTID] = {"utid", INT, 0},
	[ORMA_THREAD_STATE_STATE] = {"state", STRING, 0},
	[ORMA_THREAD_STATE_IO_WAIT] = {"io_wait", INT, CHANGES | SPARSE},
	[ORMA_THREAD_STATE_BLOCKED_FUNCTION] = {"blocked_function", STRING, CHANGES | SPARSE},
	[ORMA_THREAD_STATE_WAKER_UTID] = {"waker_utid", INT, SPARSE},
	[ORMA_THREAD_STATE_WAKER_ID] = {"waker_id", INT, SPARSE},
	[ORMA_THREAD_STATE_IRQ_CONTEXT] = {"irq_context", INT, SPARSE},
	[ORMA_THREAD_STATE_UCPU] = {"ucpu", INT, 0},
};
static const struct orma_column_spec spurious_wakeup_columns[] = {
	[ORMA_SPURIOUS_WAKEUP_TS] = {"ts", INT, SORTED},
	[ORMA_SPURIOUS_WAKEUP_THREAD_STATE_ID] = {"thread_state_id", INT, 0},
	[ORMA_SPURIOUS_WAKEUP_IRQ_CONTEXT] = {"irq_context", INT, 0},
	[ORMA_SPURIOUS_WAKEUP_UTID] = {"utid", INT, 0},
	[ORMA_SPURIOUS_WAKEUP_WAKER_UTID] = {"waker_utid", INT, 0},
};
static const struct orma_column_spec ftrace_event_columns[] = {
	[ORMA_FTRACE_EVENT_TS] = {"ts", INT, SORTED},
	[ORMA_FTRACE_EVENT_NAME] = {"name", STRING, 0},
	[ORMA_FTRACE_EVENT_UTID] = {"utid", INT, 0},
	[ORMA_FTRACE_EVENT_ARG_SET_ID] = {"arg_set_id", INT, SPARSE},
	[ORMA_FTRACE_EVENT_COMMON_FLAGS] = {"common_flags", INT, SPARSE},
	[ORMA_FTRACE_EVENT_UCPU] = {"ucpu", INT, 0},
	/* Rows of compact events have none: their times say where they are. */
	[ORMA_FTRACE_EVENT_PACKET] = {"packet", INT, HIDDEN | SPARSE},
	[ORMA_FTRACE_EVENT_OFFSET] = {"offset", INT, HIDDEN | SPARSE},
};
static const struct orma_column_spec clock_snapshot_columns[] = {
	[ORMA_CLOCK_SNAPSHOT_TS] = {"ts", INT, 0},
	[ORMA_CLOCK_SNAPSHOT_CLOCK_ID] = {"clock_id", INT, 0},
	[ORMA_CLOCK_SNAPSHOT_CLOCK_NAME] = {"clock_name", STRING, 0},
	[ORMA_CLOCK_SNAPSHOT_CLOCK_VALUE] = {"clock_value", INT, 0},
	[ORMA_CLOCK_SNAPSHOT_SNAPSHOT_ID] = {"snapshot_id", INT, 0},
	[ORMA_CLOCK_SNAPSHOT_MACHINE_ID] = {"machine_id", INT, 0},
};
static const struct orma_column_spec stats_columns[] = {
	[ORMA_STATS_NAME] = {"name", STRING, 0},
	[ORMA_STATS_KEY] = {"key", INT, 0},
	[ORMA_STATS_IDX] = {"idx", INT, 0},
	[ORMA_STATS_SEVERITY] = {"severity", STRING, 0},
	[ORMA_STATS_SOURCE] = {"source", STRING, 0},
	[ORMA_STATS_VALUE] = {"value", INT, 0},
	[ORMA_STATS_DESCRIPTION] = {"description", STRING, 0},
	[ORMA_STATS_MACHINE_ID] = {"machine_id", INT, 0},
	[ORMA_STATS_TRACE_ID] = {"trace_id", INT, 0},
};
static const struct orma_column_spec metadata_columns[] = {
	[ORMA_METADATA_NAME] = {"name", STRING, 0},
	[ORMA_METADATA_KEY_TYPE] = {"key_type", STRING, 0},
	[ORMA_METADATA_INT_VALUE] = {"int_value", INT, 0},
	[ORMA_METADATA_STR_VALUE] = {"str_value", STRING, 0},
	[ORMA_METADATA_MACHINE_ID] = {"machine_id", INT, 0},
	[ORMA_METADATA_TRACE_ID] = {"trace_id", INT, 0},
};
static const struct orma_column_spec trace_file_columns[] = {
	[ORMA_TRACE_FILE_PARENT_ID] = {"parent_id", INT, 0},
	[ORMA_TRACE_FILE_NAME] = {"name", STRING, 0},
	[ORMA_TRACE_FILE_SIZE] = {"size", INT, 0},
	[ORMA_TRACE_FILE_TRACE_TYPE] = {"trace_type", STRING, 0},
	[ORMA_TRACE_FILE_PROCESSING_ORDER] = {"processing_order", INT, 0},
	[ORMA_TRACE_FILE_IS_CONTAINER] = {"is_container", INT, 0},
};
static const struct orma_column_spec proto_path_columns[] = {
	[ORMA_PROTO_PATH_PARENT_ID] = {"parent_id", INT, 0},
	[ORMA_PROTO_PATH_FIELD_TYPE] = {"field_type", STRING, 0},
	[ORMA_PROTO_PATH_FIELD_NAME] = {"field_name", STRING, 0},
	[ORMA_PROTO_PATH_ARG_SET_ID] = {"arg_set_id", INT, 0},
};
static const struct orma_column_spec proto_content_columns[] = {
	[ORMA_PROTO_CONTENT_PATH] = {"path", STRING, 0},
	[ORMA_PROTO_CONTENT_PATH_ID] = {"path_id", INT, 0},
	[ORMA_PROTO_CONTENT_TOTAL_SIZE] = {"total_size", INT, 0},
	[ORMA_PROTO_CONTENT_SIZE] = {"size", INT, 0},
	[ORMA_PROTO_CONTENT_COUNT] = {"count", INT, 0},
};
static const struct orma_column_spec diagnostic_columns[] = {
	[ORMA_DIAGNOSTIC_KEY] = {"key", STRING, 0},
	[ORMA_DIAGNOSTIC_TITLE] = {"title", STRING, 0},
	[ORMA_DIAGNOSTIC_DESCRIPTION] = {"description", STRING, 0},
	[ORMA_DIAGNOSTIC_REMEDIATION] = {"remediation", STRING, 0},
	[ORMA_DIAGNOSTIC_CONFIDENCE] = {"confidence", DOUBLE, 0},
	[ORMA_DIAGNOSTIC_TRACE_ID] = {"trace_id", INT, 0},
};
static const struct orma_column_spec import_log_columns[] = {
	[ORMA_IMPORT_LOG_TRACE_ID] = {"trace_id", INT, 0},
	[ORMA_IMPORT_LOG_TS] = {"ts", INT, 0},
	[ORMA_IMPORT_LOG_BYTE_OFFSET] = {"byte_offset", INT, 0},
	[ORMA_IMPORT_LOG_SEVERITY] = {"severity", STRING, 0},
	[ORMA_IMPORT_LOG_NAME] = {"name", STRING, 0},
	[ORMA_IMPORT_LOG_ARG_SET_ID] = {"arg_set_id", INT, 0},
};
static const struct orma_column_spec log_columns[] = {
	[ORMA_LOG_TS] = {"ts", INT, SORTED},
	[ORMA_LOG_UTID] = {"utid", INT, 0},
	[ORMA_LOG_PRIO] = {"prio", INT, 0},
	[ORMA_LOG_LOG_SOURCE] = {"log_source", STRING, 0},
	[ORMA_LOG_TAG] = {"tag", STRING, 0},
	[ORMA_LOG_MSG] = {"msg", STRING, 0},
	[ORMA_LOG_ARG_SET_ID] = {"arg_set_id", INT, 0},
};
static const struct orma_column_spec filedescriptor_columns[] = {
	[ORMA_FILEDESCRIPTOR_UFD] = {"ufd", INT, 0},
	[ORMA_FILEDESCRIPTOR_FD] = {"fd", INT, 0},
	[ORMA_FILEDESCRIPTOR_TS] = {"ts", INT, 0},
	[ORMA_FILEDESCRIPTOR_UPID] = {"upid", INT, 0},
	[ORMA_FILEDESCRIPTOR_PATH] = {"path", STRING, 0},
};
static const struct orma_column_spec interrupt_columns[] = {
	[ORMA_INTERRUPT_IRQ_ID] = {"irq_id", INT, 0},
	[ORMA_INTERRUPT_NAME] = {"name", STRING, 0},
	[ORMA_INTERRUPT_MACHINE_ID] = {"machine_id", INT, 0},
};

#define TABLE(id, sql_name, columns)                                                               \
	[id] = {sql_name, columns, sizeof(columns) / sizeof(*(columns))}
static const struct {
	const char *name;
	const struct orma_column_spec *specs;
	size_t column_count;
} definitions[ORMA_TABLES] = {
	TABLE(ORMA_TABLE_MACHINE, "__intrinsic_machine", machine_columns),
	TABLE(ORMA_TABLE_PROCESS, "__intrinsic_process", process_columns),
	TABLE(ORMA_TABLE_THREAD, "__intrinsic_thread", thread_columns),
	TABLE(ORMA_TABLE_CPU, "__intrinsic_cpu", cpu_columns),
	TABLE(ORMA_TABLE_CPU_FREQ, "__intrinsic_cpu_freq", cpu_freq_columns),
	TABLE(ORMA_TABLE_TRACK, "__intrinsic_track", track_columns),
	TABLE(ORMA_TABLE_SLICE, "__intrinsic_slice", slice_columns),
	TABLE(ORMA_TABLE_COUNTER, "__intrinsic_counter", counter_columns),
	TABLE(ORMA_TABLE_STATE, "__intrinsic_state", state_columns),
	TABLE(ORMA_TABLE_FLOW, "__intrinsic_flow", flow_columns),
	TABLE(ORMA_TABLE_ARGS, "__intrinsic_args", args_columns),
	TABLE(ORMA_TABLE_ARG_SHAPE, "__intrinsic_arg_shape", arg_shape_columns),
	TABLE(ORMA_TABLE_SCHED, "__intrinsic_sched_slice", sched_columns),
	TABLE(ORMA_TABLE_THREAD_STATE, "__intrinsic_thread_state", thread_state_columns),
	TABLE(ORMA_TABLE_SPURIOUS_WAKEUP, "__intrinsic_spurious_sched_wakeup",
	      spurious_wakeup_columns),
	TABLE(ORMA_TABLE_FTRACE_EVENT, "__intrinsic_ftrace_event", ftrace_event_columns),
	TABLE(ORMA_TABLE_CLOCK_SNAPSHOT, "__intrinsic_clock_snapshot", clock_snapshot_columns),
	TABLE(ORMA_TABLE_STATS, "__intrinsic_stats", stats_columns),
	TABLE(ORMA_TABLE_METADATA, "__intrinsic_metadata", metadata_columns),
	TABLE(ORMA_TABLE_TRACE_FILE, "__intrinsic_trace_file", trace_file_columns),
	TABLE(ORMA_TABLE_PROTO_PATH, "experimental_proto_path", proto_path_columns),
	TABLE(ORMA_TABLE_PROTO_CONTENT, "experimental_proto_content", proto_content_columns),
	TABLE(ORMA_TABLE_LOG, "__intrinsic_logs", log_columns),
	TABLE(ORMA_TABLE_FILEDESCRIPTOR, "__intrinsic_filedescriptor", filedescriptor_columns),
	TABLE(ORMA_TABLE_INTERRUPT, "_linux_interrupt_mapping", interrupt_columns),
	TABLE(ORMA_TABLE_DIAGNOSTIC, "__intrinsic_trace_diagnostics", diagnostic_columns),
	TABLE(ORMA_TABLE_IMPORT_LOG, "__intrinsic_trace_import_logs", import_log_columns),
	TABLE(ORMA_TABLE_STACK_MAPPING, "__intrinsic_stack_profile_mapping",
	      orma_stack_mapping_columns),
	TABLE(ORMA_TABLE_STACK_FRAME, "__intrinsic_stack_profile_frame", orma_stack_frame_columns),
	TABLE(ORMA_TABLE_STACK_CALLSITE, "__intrinsic_stack_profile_callsite",
	      orma_stack_callsite_columns),
	TABLE(ORMA_TABLE_STACK_SYMBOL, "__intrinsic_stack_profile_symbol",
	      orma_stack_symbol_columns),
	TABLE(ORMA_TABLE_PROFILER_SESSION, "__intrinsic_profiler_session",
	      orma_profiler_session_columns),
	TABLE(ORMA_TABLE_PROFILER_ASYNC_CONTEXT, "__intrinsic_profiler_async_context",
	      orma_profiler_async_context_columns),
	TABLE(ORMA_TABLE_PROFILER_TASK_CONTEXT, "__intrinsic_profiler_task_context",
	      orma_profiler_task_context_columns),
	TABLE(ORMA_TABLE_PROFILER_EXECUTION_CONTEXT, "__intrinsic_profiler_execution_context",
	      orma_profiler_execution_context_columns),
	TABLE(ORMA_TABLE_PROFILER_COUNTER_SET, "__intrinsic_profiler_counter_set",
	      orma_profiler_counter_set_columns),
	TABLE(ORMA_TABLE_PROFILER_SAMPLE, "__intrinsic_profiler_sample",
	      orma_profiler_sample_columns),
	TABLE(ORMA_TABLE_HEAP_PROFILE, "__intrinsic_heap_profile", orma_heap_profile_columns),
	TABLE(ORMA_TABLE_HEAP_ALLOCATION, "__intrinsic_heap_profile_allocation",
	      orma_heap_allocation_columns),
	TABLE(ORMA_TABLE_EVENT_CALLSTACK, "__intrinsic_track_event_callstacks",
	      orma_event_callstack_columns),
	TABLE(ORMA_TABLE_SMAPS, "__intrinsic_profiler_smaps", orma_smaps_columns),
	TABLE(ORMA_TABLE_HEAP_GRAPH, "__intrinsic_heap_graph", orma_heap_graph_columns),
	TABLE(ORMA_TABLE_HEAP_CLASS, "__intrinsic_heap_graph_class", orma_heap_class_columns),
	TABLE(ORMA_TABLE_HEAP_OBJECT, "__intrinsic_heap_graph_object", orma_heap_object_columns),
	TABLE(ORMA_TABLE_HEAP_REFERENCE, "__intrinsic_heap_graph_reference",
	      orma_heap_reference_columns),
	TABLE(ORMA_TABLE_HEAP_OBJECT_DATA, "__intrinsic_heap_graph_object_data",
	      orma_heap_object_data_columns),
	TABLE(ORMA_TABLE_HEAP_PRIMITIVE, "__intrinsic_heap_graph_primitive",
	      orma_heap_primitive_columns),
	TABLE(ORMA_TABLE_HEAP_CALLSITE, "__intrinsic_heap_graph_thread_callsite",
	      orma_heap_callsite_columns),
	TABLE(ORMA_TABLE_HEAP_OOME, "__intrinsic_heap_graph_java_oome_details",
	      orma_heap_oome_columns),
	TABLE(ORMA_TABLE_PACKAGE, "__intrinsic_package_list", orma_package_columns),
};

enum { PASSING_TEXTS_MAX = 4096, PASSING_MAX_BYTES = 1 << 20 };

int orma_tables_init(struct orma_tables *tables, size_t memory_bytes, const char *folder)
{
	*tables = (struct orma_tables){
		.budget = {.limit_bytes = memory_bytes, .folder = folder},
		.strings = {.text = {.fd = -1, .budget = &tables->budget}},
		.extents = {.fd = -1, .budget = &tables->budget},
	};
	for (size_t i = 0; i < ORMA_TABLES; i++) {
		int r = orma_store_table_init(&tables->all[i], definitions[i].name,
					      definitions[i].specs, definitions[i].column_count,
					      &tables->extents);
		if (r < 0)
			return r;
	}
	return 0;
}

void orma_tables_done(struct orma_tables *tables)
{
	for (size_t i = 0; i < ORMA_TABLES; i++)
		orma_store_table_done(&tables->all[i]);
	orma_store_pool_done(&tables->strings);
	orma_store_extents_done(&tables->extents);
}

int orma_tables_seal(struct orma_tables *tables)
{
	static const size_t slice_keys[] = {ORMA_SLICE_TRACK_ID, ORMA_SLICE_NAME};
	int r = tables->error;
	for (size_t i = 0; i < ORMA_TABLES && r == 0; i++)
		r = orma_store_table_seal(&tables->all[i]);
	return r < 0 ? r
		     : orma_store_table_sum(&tables->all[ORMA_TABLE_SLICE], slice_keys,
					    ORMA_ARRAY_SIZE(slice_keys), ORMA_SLICE_DUR, 0);
}

static struct orma_recent_string *find_recent(struct orma_tables *tables, const uint64_t words[2])
{
	uint64_t hash = (words[0] ^ words[1] << 1) * UINT64_C(0x9e3779b97f4a7c15);
	return &tables->recent[hash >> (64 - ORMA_RECENT_SHIFT)];
}

int orma_tables_add_string(struct orma_tables *tables, struct orma_str text, uint32_t *ret)
{
	struct orma_recent_string *recent = NULL;
	uint64_t words[2] = {0};
	if (text.size > 0 && text.size <= sizeof(words)) {
		memcpy(words, text.data, text.size);
		recent = find_recent(tables, words);
		/* Texts with a NUL may look like shorter ones. */
		if (recent->size == text.size && recent->words[0] == words[0] &&
		    recent->words[1] == words[1]) {
			*ret = recent->id;
			return 0;
		}
	}
	int r = orma_store_pool_add(&tables->strings, text, ret);
	if (r == 0 && recent)
		*recent = (struct orma_recent_string){
			.words = {words[0], words[1]}, .size = (uint32_t)text.size, .id = *ret};
	return r;
}

int64_t orma_tables_string(struct orma_tables *tables, struct orma_str text)
{
	uint32_t id;
	if (!text.data)
		return ORMA_CELL_NULL;
	int r = orma_tables_add_string(tables, text, &id);
	if (r == 0)
		return id;
	tables->error = r;
	return ORMA_CELL_NULL;
}

int64_t orma_tables_passing_string(struct orma_tables *tables, struct orma_str text)
{
	uint32_t id;
	if (!tables->passing || !text.data)
		return orma_tables_string(tables, text);
	int r = orma_store_pool_add(tables->passing, text, &id);
	if (r == 0)
		return ORMA_STRING_PASSES | id;
	tables->error = r;
	return ORMA_CELL_NULL;
}

static bool passes(const struct orma_tables *tables, int64_t cell)
{
	return tables->passing && cell != ORMA_CELL_NULL && (cell & ORMA_STRING_PASSES);
}

int64_t orma_tables_keep_string(struct orma_tables *tables, int64_t cell)
{
	return passes(tables, cell) ? orma_tables_string(tables, orma_tables_text(tables, cell))
				    : cell;
}

bool orma_tables_forget_passing(struct orma_tables *tables)
{
	struct orma_string_pool *passing = tables->passing;
	if (!passing ||
	    (passing->count < PASSING_TEXTS_MAX && passing->text.memory_bytes <= PASSING_MAX_BYTES))
		return false;
	orma_store_pool_done(passing);
	return true;
}

struct orma_str orma_tables_text(const struct orma_tables *tables, int64_t cell)
{
	if (cell == ORMA_CELL_NULL)
		return (struct orma_str){NULL, 0};
	return orma_store_pool_get(passes(tables, cell) ? tables->passing : &tables->strings,
				   (uint32_t)cell);
}
