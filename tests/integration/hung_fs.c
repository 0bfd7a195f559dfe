/* SPDX-License-Identifier: Apache-2.0
 * hung_fs.c - enough of the FUSE protocol for one file, with requests that stay unanswered on
 * demand.
 *
 * A process reads requests from /dev/fuse and answers each, unless its opcode is held. Only this
 * process has that descriptor, and it dies with the test. Then the kernel answers all pending
 * requests, so that a test that fails can exit, which closes its files. The file system is
 * mounted in a mount namespace of the test, so that nothing remains. Rejected: a thread of the test (it would be dead when
 * the test's exit waits for it). Also rejected: libfuse (a dependency for two hundred lines), a
 * stopped NFS server (needs a network and a kernel that has both), a stopped process behind a
 * pipe (a pipe can be polled, and the test is about files, which cannot).
 */
#include "hung_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* --- the wire (host byte order) --------------------------------------------------------------- */

struct fuse_in_header {
	uint32_t len, opcode;
	uint64_t unique, nodeid;
	uint32_t uid, gid, pid, extensions;
};

struct fuse_out_header {
	uint32_t len;
	int32_t error;
	uint64_t unique;
};

struct fuse_init_in {
	uint32_t major, minor, max_readahead, flags;
};

struct fuse_init_out {
	uint32_t major, minor, max_readahead, flags;
	uint16_t max_background, congestion_threshold;
	uint32_t max_write, time_gran;
	uint16_t max_pages, map_alignment;
	uint32_t unused[8];
};

struct fuse_attr {
	uint64_t ino, size, blocks, atime, mtime, ctime;
	uint32_t atime_nsec, mtime_nsec, ctime_nsec;
	uint32_t mode, nlink, uid, gid, rdev, blksize, flags;
};

struct fuse_attr_out {
	uint64_t valid_sec;
	uint32_t valid_nsec, unused;
	struct fuse_attr attr;
};

struct fuse_entry_out {
	uint64_t nodeid, generation, entry_valid_sec, attr_valid_sec;
	uint32_t entry_valid_nsec, attr_valid_nsec;
	struct fuse_attr attr;
};

struct fuse_open_out {
	uint64_t handle;
	uint32_t flags, unused;
};

struct fuse_write_in {
	uint64_t handle, offset;
	uint32_t size, flags;
};

struct fuse_write_out {
	uint32_t size, unused;
};

_Static_assert(sizeof(struct fuse_in_header) == 40 && sizeof(struct fuse_init_out) == 64 &&
		       sizeof(struct fuse_attr) == 88 && sizeof(struct fuse_entry_out) == 128,
	       "as the kernel has them");

/* --- the server ------------------------------------------------------------------------------- */

enum { FUSE_MAJOR = 7, ROOT_NODE = 1, FILE_NODE = 2, REQUEST_BYTES = (128 << 10) + 4096 };

static void answer(int fd, const struct fuse_in_header *in, int error, const void *data,
		   size_t size)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + size), .error = error, .unique = in->unique};
	struct iovec iov[2] = {{&out, sizeof(out)}, {(void *)(uintptr_t)data, size}};

	/* The process that asked may be gone. */
	(void)!writev(fd, iov, 2);
}

static struct fuse_attr get_attr(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == ROOT_NODE ? 0 : 4096,
		.mode = node == ROOT_NODE ? S_IFDIR | 0777 : S_IFREG | 0666,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer_init(int fd, const struct fuse_in_header *in)
{
	const struct fuse_init_in *wanted = (const void *)(in + 1);
	struct fuse_init_out out = {
		.major = FUSE_MAJOR,
		.minor = wanted->minor < 31 ? wanted->minor : 31,
		.max_write = 128 << 10,
	};

	answer(fd, in, 0, &out, sizeof(out));
}

static void answer_entry(int fd, const struct fuse_in_header *in, bool is_open)
{
	struct {
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	} out = {.entry = {.nodeid = FILE_NODE, .attr = get_attr(FILE_NODE)}};

	answer(fd, in, 0, &out, is_open ? sizeof(out) : sizeof(out.entry));
}

static void answer_request(int fd, const struct fuse_in_header *in, bool exists)
{
	const struct fuse_write_in *write_in = (const void *)(in + 1);
	struct fuse_attr_out attr = {.attr = get_attr(in->nodeid)};
	struct fuse_open_out open_out = {0};
	struct fuse_write_out write_out = {0};

	switch (in->opcode) {
	case ORMA_FUSE_INIT:
		answer_init(fd, in);
		return;
	case ORMA_FUSE_LOOKUP:
		if (exists)
			answer_entry(fd, in, false);
		else
			answer(fd, in, -ENOENT, NULL, 0);
		return;
	case ORMA_FUSE_CREATE:
		answer_entry(fd, in, true);
		return;
	case ORMA_FUSE_GETATTR:
	case ORMA_FUSE_SETATTR:
		answer(fd, in, 0, &attr, sizeof(attr));
		return;
	case ORMA_FUSE_OPEN:
		answer(fd, in, 0, &open_out, sizeof(open_out));
		return;
	case ORMA_FUSE_WRITE:
		write_out.size = write_in->size;
		answer(fd, in, 0, &write_out, sizeof(write_out));
		return;
	case ORMA_FUSE_FLUSH:
	case ORMA_FUSE_RELEASE:
	case ORMA_FUSE_FSYNC:
	case ORMA_FUSE_UNLINK:
		answer(fd, in, 0, NULL, 0);
		return;
	case ORMA_FUSE_FORGET:
	case ORMA_FUSE_BATCH_FORGET:
	case ORMA_FUSE_INTERRUPT:
		return;
	default:
		answer(fd, in, -ENOSYS, NULL, 0);
	}
}

static _Noreturn void serve(int fd, struct orma_hung_fs_state *state)
{
	static union {
		struct fuse_in_header header;
		uint8_t bytes[REQUEST_BYTES];
	} request;

	/* The end is ENODEV. */
	for (;;) {
		ssize_t size = read(fd, &request, sizeof(request));
		if (size < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			_exit(0);
		if (size < (ssize_t)sizeof(request.header))
			continue;
		uint64_t bit = UINT64_C(1) << (request.header.opcode & 63);
		pthread_mutex_lock(&state->mutex);
		bool is_held = state->held & bit, exists = state->exists;
		state->come |= bit;
		if (!is_held && request.header.opcode == ORMA_FUSE_CREATE)
			state->exists = true;
		if (!is_held && request.header.opcode == ORMA_FUSE_UNLINK)
			state->exists = false;
		pthread_cond_broadcast(&state->has_come);
		pthread_mutex_unlock(&state->mutex);
		if (!is_held)
			answer_request(fd, &request.header, exists);
	}
}

static bool refuse(const char *what)
{
	fprintf(stderr, "nothing is shown: %s: %s\n", what, strerror(errno));
	return false;
}

static struct orma_hung_fs_state *share_state(void)
{
	struct orma_hung_fs_state *state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t mutex_attributes;
	pthread_condattr_t cond_attributes;

	CHECK(state != MAP_FAILED);
	pthread_mutexattr_init(&mutex_attributes);
	pthread_mutexattr_setpshared(&mutex_attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&state->mutex, &mutex_attributes);
	pthread_mutexattr_destroy(&mutex_attributes);
	pthread_condattr_init(&cond_attributes);
	pthread_condattr_setpshared(&cond_attributes, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&state->has_come, &cond_attributes);
	pthread_condattr_destroy(&cond_attributes);
	return state;
}

bool orma_hung_fs_mount(struct orma_hung_fs *fs)
{
	char options[100];

	*fs = (struct orma_hung_fs){.pid = -1};
	snprintf(fs->folder, sizeof(fs->folder), "%s/hung", orma_test_tmpdir());
	snprintf(fs->path, sizeof(fs->path), "%s/file", fs->folder);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return refuse("mounting in a namespace of its own");
	CHECK_INT(mkdir(fs->folder, 0700), 0);
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return refuse("/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	if (mount("orma-test", fs->folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(fd);
		return refuse("mounting a FUSE file system");
	}
	fs->state = share_state();
	pid_t test = getpid();
	fs->pid = fork();
	CHECK(fs->pid >= 0);
	if (fs->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != test)
			_exit(1);
		serve(fd, fs->state);
	}
	close(fd);
	return true;
}

void orma_hung_fs_hold(struct orma_hung_fs *fs, unsigned opcode)
{
	pthread_mutex_lock(&fs->state->mutex);
	fs->state->held |= UINT64_C(1) << opcode;
	fs->state->come &= ~(UINT64_C(1) << opcode);
	pthread_mutex_unlock(&fs->state->mutex);
}

void orma_hung_fs_await(struct orma_hung_fs *fs, unsigned opcode)
{
	pthread_mutex_lock(&fs->state->mutex);
	while (!(fs->state->come >> opcode & 1))
		pthread_cond_wait(&fs->state->has_come, &fs->state->mutex);
	pthread_mutex_unlock(&fs->state->mutex);
}

void orma_hung_fs_abort(struct orma_hung_fs *fs)
{
	/* Ends the connection even while a process has a file of it open. */
	(void)umount2(fs->folder, MNT_FORCE);
	(void)umount2(fs->folder, MNT_DETACH);
	CHECK_INT(kill(fs->pid, SIGKILL), 0);
	CHECK_INT(waitpid(fs->pid, NULL, 0), fs->pid);
	CHECK_INT(munmap(fs->state, sizeof(*fs->state)), 0);
}
