/* SPDX-License-Identifier: Apache-2.0
 * raw_client.c - one blocking socket with time limits, frames in and out.
 *
 * Received frames are copied into the arena, so a test may keep them as long as the client. A
 * reply that arrives while another one is awaited goes to a list, in order; no frame is
 * discarded. Rejected: the client half of src/ipc (it would correct what the test wants to get wrong),
 * a thread that reads (a test that does not read on purpose could not be written).
 */
#include "raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "harness.h"
#include "proto/writer.h"

#define TIME_LIMIT_SEC 20 /* a reply that takes longer is a hang */

static void connect_to(struct orma_raw_client *client, const struct sockaddr *address,
		       socklen_t size)
{
	struct timeval limit = {.tv_sec = TIME_LIMIT_SEC};

	*client = (struct orma_raw_client){.kept_fd = -1};
	orma_base_list_init(&client->set_aside);
	client->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(client->fd >= 0);
	CHECK_INT(setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	CHECK_INT(setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)), 0);
	CHECK_INT(connect(client->fd, address, size), 0);
}

void orma_raw_connect(struct orma_raw_client *client, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	CHECK(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	connect_to(client, (struct sockaddr *)&address, sizeof(address));
}

void orma_raw_connect_tcp(struct orma_raw_client *client, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (port == 0)
		orma_test_skip("TCP on 127.0.0.1");
	connect_to(client, (struct sockaddr *)&address, sizeof(address));
	CHECK_INT(setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
}

void orma_raw_close(struct orma_raw_client *client)
{
	struct orma_raw_frame *frame;

	if (client->fd < 0)
		return;
	ORMA_LIST_FOR_EACH (frame, &client->set_aside, link)
		orma_base_fd_close(frame->fd);
	orma_base_fd_close(client->fd);
	orma_base_fd_close(client->kept_fd);
	orma_ipc_assembler_done(&client->input);
	orma_base_arena_done(&client->arena);
	*client = (struct orma_raw_client){.fd = -1, .kept_fd = -1};
	orma_base_list_init(&client->set_aside);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void attach_fd(struct msghdr *message, void *control, int fd)
{
	struct cmsghdr *head;

	message->msg_control = control;
	message->msg_controllen = CMSG_SPACE(sizeof(fd));
	head = CMSG_FIRSTHDR(message);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
}

static bool send_all(struct orma_raw_client *client, const uint8_t *data, size_t size, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};

	while (size > 0) {
		struct iovec piece = {(void *)data, size};
		struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
		if (fd >= 0)
			attach_fd(&message, &control, fd);
		ssize_t sent = sendmsg(client->fd, &message, MSG_NOSIGNAL);
		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			return false;
		if (sent < 0)
			orma_test_fail(__FILE__, __LINE__, "sending: %s", strerror(errno));
		data += sent;
		size -= (size_t)sent;
		fd = -1;
	}
	return true;
}

bool orma_raw_send(struct orma_raw_client *client, const void *data, size_t size)
{
	return send_all(client, data, size, -1);
}

bool orma_raw_send_frame(struct orma_raw_client *client, const void *payload, size_t size, int fd)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf frame = {0};
	const uint8_t header[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
				   (uint8_t)(size >> 24)};

	CHECK_INT(orma_base_buf_append(&frame, header, sizeof(header)), 0);
	CHECK_INT(orma_base_buf_append(&frame, payload, size), 0);
	return send_all(client, frame.data, frame.size, fd);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* 0 at the end of the stream. */
static size_t receive_some(struct orma_raw_client *client)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	uint8_t *window;
	size_t size;

	CHECK_INT(orma_ipc_assembler_window(&client->input, &window, &size), 0);
	struct iovec piece = {window, size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(client->fd, &message, MSG_CMSG_CLOEXEC);
	if (got < 0 && errno == ECONNRESET)
		return 0;
	if (got < 0)
		orma_test_fail(__FILE__, __LINE__, "receiving: %s",
			       errno == EAGAIN ? "nothing came in time" : strerror(errno));
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS) {
		orma_base_fd_close(client->kept_fd);
		memcpy(&client->kept_fd, CMSG_DATA(head), sizeof(int));
	}
	orma_ipc_assembler_fill(&client->input, (size_t)got);
	return (size_t)got;
}

static void fill_frame(struct orma_raw_frame *frame, const struct orma_ipc_frame *decoded)
{
	frame->request_id = decoded->request_id;
	frame->kind = decoded->kind;
	if (decoded->kind == ORMA_IPC_FRAME_INVOKE_REPLY) {
		frame->success = decoded->u.invoke_reply.success;
		frame->has_more = decoded->u.invoke_reply.has_more;
		frame->body = decoded->u.invoke_reply.reply;
	} else if (decoded->kind == ORMA_IPC_FRAME_BIND_REPLY) {
		frame->success = decoded->u.bind_reply.success;
		frame->body = decoded->u.bind_reply.message;
	} else if (decoded->kind == ORMA_IPC_FRAME_ERROR) {
		frame->body = decoded->u.error.text;
	}
}

static bool receive_frame(struct orma_raw_client *client, struct orma_raw_frame **ret)
{
	struct orma_ipc_frame decoded;
	const uint8_t *data;
	size_t size;
	int result;

	while ((result = orma_ipc_assembler_next(&client->input, &data, &size)) == 0)
		if (receive_some(client) == 0)
			return false;
	CHECK_INT(result, 1);
	uint8_t *copy = orma_base_arena_memdup(&client->arena, data, size);
	struct orma_raw_frame *frame = orma_base_arena_alloc(&client->arena, sizeof(*frame));
	CHECK(copy && frame);
	CHECK_INT(orma_ipc_frame_decode(copy, size, &decoded), 0);
	orma_base_list_init(&frame->link);
	fill_frame(frame, &decoded);
	frame->fd = client->kept_fd;
	client->kept_fd = -1;
	*ret = frame;
	return true;
}

bool orma_raw_next(struct orma_raw_client *client, struct orma_raw_frame **ret)
{
	if (orma_base_list_is_empty(&client->set_aside))
		return receive_frame(client, ret);
	*ret = ORMA_LIST_ENTRY(client->set_aside.next, struct orma_raw_frame, link);
	orma_base_list_remove(&(*ret)->link);
	return true;
}

struct orma_raw_frame *orma_raw_await(struct orma_raw_client *client, uint64_t request_id)
{
	struct orma_raw_frame *frame;

	ORMA_LIST_FOR_EACH (frame, &client->set_aside, link) {
		if (frame->request_id == request_id) {
			orma_base_list_remove(&frame->link);
			return frame;
		}
	}
	for (;;) {
		if (!receive_frame(client, &frame))
			orma_test_fail(__FILE__, __LINE__,
				       "the connection ended before request %llu was answered",
				       (unsigned long long)request_id);
		if (frame->request_id == request_id)
			return frame;
		orma_base_list_append(&client->set_aside, &frame->link);
	}
}

void orma_raw_await_end(struct orma_raw_client *client)
{
	struct orma_raw_frame *frame;

	while (orma_raw_next(client, &frame))
		orma_base_fd_close(frame->fd);
}

/* --- services --------------------------------------------------------------------------------- */

/* IPCFrame: request_id, then one message. Numbers instead of names, so that changes of src/ipc
 * cannot change what an old client sends. */
static void begin_old_frame(struct orma_proto_heap_writer *heap, struct orma_buf *frame,
			    struct orma_proto_nested *message, uint64_t request_id, uint32_t kind)
{
	orma_proto_heap_writer_init(heap, frame);
	orma_proto_write_varint(&heap->writer, 2, request_id);
	orma_proto_nested_begin(&heap->writer, message, kind);
}

static bool end_old_frame(struct orma_raw_client *client, struct orma_proto_heap_writer *heap,
			  struct orma_buf *frame, struct orma_proto_nested *message, int fd)
{
	orma_proto_nested_end(&heap->writer, message);
	CHECK_INT(orma_proto_heap_writer_finish(heap), 0);
	return orma_raw_send_frame(client, frame->data, frame->size, fd);
}

static bool send_old_bind(struct orma_raw_client *client, uint64_t id, const char *service_name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf frame = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested message;

	begin_old_frame(&heap, &frame, &message, id, 3);
	orma_proto_write_string(&heap.writer, 1, service_name);
	return end_old_frame(client, &heap, &frame, &message, -1);
}

static bool send_old_invoke(struct orma_raw_client *client, uint64_t id, uint32_t service_id,
			    uint32_t method_id, struct orma_str args, int fd, bool drops_reply)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf frame = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested message;

	begin_old_frame(&heap, &frame, &message, id, 5);
	orma_proto_write_varint(&heap.writer, 1, service_id);
	orma_proto_write_varint(&heap.writer, 2, method_id);
	orma_proto_write_str(&heap.writer, 3, args);
	orma_proto_write_bool(&heap.writer, 4, drops_reply);
	return end_old_frame(client, &heap, &frame, &message, fd);
}

static bool send_bind(struct orma_raw_client *client, uint64_t id, const char *service_name)
{
	struct orma_ipc_envelope envelope;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};

	CHECK_INT(orma_ipc_envelope_bind(&envelope, id, strlen(service_name)), 0);
	CHECK_INT(orma_base_buf_append(&bytes, envelope.prefix, envelope.prefix_size), 0);
	CHECK_INT(orma_base_buf_append_str(&bytes, service_name), 0);
	CHECK_INT(orma_base_buf_append(&bytes, envelope.suffix, envelope.suffix_size), 0);
	return orma_raw_send(client, bytes.data, bytes.size);
}

void orma_raw_bind(struct orma_raw_client *client, const char *service_name)
{
	struct orma_proto_reader reader;
	struct orma_proto_field service_id;
	uint64_t id = ++client->last_request_id;

	CHECK(client->has_old_frames ? send_old_bind(client, id, service_name)
				     : send_bind(client, id, service_name));
	struct orma_raw_frame *frame = orma_raw_await(client, id);
	CHECK_INT(frame->kind, ORMA_IPC_FRAME_BIND_REPLY);
	CHECK(frame->success);
	CHECK_INT(orma_proto_reader_find(frame->body.data, frame->body.size, 2, &service_id), 1);
	client->service_id = (uint32_t)service_id.value;
	client->method_count = 0;
	orma_proto_reader_init(&reader, frame->body.data, frame->body.size);
	while (client->method_count < ORMA_RAW_METHODS_MAX &&
	       orma_ipc_bind_reply_next(&reader, &client->methods[client->method_count]) > 0)
		client->method_count++;
}

uint32_t orma_raw_method_id(const struct orma_raw_client *client, const char *method)
{
	for (size_t i = 0; i < client->method_count; i++)
		if (orma_base_str_is(client->methods[i].name, method))
			return client->methods[i].id;
	orma_test_fail(__FILE__, __LINE__, "the service has no method %s", method);
}

uint64_t orma_raw_invoke_id(struct orma_raw_client *client, uint32_t service_id, uint32_t method_id,
			    struct orma_str args, int fd, unsigned flags)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	struct orma_ipc_envelope envelope;
	uint64_t id = ++client->last_request_id;

	if (client->has_old_frames)
		return send_old_invoke(client, id, service_id, method_id, args, fd,
				       flags & ORMA_RAW_DROP_REPLY)
			       ? id
			       : 0;
	CHECK_INT(orma_ipc_envelope_invoke(&envelope, id, service_id, method_id,
					   flags & ORMA_RAW_DROP_REPLY, args.size),
		  0);
	CHECK_INT(orma_base_buf_append(&bytes, envelope.prefix, envelope.prefix_size), 0);
	CHECK_INT(orma_base_buf_append(&bytes, args.data, args.size), 0);
	CHECK_INT(orma_base_buf_append(&bytes, envelope.suffix, envelope.suffix_size), 0);
	return send_all(client, bytes.data, bytes.size, fd) ? id : 0;
}

uint64_t orma_raw_invoke(struct orma_raw_client *client, const char *method, struct orma_str args,
			 int fd, unsigned flags)
{
	return orma_raw_invoke_id(client, client->service_id, orma_raw_method_id(client, method),
				  args, fd, flags);
}

struct orma_raw_frame *orma_raw_call(struct orma_raw_client *client, const char *method,
				     struct orma_str args)
{
	struct orma_raw_frame *frame =
		orma_raw_await(client, orma_raw_invoke(client, method, args, -1, 0));
	CHECK_INT(frame->kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	return frame;
}

struct orma_str orma_raw_text(struct orma_raw_client *client, const struct orma_proto_desc *desc,
			      const char *format, ...)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0}, bytes = {0};
	struct orma_error error = {0};
	void *message;
	va_list args;

	va_start(args, format);
	CHECK_INT(orma_base_buf_vprintf(&text, format, args), 0);
	va_end(args);
	if (orma_proto_text_parse(desc, "test", (const char *)text.data, text.size, 0,
				  &client->arena, &message, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(message, &bytes), 0);
	char *copy = orma_base_arena_memdup(&client->arena, bytes.data, bytes.size);
	CHECK(copy || bytes.size == 0);
	return (struct orma_str){copy ? copy : "", bytes.size};
}

void orma_raw_decode(struct orma_raw_client *client, const struct orma_proto_desc *desc,
		     const struct orma_raw_frame *frame, void *ret_message)
{
	CHECK_INT(frame->kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK(frame->success);
	CHECK_INT(orma_proto_decode(desc, frame->body.data, frame->body.size, &client->arena,
				    ret_message),
		  0);
}
