/* SPDX-License-Identifier: Apache-2.0
 * retry.c - finding a daemon that is not there, or not any more.
 *
 * Two ways at once: a timer whose delay doubles up to a limit, and an inotify watch on the folder
 * of the daemon's socket, so that a daemon that starts is found within milliseconds. The watch
 * exists only while there is no connection. The address is asked for anew each time: the default
 * one depends on which folders exist. Rejected: the watch alone (the socket's file may exist before
 * anybody listens, abstract names have none), asking more often (it wakes idle programs).
 */
#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "client/client.h"
#include "ipc/address.h"

static void on_retry(struct orma_timer *timer)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(timer, struct orma_client_link, retry_timer);

	orma_client_retry_disarm(link);
	orma_client_link_connect(link);
}

static void on_folder_change(struct orma_watch *watch, unsigned ready)
{
	struct orma_client_link *link =
		ORMA_CONTAINER_OF(watch, struct orma_client_link, folder_watch);
	char changes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	(void)ready;
	/* Which file it was does not matter: to try is cheap. */
	while (read(link->folder_fd, changes, sizeof(changes)) > 0)
		;
	link->retry_ns = ORMA_CLIENT_RETRY_MIN_NS;
	orma_base_loop_arm_in(link->loop, &link->retry_timer, ORMA_CLIENT_RETRY_SEEN_NS, on_retry);
}

static int folder_of(const char *address, char folder[ORMA_IPC_ADDRESS_TEXT_BYTES])
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address parsed;
	const char *path, *slash;
	size_t size;
	int r = orma_ipc_address_list_next(&address, item);

	if (r <= 0)
		return r < 0 ? r : -EINVAL;
	r = orma_ipc_address_parse(item, &parsed);
	if (r < 0)
		return r;
	path = orma_ipc_address_path(&parsed);
	if (!path)
		return -ENOTSUP;
	slash = strrchr(path, '/');
	if (!slash || slash == path) {
		folder[0] = slash ? '/' : '.';
		folder[1] = '\0';
		return 0;
	}
	size = (size_t)(slash - path);
	memcpy(folder, path, size);
	folder[size] = '\0';
	return 0;
}

/* Best effort: without it the timer finds the daemon, later. */
static void watch_folder(struct orma_client_link *link)
{
	char folder[ORMA_IPC_ADDRESS_TEXT_BYTES];
	const char *address = orma_client_link_address(link);

	if (link->folder_fd >= 0 || !address || folder_of(address, folder) < 0)
		return;
	link->folder_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (link->folder_fd < 0)
		return;
	orma_base_fd_mark(link->folder_fd);
	if (inotify_add_watch(link->folder_fd, folder, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0 ||
	    orma_base_loop_watch(link->loop, &link->folder_watch, link->folder_fd, ORMA_LOOP_READ,
				 on_folder_change) < 0)
		link->folder_fd = orma_base_fd_close(link->folder_fd);
}

void orma_client_retry_arm(struct orma_client_link *link, bool was_connected)
{
	if (was_connected || link->retry_ns == 0)
		link->retry_ns = ORMA_CLIENT_RETRY_MIN_NS;
	else
		link->retry_ns = ORMA_MIN(link->retry_ns * 2, ORMA_CLIENT_RETRY_MAX_NS);
	orma_base_loop_arm_in(link->loop, &link->retry_timer, link->retry_ns, on_retry);
	watch_folder(link);
}

void orma_client_retry_disarm(struct orma_client_link *link)
{
	orma_base_timer_disarm(&link->retry_timer);
	orma_base_watch_remove(&link->folder_watch);
	link->folder_fd = orma_base_fd_close(link->folder_fd);
}
