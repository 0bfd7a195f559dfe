/* SPDX-License-Identifier: Apache-2.0
 * clone_source.c - finds the session that a consumer wants to clone, and checks that it may.
 *
 * Nothing is changed here. The checks are in the order in which the first refusal is the most useful
 * one. Rejected: telling strangers that a session does not exist (the state query hides it, but its
 * id is not a secret).
 */
#include <errno.h>
#include <string.h>

#include "base/error_message.h"
#include "base/list.h"
#include "service/clone/clone.h"
#include "service/consumer_port.h"
#include "service/output/output_file.h"
#include "service/quota.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static bool is_wanted(const struct orma_service_session *session,
		      const struct orma_clone_request *request)
{
	if (session->is_orphaned || session->state == ORMA_SERVICE_SESSION_OPENING)
		return false;
	if (request->session_id == UINT64_MAX)
		return session->state == ORMA_SERVICE_SESSION_STARTED &&
		       session->config->bugreport_score > 0;
	if (request->session_id)
		return session->id == request->session_id;
	return session->state != ORMA_SERVICE_SESSION_CLONED && request->unique_session_name &&
	       session->name[0] && strcmp(session->name, request->unique_session_name) == 0;
}

static int find_source(const struct orma_service *service, const struct orma_clone_request *request,
		       struct orma_service_session **ret, struct orma_error *reterr)
{
	struct orma_service_session *session, *best = NULL;

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		if (is_wanted(session, request) &&
		    (!best || session->config->bugreport_score > best->config->bugreport_score))
			best = session;
	*ret = best;
	if (best)
		return 0;
	if (request->session_id == UINT64_MAX)
		return orma_base_error_set(reterr, -ENOENT,
					   "session_id: no started session has a bugreport_score");
	if (request->session_id)
		return orma_base_error_set(reterr, -ENOENT, "session_id: there is no session %llu",
					   (unsigned long long)request->session_id);
	return orma_base_error_set(
		reterr, -ENOENT, "unique_session_name: there is no session \"%.64s\"",
		request->unique_session_name ? request->unique_session_name : "");
}

static int check_quota(const struct orma_consumer_port *port, struct orma_error *reterr)
{
	const struct orma_service *service = port->service;
	const struct orma_service_session *session;
	const struct orma_service_clone *clone;
	struct orma_service_quota quota = {
		.uid = port->uid,
		.has_rights = port->has_rights,
		.user_max = ORMA_SERVICE_CLONES_PER_UID,
		.shared_max = ORMA_SERVICE_CLONES_MAX,
		.first_max = ORMA_SERVICE_CLONES_FIRST,
	};

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		if (session->state == ORMA_SERVICE_SESSION_CLONED)
			orma_service_quota_add(&quota, session->uid, session->has_rights);
	ORMA_LIST_FOR_EACH (clone, &service->clones, link)
		if (!clone->is_known)
			orma_service_quota_add(&quota, clone->port->uid, clone->port->has_rights);
	return orma_service_quota_check(&quota, "clones", reterr);
}

static int check_port(const struct orma_consumer_port *port, struct orma_error *reterr)
{
	const struct orma_service *service = port->service;

	if (port->clone)
		return orma_base_error_set(reterr, -EBUSY,
					   "this consumer is cloning a session already");
	if (port->session)
		return orma_base_error_set(
			reterr, -EBUSY,
			"this consumer has a session already (FreeBuffers ends it)");
	if (service->is_shutting_down)
		return orma_base_error_set(reterr, -ESTALE, "the service is ending");
	return check_quota(port, reterr);
}

static int check_source(const struct orma_consumer_port *port,
			const struct orma_clone_request *request,
			const struct orma_service_session *source, struct orma_error *reterr)
{
	if (port->uid != 0 && port->uid != source->uid)
		return orma_base_error_set(reterr, -EACCES,
					   "session %llu belongs to user %u, whom only root may "
					   "clone",
					   (unsigned long long)source->id, (unsigned)source->uid);
	if (!source->config->write_into_file)
		return 0;
	if (request->file_fd < 0)
		return orma_base_error_set(reterr, -EINVAL,
					   "session %llu writes into a file: a clone needs a file "
					   "descriptor to copy it to",
					   (unsigned long long)source->id);
	if (!orma_service_output_is_writable(request->file_fd))
		return orma_base_error_set(reterr, -EINVAL,
					   "the file descriptor cannot be written to");
	if (!source->output.file)
		return orma_base_error_set(reterr, -ESTALE,
					   "session %llu has completed its file: copy that",
					   (unsigned long long)source->id);
	if (source->config->max_file_count)
		return orma_base_error_set(reterr, -ENOTSUP,
					   "session %llu rotates its files: copy those",
					   (unsigned long long)source->id);
	if (!port->service->files.ops.copy)
		return orma_base_error_set(reterr, -ENOTSUP,
					   "session %llu writes into a file, and this service "
					   "cannot copy files",
					   (unsigned long long)source->id);
	return 0;
}

static int check_name(const char *name, const char *field, struct orma_error *reterr)
{
	if (!name || strnlen(name, ORMA_SERVICE_NAME_BYTES_MAX + 1) <= ORMA_SERVICE_NAME_BYTES_MAX)
		return 0;
	return orma_base_error_set(reterr, -EINVAL, "%s: longer than %u bytes", field,
				   ORMA_SERVICE_NAME_BYTES_MAX);
}

/* The clone keeps these fields of the request. */
static int check_trigger(const struct orma_clone_request *request, struct orma_error *reterr)
{
	int r = check_name(request->trigger_name, "clone_trigger_name", reterr);

	return r < 0 ? r
		     : check_name(request->trigger_producer_name, "clone_trigger_producer_name",
				  reterr);
}

int orma_service_clone_find_source(const struct orma_consumer_port *port,
				   const struct orma_clone_request *request,
				   struct orma_service_session **ret, struct orma_error *reterr)
{
	struct orma_service_session *source = NULL;
	int r = check_port(port, reterr);

	if (r == 0)
		r = find_source(port->service, request, &source, reterr);
	if (r == 0)
		r = check_source(port, request, source, reterr);
	if (r == 0)
		r = check_trigger(request, reterr);
	if (r == 0)
		*ret = source;
	return r;
}
