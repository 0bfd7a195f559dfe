/* SPDX-License-Identifier: Apache-2.0
 * bench.c - runs all rows and prints the table; docs/performance.md explains it.
 *
 * Facts that are not measured on a running daemon (sizes, build times) come from bench/run as
 * --fact BLOCK|NAME|UNIT|ORMA|PEER and are printed with the rows.
 */
#include "bench.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

static void usage(FILE *to)
{
	fputs("usage: bench --orma PROGRAM --producer PROGRAM [--upstream-producer PROGRAM]\n"
	      "             [--peer PROGRAM] [--quick] [--only PART] [--runs N] [--folder FOLDER]\n"
	      "             [--json FILE] [--fact BLOCK|NAME|UNIT|ORMA|PEER]...\n",
	      to);
}

static void add_fact(struct bench_report *report, char *fact)
{
	const char *parts[5] = {"", "", "", "", ""};
	struct bench_row *row;

	for (size_t i = 0; i < 5 && fact; i++)
		parts[i] = strsep(&fact, "|");
	row = bench_report_row(report, parts[0], parts[1], parts[2], true);
	for (int side = 0; side < BENCH_SIDES; side++)
		if (parts[3 + side][0])
			bench_row_add(row, (enum bench_side)side, strtod(parts[3 + side], NULL));
}

static bool is_wanted(const struct bench_options *options, const char *name)
{
	return !options->only || strstr(name, options->only);
}

static int run(const struct bench_options *options, struct bench_report *report)
{
	static const struct {
		const char *name;
		int (*run)(const struct bench_options *options, struct bench_report *report);
	} parts[] = {
		{"read-back", bench_rows_read_back}, {"file", bench_rows_file},
		{"flush", bench_rows_flush},         {"memory", bench_rows_memory},
		{"idle", bench_rows_idle},           {"stuck", bench_rows_stuck},
		{"clone", bench_rows_clone},
	};
	int result = bench_rows_throughput(options, report);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (is_wanted(options, parts[i].name)) {
			int r = parts[i].run(options, report);

			result = r < 0 ? r : result;
		}
	}
	if (is_wanted(options, "copy"))
		bench_rows_copy(options, report);
	return result;
}

static int write_json(const struct bench_report *report, const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file) {
		perror(path);
		return 1;
	}
	bench_report_print_json(report, file);
	return fclose(file) ? 1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{"orma", required_argument, NULL, 'o'},
		{"peer", required_argument, NULL, 'p'},
		{"producer", required_argument, NULL, 'r'},
		{"upstream-producer", required_argument, NULL, 'u'},
		{"quick", no_argument, NULL, 'q'},
		{"only", required_argument, NULL, 'y'},
		{"folder", required_argument, NULL, 'd'},
		{"json", required_argument, NULL, 'j'},
		{"fact", required_argument, NULL, 'f'},
		{"runs", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	static struct bench_report report, facts;
	struct bench_options options = {.folder = ".",
					.runs = 5,
					.run_ms = 1000,
					.file_ms = 10000,
					.idle_ms = 10000,
					.flushes = 500};
	const char *json = NULL;
	int r;

	if (orma_base_fds_hold_standard() < 0)
		return 1;
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'o':
			options.orma = optarg;
			break;
		case 'p':
			options.peer = optarg;
			break;
		case 'r':
			options.producer = optarg;
			break;
		case 'u':
			options.upstream_producer = optarg;
			break;
		case 'y':
			options.only = optarg;
			break;
		case 'd':
			options.folder = optarg;
			break;
		case 'j':
			json = optarg;
			break;
		case 'f':
			add_fact(&facts, optarg);
			break;
		case 'n':
			options.runs = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'q':
			options.runs = 3;
			options.run_ms = 200;
			options.file_ms = options.idle_ms = 2000;
			options.flushes = 100;
			break;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!options.orma || !options.producer || options.runs < 1 ||
	    options.runs > BENCH_RUNS_MAX) {
		usage(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	r = run(&options, &report);
	for (size_t i = 0; i < facts.count && report.count < BENCH_ROWS_MAX; i++)
		report.rows[report.count++] = facts.rows[i];
	bench_report_print(&report, stdout);
	if (json && write_json(&report, json))
		return 1;
	return r < 0;
}
