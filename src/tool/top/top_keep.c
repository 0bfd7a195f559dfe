/* SPDX-License-Identifier: Apache-2.0
 * top_keep.c - a ring of parts, each with the packets of one round of reading.
 *
 * The file is: what the service wrote first (config, id and system of the trace), a clock snapshot, and all parts. A packet
 * may refer to names that were declared before the first part. The session clears incremental states every few seconds,
 * so that only the first seconds of the file have such packets, and readers leave them out.
 *
 * Always: `bytes` is the sum of the parts' sizes, and at most ORMA_TOP_KEEP_MAX_BYTES between rounds.
 *
 * Rejected: cloning the session, because a clone has only what was not read yet; and a second session with a ring of its
 * own, because then all programs would write each event twice.
 */
#include "tool/top/top_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "schema/gen/trace_packet.pb.h"
#include "trace/packet_fields.h"

enum { PACKET_FIELD = 1, SERVICE_SEQUENCE = 1 };

static struct orma_top_part *part_at(struct orma_top_keep *keep, size_t place)
{
	return &keep->parts[(keep->first + place) % ORMA_TOP_KEEP_PARTS];
}

/* The part that is filled is the one behind the last; there is always room for it. */
static struct orma_top_part *filled_part(struct orma_top_keep *keep)
{
	return part_at(keep, keep->count);
}

void orma_top_keep_done(struct orma_top_keep *keep)
{
	for (size_t i = 0; i < ORMA_TOP_KEEP_PARTS; i++)
		orma_base_buf_done(&keep->parts[i].bytes);
	orma_base_buf_done(&keep->head);
	orma_base_buf_done(&keep->clock);
}

void orma_top_keep_clear(struct orma_top_keep *keep)
{
	uint64_t period_ns = keep->period_ns;
	orma_top_keep_done(keep);
	*keep = (struct orma_top_keep){.period_ns = period_ns};
}

static int append(struct orma_buf *buf, const void *packet, size_t size)
{
	uint8_t head[1 + ORMA_PROTO_VARINT_MAX] = {PACKET_FIELD << 3 | ORMA_PROTO_BYTES};
	uint8_t *end = orma_proto_put_varint(head + 1, size);
	int r = orma_base_buf_reserve(buf, sizeof(head) + size);
	if (r == 0)
		r = orma_base_buf_append(buf, head, (size_t)(end - head));
	return r < 0 ? r : orma_base_buf_append(buf, packet, size);
}

static void drop_first(struct orma_top_keep *keep)
{
	struct orma_top_part *part = part_at(keep, 0);
	keep->bytes -= part->bytes.size;
	orma_base_buf_done(&part->bytes);
	keep->first = (keep->first + 1) % ORMA_TOP_KEEP_PARTS;
	keep->count--;
}

static void drop_all(struct orma_top_keep *keep)
{
	orma_base_buf_done(&filled_part(keep)->bytes);
	while (keep->count > 0)
		drop_first(keep);
}

void orma_top_keep_add(struct orma_top_keep *keep, const void *data, size_t size)
{
	struct orma_packet packet;
	if (orma_trace_packet_read(data, size, &packet) < 0)
		return;
	bool is_of_service = packet.sequence == SERVICE_SEQUENCE;
	int r = 0;
	if (is_of_service && packet.kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT) {
		keep->clock.size = 0;
		r = append(&keep->clock, data, size);
	} else if (is_of_service && !keep->has_begun &&
		   keep->head.size + size <= ORMA_TOP_KEEP_HEAD_MAX_BYTES) {
		r = append(&keep->head, data, size);
	} else {
		/* One round may bring more than is kept. */
		if (filled_part(keep)->bytes.size > ORMA_TOP_KEEP_MAX_BYTES)
			drop_all(keep);
		r = append(&filled_part(keep)->bytes, data, size);
	}
	if (r < 0)
		drop_all(keep);
}

void orma_top_keep_end_round(struct orma_top_keep *keep, uint64_t now_ns)
{
	struct orma_top_part *part = filled_part(keep);
	keep->has_begun = true;
	if (part->bytes.size > 0) {
		part->ns = now_ns;
		keep->bytes += part->bytes.size;
		keep->count++;
	}
	while (keep->count > 0 &&
	       (keep->count == ORMA_TOP_KEEP_PARTS || keep->bytes > ORMA_TOP_KEEP_MAX_BYTES ||
		now_ns - part_at(keep, 0)->ns > keep->period_ns))
		drop_first(keep);
}

int64_t orma_top_keep_save(const struct orma_top_keep *keep, const char *path)
{
	int fd = orma_base_fd_avoid_standard(
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	if (fd < 0)
		return -errno;
	int64_t bytes = (int64_t)(keep->head.size + keep->clock.size + keep->bytes);
	int r = orma_base_fd_write_all(fd, keep->head.data, keep->head.size);
	if (r == 0)
		r = orma_base_fd_write_all(fd, keep->clock.data, keep->clock.size);
	for (size_t i = 0; r == 0 && i < keep->count; i++) {
		const struct orma_buf *part =
			&keep->parts[(keep->first + i) % ORMA_TOP_KEEP_PARTS].bytes;
		r = orma_base_fd_write_all(fd, part->data, part->size);
	}
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		(void)unlink(path);
	return r < 0 ? r : bytes;
}
