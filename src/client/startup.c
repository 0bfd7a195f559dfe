/* SPDX-License-Identifier: Apache-2.0
 * startup.c - tracing before there is a session, or even a daemon.
 *
 *   orma_startup_tracing(): instances ---> writers into reservations, in memory of our own
 *                                             |
 *   daemon comes: the memory is offered       |     it does not take it: all of it ends
 *   session comes: same data source, config --+---> reservation = its trace buffer: it goes on
 *   timeout                                   +---> reservation = nobody's buffer: ends
 *
 * The memory is a sealed file that goes along with the first message to the service. When a service
 * has given us memory already, for other sessions, that memory is used: reservations work in any. A
 * connection without memory is replaced. Rejected: private memory that is copied when a session comes
 * (twice the memory, and every chunk moved); answering with an error while a daemon is there (a
 * program cannot know that there is one, and sessions that run already miss its first events as well).
 */
#include <errno.h>

#include "base/clock_ns.h"
#include "base/options.h"
#include "client/client_instance.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/work.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/trace_config.pb.h"

struct startup {
	const struct orma_startup_options *options;
	int r;
};

/* Gets the next data_sources.config of a TraceConfig. 1, 0 at the end, or -EBADMSG. */
static int next_config(struct orma_proto_reader *reader, struct orma_str *ret)
{
	struct orma_proto_field source, config;
	int r;

	while ((r = orma_proto_reader_next(reader, &source)) == 1) {
		if (source.id != ORMA_PB_TRACE_CONFIG_DATA_SOURCES ||
		    source.type != ORMA_PROTO_BYTES)
			continue;
		r = orma_proto_reader_find(source.bytes.data, source.bytes.size,
					   ORMA_PB_TRACE_CONFIG_DATA_SOURCE_CONFIG, &config);
		if (r < 0)
			return r;
		if (r == 0 || config.type != ORMA_PROTO_BYTES)
			continue;
		*ret = config.bytes;
		return 1;
	}
	return r;
}

static bool is_registered(struct orma_str config)
{
	struct orma_proto_field name;

	if (orma_proto_reader_find(config.data, config.size, ORMA_PB_DATA_SOURCE_CONFIG_NAME,
				   &name) != 1 ||
	    name.type != ORMA_PROTO_BYTES)
		return false;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		const struct orma_data_source *source = orma_client_source_at(i);

		if (source && orma_base_str_is(name.bytes, source->options.name))
			return true;
	}
	return false;
}

static int check_config(const struct orma_startup_options *options)
{
	struct orma_proto_reader reader;
	struct orma_str config;
	bool has_any = false;
	int r;

	orma_proto_reader_init(&reader, options->config, options->config_size);
	while ((r = next_config(&reader, &config)) == 1)
		has_any |= is_registered(config);
	return r < 0 ? -EINVAL : has_any ? 0 : -ENOENT;
}

static void on_timeout(struct orma_timer *timer)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(timer, struct orma_client_link, startup_timer);

	if (link->own_fd >= 0)
		orma_client_link_withdraw_memory(link);
	else if (link->memory)
		orma_client_instances_stop_early(link);
}

static struct orma_client_link *find_link(void)
{
	for (size_t i = 0; i < orma_client.link_count; i++)
		if (orma_client.links[i].kind == ORMA_CLIENT_LINK_DAEMON)
			return &orma_client.links[i];
	return NULL;
}

/* Returns the number of instances, or the first error. On an error, earlier instances are started. */
static int start_all(struct orma_client_link *link, const struct orma_startup_options *options)
{
	struct orma_proto_reader reader;
	struct orma_str config;
	int r = 0, count = 0;

	orma_proto_reader_init(&reader, options->config, options->config_size);
	while (r >= 0 && next_config(&reader, &config) == 1) {
		r = orma_client_instance_start_early(link, config.data, config.size);
		count += r > 0;
	}
	return r < 0 ? r : count;
}

static int begin(const struct orma_startup_options *options)
{
	uint64_t timeout_ms = options->timeout_ms ? options->timeout_ms : ORMA_CLIENT_STARTUP_MS;
	struct orma_client_link *link = find_link();
	int r;

	if (!link)
		return -ENOTSUP;
	if (link->startup_timer.is_armed)
		return -EBUSY;
	r = check_config(options);
	if (r < 0)
		return r;
	if (!link->memory)
		r = orma_client_link_offer_memory(link);
	if (r == 0)
		r = orma_base_loop_arm_in(link->loop, &link->startup_timer,
					  timeout_ms * ORMA_NS_PER_MS, on_timeout);
	if (r == 0)
		r = start_all(link, options);
	if (r < 0) {
		/* On failure nothing stays started. */
		orma_base_timer_disarm(&link->startup_timer);
		on_timeout(&link->startup_timer);
	}
	return r;
}

static void run(void *ctx)
{
	struct startup *startup = ctx;

	startup->r = begin(startup->options);
}

int orma_startup_tracing(const struct orma_startup_options *options)
{
	struct orma_startup_options whole = {0};
	struct startup startup = {.options = &whole};
	int r;

	if (!options || orma_base_options_copy(&whole, sizeof(whole), options) < 0 ||
	    (!whole.config && whole.config_size > 0))
		return -EINVAL;
	r = orma_client_post_and_wait(run, &startup);
	return r < 0 ? r : startup.r;
}
