/* SPDX-License-Identifier: Apache-2.0
 * daemon.c - connects the parts of a tracing service: loop, service, sockets, and worker threads.
 */
#include "tool/daemon/daemon.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/error_message.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "service/shut_down.h"
#include "tool/daemon/compress_worker.h"
#include "tool/daemon/fd_closer.h"
#include "tool/daemon/file_worker.h"
#include "tool/daemon/regex_pcre2.h"
#include "tool/daemon/thread_priority.h"

/* Time limits of an orderly end: for the answers of producers, and in all. */
#define FINISH_FLUSH_MS 1000
#define FINISH_MS       30000
/* An orderly end gives up when for this long no block was written and no file was opened, synced or
 * closed. The kernel keeps the data that write() has taken, so the daemon need not wait for a
 * longer sync. */
#define FINISH_STALL_MS 5000
#define FINISH_CHECK_MS 100

static void on_file_event(void *ctx, uint64_t session_id, int status)
{
	struct orma_daemon *daemon = ctx;
	orma_service_file_event(daemon->service, session_id, status);
}

static void stop_when_finished(struct orma_daemon *daemon)
{
	uint64_t read_bytes;

	if (daemon->is_finishing && !orma_daemon_has_open_files(daemon) &&
	    orma_service_count_readers(daemon->service, &read_bytes) == 0)
		orma_base_loop_stop(daemon->loop);
}

/* Without that place (another user's daemon has it, or it is not a file) only those consumers
 * connect that know another one. */
static void listen_late(struct orma_daemon *daemon)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	const char *list = daemon->late_consumer_addresses;
	struct orma_ipc_address address;

	while (list && orma_ipc_address_list_next(&list, item) > 0)
		if (orma_ipc_address_parse(item, &address) == 0 && orma_ipc_address_path(&address))
			(void)orma_host_listen_consumers(daemon->host, item,
							 ORMA_IPC_LISTEN_KEEP_LIVE |
								 ORMA_IPC_LISTEN_PRIVATE);
}

static void take_requests(struct orma_daemon *daemon)
{
	/* Pairs with the release in orma_daemon_request(). */
	unsigned requests = atomic_exchange_explicit(&daemon->requests, 0, memory_order_acquire);

	if (requests & ORMA_DAEMON_OPEN)
		listen_late(daemon);
	if (requests & ORMA_DAEMON_FINISH)
		orma_daemon_finish(daemon);
	if (requests & ORMA_DAEMON_CLOSE_UNUSED &&
	    orma_service_count_consumers(daemon->service) <= 1)
		orma_host_close_consumers(daemon->host);
	if (requests & ORMA_DAEMON_STOP)
		orma_base_loop_stop(daemon->loop);
}

static void on_compressed(void *ctx, uint64_t session_id)
{
	struct orma_daemon *daemon = ctx;
	orma_service_compressor_event(daemon->service, session_id);
}

static void on_wake(void *ctx)
{
	struct orma_daemon *daemon = ctx;
	if (orma_compress_worker_dispatch(daemon->compressor, on_compressed, daemon))
		orma_host_schedule(daemon->host);
	if (orma_file_worker_dispatch(daemon->files, on_file_event, daemon))
		orma_host_schedule(daemon->host);
	stop_when_finished(daemon);
	take_requests(daemon);
}

static int refuse_remote(const char *address, struct orma_error *reterr)
{
	return orma_base_error_set(
		reterr, -EPERM,
		"consumers are not served on %s, because nothing proves who they are; "
		"--allow-remote-consumers serves everybody who can reach it",
		address);
}

static int check_consumer_addresses(const char *list, struct orma_error *reterr)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];

	while (orma_ipc_address_list_next(&list, item) > 0) {
		struct orma_ipc_address address;
		if (orma_ipc_address_parse(item, &address) == 0 &&
		    orma_ipc_address_family(&address) != AF_UNIX)
			return refuse_remote(item, reterr);
	}
	return 0;
}

int orma_daemon_adopt_consumers(struct orma_daemon *daemon, int fd, struct orma_error *reterr)
{
	struct orma_ipc_address address = {.size = sizeof(address.storage)};
	char text[ORMA_IPC_ADDRESS_TEXT_BYTES];

	if (getsockname(fd, (struct sockaddr *)&address.storage, &address.size))
		return orma_base_error_set(reterr, -errno, "inherited descriptor %d: %s", fd,
					   strerror(errno));
	orma_ipc_address_format(&address, text);
	if (!daemon->allows_remote_consumers && orma_ipc_address_family(&address) != AF_UNIX)
		return refuse_remote(text, reterr);
	int r = orma_host_adopt_consumer_listener(daemon->host, fd);
	return r ? orma_base_error_set(reterr, r, "inherited descriptor %d: %s", fd, strerror(-r))
		 : 0;
}

static bool is_same_address(const char *text, const struct orma_ipc_address *address)
{
	char canonical[2][ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address parsed;

	if (orma_ipc_address_parse(text, &parsed))
		return false;
	orma_ipc_address_format(&parsed, canonical[0]);
	orma_ipc_address_format(address, canonical[1]);
	return strcmp(canonical[0], canonical[1]) == 0;
}

/* Returns ORMA_HOST_RELAY if this socket serves relays, else 0. */
static unsigned relay_flag(struct orma_daemon_relays *relays,
			   const struct orma_ipc_address *address)
{
	bool is_wanted = relays->on_all;

	for (size_t i = 0; i < relays->address_count; i++) {
		if (!is_same_address(relays->addresses[i], address))
			continue;
		relays->is_found[i] = true;
		is_wanted = true;
	}
	return is_wanted ? ORMA_HOST_RELAY : 0;
}

int orma_daemon_check_relays(const struct orma_daemon *daemon, struct orma_error *reterr)
{
	for (size_t i = 0; i < daemon->relays.address_count; i++)
		if (!daemon->relays.is_found[i])
			return orma_base_error_set(
				reterr, -ENOENT,
				"--enable-relay-endpoint-on %s: that is none of the sockets for "
				"producers",
				daemon->relays.addresses[i]);
	return 0;
}

int orma_daemon_adopt_producers(struct orma_daemon *daemon, int fd, struct orma_error *reterr)
{
	struct orma_ipc_address address = {.size = sizeof(address.storage)};
	unsigned flags = 0;

	/* orma_host_adopt_...() below refuse a descriptor that is not a socket. */
	if (getsockname(fd, (struct sockaddr *)&address.storage, &address.size) == 0)
		flags = relay_flag(&daemon->relays, &address);
	int r = orma_host_adopt_producer_listener(daemon->host, fd, flags);
	return r ? orma_base_error_set(reterr, r, "inherited descriptor %d: %s", fd, strerror(-r))
		 : 0;
}

/* The socket of another user's daemon can be neither connected to nor replaced. */
static const char *listen_words(int result, const char *address)
{
	struct stat info;

	if ((result == -EPERM || result == -EACCES) && lstat(address, &info) == 0 &&
	    info.st_uid != geteuid())
		return "it belongs to another user; PERFETTO_PRODUCER_SOCK_NAME and "
		       "PERFETTO_CONSUMER_SOCK_NAME choose other places";
	return strerror(-result);
}

/* Listens on each address by itself, because each may have other flags. */
static int listen_producers(struct orma_daemon *daemon, const char *list, unsigned flags,
			    struct orma_error *reterr)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	const char *rest = list;
	size_t count = 0;
	int r;

	while ((r = orma_ipc_address_list_next(&rest, item)) > 0) {
		struct orma_ipc_address address;

		r = orma_ipc_address_parse(item, &address);
		if (r == 0)
			r = orma_host_listen_producers(
				daemon->host, item, flags | relay_flag(&daemon->relays, &address));
		if (r)
			return orma_base_error_set(reterr, r,
						   "cannot listen for producers on %s: %s", item,
						   listen_words(r, item));
		count++;
	}
	if (r == 0 && count == 0)
		r = -EINVAL;
	return r ? orma_base_error_set(reterr, r, "cannot listen for producers on %s: %s", list,
				       strerror(-r))
		 : 0;
}

static int listen_all(struct orma_daemon *daemon, const struct orma_daemon_options *options,
		      struct orma_error *reterr)
{
	const char *producers = options->producer_addresses ? options->producer_addresses
							    : orma_ipc_producer_address();
	const char *consumers = options->consumer_addresses ? options->consumer_addresses
							    : orma_ipc_consumer_address();
	int r = *producers ? listen_producers(daemon, producers, options->listen_flags, reterr) : 0;
	if (r)
		return r;
	if (!options->allows_remote_consumers) {
		r = check_consumer_addresses(consumers, reterr);
		if (r)
			return r;
	}
	unsigned flags = options->has_private_consumers
				 ? options->listen_flags & ~(unsigned)ORMA_IPC_LISTEN_KEEP_LIVE
				 : options->listen_flags;
	r = *consumers ? orma_host_listen_consumers(daemon->host, consumers, flags) : 0;
	if (r)
		return orma_base_error_set(reterr, r, "cannot listen for consumers on %s: %s",
					   consumers, listen_words(r, consumers));
	return 0;
}

static int init_parts(struct orma_daemon *daemon, const struct orma_daemon_options *wanted)
{
	int r = orma_base_loop_new(&daemon->loop);
	if (r == 0)
		r = orma_fd_closer_new(&daemon->closer);
	if (r)
		return r;
	orma_base_loop_set_closer(daemon->loop, daemon->closer);
	if (r == 0)
		r = orma_file_worker_new(daemon->loop, &daemon->files);
	if (r == 0)
		r = orma_compress_worker_new(daemon->loop, &daemon->compressor);
	if (r)
		return r;
	orma_file_worker_set_output_folder(daemon->files, wanted->output_folder);
	struct orma_compressor_ops compressor_ops = orma_compress_worker_ops();
	struct orma_service_options options = {
		.struct_size = sizeof(options),
		.ctx = daemon->files,
		.file_ops = &orma_file_worker_ops,
		.regex_ops = orma_tool_regex_ops,
		.has_uid = wanted->has_uid,
		.uid = wanted->uid,
		.compressor_ops = &compressor_ops,
		.compressor_ctx = daemon->compressor,
		.set_priority = orma_tool_set_priority,
		.close_fd = orma_file_worker_close_fd,
	};
	r = orma_service_new(&options, &daemon->service);
	if (r == 0)
		r = orma_host_new(daemon->loop, daemon->service, &daemon->host);
	return r;
}

int orma_daemon_init(struct orma_daemon *daemon, const struct orma_daemon_options *options,
		     struct orma_error *reterr)
{
	*daemon = (struct orma_daemon){0};
	int r = init_parts(daemon, options);
	if (r) {
		orma_base_error_set(reterr, r, "cannot start: %s", strerror(-r));
	} else {
		daemon->allows_remote_consumers = options->allows_remote_consumers;
		daemon->late_consumer_addresses = options->late_consumer_addresses;
		if (options->relays)
			daemon->relays = *options->relays;
		orma_host_limit_peers_per_uid(daemon->host, options->peers_per_uid_max);
		r = listen_all(daemon, options, reterr);
	}
	if (r) {
		orma_daemon_done(daemon);
		return r;
	}
	orma_base_loop_set_wake_handler(daemon->loop, on_wake, daemon);
	return 0;
}

int orma_daemon_run(struct orma_daemon *daemon)
{
	return orma_base_loop_run(daemon->loop);
}

void orma_daemon_request(struct orma_daemon *daemon, unsigned requests)
{
	atomic_fetch_or_explicit(&daemon->requests, requests, memory_order_release);
	orma_base_loop_wake(daemon->loop);
}

static void on_finish_check(struct orma_timer *timer)
{
	struct orma_daemon *daemon = ORMA_CONTAINER_OF(timer, struct orma_daemon, finish_timer);
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t progress, read_bytes;

	stop_when_finished(daemon);
	(void)orma_service_count_readers(daemon->service, &read_bytes);
	progress = orma_file_worker_progress(daemon->files) + read_bytes;
	if (progress != daemon->finish_progress)
		daemon->finish_moved_ns = now_ns;
	daemon->finish_progress = progress;
	if (now_ns - daemon->finish_began_ns < FINISH_MS * ORMA_NS_PER_MS &&
	    now_ns - daemon->finish_moved_ns < FINISH_STALL_MS * ORMA_NS_PER_MS &&
	    orma_base_loop_arm_in(daemon->loop, timer, FINISH_CHECK_MS * ORMA_NS_PER_MS,
				  on_finish_check) == 0)
		return;
	orma_base_log(ORMA_LOG_WARNING, "files that could not be completed are left truncated");
	orma_base_loop_stop(daemon->loop);
}

void orma_daemon_finish(struct orma_daemon *daemon)
{
	if (daemon->is_finishing)
		return;
	daemon->is_finishing = true;
	orma_file_worker_hurry(daemon->files);
	orma_service_shut_down(daemon->service, FINISH_FLUSH_MS);
	orma_host_schedule(daemon->host);
	daemon->finish_began_ns = daemon->finish_moved_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	on_finish_check(&daemon->finish_timer);
}

void orma_daemon_abandon(struct orma_daemon *daemon)
{
	orma_host_free(daemon->host);
	daemon->host = NULL;
}

bool orma_daemon_has_open_files(const struct orma_daemon *daemon)
{
	return orma_service_has_open_files(daemon->service) ||
	       !orma_file_worker_is_idle(daemon->files);
}

void orma_daemon_done(struct orma_daemon *daemon)
{
	orma_base_timer_disarm(&daemon->finish_timer);
	orma_host_free(daemon->host);
	orma_service_free(daemon->service);
	orma_compress_worker_free(daemon->compressor);
	orma_file_worker_free(daemon->files);
	orma_base_loop_free(daemon->loop);
	orma_fd_closer_free(daemon->closer);
	*daemon = (struct orma_daemon){0};
}
