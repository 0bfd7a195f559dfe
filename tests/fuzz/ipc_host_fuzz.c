/* SPDX-License-Identifier: Apache-2.0
 * ipc_host_fuzz.c - the input as bytes from a peer, once to a host and once to a client.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macros.h"
#include "ipc/ipc_client.h"
#include "ipc/ipc_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int on_echo(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)peer;
	return orma_ipc_call_reply(call, args, size, false, -1);
}

static int on_hold(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)peer, (void)call, (void)args;
	return size % 2 ? -EINVAL : 0;
}

static const struct orma_ipc_method methods[] = {{"Echo", on_echo}, {"Hold", on_hold}};
static const struct orma_ipc_service services[] = {{"Port", methods, ORMA_ARRAY_SIZE(methods)}};
static const char *const method_names[] = {"Echo", "Hold"};

static void on_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	(void)ctx;
	require(reply->success || !reply->has_more);
}

static void on_connected(void *ctx)
{
	struct orma_ipc_client **client = ctx;

	for (size_t i = 0; i < 4; i++)
		orma_ipc_client_invoke(*client, i % 2, "xxxx", i, on_reply, NULL);
}

static void on_disconnected(void *ctx, int error)
{
	(void)ctx, (void)error;
}

/* Sends everything and closes the stream, while the loop runs. */
static void play(struct orma_loop *loop, int fd, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			break;
		if (sent > 0) {
			data += sent;
			size -= (size_t)sent;
		}
		orma_base_loop_turn(loop, 0);
	}
	shutdown(fd, SHUT_WR);
	while (orma_base_loop_turn(loop, 0) > 0)
		;
}

static void open_pair(int ends[2])
{
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
}

static void play_to_host(struct orma_loop *loop, const uint8_t *data, size_t size)
{
	struct orma_ipc_host_options options = {.loop = loop,
						.services = services,
						.service_count = 1,
						.calls_max = 4,
						.queue_bytes = 4096};
	struct orma_ipc_host *host;
	int ends[2];

	open_pair(ends);
	require(orma_ipc_host_new(&options, &host) == 0);
	require(orma_ipc_host_adopt(host, ends[0], NULL) == 0);
	play(loop, ends[1], data, size);
	require(orma_ipc_host_peer_count(host) == 0);
	orma_ipc_host_free(host);
	close(ends[1]);
}

static void play_to_client(struct orma_loop *loop, const uint8_t *data, size_t size)
{
	struct orma_ipc_client *client;
	struct orma_ipc_client_options options = {.loop = loop,
						  .service_name = "Port",
						  .method_names = method_names,
						  .method_count = 2,
						  .ctx = &client,
						  .connected = on_connected,
						  .disconnected = on_disconnected};
	int ends[2];

	open_pair(ends);
	require(orma_ipc_client_new_from_fd(&options, ends[0], &client) == 0);
	play(loop, ends[1], data, size);
	require(!orma_ipc_client_is_connected(client));
	orma_ipc_client_free(client);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_loop *loop;

	require(orma_base_loop_new(&loop) == 0);
	play_to_host(loop, data, size);
	play_to_client(loop, data, size);
	orma_base_loop_free(loop);
	return 0;
}
