/* SPDX-License-Identifier: Apache-2.0
 * doctor_command.c - `orma doctor`: says why a trace is, or would be, empty or incomplete.
 *
 * A file that looks like the text of a config is examined as one, and any other file as a trace, which
 * also names the kind of a file that is neither.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/doctor/doctor.h"
#include "tool/print.h"
#include "tool/tool.h"
#include "tool/trace/foreign_file.h"
#include "tool/trace/trace_input.h"

#define CONFIGS_MAX 64

struct command_line {
	const char *configs[CONFIGS_MAX];
	size_t config_count;
	const char *root;
	bool is_json;
	struct orma_doctor_daemon daemon;
	bool has_asked;
	struct orma_buf json;
	size_t problems, subjects;
	bool has_failed;
};

/* Prints what was found about one subject, and frees it. */
static void finish(struct command_line *line, const char *subject, struct orma_findings *findings)
{
	line->problems += findings->problem_count;
	if (!line->is_json) {
		if (line->subjects > 0)
			puts("");
		orma_findings_print(findings, subject);
	} else if (orma_base_buf_append_str(&line->json, line->subjects ? ",\n" : "[") ||
		   orma_findings_append_json(findings, subject, &line->json)) {
		findings->is_out_of_memory = true;
	}
	line->subjects++;
	if (findings->is_out_of_memory) {
		orma_tool_warn("out of memory: there may be more to report");
		line->has_failed = true;
	}
	orma_findings_done(findings);
}

static const struct orma_doctor_daemon *ask_daemon(struct command_line *line)
{
	if (!line->has_asked)
		orma_doctor_daemon_ask(&line->daemon);
	line->has_asked = true;
	return &line->daemon;
}

static void examine_config(struct command_line *line, const char *path)
{
	struct orma_findings findings = {0};

	orma_doctor_examine_config(path, line->root, ask_daemon(line), &findings);
	finish(line, orma_trace_input_name(path), &findings);
}

/* A pipe cannot be read twice, so it is never taken for text. */
static bool is_config(int fd)
{
	char beginning[ORMA_TOOL_BEGINNING_BYTES];
	ssize_t size = pread(fd, beginning, sizeof(beginning), 0);

	return orma_tool_may_be_config((struct orma_str){beginning, size > 0 ? (size_t)size : 0});
}

static void examine_file(struct command_line *line, const char *path)
{
	struct orma_findings findings = {0};
	struct stat info;
	int fd = orma_trace_input_open(path);

	if (fd < 0) {
		orma_trace_input_fail(path, fd);
		line->has_failed = true;
		return;
	}
	if (fd != STDIN_FILENO && is_config(fd)) {
		orma_trace_input_close(fd);
		examine_config(line, path);
		return;
	}
	/* A folder with traces has to be converted; what other files are is a finding. */
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
		orma_trace_input_close(fd);
		fd = orma_trace_input_open_packets(path);
	}
	if (fd < 0) {
		line->has_failed = true;
		return;
	}
	orma_doctor_examine_trace(fd, &findings);
	orma_trace_input_close(fd);
	finish(line, orma_trace_input_name(path), &findings);
}

static void examine_system(struct command_line *line)
{
	struct orma_findings findings = {0};

	orma_doctor_examine_system(line->root, ask_daemon(line), &findings);
	finish(line, *line->root ? line->root : "this machine", &findings);
}

enum { OPTION_JSON = ORMA_OPTION_FIRST_OWN, OPTION_ROOT };

static const struct orma_tool_option option_table[] = {
	{'c', "config", "FILE",
	 "Examine a config in text or binary form; - is standard input. Says what a service would "
	 "refuse, and which data sources, events and categories do not exist. May be given several "
	 "times.",
	 ORMA_COMPLETE_FILE},
	{OPTION_JSON, "json", NULL, "Print JSON, for scripts.", NULL},
	{OPTION_ROOT, "root", "FOLDER",
	 "Read /proc, /sys and /etc below this folder, for example of a container.",
	 ORMA_COMPLETE_FOLDER},
	{0},
};

static int take_option(void *ctx, int option, char *value)
{
	struct command_line *line = ctx;

	if (option == 'c' && line->config_count == CONFIGS_MAX)
		return orma_tool_usage_error("-c is given more than %d times", CONFIGS_MAX);
	if (option == 'c')
		line->configs[line->config_count++] = value;
	else if (option == OPTION_ROOT && access(value, X_OK))
		return orma_tool_usage_error("cannot use the folder %s of --root: %s", value,
					     strerror(errno));
	else if (option == OPTION_ROOT)
		line->root = value;
	else
		line->is_json = true;
	return -1;
}

static int run(int argc, char **argv)
{
	struct command_line line = {.root = ""};
	int status = orma_tool_read_options(&orma_doctor_command, argc, argv, take_option, &line);

	if (status >= 0)
		return status;
	for (size_t i = 0; i < line.config_count; i++)
		examine_config(&line, line.configs[i]);
	for (int i = optind; i < argc; i++)
		examine_file(&line, argv[i]);
	if (line.config_count == 0 && optind == argc)
		examine_system(&line);
	if (line.is_json &&
	    orma_base_buf_append_str(&line.json, line.subjects ? "]\n" : "[]\n") == 0)
		(void)orma_tool_write_raw(stdout, line.json.data, line.json.size);
	orma_base_buf_done(&line.json);
	orma_doctor_daemon_done(&line.daemon);
	return line.problems > 0 || line.has_failed ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
}

const struct orma_tool_command orma_doctor_command = {
	.name = "doctor",
	.summary = "say why a trace is or would be empty or incomplete",
	.usage = "[OPTIONS] [FILE...]",
	.about = "Examines traces and configs (a FILE that is text is a config), or this machine "
		 "when no FILE is named. Prints each problem with what to do about it.\n\n"
		 "The exit status is 0 when no problem was found, and 1 when there are problems or "
		 "a FILE cannot be opened.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
