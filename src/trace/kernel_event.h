/* SPDX-License-Identifier: Apache-2.0
 * kernel_event.h - one kernel event, decoded, for the functions that make rows of it.
 */
#ifndef ORMA_TRACE_KERNEL_EVENT_H
#define ORMA_TRACE_KERNEL_EVENT_H

#include "trace/system.h"

enum { ORMA_KERNEL_FIELDS = 29 };

/* The fields of an event by number. A field that is absent, or has another wire type, is 0 or empty. */
struct orma_kernel_fields {
	uint32_t numbers, texts; /* bit N: field N is one */
	uint64_t values[ORMA_KERNEL_FIELDS];
	struct orma_str strings[ORMA_KERNEL_FIELDS];
};

struct orma_kernel_rule;

struct orma_kernel_call {
	struct orma_system *system;
	int64_t ts;
	uint32_t machine_idx, cpu;
	const struct orma_kernel_rule *rule; /* NULL = none */
	uint32_t id;                         /* number of the event's field in FtraceEvent */
	int64_t tid;                         /* the thread that ran */
	struct orma_str bytes;               /* the event's message */
	uint64_t bundle;                     /* address of the bundle's packet */
	int64_t locator; /* place of the event, for arguments that are read later */
	struct orma_kernel_fields fields;
};

/* The arguments of slices of kernel events are read from the trace when they are asked for: the cells begin_packet and
 * end_packet of such slices have this bit, and the address of the event's field. */
#define ORMA_KERNEL_EVENT_BIT (INT64_C(1) << 62)

static inline uint64_t orma_kernel_field(const struct orma_kernel_fields *fields, unsigned field)
{
	return fields->numbers >> field & 1 ? fields->values[field] : 0;
}

static inline uint64_t orma_kernel_number(const struct orma_kernel_call *call, unsigned field)
{
	return orma_kernel_field(&call->fields, field);
}

static inline bool orma_kernel_has(const struct orma_kernel_call *call, unsigned field)
{
	return (call->fields.numbers | call->fields.texts) >> field & 1;
}

/* `data` is not NULL. */
static inline struct orma_str orma_kernel_text(const struct orma_kernel_call *call, unsigned field)
{
	return call->fields.texts >> field & 1 ? call->fields.strings[field] : ORMA_STR("");
}

void orma_kernel_fields_read(struct orma_kernel_fields *fields, struct orma_str bytes);

/* The cell of a text of this program. */
int64_t orma_kernel_constant(const struct orma_kernel_call *call, const char *text);
/* The cell of the text in the buffer of the system. `r` is the result of printing it there: an error of it is kept. */
int64_t orma_kernel_printed(const struct orma_kernel_call *call, int r);
/* The thread that has a tid, or a negative errno value. */
int64_t orma_kernel_thread(const struct orma_kernel_call *call, int64_t tid);
/* The track of the thread that ran, or of another one. Also negative errno values. */
int64_t orma_kernel_thread_track(const struct orma_kernel_call *call, int64_t tid);
/* The name of a kernel function: its symbol, else its number in hex. */
int64_t orma_kernel_function(const struct orma_kernel_call *call, uint64_t iid);

/* Adds a slice or ends one, with the event's own arguments if it has some. */
int orma_kernel_begin(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
		      int64_t name, int64_t arg_set_id);
int orma_kernel_instant(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
			int64_t name, int64_t arg_set_id);
int orma_kernel_end(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
		    int64_t name);
int orma_kernel_count(const struct orma_kernel_call *call, const struct orma_track_kind *kind,
		      const int64_t *values, double value);

/* Makes rows of an event. All return 0 or a negative errno value. */
typedef int orma_kernel_fn(const struct orma_kernel_call *call);
orma_kernel_fn orma_ftrace_sched_switch, orma_ftrace_sched_waking, orma_ftrace_blocked_reason,
	orma_ftrace_new_task, orma_ftrace_rename, orma_ftrace_process_free;
orma_kernel_fn orma_ftrace_sys_enter, orma_ftrace_sys_exit, orma_ftrace_print,
	orma_ftrace_driver_mark;
/* The kernel's name of a softirq; NULL when it has none. */
const char *orma_softirq_name(uint64_t vec);
orma_kernel_fn orma_ftrace_softirq_entry, orma_ftrace_funcgraph_entry, orma_ftrace_funcgraph_exit,
	orma_ftrace_kprobe, orma_ftrace_workqueue_start, orma_ftrace_cpuhp_enter;
orma_kernel_fn orma_ftrace_rss_stat, orma_ftrace_oom_score, orma_ftrace_cma_start,
	orma_ftrace_cma_info, orma_ftrace_cma_migrate, orma_ftrace_cma_finish;
orma_kernel_fn orma_ftrace_suspend_resume, orma_ftrace_suspend_minimal, orma_ftrace_device_pm_start,
	orma_ftrace_device_pm_end, orma_ftrace_wakeup_activate, orma_ftrace_wakeup_deactivate,
	orma_ftrace_rpm_status, orma_ftrace_device_frequency;
orma_kernel_fn orma_ftrace_net_receive, orma_ftrace_net_transmit, orma_ftrace_socket_state,
	orma_ftrace_kfree_skb;
orma_kernel_fn orma_ftrace_f2fs_iostat, orma_ftrace_f2fs_latency, orma_ftrace_read_start,
	orma_ftrace_read_end, orma_ftrace_dma_heap, orma_ftrace_ion_stat, orma_ftrace_ion_heap;
/* Events that the trace describes. */
orma_kernel_fn orma_ftrace_generic;

/* Ends a write() at a marker, which is a slice of its own. */
int orma_ftrace_cut_write(const struct orma_kernel_call *call);
/* Gives counters to processes that are known now. 0 or a negative errno value. */
int orma_ftrace_resolve_counters(struct orma_system *system);

/* The table of events has a rule for each event that becomes more than a row. */
const struct orma_kernel_rule *orma_kernel_rule_find(uint32_t id);
int orma_kernel_rule_run(const struct orma_kernel_rule *rule, const struct orma_kernel_call *call);
/* Adds the arguments that the event has as a slice. */
bool orma_kernel_rule_has_args(const struct orma_kernel_rule *rule);
/* The tracks of an event, or NULL. */
const struct orma_track_kind *orma_kernel_rule_kind(uint32_t id);
void orma_kernel_rule_args(const struct orma_kernel_rule *rule, const struct orma_kernel_call *call,
			   struct orma_arg_list *list);

#endif
