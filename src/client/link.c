/* SPDX-License-Identifier: Apache-2.0
 * link.c - the client's relation to one service: connecting, losing the connection, waiting.
 *
 *   waiting --retry--> connecting --up--> up --down--> waiting ...
 *
 * When a connection ends, its memory goes and its instances stop; then the link waits for the service to
 * come back (retry.c). Memory that was offered to a service that did not answer stays, and is offered to
 * the next one. Rejected: a thread per connection.
 */
#include "client/link.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "client/client_flush.h"
#include "client/client_instance.h"
#include "client/engine.h"
#include "client/sync.h"
#include "client/trigger_activation.h"
#include "ipc/address.h"

/* The name in messages. */
static const char *name_of(const struct orma_client_link *link)
{
	switch (link->kind) {
	case ORMA_CLIENT_LINK_IN_PROCESS:
		return "the service of this process";
	case ORMA_CLIENT_LINK_CUSTOM:
		return "the program's transport";
	default:
		return orma_client_link_address(link);
	}
}

const char *orma_client_link_address(const struct orma_client_link *link)
{
	if (link->kind != ORMA_CLIENT_LINK_DAEMON)
		return NULL;
	return orma_client.options.producer_socket ? orma_client.options.producer_socket
						   : orma_ipc_producer_address_usual();
}

static void retry_later(struct orma_client_link *link, bool was_connected)
{
	orma_client_retry_arm(&link->retry, orma_client_link_address(link), name_of(link),
			      was_connected);
}

static void log_connection(struct orma_client_link *link, int error)
{
	orma_client_retry_log(&link->retry, orma_client_link_address(link), error);
}

static void commit_now(void *link)
{
	orma_client_link_commit(link);
}

static int take_memory(struct orma_client_link *link, const struct orma_client_shared *shared)
{
	int r;

	ORMA_ASSERT(!link->memory);
	r = orma_client_memory_new(shared, commit_now, link, &link->memory);
	if (r < 0)
		return r;
	atomic_store_explicit(&link->inherited, link->memory, memory_order_relaxed);
	link->wants_incomplete = shared->wants_incomplete;
	return orma_client_link_watch_arbiter(link);
}

/* First the arbiter is abandoned, so that no thread waits for it any more; then instances stop. */
static void release_memory(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->startup_timer);
	orma_base_timer_disarm(&link->commit_timer);
	if (link->memory) {
		atomic_store_explicit(&link->inherited, NULL, memory_order_relaxed);
		orma_base_watch_remove(&link->arbiter_watch);
		orma_shm_arbiter_abandon(link->memory->arbiter);
	}
	orma_client_instances_stop_link(link);
	orma_client_memory_unref(ORMA_TAKE(link->memory));
	link->own_fd = orma_base_fd_close(link->own_fd);
}

static void on_up(struct orma_client_link *link, bool uses_own)
{
	if (link->own_fd >= 0 && !uses_own)
		release_memory(link);
	ORMA_ASSERT(link->endpoint && !link->is_up && link->announced == 0);
	link->own_fd = orma_base_fd_close(link->own_fd);
	link->is_up = true;
	orma_base_log(ORMA_LOG_DEBUG, "connection to %s is ready", name_of(link));
	orma_client_retry_disarm(&link->retry);
	log_connection(link, 0);
	orma_client_link_announce(link);
	orma_client_triggers_send(link);
	atomic_fetch_add_explicit(&orma_client.up_count, 1, memory_order_relaxed);
	orma_client_syncs_link_up();
}

static int on_setup_tracing(struct orma_client_link *link, const struct orma_client_shared *shared)
{
	/* Our own memory was mapped when it was offered. */
	if (shared->is_own)
		return link->memory ? 0 : -EPROTO;
	return link->memory ? -EPROTO : take_memory(link, shared);
}

static void drop_connection(struct orma_client_link *link)
{
	bool was_up = link->is_up;

	if (link->endpoint)
		link->endpoint->free(link->endpoint);
	link->endpoint = NULL;
	link->is_up = false;
	link->announced = link->outdated = 0;
	if (link->own_fd < 0)
		release_memory(link);
	orma_client_flushes_drop(&link->flushes);
	if (was_up) {
		atomic_fetch_sub_explicit(&orma_client.up_count, 1, memory_order_relaxed);
		orma_client_syncs_link_down(link);
	}
}

static void on_down(struct orma_client_link *link, int error)
{
	bool was_up = link->is_up;

	orma_base_log(ORMA_LOG_DEBUG, "connection to %s %s: %s", name_of(link),
		      was_up ? "ended" : "failed",
		      error == 0 ? "the service closed it" : strerror(-error));
	drop_connection(link);
	log_connection(link, error);
	/* A service that breaks the protocol would break it again, so the next attempt is delayed. */
	retry_later(link, was_up && error != -EPROTO);
}

static const struct orma_client_endpoint_events events = {
	.up = on_up,
	.down = on_down,
	.setup_tracing = on_setup_tracing,
	.setup_source = orma_client_instance_setup,
	.start_source = orma_client_instance_start,
	.stop_source = orma_client_instance_stop,
	.flush = orma_client_instances_flush,
	.clear_incremental_state = orma_client_instances_clear,
	.synced = orma_client_syncs_link_answered,
};

static void on_retry(struct orma_client_retry *retry)
{
	orma_client_link_connect(ORMA_CONTAINER_OF(retry, struct orma_client_link, retry));
}

void orma_client_link_init(struct orma_client_link *link, struct orma_loop *loop,
			   enum orma_client_link_kind kind)
{
	*link = (struct orma_client_link){.kind = kind, .loop = loop, .own_fd = -1};
	orma_base_list_init(&link->flushes);
	orma_client_retry_init(&link->retry, loop, on_retry);
}

static int make_endpoint(struct orma_client_link *link,
			 const struct orma_client_endpoint_config *config)
{
	switch (link->kind) {
	case ORMA_CLIENT_LINK_IN_PROCESS:
#ifdef ORMA_WITHOUT_SERVICE
		return -ENOTSUP;
#else
		return orma_client_local_endpoint_new(orma_client.local, config, &link->endpoint);
#endif
	case ORMA_CLIENT_LINK_CUSTOM:
		return orma_client_transport_endpoint_new(config, &orma_client.transport,
							  orma_client.options.transport_ctx,
							  &link->endpoint);
	default:
		return orma_client_socket_endpoint_new(config, orma_client_link_address(link),
						       &link->endpoint);
	}
}

void orma_client_link_connect(struct orma_client_link *link)
{
	const struct orma_init_options *options = &orma_client.options;
	const struct orma_client_endpoint_config config = {
		.loop = link->loop,
		.events = &events,
		.link = link,
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
	ORMA_ASSERT(!link->is_up && link->announced == 0);
	orma_base_log(ORMA_LOG_DEBUG, "connecting to %s", name_of(link));
	r = make_endpoint(link, &config);
	if (r < 0) {
		log_connection(link, r);
		retry_later(link, false);
	}
}

void orma_client_link_withdraw_memory(struct orma_client_link *link)
{
	if (link->endpoint) {
		drop_connection(link);
		retry_later(link, true);
	}
	release_memory(link);
}

int orma_client_link_offer_memory(struct orma_client_link *link)
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
		release_memory(link);
	orma_client_retry_disarm(&link->retry);
	orma_client_link_connect(link);
	return r;
}

void orma_client_link_reconnect(struct orma_client_link *link)
{
	orma_client_link_done(link);
	retry_later(link, true);
}

void orma_client_link_done(struct orma_client_link *link)
{
	drop_connection(link);
	release_memory(link);
	orma_client_retry_disarm(&link->retry);
}
