/* SPDX-License-Identifier: Apache-2.0
 * tool.h - what the commands of the `orma` binary share.
 *
 * A command is a table, orma_<name>_command (option.h), with its options and a function. main.c
 * calls the function with the command's name as argv[0], and it returns the exit status: 0 success,
 * 1 failure, 2 wrong usage. The table stands in <name>_command.c, in the folder of what the command
 * works on:
 *
 *   record/    makes a recording: record, perfetto
 *   daemon/    serves recordings: traced, probes
 *   control/   talks to a daemon that runs: status, trigger
 *   trace/     reads or writes trace files: cat, dump
 *   doctor/    examines machines, configs and traces: doctor
 *   top/       shows what happens now: top
 *   ask/       answers questions about traces: summary, events, diff, assert, sql
 *   export/    writes traces for other programs: export
 *   profile/   makes profiles and works on them: profile, heap, profd, symbolize
 *   view/      shows traces in a browser: view
 *   protogen/  generates C from .proto files: protogen
 *
 * A new command goes into the folder whose code it uses, and gets a folder of its own when it
 * brings three files or more that no other command uses. Declare it below, and list it in
 * `commands` of main.c; CONTRIBUTING.md says what else a command needs. The top of src/tool holds
 * what several folders use: messages, options, and values in options.
 */
#ifndef ORMA_TOOL_TOOL_H
#define ORMA_TOOL_TOOL_H

#include <orma/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "proto/codec.h"
#include "tool/option.h"

enum { ORMA_EXIT_OK = 0, ORMA_EXIT_FAILURE = 1, ORMA_EXIT_USAGE = 2 };

extern const struct orma_tool_command orma_assert_command, orma_cat_command, orma_diff_command,
	orma_doctor_command, orma_dump_command, orma_events_command, orma_export_command,
	orma_import_command, orma_perfetto_command, orma_probes_command, orma_profile_command,
	orma_protogen_command, orma_record_command, orma_report_command, orma_sql_command,
	orma_status_command, orma_summary_command, orma_symbolize_command, orma_top_command,
	orma_traced_command, orma_tracebox_command, orma_trace_processor_command,
	orma_trigger_command, orma_trigger_perfetto_command, orma_view_command;

extern const struct orma_tool_command orma_heap_command, orma_profd_command;

/* --- messages: on stderr, "orma record: text" ------------------------------------------------- */

void orma_tool_set_name(const char *name);
/* Sets how the binary was called, for messages that suggest a command: "orma", or its path. */
void orma_tool_set_path(const char *path);
const char *orma_tool_path(void);
/* Says whether the binary was called by the name of one of Perfetto's programs. Some habits differ. */
void orma_tool_set_drop_in(bool is_drop_in);
bool orma_tool_is_drop_in(void);
/* Prints the version, and the optional libraries that are built in: "orma 0.2.0 +zstd +deflate
 * -pcre2 +sqlite +libdw -lzma". */
void orma_tool_print_version(const char *program);
void orma_tool_warn(const char *format, ...) ORMA_PRINTF(1, 2);
/* Does the same, and returns ORMA_EXIT_FAILURE. */
int orma_tool_fail(const char *format, ...) ORMA_PRINTF(1, 2);
/* Does the same for an error in a text that our own parsers read. Their messages continue with the
 * line of the text, and a line that marks the place. */
int orma_tool_fail_in_text(const struct orma_error *error);
/* Does the same with a hint at --help, and returns ORMA_EXIT_USAGE. */
int orma_tool_usage_error(const char *format, ...) ORMA_PRINTF(1, 2);
/* Sends the library's log to stderr, from this level on. */
void orma_tool_log_to_stderr(int level);

/* --- values in options ------------------------------------------------------------------------ */

/* Parses "10s", "500ms", "2m" or "1h"; a bare number means seconds. 0, -EINVAL, or -ERANGE for more
 * than 2^32 - 1 ms. */
int orma_tool_parse_duration_ms(const char *text, uint32_t *ret_ms);
/* Take the value of an option: a duration above 0, or a process id. -1, or ORMA_EXIT_USAGE after a message. */
int orma_tool_take_duration(const char *value, uint32_t *ret_ms);
int orma_tool_take_pid(const char *value, int32_t *ret);
/* Parses "32mb", "4096k" or "1g"; a bare number means kilobytes. 0, -EINVAL or -ERANGE. */
int orma_tool_parse_size_kb(const char *text, uint64_t *ret_kb);
/* Reads a file, or standard input for "-". 0 or -errno. */
int orma_tool_read_file(const char *path, struct orma_buf *buf);

/* The fields of DataSourceConfig that the library has no tables for. */
extern const struct orma_proto_extension orma_tool_config_extension;

/* --- processes -------------------------------------------------------------------------------- */

/*
 * Continues in a child process with a session of its own. Returns only in the child, with the
 * descriptor for orma_tool_tell_parent(). The parent waits for a status from the child, for at most
 * `wait_ms` (-1 = without limit), and exits with that status. With `print_pid` it prints the
 * child's process id on stdout, unless the child has failed.
 */
int orma_tool_background(bool print_pid, int wait_ms);
/* Makes the parent exit with this status: ORMA_EXIT_OK when the child does its work. Call it once;
 * *fd may be -1. */
void orma_tool_tell_parent(int *fd, int status);
/* Writes `text` to the descriptor whose number is in the environment variable, if it is set, and
 * closes the descriptor. */
void orma_tool_notify(const char *variable, const char *text);

#endif
