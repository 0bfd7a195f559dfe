/* SPDX-License-Identifier: Apache-2.0
 * client.c - the one object of the process: starting, the loop thread, its queue, leaving.
 *
 *   OFF --orma_init()--> CHANGING --> ON --orma_shutdown()--> CHANGING --> OFF
 *
 * One thread runs the loop (or, with caller_drives, whoever calls orma_dispatch()). Other threads
 * hand it work through a queue under the mutex and a wake of the loop; the mutex guards a few words
 * and is never held over a system call or a callback. The object is static, so that a thread that
 * ends late still finds the mutex.
 *
 * The child of a fork begins anew with the sources and options that it inherits: see fork.c.
 * Rejected: several clients per process (libraries in one process would each connect).
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/log_message.h"
#include "base/options.h"
#include "client/client.h"
#include "ipc/address.h"

struct orma_client orma_client = {.mutex = PTHREAD_MUTEX_INITIALIZER};
int (*_Atomic orma_client_on_init)(void);

static bool is_forked(void)
{
	return atomic_load_explicit(&orma_client_is_forked, memory_order_relaxed);
}

bool orma_client_lock(void)
{
	if (ORMA_UNLIKELY(is_forked())) {
		orma_client_revive();
		if (is_forked())
			return false;
	}
	pthread_mutex_lock(&orma_client.mutex);
	if (orma_client.phase == ORMA_CLIENT_ON)
		return true;
	pthread_mutex_unlock(&orma_client.mutex);
	return false;
}

uint64_t orma_client_stamp_locked(void)
{
	return ++orma_client.next_stamp;
}

/* --- the queue -------------------------------------------------------------------------------- */

int orma_client_post(struct orma_client_work *work)
{
	if (!orma_client_lock())
		return -ENOTCONN;
	orma_base_list_append(&orma_client.work, &work->item);
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_loop_wake(orma_client.loop);
	return 0;
}

static struct orma_client_work *take_work(void)
{
	struct orma_client_work *work = NULL;

	pthread_mutex_lock(&orma_client.mutex);
	if (!orma_base_list_is_empty(&orma_client.work)) {
		work = ORMA_LIST_ENTRY(orma_client.work.next, struct orma_client_work, item);
		orma_base_list_remove(&work->item);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	return work;
}

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
	/* First what was registered: a fence among the work stands behind it. */
	update_sources();
	while ((work = take_work())) {
		work->fn(work);
		update_sources();
	}
	orma_client_complete_all();
}

struct waited_work {
	struct orma_client_work work;
	void (*fn)(void *ctx);
	void *ctx;
	bool is_done; /* mutex */
};

static void run_waited(struct orma_client_work *work)
{
	struct waited_work *waited = ORMA_CONTAINER_OF(work, struct waited_work, work);

	waited->fn(waited->ctx);
	pthread_mutex_lock(&orma_client.mutex);
	waited->is_done = true;
	pthread_cond_broadcast(&orma_client.changed);
	pthread_mutex_unlock(&orma_client.mutex);
}

int orma_client_post_and_wait(void (*fn)(void *ctx), void *ctx)
{
	ORMA_NO_CANCEL();
	struct waited_work waited = {.work.fn = run_waited, .fn = fn, .ctx = ctx};
	int r;

	if (!orma_client_lock())
		return -ENOTCONN;
	pthread_mutex_unlock(&orma_client.mutex);
	if (orma_client.options.caller_drives || orma_client_is_loop_thread()) {
		fn(ctx);
		return 0;
	}
	r = orma_client_post(&waited.work);
	if (r < 0)
		return r;
	pthread_mutex_lock(&orma_client.mutex);
	while (!waited.is_done)
		pthread_cond_wait(&orma_client.changed, &orma_client.mutex);
	pthread_mutex_unlock(&orma_client.mutex);
	return 0;
}

bool orma_client_is_loop_thread(void)
{
	return !orma_client.options.caller_drives &&
	       pthread_equal(orma_client.thread, pthread_self());
}

bool orma_is_connected(void)
{
	return !is_forked() &&
	       atomic_load_explicit(&orma_client.up_count, memory_order_relaxed) > 0;
}

/* --- leaving ---------------------------------------------------------------------------------- */

/* Work that nobody will do any more must not leave its owner waiting. */
static void finish_work(void)
{
	struct orma_client_work *work;

	while ((work = take_work()))
		work->fn(work);
	orma_client_syncs_end();
	orma_client_triggers_end();
}

static void say_farewell(void)
{
	uint64_t deadline_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + ORMA_CLIENT_FAREWELL_NS;
	bool is_waiting;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		struct orma_client_link *link = &orma_client.links[i];

		orma_client_link_commit(link);
		if (link->is_up)
			orma_client_send_sync(link);
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

/* On the loop thread, outside of its loop. */
static void leave(void)
{
	orma_client.is_leaving = true;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		if (orma_client_source_at(i))
			orma_client_end_source(orma_client_source_at(i));
	orma_client_threads_discard();
	finish_work();
	say_farewell();
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_done(&orma_client.links[i]);
}

void orma_client_forget_sources(bool is_quiet)
{
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		atomic_store_explicit(&orma_client_hot_stamps[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		/* First out of the table: what is in it is whole, also in the child of a fork. */
		atomic_store_explicit(&orma_client.sources[i], NULL, memory_order_release);
		if (!is_quiet)
			orma_client_source_free(source);
		else if (source && source->extra.freed)
			source->extra.freed(source->options.ctx);
	}
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

static void forget_everything(void)
{
	orma_client_users_wait();
	orma_client_forget_sources(false);
	orma_client_retired_free(0);
	free_service();
	orma_base_loop_free(ORMA_TAKE(orma_client.loop));
	free_options();
	orma_client.link_count = 0;
	orma_client.is_leaving = false;
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

/* In the child of a fork. */
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
		orma_client_forget_sources(false);
		free_options();
		orma_client_forget_parent();
		change_phase(ORMA_CLIENT_OFF);
		orma_client_revival_end(0);
		return;
	}
	if (is_forked() || !orma_client_lock())
		return;
	orma_client.phase = ORMA_CLIENT_CHANGING;
	if (!orma_client.options.caller_drives)
		orma_base_list_append(&orma_client.work, &stop.item);
	pthread_mutex_unlock(&orma_client.mutex);
	if (orma_client.options.caller_drives) {
		leave();
	} else {
		orma_base_loop_wake(orma_client.loop);
		pthread_join(orma_client.thread, NULL);
	}
	forget_everything();
	change_phase(ORMA_CLIENT_OFF);
}

/* --- starting --------------------------------------------------------------------------------- */

static void *thread_main(void *ctx)
{
	(void)ctx;
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_connect(&orma_client.links[i]);
	orma_base_loop_run(orma_client.loop);
	leave();
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
	/* Now, and not on the loop's thread. */
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
				      orma_client.loop, orma_client.local, false);
	}
	if (orma_client.options.backends & ORMA_BACKEND_SYSTEM)
		orma_client_link_init(&orma_client.links[orma_client.link_count++],
				      orma_client.loop, NULL, false);
	if (orma_client.options.backends & ORMA_BACKEND_CUSTOM)
		orma_client_link_init(&orma_client.links[orma_client.link_count++],
				      orma_client.loop, NULL, true);
	return 0;
}

/* Everything but the loop's thread, with the options that are there. */
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

static int start(const struct orma_init_options *options)
{
	int r = orma_client_forks_init();

	orma_client_pin();

	if (r == 0)
		r = copy_options(options);
	if (r == 0)
		r = make_engine();
	return r < 0 ? r : start_engine();
}

static void forget_engine(void)
{
	free_service();
	orma_base_loop_free(ORMA_TAKE(orma_client.loop));
	orma_client.link_count = 0;
	orma_client.has_condition = false;
}

/* Of what is the parent's, nothing is freed: its threads may have been changing it. */
void orma_client_forget_parent(void)
{
	orma_client.threads.next = NULL;
	orma_client.loop = NULL;
	orma_client.local = NULL;
	orma_client.link_count = 0;
	orma_client.has_condition = orma_client.has_completions = orma_client.is_leaving = false;
	atomic_store_explicit(&orma_client.up_count, 0, memory_order_relaxed);
}

static void init_lists(void)
{
	orma_base_list_init(&orma_client.threads);
	orma_base_list_init(&orma_client.work);
	orma_base_list_init(&orma_client.syncs);
	orma_base_list_init(&orma_client.triggers);
}

int orma_client_restart(const struct orma_init_options *options)
{
	int r = 0;

	orma_client_forget_parent();
	orma_client.has_new_descriptors = orma_client.was_revived = true;
	init_lists();
	revive_sources();
	if (options) {
		free_options();
		r = copy_options(options);
	}
	if (r == 0)
		r = make_engine();
	if (r == 0) {
		/* The sources' callbacks may come from now on, and call everything. */
		change_phase(ORMA_CLIENT_ON);
		atomic_store_explicit(&orma_client_is_forked, false, memory_order_relaxed);
		r = start_engine();
		if (r < 0) {
			atomic_store_explicit(&orma_client_is_forked, true, memory_order_relaxed);
			change_phase(ORMA_CLIENT_CHANGING);
			finish_work();
		}
	}
	if (r < 0)
		forget_engine();
	else
		orma_base_loop_wake(orma_client.loop);
	return r;
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
	       orma_client_custom_is_valid(&transport);
}

int orma_init(const struct orma_init_options *options)
{
	ORMA_NO_CANCEL();
	int (*hook)(void);
	int r;

	if (!are_options_valid(options))
		return -EINVAL;
	if (orma_client_revival_begin()) {
		r = orma_client_restart(options);
		orma_client_revival_end(r);
		return r;
	}
	if (is_forked())
		return -EALREADY;
	pthread_mutex_lock(&orma_client.mutex);
	r = orma_client.phase == ORMA_CLIENT_OFF ? 0 : -EALREADY;
	if (r == 0)
		orma_client.phase = ORMA_CLIENT_CHANGING;
	/* Threads that emitted before a shutdown stay in their list. */
	if (r == 0 && !orma_client.threads.next)
		init_lists();
	pthread_mutex_unlock(&orma_client.mutex);
	if (r < 0)
		return r;
	r = start(options);
	if (r < 0)
		forget_everything();
	change_phase(r < 0 ? ORMA_CLIENT_OFF : ORMA_CLIENT_ON);
	hook = atomic_load_explicit(&orma_client_on_init, memory_order_acquire);
	if (r < 0 || !hook)
		return r;
	r = hook();
	if (r < 0)
		orma_shutdown();
	return r;
}

/* --- driven by the caller --------------------------------------------------------------------- */

int orma_poll_fd(void)
{
	int fd = -1;

	if (!orma_client_lock())
		return -1;
	if (orma_client.options.caller_drives)
		fd = orma_client.poll_fd;
	pthread_mutex_unlock(&orma_client.mutex);
	return fd;
}

int orma_dispatch(void)
{
	ORMA_NO_CANCEL();
	bool is_driven;

	if (!orma_client_lock())
		return -ENOTCONN;
	is_driven = orma_client.options.caller_drives;
	pthread_mutex_unlock(&orma_client.mutex);
	if (!is_driven)
		return -ENOTCONN;
	if (!pthread_equal(orma_client.driver, pthread_self())) {
		orma_client.driver = pthread_self();
		for (size_t i = 0; i < orma_client.link_count; i++)
			if (orma_client.links[i].memory)
				orma_shm_arbiter_set_loop_thread(
					orma_client.links[i].memory->arbiter);
	}
	orma_base_loop_turn(orma_client.loop, 0);
	return 0;
}

const char *orma_version(void)
{
	return ORMA_VERSION_STRING;
}
