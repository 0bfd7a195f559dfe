/* SPDX-License-Identifier: Apache-2.0
 * hung_fs_test.c - output files on a file system that does not answer: opening, writing, closing
 * them hangs for good, and nobody else notices.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "hung_fs.h"
#include "raw_session.h"

enum { FLUSHES = 20 };

#define CONFIG                                                                                     \
	"buffers { size_kb: 256 } data_sources { config { name: \"file\" } } "                     \
	"write_into_file: true file_write_period_ms: 100 "

struct scene {
	struct orma_hung_fs fs;
	struct orma_stage stage;
	struct orma_raw_session session;
};

static bool open_scene(struct scene *scene)
{
	*scene = (struct scene){0};
	if (!orma_hung_fs_mount(&scene->fs))
		return false;
	orma_stage_open(&scene->stage);
	orma_raw_producer_open(&scene->session.producer, scene->stage.daemon.producers, "file");
	orma_raw_producer_register(&scene->session.producer, "name: \"file\"");
	orma_raw_consumer_open(&scene->session.consumer, scene->stage.daemon.consumers);
	return true;
}

static void check_bystander(struct scene *scene)
{
	for (int i = 0; i < FLUSHES; i++)
		orma_bystander_check(&scene->stage.bystander);
}

static void close_scene(struct scene *scene)
{
	check_bystander(scene);
	orma_raw_session_close(&scene->session);
	check_bystander(scene);
	orma_hung_fs_abort(&scene->fs);
	orma_stage_close(&scene->stage);
}

static void enable(struct scene *scene, int fd, const char *config)
{
	orma_raw_consumer_enable(&scene->session.consumer, fd, CONFIG "%s", config);
}

static void enable_path(struct scene *scene)
{
	char config[300];

	snprintf(config, sizeof(config), "output_path: \"%s\"", scene->fs.path);
	enable(scene, -1, config);
}

static void await_start(struct scene *scene)
{
	scene->session.instance = orma_raw_producer_await_start(&scene->session.producer, "file");
	scene->session.target_buffer = scene->session.instance->target_buffer;
}

ORMA_TEST(a_file_on_a_file_system_that_answers_is_written)
{
	struct scene scene;

	if (!open_scene(&scene))
		return;
	enable_path(&scene);
	await_start(&scene);
	orma_raw_session_emit(&scene.session, "x");
	CHECK(orma_raw_call(&scene.session.consumer.client, "DisableTracing", ORMA_STR(""))
		      ->success);
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.session.consumer), "");
	orma_hung_fs_await(&scene.fs, FUSE_WRITE);
	close_scene(&scene);
}

static void check_hung_creation(unsigned opcode, bool leaves)
{
	struct scene scene;

	if (!open_scene(&scene))
		return;
	orma_hung_fs_hold(&scene.fs, opcode);
	enable_path(&scene);
	orma_hung_fs_await(&scene.fs, opcode);
	check_bystander(&scene);
	if (!leaves) {
		CHECK(orma_raw_call(&scene.session.consumer.client, "DisableTracing", ORMA_STR(""))
			      ->success);
		CHECK_STR(orma_raw_consumer_await_disabled(&scene.session.consumer),
			  "output_path: the session ended before its file was there");
		/* And may go on with another one. */
		orma_raw_consumer_enable(&scene.session.consumer, -1, "buffers { size_kb: 64 }");
		orma_raw_consumer_fence(&scene.session.consumer);
	}
	close_scene(&scene);
}

ORMA_TEST(a_file_whose_creation_hangs_holds_up_nobody)
{
	check_hung_creation(FUSE_CREATE, false);
}

ORMA_TEST(a_path_that_hangs_when_it_is_looked_at_holds_up_nobody)
{
	check_hung_creation(FUSE_LOOKUP, false);
}

ORMA_TEST(a_consumer_who_leaves_while_his_file_hangs_is_forgotten)
{
	check_hung_creation(FUSE_CREATE, true);
}

ORMA_TEST(a_mode_that_cannot_be_set_holds_up_nobody)
{
	check_hung_creation(FUSE_SETATTR, true);
}

static void check_hung_file(unsigned opcode)
{
	struct scene scene;

	if (!open_scene(&scene))
		return;
	enable_path(&scene);
	await_start(&scene);
	orma_hung_fs_hold(&scene.fs, opcode);
	orma_raw_session_emit(&scene.session, "x");
	CHECK(orma_raw_call(&scene.session.consumer.client, "DisableTracing", ORMA_STR(""))
		      ->success);
	orma_hung_fs_await(&scene.fs, opcode);
	close_scene(&scene);
}

ORMA_TEST(a_write_that_hangs_holds_up_nobody)
{
	check_hung_file(FUSE_WRITE);
}

ORMA_TEST(a_sync_that_hangs_holds_up_nobody)
{
	check_hung_file(FUSE_FSYNC);
}

ORMA_TEST(a_close_that_hangs_holds_up_nobody)
{
	check_hung_file(FUSE_FLUSH);
}
