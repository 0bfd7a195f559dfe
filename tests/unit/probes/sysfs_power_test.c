/* SPDX-License-Identifier: Apache-2.0
 * sysfs_power_test.c - the data source linux.sysfs_power over made-up supplies.
 */
#include "fake_api.h"

#define SUPPLY "sys/class/power_supply/"

static void put_battery(const char *name, const char *charge)
{
	char path[128];
	snprintf(path, sizeof(path), SUPPLY "%s/type", name);
	fake_put(path, "Battery\n");
	snprintf(path, sizeof(path), SUPPLY "%s/present", name);
	fake_put(path, "1\n");
	snprintf(path, sizeof(path), SUPPLY "%s/charge_now", name);
	fake_put(path, charge);
}

static const char *battery_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->timestamp > 0);
	CHECK(packet->battery != NULL);
	return fake_text(packet->battery);
}

static void start_and_run(void)
{
	fake_start(0, "name: 'linux.sysfs_power'");
	fake_flush(0);
}

ORMA_TEST(a_battery_has_counters_and_no_name)
{
	fake_open(orma_probe_sysfs_power_new);
	put_battery("BAT0", "2500000\n");
	fake_put(SUPPLY "BAT0/capacity", "57\n");
	fake_put(SUPPLY "BAT0/current_now", "-750000\n");
	fake_put(SUPPLY "BAT0/current_avg", "-700000\n");
	fake_put(SUPPLY "BAT0/energy_now", "30120000\n");
	fake_put(SUPPLY "BAT0/voltage_now", "11859000\n");
	fake_put(SUPPLY "AC/type", "Mains\n");
	fake_put(SUPPLY "AC/online", "1\n");
	start_and_run();
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(battery_text(0),
		  "charge_counter_uah: 2500000 capacity_percent: 57 current_ua: -750000 "
		  "current_avg_ua: -700000 energy_counter_uwh: 30120000 voltage_uv: 11859000");
	fake_close();
}

ORMA_TEST(several_batteries_have_names_and_keep_them)
{
	fake_open(orma_probe_sysfs_power_new);
	put_battery("BAT0", "1\n");
	start_and_run();
	put_battery("BAT1", "2\n");
	fake_run();
	CHECK_STR(battery_text(0), "charge_counter_uah: 1");
	const char *first = battery_text(1), *second = battery_text(2);
	CHECK(fake_packet(1)->timestamp == fake_packet(2)->timestamp);
	if (strstr(first, "BAT1")) {
		const char *swap = first;
		first = second;
		second = swap;
	}
	CHECK_STR(first, "charge_counter_uah: 1 name: \"BAT0\"");
	CHECK_STR(second, "charge_counter_uah: 2 name: \"BAT1\"");
	fake_put(SUPPLY "BAT1/present", "0\n");
	fake_run();
	CHECK_STR(battery_text(3), "charge_counter_uah: 1 name: \"BAT0\"");
	fake_close();
}

ORMA_TEST(a_value_that_is_no_number_is_left_out)
{
	fake_open(orma_probe_sysfs_power_new);
	put_battery("BAT0", "unknown\n");
	fake_put(SUPPLY "BAT0/capacity", "");
	fake_put(SUPPLY "BAT0/voltage_now", "99999999999999999999\n");
	fake_put(SUPPLY "BAT0/energy_now", "7");
	start_and_run();
	CHECK_STR(battery_text(0), "energy_counter_uwh: 7");
	fake_close();
}

ORMA_TEST(a_machine_without_batteries_says_so_once)
{
	fake_open(orma_probe_sysfs_power_new);
	fake_capture_log();
	start_and_run();
	fake_run();
	CHECK_INT(fake_packet_count, 0);
	CHECK_STR(orma_base_buf_cstr(&fake_log),
		  "I: linux.sysfs_power: this machine has no battery\n");
	/* One that is attached later is recorded. */
	put_battery("hid-1", "5\n");
	fake_run();
	CHECK_STR(battery_text(0), "charge_counter_uah: 5");
	fake_close();
}

ORMA_TEST(a_probe_without_a_folder_is_refused)
{
	struct orma_probe_env env = {.proc_path = "/proc", .sys_path = "/nonexistent"};
	struct orma_probe *probe = NULL;
	CHECK_INT(orma_probe_sysfs_power_new(&env, &probe), -ENOENT);
	CHECK(probe == NULL);
}
