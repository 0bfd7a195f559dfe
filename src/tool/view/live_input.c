/* SPDX-License-Identifier: Apache-2.0
 * live_input.c - reads a stream of packets on a thread of its own, and keeps the newest part of it as a trace.
 *
 * The thread does nothing but read, so that a recorder never waits for a page. When what it holds spans a quarter more time than
 * wanted, or too many bytes, the old part is cut off by packet_cut.h, which leaves the declarations that later packets
 * need. So each cut costs a pass over what is held, once in a quarter of its time. INVARIANT: `trace` begins with a packet and
 * has whole packets only.
 *
 * The page reads copies: the engine decodes arguments when they are asked for, long after the thread has cut its trace.
 * Rejected: appending to the tables of the engine, because packets come out of order, and everything in it relies on rows
 * in the order of time; and a session of the recorder's own per snapshot, because programs would write each event twice.
 */
#include "tool/view/live_input.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "tool/trace/packet_cut.h"
#include "tool/trace/trace_file.h"

enum { READ_BYTES = 256 << 10, PACKET_TAG = 0x0a };

struct orma_live_input {
	struct orma_live_input_options options;
	int end_fd; /* becomes readable when the thread has to end */
	pthread_t thread;
	/* The thread's own. */
	struct orma_buf arrived; /* ends with a part of a packet */
	struct orma_packet_clocks clocks;
	uint64_t first_ns, last_ns;
	/* Guarded by the mutex; only the thread writes them. */
	pthread_mutex_t mutex;
	struct orma_buf trace;
	struct orma_live_state state;
};

/* --- cutting ---------------------------------------------------------------------------------- */

static int append_packet(struct orma_buf *buf, struct orma_str packet)
{
	uint8_t head[1 + ORMA_PROTO_VARINT_MAX] = {PACKET_TAG};
	uint8_t *end = orma_proto_put_varint(head + 1, packet.size);
	int r = orma_base_buf_append(buf, head, (size_t)(end - head));

	return r < 0 ? r : orma_base_buf_append(buf, packet.data, packet.size);
}

/* Copies what stays when the trace begins at a time. */
static int copy_from(const struct orma_buf *trace, uint64_t from_ns, struct orma_buf *ret)
{
	struct orma_packet_select select = {.from_ns = from_ns, .to_ns = UINT64_MAX};
	struct orma_packet_cut cut = {.select = &select};
	size_t at = 0, step;
	struct orma_str packet;
	int r = 0;

	select.from.base = ORMA_TIME_ABSOLUTE;
	orma_packet_cut_begin_trace(&cut);
	while (r >= 0 && at < trace->size &&
	       (step = orma_tool_trace_next_packet(trace->data + at, trace->size - at, &packet)) >
		       0) {
		r = orma_packet_cut_take(&cut, packet.data, packet.size, &packet);
		if (r > 0)
			r = append_packet(ret, packet);
		else if (r == -EBADMSG)
			r = 0;
		at += step;
	}
	orma_packet_cut_done(&cut);
	return ORMA_MIN(r, 0);
}

/* Replaces the trace by its newer part, when it is too long or too large. A part that is still too large is halved. */
static int cut_off(struct orma_live_input *input)
{
	const struct orma_live_input_options *options = &input->options;
	uint64_t keep_ns = ORMA_MIN(options->keep_ns, input->last_ns - input->first_ns);
	bool is_large = input->trace.size > options->max_bytes;
	struct orma_buf rest = {0};
	int r;

	if (!is_large && input->last_ns - input->first_ns <= keep_ns + options->keep_ns / 4)
		return 0;
	do {
		keep_ns = is_large ? keep_ns / 2 : keep_ns;
		rest.size = 0;
		r = copy_from(&input->trace, input->last_ns - keep_ns, &rest);
		is_large = rest.size > options->max_bytes;
	} while (r == 0 && is_large && keep_ns > 0);
	if (r == 0 && is_large)
		r = -EFBIG; /* nothing but declarations */
	if (r < 0) {
		orma_base_buf_done(&rest);
		return r;
	}
	input->first_ns = input->last_ns - keep_ns;
	pthread_mutex_lock(&input->mutex);
	struct orma_buf old = input->trace;
	input->trace = rest;
	input->state.has_cut = true;
	pthread_mutex_unlock(&input->mutex);
	orma_base_buf_done(&old);
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Learns the times of packets. */
static int note_times(struct orma_live_input *input, const uint8_t *data, size_t size)
{
	struct orma_packet_view packet;
	struct orma_packet_times times;
	struct orma_str bytes;
	size_t step;

	for (; (step = orma_tool_trace_next_packet(data, size, &bytes)) > 0;
	     data += step, size -= step) {
		if (orma_packet_view_read(bytes.data, bytes.size, &packet) < 0)
			continue;
		int r = orma_packet_clocks_take(&input->clocks, &packet, &times);
		if (r < 0)
			return r;
		if (r == 0 || !orma_packet_is_event(packet.kind))
			continue;
		input->first_ns = input->last_ns == 0 ? times.first_ns : input->first_ns;
		input->last_ns = ORMA_MAX(input->last_ns, times.last_ns);
	}
	return 0;
}

/* Moves the packets that have come whole into the trace. */
static int take_packets(struct orma_live_input *input)
{
	struct orma_buf *arrived = &input->arrived;
	size_t whole = orma_tool_trace_whole_bytes(arrived->data, arrived->size);
	int r = note_times(input, arrived->data, whole);

	if (arrived->size > whole && arrived->data[whole] != PACKET_TAG)
		return -EBADMSG;
	if (arrived->size - whole > ORMA_TOOL_PACKET_MAX_BYTES)
		return -EBADMSG;
	if (r < 0)
		return r;
	pthread_mutex_lock(&input->mutex);
	r = orma_base_buf_append(&input->trace, arrived->data, whole);
	pthread_mutex_unlock(&input->mutex);
	orma_base_buf_consume(arrived, whole);
	if (r == 0)
		r = cut_off(input);
	/* It changes last: the trace is cut when others see the new number. */
	pthread_mutex_lock(&input->mutex);
	input->state.received_bytes += whole;
	pthread_mutex_unlock(&input->mutex);
	return r;
}

/* Reads once. 1, 0 (the end) or a negative errno value. */
static int read_some(struct orma_live_input *input)
{
	struct pollfd fds[] = {{.fd = input->options.fd, .events = POLLIN},
			       {.fd = input->end_fd, .events = POLLIN}};
	struct orma_buf *arrived = &input->arrived;
	ssize_t size;

	if (poll(fds, ORMA_ARRAY_SIZE(fds), -1) < 0)
		return errno == EINTR ? 1 : -errno;
	if (fds[1].revents)
		return 0;
	if (orma_base_buf_reserve(arrived, READ_BYTES) < 0)
		return -ENOMEM;
	size = read(input->options.fd, arrived->data + arrived->size, READ_BYTES);
	if (size < 0)
		return errno == EINTR || errno == EAGAIN ? 1 : -errno;
	arrived->size += (size_t)size;
	return size > 0;
}

static void *run(void *ctx)
{
	struct orma_live_input *input = ctx;
	int r;

	pthread_setname_np(pthread_self(), "orma-live");
	while ((r = read_some(input)) > 0) {
		r = take_packets(input);
		if (r < 0)
			break;
		input->options.news(input->options.ctx);
	}
	pthread_mutex_lock(&input->mutex);
	input->state.has_ended = true;
	input->state.result = r;
	pthread_mutex_unlock(&input->mutex);
	input->options.news(input->options.ctx);
	return NULL;
}

/* --- for others ------------------------------------------------------------------------------- */

static int begin(struct orma_live_input *input)
{
	sigset_t all, before;
	int r;

	input->end_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (input->end_fd < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&input->thread, NULL, run, input);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		orma_base_fd_close(input->end_fd);
	return -r;
}

int orma_live_input_new(const struct orma_live_input_options *options, struct orma_live_input **ret)
{
	struct orma_live_input *input = orma_base_zalloc(sizeof(*input));
	int r;

	if (!input)
		return -ENOMEM;
	input->options = *options;
	pthread_mutex_init(&input->mutex, NULL);
	r = begin(input);
	if (r < 0) {
		pthread_mutex_destroy(&input->mutex);
		orma_base_free(input);
		return r;
	}
	*ret = input;
	return 0;
}

void orma_live_input_free(struct orma_live_input *input)
{
	uint64_t one = 1;

	if (!input)
		return;
	(void)!write(input->end_fd, &one, sizeof(one));
	pthread_join(input->thread, NULL);
	orma_base_fd_close(input->end_fd);
	orma_base_buf_done(&input->arrived);
	orma_base_buf_done(&input->trace);
	orma_packet_clocks_done(&input->clocks);
	pthread_mutex_destroy(&input->mutex);
	orma_base_free(input);
}

struct orma_live_state orma_live_input_state(struct orma_live_input *input)
{
	struct orma_live_state state;

	pthread_mutex_lock(&input->mutex);
	state = input->state;
	pthread_mutex_unlock(&input->mutex);
	return state;
}

int orma_live_input_snapshot(struct orma_live_input *input)
{
	int fd = orma_base_fd_avoid_standard(memfd_create("orma-live", MFD_CLOEXEC));
	int r;

	if (fd < 0)
		return -errno;
	pthread_mutex_lock(&input->mutex);
	r = orma_base_fd_write_all(fd, input->trace.data, input->trace.size);
	pthread_mutex_unlock(&input->mutex);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}
