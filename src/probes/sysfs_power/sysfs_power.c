/* SPDX-License-Identifier: Apache-2.0
 * sysfs_power.c - the data source linux.sysfs_power: charge, current and voltage of batteries, once
 * a second.
 *
 * Owns the instances, which hold two flags. Each poll lists /sys/class/power_supply again, because
 * batteries of mice and docks come and go. A battery is a supply of the type Battery that does not
 * say that its bay is empty. Each becomes one BatteryCounters packet; all packets of a poll have
 * the same timestamp. Batteries have names in the trace only on machines with several, so that the
 * counters of the usual machine keep their usual names. Once an instance has met two, it names all.
 *
 * Each counter is a file of its own. Rejected: the file uevent, which has all values in one read,
 * but makes the driver query every property that the battery has, over slow buses.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "probes/probe_text.h"
#include "schema/gen/battery_counters.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define POLL_MS 1000u

struct power_probe {
	struct orma_probe base; /* first */
	int sys_fd;
	struct orma_buf names, text;
};

struct power_instance {
	struct orma_probe_instance base; /* first */
	bool has_names;                  /* there is, or was, more than one battery */
	bool is_none_logged;
};

static struct power_instance *to_instance(struct orma_probe_instance *base)
{
	return ORMA_CONTAINER_OF(base, struct power_instance, base);
}

static struct power_probe *to_probe(struct orma_probe *base)
{
	return ORMA_CONTAINER_OF(base, struct power_probe, base);
}

static bool file_is(struct power_probe *probe, int dir, const char *file, const char *wanted)
{
	struct orma_str text, line;

	return orma_probes_file_read_record(dir, file, &probe->text, &text) == 0 &&
	       orma_probes_text_line(&text, &line) && orma_base_str_is(line, wanted);
}

/* Opens the folder of a supply that is a battery. Returns its descriptor, or a negative number. */
static int open_battery(struct power_probe *probe, int supplies, const char *name)
{
	int dir = orma_probes_dir_open(supplies, name);

	if (dir >= 0 &&
	    (!file_is(probe, dir, "type", "Battery") || file_is(probe, dir, "present", "0")))
		dir = orma_base_fd_close(dir);
	return dir;
}

static void write_counter(struct orma_packet *packet, int dir, const char *file, uint32_t field_id)
{
	int64_t value;

	if (orma_probes_file_read_i64(dir, file, &value) == 0)
		orma_packet_int(packet, field_id, value);
}

static void write_battery(struct orma_probe_instance *instance, int dir, const char *name,
			  uint64_t now_ns)
{
	struct orma_nested nested;
	int64_t percent;
	struct orma_packet *packet = orma_packet_begin(instance->probe->source, instance->idx);

	if (!packet)
		return;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, now_ns);
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_BATTERY);
	write_counter(packet, dir, "charge_now", ORMA_PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH);
	if (orma_probes_file_read_i64(dir, "capacity", &percent) == 0)
		orma_packet_float(packet, ORMA_PB_BATTERY_COUNTERS_CAPACITY_PERCENT,
				  (float)percent);
	write_counter(packet, dir, "current_now", ORMA_PB_BATTERY_COUNTERS_CURRENT_UA);
	write_counter(packet, dir, "current_avg", ORMA_PB_BATTERY_COUNTERS_CURRENT_AVG_UA);
	write_counter(packet, dir, "energy_now", ORMA_PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH);
	write_counter(packet, dir, "voltage_now", ORMA_PB_BATTERY_COUNTERS_VOLTAGE_UV);
	if (to_instance(instance)->has_names)
		orma_packet_string(packet, ORMA_PB_BATTERY_COUNTERS_NAME, name);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

/* Calls write_battery() for each, or only counts them when `now_ns` is 0. */
static size_t visit_batteries(struct orma_probe_instance *base, int supplies, uint64_t now_ns)
{
	struct power_probe *probe = to_probe(base->probe);
	struct orma_str rest = {(const char *)probe->names.data, probe->names.size}, name;
	size_t count = 0;

	while (orma_probes_text_until(&rest, '\0', &name)) {
		ORMA_AUTO(orma_base_fd_closep) int dir = open_battery(probe, supplies, name.data);
		if (dir < 0)
			continue;
		count++;
		if (now_ns > 0)
			write_battery(base, dir, name.data, now_ns);
	}
	return count;
}

static void run(struct orma_probe_instance *base)
{
	struct power_instance *instance = to_instance(base);
	struct power_probe *probe = to_probe(base->probe);
	ORMA_AUTO(orma_base_fd_closep)
	int supplies = orma_probes_dir_open(probe->sys_fd, "class/power_supply");
	size_t count = 0;

	if (supplies >= 0 && orma_probes_dir_names(supplies, ".", &probe->names) == 0) {
		if (!instance->has_names)
			instance->has_names = visit_batteries(base, supplies, 0) > 1;
		count = visit_batteries(base, supplies, orma_base_clock_ns(CLOCK_BOOTTIME));
	}
	if (count == 0 && !instance->is_none_logged)
		orma_base_log(ORMA_LOG_INFO, "linux.sysfs_power: this machine has no battery");
	instance->is_none_logged |= count == 0;
}

/* There is nothing to configure. */
static int setup(struct orma_probe_instance *base, const void *config, size_t size)
{
	(void)config;
	(void)size;
	base->period_ms = POLL_MS;
	return 0;
}

static bool start(struct orma_probe_instance *base)
{
	(void)base;
	return true;
}

static int open_probe(struct orma_probe *base, const struct orma_probe_env *env)
{
	return to_probe(base)->sys_fd = orma_probes_dir_open(AT_FDCWD, env->sys_path);
}

static void close_probe(struct orma_probe *base)
{
	struct power_probe *probe = to_probe(base);

	orma_base_fd_close(probe->sys_fd);
	orma_base_buf_done(&probe->names);
	orma_base_buf_done(&probe->text);
}

static const struct orma_probe_ops ops = {
	.name = "linux.sysfs_power",
	.probe_bytes = sizeof(struct power_probe),
	.instance_bytes = sizeof(struct power_instance),
	.open = open_probe,
	.close = close_probe,
	.setup = setup,
	.start = start,
	.run = run,
};

int orma_probe_sysfs_power_new(const struct orma_probe_env *env, struct orma_probe **ret)
{
	return orma_probe_make(&ops, env, ret);
}
