/* SPDX-License-Identifier: Apache-2.0
 * link.c - the client's relation to one service: connecting, announcing, committing, losing it.
 *
 *   waiting --retry--> connecting --up--> up --down--> waiting ...
 *
 * A link lives as long as the client; its endpoint and memory come and go with connections. When a
 * connection ends, first the arbiter is abandoned, so that no thread waits for it any more, then
 * its instances stop, then the link waits for the service to come back. Data sources are brought in
 * line with what the service knows (`announced`) rather than sent when they are registered: the
 * same code serves registration and reconnection.
 *
 * Flushes are acknowledged in their order, because an acknowledgement also stands for all earlier
 * ones; and only when everything before them was sent. Rejected: the acknowledgement inside the
 * last batch of chunks (a batch may have to wait for room), a thread per connection.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "client/client.h"
#include "ipc/address.h"
#include "shm/view.h"

static void on_commit_timer(struct orma_timer *timer)
{
	orma_client_link_commit(ORMA_CONTAINER_OF(timer, struct orma_client_link, commit_timer));
}

/* False: no memory for the timer. */
static bool commit_soon(struct orma_client_link *link)
{
	return link->commit_timer.is_armed ||
	       orma_base_loop_arm_in(link->loop, &link->commit_timer, ORMA_CLIENT_COMMIT_NS,
				     on_commit_timer) == 0;
}

static void on_arbiter_wake(struct orma_watch *watch, unsigned ready)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(watch, struct orma_client_link, arbiter_watch);

	(void)ready;
	switch (orma_shm_arbiter_wanted(link->memory->arbiter)) {
	case ORMA_SHM_WANTED_NOW:
		orma_client_link_commit(link);
		break;
	case ORMA_SHM_WANTED_SOON:
		if (!commit_soon(link))
			orma_client_link_commit(link);
		break;
	case ORMA_SHM_WANTED_NOTHING:
		break;
	}
}

/* --- committing ------------------------------------------------------------------------------- */

static void send_batch(struct orma_client_link *link, const struct orma_shm_batch *batch)
{
	struct orma_client_endpoint *endpoint = link->endpoint;

	for (size_t i = 0; i < batch->registered_count; i++)
		endpoint->ops->register_writer(endpoint, batch->registered[i].writer_id,
					       batch->registered[i].target_buffer);
	if (batch->commit.move_count > 0 || batch->commit.patch_count > 0)
		endpoint->ops->commit(endpoint, &batch->commit);
	for (size_t i = 0; i < batch->unregistered_count; i++)
		endpoint->ops->unregister_writer(endpoint, batch->unregistered[i].writer_id);
}

/* False: the rest has to wait for room. */
static bool send_ready(struct orma_client_link *link)
{
	struct orma_shm_arbiter *arbiter = link->memory->arbiter;
	struct orma_shm_batch batch;

	do {
		if (!link->endpoint->ops->has_room(link->endpoint))
			return false;
		if (!orma_shm_arbiter_take_commit(arbiter, &batch))
			break;
		send_batch(link, &batch);
		orma_shm_arbiter_commit_done(arbiter);
	} while (batch.has_more);
	return true;
}

static void send_incomplete(struct orma_client_link *link)
{
	struct orma_shm_arbiter *arbiter = link->memory->arbiter;
	struct orma_shm_batch batch;
	struct orma_shm_view_position position = {0};

	while (orma_shm_arbiter_take_incomplete(arbiter, &position, &batch)) {
		send_batch(link, &batch);
		orma_shm_arbiter_commit_done(arbiter);
	}
}

/* The first flush, when nobody has postponed it or all have completed. */
static struct orma_client_flush *take_finished_flush(struct orma_client_link *link)
{
	static const uint8_t nobody[ORMA_DATA_SOURCES_MAX];
	struct orma_client_flush *flush = NULL;

	pthread_mutex_lock(&orma_client.mutex);
	if (!orma_base_list_is_empty(&link->flushes)) {
		flush = ORMA_LIST_ENTRY(link->flushes.next, struct orma_client_flush, item);
		if (flush->is_running || memcmp(flush->waiting, nobody, sizeof(nobody)) != 0)
			flush = NULL;
		else
			orma_base_list_remove(&flush->item);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	return flush;
}

static void acknowledge_flushes(struct orma_client_link *link)
{
	struct orma_commit commit = {0};
	struct orma_client_flush *flush;

	while ((flush = take_finished_flush(link))) {
		commit.flush_request_id = flush->request_id;
		orma_base_free(flush);
	}
	if (commit.flush_request_id == 0)
		return;
	if (link->memory && link->wants_incomplete)
		send_incomplete(link);
	link->endpoint->ops->commit(link->endpoint, &commit);
}

void orma_client_link_commit(struct orma_client_link *link)
{
	/* From inside itself only when a writer stalls while its commit is under way. */
	if (!link->endpoint || link->is_committing)
		return;
	link->is_committing = true;
	orma_base_timer_disarm(&link->commit_timer);
	/* A timer that cannot be armed, which takes memory once in a loop's life, is made up for by
	 * the next flush or stop. */
	if (!link->memory || send_ready(link))
		acknowledge_flushes(link);
	else
		commit_soon(link);
	link->is_committing = false;
}

/* --- data sources ----------------------------------------------------------------------------- */

static bool is_in_use(const struct orma_client_link *link, const struct orma_data_source *source)
{
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		if (source->instances[i].link == link)
			return true;
	return false;
}

static int update_source(struct orma_client_link *link, struct orma_data_source *source)
{
	struct orma_client_endpoint *endpoint = link->endpoint;
	const struct orma_buf *descriptor = source->descriptor;
	int r = endpoint->ops->update_source(endpoint, descriptor->data, descriptor->size);

	if (r != -ENOTSUP)
		return r;
	/* Services before v22 (2021). Registering anew would interrupt the sessions that use it. */
	if (is_in_use(link, source))
		return -EBUSY;
	endpoint->ops->unregister_source(endpoint, source->options.name);
	return endpoint->ops->register_source(endpoint, descriptor->data, descriptor->size);
}

static void announce_source(struct orma_client_link *link, struct orma_data_source *source)
{
	struct orma_client_endpoint *endpoint = link->endpoint;
	const struct orma_buf *descriptor = source->descriptor;
	uint32_t bit = UINT32_C(1) << source->idx;
	int r;

	if (!(link->announced & bit)) {
		r = endpoint->ops->register_source(endpoint, descriptor->data, descriptor->size);
		if (r >= 0)
			link->announced |= bit;
		orma_base_log(ORMA_LOG_DEBUG, "data source %s: %s%s", source->options.name,
			      r < 0 ? "not registered: " : "registered", r < 0 ? strerror(-r) : "");
	} else if (link->outdated & bit && update_source(link, source) == -EBUSY) {
		return;
	}
	link->outdated &= ~bit;
}

void orma_client_link_announce(struct orma_client_link *link)
{
	if (!link->is_up)
		return;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (source && source->descriptor)
			announce_source(link, source);
	}
}

void orma_client_link_update(struct orma_client_link *link, struct orma_data_source *source)
{
	if (link->is_up && link->announced & link->outdated & UINT32_C(1) << source->idx)
		announce_source(link, source);
}

void orma_client_link_withdraw(struct orma_client_link *link, struct orma_data_source *source)
{
	uint32_t bit = UINT32_C(1) << source->idx;

	if (link->is_up && link->announced & bit)
		link->endpoint->ops->unregister_source(link->endpoint, source->options.name);
	link->announced &= ~bit;
}

/* --- the connection --------------------------------------------------------------------------- */

static void on_up(void *ctx, bool uses_own)
{
	struct orma_client_link *link = ctx;

	if (link->own_fd >= 0 && !uses_own)
		orma_client_link_drop_own(link);
	link->own_fd = orma_base_fd_close(link->own_fd);
	link->is_up = true;
	orma_base_log(ORMA_LOG_DEBUG, "connection to %s is ready", orma_client_link_name(link));
	orma_client_retry_disarm(link);
	orma_client_retry_tell(link, 0);
	orma_client_link_announce(link);
	orma_client_triggers_tell(link);
	orma_client_link_is_up(link);
}

static int take_memory(struct orma_client_link *link, const struct orma_client_shared *shared)
{
	int r = orma_client_memory_new(shared, link, &link->memory);

	if (r < 0)
		return r;
	atomic_store_explicit(&link->inherited, link->memory, memory_order_relaxed);
	link->wants_incomplete = shared->wants_incomplete;
	return orma_base_loop_watch(link->loop, &link->arbiter_watch,
				    orma_shm_arbiter_wake_fd(link->memory->arbiter), ORMA_LOOP_READ,
				    on_arbiter_wake);
}

static int on_setup_tracing(void *ctx, const struct orma_client_shared *shared)
{
	struct orma_client_link *link = ctx;

	/* It was made when it was offered. */
	if (shared->is_own)
		return link->memory ? 0 : -EPROTO;
	return link->memory ? -EPROTO : take_memory(link, shared);
}

static void drop_memory(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->commit_timer);
	if (!link->memory)
		return;
	atomic_store_explicit(&link->inherited, NULL, memory_order_relaxed);
	orma_base_watch_remove(&link->arbiter_watch);
	orma_shm_arbiter_abandon(link->memory->arbiter);
}

static void drop_flushes(struct orma_client_link *link)
{
	struct orma_list dropped;

	orma_base_list_init(&dropped);
	pthread_mutex_lock(&orma_client.mutex);
	while (!orma_base_list_is_empty(&link->flushes)) {
		struct orma_list *item = link->flushes.next;

		orma_base_list_remove(item);
		orma_base_list_append(&dropped, item);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	while (!orma_base_list_is_empty(&dropped)) {
		struct orma_list *item = dropped.next;

		orma_base_list_remove(item);
		orma_base_free(ORMA_LIST_ENTRY(item, struct orma_client_flush, item));
	}
}

void orma_client_link_drop_own(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->startup_timer);
	drop_memory(link);
	orma_client_stop_link(link);
	orma_client_memory_unref(ORMA_TAKE(link->memory));
	link->own_fd = orma_base_fd_close(link->own_fd);
}

/* Everything that belonged to the connection. */
static void drop_connection(struct orma_client_link *link)
{
	bool was_up = link->is_up;

	orma_base_task_cancel(&link->failure);
	if (link->endpoint)
		link->endpoint->ops->free(link->endpoint);
	link->endpoint = NULL;
	link->is_up = false;
	link->announced = link->outdated = 0;
	/* What was offered to a service that was not there is offered to the next one. */
	if (link->own_fd < 0)
		orma_client_link_drop_own(link);
	drop_flushes(link);
	if (was_up)
		orma_client_link_is_down(link);
}

static void on_down(void *ctx, int error)
{
	struct orma_client_link *link = ctx;
	bool was_up = link->is_up;

	orma_base_log(ORMA_LOG_DEBUG, "connection to %s %s: %s", orma_client_link_name(link),
		      was_up ? "ended" : "failed",
		      error == 0 ? "the service closed it" : strerror(-error));
	drop_connection(link);
	orma_client_retry_tell(link, error);
	/* A service that breaks the protocol would do so at once again. */
	orma_client_retry_arm(link, was_up && error != -EPROTO);
}

static void on_failure(struct orma_task *task)
{
	struct orma_client_link *link = ORMA_CONTAINER_OF(task, struct orma_client_link, failure);

	on_down(link, link->failure_error);
}

void orma_client_link_fail(struct orma_client_link *link, int error)
{
	link->failure_error = error;
	orma_base_loop_defer(link->loop, &link->failure, on_failure);
}

static void on_synced(void *ctx)
{
	orma_client_link_synced(ctx);
}

static const struct orma_client_endpoint_events events = {
	.up = on_up,
	.down = on_down,
	.setup_tracing = on_setup_tracing,
	.setup_source = orma_client_setup_source,
	.start_source = orma_client_start_source,
	.stop_source = orma_client_stop_source,
	.flush = orma_client_flush,
	.clear_incremental_state = orma_client_clear_state,
	.synced = on_synced,
};

void orma_client_link_init(struct orma_client_link *link, struct orma_loop *loop,
			   struct orma_client_local *local, bool is_custom)
{
	*link = (struct orma_client_link){
		.loop = loop,
		.local = local,
		.is_custom = is_custom,
		.folder_fd = -1,
		.own_fd = -1,
	};
	orma_base_list_init(&link->flushes);
	orma_base_list_init(&link->failure.link);
}

const char *orma_client_link_name(const struct orma_client_link *link)
{
	if (link->is_custom)
		return "the program's transport";
	return link->local ? "the service of this process" : orma_client_link_address(link);
}

const char *orma_client_link_address(const struct orma_client_link *link)
{
	if (link->local || link->is_custom)
		return NULL;
	return orma_client.options.producer_socket ? orma_client.options.producer_socket
						   : orma_ipc_producer_address_usual();
}

static int connect_locally(struct orma_client_link *link,
			   const struct orma_client_endpoint_config *config)
{
#ifdef ORMA_WITHOUT_SERVICE
	(void)link;
	(void)config;
	return -ENOTSUP;
#else
	return orma_client_local_endpoint_new(link->local, config, &link->endpoint);
#endif
}

void orma_client_link_connect(struct orma_client_link *link)
{
	const struct orma_init_options *options = &orma_client.options;
	const struct orma_client_endpoint_config config = {
		.loop = link->loop,
		.events = &events,
		.ctx = link,
		.producer_name = options->producer_name,
		.shm_bytes = options->shm_size_bytes,
		.page_bytes = link->own_fd >= 0 ? link->own_page_bytes : options->page_size_bytes,
		.own_fd = link->own_fd,
		.disable_scraping = options->disable_scraping,
		.trust = &orma_client.trust,
	};
	int r;

	if (link->endpoint)
		return;
	orma_base_log(ORMA_LOG_DEBUG, "connecting to %s", orma_client_link_name(link));
	if (link->local)
		r = connect_locally(link, &config);
	else if (link->is_custom)
		r = orma_client_custom_endpoint_new(&config, &orma_client.transport,
						    options->transport_ctx, &link->endpoint);
	else
		r = orma_client_socket_endpoint_new(&config, orma_client_link_address(link),
						    &link->endpoint);
	if (r < 0) {
		orma_client_retry_tell(link, r);
		orma_client_retry_arm(link, false);
	}
}

void orma_client_link_withdraw_own(struct orma_client_link *link)
{
	if (link->endpoint) {
		drop_connection(link);
		orma_client_retry_arm(link, true);
	}
	orma_client_link_drop_own(link);
}

int orma_client_link_offer_own(struct orma_client_link *link)
{
	const struct orma_init_options *options = &orma_client.options;
	uint32_t bytes = options->shm_size_bytes, page_bytes = options->page_size_bytes;
	struct orma_client_shared shared = {0};
	int r;

	if (page_bytes == 0)
		page_bytes = ORMA_SHM_PAGE_BYTES_DEFAULT;
	if (bytes == 0 || !orma_shm_sizes_are_valid(bytes, page_bytes)) {
		bytes = ORMA_SHM_BYTES_DEFAULT;
		page_bytes = ORMA_SHM_PAGE_BYTES_DEFAULT;
	}
	shared.fd = orma_base_memfd_new(ORMA_SHM_MEMFD_NAME, bytes);
	if (shared.fd < 0)
		return shared.fd;
	orma_base_fd_set_close_on_fork(shared.fd);
	if (link->endpoint)
		drop_connection(link);
	link->own_fd = shared.fd;
	shared.page_bytes = link->own_page_bytes = page_bytes;
	r = take_memory(link, &shared);
	if (r < 0)
		orma_client_link_drop_own(link);
	orma_client_retry_disarm(link);
	orma_client_link_connect(link);
	return r;
}

void orma_client_link_done(struct orma_client_link *link)
{
	drop_connection(link);
	orma_client_link_drop_own(link);
	orma_client_retry_disarm(link);
}
