/* SPDX-License-Identifier: Apache-2.0
 * command.h - what a service tells a producer, kept until the loop gets to it.
 */
#ifndef ORMA_CLIENT_COMMAND_H
#define ORMA_CLIENT_COMMAND_H

#include "base/list.h"
#include "client/endpoint.h"

enum orma_client_command_kind {
	ORMA_CLIENT_COMMAND_UP,
	ORMA_CLIENT_COMMAND_SETUP_TRACING,
	ORMA_CLIENT_COMMAND_SETUP_SOURCE,
	ORMA_CLIENT_COMMAND_START_SOURCE,
	ORMA_CLIENT_COMMAND_STOP_SOURCE,
	ORMA_CLIENT_COMMAND_FLUSH,
	ORMA_CLIENT_COMMAND_CLEAR,
	ORMA_CLIENT_COMMAND_SYNCED,
};

struct orma_client_command {
	struct orma_list item;
	enum orma_client_command_kind kind;
	uint64_t id; /* of the instance or the flush */
	uint64_t flags;
	int fd; /* setup_tracing; owned, or -1 */
	uint32_t page_bytes;
	bool wants_incomplete;
	size_t size; /* of `data`: a config, or instance ids */
	uint64_t data[];
};

/* Copies the data. NULL: no memory. */
struct orma_client_command *orma_client_command_new(enum orma_client_command_kind kind, uint64_t id,
						    const void *data, size_t size);
void orma_client_command_free(struct orma_client_command *command);
/* Runs the event. Negative: the connection is to end. */
int orma_client_command_run(const struct orma_client_command *command,
			    struct orma_client_endpoint *endpoint);

#endif
