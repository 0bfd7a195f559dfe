/* SPDX-License-Identifier: Apache-2.0
 * heap_guardrail.c - max_heapprofd_memory_kb and max_heapprofd_cpu_secs.
 *
 * The CPU time is counted from the start of the session, so that the limit is useful in a profiler that has run for months.
 */
#include "probes/heap/heap_guardrail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"

#define CHECK_NS         (30 * ORMA_NS_PER_SEC)
#define STATUS_BYTES_MAX (64u << 10)

void orma_heap_guardrail_init(struct orma_heap_guardrail *guardrail,
			      const struct orma_heap_config *config, uint64_t now_ns)
{
	*guardrail = (struct orma_heap_guardrail){
		.max_memory_kb = config->max_memory_kb,
		.next_check_ns = now_ns,
	};
	if (config->max_cpu_secs && config->max_cpu_secs < UINT64_MAX / ORMA_NS_PER_SEC / 2)
		guardrail->max_cpu_ns = orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
					config->max_cpu_secs * ORMA_NS_PER_SEC;
}

static uint64_t field_kb(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

uint64_t orma_heap_anonymous_kb(const char *status_path)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	const char *status;

	if (orma_base_file_read(AT_FDCWD, status_path, STATUS_BYTES_MAX, &text) < 0)
		return UINT64_MAX;
	status = orma_base_buf_cstr(&text);
	return status ? field_kb(status, "\nRssAnon:") + field_kb(status, "\nVmSwap:") : UINT64_MAX;
}

bool orma_heap_guardrail_is_hit(struct orma_heap_guardrail *guardrail, uint64_t now_ns)
{
	if (now_ns < guardrail->next_check_ns)
		return false;
	guardrail->next_check_ns = now_ns + CHECK_NS;
	if (guardrail->max_cpu_ns &&
	    orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID) > guardrail->max_cpu_ns) {
		orma_base_log(ORMA_LOG_WARNING, "android.heapprofd: the profile ends: the profiler "
						"has used max_heapprofd_cpu_secs");
		return true;
	}
	if (guardrail->max_memory_kb == 0)
		return false;
	uint64_t kb = orma_heap_anonymous_kb("/proc/self/status");
	if (kb == UINT64_MAX || kb <= guardrail->max_memory_kb)
		return false;
	orma_base_log(ORMA_LOG_WARNING,
		      "android.heapprofd: the profile ends: the profiler's memory is above "
		      "max_heapprofd_memory_kb");
	return true;
}
