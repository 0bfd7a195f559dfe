/* SPDX-License-Identifier: Apache-2.0
 * perf_prefetch_test.c - tables that are there before the first sample.
 */
#include "probes/perf/perf_prefetch.h"

#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

/* Sanitizers replace qsort(), and their file is the test's. */
ORMA_TEST(the_c_library_is_ready_for_the_first_program)
{
	struct orma_unwind_files *files;
	struct orma_unwind_process *process, *program;

	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_perf_prefetch_start(files, &process), 0);
	/* On a busy machine it takes more than one wait. */
	while (orma_unwind_files_facts(files).table_bytes == 0)
		orma_perf_prefetch_wait(process);
	orma_unwind_process_free(process);

	/* A program that starts now has its table without another one. */
	struct orma_unwind_files_facts facts = orma_unwind_files_facts(files);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &program), 0);
	CHECK_INT(orma_unwind_process_read_maps(program), 0);
	struct orma_unwind_mapping *mapping =
		orma_unwind_process_find(program, (uint64_t)(uintptr_t)qsort);
	CHECK(mapping && mapping->file && mapping->file->table);
	CHECK_INT(orma_unwind_files_facts(files).table_bytes, facts.table_bytes);
	orma_unwind_process_free(program);
	orma_unwind_files_free(files);
}
