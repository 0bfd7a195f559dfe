/* SPDX-License-Identifier: Apache-2.0
 * perf_names.c - the names of sampled processes and threads.
 *
 * A sample has the ids of its process and thread. If the session has linux.process_stats, that data source writes the names, with
 * users and namespaces. If not, this file writes command lines, parents and names of threads. A task that ended before its name
 * could be read has the name from the kernel's records. If it also began before the session, it has no name.
 *
 * Owns at most one open packet, which ends with the delivery. A name is written once for each state of the sequence, because a
 * full buffer may have dropped it.
 *
 * Rejected: writing names in all sessions, because each process would be described twice in a session with linux.process_stats.
 */
#include "probes/perf/perf_names.h"

#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "probes/perf/perf_targets.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "probes/process_cmdline.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { PACKET_BYTES = 16384, TASK_BYTES = 32 };

#define PROCESS(name) ORMA_PB_PROCESS_TREE_PROCESS_##name
#define THREAD(name)  ORMA_PB_PROCESS_TREE_THREAD_##name

static void end_packet(struct orma_perf_names *names)
{
	if (!names->packet)
		return;
	orma_packet_nested_end(names->packet, &names->tree);
	orma_packet_end(names->packet);
	names->packet = NULL;
}

/* Returns the open packet, or a new one if there is none or it is large. NULL if the instance has not
 * started. */
static struct orma_packet *open_packet(struct orma_perf_names *names)
{
	if (names->packet_bytes >= PACKET_BYTES)
		end_packet(names);
	if (names->packet)
		return names->packet;
	names->packet = orma_perf_packets_begin(names->packets, orma_base_clock_ns(CLOCK_BOOTTIME),
						ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME);
	names->packet_bytes = 0;
	if (names->packet)
		orma_packet_nested_begin(names->packet, &names->tree,
					 ORMA_PB_TRACE_PACKET_PROCESS_TREE);
	return names->packet;
}

/* Returns the parent of a process; 0 = not known. A process that changes its program keeps the parent in its
 * first record, because Trace Processor before release 58 takes a new parent for a new process. */
static uint32_t parent_of(struct orma_perf_names *names, const struct orma_task_sighting *task)
{
	uint32_t parent = (uint32_t)(uintptr_t)orma_base_map_get(&names->parents, task->tid);

	if (parent > 0 && task->parent_tid == 0)
		return parent;
	parent = orma_perf_targets_parent(names->proc_fd, task->tid, &names->text);
	if (parent == 0)
		parent = orma_sightings_process_of(names->seen, task->parent_tid);
	if (parent > 0)
		(void)orma_base_map_put(&names->parents, task->tid, (void *)(uintptr_t)parent);
	return parent;
}

static void write_process(struct orma_perf_names *names, const struct orma_task_sighting *task,
			  struct orma_str comm)
{
	uint32_t pid = task->tid, parent = parent_of(names, task);
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str cmdline = {NULL, 0};
	struct orma_nested nested;

	if (orma_probes_file_read(names->proc_fd, orma_probes_path(path, "", pid, "/cmdline"),
				  &names->text, &cmdline) < 0)
		cmdline.size = 0;
	struct orma_packet *packet = cmdline.size + comm.size > 0 ? open_packet(names) : NULL;
	if (!packet)
		return;
	cmdline.size = ORMA_MIN(cmdline.size, (size_t)ORMA_PROBES_PROCESS_CMDLINE_BYTES);
	orma_packet_nested_begin(packet, &nested, ORMA_PB_PROCESS_TREE_PROCESSES);
	orma_packet_varint(packet, PROCESS(PID), pid);
	if (parent > 0)
		orma_packet_varint(packet, PROCESS(PPID), parent);
	if (!orma_probes_process_cmdline_write(packet, cmdline)) {
		orma_packet_bytes(packet, PROCESS(CMDLINE), comm.data, comm.size);
		orma_packet_bool(packet, PROCESS(CMDLINE_IS_COMM), true);
	}
	orma_packet_nested_end(packet, &nested);
	names->packet_bytes += TASK_BYTES + cmdline.size;
}

static void write_thread(struct orma_perf_names *names, uint32_t pid, uint32_t tid,
			 struct orma_str comm)
{
	struct orma_nested nested;
	struct orma_packet *packet = comm.size > 0 ? open_packet(names) : NULL;

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_PROCESS_TREE_THREADS);
	orma_packet_varint(packet, THREAD(TID), tid);
	orma_packet_varint(packet, THREAD(TGID), pid);
	orma_packet_bytes(packet, THREAD(NAME), comm.data, comm.size);
	orma_packet_nested_end(packet, &nested);
	names->packet_bytes += TASK_BYTES;
}

/* Returns the name of a thread. If the thread has ended, the name comes from the kernel's records. */
static struct orma_str comm_of(struct orma_perf_names *names, uint32_t pid,
			       const struct orma_task_sighting *task,
			       char buf[ORMA_SIGHTINGS_COMM_BYTES])
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str comm, line;

	snprintf(path, sizeof(path), "%u/task/%u/comm", pid, task->tid);
	if (orma_probes_file_read(names->proc_fd, path, &names->text, &comm) < 0 ||
	    !orma_probes_text_line(&comm, &line))
		line = orma_base_str(task->comm);
	/* Copied, because the buffer is used again for the command line. */
	int size = snprintf(buf, ORMA_SIGHTINGS_COMM_BYTES, "%.*s", (int)ORMA_MIN(line.size, 15u),
			    line.data);
	return (struct orma_str){buf, (size_t)size};
}

static void on_tasks(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	struct orma_perf_names *names = ctx;
	char buf[ORMA_SIGHTINGS_COMM_BYTES];

	for (size_t i = 0; i < count; i++) {
		/* The process may be unknown, because ftrace in the same session does not always know whose
		 * thread it has seen. */
		uint32_t tid = tasks[i].tid, pid = tasks[i].process;
		if (pid == 0)
			continue;
		struct orma_str comm = comm_of(names, pid, &tasks[i], buf);
		if (pid == tid)
			write_process(names, &tasks[i], comm);
		write_thread(names, pid, tid, comm);
		orma_sightings_set_process(names->seen, tid, pid);
	}
	end_packet(names);
	names->has_written = true;
}

void orma_perf_names_init(struct orma_perf_names *names, struct orma_sightings *seen,
			  struct orma_perf_packets *packets, int proc_fd)
{
	*names = (struct orma_perf_names){
		.seen = seen,
		.packets = packets,
		.proc_fd = proc_fd,
		.listener = {.on_tasks = on_tasks, .is_spare = true},
	};
	names->listener.ctx = names;
	orma_sightings_listen(seen, &names->listener);
}

void orma_perf_names_done(struct orma_perf_names *names)
{
	orma_sightings_unlisten(names->seen, &names->listener);
	orma_base_buf_done(&names->text);
	orma_base_map_done(&names->parents);
}

void orma_perf_names_deliver(struct orma_perf_names *names)
{
	uint32_t old_count = names->state_count;

	orma_sightings_deliver(names->seen);
	names->state_count = names->packets->state_count;
	if (names->has_written && old_count > 0 && names->state_count != old_count)
		orma_sightings_forget_tasks(names->seen);
}
