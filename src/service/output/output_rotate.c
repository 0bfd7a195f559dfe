/* SPDX-License-Identifier: Apache-2.0
 * output_rotate.c - max_file_count: a file that is nearly full is put aside, and the session goes
 * on in a new one.
 *
 *   NONE --only the reserve is left--> ASKED --flush answered--> ANSWERED --buffers read--> NONE
 *   packets of a sequence:   ....NNNNNNNNNNN | CNNNNNNNNNNNN....    C begins a state, N needs it
 *                            this file         held for the next one
 *
 * Each file can be read by itself: it begins with what the first one began with (clocks, marker,
 * config, uuid, provenance, system), and each sequence in it begins a new incremental state.
 * Concatenated, the files are the whole trace, and each sequence is in order.
 *
 * THE CUT. When only the reserve of a file is left, the service asks for clearing of incremental
 * state and then for a flush. Producers obey in this order, so after the flush's answer every later
 * event of a sequence follows a packet that begins a state. From the request on, packets of a
 * sequence go into the old file up to the first one that begins a state; this one and all after it
 * are held, already filtered and not yet compressed, for the next file (output_hold.c). A sequence
 * that has no state stays in the old file. When the flush is answered and the buffers were read
 * once more, the next file begins: initial packets, held packets, and so on. Both the answer and
 * the rest of a packet whose beginning has arrived are waited for up to a second.
 *
 * THE RESERVE is a quarter of the file (8 MiB at most), or twice what recently came in at once if
 * that is more, but at most 5/8 of the file. To notice in time that a file fills, the buffers are
 * drained whenever an eighth of the reserve came in, not only each file_write_period_ms.
 *
 * LIMITS. In these cases a file begins with events that do not decode; none is lost:
 *   - The old file is full before the answers came (the reserve was too small), or held packets
 *     fill the reserve while a buffer is a quarter full. Packets that find no room are carried to
 *     the next file encoded, because making its initial packets takes the service's only batch.
 *   - A thread was interrupted in the middle of an event, or waits for memory there, while its file
 *     was cut: this event is the first of its sequence in the next file.
 *   - A producer does not answer, or a data source does not clear its state.
 * A packet that is larger than a file gets one of its own. The filter may remove sequence_flags;
 * files are cut by what producers wrote, and the filter's author decides what a reader gets without
 * the flags.
 *
 * Names and descriptors belong to the file operations, which act in order with the writes; this
 * file only decides which bytes go into which file. Measured with 280,000 slices per second and
 * files of 1 MB, on one thread, or on four with compression: all of 1,120,112 and 1,680,940 events
 * decode. Rejected: cutting first and asking then (5,845 of a file's 20,463 events did not decode);
 * cutting at any packet and repeating earlier declarations (the service would have to understand
 * each data source's state); rotating by time (bytes fill a disk, not time); a name with a number
 * or a time for each new file (readers want the newest under a stable name).
 */
#include "service/output/output_rotate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "proto/reader.h"
#include "schema/gen/trace_config.pb.h"
#include "service/flush.h"
#include "service/incremental.h"
#include "service/output/output.h"
#include "service/output/output_compress.h"
#include "service/output/output_file.h"
#include "service/output/output_hold.h"
#include "service/read/batch.h"
#include "service/read/clock_snapshot.h"
#include "service/read/own_packets.h"
#include "service/read/read_filter.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/timer.h"

static uint64_t least_reserve(const struct orma_service_output *output)
{
	return ORMA_MIN(output->max_bytes / ORMA_SERVICE_CUT_RESERVE_SHARE,
			(uint64_t)ORMA_SERVICE_CUT_RESERVE_MAX);
}

int orma_service_rotation_init(struct orma_service_session *session, struct orma_error *reterr)
{
	struct orma_service_output *output = &session->output;
	uint64_t min_bytes = ORMA_SERVICE_ROTATED_BYTES_MIN + 2 * session->config_bytes.size;
	uint32_t count = session->config->max_file_count;

	if (count == 0)
		return 0;
	if (output->max_bytes < min_bytes)
		return orma_base_error_set(reterr, -EINVAL,
					   "max_file_size_bytes: %llu is less than the minimum of "
					   "%llu with max_file_count, as each file has the config",
					   (unsigned long long)output->max_bytes,
					   (unsigned long long)min_bytes);
	output->max_files = count;
	output->reserve_bytes = least_reserve(output);
	output->cut_bytes_max = UINT64_MAX;
	for (size_t i = 0; i < session->buffer_count; i++)
		output->cut_bytes_max =
			ORMA_MIN(output->cut_bytes_max,
				 orma_trace_buffer_size_bytes(session->buffers[i].trace_buffer) /
					 ORMA_SERVICE_CUT_BUFFER_SHARE);
	return 0;
}

int orma_service_rotation_carry(struct orma_service_session *session, size_t begin)
{
	return orma_service_batch_encode(&session->service->batch, begin, &session->output.carried);
}

/* --- a new file ------------------------------------------------------------------------------- */

static void forget_initial(struct orma_service_session *session)
{
	const struct orma_pb_trace_config_builtin_data_source *builtin =
		session->config->builtin_data_sources;

	session->read.has_emitted_initial = false;
	session->triggers.written_hit_count = 0;
	session->relays.infos_written = session->relays.clocks_written = 0;
	session->read.emits_sync_marker = true;
	session->read.emits_stats = true;
	if (!builtin || !builtin->disable_clock_snapshotting)
		orma_service_clocks_take(session->service, &session->clocks.initial);
}

static int put_initial(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf entries = {0};
	struct iovec iov;
	int r;

	forget_initial(session);
	orma_service_batch_begin(service);
	r = orma_service_own_before(session);
	if (r < 0)
		return r;
	orma_service_batch_filter(session, 0, NULL);
	r = orma_service_batch_encode(&service->batch, 0, &entries);
	iov = (struct iovec){entries.data, entries.size};
	return r < 0 || entries.size == 0 ? r : orma_service_output_put(session, &iov, 1);
}

static int begin_file(struct orma_service_session *session)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;
	int r = service->files.ops.rotate(service->files.ctx, output->file, output->path,
					  output->max_files);

	if (r < 0)
		return r;
	output->written_bytes = 0;
	/* The file was full before a cut could begin. */
	if (!output->cut && session->state == ORMA_SERVICE_SESSION_STARTED)
		orma_service_incremental_clear(session);
	orma_service_rotation_leave_cut(session);
	return put_initial(session);
}

/* Writes the carried entries that the file has room for, but at least one. */
static int put_fitting(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	const uint8_t *begin = output->carried.data + output->carried_at, *end = begin;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct iovec iov;

	orma_proto_reader_init(&reader, begin, output->carried.size - output->carried_at);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		uint64_t bytes = (uint64_t)(reader.at - begin);

		if (end > begin && output->written_bytes + bytes >= output->max_bytes)
			break;
		end = reader.at;
	}
	if (end == begin)
		return -EBADMSG; /* impossible: the service has encoded them */
	output->carried_at += (size_t)(end - begin);
	iov = (struct iovec){(void *)(uintptr_t)begin, (size_t)(end - begin)};
	return orma_service_output_put(session, &iov, 1);
}

int orma_service_rotation_continue(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;
	int r = 0;

	while (output->carried_at < output->carried.size && !output->is_waiting && r == 0) {
		/* The file is empty here only when the packet is too large for any file. */
		if (output->written_bytes > 0)
			r = begin_file(session);
		if (r == 0)
			r = put_fitting(session);
	}
	if (output->carried_at == output->carried.size) {
		orma_base_buf_done(&output->carried);
		output->carried_at = 0;
	}
	return r;
}

/* --- the cut ---------------------------------------------------------------------------------- */

static void on_cut_timeout(struct orma_service_timer *timer)
{
	struct orma_service_output *output =
		ORMA_CONTAINER_OF(timer, struct orma_service_output, cut_timer);

	output->cut = ORMA_SERVICE_CUT_TIMED_OUT;
	orma_service_output_drain_soon(
		ORMA_CONTAINER_OF(output, struct orma_service_session, output));
}

static void on_cut_flushed(struct orma_service_session *session, bool is_complete)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;

	(void)is_complete;
	ORMA_ASSERT(output->cut_flush_count > 0);
	output->cut_flush_count--;
	if (!output->file || output->cut != ORMA_SERVICE_CUT_ASKED || output->cut_flush_count > 0)
		return;
	output->cut = ORMA_SERVICE_CUT_ANSWERED;
	orma_service_timer_arm(&service->timers, &output->cut_timer,
			       orma_service_now_ns(service) +
				       ORMA_SERVICE_CUT_TIMEOUT_MS * ORMA_NS_PER_MS,
			       on_cut_timeout);
	/* Buffers that this pass has read already may have got data since. */
	session->read.buffer_idx = 0;
	orma_service_compression_extend(session);
	orma_service_output_drain_soon(session);
}

static void on_cut(struct orma_service_timer *timer)
{
	struct orma_service_output *output =
		ORMA_CONTAINER_OF(timer, struct orma_service_output, cut_timer);
	struct orma_service_session *session =
		ORMA_CONTAINER_OF(output, struct orma_service_session, output);

	orma_service_incremental_clear(session);
	output->cut_flush_count++;
	/* A session that is stopping cannot flush: on_cut_flushed() is called at once. */
	orma_service_flush_begin(session, ORMA_SERVICE_CUT_TIMEOUT_MS,
				 ORMA_SERVICE_FLUSH_FLAGS_PERIODIC, on_cut_flushed, NULL, NULL);
}

size_t orma_service_rotation_step_bytes(const struct orma_service_session *session)
{
	const struct orma_service_output *output = &session->output;

	return output->max_files ? (size_t)(least_reserve(output) / 2)
				 : (size_t)ORMA_SERVICE_FILE_STEP_BYTES;
}

/* Expect as much data during the cut as came in during the last pass. */
static void adapt_reserve(struct orma_service_output *output)
{
	uint64_t wanted = ORMA_MAX(2 * output->pass_bytes,
				   output->reserve_bytes - output->reserve_bytes / 16);

	output->pass_bytes = 0;
	output->reserve_bytes =
		ORMA_MIN(ORMA_MAX(wanted, least_reserve(output)), output->max_bytes / 8 * 5);
}

void orma_service_rotation_check(struct orma_service_session *session, bool has_more)
{
	struct orma_service *service = session->service;
	struct orma_service_output *output = &session->output;

	if (!has_more)
		adapt_reserve(output);
	if (!output->max_files || output->cut || session->state != ORMA_SERVICE_SESSION_STARTED ||
	    output->written_bytes + (output->held.size - output->held_at) + output->reserve_bytes <
		    output->max_bytes)
		return;
	output->cut = ORMA_SERVICE_CUT_ASKED;
	output->cut_bytes = 0;
	orma_service_timer_arm(&service->timers, &output->cut_timer, orma_service_now_ns(service),
			       on_cut);
}

static bool has_begun_packet(const struct orma_service_session *session)
{
	for (size_t i = 0; i < session->buffer_count; i++)
		if (orma_trace_buffer_has_begun_packet(session->buffers[i].trace_buffer))
			return true;
	return false;
}

bool orma_service_rotation_is_due(const struct orma_service_session *session)
{
	const struct orma_service_output *output = &session->output;
	bool is_full = orma_service_rotation_is_full(session);

	switch (output->cut) {
	case ORMA_SERVICE_CUT_NONE:
		return false;
	case ORMA_SERVICE_CUT_ASKED:
		return session->state == ORMA_SERVICE_SESSION_DISABLED ||
		       (is_full && output->cut_bytes >= output->cut_bytes_max);
	case ORMA_SERVICE_CUT_ANSWERED:
		return session->state == ORMA_SERVICE_SESSION_DISABLED || is_full ||
		       !has_begun_packet(session);
	case ORMA_SERVICE_CUT_TIMED_OUT:
		break;
	}
	return true;
}

int orma_service_rotation_cut(struct orma_service_session *session)
{
	struct orma_service_output *output = &session->output;

	/* The end of the session does not justify one more file. */
	if (session->state == ORMA_SERVICE_SESSION_DISABLED &&
	    output->written_bytes + output->held.size < output->max_bytes) {
		orma_service_rotation_leave_cut(session);
		return 0;
	}
	return begin_file(session);
}
