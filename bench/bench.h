/* SPDX-License-Identifier: Apache-2.0
 * bench.h - the parts of the benchmark: the two sides, the options, rows of results.
 */
#ifndef ORMA_BENCH_BENCH_H
#define ORMA_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "process.h"

enum bench_side { BENCH_ORMA, BENCH_PEER, BENCH_SIDES };

#define BENCH_RUNS_MAX 32
#define BENCH_ROWS_MAX 192
#define BENCH_NAME_MAX 96
#define BENCH_NOTE_MAX 128

struct bench_options {
	const char *orma;              /* the binary, called as `orma traced` */
	const char *peer;              /* Perfetto's traced; NULL = orma alone */
	const char *producer;          /* bench_producer */
	const char *upstream_producer; /* bench_upstream_producer; NULL = without its rows */
	const char *folder;            /* for files that sessions write */
	const char *only;              /* runs only the rows whose names contain this; NULL = all */
	unsigned runs;
	unsigned run_ms;  /* duration of a throughput row */
	unsigned file_ms; /* duration of the write_into_file row */
	unsigned idle_ms;
	unsigned flushes;
};

/* One line of the table. */
struct bench_row {
	char block[BENCH_NAME_MAX], name[BENCH_NAME_MAX], unit[24];
	bool is_less_better;
	double values[BENCH_SIDES][BENCH_RUNS_MAX];
	unsigned counts[BENCH_SIDES];
	char note[BENCH_NOTE_MAX]; /* failures and losses */
};

struct bench_report {
	struct bench_row rows[BENCH_ROWS_MAX];
	size_t count;
};

/* report.c */
/* Returns the row of that name, which is added if it is new; NULL when there are too many rows. */
struct bench_row *bench_report_row(struct bench_report *report, const char *block, const char *name,
				   const char *unit, bool is_less_better);
void bench_row_add(struct bench_row *row, enum bench_side side, double value);
double bench_median(const double *values, unsigned count);
void bench_report_print(const struct bench_report *report, FILE *to);
void bench_report_print_json(const struct bench_report *report, FILE *to);

/* Makes one measurement on one side and adds its values to rows of the report. */
typedef int bench_measure_fn(const struct bench_options *options, struct bench_report *report,
			     enum bench_side side, struct bench_daemon *daemon, const void *args);

struct bench_flush_times {
	double p50_us, p99_us, longest_us;
};

/* rows.c */
/* Each measurement has a daemon of its own; orma and the peer take turns. Returns 0 or the last error. */
int bench_measure_in_turns(const struct bench_options *options, struct bench_report *report,
			   unsigned runs, bench_measure_fn *measure, const void *args);
struct orma_session;
int bench_time_flushes(unsigned count, struct orma_session *session, struct bench_flush_times *ret);
int bench_rows_throughput(const struct bench_options *options, struct bench_report *report);
int bench_rows_read_back(const struct bench_options *options, struct bench_report *report);
int bench_rows_file(const struct bench_options *options, struct bench_report *report);
int bench_rows_flush(const struct bench_options *options, struct bench_report *report);
int bench_rows_memory(const struct bench_options *options, struct bench_report *report);
int bench_rows_idle(const struct bench_options *options, struct bench_report *report);
/* stuck.c */
int bench_rows_stuck(const struct bench_options *options, struct bench_report *report);
/* clone.c */
int bench_rows_clone(const struct bench_options *options, struct bench_report *report);
/* rows.c */
void bench_rows_copy(const struct bench_options *options, struct bench_report *report);

#endif
