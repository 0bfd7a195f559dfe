/* SPDX-License-Identifier: Apache-2.0
 * command.h - a command of a service to a producer, queued until the loop runs it.
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
	uint64_t id; /* the id of an instance or a flush */
	uint64_t flags;
	int fd; /* setup_tracing; owned, or -1 */
	uint32_t page_bytes;
	bool wants_incomplete;
	size_t size; /* bytes in `data`: a config, or instance ids */
	uint64_t data[];
};

/* Copies the data. Returns NULL without memory. */
struct orma_client_command *orma_client_command_new(enum orma_client_command_kind kind, uint64_t id,
						    const void *data, size_t size);
void orma_client_command_free(struct orma_client_command *command);
/* Runs the event. A negative result ends the connection. */
int orma_client_command_run(const struct orma_client_command *command,
			    struct orma_client_endpoint *endpoint);

#endif
