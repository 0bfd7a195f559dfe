/* SPDX-License-Identifier: Apache-2.0
 * profile_run.c - `orma profile`: records a trace, writes it in the requested format, and prints the
 * functions that cost most.
 *
 * The recorder runs a service of its own in a private folder, because a running daemon may not offer
 * linux.perf, and because a profile must not depend on other sessions. Formats other than a trace are
 * made from a trace in that folder.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answers/losses.h"
#include "answers/stack_tree.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/ask/ask.h"
#include "tool/ask/units.h"
#include "tool/daemon/descriptor_limit.h"
#include "tool/daemon/private_folder.h"
#include "tool/export/export.h"
#include "tool/print.h"
#include "tool/profile/profile.h"
#include "tool/record/record.h"
#include "tool/record/record_app.h"
#include "tool/report/report.h"
#include "tool/tool.h"

enum form { FORM_TRACE, FORM_REPORT, FORM_PPROF, FORM_COLLAPSED };
enum { REPORT_ROWS = 20, REPORT_KB = 10 << 10, PATH_BYTES = 128 };
/* A fifth of the samples without names is worth a line. */
enum { NAMELESS_PART = 5 };

struct folder {
	struct orma_private_folder private_folder;
	char producers[PATH_BYTES], trace[PATH_BYTES];
};

static bool ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static enum form form_of(const char *path)
{
	if (ends_with(path, ".html"))
		return FORM_REPORT;
	if (ends_with(path, ".pb.gz") || ends_with(path, ".pprof"))
		return FORM_PPROF;
	if (ends_with(path, ".collapsed") || ends_with(path, ".folded"))
		return FORM_COLLAPSED;
	return FORM_TRACE;
}

/* ---- the recording ---- */

/* The program, the processes or the machine to be sampled. */
struct target {
	const char *name; /* the program; NULL = there is none */
	int failure_fd;   /* an eventfd that becomes readable when it cannot be sampled */
	/* Written by the thread of the probes before it acknowledges their start or makes failure_fd readable, read by the
	 * main thread after that. */
	atomic_bool cannot_sample;
};

static void on_perf_failure(void *ctx)
{
	struct target *target = ctx;

	atomic_store_explicit(&target->cannot_sample, true, memory_order_release);
	orma_base_fd_wake(target->failure_fd);
}

/* Called after the probe has printed why it cannot sample. */
static bool may_start(void *ctx)
{
	struct target *target = ctx;
	bool cannot = atomic_load_explicit(&target->cannot_sample, memory_order_acquire);

	if (cannot)
		orma_tool_fail("%s was not started, because it cannot be sampled", target->name);
	return !cannot;
}

static int make_folder(struct folder *folder)
{
	struct orma_error error = {0};

	if (orma_private_folder_make(orma_private_folder_parent(getenv("TMPDIR")),
				     &folder->private_folder, &error) < 0)
		return orma_tool_fail("%s", error.message);
	const char *path = folder->private_folder.path;
	if (mkdirat(folder->private_folder.fd, ORMA_PRIVATE_FOLDER_INNER, 0700) < 0)
		return orma_tool_fail("cannot make a folder in %s: %s", path, strerror(errno));
	snprintf(folder->producers, PATH_BYTES, "%s/" ORMA_PRIVATE_FOLDER_PRODUCERS, path);
	snprintf(folder->trace, PATH_BYTES, "%s/" ORMA_PRIVATE_FOLDER_TRACE, path);
	return ORMA_EXIT_OK;
}

static int make_config(const struct orma_profile_options *options, struct orma_record_config *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_error error = {0};
	char path[40];
	const char *wrong = "";
	int r = orma_profile_append_config(options, &text, &wrong);

	if (r == -EINVAL)
		return orma_tool_usage_error("\"%s\" is not known; try cpu-clock, page-faults, "
					     "cycles, sched:sched_switch or r1a2",
					     wrong);
	ORMA_AUTO(orma_base_fd_closep)
	int fd = r < 0 ? r : orma_base_memfd_new("config", text.size);
	if (fd < 0 || pwrite(fd, text.data, text.size, 0) != (ssize_t)text.size)
		return orma_tool_fail("%s", strerror(fd < 0 ? -fd : EIO));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct orma_record_wish wish = {.config_path = path, .format = ORMA_CONFIG_TEXT};
	r = orma_record_config_make(&wish, ret, &error);
	return r < 0 ? orma_tool_fail_in_text(&error) : ORMA_EXIT_OK;
}

static int record(const struct orma_profile_options *options, const char *producers,
		  const char *trace, struct target *target)
{
	const struct orma_record_places places = {.producers = producers};
	struct orma_record_config config = {0};
	int status = make_config(options, &config);
	/* Tasks that are watched one by one need a descriptor each for each CPU. */
	uint64_t descriptors = orma_tool_set_descriptor_limit(UINT64_MAX);

	if (status == ORMA_EXIT_OK) {
		struct orma_record_options record = {
			.config = &config,
			.places = &places,
			.out_path = trace,
			.may_serve = true,
			.is_quiet = true,
			.tells_waiting = true,
			.tells_interrupt = !options->argv && options->pid_count == 0 &&
					   options->duration_ms == 0,
			.ready_fd = -1,
			.app_argv = options->argv,
			.app_descriptors = descriptors,
			.failure_fd = target->failure_fd,
			.on_perf_failure = on_perf_failure,
			.may_start_app = may_start,
			.app_ctx = target,
			.target_pids = options->pids,
			.target_count = options->pid_count,
		};
		status = orma_record_run(&record);
	}
	orma_record_config_done(&config);
	return status;
}

/* ---- the table ---- */

static const struct orma_cost_profile *find_profile(const struct orma_cost_profiles *profiles)
{
	for (uint32_t i = 0; i < profiles->count; i++)
		if (!profiles->items[i].is_heap && profiles->items[i].row_count > 0)
			return &profiles->items[i];
	return NULL;
}

static int compare_costs(const void *a, const void *b)
{
	const struct orma_function_cost *x = a, *y = b;

	if (x->own[0] != y->own[0])
		return x->own[0] > y->own[0] ? -1 : 1;
	return x->total[0] > y->total[0] ? -1 : x->total[0] < y->total[0];
}

/* Prints how many waits were recorded: above a limit, one wait in N is recorded, with N times its weight. */
static void print_waits_left_out(FILE *out, const struct orma_cost_profile *profile)
{
	uint64_t count = orma_cost_profile_wait_count(profile);
	char recorded[ORMA_UNIT_BYTES], all[ORMA_UNIT_BYTES];

	if (count > 0)
		orma_tool_print_line(out,
				     "%s of %s waits were recorded, and each stands for %.1f on "
				     "average; -F chooses how many",
				     orma_units_count(profile->sample_count, recorded),
				     orma_units_count(count, all),
				     (double)count /
					     (double)ORMA_MAX(profile->sample_count, UINT64_C(1)));
}

/* Prints how many records the kernel has dropped, which it does while a ring is full. */
static int print_losses(FILE *out, const struct orma_trace_database *database)
{
	struct orma_losses losses;
	char text[ORMA_UNIT_BYTES];
	int r = orma_losses_find(database, &losses);

	for (uint32_t i = 0; i < losses.count; i++)
		if (orma_base_str_is(losses.items[i].name, "perf_cpu_lost_records"))
			orma_tool_print_line(
				out,
				"%s %s lost, because events came faster than they were read; a "
				"lower -F or a higher --period helps",
				orma_units_count((uint64_t)losses.items[i].count, text),
				losses.items[i].count == 1 ? "record was" : "records were");
	orma_losses_done(&losses);
	return r;
}

static void print_sum(FILE *out, const struct orma_stack_tree *tree)
{
	const struct orma_cost_profile *profile = tree->profile;
	char text[ORMA_UNIT_BYTES];
	bool is_time = profile->value_count > 0 && profile->values[0].unit.data &&
		       orma_base_str_is(profile->values[0].unit, "ns");

	orma_tool_print_line(
		out, "%s %s",
		is_time ? orma_units_duration(tree->sums[0], text)
			: orma_units_count((uint64_t)tree->sums[0], text),
		is_time ? "of waiting"
			: orma_base_noun((uint64_t)tree->sums[0], "sample", "samples"));
	print_waits_left_out(out, profile);
}

static void print_rows(FILE *out, const struct orma_stack_tree *tree,
		       struct orma_function_cost *costs, uint32_t count, uint64_t top)
{
	double sum = (double)ORMA_MAX(tree->sums[0], INT64_C(1));

	qsort(costs, count, sizeof(*costs), compare_costs);
	orma_tool_print_line(out, "%7s  %7s  %s", "SELF", "TOTAL", "FUNCTION");
	for (uint32_t i = 0; i < count && i < top; i++) {
		const struct orma_stack_function *function =
			&tree->functions->items[costs[i].function];
		struct orma_str file = function->file;
		const char *slash = file.size > 0 ? memrchr(file.data, '/', file.size) : NULL;
		if (slash)
			file = (struct orma_str){slash + 1,
						 file.size - (size_t)(slash + 1 - file.data)};
		orma_tool_print_line(
			out, "%6.1f%%  %6.1f%%  %.*s%s%.*s", 100 * (double)costs[i].own[0] / sum,
			100 * (double)costs[i].total[0] / sum, (int)function->name.size,
			function->name.data, file.size > 0 ? "  " : "", (int)file.size,
			file.data ? file.data : "");
	}
}

/* Prints how to get names, if many samples are in functions that have none: "[/usr/lib/libc.so.6]". */
static void print_nameless(FILE *out, const struct orma_stack_tree *tree,
			   const struct orma_function_cost *costs, uint32_t count)
{
	const struct orma_function_cost *most = NULL;
	char share[ORMA_UNIT_BYTES];
	int64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct orma_str name = tree->functions->items[costs[i].function].name;
		if (name.size < 3 || memcmp(name.data, "[/", 2) != 0 || costs[i].own[0] <= 0)
			continue;
		sum += costs[i].own[0];
		if (!most || costs[i].own[0] > most->own[0])
			most = &costs[i];
	}
	if (!most || sum < tree->sums[0] / NAMELESS_PART)
		return;
	struct orma_str name = tree->functions->items[most->function].name;
	orma_tool_print_line(
		out,
		"%s is spent in functions without names, most of it in %.*s; they have names if "
		"its "
		"debugging symbols are installed (a package -dbg or -dbgsym)",
		orma_units_share((double)sum / (double)ORMA_MAX(tree->sums[0], INT64_C(1)), share),
		(int)name.size - 2, name.data + 1);
}

/* Prints how to get names, if many samples are in code without a file. */
static void print_unknown(FILE *out, const struct orma_stack_tree *tree,
			  const struct orma_function_cost *costs, uint32_t count)
{
	char share[ORMA_UNIT_BYTES];
	int64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (orma_base_str_is(tree->functions->items[costs[i].function].name, "[unknown]"))
			sum += costs[i].own[0];
	if (sum == 0 || sum < tree->sums[0] / NAMELESS_PART)
		return;
	orma_tool_print_line(
		out,
		"%s is spent in code without a file; that of JIT compilers has names if they write "
		"/tmp/perf-PID.map, as node --perf-basic-prof and python3 -X perf do%s",
		orma_units_share((double)sum / (double)ORMA_MAX(tree->sums[0], INT64_C(1)), share),
		geteuid() == 0 ? "" : "; files of other users' processes are seen by root only");
}

/* After a program, the table goes to standard error, because the program's standard output may be data for another one. */
static FILE *output_for(const struct orma_profile_options *options)
{
	return options->argv ? stderr : stdout;
}

static const char *reason_for_nothing(const struct orma_profile_options *options)
{
	if (options->stacks == ORMA_PROFILE_STACKS_NONE)
		return "--stacks none has left out the program's functions; the counters in the "
		       "trace "
		       "have all samples";
	if (options->off_cpu)
		return "no wait began in this time; waits that began before it are not counted, so "
		       "a longer -t helps";
	if (options->argv)
		return "the program was too short; a higher -F takes more";
	return "nothing ran, or no thread for as long as the time between two samples, and a "
	       "higher "
	       "-F helps; `orma doctor` says what is permitted";
}

/* An empty profile is a failure, unless there is a program, whose status counts. */
static int print_table(const struct orma_trace_database *database,
		       const struct orma_profile_options *options)
{
	struct orma_cost_profiles profiles = {0};
	struct orma_stack_functions functions = {0};
	struct orma_stack_tree tree = {0};
	struct orma_function_cost *costs = NULL;
	uint32_t count = 0;
	FILE *out = output_for(options);
	int r = orma_cost_profiles_read(&profiles, database);
	const struct orma_cost_profile *profile = r == 0 ? find_profile(&profiles) : NULL;

	if (profile) {
		r = orma_stack_functions_read(&functions, database);
		if (r == 0)
			r = orma_stack_tree_build(&tree, &functions, profile);
		if (r == 0)
			r = orma_stack_tree_functions(&tree, &costs, &count);
		if (r == 0)
			print_sum(out, &tree);
		if (r == 0)
			r = print_losses(out, database);
		if (r == 0)
			print_rows(out, &tree, costs, count, options->top);
		if (r == 0)
			print_nameless(out, &tree, costs, count);
		if (r == 0)
			print_unknown(out, &tree, costs, count);
	} else if (r == 0) {
		orma_tool_warn("there are no samples with stacks; if no message above says why, %s",
			       reason_for_nothing(options));
	}
	orma_base_free(costs);
	orma_stack_tree_done(&tree);
	orma_stack_functions_done(&functions);
	orma_cost_profiles_done(&profiles);
	if (r < 0)
		return orma_tool_fail("%s", strerror(-r));
	return profile || options->argv ? ORMA_EXIT_OK : ORMA_EXIT_FAILURE;
}

/* ---- all of it ---- */

static int write_form(const struct orma_profile_options *options, struct orma_ask *ask,
		      const char *trace)
{
	enum form form = form_of(options->path);
	struct orma_export_options export = {.path = options->path};
	struct orma_report_run_options report = {
		.path = options->path, .title = "Profile", .top = REPORT_ROWS, .max_kb = REPORT_KB};

	switch (form) {
	case FORM_REPORT:
		return orma_report_run(&report, &trace, 1);
	case FORM_PPROF:
		export.kind = ORMA_EXPORT_PPROF;
		return orma_export_loaded(ask, &export);
	case FORM_COLLAPSED:
		export.kind = ORMA_EXPORT_COLLAPSED;
		return orma_export_loaded(ask, &export);
	default:
		return ORMA_EXIT_OK;
	}
}

static int finish(const struct orma_profile_options *options, const char *trace)
{
	struct orma_ask_options ask_options = {0};
	struct orma_ask *ask = orma_ask_load_all(&trace, 1, &ask_options);

	if (!ask)
		return ORMA_EXIT_FAILURE;
	int status =
		options->is_quiet ? ORMA_EXIT_OK : print_table(orma_ask_database(ask), options);
	if (status == ORMA_EXIT_OK)
		status = write_form(options, ask, trace);
	orma_ask_free(ask);
	if (status == ORMA_EXIT_OK && !options->is_quiet && form_of(options->path) == FORM_TRACE)
		orma_tool_print_line(output_for(options),
				     "%s: the trace; orma view, report and export read it",
				     options->path);
	return status;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int orma_profile_check_output(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct stat info;

	if (strcmp(path, "-") == 0)
		return ORMA_EXIT_OK;
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return orma_tool_fail("%s is a folder; name a file in it", path);
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	if (access(path, F_OK) == 0 ? access(path, W_OK) == 0 : access(folder, W_OK | X_OK) == 0)
		return ORMA_EXIT_OK;
	return orma_tool_fail("cannot write %s: %s; choose another file with -o", path,
			      strerror(errno));
}

static int run(const struct orma_profile_options *options)
{
	struct folder folder = {0};
	struct stat facts, old = {0};
	ORMA_AUTO(orma_base_fd_closep)
	int failure_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	struct target target = {.name = options->argv ? options->argv[0] : NULL,
				.failure_fd = failure_fd};
	int status = failure_fd < 0 ? orma_tool_fail("%s", strerror(errno)) : make_folder(&folder);
	const char *trace = form_of(options->path) == FORM_TRACE ? options->path : folder.trace;

	if (status == ORMA_EXIT_OK) {
		(void)stat(trace, &old);
		status = record(options, folder.producers, trace, &target);
		/* A status other than 0 may be the program's, which has failed for reasons of its own. */
		bool is_recorded = status == ORMA_EXIT_OK ||
				   (options->argv && status != ORMA_EXIT_NOT_STARTED &&
				    status != ORMA_EXIT_NOT_FOUND && !target.cannot_sample);
		/* The service may have begun to write it. */
		if (target.cannot_sample && old.st_ino == 0)
			(void)unlink(trace);
		/* A recording that failed leaves the file of an earlier one as it was. */
		if (is_recorded && stat(trace, &facts) == 0 && facts.st_size > 0 &&
		    !is_same_file(&facts, &old)) {
			int r = finish(options, trace);
			status = status == ORMA_EXIT_OK ? r : status;
		}
	}
	orma_private_folder_remove(&folder.private_folder);
	return status;
}

int orma_profile_run(const struct orma_profile_options *options)
{
	int status = orma_profile_check_output(options->path);

	/* Checked first, because the service would overwrite an earlier profile before the program is found missing. */
	if (status == ORMA_EXIT_OK && options->argv)
		status = orma_record_app_find(options->argv[0]);
	return status == ORMA_EXIT_OK ? run(options) : status;
}
