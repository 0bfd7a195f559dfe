/* SPDX-License-Identifier: Apache-2.0
 * sys_proc.c - parses the system-wide files in /proc, and writes their values directly into a
 * packet.
 *
 * The input is the text of a file, and the output is fields of the SysStats message that is open in
 * the packet. Lines and numbers of an unexpected form are skipped, and the rest of the file is
 * still used. New kernels add fields at the ends of lines, and lines between others, and remove
 * none. So values are found by name, or by position from the left where there are no names.
 * Rejected: structs between parsing and writing, which would only hold a copy of the packet's
 * content.
 */
#include "probes/sys_stats/sys_stats.h"

#include "base/macros.h"
#include "probes/probe_text.h"
#include "schema/gen/sys_stats.pb.h"
#include "schema/gen/sys_stats_config.pb.h"

static void write_counter(struct orma_packet *packet, uint32_t field_id, uint32_t key,
			  uint64_t value)
{
	/* MeminfoValue and VmstatValue have the same ids. */
	_Static_assert((int)ORMA_PB_SYS_STATS_MEMINFO_VALUE_KEY ==
				       (int)ORMA_PB_SYS_STATS_VMSTAT_VALUE_KEY &&
			       (int)ORMA_PB_SYS_STATS_MEMINFO_VALUE_VALUE ==
				       (int)ORMA_PB_SYS_STATS_VMSTAT_VALUE_VALUE,
		       "one function for both");
	struct orma_nested nested;
	orma_packet_nested_begin(packet, &nested, field_id);
	orma_packet_varint(packet, ORMA_PB_SYS_STATS_MEMINFO_VALUE_KEY, key);
	orma_packet_varint(packet, ORMA_PB_SYS_STATS_MEMINFO_VALUE_VALUE, value);
	orma_packet_nested_end(packet, &nested);
}

/* "MemTotal:       16384256 kB" */
void orma_probes_sys_write_meminfo(struct orma_packet *packet, struct orma_str text,
				   const struct orma_probes_sys_counters *counters,
				   const struct orma_probes_sys_set *wanted)
{
	struct orma_str line, name;
	while (orma_probes_text_line(&text, &line)) {
		uint64_t value;
		if (!orma_probes_text_until(&line, ':', &name))
			continue;
		uint32_t key = orma_probes_sys_counters_find(counters, name);
		if (key && orma_probes_sys_set_has(wanted, key) &&
		    orma_probes_text_next_u64(&line, &value))
			write_counter(packet, ORMA_PB_SYS_STATS_MEMINFO, key, value);
	}
}

/* "nr_free_pages 12345" */
void orma_probes_sys_write_vmstat(struct orma_packet *packet, struct orma_str text,
				  const struct orma_probes_sys_counters *counters,
				  const struct orma_probes_sys_set *wanted)
{
	struct orma_str line, name;
	while (orma_probes_text_line(&text, &line)) {
		uint64_t value;
		if (!orma_probes_text_word(&line, &name))
			continue;
		uint32_t key = orma_probes_sys_counters_find(counters, name);
		if (key && orma_probes_sys_set_has(wanted, key) &&
		    orma_probes_text_next_u64(&line, &value))
			write_counter(packet, ORMA_PB_SYS_STATS_VMSTAT, key, value);
	}
}

/* ---- /proc/stat ---- */

/* Times after "cpuN", in clock ticks; old kernels have fewer. */
static void write_cpu_times(struct orma_packet *packet, uint32_t cpu, struct orma_str times,
			    uint64_t ns_per_tick)
{
	struct orma_nested nested;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_CPU_STAT);
	orma_packet_varint(packet, ORMA_PB_SYS_STATS_CPU_TIMES_CPU_ID, cpu);
	for (uint32_t field_id = ORMA_PB_SYS_STATS_CPU_TIMES_USER_NS;
	     field_id <= ORMA_PB_SYS_STATS_CPU_TIMES_STEAL_NS; field_id++) {
		uint64_t ticks = 0;
		orma_probes_text_next_u64(&times, &ticks);
		orma_packet_varint(packet, field_id, ticks * ns_per_tick);
	}
	orma_packet_nested_end(packet, &nested);
}

/* Writes the total, then one count per interrupt from 0 on. Thousands of counts may be 0; they are
 * written only with `is_zero_written`. */
static void write_interrupts(struct orma_packet *packet, struct orma_str counts,
			     uint32_t total_field_id, uint32_t field_id, bool is_zero_written)
{
	uint64_t count;
	if (!orma_probes_text_next_u64(&counts, &count))
		return;
	orma_packet_varint(packet, total_field_id, count);
	for (uint32_t irq = 0; orma_probes_text_next_u64(&counts, &count); irq++) {
		struct orma_nested nested;
		if (count == 0 && !is_zero_written)
			continue;
		orma_packet_nested_begin(packet, &nested, field_id);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_INTERRUPT_COUNT_IRQ, irq);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_INTERRUPT_COUNT_COUNT, count);
		orma_packet_nested_end(packet, &nested);
	}
}

void orma_probes_sys_write_stat(struct orma_packet *packet, struct orma_str text,
				const struct orma_probes_sys_set *wanted, uint64_t ns_per_tick)
{
	bool has_cpus = orma_probes_sys_set_has(
		wanted, ORMA_PB_SYS_STATS_CONFIG_STAT_COUNTERS_STAT_CPU_TIMES);
	bool has_irqs = orma_probes_sys_set_has(
		wanted, ORMA_PB_SYS_STATS_CONFIG_STAT_COUNTERS_STAT_IRQ_COUNTS);
	bool has_softirqs = orma_probes_sys_set_has(
		wanted, ORMA_PB_SYS_STATS_CONFIG_STAT_COUNTERS_STAT_SOFTIRQ_COUNTS);
	bool has_forks = orma_probes_sys_set_has(
		wanted, ORMA_PB_SYS_STATS_CONFIG_STAT_COUNTERS_STAT_FORK_COUNT);
	struct orma_str line, name;
	while (orma_probes_text_line(&text, &line)) {
		uint32_t cpu;
		uint64_t count;
		if (!orma_probes_text_word(&line, &name))
			continue;
		if (has_cpus && orma_probes_text_has_prefix(name, "cpu")) {
			/* "cpu" alone is the sum of all. */
			if (orma_probes_text_u32((struct orma_str){name.data + 3, name.size - 3},
						 &cpu))
				write_cpu_times(packet, cpu, line, ns_per_tick);
		} else if (has_irqs && orma_base_str_is(name, "intr")) {
			write_interrupts(packet, line, ORMA_PB_SYS_STATS_NUM_IRQ_TOTAL,
					 ORMA_PB_SYS_STATS_NUM_IRQ, false);
		} else if (has_softirqs && orma_base_str_is(name, "softirq")) {
			write_interrupts(packet, line, ORMA_PB_SYS_STATS_NUM_SOFTIRQ_TOTAL,
					 ORMA_PB_SYS_STATS_NUM_SOFTIRQ, true);
		} else if (has_forks && orma_base_str_is(name, "processes") &&
			   orma_probes_text_next_u64(&line, &count)) {
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_NUM_FORKS, count);
		}
	}
}

/* ---- memory, disks, pressure ---- */

/* "Node 0, zone   Normal   722    492 ..." */
void orma_probes_sys_write_buddyinfo(struct orma_packet *packet, struct orma_str text)
{
	struct orma_str line, word, node, zone;
	while (orma_probes_text_line(&text, &line)) {
		struct orma_nested nested;
		uint64_t count;
		if (!orma_probes_text_word(&line, &word) || !orma_base_str_is(word, "Node") ||
		    !orma_probes_text_until(&line, ',', &node) ||
		    !orma_probes_text_word(&line, &word) || !orma_base_str_is(word, "zone") ||
		    !orma_probes_text_word(&line, &zone))
			continue;
		node = orma_probes_text_trim(node);
		orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_BUDDY_INFO);
		orma_packet_bytes(packet, ORMA_PB_SYS_STATS_BUDDY_INFO_NODE, node.data, node.size);
		orma_packet_bytes(packet, ORMA_PB_SYS_STATS_BUDDY_INFO_ZONE, zone.data, zone.size);
		while (orma_probes_text_next_u64(&line, &count))
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_BUDDY_INFO_ORDER_PAGES,
					   (uint32_t)count);
		orma_packet_nested_end(packet, &nested);
	}
}

/* Columns of /proc/diskstats from 0; 0 = not written. */
static const uint8_t disk_fields[] = {
	[5] = ORMA_PB_SYS_STATS_DISK_STAT_READ_SECTORS,
	[6] = ORMA_PB_SYS_STATS_DISK_STAT_READ_TIME_MS,
	[9] = ORMA_PB_SYS_STATS_DISK_STAT_WRITE_SECTORS,
	[10] = ORMA_PB_SYS_STATS_DISK_STAT_WRITE_TIME_MS,
	[16] = ORMA_PB_SYS_STATS_DISK_STAT_DISCARD_SECTORS,
	[17] = ORMA_PB_SYS_STATS_DISK_STAT_DISCARD_TIME_MS,
	[18] = ORMA_PB_SYS_STATS_DISK_STAT_FLUSH_COUNT,
	[19] = ORMA_PB_SYS_STATS_DISK_STAT_FLUSH_TIME_MS,
};

/* "   8       0 sda 54133 5368 8221736 ..." */
void orma_probes_sys_write_diskstats(struct orma_packet *packet, struct orma_str text)
{
	struct orma_str line, name;
	while (orma_probes_text_line(&text, &line)) {
		struct orma_nested nested;
		uint64_t value;
		if (!orma_probes_text_next_u64(&line, &value) ||
		    !orma_probes_text_next_u64(&line, &value) ||
		    !orma_probes_text_word(&line, &name))
			continue;
		orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_DISK_STAT);
		orma_packet_bytes(packet, ORMA_PB_SYS_STATS_DISK_STAT_DEVICE_NAME, name.data,
				  name.size);
		for (size_t column = 3; column < ORMA_ARRAY_SIZE(disk_fields) &&
					orma_probes_text_next_u64(&line, &value);
		     column++)
			if (disk_fields[column])
				orma_packet_varint(packet, disk_fields[column], value);
		orma_packet_nested_end(packet, &nested);
	}
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=417963", in microseconds */
void orma_probes_sys_write_psi(struct orma_packet *packet, struct orma_str text, int some, int full)
{
	struct orma_str line, name, word;
	while (orma_probes_text_line(&text, &line)) {
		struct orma_nested nested;
		uint64_t total_us;
		if (!orma_probes_text_word(&line, &name))
			continue;
		int resource = orma_base_str_is(name, "some")   ? some
			       : orma_base_str_is(name, "full") ? full
								: 0;
		while (resource && orma_probes_text_word(&line, &word)) {
			if (!orma_probes_text_has_prefix(word, "total=") ||
			    !orma_probes_text_u64((struct orma_str){word.data + 6, word.size - 6},
						  &total_us))
				continue;
			orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_PSI);
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_PSI_SAMPLE_RESOURCE,
					   (uint64_t)resource);
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_PSI_SAMPLE_TOTAL_NS,
					   total_us * 1000);
			orma_packet_nested_end(packet, &nested);
			break;
		}
	}
}

/* ---- slabs ---- */

/* Cuts off the last word, and reads it as a number. */
static bool take_last_u64(struct orma_str *text, uint64_t *ret)
{
	*text = orma_probes_text_trim(*text);
	size_t begin = text->size;
	while (begin > 0 && text->data[begin - 1] != ' ')
		begin--;
	struct orma_str word = {text->data + begin, text->size - begin};
	text->size = begin;
	return orma_probes_text_u64(word, ret);
}

static bool split_at(struct orma_str text, const char *marker, struct orma_str *ret_before,
		     struct orma_str *ret_behind)
{
	size_t size = strlen(marker);
	const char *at = memmem(text.data, text.size, marker, size);
	if (!at)
		return false;
	*ret_before = (struct orma_str){text.data, (size_t)(at - text.data)};
	*ret_behind = (struct orma_str){at + size, text.size - ret_before->size - size};
	return true;
}

struct slab {
	struct orma_str name;
	uint64_t pages_per_slab, slab_count;
};

/*
 * "kmalloc-64  100  128  64  64  1 : tunables  32 16 8 : slabdata  2  2  0". The name ends five
 * numbers before the first marker, which holds also for caches whose name has a space in it.
 */
static bool slab_parse(struct orma_str line, struct slab *ret)
{
	struct orma_str rest, skipped;
	uint64_t number;
	if (!split_at(line, " : tunables ", &ret->name, &rest) ||
	    !split_at(rest, " : slabdata ", &skipped, &rest) || ret->name.size == 0 ||
	    ret->name.data[0] == '#')
		return false;
	if (!orma_probes_text_next_u64(&rest, &number) ||
	    !orma_probes_text_next_u64(&rest, &ret->slab_count) ||
	    !take_last_u64(&ret->name, &ret->pages_per_slab))
		return false;
	for (int i = 0; i < 4; i++)
		if (!take_last_u64(&ret->name, &number))
			return false;
	ret->name = orma_probes_text_trim(ret->name);
	return ret->name.size > 0;
}

void orma_probes_sys_write_slabinfo(struct orma_packet *packet, struct orma_str text)
{
	struct orma_str line;
	while (orma_probes_text_line(&text, &line)) {
		struct orma_nested nested;
		struct slab slab;
		if (!slab_parse(line, &slab))
			continue;
		orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_SLAB_INFO);
		orma_packet_bytes(packet, ORMA_PB_SYS_STATS_SLAB_INFO_NAME, slab.name.data,
				  slab.name.size);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_SLAB_INFO_PAGES_PER_SLAB,
				   (uint32_t)slab.pages_per_slab);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_SLAB_INFO_NUM_SLABS,
				   (uint32_t)slab.slab_count);
		orma_packet_nested_end(packet, &nested);
	}
}
