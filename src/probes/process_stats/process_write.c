/* SPDX-License-Identifier: Apache-2.0
 * process_write.c - writes ProcessTree and ProcessStats packets.
 *
 * Owns the open packet of an instance. At most one packet is open; opening one of the other kind
 * ends it. A packet is opened only when there is something to write, so a poll that finds no
 * changes writes nothing. All packets of one scan or poll have the time at which it began, so that
 * a reader can compare values that were split over several packets. The bytes go directly into the
 * thread's chunk in shared memory.
 *
 * When a packet begins, the library tells whether the incremental state was lost: at the start,
 * after a loss of data, and after a clearing. The packet then says so, and everything is written
 * again. This may happen in the middle of a poll, so callers look at `changed` and `is_in_tree`
 * after they have opened a packet, not before. Rejected: one packet per process (20 bytes of
 * framing for 30 bytes of values); one packet of any size (megabytes on a machine with 50,000
 * threads).
 */
#include <limits.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/process_cmdline.h"
#include "probes/process_stats/process_stats.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/trace_packet.pb.h"

enum { RECORD_BYTES = 64, THREAD_BYTES = 16, VALUE_BYTES = 6, FD_BYTES = 8 }; /* estimated bytes */

/* Opens a packet of this kind, or continues the open one. Returns false when the instance is not
 * started. */
static bool packet_open(struct orma_probes_process_instance *instance,
			enum orma_probes_process_packet kind)
{
	if (instance->packet && instance->packet_kind == kind)
		return true;
	orma_probes_process_packet_end(instance);
	struct orma_packet *packet =
		orma_packet_begin(instance->probe->base.source, instance->base.idx);
	if (!packet)
		return false;
	instance->packet = packet;
	instance->packet_kind = kind;
	instance->packet_bytes = 0;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, instance->begin_ns);
	if (orma_packet_take_needs_state(packet)) {
		orma_packet_bool(packet, ORMA_PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED, true);
		orma_probes_process_forget(instance);
	}
	orma_packet_nested_begin(packet, &instance->body,
				 kind == ORMA_PROCESS_TREE ? ORMA_PB_TRACE_PACKET_PROCESS_TREE
							   : ORMA_PB_TRACE_PACKET_PROCESS_STATS);
	return true;
}

void orma_probes_process_packet_end(struct orma_probes_process_instance *instance)
{
	struct orma_packet *packet = instance->packet;
	if (!packet)
		return;
	orma_packet_varint(packet,
			   instance->packet_kind == ORMA_PROCESS_TREE
				   ? ORMA_PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP
				   : ORMA_PB_PROCESS_STATS_COLLECTION_END_TIMESTAMP,
			   orma_base_clock_ns(CLOCK_BOOTTIME));
	orma_packet_nested_end(packet, &instance->body);
	orma_packet_end(packet);
	instance->packet = NULL;
	instance->packet_kind = ORMA_PROCESS_NO_PACKET;
}

/* Ends a packet that is large enough; called between records. */
static void packet_split(struct orma_probes_process_instance *instance)
{
	if (instance->packet && instance->packet_bytes >= ORMA_PROBES_PROCESS_PACKET_BYTES)
		orma_probes_process_packet_end(instance);
}

static void write_ids(struct orma_packet *packet, uint32_t field_id, struct orma_str ids)
{
	uint64_t id;
	while (orma_probes_text_next_u64(&ids, &id))
		orma_packet_varint(packet, field_id, id);
}

bool orma_probes_process_write_record(struct orma_probes_process_instance *instance,
				      const struct orma_probes_process_record *record)
{
	const struct orma_probes_process_status *status = record->status;
	struct orma_str cmdline = record->cmdline;
	cmdline.size = ORMA_MIN(cmdline.size, (size_t)ORMA_PROBES_PROCESS_CMDLINE_BYTES);
	packet_split(instance);
	if (!packet_open(instance, ORMA_PROCESS_TREE))
		return false;
	struct orma_packet *packet = instance->packet;
	struct orma_nested nested;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_PROCESS_TREE_PROCESSES);
	orma_packet_varint(packet, ORMA_PB_PROCESS_TREE_PROCESS_PID, record->pid);
	if (status->ppid >= 0)
		orma_packet_int(packet, ORMA_PB_PROCESS_TREE_PROCESS_PPID, status->ppid);
	/* Ids above 2^31 wrap, because the field is signed. */
	if (status->uid >= 0)
		orma_packet_int(packet, ORMA_PB_PROCESS_TREE_PROCESS_UID, (int32_t)status->uid);
	write_ids(packet, ORMA_PB_PROCESS_TREE_PROCESS_NSPID, status->nspid);
	if (!orma_probes_process_cmdline_write(packet, cmdline)) {
		/* Kernel threads and zombies have no command line. */
		orma_packet_bytes(packet, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, record->comm.data,
				  record->comm.size);
		orma_packet_bool(packet, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
	}
	if (record->has_start)
		orma_packet_varint(packet, ORMA_PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT,
				   record->start_ns);
	if (status->kthread >= 0)
		orma_packet_bool(packet, ORMA_PB_PROCESS_TREE_PROCESS_IS_KTHREAD,
				 status->kthread != 0);
	orma_packet_nested_end(packet, &nested);
	instance->packet_bytes += RECORD_BYTES + cmdline.size;
	orma_sightings_set_process(instance->seen, record->pid, record->pid);
	if (!instance->config.skip_main_thread)
		return orma_probes_process_write_thread(
			instance, record->pid, record->pid, status,
			instance->config.thread_names ? record->comm : (struct orma_str){0});
	return true;
}

bool orma_probes_process_write_thread(struct orma_probes_process_instance *instance, uint32_t tid,
				      uint32_t tgid,
				      const struct orma_probes_process_status *status,
				      struct orma_str comm)
{
	packet_split(instance);
	if (!packet_open(instance, ORMA_PROCESS_TREE))
		return false;
	struct orma_packet *packet = instance->packet;
	struct orma_nested nested;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_PROCESS_TREE_THREADS);
	orma_packet_varint(packet, ORMA_PB_PROCESS_TREE_THREAD_TID, tid);
	orma_packet_varint(packet, ORMA_PB_PROCESS_TREE_THREAD_TGID, tgid);
	if (status)
		write_ids(packet, ORMA_PB_PROCESS_TREE_THREAD_NSTID, status->nspid);
	if (comm.size > 0)
		orma_packet_bytes(packet, ORMA_PB_PROCESS_TREE_THREAD_NAME, comm.data, comm.size);
	orma_packet_nested_end(packet, &nested);
	instance->packet_bytes += THREAD_BYTES + comm.size;
	orma_sightings_set_process(instance->seen, tid, tgid);
	return true;
}

/* ---- values ---- */

struct values_ctx {
	struct orma_probes_process_instance *instance;
	uint32_t pid;
	struct orma_nested nested;
	bool is_open;
};

static bool values_open(struct values_ctx *ctx)
{
	if (ctx->is_open)
		return true;
	packet_split(ctx->instance);
	if (!packet_open(ctx->instance, ORMA_PROCESS_STATS))
		return false;
	orma_packet_nested_begin(ctx->instance->packet, &ctx->nested,
				 ORMA_PB_PROCESS_STATS_PROCESSES);
	orma_packet_varint(ctx->instance->packet, ORMA_PB_PROCESS_STATS_PROCESS_PID, ctx->pid);
	ctx->is_open = true;
	return true;
}

static bool write_fd(struct values_ctx *ctx, int fd_dir, uint32_t fd)
{
	char path[ORMA_PROBES_PATH_BYTES], target[PATH_MAX];
	ssize_t size =
		readlinkat(fd_dir, orma_probes_path(path, "", fd, ""), target, sizeof(target));
	if (size < 0)
		return false;
	if (ctx->is_open && ctx->instance->packet_bytes >= ORMA_PROBES_PROCESS_PACKET_BYTES) {
		orma_packet_nested_end(ctx->instance->packet, &ctx->nested);
		ctx->is_open = false;
	}
	if (!values_open(ctx))
		return false;
	struct orma_packet *packet = ctx->instance->packet;
	struct orma_nested nested;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_PROCESS_STATS_PROCESS_FDS);
	orma_packet_varint(packet, ORMA_PB_PROCESS_STATS_FD_INFO_FD, fd);
	orma_packet_bytes(packet, ORMA_PB_PROCESS_STATS_FD_INFO_PATH, target, (size_t)size);
	orma_packet_nested_end(packet, &nested);
	ctx->instance->packet_bytes += FD_BYTES + (size_t)size;
	return true;
}

/* Writes the descriptors that the last poll did not find, and keeps the list of this poll. So a
 * number that was closed and is used again counts as new. Returns false when the turn of the loop is over. */
static bool write_fds(struct values_ctx *ctx, struct orma_probes_process *process)
{
	struct orma_probes_process_instance *instance = ctx->instance;
	struct orma_probes_numbers *fds = &instance->fds, swap;
	char path[ORMA_PROBES_PATH_BYTES];
	ORMA_AUTO(orma_base_fd_closep)
	int fd_dir = orma_probes_dir_open(instance->probe->proc_fd,
					  orma_probes_path(path, "", ctx->pid, "/fd"));

	if (fd_dir < 0 ||
	    (instance->next_fd == 0 && orma_probes_dir_numbers(fd_dir, ".", "", fds) < 0))
		return true;
	while (instance->next_fd < fds->count) {
		uint32_t fd = fds->items[instance->next_fd++];
		if (orma_probes_numbers_has(&process->fds, fd) || write_fd(ctx, fd_dir, fd))
			fds->items[instance->kept_fds++] = fd;
		if (instance->next_fd % ORMA_PROBES_PROCESS_CLOCK_STEP == 0 &&
		    instance->next_fd < fds->count && orma_probe_is_turn_over(&instance->base))
			return false;
	}
	fds->count = instance->kept_fds;
	swap = process->fds;
	process->fds = *fds;
	*fds = swap;
	return true;
}

/* The number may have been written before: it was closed since then, and has another file. */
void orma_probes_process_write_fd(struct orma_probes_process_instance *instance, uint32_t pid,
				  struct orma_probes_process *process, uint32_t fd)
{
	struct values_ctx ctx = {.instance = instance, .pid = pid};
	struct orma_probes_numbers *fds = &process->fds;
	char path[ORMA_PROBES_PATH_BYTES];
	ORMA_AUTO(orma_base_fd_closep)
	int fd_dir = orma_probes_dir_open(instance->probe->proc_fd,
					  orma_probes_path(path, "", pid, "/fd"));

	if (fd_dir < 0 || !write_fd(&ctx, fd_dir, fd))
		return;
	orma_packet_nested_end(instance->packet, &ctx.nested);
	if (orma_probes_numbers_has(fds, fd) || orma_probes_numbers_add(fds, fd) < 0)
		return;
	for (size_t i = fds->count - 1; i > 0 && fds->items[i - 1] > fd; i--) {
		fds->items[i] = fds->items[i - 1];
		fds->items[i - 1] = fd;
	}
}

bool orma_probes_process_write_values(struct orma_probes_process_instance *instance, uint32_t pid,
				      struct orma_probes_process *process)
{
	struct values_ctx ctx = {.instance = instance, .pid = pid};
	if (process->changed && !values_open(&ctx))
		return true;
	uint32_t bits = process->changed;
	process->cached |= bits;
	process->changed = 0;
	for (; bits; bits &= bits - 1) {
		int value = __builtin_ctz(bits);
		orma_packet_varint(instance->packet, orma_probes_process_value_fields[value],
				   process->sample.values[value]);
		instance->packet_bytes += VALUE_BYTES;
	}
	bool is_done = !instance->config.fds || write_fds(&ctx, process);
	if (ctx.is_open)
		orma_packet_nested_end(instance->packet, &ctx.nested);
	return is_done;
}
