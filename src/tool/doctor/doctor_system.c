/* SPDX-License-Identifier: Apache-2.0
 * doctor_system.c - examines the machine: would a recording see what it is asked for?
 *
 * The examination only reads. The kernel's files are read below a root folder, so that a container
 * or a saved copy can be examined, too; sockets and limits are always those of this process. Facts
 * that concern few users are notes, which do not make the exit status 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef ORMA_HAVE_PERF
#include <linux/perf_event.h>
#endif

#include "base/fd.h"
#include "ipc/address.h"
#include "probes/probe_text.h"
#include "tool/doctor/doctor.h"
#include "tool/doctor/system_files.h"

/* The default buffer is 32 MiB, and shared memory and the recorder come in addition. */
#define MEMORY_WANTED_KB 65536u
#define PERF_MLOCK_KB    516u /* the kernel's default */

/* --- the daemon ------------------------------------------------------------------------------- */

/* Returns the path of the first socket in a list of addresses, or NULL. */
static const char *socket_path(const char *addresses, struct orma_ipc_address *address,
			       char item[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	if (orma_ipc_address_list_next(&addresses, item) <= 0 ||
	    orma_ipc_address_parse(item, address))
		return NULL;
	return orma_ipc_address_path(address);
}

static void report_permission(const char *root, const char *id, const char *path,
			      struct orma_findings *findings)
{
	struct stat info;
	char group[64];

	if (stat(path, &info)) {
		orma_findings_add(findings, id, "No permission to reach the socket %s.", path);
		orma_findings_advise(findings, "Run orma as root: sudo orma record");
		return;
	}
	orma_system_name_group(root, info.st_gid, group, sizeof(group));
	orma_findings_add(findings, id,
			  "No permission to connect to %s (user id %u, group %s, mode %04o).", path,
			  (unsigned)info.st_uid, group, (unsigned)info.st_mode & 07777);
	if (info.st_gid != 0 && info.st_mode & S_IWGRP)
		orma_findings_advise(findings,
				     "Join the group: sudo usermod -aG %s $USER, and log in again.",
				     group);
	else
		orma_findings_advise(findings,
				     "Run orma as root, or let a group connect: orma traced "
				     "--set-socket-permissions GROUP:0666:GROUP:0660");
}

static const char *daemon_text(const struct orma_doctor_daemon *daemon)
{
	return daemon->message.message[0] ? daemon->message.message : strerror(-daemon->error);
}

static void report_no_daemon(const char *root, const struct orma_doctor_daemon *daemon,
			     struct orma_findings *findings)
{
	const char *addresses = orma_ipc_consumer_address();
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address address;
	const char *path = socket_path(addresses, &address, item);

	if (daemon->error == -EACCES && path) {
		report_permission(root, "no_permission", path, findings);
	} else if (daemon->error == -ENOENT || daemon->error == -ECONNREFUSED) {
		orma_findings_add(findings, "no_daemon", "No tracing daemon listens at %s%s.",
				  addresses,
				  daemon->error == -ECONNREFUSED && path
					  ? ": the one that made this socket has ended"
					  : "");
		orma_findings_advise(findings,
				     "`orma record` also works without one, for programs of this "
				     "user. To start one: sudo orma traced --background && sudo "
				     "orma probes --background");
	} else if (daemon->error == -EPERM) {
		orma_findings_add(findings, "untrusted_daemon", "The daemon is not trusted: %s.",
				  daemon_text(daemon));
	} else if (daemon->error == -ETIMEDOUT) {
		orma_findings_add(findings, "daemon_hangs",
				  "The daemon at %s does not answer: it is stopped, or overloaded.",
				  addresses);
		orma_findings_advise(findings,
				     "To see which process it is: ss -xlp | grep %s. "
				     "Restart it: sudo systemctl restart orma-traced",
				     path ? path : addresses);
	} else {
		orma_findings_add(findings, "daemon_failed",
				  "The daemon at %s does not answer: %s.", addresses,
				  daemon_text(daemon));
		orma_findings_advise(findings, "Restart it: sudo systemctl restart orma-traced");
	}
}

static void report_daemon(const char *root, const struct orma_doctor_daemon *daemon,
			  struct orma_findings *findings)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address address;
	const char *path;

	if (!daemon->state) {
		report_no_daemon(root, daemon, findings);
	} else if (daemon->state->data_sources.count == 0) {
		orma_findings_add(findings, "no_producer",
				  "The daemon at %s runs, but no program offers it a data source.",
				  orma_ipc_consumer_address());
		orma_findings_advise(findings,
				     "Start this machine's: sudo orma probes --background");
	} else {
		size_t producers = daemon->state->producers.count;
		size_t sources = daemon->state->data_sources.count;
		orma_findings_add_note(findings, "daemon",
				       "The daemon at %s has %zu %s and %zu %s.",
				       orma_ipc_consumer_address(), producers,
				       orma_base_noun(producers, "producer", "producers"), sources,
				       orma_base_noun(sources, "data source", "data sources"));
	}
	path = socket_path(orma_ipc_producer_address(), &address, item);
	if (path && access(path, F_OK) == 0 && access(path, W_OK) && errno == EACCES)
		report_permission(root, "no_producer_permission", path, findings);
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* The kernel, or the filter of a container, may refuse perf events to this user. */
static bool is_perf_refused(void)
{
#ifdef ORMA_HAVE_PERF
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int fd = orma_base_fd_avoid_standard(
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
	bool is_refused = fd < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
	orma_base_fd_close(fd);
	return is_refused;
#else
	return false;
#endif
}

static void report_perf_events(const char *root, struct orma_findings *findings)
{
	uint64_t value = 0;
	bool is_known =
		orma_system_file_read_u64(root, "/proc/sys/kernel/perf_event_paranoid", &value);

	if (is_known && value >= 2) {
		orma_findings_add_note(
			findings, "perf_event_paranoid",
			"kernel.perf_event_paranoid is %" PRIu64 "%s", value,
			value > 2 ? ", so only root can use orma profile and linux.perf."
				  : ", so users other than root profile their own programs only, "
				    "without time in the kernel, and do not see where "
				    "threads wait.");
		orma_findings_advise(findings, "sudo sysctl kernel.perf_event_paranoid=1");
	}
	/* Only the real machine can be asked; tests have a made-up root. */
	if (!root[0] && (value <= 2 || geteuid() == 0) && is_perf_refused())
		orma_findings_add_note(
			findings, "perf_events_refused",
			"Perf events are refused although the settings permit them, "
			"so orma profile and linux.perf cannot work. A container's "
			"seccomp filter may be the reason: run it with CAP_PERFMON.");
	if (orma_system_file_read_u64(root, "/proc/sys/kernel/perf_event_mlock_kb", &value) &&
	    value < PERF_MLOCK_KB) {
		orma_findings_add_note(findings, "perf_event_mlock_kb",
				       "kernel.perf_event_mlock_kb is %" PRIu64
				       ", so samples of users other than root may be lost.",
				       value);
		orma_findings_advise(findings, "sudo sysctl kernel.perf_event_mlock_kb=%u",
				     PERF_MLOCK_KB);
	}
}

static void report_settings(const char *root, struct orma_findings *findings)
{
	uint64_t value;

	if (orma_system_file_read_u64(root, "/proc/sys/kernel/kptr_restrict", &value) &&
	    value >= 2) {
		orma_findings_add(findings, "kptr_restrict",
				  "kernel.kptr_restrict is %" PRIu64
				  ", so kernel functions appear as addresses, even for root.",
				  value);
		orma_findings_advise(findings, "sudo sysctl kernel.kptr_restrict=1");
	}
	report_perf_events(root, findings);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* Returns false when the processor is not an x86, or its flags are not known. */
static bool find_flags(const char *root, struct orma_buf *content, struct orma_str *ret)
{
	struct orma_str text, line, key;

	if (orma_system_file_read(root, "/proc/cpuinfo", content))
		return false;
	text = (struct orma_str){(const char *)content->data, content->size};
	while (orma_probes_text_line(&text, &line))
		if (orma_probes_text_until(&line, ':', &key) &&
		    orma_base_str_is(orma_probes_text_trim(key), "flags")) {
			*ret = line;
			return true;
		}
	return false;
}

static bool has_flag(struct orma_str flags, const char *wanted)
{
	struct orma_str flag;

	while (orma_probes_text_word(&flags, &flag))
		if (orma_base_str_is(flag, wanted))
			return true;
	return false;
}

static void report_source(struct orma_str name, struct orma_findings *findings)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(slow); i++)
		if (orma_base_str_is(name, slow[i])) {
			orma_findings_add(
				findings, "slow_clocksource",
				"The kernel's clock source is %s, so each timestamp takes "
				"a microsecond or more.",
				slow[i]);
			orma_findings_advise(findings,
					     "The kernel's log has the reason: sudo dmesg "
					     "| grep -i -e tsc -e clocksource");
			return;
		}
	if (!orma_base_str_is(name, "tsc") && !orma_base_str_is(name, "arch_sys_counter"))
		orma_findings_add_note(
			findings, "clocksource",
			"The kernel's clock source is %.*s, so events use the system's "
			"clock and not the cycle counter; ORMA_CLOCK=tsc overrides "
			"this.",
			(int)name.size, name.data);
}

static void report_clocks(const char *root, struct orma_findings *findings)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_str flags, text, line;

	if (find_flags(root, &content, &flags) &&
	    !(has_flag(flags, "constant_tsc") && has_flag(flags, "nonstop_tsc")))
		orma_findings_add_note(
			findings, "no_invariant_tsc",
			"The processor's cycle counter is not invariant, so events use "
			"the system's clock, which is slower.");
	if (orma_system_file_read(
		    root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		    &content))
		return;
	text = (struct orma_str){(const char *)content.data, content.size};
	if (orma_probes_text_line(&text, &line))
		report_source(line, findings);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* Finds the limit of this process's cgroup (v2) and its use, in KB. */
static bool find_cgroup_memory(const char *root, uint64_t *ret_limit_kb, uint64_t *ret_used_kb)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	char path[PATH_MAX];
	struct orma_str text, line;

	if (orma_system_file_read(root, "/proc/self/cgroup", &content))
		return false;
	text = (struct orma_str){(const char *)content.data, content.size};
	while (orma_probes_text_line(&text, &line)) {
		if (!orma_probes_text_has_prefix(line, "0::/"))
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/memory.max", (int)line.size - 3,
			 line.data + 3);
		if (!orma_system_file_read_u64(root, path, ret_limit_kb))
			return false;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%.*s/memory.current",
			 (int)line.size - 3, line.data + 3);
		if (!orma_system_file_read_u64(root, path, ret_used_kb))
			*ret_used_kb = 0;
		*ret_limit_kb /= 1024;
		*ret_used_kb /= 1024;
		return true;
	}
	return false;
}

static void report_memory(const char *root, struct orma_findings *findings)
{
	uint64_t available_kb, limit_kb, used_kb;
	struct rlimit limit;

	if (orma_system_file_find_u64(root, "/proc/meminfo", "MemAvailable:", &available_kb) &&
	    available_kb < MEMORY_WANTED_KB) {
		orma_findings_add(findings, "low_memory",
				  "Only %" PRIu64 " KB of memory are available.", available_kb);
		orma_findings_advise(findings, "Record with a smaller buffer: orma record -b 4m");
	}
	if (find_cgroup_memory(root, &limit_kb, &used_kb) &&
	    limit_kb < used_kb + MEMORY_WANTED_KB) {
		orma_findings_add(findings, "cgroup_memory",
				  "The limit of this control group (memory.max) is %" PRIu64
				  " KB, and %" PRIu64 " KB of it are in use.",
				  limit_kb, used_kb);
		orma_findings_advise(findings,
				     "Raise the limit (MemoryMax= of the systemd unit), or "
				     "record with a smaller buffer: orma record -b 4m");
	}
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur / 1024 < (rlim_t)MEMORY_WANTED_KB * 4) {
		orma_findings_add(findings, "address_space_limit",
				  "The address space of a process is limited to %" PRIu64 " KB.",
				  (uint64_t)limit.rlim_cur / 1024);
		orma_findings_advise(findings, "ulimit -v unlimited");
	}
}

void orma_doctor_examine_system(const char *root, const struct orma_doctor_daemon *daemon,
				struct orma_findings *findings)
{
	report_daemon(root, daemon, findings);
	orma_doctor_examine_tracefs(root, daemon, findings);
	report_settings(root, findings);
	report_clocks(root, findings);
	report_memory(root, findings);
}
