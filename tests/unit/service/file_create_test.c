/* SPDX-License-Identifier: Apache-2.0
 * file_create_test.c - output_path where creating a file takes long: what a session is while it
 * waits, how that ends, and that nobody else notices.
 */
#include "fixture.h"

#define FILES_MAX 16

/* Files that are created when the test says so. */
static struct fake_file {
	char path[256];
	uint32_t count;
	uint64_t session_id;
	bool is_closed, was_synced, is_written;
} files[FILES_MAX];
static size_t file_count;
static int create_error;

static int fake_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	(void)ctx;
	(void)session_id;
	(void)ret_file;
	close(fd);
	return -EIO; /* nobody passes a descriptor here */
}

static int fake_create(void *ctx, const char *path, uint32_t count, uint64_t session_id,
		       void **ret_file)
{
	struct fake_file *file = &files[file_count];

	CHECK(ctx && file_count < FILES_MAX);
	if (create_error)
		return create_error;
	*file = (struct fake_file){.count = count, .session_id = session_id};
	snprintf(file->path, sizeof(file->path), "%s", path);
	file_count++;
	*ret_file = file;
	return 0;
}

/* Allows one path. */
static int fake_create_for_other(void *ctx, const struct orma_file_request *request,
				 void **ret_file, struct orma_error *reterr)
{
	CHECK_INT(request->struct_size, sizeof(*request));
	CHECK_INT(request->uid, getuid() + 1);
	if (strcmp(request->path, "/elsewhere/trace") == 0)
		return -EACCES;
	if (strcmp(request->path, "/allowed/trace") != 0) {
		snprintf(reterr->message, sizeof(reterr->message), "only /allowed");
		return -EXDEV;
	}
	return fake_create(ctx, request->path, request->count, request->session_id, ret_file);
}

static int fake_write(void *ctx, void *opened, const struct iovec *iov, int iov_count)
{
	struct fake_file *file = opened;

	CHECK(ctx && iov && iov_count > 0 && !file->is_closed);
	file->is_written = true;
	return 0;
}

static int fake_rotate(void *ctx, void *opened, const char *path, uint32_t count)
{
	CHECK(ctx && opened && path && count);
	return 0;
}

static void fake_close(void *ctx, void *opened, bool sync)
{
	struct fake_file *file = opened;

	CHECK(ctx && !file->is_closed);
	file->is_closed = true;
	file->was_synced = sync;
}

static const struct orma_service_file_ops fake_ops = {
	.struct_size = sizeof(fake_ops),
	.open = fake_open,
	.write = fake_write,
	.close = fake_close,
	.rotate = fake_rotate,
	.create = fake_create,
};

#define INTO_FILE ONE_BUFFER "write_into_file: true output_path: '/somewhere/trace' "

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
};

static void open_scene(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	memset(files, 0, sizeof(files));
	file_count = 0;
	create_error = 0;
	world_open_with(&scene->world, &fake_ops);
	producer_open(&scene->world, &scene->producer, "p");
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	consumer_open(&scene->world, &scene->consumer);
}

static void close_scene(struct scene *scene)
{
	if (scene->consumer.port)
		consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

static void answer(struct scene *scene, size_t idx, int status)
{
	orma_service_file_event(scene->world.service, files[idx].session_id, status);
}

ORMA_TEST(session_begins_when_its_file_is_there)
{
	struct scene s;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	CHECK_STR(files[0].path, "/somewhere/trace");
	CHECK_INT(files[0].count, 0);
	pass_ms(&s.world, 9000);
	CHECK_LOG(&s.producer.log, "");
	CHECK_LOG(&s.consumer.log, "");
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_LOG(&s.producer.log, "memory:256/4 setup:1 start:1");
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 10000);
	CHECK(files[0].is_written && !files[0].is_closed);
	orma_consumer_port_disable(s.consumer.port);
	CHECK(files[0].is_closed && files[0].was_synced);
	answer(&s, 0, ORMA_FILE_CLOSED);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(producer_that_comes_while_the_file_is_awaited_takes_part)
{
	struct scene s;
	struct producer late;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	producer_open(&s.world, &late, "late");
	CHECK_INT(register_source(&late, "name: 'test'"), 0);
	CHECK_LOG(&late.log, "");
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_LOG(&late.log, "memory:256/4 setup:2 start:2");
	producer_close(&late);
	close_scene(&s);
}

ORMA_TEST(file_that_cannot_be_created_is_told_in_words_and_nothing_has_happened)
{
	static const struct {
		int status;
		const char *text;
	} cases[] = {
		{-EEXIST, "disabled:output_path: the file cannot be created: a file of that name "
			  "exists already"},
		{-ENOENT, "disabled:output_path: the file cannot be created: its folder does not "
			  "exist"},
		{-ENOTUNIQ, "disabled:max_file_count: a file called output_path with a number "
			    "below 3 exists already and is not of this series"},
		{-EBUSY, "disabled:output_path: another session writes into it"},
	};
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		enable_ok(&s.consumer, INTO_FILE "max_file_count: 3 max_file_size_bytes: 1000000 "
						 "unique_session_name: 'mine'");
		CHECK_INT(files[i].count, 3);
		answer(&s, i, cases[i].status);
		CHECK_LOG(&s.consumer.log, cases[i].text);
		CHECK(files[i].is_closed && !files[i].was_synced);
		/* The next one begins before this one's thread has come to its end. */
	}
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++)
		answer(&s, i, ORMA_FILE_CLOSED);
	CHECK_LOG(&s.producer.log, "");
	CHECK(orma_service_next_deadline_ns(s.world.service) == UINT64_MAX);
	create_error = -EAGAIN;
	CHECK_INT(enable(&s.consumer, INTO_FILE), -EAGAIN);
	CHECK_STR(s.consumer.error.message, "output_path: the file cannot be used");
	close_scene(&s);
}

ORMA_TEST(file_system_that_does_not_answer_costs_its_user_a_session_until_it_does)
{
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < ORMA_SERVICE_SESSIONS_PER_UID; i++) {
		enable_ok(&s.consumer, INTO_FILE);
		pass_ms(&s.world, 9999);
		CHECK_LOG(&s.consumer.log, "");
		pass_ms(&s.world, 1);
		CHECK_LOG(&s.consumer.log, "disabled:output_path: the file system has not answered "
					   "for 10 s; nothing is recorded");
		CHECK(files[i].is_closed && !files[i].was_synced);
	}
	CHECK_INT(enable(&s.consumer, ONE_BUFFER), -EBUSY);
	/* It answers after all. */
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_INT(enable(&s.consumer, ONE_BUFFER), -EBUSY);
	answer(&s, 0, ORMA_FILE_CLOSED);
	CHECK_LOG(&s.producer.log, "");
	enable_ok(&s.consumer, ONE_BUFFER);
	close_scene(&s);
}

ORMA_TEST(consumer_that_leaves_while_the_file_is_awaited_takes_the_session_with_him)
{
	struct scene s;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	consumer_close(&s.consumer);
	CHECK(files[0].is_closed && !files[0].was_synced);
	CHECK(orma_service_next_deadline_ns(s.world.service) == UINT64_MAX);
	CHECK(orma_service_has_open_files(s.world.service));
	answer(&s, 0, ORMA_FILE_CREATED);
	answer(&s, 0, ORMA_FILE_CLOSED);
	CHECK(!orma_service_has_open_files(s.world.service));
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

ORMA_TEST(calls_that_come_while_the_file_is_awaited_have_their_meaning)
{
	struct scene s;
	struct orma_trace_batch batch;
	const void *data;
	size_t size;

	open_scene(&s);
	/* Stop. */
	enable_ok(&s.consumer, INTO_FILE);
	CHECK_INT(enable(&s.consumer, ONE_BUFFER), -EBUSY);
	CHECK_INT(orma_consumer_port_read(s.consumer.port, 1, &batch), -EBUSY);
	CHECK_INT(orma_consumer_port_get_stats(s.consumer.port, &data, &size), 0);
	CHECK_INT(orma_consumer_port_query_state(s.consumer.port, false, &data, &size), 0);
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flushed");
	orma_consumer_port_disable(s.consumer.port);
	CHECK_LOG(&s.consumer.log,
		  "disabled:output_path: the session ended before its file was there");
	answer(&s, 0, ORMA_FILE_CLOSED);
	/* Free. */
	enable_ok(&s.consumer, INTO_FILE);
	orma_consumer_port_free_buffers(s.consumer.port);
	CHECK_LOG(&s.consumer.log, "disabled");
	CHECK(files[1].is_closed);
	answer(&s, 1, ORMA_FILE_CLOSED);
	/* Start. */
	enable_ok(&s.consumer, INTO_FILE "deferred_start: true");
	CHECK_INT(orma_consumer_port_start(s.consumer.port, NULL), 0);
	CHECK_INT(orma_consumer_port_start(s.consumer.port, NULL), -EBUSY);
	answer(&s, 2, ORMA_FILE_CREATED);
	CHECK_LOG(&s.producer.log, "memory:256/4 setup:1 start:1");
	orma_consumer_port_free_buffers(s.consumer.port);
	answer(&s, 2, ORMA_FILE_CLOSED);
	log_clear(&s.producer.log);
	log_clear(&s.consumer.log);
	/* Without one it waits. */
	enable_ok(&s.consumer, INTO_FILE "deferred_start: true");
	answer(&s, 3, ORMA_FILE_CREATED);
	CHECK_LOG(&s.producer.log, "setup:2");
	close_scene(&s);
}

ORMA_TEST(session_that_waits_for_its_file_can_be_detached_and_attached)
{
	struct scene s;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), 0);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_LOG(&s.producer.log, "memory:256/4 setup:1 start:1");
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), 0);
	orma_consumer_port_free_buffers(s.consumer.port);
	answer(&s, 0, ORMA_FILE_CLOSED);
	log_clear(&s.consumer.log);
	log_clear(&s.producer.log);
	/* Nobody is there to hear why. */
	enable_ok(&s.consumer, INTO_FILE);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	answer(&s, 1, -ENOENT);
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), -ENOENT);
	answer(&s, 1, ORMA_FILE_CLOSED);
	CHECK_LOG(&s.consumer.log, "");
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

ORMA_TEST(filter_that_is_widened_while_the_file_is_awaited_counts)
{
	static const char *const names[] = {"'other'", "'other' producer_name_filter: 'p'"};
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < 2; i++) {
		char config[512];

		snprintf(config, sizeof(config),
			 "buffers { size_kb: 64 } data_sources { config { name: 'test' } "
			 "producer_name_filter: %s } write_into_file: true output_path: '/x'",
			 names[i]);
		if (i == 0) {
			enable_ok(&s.consumer, config);
			continue;
		}
		struct orma_buf buf = encode_text(&orma_pb_trace_config_desc, config);
		CHECK_INT(orma_consumer_port_change_config(s.consumer.port, buf.data, buf.size), 0);
		orma_base_buf_done(&buf);
	}
	CHECK_LOG(&s.producer.log, "");
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_LOG(&s.producer.log, "memory:256/4 setup:1 start:1");
	close_scene(&s);
}

ORMA_TEST(bystander_is_flushed_and_started_while_a_file_is_awaited)
{
	struct scene s;
	struct consumer bystander;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	consumer_open(&s.world, &bystander);
	enable_ok(&bystander, ONE_BUFFER);
	CHECK_LOG(&s.producer.log, "memory:256/4 setup:1 start:1");
	send_packet(&s.producer, 0, "a");
	flush(&bystander, 0);
	CHECK_LOG(&s.producer.log, "flush:1 of:1");
	answer_flush(&s.producer);
	CHECK_LOG(&bystander.log, "flushed");
	consumer_close(&bystander);
	close_scene(&s);
}

ORMA_TEST(exclusive_session_that_waits_for_its_file_ends_nobody_and_keeps_nobody_away)
{
	struct scene s;
	struct consumer running, new, waiting;

	open_scene(&s);
	consumer_open(&s.world, &running);
	consumer_open(&s.world, &new);
	consumer_open(&s.world, &waiting);
	enable_ok(&running, ONE_BUFFER);
	enable_ok(&s.consumer, INTO_FILE "exclusive_prio: 7");
	enable_ok(&new, ONE_BUFFER);
	enable_ok(&waiting, INTO_FILE);
	CHECK_LOG(&running.log, "");
	answer(&s, 0, ORMA_FILE_CREATED);
	CHECK_LOG(&running.log,
		  "disabled:an exclusive session of priority 7 has begun and ended this one");
	CHECK_LOG(&new.log,
		  "disabled:an exclusive session of priority 7 has begun and ended this one");
	CHECK_LOG(&waiting.log, "");
	/* Others have come first. */
	answer(&s, 1, ORMA_FILE_CREATED);
	CHECK_LOG(&waiting.log, "disabled:exclusive_prio: an exclusive session of priority 7 is "
				"running, and this one has 0");
	CHECK(files[1].is_closed && !files[1].was_synced);
	answer(&s, 1, ORMA_FILE_CLOSED);
	CHECK_LOG(&s.consumer.log, "");
	consumer_close(&running);
	consumer_close(&new);
	consumer_close(&waiting);
	close_scene(&s);
}

ORMA_TEST(exclusive_session_whose_file_cannot_be_created_has_ended_nobody)
{
	struct scene s;
	struct consumer running;

	open_scene(&s);
	consumer_open(&s.world, &running);
	enable_ok(&running, ONE_BUFFER);
	enable_ok(&s.consumer, INTO_FILE "exclusive_prio: 7 lockdown_mode: LOCKDOWN_SET");
	answer(&s, 0, -EROFS);
	CHECK(strstr(s.consumer.log.text, "disabled:output_path"));
	log_clear(&s.consumer.log);
	CHECK_LOG(&running.log, "");
	answer(&s, 0, ORMA_FILE_CLOSED);
	consumer_close(&running);
	close_scene(&s);
}

ORMA_TEST(name_of_a_session_that_waits_for_its_file_is_taken_and_a_clone_has_nothing_to_copy)
{
	struct scene s;
	struct consumer other;

	open_scene(&s);
	consumer_open(&s.world, &other);
	enable_ok(&s.consumer, INTO_FILE "unique_session_name: 'mine'");
	CHECK_INT(enable(&other, ONE_BUFFER "unique_session_name: 'mine'"), -EEXIST);
	struct orma_clone_request request = {
		.struct_size = sizeof(request), .unique_session_name = "mine", .file_fd = -1};
	orma_consumer_port_clone(other.port, &request, NULL, NULL);
	answer(&s, 0, -ENOENT);
	log_clear(&s.consumer.log);
	enable_ok(&other, ONE_BUFFER "unique_session_name: 'mine'");
	consumer_close(&other);
	close_scene(&s);
}

ORMA_TEST(service_that_ends_waits_for_no_file)
{
	struct scene s;

	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	orma_service_shut_down(s.world.service, 1000);
	CHECK_LOG(&s.consumer.log, "disabled:the service is shutting down");
	CHECK(files[0].is_closed && orma_service_has_open_files(s.world.service));
	answer(&s, 0, ORMA_FILE_CLOSED);
	CHECK(!orma_service_has_open_files(s.world.service));
	close_scene(&s);

	/* Or is freed without that. */
	open_scene(&s);
	enable_ok(&s.consumer, INTO_FILE);
	close_scene(&s);
	CHECK(files[0].is_closed);
}

ORMA_TEST(session_without_memory_when_its_file_is_there_is_told_so)
{
	bool has_failed = true;

	for (uint64_t nth = 1; has_failed; nth++) {
		struct scene s;

		open_scene(&s);
		enable_ok(&s.consumer, INTO_FILE);
		orma_test_fail_allocation(nth);
		answer(&s, 0, ORMA_FILE_CREATED);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		if (files[0].is_closed) {
			CHECK(has_failed && strstr(s.consumer.log.text, "disabled:"));
			answer(&s, 0, ORMA_FILE_CLOSED);
			CHECK_LOG(&s.producer.log, "");
			enable_ok(&s.consumer, INTO_FILE);
		}
		log_clear(&s.consumer.log);
		log_clear(&s.producer.log);
		close_scene(&s);
	}
}

/* --- files of other users --------------------------------------------------------------------- */

static const char path_refused[] =
	"output_path: this service creates files only for root and its own user; leave it out and "
	"pass a file descriptor, as `orma record --out FILE` does, or start the service with `orma "
	"traced --output-dir DIR`";

ORMA_TEST(another_user_than_the_service_s_names_no_files)
{
	struct scene s;
	struct consumer other, root, unverified;
	struct orma_consumer_info info = {
		.struct_size = sizeof(info), .uid = getuid(), .is_unverified = true};
	static const struct orma_consumer_callbacks callbacks = {.struct_size = sizeof(callbacks)};

	open_scene(&s);
	consumer_open_as(&s.world, &other, getuid() + 1);
	CHECK_INT(enable(&other, INTO_FILE), -EACCES);
	CHECK_STR(other.error.message, path_refused);
	CHECK_INT(file_count, 0);
	/* A user that nobody vouches for is another one, whatever its number. */
	unverified = (struct consumer){.world = &s.world};
	CHECK_INT(orma_consumer_port_open(s.world.service, &info, &callbacks, &unverified,
					  &unverified.port),
		  0);
	CHECK_INT(enable(&unverified, INTO_FILE), -EACCES);
	CHECK_INT(enable(&unverified, ONE_BUFFER "exclusive_prio: 1"), -EACCES);
	CHECK_INT(file_count, 0);
	consumer_open_as(&s.world, &root, 0);
	enable_ok(&root, INTO_FILE);
	CHECK_INT(file_count, 1);
	consumer_close(&root);
	consumer_close(&unverified);
	consumer_close(&other);
	close_scene(&s);
}

ORMA_TEST(a_service_that_writes_files_itself_creates_none_for_other_users)
{
	struct world world;
	struct consumer other;
	char path[256], config[512];

	world_open(&world);
	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	snprintf(config, sizeof(config), ONE_BUFFER "write_into_file: true output_path: '%s'",
		 path);
	consumer_open_as(&world, &other, getuid() + 1);
	CHECK_INT(enable(&other, config), -EACCES);
	CHECK_STR(other.error.message, path_refused);
	CHECK_INT(access(path, F_OK), -1);
	consumer_close(&other);
	world_close(&world);
}

ORMA_TEST(an_embedder_decides_where_files_of_other_users_are_created)
{
	struct orma_service_file_ops ops = fake_ops;
	struct scene s;
	struct consumer other;

	ops.create_for_other = fake_create_for_other;
	memset(&s, 0, sizeof(s));
	memset(files, 0, sizeof(files));
	file_count = 0;
	create_error = 0;
	world_open_with(&s.world, &ops);
	producer_open(&s.world, &s.producer, "p");
	consumer_open(&s.world, &s.consumer);
	consumer_open_as(&s.world, &other, getuid() + 1);
	CHECK_INT(
		enable(&other, ONE_BUFFER "write_into_file: true output_path: '/elsewhere/trace'"),
		-EACCES);
	CHECK_STR(other.error.message, path_refused);
	CHECK_INT(enable(&other, INTO_FILE), -EXDEV);
	CHECK_STR(other.error.message, "only /allowed");
	enable_ok(&other, ONE_BUFFER "write_into_file: true output_path: '/allowed/trace'");
	CHECK_STR(files[0].path, "/allowed/trace");
	/* The service's own user is not asked for reasons. */
	enable_ok(&s.consumer, INTO_FILE);
	CHECK_STR(files[1].path, "/somewhere/trace");
	answer(&s, 0, -ELOOP);
	CHECK_LOG(&other.log, "disabled:output_path: the file cannot be created: a symbolic link "
			      "is in its path");
	answer(&s, 0, ORMA_FILE_CLOSED);
	consumer_close(&other);
	close_scene(&s);
}
