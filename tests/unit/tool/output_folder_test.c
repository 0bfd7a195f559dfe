/* SPDX-License-Identifier: Apache-2.0
 * output_folder_test.c - paths that lead out of the folder, with dots or through links, are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness.h"
#include "tool/daemon/output_folder.h"

struct scene {
	char path[200];
	struct orma_output_folder folder;
};

static const char *path_in(const struct scene *scene, const char *rest)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s%s", scene->path, rest);
	return path;
}

/* DIR/a/b are folders, DIR/link points to DIR/a, DIR/up to the parent folder, DIR/file is a file. */
static void open_scene(struct scene *scene)
{
	struct orma_error error;
	int fd;

	snprintf(scene->path, sizeof(scene->path), "%s/dir", orma_test_tmpdir());
	(void)mkdir(scene->path, 0755);
	(void)mkdir(path_in(scene, "/a"), 0755);
	(void)mkdir(path_in(scene, "/a/b"), 0755);
	(void)symlink("a", path_in(scene, "/link"));
	(void)symlink("..", path_in(scene, "/up"));
	fd = open(path_in(scene, "/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(orma_output_folder_open(path_in(scene, "//"), &scene->folder, &error), 0);
}

static void close_scene(struct scene *scene)
{
	orma_output_folder_close(&scene->folder);
}

/* Returns the rest of the path, or the number of the error. */
static const char *check(const struct scene *scene, const char *path)
{
	static char text[300];
	const char *rest = NULL;
	struct orma_error error = {0};
	int r = orma_output_folder_check(&scene->folder, path, &rest, &error);

	if (r == 0)
		return rest;
	CHECK(strstr(error.message, scene->path));
	CHECK(strstr(error.message, "pass a file descriptor"));
	snprintf(text, sizeof(text), "%d", -r);
	return text;
}

ORMA_TEST(only_paths_below_the_folder_are_taken)
{
	struct scene s;
	char outside[16];

	open_scene(&s);
	snprintf(outside, sizeof(outside), "%d", EXDEV);
	CHECK_STR(check(&s, path_in(&s, "/x")), "/x");
	CHECK_STR(check(&s, path_in(&s, "/a//b/./x")), "/a//b/./x");
	CHECK_STR(check(&s, "x"), "x");
	CHECK_STR(check(&s, "a/x..y"), "a/x..y");
	CHECK_STR(check(&s, "/etc/x"), outside);
	CHECK_STR(check(&s, path_in(&s, "ectory/x")), outside);
	CHECK_STR(check(&s, path_in(&s, "")), outside);
	CHECK_STR(check(&s, path_in(&s, "/")), outside);
	CHECK_STR(check(&s, path_in(&s, "/a/")), outside);
	CHECK_STR(check(&s, path_in(&s, "/a/.")), outside);
	CHECK_STR(check(&s, path_in(&s, "/../x")), outside);
	CHECK_STR(check(&s, "a/../../x"), outside);
	CHECK_STR(check(&s, "a/.."), outside);
	CHECK_STR(check(&s, ".."), outside);
	CHECK_STR(check(&s, "."), outside);
	CHECK_STR(check(&s, ""), outside);
	close_scene(&s);
}

static int enter(const struct scene *scene, const char *rest, const char *expected_name)
{
	const char *name = NULL;
	int fd = -1, r = orma_output_folder_enter(&scene->folder, rest, &fd, &name);

	if (r == 0) {
		CHECK_STR(name, expected_name);
		CHECK_INT(close(fd), 0);
	}
	return r;
}

ORMA_TEST(no_link_on_the_way_is_followed)
{
	struct scene s;
	char longer[300];

	open_scene(&s);
	CHECK_INT(enter(&s, "/x", "x"), 0);
	CHECK_INT(enter(&s, "a//./b/x", "x"), 0);
	CHECK_INT(enter(&s, "link/x", ""), -ELOOP);
	CHECK_INT(enter(&s, "up/x", ""), -ELOOP);
	CHECK_INT(enter(&s, "file/x", ""), -ENOTDIR);
	CHECK_INT(enter(&s, "none/x", ""), -ENOENT);
	memset(longer, 'n', sizeof(longer));
	memcpy(longer + sizeof(longer) - 3, "/x", 3);
	CHECK_INT(enter(&s, longer, ""), -ENAMETOOLONG);
	close_scene(&s);
}

ORMA_TEST(a_folder_that_is_renamed_stays_the_folder)
{
	struct scene s;
	char moved[300];
	const char *name = NULL;
	int fd = -1;

	open_scene(&s);
	snprintf(moved, sizeof(moved), "%s/moved", orma_test_tmpdir());
	CHECK_INT(rename(s.path, moved), 0);
	CHECK_INT(symlink("/etc", s.path), 0);
	CHECK_INT(orma_output_folder_enter(&s.folder, "x", &fd, &name), 0);
	int file = openat(fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(file >= 0);
	close(file);
	close(fd);
	snprintf(moved, sizeof(moved), "%s/moved/x", orma_test_tmpdir());
	CHECK_INT(access(moved, F_OK), 0);
	close_scene(&s);
}

ORMA_TEST(what_is_not_a_folder_is_refused_at_the_start)
{
	struct orma_output_folder folder;
	struct orma_error error;
	char path[300];
	struct scene s;

	open_scene(&s);
	CHECK_INT(orma_output_folder_open(path_in(&s, "/file"), &folder, &error), -ENOTDIR);
	snprintf(path, sizeof(path), "--output-dir %s/file: Not a directory", s.path);
	CHECK_STR(error.message, path);
	CHECK_INT(orma_output_folder_open(path_in(&s, "/none"), &folder, &error), -ENOENT);
	for (uint64_t nth = 1; nth <= 2; nth++) {
		orma_base_alloc_fail_nth(nth);
		CHECK_INT(orma_output_folder_open(s.path, &folder, &error), -ENOMEM);
		orma_base_alloc_fail_nth(0);
	}
	close_scene(&s);
}
