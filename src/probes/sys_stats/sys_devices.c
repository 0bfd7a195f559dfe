/* SPDX-License-Identifier: Apache-2.0
 * sys_devices.c - reads frequencies, idle times and temperatures from the device folders in /sys.
 *
 * Owns a descriptor of /sys and the names of idle states. The names are half of the files and do
 * not change, so they are read once. Folders are listed at each poll, because devices come and go.
 * They are visited in the order of their numbers, because a reader knows the device of a frequency
 * only by its position. A device without the file is left out; a CPU without a frequency has 0. All
 * GPUs are read: first Qualcomm's kgsl, then DRM cards with the files of i915, xe or amdgpu.
 * Rejected: files that stay open, because a machine with 256 CPUs and 5 idle states has 1,280 of
 * them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/sys_stats/sys_stats.h"
#include "schema/gen/sys_stats.pb.h"

#define CPU_PATH "devices/system/cpu"

int orma_probes_sys_devices_init(struct orma_probes_sys_devices *devices, const char *sys_path)
{
	*devices = (struct orma_probes_sys_devices){0};
	int fd = devices->sys_fd = orma_probes_dir_open(AT_FDCWD, sys_path);
	return fd < 0 ? fd : 0;
}

void orma_probes_sys_devices_done(struct orma_probes_sys_devices *devices)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&devices->idle_names, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(&devices->idle_names);
	orma_base_buf_done(&devices->text);
	orma_base_buf_done(&devices->names);
	orma_probes_numbers_done(&devices->numbers);
	orma_probes_numbers_done(&devices->states);
	devices->sys_fd = orma_base_fd_close(devices->sys_fd);
}

/* Opens a folder below /sys and lists the N of its "<prefix>N". Returns the descriptor or
 * -errno. */
static int open_numbers(struct orma_probes_sys_devices *devices, const char *path,
			const char *prefix)
{
	int fd = orma_probes_dir_open(devices->sys_fd, path);
	int r = fd < 0 ? fd : orma_probes_dir_numbers(fd, ".", prefix, &devices->numbers);
	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	return fd;
}

/* Reads the first line of a file. */
static bool read_line(struct orma_probes_sys_devices *devices, int dir, const char *path,
		      struct orma_str *ret)
{
	struct orma_str text;
	return orma_probes_file_read_record(dir, path, &devices->text, &text) == 0 &&
	       orma_probes_text_line(&text, ret) && ret->size > 0;
}

int orma_probes_sys_write_devfreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_fd_closep)
	int dir = orma_probes_dir_open(devices->sys_fd, "class/devfreq");
	int r = dir < 0 ? dir : orma_probes_dir_names(dir, ".", &devices->names);
	if (r < 0)
		return r;
	struct orma_str rest = {(const char *)devices->names.data, devices->names.size}, name;
	while (orma_probes_text_until(&rest, '\0', &name)) {
		char path[ORMA_PROBES_PATH_BYTES + NAME_MAX];
		struct orma_nested nested;
		uint64_t hz;
		static const char file[] = "/cur_freq";
		memcpy(path, name.data, name.size);
		memcpy(path + name.size, file, sizeof(file));
		if (orma_probes_file_read_u64(dir, path, &hz) < 0)
			continue;
		orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_DEVFREQ);
		orma_packet_bytes(packet, ORMA_PB_SYS_STATS_DEVFREQ_VALUE_KEY, name.data,
				  name.size);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_DEVFREQ_VALUE_VALUE, hz);
		orma_packet_nested_end(packet, &nested);
	}
	return 0;
}

/* Writes one value per CPU from 0 to the last, with 0 for missing ones. */
int orma_probes_sys_write_cpufreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_fd_closep) int dir = open_numbers(devices, CPU_PATH, "cpu");
	if (dir < 0)
		return dir;
	const struct orma_probes_numbers *cpus = &devices->numbers;
	for (size_t i = 0, cpu = 0; i < cpus->count; cpu++) {
		char path[ORMA_PROBES_PATH_BYTES];
		uint64_t khz = 0;
		if (cpus->items[i] == cpu &&
		    orma_probes_file_read_u64(dir,
					      orma_probes_path(path, "cpu", cpus->items[i++],
							       "/cpufreq/scaling_cur_freq"),
					      &khz) < 0)
			khz = 0;
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_CPUFREQ_KHZ, (uint32_t)khz);
	}
	return 0;
}

int orma_probes_sys_write_thermal(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_fd_closep)
	int dir = open_numbers(devices, "class/thermal", "thermal_zone");
	if (dir < 0)
		return dir;
	for (size_t i = 0; i < devices->numbers.count; i++) {
		uint32_t zone = devices->numbers.items[i];
		char path[ORMA_PROBES_PATH_BYTES];
		struct orma_nested nested;
		struct orma_str type;
		int64_t millidegrees;
		orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_THERMAL_ZONE);
		orma_packet_string(packet, ORMA_PB_SYS_STATS_THERMAL_ZONE_NAME,
				   orma_probes_path(path, "thermal_zone", zone, ""));
		/* The field is unsigned. A sensor that is off has no temperature, and one below
		 * zero is left out. */
		if (orma_probes_file_read_i64(dir,
					      orma_probes_path(path, "thermal_zone", zone, "/temp"),
					      &millidegrees) == 0 &&
		    millidegrees >= 0)
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_THERMAL_ZONE_TEMP,
					   (uint64_t)millidegrees / 1000);
		if (read_line(devices, dir, orma_probes_path(path, "thermal_zone", zone, "/type"),
			      &type))
			orma_packet_bytes(packet, ORMA_PB_SYS_STATS_THERMAL_ZONE_TYPE, type.data,
					  type.size);
		orma_packet_nested_end(packet, &nested);
	}
	return 0;
}

/* ---- idle states ---- */

/* Returns NULL when the name cannot be read. */
static const char *idle_name(struct orma_probes_sys_devices *devices, int dir, uint32_t cpu,
			     uint32_t state)
{
	uint64_t key = (uint64_t)cpu << 32 | state;
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str line;
	char *name = orma_base_map_get(&devices->idle_names, key);
	if (name)
		return name;
	if (!read_line(devices, dir, orma_probes_path(path, "state", state, "/name"), &line))
		return NULL;
	name = orma_base_str_dup(line);
	if (name && orma_base_map_put(&devices->idle_names, key, name) < 0) {
		orma_base_free(name);
		return NULL;
	}
	return name;
}

static void write_idle_states(struct orma_probes_sys_devices *devices, struct orma_packet *packet,
			      int cpus, uint32_t cpu)
{
	char path[ORMA_PROBES_PATH_BYTES];
	ORMA_AUTO(orma_base_fd_closep)
	int dir = orma_probes_dir_open(cpus, orma_probes_path(path, "cpu", cpu, "/cpuidle"));
	if (dir < 0 || orma_probes_dir_numbers(dir, ".", "state", &devices->states) < 0)
		return;
	struct orma_nested nested, entry;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_SYS_STATS_CPUIDLE_STATE);
	orma_packet_varint(packet, ORMA_PB_SYS_STATS_CPU_IDLE_STATE_CPU_ID, cpu);
	for (size_t i = 0; i < devices->states.count; i++) {
		uint32_t state = devices->states.items[i];
		const char *name = idle_name(devices, dir, cpu, state);
		uint64_t us;
		if (!name || orma_probes_file_read_u64(
				     dir, orma_probes_path(path, "state", state, "/time"), &us) < 0)
			continue;
		orma_packet_nested_begin(packet, &entry,
					 ORMA_PB_SYS_STATS_CPU_IDLE_STATE_CPUIDLE_STATE_ENTRY);
		orma_packet_string(packet, ORMA_PB_SYS_STATS_CPU_IDLE_STATE_ENTRY_STATE, name);
		orma_packet_varint(packet, ORMA_PB_SYS_STATS_CPU_IDLE_STATE_ENTRY_DURATION_US, us);
		orma_packet_nested_end(packet, &entry);
	}
	orma_packet_nested_end(packet, &nested);
}

int orma_probes_sys_write_cpuidle(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_fd_closep) int dir = open_numbers(devices, CPU_PATH, "cpu");
	if (dir < 0)
		return dir;
	for (size_t i = 0; i < devices->numbers.count; i++)
		write_idle_states(devices, packet, dir, devices->numbers.items[i]);
	return 0;
}

/* ---- GPUs ---- */

/* "1: 400Mhz *" */
bool orma_probes_sys_amdgpu_parse(struct orma_str text, uint64_t *ret_mhz)
{
	struct orma_str line, word;
	while (orma_probes_text_line(&text, &line)) {
		if (!orma_probes_text_has_suffix(orma_probes_text_trim(line), "*"))
			continue;
		while (orma_probes_text_word(&line, &word)) {
			if (!orma_probes_text_has_suffix(word, "Mhz"))
				continue;
			word.size -= 3;
			return orma_probes_text_u64(word, ret_mhz);
		}
	}
	return false;
}

static bool card_mhz(struct orma_probes_sys_devices *devices, int dir, uint32_t card,
		     uint64_t *ret_mhz)
{
	static const char *const files[] = {
		"/gt_act_freq_mhz",                 /* i915 */
		"/device/tile0/gt0/freq0/act_freq", /* xe */
	};
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(files); i++)
		if (orma_probes_file_read_u64(dir, orma_probes_path(path, "card", card, files[i]),
					      ret_mhz) == 0)
			return true;
	return orma_probes_file_read_record(
		       dir, orma_probes_path(path, "card", card, "/device/pp_dpm_sclk"),
		       &devices->text, &text) == 0 &&
	       orma_probes_sys_amdgpu_parse(text, ret_mhz);
}

int orma_probes_sys_write_gpufreq(struct orma_probes_sys_devices *devices,
				  struct orma_packet *packet)
{
	char path[ORMA_PROBES_PATH_BYTES];
	uint64_t hz, mhz;
	ORMA_AUTO(orma_base_fd_closep) int kgsl = open_numbers(devices, "class/kgsl", "kgsl-3d");
	for (size_t i = 0; kgsl >= 0 && i < devices->numbers.count; i++)
		if (orma_probes_file_read_u64(kgsl,
					      orma_probes_path(path, "kgsl-3d",
							       devices->numbers.items[i],
							       "/devfreq/cur_freq"),
					      &hz) == 0)
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_GPUFREQ_MHZ, hz / 1000000);
	ORMA_AUTO(orma_base_fd_closep) int drm = open_numbers(devices, "class/drm", "card");
	for (size_t i = 0; drm >= 0 && i < devices->numbers.count; i++)
		if (card_mhz(devices, drm, devices->numbers.items[i], &mhz))
			orma_packet_varint(packet, ORMA_PB_SYS_STATS_GPUFREQ_MHZ, mhz);
	return kgsl < 0 && drm < 0 ? drm : 0;
}
