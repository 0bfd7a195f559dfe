/* SPDX-License-Identifier: Apache-2.0
 * traced_serve.c - the life of the daemon's process.
 *
 *   descriptors --> sockets open or inherited --> permissions --> other user --> system call filter
 *     --> ready --> served --SIGTERM--> files completed --> exit
 *
 * The order matters: each step needs rights that the next one gives up. Everything that needs a
 * system call which the filter refuses (the signal descriptor, the connection to the service
 * manager) is set up before the filter.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "ipc/address.h"
#include "tool/daemon/daemon.h"
#include "tool/daemon/daemon_options.h"
#include "tool/daemon/descriptor_limit.h"
#include "tool/daemon/traced.h"
#include "tool/tool.h"

struct traced {
	const struct orma_traced_options *options;
	int *parent_fd; /* for orma_daemon_tell_ready() */
	struct orma_daemon daemon;
	struct orma_systemd systemd;
	struct orma_watch signals;
	struct orma_output_folder output_folder;
};

/* --- sockets ---------------------------------------------------------------------------------- */

static int set_permissions(const char *addresses, const struct orma_traced_permissions *permissions)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	gid_t gid = 0;

	if (orma_privileges_find_group(permissions->group, &gid) < 0)
		return orma_tool_fail("there is no group \"%s\"", permissions->group);
	for (const char *list = addresses; orma_ipc_address_list_next(&list, item) > 0;) {
		struct orma_ipc_address address;
		const char *path = orma_ipc_address_parse(item, &address)
					   ? NULL
					   : orma_ipc_address_path(&address);
		if (path && (chown(path, (uid_t)-1, gid) || chmod(path, permissions->mode)))
			return orma_tool_fail("cannot set the permissions of %s: %s", path,
					      strerror(errno));
	}
	return ORMA_EXIT_OK;
}

/* Takes over a listening socket that the parent process left open, with its number in the
 * environment. */
static int adopt_inherited(struct orma_daemon *daemon, const char *variable,
			   int (*adopt)(struct orma_daemon *daemon, int fd,
					struct orma_error *reterr))
{
	const char *value = getenv(variable);
	struct orma_error error = {0};
	uint64_t fd;
	if (!value)
		return ORMA_EXIT_OK;
	if (orma_base_parse_u64(value, 10, &fd) || fd > INT32_MAX)
		return orma_tool_fail("%s: \"%s\" is not a descriptor", variable, value);
	return adopt(daemon, (int)fd, &error) ? orma_tool_fail("%s", error.message) : ORMA_EXIT_OK;
}

static int adopt_sockets(struct traced *traced)
{
	const struct orma_systemd_sockets *sockets = &traced->options->sockets;

	for (size_t i = 0; i < sockets->count; i++) {
		int fd = sockets->items[i].fd;
		struct orma_error error = {0};
		int r = sockets->items[i].is_for_consumers
				? orma_daemon_adopt_consumers(&traced->daemon, fd, &error)
				: orma_daemon_adopt_producers(&traced->daemon, fd, &error);
		if (r)
			return orma_tool_fail("%s", error.message);
	}
	return ORMA_EXIT_OK;
}

static bool has_inherited(const struct orma_traced_options *options, bool for_consumers)
{
	for (size_t i = 0; i < options->sockets.count; i++)
		if (options->sockets.items[i].is_for_consumers == for_consumers)
			return true;
	return false;
}

/* Printed only on a terminal; in a log the line would appear at each start. */
static void say_where(bool has_producer, bool has_consumer)
{
	if (isatty(STDERR_FILENO) && !has_producer && !has_consumer)
		orma_tool_warn("serving producers at %s, consumers at %s",
			       orma_ipc_producer_address(), orma_ipc_consumer_address());
}

static int open_sockets(struct traced *traced)
{
	const struct orma_traced_options *wanted = traced->options;
	const char *producer = "ANDROID_SOCKET_traced_producer";
	const char *consumer = "ANDROID_SOCKET_traced_consumer";
	bool has_producer = getenv(producer) || has_inherited(wanted, false);
	bool has_consumer = getenv(consumer) || has_inherited(wanted, true);
	struct orma_daemon_options options = {
		.producer_addresses = has_producer ? "" : NULL,
		.consumer_addresses = has_consumer ? "" : NULL,
		.listen_flags = ORMA_IPC_LISTEN_KEEP_LIVE,
		.allows_remote_consumers = wanted->allows_remote_consumers,
		.peers_per_uid_max = wanted->peers_per_uid_max,
		.output_folder = wanted->output_dir ? &traced->output_folder : NULL,
		.relays = &wanted->relays,
		.has_uid = wanted->privileges.must_change,
		.uid = wanted->privileges.uid,
	};
	struct orma_error error = {0};

	if (wanted->output_dir &&
	    orma_output_folder_open(wanted->output_dir, &traced->output_folder, &error))
		return orma_tool_fail("%s", error.message);
	int r = orma_daemon_init(&traced->daemon, &options, &error);
	if (r == -EADDRINUSE)
		return orma_tool_fail("%s; another daemon, or `orma record`, serves there",
				      error.message);
	if (r)
		return orma_tool_fail("%s", error.message);
	say_where(has_producer, has_consumer);
	int status = adopt_inherited(&traced->daemon, producer, orma_daemon_adopt_producers);
	if (status == ORMA_EXIT_OK)
		status = adopt_inherited(&traced->daemon, consumer, orma_daemon_adopt_consumers);
	if (status == ORMA_EXIT_OK)
		status = adopt_sockets(traced);
	if (status == ORMA_EXIT_OK && orma_daemon_check_relays(&traced->daemon, &error))
		status = orma_tool_fail("%s", error.message);
	if (status == ORMA_EXIT_OK && wanted->producers.group && !has_producer)
		status = set_permissions(orma_ipc_producer_address(), &wanted->producers);
	if (status == ORMA_EXIT_OK && wanted->consumers.group && !has_consumer)
		status = set_permissions(orma_ipc_consumer_address(), &wanted->consumers);
	return status;
}

/* --- signals ---------------------------------------------------------------------------------- */

/* The first signal begins an orderly end, the second one ends the process at once. */
static void on_signal(struct orma_watch *watch, unsigned ready)
{
	struct traced *traced = ORMA_CONTAINER_OF(watch, struct traced, signals);
	struct signalfd_siginfo info;
	(void)ready;
	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return;
	orma_systemd_notify(&traced->systemd, "STOPPING=1\nSTATUS=Completing files.");
	if (traced->daemon.is_finishing)
		orma_base_loop_stop(watch->loop);
	else
		orma_daemon_finish(&traced->daemon);
}

/* The descriptor stays open until the process ends. */
static int watch_signals(struct traced *traced)
{
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int r = fd < 0 ? -errno
		       : orma_base_loop_watch(traced->daemon.loop, &traced->signals, fd,
					      ORMA_LOOP_READ, on_signal);
	return r ? orma_tool_fail("cannot receive signals: %s", strerror(-r)) : ORMA_EXIT_OK;
}

/* --- the process ------------------------------------------------------------------------------ */

/* More descriptors than all connections of ipc/ipc_host.h can need: one each, one in transit, and
 * one for the memory of a producer. A single user could use up the usual limit of 1,024. */
#define DESCRIPTORS_WANTED 8192

static int apply_filter(const struct orma_traced_options *options)
{
	int r = orma_seccomp_apply(options->seccomp);
	const char *why = r == -ENOTSUP ? "not in this build" : strerror(-r);

	if (r == 0)
		return ORMA_EXIT_OK;
	if (options->must_have_seccomp)
		return orma_tool_fail("cannot install the system call filter: %s", why);
	orma_base_log(ORMA_LOG_DEBUG, "cannot install the system call filter: %s", why);
	return ORMA_EXIT_OK;
}

static int give_up_rights(const struct orma_traced_options *options)
{
	struct orma_error error = {0};

	if (orma_privileges_drop(&options->privileges, &error))
		return orma_tool_fail("%s", error.message);
	return apply_filter(options);
}

static int run(struct traced *traced)
{
	orma_systemd_start_watchdog(&traced->systemd, traced->daemon.loop);
	orma_systemd_notify(&traced->systemd, "READY=1\nSTATUS=Serving.");
	orma_tool_notify("TRACED_NOTIFY_FD", "1");
	orma_daemon_tell_ready(traced->parent_fd);
	int r = orma_daemon_run(&traced->daemon);
	return r ? orma_tool_fail("the daemon failed: %s", strerror(-r)) : ORMA_EXIT_OK;
}

static void close_all(struct traced *traced)
{
	int signal_fd = traced->signals.loop ? traced->signals.fd : -1;

	orma_systemd_close(&traced->systemd);
	orma_base_watch_remove(&traced->signals);
	orma_base_fd_close(signal_fd);
	if (traced->daemon.loop)
		orma_daemon_done(&traced->daemon);
	orma_output_folder_close(&traced->output_folder);
}

int orma_traced_serve(const struct orma_traced_options *options, int *parent_fd)
{
	struct traced traced = {.options = options,
				.parent_fd = parent_fd,
				.output_folder = ORMA_OUTPUT_FOLDER_NONE};

	orma_tool_raise_descriptor_limit(DESCRIPTORS_WANTED);
	orma_systemd_open(&traced.systemd);
	int status = open_sockets(&traced);
	if (status == ORMA_EXIT_OK)
		status = watch_signals(&traced);
	if (status == ORMA_EXIT_OK)
		status = give_up_rights(options);
	if (status == ORMA_EXIT_OK)
		status = run(&traced);
	if (traced.daemon.loop && orma_daemon_has_open_files(&traced.daemon)) {
		orma_daemon_abandon(&traced.daemon);
		fflush(NULL);
		_exit(status);
	}
	close_all(&traced);
	return status;
}
