/* SPDX-License-Identifier: Apache-2.0
 * emulation_test.c - a daemon to which no descriptors can be passed: chunks travel in messages.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/client/daemon.h"
#include "unit/client/fixture.h"

/* A port on which nothing listens now. */
static int free_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	CHECK(fd >= 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

#define PACKETS 20000

ORMA_TEST(packets_travel_inside_messages_where_no_descriptor_can)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	struct orma_init_options init = {.struct_size = sizeof(init)};
	const struct orma_data_source_options stalling = {.struct_size = sizeof(stalling),
							  .name = "test.source",
							  .policy = ORMA_EXHAUSTED_STALL};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct daemon daemon;

	daemon_addresses(&daemon);
	snprintf(daemon.producer, sizeof(daemon.producer), "127.0.0.1:%d", free_port());
	daemon_start(&daemon);
	init.producer_socket = daemon.producer;
	options.consumer_socket = daemon.consumer;
	CHECK_INT(orma_init(&init), 0);
	CHECK_INT(orma_data_source_register(&stalling, &source), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&options);
	session_enable(session, "buffers { size_kb: 8192 } "
				"data_sources { config { name: \"test.source\" } }");
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	for (uint64_t i = 1; i <= PACKETS; i++) {
		struct orma_packet *packet = orma_packet_begin(source, 0);

		orma_packet_varint(packet, 8, i);
		orma_packet_string(packet, 2000, "0123456789012345678901234567890123456789");
		orma_packet_end(packet);
	}
	/* The flush sends the content of an unfinished chunk. */
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, PACKETS), PACKETS);
	packets_done(&packets);
	orma_shutdown();
	daemon_stop(&daemon);
}
