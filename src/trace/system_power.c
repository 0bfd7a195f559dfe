/* SPDX-License-Identifier: Apache-2.0
 * system_power.c - batteries.
 */
#include <errno.h>
#include <math.h>

#include "schema/gen/battery_counters.pb.h"
#include "trace/system_packets.h"

static int count(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		 struct orma_str battery, const char *counter, double value)
{
	static const struct orma_track_kind named = {
		.type = "battery_counter",
		.name = "batt.%0.%1",
		.dimensions = {{"battery_name", true}, {"counter_name", true}},
		.is_counter = true};
	struct orma_track_kind kind = named;
	if (battery.size == 0)
		kind.name = "batt.%1";
	return orma_system_count(
		system, machine_idx, ts, &kind,
		ORMA_DIMENSIONS(orma_system_text(system, battery),
				orma_tables_string(system->tables, orma_base_str(counter))),
		value, ORMA_CELL_NULL);
}

static int64_t divided_product(int64_t a, int64_t b, int64_t divisor)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) ? 0 : product / divisor;
}

static int take_all(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		    const struct orma_pb_battery_counters *battery)
{
	bool has_voltage = orma_pb_battery_counters_has_voltage_uv(battery);
	bool has_current = orma_pb_battery_counters_has_current_ua(battery);
	bool has_charge = orma_pb_battery_counters_has_charge_counter_uah(battery);
	bool has_energy = orma_pb_battery_counters_has_energy_counter_uwh(battery) && has_voltage &&
			  battery->voltage_uv > 0;
	const struct {
		const char *name;
		bool is_there;
		double value;
	} counters[] = {
		{"charge_uah", has_charge, (double)battery->charge_counter_uah},
		{"charge_uah", !has_charge && has_energy,
		 has_energy ? (double)divided_product(battery->energy_counter_uwh, 1000000,
						      battery->voltage_uv)
			    : 0},
		{"capacity_pct", orma_pb_battery_counters_has_capacity_percent(battery),
		 (double)battery->capacity_percent},
		{"current_ua", has_current, (double)battery->current_ua},
		{"current.avg_ua", orma_pb_battery_counters_has_current_avg_ua(battery),
		 (double)battery->current_avg_ua},
		{"voltage_uv", has_voltage, (double)battery->voltage_uv},
		/* The current is negative while it discharges; the power is not. */
		{"power_mw", has_current && has_voltage,
		 fabs((double)divided_product(battery->current_ua, battery->voltage_uv,
					      1000000000))},
	};
	int r = 0;
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters) && r == 0; i++)
		if (counters[i].is_there)
			r = count(system, machine_idx, ts, battery->name, counters[i].name,
				  counters[i].value);
	return r;
}

int orma_battery(struct orma_system *system, uint32_t machine_idx, int64_t ts,
		 struct orma_str content)
{
	struct orma_pb_battery_counters *battery;
	struct orma_arena arena = {0};
	int r = orma_pb_battery_counters_decode(content.data, content.size, &arena, &battery);
	if (r == 0)
		r = take_all(system, machine_idx, ts, battery);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}
