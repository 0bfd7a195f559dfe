/* SPDX-License-Identifier: Apache-2.0
 * doctor_command.c - `orma doctor`: says why a trace is, or would be, empty or incomplete.
 *
 * A file that looks like text is examined as a config, and any other file as a trace.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "tool/doctor/doctor.h"
#include "tool/print.h"
#include "tool/tool.h"

#define BEGINNING_BYTES 256

struct command_line {
	const char *config, *root;
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
	finish(line, strcmp(path, "-") == 0 ? "standard input" : path, &findings);
}

/* A pipe cannot be read twice, so it is never taken for text. */
static bool is_text_file(int fd)
{
	char beginning[BEGINNING_BYTES];
	ssize_t size = pread(fd, beginning, sizeof(beginning), 0);
	struct orma_str rest = {beginning, size > 0 ? (size_t)size : 0};

	while (rest.size >= 4 || (rest.size > 0 && size < BEGINNING_BYTES)) {
		size_t step =
			strchr("\n\r\t", rest.data[0]) ? 1 : orma_base_utf8_visible_size(rest);
		if (step == 0 || rest.data[0] == '\0')
			return false;
		rest = (struct orma_str){rest.data + step, rest.size - step};
	}
	return size > 0;
}

static void examine_file(struct command_line *line, const char *path)
{
	struct orma_findings findings = {0};
	bool is_standard = strcmp(path, "-") == 0;
	int fd = is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		orma_tool_warn("cannot open %s: %s", path, strerror(errno));
		line->has_failed = true;
		return;
	}
	if (!is_standard && is_text_file(fd)) {
		orma_base_fd_close(fd);
		examine_config(line, path);
		return;
	}
	orma_doctor_examine_trace(fd, &findings);
	if (!is_standard)
		orma_base_fd_close(fd);
	finish(line, is_standard ? "standard input" : path, &findings);
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
	 "refuse, and which data sources, events and categories do not exist.",
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

	if (option == 'c')
		line->config = value;
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
	if (line.config)
		examine_config(&line, line.config);
	for (int i = optind; i < argc; i++)
		examine_file(&line, argv[i]);
	if (!line.config && optind == argc)
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
		 "a "
		 "FILE cannot be opened.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
