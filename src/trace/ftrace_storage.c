/* SPDX-License-Identifier: Apache-2.0
 * ftrace_storage.c - what a file system counts and reads, and shared buffers of devices.
 *
 * Events of Android's kernels are not in the schema: their fields have numbers here.
 */
#include <errno.h>

#include "base/macros.h"
#include "schema/gen/ftrace_f2fs.pb.h"
#include "trace/kernel_event.h"

enum { ION_HEAP_SHRINK = 314 };
/* The fields of ion_stat and dma_heap_stat, and of ion_heap_grow and ion_heap_shrink. */
enum { BUFFER_ID = 1, BUFFER_LEN = 2, BUFFER_TOTAL = 3, HEAP_NAME = 1 };
enum { READ_START_INODE = 4, READ_START_OFFSET = 5, READ_END_INODE = 2, READ_END_OFFSET = 3 };

static int64_t device_number(const struct orma_kernel_call *call, unsigned field)
{
	unsigned device = (unsigned)orma_kernel_number(call, field);
	call->system->text.size = 0;
	return orma_kernel_printed(call, orma_base_buf_printf(&call->system->text, "%u:%u",
							      device >> 8 & 0xff, device & 0xff));
}

int orma_ftrace_f2fs_iostat(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {
		.type = "f2fs_iostat",
		.name = "f2fs_iostat.[%0].%1",
		.dimensions = {{"linux_device", true}, {"counter_key", true}},
		.is_counter = true};
	/* By the numbers of their fields, which are sorted by the kernel's names. */
	static const char *const names[] = {
		NULL,
		"write_app_buffered",
		"read_app_buffered",
		"write_app_direct",
		"read_app_direct",
		"write_app_mapped",
		"read_app_mapped",
		"read_app_total",
		"write_app_total",
		NULL,
		"read_fs_cdata",
		"write_cp_data",
		"write_cp_meta",
		"write_cp_node",
		"write_fs_data",
		"other_fs_discard",
		"read_fs_data",
		"write_gc_data",
		"write_gc_node",
		"read_fs_gdata",
		"write_fs_meta",
		"read_fs_meta",
		"write_fs_node",
		"read_fs_node",
	};
	int64_t device = device_number(call, ORMA_PB_F2FS_IOSTAT_FTRACE_EVENT_DEV);
	int r = 0;
	for (unsigned i = 0; i < ORMA_ARRAY_SIZE(names) && r == 0; i++)
		if (names[i])
			r = orma_kernel_count(
				call, &kind,
				ORMA_DIMENSIONS(device, orma_kernel_constant(call, names[i])),
				(double)orma_kernel_number(call, i));
	return r;
}

int orma_ftrace_f2fs_latency(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind kind = {
		.type = "f2fs_iostat_latency",
		.name = "f2fs_iostat_latency.[%0].%1",
		.dimensions = {{"linux_device", true}, {"counter_key", true}},
		.is_counter = true};
	/* Fields are sorted by these three; the device is behind those of data. */
	static const char *const of[] = {"data", "meta", "node"};
	static const char *const by[] = {"read", "write_async", "write_sync"};
	static const char *const values[] = {"avg", "cnt", "peak"};
	enum { DATA_FIELDS = 9 };
	int64_t device = device_number(call, ORMA_PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_DEV);
	int r = 0;
	for (unsigned i = 0; i < 3 * DATA_FIELDS && r == 0; i++) {
		unsigned field = i < DATA_FIELDS ? i + 1 : i + 2;
		call->system->text.size = 0;
		int64_t name = orma_kernel_printed(
			call, orma_base_buf_printf(&call->system->text, "%s_%s_%s", by[i / 3 % 3],
						   of[i / DATA_FIELDS], values[i % 3]));
		r = orma_kernel_count(call, &kind, ORMA_DIMENSIONS(device, name),
				      (double)orma_kernel_number(call, field));
	}
	return r;
}

static const struct orma_track_kind read_kind = {.type = "android_fs", .name = "android_fs"};

/* Which thread reads an inode at an offset, + 1. */
static int64_t *reader(const struct orma_kernel_call *call, unsigned inode, unsigned offset)
{
	uint64_t words[] = {orma_kernel_number(call, inode), orma_kernel_number(call, offset)};
	return orma_kernel_sum(&call->system->kernel, 'A', call->machine_idx,
			       orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words)));
}

int orma_ftrace_read_start(const struct orma_kernel_call *call)
{
	int64_t *tid = reader(call, READ_START_INODE, READ_START_OFFSET);
	if (!tid)
		return -ENOMEM;
	*tid = call->tid + 1;
	return orma_kernel_begin(call,
				 orma_system_lane(call->system, call->machine_idx, &read_kind, NULL,
						  call->tid, ORMA_LANE_BEGIN),
				 ORMA_CELL_NULL, orma_kernel_constant(call, "android_fs_data_read"),
				 ORMA_CELL_NULL);
}

int orma_ftrace_read_end(const struct orma_kernel_call *call)
{
	int64_t *tid = reader(call, READ_END_INODE, READ_END_OFFSET);
	if (!tid || *tid == 0)
		return tid ? 0 : -ENOMEM;
	int64_t cookie = *tid - 1;
	*tid = 0;
	return orma_kernel_end(call,
			       orma_system_lane(call->system, call->machine_idx, &read_kind, NULL,
						cookie, ORMA_LANE_END),
			       ORMA_CELL_NULL, ORMA_CELL_NULL);
}

/* A buffer is a slice from its allocation until it is freed, which is an allocation of no bytes. */
static int track_buffer(const struct orma_kernel_call *call, const struct orma_track_kind *kind)
{
	int64_t bytes = (int64_t)orma_kernel_number(call, BUFFER_LEN);
	bool is_begin = bytes > 0;
	int64_t track = orma_system_lane(call->system, call->machine_idx, kind, NULL,
					 (int64_t)orma_kernel_number(call, BUFFER_ID),
					 is_begin ? ORMA_LANE_BEGIN : ORMA_LANE_END);
	if (!is_begin)
		return orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	call->system->text.size = 0;
	int64_t name =
		orma_kernel_printed(call, orma_base_buf_printf(&call->system->text, "%lld kB",
							       (long long)(bytes / 1024)));
	return orma_kernel_begin(call, track, ORMA_CELL_NULL, name, ORMA_CELL_NULL);
}

int orma_ftrace_dma_heap(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind total = {
		.type = "android_dma_heap", .name = "mem.dma_heap", .is_counter = true};
	static const struct orma_track_kind change = {.type = "android_dma_heap_change",
						      .name = "mem.dma_heap_change",
						      .dimensions = {{"utid", false}},
						      .is_counter = true};
	static const struct orma_track_kind buffers = {.type = "android_dma_allocations",
						       .name = "mem.dma_buffer"};
	struct orma_system *system = call->system;
	int64_t utid = orma_kernel_thread(call, call->tid);
	int r = utid < 0 ? (int)utid
			 : orma_kernel_count(call, &total, NULL,
					     (double)orma_kernel_number(call, BUFFER_TOTAL));
	if (r < 0)
		return r;
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add(&system->args, ORMA_STR("inode"), ORMA_STR("inode"), ORMA_ARG_UINT,
			  (int64_t)orma_kernel_number(call, BUFFER_ID));
	r = orma_system_count(system, call->machine_idx, call->ts, &change, &utid,
			      (double)(int64_t)orma_kernel_number(call, BUFFER_LEN),
			      orma_system_take_args(system));
	return r < 0 ? r : track_buffer(call, &buffers);
}

/* `total` and `change` are counters of a heap; the name of the only heap of a system may be empty. */
static int count_ion(const struct orma_kernel_call *call, struct orma_str heap, double total,
		     double change)
{
	bool has_name = heap.size > 0;
	struct orma_track_kind total_kind = {.type = "ion",
					     .name = has_name ? "mem.ion.%0" : "mem.ion",
					     .dimensions = {{"heap_name", true}},
					     .is_counter = true};
	struct orma_track_kind change_kind = {.type = "ion_change",
					      .name = has_name ? "mem.ion_change.%0"
							       : "mem.ion_change",
					      .dimensions = {{"heap_name", true}, {"utid", false}},
					      .is_counter = true};
	int64_t utid = orma_kernel_thread(call, call->tid);
	int64_t name = orma_system_text(call->system, heap);
	int r = utid < 0 ? (int)utid : orma_kernel_count(call, &total_kind, &name, total);
	return r < 0 ? r
		     : orma_kernel_count(call, &change_kind, ORMA_DIMENSIONS(name, utid), change);
}

int orma_ftrace_ion_stat(const struct orma_kernel_call *call)
{
	static const struct orma_track_kind buffers = {.type = "android_ion_allocations",
						       .name = "mem.ion_buffer"};
	int r = count_ion(call, ORMA_STR(""), (double)orma_kernel_number(call, BUFFER_TOTAL),
			  (double)(int64_t)orma_kernel_number(call, BUFFER_LEN));
	return r < 0 ? r : track_buffer(call, &buffers);
}

/* The kernel reports the size of the heap as it was before. */
int orma_ftrace_ion_heap(const struct orma_kernel_call *call)
{
	double change = (double)orma_kernel_number(call, BUFFER_LEN);
	if (call->id == ION_HEAP_SHRINK)
		change = -change;
	return count_ion(call,
			 orma_kernel_has(call, HEAP_NAME) ? orma_kernel_text(call, HEAP_NAME)
							  : ORMA_STR("unknown"),
			 (double)(int64_t)orma_kernel_number(call, BUFFER_TOTAL) + change, change);
}
