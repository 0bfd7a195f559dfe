/* SPDX-License-Identifier: Apache-2.0
 * record_check.c - refuses options of `orma record` that contradict each other, before anything is
 * done.
 */
#include <string.h>

#include "tool/record/record_app.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

int orma_record_take_program(struct orma_record_line *line, char **argv)
{
	const char *out_path = line->options.out_path;

	if (!argv[0])
		return orma_tool_usage_error("name the program to record behind --");
	if (line->options.in_background)
		return orma_tool_usage_error("--background and a program exclude each other");
	if (out_path && strcmp(out_path, "-") == 0)
		return orma_tool_usage_error(
			"standard output is the program's; name a file for the trace (-o)");
	int status = orma_record_app_find(argv[0]);
	if (status != ORMA_EXIT_OK)
		return status;
	line->options.app_argv = argv;
	if (!line->wish.config_path && line->wish.duration_ms == 0)
		line->wish.is_endless = true;
	return -1;
}

/* An existing session is attached or cloned; nothing is said about what to record. */
static int check_existing(const struct orma_record_line *line, bool has_program)
{
	const struct orma_record_options *options = &line->options;
	const struct orma_record_wish *wish = &line->wish;

	if (options->detach_key ||
	    (options->attach_key && (options->clone_id || options->clone_name)))
		return orma_tool_usage_error("--clone, --attach and --detach exclude each other");
	if (wish->config_path || wish->source_count || wish->duration_ms || wish->is_endless ||
	    wish->buffer_kb || wish->file_limit_kb || wish->rotation_kb || wish->category_count ||
	    wish->is_streaming || wish->compresses || has_program)
		return orma_tool_usage_error(
			"--clone and --attach take a session as it is; they go with --quiet and "
			"--background, --clone also with --out, and --attach with --stop");
	if (options->attach_key && options->out_path)
		return orma_tool_usage_error(
			"--attach goes without --out: the trace is in the file that was named when "
			"the session was detached");
	return -1;
}

/* Refuses words that can be no source. Names of data sources are free, so the recorder warns of others
 * when it knows that no producer offers them (record_absent.c). */
static int check_source(const char *word)
{
	size_t size = strlen(word);

	if (size == 0)
		return orma_tool_usage_error("a source is empty");
	if (*word == '/' || *word == '.')
		return orma_tool_usage_error("%s is no source; a program to record follows --, as "
					     "in `record -- %s`",
					     word, word);
	if (word[size - 1] == '/')
		return orma_tool_usage_error("%s lacks an event; %s* records all of the group",
					     word, word);
	if (word[size - 1] == ':')
		return orma_tool_usage_error("%s lacks a function", word);
	return -1;
}

int orma_record_check(const struct orma_record_line *line, bool has_program)
{
	const struct orma_record_options *options = &line->options;
	const struct orma_record_wish *wish = &line->wish;

	if (options->is_json &&
	    ((options->out_path && strcmp(options->out_path, "-") == 0) || options->in_background))
		return orma_tool_usage_error("--json goes with neither --out - nor --background");
	if (options->stops_attached && !options->attach_key)
		return orma_tool_usage_error("--stop goes with --attach KEY, the session to end");
	if (options->attach_key && !*options->attach_key)
		return orma_tool_usage_error("--attach: the key is empty");
	if (options->attach_key || options->clone_id || options->clone_name)
		return check_existing(line, has_program);
	if (options->detach_key && !*options->detach_key)
		return orma_tool_usage_error("--detach: the key is empty");
	if (options->detach_key && (options->in_background || has_program))
		return orma_tool_usage_error(
			"--detach goes with neither --background nor a program");
	if (wish->config_path && (wish->source_count || wish->category_count || wish->ring_ms))
		return orma_tool_usage_error(
			"name data sources either on the command line or in a config");
	if (wish->rotation_kb && wish->file_limit_kb)
		return orma_tool_usage_error(
			"--size and --rotate both limit a file: with --rotate, "
			"leave --size out");
	if (wish->ring_ms && (wish->is_streaming || wish->file_limit_kb || wish->rotation_kb))
		return orma_tool_usage_error(
			"--ring keeps the trace in memory; it does not go with "
			"--stream, --size or --rotate");
	for (int i = 0; i < wish->source_count; i++) {
		int status = check_source(wish->sources[i]);

		if (status >= 0)
			return status;
	}
	if (options->out_path && !*options->out_path)
		return orma_tool_usage_error("--out: the name is empty");
	return -1;
}
