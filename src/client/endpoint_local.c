/* SPDX-License-Identifier: Apache-2.0
 * endpoint_local.c - the service of this process, on the same loop and thread.
 *
 * The service's callbacks must not call back into it, and data source callbacks do (they commit):
 * so each becomes a command in a queue that a task of the loop carries out. Memory is mapped a
 * second time from its descriptor, because writers may outlive the service's own mapping. Consumers
 * of this process are served over socket pairs by the same host that serves a daemon's.
 *
 * Rejected: the producer over a socket pair as well (twice the copies and wake-ups of every
 * commit).
 */
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "client/command.h"
#include "client/limits.h"
#include "host/host.h"

struct orma_client_local {
	struct orma_loop *loop;
	struct orma_service *service;
	struct orma_host *host;
};

struct local_endpoint {
	struct orma_client_endpoint base;
	struct orma_client_local *local;
	struct orma_producer_port *port;
	struct orma_list commands;
	size_t command_count;
	struct orma_task task;
	bool is_up;
	int error; /* a command was lost: the connection ends */
};

static struct local_endpoint *from_base(struct orma_client_endpoint *endpoint)
{
	return ORMA_CONTAINER_OF(endpoint, struct local_endpoint, base);
}

/* --- commands of the service ------------------------------------------------------------------ */

static void on_task(struct orma_task *task)
{
	struct local_endpoint *self = ORMA_CONTAINER_OF(task, struct local_endpoint, task);

	if (!self->is_up) {
		self->is_up = true;
		self->base.events->up(self->base.ctx, false);
	}
	while (self->error == 0 && !orma_base_list_is_empty(&self->commands)) {
		struct orma_client_command *command =
			ORMA_LIST_ENTRY(self->commands.next, struct orma_client_command, item);
		int r;

		orma_base_list_remove(&command->item);
		self->command_count--;
		r = orma_client_command_run(command, &self->base);
		self->error = r < 0 ? r : self->error;
		orma_client_command_free(command);
	}
	if (self->error < 0)
		self->base.events->down(self->base.ctx, self->error);
}

static struct orma_client_command *add(struct local_endpoint *self,
				       enum orma_client_command_kind kind, uint64_t id,
				       const void *data, size_t size)
{
	struct orma_client_command *command = NULL;

	if (self->command_count < ORMA_CLIENT_COMMANDS_MAX)
		command = orma_client_command_new(kind, id, data, size);
	if (!command) {
		self->error = -ENOMEM;
	} else {
		orma_base_list_append(&self->commands, &command->item);
		self->command_count++;
	}
	orma_base_loop_defer(self->local->loop, &self->task, on_task);
	return command;
}

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	struct local_endpoint *self = ctx;
	struct orma_client_command *command =
		add(self, ORMA_CLIENT_COMMAND_SETUP_TRACING, 0, NULL, 0);

	/* The service's own. */
	orma_base_fd_set_close_on_fork(memory->fd);
	if (!command)
		return;
	command->page_bytes = memory->page_size_bytes;
	int fd = orma_base_fd_duplicate(memory->fd);
	if (fd < 0)
		self->error = fd;
	else
		command->fd = fd;
}

static void on_setup_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	add(ctx, ORMA_CLIENT_COMMAND_SETUP_SOURCE, instance_id, config, size);
}

static void on_start_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	add(ctx, ORMA_CLIENT_COMMAND_START_SOURCE, instance_id, config, size);
}

static void on_stop_source(void *ctx, uint64_t instance_id)
{
	add(ctx, ORMA_CLIENT_COMMAND_STOP_SOURCE, instance_id, NULL, 0);
}

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		     uint64_t flags)
{
	struct orma_client_command *command = add(ctx, ORMA_CLIENT_COMMAND_FLUSH, request_id,
						  instance_ids, count * sizeof(*instance_ids));

	if (command)
		command->flags = flags;
}

static void on_clear(void *ctx, const uint64_t *instance_ids, size_t count)
{
	add(ctx, ORMA_CLIENT_COMMAND_CLEAR, 0, instance_ids, count * sizeof(*instance_ids));
}

/* --- calls of the producer -------------------------------------------------------------------- */

static int register_source(struct orma_client_endpoint *endpoint, const void *descriptor,
			   size_t size)
{
	struct local_endpoint *self = from_base(endpoint);
	int r = orma_producer_port_register_data_source(self->port, descriptor, size);

	orma_host_kick(self->local->host);
	return r;
}

static int update_source(struct orma_client_endpoint *endpoint, const void *descriptor, size_t size)
{
	struct local_endpoint *self = from_base(endpoint);
	int r = orma_producer_port_update_data_source(self->port, descriptor, size);

	orma_host_kick(self->local->host);
	return r;
}

static void unregister_source(struct orma_client_endpoint *endpoint, const char *name)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_producer_port_unregister_data_source(self->port, name);
	orma_host_kick(self->local->host);
}

static void register_writer(struct orma_client_endpoint *endpoint, uint32_t writer_id,
			    uint32_t target_buffer)
{
	orma_producer_port_register_writer(from_base(endpoint)->port, writer_id, target_buffer);
}

static void unregister_writer(struct orma_client_endpoint *endpoint, uint32_t writer_id)
{
	orma_producer_port_unregister_writer(from_base(endpoint)->port, writer_id);
}

static void commit(struct orma_client_endpoint *endpoint, const struct orma_commit *commit)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_producer_port_commit(self->port, commit);
	orma_host_kick(self->local->host);
}

static bool has_room(struct orma_client_endpoint *endpoint)
{
	(void)endpoint;
	return true;
}

static void source_started(struct orma_client_endpoint *endpoint, uint64_t instance_id)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_producer_port_data_source_started(self->port, instance_id);
	orma_host_kick(self->local->host);
}

static void source_stopped(struct orma_client_endpoint *endpoint, uint64_t instance_id)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_producer_port_data_source_stopped(self->port, instance_id);
	orma_host_kick(self->local->host);
}

static int sync_with(struct orma_client_endpoint *endpoint)
{
	return add(from_base(endpoint), ORMA_CLIENT_COMMAND_SYNCED, 0, NULL, 0) ? 0 : -ENOMEM;
}

static void activate_triggers(struct orma_client_endpoint *endpoint, const char *const *names,
			      size_t count)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_producer_port_activate_triggers(self->port, names, count);
	orma_host_kick(self->local->host);
}

static void local_endpoint_free(struct orma_client_endpoint *endpoint)
{
	struct local_endpoint *self = from_base(endpoint);

	orma_base_task_cancel(&self->task);
	if (self->port) {
		orma_producer_port_close(self->port);
		orma_host_kick(self->local->host);
	}
	while (!orma_base_list_is_empty(&self->commands)) {
		struct orma_client_command *command =
			ORMA_LIST_ENTRY(self->commands.next, struct orma_client_command, item);

		orma_base_list_remove(&command->item);
		orma_client_command_free(command);
	}
	orma_base_free(self);
}

static const struct orma_client_endpoint_ops ops = {
	.free = local_endpoint_free,
	.register_source = register_source,
	.update_source = update_source,
	.unregister_source = unregister_source,
	.register_writer = register_writer,
	.unregister_writer = unregister_writer,
	.commit = commit,
	.has_room = has_room,
	.source_started = source_started,
	.source_stopped = source_stopped,
	.sync = sync_with,
	.activate_triggers = activate_triggers,
};

static const struct orma_producer_callbacks callbacks = {
	.struct_size = sizeof(callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup_source,
	.start_data_source = on_start_source,
	.stop_data_source = on_stop_source,
	.flush = on_flush,
	.clear_incremental_state = on_clear,
};

int orma_client_local_endpoint_new(struct orma_client_local *local,
				   const struct orma_client_endpoint_config *config,
				   struct orma_client_endpoint **ret)
{
	const struct orma_producer_info info = {
		.struct_size = sizeof(info),
		.uid = geteuid(),
		.pid = getpid(),
		.name = config->producer_name,
		.sdk_version = "orma " ORMA_VERSION_STRING,
		.page_size_hint_bytes = config->page_bytes,
		.shm_size_hint_bytes = config->shm_bytes,
		.scraping_mode =
			config->disable_scraping ? ORMA_SCRAPING_DISABLED : ORMA_SCRAPING_ENABLED,
		.shm_fd = -1,
		.is_in_process = true,
	};
	struct local_endpoint *self = orma_base_zalloc(sizeof(*self));
	int r;

	if (!self)
		return -ENOMEM;
	self->base = (struct orma_client_endpoint){&ops, config->events, config->ctx};
	self->local = local;
	orma_base_list_init(&self->commands);
	orma_base_list_init(&self->task.link);
	r = orma_producer_port_open(local->service, &info, &callbacks, self, NULL, &self->port);
	if (r < 0) {
		local_endpoint_free(&self->base);
		return r;
	}
	orma_base_loop_defer(local->loop, &self->task, on_task);
	*ret = &self->base;
	return 0;
}

/* --- the service ------------------------------------------------------------------------------ */

int orma_client_local_new(struct orma_loop *loop, struct orma_client_local **ret)
{
	const struct orma_service_options options = {.struct_size = sizeof(options),
						     .scrape_by_default = true};
	struct orma_client_local *local = orma_base_zalloc(sizeof(*local));
	int r;

	if (!local)
		return -ENOMEM;
	local->loop = loop;
	r = orma_service_new(&options, &local->service);
	if (r == 0)
		r = orma_host_new(loop, local->service, &local->host);
	if (r < 0) {
		orma_client_local_free(local);
		return r;
	}
	*ret = local;
	return 0;
}

void orma_client_local_free(struct orma_client_local *local)
{
	if (!local)
		return;
	orma_host_free(local->host);
	orma_service_free(local->service);
	orma_base_free(local);
}

void orma_client_local_add_consumer(struct orma_client_local *local, int fd)
{
	if (orma_host_add_consumer_fd(local->host, fd) < 0)
		orma_base_fd_close(fd);
}
