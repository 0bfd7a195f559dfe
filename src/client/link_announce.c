/* SPDX-License-Identifier: Apache-2.0
 * link_announce.c - tells a service about new and changed entries in the table of data sources.
 *
 * Nothing is sent when a data source is registered: the loop thread compares the table with what the
 * service knows (`announced`, `outdated`) and sends the difference. So the same code serves registration
 * and reconnection.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log_message.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/link.h"

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
	int r = orma_client_endpoint_update_source(endpoint, descriptor->data, descriptor->size);

	if (r != -ENOTSUP)
		return r;
	/* Services before v22 (2021) do not know updates. Registering the source anew would interrupt the
	 * sessions that use it. */
	if (is_in_use(link, source))
		return -EBUSY;
	orma_client_endpoint_unregister_source(endpoint, source->options.name);
	return orma_client_endpoint_register_source(endpoint, descriptor->data, descriptor->size);
}

static void announce_source(struct orma_client_link *link, struct orma_data_source *source)
{
	struct orma_client_endpoint *endpoint = link->endpoint;
	const struct orma_buf *descriptor = source->descriptor;
	uint32_t bit = UINT32_C(1) << source->idx;
	int r;

	if (!(link->announced & bit)) {
		r = orma_client_endpoint_register_source(endpoint, descriptor->data,
							 descriptor->size);
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
		orma_client_endpoint_unregister_source(link->endpoint, source->options.name);
	link->announced &= ~bit;
}
