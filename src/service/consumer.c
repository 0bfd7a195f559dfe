/* SPDX-License-Identifier: Apache-2.0
 * consumer.c - consumers: opening and closing their ports, and the calls that act on a consumer's
 * session.
 *
 * A consumer has at most one session. Closing its port, or freeing the buffers, lets go of the
 * session: it ends, its file is completed, and then it goes away by itself (session.c). Detaching
 * keeps it running under a key that only the same user can name. Rejected: several sessions per
 * consumer (the protocol's calls name none), an empty detach key (upstream: it matches any attached
 * session of that user).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "service/state.h"

int orma_consumer_port_open(struct orma_service *service, const struct orma_consumer_info *info,
			    const struct orma_consumer_callbacks *callbacks, void *ctx,
			    struct orma_consumer_port **ret)
{
	struct orma_consumer_info whole = {0};
	struct orma_consumer_callbacks own_callbacks = {0};
	struct orma_consumer_port *port;

	if (!service || !info || !callbacks || !ret ||
	    orma_base_options_copy(&whole, sizeof(whole), info) < 0 ||
	    orma_base_options_copy(&own_callbacks, sizeof(own_callbacks), callbacks) < 0)
		return -EINVAL;
	if (service->consumer_count >= ORMA_SERVICE_CONSUMERS_MAX)
		return -ENOSPC;
	port = orma_base_zalloc(sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->callbacks = own_callbacks;
	port->service = service;
	port->ctx = ctx;
	port->uid = whole.uid;
	port->pid = whole.pid;
	orma_base_list_append(&service->consumers, &port->link);
	service->consumer_count++;
	*ret = port;
	return 0;
}

void orma_consumer_port_close(struct orma_consumer_port *port)
{
	if (!port)
		return;
	memset(&port->callbacks, 0, sizeof(port->callbacks));
	orma_service_clone_cancel(port->clone);
	if (port->session)
		orma_service_session_abandon(port->session, NULL);
	orma_base_list_remove(&port->link);
	port->service->consumer_count--;
	orma_base_free(port);
}

int orma_consumer_port_start(struct orma_consumer_port *port, struct orma_error *reterr)
{
	struct orma_service_session *session = port->session;

	if (!session)
		return orma_base_error_set(reterr, -ENOENT,
					   "this consumer has no session to start");
	if (session->state == ORMA_SERVICE_SESSION_OPENING && !session->starts_when_created) {
		session->starts_when_created = true;
		return 0;
	}
	if (session->state != ORMA_SERVICE_SESSION_CONFIGURED)
		return orma_base_error_set(reterr, -EBUSY,
					   "the session cannot be started: it is %s",
					   orma_service_session_state_name(session));
	orma_service_session_start(session);
	return 0;
}

void orma_consumer_port_disable(struct orma_consumer_port *port)
{
	if (port->session)
		orma_service_session_disable(port->session, false, NULL);
}

void orma_consumer_port_free_buffers(struct orma_consumer_port *port)
{
	struct orma_service_session *session = port->session;

	if (!session)
		return;
	if (!session->has_said_disabled && port->callbacks.tracing_disabled) {
		session->has_said_disabled = true;
		port->callbacks.tracing_disabled(port->ctx,
						 session->error[0] ? session->error : NULL);
	}
	orma_service_flush_cancel_all(session);
	orma_service_session_abandon(session, NULL);
}

int orma_consumer_port_flush(struct orma_consumer_port *port, uint32_t timeout_ms, uint64_t flags,
			     orma_flush_done_fn *done, void *done_ctx)
{
	/* Before the file is there no producer knows of the session: there is nothing to ask for. */
	bool is_opening = port->session && port->session->state == ORMA_SERVICE_SESSION_OPENING;

	if (!port->session || is_opening) {
		if (done)
			done(done_ctx, is_opening);
		return 0;
	}
	return orma_service_flush_begin(port->session, timeout_ms, flags, NULL, done, done_ctx);
}

int orma_consumer_port_read(struct orma_consumer_port *port, size_t max_bytes,
			    struct orma_trace_batch *ret)
{
	struct orma_service *service = port->service;
	int r;

	if (!port->session)
		return -ENOENT;
	if (port->session->config->write_into_file)
		return -EBUSY;
	r = orma_service_read_out(port->session, max_bytes);
	if (r < 0)
		return r;
	ret->slices = service->batch.slices;
	ret->count = service->batch.count;
	ret->has_more = r > 0;
	return 0;
}

/* --- detach and attach ------------------------------------------------------------------------ */

static struct orma_service_session *find_detached(struct orma_service *service, uid_t uid,
						  const char *key)
{
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &service->sessions, link) {
		if (session->detach_key && session->uid == uid &&
		    strcmp(session->detach_key, key) == 0)
			return session;
	}
	return NULL;
}

int orma_consumer_port_detach(struct orma_consumer_port *port, const char *key)
{
	struct orma_service_session *session = port->session;

	if (!key || !*key || strlen(key) > ORMA_SERVICE_NAME_BYTES_MAX)
		return -EINVAL;
	if (!session)
		return -ENOENT;
	/* Nobody would ever free what has ended already. */
	if (session->state == ORMA_SERVICE_SESSION_DISABLED ||
	    session->state == ORMA_SERVICE_SESSION_CLONED)
		return -ESTALE;
	if (find_detached(port->service, port->uid, key))
		return -EEXIST;
	session->detach_key = orma_base_strdup(key);
	if (!session->detach_key)
		return -ENOMEM;
	orma_service_flush_forget_consumer(session, false);
	session->consumer = NULL;
	port->session = NULL;
	return 0;
}

int orma_consumer_port_attach(struct orma_consumer_port *port, const char *key)
{
	struct orma_service_session *session;

	if (!key || !*key)
		return -EINVAL;
	if (port->session || port->clone)
		return -EEXIST;
	session = find_detached(port->service, port->uid, key);
	if (!session)
		return -ENOENT;
	orma_base_free(session->detach_key);
	session->detach_key = NULL;
	session->consumer = port;
	port->session = session;
	return 0;
}

/* --- changing the config ---------------------------------------------------------------------- */

static bool has_name(const struct orma_service_source *source, struct orma_str name)
{
	for (size_t i = 0; i < source->producer_name_count; i++)
		if (orma_base_str_is(name, source->producer_names[i]))
			return true;
	return false;
}

/* How many names of `wanted` the source does not have. */
static size_t count_new_names(const struct orma_service_source *source,
			      const struct orma_pb_trace_config_data_source *wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < wanted->producer_name_filter.count; i++)
		count += !has_name(source, wanted->producer_name_filter.items[i]);
	return count;
}

/* 1 = names were added, 0 = there are no new ones, -EMSGSIZE, -ENOMEM. */
static int add_names(struct orma_service_session *session, struct orma_service_source *source,
		     const struct orma_pb_trace_config_data_source *wanted)
{
	size_t added, count = source->producer_name_count;
	const char **names;

	if (wanted->producer_name_filter.count > ORMA_SERVICE_FILTERS_PER_SOURCE)
		return -EMSGSIZE;
	added = count_new_names(source, wanted);
	if (added == 0)
		return 0;
	if (added > ORMA_SERVICE_FILTERS_PER_SOURCE - count)
		return -EMSGSIZE;
	names = orma_base_arena_alloc(&session->arena, (count + added) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	if (count)
		memcpy(names, source->producer_names, count * sizeof(*names));
	for (size_t i = 0; i < wanted->producer_name_filter.count; i++) {
		struct orma_str name = wanted->producer_name_filter.items[i];

		if (has_name(source, name))
			continue;
		names[count] = orma_base_arena_strdup(&session->arena, name);
		if (!names[count++])
			return -ENOMEM;
	}
	source->producer_names = names;
	source->producer_name_count = count;
	return 1;
}

static bool has_instance(const struct orma_service_source *source,
			 const struct orma_service_data_source *data_source)
{
	struct orma_service_instance *instance;

	ORMA_LIST_FOR_EACH (instance, &data_source->instances, source_link) {
		if (instance->source == source)
			return true;
	}
	return false;
}

/* The source has got the names from `first` on. */
static bool is_of_new_name(const struct orma_service_source *source, size_t first,
			   const struct orma_producer_port *producer)
{
	for (size_t i = first; i < source->producer_name_count; i++)
		if (strcmp(source->producer_names[i], producer->name) == 0)
			return true;
	return false;
}

static int join_new(struct orma_service_session *session, struct orma_service_source *source,
		    size_t first_name)
{
	struct orma_service_name *name =
		orma_service_name_find(session->service, orma_base_str(source->name));
	struct orma_service_data_source *data_source;
	struct orma_service_instance *instance;

	if (!name || session->state == ORMA_SERVICE_SESSION_OPENING)
		return 0;
	ORMA_LIST_FOR_EACH (data_source, &name->data_sources, name_link) {
		int r;

		if (!is_of_new_name(source, first_name, data_source->producer) ||
		    has_instance(source, data_source))
			continue;
		if (orma_service_instances_are_full(session, 0))
			return 0;
		r = orma_service_instance_new(session, source, data_source, &instance);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		orma_service_instance_setup(instance);
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_instance_start(instance);
	}
	return 0;
}

/* The entry of the same name, and of the same place among those of that name. */
static const struct orma_pb_trace_config_data_source *
find_entry(const struct orma_pb_trace_config *config, const struct orma_service_session *session,
	   size_t source_idx)
{
	const char *name = session->sources[source_idx].name;
	size_t place = 0;

	for (size_t i = 0; i < source_idx; i++)
		place += strcmp(session->sources[i].name, name) == 0;
	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_trace_config_data_source *entry =
			config->data_sources.items[i];

		if (entry->config && orma_base_str_is(entry->config->name, name) && place-- == 0)
			return entry;
	}
	return NULL;
}

int orma_consumer_port_change_config(struct orma_consumer_port *port, const void *config,
				     size_t size)
{
	ORMA_AUTO(orma_base_arena_done)
	struct orma_arena arena = {.limit_bytes = ORMA_SERVICE_CONFIG_ARENA_MAX};
	struct orma_service_session *session = port->session;
	struct orma_pb_trace_config *wanted;
	int r;

	if (!session)
		return -ENOENT;
	if (size > ORMA_SERVICE_CONFIG_BYTES_MAX)
		return -EMSGSIZE;
	if (session->state != ORMA_SERVICE_SESSION_CONFIGURED &&
	    session->state != ORMA_SERVICE_SESSION_OPENING &&
	    session->state != ORMA_SERVICE_SESSION_STARTED)
		return -ESTALE;
	r = orma_proto_decode(&orma_pb_trace_config_desc, config, size, &arena, &wanted);
	if (r >= 0 && wanted->data_sources.count > ORMA_SERVICE_SOURCES_PER_CONFIG)
		return -EMSGSIZE;
	for (size_t i = 0; i < session->source_count && r >= 0; i++) {
		struct orma_service_source *source = &session->sources[i];
		size_t count_before = source->producer_name_count;
		const struct orma_pb_trace_config_data_source *entry;

		/* A source without a filter takes every producer already: only additions count. */
		if (source->producer_name_count + source->producer_regex_count == 0)
			continue;
		entry = find_entry(wanted, session, i);
		if (!entry)
			continue;
		r = add_names(session, source, entry);
		if (r > 0)
			r = join_new(session, source, count_before);
	}
	return ORMA_MIN(r, 0);
}
