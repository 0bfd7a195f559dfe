/* SPDX-License-Identifier: Apache-2.0
 * table_child.c - reads ELF files and builds their tables for table_builder.c, in its child.
 *
 * The child is a copy of its parent with one thread. It shares nothing with its parent but a socket. It
 * has given up its rights before it reads the first file (table_sandbox.c). One file is open at a time.
 * The child ends when the parent closes its end of the socket, so it does not outlive its parent.
 */
#include "unwind/table_child.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "unwind/table_sandbox.h"
#include "unwind/unwind_table.h"

/* Receives a byte with a descriptor. The descriptor, or -errno; -EPIPE at the end. */
static int receive_file(int socket)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t r;

	do
		r = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	struct cmsghdr *header = r > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return r < 0 ? -errno : -EPIPE;
	int fd;
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static int send_table(int socket, const struct orma_elf_file *elf)
{
	struct orma_unwind_table *table = NULL;
	struct orma_table_reply reply = {.error = orma_unwind_table_new(elf, &table)};
	size_t size = 0;
	const void *bytes = table ? orma_unwind_table_bytes(table, &size) : NULL;

	reply.size = size;
	int r = orma_base_fd_write_all(socket, &reply, sizeof(reply));
	if (r == 0 && size > 0)
		r = orma_base_fd_write_all(socket, bytes, size);
	orma_unwind_table_free(table);
	return r;
}

static int receive(int socket, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t r = read(socket, (char *)data + done, size - done);
		if (r == 0 || (r < 0 && errno != EINTR))
			return -EPIPE;
		done += r > 0 ? (size_t)r : 0;
	}
	return 0;
}

static int send_answer(int socket, const struct orma_elf_file *elf, orma_table_answer_fn *answer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_table_question question;
	int r = receive(socket, &question, sizeof(question));

	if (r < 0)
		return r;
	ORMA_AUTO(orma_base_freep) void *bytes = orma_base_alloc((size_t)question.size + 1);
	if (!bytes)
		return -ENOMEM;
	r = receive(socket, bytes, (size_t)question.size);
	if (r < 0)
		return r;
	struct orma_table_reply reply = {
		.error = answer ? answer(elf, bytes, (size_t)question.size, &text) : -ENOTSUP};
	reply.size = reply.error == 0 ? text.size : 0;
	r = orma_base_fd_write_all(socket, &reply, sizeof(reply));
	return r == 0 && reply.size > 0 ? orma_base_fd_write_all(socket, text.data, text.size) : r;
}

static int serve_file(int socket, int fd, orma_table_answer_fn *answer)
{
	struct orma_table_headers headers = {0};
	char request;

	headers.error = orma_elf_file_init(&headers.elf, fd);
	struct orma_elf_file elf = headers.elf;
	headers.elf.fd = -1;
	int r = orma_base_fd_write_all(socket, &headers, sizeof(headers));
	if (r < 0 || headers.error < 0)
		return r;
	r = receive(socket, &request, sizeof(request));
	if (r < 0)
		return r;
	if (request == ORMA_TABLE_ASK)
		return send_answer(socket, &elf, answer);
	return request == ORMA_TABLE_BUILD ? send_table(socket, &elf) : 0;
}

void orma_table_child_serve(int socket, orma_table_answer_fn *answer)
{
	int r = 0;

	while (r == 0) {
		ORMA_AUTO(orma_base_fd_closep) int fd = receive_file(socket);
		r = fd < 0 ? fd : serve_file(socket, fd, answer);
	}
}

_Noreturn void orma_table_child_run_with(int socket, orma_table_answer_fn *answer)
{
	struct orma_table_hello hello = {0};
	int fd = orma_table_sandbox_enter(socket, &hello.filter_error);

	hello.error = fd < 0 ? fd : 0;
	if (orma_base_fd_write_all(fd < 0 ? socket : fd, &hello, sizeof(hello)) == 0 && fd >= 0)
		orma_table_child_serve(fd, answer);
	/* exit() would run what the parent has registered with atexit(). */
	_exit(0); /* calls: allow _exit, because this is the child */
}

_Noreturn void orma_table_child_run(int socket)
{
	orma_table_child_run_with(socket, NULL);
}
