/* SPDX-License-Identifier: Apache-2.0
 * ipc_host_peers_test.c - the peers of the serving half: their listener, their user, their
 * number.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "ipc/address.h"
#include "ipc/connection.h"
#include "ipc_host_fixture.h"

/* pid 42, uid 1000, hint "hint", name "vm" */
#define IDENTITY "\x13\0\0\0\x10\0\x42\x0f\x08\x2a\x10\xe8\x07\x1a\x04hint\x22\x02vm"

ORMA_TEST(the_kernel_vouches_for_unix_peers_whatever_they_say)
{
	struct fixture fixture;

	set_up(&fixture);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	CHECK(raw_peer_is_silent(&fixture.raw));
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(fixture.peer);
	CHECK_INT(identity->family, AF_UNIX);
	CHECK(identity->is_trusted);
	CHECK_INT(identity->uid, getuid());
	CHECK_INT(identity->pid, getpid());
	CHECK_INT(identity->machine_id, 0);
	tear_down(&fixture);
}

static void connect_tcp_with(struct fixture *fixture, struct raw_peer *raw, unsigned flags)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
	CHECK_INT(listen(listener, 1), 0);
	CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture->host, listener, flags), 0);
	*raw = (struct raw_peer){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
				 .loop = fixture->loop};
	CHECK_INT(connect(raw->fd, (struct sockaddr *)&address, size), 0);
	CHECK_INT(fcntl(raw->fd, F_SETFL, O_NONBLOCK), 0);
	while (!fixture->accepted)
		CHECK(orma_base_loop_turn(fixture->loop, 5000) > 0);
}

static void connect_tcp(struct fixture *fixture, struct raw_peer *raw)
{
	connect_tcp_with(fixture, raw, 0);
}

ORMA_TEST(a_peer_over_tcp_is_nobody_until_it_says_once_who_it_is)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	const struct orma_ipc_peer_identity *identity = orma_ipc_peer_identity(fixture.peer);
	CHECK_INT(identity->family, AF_INET);
	CHECK(!identity->is_trusted);
	CHECK_INT(identity->uid, ORMA_IPC_UID_UNKNOWN);
	CHECK_INT(identity->pid, 0);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	CHECK_INT(identity->uid, 1000);
	CHECK_INT(identity->pid, 42);
	CHECK_STR(identity->machine_name, "vm");
	CHECK(identity->machine_id != 0);
	CHECK_INT(send(fixture.raw.fd, "\6\0\0\0\x10\0\x42\2\x08\7", 10, 0), 10);
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 3, "", false);
	CHECK_INT(identity->pid, 42);
	tear_down(&fixture);
}

ORMA_TEST(a_machine_without_a_hint_is_told_apart_by_its_address)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	CHECK_INT(send(fixture.raw.fd, "\6\0\0\0\x10\0\x42\2\x08\7", 10, 0), 10);
	raw_peer_invoke(&fixture.raw, 3, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 3, "", false);
	CHECK(orma_ipc_peer_identity(fixture.peer)->machine_id != 0);
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->pid, 7);
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->uid, ORMA_IPC_UID_UNKNOWN);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "");
	tear_down(&fixture);
}

ORMA_TEST(a_hint_makes_the_machine_id_that_upstream_makes_of_it)
{
	struct fixture fixture;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	/* The low half of FNV-1a of "hint". */
	CHECK_INT(orma_ipc_peer_identity(fixture.peer)->machine_id, 0x9b1d9b78u);
	tear_down(&fixture);
}

ORMA_TEST(a_machines_name_is_cut_where_it_is_too_long)
{
	struct fixture fixture;
	uint8_t frame[4 + 4 + 400] = {0x94, 1, 0, 0, 0x42, 0x91, 3, 0x22};

	/* The length of the message, then of a name of 398 bytes. */
	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	connect_tcp(&fixture, &fixture.raw);
	frame[8] = 0x8e;
	frame[9] = 3;
	memset(frame + 10, 'n', 398);
	CHECK_INT(send(fixture.raw.fd, frame, sizeof(frame), 0), sizeof(frame));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	expect_reply(&fixture.raw, 2, "", false);
	const char *name = orma_ipc_peer_identity(fixture.peer)->machine_name;
	CHECK_INT(strlen(name), ORMA_IPC_MACHINE_NAME_BYTES - 1);
	CHECK_INT(strspn(name, "n"), ORMA_IPC_MACHINE_NAME_BYTES - 1);
	tear_down(&fixture);
}

ORMA_TEST(peers_of_this_machine_have_its_name)
{
	struct fixture fixture;
	struct utsname names;

	unsetenv("PERFETTO_MACHINE_NAME");
	CHECK_INT(uname(&names), 0);
	set_up(&fixture);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, names.sysname);
	tear_down(&fixture);
	setenv("PERFETTO_MACHINE_NAME", "here", 1);
	set_up(&fixture);
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "here");
	CHECK_INT(send(fixture.raw.fd, IDENTITY, sizeof(IDENTITY) - 1, 0), sizeof(IDENTITY) - 1);
	CHECK(raw_peer_is_silent(&fixture.raw));
	CHECK_STR(orma_ipc_peer_identity(fixture.peer)->machine_name, "here");
	tear_down(&fixture);
}

static bool binds(struct fixture *fixture, const char *service)
{
	struct orma_ipc_envelope envelope;
	struct orma_ipc_frame frame;

	CHECK_INT(orma_ipc_envelope_bind(&envelope, 9, strlen(service)), 0);
	raw_peer_send(&fixture->raw, &envelope, service, strlen(service), -1);
	CHECK(raw_peer_next(&fixture->raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_BIND_REPLY);
	return frame.u.bind_reply.success;
}

ORMA_TEST(reserved_services_are_there_only_on_listeners_that_ask_for_them)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){.reserved_count = 1});
	connect_tcp_with(&fixture, &fixture.raw, 0);
	CHECK(binds(&fixture, "EmptyPort"));
	CHECK(!binds(&fixture, "TestPort"));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "");
	CHECK(raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_INVOKE_REPLY);
	CHECK(!frame.u.invoke_reply.success);
	CHECK_INT(fixture.calls, 0);
	raw_peer_close(&fixture.raw);
	wait_closed(&fixture);
	fixture.accepted = 0;
	connect_tcp_with(&fixture, &fixture.raw, ORMA_IPC_HOST_ALL_SERVICES);
	CHECK(binds(&fixture, "EmptyPort"));
	CHECK(binds(&fixture, "TestPort"));
	raw_peer_invoke(&fixture.raw, 2, SERVICE_ID, ECHO, false, "hi");
	expect_reply(&fixture.raw, 2, "hi", false);
	tear_down(&fixture);
}

static int connect_to(const char *text)
{
	struct orma_ipc_address address;
	bool is_pending;

	CHECK_INT(orma_ipc_address_parse(text, &address), 0);
	return orma_ipc_connect(&address, &is_pending);
}

ORMA_TEST(a_host_listens_on_several_addresses_and_removes_its_files)
{
	struct fixture fixture;
	struct stat info;
	char path[128], list[256], name[64];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	snprintf(name, sizeof(name), "@orma-host-test-%d", (int)getpid());
	snprintf(list, sizeof(list), "%s,%s", path, name);
	CHECK_INT(orma_ipc_host_listen(fixture.host, list, 0), 0);
	int first = connect_to(path), second = connect_to(name);
	CHECK(first >= 0 && second >= 0);
	while (fixture.accepted < 2)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	CHECK_INT(lstat(path, &info), 0);
	close(first);
	close(second);
	tear_down(&fixture);
	CHECK_INT(lstat(path, &info), -1);
}

ORMA_TEST(a_socket_file_of_a_successor_is_left_alone)
{
	struct fixture fixture;
	struct orma_ipc_address address;
	struct stat info;
	char path[128];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	CHECK_INT(orma_ipc_host_listen(fixture.host, path, 0), 0);
	CHECK_INT(orma_ipc_address_parse(path, &address), 0);
	/* The old file stays alive under another name, so that its inode cannot be handed out
	 * again. */
	char kept[140];
	snprintf(kept, sizeof(kept), "%s.old", path);
	CHECK_INT(rename(path, kept), 0);
	int successor = orma_ipc_listen(&address, 0);
	CHECK(successor >= 0);
	tear_down(&fixture);
	CHECK_INT(lstat(path, &info), 0);
	close(successor);
}

ORMA_TEST(a_list_with_a_bad_address_opens_nothing)
{
	struct fixture fixture;
	struct stat info;
	char path[128], list[256];

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	snprintf(list, sizeof(list), "%s,[::1:80", path);
	CHECK_INT(orma_ipc_host_listen(fixture.host, list, 0), -EINVAL);
	CHECK_INT(lstat(path, &info), -1);
	CHECK_INT(orma_ipc_host_listen(fixture.host, ",", 0), -EINVAL);
	CHECK_INT(orma_ipc_host_listen(fixture.host, "/nonexistent/folder/s", 0), -ENOENT);
	tear_down(&fixture);
}

ORMA_TEST(only_a_listening_socket_is_adopted_as_a_listener)
{
	struct fixture fixture;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, fd, 0), -EINVAL);
	CHECK_INT(orma_ipc_host_adopt_listener(fixture.host, file, 0), -ENOTSOCK);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, file, NULL), -ENOTSOCK);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, -1, NULL), -EBADF);
	close(fd);
	close(file);
	tear_down(&fixture);
}

ORMA_TEST(out_of_descriptors_a_connection_is_shed_and_later_ones_are_accepted)
{
	struct fixture fixture;
	struct rlimit limit, tight;
	char path[128], byte;
	int highest, filler[64], filler_count = 0;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	snprintf(path, sizeof(path), "%s/s", orma_test_tmpdir());
	CHECK_INT(orma_ipc_host_listen(fixture.host, path, 0), 0);
	int shed = connect_to(path);
	CHECK(shed >= 0);
	/* Use up the descriptors below the limit, so that none is left for accept(). */
	highest = dup(0);
	CHECK(highest >= 0);
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight = limit;
	tight.rlim_cur = (rlim_t)highest + 1;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &tight), 0);
	while (filler_count < 64 && (filler[filler_count] = dup(0)) >= 0)
		filler_count++;
	CHECK_INT(errno, EMFILE);
	raw_peer_settle(&(struct raw_peer){.loop = fixture.loop});
	CHECK_INT(fixture.accepted, 0);
	CHECK_INT(recv(shed, &byte, 1, 0), 0);
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (filler_count > 0)
		close(filler[--filler_count]);
	close(highest);
	int second = connect_to(path);
	while (!fixture.accepted)
		CHECK(orma_base_loop_turn(fixture.loop, 5000) > 0);
	close(shed);
	close(second);
	tear_down(&fixture);
}

/* Connects as that user; the peer is accepted, or refused with the text of the limit for all
 * users. */
static bool is_admitted_as(struct fixture *fixture, struct raw_peer *peer, uid_t uid)
{
	struct orma_ipc_frame frame;

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	CHECK_INT(seteuid(uid), 0);
	int fd = raw_peer_open(peer, fixture->loop);
	CHECK_INT(seteuid(0), 0);
	int result = orma_ipc_host_adopt(fixture->host, fd, NULL);
	if (result == 0)
		return true;
	CHECK_INT(result, -EBUSY);
	close(fd);
	CHECK(raw_peer_next(peer, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
	CHECK(orma_base_str_is(frame.u.error.text, "too many connections"));
	CHECK(!raw_peer_next(peer, &frame));
	raw_peer_close(peer);
	return false;
}

ORMA_TEST(peers_beyond_the_limit_are_told_so_but_each_user_has_a_place_and_root_all)
{
	struct fixture fixture;
	struct raw_peer other, roots[3], refused;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_max = 1});
	CHECK(is_admitted_as(&fixture, &fixture.raw, 1000));
	CHECK(!is_admitted_as(&fixture, &refused, 1000));
	CHECK(is_admitted_as(&fixture, &other, 1001));
	CHECK(!is_admitted_as(&fixture, &refused, 1001));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(roots); i++)
		CHECK(is_admitted_as(&fixture, &roots[i], 0));
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 5);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(roots); i++)
		raw_peer_close(&roots[i]);
	raw_peer_close(&other);
	tear_down(&fixture);
}

ORMA_TEST(the_places_of_users_that_have_none_have_an_end)
{
	struct fixture fixture;
	static struct raw_peer peers[ORMA_IPC_PEERS_FIRST + 1];
	struct raw_peer refused;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_max = 1});
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(peers); i++)
		CHECK(is_admitted_as(&fixture, &peers[i], 1000 + (uid_t)i));
	CHECK(!is_admitted_as(&fixture, &refused, 5000));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(peers); i++)
		raw_peer_close(&peers[i]);
	tear_down(&fixture);
}

ORMA_TEST(one_user_cannot_take_the_room_of_the_others)
{
	struct fixture fixture;
	struct raw_peer other;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){.peers_per_uid_max = 1});
	CHECK_INT(
		orma_ipc_host_adopt(fixture.host, raw_peer_open(&fixture.raw, fixture.loop), NULL),
		0);
	int fd = raw_peer_open(&other, fixture.loop);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), -EBUSY);
	close(fd);
	CHECK(raw_peer_next(&other, &frame));
	CHECK_INT(frame.kind, ORMA_IPC_FRAME_ERROR);
	CHECK(orma_base_str_is(frame.u.error.text, "too many connections of this user"));
	raw_peer_close(&other);
	/* Only root can act as another user. */
	if (seteuid(ORMA_IPC_UID_UNKNOWN) == 0) {
		fd = raw_peer_open(&other, fixture.loop);
		CHECK_INT(seteuid(0), 0);
		CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), 0);
		raw_peer_close(&other);
	}
	/* Connections over a network are counted separately, with or without claims. */
	fixture.accepted = 0;
	connect_tcp(&fixture, &other);
	raw_peer_close(&other);
	orma_ipc_host_limit_peers_per_uid(fixture.host, 2);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, raw_peer_open(&other, fixture.loop), NULL), 0);
	raw_peer_close(&other);
	tear_down(&fixture);
}

ORMA_TEST(the_owner_may_refuse_a_peer)
{
	struct fixture fixture;
	struct orma_ipc_frame frame;

	set_up_with(&fixture, (struct orma_ipc_host_options){0});
	fixture.refuse = -EACCES;
	int fd = raw_peer_open(&fixture.raw, fixture.loop);
	CHECK_INT(orma_ipc_host_adopt(fixture.host, fd, NULL), -EACCES);
	close(fd);
	CHECK(!raw_peer_next(&fixture.raw, &frame));
	CHECK_INT(fixture.closed, 0);
	CHECK_INT(orma_ipc_host_peer_count(fixture.host), 0);
	tear_down(&fixture);
}
