/* SPDX-License-Identifier: Apache-2.0
 * producer.c - producers: opening and closing their ports, the data sources they register, the
 * writers they name.
 *
 * Nothing that a producer says is believed beyond its limits (limits.h). Which buffers it may write
 * to is decided here alone: a list of grants, made when an instance is set up. Data sources are
 * found by name through one map from the name's hash, because a config may name thousands.
 * Rejected: walking all data sources per config entry (100,000 of them times 1,000 entries),
 * granting by instance (data in flight would be refused once a data source is unregistered).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/options.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "service/state.h"
#include "service/steps.h"

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
	orma_base_free(port->grants);
	orma_base_free(port->name);
	orma_base_free(port->sdk_version);
	orma_base_free(port->machine_name);
	orma_base_free(port);
}

static uint32_t pick_id(const struct orma_service *service)
{
	uint32_t id = service->last_producer_id;

	/* Ids come back as late as possible: buffers may still hold data of the one who had it. */
	for (uint32_t tried = 0; tried < ORMA_SERVICE_PRODUCER_ID_MAX; tried++) {
		id = id % ORMA_SERVICE_PRODUCER_ID_MAX + 1;
		if (!orma_base_map_get(&service->producers_by_id, id))
			return id;
	}
	return 0;
}

static int init_producer(struct orma_producer_port *port, struct orma_service *service,
			 const struct orma_producer_info *info)
{
	int r;

	port->service = service;
	port->memory.fd = port->memory_fd = -1;
	port->uid = info->uid;
	port->pid = info->pid;
	port->machine_id = info->machine_id;
	port->page_size_hint_bytes = info->page_size_hint_bytes;
	port->shm_size_hint_bytes = info->shm_size_hint_bytes;
	port->is_in_process = info->is_in_process;
	port->is_emulated = info->cannot_pass_fds;
	port->is_unverified = info->is_unverified;
	port->is_scraped =
		info->scraping_mode == ORMA_SCRAPING_ENABLED ||
		(info->scraping_mode == ORMA_SCRAPING_UNSPECIFIED && service->scrape_by_default);
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
		r = orma_base_map_put(&service->producers_by_id, port->id, port);
	if (r < 0) {
		free_producer(port);
		return r;
	}
	/* A memory that does not pass is not an error: the producer is told and may leave. */
	if (whole.shm_fd >= 0 && !port->is_emulated)
		(void)orma_service_memory_map_provided(port, whole.shm_fd);
	orma_base_list_append(&service->producers, &port->link);
	service->producer_count++;
	port->serial = ++service->producers_seen;
	service->last_producer_id = port->id;
	if (ret_uses_own_memory)
		*ret_uses_own_memory = port->has_memory;
	*ret = port;
	return 0;
}

struct orma_producer_port *orma_service_producer_by_id(const struct orma_service *service,
						       uint32_t id)
{
	return orma_base_map_get(&service->producers_by_id, id);
}

/* --- data sources ----------------------------------------------------------------------------- */

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

/* From where nobody knows: producers choose the names. */
static uint64_t hash_name(const struct orma_service *service, struct orma_str text)
{
	return orma_base_fnv1a(service->name_seed, text.data, text.size);
}

struct orma_service_name *orma_service_name_find(const struct orma_service *service,
						 struct orma_str text)
{
	struct orma_service_name *name =
		orma_base_map_get(&service->by_name, hash_name(service, text));

	while (name && !orma_base_str_is(text, name->text))
		name = name->next;
	return name;
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
		name->hash = hash_name(service, text);
		orma_base_list_init(&name->data_sources);
		memcpy(name->text, text.data, text.size);
		name->next = orma_base_map_get(&service->by_name, name->hash);
		r = orma_base_map_put(&service->by_name, name->hash, name);
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
	struct orma_service_name *at = orma_base_map_get(&service->by_name, name->hash);

	if (at != name) {
		while (at->next != name)
			at = at->next;
		at->next = name->next;
	} else if (name->next) {
		/* Replacing a key that is there needs no memory. */
		(void)orma_base_map_put(&service->by_name, name->hash, name->next);
	} else {
		(void)orma_base_map_remove(&service->by_name, name->hash);
	}
	orma_base_free(name);
}

static void free_data_source(struct orma_service_data_source *data_source)
{
	struct orma_service *service = data_source->producer->service;
	struct orma_service_name *name = data_source->name;

	orma_base_list_remove(&data_source->link);
	orma_base_list_remove(&data_source->name_link);
	orma_base_list_remove(&data_source->producer_link);
	data_source->producer->data_source_count--;
	data_source->producer->descriptor_bytes -= data_source->descriptor.size;
	service->descriptor_bytes -= data_source->descriptor.size;
	service->data_source_count--;
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
	orma_base_list_append(&port->service->data_sources, &data_source->link);
	orma_base_list_append(&data_source->name->data_sources, &data_source->name_link);
	orma_base_list_append(&port->data_sources, &data_source->producer_link);
	port->data_source_count++;
	port->descriptor_bytes += size;
	port->service->descriptor_bytes += size;
	port->service->data_source_count++;
	*ret = data_source;
	return 0;
}

void orma_producer_port_close(struct orma_producer_port *port)
{
	struct orma_service *service;

	if (!port)
		return;
	service = port->service;
	while (!orma_service_leave_step(port))
		;
	orma_service_triggers_producer_left(port);
	memset(&port->callbacks, 0, sizeof(port->callbacks));
	while (!orma_base_list_is_empty(&port->data_sources)) {
		struct orma_service_data_source *data_source = ORMA_LIST_ENTRY(
			port->data_sources.next, struct orma_service_data_source, producer_link);

		orma_service_data_source_leave(data_source, true);
		free_data_source(data_source);
	}
	orma_service_flush_forget_producer(port);
	orma_base_map_remove(&service->producers_by_id, port->id);
	orma_base_list_remove(&port->link);
	service->producer_count--;
	free_producer(port);
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
	    size > ORMA_SERVICE_ALL_DESCRIPTORS_BYTES_MAX - port->service->descriptor_bytes)
		return -EINVAL;
	/* Several data sources of one name are legal; two of one id are not. */
	if (decoded->id && find_data_source(port, decoded->name, decoded->id))
		return -EEXIST;
	r = add_data_source(port, decoded, descriptor, size, &data_source);
	if (r < 0)
		return r;
	orma_service_data_source_join(data_source);
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
			    (port->service->descriptor_bytes - data_source->descriptor.size))
		return -EINVAL;
	r = orma_base_buf_append(&bytes, descriptor, size);
	if (r < 0)
		return r;
	port->descriptor_bytes += size - data_source->descriptor.size;
	port->service->descriptor_bytes += size - data_source->descriptor.size;
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
	orma_service_data_source_leave(data_source, false);
	free_data_source(data_source);
	return 0;
}

/* An instance of this very producer. */
static struct orma_service_instance *find_instance(const struct orma_producer_port *port,
						   uint64_t instance_id)
{
	struct orma_service_instance *instance =
		orma_base_map_get(&port->service->instances_by_id, instance_id);

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

/* --- what it may write to --------------------------------------------------------------------- */

struct orma_service_grant *orma_service_producer_grant(const struct orma_producer_port *port,
						       uint64_t buffer_id)
{
	for (size_t i = 0; i < port->grant_count; i++)
		if (port->grants[i].buffer_id == buffer_id)
			return &port->grants[i];
	return NULL;
}

int orma_service_producer_add_grant(struct orma_producer_port *port,
				    struct orma_service_session_buffer *buffer)
{
	if (orma_service_producer_grant(port, buffer->id))
		return 0;
	if (port->grant_count == port->grant_capacity) {
		size_t capacity = port->grant_capacity ? 2 * port->grant_capacity : 4;
		struct orma_service_grant *grants =
			orma_base_realloc_array(port->grants, capacity, sizeof(*grants));

		if (!grants)
			return -ENOMEM;
		port->grants = grants;
		port->grant_capacity = capacity;
	}
	port->grants[port->grant_count++] =
		(struct orma_service_grant){.buffer_id = buffer->id, .buffer = buffer};
	return 0;
}

void orma_service_producer_remove_grants(struct orma_producer_port *port,
					 const struct orma_service_session *session)
{
	size_t kept = 0;

	for (size_t i = 0; i < port->grant_count; i++)
		if (port->grants[i].buffer->session != session)
			port->grants[kept++] = port->grants[i];
	port->grant_count = kept;
}

void orma_producer_port_register_writer(struct orma_producer_port *port, uint32_t writer_id,
					uint32_t target_buffer)
{
	if (!port || writer_id == 0 || writer_id > ORMA_SERVICE_WRITER_ID_MAX ||
	    target_buffer > ORMA_SERVICE_BUFFER_ID_MAX)
		return;
	/* Without memory the writer is as if it had never been named: its chunks count once they
	 * are committed. */
	(void)orma_base_map_put(&port->writers, writer_id, (void *)((uintptr_t)target_buffer + 1));
}

void orma_producer_port_unregister_writer(struct orma_producer_port *port, uint32_t writer_id)
{
	if (port)
		(void)orma_base_map_remove(&port->writers, writer_id);
}

uint32_t orma_service_producer_writer_buffer(const struct orma_producer_port *port,
					     uint32_t writer_id)
{
	uintptr_t value = (uintptr_t)orma_base_map_get(&port->writers, writer_id);

	return value ? (uint32_t)(value - 1) : 0;
}
