/* SPDX-License-Identifier: Apache-2.0
 * system_processes.c - processes and threads as /proc shows them, and their counters.
 */
#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "trace/system_packets.h"

enum { KTHREADD_PID = 2 };

/* A worker's name ends with the work it did last: kworker/45:2-mm_percpu_wq. */
static struct orma_str without_work(struct orma_str name)
{
	static const char prefix[] = "kworker/";
	size_t size = sizeof(prefix) - 1;
	if (name.size < size || memcmp(name.data, prefix, size) != 0)
		return name;
	while (size < name.size && name.data[size] != '+' && name.data[size] != '-')
		size++;
	return (struct orma_str){name.data, size};
}

static int join(struct orma_buf *text, const struct orma_pb_process_tree_process *process)
{
	int r = 0;
	text->size = 0;
	for (size_t i = 0; i < process->cmdline.count && r == 0; i++) {
		if (i > 0)
			r = orma_base_buf_append(text, " ", 1);
		if (r == 0 && process->cmdline.items[i].size > 0)
			r = orma_base_buf_append(text, process->cmdline.items[i].data,
						 process->cmdline.items[i].size);
	}
	return r;
}

static int set_cell(struct orma_system *system, int64_t upid, size_t column, int64_t cell)
{
	return orma_store_column_set(orma_tables_column(system->tables, ORMA_TABLE_PROCESS, column),
				     (uint64_t)upid, cell);
}

/* The name is the first argument. Some programs write all of their command line into it. */
static int name_process(struct orma_system *system, int64_t upid,
			const struct orma_pb_process_tree_process *process, int64_t *ret_cmdline)
{
	struct orma_str name = process->cmdline.items[0], whole = name;
	int r = join(&system->text, process);
	if (r < 0)
		return r;
	if (process->ppid == KTHREADD_PID)
		name = without_work(name);
	*ret_cmdline = orma_system_text(
		system, name.size != whole.size ? name
						: (struct orma_str){(const char *)system->text.data,
								    system->text.size});
	const char *space = process->cmdline.count == 1 && name.size > 0
				    ? memchr(name.data, ' ', name.size)
				    : NULL;
	if (space)
		name.size = (size_t)(space - name.data);
	r = orma_processes_name_process(system->processes, upid, orma_system_text(system, name),
					ORMA_PROCESS_NAME_SYSTEM);
	return r < 0 ? r : set_cell(system, upid, ORMA_PROCESS_CMDLINE, *ret_cmdline);
}

int orma_process_set_uid(struct orma_system *system, int64_t upid, uint32_t uid)
{
	int r = set_cell(system, upid, ORMA_PROCESS_UID, uid);
	if (r == 0)
		r = set_cell(system, upid, ORMA_PROCESS_ANDROID_APPID, uid % 100000);
	return r < 0 ? r : set_cell(system, upid, ORMA_PROCESS_ANDROID_USER_ID, uid / 100000);
}

/* The start is on the clock of the boot. */
static int set_start(struct orma_system *system, uint32_t machine_idx, int64_t upid, uint64_t ns)
{
	struct orma_clock_cache cache = {0};
	int64_t start;
	int64_t known = orma_store_column_get(
		orma_tables_column(system->tables, ORMA_TABLE_PROCESS, ORMA_PROCESS_START_TS),
		(uint64_t)upid);
	if (known != ORMA_CELL_NULL ||
	    orma_trace_clocks_convert(&system->index->clocks,
				      orma_trace_clock_key(machine_idx, 0, ORMA_CLOCK_BOOTTIME),
				      (int64_t)ns, system->index->clocks.trace_time,
				      ORMA_CLOCK_ALL_SNAPSHOTS, &cache,
				      &start) != ORMA_CLOCK_CONVERTED)
		return 0;
	return set_cell(system, upid, ORMA_PROCESS_START_TS, start);
}

static int set_details(struct orma_system *system, uint32_t machine_idx, int64_t upid,
		       const struct orma_pb_process_tree_process *process)
{
	int r = orma_pb_process_tree_process_has_uid(process)
			? orma_process_set_uid(system, upid, (uint32_t)process->uid)
			: 0;
	if (r == 0 && orma_pb_process_tree_process_has_process_start_from_boot(process))
		r = set_start(system, machine_idx, upid, process->process_start_from_boot);
	if (r < 0 || !orma_pb_process_tree_process_has_is_kthread(process))
		return r;
	struct orma_arg_list *args = orma_row_args_get(system->processes->process_args, upid);
	if (!args)
		return -ENOMEM;
	orma_arg_list_add(args, ORMA_STR("is_kthread"), ORMA_STR("is_kthread"), ORMA_ARG_BOOL,
			  process->is_kthread);
	return 0;
}

static int take_process(struct orma_system *system, uint32_t machine_idx,
			const struct orma_pb_process_tree_process *process)
{
	int64_t cmdline = ORMA_CELL_NULL;
	if (process->cmdline.count == 0)
		return 0;
	int64_t parent = orma_processes_process(system->processes, machine_idx, process->ppid);
	int64_t upid =
		parent < 0 ? parent
			   : orma_processes_process(system->processes, machine_idx, process->pid);
	int r = upid < 0 ? (int)upid : orma_processes_set_parent(system->processes, upid, parent);
	if (r == 0)
		r = name_process(system, upid, process, &cmdline);
	if (r == 0 && process->cmdline_is_comm) {
		int64_t utid = orma_processes_thread(system->processes, machine_idx, process->pid);
		r = utid < 0 ? (int)utid
			     : orma_processes_name_thread(system->processes, utid, cmdline,
							  ORMA_THREAD_NAME_PROCESS_TREE);
	}
	return r < 0 ? r : set_details(system, machine_idx, upid, process);
}

/* Whether the packet says that a process is a child of kthreadd. */
static bool is_kernel_thread(const struct orma_pb_process_tree *tree, int32_t pid)
{
	for (size_t i = 0; i < tree->processes.count; i++)
		if (tree->processes.items[i]->pid == pid)
			return tree->processes.items[i]->ppid == KTHREADD_PID;
	return false;
}

static int take_thread(struct orma_system *system, uint32_t machine_idx,
		       const struct orma_pb_process_tree *tree,
		       const struct orma_pb_process_tree_thread *thread)
{
	struct orma_str name = thread->name, shorter = name;
	int64_t utid =
		orma_processes_thread_of(system->processes, machine_idx, thread->tid, thread->tgid);
	if (utid < 0 || !name.data)
		return utid < 0 ? (int)utid : 0;
	if (thread->tid == thread->tgid)
		shorter = without_work(name);
	if (shorter.size != name.size && is_kernel_thread(tree, thread->tgid))
		name = shorter;
	return orma_processes_name_thread(system->processes, utid, orma_system_text(system, name),
					  ORMA_THREAD_NAME_PROCESS_TREE);
}

int orma_process_tree(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_pb_process_tree *tree;
	struct orma_arena arena = {0};
	int r = orma_pb_process_tree_decode(content.data, content.size, &arena, &tree);
	for (size_t i = 0; r == 0 && i < tree->processes.count; i++)
		r = take_process(system, machine_idx, tree->processes.items[i]);
	for (size_t i = 0; r == 0 && i < tree->threads.count; i++)
		r = take_thread(system, machine_idx, tree, tree->threads.items[i]);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

/* The counters of a process. Keys are the last dimension and the end of the name. */
enum kind { KIND_MEMORY, KIND_SMAPS, KIND_RUNTIME, KIND_OOM };
static const struct orma_track_kind kinds[] = {
	[KIND_MEMORY] = {.type = "process_memory",
			 .name = "mem.%1",
			 .dimensions = {{"upid", false}, {"process_memory_key", true}},
			 .is_counter = true},
	[KIND_SMAPS] = {.type = "smaps",
			.name = "mem.smaps.%1",
			.dimensions = {{"upid", false}, {"smaps_key", true}},
			.is_counter = true},
	[KIND_RUNTIME] = {.type = "proc_stat_runtime",
			  .name = "runtime.%1",
			  .dimensions = {{"upid", false}, {"proc_stat_runtime_key", true}},
			  .is_counter = true},
	[KIND_OOM] = {.type = "oom_score_adj",
		      .name = "oom_score_adj",
		      .dimensions = {{"upid", false}},
		      .is_counter = true},
};

#define FIELD(name) [ORMA_PB_PROCESS_STATS_PROCESS_##name]
static const struct {
	const char *key;
	enum kind kind;
} counters[] = {
	FIELD(VM_SIZE_KB) = {"virt", KIND_MEMORY},
	FIELD(VM_RSS_KB) = {"rss", KIND_MEMORY},
	FIELD(RSS_ANON_KB) = {"rss.anon", KIND_MEMORY},
	FIELD(RSS_FILE_KB) = {"rss.file", KIND_MEMORY},
	FIELD(RSS_SHMEM_KB) = {"rss.shmem", KIND_MEMORY},
	FIELD(VM_SWAP_KB) = {"swap", KIND_MEMORY},
	FIELD(VM_LOCKED_KB) = {"locked", KIND_MEMORY},
	FIELD(VM_HWM_KB) = {"rss.watermark", KIND_MEMORY},
	FIELD(DMABUF_RSS_KB) = {"dmabuf_rss", KIND_MEMORY},
	FIELD(OOM_SCORE_ADJ) = {"", KIND_OOM},
	FIELD(SMR_RSS_KB) = {"rss", KIND_SMAPS},
	FIELD(SMR_PSS_KB) = {"pss", KIND_SMAPS},
	FIELD(SMR_PSS_ANON_KB) = {"pss.anon", KIND_SMAPS},
	FIELD(SMR_PSS_FILE_KB) = {"pss.file", KIND_SMAPS},
	FIELD(SMR_PSS_SHMEM_KB) = {"pss.smem", KIND_SMAPS},
	FIELD(SMR_SWAP_PSS_KB) = {"swap.pss", KIND_SMAPS},
	FIELD(RUNTIME_USER_MODE) = {"user_ns", KIND_RUNTIME},
	FIELD(RUNTIME_KERNEL_MODE) = {"kernel_ns", KIND_RUNTIME},
};

static int add_descriptor(struct orma_system *system, uint32_t machine_idx, int64_t ts, int64_t pid,
			  struct orma_str bytes)
{
	struct orma_proto_field field;
	int64_t upid = orma_processes_process(system->processes, machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	int64_t cells[ORMA_FILEDESCRIPTOR_COLUMNS] = {
		[ORMA_FILEDESCRIPTOR_UFD] = ORMA_CELL_NULL,
		[ORMA_FILEDESCRIPTOR_TS] = ts,
		[ORMA_FILEDESCRIPTOR_UPID] = upid,
		[ORMA_FILEDESCRIPTOR_PATH] = orma_system_text(system, ORMA_STR(""))};
	if (orma_proto_reader_find(bytes.data, bytes.size, ORMA_PB_PROCESS_STATS_FD_INFO_FD,
				   &field) > 0)
		cells[ORMA_FILEDESCRIPTOR_FD] = (int64_t)field.value;
	if (orma_proto_reader_find(bytes.data, bytes.size, ORMA_PB_PROCESS_STATS_FD_INFO_PATH,
				   &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		cells[ORMA_FILEDESCRIPTOR_PATH] = orma_system_text(system, field.bytes);
	return orma_store_table_append(&system->tables->all[ORMA_TABLE_FILEDESCRIPTOR], cells);
}

static int add_counter(struct orma_system *system, uint32_t machine_idx, int64_t ts, int64_t pid,
		       const struct orma_proto_field *field)
{
	if (field->id >= sizeof(counters) / sizeof(*counters) || !counters[field->id].key ||
	    field->type != ORMA_PROTO_VARINT) {
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_proc_stat_unknown_counters, 0,
			       1);
		return 0;
	}
	int64_t upid = orma_processes_process(system->processes, machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	enum kind kind = counters[field->id].kind;
	bool is_kilobytes = kind == KIND_MEMORY || kind == KIND_SMAPS;
	int64_t value = (int64_t)(is_kilobytes ? field->value * 1024 : field->value);
	return orma_system_count(
		system, machine_idx, ts, &kinds[kind],
		ORMA_DIMENSIONS(upid, orma_tables_string(system->tables,
							 orma_base_str(counters[field->id].key))),
		(double)value, ORMA_CELL_NULL);
}

static int take_field(struct orma_system *system, uint32_t machine_idx, int64_t ts, int64_t pid,
		      const struct orma_proto_field *field)
{
	struct orma_proto_field tid;
	switch (field->id) {
	case ORMA_PB_PROCESS_STATS_PROCESS_PID:
	case ORMA_PB_PROCESS_STATS_PROCESS_IS_PEAK_RSS_RESETTABLE:
	case ORMA_PB_PROCESS_STATS_PROCESS_CHROME_PRIVATE_FOOTPRINT_KB:
	case ORMA_PB_PROCESS_STATS_PROCESS_CHROME_PEAK_RESIDENT_SET_KB:
		return 0;
	case ORMA_PB_PROCESS_STATS_PROCESS_THREADS:
		if (orma_proto_reader_find(field->bytes.data, field->bytes.size,
					   ORMA_PB_PROCESS_STATS_THREAD_TID, &tid) <= 0)
			return 0;
		pid = orma_processes_thread_of(system->processes, machine_idx, (int32_t)tid.value,
					       pid);
		return pid < 0 ? (int)pid : 0;
	case ORMA_PB_PROCESS_STATS_PROCESS_FDS:
		return add_descriptor(system, machine_idx, ts, pid, field->bytes);
	default:
		return add_counter(system, machine_idx, ts, pid, field);
	}
}

static int take_stats(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		      struct orma_str process)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	bool has_pid = orma_proto_reader_find(process.data, process.size,
					      ORMA_PB_PROCESS_STATS_PROCESS_PID, &field) > 0;
	int64_t pid = has_pid ? (int32_t)field.value : 0;
	orma_proto_reader_init(&reader, process.data, process.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		r = take_field(system, machine_idx, ts, pid, &field);
	return r;
}

int orma_process_stats(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		       struct orma_str content)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	orma_proto_reader_init(&reader, content.data, content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_PROCESS_STATS_PROCESSES && field.type == ORMA_PROTO_BYTES)
			r = take_stats(system, machine_idx, ts, field.bytes);
	return r;
}
