/* SPDX-License-Identifier: Apache-2.0
 * service.c - makes, runs and frees the service.
 *
 * The service is a passive object: every effect happens inside a call of a port or of
 * orma_service_run(). Time and randomness come through the options, so that a test controls both.
 * This is the highest file of the service: it knows all parts, and it installs the table through
 * which the lower ones report (session_events.h). Rejected: an event loop or a thread of its own
 * (an embedder has one already), callbacks that may call the service (each loop over a list would
 * have to survive any change).
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/list.h"
#include "base/map.h"
#include "base/options.h"
#include "service/clone/clone.h"
#include "service/config/enable.h"
#include "service/consumer_port.h"
#include "service/filter/regex.h"
#include "service/output/output.h"
#include "service/output/output_file.h"
#include "service/relay.h"
#include "service/retire.h"
#include "service/service_check.h"
#include "service/service_core.h"
#include "service/session_events.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/timer.h"

#ifndef ORMA_VERSION_STRING
#define ORMA_VERSION_STRING "unknown"
#endif

/* The limits of one orma_service_run(). The rest stays due, and the next deadline is now. */
#define ORMA_SERVICE_TIMERS_PER_RUN 64
#define ORMA_SERVICE_RUN_NS         (2 * ORMA_NS_PER_MS)

static uint64_t read_clock(void *ctx, int clock_id)
{
	(void)ctx;
	return orma_base_clock_ns(clock_id);
}

static void read_random(void *ctx, void *data, size_t size)
{
	uint8_t *at = data;

	(void)ctx;
	while (size > 0) {
		ssize_t got = getrandom(at, size, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		at += got;
		size -= (size_t)got;
	}
	/* The kernel has no getrandom(). Uniqueness is all that the service needs. */
	for (; size > 0; size--, at++)
		*at = (uint8_t)(orma_base_clock_ns(CLOCK_MONOTONIC) >> (size % 8 * 4));
}

static void take_options(struct orma_service *service, const struct orma_service_options *options)
{
	service->clock_ns = options->now_ns ? options->now_ns : read_clock;
	service->random = options->random ? options->random : read_random;
	service->ctx = options->ctx;
	service->set_priority = options->set_priority;
	service->close_fd = options->close_fd;
	service->scrapes_by_default = options->scrape_by_default;
	service->regex_ops = orma_service_regex_ops_posix;
	(void)orma_base_options_copy(&service->regex_ops, sizeof(service->regex_ops),
				     options->regex_ops);
	if (options->compressor_ops) {
		(void)orma_base_options_copy(&service->compressor.ops,
					     sizeof(service->compressor.ops),
					     options->compressor_ops);
		service->compressor.ctx = options->compressor_ctx;
	}
	service->files.ops = orma_service_file_ops_sync;
	service->files.ctx = service;
	if (options->file_ops) {
		memset(&service->files.ops, 0, sizeof(service->files.ops));
		(void)orma_base_options_copy(&service->files.ops, sizeof(service->files.ops),
					     options->file_ops);
		service->files.ctx = options->ctx;
		service->files.are_async = true;
	}
}

static bool are_ops_whole(const struct orma_service_options *options)
{
	struct orma_service_file_ops file = {0};
	struct orma_regex_ops regex = {0};
	struct orma_compressor_ops compressor = {0};

	if (orma_base_options_copy(&file, sizeof(file), options->file_ops) < 0 ||
	    orma_base_options_copy(&regex, sizeof(regex), options->regex_ops) < 0 ||
	    orma_base_options_copy(&compressor, sizeof(compressor), options->compressor_ops) < 0)
		return false;
	return (!options->file_ops || (file.open && file.write && file.close)) &&
	       (!options->regex_ops || (regex.compile && regex.match && regex.free)) &&
	       (!options->compressor_ops ||
		(compressor.open && compressor.submit && compressor.take && compressor.close));
}

static const struct orma_service_session_events session_events = {
	.stored = orma_service_output_stored,
	.scraped = orma_service_session_scraped,
	.clone_flushed = orma_service_clone_flushed,
	.created = orma_service_session_begin_created,
	.must_end = orma_service_session_disable,
	.file_closed = orma_service_session_finish,
	.clone_written = orma_service_clone_written,
	.freed = orma_service_clone_freed,
};

int orma_service_new(const struct orma_service_options *options, struct orma_service **ret)
{
	struct orma_service_options whole = {.struct_size = sizeof(whole)};
	struct orma_service *service;

	if (!ret || orma_base_options_copy(&whole, sizeof(whole), options) < 0 ||
	    !are_ops_whole(&whole))
		return -EINVAL;
	service = orma_base_zalloc(sizeof(*service));
	if (!service)
		return -ENOMEM;
	take_options(service, &whole);
	service->version =
		orma_base_strdup(whole.version ? whole.version : "orma " ORMA_VERSION_STRING);
	if (!service->version) {
		orma_base_free(service);
		return -ENOMEM;
	}
	service->uid = whole.has_uid ? whole.uid : geteuid();
	service->random(service->ctx, &service->name_seed, sizeof(service->name_seed));
	service->events = &session_events;
	orma_service_timers_init(&service->timers);
	orma_base_list_init(&service->producers.list);
	orma_base_list_init(&service->consumers.list);
	orma_base_list_init(&service->sessions.list);
	orma_base_list_init(&service->data_sources.list);
	orma_base_list_init(&service->clones);
	orma_base_list_init(&service->relays.list);
	orma_base_list_init(&service->retired.list);
	orma_base_list_init(&service->flushes.answered);
	*ret = service;
	return 0;
}

void orma_service_free(struct orma_service *service)
{
	struct orma_service_session *session, *next_session;

	if (!service)
		return;
	while (!orma_base_list_is_empty(&service->consumers.list))
		orma_consumer_port_close(ORMA_LIST_ENTRY(service->consumers.list.next,
							 struct orma_consumer_port, link));
	ORMA_LIST_FOR_EACH_SAFE (session, next_session, &service->sessions.list, link)
		orma_service_session_free(session);
	while (!orma_base_list_is_empty(&service->producers.list))
		orma_producer_port_close(ORMA_LIST_ENTRY(service->producers.list.next,
							 struct orma_producer_port, link));
	while (!orma_base_list_is_empty(&service->relays.list))
		orma_relay_port_close(
			ORMA_LIST_ENTRY(service->relays.list.next, struct orma_relay_port, link));
	orma_service_retired_done(service);
	orma_base_map_done(&service->producers.by_id);
	orma_base_map_done(&service->instances.by_id);
	orma_base_map_done(&service->data_sources.by_name);
	orma_service_free_caches(service);
	orma_base_free(service->trigger_history.items);
	orma_base_free(service->version);
	orma_base_free(service);
}

uint64_t orma_service_next_deadline_ns(const struct orma_service *service)
{
	if (!service)
		return UINT64_MAX;
	return orma_service_timers_next_ns(&service->timers);
}

void orma_service_run(struct orma_service *service)
{
	if (!service)
		return;

	uint64_t now_ns = orma_service_now_ns(service), end_ns = now_ns + ORMA_SERVICE_RUN_NS;

	orma_service_timers_collect(&service->timers, now_ns);
	for (unsigned i = 0; i < ORMA_SERVICE_TIMERS_PER_RUN; i++)
		if (!orma_service_timers_run_one(&service->timers) ||
		    orma_service_now_ns(service) >= end_ns)
			break;
	orma_service_check(service);
}

void orma_service_file_event(struct orma_service *service, uint64_t session_id, int status)
{
	struct orma_service_session *session, *next;

	if (!service)
		return;
	if (orma_service_clone_file_event(service, session_id, status))
		return;
	ORMA_LIST_FOR_EACH_SAFE (session, next, &service->sessions.list, link) {
		if (session->id == session_id) {
			orma_service_output_event(session, status);
			return;
		}
	}
}

void orma_service_compressor_event(struct orma_service *service, uint64_t session_id)
{
	struct orma_service_session *session;

	if (!service)
		return;
	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		if (session->id == session_id) {
			orma_service_output_compressed(session);
			return;
		}
	}
}
