/* SPDX-License-Identifier: Apache-2.0
 * record_report.c - the recorder's report when a recording is over.
 *
 * Packets that the recorder wrote itself have been counted while it wrote them. A file that the
 * service wrote is read now.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <orma/session.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "tool/print.h"
#include "tool/record/record_json.h"
#include "tool/record/recorder.h"
#include "tool/record/trace_series.h"
#include "tool/tool.h"

struct report {
	const char *path;
	uint64_t bytes;
	uint32_t files;
	struct orma_tool_summary summary;
	bool has_packets; /* `bytes` and the packets of the summary are known */
	struct orma_error error;
};

/* Asks the service for its statistics of the session. 0 or -errno. */
static int query_stats(struct orma_recorder *recorder, struct orma_tool_summary *ret)
{
	struct orma_tool_counter counter = {0};
	void *data;
	size_t size;
	int r = orma_session_get_stats(recorder->session, &data, &size);

	if (r < 0)
		return r;
	r = orma_tool_counter_add_stats(&counter, data, size);
	orma_config_free(data);
	orma_tool_counter_done(&counter);
	*ret = counter.summary;
	return r;
}

void orma_recorder_note_losses(struct orma_recorder *recorder)
{
	struct orma_tool_summary summary;

	if (!recorder->options->is_quiet && query_stats(recorder, &summary) == 0)
		recorder->progress.earlier_discarded = summary.service_discarded;
}

/* The file may lack the statistics: it was full (--size), or may not be read. The service has them
 * until the session is freed. */
static void complete_stats(struct orma_recorder *recorder, struct orma_tool_summary *summary)
{
	struct orma_tool_summary stats;

	if (!summary->has_stats && query_stats(recorder, &stats) == 0)
		orma_tool_summary_take_losses(summary, &stats);
	/* The service counts chunks that it could not store for all sessions, from its start on. */
	summary->service_discarded -=
		ORMA_MIN(summary->service_discarded, recorder->progress.earlier_discarded);
}

/* Reads the files of output_path. */
static int read_series(struct orma_recorder *recorder, struct report *ret)
{
	const struct orma_record_config *config = recorder->options->config;
	struct orma_tool_counter counter = {0};
	struct orma_tool_series series;
	/* A relative path is relative to the daemon's folder, not to ours. */
	int r = *ret->path == '/' || recorder->embedded
			? orma_tool_series_count(ret->path, config->max_file_count, &counter,
						 &series, &ret->error)
			: orma_base_error_set(&ret->error, -ENOENT, "the path is the daemon's own");

	orma_tool_counter_done(&counter);
	if (r < 0)
		return r;
	ret->summary = counter.summary;
	ret->bytes = series.bytes;
	ret->files = series.files;
	ret->has_packets = true;
	return 0;
}

/* Reads the recorder's own file, into which the service wrote. The service and the recorder share
 * the file position, and the service may be about to write, so reading has a position of its
 * own. */
static int read_file(struct orma_recorder *recorder, struct report *ret)
{
	char path[32];
	struct stat info;

	if (!orma_trace_output_is_file(&recorder->output))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", recorder->output.fd);
	ORMA_AUTO(orma_base_fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return orma_base_error_set(&ret->error, -errno, "%s", strerror(errno));
	ret->bytes = (uint64_t)info.st_size;
	int r = orma_tool_trace_summarize(fd, &ret->summary, &ret->error);
	ret->has_packets = r == 0;
	return r;
}

static int get_report(struct orma_recorder *recorder, struct report *ret)
{
	const struct orma_record_config *config = recorder->options->config;
	struct orma_trace_output *output = &recorder->output;

	*ret = (struct report){.path = config && config->output_path ? config->output_path
								     : output->path,
			       .files = 1};
	if (config && config->output_path)
		return read_series(recorder, ret);
	if (!recorder->was_read_back)
		return read_file(recorder, ret);
	orma_tool_counter_done(&output->all);
	ret->summary = output->all.summary;
	ret->bytes = output->written_bytes;
	ret->has_packets = true;
	return 0;
}

/* Packets of the service itself are in every trace, so they do not count as data. */
static bool has_data(const struct orma_tool_summary *summary)
{
	for (size_t i = 0; i < summary->source_count; i++)
		if (strcmp(summary->sources[i].name, ORMA_TOOL_SOURCE_SERVICE) != 0)
			return true;
	return false;
}

/* A service ends a file that is full with the last packet that fits, so the end of the recording is
 * not in it. */
static bool is_full(const struct orma_record_config *config, const struct report *report)
{
	return config && config->max_file_bytes && config->max_file_count < 2 &&
	       report->summary.has_service_events && !report->summary.has_end;
}

/* The service has ended the recording before its time, though nobody asked for that here. */
static bool is_early(const struct orma_recorder *recorder, const struct report *report,
		     double seconds)
{
	const struct orma_record_config *config = recorder->options->config;

	return config && !recorder->is_ending && recorder->signal_count == 0 &&
	       !config->has_triggers && !config->counts_suspend && !report->summary.is_full &&
	       (config->duration_ms == 0 || seconds * 1000 < config->duration_ms);
}

static int report_early(double seconds)
{
	return orma_tool_fail("the service has ended the recording early, after %.1f s; the trace "
			      "has everything until then",
			      seconds);
}

static void print_heading(const struct report *report, const char *verb, double seconds)
{
	char others[48] = "";

	if (report->files > 1)
		snprintf(others, sizeof(others), " and %" PRIu32 " older %s", report->files - 1,
			 orma_base_noun(report->files - 1, "file", "files"));
	orma_tool_print(stderr, "%s %.1f s into %s%s", verb, seconds, report->path, others);
	if (report->has_packets)
		orma_tool_print(stderr, ": %.1f KB, %" PRIu64 " %s", (double)report->bytes / 1024,
				report->summary.packets,
				orma_base_noun(report->summary.packets, "packet", "packets"));
}

/* The command that shows most of a trace: without SQLite there is no summary. */
#ifdef ORMA_HAVE_SQL
static const char reader[] = "summary";
#else
static const char reader[] = "dump";
#endif

static void print_report(struct orma_recorder *recorder, const struct report *report,
			 double seconds)
{
	const struct orma_record_config *config = recorder->options->config;
	bool is_file = report->path != recorder->output.path ||
		       orma_trace_output_is_file(&recorder->output);

	/* On a terminal somebody reads; elsewhere one line is for a log. */
	bool is_whole = recorder->options->is_verbose || isatty(STDERR_FILENO);

	print_heading(report, orma_recorder_is_clone(recorder) ? "Cloned" : "Recorded", seconds);
	if (is_whole) {
		fputs(".\n", stderr);
		orma_tool_summary_print(&report->summary, stderr);
	} else {
		fputs(", lost: ", stderr);
		if (!orma_tool_summary_print_losses(&report->summary, stderr))
			orma_tool_print(stderr, "%s",
					report->summary.has_stats ? "nothing" : "unknown");
		fputs(".\n", stderr);
	}
	if (config && report->has_packets)
		orma_record_warn_of_absent(recorder->session, config, &report->summary,
					   &recorder->categories, recorder->embedded != NULL);
	if (has_data(&report->summary) && is_file && is_whole)
		orma_tool_print_line(stderr, "Next: `%s %s %s | less`, or https://ui.perfetto.dev.",
				     orma_tool_path(), reader, report->path);
}

static void print_json(const struct report *report, double seconds)
{
	const struct orma_record_facts facts = {
		.path = report->path,
		.files = report->files,
		.bytes = report->bytes,
		.seconds = seconds,
		.summary = &report->summary,
	};
	int r = orma_record_print_json(&facts);

	if (r < 0)
		orma_tool_warn("%s", strerror(-r));
}

/* A trace without a single packet, even of the service, means that the session never began. */
static int report_no_beginning(const struct orma_recorder *recorder, double seconds)
{
	const struct orma_record_options *options = recorder->options;
	const char *why = options->config && options->config->has_triggers
				  ? "no trigger came"
				  : "the session did not begin";

	if (!options->is_quiet || options->must_record)
		orma_tool_warn("nothing was recorded in %.1f s: %s", seconds, why);
	return options->must_record ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
}

static int report_recording(struct orma_recorder *recorder, double seconds)
{
	struct report report;
	/* An attached session has an output of its own, which the recorder does not know. */
	bool is_foreign = recorder->output.fd < 0 &&
			  (!recorder->options->config || !recorder->options->config->output_path);

	if (is_foreign || (recorder->options->is_quiet && !recorder->options->must_record &&
			   !recorder->options->is_json))
		return ORMA_EXIT_OK;
	if (get_report(recorder, &report)) {
		orma_tool_warn("%s: %s: its content is not known", report.path,
			       report.error.message);
		report.has_packets = false;
	}
	complete_stats(recorder, &report.summary);
	report.summary.is_full = is_full(recorder->options->config, &report);
	if (orma_recorder_is_clone(recorder))
		seconds = orma_tool_summary_seconds(&report.summary);
	if (!report.has_packets && !report.summary.has_stats)
		return ORMA_EXIT_OK;
	if (report.has_packets && report.summary.packets == 0)
		return report_no_beginning(recorder, seconds);
	if (recorder->options->is_json)
		print_json(&report, seconds);
	else if (!recorder->options->is_quiet && strcmp(report.path, "-") != 0)
		print_report(recorder, &report, seconds);
	/* Probes in this process have logged it. */
	if (report.summary.ftrace_problem[0] && !recorder->embedded)
		orma_tool_warn("linux.ftrace: %s", report.summary.ftrace_problem);
	if (recorder->options->must_record && recorder->options->config->has_sources &&
	    report.has_packets && !has_data(&report.summary))
		return orma_tool_fail("nothing was recorded: %s",
				      report.summary.is_full
					      ? "the first data does not fit into the file; choose "
						"a larger --size"
					      : "no data source wrote anything");
	return is_early(recorder, &report, seconds) ? report_early(seconds) : ORMA_EXIT_OK;
}

static int report_success(struct orma_recorder *recorder, double seconds)
{
	const struct orma_record_options *options = recorder->options;

	if (options->detach_key)
		return ORMA_EXIT_OK;
	if (!recorder->makes_snapshots)
		return report_recording(recorder, seconds);
	if (!options->is_quiet)
		orma_tool_print_line(
			stderr, "Recorded %.1f s, with %u %s.", seconds, recorder->snapshots.taken,
			orma_base_noun(recorder->snapshots.taken, "snapshot", "snapshots"));
	return recorder->snapshots.failed ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
}

static bool is_old_file(const struct orma_recorder *recorder)
{
	const char *path = recorder->options->config->output_path;
	struct stat info;

	return path && stat(path, &info) == 0 && info.st_ino == recorder->old_inode;
}

/* Says what the file has that the service wrote until then. Returns false when it has nothing. */
static bool tell_rest(struct orma_recorder *recorder)
{
	const struct orma_record_config *config = recorder->options->config;
	struct report report;

	if (!config || !config->writes_into_file || is_old_file(recorder) ||
	    get_report(recorder, &report) < 0 || !report.has_packets || report.summary.packets == 0)
		return false;
	orma_tool_warn("%s has %.1f KB of the trace, %" PRIu64 " %s, and can be read", report.path,
		       (double)report.bytes / 1024, report.summary.packets,
		       orma_base_noun(report.summary.packets, "packet", "packets"));
	return true;
}

static int report_lost_service(struct orma_recorder *recorder)
{
	if (tell_rest(recorder))
		return orma_tool_fail("the service has ended in the middle of the recording; what "
				      "it had not written yet is lost");
	if (recorder->output.written_bytes > 0)
		return orma_tool_fail("the service is gone: %s has only the first %.1f KB of the "
				      "trace, the rest is lost",
				      orma_trace_output_name(&recorder->output),
				      (double)recorder->output.written_bytes / 1024);
	return orma_tool_fail("the service has ended; the trace is lost");
}

/* The service names the field of the config, which is --out with --rotate. Returns NULL if the refusal
 * is not about the files, else what is wrong with them. */
static const char *find_wrong_file(const struct orma_recorder *recorder)
{
	static const char path_field[] = "output_path: ", count_field[] = "max_file_count: ";
	const struct orma_record_config *config = recorder->options->config;
	const char *error = recorder->error;

	if (!recorder->is_refused || !config || !config->output_path)
		return NULL;
	if (strncmp(error, count_field, sizeof(count_field) - 1) == 0)
		return "a file of that name with a number behind it exists already, and is not of "
		       "an earlier rotation";
	return strncmp(error, path_field, sizeof(path_field) - 1) == 0
		       ? error + sizeof(path_field) - 1
		       : NULL;
}

/* The file that the service wrote until then is a trace, too. */
static int report_ended(struct orma_recorder *recorder)
{
	const char *wrong = find_wrong_file(recorder);

	if (wrong)
		return orma_tool_fail("%s: %s; choose another file%s",
				      recorder->options->config->output_path, wrong,
				      recorder->options->is_rotation ? " (-o)" : "");
	int status = orma_tool_fail(
		"the service %s: %s",
		recorder->is_refused ? "refused the config" : "ended the session", recorder->error);

	if (!tell_rest(recorder) && !recorder->is_refused && recorder->options->config &&
	    !recorder->options->config->writes_into_file)
		orma_tool_warn("the trace was in its memory and is lost; --stream keeps what is "
			       "recorded in the file");
	return status;
}

static int report_failure(struct orma_recorder *recorder, int result)
{
	const struct orma_record_options *options = recorder->options;

	/* start_app() or the data source that failed has reported it. */
	if (result == -ECANCELED)
		return ORMA_EXIT_FAILURE;
	if (recorder->error[0] && orma_recorder_is_clone(recorder))
		return orma_tool_fail("the clone failed: %s; `%s status` lists the sessions",
				      recorder->error, orma_tool_path());
	if (recorder->error[0])
		return report_ended(recorder);
	if (recorder->output.error == -ETIMEDOUT)
		return orma_tool_fail("%s does not take the data; the trace is not complete",
				      orma_trace_output_name(&recorder->output));
	if (result == -EINTR && options->config)
		return orma_tool_fail("gave up on the service, which still writes %s; the trace is "
				      "not complete",
				      options->config->output_path
					      ? options->config->output_path
					      : orma_trace_output_name(&recorder->output));
	if (recorder->output.error && result == recorder->output.error)
		return orma_trace_output_tell_loss(&recorder->output);
	switch (result) {
	case -ETIMEDOUT:
		return orma_tool_fail(
			"the service does not answer; what it holds of the trace is lost");
	case -ECONNRESET:
		return report_lost_service(recorder);
	case -ENODATA:
		return orma_tool_fail("the trace is empty: the service may have refused the config "
				      "(services of 2020 do not say why)");
	case -EMSGSIZE:
		if (options->config)
			return orma_tool_fail("the config has %zu bytes; a message to the service "
					      "has at most 128 KiB",
					      options->config->bytes.size);
		break;
	case -EEXIST:
		if (options->detach_key)
			return orma_tool_fail(
				"a session is detached under \"%s\" already; choose "
				"another key, or end that one with --attach %s --stop",
				options->detach_key, options->detach_key);
		break;
	case -ENOENT:
		if (options->attach_key)
			return orma_tool_fail("no session is detached under \"%s\"; it may have "
					      "ended, and its file is complete then",
					      options->attach_key);
		break;
	default:
		break;
	}
	return orma_tool_fail("the recording failed: %s", strerror(-result));
}

int orma_recorder_report(struct orma_recorder *recorder, int result, double seconds)
{
	return result == 0 && !recorder->error[0] ? report_success(recorder, seconds)
						  : report_failure(recorder, result);
}
