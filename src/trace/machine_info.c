/* SPDX-License-Identifier: Apache-2.0
 * machine_info.c - which machine it was, and what recorded it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/reader.h"
#include "schema/gen/cpu_info.pb.h"
#include "schema/gen/system_info.pb.h"
#include "trace/cpus.h"
#include "trace/system_packets.h"
#include "trace/task_state.h"

enum { PAGE_BYTES_DEFAULT = 4096, INFO_CPUS_MAX = 1024, KNOWN_FEATURES = 2 };

static enum orma_syscall_arch arch_of(struct orma_str machine)
{
	if (orma_base_str_is(machine, "x86_64"))
		return ORMA_SYSCALLS_X86_64;
	return orma_base_str_is(machine, "aarch64") ? ORMA_SYSCALLS_ARM64 : ORMA_SYSCALLS_UNKNOWN;
}

static int take_uname(struct orma_system *system, struct orma_system_machine *machine,
		      uint32_t machine_idx, const struct orma_pb_utsname *uname)
{
	const struct {
		const char *name;
		size_t column;
		struct orma_str text;
	} parts[] = {{"system_name", ORMA_MACHINE_SYSNAME, uname->sysname},
		     {"system_version", ORMA_MACHINE_VERSION, uname->version},
		     {"system_release", ORMA_MACHINE_RELEASE, uname->release},
		     {"system_machine", ORMA_MACHINE_ARCH, uname->machine}};
	int r = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && r == 0; i++) {
		int64_t cell = parts[i].text.data ? orma_system_text(system, parts[i].text)
						  : ORMA_CELL_NULL;
		machine->cells[parts[i].column] = cell;
		r = orma_metadata_set(system,
				      &(struct orma_metadata){.name = orma_base_str(parts[i].name),
							      .scope = ORMA_METADATA_MACHINE,
							      .machine_idx = machine_idx,
							      .number = ORMA_CELL_NULL,
							      .text = cell});
	}
	machine->arch = arch_of(uname->machine);
	/* The letters of task states differ between kernels. */
	if (machine_idx == 0 || !system->sched->kernel_version)
		system->sched->kernel_version =
			orma_task_kernel_version(uname->sysname, uname->release);
	return r;
}

static int take_ram(struct orma_system *system, struct orma_system_machine *machine,
		    uint32_t machine_idx, int64_t bytes)
{
	int64_t gigabytes = (int64_t)((double)bytes / 1e9 + 0.5);
	machine->cells[ORMA_MACHINE_SYSTEM_RAM_BYTES] = bytes;
	machine->cells[ORMA_MACHINE_SYSTEM_RAM_GB] = gigabytes;
	int r = orma_metadata_number(system, "system_ram_bytes", ORMA_METADATA_MACHINE, machine_idx,
				     bytes);
	return r < 0 ? r
		     : orma_metadata_number(system, "system_ram_gb", ORMA_METADATA_MACHINE,
					    machine_idx, gigabytes);
}

/* Only Android's recorder says these. */
static int take_android(struct orma_system *system, struct orma_system_machine *machine,
			uint32_t machine_idx, const struct orma_pb_system_info *info)
{
	const struct {
		const char *name;
		struct orma_str text;
	} texts[] = {{"android_build_fingerprint", info->android_build_fingerprint},
		     {"android_device_manufacturer", info->android_device_manufacturer},
		     {"android_soc_model", info->android_soc_model},
		     {"android_guest_soc_model", info->android_guest_soc_model},
		     {"android_hardware_revision", info->android_hardware_revision},
		     {"android_storage_model", info->android_storage_model},
		     {"android_ram_model", info->android_ram_model},
		     {"android_serial_console", info->android_serial_console}};
	int r = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && r == 0; i++)
		r = orma_metadata_text(system, texts[i].name, ORMA_METADATA_MACHINE, machine_idx,
				       texts[i].text);
	machine->cells[ORMA_MACHINE_ANDROID_BUILD_FINGERPRINT] =
		orma_tables_string(system->tables, info->android_build_fingerprint);
	machine->cells[ORMA_MACHINE_ANDROID_DEVICE_MANUFACTURER] =
		orma_tables_string(system->tables, info->android_device_manufacturer);
	if (r < 0 || !orma_pb_system_info_has_android_sdk_version(info))
		return r;
	machine->cells[ORMA_MACHINE_ANDROID_SDK_VERSION] = (int64_t)info->android_sdk_version;
	return orma_metadata_number(system, "android_sdk_version", ORMA_METADATA_MACHINE,
				    machine_idx, (int64_t)info->android_sdk_version);
}

static int32_t read_major(const char *text, size_t size)
{
	int32_t major = 0;
	for (size_t i = 0; i < size && text[i] >= '0' && text[i] <= '9' && major < 1000; i++)
		major = major * 10 + (text[i] - '0');
	return major;
}

static int take_info(struct orma_system *system, struct orma_system_machine *machine,
		     uint32_t machine_idx, const struct orma_pb_system_info *info)
{
	int r = info->utsname ? take_uname(system, machine, machine_idx, info->utsname) : 0;
	if (info->machine_name.data)
		machine->cells[ORMA_MACHINE_NAME] = orma_system_text(system, info->machine_name);
	if (r == 0 && orma_pb_system_info_has_timezone_off_mins(info))
		r = orma_metadata_number(system, "timezone_off_mins", ORMA_METADATA_MACHINE,
					 machine_idx, info->timezone_off_mins);
	if (r == 0)
		r = take_android(system, machine, machine_idx, info);
	static const char product[] = "Perfetto v";
	if (info->tracing_service_version.size > sizeof(product) &&
	    memcmp(info->tracing_service_version.data, product, sizeof(product) - 1) == 0)
		machine->service_version =
			read_major(info->tracing_service_version.data + sizeof(product) - 1,
				   info->tracing_service_version.size - (sizeof(product) - 1));
	if (r == 0)
		r = orma_metadata_text(system, "tracing_service_version", ORMA_METADATA_MACHINE,
				       machine_idx, info->tracing_service_version);
	machine->page_bytes = info->page_size ? info->page_size : PAGE_BYTES_DEFAULT;
	if (orma_pb_system_info_has_num_cpus(info))
		machine->cells[ORMA_MACHINE_NUM_CPUS] = info->num_cpus;
	if (r == 0 && orma_pb_system_info_has_system_ram_bytes(info))
		r = take_ram(system, machine, machine_idx, (int64_t)info->system_ram_bytes);
	return r;
}

int orma_system_info(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_system_machine *machine = orma_system_machine(system, machine_idx);
	struct orma_pb_system_info *info;
	struct orma_arena arena = {0};
	int r = machine ? orma_pb_system_info_decode(content.data, content.size, &arena, &info)
			: -ENOMEM;
	if (r == 0)
		r = take_info(system, machine, machine_idx, info);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}

/* CPUs are compared by their capacity if all say one, else by their highest frequency. */
static uint64_t strength(const struct orma_pb_cpu_info_cpu *cpu, bool has_capacities)
{
	uint64_t highest = 0;
	if (has_capacities)
		return cpu->capacity;
	for (size_t i = 0; i < cpu->frequencies.count; i++)
		if (cpu->frequencies.items[i] > highest)
			highest = cpu->frequencies.items[i];
	return highest;
}

static int compare_strengths(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* CPUs of one strength are a cluster, and the weakest cluster is 0. `strengths` is ascending. */
static uint32_t cluster_of(const uint64_t *strengths, size_t count, uint64_t own)
{
	uint32_t cluster = 0;
	for (size_t i = 1; i < count && strengths[i] <= own; i++)
		cluster += strengths[i] != strengths[i - 1];
	return cluster;
}

static void add_cpu_args(struct orma_arg_list *args, const struct orma_pb_cpu_info_cpu *cpu)
{
	static const char *const features[] = {"cpu_features.mte", "cpu_features.mte3"};
	const struct orma_pb_cpu_info_arm_cpu_identifier *arm = cpu->arm_identifier;
	if (arm) {
		const struct {
			const char *key;
			uint32_t value;
		} parts[] = {{"arm_cpu_implementer", arm->implementer},
			     {"arm_cpu_architecture", arm->architecture},
			     {"arm_cpu_variant", arm->variant},
			     {"arm_cpu_part", arm->part},
			     {"arm_cpu_revision", arm->revision}};
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			orma_arg_list_add(args, orma_base_str(parts[i].key),
					  orma_base_str(parts[i].key), ORMA_ARG_UINT,
					  parts[i].value);
	}
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (cpu->features >> i & 1)
			orma_arg_list_add(args, orma_base_str(features[i]),
					  orma_base_str(features[i]), ORMA_ARG_BOOL, 1);
	if (cpu->features)
		orma_arg_list_add(args, ORMA_STR("cpu_features.raw_bitmap"),
				  ORMA_STR("cpu_features.raw_bitmap"), ORMA_ARG_UINT,
				  (int64_t)cpu->features);
}

static int add_cpu(struct orma_system *system, uint32_t machine_idx, uint32_t number,
		   const struct orma_pb_cpu_info_cpu *cpu, uint32_t cluster)
{
	struct orma_table *table = &system->tables->all[ORMA_TABLE_CPU];
	int64_t ucpu = orma_cpus_get(system->tables, machine_idx, number);
	if (ucpu < 0)
		return (int)ucpu;
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	add_cpu_args(&system->args, cpu);
	const struct {
		size_t column;
		int64_t cell;
	} cells[] = {{ORMA_CPU_CLUSTER_ID, cluster},
		     {ORMA_CPU_PROCESSOR, cpu->processor.size > 0
						  ? orma_system_text(system, cpu->processor)
						  : ORMA_CELL_NULL},
		     {ORMA_CPU_CAPACITY,
		      orma_pb_cpu_info_cpu_has_capacity(cpu) ? cpu->capacity : ORMA_CELL_NULL},
		     {ORMA_CPU_ARG_SET_ID, orma_system_take_args(system)}};
	int r = 0;
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells) && r == 0; i++)
		r = orma_store_column_set(&table->columns[cells[i].column], (uint64_t)ucpu,
					  cells[i].cell);
	for (size_t i = 0; i < cpu->frequencies.count && r == 0; i++) {
		int64_t row[] = {ucpu, cpu->frequencies.items[i]};
		r = orma_store_table_append(&system->tables->all[ORMA_TABLE_CPU_FREQ], row);
	}
	return r;
}

static int add_cpus(struct orma_system *system, uint32_t machine_idx,
		    const struct orma_pb_cpu_info *info, struct orma_arena *arena)
{
	bool has_capacities = true, has_frequencies = true;
	int r = 0;
	for (size_t i = 0; i < info->cpus.count; i++) {
		has_capacities =
			has_capacities && orma_pb_cpu_info_cpu_has_capacity(info->cpus.items[i]);
		has_frequencies = has_frequencies && info->cpus.items[i]->frequencies.count > 0;
	}
	uint64_t *strengths = orma_base_arena_alloc(arena, info->cpus.count * sizeof(*strengths));
	if (!strengths)
		return -ENOMEM;
	for (size_t i = 0; i < info->cpus.count && (has_capacities || has_frequencies); i++)
		strengths[i] = strength(info->cpus.items[i], has_capacities);
	qsort(strengths, info->cpus.count, sizeof(*strengths), compare_strengths);
	for (size_t i = 0; i < info->cpus.count && r == 0; i++)
		r = add_cpu(system, machine_idx, (uint32_t)i, info->cpus.items[i],
			    cluster_of(strengths, info->cpus.count,
				       strength(info->cpus.items[i], has_capacities)));
	return r;
}

int orma_cpu_info(struct orma_system *system, uint32_t machine_idx, struct orma_str content)
{
	struct orma_pb_cpu_info *info;
	struct orma_arena arena = {0};
	int r = orma_pb_cpu_info_decode(content.data, content.size, &arena, &info);
	if (r == 0 && (info->cpus.count == 0 || info->cpus.count > INFO_CPUS_MAX))
		orma_stats_add(&system->stats, machine_idx, ORMA_STAT_cpu_info_empty, 0, 1);
	for (size_t i = 0; r == 0 && i < info->cpus.count; i++)
		if (info->cpus.items[i]->features >> KNOWN_FEATURES)
			orma_stats_add(&system->stats, machine_idx,
				       ORMA_STAT_cpu_info_unknown_cpu_features, 0, 1);
	if (r == 0 && info->cpus.count > 0 && info->cpus.count <= INFO_CPUS_MAX)
		r = add_cpus(system, machine_idx, info, &arena);
	orma_base_arena_done(&arena);
	return r == -EBADMSG ? 0 : r;
}
