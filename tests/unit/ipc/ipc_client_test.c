/* SPDX-License-Identifier: Apache-2.0
 * ipc_client_test.c - the calling half, against raw hosts and against our own.
 */
#include "ipc/ipc_client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "ipc/address.h"
#include "ipc/ipc_host.h"
#include "raw_peer.h"

enum { ECHO, STREAM, SWALLOW, MISSING };

static const char *const method_names[] = {"Echo", "Stream", "Swallow", "Missing"};

struct fixture {
	struct orma_loop *loop;
	struct orma_ipc_client *client;
	struct raw_peer raw;
	struct orma_ipc_host *host;
	int connected, disconnected, error, drained;
	int replies, successes, failures, last_error;
	bool has_more;
	char text[64], order[64];
	bool frees_client, invokes_again;
	int swallowed_fd, reply_fd;
	struct orma_ipc_call *held;
};

static void on_connected(void *ctx)
{
	((struct fixture *)ctx)->connected++;
}

static void on_disconnected(void *ctx, int error)
{
	struct fixture *fixture = ctx;

	fixture->disconnected++;
	fixture->error = error;
	strcat(fixture->order, "D");
}

static void on_drained(void *ctx)
{
	((struct fixture *)ctx)->drained++;
}

static void on_reply(void *ctx, const struct orma_ipc_reply *reply)
{
	struct fixture *fixture = ctx;

	fixture->replies++;
	fixture->has_more = reply->has_more;
	fixture->last_error = reply->error;
	strcat(fixture->order, reply->success ? "R" : "F");
	if (reply->success) {
		fixture->successes++;
		CHECK_INT(reply->error, 0);
		CHECK(reply->size < sizeof(fixture->text));
		if (reply->size > 0)
			memcpy(fixture->text, reply->data, reply->size);
		fixture->text[reply->size] = '\0';
	} else {
		fixture->failures++;
		CHECK(reply->error < 0);
		CHECK(!reply->has_more);
	}
	fixture->reply_fd = fixture->client ? orma_ipc_client_take_fd(fixture->client) : -1;
	if (fixture->invokes_again)
		CHECK_INT(orma_ipc_client_invoke(fixture->client, ECHO, NULL, 0, on_reply, fixture),
			  -ENOTCONN);
	if (fixture->frees_client) {
		orma_ipc_client_free(fixture->client);
		fixture->client = NULL;
		fixture->frees_client = false;
	}
}

static struct orma_ipc_client_options options_of(struct fixture *fixture)
{
	return (struct orma_ipc_client_options){
		.loop = fixture->loop,
		.service_name = "TestPort",
		.method_names = method_names,
		.method_count = ORMA_ARRAY_SIZE(method_names),
		.ctx = fixture,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.drained = on_drained,
	};
}

static void set_up(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->raw.fd = -1;
	fixture->swallowed_fd = -1;
	CHECK_INT(orma_base_loop_new(&fixture->loop), 0);
}

static void tear_down(struct fixture *fixture)
{
	orma_ipc_client_free(fixture->client);
	orma_ipc_host_free(fixture->host);
	raw_peer_close(&fixture->raw);
	orma_base_loop_free(fixture->loop);
}

static void turn_until(struct fixture *fixture, const int *counter)
{
	while (*counter == 0)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

/* --- against a raw host ----------------------------------------------------------------------- */

static void set_up_raw(struct fixture *fixture)
{
	struct orma_ipc_frame frame;

	set_up(fixture);
	struct orma_ipc_client_options options = options_of(fixture);
	int fd = raw_peer_open(&fixture->raw, fixture->loop);
	CHECK_INT(orma_ipc_client_new_from_fd(&options, fd, &fixture->client), 0);
	CHECK(raw_peer_next(&fixture->raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND);
	CHECK_INT(frame.request_id, 1);
	CHECK(orma_base_str_is(frame.u.bind.service_name, "TestPort"));
}

/* Unusual ids, so that a client that assumes other ids fails. */
static void answer_bind(struct fixture *fixture)
{
	static const char fields[] = "\x08\1\x10\x4d"
				     "\x1a\6\x12\4Echo" /* no id: ignored, the next one counts */
				     "\x1a\x08\x08\x0b\x12\4Echo"
				     "\x1a\x0a\x08\x0c\x12\6Stream"
				     "\x1a\4\x08\x0d\x12\0" /* no name */
				     "\x1a\x0b\x08\x0e\x12\7Swallow"
				     "\x1a\x0a\x08\x0f\x12\6Future";
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_bind_reply(&envelope, 1, sizeof(fields) - 1), 0);
	raw_peer_send(&fixture->raw, &envelope, fields, sizeof(fields) - 1, -1);
}

static void set_up_bound(struct fixture *fixture)
{
	set_up_raw(fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture->client, ECHO, NULL, 0, NULL, NULL), -ENOTCONN);
	answer_bind(fixture);
	turn_until(fixture, &fixture->connected);
	CHECK(orma_ipc_client_is_connected(fixture->client));
}

static void send_reply(struct fixture *fixture, uint64_t request_id, bool success, bool has_more,
		       const char *text)
{
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_invoke_reply(&envelope, request_id, success, has_more,
						 strlen(text)),
		  0);
	raw_peer_send(&fixture->raw, &envelope, text, strlen(text), -1);
	raw_peer_settle(&fixture->raw);
}

static void send_error(struct fixture *fixture, uint64_t request_id, const char *text)
{
	struct orma_ipc_envelope envelope;

	CHECK_INT(orma_ipc_envelope_error(&envelope, request_id, strlen(text)), 0);
	raw_peer_send(&fixture->raw, &envelope, text, strlen(text), -1);
	raw_peer_settle(&fixture->raw);
}

ORMA_TEST(methods_are_called_by_the_ids_that_the_host_gave_their_names)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up_bound(&fixture);
	CHECK(orma_ipc_client_has_method(fixture.client, STREAM));
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, "abc", 3, on_reply, &fixture), 0);
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE);
	CHECK_INT(frame.request_id, 2);
	CHECK_INT(frame.u.invoke.service_id, 0x4d);
	CHECK_INT(frame.u.invoke.method_id, 0x0b);
	CHECK(!frame.u.invoke.drop_reply);
	CHECK(orma_base_str_is(frame.u.invoke.args, "abc"));
	CHECK_INT(orma_ipc_client_invoke(fixture.client, SWALLOW, NULL, 0, NULL, NULL), 0);
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.request_id, 3);
	CHECK_INT(frame.u.invoke.method_id, 0x0e);
	CHECK(frame.u.invoke.drop_reply);
	tear_down(&fixture);
}

ORMA_TEST(a_method_that_the_host_does_not_have_is_refused_without_sending)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	CHECK(!orma_ipc_client_has_method(fixture.client, MISSING));
	CHECK_INT(orma_ipc_client_invoke(fixture.client, MISSING, NULL, 0, on_reply, &fixture),
		  -ENOTSUP);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, 99, NULL, 0, on_reply, &fixture),
		  -ENOTSUP);
	CHECK(raw_peer_is_silent(&fixture.raw));
	tear_down(&fixture);
	CHECK_INT(fixture.replies, 0);
}

ORMA_TEST(replies_find_their_calls_and_streams_go_on_until_the_last)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, STREAM, NULL, 0, on_reply, &fixture), 0);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	send_reply(&fixture, 2, true, true, "one");
	CHECK_STR(fixture.text, "one");
	CHECK(fixture.has_more);
	send_reply(&fixture, 3, false, false, "");
	CHECK_INT(fixture.failures, 1);
	CHECK_INT(fixture.last_error, -EREMOTEIO);
	send_reply(&fixture, 2, true, true, "two");
	send_reply(&fixture, 2, true, false, "");
	CHECK(!fixture.has_more);
	CHECK_INT(fixture.replies, 4);
	tear_down(&fixture);
}

ORMA_TEST(replies_to_unknown_requests_and_odd_frames_are_ignored)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	send_reply(&fixture, 1, true, false, "x");
	send_reply(&fixture, 99, true, false, "x");
	answer_bind(&fixture);
	CHECK_INT(send(fixture.raw.fd, "\2\0\0\0\x10\2\2\0\0\0\xff\xff\4\0\0\0\x10\2\x1a\0", 20, 0),
		  20);
	raw_peer_settle(&fixture.raw);
	CHECK_INT(fixture.replies, 0);
	CHECK_INT(fixture.connected, 1);
	send_reply(&fixture, 2, true, false, "y");
	send_reply(&fixture, 2, true, false, "z");
	CHECK_INT(fixture.replies, 1);
	CHECK_STR(fixture.text, "y");
	tear_down(&fixture);
}

ORMA_TEST(an_error_frame_fails_its_call_and_is_kept_as_text)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	CHECK(orma_ipc_client_error_text(fixture.client) == NULL);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	send_error(&fixture, 99, "something else");
	CHECK_INT(fixture.failures, 0);
	send_error(&fixture, 2, "unknown request");
	CHECK_INT(fixture.failures, 1);
	CHECK_STR(orma_ipc_client_error_text(fixture.client), "unknown request");
	CHECK(orma_ipc_client_is_connected(fixture.client));
	tear_down(&fixture);
}

ORMA_TEST(a_service_that_the_host_does_not_have_ends_the_client)
{
	struct fixture fixture;
	struct orma_ipc_envelope envelope;

	set_up_raw(&fixture);
	CHECK_INT(orma_ipc_envelope_bind_reply(&envelope, 1, 0), 0);
	raw_peer_send(&fixture.raw, &envelope, NULL, 0, -1);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -ENOTSUP);
	CHECK_INT(fixture.connected, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_bind_reply_that_does_not_decode_ends_the_client)
{
	struct fixture fixture;
	struct orma_ipc_envelope envelope;

	set_up_raw(&fixture);
	CHECK_INT(orma_ipc_envelope_bind_reply(&envelope, 1, 6), 0);
	raw_peer_send(&fixture.raw, &envelope, "\x08\1\x1a\2\x12\x09", 6, -1);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -EPROTO);
	tear_down(&fixture);
}

ORMA_TEST(being_refused_is_told_with_the_words_of_the_host)
{
	struct fixture fixture;

	set_up_raw(&fixture);
	send_error(&fixture, 0, "too many connections");
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -EBUSY);
	CHECK_STR(orma_ipc_client_error_text(fixture.client), "too many connections");
	tear_down(&fixture);
}

ORMA_TEST(a_host_that_does_not_know_how_to_bind_is_a_protocol_error)
{
	struct fixture fixture;

	set_up_raw(&fixture);
	send_error(&fixture, 1, "unknown request");
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -EPROTO);
	tear_down(&fixture);
}

ORMA_TEST(a_host_that_never_answers_the_bind_times_out)
{
	struct fixture fixture;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	options.connect_timeout_ns = ORMA_NS_PER_MS;
	int fd = raw_peer_open(&fixture.raw, fixture.loop);
	CHECK_INT(orma_ipc_client_new_from_fd(&options, fd, &fixture.client), 0);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -ETIMEDOUT);
	tear_down(&fixture);
}

ORMA_TEST(outstanding_calls_fail_once_in_order_before_the_disconnection_is_told)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	for (int i = 0; i < 3; i++)
		CHECK_INT(
			orma_ipc_client_invoke(fixture.client, STREAM, NULL, 0, on_reply, &fixture),
			0);
	send_reply(&fixture, 3, true, true, "");
	raw_peer_close(&fixture.raw);
	fixture.invokes_again = true;
	turn_until(&fixture, &fixture.disconnected);
	CHECK_STR(fixture.order, "RFFFD");
	CHECK_INT(fixture.last_error, -ECONNRESET);
	CHECK(!orma_ipc_client_is_connected(fixture.client));
	CHECK_INT(orma_base_loop_turn(fixture.loop, 0), 0);
	CHECK_INT(fixture.disconnected, 1);
	tear_down(&fixture);
}

ORMA_TEST(an_oversize_frame_ends_the_client)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	CHECK_INT(send(fixture.raw.fd, "\xff\xff\xff\xff", 4, 0), 4);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -EMSGSIZE);
	CHECK_INT(fixture.last_error, -EMSGSIZE);
	tear_down(&fixture);
}

ORMA_TEST(the_client_may_be_freed_in_a_reply_whatever_follows_it)
{
	for (int has_more = 0; has_more < 2; has_more++) {
		struct fixture fixture;

		set_up_bound(&fixture);
		fixture.frees_client = true;
		CHECK_INT(
			orma_ipc_client_invoke(fixture.client, STREAM, NULL, 0, on_reply, &fixture),
			0);
		CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture),
			  0);
		/* Two replies at once: the second must not be read. */
		CHECK_INT(send(fixture.raw.fd,
			       has_more ? "\x08\0\0\0\x10\2\x32\4\x08\1\x10\1\6\0\0\0\x10\3\x32\2"
					  "\x08\1"
					: "\x08\0\0\0\x10\2\x32\4\x08\1\x10\0\6\0\0\0\x10\3\x32\2"
					  "\x08\1",
			       22, 0),
			  22);
		turn_until(&fixture, &fixture.replies);
		raw_peer_settle(&fixture.raw);
		CHECK_STR(fixture.order, "R");
		CHECK(fixture.client == NULL);
		tear_down(&fixture);
	}
}

ORMA_TEST(the_client_may_be_freed_while_its_calls_fail)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	fixture.frees_client = true;
	for (int i = 0; i < 3; i++)
		CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture),
			  0);
	raw_peer_close(&fixture.raw);
	turn_until(&fixture, &fixture.failures);
	CHECK_STR(fixture.order, "F");
	CHECK(fixture.client == NULL);
	tear_down(&fixture);
}

static void free_when_told(void *ctx, int error)
{
	struct fixture *fixture = ctx;

	on_disconnected(ctx, error);
	orma_ipc_client_free(fixture->client);
	fixture->client = NULL;
}

static void free_when_connected(void *ctx)
{
	struct fixture *fixture = ctx;

	fixture->connected++;
	orma_ipc_client_free(fixture->client);
	fixture->client = NULL;
}

ORMA_TEST(the_client_may_be_freed_when_told_of_its_end_or_its_beginning)
{
	for (int at_the_end = 0; at_the_end < 2; at_the_end++) {
		struct fixture fixture;

		set_up(&fixture);
		struct orma_ipc_client_options options = options_of(&fixture);
		options.disconnected = free_when_told;
		options.connected = free_when_connected;
		int fd = raw_peer_open(&fixture.raw, fixture.loop);
		CHECK_INT(orma_ipc_client_new_from_fd(&options, fd, &fixture.client), 0);
		if (at_the_end)
			raw_peer_close(&fixture.raw);
		else
			answer_bind(&fixture);
		turn_until(&fixture, at_the_end ? &fixture.disconnected : &fixture.connected);
		CHECK(fixture.client == NULL);
		tear_down(&fixture);
	}
}

ORMA_TEST(forgotten_calls_are_silent)
{
	struct fixture fixture;
	int other = 0;

	set_up_bound(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	orma_ipc_client_forget(fixture.client, &other);
	send_reply(&fixture, 2, true, false, "");
	CHECK_INT(fixture.replies, 1);
	orma_ipc_client_forget(fixture.client, &fixture);
	send_reply(&fixture, 3, true, false, "");
	CHECK_INT(fixture.replies, 1);
	tear_down(&fixture);
}

ORMA_TEST(too_many_calls_too_large_ones_and_a_full_queue_are_refused)
{
	static uint8_t args[ORMA_IPC_FRAME_BYTES_MAX];
	struct fixture fixture;
	struct orma_ipc_frame frame;
	int result;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	options.calls_max = 2;
	options.queue_bytes = 300000;
	int fd = raw_peer_open(&fixture.raw, fixture.loop);
	CHECK_INT(orma_ipc_client_new_from_fd(&options, fd, &fixture.client), 0);
	answer_bind(&fixture);
	turn_until(&fixture, &fixture.connected);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, args, sizeof(args), on_reply,
					 &fixture),
		  -EMSGSIZE);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	CHECK(orma_ipc_client_has_room(fixture.client));
	while ((result = orma_ipc_client_invoke(fixture.client, SWALLOW, args, 50000, NULL,
						NULL)) == 0)
		;
	CHECK_INT(result, -ENOBUFS);
	/* A refused call leaves nothing behind. */
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, args, 50000, on_reply, &fixture),
		  -ENOBUFS);
	CHECK(!orma_ipc_client_has_room(fixture.client));
	while (!fixture.drained)
		CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture), 0);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture),
		  -EBUSY);
	CHECK_INT(fixture.replies, 0);
	CHECK_INT(fixture.disconnected, 0);
	tear_down(&fixture);
}

ORMA_TEST(a_call_on_a_connection_that_just_broke_fails_and_its_callback_does_not_run)
{
	struct fixture fixture;

	set_up_bound(&fixture);
	raw_peer_close(&fixture.raw);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture),
		  -ENOTCONN);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, NULL, 0, on_reply, &fixture),
		  -ENOTCONN);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.replies, 0);
	tear_down(&fixture);
}

/* --- against our own host --------------------------------------------------------------------- */

static int handle_echo(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		       size_t size)
{
	(void)peer;
	return orma_ipc_call_reply(call, args, size, false, -1);
}

/* Answers later, from the test. */
static int handle_stream(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	(void)args, (void)size;
	((struct fixture *)orma_ipc_peer_host_ctx(peer))->held = call;
	return 0;
}

/* Sends back the descriptor that it receives. */
static int handle_swallow(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	struct fixture *fixture = orma_ipc_peer_host_ctx(peer);

	(void)args, (void)size;
	fixture->swallowed_fd = orma_ipc_call_take_fd(call);
	return orma_ipc_call_reply(call, NULL, 0, false, fixture->swallowed_fd);
}

static const struct orma_ipc_method host_methods[] = {
	{"Swallow", handle_swallow}, {"Stream", handle_stream}, {"Echo", handle_echo}};
static const struct orma_ipc_service host_services[] = {
	{"TestPort", host_methods, ORMA_ARRAY_SIZE(host_methods)}};

static void add_host(struct fixture *fixture, const char *address)
{
	struct orma_ipc_host_options options = {.loop = fixture->loop,
						.services = host_services,
						.service_count = 1,
						.ctx = fixture};

	CHECK_INT(orma_ipc_host_new(&options, &fixture->host), 0);
	CHECK_INT(orma_ipc_host_listen(fixture->host, address, 0), 0);
}

static const char *path_in_tmpdir(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	return path;
}

static void set_up_whole(struct fixture *fixture)
{
	set_up(fixture);
	struct orma_ipc_client_options options = options_of(fixture);
	add_host(fixture, path_in_tmpdir());
	CHECK_INT(orma_ipc_client_new(&options, path_in_tmpdir(), &fixture->client), 0);
	CHECK_INT(fixture->connected, 0);
	turn_until(fixture, &fixture->connected);
}

ORMA_TEST(both_halves_understand_each_other_over_a_socket)
{
	struct fixture fixture;

	set_up_whole(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, ECHO, "hello", 5, on_reply, &fixture), 0);
	turn_until(&fixture, &fixture.replies);
	CHECK_STR(fixture.text, "hello");
	CHECK_INT(orma_ipc_client_invoke(fixture.client, MISSING, NULL, 0, on_reply, &fixture),
		  -ENOTSUP);
	tear_down(&fixture);
}

ORMA_TEST(a_descriptor_goes_with_a_request_and_comes_back_with_its_reply)
{
	struct fixture fixture;
	struct stat sent, received;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	set_up_whole(&fixture);
	CHECK_INT(fstat(fd, &sent), 0);
	CHECK_INT(
		orma_ipc_client_invoke_fd(fixture.client, SWALLOW, NULL, 0, fd, on_reply, &fixture),
		0);
	turn_until(&fixture, &fixture.replies);
	CHECK(fixture.reply_fd >= 0);
	CHECK_INT(fstat(fixture.reply_fd, &received), 0);
	CHECK(sent.st_rdev == received.st_rdev);
	close(fixture.reply_fd);
	close(fixture.swallowed_fd);
	close(fd);
	tear_down(&fixture);
}

ORMA_TEST(a_stream_of_the_largest_replies_arrives_whole)
{
	static uint8_t reply[ORMA_IPC_BODY_BYTES_MAX];
	struct fixture fixture;
	struct raw_peer raw;
	struct orma_ipc_frame frame;
	size_t sent = 0, received = 0;

	set_up(&fixture);
	add_host(&fixture, path_in_tmpdir());
	CHECK_INT(orma_ipc_host_adopt(fixture.host, raw_peer_open(&raw, fixture.loop), NULL), 0);
	raw_peer_invoke(&raw, 2, 1, 2, false, "");
	raw_peer_settle(&raw);
	while (received < 40) {
		while (sent < 40 && orma_ipc_peer_has_room(orma_ipc_call_peer(fixture.held))) {
			memset(reply, (int)sent++, sizeof(reply));
			CHECK_INT(orma_ipc_call_reply(fixture.held, reply, sizeof(reply), true, -1),
				  0);
		}
		CHECK(raw_peer_next(&raw, &frame));
		CHECK_INT(frame.u.invoke_reply.reply.size, sizeof(reply));
		for (size_t i = 0; i < sizeof(reply); i += 4093)
			CHECK_INT(frame.u.invoke_reply.reply.data[i], received);
		received++;
	}
	raw_peer_close(&raw);
	tear_down(&fixture);
}

ORMA_TEST(a_host_that_goes_away_is_noticed)
{
	struct fixture fixture;

	set_up_whole(&fixture);
	CHECK_INT(orma_ipc_client_invoke(fixture.client, STREAM, NULL, 0, on_reply, &fixture), 0);
	while (!fixture.held)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	orma_ipc_host_free(fixture.host);
	fixture.host = NULL;
	turn_until(&fixture, &fixture.disconnected);
	CHECK_STR(fixture.order, "FD");
	tear_down(&fixture);
}

ORMA_TEST(connecting_to_nothing_is_told_from_the_loop)
{
	static const char *const addresses[] = {"/nonexistent/folder/s", "@nobody-listens-here"};
	static const int errors[] = {-ENOENT, -ECONNREFUSED};

	for (int i = 0; i < 2; i++) {
		struct fixture fixture;

		set_up(&fixture);
		struct orma_ipc_client_options options = options_of(&fixture);
		CHECK_INT(orma_ipc_client_new(&options, addresses[i], &fixture.client), 0);
		CHECK_INT(fixture.disconnected, 0);
		CHECK_INT(orma_ipc_client_take_fd(fixture.client), -1);
		CHECK(orma_ipc_client_has_room(fixture.client));
		turn_until(&fixture, &fixture.disconnected);
		CHECK_INT(fixture.error, errors[i]);
		tear_down(&fixture);
	}
}

ORMA_TEST(a_bad_address_is_refused_at_once)
{
	struct fixture fixture;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	CHECK_INT(orma_ipc_client_new(&options, "", &fixture.client), -EINVAL);
	CHECK_INT(orma_ipc_client_new(&options, "1.2.3:4", &fixture.client), -EINVAL);
	CHECK_INT(orma_ipc_client_new_from_fd(&options, -1, &fixture.client), -EBADF);
	tear_down(&fixture);
}

ORMA_TEST(a_client_waits_for_room_in_a_full_backlog)
{
	struct fixture fixture;
	struct orma_ipc_address address;
	bool is_pending;
	int fds[8], count = 0, result;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	CHECK_INT(orma_ipc_address_parse(path_in_tmpdir(), &address), 0);
	int listener = orma_ipc_listen(&address, 0);
	CHECK_INT(listen(listener, 1), 0);
	while ((result = orma_ipc_connect(&address, &is_pending)) >= 0)
		fds[count++] = result;
	CHECK_INT(orma_ipc_client_new(&options, path_in_tmpdir(), &fixture.client), 0);
	orma_base_loop_turn(fixture.loop, 0);
	CHECK_INT(fixture.connected + fixture.disconnected, 0);
	while (count > 0)
		orma_base_fd_close(fds[--count]);
	struct orma_ipc_host_options host_options = {
		.loop = fixture.loop, .services = host_services, .service_count = 1};
	CHECK_INT(orma_ipc_host_new(&host_options, &fixture.host), 0);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, listener, 0), 0);
	turn_until(&fixture, &fixture.connected);
	tear_down(&fixture);
}

ORMA_TEST(tcp_connects_without_blocking_and_a_refusal_is_told)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	struct fixture fixture;
	char text[64];

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	snprintf(text, sizeof(text), "localhost:%u,@second", ntohs(address.sin_port));
	CHECK_INT(orma_ipc_client_new(&options, text, &fixture.client), 0);
	turn_until(&fixture, &fixture.disconnected);
	CHECK_INT(fixture.error, -ECONNREFUSED);
	orma_ipc_client_free(fixture.client);
	CHECK_INT(listen(listener, 4), 0);
	struct orma_ipc_host_options host_options = {
		.loop = fixture.loop, .services = host_services, .service_count = 1};
	CHECK_INT(orma_ipc_host_new(&host_options, &fixture.host), 0);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, listener, 0), 0);
	CHECK_INT(orma_ipc_client_new(&options, text, &fixture.client), 0);
	turn_until(&fixture, &fixture.connected);
	tear_down(&fixture);
}

ORMA_TEST(a_client_freed_while_it_connects_leaves_nothing)
{
	struct fixture fixture;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	CHECK_INT(orma_ipc_client_new(&options, "/nonexistent/s", &fixture.client), 0);
	orma_ipc_client_free(fixture.client);
	add_host(&fixture, path_in_tmpdir());
	CHECK_INT(orma_ipc_client_new(&options, path_in_tmpdir(), &fixture.client), 0);
	orma_ipc_client_free(fixture.client);
	CHECK_INT(orma_ipc_client_new(&options, path_in_tmpdir(), &fixture.client), 0);
	orma_base_loop_turn(fixture.loop, 0);
	tear_down(&fixture);
	CHECK_INT(fixture.disconnected, 0);
}

/* Connects, binds, makes a call. Whichever allocation fails, the result is one that the header
 * names. */
static bool exchange_with_failing_allocation(uint64_t nth)
{
	struct fixture fixture;
	int result, replies_expected = 0;

	set_up(&fixture);
	struct orma_ipc_client_options options = options_of(&fixture);
	int fd = raw_peer_open(&fixture.raw, fixture.loop);
	answer_bind(&fixture);
	orma_test_fail_allocation(nth);
	result = orma_ipc_client_new_from_fd(&options, fd, &fixture.client);
	if (result < 0) {
		CHECK_INT(result, -ENOMEM);
		close(fd);
	} else {
		while (!fixture.connected && !fixture.disconnected)
			CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
		result = orma_ipc_client_invoke(fixture.client, ECHO, "x", 1, on_reply, &fixture);
		if (result == 0) {
			replies_expected = 1;
			(void)!send(fixture.raw.fd, "\6\0\0\0\x10\2\x32\2\x08\1", 10, MSG_NOSIGNAL);
			turn_until(&fixture, &fixture.replies);
		}
	}
	bool has_failed = orma_test_allocation_failed();
	orma_test_fail_allocation(0);
	CHECK_INT(fixture.replies, replies_expected);
	CHECK(has_failed || fixture.successes == 1);
	tear_down(&fixture);
	return has_failed;
}

ORMA_TEST(every_failing_allocation_is_told)
{
	for (uint64_t nth = 1; exchange_with_failing_allocation(nth); nth++)
		;
}
