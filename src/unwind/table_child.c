/* SPDX-License-Identifier: Apache-2.0
 * table_child.c - reads ELF files and builds their tables for table_builder.c, in its child.
 *
 * The child is a copy of its parent with one thread. It shares nothing with it but a socket, and
 * has no rights by the time it reads the first file (table_sandbox.c). One file is open at a time.
 * The end of the socket ends the child, so it does not outlive its parent.
 */
#include "unwind/table_child.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "unwind/table_sandbox.h"
#include "unwind/unwind_table.h"

/* A byte and a descriptor, or -errno; -EPIPE at the end. */
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

static int serve_file(int socket, int fd)
{
	struct orma_table_headers headers = {0};
	char answer;

	headers.error = orma_elf_file_init(&headers.elf, fd);
	struct orma_elf_file elf = headers.elf;
	headers.elf.fd = -1;
	int r = orma_base_fd_write_all(socket, &headers, sizeof(headers));
	if (r < 0 || headers.error < 0)
		return r;
	ssize_t count;
	do
		count = read(socket, &answer, sizeof(answer));
	while (count < 0 && errno == EINTR);
	if (count <= 0)
		return -EPIPE;
	return answer == ORMA_TABLE_BUILD ? send_table(socket, &elf) : 0;
}

void orma_table_child_serve(int socket)
{
	int r = 0;

	while (r == 0) {
		ORMA_AUTO(orma_base_fd_closep) int fd = receive_file(socket);
		r = fd < 0 ? fd : serve_file(socket, fd);
	}
}

_Noreturn void orma_table_child_run(int socket)
{
	struct orma_table_hello hello = {0};
	int fd = orma_table_sandbox_enter(socket, &hello.filter_error);

	hello.error = fd < 0 ? fd : 0;
	if (orma_base_fd_write_all(fd < 0 ? socket : fd, &hello, sizeof(hello)) == 0 && fd >= 0)
		orma_table_child_serve(fd);
	/* Nothing that the parent has registered for its own end must run here. */
	_exit(0); /* calls: allow _exit, because this is the child */
}
