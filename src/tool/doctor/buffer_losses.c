/* SPDX-License-Identifier: Apache-2.0
 * buffer_losses.c - explains the losses of each buffer, and computes the size that would have been
 * enough.
 *
 * The statistics count the bytes of all chunks that were written, also of those that were overwritten
 * later, with the padding between them. Discarded chunks are only counted. A buffer that
 * discards when it is full (DISCARD) may have room for a few unusual chunks, so their average says
 * little about the others; then the size of the largest page that orma's programs use is assumed.
 */
#include "tool/doctor/buffer_losses.h"

#include <inttypes.h>

#include "base/str.h"
#include "buffer/trace_buffer.h"

#define FILE_WRITE_MS_DEFAULT 5000u
#define BUFFER_KB_MAX         (ORMA_TRACE_BUFFER_SIZE_MAX_BYTES / 1024)
#define AVERAGE_OF_CHUNKS     16u /* fewer do not show the usual size */
#define CHUNK_BYTES_MAX       32768u
#define POLLED_BUFFER_KB_MAX  16384u /* as in record_text.c */

struct subject {
	const struct orma_tool_summary *summary;
	const struct orma_pb_trace_config *config; /* NULL = not known */
	double seconds;
	size_t idx;
	const struct orma_tool_buffer *buffer;
};

static bool is_discarding(const struct subject *subject)
{
	const struct orma_pb_trace_config *config = subject->config;

	return config && subject->idx < config->buffers.count &&
	       config->buffers.items[subject->idx]->fill_policy ==
		       ORMA_PB_TRACE_CONFIG_BUFFER_CONFIG_FILL_POLICY_DISCARD;
}

/* Returns how much the recording had for this buffer, or while a trace is streamed into a file, how
 * much in two write periods. */
static double wanted_bytes(const struct subject *subject)
{
	const struct orma_tool_buffer *buffer = subject->buffer;
	double bytes = (double)buffer->written_bytes + (double)buffer->padding_bytes;
	uint32_t period_ms = subject->config ? subject->config->file_write_period_ms : 0;

	if (is_discarding(subject))
		bytes += (double)buffer->discarded_chunks *
			 (buffer->written_chunks < AVERAGE_OF_CHUNKS
				  ? CHUNK_BYTES_MAX
				  : (double)buffer->written_bytes / (double)buffer->written_chunks);
	if (subject->summary->is_streamed && subject->seconds > 0)
		bytes *= 2 * (period_ms ? period_ms : FILE_WRITE_MS_DEFAULT) / 1000.0 /
			 subject->seconds;
	return bytes;
}

static void advise_size(const struct subject *subject, struct orma_findings *findings)
{
	uint64_t kb = ORMA_MAX(subject->buffer->size_bytes / 1024, UINT64_C(2)) * 2;
	/* A quarter to spare. */
	double wanted_kb = wanted_bytes(subject) * 1.25 / 1024 + 1;
	char option[48] = "";

	while ((double)kb < wanted_kb && kb <= BUFFER_KB_MAX)
		kb *= 2;
	if (kb > BUFFER_KB_MAX) {
		orma_findings_advise(findings,
				     "No buffer can hold that (the maximum is %" PRIu64 " KB): %s.",
				     (uint64_t)BUFFER_KB_MAX,
				     subject->summary->is_streamed
					     ? "use a shorter file_write_period_ms"
					     : "write_into_file: true (`orma record --stream`) "
					       "writes it to the file meanwhile");
		return;
	}
	/* Without a config, the second buffer is that of polled sources, which has a quarter of -b up to
	 * a limit. With a config, -b is for all buffers. */
	bool is_polled = subject->idx == 1 && subject->summary->buffer_count == 2;
	if (!is_polled || kb <= POLLED_BUFFER_KB_MAX)
		snprintf(option, sizeof(option), " (`orma record -b %" PRIu64 "k%s`)",
			 is_polled ? 4 * kb : kb, subject->summary->is_streamed ? " --stream" : "");
	if (subject->summary->is_streamed)
		orma_findings_advise(findings,
				     "At this rate buffers[%zu] needs size_kb: %" PRIu64
				     "%s, or a shorter file_write_period_ms.",
				     subject->idx, kb, option);
	else
		orma_findings_advise(findings,
				     "To keep all of it, buffers[%zu] needs size_kb: %" PRIu64
				     "%s; `orma record --stream` writes it to the file meanwhile.",
				     subject->idx, kb, option);
}

static void report_overwritten(const struct subject *subject, struct orma_findings *findings)
{
	const struct orma_tool_buffer *buffer = subject->buffer;

	if (buffer->overwritten_chunks == 0)
		return;
	orma_findings_add(findings, "buffer_overwritten",
			  "Buffer %zu was too small and overwrote its oldest data: %" PRIu64
			  " KB were written in %.1f s, and it has %" PRIu64 " KB.",
			  subject->idx, (buffer->written_bytes + buffer->padding_bytes) / 1024,
			  subject->seconds, buffer->size_bytes / 1024);
	advise_size(subject, findings);
}

static void report_discarded(const struct subject *subject, struct orma_findings *findings)
{
	uint64_t count = subject->buffer->discarded_chunks;
	uint64_t size_kb = subject->buffer->size_bytes / 1024;
	const char *noun = orma_base_noun(count, "chunk", "chunks");

	if (count == 0)
		return;
	if (is_discarding(subject)) {
		orma_findings_add(findings, "buffer_discarded",
				  "Buffer %zu (%" PRIu64
				  " KB, DISCARD) was full and discarded %" PRIu64 " %s of data.",
				  subject->idx, size_kb, count, noun);
		advise_size(subject, findings);
		return;
	}
	orma_findings_add(findings, "buffer_discarded",
			  "Buffer %zu (%" PRIu64 " KB) discarded %" PRIu64
			  " %s of data: later data of the same writer was read before.",
			  subject->idx, size_kb, count, noun);
	orma_findings_advise(findings, "A stopped or overloaded program hands its data over late.");
}

static void report_shared_memory(const struct subject *subject, struct orma_findings *findings)
{
	uint64_t count = subject->buffer->lost_packets;

	if (count == 0)
		return;
	orma_findings_add(findings, "shared_memory_full",
			  "%" PRIu64
			  " %s of buffer %zu found no room in a program's shared memory.",
			  count, orma_base_noun(count, "packet", "packets"), subject->idx);
	orma_findings_advise(
		findings,
		"Give the program more shared memory: producers { producer_name: \"NAME\" "
		"shm_size_kb: 4096 } in the config, or shm_size_bytes of "
		"orma_init_options; or record fewer events.");
}

void orma_buffer_losses_report(const struct orma_tool_summary *summary,
			       const struct orma_pb_trace_config *config, double seconds,
			       struct orma_findings *findings)
{
	struct subject subject = {.summary = summary, .config = config, .seconds = seconds};

	for (; subject.idx < summary->buffer_count; subject.idx++) {
		subject.buffer = &summary->buffers[subject.idx];
		report_overwritten(&subject, findings);
		report_discarded(&subject, findings);
		report_shared_memory(&subject, findings);
	}
}
