/* SPDX-License-Identifier: Apache-2.0
 * log_message.c - passes formatted messages to the program's sink, and to stderr if ORMA_LOG asks
 * for that.
 *
 * Owns the sink: two process-wide words, which are not atomic because they are set before threads
 * start and only read afterwards. Messages are cut at 1 KiB. Rejected: a sink per object, because a
 * person reads one log; a level filter for the sink, because the sink can filter.
 *
 * ORMA_LOG is the one case in which library code writes to stderr. Each message is one write(), and
 * only if stderr can take it at once. If stderr is a pipe that is full or has no reader, the
 * message is lost; the program neither waits nor gets a SIGPIPE.
 */
#include "base/log_message.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"

enum { MESSAGE_BYTES = 1024, LINE_BYTES = MESSAGE_BYTES + 64, NOTHING = ORMA_LOG_ERROR + 1 };

static orma_log_fn *log_sink;
static void *log_ctx;
/* The lowest level that goes to stderr. Written by orma_init(), read by any thread; relaxed,
 * because it guards no data. */
static _Atomic int stderr_level = NOTHING;
static __thread bool is_muted __attribute__((tls_model("initial-exec")));

void orma_log_set_sink(orma_log_fn *sink, void *ctx)
{
	log_sink = sink;
	log_ctx = ctx;
}

void orma_base_log_read_environment(void)
{
	static const char *const levels[] = {"debug", "info", "warn"};
	const char *text = secure_getenv("ORMA_LOG");
	int level = NOTHING;

	for (int i = 0; text && i < (int)ORMA_ARRAY_SIZE(levels); i++)
		if (strcmp(text, levels[i]) == 0)
			level = i;
	atomic_store_explicit(&stderr_level, level, memory_order_relaxed);
}

void orma_base_log_mute_stderr(bool mute)
{
	is_muted = mute;
}

/* Replaces control characters, which a terminal would obey: parts of a message may come from other
 * processes. */
static void replace_controls(char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool is_c1 = (text[i] & 0xe0) == 0x80 && i > 0 && text[i - 1] == '\xc2';

		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f || is_c1)
			text[i] = '?';
	}
}

static bool is_writable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents == POLLOUT;
}

/* A pipe's reader may close it at any moment. The SIGPIPE that this causes is consumed here. */
static void write_without_signal(int fd, const char *line, size_t size)
{
	const struct timespec now = {0};
	sigset_t broken_pipe, pending, old;
	bool was_pending;

	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	if (pthread_sigmask(SIG_BLOCK, &broken_pipe, &old) != 0)
		return;
	if (write(fd, line, size) < 0 && errno == EPIPE && !was_pending)
		sigtimedwait(&broken_pipe, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void write_to_stderr(enum orma_log_level level, const char *message)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};
	char line[LINE_BYTES];
	int size;

	ORMA_ASSERT((size_t)level < ORMA_ARRAY_SIZE(names));
	if (!is_writable(STDERR_FILENO))
		return;
	size = snprintf(line, sizeof(line), "orma[%d]: %s: %s", (int)getpid(), names[level],
			message);
	replace_controls(line, (size_t)size);
	line[size] = '\n';
	write_without_signal(STDERR_FILENO, line, (size_t)size + 1);
}

void orma_base_log(enum orma_log_level level, const char *format, ...)
{
	bool has_stderr = (int)level >= atomic_load_explicit(&stderr_level, memory_order_relaxed);

	if (!log_sink && !has_stderr)
		return;
	int saved_errno = errno;
	char message[MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (log_sink)
		log_sink(log_ctx, level, message);
	if (has_stderr && !is_muted)
		write_to_stderr(level, message);
	errno = saved_errno;
}
