/* SPDX-License-Identifier: Apache-2.0
 * table_builder_test.c - a child reads files without rights; whatever it does, it costs only the
 * tables of the file that it had.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "sandbox/seccomp_filter.h"
#include "unwind/table_builder.h"
#include "unwind/table_sandbox.h"
#include "unwind/unwind_files.h"

static struct orma_table_builder *begin(orma_table_child_fn *child, uint32_t timeout_ms)
{
	const struct orma_table_builder_options options = {timeout_ms, child};
	struct orma_table_builder *builder;

	CHECK_INT(orma_table_builder_new(&options, &builder), 0);
	return builder;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* The errors of a child that is asked for one file. */
static void ask(orma_table_child_fn *child, uint32_t timeout_ms, int *ret_open, int *ret_build)
{
	struct orma_table_builder *builder = begin(child, timeout_ms);
	struct orma_unwind_table *table = NULL;
	struct orma_elf_file elf;
	int fd = open_self();

	*ret_open = orma_table_builder_open(builder, fd, &elf);
	*ret_build = *ret_open < 0 ? 0 : orma_table_builder_build(builder, &table);
	orma_unwind_table_free(table);
	orma_table_builder_free(builder);
	close(fd);
}

/* --- the table -------------------------------------------------------------------------------- */

ORMA_TEST(a_child_builds_the_table_that_this_process_would)
{
	struct orma_table_builder *builder = begin(NULL, 0);
	struct orma_unwind_table *theirs = NULL, *ours = NULL;
	struct orma_elf_file elf, own;
	int fd = open_self();

	for (int i = 0; i < 3; i++) {
		CHECK_INT(orma_table_builder_open(builder, fd, &elf), 0);
		CHECK_INT(elf.fd, -1);
		if (i != 1) {
			orma_table_builder_drop(builder);
			continue;
		}
		CHECK_INT(orma_table_builder_build(builder, &theirs), 0);
		/* The next file gets another child. */
		orma_table_builder_rest(builder);
	}
	CHECK_INT(orma_elf_file_init(&own, fd), 0);
	CHECK_MEM(elf.build_id, elf.build_id_size, own.build_id, own.build_id_size);
	CHECK_INT(elf.eh_frame.size, own.eh_frame.size);
	CHECK_INT(orma_unwind_table_new(&own, &ours), 0);
	struct orma_unwind_table_facts a = orma_unwind_table_facts(theirs);
	struct orma_unwind_table_facts b = orma_unwind_table_facts(ours);
	CHECK_MEM(&a, sizeof(a), &b, sizeof(b));
	for (uint64_t at = 0; at < own.size; at += 7)
		CHECK_MEM(orma_unwind_table_find(theirs, at), sizeof(struct orma_unwind_rule),
			  orma_unwind_table_find(ours, at), sizeof(struct orma_unwind_rule));
	orma_unwind_table_free(theirs);
	orma_unwind_table_free(ours);
	orma_table_builder_free(builder);
	close(fd);
}

ORMA_TEST(a_file_of_another_kind_is_an_error_and_the_child_goes_on)
{
	struct orma_table_builder *builder = begin(NULL, 0);
	struct orma_elf_file elf;
	int text = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), fd = open_self();

	CHECK_INT(orma_table_builder_open(builder, text, &elf), -ENOEXEC);
	CHECK_INT(orma_table_builder_open(builder, fd, &elf), 0);
	orma_table_builder_drop(builder);
	orma_table_builder_free(builder);
	close(text);
	close(fd);
}

/* Bytes that are not a table, in each way that a check looks for. */
ORMA_TEST(a_table_of_wrong_bytes_is_refused)
{
	struct orma_unwind_table *table, *ret;
	struct orma_elf_file elf;
	size_t size;
	int fd = open_self();
	unsigned refused = 0;

	CHECK_INT(orma_elf_file_init(&elf, fd), 0);
	CHECK_INT(orma_unwind_table_new(&elf, &table), 0);
	const void *original = orma_unwind_table_bytes(table, &size);
	uint8_t *bytes = orma_base_memdup(original, size);
	CHECK_INT(orma_unwind_table_from_bytes(bytes, size, &ret), 0);
	CHECK_INT(orma_unwind_table_from_bytes(bytes, size - 1, &ret), -EBADMSG);
	CHECK_INT(orma_unwind_table_from_bytes(bytes, 8, &ret), -EBADMSG);
	for (size_t i = 0; i < size; i += i < 4096 ? 1 : 977) {
		bytes[i] ^= 0xff;
		int r = orma_unwind_table_from_bytes(bytes, size, &ret);
		refused += r < 0;
		if (r == 0)
			for (uint64_t at = 0; at < elf.size; at += 4096)
				(void)orma_unwind_table_find(ret, at);
		bytes[i] ^= 0xff;
	}
	CHECK(refused > 50);
	orma_base_free(bytes);
	orma_unwind_table_free(table);
	close(fd);
}

/* --- children that misbehave ------------------------------------------------------------------ */

static void greet(int socket)
{
	const struct orma_table_hello hello = {0};

	fcntl(socket, F_SETFL, 0);
	if (orma_base_fd_write_all(socket, &hello, sizeof(hello)) < 0)
		_exit(1);
}

static void wait_for_byte(int socket)
{
	char byte;

	if (recv(socket, &byte, 1, 0) != 1)
		_exit(0);
}

static void send_bytes(int socket, const void *data, size_t size)
{
	if (orma_base_fd_write_all(socket, data, size) < 0)
		_exit(0);
}

static void send_headers(int socket)
{
	const struct orma_table_headers headers = {.elf = {.fd = 7, .machine = 62}};

	wait_for_byte(socket);
	send_bytes(socket, &headers, sizeof(headers));
}

static void die_at_start(int socket)
{
	(void)socket;
	raise(SIGKILL);
}

static void die_in_headers(int socket)
{
	greet(socket);
	wait_for_byte(socket);
	raise(SIGKILL);
}

static void die_in_table(int socket)
{
	greet(socket);
	send_headers(socket);
	wait_for_byte(socket);
	raise(SIGKILL);
}

static void hang(int socket)
{
	greet(socket);
	for (;;)
		pause();
}

static void hang_in_table(int socket)
{
	const struct orma_table_reply reply = {.size = 4096};

	greet(socket);
	send_headers(socket);
	wait_for_byte(socket);
	send_bytes(socket, &reply, sizeof(reply));
	for (;;)
		pause();
}

static void lie_in_headers(int socket)
{
	struct orma_table_headers headers = {.elf = {.load_count = ORMA_ELF_LOADS_MAX + 1}};

	greet(socket);
	wait_for_byte(socket);
	send_bytes(socket, &headers, sizeof(headers));
	wait_for_byte(socket);
}

static void send_reply(int socket, const struct orma_table_reply *reply, size_t size)
{
	static char bytes[4096];

	greet(socket);
	send_headers(socket);
	wait_for_byte(socket);
	send_bytes(socket, reply, sizeof(*reply));
	memset(bytes, 0x5a, sizeof(bytes));
	send_bytes(socket, bytes, size);
	wait_for_byte(socket);
}

static void lie_in_table(int socket)
{
	send_reply(socket, &(struct orma_table_reply){.size = 4096}, 4096);
}

static void lie_in_size(int socket)
{
	send_reply(socket, &(struct orma_table_reply){.size = UINT64_MAX}, 0);
}

static void lie_in_error(int socket)
{
	send_reply(socket, &(struct orma_table_reply){.error = -EAGAIN}, 0);
}

ORMA_TEST(a_child_that_dies_hangs_or_lies_is_an_error)
{
	static const struct {
		orma_table_child_fn *child;
		uint32_t timeout_ms;
		int open_error, build_error;
	} cases[] = {
		{die_at_start, 0, -ECHILD, 0},       {die_in_headers, 0, -EIO, 0},
		{die_in_table, 0, 0, -EIO},          {hang, 100, -ETIMEDOUT, 0},
		{hang_in_table, 100, 0, -ETIMEDOUT}, {lie_in_headers, 0, -EIO, 0},
		{lie_in_table, 0, 0, -EIO},          {lie_in_size, 0, 0, -EIO},
		{lie_in_error, 0, 0, -EIO},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int open_error, build_error;
		ask(cases[i].child, cases[i].timeout_ms, &open_error, &build_error);
		CHECK_INT(open_error, cases[i].open_error);
		CHECK_INT(build_error, cases[i].build_error);
	}
}

/* Shared with children. */
static atomic_int *forks_left_to_hang;

/* Runs in the child of each fork, before fork() returns there. */
static void wait_for_lock(void)
{
	if (atomic_load(forks_left_to_hang) == 0)
		return;
	atomic_fetch_sub(forks_left_to_hang, 1);
	for (;;)
		pause();
}

ORMA_TEST(a_child_that_waits_for_a_lock_of_its_parent_is_replaced)
{
	int open_error, build_error;

	forks_left_to_hang = mmap(NULL, sizeof(*forks_left_to_hang), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(forks_left_to_hang != MAP_FAILED);
	CHECK_INT(pthread_atfork(NULL, NULL, wait_for_lock), 0);
	atomic_store(forks_left_to_hang, 2);
	ask(orma_table_child_run, 100000, &open_error, &build_error);
	CHECK_INT(open_error, 0);
	CHECK_INT(build_error, 0);
	CHECK_INT(atomic_load(forks_left_to_hang), 0);
	/* In the end it is given up. */
	atomic_store(forks_left_to_hang, 100);
	ask(orma_table_child_run, 100000, &open_error, &build_error);
	CHECK_INT(open_error, -ECHILD);
}

static int pipe_of_child;

static void hang_and_tell(int socket)
{
	greet(socket);
	CHECK_INT(write(pipe_of_child, "", 1), 1);
	for (;;)
		pause();
}

static bool outlives_parent;

/* Runs in the child of each fork, before fork() returns there. */
static void outlive_parent(void)
{
	pid_t parent = getppid();

	if (!outlives_parent)
		return;
	CHECK_INT(write(pipe_of_child, "", 1), 1);
	/* A child that sleeps before it begins would be replaced. */
	while (getppid() == parent)
		sched_yield();
}

static void check_end_with_parent(bool is_early)
{
	int ends[2], fd = open_self();
	char byte;

	CHECK_INT(pipe(ends), 0);
	pipe_of_child = ends[1];
	pid_t parent = fork();
	CHECK(parent >= 0);
	if (parent == 0) {
		struct orma_elf_file elf;
		outlives_parent = is_early;
		orma_table_builder_open(begin(hang_and_tell, 60000), fd, &elf);
		_exit(1);
	}
	close(ends[1]);
	CHECK_INT(read(ends[0], &byte, 1), 1);
	CHECK_INT(kill(parent, SIGKILL), 0);
	/* Nobody has the pipe open when the child has ended, too. */
	CHECK_INT(read(ends[0], &byte, 1), 0);
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(ends[0]);
	close(fd);
}

ORMA_TEST(a_child_that_hangs_ends_with_its_parent)
{
	check_end_with_parent(false);
}

ORMA_TEST(a_child_whose_parent_has_ended_before_it_begins_ends_too)
{
	CHECK_INT(pthread_atfork(NULL, NULL, outlive_parent), 0);
	check_end_with_parent(true);
}

static int pipe_of_parent;

static void *stop_when_told(void *arg)
{
	char byte;

	CHECK_INT(read(pipe_of_parent, &byte, 1), 1);
	orma_table_builder_stop(arg);
	return NULL;
}

ORMA_TEST(a_builder_that_is_stopped_does_not_wait_for_its_child)
{
	struct orma_table_builder *builder = begin(hang_and_tell, 60000);
	int ends[2], fd = open_self();
	struct orma_elf_file elf;
	pthread_t thread;

	CHECK_INT(pipe(ends), 0);
	pipe_of_parent = ends[0];
	pipe_of_child = ends[1];
	CHECK_INT(pthread_create(&thread, NULL, stop_when_told, builder), 0);
	CHECK_INT(orma_table_builder_open(builder, fd, &elf), -ECANCELED);
	/* The child is gone, and so is the next one. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
	CHECK_INT(orma_table_builder_open(builder, fd, &elf), -ECANCELED);
	CHECK_INT(pthread_join(thread, NULL), 0);
	orma_table_builder_free(builder);
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

/* --- questions -------------------------------------------------------------------------------- */

/* The file's build id, and the question twice. */
static int answer_twice(const struct orma_elf_file *elf, const void *question, size_t size,
			struct orma_buf *ret)
{
	int r = orma_base_buf_append(ret, elf->build_id, elf->build_id_size);

	for (int i = 0; i < 2 && r == 0; i++)
		r = orma_base_buf_append(ret, question, size);
	return r;
}

static void run_twice(int socket)
{
	orma_table_child_run_with(socket, answer_twice);
}

static int refuse(const struct orma_elf_file *elf, const void *question, size_t size,
		  struct orma_buf *ret)
{
	(void)elf, (void)question, (void)size, (void)ret;
	return -ENODATA;
}

static void run_refusing(int socket)
{
	orma_table_child_run_with(socket, refuse);
}

static int ask_question(orma_table_child_fn *child, uint32_t timeout_ms, size_t size,
			struct orma_buf *ret)
{
	struct orma_table_builder *builder = begin(child, timeout_ms);
	uint8_t *question = orma_base_zalloc(size + 1);
	struct orma_elf_file elf;
	int fd = open_self(), r = 0;

	/* The child goes on with the next file. */
	for (int i = 0; i < 2 && r == 0; i++) {
		ret->size = 0;
		r = orma_table_builder_open(builder, fd, &elf);
		if (r == 0)
			r = orma_table_builder_ask(builder, question, size, ret);
		if (r == 0)
			CHECK_INT(ret->size, elf.build_id_size + 2 * size);
	}
	orma_base_free(question);
	orma_table_builder_free(builder);
	close(fd);
	return r;
}

/* A question may be larger than a socket has room for. */
ORMA_TEST(a_child_answers_questions_about_a_file)
{
	static const size_t sizes[] = {0, 8, 3 << 20};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf answer = {0};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		CHECK_INT(ask_question(run_twice, 0, sizes[i], &answer), 0);
	CHECK_INT(ask_question(run_refusing, 0, 8, &answer), -ENODATA);
	/* The child of the tables has no answers. */
	CHECK_INT(ask_question(NULL, 0, 8, &answer), -ENOTSUP);
	CHECK_INT(ask_question(run_twice, 0, ORMA_TABLE_QUESTION_BYTES_MAX + 1, &answer), -EFBIG);
}

static void read_nothing(int socket)
{
	greet(socket);
	send_headers(socket);
	for (;;)
		pause();
}

ORMA_TEST(a_child_that_does_not_answer_a_question_is_an_error)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf answer = {0};

	CHECK_INT(ask_question(read_nothing, 100, 8, &answer), -ETIMEDOUT);
	CHECK_INT(ask_question(read_nothing, 100, 3 << 20, &answer), -ETIMEDOUT);
	CHECK_INT(ask_question(die_in_table, 0, 8, &answer), -EIO);
	CHECK_INT(ask_question(hang_in_table, 100, 8, &answer), -ETIMEDOUT);
	CHECK_INT(ask_question(lie_in_size, 0, 8, &answer), -EIO);
	CHECK_INT(ask_question(lie_in_error, 0, 8, &answer), -EIO);
	CHECK_INT(answer.size, 0);
}

/* Shared with children. */
static volatile bool *must_die;

static void die_when_asked(int socket)
{
	if (*must_die)
		die_in_headers(socket);
	greet(socket);
	orma_table_child_serve(socket, NULL);
}

static struct orma_process_map map_of(const char *path)
{
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	return (struct orma_process_map){
		.start = 0x1000,
		.end = 0x2000,
		.inode = st.st_ino,
		.device_major = major(st.st_dev),
		.device_minor = minor(st.st_dev),
		.is_executable = true,
		.path = orma_base_str(path),
	};
}

ORMA_TEST(a_file_that_kills_its_reader_costs_only_its_own_table)
{
	const struct orma_unwind_files_limits limits = {.builder = {.child = die_when_asked}};
	const struct orma_unwind_file *deadly, *again, *good;
	struct orma_unwind_files *files;
	char exe[256] = {0};

	must_die = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(must_die != MAP_FAILED);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	struct orma_process_map map = map_of("/bin/sh"), other = map_of(exe);
	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	*must_die = true;
	CHECK_INT(orma_unwind_files_load(files, getpid(), &map, &deadly), 0);
	CHECK(!deadly->table);
	CHECK_INT(deadly->table_error, -EIO);
	*must_die = false;
	CHECK_INT(orma_unwind_files_load(files, getpid(), &other, &good), 0);
	CHECK(good->table);
	/* It is not tried again. */
	CHECK_INT(orma_unwind_files_load(files, getpid(), &map, &again), 0);
	CHECK(again == deadly);
	orma_unwind_file_unref(deadly);
	orma_unwind_file_unref(again);
	orma_unwind_file_unref(good);
	orma_unwind_files_free(files);
	munmap((void *)must_die, 4096);
}

ORMA_TEST(a_file_whose_reader_hangs_does_not_hold_up_its_caller)
{
	const struct orma_unwind_files_limits limits = {.builder = {100, hang}};
	const struct orma_unwind_file *file = NULL;
	struct orma_unwind_files *files;
	struct orma_unwind_load *load = NULL;
	struct orma_process_map map = map_of("/bin/sh");

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	CHECK_INT(orma_unwind_files_poll(files, getpid(), &map, &load, &file), -EAGAIN);
	CHECK_INT(orma_unwind_files_poll(files, getpid(), &map, &load, &file), -EAGAIN);
	CHECK_INT(orma_unwind_files_wait(&load, &file), 0);
	CHECK_INT(file->table_error, -ETIMEDOUT);
	orma_unwind_file_unref(file);
	/* Nobody waits for the second one. */
	map = map_of("/bin/cat");
	CHECK_INT(orma_unwind_files_poll(files, getpid(), &map, &load, &file), -EAGAIN);
	orma_unwind_load_free(load);
	orma_unwind_files_free(files);
}

/* --- rights that the child has given up ------------------------------------------------------- */

enum {
	OPENED = 1,
	CONNECTED = 2,
	FORKED = 4,
	MAPPED_CODE = 8,
	KEPT_FILES = 16,
	KEPT_SHARED = 32,
	KEPT_USER = 64,
	UNLIMITED = 128,
};

static char *shared;
static bool lacks_close_range; /* as a kernel before Linux 5.9 does */

/* An emulator of another processor has no filters of system calls. There, the child may use close_range(). */
static void remove_close_range(void)
{
	struct orma_seccomp_filter filter;

	orma_seccomp_filter_begin(&filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_skip_unless(&filter, 436 /* close_range */, 1);
	orma_seccomp_filter_answer(&filter, ORMA_SECCOMP_REFUSE(ENOSYS));
	int r = orma_seccomp_filter_install(&filter);
	CHECK(r == 0 || r == -EINVAL || r == -ENOSYS);
}

/* Writes what it can still do into the socket, as the error of a hello. */
static void try_everything(int socket)
{
	struct orma_table_hello hello = {0};
	int fd = orma_table_sandbox_enter(socket, &hello.filter_error);
	struct rlimit limit = {0};
	unsigned can = 0;

	if (fd < 0)
		_exit(1);
	can |= syscall(SYS_getuid) == 0 ? KEPT_USER : 0;
	can |= fcntl(fd + 1, F_GETFD) >= 0 || fcntl(100, F_GETFD) >= 0 ? KEPT_FILES : 0;
	can |= getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max == RLIM_INFINITY ? UNLIMITED
										     : 0;
	can |= open("/proc/self/exe", O_RDONLY | O_CLOEXEC) >= 0 ? OPENED : 0;
	can |= syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0) >= 0 ? CONNECTED : 0;
	can |= syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0) != -1
		       ? MAPPED_CODE
		       : 0;
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0)
		_exit(0);
	can |= child > 0 ? FORKED : 0;
	/* Memory that is gone gives EFAULT. */
	can |= write(fd, shared, 1) == 1 ? KEPT_SHARED : 0;
	unsigned report[2] = {can, (unsigned)hello.filter_error};
	(void)!write(fd, report, sizeof(report));
	_exit(0);
}

static void check_rights(void)
{
	int ends[2], status;
	unsigned report[2] = {0};

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	int file = open_self(), extra = fcntl(file, F_DUPFD_CLOEXEC, 100);
	CHECK_INT(orma_base_socketpair(ends), 0);
	pid_t child = fork();
	if (child == 0 && lacks_close_range)
		remove_close_range();
	if (child == 0)
		try_everything(ends[1]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_INT(read(ends[0], report, sizeof(report)), sizeof(report));
	if (report[1] == 0)
		CHECK_INT(report[0], 0);
	else
		CHECK_INT(report[0] & ~(unsigned)(OPENED | CONNECTED | MAPPED_CODE), 0);
	munmap(shared, 4096);
	close(ends[0]);
	close(ends[1]);
	close(extra);
	close(file);
}

ORMA_TEST(the_child_has_no_rights)
{
	check_rights();
}

ORMA_TEST(the_child_has_no_descriptors_either_where_close_range_is_missing)
{
	lacks_close_range = true;
	check_rights();
}

ORMA_TEST(a_child_ends_with_its_parent)
{
	int ends[2], status;
	char byte;

	CHECK_INT(orma_base_socketpair(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		orma_table_child_run(ends[1]);
	}
	close(ends[1]);
	fcntl(ends[0], F_SETFL, 0);
	CHECK(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
