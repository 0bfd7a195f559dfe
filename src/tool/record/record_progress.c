/* SPDX-License-Identifier: Apache-2.0
 * record_progress.c - time, bytes, rate, fill of the buffers and losses of a recording, on one line.
 *
 * 12.4 s of 30.0 s  3.1 MB  256 KB/s  2140 packets/s  buffers 9% 2%  lost: 3 chunks overwritten  (Ctrl-C stops)
 *
 * The numbers are those of the service, which the recorder asks for at each step, and shows when they
 * come: a service that is slow to answer does not delay the recorder. They lag behind by what
 * producers have not yet handed over. An event of a program is a packet; a packet of the kernel's
 * events has many. The terminal cuts a line that is too long (autowrap is off meanwhile).
 */
#include "tool/record/record_progress.h"

#include <inttypes.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "tool/print.h"
#include "tool/record/trace_counter.h"

/* More buffers do not fit into a line. */
#define SHOWN_BUFFERS_MAX 8
#define STEP_MS           200

static struct orma_record_amount sum_written(const struct orma_tool_summary *stats)
{
	struct orma_record_amount sum = {0};

	for (size_t i = 0; i < stats->buffer_count; i++) {
		sum.bytes += stats->buffers[i].written_bytes;
		sum.packets += stats->buffers[i].written_packets;
	}
	return sum;
}

static uint64_t per_second(uint64_t now, uint64_t before, uint64_t ns)
{
	return now < before
		       ? 0
		       : (uint64_t)((double)(now - before) * (double)ORMA_NS_PER_SEC / (double)ns);
}

static void measure_rate(struct orma_record_progress *progress, uint64_t now_ns)
{
	uint64_t ns = now_ns - progress->rate_begin_ns;
	const struct orma_record_amount *now = &progress->written, *begin = &progress->rate_begin;

	if (progress->rate_begin_ns && ns < ORMA_NS_PER_SEC)
		return;
	if (progress->rate_begin_ns)
		progress->rate = (struct orma_record_amount){
			.bytes = per_second(now->bytes, begin->bytes, ns),
			.packets = per_second(now->packets, begin->packets, ns),
		};
	progress->rate_begin_ns = now_ns;
	progress->rate_begin = progress->written;
}

static void on_stats(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct orma_record_progress *progress = ctx;
	struct orma_tool_counter counter = {0};

	progress->is_asked = false;
	if (error || orma_tool_counter_add_stats(&counter, data, size) < 0)
		return;
	orma_tool_counter_done(&counter);
	progress->stats = counter.summary;
	progress->stats.service_discarded -=
		ORMA_MIN(progress->stats.service_discarded, progress->earlier_discarded);
	progress->written = sum_written(&progress->stats);
	measure_rate(progress, orma_base_clock_ns(CLOCK_MONOTONIC));
}

static void print_bytes(uint64_t bytes, const char *suffix)
{
	double kb = (double)bytes / 1024;

	if (kb < 1000)
		orma_tool_print(stderr, "  %.0f KB%s", kb, suffix);
	else
		orma_tool_print(stderr, "  %.1f MB%s", kb / 1024, suffix);
}

static void print_stats(const struct orma_record_progress *progress)
{
	const struct orma_tool_summary *stats = &progress->stats;

	print_bytes(progress->written.bytes, "");
	print_bytes(progress->rate.bytes, "/s");
	/* A service that does not count them says 0. */
	if (progress->written.packets)
		orma_tool_print(stderr, "  %" PRIu64 " packets/s", progress->rate.packets);
	orma_tool_print(stderr, "  %s", orma_base_noun(stats->buffer_count, "buffer", "buffers"));
	for (size_t i = 0; i < ORMA_MIN(stats->buffer_count, (size_t)SHOWN_BUFFERS_MAX); i++) {
		const struct orma_tool_buffer *buffer = &stats->buffers[i];

		orma_tool_print(stderr, " %" PRIu64 "%%",
				buffer->size_bytes ? buffer->used_bytes * 100 / buffer->size_bytes
						   : 0);
	}
	fputs("  lost: ", stderr);
	if (!orma_tool_summary_print_losses(stats, stderr))
		fputs("nothing", stderr);
}

void orma_record_progress_show(struct orma_record_progress *progress, struct orma_session *session,
			       double seconds, uint32_t duration_ms)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	if (!progress->is_shown || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + STEP_MS * ORMA_NS_PER_MS;
	if (!progress->is_asked)
		progress->is_asked = orma_session_query_async(session, ORMA_SESSION_QUERY_STATS,
							      on_stats, progress) == 0;
	/* The data sources took time to start, or take time to hand over their last data. */
	bool is_over = duration_ms && seconds > duration_ms / 1000.0;
	fputs("\r\033[?7l", stderr);
	orma_tool_print(stderr, "Recording: %.1f s", is_over ? duration_ms / 1000.0 : seconds);
	if (duration_ms)
		orma_tool_print(stderr, " of %.1f s", duration_ms / 1000.0);
	if (progress->stats.has_stats)
		print_stats(progress);
	orma_tool_print(stderr, "  (%s)", is_over ? "waiting for the last data" : "Ctrl-C stops");
	fputs("\033[K\033[?7h", stderr);
}

void orma_record_progress_clear(const struct orma_record_progress *progress)
{
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
}
