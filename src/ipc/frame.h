/* SPDX-License-Identifier: Apache-2.0
 * frame.h - the frames of the wire protocol, without sockets: finding them in a byte stream,
 * decoding, encoding.
 *
 *   +-----------+----------------------------+
 *   | size (LE) | IPCFrame, `size` bytes      |   at most ORMA_IPC_FRAME_BYTES_MAX with its header;
 *   +-----------+----------------------------+   size 0 is skipped
 *      4 bytes
 */
#ifndef ORMA_IPC_FRAME_H
#define ORMA_IPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "proto/reader.h"

#define ORMA_IPC_HEADER_BYTES    4
#define ORMA_IPC_FRAME_BYTES_MAX ((size_t)128 * 1024)
/* Arguments and replies of up to this size always fit in a frame. */
#define ORMA_IPC_BODY_BYTES_MAX (ORMA_IPC_FRAME_BYTES_MAX - 128)

/* Each value is the field id of the message inside an IPCFrame. */
enum orma_ipc_frame_kind {
	ORMA_IPC_FRAME_OTHER = 0, /* no message, or one that is not listed here */
	ORMA_IPC_FRAME_BIND = 3,
	ORMA_IPC_FRAME_BIND_REPLY = 4,
	ORMA_IPC_FRAME_INVOKE = 5,
	ORMA_IPC_FRAME_INVOKE_REPLY = 6,
	ORMA_IPC_FRAME_ERROR = 7,
	ORMA_IPC_FRAME_IDENTITY = 8,
};

/* A decoded frame; strings point into the bytes that it was decoded from. */
struct orma_ipc_frame {
	uint64_t request_id;
	enum orma_ipc_frame_kind kind;
	union {
		struct {
			struct orma_str service_name;
		} bind;
		struct {
			bool success;
			uint32_t service_id;
			struct orma_str message; /* for orma_ipc_bind_reply_next() */
		} bind_reply;
		struct {
			uint32_t service_id, method_id;
			struct orma_str args;
			bool drop_reply;
		} invoke;
		struct {
			bool success, has_more;
			struct orma_str reply;
		} invoke_reply;
		struct {
			struct orma_str text;
		} error;
		struct {
			int32_t pid, uid;
			bool has_uid;
			struct orma_str machine_id_hint, machine_name;
		} identity;
	} u;
};

/*
 * Decodes the bytes after the header. The last message of the frame counts; unknown fields are
 * skipped. 0 or -EBADMSG (*ret_frame is then undefined).
 */
int orma_ipc_frame_decode(const void *data_untrusted, size_t size,
			  struct orma_ipc_frame *ret_frame);

struct orma_ipc_method_info {
	uint32_t id;
	struct orma_str name;
};

/* Returns the next method of a bind reply: 1, 0 at the end, or -EBADMSG. Initialise the reader with
 * orma_proto_reader_init(reader, message.data, message.size). */
int orma_ipc_bind_reply_next(struct orma_proto_reader *reader,
			     struct orma_ipc_method_info *ret_info);

/* --- encoding --------------------------------------------------------------------------------- */

#define ORMA_IPC_PREFIX_BYTES_MAX 48
#define ORMA_IPC_SUFFIX_BYTES_MAX 2

/* The parts of a frame around a body (arguments or a reply), which stays where it is: prefix, body,
 * suffix. */
struct orma_ipc_envelope {
	uint8_t prefix[ORMA_IPC_PREFIX_BYTES_MAX];
	uint8_t suffix[ORMA_IPC_SUFFIX_BYTES_MAX];
	size_t prefix_size, suffix_size;
};

/* 0, or -EMSGSIZE when the frame would be too large with this body. */
int orma_ipc_envelope_invoke(struct orma_ipc_envelope *envelope, uint64_t request_id,
			     uint32_t service_id, uint32_t method_id, bool drop_reply,
			     size_t args_size);
int orma_ipc_envelope_invoke_reply(struct orma_ipc_envelope *envelope, uint64_t request_id,
				   bool success, bool has_more, size_t reply_size);
/* The body is the text. */
int orma_ipc_envelope_bind(struct orma_ipc_envelope *envelope, uint64_t request_id,
			   size_t service_name_size);
int orma_ipc_envelope_error(struct orma_ipc_envelope *envelope, uint64_t request_id,
			    size_t text_size);
/* The body has the fields of the BindServiceReply. */
int orma_ipc_envelope_bind_reply(struct orma_ipc_envelope *envelope, uint64_t request_id,
				 size_t fields_size);

/*
 * Appends these fields: success, the id, and `count` methods with ids from 1. The pointer to the
 * first name is at `names`, the following ones `stride` bytes apart. 0 or -ENOMEM (buf is
 * unchanged).
 */
int orma_ipc_bind_reply_encode(struct orma_buf *buf, uint32_t service_id, const char *const *names,
			       size_t stride, size_t count);

/* --- frames out of a stream ------------------------------------------------------------------- */

/*
 * {0} is empty. After orma_ipc_assembler_trim() it holds memory only while a frame is partly
 * received. Invariant: begin <= end <= capacity; the bytes [begin, end) were received and not
 * consumed.
 */
struct orma_ipc_assembler {
	uint8_t *data;
	size_t capacity, begin, end;
};

void orma_ipc_assembler_done(struct orma_ipc_assembler *assembler);
/* Returns room to receive into, at least the rest of the current frame. 0 or -ENOMEM. */
int orma_ipc_assembler_window(struct orma_ipc_assembler *assembler, uint8_t **ret_data,
			      size_t *ret_size);
/* Says that `size` bytes of the window were filled. */
void orma_ipc_assembler_fill(struct orma_ipc_assembler *assembler, size_t size);
/*
 * Returns the next whole frame without its header, valid until the next window or trim. 1, 0 when
 * more bytes are needed, or -EMSGSIZE when the stream announces a frame that is too large; the
 * stream is broken from there on.
 */
int orma_ipc_assembler_next(struct orma_ipc_assembler *assembler, const uint8_t **ret_data,
			    size_t *ret_size);
/* Puts back the frame of `size` bytes that was returned last. No window or trim may have happened
 * since. */
void orma_ipc_assembler_unget(struct orma_ipc_assembler *assembler, size_t size);
/* Frees the memory when no bytes are held. */
void orma_ipc_assembler_trim(struct orma_ipc_assembler *assembler);

#endif
