/* SPDX-License-Identifier: Apache-2.0
 * retry.c - finding a daemon that does not run yet, or that has ended.
 *
 * Two mechanisms work together: a timer whose delay doubles up to a limit, and an inotify watch on the folder
 * of the daemon's socket, so that a daemon that starts is found within milliseconds. The watch
 * exists only while there is no connection, and stays from one attempt to the next: making one
 * costs the kernel milliseconds where a folder has many files. That folder may be /tmp, where
 * other programs make files all the time: only a change of the socket's own name leads to an attempt,
 * and after a wake-up by another file the watch sleeps for a while. The address is looked up for each
 * attempt, because the default one depends on which folders exist. Rejected: the watch alone (the socket's
 * file may exist before anybody listens, abstract names have none), asking more often (it wakes
 * idle programs), a watch of the file itself (it is not there yet).
 */
#include "client/retry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "client/client_limits.h"

static void on_retry(struct orma_timer *timer)
{
	struct orma_client_retry *retry = ORMA_CONTAINER_OF(timer, struct orma_client_retry, timer);

	retry->connect(retry);
}

static void unwatch_folder(struct orma_client_retry *retry)
{
	orma_base_timer_disarm(&retry->folder_timer);
	orma_base_watch_remove(&retry->folder_watch);
	retry->folder_fd = orma_base_fd_close(retry->folder_fd);
}

struct changes {
	bool of_socket;
	bool is_end; /* the folder is gone, and the watch with it */
};

/* Reads all changes. A change without a name is one of the folder itself, or an overflow of the queue. */
static struct changes read_changes(const struct orma_client_retry *retry)
{
	const char *slash = strrchr(retry->socket_path, '/');
	const char *name = slash ? slash + 1 : retry->socket_path;
	char changes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	struct changes ret = {0};
	ssize_t size;

	while ((size = read(retry->folder_fd, changes, sizeof(changes))) > 0) {
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
	struct orma_client_retry *retry =
		ORMA_CONTAINER_OF(timer, struct orma_client_retry, folder_timer);

	if (orma_base_loop_watch(retry->loop, &retry->folder_watch, retry->folder_fd,
				 ORMA_LOOP_READ, on_folder_change) < 0)
		unwatch_folder(retry);
}

static void on_folder_change(struct orma_watch *watch, unsigned ready)
{
	struct orma_client_retry *retry =
		ORMA_CONTAINER_OF(watch, struct orma_client_retry, folder_watch);

	(void)ready;
	struct changes changes = read_changes(retry);
	if (changes.is_end)
		unwatch_folder(retry);
	if (changes.of_socket) {
		retry->delay_ns = ORMA_CLIENT_RETRY_MIN_NS;
		orma_base_loop_arm_in(retry->loop, &retry->timer, ORMA_CLIENT_RETRY_SEEN_NS,
				      on_retry);
	} else if (orma_base_loop_arm_in(retry->loop, &retry->folder_timer,
					 ORMA_CLIENT_RETRY_PAUSE_NS, on_folder_timer) == 0) {
		orma_base_watch_remove(&retry->folder_watch);
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

/* Best effort: without the watch, the timer finds the daemon later. */
static void watch_folder(struct orma_client_retry *retry, const char *address)
{
	char path[ORMA_IPC_ADDRESS_TEXT_BYTES], folder[ORMA_IPC_ADDRESS_TEXT_BYTES];
	int r = address ? path_of(address, path) : -ENOENT;

	if (r == 0 && retry->folder_fd >= 0 && strcmp(path, retry->socket_path) == 0)
		return;
	unwatch_folder(retry);
	if (r < 0)
		return;
	memcpy(retry->socket_path, path, sizeof(path));
	folder_of(path, folder);
	retry->folder_fd = orma_base_fd_avoid_standard(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
	if (retry->folder_fd < 0)
		return;
	orma_base_fd_set_close_on_fork(retry->folder_fd);
	if (inotify_add_watch(retry->folder_fd, folder, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0 ||
	    orma_base_loop_watch(retry->loop, &retry->folder_watch, retry->folder_fd,
				 ORMA_LOOP_READ, on_folder_change) < 0)
		unwatch_folder(retry);
}

static const char *describe(int error)
{
	return error == -EPERM ? "a user whom this program does not trust runs it "
				 "(ORMA_TRUST_SERVICE)"
			       : strerror(-error);
}

void orma_client_retry_init(struct orma_client_retry *retry, struct orma_loop *loop,
			    void (*connect)(struct orma_client_retry *retry))
{
	*retry = (struct orma_client_retry){.loop = loop, .connect = connect, .folder_fd = -1};
}

void orma_client_retry_log(struct orma_client_retry *retry, const char *address, int error)
{
	bool is_usual = error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET;

	if (!address || (retry->has_logged && retry->logged_error == error))
		return;
	retry->has_logged = true;
	retry->logged_error = error;
	if (error == 0)
		orma_base_log(ORMA_LOG_INFO, "connected to the tracing service at %s", address);
	else
		orma_base_log(is_usual ? ORMA_LOG_INFO : ORMA_LOG_WARNING,
			      "no tracing service at %s: %s; waiting for one", address,
			      describe(error));
}

void orma_client_retry_arm(struct orma_client_retry *retry, const char *address, const char *name,
			   bool was_connected)
{
	if (was_connected || retry->delay_ns == 0)
		retry->delay_ns = ORMA_CLIENT_RETRY_MIN_NS;
	else
		retry->delay_ns = ORMA_MIN(retry->delay_ns * 2, ORMA_CLIENT_RETRY_MAX_NS);
	orma_base_log(ORMA_LOG_DEBUG, "trying %s again in %u ms", name,
		      (unsigned)(retry->delay_ns / ORMA_NS_PER_MS));
	orma_base_loop_arm_in(retry->loop, &retry->timer, retry->delay_ns, on_retry);
	watch_folder(retry, address);
}

void orma_client_retry_disarm(struct orma_client_retry *retry)
{
	orma_base_timer_disarm(&retry->timer);
	unwatch_folder(retry);
}
