/* SPDX-License-Identifier: Apache-2.0
 * tool.h - what the commands of the `orma` binary share.
 *
 * A command is one function, orma_tool_<name>(). main.c calls it with the command's name as argv[0], and it
 * returns the exit status: 0 success, 1 failure, 2 wrong usage. The function stands in <name>_command.c, in the
 * folder of what the command works on:
 *
 *   record/    makes a recording: record, perfetto
 *   daemon/    serves recordings: traced, probes
 *   control/   talks to a daemon that runs: query, trigger
 *   trace/     reads or writes trace files: dump
 *   protogen/  generates C from .proto files: protogen
 *
 * A new command goes into the folder whose code it uses, and gets a folder of its own when it brings three files
 * or more that no other command uses. Declare it below, and list it in `commands` of main.c. The top of src/tool
 * holds what several folders use: messages, options, and values in options.
 */
#ifndef ORMA_TOOL_TOOL_H
#define ORMA_TOOL_TOOL_H

#include <getopt.h>
#include <orma/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum { ORMA_EXIT_OK = 0, ORMA_EXIT_FAILURE = 1, ORMA_EXIT_USAGE = 2 };

int orma_tool_record(int argc, char **argv);
int orma_tool_perfetto(int argc, char **argv); /* the `perfetto` program's options */
int orma_tool_traced(int argc, char **argv);
int orma_tool_probes(int argc, char **argv);
int orma_tool_dump(int argc, char **argv);
int orma_tool_query(int argc, char **argv);
int orma_tool_protogen(int argc, char **argv);
int orma_tool_trigger(int argc, char **argv);
int orma_tool_trigger_perfetto(int argc, char **argv); /* unknown options are ignored */

/* --- messages: on stderr, "orma record: text" ------------------------------------------------- */

void orma_tool_set_name(const char *name);
/* How the binary was called, to be called so again: "orma", or the path of it. */
void orma_tool_set_path(const char *path);
const char *orma_tool_path(void);
/* "orma 0.2.0 +zstd +deflate -pcre2" on stdout: the version, and which optional libraries are in. */
void orma_tool_print_version(const char *program);
void orma_tool_warn(const char *format, ...) ORMA_PRINTF(1, 2);
/* The same, and returns ORMA_EXIT_FAILURE. */
int orma_tool_fail(const char *format, ...) ORMA_PRINTF(1, 2);
/* The same for what is wrong in a text that our own parsers read: their messages go on with the line
 * of the text, and a line that marks the place. */
int orma_tool_fail_in_text(const struct orma_error *error);
/* The same with a hint at --help, and returns ORMA_EXIT_USAGE. */
int orma_tool_usage_error(const char *format, ...) ORMA_PRINTF(1, 2);
/* Sends the library's log to stderr from that level on. */
void orma_tool_log_to_stderr(int level);

/* --- options ---------------------------------------------------------------------------------- */

/* getopt_long() that says what is wrong: '?' then stands for every mistake. `letters` begins with a
 * colon. */
int orma_tool_option(int argc, char **argv, const char *letters, const struct option *options);
/* What was probably meant, one of `names`, or NULL. */
const char *orma_tool_closest(const char *wrong, const char *const *names, size_t count);

/* --- values in options ------------------------------------------------------------------------ */

/* "10s", "500ms", "2m", "1h"; a bare number means seconds. 0, -EINVAL, or -ERANGE: more
 * than 2^32 - 1 ms. */
int orma_tool_parse_duration_ms(const char *text, uint32_t *ret_ms);
/* "32mb", "4096k", "1g"; a bare number means kilobytes. 0, -EINVAL or -ERANGE. */
int orma_tool_parse_size_kb(const char *text, uint64_t *ret_kb);
/* The file's content, or standard input's for "-". */
int orma_tool_read_file(const char *path, struct orma_buf *buf);

/* --- processes -------------------------------------------------------------------------------- */

/*
 * Goes on in a child that has its own session; returns in the child only, with the descriptor for
 * orma_tool_tell_parent(). The parent waits until it is told, at most `wait_ms` (-1 = as long as it
 * takes), and exits with that status; it prints the child's pid on stdout when `print_pid` is set,
 * unless the child has failed.
 */
int orma_tool_background(bool print_pid, int wait_ms);
/* What the parent exits with: ORMA_EXIT_OK when the child does what it is there for. Once; *fd may
 * be -1. */
void orma_tool_tell_parent(int *fd, int status);
/* Writes `text` to the descriptor number in the environment variable, if it is set, and closes it.
 */
void orma_tool_notify(const char *variable, const char *text);

#endif
