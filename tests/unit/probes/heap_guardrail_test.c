/* SPDX-License-Identifier: Apache-2.0
 * heap_guardrail_test.c - a profile ends when the profiler itself takes more than the configuration allows.
 */
#include "probes/heap/heap_guardrail.h"

#include <sys/stat.h>

#include "base/clock_ns.h"
#include "base/log_message.h"
#include "harness.h"

static char said[200];

static void keep_message(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx, (void)level;
	snprintf(said, sizeof(said), "%s", message);
}

static void begin(struct orma_heap_guardrail *guardrail, const struct orma_heap_config *config)
{
	said[0] = '\0';
	orma_log_set_sink(keep_message, NULL);
	orma_heap_guardrail_init(guardrail, config, 100);
}

ORMA_TEST(a_profile_without_limits_does_not_end)
{
	struct orma_heap_guardrail guardrail;

	begin(&guardrail, &(struct orma_heap_config){0});
	CHECK(!orma_heap_guardrail_is_hit(&guardrail, 100));
	CHECK_STR(said, "");
	orma_log_set_sink(NULL, NULL);
}

ORMA_TEST(memory_beyond_the_limit_ends_the_profile)
{
	struct orma_heap_guardrail guardrail;

	begin(&guardrail, &(struct orma_heap_config){.max_memory_kb = UINT32_MAX});
	CHECK(!orma_heap_guardrail_is_hit(&guardrail, 100));
	begin(&guardrail, &(struct orma_heap_config){.max_memory_kb = 1});
	CHECK(orma_heap_guardrail_is_hit(&guardrail, 100));
	CHECK(strstr(said, "max_heapprofd_memory_kb"));
	/* The next look is 30 seconds later. */
	CHECK(!orma_heap_guardrail_is_hit(&guardrail, 100 + 29 * ORMA_NS_PER_SEC));
	CHECK(orma_heap_guardrail_is_hit(&guardrail, 100 + 30 * ORMA_NS_PER_SEC));
	orma_log_set_sink(NULL, NULL);
}

ORMA_TEST(processor_time_counts_from_the_start_of_the_session)
{
	uint64_t used_ns = orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct orma_heap_guardrail guardrail;

	begin(&guardrail, &(struct orma_heap_config){.max_cpu_secs = 100});
	CHECK(guardrail.max_cpu_ns >= used_ns + 100 * ORMA_NS_PER_SEC);
	CHECK(guardrail.max_cpu_ns <
	      used_ns + 100 * ORMA_NS_PER_SEC + orma_base_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	CHECK(!orma_heap_guardrail_is_hit(&guardrail, 100));
	/* As if the session had begun 100 seconds of processor time ago. */
	begin(&guardrail, &(struct orma_heap_config){.max_cpu_secs = 100});
	guardrail.max_cpu_ns -= 100 * ORMA_NS_PER_SEC;
	CHECK(orma_heap_guardrail_is_hit(&guardrail, 100));
	CHECK(strstr(said, "max_heapprofd_cpu_secs"));
	orma_log_set_sink(NULL, NULL);
}

ORMA_TEST(anonymous_memory_in_ram_and_in_swap_counts)
{
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/status", orma_test_tmpdir());
	file = fopen(path, "w");
	CHECK(file);
	fputs("Name:\tx\nVmRSS:\t900 kB\nRssAnon:\t  120 kB\nRssFile:\t 700 kB\nVmSwap:\t 3 kB\n",
	      file);
	CHECK_INT(fclose(file), 0);
	CHECK_INT(orma_heap_anonymous_kb(path), 123);
	CHECK(orma_heap_anonymous_kb("/nowhere/status") == UINT64_MAX);
}
