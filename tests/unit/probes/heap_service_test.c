/* SPDX-License-Identifier: Apache-2.0
 * heap_service_test.c - who may connect to the profiler's socket.
 */
#include "probes/heap/heap_service.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "ipc/address.h"

enum { USER = 65534, STRANGER = 65533 };

static void ignore_packet(void *ctx, struct orma_str packet)
{
	(void)ctx, (void)packet;
}

static char path[100];

/* Runs fn() in a child process, as this user if that is not 0. Returns its result. */
static int in_child(uid_t uid, int (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(uid != 0 && setuid(uid) < 0 ? 255 : fn());
	CHECK(child > 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns 0 or errno. */
static int connect_to_profiler(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
}

struct profiler {
	struct orma_loop *loop;
	struct orma_heap_service *service;
	struct orma_heap_session *session;
};

static int listen_for_programs(struct profiler *profiler)
{
	const struct orma_heap_session_options options = {
		.buffer_kb = 64, .shm_kb = 128, .packet = ignore_packet};
	int r = orma_base_loop_new(&profiler->loop);

	if (r == 0)
		r = orma_heap_service_new(profiler->loop, path, &profiler->service);
	return r ? r : orma_heap_session_open(profiler->service, &options, &profiler->session);
}

static void stop_listening(struct profiler *profiler)
{
	orma_heap_session_close(profiler->session);
	orma_heap_service_free(profiler->service);
	orma_base_loop_free(profiler->loop);
}

static int listens_privately(void)
{
	struct profiler profiler;
	struct stat info;
	int r = 0;

	if (listen_for_programs(&profiler) < 0)
		return 1;
	if (stat(path, &info) < 0 || !S_ISSOCK(info.st_mode) || (info.st_mode & 0777) != 0600)
		r = 2;
	else if (connect_to_profiler() != 0)
		r = 3;
	stop_listening(&profiler);
	return r;
}

/* The socket stays behind, without a listener: only its rights decide between EACCES and ECONNREFUSED. */
static int leaves_its_socket(void)
{
	struct profiler profiler;

	return listen_for_programs(&profiler) < 0;
}

/* The umask is that of a shell. */
static void choose_path(void)
{
	(void)umask(022);
	CHECK_INT(chmod(orma_test_tmpdir(), 0777), 0);
	snprintf(path, sizeof(path), "%s/profiler", orma_test_tmpdir());
}

ORMA_TEST(a_users_profiler_listens_for_that_user_only)
{
	choose_path();
	CHECK_INT(in_child(geteuid() == 0 ? USER : 0, listens_privately), 0);
}

ORMA_TEST(another_user_cannot_connect_to_a_users_profiler)
{
	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	choose_path();
	CHECK_INT(in_child(USER, leaves_its_socket), 0);
	CHECK_INT(in_child(STRANGER, connect_to_profiler), EACCES);
	CHECK_INT(in_child(USER, connect_to_profiler), ECONNREFUSED);
}

ORMA_TEST(every_user_can_connect_to_the_profiler_of_root)
{
	struct profiler profiler;

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	choose_path();
	CHECK_INT(listen_for_programs(&profiler), 0);
	CHECK_INT(in_child(STRANGER, connect_to_profiler), 0);
	stop_listening(&profiler);
}
