/* SPDX-License-Identifier: Apache-2.0
 * metatrace.c - the data source perfetto.metatrace: the probes' own spans and counters in the form
 * that Perfetto's tools know.
 *
 * Owns the instances. Each span and each counter is one PerfettoMetatrace packet. Where Perfetto's
 * probes have an event of the same meaning, the packet has its number, which readers turn into its
 * name; other packets have a name.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "probes/probe.h"
#include "probes/self_trace/self_trace.h"
#include "schema/gen/perfetto_metatrace.pb.h"
#include "schema/gen/trace_packet.pb.h"

struct metatrace_instance {
	struct orma_probe_instance base; /* first */
	struct orma_self_listener listener;
	uint32_t tid; /* the loop's thread */
};

/* Numbers of Perfetto's events and counters; they never change. */
static const struct {
	const char *name;
	uint32_t number;
} perfetto_events[] =
	{
		{"linux.sys_stats", 12},     /* READ_SYS_STATS */
		{"linux.process_stats", 16}, /* PS_WRITE_ALL_PROCESS_STATS */
		{"drain ftrace", 18},        /* FTRACE_READ_TICK */
		{"linux.sysfs_power", 38},   /* LINUX_POWER_SYSFS_TICK */
},
  perfetto_counters[] = {
	  {"ftrace pages", 1}, /* FTRACE_PAGES_DRAINED */
};

static struct metatrace_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct metatrace_instance, base);
}

static struct orma_packet *packet_begin(struct metatrace_instance *instance,
					struct orma_nested *nested, uint64_t time_ns)
{
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);

	if (!packet)
		return NULL;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, time_ns);
	orma_packet_nested_begin(packet, nested, ORMA_PB_TRACE_PACKET_PERFETTO_METATRACE);
	orma_packet_varint(packet, ORMA_PB_PERFETTO_METATRACE_THREAD_ID, instance->tid);
	return packet;
}

static void packet_end(struct orma_packet *packet, struct orma_nested *nested)
{
	orma_packet_nested_end(packet, nested);
	orma_packet_end(packet);
}

static void on_span(void *ctx, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	struct orma_nested nested;
	struct orma_packet *packet = packet_begin(ctx, &nested, begin_ns);
	size_t i = 0;

	if (!packet)
		return;
	while (i < ORMA_ARRAY_SIZE(perfetto_events) && strcmp(perfetto_events[i].name, name) != 0)
		i++;
	if (i < ORMA_ARRAY_SIZE(perfetto_events))
		orma_packet_varint(packet, ORMA_PB_PERFETTO_METATRACE_EVENT_ID,
				   perfetto_events[i].number);
	else
		orma_packet_string(packet, ORMA_PB_PERFETTO_METATRACE_EVENT_NAME, name);
	orma_packet_varint(packet, ORMA_PB_PERFETTO_METATRACE_EVENT_DURATION_NS, end_ns - begin_ns);
	packet_end(packet, &nested);
}

static void on_counter(void *ctx, const char *name, uint64_t now_ns, int64_t value)
{
	struct orma_nested nested;
	struct orma_packet *packet = packet_begin(ctx, &nested, now_ns);
	size_t i = 0;

	if (!packet)
		return;
	while (i < ORMA_ARRAY_SIZE(perfetto_counters) &&
	       strcmp(perfetto_counters[i].name, name) != 0)
		i++;
	if (i < ORMA_ARRAY_SIZE(perfetto_counters))
		orma_packet_varint(packet, ORMA_PB_PERFETTO_METATRACE_COUNTER_ID,
				   perfetto_counters[i].number);
	else
		orma_packet_string(packet, ORMA_PB_PERFETTO_METATRACE_COUNTER_NAME, name);
	/* The field has 32 bits. */
	orma_packet_int(packet, ORMA_PB_PERFETTO_METATRACE_COUNTER_VALUE,
			ORMA_MIN(value, (int64_t)INT32_MAX));
	packet_end(packet, &nested);
}

/* There is nothing to configure. */
static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	(void)base;
	(void)config;
	(void)size;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	struct metatrace_instance *instance = to_instance(base);

	instance->tid = (uint32_t)syscall(SYS_gettid);
	instance->listener = (struct orma_self_listener){
		.on_span = on_span, .on_counter = on_counter, .ctx = instance};
	orma_self_listen(base->probe->self, &instance->listener);
	return false;
}

static void destroy(struct orma_probe_instance *base)
{
	orma_self_unlisten(base->probe->self, &to_instance(base)->listener);
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	(void)base;
	(void)env;
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	(void)base;
}

static const struct orma_probe_ops ops = {
	.name = "perfetto.metatrace",
	.probe_bytes = sizeof(struct orma_probe),
	.instance_bytes = sizeof(struct metatrace_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.destroy = destroy,
};

int orma_probe_metatrace_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
