/* SPDX-License-Identifier: Apache-2.0
 * producer_source.c - the data sources that producers register: how they join sessions and leave
 * them.
 *
 * Data sources are found by name through one map from the name's hash, because a config may name
 * thousands. The hash is seeded, since producers choose the names. Rejected: walking all data
 * sources for each entry of a config (100,000 of them times 1,000 entries).
 */
#include "service/producer/producer_source.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "proto/codec.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/source_instance.h"

static struct orma_service_data_source *find_data_source(struct orma_producer_port *port,
							 struct orma_str name, uint64_t id)
{
	struct orma_service_data_source *data_source;

	ORMA_LIST_FOR_EACH (data_source, &port->data_sources, producer_link) {
		if (id ? data_source->id == id : orma_base_str_is(name, data_source->name->text))
			return data_source;
	}
	return NULL;
}

static int get_name(struct orma_service *service, struct orma_str text,
		    struct orma_service_name **ret)
{
	struct orma_service_name *name = orma_service_name_find(service, text);
	int r;

	if (!name) {
		name = orma_base_zalloc(sizeof(*name) + text.size + 1);
		if (!name)
			return -ENOMEM;
		name->hash = orma_service_name_hash(service, text);
		orma_base_list_init(&name->data_sources);
		memcpy(name->text, text.data, text.size);
		name->next = orma_base_map_get(&service->data_sources.by_name, name->hash);
		r = orma_base_map_put(&service->data_sources.by_name, name->hash, name);
		if (r < 0) {
			orma_base_free(name);
			return r;
		}
	}
	*ret = name;
	return 0;
}

static void free_name(struct orma_service *service, struct orma_service_name *name)
{
	struct orma_service_name *at =
		orma_base_map_get(&service->data_sources.by_name, name->hash);

	ORMA_ASSERT(orma_base_list_is_empty(&name->data_sources));
	if (at != name) {
		while (at->next != name)
			at = at->next;
		at->next = name->next;
	} else if (name->next) {
		/* Replacing an existing key allocates nothing. */
		(void)orma_base_map_put(&service->data_sources.by_name, name->hash, name->next);
	} else {
		(void)orma_base_map_remove(&service->data_sources.by_name, name->hash);
	}
	orma_base_free(name);
}

static void free_data_source(struct orma_service_data_source *data_source)
{
	struct orma_service *service = data_source->producer->service;
	struct orma_service_name *name = data_source->name;

	ORMA_ASSERT(orma_base_list_is_empty(&data_source->instances));
	orma_base_list_remove(&data_source->link);
	orma_base_list_remove(&data_source->name_link);
	orma_base_list_remove(&data_source->producer_link);
	data_source->producer->data_source_count--;
	data_source->producer->descriptor_bytes -= data_source->descriptor.size;
	service->data_sources.descriptor_bytes -= data_source->descriptor.size;
	service->data_sources.count--;
	if (orma_base_list_is_empty(&name->data_sources))
		free_name(service, name);
	orma_base_buf_done(&data_source->descriptor);
	orma_base_free(data_source);
}

static int check_descriptor(const void *data, size_t size, struct orma_arena *arena,
			    const struct orma_pb_data_source_descriptor **ret)
{
	struct orma_pb_data_source_descriptor *descriptor;
	int r;

	if (size > ORMA_SERVICE_DESCRIPTOR_BYTES_MAX)
		return -EINVAL;
	r = orma_proto_decode(&orma_pb_data_source_descriptor_desc, data, size, arena, &descriptor);
	if (r < 0)
		return r;
	if (descriptor->name.size == 0 || descriptor->name.size > ORMA_SERVICE_NAME_BYTES_MAX ||
	    memchr(descriptor->name.data, '\0', descriptor->name.size))
		return -EINVAL;
	*ret = descriptor;
	return 0;
}

static void take_descriptor(struct orma_service_data_source *data_source,
			    const struct orma_pb_data_source_descriptor *descriptor)
{
	data_source->id = descriptor->id;
	data_source->will_notify_on_start = descriptor->will_notify_on_start;
	data_source->will_notify_on_stop = descriptor->will_notify_on_stop;
	data_source->handles_incremental_state_clear = descriptor->handles_incremental_state_clear;
	data_source->no_flush = descriptor->no_flush;
}

static int add_data_source(struct orma_producer_port *port,
			   const struct orma_pb_data_source_descriptor *descriptor,
			   const void *data, size_t size, struct orma_service_data_source **ret)
{
	struct orma_service_data_source *data_source = orma_base_zalloc(sizeof(*data_source));
	int r;

	if (!data_source)
		return -ENOMEM;
	r = orma_base_buf_append(&data_source->descriptor, data, size);
	if (r == 0)
		r = get_name(port->service, descriptor->name, &data_source->name);
	if (r < 0) {
		orma_base_buf_done(&data_source->descriptor);
		orma_base_free(data_source);
		return r;
	}
	data_source->producer = port;
	orma_base_list_init(&data_source->instances);
	take_descriptor(data_source, descriptor);
	orma_base_list_append(&port->service->data_sources.list, &data_source->link);
	orma_base_list_append(&data_source->name->data_sources, &data_source->name_link);
	orma_base_list_append(&port->data_sources, &data_source->producer_link);
	port->data_source_count++;
	port->descriptor_bytes += size;
	port->service->data_sources.descriptor_bytes += size;
	port->service->data_sources.count++;
	*ret = data_source;
	return 0;
}

static void join_session(struct orma_service_session *session,
			 struct orma_service_data_source *data_source)
{
	struct orma_str name = orma_base_str(data_source->name->text);

	for (size_t i = 0; i < session->sources.count; i++) {
		struct orma_service_instance *instance;
		int r;

		if (!orma_base_str_is(name, session->sources.items[i].name))
			continue;
		if (orma_service_instances_are_full(session, 0))
			return;
		r = orma_service_instance_new(session, &session->sources.items[i], data_source,
					      &instance);
		if (r < 0)
			orma_base_log(ORMA_LOG_WARNING,
				      "session %llu: data source \"%s\" cannot join: %s",
				      (unsigned long long)session->id,
				      session->sources.items[i].name, orma_base_error_words(r));
		if (r <= 0)
			continue;
		orma_service_instance_setup(instance);
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_instance_start(instance);
	}
}

static void data_source_join(struct orma_service_data_source *data_source)
{
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &data_source->producer->service->sessions.list, link) {
		if (session->state == ORMA_SERVICE_SESSION_CONFIGURED ||
		    session->state == ORMA_SERVICE_SESSION_STARTED)
			join_session(session, data_source);
	}
}

static void data_source_leave(struct orma_service_data_source *data_source, bool is_producer_gone)
{
	struct orma_producer_port *port = data_source->producer;
	struct orma_service_session *session, *next_session;
	struct orma_service_instance *instance, *next;

	ORMA_LIST_FOR_EACH_SAFE (instance, next, &data_source->instances, source_link) {
		orma_service_instance_stop(instance, is_producer_gone);
		orma_service_instance_stop(instance, true);
		orma_service_instance_free(instance);
	}
	/* A session may have been waiting for this data source only. */
	ORMA_LIST_FOR_EACH_SAFE (session, next_session, &port->service->sessions.list, link) {
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_session_check_started(session);
		else if (session->state == ORMA_SERVICE_SESSION_STOPPING)
			orma_service_session_check_stopped(session);
	}
}

void orma_service_data_sources_close(struct orma_producer_port *port)
{
	while (!orma_base_list_is_empty(&port->data_sources)) {
		struct orma_service_data_source *data_source = ORMA_LIST_ENTRY(
			port->data_sources.next, struct orma_service_data_source, producer_link);

		data_source_leave(data_source, true);
		free_data_source(data_source);
	}
}

int orma_producer_port_register_data_source(struct orma_producer_port *port, const void *descriptor,
					    size_t size)
{
	if (!port || (!descriptor && size > 0))
		return -EINVAL;

	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	const struct orma_pb_data_source_descriptor *decoded;
	struct orma_service_data_source *data_source;
	int r = check_descriptor(descriptor, size, &arena, &decoded);

	if (r < 0)
		return r;
	if (port->data_source_count >= ORMA_SERVICE_SOURCES_PER_PRODUCER ||
	    size > ORMA_SERVICE_DESCRIPTORS_BYTES_MAX - port->descriptor_bytes ||
	    size > ORMA_SERVICE_ALL_DESCRIPTORS_BYTES_MAX -
			    port->service->data_sources.descriptor_bytes)
		return -EINVAL;
	/* Several data sources may have the same name, but not the same id. */
	if (decoded->id && find_data_source(port, decoded->name, decoded->id))
		return -EEXIST;
	r = add_data_source(port, decoded, descriptor, size, &data_source);
	if (r < 0)
		return r;
	data_source_join(data_source);
	return 0;
}

int orma_producer_port_update_data_source(struct orma_producer_port *port, const void *descriptor,
					  size_t size)
{
	if (!port || (!descriptor && size > 0))
		return -EINVAL;

	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	const struct orma_pb_data_source_descriptor *decoded;
	struct orma_service_data_source *data_source;
	struct orma_buf bytes = {0};
	int r = check_descriptor(descriptor, size, &arena, &decoded);

	if (r < 0)
		return r;
	if (decoded->id == 0)
		return -EINVAL;
	data_source = find_data_source(port, decoded->name, decoded->id);
	if (!data_source)
		return -ENOENT;
	if (!orma_base_str_is(decoded->name, data_source->name->text) ||
	    size > ORMA_SERVICE_DESCRIPTORS_BYTES_MAX -
			    (port->descriptor_bytes - data_source->descriptor.size) ||
	    size > ORMA_SERVICE_ALL_DESCRIPTORS_BYTES_MAX -
			    (port->service->data_sources.descriptor_bytes -
			     data_source->descriptor.size))
		return -EINVAL;
	r = orma_base_buf_append(&bytes, descriptor, size);
	if (r < 0)
		return r;
	port->descriptor_bytes += size - data_source->descriptor.size;
	port->service->data_sources.descriptor_bytes += size - data_source->descriptor.size;
	orma_base_buf_done(&data_source->descriptor);
	data_source->descriptor = bytes;
	take_descriptor(data_source, decoded);
	return 0;
}

int orma_producer_port_unregister_data_source(struct orma_producer_port *port, const char *name)
{
	if (!port || !name)
		return -EINVAL;

	struct orma_service_data_source *data_source =
		find_data_source(port, orma_base_str(name), 0);

	if (!data_source)
		return -ENOENT;
	data_source_leave(data_source, false);
	free_data_source(data_source);
	return 0;
}

/* NULL unless the instance is of this producer. */
static struct orma_service_instance *find_instance(const struct orma_producer_port *port,
						   uint64_t instance_id)
{
	struct orma_service_instance *instance =
		orma_base_map_get(&port->service->instances.by_id, instance_id);

	return instance && instance->producer == port ? instance : NULL;
}

void orma_producer_port_data_source_started(struct orma_producer_port *port, uint64_t instance_id)
{
	if (!port)
		return;

	struct orma_service_instance *instance = find_instance(port, instance_id);

	if (!instance || instance->state != ORMA_SERVICE_INSTANCE_STARTING ||
	    instance->session->state != ORMA_SERVICE_SESSION_STARTED)
		return;
	orma_service_instance_set_state(instance, ORMA_SERVICE_INSTANCE_STARTED);
	orma_service_session_check_started(instance->session);
}

void orma_producer_port_data_source_stopped(struct orma_producer_port *port, uint64_t instance_id)
{
	if (!port)
		return;

	struct orma_service_instance *instance = find_instance(port, instance_id);

	if (!instance || instance->state != ORMA_SERVICE_INSTANCE_STOPPING)
		return;
	orma_service_instance_set_state(instance, ORMA_SERVICE_INSTANCE_STOPPED);
	orma_service_session_check_stopped(instance->session);
}
