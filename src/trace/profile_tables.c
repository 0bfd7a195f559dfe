/* SPDX-License-Identifier: Apache-2.0
 * profile_tables.c - see profile_tables.h.
 */
#include "trace/profile_tables.h"

/* Short names, so that each column is one line. */
#define INT     ORMA_COLUMN_INT
#define STRING  ORMA_COLUMN_STRING
#define DOUBLE  ORMA_COLUMN_DOUBLE
#define SORTED  ORMA_COLUMN_SORTED
#define CHANGES ORMA_COLUMN_CHANGES
#define RANDOM  ORMA_COLUMN_RANDOM
#define HIDDEN  ORMA_COLUMN_HIDDEN

const struct orma_column_spec orma_stack_mapping_columns[ORMA_STACK_MAPPING_COLUMNS] = {
	[ORMA_STACK_MAPPING_BUILD_ID] = {"build_id", STRING, 0},
	[ORMA_STACK_MAPPING_EXACT_OFFSET] = {"exact_offset", INT, 0},
	[ORMA_STACK_MAPPING_START_OFFSET] = {"start_offset", INT, 0},
	[ORMA_STACK_MAPPING_START] = {"start", INT, 0},
	[ORMA_STACK_MAPPING_END] = {"end", INT, 0},
	[ORMA_STACK_MAPPING_LOAD_BIAS] = {"load_bias", INT, 0},
	[ORMA_STACK_MAPPING_NAME] = {"name", STRING, 0},
};
const struct orma_column_spec orma_stack_frame_columns[ORMA_STACK_FRAME_COLUMNS] = {
	[ORMA_STACK_FRAME_NAME] = {"name", STRING, 0},
	[ORMA_STACK_FRAME_MAPPING] = {"mapping", INT, 0},
	[ORMA_STACK_FRAME_REL_PC] = {"rel_pc", INT, 0},
	[ORMA_STACK_FRAME_SYMBOL_SET_ID] = {"symbol_set_id", INT, RANDOM},
	[ORMA_STACK_FRAME_DEOBFUSCATED_NAME] = {"deobfuscated_name", STRING, CHANGES},
	[ORMA_STACK_FRAME_TYPE] = {"type", STRING, CHANGES},
};
const struct orma_column_spec orma_stack_callsite_columns[ORMA_STACK_CALLSITE_COLUMNS] = {
	[ORMA_STACK_CALLSITE_DEPTH] = {"depth", INT, 0},
	[ORMA_STACK_CALLSITE_PARENT_ID] = {"parent_id", INT, 0},
	[ORMA_STACK_CALLSITE_FRAME_ID] = {"frame_id", INT, 0},
};
const struct orma_column_spec orma_stack_symbol_columns[ORMA_STACK_SYMBOL_COLUMNS] = {
	[ORMA_STACK_SYMBOL_SYMBOL_SET_ID] = {"symbol_set_id", INT, SORTED},
	[ORMA_STACK_SYMBOL_NAME] = {"name", STRING, 0},
	[ORMA_STACK_SYMBOL_SOURCE_FILE] = {"source_file", STRING, 0},
	[ORMA_STACK_SYMBOL_LINE_NUMBER] = {"line_number", INT, 0},
	[ORMA_STACK_SYMBOL_INLINED] = {"inlined", INT, 0},
};
const struct orma_column_spec orma_profiler_session_columns[ORMA_PROFILER_SESSION_COLUMNS] = {
	[ORMA_PROFILER_SESSION_SOURCE] = {"source", STRING, 0},
	[ORMA_PROFILER_SESSION_TIMEBASE_UNIT] = {"timebase_unit", STRING, RANDOM},
	[ORMA_PROFILER_SESSION_CMDLINE] = {"cmdline", STRING, CHANGES},
};
const struct orma_column_spec
	orma_profiler_async_context_columns[ORMA_PROFILER_ASYNC_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_ASYNC_CONTEXT_NAME] = {"name", STRING, 0},
		[ORMA_PROFILER_ASYNC_CONTEXT_KIND] = {"kind", STRING, 0},
		[ORMA_PROFILER_ASYNC_CONTEXT_PARENT_ID] = {"parent_id", INT, 0},
};
const struct orma_column_spec
	orma_profiler_task_context_columns[ORMA_PROFILER_TASK_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_TASK_CONTEXT_UPID] = {"upid", INT, 0},
		[ORMA_PROFILER_TASK_CONTEXT_UTID] = {"utid", INT, 0},
		[ORMA_PROFILER_TASK_CONTEXT_ASYNC_CONTEXT_ID] = {"async_context_id", INT, 0},
};
const struct orma_column_spec
	orma_profiler_execution_context_columns[ORMA_PROFILER_EXECUTION_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_EXECUTION_CONTEXT_UCPU] = {"ucpu", INT, 0},
		[ORMA_PROFILER_EXECUTION_CONTEXT_CPU_MODE] = {"cpu_mode", STRING, 0},
};
const struct orma_column_spec orma_profiler_counter_set_columns[ORMA_PROFILER_COUNTER_SET_COLUMNS] =
	{
		[ORMA_PROFILER_COUNTER_SET_COUNTER_SET_ID] = {"counter_set_id", INT, SORTED},
		[ORMA_PROFILER_COUNTER_SET_COUNTER_ID] = {"counter_id", INT, 0},
};
const struct orma_column_spec orma_profiler_sample_columns[ORMA_PROFILER_SAMPLE_COLUMNS] = {
	[ORMA_PROFILER_SAMPLE_TS] = {"ts", INT, SORTED},
	[ORMA_PROFILER_SAMPLE_SOURCE] = {"source", STRING, 0},
	[ORMA_PROFILER_SAMPLE_TASK_CONTEXT_ID] = {"task_context_id", INT, 0},
	[ORMA_PROFILER_SAMPLE_EXECUTION_CONTEXT_ID] = {"execution_context_id", INT, 0},
	[ORMA_PROFILER_SAMPLE_CALLSITE_ID] = {"callsite_id", INT, 0},
	[ORMA_PROFILER_SAMPLE_UNWIND_ERROR] = {"unwind_error", STRING, 0},
	[ORMA_PROFILER_SAMPLE_SESSION_ID] = {"session_id", INT, 0},
	[ORMA_PROFILER_SAMPLE_COUNTER_SET_ID] = {"counter_set_id", INT, 0},
	[ORMA_PROFILER_SAMPLE_PROCESS_PRIORITY] = {"process_priority", INT, HIDDEN},
};
const struct orma_column_spec orma_heap_profile_columns[ORMA_HEAP_PROFILE_COLUMNS] = {
	[ORMA_HEAP_PROFILE_TS] = {"ts", INT, 0},
	[ORMA_HEAP_PROFILE_TS_END] = {"ts_end", INT, 0},
	[ORMA_HEAP_PROFILE_DUR] = {"dur", INT, 0},
	[ORMA_HEAP_PROFILE_UPID] = {"upid", INT, 0},
	[ORMA_HEAP_PROFILE_HEAP_NAME] = {"heap_name", STRING, 0},
};
const struct orma_column_spec orma_heap_allocation_columns[ORMA_HEAP_ALLOCATION_COLUMNS] = {
	[ORMA_HEAP_ALLOCATION_TS] = {"ts", INT, 0},
	[ORMA_HEAP_ALLOCATION_UPID] = {"upid", INT, 0},
	[ORMA_HEAP_ALLOCATION_HEAP_NAME] = {"heap_name", STRING, 0},
	[ORMA_HEAP_ALLOCATION_CALLSITE_ID] = {"callsite_id", INT, 0},
	[ORMA_HEAP_ALLOCATION_COUNT] = {"count", INT, 0},
	[ORMA_HEAP_ALLOCATION_SIZE] = {"size", INT, 0},
};
const struct orma_column_spec orma_event_callstack_columns[ORMA_EVENT_CALLSTACK_COLUMNS] = {
	[ORMA_EVENT_CALLSTACK_SLICE_ID] = {"slice_id", INT, 0},
	[ORMA_EVENT_CALLSTACK_TRACK_ID] = {"track_id", INT, 0},
	[ORMA_EVENT_CALLSTACK_CALLSITE_ID] = {"callsite_id", INT, 0},
	[ORMA_EVENT_CALLSTACK_END_CALLSITE_ID] = {"end_callsite_id", INT, 0},
	[ORMA_EVENT_CALLSTACK_WEIGHT] = {"weight", DOUBLE, 0},
};
const struct orma_column_spec orma_smaps_columns[ORMA_SMAPS_COLUMNS] = {
	[ORMA_SMAPS_UPID] = {"upid", INT, 0},
	[ORMA_SMAPS_TS] = {"ts", INT, 0},
	[ORMA_SMAPS_PATH] = {"path", STRING, 0},
	[ORMA_SMAPS_PATH_TRIMMED] = {"path_trimmed", STRING, 0},
	[ORMA_SMAPS_AGGREGATE_COUNT] = {"aggregate_count", INT, 0},
	[ORMA_SMAPS_IS_DELETED] = {"is_deleted", INT, 0},
	[ORMA_SMAPS_SIZE_KB] = {"size_kb", INT, 0},
	[ORMA_SMAPS_PRIVATE_DIRTY_KB] = {"private_dirty_kb", INT, 0},
	[ORMA_SMAPS_SWAP_KB] = {"swap_kb", INT, 0},
	[ORMA_SMAPS_FILE_NAME] = {"file_name", STRING, 0},
	[ORMA_SMAPS_START_ADDRESS] = {"start_address", INT, 0},
	[ORMA_SMAPS_MODULE_TIMESTAMP] = {"module_timestamp", INT, 0},
	[ORMA_SMAPS_MODULE_DEBUGID] = {"module_debugid", STRING, 0},
	[ORMA_SMAPS_MODULE_DEBUG_PATH] = {"module_debug_path", STRING, 0},
	[ORMA_SMAPS_PROTECTION_FLAGS] = {"protection_flags", INT, 0},
	[ORMA_SMAPS_PRIVATE_CLEAN_RESIDENT_KB] = {"private_clean_resident_kb", INT, 0},
	[ORMA_SMAPS_SHARED_DIRTY_RESIDENT_KB] = {"shared_dirty_resident_kb", INT, 0},
	[ORMA_SMAPS_SHARED_CLEAN_RESIDENT_KB] = {"shared_clean_resident_kb", INT, 0},
	[ORMA_SMAPS_LOCKED_KB] = {"locked_kb", INT, 0},
	[ORMA_SMAPS_PROPORTIONAL_RESIDENT_KB] = {"proportional_resident_kb", INT, 0},
	[ORMA_SMAPS_RSS_KB] = {"rss_kb", INT, 0},
	[ORMA_SMAPS_ANONYMOUS_KB] = {"anonymous_kb", INT, 0},
	[ORMA_SMAPS_PSS_DIRTY_KB] = {"pss_dirty_kb", INT, 0},
	[ORMA_SMAPS_SWAP_PSS_KB] = {"swap_pss_kb", INT, 0},
};
const struct orma_column_spec orma_heap_graph_columns[ORMA_HEAP_GRAPH_COLUMNS] = {
	[ORMA_HEAP_GRAPH_TS] = {"ts", INT, 0},
	[ORMA_HEAP_GRAPH_UPID] = {"upid", INT, 0},
	[ORMA_HEAP_GRAPH_DUMP_REASON] = {"dump_reason", STRING, CHANGES},
	[ORMA_HEAP_GRAPH_HEAP_SIZE] = {"heap_size", INT, CHANGES},
	[ORMA_HEAP_GRAPH_TRUNCATED] = {"truncated", INT, CHANGES},
};
const struct orma_column_spec orma_heap_class_columns[ORMA_HEAP_CLASS_COLUMNS] = {
	[ORMA_HEAP_CLASS_NAME] = {"name", STRING, 0},
	[ORMA_HEAP_CLASS_DEOBFUSCATED_NAME] = {"deobfuscated_name", STRING, 0},
	[ORMA_HEAP_CLASS_LOCATION] = {"location", STRING, 0},
	[ORMA_HEAP_CLASS_SUPERCLASS_ID] = {"superclass_id", INT, 0},
	[ORMA_HEAP_CLASS_CLASSLOADER_ID] = {"classloader_id", INT, 0},
	[ORMA_HEAP_CLASS_KIND] = {"kind", STRING, 0},
};
const struct orma_column_spec orma_heap_object_columns[ORMA_HEAP_OBJECT_COLUMNS] = {
	[ORMA_HEAP_OBJECT_UPID] = {"upid", INT, 0},
	[ORMA_HEAP_OBJECT_GRAPH_SAMPLE_TS] = {"graph_sample_ts", INT, 0},
	[ORMA_HEAP_OBJECT_SELF_SIZE] = {"self_size", INT, 0},
	[ORMA_HEAP_OBJECT_NATIVE_SIZE] = {"native_size", INT, 0},
	[ORMA_HEAP_OBJECT_REFERENCE_SET_ID] = {"reference_set_id", INT, 0},
	[ORMA_HEAP_OBJECT_REACHABLE] = {"reachable", INT, 0},
	[ORMA_HEAP_OBJECT_HEAP_TYPE] = {"heap_type", STRING, 0},
	[ORMA_HEAP_OBJECT_TYPE_ID] = {"type_id", INT, 0},
	[ORMA_HEAP_OBJECT_ROOT_TYPE] = {"root_type", STRING, 0},
	[ORMA_HEAP_OBJECT_ROOT_DISTANCE] = {"root_distance", INT, 0},
	[ORMA_HEAP_OBJECT_OBJECT_DATA_ID] = {"object_data_id", INT, 0},
};
const struct orma_column_spec orma_heap_reference_columns[ORMA_HEAP_REFERENCE_COLUMNS] = {
	[ORMA_HEAP_REFERENCE_REFERENCE_SET_ID] = {"reference_set_id", INT, SORTED},
	[ORMA_HEAP_REFERENCE_OWNER_ID] = {"owner_id", INT, 0},
	[ORMA_HEAP_REFERENCE_OWNED_ID] = {"owned_id", INT, 0},
	[ORMA_HEAP_REFERENCE_FIELD_NAME] = {"field_name", STRING, 0},
	[ORMA_HEAP_REFERENCE_FIELD_TYPE_NAME] = {"field_type_name", STRING, 0},
	[ORMA_HEAP_REFERENCE_DEOBFUSCATED_FIELD_NAME] = {"deobfuscated_field_name", STRING, 0},
};
const struct orma_column_spec orma_heap_object_data_columns[ORMA_HEAP_OBJECT_DATA_COLUMNS] = {
	[ORMA_HEAP_OBJECT_DATA_FIELD_SET_ID] = {"field_set_id", INT, 0},
	[ORMA_HEAP_OBJECT_DATA_VALUE_STRING] = {"value_string", STRING, 0},
	[ORMA_HEAP_OBJECT_DATA_ARRAY_ELEMENT_TYPE] = {"array_element_type", STRING, 0},
	[ORMA_HEAP_OBJECT_DATA_ARRAY_ELEMENT_COUNT] = {"array_element_count", INT, 0},
	[ORMA_HEAP_OBJECT_DATA_ARRAY_DATA_ID] = {"array_data_id", INT, 0},
	[ORMA_HEAP_OBJECT_DATA_ARRAY_DATA_HASH] = {"array_data_hash", INT, 0},
};
const struct orma_column_spec orma_heap_primitive_columns[ORMA_HEAP_PRIMITIVE_COLUMNS] = {
	[ORMA_HEAP_PRIMITIVE_FIELD_SET_ID] = {"field_set_id", INT, SORTED},
	[ORMA_HEAP_PRIMITIVE_FIELD_NAME] = {"field_name", STRING, 0},
	[ORMA_HEAP_PRIMITIVE_FIELD_TYPE] = {"field_type", STRING, 0},
	[ORMA_HEAP_PRIMITIVE_BOOL_VALUE] = {"bool_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_BYTE_VALUE] = {"byte_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_CHAR_VALUE] = {"char_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_SHORT_VALUE] = {"short_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_INT_VALUE] = {"int_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_LONG_VALUE] = {"long_value", INT, 0},
	[ORMA_HEAP_PRIMITIVE_FLOAT_VALUE] = {"float_value", DOUBLE, 0},
	[ORMA_HEAP_PRIMITIVE_DOUBLE_VALUE] = {"double_value", DOUBLE, 0},
};
const struct orma_column_spec orma_heap_callsite_columns[ORMA_HEAP_CALLSITE_COLUMNS] = {
	[ORMA_HEAP_CALLSITE_HEAP_GRAPH_ID] = {"heap_graph_id", INT, 0},
	[ORMA_HEAP_CALLSITE_UTID] = {"utid", INT, 0},
	[ORMA_HEAP_CALLSITE_CALLSITE_ID] = {"callsite_id", INT, 0},
};
const struct orma_column_spec orma_heap_oome_columns[ORMA_HEAP_OOME_COLUMNS] = {
	[ORMA_HEAP_OOME_HEAP_GRAPH_ID] = {"heap_graph_id", INT, 0},
	[ORMA_HEAP_OOME_ALLOCATION_SIZE_BYTES] = {"allocation_size_bytes", INT, 0},
	[ORMA_HEAP_OOME_TOTAL_BYTES_FREE] = {"total_bytes_free", INT, 0},
	[ORMA_HEAP_OOME_FREE_BYTES_UNTIL_OOM] = {"free_bytes_until_oom", INT, 0},
	[ORMA_HEAP_OOME_ERROR_MSG] = {"error_msg", STRING, 0},
};
const struct orma_column_spec orma_package_columns[ORMA_PACKAGE_COLUMNS] = {
	[ORMA_PACKAGE_PACKAGE_NAME] = {"package_name", STRING, 0},
	[ORMA_PACKAGE_UID] = {"uid", INT, 0},
	[ORMA_PACKAGE_DEBUGGABLE] = {"debuggable", INT, 0},
	[ORMA_PACKAGE_PROFILEABLE_FROM_SHELL] = {"profileable_from_shell", INT, 0},
	[ORMA_PACKAGE_VERSION_CODE] = {"version_code", INT, 0},
};
