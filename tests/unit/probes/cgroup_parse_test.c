/* SPDX-License-Identifier: Apache-2.0
 * cgroup_parse_test.c - the files of control groups.
 */
#include "harness.h"
#include "probes/cgroup_stats/cgroup_stats.h"

static struct orma_cgroup_sample sample;

/* Parses a file of the tree with this path. */
static void parse(const char *path, const char *name, const char *text)
{
	for (size_t i = 0; i < ORMA_CGROUP_HIERARCHY_COUNT; i++) {
		const struct orma_cgroup_hierarchy *hierarchy = &orma_cgroup_hierarchies[i];
		for (size_t j = 0; j < hierarchy->file_count; j++)
			if (strcmp(hierarchy->path, path) == 0 &&
			    strcmp(hierarchy->files[j].name, name) == 0) {
				orma_cgroup_file_parse(&hierarchy->files[j], orma_base_str(text),
						       10000000, &sample);
				return;
			}
	}
	orma_test_fail(__FILE__, __LINE__, "no file %s in %s", name, path);
}

/* The value of a counter, -1 = not there. */
static long long value(int counter)
{
	return sample.present >> counter & 1 ? (long long)sample.values[counter] : -1;
}

ORMA_TEST(files_of_version_2_are_read)
{
	parse("fs/cgroup", "cpu.stat",
	      "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\ncore_sched.force_idle_usec 0\n"
	      "nr_periods 10\nnr_throttled 2\nthrottled_usec 30\nnr_bursts 0\nburst_usec 0\n");
	CHECK_INT(value(ORMA_CGROUP_CPU), 1500000);
	CHECK_INT(value(ORMA_CGROUP_CPU_USER), 1000000);
	CHECK_INT(value(ORMA_CGROUP_CPU_SYSTEM), 500000);
	CHECK_INT(value(ORMA_CGROUP_CPU_THROTTLED), 30000);
	parse("fs/cgroup", "memory.current", "4096\n");
	CHECK_INT(value(ORMA_CGROUP_MEMORY), 4096);
	parse("fs/cgroup", "memory.stat", "anon 100\nfile 200\nkernel 5\nanon_thp 7\n");
	CHECK_INT(value(ORMA_CGROUP_MEMORY_ANON), 100);
	CHECK_INT(value(ORMA_CGROUP_MEMORY_FILE), 200);
	parse("fs/cgroup", "memory.swap.current", "0\n");
	CHECK_INT(value(ORMA_CGROUP_SWAP), 0);
	parse("fs/cgroup", "io.stat",
	      "8:16 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:0 rbytes=5 wbytes=6 "
	      "rios=1\n253:0\n");
	CHECK_INT(value(ORMA_CGROUP_IO_READ), 15);
	CHECK_INT(value(ORMA_CGROUP_IO_WRITTEN), 26);
	parse("fs/cgroup", "pids.current", "12\n");
	CHECK_INT(value(ORMA_CGROUP_PIDS), 12);
	parse("fs/cgroup", "cpu.pressure",
	      "some avg10=0.00 avg60=0.12 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 "
	      "avg300=0.00 total=3\n");
	CHECK_INT(value(ORMA_CGROUP_CPU_SOME), 7000);
	CHECK_INT(value(ORMA_CGROUP_CPU_FULL), 3000);
	parse("fs/cgroup", "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\n");
	CHECK_INT(value(ORMA_CGROUP_MEMORY_SOME), 8000);
	CHECK_INT(value(ORMA_CGROUP_MEMORY_FULL), -1);
	/* A file that is read again replaces its values. */
	parse("fs/cgroup", "io.stat", "8:0 rbytes=1 wbytes=2\n");
	CHECK_INT(value(ORMA_CGROUP_IO_READ), 1);
}

ORMA_TEST(files_of_version_1_are_read)
{
	parse("fs/cgroup/cpuacct", "cpuacct.usage", "123456789\n");
	parse("fs/cgroup/cpuacct", "cpuacct.stat", "user 12\nsystem 3\n");
	CHECK_INT(value(ORMA_CGROUP_CPU), 123456789);
	CHECK_INT(value(ORMA_CGROUP_CPU_USER), 120000000);
	CHECK_INT(value(ORMA_CGROUP_CPU_SYSTEM), 30000000);
	parse("fs/cgroup/cpu", "cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 99\n");
	CHECK_INT(value(ORMA_CGROUP_CPU_THROTTLED), 99);
	parse("fs/cgroup/memory", "memory.usage_in_bytes", "8192\n");
	parse("fs/cgroup/memory", "memory.stat",
	      "cache 1\nrss 2\ntotal_cache 3\ntotal_rss 4\ntotal_swap 5\n");
	CHECK_INT(value(ORMA_CGROUP_MEMORY), 8192);
	CHECK_INT(value(ORMA_CGROUP_MEMORY_FILE), 3);
	CHECK_INT(value(ORMA_CGROUP_MEMORY_ANON), 4);
	CHECK_INT(value(ORMA_CGROUP_SWAP), 5);
	parse("fs/cgroup/blkio", "blkio.throttle.io_service_bytes_recursive",
	      "8:0 Read 100\n8:0 Write 200\n8:0 Sync 1\n8:0 Total 300\n8:1 Read 10\nTotal 310\n");
	CHECK_INT(value(ORMA_CGROUP_IO_READ), 110);
	CHECK_INT(value(ORMA_CGROUP_IO_WRITTEN), 200);
}

ORMA_TEST(damaged_text_gives_no_values)
{
	static const char *const texts[] = {
		"",
		"\n",
		" ",
		"=",
		"usage_usec",
		"usage_usec \n",
		"usage_usec x\n",
		"some total=",
		"some total=-1 total",
		"8:0 rbytes=99999999999999999999 wbytes=\n",
		"rbytes",
		"max\n",
		"8:0 Read\n8:0 Write x\n",
		"-5\n",
		"user_usec 1a\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		parse("fs/cgroup", "cpu.stat", texts[i]);
		parse("fs/cgroup", "memory.current", texts[i]);
		parse("fs/cgroup", "io.stat", texts[i]);
		parse("fs/cgroup", "io.pressure", texts[i]);
		parse("fs/cgroup/blkio", "blkio.throttle.io_service_bytes_recursive", texts[i]);
		CHECK_INT(sample.present, 0);
	}
}
