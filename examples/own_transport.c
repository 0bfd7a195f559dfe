/* SPDX-License-Identifier: Apache-2.0
 * own_transport.c - orma in a system whose processes have their own means of communication.
 *
 * There is no daemon, and orma opens no socket. A parent runs the service. Its child is traced, and reaches
 * the service over the connection that the two have anyway.
 *
 *	orma_own_transport [trace file [commits]]
 *
 *	child:  track events -> liborma -> struct orma_transport_ops -> frames
 *	parent: frames -> orma_producer_port_...() -> orma_service -> orma_consumer_port_...() -> file
 *
 * Here the connection is a socket pair, and the example has its own protocol: a header, then bytes. One
 * descriptor is passed: the memory that the child writes its events to and the parent reads. With
 * "commits" none is passed, as if over a network, and the commits contain the chunks of the trace.
 * Sends block. A program that must not block keeps a queue, and its has_room() returns false while
 * the queue is full.
 */
#include <errno.h>
#include <orma/orma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- our protocol, the same on both sides ------------------------------------------------------- */

enum kind {
	/* sent by the child */
	HELLO = 1, /* payload: the name */
	REGISTER,
	UPDATE,
	UNREGISTER,
	COMMIT,
	WRITER,    /* id: the writer; extra: its buffer */
	NO_WRITER, /* id: the writer */
	STARTED,
	STOPPED,
	SYNC,
	/* sent by the parent */
	UP,
	MEMORY, /* id: bytes of a page; with a descriptor, or without */
	SETUP,
	START,
	STOP,
	FLUSH, /* id: the request; extra: its flags; payload: instances */
	CLEAR,
	SYNCED,
};

struct head {
	uint32_t kind, size;
	uint64_t id, extra;
};

#define PAYLOAD_MAX ((size_t)1024 * 1024)

struct frame {
	struct head head;
	int fd; /* received with the frame, and closed by its reader; -1 = none */
	_Alignas(8) char payload[PAYLOAD_MAX + 1];
};

static bool move_all(int fd, void *data, size_t size, bool is_send)
{
	for (char *at = data; size > 0;) {
		ssize_t moved = is_send ? send(fd, at, size, MSG_NOSIGNAL) : recv(fd, at, size, 0);

		if (moved <= 0)
			return false;
		at += moved;
		size -= (size_t)moved;
	}
	return true;
}

/* A message with room for one descriptor, for sendmsg() and recvmsg(). */
struct passing {
	struct iovec piece;
	struct msghdr message;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void init_passing(struct passing *passing, void *data, size_t size)
{
	memset(passing, 0, sizeof(*passing));
	passing->piece.iov_base = data;
	passing->piece.iov_len = size;
	passing->message.msg_iov = &passing->piece;
	passing->message.msg_iovlen = 1;
	passing->message.msg_control = passing->control;
	passing->message.msg_controllen = sizeof(passing->control);
}

static bool send_head(int fd, struct head *head, int passed_fd)
{
	struct passing passing;
	struct cmsghdr *header;

	if (passed_fd < 0)
		return move_all(fd, head, sizeof(*head), true);
	init_passing(&passing, head, sizeof(*head));
	header = CMSG_FIRSTHDR(&passing.message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &passed_fd, sizeof(int));
	return sendmsg(fd, &passing.message, MSG_NOSIGNAL) == (ssize_t)sizeof(*head);
}

static bool receive_head(int fd, struct head *head, int *ret_fd)
{
	struct passing passing;
	struct cmsghdr *header;
	ssize_t size;

	init_passing(&passing, head, sizeof(*head));
	size = recvmsg(fd, &passing.message, MSG_CMSG_CLOEXEC);
	header = size > 0 ? CMSG_FIRSTHDR(&passing.message) : NULL;
	*ret_fd = -1;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	return size > 0 && move_all(fd, (char *)head + size, sizeof(*head) - (size_t)size, false);
}

static int send_frame_with(int fd, enum kind kind, uint64_t id, uint64_t extra, const void *data,
			   size_t size, int passed_fd)
{
	struct head head = {kind, (uint32_t)size, id, extra};

	if (size > PAYLOAD_MAX || !send_head(fd, &head, passed_fd) ||
	    !move_all(fd, (void *)data, size, true))
		return -1;
	return 0;
}

static int send_frame(int fd, enum kind kind, uint64_t id, uint64_t extra, const void *data,
		      size_t size)
{
	return send_frame_with(fd, kind, id, extra, data, size, -1);
}

/* On success frame->fd is the caller's. */
static bool receive_frame(int fd, struct frame *frame)
{
	if (!receive_head(fd, &frame->head, &frame->fd))
		return false;
	if (frame->head.size > PAYLOAD_MAX ||
	    !move_all(fd, frame->payload, frame->head.size, false)) {
		if (frame->fd >= 0)
			close(frame->fd);
		return false;
	}
	frame->payload[frame->head.size] = '\0';
	return true;
}

/* --- the child: calls of the library become frames ---------------------------------------------- */

struct child {
	int fd;
	struct orma_transport *transport; /* NULL = not connected */
	struct frame frame;
};

static int child_connect(void *ctx, struct orma_transport *transport,
			 const struct orma_producer_info *hello)
{
	struct child *child = ctx;

	child->transport = transport;
	return send_frame(child->fd, HELLO, 0, 0, hello->name, strlen(hello->name));
}

static void child_disconnect(void *ctx, struct orma_transport *transport)
{
	(void)transport;
	((struct child *)ctx)->transport = NULL;
}

static int child_poll_fd(void *ctx)
{
	return ((struct child *)ctx)->fd;
}

/* There is something to read: the library's thread passes the service's messages to the library. */
static void child_readable(void *ctx)
{
	struct child *child = ctx;
	struct orma_transport *transport = child->transport;
	const struct frame *frame = &child->frame;
	const uint64_t *ids = (const void *)frame->payload;
	uint64_t id;

	if (!receive_frame(child->fd, &child->frame)) {
		orma_transport_down(transport, -ECONNRESET);
		return;
	}
	id = frame->head.id;
	switch (frame->head.kind) {
	case UP:
		orma_transport_up(transport);
		break;
	case MEMORY:
		/* The library checks the memory, whatever it is, and duplicates the descriptor. */
		orma_transport_setup_tracing(transport, frame->fd, (uint32_t)id);
		break;
	case SETUP:
		orma_transport_setup_data_source(transport, id, frame->payload, frame->head.size);
		break;
	case START:
		orma_transport_start_data_source(transport, id, frame->payload, frame->head.size);
		break;
	case STOP:
		orma_transport_stop_data_source(transport, id);
		break;
	case FLUSH:
		orma_transport_flush(transport, id, ids, frame->head.size / sizeof(*ids),
				     frame->head.extra);
		break;
	case CLEAR:
		orma_transport_clear_incremental_state(transport, ids,
						       frame->head.size / sizeof(*ids));
		break;
	case SYNCED:
		orma_transport_synced(transport);
		break;
	default:
		orma_transport_down(transport, -EPROTO);
		break;
	}
	if (frame->fd >= 0)
		close(frame->fd);
}

static bool child_has_room(void *ctx)
{
	struct pollfd poll_fd = {.fd = ((struct child *)ctx)->fd, .events = POLLOUT};

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLOUT;
}

static int child_register(void *ctx, const void *descriptor, size_t size)
{
	return send_frame(((struct child *)ctx)->fd, REGISTER, 0, 0, descriptor, size);
}

static int child_update(void *ctx, const void *descriptor, size_t size)
{
	return send_frame(((struct child *)ctx)->fd, UPDATE, 0, 0, descriptor, size);
}

static void child_unregister(void *ctx, const char *name)
{
	send_frame(((struct child *)ctx)->fd, UNREGISTER, 0, 0, name, strlen(name));
}

static void child_commit(void *ctx, const struct orma_commit *commit)
{
	void *data;
	size_t size;

	if (orma_commit_encode(commit, &data, &size) < 0)
		return;
	send_frame(((struct child *)ctx)->fd, COMMIT, 0, 0, data, size);
	orma_config_free(data);
}

static void child_register_writer(void *ctx, uint32_t writer_id, uint32_t target_buffer)
{
	send_frame(((struct child *)ctx)->fd, WRITER, writer_id, target_buffer, NULL, 0);
}

static void child_unregister_writer(void *ctx, uint32_t writer_id)
{
	send_frame(((struct child *)ctx)->fd, NO_WRITER, writer_id, 0, NULL, 0);
}

static void child_started(void *ctx, uint64_t instance_id)
{
	send_frame(((struct child *)ctx)->fd, STARTED, instance_id, 0, NULL, 0);
}

static void child_stopped(void *ctx, uint64_t instance_id)
{
	send_frame(((struct child *)ctx)->fd, STOPPED, instance_id, 0, NULL, 0);
}

static int child_sync(void *ctx)
{
	return send_frame(((struct child *)ctx)->fd, SYNC, 0, 0, NULL, 0);
}

static const struct orma_transport_ops transport_ops = {
	.struct_size = sizeof(transport_ops),
	.connect = child_connect,
	.disconnect = child_disconnect,
	.poll_fd = child_poll_fd,
	.readable = child_readable,
	.has_room = child_has_room,
	.register_data_source = child_register,
	.update_data_source = child_update,
	.unregister_data_source = child_unregister,
	.commit = child_commit,
	.register_writer = child_register_writer,
	.unregister_writer = child_unregister_writer,
	.data_source_started = child_started,
	.data_source_stopped = child_stopped,
	.sync = child_sync,
};

ORMA_CATEGORY_DEFINE(work, "example.work", "What the child is busy with");

static int run_child(int fd)
{
	static struct child child;
	const struct orma_init_options options = {
		.struct_size = sizeof(options),
		.backends = ORMA_BACKEND_CUSTOM,
		.producer_name = "example.child",
		.transport = &transport_ops,
		.transport_ctx = &child,
	};

	child.fd = fd;
	if (orma_init(&options) < 0)
		return 1;
	/* The session was waiting for this producer; now the library knows of it, too. */
	if (orma_sync(10000) < 0)
		return 1;
	for (int i = 0; i < 1000; i++) {
		ORMA_SCOPE(work, "step");
		if (i % 100 == 0)
			ORMA_INSTANT(work, "hundred");
	}
	orma_shutdown(); /* hands over what is left */
	return 0;
}

/* --- the parent: frames become calls of the service, its callbacks become frames ---------------- */

struct parent {
	int fd;
	pid_t child;
	struct orma_service *service;
	struct orma_producer_port *producer; /* NULL before HELLO */
	struct orma_consumer_port *consumer;
	bool is_disabled;
	bool passes_fds;
	size_t commit_bytes;
	struct frame frame;
};

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct parent *parent = ctx;

	send_frame_with(parent->fd, MEMORY, memory->page_size_bytes, 0, NULL, 0,
			parent->passes_fds ? memory->fd : -1);
}

static void on_setup(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	send_frame(((struct parent *)ctx)->fd, SETUP, instance_id, 0, config, size);
}

static void on_start(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	send_frame(((struct parent *)ctx)->fd, START, instance_id, 0, config, size);
}

static void on_stop(void *ctx, uint64_t instance_id)
{
	send_frame(((struct parent *)ctx)->fd, STOP, instance_id, 0, NULL, 0);
}

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		     uint64_t flags)
{
	send_frame(((struct parent *)ctx)->fd, FLUSH, request_id, flags, instance_ids,
		   count * sizeof(*instance_ids));
}

static void on_clear(void *ctx, const uint64_t *instance_ids, size_t count)
{
	send_frame(((struct parent *)ctx)->fd, CLEAR, 0, 0, instance_ids,
		   count * sizeof(*instance_ids));
}

static const struct orma_producer_callbacks producer_callbacks = {
	.struct_size = sizeof(producer_callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup,
	.start_data_source = on_start,
	.stop_data_source = on_stop,
	.flush = on_flush,
	.clear_incremental_state = on_clear,
};

static int open_producer(struct parent *parent, const char *name)
{
	const struct orma_producer_info info = {
		.struct_size = sizeof(info),
		.uid = getuid(),
		.pid = parent->child,
		.name = name,
		.shm_fd = -1,
		.cannot_pass_fds = !parent->passes_fds,
	};
	int r;

	if (parent->producer)
		return -EPROTO;
	r = orma_producer_port_open(parent->service, &info, &producer_callbacks, parent, NULL,
				    &parent->producer);
	return r < 0 ? r : send_frame(parent->fd, UP, 0, 0, NULL, 0);
}

static int handle_frame(struct parent *parent, const struct frame *frame)
{
	struct orma_producer_port *port = parent->producer;
	uint64_t id = frame->head.id;

	if (frame->head.kind == HELLO)
		return open_producer(parent, frame->payload);
	if (!port)
		return -EPROTO;
	switch (frame->head.kind) {
	case REGISTER:
		return orma_producer_port_register_data_source(port, frame->payload,
							       frame->head.size);
	case UPDATE:
		return orma_producer_port_update_data_source(port, frame->payload,
							     frame->head.size);
	case UNREGISTER:
		return orma_producer_port_unregister_data_source(port, frame->payload);
	case COMMIT:
		parent->commit_bytes += frame->head.size;
		return orma_producer_port_commit_encoded(port, frame->payload, frame->head.size);
	case WRITER:
		orma_producer_port_register_writer(port, (uint32_t)id, (uint32_t)frame->head.extra);
		return 0;
	case NO_WRITER:
		orma_producer_port_unregister_writer(port, (uint32_t)id);
		return 0;
	case STARTED:
		orma_producer_port_data_source_started(port, id);
		return 0;
	case STOPPED:
		orma_producer_port_data_source_stopped(port, id);
		return 0;
	case SYNC:
		return send_frame(parent->fd, SYNCED, 0, 0, NULL, 0);
	default:
		return -EPROTO;
	}
}

/* --- the parent as a consumer --------------------------------------------------------------------- */

static void on_disabled(void *ctx, const char *error)
{
	if (error)
		fprintf(stderr, "the session ended: %s\n", error);
	((struct parent *)ctx)->is_disabled = true;
}

static int begin_session(struct parent *parent)
{
	static const char text[] = "buffers { size_kb: 4096 } "
				   "data_sources { config { name: \"track_event\" } }";
	static const struct orma_consumer_callbacks callbacks = {
		.struct_size = sizeof(callbacks),
		.tracing_disabled = on_disabled,
	};
	const struct orma_consumer_info info = {
		.struct_size = sizeof(info), .uid = getuid(), .pid = getpid()};
	struct orma_error error = {0};
	void *config;
	size_t size;
	int r = orma_consumer_port_open(parent->service, &info, &callbacks, parent,
					&parent->consumer);

	if (r < 0)
		return r;
	r = orma_config_parse("the config", text, strlen(text), &config, &size, &error);
	if (r == 0) {
		r = orma_consumer_port_enable(parent->consumer, config, size, -1, &error);
		orma_config_free(config);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", error.message);
	return r;
}

/* A trace file is one message; each packet is its field 1. */
static void write_packet(FILE *file, const struct orma_trace_slice *slices, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += slices[i].size;
	fputc(1 << 3 | 2, file);
	for (; size >= 0x80; size >>= 7)
		fputc((int)(size & 0x7f) | 0x80, file);
	fputc((int)size, file);
	for (size_t i = 0; i < count; i++)
		fwrite(slices[i].data, 1, slices[i].size, file);
}

static int write_trace(struct parent *parent, const char *path)
{
	FILE *file = fopen(path, "we");
	struct orma_trace_batch batch;
	size_t packets = 0;

	if (!file)
		return -1;
	do {
		size_t first = 0;

		if (orma_consumer_port_read(parent->consumer, (size_t)256 * 1024, &batch) < 0)
			break;
		for (size_t i = 0; i < batch.count; i++) {
			if (!batch.slices[i].ends_packet)
				continue;
			write_packet(file, &batch.slices[first], i + 1 - first);
			first = i + 1;
			packets++;
		}
	} while (batch.has_more);
	printf("%zu packets in %s, %zu bytes of commits\n", packets, path, parent->commit_bytes);
	return fclose(file);
}

/* --- the parent's loop ------------------------------------------------------------------------------ */

static int milliseconds_until(uint64_t deadline_ns)
{
	struct timespec now;
	uint64_t now_ns;

	if (deadline_ns == UINT64_MAX)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return deadline_ns <= now_ns ? 0 : (int)((deadline_ns - now_ns) / 1000000) + 1;
}

static void lose_child(struct parent *parent)
{
	orma_producer_port_close(parent->producer);
	parent->producer = NULL;
	close(parent->fd);
	parent->fd = -1; /* poll() ignores it */
	orma_consumer_port_disable(parent->consumer);
}

static void serve(struct parent *parent)
{
	while (!parent->is_disabled) {
		struct pollfd poll_fd = {.fd = parent->fd, .events = POLLIN};

		poll(&poll_fd, 1,
		     milliseconds_until(orma_service_next_deadline_ns(parent->service)));
		/* The child must not send descriptors. */
		if (poll_fd.revents &&
		    (!receive_frame(parent->fd, &parent->frame) || parent->frame.fd >= 0 ||
		     handle_frame(parent, &parent->frame) < 0))
			lose_child(parent);
		orma_service_run(parent->service);
	}
}

static int run_parent(int fd, pid_t child, const char *path, bool passes_fds)
{
	static struct parent parent;
	const struct orma_service_options options = {.struct_size = sizeof(options)};
	int r;

	parent.fd = fd;
	parent.child = child;
	parent.passes_fds = passes_fds;
	if (orma_service_new(&options, &parent.service) < 0)
		return 1;
	r = begin_session(&parent);
	if (r == 0) {
		serve(&parent);
		r = write_trace(&parent, path);
	}
	orma_service_free(parent.service); /* and all its ports */
	return r == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "own_transport.pftrace";
	int fds[2], status, result;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (child == 0) {
		close(fds[0]);
		_exit(run_child(fds[1]));
	}
	close(fds[1]);
	result = run_parent(fds[0], child, path, argc <= 2);
	if (waitpid(child, &status, 0) < 0 || status != 0)
		result = 1;
	return result;
}
