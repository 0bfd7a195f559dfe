/* SPDX-License-Identifier: Apache-2.0
 * trace_output.c - writes the packets of a session, and keeps what it can when the disk is full.
 *
 *   packets --> batch --write--> file
 *                 |  full disk: the file is cut behind its last whole packet
 *                 +--> kept in memory for another file, or counted as lost
 *
 * A service gives each packet away once. So the packets that were read when the disk became full
 * are the only copy, and the recorder must not lose them. It reads on to the end, because a service
 * drops a consumer that reads nothing for 10 s, and a user needs longer than that to answer a
 * question. For the same reason the recorder waits for a pipe whose reader pauses (a pager) only
 * HOLD_AFTER_MS at a time while there is more to read; then it reads the rest into memory, and
 * writes it as the pipe takes it. The buffers of the session bound this memory.
 *
 * Rejected: writing later packets that are smaller (the trace would have a gap that nobody sees),
 * and removing the file (it is the only copy of its packets).
 */
#include "tool/record/trace_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <orma/session.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "proto/writer.h"
#include "schema/gen/trace.pb.h"
#include "tool/daemon/file_series.h"
#include "tool/tool.h"

#define FILE_BATCH_BYTES ((size_t)256 * 1024)
#define PIPE_BATCH_BYTES ((size_t)64 * 1024)
#define HOLD_AFTER_MS    3000
#define LOCK_WAIT_NS     (500 * ORMA_NS_PER_MS)
#define LOCK_RETRY_NS    (10 * (long)ORMA_NS_PER_MS)

const char *orma_trace_output_name(const struct orma_trace_output *output)
{
	return strcmp(output->path, "-") == 0 ? "standard output" : output->path;
}

/* The daemon closes the file of a recording a moment after its recorder has ended. */
static bool is_locked(int fd)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + LOCK_WAIT_NS;

	while (orma_file_series_lock(fd) < 0) {
		if (orma_base_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_RETRY_NS}, NULL);
	}
	return false;
}

int orma_trace_output_open(struct orma_trace_output *output, const char *path, bool no_clobber)
{
	output->path = path;
	if (strcmp(path, "-") == 0) {
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		struct stat info;
		output->is_new = stat(path, &info) != 0;
		/* With a reading end of its own, the recorder would not notice that the pipe's
		 * reader has gone. */
		int access = output->is_new || S_ISREG(info.st_mode) ? O_RDWR : O_WRONLY;
		int clobber = no_clobber ? O_EXCL : 0;
		output->fd = open(path, O_CREAT | access | O_NOCTTY | O_CLOEXEC | clobber, 0600);
	}
	if (output->fd < 0)
		return orma_tool_fail("cannot open %s: %s; choose another file with -o", path,
				      strerror(errno));
	if (orma_trace_output_is_file(output) && is_locked(output->fd)) {
		output->is_new = false;
		return orma_tool_fail("another recording writes into %s; choose another file with "
				      "-o",
				      orma_trace_output_name(output));
	}
	if (isatty(output->fd))
		return orma_tool_fail("a trace is binary and is not written to a terminal; name a "
				      "file with -o");
	return ORMA_EXIT_OK;
}

void orma_trace_output_keep_old(struct orma_trace_output *output)
{
	if (!output->is_new && orma_trace_output_is_file(output))
		orma_old_file_find(&output->old, output->path);
	if (!output->old.part[0])
		return;
	int fd = open(output->old.part, O_CREAT | O_EXCL | O_RDWR | O_NOCTTY | O_CLOEXEC, 0600);
	if (fd < 0 || orma_file_series_lock(fd) < 0) {
		orma_base_fd_close(fd);
		output->old.part[0] = '\0';
		return;
	}
	output->old_fd = output->fd;
	output->fd = fd;
}

int orma_trace_output_replace_old(struct orma_trace_output *output)
{
	if (!output->old.part[0])
		return ORMA_EXIT_OK;
	orma_base_fd_close(output->old_fd);
	return orma_old_file_replace(&output->old);
}

bool orma_trace_output_is_file(const struct orma_trace_output *output)
{
	struct stat info;

	return output->fd >= 0 && fstat(output->fd, &info) == 0 && S_ISREG(info.st_mode);
}

void orma_trace_output_empty(const struct orma_trace_output *output)
{
	struct stat info;

	if (output->fd < 0 || strcmp(output->path, "-") == 0)
		return;
	/* A service that writes into the file moves this position. */
	off_t end = lseek(output->fd, 0, SEEK_CUR);
	if (end >= 0 && fstat(output->fd, &info) == 0 && S_ISREG(info.st_mode) &&
	    info.st_size > end)
		(void)ftruncate(output->fd, end);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void count_lost(struct orma_trace_output *output, const void *packet, size_t size)
{
	orma_tool_counter_add(&output->lost, packet, size);
	output->lost_bytes +=
		orma_proto_varint_size(orma_proto_tag(ORMA_PB_TRACE_PACKET, ORMA_PROTO_BYTES)) +
		orma_proto_varint_size(size) + size;
}

void orma_trace_output_drop(struct orma_trace_output *output)
{
	const uint8_t *at = output->batch.data, *end = at + output->batch.size;
	struct orma_str packet;
	size_t step;

	while ((step = orma_tool_trace_next_packet(at, (size_t)(end - at), &packet))) {
		count_lost(output, packet.data, packet.size);
		at += step;
	}
	orma_base_buf_done(&output->batch);
}

/* Returns true when everything that was written could be copied to another file. */
static bool can_move(const struct orma_trace_output *output)
{
	if (output->begin < 0)
		return output->written_bytes == 0 && output->begun == 0;
	return output->written_bytes == 0 || (fcntl(output->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

static int get_patience_ms(void *ctx)
{
	const struct orma_trace_output *output = ctx;

	return output->writer.patience_ms ? output->writer.patience_ms(output->writer.ctx) : -1;
}

static int get_short_patience_ms(void *ctx)
{
	const struct orma_trace_output *output = ctx;
	int ms = get_patience_ms(ctx);

	return ms < 0 ? (int)output->hold_after_ms : ms;
}

/* Writes the batch, and removes whole packets that were written from it. */
static int write_batch(struct orma_trace_output *output, int (*patience_ms)(void *ctx))
{
	int wakeup_fd = output->writer.patience_ms ? output->writer.wakeup_fd : -1;
	const struct orma_file_writer writer = {output->fd, wakeup_fd, patience_ms, output};
	struct orma_buf *batch = &output->batch;
	size_t taken = output->begun, whole;
	int r = 0;

	if (taken < batch->size)
		r = orma_file_write(&writer, batch->data + taken, batch->size - taken, &taken);
	whole = r ? orma_tool_trace_whole_bytes(batch->data, taken) : taken;
	output->begun = taken - whole;
	if (output->begin >= 0) {
		orma_file_cut_tail(output->fd, output->begun);
		output->begun = 0;
	}
	output->written_bytes += whole;
	orma_base_buf_consume(batch, whole);
	return r;
}

static void take_error(struct orma_trace_output *output, int error)
{
	output->error = error;
	output->keeps_rest = error && output->may_ask && can_move(output);
}

void orma_trace_output_flush(struct orma_trace_output *output)
{
	take_error(output, write_batch(output, get_patience_ms));
}

static int append(struct orma_buf *batch, const void *packet, size_t size)
{
	uint8_t head[ORMA_PROTO_SCALAR_FIELD_MAX];
	uint8_t *end =
		orma_proto_put_varint(head, orma_proto_tag(ORMA_PB_TRACE_PACKET, ORMA_PROTO_BYTES));
	int r;

	end = orma_proto_put_varint(end, size);
	r = orma_base_buf_reserve(batch, (size_t)(end - head) + size);
	if (r < 0)
		return r;
	(void)orma_base_buf_append(batch, head, (size_t)(end - head));
	return orma_base_buf_append(batch, packet, size);
}

/* Writes the batch, or holds it when the reader pauses; see the preface. */
static void flush_or_hold(struct orma_trace_output *output)
{
	int r = write_batch(output, get_short_patience_ms);

	output->is_held = r == -ETIMEDOUT && get_patience_ms(output) < 0;
	take_error(output, output->is_held ? 0 : r);
	if (output->error && !output->keeps_rest)
		orma_trace_output_drop(output);
}

static void flush_or_drop(struct orma_trace_output *output)
{
	orma_trace_output_flush(output);
	if (output->error && !output->keeps_rest)
		orma_trace_output_drop(output);
}

static int take_packet(void *ctx, const void *packet, size_t size)
{
	struct orma_trace_output *output = ctx;
	size_t batch_bytes = output->begin < 0 ? PIPE_BATCH_BYTES : FILE_BATCH_BYTES;
	int r = 0;

	orma_tool_counter_add(&output->all, packet, size);
	if (!output->error || output->keeps_rest)
		r = append(&output->batch, packet, size);
	/* There is no memory to hold more: write, and wait for the reader. */
	if (r < 0 && output->is_held) {
		output->is_held = false;
		flush_or_drop(output);
		r = output->error ? 0 : append(&output->batch, packet, size);
	}
	if (r < 0 && !output->error)
		return r;
	if (r < 0 || (output->error && !output->keeps_rest))
		count_lost(output, packet, size);
	if (!output->error && !output->is_held && output->batch.size >= batch_bytes)
		flush_or_hold(output);
	return output->error == -ETIMEDOUT ? -ETIMEDOUT : 0;
}

/* Some file systems report a full disk only when a descriptor is closed. */
static void settle(struct orma_trace_output *output)
{
	int fd = output->begin < 0 ? -1 : fcntl(output->fd, F_DUPFD_CLOEXEC, 3);

	if (fd >= 0 && close(fd) < 0 && errno != EINTR)
		output->error = -errno;
}

int orma_trace_output_read(struct orma_trace_output *output, struct orma_session *session)
{
	int r;

	if (output->hold_after_ms == 0)
		output->hold_after_ms = HOLD_AFTER_MS;
	output->begin = orma_trace_output_is_file(output) ? lseek(output->fd, 0, SEEK_CUR) : -1;
	r = orma_session_read(session, take_packet, output);
	/* Write them also when the service has gone, because they are the only copy. */
	if (!output->error)
		flush_or_drop(output);
	if (!output->error)
		settle(output);
	return r < 0 ? r : output->error == -ETIMEDOUT ? -ETIMEDOUT : 0;
}

/* --- the report of a loss ------------------------------------------------------------------- */

static int list_sources(struct orma_buf *text, const struct orma_tool_summary *summary)
{
	int r = 0;

	for (size_t i = 0; i < summary->source_count && r == 0; i++)
		r = orma_base_buf_printf(text, "%s%" PRIu64 " packet%s of %s", i ? ", " : ": ",
					 summary->sources[i].packets,
					 summary->sources[i].packets == 1 ? "" : "s",
					 summary->sources[i].name);
	return r;
}

int orma_trace_output_tell_loss(struct orma_trace_output *output)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	bool is_full =
		output->error == -ENOSPC || output->error == -EDQUOT || output->error == -EFBIG;

	orma_tool_counter_done(&output->lost);
	if (output->written_bytes > 0)
		(void)orma_base_buf_printf(&text, "it has the first %.1f KB of the trace",
					   (double)output->written_bytes / 1024);
	else
		(void)orma_base_buf_append_str(&text, "nothing is written");
	if (output->lost_bytes > 0) {
		(void)orma_base_buf_printf(&text, ", %.1f KB are lost",
					   (double)output->lost_bytes / 1024);
		(void)list_sources(&text, &output->lost.summary);
	}
	if (is_full)
		(void)orma_base_buf_append_str(&text,
					       "; make room there, or choose another file with -o");
	const char *words = orma_base_buf_cstr(&text);
	return orma_tool_fail("%s: %s; %s", orma_trace_output_name(output),
			      strerror(-output->error), words ? words : "data is lost");
}

void orma_trace_output_done(struct orma_trace_output *output)
{
	struct stat info;

	if (output->fd >= 0 && output->is_new && fstat(output->fd, &info) == 0 && info.st_size == 0)
		unlink(output->path);
	output->fd = orma_base_fd_close(output->fd);
	if (output->old.part[0])
		orma_base_fd_close(output->old_fd);
	orma_old_file_keep(&output->old);
	orma_base_buf_done(&output->batch);
	orma_tool_counter_done(&output->all);
	orma_tool_counter_done(&output->lost);
}
