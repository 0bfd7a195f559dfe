/* SPDX-License-Identifier: Apache-2.0
 * lifecycle.c - orma_init() and orma_shutdown(): making the engine, its thread, and their end.
 *
 *   OFF --orma_init()--> CHANGING --> ON --orma_shutdown()--> CHANGING --> OFF
 *
 * One thread runs the loop; with caller_drives it is whichever thread calls orma_dispatch(). Other
 * threads hand it work through a queue (work.h). At the end everything is stopped and committed, and the
 * services get ORMA_CLIENT_DRAIN_NS to take it.
 *
 * The child of a fork begins anew with the data sources and options that it inherits: see fork.c.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/log_message.h"
#include "base/options.h"
#include "client/client_instance.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/fork.h"
#include "client/pin.h"
#include "client/revival.h"
#include "client/sync.h"
#include "client/thread.h"
#include "client/trigger_activation.h"
#include "client/work.h"
#include "ipc/address.h"

static void update_sources(void)
{
	bool has_new_descriptors;

	pthread_mutex_lock(&orma_client.mutex);
	has_new_descriptors = orma_client.has_new_descriptors;
	orma_client.has_new_descriptors = false;
	pthread_mutex_unlock(&orma_client.mutex);
	if (has_new_descriptors)
		orma_client_sources_update();
}

static void on_wake(void *ctx)
{
	struct orma_client_work *work;

	(void)ctx;
	if (orma_client.was_revived)
		orma_base_log(ORMA_LOG_DEBUG,
			      "child of process %d: has a connection of its own from now on",
			      (int)orma_client.parent);
	orma_client.was_revived = false;
	/* Registrations go first, because a fence in the queue waits for them, too. */
	update_sources();
	while ((work = orma_client_work_take())) {
		work->fn(work);
		update_sources();
	}
	orma_client_instances_complete();
}

/* --- ending ----------------------------------------------------------------------------------- */

/* Runs the work that is still queued, because a thread may be waiting for it. */
static void finish_work(void)
{
	struct orma_client_work *work;

	while ((work = orma_client_work_take()))
		work->fn(work);
	orma_client_syncs_end();
	orma_client_triggers_end();
}

/* Waits until every service has seen everything that was sent. */
static void drain_links(void)
{
	uint64_t deadline_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + ORMA_CLIENT_DRAIN_NS;
	bool is_waiting;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		struct orma_client_link *link = &orma_client.links[i];

		orma_client_link_commit(link);
		if (link->is_up)
			orma_client_sync_send(link);
	}
	do {
		uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

		is_waiting = false;
		for (size_t i = 0; i < orma_client.link_count; i++)
			is_waiting |= orma_client.links[i].syncs_outstanding > 0;
		if (!is_waiting || now_ns >= deadline_ns)
			break;
		if (orma_base_loop_turn(orma_client.loop,
					(int)((deadline_ns - now_ns) / ORMA_NS_PER_MS) + 1) < 0)
			break;
	} while (is_waiting);
}

/* On the loop thread, after its loop has ended. */
static void end_engine(void)
{
	orma_client.is_shutting_down = true;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		if (orma_client_source_at(i))
			orma_client_instances_end_source(orma_client_source_at(i));
	orma_client_threads_discard();
	finish_work();
	drain_links();
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_done(&orma_client.links[i]);
}

static void free_options(void)
{
	orma_base_free((char *)orma_client.options.producer_name);
	orma_base_free((char *)orma_client.options.producer_socket);
	orma_client.options = (struct orma_init_options){0};
}

static void free_service(void)
{
#ifndef ORMA_WITHOUT_SERVICE
	orma_client_local_free(ORMA_TAKE(orma_client.local));
#endif
}

/* Frees everything but the list of threads, because threads may still emit. */
static void free_client(void)
{
	orma_client_sources_wait_users();
	orma_client_sources_free();
	orma_client_sources_free_retired(0);
	free_service();
	orma_base_loop_free(ORMA_TAKE(orma_client.loop));
	free_options();
	orma_client.link_count = 0;
	orma_client.is_shutting_down = false;
	orma_client.has_completions = orma_client.has_new_descriptors = false;
	if (orma_client.has_condition)
		pthread_cond_destroy(&orma_client.changed);
	orma_client.has_condition = false;
}

static void change_phase(enum orma_client_phase phase)
{
	pthread_mutex_lock(&orma_client.mutex);
	orma_client.phase = phase;
	pthread_mutex_unlock(&orma_client.mutex);
}

/* In the child of a fork: keeps the parent's sources registered, without instances. */
static void revive_sources(void)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (!source)
			continue;
		orma_client_source_reset(source);
		if (source->extra.revived)
			source->extra.revived(source->options.ctx, orma_client.parent);
	}
}

static void request_stop(struct orma_client_work *work)
{
	(void)work;
	orma_base_loop_stop(orma_client.loop);
}

void orma_shutdown(void)
{
	ORMA_NO_CANCEL();
	struct orma_client_work stop = {.fn = request_stop};

	if (orma_client_revival_begin()) {
		revive_sources();
		orma_client_sources_free();
		free_options();
		orma_client_forget_parent();
		change_phase(ORMA_CLIENT_OFF);
		orma_client_revival_end(0);
		return;
	}
	if (orma_client_is_silent_child() || !orma_client_lock())
		return;
	orma_client.phase = ORMA_CLIENT_CHANGING;
	if (!orma_client.options.caller_drives) {
		orma_base_list_append(&orma_client.work, &stop.item);
		pthread_cond_broadcast(&orma_client.changed);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	if (orma_client.options.caller_drives) {
		end_engine();
	} else {
		orma_base_loop_wake(orma_client.loop);
		pthread_join(orma_client.thread, NULL);
	}
	free_client();
	change_phase(ORMA_CLIENT_OFF);
}

/* --- starting --------------------------------------------------------------------------------- */

/* True when orma_shutdown() has begun: nothing else queues work in its phase. */
static bool is_ending_locked(void)
{
	return orma_client.phase == ORMA_CLIENT_CHANGING &&
	       !orma_base_list_is_empty(&orma_client.work);
}

/* A program that closes all descriptors opens others next, and may count on the lowest numbers. So ours follow a second later, unless
 * orma_shutdown() comes: then false. */
static bool await_calm(void)
{
	struct timespec end;
	bool is_ending;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ORMA_CLIENT_RECOVERY_SEC;
	pthread_mutex_lock(&orma_client.mutex);
	do
		is_ending = is_ending_locked();
	while (!is_ending &&
	       pthread_cond_timedwait(&orma_client.changed, &orma_client.mutex, &end) == 0);
	pthread_mutex_unlock(&orma_client.mutex);
	return !is_ending;
}

/* The program has closed descriptors that it did not open. The loop closes the others, and everything begins anew. The service of
 * this process has clients on descriptors that are gone, too, so it does not recover. */
static bool recover(void)
{
	if (orma_client.local || !await_calm() || orma_base_loop_reopen(orma_client.loop) < 0)
		return false;
	orma_base_log(ORMA_LOG_WARNING,
		      "the program has closed the library's descriptors: connecting anew");
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_reconnect(&orma_client.links[i]);
	/* For work that was queued meanwhile. */
	orma_base_loop_wake(orma_client.loop);
	return true;
}

static void *thread_main(void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_connect(&orma_client.links[i]);
	while (orma_base_loop_run(orma_client.loop) == -EBADF && recover())
		;
	end_engine();
	return NULL;
}

static int start_thread(void)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&orma_client.thread, NULL, thread_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_setname_np(orma_client.thread, "orma");
	return r;
}

static int copy_options(const struct orma_init_options *options)
{
	struct orma_init_options *own = &orma_client.options;
	const char *name, *socket;
	enum orma_ipc_naming naming;

	orma_base_log_read_environment();
	(void)orma_base_options_copy(own, sizeof(*own), options);
	name = own->producer_name ? own->producer_name : program_invocation_short_name;
	/* The environment is read here: other threads may change it later. */
	socket = own->producer_socket ? own->producer_socket : orma_ipc_producer_address_wanted();
	naming = own->producer_socket ? ORMA_IPC_NAMED_BY_PROGRAM
		 : socket             ? ORMA_IPC_NAMED_BY_ENVIRONMENT
				      : ORMA_IPC_NAMED_BY_NOBODY;
	(void)orma_ipc_trust_init(&orma_client.trust, naming, own->trusted_services);
	own->producer_name = own->producer_socket = own->trusted_services = NULL;
	if (own->transport)
		(void)orma_base_options_copy(&orma_client.transport, sizeof(orma_client.transport),
					     own->transport);
	own->transport = NULL;
	if (own->backends == 0)
		own->backends = ORMA_BACKEND_SYSTEM;
	own->producer_name = orma_base_strdup(name);
	if (own->producer_name && socket)
		own->producer_socket = orma_base_strdup(socket);
	return own->producer_name && (!socket || own->producer_socket) ? 0 : -ENOMEM;
}

static int make_condition(void)
{
	pthread_condattr_t attributes;
	int r = -pthread_condattr_init(&attributes);

	if (r < 0)
		return r;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	r = -pthread_cond_init(&orma_client.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	orma_client.has_condition = r == 0;
	return r;
}

static int make_service(void)
{
#ifdef ORMA_WITHOUT_SERVICE
	return -ENOTSUP;
#else
	return orma_client_local_new(orma_client.loop, &orma_client.local);
#endif
}

static int make_links(void)
{
	if (orma_client.options.backends & ORMA_BACKEND_IN_PROCESS) {
		int r = make_service();

		if (r < 0)
			return r;
		orma_client_link_init(&orma_client.links[orma_client.link_count++],
				      orma_client.loop, ORMA_CLIENT_LINK_IN_PROCESS);
	}
	if (orma_client.options.backends & ORMA_BACKEND_SYSTEM)
		orma_client_link_init(&orma_client.links[orma_client.link_count++],
				      orma_client.loop, ORMA_CLIENT_LINK_DAEMON);
	if (orma_client.options.backends & ORMA_BACKEND_CUSTOM)
		orma_client_link_init(&orma_client.links[orma_client.link_count++],
				      orma_client.loop, ORMA_CLIENT_LINK_CUSTOM);
	return 0;
}

/* Makes everything but the loop's thread, by orma_client.options. */
static int make_engine(void)
{
	int r = orma_client_threads_init();

	if (r == 0)
		r = make_condition();
	if (r == 0)
		r = orma_base_loop_new(&orma_client.loop);
	if (r < 0)
		return r;
	orma_base_loop_set_close_on_fork(orma_client.loop);
	orma_base_loop_set_wake_handler(orma_client.loop, on_wake, NULL);
	return make_links();
}

static int start_engine(void)
{
	if (!orma_client.options.caller_drives)
		return start_thread();
	orma_client.driver = pthread_self();
	orma_client.poll_fd = orma_base_loop_fd(orma_client.loop);
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_connect(&orma_client.links[i]);
	return 0;
}

/* In the child of a fork: frees what restart() has made before it failed. */
static void free_engine(void)
{
	free_service();
	orma_base_loop_free(ORMA_TAKE(orma_client.loop));
	orma_client.link_count = 0;
	orma_client.has_condition = false;
}

static int start_revived_engine(void)
{
	int r;

	/* From here on callbacks of the sources may run, and may call any function. */
	change_phase(ORMA_CLIENT_ON);
	atomic_store_explicit(&orma_client_is_forked, false, memory_order_relaxed);
	r = start_engine();
	if (r == 0)
		return 0;
	atomic_store_explicit(&orma_client_is_forked, true, memory_order_relaxed);
	change_phase(ORMA_CLIENT_CHANGING);
	finish_work();
	return r;
}

/* In the child of a fork: begins anew with these options (NULL = the parent's). */
static int restart(const struct orma_init_options *options)
{
	int r = 0;

	orma_client_forget_parent();
	orma_client.has_new_descriptors = orma_client.was_revived = true;
	orma_client_init_lists();
	revive_sources();
	if (options) {
		free_options();
		r = copy_options(options);
	}
	if (r == 0)
		r = make_engine();
	if (r == 0)
		r = start_revived_engine();
	if (r < 0)
		free_engine();
	else
		orma_base_loop_wake(orma_client.loop);
	return r;
}

static int start(const struct orma_init_options *options)
{
	int r = orma_client_forks_init();

	orma_client_pin();
	orma_client_revival_init(restart);
	if (r == 0)
		r = copy_options(options);
	if (r == 0)
		r = make_engine();
	return r < 0 ? r : start_engine();
}

static bool are_options_valid(const struct orma_init_options *options)
{
	const unsigned all = ORMA_BACKEND_SYSTEM | ORMA_BACKEND_IN_PROCESS | ORMA_BACKEND_CUSTOM;
	struct orma_init_options whole = {0};
	struct orma_transport_ops transport = {0};
	struct orma_ipc_trust trust;

	if (orma_base_options_copy(&whole, sizeof(whole), options) < 0 || whole.backends & ~all ||
	    (unsigned)whole.clock > ORMA_CLOCK_MONOTONIC_RAW ||
	    whole.event_policy > ORMA_EXHAUSTED_STALL ||
	    (whole.trusted_services &&
	     orma_ipc_trust_init(&trust, ORMA_IPC_NAMED_BY_NOBODY, whole.trusted_services) < 0) ||
	    (whole.page_size_bytes &&
	     !orma_shm_sizes_are_valid(whole.page_size_bytes, whole.page_size_bytes)))
		return false;
	if (!(whole.backends & ORMA_BACKEND_CUSTOM))
		return !whole.transport;
	return whole.transport &&
	       orma_base_options_copy(&transport, sizeof(transport), whole.transport) == 0 &&
	       orma_client_transport_is_valid(&transport);
}

int orma_init(const struct orma_init_options *options)
{
	ORMA_NO_CANCEL();
	int (*hook)(void);
	int r;

	if (!are_options_valid(options))
		return -EINVAL;
	if (orma_client_revival_begin()) {
		r = restart(options);
		orma_client_revival_end(r);
		return r;
	}
	if (orma_client_is_silent_child())
		return -EALREADY;
	pthread_mutex_lock(&orma_client.mutex);
	r = orma_client.phase == ORMA_CLIENT_OFF ? 0 : -EALREADY;
	if (r == 0)
		orma_client.phase = ORMA_CLIENT_CHANGING;
	/* Threads that emitted before a shutdown stay in their list. */
	if (r == 0 && !orma_client.threads.next)
		orma_client_init_lists();
	pthread_mutex_unlock(&orma_client.mutex);
	if (r < 0)
		return r;
	r = start(options);
	if (r < 0)
		free_client();
	change_phase(r < 0 ? ORMA_CLIENT_OFF : ORMA_CLIENT_ON);
	hook = atomic_load_explicit(&orma_client_on_init, memory_order_acquire);
	if (r < 0 || !hook)
		return r;
	r = hook();
	if (r < 0)
		orma_shutdown();
	return r;
}

bool orma_is_connected(void)
{
	return !orma_client_is_silent_child() &&
	       atomic_load_explicit(&orma_client.up_count, memory_order_relaxed) > 0;
}

const char *orma_version(void)
{
	return ORMA_VERSION_STRING;
}
