/* SPDX-License-Identifier: Apache-2.0
 * file_rotate_test.c - rotation of the files of a session, and files that are not the session's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/fd.h"
#include "codec/compression.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/daemon/file_rotate.h"
#include "tool/daemon/seccomp.h"

struct scene {
	char path[256];
	struct orma_file_rotation rotation;
	int fd;
};

static const char *name_of(const struct scene *scene, int number)
{
	static char name[300];

	if (number == 0)
		return scene->path;
	snprintf(name, sizeof(name), "%s.%d", scene->path, number);
	return name;
}

static void write_to(const char *name, const char *text)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), (long long)strlen(text));
	close(fd);
}

static const char *read_of(const struct scene *scene, int number)
{
	static char text[100];
	struct orma_buf buf = {0};

	if (orma_base_file_read(AT_FDCWD, name_of(scene, number), 90, &buf) < 0)
		return "-";
	snprintf(text, sizeof(text), "%.*s", (int)buf.size, (const char *)buf.data);
	orma_base_buf_done(&buf);
	return text;
}

static void open_scene(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	snprintf(scene->path, sizeof(scene->path), "%s/trace", orma_test_tmpdir());
	for (int i = 0; i < 6; i++)
		(void)unlink(name_of(scene, i));
	scene->fd = open(scene->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	CHECK(scene->fd >= 0);
}

static void close_scene(struct scene *scene)
{
	close(scene->fd);
	orma_file_rotation_done(&scene->rotation);
}

static int rotate(struct scene *scene, uint32_t count)
{
	int fd = -1,
	    r = orma_file_rotate(&scene->rotation, AT_FDCWD, scene->path, count, scene->fd, &fd);

	if (r < 0)
		return r;
	close(scene->fd);
	scene->fd = fd;
	return 0;
}

/* Writes `text` into the current file, and rotates. */
static int write_and_rotate(struct scene *scene, const char *text, uint32_t count)
{
	CHECK_INT(write(scene->fd, text, strlen(text)), (long long)strlen(text));
	return rotate(scene, count);
}

ORMA_TEST(files_move_up_by_one_and_the_oldest_goes)
{
	struct scene s;
	struct stat info;

	open_scene(&s);
	CHECK_INT(write_and_rotate(&s, "a", 3), 0);
	CHECK_STR(read_of(&s, 0), "");
	CHECK_STR(read_of(&s, 1), "a");
	CHECK_INT(fstat(s.fd, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	CHECK_INT(write_and_rotate(&s, "b", 3), 0);
	CHECK_STR(read_of(&s, 1), "b");
	CHECK_STR(read_of(&s, 2), "a");
	CHECK_INT(write_and_rotate(&s, "c", 3), 0);
	CHECK_INT(write_and_rotate(&s, "d", 3), 0);
	CHECK_STR(read_of(&s, 0), "");
	CHECK_STR(read_of(&s, 1), "d");
	CHECK_STR(read_of(&s, 2), "c");
	CHECK_STR(read_of(&s, 3), "-");
	close_scene(&s);
}

ORMA_TEST(a_single_file_is_replaced)
{
	struct scene s;

	open_scene(&s);
	CHECK_INT(write_and_rotate(&s, "a", 1), 0);
	CHECK_INT(write_and_rotate(&s, "b", 1), 0);
	CHECK_STR(read_of(&s, 0), "");
	CHECK_STR(read_of(&s, 1), "-");
	close_scene(&s);
}

ORMA_TEST(files_that_somebody_took_away_are_no_loss)
{
	struct scene s;

	open_scene(&s);
	CHECK_INT(write_and_rotate(&s, "a", 4), 0);
	CHECK_INT(write_and_rotate(&s, "b", 4), 0);
	CHECK_INT(unlink(name_of(&s, 1)), 0);
	CHECK_INT(write_and_rotate(&s, "c", 4), 0);
	CHECK_STR(read_of(&s, 1), "c");
	CHECK_STR(read_of(&s, 2), "-");
	CHECK_STR(read_of(&s, 3), "a");
	/* The file that is being written may also be missing. */
	CHECK_INT(unlink(s.path), 0);
	CHECK_INT(write_and_rotate(&s, "d", 4), 0);
	CHECK_STR(read_of(&s, 0), "");
	CHECK_STR(read_of(&s, 1), "-");
	CHECK_STR(read_of(&s, 2), "c");
	CHECK_STR(read_of(&s, 3), "-");
	close_scene(&s);
}

ORMA_TEST(files_of_others_are_neither_replaced_nor_removed_nor_renamed)
{
	/* The number of the file that is replaced by a foreign one, after so many rotations. */
	static const struct {
		int number, before;
	} cases[] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}, {0, 2}};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct scene s;

		open_scene(&s);
		for (int k = 0; k < cases[i].before; k++)
			CHECK_INT(write_and_rotate(&s, "ours", 3), 0);
		(void)unlink(name_of(&s, cases[i].number));
		write_to(name_of(&s, cases[i].number), "theirs");
		CHECK_INT(write_and_rotate(&s, "new", 3), -EEXIST);
		CHECK_STR(read_of(&s, cases[i].number), "theirs");
		close_scene(&s);
	}
}

ORMA_TEST(links_are_not_followed)
{
	struct scene s;
	char target[300];

	open_scene(&s);
	snprintf(target, sizeof(target), "%s/target", orma_test_tmpdir());
	write_to(target, "theirs");
	CHECK_INT(symlink(target, name_of(&s, 1)), 0);
	CHECK_INT(write_and_rotate(&s, "a", 3), -EEXIST);
	CHECK_INT(unlink(s.path), 0);
	CHECK_INT(symlink(target, s.path), 0);
	CHECK_INT(write_and_rotate(&s, "a", 3), -EEXIST);
	CHECK_INT(unlink(target), 0); /* a link into nothing */
	CHECK_INT(write_and_rotate(&s, "a", 3), -EEXIST);
	CHECK_INT(access(target, F_OK), -1);
	close_scene(&s);
}

ORMA_TEST(folders_that_are_gone_are_an_error)
{
	struct scene s;

	open_scene(&s);
	snprintf(s.path, sizeof(s.path), "%s/none/trace", orma_test_tmpdir());
	CHECK_INT(rotate(&s, 3), -ENOENT);
	close_scene(&s);
}

ORMA_TEST(missing_memory_leaves_everything_as_it_is)
{
	for (uint64_t nth = 1; nth <= 2; nth++) {
		struct scene s;

		open_scene(&s);
		orma_base_alloc_fail_nth(nth);
		CHECK_INT(rotate(&s, 3), -ENOMEM);
		orma_base_alloc_fail_nth(0);
		CHECK_STR(read_of(&s, 1), "-");
		CHECK_INT(rotate(&s, 3), 0);
		close_scene(&s);
	}
}

/* --- continuing the series of an earlier recording --------------------------------------------- */

/* Writes a trace of one packet. Its config has this output_path; `mark` identifies the file. */
static void write_trace(const char *name, const char *output_path, const char *mark)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	struct orma_pb_trace *trace;
	char text[600];
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	snprintf(text, sizeof(text),
		 "packet { trace_config { output_path: \"%s\" max_file_count: 3 "
		 "unique_session_name: \"%s\" } }",
		 output_path, mark);
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_desc, "text", text, strlen(text), 0, &arena,
					&trace, NULL),
		  0);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size), 0);
	close(fd);
}

/* Returns the mark of the file with that number; "" = the file is empty, "-" = it does not exist. */
static const char *mark_of(const struct scene *scene, int number)
{
	static char mark[64];
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	struct orma_pb_trace *trace;

	if (orma_base_file_read(AT_FDCWD, name_of(scene, number), 1000, &bytes) < 0)
		return "-";
	CHECK_INT(orma_proto_decode(&orma_pb_trace_desc, bytes.data, bytes.size, &arena, &trace),
		  0);
	if (trace->packet.count == 0)
		return "";
	struct orma_str name = trace->packet.items[0]->trace_config->unique_session_name;
	snprintf(mark, sizeof(mark), "%.*s", (int)name.size, name.data);
	return mark;
}

/* Opens a scene without the file that a recording begins with. */
static void open_folder(struct scene *scene)
{
	open_scene(scene);
	close(scene->fd);
	CHECK_INT(unlink(scene->path), 0);
	scene->fd = -1;
}

static int create(struct scene *scene, uint32_t count)
{
	return orma_file_create(&scene->rotation, AT_FDCWD, scene->path, count, scene->path,
				&scene->fd);
}

ORMA_TEST(a_recording_continues_the_numbers_of_the_one_before)
{
	struct scene scene;

	open_folder(&scene);
	write_trace(name_of(&scene, 0), scene.path, "third");
	write_trace(name_of(&scene, 1), scene.path, "second");
	write_trace(name_of(&scene, 2), scene.path, "first");
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 0), "");
	CHECK_STR(mark_of(&scene, 1), "third");
	CHECK_STR(mark_of(&scene, 2), "second");
	CHECK_STR(mark_of(&scene, 3), "-");
	/* Rotation works as in any other series. */
	CHECK_INT(rotate(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 0), "");
	CHECK_STR(mark_of(&scene, 1), "");
	CHECK_STR(mark_of(&scene, 2), "third");
	close_scene(&scene);
}

ORMA_TEST(numbers_that_are_free_stay_free_until_they_are_needed)
{
	struct scene scene;

	open_folder(&scene);
	/* The newest file was removed. A file beyond the count is from a recording that kept more. */
	write_trace(name_of(&scene, 1), scene.path, "second");
	write_trace(name_of(&scene, 3), scene.path, "beyond");
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 1), "second");
	CHECK_STR(mark_of(&scene, 2), "-");
	CHECK_INT(rotate(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 2), "second");
	CHECK_INT(rotate(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 2), "");
	CHECK_STR(mark_of(&scene, 3), "beyond");
	close_scene(&scene);
}

ORMA_TEST(files_that_are_not_of_the_series_are_left_where_they_are)
{
	struct scene scene;

	open_folder(&scene);
	write_to(name_of(&scene, 0), "somebody's");
	CHECK_INT(create(&scene, 3), -EEXIST);
	CHECK_STR(read_of(&scene, 0), "somebody's");
	orma_file_rotation_done(&scene.rotation);
	/* This is a trace, but its config names another path. */
	write_trace(name_of(&scene, 0), "/elsewhere", "other");
	CHECK_INT(create(&scene, 3), -EEXIST);
	CHECK_STR(mark_of(&scene, 0), "other");
	orma_file_rotation_done(&scene.rotation);
	/* If one file is not of the series, no file is renamed. */
	write_trace(name_of(&scene, 0), scene.path, "newest");
	write_to(name_of(&scene, 2), "somebody's");
	CHECK_INT(create(&scene, 3), -ENOTUNIQ);
	CHECK_STR(mark_of(&scene, 0), "newest");
	CHECK_STR(mark_of(&scene, 1), "-");
	CHECK_STR(read_of(&scene, 2), "somebody's");
	orma_file_rotation_done(&scene.rotation);
	/* A link to a file of the series is not of the series. */
	char moved[300];
	snprintf(moved, sizeof(moved), "%s.4", scene.path);
	CHECK_INT(rename(scene.path, moved), 0);
	CHECK_INT(unlink(name_of(&scene, 2)), 0);
	CHECK_INT(symlink(moved, scene.path), 0);
	CHECK_INT(create(&scene, 3), -EEXIST);
	orma_file_rotation_done(&scene.rotation);
}

ORMA_TEST(a_series_that_a_recording_writes_is_not_continued)
{
	struct scene scene, second = {.fd = -1};

	open_folder(&scene);
	CHECK_INT(create(&scene, 3), 0);
	write_trace(scene.path, scene.path, "running");
	snprintf(second.path, sizeof(second.path), "%s", scene.path);
	CHECK_INT(create(&second, 3), -EBUSY);
	orma_file_rotation_done(&second.rotation);
	CHECK_STR(mark_of(&scene, 0), "running");
	close(scene.fd);
	CHECK_INT(create(&second, 3), 0);
	CHECK_STR(mark_of(&scene, 1), "running");
	orma_file_rotation_done(&scene.rotation);
	close_scene(&second);
}

ORMA_TEST(an_empty_file_that_a_crash_has_left_does_not_stop_the_series)
{
	struct scene scene;

	open_folder(&scene);
	write_to(name_of(&scene, 0), "");
	write_trace(name_of(&scene, 1), scene.path, "second");
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 0), "");
	CHECK_STR(mark_of(&scene, 1), "second");
	CHECK_STR(mark_of(&scene, 2), "-");
	CHECK_INT(rotate(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 2), "second");
	close_scene(&scene);
	/* An empty file with a number is not of the series: no recording numbers an empty file. */
	open_folder(&scene);
	write_to(name_of(&scene, 1), "");
	CHECK_INT(create(&scene, 3), -ENOTUNIQ);
	CHECK_STR(read_of(&scene, 1), "");
	orma_file_rotation_done(&scene.rotation);
}

ORMA_TEST(an_empty_file_of_a_recording_under_way_stays)
{
	struct scene scene, second = {.fd = -1};

	open_folder(&scene);
	CHECK_INT(create(&scene, 3), 0);
	snprintf(second.path, sizeof(second.path), "%s", scene.path);
	CHECK_INT(create(&second, 3), -EBUSY);
	CHECK_STR(read_of(&scene, 0), "");
	orma_file_rotation_done(&second.rotation);
	close_scene(&scene);
}

ORMA_TEST(locks_of_readers_do_not_stop_the_series)
{
	struct scene scene;

	for (int is_flock = 0; is_flock < 2; is_flock++) {
		struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

		open_folder(&scene);
		write_trace(scene.path, scene.path, "first");
		int reader = open(scene.path, O_RDONLY | O_CLOEXEC);
		CHECK(reader >= 0);
		CHECK_INT(is_flock ? flock(reader, LOCK_EX) : fcntl(reader, F_OFD_SETLK, &lock), 0);
		CHECK_INT(create(&scene, 3), 0);
		CHECK_STR(mark_of(&scene, 1), "first");
		close(reader);
		close_scene(&scene);
	}
}

/* Compresses the content of the file into one packet, as a recording with compression does. */
static void compress_file(const char *name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf plain = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf packed = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace *trace = orma_pb_trace_new(&arena);
	struct orma_tool_compressor *compressor;

	CHECK(orma_base_file_read(AT_FDCWD, name, 2000, &plain) >= 0);
	CHECK_INT(orma_tool_compressor_new(ORMA_CODEC_DEFLATE, 0, &compressor), 0);
	CHECK_INT(orma_tool_compress(compressor, plain.data, plain.size, &packed), 0);
	orma_tool_compressor_free(compressor);
	orma_pb_trace_packet_set_compressed_packets(
		orma_pb_trace_add_packet(trace, &arena),
		(struct orma_str){(const char *)packed.data, packed.size});
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	int fd = open(name, O_WRONLY | O_TRUNC | O_CLOEXEC);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size), 0);
	close(fd);
}

ORMA_TEST(a_compressed_file_is_recognised)
{
	struct scene scene;

	if (!(orma_tool_codecs() & 1u << ORMA_CODEC_DEFLATE))
		orma_test_skip("deflate");
	open_folder(&scene);
	write_trace(name_of(&scene, 0), scene.path, "first");
	compress_file(name_of(&scene, 0));
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 0), "");
	CHECK_INT(access(name_of(&scene, 1), F_OK), 0);
	close_scene(&scene);
}

ORMA_TEST(a_series_continues_with_the_system_calls_that_the_daemon_has)
{
	struct scene scene;

	open_folder(&scene);
	write_trace(name_of(&scene, 0), scene.path, "first");
	/* Builds with a sanitizer have no filter. */
	int r = orma_seccomp_apply(ORMA_SECCOMP_ERRNO);
	CHECK(r == 0 || r == -ENOTSUP);
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 1), "first");
	close_scene(&scene);
	/* Now the file exists, and is empty. */
	orma_file_rotation_done(&scene.rotation);
	CHECK_INT(create(&scene, 3), 0);
	CHECK_STR(mark_of(&scene, 1), "first");
	CHECK_STR(mark_of(&scene, 2), "-");
	close_scene(&scene);
}
