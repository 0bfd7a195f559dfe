/* SPDX-License-Identifier: Apache-2.0
 * output_create.c - output_path: a session waits until its file has been created.
 *
 *   OPENING --created--> checked once more --> begins, as any other
 *           --failed, 10 s, stopped, consumer gone--> DISABLED, closing --closed--> freed
 *
 * A path may lead to a file system that never answers, so the embedder creates the file on a thread
 * of its own, and an event reports the result. Until then the session is in the list and has its
 * name and its share of the limits, but no instances: no producer knows it, no other session ends
 * for it, no lockdown changes. A failure reaches the consumer like any other end, as soon as it is
 * known, and the consumer is free to begin another session. An abandoned session still counts
 * against its user's limit until its thread returns. So a user that names hanging paths uses up its
 * own sessions, and not the daemon's threads. Rejected: holding back the consumer's further calls
 * meanwhile (handling each of them here takes one line), looking at the path first (that
 */
#include "service/output/output_create.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "service/output/output_file.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_events.h"
#include "service/session_state.h"
#include "service/timer.h"

bool orma_service_creation_is_wanted(const struct orma_service_session *session)
{
	const struct orma_service_file_ops *ops = &session->service->files.ops;

	return session->output.path &&
	       (session->has_rights ? ops->create != NULL : ops->create_for_other != NULL);
}

static void on_timeout(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, output.step_timer);
	char text[128];

	snprintf(text, sizeof(text),
		 "output_path: the file system has not answered for %u s; nothing is recorded",
		 ORMA_SERVICE_FILE_CREATE_MS / 1000);
	session->service->events->must_end(session, true, text);
}

int orma_service_creation_refuse(struct orma_error *reterr)
{
	return orma_base_error_set(
		reterr, -EACCES,
		"output_path: this service creates files only for root and its own user; leave it "
		"out and pass a file descriptor, as `orma record --out FILE` does, or start the "
		"service with `orma traced --output-dir DIR`");
}

/* Creates the file with the service's own rights or, for other users, only where their files may
 * be. */
static int create(struct orma_service_session *session, struct orma_error *reterr)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	const struct orma_file_request request = {
		.struct_size = sizeof(request),
		.path = output->path,
		.count = output->max_files,
		.session_id = session->id,
		.uid = session->uid,
	};
	int r;

	if (session->has_rights)
		return service->files.ops.create(service->files.ctx, output->path,
						 output->max_files, session->id, &output->file);
	r = service->files.ops.create_for_other(service->files.ctx, &request, &output->file,
						reterr);
	return r == -EACCES && !reterr->message[0] ? orma_service_creation_refuse(reterr) : r;
}

int orma_service_creation_begin(struct orma_service_session *session, struct orma_error *reterr)
{
	struct orma_service *service = session->service;
	int r = create(session, reterr);

	if (r < 0 && reterr->message[0])
		return r;
	if (r < 0)
		return orma_base_error_set(reterr, r, "output_path: the file cannot be used");
	session->state = ORMA_SERVICE_SESSION_OPENING;
	orma_service_timer_arm(&service->timers, &session->output.step_timer,
			       orma_service_now_ns(service) +
				       ORMA_SERVICE_FILE_CREATE_MS * ORMA_NS_PER_MS,
			       on_timeout);
	return 0;
}

/* May free the session. */
void orma_service_creation_event(struct orma_service_session *session, int status)
{
	char text[160];

	if (status == ORMA_FILE_CREATED) {
		orma_service_timer_disarm(&session->output.step_timer);
		session->service->events->created(session);
		return;
	}
	if (status >= 0)
		return;
	if (status == -ENOTUNIQ)
		snprintf(text, sizeof(text),
			 "max_file_count: a file called output_path with a number below %u exists "
			 "already and is not of this series",
			 session->output.max_files);
	else if (status == -EBUSY)
		snprintf(text, sizeof(text), "output_path: another session writes into it");
	else
		orma_service_output_explain(text, sizeof(text),
					    "output_path: the file cannot be created", -status);
	session->service->events->must_end(session, true, text);
}
