/* SPDX-License-Identifier: Apache-2.0
 * tool.c - messages, option values and process handling that several commands need.
 */
#include "tool/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <orma/init.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "codec/compression.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/other_data_source_config.pb.h"
#include "tool/daemon/regex_pcre2.h"
#include "tool/print.h"

#define CONFIG_LIMIT_BYTES (16u << 20)

static const char *program_name = "orma", *program_path = "orma";
static int log_threshold;
static bool is_drop_in_name;

void orma_tool_set_name(const char *name)
{
	program_name = name;
}

void orma_tool_set_path(const char *path)
{
	program_path = path;
}

const char *orma_tool_path(void)
{
	return program_path;
}

void orma_tool_set_drop_in(bool is_drop_in)
{
	is_drop_in_name = is_drop_in;
}

bool orma_tool_is_drop_in(void)
{
	return is_drop_in_name;
}

void orma_tool_print_version(const char *program)
{
	uint32_t codecs = orma_tool_codecs();
#ifdef ORMA_HAVE_SQL
	char sqlite = '+';
#else
	char sqlite = '-';
#endif

#ifdef ORMA_HAVE_DW
	char dw = '+';
#else
	char dw = '-';
#endif
#ifdef ORMA_HAVE_LZMA
	char lzma = '+';
#else
	char lzma = '-';
#endif

	orma_tool_print_line(stdout, "%s %s %czstd %cdeflate %cpcre2 %csqlite %clibdw %clzma",
			     program, orma_version(), codecs >> ORMA_CODEC_ZSTD & 1 ? '+' : '-',
			     codecs >> ORMA_CODEC_DEFLATE & 1 ? '+' : '-',
			     orma_tool_regex_ops ? '+' : '-', sqlite, dw, lzma);
}

void orma_tool_warn(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	orma_tool_print_message(stderr, program_name, format, args);
	va_end(args);
}

int orma_tool_fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	orma_tool_print_message(stderr, program_name, format, args);
	va_end(args);
	return ORMA_EXIT_FAILURE;
}

int orma_tool_fail_in_text(const struct orma_error *error)
{
	const char *message = error->message;
	const char *mark = strrchr(message, '\n');
	const char *line = mark ? memrchr(message, '\n', (size_t)(mark - message)) : NULL;

	/* A line feed elsewhere is part of a name. */
	if (!line || mark[1 + strspn(mark + 1, " ")] != '^')
		return orma_tool_fail("%s", message);
	orma_tool_warn("%.*s", (int)(line - message), message);
	orma_tool_print_line(stderr, "%.*s", (int)(mark - line - 1), line + 1);
	orma_tool_print_line(stderr, "%s", mark + 1);
	return ORMA_EXIT_FAILURE;
}

int orma_tool_usage_error(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	orma_tool_print_message(stderr, program_name, format, args);
	va_end(args);
	orma_tool_print_line(stderr, "`%s --help` shows the options.", program_name);
	return ORMA_EXIT_USAGE;
}

/* A peer can cause any number of messages. The limit keeps them from filling a disk. */
#define LOG_MESSAGES_PER_PERIOD 100ul
#define LOG_PERIOD_NS           (10 * ORMA_NS_PER_SEC)

static void print_log(void *ctx, enum orma_log_level level, const char *message)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
	static uint64_t period_end_ns;
	static unsigned long count;
	unsigned long left_out = 0;

	(void)ctx;
	if ((int)level < log_threshold)
		return;
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&mutex);
	if (now_ns >= period_end_ns) {
		left_out = count - ORMA_MIN(count, LOG_MESSAGES_PER_PERIOD);
		period_end_ns = now_ns + LOG_PERIOD_NS;
		count = 0;
	}
	bool is_printed = count++ < LOG_MESSAGES_PER_PERIOD;
	pthread_mutex_unlock(&mutex);
	if (left_out)
		orma_tool_warn("%lu %s left out", left_out,
			       orma_base_noun(left_out, "message was", "messages were"));
	if (is_printed)
		orma_tool_warn("%s", message);
}

void orma_tool_log_to_stderr(int level)
{
	log_threshold = level;
	orma_log_set_sink(print_log, NULL);
}

struct unit {
	const char *suffix;
	uint64_t factor;
};

#define FRACTION_SCALE_MAX 1000000u

/* Parses the digits behind a point: `*ret` of `*ret_scale` parts. Returns false when there are none. */
static bool parse_fraction(char **at, uint64_t *ret, uint64_t *ret_scale)
{
	const char *begin = *at;

	for (; **at >= '0' && **at <= '9'; ++*at) {
		if (*ret_scale == FRACTION_SCALE_MAX)
			continue;
		*ret = *ret * 10 + (uint64_t)(**at - '0');
		*ret_scale *= 10;
	}
	return *at > begin;
}

/* Parses "12", "1.5" or "12unit" into 12 * factor; `units` ends with a NULL suffix. A
 * fraction that is too small is refused, because 0 means something else. */
static int parse_with_unit(const char *text, const struct unit *units, uint64_t bare_factor,
			   uint64_t *ret)
{
	uint64_t part = 0, scale = 1;
	char *end;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (end == text || *text == '-')
		return -EINVAL;
	if (*end == '.' && (end++, !parse_fraction(&end, &part, &scale)))
		return -EINVAL;
	uint64_t factor = *end ? 0 : bare_factor;
	for (; *end && units->suffix; units++)
		if (strcasecmp(end, units->suffix) == 0)
			factor = units->factor;
	if (factor == 0)
		return -EINVAL;
	uint64_t part_of = part * factor / scale; /* factors are at most an hour of milliseconds */
	if (errno || __builtin_mul_overflow((uint64_t)number, factor, &factor) ||
	    __builtin_add_overflow(factor, part_of, ret))
		return -ERANGE;
	return part && *ret == 0 ? -EINVAL : 0;
}

int orma_tool_parse_duration_ms(const char *text, uint32_t *ret_ms)
{
	static const struct unit units[] = {
		{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
	uint64_t ms;
	int r = parse_with_unit(text, units, 1000, &ms);
	if (r == 0 && ms > UINT32_MAX)
		r = -ERANGE;
	if (r == 0)
		*ret_ms = (uint32_t)ms;
	return r;
}

int orma_tool_take_duration(const char *value, uint32_t *ret_ms)
{
	uint32_t ms = 0;
	int r = orma_tool_parse_duration_ms(value, &ms);

	if (r == -ERANGE)
		return orma_tool_usage_error("\"%s\" is too long; the limit is 1193h", value);
	if (r < 0 || ms == 0)
		return orma_tool_usage_error("\"%s\" is not a duration; try 500ms, 10s, 2m or 1h",
					     value);
	*ret_ms = ms;
	return -1;
}

int orma_tool_take_pid(const char *value, int32_t *ret)
{
	uint64_t pid;

	if (orma_base_parse_u64(value, 10, &pid) || pid == 0 || pid > INT32_MAX)
		return orma_tool_usage_error("\"%s\" is not a process id", value);
	*ret = (int32_t)pid;
	return -1;
}

int orma_tool_parse_size_kb(const char *text, uint64_t *ret_kb)
{
	static const struct unit units[] = {{"k", 1},        {"kb", 1},      {"m", 1 << 10},
					    {"mb", 1 << 10}, {"g", 1 << 20}, {"gb", 1 << 20},
					    {NULL, 0}};
	return parse_with_unit(text, units, 1, ret_kb);
}

const struct orma_proto_extension orma_tool_config_extension = {
	&orma_pb_data_source_config_desc, &orma_pb_other_data_source_config_desc};

int orma_tool_read_file(const char *path, struct orma_buf *buf)
{
	if (strcmp(path, "-") == 0)
		return orma_base_fd_read_all(STDIN_FILENO, CONFIG_LIMIT_BYTES, buf);
	return orma_base_file_read(AT_FDCWD, path, CONFIG_LIMIT_BYTES, buf);
}

/* The parent's part: waits for the status byte, or for the end of the child. */
static _Noreturn void wait_for_child(int fd, pid_t child, bool print_pid, int wait_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint8_t status = ORMA_EXIT_FAILURE;
	int ready;
	do {
		ready = poll(&poll_fd, 1, wait_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0)
		orma_tool_warn("the data sources did not start within %d s", wait_ms / 1000);
	else if (read(fd, &status, 1) != 1)
		orma_tool_warn("the background process ended before it was ready");
	/* Print the id of a process that continues, even if its data sources are slow. */
	if (print_pid && (ready == 0 || status != ORMA_EXIT_FAILURE)) {
		orma_tool_print_line(stdout, "%d", (int)child);
		fflush(stdout);
	}
	_exit(status);
}

int orma_tool_background(bool print_pid, int wait_ms)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	pid_t child = fork();
	if (child < 0) {
		int error = -errno;
		close(fds[0]);
		close(fds[1]);
		return error;
	}
	if (child > 0) {
		close(fds[1]);
		wait_for_child(fds[0], child, print_pid, wait_ms);
	}
	close(fds[0]);
	setsid();
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd >= 0) {
		dup2(null_fd, STDIN_FILENO);
		dup2(null_fd, STDOUT_FILENO);
		orma_base_fd_close(null_fd);
	}
	return fds[1];
}

void orma_tool_tell_parent(int *fd, int status)
{
	uint8_t byte = (uint8_t)status;
	if (*fd >= 0)
		(void)orma_base_fd_write_all(*fd, &byte, 1);
	*fd = orma_base_fd_close(*fd);
}

void orma_tool_notify(const char *variable, const char *text)
{
	const char *value = getenv(variable);
	uint64_t fd;
	if (!value || orma_base_parse_u64(value, 10, &fd) || fd > INT32_MAX)
		return;
	if (orma_base_fd_write_all((int)fd, text, strlen(text)))
		orma_tool_warn("%s=%s cannot be written to", variable, value);
	close((int)fd);
	unsetenv(variable);
}
