/* SPDX-License-Identifier: Apache-2.0
 * import_fixture.h - imports a trace that is written as text, and shows tables as text.
 */
#ifndef ORMA_TESTS_IMPORT_FIXTURE_H
#define ORMA_TESTS_IMPORT_FIXTURE_H

#include "harness.h"
#include "trace/importer.h"
#include "trace/kernel_args.h"

struct import_fixture {
	struct orma_tables tables;
	struct orma_trace_bytes input;
	struct orma_importer importer;
	int result; /* result of import_run() */
	char text[1 << 16];
};

/* `text` is a Trace in protobuf's text format. `importer.system` may have options set. */
void import_text(struct import_fixture *fixture, const char *text);
void import_bytes(struct import_fixture *fixture, const void *data, size_t size);
void import_done(struct import_fixture *fixture);

/* Returns a table's rows, a line each: the named columns, separated by spaces; "-" is NULL, "id" the row's number. */
const char *import_rows(struct import_fixture *fixture, enum orma_table_id table,
			const char *columns);
/* Returns the arguments of a set as "key=value key=value". */
const char *import_args(struct import_fixture *fixture, int64_t arg_set_id);
/* The same for a row of the tables of slices and of kernel events, which are read from the trace. */
const char *import_slice_args(struct import_fixture *fixture, uint64_t row);
const char *import_event_args(struct import_fixture *fixture, uint64_t row);
/* Returns the value of a statistic, or -1. */
int64_t import_stat(struct import_fixture *fixture, const char *name);
/* Returns "track name: ts=value ts=value" for each counter, or slices for each other track. */
const char *import_counters(struct import_fixture *fixture);

#endif
