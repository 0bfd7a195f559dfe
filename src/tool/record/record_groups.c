/* SPDX-License-Identifier: Apache-2.0
 * record_groups.c - the events of the kernel and the polled values that each group stands for.
 *
 * A group answers one question ("was it running?", "at which frequency?"). Events that a group needs
 * to be understood belong to it: a timeline of threads needs their names, so `sched` has the events
 * of new, renamed and ended tasks. Events of which a kernel makes more than a hundred thousand a
 * second in ordinary work (each page, each timer) are in no group; they can be named as
 * "group/event". An event that a kernel lacks is counted in the trace's FtraceStats and is no error.
 *
 * A group also names what a probe can poll without root, so that it says something to every user.
 */
#include "tool/record/record_groups.h"

#include <string.h>

#include "base/macros.h"

const struct orma_record_group orma_record_groups[] = {
	{"sched", "which thread ran when and on which CPU, and what woke it",
	 "sched/sched_switch sched/sched_waking sched/sched_wakeup_new sched/sched_process_exec "
	 "sched/sched_process_exit sched/sched_process_free task/task_newtask task/task_rename",
	 "", "", NULL},
	{"freq", "the frequencies of the CPUs",
	 "power/cpu_frequency power/cpu_frequency_limits power/suspend_resume", "",
	 "      cpufreq_period_ms: 250\n", NULL},
	{"idle", "the idle states of the CPUs", "power/cpu_idle power/suspend_resume", "",
	 "      cpuidle_period_ms: 250\n", NULL},
	{"irq", "interrupts and what they set off",
	 "irq/irq_handler_entry irq/irq_handler_exit irq/softirq_entry irq/softirq_exit "
	 "irq/softirq_raise ipi/ipi_raise ipi/ipi_entry ipi/ipi_exit",
	 "", "", NULL},
	{"syscalls", "system calls, with their results",
	 "raw_syscalls/sys_enter raw_syscalls/sys_exit", "", "", NULL},
	{"block", "requests to disks",
	 "block/block_rq_insert block/block_rq_issue block/block_rq_complete", "",
	 "      diskstat_period_ms: 1000\n", NULL},
	{"net", "packets, and the states of connections",
	 "net/net_dev_queue net/net_dev_xmit net/netif_receive_skb napi/napi_poll "
	 "sock/inet_sock_set_state tcp/tcp_retransmit_skb skb/kfree_skb",
	 "", "", NULL},
	{"memory", "memory of processes, and how hard the kernel looks for more",
	 "kmem/rss_stat oom/oom_score_adj_update oom/mark_victim "
	 "vmscan/mm_vmscan_direct_reclaim_begin vmscan/mm_vmscan_direct_reclaim_end "
	 "vmscan/mm_vmscan_kswapd_wake vmscan/mm_vmscan_kswapd_sleep "
	 "compaction/mm_compaction_begin "
	 "compaction/mm_compaction_end",
	 "      throttle_rss_stat: true\n", "      psi_period_ms: 250\n", NULL},
	{"power", "suspend, clocks, regulators, temperatures and batteries",
	 "power/suspend_resume power/device_pm_callback_start power/device_pm_callback_end "
	 "power/wakeup_source_activate power/wakeup_source_deactivate power/clock_set_rate "
	 "clk/clk_set_rate clk/clk_enable clk/clk_disable thermal/thermal_temperature "
	 "thermal/cdev_update",
	 "", "      thermal_period_ms: 1000\n", "linux.sysfs_power"},
};

const size_t orma_record_group_count = ORMA_ARRAY_SIZE(orma_record_groups);

const struct orma_record_group *orma_record_group_find(const char *name)
{
	for (size_t i = 0; i < orma_record_group_count; i++)
		if (strcmp(orma_record_groups[i].name, name) == 0)
			return &orma_record_groups[i];
	return NULL;
}
