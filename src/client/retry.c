/* SPDX-License-Identifier: Apache-2.0
 * retry.c - finding a daemon that is not there, or not any more.
 *
 * Two ways at once: a timer whose delay doubles up to a limit, and an inotify watch on the folder
 * of the daemon's socket, so that a daemon that starts is found within milliseconds. The watch
 * exists only while there is no connection, and stays from one attempt to the next: making one
 * costs the kernel milliseconds where a folder has many files. That folder may be /tmp, where
 * others make files all the time: only what happens to the socket's own name leads to an attempt,
 * and after a wake-up for nothing the watch sleeps for a while. The address is asked for anew each
 * time: the default one depends on which folders exist. Rejected: the watch alone (the socket's
 * file may exist before anybody listens, abstract names have none), asking more often (it wakes
 * idle programs), a watch of the file itself (it is not there yet).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "client/client.h"
#include "ipc/address.h"

static void on_retry(struct orma_timer *timer)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(timer, struct orma_client_link, retry_timer);

	orma_client_link_connect(link);
}

static void unwatch_folder(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->folder_timer);
	orma_base_watch_remove(&link->folder_watch);
	link->folder_fd = orma_base_fd_close(link->folder_fd);
}

struct changes {
	bool of_socket;
	bool is_end; /* the folder is gone, and the watch with it */
};

/* Reads all that waits. Without a name: the folder itself changed, or there was too much to tell. */
static struct changes read_changes(const struct orma_client_link *link)
{
	const char *slash = strrchr(link->folder_socket, '/');
	const char *name = slash ? slash + 1 : link->folder_socket;
	char changes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct changes ret = {0};
	ssize_t size;

	while ((size = read(link->folder_fd, changes, sizeof(changes))) > 0) {
		const struct inotify_event *change;

		for (ssize_t at = 0; at < size; at += (ssize_t)(sizeof(*change) + change->len)) {
			change = (const struct inotify_event *)(const void *)(changes + at);
			if (change->len == 0 || strcmp(change->name, name) == 0)
				ret.of_socket = true;
			if (change->mask & IN_IGNORED)
				ret.is_end = true;
		}
	}
	return ret;
}

static void on_folder_change(struct orma_watch *watch, unsigned ready);

static void on_folder_timer(struct orma_timer *timer)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(timer, struct orma_client_link, folder_timer);

	if (orma_base_loop_watch(link->loop, &link->folder_watch, link->folder_fd, ORMA_LOOP_READ,
				 on_folder_change) < 0)
		unwatch_folder(link);
}

static void on_folder_change(struct orma_watch *watch, unsigned ready)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(watch, struct orma_client_link, folder_watch);

	(void)ready;
	struct changes changes = read_changes(link);
	if (changes.is_end)
		unwatch_folder(link);
	if (changes.of_socket) {
		link->retry_ns = ORMA_CLIENT_RETRY_MIN_NS;
		orma_base_loop_arm_in(link->loop, &link->retry_timer, ORMA_CLIENT_RETRY_SEEN_NS,
				      on_retry);
	} else if (orma_base_loop_arm_in(link->loop, &link->folder_timer,
					 ORMA_CLIENT_RETRY_PAUSE_NS, on_folder_timer) == 0) {
		orma_base_watch_remove(&link->folder_watch);
	}
}

/* The first address of the list, when it is a path. */
static int path_of(const char *address, char path[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address parsed;
	const char *text;
	int r = orma_ipc_address_list_next(&address, item);

	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	r = orma_ipc_address_parse(item, &parsed);
	if (r < 0)
		return r;
	text = orma_ipc_address_path(&parsed);
	if (!text)
		return -ENOTSUP;
	snprintf(path, ORMA_IPC_ADDRESS_TEXT_BYTES, "%s", text);
	return 0;
}

static void folder_of(const char *path, char folder[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	const char *slash = strrchr(path, '/');
	size_t size = slash && slash != path ? (size_t)(slash - path) : 1;

	memcpy(folder, slash ? path : ".", size);
	folder[size] = '\0';
}

/* Best effort: without it the timer finds the daemon, later. */
static void watch_folder(struct orma_client_link *link)
{
	char path[ORMA_IPC_ADDRESS_TEXT_BYTES], folder[ORMA_IPC_ADDRESS_TEXT_BYTES];
	const char *address = orma_client_link_address(link);
	int r = address ? path_of(address, path) : -ENOENT;

	if (r == 0 && link->folder_fd >= 0 && strcmp(path, link->folder_socket) == 0)
		return;
	unwatch_folder(link);
	if (r < 0)
		return;
	memcpy(link->folder_socket, path, sizeof(path));
	folder_of(path, folder);
	link->folder_fd = orma_base_fd_avoid_standard(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
	if (link->folder_fd < 0)
		return;
	orma_base_fd_set_close_on_fork(link->folder_fd);
	if (inotify_add_watch(link->folder_fd, folder, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0 ||
	    orma_base_loop_watch(link->loop, &link->folder_watch, link->folder_fd, ORMA_LOOP_READ,
				 on_folder_change) < 0)
		unwatch_folder(link);
}

static const char *describe(int error)
{
	return error == -EPERM ? "a user whom this program does not trust runs it "
				 "(ORMA_TRUST_SERVICE)"
			       : strerror(-error);
}

void orma_client_retry_tell(struct orma_client_link *link, int error)
{
	const char *address = orma_client_link_address(link);
	bool is_usual = error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET;

	if (!address || (link->is_told && link->told_error == error))
		return;
	link->is_told = true;
	link->told_error = error;
	if (error == 0)
		orma_base_log(ORMA_LOG_INFO, "connected to the tracing service at %s", address);
	else
		orma_base_log(is_usual ? ORMA_LOG_INFO : ORMA_LOG_WARNING,
			      "no tracing service at %s: %s; waiting for one", address,
			      describe(error));
}

void orma_client_retry_arm(struct orma_client_link *link, bool was_connected)
{
	if (was_connected || link->retry_ns == 0)
		link->retry_ns = ORMA_CLIENT_RETRY_MIN_NS;
	else
		link->retry_ns = ORMA_MIN(link->retry_ns * 2, ORMA_CLIENT_RETRY_MAX_NS);
	orma_base_log(ORMA_LOG_DEBUG, "trying %s again in %u ms", orma_client_link_name(link),
		      (unsigned)(link->retry_ns / ORMA_NS_PER_MS));
	orma_base_loop_arm_in(link->loop, &link->retry_timer, link->retry_ns, on_retry);
	watch_folder(link);
}

void orma_client_retry_disarm(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->retry_timer);
	unwatch_folder(link);
}
