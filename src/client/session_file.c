/* SPDX-License-Identifier: Apache-2.0
 * session_file.c - a session's packets into a descriptor, in larger pieces.
 *
 * Owns the pieces, not the descriptor. There are two forms. One waits for the descriptor, as write() does.
 * The other never waits, for any kind of descriptor, with or without O_NONBLOCK:
 *
 *	regular files, disks    write(): nothing to wait for
 *	sockets                 send() with MSG_DONTWAIT
 *	pipes, terminals        write() of PIPE_BUF bytes at a time, while poll() says that there is room
 *
 * While such a descriptor is full, the session's connection is not read (see orma_client_call_hold()). So
 * the trace waits in the service, whose buffers have a limit, and not in this process, whose memory has
 * none. Neither form raises SIGPIPE.
 *
 * Rejected: making the descriptor O_NONBLOCK (the flag belongs to the open file, which other processes may
 * share), a thread that may block (the library has at most one thread, and that must not block).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "client/session_read.h"
#include "proto/writer.h"

#define WRITE_BATCH_BYTES  ((size_t)256 * 1024)
#define TRACE_PACKET_FIELD 1

struct packet_file {
	int fd;
	int timeout_ms; /* for one that is O_NONBLOCK */
	uint64_t bytes; /* written so far */
	struct orma_buf batch;
	size_t written; /* bytes of `batch` */
};

enum { FULL = 0, ALL_WRITTEN = 1 };

static size_t left(const struct packet_file *file)
{
	return file->batch.size - file->written;
}

static int append(struct packet_file *file, const void *packet, size_t size)
{
	uint8_t head[ORMA_PROTO_SCALAR_FIELD_MAX];
	uint8_t *end =
		orma_proto_put_varint(head, orma_proto_tag(TRACE_PACKET_FIELD, ORMA_PROTO_BYTES));
	int r;

	end = orma_proto_put_varint(end, size);
	r = orma_base_buf_append(&file->batch, head, (size_t)(end - head));
	return r < 0 ? r : orma_base_buf_append(&file->batch, packet, size);
}

static void advance(struct packet_file *file, size_t size)
{
	file->written += size;
	file->bytes += size;
	if (left(file) == 0)
		file->batch.size = file->written = 0;
}

static bool is_ready(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

	/* Also true on an error, which the following write reports. */
	return poll(&poll_fd, 1, timeout_ms) > 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Writes the whole batch. Waits for a descriptor that is O_NONBLOCK as long as for an answer of a service. */
static int write_waiting(struct packet_file *file)
{
	while (left(file) > 0) {
		ssize_t r =
			orma_base_fd_write(file->fd, file->batch.data + file->written, left(file));

		if (r == -EAGAIN || r == -EWOULDBLOCK) {
			if (!is_ready(file->fd, file->timeout_ms))
				return -ETIMEDOUT;
		} else if (r < 0) {
			return (int)r;
		} else {
			advance(file, (size_t)r);
		}
	}
	return 0;
}

static int on_packet(void *ctx, const void *packet, size_t size)
{
	struct packet_file *file = ctx;
	int r = append(file, packet, size);

	return r == 0 && left(file) >= WRITE_BATCH_BYTES ? write_waiting(file) : r;
}

int orma_session_read_into_fd(struct orma_session *session, int fd, uint64_t *ret_bytes)
{
	if (!session)
		return -EINVAL;

	ORMA_NO_CANCEL();
	struct packet_file file = {.fd = fd,
				   .timeout_ms = (int)ORMA_MIN(session->timeout_ns / ORMA_NS_PER_MS,
							       (uint64_t)INT_MAX)};
	int r = orma_session_read(session, on_packet, &file);

	if (r == 0)
		r = write_waiting(&file);
	orma_base_buf_done(&file.batch);
	if (r == 0 && ret_bytes)
		*ret_bytes = file.bytes;
	return r;
}

/* --- not waiting ------------------------------------------------------------------------------ */

struct async_file {
	struct orma_client_read read;
	struct packet_file file;
	struct orma_watch watch; /* added while the descriptor is full */
	bool is_socket, never_waits;
	bool is_over; /* everything has been read; the rest of the batch still has to be written */
	bool has_failed;
	orma_session_file_fn *done;
	void *ctx;
};

static struct async_file *file_of(struct orma_client_call *call)
{
	return ORMA_CONTAINER_OF(call, struct async_file, read.call);
}

/* Bytes, or -EAGAIN, -errno. */
static ssize_t write_now(struct async_file *self, const void *data, size_t size)
{
	int fd = self->file.fd;

	if (self->never_waits)
		return orma_base_fd_write(fd, data, size);
	if (self->is_socket) {
		ssize_t r = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		return r < 0 ? -errno : r;
	}
	if (!is_ready(fd, 0))
		return -EAGAIN;
	return orma_base_fd_write(fd, data, ORMA_MIN(size, (size_t)PIPE_BUF));
}

/* FULL, ALL_WRITTEN, or -errno. */
static int write_some(struct async_file *self)
{
	struct packet_file *file = &self->file;

	while (left(file) > 0) {
		ssize_t r = write_now(self, file->batch.data + file->written, left(file));

		if (r == -EAGAIN || r == -EWOULDBLOCK)
			return FULL;
		if (r >= 0)
			advance(file, (size_t)r);
		else if (r != -EINTR)
			return (int)r;
	}
	return ALL_WRITTEN;
}

static void discard_file(struct orma_client_call *call)
{
	struct async_file *self = file_of(call);

	orma_base_watch_remove(&self->watch);
	orma_base_buf_done(&self->read.partial);
	orma_base_buf_done(&self->file.batch);
	orma_base_free(self);
}

static void tell(struct async_file *self, int r)
{
	struct orma_error error = {0};
	orma_session_file_fn *done = self->done;
	uint64_t bytes = self->file.bytes;
	void *ctx = self->ctx;

	if (r < 0 && self->has_failed)
		orma_base_error_set(&error, r, "writing the trace failed: %s",
				    orma_base_error_words(r));
	else
		orma_client_read_error(r, &error);
	discard_file(&self->read.call);
	done(ctx, r < 0 ? &error : NULL, bytes);
}

static void on_writable(struct orma_watch *watch, unsigned ready)
{
	struct async_file *self = ORMA_CONTAINER_OF(watch, struct async_file, watch);
	struct orma_client_call *call = &self->read.call;
	int r = write_some(self);

	(void)ready;
	if (r == FULL)
		return;
	orma_base_watch_remove(watch);
	self->has_failed = r < 0;
	if (self->is_over) {
		orma_base_list_remove(&call->item);
		tell(self, r < 0 ? r : 0);
	} else if (r < 0) {
		orma_client_call_end(call, r);
	} else {
		orma_client_call_hold(call, false);
	}
}

/* Writes as much as it can; on_writable() writes the rest. */
static int write_or_watch(struct async_file *self)
{
	int r = self->watch.loop ? ALL_WRITTEN : write_some(self);

	if (r == FULL)
		r = orma_base_loop_watch(self->read.call.session->loop, &self->watch, self->file.fd,
					 ORMA_LOOP_WRITE, on_writable);
	self->has_failed = r < 0;
	return r < 0 ? r : 0;
}

static int on_async_packet(void *ctx, const void *packet, size_t size)
{
	struct async_file *self = ctx;
	int r = append(&self->file, packet, size);

	if (r < 0 || left(&self->file) < WRITE_BATCH_BYTES)
		return r;
	r = write_or_watch(self);
	if (r == 0 && self->watch.loop)
		orma_client_call_hold(&self->read.call, true);
	return r;
}

static void finish_file(struct orma_client_call *call)
{
	struct async_file *self = file_of(call);
	int r = call->error < 0 ? call->error : write_or_watch(self);

	if (r == 0 && self->watch.loop) {
		/* The call is over; it stays in the list so that freeing the session frees it. */
		self->is_over = true;
		orma_base_list_append(&call->session->calls, &call->item);
		return;
	}
	tell(self, r);
}

static void look_at(struct async_file *self, int fd)
{
	struct stat status;

	self->file.fd = fd;
	if (fstat(fd, &status) < 0)
		return; /* the first write reports the error */
	self->is_socket = S_ISSOCK(status.st_mode);
	self->never_waits = S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
}

int orma_session_read_into_fd_async(struct orma_session *session, int fd,
				    orma_session_file_fn *done, void *ctx)
{
	struct async_file *self;
	int r;

	if (!session || !done || fd < 0)
		return -EINVAL;
	self = orma_base_zalloc(sizeof(*self));
	if (!self)
		return -ENOMEM;
	orma_client_read_init(&self->read, on_async_packet, self);
	self->read.call.finish = finish_file;
	self->read.call.discard = discard_file;
	self->done = done;
	self->ctx = ctx;
	look_at(self, fd);
	r = orma_client_session_begin(session, ORMA_CLIENT_READ_BUFFERS, NULL, -1,
				      session->timeout_ns, &self->read.call);
	if (r < 0)
		discard_file(&self->read.call);
	return r;
}
