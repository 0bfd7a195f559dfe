/* SPDX-License-Identifier: Apache-2.0
 * command.c - one command of a service, on its way from a callback or a thread to the loop.
 *
 * A transport may bring commands on any thread, and the service of this process must not be called from
 * its own callbacks: so commands are copied, queued and run later. Rejected: closures
 * per command (eight structs for what fits into one).
 */
#include "client/command.h"

#include "base/alloc.h"
#include "base/fd.h"

struct orma_client_command *orma_client_command_new(enum orma_client_command_kind kind, uint64_t id,
						    const void *data, size_t size)
{
	struct orma_client_command *command = NULL;

	if (size <= SIZE_MAX - sizeof(*command))
		command = orma_base_alloc(sizeof(*command) + size);
	if (!command)
		return NULL;
	*command = (struct orma_client_command){.kind = kind, .id = id, .fd = -1, .size = size};
	if (size > 0)
		memcpy(command->data, data, size);
	return command;
}

void orma_client_command_free(struct orma_client_command *command)
{
	orma_base_fd_close(command->fd);
	orma_base_free(command);
}

int orma_client_command_run(const struct orma_client_command *command,
			    struct orma_client_endpoint *endpoint)
{
	const struct orma_client_endpoint_events *events = endpoint->events;
	struct orma_client_link *link = endpoint->link;
	const struct orma_client_shared shared = {
		.fd = command->fd,
		.page_bytes = command->page_bytes,
		.can_hold_chunks = true,
		.wants_incomplete = command->wants_incomplete,
	};
	size_t count = command->size / sizeof(uint64_t);

	switch (command->kind) {
	case ORMA_CLIENT_COMMAND_UP:
		events->up(link, false);
		break;
	case ORMA_CLIENT_COMMAND_SETUP_TRACING:
		return events->setup_tracing(link, &shared);
	case ORMA_CLIENT_COMMAND_SETUP_SOURCE:
		events->setup_source(link, command->id, command->data, command->size);
		break;
	case ORMA_CLIENT_COMMAND_START_SOURCE:
		events->start_source(link, command->id, command->data, command->size);
		break;
	case ORMA_CLIENT_COMMAND_STOP_SOURCE:
		events->stop_source(link, command->id);
		break;
	case ORMA_CLIENT_COMMAND_FLUSH:
		events->flush(link, command->id, command->data, count, command->flags);
		break;
	case ORMA_CLIENT_COMMAND_CLEAR:
		events->clear_incremental_state(link, command->data, count);
		break;
	case ORMA_CLIENT_COMMAND_SYNCED:
		events->synced(link);
		break;
	}
	return 0;
}
