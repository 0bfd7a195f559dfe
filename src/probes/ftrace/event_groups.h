/* SPDX-License-Identifier: Apache-2.0
 * event_groups.h - which group of tracepoints each member of FtraceEvent belongs to.
 *
 * Two groups may have events of one name, and only one of them has the fields of the message. The
 * schema knows the name alone. Field numbers were given out group by group, so runs of them are
 * shorter than a list of events. The event is named as the member is; where the member's name begins
 * with the group's name and an underscore, it may also be the rest (group hypervisor).
 *
 * `generic` and `kprobe_event` are in no run: they are not tracepoints.
 */
#ifndef ORMA_PROBES_EVENT_GROUPS_H
#define ORMA_PROBES_EVENT_GROUPS_H

#include <stdint.h>

struct orma_ftrace_event_group {
	uint16_t first_field, last_field; /* field numbers of FtraceEvent, both included */
	char group[14];
};

/* Ascending. */
static const struct orma_ftrace_event_group orma_ftrace_event_groups[] = {
	{3, 3, "ftrace"},
	{4, 4, "sched"},
	{11, 16, "power"},
	{17, 20, "sched"},
	{21, 23, "ipi"},
	{24, 26, "irq"},
	{27, 34, "i2c"},
	{36, 37, "irq"},
	{39, 39, "sync"},
	{41, 44, "ext4"},
	{45, 45, "block"},
	{46, 49, "vmscan"},
	{50, 55, "binder"},
	{56, 59, "workqueue"},
	{60, 66, "regulator"},
	{67, 75, "cgroup"},
	{97, 98, "filemap"},
	{99, 112, "compaction"},
	{113, 113, "power"},
	{114, 114, "sched"},
	{115, 133, "block"},
	{134, 234, "ext4"},
	{235, 236, "task"},
	{237, 242, "sched"},
	{243, 273, "f2fs"},
	{298, 313, "kmem"},
	{320, 322, "clk"},
	{323, 323, "binder"},
	{324, 325, "signal"},
	{326, 326, "oom"},
	{329, 330, "raw_syscalls"},
	{332, 332, "power"},
	{334, 334, "oom"},
	{340, 340, "gpu_mem"},
	{341, 342, "thermal"},
	{343, 352, "cpuhp"},
	{353, 353, "sched"},
	{359, 359, "synthetic"},
	{360, 361, "net"},
	{362, 362, "sock"},
	{363, 363, "tcp"},
	{364, 364, "cros_ec"},
	{365, 366, "net"},
	{367, 367, "skb"},
	{368, 403, "kvm"},
	{404, 405, "power"},
	{406, 407, "ufs"},
	{408, 408, "printk"},
	{409, 410, "drm"},
	{411, 413, "gpu_scheduler"},
	{414, 418, "dma_fence"},
	{419, 420, "f2fs"},
	{421, 421, "sched"},
	{422, 427, "v4l2"},
	{437, 438, "ftrace"},
	{443, 444, "vmscan"},
	{465, 466, "cma"},
	{468, 469, "virtio_gpu"},
	{481, 481, "synthetic"},
	{485, 486, "binder"},
	{488, 488, "power"},
	{489, 489, "rpm"},
	{491, 491, "sched"},
	{495, 497, "f2fs"},
	{504, 505, "power"},
	{540, 540, "sched"},
	{541, 541, "devfreq"},
	{544, 545, "fs"},
	{546, 547, "block"},
	{551, 558, "timer"},
	{559, 560, "irq_vectors"},
	{561, 575, "dwc3"},
	{576, 576, "cma"},
	{577, 577, "kmem"},
	{582, 590, "hypervisor"},
	{591, 595, "gpu_scheduler"},
	{597, 599, "scsi"},
	{601, 601, "power"},
	{603, 603, "f2fs"},
	{604, 604, "sched"},
	{607, 608, "vmscan"},
	{614, 615, "power"},
};

#endif
