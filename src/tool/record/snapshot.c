/* SPDX-License-Identifier: Apache-2.0
 * snapshot.c - the snapshots that triggers of a recording ask for: clones of the running session,
 * each in a file.
 *
 * A snapshot needs a connection of its own, because a consumer has one session. Snapshots are made
 * one after the other; hits that arrive meanwhile wait. Rejected: a thread per snapshot, because
 * simultaneous clones of one session only slow each other down.
 */
#include "tool/record/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error_message.h"
#include "base/fd.h"
#include "base/str.h"
#include "schema/gen/observable_events.pb.h"
#include "tool/print.h"
#include "tool/record/trace_output.h"
#include "tool/tool.h"

#define WAITING_MAX 64

struct hit {
	struct orma_list link;
	struct orma_session_clone_options options; /* its names are owned */
	char *name, *producer_name;
};

void orma_snapshots_init(struct orma_snapshots *snapshots, const char *out_path, bool no_clobber)
{
	*snapshots = (struct orma_snapshots){.out_path = out_path, .no_clobber = no_clobber};
	orma_base_list_init(&snapshots->hits);
}

static void free_hit(struct orma_snapshots *snapshots, struct hit *hit)
{
	orma_base_list_remove(&hit->link);
	snapshots->waiting_count--;
	orma_base_free(hit->name);
	orma_base_free(hit->producer_name);
	orma_base_free(hit);
}

void orma_snapshots_done(struct orma_snapshots *snapshots)
{
	while (!orma_base_list_is_empty(&snapshots->hits))
		free_hit(snapshots, ORMA_LIST_ENTRY(snapshots->hits.next, struct hit, link));
}

static void add_hit(struct orma_snapshots *snapshots,
		    const struct orma_pb_observable_events_clone_trigger_hit *event)
{
	struct hit *hit = orma_base_zalloc(sizeof(*hit));
	if (!hit)
		return;
	orma_base_list_append(&snapshots->hits, &hit->link);
	snapshots->waiting_count++;
	hit->name = orma_base_str_dup(event->trigger_name);
	hit->producer_name = orma_base_str_dup(event->producer_name);
	if (!hit->name || !hit->producer_name) {
		free_hit(snapshots, hit);
		return;
	}
	hit->options = (struct orma_session_clone_options){
		.struct_size = sizeof(hit->options),
		.session_id = (uint64_t)event->tracing_session_id,
		.file_fd = -1,
		.trigger_name = hit->name,
		.trigger_producer_name = hit->producer_name,
		.trigger_producer_uid = event->producer_uid,
		.trigger_boot_time_ns = event->boot_time_ns,
		.trigger_delay_ms = event->trigger_delay_ms,
	};
}

void orma_snapshots_take_events(struct orma_snapshots *snapshots, const void *events, size_t size)
{
	struct orma_arena arena = {0};
	struct orma_pb_observable_events *decoded;
	if (orma_pb_observable_events_decode(events, size, &arena, &decoded) == 0 &&
	    decoded->clone_trigger_hit && snapshots->waiting_count < WAITING_MAX)
		add_hit(snapshots, decoded->clone_trigger_hit);
	orma_base_arena_done(&arena);
}

static int take(const char *consumer_address, const struct orma_session_clone_options *options,
		struct orma_trace_output *output, struct orma_error *reterr)
{
	struct orma_session_options session_options = {
		.struct_size = sizeof(session_options),
		.consumer_socket = consumer_address,
		.timeout_ms = ORMA_CLONE_TIMEOUT_MS,
	};
	struct orma_session_clone_result clone = {.struct_size = sizeof(clone)};
	struct orma_session *session;
	int r = orma_session_new(&session_options, &session, reterr);
	if (r)
		return r;
	r = orma_session_clone(session, options, &clone, reterr);
	if (r == 0 && !clone.was_write_into_file) {
		r = orma_trace_output_read(output, session);
		if (r)
			orma_base_error_set(reterr, r, "%s", strerror(-r));
	}
	orma_session_free(session);
	return r;
}

static int open_file(const struct orma_snapshots *snapshots, struct orma_trace_output *output)
{
	output->is_new = true;
	output->fd = open(output->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (output->fd < 0 && errno == EEXIST && !snapshots->no_clobber) {
		output->is_new = false;
		output->fd = open(output->path, O_RDWR | O_CLOEXEC);
	}
	if (output->fd < 0)
		return -errno;
	/* The session may be gone, and then there is nothing to replace an older snapshot with. */
	orma_trace_output_keep_old(output);
	orma_trace_output_empty(output);
	return 0;
}

/* Returns 0, or an error that was reported. The file keeps the part that fits, because it is the
 * only copy. */
static int take_into(const struct orma_snapshots *snapshots, struct hit *hit,
		     struct orma_trace_output *output, off_t *ret_bytes)
{
	struct orma_error error = {0};
	struct stat info;
	int r = open_file(snapshots, output);
	hit->options.file_fd = output->fd;
	if (r == 0)
		r = take(snapshots->consumer_address, &hit->options, output, &error);
	if ((r == 0 || output->written_bytes > 0) && orma_trace_output_replace_old(output))
		r = -EIO;
	*ret_bytes = output->fd >= 0 && fstat(output->fd, &info) == 0 ? info.st_size : 0;
	if (r)
		orma_tool_warn("%s: %s", output->path,
			       error.message[0] ? error.message : strerror(-r));
	else if (output->error)
		(void)orma_trace_output_tell_loss(output);
	return r ? r : output->error;
}

bool orma_snapshots_step(struct orma_snapshots *snapshots, bool is_quiet)
{
	struct orma_trace_output output = {.fd = -1};
	off_t bytes = 0;
	if (orma_base_list_is_empty(&snapshots->hits))
		return false;
	struct hit *hit = ORMA_LIST_ENTRY(snapshots->hits.next, struct hit, link);
	char path[4096];
	int size = snprintf(path, sizeof(path), "%s.%u", snapshots->out_path,
			    snapshots->taken + snapshots->failed);
	int r = -ENAMETOOLONG;
	output.path = path;
	if (size < (int)sizeof(path))
		r = take_into(snapshots, hit, &output, &bytes);
	else
		orma_tool_warn("%s: %s", path, strerror(-r));
	orma_trace_output_done(&output);
	if (r)
		snapshots->failed++;
	else
		snapshots->taken++;
	if (r == 0 && !is_quiet)
		orma_tool_print_line(stderr, "Trigger \"%s\": snapshot into %s, %.1f KB.",
				     hit->name, path, (double)bytes / 1024);
	free_hit(snapshots, hit);
	return true;
}
