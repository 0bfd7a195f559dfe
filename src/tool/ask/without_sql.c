/* SPDX-License-Identifier: Apache-2.0
 * without_sql.c - the commands that ask traces, in a binary that cannot.
 */
#include "tool/ask/answer.h"
#include "tool/ask/trace_processor.h"
#include "tool/export/export.h"
#include "tool/report/report.h"
#include "tool/tool.h"
#include "tool/view/view_run.h"

static int refuse(void)
{
	return orma_tool_fail("this binary was built without SQLite, and cannot ask traces");
}

int orma_summary_run(const struct orma_summary_options *options, const char *const *paths,
		     size_t count)
{
	(void)options;
	(void)paths;
	(void)count;
	return refuse();
}

int orma_events_run(const struct orma_events_options *options, const char *const *paths,
		    size_t count)
{
	(void)options;
	(void)paths;
	(void)count;
	return refuse();
}

int orma_diff_run(const struct orma_diff_options *options)
{
	(void)options;
	return refuse();
}

int orma_assert_run(const struct orma_assert_options *options)
{
	(void)options;
	return refuse();
}

int orma_events_follow(const struct orma_events_options *options, const char *path)
{
	(void)options;
	(void)path;
	return refuse();
}

int orma_export_run(const struct orma_export_options *options, const char *const *paths,
		    size_t count)
{
	(void)options;
	(void)paths;
	(void)count;
	return refuse();
}

int orma_report_run(const struct orma_report_run_options *options, const char *const *paths,
		    size_t count)
{
	(void)options;
	(void)paths;
	(void)count;
	return refuse();
}

int orma_report_compare(const struct orma_report_run_options *options,
			const struct orma_diff_options *sides)
{
	(void)options;
	(void)sides;
	return refuse();
}

int orma_trace_processor_run(const struct orma_trace_processor_options *options)
{
	(void)options;
	return refuse();
}

int orma_view_run(const struct orma_view_options *options, const char *const *paths, size_t count)
{
	(void)options;
	(void)paths;
	(void)count;
	return refuse();
}
