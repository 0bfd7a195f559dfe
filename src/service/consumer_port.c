/* SPDX-License-Identifier: Apache-2.0
 * consumer_port.c - consumers: their ports, and the calls that act on a consumer's session.
 *
 * A consumer has at most one session. Closing its port, or freeing the buffers, abandons the
 * session: it ends, its file is completed, and then it is freed (session_life.c). Detaching keeps
 * the session running under a key that only the same user can name. Rejected: several sessions per
 * consumer (the protocol's calls name none), an empty detach key (upstream: it matches any attached
 * session of that user).
 */
#include "service/consumer_port.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/list.h"
#include "base/options.h"
#include "service/clone/clone.h"
#include "service/flush.h"
#include "service/output/output_compress.h"
#include "service/read/read_large.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_life.h"
#include "service/session_state.h"
#include "service/steps.h"

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
	if (service->consumers.count >= ORMA_SERVICE_CONSUMERS_MAX)
		return -ENOSPC;
	port = orma_base_zalloc(sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->callbacks = own_callbacks;
	port->service = service;
	port->ctx = ctx;
	port->uid = whole.uid;
	port->pid = whole.pid;
	port->has_rights = !whole.is_unverified && (whole.uid == 0 || whole.uid == service->uid);
	orma_base_list_append(&service->consumers.list, &port->link);
	service->consumers.count++;
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
	ORMA_ASSERT(!port->session && !port->clone);
	orma_base_list_remove(&port->link);
	port->service->consumers.count--;
	orma_base_free(port);
}

int orma_consumer_port_start(struct orma_consumer_port *port, struct orma_error *reterr)
{
	if (!port)
		return orma_base_error_set(reterr, -EINVAL, "there is no port");

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
	if (port && port->session)
		orma_service_session_disable(port->session, false, NULL);
}

void orma_consumer_port_free_buffers(struct orma_consumer_port *port)
{
	if (!port)
		return;

	struct orma_service_session *session = port->session;

	if (!session)
		return;
	orma_service_session_say_disabled(session);
	orma_service_flush_cancel_all(session);
	orma_service_session_abandon(session, NULL);
}

int orma_consumer_port_flush(struct orma_consumer_port *port, uint32_t timeout_ms, uint64_t flags,
			     orma_flush_done_fn *done, void *done_ctx)
{
	if (!port)
		return -EINVAL;
	/* Before its file exists no producer knows the session, so there is nothing to flush. */
	bool is_opening = port->session && port->session->state == ORMA_SERVICE_SESSION_OPENING;

	if (!port->session || is_opening) {
		if (done)
			done(done_ctx, is_opening);
		return 0;
	}
	orma_service_flush_begin(port->session, timeout_ms, flags, NULL, done, done_ctx);
	return 0;
}

static int read_batch(struct orma_consumer_port *port, size_t max_bytes, bool takes_parts,
		      struct orma_trace_batch *ret)
{
	if (!port || !ret)
		return -EINVAL;

	struct orma_service *service = port->service;
	int r;

	if (!port->session)
		return -ENOENT;
	if (port->session->config->write_into_file)
		return -EBUSY;
	r = orma_service_read_out(port->session, max_bytes, takes_parts);
	if (r < 0)
		return r;
	ret->slices = service->batch.slices;
	ret->count = service->batch.count;
	ret->has_more = r > 0;
	return 0;
}

int orma_consumer_port_read(struct orma_consumer_port *port, size_t max_bytes,
			    struct orma_trace_batch *ret)
{
	return read_batch(port, max_bytes, false, ret);
}

int orma_service_read_step(struct orma_consumer_port *port, size_t max_bytes,
			   struct orma_trace_batch *ret)
{
	return read_batch(port, max_bytes, true, ret);
}

void orma_service_read_restart(struct orma_consumer_port *port)
{
	if (port->session)
		orma_service_large_restart(port->session);
}

/* --- detach and attach ------------------------------------------------------------------------ */

static struct orma_service_session *find_detached(struct orma_service *service, uid_t uid,
						  const char *key)
{
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link) {
		if (session->detach_key && session->uid == uid &&
		    strcmp(session->detach_key, key) == 0)
			return session;
	}
	return NULL;
}

int orma_consumer_port_detach(struct orma_consumer_port *port, const char *key)
{
	if (!port)
		return -EINVAL;

	struct orma_service_session *session = port->session;

	if (!key || !*key || strlen(key) > ORMA_SERVICE_NAME_BYTES_MAX)
		return -EINVAL;
	if (!session)
		return -ENOENT;
	/* A session that has reported its end is freed by its consumer, so a detached one would leak. Until
	 * then, also while its file is completed, it can be detached, and is freed at its end. */
	if (session->has_said_disabled)
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

	if (!port || !key || !*key)
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
