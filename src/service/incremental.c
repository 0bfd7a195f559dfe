/* SPDX-License-Identifier: Apache-2.0
 * incremental.c - decides when producers begin their incremental state anew.
 *
 * A sequence writes names, clocks and defaults once and refers to them afterwards. When a ring
 * overwrites the packets that declared them, a reader drops every packet of the sequence up to the
 * next one that begins a new state. Two rules say when the service asks for one:
 *
 *   by time   If the config has clear_period_ms, all instances of the session are asked once per
 *             period. A period of 0 switches both rules off.
 *   by bytes  If the config does not have it, the instances that write into a ring are asked each
 *             time that a share of the ring was written.
 *
 * THE SHARE. A reader cannot use the packets of a sequence between the oldest byte of the ring and
 * the first state in it. With one state per share that is half a share on average and a share at
 * most, plus what was written while the request was on its way. Losing 5 % of the ring is
 * acceptable. The share is a 32nd part, which is 3 %. The other 2 % are for what is written until
 * producers obey, because a small ring is filled in milliseconds. Data arrives in chunks, so a
 * share has a minimum. The request goes out from a timer that is due at once, because callbacks
 * must not come back into the service in the middle of a commit.
 *
 * THE COST OF STATES. Let n sequences write into a ring of R bytes, and let a state take s bytes,
 * 200 to 300. A library that begins a state at each request spends x = n s / share of the ring on
 * states, and loses (1 + x) / 2 of a share, because a round whose state is lost is lost as a whole.
 * To lose at most 5 % it needs n s / R <= 0.1 x / (1 + x). When states may take half of the ring,
 * that is R >= 30 n s, which is 7.5 KB per thread; 100 threads in 512 KiB would have to spend 91 %
 * on states. No size of a share changes that. Therefore this library begins at most one state per
 * chunk, and does so at the beginning of the chunk (client/thread.c): a ring loses whole chunks, so
 * more is of no use. Then states take s / max(chunk, share / n) of the ring. That is 7 % with
 * chunks of 4 KiB, and a fifth with the smaller ones that many threads get. When each chunk has a
 * state, nearly nothing is lost.
 *
 * Measured with 280,000 slices per second, with this library and with one that begins a state at
 * each request; the events of the ring, and how many of them decode:
 *
 * 	                      this library     a state at each request
 * 	512 KiB, 100 threads   25,800  99.6 %   12,900  93 %
 * 	512 KiB, 200 threads   18,900  98 %      8,400  88 %
 * 	64 KiB,   16 threads    3,400  99.5 %    3,200  77 %
 * 	64 KiB,  200 threads    2,050  95 %      1,300  62 %
 * 	2 MiB,   100 threads  106,000  99.9 %   69,500  98 %
 *
 * Without states the ring of 512 KiB holds 32,000 events, none of which decode.
 *
 * THE COST OF A REQUEST. A thread needs about 1 us for a state of 300 bytes, and 5 us when neither
 * its code nor its data is in the caches. Take 40 million events per second of 12.5 bytes each, and
 * a ring of 512 KiB, whose share is 16 KiB. A share is written in 32 us, so states take 3 % of the
 * thread's time. To stay below 2 %, requests must be at least 50 us apart, or 250 us with cold
 * caches. The thread writes 26 KB in 50 us, which is a 20th part of the ring, so it uses up the
 * whole 5 % and leaves nothing for chunks and for the time until producers obey. Even a state that
 * cost no more per byte than events would take 300 bytes of 16 KiB, which is 1.8 %. So a ring that
 * is filled within a few milliseconds cannot have both low loss and low cost. The share of a ring
 * of 2 MiB takes four times as long, and there is room for both.
 *
 * A producer is asked only if it has written into the ring since the last request. The first packet
 * of a silent producer begins a new state anyway. So a busy program wakes no idle ones, and a
 * program that was stopped in a debugger finds one request, not a queue of them.
 *
 * A buffer that discards keeps the packets with declarations, so the rule by bytes does not apply to
 * it. For a ring that is drained into a file they are in the file. Such a ring sends a request after a
 * share only if it has overwritten chunks that were not read. With max_file_count each file must be
 * readable alone. Then the rule applies to discarding buffers as well, and a share is a 32nd part of
 * the file if the file is smaller than the buffer; output_rotate.c depends on this.
 *
 * Rejected: a period in the recorder's default configs (a ring may wrap in 50 ms or in a week, and
 * a config made by hand would have no period); renewal by the library after some bytes (it does not
 * know the size of the ring, and upstream's SDKs would not profit); a share that grows with the
 * number of sequences, up to a 16th part (with a state at each request, 30 and 60 threads in 512
 * KiB kept no more events than before); a minimum of time between requests (see above); rebuilding
 * lost state in the service (it would have to understand each data source's state, such as the
 * differences of timestamps and counters).
 */
#include "service/incremental.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "schema/gen/trace_config.pb.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/source_instance.h"
#include "service/timer.h"

/* True when the instance is to be asked. */
typedef bool is_concerned_fn(const struct orma_service_instance *instance);

static size_t collect(const struct orma_producer_port *port,
		      const struct orma_service_session *session, is_concerned_fn *is_concerned,
		      uint64_t *ids)
{
	const struct orma_service_instance *instance;
	size_t count = 0;

	ORMA_LIST_FOR_EACH (instance, &port->instances, producer_link)
		if (instance->session == session &&
		    instance->data_source->handles_incremental_state_clear &&
		    is_concerned(instance))
			ids[count++] = instance->id;
	return count;
}

/* When out of memory, no producer is asked; the next request makes up for it. */
static void ask(struct orma_service_session *session, is_concerned_fn *is_concerned)
{
	uint64_t *ids = orma_base_alloc_array(session->instances.count + 1, sizeof(*ids));
	struct orma_producer_port *port;

	if (!ids)
		return;
	ORMA_LIST_FOR_EACH (port, &session->service->producers.list, link) {
		size_t count = collect(port, session, is_concerned, ids);

		if (count && port->callbacks.clear_incremental_state)
			port->callbacks.clear_incremental_state(port->ctx, ids, count);
	}
	orma_base_free(ids);
}

static bool concerns_all(const struct orma_service_instance *instance)
{
	(void)instance;
	return true;
}

void orma_service_incremental_clear(struct orma_service_session *session)
{
	ask(session, concerns_all);
}

/* --- by time ---------------------------------------------------------------------------------- */

static void on_period(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, incremental.timer);

	orma_service_arm_aligned(session->service, timer, session->incremental.period_ms);
	ask(session, concerns_all);
}

void orma_service_incremental_start(struct orma_service_session *session)
{
	if (!session->incremental.period_ms)
		return;
	session->incremental.timer.fn = on_period;
	orma_service_arm_aligned(session->service, &session->incremental.timer,
				 session->incremental.period_ms);
}

/* --- by bytes --------------------------------------------------------------------------------- */

void orma_service_incremental_init(struct orma_service_session *session,
				   struct orma_service_session_buffer *buffer,
				   enum orma_trace_buffer_policy policy)
{
	const struct orma_pb_trace_config *config = session->config;
	const struct orma_pb_trace_config_incremental_state_config *wanted =
		config->incremental_state_config;
	uint64_t bytes = orma_trace_buffer_size_bytes(buffer->trace_buffer);

	if ((policy != ORMA_TRACE_BUFFER_RING && !config->max_file_count) ||
	    (wanted && orma_pb_trace_config_incremental_state_config_has_clear_period_ms(wanted)))
		return;
	if (config->max_file_count)
		bytes = ORMA_MIN(bytes, config->max_file_size_bytes);
	buffer->clear_share_bytes = ORMA_MAX(bytes / ORMA_SERVICE_CLEARS_PER_RING,
					     (uint64_t)ORMA_SERVICE_CLEAR_BYTES_MIN);
}

static struct orma_service_grant *get_grant(const struct orma_service_instance *instance)
{
	return orma_service_producer_grant(
		instance->producer, instance->session->buffers[instance->source->buffer_idx].id);
}

static bool has_written_its_share(const struct orma_service_instance *instance)
{
	const struct orma_service_grant *grant = get_grant(instance);

	return grant && grant->has_written && grant->buffer->is_clear_due;
}

static void on_share_written(struct orma_service_timer *timer)
{
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(timer, struct orma_service_session, incremental.timer);
	struct orma_service_instance *instance;

	ask(session, has_written_its_share);
	ORMA_LIST_FOR_EACH (instance, &session->instances.list, session_link)
		if (has_written_its_share(instance))
			get_grant(instance)->has_written = false;
	for (size_t i = 0; i < session->buffer_count; i++)
		session->buffers[i].is_clear_due = false;
}

/*
 * The bytes until the next request. Bytes arrive by the chunk, and a chunk of upstream's writers is
 * nearly as large as a share of 512 KiB. So the request goes out at the chunk that ends nearest to
 * the share, and not after it.
 */
static uint64_t get_share_bytes(const struct orma_service_session_buffer *buffer,
				const struct orma_trace_buffer_stats *stats)
{
	uint64_t chunk_bytes = stats->bytes_written / ORMA_MAX(stats->chunks_written, (uint64_t)1);
	uint64_t early_bytes = ORMA_MIN(chunk_bytes / 2, buffer->clear_share_bytes);

	return ORMA_MAX(buffer->clear_share_bytes - early_bytes,
			(uint64_t)ORMA_SERVICE_CLEAR_BYTES_MIN);
}

void orma_service_incremental_written(struct orma_service_grant *grant)
{
	struct orma_service_session_buffer *buffer = grant->buffer;
	struct orma_service_session *session = buffer->session;
	struct orma_service *service = session->service;
	const struct orma_trace_buffer_stats *stats = orma_trace_buffer_stats(buffer->trace_buffer);

	ORMA_ASSERT(grant->buffer_id == buffer->id);
	grant->has_written = true;
	/* If a clone has taken the trace buffer and left a new one, the difference wraps around, and
	 * a request is sent. */
	if (!buffer->clear_share_bytes ||
	    stats->bytes_written - buffer->cleared_at_bytes < get_share_bytes(buffer, stats) ||
	    session->state != ORMA_SERVICE_SESSION_STARTED)
		return;
	if (session->output.file && !session->output.max_files &&
	    stats->bytes_overwritten == buffer->overwritten_at_bytes)
		return;
	buffer->cleared_at_bytes = stats->bytes_written;
	buffer->overwritten_at_bytes = stats->bytes_overwritten;
	buffer->is_clear_due = true;
	orma_service_timer_arm(&service->timers, &session->incremental.timer,
			       orma_service_now_ns(service), on_share_written);
}
