/* SPDX-License-Identifier: Apache-2.0
 * private_folder_test.c - folders that are removed with their process, and who may remove them.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "tool/daemon/private_folder.h"

static void make(struct orma_private_folder *folder)
{
	struct orma_error error = {0};

	if (orma_private_folder_make(orma_test_tmpdir(), folder, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
}

static void put_file(const char *folder, const char *name)
{
	char path[256];

	CHECK(snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path));
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(close(fd), 0);
}

static bool exists(const char *path)
{
	struct stat info;

	return lstat(path, &info) == 0;
}

/* Makes a folder of that name in the temporary one. */
static const char *in_tmpdir(const char *name, mode_t mode)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	if (mode)
		CHECK_INT(mkdir(path, 0700) | chmod(path, mode), 0);
	return path;
}

ORMA_TEST(a_folder_is_for_its_user_alone_and_goes_with_its_socket)
{
	struct orma_private_folder folder, none = {0};
	struct stat info;
	char path[sizeof(folder.path)];

	make(&folder);
	memcpy(path, folder.path, sizeof(path));
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 07777, 0700);
	put_file(path, ORMA_PRIVATE_FOLDER_SOCKET);
	orma_private_folder_remove(&folder);
	CHECK(!exists(path));
	orma_private_folder_remove(&folder);
	orma_private_folder_remove(&none);
}

ORMA_TEST(folders_of_the_killed_are_removed_and_those_of_the_living_are_not)
{
	struct orma_private_folder mine, other;
	int fds[2];
	char path[sizeof(other.path)] = "";

	make(&mine);
	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		/* The child closes the descriptor with the lock that it inherited. */
		orma_base_fd_close(mine.fd);
		make(&other);
		put_file(other.path, ORMA_PRIVATE_FOLDER_SOCKET);
		put_file(other.path, ORMA_PRIVATE_FOLDER_TRACE);
		if (write(fds[1], other.path, sizeof(other.path)) != sizeof(other.path))
			_exit(1);
		for (;;)
			pause();
	}
	CHECK_INT(read(fds[0], path, sizeof(path)), sizeof(path));
	orma_private_folder_remove(&mine);
	make(&mine);
	CHECK(exists(path));
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	make(&other);
	CHECK(!exists(path));
	CHECK(exists(mine.path));
	orma_private_folder_remove(&other);
	orma_private_folder_remove(&mine);
	CHECK_INT(close(fds[0]) | close(fds[1]), 0);
}

ORMA_TEST(what_only_looks_like_a_stale_folder_stays)
{
	struct orma_private_folder folder;
	char victim[256], link[256];

	snprintf(victim, sizeof(victim), "%s", in_tmpdir("victim", 0700));
	put_file(victim, ORMA_PRIVATE_FOLDER_SOCKET);
	snprintf(link, sizeof(link), "%s", in_tmpdir("orma-record-AAAAAA", 0));
	CHECK_INT(symlink(victim, link), 0);
	(void)in_tmpdir("orma-record-BBBBBB", 0755);
	(void)in_tmpdir("orma-record-CCCCCC", 0700);
	put_file(in_tmpdir("orma-record-CCCCCC", 0), "something else");
	(void)in_tmpdir("orma-record-too-long", 0700);
	(void)in_tmpdir("orma-record-DDDDDD", 0700);
	make(&folder);
	CHECK(exists(link));
	CHECK(exists(in_tmpdir("victim/" ORMA_PRIVATE_FOLDER_SOCKET, 0)));
	CHECK(exists(in_tmpdir("orma-record-BBBBBB", 0)));
	CHECK(exists(in_tmpdir("orma-record-CCCCCC", 0)));
	CHECK(exists(in_tmpdir("orma-record-too-long", 0)));
	CHECK(!exists(in_tmpdir("orma-record-DDDDDD", 0)));
	orma_private_folder_remove(&folder);
}

ORMA_TEST(folders_that_cannot_be_made_are_errors)
{
	struct orma_private_folder folder;
	struct orma_error error = {0};

	CHECK_INT(orma_private_folder_make("/nonexistent", &folder, &error), -ENOENT);
	CHECK(strstr(error.message, "/nonexistent/orma-record-"));
	CHECK_INT(orma_private_folder_make("/a/path/that/is/much/too/long/for/a/socket/in/it/"
					   "as/anybody/can/see",
					   &folder, &error),
		  -ENAMETOOLONG);
}

ORMA_TEST(a_folder_that_no_address_can_begin_with_is_not_taken)
{
	CHECK_STR(orma_private_folder_parent("/var/tmp"), "/var/tmp");
	CHECK_STR(orma_private_folder_parent(NULL), "/tmp");
	CHECK_STR(orma_private_folder_parent(""), "/tmp");
	CHECK_STR(orma_private_folder_parent("/tmp/one,two"), "/tmp");
	CHECK_STR(orma_private_folder_parent("/a/folder/whose/name/is/rather/long"), "/tmp");
}
