/* SPDX-License-Identifier: Apache-2.0
 * process_find.c - the processes that there are at a poll.
 *
 * Listing /proc costs a fifth of a poll, because the kernel looks up every entry. But the kernel
 * gives ids in ascending order, and tells the last one (ns_last_pid). So a poll looks only at the
 * ids that were given since the last poll, and at those of the poll before that: an id is given
 * before its task appears in /proc. A task that is not the first one of a process is a thread.
 * Processes that have ended are noticed when their files cannot be read.
 *
 * /proc is listed when there are many new ids, when the ids wrapped, and at every sixteenth poll,
 * because a task may be made with an id of choice, and because a kernel thread whose files are not
 * read may end. ns_last_pid tells about the namespace of this process only, so /proc is listed at
 * every poll when it shows another namespace. Rejected: reading the last id in /proc/loadavg. In a
 * container, lxcfs replaces that file with one of its own.
 */
#include <unistd.h>

#include "probes/process_stats/process_stats.h"

#define POLLS_PER_LIST 16u
/* Looking at an id costs as much as listing this many. */
#define IDS_PER_LOOK 8

static uint64_t read_last_pid(struct orma_probes_process_probe *probe)
{
	uint64_t last_pid;

	if (!probe->has_last_pid ||
	    orma_probes_file_read_u64(probe->proc_fd, "sys/kernel/ns_last_pid", &last_pid) < 0)
		return 0;
	return last_pid;
}

bool orma_probes_process_has_last_pid(struct orma_probes_process_probe *probe)
{
	struct orma_probes_process_status status;
	struct orma_str text;
	uint64_t last_pid;

	if (orma_probes_file_read_record(probe->proc_fd, "self/status", &probe->other_text, &text))
		return false;
	orma_probes_process_status_parse(text, &status, NULL);
	return status.pid == getpid() && status.nspid.size == 0 &&
	       orma_probes_file_read_u64(probe->proc_fd, "sys/kernel/ns_last_pid", &last_pid) == 0;
}

static bool must_list(struct orma_probes_process_instance *instance, uint64_t last_pid)
{
	return instance->pids.count == 0 || instance->earlier_last_pid == 0 ||
	       last_pid < instance->last_pid ||
	       (last_pid - instance->earlier_last_pid) * IDS_PER_LOOK > instance->pids.count ||
	       ++instance->polls_unlisted >= POLLS_PER_LIST;
}

static int add_new(struct orma_probes_process_instance *instance, uint64_t last_pid)
{
	struct orma_probes_process_status status;
	int r = 0;

	for (uint64_t id = instance->earlier_last_pid + 1; id <= last_pid && r == 0; id++) {
		uint32_t pid = (uint32_t)id;
		const struct orma_probes_process *process =
			orma_base_map_get(&instance->processes, pid);
		if (!(process && process->is_listed) &&
		    orma_probes_process_read_leader(instance, pid, &status, NULL) == 0)
			r = orma_probes_numbers_add(&instance->pids, pid);
	}
	return r;
}

int orma_probes_process_find(struct orma_probes_process_instance *instance)
{
	struct orma_probes_process_probe *probe = instance->probe;
	uint64_t last_pid = read_last_pid(probe);
	int r;

	if (must_list(instance, last_pid)) {
		instance->polls_unlisted = 0;
		r = orma_probes_dir_numbers(probe->proc_fd, ".", "", &instance->pids);
	} else {
		r = add_new(instance, last_pid);
	}
	instance->earlier_last_pid = instance->last_pid;
	instance->last_pid = last_pid;
	return r;
}
