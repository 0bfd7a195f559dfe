/* SPDX-License-Identifier: Apache-2.0
 * system_info.c - the data source linux.system_info: describes the machine, once per session.
 *
 * An instance writes one CpuInfo packet, and one InterruptInfo packet if the configuration asks for
 * it and there are interrupts. If cpuinfo does not number the CPUs, each CPU folder in /sys becomes
 * an entry.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "probes/system_info/machine_parse.h"
#include "schema/gen/cpu_info.pb.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/interrupt_info.pb.h"
#include "schema/gen/system_info_config.pb.h"
#include "schema/gen/trace_packet.pb.h"

struct info_probe {
	struct orma_probe base; /* first */
	int proc_fd;
	int cpu_fd; /* /sys/devices/system/cpu; -1 = missing */
	struct orma_buf text, other_text;
	struct orma_probes_numbers numbers;
};

struct info_instance {
	struct orma_probe_instance base; /* first */
	struct info_probe *probe;
	bool has_irq_names;
};

/* ---- CPUs ---- */

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static void collect_frequencies(struct info_probe *probe, uint32_t cpu, const char *file)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text, line, word;
	uint32_t khz;
	if (orma_probes_file_read_record(probe->cpu_fd, orma_probes_path(path, "cpu", cpu, file),
					 &probe->other_text, &text) < 0 ||
	    !orma_probes_text_line(&text, &line))
		return;
	while (orma_probes_text_word(&line, &word))
		if (orma_probes_text_u32(word, &khz))
			orma_probes_numbers_add(&probe->numbers, khz);
}

/* Writes the frequencies in ascending order, each once. */
static void write_frequencies(struct info_probe *probe, struct orma_packet *packet, uint32_t cpu)
{
	struct orma_probes_numbers *khz = &probe->numbers;
	khz->count = 0;
	collect_frequencies(probe, cpu, "/cpufreq/scaling_available_frequencies");
	collect_frequencies(probe, cpu, "/cpufreq/scaling_boost_frequencies");
	if (khz->count > 0)
		qsort(khz->items, khz->count, sizeof(*khz->items), compare_u32);
	for (size_t i = 0; i < khz->count; i++)
		if (i == 0 || khz->items[i] != khz->items[i - 1])
			orma_packet_varint(packet, ORMA_PB_CPU_INFO_CPU_FREQUENCIES, khz->items[i]);
}

static void write_cpu(struct info_probe *probe, struct orma_packet *packet,
		      const struct orma_probes_cpu *cpu)
{
	struct orma_nested nested, arm;
	char path[ORMA_PROBES_PATH_BYTES];
	uint64_t capacity;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_CPU_INFO_CPUS);
	orma_packet_bytes(packet, ORMA_PB_CPU_INFO_CPU_PROCESSOR, cpu->processor.data,
			  cpu->processor.size);
	if (orma_probes_file_read_u64(probe->cpu_fd,
				      orma_probes_path(path, "cpu", cpu->number, "/cpu_capacity"),
				      &capacity) == 0 &&
	    capacity <= UINT32_MAX)
		orma_packet_varint(packet, ORMA_PB_CPU_INFO_CPU_CAPACITY, capacity);
	write_frequencies(probe, packet, cpu->number);
	if (cpu->arm_present == (UINT32_C(1) << ORMA_ARM_COUNT) - 1) {
		orma_packet_nested_begin(packet, &arm, ORMA_PB_CPU_INFO_CPU_ARM_IDENTIFIER);
		for (uint32_t i = 0; i < ORMA_ARM_COUNT; i++)
			orma_packet_varint(packet,
					   ORMA_PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER + i,
					   cpu->arm[i]);
		orma_packet_nested_end(packet, &arm);
	}
	if (cpu->features)
		orma_packet_varint(packet, ORMA_PB_CPU_INFO_CPU_FEATURES, cpu->features);
	orma_packet_nested_end(packet, &nested);
}

/* Writes the CPUs that have a folder; used when cpuinfo does not number them. */
static void write_unnamed_cpus(struct info_probe *probe, struct orma_packet *packet)
{
	struct orma_probes_numbers cpus = {0};
	if (probe->cpu_fd >= 0)
		orma_probes_dir_numbers(probe->cpu_fd, ".", "cpu", &cpus);
	for (size_t i = 0; i < cpus.count; i++) {
		struct orma_probes_cpu cpu = {.number = cpus.items[i],
					      .processor = ORMA_STR("unknown")};
		write_cpu(probe, packet, &cpu);
	}
	orma_probes_numbers_done(&cpus);
}

static void write_cpu_info(struct info_instance *instance)
{
	struct info_probe *probe = instance->probe;
	struct orma_probes_cpuinfo cpuinfo = {0};
	struct orma_probes_cpu cpu;
	struct orma_nested nested;
	struct orma_packet *packet = orma_packet_begin(probe->base.source, instance->base.idx);
	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_CPU_INFO);
	size_t count = 0;
	if (orma_probes_file_read(probe->proc_fd, "cpuinfo", &probe->text, &cpuinfo.rest) == 0)
		for (; orma_probes_cpuinfo_next(&cpuinfo, &cpu); count++)
			write_cpu(probe, packet, &cpu);
	if (count == 0)
		write_unnamed_cpus(probe, packet);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

/* ---- interrupts ---- */

/* Writes the name with one space between words. */
static void write_name(struct info_probe *probe, struct orma_packet *packet, struct orma_str name)
{
	struct orma_str word;
	probe->other_text.size = 0;
	while (orma_probes_text_word(&name, &word))
		if ((probe->other_text.size > 0 &&
		     orma_base_buf_append(&probe->other_text, " ", 1) < 0) ||
		    orma_base_buf_append(&probe->other_text, word.data, word.size) < 0)
			return;
	orma_packet_bytes(packet, ORMA_PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME,
			  probe->other_text.data, probe->other_text.size);
}

static void write_interrupt_info(struct info_instance *instance)
{
	struct info_probe *probe = instance->probe;
	struct orma_probes_interrupts interrupts;
	struct orma_probes_interrupt interrupt;
	struct orma_nested nested, mapping;
	struct orma_str text;
	if (orma_probes_file_read(probe->proc_fd, "interrupts", &probe->text, &text) < 0)
		return;
	orma_probes_interrupts_init(&interrupts, text);
	if (!orma_probes_interrupts_next(&interrupts, &interrupt))
		return;
	struct orma_packet *packet = orma_packet_begin(probe->base.source, instance->base.idx);
	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_INTERRUPT_INFO);
	do {
		orma_packet_nested_begin(packet, &mapping, ORMA_PB_INTERRUPT_INFO_IRQ_MAPPING);
		orma_packet_varint(packet, ORMA_PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID,
				   interrupt.number);
		write_name(probe, packet, interrupt.name);
		orma_packet_nested_end(packet, &mapping);
	} while (orma_probes_interrupts_next(&interrupts, &interrupt));
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

/* ---- instances ---- */

static struct info_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct info_instance, base);
}

static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	struct info_instance *instance = to_instance(base);
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_data_source_config *source;
	int r = orma_pb_data_source_config_decode(config, size, &arena, &source);

	if (r < 0)
		return r;
	instance->probe = ORMA_CONTAINER_OF(base->probe, struct info_probe, base);
	instance->has_irq_names =
		source->system_info_config && source->system_info_config->irq_names;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	(void)base;
	return true;
}

static void run(struct orma_probe_instance *base)
{
	struct info_instance *instance = to_instance(base);

	write_cpu_info(instance);
	if (instance->has_irq_names)
		write_interrupt_info(instance);
	/* Commits the chunk, because nothing follows that would fill it. */
	orma_data_source_flush_thread(base->probe->source, base->idx);
}

/* ---- the probe ---- */

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	struct info_probe *probe = ORMA_CONTAINER_OF(base, struct info_probe, base);

	probe->cpu_fd = -1;
	int r = probe->proc_fd = orma_probes_dir_open(AT_FDCWD, env->proc_path);
	if (r < 0)
		return r;
	ORMA_AUTO(orma_base_fd_closep) int sys_fd = orma_probes_dir_open(AT_FDCWD, env->sys_path);
	if (sys_fd >= 0)
		probe->cpu_fd = orma_probes_dir_open(sys_fd, "devices/system/cpu");
	return 0;
}

static void close_probe(struct orma_probe *base)
{
	struct info_probe *probe = ORMA_CONTAINER_OF(base, struct info_probe, base);

	orma_base_fd_close(probe->proc_fd);
	orma_base_fd_close(probe->cpu_fd);
	orma_base_buf_done(&probe->text);
	orma_base_buf_done(&probe->other_text);
	orma_probes_numbers_done(&probe->numbers);
}

static const struct orma_probe_ops ops = {
	.name = "linux.system_info",
	.probe_bytes = sizeof(struct info_probe),
	.instance_bytes = sizeof(struct info_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
};

int orma_probe_system_info_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
