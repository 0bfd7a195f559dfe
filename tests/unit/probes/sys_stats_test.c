/* SPDX-License-Identifier: Apache-2.0
 * sys_stats_test.c - the data source linux.sys_stats over made-up trees.
 */
#include "fake_api.h"
#include "probes/sys_stats/sys_stats.h"
#include "schema/gen/sys_stats.pb.h"
#include "schema/gen/sys_stats_counters.pb.h"

#define CONFIG(text) "name: 'linux.sys_stats' sys_stats_config { " text " }"

/* The SysStats of a packet without its end time. */
static const char *stats_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->sys_stats != NULL);
	CHECK(packet->timestamp > 0);
	CHECK(packet->sys_stats->collection_end_timestamp >= packet->timestamp);
	struct orma_buf buf = {0};
	static const char key[] = " collection_end_timestamp: ";
	orma_base_buf_printf(&buf, " %s", fake_text(packet->sys_stats));
	char *text = (char *)orma_base_buf_cstr(&buf), *found = strstr(text, key);
	CHECK(found != NULL);
	char *end = found + strlen(key);
	end += strspn(end, "0123456789");
	memmove(found, end, strlen(end) + 1);
	text = orma_base_arena_strdup(&fake_arena, orma_base_str(text[0] ? text + 1 : text));
	orma_base_buf_done(&buf);
	return text;
}

/* One poll of one group. */
static const char *poll_once(const char *config)
{
	fake_start(0, config);
	fake_flush(0);
	CHECK_INT(fake_packet_count, 1);
	return stats_text(0);
}

ORMA_TEST(meminfo_is_written_as_the_kernel_has_it)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo",
		 "MemTotal:        3744240 kB\nMemFree:           73328 kB\n"
		 "Active(anon):    1322636 kB\nNewThing:  5 kB\nHugePages_Total:  3\n"
		 "Committed_AS:   81911488 kB\nSUnreclaim:      99999999999999999999 kB\n"
		 "Cached:\nKernelStack: 62672");
	CHECK_STR(poll_once(CONFIG("meminfo_period_ms: 1000")),
		  "meminfo { key: MEMINFO_MEM_TOTAL value: 3744240 } "
		  "meminfo { key: MEMINFO_MEM_FREE value: 73328 } "
		  "meminfo { key: MEMINFO_ACTIVE_ANON value: 1322636 } "
		  "meminfo { key: MEMINFO_COMMITED_AS value: 81911488 } "
		  "meminfo { key: MEMINFO_KERNEL_STACK value: 62672 }");
	fake_close();
}

ORMA_TEST(counters_that_were_not_asked_for_are_left_out)
{
	fake_capture_log();
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo", "MemTotal: 1 kB\nMemFree: 2 kB\n");
	fake_put("proc/vmstat", "nr_free_pages 16449\nworkingset_restore_file 7\nunknown 3\n");
	CHECK_STR(poll_once(CONFIG("meminfo_period_ms: 1000 meminfo_counters: MEMINFO_MEM_FREE "
				   "vmstat_period_ms: 1000 "
				   "vmstat_counters: VMSTAT_WORKINGSET_RESTORE_FILE "
				   "vmstat_counters: VMSTAT_PGPGIN meminfo_counters: 0")),
		  "meminfo { key: MEMINFO_MEM_FREE value: 2 } "
		  "vmstat { key: VMSTAT_WORKINGSET_RESTORE_FILE value: 7 }");
	CHECK(fake_log_has("W: linux.sys_stats: meminfo_counters: 0 is not a counter"));
	fake_close();
}

ORMA_TEST(every_vmstat_counter_of_the_protocol_is_found_by_its_name)
{
	struct orma_probes_sys_counters counters;
	CHECK_INT(orma_probes_sys_counters_init_vmstat(&counters), 0);
	CHECK_INT(counters.by_hash.count, 188);
	CHECK_INT(orma_probes_sys_counters_find(&counters, ORMA_STR("nr_free_pages")),
		  ORMA_PB_VMSTAT_COUNTERS_VMSTAT_NR_FREE_PAGES);
	CHECK_INT(orma_probes_sys_counters_find(&counters, ORMA_STR("pgalloc_dma32")),
		  ORMA_PB_VMSTAT_COUNTERS_VMSTAT_PGALLOC_DMA32);
	CHECK_INT(orma_probes_sys_counters_find(&counters, ORMA_STR("NR_FREE_PAGES")), 0);
	CHECK_INT(orma_probes_sys_counters_find(&counters, ORMA_STR("")), 0);
	orma_probes_sys_counters_done(&counters);
	CHECK_INT(orma_probes_sys_counters_init_meminfo(&counters), 0);
	CHECK_INT(counters.by_hash.count, 38);
	for (uint32_t id = 1; id <= 38; id++) {
		struct orma_map_slot *slot;
		size_t position = 0, found = 0;
		while ((slot = orma_base_map_next(&counters.by_hash, &position)))
			found += *(uint32_t *)(void *)((char *)slot->value +
						       sizeof(struct orma_str)) == id;
		CHECK_INT(found, 1);
	}
	orma_probes_sys_counters_done(&counters);
}

static const char stat_text[] =
	"cpu  2655987 822682 2352153 8801203 41917 322733 175055 0 0 0\n"
	"cpu0 1 2 3 4 5 6 7 8 9 10\n"
	"cpu17 100\n"
	"cpux 1 2 3\n"
	"intr 238128517 0 5 0 63500984\n"
	"ctxt 373122860\nbtime 1536912218\nprocesses 243320\nprocs_running 1\n"
	"softirq 84611084 0 28299167\n";

ORMA_TEST(stat_gives_times_in_nanoseconds_interrupts_and_forks)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/stat", stat_text);
	CHECK_STR(
		poll_once(CONFIG("stat_period_ms: 1000")),
		"cpu_stat { cpu_id: 0 user_ns: 10000000 user_nice_ns: 20000000 "
		"system_mode_ns: 30000000 idle_ns: 40000000 io_wait_ns: 50000000 irq_ns: 60000000 "
		"softirq_ns: 70000000 steal_ns: 80000000 } "
		"cpu_stat { cpu_id: 17 user_ns: 1000000000 user_nice_ns: 0 system_mode_ns: 0 "
		"idle_ns: 0 io_wait_ns: 0 irq_ns: 0 softirq_ns: 0 steal_ns: 0 } "
		"num_forks: 243320 num_irq_total: 238128517 num_irq { irq: 1 count: 5 } "
		"num_irq { irq: 3 count: 63500984 } num_softirq_total: 84611084 "
		"num_softirq { irq: 0 count: 0 } num_softirq { irq: 1 count: 28299167 }");
	fake_close();
}

ORMA_TEST(parts_of_stat_can_be_chosen)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/stat", stat_text);
	CHECK_STR(poll_once(CONFIG("stat_period_ms: 1000 stat_counters: STAT_FORK_COUNT")),
		  "num_forks: 243320");
	fake_stop(0);
	fake_forget_packets();
	CHECK_STR(poll_once(CONFIG("stat_period_ms: 1000 stat_counters: STAT_SOFTIRQ_COUNTS "
				   "stat_counters: 77")),
		  "num_softirq_total: 84611084 num_softirq { irq: 0 count: 0 } "
		  "num_softirq { irq: 1 count: 28299167 }");
	fake_close();
}

ORMA_TEST(a_file_larger_than_any_buffer_is_read_to_its_end)
{
	struct orma_buf text = {0};
	fake_open(orma_probe_sys_stats_new);
	for (int cpu = 0; cpu < 4096; cpu++)
		orma_base_buf_printf(&text, "cpu%d 1 2 3 4 5 6 7 8 0 0\n", cpu);
	orma_base_buf_append_str(&text, "processes 9\n");
	CHECK(text.size > 65536);
	fake_put_bytes("proc/stat", text.data, text.size);
	fake_start(0, CONFIG("stat_period_ms: 1000"));
	fake_flush(0);
	struct orma_pb_sys_stats *stats = fake_packet(0)->sys_stats;
	CHECK_INT(stats->cpu_stat.count, 4096);
	CHECK_INT(stats->num_forks, 9);
	orma_base_buf_done(&text);
	fake_close();
}

ORMA_TEST(buddyinfo_gives_free_blocks_by_order)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/buddyinfo", "Node 0, zone      DMA      0      3      1 \n"
				   "garbage\nNode 1\nNode 12, zone   Normal    722    492\n\n");
	CHECK_STR(poll_once(CONFIG("buddyinfo_period_ms: 1000")),
		  "buddy_info { node: \"0\" zone: \"DMA\" order_pages: 0 order_pages: 3 "
		  "order_pages: 1 } "
		  "buddy_info { node: \"12\" zone: \"Normal\" order_pages: 722 order_pages: 492 }");
	fake_close();
}

ORMA_TEST(diskstats_of_old_and_new_kernels_give_what_they_have)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/diskstats",
		 "   8       0 sda 54133 5368 8221736 75929 30333 1157434 9599744 143190 0 63672 "
		 "249858 9595 0 2160072 19411 6649 11327\n"
		 " 253       0 zram0 13886 0 111088 128 57298 0 458384 48 0 15248 176\n"
		 "   8       1 sda1 18\n"
		 "   x       y z 1 2 3\n\n");
	CHECK_STR(poll_once(CONFIG("diskstat_period_ms: 1000")),
		  "disk_stat { device_name: \"sda\" read_sectors: 8221736 read_time_ms: 75929 "
		  "write_sectors: 9599744 write_time_ms: 143190 discard_sectors: 2160072 "
		  "discard_time_ms: 19411 flush_count: 6649 flush_time_ms: 11327 } "
		  "disk_stat { device_name: \"zram0\" read_sectors: 111088 read_time_ms: 128 "
		  "write_sectors: 458384 write_time_ms: 48 } "
		  "disk_stat { device_name: \"sda1\" }");
	fake_close();
}

ORMA_TEST(pressure_is_written_in_nanoseconds)
{
	fake_capture_log();
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/pressure/cpu", "some avg10=23.10 avg60=5.06 avg300=15.10 total=417963\n");
	fake_put("proc/pressure/memory",
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=2\nother total=3\nsome total=x\n");
	CHECK_STR(poll_once(CONFIG("psi_period_ms: 1000")),
		  "psi { resource: PSI_RESOURCE_CPU_SOME total_ns: 417963000 } "
		  "psi { resource: PSI_RESOURCE_MEMORY_SOME total_ns: 1000 } "
		  "psi { resource: PSI_RESOURCE_MEMORY_FULL total_ns: 2000 }");
	CHECK(fake_log_has("I: linux.sys_stats: nothing for psi_period_ms: pressure/io: "
			   "No such file"));
	fake_close();
}

ORMA_TEST(slabs_are_read_whatever_their_names_are)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put(
		"proc/slabinfo",
		"slabinfo - version: 2.1\n"
		"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> "
		": tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> "
		"<num_slabs> <sharedavail>\n"
		"nf_conntrack          12     12    320   12    4 : tunables   32   16    8 : "
		"slabdata      1      3      0\n"
		"a cache : with 1 2        100    100     64   64    1 : tunables   32   16    8 : "
		"slabdata      2      2      0\n"
		"broken 1 2 : tunables 1 1 1 : slabdata 1 1 1\n"
		" : tunables : slabdata \n: tunables\n");
	CHECK_STR(poll_once(CONFIG("slab_period_ms: 1000")),
		  "slab_info { name: \"nf_conntrack\" pages_per_slab: 4 num_slabs: 3 } "
		  "slab_info { name: \"a cache : with 1 2\" pages_per_slab: 1 num_slabs: 2 }");
	fake_close();
}

ORMA_TEST(what_the_machine_does_not_have_is_said_once_and_left_out)
{
	fake_capture_log();
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo", "MemTotal: 1 kB\n");
	fake_start(0, CONFIG("meminfo_period_ms: 10 slab_period_ms: 10 thermal_period_ms: 10 "
			     "devfreq_period_ms: 10 gpufreq_period_ms: 10 cpufreq_period_ms: 10 "
			     "cpuidle_period_ms: 10"));
	fake_run_until(3);
	CHECK_STR(stats_text(2), "meminfo { key: MEMINFO_MEM_TOTAL value: 1 }");
	const char *all = orma_base_buf_cstr(&fake_log);
	size_t lines = 0;
	for (const char *at = all; (at = strchr(at, '\n')); at++)
		lines++;
	CHECK_INT(lines, 4);
	CHECK(fake_log_has("nothing for slab_period_ms: slabinfo: No such file or directory"));
	CHECK(!fake_log_has("E: "));
	fake_close();
}

ORMA_TEST(a_kernel_without_pressure_gives_the_rest)
{
	fake_capture_log();
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo", "MemTotal: 1 kB\n");
	fake_start(0, CONFIG("psi_period_ms: 10 meminfo_period_ms: 10"));
	fake_run_until(2);
	CHECK_STR(stats_text(1), "meminfo { key: MEMINFO_MEM_TOTAL value: 1 }");
	CHECK(fake_log_has("nothing for psi_period_ms: pressure/cpu: No such file"));
	CHECK(!fake_log_has("E: "));
	fake_close();
}

ORMA_TEST(a_cpu_that_goes_offline_between_two_polls_is_left_out)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "800000\n");
	fake_put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "900000\n");
	fake_start(0, CONFIG("cpufreq_period_ms: 10"));
	fake_run_until(1);
	CHECK_STR(stats_text(0), "cpufreq_khz: 800000 cpufreq_khz: 900000");
	fake_remove("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
	fake_run_until(2);
	/* Values are placed by the number of their CPU. */
	CHECK_STR(stats_text(1), "cpufreq_khz: 0 cpufreq_khz: 900000");
	fake_close();
}

/* ---- devices ---- */

ORMA_TEST(frequencies_of_cpus_are_placed_by_their_number)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq", "1000\n");
	fake_put("sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "3000000\n");
	fake_put("sys/devices/system/cpu/cpu0/online", "1\n");
	fake_put("sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "<unsupported>\n");
	fake_put("sys/devices/system/cpu/cpufreq/boost", "1\n");
	CHECK_STR(poll_once(CONFIG("cpufreq_period_ms: 1000")),
		  "cpufreq_khz: 0 cpufreq_khz: 0 cpufreq_khz: 3000000 cpufreq_khz: 0 "
		  "cpufreq_khz: 0 cpufreq_khz: 0 cpufreq_khz: 0 cpufreq_khz: 0 cpufreq_khz: 0 "
		  "cpufreq_khz: 0 cpufreq_khz: 1000");
	fake_close();
}

ORMA_TEST(idle_states_are_written_per_cpu)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1 halt\n");
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state1/time", "77\n");
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n");
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state0/time", "5\n");
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n");
	fake_put("sys/devices/system/cpu/cpu1/online", "0\n");
	fake_put("sys/devices/system/cpu/cpu12/cpuidle/state0/name", "\n");
	CHECK_STR(
		poll_once(CONFIG("cpuidle_period_ms: 1000")),
		"cpuidle_state { cpu_id: 0 cpuidle_state_entry { state: \"POLL\" duration_us: 5 } "
		"cpuidle_state_entry { state: \"C1 halt\" duration_us: 77 } } "
		"cpuidle_state { cpu_id: 12 }");
	/* The cache keeps names and no times. */
	fake_remove("sys/devices/system/cpu/cpu0/cpuidle/state1/name");
	fake_put("sys/devices/system/cpu/cpu0/cpuidle/state1/time", "78\n");
	fake_start(1, CONFIG("cpuidle_period_ms: 1000"));
	fake_flush(1);
	CHECK(strstr(stats_text(1), "state: \"C1 halt\" duration_us: 78") != NULL);
	fake_close();
}

ORMA_TEST(thermal_zones_are_written_in_order_and_never_negative)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/class/thermal/thermal_zone10/temp", "45999\n");
	fake_put("sys/class/thermal/thermal_zone10/type", "x86_pkg_temp\n");
	fake_put("sys/class/thermal/thermal_zone2/temp", "-5000\n");
	fake_put("sys/class/thermal/thermal_zone2/type", "fridge\n");
	fake_put("sys/class/thermal/cooling_device0/type", "Processor\n");
	CHECK_STR(poll_once(CONFIG("thermal_period_ms: 1000")),
		  "thermal_zone { name: \"thermal_zone2\" type: \"fridge\" } "
		  "thermal_zone { name: \"thermal_zone10\" temp: 45 type: \"x86_pkg_temp\" }");
	fake_close();
}

ORMA_TEST(devfreq_devices_are_written_by_name)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/class/devfreq/10000.gpu/cur_freq", "800000000\n");
	fake_put("sys/class/devfreq/no_file/governor", "x\n");
	CHECK_STR(poll_once(CONFIG("devfreq_period_ms: 1000")),
		  "devfreq { key: \"10000.gpu\" value: 800000000 }");
	fake_close();
}

ORMA_TEST(all_gpus_are_written_whatever_their_number_and_maker)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("sys/class/kgsl/kgsl-3d0/devfreq/cur_freq", "400000000\n");
	fake_put("sys/class/drm/card1/gt_act_freq_mhz", "300\n");
	fake_put("sys/class/drm/card1-HDMI-A-1/status", "connected\n");
	fake_put("sys/class/drm/card0/device/pp_dpm_sclk",
		 "0: 200Mhz \n1: 401Mhz *\n2: 2000Mhz \n");
	fake_put("sys/class/drm/card3/device/tile0/gt0/freq0/act_freq", "1100\n");
	fake_put("sys/class/drm/card4/device/vendor", "0x1a03\n");
	fake_put("sys/class/drm/renderD128/dev", "226:128\n");
	CHECK_STR(poll_once(CONFIG("gpufreq_period_ms: 1000")),
		  "gpufreq_mhz: 400 gpufreq_mhz: 401 gpufreq_mhz: 300 gpufreq_mhz: 1100");
	fake_close();
}

ORMA_TEST(the_marked_line_of_amdgpu_is_the_current_one)
{
	uint64_t mhz = 0;
	CHECK(orma_probes_sys_amdgpu_parse(ORMA_STR("\n0: 200Mhz \n1: 400Mhz * \n"), &mhz));
	CHECK_INT(mhz, 400);
	CHECK(!orma_probes_sys_amdgpu_parse(ORMA_STR("0: 200Mhz\n1: 400Mhz\n"), &mhz));
	CHECK(!orma_probes_sys_amdgpu_parse(ORMA_STR("1: *\n"), &mhz));
	CHECK(!orma_probes_sys_amdgpu_parse(ORMA_STR("1: xMhz *\n"), &mhz));
	CHECK(!orma_probes_sys_amdgpu_parse(ORMA_STR(""), &mhz));
}

/* ---- periods ---- */

static struct orma_probes_sys_config parse(const char *text)
{
	struct orma_buf buf = fake_config(text);
	struct orma_probes_sys_config config;
	CHECK_INT(orma_probes_sys_config_parse(buf.data, buf.size, &config), 0);
	orma_base_buf_done(&buf);
	return config;
}

ORMA_TEST(every_period_is_read_and_becomes_ticks_of_the_smallest)
{
	struct orma_probes_sys_config config = parse(
		CONFIG("meminfo_period_ms: 20 vmstat_period_ms: 40 stat_period_ms: 60 "
		       "devfreq_period_ms: 80 cpufreq_period_ms: 100 buddyinfo_period_ms: 120 "
		       "diskstat_period_ms: 140 psi_period_ms: 160 thermal_period_ms: 180 "
		       "cpuidle_period_ms: 200 gpufreq_period_ms: 220 slab_period_ms: 240"));
	CHECK_INT(config.tick_ms, 20);
	for (uint32_t i = 0; i < ORMA_SYS_GROUP_COUNT; i++)
		CHECK_INT(config.ticks[i], i + 1);
}

ORMA_TEST(a_period_below_the_minimum_is_raised_and_said)
{
	fake_capture_log();
	struct orma_probes_sys_config config = parse(CONFIG("psi_period_ms: 1 slab_period_ms: 30"));
	CHECK_INT(config.tick_ms, 10);
	CHECK_INT(config.ticks[ORMA_SYS_PSI], 1);
	CHECK_INT(config.ticks[ORMA_SYS_SLAB], 3);
	CHECK(fake_log_has(
		"I: linux.sys_stats: psi_period_ms: 1 is below the minimum; 10 is used"));
	orma_base_buf_done(&fake_log);
}

ORMA_TEST(periods_that_are_no_multiples_are_refused_and_named)
{
	fake_capture_log();
	struct orma_probes_sys_config config =
		parse(CONFIG("psi_period_ms: 20 thermal_period_ms: 50"));
	CHECK_INT(config.tick_ms, 0);
	CHECK(fake_log_has("E: linux.sys_stats: thermal_period_ms: 50 is not a multiple of "
			   "psi_period_ms, the smallest period (20); nothing is recorded"));
	fake_open(orma_probe_sys_stats_new);
	fake_start(0, CONFIG("psi_period_ms: 20 thermal_period_ms: 50"));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 0);
	fake_close();
}

ORMA_TEST(without_a_period_nothing_is_polled)
{
	CHECK_INT(parse(CONFIG("")).tick_ms, 0);
	CHECK_INT(parse("name: 'x'").tick_ms, 0);
	fake_open(orma_probe_sys_stats_new);
	fake_start(0, CONFIG(""));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 0);
	fake_close();
}

ORMA_TEST(groups_are_polled_at_their_own_multiples)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo", "MemTotal: 1 kB\n");
	fake_put("proc/vmstat", "pgpgin 1\n");
	fake_start(0, CONFIG("meminfo_period_ms: 10 vmstat_period_ms: 30"));
	fake_run_until(7);
	for (size_t i = 0; i < 7; i++) {
		CHECK_INT(fake_packet(i)->sys_stats->meminfo.count, 1);
		CHECK_INT(fake_packet(i)->sys_stats->vmstat.count, i % 3 == 0);
	}
	fake_close();
}

ORMA_TEST(sessions_have_their_own_files_and_periods)
{
	fake_open(orma_probe_sys_stats_new);
	fake_put("proc/meminfo", "MemTotal: 1 kB\n");
	fake_put("proc/vmstat", "pgpgin 1\n");
	/* Periods begin at multiples of their length, so the next begin of a long one is
	 * probably far away. */
	fake_start(0, CONFIG("meminfo_period_ms: 3600000"));
	fake_start(5, CONFIG("vmstat_period_ms: 10"));
	fake_run_until(4);
	CHECK_INT(fake_packets[3].idx, 5);
	fake_stop(5);
	CHECK_INT(fake_packet(3)->sys_stats->vmstat.count, 1);
	CHECK_INT(fake_packet(3)->sys_stats->meminfo.count, 0);
	fake_close();
}

ORMA_TEST(a_configuration_that_does_not_decode_disables_the_instance)
{
	fake_capture_log();
	fake_open(orma_probe_sys_stats_new);
	fake_setup_bytes(0, "\xff", 1);
	CHECK(fake_source.instance_ctx[0] == NULL);
	CHECK(fake_log_has("E: linux.sys_stats: the configuration is not usable"));
	struct orma_instance instance = fake_instance(0);
	fake_source.options.on_start_postponable(fake_source.options.ctx, &instance);
	fake_flush(0);
	fake_stop(0);
	fake_close();
}

ORMA_TEST(text_cut_anywhere_is_harmless)
{
	static const char *const files[] = {"meminfo",   "vmstat",       "stat",    "buddyinfo",
					    "diskstats", "pressure/cpu", "slabinfo"};
	static const char text[] =
		"Node 0, zone DMA 1 2\n8 0 sda 1 2 3 4 5 6 7\ncpu1 2 3\nintr 5 6\n"
		"some avg10=1 total=4\nx 1 1 1 1 1 : tunables 1 1 1 : slabdata 1 1 1\n"
		"MemTotal: 4 kB\nnr_free_pages 5";
	char path[64];
	fake_open(orma_probe_sys_stats_new);
	for (size_t size = 0; size < sizeof(text); size++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(path, sizeof(path), "proc/%s", files[i]);
			fake_put_bytes(path, text, size);
		}
		fake_start(0,
			   CONFIG("meminfo_period_ms: 10 vmstat_period_ms: 10 stat_period_ms: 10 "
				  "buddyinfo_period_ms: 10 diskstat_period_ms: 10 "
				  "psi_period_ms: 10 slab_period_ms: 10"));
		fake_flush(0);
		stats_text(0);
		fake_stop(0);
		fake_forget_packets();
	}
	fake_close();
}

ORMA_TEST(a_probe_without_memory_or_folders_leaves_nothing_behind)
{
	struct orma_probe_env env = {.proc_path = "/proc", .sys_path = "/nonexistent"};
	struct orma_probe *probe = NULL;
	CHECK_INT(orma_probe_sys_stats_new(&env, &probe), -ENOENT);
	env = (struct orma_probe_env){.proc_path = "/nonexistent", .sys_path = "/sys"};
	CHECK_INT(orma_probe_sys_stats_new(&env, &probe), -ENOENT);
	env.proc_path = "/proc";
	fake_register_result = -EEXIST;
	CHECK_INT(orma_probe_sys_stats_new(&env, &probe), -EEXIST);
	fake_register_result = 0;
	bool has_failed = true;
	for (uint64_t nth = 1; has_failed; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_probe_sys_stats_new(&env, &probe);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
	}
	orma_probe_free(probe);
}
