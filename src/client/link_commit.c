/* SPDX-License-Identifier: Apache-2.0
 * link_commit.c - sending chunks and acknowledgements of flushes over a link.
 *
 * The arbiter's eventfd wakes the loop when writers have finished chunks. They are gathered for
 * ORMA_CLIENT_COMMIT_NS unless the program has chosen another time, or sent at once when memory runs low. New
 * writers are announced after ORMA_CLIENT_COMMIT_NS in any case.
 *
 * Flushes are acknowledged in the order of their arrival, because an acknowledgement also stands for
 * all earlier flushes; and only when everything before them was sent. Rejected: the acknowledgement
 * inside the last batch of chunks (a batch may have to wait for room).
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "client/client_flush.h"
#include "client/link.h"
#include "shm/view.h"

static uint64_t gather_ns = ORMA_CLIENT_COMMIT_NS;

void orma_client_link_gather_for(uint64_t ns)
{
	gather_ns = ns;
}

static void on_commit_timer(struct orma_timer *timer)
{
	orma_client_link_commit(ORMA_CONTAINER_OF(timer, struct orma_client_link, commit_timer));
}

/* False: no memory for the timer. */
static bool commit_in(struct orma_client_link *link, uint64_t ns)
{
	return orma_base_loop_arm_in(link->loop, &link->commit_timer, ns, on_commit_timer) == 0;
}

static void on_arbiter_wake(struct orma_watch *watch, unsigned ready)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(watch, struct orma_client_link, arbiter_watch);

	(void)ready;
	switch (orma_shm_arbiter_wanted(link->memory->arbiter)) {
	case ORMA_SHM_WANTED_NOW:
		orma_client_link_commit(link);
		break;
	case ORMA_SHM_WANTED_SOON:
		if (!commit_in(link, ORMA_CLIENT_COMMIT_NS))
			orma_client_link_commit(link);
		break;
	case ORMA_SHM_WANTED_LATER:
		if (!link->commit_timer.is_armed && !commit_in(link, gather_ns))
			orma_client_link_commit(link);
		break;
	case ORMA_SHM_WANTED_NOTHING:
		break;
	}
}

static void send_batch(struct orma_client_link *link, const struct orma_shm_batch *batch)
{
	struct orma_client_endpoint *endpoint = link->endpoint;

	for (size_t i = 0; i < batch->registered_count; i++)
		orma_client_endpoint_register_writer(endpoint, batch->registered[i].writer_id,
						     batch->registered[i].target_buffer);
	if (batch->commit.move_count > 0 || batch->commit.patch_count > 0)
		orma_client_endpoint_commit(endpoint, &batch->commit);
	for (size_t i = 0; i < batch->unregistered_count; i++)
		orma_client_endpoint_unregister_writer(endpoint, batch->unregistered[i].writer_id);
}

/* Sends what was pushed before the call. Later pushes wake the loop again, so that fast threads cannot
 * keep it here. False: the rest has to wait for room. */
static bool send_ready(struct orma_client_link *link)
{
	struct orma_shm_arbiter *arbiter = link->memory->arbiter;
	struct orma_shm_batch batch;

	ORMA_ASSERT(link->is_committing);
	orma_shm_arbiter_gather(arbiter);
	do {
		if (!orma_client_endpoint_has_room(link->endpoint))
			return false;
		if (!orma_shm_arbiter_take_commit(arbiter, &batch))
			break;
		send_batch(link, &batch);
		orma_shm_arbiter_commit_done(arbiter);
	} while (batch.has_more);
	return true;
}

static void send_incomplete(struct orma_client_link *link)
{
	struct orma_shm_arbiter *arbiter = link->memory->arbiter;
	struct orma_shm_batch batch;
	struct orma_shm_view_position position = {0};

	while (orma_shm_arbiter_take_incomplete(arbiter, &position, &batch)) {
		send_batch(link, &batch);
		orma_shm_arbiter_commit_done(arbiter);
	}
}

static void acknowledge_flushes(struct orma_client_link *link)
{
	struct orma_commit commit = {0};
	struct orma_client_flush *flush;

	while ((flush = orma_client_flush_take_finished(&link->flushes))) {
		commit.flush_request_id = flush->request_id;
		orma_base_free(flush);
	}
	if (commit.flush_request_id == 0)
		return;
	if (link->memory && link->wants_incomplete)
		send_incomplete(link);
	orma_client_endpoint_commit(link->endpoint, &commit);
}

void orma_client_link_commit(struct orma_client_link *link)
{
	/* is_committing: a writer of this thread has stalled during a commit. */
	if (!link->endpoint || link->is_committing)
		return;
	link->is_committing = true;
	orma_base_timer_disarm(&link->commit_timer);
	/* Arming a loop's first timer takes memory. If it fails, the next flush or stop commits the
	 * rest. */
	if (!link->memory || send_ready(link))
		acknowledge_flushes(link);
	else
		(void)commit_in(link, ORMA_CLIENT_COMMIT_NS);
	link->is_committing = false;
}

int orma_client_link_watch_arbiter(struct orma_client_link *link)
{
	return orma_base_loop_watch(link->loop, &link->arbiter_watch,
				    orma_shm_arbiter_wake_fd(link->memory->arbiter), ORMA_LOOP_READ,
				    on_arbiter_wake);
}
