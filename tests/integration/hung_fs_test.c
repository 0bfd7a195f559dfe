/* SPDX-License-Identifier: Apache-2.0
 * hung_fs_test.c - output files and profiled programs on a file system that does not answer: opening,
 * writing and closing them hangs for ever, and no other client is affected.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "hung_fs.h"
#include "process.h"
#include "raw_session.h"
#include "unwind/file_cache.h"
#include "unwind/mapped_file.h"
#include "unwind/unwind_files.h"

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
	orma_hung_fs_await(&scene.fs, ORMA_FUSE_WRITE);
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
		/* It may continue with another file. */
		orma_raw_consumer_enable(&scene.session.consumer, -1, "buffers { size_kb: 64 }");
		orma_raw_consumer_fence(&scene.session.consumer);
	}
	close_scene(&scene);
}

ORMA_TEST(a_file_whose_creation_hangs_holds_up_nobody)
{
	check_hung_creation(ORMA_FUSE_CREATE, false);
}

ORMA_TEST(a_path_that_hangs_when_it_is_looked_at_holds_up_nobody)
{
	check_hung_creation(ORMA_FUSE_LOOKUP, false);
}

ORMA_TEST(a_consumer_who_leaves_while_his_file_hangs_is_forgotten)
{
	check_hung_creation(ORMA_FUSE_CREATE, true);
}

ORMA_TEST(a_mode_that_cannot_be_set_holds_up_nobody)
{
	check_hung_creation(ORMA_FUSE_SETATTR, true);
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
	check_hung_file(ORMA_FUSE_WRITE);
}

ORMA_TEST(a_sync_that_hangs_holds_up_nobody)
{
	check_hung_file(ORMA_FUSE_FSYNC);
}

ORMA_TEST(a_close_that_hangs_holds_up_nobody)
{
	check_hung_file(ORMA_FUSE_FLUSH);
}

/* --- descriptors that peers send -------------------------------------------------------------- */

/* A descriptor of the file, opened while requests were answered. Closing it in the test would
 * hang too, so the test closes it after the file system has ended. */
static int open_file(struct scene *scene)
{
	int fd = open(scene->fs.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	return fd;
}

ORMA_TEST(a_file_that_a_consumer_passes_and_that_hangs_holds_up_nobody)
{
	static const unsigned opcodes[] = {ORMA_FUSE_WRITE, ORMA_FUSE_FSYNC, ORMA_FUSE_FLUSH,
					   ORMA_FUSE_GETATTR};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(opcodes); i++) {
		struct scene scene;

		if (!open_scene(&scene))
			return;
		int fd = open_file(&scene);
		orma_hung_fs_hold(&scene.fs, opcodes[i]);
		enable(&scene, fd, "");
		await_start(&scene);
		orma_raw_session_emit(&scene.session, "x");
		check_bystander(&scene);
		CHECK(orma_raw_call(&scene.session.consumer.client, "DisableTracing", ORMA_STR(""))
			      ->success);
		orma_hung_fs_await(&scene.fs, opcodes[i]);
		close_scene(&scene);
		close(fd);
		CHECK_INT(rmdir(scene.fs.folder), 0);
	}
}

ORMA_TEST(a_file_that_comes_with_a_refused_config_and_cannot_be_closed_holds_up_nobody)
{
	struct scene scene;

	if (!open_scene(&scene))
		return;
	int fd = open_file(&scene);
	orma_hung_fs_hold(&scene.fs, ORMA_FUSE_FLUSH);
	for (int i = 0; i < 5; i++) {
		enable(&scene, fd, "output_path: \"/and/a/path\"");
		CHECK(strstr(orma_raw_consumer_await_disabled(&scene.session.consumer),
			     "output_path"));
	}
	orma_hung_fs_await(&scene.fs, ORMA_FUSE_FLUSH);
	close_scene(&scene);
	close(fd);
}

ORMA_TEST(a_file_that_a_producer_passes_for_its_memory_holds_up_nobody)
{
	struct scene scene;
	struct orma_raw_client producer;

	if (!open_scene(&scene))
		return;
	int fd = open_file(&scene);
	orma_hung_fs_hold(&scene.fs, ORMA_FUSE_FLUSH);
	orma_hung_fs_hold(&scene.fs, ORMA_FUSE_GETATTR);
	orma_raw_connect(&producer, scene.stage.daemon.producers);
	orma_raw_bind(&producer, "ProducerPort");
	struct orma_str args = orma_raw_text(&producer, &orma_pb_initialize_connection_request_desc,
					     "producer_name: \"x\" producer_provided_shmem: true");
	CHECK(orma_raw_invoke(&producer, "InitializeConnection", args, fd, 0));
	orma_hung_fs_await(&scene.fs, ORMA_FUSE_FLUSH);
	check_bystander(&scene);
	orma_raw_close(&producer);
	close_scene(&scene);
	close(fd);
}

/* Calls that take no descriptor; each replaces the one before. */
ORMA_TEST(files_that_nobody_asked_for_and_that_cannot_be_closed_hold_up_nobody)
{
	struct scene scene;

	if (!open_scene(&scene))
		return;
	int fd = open_file(&scene);
	orma_hung_fs_hold(&scene.fs, ORMA_FUSE_FLUSH);
	for (int i = 0; i < 10; i++)
		CHECK(orma_raw_invoke(&scene.session.consumer.client, "QueryCapabilities",
				      ORMA_STR(""), fd, 0));
	orma_hung_fs_await(&scene.fs, ORMA_FUSE_FLUSH);
	close_scene(&scene);
	close(fd);
}

/* A connection that contains more data than the other end, which never reads, has room for. The
 * process that closes it last waits for the linger time. Returns the other end; -1 = there is no
 * network. */
static int open_lingering(int *ret_end)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	struct linger linger = {.l_onoff = 1, .l_linger = 600};
	static char bytes[65536];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size)) {
		close(listener);
		close(fd);
		return -1;
	}
	CHECK(connect(fd, (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);
	*ret_end = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(*ret_end >= 0);
	close(listener);
	CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		;
	CHECK_INT(errno, EAGAIN);
	return fd;
}

/* The last close of a socket that lingers waits for the other end. It is the daemon's, or this one, when the daemon has dropped the
 * socket before. */
static void *close_descriptor(void *fd)
{
	close(*(int *)fd);
	return NULL;
}

ORMA_TEST(sockets_that_linger_hold_up_nobody)
{
	struct orma_stage stage;
	struct orma_raw_client clients[2];
	int ends[2], fds[2];
	pthread_t closers[2];
	/* Longer than a frame may be: the connection ends, and the following data may or may not
	 * have been read. */
	static const uint8_t excess[] = {0xff, 0xff, 0xff, 0xff};

	orma_stage_open(&stage);
	for (size_t i = 0; i < 2; i++) {
		fds[i] = open_lingering(&ends[i]);
		if (fds[i] < 0) {
			orma_stage_close(&stage);
			orma_test_skip("TCP on 127.0.0.1");
		}
		orma_raw_connect(&clients[i], stage.daemon.producers);
		if (i == 0)
			CHECK(orma_raw_send(&clients[i], excess, sizeof(excess)));
		(void)orma_raw_send_frame(&clients[i], "\x10\x07", 2, fds[i]);
		CHECK_INT(pthread_create(&closers[i], NULL, close_descriptor, &fds[i]), 0);
	}
	for (int i = 0; i < FLUSHES; i++)
		orma_bystander_check(&stage.bystander);
	for (size_t i = 0; i < 2; i++)
		orma_raw_close(&clients[i]);
	for (int i = 0; i < FLUSHES; i++)
		orma_bystander_check(&stage.bystander);
	for (size_t i = 0; i < 2; i++) {
		close(ends[i]);
		pthread_join(closers[i], NULL);
	}
	orma_stage_close(&stage);
}

/* A thread that waits for a file system stays in the kernel until that answers, and with it the
 * process; but the daemon has exited. */
ORMA_TEST(a_write_that_hangs_does_not_keep_the_daemon)
{
	struct orma_test_process process = {.options = {"--seccomp", "kill"}};
	struct scene scene = {0};

	/* The daemon exits with that thread still waiting. */
	setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1);
	if (!orma_hung_fs_mount(&scene.fs))
		return;
	if (!orma_test_process_start(&process)) {
		/* A build without the filter. */
		CHECK_INT(orma_test_process_wait(&process), 1);
		process.options[1] = "off";
		CHECK(orma_test_process_start(&process));
	}
	orma_raw_producer_open(&scene.session.producer, process.producers, "file");
	orma_raw_producer_register(&scene.session.producer, "name: \"file\"");
	orma_raw_consumer_open(&scene.session.consumer, process.consumers);
	enable_path(&scene);
	await_start(&scene);
	orma_hung_fs_hold(&scene.fs, ORMA_FUSE_WRITE);
	orma_raw_session_emit(&scene.session, "x");
	/* A thread closes it, twice; the filter has to allow the thread to start and to end. */
	for (int i = 0; i < 2; i++) {
		ORMA_AUTO(orma_base_fd_closep) int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		uint64_t id = orma_raw_invoke(&scene.session.consumer.client, "QueryCapabilities",
					      ORMA_STR(""), fd, 0);
		CHECK(orma_raw_await(&scene.session.consumer.client, id)->success);
	}
	orma_test_process_signal(&process, SIGTERM);
	orma_hung_fs_await(&scene.fs, ORMA_FUSE_WRITE);
	orma_raw_await_end(&scene.session.consumer.client);
	CHECK(strstr(orma_test_process_messages(), "left truncated"));
	CHECK(access(process.consumers, F_OK) < 0);
	orma_hung_fs_abort(&scene.fs);
	CHECK_INT(orma_test_process_wait(&process), 0);
	orma_raw_session_close(&scene.session);
}

/* --- the recorder's own file ------------------------------------------------------------------ */

static pid_t start_recorder(const struct orma_test_process *process, const char *path)
{
	char messages[300];
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid > 0)
		return pid;
	snprintf(messages, sizeof(messages), "%s/messages", orma_test_tmpdir());
	int fd = open(messages, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(fd, STDERR_FILENO);
	setenv("PERFETTO_PRODUCER_SOCK_NAME", process->producers, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", process->consumers, 1);
	execl(ORMA_BUILD_DIR "/orma", "orma", "record", "-t", "10ms", "-o", path, "file", NULL);
	_exit(127);
}

/* Presses Ctrl-C until the recorder has printed that text. */
static void interrupt_until(pid_t pid, const char *text)
{
	while (!strstr(orma_test_process_messages(), text)) {
		CHECK_INT(kill(pid, SIGINT), 0);
		sched_yield();
	}
}

ORMA_TEST(a_second_interrupt_ends_a_recorder_whose_file_hangs)
{
	struct orma_test_process process = {0};
	struct orma_hung_fs fs;
	int status;

	if (!orma_hung_fs_mount(&fs))
		return;
	orma_hung_fs_hold(&fs, ORMA_FUSE_WRITE);
	CHECK(orma_test_process_start(&process));
	pid_t pid = start_recorder(&process, fs.path);
	orma_hung_fs_await(&fs, ORMA_FUSE_WRITE);
	interrupt_until(pid, "Ctrl-C again ends at once");
	interrupt_until(pid, "interrupted twice");
	/* It has exited; the kernel removes the process when its file system answers. */
	orma_hung_fs_abort(&fs);
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 130);
	CHECK_INT(orma_test_process_stop(&process), 0);
}

/* The profilers' thread that opens programs hangs; /bin/sh lies on another file system. */
ORMA_TEST(programs_of_other_file_systems_are_read_while_one_hangs)
{
	struct orma_hung_fs fs = {0};
	struct orma_unwind_files *files;
	struct orma_unwind_load *load = NULL;
	const struct orma_unwind_file *file = NULL;
	struct orma_process_map hung = {.start = 0x1000, .end = 0x2000, .inode = 2};
	struct orma_process_map good = hung;
	siginfo_t ended;
	struct stat info;

	if (!orma_hung_fs_mount(&fs))
		return;
	hung.path = orma_base_str(fs.path);
	good.path = ORMA_STR("/bin/sh");
	CHECK_INT(stat("/bin/sh", &info), 0);
	good.inode = info.st_ino;
	good.device_major = major(info.st_dev);
	good.device_minor = minor(info.st_dev);
	orma_hung_fs_hold(&fs, ORMA_FUSE_LOOKUP);
	CHECK_INT(orma_unwind_files_new(NULL, &files), 0);
	CHECK_INT(orma_unwind_files_poll(files, getpid(), &hung, &load, &file), -EAGAIN);
	orma_hung_fs_await(&fs, ORMA_FUSE_LOOKUP);
	while (orma_unwind_files_load(files, getpid(), &good, &file) < 0)
		;
	CHECK(file->table != NULL);
	orma_unwind_file_unref(file);
	orma_unwind_load_free(load);
	orma_hung_fs_abort(&fs);
	orma_unwind_files_free(files);
	/* The thread that has hung may end after that, and the reader of programs with it. */
	while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0)
		usleep(1000);
}

static void *drop_file(void *file)
{
	orma_unwind_file_unref(file);
	return NULL;
}

/* The reader of samples and the thread that opens programs share the cache. */
ORMA_TEST(a_program_that_cannot_be_closed_does_not_hold_up_the_cache_of_programs)
{
	struct orma_hung_fs fs = {0};
	struct orma_file_cache *cache;
	struct orma_cached_file *file = orma_base_zalloc(sizeof(*file));
	struct stat info;
	pthread_t thread;

	CHECK(file != NULL);
	if (!orma_hung_fs_mount(&fs)) {
		orma_cached_file_discard(file);
		return;
	}
	int fd = open(fs.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(fstat(fd, &info), 0);
	file->identity = (struct orma_file_identity){.device = info.st_dev, .inode = info.st_ino};
	file->base.table_error = -EIO;
	file->base.elf.fd = -1;
	CHECK_INT(orma_file_cache_new(NULL, &cache), 0);
	CHECK(orma_file_cache_share(cache, file, &fd) == file);
	CHECK_INT(orma_file_cache_facts(cache).open_count, 1);
	orma_hung_fs_hold(&fs, ORMA_FUSE_FLUSH);
	CHECK_INT(pthread_create(&thread, NULL, drop_file, &file->base), 0);
	orma_hung_fs_await(&fs, ORMA_FUSE_FLUSH);
	CHECK_INT(orma_file_cache_facts(cache).open_count, 0);
	orma_hung_fs_abort(&fs);
	CHECK_INT(pthread_join(thread, NULL), 0);
	orma_file_cache_free(cache);
}

/* The server says that its files are root's. */
ORMA_TEST(a_program_of_a_fuse_mount_belongs_to_the_mount)
{
	struct orma_hung_fs fs = {0};
	struct orma_file_identity identity;
	struct stat info;

	if (!orma_hung_fs_mount(&fs))
		return;
	int fd = open(fs.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(fstat(fd, &info), 0);
	CHECK_INT(info.st_uid, 0);
	close(fd);
	const struct orma_process_map map = {
		.inode = info.st_ino,
		.device_major = major(info.st_dev),
		.device_minor = minor(info.st_dev),
		.path = orma_base_str(fs.path),
	};
	fd = orma_mapped_file_open(getpid(), &map, &identity);
	CHECK(fd >= 0);
	CHECK(identity.owner == (ORMA_OWNED_BY_DEVICE | (uint64_t)info.st_dev));
	close(fd);
	orma_hung_fs_abort(&fs);
}
