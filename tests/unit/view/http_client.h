/* SPDX-License-Identifier: Apache-2.0
 * http_client.h - raw sockets for the tests of the server, which runs on a loop of the same thread.
 */
#ifndef ORMA_TESTS_HTTP_CLIENT_H
#define ORMA_TESTS_HTTP_CLIENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"

/* Returns a listening, non-blocking socket on 127.0.0.1, and its port. */
int http_listen(uint16_t *ret_port);
/* Returns a non-blocking socket that is connected to the port. */
int http_connect(uint16_t port);
/* Sends the text, and runs the loop meanwhile. */
void http_send(struct orma_loop *loop, int fd, const void *data, size_t size);
void http_send_text(struct orma_loop *loop, int fd, const char *text);
/* Reads one answer. Returns its status, and 0 when the connection ends before. The body is a string. */
int http_receive(struct orma_loop *loop, int fd, struct orma_buf *head, struct orma_buf *body);
/* Waits until the server has closed the connection. */
void http_wait_for_end(struct orma_loop *loop, int fd);

#endif
