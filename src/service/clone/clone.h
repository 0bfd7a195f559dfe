/* SPDX-License-Identifier: Apache-2.0
 * clone.h - a clone under construction; see clone.c.
 *
 * Invariants: the consumer's port owns it, and port->clone is it; it is in service->clones;
 * `source` is set exactly while groups of its buffers are still to be flushed.
 */
#ifndef ORMA_SERVICE_CLONE_H
#define ORMA_SERVICE_CLONE_H

#include <orma/service.h>

#include "base/list.h"
#include "service/flush.h"
#include "service/timer.h"

struct orma_service_session;

struct orma_service_clone_buffer {
	struct orma_trace_buffer *buffer;    /* whole */
	struct orma_trace_buffer_copy *copy; /* being made */
	uint64_t boot_ns;
	uint32_t size_kb;
};

struct orma_service_clone {
	struct orma_list link;
	struct orma_service *service;
	struct orma_consumer_port *port;
	struct orma_service_session *source; /* until both groups are flushed */
	struct orma_service_session *session;
	bool is_known; /* the consumer may read the session: it is port->session */
	orma_clone_done_fn *done;
	void *done_ctx;
	struct orma_service_timer step_timer;
	unsigned steps_in_row; /* since the last pause */
	unsigned groups_pending;
	bool has_flush_failed;
	uint64_t started_ns;
	bool has_file;
	int file_fd; /* until the file is opened; -1 = none */
	struct orma_service_clone_buffer *buffers;
	size_t buffer_count, buffer_idx; /* all before it are whole */
	char error[256];                 /* "" = none */
};

/* One group of a source's buffers was flushed, or will not be. */
void orma_service_clone_flushed(struct orma_service_clone *clone,
				enum orma_service_flush_group group, bool is_complete);
/* Returns true when the file belongs to a clone that is not in the list of sessions yet. */
bool orma_service_clone_file_event(struct orma_service *service, uint64_t session_id, int status);
/* The file of a clone is closed. May free the session. */
void orma_service_clone_written(struct orma_service_session *session);
/* Call before a session is freed; it may be a clone whose file is being written. */
void orma_service_clone_freed(struct orma_service_session *session);
/* The consumer leaves: the clone is freed, and no end is reported. `clone` may be NULL. */
void orma_service_clone_cancel(struct orma_service_clone *clone);

/* Finds the session that the request means, and checks that it may be cloned; see clone_source.c. */
int orma_service_clone_find_source(const struct orma_consumer_port *port,
				   const struct orma_clone_request *request,
				   struct orma_service_session **ret, struct orma_error *reterr);
/* Copies what clones have in common with their source except the buffers; see clone_state.c.
 * Trigger hits are moved. */
int orma_service_clone_copy_state(struct orma_service_session *source,
				  struct orma_service_session *session);

/* --- clone_buffers.c -------------------------------------------------------------------------- */

/* Empties the source's buffers that are to be cleared before it is cloned. 0 or -ENOMEM. */
int orma_service_clone_clear_source(struct orma_service_session *source);
/* Fixes the buffers of a group that was flushed: transfers each, or begins its copy. 0 or -ENOMEM. */
int orma_service_clone_take_buffers(struct orma_service_clone *clone,
				    enum orma_service_flush_group group);
/* Copies some bytes. 1 = there is more to copy, 0 = all flushed buffers are whole, or -ENOMEM. */
int orma_service_clone_copy_step(struct orma_service_clone *clone);
/* Hands the whole buffers to the clone's session. 0 or -errno. */
int orma_service_clone_give_buffers(struct orma_service_clone *clone);
/* Frees those that were not given. */
void orma_service_clone_retire_buffers(struct orma_service_clone *clone);

#endif
