/* SPDX-License-Identifier: Apache-2.0
 * heap_source.c - the instances of the data source "orma.heap".
 *
 * If the config of an instance selects this process, the instance sends the process, its heaps and its mappings. Then it sets the
 * intervals of the heaps, which the threads notice. Otherwise it sends nothing.
 *
 * While there is an instance, a timer writes the frees that other threads have deferred and the counts of losses, and checks
 * whether a library was loaded (heap_maps.c).
 *
 * Everything runs on the library's thread, or before it exists, or when the process ends.
 */
#include "heap/heap_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <orma/field.h>
#include <orma/init.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/work.h"
#include "heap/heap_list.h"
#include "heap/heap_maps.h"
#include "heap/heap_packet.h"
#include "heap/heap_selection.h"
#include "heap/heap_send.h"
#include "heap/stack_capture.h"
#include "heap/tracker.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/orma_heap_record.pb.h"

#define SOURCE_NAME "orma.heap"
/* Each tick takes some 30 us of a CPU, so the time between ticks grows while they find nothing to do. */
#define TICK_MS_MIN 100u
#define TICK_MS_MAX 400u
/* The longest wait for room in shared memory, if block_client_timeout_us does not say it, and the largest value of that. */
#define STALL_TIMEOUT_MS     1000
#define STALL_TIMEOUT_MS_MAX 60000u
#define BYE_ATTEMPTS         3u
#define STATUS_BYTES_MAX     65536u

/* Commands for a private futex. Not every system has the header linux/futex.h. */
enum { WAIT_FOR_WORD = 0 | 128, WAKE_WAITERS = 1 | 128 };
/* The time within which a service accepts a connection. */
#define CONNECT_TIMEOUT_MS 300

/* An instance that selects this process. */
struct session {
	struct orma_arena arena;
	struct orma_pb_heapprofd_config
		*config; /* in the arena; NULL = none, or it selects other processes */
	bool is_started;
	uint64_t reported_losses; /* see orma_heap_send_losses() */
};

static struct session sessions[ORMA_INSTANCES_MAX];
static struct orma_timer tick;
static uint32_t tick_ms;
static struct orma_client_work registration_work;
static _Atomic bool is_registration_posted; /* acq_rel: one owner of the work */
static struct orma_client_work commit_work;
static _Atomic bool
	is_commit_posted; /* from send_everything() to the library's thread, which clears it */
static bool is_forked;
/* Counts since the program began: instances that have started, and instances whose config was read. The constructor waits for the
 * latter, as for a futex. */
static _Atomic uint32_t starts, answers;
/* True if the last commit_all() has sent all counts of losses. Relaxed, because it is read after an answer to a later message. */
static _Atomic bool are_losses_sent = true;
/* True while the constructor waits. Relaxed. */
static _Atomic bool is_starting;

/* Called by the thread that doubled the interval. */
static void on_interval(uint32_t instance, uint32_t heap_id)
{
	/* Not from the config, because the library's thread may free it now. */
	orma_heap_send_heap(instance, heap_id,
			    atomic_load_explicit(&orma_heap_infos[heap_id].first_interval[instance],
						 memory_order_relaxed));
}

/* --- the timer -------------------------------------------------------------------------------- */

static void on_tick(struct orma_timer *timer)
{
	struct orma_data_source *source = orma_heap_tracker_source();
	bool is_wanted = false, had_work = orma_heap_write_deferred_frees();

	if (orma_heap_maps_have_changed()) {
		orma_heap_maps_send();
		had_work = true;
	}
	tick_ms = had_work ? TICK_MS_MIN : ORMA_MIN(2 * tick_ms, TICK_MS_MAX);
	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		if (!sessions[i].is_started)
			continue;
		is_wanted = true;
		(void)orma_heap_send_losses(i, &sessions[i].reported_losses);
	}
	if (is_wanted)
		(void)orma_base_loop_arm_in(orma_client.loop, timer, tick_ms * ORMA_NS_PER_MS,
					    on_tick);
}

/* --- heaps ------------------------------------------------------------------------------------ */

static void apply_config(uint32_t instance)
{
	const struct orma_pb_heapprofd_config *config = sessions[instance].config;

	for (uint32_t i = 1; i < orma_heap_ids_end(); i++) {
		struct orma_heap_info *info = orma_heap_info_at(i);
		uint64_t interval = info ? orma_heap_selected_interval(config, info->name) : 0;

		if (interval == 0 || atomic_load_explicit(&info->instance_interval[instance],
							  memory_order_relaxed) != 0)
			continue;
		orma_heap_set_interval(info, instance, interval);
		orma_heap_send_heap(instance, i, interval);
	}
}

static void on_registration(struct orma_client_work *work)
{
	(void)work;
	atomic_store_explicit(&is_registration_posted, false, memory_order_release);
	orma_heap_never_sample_thread();
	for (uint32_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		if (sessions[i].is_started)
			apply_config(i);
	orma_heap_call_callbacks();
}

static void post_registration(void)
{
	if (atomic_exchange_explicit(&is_registration_posted, true, memory_order_acq_rel))
		return;
	registration_work.fn = on_registration;
	if (orma_client_post(&registration_work) < 0)
		atomic_store_explicit(&is_registration_posted, false, memory_order_release);
}

/* Called on any thread. The library's thread sets the interval of the new heap. */
static void on_heap_registered(void)
{
	if (orma_heap_tracker_source())
		orma_heap_run_inside(post_registration);
}

/* --- instances -------------------------------------------------------------------------------- */

static uint64_t anonymous_kb(void)
{
	static const char *const names[] = {"\nRssAnon:", "\nVmSwap:"};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	uint64_t sum = 0;
	int r = orma_base_file_read(AT_FDCWD, "/proc/self/status", STATUS_BYTES_MAX, &text);
	const char *status = r < 0 ? NULL : orma_base_buf_cstr(&text);

	for (size_t i = 0; status && i < ORMA_ARRAY_SIZE(names); i++) {
		const char *line = strstr(status, names[i]);

		if (line)
			sum += strtoull(line + strlen(names[i]), NULL, 10);
	}
	return sum;
}

static bool selects_this_process(const struct orma_pb_heapprofd_config *config)
{
	char command[ORMA_HEAP_COMMAND_BYTES];
	struct orma_heap_process_facts process = {.pid = getpid(), .command = command};

	(void)orma_heap_read_command(command);
	process.is_starting = atomic_load_explicit(&is_starting, memory_order_relaxed);
	if (config->min_anonymous_memory_kb > 0)
		process.anonymous_kb = anonymous_kb();
	return orma_heap_is_selected(config, &process);
}

static void note_answer(void)
{
	atomic_fetch_add_explicit(&answers, 1, memory_order_release);
	syscall(SYS_futex, &answers, WAKE_WAITERS, INT_MAX, NULL, NULL, 0);
}

static void session_done(struct session *session)
{
	orma_base_arena_done(&session->arena);
	*session = (struct session){0};
	orma_heap_maps_want((uint32_t)(session - sessions), false);
}

static uint32_t to_timeout_ms(uint64_t timeout_us)
{
	return (uint32_t)ORMA_MIN(timeout_us / 1000 + 1, STALL_TIMEOUT_MS_MAX);
}

/* Sets how long a thread waits at most while shared memory is full, if the session wants it to wait. */
static void set_stall_timeout(const struct orma_instance *instance, uint64_t timeout_us)
{
	if (timeout_us == 0)
		return;
	pthread_mutex_lock(&orma_client.mutex);
	instance->source->instances[instance->idx].stall_timeout_ms = to_timeout_ms(timeout_us);
	pthread_mutex_unlock(&orma_client.mutex);
}

static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	struct session *session = &sessions[instance->idx];
	struct orma_field field;
	void *bytes;
	int r;

	(void)ctx;
	(void)ret_instance_ctx;
	orma_heap_never_sample_thread();
	/* Stored here too, because the registration may not have returned yet. */
	atomic_store_explicit(&orma_heap_tracker.source, instance->source, memory_order_release);
	session_done(session);
	r = orma_field_find(instance->config, instance->config_size,
			    ORMA_PB_DATA_SOURCE_CONFIG_HEAPPROFD_CONFIG, &field);
	if (r <= 0 || field.type != ORMA_FIELD_BYTES)
		return;
	/* The strings of the decoded message point into the bytes. */
	bytes = orma_base_arena_memdup(&session->arena, field.data, field.size);
	if (!bytes ||
	    orma_pb_heapprofd_config_decode(bytes, field.size, &session->arena, &session->config) <
		    0 ||
	    !selects_this_process(session->config)) {
		session_done(session);
		/* The constructor need not wait for a session that selects others. */
		note_answer();
		return;
	}
	orma_heap_maps_want(instance->idx, true);
	set_stall_timeout(instance, session->config->block_client_timeout_us);
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	struct orma_heap_tracker *tracker = &orma_heap_tracker;
	uint32_t i = instance->idx;
	const struct orma_pb_heapprofd_config *config = sessions[i].config;

	(void)ctx;
	if (!config)
		return;
	atomic_store_explicit(&tracker->first_serial[i],
			      1 + atomic_load_explicit(&tracker->next_serial, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&tracker->adaptive_max[i],
			      config->adaptive_sampling_shmem_threshold > 0
				      ? config->adaptive_sampling_max_sampling_interval_bytes
				      : 0,
			      memory_order_relaxed);
	memset(&tracker->counts[i], 0, sizeof(tracker->counts[i]));
	sessions[i].is_started = true;
	orma_heap_send_process(i, atomic_load_explicit(&is_starting, memory_order_relaxed),
			       is_forked);
	(void)orma_heap_maps_have_changed();
	orma_heap_maps_send();
	apply_config(i);
	orma_heap_call_callbacks();
	tick_ms = TICK_MS_MIN;
	(void)orma_base_loop_arm_in(orma_client.loop, &tick, tick_ms * ORMA_NS_PER_MS, on_tick);
	atomic_fetch_add_explicit(&starts, 1, memory_order_release);
	note_answer();
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	uint32_t idx = instance->idx;

	(void)ctx;
	if (!sessions[idx].is_started)
		return ORMA_COMPLETE;
	for (uint32_t i = 1; i < orma_heap_ids_end(); i++)
		if (atomic_load_explicit(&orma_heap_infos[i].instance_interval[idx],
					 memory_order_relaxed) != 0)
			orma_heap_set_interval(&orma_heap_infos[i], idx, 0);
	orma_heap_call_callbacks();
	(void)orma_heap_write_deferred_frees();
	(void)orma_heap_send_losses(idx, &sessions[idx].reported_losses);
	sessions[idx].is_started = false;
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	if (sessions[instance->idx].is_started) {
		(void)orma_heap_write_deferred_frees();
		(void)orma_heap_send_losses(instance->idx,
					    &sessions[instance->idx].reported_losses);
		/* The flush takes this thread's chunk. The next tick gets another one for the counts of losses. */
		(void)orma_base_loop_arm_in(orma_client.loop, &tick, ORMA_NS_PER_MS, on_tick);
	}
	return ORMA_COMPLETE;
}

static void on_destroy(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	session_done(&sessions[instance->idx]);
}

int orma_heap_source_register(bool waits)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = SOURCE_NAME,
		.policy = ORMA_EXHAUSTED_DROP,
		.stall_timeout_ms = STALL_TIMEOUT_MS,
		.allow_policy_in_config = true,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_destroy = on_destroy,
	};
	struct orma_data_source *source;
	int r;

	orma_heap_register_malloc();
	atomic_store_explicit(&is_starting, waits, memory_order_relaxed);
	orma_heap_tracker.on_interval = on_interval;
	orma_heap_tracker.on_stale = orma_heap_maps_on_stale;
	atomic_store_explicit(&orma_heap_on_registered, on_heap_registered, memory_order_release);
	r = orma_data_source_register(&options, &source);
	if (r == 0)
		atomic_store_explicit(&orma_heap_tracker.source, source, memory_order_release);
	return r;
}

/* --- begin and end of the process ------------------------------------------------------------- */

/* Runs on the library's thread, as the timer does, so that they do not run at the same time. */
static void commit_all(struct orma_client_work *work)
{
	struct orma_data_source *source = orma_heap_tracker_source();
	bool is_complete = true;

	(void)work;
	atomic_store_explicit(&is_commit_posted, false, memory_order_release);
	(void)orma_heap_write_deferred_frees();
	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		if (!sessions[i].is_started)
			continue;
		is_complete = orma_heap_send_losses(i, &sessions[i].reported_losses) && is_complete;
		orma_data_source_flush_thread(source, i);
		(void)orma_heap_send_losses(i, &sessions[i].reported_losses);
	}
	atomic_store_explicit(&are_losses_sent, is_complete, memory_order_relaxed);
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_commit(&orma_client.links[i]);
}

/* Waits until the service has everything that was written so far. False after the timeout: the library's thread may never answer,
 * because the program has replaced its descriptors. */
static bool send_everything(uint32_t timeout_ms)
{
	if (!atomic_exchange_explicit(&is_commit_posted, true, memory_order_acq_rel)) {
		commit_work.fn = commit_all;
		if (orma_client_post(&commit_work) < 0) {
			atomic_store_explicit(&is_commit_posted, false, memory_order_release);
			return false;
		}
	}
	/* The library's thread works in order, so it answers this after the commit. */
	return orma_sync(timeout_ms) == 0;
}

/* Creates this thread's sequences. When a process is killed, the service only recovers the chunks of sequences that it knows. */
static void begin_sequences(void)
{
	struct orma_data_source *source = orma_heap_tracker_source();

	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		(void)orma_heap_has_room(source, i, 0);
	}
}

void orma_heap_source_wait(uint32_t timeout_ms)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t end_ns = now_ns + timeout_ms * ORMA_NS_PER_MS;

	/* The timeout is short, because a profiler starts its service first. After the end of a profiler, every program that it
	 * followed would wait otherwise. */
	if (orma_sync(CONNECT_TIMEOUT_MS) == 0 || orma_is_connected())
		while (atomic_load_explicit(&answers, memory_order_acquire) == 0 &&
		       now_ns < end_ns) {
			const struct timespec left = {(time_t)((end_ns - now_ns) / ORMA_NS_PER_SEC),
						      (long)((end_ns - now_ns) % ORMA_NS_PER_SEC)};

			syscall(SYS_futex, &answers, WAIT_FOR_WORD, 0, &left, NULL, 0);
			now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		}
	/* So the service knows this process and this thread, even if they end or call exec at once. */
	if (atomic_load_explicit(&starts, memory_order_acquire) > 0) {
		orma_heap_run_inside(begin_sequences);
		(void)send_everything(timeout_ms);
	}
	atomic_store_explicit(&is_starting, false, memory_order_relaxed);
	/* This thread has drawn its countdown before there was a session. */
	if (orma_heap_self.left < ORMA_HEAP_NEVER / 2)
		orma_heap_self.left = 0;
}

static void write_bye(void)
{
	struct orma_data_source *source = orma_heap_tracker_source();

	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		uint8_t message[ORMA_PROTO_SCALAR_FIELD_MAX];
		struct orma_proto_writer writer;

		if (!sessions[i].config)
			continue;
		orma_proto_writer_init(&writer, message, message + sizeof(message), NULL);
		orma_proto_write_varint(&writer, ORMA_PB_ORMA_HEAP_RECORD_BYE_TIMESTAMP_NS,
					orma_heap_now_ns());
		orma_heap_write_message(source, i, ORMA_PB_ORMA_HEAP_RECORD_BYE, message,
					(size_t)orma_proto_writer_written(&writer));
		orma_data_source_flush_thread(source, i);
	}
}

void orma_heap_source_end_process(uint32_t timeout_ms)
{
	struct orma_data_source *source = orma_heap_tracker_source();

	if (!source || orma_data_source_started(source) == 0)
		return;
	/* Frees that were deferred to the library's thread are lost with the process, so the timeout is as long as theirs. */
	ORMA_FOR_EACH_INSTANCE(source, i)
	{
		if (sessions[i].config)
			timeout_ms = ORMA_MAX(
				timeout_ms,
				to_timeout_ms(sessions[i].config->block_client_timeout_us));
	}
	orma_heap_count_unseen();
	orma_heap_run_inside(write_bye);
	/* While shared memory is full, there is no room for the counts of losses. The service makes room before it answers, so
	 * another attempt may succeed. */
	for (unsigned i = 0; i < BYE_ATTEMPTS && send_everything(timeout_ms); i++)
		if (atomic_load_explicit(&are_losses_sent, memory_order_relaxed))
			break;
}

/* --- fork ------------------------------------------------------------------------------------- */

/* Makes the child a producer. Called inside of a hook, by one thread only. */
static void connect_child(void)
{
	if (atomic_exchange_explicit(&orma_heap_tracker.on_idle, NULL, memory_order_acq_rel))
		(void)orma_init(NULL);
}

void orma_heap_source_forked(bool follows)
{
	/* The arenas are not freed, because the allocator of the parent may have been changing its state. */
	memset(sessions, 0, sizeof(sessions));
	memset(&tick, 0, sizeof(tick));
	atomic_store_explicit(&is_registration_posted, false, memory_order_relaxed);
	atomic_store_explicit(&is_commit_posted, false, memory_order_relaxed);
	orma_heap_maps_forked();
	is_forked = true;
	orma_heap_tracker_forked(follows);
	atomic_store_explicit(&orma_heap_tracker.on_idle, follows ? connect_child : NULL,
			      memory_order_relaxed);
	/* Many children call exec soon, so a child only connects after it has allocated a step. */
	orma_heap_self.left = orma_heap_tracker.idle_step;
	orma_heap_self.epoch = atomic_load_explicit(&orma_heap_epoch, memory_order_relaxed);
}
