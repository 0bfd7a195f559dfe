/* SPDX-License-Identifier: Apache-2.0
 * record_report.c - what a recorder says when a recording is over.
 *
 * Packets that the recorder wrote itself were counted as they passed; a file that the service wrote
 * is read once more.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/recorder.h"
#include "tool/tool.h"

struct report {
	struct orma_tool_summary summary;
	uint64_t bytes;
};

/* False when this process cannot know what is in the trace; says why. */
static bool read_file(struct orma_recorder *recorder, struct report *ret)
{
	int fd = recorder->output.fd;
	struct orma_error error = {0};
	struct stat info;

	if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode) || lseek(fd, 0, SEEK_SET) < 0)
		return false;
	ret->bytes = (uint64_t)info.st_size;
	if (orma_tool_trace_summarize(fd, &ret->summary, &error) == 0)
		return true;
	orma_tool_warn("%s: %s", recorder->output.path, error.message);
	return false;
}

static bool get_report(struct orma_recorder *recorder, struct report *ret)
{
	struct orma_trace_output *output = &recorder->output;

	if (!recorder->was_read_back)
		return read_file(recorder, ret);
	orma_tool_counter_done(&output->all);
	ret->summary = output->all.summary;
	ret->bytes = output->written_bytes;
	return true;
}

static void print_summary(struct orma_recorder *recorder, double seconds)
{
	const char *path = recorder->output.path;
	struct report report = {0};

	if (!get_report(recorder, &report))
		return;
	fprintf(stderr, "Recorded %.1f s into %s: %.1f KB, %" PRIu64 " packets.\n", seconds, path,
		(double)report.bytes / 1024, report.summary.packets);
	orma_tool_summary_print(&report.summary, stderr);
	if (recorder->options->config)
		orma_record_warn_of_absent(recorder->session, recorder->options->config,
					   &report.summary, recorder->embedded != NULL);
	if (report.summary.packets > 0 && orma_trace_output_is_file(&recorder->output))
		fprintf(stderr,
			"Next: open it at https://ui.perfetto.dev, or try `%s dump %s | less`.\n",
			orma_tool_path(), path);
}

static int report_success(struct orma_recorder *recorder, double seconds)
{
	const struct orma_record_options *options = recorder->options;

	if (recorder->makes_snapshots) {
		if (!options->is_quiet)
			fprintf(stderr, "Recorded %.1f s, with %u snapshots.\n", seconds,
				recorder->snapshots.taken);
		return recorder->snapshots.failed ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
	}
	if (options->is_quiet || options->detach_key)
		return ORMA_EXIT_OK;
	if (options->config && options->config->has_output_path)
		fprintf(stderr,
			"Recorded %.1f s; the service wrote it where the config's output_path "
			"says.\n",
			seconds);
	else if (recorder->output.fd >= 0 && strcmp(recorder->output.path, "-") != 0)
		print_summary(recorder, seconds);
	return ORMA_EXIT_OK;
}

static int report_lost_service(const struct orma_recorder *recorder)
{
	if (recorder->output.written_bytes > 0)
		return orma_tool_fail("the service is gone: %s has only the first %.1f KB of the "
				      "trace, the rest is lost",
				      orma_trace_output_name(&recorder->output),
				      (double)recorder->output.written_bytes / 1024);
	return orma_tool_fail("the service is gone: the trace is lost");
}

static int report_failure(struct orma_recorder *recorder, int result)
{
	const struct orma_record_options *options = recorder->options;

	if (recorder->error[0] && (options->clone_id || options->clone_name))
		return orma_tool_fail("the clone failed: %s", recorder->error);
	if (recorder->error[0])
		return orma_tool_fail("the service ended the session: %s", recorder->error);
	if (recorder->output.error == -ETIMEDOUT)
		return orma_tool_fail("%s takes no data: gave up, the trace is not whole",
				      orma_trace_output_name(&recorder->output));
	if (recorder->output.error && result == recorder->output.error)
		return orma_trace_output_tell_loss(&recorder->output);
	switch (result) {
	case -ETIMEDOUT:
		return orma_tool_fail("the service does not answer any more: gave up");
	case -ECONNRESET:
		return report_lost_service(recorder);
	case -ENODATA:
		return orma_tool_fail("the trace is empty: the service may have refused the config "
				      "(those of 2020 do not say why)");
	case -EMSGSIZE:
		if (options->config)
			return orma_tool_fail("the config has %zu bytes; a message to the service "
					      "has at most 128 KiB",
					      options->config->bytes.size);
		break;
	case -ENOENT:
		if (options->attach_key)
			return orma_tool_fail("no session is detached under \"%s\"",
					      options->attach_key);
		break;
	default:
		break;
	}
	return orma_tool_fail("%s", strerror(-result));
}

int orma_recorder_report(struct orma_recorder *recorder, int result, double seconds)
{
	return result == 0 && !recorder->error[0] ? report_success(recorder, seconds)
						  : report_failure(recorder, result);
}
