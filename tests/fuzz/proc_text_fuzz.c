/* SPDX-License-Identifier: Apache-2.0
 * proc_text_fuzz.c - any text as a file of /proc. The first byte chooses the file.
 *
 * Programs choose their names and command lines, and a file can be cut anywhere, so every parser has
 * to stay inside of the text. Strings that a parser returns must lie in the text or its buffer.
 * Packets are NULL, for which the library writes nothing.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "probes/inode_file_map/inode_file_map.h"
#include "probes/process_stats/process_parse.h"
#include "probes/sys_stats/sys_stats.h"
#include "probes/system_info/machine_parse.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_inside(struct orma_str part, struct orma_str whole)
{
	return part.size == 0 || (part.data >= whole.data && part.size <= whole.size &&
				  (size_t)(part.data - whole.data) <= whole.size - part.size);
}

static void fuzz_status(struct orma_str text)
{
	struct orma_probes_process_status status;
	struct orma_probes_process_sample sample = {0};
	char buf[ORMA_PROBES_COMM_BYTES];

	orma_probes_process_status_parse(text, &status, &sample);
	CHECK(lies_inside(status.name, text) && lies_inside(status.nspid, text));
	CHECK(status.pid >= -1 && status.tgid >= -1 && status.ppid >= -1 && status.uid >= -1);
	CHECK(orma_probes_process_unescape(status.name, buf).size <= sizeof(buf));
	orma_probes_process_smaps_parse(text, &sample);
	CHECK(sample.present >> ORMA_PROCESS_VALUE_COUNT == 0);
}

static void fuzz_machine(struct orma_str text)
{
	struct orma_probes_cpuinfo cpuinfo = {.rest = text};
	struct orma_probes_cpu cpu;
	struct orma_probes_interrupts interrupts;
	struct orma_probes_interrupt interrupt;

	while (orma_probes_cpuinfo_next(&cpuinfo, &cpu))
		CHECK(cpu.processor.size > 0);
	orma_probes_interrupts_init(&interrupts, text);
	while (orma_probes_interrupts_next(&interrupts, &interrupt))
		CHECK(interrupt.name.size > 0 && lies_inside(interrupt.name, text));
}

static void fuzz_mounts(struct orma_str text)
{
	struct orma_buf buf = {0};
	struct orma_mount mount;

	while (orma_mount_next(&text, &buf, &mount))
		CHECK(mount.path.size > 0 && mount.path.data[0] == '/');
	orma_base_buf_done(&buf);
}

static void fuzz_system(struct orma_str text)
{
	struct orma_probes_sys_set all;
	struct orma_probes_sys_counters counters;
	uint64_t mhz;

	memset(&all, 0xff, sizeof(all));
	orma_probes_sys_write_stat(NULL, text, &all, 10000000);
	orma_probes_sys_write_buddyinfo(NULL, text);
	orma_probes_sys_write_diskstats(NULL, text);
	orma_probes_sys_write_psi(NULL, text, 1, 2);
	orma_probes_sys_write_slabinfo(NULL, text);
	(void)orma_probes_sys_amdgpu_parse(text, &mhz);
	if (orma_probes_sys_counters_init_meminfo(&counters) == 0) {
		orma_probes_sys_write_meminfo(NULL, text, &counters, &all);
		orma_probes_sys_write_vmstat(NULL, text, &counters, &all);
		orma_probes_sys_counters_done(&counters);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_probes_process_times times;

	if (size == 0)
		return 0;
	struct orma_str text = {(const char *)data + 1, size - 1};
	switch (data[0] % 5) {
	case 0:
		fuzz_status(text);
		break;
	case 1:
		(void)orma_probes_process_stat_parse(text, &times);
		break;
	case 2:
		fuzz_machine(text);
		break;
	case 3:
		fuzz_mounts(text);
		break;
	default:
		fuzz_system(text);
	}
	return 0;
}
