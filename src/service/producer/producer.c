/* SPDX-License-Identifier: Apache-2.0
 * producer.c - lookups of producers and names, and which buffers a producer may write to.
 *
 * A producer may write to the buffers that its list of grants names, and to no others. A grant is
 * made with the first instance of the producer for that buffer. It stays until the buffer goes,
 * because data may still be on its way when a data source is unregistered. Rejected: granting by
 * instance (such data would be refused).
 */
#include "service/producer/producer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "service/service_core.h"

struct orma_producer_port *orma_service_producer_by_id(const struct orma_service *service,
						       uint32_t id)
{
	return orma_base_map_get(&service->producers.by_id, id);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Seeded: producers choose the names. */
uint64_t orma_service_name_hash(const struct orma_service *service, struct orma_str text)
{
	return orma_base_fnv1a(service->name_seed, text.data, text.size);
}

struct orma_service_name *orma_service_name_find(const struct orma_service *service,
						 struct orma_str text)
{
	struct orma_service_name *name = orma_base_map_get(&service->data_sources.by_name,
							   orma_service_name_hash(service, text));

	while (name && !orma_base_str_is(text, name->text))
		name = name->next;
	return name;
}

/* --- grants ----------------------------------------------------------------------------------- */

struct orma_service_grant *orma_service_producer_grant(const struct orma_producer_port *port,
						       uint64_t buffer_id)
{
	for (size_t i = 0; i < port->grants.count; i++)
		if (port->grants.items[i].buffer_id == buffer_id)
			return &port->grants.items[i];
	return NULL;
}

int orma_service_producer_add_grant(struct orma_producer_port *port,
				    struct orma_service_session_buffer *buffer)
{
	if (orma_service_producer_grant(port, buffer->id))
		return 0;
	if (port->grants.count == port->grants.capacity) {
		size_t capacity = port->grants.capacity ? 2 * port->grants.capacity : 4;
		struct orma_service_grant *grants =
			orma_base_realloc_array(port->grants.items, capacity, sizeof(*grants));

		if (!grants)
			return -ENOMEM;
		port->grants.items = grants;
		port->grants.capacity = capacity;
	}
	port->grants.items[port->grants.count++] =
		(struct orma_service_grant){.buffer_id = buffer->id, .buffer = buffer};
	return 0;
}

void orma_service_producer_remove_grants(struct orma_producer_port *port,
					 const struct orma_service_session *session)
{
	size_t kept = 0;

	for (size_t i = 0; i < port->grants.count; i++)
		if (port->grants.items[i].buffer->session != session)
			port->grants.items[kept++] = port->grants.items[i];
	port->grants.count = kept;
}

uint32_t orma_service_producer_writer_buffer(const struct orma_producer_port *port,
					     uint32_t writer_id)
{
	uintptr_t value = (uintptr_t)orma_base_map_get(&port->writers, writer_id);

	return value ? (uint32_t)(value - 1) : 0;
}
