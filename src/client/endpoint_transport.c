/* SPDX-License-Identifier: Apache-2.0
 * endpoint_transport.c - a service behind a transport (orma/transport.h).
 *
 * The transport's functions are called where a socket endpoint would send a frame. Commands of the
 * service arrive through the public functions, on any thread, and are queued here. An eventfd wakes
 * the loop, so that the queue has a lock of its own and only the loop thread touches the link.
 *
 * Invariant: nothing is queued after `error` is set. Rejected: running commands at once when they arrive
 * on the loop thread (the program would have to know which of its calls come back before they return),
 * the client's queue of work (an endpoint may be freed while its work waits there).
 */
#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "client/client_limits.h"
#include "client/command.h"

struct orma_transport {
	struct orma_client_endpoint base;
	bool is_connected; /* connect() returned 0 */
	bool is_up;
	bool disable_scraping;

	int wake_fd; /* written by any thread */
	struct orma_watch wake_watch, poll_watch;

	pthread_mutex_t mutex;
	struct orma_list commands; /* mutex */
	size_t command_count;      /* mutex */
	int error;                 /* mutex; negative: the connection ends after the commands */
};

static struct orma_transport *from_base(struct orma_client_endpoint *endpoint)
{
	return ORMA_CONTAINER_OF(endpoint, struct orma_transport, base);
}

/* --- commands of the service, on any thread --------------------------------------------------- */

static void set_error(struct orma_transport *self, int error)
{
	pthread_mutex_lock(&self->mutex);
	if (self->error == 0)
		self->error = error;
	pthread_mutex_unlock(&self->mutex);
	orma_base_fd_wake(self->wake_fd);
}

/* Takes the command over; NULL: there was no memory for it. */
static int add(struct orma_transport *self, struct orma_client_command *command)
{
	int r = command ? 0 : -ENOMEM;
	bool is_over;

	if (command) {
		pthread_mutex_lock(&self->mutex);
		is_over = self->error < 0;
		if (!is_over && self->command_count >= ORMA_CLIENT_COMMANDS_MAX) {
			r = -ENOBUFS;
		} else if (!is_over) {
			orma_base_list_append(&self->commands, &command->item);
			self->command_count++;
			command = NULL;
		}
		pthread_mutex_unlock(&self->mutex);
	}
	if (command)
		orma_client_command_free(command);
	if (r < 0)
		set_error(self, r);
	else
		orma_base_fd_wake(self->wake_fd);
	return r;
}

int orma_transport_up(struct orma_transport *transport)
{
	if (!transport)
		return -EINVAL;
	return add(transport, orma_client_command_new(ORMA_CLIENT_COMMAND_UP, 0, NULL, 0));
}

int orma_transport_down(struct orma_transport *transport, int error)
{
	if (!transport)
		return -EINVAL;
	set_error(transport, error < 0 ? error : -ECONNRESET);
	return 0;
}

int orma_transport_setup_tracing(struct orma_transport *transport, int memory_fd,
				 uint32_t page_size_bytes)
{
	struct orma_client_command *command;

	if (!transport)
		return -EINVAL;
	command = orma_client_command_new(ORMA_CLIENT_COMMAND_SETUP_TRACING, 0, NULL, 0);
	if (!command)
		return add(transport, NULL);
	command->page_bytes = page_size_bytes;
	command->wants_incomplete = memory_fd < 0 && !transport->disable_scraping;
	if (memory_fd >= 0) {
		int fd = orma_base_fd_duplicate(memory_fd);

		if (fd < 0) {
			orma_client_command_free(command);
			set_error(transport, fd);
			return -EINVAL;
		}
		command->fd = fd;
	}
	return add(transport, command);
}

/* A config comes from another process. A daemon's fits into a frame, so this limits only transports. */
static int add_config(struct orma_transport *transport, enum orma_client_command_kind kind,
		      uint64_t instance_id, const void *config, size_t size)
{
	if (!transport || (!config && size > 0) || size > ORMA_CLIENT_CONFIG_MAX)
		return -EINVAL;
	return add(transport, orma_client_command_new(kind, instance_id, config, size));
}

static int add_ids(struct orma_transport *transport, enum orma_client_command_kind kind,
		   uint64_t id, const uint64_t *instance_ids, size_t count, uint64_t flags)
{
	struct orma_client_command *command;

	if (!transport || (!instance_ids && count > 0) ||
	    count > ORMA_CLIENT_CONFIG_MAX / sizeof(*instance_ids))
		return -EINVAL;
	command = orma_client_command_new(kind, id, instance_ids, count * sizeof(*instance_ids));
	if (command)
		command->flags = flags;
	return add(transport, command);
}

int orma_transport_setup_data_source(struct orma_transport *transport, uint64_t instance_id,
				     const void *config, size_t size)
{
	return add_config(transport, ORMA_CLIENT_COMMAND_SETUP_SOURCE, instance_id, config, size);
}

int orma_transport_start_data_source(struct orma_transport *transport, uint64_t instance_id,
				     const void *config, size_t size)
{
	return add_config(transport, ORMA_CLIENT_COMMAND_START_SOURCE, instance_id, config, size);
}

int orma_transport_stop_data_source(struct orma_transport *transport, uint64_t instance_id)
{
	if (!transport)
		return -EINVAL;
	return add(transport,
		   orma_client_command_new(ORMA_CLIENT_COMMAND_STOP_SOURCE, instance_id, NULL, 0));
}

int orma_transport_flush(struct orma_transport *transport, uint64_t request_id,
			 const uint64_t *instance_ids, size_t count, uint64_t flags)
{
	return add_ids(transport, ORMA_CLIENT_COMMAND_FLUSH, request_id, instance_ids, count,
		       flags);
}

int orma_transport_clear_incremental_state(struct orma_transport *transport,
					   const uint64_t *instance_ids, size_t count)
{
	return add_ids(transport, ORMA_CLIENT_COMMAND_CLEAR, 0, instance_ids, count, 0);
}

int orma_transport_synced(struct orma_transport *transport)
{
	if (!transport)
		return -EINVAL;
	return add(transport, orma_client_command_new(ORMA_CLIENT_COMMAND_SYNCED, 0, NULL, 0));
}

/* --- on the loop thread ----------------------------------------------------------------------- */

/* NULL: no command is left. *ret_error says whether the connection ends. */
static struct orma_client_command *take(struct orma_transport *self, int *ret_error)
{
	struct orma_client_command *command = NULL;

	pthread_mutex_lock(&self->mutex);
	*ret_error = self->error;
	if (!orma_base_list_is_empty(&self->commands)) {
		command = ORMA_LIST_ENTRY(self->commands.next, struct orma_client_command, item);
		orma_base_list_remove(&command->item);
		self->command_count--;
	}
	pthread_mutex_unlock(&self->mutex);
	return command;
}

static void on_wake(struct orma_watch *watch, unsigned ready)
{
	struct orma_transport *self = ORMA_CONTAINER_OF(watch, struct orma_transport, wake_watch);
	struct orma_client_command *command;
	uint64_t count;
	int error, r = 0;

	(void)ready;
	if (read(self->wake_fd, &count, sizeof(count)) < 0)
		return;
	while (r >= 0 && (command = take(self, &error))) {
		bool is_up = command->kind == ORMA_CLIENT_COMMAND_UP;

		/* UP comes once, before everything else. */
		r = is_up == self->is_up ? -EPROTO : 0;
		self->is_up |= is_up;
		if (r == 0)
			r = orma_client_command_run(command, &self->base);
		orma_client_command_free(command);
	}
	if (r < 0 || error < 0)
		self->base.events->down(self->base.link, r < 0 ? r : error);
}

static void on_readable(struct orma_watch *watch, unsigned ready)
{
	struct orma_transport *self = ORMA_CONTAINER_OF(watch, struct orma_transport, poll_watch);

	(void)ready;
	self->base.ops->readable(self->base.ops_ctx);
}

/* --- connecting ------------------------------------------------------------------------------- */

static void transport_free(struct orma_client_endpoint *endpoint)
{
	struct orma_transport *self = from_base(endpoint);
	struct orma_client_command *command;
	int error;

	orma_base_watch_remove(&self->poll_watch);
	if (self->is_connected)
		self->base.ops->disconnect(self->base.ops_ctx, self);
	orma_base_watch_remove(&self->wake_watch);
	orma_base_fd_close(self->wake_fd);
	while ((command = take(self, &error)))
		orma_client_command_free(command);
	pthread_mutex_destroy(&self->mutex);
	orma_base_free(self);
}

bool orma_client_transport_is_valid(const struct orma_transport_ops *ops)
{
	return ops->connect && ops->disconnect && ops->register_data_source &&
	       ops->unregister_data_source && ops->commit && ops->data_source_started &&
	       ops->data_source_stopped && ops->sync && (!ops->poll_fd || ops->readable);
}

static int call_connect(struct orma_transport *self,
			const struct orma_client_endpoint_config *config)
{
	const struct orma_producer_info hello = {
		.struct_size = sizeof(hello),
		.uid = geteuid(),
		.pid = getpid(),
		.name = config->producer_name,
		.sdk_version = "orma " ORMA_VERSION_STRING,
		.page_size_hint_bytes = config->page_bytes,
		.shm_size_hint_bytes = config->shm_bytes,
		.scraping_mode =
			config->disable_scraping ? ORMA_SCRAPING_DISABLED : ORMA_SCRAPING_ENABLED,
		.shm_fd = -1,
	};
	int fd, r = self->base.ops->connect(self->base.ops_ctx, self, &hello);

	if (r < 0)
		return r;
	self->is_connected = true;
	fd = self->base.ops->poll_fd ? self->base.ops->poll_fd(self->base.ops_ctx) : -1;
	if (fd < 0)
		return 0;
	return orma_base_loop_watch(config->loop, &self->poll_watch, fd, ORMA_LOOP_READ,
				    on_readable);
}

int orma_client_transport_endpoint_new(const struct orma_client_endpoint_config *config,
				       const struct orma_transport_ops *ops, void *ops_ctx,
				       struct orma_client_endpoint **ret)
{
	struct orma_transport *self = orma_base_zalloc(sizeof(*self));
	int r;

	if (!self)
		return -ENOMEM;
	self->base = (struct orma_client_endpoint){
		.ops = ops,
		.ops_ctx = ops_ctx,
		.free = transport_free,
		.events = config->events,
		.link = config->link,
	};
	self->disable_scraping = config->disable_scraping;
	orma_base_list_init(&self->commands);
	pthread_mutex_init(&self->mutex, NULL);
	self->wake_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	r = self->wake_fd < 0 ? -errno : 0;
	orma_base_fd_set_close_on_fork(self->wake_fd);
	if (r == 0)
		r = orma_base_loop_watch(config->loop, &self->wake_watch, self->wake_fd,
					 ORMA_LOOP_READ, on_wake);
	if (r == 0)
		r = call_connect(self, config);
	if (r < 0) {
		transport_free(&self->base);
		return r;
	}
	*ret = &self->base;
	return 0;
}
