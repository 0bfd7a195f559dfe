/* SPDX-License-Identifier: Apache-2.0
 * http_client.c - each function takes turns of the loop until it has what it waits for. The harness ends a test that waits
 * for ever.
 */
#include "http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { TURN_MS = 2 };

int http_listen(uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(fd >= 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(fd, 64), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

int http_connect(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
	      errno == EINPROGRESS);
	return fd;
}

void http_send(struct orma_loop *loop, int fd, const void *data, size_t size)
{
	const char *at = data;
	while (size > 0) {
		ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN)
			return; /* the server has closed it */
		at += sent > 0 ? sent : 0;
		size -= sent > 0 ? (size_t)sent : 0;
		CHECK(orma_base_loop_turn(loop, sent > 0 ? 0 : TURN_MS) >= 0);
	}
}

void http_send_text(struct orma_loop *loop, int fd, const char *text)
{
	http_send(loop, fd, text, strlen(text));
}

/* Reads at most `size` bytes. Returns false at the end. */
static bool read_some(struct orma_loop *loop, int fd, size_t size, struct orma_buf *to)
{
	for (;;) {
		CHECK_INT(orma_base_buf_reserve(to, size), 0);
		ssize_t got = recv(fd, to->data + to->size, size, 0);
		if (got >= 0 || errno != EAGAIN) {
			to->size += got > 0 ? (size_t)got : 0;
			return got > 0;
		}
		CHECK(orma_base_loop_turn(loop, TURN_MS) >= 0);
	}
}

int http_receive(struct orma_loop *loop, int fd, struct orma_buf *head, struct orma_buf *body)
{
	head->size = body->size = 0;
	do
		if (!read_some(loop, fd, 1, head))
			return 0;
	while (!strstr(orma_base_buf_cstr(head), "\r\n\r\n"));
	const char *text = orma_base_buf_cstr(head);
	const char *length = strstr(text, "Content-Length: ");
	int status = 0;
	CHECK(sscanf(text, "HTTP/1.1 %d ", &status) == 1 && length);
	size_t size = strtoul(length + 16, NULL, 10);
	while (body->size < size)
		if (!read_some(loop, fd, size - body->size, body))
			return 0;
	orma_base_buf_cstr(body);
	return status;
}

void http_wait_for_end(struct orma_loop *loop, int fd)
{
	struct orma_buf rest = {0};
	while (read_some(loop, fd, 4096, &rest))
		;
	orma_base_buf_done(&rest);
}
