/* SPDX-License-Identifier: Apache-2.0
 * relay.c - does what Perfetto's traced_relay does, which Debian's package does not have.
 *
 *   relay HINT NAME SHIFT_S   listens for producers at PERFETTO_PRODUCER_SOCK_NAME and passes each on
 *                             to PERFETTO_RELAY_SOCK_NAME as of the machine HINT called NAME, whose
 *                             clocks are SHIFT_S seconds ahead of this machine's; goes on until
 *                             killed
 *
 * It sends the same bytes as upstream's relay, in the same order. Each connection of a producer
 * begins with SetPeerIdentity, with the producer's pid and uid. The relay's own connection begins
 * with the same frame and the relay's pid and uid. Over it, RelayPort is bound, InitRelay and
 * SyncClock (PING) are called at once, and the reply to the PING is answered by the UPDATE. Then "1"
 * is written to TRACED_RELAY_NOTIFY_FD. Clocks are not measured again, and a lost connection ends
 * the program: tests are shorter than that.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "ipc/ipc_client.h"
#include "proto/writer.h"
#include "schema/gen/relay_port.pb.h"
#include "schema/gen/system_info.pb.h"

#define PAIRS_MAX 32

static struct relay {
	const char *hint, *name, *address;
	uint64_t shift_ns;
	struct orma_ipc_client *client;
	int phase; /* the last one sent */
	bool is_synced, is_lost;
	int pairs[PAIRS_MAX][2]; /* a producer's connection and its connection to the service */
	size_t pair_count;
} relay;

static _Noreturn void die(const char *what, int error)
{
	fprintf(stderr, "relay: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

static void write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size > 0) {
		ssize_t written = send(fd, at, size, MSG_NOSIGNAL);
		if (written < 0 && errno == EAGAIN)
			poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
		else if (written < 0)
			return; /* pass_on() finds the end of the connection */
		at += written > 0 ? written : 0;
		size -= written > 0 ? (size_t)written : 0;
	}
}

/* --- identities ------------------------------------------------------------------------------- */

static void send_identity(int fd, int64_t pid, int64_t uid)
{
	enum { REQUEST_ID = 2, SET_PEER_IDENTITY = 8, PID = 1, UID = 2, HINT = 3, NAME = 4 };
	struct orma_buf frame = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	orma_base_buf_append(&frame, "\0\0\0", 4);
	orma_proto_heap_writer_init(&heap, &frame);
	orma_proto_write_varint(&heap.writer, REQUEST_ID, 0);
	orma_proto_nested_begin(&heap.writer, &nested, SET_PEER_IDENTITY);
	orma_proto_write_int(&heap.writer, PID, pid);
	orma_proto_write_int(&heap.writer, UID, uid);
	orma_proto_write_string(&heap.writer, HINT, relay.hint);
	orma_proto_write_string(&heap.writer, NAME, relay.name);
	orma_proto_nested_end(&heap.writer, &nested);
	if (orma_proto_heap_writer_finish(&heap))
		die("memory", ENOMEM);
	frame.data[0] = (uint8_t)(frame.size - 4);
	frame.data[1] = (uint8_t)((frame.size - 4) >> 8);
	write_all(fd, frame.data, frame.size);
	orma_base_buf_done(&frame);
}

static int connect_service(void)
{
	struct orma_ipc_address address;
	bool is_pending;
	int error = 0, fd = orma_ipc_address_parse(relay.address, &address);
	socklen_t size = sizeof(error);

	if (fd == 0)
		fd = orma_ipc_connect(&address, &is_pending);
	if (fd < 0)
		die(relay.address, fd);
	poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error)
		die(relay.address, error);
	return fd;
}

/* --- RelayPort -------------------------------------------------------------------------------- */

enum { INIT_RELAY, SYNC_CLOCK };
static const char *const method_names[] = {"InitRelay", "SyncClock"};

static void on_reply(void *ctx, const struct orma_ipc_reply *reply);

static void invoke(size_t method_idx, struct orma_proto_heap_writer *heap, struct orma_buf *args)
{
	int r = orma_proto_heap_writer_finish(heap);

	if (r == 0)
		r = orma_ipc_client_invoke(relay.client, method_idx, args->data, args->size,
					   on_reply, method_idx == SYNC_CLOCK ? &relay : NULL);
	if (r)
		die(method_names[method_idx], r);
	orma_base_buf_done(args);
}

static void init_relay(void)
{
	struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested info, names;

	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_nested_begin(&heap.writer, &info, ORMA_PB_INIT_RELAY_REQUEST_SYSTEM_INFO);
	orma_proto_nested_begin(&heap.writer, &names, ORMA_PB_SYSTEM_INFO_UTSNAME);
	orma_proto_write_string(&heap.writer, ORMA_PB_UTSNAME_SYSNAME, "Elsewhere");
	orma_proto_nested_end(&heap.writer, &names);
	orma_proto_write_string(&heap.writer, ORMA_PB_SYSTEM_INFO_TRACING_SERVICE_VERSION, "relay");
	orma_proto_write_varint(&heap.writer, ORMA_PB_SYSTEM_INFO_NUM_CPUS, 77);
	orma_proto_nested_end(&heap.writer, &info);
	invoke(INIT_RELAY, &heap, &args);
}

static void sync_clock(int phase)
{
	static const struct {
		uint32_t id;
		int clock_id;
	} clocks[] = {
		{6, CLOCK_BOOTTIME}, {2, CLOCK_REALTIME_COARSE}, {4, CLOCK_MONOTONIC_COARSE},
		{1, CLOCK_REALTIME}, {3, CLOCK_MONOTONIC},       {5, CLOCK_MONOTONIC_RAW},
	};
	struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;

	relay.phase = phase;
	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_varint(&heap.writer, ORMA_PB_SYNC_CLOCK_REQUEST_PHASE, (uint64_t)phase);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clocks); i++) {
		orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_SYNC_CLOCK_REQUEST_CLOCKS);
		orma_proto_write_varint(&heap.writer, ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID,
					clocks[i].id);
		orma_proto_write_varint(&heap.writer, ORMA_PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP,
					orma_base_clock_ns(clocks[i].clock_id) + relay.shift_ns);
		orma_proto_nested_end(&heap.writer, &nested);
	}
	invoke(SYNC_CLOCK, &heap, &args);
}

static void on_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	if (!reply->success)
		die("a call was rejected", reply->error);
	if (!ctx)
		return;
	if (relay.phase == ORMA_PB_SYNC_CLOCK_REQUEST_PHASE_PING)
		sync_clock(ORMA_PB_SYNC_CLOCK_REQUEST_PHASE_UPDATE);
	else
		relay.is_synced = true;
}

static void on_connected(void *ctx)
{
	(void)ctx;
	init_relay();
	sync_clock(ORMA_PB_SYNC_CLOCK_REQUEST_PHASE_PING);
}

static void on_disconnected(void *ctx, int error)
{
	(void)ctx;
	fprintf(stderr, "relay: the service has gone: %s\n", strerror(-error));
	relay.is_lost = true;
}

static void synchronize(struct orma_loop *loop)
{
	struct orma_ipc_client_options options = {
		.loop = loop,
		.service_name = "RelayPort",
		.method_names = method_names,
		.method_count = ORMA_ARRAY_SIZE(method_names),
		.connected = on_connected,
		.disconnected = on_disconnected,
	};
	int fd = connect_service();

	send_identity(fd, getpid(), geteuid());
	int r = orma_ipc_client_new_from_fd(&options, fd, &relay.client);
	if (r)
		die("RelayPort", r);
	while (!relay.is_synced && !relay.is_lost)
		orma_base_loop_turn(loop, -1);
	if (relay.is_lost)
		exit(1);
}

/* --- producers -------------------------------------------------------------------------------- */

static void accept_producer(int listener)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (relay.pair_count == PAIRS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		die("a producer", errno);
	relay.pairs[relay.pair_count][0] = fd;
	relay.pairs[relay.pair_count][1] = connect_service();
	send_identity(relay.pairs[relay.pair_count][1], peer.pid, peer.uid);
	relay.pair_count++;
}

/* Returns false when one of the connections has ended. */
static bool pass_on(int from, int to)
{
	static uint8_t bytes[1 << 16];
	ssize_t size = recv(from, bytes, sizeof(bytes), 0);

	if (size < 0 && errno == EAGAIN)
		return true;
	if (size <= 0)
		return false;
	write_all(to, bytes, (size_t)size);
	return true;
}

static void serve_pairs(const struct pollfd *ready)
{
	size_t kept = 0;

	for (size_t i = 0; i < relay.pair_count; i++) {
		int *pair = relay.pairs[i];
		bool goes_on = (!ready[2 * i].revents || pass_on(pair[0], pair[1])) &&
			       (!ready[2 * i + 1].revents || pass_on(pair[1], pair[0]));

		if (goes_on) {
			memmove(relay.pairs[kept++], pair, sizeof(relay.pairs[0]));
		} else {
			close(pair[0]);
			close(pair[1]);
		}
	}
	relay.pair_count = kept;
}

static void serve(int listener, struct orma_loop *loop)
{
	struct pollfd fds[2 * PAIRS_MAX + 2];

	while (!relay.is_lost) {
		size_t pairs = relay.pair_count;

		for (size_t i = 0; i < 2 * pairs; i++)
			fds[i] = (struct pollfd){relay.pairs[i / 2][i % 2], POLLIN, 0};
		fds[2 * pairs] = (struct pollfd){listener, POLLIN, 0};
		fds[2 * pairs + 1] = (struct pollfd){orma_base_loop_fd(loop), POLLIN, 0};
		if (poll(fds, 2 * pairs + 2, -1) < 0 && errno != EINTR)
			die("poll", errno);
		serve_pairs(fds);
		if (fds[2 * pairs].revents)
			accept_producer(listener);
		orma_base_loop_turn(loop, 0);
	}
}

int main(int argc, char **argv)
{
	const char *notify = getenv("TRACED_RELAY_NOTIFY_FD");
	struct orma_ipc_address address;
	struct orma_loop *loop;

	relay.address = getenv("PERFETTO_RELAY_SOCK_NAME");
	if (argc != 4 || !relay.address) {
		fputs("usage: PERFETTO_RELAY_SOCK_NAME=ADDRESS relay HINT NAME SHIFT_S\n", stderr);
		return 2;
	}
	relay.hint = argv[1];
	relay.name = argv[2];
	relay.shift_ns = strtoull(argv[3], NULL, 10) * ORMA_NS_PER_SEC;
	int listener = orma_ipc_address_parse(orma_ipc_producer_address(), &address);
	if (listener == 0)
		listener = orma_ipc_listen(&address, 0);
	if (listener < 0)
		die(orma_ipc_producer_address(), listener);
	if (orma_base_loop_new(&loop))
		die("memory", ENOMEM);
	synchronize(loop);
	if (notify && (write(atoi(notify), "1", 1) != 1 || close(atoi(notify))))
		die("TRACED_RELAY_NOTIFY_FD", errno);
	serve(listener, loop);
	return 1;
}
