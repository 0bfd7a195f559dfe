/* SPDX-License-Identifier: Apache-2.0
 * table_builder.c - the parent's side of the process that builds unwind tables.
 *
 * A profiler has more rights than the programs whose files it reads. It may be root and see all
 * processes, and an ELF file may be made to take over its reader. Therefore the reader is a child
 * without rights (table_sandbox.c), which gets one open file after the other, and sends tables.
 *
 *	thread of unwind_files.c            child
 *	open, fstat: is it what was mapped?
 *	        -- descriptor -->           headers
 *	        <-- headers --              (is its table known by its build id?)
 *	        -- build -->                rows and rules
 *	        <-- table --
 *	orma_unwind_table_from_bytes()
 *
 * Names of functions are read in the same way (src/profile/symbol_names.c): instead of "build", the
 * parent sends a question about the file.
 *
 * Invariant: nothing from the child is used before it was checked, and no call waits for it longer than
 * timeout_ms, nor after orma_table_builder_stop(). If a child dies, hangs or sends nonsense, the file that
 * it had gets no table. The child is killed, and the next file starts another. A file is tried twice if the
 * child dies, because the kernel may have killed the child for lack of memory.
 *
 * If another thread is inside of malloc() during fork(), the child may find a lock taken for ever. The allocators of glibc and musl
 * prevent that, but others need not, and that of AddressSanitizer does not. Therefore the child first allocates memory, and then sends
 * a byte. Until then it has nothing to wait for, so a child that sleeps waits for a lock, and is replaced at once.
 *
 * The child is forked, not executed, because the library has no program of its own. fork() copies page
 * tables, so one child serves up to FILES_MAX files. That many stay below its limit of CPU time.
 *
 * Rejected: a thread, because a fault in the parser would have all rights of the profiler; a child for
 * each file, because fork() takes a millisecond for most programs; a memory file for each table, because
 * it needs seals or the same copy, and more system calls in the child.
 */
#include "unwind/table_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/sanitizer.h"

#define TIMEOUT_MS 5000u
/* The limit of each of the two steps with which a child starts. They take milliseconds, but a busy machine may run it late. */
#define START_NS  (5 * ORMA_NS_PER_SEC)
#define FILES_MAX 64u
#define TRIES     2
/* A child that sleeps at so many looks in a row, before it has begun, waits for a lock. */
#define NAPS_MAX       3
#define LOOK_NS        (50 * ORMA_NS_PER_MS)
#define FORKS_MAX      5
#define STAT_BYTES_MAX 4096u

struct orma_table_builder {
	struct orma_table_builder_options options;
	int socket;  /* -1 = there is no child */
	int stop_fd; /* an eventfd; readable once the builder was stopped */
	pid_t child;
	uint32_t file_count; /* files that the child has got */
	int fd;              /* the current file; borrowed */
	bool has_complained; /* a log line about the missing filter was written */
};

/* --- the child -------------------------------------------------------------------------------- */

static void end_child(struct orma_table_builder *builder)
{
	if (builder->socket < 0)
		return;
	builder->socket = orma_base_fd_close(builder->socket);
	kill(builder->child, SIGKILL); /* calls: allow kill, because it is our child */
	pid_t r;
	do
		r = waitpid(builder->child, NULL, 0); /* calls: allow waitpid, because it ends */
	while (r < 0 && errno == EINTR);
}

/* Waits until the socket is ready. 0, -ETIMEDOUT or -ECANCELED. */
static int wait_for(const struct orma_table_builder *builder, short events, uint64_t end_ns)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	struct pollfd waits[] = {
		{.fd = builder->socket, .events = events},
		{.fd = builder->stop_fd, .events = POLLIN},
	};

	if (now_ns >= end_ns)
		return -ETIMEDOUT;
	(void)poll(waits, ORMA_ARRAY_SIZE(waits), (int)((end_ns - now_ns) / ORMA_NS_PER_MS) + 1);
	return waits[1].revents ? -ECANCELED : 0;
}

/* Receives `size` bytes. 0, -EPIPE (the child has died), -ETIMEDOUT or -ECANCELED. */
static int receive_within(struct orma_table_builder *builder, uint64_t timeout_ns, void *data,
			  size_t size)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
	int r = 0;

	for (size_t done = 0; r == 0 && done < size;) {
		ssize_t count =
			recv(builder->socket, (char *)data + done, size - done, MSG_DONTWAIT);

		if (count > 0)
			done += (size_t)count;
		else if (count == 0 || (errno != EAGAIN && errno != EINTR))
			r = -EPIPE;
		else
			r = wait_for(builder, POLLIN, end_ns);
	}
	return r;
}

static int receive(struct orma_table_builder *builder, void *data, size_t size)
{
	return receive_within(builder, builder->options.timeout_ms * ORMA_NS_PER_MS, data, size);
}

/* Sends `size` bytes, which need not fit into the socket, because the child reads meanwhile. Returns the same
 * errors as receive(). */
static int send_bytes(struct orma_table_builder *builder, const void *data, size_t size)
{
	uint64_t end_ns =
		orma_base_clock_ns(CLOCK_MONOTONIC) + builder->options.timeout_ms * ORMA_NS_PER_MS;
	int r = 0;

	for (size_t done = 0; r == 0 && done < size;) {
		ssize_t count = send(builder->socket, (const char *)data + done, size - done,
				     MSG_DONTWAIT | MSG_NOSIGNAL);

		if (count > 0)
			done += (size_t)count;
		else if (count < 0 && errno != EAGAIN && errno != EINTR)
			r = -EPIPE;
		else
			r = wait_for(builder, POLLOUT, end_ns);
	}
	return r;
}

/* Takes the locks of the allocator that it may find taken. AddressSanitizer has one for each size of blocks, and each thread has a
 * list of free blocks, for which it needs no lock. */
#ifdef ORMA_HAS_ADDRESS_SANITIZER
enum { BLOCKS_MAX = 260, BLOCK_BYTES_MAX = 1 << 17 };
#else
enum { BLOCKS_MAX = 1, BLOCK_BYTES_MAX = 16 };
#endif

static void find_locks(void)
{
	for (size_t size = 16; size <= BLOCK_BYTES_MAX; size += ORMA_MAX(size / 8, (size_t)16)) {
		size_t count = ORMA_MIN(2 * (size_t)BLOCK_BYTES_MAX / size, (size_t)BLOCKS_MAX);
		void *blocks[BLOCKS_MAX];

		for (size_t i = 0; i < count; i++)
			blocks[i] = orma_base_alloc(size);
		for (size_t i = 0; i < count; i++)
			orma_base_free(blocks[i]);
	}
}

/* The state of a process follows its name, which may contain any character. */
static bool is_asleep(pid_t pid)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (orma_base_file_read(AT_FDCWD, path, STAT_BYTES_MAX, &text) < 0 ||
	    !orma_base_buf_cstr(&text))
		return false;
	const char *name_end = strrchr((const char *)text.data, ')');
	return name_end && strncmp(name_end, ") S", 3) == 0;
}

static bool has_input(const struct orma_table_builder *builder)
{
	char byte;

	return recv(builder->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* Waits until the child has shown that it can allocate memory. 0, -EDEADLK (it waits for a lock), -EPIPE (it has died) or
 * -ECANCELED. */
static int await_begin(struct orma_table_builder *builder)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), now_ns = begin_ns;
	int naps = 0, r = 0;
	char byte;

	while (r != -ECANCELED && !has_input(builder)) {
		naps = is_asleep(builder->child) ? naps + 1 : 0;
		if (naps == NAPS_MAX || now_ns - begin_ns >= START_NS)
			return -EDEADLK;
		r = wait_for(builder, POLLIN, now_ns + LOOK_NS);
		now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	}
	return r == -ECANCELED ? r : receive_within(builder, START_NS, &byte, sizeof(byte));
}

static int greet(struct orma_table_builder *builder)
{
	struct orma_table_hello hello;
	int r = receive_within(builder, START_NS, &hello, sizeof(hello));

	if (r == -ECANCELED)
		return r;
	if (r < 0 || hello.error < 0)
		return -ECHILD;
	if (hello.filter_error < 0 && !builder->has_complained)
		orma_base_log(ORMA_LOG_INFO,
			      "unwind tables: the process that reads programs has limits, but no "
			      "filter of system calls: %s",
			      strerror(-(int)ORMA_MAX(hello.filter_error, -4095)));
	builder->has_complained |= hello.filter_error < 0;
	return 0;
}

static int fork_child(struct orma_table_builder *builder)
{
	int ends[2];
	int r = orma_base_socketpair(ends);

	if (r < 0)
		return r;
	pid_t parent = getpid();
	pid_t child = fork(); /* calls: allow fork, because the child has no rights */
	if (child == 0) {
		/* A child that hangs would not see the end of its socket. The signal does not come if the
		 * parent has ended before. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1); /* calls: allow _exit, because this is the child */
		find_locks();
		if (orma_base_fd_write_all(ends[1], "", 1) == 0)
			builder->options.child(ends[1]);
		_exit(0); /* calls: allow _exit, because this is the child */
	}
	r = child < 0 ? -ECHILD : 0;
	orma_base_fd_close(ends[1]);
	if (r < 0) {
		orma_base_fd_close(ends[0]);
		return r;
	}
	builder->socket = ends[0];
	builder->child = child;
	builder->file_count = 0;
	r = await_begin(builder);
	if (r == 0)
		r = greet(builder);
	if (r < 0)
		end_child(builder);
	return r == -EPIPE || r == -ETIMEDOUT ? -ECHILD : r;
}

static int start_child(struct orma_table_builder *builder)
{
	int r = -EDEADLK;

	for (int i = 0; i < FORKS_MAX && r == -EDEADLK; i++)
		r = fork_child(builder);
	return r == -EDEADLK ? -ECHILD : r;
}

/* --- messages --------------------------------------------------------------------------------- */

static int send_file(struct orma_table_builder *builder)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
	char byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &builder->fd, sizeof(builder->fd));
	return sendmsg(builder->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

static int send_request(struct orma_table_builder *builder, char request)
{
	return send_bytes(builder, &request, 1);
}

/* Offsets and sizes of parts are checked when a part is read (elf_file.c). */
static bool are_headers_sane(const struct orma_elf_file *elf)
{
	uint8_t has_symtab;

	memcpy(&has_symtab, &elf->has_symtab, sizeof(has_symtab));
	return has_symtab <= 1 && elf->load_count <= ORMA_ELF_LOADS_MAX &&
	       elf->build_id_size <= ORMA_ELF_BUILD_ID_MAX;
}

/* The child, or the file system of the target, may give any number. Callers only handle these. */
static int error_of(int64_t error)
{
	static const int known[] = {ENOEXEC, ENOTSUP, EBADMSG, EFBIG, ENODATA, ENOMEM};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(known); i++)
		if (error == -known[i])
			return -known[i];
	return -EIO;
}

static int read_headers(struct orma_table_builder *builder, struct orma_elf_file *ret)
{
	struct orma_table_headers headers;
	int r = send_file(builder);

	if (r == 0)
		r = receive(builder, &headers, sizeof(headers));
	if (r < 0)
		return r;
	if (headers.error != 0)
		return error_of(headers.error);
	if (!are_headers_sane(&headers.elf))
		return -EPIPE;
	*ret = headers.elf;
	ret->fd = -1;
	ret->image = NULL;
	ret->size = 0;
	return 0;
}

static int read_table(struct orma_table_builder *builder, struct orma_unwind_table **ret)
{
	struct orma_table_reply reply;
	int r = send_request(builder, ORMA_TABLE_BUILD);

	if (r == 0)
		r = receive(builder, &reply, sizeof(reply));
	if (r < 0)
		return r;
	if (reply.error != 0)
		return error_of(reply.error);
	if (reply.size == 0 || reply.size > ORMA_UNWIND_TABLE_BYTES_MAX)
		return -EPIPE;
	void *bytes = orma_base_alloc((size_t)reply.size);
	if (!bytes) {
		end_child(builder); /* its bytes would be taken for the next reply */
		return -ENOMEM;
	}
	r = receive(builder, bytes, (size_t)reply.size);
	if (r == 0 && orma_unwind_table_from_bytes(bytes, (size_t)reply.size, ret) < 0)
		r = -EPIPE;
	if (r < 0)
		orma_base_free(bytes);
	return r;
}

static int receive_answer(struct orma_table_builder *builder, struct orma_buf *ret)
{
	struct orma_table_reply reply;
	int r = receive(builder, &reply, sizeof(reply));

	if (r < 0)
		return r;
	if (reply.error != 0)
		return error_of(reply.error);
	if (reply.size > ORMA_TABLE_ANSWER_BYTES_MAX)
		return -EPIPE;
	r = orma_base_buf_reserve(ret, (size_t)reply.size);
	if (r < 0) {
		end_child(builder); /* its bytes would be taken for the next reply */
		return r;
	}
	r = receive(builder, ret->data + ret->size, (size_t)reply.size);
	if (r == 0)
		ret->size += (size_t)reply.size;
	return r;
}

/* --- interface -------------------------------------------------------------------------------- */

int orma_table_builder_new(const struct orma_table_builder_options *options,
			   struct orma_table_builder **ret)
{
	struct orma_table_builder *builder = orma_base_zalloc(sizeof(*builder));

	if (!builder)
		return -ENOMEM;
	if (options)
		builder->options = *options;
	if (builder->options.timeout_ms == 0)
		builder->options.timeout_ms = TIMEOUT_MS;
	if (!builder->options.child)
		builder->options.child = orma_table_child_run;
	builder->socket = builder->fd = -1;
	builder->stop_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (builder->stop_fd < 0) {
		int r = -errno;
		orma_base_free(builder);
		return r;
	}
	*ret = builder;
	return 0;
}

void orma_table_builder_free(struct orma_table_builder *builder)
{
	if (!builder)
		return;
	end_child(builder);
	orma_base_fd_close(builder->stop_fd);
	orma_base_free(builder);
}

void orma_table_builder_stop(struct orma_table_builder *builder)
{
	orma_base_fd_wake(builder->stop_fd);
}

void orma_table_builder_rest(struct orma_table_builder *builder)
{
	end_child(builder);
}

/* Ends a child that has failed. Callers get -EIO in place of -EPIPE. */
static int finish(struct orma_table_builder *builder, int r)
{
	if (r == -EPIPE || r == -ETIMEDOUT || r == -ECANCELED)
		end_child(builder);
	return r == -EPIPE ? -EIO : r;
}

int orma_table_builder_open(struct orma_table_builder *builder, int fd, struct orma_elf_file *ret)
{
	int r = -EPIPE;

	builder->fd = fd;
	if (builder->file_count >= FILES_MAX)
		end_child(builder);
	for (int i = 0; i < TRIES && r == -EPIPE; i++) {
		r = builder->socket < 0 ? start_child(builder) : 0;
		if (r < 0)
			return r;
		builder->file_count++;
		r = read_headers(builder, ret);
		if (r == -EPIPE)
			end_child(builder);
	}
	return finish(builder, r);
}

int orma_table_builder_build(struct orma_table_builder *builder, struct orma_unwind_table **ret)
{
	struct orma_elf_file elf;
	int r = read_table(builder, ret);

	if (r == -EPIPE) {
		end_child(builder);
		r = orma_table_builder_open(builder, builder->fd, &elf);
		if (r == 0)
			r = read_table(builder, ret);
	}
	return finish(builder, r);
}

void orma_table_builder_drop(struct orma_table_builder *builder)
{
	(void)finish(builder, send_request(builder, ORMA_TABLE_DROP));
}

int orma_table_builder_ask(struct orma_table_builder *builder, const void *question, size_t size,
			   struct orma_buf *ret)
{
	const struct orma_table_question head = {.size = size};

	if (size > ORMA_TABLE_QUESTION_BYTES_MAX)
		return -EFBIG;
	int r = send_request(builder, ORMA_TABLE_ASK);
	if (r == 0)
		r = send_bytes(builder, &head, sizeof(head));
	if (r == 0)
		r = send_bytes(builder, question, size);
	if (r == 0)
		r = receive_answer(builder, ret);
	return finish(builder, r);
}
