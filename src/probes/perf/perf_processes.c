/* SPDX-License-Identifier: Apache-2.0
 * perf_processes.c - the processes that records name: whether they are in scope, and what they have mapped.
 *
 * Owns one struct for each process that was seen. If a process is older than the recording, its mappings are read from /proc when
 * its first sample comes. After that they follow the kernel's records. The mappings of a younger process follow the records from
 * its beginning. Records come in the order of time, so a sample meets the mappings of the moment at which it was taken. Rejected:
 * reading /proc/PID/maps at each unknown address. The names would be wrong after dlclose(), and for a process that has the id of
 * an earlier one.
 *
 * A process that has ended stays for a second of the records' time, because CPUs deliver their last samples late. A process ends
 * with its main thread. If /proc shows that other threads still run, the process stays for another second, and so on.
 *
 * A recorder that starts a program follows its own children. A child that has called exec() is the program, and is in scope. A
 * child that has not called it is a part of the recorder, such as the builder of unwind tables, and is not in scope.
 *
 * A process has the name in its record, else its parent's name at the fork, else the name that /proc shows when the process is
 * seen first. linux.process_stats gets the name, because the process may have ended before its samples are read.
 *
 * The command line is read only if the scope names command lines. The kernel copies it from the memory of the process, and that
 * read can hang.
 */
#include "probes/perf/perf_processes.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "probes/perf/perf_targets.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"

#define ENDED_NS ORMA_NS_PER_SEC
/* The number of threads is this word of /proc/PID/stat, counted from the one after the state. */
#define STAT_THREADS 17u
#define REREAD_NS    ORMA_NS_PER_SEC

static void free_process(struct orma_perf_process *process)
{
	orma_unwind_process_free(process->code);
	orma_base_free(process);
}

static struct orma_perf_process *find(struct orma_perf_processes *processes, uint32_t pid)
{
	return orma_base_map_get(&processes->by_pid, pid);
}

static void append_ended(struct orma_perf_processes *processes, struct orma_perf_process *process,
			 uint64_t now_ns)
{
	process->end_ns = now_ns;
	process->next_ended = NULL;
	if (processes->last_ended)
		processes->last_ended->next_ended = process;
	else
		processes->first_ended = process;
	processes->last_ended = process;
}

static struct orma_perf_process *take_first_ended(struct orma_perf_processes *processes)
{
	struct orma_perf_process *process = processes->first_ended;

	processes->first_ended = process->next_ended;
	if (!processes->first_ended)
		processes->last_ended = NULL;
	return process;
}

/* True if the process has threads beside its main thread, which is a zombie until they end. If a new process
 * has the same id, its main thread runs. */
static bool has_other_threads(struct orma_perf_processes *processes,
			      const struct orma_perf_process *process)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text, field;
	uint32_t thread_count;

	if (find(processes, process->pid) != process || !process->is_in_scope ||
	    orma_probes_file_read_record(processes->proc_fd,
					 orma_probes_path(path, "", process->pid, "/stat"),
					 &processes->text, &text) < 0)
		return false;
	if (!orma_probes_text_skip_name(&text) || !orma_probes_text_word(&text, &field) ||
	    !orma_base_str_is(field, "Z"))
		return false;
	for (unsigned i = 0; i < STAT_THREADS; i++)
		if (!orma_probes_text_word(&text, &field))
			return false;
	return orma_probes_text_u32(field, &thread_count) && thread_count > 1;
}

static void forget(struct orma_perf_processes *processes, struct orma_perf_process *process)
{
	/* Its id may belong to another process by now. */
	if (find(processes, process->pid) == process)
		orma_base_map_remove(&processes->by_pid, process->pid);
	free_process(process);
}

static void forget_ended(struct orma_perf_processes *processes, uint64_t now_ns)
{
	while (processes->first_ended && processes->first_ended->end_ns + ENDED_NS < now_ns) {
		struct orma_perf_process *process = take_first_ended(processes);
		if (has_other_threads(processes, process))
			append_ended(processes, process, now_ns);
		else
			forget(processes, process);
	}
}

void orma_perf_processes_done(struct orma_perf_processes *processes)
{
	size_t position = 0;

	while (processes->first_ended)
		forget(processes, take_first_ended(processes));
	for (struct orma_map_slot *slot;
	     (slot = orma_base_map_next(&processes->by_pid, &position));)
		free_process(slot->value);
	orma_base_map_done(&processes->by_pid);
	orma_base_buf_done(&processes->text);
}

/* ---- names ---- */

static void set_comm(struct orma_perf_process *process, struct orma_str comm)
{
	size_t size = ORMA_MIN(comm.size, sizeof(process->comm) - 1);

	memset(process->comm, 0, sizeof(process->comm));
	for (size_t i = 0; i < size && comm.data[i] && comm.data[i] != '\n'; i++)
		process->comm[i] = comm.data[i];
}

static void read_comm(struct orma_perf_processes *processes, struct orma_perf_process *process)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str comm;

	if (orma_probes_file_read(processes->proc_fd,
				  orma_probes_path(path, "", process->pid, "/comm"),
				  &processes->text, &comm) == 0)
		set_comm(process, comm);
}

void orma_perf_processes_mention(struct orma_perf_processes *processes,
				 const struct orma_perf_process *process, uint32_t tid)
{
	orma_sightings_note_member(processes->seen, process->pid, process->pid,
				   orma_base_str(process->comm));
	/* A thread has the name of its process until it gives itself another one. */
	if (tid != process->pid)
		orma_sightings_note_member(processes->seen, tid, process->pid,
					   orma_base_str(process->comm));
}

static void take_name(struct orma_perf_processes *processes, const struct orma_perf_record *record)
{
	struct orma_perf_process *process = find(processes, record->pid);

	if (!process)
		return;
	if (record->tid == record->pid)
		set_comm(process, record->comm);
	if (!process->is_decided || !process->is_in_scope)
		return;
	orma_sightings_note_rename(processes->seen, record->tid, record->comm);
	orma_perf_processes_mention(processes, process, record->tid);
}

/* ---- one process ---- */

static struct orma_perf_process *add(struct orma_perf_processes *processes, uint32_t pid)
{
	if (processes->by_pid.count >= ORMA_PERF_PROCESSES_MAX)
		return NULL;
	struct orma_perf_process *process = orma_base_zalloc(sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if (orma_base_map_put(&processes->by_pid, pid, process) < 0) {
		orma_base_free(process);
		return NULL;
	}
	return process;
}

/* The builder of unwind tables begins before the events are enabled, so there is no record of its beginning. */
static bool is_older_helper(struct orma_perf_processes *processes,
			    const struct orma_perf_process *process)
{
	return processes->own_pid > 0 && processes->is_all_in && !process->is_young &&
	       orma_perf_targets_parent(processes->proc_fd, process->pid, &processes->text) ==
		       processes->own_pid;
}

static void decide(struct orma_perf_processes *processes, struct orma_perf_process *process)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str cmdline = {NULL, 0};

	if (processes->wants_cmdlines &&
	    orma_probes_file_read(processes->proc_fd,
				  orma_probes_path(path, "", process->pid, "/cmdline"),
				  &processes->text, &cmdline) < 0)
		cmdline.size = 0;
	process->is_helper |= is_older_helper(processes, process);
	process->is_in_scope = !process->is_helper &&
			       (processes->is_all_in ||
				orma_perf_scope_includes(processes->scope, process->pid, cmdline));
	process->is_decided = true;
	if (process->is_in_scope && !process->comm[0])
		read_comm(processes, process);
	if (process->is_in_scope)
		return;
	orma_unwind_process_free(process->code);
	process->code = NULL;
}

struct orma_perf_process *orma_perf_processes_get(struct orma_perf_processes *processes,
						  uint32_t pid)
{
	struct orma_perf_process *process = find(processes, pid);

	if (!process)
		process = add(processes, pid);
	if (process && !process->is_decided)
		decide(processes, process);
	return process;
}

void orma_perf_processes_adopt(struct orma_perf_processes *processes, uint32_t pid)
{
	struct orma_perf_process *process = find(processes, pid);

	if (!process)
		process = add(processes, pid);
	if (!process)
		return;
	process->is_decided = process->is_in_scope = true;
	read_comm(processes, process);
}

struct orma_unwind_process *orma_perf_process_code(struct orma_perf_processes *processes,
						   struct orma_perf_process *process)
{
	if (process->code)
		return process->code;
	if (orma_unwind_process_new(processes->files, (int32_t)process->pid, &process->code) < 0)
		return NULL;
	/* A process that has ended has no mappings, so its stacks end with their first frame. */
	if (!process->is_young)
		(void)orma_unwind_process_read_maps(process->code);
	return process->code;
}

void orma_perf_processes_reset_cuts(struct orma_perf_processes *processes)
{
	size_t position = 0;

	for (struct orma_map_slot *slot;
	     (slot = orma_base_map_next(&processes->by_pid, &position));) {
		struct orma_perf_process *process = slot->value;
		process->sample_count = process->cut_count = 0;
	}
}

void orma_perf_processes_drop_code(struct orma_perf_processes *processes)
{
	size_t position = 0;

	for (struct orma_map_slot *slot;
	     (slot = orma_base_map_next(&processes->by_pid, &position));) {
		struct orma_perf_process *process = slot->value;
		if (process->is_young || process->has_ended)
			continue;
		orma_unwind_process_free(process->code);
		process->code = NULL;
	}
}

bool orma_perf_process_reread(struct orma_perf_process *process, uint64_t now_ns)
{
	/* A process that has ended has no mappings, or its id belongs to another process. */
	if (!process->code || process->has_ended ||
	    (process->reread_ns > 0 && now_ns < process->reread_ns + REREAD_NS))
		return false;
	process->reread_ns = now_ns;
	return orma_unwind_process_read_maps(process->code) == 0;
}

/* ---- records ---- */

static void end_process(struct orma_perf_processes *processes, struct orma_perf_process *process,
			uint64_t now_ns)
{
	if (process->has_ended)
		return;
	process->has_ended = true;
	processes->ended_count += process->is_young && process->is_in_scope;
	processes->unsampled_count +=
		process->is_young && process->is_in_scope && !process->is_sampled;
	append_ended(processes, process, now_ns);
}

static void take_mapping(struct orma_perf_processes *processes,
			 const struct orma_perf_record *record)
{
	const struct orma_perf_mapping *mapping = &record->mapping;
	struct orma_perf_process *process = find(processes, record->pid);
	struct orma_process_map map = {
		.start = mapping->start,
		.end = mapping->start + mapping->size,
		.offset = mapping->offset,
		.inode = mapping->inode,
		.device_major = mapping->device_major,
		.device_minor = mapping->device_minor,
		.is_executable = !mapping->is_data,
		.path = mapping->path,
	};

	/* The mappings of an older process are read when its first sample comes. */
	if (!process || (!process->code && !process->is_young) ||
	    (process->is_decided && !process->is_in_scope) ||
	    !orma_perf_process_code(processes, process))
		return;
	/* "//anon" and names like it are not files. */
	if (map.path.size > 1 && map.path.data[0] == '/' && map.path.data[1] == '/')
		map.path.size = 0;
	(void)orma_unwind_process_map(process->code, &map);
}

static void take_exec(struct orma_perf_processes *processes, const struct orma_perf_record *record)
{
	struct orma_perf_process *old = find(processes, record->pid), *process = old;

	/* A thread that is not the main thread has called exec(). It continues as the main thread, whose end
	 * has been recorded. */
	if (old && old->has_ended) {
		orma_base_map_remove(&processes->by_pid, record->pid);
		process = NULL;
	}
	if (!process)
		process = add(processes, record->pid);
	if (!process)
		return;
	if (process != old && old)
		process->is_decided = process->is_in_scope = old->is_decided && old->is_in_scope;
	/* This is the program that the profiler has started. */
	if (process->is_helper)
		process->is_decided = process->is_in_scope = true;
	process->is_helper = false;
	process->is_young = true;
	/* The new command line may be in another scope. A child that is followed stays in scope. */
	process->is_decided &= process->is_in_scope && processes->follows_children;
	/* Unless the scope waits for command lines, the mappings of processes that are not in scope are
	 * dropped. */
	if (!processes->wants_cmdlines && !process->is_decided)
		decide(processes, process);
	if (process->code)
		orma_unwind_process_exec(process->code);
}

static void take_fork(struct orma_perf_processes *processes, const struct orma_perf_record *record)
{
	struct orma_perf_process *old = find(processes, record->pid), *parent;

	/* The record is of a new thread. */
	if (record->pid == record->parent.pid)
		return;
	if (old) {
		/* The id belongs to a new process. */
		orma_base_map_remove(&processes->by_pid, record->pid);
		if (!old->has_ended)
			free_process(old);
	}
	/* The child may end before its first sample is read. Its mappings are copied from its parent, whose
	 * mappings are read now if they were not read yet. */
	parent = orma_perf_processes_get(processes, record->parent.pid);
	struct orma_perf_process *child =
		parent && parent->is_in_scope ? add(processes, record->pid) : NULL;
	if (!child)
		return;
	set_comm(child, orma_base_str(parent->comm));
	child->is_helper = processes->own_pid > 0 && record->parent.pid == processes->own_pid;
	if (child->is_helper)
		return;
	if (processes->follows_children)
		child->is_decided = child->is_in_scope = true;
	if (child->is_in_scope || processes->is_all_in)
		orma_sightings_note_new_task(processes->seen, record->parent.tid, child->pid, 0,
					     orma_base_str(child->comm));
	const struct orma_unwind_process *code = orma_perf_process_code(processes, parent);
	if (code && orma_unwind_process_fork(code, (int32_t)child->pid, &child->code) == 0)
		child->is_young = true;
}

void orma_perf_processes_take(struct orma_perf_processes *processes,
			      const struct orma_perf_record *record)
{
	struct orma_perf_process *process;

	switch (record->type) {
	case PERF_RECORD_MMAP2:
		take_mapping(processes, record);
		break;
	case PERF_RECORD_COMM:
		if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
			take_exec(processes, record);
		take_name(processes, record);
		break;
	case PERF_RECORD_FORK:
		take_fork(processes, record);
		break;
	case PERF_RECORD_EXIT:
		process = record->pid == record->tid ? find(processes, record->pid) : NULL;
		if (process)
			end_process(processes, process, record->time);
		break;
	default:
		break;
	}
	forget_ended(processes, record->time);
}
