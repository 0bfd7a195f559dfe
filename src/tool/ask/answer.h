/* SPDX-License-Identifier: Apache-2.0
 * answer.h - the commands that answer questions nobody has to write in SQL: their options, and what runs them.
 *
 * Each returns the exit status. A binary without SQLite says that it cannot, see without_sql.c.
 */
#ifndef ORMA_TOOL_ANSWER_H
#define ORMA_TOOL_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/ask/ask.h"
#include "tool/ask/event_filter.h"

struct orma_summary_options {
	struct orma_ask_options ask;
	uint64_t top;
	bool is_json;
};

/* Several traces share the tables. */
int orma_summary_run(const struct orma_summary_options *options, const char *const *paths,
		     size_t count);

enum orma_event_time { ORMA_TIME_RELATIVE, ORMA_TIME_DELTA, ORMA_TIME_WALL, ORMA_TIME_TRACE };

struct orma_events_options {
	struct orma_ask_options ask;
	struct orma_event_filter filter;
	uint64_t limit; /* lines, at most */
	enum orma_event_time time;
	bool is_json, has_no_args, follows;
};

int orma_events_run(const struct orma_events_options *options, const char *const *paths,
		    size_t count);
int orma_events_follow(const struct orma_events_options *options, const char *path);

enum { ORMA_DIFF_RUNS_MAX = 100 };

struct orma_diff_options {
	struct orma_ask_options ask;
	uint64_t top; /* 0 = all */
	bool is_json;
	char **paths[2]; /* each side's */
	int counts[2];
};

int orma_diff_run(const struct orma_diff_options *options);
/* Reads where the sides begin: `second` arguments stand behind "--", or -1 without it. -1, or the exit status after a message. */
int orma_diff_take_sides(struct orma_diff_options *options, char **paths, int count, int second);

enum { ORMA_ASSERT_FILES_MAX = 64 };

struct orma_assert_options {
	struct orma_ask_options ask;
	const char *files[ORMA_ASSERT_FILES_MAX], *queries[ORMA_ASSERT_FILES_MAX];
	size_t file_count, query_count;
	const char *junit_path; /* NULL = none */
	uint64_t rows;          /* shown of a check that fails, at most */
	char **paths;           /* traces */
	int path_count;
};

int orma_assert_run(const struct orma_assert_options *options);

#endif
