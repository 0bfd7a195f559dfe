/* SPDX-License-Identifier: Apache-2.0
 * perf_targets.c - the CPUs and tasks whose events are opened. Owns nothing.
 *
 * A list of tasks is out of date when it is complete. Threads that begin while it is read are children of listed threads, and
 * inherit their events if those were open already. So only a thread that begins in this moment may be missed.
 */
#include "probes/perf/perf_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/probe_text.h"

#define CPUS_MAX 4096u
/* passes over all processes to find families; ids that do not rise need several */
#define PASSES_MAX 64u

/* ---- CPUs ---- */

/* True if the CPU has an id that the config names. Upstream's id of an ARM CPU is implementer, part, variant
 * and revision, in hexadecimal. These are fields of the register MIDR_EL1. Other CPUs have no id. */
static bool has_wanted_id(const char *sys_path, const struct orma_perf_config *config, uint32_t cpu)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	char path[512], id[32];
	struct orma_str text;
	int size =
		snprintf(path, sizeof(path),
			 "%s/devices/system/cpu/cpu%u/regs/identification/midr_el1", sys_path, cpu);

	if (config->cpuid_count == 0)
		return true;
	if (size < 0 || (size_t)size >= sizeof(path) ||
	    orma_probes_file_read(AT_FDCWD, path, &buf, &text) < 0 ||
	    orma_base_buf_append(&buf, "", 1) < 0)
		return false;
	unsigned long long midr = strtoull((const char *)buf.data, NULL, 16);
	size = snprintf(id, sizeof(id), "%llx%llx%llx%llx", midr >> 24 & 0xff, midr >> 4 & 0xfff,
			midr >> 20 & 0xf, midr & 0xf);
	for (size_t i = 0; i < config->cpuid_count; i++)
		if (config->cpuids[i].size <= (size_t)size &&
		    (config->cpuids[i].size == 0 ||
		     memcmp(id, config->cpuids[i].data, config->cpuids[i].size) == 0))
			return true;
	return false;
}

static bool is_wanted(const char *sys_path, const struct orma_perf_config *config, uint32_t cpu)
{
	bool is_named = config->cpu_count == 0;

	for (size_t i = 0; i < config->cpu_count && !is_named; i++)
		is_named = config->cpus[i] == cpu;
	return is_named && has_wanted_id(sys_path, config, cpu);
}

/* Reads one part of the list "0-3,8". */
static bool read_range(struct orma_str part, uint32_t *ret_first, uint32_t *ret_last)
{
	struct orma_str first;

	if (!orma_probes_text_until(&part, '-', &first))
		first = part;
	return orma_probes_text_u32(first, ret_first) && orma_probes_text_u32(part, ret_last) &&
	       *ret_last < CPUS_MAX;
}

int orma_perf_targets_cpus(const char *sys_path, const struct orma_perf_config *config,
			   struct orma_probes_numbers *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf path = {0};
	struct orma_str text, part;
	uint32_t first, last;
	int r = orma_base_buf_printf(&path, "%s/devices/system/cpu/online", sys_path);
	const char *name = r == 0 ? orma_base_buf_cstr(&path) : NULL;

	if (!name)
		return -ENOMEM;
	r = orma_probes_file_read(AT_FDCWD, name, &buf, &text);
	if (r < 0)
		return r;
	text = orma_probes_text_trim(text);
	while (text.size > 0 && text.data[text.size - 1] == '\n')
		text.size--;
	for (bool is_last = false; !is_last && r == 0;) {
		if (!orma_probes_text_until(&text, ',', &part)) {
			part = text;
			is_last = true;
		}
		if (!read_range(part, &first, &last))
			return -EBADMSG;
		for (uint32_t cpu = first; cpu <= last && r == 0; cpu++)
			if (is_wanted(sys_path, config, cpu))
				r = orma_probes_numbers_add(ret, cpu);
	}
	if (r == 0 && ret->count == 0)
		r = -ENODATA;
	return r;
}

/* ---- tasks ---- */

static int add_threads(int proc_fd, uint32_t pid, struct orma_probes_numbers *ret)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_probes_numbers tids = {0};
	int r = orma_probes_dir_numbers(proc_fd, orma_probes_path(path, "", pid, "/task"), "",
					&tids);

	/* The process has ended. */
	if (r < 0)
		r = 0;
	for (size_t i = 0; i < tids.count && r == 0; i++)
		r = ret->count < ORMA_PERF_TASKS_MAX ? orma_probes_numbers_add(ret, tids.items[i])
						     : -E2BIG;
	orma_probes_numbers_done(&tids);
	return r;
}

static bool is_ours(int proc_fd, uint32_t pid)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct stat facts;

	return pid != (uint32_t)getpid() &&
	       fstatat(proc_fd, orma_probes_path(path, "", pid, ""), &facts, 0) == 0 &&
	       facts.st_uid == geteuid();
}

static bool is_included(int proc_fd, struct orma_perf_scope *scope, uint32_t pid,
			struct orma_buf *buf)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str cmdline;

	if (orma_probes_file_read(proc_fd, orma_probes_path(path, "", pid, "/cmdline"), buf,
				  &cmdline) < 0)
		return false;
	/* Threads of the kernel have no command line, and do not belong to the user. */
	return cmdline.size > 0 && orma_perf_scope_includes(scope, pid, cmdline);
}

static int add_own(int proc_fd, struct orma_perf_scope *scope, struct orma_probes_numbers *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_probes_numbers pids = {0};
	int r = orma_probes_dir_numbers(proc_fd, ".", "", &pids);

	for (size_t i = 0; i < pids.count && r == 0; i++)
		if (is_ours(proc_fd, pids.items[i]) &&
		    is_included(proc_fd, scope, pids.items[i], &buf))
			r = add_threads(proc_fd, pids.items[i], ret);
	orma_probes_numbers_done(&pids);
	return r;
}

/* ---- families ---- */

uint32_t orma_perf_targets_parent(int proc_fd, uint32_t pid, struct orma_buf *buf)
{
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text, state, field;
	uint32_t parent;

	if (orma_probes_file_read_record(proc_fd, orma_probes_path(path, "", pid, "/stat"), buf,
					 &text) < 0)
		return 0;
	return orma_probes_text_skip_name(&text) && orma_probes_text_word(&text, &state) &&
			       orma_probes_text_word(&text, &field) &&
			       orma_probes_text_u32(field, &parent)
		       ? parent
		       : 0;
}

static bool is_named(const struct orma_perf_scope_config *config, uint32_t pid)
{
	for (size_t i = 0; i < config->target_pid_count; i++)
		if (config->target_pids[i] > 0 && (uint32_t)config->target_pids[i] == pid)
			return pid != (uint32_t)getpid();
	return false;
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Adds the children of all members that come before them in the order of ids, which is the usual order. False
 * if there was nothing to add. */
static bool add_children(const struct orma_perf_scope_config *config,
			 const struct orma_probes_numbers *pids, const uint32_t *parents,
			 bool *is_member)
{
	bool has_added = false;

	for (size_t i = 0; i < pids->count; i++) {
		const uint32_t *parent = bsearch(&parents[i], pids->items, pids->count,
						 sizeof(*parent), compare_u32);
		if (is_member[i] || !parent || pids->items[i] == (uint32_t)getpid() ||
		    !(is_named(config, parents[i]) || is_member[parent - pids->items]))
			continue;
		is_member[i] = has_added = true;
	}
	return has_added;
}

int orma_perf_targets_family(int proc_fd, const struct orma_perf_scope_config *config,
			     struct orma_probes_numbers *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_probes_numbers pids = {0};
	int r = orma_probes_dir_numbers(proc_fd, ".", "", &pids);
	uint32_t *parents = orma_base_alloc_array(pids.count + 1, sizeof(*parents));
	bool *is_member = orma_base_alloc_array(pids.count + 1, sizeof(*is_member));

	if (r == 0 && (!parents || !is_member))
		r = -ENOMEM;
	for (size_t i = 0; i < pids.count && r == 0; i++)
		parents[i] = orma_perf_targets_parent(proc_fd, pids.items[i], &buf);
	for (unsigned pass = 0; r == 0 && pass < PASSES_MAX; pass++)
		if (!add_children(config, &pids, parents, is_member))
			break;
	for (size_t i = 0; i < pids.count && r == 0; i++)
		if (is_member[i] && !is_named(config, pids.items[i]))
			r = orma_probes_numbers_add(ret, pids.items[i]);
	orma_base_free(parents);
	orma_base_free(is_member);
	orma_probes_numbers_done(&pids);
	return r;
}

static int add_family(int proc_fd, const struct orma_perf_scope_config *config,
		      struct orma_probes_numbers *ret)
{
	struct orma_probes_numbers pids = {0};
	int r = orma_perf_targets_family(proc_fd, config, &pids);

	for (size_t i = 0; i < pids.count && r == 0; i++)
		r = add_threads(proc_fd, pids.items[i], ret);
	orma_probes_numbers_done(&pids);
	return r;
}

/* Removes duplicates, because a task that is named twice would be counted twice. */
static void remove_doubles(struct orma_probes_numbers *tids)
{
	size_t count = 0;

	if (tids->count > 0)
		qsort(tids->items, tids->count, sizeof(*tids->items), compare_u32);
	for (size_t i = 0; i < tids->count; i++)
		if (count == 0 || tids->items[i] != tids->items[count - 1])
			tids->items[count++] = tids->items[i];
	tids->count = count;
}

int orma_perf_targets_tasks(int proc_fd, struct orma_perf_scope *scope, bool has_family,
			    struct orma_probes_numbers *ret)
{
	const struct orma_perf_scope_config *config = scope->config;
	int r = 0;

	if (!orma_perf_scope_is_pids(config))
		r = add_own(proc_fd, scope, ret);
	for (size_t i = 0; i < config->target_pid_count && r == 0; i++)
		if (config->target_pids[i] > 0)
			r = add_threads(proc_fd, (uint32_t)config->target_pids[i], ret);
	if (r == 0 && has_family)
		r = add_family(proc_fd, config, ret);
	remove_doubles(ret);
	return r == 0 && ret->count == 0 ? -ENODATA : r;
}
