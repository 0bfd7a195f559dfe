/* SPDX-License-Identifier: Apache-2.0
 * kernel_rules.c - which slices and counters kernel events become, as a table.
 *
 * Most events are the begin or the end of a slice, or a value; a rule says on which track, under which name and with
 * which arguments. The others have a function. Several rules of one event follow each other. In the name of a slice, %N
 * is the value of field N and @N the kernel function that it means.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event.pb.h"
#include "trace/kernel_event.h"

enum action { COUNT, BEGIN, END, INSTANT };
/* A dimension of the track is the value of a field, or one of these; THREAD is added to the field of a tid. */
enum source { SOURCE_CPU = 0x40, SOURCE_EMITTER = 0x41, THREAD = 0x80 };
enum arg_kind { ARG_INT, ARG_UINT, ARG_EACH, ARG_HANDLED, ARG_FUNCTION, ARG_IF_ANY, ARG_TEXT };

struct orma_kernel_rule {
	uint32_t id;
	enum action action;
	const struct orma_track_kind *kind;
	uint8_t dimensions[2];
	uint8_t value; /* the field of a counter's value */
	bool is_signed;
	const char *category, *name;
	struct {
		const char *key;
		uint8_t field, kind;
	} args[9];
	orma_kernel_fn *run; /* instead of all this but the arguments */
};

#define COUNTER(type_, name_, key_, text_)                                                         \
	&(const struct orma_track_kind)                                                            \
	{                                                                                          \
		.type = (type_), .name = (name_), .dimensions = {{(key_), (text_)}},               \
		.is_counter = true                                                                 \
	}
#define SLICES(type_, name_, key_)                                                                 \
	&(const struct orma_track_kind)                                                            \
	{                                                                                          \
		.type = (type_), .name = (name_), .dimensions = { {(key_), false} }                \
	}
#define IRQ         SLICES("cpu_irq", "Irq Cpu %0", "cpu")
#define SOFTIRQ     SLICES("cpu_softirq", "SoftIrq Cpu %0", "cpu")
#define HRTIMER     SLICES("cpu_hrtimer", "Hrtimer Cpu %0", "cpu")
#define NAPI        SLICES("cpu_napi_gro", "Napi Gro Cpu %0", "cpu")
#define HOTPLUG     SLICES("cpu_hotplug", "CPU Hotplug %0", "cpu")
#define BLOCK       COUNTER("block_io", NULL, "block_device", false)
#define CLOCK       COUNTER("clock_state", "%0 State", "linux_device", true)
#define EVENT(name) ORMA_PB_FTRACE_EVENT_##name

static const struct orma_track_kind gpu_kind = {.type = "gpu_frequency",
						.unit = "kHz",
						.name = "gpufreq",
						.dimensions = {{"ugpu", false}, {"gpu", false}},
						.is_counter = true};
static const struct orma_track_kind retransmit_kind = {.type = "net_tcp_retransmit_skb",
						       .name = "TCP Retransmit Skb"};

/* clang-format off */
static const struct orma_kernel_rule rules[] = {
	{EVENT(SCHED_SWITCH), .run = orma_ftrace_sched_switch},
	{EVENT(SCHED_WAKING), .run = orma_ftrace_sched_waking},
	{EVENT(SCHED_BLOCKED_REASON), .run = orma_ftrace_blocked_reason},
	{EVENT(SYS_ENTER), .run = orma_ftrace_sys_enter, .args = {{"args", 2, ARG_EACH}}},
	{EVENT(SYS_EXIT), .run = orma_ftrace_sys_exit, .args = {{"ret", 2, ARG_IF_ANY}}},
	{EVENT(PRINT), .run = orma_ftrace_print},
	{80, .run = orma_ftrace_driver_mark},  {333, .run = orma_ftrace_driver_mark},
	{348, .run = orma_ftrace_driver_mark}, {349, .run = orma_ftrace_driver_mark},
	{350, .run = orma_ftrace_driver_mark}, {467, .run = orma_ftrace_driver_mark},
	{484, .run = orma_ftrace_driver_mark},
	{EVENT(TASK_NEWTASK), .run = orma_ftrace_new_task},
	{EVENT(TASK_RENAME), .run = orma_ftrace_rename},
	{EVENT(SCHED_PROCESS_FREE), .run = orma_ftrace_process_free},
	{EVENT(IRQ_HANDLER_ENTRY), BEGIN, IRQ, {SOURCE_CPU}, .category = "irq", .name = "IRQ (%2)"},
	{EVENT(IRQ_HANDLER_EXIT), END, IRQ, {SOURCE_CPU}, .category = "irq", .args = {{"ret", 2, ARG_HANDLED}}},
	{EVENT(LOCAL_TIMER_ENTRY), BEGIN, IRQ, {SOURCE_CPU}, .category = "irq", .name = "IRQ (LocalTimer)"},
	{EVENT(LOCAL_TIMER_EXIT), END, IRQ, {SOURCE_CPU}, .category = "irq"},
	{EVENT(SOFTIRQ_ENTRY), .kind = SOFTIRQ, .run = orma_ftrace_softirq_entry},
	{EVENT(SOFTIRQ_EXIT), END, SOFTIRQ, {SOURCE_CPU}, .category = "irq", .args = {{"vec", 1, ARG_INT}}},
	{EVENT(HRTIMER_EXPIRE_ENTRY), BEGIN, HRTIMER, {SOURCE_CPU}, .category = "hrtimer", .name = "@3"},
	{EVENT(HRTIMER_EXPIRE_EXIT), END, HRTIMER, {SOURCE_CPU}, .category = "hrtimer"},
	{EVENT(WORKQUEUE_EXECUTE_START), .run = orma_ftrace_workqueue_start},
	{EVENT(WORKQUEUE_EXECUTE_END), END, &orma_thread_kind, {SOURCE_EMITTER}, .category = "workqueue"},
	{EVENT(FUNCGRAPH_ENTRY), .run = orma_ftrace_funcgraph_entry},
	{EVENT(FUNCGRAPH_EXIT), .run = orma_ftrace_funcgraph_exit},
	{EVENT(KPROBE_EVENT), .run = orma_ftrace_kprobe},
	{EVENT(CPU_FREQUENCY), COUNT, COUNTER("cpu_frequency", "cpufreq", "cpu", false), {2}, .value = 1},
	{EVENT(CPU_FREQUENCY_LIMITS), COUNT, COUNTER("cpu_max_frequency_limit", "Cpu %0 Max Freq Limit", "cpu", false), {3}, .value = 2},
	{EVENT(CPU_FREQUENCY_LIMITS), COUNT, COUNTER("cpu_min_frequency_limit", "Cpu %0 Min Freq Limit", "cpu", false), {3}, .value = 1},
	{EVENT(CPU_IDLE), COUNT, COUNTER("cpu_idle", "cpuidle", "cpu", false), {2}, .value = 1},
	{EVENT(CLOCK_SET_RATE), COUNT, COUNTER("clock_frequency", "%0 Frequency", "linux_device", true), {1}, .value = 2},
	{EVENT(CLOCK_ENABLE), COUNT, CLOCK, {1}, .value = 2},
	{EVENT(CLOCK_DISABLE), COUNT, CLOCK, {1}, .value = 2},
	{EVENT(GPU_FREQUENCY), COUNT, &gpu_kind, {1, 1}, .value = 2},
	{EVENT(THERMAL_TEMPERATURE), COUNT, COUNTER("thermal_temperature", "%0 Temperature", "thermal_zone", true), {4}, .value = 2, .is_signed = true},
	{EVENT(CDEV_UPDATE), COUNT, COUNTER("cooling_device_counter", "%0 Cooling Device", "linux_device", true), {2}, .value = 1},
	{EVENT(SCHED_CPU_UTIL_CFS), COUNT, COUNTER("cpu_utilization", "Cpu %0 Util", "cpu", false), {4}, .value = 6},
	{EVENT(SCHED_CPU_UTIL_CFS), COUNT, COUNTER("cpu_capacity", "Cpu %0 Cap", "cpu", false), {4}, .value = 2},
	{EVENT(SCHED_CPU_UTIL_CFS), COUNT, COUNTER("cpu_nr_running", "Cpu %0 Nr Running", "cpu", false), {4}, .value = 11},
	{EVENT(DEVFREQ_FREQUENCY), .run = orma_ftrace_device_frequency},
	{EVENT(SUSPEND_RESUME), .run = orma_ftrace_suspend_resume},
	{EVENT(SUSPEND_RESUME_MINIMAL), .run = orma_ftrace_suspend_minimal},
	{EVENT(DEVICE_PM_CALLBACK_START), .run = orma_ftrace_device_pm_start},
	{EVENT(DEVICE_PM_CALLBACK_END), .run = orma_ftrace_device_pm_end},
	{EVENT(WAKEUP_SOURCE_ACTIVATE), .run = orma_ftrace_wakeup_activate},
	{EVENT(WAKEUP_SOURCE_DEACTIVATE), .run = orma_ftrace_wakeup_deactivate},
	{EVENT(RPM_STATUS), .run = orma_ftrace_rpm_status},
	{EVENT(CPUHP_ENTER), .kind = HOTPLUG, .run = orma_ftrace_cpuhp_enter},
	{EVENT(CPUHP_MULTI_ENTER), .kind = HOTPLUG, .run = orma_ftrace_cpuhp_enter},
	{EVENT(CPUHP_EXIT), END, HOTPLUG, .dimensions = {1}},
	{EVENT(BLOCK_IO_START), BEGIN, BLOCK, {1}, .name = "block_io", .args = {{"sector", 2, ARG_UINT}}},
	{EVENT(BLOCK_IO_DONE), END, BLOCK, {1}, .name = "block_io", .args = {{"sector", 2, ARG_UINT}}},
	{EVENT(RSS_STAT), .run = orma_ftrace_rss_stat},
	{EVENT(RSS_STAT_THROTTLED), .run = orma_ftrace_rss_stat},
	{EVENT(OOM_SCORE_ADJ_UPDATE), .run = orma_ftrace_oom_score},
	{EVENT(MARK_VICTIM), INSTANT, &orma_thread_kind, {THREAD | 1}, .name = "mem.oom_kill"},
	{EVENT(SIGNAL_GENERATE), INSTANT, &orma_thread_kind, {THREAD | 4}, .name = "signal_generate", .args = {{"signal.sig", 6, ARG_INT}}},
	{EVENT(SIGNAL_DELIVER), INSTANT, &orma_thread_kind, {SOURCE_EMITTER}, .name = "signal_deliver", .args = {{"signal.sig", 3, ARG_INT}}},
	{EVENT(MM_VMSCAN_DIRECT_RECLAIM_BEGIN), BEGIN, &orma_thread_kind, {SOURCE_EMITTER}, .name = "mm_vmscan_direct_reclaim",
	 .args = {{"direct_reclaim_order", 1, ARG_INT}, {"direct_reclaim_may_writepage", 2, ARG_INT}, {"direct_reclaim_gfp_flags", 3, ARG_UINT}}},
	{EVENT(MM_VMSCAN_DIRECT_RECLAIM_END), END, &orma_thread_kind, {SOURCE_EMITTER}, .args = {{"direct_reclaim_nr_reclaimed", 1, ARG_UINT}}},
	{EVENT(MM_VMSCAN_MEMCG_RECLAIM_BEGIN), BEGIN, &orma_thread_kind, {SOURCE_EMITTER}, .name = "mm_vmscan_memcg_reclaim",
	 .args = {{"memcg_reclaim_order", 1, ARG_INT}, {"memcg_reclaim_may_writepage", 2, ARG_INT}, {"memcg_reclaim_gfp_flags", 3, ARG_UINT}}},
	{EVENT(MM_VMSCAN_MEMCG_RECLAIM_END), END, &orma_thread_kind, {SOURCE_EMITTER}, .args = {{"memcg_reclaim_nr_reclaimed", 1, ARG_UINT}}},
	{EVENT(MM_SHRINK_SLAB_START), BEGIN, &orma_thread_kind, {SOURCE_EMITTER}, .name = "mm_vmscan_shrink_slab",
	 .args = {{"shrink_name", 8, ARG_FUNCTION}, {"total_scan", 9, ARG_UINT}, {"priority", 11, ARG_INT}}},
	{EVENT(MM_SHRINK_SLAB_END), END, &orma_thread_kind, {SOURCE_EMITTER}, .args = {{"freed", 2, ARG_INT}}},
	{EVENT(CMA_ALLOC_START), .run = orma_ftrace_cma_start},
	{EVENT(CMA_ALLOC_INFO), .run = orma_ftrace_cma_info, .args = {{"cma_name", 6, ARG_TEXT}, {"cma_pfn", 10, ARG_UINT}, {"cma_req_pages", 2, ARG_UINT},
	 {"cma_nr_migrated", 8, ARG_UINT}, {"cma_nr_reclaimed", 9, ARG_UINT}, {"cma_nr_mapped", 7, ARG_UINT},
	 {"cma_nr_isolate_fail", 3, ARG_UINT}, {"cma_nr_migrate_fail", 4, ARG_UINT}, {"cma_nr_test_fail", 5, ARG_UINT}}},
	{EVENT(MM_ALLOC_CONTIG_MIGRATE_RANGE_INFO), .run = orma_ftrace_cma_migrate},
	{EVENT(CMA_ALLOC_FINISH), .run = orma_ftrace_cma_finish},
	{EVENT(NETIF_RECEIVE_SKB), .run = orma_ftrace_net_receive},
	{EVENT(NET_DEV_XMIT), .run = orma_ftrace_net_transmit},
	{EVENT(INET_SOCK_SET_STATE), .run = orma_ftrace_socket_state},
	{EVENT(KFREE_SKB), .run = orma_ftrace_kfree_skb},
	{EVENT(TCP_RETRANSMIT_SKB), INSTANT, &retransmit_kind, .category = "tcp_event", .name = "sport=%6,dport=%2"},
	{EVENT(F2FS_IOSTAT), .run = orma_ftrace_f2fs_iostat},
	{EVENT(F2FS_IOSTAT_LATENCY), .run = orma_ftrace_f2fs_latency},
	{432, .run = orma_ftrace_read_start, .args = {{"file_path", 6, ARG_TEXT}, {"offset_start", 5, ARG_INT}, {"bytes_read_start", 1, ARG_INT}}},
	{431, .run = orma_ftrace_read_end, .args = {{"offset_end", 3, ARG_INT}, {"bytes_read_end", 1, ARG_INT}}},
	{351, .run = orma_ftrace_dma_heap}, {335, .run = orma_ftrace_ion_stat},
	{314, .run = orma_ftrace_ion_heap}, {315, .run = orma_ftrace_ion_heap},
	{EVENT(NAPI_GRO_RECEIVE_ENTRY), BEGIN, NAPI, {SOURCE_CPU}, .category = "napi_gro", .name = "%10", .args = {{"len", 7, ARG_INT}}},
	{EVENT(NAPI_GRO_RECEIVE_EXIT), END, NAPI, {SOURCE_CPU}, .category = "napi_gro", .args = {{"ret", 1, ARG_INT}}},
};
/* clang-format on */

const struct orma_kernel_rule *orma_kernel_rule_find(uint32_t id)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(rules); i++)
		if (rules[i].id == id)
			return &rules[i];
	return NULL;
}

bool orma_kernel_rule_has_args(const struct orma_kernel_rule *rule)
{
	return rule && rule->args[0].key;
}

const struct orma_track_kind *orma_kernel_rule_kind(uint32_t id)
{
	const struct orma_kernel_rule *rule = orma_kernel_rule_find(id);
	return rule ? rule->kind : NULL;
}

static int64_t dimension(const struct orma_kernel_call *call, const struct orma_kernel_rule *rule,
			 unsigned idx)
{
	unsigned source = rule->dimensions[idx];
	if (source == SOURCE_CPU)
		return call->cpu;
	if (source == SOURCE_EMITTER)
		return orma_kernel_thread(call, call->tid);
	if (source & THREAD)
		return orma_kernel_thread(
			call, (int32_t)orma_kernel_number(call, source & ~(unsigned)THREAD));
	if (rule->kind->dimensions[idx].is_text)
		return orma_system_text(call->system, orma_kernel_text(call, source));
	return (int64_t)orma_kernel_number(call, source);
}

static int append_field(const struct orma_kernel_call *call, unsigned field)
{
	struct orma_buf *text = &call->system->text;
	if (call->fields.texts >> field & 1)
		return orma_base_buf_append(text, call->fields.strings[field].data,
					    call->fields.strings[field].size);
	return call->fields.numbers >> field & 1
		       ? orma_base_buf_printf(text, "%lld", (long long)call->fields.values[field])
		       : 0;
}

/* The name of a slice, or NULL. */
static int64_t slice_name(const struct orma_kernel_call *call, const char *name)
{
	struct orma_buf *text = &call->system->text;
	int r = 0;
	if (!name)
		return ORMA_CELL_NULL;
	if (*name == '@')
		return orma_kernel_function(call,
					    orma_kernel_number(call, (unsigned)name[1] - '0'));
	text->size = 0;
	for (const char *at = name; *at && r == 0;) {
		unsigned field = 0;
		if (*at != '%') {
			r = orma_base_buf_append(text, at++, 1);
			continue;
		}
		for (at++; *at >= '0' && *at <= '9'; at++)
			field = field * 10 + (unsigned)(*at - '0');
		r = append_field(call, field);
	}
	if (r < 0)
		call->system->tables->error = r;
	return orma_system_text(call->system,
				(struct orma_str){(const char *)text->data, text->size});
}

static int run(const struct orma_kernel_rule *rule, const struct orma_kernel_call *call)
{
	int64_t values[ORMA_KIND_DIMENSIONS_MAX] = {0};
	for (unsigned i = 0; i < 2 && rule->kind->dimensions[i].key; i++)
		values[i] = dimension(call, rule, i);
	if (rule->action == COUNT) {
		uint64_t value = orma_kernel_number(call, rule->value);
		return orma_kernel_count(call, rule->kind, values,
					 rule->is_signed ? (double)(int64_t)value : (double)value);
	}
	int64_t track = orma_system_track(call->system, call->machine_idx, rule->kind, values);
	int64_t category = rule->category ? orma_tables_string(call->system->tables,
							       orma_base_str(rule->category))
					  : ORMA_CELL_NULL;
	int64_t name = slice_name(call, rule->name);
	if (rule->action == END)
		return orma_kernel_end(call, track, category, name);
	if (rule->action == BEGIN)
		return orma_kernel_begin(call, track, category, name, ORMA_CELL_NULL);
	return orma_kernel_instant(call, track, category, name, ORMA_CELL_NULL);
}

int orma_kernel_rule_run(const struct orma_kernel_rule *rule, const struct orma_kernel_call *call)
{
	int r = 0;
	if (rule->run)
		return rule->run(call);
	for (; rule < rules + ORMA_ARRAY_SIZE(rules) && rule->id == call->id && r == 0; rule++)
		r = run(rule, call);
	return r;
}

/* The values of a repeated field, each with its index. */
static void add_each(struct orma_arg_list *list, const char *key, unsigned id,
		     struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	unsigned count = 0;
	char name[32];
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == id && field.type == ORMA_PROTO_VARINT) {
			snprintf(name, sizeof(name), "%s[%u]", key, count++);
			orma_arg_list_add(list, orma_base_str(key), orma_base_str(name),
					  ORMA_ARG_UINT, (int64_t)field.value);
		}
}

static void add_arg(struct orma_arg_list *list, const struct orma_kernel_call *call,
		    const struct orma_kernel_rule *rule, unsigned idx)
{
	const char *key = rule->args[idx].key;
	struct orma_str name = orma_base_str(key);
	uint64_t value = orma_kernel_number(call, rule->args[idx].field);
	switch ((enum arg_kind)rule->args[idx].kind) {
	case ARG_IF_ANY:
		if (orma_kernel_has(call, rule->args[idx].field))
			orma_arg_list_add_int(list, key, (int64_t)value);
		break;
	case ARG_INT:
		orma_arg_list_add_int(list, key, (int64_t)value);
		break;
	case ARG_TEXT:
		orma_arg_list_add_string(list, key, orma_kernel_text(call, rule->args[idx].field));
		break;
	case ARG_UINT:
		orma_arg_list_add(list, name, name, ORMA_ARG_UINT, (int64_t)value);
		break;
	case ARG_HANDLED:
		orma_arg_list_add_string(list, key,
					 value == 1 ? ORMA_STR("handled") : ORMA_STR("unhandled"));
		break;
	case ARG_FUNCTION:
		orma_arg_list_add(list, name, name, ORMA_ARG_STRING,
				  orma_kernel_function(call, value));
		break;
	case ARG_EACH:
		add_each(list, key, rule->args[idx].field, call->bytes);
		break;
	}
}

void orma_kernel_rule_args(const struct orma_kernel_rule *rule, const struct orma_kernel_call *call,
			   struct orma_arg_list *list)
{
	for (unsigned i = 0; i < ORMA_ARRAY_SIZE(rule->args) && rule->args[i].key; i++)
		add_arg(list, call, rule, i);
}
