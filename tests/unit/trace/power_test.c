/* SPDX-License-Identifier: Apache-2.0
 * power_test.c - energy, the states of parts, and the screen; and the clocks of other machines.
 */
#include "import_fixture.h"

static struct import_fixture fixture;

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 }\n"
#define RAIL(index, name)                                                                          \
	"rail_descriptor { index: " #index " rail_name: '" name "' subsys_name: 'sub' } "

ORMA_TEST(samples_of_power_rails_are_counted_at_their_own_times)
{
	import_text(&fixture,
		    PACKET("timestamp: 9000000 power_rails { " RAIL(0, "S2S_VDD_G3D") RAIL(
			    1, "L1%0") "energy_data { index: 0 timestamp_ms: 3 energy: 30 } "
				       "energy_data { index: 1 timestamp_ms: 1 energy: 10 } "
				       "energy_data { index: 0 timestamp_ms: 1 energy: 11 } "
				       "energy_data { index: 1 energy: 90 } }")
			    PACKET("timestamp: 2000000 sys_stats { num_forks: 20 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value track_id"),
		  "1000000 10 1\n1000000 11 0\n2000000 20 2\n3000000 30 0\n9000000 90 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "name type"),
		  "power.rails.gpu power_rails\npower.L1%0_uws power_rails\nnum_forks num_forks\n");
	int64_t set = orma_store_column_get(
		orma_tables_column(&fixture.tables, ORMA_TABLE_TRACK, ORMA_TRACK_SOURCE_ARG_SET_ID),
		1);
	CHECK_STR(import_args(&fixture, set), "raw_name=L1%0 subsystem_name=sub");
	set = orma_store_column_get(
		orma_tables_column(&fixture.tables, ORMA_TABLE_COUNTER, ORMA_COUNTER_ARG_SET_ID),
		0);
	CHECK_STR(import_args(&fixture, set), "packet_ts=9000000");
	import_done(&fixture);
}

ORMA_TEST(rails_of_two_sessions_and_machines_are_apart)
{
	import_text(&fixture,
		    PACKET("timestamp: 1 power_rails { session_uuid: 7 " RAIL(
			    0, "A") "energy_data { index: 0 energy: 1 } }")
			    PACKET("timestamp: 2 power_rails { session_uuid: 8 " RAIL(
				    0, "A") "energy_data { index: 0 energy: 2 } }")
				    PACKET("timestamp: 3 machine_id: 5 power_rails { session_uuid: "
					   "8 " RAIL(0, "A") "energy_data { index: 0 energy: 3 } "
							     "}"));
	CHECK_STR(import_counters(&fixture), "power.A_uws: 1\npower.A_uws: 2\npower.A_uws: 3\n");
	import_done(&fixture);
}

ORMA_TEST(rails_that_make_no_sense_are_counted)
{
	import_text(&fixture,
		    PACKET("timestamp: 1 power_rails { " RAIL(300, "A") "}")
			    PACKET("timestamp: 2 power_rails { energy_data { index: 300 energy: 1 "
				   "} energy_data { index: 1 timestamp_ms: 18446744073709551615 "
				   "energy: 1 } }"));
	CHECK_STR(import_counters(&fixture), "");
	CHECK_INT(import_stat(&fixture, "power_rail_empty_packet"), 1);
	CHECK_INT(import_stat(&fixture, "power_rail_unknown_index"), 1);
	CHECK_INT(import_stat(&fixture, "trace_sorter_negative_timestamp_dropped"), 1);
	import_done(&fixture);
}

/* Estimates: 1 describes consumers (1 id, 2 ordinal, 3 type, 4 name), 2 is a consumer, 3 its energy, 4 that of a user. */
ORMA_TEST(estimates_of_energy_are_counters_of_consumers_and_users)
{
	import_text(&fixture,
		    PACKET("timestamp: 5 77 { 2: 3 3: 50 4 { 1: 10001 2: 20 } 4 { 1: 10002 } }")
			    PACKET("77 { 1 { 1 { 1: 3 2: 1 3: 'CPU' 4: 'big%1' } 1 { 4: 'lost' } } "
				   "}") PACKET("timestamp: 6 77 { 2: 4 3: 9 }"));
	CHECK_STR(import_counters(&fixture), "big%1: 50\nbig%1: 20\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type"),
		  "android_energy_estimation_breakdown\n"
		  "android_energy_estimation_breakdown_per_uid\n");
	int64_t set = orma_store_column_get(
		orma_tables_column(&fixture.tables, ORMA_TABLE_TRACK, ORMA_TRACK_SOURCE_ARG_SET_ID),
		0);
	CHECK_STR(import_args(&fixture, set), "consumer_type=CPU ordinal=1");
	CHECK_INT(import_stat(&fixture, "energy_descriptor_invalid"), 1);
	CHECK_INT(import_stat(&fixture, "energy_breakdown_missing_values"), 1);
	CHECK_INT(import_stat(&fixture, "energy_uid_breakdown_missing_values"), 1);
	import_done(&fixture);
}

/* States: 1 describes (1 part, 2 state, 3 and 4 their names), 2 has a time in milliseconds in its field 3. */
ORMA_TEST(times_in_states_of_parts_are_counters)
{
	import_text(&fixture,
		    PACKET("timestamp: 5 91 { 1 { 1: 0 2: 1 3: 'Modem' 4: 'On' } 1 { 1: 0 } "
			   "2 { 1: 0 2: 1 3: 40 } 2 { 1: 0 2: 2 3: 50 } }")
			    PACKET("timestamp: 6 91 { }"));
	CHECK_STR(import_counters(&fixture), "Entity residency: Modem is On: 40\n");
	CHECK_INT(import_stat(&fixture, "entity_state_descriptor_invalid"), 1);
	CHECK_INT(import_stat(&fixture, "entity_state_residency_lookup_failed"), 1);
	CHECK_INT(import_stat(&fixture, "entity_state_residency_invalid"), 1);
	import_done(&fixture);
}

#define PROPERTY(name, value) "1 { 1: 'debug.tracing." name "' 2: '" value "' } "

ORMA_TEST(the_screen_and_batteries_are_counters_of_the_whole_system)
{
	import_text(&fixture,
		    PACKET("timestamp: 5 70 { 1: 2 }")
			    PACKET("timestamp: 6 86 { " PROPERTY("screen_state", "1") PROPERTY(
				    "battery_stats.wifi", "-4") PROPERTY("plug_type", "3")
					   PROPERTY("mcc", "12x") PROPERTY("mcc", "2147483648")
						   PROPERTY("other", "5") "1 { 1: 'mnc' 2: '1' } }")
				    PACKET("ftrace_events { cpu: 0 event { timestamp: 7 pid: 9 "
					   "print { buf: 'C|9|battery_stats.wifi|7' } } event { "
					   "timestamp: 8 pid: 9 print { buf: 'C|9|ScreenState|0' } "
					   "} event { timestamp: 9 pid: 9 print { buf: "
					   "'C|9|battery|1' } } }"));
	CHECK_STR(import_counters(&fixture),
		  "ScreenState: 2 1 0\nbattery_stats.wifi: -4 7\nPlugType: 3\nbattery: 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type"),
		  "screen_state\nbattery_stats\nsysprop_counter\natrace_counter\n");
	import_done(&fixture);
}

#define EXCHANGE(other, host)                                                                      \
	"synced_clocks { client_clocks { clocks { clock_id: 6 timestamp: " #other " } "            \
	"clocks { clock_id: 3 timestamp: 7 } } host_clocks { clocks { clock_id: 6 "                \
	"timestamp: " #host " } } } "

ORMA_TEST(clocks_of_another_machine_are_related_by_exchanges)
{
	import_text(&fixture,
		    PACKET("timestamp: 1 sys_stats { num_forks: 1 }") PACKET(
			    "machine_id: 9 remote_clock_sync { " EXCHANGE(10000, 120000)
				    EXCHANGE(25000, 135000) EXCHANGE(90000000000, 5) "}")
			    PACKET("machine_id: 9 timestamp: 1000 sys_stats { num_forks: 2 }"));
	/* The differences are 102500 and 102500; the third exchange is of another round. */
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "1 1\n103500 2\n");
	import_done(&fixture);
}

ORMA_TEST(one_exchange_relates_no_clocks)
{
	import_text(&fixture,
		    PACKET("timestamp: 1 sys_stats { num_forks: 1 }") PACKET(
			    "machine_id: 9 remote_clock_sync { " EXCHANGE(10000, 120000) "}")
			    PACKET("machine_id: 9 timestamp: 1000 sys_stats { num_forks: 2 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "1 1\n1000 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CLOCK_SNAPSHOT, "ts"), "");
	import_done(&fixture);
}
