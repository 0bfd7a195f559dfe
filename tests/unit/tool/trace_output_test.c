/* SPDX-License-Identifier: Apache-2.0
 * trace_output_test.c - writing a session's packets into a pipe whose reader pauses, and a snapshot that cannot be taken.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "tool/record/snapshot.h"
#include "tool/record/trace_output.h"
#include "unit/client/fixture.h"

#define PACKETS   20000
#define TEXT_SIZE 100

/* Some 2.5 MB. */
static struct orma_session *record(struct orma_data_source **ret)
{
	static const char config[] = "buffers { size_kb: 8192 } "
				     "data_sources { config { name: \"test.source\" } }";
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .in_process = true};
	const struct orma_data_source_options source = {.struct_size = sizeof(source),
							.name = "test.source",
							.policy = ORMA_EXHAUSTED_STALL};
	char text[TEXT_SIZE + 1];
	struct orma_session *session;

	memset(text, 'x', TEXT_SIZE);
	text[TEXT_SIZE] = '\0';
	init_in_process();
	CHECK_INT(orma_data_source_register(&source, ret), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&options);
	session_enable(session, config);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	for (uint64_t i = 1; i <= PACKETS; i++) {
		struct orma_packet *packet = orma_packet_begin(*ret, 0);

		orma_packet_varint(packet, 8, i);
		orma_packet_string(packet, 2000, text);
		orma_packet_end(packet);
	}
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	return session;
}

struct pager {
	struct orma_trace_output output;
	int fd;
	struct orma_buf trace;
	bool was_held;
};

/* This is called whenever the pipe is full. The reader begins when the rest of the trace is in the
 * recorder's memory. */
static int read_late(void *ctx)
{
	struct pager *pager = ctx;
	struct pollfd poll_fd = {.fd = pager->fd, .events = POLLIN};
	bool has_all = pager->output.all.summary.packets >= PACKETS;

	pager->was_held |= pager->output.is_held;
	while (pager->output.is_held && has_all && poll(&poll_fd, 1, 0) > 0) {
		CHECK_INT(orma_base_buf_reserve(&pager->trace, 65536), 0);
		ssize_t size = read(pager->fd, pager->trace.data + pager->trace.size, 65536);
		CHECK(size > 0);
		pager->trace.size += (size_t)size;
	}
	return -1;
}

ORMA_TEST(a_reader_that_pauses_does_not_keep_the_service_waiting)
{
	struct pager pager = {.output = {.path = "pipe", .hold_after_ms = 1}};
	struct orma_data_source *source;
	struct orma_session *session = record(&source);
	struct packets packets = {0};
	struct orma_proto_reader fields;
	struct orma_proto_field field;
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	pager.fd = fds[0];
	pager.output.fd = fds[1];
	pager.output.writer = (struct orma_file_writer){-1, -1, read_late, &pager};
	CHECK_INT(orma_trace_output_read(&pager.output, session), 0);
	CHECK_INT(pager.output.error, 0);
	CHECK(pager.was_held);
	(void)read_late(&pager); /* the rest that is in the pipe */
	CHECK_INT(pager.trace.size, pager.output.written_bytes);
	orma_proto_reader_init(&fields, pager.trace.data, pager.trace.size);
	while (orma_proto_reader_next(&fields, &field) == 1)
		packets_add(&packets, field.bytes.data, field.bytes.size);
	CHECK_INT(count_values(&packets, 1, PACKETS), PACKETS);
	packets_done(&packets);
	orma_base_buf_done(&pager.trace);
	orma_trace_output_done(&pager.output);
	orma_session_free(session);
	orma_shutdown();
	close(fds[0]);
}

ORMA_TEST(an_older_snapshot_stays_when_the_service_has_gone)
{
	/* A hit of the trigger of session 5. */
	static const uint8_t hit[] = {0x1a, 0x02, 0x08, 0x05};
	struct orma_snapshots snapshots;
	struct orma_buf content = {0};
	char path[300], old_path[310];

	snprintf(path, sizeof(path), "%s/t", orma_test_tmpdir());
	snprintf(old_path, sizeof(old_path), "%s.0", path);
	int fd = open(old_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK_INT(orma_base_fd_write_all(fd, "earlier", 7), 0);
	close(fd);
	orma_snapshots_init(&snapshots, path, false);
	snapshots.consumer_address = "@orma-nobody-listens-here";
	orma_snapshots_take_events(&snapshots, hit, sizeof(hit));
	CHECK(orma_snapshots_step(&snapshots, true));
	CHECK_INT(snapshots.failed, 1);
	orma_snapshots_done(&snapshots);
	CHECK_INT(orma_base_file_read(AT_FDCWD, old_path, 100, &content), 0);
	CHECK_MEM(content.data, content.size, "earlier", 7);
	orma_base_buf_done(&content);
}
