/* SPDX-License-Identifier: Apache-2.0
 * producer_port.c - producers that connect, disconnect and name their writers.
 *
 * Nothing that a producer says is believed beyond the limits of service_limits.h. The memory and
 * the data sources of a producer have files of their own. A producer that disconnects is scraped,
 * its instances stop without waiting for it, and the flushes that it owes an answer count it as
 * answered.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/map.h"
#include "base/options.h"
#include "service/flush.h"
#include "service/producer/producer.h"
#include "service/producer/producer_memory.h"
#include "service/producer/producer_source.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/steps.h"
#include "service/trigger/trigger_activate.h"

static int copy_text(const char *text, char **ret)
{
	if (!text)
		text = "";
	if (strnlen(text, ORMA_SERVICE_NAME_BYTES_MAX + 1) > ORMA_SERVICE_NAME_BYTES_MAX)
		return -EINVAL;
	*ret = orma_base_strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static void free_producer(struct orma_producer_port *port)
{
	orma_service_memory_done(port);
	orma_base_map_done(&port->writers);
	orma_base_free(port->grants.items);
	orma_base_free(port->name);
	orma_base_free(port->sdk_version);
	orma_base_free(port->machine_name);
	orma_base_free(port);
}

static uint32_t pick_id(const struct orma_service *service)
{
	uint32_t id = service->producers.last_id;

	/* Reuse ids as late as possible: buffers may still hold data of the previous owner. */
	for (uint32_t tried = 0; tried < ORMA_SERVICE_PRODUCER_ID_MAX; tried++) {
		id = id % ORMA_SERVICE_PRODUCER_ID_MAX + 1;
		if (!orma_base_map_get(&service->producers.by_id, id))
			return id;
	}
	return 0;
}

static int init_producer(struct orma_producer_port *port, struct orma_service *service,
			 const struct orma_producer_info *info)
{
	int r;

	port->service = service;
	port->memory.shared.fd = port->memory.fd = -1;
	port->uid = info->uid;
	port->pid = info->pid;
	port->machine_id = info->machine_id;
	port->memory.page_size_hint_bytes = info->page_size_hint_bytes;
	port->memory.shm_size_hint_bytes = info->shm_size_hint_bytes;
	port->is_in_process = info->is_in_process;
	port->is_emulated = info->cannot_pass_fds;
	port->is_unverified = info->is_unverified;
	port->is_scraped =
		info->scraping_mode == ORMA_SCRAPING_ENABLED ||
		(info->scraping_mode == ORMA_SCRAPING_UNSPECIFIED && service->scrapes_by_default);
	port->writers.seed = service->name_seed;
	orma_base_list_init(&port->data_sources);
	orma_base_list_init(&port->instances);
	r = copy_text(info->name, &port->name);
	if (r == 0)
		r = copy_text(info->sdk_version, &port->sdk_version);
	if (r == 0)
		r = copy_text(info->machine_name, &port->machine_name);
	return r;
}

int orma_producer_port_open(struct orma_service *service, const struct orma_producer_info *info,
			    const struct orma_producer_callbacks *callbacks, void *ctx,
			    bool *ret_uses_own_memory, struct orma_producer_port **ret)
{
	struct orma_producer_info whole = {.shm_fd = -1};
	struct orma_producer_callbacks own_callbacks = {0};
	struct orma_producer_port *port;
	int r;

	if (!service || !info || !callbacks || !ret ||
	    orma_base_options_copy(&whole, sizeof(whole), info) < 0 ||
	    orma_base_options_copy(&own_callbacks, sizeof(own_callbacks), callbacks) < 0)
		return -EINVAL;
	if (service->is_locked_down && (whole.is_unverified || whole.uid != service->uid))
		return -EACCES;
	port = orma_base_zalloc(sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->callbacks = own_callbacks;
	port->ctx = ctx;
	r = init_producer(port, service, &whole);
	port->id = pick_id(service);
	if (r == 0 && port->id == 0)
		r = -ENOSPC;
	if (r == 0)
		r = orma_base_map_put(&service->producers.by_id, port->id, port);
	if (r < 0) {
		free_producer(port);
		return r;
	}
	/* Refused memory is not an error of the call. The producer sees the refusal and may
	 * disconnect. */
	if (whole.shm_fd >= 0 && !port->is_emulated)
		(void)orma_service_memory_map_provided(port, whole.shm_fd);
	orma_base_list_append(&service->producers.list, &port->link);
	service->producers.count++;
	port->serial = ++service->producers.seen_count;
	service->producers.last_id = port->id;
	if (ret_uses_own_memory)
		*ret_uses_own_memory = port->memory.is_made;
	*ret = port;
	return 0;
}

void orma_producer_port_close(struct orma_producer_port *port)
{
	struct orma_service *service;

	if (!port)
		return;
	service = port->service;
	while (!orma_service_disconnect_step(port))
		;
	orma_service_triggers_producer_left(port);
	memset(&port->callbacks, 0, sizeof(port->callbacks));
	orma_service_data_sources_close(port);
	ORMA_ASSERT(orma_base_list_is_empty(&port->instances));
	ORMA_ASSERT(port->data_source_count == 0 && port->descriptor_bytes == 0);
	orma_service_flush_forget_producer(port);
	orma_base_map_remove(&service->producers.by_id, port->id);
	orma_base_list_remove(&port->link);
	service->producers.count--;
	free_producer(port);
}

void orma_producer_port_register_writer(struct orma_producer_port *port, uint32_t writer_id,
					uint32_t target_buffer)
{
	if (!port || writer_id == 0 || writer_id > ORMA_SERVICE_WRITER_ID_MAX ||
	    target_buffer > ORMA_SERVICE_BUFFER_ID_MAX)
		return;
	/* When out of memory, the writer stays unknown: its chunks are not scraped, only committed. */
	(void)orma_base_map_put(&port->writers, writer_id, (void *)((uintptr_t)target_buffer + 1));
}

void orma_producer_port_unregister_writer(struct orma_producer_port *port, uint32_t writer_id)
{
	if (port)
		(void)orma_base_map_remove(&port->writers, writer_id);
}
