/* SPDX-License-Identifier: Apache-2.0
 * tables.h - the tables that every reader of traces fills, under the names and with the columns that SQL shows.
 *
 * The id of a row is its number. utid is the id of a thread, upid that of a process, ucpu that of a CPU. A column of times is
 * in nanoseconds of the trace's clock; `dur` is -1 while the end is not known.
 */
#ifndef ORMA_TRACE_TABLES_H
#define ORMA_TRACE_TABLES_H

#include "store/string_pool.h"
#include "store/table.h"
#include "trace/profile_tables.h"

enum orma_table_id {
	ORMA_TABLE_MACHINE,
	ORMA_TABLE_PROCESS,
	ORMA_TABLE_THREAD,
	ORMA_TABLE_CPU,
	ORMA_TABLE_CPU_FREQ,
	ORMA_TABLE_TRACK,
	ORMA_TABLE_SLICE,
	ORMA_TABLE_COUNTER,
	ORMA_TABLE_STATE,
	ORMA_TABLE_FLOW,
	ORMA_TABLE_ARGS,
	ORMA_TABLE_ARG_SHAPE, /* see kept_args.h; SQL does not show it */
	ORMA_TABLE_SCHED,
	ORMA_TABLE_THREAD_STATE,
	ORMA_TABLE_SPURIOUS_WAKEUP,
	ORMA_TABLE_FTRACE_EVENT,
	ORMA_TABLE_CLOCK_SNAPSHOT,
	ORMA_TABLE_STATS,
	ORMA_TABLE_METADATA,
	ORMA_TABLE_TRACE_FILE,
	ORMA_TABLE_PROTO_PATH,
	ORMA_TABLE_PROTO_CONTENT,
	ORMA_TABLE_LOG,
	ORMA_TABLE_FILEDESCRIPTOR,
	ORMA_TABLE_INTERRUPT,
	ORMA_TABLE_DIAGNOSTIC,
	ORMA_TABLE_IMPORT_LOG,
	ORMA_TABLE_STACK_MAPPING,
	ORMA_TABLE_STACK_FRAME,
	ORMA_TABLE_STACK_CALLSITE,
	ORMA_TABLE_STACK_SYMBOL,
	ORMA_TABLE_PROFILER_SESSION,
	ORMA_TABLE_PROFILER_ASYNC_CONTEXT,
	ORMA_TABLE_PROFILER_TASK_CONTEXT,
	ORMA_TABLE_PROFILER_EXECUTION_CONTEXT,
	ORMA_TABLE_PROFILER_COUNTER_SET,
	ORMA_TABLE_PROFILER_SAMPLE,
	ORMA_TABLE_HEAP_PROFILE,
	ORMA_TABLE_HEAP_ALLOCATION,
	ORMA_TABLE_EVENT_CALLSTACK,
	ORMA_TABLE_SMAPS,
	ORMA_TABLE_HEAP_GRAPH,
	ORMA_TABLE_HEAP_CLASS,
	ORMA_TABLE_HEAP_OBJECT,
	ORMA_TABLE_HEAP_REFERENCE,
	ORMA_TABLE_HEAP_OBJECT_DATA,
	ORMA_TABLE_HEAP_PRIMITIVE,
	ORMA_TABLE_HEAP_CALLSITE,
	ORMA_TABLE_HEAP_OOME,
	ORMA_TABLE_PACKAGE,
	ORMA_TABLES,
};

enum {
	ORMA_MACHINE_RAW_ID,
	ORMA_MACHINE_NAME,
	ORMA_MACHINE_SYSNAME,
	ORMA_MACHINE_RELEASE,
	ORMA_MACHINE_VERSION,
	ORMA_MACHINE_ARCH,
	ORMA_MACHINE_NUM_CPUS,
	ORMA_MACHINE_ANDROID_BUILD_FINGERPRINT,
	ORMA_MACHINE_ANDROID_DEVICE_MANUFACTURER,
	ORMA_MACHINE_ANDROID_SDK_VERSION,
	ORMA_MACHINE_SYSTEM_RAM_BYTES,
	ORMA_MACHINE_SYSTEM_RAM_GB,
	ORMA_MACHINE_COLUMNS
};
enum {
	ORMA_PROCESS_PID,
	ORMA_PROCESS_NAME,
	ORMA_PROCESS_START_TS,
	ORMA_PROCESS_END_TS,
	ORMA_PROCESS_PARENT_UPID,
	ORMA_PROCESS_UID,
	ORMA_PROCESS_ANDROID_APPID,
	ORMA_PROCESS_ANDROID_USER_ID,
	ORMA_PROCESS_CMDLINE,
	ORMA_PROCESS_ARG_SET_ID,
	ORMA_PROCESS_MACHINE_ID,
	ORMA_PROCESS_COLUMNS
};
enum {
	ORMA_THREAD_TID,
	ORMA_THREAD_NAME,
	ORMA_THREAD_START_TS,
	ORMA_THREAD_END_TS,
	ORMA_THREAD_UPID,
	ORMA_THREAD_IS_MAIN_THREAD,
	ORMA_THREAD_IS_IDLE,
	ORMA_THREAD_MACHINE_ID,
	ORMA_THREAD_ARG_SET_ID,
	ORMA_THREAD_COLUMNS
};
enum {
	ORMA_CPU_CPU,
	ORMA_CPU_CLUSTER_ID,
	ORMA_CPU_PROCESSOR,
	ORMA_CPU_MACHINE_ID,
	ORMA_CPU_CAPACITY,
	ORMA_CPU_ARG_SET_ID,
	ORMA_CPU_COLUMNS
};
enum { ORMA_CPU_FREQ_UCPU, ORMA_CPU_FREQ_FREQ, ORMA_CPU_FREQ_COLUMNS };
enum {
	ORMA_TRACK_NAME,
	ORMA_TRACK_TYPE,
	ORMA_TRACK_DIMENSION_ARG_SET_ID,
	ORMA_TRACK_PARENT_ID,
	ORMA_TRACK_SOURCE_ARG_SET_ID,
	ORMA_TRACK_MACHINE_ID,
	ORMA_TRACK_TRACK_GROUP_ID,
	ORMA_TRACK_EVENT_TYPE,
	ORMA_TRACK_COUNTER_UNIT,
	ORMA_TRACK_UTID,
	ORMA_TRACK_UPID,
	ORMA_TRACK_COLUMNS
};
enum { ORMA_ARG_VALUES = 4 }; /* columns of values of arguments */
enum {
	ORMA_SLICE_TS,
	ORMA_SLICE_DUR,
	ORMA_SLICE_TRACK_ID,
	ORMA_SLICE_CATEGORY,
	ORMA_SLICE_NAME,
	ORMA_SLICE_DEPTH,
	ORMA_SLICE_PARENT_ID,
	ORMA_SLICE_ARG_SET_ID,
	ORMA_SLICE_THREAD_TS,
	ORMA_SLICE_THREAD_DUR,
	ORMA_SLICE_THREAD_INSTRUCTION_COUNT,
	ORMA_SLICE_THREAD_INSTRUCTION_DELTA,
	ORMA_SLICE_BEGIN_PACKET,
	ORMA_SLICE_END_PACKET,
	ORMA_SLICE_PASSED_UTID, /* the thread that made an event of a track that is not its own */
	ORMA_SLICE_ARG_SHAPE,   /* see kept_args.h, as for the next ones */
	ORMA_SLICE_ARG_VALUE,
	ORMA_SLICE_ARG_VALUES_END = ORMA_SLICE_ARG_VALUE + ORMA_ARG_VALUES - 1,
	ORMA_SLICE_COLUMNS
};
enum {
	ORMA_COUNTER_TS,
	ORMA_COUNTER_TRACK_ID,
	ORMA_COUNTER_VALUE,
	ORMA_COUNTER_ARG_SET_ID,
	ORMA_COUNTER_COLUMNS
};
enum {
	ORMA_STATE_TS,
	ORMA_STATE_DUR,
	ORMA_STATE_TRACK_ID,
	ORMA_STATE_CATEGORY,
	ORMA_STATE_VALUE,
	ORMA_STATE_ARG_SET_ID,
	ORMA_STATE_COLUMNS
};
enum {
	ORMA_FLOW_SLICE_OUT,
	ORMA_FLOW_SLICE_IN,
	ORMA_FLOW_TRACE_ID,
	ORMA_FLOW_ARG_SET_ID,
	ORMA_FLOW_COLUMNS
};
enum {
	ORMA_ARGS_ARG_SET_ID,
	ORMA_ARGS_FLAT_KEY,
	ORMA_ARGS_KEY,
	ORMA_ARGS_INT_VALUE,
	ORMA_ARGS_STRING_VALUE,
	ORMA_ARGS_REAL_VALUE,
	ORMA_ARGS_VALUE_TYPE,
	ORMA_ARGS_COLUMNS
};
enum { ORMA_ARG_SHAPE_SHAPE, ORMA_ARG_SHAPE_KEY, ORMA_ARG_SHAPE_TYPE, ORMA_ARG_SHAPE_COLUMNS };
enum {
	ORMA_SCHED_TS,
	ORMA_SCHED_DUR,
	ORMA_SCHED_UTID,
	ORMA_SCHED_END_STATE,
	ORMA_SCHED_PRIORITY,
	ORMA_SCHED_UCPU,
	ORMA_SCHED_COLUMNS
};
enum {
	ORMA_THREAD_STATE_TS,
	ORMA_THREAD_STATE_DUR,
	ORMA_THREAD_STATE_UTID,
	ORMA_THREAD_STATE_STATE,
	ORMA_THREAD_STATE_IO_WAIT,
	ORMA_THREAD_STATE_BLOCKED_FUNCTION,
	ORMA_THREAD_STATE_WAKER_UTID,
	ORMA_THREAD_STATE_WAKER_ID,
	ORMA_THREAD_STATE_IRQ_CONTEXT,
	ORMA_THREAD_STATE_UCPU,
	ORMA_THREAD_STATE_COLUMNS
};
enum {
	ORMA_SPURIOUS_WAKEUP_TS,
	ORMA_SPURIOUS_WAKEUP_THREAD_STATE_ID,
	ORMA_SPURIOUS_WAKEUP_IRQ_CONTEXT,
	ORMA_SPURIOUS_WAKEUP_UTID,
	ORMA_SPURIOUS_WAKEUP_WAKER_UTID,
	ORMA_SPURIOUS_WAKEUP_COLUMNS
};
enum {
	ORMA_FTRACE_EVENT_TS,
	ORMA_FTRACE_EVENT_NAME,
	ORMA_FTRACE_EVENT_UTID,
	ORMA_FTRACE_EVENT_ARG_SET_ID,
	ORMA_FTRACE_EVENT_COMMON_FLAGS,
	ORMA_FTRACE_EVENT_UCPU,
	ORMA_FTRACE_EVENT_PACKET,
	ORMA_FTRACE_EVENT_OFFSET,
	ORMA_FTRACE_EVENT_COLUMNS
};
enum {
	ORMA_CLOCK_SNAPSHOT_TS,
	ORMA_CLOCK_SNAPSHOT_CLOCK_ID,
	ORMA_CLOCK_SNAPSHOT_CLOCK_NAME,
	ORMA_CLOCK_SNAPSHOT_CLOCK_VALUE,
	ORMA_CLOCK_SNAPSHOT_SNAPSHOT_ID,
	ORMA_CLOCK_SNAPSHOT_MACHINE_ID,
	ORMA_CLOCK_SNAPSHOT_COLUMNS
};
enum {
	ORMA_STATS_NAME,
	ORMA_STATS_KEY,
	ORMA_STATS_IDX,
	ORMA_STATS_SEVERITY,
	ORMA_STATS_SOURCE,
	ORMA_STATS_VALUE,
	ORMA_STATS_DESCRIPTION,
	ORMA_STATS_MACHINE_ID,
	ORMA_STATS_TRACE_ID,
	ORMA_STATS_COLUMNS
};
enum {
	ORMA_METADATA_NAME,
	ORMA_METADATA_KEY_TYPE,
	ORMA_METADATA_INT_VALUE,
	ORMA_METADATA_STR_VALUE,
	ORMA_METADATA_MACHINE_ID,
	ORMA_METADATA_TRACE_ID,
	ORMA_METADATA_COLUMNS
};
enum {
	ORMA_TRACE_FILE_PARENT_ID,
	ORMA_TRACE_FILE_NAME,
	ORMA_TRACE_FILE_SIZE,
	ORMA_TRACE_FILE_TRACE_TYPE,
	ORMA_TRACE_FILE_PROCESSING_ORDER,
	ORMA_TRACE_FILE_IS_CONTAINER,
	ORMA_TRACE_FILE_COLUMNS
};
enum {
	ORMA_PROTO_PATH_PARENT_ID,
	ORMA_PROTO_PATH_FIELD_TYPE,
	ORMA_PROTO_PATH_FIELD_NAME,
	ORMA_PROTO_PATH_ARG_SET_ID,
	ORMA_PROTO_PATH_COLUMNS
};
enum {
	ORMA_PROTO_CONTENT_PATH,
	ORMA_PROTO_CONTENT_PATH_ID,
	ORMA_PROTO_CONTENT_TOTAL_SIZE,
	ORMA_PROTO_CONTENT_SIZE,
	ORMA_PROTO_CONTENT_COUNT,
	ORMA_PROTO_CONTENT_COLUMNS
};
enum {
	ORMA_LOG_TS,
	ORMA_LOG_UTID,
	ORMA_LOG_PRIO,
	ORMA_LOG_LOG_SOURCE,
	ORMA_LOG_TAG,
	ORMA_LOG_MSG,
	ORMA_LOG_ARG_SET_ID,
	ORMA_LOG_COLUMNS
};
enum {
	ORMA_FILEDESCRIPTOR_UFD,
	ORMA_FILEDESCRIPTOR_FD,
	ORMA_FILEDESCRIPTOR_TS,
	ORMA_FILEDESCRIPTOR_UPID,
	ORMA_FILEDESCRIPTOR_PATH,
	ORMA_FILEDESCRIPTOR_COLUMNS
};
enum {
	ORMA_INTERRUPT_IRQ_ID,
	ORMA_INTERRUPT_NAME,
	ORMA_INTERRUPT_MACHINE_ID,
	ORMA_INTERRUPT_COLUMNS
};
enum {
	ORMA_DIAGNOSTIC_KEY,
	ORMA_DIAGNOSTIC_TITLE,
	ORMA_DIAGNOSTIC_DESCRIPTION,
	ORMA_DIAGNOSTIC_REMEDIATION,
	ORMA_DIAGNOSTIC_CONFIDENCE,
	ORMA_DIAGNOSTIC_TRACE_ID,
	ORMA_DIAGNOSTIC_COLUMNS
};
enum {
	ORMA_IMPORT_LOG_TRACE_ID,
	ORMA_IMPORT_LOG_TS,
	ORMA_IMPORT_LOG_BYTE_OFFSET,
	ORMA_IMPORT_LOG_SEVERITY,
	ORMA_IMPORT_LOG_NAME,
	ORMA_IMPORT_LOG_ARG_SET_ID,
	ORMA_IMPORT_LOG_COLUMNS
};

/*
 * The arguments of slices and of kernel events are read from the trace when they are asked for. Their sets have ids with
 * one of these bits, and the row below; ids of other sets are rows of the table of args.
 */
#define ORMA_ARG_SET_OF_SLICE        (INT64_C(1) << 60)
#define ORMA_ARG_SET_OF_FTRACE_EVENT (INT64_C(1) << 61)

/*
 * A live import forgets the texts of events, so their cells have this bit, and the number of a string of `passing`. All
 * other cells of texts are strings of `strings`.
 */
#define ORMA_STRING_PASSES (INT64_C(1) << 62)

/* A short text that was asked for lately, as the names of tasks are with each switch. Size 0 is an empty place. */
struct orma_recent_string {
	uint64_t words[2];
	uint32_t size, id;
};
enum { ORMA_RECENT_SHIFT = 9, ORMA_RECENT_STRINGS = 1 << ORMA_RECENT_SHIFT };

struct orma_tables {
	struct orma_memory_budget budget;
	struct orma_string_pool strings;
	struct orma_string_pool *passing; /* borrowed; NULL = texts of events stay, as others do */
	struct orma_extents extents;
	struct orma_table all[ORMA_TABLES];
	struct orma_recent_string recent[ORMA_RECENT_STRINGS];
	int error; /* the first failure of a function below that returns a cell */
};

/* `memory_bytes` is the budget of packed columns and strings, and of what else uses `tables->budget`; 0 = no limit. `folder` is
 * for what is beyond it; NULL = TMPDIR, else /var/tmp. The tables stay where they are. 0 or -ENOMEM. */
int orma_tables_init(struct orma_tables *tables, size_t memory_bytes, const char *folder);
void orma_tables_done(struct orma_tables *tables);
/* Ends the filling of the tables, so that they can be read. 0 or a negative errno value. */
int orma_tables_seal(struct orma_tables *tables);

static inline struct orma_column *orma_tables_column(struct orma_tables *tables,
						     enum orma_table_id table, size_t column)
{
	return &tables->all[table].columns[column];
}

/* Adds a string to the pool, which is quick for short ones that were added lately. Errors as of orma_store_pool_add(). */
int orma_tables_add_string(struct orma_tables *tables, struct orma_str text, uint32_t *ret);
/* Returns a string's cell, or ORMA_CELL_NULL for a string without data. When memory is short, the string is lost and
 * `tables->error` is set. */
int64_t orma_tables_string(struct orma_tables *tables, struct orma_str text);
/* The same for a text that differs from event to event, such as a message: it is only of use while the event is new. */
int64_t orma_tables_passing_string(struct orma_tables *tables, struct orma_str text);
/* Returns the same text's cell that stays. */
int64_t orma_tables_keep_string(struct orma_tables *tables, int64_t cell);
/* Forgets the texts that pass when they are many, which is seldom and costs little for each. True when it has; then their cells
 * mean nothing any more. */
bool orma_tables_forget_passing(struct orma_tables *tables);
/* Returns the text of a cell of any kind; .data = NULL for ORMA_CELL_NULL. */
struct orma_str orma_tables_text(const struct orma_tables *tables, int64_t cell);

#endif
