/* SPDX-License-Identifier: Apache-2.0
 * raw_client.h - a client without the client library: frames over a Unix socket, so that a test
 * can send what no honest client would.
 *
 * An error on this side (no connection, no reply within the time limit) fails the test. Received
 * data lives in the client's arena until orma_raw_close().
 */
#ifndef ORMA_TESTS_INTEGRATION_RAW_CLIENT_H
#define ORMA_TESTS_INTEGRATION_RAW_CLIENT_H

#include "base/arena.h"
#include "base/list.h"
#include "ipc/frame.h"
#include "proto/codec.h"

#define ORMA_RAW_METHODS_MAX 32

/* One received frame. */
struct orma_raw_frame {
	struct orma_list link; /* while it is set aside */
	uint64_t request_id;
	enum orma_ipc_frame_kind kind;
	bool success, has_more;
	struct orma_str body; /* the reply, or the text of a RequestError */
	int fd;               /* received with it; the test closes it; -1 = none */
};

struct orma_raw_client {
	int fd;
	struct orma_arena arena;
	struct orma_ipc_assembler input;
	int kept_fd; /* received before its frame is complete */
	struct orma_list set_aside;
	uint64_t last_request_id;
	uint32_t service_id;
	struct orma_ipc_method_info methods[ORMA_RAW_METHODS_MAX];
	size_t method_count;
	/* Frames as upstream's encoder of 2020 makes them: every field is there, also false ones,
	 * and lengths of messages take four bytes. Set it before the bind. */
	bool has_old_frames;
};

void orma_raw_connect(struct orma_raw_client *client, const char *path);
/* Connects over TCP to 127.0.0.1, without descriptors and credentials. */
void orma_raw_connect_tcp(struct orma_raw_client *client, uint16_t port);
/* Harmless on {0} with fd -1 and on a closed client. */
void orma_raw_close(struct orma_raw_client *client);

/* Sends bytes unchanged; false when the other side has ended the connection. */
bool orma_raw_send(struct orma_raw_client *client, const void *data, size_t size);
/* Sends the header, then the payload; `fd` (or -1) is passed with the first byte. */
bool orma_raw_send_frame(struct orma_raw_client *client, const void *payload, size_t size, int fd);
/* Returns the next frame, beginning with those that were set aside; false at the end of the
 * stream. */
bool orma_raw_next(struct orma_raw_client *client, struct orma_raw_frame **ret);
/* Returns the next frame that answers `request_id`, and sets others aside for orma_raw_next(). */
struct orma_raw_frame *orma_raw_await(struct orma_raw_client *client, uint64_t request_id);
/* Reads until the other side ends the connection. */
void orma_raw_await_end(struct orma_raw_client *client);

/* Binds the service and learns its methods. */
void orma_raw_bind(struct orma_raw_client *client, const char *service_name);
uint32_t orma_raw_method_id(const struct orma_raw_client *client, const char *method);
enum { ORMA_RAW_DROP_REPLY = 1 };
/* Sends a call; returns its request id, 0 when the connection is at its end. */
uint64_t orma_raw_invoke(struct orma_raw_client *client, const char *method, struct orma_str args,
			 int fd, unsigned flags);
uint64_t orma_raw_invoke_id(struct orma_raw_client *client, uint32_t service_id, uint32_t method_id,
			    struct orma_str args, int fd, unsigned flags);
/* Sends a call and returns its reply. */
struct orma_raw_frame *orma_raw_call(struct orma_raw_client *client, const char *method,
				     struct orma_str args);
/* Encodes a message from its text format, into the arena. */
struct orma_str orma_raw_text(struct orma_raw_client *client, const struct orma_proto_desc *desc,
			      const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Decodes a reply's body; it must decode. `ret_message` as in orma_proto_decode(). */
void orma_raw_decode(struct orma_raw_client *client, const struct orma_proto_desc *desc,
		     const struct orma_raw_frame *frame, void *ret_message);

#endif
