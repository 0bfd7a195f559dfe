/* SPDX-License-Identifier: Apache-2.0
 * hung_fs.h - a file system of the test (FUSE over /dev/fuse) that stops answering on demand,
 * like a network file system whose server is gone.
 */
#ifndef ORMA_TESTS_INTEGRATION_HUNG_FS_H
#define ORMA_TESTS_INTEGRATION_HUNG_FS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Requests of the FUSE protocol, whose header some C libraries lack. */
enum orma_fuse_opcode {
	ORMA_FUSE_LOOKUP = 1,
	ORMA_FUSE_FORGET = 2,
	ORMA_FUSE_GETATTR = 3,
	ORMA_FUSE_SETATTR = 4,
	ORMA_FUSE_UNLINK = 10,
	ORMA_FUSE_OPEN = 14,
	ORMA_FUSE_WRITE = 16,
	ORMA_FUSE_RELEASE = 18,
	ORMA_FUSE_FSYNC = 20,
	ORMA_FUSE_FLUSH = 25,
	ORMA_FUSE_INIT = 26,
	ORMA_FUSE_CREATE = 35,
	ORMA_FUSE_INTERRUPT = 36,
	ORMA_FUSE_BATCH_FORGET = 42,
};

/* Shared by the test and the server. */
struct orma_hung_fs_state {
	pthread_mutex_t mutex;
	pthread_cond_t has_come;
	/* Guarded by mutex. By opcode: requests that stay unanswered, and requests that have
	 * arrived. */
	uint64_t held, come;
	bool exists;
};

/* The file system has one file, of any name, once that was created. */
struct orma_hung_fs {
	char folder[200], path[210];
	pid_t pid; /* the server's */
	struct orma_hung_fs_state *state;
};

/* False, with a message on standard error, if mounting is not allowed or there is no FUSE; the
 * test cannot run then. */
bool orma_hung_fs_mount(struct orma_hung_fs *fs);
/* Stops answering requests of that opcode (ORMA_FUSE_...). */
void orma_hung_fs_hold(struct orma_hung_fs *fs, unsigned opcode);
/* Waits until such a request has arrived since that call. */
void orma_hung_fs_await(struct orma_hung_fs *fs, unsigned opcode);
/* All pending requests fail, and so do later ones. */
void orma_hung_fs_abort(struct orma_hung_fs *fs);

#endif
